#include "control/run/questions.h"
#include "base/clock.h"
#include "control/commit/elapsed.h"
#include "core/event_types.h"
#include "store/timers.h"
#include <stdio.h>
#include <string.h>

bool question_is_open(const struct flow *flow)
{
    return !id_is_none(&flow->run.question_id);
}

void question_name(char to[ANSWER_NAME_BYTES], const struct id *id)
{
    (void)snprintf(to, ANSWER_NAME_BYTES, "answer/%s", id->text);
}

/* ---- asking ---- */

static void write_question(struct event_body *body, const struct question_row *row)
{
    event_body_open(body);
    jw_kstr(&body->jw, "questionId", row->id.text);
    jw_kstr(&body->jw, "text", row->text);
    if (row->options.len > 0)
        jw_kraw(&body->jw, "options", row->options);
    jw_optstr(&body->jw, "default", row->default_answer);
    jw_ktime(&body->jw, "expiresAt", row->expires_us);
}

static enum rc start_reminder(struct context *ctx, const struct question_row *row,
                              const struct repo_config *config)
{
    const struct reminder reminder = {.kind = TIMER_QUESTION_REMINDER,
                                      .subject = &row->id,
                                      .since_us = row->requested_us,
                                      .period_ms = config->policy.reminder_ms};
    return reminder_start(ctx, &reminder);
}

static enum rc set_timers(struct context *ctx, const struct question_row *row,
                          const struct repo_config *config)
{
    enum rc rc = timer_start(ctx, TIMER_QUESTION_EXPIRY, &row->id, row->expires_us);
    return rc == RC_OK ? start_reminder(ctx, row, config) : rc;
}

/* The agent may wait for less, not for longer, than the repository allows. */
static int64_t deadline_of(const struct context *ctx, const struct question_spec *spec,
                           const struct repo_config *config)
{
    int64_t most_us = config->timeouts.question_ms * US_PER_MS,
            own_us = spec->timeout_ms * US_PER_MS;
    return ctx->now_us + (own_us > 0 && own_us < most_us ? own_us : most_us);
}

enum rc question_ask(struct context *ctx, struct flow *flow, const struct question_spec *spec,
                     struct question_row *ret_row)
{
    const struct repo_config *config;
    enum rc rc = flow_config(ctx, flow, &config);
    if (rc != RC_OK)
        return rc;
    struct question_row row = {
        .id = context_id(ctx),
        .task_id = flow->task.id,
        .run_id = flow->run.id,
        .asked_by = "agent",
        .text = spec->text,
        .options = question_spec_options(spec, ctx->arena),
        .default_answer = spec->default_answer,
        .status = "pending",
        .attempt = flow->run.attempt,
        .requested_us = ctx->now_us,
        .expires_us = deadline_of(ctx, spec, config),
    };
    flow->run.question_id = row.id;
    flow->run.question_count++;
    rc = questions_insert(ctx->db, &row, ctx->err);
    if (rc == RC_OK)
        rc = set_timers(ctx, &row, config);
    if (rc == RC_OK)
        rc = run_clock_settle(ctx, &flow->run);
    if (rc != RC_OK)
        return rc;
    CLEANUP(event_body_release) struct event_body body;
    write_question(&body, &row);
    jw_kint(&body.jw, "attempt", row.attempt);
    *ret_row = row;
    return flow_emit(ctx, flow, EV_QUESTION_ASKED, &body);
}

enum rc question_of_record(struct context *ctx, struct flow *flow, const struct js *question)
{
    struct question_spec spec;
    struct question_row row;
    if (js_type(question) == JS_NULL || question_is_open(flow) ||
        flow->run.question_count >= QUESTIONS_MAX)
        return RC_OK;
    enum rc rc = question_spec_decode(question, "question", &spec, ctx->err);
    return rc == RC_OK ? question_ask(ctx, flow, &spec, &row) : rc;
}

enum rc question_await(struct context *ctx, struct flow *flow)
{
    enum rc rc = flow_move(ctx, flow, RUN_EV_QUESTION, "The agent's question waits for an answer");
    flow->run.job_id = (struct id){0};
    ctx->round->admit = true; /* Its sandbox is free. */
    return rc;
}

/* ---- the end ---- */

static enum rc save_closed(struct context *ctx, struct flow *flow, struct question_row *row)
{
    char name[ANSWER_NAME_BYTES];
    row->answered_us = ctx->now_us;
    flow->run.question_id = (struct id){0};
    enum rc rc = questions_save(ctx->db, row, ctx->err);
    if (rc == RC_OK)
        rc = timers_clear_subject(ctx->db, &row->id, ctx->err);
    question_name(name, &row->id);
    context_ready(ctx, name);
    return rc;
}

static const char *event_of(const char *status)
{
    if (strcmp(status, "answered") == 0)
        return EV_QUESTION_ANSWERED;
    return strcmp(status, "expired") == 0 ? EV_QUESTION_EXPIRED : EV_QUESTION_WITHDRAWN;
}

