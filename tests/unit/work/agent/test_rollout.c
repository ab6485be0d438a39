/*
 * test_rollout.c - the file in which Codex notes its requests: followed while it grows, and never
 * out of its place.
 */
#include "base/fd.h"
#include "tests/unit/work_kit.h"
#include "work/agent/rollout.h"
#include <check.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ID   "01a1ea5f-f50e-7d62-9c35-b3bb6a5c542f"
#define DAY  "/.codex/sessions/2026/11/17"
#define FILE DAY "/rollout-2026-11-17T16-38-39-" ID ".jsonl"

static struct kit kit;
static struct progress progress;
static struct transcript transcript;
static struct rollout rollout;
static struct childenv env;
static const char *home;

static const char *at(const char *path)
{
    return arena_printf(&kit.arena, "%s%s", home, path);
}

/* Every directory of the path below the home, as Codex makes them. */
static void make_dirs(const char *path)
{
    char *copy = arena_strdup(&kit.arena, path);
    for (char *slash = copy + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
        *slash = '\0';
        (void)mkdir(at(copy), 0700);
        *slash = '/';
    }
    ck_assert(mkdir(at(path), 0700) == 0 || file_exists(at(path)));
}

static void begin(enum adapter adapter, const char *started)
{
    transcript_init(&transcript, adapter, &progress);
    rollout_init(&rollout, &transcript, &env, home);
    ck_assert(time_parse(started, &rollout.begun_us));
}

static void setup(void)
{
    kit_open(&kit);
    home = arena_printf(&kit.arena, "%s/home", kit.dir);
    ck_assert_int_eq(mkdir(home, 0700), 0);
    env = (struct childenv){.count = 0};
    progress_init(&progress, &kit.port.port, &(struct port_ref){.epoch = 1}, &kit.stop);
    begin(ADAPTER_CODEX, "2026-11-17T16:38:39Z");
}

static void teardown(void)
{
    rollout_release(&rollout);
    transcript_release(&transcript);
    progress_release(&progress);
    kit_close(&kit);
}

static void started(void)
{
    transcript_line(&transcript, STR("{\"type\":\"thread.started\",\"thread_id\":\"" ID "\"}"));
}

static void look(void)
{
    rollout.next_us = 0;
    (void)rollout_look(&rollout);
}

static const char *fixture(const char *name)
{
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, 1024 * 1024);
    const char *path = arena_printf(&kit.arena, "tests/fixtures/transcripts/%s", name);
    ck_assert_msg(file_read(path, &text, NULL) == RC_OK, "%s", path);
    return arena_strndup(&kit.arena, text.data, text.len);
}

