/*
 * test_adapter_acp.c - the Agent Client Protocol against a scripted agent: what drover sends, what
 * it makes of the answers, and agents that do not keep to the protocol; test_acp_tools.c has the
 * calls of tools.
 */
#include "tests/unit/acp_kit.h"
#include <check.h>
#include <string.h>

/* ---- from the beginning to the end ---- */

START_TEST(a_session_is_begun_prompted_and_ended)
{
    acp_begin();
    const char *initialize = acp_answers(INITIALIZED);
    ck_assert_str_eq(initialize,
                     "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{"
                     "\"protocolVersion\":1,\"clientCapabilities\":{\"fs\":{\"readTextFile\":false,"
                     "\"writeTextFile\":false},\"terminal\":false},\"clientInfo\":{\"name\":"
                     "\"drover\",\"title\":\"drover\",\"version\":\"" DROVER_VERSION "\"}}}");
    ck_assert_str_eq(acp_answers(OPENED),
                     "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"session/new\",\"params\":{\"cwd\":"
                     "\"/tree\",\"mcpServers\":[]}}");
    ck_assert(!acp_kit.transcript.input_over);
    acp_speaks("I will ");
    acp_speaks("do it.");
    const char *prompt = acp_answers("\"result\":{\"stopReason\":\"end_turn\",\"usage\":{"
                                     "\"totalTokens\":1130,\"inputTokens\":100,\"outputTokens\":20,"
                                     "\"thoughtTokens\":5,\"cachedReadTokens\":1000,"
                                     "\"cachedWriteTokens\":5}}");
    ck_assert_str_eq(prompt, "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"session/prompt\","
                             "\"params\":{\"sessionId\":\"s1\",\"prompt\":[{\"type\":\"text\","
                             "\"text\":\"Do it.\"}]}}");
    ck_assert_int_eq(acp_kit.transcript.report, REPORT_SUCCESS);
    ck_assert_str_eq(acp_kit.transcript.summary, "I will do it.");
    ck_assert(acp_kit.transcript.input_over);
    ck_assert_ptr_null(acp_told());
    ck_assert_int_eq(acp_kit.transcript.usage.turns, 1);
    ck_assert_int_eq(acp_kit.transcript.usage.input_tokens, 1105);
    ck_assert_int_eq(acp_kit.transcript.usage.cached_input_tokens, 1000);
    ck_assert_int_eq(acp_kit.transcript.usage.output_tokens, 25);
    ck_assert_ptr_nonnull(strstr(acp_events(), "\"sessionId\":\"s1\""));
    ck_assert_ptr_nonnull(strstr(acp_events(), "I will do it."));
}
END_TEST

static const struct {
    const char *reason;
    enum report report;
    const char *stop, *error;
} reasons[] = {
    {"end_turn", REPORT_SUCCESS, NULL, ""},
    {"max_tokens", REPORT_ERROR, NULL, "The agent reached its limit of tokens."},
    {"max_turn_requests", REPORT_ERROR, "turn_limit", "The agent reached its limit of turns."},
    {"refusal", REPORT_ERROR, NULL, "The agent refused to go on: No."},
    {"cancelled", REPORT_ERROR, NULL, "The agent's turn ended: cancelled"},
    {"something_new", REPORT_ERROR, NULL, "The agent's turn ended: something_new"},
};

START_TEST(the_reason_of_its_end_is_its_report)
{
    acp_open_session();
    acp_speaks("No.");
    acp_answers(
        arena_printf(&acp_kit.kit.arena, "\"result\":{\"stopReason\":\"%s\"}", reasons[_i].reason));
    ck_assert_int_eq(acp_kit.transcript.report, reasons[_i].report);
    ck_assert_pstr_eq(acp_kit.transcript.stop, reasons[_i].stop);
    ck_assert_str_eq(acp_kit.transcript.error, reasons[_i].error);
    ck_assert(acp_kit.transcript.input_over);
}
END_TEST

