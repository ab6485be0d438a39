/*
 * test_steer.c - answers of the server reach the thread of a step, and deadlines without the time
 * that it was held.
 */
#include "base/clock.h"
#include "tests/unit/suites.h"
#include "work/job/steer.h"
#include <poll.h>

static struct steer steer;

static void setup(void)
{
    ck_assert_int_eq(steer_init(&steer, NULL), RC_OK);
}

static void teardown(void)
{
    steer_release(&steer);
}

static bool is_woken(void)
{
    struct pollfd look = {.fd = steer.event_fd, .events = POLLIN};
    return poll(&look, 1, 0) == 1;
}

static void note(enum port_hold hold, int64_t seq)
{
    steer_note(&steer, &(struct port_beat){.ok = true, .hold = hold, .message_seq = seq});
}

START_TEST(only_news_wakes_the_step)
{
    note(PORT_HOLD_NONE, 0);
    ck_assert(!is_woken());
    note(PORT_HOLD_PAUSED, 0);
    ck_assert(is_woken());
    ck_assert_int_eq(steer_hold(&steer), PORT_HOLD_PAUSED);
    steer_seen(&steer);
    note(PORT_HOLD_PAUSED, 0);
    ck_assert(!is_woken());
    note(PORT_HOLD_PAUSED, 3);
    ck_assert(is_woken());
    ck_assert_int_eq(steer_message_seq(&steer), 3);
}
END_TEST

START_TEST(an_older_answer_takes_no_message_back)
{
    note(PORT_HOLD_NONE, 3);
    note(PORT_HOLD_NONE, 2);
    ck_assert_int_eq(steer_message_seq(&steer), 3);
}
END_TEST

START_TEST(a_lost_or_cancelled_job_is_not_steered)
{
    steer_note(&steer, &(struct port_beat){.ok = false, .hold = PORT_HOLD_PAUSED});
    steer_note(&steer, &(struct port_beat){.ok = true, .cancel = true, .hold = PORT_HOLD_PAUSED});
    ck_assert_int_eq(steer_hold(&steer), PORT_HOLD_NONE);
    steer_note(NULL, &(struct port_beat){.ok = true, .hold = PORT_HOLD_PAUSED});
    ck_assert_int_eq(steer_hold(NULL), PORT_HOLD_NONE);
    ck_assert_int_eq(steer_message_seq(NULL), 0);
}
END_TEST

START_TEST(the_next_job_begins_afresh)
{
    note(PORT_HOLD_PAUSED, 3);
    steer_reset(&steer);
    ck_assert(!is_woken());
    ck_assert_int_eq(steer_hold(&steer), PORT_HOLD_NONE);
    ck_assert_int_eq(steer_message_seq(&steer), 0);
}
END_TEST

START_TEST(a_deadline_waits_while_the_step_is_held)
{
    int64_t deadline_us = 1000;
    ck_assert_int_eq(steer_extend(&steer, &deadline_us, 100), 1000);
    note(PORT_HOLD_PAUSED, 0);
    ck_assert_int_eq(steer_extend(&steer, &deadline_us, 200), INT64_MAX);
    note(PORT_HOLD_ASKING, 0); /* Held all the same. */
    ck_assert_int_eq(steer_extend(&steer, &deadline_us, 5000), INT64_MAX);
    note(PORT_HOLD_NONE, 0);
    ck_assert_int_eq(steer_extend(&steer, &deadline_us, 9000), 9800);
    ck_assert_int_eq(steer_extend(&steer, &deadline_us, 9100), 9800);
    int64_t never_us = INT64_MAX;
    note(PORT_HOLD_PAUSED, 0);
    (void)steer_extend(&steer, &never_us, 9200);
    note(PORT_HOLD_NONE, 0);
    ck_assert_int_eq(steer_extend(&steer, &never_us, 9300), INT64_MAX);
}
END_TEST

Suite *steer_suite(void)
{
    Suite *suite = suite_create("steer");
    TCase *tests = tcase_create("steer");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, only_news_wakes_the_step);
    tcase_add_test(tests, an_older_answer_takes_no_message_back);
    tcase_add_test(tests, a_lost_or_cancelled_job_is_not_steered);
    tcase_add_test(tests, the_next_job_begins_afresh);
    tcase_add_test(tests, a_deadline_waits_while_the_step_is_held);
    suite_add_tcase(suite, tests);
    return suite;
}
