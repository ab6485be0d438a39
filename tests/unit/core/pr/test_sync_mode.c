/*
 * test_sync_mode.c - whether webhooks work, as it follows from what arrived and what did not.
 */
#include "base/clock.h"
#include "base/str.h"
#include "core/pr/sync_mode.h"
#include "tests/unit/suites.h"

static const struct {
    const char *why;
    struct sync_facts facts;
    enum sync_mode want;
} rows[] = {
    {"nothing is configured", {false, 0, 0}, SYNC_POLLING},
    {"a webhook that has never sent", {true, 0, 0}, SYNC_POLLING},
    {"a delivery arrived", {true, 10, 0}, SYNC_WEBHOOKS},
    {"one was missed after it", {true, 10, 11}, SYNC_POLLING},
    {"one arrived after that", {true, 12, 11}, SYNC_WEBHOOKS},
    {"at the same moment", {true, 11, 11}, SYNC_WEBHOOKS},
    {"one was missed before any arrived", {true, 0, 11}, SYNC_POLLING},
    {"the webhook was taken out", {false, 12, 11}, SYNC_POLLING},
};

START_TEST(the_mode_follows_from_what_arrived)
{
    ck_assert_msg(sync_mode_of(&rows[_i].facts) == rows[_i].want, "%s", rows[_i].why);
}
END_TEST

START_TEST(each_mode_has_its_pause)
{
    static const struct sync_pauses pauses = {.poll_ms = 1, .recover_ms = 2};
    ck_assert_int_eq(sync_pause_ms(SYNC_POLLING, &pauses), 1);
    ck_assert_int_eq(sync_pause_ms(SYNC_WEBHOOKS, &pauses), 2);
}
END_TEST

START_TEST(what_is_on_its_way_is_not_missed)
{
    const int64_t limit_us = SYNC_IN_FLIGHT_MS * US_PER_MS;
    ck_assert(!sync_is_missed(1000, 1000));
    ck_assert(!sync_is_missed(1000, 1000 + limit_us));
    ck_assert(sync_is_missed(1000, 1001 + limit_us));
    ck_assert(!sync_is_missed(5000, 1000)); /* The forge's clock is ahead. */
}
END_TEST

START_TEST(modes_have_names)
{
    enum sync_mode mode;
    ck_assert(sync_mode_parse("polling", &mode) && mode == SYNC_POLLING);
    ck_assert(sync_mode_parse("webhooks", &mode) && mode == SYNC_WEBHOOKS);
    ck_assert(!sync_mode_parse("carrier pigeon", &mode));
    ck_assert_str_eq(sync_mode_name(SYNC_WEBHOOKS), "webhooks");
}
END_TEST

Suite *sync_mode_suite(void)
{
    Suite *suite = suite_create("sync_mode");
    TCase *tests = tcase_create("sync_mode");
    tcase_add_loop_test(tests, the_mode_follows_from_what_arrived, 0, (int)COUNT_OF(rows));
    tcase_add_test(tests, each_mode_has_its_pause);
    tcase_add_test(tests, what_is_on_its_way_is_not_missed);
    tcase_add_test(tests, modes_have_names);
    suite_add_tcase(suite, tests);
    return suite;
}
