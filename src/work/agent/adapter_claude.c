/*
 * adapter_claude.c - Claude Code: claude -p --verbose --output-format stream-json, with
 * --include-partial-messages and --input-format stream-json where they are wanted.
 *
 * Recorded with 2.1.197 and 2.1.326.  Lines of stream_json.h, and:
 *
 *     {"type":"system","subtype":"init","session_id":"...","model":"claude-...",...}
 *     {"type":"system","subtype":"api_retry","attempt":1,"max_retries":10,"retry_delay_ms":574.9,
 *      "error_status":529,"error":"overloaded"}
 *     {"type":"stream_event","event":{"type":"message_start","message":{"id":...,"usage":...}}}
 *     {"type":"stream_event","event":{"type":"content_block_start","content_block":{...}}}
 *     {"type":"stream_event","event":{"type":"message_delta","usage":{"output_tokens":50,...}}}
 *     {"type":"rate_limit_event","rate_limit_info":{"status":"allowed|allowed_warning|rejected",
 *      "resetsAt":1787412000,"rateLimitType":"five_hour","utilization":0.91}}
 *     {"type":"assistant","message":{"model":"<synthetic>",...},"error":"rate_limit"}
 *
 * The usage of assistant lines is the one that the message began with: true counts of output come
 * with message_delta, which is printed for the main agent only.  A stream event names a tool before
 * its input is written, so that a denied one is stopped however long its line becomes.  The cost is
 * reported in the result only; until then it is computed from the tokens.  `result` sums up all
 * models: subagents, and side requests such as that for a title.
 *
 * On stdin: messages of a person, each taken up with the agent's next request, and the request to
 * interrupt.  Messages that are written when stdin is closed are still worked on.
 */
#include "base/jw.h"
#include "work/agent/quota.h"
#include "work/agent/stream_json.h"

static const struct stream_json claude = {.program = "Claude Code"};

/* ---- messages ---- */

/* The message is from Claude Code itself, not from the model: an error of the provider. */
static bool is_notice(const struct js *object)
{
    return text_same(js_str(js_path(object, "message.model"), ""), "<synthetic>") ||
           js_get_str(object, "error", NULL) != NULL;
}

/* The result that follows says the same, and more. */
static void on_notice(struct transcript *transcript, const struct js *object)
{
    const char *text = stream_json_text(js_path(object, "message.content"));
    bool refused = text_same(js_get_str(object, "error", ""), "rate_limit");
    transcript->quota.rejected |= refused;
    if (refused || quota_notice(text))
        transcript_quota(transcript, text);
    else if (text[0])
        transcript_message(transcript, text);
}

static void on_assistant(struct transcript *transcript, const struct js *object)
{
    if (is_notice(object))
        on_notice(transcript, object);
    else
        stream_json_assistant(transcript, &claude, object);
}

/* ---- parts of a message ---- */

/* What the message has used by now.  Without the kinds of cache writes nothing is known of them
   that was not in its beginning. */
static void on_delta(struct transcript *transcript, const struct js *usage)
{
    struct request_usage request = {.message_id = transcript->message_id,
                                    .tokens = stream_json_tokens(&claude, usage)};
    if (js_get(usage, "cache_creation") == NULL)
        request.tokens.cache_write = request.tokens.cache_write_1h = 0;
    (void)transcript_tokens(transcript, &request);
    transcript_sums(transcript);
}

static void on_stream_event(struct transcript *transcript, const struct js *object)
{
    const struct js *event = js_get(object, "event");
    const char *type = js_get_str(event, "type", "");
    if (!stream_json_of_main(object))
        return;
    if (text_same(type, "message_start")) {
        const struct js *message = js_get(event, "message");
        transcript_copy(transcript->message_id, sizeof transcript->message_id,
                        js_get_str(message, "id", ""));
        stream_json_count(transcript, &claude, message, true);
    } else if (text_same(type, "content_block_start")) {
        const struct js *block = js_get(event, "content_block");
        if (text_same(js_get_str(block, "type", ""), "tool_use"))
            transcript_tool_named(transcript, js_get_str(block, "id", NULL),
                                  js_get_str(block, "name", NULL));
    } else if (text_same(type, "message_delta") && transcript->message_id[0] != '\0') {
        on_delta(transcript, js_get(event, "usage"));
    }
}