static void append(const char *path, const char *text)
{
    CLEANUP(fd_closep) int fd = open(at(path), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
}

static void check_sums(int64_t turns, int64_t input, int64_t cached, int64_t output)
{
    ck_assert_int_eq(transcript.usage.turns, turns);
    ck_assert_int_eq(transcript.usage.input_tokens, input);
    ck_assert_int_eq(transcript.usage.cached_input_tokens, cached);
    ck_assert_int_eq(transcript.usage.output_tokens, output);
}

START_TEST(requests_count_while_codex_works)
{
    const char *text = fixture("codex_ok.rollout.jsonl");
    ck_assert(time_parse("2026-11-16T12:32:14Z", &rollout.begun_us));
    make_dirs(DAY);
    started();
    look();
    check_sums(0, 0, 0, 0);
    /* Byte by byte, as a slow disk has it. */
    for (const char *byte = text; *byte != '\0'; byte += strlen(byte) < 97 ? strlen(byte) : 97) {
        append(FILE, arena_strndup(&kit.arena, byte, strnlen(byte, 97)));
        look();
    }
    check_sums(4, 9400, 2400, 260);
    ck_assert_str_eq(transcript.usage.model, "gpt-5.5");
    ck_assert_double_eq_tol(transcript.usage.cost_usd, 0.044, 1e-9);
    /* The same as a whole, in the end: it is not added. */
    transcript_line(&transcript,
                    STR("{\"type\":\"turn.completed\",\"usage\":{\"input_tokens\":9400,"
                        "\"cached_input_tokens\":2400,\"output_tokens\":260}}"));
    rollout_finish(&rollout);
    check_sums(4, 9400, 2400, 260);
    ck_assert_int_eq(transcript.report, REPORT_SUCCESS);
}
END_TEST

START_TEST(limits_stop_codex_while_it_works)
{
    make_dirs(DAY);
    append(FILE, fixture("codex_ok.rollout.jsonl"));
    for (int i = 0; i < 2; i++) {
        begin(ADAPTER_CODEX, "2026-11-16T12:32:14Z");
        if (i == 0)
            transcript.limits.max_turns = 3;
        else
            transcript.limits.max_budget_usd = 0.02;
        started();
        look();
        ck_assert_pstr_eq(transcript.stop, i == 0 ? CUT_TURN_LIMIT : CUT_BUDGET_LIMIT);
        rollout_release(&rollout);
    }
}
END_TEST

START_TEST(an_attempt_that_resumes_a_session_counts_its_own_requests)
{
    make_dirs(DAY);
    append(FILE, fixture("codex_resumed.rollout.jsonl"));
    ck_assert(time_parse("2026-11-17T16:38:40.5Z", &rollout.begun_us));
    const char *lines = fixture("codex_resumed.jsonl");
    struct str rest = str_of(lines), line;
    while (str_take_line(&rest, &line))
        transcript_line(&transcript, line);
    rollout_finish(&rollout);
    check_sums(1, 4600, 1600, 90);
    ck_assert_double_eq_tol(transcript.usage.cost_usd, 0.0185, 1e-9);
}
END_TEST

START_TEST(without_the_file_the_whole_turn_counts)
{
    started();
    transcript_line(&transcript, STR("{\"type\":\"turn.completed\",\"usage\":{\"input_tokens\":10,"
                                     "\"cached_input_tokens\":4,\"output_tokens\":2}}"));
    check_sums(1, 10, 4, 2);
    rollout_finish(&rollout);
    check_sums(1, 10, 4, 2);
}
END_TEST

START_TEST(a_file_that_is_found_late_replaces_the_whole_turn)
{
    started();
    transcript_line(&transcript,
                    STR("{\"type\":\"turn.completed\",\"usage\":{\"input_tokens\":9400,"
                        "\"cached_input_tokens\":2400,\"output_tokens\":260}}"));
    check_sums(1, 9400, 2400, 260);
    make_dirs(DAY);
    append(FILE, fixture("codex_ok.rollout.jsonl"));
    ck_assert(time_parse("2026-11-16T12:32:14Z", &rollout.begun_us));
    rollout_finish(&rollout);
    check_sums(4, 9400, 2400, 260);
}
END_TEST

START_TEST(a_file_that_says_nothing_leaves_the_whole_turn_for_the_end)
{
    make_dirs(DAY);
    append(FILE, "{\"type\":\"session_meta\"}\n");
    started();
    transcript_line(&transcript, STR("{\"type\":\"turn.completed\",\"usage\":{\"input_tokens\":10,"
                                     "\"cached_input_tokens\":4,\"output_tokens\":2}}"));
    check_sums(0, 0, 0, 0);
    rollout_finish(&rollout);
    check_sums(1, 10, 4, 2);
}
END_TEST

START_TEST(the_home_of_codex_may_be_elsewhere)
{
    static const char *const homes[] = {"/../account", "/sub/codex"};
    const char *day = arena_printf(&kit.arena, "%s/sessions/2026/11/17", homes[_i]);
    make_dirs(day);
    append(arena_printf(&kit.arena, "%s/rollout-x-" ID ".jsonl", day),
           fixture("codex_ok.rollout.jsonl"));
    env.entries[0] = arena_printf(&kit.arena, "CODEX_HOME=%s%s", _i == 0 ? kit.dir : home,
                                  _i == 0 ? "/account" : homes[_i]);
    env.count = 1;
    ck_assert(time_parse("2026-11-16T12:32:14Z", &rollout.begun_us));
    started();
    look();
    check_sums(4, 9400, 2400, 260);
}
END_TEST

/* ---- an agent that plants things ---- */

static void plant_link(void)
{
    make_dirs("/elsewhere");
    append("/elsewhere/rollout-x-" ID ".jsonl", fixture("codex_ok.rollout.jsonl"));
    make_dirs(DAY);
    ck_assert_int_eq(symlink(at("/elsewhere/rollout-x-" ID ".jsonl"), at(FILE)), 0);
}

static void plant_linked_day(void)
{
    make_dirs("/elsewhere");
    append("/elsewhere/rollout-x-" ID ".jsonl", fixture("codex_ok.rollout.jsonl"));
    make_dirs("/.codex/sessions/2026/11");
    ck_assert_int_eq(symlink(at("/elsewhere"), at(DAY)), 0);
}

static void plant_linked_home(void)
{
    make_dirs("/elsewhere/sessions/2026/11/17");
    append("/elsewhere/sessions/2026/11/17/rollout-x-" ID ".jsonl",
           fixture("codex_ok.rollout.jsonl"));
    ck_assert_int_eq(symlink(at("/elsewhere"), at("/.codex")), 0);
}

static void plant_fifo(void)
{
    make_dirs(DAY);
    ck_assert_int_eq(mkfifo(at(FILE), 0600), 0);
}

static void plant_directory(void)
{
    make_dirs(FILE);
}

static void plant_other_id(void)
{
    make_dirs(DAY);
    append(DAY "/rollout-x-" ID "0.jsonl", fixture("codex_ok.rollout.jsonl"));
}

START_TEST(nothing_planted_is_followed)
{
    static void (*const plants[])(void) = {plant_link, plant_linked_day, plant_linked_home,
                                           plant_fifo, plant_directory,  plant_other_id};
    plants[_i]();
    ck_assert(time_parse("2026-11-16T12:32:14Z", &rollout.begun_us));
    started();
    look();
    rollout_finish(&rollout);
    check_sums(0, 0, 0, 0);
}
END_TEST

START_TEST(an_id_that_is_a_path_is_none)
{
    make_dirs(DAY);
    transcript_line(&transcript, STR("{\"type\":\"thread.started\",\"thread_id\":\"../../x\"}"));
    look();
    ck_assert_int_eq(rollout.searches, 0);
}
END_TEST

START_TEST(odd_lines_and_long_ones_are_skipped)
{
    CLEANUP(buf_release) struct buf big;
    buf_init(&big, ROLLOUT_LINE_MAX * 2);
    buf_adds(&big, "{\"type\":\"event_msg\",\"payload\":{\"type\":\"token_count\",\"x\":\"");
    while (big.len < ROLLOUT_LINE_MAX + 100)
        buf_adds(&big, "yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy");
    buf_adds(&big, "\"}}\n");
    make_dirs(DAY);
    started();
    append(FILE, buf_text(&big));
    append(FILE, "token_count\n\n{\"type\":\"event_msg\",\"payload\":{\"type\":\"token_count\"}}\n"
                 "{\"type\":\"turn_context\",\"payload\":7}\n\"token_count\"\n"
                 "{\"type\":\"event_msg\",\"payload\":{\"type\":\"token_count\",\"info\":"
                 "{\"total_token_usage\":{\"input_tokens\":-5,\"output_tokens\":\"x\"}}}}\n");
    append(FILE,
           "{\"type\":\"event_msg\",\"payload\":{\"type\":\"token_count\",\"info\":"
           "{\"total_token_usage\":{\"input_tokens\":5,\"output_tokens\":3}},"
           "\"rate_limits\":{\"primary\":{\"used_percent\":12.5,\"window_minutes\":300}}}}\n");
    look();
    check_sums(1, 5, 0, 3);
    progress_flush(&progress);
    ck_assert_ptr_nonnull(strstr(buf_text(&kit.port.events), "\"window\":\"five_hour\""));
    ck_assert_ptr_nonnull(strstr(buf_text(&kit.port.events), "\"utilization\":0.125"));
}
END_TEST

START_TEST(other_agents_are_not_looked_at)
{
    rollout_release(&rollout);
    begin(ADAPTER_CLAUDE, "2026-11-17T16:38:39Z");
    ck_assert_int_eq(rollout_look(&rollout), INT64_MAX);
    ck_assert(transcript.requests.look == NULL);
}
END_TEST

START_TEST(it_looks_once_a_second)
{
    int64_t next_us = rollout_look(&rollout);
    ck_assert_int_gt(next_us, clock_mono_us());
    ck_assert_int_eq(rollout_look(&rollout), next_us);
}
END_TEST

Suite *rollout_suite(void)
{
    Suite *suite = suite_create("rollout");
    TCase *tests = tcase_create("rollout");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 30);
    tcase_add_test(tests, requests_count_while_codex_works);
    tcase_add_test(tests, limits_stop_codex_while_it_works);
    tcase_add_test(tests, an_attempt_that_resumes_a_session_counts_its_own_requests);
    tcase_add_test(tests, without_the_file_the_whole_turn_counts);
    tcase_add_test(tests, a_file_that_is_found_late_replaces_the_whole_turn);
    tcase_add_test(tests, a_file_that_says_nothing_leaves_the_whole_turn_for_the_end);
    tcase_add_loop_test(tests, the_home_of_codex_may_be_elsewhere, 0, 2);
    tcase_add_loop_test(tests, nothing_planted_is_followed, 0, 6);
    tcase_add_test(tests, an_id_that_is_a_path_is_none);
    tcase_add_test(tests, odd_lines_and_long_ones_are_skipped);
    tcase_add_test(tests, other_agents_are_not_looked_at);
    tcase_add_test(tests, it_looks_once_a_second);
    suite_add_tcase(suite, tests);
    return suite;
}
