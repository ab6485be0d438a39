/*
 * Tasks that are parts of another one: what they share, and how they end with it.
 */
#include "control/admit/retry.h"
#include "control/admit/submit.h"
#include "control/run/stop.h"
#include "control/watch/doctor.h"
#include "core/event_types.h"
#include "tests/unit/lab.h"
#include <check.h>
#include <string.h>

static struct lab lab;

static void setup(void)
{
    lab_open(&lab, NULL);
    lab_repository(&lab, "acme/billing", "\"timeouts\":{\"runMs\":3600000,\"cancelMs\":5000}");
    lab_repository(&lab, "acme/other", NULL);
}

static void teardown(void)
{
    lab_check(&lab);
    lab_close(&lab);
}

/* ---- helpers ---- */

struct want {                /* Of a task; zeroed: the defaults. */
    const struct id *parent; /* A run of the parent task. */
    const struct id *agent;  /* Submitted by the agent of this run. */
    int64_t usd_millis, tokens;
};

static struct cmd_submit *command_for(const struct want *want)
{
    struct cmd_submit *cmd = cmd_submit_new();
    cmd->task.description = "Mend it";
    cmd->base.actor = (struct actor){"user", "ada"};
    if (want->parent != NULL)
        cmd->task.parent_id = lab_run(&lab, want->parent).task_id;
    else if (want->agent == NULL)
        cmd->task.repository = "acme/billing";
    if (want->agent != NULL) {
        cmd->task.agent_run_id = *want->agent;
        cmd->base.actor = (struct actor){"agent", want->agent->text};
    }
    cmd->task.max_budget_microusd = want->usd_millis * 1000;
    cmd->task.max_tokens = want->tokens;
    return cmd;
}

static struct id submit(const struct want *want)
{
    struct cmd_submit *cmd = command_for(want);
    enum rc rc = lab_call(&lab, &cmd->base);
    ck_assert_msg(rc == RC_OK, "%s: %s", cmd->base.err.code, cmd->base.err.text);
    struct id run_id = cmd->answer.run_id;
    command_free(&cmd->base);
    return run_id;
}

static void refused(const struct want *want, enum rc rc, const char *code)
{
    struct cmd_submit *cmd = command_for(want);
    ck_assert_int_eq(lab_call(&lab, &cmd->base), rc);
    ck_assert_str_eq(cmd->base.err.code, code);
    command_free(&cmd->base);
}

/* The job of its agent, taken. */
static struct job_row start(const struct id *run_id)
{
    struct job_row job;
    lab_step(&lab, "prepare", RESULT_PREPARE);
    lab_step(&lab, "hydrate", RESULT_HYDRATE);
    job = lab_take(&lab, "agent");
    ck_assert_str_eq(job.run_id.text, run_id->text);
    return job;
}

static struct job_answer spend(const struct job_row *job, double usd, int64_t tokens)
{
    const char *events = arena_printf(&lab.arena,
                                      "[{\"type\":\"agent.model.turn.completed\",\"data\":"
                                      "{\"turns\":1,\"inputTokens\":%lld,\"outputTokens\":0,"
                                      "\"costUsd\":%f}}]",
                                      (long long)tokens, usd);
    return lab_progress(&lab, job, events);
}

static bool told_to_stop(const struct job_row *job)
{
    return lab_progress(&lab, job, "[]").cancel;
}

static void expect(const struct id *run_id, enum run_status status, const char *code)
{
    struct run_row run = lab_run(&lab, run_id);
    ck_assert_msg(run.status == status, "run is %s (%s)", run_status_name(run.status),
                  run.error_message);
    if (code != NULL)
        ck_assert_str_eq(run.error_code, code);
}

static void expect_named(const struct id *run_id, const struct id *ancestor)
{
    ck_assert_ptr_nonnull(
        strstr(lab_run(&lab, run_id).error_message, lab_run(&lab, ancestor).task_id.text));
}

static double number_in(const struct job_row *job, const char *member)
{
    struct js *payload = NULL;
    ck_assert_int_eq(js_parse(job->payload.at, job->payload.len, &payload, NULL), RC_OK);
    double number = js_num(js_get(payload, member), 0);
    js_free(payload);
    return number;
}

/* ---- making them ---- */

