/*
 * mcp.c - from the request to the method: what a message is, and which function runs it.
 */
#include "api/mcp/mcp.h"
#include "api/mcp/fixtures.h"
#include "api/mcp/input.h"
#include "api/mcp/listen.h"
#include "api/mcp/mcp_parts.h"
#include "api/mcp/prompts.h"
#include "api/mcp/resources.h"
#include "api/mcp/session.h"
#include "api/mcp/tasks.h"
#include "api/mcp/tools.h"
#include "base/clock.h"
#include "base/mem.h"
#include <assert.h>
#include <string.h>

enum { DISCOVER_TTL_MS = 3600000 };

#define NO_DATA        ((struct str){0})
#define SESSION_HEADER "Mcp-Session-Id"

/* ---- Opening ---- */

#define INSTRUCTIONS                                                                           \
    "drover runs coding agents on tasks in git repositories. To have work done: create_task, " \
    "then get_task_status. To do work: get_next_task claims a task under a lease; send "       \
    "heartbeat while you work, then report_task_completion or report_task_failure with the "   \
    "claim's id and epoch."

/* Lists change, and log messages are sent, only by fixtures. */
static void write_capabilities(const struct rpc *rpc, struct jw *jw)
{
    bool fixtures = rpc->mcp->extra != NULL;
    struct str list = fixtures ? STR("{\"listChanged\":true}") : STR("{}");
    jw_key(jw, "capabilities");
    jw_begin(jw, '{');
    jw_kraw(jw, "tools", list);
    jw_kraw(jw, "prompts", list);
    jw_kraw(jw, "resources", STR("{\"subscribe\":true}"));
    jw_kraw(jw, "completions", STR("{}"));
    if (fixtures)
        jw_kraw(jw, "logging", STR("{}"));
    if (rpc->era == MCP_MODERN)
        jw_kraw(jw, "extensions", STR("{\"" MCP_EXTENSION_TASKS "\":{}}"));
    jw_end(jw, '}');
}

/* What a client can be asked for.  A form is the default kind of elicitation. */
static unsigned client_of(const struct js *capabilities)
{
    const struct js *elicitation = js_get(capabilities, "elicitation");
    bool form = js_get(elicitation, "form") != NULL || js_get(elicitation, "url") == NULL;
    unsigned client = elicitation != NULL && form ? CLIENT_ELICITATION : 0;
    client |= js_get(capabilities, "sampling") != NULL ? CLIENT_SAMPLING : 0;
    client |= js_get(capabilities, "roots") != NULL ? CLIENT_ROOTS : 0;
    return client;
}

static void attach(struct rpc *rpc, struct session *session)
{
    rpc->session = session;
    rpc->client = session->client;
    rpc->log_level = (enum mcp_level)session->log_level;
    session->users++;
}

static void initialize(struct rpc *rpc)
{
    const char *wanted = rpc_param(rpc, "protocolVersion");
    if (wanted == NULL) {
        rpc_fail(rpc, MCP_INVALID_PARAMS, "params.protocolVersion must be a string", NO_DATA);
        return;
    }
    unsigned client = client_of(js_get(rpc->message.params, "capabilities"));
    if (rpc->session == NULL)
        attach(rpc, mcp_sessions_open(rpc->mcp->sessions, &rpc->call->who, client));
    http_answer_header(&rpc->call->http, SESSION_HEADER,
                       arena_strdup(&rpc->call->http.arena, rpc->session->id));
    struct jw *jw = rpc_result(rpc);
    jw_kstr(jw, "protocolVersion", mcp_era_agree(wanted));
    write_capabilities(rpc, jw);
    jw_kraw(jw, "serverInfo", rpc_server_info());
    jw_kstr(jw, "instructions", INSTRUCTIONS);
    rpc_done(rpc);
}

static void discover(struct rpc *rpc)
{
    struct jw *jw = rpc_result(rpc);
    jw_key(jw, "supportedVersions");
    jw_begin(jw, '[');
    for (size_t i = 0; mcp_versions[i] != NULL; i++)
        jw_str(jw, mcp_versions[i]);
    jw_end(jw, ']');
    write_capabilities(rpc, jw);
    jw_kstr(jw, "instructions", INSTRUCTIONS);
    rpc_cacheable(rpc, DISCOVER_TTL_MS, true);
    rpc_done(rpc);
}

static void ping(struct rpc *rpc)
{
    (void)rpc_result(rpc);
    rpc_done(rpc);
}

