/*
 * request.c - a request from its head on: while its body arrives it is the connection's, then
 * its owner's.
 */
#include "base/clock.h"
#include "base/id.h"
#include "base/mem.h"
#include "http/body.h"
#include "http/conn.h"
#include "http/fields.h"
#include "http/spool.h"
#include <assert.h>
#include <string.h>
#include <strings.h>

static bool request_id_sane(const char *text)
{
    size_t len = text != NULL ? strlen(text) : 0;
    return len > 0 && len < HTTP_REQUEST_ID_BYTES &&
           strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == len;
}

/* name NUL value NUL ... NUL: a line of the head is longer than its name and its value. */
static const char *copy_fields(struct str fields, struct arena *arena)
{
    char *copy = arena_alloc(arena, fields.len + 1), *at = copy;
    struct http_head_field field;
    while (http_head_next(&fields, &field)) {
        memcpy(at, field.name.at, field.name.len);
        at += field.name.len + 1;
        memcpy(at, field.value.at, field.value.len);
        at += field.value.len + 1;
    }
    return copy;
}

struct http_request *request_new(struct conn *conn, const struct http_head *head)
{
    struct http *http = conn->http;
    struct http_request *request = mem_alloc(http->options.request_bytes);
    request->http = http;
    request->conn = conn;
    request->method = head->method;
    request->is_1_1 = head->is_1_1;
    request->closes = head->closes;
    request->path = str_dup(&request->arena, head->path);
    if (head->query.at != NULL)
        request->query = str_of(str_dup(&request->arena, head->query));
    request->fields = copy_fields(head->fields, &request->arena);
    http_answer_reset(request);
    const char *id = http_header(request, "X-Request-Id");
    if (request_id_sane(id))
        text_copy(request->id, sizeof request->id, id);
    else
        text_copy(request->id, sizeof request->id,
                  id_new(clock_now_us(&http->options.clock), &http->random).text);
    return request;
}

void request_drop(struct http_request *request)
{
    if (request == NULL)
        return;
    http_answer_reset(request);
    http_shed(request);
    mem_free(request);
}

void request_hand_over(struct conn *conn)
{
    struct http *http = conn->http;
    struct http_request *request = conn->incoming;
    conn->incoming = NULL;
    conn->request = request;
    conn->phase = CONN_HELD;
    conn->first_byte_us = 0;
    conn->last = conn->reserved || request->closes;
    conn->as_asked = request->closes;
    request->started_us = clock_mono_us();
    text_copy(request->peer, sizeof request->peer, conn->peer);
    http->held++;
    atomic_fetch_add(&http->requests, 1);
    http->options.handle(http->options.ctx, request);
}

void request_free(struct http_request *request)
{
    struct http *http = request->http;
    assert(request->conn == NULL);
    http->options.finished(http->options.ctx, request);
    if (request->holder != NULL) {
        caps_give(request->holder, request->held_as, 1);
        caps_unref(request->holder);
    }
    http->held--;
    request_drop(request);
}

bool http_field_next(const struct http_request *request, const char **at, const char **ret_name,
                     const char **ret_value)
{
    if ((request->conn == NULL && request->outer == NULL) || request->fields == NULL)
        return false;
    const char *name = *at == NULL ? request->fields : *at;
    if (*name == '\0')
        return false;
    *ret_name = name;
    *ret_value = name + strlen(name) + 1;
    *at = *ret_value + strlen(*ret_value) + 1;
    return true;
}

const char *http_header(const struct http_request *request, const char *wanted)
{
    const char *at = NULL, *name, *value;
    while (http_field_next(request, &at, &name, &value)) {
        if (strcasecmp(name, wanted) == 0)
            return value;
    }
    return NULL;
}

const struct caps_key *http_holder(const struct http_request *request)
{
    assert(request->conn != NULL);
    return &request->conn->seat.holder->key;
}

bool http_on_socket(const struct http_request *request)
{
    return request->conn != NULL &&
           request->conn->listener == &request->http->listeners[HTTP_SOCKET];
}

struct str http_body(struct http_request *request)
{
    return request->spooled != NULL ? spool_file_content(request->spooled)
                                    : buf_str(&request->body);
}

int http_body_fd(const struct http_request *request)
{
    return request->spooled != NULL ? spool_file_fd(request->spooled) : -1;
}

void http_shed(struct http_request *request)
{
    http_body_drop(request);
    request->path = NULL;
    request->query = (struct str){0};
    request->fields = NULL;
    arena_release(&request->arena);
}

/* ---- The client it counts for ---- */

