/*
 * test_adapter_acp.c - the Agent Client Protocol against a scripted agent: what drover sends, what
 * it makes of the answers, and agents that do not keep to the protocol.
 */
#include "tests/unit/work_kit.h"
#include "work/agent/adapter.h"
#include <check.h>
#include <string.h>

static struct kit kit;
static struct progress progress;
static struct transcript transcript;

static void setup(void)
{
    kit_open(&kit);
    progress_init(&progress, &kit.port.port, &(struct port_ref){.epoch = 1}, &kit.stop);
    transcript_init(&transcript, ADAPTER_ACP, &progress);
}

static void teardown(void)
{
    transcript_release(&transcript);
    progress_release(&progress);
    kit_close(&kit);
}

/* ---- the agent ---- */

static void begin_with(const struct conversation *conversation)
{
    transcript.ops->begin(&transcript, conversation);
}

static void begin(void)
{
    begin_with(&(struct conversation){.prompt = "Do it.", .cwd = "/tree"});
}

/* The next message of drover, as text; NULL: there is none. */
static const char *told(void)
{
    const char *end = transcript.input.len > 0 ? strchr(transcript.input.data, '\n') : NULL;
    if (end == NULL)
        return NULL;
    size_t len = (size_t)(end - transcript.input.data);
    const char *line = arena_strndup(&kit.arena, transcript.input.data, len);
    struct js *tree = NULL;
    ck_assert_msg(js_parse(line, len, &tree, NULL) == RC_OK, "%s", line);
    ck_assert_str_eq(js_get_str(tree, "jsonrpc", ""), "2.0");
    js_free(tree);
    buf_drop(&transcript.input, len + 1);
    return line;
}

static void says(const char *line)
{
    transcript_line(&transcript, str_of(line));
}

/* The next message, and its answer: the text of "result" or "error". */
static const char *answers(const char *member)
{
    const char *line = told();
    ck_assert_ptr_nonnull(line);
    struct js *tree = NULL;
    ck_assert_int_eq(js_parse(line, strlen(line), &tree, NULL), RC_OK);
    int64_t id = js_get_int(tree, "id", -1);
    js_free(tree);
    ck_assert_int_gt(id, 0);
    says(arena_printf(&kit.arena, "{\"jsonrpc\":\"2.0\",\"id\":%lld,%s}", (long long)id, member));
    return line;
}

static void updates(const char *update)
{
    says(arena_printf(&kit.arena,
                      "{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{"
                      "\"sessionId\":\"s1\",\"update\":{%s}}}",
                      update));
}

static void speaks(const char *text)
{
    updates(arena_printf(&kit.arena,
                         "\"sessionUpdate\":\"agent_message_chunk\",\"content\":{\"type\":\"text\","
                         "\"text\":\"%s\"}",
                         text));
}

#define INITIALIZED "\"result\":{\"protocolVersion\":1,\"agentCapabilities\":{}}"
#define OPENED      "\"result\":{\"sessionId\":\"s1\"}"
#define ENDED       "\"result\":{\"stopReason\":\"end_turn\"}"

/* Up to its first prompt, which is not answered yet. */
static void open_session(void)
{
    begin();
    answers(INITIALIZED);
    answers(OPENED);
}

static const char *events(void)
{
    progress_flush(&progress);
    return buf_text(&kit.port.events);
}

static size_t count_of(const char *text, const char *what)
{
    size_t count = 0;
    for (; (text = strstr(text, what)) != NULL; text++)
        count++;
    return count;
}

/* ---- from the beginning to the end ---- */

