#include "api/mcp/rpc.h"
#include "api/dispatch.h"
#include "api/routes.h"
#include "base/clock.h"
#include "base/mem.h"
#include <assert.h>
#include <string.h>

enum { PROGRESS_FIRST_US = 1000000, PROGRESS_EVERY_US = 5000000, FRAME_BYTES_MAX = 1 << 20 };

/* ---- Life ---- */

static bool accepts(const char *accept, const char *type, const char *group)
{
    return accept == NULL || strcasestr(accept, type) != NULL ||
           strcasestr(accept, group) != NULL || strstr(accept, "*/*") != NULL;
}

struct rpc *rpc_new(struct rpc_home *home, struct call *call, struct js *tree,
                    const struct mcp_message *message)
{
    struct rpc *rpc = mem_alloc(sizeof *rpc);
    const char *accept = http_header(&call->http, "Accept");
    rpc->home = home;
    rpc->mcp = home->mcp;
    rpc->call = call;
    rpc->tree = tree;
    rpc->message = *message;
    if (message->id.len > 0)
        rpc->id = mem_strndup(message->id.at, message->id.len);
    rpc->takes_sse = accept != NULL && accepts(accept, "text/event-stream", "text/*");
    rpc->takes_json = accepts(accept, "application/json", "application/*") || !rpc->takes_sse;
    rpc->started_us = clock_mono_us();
    call->rpc = rpc;
    LIST_INSERT_HEAD(&home->rpcs, rpc, all);
    atomic_fetch_add(&call->api->mcp_messages, 1);
    return rpc;
}

static void forget_body(struct rpc *rpc)
{
    js_free(rpc->tree);
    rpc->tree = NULL;
    rpc->message = (struct mcp_message){0};
    rpc->inputs = NULL;
}

static void rpc_free(struct rpc *rpc)
{
    assert(rpc->inner == NULL);
    forget_body(rpc);
    if (rpc->own_free != NULL)
        rpc->own_free(rpc->own);
    rpc->home->release(rpc);
    js_free(rpc->gathered);
    mem_free(rpc->state);
    mem_free(rpc->id);
    mem_free(rpc->progress);
    rpc->call->rpc = NULL;
    atomic_fetch_sub(&rpc->call->api->mcp_messages, 1);
    LIST_REMOVE(rpc, all);
    mem_free(rpc);
}

const char *rpc_param(const struct rpc *rpc, const char *name)
{
    return js_get_str(rpc->message.params, name, NULL);
}

/* ---- Streams ---- */

static void on_drained(struct http_request *request)
{
    struct rpc *rpc = ((struct call *)request)->rpc;
    if (rpc != NULL && rpc->on_drained != NULL)
        rpc->on_drained(rpc);
}

bool rpc_stream(struct rpc *rpc)
{
    struct http_request *request = &rpc->call->http;
    if (rpc->streams || !rpc->takes_sse)
        return rpc->streams;
    request->answer.status = 200;
    request->answer.content_type = "text/event-stream";
    http_answer_header(request, "Cache-Control", "no-store");
    http_answer_header(request, "X-Accel-Buffering", "no");
    http_stream_begin(request, on_drained);
    rpc->streams = true;
    return true;
}

/* Line ends inside of the JSON, where a document was stored with some, are no ends of the event. */
static void send_event(struct rpc *rpc, struct str json)
{
    CLEANUP(buf_release) struct buf frame;
    buf_init(&frame, json.len * 2 + FRAME_BYTES_MAX);
    buf_adds(&frame, "event: message\n");
    for (struct str line; str_take_line(&json, &line);) {
        buf_adds(&frame, "data: ");
        buf_add(&frame, line.at, line.len);
        buf_addc(&frame, '\n');
    }
    buf_addc(&frame, '\n');
    http_stream_write(&rpc->call->http, buf_str(&frame));
}

static bool send_message(struct rpc *rpc, const char *id, const char *method, struct str params)
{
    if (!rpc_stream(rpc))
        return false;
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, FRAME_BYTES_MAX + params.len);
    struct jw jw = jw_to(&text);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "jsonrpc", "2.0");
    if (id != NULL)
        jw_kstr(&jw, "id", id);
    jw_kstr(&jw, "method", method);
    if (params.len > 0)
        jw_kraw(&jw, "params", params);
    jw_end(&jw, '}');
    send_event(rpc, buf_str(&text));
    return true;
}

bool rpc_notify(struct rpc *rpc, const char *method, struct str params)
{
    return send_message(rpc, NULL, method, params);
}

bool rpc_request(struct rpc *rpc, const char *id, const char *method, struct str params)
{
    return send_message(rpc, id, method, params);
}

void rpc_log(struct rpc *rpc, enum mcp_level level, struct str data)
{
    if (level < rpc->log_level)
        return;
    CLEANUP(buf_release) struct buf params;
    buf_init(&params, FRAME_BYTES_MAX);
    struct jw jw = jw_to(&params);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "level", mcp_level_name(level));
    jw_kstr(&jw, "logger", "drover");
    jw_kraw(&jw, "data", data);
    jw_end(&jw, '}');
    (void)rpc_notify(rpc, "notifications/message", buf_str(&params));
}

