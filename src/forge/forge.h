/*
 * forge.h - git hosts behind one interface: look what a branch has come to, open a pull request,
 * take back the branch of one that does not come, merge or close one.
 *
 * All may be tried again after a crash at any point: the commit is made of its input alone, so
 * it has the same hash every time, and a pull request that exists is found by its run.
 */
#ifndef FORGE_FORGE_H
#define FORGE_FORGE_H
#include "base/arena.h"
#include "base/rc.h"
#include "base/str.h"
#include "forge/git.h"
#include <stdbool.h>
#include <stdint.h>

/* A verified patch that is to become a pull request. */
struct forge_change {
    const char *url;    /* The origin. */
    const char *mirror; /* A bare repository that holds the base commit. */
    const char
        *scratch; /* A path for a repository of its own: made anew, the caller's to remove. */
    const char *run_id;
    const char *base_commit;
    struct str patch;
    const char *tree; /* That was verified: base + patch must make the same; NULL: none was. */
    const char *branch;
    const char *target_branch;
    const char *title;
    const char *body;
    int64_t time_us; /* Date of the commit: the same at every try. */
    bool draft;
    /* Asked right before every outside effect; anything but RC_OK stops the work. */
    enum rc (*may_go_on)(void *ctx, struct err *err);
    void *ctx;
};

struct forge_pull {
    int64_t number;
    char head[GIT_HASH_BYTES];
    const char *url; /* In the arena. */
};

/* A branch that was pushed for a pull request that does not come. */
struct forge_withdrawal {
    const char *url;
    const char *run_id;
    const char *branch;
    enum rc (*may_go_on)(void *ctx, struct err *err); /* As above. */
    void *ctx;
};

enum forge_branch {
    BRANCH_ABSENT, /* It was never pushed, or is gone already. */
    BRANCH_DELETED,
    BRANCH_PULLED,  /* It has a pull request: kept. */
    BRANCH_FOREIGN, /* Its last commit is not the run's: kept. */
};

/* Whose work is looked for. */
struct forge_question {
    const char *url;
    const char *branch;
};

/* What is there of it, whoever made it.  A pull request that drover opened is not foreign: it is
   not told. */
struct forge_found {
    char head[GIT_HASH_BYTES]; /* Of the branch; "": there is none. */
    int64_t pull_number;       /* Of a pull request from it that somebody else opened; 0: none. */
    const char *pull_url;      /* In the arena; NULL without one. */
    bool pull_draft;
};

struct forge_merge {
    const char *forge; /* "local" */
    const char *url;
    int64_t number;
    const char *run_id, *branch; /* Whose it is: RC_CONFLICT when it is that of another run. */
    const char *expected_head;   /* RC_CONFLICT when the pull request has moved. */
    const char *expected_tree;   /* RC_CONFLICT when the head shows other files; NULL: any. */
    const char *target_branch;
    const char *message;
};

struct forge_closing {
    const char *forge; /* As above. */
    const char *url;
    int64_t number;
    const char *run_id, *branch;
};

struct issue_ops;
struct forge_ops {
    const char *name;
    enum rc (*look)(const struct git *git, const struct forge_question *question,
                    struct arena *arena, struct forge_found *ret_found, struct err *err);
    /* A branch that shows the very files of the change already, as an agent may have pushed them,
       is taken as it is.  RC_CONFLICT: the patch does not apply, or somebody else pushed other
       things to the branch. */
    enum rc (*open_pull)(const struct git *git, const struct forge_change *change,
                         struct arena *arena, struct forge_pull *ret_pull, struct err *err);
    /* Deletes the run's branch unless it has a pull request, or somebody else's work on it. */
    enum rc (*withdraw)(const struct git *git, const struct forge_withdrawal *withdrawal,
                        enum forge_branch *ret_branch, struct err *err);
    enum rc (*merge)(const struct git *git, const struct forge_merge *merge,
                     char ret_commit[GIT_HASH_BYTES], struct err *err);
    /* Without merging it; the branch stays.  One that is gone, or closed already, is RC_OK. */
    enum rc (*close)(const struct git *git, const struct forge_closing *closing, struct err *err);
    /* The address of a pull request, without credentials. */
    const char *(*pull_url)(const char *url, int64_t number, struct arena *arena);
    const struct issue_ops *issues; /* forge/issues.h; NULL: it has none. */
};
extern const struct forge_ops forge_local;

const struct forge_ops *forge_find(const char *name); /* NULL when nobody knows it. */

/* Merges a pull request; RC_CONFLICT says what stands in the way.  Merged already is RC_OK. */
MUST_USE enum rc forge_merge(const struct git *git, const struct forge_merge *merge,
                             char ret_commit[GIT_HASH_BYTES], struct err *err);

MUST_USE enum rc forge_close(const struct git *git, const struct forge_closing *closing,
                             struct err *err);

/* For forges: the commit of a change in change->scratch, and its push to the origin. */
MUST_USE enum rc forge_commit(const struct git *git, const struct forge_change *change,
                              char ret_head[GIT_HASH_BYTES], struct err *err);
MUST_USE enum rc forge_push(const struct git *git, const struct forge_change *change,
                            const char *head, struct err *err);
#endif
