/* test_account_choice.c - which account of its pool a run gets. */
#include "base/clock.h"
#include "base/str.h"
#include "core/agent/account_choice.h"
#include "tests/unit/suites.h"
#include <string.h>

#define NOW    (1000 * US_PER_DAY)
#define IN(us) (NOW + (us))

static const struct account_window half = {"five_hour", 0.5, false, IN(5), 0, 0, "allowed"};
static const struct account_window most = {"five_hour", 0.9, false, IN(5), 0, 0, "allowed"};
static const struct account_window over = {"seven_day", 1, false, IN(7), 0, 0, "allowed"};
static const struct account_window warned = {"five_hour",      0.1, true, IN(5), 0, 0,
                                             "allowed_warning"};
static const struct account_window expired = {"five_hour", 1, true, NOW, 0, 0, "rejected"};

#define KNOWN(label) .name = (label), .known = true, .price = 1
#define WINDOW(w)    .windows = &(w), .window_count = 1

static const struct {
    const char *what;
    struct account_candidate candidates[4]; /* Up to the first without a name. */
    int at;
    enum account_standing standing;
} rows[] = {
    {"one that is free", {{KNOWN("a")}}, 0, ACCOUNT_FREE},
    {"one that nobody configured", {{.name = "a"}}, ACCOUNT_NONE, 0},
    {"the cheapest", {{KNOWN("a")}, {.name = "b", .known = true, .price = 0.5}}, 1, ACCOUNT_FREE},
    {"the cheapest, though it is fuller",
     {{KNOWN("a")}, {.name = "b", .known = true, .price = 0.5, WINDOW(most)}},
     1,
     ACCOUNT_FREE},
    {"the one with most left", {{KNOWN("a"), WINDOW(most)}, {KNOWN("b"), WINDOW(half)}}, 1, 0},
    {"one of which nothing is known", {{KNOWN("a"), WINDOW(half)}, {KNOWN("b")}}, 1, 0},
    {"a window that has expired says nothing",
     {{KNOWN("a"), WINDOW(expired)}, {KNOWN("b"), WINDOW(half)}},
     0,
     0},
    {"the one that was used longest ago",
     {{KNOWN("a"), .used_us = 9}, {KNOWN("b"), .used_us = 3}, {KNOWN("c"), .used_us = 7}},
     1,
     0},
    {"the one that the run has, though another is cheaper",
     {{.name = "a", .known = true}, {KNOWN("b"), .is_own = true}},
     1,
     0},
    {"another when the own one is near its limit",
     {{KNOWN("a"), .is_own = true, WINDOW(warned)}, {KNOWN("b"), WINDOW(most)}},
     1,
     ACCOUNT_FREE},
    {"the own one when the other is near its limit, too",
     {{KNOWN("a"), WINDOW(warned)}, {KNOWN("b"), .is_own = true, WINDOW(over)}},
     1,
     ACCOUNT_NEAR_LIMIT},
    {"a fallback before one that is near its limit",
     {{KNOWN("a"), WINDOW(over)}, {KNOWN("b"), .list = 1}},
     1,
     ACCOUNT_FREE},
    {"one that is near its limit when nothing is free: hints park nothing",
     {{KNOWN("a"), WINDOW(over)}, {KNOWN("b"), .list = 1, .parked_until_us = IN(9)}},
     0,
     ACCOUNT_NEAR_LIMIT},
    {"the first fallback that is free",
     {{KNOWN("a"), .parked_until_us = IN(1)},
      {KNOWN("b"), .list = 1, .parked_until_us = IN(1)},
      {.name = "c", .known = true, .list = 2, .price = 9},
      {.name = "d", .known = true, .list = 3}},
     2,
     ACCOUNT_FREE},
    {"none beyond its reserve",
     {{KNOWN("a"), .reserve = 0.1, WINDOW(most)}},
     ACCOUNT_NONE,
     ACCOUNT_FREE},
    {"one below its reserve", {{KNOWN("a"), .reserve = 0.4, WINDOW(half)}}, 0, ACCOUNT_FREE},
    {"none that is full", {{KNOWN("a"), .runs = 2, .max_runs = 2}}, ACCOUNT_NONE, ACCOUNT_FREE},
    {"one that has room", {{KNOWN("a"), .runs = 1, .max_runs = 2}}, 0, ACCOUNT_FREE},
    {"any number without a limit", {{KNOWN("a"), .runs = 1000}}, 0, ACCOUNT_FREE},
    {"none that is parked", {{KNOWN("a"), .parked_until_us = IN(1)}}, ACCOUNT_NONE, ACCOUNT_FREE},
    {"one whose reset is now", {{KNOWN("a"), .parked_until_us = NOW}}, 0, ACCOUNT_FREE},
    {"one that was parked, as a probe",
     {{KNOWN("a"), .parked_until_us = IN(1), .may_probe = true}},
     0,
     ACCOUNT_PROBE},
    {"a probe when the others are full or near nothing",
     {{KNOWN("a"), .runs = 1, .max_runs = 1},
      {KNOWN("b"), .parked_until_us = IN(1), .may_probe = true}},
     1,
     ACCOUNT_PROBE},
    {"one near its limit before a probe",
     {{KNOWN("a"), .parked_until_us = IN(1), .may_probe = true}, {KNOWN("b"), WINDOW(over)}},
     1,
     ACCOUNT_NEAR_LIMIT},
    {"no probe where there is no room",
     {{KNOWN("a"), .parked_until_us = IN(1), .may_probe = true, .runs = 1, .max_runs = 1}},
     ACCOUNT_NONE,
     ACCOUNT_FREE},
    {"none of which this run has reported a limit",
     {{KNOWN("a"), .held = true}, {KNOWN("b")}},
     1,
     ACCOUNT_FREE},
};

