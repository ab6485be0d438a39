/*
 * mirror.h - a mirror that was damaged is replaced.
 *
 *     mirrors/<hash>.git                the mirror
 *     mirrors/<hash>.git.lock           held by the one thread that may change it
 *     mirrors/<hash>.git.fetching       the boot in which a change began; gone when it has ended
 *     mirrors/<hash>.git.damaged-<n>    one that git found damaged; the newest are kept
 *
 * A change ends when what it wrote is synced.  So a mark of another boot means that power was lost
 * in between, and only then is the mirror examined before it is used.  It is also examined when git
 * has failed in it for no other known reason.
 *
 * The snapshot repository (snapshot.h) borrows from the mirror by its path and stays where it is.
 * What only the damaged one still has, such as a base commit that the origin has dropped, is
 * borrowed from there; such a one is not removed.
 */
#ifndef WORK_TREE_MIRROR_H
#define WORK_TREE_MIRROR_H
#include "work/job/step.h"

#define SNAPSHOT_SUFFIX ".snapshots.git" /* Of the snapshot repository. */

/* The path of the snapshot repository beside the mirror.  It is made with the first snapshot. */
const char *mirror_snapshots(const struct step *step);
bool mirror_has_snapshots(const struct step *step);

/* Was power lost during a change? */
bool mirror_is_suspect(const struct step *step);

/* Has a step of this process found the commit in this mirror before?  Nothing is pruned from a
   mirror; one that was replaced is another directory, of which nothing is known yet. */
bool mirror_is_known_to_hold(const struct step *step, const char *commit);
void mirror_holds_commit(const struct step *step, const char *commit);

/* All below: the caller holds the mirror's lock. */

/* Removes what a killed git has left in a repository: no other one can be at work in it. */
void mirror_drop_locks(const struct step *step, const char *git_dir);
/* Around every change of its objects: a fetch, a repack (repack.h). */
MUST_USE enum rc mirror_change_begins(const char *mirror, struct err *err);
MUST_USE enum rc mirror_change_ends(const char *mirror, struct err *err);
/* Moves the mirror aside if git finds it damaged. */
MUST_USE enum rc mirror_check(struct step *step, bool *ret_removed, struct err *err);
/* After a new one was fetched in the place of one that was moved aside. */
void mirror_keep_snapshots(struct step *step);

/* For a step in which git has failed: takes the lock itself.  The next try fetches a new mirror. */
void mirror_examine(struct step *step);
#endif
