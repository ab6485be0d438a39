/*
 * autoscale.h - more slots for the workers of this process while steps wait and all slots are
 * busy, fewer when they were idle for a while.
 *
 *   every tick, on the loop: is there anything to decide? --> pool thread: what waits? decide
 *   (core/scale.h), resize, tell of it
 */
#ifndef EDGE_AUTOSCALE_H
#define EDGE_AUTOSCALE_H
#include "core/scale.h"
#include "edge/api.h"

struct autoscale; /* Owned by its starter. */

struct autoscale_options {
    struct api *api; /* Not owned; its worker has rule.max as slots_max and rule.min slots. */
    struct scale_rule rule;
};
struct autoscale *autoscale_start(const struct autoscale_options *options);
/* After the loop and the pool have ended.  NULL is fine. */
void autoscale_free(struct autoscale *autoscale);
#endif
