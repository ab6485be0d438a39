/*
 * test_acp_tools.c - tool calls by the Agent Client Protocol: what is reported, permitted, denied.
 */
#include "tests/unit/acp_kit.h"
#include <check.h>
#include <string.h>

static void calls(const char *members)
{
    acp_updates(arena_printf(&acp_kit.kit.arena,
                             "\"sessionUpdate\":\"tool_call\",\"toolCallId\":\"c1\",%s", members));
}

static void changes(const char *members)
{
    acp_updates(arena_printf(&acp_kit.kit.arena,
                             "\"sessionUpdate\":\"tool_call_update\",\"toolCallId\":\"c1\",%s",
                             members));
}

START_TEST(what_it_does_becomes_events)
{
    acp_open_session();
    acp_updates(
        "\"sessionUpdate\":\"plan\",\"entries\":[{\"content\":\"look\",\"priority\":\"high\","
        "\"status\":\"completed\"},{\"content\":\"fix\",\"priority\":\"low\",\"status\":"
        "\"in_progress\"},{\"content\":\"test\",\"status\":\"pending\"}]");
    acp_updates("\"sessionUpdate\":\"agent_thought_chunk\",\"content\":{\"type\":\"text\",\"text\":"
                "\"Hidden.\"}");
    acp_speaks("Looking.");
    calls("\"title\":\"cat a.c\",\"kind\":\"execute\",\"status\":\"pending\",\"rawInput\":{}");
    changes("\"rawInput\":{\"command\":\"cat a.c\"}");
    changes("\"status\":\"in_progress\"");
    changes("\"status\":\"failed\",\"content\":[{\"type\":\"content\",\"content\":{\"type\":"
            "\"text\",\"text\":\"no such file\"}}]");
    acp_updates("\"sessionUpdate\":\"usage_update\",\"used\":53000,\"size\":200000,\"cost\":{"
                "\"amount\":0.045,\"currency\":\"USD\"},\"_meta\":{\"_claude/model\":\"opus\"}");
    acp_updates("\"sessionUpdate\":\"usage_update\",\"used\":53000,\"size\":200000,\"cost\":{"
                "\"amount\":9,\"currency\":\"EUR\"}");
    acp_updates("\"sessionUpdate\":\"available_commands_update\",\"availableCommands\":[]");
    acp_updates("\"sessionUpdate\":\"something_new\",\"x\":1");
    acp_speaks("Not there.");
    acp_answers(ENDED);
    const char *got = acp_events();
    ck_assert_ptr_nonnull(strstr(got, "[x] look\\n[>] fix\\n[ ] test"));
    ck_assert_ptr_nonnull(strstr(got, "Looking."));
    ck_assert_ptr_null(strstr(got, "Hidden."));
    ck_assert_uint_eq(acp_count(got, "agent.tool.call.started"), 1);
    ck_assert_uint_eq(acp_count(got, "agent.tool.call.failed"), 1);
    ck_assert_ptr_nonnull(strstr(got, "no such file"));
    ck_assert_ptr_nonnull(strstr(got, "\"name\":\"execute\",\"summary\":\"cat a.c\""));
    ck_assert_double_eq_tol(acp_kit.transcript.usage.cost_usd, 0.045, 1e-9);
    ck_assert_str_eq(acp_kit.transcript.usage.model, "opus");
    ck_assert_int_eq(acp_kit.transcript.usage.turns, 2); /* Before the call, and after it. */
    ck_assert_str_eq(acp_kit.transcript.summary, "Not there.");
}
END_TEST

START_TEST(a_call_is_named_as_the_agent_names_it)
{
    acp_open_session();
    calls("\"title\":\"x\",\"kind\":\"edit\",\"rawInput\":{\"f\":1},\"_meta\":{\"a\":1,"
          "\"claudeCode\":{\"toolName\":\"Write\"}}");
    acp_updates("\"sessionUpdate\":\"tool_call\",\"toolCallId\":\"c2\",\"title\":\"y\",\"name\":"
                "\"write_file\",\"kind\":\"edit\",\"status\":\"completed\"");
    ck_assert_ptr_nonnull(strstr(acp_events(), "\"name\":\"Write\""));
    ck_assert_ptr_nonnull(strstr(acp_events(), "\"name\":\"write_file\""));
}
END_TEST

