/*
 * test_custom_step.c - a step of the repository's own: what it is told, and what is too much.
 */
#include "tests/unit/work_kit.h"
#include <check.h>
#include <string.h>

static struct kit kit;

static void setup(void)
{
    kit_open(&kit);
}

static void teardown(void)
{
    kit_close(&kit);
}

static struct step step_of(const char *command)
{
    return kit_step(
        &kit,
        &(struct kit_task){
            .config = arena_printf(&kit.arena, "\"steps\":[{\"name\":\"own\",\"command\":\"%s\"}]",
                                   command),
            .payload = arena_printf(&kit.arena, "\"step\":\"own\",\"baseCommit\":\"%s\"",
                                    kit_sh(&kit, "git --git-dir=origin.git rev-parse main"))});
}

START_TEST(it_is_told_what_it_works_on)
{
    struct step step = step_of("grep -q '\\\"step\\\":\\\"own\\\"' $DROVER_STEP_INPUT && "
                               "grep -q one file.txt");
    struct err err = {0};
    ck_assert_msg(step_custom(&step, &err) == RC_OK, "%s", err.text);
    ck_assert_str_eq(js_get_str(kit_result(&kit), "status", ""), "success");
}
END_TEST

START_TEST(more_than_it_can_be_told_is_refused_in_words)
{
    enum { MANY = 600 * 1024 };
    struct step step = step_of("true");
    struct err err = {0};
    char *text = arena_alloc(&kit.arena, MANY + 1);
    memset(text, 'x', MANY);
    step.input.description = text;
    ck_assert_int_eq(step_custom(&step, &err), RC_TOO_LARGE);
    ck_assert_str_eq(step.failure.code, "payload_invalid");
    ck_assert(!step.failure.retryable);
    ck_assert_ptr_nonnull(strstr(step.failure.message, "step own"));
    ck_assert_ptr_nonnull(strstr(step.failure.message, "larger than"));
}
END_TEST

START_TEST(without_a_sandbox_nothing_runs)
{
    struct step step = step_of("true");
    struct err err = {0};
    kit.site.sandbox.kind = SANDBOX_UNAVAILABLE;
    ck_assert_int_eq(step_custom(&step, &err), RC_DENIED);
    ck_assert_str_eq(step.failure.code, "sandbox_unavailable");
    ck_assert(!step.failure.retryable);
    ck_assert_ptr_nonnull(strstr(step.failure.message, "apt-get install bubblewrap"));
}
END_TEST

Suite *custom_step_suite(void)
{
    Suite *suite = suite_create("custom_step");
    TCase *tests = tcase_create("custom_step");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, it_is_told_what_it_works_on);
    tcase_add_test(tests, more_than_it_can_be_told_is_refused_in_words);
    tcase_add_test(tests, without_a_sandbox_nothing_runs);
    suite_add_tcase(suite, tests);
    return suite;
}
