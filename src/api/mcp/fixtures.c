#include "api/mcp/fixtures.h"
#include "api/mcp/fixture_tasks.h"
#include "api/mcp/input.h"
#include "api/mcp/listen.h"
#include "api/mcp/mcp_parts.h"
#include "api/mcp/tools.h"
#include "base/mem.h"
#include "core/mcp/uri.h"
#include <inttypes.h>
#include <string.h>

enum { TEXT_BYTES_MAX = 64 * 1024, NAME_BYTES_MAX = 128 };

struct fixtures {
    struct js *tree;
    struct fixture_tasks *tasks;
};

enum rc fixtures_new(struct fixtures **ret_fixtures, struct err *err)
{
    struct fixtures *fixtures = mem_alloc(sizeof *fixtures);
    struct str text = mcp_text("fixtures");
    fixtures->tasks = fixture_tasks_new();
    enum rc rc = js_parse(text.at, text.len, &fixtures->tree, err);
    if (rc == RC_OK)
        *ret_fixtures = fixtures;
    else
        fixtures_free(fixtures);
    return rc;
}

void fixtures_free(struct fixtures *fixtures)
{
    if (fixtures == NULL)
        return;
    js_free(fixtures->tree);
    fixture_tasks_free(fixtures->tasks);
    mem_free(fixtures);
}

static const struct js *find(const struct rpc *rpc, const char *group, const char *name)
{
    return js_get(js_get(rpc->mcp->fixtures->tree, group), name);
}

/* ---- Lists ---- */

static void list_all(struct rpc *rpc, struct jw *jw, enum fixture_list list)
{
    static const struct {
        const char *group, *key;
        const char *members[5];
    } shapes[] = {
        [FIXTURE_TOOLS] = {"tools", "name", {"description", "inputSchema"}},
        [FIXTURE_RESOURCES] = {"resources", "uri", {"name", "title", "description", "mimeType"}},
        [FIXTURE_TEMPLATES] = {"templates",
                               "uriTemplate",
                               {"name", "title", "description", "mimeType"}},
        [FIXTURE_PROMPTS] = {"prompts", "name", {"description", "arguments"}},
    };
    const char *name;
    const struct js *item;
    const struct js *group = js_get(rpc->mcp->fixtures->tree, shapes[list].group);
    for (size_t it = 0; js_next(group, &it, &name, &item);) {
        jw_begin(jw, '{');
        jw_kstr(jw, shapes[list].key, name);
        for (size_t i = 0; shapes[list].members[i] != NULL; i++) {
            const struct js *value = js_get(item, shapes[list].members[i]);
            if (value == NULL)
                continue;
            jw_key(jw, shapes[list].members[i]);
            js_write(jw, value);
        }
        jw_end(jw, '}');
    }
}

static bool knows_ref(const struct rpc *rpc, const struct js *ref)
{
    return find(rpc, "prompts", js_get_str(ref, "name", "")) != NULL ||
           find(rpc, "templates", js_get_str(ref, "uri", "")) != NULL;
}

/* ---- Results ---- */

static void answer_text(struct rpc *rpc, const char *text)
{
    struct jw *jw = rpc_result(rpc);
    jw_key(jw, "content");
    jw_begin(jw, '[');
    jw_begin(jw, '{');
    jw_kstr(jw, "type", "text");
    jw_kstr(jw, "text", text);
    jw_end(jw, '}');
    jw_end(jw, ']');
    rpc_done(rpc);
}

static void answer_content(struct rpc *rpc, const struct js *tool)
{
    struct jw *jw = rpc_result(rpc);
    jw_key(jw, "content");
    js_write(jw, js_get(tool, "content"));
    if (js_get_bool(tool, "isError", false))
        jw_kbool(jw, "isError", true);
    rpc_done(rpc);
}

/* ---- Asking ---- */

/* Have all that it can be asked been answered, in the round that they were asked in? */
static bool is_answered(const struct rpc *rpc, const struct js *ask, const char *state)
{
    const char *key;
    const struct js *request;
    if (state != NULL && !text_same(rpc->state, state))
        return false;
    for (size_t it = 0; js_next(ask, &it, &key, &request);) {
        unsigned needs = input_needs(js_get_str(request, "method", ""));
        if ((rpc->client & needs) && input_given(rpc, key) == NULL)
            return false;
    }
    return rpc->inputs != NULL;
}

