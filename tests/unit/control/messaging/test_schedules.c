/*
 * test_schedules.c - schedules in virtual time: what fires, when, and how often.
 */
#include "base/clock.h"
#include "control/messaging/schedules.h"
#include "control/watch/due.h"
#include "core/event_types.h"
#include "tests/unit/lab.h"
#include <check.h>
#include <string.h>

static struct lab lab;

static void setup(void)
{
    lab_open(&lab, NULL);
    lab.now_us -= lab.now_us % US_PER_MINUTE;
}

static void teardown(void)
{
    lab_close(&lab);
}

static struct schedule_row put(const char *name, const char *cron, bool enabled)
{
    struct cmd_schedule_put *cmd = cmd_schedule_put_new();
    cmd->name = name;
    cmd->cron = cron;
    cmd->job = STR("{\"queue\":\"q\",\"type\":\"tick\",\"payload\":{\"n\":1},\"priority\":7,"
                   "\"maxAttempts\":2}");
    cmd->enabled = enabled;
    ck_assert_msg(lab_call(&lab, &cmd->base) == RC_OK, "%s", cmd->base.err.text);
    struct schedule_row row = cmd->row;
    command_free(&cmd->base);
    return row;
}

static size_t fired(struct job_row **ret_rows)
{
    struct job_filter filter = {.queue = "q", .state = -1, .limit = 1000};
    size_t count;
    ck_assert_int_eq(jobs_list(lab.db, &filter, &lab.arena, ret_rows, &count, NULL), RC_OK);
    return count;
}

static struct schedule_row row_of(const char *name)
{
    struct schedule_row row;
    ck_assert_int_eq(schedules_get(lab.db, name, &lab.arena, &row, NULL), RC_OK);
    return row;
}

START_TEST(a_schedule_makes_its_job_at_each_of_its_times)
{
    struct job_row *jobs;
    struct schedule_row row = put("s", "* * * * *", true);
    ck_assert_int_eq(row.next_us, lab.now_us + US_PER_MINUTE);
    lab_pass_ms(&lab, 59999);
    ck_assert_uint_eq(fired(&jobs), 0);
    lab_pass_ms(&lab, 1);
    ck_assert_uint_eq(fired(&jobs), 1);
    ck_assert_str_eq(jobs[0].type, "tick");
    ck_assert(str_is(jobs[0].payload, "{\"n\":1}"));
    ck_assert_int_eq(jobs[0].priority, 7);
    ck_assert_int_eq(jobs[0].life.attempt_max, 2);
    ck_assert(text_starts(jobs[0].headers.at, "{\"schedule\":\"s\",\"scheduledAt\":\""));
    row = row_of("s");
    ck_assert_int_eq(row.last_us, lab.now_us);
    ck_assert_int_eq(row.next_us, lab.now_us + US_PER_MINUTE);
    ck_assert_str_eq(row.last_job_id.text, jobs[0].id.text);
    lab_pass_ms(&lab, 0);
    ck_assert_uint_eq(fired(&jobs), 1);
    lab_pass_ms(&lab, 60000);
    ck_assert_uint_eq(fired(&jobs), 2);
}
END_TEST

START_TEST(times_that_were_missed_make_one_job)
{
    struct job_row *jobs;
    put("s", "* * * * *", true);
    lab_pass_ms(&lab, 10 * 60000 + 1);
    ck_assert_uint_eq(fired(&jobs), 1);
    ck_assert_int_eq(row_of("s").next_us, lab.now_us - 1000 + US_PER_MINUTE);
}
END_TEST

START_TEST(a_time_that_is_looked_at_twice_makes_one_job)
{
    struct job_row *jobs;
    struct schedule_row row = put("s", "* * * * *", true);
    lab_pass_ms(&lab, 60000);
    struct schedule_row again = row_of("s");
    again.next_us = row.next_us;
    ck_assert_int_eq(schedules_save(lab.db, &again, NULL), RC_OK);
    lab_pass_ms(&lab, 0);
    ck_assert_uint_eq(fired(&jobs), 1);
    ck_assert_str_eq(row_of("s").last_job_id.text, jobs[0].id.text);
}
END_TEST

