/*
 * guard.h - looks at what a sandboxed command uses, and says when that is too much.
 *
 * What the kernel can limit for one process or one file, it does (inside.h).  What counts for all
 * processes or all files together is looked at from outside, now and then: memory and processes
 * through /proc, disk by walking the directories that the command may write.  A walk is done in
 * slices, so that nobody waits for it; the pause between two looks grows with what a look costs.
 */
#ifndef WORK_GUARD_H
#define WORK_GUARD_H
#include "core/repo_config.h"
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

    int64_t processes_us, disk_us; /* When to look next; by clock_mono_us. */
    int64_t deleted_bytes;         /* Of files that have no name any more but are still open. */
    struct {
        DIR *open[GUARD_DEPTH_MAX]; /* From the top down to where the walk is. */
        size_t depth;
        size_t next_dir;
        int64_t bytes, cost_us;
    } walk;

    const char *limit;           /* disk_limit, memory_limit, process_limit; NULL: all is well. */
    char text[GUARD_TEXT_BYTES]; /* For people. */
};

void guard_init(struct guard *guard, const struct resource_config *limits, int64_t now_us);
void guard_release(struct guard *guard);
/* Looks when it is time; gives the time of the next look. */
int64_t guard_tick(struct guard *guard, int64_t now_us);
#endif
