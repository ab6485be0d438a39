/* test_price.c - what tokens cost, by model and by configuration. */
#include "base/str.h"
#include "core/agent/price.h"
#include "tests/unit/suites.h"

enum { MILLION = 1000000 };

START_TEST(a_model_is_known_by_the_longest_beginning_of_its_name)
{
    static const struct {
        const char *model;
        double input, output; /* Of a million tokens. */
    } rows[] = {
        {"claude-opus-4-8", 5, 25},
        {"claude-opus-4-8[1m]", 5, 25},
        {"claude-opus-4-10", 5, 25},
        {"claude-opus-4-1-20250805", 15, 75},
        {"claude-opus-4-20250514", 15, 75},
        {"claude-opus-5", 5, 25},
        {"claude-opus-5-5", 4, 20},
        {"claude-sonnet-4-5-20250929", 3, 15},
        {"claude-sonnet-5", 2, 10},
        {"claude-haiku-4-5", 1, 5},
        {"Claude-Opus-4.5", 5, 25},
        {"us.anthropic.claude-sonnet-4-6", 3, 15},
        {"anthropic/claude-3.5-haiku", 0.8, 4},
        {"gpt-5", 1.25, 10},
        {"gpt-5-2025-08-07", 1.25, 10},
        {"gpt-5-codex", 1.25, 10},
        {"gpt-5-mini", 0.25, 2},
        {"gpt-5.1-codex-max", 1.25, 10},
        {"gpt-5.1-codex-mini", 0.25, 2},
        {"gpt-5.3-codex", 1.75, 14},
        {"openai/gpt-5.5", 5, 30},
        {"gpt-5.6-sol", 5, 30},
        {"gpt-5.6-luna", 0.2, 1.2},
        {"gemini-2.5-pro", 1.25, 10},
        {"models/gemini-2.5-flash-lite", 0.1, 0.4},
        {"gemini-3-pro-preview", 2, 12},
        {"gpt-5.9", 0, 0},
        {"gpt-50", 0, 0},
        {"gpt-", 0, 0},
        {"claude-opus", 0, 0},
        {"Auto", 0, 0},
        {"", 0, 0},
        {NULL, 0, 0},
    };
    static const struct price_config none = {0};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct token_sale sale = {.model = rows[i].model, .tokens = {.input = MILLION}};
        ck_assert_msg(price_of(&sale, &none) == rows[i].input, "input of row %zu", i);
        sale.tokens = (struct tokens){.output = MILLION};
        ck_assert_msg(price_of(&sale, &none) == rows[i].output, "output of row %zu", i);
    }
}
END_TEST

START_TEST(every_kind_of_token_has_its_price)
{
    static const struct price_config none = {0};
    struct token_sale sale = {
        .model = "claude-opus-4-8",
        .tokens = {.input = 5 * MILLION,
                   .cached_input = MILLION,
                   .cache_write = MILLION,
                   .cache_write_1h = MILLION,
                   .output = MILLION},
    };
    ck_assert_double_eq_tol(price_of(&sale, &none), 2 * 5 + 0.5 + 6.25 + 10 + 25, 1e-9);
    sale.model = "gpt-5.5"; /* Writing to its cache costs nothing more. */
    ck_assert_double_eq_tol(price_of(&sale, &none), 4 * 5 + 0.5 + 30, 1e-9);
    sale.tokens.cached_input = 9 * MILLION; /* More parts than there are as a whole. */
    ck_assert_double_eq_tol(price_of(&sale, &none), 9 * 0.5 + 2 * 5 + 30, 1e-9);
}
END_TEST

START_TEST(a_long_request_costs_more)
{
    static const struct price_config none = {0};
    struct token_sale sale = {.model = "gpt-5.5",
                              .tokens = {.input = MILLION, .output = MILLION},
                              .request_input = 272000};
    ck_assert_double_eq_tol(price_of(&sale, &none), 35, 1e-9);
    sale.request_input++;
    ck_assert_double_eq_tol(price_of(&sale, &none), 10 + 45, 1e-9);
    sale.model = "claude-opus-4-8";
    ck_assert_double_eq_tol(price_of(&sale, &none), 30, 1e-9);
}
END_TEST

START_TEST(the_configuration_overrides_the_list)
{
    static const struct price_config own = {.input = 1, .cached_input = 0.1, .output = 2};
    struct token_sale sale = {
        .model = "claude-opus-4-8",
        .tokens = {.input = 2 * MILLION, .cached_input = MILLION, .output = MILLION}};
    ck_assert_double_eq_tol(price_of(&sale, &own), 3.1, 1e-9);
    sale.model = "nobody knows it";
    ck_assert_double_eq_tol(price_of(&sale, &own), 3.1, 1e-9);
}
END_TEST

Suite *price_suite(void)
{
    Suite *suite = suite_create("price");
    TCase *tests = tcase_create("price");
    tcase_add_test(tests, a_model_is_known_by_the_longest_beginning_of_its_name);
    tcase_add_test(tests, every_kind_of_token_has_its_price);
    tcase_add_test(tests, a_long_request_costs_more);
    tcase_add_test(tests, the_configuration_overrides_the_list);
    suite_add_tcase(suite, tests);
    return suite;
}
