/*
 * test_pull_limits.c - an agent that leases its work is held to its time, its silence, its turns
 * and its money by the server, and what it has done by then is not lost.
 */
#include "control/admit/repositories.h"
#include "control/queue/lease.h"
#include "control/watch/due.h"
#include "tests/unit/lab.h"
#include <check.h>
#include <string.h>

#define LEASE_MS 60000

static struct lab lab;
static struct id run_id;

#define CONFIG(run_ms)                                                                            \
    "{\"url\":\"/srv/git/x.git\",\"agent\":{\"compute\":\"pull\",\"queue\":\"far\"}" LAB_VERIFY   \
    ","                                                                                           \
    "\"timeouts\":{\"runMs\":" run_ms ",\"agentMs\":100000,\"idleMs\":30000,\"cancelMs\":10000}," \
    "\"limits\":{\"maxTurns\":5,\"maxBudgetUsd\":2,\"maxTokens\":1000}}"

static void open_with(const char *config)
{
    lab_open(&lab, NULL);
    struct cmd_repository_put *put = cmd_repository_put_new();
    put->name = "acme/far";
    put->config = str_of(config);
    ck_assert_int_eq(lab_call(&lab, &put->base), RC_OK);
    command_free(&put->base);
    run_id = lab_submit(&lab, "acme/far");
    struct job_row job = lab_take(&lab, "prepare");
    lab_finish(&lab, &job, RESULT_PREPARE);
    job = lab_take(&lab, "hydrate");
    lab_finish(&lab, &job, RESULT_HYDRATE);
}

static void setup(void)
{
    open_with(CONFIG("7200000"));
}

static void setup_custom(void)
{
    open_with(
        "{\"url\":\"/srv/git/x.git\",\"agent\":{\"compute\":\"pull\",\"queue\":\"far\"}" LAB_VERIFY
        ","
        "\"steps\":[{\"name\":\"own\",\"phase\":\"post-agent\",\"command\":\"true\"}]}");
}

static void setup_short_run(void)
{
    open_with(CONFIG("20000"));
}

static void teardown(void)
{
    lab_check(&lab);
    lab_close(&lab);
}

/* Is it asked to stop? */
static bool beat(const struct job_row *job)
{
    struct cmd_heartbeat *cmd = cmd_heartbeat_new();
    struct job_ref ref = {.id = job->id, .epoch = job->life.epoch};
    cmd->worker = "agent-1";
    cmd->leases = &ref;
    cmd->count = 1;
    cmd->extend_us = LEASE_MS * US_PER_MS;
    ck_assert_int_eq(lab_call(&lab, &cmd->base), RC_OK);
    ck_assert(cmd->answers[0].ok);
    bool cancel = cmd->answers[0].cancel;
    command_free(&cmd->base);
    return cancel;
}

static struct job_row take(void)
{
    struct job_row *jobs;
    ck_assert_uint_eq(lab_lease(&lab, "far", "agent-1", &jobs), 1);
    ck_assert(!beat(&jobs[0])); /* For a longer lease. */
    return jobs[0];
}

static bool report(const struct job_row *job, const char *events)
{
    return lab_progress(&lab, job, events).cancel;
}

#define TOKENS(in, out)                                                                   \
    "[{\"type\":\"agent.model.turn.completed\",\"data\":{\"turns\":1,\"inputTokens\":" in \
    ",\"outputTokens\":" out "}}]"
#define TURNS(turns, usd)                                                                          \
    "[{\"type\":\"agent.model.turn.completed\",\"data\":{\"turns\":" turns ",\"costUsd\":" usd "}" \
    "}"                                                                                            \
    "]"

static void expect(enum run_status status, const char *code)
{
    struct run_row run = lab_run(&lab, &run_id);
    ck_assert_str_eq(run_status_name(run.status), run_status_name(status));
    ck_assert_msg(text_same(run.error_code, code), "%s, not %s", run.error_code, code);
}

START_TEST(past_its_time_it_is_asked_to_stop_and_the_run_is_timed_out)
{
    struct job_row job = take();
    for (int i = 0; i < 9; i++) { /* Reports are no more time. */
        lab_pass_ms(&lab, 11000);
        ck_assert(!beat(&job));
        ck_assert(!report(&job, "[]"));
    }
    lab_pass_ms(&lab, 2000);
    ck_assert(beat(&job));
    ck_assert(report(&job, "[]"));
    ck_assert(lab_fail(&lab, &job, "cancelled", false).ok);
    expect(RUN_TIMED_OUT, "agent_timed_out");
}
END_TEST

START_TEST(one_that_does_not_stop_loses_its_job)
{
    struct job_row job = take();
    for (int i = 0; i < 4; i++) {
        ck_assert(!report(&job, "[]"));
        ck_assert(!beat(&job));
        lab_pass_ms(&lab, 25001);
    }
    ck_assert(beat(&job));
    lab_pass_ms(&lab, 10001);
    expect(RUN_TIMED_OUT, "agent_timed_out");
    ck_assert_str_eq(lab_complete(&lab, &job, "{\"status\":\"success\"}").code, "LEASE_LOST");
}
END_TEST

