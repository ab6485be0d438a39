/*
 * test_compute_process.c - a sandboxed command from start to end: exits, clocks, stops, output.
 */
#include "base/clock.h"
#include "base/fd.h"
#include "tests/unit/work_kit.h"
#include "work/agent/compute_process.h"
#include <check.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct kit kit;
static const char *tree, *log_path;

/* What the reader has heard. */
static struct {
    int lines;
    int stop_after; /* 0: never */
    char last[256];
} heard;

static void setup(void)
{
    kit_open(&kit);
    memset(&heard, 0, sizeof heard);
    tree = arena_printf(&kit.arena, "%s/tree", kit.work_dir);
    log_path = arena_printf(&kit.arena, "%s/log", kit.work_dir);
    kit_sh(&kit, "mkdir data/work/tree");
}

static void teardown(void)
{
    kit_close(&kit);
}

static bool on_line(void *ctx, struct str line)
{
    (void)ctx;
    heard.lines++;
    size_t len = line.len < sizeof heard.last - 1 ? line.len : sizeof heard.last - 1;
    memcpy(heard.last, line.at, len);
    heard.last[len] = '\0';
    return heard.stop_after == 0 || heard.lines < heard.stop_after;
}

static struct compute_spec spec_of(const char *script)
{
    const char **argv = arena_array(&kit.arena, 4, sizeof(char *));
    argv[0] = "/bin/sh";
    argv[1] = "-c";
    argv[2] = script;
    const char **env = arena_array(&kit.arena, 2, sizeof(char *));
    env[0] = arena_printf(&kit.arena, "PATH=%s", getenv("PATH"));
    return (struct compute_spec){
        .sandbox = &kit.site.sandbox,
        .view = {.argv = argv, .cwd = tree, .binds = {{tree, true}}},
        .env = env,
        .log_path = log_path,
        .log_bytes_max = 1024 * 1024,
        .wall_ms = 20000,
        .stop = &kit.stop,
        .reader = {.line = on_line},
    };
}

static struct compute_result run(const struct compute_spec *spec)
{
    struct compute_result result;
    struct err err = {0};
    ck_assert_msg(compute_run(spec, &result, &err) == RC_OK, "%s", err.text);
    return result;
}

/* A killed process group needs a moment to go; a sandbox was waited for. */
static bool nobody_is_left(void)
{
    bool walls = kit.site.sandbox.kind == SANDBOX_BUBBLEWRAP;
    int64_t until_us = clock_mono_us() + (walls ? 0 : 2 * US_PER_SECOND);
    bool left;
    do
        left = kit_sleeps(&kit);
    while (left && clock_mono_us() < until_us);
    return !left;
}

/* Behind the walls, and without any. */
static void choose_sandbox(int index)
{
    if (index == 1)
        kit.site.sandbox.kind = SANDBOX_NONE;
}

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
        choose_sandbox(walls);
        struct compute_spec spec = spec_of(endings[_i].script);
        struct compute_result result = run(&spec);
        ck_assert_int_eq(result.end, COMPUTE_ENDED);
        ck_assert_int_eq(result.exited, endings[_i].exited);
        ck_assert_int_eq(result.exit_code, endings[_i].code);
        ck_assert_int_eq(result.signal, endings[_i].signal);
    }
}
END_TEST

START_TEST(output_goes_to_the_log_and_lines_to_the_reader)
{
    struct compute_spec spec = spec_of("echo one; echo two >&2; printf three");
    struct compute_result result = run(&spec);
    ck_assert_int_eq(heard.lines, 2);
    ck_assert_str_eq(heard.last, "three");
    const char *log = kit_sh(&kit, "sort %s", log_path);
    ck_assert_ptr_nonnull(strstr(log, "one"));
    ck_assert_ptr_nonnull(strstr(log, "two"));
    ck_assert_int_eq(result.log_bytes, 13);
    ck_assert(!result.log_truncated);
}
END_TEST

START_TEST(input_comes_from_a_file)
{
    struct compute_spec spec = spec_of("cat");
    spec.stdin_path = arena_printf(&kit.arena, "%s/input", kit.dir);
    kit_sh(&kit, "echo what to do >input");
    (void)run(&spec);
    ck_assert_str_eq(heard.last, "what to do");
}
END_TEST

