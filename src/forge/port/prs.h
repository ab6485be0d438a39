/*
 * prs.h - what drover reads of a pull request at a forge after it was opened, and what it does
 * there.
 *
 * Every act may be repeated: comments, reviews and threads carry a key in a hidden mark, by which
 * an earlier one is found.  What a forge cannot do is missing from forge_ops.can and its function
 * is NULL; callers ask first.
 */
#ifndef FORGE_PORT_PRS_H
#define FORGE_PORT_PRS_H
#include "core/pr/pr_view.h"
#include "forge/git/git.h"
#include "forge/port/call.h"

enum {
    PR_COMMENT_MAX = 60 * 1024,
    PRS_CHANGED_MAX = 500,
};

/* Which one. */
struct pr_ref {
    const char *url; /* Of the repository. */
    int64_t number;
    bool issue; /* For comment: an issue.  GitLab numbers issues and merge requests apart. */
};

/* A comment that drover keeps up to date, on a pull request or an issue. */
struct forge_comment {
    const char *key;  /* Its mark: the same key is the same comment. */
    const char *body; /* Markdown; at most PR_COMMENT_MAX. */
};

enum merge_way { MERGE_WAY_MERGE, MERGE_WAY_SQUASH, MERGE_WAY_REBASE };

struct pr_review_words {
    const char *key;    /* As above. */
    const char *commit; /* The head that is approved. */
    const char *body;
    bool approve; /* false: a comment */
};

/* What changed at the forge since then: to be looked at. */
struct forge_changed {
    int64_t number;
    bool is_pr;
    int64_t updated_us;
};
struct changed_query {
    const char *url;
    int64_t since_us; /* 0: all that are open. */
    const char *etag; /* Of the last answer, or NULL. */
};
struct changed_answer {
    struct forge_changed *items; /* Oldest change first. */
    size_t count;
    bool same;        /* The ETag still holds: nothing changed. */
    bool more;        /* There are more: ask again from the last one's time. */
    const char *etag; /* or NULL */
};

/*
 * RC_NOT_FOUND: there is no such pull request.  RC_CONFLICT: it is not in a state for this.
 * RC_LIMIT, code FORGE_LIMIT: the forge's rate limit; err->retry_ms says when to come again.
 * RC_UNREACHABLE, RC_IO, RC_TIMEOUT: the forge cannot answer now.  RC_CORRUPT: what it answers is
 * not what its API describes.
 */
struct pr_ops {
    enum rc (*view)(struct forge_call *call, const struct pr_ref *ref, struct arena *arena,
                    struct pr_view *ret_view, struct err *err);
    enum rc (*changed)(struct forge_call *call, const struct changed_query *query,
                       struct arena *arena, struct changed_answer *ret_answer, struct err *err);
    /* Creates or edits it. */
    enum rc (*comment)(struct forge_call *call, const struct pr_ref *ref,
                       const struct forge_comment *comment, struct err *err);
    /* Adds labels; requests reviewers (logins, or "team/NAME").  NULL-terminated lists. */
    enum rc (*label)(struct forge_call *call, const struct pr_ref *ref, const char *const *labels,
                     struct err *err);
    enum rc (*request_review)(struct forge_call *call, const struct pr_ref *ref,
                              const char *const *reviewers, struct err *err);
    enum rc (*mark_ready)(struct forge_call *call, const struct pr_ref *ref, struct err *err);
    enum rc (*set_body)(struct forge_call *call, const struct pr_ref *ref, const char *body,
                        struct err *err);
    enum rc (*review)(struct forge_call *call, const struct pr_ref *ref,
                      const struct pr_review_words *words, struct err *err);
    enum rc (*thread_reply)(struct forge_call *call, const struct pr_ref *ref, const char *thread,
                            const struct forge_comment *comment, struct err *err);
    enum rc (*thread_resolve)(struct forge_call *call, const struct pr_ref *ref, const char *thread,
                              struct err *err);
    /* The forge is to merge it by itself, or to put it into its own queue, at this head. */
    enum rc (*auto_merge)(struct forge_call *call, const struct pr_ref *ref, const char *head,
                          enum merge_way way, struct err *err);
    enum rc (*enqueue)(struct forge_call *call, const struct pr_ref *ref, const char *head,
                       struct err *err);
};
#endif
