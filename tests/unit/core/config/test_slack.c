/*
 * test_slack.c - messages with buttons, signed answers and replies, as Slack describes them; and
 * who may answer.
 */
#include "base/clock.h"
#include "core/config/slack.h"
#include "core/config/slack_config.h"
#include "tests/unit/suites.h"
#include <stdio.h>
#include <string.h>

#define ID "01a1e111-4280-788b-8f9d-658fd086a1f4"

static struct arena arena;
static struct err err;

static struct js *parse(const char *text)
{
    struct js *tree = NULL;
    ck_assert_msg(js_parse(text, strlen(text), &tree, &err) == RC_OK, "%s: %s", err.text, text);
    return tree;
}

/* ---- signatures ---- */

/* The example of docs.slack.dev/authentication/verifying-requests-from-slack. */
#define DOC_SECRET "8f742231b10e8888abcd99yyyzzz85a5"
#define DOC_BODY                                                                                 \
    "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow"                   \
    "&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner"           \
    "&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands"    \
    "%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121" \
    ".803a0bc887a14d10d2c447fce8b6703c"
#define DOC_SIGNATURE "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503"
#define DOC_TIME      "1531420618"
#define DOC_SECONDS   INT64_C(1531420618)

static const struct {
    const char *what, *secret, *timestamp, *signature, *body;
    int64_t now;
    bool good;
} requests[] = {
    {"the published one", DOC_SECRET, DOC_TIME, DOC_SIGNATURE, DOC_BODY, DOC_SECONDS, true},
    {"five minutes later", DOC_SECRET, DOC_TIME, DOC_SIGNATURE, DOC_BODY, DOC_SECONDS + 300, true},
    {"a slow clock here", DOC_SECRET, DOC_TIME, DOC_SIGNATURE, DOC_BODY, DOC_SECONDS - 300, true},
    {"too old", DOC_SECRET, DOC_TIME, DOC_SIGNATURE, DOC_BODY, DOC_SECONDS + 301, false},
    {"of the future", DOC_SECRET, DOC_TIME, DOC_SIGNATURE, DOC_BODY, DOC_SECONDS - 301, false},
    {"another secret", "x" DOC_SECRET, DOC_TIME, DOC_SIGNATURE, DOC_BODY, DOC_SECONDS, false},
    {"no secret", "", DOC_TIME, DOC_SIGNATURE, DOC_BODY, DOC_SECONDS, false},
    {"another body", DOC_SECRET, DOC_TIME, DOC_SIGNATURE, DOC_BODY "x", DOC_SECONDS, false},
    {"another time", DOC_SECRET, "1531420619", DOC_SIGNATURE, DOC_BODY, DOC_SECONDS, false},
    {"no time", DOC_SECRET, NULL, DOC_SIGNATURE, DOC_BODY, DOC_SECONDS, false},
    {"no number", DOC_SECRET, "1531420618x", DOC_SIGNATURE, DOC_BODY, DOC_SECONDS, false},
    {"a number too long", DOC_SECRET, "0001531420618", DOC_SIGNATURE, DOC_BODY, DOC_SECONDS, false},
    {"no signature", DOC_SECRET, DOC_TIME, NULL, DOC_BODY, DOC_SECONDS, false},
    {"an empty one", DOC_SECRET, DOC_TIME, "", DOC_BODY, DOC_SECONDS, false},
    {"without its version", DOC_SECRET, DOC_TIME,
     "a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503", DOC_BODY, DOC_SECONDS,
     false},
    {"of another version", DOC_SECRET, DOC_TIME,
     "v1=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503", DOC_BODY, DOC_SECONDS,
     false},
};

START_TEST(a_request_is_signed_as_slack_publishes_it)
{
    for (size_t i = 0; i < COUNT_OF(requests); i++) {
        const struct slack_signed request = {requests[i].secret, requests[i].timestamp,
                                             requests[i].signature, str_of(requests[i].body)};
        ck_assert_msg(slack_is_signed(&request, requests[i].now * US_PER_SECOND) ==
                          requests[i].good,
                      "%s", requests[i].what);
    }
}
END_TEST

