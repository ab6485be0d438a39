#include "cli/mcp_link.h"
#include "base/clock.h"
#include "base/js_peek.h"
#include "base/jw.h"
#include "base/mem.h"
#include "cli/client.h"
#include "cli/mcp_line.h"
#include "core/mcp/era.h"
#include "net/http_multi.h"
#include "net/sse_client.h"
#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum {
    UNDER_WAY_MAX = 64,
    WAITING_MAX = 256,
    HELD_BYTES_MAX = 64 * 1024 * 1024, /* Of all messages that wait or are under way. */
    ANSWER_BYTES_MAX = 64 * 1024 * 1024,
    VALUES_MAX = 1024 * 1024, /* A tree of one message costs many times its text. */
    IDLE_TIMEOUT_MS = 120 * 1000,
    LISTEN_AGAIN_MS = 1000, /* Doubled every time. */
    LISTEN_AGAIN_MS_MAX = 30 * 1000,
    SESSION_BYTES = 512,
    VERSION_BYTES = 32,
    SUBSCRIPTIONS_MAX = 32, /* A session of drover has no more. */
    FIELDS_MAX = 8
};

/* Codes of this program's own errors: outside of what JSON-RPC and MCP reserve, and where the
   server refused, its HTTP status. */
enum { CODE_BUSY = 429, CODE_ODD_ANSWER = 502, CODE_UNREACHABLE = 503, CODE_TIMEOUT = 504 };

/* One request to the server. */
struct ask {
    struct ask *next, **at; /* In order of arrival: *at is this one. */
    struct mcp_link *link;
    struct arena arena;
    struct str line; /* In the arena, as is all text below. */
    enum mcp_kind kind;
    struct str id;
    const char *method, *version, *name; /* version: of _meta; NULL: the era of `initialize` */
    const char *session;                 /* That it named; "": none */
    const char *uri;                     /* That it subscribes to, or no longer; or NULL. */
    bool own;                            /* Of this program: nothing goes out for it. */
    bool listens;                        /* GET: what the server has to say by itself. */
    bool again;                          /* The first time its session was not known. */
    struct http_ask *http;               /* NULL: it waits. */
    bool answered;                       /* The response went out. */
    struct sse_parser sse;
    struct buf body; /* Of an answer that is no stream. */
};

struct mcp_link {
    struct cli *cli;
    struct buf *out;
    struct http_multi *multi;
    struct ask *first, **last; /* *last is NULL: where the next one goes. */
    size_t waiting, held_bytes;
    char *hello;               /* The client's `initialize`; NULL: it has sent none. */
    const struct ask *opening; /* `initialize`, while it is under way. */
    char version[VERSION_BYTES];
    char session[SESSION_BYTES];
    struct ask *listening;             /* Or NULL. */
    int64_t listen_us, listen_wait_ms; /* When to listen again; 0: not at all */
    bool listened;                     /* The server has had a stream for this session. */
    char *uris[SUBSCRIPTIONS_MAX];     /* What the client has subscribed to; the first uri_count. */
    size_t uri_count;
    bool lost; /* The server was not there, or did not know the token: look for it anew. */
};

/* ---- the server ---- */

/* Finds the server with an arena of its own: it may be asked for a thousand times. */
static enum rc find_server(struct mcp_link *link, struct err *err)
{
    struct cli probe = *link->cli;
    struct http_client_options options = {0};
    probe.arena = (struct arena){0};
    enum rc rc = cli_find_target(&probe, &options, err);
    if (rc == RC_OK && link->multi == NULL)
        rc = http_multi_new(&options, &link->multi, err);
    else if (rc == RC_OK)
        rc = http_multi_aim(link->multi, &options, err);
    arena_release(&probe.arena);
    return rc;
}

enum rc mcp_link_new(const struct mcp_link_options *options, struct mcp_link **ret_link,
                     struct err *err)
{
    struct mcp_link *link = mem_alloc(sizeof *link);
    link->cli = options->cli;
    link->out = options->out;
    link->last = &link->first;
    enum rc rc = find_server(link, err);
    if (rc == RC_OK)
        *ret_link = link;
    else
        mem_free(link);
    return rc;
}

/* ---- messages ---- */

