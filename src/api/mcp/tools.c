#include "api/mcp/tools.h"
#include "api/audit_calls.h"
#include "api/mcp/input.h"
#include "api/mcp/mcp_parts.h"
#include "api/mcp/tasks.h"
#include "base/js_peek.h"
#include "base/mem.h"
#include "base/suggest.h"
#include "core/event_types.h"
#include <assert.h>
#include <inttypes.h>
#include <string.h>

enum { QUERY_BYTES_MAX = 8 * 1024, ERROR_BYTES_MAX = 8 * 1024, TTL_MS = 300000 };

#define GET(route)  .method = HTTP_GET, .pattern = (route)
#define POST(route) .method = HTTP_POST, .pattern = (route)

static tool_before ask_for_answer;
static tool_after note_messages;

/* To add one: a row here, and its text in schemas/mcp/tools.json. */
static const struct tool_row rows[] = {
    {"create_task", POST("/v1/tasks"), .key = "idempotencyKey", .makes_task = true},
    {"get_task_status", GET("/v1/tasks/{id}"), .path = {"taskId"}},
    {"list_tasks", GET("/v1/tasks")},
    {"cancel_task", POST("/v1/tasks/{id}/cancel"), .path = {"taskId"}},
    {"retry_task", POST("/v1/tasks/{id}/retry"), .path = {"taskId"}, .makes_task = true},
    {"get_next_task", POST("/v1/claims"), .waits = "Waiting for a task"},
    {"heartbeat", POST("/v1/claims/{id}/heartbeat"), .path = {"claimId"}},
    {"report_task_completion", POST("/v1/claims/{id}/complete"), .path = {"claimId"}},
    {"report_task_failure", POST("/v1/claims/{id}/fail"), .path = {"claimId"}},
    {"get_messages", GET("/v1/jobs/{id}/messages"), .path = {"claimId"}, .after = note_messages},
    {"ask_about_claim", POST("/v1/jobs/{id}/questions"), .path = {"claimId"}},
    {"get_answer", GET("/v1/jobs/{id}/questions/{question}"), .path = {"claimId", "questionId"}},
    {"wait_for_event", GET("/v1/events/next"), .waits = "Waiting for an event"},
    {"append_event", POST("/v1/events")},
    {"list_assignments", GET("/v1/lifecycle")},
    {"get_issue", GET("/v1/lifecycle/{issue}"), .path = {"issueId"}},
    {"list_agents", GET("/v1/agents")},
    {"register_agent", POST("/v1/agents")},
    {"launch_agent", POST("/v1/agents/{id}/launch"), .path = {"agent"}},
    {"kill_agent", POST("/v1/agents/{id}/kill"), .path = {"agent"}},
    {"list_approvals", GET("/v1/approvals")},
    {"approve", POST("/v1/approvals/{id}/approve"), .path = {"approvalId"}},
    {"reject", POST("/v1/approvals/{id}/reject"), .path = {"approvalId"}},
    {"list_questions", GET("/v1/questions")},
    {"answer_question", POST("/v1/questions/{id}/answer"), .path = {"questionId"},
     .before = ask_for_answer},
    {"ask_question", POST("/v1/runs/{id}/questions"), .path = {"runId"}},
    {"send_message", POST("/v1/runs/{id}/messages"), .path = {"runId"}},
    {"publish", POST("/v1/topics/{topic}/publish"), .path = {"topic"}},
    {"list_dead_letters", GET("/v1/dead-letters")},
    {"replay_dead_letter", POST("/v1/dead-letters/replay")},
};

struct tools {
    struct arena arena;
    size_t count;
    struct tool items[COUNT_OF(rows)];
};

/* ---- Reading the texts ---- */

