#include "api/mcp/input.h"
#include "api/mcp/mcp_parts.h"
#include "base/clock.h"
#include "base/mem.h"
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    STATE_BYTES_MAX = 2048,
    GATHERED_BYTES_MAX = 1024 * 1024,
    RANDOM_BYTES = 8,
    REQUEST_ID_BYTES = 48,
};
#define STATE_VALID_MS ((int64_t)15 * 60 * 1000)
#define WAIT_US        (10 * US_PER_MINUTE)
#define STOPPING_TEXT  "STOPPING: the server is stopping; call again"

/* A legacy client is asked; its responses come as messages of their own. */
struct input_wait {
    size_t count;
    struct asked {
        char id[REQUEST_ID_BYTES];
        char *key;
        char *result; /* JSON; NULL: not there yet. */
    } items[INPUT_REQUESTS_MAX];
    void (*again)(struct rpc *rpc);
    int64_t until_us;
};

void input_wait_free(struct input_wait *wait)
{
    for (size_t i = 0; wait != NULL && i < wait->count; i++) {
        mem_free(wait->items[i].key);
        mem_free(wait->items[i].result);
    }
    mem_free(wait);
}

/* ---- Capabilities ---- */

static const struct {
    const char *method, *capability;
    unsigned client;
} kinds[] = {
    {"elicitation/create", "elicitation", CLIENT_ELICITATION},
    {"sampling/createMessage", "sampling", CLIENT_SAMPLING},
    {"roots/list", "roots", CLIENT_ROOTS},
};

unsigned input_needs(const char *method)
{
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        if (text_same(kinds[i].method, method))
            return kinds[i].client;
    }
    return 0;
}

void input_missing(struct rpc *rpc, unsigned client)
{
    CLEANUP(buf_release) struct buf data;
    buf_init(&data, STATE_BYTES_MAX);
    struct jw jw = jw_to(&data);
    jw_begin(&jw, '{');
    jw_key(&jw, "requiredCapabilities");
    jw_begin(&jw, '{');
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        if (client & kinds[i].client)
            jw_kraw(&jw, kinds[i].capability, STR("{}"));
    }
    if (client & CLIENT_TASKS)
        jw_kraw(&jw, "extensions", STR("{\"" MCP_EXTENSION_TASKS "\":{}}"));
    jw_end(&jw, '}');
    jw_end(&jw, '}');
    rpc_fail(rpc, MCP_MISSING_CAPABILITY, "Missing required client capability", buf_str(&data));
}

/* ---- The state that travels with a modern client ---- */

/* The owner, the time, and the request that it belongs to: its method, name and arguments. */
static void sign_state(const struct rpc *rpc, const char *front, char to[SHA256_TEXT_BYTES])
{
    struct arena *arena = &rpc->call->http.arena;
    char digest[SHA256_TEXT_BYTES];
    struct caps_key key;
    const struct js *arguments = js_get(rpc->message.params, "arguments");
    const char *name = rpc_param(rpc, "name");
    const char *text = arguments != NULL ? js_text(arguments, arena) : "{}";
    auth_caps_key(&rpc->call->who, &key);
    sha256_hex(text, strlen(text), digest);
    control_mac(rpc->call->api->control,
                arena_printf(arena, "mcp-state %s %d %s %s %s %s", front, (int)key.kind, key.name,
                             rpc->message.method, name != NULL ? name : "", digest),
                to);
}

static int64_t now_ms(void)
{
    struct clock clock = clock_real();
    return clock_now_us(&clock) / US_PER_MS;
}

/* EXPIRY.HEX.CODE */
static const char *pack_state(const struct rpc *rpc, const char *state)
{
    struct arena *arena = &rpc->call->http.arena;
    size_t len = strlen(state);
    char *hex = arena_alloc(arena, 2 * len + 1), mac[SHA256_TEXT_BYTES];
    hex_encode(hex, (const unsigned char *)state, len);
    const char *front = arena_printf(arena, "%" PRIx64 ".%s", (uint64_t)(now_ms() + STATE_VALID_MS),
                                     hex);
    sign_state(rpc, front, mac);
    return arena_printf(arena, "%s.%s", front, mac);
}

