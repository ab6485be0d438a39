/*
 * repo_follow.h - a repository whose forge is a server is followed: what changes there is learnt by
 * webhooks or by polling (control/pr/sync.h).  This begins and ends it.
 */
#ifndef CONTROL_ADMIT_REPO_FOLLOW_H
#define CONTROL_ADMIT_REPO_FOLLOW_H
#include "control/commit/context.h"
#include "store/repositories.h"

#define TIMER_SYNC "sync" /* Of a repository: ask its forge what has changed. */

/* For a repository that was configured, or that a server finds at its start: makes its row
   (store/syncs.h), and asks its forge after so long.  One that is removed, or has no such forge, is
   followed no more. */
MUST_USE enum rc repo_follow(struct context *ctx, const struct repository_row *repository,
                             int64_t delay_us);
#endif