/* At which request it fails, and with what. */
static const struct {
    int after;
    const char *answer, *error, *stop;
    bool overloaded;
} failures[] = {
    {0, "\"result\":{\"protocolVersion\":2}",
     "The agent does not speak version 1 of the Agent Client Protocol", NULL, false},
    {0, "\"result\":{}", "The agent does not speak version 1 of the Agent Client Protocol", NULL,
     false},
    {0, "\"result\":null", "The agent does not speak version 1 of the Agent Client Protocol", NULL,
     false},
    {0, "\"error\":{\"code\":-32603,\"message\":\"no home\"}",
     "The agent could not be initialized: no home", NULL, false},
    {0, "\"error\":{\"code\":-32603}", "The agent could not be initialized", NULL, false},
    {1, "\"error\":{\"code\":-32000,\"message\":\"Authentication required\"}",
     "The agent could not begin a session: Authentication required", "login_failed", false},
    {1, "\"result\":{}", "The agent gave its session no usable id", NULL, false},
    {1, "\"result\":{\"sessionId\":\"\"}", "The agent gave its session no usable id", NULL, false},
    {1, "\"result\":{\"sessionId\":7}", "The agent gave its session no usable id", NULL, false},
    {2, "\"error\":{\"code\":-32000,\"message\":\"Authentication required\"}",
     "The agent failed: Authentication required", "login_failed", false},
    {2, "\"error\":{\"code\":-32603,\"message\":\"Internal error: API Error: 529 overloaded\"}",
     "The agent failed: Internal error: API Error: 529 overloaded", NULL, true},
    {2, "\"error\":{\"code\":-32603,\"message\":\"Internal error: it broke\"}",
     "The agent failed: Internal error: it broke", NULL, false},
};

START_TEST(an_error_ends_it)
{
    static const char *const good[] = {INITIALIZED, OPENED};
    acp_begin();
    for (int i = 0; i < failures[_i].after; i++)
        acp_answers(good[i]);
    acp_answers(failures[_i].answer);
    ck_assert_int_eq(acp_kit.transcript.report, REPORT_ERROR);
    ck_assert_ptr_nonnull(strstr(acp_kit.transcript.error, failures[_i].error));
    ck_assert_pstr_eq(acp_kit.transcript.stop, failures[_i].stop);
    ck_assert_int_eq(acp_kit.transcript.overloaded, failures[_i].overloaded);
    ck_assert(acp_kit.transcript.input_over);
    ck_assert_ptr_null(acp_told());
}
END_TEST

/* ---- a later attempt ---- */

static const struct conversation again = {
    .prompt = "The test fails.", .cwd = "/tree", .session_id = "s1"};

static const struct {
    const char *can, *method;
} ways[] = {
    {"\"sessionCapabilities\":{\"resume\":{}},\"loadSession\":true", "session/resume"},
    {"\"sessionCapabilities\":{},\"loadSession\":true", "session/load"},
    {"\"sessionCapabilities\":{\"resume\":null},\"loadSession\":true", "session/load"},
};

START_TEST(a_session_is_continued)
{
    acp_begin_with(&again);
    acp_answers(arena_printf(&acp_kit.kit.arena,
                             "\"result\":{\"protocolVersion\":1,\"agentCapabilities\":{%s}}",
                             ways[_i].can));
    const char *open = acp_told();
    ck_assert_str_eq(open, arena_printf(&acp_kit.kit.arena,
                                        "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"%s\","
                                        "\"params\":{\"sessionId\":\"s1\",\"cwd\":\"/tree\","
                                        "\"mcpServers\":[]}}",
                                        ways[_i].method));
    /* What was said and done before is told again, and counts for nothing. */
    acp_speaks("Old words.");
    acp_updates("\"sessionUpdate\":\"tool_call\",\"toolCallId\":\"c0\",\"title\":\"old\"");
    acp_updates("\"sessionUpdate\":\"usage_update\",\"used\":1,\"size\":2,\"cost\":{\"amount\":1.5,"
                "\"currency\":\"USD\"}");
    acp_says("{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":null}");
    ck_assert_ptr_nonnull(strstr(acp_told(), "The test fails."));
    ck_assert_int_eq(acp_kit.transcript.usage.turns, 0);
    ck_assert_int_eq(acp_kit.transcript.calls, 0);
    ck_assert_double_eq(acp_kit.transcript.usage.cost_usd, 0);
    acp_updates(
        "\"sessionUpdate\":\"usage_update\",\"used\":1,\"size\":2,\"cost\":{\"amount\":1.75,"
        "\"currency\":\"USD\"}");
    ck_assert_double_eq_tol(acp_kit.transcript.usage.cost_usd, 0.25, 1e-9);
    acp_updates(
        "\"sessionUpdate\":\"usage_update\",\"used\":1,\"size\":2,\"cost\":{\"amount\":1.51,"
        "\"currency\":\"USD\"}"); /* A sum does not fall. */
    ck_assert_double_eq_tol(acp_kit.transcript.usage.cost_usd, 0.25, 1e-9);
    ck_assert_ptr_null(strstr(acp_events(), "Old words."));
}
END_TEST

