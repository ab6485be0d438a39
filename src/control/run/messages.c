#include "control/run/messages.h"
#include "base/js_peek.h"
#include "control/commit/read_ahead.h"
#include "control/queue/lease.h"
#include "control/queue/token_scope.h"
#include "control/run/pause.h"
#include "core/event_types.h"
#include "core/step_kind.h"
#include <string.h>

static enum rc list_unread(struct context *ctx, const struct id *run_id, int64_t after_seq,
                           struct message_row **ret_rows, size_t *ret_count)
{
    const struct message_filter filter = {
        .run_id = *run_id, .after_seq = after_seq, .limit = MESSAGES_UNREAD_MAX, .unread = true};
    return messages_list(ctx->db, &filter, ctx->arena, ret_rows, ret_count, ctx->err);
}

/* ---- a person speaks ---- */

static enum rc check_room(struct context *ctx, const struct cmd_say *cmd)
{
    struct message_row *rows;
    size_t count, bytes = strlen(cmd->text);
    enum rc rc = list_unread(ctx, &cmd->run_id, 0, &rows, &count);
    for (size_t i = 0; rc == RC_OK && i < count; i++)
        bytes += strlen(rows[i].text);
    if (rc == RC_OK && (count == MESSAGES_UNREAD_MAX || bytes > MESSAGES_UNREAD_BYTES_MAX))
        return err_set(ctx->err, RC_LIMIT, "TOO_MANY_MESSAGES",
                       "%zu messages to run %s are unread; there may be %d, of together %d KiB",
                       count, cmd->run_id.text, MESSAGES_UNREAD_MAX,
                       MESSAGES_UNREAD_BYTES_MAX / 1024);
    return rc;
}

static enum rc check_say(struct context *ctx, const struct cmd_say *cmd, const struct flow *flow)
{
    enum rc rc = steer_check(ctx, flow, "be spoken to");
    if (rc == RC_OK && flow->run.status == RUN_CREATING_PR)
        return err_set(ctx->err, RC_CONFLICT, "NO_AGENT_FOLLOWS",
                       "run %s is creating_pr: no agent works on it any more", flow->run.id.text);
    return rc == RC_OK ? check_room(ctx, cmd) : rc;
}

static enum rc emit_sent(struct context *ctx, struct flow *flow, const struct message_row *row)
{
    CLEANUP(event_body_release) struct event_body body;
    event_body_open(&body);
    jw_kstr(&body.jw, "runId", flow->run.id.text);
    jw_kint(&body.jw, "seq", row->seq);
    jw_kstr(&body.jw, "author", row->author);
    jw_kstr(&body.jw, "text", row->text);
    return flow_emit(ctx, flow, EV_MESSAGE_SENT, &body);
}

/* Does an agent work on it? */
static enum rc find_agent(struct context *ctx, const struct flow *flow, bool *ret_working)
{
    struct job_row job;
    *ret_working = false;
    if (id_is_none(&flow->run.job_id))
        return RC_OK;
    enum rc rc = jobs_get(ctx->db, &flow->run.job_id, ctx->arena, &job, ctx->err);
    *ret_working = rc == RC_OK && job.life.state == JOB_LEASED && step_runs_agent(job.type);
    return rc;
}

static enum rc apply_say(struct context *ctx, struct command *command)
{
    struct cmd_say *cmd = (struct cmd_say *)command;
    CLEANUP(flow_release) struct flow flow = {0};
    enum rc rc = steer_load(ctx, &cmd->run_id, &flow);
    if (rc == RC_OK)
        rc = check_say(ctx, cmd, &flow);
    if (rc == RC_OK)
        rc = find_agent(ctx, &flow, &cmd->working);
    if (rc != RC_OK)
        return rc;
    cmd->status = flow.run.status;
    cmd->message = (struct message_row){
        .run_id = flow.run.id,
        .seq = ++flow.run.message_seq,
        .author = ctx->actor.id,
        .text = cmd->text,
        .created_us = ctx->now_us,
    };
    rc = messages_insert(ctx->db, &cmd->message, ctx->err);
    if (rc == RC_OK)
        rc = emit_sent(ctx, &flow, &cmd->message);
    return rc == RC_OK ? flow_save(ctx, &flow) : rc;
}

static const struct command_ops say_ops = {.name = "say", .apply = apply_say};

struct cmd_say *cmd_say_new(void)
{
    return command_new(&say_ops, sizeof(struct cmd_say));
}

