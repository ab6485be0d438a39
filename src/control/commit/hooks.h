/*
 * hooks.h - functions of higher rooms that the committer calls without depending on them.
 */
#ifndef CONTROL_COMMIT_HOOKS_H
#define CONTROL_COMMIT_HOOKS_H
#include "base/rc.h"
#include <stdbool.h>
#include <stddef.h>

struct context;
struct db;
struct read_ahead;
struct job_hooks;
struct flow;
struct cloud_event;
struct issue_claim;

struct control_hooks {
    /* Starts runs that wait for a slot, at the end of a batch that may have freed one.  *state is
       the hook's own: zeroed at first, kept from round to round, and restored by a rollback. */
    enum rc (*admit)(struct context *ctx, void *state);
    size_t admit_state_bytes;
    /* Before a batch is applied: locks and reads what owns its jobs, in the lock order. */
    enum rc (*read_owners)(struct read_ahead *read_ahead, struct db *db, struct err *err);
    const struct job_hooks *jobs; /* queue/job_hooks.h */
    /* After every event of a run or task (control/run/flow.h), which is being changed: *flow is not
       saved yet. */
    enum rc (*run_event)(struct context *ctx, const struct flow *flow, const char *type);
    /* An event of an issue that a client appends (control/run/append_event.h). */
    enum rc (*issue_event)(struct context *ctx, const struct cloud_event *given,
                           const struct issue_claim *claim, bool *ret_new);
};
#endif
