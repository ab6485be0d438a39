/*
 * test_transcripts.c - whole transcripts in the formats of Claude Code, Codex and ndjson: the
 * events, sums and claims that come of them, and lines that are none.
 */
#include "tests/unit/transcript_kit.h"
#include "work/agent/compute_process.h"
#include <check.h>
#include <stdlib.h>
#include <string.h>

static struct transcript_kit lab;

static void begin(enum adapter adapter)
{
    transcript_kit_begin(&lab, adapter);
}

static void setup(void)
{
    transcript_kit_open(&lab, "2026-07-03T12:00:00Z");
}

static void teardown(void)
{
    transcript_kit_close(&lab);
}

static void report(const char *line)
{
    transcript_line(&lab.transcript, str_of(line));
}

static void play(const char *name)
{
    transcript_kit_play(&lab, arena_printf(&lab.kit.arena, "%s.jsonl", name));
}

/* What the server has heard; events of one kind or all of them. */
static struct js *heard(void)
{
    return transcript_kit_heard(&lab);
}

/* The types without "agent.", one after the other. */
static const char *types_of(const struct js *events)
{
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, 10000);
    for (size_t i = 0; i < js_count(events); i++) {
        const char *type = js_get_str(js_at(events, i), "type", "");
        buf_addf(&text, "%s%s", i > 0 ? " " : "", type + strlen("agent."));
    }
    return arena_strdup(&lab.kit.arena, buf_text(&text));
}

static const struct js *event_of(const struct js *events, const char *type, size_t nth)
{
    for (size_t i = 0; i < js_count(events); i++) {
        const struct js *event = js_at(events, i);
        if (text_same(js_get_str(event, "type", "") + strlen("agent."), type) && nth-- == 0)
            return js_get(event, "data");
    }
    ck_abort_msg("no %s", type);
    return NULL;
}

static const struct {
    const char *name;
    enum adapter adapter;
    const char *events;
    int64_t turns, input, cached, output;
    double cost;
    const char *model;
    enum report report;
    const char *summary, *error, *stop;
} transcripts[] = {
    {"claude_success", ADAPTER_CLAUDE,
     "session.started step.recorded tool.call.started plan.created tool.call.completed"
     " tool.call.started tool.call.failed tool.call.started tool.call.completed"
     " tool.call.started plan.updated account.usage step.recorded tool.call.denied"
     " model.turn.completed",
     5, 5728, 5550, 160, 0.0421, "claude-sonnet-4-5", REPORT_SUCCESS, "Fixed the bug.", "", NULL},
    {"claude_subagents", ADAPTER_CLAUDE,
     "session.started tool.call.started tool.call.started tool.call.completed"
     " model.turn.completed",
     1, 31, 0, 15, 0.000596, "claude-opus-4-1", REPORT_UNKNOWN, "", "", NULL},
    {"claude_max_turns", ADAPTER_CLAUDE, "session.started tool.call.started model.turn.completed",
     1, 4, 0, 3, 0.01, "claude-sonnet-4-5", REPORT_ERROR, "",
     "Claude Code reached its limit of turns.", "turn_limit"},
    {"claude_error", ADAPTER_CLAUDE, "session.started step.recorded model.turn.completed", 1, 0, 0,
     0, 0, "claude-sonnet-4-5", REPORT_ERROR, "", "API Error: 500 Internal server error", NULL},
    {"claude_limit_notice", ADAPTER_CLAUDE, "session.started model.turn.completed", 1, 0, 0, 0, 0,
     "claude-sonnet-4-5", REPORT_ERROR, "", "Claude AI usage limit reached|1783090800", "quota"},
    {"claude_limit_event", ADAPTER_CLAUDE, "session.started account.usage", 0, 0, 0, 0, 0,
     "claude-sonnet-4-5", REPORT_UNKNOWN, "", "", "quota"},
    {"claude_overage", ADAPTER_CLAUDE,
     "session.started account.usage step.recorded model.turn.completed", 1, 1, 0, 1, 0.5,
     "claude-sonnet-4-5", REPORT_SUCCESS,
     "The page now says: usage limit reached, too many requests.", "", NULL},
    {"codex_success", ADAPTER_CODEX,
     "session.started plan.created tool.call.started tool.call.completed tool.call.started"
     " tool.call.failed tool.call.started tool.call.completed tool.call.started tool.call.failed"
     " tool.call.started tool.call.completed tool.call.started tool.call.denied plan.updated"
     " step.recorded model.turn.completed",
     1, 24763, 24448, 122, 0, "", REPORT_SUCCESS, "Fixed the bug.", "", NULL},
    {"codex_failed", ADAPTER_CODEX, "session.started step.recorded step.recorded", 0, 0, 0, 0, 0,
     "", REPORT_ERROR, "", "stream disconnected before completion", NULL},
    {"codex_limit", ADAPTER_CODEX, "session.started", 0, 0, 0, 0, 0, "", REPORT_ERROR, "",
     "You've hit your usage limit. Visit https://chatgpt.com/codex/settings/usage to purchase more"
     " credits or try again in 2 hours 5 minutes.",
     "quota"},
    {"codex_old_items", ADAPTER_CODEX,
     "session.started tool.call.started tool.call.completed step.recorded model.turn.completed", 1,
     5, 0, 2, 0, "", REPORT_SUCCESS, "Done.", "", NULL},
    {"ndjson_success", ADAPTER_NDJSON,
     "session.started plan.created tool.call.started tool.call.completed tool.call.started"
     " tool.call.timed_out tool.call.denied plan.updated step.recorded model.turn.completed",
     2, 110, 40, 22, 0.3, "large", REPORT_SUCCESS, "did it", "", NULL},
    {"ndjson_limit", ADAPTER_NDJSON, "model.turn.completed", 1, 1, 0, 1, 0, "", REPORT_UNKNOWN, "",
     "", "quota"},
};

