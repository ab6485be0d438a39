/*
 * adapter_gemini.c - Gemini CLI: gemini --output-format stream-json
 *
 *     {"type":"init","session_id":"...","model":"gemini-2.5-pro"}
 *     {"type":"message","role":"user|assistant","content":"...","delta":true}
 *     {"type":"tool_use","tool_name":"run_shell_command","tool_id":"...","parameters":{...}}
 *     {"type":"tool_result","tool_id":"...","status":"success|error","output":"...",
 *      "error":{"type":"...","message":"..."}}
 *     {"type":"error","severity":"warning|error","message":"..."}
 *     {"type":"result","status":"success|error","error":{"type":"...","message":"..."},
 *      "stats":{"total_tokens":9688,"input_tokens":9400,"output_tokens":260,"cached":2400,
 *               "models":{"MODEL":{...the same}}}}
 *
 * Recorded with 0.61.0.  No line says where an answer of the model begins: it is what comes before
 * a result of a tool, or the end.  Tokens come at the end only, so that maxBudgetUsd cannot stop it
 * while it works; what output_tokens leaves out of total_tokens are thoughts, which are paid for as
 * output.  A shell command that failed is a success without an exit code.  Retries are not printed.
 */
#include "work/agent/todos.h"

static void on_message(struct transcript *transcript, const struct js *object)
{
    if (!text_same(js_get_str(object, "role", ""), "assistant"))
        return;
    transcript_answers(transcript);
    transcript_words(transcript, js_get_str(object, "content", ""));
    if (!js_get_bool(object, "delta", false))
        transcript_words_over(transcript);
}

static void on_tool_use(struct transcript *transcript, const struct js *object)
{
    const char *name = js_get_str(object, "tool_name", NULL);
    const struct js *arguments = js_get(object, "parameters");
    transcript_answers(transcript);
    transcript_words_over(transcript);
    transcript_tool(transcript, &(struct tool_event){.status = TOOL_STARTED,
                                                     .id = js_get_str(object, "tool_id", NULL),
                                                     .name = name,
                                                     .summary = tool_summary(arguments),
                                                     .arguments = arguments});
    if (text_same(name, "write_todos"))
        todos_plan(transcript, js_get(arguments, "todos"));
}

static void on_tool_result(struct transcript *transcript, const struct js *object)
{
    bool failed = text_same(js_get_str(object, "status", ""), "error");
    transcript->answering = false;
    const char *error = js_str(js_path(object, "error.message"), js_get_str(object, "output", ""));
    transcript_tool(transcript,
                    &(struct tool_event){.status = failed ? TOOL_FAILED : TOOL_COMPLETED,
                                         .id = js_get_str(object, "tool_id", NULL),
                                         .error = failed ? error : NULL});
}

/* ---- the end ---- */

static void count(struct transcript *transcript, const char *model, const struct js *stats)
{
    int64_t total = tokens_bounded(js_get_int(stats, "total_tokens", 0));
    int64_t input = tokens_bounded(js_get_int(stats, "input_tokens", 0));
    int64_t output = tokens_bounded(js_get_int(stats, "output_tokens", 0));
    struct request_usage request = {
        .model = model,
        .many = true,
        .tokens = {.input = input,
                   .cached_input = js_get_int(stats, "cached", 0),
                   .output = total - input > output ? total - input : output},
    };
    (void)transcript_tokens(transcript, &request);
}

static void take_sums(struct transcript *transcript, const struct js *stats)
{
    const struct js *models = js_get(stats, "models"), *model;
    const char *name;
    size_t position = 0;
    while (js_type(models) == JS_OBJECT && js_next(models, &position, &name, &model))
        count(transcript, name, model);
    if (position == 0)
        count(transcript, NULL, stats);
    progress_turn(transcript->progress, &transcript->usage);
}

static void on_result(struct transcript *transcript, const struct js *object)
{
    const struct js *error = js_get(object, "error");
    const char *message = js_get_str(error, "message", "Gemini CLI failed.");
    transcript_words_over(transcript);
    take_sums(transcript, js_get(object, "stats"));
    if (text_same(js_get_str(object, "status", ""), "success")) {
        transcript_succeeded(transcript, NULL);
    } else if (text_same(js_get_str(error, "type", ""), "FatalTurnLimitedError")) {
        transcript_failed(transcript, message);
        transcript_stop(transcript, CUT_TURN_LIMIT);
    } else {
        transcript_refused(transcript,
                           &(struct provider_refusal){.text = message, .has_no_status = true});
    }
    transcript_check(transcript);
}

static void gemini_line(struct transcript *transcript, struct str line)
{
    CLEANUP(js_freep) struct js *object = transcript_parse(line);
    const char *type = js_get_str(object, "type", "");
    if (text_same(type, "message"))
        on_message(transcript, object);
    else if (text_same(type, "tool_use"))
        on_tool_use(transcript, object);
    else if (text_same(type, "tool_result"))
        on_tool_result(transcript, object);
    else if (text_same(type, "result"))
        on_result(transcript, object);
    else if (text_same(type, "error"))
        transcript_message(transcript, js_get_str(object, "message", ""));
    else if (text_same(type, "init"))
        transcript_session(transcript, js_get_str(object, "session_id", NULL),
                           js_get_str(object, "model", NULL));
}

static void gemini_late_line(struct transcript *transcript, struct str line)
{
    CLEANUP(js_freep) struct js *object = transcript_parse(line);
    if (text_same(js_get_str(object, "type", ""), "result"))
        take_sums(transcript, js_get(object, "stats"));
}

const struct adapter_ops adapter_gemini = {
    .line = gemini_line, .late_line = gemini_late_line, .tells_end = true};
