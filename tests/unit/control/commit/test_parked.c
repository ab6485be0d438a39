/*
 * test_parked.c - the register of leases that wait.
 */
#include "control/commit/parked.h"
#include "control/queue/lease.h"
#include "tests/unit/suites.h"
#include <check.h>

enum { LEASES = 4 };

static struct parked *parked;
static struct cmd_lease *leases[LEASES];
static const char *const of_a[] = {"a", NULL};
static const char *const of_b[] = {"b", NULL};
static const char *const of_both[] = {"b", "a", NULL};

static void setup(void)
{
    static const char *const *const queues[LEASES] = {of_a, of_b, of_both, of_a};
    static const char *const workers[LEASES] = {"n1/0", "n2/0", "n1/1", "n2/1"};
    parked = parked_new();
    for (int i = 0; i < LEASES; i++) {
        leases[i] = cmd_lease_new();
        leases[i]->queues = queues[i];
        leases[i]->base.waiter = workers[i];
        leases[i]->base.wait_until_us = 100 * (i + 1);
    }
}

static void park(int from, int to)
{
    struct command_list list;
    command_list_init(&list);
    for (int i = from; i < to; i++)
        command_list_push(&list, &leases[i]->base);
    parked_add(parked, &list, parked_news(parked));
    ck_assert_uint_eq(list.count, 0);
}

/* Empties the register. */
static void teardown(void)
{
    struct parked_swept rest;
    parked_drain(parked, "");
    parked_sweep(parked, 0, &rest);
    parked_free(parked);
    for (int i = 0; i < LEASES; i++)
        command_free(&leases[i]->base);
}

static struct command_list take(const char *queue, size_t max)
{
    struct round round = {.ready = {{.queue = queue, .jobs = 1}}, .ready_count = 1};
    struct command_list list;
    command_list_init(&list);
    parked_take(parked, &round, max, &list);
    return list;
}

START_TEST(those_that_want_a_queue_are_taken_in_order)
{
    park(0, LEASES);
    struct command_list list = take("a", 2);
    ck_assert_uint_eq(list.count, 2);
    ck_assert_ptr_eq(command_list_pop(&list), leases[0]);
    ck_assert_ptr_eq(command_list_pop(&list), leases[2]);
    ck_assert_uint_eq(parked_count(parked), 2);
    ck_assert_uint_eq(take("c", 2).count, 0);
}
END_TEST

START_TEST(those_that_got_nothing_have_their_place_again)
{
    park(0, LEASES);
    struct command_list list = take("a", 1);
    parked_add(parked, &list, parked_news(parked));
    ck_assert_uint_eq(list.count, 0);
    list = take("a", 1);
    ck_assert_ptr_eq(list.first, leases[0]);
    parked_add(parked, &list, parked_news(parked));
    list = take("b", 1); /* The one between them was not taken. */
    ck_assert_ptr_eq(list.first, leases[1]);
    struct command_list others = take("a", LEASES);
    ck_assert_uint_eq(others.count, 3);
    parked_add(parked, &others, parked_news(parked));
    parked_add(parked, &list, parked_news(parked));
    list = take("b", LEASES);
    ck_assert_ptr_eq(command_list_pop(&list), leases[1]);
    ck_assert_ptr_eq(command_list_pop(&list), leases[2]);
    ck_assert_uint_eq(parked_count(parked), 2);
}
END_TEST

START_TEST(who_looked_before_the_last_news_has_to_look_again)
{
    int64_t news = parked_news(parked);
    parked_note_work(parked);
    struct command_list list;
    command_list_init(&list);
    command_list_push(&list, &leases[0]->base);
    parked_add(parked, &list, news);
    ck_assert_uint_eq(list.count, 1);
    ck_assert_uint_eq(parked_count(parked), 0);
    parked_add(parked, &list, news);
    ck_assert_uint_eq(list.count, 1);
    parked_add(parked, &list, news + 1);
    ck_assert_uint_eq(list.count, 0);
    ck_assert_uint_eq(parked_count(parked), 1);
}
END_TEST

START_TEST(whose_time_is_over_leaves)
{
    park(0, LEASES);
    ck_assert_int_eq(parked_next_us(parked), 100);
    struct parked_swept swept;
    parked_sweep(parked, 99, &swept);
    ck_assert_uint_eq(swept.over.count, 0);
    parked_sweep(parked, 200, &swept);
    ck_assert_uint_eq(swept.over.count, 2);
    ck_assert_int_eq(parked_next_us(parked), 300);
}
END_TEST

START_TEST(who_wants_to_look_again_is_let_out_for_it)
{
    leases[1]->base.look_us = 50;
    park(0, LEASES);
    ck_assert_int_eq(parked_next_us(parked), 50);
    struct parked_swept swept;
    parked_sweep(parked, 50, &swept);
    ck_assert_uint_eq(swept.over.count, 0);
    ck_assert_uint_eq(swept.again.count, 1);
    ck_assert_ptr_eq(swept.again.first, leases[1]);
}
END_TEST

START_TEST(who_hung_up_and_who_drains_leave)
{
    park(0, LEASES);
    struct parked_swept swept;
    leases[3]->base.abandoned = true;
    parked_sweep(parked, 0, &swept);
    ck_assert_uint_eq(swept.over.count, 0); /* Not before somebody says so. */
    parked_look(parked);
    parked_sweep(parked, 0, &swept);
    ck_assert_uint_eq(swept.over.count, 1);
    ck_assert_ptr_eq(swept.over.first, leases[3]);
    parked_drain(parked, "n1/");
    parked_sweep(parked, 0, &swept);
    ck_assert_uint_eq(swept.over.count, 2);
    ck_assert(parked_gives_up(parked, &leases[0]->base));
    ck_assert(!parked_gives_up(parked, &leases[1]->base));
}
END_TEST

Suite *parked_suite(void)
{
    Suite *suite = suite_create("parked");
    TCase *tc = tcase_create("parked");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, those_that_want_a_queue_are_taken_in_order);
    tcase_add_test(tc, those_that_got_nothing_have_their_place_again);
    tcase_add_test(tc, who_looked_before_the_last_news_has_to_look_again);
    tcase_add_test(tc, whose_time_is_over_leaves);
    tcase_add_test(tc, who_wants_to_look_again_is_let_out_for_it);
    tcase_add_test(tc, who_hung_up_and_who_drains_leave);
    suite_add_tcase(suite, tc);
    return suite;
}
