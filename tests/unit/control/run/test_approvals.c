/*
 * test_approvals.c - what people are asked, how they are reminded, and what their answer does.
 */
#include "base/clock.h"
#include "control/admit/decide.h"
#include "control/run/approval.h"
#include "core/event_types.h"
#include "store/approvals.h"
#include "store/pull_requests.h"
#include "store/timers.h"
#include "tests/unit/honest.h"
#include "tests/unit/lab.h"
#include <check.h>
#include <string.h>

#define GUARDED "\"policy\":{\"forbiddenPaths\":[\".github/**\",\"deploy\"],\"override\":\"%s\"}"
#define PATCH(paths)                                                                \
    "{\"outcome\":\"ended\",\"report\":\"success\",\"summary\":\"done\",\"patch\":" \
    "{\"sha256\":\"bb\",\"files\":1,\"treeHash\":\"cc\",\"paths\":[" paths "]}}"

static struct lab lab;

static void setup(void)
{
    lab_open(&lab, NULL);
}

static void teardown(void)
{
    lab_check(&lab);
    lab_close(&lab);
}

static void expect(const struct id *run_id, enum run_status status)
{
    ck_assert_str_eq(run_status_name(lab_run(&lab, run_id).status), run_status_name(status));
}

static struct id submit_to_agent(void)
{
    struct id run_id = lab_submit(&lab, "acme/a");
    lab_step(&lab, "prepare", RESULT_PREPARE);
    lab_step(&lab, "hydrate", RESULT_HYDRATE);
    return run_id;
}

static struct approval_row open_question(const struct id *run_id)
{
    struct waiting_filter filter = {.status = "pending", .run_id = *run_id, .limit = 10};
    struct approval_row *rows;
    size_t count;
    ck_assert_int_eq(approvals_list(lab.db, &filter, &lab.arena, &rows, &count, NULL), RC_OK);
    ck_assert_uint_eq(count, 1);
    return rows[0];
}

static enum rc decide(const struct approval_row *row, bool approve, const char *reason)
{
    struct cmd_decide *cmd = cmd_decide_new();
    cmd->approval_id = row->id;
    cmd->approve = approve;
    cmd->reason = reason;
    cmd->base.actor = (struct actor){"user", "ann"};
    enum rc rc = lab_call(&lab, &cmd->base);
    command_free(&cmd->base);
    return rc;
}

static size_t timers_left(const struct approval_row *row)
{
    struct timer_row *timers;
    size_t count;
    ck_assert_int_eq(timers_of(lab.db, &row->id, &lab.arena, &timers, &count, NULL), RC_OK);
    return count;
}

/* ---- reminders ---- */

static struct id ask_about_patch(void)
{
    lab_repository(&lab, "acme/a",
                   "\"policy\":{\"approval\":\"always\",\"reminderMs\":1000},"
                   "\"timeouts\":{\"approvalMs\":60000,\"runMs\":30000}");
    struct id run_id = submit_to_agent();
    lab_step(&lab, "agent", RESULT_AGENT);
    lab_step(&lab, "verify", RESULT_VERIFIED);
    lab_step(&lab, "judge", RESULT_JUDGED);
    expect(&run_id, RUN_AWAITING_APPROVAL);
    return run_id;
}

static int reminders(const struct id *run_id)
{
    return lab_count_events(&lab, run_id, EV_APPROVAL_REMINDED);
}

START_TEST(a_person_is_reminded_once_a_period_until_the_answer)
{
    struct id run_id = ask_about_patch();
    struct approval_row question = open_question(&run_id);
    lab_pass_ms(&lab, 999);
    ck_assert_int_eq(reminders(&run_id), 0);
    lab_pass_ms(&lab, 1);
    lab_pass_ms(&lab, 1);
    ck_assert_int_eq(reminders(&run_id), 1);
    lab_pass_ms(&lab, 5500); /* Nobody was there for five periods: that is one word, not five. */
    ck_assert_int_eq(reminders(&run_id), 2);
    lab_pass_ms(&lab, 499);
    ck_assert_int_eq(reminders(&run_id), 3);
    ck_assert_int_eq(open_question(&run_id).reminded, 3);
    ck_assert_int_eq(decide(&question, true, NULL), RC_OK);
    ck_assert_uint_eq(timers_left(&question), 0);
    lab_pass_ms(&lab, 5000);
    ck_assert_int_eq(reminders(&run_id), 3);
    expect(&run_id, RUN_CREATING_PR);
}
END_TEST

START_TEST(an_expired_question_reminds_nobody)
{
    struct id run_id = ask_about_patch();
    struct approval_row question = open_question(&run_id);
    lab_pass_ms(&lab, 60000);
    expect(&run_id, RUN_TIMED_OUT);
    ck_assert_uint_eq(timers_left(&question), 0);
    lab_pass_ms(&lab, 5000);
    ck_assert_int_le(reminders(&run_id), 1);
}
END_TEST

