/*
 * step_unpublish.c - undoes what a publish may have left behind: the run's branch on the forge,
 * unless it has a pull request or somebody else's work on it.
 */
#include "forge/forge.h"
#include "work/step.h"

static const char *const outcomes[] = {
    [BRANCH_ABSENT] = "absent",
    [BRANCH_DELETED] = "deleted",
    [BRANCH_PULLED] = "kept: it has a pull request",
    [BRANCH_FOREIGN] = "kept: its last commit is somebody else's",
};

static enum rc may_go_on(void *ctx, struct err *err)
{
    return step_still_mine(ctx, err);
}

enum rc step_unpublish(struct step *step, struct err *err)
{
    const struct step_input *input = &step->input;
    const struct forge_ops *forge = forge_find(input->config.forge);
    if (!forge) {
        enum rc rc = err_set(err, RC_INVALID, "UNKNOWN_FORGE", "There is no forge called %.50s.",
                             input->config.forge);
        return step_fail(step, rc, err, (struct port_failure){.code = "unpublish_failed"});
    }
    struct forge_withdrawal withdrawal = {
        .url = input->config.url,
        .run_id = input->run_id.text,
        .branch = input->branch,
        .may_go_on = may_go_on,
        .ctx = step,
    };
    struct git git = step_git(step);
    enum forge_branch branch = BRANCH_ABSENT;
    enum rc rc = forge->withdraw(&git, &withdrawal, &branch, err);
    if (rc != RC_OK)
        return rc;
    struct jw jw = jw_to(step->result);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "branch", input->branch);
    jw_kstr(&jw, "outcome", outcomes[branch]);
    jw_end(&jw, '}');
    return RC_OK;
}
