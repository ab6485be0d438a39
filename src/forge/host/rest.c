/*
 * rest.c - see rest.h.
 *
 *   rest_call:   ask the gate -> send -> tell the gate -> follow one redirect to the same server
 *                -> decode, or say what the refusal means -> no whole answer: repeat it once
 *                -> 401: repeat it once with another credential, if there is one
 *   rest_bytes:  the same, read while it arrives; a redirect to another server gets no token
 *
 * One client serves all requests of a struct forge_call: its address is that of the server alone,
 * so that APIs with several bases (REST and GraphQL of GitHub Enterprise) share the connection.
 */
#include "forge/host/rest.h"
#include "base/clock.h"
#include "forge/host/rest_answer.h"
#include "net/url.h"
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum {
    HEAD_BYTES_MAX = 64 * 1024,
    AUTH_BYTES_MAX = 64,
    HEADERS_MAX = 12,
    ANSWER_MS_MAX = 30 * 1000, /* GitHub gives up after ten seconds by itself. */
    STREAM_IDLE_MS = 30 * 1000,
    CHUNK_ROOM = 256 * 1024,
};
#define STREAM_BYTES_MAX (INT64_C(512) << 20)
#define TIME_LEFT_MIN_US US_PER_SECOND

/* One request on its way. */
struct exchange {
    struct forge_call *call;
    const struct rest_request *request;
    struct arena *arena;
    struct rest_place base; /* Server, and what goes before every path. */
    const char *path;       /* The whole path on the server. */
    bool redirected;
    struct buf head, body;
    struct err *err;
};

void rest_answer_release(struct rest_answer *answer)
{
    js_free(answer->document);
    answer->document = NULL;
}

static void exchange_release(struct exchange *x)
{
    buf_release(&x->head);
    buf_release(&x->body);
}

static enum rc exchange_open(struct exchange *x)
{
    const struct rest_request *request = x->request;
    buf_init(&x->head, HEAD_BYTES_MAX);
    buf_init(&x->body, REST_ANSWER_MAX);
    if (!rest_place_split(str_of(request->base), x->arena, &x->base))
        return err_set(x->err, RC_INVALID, "INVALID_URL", "%.200s is no address of an API",
                       request->base);
    x->path = arena_printf(x->arena, "%s%s", text_same(x->base.path, "/") ? "" : x->base.path,
                           request->path);
    return RC_OK;
}

/* The client of the call, made anew when it belongs to another server. */
static enum rc client_open(struct exchange *x)
{
    struct forge_call *call = x->call;
    const struct rest_dialect *dialect = x->request->dialect;
    char auth[AUTH_BYTES_MAX];
    if (call->http != NULL && text_same(http_client_url(call->http), x->base.server))
        return RC_OK;
    forge_call_release(call);
    int len = snprintf(auth, sizeof auth, "%s: %s", dialect->auth_header, dialect->auth_prefix);
    if (len < 0 || (size_t)len >= sizeof auth)
        return err_set(x->err, RC_INVALID, "INVALID_HEADER", "the name of the header is too long");
    const struct http_client_options options = {
        .url = x->base.server, .token = call->git.credential, .auth = auth};
    return http_client_new(&options, &call->http, x->err);
}

static bool repeatable(const struct rest_request *request)
{
    return request->repeatable ||
           (!text_same(request->method, "POST") && !text_same(request->method, "PATCH"));
}

/* The dialect's headers, and those of this request; returns to. */
static const struct http_field *headers_of(const struct rest_request *request,
                                           struct http_field to[HEADERS_MAX])
{
    size_t count = 0;
    const struct http_field *from = request->dialect->headers;
    for (; from != NULL && from->name != NULL && count + 3 < HEADERS_MAX; from++) {
        if (request->accept == NULL || strcasecmp(from->name, "Accept") != 0)
            to[count++] = *from;
    }
    if (request->accept != NULL)
        to[count++] = (struct http_field){"Accept", request->accept};
    if (request->etag != NULL)
        to[count++] = (struct http_field){"If-None-Match", request->etag};
    to[count] = (struct http_field){NULL, NULL};
    return to;
}

static enum rc ask_gate(const struct exchange *x)
{
    const struct forge_gate *gate = x->call->gate;
    const char *resource = x->request->resource;
    return gate == NULL ? RC_OK
                        : gate->ask(gate->ctx, x->request->host,
                                    resource != NULL ? resource : "core", x->err);
}

static struct rest_raw raw_of(const struct exchange *x)
{
    return (struct rest_raw){.call = x->call,
                             .request = x->request,
                             .status = http_head_status(&x->head),
                             .head = &x->head,
                             .body = buf_str(&x->body)};
}

