#include "control/run/pull_limits.h"
#include "control/run/assignment.h"
#include "control/run/ending.h"
#include "control/run/stop.h"
#include "core/step_kind.h"
#include "store/timers.h"
#include <math.h>

enum pull_limit { PULL_TIME, PULL_IDLE, PULL_TURNS, PULL_BUDGET, PULL_TOKENS };

static const struct {
    const char *by; /* The run's stop_by. */
    struct ending ending;
    const char *record; /* Of what is collected then; NULL: nothing is. */
} limits[] = {
    [PULL_TIME] = {"timeouts.agentMs",
                   {RUN_EV_TIME_OUT, "agent_timed_out", "The agent passed its time limit"},
                   NULL},
    [PULL_IDLE] = {"timeouts.idleMs",
                   {RUN_EV_TIME_OUT, "agent_idle_timed_out",
                    "The agent gave no sign of life for too long"},
                   NULL},
    [PULL_TURNS] = {"limits.maxTurns",
                    {RUN_EV_FAIL, "max_turns_exceeded", MESSAGE_MAX_TURNS},
                    "{\"outcome\":\"turn_limit\",\"report\":\"unknown\"}"},
    [PULL_BUDGET] = {"limits.maxBudgetUsd",
                     {RUN_EV_FAIL, "max_budget_exceeded", MESSAGE_MAX_BUDGET},
                     "{\"outcome\":\"budget_limit\",\"report\":\"unknown\"}"},
    [PULL_TOKENS] = {"limits.maxTokens",
                     {RUN_EV_FAIL, "max_tokens_exceeded", MESSAGE_MAX_TOKENS},
                     "{\"outcome\":\"token_limit\",\"report\":\"unknown\"}"},
};

static bool is_pull(const struct job_row *job)
{
    return step_is(job->type, STEP_PULL) && !id_is_none(&job->run_id);
}

/* -1: the stop request, if any, does not come from a limit. */
static int limit_of(const struct run_row *run)
{
    for (int i = 0; run->stop == RUN_STOP_TIMEOUT && i < (int)COUNT_OF(limits); i++)
        if (text_same(limits[i].by, run->stop_by))
            return i;
    return -1;
}

const struct ending *pull_ending(const struct run_row *run)
{
    int limit = limit_of(run);
    return limit >= 0 ? &limits[limit].ending : NULL;
}

bool pull_is_cut_off(const struct run_row *run)
{
    int limit = limit_of(run);
    return limit >= 0 && limits[limit].record != NULL;
}

/* ---- clocks ---- */

/* ms is from the payload, so that it is what the agent has received.  0: there is no such clock. */
static enum rc set_clock(struct context *ctx, const struct run_row *run, const char *kind,
                         int64_t ms)
{
    return ms > 0 ? run_clock_set(ctx, run, kind, ms * US_PER_MS) : RC_OK;
}

static enum rc read_payload(struct context *ctx, const struct job_row *job, struct js **ret_payload)
{
    enum rc rc = js_parse(job->payload.at, job->payload.len, ret_payload, ctx->err);
    return rc == RC_OK ? RC_OK : err_wrap(ctx->err, RC_CORRUPT, "the assignment");
}

enum rc pull_begun(struct context *ctx, const struct run_row *run, const struct job_row *job)
{
    CLEANUP(js_freep) struct js *payload = NULL;
    enum rc rc = is_pull(job) ? read_payload(ctx, job, &payload) : RC_OK;
    if (rc != RC_OK || payload == NULL)
        return rc;
    rc = set_clock(ctx, run, TIMER_PULL_DEADLINE, js_get_int(payload, "timeoutMs", 0));
    return rc == RC_OK ? set_clock(ctx, run, TIMER_PULL_IDLE, js_get_int(payload, "idleMs", 0))
                       : rc;
}

