/*
 * notify_text.c - see notify_text.h.
 *
 *     *acme/billing* Fix the rounding of VAT
 *     Done: <https://git.example.org/acme/billing/pull/7|pull request #7>.
 *     `drover task 0197...`
 */
#include "core/config/notify_text.h"
#include "core/config/slack.h"
#include "core/text/prose.h"
#include <string.h>

enum { TITLE_MAX = 200, MESSAGE_MAX = 600 };

static const char *const says[NOTIFY_KIND_COUNT] = {
    [NOTIFY_ACCEPTED] = "Accepted.",
    [NOTIFY_RUNNING] = "An agent is at work on it.",
    [NOTIFY_APPROVAL] = "Waits for your approval.",
    [NOTIFY_REMINDER] = "Still waits for your approval.",
    [NOTIFY_QUESTION] = "Its agent asks:",
    [NOTIFY_COMPLETED] = "Done.",
    [NOTIFY_FAILED] = "Failed.",
    [NOTIFY_CANCELLED] = "Cancelled.",
    [NOTIFY_TIMED_OUT] = "Ran out of time.",
    [NOTIFY_TEST] = "This is a test: notifications by this channel arrive.",
    [NOTIFY_REPLY] = "",
};

/* On one line, with the three signs escaped that mean something there. */
static void add_escaped(struct buf *to, const char *text, size_t max)
{
    CLEANUP(arena_release) struct arena arena = {0};
    slack_escape(to, prose_line(&arena, text, max));
}

static bool is_link(const char *url)
{
    return (text_starts(url, "https://") || text_starts(url, "http://")) &&
           strpbrk(url, "<>| \t\r\n") == NULL;
}

static void add_pull_request(struct buf *to, const struct js *pr)
{
    long long number = js_get_int(pr, "number", 0);
    const char *url = js_get_str(pr, "url", "");
    if (number == 0)
        return;
    if (is_link(url))
        buf_addf(to, " <%s|Pull request #%lld>", url, number);
    else
        buf_addf(to, " Pull request #%lld", number);
    buf_adds(to, js_get_bool(pr, "draft", false) ? " (draft)." : ".");
}

static void add_reason(struct buf *to, const struct js *facts)
{
    const char *message = js_get_str(facts, "errorMessage", "");
    const char *code = js_get_str(facts, "errorCode", "");
    if (message[0]) {
        buf_addc(to, ' ');
        add_escaped(to, message, MESSAGE_MAX);
    }
    if (code[0]) {
        buf_adds(to, " (`");
        add_escaped(to, code, TITLE_MAX);
        buf_adds(to, "`)");
    }
}

/* The agent's question, and what may be answered. */
static void add_question(struct buf *to, const struct js *data)
{
    const struct js *options = js_get(data, "options");
    buf_addc(to, ' ');
    add_escaped(to, js_get_str(data, "text", ""), MESSAGE_MAX);
    for (size_t i = 0; i < js_count(options); i++) {
        buf_adds(to, i == 0 ? " (" : ", ");
        add_escaped(to, js_str(js_at(options, i), ""), TITLE_MAX);
    }
    if (js_count(options) > 0)
        buf_addc(to, ')');
}

/* What to do about it. */
static void add_next(struct buf *to, enum notify_kind kind, const struct js *data)
{
    const struct js *facts = js_get(data, "notification");
    const char *approval = js_get_str(data, "approvalId", "");
    const char *question = js_get_str(data, "questionId", "");
    const char *run = js_get_str(facts, "runId", "");
    const char *task = js_get_str(facts, "taskId", "");
    const char *expires = js_get_str(data, "expiresAt", "");
    bool asks = kind == NOTIFY_APPROVAL || kind == NOTIFY_REMINDER || kind == NOTIFY_QUESTION;
    bool went_wrong = kind == NOTIFY_FAILED || kind == NOTIFY_TIMED_OUT;
    if (asks && expires[0])
        buf_addf(to, "\nUntil %s.", expires);
    if (asks && approval[0])
        buf_addf(to, "\n`drover approve %s` or `drover reject %s`", approval, approval);
    else if (asks && question[0])
        buf_addf(to, "\n`drover answer %s TEXT`", question);
    else if (went_wrong && run[0])
        buf_addf(to, "\n`drover timeline %s`", run);
    else if (task[0])
        buf_addf(to, "\n`drover task %s`", task);
}

void notify_text(struct buf *to, enum notify_kind kind, const struct js *data)
{
    const struct js *facts = js_get(data, "notification");
    const char *repository = js_get_str(facts, "repository", "");
    const char *title = js_get_str(facts, "title", "");
    if (repository[0]) {
        buf_addc(to, '*');
        add_escaped(to, repository, TITLE_MAX);
        buf_adds(to, "* ");
    }
    add_escaped(to, title, TITLE_MAX);
    if (to->len > 0)
        buf_addc(to, '\n');
    bool question = js_get_str(data, "questionId", "")[0] != '\0';
    buf_adds(to, question && kind == NOTIFY_REMINDER ? "Its agent still waits for your answer:"
                                                     : says[kind]);
    if (question)
        add_question(to, data);
    add_reason(to, facts);
    add_pull_request(to, js_get(facts, "pullRequest"));
    add_next(to, kind, data);
}
