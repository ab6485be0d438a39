/*
 * test_adapter.c - lines of an agent become events, sums and a claim; batches stay bounded.
 */
#include "base/clock.h"
#include "tests/unit/work_kit.h"
#include "work/agent/adapter.h"
#include "work/job/progress.h"
#include <check.h>
#include <stdio.h>
#include <string.h>

static struct kit kit;
static struct progress progress;
static struct transcript transcript;

static void setup(void)
{
    kit_open(&kit);
    progress_init(&progress, &kit.port.port, &(struct port_ref){.epoch = 1}, &kit.stop);
    transcript_init(&transcript, ADAPTER_NDJSON, &progress);
}

static void teardown(void)
{
    progress_release(&progress);
    kit_close(&kit);
}

static void report(const char *line)
{
    transcript_line(&transcript, str_of(line));
}

static const struct {
    const char *line;
    const char *event; /* What the server hears; NULL: nothing. */
} lines[] = {
    {"{\"type\":\"tool\",\"name\":\"edit\",\"status\":\"started\",\"summary\":\"a.c\"}",
     "{\"type\":\"agent.tool.call.started\",\"data\":{\"name\":\"edit\",\"summary\":\"a.c\","
     "\"status\":\"started\"}}"},
    {"{\"type\":\"tool\",\"name\":\"edit\",\"status\":\"completed\"}",
     "{\"type\":\"agent.tool.call.completed\",\"data\":{\"name\":\"edit\",\"summary\":null,"
     "\"status\":\"completed\"}}"},
    {"{\"type\":\"tool\",\"status\":\"failed\"}\r",
     "{\"type\":\"agent.tool.call.failed\",\"data\":{\"name\":\"tool\",\"summary\":null,"
     "\"status\":\"failed\"}}"},
    {"{\"type\":\"message\",\"text\":\"thinking\"}",
     "{\"type\":\"agent.step.recorded\",\"data\":{\"text\":\"thinking\"}}"},
    {"{\"type\":\"turn\",\"inputTokens\":10,\"outputTokens\":5,\"costUsd\":0.25,\"model\":\"m\"}",
     "{\"type\":\"agent.model.turn.completed\",\"data\":{\"turns\":1,\"inputTokens\":10,"
     "\"outputTokens\":5,\"costUsd\":0.25,\"model\":\"m\"}}"},
    {"{\"type\":\"tool\",\"name\":\"edit\",\"status\":\"dreaming\"}", NULL},
    {"{\"type\":\"result\",\"status\":\"success\"}", NULL},
    {"{\"type\":\"unknown\"}", NULL},
    {"{\"type\":7}", NULL},
    {"{\"no\":\"type\"}", NULL},
    {"{\"type\":\"message\",\"text\":", NULL},
    {"{\"type\":\"turn\"} trailing", NULL},
    {"[1,2]", NULL},
    {"plain words", NULL},
    {"", NULL},
    {"{\"type\":\"message\",\"text\":\"bad utf-8 \xff\"}",
     "{\"type\":\"agent.step.recorded\",\"data\":{\"text\":\"bad utf-8 \xef\xbf\xbd\"}}"},
};

START_TEST(known_lines_become_events_and_others_do_not)
{
    report(lines[_i].line);
    progress_flush(&progress);
    if (lines[_i].event != NULL) {
        char *want = arena_printf(&kit.arena, "[%s]", lines[_i].event);
        ck_assert_str_eq(buf_text(&kit.port.events), want);
    } else {
        ck_assert_int_eq(kit.port.progress_calls, 0);
    }
}
END_TEST

START_TEST(turns_add_up)
{
    report("{\"type\":\"turn\",\"inputTokens\":10,\"outputTokens\":5,\"costUsd\":0.25,\"model\":"
           "\"a\"}");
    report(
        "{\"type\":\"turn\",\"inputTokens\":1,\"outputTokens\":2,\"costUsd\":1,\"model\":\"b\"}");
    report("{\"type\":\"turn\",\"inputTokens\":-5,\"outputTokens\":\"x\",\"costUsd\":-3}");
    ck_assert_int_eq(transcript.usage.turns, 3);
    ck_assert_int_eq(transcript.usage.input_tokens, 11);
    ck_assert_int_eq(transcript.usage.output_tokens, 7);
    ck_assert_double_eq(transcript.usage.cost_usd, 1.25);
    ck_assert_str_eq(transcript.usage.model, "b");
    progress_flush(&progress);
    ck_assert_ptr_nonnull(strstr(buf_text(&kit.port.events), "\"turns\":3"));
    ck_assert_ptr_null(strstr(buf_text(&kit.port.events), "\"turns\":1"));
}
END_TEST