/* ---- permission ---- */

#define ALLOW_ALWAYS  "{\"optionId\":\"aa\",\"name\":\"Always\",\"kind\":\"allow_always\"}"
#define ALLOW_ONCE    "{\"optionId\":\"ao\",\"name\":\"Once\",\"kind\":\"allow_once\"}"
#define REJECT_ONCE   "{\"optionId\":\"ro\",\"name\":\"No\",\"kind\":\"reject_once\"}"
#define REJECT_ALWAYS "{\"optionId\":\"ra\",\"name\":\"Never\",\"kind\":\"reject_always\"}"

static const char *asks(const char *options)
{
    acp_says(
        arena_printf(&acp_kit.kit.arena,
                     "{\"jsonrpc\":\"2.0\",\"id\":77,\"method\":\"session/request_permission\","
                     "\"params\":{\"sessionId\":\"s1\",\"toolCall\":{\"toolCallId\":\"c1\","
                     "\"title\":\"rm\",\"kind\":\"execute\",\"_meta\":{\"x\":{\"toolName\":"
                     "\"Bash\"}}},\"options\":[%s]}}",
                     options));
    const char *line = acp_told();
    ck_assert_ptr_nonnull(strstr(line, "\"id\":77,"));
    return strstr(line, "\"outcome\":{");
}

static const char *const deny_bash[] = {"Bash", NULL};
static const char *const deny_execute[] = {"exec*", NULL};

static const struct {
    const char *const *denied;
    const char *options, *answer;
    bool allowed;
} permissions[] = {
    {NULL, ALLOW_ALWAYS "," ALLOW_ONCE "," REJECT_ONCE,
     "\"outcome\":{\"outcome\":\"selected\",\"optionId\":\"ao\"}}}", true},
    {NULL, ALLOW_ALWAYS "," REJECT_ALWAYS,
     "\"outcome\":{\"outcome\":\"selected\",\"optionId\":\"ra\"}}}", false},
    {NULL, ALLOW_ALWAYS, "\"outcome\":{\"outcome\":\"cancelled\"}}}", false},
    {NULL, "", "\"outcome\":{\"outcome\":\"cancelled\"}}}", false},
    {deny_bash, ALLOW_ONCE "," REJECT_ALWAYS "," REJECT_ONCE,
     "\"outcome\":{\"outcome\":\"selected\",\"optionId\":\"ro\"}}}", false},
    {deny_execute, ALLOW_ONCE "," REJECT_ALWAYS,
     "\"outcome\":{\"outcome\":\"selected\",\"optionId\":\"ra\"}}}", false},
    {deny_bash, ALLOW_ONCE, "\"outcome\":{\"outcome\":\"cancelled\"}}}", false},
};

START_TEST(permission_is_given_once_and_never_for_a_denied_tool)
{
    bool denied = permissions[_i].denied != NULL;
    acp_kit.transcript.limits.tools_denied = permissions[_i].denied;
    acp_open_session();
    (void)acp_told();
    ck_assert_str_eq(asks(permissions[_i].options), permissions[_i].answer);
    ck_assert_pstr_eq(acp_kit.transcript.stop, denied ? "tool_denied" : NULL);
    const char *got = acp_events();
    bool allowed = permissions[_i].allowed;
    ck_assert_uint_eq(acp_count(got, "agent.tool.call.requested"), 1);
    ck_assert_uint_eq(acp_count(got, "agent.tool.call.allowed"), allowed);
    ck_assert_uint_eq(acp_count(got, "agent.tool.call.denied"), !allowed);
}
END_TEST

