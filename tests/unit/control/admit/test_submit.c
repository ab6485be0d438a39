/*
 * What comes in, what starts, and in which order.
 */
#include "control/admit/retry.h"
#include "control/admit/submit.h"
#include "core/event_types.h"
#include "tests/unit/lab.h"
#include <check.h>
#include <string.h>

static struct lab lab;

static void setup(void)
{
    lab_open(&lab, &(struct lab_options){.limits = {.max_active_runs = 3}});
    lab_repository(&lab, "acme/one", "\"limits\":{\"maxActiveRuns\":1}");
    lab_repository(&lab, "acme/many", NULL);
}

static void teardown(void)
{
    lab_check(&lab);
    lab_close(&lab);
}

static struct cmd_submit *command_for(const char *repository)
{
    struct cmd_submit *cmd = cmd_submit_new();
    cmd->task.repository = repository;
    cmd->task.description = "Mend it";
    cmd->base.actor = (struct actor){"user", "ada"};
    return cmd;
}

static int64_t log_length(void)
{
    int64_t seq;
    ck_assert_int_eq(events_last_seq(lab.db, &seq, NULL), RC_OK);
    return seq;
}

static enum task_status status_of(const struct id *run_id)
{
    return lab_task(&lab, run_id).status;
}

/* Ends the run's only open step for good, which frees its slot. */
static void end_run(void)
{
    struct job_row *jobs;
    ck_assert_uint_ge(lab_lease(&lab, "drover.prepare", "node-1/0", &jobs), 1);
    lab_fail(&lab, &jobs[0], "branch_not_found", false);
}

START_TEST(the_same_key_gives_the_same_task)
{
    struct cmd_submit *first = command_for("acme/many"), *again = command_for("acme/many");
    first->task.idempotency_key = again->task.idempotency_key = "k1";
    first->task.body_sha256 = again->task.body_sha256 = "b1";
    ck_assert_int_eq(lab_call(&lab, &first->base), RC_OK);
    int64_t before = log_length();
    ck_assert_int_eq(lab_call(&lab, &again->base), RC_OK);
    ck_assert(again->answer.repeated);
    ck_assert_str_eq(again->answer.task_id.text, first->answer.task_id.text);
    ck_assert_str_eq(again->answer.run_id.text, first->answer.run_id.text);
    ck_assert_int_eq(log_length(), before);
    command_free(&first->base);
    command_free(&again->base);
}
END_TEST

START_TEST(two_of_the_same_key_in_one_batch_make_one_task)
{
    struct cmd_submit *first = command_for("acme/many"), *again = command_for("acme/many");
    first->task.idempotency_key = again->task.idempotency_key = "k1";
    first->task.body_sha256 = again->task.body_sha256 = "b1";
    lab_post(&lab, &first->base);
    lab_post(&lab, &again->base);
    lab_rounds(&lab);
    ck_assert_str_eq(again->answer.task_id.text, first->answer.task_id.text);
    command_free(&first->base);
    command_free(&again->base);
}
END_TEST

START_TEST(the_same_key_with_another_body_is_refused)
{
    struct cmd_submit *first = command_for("acme/many"), *other = command_for("acme/many");
    first->task.idempotency_key = other->task.idempotency_key = "k1";
    first->task.body_sha256 = "b1";
    other->task.body_sha256 = "b2";
    ck_assert_int_eq(lab_call(&lab, &first->base), RC_OK);
    ck_assert_int_eq(lab_call(&lab, &other->base), RC_INVALID);
    ck_assert_str_eq(other->base.err.code, "IDEMPOTENCY_KEY_REUSED");
    command_free(&first->base);
    command_free(&other->base);
}
END_TEST

START_TEST(a_key_is_forgotten_after_a_day)
{
    struct cmd_submit *first = command_for("acme/many"), *again = command_for("acme/many");
    first->task.idempotency_key = again->task.idempotency_key = "k1";
    first->task.body_sha256 = again->task.body_sha256 = "b1";
    ck_assert_int_eq(lab_call(&lab, &first->base), RC_OK);
    lab.now_us += 24 * US_PER_HOUR + 1;
    ck_assert_int_eq(lab_call(&lab, &again->base), RC_OK);
    ck_assert(!again->answer.repeated);
    ck_assert_str_ne(again->answer.task_id.text, first->answer.task_id.text);
    command_free(&first->base);
    command_free(&again->base);
}
END_TEST