START_TEST(a_question_says_what_it_is_about)
{
    struct id run_id = ask_about_patch();
    struct approval_row question = open_question(&run_id);
    ck_assert_str_eq(question.kind, "patch");
    ck_assert_str_eq(question.question, "Policy asks for a person's approval");
    ck_assert_str_eq(question.summary, "fixed");
    ck_assert_str_eq(question.artifact_sha256, honest_sha256("bb", &lab.arena));
}
END_TEST

/* ---- plans ---- */

START_TEST(an_approved_plan_goes_to_the_agent_and_the_clock_stood_still)
{
    lab_repository(&lab, "acme/a",
                   "\"plan\":{\"approval\":\"always\"},\"timeouts\":{\"runMs\":30000}");
    struct id run_id = submit_to_agent();
    lab_step(&lab, "plan",
             "{\"planSha256\":\"pp\",\"outcome\":\"ended\",\"report\":\"success\","
             "\"summary\":\"first this, then that\"}");
    expect(&run_id, RUN_AWAITING_APPROVAL);
    struct approval_row question = open_question(&run_id);
    ck_assert_str_eq(question.kind, "plan");
    ck_assert_str_eq(question.artifact_sha256, honest_sha256("pp", &lab.arena));
    int64_t deadline_us = lab_run(&lab, &run_id).deadline_us;
    lab_pass_ms(&lab, 3600 * 1000);
    ck_assert_int_eq(decide(&question, true, NULL), RC_OK);
    expect(&run_id, RUN_RUNNING);
    ck_assert_int_eq(lab_run(&lab, &run_id).deadline_us, deadline_us + US_PER_HOUR);
    lab_step(&lab, "agent", RESULT_AGENT);
}
END_TEST

/* ---- forbidden paths ---- */

static void guarded(const char *override)
{
    lab_repository(&lab, "acme/a", arena_printf(&lab.arena, GUARDED, override));
}

START_TEST(a_forbidden_path_ends_the_run_for_good)
{
    guarded("deny");
    struct id run_id = submit_to_agent();
    lab_step(&lab, "agent", PATCH("\"src/a.c\",\".github/workflows/deploy-prod.yml\""));
    expect(&run_id, RUN_FAILED);
    struct run_row run = lab_run(&lab, &run_id);
    ck_assert_str_eq(run.error_code, "policy.forbidden_path");
    ck_assert_ptr_nonnull(strstr(run.error_message, ".github/workflows/deploy-prod.yml"));
    ck_assert_int_eq(run.attempt, 1);
    ck_assert_int_eq(lab_count_events(&lab, &run_id, EV_POLICY_EVALUATED), 1);
    ck_assert_int_eq(lab_count_events(&lab, &run_id, EV_POLICY_DENIED), 1);
    ck_assert_int_eq(lab_count_events(&lab, &run_id, EV_PATCH_POLICY_FLAGGED), 1);
    ck_assert_int_eq(lab_count_events(&lab, &run_id, EV_APPROVAL_REQUESTED), 0);
}
END_TEST

START_TEST(other_paths_pass_and_the_publication_is_decided_once)
{
    guarded("deny");
    struct id run_id = submit_to_agent();
    lab_step(&lab, "agent", PATCH("\"src/a.c\""));
    lab_step(&lab, "verify", RESULT_VERIFIED);
    lab_step(&lab, "judge", RESULT_JUDGED);
    expect(&run_id, RUN_CREATING_PR);
    ck_assert_int_eq(lab_count_events(&lab, &run_id, EV_POLICY_EVALUATED), 1);
    ck_assert_int_eq(lab_count_events(&lab, &run_id, EV_POLICY_DENIED), 0);
}
END_TEST