static enum rc too_many(const struct holder *holder, enum caps_use use, struct err *err)
{
    const char *whose = holder->key.kind == CAPS_SOURCE ? "this client" : "this token";
    int64_t max = caps_max(holder, use);
    if (max == 0 || holder->used[use] < max)
        return err_set(err, RC_BUSY, "TOO_MANY_STREAMS",
                       "the server has as many streams as it takes; try again");
    if (use == CAPS_STREAMS)
        return err_set(err, RC_LIMIT, "TOO_MANY_STREAMS",
                       "%s has %lld streams, as many as it may; close some first", whose,
                       (long long)max);
    return err_set(err, RC_LIMIT, "TOO_MANY_REQUESTS",
                   "%s has %lld requests in flight, as many as it may; wait for their answers",
                   whose, (long long)max);
}

enum rc http_charge(struct http_request *request, const struct caps_key *key, enum caps_use use,
                    struct err *err)
{
    assert(request->conn != NULL && request->holder == NULL);
    enum rc rc = key != NULL ? admit_claim(request->conn, key, err) : RC_OK;
    if (rc != RC_OK) {
        request->conn->last = true; /* Not kept: it exceeds the limit. */
        return rc;
    }
    struct holder *holder = request->conn->seat.holder;
    if (!caps_take(holder, use, 1)) {
        rc = too_many(holder, use, err);
        if (err != NULL)
            err->retry_ms = CAPS_RETRY_MS;
        return rc;
    }
    caps_ref(holder);
    request->holder = holder;
    request->held_as = use;
    return RC_OK;
}

enum rc http_recharge(struct http_request *request, enum caps_use use, struct err *err)
{
    struct holder *holder = request->holder;
    assert(holder != NULL);
    if (!caps_take(holder, use, 1)) {
        enum rc rc = too_many(holder, use, err);
        if (err != NULL)
            err->retry_ms = CAPS_RETRY_MS;
        return rc;
    }
    caps_give(holder, request->held_as, 1);
    request->held_as = use;
    return RC_OK;
}

/* ---- Clients that disconnect ---- */

void http_close_watched(struct http *http, bool (*unwanted)(const struct http_request *request))
{
    struct conn *conn;
    LIST_FOREACH(conn, &http->conns, all)
    {
        if (conn->request != NULL && conn->request->on_gone != NULL && unwanted(conn->request))
            conn_refuse(conn, 0, NULL);
    }
}

const void *http_client(const struct http_request *request)
{
    while (request->outer != NULL)
        request = request->outer;
    return request->holder;
}

void http_watch(struct http_request *request, void (*on_gone)(struct http_request *request))
{
    request->on_gone = on_gone;
    if (request->conn != NULL)
        conn_look_for_end(request->conn);
}

bool http_gone(const struct http_request *request)
{
    if (request->outer != NULL)
        return request->given_up || http_gone(request->outer);
    return request->conn == NULL;
}

/* ---- Requests of the server itself ---- */

struct http_request *http_inner_new(struct http_request *outer, enum http_method method,
                                    void (*answered)(struct http_request *inner))
{
    struct http *http = outer->http;
    struct http_request *inner = mem_alloc(http->options.request_bytes);
    inner->http = http;
    inner->outer = outer;
    inner->answered = answered;
    inner->method = method;
    inner->started_us = clock_mono_us();
    text_copy(inner->id, sizeof inner->id, outer->id);
    text_copy(inner->peer, sizeof inner->peer, outer->peer);
    buf_init(&inner->body, (size_t)http->options.body_bytes_max);
    http_answer_reset(inner);
    return inner;
}

/* The list ends with an empty name: see copy_fields. */
void http_inner_field(struct http_request *inner, const char *name, const char *value)
{
    const char *old = inner->fields, *end = old;
    while (end != NULL && *end)
        end += strlen(end) + 1;
    size_t had = old != NULL ? (size_t)(end - old) : 0;
    size_t name_bytes = strlen(name) + 1, value_bytes = strlen(value) + 1;
    char *fields = arena_alloc(&inner->arena, had + name_bytes + value_bytes + 1);
    if (had > 0)
        memcpy(fields, old, had);
    memcpy(fields + had, name, name_bytes);
    memcpy(fields + had + name_bytes, value, value_bytes);
    inner->fields = fields;
}

void http_inner_gone(struct http_request *inner)
{
    if (inner->given_up)
        return;
    inner->given_up = true;
    if (inner->on_gone != NULL)
        inner->on_gone(inner);
}

void http_inner_free(struct http_request *inner)
{
    struct http *http = inner->http;
    assert(inner->outer != NULL);
    http->options.finished(http->options.ctx, inner);
    request_drop(inner);
}
