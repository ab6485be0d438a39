/*
 * adapter_tools.c - calls of tools: reported when they are asked for, at their beginning and their
 * end, counted, denied.
 */
#include "base/hash.h"
#include "base/jw.h"
#include "core/event_types.h"
#include "core/text/prose.h"
#include "work/agent/adapter.h"
#include "work/job/step.h"
#include <assert.h>
#include <stdio.h>
#include <string.h>

/* Encoded sizes: an event stays well below a batch. */
enum { SUMMARY_MAX = 300, ERROR_MAX = 600, DATA_MAX = 8000 };

static const struct {
    const char *status, *event;
} tool_states[] = {
    [TOOL_REQUESTED] = {"requested", EV_TOOL_CALL_REQUESTED},
    [TOOL_ALLOWED] = {"allowed", EV_TOOL_CALL_ALLOWED},
    [TOOL_STARTED] = {"started", EV_TOOL_CALL_STARTED},
    [TOOL_COMPLETED] = {"completed", EV_TOOL_CALL_COMPLETED},
    [TOOL_FAILED] = {"failed", EV_TOOL_CALL_FAILED},
    [TOOL_DENIED] = {"denied", EV_TOOL_CALL_DENIED},
    [TOOL_TIMED_OUT] = {"timed_out", EV_TOOL_CALL_TIMED_OUT},
};

/* The place of a call that is under way; ADAPTER_CALLS_MAX: none such. */
static size_t open_at(const struct transcript *transcript, const char *id)
{
    size_t at = 0;
    while (at < ADAPTER_CALLS_MAX && (text_empty(id) || !text_same(transcript->open[at].id, id)))
        at++;
    return at;
}

static void remember_call(struct transcript *transcript, const struct tool_event *event)
{
    size_t at = transcript->open_next;
    if (text_empty(event->id))
        return;
    transcript_copy(transcript->open[at].id, ADAPTER_ID_MAX, event->id);
    transcript_copy(transcript->open[at].name, ADAPTER_ID_MAX, event->name);
    transcript_copy(transcript->open[at].summary, ADAPTER_BRIEF_MAX,
                    event->summary != NULL ? event->summary : "");
    transcript->open_next = (at + 1) % ADAPTER_CALLS_MAX;
}

/* "sha256:..." of the arguments' compact JSON; NULL when there are none. */
static const char *hash_arguments(const struct js *arguments, char to[SHA256_TEXT_BYTES + 8])
{
    enum { ARGUMENTS_MAX = 2 * 1024 * 1024 };
    if (js_type(arguments) == JS_NULL)
        return NULL;
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, ARGUMENTS_MAX);
    struct jw jw = jw_to(&text);
    js_write(&jw, arguments);
    memcpy(to, "sha256:", 8);
    sha256_hex(text.data, text.len, to + 7);
    return to;
}

/* The end of a text, from the beginning of a line on if one is near: of a command's output the last
   lines say why it failed. */
static const char *last_lines(const char *text)
{
    size_t len = strlen(text), max = ERROR_MAX / 2; /* Line feeds become two characters. */
    if (len <= max)
        return text;
    const char *from = text + (len - max);
    while (((unsigned char)*from & 0xc0) == 0x80)
        from++;
    const char *line = strchr(from, '\n');
    return line != NULL && line[1] != '\0' ? line + 1 : from;
}

static void record_tool(struct transcript *transcript, const struct tool_event *event)
{
    char hash[SHA256_TEXT_BYTES + 8];
    CLEANUP(buf_release) struct buf data;
    buf_init(&data, DATA_MAX);
    struct jw jw = jw_to(&data);
    jw_begin(&jw, '{');
    step_write_text(&jw, "name", event->name, ADAPTER_NAME_MAX);
    step_write_text(&jw, "summary", event->summary, SUMMARY_MAX);
    jw_kstr(&jw, "status", tool_states[event->status].status);
    if (!text_empty(event->id))
        step_write_text(&jw, "toolCallId", event->id, ADAPTER_NAME_MAX);
    jw_optstr(&jw, "argumentsHash", hash_arguments(event->arguments, hash));
    if (event->exit_code != 0)
        jw_kint(&jw, "exitCode", event->exit_code);
    if (!text_empty(event->error))
        step_write_text(&jw, "error", last_lines(event->error), ERROR_MAX);
    jw_end(&jw, '}');
    progress_add(transcript->progress, tool_states[event->status].event, buf_str(&data));
}

/* Names are compared as they are; one that ends in * matches all with that prefix. */
static bool matches(const char *rule, const char *name)
{
    size_t len = strlen(rule);
    if (len > 0 && rule[len - 1] == '*')
        return strncmp(rule, name, len - 1) == 0;
    return text_same(rule, name);
}

/* Another name of the same tool, or NULL: Claude Code lists its tool for subagents as Task and
   calls it Agent. */
static const char *other_name(const char *name)
{
    if (text_same(name, "Task"))
        return "Agent";
    return text_same(name, "Agent") ? "Task" : NULL;
}

const char *tool_rule(const char *const *rules, const char *name)
{
    const char *other = other_name(name);
    for (; rules != NULL && *rules != NULL; rules++) {
        if (matches(*rules, name) || (other != NULL && matches(*rules, other)))
            return *rules;
    }
    return NULL;
}