static size_t count_of(const struct account_candidate *candidates)
{
    size_t count = 0;
    while (count < COUNT_OF(rows[0].candidates) && candidates[count].name != NULL)
        count++;
    return count;
}

START_TEST(a_run_gets)
{
    struct account_choice choice = account_choose(rows[_i].candidates,
                                                  count_of(rows[_i].candidates), NOW);
    ck_assert_msg(choice.at == rows[_i].at, "%s: not %d", rows[_i].what, choice.at);
    if (choice.at != ACCOUNT_NONE)
        ck_assert_msg(choice.standing == rows[_i].standing, "%s", rows[_i].what);
}
END_TEST

START_TEST(without_a_choice_it_is_known_what_is_free_first)
{
    const struct account_candidate candidates[] = {
        {KNOWN("a"), .parked_until_us = IN(9)},
        {KNOWN("b"), .parked_until_us = IN(4)},
        {KNOWN("c"), .reserve = 0.5, WINDOW(most)}, /* Until IN(5). */
        {KNOWN("d"), .runs = 1, .max_runs = 1},
    };
    struct account_choice choice = account_choose(candidates, 3, NOW);
    ck_assert_int_eq(choice.at, ACCOUNT_NONE);
    ck_assert_int_eq(choice.earliest, 1);
    ck_assert_int_eq(choice.earliest_us, IN(4));
    ck_assert(!choice.full);
    ck_assert(account_choose(candidates, 4, NOW).full);
    choice = account_choose(&candidates[2], 1, NOW);
    ck_assert_int_eq(choice.earliest_us, IN(5));
    choice = account_choose(&candidates[3], 1, NOW);
    ck_assert_int_eq(choice.earliest, ACCOUNT_NONE);
    ck_assert_int_eq(account_choose(candidates, 0, NOW).at, ACCOUNT_NONE);
}
END_TEST

START_TEST(every_standing_has_words)
{
    for (int standing = ACCOUNT_FREE; standing <= ACCOUNT_UNKNOWN; standing++)
        ck_assert_uint_gt(strlen(account_standing_text((enum account_standing)standing)), 0);
}
END_TEST

Suite *account_choice_suite(void)
{
    Suite *suite = suite_create("account_choice");
    TCase *tests = tcase_create("account_choice");
    tcase_add_loop_test(tests, a_run_gets, 0, (int)COUNT_OF(rows));
    tcase_add_test(tests, without_a_choice_it_is_known_what_is_free_first);
    tcase_add_test(tests, every_standing_has_words);
    suite_add_tcase(suite, tests);
    return suite;
}
