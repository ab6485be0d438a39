/*
 * publication.h - which snapshots the origin has, by asking the origin.
 *
 *     refs/drover/published/<run id>/<attempt>-<n>   the origin has what the snapshot of this name
 *                                                    holds: it may expire (retention.h)
 *
 * The marks are in the snapshot repository (snapshot.h).  A snapshot is published when a snapshot
 * ref of the origin has its commit, or when the head of the run's pull request has its very tree;
 * the snapshots before it, its ancestors, are published too.
 */
#ifndef WORK_TREE_PUBLICATION_H
#define WORK_TREE_PUBLICATION_H
#include "work/tree/snapshot.h"

/* After a push: asks for the ref, and marks the snapshot and its ancestors if the origin has it.
   RC_NOT_FOUND: the origin does not have it. */
MUST_USE enum rc publication_confirm(struct step *step, const struct snapshot *snapshot,
                                     const char *origin_ref, struct err *err);
/* Has the run a pull request at the origin? */
MUST_USE enum rc publication_has_pr(struct step *step, bool *ret_has, struct err *err);
/* Asks about all snapshots of the snapshot repository that are not marked, at most once an hour. */
MUST_USE enum rc publication_review(struct step *step, struct err *err);
#endif
