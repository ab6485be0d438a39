/*
 * adapter_goose.c - goose: goose run --output-format stream-json
 *
 *     {"type":"message","message":{"role":"assistant|user","content":[
 *         {"type":"text","text":"..."},
 *         {"type":"toolRequest","id":"...","toolCall":{"status":"success","value":{
 *             "name":"developer__shell","arguments":{...}}}},
 *         {"type":"toolResponse","id":"...","toolResult":{"status":"success|error","value":{
 *             "content":[{"type":"text","text":"..."}],"isError":false},"error":"..."}}]}}
 *     {"type":"notification","extension_id":"...",...}
 *     {"type":"model_change","model":"...","mode":"..."}       of versions before 1.30
 *     {"type":"error","error":"..."}
 *     {"type":"complete","total_tokens":9660}
 *
 * Written after the source of 1.30.0 (crates/goose-cli/src/session/mod.rs and
 * crates/goose/src/conversation/message.rs), not recorded.  Texts come in pieces.  total_tokens is
 * what the session holds at its end, not the sum of its requests: no tokens are counted, and
 * neither maxBudgetUsd nor a cost is known.  complete is printed after an error too.
 */
#include "work/agent/stream_json.h"

static void on_request(struct transcript *transcript, const struct js *block)
{
    const struct js *call = js_path(block, "toolCall.value");
    const struct js *arguments = js_get(call, "arguments");
    transcript_words_over(transcript);
    transcript_tool(transcript, &(struct tool_event){.status = TOOL_STARTED,
                                                     .id = js_get_str(block, "id", NULL),
                                                     .name = js_get_str(call, "name", NULL),
                                                     .summary = tool_summary(arguments),
                                                     .arguments = arguments});
}

static void on_response(struct transcript *transcript, const struct js *block)
{
    const struct js *result = js_get(block, "toolResult"), *value = js_get(result, "value");
    bool failed = text_same(js_get_str(result, "status", ""), "error") ||
                  js_get_bool(value, "isError", false);
    const char *output = stream_json_text(js_get(value, "content"));
    transcript->answering = false;
    transcript_tool(transcript, &(struct tool_event){
                                    .status = failed ? TOOL_FAILED : TOOL_COMPLETED,
                                    .id = js_get_str(block, "id", NULL),
                                    .error = failed ? js_get_str(result, "error", output) : NULL});
}

static void on_message(struct transcript *transcript, const struct js *message)
{
    const struct js *content = js_get(message, "content");
    bool of_model = text_same(js_get_str(message, "role", ""), "assistant");
    for (size_t i = 0; js_type(content) == JS_ARRAY && i < js_count(content); i++) {
        const struct js *block = js_at(content, i);
        const char *type = js_get_str(block, "type", "");
        bool calls = text_same(type, "toolRequest"), speaks = text_same(type, "text");
        if (transcript->stop != NULL)
            return;
        if (of_model && (calls || speaks))
            transcript_answers(transcript);
        if (calls)
            on_request(transcript, block);
        else if (text_same(type, "toolResponse"))
            on_response(transcript, block);
        else if (speaks && of_model)
            transcript_words(transcript, js_get_str(block, "text", ""));
    }
}

static void goose_line(struct transcript *transcript, struct str line)
{
    CLEANUP(js_freep) struct js *object = transcript_parse(line);
    const char *type = js_get_str(object, "type", "");
    if (text_same(type, "message")) {
        on_message(transcript, js_get(object, "message"));
    } else if (text_same(type, "model_change")) {
        transcript_model(transcript, js_get_str(object, "model", NULL));
    } else if (text_same(type, "error")) {
        transcript_refused(transcript, &(struct provider_refusal){
                                           .text = js_get_str(object, "error", "goose failed."),
                                           .has_no_status = true});
    } else if (text_same(type, "complete")) {
        transcript_words_over(transcript);
        if (transcript->report != REPORT_ERROR)
            transcript_succeeded(transcript, NULL);
    }
}

const struct adapter_ops adapter_goose = {.line = goose_line};
