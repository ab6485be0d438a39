/*
 * A run from queued to its end, step by step, through the production committer on a real store.
 */
#include "base/js_peek.h"
#include "control/admit/decide.h"
#include "control/admit/submit.h"
#include "core/event_types.h"
#include "store/approvals.h"
#include "store/pull_requests.h"
#include "tests/unit/honest.h"
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

static void expect(const struct id *run_id, enum run_status want)
{
    struct run_row run = lab_run(&lab, run_id);
    ck_assert_msg(run.status == want, "run is %s, not %s", run_status_name(run.status),
                  run_status_name(want));
    lab_check(&lab);
}

/* Walks the run up to the given step, whose job it leaves waiting. */
static void walk_to(const char *step)
{
    static const struct {
        const char *step, *result;
    } way[] = {{"prepare", RESULT_PREPARE}, {"hydrate", RESULT_HYDRATE},
               {"agent", RESULT_AGENT},     {"verify", RESULT_VERIFIED},
               {"judge", RESULT_JUDGED},    {"publish", RESULT_PUBLISHED}};
    for (size_t i = 0; i < COUNT_OF(way) && strcmp(way[i].step, step) != 0; i++) {
        struct job_row job = lab_take(&lab, way[i].step);
        lab_finish(&lab, &job, way[i].result);
    }
}

START_TEST(a_task_becomes_a_pull_request)
{
    struct id run_id = lab_submit(&lab, "acme/billing");
    static const struct {
        const char *step;
        enum run_status before;
        const char *result;
    } way[] = {
        {"prepare", RUN_PREPARING, RESULT_PREPARE},
        {"hydrate", RUN_CONTEXT_LOADING, RESULT_HYDRATE},
        {"agent", RUN_RUNNING, RESULT_AGENT},
        {"verify", RUN_VERIFYING, RESULT_VERIFIED},
        {"judge", RUN_JUDGING, RESULT_JUDGED},
        {"publish", RUN_CREATING_PR, RESULT_PUBLISHED},
    };
    for (size_t i = 0; i < COUNT_OF(way); i++) {
        expect(&run_id, way[i].before);
        lab_step(&lab, way[i].step, way[i].result);
    }
    expect(&run_id, RUN_COMPLETED);
    lab_step(&lab, "clean", "{}");
    struct run_row run = lab_run(&lab, &run_id);
    ck_assert_int_eq(run.cost_microusd, 500000);
    ck_assert_int_eq(run.turns, 2);
    struct pull_request_row pr;
    ck_assert_int_eq(pull_requests_of_run(lab.db, &run_id, &lab.arena, &pr, NULL), RC_OK);
    ck_assert_str_eq(pr.status, "open");
    ck_assert_int_eq(lab_count_events(&lab, &run_id, EV_TASK_COMPLETED), 1);
    ck_assert_int_eq(lab_task(&lab, &run_id).status, TASK_COMPLETED);
}
END_TEST

static void emit_progress(const struct job_row *job)
{
    (void)lab_progress(&lab, job,
                       "[{\"type\":\"agent.step.recorded\",\"data\":{\"text\":\"on\"}}]");
}

/* Another node with a clock that is behind, or a lane that had read it before it waited. */
START_TEST(a_clock_that_is_behind_does_not_turn_a_history_round)
{
    struct id run_id = lab_submit(&lab, "acme/billing");
    walk_to("agent");
    struct job_row job = lab_take(&lab, "agent");
    emit_progress(&job);
    lab.now_us -= 3 * US_PER_SECOND;
    emit_progress(&job);
    lab_finish(&lab, &job, RESULT_AGENT);
    lab_step(&lab, "verify", RESULT_VERIFIED);
    lab.now_us -= 3 * US_PER_SECOND;
    lab_step(&lab, "judge", RESULT_JUDGED);
    lab_step(&lab, "publish", RESULT_PUBLISHED);
    expect(&run_id, RUN_COMPLETED);
    struct event_filter filter = {.run_id = run_id, .with_task = true, .limit = 200};
    struct event *events;
    size_t count;
    struct err err = {0};
    ck_assert_int_eq(events_list(lab.db, &filter, &lab.arena, &events, &count, &err), RC_OK);
    ck_assert_uint_gt(count, 10);
    for (size_t i = 1; i < count; i++)
        ck_assert_int_ge(events[i].time_us, events[i - 1].time_us);
}
END_TEST

