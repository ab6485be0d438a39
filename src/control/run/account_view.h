/*
 * account_view.h - the accounts as one batch has read them: what is parked, how full their windows
 * are, who uses them.  Read when it is first needed; account_pool.c reads the row of an account
 * again, locked, before a run gets it.
 */
#ifndef CONTROL_RUN_ACCOUNT_VIEW_H
#define CONTROL_RUN_ACCOUNT_VIEW_H
#include "control/commit/context.h"
#include "core/agent/account_windows.h"
#include "store/accounts.h"

struct seen_account {
    struct account_row row;
    struct account_windows windows;
};

/* NULL in *ret_account: there is nothing to know of it. */
MUST_USE enum rc account_view_find(struct context *ctx, const char *name,
                                   const struct seen_account **ret_account);
/* Active runs that have the account. */
MUST_USE enum rc account_view_runs(struct context *ctx, const char *name, int64_t *ret_runs);
/* Something was written: the next question reads anew. */
void account_view_forget(struct context *ctx);
/* A run has got the account, by this row. */
void account_view_note(struct context *ctx, const struct account_row *row);

/* Pools of which this round of admission has found no account free: their runs are passed over. */
void account_view_note_empty(struct context *ctx, const char *pool);
bool account_view_is_empty(const struct context *ctx, const char *pool);
#endif
