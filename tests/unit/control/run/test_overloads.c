/*
 * A provider that is overloaded: the run waits and tries again, with what its agent had done.
 */
#include "core/event_types.h"
#include "tests/unit/lab.h"
#include <check.h>
#include <string.h>

static struct lab lab;

static void setup(void)
{
    lab_open(&lab, NULL);
    lab_repository(&lab, "acme/billing",
                   "\"retries\":{\"overloads\":2},\"timeouts\":{\"runMs\":7200000}");
}

static void teardown(void)
{
    lab_check(&lab);
    lab_close(&lab);
}

#define OVERLOADED                                                                               \
    "{\"outcome\":\"overloaded\",\"report\":\"error\",\"error\":\"529 Overloaded\",\"turns\":0," \
    "\"costUsd\":0.1}"
#define OVERLOADED_LATER                                                                \
    "{\"outcome\":\"overloaded\",\"report\":\"error\",\"turns\":2,\"outputTokens\":10," \
    "\"costUsd\":0.2,\"patch\":{\"sha256\":\"half\",\"files\":1,\"treeHash\":\"cc\"}}"

static void begin(const struct id *run_id)
{
    lab_step(&lab, "prepare", RESULT_PREPARE);
    if (lab_run(&lab, run_id).prompt_sha256 == NULL)
        lab_step(&lab, "hydrate", RESULT_HYDRATE);
}

static void meet(const struct id *run_id, const char *result)
{
    begin(run_id);
    lab_step(&lab, "agent", result);
}

static int64_t wait_ms(const struct id *run_id)
{
    return (lab_run(&lab, run_id).overloaded_until_us - lab.now_us) / US_PER_MS;
}

START_TEST(the_run_waits_and_the_same_attempt_begins_again)
{
    struct id run_id = lab_submit(&lab, "acme/billing");
    meet(&run_id, OVERLOADED);
    struct run_row run = lab_run(&lab, &run_id);
    ck_assert_int_eq(run.status, RUN_QUEUED);
    ck_assert_str_eq(run.deferred_reason, "provider_overloaded");
    ck_assert_ptr_nonnull(strstr(run.deferred_detail, "is overloaded (1 times in a row); it is"));
    ck_assert_int_eq(run.cost_microusd, 100000);
    ck_assert_int_eq(lab_task(&lab, &run_id).status, TASK_DEFERRED);
    ck_assert_int_eq(lab_count_events(&lab, &run_id, EV_TASK_DEFERRED), 1);
    ck_assert_int_ge(wait_ms(&run_id), 15000);
    ck_assert_int_le(wait_ms(&run_id), 20000);
    lab_pass_ms(&lab, wait_ms(&run_id) - 1);
    ck_assert_int_eq(lab_run(&lab, &run_id).status, RUN_QUEUED);
    lab_pass_ms(&lab, 2); /* And what a millisecond is short of it. */
    begin(&run_id);
    run = lab_run(&lab, &run_id);
    ck_assert_int_eq(run.status, RUN_RUNNING);
    ck_assert_int_eq(run.attempt, 1);
    ck_assert_int_eq(run.used[BUDGET_AGENT], 1);
    lab_step(&lab, "agent", RESULT_AGENT);
    run = lab_run(&lab, &run_id);
    ck_assert_int_eq(run.status, RUN_VERIFYING);
    ck_assert_int_eq(run.overloads, 0);
    ck_assert_int_eq(run.cost_microusd, 600000);
}
END_TEST

START_TEST(too_often_in_a_row_fails_the_run)
{
    struct id run_id = lab_submit(&lab, "acme/billing");
    for (int i = 0; i < 3; i++) {
        meet(&run_id, OVERLOADED);
        lab_pass_ms(&lab, 60000);
    }
    struct run_row run = lab_run(&lab, &run_id);
    ck_assert_int_eq(run.status, RUN_FAILED);
    ck_assert_str_eq(run.error_code, "provider_overloaded");
    ck_assert_ptr_nonnull(strstr(run.error_message, "overloaded 3 times in a row"));
    ck_assert_ptr_nonnull(strstr(run.error_message, ": 529 Overloaded"));
    ck_assert_int_eq(run.cost_microusd, 300000);
}
END_TEST

START_TEST(an_attempt_that_got_on_keeps_its_work_and_begins_a_new_row)
{
    struct id run_id = lab_submit(&lab, "acme/billing");
    for (int i = 0; i < 4; i++) {
        meet(&run_id, OVERLOADED_LATER);
        ck_assert_int_eq(lab_run(&lab, &run_id).overloads, 1);
        ck_assert_ptr_nonnull(lab_run(&lab, &run_id).patch_sha256);
        lab_pass_ms(&lab, 60000);
    }
    ck_assert_int_eq(lab_run(&lab, &run_id).status, RUN_PREPARING);
    lab.now_us += 7200 * US_PER_SECOND; /* But not for ever. */
    meet(&run_id, OVERLOADED_LATER);
    struct run_row run = lab_run(&lab, &run_id);
    ck_assert_str_eq(run.error_code, "provider_overloaded");
    ck_assert(run.partial);
}
END_TEST

START_TEST(a_run_that_waits_can_be_cancelled)
{
    struct id run_id = lab_submit(&lab, "acme/billing");
    meet(&run_id, OVERLOADED);
    lab_cancel(&lab, &run_id);
    ck_assert_int_eq(lab_run(&lab, &run_id).status, RUN_CANCELLED);
}
END_TEST

START_TEST(a_plan_waits_as_well)
{
    lab_repository(&lab, "acme/planned", "\"plan\":{}");
    struct id run_id = lab_submit(&lab, "acme/planned");
    begin(&run_id);
    lab_step(&lab, "plan", "{\"outcome\":\"overloaded\",\"report\":\"error\",\"planSha256\":\"\"}");
    ck_assert_str_eq(lab_run(&lab, &run_id).deferred_reason, "provider_overloaded");
    lab_pass_ms(&lab, 21000);
    begin(&run_id);
    ck_assert_int_eq(lab_run(&lab, &run_id).status, RUN_PLANNING);
}
END_TEST

Suite *overloads_suite(void)
{
    Suite *suite = suite_create("overloads");
    TCase *tc = tcase_create("overloads");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, the_run_waits_and_the_same_attempt_begins_again);
    tcase_add_test(tc, too_often_in_a_row_fails_the_run);
    tcase_add_test(tc, an_attempt_that_got_on_keeps_its_work_and_begins_a_new_row);
    tcase_add_test(tc, a_run_that_waits_can_be_cancelled);
    tcase_add_test(tc, a_plan_waits_as_well);
    suite_add_tcase(suite, tc);
    return suite;
}