START_TEST(a_transcript_becomes_events_sums_and_a_claim)
{
    begin(transcripts[_i].adapter);
    play(transcripts[_i].name);
    struct js *events = heard();
    ck_assert_str_eq(types_of(events), transcripts[_i].events);
    js_free(events);
    const struct usage *usage = &lab.transcript.usage;
    ck_assert_int_eq(usage->turns, transcripts[_i].turns);
    ck_assert_int_eq(usage->input_tokens, transcripts[_i].input);
    ck_assert_int_eq(usage->cached_input_tokens, transcripts[_i].cached);
    ck_assert_int_eq(usage->output_tokens, transcripts[_i].output);
    ck_assert_double_eq_tol(usage->cost_usd, transcripts[_i].cost, 1e-9);
    ck_assert_str_eq(usage->model, transcripts[_i].model);
    ck_assert_int_eq(lab.transcript.report, transcripts[_i].report);
    ck_assert_str_eq(lab.transcript.summary, transcripts[_i].summary);
    ck_assert_str_eq(lab.transcript.error, transcripts[_i].error);
    ck_assert_pstr_eq(lab.transcript.stop, transcripts[_i].stop);
}
END_TEST

/* ---- what is told of tools and plans ---- */

START_TEST(a_tool_call_is_told_by_name_summary_and_hash_and_not_by_content)
{
    begin(ADAPTER_CLAUDE);
    play("claude_success");
    struct js *events = heard();
    const struct js *edit = event_of(events, "tool.call.started", 2);
    ck_assert_str_eq(js_get_str(edit, "name", ""), "Edit");
    ck_assert_str_eq(js_get_str(edit, "summary", ""), "/w/a.c");
    ck_assert_str_eq(js_get_str(edit, "toolCallId", ""), "toolu_03");
    ck_assert_uint_eq(strlen(js_get_str(edit, "argumentsHash", "")), strlen("sha256:") + 64);
    const struct js *done = event_of(events, "tool.call.completed", 1);
    ck_assert_str_eq(js_get_str(done, "name", ""), "Edit");
    const struct js *failed = event_of(events, "tool.call.failed", 0);
    ck_assert_str_eq(js_get_str(failed, "name", ""), "Bash");
    ck_assert_ptr_nonnull(strstr(js_get_str(failed, "error", ""), "exit code 2"));
    ck_assert_str_eq(js_get_str(event_of(events, "plan.created", 0), "text", ""),
                     "[>] Read\n[ ] Fix\n");
    ck_assert_str_eq(js_get_str(event_of(events, "plan.updated", 0), "text", ""),
                     "[x] Read\n[x] Fix\n");
    ck_assert_str_eq(js_get_str(event_of(events, "session.started", 0), "model", ""),
                     "claude-sonnet-4-5");
    ck_assert_ptr_null(strstr(buf_text(&lab.kit.port.events), "hunter2"));
    js_free(events);
}
END_TEST

