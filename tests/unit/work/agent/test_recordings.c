/*
 * test_recordings.c - what real programs print, with the true figures: counted by hand from the raw
 * lines, where the scripted model says how many tokens each request has.
 *
 * tests/fixtures/transcripts has the recordings: Claude Code 2.1.197, Codex 0.166.0, Copilot CLI
 * 1.0.102, opencode 1.18.33, Gemini CLI 0.61.0; those whose names end in _documented are written
 * after the documentation or the source of the program, see the head of its adapter.  Those of
 * `make test-agents` are in real/, with their figures beside them.
 */
#include "base/fd.h"
#include "tests/unit/transcript_kit.h"
#include "work/agent/rollout.h"
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct transcript_kit lab;

static void setup(void)
{
    ck_assert_int_eq(setenv("TZ", "UTC0", 1), 0);
    tzset();
    transcript_kit_open(&lab, "2026-11-16T12:32:50Z");
}

static void teardown(void)
{
    transcript_kit_close(&lab);
    ck_assert_int_eq(unsetenv("TZ"), 0);
    tzset();
}

/* "Bash Read": the values of one member of the events of one type. */
static const char *members(const struct js *events, const char *type, const char *key)
{
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, 10000);
    for (size_t i = 0; i < js_count(events); i++) {
        const struct js *event = js_at(events, i), *data = js_get(event, "data");
        if (!text_same(js_get_str(event, "type", ""), type))
            continue;
        buf_adds(&text, text.len > 0 ? " " : "");
        if (js_type(js_get(data, key)) == JS_INT)
            buf_addf(&text, "%lld", (long long)js_get_int(data, key, 0));
        else
            buf_adds(&text, js_get_str(data, key, "-"));
    }
    return arena_strdup(&lab.kit.arena, buf_text(&text));
}

#define OPUS  "claude-opus-4-8"
#define DONE  .report = REPORT_SUCCESS
#define ERROR .report = REPORT_ERROR

