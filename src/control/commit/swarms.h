/*
 * swarms.h - detects too many jobs of one kind at once, as enqueued on one node.
 *
 * Kept in memory: the counts start at zero when a node starts.  With several nodes each counts the
 * jobs that are enqueued through it.
 *
 * The jobs of a batch are noted in its round and counted with its commit: a batch that was rolled
 * back counts nothing, and one that runs again is not counted twice.
 */
#ifndef CONTROL_COMMIT_SWARMS_H
#define CONTROL_COMMIT_SWARMS_H
#include "base/arena.h"
#include "core/queue/queue_config.h"

struct swarms; /* Owned by the committer; every call takes its lock. */

struct swarms *swarms_new(void);
void swarms_free(struct swarms *swarms);

struct swarm_kind {
    const char *queue, *type;
    const struct queue_config *config;
    int64_t now_us;
};
struct swarm_sight {
    bool on;          /* More than the queue's rules allow. */
    bool news;        /* It has just begun: worth an event. */
    int64_t seen;     /* Within the window. */
    int64_t delay_us; /* SWARM_BUFFER: hold it back for so long. */
};
struct swarm_note; /* The jobs of one kind in one batch; in the arena of the batch. */
struct swarm_notes {
    struct swarm_note *first;
};
/* One more job of this kind is enqueued. */
struct swarm_sight swarms_see(struct swarms *swarms, const struct swarm_kind *kind,
                              struct swarm_notes *notes, struct arena *arena);
/* The batch was committed. */
void swarms_count(struct swarms *swarms, const struct swarm_notes *notes);
#endif