static const struct {
    double before, told, cost;
} sums[] = {
    {1.5, 1.75, 0.25}, /* Of the whole session. */
    {1.5, 1.5, 0},
    {1.5, 0.4, 0.4}, /* Of this process alone. */
    {0, 0.4, 0.4},
};

START_TEST(what_a_session_has_cost_before_is_not_counted_again)
{
    struct conversation resumed = again;
    resumed.session_usd = sums[_i].before;
    acp_begin_with(&resumed);
    acp_answers("\"result\":{\"protocolVersion\":1,\"agentCapabilities\":{\"loadSession\":true}}");
    acp_answers("\"result\":null");
    (void)acp_told();
    acp_updates(arena_printf(&acp_kit.kit.arena,
                             "\"sessionUpdate\":\"usage_update\",\"used\":1,\"size\":2,\"cost\":{"
                             "\"amount\":%g,\"currency\":\"USD\"}",
                             sums[_i].told));
    ck_assert_double_eq_tol(acp_kit.transcript.usage.cost_usd, sums[_i].cost, 1e-9);
    ck_assert_double_eq_tol(acp_kit.transcript.session_usd, sums[_i].told, 1e-9);
}
END_TEST

START_TEST(a_session_that_is_gone_needs_another_prompt)
{
    acp_begin_with(&again);
    if (_i == 0) {
        acp_answers(INITIALIZED); /* It can neither resume nor load. */
    } else {
        acp_answers(
            "\"result\":{\"protocolVersion\":1,\"agentCapabilities\":{\"loadSession\":true}}");
        acp_answers("\"error\":{\"code\":-32002,\"message\":\"Resource not found\"}");
    }
    ck_assert(acp_kit.transcript.session_lost);
    ck_assert(acp_kit.transcript.input_over);
    ck_assert_ptr_null(acp_told());
}
END_TEST

START_TEST(a_login_that_is_missing_is_no_lost_session)
{
    acp_begin_with(&again);
    acp_answers("\"result\":{\"protocolVersion\":1,\"agentCapabilities\":{\"loadSession\":true}}");
    acp_answers("\"error\":{\"code\":-32000,\"message\":\"Authentication required\"}");
    ck_assert(!acp_kit.transcript.session_lost);
    ck_assert_str_eq(acp_kit.transcript.stop, "login_failed");
}
END_TEST

/* ---- the model ---- */

#define OPTION(options, current)                                                            \
    "\"configOptions\":[{\"id\":\"mode\",\"name\":\"Mode\",\"category\":\"mode\",\"type\":" \
    "\"select\",\"currentValue\":\"m2\",\"options\":[]},{\"id\":\"m\",\"name\":\"Model\","  \
    "\"category\":\"model\",\"type\":\"select\",\"currentValue\":\"" current                \
    "\",\"options\":[" options "]}]"