/* As claude-agent-acp asks: by kind and title alone. */
START_TEST(a_request_is_for_the_call_that_was_announced)
{
    acp_kit.transcript.limits.tools_denied = deny_bash;
    acp_open_session();
    (void)acp_told();
    calls("\"title\":\"Terminal\",\"status\":\"pending\",\"name\":\"Read\",\"rawInput\":{}");
    changes("\"title\":\"a.c\",\"rawInput\":{\"path\":\"a.c\"}");
    acp_says("{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"session/request_permission\",\"params\":{"
             "\"sessionId\":\"s1\",\"toolCall\":{\"toolCallId\":\"c1\",\"title\":\"a.c\"},"
             "\"options\":[" ALLOW_ONCE "]}}");
    ck_assert_ptr_nonnull(strstr(acp_told(), "\"optionId\":\"ao\""));
    changes("\"status\":\"completed\"");
    ck_assert_ptr_null(acp_kit.transcript.stop);
    const char *got = acp_events();
    ck_assert_uint_eq(acp_count(got, "agent.tool.call.started"), 1);
    ck_assert_uint_eq(acp_count(got, "agent.tool.call.requested"), 1);
    ck_assert_uint_eq(acp_count(got, "agent.tool.call.allowed"), 1);
    ck_assert_uint_eq(acp_count(got, "\"name\":\"Read\",\"summary\":\"a.c\""), 4);
}
END_TEST

/* Whenever it shows: announced, with its arguments, when it runs, or when it has run. */
static const char *const runs_denied[] = {
    "\"sessionUpdate\":\"tool_call\",\"toolCallId\":\"c1\",\"title\":\"rm\",\"status\":"
    "\"pending\",\"rawInput\":{},\"_meta\":{\"x\":{\"toolName\":\"Bash\"}}",
    "\"sessionUpdate\":\"tool_call\",\"toolCallId\":\"c1\",\"title\":\"rm\",\"name\":\"Bash\"",
    "\"sessionUpdate\":\"tool_call_update\",\"toolCallId\":\"c1\",\"name\":\"Bash\"",
    "\"sessionUpdate\":\"tool_call_update\",\"toolCallId\":\"c1\",\"status\":\"in_progress\","
    "\"_meta\":{\"x\":{\"toolName\":\"Bash\"}}",
    "\"sessionUpdate\":\"tool_call_update\",\"status\":\"completed\",\"name\":\"Bash\"",
    "\"sessionUpdate\":\"tool_call_update\",\"toolCallId\":\"c1\",\"status\":\"failed\","
    "\"kind\":\"execute\",\"name\":\"Bash\"",
};

START_TEST(an_agent_that_calls_a_denied_tool_is_stopped)
{
    acp_kit.transcript.limits.tools_denied = deny_bash;
    acp_open_session();
    (void)acp_told();
    if (_i >= (int)COUNT_OF(runs_denied)) /* First under another name. */
        calls("\"title\":\"x\",\"kind\":\"other\",\"rawInput\":{}");
    acp_updates(runs_denied[(size_t)_i % COUNT_OF(runs_denied)]);
    ck_assert_str_eq(acp_kit.transcript.stop, "tool_denied");
    ck_assert_ptr_nonnull(strstr(acp_kit.transcript.error, "Bash"));
    ck_assert_uint_eq(acp_count(acp_events(), "agent.tool.call.denied"), 1);
}
END_TEST

Suite *acp_tools_suite(void)
{
    Suite *suite = suite_create("acp_tools");
    TCase *tests = tcase_create("acp_tools");
    tcase_add_checked_fixture(tests, acp_kit_open, acp_kit_close);
    tcase_add_test(tests, what_it_does_becomes_events);
    tcase_add_test(tests, a_call_is_named_as_the_agent_names_it);
    tcase_add_loop_test(tests, permission_is_given_once_and_never_for_a_denied_tool, 0,
                        (int)COUNT_OF(permissions));
    tcase_add_test(tests, a_request_is_for_the_call_that_was_announced);
    tcase_add_loop_test(tests, an_agent_that_calls_a_denied_tool_is_stopped, 0,
                        2 * (int)COUNT_OF(runs_denied));
    suite_add_tcase(suite, tests);
    return suite;
}
