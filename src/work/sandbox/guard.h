/*
 * guard.h - measures what a sandboxed command uses, and reports when it exceeds a limit.
 *
 * What the kernel can limit for one process or one file, it does (inside.h).  What counts for all
 * processes or all files together is measured from outside, periodically: memory and processes
 * through /proc, disk by walking the directories that the command may write.  A walk is done in
 * slices, so that the caller never waits long; the pause between two measurements grows with their
 * cost.
 */
#ifndef WORK_SANDBOX_GUARD_H
#define WORK_SANDBOX_GUARD_H
#include "core/config/repo_config.h"
#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { GUARD_DIRS_MAX = 8, GUARD_DEPTH_MAX = 200, GUARD_TEXT_BYTES = 160 };

struct guard {
    struct resource_config limits;
    const char *dirs[GUARD_DIRS_MAX]; /* What counts as disk; not owned. */
    size_t dir_count;
    pid_t top; /* The sandbox's init, or the command itself; 0: not known yet. */

    int64_t processes_us, disk_us; /* When to measure next; by clock_mono_us. */
    int64_t deleted_bytes;         /* Of files that have no name any more but are still open. */
    struct {
        DIR *open[GUARD_DEPTH_MAX]; /* From the top down to where the walk is. */
        size_t depth;
        size_t next_dir;
        int64_t bytes, cost_us;
    } walk;

    const char *limit;           /* disk_limit, memory_limit, process_limit; NULL: none exceeded. */
    char text[GUARD_TEXT_BYTES]; /* For people. */
};

void guard_init(struct guard *guard, const struct resource_config *limits, int64_t now_us);
void guard_release(struct guard *guard);
/* Measures when it is due; returns the time of the next measurement. */
int64_t guard_tick(struct guard *guard, int64_t now_us);
#endif