/* ---- messages ---- */

static struct js *message(const struct slack_question *question)
{
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, 1024 * 1024);
    struct jw jw = jw_to(&text);
    slack_message_write(&jw, question);
    return parse(buf_text(&text));
}

static const char *at(const struct js *tree, const char *path)
{
    return js_str(js_path(tree, path), "");
}

START_TEST(an_approval_has_two_buttons)
{
    CLEANUP(js_freep)
    struct js *tree = message(&(struct slack_question){.text = "*a* why", .approval_id = ID});
    const struct js *blocks = js_get(tree, "blocks"), *actions = js_at(blocks, 1);
    const struct js *elements = js_get(actions, "elements");
    ck_assert_str_eq(at(tree, "text"), "*a* why");
    ck_assert_uint_eq(js_count(blocks), 2);
    ck_assert_str_eq(at(js_at(blocks, 0), "type"), "section");
    ck_assert_str_eq(at(js_at(blocks, 0), "text.type"), "mrkdwn");
    ck_assert_str_eq(at(js_at(blocks, 0), "text.text"), "*a* why");
    ck_assert_str_eq(at(actions, "type"), "actions");
    ck_assert_str_eq(at(actions, "block_id"), "drover:approval:" ID);
    ck_assert_uint_eq(js_count(elements), 2);
    ck_assert_str_eq(at(js_at(elements, 0), "action_id"), "approve");
    ck_assert_str_eq(at(js_at(elements, 0), "style"), "primary");
    ck_assert_str_eq(at(js_at(elements, 0), "text.type"), "plain_text");
    ck_assert_ptr_null(js_get(js_at(elements, 0), "confirm"));
    ck_assert_str_eq(at(js_at(elements, 1), "action_id"), "reject");
    ck_assert_str_eq(at(js_at(elements, 1), "style"), "danger");
    ck_assert_str_eq(at(js_at(elements, 1), "confirm.confirm.text"), "Reject");
}
END_TEST

static struct js *options_of(size_t count, size_t bytes)
{
    struct js *array = js_new_array();
    for (size_t i = 0; i < count; i++) {
        char *text = arena_alloc(&arena, bytes + 1);
        memset(text, 'x', bytes);
        js_push(array, js_new_string(text, bytes));
    }
    return array;
}

START_TEST(a_question_has_a_button_for_each_option_or_a_line_of_text)
{
    static const struct {
        size_t count, bytes;
        bool buttons;
    } cases[] = {{1, 5, true},    {25, 5, true},    {26, 5, false},
                 {2, 2000, true}, {2, 2001, false}, {0, 0, false}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        CLEANUP(js_freep) struct js *options = options_of(cases[i].count, cases[i].bytes);
        CLEANUP(js_freep)
        struct js *tree = message(
            &(struct slack_question){.text = "t", .question_id = ID, .options = options});
        const struct js *block = js_at(js_get(tree, "blocks"), 1);
        const struct js *last = js_at(js_get(block, "elements"), cases[i].count - 1);
        ck_assert_str_eq(at(block, "block_id"), "drover:question:" ID);
        ck_assert_str_eq(at(block, "type"), cases[i].buttons ? "actions" : "input");
        if (!cases[i].buttons) {
            ck_assert(js_get_bool(block, "dispatch_action", false));
            ck_assert_str_eq(at(block, "element.type"), "plain_text_input");
            ck_assert_str_eq(at(block, "element.action_id"), "answer");
            continue;
        }
        ck_assert_str_eq(at(last, "action_id"),
                         arena_printf(&arena, "answer:%zu", cases[i].count - 1));
        ck_assert_uint_eq(strlen(at(last, "value")), cases[i].bytes);
        ck_assert_uint_le(strlen(at(last, "text.text")), SLACK_BUTTON_MAX);
    }
}
END_TEST

