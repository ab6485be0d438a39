/*
 * adapter_ndjson.c - agents that print one JSON object a line.
 *
 *     {"type":"tool","name":"edit",
 *      "status":"requested|allowed|started|completed|failed|denied|timed_out",
 *      "summary":"...","toolCallId":"...","arguments":{...},"error":"...","exitCode":2}
 *     {"type":"turn","inputTokens":1,"cachedInputTokens":0,"outputTokens":2,"costUsd":0.01,
 *      "model":"..."}                                                               adds up
 *     {"type":"message","text":"..."}
 *     {"type":"plan","text":"...","reason":"..."}
 *     {"type":"session","id":"...","model":"..."}
 *     {"type":"quota","message":"...","resetsAt":"2026-07-03T12:00:00Z","resetsInMs":60000}
 *     {"type":"result","status":"success|error","summary":"...","error":"..."}      the last counts
 */
#include "work/agent/adapter.h"

static void on_tool(struct transcript *transcript, const struct js *object)
{
    static const struct {
        const char *name;
        enum tool_status status;
    } states[] = {
        {"requested", TOOL_REQUESTED}, {"allowed", TOOL_ALLOWED}, {"started", TOOL_STARTED},
        {"completed", TOOL_COMPLETED}, {"failed", TOOL_FAILED},   {"denied", TOOL_DENIED},
        {"timed_out", TOOL_TIMED_OUT},
    };
    const char *status = js_get_str(object, "status", "");
    for (size_t i = 0; i < COUNT_OF(states); i++) {
        if (!text_same(states[i].name, status))
            continue;
        transcript_tool(transcript,
                        &(struct tool_event){.status = states[i].status,
                                             .id = js_get_str(object, "toolCallId", NULL),
                                             .name = js_get_str(object, "name", NULL),
                                             .summary = js_get_str(object, "summary", NULL),
                                             .arguments = js_get(object, "arguments"),
                                             .error = js_get_str(object, "error", NULL),
                                             .exit_code = js_get_int(object, "exitCode", 0)});
    }
}

static void on_turn(struct transcript *transcript, const struct js *object)
{
    struct request_usage request = {
        .tokens = {.input = js_get_int(object, "inputTokens", 0),
                   .cached_input = js_get_int(object, "cachedInputTokens", 0),
                   .output = js_get_int(object, "outputTokens", 0)},
    };
    transcript_model(transcript, js_get_str(object, "model", NULL));
    double before = transcript->usage.cost_usd;
    (void)transcript_tokens(transcript, &request);
    double told = js_num(js_get(object, "costUsd"), -1);
    if (told >= 0)
        transcript->usage.cost_usd = before; /* The agent's own cost overrides our prices. */
    transcript_turn(transcript, told);
}

static void on_quota(struct transcript *transcript, const struct js *object)
{
    int64_t now_us = clock_now_us(&transcript->clock), resets_us = 0;
    const char *at = js_get_str(object, "resetsAt", NULL);
    int64_t in_ms = js_get_int(object, "resetsInMs", 0);
    static const int64_t wait_ms_max = INT64_C(32) * 24 * 3600 * 1000;
    if (at != NULL && time_parse(at, &resets_us))
        transcript->quota.resets_us = resets_us > now_us ? resets_us : 0;
    else if (in_ms > 0 && in_ms <= wait_ms_max)
        transcript->quota.resets_us = now_us + in_ms * US_PER_MS;
    transcript_quota(transcript, js_get_str(object, "message", "The agent's account is used up."));
}

static void on_result(struct transcript *transcript, const struct js *object)
{
    const char *status = js_get_str(object, "status", "");
    bool failed = text_same(status, "error");
    if (!failed && !text_same(status, "success"))
        return;
    transcript_copy(transcript->summary, sizeof transcript->summary,
                    js_get_str(object, "summary", ""));
    const char *error = js_get_str(object, "error", "");
    if (failed) {
        transcript_failed(transcript, error);
        return;
    }
    transcript->report = REPORT_SUCCESS;
    transcript_copy(transcript->error, sizeof transcript->error, error);
}

static void ndjson_line(struct transcript *transcript, struct str line)
{
    CLEANUP(js_freep) struct js *object = transcript_parse(line);
    const char *type = js_get_str(object, "type", "");
    if (text_same(type, "turn"))
        on_turn(transcript, object);
    else if (text_same(type, "result"))
        on_result(transcript, object);
    else if (text_same(type, "tool"))
        on_tool(transcript, object);
    else if (text_same(type, "message"))
        transcript_message(transcript, js_get_str(object, "text", ""));
    else if (text_same(type, "plan"))
        transcript_plan(transcript, js_get_str(object, "text", NULL),
                        js_get_str(object, "reason", NULL));
    else if (text_same(type, "session"))
        transcript_session(transcript, js_get_str(object, "id", NULL),
                           js_get_str(object, "model", NULL));
    else if (text_same(type, "quota"))
        on_quota(transcript, object);
}

const struct adapter_ops adapter_ndjson = {.line = ndjson_line};
