/*
 * call.c - what handlers need of a request: ids, parameters, body, pages, answers.
 */
#include "api/call.h"
#include "api/cursor.h"
#include "base/fields.h"
#include "base/log.h"
#include <assert.h>

enum { REASON_BYTES_MAX = 1000, FAULTS_BYTES_MAX = 256 * 1024 };

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

void call_command_freep(struct command **command)
{
    command_free(*command);
}

enum rc call_no_fields(struct call *call, struct err *err)
{
    CLEANUP(js_freep) struct js *tree = NULL;
    enum rc rc = call_json_optional(call, &tree, err);
    if (rc != RC_OK || !tree)
        return rc;
    struct fields fields;
    fields_open(&fields, tree, "", err);
    return fields_close(&fields);
}

enum rc call_reason(struct call *call, struct command *command, const char **ret_reason,
                    struct err *err)
{
    enum rc rc = call_json_optional(call, &command->tree, err);
    if (rc != RC_OK || !command->tree)
        return rc;
    struct fields fields;
    fields_open(&fields, command->tree, "", err);
    fields_string(&fields, "reason", FIELD_OPTIONAL, &(struct field_text){.max = REASON_BYTES_MAX},
                  ret_reason);
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
            LOG_STR("route", call->route ? call->route->pattern : ""),
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

struct jw call_list_begin(struct call *call)
{
    struct jw jw = call_answer(call, 200);
    jw_begin(&jw, '{');
    jw_key(&jw, "items");
    jw_begin(&jw, '[');
    return jw;
}

void call_list_end(struct jw *jw, const char *cursor)
{
    jw_end(jw, ']');
    jw_kstr(jw, "cursor", cursor);
    jw_end(jw, '}');
}

struct page call_page(struct call *call, struct params *params)
{
    struct page page = {.limit = PAGE_LIMIT_DEFAULT, .scan = {.rows_max = SCAN_ROWS_MAX}};
    params_int(params, "limit", &(struct param_range){1, PAGE_LIMIT_MAX}, &page.limit);
    const char *cursor = NULL, *key = NULL;
    params_text(params, "cursor", CURSOR_TEXT_MAX, &cursor);
    if (cursor && (!cursor_decode(CURSOR_ID, cursor, &call->http.arena, &key) ||
                   !id_parse(key, &page.before)))
        params_fail(params, "cursor", "cursor is not one that this listing has given");
    return page;
}

struct page call_page_by_name(struct call *call, struct params *params)
{
    struct page page = {.limit = PAGE_LIMIT_DEFAULT};
    const char *cursor = NULL;
    params_int(params, "limit", &(struct param_range){1, PAGE_LIMIT_MAX}, &page.limit);
    params_text(params, "cursor", CURSOR_TEXT_MAX, &cursor);
    if (cursor && !cursor_decode(CURSOR_NAME, cursor, &call->http.arena, &page.after))
        params_fail(params, "cursor", "cursor is not one that this listing has given");
    return page;
}

size_t page_rows(const struct page *page, size_t count)
{
    return count > (size_t)page->limit ? (size_t)page->limit : count;
}

const char *call_next_id(struct call *call, const struct page *page, size_t count,
                         const struct id *last)
{
    if (count <= (size_t)page->limit)
        last = id_is_none(&page->scan.end) ? NULL : &page->scan.end;
    return last ? cursor_encode(CURSOR_ID, last->text, &call->http.arena) : NULL;
}

const char *call_next_name(struct call *call, const struct page *page, size_t count,
                           const char *last)
{
    if (count <= (size_t)page->limit)
        return NULL;
    return cursor_encode(CURSOR_NAME, last, &call->http.arena);
}
