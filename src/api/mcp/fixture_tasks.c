#include "api/mcp/fixture_tasks.h"
#include "api/mcp/input.h"
#include "api/mcp/tools.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/random.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { TASKS_MAX = 64, ID_BYTES = 32, LABEL_BYTES = 64, QUESTIONS_MAX = 2, TTL_MS = 600000 };

struct fixture_task {
    char id[ID_BYTES];
    const char *kind;
    char label[LABEL_BYTES];
    int64_t made_us, changed_us, due_us; /* Of the real clock. */
    size_t questions;                    /* So many must be answered. */
    bool answered[QUESTIONS_MAX];
    bool cancelled;
};

struct fixture_tasks {
    size_t next;
    struct fixture_task items[TASKS_MAX]; /* The oldest is overwritten. */
};

struct fixture_tasks *fixture_tasks_new(void)
{
    return mem_alloc(sizeof(struct fixture_tasks));
}

void fixture_tasks_free(struct fixture_tasks *tasks)
{
    mem_free(tasks);
}

static int64_t now_us(void)
{
    struct clock clock = clock_real();
    return clock_now_us(&clock);
}

/* ---- What it is now ---- */

static const char *key_of(size_t question)
{
    return question == 0 ? "first" : "second";
}

static bool waits(const struct fixture_task *task)
{
    for (size_t i = 0; i < task->questions; i++) {
        if (!task->answered[i])
            return true;
    }
    return false;
}

static const char *status_of(const struct fixture_task *task)
{
    if (task->cancelled)
        return "cancelled";
    if (waits(task))
        return "input_required";
    if (now_us() < task->due_us)
        return "working";
    return text_same(task->kind, "protocol_error_job") ? "failed" : "completed";
}

static void write_task(struct jw *jw, const struct fixture_task *task)
{
    jw_kstr(jw, "taskId", task->id);
    jw_kstr(jw, "status", status_of(task));
    jw_ktime(jw, "createdAt", task->made_us);
    jw_ktime(jw, "lastUpdatedAt", task->changed_us);
    jw_kint(jw, "ttlMs", TTL_MS);
    jw_kint(jw, "pollIntervalMs", 100);
}

static void write_content(struct jw *jw, const char *label)
{
    jw_key(jw, "content");
    jw_begin(jw, '[');
    jw_begin(jw, '{');
    jw_kstr(jw, "type", "text");
    jw_kstr(jw, "text", label);
    jw_end(jw, '}');
    jw_end(jw, ']');
}

static void write_questions(struct jw *jw, const struct fixture_task *task)
{
    jw_key(jw, "inputRequests");
    jw_begin(jw, '{');
    for (size_t i = 0; i < task->questions; i++) {
        if (task->answered[i])
            continue;
        jw_kraw(jw, key_of(i),
                STR("{\"method\":\"elicitation/create\",\"params\":{\"message\":\"Please confirm\","
                    "\"requestedSchema\":{\"type\":\"object\",\"properties\":{\"confirm\":{"
                    "\"type\":\"boolean\"}},\"required\":[\"confirm\"]}}}"));
    }
    jw_end(jw, '}');
}

static void answer_get(struct rpc *rpc, const struct fixture_task *task)
{
    const char *status = status_of(task);
    struct jw *jw = rpc_result(rpc);
    write_task(jw, task);
    if (text_same(status, "completed")) {
        bool failed = text_same(task->kind, "failing_job");
        jw_key(jw, "result");
        jw_begin(jw, '{');
        write_content(jw, failed ? "The job has failed, as it should." : task->label);
        jw_kbool(jw, "isError", failed);
        jw_end(jw, '}');
    } else if (text_same(status, "failed")) {
        jw_kraw(jw, "error", STR("{\"code\":-32603,\"message\":\"an error of the protocol\"}"));
    } else if (text_same(status, "input_required")) {
        write_questions(jw, task);
    }
    rpc_done(rpc);
}

/* ---- Making ---- */

