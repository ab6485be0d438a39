/*
 * outputs.h - copies files and directories that a check has made from its tree to another place.
 *
 * The source belongs to code that an agent wrote.  Invariants:
 *   1. No symbolic link is followed, in source or destination; links are copied as links.  With
 *      `inside`, one that could lead out of the tree is refused.
 *   2. Nothing in the destination is replaced: what stands there stays, and is counted as skipped.
 *   3. Regular files, directories and links are copied.  FIFOs, sockets and devices are skipped.
 *   4. Bytes, entries, depth and time are limited.  A sparse file counts with its full length.
 *   5. Permissions keep no set-user-ID, set-group-ID or sticky bit; the owner can read the copy.
 */
#ifndef WORK_TREE_OUTPUTS_H
#define WORK_TREE_OUTPUTS_H
#include "base/rc.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* What copies may use together; counted down. */
struct outputs_room {
    int64_t bytes, entries;
    const atomic_int *cancel; /* Non-zero: RC_CANCELLED. */
    int64_t deadline_us;      /* By clock_mono_us: RC_TIMEOUT. */
};

struct outputs_copy {
    const char *from, *to; /* Directories that exist. */
    const char *path;      /* Relative to both; without "", "." and ".." (repo_config). */
    bool inside;           /* RC_DENIED for a link that could lead out of `from`. */
};

struct outputs_count {
    int64_t files, bytes; /* Links count as files. */
    int64_t skipped;      /* Stood there already, or is of no kind that is copied. */
};

/* RC_NOT_FOUND: the source has no such path.  RC_TOO_LARGE: more than the room, or too deep; a part
   of it may have been copied. */
MUST_USE enum rc outputs_copy(const struct outputs_copy *copy, struct outputs_room *room,
                              struct outputs_count *ret_count, struct err *err);

/* Gives all below a directory, but for .git, this time of last change: a checkout that is made
   later must not look newer than what was built from an earlier one.  For trees that only drover
   has written. */
MUST_USE enum rc outputs_date_tree(const char *tree, int64_t time_us, struct err *err);
#endif
