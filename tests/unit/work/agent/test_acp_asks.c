/*
 * test_acp_asks.c - what an agent asks people by the Agent Client Protocol: permissions and forms
 * as questions, and answers as responses.
 */
#include "tests/unit/acp_kit.h"
#include <check.h>
#include <string.h>

static void open_asking(void)
{
    acp_begin_with(&(struct conversation){
        .prompt = "Do it.", .cwd = "/tree", .asks_permission = true, .asks_forms = true});
    acp_answers(INITIALIZED);
    acp_answers(OPENED);
    (void)acp_told(); /* The prompt. */
}

/* The question that is waited for, as JSON; NULL: there is none. */
static const char *asked(void)
{
    const struct question_spec *spec = acp_kit.transcript.ops->asks(&acp_kit.transcript);
    if (spec == NULL)
        return NULL;
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, 64 * 1024);
    struct jw jw = jw_to(&text);
    question_spec_write(&jw, spec);
    CLEANUP(js_freep) struct js *tree = NULL;
    struct question_spec again;
    struct err err = {0};
    ck_assert_int_eq(js_parse(text.data, text.len, &tree, &err), RC_OK);
    ck_assert_msg(question_spec_decode(tree, "", &again, &err) == RC_OK, "%s: %s", err.text,
                  buf_text(&text)); /* The server takes it. */
    return arena_strdup(&acp_kit.kit.arena, buf_text(&text));
}

static const char *answer(const char *text)
{
    acp_kit.transcript.ops->answer(&acp_kit.transcript, text);
    return acp_told();
}

/* ---- permission ---- */

#define ALWAYS "{\"optionId\":\"aa\",\"name\":\"Always\",\"kind\":\"allow_always\"}"
#define ONCE   "{\"optionId\":\"ao\",\"name\":\"Once\",\"kind\":\"allow_once\"}"
#define NO     "{\"optionId\":\"ro\",\"name\":\"No\",\"kind\":\"reject_once\"}"
#define NEVER  "{\"optionId\":\"ra\",\"name\":\"Never\",\"kind\":\"reject_always\"}"

static void requests(const char *id, const char *call, const char *options)
{
    acp_says(
        arena_printf(&acp_kit.kit.arena,
                     "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"session/request_permission\""
                     ",\"params\":{\"sessionId\":\"s1\",\"toolCall\":{\"toolCallId\":\"c1\"%s},"
                     "\"options\":[%s]}}",
                     id, call, options));
}

#define SELECTED(rpc, option)                                                                \
    "{\"jsonrpc\":\"2.0\",\"id\":" rpc ",\"result\":{\"outcome\":{\"outcome\":\"selected\"," \
    "\"optionId\":\"" option "\"}}}"
#define CANCELLED(rpc) \
    "{\"jsonrpc\":\"2.0\",\"id\":" rpc ",\"result\":{\"outcome\":{\"outcome\":\"cancelled\"}}}"

static const struct {
    const char *options, *shown, *answer, *told;
} permissions[] = {
    {ALWAYS "," ONCE "," NO, "[\"Always\",\"Once\",\"No\"],\"default\":\"No\"", "Once",
     SELECTED("7", "ao")},
    {ALWAYS "," ONCE "," NO, "[\"Always\",\"Once\",\"No\"],\"default\":\"No\"", "Always",
     SELECTED("7", "aa")},
    /* At the deadline, and when it cannot be asked. */
    {ONCE "," NEVER "," NO, "[\"Once\",\"Never\",\"No\"],\"default\":\"No\"", "No",
     SELECTED("7", "ro")},
    {ONCE "," NEVER "," NO, "[\"Once\",\"Never\",\"No\"],\"default\":\"No\"", NULL,
     SELECTED("7", "ro")},
    {ONCE "," NEVER, "[\"Once\",\"Never\"],\"default\":\"Never\"", NULL, SELECTED("7", "ra")},
    {ONCE, "[\"Once\"]", NULL, CANCELLED("7")},
    {"{\"optionId\":\"x\",\"name\":\"Go\\n\\u0085on\",\"kind\":\"new\"},{\"optionId\":\"y\","
     "\"name\":"
     "\"Go on\",\"kind\":\"new\"},{\"name\":\"no id\"},{\"optionId\":\"z\",\"name\":\"\",\"kind\":"
     "\"reject_once\"}",
     "[\"Go on\",\"Go on (2)\",\"-\"],\"default\":\"-\"", "Go on (2)", SELECTED("7", "y")},
};

