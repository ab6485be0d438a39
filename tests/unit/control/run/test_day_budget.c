/*
 * A day's budget that is passed: what runs goes on, or is stopped.
 */
#include "core/event_types.h"
#include "tests/unit/lab.h"
#include <check.h>
#include <string.h>

static struct lab lab;

static void open_lab(bool stops)
{
    lab_open(&lab, &(struct lab_options){.limits = {.cost_per_day_microusd = 1000000,
                                                    .cost_per_run_microusd = 2000000,
                                                    .cost_per_day_stops = stops}});
    lab_repository(&lab, "acme/billing", "\"timeouts\":{\"cancelMs\":5000}");
    lab_repository(&lab, "acme/narrow", "\"limits\":{\"maxActiveRuns\":1}");
}

static void teardown(void)
{
    lab_check(&lab);
    lab_close(&lab);
}

static struct job_row start_agent(struct id *ret_run)
{
    *ret_run = lab_submit(&lab, "acme/billing");
    lab_step(&lab, "prepare", RESULT_PREPARE);
    lab_step(&lab, "hydrate", RESULT_HYDRATE);
    return lab_take(&lab, "agent");
}

static void spend(const struct job_row *job, const char *usd)
{
    lab_progress(&lab, job,
                 arena_printf(&lab.arena,
                              "[{\"type\":\"agent.model.turn.completed\","
                              "\"data\":{\"turns\":1,\"costUsd\":%s}}]",
                              usd));
    lab_pass_ms(&lab, 0);
}

static bool told_to_stop(const struct job_row *job)
{
    return lab_progress(&lab, job, "[]").cancel;
}

START_TEST(what_runs_is_stopped_once_it_is_passed)
{
    struct id first, second, done;
    open_lab(true);
    struct job_row at_done = start_agent(&done);
    lab_finish(&lab, &at_done, RESULT_AGENT); /* 0.50 USD, and its patch is being verified. */
    struct job_row at_first = start_agent(&first), at_second = start_agent(&second);
    struct id busy = lab_submit(&lab, "acme/narrow"), waiting = lab_submit(&lab, "acme/narrow");
    spend(&at_first, "0.5"); /* All of it, and no more. */
    ck_assert(!told_to_stop(&at_first) && !told_to_stop(&at_second));
    spend(&at_second, "0.01");
    ck_assert(told_to_stop(&at_first) && told_to_stop(&at_second));
    struct run_row run = lab_run(&lab, &busy);
    ck_assert_int_eq(run.status, RUN_FAILED); /* Its job had no worker. */
    ck_assert_str_eq(run.error_code, "cost_budget_exceeded");
    ck_assert_ptr_nonnull(strstr(run.error_message, "1.01 USD today (UTC), its budget is 1.00"));
    lab_fail(&lab, &at_first, "cancelled", false);
    ck_assert_str_eq(lab_run(&lab, &first).error_code, "cost_budget_exceeded");
    ck_assert_int_eq(lab_run(&lab, &first).cost_microusd, 500000);
    lab_pass_ms(&lab, 6000); /* The other does not answer. */
    ck_assert_str_eq(lab_run(&lab, &second).error_code, "cost_budget_exceeded");
    ck_assert_int_eq(lab_count_events(&lab, &second, EV_RUN_CANCEL_REQUESTED), 1);
    ck_assert_str_eq(lab_run(&lab, &waiting).deferred_reason, "cost_budget_exceeded");
    ck_assert_int_eq(lab_run(&lab, &done).status, RUN_VERIFYING);
}
END_TEST

START_TEST(no_other_attempt_begins_then)
{
    struct id done, other;
    open_lab(true);
    struct job_row job = start_agent(&done);
    lab_finish(&lab, &job, RESULT_AGENT);
    struct job_row at_other = start_agent(&other);
    lab_finish(&lab, &at_other,
               "{\"outcome\":\"timed_out\",\"report\":\"unknown\",\"costUsd\":0.6}");
    lab_step(&lab, "verify", RESULT_UNVERIFIED);
    struct run_row run = lab_run(&lab, &done);
    ck_assert_int_eq(run.status, RUN_FAILED);
    ck_assert_str_eq(run.error_code, "cost_budget_exceeded");
}
END_TEST

START_TEST(by_default_what_runs_goes_on)
{
    struct id first;
    open_lab(false);
    struct job_row job = start_agent(&first);
    spend(&job, "1.5");
    ck_assert(!told_to_stop(&job));
    lab_finish(&lab, &job, RESULT_AGENT);
    lab_step(&lab, "verify", RESULT_UNVERIFIED);
    ck_assert_int_eq(lab_run(&lab, &first).status, RUN_RUNNING);
}
END_TEST

START_TEST(the_next_day_begins_with_nothing_spent)
{
    struct id first, second;
    open_lab(true);
    struct job_row job = start_agent(&first);
    lab_finish(&lab, &job, "{\"outcome\":\"timed_out\",\"report\":\"unknown\",\"costUsd\":0.9}");
    lab.now_us += US_PER_DAY;
    job = start_agent(&second);
    spend(&job, "0.9");
    ck_assert(!told_to_stop(&job));
}
END_TEST

Suite *day_budget_suite(void)
{
    Suite *suite = suite_create("day_budget");
    TCase *tc = tcase_create("day_budget");
    tcase_add_checked_fixture(tc, NULL, teardown);
    tcase_add_test(tc, what_runs_is_stopped_once_it_is_passed);
    tcase_add_test(tc, no_other_attempt_begins_then);
    tcase_add_test(tc, by_default_what_runs_goes_on);
    tcase_add_test(tc, the_next_day_begins_with_nothing_spent);
    suite_add_tcase(suite, tc);
    return suite;
}
