/*
 * test_levels.c - a look at the queues, and what is told of them.
 */
#include "control/queue/enqueue.h"
#include "control/queue/levels.h"
#include "control/queue/queues.h"
#include "core/event_types.h"
#include "tests/unit/lab.h"
#include <check.h>
#include <string.h>

static struct lab lab;

static void setup(void)
{
    lab_open(&lab, NULL);
}

static void teardown(void)
{
    lab_close(&lab);
}

static void put(const char *queue, size_t count)
{
    struct cmd_enqueue *cmd = cmd_enqueue_new();
    struct job_spec *jobs = arena_array(&cmd->base.arena, count, sizeof *jobs);
    for (size_t i = 0; i < count; i++)
        jobs[i] = (struct job_spec){
            .queue = queue, .type = "t", .payload = STR("1"), .priority = 100, .max_attempts = 1};
    cmd->jobs = jobs;
    cmd->count = count;
    ck_assert_int_eq(lab_call(&lab, &cmd->base), RC_OK);
    command_free(&cmd->base);
}

/* Takes that many and lets them end. */
static void drain(const char *queue, size_t count, bool fail)
{
    while (count > 0) {
        struct job_row *jobs;
        size_t got = lab_lease(&lab, queue, "w", &jobs);
        ck_assert_uint_gt(got, 0);
        for (size_t i = 0; i < got; i++)
            (void)(fail ? lab_fail(&lab, &jobs[i], "x", false) : lab_complete(&lab, &jobs[i], "1"));
        count -= got < count ? got : count;
    }
}

static bool look(void)
{
    struct err err = {0};
    bool busy = false;
    struct cmd_levels *cmd = cmd_levels_new();
    enum rc rc = levels_look(lab.db, lab.now_us, cmd, &busy, &err);
    ck_assert_msg(rc == RC_OK, "%s", err.text);
    if (cmd->count > 0)
        ck_assert_msg(lab_call(&lab, &cmd->base) == RC_OK, "%s", cmd->base.err.text);
    command_free(&cmd->base);
    return busy;
}

static struct queue_level_row row_of(const char *queue)
{
    struct queue_level_row row;
    ck_assert_int_eq(queue_levels_get(lab.db, queue, &lab.arena, &row, NULL), RC_OK);
    return row;
}

/* The data of all events of a type, one after the other. */
static const char *told(const char *type)
{
    struct event *events;
    size_t count;
    struct event_filter filter = {.type_pattern = type, .limit = 100};
    ck_assert_int_eq(events_list(lab.db, &filter, &lab.arena, &events, &count, NULL), RC_OK);
    const char *text = "";
    for (size_t i = 0; i < count; i++)
        text = arena_printf(&lab.arena, "%s%.*s", text, (int)events[i].data.len, events[i].data.at);
    return text;
}

START_TEST(an_idle_server_has_nothing_to_look_at)
{
    ck_assert(!look());
    put("q", 1);
    ck_assert(look());
    ck_assert_int_eq(row_of("q").desired, 1);
    drain("q", 1, false);
    ck_assert(look()); /* A worker is still wanted, for a while. */
    lab_pass_ms(&lab, 600 * 1000);
    ck_assert(!look());
    ck_assert_int_eq(row_of("q").desired, 0);
    ck_assert_str_eq(told("agent.queue.*"), "");
}
END_TEST

START_TEST(a_level_rises_with_the_depth_and_falls_below_it)
{
    put("q", 499);
    look();
    ck_assert_str_eq(told(EV_QUEUE_LEVEL_RAISED), "");
    put("q", 1);
    look();
    look();
    ck_assert_int_eq(row_of("q").level, LEVEL_WARNING);
    ck_assert_int_eq(row_of("q").level_us, lab.now_us);
    ck_assert_str_eq(told(EV_QUEUE_LEVEL_RAISED),
                     "{\"queue\":\"q\",\"from\":\"normal\",\"to\":\"warning\",\"depth\":500,"
                     "\"oldestMs\":0,\"leased\":0,\"desiredWorkers\":10}");
    drain("q", 100, false);
    look(); /* 400: still inside. */
    ck_assert_int_eq(row_of("q").level, LEVEL_WARNING);
    drain("q", 1, false);
    look();
    ck_assert_int_eq(row_of("q").level, LEVEL_NORMAL);
    ck_assert_ptr_nonnull(strstr(told(EV_QUEUE_LEVEL_LOWERED), "\"to\":\"normal\""));
}
END_TEST

