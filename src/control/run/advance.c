/*
 * advance.c - along the blueprint: which step is next, and the states on the way to it.
 *
 * Each built-in step has the state in which its job moves the run.  A custom step runs in the
 * state of the built-in one before it.  No state is skipped: where a sequence leaves a step out,
 * the run passes through its state with the next move.
 */
#include "control/run/accounts.h"
#include "control/run/approval.h"
#include "control/run/assignment.h"
#include "control/run/candidates.h"
#include "control/run/day_budget.h"
#include "control/run/ending.h"
#include "control/run/pipeline.h"
#include "control/run/policies.h"
#include "control/run/questions.h"
#include "control/run/results.h"
#include "control/run/run_tree.h"
#include "store/patches.h"
#include <assert.h>

/* The event that leads out of a state, and its usual reason. */
static const struct {
    enum run_event event;
    const char *reason;
} ways[RUN_STATUS_COUNT] = {
    [RUN_PREPARING] = {RUN_EV_PREPARED, "Worktree ready"},
    [RUN_CONTEXT_LOADING] = {RUN_EV_HYDRATED, "Prompt ready"},
    [RUN_PLANNING] = {RUN_EV_PLANNED, "Plan ready"},
    [RUN_RUNNING] = {RUN_EV_PATCHED, "Patch made; verification follows"},
    [RUN_VERIFYING] = {RUN_EV_VERIFIED, "Verification passed"},
    [RUN_JUDGING] = {RUN_EV_ACCEPT, "Judged good; a pull request follows"},
    [RUN_AWAITING_APPROVAL] = {RUN_EV_APPROVE, "Approved; a pull request follows"},
};

enum rc pipeline_walk(struct context *ctx, struct flow *flow, enum run_status state,
                      const char *reason)
{
    enum rc rc = RC_OK;
    while (rc == RC_OK && flow->run.status != state) {
        enum run_status at = flow->run.status;
        assert(at < state && ways[at].reason != NULL);
        if (at == RUN_CONTEXT_LOADING && state == RUN_PLANNING)
            rc = flow_move(ctx, flow, RUN_EV_PLAN, "Prompt ready; a plan comes first");
        else
            rc = flow_move(ctx, flow, ways[at].event, reason != NULL ? reason : ways[at].reason);
    }
    return rc;
}

enum rc pipeline_used_up(struct context *ctx, struct flow *flow, const struct ending **ret_ending)
{
    static const struct ending turns = {RUN_EV_FAIL, "max_turns_exceeded",
                                        "The run has used up its turns"};
    const struct run_row *run = &flow->run;
    *ret_ending = &turns;
    if (run->max_turns > 0 && run->turns >= run->max_turns)
        return RC_OK;
    enum rc rc = run_tree_begin(ctx, flow, ret_ending);
    return rc == RC_OK && *ret_ending == NULL ? day_budget_begin(ctx, ret_ending) : rc;
}

/* The agent begins with this step: its work, or its plan. */
static enum rc begin_agent(struct context *ctx, struct flow *flow, enum step_kind step)
{
    const struct ending *ending;
    enum rc rc = pipeline_used_up(ctx, flow, &ending);
    if (rc == RC_OK && ending != NULL)
        return flow_end(ctx, flow, ending);
    if (rc == RC_OK && question_is_open(flow))
        return question_await(ctx, flow);
    if (rc != RC_OK)
        return rc;
    bool held;
    rc = accounts_enter(ctx, flow, &held);
    return rc == RC_OK && !held ? assignment_enqueue(ctx, flow, step) : rc;
}

enum rc pipeline_start_agent(struct context *ctx, struct flow *flow)
{
    if (flow->run.attempt == 0) /* flow_move counts it, but not in versions before that. */
        flow->run.attempt = flow->run.used[BUDGET_AGENT] = 1;
    return begin_agent(ctx, flow, STEP_AGENT);
}

enum rc pipeline_enter(struct context *ctx, struct flow *flow, const struct blueprint_step *step)
{
    if (step->custom != NULL)
        return assignment_enqueue_custom(ctx, flow, step->custom);
    enum rc rc = pipeline_walk(ctx, flow, step_row(step->kind)->status, NULL);
    if (rc == RC_OK && step->kind == STEP_AGENT)
        return pipeline_start_agent(ctx, flow);
    if (rc == RC_OK && step->kind == STEP_PLAN)
        return begin_agent(ctx, flow, STEP_PLAN);
    return rc == RC_OK ? assignment_enqueue(ctx, flow, step->kind) : rc;
}

