/*
 * progress.c - workers report the progress of a step: events of its run, and what it has used.
 */
#include "control/run/progress.h"
#include "control/commit/read_ahead.h"
#include "control/queue/breakers.h"
#include "control/queue/lease.h"
#include "control/queue/token_scope.h"
#include "control/run/accounts.h"
#include "control/run/day_budget.h"
#include "control/run/messages.h"
#include "control/run/pull_limits.h"
#include "control/run/result_facts.h"
#include "control/run/run_batch.h"
#include "control/run/run_tree.h"
#include "control/run/stop.h"
#include "control/run/usage.h"
#include "core/config/profile.h"
#include "core/event_types.h"
#include "core/run/tool_facts.h"
#include "core/run/worker_report.h"
#include "core/step_kind.h"
#include <string.h>

enum { PROGRESS_EVENTS_MAX = 200, PROGRESS_DATA_MAX = 16 * 1024, TOOL_FACTS_MAX = 8 * 1024 };

/* ret_data: the data of each as text. */
static enum rc check_progress(struct context *ctx, const struct js *events, struct str **ret_data)
{
    size_t count = js_count(events);
    if (js_type(events) != JS_ARRAY || count > PROGRESS_EVENTS_MAX)
        return err_field(ctx->err, RC_INVALID, "INVALID_FIELD", "events",
                         "events must be an array of at most %d", PROGRESS_EVENTS_MAX);
    struct str *data = arena_array(ctx->arena, count, sizeof *data);
    for (size_t i = 0; i < count; i++) {
        const struct js *event = js_at(events, i);
        const char *type = report_event_type(js_get_str(event, "type", ""));
        if (type == NULL)
            return err_field(
                ctx->err, RC_INVALID, "INVALID_FIELD", "events",
                "events[%zu].type is not one that a worker may send; to say what you do: "
                "agent.step.recorded, with text in its data",
                i);
        if (js_type(js_get(event, "data")) != JS_OBJECT)
            return err_field(ctx->err, RC_INVALID, "INVALID_FIELD", "events",
                             "events[%zu].data must be an object", i);
        if (js_get(js_get(event, "data"), "runUsage") != NULL)
            return err_field(ctx->err, RC_INVALID, "INVALID_FIELD", "events",
                             "events[%zu].data.runUsage is added by the server", i);
        enum rc rc = report_check_event(type, js_get(event, "data"), ctx->err);
        if (rc != RC_OK)
            return rc;
        data[i] = str_of(js_text(js_get(event, "data"), ctx->arena));
        if (data[i].len > PROGRESS_DATA_MAX)
            return err_field(ctx->err, RC_TOO_LARGE, "EVENT_TOO_LARGE", "events",
                             "events[%zu].data passes %d bytes", i, PROGRESS_DATA_MAX);
    }
    *ret_data = data;
    return RC_OK;
}

static enum rc check_events(struct context *ctx, const struct job_row *job, const struct js *events)
{
    enum rc rc = RC_OK;
    for (size_t i = 0; rc == RC_OK && i < js_count(events); i++) {
        const struct js *event = js_at(events, i);
        rc = event_check_facts(job, js_get_str(event, "type", ""), js_get(event, "data"), ctx->err);
    }
    return rc;
}

/* What drover knows of the call of a tool, whichever program reported it.  Members that were
   reported and are not empty stay, but the run is the one that reports. */
static struct str with_tool_facts(struct context *ctx, const struct flow *flow,
                                  const struct js *given, struct str data)
{
    const char *name = js_get_str(given, "name", ""), *key = NULL;
    const struct js *value = NULL;
    if (text_empty(name))
        name = js_get_str(given, "toolName", "");
    const struct tool_facts facts = tool_facts_of(text_empty(name) ? "tool" : name, ctx->arena);
    const struct {
        const char *key, *value;
    } members[] = {
        {"toolNamespace", facts.space},
        {"toolName", facts.name},
        {"riskLevel", tool_risk_names[facts.risk]},
    };
    CLEANUP(buf_release) struct buf buf;
    buf_init(&buf, data.len + TOOL_FACTS_MAX);
    struct jw jw = jw_to(&buf);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "runId", flow->run.id.text);
    for (size_t i = 0; i < COUNT_OF(members); i++)
        if (text_empty(js_get_str(given, members[i].key, "")))
            jw_kstr(&jw, members[i].key, members[i].value);
    for (size_t it = 0; js_next(given, &it, &key, &value);)
        if (strcmp(key, "runId") != 0 && js_type(value) != JS_NULL && *js_str(value, "x") != '\0')
            jw_kraw(&jw, key, str_of(js_text(value, ctx->arena)));
    jw_end(&jw, '}');
    return buf.overflow ? data : (struct str){str_dup(ctx->arena, buf_str(&buf)), buf.len};
}

