/* test_random.c - seeded randomness and secrets. */
#include "base/random.h"
#include "tests/unit/suites.h"
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
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
    struct random random = {.s = {1, 2, 3, 4}};
    for (size_t i = 0; i < COUNT_OF(want); i++)
        ck_assert_uint_eq(random_next(&random), want[i]);
}
END_TEST

START_TEST(a_seed_replays_its_numbers)
{
    struct random a = random_seeded(7), b = random_seeded(7), other = random_seeded(8);
    bool differs = false;
    for (int i = 0; i < 100; i++) {
        uint64_t roll = random_next(&a);
        ck_assert_uint_eq(roll, random_next(&b));
        differs = differs || roll != random_next(&other);
    }
    ck_assert(differs);
    struct random copy = a;
    ck_assert_uint_eq(random_next(&a), random_next(&copy));
    struct random zero = random_seeded(0);
    ck_assert_uint_ne(random_next(&zero), random_next(&zero));
}
END_TEST

START_TEST(rolls_stay_below_the_limit_and_reach_every_value)
{
    struct random random = random_seeded(1);
    unsigned seen[10] = {0};
    for (int i = 0; i < 10000; i++) {
        uint64_t roll = random_below(&random, 10);
        ck_assert_uint_lt(roll, 10);
        seen[roll]++;
    }
    for (size_t i = 0; i < COUNT_OF(seen); i++)
        ck_assert(seen[i] > 800 && seen[i] < 1200);
    for (int i = 0; i < 100; i++) {
        ck_assert_uint_eq(random_below(&random, 1), 0);
        ck_assert_uint_lt(random_below(&random, UINT64_MAX), UINT64_MAX);
        ck_assert_uint_lt(random_below(&random, (UINT64_C(1) << 63) + 1), (UINT64_C(1) << 63) + 1);
    }
}
END_TEST

START_TEST(the_kernel_gives_different_seeds_and_secrets)
{
    struct random a = random_from_os(), b = random_from_os();
    ck_assert_uint_ne(random_next(&a), random_next(&b));
    unsigned char first[5000] = {0}, second[5000] = {0};
    secret_bytes(first, sizeof first);
    secret_bytes(second, sizeof second);
    ck_assert_int_ne(memcmp(first, second, sizeof first), 0);
    ck_assert_int_ne(memcmp(first + 4900, second + 4900, 100), 0);
    secret_bytes(first, 0);
}
END_TEST

START_TEST(a_copy_of_the_kernels_dice_tells_nothing)
{
    struct random random = random_from_os(), copy = random;
    for (int i = 0; i < 100; i++)
        ck_assert_uint_ne(random_next(&random), random_next(&copy));
}
END_TEST

START_TEST(dice_split_into_others_of_their_kind)
{
    struct random seeded = random_seeded(7), same = random_seeded(7), kernel = random_from_os();
    struct random a = random_split(&seeded), b = random_split(&same), c = random_split(&seeded);
    ck_assert(!a.kernel && !b.kernel);
    uint64_t roll = random_next(&a);
    ck_assert_uint_eq(roll, random_next(&b));
    ck_assert_uint_ne(roll, random_next(&c));
    ck_assert(random_split(&kernel).kernel);
}
END_TEST

enum { THREADS = 4, DRAWN = 1000 };

static void *draw(void *to)
{
    struct random random = random_from_os();
    uint64_t *numbers = to;
    for (int i = 0; i < DRAWN; i++)
        numbers[i] = random_next(&random);
    return NULL;
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

START_TEST(threads_never_draw_the_same_from_the_kernel)
{
    static uint64_t numbers[THREADS * DRAWN];
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, draw, &numbers[i * DRAWN]), 0);
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
    qsort(numbers, COUNT_OF(numbers), sizeof numbers[0], by_value);
    for (size_t i = 1; i < COUNT_OF(numbers); i++)
        ck_assert_uint_ne(numbers[i - 1], numbers[i]);
}
END_TEST

START_TEST(dice_that_were_never_seeded_end_the_process)
{
    struct random random = {.s = {0}};
    (void)close(STDERR_FILENO); /* Its last words are expected. */
    (void)random_next(&random);
}
END_TEST

Suite *random_suite(void)
{
    Suite *suite = suite_create("random");
    TCase *all = tcase_create("all");
    tcase_add_test(all, the_generator_is_xoshiro256_starstar);
    tcase_add_test(all, a_seed_replays_its_numbers);
    tcase_add_test(all, rolls_stay_below_the_limit_and_reach_every_value);
    tcase_add_test(all, the_kernel_gives_different_seeds_and_secrets);
    tcase_add_test(all, a_copy_of_the_kernels_dice_tells_nothing);
    tcase_add_test(all, dice_split_into_others_of_their_kind);
    tcase_add_test(all, threads_never_draw_the_same_from_the_kernel);
    tcase_add_test_raise_signal(all, dice_that_were_never_seeded_end_the_process, SIGABRT);
    suite_add_tcase(suite, all);
    return suite;
}
