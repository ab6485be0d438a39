/*
 * Cancelling and time running out, in every state a run can be in.
 */
#include "control/admit/decide.h"
#include "control/queue/complete.h"
#include "control/queue/lease.h"
#include "control/run/stop.h"
#include "core/event_types.h"
#include "store/approvals.h"
#include "tests/unit/lab.h"
#include <check.h>
#include <string.h>

static struct lab lab;

static void setup(void)
{
    lab_open(&lab, NULL);
    lab_repository(&lab, "acme/billing",
                   "\"policy\":{\"approval\":\"always\"},"
                   "\"timeouts\":{\"runMs\":3600000,\"queueMs\":60000,\"cancelMs\":5000,"
                   "\"approvalMs\":600000},\"limits\":{\"maxActiveRuns\":1}");
}

static void teardown(void)
{
    lab_check(&lab);
    lab_close(&lab);
}

static const struct {
    const char *step, *result;
    enum run_status status; /* While the step's job is open. */
} way[] = {
    {"prepare", RESULT_PREPARE, RUN_PREPARING}, {"hydrate", RESULT_HYDRATE, RUN_CONTEXT_LOADING},
    {"agent", RESULT_AGENT, RUN_RUNNING},       {"verify", RESULT_VERIFIED, RUN_VERIFYING},
    {"judge", RESULT_JUDGED, RUN_JUDGING},
};

static struct id run_up_to(size_t steps)
{
    struct id run_id = lab_submit(&lab, "acme/billing");
    for (size_t i = 0; i < steps; i++) {
        struct job_row job = lab_take(&lab, way[i].step);
        lab_finish(&lab, &job, way[i].result);
    }
    return run_id;
}

static enum rc cancel(const struct id *run_id, bool *ret_stopping)
{
    struct run_row run = lab_run(&lab, run_id);
    struct cmd_cancel *cmd = cmd_cancel_new();
    cmd->task_id = run.task_id;
    cmd->reason = "changed my mind";
    cmd->base.actor = (struct actor){"user", "ada"};
    enum rc rc = lab_call(&lab, &cmd->base);
    *ret_stopping = cmd->stopping;
    command_free(&cmd->base);
    lab_check(&lab);
    return rc;
}

static bool asked_to_stop(const struct job_row *job)
{
    struct cmd_heartbeat *beat = cmd_heartbeat_new();
    struct job_ref ref = {job->id, job->life.epoch};
    beat->worker = "node-1/0";
    beat->leases = &ref;
    beat->count = 1;
    beat->extend_us = 15 * US_PER_SECOND;
    ck_assert_int_eq(lab_call(&lab, &beat->base), RC_OK);
    ck_assert(beat->answers[0].ok);
    bool cancelled = beat->answers[0].cancel;
    command_free(&beat->base);
    return cancelled;
}

static void expect(const struct id *run_id, enum run_status want, const char *code)
{
    struct run_row run = lab_run(&lab, run_id);
    ck_assert_msg(run.status == want, "run is %s, not %s", run_status_name(run.status),
                  run_status_name(want));
    if (code != NULL)
        ck_assert_str_eq(run.error_code, code);
    lab_check(&lab);
}

START_TEST(a_step_that_nobody_took_is_cancelled_at_once)
{
    struct id run_id = run_up_to((size_t)_i);
    expect(&run_id, way[_i].status, NULL);
    bool stopping;
    ck_assert_int_eq(cancel(&run_id, &stopping), RC_OK);
    ck_assert(!stopping);
    expect(&run_id, RUN_CANCELLED, "cancelled");
    ck_assert_str_eq(lab_run(&lab, &run_id).error_message, "Cancelled by ada: changed my mind");
}
END_TEST

START_TEST(a_worker_is_asked_and_its_word_ends_the_run)
{
    struct id run_id = run_up_to((size_t)_i);
    struct job_row job = lab_take(&lab, way[_i].step);
    ck_assert(!asked_to_stop(&job));
    bool stopping;
    ck_assert_int_eq(cancel(&run_id, &stopping), RC_OK);
    ck_assert(stopping);
    expect(&run_id, way[_i].status, NULL);
    ck_assert(asked_to_stop(&job));
    ck_assert(lab_fail(&lab, &job, "cancelled", false).ok);
    expect(&run_id, RUN_CANCELLED, "cancelled");
    ck_assert_int_eq(lab_count_events(&lab, &run_id, EV_RUN_CANCEL_REQUESTED), 1);
    ck_assert_int_eq(cancel(&run_id, &stopping), RC_CONFLICT);
}
END_TEST

