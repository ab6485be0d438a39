/*
 * swarms.h - too many jobs of one kind at once, as one node sees them come in.
 *
 * Kept in memory: a node that starts anew has seen nothing.  With several nodes each counts what
 * comes through it.
 */
#ifndef CONTROL_SWARMS_H
#define CONTROL_SWARMS_H
#include "core/queue_config.h"

struct swarms; /* Owned by the committer; every call takes its lock. */

struct swarms *swarms_new(void);
void swarms_free(struct swarms *swarms);

struct swarm_kind {
    const char *queue, *type;
    const struct queue_config *config;
    int64_t now_us;
};
struct swarm_sight {
    bool on;          /* More than the queue's rules bear. */
    bool news;        /* It has just begun: worth an event. */
    int64_t seen;     /* Within the window. */
    int64_t delay_us; /* SWARM_BUFFER: hold it back for so long. */
};
/* One more came. */
struct swarm_sight swarms_see(struct swarms *swarms, const struct swarm_kind *kind);
#endif