enum rc pull_grant(struct context *ctx, int64_t grace_us)
{
    return timers_put_off(ctx->db, TIMER_PULL_IDLE, ctx->now_us + grace_us, ctx->err);
}

/* ---- stopping it ---- */

static enum rc ask_to_stop(struct context *ctx, const struct id *run_id, enum pull_limit limit)
{
    CLEANUP(flow_release) struct flow flow = {0};
    enum rc rc = flow_load(ctx, run_id, &flow);
    if (rc != RC_OK || run_is_terminal(flow.run.status) || flow.run.stop != RUN_STOP_NONE ||
        id_is_none(&flow.run.job_id))
        return rc;
    bool of_time = limit == PULL_TIME || limit == PULL_IDLE;
    if (of_time && flow.run.still_us > 0)
        return RC_OK; /* Stopped while this command waited for the lock of the run. */
    struct job_row job;
    rc = jobs_get(ctx->db, &flow.run.job_id, ctx->arena, &job, ctx->err);
    if (rc != RC_OK || !is_pull(&job) || job.life.state != JOB_LEASED)
        return rc;
    struct stop_request request = {
        .kind = RUN_STOP_TIMEOUT, .by = limits[limit].by, .reason = limits[limit].ending.message};
    bool stopping;
    return stop_run(ctx, &flow, &request, &stopping);
}

enum rc pull_deadline(struct context *ctx, const struct id *run_id)
{
    return ask_to_stop(ctx, run_id, PULL_TIME);
}

enum rc pull_idle(struct context *ctx, const struct id *run_id)
{
    return ask_to_stop(ctx, run_id, PULL_IDLE);
}

/* Sums of this attempt against what was left for it; -1: within its limits. */
static int passed(const struct js *payload, const struct js *sums)
{
    int64_t max_turns = js_get_int(payload, "maxTurns", 0);
    double max_usd = js_num(js_get(payload, "maxBudgetUsd"), 0);
    double usd = js_num(js_get(sums, "costUsd"), 0);
    int64_t max_tokens = js_get_int(payload, "maxTokens", 0);
    int64_t tokens = js_get_int(sums, "inputTokens", 0) + js_get_int(sums, "outputTokens", 0);
    if (max_turns > 0 && js_get_int(sums, "turns", 0) > max_turns)
        return PULL_TURNS;
    if (max_usd > 0 && isfinite(usd) && usd > max_usd)
        return PULL_BUDGET;
    return max_tokens > 0 && tokens > max_tokens ? PULL_TOKENS : -1;
}

enum rc pull_reported(struct context *ctx, const struct run_row *run, const struct job_row *job,
                      const struct js *sums, bool *ret_stop)
{
    CLEANUP(js_freep) struct js *payload = NULL;
    *ret_stop = false;
    enum rc rc = is_pull(job) ? read_payload(ctx, job, &payload) : RC_OK;
    if (rc != RC_OK || payload == NULL)
        return rc;
    rc = set_clock(ctx, run, TIMER_PULL_IDLE, js_get_int(payload, "idleMs", 0));
    int limit = sums != NULL ? passed(payload, sums) : -1;
    if (rc != RC_OK || limit < 0)
        return rc;
    *ret_stop = true;
    return ask_to_stop(ctx, &job->run_id, (enum pull_limit)limit);
}

/* ---- what follows ---- */

enum rc pull_continue(struct context *ctx, struct flow *flow)
{
    struct run_row *run = &flow->run;
    run->stop = RUN_STOP_NONE;
    run->stop_by = run->stop_reason = NULL;
    run->stop_us = 0;
    return timers_clear(ctx->db, TIMER_STOP_DEADLINE, &run->id, ctx->err);
}

enum rc pull_collect(struct context *ctx, struct flow *flow)
{
    flow->record = str_of(limits[limit_of(&flow->run)].record);
    enum rc rc = pull_continue(ctx, flow);
    return rc == RC_OK ? assignment_enqueue(ctx, flow, STEP_COLLECT) : rc;
}
