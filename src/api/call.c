/*
 * call.c - what handlers need of a request: ids, parameters, body, command, answers.
 */
#include "api/call.h"
#include "api/audit_calls.h"
#include "base/fields.h"
#include "base/hash.h"
#include "base/log.h"
#include "core/event.h"
#include <assert.h>
#include <string.h>

enum { REASON_BYTES_MAX = 1000, FAULTS_BYTES_MAX = 256 * 1024, IDEMPOTENCY_KEY_MAX = 200 };

enum rc call_id(const struct call *call, int var, struct id *ret_id, struct err *err)
{
    if (id_parse(call->vars[var], ret_id))
        return RC_OK;
    return err_set(err, RC_MALFORMED, "INVALID_ID", "%.100s is not an id (a UUID)",
                   call->vars[var]);
}

enum rc call_params(struct call *call, struct params *ret_params, struct err *err)
{
    enum rc rc = params_parse(call->http.query, &call->http.arena, ret_params, err);
    if (rc == RC_OK)
        params_begin(ret_params, err);
    return rc;
}

enum rc call_no_params(struct call *call, struct err *err)
{
    struct params params;
    enum rc rc = call_params(call, &params, err);
    return rc == RC_OK ? params_end(&params) : rc;
}

enum rc call_json_optional(struct call *call, struct js **ret_tree, struct err *err)
{
    struct str body = http_body(&call->http);
    return body.len ? js_parse(body.at, body.len, ret_tree, err) : RC_OK;
}

enum rc call_json(struct call *call, struct js **ret_tree, struct err *err)
{
    if (http_body(&call->http).len == 0)
        return err_set(err, RC_MALFORMED, "INVALID_JSON", "the request needs a JSON body");
    return call_json_optional(call, ret_tree, err);
}

void call_own(struct call *call, struct command *command)
{
    assert(call->command == NULL);
    call->command = command;
    audit_calls_attach(call);
}

static void on_gone(struct http_request *request)
{
    struct call *call = (struct call *)request;
    committer_abandon(control_committer(call->api->control), call->command);
}

void call_wait(struct call *call)
{
    js_free(call->command->tree);
    call->command->tree = NULL;
    http_watch(&call->http, on_gone);
    http_shed(&call->http);
    memset(call->vars, 0, sizeof call->vars); /* They were in its arena. */
}

enum rc call_commit(struct call *call, struct err *err)
{
    struct command *command = call->command;
    command->actor = auth_actor(&call->who);
    command->bound_to = auth_bound_to(&call->who);
    command->principal = call->who.principal.text;
    enum rc rc = committer_call(control_committer(call->api->control), command);
    if (rc != RC_OK)
        *err = command->err;
    return rc;
}

const char *call_body_hash(struct call *call, struct arena *arena)
{
    struct str body = http_body(&call->http);
    char *sha256 = arena_alloc(arena, SHA256_TEXT_BYTES);
    sha256_hex(body.at, body.len, sha256);
    return sha256;
}

enum rc call_key(struct call *call, struct arena *arena, struct call_key *ret_key, struct err *err)
{
    const char *text = http_header(&call->http, "Idempotency-Key");
    if (text == NULL)
        return RC_OK;
    size_t len = strlen(text);
    for (size_t i = 0; i < len; i++) {
        if (text[i] < ' ' || text[i] > '~')
            len = 0;
    }
    if (len == 0 || len > IDEMPOTENCY_KEY_MAX)
        return err_field(err, RC_MALFORMED, "INVALID_IDEMPOTENCY_KEY", "Idempotency-Key",
                         "Idempotency-Key must be 1 to %d printable ASCII characters",
                         IDEMPOTENCY_KEY_MAX);
    *ret_key = (struct call_key){arena_strdup(arena, text), call_body_hash(call, arena)};
    return RC_OK;
}

enum rc call_no_fields(struct call *call, struct err *err)
{
    CLEANUP(js_freep) struct js *tree = NULL;
    enum rc rc = call_json_optional(call, &tree, err);
    if (rc != RC_OK || tree == NULL)
        return rc;
    struct fields fields;
    fields_open(&fields, tree, "", err);
    return fields_close(&fields);
}

enum rc call_reason(struct call *call, const char **ret_reason, struct err *err)
{
    struct command *command = call->command;
    enum rc rc = call_json_optional(call, &command->tree, err);
    if (rc != RC_OK || command->tree == NULL)
        return rc;
    struct fields fields;
    fields_open(&fields, command->tree, "", err);
    fields_string(&fields, "reason", FIELD_OPTIONAL, &(struct field_text){.max = REASON_BYTES_MAX},
                  ret_reason);
    audit_calls_about(call, NULL, audit_details(&command->arena, "reason", *ret_reason, NULL));
    return fields_close(&fields);
}

struct jw call_answer(struct call *call, int status)
{
    call->http.answer.status = status;
    call->http.answer.content_type = "application/json";
    return jw_to(&call->http.answer.body);
}

void call_removed(struct call *call, struct command *command)
{
    (void)command;
    call->http.answer.status = 204;
}

void call_fail(struct call *call, enum rc rc, const struct err *err)
{
    assert(rc != RC_OK);
    struct problem problem = problem_of(rc, err);
    problem.errors = call->errors;
    if (rc == RC_IO || rc == RC_CORRUPT)
        LOG(LOG_ERROR, "request failed", LOG_STR("requestId", call->http.id),
            LOG_STR("route", call->route != NULL ? call->route->pattern : ""),
            LOG_STR("code", problem.code), LOG_STR("error", problem.detail));
    http_answer_problem(&call->http, &problem);
}

void call_faults(struct call *call, const struct faults *faults)
{
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, FAULTS_BYTES_MAX);
    struct jw jw = jw_to(&text);
    faults_write(faults, &jw);
    if (!text.overflow)
        call->errors = str_of(arena_strdup(&call->http.arena, buf_text(&text)));
}

void call_fail_status(struct call *call, int status, const char *code, const char *detail)
{
    http_answer_problem(&call->http,
                        &(struct problem){.status = status, .code = code, .detail = detail});
}
