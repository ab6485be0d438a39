/*
 * steering.c - people and the agent of a run: messages, pauses, questions.
 */
#include "api/listing.h"
#include "api/routes.h"
#include "base/clock.h"
#include "base/fields.h"
#include "control/admit/answer.h"
#include "control/run/messages.h"
#include "control/run/pause.h"
#include "core/text/prose.h"

#define SEQ_MAX ((int64_t)1 << 53)

/* ---- Messages ---- */

static void write_message(struct jw *jw, const struct message_row *message)
{
    jw_begin(jw, '{');
    jw_kint(jw, "seq", message->seq);
    jw_kstr(jw, "author", message->author);
    jw_kstr(jw, "text", message->text);
    jw_ktime(jw, "sentAt", message->created_us);
    jw_ktime(jw, "deliveredAt", message->delivered_us);
    jw_end(jw, '}');
}

static enum rc read_text(struct call *call, const char *key, const char **ret_text, struct err *err)
{
    struct command *command = call->command;
    struct fields fields;
    enum rc rc = call_json(call, &command->tree, err);
    if (rc != RC_OK)
        return rc;
    fields_open(&fields, command->tree, "", err);
    fields_string(&fields, key, FIELD_REQUIRED,
                  &(struct field_text){.min = 1, .max = MESSAGE_BYTES_MAX}, ret_text);
    if (fields.rc == RC_OK && !prose_is_plain(*ret_text))
        fields_fail(&fields, key,
                    "%s must be text, without control characters but tabs and line ends", key);
    return fields_close(&fields);
}

enum rc api_run_say(struct call *call, struct err *err)
{
    struct cmd_say *cmd = cmd_say_new();
    call_own(call, &cmd->base);
    enum rc rc = call_no_params(call, err);
    if (rc == RC_OK)
        rc = call_id(call, 0, &cmd->run_id, err);
    return rc == RC_OK ? read_text(call, "text", &cmd->text, err) : rc;
}

void api_run_say_answer(struct call *call, struct command *command)
{
    const struct cmd_say *cmd = (const struct cmd_say *)command;
    struct jw jw = call_answer(call, 201);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "runId", cmd->run_id.text);
    jw_kint(&jw, "seq", cmd->message.seq);
    jw_kstr(&jw, "status", run_status_name(cmd->status));
    jw_kbool(&jw, "working", cmd->working);
    jw_end(&jw, '}');
}

enum rc api_run_messages(struct call *call, struct db *db, struct err *err)
{
    struct listing list;
    struct message_filter filter = {0};
    struct message_row *rows = NULL;
    struct run_row run;
    listing_open(&list, call, CURSOR_SEQ, err);
    enum rc rc = listing_begin(&list);
    if (rc == RC_OK)
        rc = call_id(call, 0, &filter.run_id, err);
    if (rc == RC_OK)
        rc = runs_get(db, &filter.run_id, list.arena, &run, err);
    filter.after_seq = list.after_seq;
    filter.limit = list.query_limit;
    if (rc == RC_OK)
        rc = messages_list(db, &filter, list.arena, &rows, &list.count, err);
    for (size_t i = 0; rc == RC_OK && listing_shows(&list, i); i++) {
        write_message(&list.jw, &rows[i]);
        list.last_number = rows[i].seq;
    }
    return listing_end(&list, rc);
}

/* The lease that a path and ?epoch name; and ?after, unless after_seq is NULL. */
static enum rc read_lease(struct call *call, struct job_ref *ref, int64_t *after_seq,
                          struct err *err)
{
    struct params params;
    ref->epoch = -1;
    enum rc rc = call_id(call, 0, &ref->id, err);
    if (rc == RC_OK)
        rc = call_params(call, &params, err);
    if (rc != RC_OK)
        return rc;
    params_int(&params, "epoch", &(struct param_range){0, SEQ_MAX}, &ref->epoch);
    if (after_seq != NULL)
        params_int(&params, "after", &(struct param_range){0, SEQ_MAX}, after_seq);
    if (ref->epoch < 0)
        params_fail(&params, "epoch", "epoch is missing: that of the lease");
    return params_end(&params);
}

