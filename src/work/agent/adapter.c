/*
 * adapter.c - which adapter reads an agent's stdout, and what all of them do with what they read.
 */
#include "work/agent/adapter.h"
#include "base/hash.h"
#include "base/jw.h"
#include "core/event_types.h"
#include "core/text/prose.h"
#include "work/agent/quota.h"
#include "work/job/step.h"
#include <assert.h>
#include <stdio.h>
#include <string.h>

/* Encoded sizes: an event stays well below a batch. */
enum { SUMMARY_MAX = 300, ERROR_MAX = 300, MESSAGE_MAX = 4000, PLAN_MAX = 4000, DATA_MAX = 8000 };

static const struct adapter_ops adapter_none = {.line = NULL};

static const struct adapter_ops *const adapters[] = {
    [ADAPTER_NONE] = &adapter_none,     [ADAPTER_NDJSON] = &adapter_ndjson,
    [ADAPTER_CLAUDE] = &adapter_claude, [ADAPTER_CODEX] = &adapter_codex,
    [ADAPTER_GEMINI] = &adapter_none,   [ADAPTER_COPILOT] = &adapter_none,
    [ADAPTER_CURSOR] = &adapter_none,   [ADAPTER_OPENCODE] = &adapter_none,
    [ADAPTER_GOOSE] = &adapter_none,    [ADAPTER_AMP] = &adapter_none,
    [ADAPTER_TEXT] = &adapter_none,     [ADAPTER_ACP] = NULL,
};

void transcript_init(struct transcript *transcript, enum adapter adapter, struct progress *progress)
{
    assert((size_t)adapter < COUNT_OF(adapters) && adapters[adapter] != NULL);
    *transcript = (struct transcript){.ops = adapters[adapter],
                                      .progress = progress,
                                      .clock = clock_real(),
                                      .report = REPORT_UNKNOWN};
    buf_init(&transcript->input, ADAPTER_INPUT_MAX);
}

void transcript_release(struct transcript *transcript)
{
    buf_release(&transcript->input);
}

bool transcript_converses(const struct transcript *transcript, const char *const *command)
{
    (void)command;
    return transcript->ops->begin != NULL;
}

void transcript_line(struct transcript *transcript, struct str line)
{
    if (transcript->ops->line != NULL && transcript->stop == NULL)
        transcript->ops->line(transcript, line);
}

void transcript_copy(char *to, size_t to_bytes, const char *from)
{
    size_t len = prose_fit(from, strlen(from), to_bytes - 1);
    memcpy(to, from, len);
    to[len] = '\0';
}

struct js *transcript_parse(struct str line)
{
    struct js *object = NULL;
    if (line.len == 0 || line.at[0] != '{' ||
        js_parse_lenient(line.at, line.len, &object, NULL) != RC_OK)
        return NULL;
    return object;
}

static void stop_agent(struct transcript *transcript, const char *why)
{
    if (transcript->stop == NULL)
        transcript->stop = why;
}

/* ---- tools ---- */

