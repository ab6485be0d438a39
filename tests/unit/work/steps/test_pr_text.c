/*
 * test_pr_text.c - what a pull request says: what changed, why, how it was verified, what it cost,
 * how to run it again; and that no text of others can pass for drover's mark.
 */
#include "forge/host/hosted.h"
#include "work/steps/pr_text.h"
#include <check.h>
#include <string.h>

static struct arena arena;
static struct js *payload, *certificate;

static const char used[] = "{\"used\":{\"turns\":3,\"inputTokens\":1200,\"outputTokens\":340,"
                           "\"costMicrousd\":1250000}}";
static const char checked[] =
    "{\"verdict\":\"verified\",\"treeHash\":\"aaaa\",\"counts\":{\"total\":2,\"passed\":1},"
    "\"checks\":[{\"name\":\"unit\",\"command\":\"make test\",\"status\":\"passed\","
    "\"exitCode\":0,\"durationMs\":1500},"
    "{\"name\":\"li|nt`\",\"command\":\"make lint\",\"status\":\"failed\",\"optional\":true,"
    "\"exitCode\":1,\"durationMs\":10}]}";

static void setup(void)
{
    ck_assert_int_eq(js_parse(used, strlen(used), &payload, NULL), RC_OK);
    ck_assert_int_eq(js_parse(checked, strlen(checked), &certificate, NULL), RC_OK);
}

static void teardown(void)
{
    js_free(payload);
    js_free(certificate);
    arena_release(&arena);
}

static struct step_input input_of(const char *description)
{
    struct step_input input = {.payload = payload,
                               .title = "Make it two",
                               .description = description,
                               .attempt = 2,
                               .certificate_sha256 = "cafe"};
    ck_assert(id_parse("0199a5b0-0000-7000-8000-000000000001", &input.task_id));
    ck_assert(id_parse("0199a5b0-0000-7000-8000-000000000002", &input.run_id));
    return input;
}

static const char *paths[] = {"src/a.c", "b`|c"};
static const struct patch_stats stats = {
    .paths = paths, .files = 2, .lines_added = 10, .lines_deleted = 1};

START_TEST(the_body_says_what_why_how_and_how_much)
{
    static const char *const says[] = {
        "2 files, 10 lines added, 1 deleted",
        "`src/a.c`",
        "`b  c`",
        "Because one is too few.",
        "verified: 1 of 2 checks passed",
        "| `unit` | `make test` | passed | 1.5 |",
        "| `li nt ` (optional) | `make lint` | failed |",
        "Certificate: `cafe`",
        "1.25 USD",
        "1200 tokens read and 340 written",
        "2 attempts",
        "make test\n",
        "drover task retry 0199a5b0-0000-7000-8000-000000000001",
    };
    struct step_input input = input_of("Because one is too few.");
    struct pr_facts facts = {&input, &stats, certificate};
    const char *body = pr_body(&facts, &arena);
    for (size_t i = 0; i < COUNT_OF(says); i++)
        ck_assert_msg(strstr(body, says[i]) != NULL, "%s\nis not in\n%s", says[i], body);
    ck_assert_str_eq(hosted_run_of(body, &arena), input.run_id.text);
}
END_TEST

START_TEST(a_description_cannot_pass_for_the_mark)
{
    struct step_input input = input_of("<!-- Drover-Run: another -->\nDrover-Run: another");
    struct pr_facts facts = {&input, &stats, NULL};
    const char *body = pr_body(&facts, &arena);
    ck_assert_str_eq(hosted_run_of(body, &arena), input.run_id.text);
    ck_assert_ptr_nonnull(strstr(body, "no checks"));
}
END_TEST

/* It may be by a stranger, and is at the forge already. */
START_TEST(the_text_of_an_issue_is_not_repeated)
{
    struct step_input input = input_of("@everybody, look");
    input.issue_number = 7;
    struct pr_facts facts = {&input, &stats, certificate};
    const char *body = pr_body(&facts, &arena);
    ck_assert_ptr_null(strstr(body, "@everybody"));
    ck_assert_ptr_nonnull(strstr(body, "Closes #7"));
}
END_TEST

START_TEST(a_long_description_is_cut_and_the_rest_stays)
{
    char *text = arena_alloc(&arena, 200001);
    memset(text, 'x', 200000);
    struct step_input input = input_of(text);
    struct pr_facts facts = {&input, &stats, certificate};
    const char *body = pr_body(&facts, &arena);
    ck_assert_uint_lt(strlen(body), 60000);
    ck_assert_ptr_nonnull(strstr(body, "(shortened)"));
    ck_assert_ptr_nonnull(strstr(body, "drover task retry"));
}
END_TEST

START_TEST(the_commit_names_task_and_run_in_its_last_lines)
{
    struct step_input input = input_of("One line.");
    struct pr_facts facts = {&input, &stats, certificate};
    const char *message = pr_commit_message(&facts, &arena);
    ck_assert(text_ends(message, "Drover-Task: 0199a5b0-0000-7000-8000-000000000001\n"
                                 "Drover-Run: 0199a5b0-0000-7000-8000-000000000002\n"));
    ck_assert_ptr_null(strstr(message, "One line."));
}
END_TEST

Suite *pr_text_suite(void)
{
    Suite *suite = suite_create("pr_text");
    TCase *tests = tcase_create("pr_text");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, the_body_says_what_why_how_and_how_much);
    tcase_add_test(tests, a_description_cannot_pass_for_the_mark);
    tcase_add_test(tests, the_text_of_an_issue_is_not_repeated);
    tcase_add_test(tests, a_long_description_is_cut_and_the_rest_stays);
    tcase_add_test(tests, the_commit_names_task_and_run_in_its_last_lines);
    suite_add_tcase(suite, tests);
    return suite;
}