START_TEST(a_worker_that_finishes_anyway_does_not_undo_the_cancel)
{
    struct id run_id = run_up_to((size_t)_i);
    struct job_row job = lab_take(&lab, way[_i].step);
    bool stopping;
    ck_assert_int_eq(cancel(&run_id, &stopping), RC_OK);
    lab_finish(&lab, &job, way[_i].result);
    expect(&run_id, RUN_CANCELLED, "cancelled");
}
END_TEST

START_TEST(a_worker_that_dies_while_asked_ends_the_run_too)
{
    struct id run_id = run_up_to((size_t)_i);
    lab_take(&lab, way[_i].step);
    bool stopping;
    ck_assert_int_eq(cancel(&run_id, &stopping), RC_OK);
    lab_pass_ms(&lab, 16000);
    expect(&run_id, RUN_CANCELLED, "cancelled");
}
END_TEST

START_TEST(a_worker_that_ignores_the_question_is_cut_off)
{
    struct id run_id = run_up_to(2);
    struct job_row job = lab_take(&lab, "agent");
    bool stopping;
    ck_assert_int_eq(cancel(&run_id, &stopping), RC_OK);
    lab_pass_ms(&lab, 4000);
    ck_assert(asked_to_stop(&job));
    lab_pass_ms(&lab, 2000);
    expect(&run_id, RUN_CANCELLED, "cancelled");
    ck_assert_str_eq(lab_complete(&lab, &job, RESULT_AGENT).code, "LEASE_LOST");
}
END_TEST

START_TEST(cancelling_twice_asks_once)
{
    struct id run_id = run_up_to(2);
    lab_take(&lab, "agent");
    bool stopping;
    ck_assert_int_eq(cancel(&run_id, &stopping), RC_OK);
    ck_assert_int_eq(cancel(&run_id, &stopping), RC_OK);
    ck_assert(stopping);
    ck_assert_int_eq(lab_count_events(&lab, &run_id, EV_RUN_CANCEL_REQUESTED), 1);
}
END_TEST

START_TEST(a_question_to_a_person_is_withdrawn)
{
    struct id run_id = run_up_to(COUNT_OF(way));
    expect(&run_id, RUN_AWAITING_APPROVAL, NULL);
    bool stopping;
    ck_assert_int_eq(cancel(&run_id, &stopping), RC_OK);
    expect(&run_id, RUN_CANCELLED, "cancelled");
    struct waiting_filter filter = {.status = "cancelled", .run_id = run_id, .limit = 2};
    struct approval_row *rows;
    size_t count;
    ck_assert_int_eq(approvals_list(lab.db, &filter, &lab.arena, &rows, &count, NULL), RC_OK);
    ck_assert_uint_eq(count, 1);
}
END_TEST

static void approve(const struct id *run_id)
{
    struct waiting_filter filter = {.status = "pending", .run_id = *run_id, .limit = 2};
    struct approval_row *rows;
    size_t count;
    ck_assert_int_eq(approvals_list(lab.db, &filter, &lab.arena, &rows, &count, NULL), RC_OK);
    ck_assert_uint_eq(count, 1);
    struct cmd_decide *cmd = cmd_decide_new();
    cmd->approval_id = rows[0].id;
    cmd->approve = true;
    ck_assert_int_eq(lab_call(&lab, &cmd->base), RC_OK);
    command_free(&cmd->base);
}

START_TEST(publishing_finishes_before_the_cancel_takes_effect)
{
    struct id run_id = run_up_to(COUNT_OF(way));
    approve(&run_id);
    struct job_row job = lab_take(&lab, "publish");
    bool stopping;
    ck_assert_int_eq(cancel(&run_id, &stopping), RC_OK);
    ck_assert(stopping);
    ck_assert(!asked_to_stop(&job));
    lab_finish(&lab, &job, RESULT_PUBLISHED);
    expect(&run_id, RUN_CANCELLED, "cancelled");
    struct run_row run = lab_run(&lab, &run_id);
    ck_assert(!id_is_none(&run.pull_request_id));
}
END_TEST