static const struct {
    const char *status, *event;
} tool_states[] = {
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
    if (!text_empty(event->error))
        step_write_text(&jw, "error", event->error, ERROR_MAX);
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

static const char *denying_rule(const struct transcript *transcript, const char *name)
{
    const char *const *rules = transcript->limits.tools_denied;
    for (; rules != NULL && *rules != NULL; rules++) {
        if (matches(*rules, name))
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
    denied.status = TOOL_DENIED;
    denied.error = buf_text(&why);
    record_tool(transcript, &denied);
    buf_clear(&why);
    buf_addf(&why, "The agent called %s, which policy.denyTools forbids.", event->name);
    transcript_copy(transcript->error, sizeof transcript->error, buf_text(&why));
    stop_agent(transcript, CUT_TOOL_DENIED);
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
    stop_agent(transcript, CUT_TOOL_RETRIES);
}

static void begin_call(struct transcript *transcript, const struct tool_event *event)
{
    remember_call(transcript, event);
    note_same(transcript, event);
    transcript->calls++;
    const char *rule = denying_rule(transcript, event->name);
    if (rule != NULL) {
        deny_call(transcript, event, rule);
        return;
    }
    record_tool(transcript, event);
    transcript_sums(transcript);
}

/* A call that was not reported before it ended has been made all the same. */
static void end_call(struct transcript *transcript, const struct tool_event *event, bool began)
{
    bool made = event->status != TOOL_DENIED;
    const char *rule = made && !began ? denying_rule(transcript, event->name) : NULL;
    if (rule != NULL)
        deny_call(transcript, event, rule);
    else
        record_tool(transcript, event);
    if (began)
        note_end(transcript, event);
}

void transcript_tool(struct transcript *transcript, const struct tool_event *event)
{
    assert((size_t)event->status < COUNT_OF(tool_states));
    struct tool_event named = *event;
    size_t at = open_at(transcript, event->id);
    bool is_open = at < ADAPTER_CALLS_MAX;
    if (named.name == NULL)
        named.name = is_open ? transcript->open[at].name : "tool";
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

/* ---- plans, messages, sessions ---- */

void transcript_plan(struct transcript *transcript, const char *text, const char *reason)
{
    char hash[SHA256_TEXT_BYTES];
    if (text_empty(text))
        return;
    sha256_hex(text, strlen(text), hash);
    if (text_same(hash, transcript->plan_hash))
        return;
    const char *type = transcript->plan_hash[0] ? EV_PLAN_UPDATED : EV_PLAN_CREATED;
    memcpy(transcript->plan_hash, hash, sizeof hash);
    CLEANUP(buf_release) struct buf data;
    buf_init(&data, DATA_MAX);
    struct jw jw = jw_to(&data);
    jw_begin(&jw, '{');
    step_write_text(&jw, "text", text, PLAN_MAX);
    if (!text_empty(reason))
        step_write_text(&jw, "reason", reason, SUMMARY_MAX);
    jw_end(&jw, '}');
    progress_add(transcript->progress, type, buf_str(&data));
}

void transcript_message(struct transcript *transcript, const char *text)
{
    CLEANUP(buf_release) struct buf data;
    buf_init(&data, DATA_MAX);
    struct jw jw = jw_to(&data);
    jw_begin(&jw, '{');
    step_write_text(&jw, "text", text, MESSAGE_MAX);
    jw_end(&jw, '}');
    progress_add(transcript->progress, EV_AGENT_MESSAGE, buf_str(&data));
}

void transcript_session(struct transcript *transcript, const char *id, const char *model)
{
    if (!text_empty(model))
        transcript_copy(transcript->usage.model, sizeof transcript->usage.model, model);
    CLEANUP(buf_release) struct buf data;
    buf_init(&data, DATA_MAX);
    struct jw jw = jw_to(&data);
    jw_begin(&jw, '{');
    step_write_text(&jw, "sessionId", id, ADAPTER_NAME_MAX);
    step_write_text(&jw, "model", text_empty(model) ? NULL : model, ADAPTER_NAME_MAX);
    jw_end(&jw, '}');
    progress_add(transcript->progress, EV_SESSION_STARTED, buf_str(&data));
}

/* ---- sums ---- */

int64_t tokens_bounded(int64_t tokens)
{
    static const int64_t tokens_max = INT64_C(1000000000);
    return tokens < 0 ? 0 : tokens > tokens_max ? tokens_max : tokens;
}

double cost_bounded(double usd)
{
    static const double cost_max = 1e6;
    return usd > 0 ? (usd < cost_max ? usd : cost_max) : 0;
}

/* What these tokens cost by the prices of the configuration; 0 without prices. */
static double transcript_price(const struct transcript *transcript, struct tokens tokens)
{
    const struct price_config *prices = &transcript->limits.prices;
    int64_t plain = tokens.input > tokens.cached_input ? tokens.input - tokens.cached_input : 0;
    return ((double)plain * prices->input + (double)tokens.cached_input * prices->cached_input +
            (double)tokens.output * prices->output) /
           1e6;
}

static int64_t growth(int64_t *had, int64_t has)
{
    int64_t grown = has > *had ? has - *had : 0;
    *had += grown;
    return grown;
}

bool transcript_tokens(struct transcript *transcript, const char *message_id, struct tokens tokens)
{
    struct tokens none = {0}, *had = &none;
    bool fresh = true;
    for (size_t i = 0; message_id != NULL && i < ADAPTER_MESSAGES_MAX; i++) {
        if (text_same(transcript->messages[i].id, message_id)) {
            had = &transcript->messages[i].tokens;
            fresh = false;
        }
    }
    if (fresh && message_id != NULL) {
        size_t at = transcript->message_next;
        transcript_copy(transcript->messages[at].id, ADAPTER_ID_MAX, message_id);
        transcript->message_next = (at + 1) % ADAPTER_MESSAGES_MAX;
        had = &transcript->messages[at].tokens;
        *had = none;
    }
    struct tokens more = {
        .input = growth(&had->input, tokens_bounded(tokens.input)),
        .cached_input = growth(&had->cached_input, tokens_bounded(tokens.cached_input)),
        .output = growth(&had->output, tokens_bounded(tokens.output)),
    };
    transcript->usage.input_tokens += more.input;
    transcript->usage.cached_input_tokens += more.cached_input;
    transcript->usage.output_tokens += more.output;
    transcript->usage.cost_usd += transcript_price(transcript, more);
    return fresh;
}

void transcript_turn(struct transcript *transcript, double cost_usd)
{
    transcript->usage.turns++;
    transcript->usage.cost_usd += cost_bounded(cost_usd);
    progress_turn(transcript->progress, &transcript->usage);
    transcript_sums(transcript);
}

void transcript_sums(struct transcript *transcript)
{
    const struct transcript_limits *limits = &transcript->limits;
    int64_t turns = transcript->usage.turns;
    if (transcript->ops->turn_is_whole && transcript->calls > turns)
        turns = transcript->calls;
    if (limits->max_turns > 0 && turns > limits->max_turns)
        stop_agent(transcript, CUT_TURN_LIMIT);
    if (limits->max_budget_usd > 0 && transcript->usage.cost_usd > limits->max_budget_usd)
        stop_agent(transcript, CUT_BUDGET_LIMIT);
}

/* ---- errors ---- */

void transcript_failed(struct transcript *transcript, const char *error)
{
    transcript->report = REPORT_ERROR;
    transcript_copy(transcript->error, sizeof transcript->error, error);
    if (transcript->quota.rejected || quota_mentioned(error))
        transcript_quota(transcript, error);
}

void transcript_quota(struct transcript *transcript, const char *message)
{
    if (transcript->quota.resets_us == 0) /* Else it was given as a number. */
        transcript->quota.resets_us = quota_reset(message, clock_now_us(&transcript->clock));
    transcript_copy(transcript->quota.message, sizeof transcript->quota.message, message);
    stop_agent(transcript, CUT_QUOTA);
}