static void ask_all(struct rpc *rpc, const struct js *ask, const char *state,
                    void (*again)(struct rpc *rpc))
{
    struct input_request requests[INPUT_REQUESTS_MAX];
    struct arena *arena = &rpc->call->http.arena;
    size_t count = 0;
    const char *key;
    const struct js *request;
    for (size_t it = 0; count < INPUT_REQUESTS_MAX && js_next(ask, &it, &key, &request);)
        requests[count++] = (struct input_request){
            .key = key,
            .method = js_get_str(request, "method", ""),
            .params = str_of(js_text(js_get(request, "params"), arena))};
    input_ask(rpc, requests, count, state, again);
}

static void answer_inputs(struct rpc *rpc)
{
    struct arena *arena = &rpc->call->http.arena;
    answer_text(rpc,
                arena_printf(arena, "Elicitation completed: %s%s%s", js_text(rpc->inputs, arena),
                             rpc->state != NULL ? " " : "", rpc->state != NULL ? rpc->state : ""));
}

/* One question, whose params depend on the arguments. */
static void ask_one(struct rpc *rpc, const char *method, struct str params)
{
    const struct js *given = input_given(rpc, "question");
    struct arena *arena = &rpc->call->http.arena;
    if (given != NULL) {
        answer_text(rpc, arena_printf(arena, "The client has answered: %s", js_text(given, arena)));
        return;
    }
    input_ask(rpc, &(struct input_request){.key = "question", .method = method, .params = params},
              1, NULL, tools_call);
}

static void run_sampling(struct rpc *rpc, const struct js *arguments)
{
    CLEANUP(buf_release) struct buf params;
    buf_init(&params, TEXT_BYTES_MAX);
    struct jw jw = jw_to(&params);
    jw_begin(&jw, '{');
    jw_key(&jw, "messages");
    jw_begin(&jw, '[');
    jw_begin(&jw, '{');
    jw_kstr(&jw, "role", "user");
    jw_key(&jw, "content");
    jw_begin(&jw, '{');
    jw_kstr(&jw, "type", "text");
    jw_kstr(&jw, "text", js_get_str(arguments, "prompt", ""));
    jw_end(&jw, '}');
    jw_end(&jw, '}');
    jw_end(&jw, ']');
    jw_kint(&jw, "maxTokens", 100);
    jw_end(&jw, '}');
    ask_one(rpc, "sampling/createMessage", buf_str(&params));
}

static void run_elicitation(struct rpc *rpc, const struct js *arguments)
{
    CLEANUP(buf_release) struct buf params;
    buf_init(&params, TEXT_BYTES_MAX);
    struct jw jw = jw_to(&params);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "message", js_get_str(arguments, "message", ""));
    jw_kraw(&jw, "requestedSchema",
            STR("{\"type\":\"object\",\"properties\":{\"username\":{\"type\":\"string\","
                "\"description\":\"User's response\"},\"email\":{\"type\":\"string\","
                "\"description\":\"User's email address\"}},\"required\":[\"username\","
                "\"email\"]}"));
    jw_end(&jw, '}');
    ask_one(rpc, "elicitation/create", buf_str(&params));
}

/* First a name, then a color; what was asked before is known by the state. */
static void run_multi_round(struct rpc *rpc, const struct js *arguments)
{
    static const struct round {
        const char *state, *key;
        struct str params;
    } rounds[] = {
        {"round-1", "step1",
         STR("{\"message\":\"Step 1: What is your name?\",\"requestedSchema\":{\"type\":\"object\","
             "\"properties\":{\"name\":{\"type\":\"string\"}},\"required\":[\"name\"]}}")},
        {"round-2", "step2",
         STR("{\"message\":\"Step 2: What is your favorite color?\",\"requestedSchema\":{\"type\":"
             "\"object\",\"properties\":{\"color\":{\"type\":\"string\"}},\"required\":"
             "[\"color\"]}}")},
    };
    (void)arguments;
    bool second = text_same(rpc->state, rounds[1].state);
    const struct round *round = &rounds[second];
    if (rpc->state != NULL && input_given(rpc, round->key) != NULL) {
        if (second) {
            answer_inputs(rpc);
            return;
        }
        round = &rounds[1];
    }
    input_ask(rpc,
              &(struct input_request){
                  .key = round->key, .method = "elicitation/create", .params = round->params},
              1, round->state, tools_call);
}

/* ---- Notifications ---- */

static void run_logging(struct rpc *rpc, const struct js *arguments)
{
    (void)arguments;
    rpc_log(rpc, MCP_LEVEL_INFO, STR("\"Tool execution started\""));
    rpc_log(rpc, MCP_LEVEL_INFO, STR("\"Tool processing data\""));
    rpc_log(rpc, MCP_LEVEL_INFO, STR("\"Tool execution completed\""));
    answer_text(rpc, "Three log messages were sent to those that want them.");
}