START_TEST(a_permission_is_a_question_with_the_options_of_the_agent)
{
    open_asking();
    requests("7",
             ",\"title\":\"git push\",\"kind\":\"execute\",\"locations\":[{\"path\":\"/tree/a.c\"},"
             "{\"path\":\"/tree/b.c\",\"line\":3}],\"rawInput\":{\"command\":\"git push\"}",
             permissions[_i].options);
    ck_assert_ptr_null(acp_told());
    ck_assert_str_eq(
        asked(),
        arena_printf(&acp_kit.kit.arena,
                     "{\"text\":\"May the agent call execute: git push?\\nFiles: /tree/a.c, "
                     "/tree/b.c\\n{\\\"command\\\":\\\"git push\\\"}\",\"options\":%s}",
                     permissions[_i].shown));
    ck_assert_pstr_eq(answer(permissions[_i].answer), permissions[_i].told);
    ck_assert_ptr_null(asked());
    /* What was decided is an event, with the call that it is about. */
    const char *got = acp_events();
    ck_assert_uint_eq(acp_count(got, "agent.tool.call.requested"), 1);
    size_t decided = acp_count(got, "agent.tool.call.allowed");
    ck_assert_uint_eq(decided + acp_count(got, "agent.tool.call.denied"), 1);
    ck_assert_uint_eq(acp_count(got, "\"name\":\"execute\",\"summary\":\"git push\""), 2);
    bool allows = permissions[_i].answer != NULL && !text_starts(permissions[_i].answer, "No") &&
                  !text_same(permissions[_i].answer, "-");
    ck_assert_uint_eq(decided, allows);
}
END_TEST

START_TEST(requests_wait_for_their_turn)
{
    open_asking();
    for (int i = 0; i < 20; i++) {
        const char *id = arena_printf(&acp_kit.kit.arena, "\"r%d\"", i);
        requests(id, arena_printf(&acp_kit.kit.arena, ",\"title\":\"%d\"", i), ONCE "," NO);
    }
    for (int i = 16; i < 20; i++) /* Too many: refused, and noted. */
        ck_assert_ptr_nonnull(strstr(acp_told(), "\"optionId\":\"ro\""));
    ck_assert_ptr_null(acp_told());
    ck_assert_ptr_nonnull(strstr(acp_events(), "too many wait already"));
    for (int i = 0; i < 16; i++) {
        ck_assert_ptr_nonnull(
            strstr(asked(), arena_printf(&acp_kit.kit.arena, "call a tool: %d?", i)));
        ck_assert_ptr_nonnull(strstr(answer(i % 2 == 0 ? "Once" : "No"),
                                     arena_printf(&acp_kit.kit.arena, "\"id\":\"r%d\"", i)));
    }
    ck_assert_ptr_null(asked());
}
END_TEST

START_TEST(many_options_leave_room_for_the_rejection)
{
    CLEANUP(buf_release) struct buf options;
    buf_init(&options, 64 * 1024);
    for (int i = 0; i < 20; i++)
        buf_addf(&options, "{\"optionId\":\"o%d\",\"name\":\"O%d\",\"kind\":\"allow_once\"},", i,
                 i);
    buf_adds(&options, NO);
    open_asking();
    requests("1", "", buf_text(&options));
    ck_assert_ptr_nonnull(strstr(asked(), "\"O8\",\"No\"],\"default\":\"No\"}"));
    ck_assert_str_eq(answer("No"), SELECTED("1", "ro"));
}
END_TEST

