/*
 * overlap.h - may two pieces of work touch the same file?
 *
 * A set of files is what a task declares (globs) and what its latest patch was seen to change
 * (paths).  The answer errs on one side only: never "no" when there is a file in both.
 */
#ifndef CORE_RUN_OVERLAP_H
#define CORE_RUN_OVERLAP_H
#include <stdbool.h>
#include <stddef.h>

struct file_set { /* Without globs and paths: unknown, so it may be any file. */
    const char *const *globs;
    size_t glob_count;
    const char *const *paths;
    size_t path_count;
};

struct overlap { /* Which two overlap, for messages to people; NULL stands for any file. */
    const char *wanted;
    const char *held;
};

/* Can one path be in both?  Globs as of glob_covers (base/str.h).  *ret_overlap is written when
   they do. */
bool file_sets_overlap(const struct file_set *wanted, const struct file_set *held,
                       struct overlap *ret_overlap);
#endif