START_TEST(tools_of_codex_have_names)
{
    begin(ADAPTER_CODEX);
    play("codex_success");
    struct js *events = heard();
    static const char *const names[] = {"command_execution", "command_execution",
                                        "file_change",       "mcp__github__search_issues",
                                        "web_search",        "command_execution"};
    for (size_t i = 0; i < COUNT_OF(names); i++)
        ck_assert_str_eq(js_get_str(event_of(events, "tool.call.started", i), "name", ""),
                         names[i]);
    ck_assert_str_eq(js_get_str(event_of(events, "tool.call.started", 2), "summary", ""),
                     "update src/a.c, add src/b.c");
    ck_assert_str_eq(js_get_str(event_of(events, "tool.call.failed", 1), "error", ""), "not found");
    ck_assert_ptr_null(strstr(buf_text(&lab.kit.port.events), "hunter2"));
    js_free(events);
}
END_TEST

START_TEST(a_plan_has_its_reason)
{
    begin(ADAPTER_NDJSON);
    play("ndjson_success");
    struct js *events = heard();
    ck_assert_str_eq(js_get_str(event_of(events, "plan.created", 0), "reason", ""), "first look");
    ck_assert_str_eq(js_get_str(event_of(events, "plan.updated", 0), "reason", ""),
                     "fix_compile_error");
    js_free(events);
}
END_TEST

/* ---- limits ---- */

static const char *const denied_bash[] = {"Bash", NULL};
static const char *const denied_mcp[] = {"mcp__github__*", NULL};
static const char *const denied_search[] = {"nothing", "web_*", NULL};
static const char *const denied_edit[] = {"edit", NULL};
static const char *const denied_none[] = {"Ba", "bash", "mcp__*_x", "", NULL};

static const struct {
    const char *name;
    enum adapter adapter;
    struct transcript_limits limits;
    const char *stop;
    int64_t turns; /* When it was stopped. */
} held[] = {
    {"claude_success", ADAPTER_CLAUDE, {.max_turns = 5}, NULL, 5},
    {"claude_success", ADAPTER_CLAUDE, {.max_turns = 4}, "turn_limit", 5},
    {"claude_success", ADAPTER_CLAUDE, {.max_turns = 1}, "turn_limit", 2},
    {"claude_success", ADAPTER_CLAUDE, {.max_budget_usd = 0.05}, NULL, 5},
    {"claude_success", ADAPTER_CLAUDE, {.max_budget_usd = 0.04}, "budget_limit", 5},
    /* By prices it is seen while it happens: (1104 + 1156) tokens of input. */
    {"claude_success",
     ADAPTER_CLAUDE,
     {.max_budget_usd = 2, .prices = {.input = 1000, .cached_input = 1000}},
     "budget_limit",
     2},
    {"claude_subagents", ADAPTER_CLAUDE, {.max_turns = 1}, NULL, 1},
    {"codex_success", ADAPTER_CODEX, {.max_turns = 6}, NULL, 1},
    {"codex_success", ADAPTER_CODEX, {.max_turns = 5}, "turn_limit", 0},
    {"codex_success", ADAPTER_CODEX, {.max_budget_usd = 0.001}, NULL, 1},
    {"codex_success",
     ADAPTER_CODEX,
     {.max_budget_usd = 1, .prices = {.input = 1.25, .cached_input = 0.125, .output = 10}},
     NULL,
     1},
    {"codex_success",
     ADAPTER_CODEX,
     {.max_budget_usd = 0.004, .prices = {.input = 1.25, .cached_input = 0.125, .output = 10}},
     "budget_limit",
     1},
    {"ndjson_success", ADAPTER_NDJSON, {.max_turns = 2}, NULL, 2},
    {"ndjson_success", ADAPTER_NDJSON, {.max_turns = 1}, "turn_limit", 2},
    {"ndjson_success", ADAPTER_NDJSON, {.max_budget_usd = 0.2}, "budget_limit", 1},
    {"claude_success", ADAPTER_CLAUDE, {.tools_denied = denied_bash}, "tool_denied", 2},
    {"claude_success", ADAPTER_CLAUDE, {.tools_denied = denied_none}, NULL, 5},
    {"claude_subagents", ADAPTER_CLAUDE, {.tools_denied = denied_mcp}, "tool_denied", 1},
    {"codex_success", ADAPTER_CODEX, {.tools_denied = denied_mcp}, "tool_denied", 0},
    {"codex_success", ADAPTER_CODEX, {.tools_denied = denied_search}, "tool_denied", 0},
    {"ndjson_success", ADAPTER_NDJSON, {.tools_denied = denied_edit}, "tool_denied", 0},
};

