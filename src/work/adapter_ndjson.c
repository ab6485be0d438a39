/*
 * adapter_ndjson.c - agents that speak one JSON object a line.
 *
 *     {"type":"tool","name":"edit","status":"started|completed|failed","summary":"..."}
 *     {"type":"turn","inputTokens":1,"outputTokens":2,"costUsd":0.01,"model":"..."}   adds up
 *     {"type":"message","text":"..."}
 *     {"type":"result","status":"success|error","summary":"...","error":"..."}      the last counts
 */
#include "base/js.h"
#include "base/jw.h"
#include "core/event_types.h"
#include "work/adapter.h"
#include "work/step.h"

/* Encoded sizes: an event stays well below a batch. */
enum { SUMMARY_MAX = 1000, MESSAGE_MAX = 4000, DATA_MAX = 8000 };

static const int64_t tokens_per_turn_max = INT64_C(1000000000);
static const double cost_per_turn_max = 1e6;

static void on_tool(struct transcript *transcript, const struct js *object)
{
    static const struct {
        const char *status, *event;
    } states[] = {
        {"started", EV_TOOL_CALL_STARTED},
        {"completed", EV_TOOL_CALL_COMPLETED},
        {"failed", EV_TOOL_CALL_FAILED},
    };
    const char *status = js_get_str(object, "status", "");
    for (size_t i = 0; i < COUNT_OF(states); i++) {
        if (!text_same(states[i].status, status))
            continue;
        CLEANUP(buf_release) struct buf data;
        buf_init(&data, DATA_MAX);
        struct jw jw = jw_to(&data);
        jw_begin(&jw, '{');
        step_write_text(&jw, "name", js_get_str(object, "name", "tool"), ADAPTER_NAME_MAX);
        step_write_text(&jw, "summary", js_get_str(object, "summary", NULL), SUMMARY_MAX);
        jw_kstr(&jw, "status", status);
        jw_end(&jw, '}');
        progress_add(transcript->progress, states[i].event, buf_str(&data));
    }
}

static int64_t bounded(int64_t tokens)
{
    return tokens < 0 ? 0 : tokens > tokens_per_turn_max ? tokens_per_turn_max : tokens;
}

static void on_turn(struct transcript *transcript, const struct js *object)
{
    struct usage *usage = &transcript->usage;
    double cost = js_num(js_get(object, "costUsd"), 0);
    usage->turns++;
    usage->input_tokens += bounded(js_get_int(object, "inputTokens", 0));
    usage->output_tokens += bounded(js_get_int(object, "outputTokens", 0));
    if (cost > 0)
        usage->cost_usd += cost < cost_per_turn_max ? cost : cost_per_turn_max;
    const char *model = js_get_str(object, "model", NULL);
    if (model)
        transcript_copy(usage->model, sizeof usage->model, model);
    progress_turn(transcript->progress, usage);
}

static void on_message(struct transcript *transcript, const struct js *object)
{
    CLEANUP(buf_release) struct buf data;
    buf_init(&data, DATA_MAX);
    struct jw jw = jw_to(&data);
    jw_begin(&jw, '{');
    step_write_text(&jw, "text", js_get_str(object, "text", ""), MESSAGE_MAX);
    jw_end(&jw, '}');
    progress_add(transcript->progress, EV_AGENT_MESSAGE, buf_str(&data));
}

static void on_result(struct transcript *transcript, const struct js *object)
{
    const char *status = js_get_str(object, "status", "");
    if (text_same(status, "success"))
        transcript->report = REPORT_SUCCESS;
    else if (text_same(status, "error"))
        transcript->report = REPORT_ERROR;
    else
        return;
    transcript_copy(transcript->summary, sizeof transcript->summary,
                    js_get_str(object, "summary", ""));
    transcript_copy(transcript->error, sizeof transcript->error, js_get_str(object, "error", ""));
}

static void ndjson_line(struct transcript *transcript, struct str line)
{
    CLEANUP(js_freep) struct js *object = NULL;
    if (line.len == 0 || line.at[0] != '{' || js_parse(line.at, line.len, &object, NULL) != RC_OK)
        return;
    const char *type = js_get_str(object, "type", "");
    if (text_same(type, "turn"))
        on_turn(transcript, object);
    else if (text_same(type, "result"))
        on_result(transcript, object);
    else if (text_same(type, "tool"))
        on_tool(transcript, object);
    else if (text_same(type, "message"))
        on_message(transcript, object);
}

const struct adapter_ops adapter_ndjson = {.line = ndjson_line};