START_TEST(a_denied_mode_is_refused_and_recorded)
{
    struct cmd_submit *cmd = command_for("acme/many");
    cmd->task.mode = MODE_AUTONOMOUS_PR;
    cmd->task.risk = RISK_HIGH;
    int64_t before = log_length();
    ck_assert_int_eq(lab_call(&lab, &cmd->base), RC_DENIED);
    ck_assert_str_eq(cmd->base.err.code, "policy.execution_mode_not_allowed");
    struct event_filter filter = {.after_seq = before, .limit = 10};
    struct event *events;
    size_t count;
    ck_assert_int_eq(events_list(lab.db, &filter, &lab.arena, &events, &count, NULL), RC_OK);
    static const char *const types[] = {EV_POLICY_EVALUATED, EV_POLICY_DENIED, EV_TASK_REJECTED};
    ck_assert_uint_eq(count, COUNT_OF(types));
    for (size_t i = 0; i < count; i++) {
        ck_assert_str_eq(events[i].type, types[i]);
        ck_assert_str_eq(events[i].task_id.text, events[0].task_id.text);
    }
    const char *explained = str_dup(&lab.arena, cmd->base.explained);
    ck_assert_ptr_nonnull(strstr(explained, "\"policyId\":\"execution_mode\""));
    ck_assert_ptr_nonnull(strstr(explained, "\"allowed\":\"patch_only, supervised_pr"));
    ck_assert_ptr_nonnull(strstr(explained, "\"overrideBy\":\"an admin"));
    command_free(&cmd->base);
}
END_TEST

START_TEST(only_an_admin_overrides_a_denied_mode)
{
    struct cmd_submit *cmd = command_for("acme/many");
    cmd->task.mode = MODE_AUTONOMOUS_PR;
    cmd->task.risk = RISK_HIGH;
    cmd->task.override_reason = "an emergency";
    ck_assert_int_eq(lab_call(&lab, &cmd->base), RC_DENIED);
    cmd->task.may_override = true;
    ck_assert_int_eq(lab_call(&lab, &cmd->base), RC_OK);
    ck_assert_uint_eq(cmd->base.explained.len, 0);
    ck_assert_str_eq(lab_run(&lab, &cmd->answer.run_id).overridden, "execution_mode");
    ck_assert_int_eq(lab_count_events(&lab, &cmd->answer.run_id, EV_POLICY_OVERRIDE_APPROVED), 1);
    ck_assert_int_eq(lab_count_audit(&lab, "policy.override", cmd->answer.task_id.text), 1);
    command_free(&cmd->base);
}
END_TEST

START_TEST(what_need_not_be_overridden_is_not)
{
    struct cmd_submit *cmd = command_for("acme/many");
    cmd->task.override_reason = "just in case";
    cmd->task.may_override = true;
    ck_assert_int_eq(lab_call(&lab, &cmd->base), RC_OK);
    ck_assert_ptr_null(lab_run(&lab, &cmd->answer.run_id).overridden);
    ck_assert_int_eq(lab_count_events(&lab, &cmd->answer.run_id, EV_POLICY_OVERRIDE_APPROVED), 0);
    command_free(&cmd->base);
}
END_TEST

START_TEST(an_unknown_repository_leaves_no_trace)
{
    struct cmd_submit *cmd = command_for("acme/none");
    int64_t before = log_length();
    ck_assert_int_eq(lab_call(&lab, &cmd->base), RC_INVALID);
    ck_assert_str_eq(cmd->base.err.code, "REPO_NOT_ONBOARDED");
    ck_assert_int_eq(log_length(), before);
    command_free(&cmd->base);
}
END_TEST

START_TEST(a_rate_limit_refuses_and_lets_go_after_an_hour)
{
    struct lab strict;
    lab_open(&strict, &(struct lab_options){.limits = {.tasks_per_hour_user = 2}});
    lab_repository(&strict, "acme/many", NULL);
    lab_submit(&strict, "acme/many");
    lab_submit(&strict, "acme/many");
    struct cmd_submit *cmd = command_for("acme/many");
    ck_assert_int_eq(lab_call(&strict, &cmd->base), RC_LIMIT);
    command_free(&cmd->base);
    strict.now_us += US_PER_HOUR + 1;
    lab_submit(&strict, "acme/many");
    lab_close(&strict);
}
END_TEST

START_TEST(a_full_repository_defers_and_a_free_slot_starts_the_next)
{
    struct id first = lab_submit(&lab, "acme/one");
    struct id second = lab_submit(&lab, "acme/one");
    struct id third = lab_submit(&lab, "acme/one");
    ck_assert_int_eq(status_of(&first), TASK_HYDRATING);
    ck_assert_int_eq(status_of(&second), TASK_DEFERRED);
    ck_assert_int_eq(status_of(&third), TASK_DEFERRED);
    ck_assert_str_eq(lab_run(&lab, &second).deferred_reason, "repository_concurrency_limit");
    ck_assert_int_eq(lab_count_events(&lab, &second, EV_TASK_DEFERRED), 1);
    end_run();
    ck_assert_int_eq(status_of(&second), TASK_HYDRATING);
    ck_assert_int_eq(status_of(&third), TASK_DEFERRED);
}
END_TEST