/* ---- on the way to the agent ---- */

enum rc messages_write(struct context *ctx, const struct flow *flow, struct jw *jw)
{
    struct message_row *rows = NULL;
    size_t count = 0;
    jw_kint(jw, "messageSeq", flow->run.message_seq);
    if (flow->run.message_seq == 0)
        return RC_OK;
    enum rc rc = list_unread(ctx, &flow->run.id, 0, &rows, &count);
    jw_key(jw, "messages");
    jw_begin(jw, '[');
    for (size_t i = 0; rc == RC_OK && i < count; i++) {
        jw_begin(jw, '{');
        jw_kint(jw, "seq", rows[i].seq);
        jw_kstr(jw, "author", rows[i].author);
        jw_kstr(jw, "text", rows[i].text);
        jw_ktime(jw, "sentAt", rows[i].created_us);
        jw_end(jw, '}');
    }
    jw_end(jw, ']');
    return rc;
}

/* The last message that the assignment has; 0: it has none. */
static int64_t last_of(const struct job_row *job)
{
    int64_t seq = 0;
    char text[24];
    struct str list = js_peek(job->payload, "messages"), last = js_peek(job->payload, "messageSeq");
    if (list.len <= strlen("[]") || last.len >= sizeof text)
        return 0;
    memcpy(text, last.at, last.len);
    text[last.len] = '\0';
    return text_to_i64(text, &seq) ? seq : 0;
}

enum rc messages_handed_over(struct context *ctx, struct flow *flow, const struct job_row *job)
{
    int64_t seq = flow->run.message_seq > 0 && step_runs_agent(job->type) ? last_of(job) : 0;
    if (seq == 0)
        return RC_OK;
    CLEANUP(event_body_release) struct event_body body;
    event_body_open(&body);
    jw_kint(&body.jw, "seq", seq);
    jw_kint(&body.jw, "attempt", flow->run.attempt);
    enum rc rc = messages_reached(ctx, job, seq);
    return rc == RC_OK ? flow_emit(ctx, flow, EV_MESSAGE_DELIVERED, &body) : rc;
}

enum rc messages_reached(struct context *ctx, const struct job_row *job, int64_t seq)
{
    const struct message_delivery delivery = {
        .run_id = job->run_id, .job_id = job->id, .seq = seq, .now_us = ctx->now_us};
    return messages_deliver(ctx->db, &delivery, ctx->err);
}

enum rc messages_lost(struct context *ctx, const struct flow *flow, const struct id *job_id)
{
    if (flow->run.message_seq == 0)
        return RC_OK;
    return messages_take_back(ctx->db, &flow->run.id, job_id, ctx->err);
}

enum rc messages_wait(struct context *ctx, const struct flow *flow, bool *ret_wait)
{
    struct message_row *rows;
    size_t count = 0;
    enum rc rc = RC_OK;
    if (flow->run.message_seq > 0)
        rc = list_unread(ctx, &flow->run.id, 0, &rows, &count);
    *ret_wait = rc == RC_OK && count > 0;
    return rc;
}

/* ---- the worker reads ---- */

static enum rc apply_read(struct context *ctx, struct command *command)
{
    struct cmd_messages_read *cmd = (struct cmd_messages_read *)command;
    struct token_scope_refs refs = {&cmd->ref, sizeof cmd->ref, 1};
    struct job_answer answer;
    struct job_row job;
    cmd->messages = NULL;
    cmd->count = 0;
    enum rc rc = token_scope_check(ctx, command, &refs);
    if (rc == RC_OK)
        rc = lease_load(ctx, command, &cmd->ref, &job, &answer);
    if (rc != RC_OK)
        return rc;
    if (!answer.ok)
        return err_set(ctx->err, RC_STALE, "LEASE_LOST", "the lease of this job was lost");
    if (id_is_none(&job.run_id) || !step_runs_agent(job.type))
        return RC_OK;
    return list_unread(ctx, &job.run_id, cmd->after_seq, &cmd->messages, &cmd->count);
}

static void read_names(const struct command *command, struct read_ahead *read_ahead)
{
    read_ahead_job(read_ahead, &((const struct cmd_messages_read *)command)->ref.id);
}

static const struct command_ops read_ops = {
    .name = "messages_read", .apply = apply_read, .names = read_names};

struct cmd_messages_read *cmd_messages_read_new(void)
{
    return command_new(&read_ops, sizeof(struct cmd_messages_read));
}
