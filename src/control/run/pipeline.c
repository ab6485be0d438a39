/*
 * pipeline.c - see pipeline.h.  The meaning of each step's result is in results.c.
 */
#include "control/run/pipeline.h"
#include "base/log.h"
#include "control/queue/settle.h"
#include "control/run/assignment.h"
#include "control/run/day_budget.h"
#include "control/run/ending.h"
#include "control/run/messages.h"
#include "control/run/pull_limits.h"
#include "control/run/quarantine.h"
#include "control/run/questions.h"
#include "control/run/results.h"
#include "control/run/run_batch.h"
#include "control/run/run_tree.h"
#include "control/run/stop.h"
#include "control/run/usage.h"
#include "core/event_types.h"
#include "core/run/question_spec.h"
#include "core/run/worker_report.h"
#include <string.h>

/* RC_NOT_FOUND when the job does not move its run. */
static enum rc load_mover(struct context *ctx, const struct job_row *job, struct flow *ret_flow)
{
    if (id_is_none(&job->run_id))
        return RC_NOT_FOUND;
    enum rc rc = flow_load(ctx, &job->run_id, ret_flow);
    if (rc == RC_NOT_FOUND)
        return err_set(ctx->err, RC_CORRUPT, "RUN_MISSING", "job %s has no run", job->id.text);
    if (rc == RC_OK && !id_same(&ret_flow->run.job_id, &job->id))
        return RC_NOT_FOUND;
    if (rc != RC_OK)
        return rc;
    ret_flow->assignment = job->payload;
    flow_attempt(ret_flow, job, job->worker);
    return RC_OK;
}

static void write_step(struct event_body *body, const struct flow *flow, const struct job_row *job)
{
    event_body_open(body);
    jw_kstr(&body->jw, "step", step_is(job->type, STEP_CUSTOM) ? flow->run.step : job->type);
    jw_kstr(&body->jw, "jobId", job->id.text);
}

enum rc pipeline_started(struct context *ctx, const struct job_row *job, struct flow *flow)
{
    if (!id_same(&flow->run.job_id, &job->id))
        return RC_OK; /* It does not move its run. */
    flow_attempt(flow, job, job->worker);
    CLEANUP(event_body_release) struct event_body body;
    write_step(&body, flow, job);
    jw_kstr(&body.jw, "worker", job->worker);
    jw_kint(&body.jw, "try", job->life.attempt + 1);
    enum rc rc = flow_emit(ctx, flow, EV_STEP_STARTED, &body);
    if (rc == RC_OK)
        rc = messages_handed_over(ctx, flow, job);
    return rc == RC_OK ? flow_save_events(ctx, flow) : rc;
}

void step_result_release(struct step_result *result)
{
    js_free(result->tree);
    flow_release(&result->flow);
}

enum rc pipeline_check_result(struct context *ctx, const struct job_row *job, struct str result,
                              struct step_result *ret_result)
{
    if (!report_knows_step(job->type))
        return RC_OK;
    enum rc rc = js_parse(result.at, result.len, &ret_result->tree, ctx->err);
    if (rc != RC_OK)
        return err_wrap(ctx->err, RC_INVALID, "the result");
    rc = report_check_result(job->type, ret_result->tree, ctx->err);
    const struct js *question = js_get(ret_result->tree, "question");
    struct question_spec spec;
    if (rc == RC_OK && step_runs_agent(job->type) && js_type(question) != JS_NULL)
        rc = question_spec_decode(question, "question", &spec, ctx->err);
    if (rc != RC_OK)
        return rc;
    rc = load_mover(ctx, job, &ret_result->flow);
    if (rc != RC_OK)
        return rc == RC_NOT_FOUND ? RC_OK : rc;
    ret_result->moves = true;
    const struct step_row *step = step_find(job->type);
    return result_check_facts(ctx, &ret_result->flow, step_handlers(step->kind)->facts,
                              ret_result->tree);
}