static int hex_value(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static char *unhex(const char *hex, size_t len)
{
    char *text = mem_alloc(len / 2 + 1);
    for (size_t i = 0; i + 1 < len; i += 2) {
        int high = hex_value(hex[i]), low = hex_value(hex[i + 1]);
        if (high < 0 || low < 0)
            break; /* It was signed: cannot be. */
        text[i / 2] = (char)(high << 4 | low);
    }
    return text;
}

static bool unpack_state(struct rpc *rpc, const char *packed)
{
    char mac[SHA256_TEXT_BYTES];
    const char *dot = strrchr(packed, '.'), *hex = strchr(packed, '.');
    uint64_t expiry_ms = 0;
    if (dot == NULL || dot == hex || strlen(packed) > 2 * STATE_BYTES_MAX)
        return false;
    const char *front = arena_strndup(&rpc->call->http.arena, packed, (size_t)(dot - packed));
    sign_state(rpc, front, mac);
    if (!secret_same(dot + 1, mac) || sscanf(front, "%" SCNx64 ".", &expiry_ms) != 1 ||
        (int64_t)expiry_ms < now_ms())
        return false;
    rpc->state = unhex(hex + 1, (size_t)(dot - hex - 1));
    return true;
}

bool input_read(struct rpc *rpc)
{
    const struct js *params = rpc->message.params;
    const struct js *state = js_get(params, "requestState");
    const char *key;
    const struct js *value;
    bool given = false;
    for (size_t it = 0; js_next(params, &it, &key, &value);)
        given = given || strcmp(key, "inputResponses") == 0;
    const struct js *inputs = js_get(params, "inputResponses");
    bool good = !given || js_type(inputs) == JS_OBJECT;
    for (size_t it = 0; good && js_next(inputs, &it, &key, &value);)
        good = js_type(value) == JS_OBJECT;
    if (!good) {
        rpc_fail(rpc, MCP_INVALID_PARAMS, "params.inputResponses must be an object of objects",
                 (struct str){0});
        return false;
    }
    if (state != NULL && !unpack_state(rpc, js_str(state, ""))) {
        rpc_fail(rpc, MCP_INVALID_PARAMS,
                 "params.requestState is not what this request was answered with, or too old: call "
                 "again without it",
                 (struct str){0});
        return false;
    }
    rpc->inputs = inputs;
    return true;
}

const struct js *input_given(const struct rpc *rpc, const char *key)
{
    return js_get(rpc->inputs, key);
}

/* ---- Asking ---- */

static void ask_modern(struct rpc *rpc, const struct input_request *requests, size_t count,
                       const char *state)
{
    const char *packed = state != NULL ? pack_state(rpc, state) : NULL;
    struct jw *jw = rpc_result_as(rpc, "input_required");
    jw_key(jw, "inputRequests");
    jw_begin(jw, '{');
    for (size_t i = 0; i < count; i++) {
        if (!(rpc->client & input_needs(requests[i].method)))
            continue;
        jw_key(jw, requests[i].key);
        jw_begin(jw, '{');
        jw_kstr(jw, "method", requests[i].method);
        jw_kraw(jw, "params", requests[i].params);
        jw_end(jw, '}');
    }
    jw_end(jw, '}');
    if (packed != NULL)
        jw_kstr(jw, "requestState", packed);
    rpc_done(rpc);
}

static void on_gone(struct rpc *rpc)
{
    rpc_drop(rpc);
}

static void ask_legacy(struct rpc *rpc, const struct input_request *requests, size_t count,
                       void (*again)(struct rpc *rpc))
{
    struct input_wait *wait = mem_alloc(sizeof *wait);
    unsigned char random[RANDOM_BYTES];
    char hex[2 * RANDOM_BYTES + 1];
    rpc->wait = wait;
    wait->again = again;
    wait->until_us = clock_mono_us() + WAIT_US;
    secret_bytes(random, sizeof random);
    hex_encode(hex, random, sizeof random);
    for (size_t i = 0; i < count; i++) {
        if (!(rpc->client & input_needs(requests[i].method)))
            continue;
        struct asked *asked = &wait->items[wait->count++];
        asked->key = mem_strdup(requests[i].key);
        (void)snprintf(asked->id, sizeof asked->id, "drover-%s-%zu", hex, i);
        (void)rpc_request(rpc, asked->id, requests[i].method, requests[i].params);
    }
    mcp_need_tick(rpc->mcp);
    rpc_watch(rpc, on_gone);
}

void input_ask(struct rpc *rpc, const struct input_request *requests, size_t count,
               const char *state, void (*again)(struct rpc *rpc))
{
    unsigned needed = 0;
    assert(count <= INPUT_REQUESTS_MAX);
    for (size_t i = 0; i < count; i++)
        needed |= input_needs(requests[i].method);
    bool can = (rpc->client & needed) != 0;
    if (!can)
        input_missing(rpc, needed);
    else if (rpc->mcp->closed)
        mcp_tool_error(rpc, STOPPING_TEXT);
    else if (rpc->era == MCP_MODERN)
        ask_modern(rpc, requests, count, state);
    else if (rpc->takes_sse && rpc->session != NULL) {
        mem_free(rpc->state);
        rpc->state = state != NULL ? mem_strdup(state) : NULL;
        ask_legacy(rpc, requests, count, again);
    } else {
        mcp_tool_error(rpc, "NO_STREAM: the client must be asked, and takes no stream of events "
                            "(Accept: text/event-stream)");
    }
}

void input_write_question(struct jw *jw, const struct js *question)
{
    const struct js *options = js_get(question, "options");
    const char *otherwise = js_get_str(question, "default", NULL);
    jw_kstr(jw, "message", js_get_str(question, "text", "An agent asks a question."));
    jw_key(jw, "requestedSchema");
    jw_begin(jw, '{');
    jw_kstr(jw, "type", "object");
    jw_key(jw, "properties");
    jw_begin(jw, '{');
    jw_key(jw, "answer");
    jw_begin(jw, '{');
    jw_kstr(jw, "type", "string");
    jw_kstr(jw, "title", "Answer");
    if (js_count(options) > 0) {
        jw_key(jw, "enum");
        js_write(jw, options);
    }
    jw_optstr(jw, "default", otherwise);
    jw_end(jw, '}');
    jw_end(jw, '}');
    jw_kraw(jw, "required", STR("[\"answer\"]"));
    jw_end(jw, '}');
}

/* ---- Responses of legacy clients ---- */

bool input_waits(const struct rpc *rpc)
{
    return rpc->wait != NULL;
}

static void go_on(struct rpc *rpc)
{
    struct input_wait *wait = rpc->wait;
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, GATHERED_BYTES_MAX);
    struct jw jw = jw_to(&text);
    jw_begin(&jw, '{');
    for (size_t i = 0; i < wait->count; i++)
        jw_kraw(&jw, wait->items[i].key, str_of(wait->items[i].result));
    jw_end(&jw, '}');
    void (*again)(struct rpc *) = wait->again;
    rpc->wait = NULL;
    input_wait_free(wait);
    js_free(rpc->gathered);
    rpc->gathered = NULL;
    if (text.overflow || js_parse(buf_text(&text), text.len, &rpc->gathered, NULL) != RC_OK) {
        mcp_tool_error(rpc, "TOO_LARGE: the client's answers are too large");
        return;
    }
    rpc->inputs = rpc->gathered;
    again(rpc);
}