enum rc question_close(struct context *ctx, struct flow *flow, struct question_row *row,
                       const struct question_end *end)
{
    row->status = end->status;
    row->answer = end->answer;
    row->answered_by = end->by;
    enum rc rc = save_closed(ctx, flow, row);
    if (rc != RC_OK)
        return rc;
    CLEANUP(event_body_release) struct event_body body;
    event_body_open(&body);
    jw_kstr(&body.jw, "questionId", row->id.text);
    jw_kstr(&body.jw, "text", row->text);
    jw_optstr(&body.jw, "answer", row->answer);
    jw_optstr(&body.jw, "actor", row->answered_by);
    jw_kint(&body.jw, "waitedMs", elapsed_ms(ctx, row->requested_us));
    return flow_emit(ctx, flow, event_of(row->status), &body);
}

enum rc question_cancel(struct context *ctx, struct flow *flow)
{
    struct question_row row;
    if (!question_is_open(flow))
        return RC_OK;
    enum rc rc = questions_get(ctx->db, &flow->run.question_id, ctx->arena, &row, ctx->err);
    if (rc != RC_OK)
        return rc;
    row.status = "cancelled";
    return save_closed(ctx, flow, &row);
}

/* ---- the timers ---- */

enum rc question_load(struct context *ctx, const struct id *question_id,
                      struct question_row *ret_row, struct flow *ret_flow, bool *ret_pending)
{
    struct id run_id;
    enum rc rc = questions_run_of(ctx->db, question_id, &run_id, ctx->err);
    if (rc == RC_OK)
        rc = flow_load(ctx, &run_id, ret_flow);
    if (rc == RC_OK)
        rc = questions_get(ctx->db, question_id, ctx->arena, ret_row, ctx->err);
    *ret_pending = rc == RC_OK && strcmp(ret_row->status, "pending") == 0;
    return rc;
}

enum rc question_remind(struct context *ctx, const struct id *question_id)
{
    struct question_row row;
    bool pending;
    const struct repo_config *config;
    CLEANUP(flow_release) struct flow flow = {0};
    enum rc rc = question_load(ctx, question_id, &row, &flow, &pending);
    if (rc != RC_OK || !pending)
        return rc;
    rc = flow_config(ctx, &flow, &config);
    if (rc != RC_OK || config->policy.reminder_ms == 0)
        return rc;
    row.reminded++;
    rc = questions_save(ctx->db, &row, ctx->err);
    if (rc == RC_OK)
        rc = start_reminder(ctx, &row, config);
    if (rc != RC_OK)
        return rc;
    CLEANUP(event_body_release) struct event_body body;
    write_question(&body, &row);
    jw_kint(&body.jw, "count", row.reminded);
    jw_kint(&body.jw, "waitingMs", elapsed_ms(ctx, row.requested_us));
    rc = flow_emit(ctx, &flow, EV_QUESTION_REMINDED, &body);
    return rc == RC_OK ? flow_save_events(ctx, &flow) : rc;
}

/* ---- in the next assignment ---- */

static bool has_ended(const struct question_row *row)
{
    return strcmp(row->status, "answered") == 0 || strcmp(row->status, "expired") == 0;
}

static size_t bytes_of(const struct question_row *row)
{
    return strlen(row->text) + (row->answer != NULL ? strlen(row->answer) : 0);
}

static void write_answer(struct jw *jw, const struct question_row *row)
{
    jw_begin(jw, '{');
    jw_kstr(jw, "question", row->text);
    jw_kstr(jw, "answer", row->answer);
    jw_kstr(jw, "answeredBy", row->answered_by);
    if (row->delivered_us == 0)
        jw_kbool(jw, "unread", true);
    jw_end(jw, '}');
}

enum rc questions_write(struct context *ctx, const struct flow *flow, struct jw *jw)
{
    struct waiting_filter filter = {.run_id = flow->run.id, .limit = ANSWERS_TOLD_MAX};
    struct question_row *rows = NULL;
    size_t count = 0, told = 0, bytes = 0;
    if (flow->run.question_count == 0)
        return RC_OK;
    enum rc rc = questions_list(ctx->db, &filter, ctx->arena, &rows, &count, ctx->err);
    while (told < count && bytes + bytes_of(&rows[told]) <= ANSWERS_BYTES_MAX)
        bytes += bytes_of(&rows[told++]);
    bool unread = false;
    jw_key(jw, "answers");
    jw_begin(jw, '[');
    for (size_t i = told; i > 0; i--) { /* Oldest first. */
        if (!has_ended(&rows[i - 1]))
            continue;
        write_answer(jw, &rows[i - 1]);
        unread |= rows[i - 1].delivered_us == 0;
    }
    jw_end(jw, ']');
    return rc == RC_OK && unread ? questions_deliver(ctx->db, &flow->run.id, ctx->now_us, ctx->err)
                                 : rc;
}
