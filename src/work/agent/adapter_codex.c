/*
 * adapter_codex.c - Codex: codex exec --json
 *
 *     {"type":"thread.started","thread_id":"..."}
 *     {"type":"turn.started"}
 *     {"type":"item.started|item.updated|item.completed","item":{"id":"item_1","type":
 *         "command_execution","command":"...","exit_code":0,"status":"completed"} ...
 *         "file_change","changes":[{"path":"a.c","kind":"add|delete|update"}],"status":"completed"
 *         "mcp_tool_call","server":"...","tool":"...","arguments":{},"error":{"message":"..."}
 *         "web_search","query":"..."          "collab_tool_call","tool":"..."
 *         "agent_message","text":"..."        "reasoning","text":"..."
 *         "todo_list","items":[{"text":"...","completed":true}]
 *         "plan","text":"..."                 "error","message":"..."}
 *     {"type":"turn.completed","usage":{"input_tokens":9,"cached_input_tokens":3,
 *                                       "output_tokens":2}}
 *     {"type":"turn.failed","error":{"message":"..."}}
 *     {"type":"error","message":"..."}
 *
 * Recorded with 0.166.0 and 0.169.0.  A turn is the whole work on one prompt, and its tokens come
 * with its end; of a session that was resumed they are those of the whole session.  The tokens of
 * every request and the model are in a file of the session: rollout.h follows it, and then turns
 * are requests to the model.  Without it tool calls are counted against maxTurns as well, and the
 * cost is known at the end only, from the prices of the configuration.  Items of older versions
 * name their type item_type.
 *
 * While it repeats a request it prints errors that begin with "Reconnecting...".
 */
#include "work/agent/adapter.h"
#include "work/agent/todos.h"
#include <stdlib.h>
#include <string.h>

/* ---- items that are tool calls ---- */

/* "update src/a.c, add src/b.c" */
static void summarize_changes(const struct js *changes, struct buf *text)
{
    for (size_t i = 0; i < js_count(changes); i++) {
        const struct js *change = js_at(changes, i);
        buf_addf(text, "%s%s %s", i > 0 ? ", " : "", js_get_str(change, "kind", "change"),
                 js_get_str(change, "path", ""));
    }
}

struct call {
    const char *name;
    const char *summary;
    const struct js *arguments;
};

/* False: the item is no call of a tool.  Texts that are made live in text. */
static bool read_call(const char *type, const struct js *item, struct buf *text,
                      struct call *ret_call)
{
    if (text_same(type, "command_execution")) {
        *ret_call = (struct call){type, js_get_str(item, "command", NULL), js_get(item, "command")};
    } else if (text_same(type, "file_change")) {
        summarize_changes(js_get(item, "changes"), text);
        *ret_call = (struct call){type, buf_text(text), js_get(item, "changes")};
    } else if (text_same(type, "mcp_tool_call")) {
        buf_addf(text, "mcp__%s__%s", js_get_str(item, "server", ""), js_get_str(item, "tool", ""));
        *ret_call = (struct call){buf_text(text), NULL, js_get(item, "arguments")};
    } else if (text_same(type, "web_search")) {
        *ret_call = (struct call){type, js_get_str(item, "query", NULL), js_get(item, "query")};
    } else if (text_same(type, "collab_tool_call")) {
        *ret_call = (struct call){type, js_get_str(item, "tool", NULL), js_get(item, "prompt")};
    } else {
        return false;
    }
    return true;
}

static enum tool_status end_of(const struct js *item)
{
    const char *status = js_get_str(item, "status", "completed");
    if (text_same(status, "declined"))
        return TOOL_DENIED;
    return text_same(status, "failed") ? TOOL_FAILED : TOOL_COMPLETED;
}

static void on_call(struct transcript *transcript, const struct call *call, const struct js *item,
                    bool ended)
{
    struct tool_event event = {
        .status = TOOL_STARTED,
        .id = js_get_str(item, "id", NULL),
        .name = call->name,
        .summary = call->summary,
        .arguments = call->arguments,
    };
    /* Some items are reported only when they are done. */
    transcript_tool(transcript, &event);
    if (!ended || transcript->stop != NULL)
        return;
    event.status = end_of(item);
    if (event.status != TOOL_COMPLETED) {
        event.error = js_str(js_path(item, "error.message"),
                             js_get_str(item, "aggregated_output", NULL));
        event.exit_code = js_get_int(item, "exit_code", 0);
    }
    transcript_tool(transcript, &event);
}