static struct forge_limit_seen tell_gate(const struct exchange *x)
{
    const struct forge_gate *gate = x->call->gate;
    const struct rest_raw raw = raw_of(x);
    struct forge_limit_seen seen = rest_limit_seen(&raw, x->arena);
    if (gate != NULL && (seen.limit >= 0 || seen.remaining >= 0 || seen.secondary))
        gate->told(gate->ctx, &seen);
    return seen;
}

static bool is_redirect(int status)
{
    return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

/* Where the answer sends the request; false: nowhere that can be reached. */
static bool redirect_of(const struct exchange *x, struct rest_place *ret_place)
{
    struct str location = http_head_field(&x->head, "Location");
    if (!is_redirect(http_head_status(&x->head)) || location.len == 0)
        return false;
    if (*location.at != '/')
        return rest_place_split(location, x->arena, ret_place);
    *ret_place = (struct rest_place){x->base.server, str_dup(x->arena, location)};
    return true;
}

/* A renamed repository: the same request, with its method and body, to another path.  Nothing has
   been done under the old one. */
static bool redirected_here(struct exchange *x)
{
    struct rest_place place;
    int status = http_head_status(&x->head);
    bool keeps = (status != 302 && status != 303) || text_same(x->request->method, "GET");
    if (x->redirected || !keeps || !redirect_of(x, &place) ||
        !text_same(place.server, x->base.server))
        return false;
    x->redirected = true;
    x->path = place.path;
    return true;
}

/* ---- one answer ---- */

static enum rc half_answer(const struct exchange *x)
{
    return err_set(x->err, RC_CORRUPT, "FORGE_HALF_ANSWER",
                   "%s answers %s %.120s with what is no JSON", x->request->dialect->name,
                   x->request->method, x->request->path);
}

static enum rc decode(const struct exchange *x, const struct http_reply *reply,
                      struct rest_answer *ret_answer)
{
    const struct rest_raw raw = raw_of(x);
    struct rest_answer answer = {.status = reply->status,
                                 .same = reply->status == 304,
                                 .moved = x->redirected ? x->path : NULL};
    struct str etag = http_head_field(&x->head, "ETag");
    if (etag.len > 0)
        answer.etag = str_dup(x->arena, etag);
    if (!rest_next_page(&raw, x->arena, &answer.next))
        return err_set(x->err, RC_CORRUPT, "FORGE_MOVED", "the next page of %s %.120s is elsewhere",
                       x->request->dialect->name, x->request->path);
    bool json = strcasestr(reply->content_type, "json") != NULL;
    if (json && x->body.len > 0 && !answer.same &&
        js_parse_lenient(x->body.data, x->body.len, &answer.document, NULL) != RC_OK)
        return half_answer(x);
    *ret_answer = answer;
    return RC_OK;
}

/* Enough for another try: the wait for an answer may end a little before the deadline does. */
static bool time_is_left(const struct exchange *x)
{
    int64_t deadline_us = x->call->git.deadline_us;
    return deadline_us == 0 || clock_mono_us() + TIME_LEFT_MIN_US < deadline_us;
}

static enum rc attempt(struct exchange *x, struct rest_answer *ret_answer)
{
    struct http_field headers[HEADERS_MAX];
    struct http_reply reply;
    const struct http_call call = {.method = x->request->method,
                                   .path = x->path,
                                   .headers = headers_of(x->request, headers),
                                   .body = x->request->body,
                                   .head = &x->head,
                                   .any_status = true,
                                   .once = !repeatable(x->request),
                                   .timeout_ms = ANSWER_MS_MAX};
    buf_clear(&x->head);
    enum rc rc = ask_gate(x);
    if (rc == RC_OK)
        rc = client_open(x);
    if (rc == RC_OK)
        rc = forge_http(x->call, x->base.server, &call, &x->body, &reply, x->err);
    if (rc == RC_TIMEOUT && time_is_left(x)) /* The forge's fault, and not the end of the step. */
        return err_set(x->err, RC_UNREACHABLE, "FORGE_UNAVAILABLE",
                       "%s does not answer %s %.200s within %d seconds", x->request->dialect->name,
                       x->request->method, x->path, ANSWER_MS_MAX / 1000);
    if (rc != RC_OK)
        return rc;
    if (x->head.overflow)
        return err_set(x->err, RC_CORRUPT, "FORGE_HALF_ANSWER",
                       "the head of the answer of %s is "
                       "larger than %d bytes",
                       x->request->dialect->name, HEAD_BYTES_MAX);
    const struct forge_limit_seen seen = tell_gate(x);
    if (redirected_here(x))
        return attempt(x, ret_answer);
    if ((reply.status >= 200 && reply.status <= 299) || reply.status == 304)
        return decode(x, &reply, ret_answer);
    const struct rest_raw raw = raw_of(x);
    return rest_refused(&raw, &seen, x->arena, x->err);
}

/* Did no whole answer come, and is there time for another try? */
static bool once_more(const struct exchange *x, enum rc rc, int status)
{
    const struct git *git = &x->call->git;
    bool gateway = status == 502 || status == 504;
    bool broken = rc == RC_UNREACHABLE || rc == RC_TIMEOUT || rc == RC_CORRUPT;
    if (!repeatable(x->request) || !broken || (status >= 300 && !gateway))
        return false;
    if (git->cancel != NULL && *git->cancel != 0)
        return false;
    return time_is_left(x);
}

/* 401: the forge has done nothing, by any method.  The client of the call keeps its
   credential, so the next one is made with the other. */
static bool renewed(const struct exchange *x, enum rc rc)
{
    struct forge_call *call = x->call;
    if (rc != RC_UNAUTHORIZED || !git_renew(&call->git, &call->git.credential))
        return false;
    forge_call_release(call);
    err_clear(x->err);
    return true;
}

enum rc rest_call(struct forge_call *call, const struct rest_request *request, struct arena *arena,
                  struct rest_answer *ret_answer, struct err *err)
{
    CLEANUP(exchange_release)
    struct exchange x = {.call = call, .request = request, .arena = arena, .err = err};
    enum rc rc = exchange_open(&x);
    if (rc != RC_OK)
        return rc;
    rc = attempt(&x, ret_answer);
    if (renewed(&x, rc))
        rc = attempt(&x, ret_answer);
    if (rc != RC_OK && once_more(&x, rc, http_head_status(&x.head)))
        rc = attempt(&x, ret_answer);
    return rc;
}

/* ---- pages ---- */

/* The items of one page; *going is false when each has seen enough. */
static enum rc page_items(const struct rest_request *request, const struct rest_answer *answer,
                          bool (*each)(void *ctx, const struct js *item), void *ctx, bool *going,
                          struct err *err)
{
    const struct js *items = request->items != NULL ? js_get(answer->document, request->items)
                                                    : answer->document;
    if (js_type(items) != JS_ARRAY)
        return err_set(err, RC_CORRUPT, "FORGE_HALF_ANSWER", "%s answers %.120s with no list",
                       request->dialect->name, request->path);
    for (size_t i = 0; i < js_count(items) && *going; i++)
        *going = each(ctx, js_at(items, i));
    return RC_OK;
}

enum rc rest_pages(struct forge_call *call, const struct rest_request *request, struct arena *arena,
                   bool (*each)(void *ctx, const struct js *item), void *ctx, bool *ret_cut,
                   struct err *err)
{
    struct rest_request page = *request;
    bool going = true;
    for (int i = 0; i < REST_PAGES_MAX && page.path != NULL && going; i++) {
        CLEANUP(rest_answer_release) struct rest_answer answer = {0};
        enum rc rc = rest_call(call, &page, arena, &answer, err);
        if (rc == RC_OK)
            rc = page_items(request, &answer, each, ctx, &going, err);
        if (rc != RC_OK)
            return rc;
        page.path = answer.next;
        page.etag = NULL;
    }
    if (ret_cut != NULL)
        *ret_cut = page.path != NULL || !going;
    return RC_OK;
}

/* ---- bytes ---- */

/* Keeps the end of what arrives: twice the room, cut to half whenever it is full. */
struct tail {
    struct buf *into;
    struct buf held;
    int64_t total;
    int64_t deadline_us;
    bool late, too_much;
};

static void tail_release(struct tail *tail)
{
    buf_release(&tail->held);
}

static bool tail_take(void *ctx, struct str bytes)
{
    struct tail *tail = ctx;
    size_t max = tail->into->max_bytes;
    tail->total += (int64_t)bytes.len;
    tail->too_much = tail->total > STREAM_BYTES_MAX;
    tail->late = tail->deadline_us != 0 && clock_mono_us() > tail->deadline_us;
    if (bytes.len > CHUNK_ROOM)
        bytes = (struct str){bytes.at + (bytes.len - CHUNK_ROOM), CHUNK_ROOM};
    if (tail->held.len + bytes.len > tail->held.max_bytes)
        buf_drop(&tail->held, tail->held.len - max);
    buf_add(&tail->held, bytes.at, bytes.len);
    return !tail->late && !tail->too_much;
}

static void tail_finish(struct tail *tail)
{
    size_t max = tail->into->max_bytes;
    size_t drop = tail->held.len > max ? tail->held.len - max : 0;
    buf_clear(tail->into);
    buf_add(tail->into, tail->held.data + drop, tail->held.len - drop);
}

static enum rc tail_outcome(struct tail *tail, struct err *err)
{
    if (tail->late)
        return err_set(err, RC_TIMEOUT, "NO_ANSWER", "no time is left to read all of it");
    if (tail->too_much)
        return err_set(err, RC_TOO_LARGE, "ANSWER_TOO_LARGE", "it is larger than %lld MiB",
                       (long long)(STREAM_BYTES_MAX >> 20));
    tail_finish(tail);
    return RC_OK;
}

/* One answer, read while it arrives. */
static enum rc stream(struct exchange *x, struct http_client *client, struct tail *tail)
{
    struct http_field headers[HEADERS_MAX];
    const struct git *git = &x->call->git;
    int64_t idle_ms = STREAM_IDLE_MS;
    if (git->deadline_us != 0) {
        int64_t left_ms = (git->deadline_us - clock_mono_us()) / US_PER_MS;
        if (left_ms <= 0)
            return err_set(x->err, RC_TIMEOUT, "NO_ANSWER", "no time is left to call %.200s",
                           http_client_url(client));
        idle_ms = left_ms < idle_ms ? left_ms : idle_ms;
    }
    buf_clear(&x->body);
    const struct http_stream get = {.path = x->path,
                                    .headers = headers_of(x->request, headers),
                                    .idle_timeout_ms = idle_ms,
                                    .stop = git->cancel,
                                    .on_bytes = tail_take,
                                    .ctx = tail,
                                    .head = &x->head,
                                    .refusal = &x->body};
    enum rc rc = http_client_stream(client, &get, x->err);
    return rc == RC_OK ? tail_outcome(tail, x->err) : rc;
}

/* From the server of the API; a redirect there is followed. */
static enum rc stream_here(struct exchange *x, struct tail *tail, struct forge_limit_seen *ret_seen)
{
    buf_clear(&x->head);
    enum rc rc = ask_gate(x);
    if (rc == RC_OK)
        rc = client_open(x);
    if (rc == RC_OK)
        rc = stream(x, x->call->http, tail);
    if (http_head_status(&x->head) == 0)
        return rc;
    *ret_seen = tell_gate(x);
    return rc != RC_OK && redirected_here(x) ? stream_here(x, tail, ret_seen) : rc;
}

/* From where the API sent us: storage that knows no token of ours. */
static enum rc stream_elsewhere(struct exchange *x, const struct rest_place *place,
                                struct tail *tail)
{
    CLEANUP(http_client_freep) struct http_client *client = NULL;
    if (text_starts(x->base.server, "https:") && !text_starts(place->server, "https:"))
        return err_set(x->err, RC_CORRUPT, "FORGE_MOVED", "%s sends us to an address without TLS",
                       x->request->dialect->name);
    const struct http_client_options options = {.url = place->server};
    enum rc rc = http_client_new(&options, &client, x->err);
    x->path = place->path;
    return rc == RC_OK ? stream(x, client, tail) : rc;
}

enum rc rest_bytes(struct forge_call *call, const struct rest_request *request, struct buf *into,
                   struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(exchange_release)
    struct exchange x = {.call = call, .request = request, .arena = &arena, .err = err};
    CLEANUP(tail_release) struct tail tail = {.into = into, .deadline_us = call->git.deadline_us};
    struct forge_limit_seen seen = {.remaining = -1};
    struct rest_place place;
    buf_init(&tail.held, 2 * into->max_bytes + CHUNK_ROOM);
    enum rc rc = exchange_open(&x);
    if (rc == RC_OK)
        rc = stream_here(&x, &tail, &seen);
    if (renewed(&x, http_head_status(&x.head) == 401 ? RC_UNAUTHORIZED : rc))
        rc = stream_here(&x, &tail, &seen);
    if (rc != RC_OK && redirect_of(&x, &place) && !text_same(place.server, x.base.server))
        rc = stream_elsewhere(&x, &place, &tail);
    int status = http_head_status(&x.head);
    if (rc == RC_OK || status == 0 || (status >= 200 && status <= 299))
        return rc;
    const struct rest_raw raw = raw_of(&x);
    return rest_refused(&raw, &seen, &arena, err);
}
