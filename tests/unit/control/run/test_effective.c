/*
 * test_effective.c - what a task takes as its configuration, and what counts as it stands now.
 */
#include "control/admit/repositories.h"
#include "control/admit/retry.h"
#include "control/admit/submit.h"
#include "core/config/repo_config.h"
#include "tests/unit/lab.h"
#include "tests/unit/suites.h"
#include <string.h>

static struct lab lab;

static void teardown(void)
{
    lab_check(&lab);
    lab_close(&lab);
}

static void open_with(const char *defaults)
{
    lab_open(&lab, &(struct lab_options){.defaults = str_of(defaults)});
}

static struct cmd_submit *command_for(const char *repository, const char *overrides)
{
    struct cmd_submit *cmd = cmd_submit_new();
    cmd->task.repository = repository;
    cmd->task.description = "Mend it";
    cmd->base.actor = (struct actor){"user", "ada"};
    cmd->task.overrides = str_of(overrides);
    return cmd;
}

static struct repo_config *decoded(struct str document)
{
    struct js *tree = NULL; /* Its strings are not looked at after js_free. */
    struct repo_config *config = arena_alloc(&lab.arena, sizeof *config);
    ck_assert_int_eq(js_parse(document.at, document.len, &tree, NULL), RC_OK);
    ck_assert_int_eq(repo_config_decode(tree, NULL, &lab.arena, config, NULL), RC_OK);
    js_free(tree);
    return config;
}

START_TEST(a_task_takes_defaults_repository_and_overrides)
{
    open_with("{\"limits\":{\"maxTurns\":50,\"maxBudgetUsd\":9},\"timeouts\":{\"agentMs\":1000}}");
    lab_repository(&lab, "acme/one", "\"limits\":{\"maxTurns\":40}");
    struct cmd_submit *cmd = command_for("acme/one", "{\"timeouts\":{\"agentMs\":777}}");
    ck_assert_int_eq(lab_call(&lab, &cmd->base), RC_OK);
    struct task_row task = lab_task(&lab, &cmd->answer.run_id);
    struct run_row run = lab_run(&lab, &cmd->answer.run_id);
    ck_assert_int_eq(task.max_turns, 0); /* It asked for none. */
    ck_assert_int_eq(task.max_budget_microusd, 0);
    ck_assert_int_eq(run.max_turns, 40);
    ck_assert_int_eq(run.budget_microusd, 9000000);
    ck_assert_int_eq(decoded(task.config)->timeouts.agent_ms, 777);
    ck_assert_str_eq(task.overrides.at, "{\"timeouts\":{\"agentMs\":777}}");
    command_free(&cmd->base);
}
END_TEST

START_TEST(a_later_change_does_not_touch_the_snapshot)
{
    open_with("");
    lab_repository(&lab, "acme/one", "\"limits\":{\"maxTurns\":40}");
    struct id run = lab_submit(&lab, "acme/one");
    lab_repository(&lab, "acme/one", "\"limits\":{\"maxTurns\":41}");
    ck_assert_int_eq(decoded(lab_task(&lab, &run).config)->limits.max_turns, 40);
}
END_TEST

/* Fails the run in its first step, and retries its task. */
static struct id retried(const struct id *run_id)
{
    struct job_row job = lab_take(&lab, "prepare");
    ck_assert_str_eq(job.run_id.text, run_id->text);
    lab_fail(&lab, &job, "branch_not_found", false);
    struct cmd_retry *cmd = cmd_retry_new();
    cmd->task_id = lab_run(&lab, run_id).task_id;
    ck_assert_int_eq(lab_call(&lab, &cmd->base), RC_OK);
    struct id next = cmd->run_id;
    command_free(&cmd->base);
    return next;
}

/* The run has these limits, and so has the payload of its first step. */
static void expect_limits(const struct id *run_id, int64_t turns, double usd)
{
    struct run_row run = lab_run(&lab, run_id);
    ck_assert_int_eq(run.max_turns, turns);
    ck_assert_double_eq((double)run.budget_microusd / 1e6, usd);
    struct job_row job = lab_take(&lab, "prepare");
    ck_assert_str_eq(job.run_id.text, run_id->text);
    struct js *payload = NULL;
    ck_assert_int_eq(js_parse(job.payload.at, job.payload.len, &payload, NULL), RC_OK);
    ck_assert_int_eq(js_get_int(payload, "maxTurns", 0), turns);
    ck_assert_double_eq(js_num(js_get(payload, "maxBudgetUsd"), 0), usd);
    js_free(payload);
}

#define LIMITS_3  "\"limits\":{\"maxTurns\":3,\"maxBudgetUsd\":0.5}"
#define LIMITS_50 "\"limits\":{\"maxTurns\":50,\"maxBudgetUsd\":4}"

START_TEST(a_retry_takes_the_limits_that_are_configured_now)
{
    open_with("");
    lab_repository(&lab, "acme/one", LIMITS_3);
    struct id run = lab_submit(&lab, "acme/one");
    lab_repository(&lab, "acme/one", LIMITS_50);
    struct id next = retried(&run);
    expect_limits(&next, 50, 4);
    ck_assert_int_eq(lab_run(&lab, &run).max_turns, 3);
}
END_TEST