START_TEST(a_long_call_is_cut)
{
    char *text = arena_alloc(&acp_kit.kit.arena, 20001);
    memset(text, 'x', 20000);
    open_asking();
    requests("1",
             arena_printf(&acp_kit.kit.arena, ",\"title\":\"%s\",\"rawInput\":{\"a\":\"%s\"}", text,
                          text),
             ONCE "," NO);
    ck_assert_uint_lt(strlen(asked()), QUESTION_BYTES_MAX);
}
END_TEST

static const char *const allow_read[] = {"read", "mcp__safe__*", NULL};
static const char *const deny_bash[] = {"Bash", NULL};
static const struct {
    const char *call;
    bool asked;
} rules[] = {
    {",\"kind\":\"read\"", false},
    {",\"name\":\"mcp__safe__look\",\"kind\":\"other\"", false},
    {",\"name\":\"mcp__other__look\",\"kind\":\"other\"", true},
    {"", true},
};

START_TEST(tools_that_policy_allows_are_not_asked_about)
{
    acp_kit.transcript.limits.tools_allowed = allow_read;
    open_asking();
    requests("3", rules[_i].call, ONCE "," NO);
    ck_assert_pstr_eq(acp_told(), rules[_i].asked ? NULL : SELECTED("3", "ao"));
    ck_assert_int_eq(asked() != NULL, rules[_i].asked);
}
END_TEST

START_TEST(a_tool_that_policy_denies_is_not_asked_about)
{
    acp_kit.transcript.limits.tools_denied = deny_bash;
    acp_kit.transcript.limits.tools_allowed = deny_bash;
    open_asking();
    requests("3", ",\"name\":\"Bash\"", ONCE "," NO);
    ck_assert_str_eq(acp_told(), SELECTED("3", "ro"));
    ck_assert_str_eq(acp_kit.transcript.stop, "tool_denied");
    ck_assert_ptr_null(asked());
}
END_TEST

#define CANCELS(id) \
    "{\"jsonrpc\":\"2.0\",\"method\":\"$/cancel_request\",\"params\":{\"requestId\":" id "}}"

START_TEST(what_the_agent_gives_up_is_not_asked_any_more)
{
    open_asking();
    requests("1", ",\"title\":\"a\"", ONCE "," NO);
    requests("2", ",\"title\":\"b\"", ONCE "," NO);
    requests("3", ",\"title\":\"c\"", ONCE "," NO);
    acp_says(CANCELS("2"));
    ck_assert_str_eq(acp_told(), "{\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{\"code\":-32800,"
                                 "\"message\":\"Cancelled\"}}");
    acp_says(CANCELS("2"));
    acp_says(CANCELS("99"));
    acp_says(CANCELS("null"));
    ck_assert_ptr_null(acp_told());
    acp_says(CANCELS("1"));
    ck_assert_ptr_nonnull(acp_told());
    ck_assert_ptr_nonnull(strstr(asked(), "a tool: c?"));
    acp_says("{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"stopReason\":\"end_turn\"}}");
    ck_assert_str_eq(acp_told(), CANCELLED("3")); /* Its turn is over. */
    ck_assert_ptr_null(asked());
    ck_assert_int_eq(acp_kit.transcript.report, REPORT_SUCCESS);
}
END_TEST

#define FORM(id, schema)                                                                         \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"elicitation/create\",\"params\":{\"mode\":" \
    "\"form\",\"sessionId\":\"s1\",\"message\":\"How?\",\"requestedSchema\":" schema "}}"
#define STRING "{\"type\":\"object\",\"properties\":{\"how\":{\"type\":\"string\"}}}"

