/*
 * slack.h - messages with buttons as Slack shows them (Block Kit), and what it sends when a person
 * uses one.  Pure.
 *
 *   message   {"text", "blocks": [section, actions | input]}
 *             approval: the block "drover:approval:ID" with the actions approve and reject
 *             question: the block "drover:question:ID" with an action answer:N for each option, or
 *             a line of text (action answer)
 *   answer    POST of a form whose field payload is {"type": "block_actions", "user": {"id"},
 *             "team": {"id"}, "actions": [{"block_id", "action_id", "value", "action_ts"}],
 *             "message": {"text"}, "response_url", ...}
 *             X-Slack-Signature: v0=HMAC-SHA256(signing secret, "v0:" timestamp ":" body) in hex
 *             X-Slack-Request-Timestamp: seconds, at most 5 minutes ago
 *   reply     POST to response_url, within 30 minutes and up to five times
 */
#ifndef CORE_CONFIG_SLACK_H
#define CORE_CONFIG_SLACK_H
#include "base/arena.h"
#include "base/buf.h"
#include "base/id.h"
#include "base/js.h"
#include "base/jw.h"
#include "base/rc.h"

enum {
    SLACK_SKEW_SECONDS = 5 * 60,
    SLACK_SECTION_MAX = 3000, /* Of a text. */
    SLACK_BUTTON_MAX = 75,
    SLACK_VALUE_MAX = 2000,
    SLACK_ELEMENTS_MAX = 25, /* Of one block. */
};

/* Appends plain text, with the three signs escaped that mean something in Slack's markup. */
void slack_escape(struct buf *to, const char *text);

/* What a person is asked: the id of an approval or of a question, the other is NULL. */
struct slack_question {
    const char *text; /* In Slack's own markup. */
    const char *approval_id;
    const char *question_id;
    const struct js *options; /* Of a question: an array of texts; NULL or empty: any answer. */
};
void slack_message_write(struct jw *jw, const struct slack_question *question);

struct slack_signed {
    const char *secret;
    const char *timestamp, *signature; /* The headers; NULL: there was none. */
    struct str body;
};
/* Takes the same time for each wrong signature. */
bool slack_is_signed(const struct slack_signed *request, int64_t now_us);

enum slack_verb { SLACK_APPROVE, SLACK_REJECT, SLACK_ANSWER };
struct slack_action {
    enum slack_verb verb;
    struct id id;              /* Of the approval or the question. */
    const char *answer;        /* SLACK_ANSWER */
    const char *user;          /* Its id. */
    const char *team;          /* or NULL */
    const char *at;            /* action_ts: names the use of the button; or NULL */
    const char *response_url;  /* or NULL */
    const char *original_text; /* Of the message, in Slack's markup; or NULL */
};
/* Texts live in the document.  RC_INVALID, INTERACTION_UNKNOWN: not the use of a button of
   drover's. */
MUST_USE enum rc slack_action_decode(const struct js *payload, struct slack_action *ret_action,
                                     struct err *err);

struct slack_reply {
    const char *original_text; /* NULL: a line that only the person sees, beside the message. */
    const char *outcome;       /* Plain text. */
    const char *user;          /* Whose act it was; or NULL */
};
/* Replaces the message by one without buttons, or adds a line. */
void slack_reply_write(struct jw *jw, const struct slack_reply *reply);
#endif