START_TEST(a_long_text_is_cut_for_its_block)
{
    char *text = arena_alloc(&arena, 4001);
    memset(text, 'x', 4000);
    CLEANUP(js_freep)
    struct js *tree = message(&(struct slack_question){.text = text, .approval_id = ID});
    ck_assert_uint_eq(strlen(at(tree, "text")), 4000);
    ck_assert_uint_eq(strlen(at(js_at(js_get(tree, "blocks"), 0), "text.text")), SLACK_SECTION_MAX);
}
END_TEST

/* ---- answers ---- */

/* As docs.slack.dev/reference/interaction-payloads/block_actions-payload shows it. */
#define PAYLOAD(type, block, action)                                                             \
    "{\"type\":\"" type "\",\"team\":{\"id\":\"T9TK3CUKW\",\"domain\":\"example\"},"             \
    "\"user\":{\"id\":\"UA8RXUSPL\",\"username\":\"jtorrance\",\"team_id\":\"T9TK3CUKW\"},"      \
    "\"api_app_id\":\"AABA1ABCD\",\"token\":\"9s8d9as89d8as9d8as989\",\"container\":{\"type\":"  \
    "\"message\",\"message_ts\":\"1548261231.000200\",\"channel_id\":\"CBR2V3XEX\","             \
    "\"is_ephemeral\":false},\"trigger_id\":\"12321423423.333649436676.d8c1bb837935619ccad0f624" \
    "c448ffb3\",\"channel\":{\"id\":\"CBR2V3XEX\",\"name\":\"review-updates\"},\"message\":"     \
    "{\"bot_id\":\"BAH5CA16Z\",\"type\":\"message\",\"text\":\"*a* why &amp; more\",\"ts\":"     \
    "\"1548261231.000200\"},\"response_url\":\"https://hooks.slack.com/actions/A/1/D09\","       \
    "\"actions\":[{\"block_id\":\"" block "\"," action ",\"action_ts\":\"1548426417.840180\"}]}"
#define BUTTON(id, value) "\"type\":\"button\",\"action_id\":\"" id "\",\"value\":\"" value "\""

static const struct {
    const char *text;
    bool good;
    enum slack_verb verb;
    const char *answer;
} payloads[] = {
    {PAYLOAD("block_actions", "drover:approval:" ID, BUTTON("approve", "approve")), true,
     SLACK_APPROVE, "approve"},
    {PAYLOAD("block_actions", "drover:approval:" ID, BUTTON("reject", "reject")), true,
     SLACK_REJECT, "reject"},
    {PAYLOAD("block_actions", "drover:question:" ID, BUTTON("answer:1", "the second")), true,
     SLACK_ANSWER, "the second"},
    {PAYLOAD("block_actions", "drover:question:" ID,
             "\"type\":\"plain_text_input\",\"action_id\":\"answer\",\"value\":\"typed\""),
     true, SLACK_ANSWER, "typed"},
    {PAYLOAD("block_actions", "drover:question:" ID, BUTTON("answer", "")), false, 0, NULL},
    {PAYLOAD("block_actions", "drover:question:" ID, BUTTON("approve", "x")), false, 0, NULL},
    {PAYLOAD("block_actions", "drover:approval:" ID, BUTTON("answer", "x")), false, 0, NULL},
    {PAYLOAD("block_actions", "drover:approval:" ID, BUTTON("approved", "x")), false, 0, NULL},
    {PAYLOAD("block_actions", "drover:approval:12", BUTTON("approve", "x")), false, 0, NULL},
    {PAYLOAD("block_actions", "=qXel", BUTTON("approve", "x")), false, 0, NULL},
    {PAYLOAD("view_submission", "drover:approval:" ID, BUTTON("approve", "x")), false, 0, NULL},
    {"{\"type\":\"block_actions\",\"actions\":[]}", false, 0, NULL},
    {"{\"type\":\"block_actions\",\"user\":{\"id\":\"U1\"}}", false, 0, NULL},
    {"[]", false, 0, NULL},
};