START_TEST(a_sub_task_names_its_parent_and_takes_what_it_leaves_out)
{
    struct id top = submit(&(struct want){0});
    struct cmd_submit *cmd = command_for(&(struct want){.parent = &top});
    ck_assert_int_eq(lab_call(&lab, &cmd->base), RC_OK);
    struct task_row parent = lab_task(&lab, &top), task = lab_task(&lab, &cmd->answer.run_id);
    ck_assert_str_eq(task.parent_id.text, parent.id.text);
    ck_assert_str_eq(task.repository, "acme/billing");
    ck_assert_str_eq(task.target_branch, parent.target_branch);
    struct run_row run = lab_run(&lab, &cmd->answer.run_id);
    ck_assert_str_eq(run.parent_run_id.text, top.text);
    ck_assert_str_eq(run.root_run_id.text, top.text);
    ck_assert_str_eq(lab_run(&lab, &top).root_run_id.text, top.text);
    int64_t count;
    ck_assert_int_eq(tasks_count_children(lab.db, &parent.id, &count, NULL), RC_OK);
    ck_assert_int_eq(count, 1);
    struct task_filter filter = {.status = -1, .parent_id = parent.id, .limit = 10};
    struct task_row *rows;
    size_t listed;
    ck_assert_int_eq(tasks_list(lab.db, &filter, &lab.arena, &rows, &listed, NULL), RC_OK);
    ck_assert_uint_eq(listed, 1);
    ck_assert_str_eq(rows[0].id.text, task.id.text);
    command_free(&cmd->base);
}
END_TEST

START_TEST(a_finished_or_unknown_task_takes_none)
{
    struct id top = submit(&(struct want){0});
    lab_cancel(&lab, &top);
    refused(&(struct want){.parent = &top}, RC_CONFLICT, "PARENT_FINISHED");
    struct cmd_submit *cmd = command_for(&(struct want){0});
    cmd->task.parent_id = top; /* A run, not a task. */
    ck_assert_int_eq(lab_call(&lab, &cmd->base), RC_INVALID);
    ck_assert_str_eq(cmd->base.err.field, "parentTaskId");
    command_free(&cmd->base);
}
END_TEST

START_TEST(depth_and_number_are_bounded)
{
    lab_close(&lab);
    lab_open(&lab,
             &(struct lab_options){
                 .limits = {.subtask_depth = 2, .subtasks_per_task = 2, .subtasks_per_tree = 5}});
    lab_repository(&lab, "acme/billing", NULL);
    struct id top = submit(&(struct want){0});
    struct id a = submit(&(struct want){.parent = &top});
    submit(&(struct want){.parent = &top});
    refused(&(struct want){.parent = &top}, RC_LIMIT, "subtask_limit_exceeded");
    struct id deep = submit(&(struct want){.parent = &a});
    refused(&(struct want){.parent = &deep}, RC_LIMIT, "subtask_limit_exceeded");
    submit(&(struct want){.parent = &a});
    struct id fresh = submit(&(struct want){0}); /* Another tree. */
    submit(&(struct want){.parent = &fresh});
}
END_TEST

/* ---- agents ---- */

START_TEST(an_agent_s_sub_task_is_one_of_its_own_task)
{
    struct id top = submit(&(struct want){0}), other = submit(&(struct want){0});
    struct cmd_submit *cmd = command_for(&(struct want){.agent = &top});
    cmd->task.parent_id = lab_run(&lab, &other).task_id; /* Whatever it names. */
    ck_assert_int_eq(lab_call(&lab, &cmd->base), RC_OK);
    struct task_row task = lab_task(&lab, &cmd->answer.run_id);
    ck_assert_str_eq(task.parent_id.text, lab_run(&lab, &top).task_id.text);
    ck_assert_str_eq(task.requested_by, "ada"); /* Counts for the person behind it. */
    command_free(&cmd->base);
}
END_TEST