static int refused(void)
{
    struct event_filter filter = {.type_pattern = EV_SCHEDULE_REFUSED, .limit = 100};
    struct event *events;
    size_t count;
    ck_assert_int_eq(events_list(lab.db, &filter, &lab.arena, &events, &count, NULL), RC_OK);
    return (int)count;
}

START_TEST(a_job_that_its_queue_does_not_take_is_told_of)
{
    struct job_row *jobs;
    put("s", "* * * * *", true);
    lab_queue(&lab, "q", "{\"maxLength\":1}");
    lab_pass_ms(&lab, 60000);
    ck_assert_int_eq(refused(), 0);
    lab_pass_ms(&lab, 60000);
    ck_assert_int_eq(refused(), 1);
    ck_assert_uint_eq(fired(&jobs), 1);
    ck_assert_int_eq(row_of("s").next_us, lab.now_us + US_PER_MINUTE);
}
END_TEST

START_TEST(a_disabled_schedule_rests_and_can_be_run_by_hand)
{
    struct job_row *jobs;
    struct schedule_row row = put("s", "* * * * *", false);
    ck_assert_int_eq(row.next_us, 0);
    lab_pass_ms(&lab, 60000);
    ck_assert_uint_eq(fired(&jobs), 0);
    for (size_t i = 1; i <= 2; i++) {
        struct cmd_schedule_run *run = cmd_schedule_run_new();
        run->name = "s";
        ck_assert_int_eq(lab_call(&lab, &run->base), RC_OK);
        ck_assert_uint_eq(fired(&jobs), i);
        ck_assert_str_eq(row_of("s").last_job_id.text, run->job_id.text);
        command_free(&run->base);
    }
    put("s", "* * * * *", true);
    lab_pass_ms(&lab, 60000);
    ck_assert_uint_eq(fired(&jobs), 3);
}
END_TEST

START_TEST(putting_the_same_again_misses_no_time)
{
    struct job_row *jobs;
    put("s", "* * * * *", true);
    lab.now_us += US_PER_MINUTE; /* Due, and nobody has looked. */
    put("s", "* * * * *", true);
    lab_pass_ms(&lab, 1);
    ck_assert_uint_eq(fired(&jobs), 1);
    struct schedule_row row = put("s", "30 * * * *", true);
    ck_assert_int_gt(row.next_us, lab.now_us);
}
END_TEST

START_TEST(a_schedule_is_what_is_due_next)
{
    struct schedule_row row = put("s", "* * * * *", true);
    struct cmd_due *due = cmd_due_new();
    ck_assert_int_eq(lab_call(&lab, &due->base), RC_OK);
    ck_assert_int_eq(due->next_due_us, row.next_us);
    command_free(&due->base);
    struct cmd_schedule_remove *remove = cmd_schedule_remove_new();
    remove->name = "s";
    ck_assert_int_eq(lab_call(&lab, &remove->base), RC_OK);
    command_free(&remove->base);
    due = cmd_due_new();
    ck_assert_int_eq(lab_call(&lab, &due->base), RC_OK);
    ck_assert_int_eq(due->next_due_us, 0);
    command_free(&due->base);
}
END_TEST

Suite *schedules_suite(void)
{
    Suite *suite = suite_create("schedules");
    TCase *tc = tcase_create("schedules");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_schedule_makes_its_job_at_each_of_its_times);
    tcase_add_test(tc, times_that_were_missed_make_one_job);
    tcase_add_test(tc, a_time_that_is_looked_at_twice_makes_one_job);
    tcase_add_test(tc, a_job_that_its_queue_does_not_take_is_told_of);
    tcase_add_test(tc, a_disabled_schedule_rests_and_can_be_run_by_hand);
    tcase_add_test(tc, putting_the_same_again_misses_no_time);
    tcase_add_test(tc, a_schedule_is_what_is_due_next);
    suite_add_tcase(suite, tc);
    return suite;
}
