/*
 * checked_out.h - branches of an origin that are checked out there.
 *
 * An origin may be a checkout that a person works in, or have linked worktrees.  Moving a branch
 * under a worktree makes all files there look changed, and the next commit there takes the move
 * back.  So:
 *   1. A branch that a worktree shows, or that is being rebased in one, is never deleted, and moved
 *      by refs alone never.
 *   2. It is moved together with the files when the repository allows that by git's own setting for
 *      pushes, receive.denyCurrentBranch=updateInstead, and the worktree is clean and belongs to
 *      the user that drover runs as.  git does it, as for any push: filters that the repository
 *      configures run then, so no other user's.
 *   3. Otherwise the move is refused (RC_CONFLICT, BRANCH_CHECKED_OUT) with what to do.
 *   4. Files first, then the ref: a git that is killed in between leaves the files of the new
 *      commit, and the next try only moves the ref.
 * A worktree whose directory is gone shows nothing.
 */
#ifndef FORGE_GIT_CHECKED_OUT_H
#define FORGE_GIT_CHECKED_OUT_H
#include "forge/git/origin.h"
#include "forge/git/ref_tx.h"

struct checked_out {
    const char *tree; /* The directory of the worktree; NULL: none has the branch. */
    bool rebasing;
    bool updated; /* Its files are those that the branch will show: rule 4. */
};
MUST_USE enum rc checked_out_find(const struct origin *origin, const char *branch_ref,
                                  struct checked_out *ret_found, struct err *err);

/* Is rule 2 met?  RC_CONFLICT with the reason, and what to do to merge the ref there.  Sets
   found->updated. */
struct checked_out_question {
    const char *branch_ref;
    const char *merged_ref;
    const char *merged_tree; /* The files that the branch will show. */
};
MUST_USE enum rc checked_out_may_move(const struct origin *origin,
                                      const struct checked_out_question *question,
                                      struct checked_out *found, struct err *err);

/* Moves the branch with its files, and the fence and the other refs with it, or none of them. */
struct checked_out_ref {
    const char *ref;
    struct ref_move move;
};
struct checked_out_move {
    const char *branch_ref;
    struct ref_move branch;
    const char *fence_ref;
    struct ref_move fence;
    const struct checked_out_ref *further;
    size_t further_count;
};
/* RC_IO: a ref has another value than was expected.  RC_CONFLICT: the worktree was not clean. */
MUST_USE enum rc checked_out_push(const struct origin *origin, const struct checked_out *found,
                                  const struct checked_out_move *move, struct err *err);
#endif
