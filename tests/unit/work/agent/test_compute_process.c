/*
 * test_compute_process.c - a sandboxed command from start to end: exits, clocks, stops, output;
 * test_compute_live.c has those that are spoken to, interrupted and held.
 */
#include "base/clock.h"
#include "base/fd.h"
#include "tests/unit/compute_kit.h"
#include <check.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct {
    const char *script;
    bool exited;
    int code, signal;
} endings[] = {
    {"exit 0", true, 0, 0},
    {"exit 7", true, 7, 0},
    {"kill -9 $$", false, -1, 9},
    {"kill -TERM $$", false, -1, 15},
};

START_TEST(how_it_ended_is_told)
{
    for (int walls = 0; walls < 2; walls++) {
        compute_kit_walls(walls);
        struct compute_spec spec = compute_kit_spec(endings[_i].script);
        struct compute_result result = compute_kit_run(&spec);
        ck_assert_int_eq(result.end, COMPUTE_ENDED);
        ck_assert_int_eq(result.exited, endings[_i].exited);
        ck_assert_int_eq(result.exit_code, endings[_i].code);
        ck_assert_int_eq(result.signal, endings[_i].signal);
    }
}
END_TEST

START_TEST(output_goes_to_the_log_and_lines_to_the_reader)
{
    struct compute_spec spec = compute_kit_spec("echo one; echo two >&2; printf three");
    struct compute_result result = compute_kit_run(&spec);
    ck_assert_int_eq(compute_kit.heard.lines, 2);
    ck_assert_str_eq(compute_kit.heard.last, "three");
    const char *log = kit_sh(&compute_kit.kit, "sort %s", compute_kit.log_path);
    ck_assert_ptr_nonnull(strstr(log, "one"));
    ck_assert_ptr_nonnull(strstr(log, "two"));
    ck_assert_int_eq(result.log_bytes, 13);
    ck_assert(!result.log_truncated);
}
END_TEST

START_TEST(input_comes_from_a_file)
{
    struct compute_spec spec = compute_kit_spec("cat");
    spec.stdin_path = arena_printf(&compute_kit.kit.arena, "%s/input", compute_kit.kit.dir);
    kit_sh(&compute_kit.kit, "echo what to do >input");
    (void)compute_kit_run(&spec);
    ck_assert_str_eq(compute_kit.heard.last, "what to do");
}
END_TEST

START_TEST(the_clock_on_the_wall_ends_it)
{
    compute_kit_walls(_i);
    struct compute_spec spec = compute_kit_spec("while :; do echo tick; sleep 0.02; done");
    spec.wall_ms = 300;
    struct compute_result result = compute_kit_run(&spec);
    ck_assert_int_eq(result.end, COMPUTE_TIMED_OUT);
    ck_assert(!result.exited);
    ck_assert_int_ge(result.duration_us, 300 * US_PER_MS);
}
END_TEST

START_TEST(silence_ends_it)
{
    compute_kit_walls(_i);
    struct compute_spec spec = compute_kit_spec(
        arena_printf(&compute_kit.kit.arena, "echo begin; %s", compute_kit.kit.sleep));
    spec.idle_ms = 300;
    struct compute_result result = compute_kit_run(&spec);
    ck_assert_int_eq(result.end, COMPUTE_IDLE_TIMED_OUT);
    ck_assert_int_eq(compute_kit.heard.lines, 1);
    ck_assert(compute_kit_is_empty());
}
END_TEST

START_TEST(output_keeps_it_alive)
{
    struct compute_spec spec = compute_kit_spec(
        "for i in 1 2 3 4 5 6; do echo $i; sleep 0.1; done");
    spec.idle_ms = 500;
    ck_assert_int_eq(compute_kit_run(&spec).end, COMPUTE_ENDED);
    ck_assert_int_eq(compute_kit.heard.lines, 6);
}
END_TEST

/* The command and a grandchild ignore TERM; with walls the grandchild has a session of its own. */
START_TEST(a_stop_reaches_everything_that_was_started)
{
    compute_kit_walls(_i);
    const char *daemon = _i == 0 ? "setsid" : "";
    struct compute_spec spec = compute_kit_spec(
        arena_printf(&compute_kit.kit.arena,
                     "trap '' TERM\n"
                     "%s sh -c 'trap \"\" TERM; %s' &\n"
                     "(%s) &\n"
                     "touch ready; while :; do %s; done",
                     daemon, compute_kit.kit.sleep, compute_kit.kit.sleep, compute_kit.kit.sleep));
    char *ready = arena_printf(&compute_kit.kit.arena, "%s/ready", compute_kit.tree);
    pthread_t asker;
    ck_assert_int_eq(pthread_create(&asker, NULL, compute_kit_stop_when_ready, ready), 0);
    struct compute_result result = compute_kit_run(&spec);
    pthread_join(asker, NULL);
    ck_assert_int_eq(result.end, COMPUTE_STOPPED);
    ck_assert(compute_kit_is_empty());
}
END_TEST

