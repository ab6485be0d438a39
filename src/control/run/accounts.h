/*
 * accounts.h - provider accounts that are used up: parked until their limit is lifted.
 *
 *     the adapter sees the limit  --> account parked, run queued again (provider_quota_parked)
 *     (core/agent/claims.h)             |  no run of the account starts, none begins an attempt,
 *                                       |  but for one probe at a time, after a while
 *     reset, person, probe succeeded: in use again; admission resumes by itself
 *     (its run moves to another account of its pool at once, if one is free: account_pool.h)
 *
 *     the agent's text reports it --> the run alone is queued again (agent_quota_reported) and
 *                                     waits for the reset that the text names
 *
 * The attempt that met the limit does not count.  What the agent had done is kept as a patch.  The
 * account is the one that the run was given, never one that an agent names.
 */
#ifndef CONTROL_RUN_ACCOUNTS_H
#define CONTROL_RUN_ACCOUNTS_H
#include "control/run/flow.h"
#include "core/run/admission.h"
#include "store/accounts.h"

#define TIMER_ACCOUNT_RESET "account_reset"
#define TIMER_RUN_HELD      "run_held"

/* Parked: a probe is due, and the last one is no longer at work. */
MUST_USE enum rc accounts_may_probe(struct context *ctx, const struct account_row *row,
                                    bool *ret_may);
/* The run, which starts now, is the probe of the account; not *ret_taken: another one is. */
MUST_USE enum rc accounts_probe(struct context *ctx, const struct flow *flow, const char *name,
                                bool *ret_taken);
/* The run gets the account now. */
MUST_USE enum rc accounts_note_use(struct context *ctx, const char *name, const struct id *run_id);
MUST_USE enum rc accounts_note_cost(struct context *ctx, const char *name, int64_t microusd);
/* head is the next queued run of its repository.  One that waits for a pool of which this round has
   found no account free is replaced by the next that does not (RC_NOT_FOUND: none): such a line may
   be long, and it is read in every round. */
MUST_USE enum rc accounts_pass(struct context *ctx, struct run_row *head);

/* The agent of a run that runs or plans has met a usage limit; result.quota is {resetsAt,
   message, record, ended}.  Parks the account where core/agent/claims.h decides so, and sends the
   run back to the queue. */
MUST_USE enum rc accounts_defer(struct context *ctx, struct flow *flow, const struct js *result);
/* A run that runs or plans goes back to the queue.  Its time limit starts anew with the next
   start. */
struct account_wait {
    enum admission_check check; /* For what it waits. */
    const char *detail, *account;
};
MUST_USE enum rc accounts_queue_again(struct context *ctx, struct flow *flow,
                                      const struct account_wait *waiting);
/* Why a run with held_until_us waits. */
const char *accounts_held_detail(const struct run_row *run, struct arena *arena);
/* A run is about to start an attempt of its agent: it keeps its account or gets another one of its
   pool; *ret_held when none is free, and then it is back in the queue.  The run must be running or
   planning. */
MUST_USE enum rc accounts_enter(struct context *ctx, struct flow *flow, bool *ret_held);
/* The agent of the run has completed a model turn: if it is the probe of its account, the account
   is in use again. */
MUST_USE enum rc accounts_proved(struct context *ctx, const struct run_row *run);
/* Progress events of its agent: how full the windows of its account are. */
MUST_USE enum rc accounts_usage(struct context *ctx, const struct run_row *run,
                                const struct js *events);

/* The timers. */
MUST_USE enum rc accounts_reset(struct context *ctx, const struct id *account_id);
MUST_USE enum rc accounts_release(struct context *ctx, const struct id *run_id);

struct cmd_account {
    struct command base;
    const char *name;
    const char *reason;     /* or NULL */
    int64_t until_us;       /* park */
    struct account_row row; /* The answer. */
};
/* By a person, before the time.  RC_NOT_FOUND: it was never parked. */
struct cmd_account *cmd_account_resume_new(void);
/* By a person, until `until_us`; no probe tries it.  RC_NOT_FOUND: it is neither configured nor
   known. */
struct cmd_account *cmd_account_park_new(void);
#endif