static void run_progress(struct rpc *rpc, const struct js *arguments)
{
    (void)arguments;
    for (int progress = 0; rpc->progress != NULL && progress <= 100; progress += 50) {
        CLEANUP(buf_release) struct buf params;
        buf_init(&params, 1024);
        buf_addf(&params, "{\"progressToken\":%s,\"progress\":%d,\"total\":100}", rpc->progress,
                 progress);
        (void)rpc_notify(rpc, "notifications/progress", buf_str(&params));
    }
    answer_text(rpc, "Progress was sent to those that asked for it.");
}

static void run_tool_change(struct rpc *rpc, const struct js *arguments)
{
    (void)arguments;
    listen_changed(&rpc->home->rpcs, LISTEN_TOOLS);
    answer_text(rpc, "Those that listen to the list of tools were notified.");
}

static void run_prompt_change(struct rpc *rpc, const struct js *arguments)
{
    (void)arguments;
    listen_changed(&rpc->home->rpcs, LISTEN_PROMPTS);
    answer_text(rpc, "Those that listen to the list of prompts were notified.");
}

static void run_greet(struct rpc *rpc, const struct js *arguments)
{
    answer_text(rpc, arena_printf(&rpc->call->http.arena, "Hello, %.100s!",
                                  js_get_str(arguments, "name", "stranger")));
}

/* ---- Calls ---- */

static const struct behaviour {
    const char *name;
    void (*run)(struct rpc *rpc, const struct js *arguments);
} behaviours[] = {
    {"test_tool_with_logging", run_logging},
    {"test_logging_tool", run_logging},
    {"test_tool_with_progress", run_progress},
    {"test_sampling", run_sampling},
    {"test_elicitation", run_elicitation},
    {"test_trigger_tool_change", run_tool_change},
    {"test_trigger_prompt_change", run_prompt_change},
    {"test_input_required_result_multi_round", run_multi_round},
    {"greet", run_greet},
};

/* Arguments that headers repeat: only modern clients send those. */
static bool headers_agree(struct rpc *rpc, const struct js *tool, const struct js *arguments)
{
    struct arena *arena = &rpc->call->http.arena;
    const char *name;
    const struct js *property;
    if (rpc->era != MCP_MODERN)
        return true;
    const struct js *properties = js_path(tool, "inputSchema.properties");
    for (size_t it = 0; js_next(properties, &it, &name, &property);) {
        const char *header = js_get_str(property, "x-mcp-header", NULL);
        const char *value = js_get_str(arguments, name, NULL);
        if (header == NULL || value == NULL)
            continue;
        const char *field = arena_printf(arena, "Mcp-Param-%s", header);
        const char *sent = http_header(&rpc->call->http, field);
        if (sent != NULL && mcp_header_is(sent, value, arena))
            continue;
        rpc_fail(
            rpc, MCP_HEADER_MISMATCH,
            arena_printf(arena, "Header mismatch: %s must repeat the argument %s", field, name),
            (struct str){0});
        return false;
    }
    return true;
}

static bool call_tool(struct rpc *rpc, const char *name)
{
    const struct js *tool = find(rpc, "tools", name);
    const struct js *arguments = js_get(rpc->message.params, "arguments");
    const struct js *ask = js_get(tool, "ask");
    const char *needs = js_get_str(tool, "needs", NULL), *state = js_get_str(tool, "state", NULL);
    if (tool == NULL)
        return false;
    if (!headers_agree(rpc, tool, arguments))
        return true;
    for (size_t i = 0; i < COUNT_OF(behaviours); i++) {
        if (text_same(behaviours[i].name, name)) {
            behaviours[i].run(rpc, arguments);
            return true;
        }
    }
    if (needs != NULL && !(rpc->client & input_needs(needs)))
        input_missing(rpc, input_needs(needs));
    else if (js_get(tool, "content") != NULL)
        answer_content(rpc, tool);
    else if (ask == NULL)
        fixture_tasks_start(rpc->mcp->fixtures->tasks, rpc, name, arguments);
    else if (is_answered(rpc, ask, state))
        answer_inputs(rpc);
    else
        ask_all(rpc, ask, state, tools_call);
    return true;
}

static bool handle_task(struct rpc *rpc, const char *task_id)
{
    return fixture_tasks_handle(rpc->mcp->fixtures->tasks, rpc, task_id);
}

/* ---- Resources and prompts ---- */

