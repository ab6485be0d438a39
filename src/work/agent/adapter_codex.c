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
 * A turn is the whole work on one prompt, and its tokens come with its end.  So that maxTurns has
 * an effect during a turn, tool calls are counted against it as well.  Cost is not reported: it is
 * computed from the tokens and the prices of the configuration.  Items of older versions name their
 * type item_type.
 */
#include "work/agent/adapter.h"
#include "work/agent/quota.h"

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
    if (event.status != TOOL_COMPLETED)
        event.error = js_str(js_path(item, "error.message"), NULL);
    transcript_tool(transcript, &event);
}

/* ---- other items ---- */

static void record_todos(struct transcript *transcript, const struct js *items)
{
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, ADAPTER_TEXT_MAX * 4);
    for (size_t i = 0; i < js_count(items); i++) {
        const struct js *item = js_at(items, i);
        buf_addf(&text, "[%c] %s\n", js_get_bool(item, "completed", false) ? 'x' : ' ',
                 js_get_str(item, "text", ""));
    }
    transcript_plan(transcript, buf_text(&text), NULL);
}

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
        record_todos(transcript, js_get(item, "items"));
    else if (text_same(type, "plan") && ended)
        transcript_plan(transcript, js_get_str(item, "text", NULL), NULL);
    else if (words && ended)
        on_words(transcript, item);
    else if (text_same(type, "error") && ended)
        transcript_message(transcript, js_get_str(item, "message", ""));
}

/* ---- turns ---- */

static void on_turn_completed(struct transcript *transcript, const struct js *object)
{
    const struct js *usage = js_get(object, "usage");
    struct tokens tokens = {
        .input = js_get_int(usage, "input_tokens", 0),
        .cached_input = js_get_int(usage, "cached_input_tokens", 0),
        .output = js_get_int(usage, "output_tokens", 0),
    };
    (void)transcript_tokens(transcript, NULL, tokens);
    transcript->report = REPORT_SUCCESS;
    transcript->error[0] = '\0';
    transcript_turn(transcript, 0);
}

/* The program has no code for a usage limit: its own error events have it in their text. */
static void on_error(struct transcript *transcript, const char *message)
{
    transcript->quota.rejected |= quota_mentioned(message);
    transcript_failed(transcript, message);
}

static void codex_line(struct transcript *transcript, struct str line)
{
    CLEANUP(js_freep) struct js *object = transcript_parse(line);
    const char *type = js_get_str(object, "type", "");
    if (text_starts(type, "item."))
        on_item(transcript, js_get(object, "item"), text_same(type, "item.completed"));
    else if (text_same(type, "turn.completed"))
        on_turn_completed(transcript, object);
    else if (text_same(type, "turn.failed"))
        on_error(transcript, js_str(js_path(object, "error.message"), ""));
    else if (text_same(type, "error"))
        on_error(transcript, js_get_str(object, "message", ""));
    else if (text_same(type, "thread.started"))
        transcript_session(transcript, js_get_str(object, "thread_id", NULL), NULL);
}

const struct adapter_ops adapter_codex = {.line = codex_line, .turn_is_whole = true};