enum rc pipeline_refused(struct context *ctx, const struct job_row *job, const struct err *why)
{
    LOG(LOG_WARN, "the result of a step was refused", LOG_STR("step", job->type),
        LOG_STR("jobId", job->id.text), LOG_STR("runId", job->run_id.text),
        LOG_STR("worker", job->worker), LOG_STR("field", why->field), LOG_STR("error", why->text));
    CLEANUP(flow_release) struct flow flow = {0};
    enum rc rc = flow_load_run(ctx, &job->run_id, &flow);
    if (rc != RC_OK)
        return rc;
    flow_attempt(&flow, job, job->worker);
    CLEANUP(event_body_release) struct event_body body;
    write_step(&body, &flow, job);
    jw_kstr(&body.jw, "worker", job->worker);
    jw_kstr(&body.jw, "field", why->field);
    jw_kstr(&body.jw, "reason", why->text);
    rc = flow_emit(ctx, &flow, EV_RESULT_REFUSED, &body);
    return rc == RC_OK ? flow_save_events(ctx, &flow) : rc;
}

/* After a stop request a result is not judged any more; what it has cost is booked all the same. */
static bool is_judged(const struct flow *flow, const struct step_row *step)
{
    return flow->run.stop == RUN_STOP_NONE || step->finishes;
}

/* With what the step has changed in the run beside its status, so that the log folds to the row
   (core/run/run_fold.h). */
static enum rc emit_completed(struct context *ctx, struct flow *flow, const struct job_row *job,
                              const struct step_row *step, const struct js *result)
{
    bool spends = step->kind == STEP_AGENT || step->kind == STEP_PLAN || step->kind == STEP_PULL;
    enum rc rc = spends ? usage_take(ctx, &flow->run, flow->assignment, result) : RC_OK;
    if (rc != RC_OK)
        return rc;
    CLEANUP(event_body_release) struct event_body body;
    write_step(&body, flow, job);
    if (spends)
        usage_write_run(&body.jw, &flow->run);
    if (step->kind == STEP_VERIFY && is_judged(flow, step))
        jw_optstr(&body.jw, "certificateArtifactId", js_get_str(result, "certificateSha256", NULL));
    return flow_emit(ctx, flow, EV_STEP_COMPLETED, &body);
}

static enum rc save_spent(struct context *ctx, struct flow *flow)
{
    const struct run_row *now = &flow->run, *before = &flow->stored_run;
    bool spent = now->cost_microusd != before->cost_microusd ||
                 now->tokens_in != before->tokens_in || now->tokens_out != before->tokens_out;
    enum rc rc = flow_save(ctx, flow);
    if (rc != RC_OK || !spent)
        return rc;
    rc = run_tree_spent(ctx, now);
    if (rc == RC_OK)
        rc = run_batch_spent(ctx, now);
    return rc == RC_OK ? day_budget_note(ctx) : rc;
}

enum rc pipeline_completed(struct context *ctx, const struct job_row *job,
                           struct step_result *result)
{
    if (!result->moves)
        return RC_OK;
    struct flow *flow = &result->flow;
    const struct step_row *step = step_find(job->type);
    result_done_fn *done = step != NULL ? step_handlers(step->kind)->done : NULL;
    if (done == NULL || (step->status != flow->run.status && !step->any_status))
        return err_set(ctx->err, RC_CORRUPT, "STEP_OUT_OF_PLACE",
                       "step %s of run %s while it is %s", job->type, flow->run.id.text,
                       run_status_name(flow->run.status));
    enum rc rc = emit_completed(ctx, flow, job, step, result->tree);
    if (rc == RC_OK)
        rc = result_link_artifacts(ctx, flow, result->tree);
    /* A poison run is one that loses every worker; a completed step shows that this one is not.
       Only prepare, which makes the tree anew, shows nothing yet. */
    if (step->kind != STEP_PREPARE)
        flow->run.lost = 0;
    if (rc == RC_OK && pull_is_cut_off(&flow->run)) /* It was done in time after all. */
        rc = pull_continue(ctx, flow);
    if (rc == RC_OK && !is_judged(flow, step))
        rc = flow_end_stopped(ctx, flow);
    else if (rc == RC_OK)
        rc = done(ctx, flow, result->tree);
    return rc == RC_OK ? save_spent(ctx, flow) : rc;
}