START_TEST(a_turn_that_is_cancelled_answers_all_that_waits)
{
    open_asking();
    requests("1", "", ONCE "," NO);
    acp_says(FORM("2", STRING));
    ck_assert_ptr_null(acp_told());
    acp_kit.transcript.ops->interrupt(&acp_kit.transcript);
    ck_assert_str_eq(acp_told(), CANCELLED("1"));
    ck_assert_str_eq(acp_told(),
                     "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"action\":\"cancel\"}}");
    ck_assert_ptr_nonnull(strstr(acp_told(), "session/cancel"));
    requests("4", "", ONCE "," NO); /* On its way meanwhile. */
    acp_says(FORM("5", STRING));
    ck_assert_str_eq(acp_told(), CANCELLED("4"));
    ck_assert_ptr_nonnull(strstr(acp_told(), "\"action\":\"cancel\""));
    ck_assert_ptr_null(asked());
}
END_TEST

/* ---- forms ---- */

#define FIELD(property) \
    "{\"type\":\"object\",\"properties\":{\"f\":" property "},\"required\":[\"f\"]}"

static const struct {
    const char *schema, *question, *answer, *result;
} forms[] = {
    {FIELD("{\"type\":\"string\",\"title\":\"Name\",\"description\":\"Of the branch\"}"),
     "Name: Of the branch\\n/decline declines.\"}", "main \"x\"",
     "\"accept\",\"content\":{\"f\":\"main \\\"x\\\"\"}"},
    {FIELD("{\"type\":\"string\",\"minLength\":2,\"maxLength\":3,\"format\":\"date\",\"pattern\":"
           "\"^a\",\"default\":\"a\\u00e4\"}"),
     "f\\nAt least 2 characters. At most 3 characters. Its format: date. Its pattern: ^a. /decline "
     "declines.\",\"default\":\"a\xc3\xa4\"}",
     "\xc3\xa4\xc3\xa4\xc3\xa4", "\"accept\",\"content\":{\"f\":\"\xc3\xa4\xc3\xa4\xc3\xa4\"}"},
    {FIELD("{\"type\":\"string\",\"enum\":[\"slow\",\"fast\"],\"default\":\"fast\"}"),
     "f\",\"options\":[\"slow\",\"fast\",\"/decline\"],\"default\":\"fast\"}", "slow",
     "\"accept\",\"content\":{\"f\":\"slow\"}"},
    {FIELD("{\"type\":\"string\",\"oneOf\":[{\"const\":\"a\",\"title\":\"First\"},{\"const\":\"b\","
           "\"title\":\"First\"},{\"title\":\"none\"}],\"default\":\"b\"}"),
     "f\",\"options\":[\"First\",\"First (2)\",\"/decline\"],\"default\":\"First (2)\"}",
     "First (2)", "\"accept\",\"content\":{\"f\":\"b\"}"},
    {FIELD("{\"type\":\"string\",\"enum\":[\"0\",\"1\",\"2\",\"3\",\"4\",\"5\",\"6\",\"7\",\"8\","
           "\"9\"]}"),
     "f\\nOne of: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9. /decline declines.\"}", "7",
     "\"accept\",\"content\":{\"f\":\"7\"}"},
    {FIELD("{\"type\":\"string\",\"default\":\"\"}"), "f\\n/decline declines.\"}", "a",
     "\"accept\",\"content\":{\"f\":\"a\"}"},
    {FIELD("{\"type\":\"string\",\"default\":{\"a\":1}}"), "f\\n/decline declines.\"}", "a",
     "\"accept\",\"content\":{\"f\":\"a\"}"},
    {FIELD("{\"type\":\"boolean\",\"default\":false}"),
     "f\",\"options\":[\"yes\",\"no\",\"/decline\"],\"default\":\"no\"}", "yes",
     "\"accept\",\"content\":{\"f\":true}"},
    {FIELD("{\"type\":\"boolean\"}"), "f\",\"options\":[\"yes\",\"no\",\"/decline\"]}", "no",
     "\"accept\",\"content\":{\"f\":false}"},
    {FIELD("{\"type\":\"integer\",\"minimum\":-5,\"maximum\":1234567,\"default\":3}"),
     "f\\nA whole number, at least -5, at most 1234567. /decline declines.\",\"default\":\"3\"}",
     "-5", "\"accept\",\"content\":{\"f\":-5}"},
    {FIELD("{\"type\":\"number\",\"default\":99,\"maximum\":1.5}"),
     "f\\nA number, at most 1.5. /decline declines.\"}", "0.25",
     "\"accept\",\"content\":{\"f\":0.25}"},
    {FIELD("{\"type\":\"string\"}"), "f\\n/decline declines.\"}", "/decline", "\"decline\""},
    {FIELD("{\"type\":\"boolean\"}"), "f\",\"options\":[\"yes\",\"no\",\"/decline\"]}", "/decline",
     "\"decline\""},
    {FIELD("{\"type\":\"string\"}"), "f\\n/decline declines.\"}", NULL, "\"cancel\""},
    /* Optional fields are left out. */
    {"{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"array\"},\"f\":{\"type\":\"integer\"},"
     "\"z\":{\"type\":\"string\"}},\"required\":[\"f\"]}",
     "f\\nA whole number. /decline declines.\"}", "1", "\"accept\",\"content\":{\"f\":1}"},
};

