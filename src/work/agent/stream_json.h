/*
 * stream_json.h - lines as Claude Code prints and reads them; Amp prints and reads the same.
 *
 *     {"type":"assistant","message":{"id":"msg_1","model":"...","content":[
 *         {"type":"text","text":"..."},
 *         {"type":"tool_use","id":"toolu_1","name":"Bash","input":{"command":"..."}}],
 *       "usage":{"input_tokens":4,"cache_creation_input_tokens":5,"cache_read_input_tokens":6,
 *                "output_tokens":7}},"parent_tool_use_id":null}
 *     {"type":"user","message":{"content":[
 *         {"type":"tool_result","tool_use_id":"toolu_1","is_error":false,"content":"..."}]}}
 *     {"type":"result","subtype":"success|error_max_turns|error_during_execution|...",
 *      "is_error":false,"api_error_status":429?,"result":"...","num_turns":2,
 *      "total_cost_usd":0.05,"usage":{...},"modelUsage":{"MODEL":{"inputTokens":1,...}},
 *      "model_usage_since_last_result":{...the same, of this part of the session},
 *      "permission_denials":[{"tool_name":"...","tool_use_id":"..."}]}
 *
 * One message of the model may be split into several lines, all with its id and its usage: it is
 * one turn.  Messages of subagents (parent_tool_use_id) cost tokens and are no turns.
 */
#ifndef WORK_AGENT_STREAM_JSON_H
#define WORK_AGENT_STREAM_JSON_H
#include "work/agent/adapter.h"

struct stream_json {
    const char *program;     /* For texts: "Claude Code". */
    bool input_holds_cached; /* input_tokens counts those of the cache too. */
};

struct tokens stream_json_tokens(const struct stream_json *kind, const struct js *usage);
/* Tokens of a message of the model; one turn when it is a new one of the main agent. */
void stream_json_count(struct transcript *transcript, const struct stream_json *kind,
                       const struct js *message, bool of_main);
bool stream_json_of_main(const struct js *object);      /* Not of a subagent. */
const char *stream_json_text(const struct js *content); /* Its first text, or "". */

void stream_json_assistant(struct transcript *transcript, const struct stream_json *kind,
                           const struct js *object);
void stream_json_user(struct transcript *transcript, const struct js *object);
void stream_json_result(struct transcript *transcript, const struct stream_json *kind,
                        const struct js *object);
/* The same line after a stop: only what was used counts. */
void stream_json_late_result(struct transcript *transcript, const struct js *object);

/* begin and say of adapters whose agent reads such lines. */
void stream_json_begin(struct transcript *transcript, const struct conversation *conversation);
void stream_json_say(struct transcript *transcript, const char *text);
#endif