/* ---- other items ---- */

static void on_words(struct transcript *transcript, const struct js *item)
{
    const char *text = js_get_str(item, "text", "");
    transcript_message(transcript, text);
    transcript_copy(transcript->summary, sizeof transcript->summary, text);
}

static void on_item(struct transcript *transcript, const struct js *item, bool ended)
{
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, ADAPTER_TEXT_MAX);
    struct call call;
    const char *type = js_get_str(item, "type", js_get_str(item, "item_type", ""));
    bool words = text_same(type, "agent_message") || text_same(type, "assistant_message");
    if (read_call(type, item, &text, &call))
        on_call(transcript, &call, item, ended);
    else if (text_same(type, "todo_list"))
        todos_plan(transcript, js_get(item, "items"));
    else if (text_same(type, "plan") && ended)
        transcript_plan(transcript, js_get_str(item, "text", NULL), NULL);
    else if (words && ended)
        on_words(transcript, item);
    else if (text_same(type, "error") && ended)
        transcript_message(transcript, js_get_str(item, "message", ""));
}

/* ---- turns ---- */

static void take_usage(struct transcript *transcript, const struct js *usage)
{
    struct tokens tokens = {
        .input = js_get_int(usage, "input_tokens", 0),
        .cached_input = js_get_int(usage, "cached_input_tokens", 0),
        .cache_write = js_get_int(usage, "cache_write_input_tokens", 0),
        .output = js_get_int(usage, "output_tokens", 0),
    };
    transcript_whole_turn(transcript, &tokens);
}

/* "Reconnecting... 2/5 (unexpected status 529 ...)": the reason in its brackets. */
static void on_retry(struct transcript *transcript, const char *message)
{
    char why[ADAPTER_NAME_MAX];
    char *end = NULL;
    const char *from = strchr(message, '(');
    struct provider_retry retry = {.why = why};
    const char *digits = message + strcspn(message, "0123456789(");
    retry.attempt = strtoll(digits, &end, 10);
    if (retry.attempt > 0 && *end == '/')
        retry.attempts_max = strtoll(end + 1, NULL, 10);
    transcript_copy(why, sizeof why, from != NULL ? from + 1 : message);
    size_t len = strlen(why);
    if (from != NULL && len > 0 && why[len - 1] == ')')
        why[len - 1] = '\0';
    transcript_retrying(transcript, &retry);
}

/* The program has no code for a usage limit: its own error events have it in their text. */
static void on_error(struct transcript *transcript, const char *message)
{
    if (text_starts(message, "Reconnecting") || strstr(message, "; retrying ") != NULL)
        on_retry(transcript, message);
    else
        transcript_refused(transcript,
                           &(struct provider_refusal){.text = message, .has_no_status = true});
}

static void codex_line(struct transcript *transcript, struct str line)
{
    CLEANUP(js_freep) struct js *object = transcript_parse(line);
    const char *type = js_get_str(object, "type", "");
    if (text_starts(type, "item."))
        on_item(transcript, js_get(object, "item"), text_same(type, "item.completed"));
    else if (text_same(type, "turn.completed")) {
        transcript_succeeded(transcript, NULL);
        take_usage(transcript, js_get(object, "usage"));
    } else if (text_same(type, "turn.failed"))
        on_error(transcript, js_str(js_path(object, "error.message"), ""));
    else if (text_same(type, "error"))
        on_error(transcript, js_get_str(object, "message", ""));
    else if (text_same(type, "thread.started"))
        transcript_session(transcript, js_get_str(object, "thread_id", NULL), NULL);
}

static void codex_late_line(struct transcript *transcript, struct str line)
{
    CLEANUP(js_freep) struct js *object = transcript_parse(line);
    if (text_same(js_get_str(object, "type", ""), "turn.completed"))
        take_usage(transcript, js_get(object, "usage"));
}

const struct adapter_ops adapter_codex = {
    .line = codex_line,
    .late_line = codex_late_line,
    .turn_is_whole = true,
    .tells_end = true,
};
