/*
 * topics.c - topics over HTTP: subscriptions, messages, requests and their replies.
 *
 * A request waits for its reply like a lease for work: its client is watched meanwhile, and when it
 * disconnects, the wait is ended.  The request itself stays, and may be repeated under its id.
 */
#include "api/job_fields.h"
#include "api/listing.h"
#include "api/routes.h"
#include "api/shapes.h"
#include "base/clock.h"
#include "base/fields.h"
#include "control/messaging/requests.h"
#include "control/messaging/subscriptions.h"
#include "core/queue/topic.h"
#include "core/step_kind.h"
#include <stdio.h>
#include <string.h>

enum { PATH_BYTES = 48, REPLY_CODE_MAX = 100, REPLY_MESSAGE_MAX = 4000 };
#define SUBSCRIPTION_QUEUE_PREFIX "sub."
/* Its queue may be "sub." and the name. */
#define SUBSCRIPTION_NAME_RULE \
    "a subscription's name has letters, digits, '.', '_' and '-', at most 96 bytes"
enum { SUBSCRIPTION_NAME_MAX = 96 };

/* ---- Subscriptions ---- */

static enum rc check_name(const struct call *call, struct err *err)
{
    const char *name = call->vars[0];
    if (queue_name_valid(name) && strlen(name) <= SUBSCRIPTION_NAME_MAX)
        return RC_OK;
    return err_set(err, RC_MALFORMED, "INVALID_NAME", SUBSCRIPTION_NAME_RULE);
}

static void write_subscription(struct jw *jw, const struct subscription_row *row)
{
    jw_begin(jw, '{');
    jw_kstr(jw, "name", row->name);
    jw_kstr(jw, "pattern", row->pattern);
    jw_kstr(jw, "queue", row->queue);
    jw_ktime(jw, "createdAt", row->created_us);
    jw_ktime(jw, "updatedAt", row->updated_us);
    jw_end(jw, '}');
}

static enum rc read_subscription(struct cmd_subscription_put *cmd, struct err *err)
{
    struct fields fields;
    fields_open(&fields, cmd->base.tree, "", err);
    fields_string(&fields, "pattern", FIELD_REQUIRED,
                  &(struct field_text){.min = 1, .max = TOPIC_BYTES_MAX}, &cmd->pattern);
    cmd->queue = arena_printf(&cmd->base.arena, SUBSCRIPTION_QUEUE_PREFIX "%s", cmd->name);
    fields_string(&fields, "queue", FIELD_OPTIONAL, &(struct field_text){.min = 1, .max = 100},
                  &cmd->queue);
    if (cmd->pattern != NULL && !topic_pattern_valid(cmd->pattern))
        fields_fail(&fields, "pattern", TOPIC_PATTERN_RULE);
    if (!queue_name_valid(cmd->queue))
        fields_fail(&fields, "queue", "a queue's name has letters, digits, '.', '_' and '-'");
    else if (text_starts(cmd->queue, STEP_QUEUE_PREFIX))
        fields_fail(&fields, "queue", "queues named %s* are drover's own", STEP_QUEUE_PREFIX);
    return fields_close(&fields);
}

enum rc api_subscription_put(struct call *call, struct err *err)
{
    struct cmd_subscription_put *cmd = cmd_subscription_put_new();
    call_own(call, &cmd->base);
    cmd->name = arena_strdup(&cmd->base.arena, call->vars[0]);
    enum rc rc = call_no_params(call, err);
    if (rc == RC_OK)
        rc = check_name(call, err);
    if (rc == RC_OK)
        rc = call_json(call, &cmd->base.tree, err);
    return rc == RC_OK ? read_subscription(cmd, err) : rc;
}

void api_subscription_put_answer(struct call *call, struct command *command)
{
    const struct cmd_subscription_put *cmd = (const struct cmd_subscription_put *)command;
    struct jw jw = call_answer(call, cmd->created ? 201 : 200);
    write_subscription(&jw, &cmd->row);
}

enum rc api_subscription_remove(struct call *call, struct err *err)
{
    struct cmd_subscription_remove *cmd = cmd_subscription_remove_new();
    call_own(call, &cmd->base);
    cmd->name = arena_strdup(&cmd->base.arena, call->vars[0]);
    enum rc rc = call_no_params(call, err);
    return rc == RC_OK ? check_name(call, err) : rc;
}

