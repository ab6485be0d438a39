/* test_problem.c - outcomes as HTTP statuses, and the document that goes with them. */
#include "base/js.h"
#include "http/problem.h"
#include "tests/unit/suites.h"
#include <string.h>

static const struct {
    enum rc rc;
    int status;
} table[] = {
    {RC_MALFORMED, 400}, {RC_INVALID, 422},  {RC_UNAUTHORIZED, 401}, {RC_DENIED, 403},
    {RC_NOT_FOUND, 404}, {RC_CONFLICT, 409}, {RC_STALE, 409},        {RC_TOO_LARGE, 413},
    {RC_LIMIT, 429},     {RC_BUSY, 503},     {RC_TIMEOUT, 504},      {RC_CANCELLED, 503},
    {RC_IO, 500},        {RC_CORRUPT, 500},  {RC_UNREACHABLE, 502},
};

START_TEST(every_failure_has_its_status_and_a_code)
{
    ck_assert_uint_eq(COUNT_OF(table), RC_COUNT - 1);
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        ck_assert_int_eq(problem_status(table[i].rc), table[i].status);
        ck_assert_str_ne(problem_code(table[i].rc), "");
        ck_assert_str_ne(problem_title(table[i].status), "Unknown");
    }
}
END_TEST

START_TEST(only_what_passes_asks_to_come_back)
{
    ck_assert_int_eq(problem_retry_after_seconds(503), 1);
    ck_assert_int_gt(problem_retry_after_seconds(429), 0);
    ck_assert_int_eq(problem_retry_after_seconds(409), 0);
    ck_assert_int_eq(problem_retry_after_seconds(500), 0);
}
END_TEST

START_TEST(the_document_says_what_and_where)
{
    struct err err = {0};
    (void)err_field(&err, RC_INVALID, "INVALID_FIELD", "channel.source", "say \"who\"");
    struct problem problem = problem_of(RC_INVALID, &err);
    problem.request_id = "r-1";
    CLEANUP(buf_release) struct buf buf;
    buf_init(&buf, 4096);
    struct jw jw = jw_to(&buf);
    problem_write(&jw, &problem);
    CLEANUP(js_freep) struct js *tree = NULL;
    ck_assert_int_eq(js_parse(buf.data, buf.len, &tree, &err), RC_OK);
    ck_assert_str_eq(js_get_str(tree, "type", ""), "about:blank");
    ck_assert_str_eq(js_get_str(tree, "code", ""), "INVALID_FIELD");
    ck_assert_str_eq(js_get_str(tree, "title", ""), "Unprocessable Content");
    ck_assert_int_eq(js_get_int(tree, "status", 0), 422);
    ck_assert_str_eq(js_get_str(tree, "detail", ""), "say \"who\"");
    ck_assert_str_eq(js_get_str(tree, "field", ""), "channel.source");
    ck_assert_str_eq(js_get_str(tree, "requestId", ""), "r-1");
}
END_TEST

START_TEST(an_empty_err_still_gives_code_and_detail)
{
    struct problem problem = problem_of(RC_BUSY, &(struct err){0});
    ck_assert_str_eq(problem.code, "BUSY");
    ck_assert_str_ne(problem.detail, "");
    ck_assert_str_eq(problem_of(RC_STALE, NULL).code, "LEASE_LOST");
}
END_TEST

Suite *problem_suite(void)
{
    Suite *suite = suite_create("problem");
    TCase *tests = tcase_create("problem");
    tcase_add_test(tests, every_failure_has_its_status_and_a_code);
    tcase_add_test(tests, only_what_passes_asks_to_come_back);
    tcase_add_test(tests, the_document_says_what_and_where);
    tcase_add_test(tests, an_empty_err_still_gives_code_and_detail);
    suite_add_tcase(suite, tests);
    return suite;
}