static struct asked *find_asked(struct input_wait *wait, struct str id)
{
    for (size_t i = 0; wait != NULL && i < wait->count; i++) {
        struct asked *asked = &wait->items[i];
        size_t len = strlen(asked->id);
        if (asked->result == NULL && id.len == len + 2 && memcmp(id.at + 1, asked->id, len) == 0)
            return asked;
    }
    return NULL;
}

bool input_take(struct rpc_list *rpcs, const struct rpc *from)
{
    struct rpc *rpc;
    LIST_FOREACH(rpc, rpcs, all)
    {
        struct asked *asked = find_asked(rpc->wait, from->message.id);
        if (asked == NULL || rpc->session != from->session)
            continue;
        const struct js *result = from->message.result;
        asked->result = mem_strdup(js_type(result) == JS_OBJECT
                                       ? js_text(result, &from->call->http.arena)
                                       : "{\"action\":\"cancel\"}");
        for (size_t i = 0; i < rpc->wait->count; i++) {
            if (rpc->wait->items[i].result == NULL)
                return true;
        }
        go_on(rpc);
        return true;
    }
    return false;
}

/* Those whose time is before now_us. */
static void end_waits(struct rpc_list *rpcs, int64_t now_us, const char *text)
{
    struct rpc *rpc, *next;
    for (rpc = LIST_FIRST(rpcs); rpc != NULL; rpc = next) {
        next = LIST_NEXT(rpc, all);
        if (rpc->wait != NULL && rpc->wait->until_us < now_us)
            mcp_tool_error(rpc, text);
    }
}

void input_tick(struct rpc_list *rpcs, int64_t now_us)
{
    end_waits(rpcs, now_us, "TIMEOUT: the client was asked and has not answered in time");
}

void input_end_all(struct rpc_list *rpcs)
{
    end_waits(rpcs, INT64_MAX, STOPPING_TEXT);
}