/* Stored once in the life of a run: from here on diagnostic events are dropped. */
static enum rc emit_truncated(struct context *ctx, struct flow *flow)
{
    CLEANUP(event_body_release) struct event_body body;
    event_body_open(&body);
    jw_kstr(&body.jw, "runId", flow->run.id.text);
    jw_kint(&body.jw, "events", flow->run.event_seq);
    return flow_emit(ctx, flow, EV_EVENTS_TRUNCATED, &body);
}

/* The last report of sums, with what the run has used: sums are those of an attempt. */
static struct str with_usage(struct context *ctx, const struct run_row *run, struct str data)
{
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, 2 * PROGRESS_DATA_MAX);
    buf_add(&text, data.at, data.len - 1); /* Without its brace. */
    struct jw jw = {.buf = &text, .comma = data.len > strlen("{}")};
    usage_write_run(&jw, run);
    jw_end(&jw, '}');
    return str_of(arena_strdup(ctx->arena, buf_text(&text)));
}

/* *ret_dropped: some did not fit into the run's budget of events. */
static enum rc emit_progress(struct context *ctx, struct flow *flow,
                             const struct job_progress *progress, const struct str *data,
                             const struct js *sums, bool *ret_dropped)
{
    enum rc rc = RC_OK;
    for (size_t i = 0; rc == RC_OK && i < js_count(progress->events); i++) {
        const struct js *event = js_at(progress->events, i);
        const char *type = report_event_type(js_get_str(event, "type", ""));
        struct str text = data[i];
        if (text_starts(type, TOOL_CALL_PREFIX))
            text = with_tool_facts(ctx, flow, js_get(event, "data"), text);
        struct event_verdict verdict = event_budget_take(
            &flow->run.events_left, report_event_kind(type), (int64_t)text.len);
        *ret_dropped |= !verdict.store;
        if (verdict.notice)
            rc = emit_truncated(ctx, flow);
        if (rc == RC_OK && verdict.store)
            rc = flow_emit_data(ctx, flow, type,
                                js_get(event, "data") == sums ? with_usage(ctx, &flow->run, text)
                                                              : text);
    }
    return rc;
}

/* Sums grow, so the last ones hold; NULL: there are none. */
static const struct js *last_sums(const struct js *events)
{
    const struct js *sums = NULL;
    for (size_t i = 0; i < js_count(events); i++) {
        const struct js *event = js_at(events, i);
        if (strcmp(report_event_type(js_get_str(event, "type", "")), EV_MODEL_TURN_COMPLETED) == 0)
            sums = js_get(event, "data");
    }
    return sums;
}

/* The remote service works, and its breaker need not wait for the end of a session of hours. */
static enum rc session_begun(struct context *ctx, struct run_row *run, const struct job_row *job)
{
    run->session_begun_us = ctx->now_us;
    enum rc rc = runs_save_begun(ctx->db, run, ctx->err);
    struct breaker_report report = {.ok = true, .since_us = job->leased_us};
    if (rc == RC_OK && job->dependency != NULL)
        rc = breaker_report(ctx, job->dependency, &report);
    return rc;
}

/* The session of a local agent: its next attempt may resume it.  One of a plan ends with the
   plan. */
static enum rc note_agent_session(struct context *ctx, struct run_row *run,
                                  const struct job_row *job, const struct js *events)
{
    const char *session = run->agent_session;
    if (run->session_id != NULL || !text_same(job->type, step_row(STEP_AGENT)->name))
        return RC_OK;
    for (size_t i = 0; i < js_count(events); i++) {
        const struct js *event = js_at(events, i);
        const char *id = js_get_str(js_get(event, "data"), "sessionId", NULL);
        if (text_same(js_get_str(event, "type", ""), EV_SESSION_STARTED) && agent_session_valid(id))
            session = id;
    }
    if (text_same(session, run->agent_session))
        return RC_OK;
    run->agent_session = arena_strdup(ctx->arena, session);
    return runs_save_begun(ctx->db, run, ctx->err);
}

/* A remote session that is known to have begun is never started again. */
static enum rc note_session(struct context *ctx, struct flow *flow, const struct job_row *job,
                            const struct js *events)
{
    struct run_row *run = &flow->run;
    for (size_t i = 0; run->session_id != NULL && i < js_count(events); i++) {
        const struct js *event = js_at(events, i);
        const char *id = js_get_str(js_get(event, "data"), "sessionId", "");
        if (strcmp(js_get_str(event, "type", ""), EV_SESSION_STARTED) != 0 ||
            strcmp(id, run->session_id) != 0 || run->session_begun_us > 0)
            continue;
        return session_begun(ctx, run, job);
    }
    return RC_OK;
}