enum rc api_subscription_get(struct call *call, struct db *db, struct err *err)
{
    struct subscription_row row;
    enum rc rc = call_no_params(call, err);
    if (rc == RC_OK)
        rc = check_name(call, err);
    if (rc == RC_OK)
        rc = subscriptions_get(db, call->vars[0], &call->http.arena, &row, err);
    if (rc != RC_OK)
        return rc;
    struct jw jw = call_answer(call, 200);
    write_subscription(&jw, &row);
    return RC_OK;
}

enum rc api_subscription_list(struct call *call, struct db *db, struct err *err)
{
    struct listing list;
    struct subscription_row *rows = NULL;
    listing_open(&list, call, CURSOR_NAME, err);
    enum rc rc = listing_begin(&list);
    if (rc == RC_OK)
        rc = subscriptions_list(db, list.after, list.query_limit, list.arena, &rows, &list.count,
                                err);
    for (size_t i = 0; rc == RC_OK && listing_shows(&list, i); i++) {
        write_subscription(&list.jw, &rows[i]);
        list.last = rows[i].name;
    }
    return listing_end(&list, rc);
}

/* ---- Messages ---- */

static enum rc check_topic(const struct call *call, struct err *err)
{
    if (topic_valid(call->vars[0]))
        return RC_OK;
    return err_set(err, RC_MALFORMED, "INVALID_TOPIC", TOPIC_RULE);
}