START_TEST(limits_stop_the_agent_as_they_are_passed)
{
    begin(held[_i].adapter);
    lab.transcript.limits = held[_i].limits;
    play(held[_i].name);
    ck_assert_pstr_eq(lab.transcript.stop, held[_i].stop);
    ck_assert_int_eq(lab.transcript.usage.turns, held[_i].turns);
    if (!text_same(held[_i].stop, "tool_denied"))
        return;
    struct js *events = heard();
    const struct js *denied = event_of(events, "tool.call.denied", 0);
    ck_assert(text_starts(js_get_str(denied, "error", ""), "policy.denyTools: "));
    ck_assert_ptr_nonnull(strstr(lab.transcript.error, js_get_str(denied, "name", "?")));
    js_free(events);
}
END_TEST

START_TEST(an_id_that_is_used_again_hides_no_call)
{
    begin(ADAPTER_NDJSON);
    lab.transcript.limits.tools_denied = denied_edit;
    report("{\"type\":\"tool\",\"name\":\"read\",\"status\":\"started\",\"toolCallId\":\"1\"}");
    report("{\"type\":\"tool\",\"name\":\"read\",\"status\":\"started\",\"toolCallId\":\"1\"}");
    ck_assert_int_eq(lab.transcript.calls, 1);
    report("{\"type\":\"tool\",\"status\":\"completed\",\"toolCallId\":\"1\"}");
    report("{\"type\":\"tool\",\"name\":\"read\",\"status\":\"started\",\"toolCallId\":\"1\"}");
    ck_assert_int_eq(lab.transcript.calls, 2);
    ck_assert_ptr_null(lab.transcript.stop);
    report("{\"type\":\"tool\",\"name\":\"edit\",\"status\":\"started\",\"toolCallId\":\"1\"}");
    ck_assert_pstr_eq(lab.transcript.stop, "tool_denied");
}
END_TEST

START_TEST(a_call_that_is_told_only_at_its_end_is_denied_too)
{
    begin(ADAPTER_NDJSON);
    lab.transcript.limits.tools_denied = denied_edit;
    report("{\"type\":\"tool\",\"name\":\"edit\",\"status\":\"denied\"}"); /* By the agent. */
    ck_assert_ptr_null(lab.transcript.stop);
    report("{\"type\":\"tool\",\"name\":\"edit\",\"status\":\"completed\"}");
    ck_assert_pstr_eq(lab.transcript.stop, "tool_denied");
}
END_TEST

START_TEST(what_claude_says_of_its_cost_outranks_prices)
{
    begin(ADAPTER_CLAUDE);
    lab.transcript.limits.prices = (struct price_config){.input = 3, .output = 15};
    play("claude_success");
    ck_assert_double_eq_tol(lab.transcript.usage.cost_usd, 0.0421, 1e-9);
}
END_TEST

/* Any process of the agent's can print a result. */
START_TEST(a_result_does_not_take_back_what_was_spent)
{
    begin(ADAPTER_CLAUDE);
    lab.transcript.limits.prices = (struct price_config){.input = 3, .output = 15};
    lab.transcript.limits.max_budget_usd = 2;
    for (int i = 0; i < 12 && lab.transcript.stop == NULL; i++) {
        report(arena_printf(&lab.kit.arena,
                            "{\"type\":\"assistant\",\"message\":{\"id\":\"m%d\",\"content\":[],"
                            "\"usage\":{\"input_tokens\":10,\"output_tokens\":60000}}}",
                            i));
        report("{\"type\":\"result\",\"subtype\":\"success\",\"total_cost_usd\":0,"
               "\"modelUsage\":{\"a\":{\"inputTokens\":1,\"outputTokens\":1}}}");
    }
    ck_assert_pstr_eq(lab.transcript.stop, CUT_BUDGET_LIMIT);
    ck_assert_int_eq(lab.transcript.usage.output_tokens, 60000 / 2 * lab.transcript.usage.turns);
}
END_TEST

