/*
 * autoscale.h - more slots for agents in this process while agents wait and all these slots are
 * busy, fewer when they were idle for a while.  Checks and short steps have a fixed number.
 *
 *   every tick, on the loop: is there anything to decide? --> pool thread: what waits? decide
 *   (core/queue/scale.h), resize, log and publish it
 */
#ifndef SERVER_AUTOSCALE_H
#define SERVER_AUTOSCALE_H
#include "api/api.h"
#include "core/queue/scale.h"

struct autoscale; /* Owned by its starter. */

struct autoscale_options {
    struct api *api; /* Not owned; its worker has rule.max as agents_max. */
    struct scale_rule rule;
};
struct autoscale *autoscale_start(const struct autoscale_options *options);
/* After the loop and the pool have ended.  NULL is fine. */
void autoscale_free(struct autoscale *autoscale);
#endif
