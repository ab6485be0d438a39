/*
 * repack.h - mirrors that have become slow are packed anew, and what deleted snapshots have left is
 * removed.
 *
 * Every fetch adds a pack to a mirror, and git looks for an object in one after the other.  A
 * mirror with many of them gets one pack in place of all.  Nothing is dropped: what no ref leads to
 * any more may be the base of a run, or what a snapshot borrows (mirror.h).
 *
 * Other git processes may read the mirror meanwhile: one that misses a pack looks for the new one.
 * The mark of a fetch is set, so that a mirror whose repacking a loss of power has cut short is
 * examined before it is used.
 */
#ifndef WORK_TREE_REPACK_H
#define WORK_TREE_REPACK_H
#include <stdatomic.h>
#include <stdint.h>

struct repack {
    const char *work_dir;
    const atomic_int *cancel; /* Non-zero stops it; may be NULL. */
    int64_t now_us;           /* Wall clock; for repack_snapshots. */
};

/* Snapshot repositories (snapshot.h) that have changed since, once a day: objects that no ref leads
   to, and that are older than a day, are removed.  What borrows from one for a moment needs none of
   them.  Returns how many were packed; one that is in use, or fails, is left for the next time. */
int repack_snapshots(const struct repack *repack);

/* How many mirrors were packed.  One that is in use, or fails, is left for the next time. */
int repack_mirrors(const struct repack *repack);
#endif
