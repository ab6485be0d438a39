/*
 * collect.c - what an agent that works elsewhere has left: a patch, a branch, a pull request.
 *
 * The agent has reported its result (payload.record: the result of a remote agent's step, or what a
 * pull agent completed its job with).  This step checks what is really there:
 *
 *     the forge       a branch of the run's name, and a pull request from it that drover did
 *                     not open
 *     the patch       from that branch if it has a pull request, else the one that the agent gave,
 *                     else from the branch
 *
 * The result is that of an agent's step, with `pullRequest`, `commits` and `branchPushed` beside.
 * When the forge does not answer, the step is retried later.
 */
#include "base/hash.h"
#include "forge/port/forge.h"
#include "work/agent/attempt.h"
#include "work/job/repo_step.h"
#include "work/tree/worktree.h"
#include <string.h>

static enum report parse_report(const struct js *record)
{
    const char *report = js_get_str(record, "report", js_get_str(record, "status", ""));
    if (text_same(report, "success"))
        return REPORT_SUCCESS;
    return text_same(report, "error") ? REPORT_ERROR : REPORT_UNKNOWN;
}

static void take_record(struct attempt *attempt, const struct js *record)
{
    struct transcript *transcript = &attempt->transcript;
    const char *outcome = js_get_str(record, "outcome", "");
    const char *given = js_get_str(record, "patchSha256", NULL);
    attempt->record = parse_report(record);
    transcript_copy(transcript->summary, sizeof transcript->summary,
                    js_get_str(record, "summary", ""));
    transcript_copy(transcript->error, sizeof transcript->error, js_get_str(record, "error", ""));
    if (given != NULL && sha256_text_valid(given))
        attempt->given_sha256 = given;
    if (text_same(outcome, CUT_TURN_LIMIT) || text_same(outcome, CUT_BUDGET_LIMIT) ||
        text_same(outcome, CUT_TOKEN_LIMIT)) {
        attempt->limit = outcome;
        attempt->ended.end = COMPUTE_CUT_OFF;
    }
}

static enum rc look(struct attempt *attempt, struct err *err)
{
    struct step *step = attempt->step;
    const struct step_input *input = &step->input;
    const struct forge_ops *forge = NULL;
    CLEANUP(forge_call_release) struct forge_call call = {.gate = NULL};
    struct forge_question question = {.url = input->config.url, .branch = input->branch};
    enum rc rc = step_forge_open(step, ACCESS_READ, &call, &forge, err);
    if (rc == RC_OK)
        rc = forge->look(forge, &call, &question, step->arena, &attempt->found, err);
    if (rc == RC_OK || rc == RC_CANCELLED || rc == RC_STALE || rc == RC_LIMIT)
        return rc;
    return step_fail(step, rc == RC_TIMEOUT ? RC_UNREACHABLE : rc, err,
                     (struct port_failure){.code = "collect_failed", .retryable = forge != NULL});
}

/* An agent that pushed the base itself has done nothing. */
static enum rc take_branch(struct attempt *attempt, struct err *err)
{
    struct step *step = attempt->step;
    const char *head = attempt->found.head, *count = NULL;
    const char *range = arena_printf(step->arena, "%s..%s", attempt->base, head);
    struct git git = step_git(step);
    struct git_call ask = {.git_dir = step->mirror,
                           .args = GIT_ARGS("rev-list", "--count", "--end-of-options", range)};
    enum rc rc = git_line(&git, &ask, step->arena, &count, err);
    if (rc == RC_IO) {
        rc = err_set(
            err, RC_INVALID, "BRANCH_REFUSED",
            "The branch %.200s cannot be fetched: git refuses its objects, or it has moved "
            "meanwhile.",
            step->input.branch);
        return step_fail(step, rc, err, (struct port_failure){.code = "patch_failed"});
    }
    if (rc == RC_OK)
        rc = collect_commit(step, attempt->base, head, &attempt->patch, err);
    if (rc == RC_OK && !text_to_i64(count, &attempt->commits))
        attempt->commits = 0;
    return rc;
}

/* It is applied to a clean tree, and read from there as any other agent's work is. */
static enum rc take_given(struct attempt *attempt, struct err *err)
{
    struct step *step = attempt->step;
    CLEANUP(buf_release) struct buf patch;
    buf_init(&patch, (size_t)step->input.config.limits.max_patch_bytes);
    enum rc rc = step_get(step, attempt->given_sha256, &patch, err);
    if (rc == RC_TOO_LARGE)
        return step_fail(step, rc, err, (struct port_failure){.code = "patch_too_large"});
    if (rc == RC_NOT_FOUND)
        return step_fail(step, rc, err, (struct port_failure){.code = "patch_failed"});
    if (rc != RC_OK)
        return rc;
    return collect_applied(step, attempt->base, buf_str(&patch), &attempt->patch, err);
}

static enum rc take_patch(struct attempt *attempt, struct err *err)
{
    bool pushed = attempt->found.head[0] != '\0';
    if (pushed && (attempt->found.pr_number > 0 || attempt->given_sha256 == NULL))
        return take_branch(attempt, err);
    return attempt->given_sha256 != NULL ? take_given(attempt, err) : RC_OK;
}

enum rc step_collect(struct step *step, struct err *err)
{
    CLEANUP(attempt_release) struct attempt attempt;
    attempt_init(&attempt, step);
    take_record(&attempt, step->input.record);
    enum rc rc = look(&attempt, err);
    if (rc == RC_OK) /* The branch as it was just seen. */
        rc = attempt.found.head[0] ? worktree_fetch(step, err) : worktree_mirror(step, err);
    if (rc == RC_OK)
        rc = worktree_base(step, &attempt.base, err);
    if (rc == RC_OK)
        rc = take_patch(&attempt, err);
    if (rc == RC_OK)
        attempt_write_result(&attempt);
    return rc;
}