START_TEST(a_failed_check_goes_back_to_the_agent)
{
    struct id run_id = lab_submit(&lab, "acme/billing");
    walk_to("verify");
    lab_step(&lab, "verify", RESULT_UNVERIFIED);
    expect(&run_id, RUN_RUNNING);
    struct run_row run = lab_run(&lab, &run_id);
    ck_assert_int_eq(run.attempt, 2);
    ck_assert_str_eq(run.feedback_sha256, honest_sha256("ee", &lab.arena));
    lab_step(&lab, "agent", RESULT_AGENT);
    ck_assert_int_eq(lab_count_events(&lab, &run_id, EV_PATCH_SUPERSEDED), 1);
    lab_step(&lab, "verify", RESULT_VERIFIED);
    expect(&run_id, RUN_JUDGING);
    ck_assert_int_eq(lab_count_events(&lab, &run_id, EV_RUN_RETRY_WITH_FEEDBACK), 1);
}
END_TEST

static void report_session(const struct job_row *job, const char *id)
{
    (void)lab_progress(&lab, job,
                       arena_printf(&lab.arena,
                                    "[{\"type\":\"agent.session.started\","
                                    "\"data\":{\"sessionId\":\"%s\"}}]",
                                    id));
}

START_TEST(the_next_attempt_is_given_the_session_that_the_agent_reported)
{
    struct id run_id = lab_submit(&lab, "acme/billing");
    walk_to("agent");
    struct job_row job = lab_take(&lab, "agent");
    ck_assert_uint_eq(js_peek(job.payload, "session").len, 0);
    report_session(&job, "ses-1");
    report_session(&job, "ses-2");
    report_session(&job, "--no-word-of-a-command");
    ck_assert_str_eq(lab_run(&lab, &run_id).agent_session, "ses-2");
    lab_finish(&lab, &job, RESULT_AGENT);
    lab_step(&lab, "verify", RESULT_UNVERIFIED);
    job = lab_take(&lab, "agent");
    ck_assert(str_is(js_peek(job.payload, "session"), "\"ses-2\""));
    lab_finish(&lab, &job, RESULT_AGENT);
    ck_assert_str_eq(lab_run(&lab, &run_id).agent_session, "ses-2");
}
END_TEST

START_TEST(a_session_of_the_plan_is_not_resumed)
{
    lab_repository(&lab, "acme/planned", "\"plan\":{\"approval\":\"never\"}");
    struct id run_id = lab_submit(&lab, "acme/planned");
    lab_step(&lab, "prepare", RESULT_PREPARE);
    lab_step(&lab, "hydrate", RESULT_HYDRATE);
    struct job_row job = lab_take(&lab, "plan");
    report_session(&job, "ses-1");
    ck_assert_ptr_null(lab_run(&lab, &run_id).agent_session);
}
END_TEST

START_TEST(a_used_up_budget_ends_the_run)
{
    struct id run_id = lab_submit(&lab, "acme/billing");
    walk_to("agent");
    for (int attempt = 1; attempt <= 3; attempt++) {
        lab_step(&lab, "agent", RESULT_AGENT);
        lab_step(&lab, "verify", RESULT_UNVERIFIED);
    }
    expect(&run_id, RUN_FAILED);
    ck_assert_str_eq(lab_run(&lab, &run_id).error_code, "retry_budget_exhausted");
}
END_TEST

START_TEST(money_that_is_spent_ends_the_run_instead_of_a_repair)
{
    struct cmd_submit *submit = cmd_submit_new();
    submit->task.repository = "acme/billing";
    submit->task.description = "Cheap";
    submit->task.max_budget_microusd = 900000;
    ck_assert_int_eq(lab_call(&lab, &submit->base), RC_OK);
    struct id run_id = submit->answer.run_id;
    command_free(&submit->base);
    walk_to("agent");
    lab_step(&lab, "agent", RESULT_AGENT);
    lab_step(&lab, "verify", RESULT_UNVERIFIED);
    struct job_row job = lab_take(&lab, "agent");
    ck_assert_ptr_nonnull(strstr(str_dup(&lab.arena, job.payload), "\"maxBudgetUsd\":0.4"));
    lab_finish(&lab, &job, RESULT_AGENT);
    lab_step(&lab, "verify", RESULT_UNVERIFIED);
    expect(&run_id, RUN_FAILED);
    ck_assert_str_eq(lab_run(&lab, &run_id).error_code, "retry_budget_exhausted");
}
END_TEST