START_TEST(a_queue_keeps_the_workers_that_are_at_work)
{
    struct job_row *jobs;
    put("q", 1);
    ck_assert_uint_eq(lab_lease(&lab, "q", "w", &jobs), 1);
    ck_assert(look());
    ck_assert_int_eq(row_of("q").desired, 1);
}
END_TEST

START_TEST(a_paused_queue_deserves_no_workers)
{
    struct cmd_queue *cmd = cmd_queue_new();
    cmd->name = "q";
    cmd->change = QUEUE_PAUSE;
    ck_assert_int_eq(lab_call(&lab, &cmd->base), RC_OK);
    command_free(&cmd->base);
    put("q", 500);
    look();
    ck_assert_int_eq(row_of("q").desired, 0);
    ck_assert_int_eq(row_of("q").level, LEVEL_WARNING);
}
END_TEST

START_TEST(a_level_rises_with_the_age_of_the_oldest)
{
    put("q", 1);
    lab_pass_ms(&lab, 300 * 1000);
    look();
    ck_assert_int_eq(row_of("q").level, LEVEL_WARNING);
    lab_pass_ms(&lab, 600 * 1000);
    ck_assert(look());
    ck_assert_int_eq(row_of("q").level, LEVEL_CRITICAL);
    ck_assert_ptr_nonnull(strstr(told(EV_QUEUE_LEVEL_RAISED), "\"oldestMs\":900000"));
    drain("q", 1, false);
    look();
    ck_assert_int_eq(row_of("q").level, LEVEL_NORMAL);
}
END_TEST

START_TEST(dead_letters_are_told_once_until_there_are_fewer)
{
    put("q", 9);
    drain("q", 9, true);
    look();
    ck_assert_str_eq(told(EV_DEAD_LETTERS_ALERT), "");
    put("q", 2);
    drain("q", 2, true);
    look();
    look();
    static const char alert[] = "{\"queue\":\"q\",\"count\":11,\"threshold\":10}";
    ck_assert_str_eq(told(EV_DEAD_LETTERS_ALERT), alert);
    ck_assert(row_of("q").dead_alert);
    struct job_row *jobs;
    size_t count;
    struct job_filter filter = {.state = JOB_DEAD_LETTER, .limit = 2};
    ck_assert_int_eq(jobs_list(lab.db, &filter, &lab.arena, &jobs, &count, NULL), RC_OK);
    ck_assert_uint_eq(count, 2);
    for (size_t i = 0; i < count; i++) { /* They live again. */
        jobs[i].life.state = JOB_QUEUED;
        jobs[i].life.dead_reason = DEAD_NONE;
        jobs[i].life.attempt = 0;
        ck_assert_int_eq(jobs_save(lab.db, &jobs[i], NULL), RC_OK);
    }
    look();
    ck_assert(!row_of("q").dead_alert);
    drain("q", 2, true);
    look();
    ck_assert_str_eq(told(EV_DEAD_LETTERS_ALERT), arena_printf(&lab.arena, "%s%s", alert, alert));
}
END_TEST

START_TEST(what_changed_since_the_look_is_left_to_the_next_one)
{
    put("q", 500);
    struct cmd_levels *late = cmd_levels_new();
    bool busy;
    ck_assert_int_eq(levels_look(lab.db, lab.now_us, late, &busy, NULL), RC_OK);
    look();
    ck_assert_int_eq(lab_call(&lab, &late->base), RC_OK);
    command_free(&late->base);
    const char *text = told(EV_QUEUE_LEVEL_RAISED);
    ck_assert_ptr_nonnull(text);
    ck_assert_ptr_null(strstr(text + 1, "{\"queue\""));
}
END_TEST

Suite *levels_suite(void)
{
    Suite *suite = suite_create("levels");
    TCase *tc = tcase_create("levels");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, an_idle_server_has_nothing_to_look_at);
    tcase_add_test(tc, a_level_rises_with_the_depth_and_falls_below_it);
    tcase_add_test(tc, a_queue_keeps_the_workers_that_are_at_work);
    tcase_add_test(tc, a_paused_queue_deserves_no_workers);
    tcase_add_test(tc, a_level_rises_with_the_age_of_the_oldest);
    tcase_add_test(tc, dead_letters_are_told_once_until_there_are_fewer);
    tcase_add_test(tc, what_changed_since_the_look_is_left_to_the_next_one);
    suite_add_tcase(suite, tc);
    return suite;
}
