/*
 * collect.h - the patch: what the agent's tree has that the base commit has not.
 * git takes it inside the sandbox: see treegit.h.
 */
#ifndef WORK_TREE_COLLECT_H
#define WORK_TREE_COLLECT_H
#include "core/run/patch.h"
#include "work/job/step.h"
#include "work/tree/patch_scan.h"

struct collected {
    const char *sha256; /* Of the diff; NULL: nothing changed. */
    int64_t bytes;
    const char *tree_hash;
    const char *nested; /* Repositories in the tree that were left out (treegit.h), or NULL. */
    int64_t nested_count;
    struct patch_stats stats;
    struct patch_scan scan; /* With secrets in it, its diff stays here. */
};

/*
 * A diff that adds secrets never leaves the worker: it is held in
 * work_dir/held/<run id>-<attempt>.diff.  What is stored is a copy without them, for people to look
 * at, and sha256 stays NULL.  Sets the step's failure to patch_too_large or patch_failed.
 */
MUST_USE enum rc collect_patch(struct step *step, const char *base, struct collected *ret,
                               struct err *err);
/* The same for a commit that the mirror holds: an agent elsewhere has pushed it. */
MUST_USE enum rc collect_commit(struct step *step, const char *base, const char *head,
                                struct collected *ret, struct err *err);
/* The same for a diff that is applied to the base commit, in a tree of the run that is made for it;
   the mirror holds the commit.  patch_failed: it does not apply. */
MUST_USE enum rc collect_applied(struct step *step, const char *base, struct str patch,
                                 struct collected *ret, struct err *err);
/* The text of a patch that an agent elsewhere hands over, before the rest of its work is checked.
   Stored as it came (sha256), unless there are secrets in it; with binary files in it as git writes
   it. */
MUST_USE enum rc collect_given(struct step *step, const char *base, struct str patch,
                               struct collected *ret, struct err *err);
/* May it be shown beyond this machine?  Not with secrets, and not when it is too large to scan. */
MUST_USE enum rc collect_may_show(struct step *step, const char *base, const char *head,
                                  bool *ret_may, struct err *err);
#endif