START_TEST(a_session_is_begun_prompted_and_ended)
{
    begin();
    const char *initialize = answers(INITIALIZED);
    ck_assert_str_eq(initialize,
                     "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{"
                     "\"protocolVersion\":1,\"clientCapabilities\":{\"fs\":{\"readTextFile\":false,"
                     "\"writeTextFile\":false},\"terminal\":false},\"clientInfo\":{\"name\":"
                     "\"drover\",\"title\":\"drover\",\"version\":\"" DROVER_VERSION "\"}}}");
    ck_assert_str_eq(answers(OPENED),
                     "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"session/new\",\"params\":{\"cwd\":"
                     "\"/tree\",\"mcpServers\":[]}}");
    ck_assert(!transcript.input_over);
    speaks("I will ");
    speaks("do it.");
    const char *prompt = answers("\"result\":{\"stopReason\":\"end_turn\",\"usage\":{"
                                 "\"totalTokens\":1130,\"inputTokens\":100,\"outputTokens\":20,"
                                 "\"thoughtTokens\":5,\"cachedReadTokens\":1000,"
                                 "\"cachedWriteTokens\":5}}");
    ck_assert_str_eq(prompt, "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"session/prompt\","
                             "\"params\":{\"sessionId\":\"s1\",\"prompt\":[{\"type\":\"text\","
                             "\"text\":\"Do it.\"}]}}");
    ck_assert_int_eq(transcript.report, REPORT_SUCCESS);
    ck_assert_str_eq(transcript.summary, "I will do it.");
    ck_assert(transcript.input_over);
    ck_assert_ptr_null(told());
    ck_assert_int_eq(transcript.usage.turns, 1);
    ck_assert_int_eq(transcript.usage.input_tokens, 1105);
    ck_assert_int_eq(transcript.usage.cached_input_tokens, 1000);
    ck_assert_int_eq(transcript.usage.output_tokens, 25);
    ck_assert_ptr_nonnull(strstr(events(), "\"sessionId\":\"s1\""));
    ck_assert_ptr_nonnull(strstr(events(), "I will do it."));
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
    open_session();
    speaks("No.");
    answers(arena_printf(&kit.arena, "\"result\":{\"stopReason\":\"%s\"}", reasons[_i].reason));
    ck_assert_int_eq(transcript.report, reasons[_i].report);
    ck_assert_pstr_eq(transcript.stop, reasons[_i].stop);
    ck_assert_str_eq(transcript.error, reasons[_i].error);
    ck_assert(transcript.input_over);
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
    begin();
    for (int i = 0; i < failures[_i].after; i++)
        answers(good[i]);
    answers(failures[_i].answer);
    ck_assert_int_eq(transcript.report, REPORT_ERROR);
    ck_assert_ptr_nonnull(strstr(transcript.error, failures[_i].error));
    ck_assert_pstr_eq(transcript.stop, failures[_i].stop);
    ck_assert_int_eq(transcript.overloaded, failures[_i].overloaded);
    ck_assert(transcript.input_over);
    ck_assert_ptr_null(told());
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
    begin_with(&again);
    answers(arena_printf(
        &kit.arena, "\"result\":{\"protocolVersion\":1,\"agentCapabilities\":{%s}}", ways[_i].can));
    const char *open = told();
    ck_assert_str_eq(open, arena_printf(&kit.arena,
                                        "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"%s\","
                                        "\"params\":{\"sessionId\":\"s1\",\"cwd\":\"/tree\","
                                        "\"mcpServers\":[]}}",
                                        ways[_i].method));
    /* What was said and done before is told again, and counts for nothing. */
    speaks("Old words.");
    updates("\"sessionUpdate\":\"tool_call\",\"toolCallId\":\"c0\",\"title\":\"old\"");
    updates("\"sessionUpdate\":\"usage_update\",\"used\":1,\"size\":2,\"cost\":{\"amount\":1.5,"
            "\"currency\":\"USD\"}");
    says("{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":null}");
    ck_assert_ptr_nonnull(strstr(told(), "The test fails."));
    ck_assert_int_eq(transcript.usage.turns, 0);
    ck_assert_int_eq(transcript.calls, 0);
    ck_assert_double_eq(transcript.usage.cost_usd, 0);
    updates("\"sessionUpdate\":\"usage_update\",\"used\":1,\"size\":2,\"cost\":{\"amount\":1.75,"
            "\"currency\":\"USD\"}");
    ck_assert_double_eq_tol(transcript.usage.cost_usd, 0.25, 1e-9);
    updates("\"sessionUpdate\":\"usage_update\",\"used\":1,\"size\":2,\"cost\":{\"amount\":1.51,"
            "\"currency\":\"USD\"}"); /* A sum does not fall. */
    ck_assert_double_eq_tol(transcript.usage.cost_usd, 0.25, 1e-9);
    ck_assert_ptr_null(strstr(events(), "Old words."));
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
    begin_with(&resumed);
    answers("\"result\":{\"protocolVersion\":1,\"agentCapabilities\":{\"loadSession\":true}}");
    answers("\"result\":null");
    (void)told();
    updates(arena_printf(&kit.arena,
                         "\"sessionUpdate\":\"usage_update\",\"used\":1,\"size\":2,\"cost\":{"
                         "\"amount\":%g,\"currency\":\"USD\"}",
                         sums[_i].told));
    ck_assert_double_eq_tol(transcript.usage.cost_usd, sums[_i].cost, 1e-9);
    ck_assert_double_eq_tol(transcript.session_usd, sums[_i].told, 1e-9);
}
END_TEST

