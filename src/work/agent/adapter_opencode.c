/*
 * adapter_opencode.c - opencode: opencode run --format json
 *
 *     {"type":"step_start","sessionID":"ses_...","part":{...}}
 *     {"type":"text","part":{"text":"..."}}
 *     {"type":"tool_use","part":{"tool":"bash","callID":"...","state":{"status":"completed|error",
 *      "input":{...},"output":"...","title":"...","metadata":{"exit":3},"error":"..."}}}
 *     {"type":"step_finish","part":{"reason":"stop|tool-calls","cost":0.00375,"tokens":{
 *      "input":1000,"output":50,"reasoning":0,"cache":{"read":400,"write":0}}}}
 *     {"type":"error","error":{"name":"APIError","data":{"message":"...","statusCode":429}}}
 *
 * Recorded with 1.18.33.  A step is one request to the model.  Calls are reported when they are
 * over, so that a denied one has been made when the agent is stopped.  The model is not printed;
 * the cost is opencode's own, and where that is 0 (a model whose price it does not know, a
 * subscription) what agent.prices make of the tokens.  It repeats requests to an overloaded
 * provider for ever and prints nothing of it: the idle limit ends that.
 */
#include "work/agent/todos.h"

static void on_tool(struct transcript *transcript, const struct js *part)
{
    const struct js *state = js_get(part, "state"), *input = js_get(state, "input");
    int64_t exit_code = js_int(js_path(state, "metadata.exit"), 0);
    bool failed = exit_code != 0 || text_same(js_get_str(state, "status", ""), "error");
    const char *title = js_get_str(state, "title", NULL);
    struct tool_event event = {
        .status = TOOL_STARTED,
        .id = js_get_str(part, "callID", NULL),
        .name = js_get_str(part, "tool", NULL),
        .summary = text_empty(title) ? tool_summary(input) : title,
        .arguments = input,
    };
    transcript_tool(transcript, &event);
    if (text_same(event.name, "todowrite"))
        todos_plan(transcript, js_get(input, "todos"));
    if (transcript->stop != NULL)
        return;
    event.status = failed ? TOOL_FAILED : TOOL_COMPLETED;
    event.exit_code = exit_code;
    if (failed)
        event.error = js_get_str(state, "error", js_get_str(state, "output", NULL));
    transcript_tool(transcript, &event);
}

static void on_step(struct transcript *transcript, const struct js *part)
{
    const struct js *tokens = js_get(part, "tokens"), *cache = js_get(tokens, "cache");
    int64_t cached = tokens_bounded(js_get_int(cache, "read", 0));
    int64_t written = tokens_bounded(js_get_int(cache, "write", 0));
    struct request_usage request = {
        .tokens = {.input = tokens_bounded(js_get_int(tokens, "input", 0)) + cached + written,
                   .cached_input = cached,
                   .cache_write = written,
                   .output = tokens_bounded(js_get_int(tokens, "output", 0)) +
                             tokens_bounded(js_get_int(tokens, "reasoning", 0))},
    };
    double told = js_num(js_get(part, "cost"), 0), before = transcript->usage.cost_usd;
    (void)transcript_tokens(transcript, &request);
    if (told > 0)
        transcript->usage.cost_usd = before; /* Its own cost overrides our prices. */
    if (text_same(js_get_str(part, "reason", ""), "stop"))
        transcript_succeeded(transcript, NULL);
    transcript_turn(transcript, told);
}

static void on_text(struct transcript *transcript, const struct js *part)
{
    transcript_words(transcript, js_get_str(part, "text", ""));
    transcript_words_over(transcript);
}

static void opencode_line(struct transcript *transcript, struct str line)
{
    CLEANUP(js_freep) struct js *object = transcript_parse(line);
    const char *type = js_get_str(object, "type", "");
    const struct js *part = js_get(object, "part"), *failure = js_path(object, "error.data");
    const char *session = js_get_str(object, "sessionID", NULL);
    if (session != NULL) /* In every line: the first may be an error. */
        transcript_session(transcript, session, NULL);
    if (text_same(type, "tool_use"))
        on_tool(transcript, part);
    else if (text_same(type, "step_finish"))
        on_step(transcript, part);
    else if (text_same(type, "text"))
        on_text(transcript, part);
    else if (text_same(type, "error"))
        transcript_refused(transcript, &(struct provider_refusal){
                                           .status = js_get_int(failure, "statusCode", 0),
                                           .text = js_get_str(failure, "message",
                                                              js_str(js_path(object, "error.name"),
                                                                     "opencode failed."))});
}

const struct adapter_ops adapter_opencode = {.line = opencode_line, .tells_end = true};
