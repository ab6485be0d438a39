/*
 * lease.h - workers take jobs and keep them: lease, heartbeat, and whether a lease still holds.
 */
#ifndef CONTROL_QUEUE_LEASE_H
#define CONTROL_QUEUE_LEASE_H
#include "control/queue/jobs.h"

struct context;

/* A lease may take work for agents only: marked jobs (store/job_marks.h), of one of these
   repositories, with one of these labels.  Lists are NULL-terminated; NULL: all.  At most
   LEASE_CELLS_MAX pairs. */
enum { LEASE_FILTER_MAX = 16, LEASE_CELLS_MAX = 64 };
struct lease_filter {
    bool marked; /* false: any job */
    const char *const *repositories, *const *labels;
};

struct cmd_lease {
    struct command base;
    const char *const *queues; /* NULL-terminated */
    struct lease_filter filter;
    const char *worker;
    int64_t max;
    int64_t wait_us;      /* 0: answer at once */
    int64_t lease_us;     /* 0: each queue's */
    struct job_row *jobs; /* The answer. */
    size_t job_count;
    size_t held; /* Jobs that breakers and pauses kept from it. */
};
struct cmd_lease *cmd_lease_new(void);

/* For commands that are a lease and more: what its ops are made of. */
MUST_USE enum rc lease_apply(struct context *ctx, struct command *command);
bool lease_may_wait(const struct command *command);
bool lease_wants(const struct command *command, const char *queue);
int64_t lease_appetite(const struct command *command);
bool lease_picks(const struct command *command, const struct job_about *about);
/* Is there a job that it would take?  For one with a filter. */
MUST_USE enum rc lease_finds(struct context *ctx, const struct cmd_lease *cmd, bool *ret_found);

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

struct renewal {
    struct job_ref ref;
    const char *worker; /* As the lease was taken, or without the slot; NULL: not checked. */
    int64_t extend_us;
};
/* Extends one lease, and says what its holder is to do. */
MUST_USE enum rc lease_renew(struct context *ctx, const struct command *command,
                             const struct renewal *renewal, struct job_answer *ret_answer);
#endif
