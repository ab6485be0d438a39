#include "control/run/flow.h"
#include "control/commit/config_book.h"
#include "control/run/forecasts.h"
#include "control/run/notify.h"
#include "core/event_tags.h"
#include "core/event_types.h"
#include "core/queue/rank.h"
#include "core/run/task_limits.h"
#include "core/step_kind.h"
#include "core/text/prose.h"
#include "store/pull_requests.h"
#include <assert.h>
#include <string.h>

int64_t flow_time(const struct context *ctx, const struct flow *flow)
{
    int64_t last_us = flow->run.updated_us > flow->task.updated_us ? flow->run.updated_us
                                                                   : flow->task.updated_us;
    return ctx->now_us > last_us ? ctx->now_us : last_us;
}

enum rc flow_load(struct context *ctx, const struct id *run_id, struct flow *ret_flow)
{
    struct flow flow = {0};
    enum rc rc = runs_get(ctx->db, run_id, ctx->arena, &flow.run, ctx->err);
    if (rc == RC_OK)
        rc = tasks_get(ctx->db, &flow.run.task_id, ctx->arena, &flow.task, ctx->err);
    if (rc != RC_OK)
        return rc;
    flow.stored = flow.task;
    flow.stored_run = flow.run;
    *ret_flow = flow;
    return RC_OK;
}

typedef enum rc get_fn(struct db *db, const struct id *id, struct arena *arena,
                       struct run_row *ret_row, struct err *err);

static enum rc load_run(struct context *ctx, const struct id *run_id, get_fn *get,
                        struct flow *ret_flow)
{
    struct flow flow = {0};
    enum rc rc = get(ctx->db, run_id, ctx->arena, &flow.run, ctx->err);
    if (rc != RC_OK)
        return rc;
    flow.task.id = flow.run.task_id;
    *ret_flow = flow;
    return RC_OK;
}

enum rc flow_load_run(struct context *ctx, const struct id *run_id, struct flow *ret_flow)
{
    return load_run(ctx, run_id, runs_get, ret_flow);
}

enum rc flow_load_claim(struct context *ctx, const struct id *run_id, struct flow *ret_flow)
{
    return load_run(ctx, run_id, runs_get_claim, ret_flow);
}

enum rc flow_save_events(struct context *ctx, struct flow *flow)
{
    flow->run.updated_us = flow_time(ctx, flow);
    return runs_touch(ctx->db, &flow->run, ctx->err);
}

enum rc flow_save_used(struct context *ctx, struct flow *flow)
{
    enum rc rc = runs_save_usage(ctx->db, &flow->run, ctx->err);
    return rc == RC_OK ? flow_save_events(ctx, flow) : rc;
}

enum rc flow_load_latest(struct context *ctx, const struct id *task_id, struct flow *ret_flow)
{
    struct task_row task;
    enum rc rc = tasks_get(ctx->db, task_id, ctx->arena, &task, ctx->err);
    if (rc == RC_NOT_FOUND)
        return err_set(ctx->err, rc, "TASK_NOT_FOUND", "there is no task %s", task_id->text);
    return rc == RC_OK ? flow_load(ctx, &task.latest_run_id, ret_flow) : rc;
}

void flow_release(struct flow *flow)
{
    config_book_put(flow->known);
    flow->known = NULL;
}

void flow_attempt(struct flow *flow, const struct job_row *job, const char *worker)
{
    flow->attempt_id = job_attempt_id(&job->id, job->life.epoch);
    flow->worker = worker;
    flow->claimed = step_is(job->type, STEP_PULL);
}

enum rc flow_config(struct context *ctx, struct flow *flow, const struct repo_config **ret)
{
    const struct repo_layers whole = {.repository = flow->task.config};
    if (flow->known == NULL &&
        config_book_take(ctx->configs, &whole, &flow->known, ctx->err) != RC_OK)
        return err_wrap(ctx->err, RC_CORRUPT, "the stored configuration");
    *ret = &flow->known->config;
    return RC_OK;
}

static enum rc save_run(struct context *ctx, struct flow *flow)
{
    enum rc rc = runs_save(ctx->db, &flow->run, ctx->err);
    if (rc == RC_OK && runs_changed_more(&flow->run, &flow->stored_run))
        rc = runs_save_more(ctx->db, &flow->run, ctx->err);
    if (rc == RC_OK)
        flow->stored_run = flow->run;
    return rc;
}