START_TEST(a_judge_that_refuses_sends_the_patch_back)
{
    struct id run_id = lab_submit(&lab, "acme/billing");
    walk_to("judge");
    lab_step(&lab, "judge", RESULT_REJECTED);
    expect(&run_id, RUN_RUNNING);
    ck_assert_str_eq(lab_run(&lab, &run_id).feedback_sha256, honest_sha256("ff", &lab.arena));
}
END_TEST

#define MODEL_JUDGE                                                                \
    "\"judge\":[{\"rules\":{}},{\"name\":\"model\",\"model\":{\"api\":\"openai\"," \
    "\"url\":\"http://127.0.0.1:1\",\"model\":\"m\",\"credential\":\"KEY\"}}]"

START_TEST(a_judge_in_doubt_asks_a_person_whatever_the_policy_says)
{
    lab_repository(&lab, "acme/trusting", "\"policy\":{\"approval\":\"never\"}," MODEL_JUDGE);
    struct id run_id = lab_submit(&lab, "acme/trusting");
    walk_to("judge");
    lab_step(&lab, "judge", RESULT_DOUBTED);
    expect(&run_id, RUN_AWAITING_APPROVAL);
    ck_assert_int_eq(lab_count_events(&lab, &run_id, EV_JUDGE_COMPLETED), 1);
    ck_assert_int_eq(lab_count_events(&lab, &run_id, EV_JUDGE_FAILED), 1);
    ck_assert_int_eq(lab_count_events(&lab, &run_id, EV_PATCH_POLICY_FLAGGED), 1);
}
END_TEST

START_TEST(what_a_model_judge_cost_is_the_runs)
{
    static const char judged[] =
        "{\"verdict\":\"pass\",\"judges\":[{\"name\":\"rules\",\"kind\":\"rules\",\"verdict\":"
        "\"pass\"},{\"name\":\"model\",\"kind\":\"model\",\"verdict\":\"pass\","
        "\"usage\":{\"model\":\"x\",\"inputTokens\":5,\"outputTokens\":6,\"costUsd\":0.25}}]}";
    lab_repository(&lab, "acme/billing", MODEL_JUDGE);
    struct id run_id = lab_submit(&lab, "acme/billing");
    walk_to("judge");
    int64_t before = lab_run(&lab, &run_id).cost_microusd;
    lab_step(&lab, "judge", judged);
    ck_assert_int_eq(lab_run(&lab, &run_id).cost_microusd - before, 250000);
    ck_assert_int_eq(lab_count_events(&lab, &run_id, EV_COST_RECORDED), 1);
}
END_TEST

START_TEST(a_secret_in_the_patch_ends_the_run_at_once)
{
    static const char found[] =
        "{\"outcome\":\"ended\",\"report\":\"success\",\"patch\":null,\"secrets\":[{\"rule\":"
        "\"github-token\",\"path\":\"a.c\",\"line\":3,\"text\":\"x [redacted:github-token]\"}]}";
    struct id run_id = lab_submit(&lab, "acme/billing");
    walk_to("agent");
    lab_step(&lab, "agent", found);
    expect(&run_id, RUN_FAILED);
    struct run_row run = lab_run(&lab, &run_id);
    ck_assert_str_eq(run.error_code, "secret_detected");
    ck_assert_ptr_nonnull(strstr(run.error_message, "github-token in a.c, line 3"));
    ck_assert_int_eq(lab_count_events(&lab, &run_id, EV_SECRET_DETECTED), 1);
    ck_assert_int_eq(lab_count_audit(&lab, "secret.detected", run_id.text), 1);
    ck_assert_int_eq(lab_count_events(&lab, &run_id, EV_PATCH_POLICY_FLAGGED), 1);
    ck_assert_int_eq(lab_count_events(&lab, &run_id, EV_RUN_RETRY_WITH_FEEDBACK), 0);
}
END_TEST