static void ask_free(struct ask *ask)
{
    struct mcp_link *link = ask->link;
    *ask->at = ask->next;
    if (ask->next != NULL)
        ask->next->at = ask->at;
    else
        link->last = ask->at;
    link->held_bytes -= ask->line.len;
    link->waiting -= ask->http == NULL;
    if (link->opening == ask)
        link->opening = NULL;
    if (link->listening == ask)
        link->listening = NULL;
    sse_parser_release(&ask->sse);
    buf_release(&ask->body);
    arena_release(&ask->arena);
    mem_free(ask);
}

static void forget_subscriptions(struct mcp_link *link)
{
    while (link->uri_count > 0)
        mem_free(link->uris[--link->uri_count]);
}

void mcp_link_free(struct mcp_link *link)
{
    if (link == NULL)
        return;
    http_multi_free(link->multi);
    while (link->first != NULL)
        ask_free(link->first);
    forget_subscriptions(link);
    mem_free(link->hello);
    mem_free(link);
}

static void say(const char *text)
{
    CLEANUP(buf_release) struct buf safe;
    buf_init(&safe, (size_t)ERR_TEXT_MAX * 4);
    term_clean(&safe, text);
    (void)fprintf(stderr, "drover: %s\n", buf_text(&safe));
}

/* The one response to a request; of other messages nothing goes out. */
static void fail(struct ask *ask, int code, const char *text)
{
    if (!ask->listens)
        say(text);
    if (ask->kind == MCP_REQUEST && !ask->own && !ask->answered)
        mcp_line_error(ask->link->out, ask->id, code, text);
    ask->answered = true;
}

static struct str trimmed(struct str text)
{
    while (text.len > 0 && strchr(" \t\r\n", text.at[text.len - 1]) != NULL)
        text.len--;
    return text;
}

/* An error of a server that could not read the id. */
static bool is_nameless_error(const struct js *tree)
{
    return js_type(js_get(tree, "method")) == JS_NULL && js_type(js_get(tree, "id")) == JS_NULL &&
           js_type(js_get(tree, "error")) == JS_OBJECT;
}

static bool subscribes(const struct ask *ask)
{
    return text_same(ask->method, "resources/subscribe");
}

/* The server keeps subscriptions in memory: they are sent again when that may be lost. */
static void note_subscription(struct ask *ask)
{
    struct mcp_link *link = ask->link;
    size_t at = 0;
    while (at < link->uri_count && strcmp(link->uris[at], ask->uri) != 0)
        at++;
    if (subscribes(ask) && at == link->uri_count && at < SUBSCRIPTIONS_MAX) {
        link->uris[link->uri_count++] = mem_strdup(ask->uri);
    } else if (!subscribes(ask) && at < link->uri_count) {
        mem_free(link->uris[at]);
        link->uris[at] = link->uris[--link->uri_count];
    }
}

/* A message of the server; false: it is none, or does not belong to this request. */
static bool pass_on(struct ask *ask, struct str json)
{
    struct mcp_link *link = ask->link;
    struct mcp_message message = {0};
    struct str text = {0};
    CLEANUP(js_freep) struct js *tree = NULL;
    CLEANUP(buf_release) struct buf room;
    buf_init(&room, (size_t)ANSWER_BYTES_MAX * 2);
    if (mcp_line_parse(json, &room, &tree, &text) != RC_OK || room.overflow)
        return false;
    if (is_nameless_error(tree)) {
        if (ask->kind == MCP_REQUEST && !ask->answered && !ask->own)
            mcp_line_error_object(link->out, ask->id, js_get(tree, "error"));
        ask->answered = true;
        return true;
    }
    if (mcp_message_read(tree, text, &message, NULL) != RC_OK)
        return false;
    if (message.kind == MCP_RESPONSE) {
        if (ask->answered || !str_same(trimmed(message.id), ask->id))
            return false;
        if (link->opening == ask)
            text_copy(link->version, VERSION_BYTES,
                      js_get_str(message.result, "protocolVersion", ""));
        if (ask->uri != NULL && message.result != NULL)
            note_subscription(ask);
        ask->answered = true;
    }
    if (!ask->own || ask->listens)
        mcp_line_add(link->out, text);
    return true;
}

