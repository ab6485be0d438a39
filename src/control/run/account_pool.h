/*
 * account_pool.h - the accounts that a run may use, and which of them it gets.
 *
 *     agent.account, agent.accounts, or `default:<adapter>`; then the same of each agent.fallback
 *         --> candidates, with what is known of each --> core/agent/account_choice.h
 *         --> the row of the chosen one, locked: counted again, noted in the run
 *
 * 1. An account of the server's configuration has at most its maxRuns runs, one with a home has one
 *    (store/accounts.c has which runs count).  Every run that gets one locks its row first, in
 *    admission and before each attempt, so that this holds across lanes and nodes.
 * 2. An account that is not configured is only a name that can be parked: nothing is counted.
 * 3. A session of an agent belongs to the home of its account: a run that gets another account, or
 *    its own one after another run had it, starts with a new home and a new session.
 */
#ifndef CONTROL_RUN_ACCOUNT_POOL_H
#define CONTROL_RUN_ACCOUNT_POOL_H
#include "control/run/flow.h"
#include "core/agent/account_choice.h"
#include "core/run/admission.h"

struct account_offer {
    struct account_candidate *candidates;
    size_t count;
    struct account_choice choice;
    const char *pool; /* Their names: runs with the same ones wait together. */
};

/* Looks, without a lock. */
MUST_USE enum rc pool_ask(struct context *ctx, struct flow *flow, struct account_offer *ret_offer);
/* Gives the run the account that was chosen, or the next best when it is taken meanwhile; the
   choice is ACCOUNT_NONE when there is none left.  The run must start or begin an attempt now. */
MUST_USE enum rc pool_take(struct context *ctx, struct flow *flow, struct account_offer *offer);

/* Why none is free, for an offer without a choice: the check that fails, a sentence, and the
   account to name in events. */
struct pool_refusal {
    enum admission_check check;
    const char *detail;
    const char *account;
};
struct pool_refusal pool_refusal(struct context *ctx, const struct flow *flow,
                                 const struct account_offer *offer);
/* Runs of the same pool need not ask again in this round. */
void pool_note_empty(struct context *ctx, const struct account_offer *offer);

/* The agent that the run works with: its own or a fallback. */
MUST_USE enum rc pool_agent(struct context *ctx, struct flow *flow,
                            const struct agent_config **ret_agent);
/* The configured account of the run; NULL: it has none. */
const struct account_config *pool_account(const struct context *ctx, const struct run_row *run);
/* Adds what the run has cost since the last time to its account. */
MUST_USE enum rc pool_book(struct context *ctx, struct run_row *run);
#endif