static const struct {
    const char *session;
    const char *sent;  /* NULL: the prompt is next. */
    const char *error; /* or NULL */
    const char *model;
} models[] = {
    {OPTION("{\"value\":\"m1\",\"name\":\"1\"},{\"value\":\"m2\",\"name\":\"2\"}", "m1"),
     "\"method\":\"session/set_config_option\",\"params\":{\"sessionId\":\"s1\",\"configId\":\"m\","
     "\"value\":\"m2\"}",
     NULL, "m2"},
    {OPTION("{\"group\":\"g\",\"name\":\"G\",\"options\":[{\"value\":\"m2\",\"name\":\"2\"}]}",
            "m1"),
     "session/set_config_option", NULL, "m2"},
    {OPTION("{\"value\":\"m2\",\"name\":\"2\"}", "m2"), NULL, NULL, "m2"},
    {OPTION("{\"value\":\"m1\",\"name\":\"1\"}", "m1"), NULL,
     "The agent does not offer the model that agent.model names: m2", "m1"},
    {"\"models\":{\"currentModelId\":\"m1\",\"availableModels\":[{\"modelId\":\"m2\"}]}",
     "\"method\":\"session/set_model\",\"params\":{\"sessionId\":\"s1\",\"modelId\":\"m2\"}", NULL,
     "m2"},
    {"\"modes\":null", NULL, NULL, ""},
};

START_TEST(the_model_is_chosen_where_it_can_be)
{
    acp_begin_with(&(struct conversation){.prompt = "Do it.", .cwd = "/tree", .model = "m2"});
    acp_answers(INITIALIZED);
    acp_answers(arena_printf(&acp_kit.kit.arena, "\"result\":{\"sessionId\":\"s1\",%s}",
                             models[_i].session));
    if (models[_i].sent != NULL) {
        const char *choice = acp_answers("\"result\":{}");
        ck_assert_msg(strstr(choice, models[_i].sent) != NULL, "%s", choice);
    }
    ck_assert_str_eq(acp_kit.transcript.usage.model, models[_i].model);
    ck_assert_str_eq(acp_kit.transcript.error, models[_i].error != NULL ? models[_i].error : "");
    const char *next = acp_told();
    if (models[_i].error != NULL)
        ck_assert_ptr_null(next);
    else
        ck_assert_ptr_nonnull(strstr(next, "session/prompt"));
}
END_TEST

START_TEST(a_model_that_is_refused_ends_it)
{
    acp_begin_with(&(struct conversation){.prompt = "Do it.", .cwd = "/tree", .model = "m2"});
    acp_answers(INITIALIZED);
    acp_answers("\"result\":{\"sessionId\":\"s1\"," OPTION("{\"value\":\"m2\"}", "m1") "}");
    acp_answers("\"error\":{\"code\":-32602,\"message\":\"not for you\"}");
    ck_assert_ptr_nonnull(strstr(acp_kit.transcript.error, "not for you"));
    ck_assert(acp_kit.transcript.input_over);
}
END_TEST

/* ---- updates ---- */

START_TEST(updates_of_other_sessions_do_not_count)
{
    acp_open_session();
    acp_says("{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"sessionId\":\"s2\","
             "\"update\":{\"sessionUpdate\":\"tool_call\",\"toolCallId\":\"c\",\"title\":\"t\"}}}");
    ck_assert_int_eq(acp_kit.transcript.calls, 0);
}
END_TEST

START_TEST(limits_stop_it_and_its_last_sums_are_read)
{
    acp_kit.transcript.limits.max_budget_usd = 1;
    acp_open_session();
    acp_updates("\"sessionUpdate\":\"usage_update\",\"used\":1,\"size\":2,\"cost\":{\"amount\":1.5,"
                "\"currency\":\"USD\"}");
    ck_assert_str_eq(acp_kit.transcript.stop, "budget_limit");
    const char *prompt = acp_told();
    ck_assert_ptr_nonnull(strstr(prompt, "session/prompt"));
    acp_kit.transcript.ops->interrupt(&acp_kit.transcript);
    ck_assert_str_eq(acp_told(), "{\"jsonrpc\":\"2.0\",\"method\":\"session/cancel\",\"params\":{"
                                 "\"sessionId\":\"s1\"}}");
    acp_says(
        "{\"jsonrpc\":\"2.0\",\"id\":\"p\",\"method\":\"session/request_permission\",\"params\":{"
        "\"sessionId\":\"s1\",\"toolCall\":{\"toolCallId\":\"c\"},\"options\":[{\"optionId\":"
        "\"a\",\"name\":\"A\",\"kind\":\"allow_once\"}]}}");
    ck_assert_str_eq(acp_told(),
                     "{\"jsonrpc\":\"2.0\",\"id\":\"p\",\"result\":{\"outcome\":{\"outcome\":"
                     "\"cancelled\"}}}");
    acp_updates(
        "\"sessionUpdate\":\"usage_update\",\"used\":1,\"size\":2,\"cost\":{\"amount\":1.75,"
        "\"currency\":\"USD\"}");
    acp_says("{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"stopReason\":\"cancelled\",\"usage\":{"
             "\"totalTokens\":30,\"inputTokens\":10,\"outputTokens\":20}}}");
    ck_assert_double_eq_tol(acp_kit.transcript.usage.cost_usd, 1.75, 1e-9);
    ck_assert_int_eq(acp_kit.transcript.usage.output_tokens, 20);
    ck_assert_str_eq(acp_kit.transcript.stop, "budget_limit");
    ck_assert_str_eq(acp_kit.transcript.error, "");
    ck_assert(acp_kit.transcript.input_over);
}
END_TEST