START_TEST(a_session_that_is_gone_needs_another_prompt)
{
    begin_with(&again);
    if (_i == 0) {
        answers(INITIALIZED); /* It can neither resume nor load. */
    } else {
        answers("\"result\":{\"protocolVersion\":1,\"agentCapabilities\":{\"loadSession\":true}}");
        answers("\"error\":{\"code\":-32002,\"message\":\"Resource not found\"}");
    }
    ck_assert(transcript.session_lost);
    ck_assert(transcript.input_over);
    ck_assert_ptr_null(told());
}
END_TEST

START_TEST(a_login_that_is_missing_is_no_lost_session)
{
    begin_with(&again);
    answers("\"result\":{\"protocolVersion\":1,\"agentCapabilities\":{\"loadSession\":true}}");
    answers("\"error\":{\"code\":-32000,\"message\":\"Authentication required\"}");
    ck_assert(!transcript.session_lost);
    ck_assert_str_eq(transcript.stop, "login_failed");
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
    begin_with(&(struct conversation){.prompt = "Do it.", .cwd = "/tree", .model = "m2"});
    answers(INITIALIZED);
    answers(arena_printf(&kit.arena, "\"result\":{\"sessionId\":\"s1\",%s}", models[_i].session));
    if (models[_i].sent != NULL) {
        const char *choice = answers("\"result\":{}");
        ck_assert_msg(strstr(choice, models[_i].sent) != NULL, "%s", choice);
    }
    ck_assert_str_eq(transcript.usage.model, models[_i].model);
    ck_assert_str_eq(transcript.error, models[_i].error != NULL ? models[_i].error : "");
    const char *next = told();
    if (models[_i].error != NULL)
        ck_assert_ptr_null(next);
    else
        ck_assert_ptr_nonnull(strstr(next, "session/prompt"));
}
END_TEST

START_TEST(a_model_that_is_refused_ends_it)
{
    begin_with(&(struct conversation){.prompt = "Do it.", .cwd = "/tree", .model = "m2"});
    answers(INITIALIZED);
    answers("\"result\":{\"sessionId\":\"s1\"," OPTION("{\"value\":\"m2\"}", "m1") "}");
    answers("\"error\":{\"code\":-32602,\"message\":\"not for you\"}");
    ck_assert_ptr_nonnull(strstr(transcript.error, "not for you"));
    ck_assert(transcript.input_over);
}
END_TEST

/* ---- updates ---- */

static void calls(const char *members)
{
    updates(arena_printf(&kit.arena, "\"sessionUpdate\":\"tool_call\",\"toolCallId\":\"c1\",%s",
                         members));
}

static void changes(const char *members)
{
    updates(arena_printf(
        &kit.arena, "\"sessionUpdate\":\"tool_call_update\",\"toolCallId\":\"c1\",%s", members));
}

