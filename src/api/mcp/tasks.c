#include "api/mcp/tasks.h"
#include "api/mcp/input.h"
#include "api/mcp/mcp_parts.h"
#include "base/clock.h"
#include "base/mem.h"
#include <assert.h>
#include <string.h>

enum { POLL_MS = 2000, TASK_ID_BYTES_MAX = 128, DETAIL_BYTES_MAX = 1024 * 1024 };
#define PENDING_PAGE "50"

/* One reading of a task: the task, then what its run waits for. */
struct look {
    struct id task_id;
    struct js *task, *approvals, *questions;
    void (*then)(struct rpc *rpc);
    mcp_tasks_then *described;
    const struct http_request *inner; /* While described runs: the answer that was the last. */
    bool is_made; /* The task is there for certain, also where it cannot be read now. */
    /* Of tasks/update: the answers that are still to be given. */
    size_t next;
};

static void look_free(void *own)
{
    struct look *look = own;
    if (look == NULL)
        return;
    js_free(look->task);
    js_free(look->approvals);
    js_free(look->questions);
    mem_free(look);
}

/* ---- Reading ---- */

static const struct js *latest_run(const struct js *task)
{
    const struct js *runs = js_get(task, "runs");
    size_t count = js_count(runs);
    return count > 0 ? js_at(runs, count - 1) : NULL;
}

static bool waits_for_person(const struct js *task)
{
    return text_same(js_get_str(latest_run(task), "status", ""), "awaiting_approval");
}

static void ask_pending(struct rpc *rpc, const char *pattern, rpc_then *then)
{
    const struct look *look = rpc->own;
    CLEANUP(buf_release) struct buf query;
    buf_init(&query, 256);
    rpc_query_add(&query, "status", "pending");
    rpc_query_add(&query, "limit", PENDING_PAGE);
    rpc_query_add(&query, "runId", js_get_str(latest_run(look->task), "id", ""));
    rpc_ask(rpc,
            &(struct rpc_ask){
                .route = rpc_route(HTTP_GET, pattern), .query = buf_str(&query), .keep = true},
            then);
}

static void then_questions(struct rpc *rpc, struct http_request *inner)
{
    struct look *look = rpc->own;
    look->questions = rpc_answer_json(inner);
    look->inner = inner;
    look->then(rpc);
}

static void then_approvals(struct rpc *rpc, struct http_request *inner)
{
    struct look *look = rpc->own;
    look->approvals = rpc_answer_json(inner);
    ask_pending(rpc, "/v1/questions", then_questions);
}

static void then_task(struct rpc *rpc, struct http_request *inner)
{
    struct look *look = rpc->own;
    look->task = rpc_answer_json(inner);
    look->inner = inner;
    bool known = look->task != NULL || look->described != NULL || look->is_made;
    if (!known && (inner->answer.status == 404 || inner->answer.status == 400))
        rpc_fail(rpc, MCP_INVALID_PARAMS, "Task not found", (struct str){0});
    else if (!known)
        mcp_fail_problem(rpc, inner);
    else if (look->task != NULL && waits_for_person(look->task))
        ask_pending(rpc, "/v1/approvals", then_approvals);
    else
        look->then(rpc);
}

static struct look *look_new(struct rpc *rpc, const struct id *task_id,
                             void (*then)(struct rpc *rpc))
{
    struct look *look = mem_alloc(sizeof *look);
    assert(rpc->own == NULL);
    look->task_id = *task_id;
    look->then = then;
    rpc->own = look;
    rpc->own_free = look_free;
    return look;
}

static void look_at(struct rpc *rpc, const struct look *look)
{
    struct rpc_ask ask = {
        .route = rpc_route(HTTP_GET, "/v1/tasks/{id}"), .vars = {look->task_id.text}, .keep = true};
    rpc_ask(rpc, &ask, then_task);
}

/* ---- As the protocol sees it ---- */

enum state { STATE_WORKING, STATE_INPUT, STATE_COMPLETED, STATE_CANCELLED };
static const char *const state_names[] = {"working", "input_required", "completed", "cancelled"};

