/* test_loop.c - ticks that rest while they have nothing to do. */
#include "http/loop.h"
#include "tests/unit/suites.h"

struct ticks {
    struct loop *loop;
    struct event *first, *second;
    int first_count, second_count;
};

static void on_first(void *ctx)
{
    struct ticks *ticks = ctx;
    if (++ticks->first_count < 3)
        return;
    loop_pace(ticks->first, 0);
    loop_pace(ticks->second, 5);
}

static void on_second(void *ctx)
{
    struct ticks *ticks = ctx;
    if (++ticks->second_count == 3)
        loop_stop(ticks->loop);
}

START_TEST(a_tick_rests_until_it_is_given_a_pace)
{
    struct ticks ticks = {0};
    ck_assert_int_eq(loop_new(&ticks.loop, NULL), RC_OK);
    ticks.first = loop_every(ticks.loop, 1, on_first, &ticks);
    ticks.second = loop_every(ticks.loop, 0, on_second, &ticks);
    loop_run(ticks.loop);
    ck_assert_int_eq(ticks.first_count, 3);
    ck_assert_int_eq(ticks.second_count, 3);
    loop_event_free(ticks.first);
    loop_event_free(ticks.second);
    loop_free(ticks.loop);
}
END_TEST

static void urge(void *ctx)
{
    struct ticks *ticks = ctx;
    ticks->first_count++;
    loop_pace(ticks->second, 30);
}

START_TEST(the_same_pace_again_does_not_put_a_tick_off)
{
    struct ticks ticks = {0};
    ck_assert_int_eq(loop_new(&ticks.loop, NULL), RC_OK);
    ticks.first = loop_every(ticks.loop, 1, urge, &ticks);
    ticks.second = loop_every(ticks.loop, 0, on_second, &ticks);
    loop_run(ticks.loop); /* Would not return. */
    ck_assert_int_gt(ticks.first_count, 1);
    loop_event_free(ticks.first);
    loop_event_free(ticks.second);
    loop_free(ticks.loop);
}
END_TEST

Suite *loop_suite(void)
{
    Suite *suite = suite_create("loop");
    TCase *all = tcase_create("all");
    tcase_add_test(all, a_tick_rests_until_it_is_given_a_pace);
    tcase_add_test(all, the_same_pace_again_does_not_put_a_tick_off);
    suite_add_tcase(suite, all);
    return suite;
}