START_TEST(publishing_is_not_taken_away_half_way)
{
    struct id run_id = run_up_to(COUNT_OF(way));
    approve(&run_id);
    struct job_row job = lab_take(&lab, "publish");
    bool stopping;
    ck_assert_int_eq(cancel(&run_id, &stopping), RC_OK);
    for (int i = 0; i < 3; i++) {
        lab_pass_ms(&lab, 5000); /* Longer than cancelMs, together longer than a lease. */
        ck_assert(!asked_to_stop(&job));
    }
    lab_finish(&lab, &job, RESULT_PUBLISHED);
    expect(&run_id, RUN_CANCELLED, "cancelled");
    struct run_row run = lab_run(&lab, &run_id);
    ck_assert(!id_is_none(&run.pull_request_id));
}
END_TEST

START_TEST(the_cleaning_after_a_cancel_is_not_asked_to_stop)
{
    struct id run_id = run_up_to(2);
    bool stopping;
    ck_assert_int_eq(cancel(&run_id, &stopping), RC_OK);
    struct job_row clean = lab_take(&lab, "clean");
    ck_assert(!asked_to_stop(&clean));
    ck_assert_ptr_nonnull(strstr(clean.payload.at, "\"outcome\":\"cancelled\""));
}
END_TEST

/* ---- time ---- */

START_TEST(a_run_past_its_deadline_times_out)
{
    struct id run_id = run_up_to(2);
    lab_pass_ms(&lab, 3600 * 1000 + 1);
    expect(&run_id, RUN_TIMED_OUT, "run_timed_out");
}
END_TEST

START_TEST(a_step_out_of_time_fails_what_has_no_agent_yet_and_times_out_the_rest)
{
    struct id run_id = run_up_to((size_t)_i);
    struct job_row job = lab_take(&lab, way[_i].step);
    ck_assert(lab_fail(&lab, &job, "step_timed_out", false).ok);
    bool hydrating = _i < 2;
    expect(&run_id, hydrating ? RUN_FAILED : RUN_TIMED_OUT,
           hydrating ? "hydration_timed_out" : "step_timed_out");
}
END_TEST

START_TEST(a_run_that_cannot_start_in_time_times_out)
{
    run_up_to(1);
    struct id waiting = lab_submit(&lab, "acme/billing");
    expect(&waiting, RUN_QUEUED, NULL);
    ck_assert_int_eq(lab_task(&lab, &waiting).status, TASK_DEFERRED);
    lab_pass_ms(&lab, 60001);
    expect(&waiting, RUN_TIMED_OUT, "queue_timed_out");
}
END_TEST

START_TEST(an_unanswered_question_expires)
{
    struct id run_id = run_up_to(COUNT_OF(way));
    lab_pass_ms(&lab, 600001);
    expect(&run_id, RUN_TIMED_OUT, "approval_expired");
    ck_assert_int_eq(lab_count_events(&lab, &run_id, EV_APPROVAL_EXPIRED), 1);
}
END_TEST

START_TEST(a_queued_run_is_cancelled_at_once)
{
    run_up_to(1);
    struct id waiting = lab_submit(&lab, "acme/billing");
    bool stopping;
    ck_assert_int_eq(cancel(&waiting, &stopping), RC_OK);
    ck_assert(!stopping);
    expect(&waiting, RUN_CANCELLED, "cancelled");
}
END_TEST

START_TEST(a_released_agent_starts_from_a_fresh_tree)
{
    struct id run_id = run_up_to(2);
    struct job_row job = lab_take(&lab, "agent");
    struct cmd_release *release = cmd_release_new();
    struct job_ref ref = {job.id, job.life.epoch};
    release->leases = &ref;
    release->count = 1;
    ck_assert_int_eq(lab_call(&lab, &release->base), RC_OK);
    ck_assert(release->answers[0].ok);
    command_free(&release->base);
    expect(&run_id, RUN_PREPARING, NULL);
    ck_assert_int_eq(lab_run(&lab, &run_id).lost, 0);
}
END_TEST

