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
#include <string.h>

/* Encoded sizes: an event stays well below a batch. */
enum { REASON_MAX = 300, MESSAGE_MAX = 4000, PLAN_MAX = 4000, DATA_MAX = 8000 };

static const struct adapter_ops adapter_none = {.line = NULL};

static const struct adapter_ops *const adapters[] = {
    [ADAPTER_NONE] = &adapter_none,     [ADAPTER_NDJSON] = &adapter_ndjson,
    [ADAPTER_CLAUDE] = &adapter_claude, [ADAPTER_CODEX] = &adapter_codex,
    [ADAPTER_GEMINI] = &adapter_gemini, [ADAPTER_COPILOT] = &adapter_copilot,
    [ADAPTER_CURSOR] = &adapter_cursor, [ADAPTER_OPENCODE] = &adapter_opencode,
    [ADAPTER_GOOSE] = &adapter_goose,   [ADAPTER_AMP] = &adapter_amp,
    [ADAPTER_TEXT] = &adapter_text,     [ADAPTER_ACP] = &adapter_acp,
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
    acp_free(transcript->acp);
}

/* "--flag=value", or "--flag" and "value" after it. */
static bool has_flag(const char *const *command, const char *flag)
{
    const char *value = strchr(flag, '=');
    size_t name_len = value != NULL ? (size_t)(value - flag) : strlen(flag);
    for (; *command != NULL; command++) {
        bool named = strncmp(*command, flag, name_len) == 0 && (*command)[name_len] == '\0';
        if (text_same(*command, flag) || (named && value == NULL) ||
            (named && text_same(command[1], value + 1)))
            return true;
    }
    return false;
}

bool transcript_converses(const struct transcript *transcript, const char *const *command)
{
    const struct adapter_ops *ops = transcript->ops;
    return ops->begin != NULL && (ops->begin_flag == NULL || has_flag(command, ops->begin_flag));
}

