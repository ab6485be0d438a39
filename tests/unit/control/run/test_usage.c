/*
 * What a run has used is booked however its attempts end: money and turns from the last report of
 * progress and from the result, and the time at work.
 */
#include "control/admit/decide.h"
#include "control/admit/repositories.h"
#include "control/queue/complete.h"
#include "store/approvals.h"
#include "tests/unit/lab.h"
#include <check.h>
#include <string.h>

static struct lab lab;

static void setup(void)
{
    lab_open(&lab, NULL);
    lab_repository(&lab, "acme/billing",
                   "\"timeouts\":{\"runMs\":600000,\"cancelMs\":5000},"
                   "\"retries\":{\"wallClockMs\":60000}");
}

static void teardown(void)
{
    lab_check(&lab);
    lab_close(&lab);
}

static struct job_row start_agent(const char *repository, struct id *ret_run)
{
    *ret_run = lab_submit(&lab, repository);
    lab_step(&lab, "prepare", RESULT_PREPARE);
    lab_step(&lab, "hydrate", RESULT_HYDRATE);
    return lab_take(&lab, "agent");
}

#define REPORT(turns, usd)                                                                     \
    "[{\"type\":\"agent.model.turn.completed\",\"data\":{\"turns\":" turns ",\"costUsd\":" usd \
    ",\"inputTokens\":100,\"outputTokens\":10}}]"
#define RESULT_OF(outcome)                                                                 \
    "{\"outcome\":\"" outcome "\",\"report\":\"unknown\",\"turns\":3,\"inputTokens\":300," \
    "\"outputTokens\":30,\"costUsd\":0.6}"

static void expect(const struct id *run_id, enum run_status status, int64_t turns, int64_t microusd)
{
    struct run_row run = lab_run(&lab, run_id);
    ck_assert_msg(run.status == status, "run is %s", run_status_name(run.status));
    ck_assert_int_eq(run.turns, turns);
    ck_assert_int_eq(run.cost_microusd, microusd);
}

/* ---- a stop request ---- */

enum answer { BY_FAILURE, BY_RESULT, BY_RELEASE, BY_LOSS, BY_FORCE, ANSWER_COUNT };

static void release(const struct job_row *job)
{
    struct cmd_release *cmd = cmd_release_new();
    struct job_ref ref = {job->id, job->life.epoch};
    cmd->leases = &ref;
    cmd->count = 1;
    ck_assert_int_eq(lab_call(&lab, &cmd->base), RC_OK);
    ck_assert(cmd->answers[0].ok);
    command_free(&cmd->base);
}

static void answer(const struct job_row *job, enum answer how)
{
    switch (how) {
    case BY_FAILURE:
        ck_assert(lab_fail(&lab, job, "cancelled", false).ok);
        break;
    case BY_RESULT:
        lab_finish(&lab, job, RESULT_OF("timed_out"));
        break;
    case BY_RELEASE:
        release(job);
        break;
    case BY_LOSS:
        lab_pass_ms(&lab, 16000);
        break;
    case BY_FORCE:
        lab_pass_ms(&lab, 6000);
        break;
    case ANSWER_COUNT:
        break;
    }
}

START_TEST(a_cancelled_attempt_is_booked)
{
    struct id run_id;
    struct job_row job = start_agent("acme/billing", &run_id);
    lab_progress(&lab, &job, REPORT("2", "0.4"));
    lab_cancel(&lab, &run_id);
    answer(&job, (enum answer)_i);
    bool by_result = _i == BY_RESULT;
    expect(&run_id, RUN_CANCELLED, by_result ? 3 : 2, by_result ? 600000 : 400000);
}
END_TEST

START_TEST(what_it_reports_while_it_is_stopped_is_booked)
{
    struct id run_id;
    struct job_row job = start_agent("acme/billing", &run_id);
    lab_cancel(&lab, &run_id);
    ck_assert(lab_progress(&lab, &job, REPORT("2", "0.4")).cancel);
    answer(&job, BY_FAILURE);
    expect(&run_id, RUN_CANCELLED, 2, 400000);
}
END_TEST

START_TEST(an_attempt_past_the_deadline_of_its_run_is_booked)
{
    struct id run_id;
    struct job_row job = start_agent("acme/billing", &run_id);
    lab_progress(&lab, &job, REPORT("2", "0.4"));
    lab.now_us = lab_run(&lab, &run_id).deadline_us;
    lab_pass_ms(&lab, 0); /* The lease has run out as well: the worker is lost. */
    ck_assert_int_eq(lab_run(&lab, &run_id).cost_microusd, 400000);
}
END_TEST