START_TEST(the_use_of_a_button_is_read_or_refused)
{
    for (size_t i = 0; i < COUNT_OF(payloads); i++) {
        CLEANUP(js_freep) struct js *tree = parse(payloads[i].text);
        struct slack_action action;
        enum rc rc = slack_action_decode(tree, &action, &err);
        ck_assert_msg((rc == RC_OK) == payloads[i].good, "%zu: %s", i, err.text);
        if (rc != RC_OK) {
            ck_assert_str_eq(err.code, "INTERACTION_UNKNOWN");
            continue;
        }
        ck_assert_int_eq(action.verb, payloads[i].verb);
        ck_assert_str_eq(action.id.text, ID);
        ck_assert_str_eq(action.answer, payloads[i].answer);
        ck_assert_str_eq(action.user, "UA8RXUSPL");
        ck_assert_str_eq(action.team, "T9TK3CUKW");
        ck_assert_str_eq(action.at, "1548426417.840180");
        ck_assert_str_eq(action.response_url, "https://hooks.slack.com/actions/A/1/D09");
        ck_assert_str_eq(action.original_text, "*a* why &amp; more");
    }
}
END_TEST

START_TEST(a_reply_replaces_the_message_or_is_for_the_person_alone)
{
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, 64 * 1024);
    struct jw jw = jw_to(&text);
    slack_reply_write(&jw, &(struct slack_reply){"*a* why &amp; more", "Approved by", "U1"});
    CLEANUP(js_freep) struct js *done = parse(buf_text(&text));
    ck_assert(js_get_bool(done, "replace_original", false));
    ck_assert_str_eq(at(done, "text"), "*a* why &amp; more\nApproved by <@U1>");
    ck_assert_str_eq(at(js_at(js_get(done, "blocks"), 0), "text.text"), at(done, "text"));
    ck_assert_uint_eq(js_count(js_get(done, "blocks")), 1);
    buf_clear(&text);
    jw = jw_to(&text);
    slack_reply_write(&jw, &(struct slack_reply){NULL, "no <!here> & more\nlines", NULL});
    CLEANUP(js_freep) struct js *alone = parse(buf_text(&text));
    ck_assert_str_eq(at(alone, "response_type"), "ephemeral");
    ck_assert(!js_get_bool(alone, "replace_original", true));
    ck_assert_str_eq(at(alone, "text"), "no &lt;!here&gt; &amp; more lines");
}
END_TEST

/* ---- the configuration ---- */

#define USERS                                                                      \
    "\"users\":[{\"id\":\"U1\",\"name\":\"ada\"},{\"id\":\"U2\",\"name\":\"eve\"," \
    "\"role\":\"admin\"}]"

static const struct {
    const char *text, *field; /* NULL: it is fine. */
} documents[] = {
    {"{\"secretEnv\":\"S\"," USERS "}", NULL},
    {"{\"secretEnv\":\"S\",\"team\":\"T1\",\"reply\":true,\"replyHosts\":[\"chat.example\"]," USERS
     "}",
     NULL},
    {"{" USERS "}", "slack.secretEnv"},
    {"{\"secretEnv\":\"a-b\"," USERS "}", "slack.secretEnv"},
    {"{\"secretEnv\":\"S\"}", "slack.users"},
    {"{\"secretEnv\":\"S\",\"team\":\"my team\"," USERS "}", "slack.team"},
    {"{\"secretEnv\":\"S\",\"users\":[{\"id\":\"@ada\",\"name\":\"ada\"}]}", "slack.users[0].id"},
    {"{\"secretEnv\":\"S\",\"users\":[{\"id\":\"U1\"}]}", "slack.users[0].name"},
    {"{\"secretEnv\":\"S\",\"users\":[{\"id\":\"U1\",\"name\":\"a\",\"role\":\"viewer\"}]}",
     "slack.users[0].role"},
    {"{\"secretEnv\":\"S\",\"users\":[{\"id\":\"U1\",\"name\":\"a\"},{\"id\":\"U1\",\"name\":\"b\"}"
     "]}",
     "slack.users[1]"},
    {"{\"secretEnv\":\"S\",\"secret\":\"x\"," USERS "}", "slack.secret"},
};