static void set_level(struct rpc *rpc)
{
    enum mcp_level level;
    const char *name = rpc_param(rpc, "level");
    if (rpc->mcp->extra == NULL) {
        rpc_fail(rpc, MCP_METHOD_NOT_FOUND, "drover sends no log messages", NO_DATA);
        return;
    }
    if (name == NULL || !mcp_level_parse(name, &level)) {
        rpc_fail(rpc, MCP_INVALID_PARAMS, "params.level must be a level like info", NO_DATA);
        return;
    }
    if (rpc->session != NULL)
        rpc->session->log_level = (int)level;
    (void)rpc_result(rpc);
    rpc_done(rpc);
}

/* ---- Methods ---- */

enum { IN_LEGACY = 1, IN_MODERN = 2, IN_BOTH = 3 };

static const struct method {
    const char *name;
    unsigned eras;
    void (*run)(struct rpc *rpc);
} methods[] = {
    {"initialize", IN_LEGACY, initialize},
    {"ping", IN_LEGACY, ping},
    {"logging/setLevel", IN_LEGACY, set_level},
    {"resources/subscribe", IN_LEGACY, listen_subscribe},
    {"resources/unsubscribe", IN_LEGACY, listen_unsubscribe},
    {"server/discover", IN_MODERN, discover},
    {"subscriptions/listen", IN_MODERN, listen_open},
    {"tasks/get", IN_MODERN, mcp_tasks_get},
    {"tasks/update", IN_MODERN, mcp_tasks_update},
    {"tasks/cancel", IN_MODERN, mcp_tasks_cancel},
    {"tools/list", IN_BOTH, tools_list},
    {"tools/call", IN_BOTH, tools_call},
    {"resources/list", IN_BOTH, resources_list},
    {"resources/templates/list", IN_BOTH, resources_templates},
    {"resources/read", IN_BOTH, resources_read},
    {"prompts/list", IN_BOTH, prompts_list},
    {"prompts/get", IN_BOTH, prompts_get},
    {"completion/complete", IN_BOTH, prompts_complete},
};

static const struct method *method_of(const struct rpc *rpc)
{
    unsigned era = rpc->era == MCP_MODERN ? IN_MODERN : IN_LEGACY;
    for (size_t i = 0; i < COUNT_OF(methods); i++) {
        if ((methods[i].eras & era) && text_same(methods[i].name, rpc->message.method))
            return &methods[i];
    }
    return NULL;
}

/* ---- The way in ---- */

static void refuse_verdict(struct rpc *rpc, const struct mcp_verdict *verdict,
                           const struct err *err)
{
    CLEANUP(buf_release) struct buf data;
    buf_init(&data, 1024);
    if (verdict->requested != NULL) {
        struct jw jw = jw_to(&data);
        jw_begin(&jw, '{');
        jw_key(&jw, "supported");
        jw_begin(&jw, '[');
        for (size_t i = 0; mcp_versions[i] != NULL; i++)
            jw_str(&jw, mcp_versions[i]);
        jw_end(&jw, ']');
        jw_kstr(&jw, "requested", verdict->requested);
        jw_end(&jw, '}');
    }
    rpc->call->http.answer.status = 400;
    rpc_fail(rpc, verdict->code, err->text, buf_str(&data));
}

static enum rc read_progress(struct rpc *rpc, struct err *err)
{
    const struct js *token = js_get(rpc->message.meta, MCP_META_PROGRESS);
    enum js_type type = js_type(token);
    if (token == NULL)
        return RC_OK;
    if (type != JS_STRING && type != JS_INT && type != JS_REAL)
        return err_set(err, RC_INVALID, "INVALID_PARAMS",
                       "_meta.progressToken must be a string or a number");
    char *text = js_text(token, &rpc->call->http.arena);
    if (strlen(text) > MCP_ID_BYTES_MAX)
        return err_set(err, RC_INVALID, "INVALID_PARAMS",
                       "_meta.progressToken must have at most %d bytes", MCP_ID_BYTES_MAX);
    rpc->progress = mem_strdup(text);
    if (rpc->takes_sse)
        mcp_need_tick(rpc->mcp);
    return RC_OK;
}

