/*
 * view.h - what is read of a pull request of Gitea or Forgejo.
 */
#ifndef FORGE_GITEA_VIEW_H
#define FORGE_GITEA_VIEW_H
#include "forge/gitea/api.h"
#include "forge/port/prs.h"

/* Comments of reviews by the line that they are about.  Neither forge has an object for a thread:
   its id is that of its first comment. */
struct gitea_thread {
    struct thread_view view;
    int64_t first;
    int64_t new_line, old_line; /* One of them is 0. */
};
struct gitea_threads {
    struct gitea_thread *items;
    size_t count;
    bool cut;
};
/* Reads reviews and their comments; the reviews go to *ret_reviews, PR_REVIEWS_MAX at most. */
MUST_USE enum rc gitea_read_reviews(const struct host_api *api, int64_t number,
                                    struct review_view **ret_reviews, size_t *ret_count,
                                    struct gitea_threads *ret_threads, struct err *err);

MUST_USE enum rc gitea_view(struct forge_call *call, const struct pr_ref *ref, struct arena *arena,
                            struct pr_view *ret_view, struct err *err);
MUST_USE enum rc forgejo_view(struct forge_call *call, const struct pr_ref *ref,
                              struct arena *arena, struct pr_view *ret_view, struct err *err);
#endif