static bool take_event(void *ctx, const struct sse_event *event)
{
    struct ask *ask = ctx;
    if (event->data[0] != '\0' && !pass_on(ask, str_of(event->data)))
        say("the server sent what is no message of MCP, or not of this request; it is dropped");
    return true;
}

/* ---- answers ---- */

static bool is_good(const struct http_seen *seen)
{
    return seen->status >= 200 && seen->status <= 299;
}

static bool is_stream(const struct http_seen *seen)
{
    static const char type[] = "text/event-stream";
    return is_good(seen) && strncasecmp(seen->content_type, type, sizeof type - 1) == 0;
}

static bool take_bytes(void *ctx, const struct http_seen *seen, struct str bytes)
{
    struct ask *ask = ctx;
    if (ask->listens && is_good(seen))
        ask->link->listen_wait_ms = LISTEN_AGAIN_MS;
    if (is_stream(seen))
        return sse_parser_feed(&ask->sse, bytes);
    buf_add(&ask->body, bytes.at, bytes.len);
    return !ask->body.overflow;
}

/* The connection failed. */
static void fail_below_http(struct ask *ask, enum rc rc, const struct err *err)
{
    char text[ERR_TEXT_MAX * 2];
    bool sent = text_same(err->code, "CONNECTION_BROKEN") || rc == RC_TIMEOUT;
    (void)snprintf(text, sizeof text, "%s. %s", err->text,
                   sent ? "The request may have been carried out: look before you repeat it."
                        : "Is it running? Start it with: drover serve");
    ask->link->lost = true;
    fail(ask, rc == RC_TIMEOUT ? CODE_TIMEOUT : CODE_UNREACHABLE, text);
}

/* What the server says of a refusal: an error of JSON-RPC, or problem+json. */
static void describe(const struct ask *ask, int status, struct err *err)
{
    CLEANUP(js_freep) struct js *tree = NULL;
    if (js_parse(ask->body.data, ask->body.len, &tree, NULL) != RC_OK)
        tree = NULL;
    const char *message = js_str(js_path(tree, "error.message"), NULL);
    if (message != NULL)
        text_copy(err->text, sizeof err->text, message);
    else
        (void)!http_problem_decode(status, buf_str(&ask->body), err);
}

static void fail_by_status(struct ask *ask, int status)
{
    static const struct {
        int status;
        const char *next;
    } table[] = {
        {401, "Give drover mcp a token: DROVER_TOKEN, --token-file FILE or --data DIR. The user "
              "who runs the server makes one: drover token create"},
        {403, "The token is not allowed to do this: use one of another role."},
        {404, "Is that the address of a drover server?"},
        {413, "The server's configuration limits what a request may hold: limits.bodyBytes"},
        {429, "Try again later."},
        {503, "Try again in a moment."},
    };
    char text[ERR_TEXT_MAX * 2];
    struct err err = {0};
    const char *next = "";
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        if (table[i].status == status)
            next = table[i].next;
    }
    describe(ask, status, &err);
    (void)snprintf(text, sizeof text, "%s (status %d from %s)%s%s", err.text, status,
                   http_multi_url(ask->link->multi), *next != '\0' ? ". " : "", next);
    ask->link->lost = ask->link->lost || status == 401;
    fail(ask, status, text);
}

static void fail_oddly(struct ask *ask, const char *what)
{
    char text[ERR_TEXT_MAX];
    (void)snprintf(text, sizeof text, "%s %s", http_multi_url(ask->link->multi), what);
    fail(ask, CODE_ODD_ANSWER, text);
}

static void settle_answer(struct ask *ask, const struct http_seen *seen)
{
    bool refused = seen->status == 401 || seen->status == 403;
    if (ask->body.overflow || ask->sse.too_large)
        fail_oddly(ask, "sent an answer that is too large");
    else if (ask->answered || (is_good(seen) && ask->kind != MCP_REQUEST))
        return;
    else if (is_stream(seen))
        fail_oddly(ask, "ended the stream before the answer; the request may have been carried "
                        "out: look before you repeat it");
    else if (refused || (!pass_on(ask, buf_str(&ask->body)) && !is_good(seen)))
        fail_by_status(ask, seen->status);
    else if (!ask->answered)
        fail_oddly(ask, "did not answer with a message of MCP: is it a drover?");
}

/* ---- requests ---- */