/* Messages that the agent has are not read again. */
static enum rc note_delivered(struct context *ctx, const struct job_row *job,
                              const struct js *events)
{
    int64_t seq = 0;
    for (size_t i = 0; i < js_count(events); i++) {
        const struct js *event = js_at(events, i);
        if (strcmp(js_get_str(event, "type", ""), EV_MESSAGE_DELIVERED) == 0)
            seq = js_get_int(js_get(event, "data"), "seq", 0);
    }
    return seq > 0 && step_runs_agent(job->type) ? messages_reached(ctx, job, seq) : RC_OK;
}

static enum rc progress_one(struct context *ctx, const struct command *command,
                            const struct job_progress *progress, const struct str *data,
                            struct job_answer *answer)
{
    struct job_row job;
    enum rc rc = lease_load(ctx, command, &progress->ref, &job, answer);
    if (rc != RC_OK || !answer->ok || id_is_none(&job.run_id))
        return rc;
    CLEANUP(flow_release) struct flow flow = {0};
    rc = flow_load_run(ctx, &job.run_id, &flow);
    if (rc != RC_OK)
        return rc;
    flow_attempt(&flow, &job, job.worker);
    stop_orders(&flow.run, job.type, answer);
    rc = check_events(ctx, &job, progress->events);
    bool dropped = false;
    const struct js *sums = last_sums(progress->events);
    if (rc == RC_OK && sums != NULL)
        rc = usage_take(ctx, &flow.run, job.payload, sums);
    if (rc == RC_OK)
        rc = emit_progress(ctx, &flow, progress, data, sums, &dropped);
    if (dropped)
        answer->code = "EVENT_BUDGET";
    if (rc == RC_OK && usage_shows_work(sums))
        rc = accounts_proved(ctx, &flow.run);
    if (rc == RC_OK)
        rc = accounts_usage(ctx, &flow.run, progress->events);
    if (rc == RC_OK)
        rc = note_session(ctx, &flow, &job, progress->events);
    if (rc == RC_OK)
        rc = note_delivered(ctx, &job, progress->events);
    if (rc == RC_OK)
        rc = note_agent_session(ctx, &flow.run, &job, progress->events);
    if (rc == RC_OK)
        rc = sums != NULL ? flow_save_used(ctx, &flow) : flow_save_events(ctx, &flow);
    if (rc == RC_OK && sums != NULL)
        rc = run_tree_spent(ctx, &flow.run);
    if (rc == RC_OK && sums != NULL)
        rc = run_batch_spent(ctx, &flow.run);
    if (rc == RC_OK && sums != NULL)
        rc = day_budget_note(ctx);
    if (rc != RC_OK || answer->cancel)
        return rc;
    return pull_reported(ctx, &flow.run, &job, sums, &answer->cancel);
}

static enum rc apply_progress(struct context *ctx, struct command *command)
{
    struct cmd_progress *cmd = (struct cmd_progress *)command;
    struct token_scope_refs refs = {&cmd->jobs->ref, sizeof *cmd->jobs, cmd->count};
    cmd->answers = arena_array(ctx->arena, cmd->count, sizeof *cmd->answers);
    struct str **data = arena_array(ctx->arena, cmd->count, sizeof *data);
    enum rc rc = token_scope_check(ctx, command, &refs);
    for (size_t i = 0; rc == RC_OK && i < cmd->count; i++)
        rc = check_progress(ctx, cmd->jobs[i].events, &data[i]);
    for (size_t i = 0; rc == RC_OK && i < cmd->count; i++)
        rc = progress_one(ctx, command, &cmd->jobs[i], data[i], &cmd->answers[i]);
    return rc;
}

enum rc progress_take(struct context *ctx, const struct command *command,
                      const struct job_progress *progress, struct job_answer *ret_answer)
{
    struct str *data;
    enum rc rc = check_progress(ctx, progress->events, &data);
    return rc == RC_OK ? progress_one(ctx, command, progress, data, ret_answer) : rc;
}

static void progress_names(const struct command *command, struct read_ahead *read_ahead)
{
    const struct cmd_progress *cmd = (const struct cmd_progress *)command;
    for (size_t i = 0; i < cmd->count; i++)
        read_ahead_job(read_ahead, &cmd->jobs[i].ref.id);
}

static const struct command_ops progress_ops = {
    .name = "progress", .apply = apply_progress, .names = progress_names};

struct cmd_progress *cmd_progress_new(void)
{
    return command_new(&progress_ops, sizeof(struct cmd_progress));
}