static enum rc read_tool(struct tools *tools, struct tool *tool, const struct js *texts,
                         struct err *err)
{
    const struct tool_row *row = tool->row;
    const struct js *text = js_get(texts, row->name);
    const struct js *input = js_get(text, "inputSchema");
    tool->route = rpc_route(row->method, row->pattern);
    if (tool->route == NULL || input == NULL || js_get(text, "outputSchema") == NULL)
        return err_set(err, RC_INVALID, "INVALID_SCHEMA", "the tool %s has no route, or no text",
                       row->name);
    enum rc rc = schema_open(&tool->input, str_of(js_text(input, &tools->arena)), err);
    if (rc != RC_OK)
        return err_wrap(err, rc, row->name);
    CLEANUP(buf_release) struct buf listed;
    buf_init(&listed, MCP_TEXT_BYTES_MAX);
    struct jw jw = jw_to(&listed);
    const char *key;
    const struct js *value;
    jw_begin(&jw, '{');
    jw_kstr(&jw, "name", row->name);
    for (size_t it = 0; js_next(text, &it, &key, &value);) {
        jw_key(&jw, key);
        js_write(&jw, value);
    }
    jw_end(&jw, '}');
    tool->listed = str_of(arena_strndup(&tools->arena, buf_text(&listed), listed.len));
    return RC_OK;
}

enum rc tools_new(struct tools **ret_tools, struct err *err)
{
    CLEANUP(js_freep) struct js *texts = NULL;
    struct str text = mcp_text("tools");
    struct tools *tools = mem_alloc(sizeof *tools);
    enum rc rc = js_parse(text.at, text.len, &texts, err);
    for (size_t i = 0; rc == RC_OK && i < COUNT_OF(rows); i++) {
        struct tool *tool = &tools->items[tools->count++];
        tool->row = &rows[i];
        rc = read_tool(tools, tool, texts, err);
    }
    if (rc == RC_OK && js_count(texts) != COUNT_OF(rows))
        rc = err_set(err, RC_INVALID, "INVALID_SCHEMA",
                     "tools.json describes tools that have no row");
    if (rc == RC_OK)
        *ret_tools = tools;
    else
        tools_free(tools);
    return rc;
}

void tools_free(struct tools *tools)
{
    if (tools == NULL)
        return;
    for (size_t i = 0; i < tools->count; i++)
        schema_release(&tools->items[i].input);
    arena_release(&tools->arena);
    mem_free(tools);
}

const struct tool *tools_find(const struct tools *tools, const char *name)
{
    for (size_t i = 0; i < tools->count; i++) {
        if (text_same(tools->items[i].row->name, name))
            return &tools->items[i];
    }
    return NULL;
}

/* ---- Listing ---- */

/* A client sees the tools that its token may use: the others would only fail. */
void tools_list(struct rpc *rpc)
{
    const struct tools *tools = rpc->mcp->tools;
    if (!mcp_no_cursor(rpc))
        return;
    struct jw *jw = rpc_result(rpc);
    jw_key(jw, "tools");
    jw_begin(jw, '[');
    for (size_t i = 0; i < tools->count; i++) {
        if (auth_route(&rpc->call->who, tools->items[i].route, NULL) == RC_OK)
            jw_raw(jw, tools->items[i].listed);
    }
    if (rpc->mcp->extra != NULL)
        rpc->mcp->extra->list(rpc, jw, FIXTURE_TOOLS);
    jw_end(jw, ']');
    rpc_cacheable(rpc, TTL_MS, false);
    rpc_done(rpc);
}

/* ---- Results ---- */

/* "CODE: detail", and when to try again. */
static void write_problem(struct jw *jw, struct http_request *inner)
{
    CLEANUP(js_freep) struct js *tree = NULL;
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, ERROR_BYTES_MAX);
    struct str body = buf_str(&inner->answer.body);
    if (js_parse(body.at, body.len, &tree, NULL) != RC_OK) {
        mcp_write_text(jw, STR("INTERNAL: the server could not answer"));
        return;
    }
    const struct js *errors = js_get(tree, "errors");
    buf_addf(&text, "%s: %s", js_get_str(tree, "code", "ERROR"), js_get_str(tree, "detail", ""));
    for (size_t i = 0; i < js_count(errors); i++)
        buf_addf(&text, "\n%s: %s", js_get_str(js_at(errors, i), "path", ""),
                 js_get_str(js_at(errors, i), "message", ""));
    int64_t retry_ms = js_get_int(tree, "retryAfterMs", 0);
    if (retry_ms > 0)
        buf_addf(&text, " (try again after %" PRId64 " ms)", retry_ms);
    mcp_write_text(jw, buf_str(&text));
}