START_TEST(a_form_with_one_field_is_a_question)
{
    open_asking();
    acp_says(arena_printf(&acp_kit.kit.arena,
                          "{\"jsonrpc\":\"2.0\",\"id\":\"e\",\"method\":\"elicitation/create\","
                          "\"params\":{\"mode\":\"form\",\"sessionId\":\"s1\",\"message\":\"Tell "
                          "me\\nmore\",\"requestedSchema\":%s}}",
                          forms[_i].schema));
    ck_assert_str_eq(asked(), arena_printf(&acp_kit.kit.arena,
                                           "{\"text\":\"The agent asks: Tell me more\\n%s",
                                           forms[_i].question));
    ck_assert_pstr_eq(answer(forms[_i].answer),
                      arena_printf(&acp_kit.kit.arena,
                                   "{\"jsonrpc\":\"2.0\",\"id\":\"e\",\"result\":{\"action\":%s}}",
                                   forms[_i].result));
    ck_assert_ptr_null(asked());
}
END_TEST

static const struct {
    const char *property, *wrong, *right, *value;
} corrections[] = {
    {"{\"type\":\"integer\",\"maximum\":9}", "10", "9", "9"},
    {"{\"type\":\"integer\"}", "1.5", "2", "2"},
    {"{\"type\":\"integer\"}", "two", "2", "2"},
    {"{\"type\":\"number\",\"minimum\":0}", "-1", "1e3", "1000"},
    {"{\"type\":\"number\"}", "nan", "0", "0"},
    {"{\"type\":\"string\",\"minLength\":3}", "ab", "abc", "\"abc\""},
    {"{\"type\":\"string\",\"maxLength\":1}", "ab", "\xc3\xa4", "\"\xc3\xa4\""},
    {"{\"type\":\"string\",\"enum\":[\"0\",\"1\",\"2\",\"3\",\"4\",\"5\",\"6\",\"7\",\"8\",\"9\"]}",
     "10", "1", "\"1\""},
};

START_TEST(an_answer_that_does_not_fit_is_asked_for_again)
{
    open_asking();
    acp_says(arena_printf(&acp_kit.kit.arena, FORM("1", "%s"),
                          arena_printf(&acp_kit.kit.arena, FIELD("%s"), corrections[_i].property)));
    const char *first = asked();
    ck_assert_ptr_null(answer(corrections[_i].wrong));
    const char *second = asked();
    ck_assert_ptr_nonnull(strstr(second, "was not taken: "));
    ck_assert_ptr_nonnull(strstr(second, first + strlen("{\"text\":\"")));
    ck_assert_ptr_nonnull(
        strstr(answer(corrections[_i].right),
               arena_printf(&acp_kit.kit.arena, "\"accept\",\"content\":{\"f\":%s}}}",
                            corrections[_i].value)));
}
END_TEST