enum rc pipeline_resume(struct context *ctx, struct flow *flow)
{
    const struct repo_config *config;
    enum rc rc = flow_config(ctx, flow, &config);
    if (rc != RC_OK)
        return rc;
    if (candidates_patch_waits(flow))
        return pipeline_next(ctx, flow);
    bool plan = blueprint_has(&config->blueprint, STEP_PLAN) && flow->run.plan_sha256 == NULL;
    struct blueprint_step step = {.kind = plan ? STEP_PLAN : STEP_AGENT};
    return pipeline_enter(ctx, flow, &step);
}

/* A judge did not pass the patch: it needs a review by a person. */
static enum rc patch_flagged(struct context *ctx, const struct flow *flow, bool *ret_flagged)
{
    *ret_flagged = false;
    if (id_is_none(&flow->run.patch_id))
        return RC_OK;
    return patches_is_flagged(ctx->db, &flow->run.patch_id, ret_flagged, ctx->err);
}

/* Everything before publishing is done: a person must approve where policy requires it. */
static enum rc conclude(struct context *ctx, struct flow *flow)
{
    const struct recall *recall = NULL;
    enum rc rc = pipeline_walk(ctx, flow, RUN_JUDGING, NULL);
    if (rc == RC_OK)
        rc = pipeline_recalls(ctx, flow, &recall);
    if (rc != RC_OK || recall != NULL)
        return rc == RC_OK ? pipeline_recall(ctx, flow, recall) : rc;
    bool flagged;
    enum policy_verdict verdict;
    rc = patch_flagged(ctx, flow, &flagged);
    if (rc == RC_OK)
        rc = policies_on_publish(ctx, flow, &verdict);
    if (rc != RC_OK)
        return rc;
    if (verdict == POLICY_DENY) { /* It was accepted under another policy, or by mistake. */
        struct ending ending = {.event = RUN_EV_FAIL,
                                .code = policy_deny_code(),
                                .message = "Policy does not let this mode publish at this risk"};
        return flow_end(ctx, flow, &ending);
    }
    if (verdict != POLICY_ASK && !flagged)
        return pipeline_accept(ctx, flow);
    struct approval_request request = {.kind = "patch",
                                       .reason = flagged ? "The judges leave it to a person"
                                                         : "Policy asks for a person's approval",
                                       .detail = flow->doubts};
    return approval_ask(ctx, flow, &request);
}

enum rc pipeline_next(struct context *ctx, struct flow *flow)
{
    const struct repo_config *config;
    enum rc rc = flow_config(ctx, flow, &config);
    if (rc != RC_OK)
        return rc;
    struct blueprint_step step;
    const char *done = flow->run.step;
    if (candidates_patch_waits(flow)) { /* A candidate's agent has done the work of this run's. */
        done = step_row(STEP_AGENT)->name;
        rc = pipeline_walk(ctx, flow, RUN_RUNNING, "The patch of a candidate was chosen");
        if (rc != RC_OK)
            return rc;
    }
    bool more = blueprint_after(&config->blueprint, done, &step);
    bool published = flow->run.status == RUN_CREATING_PR;
    if (!published && (!more || step.kind == STEP_PUBLISH))
        return conclude(ctx, flow);
    if (more)
        return pipeline_enter(ctx, flow, &step);
    struct ending ending = {.event = RUN_EV_PUBLISHED, .message = "Pull request opened"};
    return flow_end(ctx, flow, &ending);
}

enum rc pipeline_accept(struct context *ctx, struct flow *flow)
{
    const struct repo_config *config;
    enum rc rc = flow_config(ctx, flow, &config);
    if (rc != RC_OK)
        return rc;
    if (remote_has_pr(flow))
        return remote_take_pr(ctx, flow);
    bool approved = flow->run.status == RUN_AWAITING_APPROVAL;
    if (flow->task.mode == MODE_PATCH_ONLY || !blueprint_has(&config->blueprint, STEP_PUBLISH)) {
        struct ending ending = {.event = approved ? RUN_EV_APPROVE_KEEP : RUN_EV_KEEP_PATCH,
                                .message = "The patch is kept as an artifact"};
        return flow_end(ctx, flow, &ending);
    }
    rc = pipeline_walk(ctx, flow, RUN_CREATING_PR, NULL);
    return rc == RC_OK ? assignment_enqueue(ctx, flow, STEP_PUBLISH) : rc;
}

enum rc pipeline_plan_approved(struct context *ctx, struct flow *flow)
{
    enum rc rc = flow_move(ctx, flow, RUN_EV_PLAN_OK, "The plan is approved");
    return rc == RC_OK ? pipeline_next(ctx, flow) : rc;
}

enum rc pipeline_warn_published(struct context *ctx, struct flow *flow, const char *code,
                                const char *message)
{
    assert(!id_is_none(&flow->run.pull_request_id));
    flow_warn(flow, code, message);
    return flow->run.status == RUN_CREATING_PR ? pipeline_next(ctx, flow)
                                               : remote_take_pr(ctx, flow);
}