START_TEST(a_polite_command_may_clean_up)
{
    compute_kit_walls(_i);
    struct compute_spec spec = compute_kit_spec(
        "trap 'echo bye; exit 0' TERM; touch ready; while :; do sleep 0.05; done");
    char *ready = arena_printf(&compute_kit.kit.arena, "%s/ready", compute_kit.tree);
    pthread_t asker;
    ck_assert_int_eq(pthread_create(&asker, NULL, compute_kit_stop_when_ready, ready), 0);
    struct compute_result result = compute_kit_run(&spec);
    pthread_join(asker, NULL);
    ck_assert_int_eq(result.end, COMPUTE_STOPPED);
    ck_assert_str_eq(compute_kit.heard.last, "bye");
    ck_assert_int_lt(result.duration_us, COMPUTE_GRACE_MS * US_PER_MS);
}
END_TEST

START_TEST(what_it_left_in_the_background_is_gone)
{
    compute_kit_walls(_i);
    const char *daemon = _i == 0 ? "setsid" : "";
    struct compute_spec spec = compute_kit_spec(
        arena_printf(&compute_kit.kit.arena, "%s %s & echo done", daemon, compute_kit.kit.sleep));
    struct compute_result result = compute_kit_run(&spec);
    ck_assert_int_eq(result.end, COMPUTE_ENDED);
    ck_assert(result.exited);
    ck_assert(compute_kit_is_empty());
}
END_TEST

START_TEST(the_reader_may_end_it)
{
    compute_kit.heard.stop_after = 3;
    struct compute_spec spec = compute_kit_spec("while :; do echo x; done");
    struct compute_result result = compute_kit_run(&spec);
    ck_assert_int_eq(result.end, COMPUTE_CUT_OFF);
}
END_TEST

START_TEST(a_flood_is_cut_in_the_log_and_read_to_the_end)
{
    struct compute_spec spec = compute_kit_spec(
        "head -c 3000000 /dev/zero | tr '\\0' '\\n'; echo end");
    spec.log_bytes_max = 1000;
    struct compute_result result = compute_kit_run(&spec);
    ck_assert(result.log_truncated);
    ck_assert_int_eq(result.end, COMPUTE_ENDED);
    ck_assert_int_lt(result.log_bytes, 1100);
    ck_assert_str_eq(compute_kit.heard.last, "end");
    ck_assert_str_eq(kit_sh(&compute_kit.kit, "tail -1 %s", compute_kit.log_path),
                     "[output truncated here]");
}
END_TEST

START_TEST(a_long_line_is_read_whole)
{
    struct compute_spec spec = compute_kit_spec(
        "head -c 3000000 /dev/zero | tr '\\0' x; echo; echo short");
    struct compute_result result = compute_kit_run(&spec);
    ck_assert_int_eq(result.lines_skipped, 0);
    ck_assert_int_eq(compute_kit.heard.lines, 2);
    ck_assert_uint_eq(compute_kit.heard.longest, 3000000);
    ck_assert_str_eq(compute_kit.heard.last, "short");
}
END_TEST

START_TEST(a_line_that_is_too_long_is_passed_over)
{
    struct compute_spec spec = compute_kit_spec(
        "head -c 17000000 /dev/zero | tr '\\0' x; echo; echo short");
    spec.log_bytes_max = 20000000;
    struct compute_result result = compute_kit_run(&spec);
    ck_assert_int_eq(compute_kit.heard.too_long, 1);
    ck_assert_int_eq(result.lines_skipped, 1);
    ck_assert_int_eq(compute_kit.heard.lines, 1);
    ck_assert_str_eq(compute_kit.heard.last, "short");
    ck_assert_int_eq(result.log_bytes, 17000007);
}
END_TEST

START_TEST(a_line_without_an_end_ends_it_when_the_reader_wants_that)
{
    compute_kit.heard.refuses_long = true;
    struct compute_spec spec = compute_kit_spec("tr '\\0' x </dev/zero");
    struct compute_result result = compute_kit_run(&spec);
    ck_assert_int_eq(result.end, COMPUTE_CUT_OFF);
    ck_assert_int_eq(compute_kit.heard.too_long, 1);
}
END_TEST

/* ---- last words ---- */

static const struct {
    const char *script, *want;
} words[] = {
    {"echo started >&2; echo 'TypeError: x is not a function' >&2; exit 1",
     "started\nTypeError: x is not a function"},
    {"echo Invalid API key; echo '{\"type\":\"x\"}'; exit 1", "Invalid API key"},
    {"echo out; echo err >&2", "err"},
    {"true", ""},
};

