/*
 * test_candidates.c - which of several patches for one task is published.
 */
#include "base/str.h"
#include "core/run/candidates.h"
#include "tests/unit/suites.h"

enum flaws { FINE = 0, AT_WORK = 1, FAILED = 2, NO_PATCH = 4, UNVERIFIED = 8, FLAGGED = 16 };

/* Number, flaws, score, lines, cost. */
#define CANDIDATE(no, flaws, score, changed, cost)                                                 \
    {                                                                                              \
        .number = (no), .ended = !((flaws)&AT_WORK), .completed = !((flaws) & (AT_WORK | FAILED)), \
        .has_patch = !((flaws)&NO_PATCH), .verified = !((flaws)&UNVERIFIED),                       \
        .flagged = ((flaws)&FLAGGED) != 0, .score_milli = (score), .lines = (changed),             \
        .cost_microusd = (cost)                                                                    \
    }

static const struct {
    const char *what;
    struct candidate better, worse;
    const char *advantage;
} pairs[] = {
    {"one at work is not usable", CANDIDATE(2, FINE, 900, 10, 1000),
     CANDIDATE(1, AT_WORK, 1000, 10, 1000), "usable"},
    {"a failed one is not usable", CANDIDATE(2, FINE, 900, 10, 1000),
     CANDIDATE(1, FAILED, 1000, 10, 1000), "usable"},
    {"one without a patch is not usable", CANDIDATE(2, FINE, 900, 10, 1000),
     CANDIDATE(1, NO_PATCH, 1000, 10, 1000), "usable"},
    {"checks count before the score", CANDIDATE(2, FINE, 100, 10, 1000),
     CANDIDATE(1, UNVERIFIED, 1000, 10, 1000), "verified"},
    {"doubts count before the score", CANDIDATE(2, FINE, 100, 10, 1000),
     CANDIDATE(1, FLAGGED, 1000, 10, 1000), "no doubts of a judge"},
    {"a higher score counts before the size", CANDIDATE(2, FINE, 900, 500, 1000),
     CANDIDATE(1, FINE, 600, 10, 1000), "higher score"},
    {"scores that are close are equal", CANDIDATE(2, FINE, 905, 9, 1000),
     CANDIDATE(1, FINE, 940, 10, 1000), "smaller patch"},
    {"no score is like the lowest", CANDIDATE(2, FINE, -1, 9, 1000),
     CANDIDATE(1, FINE, 40, 10, 1000), "smaller patch"},
    {"a smaller patch counts before the cost", CANDIDATE(2, FINE, 900, 10, 9000),
     CANDIDATE(1, FINE, 900, 11, 1000), "smaller patch"},
    {"the cheaper of equal ones", CANDIDATE(2, FINE, 900, 10, 999),
     CANDIDATE(1, FINE, 900, 10, 1000), "lower cost"},
    {"the first of equal ones", CANDIDATE(1, FINE, 900, 10, 1000),
     CANDIDATE(2, FINE, 900, 10, 1000), "first of equals"},
};

START_TEST(evidence_decides_in_its_order)
{
    const struct candidate in_order[] = {pairs[_i].better, pairs[_i].worse};
    const struct candidate reversed[] = {pairs[_i].worse, pairs[_i].better};
    size_t order[2];
    candidates_rank(in_order, 2, order);
    ck_assert_msg(order[0] == 0, "%s", pairs[_i].what);
    candidates_rank(reversed, 2, order);
    ck_assert_msg(order[0] == 1, "%s, reversed", pairs[_i].what);
    ck_assert_str_eq(candidate_advantage(&pairs[_i].better, &pairs[_i].worse), pairs[_i].advantage);
}
END_TEST

START_TEST(the_order_is_the_same_wherever_they_stand)
{
    const struct candidate all[] = {
        CANDIDATE(1, UNVERIFIED, 900, 10, 1000),
        CANDIDATE(2, FINE, 900, 3, 1000),
        CANDIDATE(3, AT_WORK, -1, 0, 0),
        CANDIDATE(4, FINE, 1000, 10, 1000),
    };
    static const int64_t want[] = {4, 2, 1, 3};
    for (size_t shift = 0; shift < 4; shift++) {
        struct candidate turned[4];
        size_t order[4];
        for (size_t i = 0; i < 4; i++)
            turned[i] = all[(i + shift) % 4];
        candidates_rank(turned, 4, order);
        for (size_t i = 0; i < 4; i++)
            ck_assert_int_eq(turned[order[i]].number, want[i]);
    }
}
END_TEST

START_TEST(a_choice_waits_until_all_have_ended)
{
    struct candidate all[] = {CANDIDATE(1, FAILED, 900, 10, 1000),
                              CANDIDATE(2, FINE, 900, 10, 1000),
                              CANDIDATE(3, AT_WORK | NO_PATCH, -1, 0, 0)};
    size_t best = 99;
    ck_assert_int_eq(candidates_decide(all, 3, &best), CANDIDATES_WAIT);
    ck_assert_uint_eq(best, 99);
    all[2].ended = true;
    ck_assert_int_eq(candidates_decide(all, 3, &best), CANDIDATES_CHOOSE);
    ck_assert_uint_eq(best, 1);
    all[1].completed = false;
    ck_assert_int_eq(candidates_decide(all, 3, &best), CANDIDATES_NONE);
}
END_TEST

START_TEST(the_grace_begins_with_the_first_usable_one)
{
    static const struct {
        unsigned flaws[3];
        bool begins;
    } rows[] = {
        {{AT_WORK, AT_WORK, AT_WORK}, false}, {{FAILED, AT_WORK, AT_WORK}, false},
        {{FAILED, FINE, AT_WORK}, true},      {{FINE, FINE, AT_WORK}, false},
        {{FAILED, FINE, FAILED}, false},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const unsigned *flaws = rows[i].flaws;
        const struct candidate all[] = {CANDIDATE(1, flaws[0], 900, 10, 0),
                                        CANDIDATE(2, flaws[1], 900, 10, 0),
                                        CANDIDATE(3, flaws[2], 900, 10, 0)};
        ck_assert_int_eq(candidates_grace_begins(all, 3), rows[i].begins);
    }
}
END_TEST

Suite *candidates_suite(void)
{
    TCase *tc = tcase_create("candidates");
    tcase_add_loop_test(tc, evidence_decides_in_its_order, 0, (int)COUNT_OF(pairs));
    tcase_add_test(tc, the_order_is_the_same_wherever_they_stand);
    tcase_add_test(tc, a_choice_waits_until_all_have_ended);
    tcase_add_test(tc, the_grace_begins_with_the_first_usable_one);
    Suite *suite = suite_create("candidates");
    suite_add_tcase(suite, tc);
    return suite;
}