START_TEST(heartbeats_are_no_sign_of_life_and_reports_are)
{
    struct job_row job = take();
    lab_pass_ms(&lab, 29000);
    ck_assert(!report(&job, "[]"));
    lab_pass_ms(&lab, 29000);
    ck_assert(!beat(&job));
    lab_pass_ms(&lab, 1001);
    ck_assert(beat(&job));
    ck_assert(lab_fail(&lab, &job, "cancelled", false).ok);
    expect(RUN_TIMED_OUT, "agent_idle_timed_out");
}
END_TEST

START_TEST(what_it_does_once_it_was_asked_does_not_count)
{
    struct job_row job = take();
    lab_pass_ms(&lab, 30001);
    lab_finish(&lab, &job, "{\"status\":\"success\"}");
    expect(RUN_TIMED_OUT, "agent_idle_timed_out");
}
END_TEST

START_TEST(the_next_agent_has_all_of_the_time)
{
    struct job_row job = take();
    lab_pass_ms(&lab, 29000);
    ck_assert(!report(&job, "[]"));
    lab_pass_ms(&lab, LEASE_MS * 2); /* Gone, and the job waits. */
    expect(RUN_RUNNING, NULL);
    job = take();
    lab_pass_ms(&lab, 29000);
    ck_assert(!beat(&job));
}
END_TEST

START_TEST(a_server_that_was_away_gives_everybody_time_to_report)
{
    struct job_row job = take();
    lab.now_us += 40000 * US_PER_MS; /* Nothing that is due happens. */
    struct cmd_reclaim *cmd = cmd_reclaim_new();
    cmd->node = "node-1";
    cmd->grace_us = 20000 * US_PER_MS;
    ck_assert_int_eq(lab_call(&lab, &cmd->base), RC_OK);
    command_free(&cmd->base);
    lab_pass_ms(&lab, 19000);
    ck_assert(!beat(&job));
    lab_pass_ms(&lab, 1001);
    ck_assert(beat(&job));
}
END_TEST

static const struct {
    const char *events; /* Within the limits, */
    const char *past;   /* and past them. */
    const char *outcome, *code;
} cuts[] = {
    {TURNS("5", "0"), TURNS("6", "0"), "turn_limit", "max_turns_exceeded"},
    {TURNS("1", "2"), TURNS("2", "2.01"), "budget_limit", "max_budget_exceeded"},
    {TOKENS("990", "10"), TOKENS("990", "11"), "token_limit", "max_tokens_exceeded"},
};

static void cut_off(int i)
{
    struct job_row job = take();
    ck_assert(!report(&job, cuts[i].events));
    ck_assert(report(&job, cuts[i].past));
    ck_assert(beat(&job));
    ck_assert(lab_fail(&lab, &job, "cancelled", false).ok);
}

static void collect(int i, const char *pr)
{
    struct job_row job = lab_take(&lab, "collect");
    ck_assert_ptr_nonnull(strstr(str_dup(&lab.arena, job.payload), cuts[i].outcome));
    lab_finish(&lab, &job,
               arena_printf(&lab.arena, "{\"outcome\":\"%s\",\"report\":\"unknown\"%s}",
                            cuts[i].outcome, pr));
}

START_TEST(past_its_turns_money_or_tokens_it_is_cut_off)
{
    cut_off(_i);
    expect(RUN_RUNNING, NULL);
    collect(_i, "");
    expect(RUN_FAILED, cuts[_i].code);
}
END_TEST

START_TEST(cut_off_with_its_pull_request_open_it_is_done)
{
    cut_off(_i);
    collect(_i, ",\"pullRequest\":{\"number\":3,\"url\":\"u\",\"branch\":\"b\","
                "\"headCommit\":\"1111111111111111111111111111111111111111\",\"draft\":true}");
    expect(RUN_COMPLETED, NULL);
}
END_TEST

START_TEST(one_that_completes_before_it_is_cut_off_is_done)
{
    struct job_row job = take();
    ck_assert(report(&job, cuts[0].past));
    lab_finish(&lab, &job, "{\"status\":\"success\",\"turns\":7}");
    job = lab_take(&lab, "collect");
    ck_assert_ptr_nonnull(strstr(str_dup(&lab.arena, job.payload), "\"status\":\"success\""));
    ck_assert_int_eq(lab_run(&lab, &run_id).turns, 7);
    lab_pass_ms(&lab, 10001); /* Nobody is to be stopped any more. */
    expect(RUN_RUNNING, NULL);
}
END_TEST