static const struct recording {
    const char *name;
    enum adapter adapter;
    int64_t turns, input, cached, output;
    double cost;
    const char *model, *tools;
    enum report report;
    const char *summary; /* NULL: "" */
    const char *error;   /* Its beginning; NULL: "" */
    const char *stop;
    const char *reset;  /* Of a quota. */
    const char *failed; /* Exit codes of calls that failed; "-": none is known. */
    bool overloaded, record;
} recordings[] = {
    /* The scripted model: request n (from 0) of a session has 1000 + 500 n tokens of input, 400 n
       from the cache and 50 + 10 n of output.  Without stream-json on stdin Claude Code asks for a
       title beside it: one request 0 more. */
    {"claude_ok.jsonl", ADAPTER_CLAUDE, 4, 10400, 2400, 310, 0.04895, OPUS, "Bash Read Write", DONE,
     .summary = "The answer is 42 now."},
    {"claude_partial.jsonl", ADAPTER_CLAUDE, 4, 10400, 2400, 310, 0.04895, OPUS, "Bash Read Write",
     DONE, .summary = "The answer is 42 now."},
    {"claude_twotools.jsonl", ADAPTER_CLAUDE, 3, 6700, 1200, 230, 0.03385, OPUS,
     "Bash Read Write Bash", DONE, .summary = "Both done."},
    {"claude_toolerror.jsonl", ADAPTER_CLAUDE, 3, 6700, 1200, 230, 0.03385, OPUS, "Bash Bash", DONE,
     .summary = "Recovered and done.", .failed = "3"},
    {"claude_thinking.jsonl", ADAPTER_CLAUDE, 2, 3900, 400, 160, 0.0217, OPUS, "Bash", DONE,
     .summary = "Done."},
    {"claude_todo.jsonl", ADAPTER_CLAUDE, 3, 6700, 1200, 230, 0.03385, OPUS, "TodoWrite Bash", DONE,
     .summary = "Done.", .failed = "-"},
    {"claude_todo_old.jsonl", ADAPTER_CLAUDE, 3, 6700, 1200, 230, 0.03385, OPUS, "TodoWrite Bash",
     DONE, .summary = "Done."},
    {"claude_tasks.jsonl", ADAPTER_CLAUDE, 5, 14000, 4000, 350, 0.06075, OPUS,
     "TaskCreate TaskCreate TaskUpdate TaskUpdate TaskUpdate TaskList", DONE, .summary = "Done."},
    {"claude_subagent.jsonl", ADAPTER_CLAUDE, 3, 7700, 1200, 280, 0.0401, OPUS, "Agent Bash", DONE,
     .summary = "Done with help."},
    {"claude_subagent_partial.jsonl", ADAPTER_CLAUDE, 3, 11400, 2400, 360, 0.0552, OPUS,
     "Agent Bash Read Write Bash Bash", DONE, .summary = "Done with help."},
    {"claude_said.jsonl", ADAPTER_CLAUDE, 5, 14000, 4000, 350, 0.06075, OPUS, "Bash Read Write",
     DONE, .summary = "The answer is 42 now."},
    {"claude_warning.jsonl", ADAPTER_CLAUDE, 2, 2900, 400, 110, 0.00927, "claude-sonnet-5", "Bash",
     DONE, .summary = "Done."},
    {"claude_maxturns.jsonl", ADAPTER_CLAUDE, 3, 6700, 1200, 230, 0.03385, OPUS, "Bash Bash Bash",
     ERROR, .error = "Reached maximum number of turns (3)", .stop = "turn_limit"},
    {"claude_budget.jsonl", ADAPTER_CLAUDE, 5, 15000, 4000, 400, 0.067, OPUS,
     "Bash Bash Bash Bash Bash", ERROR, .error = "Reached maximum budget ($0.05)",
     .stop = "budget_limit"},
    {"claude_killed_int.jsonl", ADAPTER_CLAUDE, 1, 2000, 0, 100, 0.0125, OPUS, "Bash", ERROR,
     .error = "Claude Code was interrupted.", .failed = "-"},
    {"claude_interrupted.jsonl", ADAPTER_CLAUDE, 1, 1000, 0, 50, 0.00625, OPUS, "Bash", ERROR,
     .error = "Claude Code was interrupted.", .failed = "-"},
    /* Nothing was printed of its end: what the message began with, by the list price. */
    {"claude_killed_term.jsonl", ADAPTER_CLAUDE, 1, 1000, 0, 1, 0.005025, OPUS, "Bash",
     REPORT_UNKNOWN, .summary = NULL},
    {"claude_killed_kill.jsonl", ADAPTER_CLAUDE, 1, 1000, 0, 1, 0.005025, OPUS, "Bash",
     REPORT_UNKNOWN, .summary = NULL},
    /* Only the title was answered. */
    {"claude_quota_oauth.jsonl", ADAPTER_CLAUDE, 0, 1000, 0, 50, 0.00375, "claude-sonnet-5", "",
     REPORT_UNKNOWN, .stop = "quota", .reset = "2026-11-16T13:31:13Z", .record = true},
    {"claude_quota_key.jsonl", ADAPTER_CLAUDE, 0, 1000, 0, 50, 0.00625, OPUS "[1m]", "",
     REPORT_UNKNOWN, .stop = "quota", .record = true},
    {"claude_e429key.jsonl", ADAPTER_CLAUDE, 0, 1000, 0, 50, 0.00625, OPUS "[1m]", "",
     REPORT_UNKNOWN, .stop = "quota", .record = true},
    {"claude_credit.jsonl", ADAPTER_CLAUDE, 0, 1000, 0, 50, 0.00625, OPUS "[1m]", "", ERROR,
     .error = "Credit balance is too low", .stop = "quota", .record = true},
    {"claude_e529.jsonl", ADAPTER_CLAUDE, 0, 1000, 0, 50, 0.00625, OPUS "[1m]", "", ERROR,
     .error = "API Error: 529 Overloaded.", .overloaded = true},
    {"claude_unreachable.jsonl", ADAPTER_CLAUDE, 0, 0, 0, 0, 0, OPUS "[1m]", "", ERROR,
     .error = "API Error: Unable to connect to API (ConnectionRefused)", .overloaded = true},
    {"claude_e401.jsonl", ADAPTER_CLAUDE, 0, 0, 0, 0, 0, OPUS "[1m]", "", ERROR,
     .error = "The provider refused the agent's login; log in again", .stop = "login_failed"},

    /* Without its rollout file: a turn is the whole work, and neither model nor cost is printed.
       Request n has 1000 + 900 n tokens of input, 400 n of them from the cache. */
    {"codex_ok.jsonl", ADAPTER_CODEX, 1, 9400, 2400, 260, 0, "",
     "command_execution command_execution file_change", DONE, .summary = "The answer is 42 now."},
    {"codex_ok2.jsonl", ADAPTER_CODEX, 1, 9400, 2400, 260, 0, "", "", DONE,
     .summary = "The answer is 42 now."},
    {"codex_ok_codemode.jsonl", ADAPTER_CODEX, 1, 9400, 2400, 260, 0, "",
     "command_execution command_execution command_execution", DONE,
     .summary = "The answer is 42 now."},
    {"codex_twotools.jsonl", ADAPTER_CODEX, 1, 5700, 1200, 180, 0, "",
     "command_execution command_execution file_change command_execution", DONE,
     .summary = "Both done."},
    {"codex_toolerror.jsonl", ADAPTER_CODEX, 1, 5700, 1200, 180, 0, "",
     "command_execution command_execution", DONE, .summary = "Recovered and done.", .failed = "3"},
    {"codex_thinking.jsonl", ADAPTER_CODEX, 1, 2900, 400, 110, 0, "", "command_execution", DONE,
     .summary = "Done."},
    {"codex_todo.jsonl", ADAPTER_CODEX, 1, 5700, 1200, 180, 0, "", "command_execution", DONE,
     .summary = "Done."},
    {"codex_killed_term.jsonl", ADAPTER_CODEX, 0, 0, 0, 0, 0, "", "command_execution",
     REPORT_UNKNOWN, .summary = NULL},
    {"codex_unreachable.jsonl", ADAPTER_CODEX, 0, 0, 0, 0, 0, "", "", REPORT_UNKNOWN,
     .summary = NULL},
    {"codex_quota.jsonl", ADAPTER_CODEX, 0, 0, 0, 0, 0, "", "", ERROR,
     .error = "You\u2019ve hit your usage limit.", .stop = "quota", .reset = "2026-11-16T13:33:00Z",
     .record = true},
    {"codex_e429.jsonl", ADAPTER_CODEX, 0, 0, 0, 0, 0, "", "", ERROR,
     .error = "exceeded retry limit, last status: 429", .stop = "quota", .record = true},
    {"codex_e400credit.jsonl", ADAPTER_CODEX, 0, 0, 0, 0, 0, "", "", ERROR,
     .error = "{\"error\":{\"type\":\"invalid_request_error\"", .stop = "quota", .record = true},
    {"codex_e500.jsonl", ADAPTER_CODEX, 0, 0, 0, 0, 0, "", "", ERROR,
     .error = "We\u2019re currently experiencing high demand", .overloaded = true},
    {"codex_e529.jsonl", ADAPTER_CODEX, 0, 0, 0, 0, 0, "", "", ERROR,
     .error = "unexpected status 529", .overloaded = true},
    {"codex_e401.jsonl", ADAPTER_CODEX, 0, 0, 0, 0, 0, "", "", ERROR,
     .error = "The provider refused the agent's login; log in again", .stop = "login_failed"},

    /* Its cost is its own: 3, 0.3 and 15 USD. */
    {"opencode_ok.jsonl", ADAPTER_OPENCODE, 4, 9400, 2400, 260, 0.02562, "", "bash bash bash", DONE,
     .summary = "The answer is 42 now.", .failed = "3"},
    {"opencode_todo.jsonl", ADAPTER_OPENCODE, 1, 1000, 0, 50, 0.00375, "", "todowrite",
     REPORT_UNKNOWN, .summary = NULL},
    {"opencode_e401.jsonl", ADAPTER_OPENCODE, 0, 0, 0, 0, 0, "", "", ERROR,
     .error = "The provider refused the agent's login; log in again", .stop = "login_failed"},
    {"opencode_credit.jsonl", ADAPTER_OPENCODE, 0, 0, 0, 0, 0, "", "", ERROR,
     .error = "Your credit balance is too low", .stop = "quota", .record = true},
    {"opencode_e429.jsonl", ADAPTER_OPENCODE, 0, 0, 0, 0, 0, "", "", ERROR,
     .error = "This request would exceed your account's rate limit.", .stop = "quota",
     .record = true},

    /* With 7 tokens of thoughts in each of its four requests, at the list price. */
    {"gemini_ok.jsonl", ADAPTER_GEMINI, 4, 9400, 2400, 288, 0.01193, "gemini-2.5-pro",
     "run_shell_command run_shell_command write_file", DONE, .summary = "The answer is 42 now."},
    {"gemini_badkey.jsonl", ADAPTER_GEMINI, 0, 0, 0, 0, 0, "gemini-2.5-pro", "", ERROR,
     .error = "The provider refused the agent's login; log in again", .stop = "login_failed"},
    {"gemini_quota.jsonl", ADAPTER_GEMINI, 0, 0, 0, 0, 0, "gemini-2.5-pro", "", ERROR,
     .error = "[API Error: You have exhausted your daily quota", .stop = "quota", .record = true},
    {"gemini_overloaded.jsonl", ADAPTER_GEMINI, 0, 0, 0, 0, 0, "gemini-2.5-pro", "", ERROR,
     .error = "[API Error: The model is overloaded.", .overloaded = true},

    /* No tokens are printed. */
    {"copilot_ok.jsonl", ADAPTER_COPILOT, 4, 0, 0, 0, 0, "claude-sonnet-4-5", "bash bash bash",
     DONE, .summary = "The answer is 42 now.", .failed = "3"},
    {"copilot_e529.jsonl", ADAPTER_COPILOT, 0, 0, 0, 0, 0, "claude-sonnet-4-5", "", ERROR,
     .error = "Failed to get response from the AI model", .overloaded = true},
    {"copilot_e401.jsonl", ADAPTER_COPILOT, 0, 0, 0, 0, 0, "claude-sonnet-4-5", "", ERROR,
     .error = "The provider refused the agent's login; log in again", .stop = "login_failed"},
    {"copilot_e429.jsonl", ADAPTER_COPILOT, 0, 0, 0, 0, 0, "claude-sonnet-4-5", "", ERROR,
     .error = "Failed to get response from the AI model", .stop = "quota", .record = true},

    {"cursor_documented.jsonl", ADAPTER_CURSOR, 3, 2300, 800, 90, 0, "Claude 4 Sonnet",
     "read shell write", DONE, .summary = "I look first.The answer is 42 now.", .failed = "3"},
    {"goose_documented.jsonl", ADAPTER_GOOSE, 3, 0, 0, 0, 0, "",
     "developer__shell developer__text_editor", DONE, .summary = "It cannot be written.",
     .failed = "-"},
    {"goose_error_documented.jsonl", ADAPTER_GOOSE, 0, 0, 0, 0, 0, "", "", ERROR,
     .error = "Server error", .overloaded = true},
    {"amp_documented.jsonl", ADAPTER_AMP, 2, 25683, 25199, 66, 0, "", "create_file", DONE,
     .summary = "The answer is 42 now."},
    {"aider_documented.txt", ADAPTER_TEXT, 2, 14300, 8200, 1740, 0.03, "", "", REPORT_UNKNOWN,
     .summary = NULL},
};

