/*
 * test_compute_live.c - a command that is spoken to while it runs, interrupted, paused and held.
 */
#include "base/clock.h"
#include "base/fd.h"
#include "tests/unit/compute_kit.h"
#include <check.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

/* ---- a live stdin ---- */

static struct compute_spec live_spec(const char *script)
{
    struct compute_spec spec = compute_kit_spec(script);
    spec.input = (struct compute_input){.bytes = &compute_kit.talk.bytes,
                                        .over = &compute_kit.talk.over};
    return spec;
}

static bool echo_line(void *ctx, struct str line)
{
    (void)compute_kit_line(ctx, line);
    compute_kit.talk.over = compute_kit.heard.lines >= 3;
    if (!compute_kit.talk.over)
        buf_addf(&compute_kit.talk.bytes, "line %d\n", compute_kit.heard.lines + 1);
    return true;
}

START_TEST(it_is_spoken_to_while_it_runs)
{
    compute_kit_walls(_i);
    struct compute_spec spec = live_spec("while read -r l; do echo \"got $l\"; done; echo end");
    spec.reader.line = echo_line;
    buf_adds(&compute_kit.talk.bytes, "line 1\n");
    struct compute_result result = compute_kit_run(&spec);
    ck_assert_int_eq(result.end, COMPUTE_ENDED);
    ck_assert_int_eq(compute_kit.heard.lines, 4);
    ck_assert_str_eq(compute_kit.heard.last, "end"); /* It saw the end of its input. */
}
END_TEST

START_TEST(what_it_is_told_arrives_whole)
{
    enum { BYTES = 4 * 1024 * 1024 };
    struct compute_spec spec = live_spec("cat </dev/stdin | wc -c");
    for (int i = 0; i < BYTES / 64; i++)
        buf_addf(&compute_kit.talk.bytes, "%063d\n", i);
    compute_kit.talk.over = true;
    (void)compute_kit_run(&spec);
    ck_assert_str_eq(compute_kit.heard.last, "4194304");
}
END_TEST

START_TEST(one_that_does_not_end_with_its_input_is_ended)
{
    struct compute_spec spec = live_spec(
        arena_printf(&compute_kit.kit.arena, "cat; echo all read; %s", compute_kit.kit.sleep));
    buf_adds(&compute_kit.talk.bytes, "a line\n");
    compute_kit.talk.over = true;
    spec.linger_ms = 300;
    struct compute_result result = compute_kit_run(&spec);
    ck_assert_int_eq(result.end, COMPUTE_ENDED);
    ck_assert_str_eq(compute_kit.heard.last, "all read");
    ck_assert(compute_kit_is_empty());
}
END_TEST

/* Neither of them may block the worker, nor end it by SIGPIPE, nor keep it busy. */
static const char *const deaf[] = {
    "sleep 0.3; echo end",
    "exec 0<&-; sleep 0.3; echo end",
    "head -c 10 >/dev/null; exec 0<&-; sleep 0.3; echo end",
    "echo end",
};

START_TEST(one_that_does_not_listen_is_let_be)
{
    struct compute_spec spec = live_spec(deaf[_i]);
    for (int i = 0; i < 20000; i++)
        buf_addf(&compute_kit.talk.bytes, "%063d\n", i);
    struct timespec before, after;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before);
    struct compute_result result = compute_kit_run(&spec);
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after);
    ck_assert_int_eq(result.end, COMPUTE_ENDED);
    ck_assert_str_eq(compute_kit.heard.last, "end");
    int64_t spent_ms = (after.tv_sec - before.tv_sec) * 1000 +
                       (after.tv_nsec - before.tv_nsec) / 1000000;
    ck_assert_int_lt(spent_ms, 250);
}
END_TEST

/* ---- the sequence of a stop ---- */

static struct compute_result run_and_stop(const struct compute_spec *spec)
{
    char *ready = arena_printf(&compute_kit.kit.arena, "%s/ready", compute_kit.tree);
    pthread_t asker;
    ck_assert_int_eq(pthread_create(&asker, NULL, compute_kit_stop_when_ready, ready), 0);
    struct compute_result result = compute_kit_run(spec);
    pthread_join(asker, NULL);
    ck_assert_int_eq(result.end, COMPUTE_STOPPED);
    return result;
}

START_TEST(an_agent_is_interrupted_first_and_what_it_says_then_is_read)
{
    compute_kit_walls(_i);
    struct compute_spec spec = compute_kit_spec(
        "trap 'echo cost 3; exit 0' INT; trap 'echo term' TERM; "
        "touch ready; while :; do sleep 0.05; done");
    spec.interrupt_ms = 20000;
    struct compute_result result = run_and_stop(&spec);
    ck_assert_str_eq(compute_kit.heard.last, "cost 3");
    ck_assert_int_lt(result.duration_us, 15 * US_PER_SECOND);
    ck_assert_int_eq(compute_kit.talk.interrupts, 1);
}
END_TEST

