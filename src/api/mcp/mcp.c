/*
 * mcp.c - from the request to the method: what a message is, and which function runs it.
 */
#include "api/mcp/mcp.h"
#include "api/mcp/mcp_parts.h"
#include "api/mcp/mcp_text.h"
#include "api/mcp/tools.h"
#include "base/clock.h"
#include "base/mem.h"
#include <assert.h>
#include <string.h>

enum { TICK_MS = 1000, DISCOVER_TTL_MS = 3600000 };

#define NO_DATA ((struct str){0})

struct rpc_list *mcp_rpcs(struct mcp *mcp)
{
    return &mcp->rpcs;
}

struct str mcp_server_info(void)
{
    return STR("{\"name\":\"drover\",\"title\":\"drover\",\"version\":\"" DROVER_VERSION "\"}");
}

struct str mcp_text(const char *name)
{
    const struct schema_text *each = mcp_texts;
    while (each->name != NULL && !text_same(each->name, name))
        each++;
    assert(each->name != NULL);
    return each->json;
}

/* ---- Opening ---- */

#define INSTRUCTIONS                                                                           \
    "drover runs coding agents on tasks in git repositories. To have work done: create_task, " \
    "then get_task_status. To do work: get_next_task claims a task under a lease; send "       \
    "heartbeat while you work, then report_task_completion or report_task_failure with the "   \
    "claim's id and epoch."

static void write_capabilities(const struct rpc *rpc, struct jw *jw)
{
    (void)rpc;
    jw_key(jw, "capabilities");
    jw_begin(jw, '{');
    jw_kraw(jw, "tools", STR("{}"));
    jw_end(jw, '}');
}

static void initialize(struct rpc *rpc)
{
    const char *wanted = rpc_param(rpc, "protocolVersion");
    if (wanted == NULL) {
        rpc_fail(rpc, MCP_INVALID_PARAMS, "params.protocolVersion must be a string", NO_DATA);
        return;
    }
    struct jw *jw = rpc_result(rpc);
    jw_kstr(jw, "protocolVersion", mcp_era_agree(wanted));
    write_capabilities(rpc, jw);
    jw_kraw(jw, "serverInfo", mcp_server_info());
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

/* ---- Methods ---- */

enum { IN_LEGACY = 1, IN_MODERN = 2, IN_BOTH = 3 };

static const struct method {
    const char *name;
    unsigned eras;
    void (*run)(struct rpc *rpc);
} methods[] = {
    {"initialize", IN_LEGACY, initialize},    {"ping", IN_LEGACY, ping},
    {"server/discover", IN_MODERN, discover}, {"tools/list", IN_BOTH, tools_list},
    {"tools/call", IN_BOTH, tools_call},
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

/* What the message asks for beside its answer. */
static enum rc read_meta(struct rpc *rpc, struct err *err)
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
        loop_pace(rpc->mcp->tick, TICK_MS);
    return RC_OK;
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
    method->run(rpc);
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
    else if (rpc->message.kind == MCP_REQUEST)
        run(rpc);
    else
        rpc_accepted(rpc);
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
    struct rpc *rpc = rpc_new(call->api->mcp, call, tree, &message);
    if (rc == RC_OK) {
        decide(rpc);
        return RC_OK;
    }
    rpc->era = era_by_header(call);
    call->http.answer.status = 400;
    rpc_fail(rpc, code, why.text, NO_DATA);
    return RC_OK;
}

void api_mcp_get(struct call *call)
{
    call_fail_status(call, 405, "METHOD_NOT_ALLOWED", "this path takes POST");
    http_answer_header(&call->http, "Allow", "POST, DELETE");
}

void api_mcp_delete(struct call *call)
{
    call_fail_status(call, 405, "METHOD_NOT_ALLOWED", "this path takes POST");
    http_answer_header(&call->http, "Allow", "POST");
}

/* ---- The whole ---- */

static void on_tick(void *arg)
{
    struct mcp *mcp = arg;
    bool any = false;
    struct rpc *rpc;
    LIST_FOREACH(rpc, &mcp->rpcs, all)
    {
        any = any || rpc->progress != NULL;
    }
    if (!any)
        loop_pace(mcp->tick, 0);
    rpc_tick(&mcp->rpcs, clock_mono_us());
}

enum rc mcp_new(struct api *api, const struct mcp_options *options, struct mcp **ret_mcp,
                struct err *err)
{
    struct mcp *mcp = mem_alloc(sizeof *mcp);
    mcp->api = api;
    mcp->fixtures = options->fixtures;
    LIST_INIT(&mcp->rpcs);
    enum rc rc = tools_new(&mcp->tools, err);
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
}

void mcp_free(struct mcp *mcp)
{
    if (mcp == NULL)
        return;
    assert(LIST_EMPTY(&mcp->rpcs));
    loop_event_free(mcp->tick);
    tools_free(mcp->tools);
    mem_free(mcp);
}