static const struct {
    const char *name;
    enum adapter adapter;
    const char *until;
    bool is_record; /* Of the program's format, not words in a text. */
} limits[] = {
    {"claude_limit_notice", ADAPTER_CLAUDE, "2026-07-03T15:00:00Z", false},
    {"claude_limit_event", ADAPTER_CLAUDE, "2026-07-03T15:00:00Z", true},
    {"codex_limit", ADAPTER_CODEX, "2026-07-03T14:05:00Z", true},
    {"ndjson_limit", ADAPTER_NDJSON, "2026-07-03T12:01:00Z", false},
};

START_TEST(a_usage_limit_is_told_with_its_reset)
{
    int64_t want_us;
    ck_assert(time_parse(limits[_i].until, &want_us));
    begin(limits[_i].adapter);
    play(limits[_i].name);
    ck_assert_pstr_eq(lab.transcript.stop, "quota");
    ck_assert_int_eq(lab.transcript.quota.resets_us, want_us);
    ck_assert_str_ne(lab.transcript.quota.message, "");
    ck_assert_int_eq(lab.transcript.quota.rejected, limits[_i].is_record);
}
END_TEST

/* ---- lines that are none ---- */

static const enum adapter all_adapters[] = {
    ADAPTER_NDJSON, ADAPTER_CLAUDE,   ADAPTER_CODEX, ADAPTER_GEMINI, ADAPTER_COPILOT,
    ADAPTER_CURSOR, ADAPTER_OPENCODE, ADAPTER_GOOSE, ADAPTER_AMP,    ADAPTER_TEXT,
};
/* Of their own format: a line of text is one however short it is. */
static const char *const whole_names[] = {
    "ndjson_success",    "claude_success", "codex_success",    "gemini_ok",      "copilot_ok",
    "cursor_documented", "opencode_ok",    "goose_documented", "amp_documented",
};
enum { FRAMES = 3 };

/* Every line cut at every length: whatever a killed agent leaves. */
START_TEST(a_line_cut_anywhere_does_no_harm)
{
    begin(all_adapters[_i]);
    char *text = transcript_kit_load(&lab,
                                     arena_printf(&lab.kit.arena, "%s.jsonl", whole_names[_i])),
         *rest = text;
    for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
        size_t len = strlen(line);
        for (size_t cut = 0; cut + 1 < len; cut += 7)
            transcript_line(&lab.transcript, (struct str){line, cut});
    }
    ck_assert_int_eq(lab.transcript.usage.turns, 0);
    ck_assert_int_eq(lab.transcript.report, REPORT_UNKNOWN);
    ck_assert_ptr_null(lab.transcript.stop);
    ck_assert_ptr_null(heard());
}
END_TEST

static void call_of(const char *command, const char *end)
{
    static int number;
    number++;
    report(arena_printf(
        &lab.kit.arena,
        "{\"type\":\"assistant\",\"message\":{\"id\":\"m%d\",\"content\":[{\"type\":"
        "\"tool_use\",\"id\":\"t%d\",\"name\":\"Bash\",\"input\":{\"command\":\"%s\"}}]}}",
        number, number, command));
    report(arena_printf(&lab.kit.arena,
                        "{\"type\":\"user\",\"message\":{\"content\":[{\"type\":\"tool_result\","
                        "\"tool_use_id\":\"t%d\",\"is_error\":%s,\"content\":\"x\"}]}}",
                        number, end));
}

START_TEST(the_same_failing_call_over_and_over_stops_the_agent)
{
    begin(ADAPTER_CLAUDE);
    lab.transcript.limits.bound_retries = true;
    lab.transcript.limits.tool_retries = 2;
    call_of("make", "true");
    call_of("make", "true");
    call_of("cat x", "false"); /* Something else in between. */
    call_of("make", "true");
    call_of("make", "true");
    call_of("make", "true");
    ck_assert_ptr_null(lab.transcript.stop);
    ck_assert_int_eq(lab.transcript.retries, 3);
    call_of("make", "true");
    ck_assert_str_eq(lab.transcript.stop, CUT_TOOL_RETRIES);
    ck_assert_ptr_nonnull(strstr(lab.transcript.error, "Bash has failed 4 times"));
}
END_TEST

