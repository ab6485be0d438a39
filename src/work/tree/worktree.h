/*
 * worktree.h - the mirror of a repository, and checkouts that borrow from it.
 *
 * A worktree is a cache: the truth is base commit + latest patch.  The agent's tree carries a mark
 * with the base and patch that it shows; the mark is removed while an agent works in it, so a tree
 * that a crash left half done is made anew.  What the agent had done in it until then is saved
 * first (rescue.h).
 *
 *     run_dir/tree.mark    "<base> <patch or -> <boot>": the tree shows just that, for as long as
 *                          the machine runs; what an agent did in it is in a stored patch
 *     run_dir/tree.work    "<base> <name of the mirror> <repository>": an agent has worked in the
 *                          tree since it was made
 */
#ifndef WORK_TREE_WORKTREE_H
#define WORK_TREE_WORKTREE_H
#include "work/job/step.h"

/* Makes or updates the mirror, unless it holds the base commit already. */
MUST_USE enum rc worktree_mirror(struct step *step, struct err *err);
/* The same, always from the origin as it is now. */
MUST_USE enum rc worktree_fetch(struct step *step, struct err *err);

/* The commit to work from: the given one, or the tip of the target branch. */
MUST_USE enum rc worktree_base(struct step *step, const char **ret_commit, struct err *err);

struct checkout {
    const char *dir;    /* Removed first. */
    const char *base;   /* Commit. */
    const char *branch; /* Made at base; NULL: detached. */
    struct str patch;   /* Applied to tree and index; may be empty. */
};
/* RC_CONFLICT: the patch does not apply. */
MUST_USE enum rc worktree_checkout(struct step *step, const struct checkout *checkout,
                                   struct err *err);

/* From here on the agent may change the tree: removes tree.mark, writes tree.work. */
MUST_USE enum rc worktree_hand_out(struct step *step, const char *base, struct err *err);
/* The same for one whose work is thrown away: the tree is made anew after it. */
void worktree_lend(struct step *step);
/* Has an agent worked in it?  And is what it did in no stored patch? */
bool worktree_has_work(const struct step *step);
bool worktree_is_unsaved(const struct step *step);
/* The content of tree.work. */
struct work_mark {
    const char *base, *mirror;
    const char *repository; /* NULL: not known. */
};
MUST_USE enum rc worktree_read_work(const struct step *step, struct work_mark *ret,
                                    struct err *err);
/* Is the agent's tree there, with just base and patch (NULL: none) in it? */
bool worktree_shows(struct step *step, const char *base, const char *patch_sha256);
MUST_USE enum rc worktree_mark(struct step *step, const char *base, const char *patch_sha256,
                               struct err *err);

/* Removes a path that is no longer used; what cannot be removed now is left to the clean step. */
void worktree_drop(const struct step *step, const char *path);

const char *worktree_path(const struct step *step, const char *name); /* run_dir/name */
#endif