enum rc flow_save(struct context *ctx, struct flow *flow)
{
    int64_t now_us = flow_time(ctx, flow);
    flow->run.updated_us = now_us;
    enum rc rc = save_run(ctx, flow);
    if (rc != RC_OK || !tasks_changed(&flow->task, &flow->stored))
        return rc; /* Most steps move the run and leave its task as it is. */
    flow->task.updated_us = now_us;
    flow->stored = flow->task;
    return tasks_save(ctx->db, &flow->task, ctx->err);
}

const char *flow_title(const struct task_row *task, struct arena *arena)
{
    CLEANUP(js_freep) struct js *origin = NULL;
    if (text_empty(task->description) && task->origin.len > 0 &&
        js_parse(task->origin.at, task->origin.len, &origin, NULL) == RC_OK &&
        !text_empty(js_get_str(origin, "title", "")))
        return prose_line(arena, js_get_str(origin, "title", ""), TASK_TITLE_MAX);
    return task_title(task->description, task->issue_number, arena);
}

/* Rooms above this one that follow runs, and channels that people listen to. */
static enum rc tell(struct context *ctx, const struct flow *flow, const struct event *event)
{
    enum rc rc = ctx->hooks->run_event(ctx, flow, event->type);
    return rc == RC_OK ? notify_event(ctx, flow, event) : rc;
}

static void tags_of_task(const struct task_row *task, struct event_tags *tags)
{
    event_tags_of_task(tags, &(struct task_tags){.repository = task->repository,
                                                 .persona = task->persona,
                                                 .agent = task->agent,
                                                 .labels = task->labels});
}

/* Those of the task, in the row of its run since the task is not always loaded; the agent whose
   claim it is; and those that an appended event has itself. */
static const char *tags_of(const struct context *ctx, const struct flow *flow, const char *own)
{
    struct event_tags tags = {0};
    const char *agent = flow->claimed ? flow->worker : NULL;
    if (flow->run.tags != NULL && agent == NULL && own == NULL)
        return flow->run.tags;
    if (flow->run.tags != NULL)
        event_tags_add(&tags, str_of(flow->run.tags));
    else
        tags_of_task(&flow->task, &tags);
    event_tags_name(&tags, "agent", agent);
    event_tags_add(&tags, str_of(own));
    return event_tags_text(&tags, ctx->arena);
}

/* All its events have one trace: that of a request about the run does not override it. */
static void place_in_flow(const struct context *ctx, const struct flow *flow, struct event *event)
{
    event->attempt_id = flow->attempt_id;
    event->correlation_id = flow->task.id;
    event->tags = tags_of(ctx, flow, event->tags);
    if (event->traceparent == NULL)
        event->traceparent = flow->run.traceparent;
    if (event->traceparent == NULL)
        event->traceparent = context_own_trace(ctx, &flow->task.id, &event->run_id);
}

const char *flow_trace(const struct context *ctx, const struct flow *flow)
{
    const struct run_row *run = &flow->run;
    return run->traceparent != NULL ? run->traceparent
                                    : context_own_trace(ctx, &flow->task.id, &run->id);
}

void flow_place_event(const struct context *ctx, const struct flow *flow, struct event *event)
{
    event->time_us = flow_time(ctx, flow);
    event->task_id = flow->task.id;
    event->run_id = flow->run.id;
    if (event->subject == NULL)
        event->subject = arena_printf(ctx->arena, "run/%s", flow->run.id.text);
    event->run_seq = flow->run.event_seq + 1;
    event->causation_id = flow->run.last_event_id;
    place_in_flow(ctx, flow, event);
}

void flow_place_task_event(const struct context *ctx, const struct flow *flow, struct event *event)
{
    bool has_run = !id_is_none(&flow->run.last_event_id);
    event->time_us = flow_time(ctx, flow);
    event->task_id = flow->task.id;
    if (event->subject == NULL)
        event->subject = arena_printf(ctx->arena, "task/%s", flow->task.id.text);
    event->causation_id = has_run ? flow->run.last_event_id : flow->task.last_event_id;
    place_in_flow(ctx, flow, event);
}

enum rc flow_emit_data(struct context *ctx, struct flow *flow, const char *type, struct str data)
{
    struct event event = {.type = type, .data = data};
    flow_place_event(ctx, flow, &event);
    enum rc rc = context_append(ctx, &event, &flow->run.last_event_id);
    if (rc != RC_OK)
        return rc;
    flow->run.event_seq++;
    return tell(ctx, flow, &event);
}

enum rc flow_emit(struct context *ctx, struct flow *flow, const char *type, struct event_body *body)
{
    return flow_emit_data(ctx, flow, type, body != NULL ? event_body_close(body) : STR("{}"));
}