START_TEST(an_agent_gets_no_more_than_its_parent_has)
{
    static const char *const fields[] = {
        "repository",    "targetBranch", "taskType",    "riskLevel",   "priority", "overrides",
        "executionMode", "maxTurns",     "attachments", "issueNumber", "bestOf"};
    struct cmd_submit *parent = command_for(&(struct want){0});
    parent->task.mode = MODE_PATCH_ONLY;
    parent->task.risk = RISK_MEDIUM;
    parent->task.max_turns = 10;
    ck_assert_int_eq(lab_call(&lab, &parent->base), RC_OK);
    for (size_t i = 0; i < COUNT_OF(fields); i++) {
        struct cmd_submit *cmd = command_for(&(struct want){.agent = &parent->answer.run_id});
        const char *repositories[] = {"acme/other", NULL}, *branches[] = {NULL, "release"};
        cmd->task.repository = i < 2 ? repositories[i] : NULL;
        cmd->task.target_branch = i < 2 ? branches[i] : NULL;
        cmd->task.task_type = i == 2 ? "upgrade" : NULL;
        cmd->task.risk_given = i == 3;
        cmd->task.risk = RISK_LOW;
        cmd->task.priority_given = i == 4;
        cmd->task.priority = 1;
        cmd->task.overrides = i == 5 ? STR("{\"limits\":{\"maxTurns\":500}}") : (struct str){0};
        cmd->task.mode_given = i == 6;
        cmd->task.mode = MODE_SUPERVISED_PR;
        cmd->task.max_turns = i == 7 ? 11 : 0;
        cmd->task.attachments = i == 8 ? STR("[{\"name\":\"a\"}]") : (struct str){0};
        cmd->task.issue_number = i == 9 ? 4 : 0;
        cmd->task.best_of = i == 10 ? 2 : 0;
        ck_assert_int_eq(lab_call(&lab, &cmd->base), RC_INVALID);
        ck_assert_str_eq(cmd->base.err.code, "SUBTASK_NOT_ALLOWED");
        ck_assert_str_eq(cmd->base.err.field, fields[i]);
        command_free(&cmd->base);
    }
    struct id made = submit(&(struct want){.agent = &parent->answer.run_id});
    ck_assert_int_eq(lab_task(&lab, &made).mode, MODE_PATCH_ONLY);
    command_free(&parent->base);
}
END_TEST

START_TEST(an_agent_whose_run_has_ended_submits_nothing)
{
    struct id top = submit(&(struct want){0});
    lab_cancel(&lab, &top);
    refused(&(struct want){.agent = &top}, RC_UNAUTHORIZED, "TOKEN_EXPIRED");
}
END_TEST

/* ---- money and tokens ---- */

START_TEST(a_sub_task_gets_at_most_what_is_left_of_every_ancestor)
{
    struct id top = submit(&(struct want){.usd_millis = 1000, .tokens = 900});
    struct job_row job = start(&top);
    spend(&job, 0.25, 100);
    struct id plain = submit(&(struct want){.parent = &top});
    ck_assert_int_eq(lab_run(&lab, &plain).budget_microusd, 750000);
    ck_assert_int_eq(lab_run(&lab, &plain).max_tokens, 800);
    struct id less = submit(&(struct want){.parent = &top, .usd_millis = 500, .tokens = 10});
    ck_assert_int_eq(lab_run(&lab, &less).budget_microusd, 500000);
    ck_assert_int_eq(lab_run(&lab, &less).max_tokens, 10);
    struct id more = submit(&(struct want){.parent = &less, .usd_millis = 5000, .tokens = 5000});
    ck_assert_int_eq(lab_run(&lab, &more).budget_microusd, 500000);
    ck_assert_int_eq(lab_run(&lab, &more).max_tokens, 10);
}
END_TEST

START_TEST(nothing_is_submitted_below_a_budget_that_is_used_up)
{
    struct id top = submit(&(struct want){.usd_millis = 1000});
    struct job_row job = start(&top);
    spend(&job, 1.0, 0);
    refused(&(struct want){.parent = &top}, RC_DENIED, "parent_budget_exceeded");
    int64_t before, after;
    ck_assert_int_eq(events_last_seq(lab.db, &before, NULL), RC_OK);
    refused(&(struct want){.agent = &top}, RC_DENIED, "parent_budget_exceeded");
    ck_assert_int_eq(events_last_seq(lab.db, &after, NULL), RC_OK);
    ck_assert_int_eq(after, before); /* An agent cannot fill the log by what it is refused. */
}
END_TEST

START_TEST(an_attempt_is_given_what_its_siblings_have_left)
{
    struct id top = submit(&(struct want){.usd_millis = 1000});
    struct job_row at_top = start(&top);
    spend(&at_top, 0.1, 0);
    struct id a = submit(&(struct want){.parent = &top});
    struct job_row at_a = start(&a);
    spend(&at_a, 0.3, 0);
    struct id b = submit(&(struct want){.parent = &top, .usd_millis = 900});
    ck_assert_int_eq(lab_run(&lab, &b).budget_microusd, 600000);
    spend(&at_a, 0.5, 0); /* Its sums grow. */
    struct job_row at_b = start(&b);
    ck_assert_double_eq_tol(number_in(&at_b, "maxBudgetUsd"), 0.4, 1e-9);
}
END_TEST

