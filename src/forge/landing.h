/*
 * landing.h - pull requests merged onto a commit one after the other, without a tree of files, and
 * the target branch moved to the result.
 *
 *     base --- merge of car 0 --- merge of car 1 ...     a position each
 *
 * A commit is made of its input alone: the same base and heads make the same commits in every
 * repository, so that a position that one worker has verified is landed by another.
 *
 * The push names the commit that the target has to be at, and moves the fence of every run whose
 * pull request lands (git/fence.h), all or nothing.
 */
#ifndef FORGE_LANDING_H
#define FORGE_LANDING_H
#include "forge/port/forge.h"

enum { LANDING_CARS_MAX = 50 };

struct landing_car {
    int64_t number;
    const char *run_id, *branch, *head, *title;
    int64_t time_us; /* Date of its commit: the same at every try. */
};

struct landing {
    const char *url;
    const char *git_dir; /* A bare repository with base and heads; gets the new objects. */
    const char *target_branch, *base;
    const struct landing_car *cars;
    size_t count;
    bool single; /* All become one commit, whose parents are the base and all heads. */
    struct forge_holder holder;
};

struct landing_position {
    const char *commit, *tree;
};

/* Of each car, in the arena.  RC_CONFLICT: the car *ret_at does not merge; err has the files. */
MUST_USE enum rc landing_merge(const struct git *git, const struct landing *landing,
                               struct arena *arena, struct landing_position *positions,
                               size_t *ret_at, struct err *err);
/* The single commit of all, with the tree of the last position. */
MUST_USE enum rc landing_single(const struct git *git, const struct landing *landing,
                                const char *tree, struct arena *arena, const char **ret_commit,
                                struct err *err);

/* Moves the target from the base to this commit.  RC_CONFLICT: TARGET_ADVANCED, it is at another
   one; PULL_REQUEST_MOVED, that of the car *ret_at is closed or has another head;
   BRANCH_CHECKED_OUT; TARGET_PROTECTED, the forge does not accept the push. */
MUST_USE enum rc landing_push(struct forge_call *call, const struct landing *landing,
                              const char *commit, size_t *ret_at, struct err *err);
/* The target has been found to have landed: makes that durable, as the earlier try may not have. */
MUST_USE enum rc landing_found(struct forge_call *call, const struct landing *landing,
                               struct err *err);
#endif