START_TEST(the_clock_on_the_wall_ends_it)
{
    choose_sandbox(_i);
    struct compute_spec spec = spec_of("while :; do echo tick; sleep 0.02; done");
    spec.wall_ms = 300;
    struct compute_result result = run(&spec);
    ck_assert_int_eq(result.end, COMPUTE_TIMED_OUT);
    ck_assert(!result.exited);
    ck_assert_int_ge(result.duration_us, 300 * US_PER_MS);
}
END_TEST

START_TEST(silence_ends_it)
{
    choose_sandbox(_i);
    struct compute_spec spec = spec_of(arena_printf(&kit.arena, "echo begin; %s", kit.sleep));
    spec.idle_ms = 300;
    struct compute_result result = run(&spec);
    ck_assert_int_eq(result.end, COMPUTE_IDLE_TIMED_OUT);
    ck_assert_int_eq(heard.lines, 1);
    ck_assert(nobody_is_left());
}
END_TEST

START_TEST(output_keeps_it_alive)
{
    struct compute_spec spec = spec_of("for i in 1 2 3 4 5 6; do echo $i; sleep 0.1; done");
    spec.idle_ms = 500;
    ck_assert_int_eq(run(&spec).end, COMPUTE_ENDED);
    ck_assert_int_eq(heard.lines, 6);
}
END_TEST

static void *ask_when_ready(void *ctx)
{
    kit_await_file(&kit, ctx);
    stop_ask(&kit.stop, STOP_CANCEL);
    return NULL;
}

/* The command and a grandchild ignore TERM; with walls the grandchild has a session of its own. */
START_TEST(a_stop_reaches_everything_that_was_started)
{
    choose_sandbox(_i);
    const char *daemon = _i == 0 ? "setsid" : "";
    struct compute_spec spec = spec_of(arena_printf(&kit.arena,
                                                    "trap '' TERM\n"
                                                    "%s sh -c 'trap \"\" TERM; %s' &\n"
                                                    "(%s) &\n"
                                                    "touch ready; while :; do %s; done",
                                                    daemon, kit.sleep, kit.sleep, kit.sleep));
    char *ready = arena_printf(&kit.arena, "%s/ready", tree);
    pthread_t asker;
    ck_assert_int_eq(pthread_create(&asker, NULL, ask_when_ready, ready), 0);
    struct compute_result result = run(&spec);
    pthread_join(asker, NULL);
    ck_assert_int_eq(result.end, COMPUTE_STOPPED);
    ck_assert(nobody_is_left());
}
END_TEST

START_TEST(a_polite_command_may_clean_up)
{
    choose_sandbox(_i);
    struct compute_spec spec = spec_of(
        "trap 'echo bye; exit 0' TERM; touch ready; while :; do sleep 0.05; done");
    char *ready = arena_printf(&kit.arena, "%s/ready", tree);
    pthread_t asker;
    ck_assert_int_eq(pthread_create(&asker, NULL, ask_when_ready, ready), 0);
    struct compute_result result = run(&spec);
    pthread_join(asker, NULL);
    ck_assert_int_eq(result.end, COMPUTE_STOPPED);
    ck_assert_str_eq(heard.last, "bye");
    ck_assert_int_lt(result.duration_us, COMPUTE_GRACE_MS * US_PER_MS);
}
END_TEST

START_TEST(what_it_left_in_the_background_is_gone)
{
    choose_sandbox(_i);
    const char *daemon = _i == 0 ? "setsid" : "";
    struct compute_spec spec = spec_of(
        arena_printf(&kit.arena, "%s %s & echo done", daemon, kit.sleep));
    struct compute_result result = run(&spec);
    ck_assert_int_eq(result.end, COMPUTE_ENDED);
    ck_assert(result.exited);
    ck_assert(nobody_is_left());
}
END_TEST

START_TEST(the_reader_may_end_it)
{
    heard.stop_after = 3;
    struct compute_spec spec = spec_of("while :; do echo x; done");
    struct compute_result result = run(&spec);
    ck_assert_int_eq(result.end, COMPUTE_CUT_OFF);
}
END_TEST

START_TEST(a_flood_is_cut_in_the_log_and_read_to_the_end)
{
    struct compute_spec spec = spec_of("head -c 3000000 /dev/zero | tr '\\0' '\\n'; echo end");
    spec.log_bytes_max = 1000;
    struct compute_result result = run(&spec);
    ck_assert(result.log_truncated);
    ck_assert_int_eq(result.end, COMPUTE_ENDED);
    ck_assert_int_lt(result.log_bytes, 1100);
    ck_assert_str_eq(heard.last, "end");
    ck_assert_str_eq(kit_sh(&kit, "tail -1 %s", log_path), "[output truncated here]");
}
END_TEST