/* ---- the provider ---- */

static void on_retry(struct transcript *transcript, const struct js *object)
{
    const char *why = js_get_str(object, "error", NULL);
    double delay_ms = js_num(js_get(object, "retry_delay_ms"), 0);
    transcript_retrying(transcript,
                        &(struct provider_retry){
                            .attempt = js_get_int(object, "attempt", 0),
                            .attempts_max = js_get_int(object, "max_retries", 0),
                            .delay_ms = delay_ms > 0 && delay_ms < 1e9 ? (int64_t)delay_ms : 0,
                            .status = js_get_int(object, "error_status", 0),
                            .why = text_same(why, "unknown") ? "an unknown error" : why,
                        });
}

/* The event is sent for accepted requests as well.  A rejected request may still continue at extra
   cost. */
static void on_rate_limit(struct transcript *transcript, const struct js *object)
{
    static const char *const known[] = {"allowed", "allowed_warning", "rejected"};
    const struct js *info = js_get(object, "rate_limit_info");
    int64_t now_us = clock_now_us(&transcript->clock);
    int64_t resets_us = quota_reset_epoch(js_get_int(info, "resetsAt", 0), now_us);
    const char *window = js_get_str(info, "rateLimitType", NULL), *status = NULL;
    for (size_t i = 0; i < COUNT_OF(known); i++) {
        if (text_same(known[i], js_get_str(info, "status", "")))
            status = known[i];
    }
    if (status != NULL && window != NULL)
        transcript_account(transcript, &(struct account_usage){
                                           .window = window,
                                           .utilization = js_num(js_get(info, "utilization"), -1),
                                           .resets_us = resets_us,
                                           .status = status,
                                       });
    if (!text_same(status, "rejected") || js_get_bool(info, "isUsingOverage", false) ||
        text_same(js_get_str(info, "overageStatus", ""), "allowed"))
        return;
    transcript->quota.rejected = true;
    transcript->quota.resets_us = resets_us;
}

static void on_system(struct transcript *transcript, const struct js *object)
{
    const char *subtype = js_get_str(object, "subtype", "");
    if (text_same(subtype, "init"))
        transcript_session(transcript, js_get_str(object, "session_id", NULL),
                           js_get_str(object, "model", NULL));
    else if (text_same(subtype, "api_retry"))
        on_retry(transcript, object);
}

/* ---- lines ---- */

static void claude_line(struct transcript *transcript, struct str line)
{
    CLEANUP(js_freep) struct js *object = transcript_parse(line);
    const char *type = js_get_str(object, "type", "");
    if (text_same(type, "assistant"))
        on_assistant(transcript, object);
    else if (text_same(type, "stream_event"))
        on_stream_event(transcript, object);
    else if (text_same(type, "user"))
        stream_json_user(transcript, object);
    else if (text_same(type, "result"))
        stream_json_result(transcript, &claude, object);
    else if (text_same(type, "rate_limit_event"))
        on_rate_limit(transcript, object);
    else if (text_same(type, "system"))
        on_system(transcript, object);
}

static void claude_late_line(struct transcript *transcript, struct str line)
{
    CLEANUP(js_freep) struct js *object = transcript_parse(line);
    if (text_same(js_get_str(object, "type", ""), "result"))
        stream_json_late_result(transcript, object);
}

static void claude_interrupt(struct transcript *transcript)
{
    CLEANUP(buf_release) struct buf line;
    buf_init(&line, ADAPTER_TEXT_MAX);
    struct jw jw = jw_to(&line);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "type", "control_request");
    jw_kstr(&jw, "request_id", "drover-interrupt");
    jw_key(&jw, "request");
    jw_begin(&jw, '{');
    jw_kstr(&jw, "subtype", "interrupt");
    jw_end(&jw, '}');
    jw_end(&jw, '}');
    transcript_send(transcript, &line);
}

const struct adapter_ops adapter_claude = {
    .line = claude_line,
    .late_line = claude_late_line,
    .tells_end = true,
    .begin = stream_json_begin,
    .begin_flag = "--input-format=stream-json",
    .say = stream_json_say,
    .interrupt = claude_interrupt,
};