static const char *or_empty(const char *text)
{
    return text != NULL ? text : "";
}

START_TEST(a_recording_has_its_true_figures)
{
    const struct recording *want = &recordings[_i];
    int64_t reset_us = 0;
    transcript_kit_begin(&lab, want->adapter);
    transcript_kit_play(&lab, want->name);
    const struct usage *usage = &lab.transcript.usage;
    ck_assert_int_eq(usage->turns, want->turns);
    ck_assert_int_eq(usage->input_tokens, want->input);
    ck_assert_int_eq(usage->cached_input_tokens, want->cached);
    ck_assert_int_eq(usage->output_tokens, want->output);
    ck_assert_double_eq_tol(usage->cost_usd, want->cost, 1e-9);
    ck_assert_str_eq(usage->model, want->model);
    ck_assert_int_eq(lab.transcript.report, want->report);
    ck_assert_str_eq(lab.transcript.summary, or_empty(want->summary));
    ck_assert_msg(text_starts(lab.transcript.error, or_empty(want->error)) &&
                      text_empty(lab.transcript.error) == text_empty(want->error),
                  "%s", lab.transcript.error);
    ck_assert_pstr_eq(lab.transcript.stop, want->stop);
    ck_assert_int_eq(lab.transcript.overloaded, want->overloaded);
    ck_assert_int_eq(lab.transcript.quota.rejected, want->record);
    ck_assert(want->reset == NULL || time_parse(want->reset, &reset_us));
    ck_assert_int_eq(lab.transcript.quota.resets_us, reset_us);
    struct js *events = transcript_kit_heard(&lab);
    ck_assert_str_eq(members(events, "agent.tool.call.started", "name"), want->tools);
    ck_assert_str_eq(members(events, "agent.tool.call.failed", "exitCode"), or_empty(want->failed));
    js_free(events);
}
END_TEST

