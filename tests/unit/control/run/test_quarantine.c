/*
 * test_quarantine.c - errors by the rules in the pipeline, and repositories that are put aside.
 */
#include "control/admit/retry.h"
#include "control/admit/submit.h"
#include "control/run/quarantine.h"
#include "core/event_types.h"
#include "tests/unit/lab.h"
#include <check.h>
#include <string.h>

static struct lab lab;

static void setup(void)
{
    lab_open(&lab, NULL);
    lab_repository(&lab, "acme/billing", "\"limits\":{\"maxActiveRuns\":2}");
    lab_repository(&lab, "acme/other", NULL);
}

static void teardown(void)
{
    lab_check(&lab);
    lab_close(&lab);
}

static void call_quarantine(struct cmd_quarantine *cmd, const char *reason)
{
    cmd->name = "acme/billing";
    cmd->reason = reason;
    ck_assert_msg(lab_call(&lab, &cmd->base) == RC_OK, "%s", cmd->base.err.text);
    command_free(&cmd->base);
}

static enum rc submit(const char **ret_text)
{
    struct cmd_submit *cmd = cmd_submit_new();
    cmd->task.repository = "acme/billing";
    cmd->task.description = "Fix the clock";
    cmd->base.actor = (struct actor){"user", "ada"};
    enum rc rc = lab_call(&lab, &cmd->base);
    *ret_text = arena_printf(&lab.arena, "%s %s", cmd->base.err.code, cmd->base.err.text);
    command_free(&cmd->base);
    return rc;
}

static enum rc retry(const struct id *run_id)
{
    struct cmd_retry *cmd = cmd_retry_new();
    cmd->task_id = lab_run(&lab, run_id).task_id;
    enum rc rc = lab_call(&lab, &cmd->base);
    command_free(&cmd->base);
    return rc;
}

START_TEST(every_run_of_it_fails_and_none_comes_in)
{
    struct id working = lab_submit(&lab, "acme/billing"), waiting[2];
    struct job_row job = lab_take(&lab, "prepare");
    for (size_t i = 0; i < COUNT_OF(waiting); i++)
        waiting[i] = lab_submit(&lab, "acme/billing");
    struct id other = lab_submit(&lab, "acme/other");
    call_quarantine(cmd_quarantine_new(), "planted hooks");
    lab_pass_ms(&lab, 0);
    ck_assert_int_eq(lab_run(&lab, &working).status, RUN_FAILED);
    ck_assert_str_eq(lab_run(&lab, &working).error_code, "repository_quarantined");
    for (size_t i = 0; i < COUNT_OF(waiting); i++)
        ck_assert_int_eq(lab_run(&lab, &waiting[i]).status, RUN_FAILED);
    ck_assert_int_eq(lab_run(&lab, &other).status, RUN_PREPARING);
    ck_assert_str_eq(lab_complete(&lab, &job, RESULT_PREPARE).code, "LEASE_LOST");
    const char *text;
    ck_assert_int_eq(submit(&text), RC_DENIED);
    ck_assert_msg(strstr(text, "REPO_QUARANTINED") != NULL, "%s", text);
    ck_assert_msg(strstr(text, "planted hooks") != NULL, "%s", text);
    ck_assert_int_eq(retry(&working), RC_DENIED);
}
END_TEST

START_TEST(a_release_takes_tasks_again)
{
    struct id run_id = lab_submit(&lab, "acme/billing");
    call_quarantine(cmd_quarantine_new(), NULL);
    lab_pass_ms(&lab, 0);
    call_quarantine(cmd_quarantine_release_new(), "mended");
    const char *text;
    ck_assert_int_eq(submit(&text), RC_OK);
    ck_assert_int_eq(retry(&run_id), RC_OK);
}
END_TEST

START_TEST(a_step_that_meets_a_trap_quarantines_its_repository)
{
    struct id run_id = lab_submit(&lab, "acme/billing");
    struct id second = lab_submit(&lab, "acme/billing");
    struct job_row *jobs;
    ck_assert_uint_eq(lab_lease(&lab, "drover.prepare", "node-1/0", &jobs), 2);
    struct job_answer answer = lab_fail(&lab, &jobs[0], "malicious_repository", true);
    ck_assert(answer.ok);
    ck_assert_int_eq(answer.state, JOB_DEAD_LETTER);
    lab_pass_ms(&lab, 0);
    ck_assert_str_eq(lab_run(&lab, &run_id).error_code, "malicious_repository");
    ck_assert_str_eq(lab_run(&lab, &second).error_code, "repository_quarantined");
    const char *text;
    ck_assert_int_eq(submit(&text), RC_DENIED);
}
END_TEST