static enum rc emit_failed(struct context *ctx, struct flow *flow, const struct job_row *job,
                           const struct job_failure *failure)
{
    CLEANUP(event_body_release) struct event_body body;
    write_step(&body, flow, job);
    jw_kstr(&body.jw, "errorCode", failure->code);
    jw_kstr(&body.jw, "errorMessage", failure->message);
    if (!job_is_settled(job->life.state))
        jw_kint(&body.jw, "retryInMs", (job->life.due_us - ctx->now_us) / US_PER_MS);
    return flow_emit(ctx, flow, EV_STEP_FAILED, &body);
}

/* A step that used up its time.  Before the agent starts that is a failed hydration, later the run
   has timed out. */
static struct ending ending_of(const struct flow *flow, const struct job_failure *failure)
{
    struct ending ending = {
        .event = RUN_EV_FAIL, .code = failure->code, .message = failure->message};
    bool hydrating = flow->run.status == RUN_PREPARING || flow->run.status == RUN_CONTEXT_LOADING;
    if (strcmp(failure->code, "step_timed_out") != 0)
        return ending;
    if (hydrating)
        ending.code = "hydration_timed_out";
    else
        ending.event = RUN_EV_TIME_OUT;
    return ending;
}

/* The run ends with its step, unless its pull request is open already. */
static enum rc give_up(struct context *ctx, struct flow *flow, const struct ending *ending)
{
    if (id_is_none(&flow->run.pull_request_id))
        return flow_end(ctx, flow, ending);
    return pipeline_warn_published(ctx, flow, ending->code, ending->message);
}

/* The agent that asked is gone: none starts before its question is closed. */
static enum rc await_instead(struct context *ctx, struct flow *flow, struct job_row *job)
{
    enum rc rc = settle_cancel(ctx, job);
    return rc == RC_OK ? pipeline_resume(ctx, flow) : rc;
}

static enum rc try_again(struct context *ctx, struct flow *flow, const struct job_row *job)
{
    struct job_row copy = *job;
    enum rc rc = messages_lost(ctx, flow, &job->id);
    bool asks = step_runs_agent(job->type) && question_is_open(flow);
    return rc == RC_OK && asks ? await_instead(ctx, flow, &copy) : rc;
}

enum rc pipeline_failed(struct context *ctx, const struct job_row *job,
                        const struct job_failure *failure)
{
    CLEANUP(flow_release) struct flow flow = {0};
    enum rc rc = load_mover(ctx, job, &flow);
    if (rc != RC_OK)
        return rc == RC_NOT_FOUND ? RC_OK : rc;
    bool again = !job_is_settled(job->life.state);
    flow.worker = failure->worker;
    rc = emit_failed(ctx, &flow, job, failure);
    if (rc == RC_OK && flow.run.stop != RUN_STOP_NONE) {
        struct job_row copy = *job;
        if (again)
            rc = settle_cancel(ctx, &copy);
        if (rc == RC_OK)
            rc = flow_end_stopped(ctx, &flow);
    } else if (rc == RC_OK && !again) {
        struct ending ending = ending_of(&flow, failure);
        rc = give_up(ctx, &flow, &ending);
    } else if (rc == RC_OK) {
        rc = try_again(ctx, &flow, job);
    }
    if (rc == RC_OK)
        rc = flow_save(ctx, &flow);
    if (rc == RC_OK && failure->quarantine)
        rc = quarantine_begin(ctx, &flow.task.repository_id, failure->message);
    return rc;
}

/* ---- a lost worker ---- */

static enum rc emit_lost(struct context *ctx, struct flow *flow, const struct job_row *job,
                         const char *worker)
{
    CLEANUP(event_body_release) struct event_body missed, recovered;
    write_step(&missed, flow, job);
    jw_kstr(&missed.jw, "worker", worker);
    write_step(&recovered, flow, job);
    jw_kint(&recovered.jw, "lost", flow->run.lost);
    enum rc rc = flow_emit(ctx, flow, EV_RUN_HEARTBEAT_MISSED, &missed);
    if (rc == RC_OK && flow->run.stop == RUN_STOP_NONE && !job_is_settled(job->life.state))
        rc = flow_emit(ctx, flow, EV_RUN_RECOVERED, &recovered);
    return rc;
}