static void add_field(struct http_field *fields, const char *name, const char *value)
{
    size_t i = 0;
    while (fields[i].name != NULL)
        i++;
    assert(i < FIELDS_MAX - 1);
    if (!text_empty(value))
        fields[i] = (struct http_field){name, value};
}

static bool opens(const struct ask *ask)
{
    return ask->version == NULL && text_same(ask->method, "initialize");
}

/* The headers of its era. */
static void write_fields(struct ask *ask, struct http_field fields[FIELDS_MAX])
{
    const struct mcp_link *link = ask->link;
    add_field(fields, "Accept",
              ask->listens ? "text/event-stream" : "application/json, text/event-stream");
    if (ask->version != NULL) {
        add_field(fields, "MCP-Protocol-Version", ask->version);
        add_field(fields, "Mcp-Method", ask->method);
        if (ask->name != NULL)
            add_field(fields, "Mcp-Name", mcp_header_of(ask->name, &ask->arena));
    } else if (!opens(ask)) {
        ask->session = arena_strdup(&ask->arena, link->session);
        add_field(fields, "MCP-Protocol-Version", link->version);
        add_field(fields, "Mcp-Session-Id", ask->session);
    }
}

static void take_end(void *ctx, const struct http_seen *seen, enum rc rc, const struct err *err);

static enum rc start(struct ask *ask, struct err *err)
{
    struct mcp_link *link = ask->link;
    struct http_field fields[FIELDS_MAX] = {{NULL, NULL}};
    if (link->lost && find_server(link, NULL) == RC_OK)
        link->lost = false;
    write_fields(ask, fields);
    const struct http_ask_spec spec = {.method = ask->listens ? "GET" : "POST",
                                       .path = "/mcp",
                                       .headers = fields,
                                       .body = ask->line,
                                       .idle_timeout_ms = IDLE_TIMEOUT_MS,
                                       .on_bytes = take_bytes,
                                       .on_end = take_end,
                                       .ctx = ask};
    enum rc rc = http_multi_start(link->multi, &spec, &ask->http, err);
    if (rc != RC_OK)
        return rc;
    link->waiting--;
    if (opens(ask))
        link->opening = ask;
    return RC_OK;
}

static void start_or_fail(struct ask *ask)
{
    struct err err = {0};
    if (start(ask, &err) == RC_OK)
        return;
    fail(ask, MCP_INVALID_REQUEST, err.text);
    ask_free(ask);
}

static void start_waiting(struct mcp_link *link)
{
    struct ask *next = NULL;
    for (struct ask *ask = link->first; ask != NULL; ask = next) {
        next = ask->next;
        if (http_multi_count(link->multi) >= UNDER_WAY_MAX)
            return;
        if (ask->http == NULL && (ask->version != NULL || link->opening == NULL))
            start_or_fail(ask);
    }
}

static struct ask *append(struct mcp_link *link, struct str line, const struct mcp_message *message)
{
    struct ask *ask = mem_alloc(sizeof *ask);
    struct str id = trimmed(message->id);
    ask->link = link;
    ask->kind = message->kind;
    ask->line = (struct str){str_dup(&ask->arena, line), line.len};
    ask->id = (struct str){str_dup(&ask->arena, id), id.len};
    ask->method = arena_strdup(&ask->arena, message->method);
    ask->version = arena_strdup(&ask->arena, js_get_str(message->meta, MCP_META_VERSION, NULL));
    ask->name = arena_strdup(&ask->arena, mcp_message_name(message));
    if (subscribes(ask) || text_same(ask->method, "resources/unsubscribe"))
        ask->uri = arena_strdup(&ask->arena, js_get_str(message->params, "uri", NULL));
    sse_parser_init(&ask->sse, take_event, ask);
    sse_parser_limit(&ask->sse, ANSWER_BYTES_MAX);
    buf_init(&ask->body, ANSWER_BYTES_MAX);
    ask->at = link->last;
    *link->last = ask;
    link->last = &ask->next;
    link->held_bytes += line.len;
    link->waiting++;
    return ask;
}

/* ---- sessions of the versions before 2026-07-28 ---- */

static void close_ask(struct ask *ask)
{
    if (ask->http != NULL)
        http_multi_cancel(ask->link->multi, ask->http);
    ask_free(ask);
}