START_TEST(a_cancellation_outranks_a_limit)
{
    struct job_row job = take();
    ck_assert(report(&job, cuts[0].past));
    lab_cancel(&lab, &run_id);
    ck_assert(lab_fail(&lab, &job, "cancelled", false).ok);
    expect(RUN_CANCELLED, "cancelled");
}
END_TEST

START_TEST(the_end_of_the_runs_time_outranks_a_limit)
{
    struct job_row job = take();
    lab_pass_ms(&lab, 16000);
    ck_assert(report(&job, cuts[0].past));
    lab_pass_ms(&lab, 5000);
    ck_assert(lab_fail(&lab, &job, "cancelled", false).ok);
    expect(RUN_TIMED_OUT, "run_timed_out");
}
END_TEST

/* ---- with a pull request of its own ---- */

#define PULL                                                                        \
    ",\"pullRequest\":{\"number\":3,\"url\":\"u\",\"branch\":\"b\",\"draft\":true," \
    "\"headCommit\":\"1111111111111111111111111111111111111111\"}}"

static const char with_patch[] =
    "{\"outcome\":\"ended\",\"report\":\"success\",\"patch\":{\"sha256\":"
    "\"bb\","
    "\"bytes\":1,\"files\":1,\"linesAdded\":1,\"linesDeleted\":0,"
    "\"treeHash\":\"cc\",\"paths\":[\"a\"]}" PULL;

static void collect_with_pull(const char *result)
{
    struct job_row job = take();
    lab_finish(&lab, &job, "{\"status\":\"success\"}");
    job = lab_take(&lab, "collect");
    lab_finish(&lab, &job, result);
    struct run_row run = lab_run(&lab, &run_id);
    ck_assert(!id_is_none(&run.pull_request_id));
}

START_TEST(a_pull_request_with_a_secret_is_on_record)
{
    collect_with_pull(
        "{\"outcome\":\"ended\",\"report\":\"success\",\"secrets\":[{\"rule\":\"jwt\","
        "\"path\":\"p\",\"line\":1,\"text\":\"t\"}]" PULL);
    expect(RUN_FAILED, "secret_detected");
    ck_assert_ptr_nonnull(strstr(lab_run(&lab, &run_id).error_message, "opened shows it"));
}
END_TEST

START_TEST(a_check_that_cannot_run_does_not_pass_a_pull_request)
{
    collect_with_pull(with_patch);
    struct job_row job = lab_take(&lab, "verify");
    ck_assert(lab_fail(&lab, &job, "step_timed_out", false).ok);
    expect(RUN_COMPLETED, NULL); /* No judge is asked about what nobody has checked. */
    ck_assert_str_eq(lab_run(&lab, &run_id).warning_code, "step_timed_out");
}
END_TEST

START_TEST(a_custom_step_that_fails_does_not_pass_a_pull_request)
{
    collect_with_pull(with_patch);
    struct job_row job = lab_take(&lab, "custom");
    lab_finish(&lab, &job, "{\"status\":\"failed\",\"error\":\"no\"}");
    expect(RUN_COMPLETED, NULL);
    ck_assert_str_eq(lab_run(&lab, &run_id).warning_code, "custom_step_failed");
}
END_TEST

Suite *pull_limits_suite(void)
{
    Suite *suite = suite_create("pull_limits");
    TCase *tc = tcase_create("pull_limits");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, past_its_time_it_is_asked_to_stop_and_the_run_is_timed_out);
    tcase_add_test(tc, one_that_does_not_stop_loses_its_job);
    tcase_add_test(tc, heartbeats_are_no_sign_of_life_and_reports_are);
    tcase_add_test(tc, what_it_does_once_it_was_asked_does_not_count);
    tcase_add_test(tc, the_next_agent_has_all_of_the_time);
    tcase_add_test(tc, a_server_that_was_away_gives_everybody_time_to_report);
    tcase_add_loop_test(tc, past_its_turns_money_or_tokens_it_is_cut_off, 0, (int)COUNT_OF(cuts));
    tcase_add_loop_test(tc, cut_off_with_its_pull_request_open_it_is_done, 0, (int)COUNT_OF(cuts));
    tcase_add_test(tc, one_that_completes_before_it_is_cut_off_is_done);
    tcase_add_test(tc, a_cancellation_outranks_a_limit);
    tcase_add_test(tc, a_pull_request_with_a_secret_is_on_record);
    tcase_add_test(tc, a_check_that_cannot_run_does_not_pass_a_pull_request);
    suite_add_tcase(suite, tc);
    TCase *brief = tcase_create("a short run");
    tcase_add_checked_fixture(brief, setup_short_run, teardown);
    tcase_add_test(brief, the_end_of_the_runs_time_outranks_a_limit);
    suite_add_tcase(suite, brief);
    TCase *custom = tcase_create("a step of its own");
    tcase_add_checked_fixture(custom, setup_custom, teardown);
    tcase_add_test(custom, a_custom_step_that_fails_does_not_pass_a_pull_request);
    suite_add_tcase(suite, custom);
    return suite;
}