static bool header_name_valid(const char *name)
{
    static const char chars[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    size_t len = strlen(name);
    return len > 0 && len <= HEADER_NAME_MAX && strspn(name, chars) == len;
}

static void read_headers(struct fields *fields, struct arena *arena, struct message *message)
{
    const struct js *object = NULL, *value;
    const char *name;
    fields_object(fields, "headers", FIELD_OPTIONAL, &object);
    if (js_count(object) > HEADERS_MAX)
        fields_fail(fields, "headers", "headers has at most %d members", HEADERS_MAX);
    if (fields->rc != RC_OK || object == NULL)
        return;
    struct message_header *headers = arena_array(arena, js_count(object), sizeof *headers);
    for (size_t at = 0; fields->rc == RC_OK && js_next(object, &at, &name, &value);) {
        const char *text = js_str(value, NULL);
        if (!header_name_valid(name))
            fields_fail(fields, "headers",
                        "a header's name has letters, digits, '.', '_' and '-', at most %d bytes",
                        HEADER_NAME_MAX);
        else if (header_reserved(name))
            fields_fail(fields, "headers", "the header %s is set by drover", name);
        else if (text == NULL || strlen(text) > HEADER_VALUE_MAX)
            fields_fail(fields, "headers", "the header %s must be a string of at most %d bytes",
                        name, HEADER_VALUE_MAX);
        headers[message->header_count++] = (struct message_header){arena_strdup(arena, name),
                                                                   arena_strdup(arena, text)};
    }
    message->headers = headers;
}

static void read_message(struct fields *fields, struct arena *arena, struct message *message)
{
    fields_job_body(fields, arena, &message->job);
    read_headers(fields, arena, message);
}

static enum rc read_messages(struct cmd_topic_send *cmd, struct err *err)
{
    struct arena *arena = &cmd->base.arena;
    const struct js *items = NULL;
    struct fields fields;
    fields_open(&fields, cmd->base.tree, "", err);
    fields_array(&fields, "messages", FIELD_REQUIRED, JOBS_PER_CALL_MAX, &items);
    if (fields.rc == RC_OK && js_count(items) == 0)
        fields_fail(&fields, "messages", "messages must not be empty");
    enum rc rc = fields_close(&fields);
    if (rc != RC_OK)
        return rc;
    struct message *messages = arena_array(arena, js_count(items), sizeof *messages);
    for (size_t i = 0; rc == RC_OK && i < js_count(items); i++) {
        char path[PATH_BYTES];
        (void)snprintf(path, sizeof path, "messages[%zu]", i);
        fields_open(&fields, js_at(items, i), path, err);
        read_message(&fields, arena, &messages[i]);
        rc = fields_close(&fields);
    }
    cmd->dispatch.messages = messages;
    cmd->dispatch.count = js_count(items);
    return rc;
}

static enum rc read_one_message(struct cmd_topic_send *cmd, struct err *err)
{
    struct arena *arena = &cmd->base.arena;
    struct message *message = arena_alloc(arena, sizeof *message);
    struct fields fields;
    fields_open(&fields, cmd->base.tree, "", err);
    read_message(&fields, arena, message);
    cmd->dispatch.messages = message;
    cmd->dispatch.count = 1;
    return fields_close(&fields);
}

static bool has_many(const struct command *command)
{
    return js_get(command->tree, "messages") != NULL;
}

enum rc api_topic_send(struct call *call, struct err *err)
{
    struct cmd_topic_send *cmd = cmd_topic_send_new();
    call_own(call, &cmd->base);
    cmd->dispatch.topic = arena_strdup(&cmd->base.arena, call->vars[0]);
    enum rc rc = call_no_params(call, err);
    if (rc == RC_OK)
        rc = check_topic(call, err);
    if (rc == RC_OK)
        rc = call_json(call, &cmd->base.tree, err);
    if (rc != RC_OK)
        return rc;
    return has_many(&cmd->base) ? read_messages(cmd, err) : read_one_message(cmd, err);
}

static void write_sent(struct jw *jw, const char *topic, const struct topic_sent *sent)
{
    jw_begin(jw, '{');
    jw_kstr(jw, "id", sent->id.text);
    jw_kstr(jw, "topic", topic);
    jw_key(jw, "deliveries");
    jw_begin(jw, '[');
    for (size_t i = 0; i < sent->count; i++) {
        const struct delivery *delivery = &sent->deliveries[i];
        jw_begin(jw, '{');
        jw_kstr(jw, "subscription", delivery->subscription);
        jw_kstr(jw, "queue", delivery->queue);
        shape_taken(jw, "jobId", &delivery->job);
        jw_end(jw, '}');
    }
    jw_end(jw, ']');
    jw_end(jw, '}');
}

void api_topic_send_answer(struct call *call, struct command *command)
{
    const struct cmd_topic_send *cmd = (const struct cmd_topic_send *)command;
    struct jw jw = call_answer(call, 201);
    if (!has_many(command)) {
        write_sent(&jw, cmd->dispatch.topic, &cmd->answers[0]);
        return;
    }
    jw_begin(&jw, '{');
    jw_key(&jw, "messages");
    jw_begin(&jw, '[');
    for (size_t i = 0; i < cmd->dispatch.count; i++)
        write_sent(&jw, cmd->dispatch.topic, &cmd->answers[i]);
    jw_end(&jw, ']');
    jw_end(&jw, '}');
}

/* ---- Requests ---- */

static enum rc read_request(struct cmd_request *cmd, struct err *err)
{
    const char *id = NULL;
    int64_t timeout_ms = REQUEST_TIMEOUT_MS_DEFAULT;
    struct fields fields;
    fields_open(&fields, cmd->base.tree, "", err);
    read_message(&fields, &cmd->base.arena, &cmd->message);
    fields_string(&fields, "requestId", FIELD_OPTIONAL,
                  &(struct field_text){.min = 1, .max = ID_TEXT_BYTES}, &id);
    if (id != NULL && !id_parse(id, &cmd->id))
        fields_fail(&fields, "requestId", "requestId must be a UUID");
    fields_int(&fields, "timeoutMs", FIELD_OPTIONAL,
               &(struct field_range){1, REQUEST_TIMEOUT_MS_MAX}, &timeout_ms);
    if (cmd->message.job.dedup_key != NULL)
        fields_fail(&fields, "dedupKey", "requests are told apart by requestId, not by dedupKey");
    cmd->timeout_us = timeout_ms * US_PER_MS;
    return fields_close(&fields);
}

/* Copies what it needs while it waits. */
static void prepare_to_wait(struct call *call, struct cmd_request *cmd)
{
    struct arena *arena = &cmd->base.arena;
    struct job_spec *job = &cmd->message.job;
    job->ordering_key = arena_strdup(arena, job->ordering_key);
    job->dependency = arena_strdup(arena, job->dependency);
    call_wait(call);
}

enum rc api_request(struct call *call, struct err *err)
{
    struct cmd_request *cmd = cmd_request_new();
    call_own(call, &cmd->base);
    cmd->topic = arena_strdup(&cmd->base.arena, call->vars[0]);
    enum rc rc = call_no_params(call, err);
    if (rc == RC_OK)
        rc = check_topic(call, err);
    if (rc == RC_OK)
        rc = call_json(call, &cmd->base.tree, err);
    if (rc == RC_OK)
        rc = read_request(cmd, err);
    if (rc == RC_OK)
        prepare_to_wait(call, cmd);
    return rc;
}

/* The reply is {"payload": ...} or {"error": ...}: its members are copied into the answer. */
static void write_reply(struct jw *jw, struct str reply)
{
    CLEANUP(js_freep) struct js *tree = NULL;
    const char *key;
    const struct js *value;
    struct arena arena = {0};
    if (js_parse(reply.at, reply.len, &tree, NULL) == RC_OK)
        for (size_t at = 0; js_next(tree, &at, &key, &value);)
            jw_kraw(jw, key, str_of(js_text(value, &arena)));
    arena_release(&arena);
}

void api_request_answer(struct call *call, struct command *command)
{
    const struct cmd_request *cmd = (const struct cmd_request *)command;
    if (http_gone(&call->http))
        return;
    if (cmd->waiting) {
        call_fail_status(call, 503, "STOPPING",
                         arena_printf(&command->arena,
                                      "the server is stopping; repeat the request with the "
                                      "requestId %s",
                                      cmd->id.text));
        return;
    }
    struct jw jw = call_answer(call, 200);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "requestId", cmd->id.text);
    jw_kstr(&jw, "topic", cmd->topic);
    write_reply(&jw, cmd->row.reply);
    jw_kstr(&jw, "repliedBy", cmd->row.replied_by);
    jw_ktime(&jw, "repliedAt", cmd->row.updated_us);
    jw_end(&jw, '}');
}

