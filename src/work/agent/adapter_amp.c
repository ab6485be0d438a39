/*
 * adapter_amp.c - Amp: amp -x --stream-json, and --stream-json-input where messages are wanted.
 *
 * The manual of Amp promises the format of Claude Code (stream_json.h); the lines were seen in that
 * manual and in reports of its users, not from a run: Amp does not work without its own server.
 * Package @sourcegraph/amp 0.0.1790142911.  Known differences: messages have no id, so that each
 * line is a message; input_tokens counts those of the cache too; no cost and no model is printed,
 * so that maxBudgetUsd needs agent.prices.  How a usage limit looks is not known: a result with an
 * error that says so counts.
 */
#include "work/agent/stream_json.h"

static const struct stream_json amp = {.program = "Amp", .input_holds_cached = true};

static void amp_line(struct transcript *transcript, struct str line)
{
    CLEANUP(js_freep) struct js *object = transcript_parse(line);
    const char *type = js_get_str(object, "type", "");
    if (text_same(type, "assistant"))
        stream_json_assistant(transcript, &amp, object);
    else if (text_same(type, "user"))
        stream_json_user(transcript, object);
    else if (text_same(type, "result"))
        stream_json_result(transcript, &amp, object);
    else if (text_same(type, "system") && text_same(js_get_str(object, "subtype", ""), "init"))
        transcript_session(transcript, js_get_str(object, "session_id", NULL), NULL);
}

const struct adapter_ops adapter_amp = {
    .line = amp_line,
    .begin = stream_json_begin,
    .begin_flag = "--stream-json-input",
    .say = stream_json_say,
};