/* A command that was refused without a problem says so in a member: {"ok": false, "code": ...}. */
static void write_success(struct jw *jw, struct str body)
{
    if (body.len == 0)
        body = STR("{}");
    mcp_write_text(jw, body);
    jw_kraw(jw, "structuredContent", body);
    jw_kbool(jw, "isError", str_is(js_peek(body, "ok"), "false"));
}

static void write_result(struct jw *jw, struct http_request *inner)
{
    if (rpc_answer_ok(inner)) {
        write_success(jw, buf_str(&inner->answer.body));
        return;
    }
    write_problem(jw, inner);
    jw_kbool(jw, "isError", true);
}

/* ---- Calling ---- */

static void then_result(struct rpc *rpc, struct http_request *inner)
{
    const struct tool *tool = rpc->subject;
    bool as_task = tool->row->makes_task && (rpc->client & CLIENT_TASKS);
    CLEANUP(js_freep) struct js *tree = as_task ? rpc_answer_json(inner) : NULL;
    if (tree != NULL) {
        mcp_tasks_created(rpc, js_get_str(tree, "taskId", ""));
        return;
    }
    if (rpc_answer_ok(inner) && tool->row->after != NULL && !tool->row->after(rpc, inner))
        return;
    write_result(rpc_result(rpc), inner);
    rpc_done(rpc);
}

static bool is_path(const struct tool_row *row, const char *name)
{
    for (int i = 0; i < ROUTE_VARS_MAX && row->path[i] != NULL; i++) {
        if (strcmp(row->path[i], name) == 0)
            return true;
    }
    return false;
}

static void add_to_query(struct buf *query, const char *name, const struct js *value,
                         struct arena *arena)
{
    const char *text = js_type(value) == JS_STRING ? js_str(value, "") : js_text(value, arena);
    rpc_query_add(query, name, text);
}

/* The arguments that are not in the path or a header, as query or body. */
static void place_rest(const struct tool_row *row, const struct js *arguments, struct buf *query,
                       struct buf *body, struct arena *arena)
{
    const char *name;
    const struct js *value;
    struct jw jw = jw_to(body);
    bool reads = row->method == HTTP_GET;
    if (!reads)
        jw_begin(&jw, '{');
    for (size_t it = 0; js_next(arguments, &it, &name, &value);) {
        if (js_type(value) == JS_NULL || is_path(row, name) || text_same(row->key, name))
            continue;
        if (reads) {
            add_to_query(query, name, value, arena);
        } else {
            jw_key(&jw, name);
            js_write(&jw, value);
        }
    }
    if (!reads)
        jw_end(&jw, '}');
}

static void ask_route(struct rpc *rpc, const struct tool *tool, const struct js *arguments)
{
    const struct tool_row *row = tool->row;
    struct arena *arena = &rpc->call->http.arena;
    CLEANUP(buf_release) struct buf query;
    CLEANUP(buf_release) struct buf body;
    buf_init(&query, QUERY_BYTES_MAX);
    buf_init(&body, (size_t)rpc->call->api->body_bytes_max);
    place_rest(row, arguments, &query, &body, arena);
    if (query.overflow || body.overflow) {
        mcp_tool_error(rpc, "TOO_LARGE: the arguments are too large; send less at once");
        return;
    }
    struct rpc_ask ask = {.route = tool->route,
                          .query = buf_str(&query),
                          .body = buf_str(&body),
                          .keep = row->after != NULL};
    for (int i = 0; i < ROUTE_VARS_MAX && row->path[i] != NULL; i++)
        ask.vars[i] = js_get_str(arguments, row->path[i], "");
    if (row->key != NULL)
        ask.key = js_get_str(arguments, row->key, NULL);
    rpc_ask(rpc, &ask, then_result);
}