START_TEST(the_configuration_says_who_may_answer)
{
    for (size_t i = 0; i < COUNT_OF(documents); i++) {
        CLEANUP(js_freep) struct js *tree = parse(documents[i].text);
        struct slack_config config;
        err_clear(&err);
        enum rc rc = slack_config_decode(tree, "slack", &arena, &config, &err);
        ck_assert_msg((rc == RC_OK) == (documents[i].field == NULL), "%zu: %s", i, err.text);
        if (rc != RC_OK) {
            ck_assert_str_eq(err.field, documents[i].field);
            continue;
        }
        ck_assert_str_eq(slack_config_user(&config, "U1")->name, "ada");
        ck_assert_int_eq(slack_config_user(&config, "U1")->role, ROLE_OPERATOR);
        ck_assert_int_eq(slack_config_user(&config, "U2")->role, ROLE_ADMIN);
        ck_assert_ptr_null(slack_config_user(&config, "U3"));
    }
}
END_TEST

static const struct {
    const char *url;
    bool may;
} addresses[] = {
    {"https://hooks.slack.com/actions/A/1/D", true},
    {"https://hooks.slack.com", true},
    {"http://hooks.slack.com/x", false},
    {"https://hooks.slack.com.evil.example/x", false},
    {"https://evil.example/hooks.slack.com", false},
    {"https://hooks.slack.com@evil.example/x", false},
    {"https://hooks.slack.com:443/x", false},
    {"https://user:hooks.slack.com/x", false},
    {"https://evil.example?hooks.slack.com", false},
    {"ftp://hooks.slack.com/x", false},
    {"", false},
};

START_TEST(a_reply_goes_to_known_hosts_only)
{
    struct slack_config config = {.reply = true, .reply_hosts = {"hooks.slack.com"}};
    for (size_t i = 0; i < COUNT_OF(addresses); i++)
        ck_assert_msg(slack_config_may_reply(&config, addresses[i].url) == addresses[i].may, "%s",
                      addresses[i].url);
    config.reply = false;
    ck_assert(!slack_config_may_reply(&config, addresses[0].url));
    const struct slack_config local = {.reply = true, .reply_hosts = {"127.0.0.1"}};
    ck_assert(slack_config_may_reply(&local, "http://127.0.0.1:8080/x"));
}
END_TEST

static void tear_down(void)
{
    arena_release(&arena);
}

Suite *slack_suite(void)
{
    Suite *suite = suite_create("slack");
    TCase *tcase = tcase_create("slack");
    tcase_add_checked_fixture(tcase, NULL, tear_down);
    tcase_add_test(tcase, a_request_is_signed_as_slack_publishes_it);
    tcase_add_test(tcase, an_approval_has_two_buttons);
    tcase_add_test(tcase, a_question_has_a_button_for_each_option_or_a_line_of_text);
    tcase_add_test(tcase, a_long_text_is_cut_for_its_block);
    tcase_add_test(tcase, the_use_of_a_button_is_read_or_refused);
    tcase_add_test(tcase, a_reply_replaces_the_message_or_is_for_the_person_alone);
    tcase_add_test(tcase, the_configuration_says_who_may_answer);
    tcase_add_test(tcase, a_reply_goes_to_known_hosts_only);
    suite_add_tcase(suite, tcase);
    return suite;
}