/* ---- Replies ---- */

static enum rc check_error(const struct js *error, struct err *err)
{
    const char *code = NULL, *message = NULL;
    struct fields fields;
    fields_open(&fields, error, "error", err);
    fields_string(&fields, "code", FIELD_REQUIRED,
                  &(struct field_text){.min = 1, .max = REPLY_CODE_MAX}, &code);
    fields_string(&fields, "message", FIELD_OPTIONAL,
                  &(struct field_text){.max = REPLY_MESSAGE_MAX}, &message);
    return fields_close(&fields);
}

/* {"payload": ...} or {"error": {...}}, and nothing else. */
static enum rc read_reply(struct cmd_reply *cmd, struct err *err)
{
    struct arena *arena = &cmd->base.arena;
    const struct js *payload = NULL, *error = NULL;
    struct fields fields;
    fields_open(&fields, cmd->base.tree, "", err);
    fields_any(&fields, "payload", FIELD_OPTIONAL, &payload);
    fields_object(&fields, "error", FIELD_OPTIONAL, &error);
    if (payload != NULL && error != NULL)
        fields_fail(&fields, "error", "a reply has a payload or an error, not both");
    const char *text = error != NULL || payload != NULL
                           ? js_text(error != NULL ? error : payload, arena)
                           : "null";
    if (strlen(text) > JOB_PAYLOAD_MAX)
        fields_fail(&fields, "payload", "payload must have at most %d bytes", JOB_PAYLOAD_MAX);
    enum rc rc = fields_close(&fields);
    if (rc == RC_OK && error != NULL)
        rc = check_error(error, err);
    cmd->reply = str_of(
        arena_printf(arena, "{\"%s\":%s}", error != NULL ? "error" : "payload", text));
    return rc;
}

enum rc api_reply(struct call *call, struct err *err)
{
    struct cmd_reply *cmd = cmd_reply_new();
    call_own(call, &cmd->base);
    enum rc rc = call_no_params(call, err);
    if (rc == RC_OK)
        rc = call_id(call, 0, &cmd->id, err);
    if (rc == RC_OK)
        rc = call_json(call, &cmd->base.tree, err);
    return rc == RC_OK ? read_reply(cmd, err) : rc;
}

void api_reply_answer(struct call *call, struct command *command)
{
    (void)command;
    struct jw jw = call_answer(call, 200);
    jw_begin(&jw, '{');
    jw_kbool(&jw, "ok", true);
    jw_end(&jw, '}');
}
