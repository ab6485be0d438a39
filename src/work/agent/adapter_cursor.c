/*
 * adapter_cursor.c - Cursor: cursor-agent -p --output-format stream-json
 *
 *     {"type":"system","subtype":"init","session_id":"...","model":"Auto"}
 *     {"type":"assistant","message":{"content":[{"type":"text","text":"..."}]}}
 *     {"type":"tool_call","subtype":"started","call_id":"...","tool_call":{"shellToolCall":{
 *      "args":{"command":"..."}}}}
 *     {"type":"tool_call","subtype":"completed","call_id":"...","tool_call":{"shellToolCall":{
 *      "args":{...},"result":{"success|failure|error|rejected":{"exitCode":0,"stdout":"..."}}}}}
 *     {"type":"result","subtype":"success","is_error":false,"result":"...",
 *      "usage":{"inputTokens":1,"outputTokens":1,"cacheReadTokens":1,"cacheWriteTokens":1}}
 *
 * Not recorded: cursor-agent works with its own server only.  Written after its documentation
 * (cursor.com/docs/cli/reference/output-format) and what users of 2026.01.28 saw of tools and of
 * 2026.09.02 saw of `usage`, whose input leaves out that of the cache, by its names.  The model is
 * a name for people, so that a cost needs agent.prices.  When it fails it prints its error on
 * stderr and no result: then the exit code decides.  An answer of the model is what comes before
 * the end of a call, or the result.
 */
#include "work/agent/stream_json.h"
#include "work/agent/todos.h"
#include <string.h>

struct call {
    char name[ADAPTER_ID_MAX];
    const struct js *arguments, *result;
};

/* {"readToolCall": {"args": ..., "result": ...}} or {"function": {"name": ..., ...}} */
static bool read_call(const struct js *object, struct call *ret_call)
{
    static const char ending[] = "ToolCall";
    const char *key = NULL, *name;
    const struct js *value = NULL;
    size_t position = 0;
    if (js_type(object) != JS_OBJECT || !js_next(object, &position, &key, &value))
        return false;
    *ret_call = (struct call){.arguments = js_get(value, "args"),
                              .result = js_get(value, "result")};
    name = js_get_str(value, "name", key);
    transcript_copy(ret_call->name, sizeof ret_call->name, name);
    if (text_ends(ret_call->name, ending))
        ret_call->name[strlen(ret_call->name) - (sizeof ending - 1)] = '\0';
    return true;
}

static void on_started(struct transcript *transcript, const char *id, const struct call *call)
{
    transcript_answers(transcript);
    transcript_tool(transcript, &(struct tool_event){.status = TOOL_STARTED,
                                                     .id = id,
                                                     .name = call->name,
                                                     .summary = tool_summary(call->arguments),
                                                     .arguments = call->arguments});
    if (js_type(js_get(call->arguments, "todos")) == JS_ARRAY)
        todos_plan(transcript, js_get(call->arguments, "todos"));
}

static void on_completed(struct transcript *transcript, const char *id, const struct call *call)
{
    static const char *const texts[] = {"stderr", "error", "message", "reason", "stdout"};
    const struct js *success = js_get(call->result, "success"), *told = success;
    const char *kind = NULL, *error = NULL;
    size_t position = 0;
    transcript->answering = false;
    if (told == NULL && js_type(call->result) == JS_OBJECT)
        (void)js_next(call->result, &position, &kind, &told);
    int64_t exit_code = js_get_int(told, "exitCode", 0);
    bool failed = exit_code != 0 || (success == NULL && call->result != NULL);
    for (size_t i = 0; failed && text_empty(error) && i < COUNT_OF(texts); i++)
        error = js_get_str(told, texts[i], NULL);
    enum tool_status status = failed ? TOOL_FAILED : TOOL_COMPLETED;
    if (text_same(kind, "rejected"))
        status = TOOL_DENIED;
    transcript_tool(transcript, &(struct tool_event){.status = status,
                                                     .id = id,
                                                     .name = call->name,
                                                     .error = error,
                                                     .exit_code = exit_code});
}

static void on_call(struct transcript *transcript, const struct js *object)
{
    const char *id = js_get_str(object, "call_id", NULL);
    struct call call;
    if (!read_call(js_get(object, "tool_call"), &call))
        return;
    if (text_same(js_get_str(object, "subtype", ""), "started"))
        on_started(transcript, id, &call);
    else if (text_same(js_get_str(object, "subtype", ""), "completed"))
        on_completed(transcript, id, &call);
}

static void take_sums(struct transcript *transcript, const struct js *usage)
{
    int64_t cached = tokens_bounded(js_get_int(usage, "cacheReadTokens", 0));
    int64_t written = tokens_bounded(js_get_int(usage, "cacheWriteTokens", 0));
    struct request_usage request = {
        .many = true,
        .tokens = {.input = tokens_bounded(js_get_int(usage, "inputTokens", 0)) + cached + written,
                   .cached_input = cached,
                   .cache_write = written,
                   .output = js_get_int(usage, "outputTokens", 0)},
    };
    (void)transcript_tokens(transcript, &request);
    progress_turn(transcript->progress, &transcript->usage);
}

static void on_result(struct transcript *transcript, const struct js *object)
{
    const char *text = js_get_str(object, "result", "");
    take_sums(transcript, js_get(object, "usage"));
    if (js_get_bool(object, "is_error", false))
        transcript_refused(transcript,
                           &(struct provider_refusal){.text = text, .has_no_status = true});
    else
        transcript_succeeded(transcript, text);
    transcript_check(transcript);
}

static void cursor_line(struct transcript *transcript, struct str line)
{
    CLEANUP(js_freep) struct js *object = transcript_parse(line);
    const char *type = js_get_str(object, "type", "");
    if (text_same(type, "assistant")) {
        transcript_answers(transcript);
        transcript_message(transcript, stream_json_text(js_path(object, "message.content")));
    } else if (text_same(type, "tool_call")) {
        on_call(transcript, object);
    } else if (text_same(type, "result")) {
        on_result(transcript, object);
    } else if (text_same(type, "system")) {
        transcript_session(transcript, js_get_str(object, "session_id", NULL),
                           js_get_str(object, "model", NULL));
    }
}

const struct adapter_ops adapter_cursor = {.line = cursor_line};