START_TEST(what_it_does_becomes_events)
{
    open_session();
    updates("\"sessionUpdate\":\"plan\",\"entries\":[{\"content\":\"look\",\"priority\":\"high\","
            "\"status\":\"completed\"},{\"content\":\"fix\",\"priority\":\"low\",\"status\":"
            "\"in_progress\"},{\"content\":\"test\",\"status\":\"pending\"}]");
    updates("\"sessionUpdate\":\"agent_thought_chunk\",\"content\":{\"type\":\"text\",\"text\":"
            "\"Hidden.\"}");
    speaks("Looking.");
    calls("\"title\":\"cat a.c\",\"kind\":\"execute\",\"status\":\"pending\",\"rawInput\":{}");
    changes("\"rawInput\":{\"command\":\"cat a.c\"}");
    changes("\"status\":\"in_progress\"");
    changes("\"status\":\"failed\",\"content\":[{\"type\":\"content\",\"content\":{\"type\":"
            "\"text\",\"text\":\"no such file\"}}]");
    updates("\"sessionUpdate\":\"usage_update\",\"used\":53000,\"size\":200000,\"cost\":{"
            "\"amount\":0.045,\"currency\":\"USD\"},\"_meta\":{\"_claude/model\":\"opus\"}");
    updates("\"sessionUpdate\":\"usage_update\",\"used\":53000,\"size\":200000,\"cost\":{"
            "\"amount\":9,\"currency\":\"EUR\"}");
    updates("\"sessionUpdate\":\"available_commands_update\",\"availableCommands\":[]");
    updates("\"sessionUpdate\":\"something_new\",\"x\":1");
    speaks("Not there.");
    answers(ENDED);
    const char *got = events();
    ck_assert_ptr_nonnull(strstr(got, "[x] look\\n[>] fix\\n[ ] test"));
    ck_assert_ptr_nonnull(strstr(got, "Looking."));
    ck_assert_ptr_null(strstr(got, "Hidden."));
    ck_assert_uint_eq(count_of(got, "agent.tool.call.started"), 1);
    ck_assert_uint_eq(count_of(got, "agent.tool.call.failed"), 1);
    ck_assert_ptr_nonnull(strstr(got, "no such file"));
    ck_assert_ptr_nonnull(strstr(got, "\"name\":\"execute\",\"summary\":\"cat a.c\""));
    ck_assert_double_eq_tol(transcript.usage.cost_usd, 0.045, 1e-9);
    ck_assert_str_eq(transcript.usage.model, "opus");
    ck_assert_int_eq(transcript.usage.turns, 2); /* Before the call, and after it. */
    ck_assert_str_eq(transcript.summary, "Not there.");
}
END_TEST

START_TEST(a_call_is_named_as_the_agent_names_it)
{
    open_session();
    calls("\"title\":\"x\",\"kind\":\"edit\",\"rawInput\":{\"f\":1},\"_meta\":{\"a\":1,"
          "\"claudeCode\":{\"toolName\":\"Write\"}}");
    updates("\"sessionUpdate\":\"tool_call\",\"toolCallId\":\"c2\",\"title\":\"y\",\"name\":"
            "\"write_file\",\"kind\":\"edit\",\"status\":\"completed\"");
    ck_assert_ptr_nonnull(strstr(events(), "\"name\":\"Write\""));
    ck_assert_ptr_nonnull(strstr(events(), "\"name\":\"write_file\""));
}
END_TEST

START_TEST(updates_of_other_sessions_do_not_count)
{
    open_session();
    says("{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"sessionId\":\"s2\","
         "\"update\":{\"sessionUpdate\":\"tool_call\",\"toolCallId\":\"c\",\"title\":\"t\"}}}");
    ck_assert_int_eq(transcript.calls, 0);
}
END_TEST