/* ---- those of make test-agents ---- */

/* When the process began whose lines were recorded: the session may be older. */
static int64_t begun_of(const char *lines)
{
    struct str rest = str_of(lines), line;
    int64_t begun_us = 0;
    while (str_take_line(&rest, &line)) {
        CLEANUP(js_freep) struct js *object = transcript_parse(line);
        if (text_same(js_get_str(object, "type", ""), "turn_context"))
            ck_assert(time_parse(js_get_str(object, "timestamp", ""), &begun_us));
    }
    return begun_us;
}

/* Codex notes its requests in a file: it is put where Codex has it. */
static void place_rollout(struct rollout *rollout, const char *file, const char *session)
{
    struct arena *arena = &lab.kit.arena;
    const char *day = arena_printf(arena, "%s/.codex/sessions/2026/11/17", rollout->home);
    const char *path = arena_printf(arena, "%s/rollout-x-%s.jsonl", day, session);
    const char *lines = transcript_kit_load(&lab,
                                            arena_printf(arena, "real/%s.rollout.jsonl", file));
    rollout->begun_us = begun_of(lines);
    ck_assert_int_eq(dir_make(day, 0700, NULL), RC_OK);
    ck_assert_int_eq(file_write_new(path, lines, strlen(lines), 0600, NULL), RC_OK);
}

