/*
 * results_remote.c - agents that work elsewhere: remote ones, and those that lease their work.
 *
 *   agent (remote), pull  ->  collect: a worker queries the forge and takes the patch
 *                             -> the decision matrix, as for any agent (result_infer)
 *
 * An agent elsewhere may have opened a pull request itself.  That one is recorded as the run's as
 * soon as it is found, however the run ends, and nothing is published beside it; when the patch
 * does not pass, the run completes with a warning, since an open one cannot be taken back.
 */
#include "control/run/assignment.h"
#include "control/run/ending.h"
#include "control/run/patch.h"
#include "control/run/pipeline.h"
#include "control/run/questions.h"
#include "control/run/results.h"
#include "core/agent/infer.h"
#include <assert.h>
#include <string.h>

enum rc remote_collect(struct context *ctx, struct flow *flow, const struct js *record)
{
    flow->record = str_of(js_text(record, ctx->arena));
    return assignment_enqueue(ctx, flow, STEP_COLLECT);
}

enum rc result_of_pull(struct context *ctx, struct flow *flow, const struct js *result)
{
    enum rc rc = question_of_record(ctx, flow, js_get(result, "question"));
    return rc == RC_OK ? remote_collect(ctx, flow, result) : rc;
}

enum rc result_of_collect(struct context *ctx, struct flow *flow, const struct js *result)
{
    flow->run.step = step_row(STEP_AGENT)->name; /* Collecting is a part of it. */
    return result_infer(ctx, flow, result);
}

bool remote_has_pr(const struct flow *flow)
{
    return flow->run.foreign_pr.len > 0;
}

enum rc remote_note_pr(struct context *ctx, struct flow *flow, const struct js *pr)
{
    flow->run.foreign_pr = str_of(js_text(pr, ctx->arena));
    bool known = !id_is_none(&flow->run.pull_request_id);
    return known ? RC_OK : result_record_pr(ctx, flow, pr);
}

enum rc remote_walk_to_publishing(struct context *ctx, struct flow *flow)
{
    return pipeline_walk(ctx, flow, RUN_CREATING_PR, "The agent opened a pull request itself");
}

/* Records the pull request that the agent opened, for runs of versions that did not do so when it
   was found. */
static enum rc record_if_new(struct context *ctx, struct flow *flow)
{
    CLEANUP(js_freep) struct js *pr = NULL;
    struct str stored = flow->run.foreign_pr;
    if (!id_is_none(&flow->run.pull_request_id))
        return RC_OK;
    enum rc rc = js_parse(stored.at, stored.len, &pr, ctx->err);
    if (rc != RC_OK)
        return err_wrap(ctx->err, RC_CORRUPT, "the pull request that the agent opened");
    return result_record_pr(ctx, flow, pr);
}

enum rc remote_take_pr(struct context *ctx, struct flow *flow)
{
    enum rc rc = record_if_new(ctx, flow);
    if (rc == RC_OK)
        rc = remote_walk_to_publishing(ctx, flow);
    if (rc == RC_OK && !id_is_none(&flow->run.patch_id))
        rc = patch_published(ctx, flow);
    flow->run.step = step_row(STEP_PUBLISH)->name;
    return rc == RC_OK ? pipeline_next(ctx, flow) : rc;
}

/* The row of the matrix for a build that fails; the judge has one of its own. */
static struct inference failed_after(const struct repair *repair)
{
    struct session_facts facts = {
        .completion = REPORT_SUCCESS, .pr_exists = true, .has_commits = true, .build_failed = true};
    if (strcmp(repair->reason, "verification_failed") == 0)
        return infer_outcome(&facts);
    return (struct inference){
        .code = "judge_failed_after_agent",
        .message = "The agent reported success, but the judge does not accept its work.",
    };
}

enum rc remote_keep_pr(struct context *ctx, struct flow *flow, const struct repair *repair)
{
    struct run_row *run = &flow->run;
    if (run->warning_code == NULL) {
        struct inference inference = failed_after(repair);
        run->warning_code = inference.code;
        run->warning_message = inference.message;
    }
    run->warning_message = arena_printf(ctx->arena, "%s %s: %s", run->warning_message,
                                        repair->reason, repair->summary);
    return remote_take_pr(ctx, flow);
}

enum rc flow_end_published(struct context *ctx, struct flow *flow, const char *code,
                           const char *message)
{
    assert(!id_is_none(&flow->run.pull_request_id));
    flow_warn(flow, code, message);
    struct ending published = {.event = RUN_EV_PUBLISHED, .message = "Pull request opened"};
    enum rc rc = remote_walk_to_publishing(ctx, flow);
    return rc == RC_OK ? flow_end(ctx, flow, &published) : rc;
}