static void deny_call(struct transcript *transcript, const struct tool_event *event,
                      const char *rule)
{
    CLEANUP(buf_release) struct buf why;
    buf_init(&why, ADAPTER_TEXT_MAX);
    buf_addf(&why, "policy.denyTools: %s", rule);
    struct tool_event denied = *event;
    denied.status = TOOL_REQUESTED;
    record_tool(transcript, &denied);
    denied.status = TOOL_DENIED;
    denied.error = buf_text(&why);
    record_tool(transcript, &denied);
    buf_clear(&why);
    buf_addf(&why, "The agent called %s, which policy.denyTools forbids.", event->name);
    transcript_copy(transcript->error, sizeof transcript->error, buf_text(&why));
    transcript_stop(transcript, CUT_TOOL_DENIED);
}

/* A call that is repeated and fails every time makes no progress; another call in between resets
   the count. */
static void note_same(struct transcript *transcript, const struct tool_event *event)
{
    char arguments[SHA256_TEXT_BYTES + 8], both[sizeof arguments + ADAPTER_ID_MAX];
    char hash[SHA256_TEXT_BYTES] = "";
    if (hash_arguments(event->arguments, arguments) != NULL) {
        int len = snprintf(both, sizeof both, "%s %.*s", arguments, ADAPTER_ID_MAX - 2,
                           event->name);
        sha256_hex(both, (size_t)len, hash);
    }
    if (hash[0] && text_same(hash, transcript->same.hash)) {
        transcript->retries += transcript->same.failures > 0;
        return;
    }
    memcpy(transcript->same.hash, hash, sizeof hash);
    transcript->same.failures = 0;
}

static void note_end(struct transcript *transcript, const struct tool_event *event)
{
    bool failed = event->status == TOOL_FAILED || event->status == TOOL_TIMED_OUT;
    if (!failed || !transcript->same.hash[0]) {
        transcript->same.failures = 0;
        return;
    }
    transcript->same.failures++;
    if (!transcript->limits.bound_retries ||
        transcript->same.failures <= 1 + transcript->limits.tool_retries)
        return;
    CLEANUP(buf_release) struct buf why;
    buf_init(&why, ADAPTER_TEXT_MAX);
    buf_addf(&why, "The same call of %s has failed %lld times in a row.", event->name,
             (long long)transcript->same.failures);
    transcript_copy(transcript->error, sizeof transcript->error, buf_text(&why));
    transcript_stop(transcript, CUT_TOOL_RETRIES);
}

static void begin_call(struct transcript *transcript, const struct tool_event *event)
{
    remember_call(transcript, event);
    note_same(transcript, event);
    transcript->calls++;
    const char *rule = tool_rule(transcript->limits.tools_denied, event->name);
    if (rule != NULL) {
        deny_call(transcript, event, rule);
        return;
    }
    record_tool(transcript, event);
    transcript_check(transcript);
}

/* A call that was not reported before it ended has been made all the same. */
static void end_call(struct transcript *transcript, const struct tool_event *event, bool began)
{
    bool made = event->status != TOOL_DENIED;
    const char *rule = made && !began ? tool_rule(transcript->limits.tools_denied, event->name)
                                      : NULL;
    if (rule != NULL)
        deny_call(transcript, event, rule);
    else
        record_tool(transcript, event);
    if (began)
        note_end(transcript, event);
}

/* It has not begun: nothing is counted. */
static void ask_call(struct transcript *transcript, const struct tool_event *event)
{
    const char *rule = tool_rule(transcript->limits.tools_denied, event->name);
    if (rule != NULL)
        deny_call(transcript, event, rule);
    else
        record_tool(transcript, event);
}

void transcript_tool_named(struct transcript *transcript, const char *id, const char *name)
{
    const char *rule = text_empty(name) ? NULL : tool_rule(transcript->limits.tools_denied, name);
    if (rule != NULL)
        deny_call(transcript, &(struct tool_event){.id = id, .name = name}, rule);
}

const char *tool_summary(const struct js *arguments)
{
    static const char *const keys[] = {
        "command", "cmd",   "file_path", "filePath", "notebook_path", "absolute_path",
        "path",    "paths", "pattern",   "query",    "url",           "skill",
        "subject", "name",  "dir_path",  "taskId",   "description",   "prompt",
    };
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        const char *text = js_get_str(arguments, keys[i], NULL);
        if (!text_empty(text))
            return text;
    }
    return NULL;
}

void transcript_tool(struct transcript *transcript, const struct tool_event *event)
{
    assert((size_t)event->status < COUNT_OF(tool_states));
    struct tool_event named = *event;
    size_t at = open_at(transcript, event->id);
    bool is_open = at < ADAPTER_CALLS_MAX;
    if (named.name == NULL)
        named.name = is_open ? transcript->open[at].name : "tool";
    if (named.summary == NULL && is_open && transcript->open[at].summary[0] != '\0')
        named.summary = transcript->open[at].summary;
    if (named.status == TOOL_REQUESTED || named.status == TOOL_ALLOWED) {
        ask_call(transcript, &named);
        return;
    }
    if (named.status != TOOL_STARTED) {
        end_call(transcript, &named, is_open);
        if (is_open)
            transcript->open[at].id[0] = '\0';
        return;
    }
    /* Some formats repeat the beginning; another call by the same id is another call. */
    if (!is_open || !text_same(transcript->open[at].name, named.name))
        begin_call(transcript, &named);
}