/* ---- Messages of people ---- */

static void then_noted(struct rpc *rpc, struct http_request *inner)
{
    (void)inner; /* What was not noted is read again. */
    write_success(rpc_result(rpc), str_of(rpc->own));
    rpc_done(rpc);
}

/* get_messages: those that the result has are read, and do not come again. */
static bool note_messages(struct rpc *rpc, const struct http_request *inner)
{
    CLEANUP(js_freep) struct js *tree = rpc_answer_json(inner);
    const struct js *messages = js_get(tree, "messages");
    const struct js *arguments = js_get(rpc->message.params, "arguments");
    size_t count = js_count(messages);
    if (count == 0)
        return true;
    rpc->own = mem_strdup(buf_text(&inner->answer.body));
    rpc->own_free = mem_free;
    CLEANUP(buf_release) struct buf body;
    buf_init(&body, QUERY_BYTES_MAX);
    buf_addf(&body, "{\"jobs\":[{\"id\":\"%.*s\",\"epoch\":%" PRId64, ID_TEXT_BYTES,
             js_get_str(arguments, "claimId", ""), js_get_int(arguments, "epoch", 0));
    buf_addf(&body, ",\"events\":[{\"type\":\"%s\",\"data\":{\"seq\":%" PRId64 "}}]}]}",
             EV_MESSAGE_DELIVERED, js_get_int(js_at(messages, count - 1), "seq", 0));
    rpc_ask(rpc,
            &(struct rpc_ask){.route = rpc_route(HTTP_POST, "/v1/jobs/progress"),
                              .body = buf_str(&body)},
            then_noted);
    return false;
}

/* ---- Questions to the person at the client ---- */

static void then_question(struct rpc *rpc, struct http_request *inner)
{
    CLEANUP(js_freep) struct js *question = rpc_answer_json(inner);
    if (question == NULL) {
        then_result(rpc, inner);
        return;
    }
    CLEANUP(buf_release) struct buf form;
    buf_init(&form, MCP_TEXT_BYTES_MAX);
    struct jw jw = jw_to(&form);
    jw_begin(&jw, '{');
    if (rpc->era == MCP_MODERN)
        jw_kstr(&jw, "mode", "form");
    input_write_question(&jw, question);
    jw_end(&jw, '}');
    input_ask(rpc,
              &(struct input_request){
                  .key = "answer", .method = "elicitation/create", .params = buf_str(&form)},
              1, NULL, tools_call);
}

/* answer_question without an answer: the person is asked what the agent has asked. */
static bool ask_for_answer(struct rpc *rpc, const struct tool *tool, const struct js *arguments)
{
    const struct js *given = input_given(rpc, "answer");
    const char *id = js_get_str(arguments, "questionId", "");
    const char *answer = js_get_str(js_get(given, "content"), "answer", NULL);
    if (js_get(arguments, "answer") != NULL)
        return true;
    if (given != NULL && answer != NULL) {
        CLEANUP(js_freep) struct js *all = js_new_object();
        bool put = js_put(all, "questionId", js_new_string(id, strlen(id))) &&
                   js_put(all, "answer", js_new_string(answer, strlen(answer)));
        assert(put);
        (void)put;
        ask_route(rpc, tool, all);
    } else if (given != NULL) {
        mcp_tool_error(rpc, "NOT_ANSWERED: the person at the client has not answered");
    } else if (!(rpc->client & CLIENT_ELICITATION)) {
        mcp_tool_error(rpc,
                       "INVALID_ARGUMENTS: answer is missing, and the client cannot ask for it");
    } else {
        struct rpc_ask ask = {
            .route = rpc_route(HTTP_GET, "/v1/questions/{id}"), .vars = {id}, .keep = true};
        rpc_ask(rpc, &ask, then_question);
    }
    return false;
}

