/*
 * adapter_copilot.c - GitHub Copilot CLI: copilot -p PROMPT --output-format json
 *
 *     {"type":"session.tools_updated","data":{"model":"claude-sonnet-4-5"}}
 *     {"type":"assistant.message","data":{"messageId":"...","model":"...","content":"...",
 *      "toolRequests":[...]}}
 *     {"type":"assistant.tool_call_delta","data":{"toolCallId":"...","toolName":"bash",...}}
 *     {"type":"tool.execution_start","data":{"toolCallId":"...","toolName":"bash",
 *      "arguments":{...}}}
 *     {"type":"tool.execution_complete","data":{"toolCallId":"...","success":true,
 *      "shellExecution":{"exitCode":3},"result":{"content":"..."},"error":{"message":"..."}}}
 *     {"type":"assistant.turn_retry","data":{"reason":"api_error"}}
 *     {"type":"session.error","data":{"errorType":"query","message":"...","statusCode":529}}
 *     {"type":"result","sessionId":"...","exitCode":0,"usage":{"premiumRequests":0,...}}
 *
 * Recorded with 1.0.102 and a model of one's own (COPILOT_PROVIDER_BASE_URL); all other lines are
 * skipped.  Of tokens only outputTokens of assistant.message is known from reports of users; it was
 * not in the recording, so that neither cost nor input counts.  How a used up allowance of premium
 * requests looks is not known: an error with status 402 or 429, or a text that says so, counts.
 */
#include "work/agent/adapter.h"

static void on_message(struct transcript *transcript, const struct js *data)
{
    const char *text = js_get_str(data, "content", "");
    struct request_usage request = {
        .message_id = js_get_str(data, "messageId", NULL),
        .model = js_get_str(data, "model", NULL),
        .tokens = {.output = js_get_int(data, "outputTokens", 0)},
    };
    transcript_model(transcript, request.model);
    if (transcript_tokens(transcript, &request))
        transcript_turn(transcript, 0);
    transcript_words(transcript, text);
    transcript_words_over(transcript);
}

static void on_tool_start(struct transcript *transcript, const struct js *data)
{
    const struct js *arguments = js_get(data, "arguments");
    transcript_tool(transcript, &(struct tool_event){.status = TOOL_STARTED,
                                                     .id = js_get_str(data, "toolCallId", NULL),
                                                     .name = js_get_str(data, "toolName", NULL),
                                                     .summary = tool_summary(arguments),
                                                     .arguments = arguments});
    if (text_same(js_get_str(data, "toolName", ""), "update_todo"))
        transcript_plan(transcript, js_get_str(arguments, "todos", NULL), NULL);
}

/* The tool has worked when a command in it failed: that is a failed call elsewhere. */
static void on_tool_end(struct transcript *transcript, const struct js *data)
{
    int64_t exit_code = js_int(js_path(data, "shellExecution.exitCode"), 0);
    bool failed = exit_code != 0 || !js_get_bool(data, "success", true);
    const char *output = js_str(js_path(data, "result.content"), "");
    transcript_tool(transcript,
                    &(struct tool_event){
                        .status = failed ? TOOL_FAILED : TOOL_COMPLETED,
                        .id = js_get_str(data, "toolCallId", NULL),
                        .error = failed ? js_str(js_path(data, "error.message"), output) : NULL,
                        .exit_code = exit_code,
                    });
}

static void on_result(struct transcript *transcript, const struct js *object)
{
    int64_t exit_code = js_get_int(object, "exitCode", 0);
    transcript_session(transcript, js_get_str(object, "sessionId", NULL), transcript->usage.model);
    if (exit_code == 0)
        transcript_succeeded(transcript, NULL);
    else if (transcript->report != REPORT_ERROR)
        transcript_failed(transcript, "Copilot CLI failed.");
}

static void copilot_line(struct transcript *transcript, struct str line)
{
    CLEANUP(js_freep) struct js *object = transcript_parse(line);
    const char *type = js_get_str(object, "type", "");
    const struct js *data = js_get(object, "data");
    if (text_same(type, "assistant.message"))
        on_message(transcript, data);
    else if (text_same(type, "assistant.tool_call_delta"))
        transcript_tool_named(transcript, js_get_str(data, "toolCallId", NULL),
                              js_get_str(data, "toolName", NULL));
    else if (text_same(type, "tool.execution_start"))
        on_tool_start(transcript, data);
    else if (text_same(type, "tool.execution_complete"))
        on_tool_end(transcript, data);
    else if (text_same(type, "assistant.turn_retry"))
        transcript_retrying(transcript,
                            &(struct provider_retry){.why = js_get_str(data, "reason", NULL)});
    else if (text_same(type, "session.error"))
        transcript_refused(transcript,
                           &(struct provider_refusal){.status = js_get_int(data, "statusCode", 0),
                                                      .text = js_get_str(data, "message", "")});
    else if (text_same(type, "session.tools_updated"))
        transcript_model(transcript, js_get_str(data, "model", NULL));
    else if (text_same(type, "result"))
        on_result(transcript, object);
}

const struct adapter_ops adapter_copilot = {.line = copilot_line};
