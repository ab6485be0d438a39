/*
 * pr_view.h - what a forge shows of a pull request at one moment: its heads, checks, reviews and
 * threads.
 *
 * Forges fill it in (forge/port/prs.h), the shepherd decides by it (core/pr/shepherd.h).  Texts
 * live in the arena of the call that made it.  A text by a person or a program at the forge is
 * untrusted.
 */
#ifndef CORE_PR_PR_VIEW_H
#define CORE_PR_PR_VIEW_H
#include "base/arena.h"
#include "base/js.h"
#include "base/jw.h"
#include "base/rc.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PR_CHECKS_MAX = 200, /* What a view holds of each; `cut` tells that there is more. */
    PR_REVIEWS_MAX = 200,
    PR_THREADS_MAX = 200,
    PR_THREAD_COMMENTS_MAX = 50,
};

enum pr_state { PR_OPEN, PR_MERGED, PR_CLOSED };

/* Whether the forge could merge it now, as the forge says. */
enum pr_mergeable {
    MERGE_UNKNOWN, /* The forge is still working it out. */
    MERGE_CLEAN,
    MERGE_CONFLICT,
    MERGE_BEHIND,  /* The target has moved, and the repository wants it up to date. */
    MERGE_BLOCKED, /* A rule of the repository: a check, a review. */
};

enum check_state {
    CHECK_PENDING, /* Queued or running. */
    CHECK_PASSED,  /* Also neutral and skipped. */
    CHECK_FAILED,
    CHECK_TIMED_OUT,
    CHECK_CANCELLED,
    CHECK_BROKEN, /* It could not run: startup failure, action required, stale. */
};

struct check_view {
    const char *id; /* As the forge names it for a log or a rerun. */
    const char *name;
    enum check_state state;
    const char *url;     /* or NULL */
    const char *summary; /* or NULL */
    int64_t started_us, ended_us;
    bool required; /* The target branch demands it, as far as the forge tells. */
    bool own;      /* Put there by drover. */
    bool job;      /* It has a log and can be run again. */
};

enum review_verdict { REVIEW_COMMENTED, REVIEW_APPROVED, REVIEW_CHANGES_REQUESTED, REVIEW_PENDING };

struct review_view {
    const char *id;
    const char *author;
    const char *association; /* OWNER, MEMBER, COLLABORATOR, CONTRIBUTOR, NONE; NULL: not known */
    enum review_verdict verdict;
    const char *commit; /* The head that was reviewed. */
    const char *body;   /* "" without one. */
    int64_t submitted_us;
};

struct thread_comment {
    const char *id;
    const char *author;
    const char *association; /* As above. */
    const char *body;
    int64_t created_us;
};

struct thread_view {
    const char *id;
    const char *path; /* NULL: it is about no file. */
    int64_t line;     /* 0: not known */
    bool resolved;
    bool outdated; /* The line is not in the head any more. */
    struct thread_comment *comments;
    size_t comment_count;
};

struct pr_view {
    int64_t number;
    const char *url, *title, *author;
    enum pr_state state;
    bool draft;
    const char *head, *head_branch; /* Commit and name. */
    const char *base, *target_branch;
    const char *merge_commit; /* NULL: not merged. */
    enum pr_mergeable mergeable;
    bool auto_merge; /* The forge merges it by itself once it may. */
    bool queued;     /* In the forge's own merge queue. */
    struct check_view *checks;
    size_t check_count;
    struct review_view *reviews; /* Oldest first. */
    size_t review_count;
    struct thread_view *threads;
    size_t thread_count;
    const char **labels; /* NULL-terminated. */
    int64_t updated_us;
    bool cut; /* There is more than the limits above. */
};

/* As JSON, and back.  The forms of both are the same. */
void pr_view_write(struct jw *jw, const struct pr_view *view);
MUST_USE enum rc pr_view_decode(const struct js *document, struct arena *arena,
                                struct pr_view *ret_view, struct err *err);
const char *check_state_name(enum check_state state);
const char *pr_mergeable_name(enum pr_mergeable mergeable);
const char *review_verdict_name(enum review_verdict verdict);
#endif