static enum state state_of(const struct rpc *rpc, const struct look *look)
{
    const char *status = js_get_str(look->task, "status", "");
    bool open = js_count(js_get(look->approvals, "items")) > 0 ||
                js_count(js_get(look->questions, "items")) > 0;
    if (text_same(status, "cancelled"))
        return STATE_CANCELLED;
    if (text_same(status, "completed") || text_same(status, "failed") ||
        text_same(status, "timed_out"))
        return STATE_COMPLETED;
    return open && (rpc->client & CLIENT_ELICITATION) ? STATE_INPUT : STATE_WORKING;
}

static void write_message(struct jw *jw, const struct look *look, enum state state)
{
    const char *error = js_get_str(look->task, "errorMessage", NULL);
    const char *deferred = js_get_str(look->task, "deferredDetail", NULL);
    jw_key(jw, "statusMessage");
    if (state == STATE_INPUT || waits_for_person(look->task))
        jw_str(jw, "The run waits for the decision of a person.");
    else if (error != NULL)
        jw_str(jw, error);
    else if (deferred != NULL)
        jw_str(jw, deferred);
    else
        jw_str(jw, js_get_str(look->task, "status", "submitted"));
}

/* A task that was made just now, and cannot be read yet, is of now. */
static void write_time(struct jw *jw, const char *key, const struct js *task)
{
    struct clock clock = clock_real();
    const char *time = js_get_str(task, strcmp(key, "createdAt") == 0 ? key : "updatedAt", NULL);
    if (time != NULL)
        jw_kstr(jw, key, time);
    else
        jw_ktime(jw, key, clock_now_us(&clock));
}

static void write_task(struct jw *jw, const struct look *look, enum state state)
{
    jw_kstr(jw, "taskId", look->task_id.text);
    jw_kstr(jw, "status", state_names[state]);
    write_message(jw, look, state);
    write_time(jw, "createdAt", look->task);
    write_time(jw, "lastUpdatedAt", look->task);
    jw_kstr(jw, "ttlMs", NULL); /* Tasks are kept until they are pruned. */
    jw_kint(jw, "pollIntervalMs", POLL_MS);
}

/* What create_task would have returned, had it waited. */
static void write_outcome(struct jw *jw, const struct look *look)
{
    const char *status = js_get_str(look->task, "status", "");
    const char *error = js_get_str(look->task, "errorMessage", NULL);
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, DETAIL_BYTES_MAX);
    buf_addf(&text, "The task %s has ended: %s%s%s", look->task_id.text, status,
             error != NULL ? ": " : "", error != NULL ? error : "");
    jw_key(jw, "result");
    jw_begin(jw, '{');
    jw_key(jw, "content");
    jw_begin(jw, '[');
    jw_begin(jw, '{');
    jw_kstr(jw, "type", "text");
    jw_kstr(jw, "text", buf_text(&text));
    jw_end(jw, '}');
    jw_end(jw, ']');
    jw_key(jw, "structuredContent");
    jw_begin(jw, '{');
    jw_kstr(jw, "taskId", look->task_id.text);
    jw_kstr(jw, "runId", js_get_str(look->task, "latestRunId", NULL));
    jw_kstr(jw, "status", status);
    jw_key(jw, "task");
    js_write(jw, look->task);
    jw_end(jw, '}');
    jw_kbool(jw, "isError", !text_same(status, "completed"));
    jw_end(jw, '}');
}

static void open_form(struct jw *jw, const char *prefix, const struct js *item)
{
    CLEANUP(buf_release) struct buf key;
    buf_init(&key, TASK_ID_BYTES_MAX);
    buf_addf(&key, "%s-%s", prefix, js_get_str(item, "id", ""));
    jw_key(jw, buf_text(&key));
    jw_begin(jw, '{');
    jw_kstr(jw, "method", "elicitation/create");
    jw_key(jw, "params");
    jw_begin(jw, '{');
    jw_kstr(jw, "mode", "form");
}

static void close_form(struct jw *jw)
{
    jw_end(jw, '}');
    jw_end(jw, '}');
}

static void write_approval(struct jw *jw, const struct js *approval)
{
    const char *question = js_get_str(approval, "question", NULL);
    const char *summary = js_get_str(approval, "summary", NULL);
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, DETAIL_BYTES_MAX);
    buf_addf(&text, "%s%s%s", question != NULL ? question : "May the run go on?",
             summary != NULL ? "\n\n" : "", summary != NULL ? summary : "");
    open_form(jw, "approval", approval);
    jw_kstr(jw, "message", buf_text(&text));
    jw_kraw(jw, "requestedSchema",
            STR("{\"type\":\"object\",\"properties\":{\"decision\":{\"type\":\"string\","
                "\"title\":\"Decision\",\"enum\":[\"approve\",\"reject\"]},\"reason\":{\"type\":"
                "\"string\",\"title\":\"Why\",\"maxLength\":1000}},\"required\":[\"decision\"]}"));
    close_form(jw);
}