enum rc flow_emit_task(struct context *ctx, struct flow *flow, const char *type,
                       struct event_body *body)
{
    struct event event = {.type = type, .data = body != NULL ? event_body_close(body) : STR("{}")};
    flow_place_task_event(ctx, flow, &event);
    enum rc rc = context_append(ctx, &event, &flow->task.last_event_id);
    return rc == RC_OK ? tell(ctx, flow, &event) : rc;
}

/* How long it may wait for its turn, each time it has to. */
static enum rc limit_wait(struct context *ctx, struct flow *flow)
{
    const struct repo_config *config = NULL;
    enum rc rc = flow_config(ctx, flow, &config);
    if (rc != RC_OK || config->timeouts.queue_ms == 0)
        return rc;
    return run_clock_set(ctx, &flow->run, TIMER_QUEUE_DEADLINE,
                         config->timeouts.queue_ms * US_PER_MS);
}

static int64_t capped(int64_t wanted, int64_t max)
{
    return max > 0 && max < wanted ? max : wanted;
}

/* As the task is configured, within the server's limits. */
static struct event_budget budget_of_events(const struct context *ctx,
                                            const struct repo_config *config)
{
    return event_budget_new(
        capped(config->limits.max_run_events, ctx->limits->max_run_events),
        capped(config->limits.max_run_event_bytes, ctx->limits->max_run_event_bytes));
}

static struct task_limits limits_of(const struct context *ctx, const struct task_row *task,
                                    const struct repo_config *config,
                                    const struct task_limits *left)
{
    const struct limit_sources sources = {
        .task = {task->max_turns, task->max_budget_microusd, task->max_tokens},
        .configured = {config->limits.max_turns, config->limits.max_budget_microusd,
                       config->limits.max_tokens},
        .server = {ctx->limits->cost_per_run_microusd, ctx->limits->cost_per_day_microusd},
        .left = *left,
    };
    return task_limits_resolve(&sources);
}

static enum rc add_forecast(struct context *ctx, struct flow *flow,
                            const struct repo_config *config)
{
    struct run_row *run = &flow->run;
    run->wanted_agent = forecasts_agent(&config->agent, ctx->arena);
    const struct past_run wanted = {.task_type = run->task_type, .agent = run->wanted_agent};
    enum rc rc = forecasts_make(ctx, &run->repository_id, &wanted, &flow->forecast);
    if (rc == RC_OK)
        run->forecast = forecast_text(&flow->forecast, ctx->arena);
    return rc;
}

/* A repair works on the branch of its pull request, from the head that it is to mend; where that is
   to be merged with another commit first, prepare does it and reports the base. */
static enum rc continue_pr(struct context *ctx, struct flow *flow)
{
    struct pull_request_row pr;
    enum rc rc = pull_requests_get(ctx->db, &flow->task.pull_request_id, ctx->arena, &pr, ctx->err);
    if (rc != RC_OK)
        return rc;
    flow->run.branch = pr.branch;
    if (flow->task.merge_with == NULL)
        flow->run.base_commit = flow->task.head_commit;
    return RC_OK;
}

enum { SLUG_BYTES = 41 };

enum rc flow_new_run(struct context *ctx, struct flow *flow, int64_t run_no)
{
    struct task_row *task = &flow->task;
    char slug[SLUG_BYTES];
    text_slug(slug, sizeof slug, task->description != NULL ? task->description : "issue");
    int64_t updated_us = flow_time(ctx, flow); /* After the run before it. */
    const struct repo_config *config;
    enum rc rc = flow_config(ctx, flow, &config);
    if (rc != RC_OK)
        return rc;
    struct task_limits limits = limits_of(ctx, task, config, &flow->lineage.left);
    struct event_tags tags = {0};
    tags_of_task(task, &tags);
    /* Of the request, else of the run before it or the run of its parent. */
    const char *trace = ctx->traceparent != NULL ? ctx->traceparent : flow->run.traceparent;
    if (trace == NULL)
        trace = flow->lineage.traceparent;
    flow->run = (struct run_row){
        .id = context_id(ctx),
        .task_id = task->id,
        .workspace_id = task->workspace_id,
        .repository_id = task->repository_id,
        .run_no = run_no,
        .parent_run_id = flow->lineage.parent_run_id,
        .root_run_id = flow->lineage.root_run_id,
        .batch_id = task->batch_id,
        .status = RUN_QUEUED,
        .branch = arena_printf(ctx->arena, "drover/%s/%lld-%s", task->id.text, (long long)run_no,
                               slug),
        .rank = rank_of(ctx->now_us, task->priority),
        .requested_by = task->requested_by,
        .traceparent = trace,
        .tags = event_tags_text(&tags, ctx->arena),
        .task_type = task->task_type,
        .max_turns = limits.turns,
        .budget_microusd = limits.cost_microusd,
        .max_tokens = limits.tokens,
        .judge_score_milli = -1,
        .queued_us = updated_us,
        .updated_us = updated_us,
        .events_left = budget_of_events(ctx, config),
    };
    rc = add_forecast(ctx, flow, config);
    if (rc != RC_OK)
        return rc;
    if (!id_is_none(&task->pull_request_id))
        rc = continue_pr(ctx, flow);
    if (rc != RC_OK)
        return rc;
    flow->stored_run = flow->run;
    task->latest_run_id = flow->run.id;
    task->status = task_status_of(RUN_QUEUED, false);
    return limit_wait(ctx, flow);
}

