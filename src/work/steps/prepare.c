/*
 * prepare.c - makes or updates the mirror, resolves the base commit, makes the agent's tree.
 */
#include "work/agent/agent_tree.h"
#include "work/job/step.h"
#include "work/tree/worktree.h"

enum rc step_prepare(struct step *step, struct err *err)
{
    const char *base = NULL;
    enum rc rc = worktree_mirror(step, err);
    if (rc == RC_OK)
        rc = worktree_base(step, &base, err);
    if (rc == RC_OK)
        rc = agent_tree_make(step, base, err);
    if (rc != RC_OK)
        return rc;
    struct jw jw = jw_to(step->result);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "baseCommit", base);
    jw_optstr(&jw, "keptTree", step->kept_tree);
    jw_end(&jw, '}');
    return RC_OK;
}
