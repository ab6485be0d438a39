/*
 * attic.h - what is put aside for people goes when its time is over.
 *
 *     work_dir/held/<run id>-<n>.diff    patches that were held back for their secrets (collect.h)
 *     work_dir/kept/<run id>             trees that could not be saved (rescue.h)
 *     refs/drover/snapshots/<run id>/    in the mirrors (snapshot.h)
 *
 * A file's time begins when it is put there, a snapshot's with its commit.  A run that still has a
 * directory here keeps its snapshots.  Their objects stay: nothing is pruned from mirrors.
 */
#ifndef WORK_ATTIC_H
#define WORK_ATTIC_H
#include <stdatomic.h>
#include <stdint.h>

struct attic {
    const char *work_dir;
    int64_t keep_us;          /* More than 0. */
    int64_t now_us;           /* Wall clock. */
    const atomic_int *cancel; /* Non-zero stops it. */
};

/* Logs what it removes. */
void attic_clear(const struct attic *attic);
#endif