static void write_question(struct jw *jw, const struct js *question)
{
    open_form(jw, "question", question);
    input_write_question(jw, question);
    close_form(jw);
}

static void write_inputs(struct jw *jw, const struct look *look)
{
    const struct js *approvals = js_get(look->approvals, "items");
    const struct js *questions = js_get(look->questions, "items");
    jw_key(jw, "inputRequests");
    jw_begin(jw, '{');
    for (size_t i = 0; i < js_count(approvals); i++)
        write_approval(jw, js_at(approvals, i));
    for (size_t i = 0; i < js_count(questions); i++)
        write_question(jw, js_at(questions, i));
    jw_end(jw, '}');
}

static void write_detailed(const struct rpc *rpc, struct jw *jw)
{
    const struct look *look = rpc->own;
    enum state state = state_of(rpc, look);
    write_task(jw, look, state);
    if (state == STATE_COMPLETED)
        write_outcome(jw, look);
    if (state == STATE_INPUT)
        write_inputs(jw, look);
}

/* ---- Methods ---- */

/* false: the rpc is answered. */
static bool find_task(struct rpc *rpc, struct id *ret_id)
{
    const char *task_id = rpc_param(rpc, "taskId");
    if (!(rpc->client & CLIENT_TASKS)) {
        input_missing(rpc, CLIENT_TASKS);
        return false;
    }
    if (task_id != NULL && rpc->mcp->extra != NULL && rpc->mcp->extra->task(rpc, task_id))
        return false;
    if (task_id == NULL || !id_parse(task_id, ret_id)) {
        rpc_fail(rpc, MCP_INVALID_PARAMS, "Task not found: params.taskId must be the id of a task",
                 (struct str){0});
        return false;
    }
    return true;
}

static void answer_get(struct rpc *rpc)
{
    write_detailed(rpc, rpc_result(rpc));
    rpc_done(rpc);
}

void mcp_tasks_get(struct rpc *rpc)
{
    struct id id;
    if (find_task(rpc, &id))
        look_at(rpc, look_new(rpc, &id, answer_get));
}

static void answer_created(struct rpc *rpc)
{
    struct jw *jw = rpc_result_as(rpc, "task");
    write_task(jw, rpc->own, STATE_WORKING);
    rpc_done(rpc);
}

void mcp_tasks_created(struct rpc *rpc, const char *task_id)
{
    struct id id = id_of(task_id);
    struct look *look = look_new(rpc, &id, answer_created);
    look->is_made = true;
    look_at(rpc, look);
}

static void then_cancelled(struct rpc *rpc, struct http_request *inner)
{
    int status = inner->answer.status;
    if (status == 404 || status == 400) {
        rpc_fail(rpc, MCP_INVALID_PARAMS, "Task not found", (struct str){0});
        return;
    }
    if (!rpc_answer_ok(inner) && status != 409) { /* 409: it has ended. */
        mcp_fail_problem(rpc, inner);
        return;
    }
    (void)rpc_result(rpc);
    rpc_done(rpc);
}

void mcp_tasks_cancel(struct rpc *rpc)
{
    struct id id;
    if (!find_task(rpc, &id))
        return;
    struct rpc_ask ask = {.route = rpc_route(HTTP_POST, "/v1/tasks/{id}/cancel"),
                          .vars = {id.text}};
    rpc_ask(rpc, &ask, then_cancelled);
}

/* ---- Answers to what a task waits for ---- */

static void give_next(struct rpc *rpc);

/* Another answer may have come first; what is wrong with this one its sender must know. */
static void then_given(struct rpc *rpc, struct http_request *inner)
{
    int status = inner->answer.status;
    if (rpc_answer_ok(inner) || status == 404 || status == 409)
        give_next(rpc);
    else
        mcp_fail_problem(rpc, inner);
}