/* ---- other requests ---- */

static const struct {
    const char *id, *method;
} requests[] = {
    {"5", "fs/read_text_file"},   {"\"a-b\"", "fs/write_text_file"}, {"0", "terminal/create"},
    {"-1", "elicitation/create"}, {"9007199254740991", "_vendor/x"},
};

START_TEST(other_requests_are_answered_with_method_not_found)
{
    acp_open_session();
    (void)acp_told();
    acp_says(arena_printf(&acp_kit.kit.arena,
                          "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"%s\",\"params\":{}}",
                          requests[_i].id, requests[_i].method));
    ck_assert_str_eq(acp_told(), arena_printf(&acp_kit.kit.arena,
                                              "{\"jsonrpc\":\"2.0\",\"id\":%s,\"error\":{\"code\":"
                                              "-32601,\"message\":\"Method not found\"}}",
                                              requests[_i].id));
}
END_TEST

/* ---- agents that do not keep to the protocol ---- */

static const char *const nonsense[] = {
    "",
    "{",
    "hello",
    "[]",
    "[{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}]",
    "null",
    "{}",
    "{\"jsonrpc\":\"2.0\"}",
    "{\"id\":null,\"result\":{}}",
    "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"stopReason\":\"end_turn\"}}",
    "{\"jsonrpc\":\"2.0\",\"id\":4,\"result\":{\"stopReason\":\"end_turn\"}}",
    "{\"jsonrpc\":\"2.0\",\"id\":\"3\",\"result\":{\"stopReason\":\"end_turn\"}}",
    "{\"jsonrpc\":\"2.0\",\"id\":3.0,\"result\":{\"stopReason\":\"end_turn\"}}",
    "{\"jsonrpc\":\"2.0\",\"id\":[3],\"result\":{\"stopReason\":\"end_turn\"}}",
    "{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"fs/read_text_file\"}",
    "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"session/request_permission\"}",
    "{\"jsonrpc\":\"2.0\",\"method\":\"session/update\"}",
    "{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":[]}",
    "{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"sessionId\":\"s1\","
    "\"update\":7}}",
    "{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"sessionId\":\"s1\","
    "\"update\":{\"sessionUpdate\":\"plan\",\"entries\":{}}}}",
    "{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"sessionId\":\"s1\","
    "\"update\":{\"sessionUpdate\":\"tool_call_update\",\"toolCallId\":7,\"status\":[]}}}",
    "{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"sessionId\":\"s1\","
    "\"update\":{\"sessionUpdate\":\"usage_update\",\"cost\":{\"amount\":\"1\",\"currency\":"
    "\"USD\"}}}}",
    "{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"sessionId\":\"s1\","
    "\"update\":{\"sessionUpdate\":\"usage_update\",\"cost\":{\"amount\":-1,\"currency\":"
    "\"USD\"}}}}",
};