/* The stream of notifications that belong to no request. */
static void start_listening(struct mcp_link *link)
{
    static const struct mcp_message none = {.kind = MCP_NOTIFICATION};
    if (link->listening != NULL)
        close_ask(link->listening);
    link->listen_us = 0;
    struct ask *ask = append(link, (struct str){0}, &none);
    ask->own = ask->listens = true;
    link->listening = ask;
    start_or_fail(ask);
}

static void listen_later(struct mcp_link *link)
{
    link->listen_us = clock_mono_us() + link->listen_wait_ms * US_PER_MS;
    link->listen_wait_ms *= 2;
    if (link->listen_wait_ms > LISTEN_AGAIN_MS_MAX)
        link->listen_wait_ms = LISTEN_AGAIN_MS_MAX;
}

/* A message of this program, in the client's place. */
static void send_own(struct mcp_link *link, const char *line)
{
    struct mcp_message message = {0};
    CLEANUP(js_freep) struct js *tree = NULL;
    struct str text = str_of(line);
    enum rc rc = js_parse(text.at, text.len, &tree, NULL);
    if (rc == RC_OK)
        rc = mcp_message_read(tree, text, &message, NULL);
    assert(rc == RC_OK); /* It was read before, or stands here. */
    struct ask *ask = append(link, text, &message);
    ask->own = true;
    start_or_fail(ask);
}

static void subscribe_again(struct mcp_link *link)
{
    for (size_t i = 0; i < link->uri_count; i++) {
        CLEANUP(buf_release) struct buf line;
        buf_init(&line, 16 * strlen(link->uris[i]) + 256);
        struct jw jw = jw_to(&line);
        jw_begin(&jw, '{');
        jw_kstr(&jw, "jsonrpc", "2.0");
        jw_kstr(&jw, "id", "drover-subscribes-again");
        jw_kstr(&jw, "method", "resources/subscribe");
        jw_key(&jw, "params");
        jw_begin(&jw, '{');
        jw_kstr(&jw, "uri", link->uris[i]);
        jw_end(&jw, '}');
        jw_end(&jw, '}');
        send_own(link, buf_text(&line));
    }
}

