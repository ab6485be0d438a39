/*
 * sweep.h - removes directories of runs that nobody has used for long.
 *
 * The clean step removes what a run has left with the worker that takes that step.  What it has
 * left with others is removed here.  A worktree is a cache: whoever still needs one makes it anew.
 * What an agent has done in it and nobody has stored is saved first.
 */
#ifndef WORK_SWEEP_H
#define WORK_SWEEP_H
#include "base/id.h"
#include <stdbool.h>
#include <stdint.h>

struct sweep {
    const char *work_dir;
    int64_t unused_us; /* By the time of the directory: see sweep_touch. */
    int64_t now_us;    /* Wall clock. */
    /* Saves what the run's directory holds; false: it must stay.  The run is taken. */
    bool (*save)(void *ctx, const struct id *run_id);
    /* Takes the run for the sweeper; false: somebody works there, or it is time to stop. */
    bool (*take)(void *ctx, const struct id *run_id);
    void (*leave)(void *ctx);
    void *ctx;
};

/* How many were removed. */
int sweep_runs(const struct sweep *sweep);
/* Somebody uses it now. */
void sweep_touch(const char *run_dir);
#endif