START_TEST(when_one_passes_the_budget_those_that_share_it_are_stopped)
{
    struct id top = submit(&(struct want){.usd_millis = 1000});
    struct job_row at_top = start(&top);
    struct id a = submit(&(struct want){.parent = &top});
    struct job_row at_a = start(&a);
    struct id b = submit(&(struct want){.parent = &top});
    struct job_row at_b = start(&b);
    struct id waiting = submit(&(struct want){.parent = &b});
    struct id apart = submit(&(struct want){0});
    spend(&at_a, 0.6, 0);
    lab_pass_ms(&lab, 0);
    ck_assert(!told_to_stop(&at_b));
    spend(&at_b, 0.5, 0);
    lab_pass_ms(&lab, 0);
    ck_assert(told_to_stop(&at_a));
    ck_assert(told_to_stop(&at_b));
    ck_assert(told_to_stop(&at_top));
    expect(&waiting, RUN_FAILED, "max_budget_exceeded"); /* It had not begun. */
    ck_assert(lab_fail(&lab, &at_a, "cancelled", false).ok);
    expect(&a, RUN_FAILED, "max_budget_exceeded");
    expect_named(&a, &top);
    expect_named(&waiting, &top);
    ck_assert_int_eq(lab_run(&lab, &a).cost_microusd, 600000);
    lab_pass_ms(&lab, 6000); /* The others do not answer. */
    expect(&b, RUN_FAILED, "max_budget_exceeded");
    expect(&top, RUN_FAILED, "max_budget_exceeded");
    expect(&apart, RUN_PREPARING, NULL);
    ck_assert_int_eq(lab_count_events(&lab, &a, EV_RUN_CANCEL_REQUESTED), 1);
}
END_TEST

START_TEST(tokens_are_a_budget_of_the_same_kind)
{
    struct id top = submit(&(struct want){.tokens = 1000});
    struct job_row at_top = start(&top);
    struct id a = submit(&(struct want){.parent = &top});
    struct job_row at_a = start(&a);
    ck_assert_double_eq_tol(number_in(&at_a, "maxTokens"), 1000, 1e-9);
    spend(&at_a, 0, 1001);
    lab_pass_ms(&lab, 0);
    ck_assert(told_to_stop(&at_top) && told_to_stop(&at_a));
    lab_fail(&lab, &at_a, "cancelled", false);
    expect(&a, RUN_FAILED, "max_tokens_exceeded");
}
END_TEST

START_TEST(a_patch_that_is_made_is_still_verified)
{
    struct id top = submit(&(struct want){.usd_millis = 1000});
    struct job_row at_top = start(&top);
    struct id a = submit(&(struct want){.parent = &top});
    struct job_row at_a = start(&a);
    lab_finish(&lab, &at_a, RESULT_AGENT); /* 0.5 USD */
    spend(&at_top, 0.6, 0);
    lab_pass_ms(&lab, 0);
    ck_assert(told_to_stop(&at_top));
    expect(&a, RUN_VERIFYING, NULL);
    struct job_row check = lab_take(&lab, "verify");
    ck_assert(!told_to_stop(&check));
    lab_finish(&lab, &check, RESULT_UNVERIFIED); /* It would need another attempt. */
    expect(&a, RUN_FAILED, "max_budget_exceeded");
    expect_named(&a, &top);
}
END_TEST

START_TEST(what_a_result_says_last_counts_for_the_others)
{
    struct id top = submit(&(struct want){.usd_millis = 400});
    struct job_row at_top = start(&top);
    struct id a = submit(&(struct want){.parent = &top});
    struct job_row at_a = start(&a);
    lab_finish(&lab, &at_a, RESULT_AGENT); /* 0.5 USD, of which no report of progress told. */
    lab_pass_ms(&lab, 0);
    ck_assert(told_to_stop(&at_top));
    expect(&a, RUN_VERIFYING, NULL);
}
END_TEST