START_TEST(nonsense_changes_nothing)
{
    acp_open_session();
    (void)acp_told();
    acp_says(nonsense[_i]);
    ck_assert_ptr_null(acp_told());
    ck_assert(!acp_kit.transcript.input_over);
    ck_assert_ptr_null(acp_kit.transcript.stop);
    ck_assert_int_eq(acp_kit.transcript.report, REPORT_UNKNOWN);
    ck_assert_int_eq(acp_kit.transcript.usage.turns, 0);
    ck_assert_double_eq(acp_kit.transcript.usage.cost_usd, 0);
    acp_says("{\"jsonrpc\":\"2.0\",\"id\":3," ENDED "}");
    ck_assert_int_eq(acp_kit.transcript.report, REPORT_SUCCESS);
    /* Its answer counts once. */
    acp_says("{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"stopReason\":\"refusal\"}}");
    ck_assert_int_eq(acp_kit.transcript.report, REPORT_SUCCESS);
}
END_TEST

START_TEST(lines_before_the_conversation_are_no_harm)
{
    acp_says("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}");
    ck_assert_ptr_null(acp_told());
}
END_TEST

START_TEST(an_agent_that_floods_is_bounded)
{
    acp_open_session();
    (void)acp_told();
    for (int i = 0; i < 20000; i++) {
        acp_speaks("more and more");
        acp_updates("\"sessionUpdate\":\"tool_call\",\"toolCallId\":\"c1\",\"title\":\"t\","
                    "\"status\":\"completed\"");
    }
    ck_assert_uint_lt(strlen(acp_events()), 64 * 1024);
    /* It asks, and does not read the answers. */
    for (int i = 0; i < 60000; i++)
        acp_says(arena_printf(&acp_kit.kit.arena,
                              "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"x\"}", i));
    ck_assert_uint_le(acp_kit.transcript.input.len, ADAPTER_INPUT_MAX);
    ck_assert_int_eq(acp_kit.transcript.report, REPORT_ERROR);
    ck_assert(acp_kit.transcript.input_over);
}
END_TEST

START_TEST(an_id_as_long_as_a_book_gets_no_answer)
{
    acp_open_session();
    (void)acp_told();
    char *id = arena_alloc(&acp_kit.kit.arena, 1000001);
    memset(id, 'x', 1000000);
    id[1000000] = '\0';
    acp_says(arena_printf(&acp_kit.kit.arena,
                          "{\"jsonrpc\":\"2.0\",\"id\":\"%s\",\"method\":\"x\"}", id));
    ck_assert_ptr_null(acp_told());
}
END_TEST

START_TEST(a_prompt_that_does_not_fit_is_an_error)
{
    char *prompt = arena_alloc(&acp_kit.kit.arena, ADAPTER_INPUT_MAX + 1);
    memset(prompt, '\x01', ADAPTER_INPUT_MAX);
    prompt[ADAPTER_INPUT_MAX] = '\0';
    acp_begin_with(&(struct conversation){.prompt = prompt, .cwd = "/tree"});
    ck_assert_int_eq(acp_kit.transcript.report, REPORT_ERROR);
    ck_assert(acp_kit.transcript.input_over);
}
END_TEST

/* ---- messages of people ---- */

START_TEST(messages_are_the_next_prompt)
{
    acp_open_session();
    acp_kit.transcript.ops->say(&acp_kit.transcript, "Use tabs.");
    acp_kit.transcript.ops->say(&acp_kit.transcript, "And \"quotes\".");
    ck_assert(acp_kit.transcript.input_waits);
    ck_assert_ptr_nonnull(strstr(acp_answers(ENDED), "Do it."));
    ck_assert(!acp_kit.transcript.input_over && !acp_kit.transcript.input_waits);
    ck_assert_str_eq(acp_answers(ENDED),
                     "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"session/prompt\",\"params\":{"
                     "\"sessionId\":\"s1\",\"prompt\":[{\"type\":\"text\",\"text\":\"Use tabs.\"},"
                     "{\"type\":\"text\",\"text\":\"And \\\"quotes\\\".\"}]}}");
    ck_assert(acp_kit.transcript.input_over);
    ck_assert_int_eq(acp_kit.transcript.usage.turns, 2);
    /* It came before stdin was closed: another turn. */
    acp_kit.transcript.input_over = false;
    acp_kit.transcript.ops->say(&acp_kit.transcript, "One more thing.");
    ck_assert_ptr_nonnull(strstr(acp_answers(ENDED), "One more thing."));
    ck_assert(acp_kit.transcript.input_over);
}
END_TEST