START_TEST(limits_stop_it_and_its_last_sums_are_read)
{
    transcript.limits.max_budget_usd = 1;
    open_session();
    updates("\"sessionUpdate\":\"usage_update\",\"used\":1,\"size\":2,\"cost\":{\"amount\":1.5,"
            "\"currency\":\"USD\"}");
    ck_assert_str_eq(transcript.stop, "budget_limit");
    const char *prompt = told();
    ck_assert_ptr_nonnull(strstr(prompt, "session/prompt"));
    transcript.ops->interrupt(&transcript);
    ck_assert_str_eq(told(), "{\"jsonrpc\":\"2.0\",\"method\":\"session/cancel\",\"params\":{"
                             "\"sessionId\":\"s1\"}}");
    says("{\"jsonrpc\":\"2.0\",\"id\":\"p\",\"method\":\"session/request_permission\",\"params\":{"
         "\"sessionId\":\"s1\",\"toolCall\":{\"toolCallId\":\"c\"},\"options\":[{\"optionId\":"
         "\"a\",\"name\":\"A\",\"kind\":\"allow_once\"}]}}");
    ck_assert_str_eq(told(),
                     "{\"jsonrpc\":\"2.0\",\"id\":\"p\",\"result\":{\"outcome\":{\"outcome\":"
                     "\"cancelled\"}}}");
    updates("\"sessionUpdate\":\"usage_update\",\"used\":1,\"size\":2,\"cost\":{\"amount\":1.75,"
            "\"currency\":\"USD\"}");
    says("{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"stopReason\":\"cancelled\",\"usage\":{"
         "\"totalTokens\":30,\"inputTokens\":10,\"outputTokens\":20}}}");
    ck_assert_double_eq_tol(transcript.usage.cost_usd, 1.75, 1e-9);
    ck_assert_int_eq(transcript.usage.output_tokens, 20);
    ck_assert_str_eq(transcript.stop, "budget_limit");
    ck_assert_str_eq(transcript.error, "");
    ck_assert(transcript.input_over);
}
END_TEST

/* ---- permission ---- */

#define ALLOW_ALWAYS  "{\"optionId\":\"aa\",\"name\":\"Always\",\"kind\":\"allow_always\"}"
#define ALLOW_ONCE    "{\"optionId\":\"ao\",\"name\":\"Once\",\"kind\":\"allow_once\"}"
#define REJECT_ONCE   "{\"optionId\":\"ro\",\"name\":\"No\",\"kind\":\"reject_once\"}"
#define REJECT_ALWAYS "{\"optionId\":\"ra\",\"name\":\"Never\",\"kind\":\"reject_always\"}"

static const char *asks(const char *options)
{
    says(arena_printf(&kit.arena,
                      "{\"jsonrpc\":\"2.0\",\"id\":77,\"method\":\"session/request_permission\","
                      "\"params\":{\"sessionId\":\"s1\",\"toolCall\":{\"toolCallId\":\"c1\","
                      "\"title\":\"rm\",\"kind\":\"execute\",\"_meta\":{\"x\":{\"toolName\":"
                      "\"Bash\"}}},\"options\":[%s]}}",
                      options));
    const char *line = told();
    ck_assert_ptr_nonnull(strstr(line, "\"id\":77,"));
    return strstr(line, "\"outcome\":{");
}

static const char *const deny_bash[] = {"Bash", NULL};
static const char *const deny_execute[] = {"exec*", NULL};

static const struct {
    const char *const *denied;
    const char *options, *answer;
} permissions[] = {
    {NULL, ALLOW_ALWAYS "," ALLOW_ONCE "," REJECT_ONCE,
     "\"outcome\":{\"outcome\":\"selected\",\"optionId\":\"ao\"}}}"},
    {NULL, ALLOW_ALWAYS "," REJECT_ALWAYS,
     "\"outcome\":{\"outcome\":\"selected\",\"optionId\":\"ra\"}}}"},
    {NULL, ALLOW_ALWAYS, "\"outcome\":{\"outcome\":\"cancelled\"}}}"},
    {NULL, "", "\"outcome\":{\"outcome\":\"cancelled\"}}}"},
    {deny_bash, ALLOW_ONCE "," REJECT_ALWAYS "," REJECT_ONCE,
     "\"outcome\":{\"outcome\":\"selected\",\"optionId\":\"ro\"}}}"},
    {deny_execute, ALLOW_ONCE "," REJECT_ALWAYS,
     "\"outcome\":{\"outcome\":\"selected\",\"optionId\":\"ra\"}}}"},
    {deny_bash, ALLOW_ONCE, "\"outcome\":{\"outcome\":\"cancelled\"}}}"},
};

START_TEST(permission_is_given_once_and_never_for_a_denied_tool)
{
    bool denied = permissions[_i].denied != NULL;
    transcript.limits.tools_denied = permissions[_i].denied;
    open_session();
    (void)told();
    ck_assert_str_eq(asks(permissions[_i].options), permissions[_i].answer);
    ck_assert_pstr_eq(transcript.stop, denied ? "tool_denied" : NULL);
    ck_assert_uint_eq(count_of(events(), "agent.tool.call.denied"), denied);
}
END_TEST