START_TEST(a_raised_limit_starts_who_waits)
{
    lab_submit(&lab, "acme/one");
    struct id waiting = lab_submit(&lab, "acme/one");
    ck_assert_int_eq(status_of(&waiting), TASK_DEFERRED);
    lab_repository(&lab, "acme/one", "\"limits\":{\"maxActiveRuns\":2}");
    ck_assert_int_eq(status_of(&waiting), TASK_HYDRATING);
}
END_TEST

START_TEST(a_huge_scope_is_kept_and_does_not_break_the_log)
{
    struct cmd_submit *cmd = command_for("acme/many");
    CLEANUP(buf_release) struct buf scope;
    buf_init(&scope, 1 << 20);
    buf_adds(&scope, "[\"");
    for (int i = 0; i < 300000; i++)
        buf_adds(&scope, "\\\"");
    buf_adds(&scope, "\"]");
    cmd->task.scope = buf_str(&scope);
    ck_assert_int_eq(lab_call(&lab, &cmd->base), RC_OK);
    ck_assert_uint_eq(lab_task(&lab, &cmd->answer.run_id).scope.len, scope.len);
    command_free(&cmd->base);
}
END_TEST

START_TEST(a_full_repository_does_not_hold_up_another)
{
    lab_submit(&lab, "acme/one");
    lab_submit(&lab, "acme/one");
    struct id other = lab_submit(&lab, "acme/many");
    ck_assert_int_eq(status_of(&other), TASK_HYDRATING);
}
END_TEST

START_TEST(the_system_limit_holds_everyone)
{
    for (int i = 0; i < 3; i++)
        lab_submit(&lab, "acme/many");
    struct id more = lab_submit(&lab, "acme/many");
    ck_assert_int_eq(status_of(&more), TASK_DEFERRED);
    ck_assert_str_eq(lab_run(&lab, &more).deferred_reason, "system_concurrency_limit");
}
END_TEST

static struct id submit_with_priority(int64_t priority)
{
    struct cmd_submit *cmd = command_for("acme/one");
    cmd->task.priority = priority;
    ck_assert_int_eq(lab_call(&lab, &cmd->base), RC_OK);
    struct id run_id = cmd->answer.run_id;
    command_free(&cmd->base);
    return run_id;
}

START_TEST(urgent_work_goes_first_and_waiting_makes_urgent)
{
    submit_with_priority(100);
    struct id batch = submit_with_priority(200);
    lab.now_us += 30 * US_PER_MINUTE * 150; /* 150 steps of ageing: 200 counts as 50 now. */
    struct id normal = submit_with_priority(100);
    struct id urgent = submit_with_priority(10);
    end_run();
    ck_assert_int_eq(status_of(&urgent), TASK_HYDRATING);
    end_run();
    ck_assert_int_eq(status_of(&batch), TASK_HYDRATING);
    ck_assert_int_eq(status_of(&normal), TASK_DEFERRED);
}
END_TEST

static struct cmd_submit *dependent_on(const struct id *run_id)
{
    struct cmd_submit *cmd = command_for("acme/many");
    struct id *ids = arena_alloc(&cmd->base.arena, sizeof *ids);
    *ids = lab_run(&lab, run_id).task_id;
    cmd->task.depends_on = ids;
    cmd->task.depends_count = 1;
    ck_assert_int_eq(lab_call(&lab, &cmd->base), RC_OK);
    return cmd;
}

START_TEST(a_task_waits_for_what_it_depends_on)
{
    struct id first = lab_submit(&lab, "acme/many");
    struct cmd_submit *next = dependent_on(&first);
    ck_assert_int_eq(status_of(&next->answer.run_id), TASK_DEFERRED);
    static const struct {
        const char *step, *result;
    } way[] = {{"prepare", RESULT_PREPARE}, {"hydrate", RESULT_HYDRATE},
               {"agent", RESULT_AGENT},     {"verify", RESULT_VERIFIED},
               {"judge", RESULT_JUDGED},    {"publish", RESULT_PUBLISHED}};
    for (size_t i = 0; i < COUNT_OF(way); i++) {
        struct job_row job = lab_take(&lab, way[i].step);
        lab_finish(&lab, &job, way[i].result);
    }
    ck_assert_int_eq(status_of(&next->answer.run_id), TASK_HYDRATING);
    command_free(&next->base);
}
END_TEST