START_TEST(a_person_overrides_with_a_reason_and_is_not_asked_the_same_again)
{
    guarded("ask");
    struct id run_id = submit_to_agent();
    lab_step(&lab, "agent", PATCH("\"deploy/prod.yml\""));
    expect(&run_id, RUN_AWAITING_APPROVAL);
    struct approval_row question = open_question(&run_id);
    ck_assert_str_eq(question.kind, "override");
    ck_assert_ptr_nonnull(strstr(question.summary, "deploy/prod.yml"));
    ck_assert_int_eq(lab_count_events(&lab, &run_id, EV_POLICY_OVERRIDE_REQUESTED), 1);
    ck_assert_int_eq(decide(&question, true, NULL), RC_INVALID);
    ck_assert_int_eq(decide(&question, true, ""), RC_INVALID);
    expect(&run_id, RUN_AWAITING_APPROVAL);
    ck_assert_int_eq(decide(&question, true, "it is what was asked for"), RC_OK);
    expect(&run_id, RUN_VERIFYING);
    ck_assert_str_eq(lab_run(&lab, &run_id).overridden, "forbidden_paths");
    ck_assert_int_eq(lab_count_events(&lab, &run_id, EV_POLICY_OVERRIDE_APPROVED), 1);
    ck_assert_int_eq(lab_count_audit(&lab, "policy.override", NULL), 1);
    lab_step(&lab, "verify", RESULT_UNVERIFIED);
    lab_step(&lab, "agent", PATCH("\"deploy/prod.yml\",\"src/a.c\""));
    expect(&run_id, RUN_VERIFYING); /* Passed before. */
    lab_step(&lab, "verify", RESULT_UNVERIFIED);
    lab_step(&lab, "agent", PATCH("\"deploy/prod.yml\",\".github/x\""));
    expect(&run_id, RUN_AWAITING_APPROVAL); /* Another one. */
    question = open_question(&run_id);
    ck_assert_int_eq(decide(&question, false, NULL), RC_OK);
    expect(&run_id, RUN_FAILED);
    ck_assert_str_eq(lab_run(&lab, &run_id).error_code, "policy.forbidden_path");
    ck_assert_int_eq(lab_count_events(&lab, &run_id, EV_POLICY_OVERRIDE_REJECTED), 1);
}
END_TEST

/* ---- a pull request that the agent opened itself ---- */

/* What the person says, what happens after that, and how the run ends. */
static const struct {
    bool approve, in_time;
    enum run_status end;
    const char *code;
} answers[] = {
    {true, true, RUN_COMPLETED, NULL},
    {true, false, RUN_COMPLETED, NULL},
    {false, true, RUN_FAILED, "policy.forbidden_path"},
};

START_TEST(a_pull_request_of_the_agent_is_recorded_before_anybody_is_asked)
{
    lab_far_repository(&lab, "acme/a",
                       arena_printf(&lab.arena, GUARDED ",\"timeouts\":{\"runMs\":30000}", "ask"));
    struct id run_id = submit_to_agent();
    struct job_row *jobs;
    ck_assert_uint_eq(lab_lease(&lab, "far", "far-1", &jobs), 1);
    lab_finish(&lab, &jobs[0], "{\"status\":\"success\"}");
    lab_step(&lab, "collect",
             "{\"outcome\":\"ended\",\"report\":\"success\",\"patch\":"
             "{\"sha256\":\"bb\",\"files\":1,\"treeHash\":\"cc\",\"paths\":[\"deploy\"],"
             "\"forbiddenPaths\":1},\"pullRequest\":{\"number\":3,\"url\":\"u\","
             "\"headCommit\":\"1111111111111111111111111111111111111111\"}}");
    expect(&run_id, RUN_AWAITING_APPROVAL);
    struct pull_request_row pr;
    ck_assert_int_eq(pull_requests_of_run(lab.db, &run_id, &lab.arena, &pr, NULL), RC_OK);
    ck_assert_int_eq(pr.number, 3);
    struct approval_row question = open_question(&run_id);
    ck_assert_int_eq(decide(&question, answers[_i].approve, "as it is"), RC_OK);
    if (answers[_i].approve && answers[_i].in_time) {
        lab_step(&lab, "verify", RESULT_VERIFIED);
        lab_step(&lab, "judge", RESULT_JUDGED);
    }
    lab_pass_ms(&lab, answers[_i].in_time ? 0 : 30001);
    expect(&run_id, answers[_i].end);
    struct run_row run = lab_run(&lab, &run_id);
    ck_assert(text_same(run.error_code, answers[_i].code));
    ck_assert_str_eq(run.warning_code != NULL ? run.warning_code : "",
                     answers[_i].in_time ? "" : "run_timed_out");
    ck_assert_int_eq(lab_count_events(&lab, &run_id, EV_PR_CREATED), 1);
}
END_TEST

Suite *approvals_suite(void)
{
    Suite *suite = suite_create("approvals");
    TCase *tc = tcase_create("questions");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_person_is_reminded_once_a_period_until_the_answer);
    tcase_add_test(tc, an_expired_question_reminds_nobody);
    tcase_add_test(tc, a_question_says_what_it_is_about);
    tcase_add_test(tc, an_approved_plan_goes_to_the_agent_and_the_clock_stood_still);
    tcase_add_test(tc, a_forbidden_path_ends_the_run_for_good);
    tcase_add_test(tc, other_paths_pass_and_the_publication_is_decided_once);
    tcase_add_loop_test(tc, a_pull_request_of_the_agent_is_recorded_before_anybody_is_asked, 0,
                        (int)COUNT_OF(answers));
    tcase_add_test(tc, a_person_overrides_with_a_reason_and_is_not_asked_the_same_again);
    suite_add_tcase(suite, tc);
    return suite;
}
