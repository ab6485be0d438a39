/*
 * test_forecast.c - what past runs say about a new one.
 */
#include "base/clock.h"
#include "core/run/forecast.h"
#include "tests/unit/suites.h"
#include <string.h>

enum { RUNS_MAX = 60 };

/* Runs of type t and agent a that cost, took turns and lasted by their number: 1, 2, 3, ..., the
   newest first. */
static size_t plain(struct past_run *runs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        runs[i] = (struct past_run){"t", "a", (int64_t)(i + 1) * 1000000, (int64_t)(i + 1),
                                    (int64_t)(i + 1) * US_PER_SECOND};
    return count;
}

static const struct past_run wanted = {.task_type = "t", .agent = "a"};

static const struct {
    size_t count;
    int64_t runs, median, p90;
} rows[] = {
    {0, 0, 0, 0},     {2, 0, 0, 0},     {3, 3, 2, 3},     {4, 4, 2, 4},
    {5, 5, 3, 5},     {9, 9, 5, 9},     {10, 10, 5, 9},   {11, 11, 6, 10},
    {20, 20, 10, 18}, {50, 50, 25, 45}, {60, 50, 25, 45},
};

START_TEST(median_and_nine_of_ten_by_nearest_rank)
{
    struct past_run runs[RUNS_MAX];
    struct forecast got = forecast_make(runs, plain(runs, rows[_i].count), &wanted);
    ck_assert_int_eq(got.runs, rows[_i].runs);
    ck_assert_int_eq(got.turns.median, rows[_i].median);
    ck_assert_int_eq(got.turns.p90, rows[_i].p90);
    ck_assert_int_eq(got.cost_microusd.median, rows[_i].median * 1000000);
    ck_assert_int_eq(got.work_us.p90, rows[_i].p90 * US_PER_SECOND);
    ck_assert(got.similar || got.runs == 0);
}
END_TEST

START_TEST(the_order_of_the_runs_is_not_that_of_their_costs)
{
    static const int64_t costs[] = {5, 1, 4, 2, 3};
    struct past_run runs[COUNT_OF(costs)];
    plain(runs, COUNT_OF(costs));
    for (size_t i = 0; i < COUNT_OF(costs); i++)
        runs[i].cost_microusd = costs[i];
    struct forecast got = forecast_make(runs, COUNT_OF(costs), &wanted);
    ck_assert_int_eq(got.cost_microusd.median, 3);
    ck_assert_int_eq(got.cost_microusd.p90, 5);
}
END_TEST

START_TEST(too_few_similar_ones_leave_it_to_the_repository)
{
    for (size_t similar = 0; similar < 6; similar++) {
        struct past_run runs[10];
        plain(runs, COUNT_OF(runs));
        for (size_t i = similar; i < COUNT_OF(runs); i++)
            *(i % 2 ? &runs[i].task_type : &runs[i].agent) = i % 3 ? "other" : NULL;
        struct forecast got = forecast_make(runs, COUNT_OF(runs), &wanted);
        ck_assert_int_eq(got.similar, similar >= FORECAST_RUNS_MIN);
        ck_assert_int_eq(got.runs, similar >= FORECAST_RUNS_MIN ? (int64_t)similar : 10);
    }
}
END_TEST

START_TEST(the_text_and_the_error_against_the_actual)
{
    struct arena arena = {0};
    struct past_run runs[10];
    struct forecast got = forecast_make(runs, plain(runs, COUNT_OF(runs)), &wanted);
    struct str text = forecast_text(&got, &arena);
    ck_assert_str_eq(str_dup(&arena, text),
                     "{\"costUsd\":5,\"costUsdP90\":9,\"turns\":5,\"turnsP90\":9,"
                     "\"seconds\":5,\"secondsP90\":9,\"basedOn\":{\"runs\":10,\"scope\":"
                     "\"similar\"}}");
    struct past_run actual = {.cost_microusd = 4500000, .turns = 7, .work_us = 2500000};
    CLEANUP(buf_release) struct buf buf;
    buf_init(&buf, 1000);
    struct jw jw = jw_to(&buf);
    jw_begin(&jw, '{');
    forecast_write_error(&jw, "error", text, &actual);
    forecast_write_error(&jw, "none", (struct str){0}, &actual);
    forecast_write_error(&jw, "damaged", STR("{"), &actual);
    jw_end(&jw, '}');
    ck_assert_str_eq(buf_text(&buf), "{\"error\":{\"costUsd\":-0.5,\"turns\":2,\"seconds\":-3}}");
    struct forecast none = {0};
    ck_assert_uint_eq(forecast_text(&none, &arena).len, 0);
    arena_release(&arena);
}
END_TEST

START_TEST(a_limit_below_nine_of_ten_is_warned_of)
{
    static const struct {
        struct forecast_limits limits;
        const char *word; /* NULL: no warning. */
    } limits[] = {
        {{0, 0}, NULL},          {{9000000, 9}, NULL},           {{8999999, 0}, "9.00 USD or more"},
        {{0, 8}, "9 turns or "}, {{8000000, 8}, "8.00 USD: it"},
    };
    struct arena arena = {0};
    struct past_run runs[10];
    struct forecast forecast = forecast_make(runs, plain(runs, COUNT_OF(runs)), &wanted);
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        const char *warning = forecast_warning(&forecast, &limits[i].limits, &arena);
        ck_assert_int_eq(warning != NULL, limits[i].word != NULL);
        if (warning != NULL)
            ck_assert_ptr_nonnull(strstr(warning, limits[i].word));
    }
    struct forecast none = {0};
    ck_assert_ptr_null(forecast_warning(&none, &limits[2].limits, &arena));
    arena_release(&arena);
}
END_TEST

Suite *forecast_suite(void)
{
    Suite *suite = suite_create("forecast");
    TCase *tc = tcase_create("forecast");
    tcase_add_loop_test(tc, median_and_nine_of_ten_by_nearest_rank, 0, (int)COUNT_OF(rows));
    tcase_add_test(tc, the_order_of_the_runs_is_not_that_of_their_costs);
    tcase_add_test(tc, too_few_similar_ones_leave_it_to_the_repository);
    tcase_add_test(tc, the_text_and_the_error_against_the_actual);
    tcase_add_test(tc, a_limit_below_nine_of_ten_is_warned_of);
    suite_add_tcase(suite, tc);
    return suite;
}