/* ---- The call ---- */

/* Says all that is wrong, so that the next call can be right. */
static void refuse_arguments(struct rpc *rpc, const struct tool *tool, const struct faults *faults)
{
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, ERROR_BYTES_MAX);
    buf_addf(&text, "INVALID_ARGUMENTS: the arguments do not fit the tool %s:", tool->row->name);
    for (size_t i = 0; i < faults->count; i++) {
        const struct fault *fault = &faults->items[i];
        buf_addf(&text, "\n%s%s%s", fault->path, *fault->path ? ": " : "", fault->message);
    }
    buf_adds(&text, "\nSee its inputSchema in tools/list.");
    mcp_tool_error(rpc, buf_text(&text));
}

static void refuse_unknown(struct rpc *rpc, const char *name)
{
    const struct tools *tools = rpc->mcp->tools;
    struct suggest suggest = suggest_for(name);
    for (size_t i = 0; i < tools->count; i++)
        suggest_offer(&suggest, tools->items[i].row->name);
    const char *text = suggest.closest == NULL
                           ? arena_printf(&rpc->call->http.arena, "Unknown tool: %.128s", name)
                           : arena_printf(&rpc->call->http.arena,
                                          "Unknown tool: %.128s; did you mean %s?", name,
                                          suggest.closest);
    rpc_fail(rpc, MCP_INVALID_PARAMS, text, (struct str){0});
}

/* With the defaults of the schema: a model is given other ones than a program, such as longer
   leases. */
static struct js *fill(const struct rpc *rpc, const struct tool *tool, const struct js *arguments)
{
    struct js *filled = NULL;
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, 2 * (size_t)rpc->call->api->body_bytes_max);
    struct jw jw = jw_to(&text);
    schema_fill(&tool->input, arguments, &jw);
    if (text.overflow || js_parse(buf_text(&text), text.len, &filled, NULL) != RC_OK)
        return NULL;
    return filled;
}

void tools_call(struct rpc *rpc)
{
    const char *name = rpc_param(rpc, "name");
    const struct js *arguments = js_get(rpc->message.params, "arguments");
    struct arena *arena = &rpc->call->http.arena;
    struct faults faults = {0};
    if (name == NULL) {
        rpc_fail(rpc, MCP_INVALID_PARAMS, "params.name must be the name of a tool",
                 (struct str){0});
        return;
    }
    if (rpc->mcp->extra != NULL && rpc->mcp->extra->call(rpc, name))
        return;
    const struct tool *tool = tools_find(rpc->mcp->tools, name);
    if (tool == NULL) {
        refuse_unknown(rpc, name);
        return;
    }
    struct err err = {0};
    enum rc rc = auth_route(&rpc->call->who, tool->route, &err);
    if (rc != RC_OK) {
        audit_calls_refused(rpc->call, tool->route,
                            &(struct audit_refusal){problem_status(rc), err.code});
        mcp_tool_error(rpc, arena_printf(arena, "%s: %s", err.code, err.text));
        return;
    }
    if (arguments != NULL && js_type(arguments) != JS_OBJECT) {
        rpc_fail(rpc, MCP_INVALID_PARAMS, "params.arguments must be an object", (struct str){0});
        return;
    }
    CLEANUP(js_freep) struct js *none = js_new_object();
    arguments = arguments != NULL ? arguments : none;
    const struct schema_options options = {.null_is_absent = true};
    if (!schema_check(&tool->input, arguments, &options, arena, &faults)) {
        refuse_arguments(rpc, tool, &faults);
        return;
    }
    rpc->subject = tool;
    rpc->progress_text = tool->row->waits;
    CLEANUP(js_freep) struct js *filled = fill(rpc, tool, arguments);
    arguments = filled != NULL ? filled : arguments;
    if (tool->row->before == NULL || tool->row->before(rpc, tool, arguments))
        ask_route(rpc, tool, arguments);
}
