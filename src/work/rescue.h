/*
 * rescue.h - nothing that an agent has done is deleted before it is in safety.
 *
 * A tree is in safety when its work is in a stored patch (the mark says so) or in a snapshot of the
 * mirror.  One that cannot be brought there is moved to work_dir/kept/<run id>, until a person
 * deletes it (attic.h).
 */
#ifndef WORK_RESCUE_H
#define WORK_RESCUE_H
#include "work/snapshot.h"

/* Before the tree is made anew: after RC_OK nothing is lost with it.  Tells of what it saved;
   step->kept_tree when the tree had to be moved. */
MUST_USE enum rc rescue_tree(struct step *step, struct err *err);
/* The same before it is removed for good, for a tree that an agent has worked in.  *ret_last: the
   run's last snapshot, without a ref when there is none. */
MUST_USE enum rc rescue_or_keep(struct step *step, const char *reason, struct snapshot *ret_last,
                                struct err *err);
/* The same without the last resort. */
MUST_USE enum rc rescue_snapshot(struct step *step, const char *reason, struct snapshot *ret_last,
                                 struct err *err);
/* To the origin, if we can; what cannot be done is only logged. */
void rescue_publish(struct step *step, const struct snapshot *last);

/* For the broom: the same for a run directory of which nothing else is known.  False: it must stay
   as it is. */
bool rescue_stray(const struct step_site *site, const struct id *run_id, struct stop *stop);

/* How many kept trees there are below this work directory. */
int rescue_count_kept(const char *work_dir);
#endif