START_TEST(a_task_fails_with_what_it_depends_on)
{
    struct id first = lab_submit(&lab, "acme/many");
    struct cmd_submit *next = dependent_on(&first);
    end_run();
    ck_assert_int_eq(status_of(&next->answer.run_id), TASK_FAILED);
    ck_assert_str_eq(lab_run(&lab, &next->answer.run_id).error_code, "dependency_failed");
    command_free(&next->base);
}
END_TEST

START_TEST(a_failed_task_is_retried_as_a_new_run_with_the_present_configuration)
{
    struct id first = lab_submit(&lab, "acme/one");
    end_run();
    ck_assert_int_eq(status_of(&first), TASK_FAILED);
    lab_repository(&lab, "acme/one", "\"limits\":{\"maxActiveRuns\":7}");
    struct cmd_retry *retry = cmd_retry_new();
    retry->task_id = lab_run(&lab, &first).task_id;
    ck_assert_int_eq(lab_call(&lab, &retry->base), RC_OK);
    ck_assert_int_eq(retry->run_no, 2);
    ck_assert_int_eq(status_of(&retry->run_id), TASK_HYDRATING);
    struct task_row task = lab_task(&lab, &first);
    ck_assert_int_eq(task.run_count, 2);
    ck_assert_ptr_null(task.error_code);
    ck_assert_ptr_nonnull(strstr(str_dup(&lab.arena, task.config), "7"));
    ck_assert_int_eq(lab_run(&lab, &first).status, RUN_FAILED);
    struct cmd_retry *again = cmd_retry_new();
    again->task_id = retry->task_id;
    ck_assert_int_eq(lab_call(&lab, &again->base), RC_CONFLICT);
    command_free(&retry->base);
    command_free(&again->base);
}
END_TEST

/* Another transaction holds the row of the dependency, as one does that moves its run. */
START_TEST(a_submission_does_not_wait_for_the_row_of_a_dependency)
{
    lab_open(&lab, &(struct lab_options){.engine = LAB_POSTGRES});
    lab_repository(&lab, "acme/many", NULL);
    struct id run_id = lab_submit(&lab, "acme/many");
    struct id depends_on[] = {lab_run(&lab, &run_id).task_id};
    struct db *other = NULL;
    struct task_row row;
    ck_assert_int_eq(store_writer_open(lab.store, &other, NULL), RC_OK);
    struct tx tx = {0};
    ck_assert_int_eq(tx_begin(other, &tx, NULL), RC_OK);
    ck_assert_int_eq(tasks_get(other, depends_on, &lab.arena, &row, NULL), RC_OK);
    struct cmd_submit *cmd = command_for("acme/many");
    cmd->task.depends_on = depends_on;
    cmd->task.depends_count = 1;
    ck_assert_int_eq(lab_call(&lab, &cmd->base), RC_OK);
    tx_abort(&tx);
    store_writer_close(lab.store, other);
    command_free(&cmd->base);
}
END_TEST

Suite *submit_suite(void)
{
    Suite *suite = suite_create("submit");
    TCase *tc = tcase_create("submit");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, the_same_key_gives_the_same_task);
    tcase_add_test(tc, two_of_the_same_key_in_one_batch_make_one_task);
    tcase_add_test(tc, the_same_key_with_another_body_is_refused);
    tcase_add_test(tc, a_key_is_forgotten_after_a_day);
    tcase_add_test(tc, a_denied_mode_is_refused_and_recorded);
    tcase_add_test(tc, only_an_admin_overrides_a_denied_mode);
    tcase_add_test(tc, what_need_not_be_overridden_is_not);
    tcase_add_test(tc, an_unknown_repository_leaves_no_trace);
    tcase_add_test(tc, a_rate_limit_refuses_and_lets_go_after_an_hour);
    tcase_add_test(tc, a_full_repository_defers_and_a_free_slot_starts_the_next);
    tcase_add_test(tc, a_raised_limit_starts_who_waits);
    tcase_add_test(tc, a_huge_scope_is_kept_and_does_not_break_the_log);
    tcase_add_test(tc, a_full_repository_does_not_hold_up_another);
    tcase_add_test(tc, the_system_limit_holds_everyone);
    tcase_add_test(tc, urgent_work_goes_first_and_waiting_makes_urgent);
    tcase_add_test(tc, a_task_waits_for_what_it_depends_on);
    tcase_add_test(tc, a_task_fails_with_what_it_depends_on);
    tcase_add_test(tc, a_failed_task_is_retried_as_a_new_run_with_the_present_configuration);
    suite_add_tcase(suite, tc);
    TCase *shared = tcase_create("shared");
    tcase_add_checked_fixture(shared, NULL, teardown);
    if (lab_engines() > LAB_POSTGRES)
        tcase_add_test(shared, a_submission_does_not_wait_for_the_row_of_a_dependency);
    suite_add_tcase(suite, shared);
    return suite;
}
