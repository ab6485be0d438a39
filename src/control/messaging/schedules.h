/*
 * schedules.h - commands of schedules, and the firing of those that are due.
 *
 * A firing is a job with the dedup key "cron:NAME:TIME": a time makes one job, however often and on
 * however many nodes it is handled.  Times that passed while no server ran make one job together.
 */
#ifndef CONTROL_MESSAGING_SCHEDULES_H
#define CONTROL_MESSAGING_SCHEDULES_H
#include "control/commit/context.h"
#include "store/schedules.h"

struct cmd_schedule_put { /* RC_CONFLICT beyond SCHEDULES_MAX. */
    struct command base;
    const char *name, *cron; /* The cron expression is valid. */
    struct str job;          /* JSON of a valid job without a dedup key. */
    bool enabled;
    struct schedule_row row; /* The answer. */
    bool created;
};
struct cmd_schedule_put *cmd_schedule_put_new(void);

struct cmd_schedule_remove {
    struct command base;
    const char *name;
};
struct cmd_schedule_remove *cmd_schedule_remove_new(void);

struct cmd_schedule_run { /* Now, beside its times; also when it is not enabled. */
    struct command base;
    const char *name;
    struct id job_id; /* The answer. */
};
struct cmd_schedule_run *cmd_schedule_run_new(void);

/* Fires up to `limit` that are due; *ret_count: how many. */
MUST_USE enum rc schedules_fire(struct context *ctx, const struct lease_proof *proof, int64_t limit,
                                size_t *ret_count);
#endif