/* What a message says of its client, and asks for beside its answer. */
static enum rc read_meta(struct rpc *rpc, struct err *err)
{
    const struct js *meta = rpc->message.meta;
    const char *level = js_get_str(meta, MCP_META_LOG_LEVEL, NULL);
    if (rpc->era == MCP_MODERN) {
        const struct js *capabilities = js_get(meta, MCP_META_CAPABILITIES);
        rpc->client = client_of(capabilities);
        if (js_get(js_get(capabilities, "extensions"), MCP_EXTENSION_TASKS) != NULL)
            rpc->client |= CLIENT_TASKS;
        rpc->log_level = MCP_LEVEL_COUNT;
        if (level != NULL && !mcp_level_parse(level, &rpc->log_level))
            return err_set(err, RC_INVALID, "INVALID_PARAMS", "%.40s is not a level", level);
    }
    return read_progress(rpc, err);
}

static void run(struct rpc *rpc)
{
    struct err err = {0};
    const struct method *method = method_of(rpc);
    if (method == NULL) {
        rpc_fail(
            rpc, MCP_METHOD_NOT_FOUND,
            arena_printf(&rpc->call->http.arena, "Method not found: %.128s", rpc->message.method),
            NO_DATA);
        return;
    }
    if (read_meta(rpc, &err) != RC_OK) {
        rpc_fail(rpc, MCP_INVALID_PARAMS, err.text, NO_DATA);
        return;
    }
    if (rpc->era == MCP_LEGACY || input_read(rpc))
        method->run(rpc);
}

/* ---- Legacy ---- */

static const struct problem no_session = {
    .status = 404,
    .code = "NO_SUCH_SESSION",
    .detail = "this session has ended, or is of another token: send initialize again",
};

/* false: the session that it names is not there, and it is answered. */
static bool find_session(struct rpc *rpc)
{
    const char *id = http_header(&rpc->call->http, SESSION_HEADER);
    if (rpc->era != MCP_LEGACY || id == NULL || text_same(rpc->message.method, "initialize"))
        return true;
    struct session *session = mcp_sessions_find(rpc->mcp->sessions, &rpc->call->who, id);
    if (session == NULL) {
        rpc_problem(rpc, &no_session);
        return false;
    }
    attach(rpc, session);
    return true;
}

/* The client waits no longer for the answer to a call of its session. */
static void cancel(struct rpc *from)
{
    struct arena *arena = &from->call->http.arena;
    const struct js *id = js_get(from->message.params, "requestId");
    const char *wanted = id != NULL ? js_text(id, arena) : NULL;
    struct rpc *rpc;
    LIST_FOREACH(rpc, &from->home->rpcs, all)
    {
        bool same = rpc != from && from->session != NULL && rpc->session == from->session &&
                    text_same(rpc->id, wanted);
        if (same && rpc->inner != NULL)
            break;
    }
    if (rpc != NULL)
        http_inner_gone(&rpc->inner->http); /* Which may answer and free it. */
}

/* Notifications and responses. */
static void take(struct rpc *rpc)
{
    if (rpc->message.kind == MCP_RESPONSE)
        (void)input_take(&rpc->home->rpcs, rpc);
    else if (rpc->era == MCP_LEGACY && text_same(rpc->message.method, "notifications/cancelled"))
        cancel(rpc);
    rpc_accepted(rpc);
}

/* The era of a body that cannot be read, by its header. */
static enum mcp_era era_by_header(const struct call *call)
{
    const char *version = http_header(&call->http, "MCP-Protocol-Version");
    return text_same(version, MCP_VERSION_MODERN) ? MCP_MODERN : MCP_LEGACY;
}

static void decide(struct rpc *rpc)
{
    const struct http_request *http = &rpc->call->http;
    struct err err = {0};
    struct mcp_verdict verdict;
    const struct mcp_headers headers = {
        .version = http_header(http, "MCP-Protocol-Version"),
        .method = http_header(http, "Mcp-Method"),
        .name = http_header(http, "Mcp-Name"),
    };
    enum rc rc = mcp_era_decide(&rpc->message, &headers, &verdict, &err);
    rpc->era = verdict.era;
    if (rc != RC_OK)
        refuse_verdict(rpc, &verdict, &err);
    else if (!find_session(rpc))
        return;
    else if (rpc->message.kind == MCP_REQUEST)
        run(rpc);
    else
        take(rpc);
}

enum rc api_mcp_post(struct call *call, struct err *err)
{
    (void)err;
    struct js *tree = NULL;
    struct mcp_message message = {0};
    struct err why = {0};
    struct str body = http_body(&call->http);
    enum rc rc = js_parse(body.at, body.len, &tree, &why);
    enum mcp_error code = MCP_PARSE_ERROR;
    if (rc == RC_OK) {
        rc = mcp_message_read(tree, body, &message, &why);
        code = MCP_INVALID_REQUEST;
    }
    struct rpc *rpc = rpc_new(&call->api->mcp->home, call, tree, &message);
    if (rc == RC_OK) {
        decide(rpc);
        return RC_OK;
    }
    rpc->era = era_by_header(call);
    call->http.answer.status = 400;
    rpc_fail(rpc, code, why.text, NO_DATA);
    return RC_OK;
}