/* The tree that the agent worked in is not to be trusted: prepare builds it anew from the base
   commit and the latest patch. */
static enum rc prepare_again(struct context *ctx, struct flow *flow, struct job_row *job)
{
    enum rc rc = settle_cancel(ctx, job);
    if (rc == RC_OK)
        rc = flow_move(ctx, flow, RUN_EV_LOSE, "The agent's worker is gone; its tree is made anew");
    return rc == RC_OK ? assignment_enqueue(ctx, flow, STEP_PREPARE) : rc;
}

/* A remote session continues without its worker: another one polls it.  The job is made anew, since
   the state of the session is in its payload; and the session reports all its sums again. */
static enum rc follow_again(struct context *ctx, struct flow *flow, struct job_row *job)
{
    enum rc rc = usage_continue(ctx, flow, job->payload);
    if (rc == RC_OK)
        rc = settle_cancel(ctx, job);
    return rc == RC_OK ? assignment_enqueue(ctx, flow, STEP_AGENT) : rc;
}

/* No worker works on the step any more.  Most steps are simply leased by the next worker. */
static enum rc take_up_again(struct context *ctx, struct flow *flow, struct job_row *job)
{
    const struct repo_config *config;
    const struct step_row *step = step_find(job->type);
    if (step == NULL || !step->runs_agent)
        return RC_OK;
    enum rc rc = flow_config(ctx, flow, &config);
    if (rc != RC_OK)
        return rc;
    if (config->agent.compute == COMPUTE_REMOTE && step->kind == STEP_AGENT)
        return follow_again(ctx, flow, job);
    rc = messages_lost(ctx, flow, &job->id);
    if (rc != RC_OK)
        return rc;
    if (step->works_in_tree)
        return prepare_again(ctx, flow, job);
    return question_is_open(flow) ? await_instead(ctx, flow, job) : RC_OK;
}

enum rc pipeline_lost(struct context *ctx, struct job_row *job, const char *worker)
{
    CLEANUP(flow_release) struct flow flow = {0};
    enum rc rc = load_mover(ctx, job, &flow);
    if (rc != RC_OK)
        return rc == RC_NOT_FOUND ? RC_OK : rc;
    flow.run.lost++;
    flow.worker = worker;
    rc = emit_lost(ctx, &flow, job, worker);
    if (rc != RC_OK)
        return rc;
    bool settled = job_is_settled(job->life.state);
    if (flow.run.stop != RUN_STOP_NONE) {
        rc = settled ? RC_OK : settle_cancel(ctx, job);
        if (rc == RC_OK)
            rc = flow_end_stopped(ctx, &flow);
    } else if (settled || flow.run.lost >= JOB_LOST_MAX) {
        rc = settled ? RC_OK : settle_cancel(ctx, job);
        struct ending ending = {
            .event = RUN_EV_FAIL,
            .code = "poison",
            .message = arena_printf(ctx->arena, "%lld workers were lost while working on this run",
                                    (long long)flow.run.lost),
        };
        if (rc == RC_OK)
            rc = give_up(ctx, &flow, &ending);
    } else {
        rc = take_up_again(ctx, &flow, job);
    }
    return rc == RC_OK ? flow_save(ctx, &flow) : rc;
}

enum rc pipeline_released(struct context *ctx, struct job_row *job)
{
    CLEANUP(flow_release) struct flow flow = {0};
    enum rc rc = load_mover(ctx, job, &flow);
    if (rc != RC_OK)
        return rc == RC_NOT_FOUND ? RC_OK : rc;
    if (flow.run.stop != RUN_STOP_NONE) {
        rc = settle_cancel(ctx, job);
        if (rc == RC_OK)
            rc = flow_end_stopped(ctx, &flow);
    } else {
        rc = take_up_again(ctx, &flow, job);
    }
    return rc == RC_OK ? flow_save(ctx, &flow) : rc;
}