START_TEST(a_verifier_that_cannot_run_is_run_again_then_given_up)
{
    static const char errored[] = "{\"verdict\":\"failed\",\"checks\":[{\"name\":\"unit\","
                                  "\"status\":\"errored\",\"summary\":\"no shell\"}]}";
    struct id run_id = lab_submit(&lab, "acme/billing");
    walk_to("verify");
    lab_step(&lab, "verify", errored);
    expect(&run_id, RUN_VERIFYING);
    ck_assert_int_eq(lab_run(&lab, &run_id).attempt, 1);
    lab_step(&lab, "verify", errored);
    expect(&run_id, RUN_FAILED);
}
END_TEST

static const struct {
    const char *result;
    enum run_status end;
    const char *code;
} agent_ends[] = {
    {"{\"outcome\":\"ended\",\"report\":\"success\",\"patch\":null}", RUN_FAILED,
     "agent_did_nothing"},
    {"{\"outcome\":\"ended\",\"report\":\"error\",\"error\":\"no\"}", RUN_FAILED, "agent_error"},
    {"{\"outcome\":\"ended\",\"report\":\"error\",\"patch\":{\"sha256\":\"bb\"}}", RUN_FAILED,
     "agent_error_partial_work"},
    {"{\"outcome\":\"ended\",\"report\":\"unknown\"}", RUN_FAILED, "session_ended_unexpectedly"},
    {"{\"outcome\":\"timed_out\",\"report\":\"unknown\"}", RUN_TIMED_OUT, "agent_timed_out"},
    {"{\"outcome\":\"idle_timed_out\",\"report\":\"unknown\"}", RUN_TIMED_OUT,
     "agent_idle_timed_out"},
    {"{\"outcome\":\"turn_limit\",\"report\":\"unknown\"}", RUN_FAILED, "max_turns_exceeded"},
    {"{\"outcome\":\"budget_limit\",\"report\":\"unknown\"}", RUN_FAILED, "max_budget_exceeded"},
    {"{\"outcome\":\"ended\"}", RUN_FAILED, "invalid_step_result"},
    {"[1]", RUN_FAILED, "invalid_step_result"},
    {"not json", RUN_FAILED, "invalid_step_result"},
};

START_TEST(an_agents_end_decides_the_runs)
{
    struct id run_id = lab_submit(&lab, "acme/billing");
    walk_to("agent");
    struct job_row job = lab_take(&lab, "agent");
    lab_complete(&lab, &job, agent_ends[_i].result);
    expect(&run_id, agent_ends[_i].end);
    ck_assert_str_eq(lab_run(&lab, &run_id).error_code, agent_ends[_i].code);
    ck_assert_str_eq(lab_task(&lab, &run_id).error_code, agent_ends[_i].code);
}
END_TEST

/* ---- a person ---- */

static struct id submit_risky(void)
{
    struct cmd_submit *submit = cmd_submit_new();
    submit->task.repository = "acme/billing";
    submit->task.description = "Touch the payments";
    submit->task.risk = RISK_HIGH;
    ck_assert_int_eq(lab_call(&lab, &submit->base), RC_OK);
    struct id run_id = submit->answer.run_id;
    command_free(&submit->base);
    return run_id;
}

static struct approval_row open_question(const struct id *run_id)
{
    struct waiting_filter filter = {.status = "pending", .run_id = *run_id, .limit = 2};
    struct approval_row *rows;
    size_t count;
    ck_assert_int_eq(approvals_list(lab.db, &filter, &lab.arena, &rows, &count, NULL), RC_OK);
    ck_assert_uint_eq(count, 1);
    return rows[0];
}

static enum rc decide(const struct id *approval_id, bool approve)
{
    struct cmd_decide *cmd = cmd_decide_new();
    cmd->approval_id = *approval_id;
    cmd->approve = approve;
    enum rc rc = lab_call(&lab, &cmd->base);
    command_free(&cmd->base);
    return rc;
}

START_TEST(a_risky_patch_waits_for_a_person)
{
    struct id run_id = submit_risky();
    walk_to("publish");
    expect(&run_id, RUN_AWAITING_APPROVAL);
    struct approval_row question = open_question(&run_id);
    ck_assert_int_eq(decide(&question.id, true), RC_OK);
    expect(&run_id, RUN_CREATING_PR);
    ck_assert_int_eq(decide(&question.id, true), RC_CONFLICT);
    lab_step(&lab, "publish", RESULT_PUBLISHED);
    expect(&run_id, RUN_COMPLETED);
}
END_TEST