START_TEST(a_message_before_the_session_waits_for_it)
{
    acp_begin();
    acp_kit.transcript.ops->say(&acp_kit.transcript, "Use tabs.");
    acp_answers(INITIALIZED);
    acp_answers(OPENED);
    const char *prompt = acp_told();
    ck_assert_ptr_nonnull(strstr(prompt, "Do it."));
    ck_assert_ptr_nonnull(strstr(prompt, "Use tabs."));
}
END_TEST

START_TEST(no_message_follows_a_failure_or_a_cancel)
{
    acp_open_session();
    acp_kit.transcript.ops->say(&acp_kit.transcript, "Use tabs.");
    if (_i == 0) {
        acp_answers("\"error\":{\"code\":-32603,\"message\":\"broken\"}");
        acp_kit.transcript.ops->say(&acp_kit.transcript, "Again.");
    } else {
        (void)acp_told();
        acp_kit.transcript.ops->interrupt(&acp_kit.transcript);
        (void)acp_told();
        acp_says("{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"stopReason\":\"cancelled\"}}");
    }
    ck_assert_ptr_null(acp_told());
    ck_assert(acp_kit.transcript.input_over);
    ck_assert(acp_kit.transcript.input_waits); /* Not delivered: it is for the next attempt. */
}
END_TEST

START_TEST(an_interrupt_before_the_prompt_closes_its_stdin)
{
    acp_begin();
    if (_i == 1)
        acp_answers(INITIALIZED);
    acp_kit.transcript.ops->interrupt(&acp_kit.transcript);
    ck_assert(acp_kit.transcript.input_over);
}
END_TEST

Suite *adapter_acp_suite(void)
{
    Suite *suite = suite_create("adapter_acp");
    TCase *tests = tcase_create("adapter_acp");
    tcase_add_checked_fixture(tests, acp_kit_open, acp_kit_close);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, a_session_is_begun_prompted_and_ended);
    tcase_add_loop_test(tests, the_reason_of_its_end_is_its_report, 0, (int)COUNT_OF(reasons));
    tcase_add_loop_test(tests, an_error_ends_it, 0, (int)COUNT_OF(failures));
    tcase_add_loop_test(tests, a_session_is_continued, 0, (int)COUNT_OF(ways));
    tcase_add_loop_test(tests, what_a_session_has_cost_before_is_not_counted_again, 0,
                        (int)COUNT_OF(sums));
    tcase_add_loop_test(tests, a_session_that_is_gone_needs_another_prompt, 0, 2);
    tcase_add_test(tests, a_login_that_is_missing_is_no_lost_session);
    tcase_add_loop_test(tests, the_model_is_chosen_where_it_can_be, 0, (int)COUNT_OF(models));
    tcase_add_test(tests, a_model_that_is_refused_ends_it);
    tcase_add_test(tests, updates_of_other_sessions_do_not_count);
    tcase_add_test(tests, limits_stop_it_and_its_last_sums_are_read);
    tcase_add_loop_test(tests, other_requests_are_answered_with_method_not_found, 0,
                        (int)COUNT_OF(requests));
    tcase_add_loop_test(tests, nonsense_changes_nothing, 0, (int)COUNT_OF(nonsense));
    tcase_add_test(tests, lines_before_the_conversation_are_no_harm);
    tcase_add_test(tests, an_agent_that_floods_is_bounded);
    tcase_add_test(tests, an_id_as_long_as_a_book_gets_no_answer);
    tcase_add_test(tests, a_prompt_that_does_not_fit_is_an_error);
    tcase_add_test(tests, messages_are_the_next_prompt);
    tcase_add_test(tests, a_message_before_the_session_waits_for_it);
    tcase_add_loop_test(tests, no_message_follows_a_failure_or_a_cancel, 0, 2);
    tcase_add_loop_test(tests, an_interrupt_before_the_prompt_closes_its_stdin, 0, 2);
    suite_add_tcase(suite, tests);
    return suite;
}
