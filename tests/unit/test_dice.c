/* test_dice.c - seeded randomness and secrets. */
#include "base/dice.h"
#include "tests/unit/suites.h"
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

START_TEST(the_generator_is_xoshiro256_starstar)
{
    /* From the authors' reference code, state {1, 2, 3, 4}. */
    static const uint64_t want[] = {
        UINT64_C(11520),
        UINT64_C(0),
        UINT64_C(1509978240),
        UINT64_C(1215971899390074240),
        UINT64_C(1216172134540287360),
        UINT64_C(607988272756665600),
    };
    struct dice dice = {{1, 2, 3, 4}};
    for (size_t i = 0; i < COUNT_OF(want); i++)
        ck_assert_uint_eq(dice_next(&dice), want[i]);
}
END_TEST

START_TEST(a_seed_replays_its_numbers)
{
    struct dice a = dice_seeded(7), b = dice_seeded(7), other = dice_seeded(8);
    bool differs = false;
    for (int i = 0; i < 100; i++) {
        uint64_t roll = dice_next(&a);
        ck_assert_uint_eq(roll, dice_next(&b));
        differs = differs || roll != dice_next(&other);
    }
    ck_assert(differs);
    struct dice copy = a;
    ck_assert_uint_eq(dice_next(&a), dice_next(&copy));
    struct dice zero = dice_seeded(0);
    ck_assert_uint_ne(dice_next(&zero), dice_next(&zero));
}
END_TEST

START_TEST(rolls_stay_below_the_limit_and_reach_every_value)
{
    struct dice dice = dice_seeded(1);
    unsigned seen[10] = {0};
    for (int i = 0; i < 10000; i++) {
        uint64_t roll = dice_below(&dice, 10);
        ck_assert_uint_lt(roll, 10);
        seen[roll]++;
    }
    for (size_t i = 0; i < COUNT_OF(seen); i++)
        ck_assert(seen[i] > 800 && seen[i] < 1200);
    for (int i = 0; i < 100; i++) {
        ck_assert_uint_eq(dice_below(&dice, 1), 0);
        ck_assert_uint_lt(dice_below(&dice, UINT64_MAX), UINT64_MAX);
        ck_assert_uint_lt(dice_below(&dice, (UINT64_C(1) << 63) + 1), (UINT64_C(1) << 63) + 1);
    }
}
END_TEST

START_TEST(the_kernel_gives_different_seeds_and_secrets)
{
    struct dice a = dice_from_os(), b = dice_from_os();
    ck_assert_uint_ne(dice_next(&a), dice_next(&b));
    unsigned char first[5000] = {0}, second[5000] = {0};
    secret_bytes(first, sizeof first);
    secret_bytes(second, sizeof second);
    ck_assert_int_ne(memcmp(first, second, sizeof first), 0);
    ck_assert_int_ne(memcmp(first + 4900, second + 4900, 100), 0);
    secret_bytes(first, 0);
}
END_TEST

START_TEST(dice_that_were_never_seeded_end_the_process)
{
    struct dice dice = {{0}};
    (void)close(STDERR_FILENO); /* Its last words are expected. */
    (void)dice_next(&dice);
}
END_TEST

Suite *dice_suite(void)
{
    Suite *suite = suite_create("dice");
    TCase *all = tcase_create("all");
    tcase_add_test(all, the_generator_is_xoshiro256_starstar);
    tcase_add_test(all, a_seed_replays_its_numbers);
    tcase_add_test(all, rolls_stay_below_the_limit_and_reach_every_value);
    tcase_add_test(all, the_kernel_gives_different_seeds_and_secrets);
    tcase_add_test_raise_signal(all, dice_that_were_never_seeded_end_the_process, SIGABRT);
    suite_add_tcase(suite, all);
    return suite;
}