START_TEST(a_retry_keeps_the_limits_that_the_task_asked_for)
{
    open_with("");
    lab_repository(&lab, "acme/one", LIMITS_3);
    struct cmd_submit *cmd = command_for("acme/one", "");
    cmd->task.max_turns = 7;
    ck_assert_int_eq(lab_call(&lab, &cmd->base), RC_OK);
    lab_repository(&lab, "acme/one", LIMITS_50);
    struct id next = retried(&cmd->answer.run_id);
    expect_limits(&next, 7, 4);
    command_free(&cmd->base);
}
END_TEST

/* A removed limit is gone, and the agent that leases its work is told the same. */
START_TEST(a_retry_without_configured_limits_has_the_default_of_turns)
{
    open_with("");
    lab_far_repository(&lab, "acme/far", LIMITS_3);
    struct id run = lab_submit(&lab, "acme/far");
    lab_far_repository(&lab, "acme/far", NULL);
    retried(&run);
    lab_step(&lab, "prepare", RESULT_PREPARE);
    lab_step(&lab, "hydrate", RESULT_HYDRATE);
    struct job_row *jobs = NULL;
    ck_assert_uint_eq(lab_lease(&lab, "far", "w", &jobs), 1);
    ck_assert_ptr_nonnull(strstr(str_dup(&lab.arena, jobs[0].payload), "\"maxTurns\":100,"));
    ck_assert_ptr_null(strstr(str_dup(&lab.arena, jobs[0].payload), "maxBudgetUsd"));
}
END_TEST

START_TEST(limits_of_the_defaults_hold_runs_back)
{
    open_with("{\"limits\":{\"maxActiveRuns\":1}}");
    lab_repository(&lab, "acme/one", NULL);
    lab_repository(&lab, "acme/two", "\"limits\":{\"maxActiveRuns\":null}");
    struct id first = lab_submit(&lab, "acme/one"), second = lab_submit(&lab, "acme/one");
    struct id other = lab_submit(&lab, "acme/two"), another = lab_submit(&lab, "acme/two");
    lab_rounds(&lab);
    ck_assert_int_ne(lab_run(&lab, &first).status, RUN_QUEUED);
    ck_assert_int_eq(lab_run(&lab, &second).status, RUN_QUEUED);
    ck_assert_int_ne(lab_run(&lab, &other).status, RUN_QUEUED);
    ck_assert_int_ne(lab_run(&lab, &another).status, RUN_QUEUED);
}
END_TEST

/* Defaults may change after a repository was configured. */
START_TEST(layers_that_do_not_go_together_refuse_the_task)
{
    open_with("{\"agent\":{\"queue\":\"agents\"}}");
    lab_repository(&lab, "acme/one", NULL);
    struct cmd_submit *cmd = command_for("acme/one", "");
    ck_assert_int_eq(lab_call(&lab, &cmd->base), RC_INVALID);
    ck_assert_str_eq(cmd->base.err.code, "CONFIGURATION_CONFLICT");
    ck_assert_ptr_ne(strstr(cmd->base.err.text, "acme/one"), NULL);
    ck_assert_str_eq(cmd->base.err.field, "agent.queue");
    command_free(&cmd->base);
}
END_TEST

static void put(const char *name, const char *config)
{
    struct cmd_repository_put *cmd = cmd_repository_put_new();
    cmd->name = name;
    cmd->config = str_of(config);
    ck_assert_int_eq(lab_call(&lab, &cmd->base), RC_OK);
    command_free(&cmd->base);
}

START_TEST(layers_that_do_not_go_together_any_more_hold_up_nobody)
{
    lab_open(&lab, &(struct lab_options){.limits = {.max_active_runs = 1},
                                         .defaults = STR("{\"agent\":{\"queue\":\"q\"}}")});
    put("acme/one", "{\"url\":\"/x\",\"agent\":{\"compute\":\"pull\"}}");
    struct id first = lab_submit(&lab, "acme/one"), second = lab_submit(&lab, "acme/one");
    lab_rounds(&lab);
    ck_assert_int_eq(lab_run(&lab, &second).status, RUN_QUEUED);
    lab_repository(&lab, "acme/one", NULL);
    struct job_row job = lab_take(&lab, "prepare");
    ck_assert_str_eq(job.run_id.text, first.text);
    lab_fail(&lab, &job, "branch_not_found", false);
    lab_rounds(&lab);
    ck_assert_int_ne(lab_run(&lab, &second).status, RUN_QUEUED);
}
END_TEST

Suite *effective_suite(void)
{
    Suite *suite = suite_create("effective");
    TCase *tcase = tcase_create("effective");
    tcase_add_checked_fixture(tcase, NULL, teardown);
    tcase_add_test(tcase, a_task_takes_defaults_repository_and_overrides);
    tcase_add_test(tcase, a_later_change_does_not_touch_the_snapshot);
    tcase_add_test(tcase, a_retry_takes_the_limits_that_are_configured_now);
    tcase_add_test(tcase, a_retry_keeps_the_limits_that_the_task_asked_for);
    tcase_add_test(tcase, a_retry_without_configured_limits_has_the_default_of_turns);
    tcase_add_test(tcase, limits_of_the_defaults_hold_runs_back);
    tcase_add_test(tcase, layers_that_do_not_go_together_refuse_the_task);
    tcase_add_test(tcase, layers_that_do_not_go_together_any_more_hold_up_nobody);
    suite_add_tcase(suite, tcase);
    return suite;
}
