/*
 * tree_merge.h - merges and rebases commits of a mirror without a working tree: nothing that an
 * agent could write to takes part, and no hook or filter runs.
 *
 * The same input makes the same commits, so that another worker, or another try, makes them again.
 */
#ifndef WORK_TREE_TREE_MERGE_H
#define WORK_TREE_TREE_MERGE_H
#include "work/job/step.h"

enum { REBASE_COMMITS_MAX = 200 };

/* One commit with both as parents; where they disagree its files have conflict marks.  Made in the
   mirror.  *ret_conflicts, which may be NULL: names of such files, or NULL. */
struct tree_merge {
    const char *dir; /* A repository that has both commits: objects are written there. */
    const char *head, *with;
};
MUST_USE enum rc tree_merge(struct step *step, const struct tree_merge *merge,
                            const char **ret_commit, const char **ret_conflicts, struct err *err);

struct tree_rebase {
    const char *dir; /* As above. */
    const char *head, *onto;
};
struct tree_rebased {
    const char *head;      /* NULL: it does not apply. */
    const char *conflicts; /* Then: the commit and the files. */
    bool empty;            /* Nothing is left: head is `onto`. */
};
/* Every commit of head that `onto` does not have, in order, with its author and message.  A head
   with merges among them, or with too many, is merged with `onto` instead. */
MUST_USE enum rc tree_rebase(struct step *step, const struct tree_rebase *rebase,
                             struct tree_rebased *ret, struct err *err);
#endif
