/*
 * acts.h - for the GitHub forge: acts that issues and pull requests share, and those on the
 * merging of a pull request.
 */
#ifndef FORGE_GITHUB_ACTS_H
#define FORGE_GITHUB_ACTS_H
#include "forge/github/api.h"

/* Creates or edits the comment with this key, on an issue or a pull request. */
MUST_USE enum rc github_put_comment(const struct github *gh, int64_t number,
                                    const struct forge_comment *comment);
/* NULL-terminated, or NULL. */
MUST_USE enum rc github_add_labels(const struct github *gh, int64_t number,
                                   const char *const *labels);
/* Whose token we use: asked for once, when it matters first. */
struct github_me {
    const char *login; /* NULL: not asked yet. */
};
/* Is this login, as REST shows it, the one of that identity? */
MUST_USE enum rc github_is_me(const struct github *gh, struct github_me *me, const char *login,
                              bool *ret_mine);

/* As in struct pr_ops. */
MUST_USE enum rc github_mark_ready(struct forge_call *call, const struct pr_ref *ref,
                                   struct err *err);
MUST_USE enum rc github_auto_merge(struct forge_call *call, const struct pr_ref *ref,
                                   const char *head, enum merge_way way, struct err *err);
MUST_USE enum rc github_enqueue(struct forge_call *call, const struct pr_ref *ref, const char *head,
                                struct err *err);
#endif