START_TEST(an_agent_that_ignores_the_interrupt_is_terminated_and_one_that_ignores_that_is_killed)
{
    compute_kit_walls(_i);
    struct compute_spec spec = compute_kit_spec(
        "trap 'echo int' INT; trap 'echo term' TERM; touch ready; "
        "while :; do sleep 0.02; done");
    spec.interrupt_ms = 200;
    struct compute_result result = run_and_stop(&spec);
    ck_assert_int_eq(compute_kit.heard.lines, 2);
    ck_assert_str_eq(compute_kit.heard.last, "term");
    ck_assert_int_ge(result.duration_us, (200 + COMPUTE_GRACE_MS) * US_PER_MS);
    ck_assert(compute_kit_is_empty());
}
END_TEST

START_TEST(an_agent_with_a_protocol_is_asked_before_any_signal)
{
    struct compute_spec spec = live_spec("trap 'echo int' INT TERM; touch ready; read -r l; "
                                         "echo \"$l\"");
    compute_kit.talk.farewell = "please\n";
    spec.interrupt_ms = 20000;
    (void)run_and_stop(&spec);
    ck_assert_int_eq(compute_kit.heard.lines, 1);
    ck_assert_str_eq(compute_kit.heard.last, "please");
}
END_TEST

START_TEST(an_agent_that_does_not_answer_its_protocol_gets_signals)
{
    struct compute_spec spec = live_spec("trap 'echo int; exit 0' INT; trap 'echo term' TERM; "
                                         "touch ready; while :; do sleep 0.02; done");
    compute_kit.talk.farewell = "please\n";
    spec.interrupt_ms = 600;
    struct compute_result result = run_and_stop(&spec);
    ck_assert_str_eq(compute_kit.heard.last, "int");
    ck_assert_int_ge(result.duration_us, 300 * US_PER_MS);
}
END_TEST

/* ---- holding ---- */

/* Turns the loop until the file is there, or for that long. */
static void turn_until(struct compute_session *session, const char *name, int64_t ms)
{
    const char *path = name != NULL
                           ? arena_printf(&compute_kit.kit.arena, "%s/%s", compute_kit.tree, name)
                           : NULL;
    int64_t until_us = clock_mono_us() + ms * US_PER_MS;
    while ((path == NULL || !file_exists(path)) && clock_mono_us() < until_us)
        ck_assert(compute_turn(session, clock_mono_us() + 10 * US_PER_MS));
    ck_assert(path == NULL || file_exists(path));
}

static void pause_whole(struct compute_session *session)
{
    compute_hold(session, COMPUTE_PAUSED);
    int64_t until_us = clock_mono_us() + 20 * US_PER_SECOND;
    while (!compute_is_paused(session) && clock_mono_us() < until_us)
        ck_assert(compute_turn(session, clock_mono_us() + 10 * US_PER_MS));
    ck_assert(compute_is_paused(session));
}

/* Two that count and a third with a session of its own; each tick makes a file longer. */
static const char
    *const counters = "for f in a b; do (while :; do echo x >>$f; sleep 0.02; done) & done; "
                      "setsid sh -c 'while :; do echo x >>c; sleep 0.02; done' & touch ready; "
                      "while [ ! -e end ]; do sleep 0.02; done; echo done";

static const char *sizes(void)
{
    return kit_sh(&compute_kit.kit, "cd %s && cat a b c | wc -c", compute_kit.tree);
}

START_TEST(a_pause_stops_everything_and_no_clock_counts)
{
    compute_kit_walls(_i);
    CLEANUP(compute_session_freep) struct compute_session *session = NULL;
    struct compute_spec spec = compute_kit_spec(counters);
    struct compute_result result;
    struct err err = {0};
    spec.idle_ms = 700;
    spec.wall_ms = 700;
    ck_assert_msg(compute_begin(&spec, &session, &err) == RC_OK, "%s", err.text);
    compute_hold(session, COMPUTE_WAITS); /* The limits are for the pause. */
    turn_until(session, "ready", 20000);
    turn_until(session, "c", 20000);
    pause_whole(session);
    const char *before = sizes();
    turn_until(session, NULL, 1000); /* Longer than both limits. */
    ck_assert_str_eq(sizes(), before);
    compute_hold(session, COMPUTE_WAITS);
    kit_sh(&compute_kit.kit, "touch %s/end", compute_kit.tree);
    while (compute_turn(session, INT64_MAX))
        ;
    ck_assert_msg(compute_finish(session, &result, &err) == RC_OK, "%s", err.text);
    ck_assert_int_eq(result.end, COMPUTE_ENDED);
    ck_assert_str_eq(compute_kit.heard.last, "done");
    ck_assert_str_ne(sizes(), before);
}
END_TEST

