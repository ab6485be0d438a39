/*
 * sweep.h - removes directories of runs that no step has used for long.
 *
 * The clean step removes the run's directory on the worker that runs that step.  Directories on
 * other workers are removed here.  A worktree is a cache: a step that still needs one makes it
 * anew.  Work of an agent in it that is not stored is saved first.
 */
#ifndef WORK_TREE_SWEEP_H
#define WORK_TREE_SWEEP_H
#include "base/id.h"
#include <stdbool.h>
#include <stdint.h>

struct sweep {
    const char *work_dir;
    int64_t unused_us; /* By the mtime of the directory: see sweep_touch. */
    int64_t now_us;    /* Wall clock. */
    /* Saves what the run's directory holds; false: it must stay.  Called after take. */
    bool (*save)(void *ctx, const struct id *run_id);
    /* Takes the run for the sweeper; false: a step uses it, or a stop is requested. */
    bool (*take)(void *ctx, const struct id *run_id);
    void (*leave)(void *ctx);
    void *ctx;
};

/* How many were removed. */
int sweep_runs(const struct sweep *sweep);
/* Notes that a step uses it now. */
void sweep_touch(const char *run_dir);
#endif