/* As claude-agent-acp asks: by kind and title alone. */
START_TEST(a_request_is_for_the_call_that_was_announced)
{
    transcript.limits.tools_denied = deny_bash;
    open_session();
    (void)told();
    calls("\"title\":\"Terminal\",\"status\":\"pending\",\"name\":\"Read\",\"rawInput\":{}");
    changes("\"title\":\"a.c\",\"rawInput\":{\"path\":\"a.c\"}");
    says("{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"session/request_permission\",\"params\":{"
         "\"sessionId\":\"s1\",\"toolCall\":{\"toolCallId\":\"c1\",\"title\":\"a.c\"},"
         "\"options\":[" ALLOW_ONCE "]}}");
    ck_assert_ptr_nonnull(strstr(told(), "\"optionId\":\"ao\""));
    changes("\"status\":\"completed\"");
    ck_assert_ptr_null(transcript.stop);
    const char *got = events();
    ck_assert_uint_eq(count_of(got, "agent.tool.call.started"), 1);
    ck_assert_uint_eq(count_of(got, "\"name\":\"Read\",\"summary\":\"a.c\""), 2);
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
    transcript.limits.tools_denied = deny_bash;
    open_session();
    (void)told();
    if (_i >= (int)COUNT_OF(runs_denied)) /* First under another name. */
        calls("\"title\":\"x\",\"kind\":\"other\",\"rawInput\":{}");
    updates(runs_denied[(size_t)_i % COUNT_OF(runs_denied)]);
    ck_assert_str_eq(transcript.stop, "tool_denied");
    ck_assert_ptr_nonnull(strstr(transcript.error, "Bash"));
    ck_assert_uint_eq(count_of(events(), "agent.tool.call.denied"), 1);
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
    open_session();
    (void)told();
    says(arena_printf(&kit.arena, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"%s\",\"params\":{}}",
                      requests[_i].id, requests[_i].method));
    ck_assert_str_eq(told(), arena_printf(&kit.arena,
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
    open_session();
    (void)told();
    says(nonsense[_i]);
    ck_assert_ptr_null(told());
    ck_assert(!transcript.input_over);
    ck_assert_ptr_null(transcript.stop);
    ck_assert_int_eq(transcript.report, REPORT_UNKNOWN);
    ck_assert_int_eq(transcript.usage.turns, 0);
    ck_assert_double_eq(transcript.usage.cost_usd, 0);
    says("{\"jsonrpc\":\"2.0\",\"id\":3," ENDED "}");
    ck_assert_int_eq(transcript.report, REPORT_SUCCESS);
    /* Its answer counts once. */
    says("{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"stopReason\":\"refusal\"}}");
    ck_assert_int_eq(transcript.report, REPORT_SUCCESS);
}
END_TEST

START_TEST(lines_before_the_conversation_are_no_harm)
{
    says("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}");
    ck_assert_ptr_null(told());
}
END_TEST

START_TEST(an_agent_that_floods_is_bounded)
{
    open_session();
    (void)told();
    for (int i = 0; i < 20000; i++) {
        speaks("more and more");
        calls("\"title\":\"t\",\"status\":\"completed\"");
    }
    ck_assert_uint_lt(strlen(events()), 64 * 1024);
    /* It asks, and does not read the answers. */
    for (int i = 0; i < 60000; i++)
        says(arena_printf(&kit.arena, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"x\"}", i));
    ck_assert_uint_le(transcript.input.len, ADAPTER_INPUT_MAX);
    ck_assert_int_eq(transcript.report, REPORT_ERROR);
    ck_assert(transcript.input_over);
}
END_TEST

START_TEST(an_id_as_long_as_a_book_gets_no_answer)
{
    open_session();
    (void)told();
    char *id = arena_alloc(&kit.arena, 1000001);
    memset(id, 'x', 1000000);
    id[1000000] = '\0';
    says(arena_printf(&kit.arena, "{\"jsonrpc\":\"2.0\",\"id\":\"%s\",\"method\":\"x\"}", id));
    ck_assert_ptr_null(told());
}
END_TEST

START_TEST(a_prompt_that_does_not_fit_is_an_error)
{
    char *prompt = arena_alloc(&kit.arena, ADAPTER_INPUT_MAX + 1);
    memset(prompt, '\x01', ADAPTER_INPUT_MAX);
    prompt[ADAPTER_INPUT_MAX] = '\0';
    begin_with(&(struct conversation){.prompt = prompt, .cwd = "/tree"});
    ck_assert_int_eq(transcript.report, REPORT_ERROR);
    ck_assert(transcript.input_over);
}
END_TEST

/* ---- messages of people ---- */

START_TEST(messages_are_the_next_prompt)
{
    open_session();
    transcript.ops->say(&transcript, "Use tabs.");
    transcript.ops->say(&transcript, "And \"quotes\".");
    ck_assert(transcript.input_waits);
    ck_assert_ptr_nonnull(strstr(answers(ENDED), "Do it."));
    ck_assert(!transcript.input_over && !transcript.input_waits);
    ck_assert_str_eq(answers(ENDED),
                     "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"session/prompt\",\"params\":{"
                     "\"sessionId\":\"s1\",\"prompt\":[{\"type\":\"text\",\"text\":\"Use tabs.\"},"
                     "{\"type\":\"text\",\"text\":\"And \\\"quotes\\\".\"}]}}");
    ck_assert(transcript.input_over);
    ck_assert_int_eq(transcript.usage.turns, 2);
    /* It came before stdin was closed: another turn. */
    transcript.input_over = false;
    transcript.ops->say(&transcript, "One more thing.");
    ck_assert_ptr_nonnull(strstr(answers(ENDED), "One more thing."));
    ck_assert(transcript.input_over);
}
END_TEST

START_TEST(a_message_before_the_session_waits_for_it)
{
    begin();
    transcript.ops->say(&transcript, "Use tabs.");
    answers(INITIALIZED);
    answers(OPENED);
    const char *prompt = told();
    ck_assert_ptr_nonnull(strstr(prompt, "Do it."));
    ck_assert_ptr_nonnull(strstr(prompt, "Use tabs."));
}
END_TEST

START_TEST(no_message_follows_a_failure_or_a_cancel)
{
    open_session();
    transcript.ops->say(&transcript, "Use tabs.");
    if (_i == 0) {
        answers("\"error\":{\"code\":-32603,\"message\":\"broken\"}");
        transcript.ops->say(&transcript, "Again.");
    } else {
        (void)told();
        transcript.ops->interrupt(&transcript);
        (void)told();
        says("{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"stopReason\":\"cancelled\"}}");
    }
    ck_assert_ptr_null(told());
    ck_assert(transcript.input_over);
    ck_assert(transcript.input_waits); /* Not delivered: it is for the next attempt. */
}
END_TEST

START_TEST(an_interrupt_before_the_prompt_closes_its_stdin)
{
    begin();
    if (_i == 1)
        answers(INITIALIZED);
    transcript.ops->interrupt(&transcript);
    ck_assert(transcript.input_over);
}
END_TEST

Suite *adapter_acp_suite(void)
{
    Suite *suite = suite_create("adapter_acp");
    TCase *tests = tcase_create("adapter_acp");
    tcase_add_checked_fixture(tests, setup, teardown);
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
    tcase_add_test(tests, what_it_does_becomes_events);
    tcase_add_test(tests, a_call_is_named_as_the_agent_names_it);
    tcase_add_test(tests, updates_of_other_sessions_do_not_count);
    tcase_add_test(tests, limits_stop_it_and_its_last_sums_are_read);
    tcase_add_loop_test(tests, permission_is_given_once_and_never_for_a_denied_tool, 0,
                        (int)COUNT_OF(permissions));
    tcase_add_test(tests, a_request_is_for_the_call_that_was_announced);
    tcase_add_loop_test(tests, an_agent_that_calls_a_denied_tool_is_stopped, 0,
                        2 * (int)COUNT_OF(runs_denied));
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