START_TEST(the_last_result_counts)
{
    report("{\"type\":\"result\",\"status\":\"error\",\"error\":\"broken\"}");
    ck_assert_int_eq(transcript.report, REPORT_ERROR);
    ck_assert_str_eq(transcript.error, "broken");
    report("{\"type\":\"result\",\"status\":\"success\",\"summary\":\"done\"}");
    ck_assert_int_eq(transcript.report, REPORT_SUCCESS);
    ck_assert_str_eq(transcript.summary, "done");
    ck_assert_str_eq(transcript.error, "");
    report("{\"type\":\"result\",\"status\":\"perhaps\"}");
    ck_assert_int_eq(transcript.report, REPORT_SUCCESS);
}
END_TEST

START_TEST(adapter_none_hears_nothing)
{
    transcript_init(&transcript, ADAPTER_NONE, &progress);
    report("{\"type\":\"result\",\"status\":\"success\"}");
    report("{\"type\":\"turn\"}");
    ck_assert_int_eq(transcript.report, REPORT_UNKNOWN);
    ck_assert_int_eq(transcript.usage.turns, 0);
}
END_TEST

START_TEST(long_texts_are_cut_at_whole_characters)
{
    CLEANUP(buf_release) struct buf line;
    buf_init(&line, 100000);
    buf_adds(&line, "{\"type\":\"message\",\"text\":\"");
    for (int i = 0; i < 5000; i++)
        buf_adds(&line, i % 2 ? "\xc3\xa4" : "\\n");
    buf_adds(&line, "\"}");
    report(buf_text(&line));
    progress_flush(&progress); /* The port checks that it is JSON. */
    ck_assert_int_eq(kit.port.progress_calls, 1);
    ck_assert_uint_lt(kit.port.events.len, 5000);
}
END_TEST

START_TEST(a_flood_is_sent_in_bounded_batches_and_counted)
{
    for (int i = 0; i < 5000; i++)
        report("{\"type\":\"message\",\"text\":\"spam\"}");
    (void)progress_tick(&progress, clock_mono_us());
    ck_assert_int_eq(kit.port.progress_calls, 1);
    struct js *tree = NULL;
    ck_assert_int_eq(js_parse(buf_text(&kit.port.events), kit.port.events.len, &tree, NULL), RC_OK);
    ck_assert_uint_eq(js_count(tree), PROGRESS_EVENTS_MAX - 1);
    const struct js *last = js_at(tree, js_count(tree) - 1);
    ck_assert_str_eq(js_str(js_path(last, "data.text"), ""),
                     "4902 more events came too fast to be told.");
    js_free(tree);
    report("{\"type\":\"message\",\"text\":\"spam\"}");
    (void)progress_tick(&progress, clock_mono_us());
    ck_assert_int_eq(kit.port.progress_calls, 1); /* Too soon. */
    (void)progress_tick(&progress, clock_mono_us() + PROGRESS_EVERY_MS * US_PER_MS);
    ck_assert_int_eq(kit.port.progress_calls, 2);
    ck_assert_int_eq(progress_tick(&progress, clock_mono_us()), INT64_MAX);
}
END_TEST

