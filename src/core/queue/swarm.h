/*
 * swarm.h - how many jobs of one kind arrived lately: a sliding window in eight slices, and a table
 * of such windows by queue and type.
 *
 *   |  slice  |  slice  |  ...  |  slice in which now is  |
 *   the window: the last eight, so it reaches back between 7/8 of its length and all of it
 *
 * The table has a fixed size: when it is full the kind that was idle for longest is evicted.
 */
#ifndef CORE_QUEUE_SWARM_H
#define CORE_QUEUE_SWARM_H
#include <stddef.h>
#include <stdint.h>

enum { SWARM_SLICES = 8, SWARM_BOOK_MAX = 256, SWARM_QUEUE_MAX = 100, SWARM_TYPE_MAX = 200 };

struct swarm {     /* All zero: no job arrived. */
    int64_t slice; /* The newest: time / length of a slice. */
    int64_t slice_us;
    int64_t counts[SWARM_SLICES];
    int64_t reported_us; /* The caller's: when the swarm was last reported; 0: never. */
    int64_t out_us;      /* The caller's: when the last one that was held back goes out. */
};

/* n more arrived: how many within the window, these included.  A window of another length than
   before begins empty. */
int64_t swarm_add(struct swarm *swarm, int64_t window_us, int64_t now_us, int64_t n);

struct swarm_book { /* All zero: empty. */
    struct swarm_entry {
        char queue[SWARM_QUEUE_MAX + 1];
        char type[SWARM_TYPE_MAX + 1];
        int64_t used_us;
        struct swarm swarm;
    } entries[SWARM_BOOK_MAX];
    size_t count;
};

/* The window of this kind, or NULL. */
const struct swarm *swarm_find(const struct swarm_book *book, const char *queue, const char *type);
/* The window of this kind, empty when it is new; good until the next call. */
struct swarm *swarm_of(struct swarm_book *book, const char *queue, const char *type,
                       int64_t now_us);
#endif
