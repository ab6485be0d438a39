/*
 * hosted.h - forges that are servers: what GitHub, GitLab and Gitea share.
 *
 * A hosted forge is git over HTTP and an API.  Branches and fences are refs, pushed as to any other
 * origin (forge_push); pull requests are made by the API.  hosted.c has the order of things and
 * what is found again after a crash; each forge brings the calls of its API (struct host_ops).
 *
 *   open_pr:  commit (the same at every try) -> read fence and branch -> may_go_on -> push both
 *             with the values that were read -> find the pull request of the branch, by anyone, in
 *             any state -> create it -> labels, reviewers
 *   withdraw: move the fence and delete the branch, if its last commit is the run's, in one push
 *             with the values that were read -> close the pull request that the run has opened
 *   merge:    read it -> merged already: RC_OK -> compare head and tree -> the API merges at that
 *             head
 */
#ifndef FORGE_HOST_HOSTED_H
#define FORGE_HOST_HOSTED_H
#include "forge/port/forge.h"

/* The repository in the API: made from its address. */
struct host_repo {
    const char *api;  /* https://api.github.com; no slash at the end. */
    const char *host; /* For the governor and the breaker: api.github.com */
    const char *path; /* acme/billing, as escaped for a path of this API. */
    const char *web;  /* https://github.com/acme/billing */
};

/* A pull request as the API lists it. */
struct host_pr {
    int64_t number;
    const char *url; /* For people. */
    char head[GIT_HASH_BYTES];
    const char *head_branch, *target_branch;
    const char *body;         /* "" without one. */
    const char *merge_commit; /* NULL: not merged. */
    bool open, merged, draft;
    bool foreign_head; /* The branch is one of another repository: a fork. */
};

struct host_new_pr {
    const char *branch, *target_branch, *title, *body;
    bool draft;
};

/* Errors as in port/prs.h. */
struct host_ops {
    /* RC_INVALID: the address is not one of such a repository. */
    enum rc (*place)(const struct forge_call *call, const char *url, struct arena *arena,
                     struct host_repo *ret_repo, struct err *err);
    enum rc (*find)(struct forge_call *call, const struct host_repo *repo, const char *branch,
                    struct arena *arena, struct host_pr **ret_prs, size_t *ret_count,
                    struct err *err); /* By head branch, open ones first, any state. */
    enum rc (*get)(struct forge_call *call, const struct host_repo *repo, int64_t number,
                   struct arena *arena, struct host_pr *ret_pr, struct err *err);
    /* RC_CONFLICT: there is one for this branch already: find() has it. */
    enum rc (*create)(struct forge_call *call, const struct host_repo *repo,
                      const struct host_new_pr *pr, struct arena *arena, struct host_pr *ret_pr,
                      struct err *err);
    enum rc (*close)(struct forge_call *call, const struct host_repo *repo, int64_t number,
                     struct err *err);
    /* RC_CONFLICT: it is not at this head any more, or cannot be merged: err has why. */
    enum rc (*merge)(struct forge_call *call, const struct host_repo *repo, int64_t number,
                     const char *head, const char *message, char ret_commit[GIT_HASH_BYTES],
                     struct err *err);
    /* Open ones, at most FORGE_LISTED_MAX. */
    enum rc (*list_open)(struct forge_call *call, const struct host_repo *repo, struct arena *arena,
                         struct host_pr **ret_prs, size_t *ret_count, struct err *err);
    /* The provider's id of the repository, which survives a renaming, and its name now. */
    enum rc (*identify)(struct forge_call *call, const struct host_repo *repo, struct arena *arena,
                        const char **ret_id, const char **ret_name, struct err *err);
    /* Address of a pull request, for people. */
    const char *(*pr_url)(const struct host_repo *repo, int64_t number, struct arena *arena);
};
enum { FORGE_LISTED_MAX = 1000 };

/* For host_ops.merge: what became of a merge that the API was asked for at this head.  An answer
   may be lost, and a refusal may be one of a merge that was done before: the pull request is read
   again.  rc and err are those of the request. */
struct host_merging {
    const struct host_ops *host;
    struct forge_call *call;
    const struct host_repo *repo;
    int64_t number;
    const char *head;
    const char *what; /* "Pull request" */
};
MUST_USE enum rc host_merge_outcome(const struct host_merging *merging, enum rc rc,
                                    char ret_commit[GIT_HASH_BYTES], struct err *err);

/* The run that a body names in its mark "Drover-Run: <run id>"; NULL: none.  In the arena. */
const char *hosted_run_of(const char *body, struct arena *arena);

/* The functions of struct forge_ops, for every forge with a struct host_ops. */
MUST_USE enum rc hosted_look(const struct forge_ops *forge, struct forge_call *call,
                             const struct forge_question *question, struct arena *arena,
                             struct forge_found *ret_found, struct err *err);
MUST_USE enum rc hosted_open_pr(const struct forge_ops *forge, struct forge_call *call,
                                const struct forge_change *change, struct arena *arena,
                                struct forge_pr *ret_pr, struct err *err);
MUST_USE enum rc hosted_withdraw(const struct forge_ops *forge, struct forge_call *call,
                                 const struct forge_withdrawal *withdrawal,
                                 struct forge_withdrawn *ret_withdrawn, struct err *err);
MUST_USE enum rc hosted_merge(const struct forge_ops *forge, struct forge_call *call,
                              const struct forge_merge *merge, char ret_commit[GIT_HASH_BYTES],
                              struct err *err);
MUST_USE enum rc hosted_close(const struct forge_ops *forge, struct forge_call *call,
                              const struct forge_closing *closing, struct err *err);
MUST_USE enum rc hosted_move_branch(const struct forge_ops *forge, struct forge_call *call,
                                    const struct branch_move *move, struct err *err);
MUST_USE enum rc hosted_survey(const struct forge_ops *forge, struct forge_call *call,
                               const char *url, struct arena *arena,
                               struct forge_traces *ret_traces, struct err *err);
MUST_USE enum rc hosted_examine(const struct forge_ops *forge, struct forge_call *call,
                                const char *url, const struct forge_known *known, size_t count,
                                struct arena *arena, struct forge_examined *ret, struct err *err);
const char *hosted_pr_url(const struct forge_ops *forge, const char *url, int64_t number,
                          struct arena *arena);
/* All of them, for the initializer of a struct forge_ops. */
#define HOSTED_OPS                                                                   \
    .look = hosted_look, .open_pr = hosted_open_pr, .withdraw = hosted_withdraw,     \
    .merge = hosted_merge, .close = hosted_close, .move_branch = hosted_move_branch, \
    .survey = hosted_survey, .examine = hosted_examine, .pr_url = hosted_pr_url
#endif
