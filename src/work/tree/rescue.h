/*
 * rescue.h - saves the work of an agent before its tree is deleted.
 *
 * A tree is saved when its work is in a stored patch (tree.mark is there) or in a snapshot.  One
 * that cannot be saved is moved to work_dir/kept/<run id>, until a person deletes it (retention.h).
 */
#ifndef WORK_TREE_RESCUE_H
#define WORK_TREE_RESCUE_H
#include "work/tree/snapshot.h"

/* Before the tree is made anew: after RC_OK nothing is lost with it.  Reports what it saved; sets
   step->kept_tree when the tree had to be moved. */
MUST_USE enum rc rescue_tree(struct step *step, struct err *err);
/* The same before it is removed for good, for a tree that an agent has worked in.  *ret_last: the
   run's last snapshot, without a ref when there is none. */
MUST_USE enum rc rescue_or_keep(struct step *step, const char *reason, struct snapshot *ret_last,
                                struct err *err);
/* The same, but the tree is never moved to work_dir/kept. */
MUST_USE enum rc rescue_snapshot(struct step *step, const char *reason, struct snapshot *ret_last,
                                 struct err *err);
/* Pushes it to the origin if possible; a failure is only logged. */
void rescue_publish(struct step *step, const struct snapshot *last);

/* For housekeeping: the same for a run directory of which nothing else is known.  False: it must
   stay as it is. */
bool rescue_stray(const struct step_site *site, const struct id *run_id, struct stop *stop);

/* How many kept trees there are below this work directory. */
int rescue_count_kept(const char *work_dir);
#endif