START_TEST(its_last_words_are_kept)
{
    struct compute_spec spec = compute_kit_spec(words[_i].script);
    ck_assert_str_eq(compute_kit_run(&spec).last_words, words[_i].want);
}
END_TEST

START_TEST(the_last_words_of_many_are_the_last)
{
    struct compute_spec spec = compute_kit_spec(
        "seq 100000 >&2; printf '\\033[31mthe end\\033[0m\\n' >&2");
    struct compute_result result = compute_kit_run(&spec);
    ck_assert_uint_gt(strlen(result.last_words), 500);
    ck_assert(text_ends(result.last_words, "100000\nthe end"));
    ck_assert_int_ge(result.last_words[0], '1'); /* A whole line. */
}
END_TEST

START_TEST(a_program_that_is_not_there_is_named)
{
    struct compute_spec spec = compute_kit_spec("");
    spec.view.argv = (const char *const[]){_i ? "./nothing.sh" : "no-such-program", NULL};
    struct compute_result result;
    struct err err = {0};
    ck_assert_int_eq(compute_run(&spec, &result, &err), RC_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(err.text, spec.view.argv[0]));
}
END_TEST

START_TEST(a_file_that_is_no_program_is_told_from_one_that_is_missing)
{
    struct compute_spec spec = compute_kit_spec("");
    spec.view.argv = (const char *const[]){_i ? "/etc/passwd" : "/usr", NULL};
    struct compute_result result;
    struct err err = {0};
    ck_assert_int_eq(compute_run(&spec, &result, &err), RC_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(err.text, "chmod +x"));
}
END_TEST

START_TEST(a_program_that_cannot_be_executed_is_no_result)
{
    kit_sh(&compute_kit.kit,
           "printf '#!/no/such/shell\\n' >data/work/tree/x; chmod +x data/work/tree/x");
    struct compute_spec spec = compute_kit_spec("");
    spec.view.argv = (const char *const[]){"./x", NULL};
    struct compute_result result;
    struct err err = {0};
    ck_assert_int_eq(compute_run(&spec, &result, &err), RC_IO);
    ck_assert_str_eq(err.code, "SANDBOX_FAILED");
}
END_TEST

START_TEST(the_environment_is_the_given_one)
{
    ck_assert_int_eq(setenv("SERVER_SECRET", "hunter2", 1), 0);
    struct compute_spec spec = compute_kit_spec("env");
    (void)compute_kit_run(&spec);
    ck_assert_str_eq(kit_sh(&compute_kit.kit, "grep -c SECRET %s || true", compute_kit.log_path),
                     "0");
}
END_TEST

START_TEST(open_files_of_ours_are_not_inherited)
{
    compute_kit_walls(_i);
    CLEANUP(fd_closep) int leaky = open("/dev/null", O_RDONLY);
    CLEANUP(fd_closep) int high = fcntl(leaky, F_DUPFD, 200);
    ck_assert_int_ge(high, 200);
    struct compute_spec spec = compute_kit_spec("ls /proc/self/fd | tr '\\n' ' '");
    (void)compute_kit_run(&spec);
    ck_assert_str_eq(compute_kit.heard.last, "0 1 2 3 "); /* 3 is the listing itself. */
}
END_TEST

static const struct {
    const char *script, *limit;
    struct resource_config limits;
} excesses[] = {
    {"while :; do head -c 100000 /dev/zero >>junk; done", "disk_limit", {.disk_bytes = 4000000}},
    {"for i in 1 2 3 4 5 6 7 8; do sleep 30 & done; wait", "process_limit", {.processes = 6}},
    {"exec node -e 'globalThis.a = Buffer.alloc(2e8, 1); setInterval(() => {}, 1000)'",
     "memory_limit",
     {.memory_bytes = 150000000}},
};

START_TEST(what_uses_too_much_is_killed)
{
    compute_kit_walls(_i % 2);
    size_t index = (size_t)_i / 2;
    struct compute_spec spec = compute_kit_spec(excesses[index].script);
    spec.view.limits = &excesses[index].limits;
    struct compute_result result = compute_kit_run(&spec);
    ck_assert_int_eq(result.end, COMPUTE_OVER_LIMIT);
    ck_assert_str_eq(result.limit, excesses[index].limit);
    ck_assert(!result.exited);
    ck_assert(compute_kit_is_empty());
}
END_TEST