START_TEST(large_events_fill_a_batch_by_bytes)
{
    char text[3000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    const char *line = arena_printf(&kit.arena, "{\"type\":\"message\",\"text\":\"%s\"}", text);
    for (int i = 0; i < 50; i++)
        report(line);
    progress_flush(&progress);
    ck_assert_uint_le(kit.port.events.len, PROGRESS_BYTES_MAX + 2);
    ck_assert_ptr_nonnull(strstr(buf_text(&kit.port.events), "more events"));
}
END_TEST

START_TEST(a_busy_server_gets_the_same_events_later)
{
    kit.port.refuse = RC_BUSY;
    kit.port.refuse_times = 2;
    report("{\"type\":\"message\",\"text\":\"once\"}");
    report("{\"type\":\"turn\"}");
    for (int i = 0; i < 3; i++)
        (void)progress_tick(&progress, clock_mono_us() + i * PROGRESS_RETRY_MS * US_PER_MS);
    ck_assert_int_eq(kit.port.progress_calls, 1);
    struct js *tree = NULL;
    ck_assert_int_eq(js_parse(buf_text(&kit.port.events), kit.port.events.len, &tree, NULL), RC_OK);
    ck_assert_uint_eq(js_count(tree), 2);
    js_free(tree);
}
END_TEST

START_TEST(the_server_may_stop_the_agent_through_its_events)
{
    if (_i == 0) {
        kit.port.cancel = true;
    } else {
        kit.port.refuse = RC_STALE;
        kit.port.refuse_times = 1;
    }
    report("{\"type\":\"message\",\"text\":\"x\"}");
    progress_flush(&progress);
    ck_assert_int_eq(stop_asked(&kit.stop), _i == 0 ? STOP_CANCEL : STOP_LOST);
}
END_TEST

/* ---- on the agent's stdin ---- */

START_TEST(a_conversation_is_one_line_for_each_message)
{
    transcript_init(&transcript, ADAPTER_CLAUDE, &progress);
    const struct conversation conversation = {.prompt = "Fix \"it\"\nnow", .cwd = "/w"};
    transcript.ops->begin(&transcript, &conversation);
    transcript.ops->say(&transcript, "and this");
    transcript.ops->interrupt(&transcript);
    ck_assert_str_eq(buf_text(&transcript.input),
                     "{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":[{\"type\":"
                     "\"text\",\"text\":\"Fix \\\"it\\\"\\nnow\"}]}}\n"
                     "{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":[{\"type\":"
                     "\"text\",\"text\":\"and this\"}]}}\n"
                     "{\"type\":\"control_request\",\"request_id\":\"drover-interrupt\","
                     "\"request\":{\"subtype\":\"interrupt\"}}\n");
    transcript_release(&transcript);
}
END_TEST

START_TEST(a_result_ends_the_input_unless_a_message_waits)
{
    static const char result[] = "{\"type\":\"result\",\"subtype\":\"success\",\"result\":\"ok\"}";
    transcript_init(&transcript, ADAPTER_CLAUDE, &progress);
    transcript.ops->say(&transcript, "more");
    report(result);
    ck_assert(!transcript.input_over);
    buf_clear(&transcript.input); /* Written. */
    report(result);
    ck_assert(transcript.input_over);
    transcript_release(&transcript);
}
END_TEST

START_TEST(a_message_that_is_too_long_is_left_out_as_a_whole)
{
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, ADAPTER_INPUT_MAX);
    for (int i = 0; i < ADAPTER_INPUT_MAX / 16 - 1; i++)
        buf_adds(&text, "sixteen letters!");
    transcript_init(&transcript, ADAPTER_CLAUDE, &progress);
    transcript.ops->say(&transcript, "short");
    size_t before = transcript.input.len;
    transcript.ops->say(&transcript, buf_text(&text));
    ck_assert_uint_eq(transcript.input.len, before);
    ck_assert_int_eq(transcript.report, REPORT_ERROR);
    ck_assert(transcript.input_over);
    transcript_release(&transcript);
}
END_TEST

START_TEST(only_a_command_that_asks_for_it_reads_a_conversation)
{
    static const struct {
        enum adapter adapter;
        const char *command[5];
        bool converses;
    } rows[] = {
        {ADAPTER_CLAUDE, {"claude", "-p", "--input-format", "stream-json", NULL}, true},
        {ADAPTER_CLAUDE, {"claude", "-p", "--input-format=stream-json", NULL}, true},
        {ADAPTER_CLAUDE, {"claude", "-p", "--output-format", "stream-json", NULL}, false},
        {ADAPTER_CLAUDE, {"claude", "-p", "--input-format", "text", NULL}, false},
        {ADAPTER_CLAUDE, {"claude", "-p", "--input-format", NULL}, false},
        {ADAPTER_CLAUDE, {NULL}, false},
        {ADAPTER_AMP, {"amp", "-x", "--stream-json", NULL}, false},
        {ADAPTER_AMP, {"amp", "-x", "--stream-json", "--stream-json-input", NULL}, true},
        {ADAPTER_CODEX, {"codex", "exec", "--json", "-", NULL}, false},
        {ADAPTER_NONE, {"sh", NULL}, false},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        transcript_init(&transcript, rows[i].adapter, &progress);
        ck_assert_msg(transcript_converses(&transcript, rows[i].command) == rows[i].converses,
                      "row %zu", i);
        transcript_release(&transcript);
    }
}
END_TEST

Suite *adapter_suite(void)
{
    Suite *suite = suite_create("adapter");
    TCase *tests = tcase_create("adapter");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 30);
    tcase_add_loop_test(tests, known_lines_become_events_and_others_do_not, 0,
                        (int)COUNT_OF(lines));
    tcase_add_test(tests, turns_add_up);
    tcase_add_test(tests, the_last_result_counts);
    tcase_add_test(tests, adapter_none_hears_nothing);
    tcase_add_test(tests, long_texts_are_cut_at_whole_characters);
    tcase_add_test(tests, a_flood_is_sent_in_bounded_batches_and_counted);
    tcase_add_test(tests, large_events_fill_a_batch_by_bytes);
    tcase_add_test(tests, a_busy_server_gets_the_same_events_later);
    tcase_add_test(tests, a_conversation_is_one_line_for_each_message);
    tcase_add_test(tests, a_result_ends_the_input_unless_a_message_waits);
    tcase_add_test(tests, a_message_that_is_too_long_is_left_out_as_a_whole);
    tcase_add_test(tests, only_a_command_that_asks_for_it_reads_a_conversation);
    tcase_add_loop_test(tests, the_server_may_stop_the_agent_through_its_events, 0, 2);
    suite_add_tcase(suite, tests);
    return suite;
}
