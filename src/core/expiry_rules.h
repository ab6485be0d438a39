/*
 * expiry_rules.h - how long things are kept: `retention:` of the server's configuration.
 */
#ifndef CORE_EXPIRY_RULES_H
#define CORE_EXPIRY_RULES_H
#include <stdint.h>

/* How long things are kept, in microseconds; 0: for ever. */
struct expiry_rules {
    int64_t tasks_us;
    int64_t unpublished_us; /* Tasks whose work is published nowhere. */
    int64_t jobs_us;        /* Settled ones without a run, and sagas. */
    int64_t events_us;      /* Without a task. */
    int64_t diagnostics_us;
    int64_t deliveries_us;
    int64_t dead_letters_us; /* Of sinks.  Those of queues: core/queue/queue_config.h. */
    int64_t unread_us;       /* Longer than that for readers of the log that are behind. */
};
enum { EXPIRY_DAYS_MAX = 36500 };
struct expiry_rules expiry_rules_default(void);
/* Before that moment; 0: nothing is. */
int64_t expiry_before(int64_t keep_us, int64_t now_us);
#endif