START_TEST(a_mount_that_cannot_be_is_no_start)
{
    const struct mount_config mount = {.path = "/nowhere"};
    struct compute_spec spec = compute_kit_spec("true");
    struct compute_result result;
    spec.view.mounts = &mount;
    spec.view.mount_count = 1;
    ck_assert_int_eq(compute_run(&spec, &result, NULL), RC_INVALID);
}
END_TEST

/* Somebody who may call what he likes, and whose memory is open, would do so for the command. */
START_TEST(nobody_inside_is_without_the_filter)
{
    static const char *const egress[] = {"a.example", NULL};
    struct compute_spec spec = compute_kit_spec(
        "for p in /proc/[0-9]*; do grep -q '^Seccomp:.2' $p/status || echo free $p; done; "
        "gate=$(grep -l '[-]-gate' /proc/[0-9]*/cmdline); gate=${gate%/cmdline}; "
        "cat $gate/environ >/dev/null 2>&1 && echo open; "
        "(: >>$gate/mem) 2>/dev/null && echo writable; echo gate $gate");
    if (compute_kit.kit.site.sandbox.kind != SANDBOX_BUBBLEWRAP ||
        !compute_kit.kit.site.sandbox.filter)
        return;
    if (_i == 1) /* As where drover is not root: the command has its user. */
        compute_kit.kit.site.sandbox.drops = false;
    spec.view.egress = egress;
    struct compute_result result = compute_kit_run(&spec);
    const char *said = kit_sh(&compute_kit.kit, "cat %s", compute_kit.log_path);
    ck_assert_msg(result.exited && result.exit_code == 0, "%s", said);
    ck_assert_msg(compute_kit.heard.lines == 1 && text_starts(said, "gate /proc/"), "%s", said);
}
END_TEST

START_TEST(a_command_that_does_not_end_is_no_timeout_of_the_step)
{
    CLEANUP(compute_session_freep) struct compute_session *session = NULL;
    struct compute_spec spec = compute_kit_spec(compute_kit.kit.sleep);
    struct compute_result result;
    struct err err = {0};
    ck_assert_msg(compute_begin(&spec, &session, &err) == RC_OK, "%s", err.text);
    /* As after a KILL that the kernel has not carried out. */
    ck_assert_int_eq(compute_finish(session, &result, &err), RC_IO);
}
END_TEST

Suite *compute_process_suite(void)
{
    Suite *suite = suite_create("compute_process");
    TCase *tests = tcase_create("compute_process");
    tcase_add_checked_fixture(tests, compute_kit_open, compute_kit_close);
    tcase_set_timeout(tests, 30);
    tcase_add_loop_test(tests, how_it_ended_is_told, 0, (int)COUNT_OF(endings));
    tcase_add_test(tests, output_goes_to_the_log_and_lines_to_the_reader);
    tcase_add_test(tests, input_comes_from_a_file);
    tcase_add_loop_test(tests, the_clock_on_the_wall_ends_it, 0, 2);
    tcase_add_loop_test(tests, silence_ends_it, 0, 2);
    tcase_add_test(tests, output_keeps_it_alive);
    tcase_add_loop_test(tests, a_stop_reaches_everything_that_was_started, 0, 2);
    tcase_add_loop_test(tests, a_polite_command_may_clean_up, 0, 2);
    tcase_add_loop_test(tests, what_it_left_in_the_background_is_gone, 0, 2);
    tcase_add_test(tests, the_reader_may_end_it);
    tcase_add_test(tests, a_flood_is_cut_in_the_log_and_read_to_the_end);
    tcase_add_test(tests, a_long_line_is_read_whole);
    tcase_add_test(tests, a_line_that_is_too_long_is_passed_over);
    tcase_add_test(tests, a_line_without_an_end_ends_it_when_the_reader_wants_that);
    tcase_add_loop_test(tests, its_last_words_are_kept, 0, (int)COUNT_OF(words));
    tcase_add_test(tests, the_last_words_of_many_are_the_last);
    tcase_add_loop_test(tests, a_program_that_is_not_there_is_named, 0, 2);
    tcase_add_loop_test(tests, a_file_that_is_no_program_is_told_from_one_that_is_missing, 0, 2);
    tcase_add_test(tests, a_program_that_cannot_be_executed_is_no_result);
    tcase_add_test(tests, the_environment_is_the_given_one);
    tcase_add_loop_test(tests, open_files_of_ours_are_not_inherited, 0, 2);
    tcase_add_loop_test(tests, what_uses_too_much_is_killed, 0, 2 * (int)COUNT_OF(excesses));
    tcase_add_test(tests, a_mount_that_cannot_be_is_no_start);
    tcase_add_loop_test(tests, nobody_inside_is_without_the_filter, 0, 2);
    tcase_add_test(tests, a_command_that_does_not_end_is_no_timeout_of_the_step);
    suite_add_tcase(suite, tests);
    return suite;
}