/* ---- Answers ---- */

/* The whole answer is in the body: sends it, and ends the request. */
static void send_answer(struct rpc *rpc)
{
    struct http_request *request = &rpc->call->http;
    bool streams = rpc->streams || (!rpc->takes_json && rpc_stream(rpc));
    if (streams && !request->answer.body.overflow)
        send_event(rpc, buf_str(&request->answer.body));
    rpc_free(rpc);
    if (streams)
        http_stream_end(request);
    else
        http_finish(request);
}

static void begin_answer(struct rpc *rpc)
{
    struct http_request *request = &rpc->call->http;
    if (!rpc->streams)
        request->answer.content_type = "application/json";
    buf_clear(&request->answer.body);
    rpc->jw = jw_to(&request->answer.body);
    jw_begin(&rpc->jw, '{');
    jw_kstr(&rpc->jw, "jsonrpc", "2.0");
    if (rpc->id != NULL)
        jw_kraw(&rpc->jw, "id", str_of(rpc->id));
}

struct jw *rpc_result_as(struct rpc *rpc, const char *result_type)
{
    rpc->call->http.answer.status = 200;
    begin_answer(rpc);
    jw_key(&rpc->jw, "result");
    jw_begin(&rpc->jw, '{');
    if (rpc->era == MCP_MODERN)
        jw_kstr(&rpc->jw, "resultType", result_type);
    return &rpc->jw;
}

struct jw *rpc_result(struct rpc *rpc)
{
    return rpc_result_as(rpc, "complete");
}

void rpc_cacheable(struct rpc *rpc, int64_t ttl_ms, bool is_public)
{
    if (rpc->era != MCP_MODERN)
        return;
    jw_kint(&rpc->jw, "ttlMs", ttl_ms);
    jw_kstr(&rpc->jw, "cacheScope", is_public ? "public" : "private");
}

struct str rpc_server_info(void)
{
    return STR("{\"name\":\"drover\",\"title\":\"drover\",\"version\":\"" DROVER_VERSION "\"}");
}

void rpc_done(struct rpc *rpc)
{
    struct jw *jw = &rpc->jw;
    bool modern = rpc->era == MCP_MODERN;
    if (modern || rpc->meta.len > 0) {
        jw_key(jw, "_meta");
        jw_begin(jw, '{');
        if (modern)
            jw_kraw(jw, MCP_META_SERVER, rpc_server_info());
        if (rpc->meta.len > 0) {
            buf_adds(jw->buf, modern ? "," : "");
            buf_add(jw->buf, rpc->meta.at, rpc->meta.len);
        }
        jw_end(jw, '}');
    }
    jw_end(jw, '}');
    jw_end(jw, '}');
    send_answer(rpc);
}

static int status_of(const struct rpc *rpc, enum mcp_error code)
{
    if (code == MCP_PARSE_ERROR || code == MCP_INVALID_REQUEST || code == MCP_UNSUPPORTED_VERSION)
        return 400;
    if (rpc->era != MCP_MODERN)
        return 200;
    if (code == MCP_METHOD_NOT_FOUND)
        return 404;
    return code == MCP_HEADER_MISMATCH || code == MCP_MISSING_CAPABILITY ? 400 : 200;
}

void rpc_fail(struct rpc *rpc, enum mcp_error code, const char *message, struct str data)
{
    if (!rpc->streams && rpc->call->http.answer.status == 200)
        rpc->call->http.answer.status = status_of(rpc, code);
    begin_answer(rpc);
    struct jw *jw = &rpc->jw;
    if (rpc->id == NULL && rpc->era == MCP_LEGACY)
        jw_kstr(jw, "id", NULL); /* It could not be read. */
    jw_key(jw, "error");
    jw_begin(jw, '{');
    jw_kint(jw, "code", code);
    jw_kstr(jw, "message", message);
    if (data.len > 0)
        jw_kraw(jw, "data", data);
    jw_end(jw, '}');
    jw_end(jw, '}');
    send_answer(rpc);
}

void rpc_accepted(struct rpc *rpc)
{
    struct http_request *request = &rpc->call->http;
    request->answer.status = 202;
    rpc_free(rpc);
    http_finish(request);
}

void rpc_problem(struct rpc *rpc, const struct problem *problem)
{
    struct http_request *request = &rpc->call->http;
    assert(!rpc->streams);
    rpc_free(rpc);
    http_answer_problem(request, problem);
    http_finish(request);
}

void rpc_drop(struct rpc *rpc)
{
    struct http_request *request = &rpc->call->http;
    bool streams = rpc->streams;
    request->on_gone = NULL;
    rpc_free(rpc);
    if (streams) {
        http_stream_end(request);
        return;
    }
    request->answer.status = 204;
    http_finish(request);
}

