/* test_caps.c - holders: counted for each, bounded, gone when they hold nothing. */
#include "base/str.h"
#include "http/caps.h"
#include "tests/unit/suites.h"
#include <stdio.h>

static struct caps *caps;

static void start(void)
{
    const struct caps_limits limits = {
        .max = {[CAPS_RUN] = {[CAPS_CONNECTIONS] = 2, [CAPS_STREAMS] = 20, [CAPS_BYTES] = 100}},
        .streams_max = 32,
    };
    caps = caps_new(&limits);
}

static void stop(void)
{
    caps_free(caps); /* Asserts that no holder is left. */
}

static struct holder *hold(enum caps_kind kind, const char *name)
{
    struct caps_key key = {.kind = kind};
    (void)snprintf(key.name, sizeof key.name, "%s", name);
    return caps_hold(caps, &key);
}

START_TEST(a_name_has_one_holder_and_kinds_are_apart)
{
    struct holder *a = hold(CAPS_RUN, "x"), *b = hold(CAPS_RUN, "x"), *c = hold(CAPS_TOKEN, "x");
    ck_assert_ptr_eq(a, b);
    ck_assert_ptr_ne(a, c);
    caps_unref(a);
    caps_unref(b);
    caps_unref(c);
    ck_assert(TAILQ_EMPTY(caps_holders(caps)));
}
END_TEST

START_TEST(connections_are_bounded_and_listed_by_age)
{
    struct holder *run = hold(CAPS_RUN, "x");
    struct seat seats[3] = {{0}};
    ck_assert(seat_take(&seats[0], run));
    ck_assert(seat_take(&seats[1], run));
    ck_assert(!seat_take(&seats[2], run));
    ck_assert_ptr_null(seats[2].holder);
    ck_assert_ptr_eq(TAILQ_FIRST(&run->seats), &seats[0]);
    seat_leave(&seats[0]);
    ck_assert(seat_take(&seats[2], run));
    ck_assert_ptr_eq(TAILQ_FIRST(&run->seats), &seats[1]);
    for (size_t i = 0; i < COUNT_OF(seats); i++)
        seat_leave(&seats[i]);
    caps_unref(run);
}
END_TEST

START_TEST(streams_have_a_total_whose_end_is_the_admins)
{
    struct holder *run = hold(CAPS_RUN, "x"), *token = hold(CAPS_TOKEN, "t");
    struct holder *admin = hold(CAPS_ADMIN, "admin");
    ck_assert(caps_take(run, CAPS_STREAMS, 20));
    ck_assert(!caps_take(run, CAPS_STREAMS, 1));
    ck_assert(caps_take(token, CAPS_STREAMS, 10));
    ck_assert(!caps_take(token, CAPS_STREAMS, 1)); /* 30 of 32: the rest is for the admin. */
    ck_assert(caps_take(admin, CAPS_STREAMS, 2));
    ck_assert(!caps_take(admin, CAPS_STREAMS, 1));
    caps_give(run, CAPS_STREAMS, 20);
    ck_assert(caps_take(token, CAPS_STREAMS, 18));
    caps_give(token, CAPS_STREAMS, 28);
    caps_give(admin, CAPS_STREAMS, 2);
    caps_unref(run);
    caps_unref(token);
    caps_unref(admin);
}
END_TEST

START_TEST(a_first_answer_may_be_large_and_a_second_may_not)
{
    struct holder *run = hold(CAPS_RUN, "x");
    ck_assert(caps_take(run, CAPS_BYTES, 1000));
    ck_assert(!caps_take(run, CAPS_BYTES, 1));
    caps_give(run, CAPS_BYTES, 1000);
    ck_assert(caps_take(run, CAPS_BYTES, 60));
    ck_assert(caps_take(run, CAPS_BYTES, 40));
    ck_assert(!caps_take(run, CAPS_BYTES, 1));
    caps_give(run, CAPS_BYTES, 100);
    caps_unref(run);
}
END_TEST

Suite *caps_suite(void)
{
    Suite *suite = suite_create("caps");
    TCase *tests = tcase_create("caps");
    tcase_add_checked_fixture(tests, start, stop);
    tcase_add_test(tests, a_name_has_one_holder_and_kinds_are_apart);
    tcase_add_test(tests, connections_are_bounded_and_listed_by_age);
    tcase_add_test(tests, streams_have_a_total_whose_end_is_the_admins);
    tcase_add_test(tests, a_first_answer_may_be_large_and_a_second_may_not);
    suite_add_tcase(suite, tests);
    return suite;
}
