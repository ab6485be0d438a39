/*
 * queue_book.h - the rules of all queues, cached by one lane.
 *
 * Hot paths need the rules of a queue at every job, so that a lane keeps them in memory.  It
 * reads them again when a commit of its node has changed some, and on a shared store, where other
 * nodes change them too, once a second.
 */
#ifndef CONTROL_COMMIT_QUEUE_BOOK_H
#define CONTROL_COMMIT_QUEUE_BOOK_H
#include "base/arena.h"
#include "core/queue/queue_config.h"
#include "core/step_kind.h"
#include "store/queues.h"

struct queue_rules {
    const char *name; /* NULL: the defaults, of a queue without a configuration. */
    bool paused;
    struct queue_config config;
};

struct queue_book {
    struct arena arena;
    struct queue_rules *rules; /* By name. */
    size_t count;
    struct queue_rules plain, steps[STEP_ROWS_MAX]; /* Of queues that are not listed; by kind. */
    bool known;                                     /* Read at least once. */
    int64_t news;                                   /* Of the node, when it was read. */
    int64_t read_us;
    int64_t versions; /* The sum of all versions: differs when any rule changed. */
};

void queue_book_init(struct queue_book *book);
void queue_book_release(struct queue_book *book);

struct queue_book_state {
    int64_t news; /* Changes of rules that this node has committed so far. */
    int64_t now_us;
    bool shared; /* Other nodes may change them as well. */
};
/* Reads the rules if they may have changed; *ret_changed: they did. */
MUST_USE enum rc queue_book_refresh(struct queue_book *book, struct db *db,
                                    const struct queue_book_state *state, bool *ret_changed,
                                    struct err *err);
/* Never NULL; good until the next refresh. */
const struct queue_rules *queue_book_find(const struct queue_book *book, const char *queue);

/* The rules that a row gives a queue.  One that this version cannot decode counts as empty: rules
   were validated when they were set. */
struct queue_rules queue_rules_of(const struct queue_row *row);
#endif