/* ---- ends that the worker reports ---- */

static const struct {
    const char *outcome;
    enum run_status status;
} ends[] = {
    {"timed_out", RUN_TIMED_OUT}, {"idle_timed_out", RUN_TIMED_OUT},
    {"turn_limit", RUN_FAILED},   {"budget_limit", RUN_FAILED},
    {"token_limit", RUN_FAILED},  {"tool_denied", RUN_FAILED},
    {"memory_limit", RUN_FAILED}, {"ended", RUN_FAILED},
    {"quota", RUN_QUEUED},        {"overloaded", RUN_QUEUED},
    {"login_failed", RUN_FAILED}, {"output_unreadable", RUN_FAILED},
};

START_TEST(an_attempt_that_is_cut_off_is_booked)
{
    struct id run_id;
    struct job_row job = start_agent("acme/billing", &run_id);
    lab_progress(&lab, &job, REPORT("2", "0.4"));
    const char *result = arena_printf(&lab.arena,
                                      "{\"outcome\":\"%s\",\"report\":\"unknown\",\"turns\":3,"
                                      "\"costUsd\":0.6,\"quota\":{}}",
                                      ends[_i].outcome);
    lab_finish(&lab, &job, result);
    expect(&run_id, ends[_i].status, 3, 600000);
}
END_TEST

/* ---- lost workers ---- */

START_TEST(what_a_lost_attempt_spent_stays_and_the_next_one_adds_to_it)
{
    struct id run_id;
    struct job_row job = start_agent("acme/billing", &run_id);
    lab_progress(&lab, &job, REPORT("2", "0.4"));
    if (_i == 0)
        release(&job);
    else
        lab_pass_ms(&lab, 16000);
    expect(&run_id, RUN_PREPARING, 2, 400000);
    lab_step(&lab, "prepare", RESULT_PREPARE);
    job = lab_take(&lab, "agent");
    lab_progress(&lab, &job, REPORT("1", "0.1"));
    expect(&run_id, RUN_RUNNING, 3, 500000);
}
END_TEST

static void put_remote(void)
{
    struct cmd_repository_put *put = cmd_repository_put_new();
    put->name = "acme/remote";
    put->config = STR("{\"url\":\"/srv/x.git\",\"agent\":{\"compute\":\"remote\",\"remote\":"
                      "{\"url\":\"http://127.0.0.1:1/\"}},\"limits\":{\"maxBudgetUsd\":2},"
                      "\"timeouts\":{\"cancelMs\":5000}" LAB_VERIFY "}");
    ck_assert_msg(lab_call(&lab, &put->base) == RC_OK, "%s", put->base.err.text);
    command_free(&put->base);
}

static double left_in(const struct job_row *job)
{
    struct js *payload = NULL;
    ck_assert_int_eq(js_parse(job->payload.at, job->payload.len, &payload, NULL), RC_OK);
    double left = js_num(js_get(payload, "maxBudgetUsd"), 0);
    js_free(payload);
    return left;
}

/* A remote session that another worker follows reports its sums from its beginning. */
START_TEST(a_session_that_is_followed_by_another_worker_counts_once)
{
    struct id run_id;
    put_remote();
    struct job_row job = start_agent("acme/remote", &run_id);
    lab_progress(&lab, &job, REPORT("2", "0.4"));
    lab_pass_ms(&lab, 16000);
    expect(&run_id, RUN_RUNNING, 2, 400000); /* Not forgotten until it is reported again. */
    job = lab_take(&lab, "agent");
    ck_assert_double_eq_tol(left_in(&job), 2.0, 1e-9); /* Held against sums of the session. */
    lab_progress(&lab, &job, REPORT("3", "0.5"));
    expect(&run_id, RUN_RUNNING, 3, 500000);
}
END_TEST

START_TEST(a_session_that_is_never_heard_of_again_is_booked)
{
    struct id run_id;
    put_remote();
    struct job_row job = start_agent("acme/remote", &run_id);
    lab_progress(&lab, &job, REPORT("2", "0.4"));
    lab_pass_ms(&lab, 16000);
    lab_cancel(&lab, &run_id);
    lab_pass_ms(&lab, 6000);
    expect(&run_id, RUN_CANCELLED, 2, 400000);
}
END_TEST

/* ---- time ---- */

static void fail_verification(void)
{
    struct job_row job = lab_take(&lab, "verify");
    lab_finish(&lab, &job, RESULT_UNVERIFIED);
}