START_TEST(one_that_waits_for_an_answer_runs_and_no_clock_counts)
{
    CLEANUP(compute_session_freep) struct compute_session *session = NULL;
    struct compute_spec spec = compute_kit_spec(
        "while [ ! -e go ]; do touch runs; sleep 0.02; done");
    struct compute_result result;
    struct err err = {0};
    spec.idle_ms = 500;
    spec.wall_ms = 500;
    ck_assert_msg(compute_begin(&spec, &session, &err) == RC_OK, "%s", err.text);
    compute_hold(session, COMPUTE_WAITS);
    turn_until(session, "runs", 20000);
    turn_until(session, NULL, 700);
    kit_sh(&compute_kit.kit, "rm %s/runs", compute_kit.tree);
    turn_until(session, "runs", 20000);
    compute_hold(session, COMPUTE_FREE);
    while (compute_turn(session, INT64_MAX))
        ;
    ck_assert_msg(compute_finish(session, &result, &err) == RC_OK, "%s", err.text);
    ck_assert_int_ne(result.end, COMPUTE_ENDED); /* Now they count again. */
    ck_assert_int_ge(result.duration_us, 1200 * US_PER_MS);
}
END_TEST

START_TEST(a_paused_command_can_be_stopped)
{
    compute_kit_walls(_i);
    CLEANUP(compute_session_freep) struct compute_session *session = NULL;
    struct compute_spec spec = compute_kit_spec(
        arena_printf(&compute_kit.kit.arena,
                     "trap 'echo cost 3; exit 0' INT; %s & "
                     "touch ready; while :; do sleep 0.02; done",
                     compute_kit.kit.sleep));
    struct compute_result result;
    struct err err = {0};
    spec.interrupt_ms = 20000;
    ck_assert_msg(compute_begin(&spec, &session, &err) == RC_OK, "%s", err.text);
    turn_until(session, "ready", 20000);
    pause_whole(session);
    stop_ask(&compute_kit.kit.stop, STOP_CANCEL);
    while (compute_turn(session, INT64_MAX))
        ;
    ck_assert_msg(compute_finish(session, &result, &err) == RC_OK, "%s", err.text);
    ck_assert_int_eq(result.end, COMPUTE_STOPPED);
    ck_assert_str_eq(compute_kit.heard.last, "cost 3");
    ck_assert(compute_kit_is_empty());
}
END_TEST

START_TEST(nothing_is_left_of_a_paused_command_that_is_dropped)
{
    compute_kit_walls(_i);
    struct compute_session *session = NULL;
    struct compute_spec spec = compute_kit_spec(
        arena_printf(&compute_kit.kit.arena, "%s & touch ready; %s", compute_kit.kit.sleep,
                     compute_kit.kit.sleep));
    struct err err = {0};
    ck_assert_msg(compute_begin(&spec, &session, &err) == RC_OK, "%s", err.text);
    turn_until(session, "ready", 20000);
    pause_whole(session);
    compute_session_free(session);
    ck_assert(compute_kit_is_empty());
}
END_TEST

/* It forks as fast as it can while it is stopped. */
START_TEST(a_command_that_multiplies_is_paused_too)
{
    CLEANUP(compute_session_freep) struct compute_session *session = NULL;
    struct compute_spec spec = compute_kit_spec(
        "for f in a b c; do (while :; do (sleep 0.01; echo x >>$f) & wait; done) & done; wait");
    struct err err = {0};
    ck_assert_msg(compute_begin(&spec, &session, &err) == RC_OK, "%s", err.text);
    for (int i = 0; i < 3; i++) {
        turn_until(session, "a", 20000);
        turn_until(session, "b", 20000);
        turn_until(session, "c", 20000);
        pause_whole(session);
        const char *before = sizes();
        turn_until(session, NULL, 100);
        ck_assert_str_eq(sizes(), before);
        kit_sh(&compute_kit.kit, "rm -f %s/[abc]", compute_kit.tree);
        compute_hold(session, COMPUTE_FREE);
    }
}
END_TEST

Suite *compute_live_suite(void)
{
    Suite *suite = suite_create("compute_live");
    TCase *tests = tcase_create("compute_live");
    tcase_add_checked_fixture(tests, compute_kit_open, compute_kit_close);
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, it_is_spoken_to_while_it_runs, 0, 2);
    tcase_add_test(tests, what_it_is_told_arrives_whole);
    tcase_add_test(tests, one_that_does_not_end_with_its_input_is_ended);
    tcase_add_loop_test(tests, one_that_does_not_listen_is_let_be, 0, (int)COUNT_OF(deaf));
    tcase_add_loop_test(tests, an_agent_is_interrupted_first_and_what_it_says_then_is_read, 0, 2);
    tcase_add_loop_test(
        tests,
        an_agent_that_ignores_the_interrupt_is_terminated_and_one_that_ignores_that_is_killed, 0,
        2);
    tcase_add_test(tests, an_agent_with_a_protocol_is_asked_before_any_signal);
    tcase_add_test(tests, an_agent_that_does_not_answer_its_protocol_gets_signals);
    tcase_add_loop_test(tests, a_pause_stops_everything_and_no_clock_counts, 0, 2);
    tcase_add_test(tests, one_that_waits_for_an_answer_runs_and_no_clock_counts);
    tcase_add_loop_test(tests, a_paused_command_can_be_stopped, 0, 2);
    tcase_add_loop_test(tests, nothing_is_left_of_a_paused_command_that_is_dropped, 0, 2);
    tcase_add_test(tests, a_command_that_multiplies_is_paused_too);
    suite_add_tcase(suite, tests);
    return suite;
}
