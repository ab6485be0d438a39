/*
 * accounts.h - provider accounts that are used up: parked until their limit is lifted.
 *
 *     agent meets a limit --> account parked, run queued again (provider_quota_parked)
 *                                 |  no run of the account starts, none begins an attempt
 *     timer at the reset, or a person: in use again; admission goes on by itself
 *
 * The attempt that met the limit does not count.  What the agent had done is kept as a patch.
 */
#ifndef CONTROL_ACCOUNTS_H
#define CONTROL_ACCOUNTS_H
#include "control/flow.h"
#include "store/accounts.h"

#define TIMER_ACCOUNT_RESET "account_reset"
#define QUOTA_DETAIL        "account %s waits for its reset"

/* How long an account rests when its provider did not say: twice as long with every limit that is
   met soon after the last. */
enum { ACCOUNT_REST_MINUTES = 15, ACCOUNT_REST_MINUTES_MAX = 240 };
/* No longer than the longest limits of providers, which are by the week. */
enum { ACCOUNT_PARK_DAYS_MAX = 8 };

/* Is the account parked?  A batch reads the list of those that are once. */
MUST_USE enum rc accounts_parked(struct cx *cx, const char *name, bool *ret_parked);

/* For admission: is the account of this queued run parked?  Noted in the run if so. */
MUST_USE enum rc accounts_gate(struct cx *cx, struct flow *flow, bool *ret_parked);
/* head is the next queued run of its repository.  One that was left because of an account that is
   still parked gives way to the next that was not (RC_NOT_FOUND: none): such a line may be long,
   and it is looked at in every round. */
MUST_USE enum rc accounts_pass(struct cx *cx, struct run_row *head);

/* The agent of a run that runs or plans has met the limit that `quota` ({resetsAt, message}) tells
   of: parks the account and sends the run back to the queue. */
MUST_USE enum rc accounts_defer(struct cx *cx, struct flow *flow, const struct js *quota);
/* A run is about to start an attempt of its agent: *ret_held when its account is parked, and then
   it is back in the queue.  The run must be running or planning. */
MUST_USE enum rc accounts_hold(struct cx *cx, struct flow *flow, bool *ret_held);

/* The timer. */
MUST_USE enum rc accounts_reset(struct cx *cx, const struct id *account_id);

struct cmd_account {
    struct command base;
    const char *name;
    const char *reason;     /* or NULL */
    struct account_row row; /* The answer. */
};
/* By a person, before the time.  RC_NOT_FOUND: it was never parked. */
struct cmd_account *cmd_account_resume_new(void);
#endif
