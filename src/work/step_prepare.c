/*
 * step_prepare.c - the mirror is there, the base commit is known, the agent's tree stands ready.
 */
#include "work/step.h"
#include "work/worktree.h"

enum rc step_prepare(struct step *step, struct err *err)
{
    const char *base = NULL;
    enum rc rc = worktree_mirror(step, err);
    if (rc == RC_OK)
        rc = worktree_base(step, &base, err);
    if (rc == RC_OK)
        rc = worktree_make(step, base, err);
    if (rc != RC_OK)
        return rc;
    struct jw jw = jw_to(step->result);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "baseCommit", base);
    jw_optstr(&jw, "keptTree", step->kept_tree);
    jw_end(&jw, '}');
    return RC_OK;
}
