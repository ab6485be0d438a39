#include "core/config/slack.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/str.h"
#include "core/text/prose.h"
#include <stdio.h>
#include <string.h>

enum { TIMESTAMP_DIGITS_MAX = 12, OUTCOME_MAX = 600, BLOCK_ID_BYTES = 80 };

#define BLOCK_APPROVAL "drover:approval:"
#define BLOCK_QUESTION "drover:question:"
#define VERSION        "v0"

/* ---- messages ---- */

void slack_escape(struct buf *to, const char *text)
{
    for (const char *at = text; *at != '\0'; at++) {
        if (*at == '&')
            buf_adds(to, "&amp;");
        else if (*at == '<')
            buf_adds(to, "&lt;");
        else if (*at == '>')
            buf_adds(to, "&gt;");
        else
            buf_addc(to, *at);
    }
}

/* Cut at a character; Slack refuses a message with a text that is too long. */
static void write_cut(struct jw *jw, const char *key, const char *text, size_t max)
{
    size_t len = strlen(text);
    jw_key(jw, key);
    jw_strn(jw, text, len <= max ? len : prose_fit(text, len, max));
}

static void write_text(struct jw *jw, const char *key, const char *type, const char *text,
                       size_t max)
{
    jw_key(jw, key);
    jw_begin(jw, '{');
    jw_kstr(jw, "type", type);
    write_cut(jw, "text", text, max);
    jw_end(jw, '}');
}

static void write_section(struct jw *jw, const char *text)
{
    jw_begin(jw, '{');
    jw_kstr(jw, "type", "section");
    write_text(jw, "text", "mrkdwn", text, SLACK_SECTION_MAX);
    jw_end(jw, '}');
}

struct button {
    const char *action, *label, *value;
    const char *style; /* or NULL */
};

/* A look before what cannot be taken back. */
static void write_confirm(struct jw *jw)
{
    jw_key(jw, "confirm");
    jw_begin(jw, '{');
    write_text(jw, "title", "plain_text", "Reject it?", 100);
    write_text(jw, "text", "plain_text", "The run fails, and its change is not used.", 300);
    write_text(jw, "confirm", "plain_text", "Reject", 30);
    write_text(jw, "deny", "plain_text", "Cancel", 30);
    jw_end(jw, '}');
}

static void write_button(struct jw *jw, const struct button *button)
{
    jw_begin(jw, '{');
    jw_kstr(jw, "type", "button");
    jw_kstr(jw, "action_id", button->action);
    write_text(jw, "text", "plain_text", button->label, SLACK_BUTTON_MAX);
    jw_kstr(jw, "value", button->value);
    jw_optstr(jw, "style", button->style);
    if (text_same(button->action, "reject"))
        write_confirm(jw);
    jw_end(jw, '}');
}

static void begin_block(struct jw *jw, const char *type, const char *prefix, const char *id)
{
    char block_id[BLOCK_ID_BYTES];
    (void)snprintf(block_id, sizeof block_id, "%s%s", prefix, id);
    jw_begin(jw, '{');
    jw_kstr(jw, "type", type);
    jw_kstr(jw, "block_id", block_id);
}

static void write_decision(struct jw *jw, const char *approval_id)
{
    static const struct button buttons[] = {{"approve", "Approve", "approve", "primary"},
                                            {"reject", "Reject", "reject", "danger"}};
    begin_block(jw, "actions", BLOCK_APPROVAL, approval_id);
    jw_key(jw, "elements");
    jw_begin(jw, '[');
    for (size_t i = 0; i < COUNT_OF(buttons); i++)
        write_button(jw, &buttons[i]);
    jw_end(jw, ']');
    jw_end(jw, '}');
}

static bool fit_buttons(const struct js *options)
{
    size_t count = js_count(options);
    for (size_t i = 0; i < count; i++) {
        size_t len = strlen(js_str(js_at(options, i), ""));
        if (len == 0 || len > SLACK_VALUE_MAX)
            return false;
    }
    return count > 0 && count <= SLACK_ELEMENTS_MAX;
}

static void write_options(struct jw *jw, const struct slack_question *question)
{
    char action[32];
    begin_block(jw, "actions", BLOCK_QUESTION, question->question_id);
    jw_key(jw, "elements");
    jw_begin(jw, '[');
    for (size_t i = 0; i < js_count(question->options); i++) {
        const char *option = js_str(js_at(question->options, i), "");
        (void)snprintf(action, sizeof action, "answer:%zu", i);
        write_button(jw, &(struct button){action, option, option, NULL});
    }
    jw_end(jw, ']');
    jw_end(jw, '}');
}

/* A line of text, sent by the enter key. */
static void write_input(struct jw *jw, const char *question_id)
{
    begin_block(jw, "input", BLOCK_QUESTION, question_id);
    jw_kbool(jw, "dispatch_action", true);
    write_text(jw, "label", "plain_text", "Answer", 2000);
    jw_key(jw, "element");
    jw_begin(jw, '{');
    jw_kstr(jw, "type", "plain_text_input");
    jw_kstr(jw, "action_id", "answer");
    jw_kraw(jw, "dispatch_action_config", STR("{\"trigger_actions_on\":[\"on_enter_pressed\"]}"));
    jw_end(jw, '}');
    jw_end(jw, '}');
}