START_TEST(a_retried_parent_begins_with_a_budget_of_its_own)
{
    struct id top = submit(&(struct want){.usd_millis = 1000});
    struct job_row at_top = start(&top);
    struct id a = submit(&(struct want){.parent = &top});
    struct job_row at_a = start(&a);
    spend(&at_a, 1.5, 0);
    lab_pass_ms(&lab, 0);
    lab_fail(&lab, &at_a, "cancelled", false);
    lab_fail(&lab, &at_top, "cancelled", false);
    expect(&top, RUN_FAILED, "max_budget_exceeded");
    struct cmd_retry *retry = cmd_retry_new();
    retry->task_id = lab_run(&lab, &top).task_id;
    ck_assert_int_eq(lab_call(&lab, &retry->base), RC_OK);
    struct id again = submit(&(struct want){.parent = &retry->run_id});
    ck_assert_int_eq(lab_run(&lab, &again).budget_microusd, 1000000);
    ck_assert_str_eq(lab_run(&lab, &again).root_run_id.text, retry->run_id.text);
    command_free(&retry->base);
}
END_TEST

START_TEST(a_retried_sub_task_stays_within_its_parent_s_budget)
{
    struct id top = submit(&(struct want){.usd_millis = 1000});
    struct job_row at_top = start(&top);
    struct id a = submit(&(struct want){.parent = &top});
    struct job_row at_a = start(&a);
    spend(&at_a, 0.7, 0);
    lab_fail(&lab, &at_a, "patch_failed", false);
    struct cmd_retry *retry = cmd_retry_new();
    retry->task_id = lab_run(&lab, &a).task_id;
    ck_assert_int_eq(lab_call(&lab, &retry->base), RC_OK);
    struct run_row run = lab_run(&lab, &retry->run_id);
    ck_assert_int_eq(run.budget_microusd, 300000);
    ck_assert_str_eq(run.parent_run_id.text, top.text);
    spend(&at_top, 0.4, 0);
    lab_pass_ms(&lab, 0);
    expect(&retry->run_id, RUN_FAILED, "max_budget_exceeded");
    ck_assert_int_eq(lab_call(&lab, &retry->base), RC_DENIED);
    ck_assert_str_eq(retry->base.err.code, "parent_budget_exceeded");
    command_free(&retry->base);
}
END_TEST

/* ---- time ---- */

START_TEST(a_sub_task_s_deadline_is_at_most_its_parent_s)
{
    struct id top = submit(&(struct want){0});
    struct job_row at_top = start(&top);
    (void)at_top;
    lab.now_us += 600 * US_PER_SECOND;
    struct id a = submit(&(struct want){.parent = &top});
    ck_assert_int_eq(lab_run(&lab, &a).deadline_us, lab_run(&lab, &top).deadline_us);
}
END_TEST

/* ---- files ---- */

START_TEST(parts_of_one_task_do_not_wait_for_each_other_s_files)
{
    lab_repository(&lab, "acme/billing", "\"limits\":{\"overlap\":\"serialize\"}");
    struct id top = submit(&(struct want){0}), apart = submit(&(struct want){0});
    struct id a = submit(&(struct want){.parent = &top});
    expect(&top, RUN_PREPARING, NULL);
    expect(&a, RUN_PREPARING, NULL);
    expect(&apart, RUN_QUEUED, NULL);
}
END_TEST

/* ---- the end ---- */

START_TEST(cancelling_a_parent_cancels_what_is_below_it)
{
    struct id top = submit(&(struct want){0});
    struct job_row at_top = start(&top);
    struct id done = submit(&(struct want){.parent = &top});
    struct job_row at_done = start(&done);
    lab_fail(&lab, &at_done, "patch_failed", false);
    struct id a = submit(&(struct want){.parent = &top});
    struct job_row at_a = start(&a);
    struct id below = submit(&(struct want){.parent = &a});
    lab_cancel(&lab, &top);
    lab_fail(&lab, &at_top, "cancelled", false);
    expect(&top, RUN_CANCELLED, "cancelled");
    lab_pass_ms(&lab, 0);
    ck_assert(told_to_stop(&at_a));
    lab_fail(&lab, &at_a, "cancelled", false);
    lab_pass_ms(&lab, 0);
    expect(&a, RUN_CANCELLED, "cancelled");
    expect_named(&a, &top);
    expect(&below, RUN_CANCELLED, "cancelled");
    expect_named(&below, &a);
    expect(&done, RUN_FAILED, "patch_failed");
}
END_TEST