enum rc flow_emit_queued(struct context *ctx, struct flow *flow)
{
    CLEANUP(event_body_release) struct event_body body;
    event_body_open(&body);
    jw_kstr(&body.jw, "runId", flow->run.id.text);
    jw_kint(&body.jw, "runNo", flow->run.run_no);
    jw_kint(&body.jw, "priority", flow->task.priority);
    jw_kstr(&body.jw, "requestedBy", flow->run.requested_by);
    jw_optstr(&body.jw, "taskType", flow->run.task_type);
    jw_kstr(&body.jw, "branch", flow->run.branch);
    jw_optstr(&body.jw, "baseCommit", flow->run.base_commit); /* Of a repair. */
    if (flow->run.forecast.len > 0)
        jw_kraw(&body.jw, "forecast", flow->run.forecast);
    /* The run's chain of causes starts at the task. */
    flow->run.last_event_id = flow->task.last_event_id;
    enum rc rc = flow_emit(ctx, flow, EV_RUN_QUEUED, &body);
    if (rc != RC_OK)
        return rc;
    CLEANUP(event_body_release) struct event_body of_task;
    event_body_open(&of_task);
    jw_kstr(&of_task.jw, "taskId", flow->task.id.text);
    jw_kstr(&of_task.jw, "runId", flow->run.id.text);
    jw_kint(&of_task.jw, "runNo", flow->run.run_no);
    jw_kint(&of_task.jw, "priority", flow->task.priority);
    return flow_emit_task(ctx, flow, EV_TASK_QUEUED, &of_task);
}

static void project(struct context *ctx, struct flow *flow)
{
    bool deferred = flow->run.deferred_reason != NULL;
    flow->task.status = task_status_of(flow->run.status, deferred);
    flow->task.latest_run_id = flow->run.id;
    if (run_is_terminal(flow->run.status)) {
        flow->run.ended_us = flow->task.ended_us = flow_time(ctx, flow);
    }
}

/* Attempt 1, or the same attempt again when a worker was lost in it. */
static void count_attempt(struct run_row *run)
{
    if (run->attempt > 0)
        return;
    run->attempt = run->used[BUDGET_AGENT] = 1;
}

enum rc flow_move(struct context *ctx, struct flow *flow, enum run_event event, const char *reason)
{
    enum run_status from = flow->run.status, to;
    enum rc rc = run_step(from, event, &to);
    if (rc != RC_OK)
        return err_set(ctx->err, rc, "ILLEGAL_TRANSITION", "run %s is %s and cannot take %s",
                       flow->run.id.text, run_status_name(from), run_event_name(event));
    flow->run.status = to;
    if (to == RUN_RUNNING)
        count_attempt(&flow->run);
    if (to != RUN_QUEUED)
        flow->run.deferred_reason = NULL;
    project(ctx, flow);
    rc = run_clock_settle(ctx, &flow->run);
    if (rc == RC_OK && to == RUN_QUEUED)
        rc = limit_wait(ctx, flow);
    if (rc != RC_OK)
        return rc;
    CLEANUP(event_body_release) struct event_body body;
    event_body_open(&body);
    jw_kstr(&body.jw, "runId", flow->run.id.text);
    jw_kstr(&body.jw, "fromStatus", run_status_name(from));
    jw_kstr(&body.jw, "toStatus", run_status_name(to));
    jw_kstr(&body.jw, "reason", reason);
    jw_kint(&body.jw, "attempt", flow->run.attempt);
    jw_optstr(&body.jw, "workerId", flow->worker);
    return flow_emit(ctx, flow, EV_RUN_STATUS_CHANGED, &body);
}