START_TEST(a_rejected_patch_fails_the_run)
{
    struct id run_id = submit_risky();
    walk_to("publish");
    struct approval_row question = open_question(&run_id);
    ck_assert_int_eq(decide(&question.id, false), RC_OK);
    expect(&run_id, RUN_FAILED);
    ck_assert_str_eq(lab_run(&lab, &run_id).error_code, "approval_rejected");
}
END_TEST

START_TEST(an_unanswered_question_expires)
{
    struct id run_id = submit_risky();
    walk_to("publish");
    lab_pass_ms(&lab, 23 * 3600 * 1000);
    expect(&run_id, RUN_AWAITING_APPROVAL); /* The run's own 8 hours do not pass meanwhile. */
    lab_pass_ms(&lab, 2 * 3600 * 1000);
    expect(&run_id, RUN_TIMED_OUT);
    ck_assert_str_eq(lab_run(&lab, &run_id).error_code, "approval_expired");
}
END_TEST

START_TEST(the_runs_clock_stands_still_while_a_person_thinks)
{
    struct id run_id = submit_risky();
    lab_pass_ms(&lab, 7 * 3600 * 1000);
    walk_to("publish");
    lab_pass_ms(&lab, 20 * 3600 * 1000);
    struct approval_row question = open_question(&run_id);
    ck_assert_int_eq(decide(&question.id, true), RC_OK);
    lab_pass_ms(&lab, 59 * 60 * 1000);
    expect(&run_id, RUN_CREATING_PR);
    lab_pass_ms(&lab, 2 * 60 * 1000);
    expect(&run_id, RUN_TIMED_OUT);
}
END_TEST

START_TEST(patch_only_opens_no_pull_request)
{
    struct cmd_submit *submit = cmd_submit_new();
    submit->task.repository = "acme/billing";
    submit->task.description = "Only look";
    submit->task.mode = MODE_PATCH_ONLY;
    ck_assert_int_eq(lab_call(&lab, &submit->base), RC_OK);
    struct id run_id = submit->answer.run_id;
    command_free(&submit->base);
    walk_to("publish");
    expect(&run_id, RUN_COMPLETED);
    struct run_row run = lab_run(&lab, &run_id);
    ck_assert(id_is_none(&run.pull_request_id));
}
END_TEST

/* ---- failures and losses ---- */

START_TEST(a_retryable_failure_is_tried_again_after_a_wait)
{
    struct id run_id = lab_submit(&lab, "acme/billing");
    struct job_row job = lab_take(&lab, "prepare");
    struct job_answer answer = lab_fail(&lab, &job, "repository_unreachable", true);
    ck_assert(answer.ok);
    ck_assert_int_eq(answer.state, JOB_SCHEDULED);
    expect(&run_id, RUN_PREPARING);
    lab_pass_ms(&lab, 15000);
    lab_step(&lab, "prepare", RESULT_PREPARE);
    expect(&run_id, RUN_CONTEXT_LOADING);
}
END_TEST

START_TEST(a_permanent_failure_ends_the_run_and_leaves_a_dead_letter)
{
    struct id run_id = lab_submit(&lab, "acme/billing");
    struct job_row job = lab_take(&lab, "prepare");
    ck_assert_int_eq(lab_fail(&lab, &job, "branch_not_found", false).state, JOB_DEAD_LETTER);
    expect(&run_id, RUN_FAILED);
    ck_assert_str_eq(lab_run(&lab, &run_id).error_code, "branch_not_found");
}
END_TEST

START_TEST(a_lost_agent_starts_from_a_fresh_tree)
{
    struct id run_id = lab_submit(&lab, "acme/billing");
    walk_to("agent");
    struct job_row lost = lab_take(&lab, "agent");
    lab_pass_ms(&lab, 16000);
    expect(&run_id, RUN_PREPARING);
    ck_assert_str_eq(lab_complete(&lab, &lost, RESULT_AGENT).code, "LEASE_LOST");
    ck_assert_int_eq(lab_count_events(&lab, &run_id, EV_RUN_HEARTBEAT_MISSED), 1);
    ck_assert_int_eq(lab_count_events(&lab, &run_id, EV_RUN_RECOVERED), 1);
    lab_step(&lab, "prepare", RESULT_PREPARE);
    expect(&run_id, RUN_RUNNING); /* The prompt was made before. */
    ck_assert_int_eq(lab_run(&lab, &run_id).attempt, 1);
    lab_step(&lab, "agent", RESULT_AGENT);
    expect(&run_id, RUN_VERIFYING);
}
END_TEST