static void play_real(const char *file, const char *session, bool has_rollout)
{
    struct childenv env = {.count = 0};
    struct rollout rollout;
    const char *home = arena_printf(&lab.kit.arena, "%s/%s", lab.kit.dir, file);
    rollout_init(&rollout, &lab.transcript, &env, home);
    if (has_rollout)
        place_rollout(&rollout, file, session);
    transcript_kit_play(&lab, arena_printf(&lab.kit.arena, "real/%s.jsonl", file));
    rollout_finish(&rollout);
    rollout_release(&rollout);
}

static void check_end(const char *end, const char *file)
{
    const struct transcript *transcript = &lab.transcript;
    const char *stop = text_same(end, "quota")   ? CUT_QUOTA
                       : text_same(end, "login") ? CUT_LOGIN
                                                 : NULL;
    if (text_same(end, "success"))
        ck_assert_msg(transcript->report == REPORT_SUCCESS, "%s", file);
    else
        ck_assert_msg(transcript->report != REPORT_SUCCESS, "%s", file);
    if (!text_same(end, "error"))
        ck_assert_msg(text_same(transcript->stop, stop), "%s: %s", file, transcript->error);
    ck_assert_msg(transcript->overloaded == text_same(end, "overloaded"), "%s", file);
}

START_TEST(what_the_real_programs_printed_last_has_its_true_figures)
{
    static const struct {
        const char *name;
        enum adapter adapter;
    } adapters[] = {{"claude", ADAPTER_CLAUDE},
                    {"codex", ADAPTER_CODEX},
                    {"gemini", ADAPTER_GEMINI},
                    {"opencode", ADAPTER_OPENCODE}};
    struct str rest = str_of(transcript_kit_load(&lab, "real/figures.jsonl")), line;
    while (str_take_line(&rest, &line)) {
        CLEANUP(js_freep) struct js *want = transcript_parse(line);
        const char *file = js_get_str(want, "file", "?"), *name = js_get_str(want, "adapter", "?");
        enum adapter adapter = ADAPTER_NONE;
        for (size_t i = 0; i < COUNT_OF(adapters); i++)
            adapter = text_same(adapters[i].name, name) ? adapters[i].adapter : adapter;
        ck_assert_msg(adapter != ADAPTER_NONE, "%s", name);
        transcript_kit_begin(&lab, adapter);
        play_real(file, js_get_str(want, "session", ""), adapter == ADAPTER_CODEX);
        const struct usage *usage = &lab.transcript.usage;
        ck_assert_msg(usage->turns == js_get_int(want, "turns", -1) &&
                          usage->input_tokens == js_get_int(want, "inputTokens", -1) &&
                          usage->cached_input_tokens == js_get_int(want, "cachedInputTokens", -1) &&
                          usage->output_tokens == js_get_int(want, "outputTokens", -1),
                      "%s: %lld turns, %lld, %lld, %lld", file, (long long)usage->turns,
                      (long long)usage->input_tokens, (long long)usage->cached_input_tokens,
                      (long long)usage->output_tokens);
        ck_assert_msg(fabs(usage->cost_usd - js_num(js_get(want, "costUsd"), -1)) < 1e-6,
                      "%s: %f USD", file, usage->cost_usd);
        ck_assert_msg(lab.transcript.calls == (int64_t)js_count(js_get(want, "tools")), "%s", file);
        ck_assert_msg(text_same(lab.transcript.session_id, js_get_str(want, "session", "")), "%s",
                      file);
        check_end(js_get_str(want, "end", ""), file);
    }
}
END_TEST