static void decide(struct rpc *rpc, const struct js *approval, const struct js *content)
{
    const char *reason = js_get_str(content, "reason", NULL);
    const char *decision = js_get_str(content, "decision", "");
    bool approves = strcmp(decision, "approve") == 0;
    if (!approves && strcmp(decision, "reject") != 0) { /* A slip must not end a run. */
        rpc_fail(rpc, MCP_INVALID_PARAMS,
                 arena_printf(&rpc->call->http.arena,
                              "params.inputResponses.approval-%s.content.decision must be approve "
                              "or reject",
                              js_get_str(approval, "id", "")),
                 (struct str){0});
        return;
    }
    CLEANUP(buf_release) struct buf body;
    buf_init(&body, DETAIL_BYTES_MAX);
    struct jw jw = jw_to(&body);
    jw_begin(&jw, '{');
    jw_optstr(&jw, "reason", reason);
    jw_end(&jw, '}');
    struct rpc_ask ask = {.route = rpc_route(HTTP_POST, approves ? "/v1/approvals/{id}/approve"
                                                                 : "/v1/approvals/{id}/reject"),
                          .vars = {js_get_str(approval, "id", "")},
                          .body = buf_str(&body),
                          .keep = true};
    rpc_ask(rpc, &ask, then_given);
}

static void answer(struct rpc *rpc, const struct js *question, const struct js *content)
{
    CLEANUP(buf_release) struct buf body;
    buf_init(&body, DETAIL_BYTES_MAX);
    struct jw jw = jw_to(&body);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "answer", js_get_str(content, "answer", ""));
    jw_end(&jw, '}');
    struct rpc_ask ask = {.route = rpc_route(HTTP_POST, "/v1/questions/{id}/answer"),
                          .vars = {js_get_str(question, "id", "")},
                          .body = buf_str(&body),
                          .keep = true};
    rpc_ask(rpc, &ask, then_given);
}

/* The content of an accepted form for this item; NULL: none was sent. */
static const struct js *content_for(const struct rpc *rpc, const char *prefix,
                                    const struct js *item)
{
    CLEANUP(buf_release) struct buf key;
    buf_init(&key, TASK_ID_BYTES_MAX);
    buf_addf(&key, "%s-%s", prefix, js_get_str(item, "id", ""));
    const struct js *given = js_get(js_get(rpc->message.params, "inputResponses"), buf_text(&key));
    return text_same(js_get_str(given, "action", ""), "accept") ? js_get(given, "content") : NULL;
}

/* Approvals first, then questions; keys that nothing waits for are not looked at. */
static void give_next(struct rpc *rpc)
{
    struct look *look = rpc->own;
    const struct js *approvals = js_get(look->approvals, "items");
    const struct js *questions = js_get(look->questions, "items");
    size_t first = js_count(approvals), count = first + js_count(questions);
    while (look->next < count) {
        size_t i = look->next++;
        const struct js *item = i < first ? js_at(approvals, i) : js_at(questions, i - first);
        const struct js *content = content_for(rpc, i < first ? "approval" : "question", item);
        if (content == NULL)
            continue;
        if (i < first)
            decide(rpc, item, content);
        else
            answer(rpc, item, content);
        return;
    }
    (void)rpc_result(rpc);
    rpc_done(rpc);
}

void mcp_tasks_update(struct rpc *rpc)
{
    struct id id;
    if (!find_task(rpc, &id))
        return;
    if (js_type(js_get(rpc->message.params, "inputResponses")) != JS_OBJECT) {
        rpc_fail(rpc, MCP_INVALID_PARAMS, "params.inputResponses must be an object",
                 (struct str){0});
        return;
    }
    look_at(rpc, look_new(rpc, &id, give_next));
}

/* ---- For notifications ---- */

static void describe(struct rpc *rpc)
{
    struct look *look = rpc->own;
    mcp_tasks_then *described = look->described;
    const struct http_request *inner = look->inner;
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, DETAIL_BYTES_MAX);
    struct jw jw = jw_to(&text);
    if (look->task != NULL)
        write_detailed(rpc, &jw);
    rpc->own = NULL;
    rpc->own_free = NULL;
    look_free(look);
    described(rpc, inner, text.overflow ? (struct str){0} : buf_str(&text));
}

void mcp_tasks_describe(struct rpc *rpc, const char *task_id, mcp_tasks_then *then)
{
    struct id id = id_of(task_id);
    struct look *look = look_new(rpc, &id, describe);
    look->described = then;
    look_at(rpc, look);
}