void slack_message_write(struct jw *jw, const struct slack_question *question)
{
    jw_begin(jw, '{');
    jw_kstr(jw, "text", question->text);
    jw_key(jw, "blocks");
    jw_begin(jw, '[');
    write_section(jw, question->text);
    if (question->approval_id != NULL)
        write_decision(jw, question->approval_id);
    else if (question->question_id != NULL && fit_buttons(question->options))
        write_options(jw, question);
    else if (question->question_id != NULL)
        write_input(jw, question->question_id);
    jw_end(jw, ']');
    jw_end(jw, '}');
}

/* ---- signatures ---- */

static bool is_fresh(const char *timestamp, int64_t now_us)
{
    int64_t seconds = 0;
    if (timestamp == NULL || strlen(timestamp) > TIMESTAMP_DIGITS_MAX ||
        !text_to_i64(timestamp, &seconds))
        return false;
    int64_t age = now_us / US_PER_SECOND - seconds;
    return age >= -SLACK_SKEW_SECONDS && age <= SLACK_SKEW_SECONDS;
}

bool slack_is_signed(const struct slack_signed *request, int64_t now_us)
{
    enum { PREFIX_BYTES = 32 };
    CLEANUP(buf_release) struct buf text;
    char hex[SHA256_TEXT_BYTES], wanted[SHA256_TEXT_BYTES + 8];
    bool fresh = is_fresh(request->timestamp, now_us);
    buf_init(&text, request->body.len + PREFIX_BYTES);
    buf_addf(&text, VERSION ":%s:", fresh ? request->timestamp : "0");
    buf_add(&text, request->body.at, request->body.len);
    hmac_sha256_hex((struct hmac_key){request->secret, strlen(request->secret)}, text.data,
                    text.len, hex);
    (void)snprintf(wanted, sizeof wanted, VERSION "=%s", hex);
    bool same = secret_same(wanted, request->signature != NULL ? request->signature : "");
    return fresh && same && request->secret[0] != '\0';
}

/* ---- answers ---- */

static enum rc unknown(struct err *err, const char *what)
{
    return err_set(err, RC_INVALID, "INTERACTION_UNKNOWN",
                   "this is not the use of a button of drover's: %s", what);
}

static enum rc read_subject(const char *block_id, bool *ret_approval, struct id *ret_id)
{
    bool approval = text_starts(block_id, BLOCK_APPROVAL);
    if (!approval && !text_starts(block_id, BLOCK_QUESTION))
        return RC_INVALID;
    *ret_approval = approval;
    return id_parse(block_id + strlen(approval ? BLOCK_APPROVAL : BLOCK_QUESTION), ret_id)
               ? RC_OK
               : RC_INVALID;
}

static bool read_verb(const char *action_id, bool approval, enum slack_verb *ret_verb)
{
    if (!approval && (text_same(action_id, "answer") || text_starts(action_id, "answer:")))
        *ret_verb = SLACK_ANSWER;
    else if (approval && text_same(action_id, "approve"))
        *ret_verb = SLACK_APPROVE;
    else if (approval && text_same(action_id, "reject"))
        *ret_verb = SLACK_REJECT;
    else
        return false;
    return true;
}

enum rc slack_action_decode(const struct js *payload, struct slack_action *ret_action,
                            struct err *err)
{
    const struct js *action = js_at(js_get(payload, "actions"), 0);
    bool approval = false;
    struct slack_action one = {
        .answer = js_get_str(action, "value", NULL),
        .user = js_str(js_path(payload, "user.id"), NULL),
        .team = js_str(js_path(payload, "team.id"), NULL),
        .at = js_get_str(action, "action_ts", NULL),
        .response_url = js_get_str(payload, "response_url", NULL),
        .original_text = js_str(js_path(payload, "message.text"), NULL),
    };
    if (!text_same(js_get_str(payload, "type", NULL), "block_actions"))
        return unknown(err, "its type is not block_actions");
    if (text_empty(one.user))
        return unknown(err, "it names no user");
    if (read_subject(js_get_str(action, "block_id", ""), &approval, &one.id) != RC_OK)
        return unknown(err, "its block_id is not one that drover gives");
    if (!read_verb(js_get_str(action, "action_id", ""), approval, &one.verb))
        return unknown(err, "its action_id is not one that drover gives");
    if (one.verb == SLACK_ANSWER && text_empty(one.answer))
        return unknown(err, "the answer is empty");
    *ret_action = one;
    return RC_OK;
}

/* ---- replies ---- */

void slack_reply_write(struct jw *jw, const struct slack_reply *reply)
{
    CLEANUP(buf_release) struct buf text;
    CLEANUP(arena_release) struct arena arena = {0};
    buf_init(&text, 2 * SLACK_SECTION_MAX);
    if (reply->original_text != NULL) {
        size_t len = strlen(reply->original_text), max = SLACK_SECTION_MAX - OUTCOME_MAX;
        buf_add(&text, reply->original_text,
                len <= max ? len : prose_fit(reply->original_text, len, max));
        buf_addc(&text, '\n');
    }
    slack_escape(&text, prose_line(&arena, reply->outcome, OUTCOME_MAX / 2));
    if (reply->user != NULL)
        buf_addf(&text, " <@%.40s>", reply->user);
    jw_begin(jw, '{');
    if (reply->original_text == NULL)
        jw_kstr(jw, "response_type", "ephemeral");
    jw_kbool(jw, "replace_original", reply->original_text != NULL);
    jw_kstr(jw, "text", buf_text(&text));
    if (reply->original_text != NULL) {
        jw_key(jw, "blocks");
        jw_begin(jw, '[');
        write_section(jw, buf_text(&text));
        jw_end(jw, ']');
    }
    jw_end(jw, '}');
}
