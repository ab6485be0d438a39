/*
 * test_pauses.c - where a paused run stops, and where it continues.
 */
#include "base/clock.h"
#include "base/js_peek.h"
#include "control/admit/decide.h"
#include "control/queue/lease.h"
#include "control/run/pause.h"
#include "core/event_types.h"
#include "store/approvals.h"
#include "tests/unit/lab.h"
#include <check.h>
#include <string.h>

static struct lab lab;

static void setup(void)
{
    lab_open(&lab, NULL);
    lab_repository(&lab, "acme/billing", NULL);
}

static void teardown(void)
{
    lab_check(&lab);
    lab_close(&lab);
}

static void steer(const struct id *run_id, struct cmd_pause *cmd)
{
    cmd->run_id = *run_id;
    cmd->base.actor = (struct actor){"user", "ada"};
    ck_assert_msg(lab_call(&lab, &cmd->base) == RC_OK, "%s", cmd->base.err.text);
    command_free(&cmd->base);
    lab_check(&lab);
}

static void pause_run(const struct id *run_id)
{
    steer(run_id, cmd_pause_new());
}

static void resume(const struct id *run_id)
{
    steer(run_id, cmd_resume_new());
}

static size_t waiting(const char *step)
{
    struct job_row *jobs;
    return lab_lease(&lab, arena_printf(&lab.arena, "drover.%s", step), "node-1/0", &jobs);
}

static void expect(const struct id *run_id, enum run_status status)
{
    ck_assert_str_eq(run_status_name(lab_run(&lab, run_id).status), run_status_name(status));
}

START_TEST(a_paused_run_is_not_admitted_until_it_is_resumed)
{
    lab_repository(&lab, "acme/small", "\"limits\":{\"maxActiveRuns\":1}");
    struct id first = lab_submit(&lab, "acme/small"), second = lab_submit(&lab, "acme/small"),
              third = lab_submit(&lab, "acme/small");
    pause_run(&second);
    lab_cancel(&lab, &first);
    lab_pass_ms(&lab, 1000);
    expect(&second, RUN_QUEUED);
    expect(&third, RUN_PREPARING); /* The one behind it is. */
    struct run_row run = lab_run(&lab, &second);
    ck_assert_str_eq(run.deferred_reason, "paused");
    ck_assert_str_eq(run.deferred_detail, "ada has paused the run");
    resume(&second);
    ck_assert_str_eq(lab_run(&lab, &second).deferred_reason, "repository_concurrency_limit");
    lab_cancel(&lab, &third);
    lab_pass_ms(&lab, 1000);
    expect(&second, RUN_PREPARING);
}
END_TEST

START_TEST(the_step_after_a_pause_is_held_and_others_are_not)
{
    struct id run_id = lab_submit(&lab, "acme/billing");
    struct job_row job = lab_take(&lab, "prepare");
    pause_run(&run_id);
    lab_finish(&lab, &job, RESULT_PREPARE); /* What a worker has begun, it ends. */
    expect(&run_id, RUN_CONTEXT_LOADING);
    ck_assert_uint_eq(waiting("hydrate"), 0);
    struct id other = lab_submit(&lab, "acme/billing");
    lab_step(&lab, "prepare", RESULT_PREPARE);
    lab_step(&lab, "hydrate", RESULT_HYDRATE);
    expect(&other, RUN_RUNNING);
    expect(&run_id, RUN_CONTEXT_LOADING);
    lab_pass_ms(&lab, 86400000);
    ck_assert_uint_eq(waiting("hydrate"), 0);
    resume(&run_id);
    lab_step(&lab, "hydrate", RESULT_HYDRATE);
    expect(&run_id, RUN_RUNNING);
}
END_TEST