/* The answer to `initialize` is there, or there is none. */
static void settle_opening(struct ask *ask, const struct http_seen *seen)
{
    struct mcp_link *link = ask->link;
    bool own = ask->own;
    struct str id = http_head_field(seen->head, "Mcp-Session-Id");
    size_t len = id.len < sizeof link->session ? id.len : 0;
    link->opening = NULL;
    if (own && len == 0) { /* The old one stays: the next that is told of its loss tries again. */
        link->listened = true;
        listen_later(link);
        return;
    }
    if (len > 0)
        memcpy(link->session, id.at, len);
    link->session[len] = '\0';
    link->listened = false;
    if (!own)
        forget_subscriptions(link);
    if (len == 0)
        return;
    if (own) {
        send_own(link, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
        subscribe_again(link);
    }
    link->listen_wait_ms = LISTEN_AGAIN_MS;
    start_listening(link);
}

/* The server does not know the session (any more): the message was not looked at. */
static bool lost_session(const struct ask *ask, const struct http_seen *seen)
{
    return seen->status == 404 && !text_empty(ask->session) && !ask->again && !ask->own &&
           ask->link->hello != NULL;
}

/* Opens another session in the client's place, unless that was done meanwhile. */
static void replace_session(const struct ask *ask)
{
    struct mcp_link *link = ask->link;
    if (link->opening == NULL && text_same(ask->session, link->session))
        send_own(link, link->hello);
}

/* The message is sent again, in another session. */
static void reopen(struct ask *ask)
{
    ask->http = NULL;
    ask->again = true;
    buf_clear(&ask->body);
    ask->link->waiting++;
    replace_session(ask);
}

/* 405: the server has no such stream.  404: it has no such session, and if it had one before, it
   gets another.  Else it will have one: the stream has ended, or the server is busy, or has not
   noticed yet that the connection before this one is gone. */
static void settle_listening(const struct ask *ask, const struct http_seen *seen, enum rc rc)
{
    static const int passing[] = {401, 409, 429, 500, 502, 503, 504};
    struct mcp_link *link = ask->link;
    bool refused = rc == RC_OK && !is_good(seen);
    bool passes = !refused;
    for (size_t i = 0; i < COUNT_OF(passing); i++)
        passes |= seen->status == passing[i];
    if (is_good(seen))
        link->listened = true;
    if (passes) {
        listen_later(link);
    } else if (seen->status == 404 && link->listened && link->hello != NULL) {
        link->listened = false; /* Once: a server that has no stream may say so by 404, too. */
        replace_session(ask);
    }
}

static void take_end(void *ctx, const struct http_seen *seen, enum rc rc, const struct err *err)
{
    struct ask *ask = ctx;
    struct mcp_link *link = ask->link;
    if (rc == RC_OK && lost_session(ask, seen)) {
        reopen(ask);
        start_waiting(link);
        return;
    }
    if (rc != RC_OK && !ask->answered)
        fail_below_http(ask, rc, err);
    else if (rc == RC_OK)
        settle_answer(ask, seen);
    if (link->opening == ask)
        settle_opening(ask, seen);
    if (ask->listens)
        settle_listening(ask, seen, rc);
    ask_free(ask);
    start_waiting(link);
}

/* ---- the client ---- */

/* Closes the request that the client no longer wants: no more is sent for it. */
static void cancel(struct mcp_link *link, struct str line)
{
    struct str id = trimmed(js_peek(js_peek(line, "params"), "requestId"));
    for (struct ask *ask = link->first; ask != NULL; ask = ask->next) {
        if (ask->kind == MCP_REQUEST && !ask->own && id.len > 0 && str_same(ask->id, id)) {
            close_ask(ask);
            break;
        }
    }
    start_waiting(link);
}

void mcp_link_refuse(struct mcp_link *link, const char *text)
{
    say(text);
    mcp_line_error(link->out, (struct str){0}, MCP_PARSE_ERROR, text);
}

static bool is_full(const struct mcp_link *link, struct str line)
{
    return link->waiting >= WAITING_MAX || link->held_bytes + line.len > HELD_BYTES_MAX;
}

static void take_message(struct mcp_link *link, struct str line, const struct mcp_message *message)
{
    static const char full[] = "too many messages are under way: wait for answers first";
    bool cancels = text_same(message->method, "notifications/cancelled");
    if (cancels)
        cancel(link, line);
    if (cancels && link->session[0] == '\0') /* A server without sessions knows no ids. */
        return;
    if (!is_full(link, line)) {
        const struct ask *ask = append(link, line, message);
        if (opens(ask)) {
            mem_free(link->hello);
            link->hello = mem_strndup(line.at, line.len);
        }
        start_waiting(link);
    } else {
        say(full);
        if (message->kind == MCP_REQUEST)
            mcp_line_error(link->out, trimmed(message->id), CODE_BUSY, full);
    }
}

void mcp_link_take(struct mcp_link *link, struct str line)
{
    struct err err = {0};
    struct mcp_message message = {0};
    CLEANUP(js_freep) struct js *tree = NULL;
    if (js_peek_count(line) > VALUES_MAX)
        mcp_link_refuse(link, "the message holds too many values");
    else if (js_parse(line.at, line.len, &tree, &err) != RC_OK)
        mcp_link_refuse(link, err.text);
    else if (mcp_message_read(tree, line, &message, &err) != RC_OK)
        mcp_line_error(link->out, trimmed(message.id), MCP_INVALID_REQUEST, err.text);
    else
        take_message(link, line, &message);
}

void mcp_link_step(struct mcp_link *link)
{
    if (link->listen_us != 0 && link->session[0] != '\0' && clock_mono_us() >= link->listen_us) {
        start_listening(link);
        subscribe_again(link); /* The server may be another one, or was started again. */
    }
    http_multi_step(link->multi);
}

void mcp_link_wait(struct mcp_link *link, struct pollfd *looks, size_t count)
{
    int timeout_ms = -1;
    if (link->listen_us != 0 && link->session[0] != '\0') {
        int64_t left_ms = (link->listen_us - clock_mono_us()) / US_PER_MS + 1;
        timeout_ms = left_ms > 0 ? (int)left_ms : 0;
    }
    http_multi_wait(link->multi, looks, count, timeout_ms);
}