enum rc api_job_messages(struct call *call, struct err *err)
{
    struct cmd_messages_read *cmd = cmd_messages_read_new();
    call_own(call, &cmd->base);
    return read_lease(call, &cmd->ref, &cmd->after_seq, err);
}

void api_job_messages_answer(struct call *call, struct command *command)
{
    const struct cmd_messages_read *cmd = (const struct cmd_messages_read *)command;
    struct jw jw = call_answer(call, 200);
    jw_begin(&jw, '{');
    jw_key(&jw, "messages");
    jw_begin(&jw, '[');
    for (size_t i = 0; i < cmd->count; i++)
        write_message(&jw, &cmd->messages[i]);
    jw_end(&jw, ']');
    jw_end(&jw, '}');
}

/* ---- Pauses ---- */

static enum rc build_pause(struct call *call, struct cmd_pause *cmd, struct err *err)
{
    call_own(call, &cmd->base);
    enum rc rc = call_no_params(call, err);
    if (rc == RC_OK)
        rc = call_id(call, 0, &cmd->run_id, err);
    return rc == RC_OK ? call_reason(call, &cmd->reason, err) : rc;
}

enum rc api_run_pause(struct call *call, struct err *err)
{
    return build_pause(call, cmd_pause_new(), err);
}

enum rc api_run_resume(struct call *call, struct err *err)
{
    return build_pause(call, cmd_resume_new(), err);
}

void api_run_pause_answer(struct call *call, struct command *command)
{
    const struct run_row *run = &((const struct cmd_pause *)command)->run;
    struct jw jw = call_answer(call, 200);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "id", run->id.text);
    jw_kstr(&jw, "status", run_status_name(run->status));
    jw_kbool(&jw, "paused", run->paused_us > 0);
    jw_ktime(&jw, "pausedAt", run->paused_us);
    jw_kstr(&jw, "pausedBy", run->paused_by);
    jw_end(&jw, '}');
}

/* ---- Questions ---- */

static void write_question(struct jw *jw, const struct question_row *row)
{
    jw_begin(jw, '{');
    jw_kstr(jw, "id", row->id.text);
    jw_kstr(jw, "taskId", row->task_id.text);
    jw_kstr(jw, "runId", row->run_id.text);
    jw_kstr(jw, "status", row->status);
    jw_kstr(jw, "text", row->text);
    jw_kraw(jw, "options", row->options.len > 0 ? row->options : STR("[]"));
    jw_kstr(jw, "default", row->default_answer);
    jw_kstr(jw, "askedBy", row->asked_by);
    jw_kint(jw, "attempt", row->attempt);
    jw_kstr(jw, "answer", row->answer);
    jw_kstr(jw, "answeredBy", row->answered_by);
    jw_ktime(jw, "requestedAt", row->requested_us);
    jw_ktime(jw, "expiresAt", row->expires_us);
    jw_ktime(jw, "answeredAt", row->answered_us);
    jw_ktime(jw, "deliveredAt", row->delivered_us);
    jw_kint(jw, "reminded", row->reminded);
    jw_end(jw, '}');
}

enum rc api_run_ask(struct call *call, struct err *err)
{
    struct cmd_ask *cmd = cmd_ask_new();
    call_own(call, &cmd->base);
    enum rc rc = call_no_params(call, err);
    if (rc == RC_OK)
        rc = call_id(call, 0, &cmd->run_id, err);
    if (rc == RC_OK)
        rc = call_json(call, &cmd->base.tree, err);
    return rc == RC_OK ? question_spec_decode(cmd->base.tree, "", &cmd->spec, err) : rc;
}

void api_run_ask_answer(struct call *call, struct command *command)
{
    struct jw jw = call_answer(call, 201);
    write_question(&jw, &((const struct cmd_ask *)command)->row);
}