START_TEST(the_third_answer_that_does_not_fit_is_the_last)
{
    open_asking();
    acp_says(FORM("1", FIELD("{\"type\":\"integer\"}")));
    ck_assert_ptr_null(answer("one"));
    ck_assert_ptr_null(answer("two"));
    ck_assert_ptr_nonnull(strstr(answer("three"), "\"action\":\"cancel\""));
    ck_assert_ptr_null(asked());
}
END_TEST

static const struct {
    const char *params, *why;
} refusals[] = {
    {"\"mode\":\"url\",\"elicitationId\":\"e\",\"url\":\"https://a.example\"", "mode form only"},
    {"\"requestedSchema\":" STRING, "mode form only"},
    {"\"mode\":\"form\"", "one field"},
    {"\"mode\":\"form\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{}}", "one field"},
    {"\"mode\":\"form\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{\"a\":{\"type\":"
     "\"string\"},\"b\":{\"type\":\"string\"}}}",
     "one field"},
    {"\"mode\":\"form\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{\"a\":{\"type\":"
     "\"string\"},\"b\":{\"type\":\"string\"}},\"required\":[\"a\",\"b\"]}",
     "one field"},
    {"\"mode\":\"form\",\"requestedSchema\":" FIELD("{\"type\":\"array\"}"), "a string, one of"},
    {"\"mode\":\"form\",\"requestedSchema\":" FIELD("{}"), "a string, one of"},
    {"\"mode\":\"form\",\"requestedSchema\":" FIELD("{\"type\":\"string\",\"enum\":[]}"),
     "a string, one of"},
    {"\"mode\":\"form\",\"sessionId\":\"s2\",\"requestedSchema\":" STRING, "no such session"},
};

START_TEST(what_cannot_be_asked_is_refused_with_the_reason)
{
    open_asking();
    acp_says(
        arena_printf(&acp_kit.kit.arena,
                     "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"elicitation/create\",\"params\""
                     ":{\"message\":\"How?\",%s}}",
                     refusals[_i].params));
    const char *told = acp_told();
    ck_assert_ptr_nonnull(strstr(told, "\"id\":1,\"error\":{\"code\":-32602,"));
    ck_assert_ptr_nonnull(strstr(told, refusals[_i].why));
    ck_assert_ptr_nonnull(strstr(acp_events(), refusals[_i].why));
    ck_assert_ptr_null(asked());
}
END_TEST

/* So many items, numbered, in a list. */
static const char *many(int count, const char *format, const char *filler)
{
    CLEANUP(buf_release) struct buf list;
    buf_init(&list, 4 * 1024 * 1024);
    for (int i = 0; i < count; i++) {
        buf_adds(&list, i > 0 ? ",\"" : "\"");
        buf_addf(&list, "%d%s\"%s", i, filler, format);
    }
    return arena_strdup(&acp_kit.kit.arena, buf_text(&list));
}

/* What an agent may make as large as it likes. */
START_TEST(a_form_that_is_too_large_is_refused)
{
    char *filler = arena_alloc(&acp_kit.kit.arena, 1001);
    memset(filler, 'x', 1000);
    const char *const schemas[] = {
        arena_printf(&acp_kit.kit.arena, FIELD("{\"type\":\"string\",\"enum\":[%s]}"),
                     many(101, "", "")),
        arena_printf(&acp_kit.kit.arena, FIELD("{\"type\":\"string\",\"enum\":[%s]}"),
                     many(2, "", filler)),
        arena_printf(&acp_kit.kit.arena,
                     "{\"type\":\"object\",\"properties\":{%s},\"required\":[\"0\"]}",
                     many(101, ":{\"type\":\"string\"}", "")),
        arena_printf(&acp_kit.kit.arena, "{\"type\":\"object\",\"properties\":{%s}}",
                     many(1, ":{\"type\":\"string\"}", filler)),
    };
    open_asking();
    acp_says(arena_printf(&acp_kit.kit.arena, FORM("1", "%s"), schemas[_i]));
    ck_assert_ptr_nonnull(strstr(acp_told(), "\"error\":{\"code\":-32602,"));
    ck_assert_ptr_null(asked());
}
END_TEST