START_TEST(the_wall_clock_is_part_of_the_retry_budget)
{
    struct id run_id;
    struct job_row job = start_agent("acme/billing", &run_id);
    lab.now_us += 10 * US_PER_SECOND;
    lab_finish(&lab, &job, RESULT_AGENT);
    fail_verification();
    ck_assert_int_eq(lab_run(&lab, &run_id).status, RUN_RUNNING); /* There is time for another. */
    job = lab_take(&lab, "agent");
    lab.now_us += 14 * US_PER_SECOND;
    lab_finish(&lab, &job, RESULT_AGENT);
    lab.now_us += 40 * US_PER_SECOND;
    fail_verification();
    struct run_row run = lab_run(&lab, &run_id);
    ck_assert_int_eq(run.status, RUN_FAILED);
    ck_assert_str_eq(run.error_code, "retry_budget_exhausted");
    ck_assert_ptr_nonnull(strstr(run.error_message, "all its time"));
    ck_assert_int_eq(run.work_us, 64 * US_PER_SECOND);
    ck_assert_int_eq(run.work_since_us, 0);
}
END_TEST

START_TEST(time_in_the_queue_does_not_count)
{
    struct id run_id;
    struct job_row job = start_agent("acme/billing", &run_id);
    lab.now_us += 10 * US_PER_SECOND;
    lab_finish(&lab, &job, RESULT_OF("quota"));
    ck_assert_int_eq(lab_run(&lab, &run_id).work_us, 10 * US_PER_SECOND);
    lab_pass_ms(&lab, 7200000); /* Until its provider has something left. */
    struct run_row run = lab_run(&lab, &run_id);
    ck_assert_int_eq(run.status, RUN_PREPARING);
    ck_assert_int_eq(run_work_us(&run, lab.now_us + US_PER_SECOND), 11 * US_PER_SECOND);
}
END_TEST

START_TEST(time_that_a_person_takes_does_not_count)
{
    struct id run_id;
    lab_repository(&lab, "acme/asking", "\"policy\":{\"approval\":\"always\"}");
    struct job_row job = start_agent("acme/asking", &run_id);
    lab.now_us += 5 * US_PER_SECOND;
    lab_finish(&lab, &job, RESULT_AGENT);
    lab_step(&lab, "verify", RESULT_VERIFIED);
    lab_step(&lab, "judge", RESULT_JUDGED);
    struct run_row run = lab_run(&lab, &run_id);
    ck_assert_int_eq(run.status, RUN_AWAITING_APPROVAL);
    lab.now_us += 3600 * US_PER_SECOND;
    ck_assert_int_eq(run_work_us(&run, lab.now_us), 5 * US_PER_SECOND);
    struct waiting_filter filter = {.status = "pending", .run_id = run_id, .limit = 1};
    struct approval_row *rows;
    size_t count;
    ck_assert_int_eq(approvals_list(lab.db, &filter, &lab.arena, &rows, &count, NULL), RC_OK);
    struct cmd_decide *decide = cmd_decide_new();
    decide->approval_id = rows[0].id;
    decide->approve = true;
    ck_assert_int_eq(lab_call(&lab, &decide->base), RC_OK);
    command_free(&decide->base);
    lab.now_us += 2 * US_PER_SECOND;
    lab_step(&lab, "publish", RESULT_PUBLISHED);
    ck_assert_int_eq(lab_run(&lab, &run_id).work_us, 7 * US_PER_SECOND);
}
END_TEST

Suite *usage_suite(void)
{
    Suite *suite = suite_create("usage");
    TCase *tc = tcase_create("usage");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, a_cancelled_attempt_is_booked, 0, ANSWER_COUNT);
    tcase_add_test(tc, what_it_reports_while_it_is_stopped_is_booked);
    tcase_add_test(tc, an_attempt_past_the_deadline_of_its_run_is_booked);
    tcase_add_loop_test(tc, an_attempt_that_is_cut_off_is_booked, 0, (int)COUNT_OF(ends));
    tcase_add_loop_test(tc, what_a_lost_attempt_spent_stays_and_the_next_one_adds_to_it, 0, 2);
    tcase_add_test(tc, a_session_that_is_followed_by_another_worker_counts_once);
    tcase_add_test(tc, a_session_that_is_never_heard_of_again_is_booked);
    tcase_add_test(tc, the_wall_clock_is_part_of_the_retry_budget);
    tcase_add_test(tc, time_in_the_queue_does_not_count);
    tcase_add_test(tc, time_that_a_person_takes_does_not_count);
    suite_add_tcase(suite, tc);
    return suite;
}