START_TEST(sub_tasks_of_a_completed_parent_go_on)
{
    struct id top = submit(&(struct want){0});
    struct job_row at_top = start(&top);
    struct id a = submit(&(struct want){.parent = &top});
    lab_finish(&lab, &at_top, RESULT_AGENT);
    lab_step(&lab, "verify", RESULT_VERIFIED);
    lab_step(&lab, "judge", RESULT_JUDGED);
    lab_step(&lab, "publish", RESULT_PUBLISHED);
    expect(&top, RUN_COMPLETED, NULL);
    lab_pass_ms(&lab, 0);
    expect(&a, RUN_PREPARING, NULL);
}
END_TEST

/* ---- the doctor ---- */

static int64_t findings(void)
{
    struct doctor_report report;
    struct err err = {0};
    ck_assert_int_eq(doctor_examine(lab.db, &lab.arena, &report, &err), RC_OK);
    for (size_t i = 0; i < report.check_count; i++)
        if (strcmp(report.checks[i].name, "budgets") == 0)
            return report.checks[i].bad;
    return -1;
}

/* A run with this parent and limit, below a parent with 1.00 USD. */
static void plant(const struct id *parent_run_id, int64_t microusd, int64_t used)
{
    struct id top = submit(&(struct want){.usd_millis = 1000});
    struct id child = submit(&(struct want){.parent = &top});
    ck_assert_int_eq(findings(), 0);
    struct run_row run = lab_run(&lab, &child);
    run.id = lab_submit(&lab, "acme/other"); /* An id that is taken by nothing else here. */
    run.id.text[0] = 'f';
    run.run_no = 2;
    run.parent_run_id = parent_run_id != NULL ? *parent_run_id : top;
    run.budget_microusd = microusd;
    run.cost_microusd = used;
    ck_assert_int_eq(runs_insert(lab.db, &run, NULL), RC_OK);
}

static void reopen(void)
{
    lab_close(&lab); /* Without lab_check: it is damaged. */
    setup();
}

START_TEST(the_doctor_finds_sums_and_limits_that_do_not_hold)
{
    struct id apart = submit(&(struct want){0});
    plant(&apart, 500000, 0); /* Of another tree. */
    ck_assert_int_gt(findings(), 0);
    reopen();
    plant(NULL, 0, 0); /* Without a limit. */
    ck_assert_int_gt(findings(), 0);
    reopen();
    plant(NULL, 500000, 1500000); /* It has passed the parent's, and nothing stops it. */
    ck_assert_int_gt(findings(), 0);
    reopen();
    plant(NULL, 500000, 400000);
    ck_assert_int_eq(findings(), 0);
    reopen();
}
END_TEST

Suite *subtasks_suite(void)
{
    Suite *suite = suite_create("subtasks");
    TCase *tc = tcase_create("subtasks");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_sub_task_names_its_parent_and_takes_what_it_leaves_out);
    tcase_add_test(tc, a_finished_or_unknown_task_takes_none);
    tcase_add_test(tc, depth_and_number_are_bounded);
    tcase_add_test(tc, an_agent_s_sub_task_is_one_of_its_own_task);
    tcase_add_test(tc, an_agent_gets_no_more_than_its_parent_has);
    tcase_add_test(tc, an_agent_whose_run_has_ended_submits_nothing);
    tcase_add_test(tc, a_sub_task_gets_at_most_what_is_left_of_every_ancestor);
    tcase_add_test(tc, nothing_is_submitted_below_a_budget_that_is_used_up);
    tcase_add_test(tc, an_attempt_is_given_what_its_siblings_have_left);
    tcase_add_test(tc, when_one_passes_the_budget_those_that_share_it_are_stopped);
    tcase_add_test(tc, tokens_are_a_budget_of_the_same_kind);
    tcase_add_test(tc, a_patch_that_is_made_is_still_verified);
    tcase_add_test(tc, what_a_result_says_last_counts_for_the_others);
    tcase_add_test(tc, a_retried_parent_begins_with_a_budget_of_its_own);
    tcase_add_test(tc, a_retried_sub_task_stays_within_its_parent_s_budget);
    tcase_add_test(tc, a_sub_task_s_deadline_is_at_most_its_parent_s);
    tcase_add_test(tc, parts_of_one_task_do_not_wait_for_each_other_s_files);
    tcase_add_test(tc, cancelling_a_parent_cancels_what_is_below_it);
    tcase_add_test(tc, sub_tasks_of_a_completed_parent_go_on);
    tcase_add_test(tc, the_doctor_finds_sums_and_limits_that_do_not_hold);
    suite_add_tcase(suite, tc);
    return suite;
}