static bool read_resource(struct rpc *rpc, const char *uri)
{
    struct str values[MCP_URI_VARS_MAX];
    struct arena *arena = &rpc->call->http.arena;
    const struct js *resource = find(rpc, "resources", uri);
    bool templated = mcp_uri_match("test://template/{id}/data", uri, values);
    if (resource == NULL && !templated)
        return false;
    struct jw *jw = rpc_result(rpc);
    jw_key(jw, "contents");
    jw_begin(jw, '[');
    jw_begin(jw, '{');
    jw_kstr(jw, "uri", uri);
    if (templated) {
        const char *id = str_dup(arena, values[0]);
        jw_kstr(jw, "mimeType", "application/json");
        jw_kstr(jw, "text",
                arena_printf(arena,
                             "{\"id\":\"%s\",\"templateTest\":true,\"data\":\"Data for ID: %s\"}",
                             id, id));
    } else {
        const char *key = js_get(resource, "blob") != NULL ? "blob" : "text";
        jw_kstr(jw, "mimeType", js_get_str(resource, "mimeType", NULL));
        jw_kstr(jw, key, js_get_str(resource, key, NULL));
    }
    jw_end(jw, '}');
    jw_end(jw, ']');
    rpc_cacheable(rpc, 0, true);
    rpc_done(rpc);
    return true;
}

static void write_message(struct jw *jw, struct str content)
{
    jw_begin(jw, '{');
    jw_kstr(jw, "role", "user");
    jw_kraw(jw, "content", content);
    jw_end(jw, '}');
}

static void write_text_message(struct jw *jw, const char *text)
{
    CLEANUP(buf_release) struct buf content;
    buf_init(&content, TEXT_BYTES_MAX);
    struct jw inner = jw_to(&content);
    jw_begin(&inner, '{');
    jw_kstr(&inner, "type", "text");
    jw_kstr(&inner, "text", text);
    jw_end(&inner, '}');
    write_message(jw, buf_str(&content));
}

static void write_resource_message(struct jw *jw, const char *uri)
{
    CLEANUP(buf_release) struct buf content;
    buf_init(&content, TEXT_BYTES_MAX);
    struct jw inner = jw_to(&content);
    jw_begin(&inner, '{');
    jw_kstr(&inner, "type", "resource");
    jw_key(&inner, "resource");
    jw_begin(&inner, '{');
    jw_kstr(&inner, "uri", uri);
    jw_kstr(&inner, "mimeType", "text/plain");
    jw_kstr(&inner, "text", "Embedded resource content for testing.");
    jw_end(&inner, '}');
    jw_end(&inner, '}');
    write_message(jw, buf_str(&content));
}

static void write_messages(struct rpc *rpc, struct jw *jw, const char *name,
                           const struct js *arguments)
{
    struct arena *arena = &rpc->call->http.arena;
    if (text_same(name, "test_prompt_with_arguments")) {
        write_text_message(jw, arena_printf(arena, "Prompt with arguments: arg1='%s', arg2='%s'",
                                            js_get_str(arguments, "arg1", ""),
                                            js_get_str(arguments, "arg2", "")));
    } else if (text_same(name, "test_prompt_with_embedded_resource")) {
        write_resource_message(jw, js_get_str(arguments, "resourceUri", ""));
        write_text_message(jw, "Please process the embedded resource above.");
    } else {
        write_text_message(
            jw, arena_printf(arena, "The client has answered: %s", js_text(rpc->inputs, arena)));
    }
}

static bool get_prompt(struct rpc *rpc, const char *name)
{
    const struct js *prompt = find(rpc, "prompts", name);
    const struct js *messages = js_get(prompt, "messages"), *ask = js_get(prompt, "ask");
    const struct js *arguments = js_get(rpc->message.params, "arguments");
    if (prompt == NULL)
        return false;
    if (ask != NULL && !is_answered(rpc, ask, NULL)) {
        ask_all(rpc, ask, NULL, NULL);
        return true;
    }
    struct jw *jw = rpc_result(rpc);
    jw_kstr(jw, "description", js_get_str(prompt, "description", NULL));
    jw_key(jw, "messages");
    if (messages != NULL) {
        js_write(jw, messages);
    } else {
        jw_begin(jw, '[');
        write_messages(rpc, jw, name, arguments);
        jw_end(jw, ']');
    }
    rpc_done(rpc);
    return true;
}

const struct mcp_extra fixtures_extra = {
    .list = list_all,
    .call = call_tool,
    .read = read_resource,
    .prompt = get_prompt,
    .task = handle_task,
    .ref = knows_ref,
};