/* ---- while it works ---- */

/* The same session with parts of messages: the cost of every answer is known when it ends. */
START_TEST(a_budget_stops_claude_while_it_works)
{
    transcript_kit_begin(&lab, ADAPTER_CLAUDE);
    lab.transcript.limits.max_budget_usd = 0.02;
    transcript_kit_play(&lab, "claude_partial.jsonl");
    ck_assert_pstr_eq(lab.transcript.stop, CUT_BUDGET_LIMIT);
    /* The third request is too much by its input alone; the result then has the whole cost. */
    ck_assert_int_eq(lab.transcript.usage.turns, 3);
    ck_assert_double_eq_tol(lab.transcript.usage.cost_usd, 0.04895, 1e-9);
    ck_assert_str_eq(lab.transcript.summary, "");
    ck_assert_int_eq(lab.transcript.report, REPORT_UNKNOWN);
}
END_TEST

START_TEST(parts_of_a_message_have_the_true_output)
{
    transcript_kit_begin(&lab, ADAPTER_CLAUDE);
    struct str rest = str_of(transcript_kit_load(&lab, "claude_partial.jsonl")), line;
    while (str_take_line(&rest, &line)) {
        if (memmem(line.at, line.len, "\"type\":\"result\"", 15) == NULL)
            transcript_line(&lab.transcript, line);
    }
    /* Without the title, which only the result counts: 7000 x 5, 2400 x 0.5, 260 x 25 USD. */
    ck_assert_int_eq(lab.transcript.usage.output_tokens, 260);
    ck_assert_double_eq_tol(lab.transcript.usage.cost_usd, 0.0427, 1e-9);
}
END_TEST

static const char *const deny_task[] = {"Task", NULL};
static const char *const deny_agent[] = {"Agent", NULL};
static const char *const deny_write[] = {"Write", NULL};
static const char *const deny_bash[] = {"bash", NULL};
static const char *const deny_others[] = {"Tas", "TaskCreate", "Agents", NULL};

START_TEST(a_denied_tool_is_denied_by_any_of_its_names_and_before_its_input)
{
    static const struct {
        const char *name;
        enum adapter adapter;
        const char *const *denied;
        const char *stop;
        int64_t calls;
    } rows[] = {
        {"claude_subagent.jsonl", ADAPTER_CLAUDE, deny_task, CUT_TOOL_DENIED, 1},
        {"claude_subagent.jsonl", ADAPTER_CLAUDE, deny_agent, CUT_TOOL_DENIED, 1},
        {"claude_subagent.jsonl", ADAPTER_CLAUDE, deny_others, NULL, 2},
        {"claude_ok.jsonl", ADAPTER_CLAUDE, deny_write, CUT_TOOL_DENIED, 3},
        /* Its name comes before the line that may be too long to be read. */
        {"claude_partial.jsonl", ADAPTER_CLAUDE, deny_write, CUT_TOOL_DENIED, 2},
        {"copilot_ok.jsonl", ADAPTER_COPILOT, deny_bash, CUT_TOOL_DENIED, 0},
        {"opencode_ok.jsonl", ADAPTER_OPENCODE, deny_bash, CUT_TOOL_DENIED, 1},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        transcript_kit_begin(&lab, rows[i].adapter);
        lab.transcript.limits.tools_denied = rows[i].denied;
        transcript_kit_play(&lab, rows[i].name);
        ck_assert_msg(text_same(lab.transcript.stop, rows[i].stop), "row %zu", i);
        ck_assert_int_eq(lab.transcript.calls, rows[i].calls);
    }
}
END_TEST

/* ---- what is told ---- */