START_TEST(a_lost_verifier_is_simply_run_again)
{
    struct id run_id = lab_submit(&lab, "acme/billing");
    walk_to("verify");
    lab_take(&lab, "verify");
    lab_pass_ms(&lab, 16000);
    expect(&run_id, RUN_VERIFYING);
    lab_step(&lab, "verify", RESULT_VERIFIED);
    expect(&run_id, RUN_JUDGING);
}
END_TEST

START_TEST(a_run_that_loses_every_worker_is_poison)
{
    struct id run_id = lab_submit(&lab, "acme/billing");
    for (int i = 0; i < JOB_LOST_MAX; i++) {
        expect(&run_id, RUN_PREPARING);
        lab_take(&lab, "prepare");
        lab_pass_ms(&lab, 16000);
    }
    expect(&run_id, RUN_FAILED);
    ck_assert_str_eq(lab_run(&lab, &run_id).error_code, "poison");
}
END_TEST

START_TEST(a_repeated_report_is_answered_like_the_first)
{
    struct id run_id = lab_submit(&lab, "acme/billing");
    struct job_row job = lab_take(&lab, "prepare");
    lab_finish(&lab, &job, RESULT_PREPARE);
    ck_assert(lab_complete(&lab, &job, RESULT_PREPARE).ok);
    expect(&run_id, RUN_CONTEXT_LOADING);
    ck_assert_int_eq(lab_count_events(&lab, &run_id, EV_RUN_STARTED), 1);
}
END_TEST

Suite *pipeline_suite(void)
{
    Suite *suite = suite_create("pipeline");
    TCase *tc = tcase_create("runs");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_task_becomes_a_pull_request);
    tcase_add_test(tc, a_clock_that_is_behind_does_not_turn_a_history_round);
    tcase_add_test(tc, a_failed_check_goes_back_to_the_agent);
    tcase_add_test(tc, the_next_attempt_is_given_the_session_that_the_agent_reported);
    tcase_add_test(tc, a_session_of_the_plan_is_not_resumed);
    tcase_add_test(tc, a_used_up_budget_ends_the_run);
    tcase_add_test(tc, money_that_is_spent_ends_the_run_instead_of_a_repair);
    tcase_add_test(tc, a_judge_that_refuses_sends_the_patch_back);
    tcase_add_test(tc, a_judge_in_doubt_asks_a_person_whatever_the_policy_says);
    tcase_add_test(tc, what_a_model_judge_cost_is_the_runs);
    tcase_add_test(tc, a_secret_in_the_patch_ends_the_run_at_once);
    tcase_add_test(tc, a_verifier_that_cannot_run_is_run_again_then_given_up);
    tcase_add_loop_test(tc, an_agents_end_decides_the_runs, 0, (int)COUNT_OF(agent_ends));
    tcase_add_test(tc, a_risky_patch_waits_for_a_person);
    tcase_add_test(tc, a_rejected_patch_fails_the_run);
    tcase_add_test(tc, an_unanswered_question_expires);
    tcase_add_test(tc, the_runs_clock_stands_still_while_a_person_thinks);
    tcase_add_test(tc, patch_only_opens_no_pull_request);
    tcase_add_test(tc, a_retryable_failure_is_tried_again_after_a_wait);
    tcase_add_test(tc, a_permanent_failure_ends_the_run_and_leaves_a_dead_letter);
    tcase_add_test(tc, a_lost_agent_starts_from_a_fresh_tree);
    tcase_add_test(tc, a_lost_verifier_is_simply_run_again);
    tcase_add_test(tc, a_run_that_loses_every_worker_is_poison);
    tcase_add_test(tc, a_repeated_report_is_answered_like_the_first);
    suite_add_tcase(suite, tc);
    return suite;
}