START_TEST(a_held_job_has_the_new_deadline)
{
    struct id run_id = lab_submit(&lab, "acme/billing");
    int64_t before_us = lab_run(&lab, &run_id).deadline_us;
    char text[TIME_TEXT_BYTES];
    pause_run(&run_id); /* Its job was made before. */
    ck_assert_uint_eq(waiting("prepare"), 0);
    lab_pass_ms(&lab, 7200000);
    resume(&run_id);
    ck_assert_int_eq(lab_run(&lab, &run_id).deadline_us, before_us + 2 * US_PER_HOUR);
    struct job_row job = lab_take(&lab, "prepare");
    const char *want = arena_printf(&lab.arena, "\"%s\"",
                                    time_format(text, before_us + 2 * US_PER_HOUR));
    ck_assert(str_is(js_peek(job.payload, "runDeadline"), want));
    pause_run(&run_id);
    lab_finish(&lab, &job, RESULT_PREPARE); /* The next one is made while the run stands still. */
    lab_pass_ms(&lab, 3600000);
    resume(&run_id);
    job = lab_take(&lab, "hydrate");
    want = arena_printf(&lab.arena, "\"%s\"", time_format(text, before_us + 3 * US_PER_HOUR));
    ck_assert(str_is(js_peek(job.payload, "runDeadline"), want));
}
END_TEST

START_TEST(a_run_that_was_paused_for_long_still_has_its_deadline)
{
    lab_repository(&lab, "acme/billing", "\"timeouts\":{\"runMs\":60000}");
    struct id run_id = lab_submit(&lab, "acme/billing");
    lab_pass_ms(&lab, 20000);
    pause_run(&run_id);
    lab_pass_ms(&lab, 600000);
    expect(&run_id, RUN_PREPARING);
    resume(&run_id);
    lab_pass_ms(&lab, 39000);
    expect(&run_id, RUN_PREPARING);
    lab_pass_ms(&lab, 2000);
    expect(&run_id, RUN_TIMED_OUT);
}
END_TEST

START_TEST(a_queued_run_keeps_what_is_left_of_its_wait)
{
    lab_repository(&lab, "acme/small",
                   "\"limits\":{\"maxActiveRuns\":1},\"timeouts\":{\"queueMs\":60000}");
    (void)lab_submit(&lab, "acme/small");
    struct id run_id = lab_submit(&lab, "acme/small");
    lab_pass_ms(&lab, 20000);
    pause_run(&run_id);
    lab_pass_ms(&lab, 600000);
    expect(&run_id, RUN_QUEUED);
    resume(&run_id);
    lab_pass_ms(&lab, 39000);
    expect(&run_id, RUN_QUEUED);
    lab_pass_ms(&lab, 2000);
    expect(&run_id, RUN_TIMED_OUT);
}
END_TEST

START_TEST(an_agent_elsewhere_has_its_clocks_back)
{
    struct job_row *jobs;
    lab_far_repository(&lab, "acme/far", "\"timeouts\":{\"agentMs\":100000,\"idleMs\":60000}");
    struct id run_id = lab_submit(&lab, "acme/far");
    lab_step(&lab, "prepare", RESULT_PREPARE);
    lab_step(&lab, "hydrate", RESULT_HYDRATE);
    struct cmd_lease *lease = cmd_lease_new();
    static const char *const queues[] = {"far", NULL};
    lease->queues = queues;
    lease->worker = "away";
    lease->max = 1;
    lease->lease_us = 12 * US_PER_HOUR;
    ck_assert_int_eq(lab_call(&lab, &lease->base), RC_OK);
    ck_assert_uint_eq(lease->job_count, 1);
    jobs = lease->jobs;
    lab_pass_ms(&lab, 50000);
    pause_run(&run_id);
    lab_pass_ms(&lab, 3600000);
    ck_assert_int_eq(lab_progress(&lab, &jobs[0], "[]").hold, JOB_HOLD_PAUSED); /* Idle anew. */
    resume(&run_id);
    lab_pass_ms(&lab, 45000);
    ck_assert(!lab_progress(&lab, &jobs[0], "[]").cancel);
    lab_pass_ms(&lab, 6000); /* 101 s of work. */
    ck_assert(lab_progress(&lab, &jobs[0], "[]").cancel);
    ck_assert_str_eq(lab_run(&lab, &run_id).stop_by, "timeouts.agentMs");
    command_free(&lease->base);
}
END_TEST