/* ---- Routes ---- */

const struct route *rpc_route(enum http_method method, const char *pattern)
{
    size_t count;
    const struct route *all = routes_all(&count);
    for (size_t i = 0; i < count; i++) {
        if (all[i].method == method && text_same(all[i].pattern, pattern))
            return &all[i];
    }
    return NULL;
}

bool rpc_answer_ok(const struct http_request *inner)
{
    return inner->answer.status >= 200 && inner->answer.status < 300;
}

struct js *rpc_answer_json(const struct http_request *inner)
{
    struct js *tree = NULL;
    struct str body = buf_str(&inner->answer.body);
    if (!rpc_answer_ok(inner) || js_parse(body.at, body.len, &tree, NULL) != RC_OK)
        return NULL;
    return tree;
}

void rpc_query_add(struct buf *query, const char *name, const char *value)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~";
    buf_addf(query, "%s%s=", query->len > 0 ? "&" : "", name);
    for (const char *at = value; *at; at++) {
        if (strchr(plain, *at) != NULL)
            buf_addc(query, *at);
        else
            buf_addf(query, "%%%02X", (unsigned char)*at);
    }
}

void rpc_shed(struct rpc *rpc)
{
    forget_body(rpc);
    http_shed(&rpc->call->http);
}

static void on_gone(struct http_request *request)
{
    struct rpc *rpc = ((struct call *)request)->rpc;
    if (rpc == NULL)
        return;
    if (rpc->inner != NULL)
        http_inner_gone(&rpc->inner->http);
    else if (rpc->on_gone != NULL)
        rpc->on_gone(rpc);
}

void rpc_watch(struct rpc *rpc, void (*fn)(struct rpc *rpc))
{
    rpc->on_gone = fn;
    http_watch(&rpc->call->http, on_gone);
}

static void on_answered(struct http_request *inner)
{
    struct rpc *rpc = ((struct call *)inner)->rpc;
    rpc_then *then = rpc->then;
    rpc->inner = NULL;
    then(rpc, inner);
    http_inner_free(inner);
}

static void fill(struct call *inner, const struct rpc *rpc, const struct rpc_ask *ask)
{
    struct http_request *http = &inner->http;
    inner->api = rpc->call->api;
    inner->route = ask->route;
    inner->who = rpc->call->who;
    for (int i = 0; i < ROUTE_VARS_MAX && ask->vars[i] != NULL; i++)
        inner->vars[i] = arena_strdup(&http->arena, ask->vars[i]);
    if (ask->query.len > 0)
        http->query = str_of(str_dup(&http->arena, ask->query));
    if (ask->body.len > 0)
        buf_add(&http->body, ask->body.at, ask->body.len);
    if (ask->key != NULL)
        http_inner_field(http, "Idempotency-Key", ask->key);
    const char *trace = js_get_str(rpc->message.meta, "traceparent", NULL);
    if (trace != NULL && trace[strspn(trace, "0123456789abcdef-")] == '\0')
        http_inner_field(http, "traceparent", trace);
}

void rpc_ask(struct rpc *rpc, const struct rpc_ask *ask, rpc_then *then)
{
    struct http_request *outer = &rpc->call->http;
    assert(rpc->inner == NULL);
    struct call *inner = (struct call *)http_inner_new(outer, ask->route->method, on_answered);
    fill(inner, rpc, ask);
    inner->rpc = rpc;
    rpc->inner = inner;
    rpc->then = then;
    rpc->progress_due_us = clock_mono_us() + PROGRESS_FIRST_US;
    if (!ask->keep)
        rpc_shed(rpc);
    http_watch(outer, on_gone);
    dispatch_inner(inner);
}

/* ---- Progress ---- */

static void send_progress(struct rpc *rpc, int64_t now_us)
{
    CLEANUP(buf_release) struct buf params;
    buf_init(&params, FRAME_BYTES_MAX);
    struct jw jw = jw_to(&params);
    jw_begin(&jw, '{');
    jw_kraw(&jw, MCP_META_PROGRESS, str_of(rpc->progress));
    jw_kreal(&jw, "progress", (double)(now_us - rpc->started_us) / (double)US_PER_SECOND);
    if (rpc->progress_text != NULL)
        jw_kstr(&jw, "message", rpc->progress_text);
    jw_end(&jw, '}');
    (void)rpc_notify(rpc, "notifications/progress", buf_str(&params));
}

void rpc_tick(struct rpc_list *list, int64_t now_us)
{
    struct rpc *rpc;
    LIST_FOREACH(rpc, list, all)
    {
        bool wanted = rpc->inner != NULL && rpc->progress != NULL && rpc->takes_sse;
        if (!wanted || now_us < rpc->progress_due_us)
            continue;
        rpc->progress_due_us = now_us + PROGRESS_EVERY_US;
        if (http_stream_backlog(&rpc->call->http) == 0)
            send_progress(rpc, now_us);
    }
}
