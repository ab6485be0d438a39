/*
 * test_flight.c - what a batch has delivered when some of its records were kept and others not.
 */
#include "base/mem.h"
#include "sink/flight.h"
#include <check.h>
#include <stdio.h>
#include <string.h>

enum { COUNT = 6 };

struct fixture {
    struct event events[COUNT];
    struct sink_record records[COUNT];
    struct flight flight;
};

/* One record for each letter of keys, which are ids of their runs. */
static struct fixture *fixture_make(const char *keys)
{
    struct fixture *fixture = mem_alloc(sizeof *fixture);
    for (size_t i = 0; keys[i] != '\0'; i++) {
        fixture->events[i].seq = (int64_t)i + 10;
        (void)snprintf(fixture->events[i].run_id.text, sizeof fixture->events[i].run_id.text, "%c",
                       keys[i]);
        fixture->records[i].event = &fixture->events[i];
    }
    flight_begin(&fixture->flight, fixture->records, strlen(keys));
    return fixture;
}

static const struct err late = {.text = "late"}, bad = {.text = "bad"};

/* K kept, F failed, R refused, S sent and not answered, W not sent. */
static void settle(struct fixture *fixture, const char *fates)
{
    struct flight *flight = &fixture->flight;
    for (size_t i = strlen(fates); i-- > 0;) { /* Answers come in any order. */
        if (fates[i] == 'W' || flight->states[i] != FLIGHT_WAITING)
            continue;
        flight_sent(flight, i);
        if (fates[i] == 'K')
            flight_kept(flight, i);
        else if (fates[i] != 'S')
            flight_missed(flight, i, fates[i] == 'R' ? FLIGHT_REFUSED : FLIGHT_FAILED, &bad);
    }
}

static struct sink_outcome outcome_of(struct fixture *fixture, const char *fates)
{
    settle(fixture, fates);
    return flight_end(&fixture->flight, &late);
}

START_TEST(what_is_delivered_ends_before_the_first_record_that_was_not_kept)
{
    static const struct {
        const char *fates;
        enum sink_verdict verdict;
        size_t delivered;
        const char *why;
    } table[] = {
        {"KKKKKK", SINK_DELIVERED, 6, ""},  {"KKFKKK", SINK_RETRY, 2, "bad"},
        {"KRFKKK", SINK_REFUSED, 1, "bad"}, {"KFRKKK", SINK_RETRY, 1, "bad"},
        {"KKSKKF", SINK_RETRY, 2, "late"},  {"WWWWWW", SINK_RETRY, 0, "late"},
        {"KKKKKS", SINK_RETRY, 5, "late"},  {"RKKKKK", SINK_REFUSED, 0, "bad"},
    };
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        struct fixture *fixture = fixture_make("aaaaaa");
        struct sink_outcome outcome = outcome_of(fixture, table[i].fates);
        ck_assert_msg(outcome.verdict == table[i].verdict, "%s", table[i].fates);
        ck_assert_uint_eq(outcome.delivered, table[i].delivered);
        ck_assert_str_eq(outcome.why.text, table[i].why);
        mem_free(fixture);
    }
}
END_TEST

START_TEST(what_there_was_no_time_for_may_come_again_at_once)
{
    static const struct {
        const char *fates;
        enum sink_verdict verdict;
        size_t delivered;
        const char *why;
    } table[] = {
        {"KKWWWW", SINK_DELIVERED, 2, ""},
        {"KKFWWW", SINK_RETRY, 2, "bad"},
        {"KSWWWW", SINK_RETRY, 1, "the receiver is too slow"},
        {"WWWWWW", SINK_RETRY, 0, "the receiver is too slow"},
    };
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        struct fixture *fixture = fixture_make("aaaaaa");
        settle(fixture, table[i].fates);
        struct sink_outcome outcome = flight_end(&fixture->flight, NULL);
        ck_assert_msg(outcome.verdict == table[i].verdict, "%s", table[i].fates);
        ck_assert_uint_eq(outcome.delivered, table[i].delivered);
        ck_assert_str_eq(outcome.why.text, table[i].why);
        mem_free(fixture);
    }
}
END_TEST

START_TEST(what_was_kept_behind_a_failure_is_not_sent_again)
{
    struct fixture *fixture = fixture_make("abcdef");
    struct flight *flight = &fixture->flight;
    ck_assert_uint_eq(outcome_of(fixture, "KFKKFK").delivered, 1);
    flight_begin(flight, fixture->records + 1, 1); /* A probe, of one record, */
    ck_assert_int_eq(flight->states[0], FLIGHT_WAITING);
    ck_assert_uint_eq(outcome_of(fixture, "F").delivered, 0);
    flight_begin(flight, fixture->records + 1, 5); /* and the whole rest. */
    ck_assert_uint_eq(flight_waiting(flight, 0), 0);
    ck_assert_uint_eq(flight_waiting(flight, 1), 3);
    ck_assert_uint_eq(flight_waiting(flight, 4), 5);
    ck_assert_int_eq(outcome_of(fixture, "K..K.").verdict, SINK_DELIVERED);
    flight_begin(flight, fixture->records, 6); /* It is forgotten when it was met. */
    for (size_t i = 0; i < COUNT; i++)
        ck_assert_int_eq(flight->states[i], FLIGHT_WAITING);
    mem_free(fixture);
}
END_TEST

/* The places that are ready now, as digits. */
static const char *ready(struct flight *flight)
{
    static char text[COUNT + 1];
    size_t len = 0, at;
    while (flight_next_ready(flight, &at)) {
        flight_sent(flight, at);
        text[len++] = (char)('0' + at);
    }
    text[len] = '\0';
    return text;
}

START_TEST(records_of_one_key_are_ready_one_after_the_other)
{
    struct fixture *fixture = fixture_make("aabcab");
    struct flight *flight = &fixture->flight;
    flight_line_up(flight);
    ck_assert_str_eq(ready(flight), "023");
    flight_kept(flight, 0);
    ck_assert_str_eq(ready(flight), "1");
    flight_missed(flight, 2, FLIGHT_FAILED, &bad); /* What is behind it stays. */
    flight_kept(flight, 3);
    ck_assert_str_eq(ready(flight), "");
    flight_kept(flight, 1);
    ck_assert_str_eq(ready(flight), "4");
    flight_kept(flight, 4);
    ck_assert_str_eq(ready(flight), "");
    ck_assert_uint_eq(flight->sent, 0);
    ck_assert_uint_eq(flight_end(flight, &late).delivered, 2);
    flight_begin(flight, fixture->records + 2, 4);
    flight_line_up(flight);
    ck_assert_str_eq(ready(flight), "0"); /* The others were kept, but for one behind it. */
    flight_kept(flight, 0);
    ck_assert_str_eq(ready(flight), "3");
    mem_free(fixture);
}
END_TEST

Suite *flight_suite(void)
{
    Suite *suite = suite_create("flight");
    TCase *tc = tcase_create("flight");
    tcase_add_test(tc, what_is_delivered_ends_before_the_first_record_that_was_not_kept);
    tcase_add_test(tc, what_there_was_no_time_for_may_come_again_at_once);
    tcase_add_test(tc, what_was_kept_behind_a_failure_is_not_sent_again);
    tcase_add_test(tc, records_of_one_key_are_ready_one_after_the_other);
    suite_add_tcase(suite, tc);
    return suite;
}