START_TEST(garbage_does_no_harm)
{
    unsigned char bytes[4096];
    struct random random = random_seeded(7);
    begin(all_adapters[_i]);
    for (int round = 0; round < 200; round++) {
        for (size_t i = 0; i < sizeof bytes; i++)
            bytes[i] = (unsigned char)random_below(&random, 256);
        bytes[0] = round % 2 ? '{' : bytes[0];
        transcript_line(&lab.transcript, (struct str){(const char *)bytes, sizeof bytes});
    }
    ck_assert_ptr_null(lab.transcript.stop);
    ck_assert_ptr_null(heard());
}
END_TEST

/* Right in form, wrong in kind: numbers where texts belong, and the other way round. */
static const char *const odd_lines[] = {
    "{\"type\":\"result\"}",
    "{\"type\":\"result\",\"modelUsage\":{\"a\":7},\"total_cost_usd\":\"x\",\"stats\":[]}",
    "{\"type\":\"assistant\"}",
    "{\"type\":\"assistant\",\"message\":7}",
    "{\"type\":\"assistant\",\"message\":{\"content\":\"text\",\"usage\":[1]}}",
    "{\"type\":\"assistant\",\"message\":{\"content\":[7,null,[],{\"type\":\"tool_use\"}]}}",
    "{\"type\":\"user\",\"message\":{\"content\":\"hello\"}}",
    "{\"type\":\"user\",\"message\":{\"content\":[{\"type\":\"tool_result\",\"is_error\":1}]}}",
    ("{\"type\":\"rate_limit_event\",\"rate_limit_info\":{\"status\":\"rejected\",\"resetsAt\":"
     "\"x\"}}"),
    "{\"type\":\"system\",\"subtype\":\"init\",\"model\":{}}",
    "{\"type\":\"item.started\"}",
    "{\"type\":\"item.completed\",\"item\":[]}",
    "{\"type\":\"item.completed\",\"item\":{\"type\":\"command_execution\",\"id\":5}}",
    "{\"type\":\"item.completed\",\"item\":{\"type\":\"file_change\",\"changes\":{\"a\":1}}}",
    "{\"type\":\"item.completed\",\"item\":{\"type\":\"todo_list\",\"items\":[7]}}",
    "{\"type\":\"turn.completed\",\"usage\":\"much\"}",
    "{\"type\":\"turn.completed\",\"usage\":{\"input_tokens\":-7,\"output_tokens\":1e99}}",
    "{\"type\":\"tool\",\"status\":\"started\",\"name\":7,\"toolCallId\":{}}",
    "{\"type\":\"plan\",\"text\":[]}",
    "{\"type\":\"session\"}",
    "{\"type\":\"stream_event\",\"event\":{\"type\":\"message_delta\",\"usage\":7}}",
    "{\"type\":\"stream_event\",\"event\":{\"type\":\"content_block_start\"}}",
    "{\"type\":\"system\",\"subtype\":\"api_retry\",\"retry_delay_ms\":1e300}",
    "{\"type\":\"message\",\"role\":\"assistant\",\"content\":7}",
    "{\"type\":\"message\",\"message\":{\"role\":\"assistant\",\"content\":{\"a\":1}}}",
    "{\"type\":\"tool_call\",\"subtype\":\"started\",\"tool_call\":{\"x\":7}}",
    "{\"type\":\"tool_call\",\"subtype\":\"completed\",\"tool_call\":{\"x\":{\"result\":7}}}",
    "{\"type\":\"tool_use\",\"part\":{\"state\":7}}",
    "{\"type\":\"step_finish\",\"part\":{\"tokens\":\"many\",\"cost\":\"x\"}}",
    "{\"type\":\"tool.execution_complete\",\"data\":7}",
    "{\"type\":\"assistant.message\"}",
    "{\"type\":\"error\",\"error\":[1],\"message\":{}}",
    "Tokens: many sent, few received. Cost: $x message, $ session.",
};

START_TEST(odd_lines_do_no_harm)
{
    begin(all_adapters[_i]);
    for (size_t i = 0; i < COUNT_OF(odd_lines); i++)
        report(odd_lines[i]);
    ck_assert_int_eq(lab.transcript.usage.input_tokens, 0);
    ck_assert_int_eq(lab.transcript.usage.output_tokens, 0);
    ck_assert_ptr_null(lab.transcript.stop);
    js_free(heard()); /* What is told is JSON. */
}
END_TEST

