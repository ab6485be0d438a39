/* test_refusal.c - why a provider refused a request, by status and text. */
#include "base/str.h"
#include "tests/unit/suites.h"
#include "work/agent/refusal.h"

static const struct {
    int64_t status;
    const char *text;
    enum refusal refusal;
} rows[] = {
    {429, "", REFUSAL_QUOTA},
    {0, "You've hit your usage limit. Try again in 2 hours.", REFUSAL_QUOTA},
    {0, "exceeded retry limit, last status: 429 Too Many Requests", REFUSAL_QUOTA},
    {0, "[API Error: You have exhausted your daily quota on this model.]", REFUSAL_QUOTA},
    {400, "Credit balance is too low", REFUSAL_CREDIT},
    {402, "", REFUSAL_CREDIT},
    {429, "Insufficient credits. Add more.", REFUSAL_CREDIT},
    {401, "", REFUSAL_LOGIN},
    {0, "unexpected status 401 Unauthorized: invalid x-api-key, url: http://x", REFUSAL_LOGIN},
    {0, "OAuth token has expired. Please run /login", REFUSAL_LOGIN},
    {0, "[API Error: API key not valid. Please pass a valid API key.]", REFUSAL_LOGIN},
    {529, "", REFUSAL_OVERLOAD},
    {500, "", REFUSAL_OVERLOAD},
    {503, "anything", REFUSAL_OVERLOAD},
    {0, "API Error: 529 Overloaded.", REFUSAL_OVERLOAD},
    {0, "API Error: 500 Internal server error", REFUSAL_OVERLOAD},
    {0, "API Error: Connection error.", REFUSAL_OVERLOAD},
    {0, "stream disconnected before completion: connection reset", REFUSAL_OVERLOAD},
    {0, "We\u2019re currently experiencing high demand", REFUSAL_OVERLOAD},
    {400, "max_tokens must be greater than thinking.budget_tokens", REFUSAL_NONE},
    {403, "This model is not available in your region", REFUSAL_NONE},
    {0, "Claude Code was interrupted.", REFUSAL_NONE},
    {0, "", REFUSAL_NONE},
};

START_TEST(a_refusal_has_its_reason)
{
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        ck_assert_msg(refusal_of(rows[i].status, rows[i].text) == rows[i].refusal, "row %zu: %s", i,
                      rows[i].text);
}
END_TEST

Suite *refusal_suite(void)
{
    Suite *suite = suite_create("refusal");
    TCase *tests = tcase_create("refusal");
    tcase_add_test(tests, a_refusal_has_its_reason);
    suite_add_tcase(suite, tests);
    return suite;
}