/* ---- what a worker is told ---- */

static const struct {
    const char *step;
    enum run_stop stop;
    bool paused, asks;
    bool cancel; /* Wanted. */
    enum job_hold hold;
    int64_t message_seq;
} orders[] = {
    {"agent", RUN_STOP_NONE, false, false, false, JOB_HOLD_NONE, 3},
    {"agent", RUN_STOP_NONE, true, false, false, JOB_HOLD_PAUSED, 3},
    {"agent", RUN_STOP_NONE, false, true, false, JOB_HOLD_ASKING, 3},
    {"agent", RUN_STOP_NONE, true, true, false, JOB_HOLD_PAUSED, 3},
    {"agent", RUN_STOP_CANCEL, true, true, true, JOB_HOLD_NONE, 0},
    {"agent", RUN_STOP_TIMEOUT, true, false, true, JOB_HOLD_NONE, 0},
    {"plan", RUN_STOP_NONE, true, false, false, JOB_HOLD_PAUSED, 3},
    {"pull", RUN_STOP_NONE, false, true, false, JOB_HOLD_ASKING, 3},
    /* Nothing else is held, nor spoken to. */
    {"verify", RUN_STOP_NONE, true, true, false, JOB_HOLD_NONE, 0},
    {"verify", RUN_STOP_CANCEL, true, false, true, JOB_HOLD_NONE, 0},
    {"publish", RUN_STOP_CANCEL, true, false, false, JOB_HOLD_NONE, 0},
    {"clean", RUN_STOP_NONE, true, false, false, JOB_HOLD_NONE, 0},
};

START_TEST(a_stop_outranks_a_hold_and_only_agents_are_held)
{
    struct run_row run = {.stop = orders[_i].stop, .message_seq = 3};
    struct job_answer answer = {.ok = true};
    if (orders[_i].paused)
        run.paused_us = 17;
    if (orders[_i].asks)
        run.question_id = id_of("01890000-0000-7000-8000-000000000001");
    stop_orders(&run, orders[_i].step, &answer);
    ck_assert_int_eq(answer.cancel, orders[_i].cancel);
    ck_assert_int_eq(answer.hold, orders[_i].hold);
    ck_assert_int_eq(answer.message_seq, orders[_i].message_seq);
}
END_TEST

Suite *stop_suite(void)
{
    Suite *suite = suite_create("stop");
    TCase *tc = tcase_create("stop");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, a_step_that_nobody_took_is_cancelled_at_once, 0, (int)COUNT_OF(way));
    tcase_add_loop_test(tc, a_worker_is_asked_and_its_word_ends_the_run, 0, (int)COUNT_OF(way));
    tcase_add_loop_test(tc, a_worker_that_finishes_anyway_does_not_undo_the_cancel, 0,
                        (int)COUNT_OF(way));
    tcase_add_loop_test(tc, a_worker_that_dies_while_asked_ends_the_run_too, 0, (int)COUNT_OF(way));
    tcase_add_test(tc, a_worker_that_ignores_the_question_is_cut_off);
    tcase_add_test(tc, cancelling_twice_asks_once);
    tcase_add_test(tc, a_question_to_a_person_is_withdrawn);
    tcase_add_test(tc, publishing_finishes_before_the_cancel_takes_effect);
    tcase_add_test(tc, publishing_is_not_taken_away_half_way);
    tcase_add_test(tc, the_cleaning_after_a_cancel_is_not_asked_to_stop);
    tcase_add_loop_test(tc, a_step_out_of_time_fails_what_has_no_agent_yet_and_times_out_the_rest,
                        0, (int)COUNT_OF(way));
    tcase_add_test(tc, a_run_past_its_deadline_times_out);
    tcase_add_test(tc, a_run_that_cannot_start_in_time_times_out);
    tcase_add_test(tc, an_unanswered_question_expires);
    tcase_add_test(tc, a_queued_run_is_cancelled_at_once);
    tcase_add_test(tc, a_released_agent_starts_from_a_fresh_tree);
    tcase_add_loop_test(tc, a_stop_outranks_a_hold_and_only_agents_are_held, 0,
                        (int)COUNT_OF(orders));
    suite_add_tcase(suite, tc);
    return suite;
}