START_TEST(an_option_with_an_endless_id_is_not_offered)
{
    char *id = arena_alloc(&acp_kit.kit.arena, 1002);
    memset(id, 'x', 1001);
    open_asking();
    requests("1", "",
             arena_printf(&acp_kit.kit.arena,
                          ONCE ",{\"optionId\":\"%s\",\"name\":\"No\",\"kind\":\"reject_once\"}",
                          id));
    ck_assert_ptr_nonnull(strstr(asked(), "\"options\":[\"Once\"]}"));
    ck_assert_str_eq(answer(NULL), CANCELLED("1"));
}
END_TEST

START_TEST(people_are_asked_only_where_that_is_configured)
{
    acp_begin();
    ck_assert_ptr_null(strstr(acp_answers(INITIALIZED), "elicitation"));
    acp_answers(OPENED);
    (void)acp_told();
    requests("1", "", ONCE "," NO);
    ck_assert_str_eq(acp_told(), SELECTED("1", "ao"));
    acp_says(FORM("2", STRING));
    ck_assert_ptr_nonnull(strstr(acp_told(), "-32601"));
    ck_assert_ptr_null(asked());
}
END_TEST

START_TEST(the_agent_is_told_that_forms_are_welcome)
{
    acp_begin_with(&(struct conversation){.prompt = "Do it.", .cwd = "/tree", .asks_forms = true});
    ck_assert_ptr_nonnull(
        strstr(acp_answers(INITIALIZED), "\"terminal\":false,\"elicitation\":{\"form\":{}}}"));
}
END_TEST

Suite *acp_asks_suite(void)
{
    Suite *suite = suite_create("acp_asks");
    TCase *tests = tcase_create("acp_asks");
    tcase_add_checked_fixture(tests, acp_kit_open, acp_kit_close);
    tcase_add_loop_test(tests, a_permission_is_a_question_with_the_options_of_the_agent, 0,
                        (int)COUNT_OF(permissions));
    tcase_add_test(tests, requests_wait_for_their_turn);
    tcase_add_test(tests, many_options_leave_room_for_the_rejection);
    tcase_add_test(tests, a_long_call_is_cut);
    tcase_add_loop_test(tests, tools_that_policy_allows_are_not_asked_about, 0,
                        (int)COUNT_OF(rules));
    tcase_add_test(tests, a_tool_that_policy_denies_is_not_asked_about);
    tcase_add_test(tests, what_the_agent_gives_up_is_not_asked_any_more);
    tcase_add_test(tests, a_turn_that_is_cancelled_answers_all_that_waits);
    tcase_add_loop_test(tests, a_form_with_one_field_is_a_question, 0, (int)COUNT_OF(forms));
    tcase_add_loop_test(tests, an_answer_that_does_not_fit_is_asked_for_again, 0,
                        (int)COUNT_OF(corrections));
    tcase_add_test(tests, the_third_answer_that_does_not_fit_is_the_last);
    tcase_add_loop_test(tests, what_cannot_be_asked_is_refused_with_the_reason, 0,
                        (int)COUNT_OF(refusals));
    tcase_add_loop_test(tests, a_form_that_is_too_large_is_refused, 0, 4);
    tcase_add_test(tests, an_option_with_an_endless_id_is_not_offered);
    tcase_add_test(tests, people_are_asked_only_where_that_is_configured);
    tcase_add_test(tests, the_agent_is_told_that_forms_are_welcome);
    suite_add_tcase(suite, tests);
    return suite;
}
