/*
 * look.h - something at a forge has changed, or may have: it is read again.
 *
 * Deliveries of webhooks, polling and the recovery of missed deliveries all end here, so that the
 * three do the same.  Each call is idempotent and cheap: it makes a timer due or a job that is
 * there already stays the only one.
 */
#ifndef CONTROL_PR_LOOK_H
#define CONTROL_PR_LOOK_H
#include "control/commit/context.h"
#include "store/repositories.h"

/* An issue: its labels, assignees, text or comments (control/pr/intake.c). */
MUST_USE enum rc look_at_issue(struct context *ctx, const struct repository_row *repository,
                               int64_t number);
/* A pull request, whether drover opened it or not (control/pr/shepherd.c). */
MUST_USE enum rc look_at_pr(struct context *ctx, const struct repository_row *repository,
                            int64_t number);
/* All open pull requests whose head is this commit. */
MUST_USE enum rc look_at_commit(struct context *ctx, const struct repository_row *repository,
                                const char *commit);
/* All open pull requests from or into this branch, and its train. */
MUST_USE enum rc look_at_branch(struct context *ctx, const struct repository_row *repository,
                                const char *branch);
#endif