/* The worker of an agent asks for it, by the lease of its job. */
enum rc api_job_ask(struct call *call, struct err *err)
{
    struct cmd_ask *cmd = cmd_ask_new();
    const struct js *question = NULL;
    struct fields fields;
    call_own(call, &cmd->base);
    enum rc rc = call_no_params(call, err);
    if (rc == RC_OK)
        rc = call_id(call, 0, &cmd->ref.id, err);
    if (rc == RC_OK)
        rc = call_json(call, &cmd->base.tree, err);
    if (rc != RC_OK)
        return rc;
    fields_open(&fields, cmd->base.tree, "", err);
    fields_int(&fields, "epoch", FIELD_REQUIRED, &(struct field_range){0, SEQ_MAX},
               &cmd->ref.epoch);
    fields_object(&fields, "question", FIELD_REQUIRED, &question);
    rc = fields_close(&fields);
    return rc == RC_OK ? question_spec_decode(question, "question", &cmd->spec, err) : rc;
}

enum rc api_job_question(struct call *call, struct err *err)
{
    struct cmd_question *cmd = cmd_question_new();
    call_own(call, &cmd->base);
    enum rc rc = read_lease(call, &cmd->ref, NULL, err);
    return rc == RC_OK ? call_id(call, 1, &cmd->id, err) : rc;
}

enum rc api_job_withdraw(struct call *call, struct err *err)
{
    struct cmd_withdraw *cmd = cmd_withdraw_new();
    call_own(call, &cmd->base);
    enum rc rc = read_lease(call, &cmd->ref, NULL, err);
    return rc == RC_OK ? call_id(call, 1, &cmd->id, err) : rc;
}

enum rc api_question_list(struct call *call, struct db *db, struct err *err)
{
    static const char *const statuses[] = {"pending", "answered", "expired", "cancelled", NULL};
    struct listing list;
    struct question_row *rows = NULL;
    listing_open(&list, call, CURSOR_ID, err);
    struct waiting_filter filter = {
        .before = list.before, .limit = list.query_limit, .scan = &list.scan};
    params_choice(&list.params, "status", statuses, &filter.status);
    params_id(&list.params, "runId", &filter.run_id);
    enum rc rc = listing_begin(&list);
    if (rc == RC_OK)
        rc = questions_list(db, &filter, list.arena, &rows, &list.count, err);
    for (size_t i = 0; rc == RC_OK && listing_shows(&list, i); i++) {
        write_question(&list.jw, &rows[i]);
        list.last = rows[i].id.text;
    }
    return listing_end(&list, rc);
}

enum rc api_question_get(struct call *call, struct err *err)
{
    struct cmd_question *cmd = cmd_question_new();
    call_own(call, &cmd->base);
    struct params params;
    int64_t wait_ms = 0;
    enum rc rc = call_id(call, 0, &cmd->id, err);
    if (rc == RC_OK)
        rc = call_params(call, &params, err);
    if (rc != RC_OK)
        return rc;
    params_int(&params, "waitMs", &(struct param_range){0, ANSWER_WAIT_MS_MAX}, &wait_ms);
    rc = params_end(&params);
    if (rc != RC_OK)
        return rc;
    if (call->who.role == ROLE_AGENT)
        cmd->agent_run = call->who.run_id;
    cmd->wait_us = http_draining(call->api->http) ? 0 : wait_ms * US_PER_MS;
    if (cmd->wait_us > 0)
        call_wait(call);
    return RC_OK;
}

void api_question_get_answer(struct call *call, struct command *command)
{
    if (http_gone(&call->http))
        return;
    struct jw jw = call_answer(call, 200);
    write_question(&jw, &((const struct cmd_question *)command)->row);
}

enum rc api_question_answer(struct call *call, struct err *err)
{
    struct cmd_answer *cmd = cmd_answer_new();
    call_own(call, &cmd->base);
    enum rc rc = call_no_params(call, err);
    if (rc == RC_OK)
        rc = call_id(call, 0, &cmd->id, err);
    return rc == RC_OK ? read_text(call, "answer", &cmd->answer, err) : rc;
}

void api_question_answer_answer(struct call *call, struct command *command)
{
    struct jw jw = call_answer(call, 200);
    write_question(&jw, &((const struct cmd_answer *)command)->row);
}