static void refuse_method(struct call *call)
{
    call_fail_status(call, 405, "METHOD_NOT_ALLOWED",
                     "GET and DELETE are for legacy clients with a session: send Mcp-Session-Id");
    http_answer_header(&call->http, "Allow", "POST");
    http_finish(&call->http);
}

/* The legacy session that GET and DELETE name; NULL: there is none, and the call is answered. */
static struct session *named_session(struct call *call)
{
    const char *id = http_header(&call->http, SESSION_HEADER);
    if (id == NULL || era_by_header(call) == MCP_MODERN) {
        refuse_method(call);
        return NULL;
    }
    struct session *session = mcp_sessions_find(call->api->mcp->sessions, &call->who, id);
    if (session == NULL) {
        http_answer_problem(&call->http, &no_session);
        http_finish(&call->http);
    }
    return session;
}

/* The stream of a legacy session. */
enum rc api_mcp_get(struct call *call, struct err *err)
{
    (void)err;
    struct session *session = named_session(call);
    if (session == NULL)
        return RC_OK;
    struct rpc *rpc = rpc_new(&call->api->mcp->home, call, NULL, &(struct mcp_message){0});
    attach(rpc, session);
    listen_session(rpc);
    return RC_OK;
}

/* Ends a legacy session. */
enum rc api_mcp_delete(struct call *call, struct err *err)
{
    (void)err;
    struct session *session = named_session(call);
    if (session == NULL)
        return RC_OK;
    struct rpc *stream = session->stream;
    mcp_sessions_end(call->api->mcp->sessions, session);
    if (stream != NULL)
        listen_end(stream);
    call->http.answer.status = 204;
    http_finish(&call->http);
    return RC_OK;
}

/* ---- The whole ---- */

static bool needs_tick(const struct rpc *rpc)
{
    return rpc->progress != NULL || rpc->listener != NULL || input_waits(rpc);
}

static void on_tick(void *arg)
{
    struct mcp *mcp = arg;
    int64_t now_us = clock_mono_us();
    struct rpc *rpc = LIST_FIRST(&mcp->home.rpcs);
    while (rpc != NULL && !needs_tick(rpc))
        rpc = LIST_NEXT(rpc, all);
    if (rpc == NULL)
        loop_pace(mcp->tick, 0);
    rpc_tick(&mcp->home.rpcs, now_us);
    input_tick(&mcp->home.rpcs, now_us);
    listen_tick(&mcp->home.rpcs, now_us);
}

static void release(struct rpc *rpc)
{
    listener_free(rpc->listener);
    input_wait_free(rpc->wait);
    if (rpc->session != NULL)
        rpc->session->users--;
}

enum rc mcp_new(struct api *api, const struct mcp_options *options, struct mcp **ret_mcp,
                struct err *err)
{
    struct mcp *mcp = mem_alloc(sizeof *mcp);
    mcp->api = api;
    mcp->home = (struct rpc_home){.mcp = mcp, .release = release};
    LIST_INIT(&mcp->home.rpcs);
    mcp->sessions = mcp_sessions_new(api->control);
    enum rc rc = tools_new(&mcp->tools, err);
    if (rc == RC_OK)
        rc = prompts_new(&mcp->prompts, err);
    if (rc == RC_OK && options->fixtures) {
        rc = fixtures_new(&mcp->fixtures, err);
        mcp->extra = &fixtures_extra;
    }
    if (rc != RC_OK) {
        mcp_free(mcp);
        return rc;
    }
    mcp->tick = loop_every(api->loop, 0, on_tick, mcp);
    *ret_mcp = mcp;
    return RC_OK;
}

void mcp_close(struct mcp *mcp)
{
    mcp->closed = true;
    listen_close(&mcp->home.rpcs);
    input_end_all(&mcp->home.rpcs);
}

void mcp_free(struct mcp *mcp)
{
    if (mcp == NULL)
        return;
    assert(LIST_EMPTY(&mcp->home.rpcs));
    loop_event_free(mcp->tick);
    tools_free(mcp->tools);
    prompts_free(mcp->prompts);
    mcp_sessions_free(mcp->sessions);
    fixtures_free(mcp->fixtures);
    mem_free(mcp);
}