static const struct {
    const char *code;
    bool retryable;
    enum job_state want;
} failures[] = {
    {"repository_unreachable", false, JOB_SCHEDULED}, {"prepare_failed", true, JOB_SCHEDULED},
    {"prepare_failed", false, JOB_DEAD_LETTER},       {"branch_not_found", true, JOB_DEAD_LETTER},
    {"policy_denied", true, JOB_DEAD_LETTER},         {"secret_detected", true, JOB_DEAD_LETTER},
    {"never_heard_of", true, JOB_SCHEDULED},          {"never_heard_of", false, JOB_DEAD_LETTER},
};

START_TEST(a_failed_step_is_retried_as_the_rules_say)
{
    lab_submit(&lab, "acme/billing");
    struct job_row job = lab_take(&lab, "prepare");
    struct job_answer answer = lab_fail(&lab, &job, failures[_i].code, failures[_i].retryable);
    ck_assert_msg(answer.state == failures[_i].want, "%s: %s", failures[_i].code,
                  job_state_name(answer.state));
}
END_TEST

static struct id judge(const char *rule)
{
    static const struct {
        const char *step, *result;
    } way[] = {{"prepare", RESULT_PREPARE},
               {"hydrate", RESULT_HYDRATE},
               {"agent", RESULT_AGENT},
               {"verify", RESULT_VERIFIED}};
    struct id run_id = lab_submit(&lab, "acme/billing");
    for (size_t i = 0; i < COUNT_OF(way); i++) {
        struct job_row job = lab_take(&lab, way[i].step);
        lab_finish(&lab, &job, way[i].result);
    }
    struct job_row job = lab_take(&lab, "judge");
    lab_finish(&lab, &job,
               arena_printf(&lab.arena,
                            "{\"verdict\":\"fail\",\"feedbackSha256\":\"ff\",\"judges\":[{"
                            "\"name\":\"rules\",\"kind\":\"rules\",\"verdict\":\"fail\","
                            "\"findings\":[{\"rule\":\"max_files\",\"text\":\"fewer\"},"
                            "{\"rule\":\"%s\",\"text\":\"it stands in x\"}]}]}",
                            rule));
    return run_id;
}

START_TEST(findings_that_an_agent_can_mend_go_back_to_it_and_others_do_not)
{
    struct id mended = judge("forbidden_path");
    ck_assert_int_eq(lab_run(&lab, &mended).status, RUN_RUNNING);
    (void)lab_take(&lab, "agent"); /* It is at work again. */
    struct id leaked = judge("secret_detected");
    ck_assert_int_eq(lab_run(&lab, &leaked).status, RUN_FAILED);
    ck_assert_str_eq(lab_run(&lab, &leaked).error_code, "secret_detected");
    ck_assert_str_eq(lab_run(&lab, &leaked).error_message, "it stands in x");
    struct id trap = judge("malicious_repository");
    ck_assert_str_eq(lab_run(&lab, &trap).error_code, "malicious_repository");
    lab_pass_ms(&lab, 0);
    ck_assert_str_eq(lab_run(&lab, &mended).error_code, "repository_quarantined");
}
END_TEST

Suite *quarantine_suite(void)
{
    Suite *suite = suite_create("quarantine");
    TCase *tc = tcase_create("quarantine");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, every_run_of_it_fails_and_none_comes_in);
    tcase_add_test(tc, a_release_takes_tasks_again);
    tcase_add_test(tc, a_step_that_meets_a_trap_quarantines_its_repository);
    tcase_add_loop_test(tc, a_failed_step_is_retried_as_the_rules_say, 0, (int)COUNT_OF(failures));
    tcase_add_test(tc, findings_that_an_agent_can_mend_go_back_to_it_and_others_do_not);
    suite_add_tcase(suite, tc);
    return suite;
}