static const struct {
    const char *name;
    enum adapter adapter;
    const char *type, *key, *want;
} told[] = {
    {"claude_e529.jsonl", ADAPTER_CLAUDE, "agent.step.recorded", "text",
     "retrying 1/2 after 529 overloaded, in 1 s retrying 2/2 after 529 overloaded, in 2 s "
     "API Error: 529 Overloaded. This is a server-side issue, usually temporary \u2014 try again "
     "in "
     "a moment. If it persists, check your inference gateway (127.0.0.1:18911)."},
    {"claude_e401.jsonl", ADAPTER_CLAUDE, "agent.step.recorded", "text",
     "retrying 1/10 after 401 authentication_failed, in 1 s "
     "retrying 2/10 after 401 authentication_failed, in 2 s "
     "retrying 3/10 after 401 authentication_failed, in 3 s"},
    {"claude_unreachable.jsonl", ADAPTER_CLAUDE, "agent.step.recorded", "text",
     "retrying 1/2 after an unknown error, in 1 s retrying 2/2 after an unknown error, in 2 s "
     "API Error: Unable to connect to API (ConnectionRefused)"},
    {"codex_e529.jsonl", ADAPTER_CODEX, "agent.step.recorded", "text",
     "retrying 1/5 after unexpected status 529 <unknown status code>: Overloaded, url: "
     "http://127.0.0.1:18911/v1/responses "
     "retrying 2/5 after unexpected status 529 <unknown status code>: Overloaded, url: "
     "http://127.0.0.1:18911/v1/responses "
     "retrying 3/5 after unexpected status 529 <unknown status code>: Overloaded, url: "
     "http://127.0.0.1:18911/v1/responses "
     "retrying 4/5 after unexpected status 529 <unknown status code>: Overloaded, url: "
     "http://127.0.0.1:18911/v1/responses "
     "retrying 5/5 after unexpected status 529 <unknown status code>: Overloaded, url: "
     "http://127.0.0.1:18911/v1/responses"},
    {"codex_unreachable.jsonl", ADAPTER_CODEX, "agent.step.recorded", "text",
     "retrying after Connection failed: error sending request"},
    {"copilot_e529.jsonl", ADAPTER_COPILOT, "agent.step.recorded", "text",
     "retrying after api_error"},
    {"claude_warning.jsonl", ADAPTER_CLAUDE, "agent.account.usage", "status", "allowed_warning"},
    {"claude_quota_oauth.jsonl", ADAPTER_CLAUDE, "agent.account.usage", "resetsAt",
     "2026-11-16T13:31:13Z"},
    {"claude_tasks.jsonl", ADAPTER_CLAUDE, "agent.plan.created", "text", "[ ] look\n"},
    {"claude_tasks.jsonl", ADAPTER_CLAUDE, "agent.plan.updated", "text",
     "[ ] look\n[ ] write\n [>] look\n[ ] write\n [x] look\n[ ] write\n [x] look\n"},
    {"claude_todo_old.jsonl", ADAPTER_CLAUDE, "agent.plan.created", "text",
     "[x] look\n[>] write\n[ ] test\n"},
    {"opencode_todo.jsonl", ADAPTER_OPENCODE, "agent.plan.created", "text",
     "[x] look\n[>] write\n"},
    {"claude_ok.jsonl", ADAPTER_CLAUDE, "agent.tool.call.completed", "summary",
     "cat answer.txt; ls /srv/agents/x, 2 lines /srv/agents/x, +1 -1"},
    {"codex_ok.jsonl", ADAPTER_CODEX, "agent.tool.call.completed", "summary",
     "/bin/bash -lc 'cat answer.txt; ls' /bin/bash -lc 'cat answer.txt' add /srv/agents/x"},
    {"claude_toolerror.jsonl", ADAPTER_CLAUDE, "agent.tool.call.failed", "error",
     "Exit code 3\ncat: /nonexistent: No such file or directory"},
    {"codex_toolerror.jsonl", ADAPTER_CODEX, "agent.tool.call.failed", "error",
     "cat: /nonexistent: No such file or directory\n"},
    {"cursor_documented.jsonl", ADAPTER_CURSOR, "agent.tool.call.failed", "error",
     "cat: /nonexistent: No such file or directory\n"},
    {"goose_documented.jsonl", ADAPTER_GOOSE, "agent.step.recorded", "text",
     "I look first. It cannot be written."},
    {"gemini_ok.jsonl", ADAPTER_GEMINI, "agent.step.recorded", "text",
     "I look first. The answer is 42 now."},
    {"claude_said.jsonl", ADAPTER_CLAUDE, "agent.session.started", "sessionId",
     "3b390d18-421b-4a1a-b915-89f4d215e73c"},
    {"copilot_ok.jsonl", ADAPTER_COPILOT, "agent.session.started", "sessionId",
     "9a895264-84d5-4101-ad4c-37b44d0e47af"},
    {"codex_ok.jsonl", ADAPTER_CODEX, "agent.session.started", "sessionId",
     "01a1e457-fe65-76b1-bc44-80f2cca08c9d"},
};

