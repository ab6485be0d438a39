/*
 * unpublish.c - undoes what a publish may have left behind: the run's branch on the forge, unless
 * its last commit is not the run's, and a pull request that was never recorded.  It moves the fence
 * of the run in any case, so that a publish that is still under way is refused.
 */
#include "forge/port/forge.h"
#include "work/job/repo_step.h"

static const char *const outcomes[] = {
    [BRANCH_ABSENT] = "absent",
    [BRANCH_DELETED] = "deleted",
    [BRANCH_FOREIGN] = "kept: its last commit is another author's",
};

enum rc step_unpublish(struct step *step, struct err *err)
{
    const struct step_input *input = &step->input;
    const struct forge_ops *forge = NULL;
    CLEANUP(forge_call_release) struct forge_call call = {.gate = NULL};
    enum rc rc = step_forge_open(step, ACCESS_WRITE, &call, &forge, err);
    if (rc != RC_OK)
        return step_forge_fail(step, rc, err, "unpublish_failed");
    struct forge_withdrawal withdrawal = {
        .url = input->config.url,
        .run_id = input->run_id.text,
        .branch = input->branch,
        .holder = step_holder(step),
    };
    struct forge_withdrawn withdrawn = {.branch = BRANCH_ABSENT};
    rc = forge->withdraw(forge, &call, &withdrawal, &withdrawn, err);
    if (rc != RC_OK)
        return rc;
    struct jw jw = jw_to(step->result);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "branch", input->branch);
    jw_kstr(&jw, "outcome", outcomes[withdrawn.branch]);
    if (withdrawn.pr_number > 0)
        jw_kint(&jw, "closedPullRequest", withdrawn.pr_number);
    jw_end(&jw, '}');
    return RC_OK;
}
