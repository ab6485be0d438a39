#include "cli/mcp_link.h"
#include "base/js_peek.h"
#include "base/jwt.h"
#include "base/mem.h"
#include "cli/client.h"
#include "cli/mcp_line.h"
#include "core/mcp/message.h"
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
    /* The server sends something at least every 30 s while it works. */
    IDLE_TIMEOUT_MS = 120 * 1000,
    SESSION_BYTES = 512,
    VERSION_BYTES = 32,
    FIELDS_MAX = 8
};

/* Codes of this program's own errors: outside of what JSON-RPC and MCP reserve, and where the
   server refused, its HTTP status. */
enum { CODE_BUSY = 429, CODE_ODD_ANSWER = 502, CODE_UNREACHABLE = 503, CODE_TIMEOUT = 504 };

/* One message. */
struct ask {
    struct ask *next, **at; /* In order of arrival: *at is this one. */
    struct mcp_link *link;
    struct arena arena;
    struct str line; /* In the arena, as is all text below. */
    enum mcp_kind kind;
    struct str id;
    const char *method, *version, *name; /* version: of _meta; NULL: the era of `initialize` */
    struct http_ask *http;               /* NULL: it waits. */
    bool answered;                       /* The response went out. */
    bool streams;
    struct sse_parser sse;
    struct buf body; /* Of an answer that is no stream. */
};