START_TEST(a_line_that_is_too_long_is_passed_over)
{
    struct compute_spec spec = spec_of("head -c 400000 /dev/zero | tr '\\0' x; echo; echo short");
    struct compute_result result = run(&spec);
    ck_assert_int_eq(result.lines_skipped, 1);
    ck_assert_int_eq(heard.lines, 1);
    ck_assert_str_eq(heard.last, "short");
    ck_assert_int_eq(result.log_bytes, 400007);
}
END_TEST

START_TEST(a_program_that_is_not_there_is_named)
{
    struct compute_spec spec = spec_of("");
    spec.view.argv = (const char *const[]){_i ? "./nothing.sh" : "no-such-program", NULL};
    struct compute_result result;
    struct err err = {0};
    ck_assert_int_eq(compute_run(&spec, &result, &err), RC_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(err.text, spec.view.argv[0]));
}
END_TEST

START_TEST(a_file_that_is_no_program_is_told_from_one_that_is_missing)
{
    struct compute_spec spec = spec_of("");
    spec.view.argv = (const char *const[]){_i ? "/etc/passwd" : "/usr", NULL};
    struct compute_result result;
    struct err err = {0};
    ck_assert_int_eq(compute_run(&spec, &result, &err), RC_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(err.text, "chmod +x"));
}
END_TEST

START_TEST(a_program_that_cannot_be_executed_is_no_result)
{
    kit_sh(&kit, "printf '#!/no/such/shell\\n' >data/work/tree/x; chmod +x data/work/tree/x");
    struct compute_spec spec = spec_of("");
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
    struct compute_spec spec = spec_of("env");
    (void)run(&spec);
    ck_assert_str_eq(kit_sh(&kit, "grep -c SECRET %s || true", log_path), "0");
}
END_TEST

START_TEST(open_files_of_ours_are_not_inherited)
{
    choose_sandbox(_i);
    CLEANUP(fd_closep) int leaky = open("/dev/null", O_RDONLY);
    CLEANUP(fd_closep) int high = fcntl(leaky, F_DUPFD, 200);
    ck_assert_int_ge(high, 200);
    struct compute_spec spec = spec_of("ls /proc/self/fd | tr '\\n' ' '");
    (void)run(&spec);
    ck_assert_str_eq(heard.last, "0 1 2 3 "); /* 3 is the listing itself. */
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
    choose_sandbox(_i % 2);
    size_t index = (size_t)_i / 2;
    struct compute_spec spec = spec_of(excesses[index].script);
    spec.view.limits = &excesses[index].limits;
    struct compute_result result = run(&spec);
    ck_assert_int_eq(result.end, COMPUTE_OVER_LIMIT);
    ck_assert_str_eq(result.limit, excesses[index].limit);
    ck_assert(!result.exited);
    ck_assert(nobody_is_left());
}
END_TEST

START_TEST(a_mount_that_cannot_be_is_no_start)
{
    const struct mount_config mount = {.path = "/nowhere"};
    struct compute_spec spec = spec_of("true");
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
    struct compute_spec spec = spec_of(
        "for p in /proc/[0-9]*; do grep -q '^Seccomp:.2' $p/status || echo free $p; done; "
        "gate=$(grep -l '[-]-gate' /proc/[0-9]*/cmdline); gate=${gate%/cmdline}; "
        "cat $gate/environ >/dev/null 2>&1 && echo open; "
        "(: >>$gate/mem) 2>/dev/null && echo writable; echo gate $gate");
    if (kit.site.sandbox.kind != SANDBOX_BUBBLEWRAP || !kit.site.sandbox.filter)
        return;
    if (_i == 1) /* As where drover is not root: the command has its user. */
        kit.site.sandbox.drops = false;
    spec.view.egress = egress;
    struct compute_result result = run(&spec);
    const char *said = kit_sh(&kit, "cat %s", log_path);
    ck_assert_msg(result.exited && result.exit_code == 0, "%s", said);
    ck_assert_msg(heard.lines == 1 && text_starts(said, "gate /proc/"), "%s", said);
}
END_TEST

START_TEST(a_command_that_does_not_end_is_no_timeout_of_the_step)
{
    CLEANUP(compute_session_freep) struct compute_session *session = NULL;
    struct compute_spec spec = spec_of(kit.sleep);
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
    tcase_add_checked_fixture(tests, setup, teardown);
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
    tcase_add_test(tests, a_line_that_is_too_long_is_passed_over);
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