/* The longest line that computes let through, all of it in one text. */
START_TEST(a_huge_line_makes_small_events)
{
    static const char *const frames[FRAMES][2] = {
        {"{\"type\":\"tool\",\"name\":\"edit\",\"status\":\"started\",\"summary\":\"", "\"}"},
        {"{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"tool_use\",\"id\":\"t\","
         "\"name\":\"Bash\",\"input\":{\"command\":\"",
         "\"}}]}}"},
        {"{\"type\":\"item.completed\",\"item\":{\"id\":\"i\",\"type\":\"command_execution\","
         "\"command\":\"",
         "\"}}"},
    };
    CLEANUP(buf_release) struct buf line;
    buf_init(&line, OUTPUT_LINE_MAX);
    buf_adds(&line, frames[_i][0]);
    while (line.len + strlen(frames[_i][1]) + 4 < OUTPUT_LINE_MAX)
        buf_adds(&line, "\xc3\xa4");
    buf_adds(&line, frames[_i][1]);
    ck_assert(!line.overflow);
    begin(all_adapters[_i]);
    transcript_line(&lab.transcript, buf_str(&line));
    struct js *events = heard();
    const struct js *call = event_of(events, "tool.call.started", 0);
    ck_assert_uint_lt(strlen(js_get_str(call, "summary", "")), 400);
    ck_assert_uint_lt(lab.kit.port.events.len, 2000);
    js_free(events);
}
END_TEST

START_TEST(many_calls_and_messages_stay_bounded)
{
    begin(ADAPTER_CLAUDE);
    for (int i = 0; i < 1000; i++) {
        report(arena_printf(&lab.kit.arena,
                            "{\"type\":\"assistant\",\"message\":{\"id\":\"m%d\",\"content\":["
                            "{\"type\":\"tool_use\",\"id\":\"t%d\",\"name\":\"Bash\"}],"
                            "\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}}",
                            i, i));
    }
    ck_assert_int_eq(lab.transcript.usage.turns, 1000);
    ck_assert_int_eq(lab.transcript.usage.input_tokens, 1000);
    ck_assert_int_eq(lab.transcript.calls, 1000);
}
END_TEST

static void add_limits(TCase *tests)
{
    tcase_add_loop_test(tests, limits_stop_the_agent_as_they_are_passed, 0, (int)COUNT_OF(held));
    tcase_add_test(tests, an_id_that_is_used_again_hides_no_call);
    tcase_add_test(tests, a_call_that_is_told_only_at_its_end_is_denied_too);
    tcase_add_test(tests, what_claude_says_of_its_cost_outranks_prices);
    tcase_add_test(tests, a_result_does_not_take_back_what_was_spent);
    tcase_add_loop_test(tests, a_usage_limit_is_told_with_its_reset, 0, (int)COUNT_OF(limits));
}

Suite *transcripts_suite(void)
{
    Suite *suite = suite_create("transcripts");
    TCase *tests = tcase_create("transcripts");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 30);
    tcase_add_loop_test(tests, a_transcript_becomes_events_sums_and_a_claim, 0,
                        (int)COUNT_OF(transcripts));
    tcase_add_test(tests, a_tool_call_is_told_by_name_summary_and_hash_and_not_by_content);
    tcase_add_test(tests, tools_of_codex_have_names);
    tcase_add_test(tests, a_plan_has_its_reason);
    add_limits(tests);
    tcase_add_loop_test(tests, a_line_cut_anywhere_does_no_harm, 0, (int)COUNT_OF(whole_names));
    tcase_add_test(tests, the_same_failing_call_over_and_over_stops_the_agent);
    tcase_add_loop_test(tests, garbage_does_no_harm, 0, (int)COUNT_OF(all_adapters));
    tcase_add_loop_test(tests, odd_lines_do_no_harm, 0, (int)COUNT_OF(all_adapters));
    tcase_add_loop_test(tests, a_huge_line_makes_small_events, 0, FRAMES);
    tcase_add_test(tests, many_calls_and_messages_stay_bounded);
    suite_add_tcase(suite, tests);
    return suite;
}