START_TEST(a_recording_is_told)
{
    transcript_kit_begin(&lab, told[_i].adapter);
    transcript_kit_play(&lab, told[_i].name);
    struct js *events = transcript_kit_heard(&lab);
    ck_assert_str_eq(members(events, told[_i].type, told[_i].key), told[_i].want);
    js_free(events);
}
END_TEST

START_TEST(words_about_a_limit_are_no_record_where_the_format_has_a_status)
{
    static const struct {
        enum adapter adapter;
        const char *line;
        bool record;
    } rows[] = {
        {ADAPTER_CLAUDE,
         "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":true,\"result\":"
         "\"Claude AI usage limit reached|1794835873\"}",
         false},
        {ADAPTER_CLAUDE,
         "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":true,"
         "\"api_error_status\":429,\"result\":\"API Error: 429\"}",
         true},
        {ADAPTER_OPENCODE,
         "{\"type\":\"error\",\"error\":{\"data\":{\"message\":\"rate limit exceeded\"}}}", false},
        {ADAPTER_CODEX, "{\"type\":\"error\",\"message\":\"You've hit your usage limit.\"}", true},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        transcript_kit_begin(&lab, rows[i].adapter);
        transcript_line(&lab.transcript, str_of(rows[i].line));
        ck_assert_pstr_eq(lab.transcript.stop, CUT_QUOTA);
        ck_assert_msg(lab.transcript.quota.rejected == rows[i].record, "row %zu", i);
    }
}
END_TEST

START_TEST(a_long_output_of_a_failed_command_is_told_by_its_last_lines)
{
    CLEANUP(buf_release) struct buf line;
    buf_init(&line, 100000);
    transcript_kit_begin(&lab, ADAPTER_CODEX);
    buf_adds(&line, "{\"type\":\"item.completed\",\"item\":{\"id\":\"i\",\"type\":"
                    "\"command_execution\",\"command\":\"make\",\"exit_code\":2,\"status\":"
                    "\"failed\",\"aggregated_output\":\"");
    for (int i = 0; i < 2000; i++)
        buf_addf(&line, "line %d\\n", i);
    buf_adds(&line, "make: *** [all] Error 2\\n\"}}");
    transcript_line(&lab.transcript, buf_str(&line));
    struct js *events = transcript_kit_heard(&lab);
    const char *error = members(events, "agent.tool.call.failed", "error");
    ck_assert(text_starts(error, "line 19"));
    ck_assert(text_ends(error, "line 1999\nmake: *** [all] Error 2\n"));
    ck_assert_str_eq(members(events, "agent.tool.call.failed", "exitCode"), "2");
    js_free(events);
}
END_TEST

Suite *recordings_suite(void)
{
    Suite *suite = suite_create("recordings");
    TCase *tests = tcase_create("recordings");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 30);
    tcase_add_loop_test(tests, a_recording_has_its_true_figures, 0, (int)COUNT_OF(recordings));
    tcase_add_test(tests, what_the_real_programs_printed_last_has_its_true_figures);
    tcase_add_test(tests, a_budget_stops_claude_while_it_works);
    tcase_add_test(tests, parts_of_a_message_have_the_true_output);
    tcase_add_test(tests, a_denied_tool_is_denied_by_any_of_its_names_and_before_its_input);
    tcase_add_loop_test(tests, a_recording_is_told, 0, (int)COUNT_OF(told));
    tcase_add_test(tests, words_about_a_limit_are_no_record_where_the_format_has_a_status);
    tcase_add_test(tests, a_long_output_of_a_failed_command_is_told_by_its_last_lines);
    suite_add_tcase(suite, tests);
    return suite;
}