static struct fixture_task *make(struct fixture_tasks *tasks, const char *kind, const char *label)
{
    struct fixture_task *task = &tasks->items[tasks->next++ % TASKS_MAX];
    uint64_t random;
    secret_bytes(&random, sizeof random);
    *task = (struct fixture_task){.kind = kind, .made_us = now_us()};
    task->changed_us = task->due_us = task->made_us;
    (void)snprintf(task->id, sizeof task->id, "fixture-%016" PRIx64, random);
    text_copy(task->label, sizeof task->label, label);
    return task;
}

/* The task of a kind; NULL: it asks for something first, and the rpc is answered. */
static struct fixture_task *make_kind(struct fixture_tasks *tasks, struct rpc *rpc,
                                      const char *name, const struct js *arguments)
{
    if (text_same(name, "test_tool_with_task")) {
        const struct js *given = input_given(rpc, "user_name");
        if (given != NULL)
            return make(tasks, "test_tool_with_task",
                        arena_printf(&rpc->call->http.arena, "Hello, %.40s!",
                                     js_get_str(js_get(given, "content"), "name", "stranger")));
        static const struct input_request ask = {
            "user_name", "elicitation/create",
            STR("{\"message\":\"What is your name?\",\"requestedSchema\":{\"type\":\"object\","
                "\"properties\":{\"name\":{\"type\":\"string\"}},\"required\":[\"name\"]}}")};
        input_ask(rpc, &ask, 1, "asked", tools_call);
        return NULL;
    }
    if (text_same(name, "slow_compute")) {
        struct fixture_task *task = make(tasks, "slow_compute",
                                         js_get_str(arguments, "label", "computed"));
        double seconds = js_num(js_get(arguments, "seconds"), 0);
        task->due_us += (int64_t)(seconds * (double)US_PER_SECOND);
        return task;
    }
    if (text_same(name, "protocol_error_job"))
        return make(tasks, "protocol_error_job", "");
    struct fixture_task *task = make(tasks, "failing_job", "The answer was given.");
    if (!text_same(name, "failing_job")) {
        task->kind = "asking";
        task->questions = text_same(name, "multi_input") ? 2 : 1;
    }
    return task;
}

void fixture_tasks_start(struct fixture_tasks *tasks, struct rpc *rpc, const char *name,
                         const struct js *arguments)
{
    bool can = (rpc->client & CLIENT_TASKS) != 0;
    if (!can && !text_same(name, "slow_compute")) {
        input_missing(rpc, CLIENT_TASKS);
        return;
    }
    const struct fixture_task *task = make_kind(tasks, rpc, name, arguments);
    if (task == NULL)
        return;
    struct jw *jw = rpc_result_as(rpc, can ? "task" : "complete");
    if (can)
        write_task(jw, task);
    else
        write_content(jw, task->label);
    rpc_done(rpc);
}

/* ---- Methods ---- */

static struct fixture_task *find(struct fixture_tasks *tasks, const char *id)
{
    for (size_t i = 0; i < TASKS_MAX; i++) {
        if (*id && strcmp(tasks->items[i].id, id) == 0)
            return &tasks->items[i];
    }
    return NULL;
}

bool fixture_tasks_handle(struct fixture_tasks *tasks, struct rpc *rpc, const char *task_id)
{
    struct fixture_task *task = find(tasks, task_id);
    const struct js *given = js_get(rpc->message.params, "inputResponses");
    if (task == NULL)
        return false;
    if (text_same(rpc->message.method, "tasks/get")) {
        answer_get(rpc, task);
        return true;
    }
    bool cancels = text_same(rpc->message.method, "tasks/cancel");
    bool ended = !waits(task) && now_us() >= task->due_us;
    for (size_t i = 0; !cancels && i < task->questions; i++)
        task->answered[i] = task->answered[i] || js_get(given, key_of(i)) != NULL;
    if (cancels && !ended)
        task->cancelled = true;
    task->changed_us = now_us();
    (void)rpc_result(rpc);
    rpc_done(rpc);
    return true;
}