START_TEST(a_paused_run_survives_its_worker)
{
    struct id run_id = lab_submit(&lab, "acme/billing");
    lab_step(&lab, "prepare", RESULT_PREPARE);
    lab_step(&lab, "hydrate", RESULT_HYDRATE);
    (void)lab_take(&lab, "agent");
    pause_run(&run_id);
    lab_pass_ms(&lab, 16000); /* Its lease runs out. */
    expect(&run_id, RUN_PREPARING);
    ck_assert_uint_eq(waiting("prepare"), 0);
    ck_assert_int_gt(lab_run(&lab, &run_id).paused_us, 0);
    resume(&run_id);
    lab_step(&lab, "prepare", RESULT_PREPARE);
    lab_step(&lab, "agent", RESULT_AGENT);
    expect(&run_id, RUN_VERIFYING);
}
END_TEST

START_TEST(a_decision_is_taken_and_what_follows_is_held)
{
    lab_repository(&lab, "acme/billing", "\"policy\":{\"approval\":\"always\"}");
    struct id run_id = lab_submit(&lab, "acme/billing");
    lab_step(&lab, "prepare", RESULT_PREPARE);
    lab_step(&lab, "hydrate", RESULT_HYDRATE);
    lab_step(&lab, "agent", RESULT_AGENT);
    lab_step(&lab, "verify", RESULT_VERIFIED);
    lab_step(&lab, "judge", RESULT_JUDGED);
    int64_t before_us = lab_run(&lab, &run_id).deadline_us;
    lab_pass_ms(&lab, 60000);
    pause_run(&run_id);
    lab_pass_ms(&lab, 60000);
    struct waiting_filter filter = {.status = "pending", .run_id = run_id, .limit = 1};
    struct approval_row *rows;
    size_t count;
    ck_assert_int_eq(approvals_list(lab.db, &filter, &lab.arena, &rows, &count, NULL), RC_OK);
    struct cmd_decide *cmd = cmd_decide_new();
    cmd->approval_id = rows[0].id;
    cmd->approve = true;
    ck_assert_int_eq(lab_call(&lab, &cmd->base), RC_OK);
    command_free(&cmd->base);
    expect(&run_id, RUN_CREATING_PR);
    ck_assert_uint_eq(waiting("publish"), 0);
    lab_pass_ms(&lab, 60000);
    resume(&run_id); /* All three minutes in one. */
    ck_assert_int_eq(lab_run(&lab, &run_id).deadline_us, before_us + 180 * US_PER_SECOND);
    lab_step(&lab, "publish", RESULT_PUBLISHED);
    expect(&run_id, RUN_COMPLETED);
}
END_TEST

START_TEST(a_breaker_does_not_answer_for_a_paused_run)
{
    struct id run_id = lab_submit(&lab, "acme/billing");
    pause_run(&run_id);
    ck_assert_uint_eq(waiting("prepare"), 0); /* It depends on the forge. */
    struct job_row job;
    struct run_row run = lab_run(&lab, &run_id);
    ck_assert_int_eq(jobs_get(lab.db, &run.job_id, &lab.arena, &job, NULL), RC_OK);
    ck_assert_int_eq(job.life.state, JOB_SCHEDULED);
    ck_assert_int_eq(job.life.due_us, JOB_HELD_US);
    ck_assert_int_eq(job.life.attempt, 0);
    resume(&run_id);
    ck_assert_int_eq(jobs_get(lab.db, &run.job_id, &lab.arena, &job, NULL), RC_OK);
    ck_assert_int_eq(job.life.state, JOB_QUEUED);
    ck_assert_int_le(job.life.due_us, lab.now_us);
}
END_TEST

Suite *pauses_suite(void)
{
    Suite *suite = suite_create("pauses");
    TCase *tc = tcase_create("pauses");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_paused_run_is_not_admitted_until_it_is_resumed);
    tcase_add_test(tc, the_step_after_a_pause_is_held_and_others_are_not);
    tcase_add_test(tc, a_held_job_has_the_new_deadline);
    tcase_add_test(tc, a_run_that_was_paused_for_long_still_has_its_deadline);
    tcase_add_test(tc, a_queued_run_keeps_what_is_left_of_its_wait);
    tcase_add_test(tc, an_agent_elsewhere_has_its_clocks_back);
    tcase_add_test(tc, a_paused_run_survives_its_worker);
    tcase_add_test(tc, a_decision_is_taken_and_what_follows_is_held);
    tcase_add_test(tc, a_breaker_does_not_answer_for_a_paused_run);
    suite_add_tcase(suite, tc);
    return suite;
}
