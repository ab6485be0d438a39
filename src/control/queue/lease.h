/*
 * lease.h - workers take jobs and keep them: lease, heartbeat, and whether a lease still holds.
 */
#ifndef CONTROL_QUEUE_LEASE_H
#define CONTROL_QUEUE_LEASE_H
#include "control/queue/jobs.h"

struct context;

struct cmd_lease {
    struct command base;
    const char *const *queues; /* NULL-terminated */
    const char *worker;
    int64_t max;
    int64_t wait_us;      /* 0: answer at once */
    int64_t lease_us;     /* 0: each queue's */
    struct job_row *jobs; /* The answer. */
    size_t job_count;
    size_t held; /* Jobs that breakers and pauses kept from it. */
};
struct cmd_lease *cmd_lease_new(void);

struct cmd_heartbeat {
    struct command base;
    const char *worker;
    const struct job_ref *leases;
    size_t count;
    int64_t extend_us;
    struct job_answer *answers;
};
struct cmd_heartbeat *cmd_heartbeat_new(void);

/* The job, when this lease still holds it and is the caller's; else the answer has the reason. */
MUST_USE enum rc lease_load(struct context *ctx, const struct command *command,
                            const struct job_ref *ref, struct job_row *ret_job,
                            struct job_answer *ret_answer);
#endif