struct mcp_link {
    struct cli *cli;
    struct buf *out;
    struct http_multi *multi;
    struct ask *first, **last; /* *last is NULL: where the next one goes. */
    size_t waiting, held_bytes;
    const struct ask *opening; /* `initialize`, while it is under way. */
    char version[VERSION_BYTES];
    char session[SESSION_BYTES];
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

static void say(const char *text)
{
    CLEANUP(buf_release) struct buf safe;
    buf_init(&safe, (size_t)ERR_TEXT_MAX * 4);
    term_clean(&safe, text);
    (void)fprintf(stderr, "drover: %s\n", buf_text(&safe));
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
    sse_parser_release(&ask->sse);
    buf_release(&ask->body);
    arena_release(&ask->arena);
    mem_free(ask);
}

void mcp_link_free(struct mcp_link *link)
{
    if (link == NULL)
        return;
    http_multi_free(link->multi);
    while (link->first != NULL)
        ask_free(link->first);
    mem_free(link);
}

/* The one response to a request; of other messages nothing goes out. */
static void fail(struct ask *ask, int code, const char *text)
{
    say(text);
    if (ask->kind == MCP_REQUEST && !ask->answered)
        mcp_line_error(ask->link->out, ask->id, code, text);
    ask->answered = true;
}

static void note_opening(struct ask *ask, const struct js *result)
{
    if (ask->link->opening == ask)
        text_copy(ask->link->version, VERSION_BYTES, js_get_str(result, "protocolVersion", ""));
}

static struct str trimmed(struct str text)
{
    while (text.len > 0 && strchr(" \t\r\n", text.at[text.len - 1]) != NULL)
        text.len--;
    return text;
}

/* A message of the server; false: it is none, or does not belong to this request. */
static bool pass_on(struct ask *ask, struct str json)
{
    struct mcp_message message = {0};
    struct str text = {0};
    CLEANUP(js_freep) struct js *tree = NULL;
    CLEANUP(buf_release) struct buf room;
    buf_init(&room, (size_t)ANSWER_BYTES_MAX * 2);
    if (mcp_line_parse(json, &room, &tree, &text) != RC_OK || room.overflow)
        return false;
    bool response = js_type(js_get(tree, "method")) == JS_NULL;
    const struct js *error = js_get(tree, "error");
    if (response && js_type(js_get(tree, "id")) == JS_NULL && js_type(error) == JS_OBJECT) {
        if (ask->kind == MCP_REQUEST && !ask->answered)
            mcp_line_error_object(ask->link->out, ask->id, error);
        ask->answered = true;
        return true;
    }
    if (mcp_message_read(tree, text, &message, NULL) != RC_OK)
        return false;
    if (message.kind == MCP_RESPONSE) {
        if (ask->answered || !str_same(trimmed(message.id), ask->id))
            return false;
        note_opening(ask, message.result);
        ask->answered = true;
    }
    mcp_line_add(ask->link->out, text);
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

static bool is_stream(const struct http_seen *seen)
{
    static const char type[] = "text/event-stream";
    return seen->status >= 200 && seen->status <= 299 &&
           strncasecmp(seen->content_type, type, sizeof type - 1) == 0;
}

static bool take_bytes(void *ctx, const struct http_seen *seen, struct str bytes)
{
    struct ask *ask = ctx;
    ask->streams = is_stream(seen);
    if (ask->streams)
        return sse_parser_feed(&ask->sse, bytes);
    buf_add(&ask->body, bytes.at, bytes.len);
    return !ask->body.overflow;
}

static void note_session(struct ask *ask, const struct http_seen *seen)
{
    if (ask->link->opening != ask || seen->head == NULL)
        return;
    struct str id = http_head_field(seen->head, "Mcp-Session-Id");
    struct mcp_link *link = ask->link;
    if (id.len < sizeof link->session) {
        memcpy(link->session, id.at != NULL ? id.at : "", id.len);
        link->session[id.len] = '\0';
    }
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
        {401,
         "Give drover mcp a token: DROVER_TOKEN, --token-file FILE or --data DIR. The user who "
         "runs the server makes one: drover token create"},
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
    bool good = seen->status >= 200 && seen->status <= 299;
    bool refused = seen->status == 401 || seen->status == 403;
    if (ask->body.overflow || ask->sse.too_large)
        fail_oddly(ask, "sent an answer that is too large");
    else if (ask->answered || (good && ask->kind != MCP_REQUEST))
        return;
    else if (ask->streams)
        fail_oddly(ask, "ended the stream before the answer; the request may have been carried "
                        "out: look before you repeat it");
    else if (refused || (!pass_on(ask, buf_str(&ask->body)) && !good))
        fail_by_status(ask, seen->status);
    else if (!ask->answered)
        fail_oddly(ask, "did not answer with a message of MCP: is it a drover?");
}

static void start_waiting(struct mcp_link *link);

static void take_end(void *ctx, const struct http_seen *seen, enum rc rc, const struct err *err)
{
    struct ask *ask = ctx;
    struct mcp_link *link = ask->link;
    note_session(ask, seen);
    ask->streams = is_stream(seen);
    if (rc != RC_OK && !ask->answered)
        fail_below_http(ask, rc, err);
    else if (rc == RC_OK)
        settle_answer(ask, seen);
    ask_free(ask);
    start_waiting(link);
}

/* ---- requests ---- */

/* A value that no header can hold as it is goes in base64 (streamable HTTP, "Value Encoding"). */
static const char *header_value(const char *text, struct arena *arena)
{
    size_t len = strlen(text);
    bool plain = len > 0 && text[0] != ' ' && text[len - 1] != ' ';
    for (size_t i = 0; i < len; i++)
        plain = plain && text[i] >= ' ' && text[i] <= '~';
    if (plain && !(text_starts(text, "=?base64?") && text_ends(text, "?=")))
        return text;
    CLEANUP(buf_release) struct buf code;
    buf_init(&code, 2 * len + 16);
    base64url_add(&code, text, len);
    for (size_t i = 0; i < code.len; i++)
        code.data[i] = code.data[i] == '-' ? '+' : code.data[i] == '_' ? '/' : code.data[i];
    while (code.len % 4 != 0)
        buf_addc(&code, '=');
    return arena_printf(arena, "=?base64?%s?=", buf_text(&code));
}

static void add_field(struct http_field *fields, const char *name, const char *value)
{
    size_t i = 0;
    while (fields[i].name != NULL)
        i++;
    assert(i < FIELDS_MAX - 1);
    if (!text_empty(value))
        fields[i] = (struct http_field){name, value};
}

static enum rc start(struct ask *ask, struct err *err)
{
    struct mcp_link *link = ask->link;
    struct http_field fields[FIELDS_MAX] = {{"Accept", "application/json, text/event-stream"}};
    bool opens = text_same(ask->method, "initialize");
    if (ask->version != NULL) {
        add_field(fields, "MCP-Protocol-Version", ask->version);
        add_field(fields, "Mcp-Method", ask->method);
        if (ask->name != NULL)
            add_field(fields, "Mcp-Name", header_value(ask->name, &ask->arena));
    } else if (!opens) {
        add_field(fields, "MCP-Protocol-Version", link->version);
        add_field(fields, "Mcp-Session-Id", link->session);
    }
    const struct http_ask_spec spec = {.method = "POST",
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
    if (opens && ask->version == NULL)
        link->opening = ask;
    return RC_OK;
}

static bool may_start(const struct ask *ask)
{
    return ask->http == NULL && (ask->version != NULL || ask->link->opening == NULL);
}

static void start_waiting(struct mcp_link *link)
{
    struct ask *next = NULL;
    for (struct ask *ask = link->first; ask != NULL; ask = next) {
        struct err err = {0};
        next = ask->next;
        if (http_multi_count(link->multi) >= UNDER_WAY_MAX)
            return;
        if (!may_start(ask))
            continue;
        if (link->lost && find_server(link, &err) == RC_OK)
            link->lost = false;
        if (start(ask, &err) != RC_OK) {
            fail(ask, MCP_INVALID_REQUEST, err.text);
            ask_free(ask);
        }
    }
}

/* What Mcp-Name repeats, or NULL. */
static const char *name_of(const struct mcp_message *message)
{
    static const struct {
        const char *method, *key;
    } table[] = {
        {"tools/call", "name"},  {"prompts/get", "name"},    {"resources/read", "uri"},
        {"tasks/get", "taskId"}, {"tasks/update", "taskId"}, {"tasks/cancel", "taskId"},
    };
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        if (text_same(table[i].method, message->method))
            return js_get_str(message->params, table[i].key, NULL);
    }
    return NULL;
}

static void append(struct mcp_link *link, struct str line, const struct mcp_message *message)
{
    struct ask *ask = mem_alloc(sizeof *ask);
    struct str id = trimmed(message->id);
    ask->link = link;
    ask->kind = message->kind;
    ask->line = (struct str){str_dup(&ask->arena, line), line.len};
    ask->id = (struct str){str_dup(&ask->arena, id), id.len};
    ask->method = arena_strdup(&ask->arena, message->method);
    ask->version = arena_strdup(&ask->arena, js_get_str(message->meta, MCP_META_VERSION, NULL));
    ask->name = arena_strdup(&ask->arena, name_of(message));
    sse_parser_init(&ask->sse, take_event, ask);
    sse_parser_limit(&ask->sse, ANSWER_BYTES_MAX);
    buf_init(&ask->body, ANSWER_BYTES_MAX);
    ask->at = link->last;
    *link->last = ask;
    link->last = &ask->next;
    link->held_bytes += line.len;
    link->waiting++;
}

/* Closes the request that the client no longer wants: no more is sent for it. */
static void cancel(struct mcp_link *link, struct str line)
{
    struct str id = trimmed(js_peek(js_peek(line, "params"), "requestId"));
    for (struct ask *ask = link->first; ask != NULL; ask = ask->next) {
        if (ask->kind != MCP_REQUEST || id.len == 0 || !str_same(ask->id, id))
            continue;
        if (ask->http != NULL)
            http_multi_cancel(link->multi, ask->http);
        ask_free(ask);
        return;
    }
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

void mcp_link_take(struct mcp_link *link, struct str line)
{
    struct err err = {0};
    struct mcp_message message = {0};
    CLEANUP(js_freep) struct js *tree = NULL;
    if (js_peek_count(line) > VALUES_MAX) {
        mcp_link_refuse(link, "the message holds too many values");
        return;
    }
    if (js_parse(line.at, line.len, &tree, &err) != RC_OK) {
        mcp_link_refuse(link, err.text);
        return;
    }
    if (mcp_message_read(tree, line, &message, &err) != RC_OK) {
        mcp_line_error(link->out, trimmed(message.id), MCP_INVALID_REQUEST, err.text);
        return;
    }
    bool cancels = text_same(message.method, "notifications/cancelled");
    if (cancels) {
        cancel(link, line);
        start_waiting(link);
    }
    if (cancels && link->session[0] == '\0') /* A server without sessions knows no ids. */
        return;
    if (is_full(link, line)) {
        static const char text[] = "too many messages are under way: wait for answers first";
        say(text);
        if (message.kind == MCP_REQUEST)
            mcp_line_error(link->out, trimmed(message.id), CODE_BUSY, text);
        return;
    }
    append(link, line, &message);
    start_waiting(link);
}

void mcp_link_step(struct mcp_link *link)
{
    http_multi_step(link->multi);
}

void mcp_link_wait(struct mcp_link *link, struct pollfd *looks, size_t count)
{
    http_multi_wait(link->multi, looks, count, -1);
}