void transcript_line(struct transcript *transcript, struct str line)
{
    const struct adapter_ops *ops = transcript->ops;
    void (*read)(struct transcript *, struct str) = transcript->stop == NULL ? ops->line
                                                                             : ops->late_line;
    if (read != NULL)
        read(transcript, line);
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

void transcript_send(struct transcript *transcript, const struct buf *object)
{
    if (object->overflow || transcript->input.len + object->len + 1 > ADAPTER_INPUT_MAX) {
        transcript_failed(transcript, "The message is too long for the agent's stdin.");
        transcript->input_over = true;
        return;
    }
    buf_add(&transcript->input, object->data, object->len);
    buf_addc(&transcript->input, '\n');
}

void transcript_stop(struct transcript *transcript, const char *why)
{
    if (transcript->stop == NULL)
        transcript->stop = why;
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
        step_write_text(&jw, "reason", reason, REASON_MAX);
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

void transcript_words(struct transcript *transcript, const char *piece)
{
    size_t len = strlen(transcript->words);
    transcript_copy(transcript->words + len, sizeof transcript->words - len, piece);
}

void transcript_words_over(struct transcript *transcript)
{
    if (transcript->words[0] == '\0')
        return;
    transcript_message(transcript, transcript->words);
    transcript_copy(transcript->summary, sizeof transcript->summary, transcript->words);
    transcript->words[0] = '\0';
}

void transcript_model(struct transcript *transcript, const char *model)
{
    if (!text_empty(model))
        transcript_copy(transcript->usage.model, sizeof transcript->usage.model, model);
}

void transcript_session(struct transcript *transcript, const char *id, const char *model)
{
    transcript_model(transcript, model);
    if (!text_empty(id) && text_same(id, transcript->session_id))
        return;
    transcript_copy(transcript->session_id, sizeof transcript->session_id, id != NULL ? id : "");
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

static int64_t growth(int64_t *had, int64_t has)
{
    int64_t bounded = tokens_bounded(has), grown = bounded > *had ? bounded - *had : 0;
    *had += grown;
    return grown;
}

/* What is known of the message with this id; a new place in the ring when nothing is. */
static struct tokens *known_of(struct transcript *transcript, const char *message_id,
                               bool *ret_fresh)
{
    *ret_fresh = false;
    for (size_t i = 0; i < ADAPTER_MESSAGES_MAX; i++) {
        if (text_same(transcript->messages[i].id, message_id))
            return &transcript->messages[i].tokens;
    }
    size_t at = transcript->message_next;
    transcript_copy(transcript->messages[at].id, ADAPTER_ID_MAX, message_id);
    transcript->messages[at].tokens = (struct tokens){0};
    transcript->message_next = (at + 1) % ADAPTER_MESSAGES_MAX;
    *ret_fresh = true;
    return &transcript->messages[at].tokens;
}

bool transcript_tokens(struct transcript *transcript, const struct request_usage *request)
{
    struct tokens none = {0}, *had = &none;
    const struct tokens *has = &request->tokens;
    bool fresh = true;
    if (!text_empty(request->message_id))
        had = known_of(transcript, request->message_id, &fresh);
    struct token_sale more = {
        .model = request->model != NULL ? request->model : transcript->usage.model,
        .tokens = {.input = growth(&had->input, has->input),
                   .cached_input = growth(&had->cached_input, has->cached_input),
                   .cache_write = growth(&had->cache_write, has->cache_write),
                   .cache_write_1h = growth(&had->cache_write_1h, has->cache_write_1h),
                   .output = growth(&had->output, has->output)},
        .request_input = request->many ? 0 : had->input,
    };
    double usd = price_of(&more, &transcript->limits.prices);
    transcript->usage.input_tokens += more.tokens.input;
    transcript->usage.cached_input_tokens += more.tokens.cached_input;
    transcript->usage.output_tokens += more.tokens.output;
    transcript->usage.cost_usd += usd;
    transcript->counted.input_tokens += more.tokens.input;
    transcript->counted.output_tokens += more.tokens.output;
    transcript->counted.cost_usd += usd;
    return fresh;
}

void transcript_total(struct transcript *transcript, const struct tokens *total)
{
    transcript->usage.input_tokens = tokens_bounded(total->input);
    transcript->usage.cached_input_tokens = tokens_bounded(total->cached_input);
    transcript->usage.output_tokens = tokens_bounded(total->output);
}

void transcript_turn(struct transcript *transcript, double cost_usd)
{
    transcript->usage.turns++;
    transcript->usage.cost_usd += cost_bounded(cost_usd);
    transcript_sums(transcript);
}

static void count_whole_turn(struct transcript *transcript, const struct tokens *tokens)
{
    struct request_usage request = {.many = true, .tokens = *tokens};
    (void)transcript_tokens(transcript, &request);
    transcript->usage.turns += transcript->stop == NULL;
    transcript_sums(transcript);
}

void transcript_whole_turn(struct transcript *transcript, const struct tokens *tokens)
{
    bool noted = transcript->requests.look != NULL &&
                 transcript->requests.look(transcript->requests.ctx);
    if (transcript->requests.known)
        return;
    transcript->requests.waits = noted;
    transcript->requests.of_waits = *tokens;
    if (!noted)
        count_whole_turn(transcript, tokens);
}

void transcript_requests_known(struct transcript *transcript)
{
    struct usage *usage = &transcript->usage;
    if (transcript->requests.known)
        return;
    transcript->requests.known = true;
    usage->turns = usage->input_tokens = usage->cached_input_tokens = usage->output_tokens = 0;
    usage->cost_usd = 0;
}

void transcript_requests_over(struct transcript *transcript)
{
    if (transcript->requests.waits && !transcript->requests.known)
        count_whole_turn(transcript, &transcript->requests.of_waits);
    transcript->requests.waits = false;
    transcript->requests.look = NULL;
}

void transcript_answers(struct transcript *transcript)
{
    if (transcript->answering)
        return;
    transcript->answering = true;
    transcript_turn(transcript, 0);
}

void transcript_sums(struct transcript *transcript)
{
    progress_turn(transcript->progress, &transcript->usage);
    transcript_check(transcript);
}

void transcript_check(struct transcript *transcript)
{
    const struct transcript_limits *limits = &transcript->limits;
    int64_t turns = transcript->usage.turns;
    if (transcript->ops->turn_is_whole && !transcript->requests.known && transcript->calls > turns)
        turns = transcript->calls;
    if (limits->max_turns > 0 && turns > limits->max_turns)
        transcript_stop(transcript, CUT_TURN_LIMIT);
    if (limits->max_budget_usd > 0 && transcript->usage.cost_usd > limits->max_budget_usd)
        transcript_stop(transcript, CUT_BUDGET_LIMIT);
    int64_t tokens = transcript->usage.input_tokens + transcript->usage.output_tokens;
    if (limits->max_tokens > 0 && tokens > limits->max_tokens)
        transcript_stop(transcript, CUT_TOKEN_LIMIT);
}

/* ---- the end ---- */

void transcript_succeeded(struct transcript *transcript, const char *summary)
{
    transcript->report = REPORT_SUCCESS;
    transcript->overloaded = false;
    transcript->error[0] = '\0';
    if (!text_empty(summary))
        transcript_copy(transcript->summary, sizeof transcript->summary, summary);
}

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
    transcript_stop(transcript, CUT_QUOTA);
}
