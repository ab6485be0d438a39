/*
 * test_step_table.c - the table of steps as a whole, what follows from a row, and that one more row
 * with its functions is one more step on both sides.
 */
#include "control/run/results.h"
#include "control/run/stop.h"
#include "core/config/repo_config.h"
#include "core/queue/queue_config.h"
#include "core/run/blueprint.h"
#include "core/run/retry_rule.h"
#include "core/run/worker_report.h"
#include "core/step_table.h"
#include "tests/unit/lab.h"
#include "tests/unit/step_added.h"
#include "tests/unit/suites.h"
#include "tests/unit/work_kit.h"
#include "work/worker.h"
#include <string.h>

/* ---- the table ---- */

START_TEST(every_step_has_a_row_in_order_and_what_belongs_to_it)
{
    size_t count;
    const struct step_row *rows = step_table(&count);
    ck_assert_uint_eq(count, STEP_KIND_COUNT);
    for (size_t i = 0; i < count; i++) {
        const struct step_row *row = &rows[i];
        const struct step_handlers *handlers = step_handlers(row->kind);
        bool moves = row->status != RUN_QUEUED || row->any_status;
        ck_assert_uint_eq(row->kind, i);
        ck_assert_ptr_eq(step_row(row->kind), row);
        ck_assert_ptr_eq(step_find(row->name), row);
        ck_assert_ptr_eq(step_find_queue(row->queue), row->queue != NULL ? row : NULL);
        ck_assert_msg((handlers->done != NULL) == moves, "%s: done", row->name);
        ck_assert_msg((row->result == NULL) == (row->kind == STEP_NOTIFY), "%s: result", row->name);
        ck_assert_msg(row->place == PLACE_NONE || moves, "%s: place", row->name);
        ck_assert_msg((step_function(row->kind) != NULL) == (row->queue != NULL), "%s", row->name);
        if (row->queue == NULL)
            continue;
        ck_assert_ptr_nonnull(retry_rule_find(RETRY_OF_STEP, row->failure));
        ck_assert_int_eq(strncmp(row->queue, STEP_QUEUE_PREFIX, strlen(STEP_QUEUE_PREFIX)), 0);
        ck_assert_str_eq(row->queue + strlen(STEP_QUEUE_PREFIX), row->name);
    }
    ck_assert_ptr_null(step_find("lint"));
    ck_assert_ptr_null(step_find(NULL));
    ck_assert_ptr_null(step_find_queue("drover.lint"));
}
END_TEST

static void expect_queues(const char *const *want)
{
    const struct step_queues queues = step_queues();
    for (size_t i = 0; want[i] != NULL || queues.names[i] != NULL; i++)
        ck_assert_pstr_eq(queues.names[i], want[i]);
}

START_TEST(workers_prefer_what_is_nearest_to_the_end_of_a_run)
{
    static const char *const want[] = {"drover.notify",  "drover.publish", "drover.judge",
                                       "drover.train",   "drover.verify",  "drover.rebase",
                                       "drover.collect", "drover.agent",   "drover.custom",
                                       "drover.plan",    "drover.hydrate", "drover.attend",
                                       "drover.prepare", "drover.issue",   "drover.comment",
                                       "drover.sync",    "drover.observe", "drover.unpublish",
                                       "drover.launch",  "drover.clean",   NULL};
    expect_queues(want);
}
END_TEST

START_TEST(a_steps_time_limit_follows_from_the_configuration)
{
    enum { MINUTE = 60 * 1000, SPARE = 5 * MINUTE };
    static const struct {
        enum step_kind kind;
        int64_t ms;
    } limits[] = {
        {STEP_PREPARE, 1},
        {STEP_HYDRATE, 1 + 10},
        {STEP_PLAN, 1 + 100 + SPARE},
        {STEP_CUSTOM, 1 + 7000 + SPARE},
        {STEP_AGENT, 1 + 100000 + SPARE},
        {STEP_COLLECT, 1 + SPARE},
        {STEP_VERIFY, 1 + 30 + 40 + SPARE},
        {STEP_JUDGE, 1 + 500 + 600 + SPARE},
        {STEP_PUBLISH, 2000000},
        {STEP_UNPUBLISH, 2000000},
        {STEP_CLEAN, 10 * MINUTE},
        {STEP_NOTIFY, 2 * MINUTE},
        {STEP_ISSUE, 2 * MINUTE},
        {STEP_COMMENT, 2 * MINUTE},
        {STEP_SYNC, 5 * MINUTE},
    };
    struct repo_config config = {
        .timeouts = {.prepare_ms = 1, .hydrate_ms = 10, .agent_ms = 100000, .publish_ms = 2000000},
        .plan = {.timeout_ms = 100},
        .verify = {{.timeout_ms = 30}, {.timeout_ms = 40}},
        .verify_count = 2,
        .judges = {{.timeout_ms = 500}, {.timeout_ms = 600}},
        .judge_count = 2,
        .blueprint = {.customs = {{.timeout_ms = 7000}, {.timeout_ms = 6000}}, .custom_count = 2},
    };
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        const struct step_row *row = step_row(limits[i].kind);
        int64_t ms = repo_config_step_ms(&config, row);
        ck_assert_msg(ms == limits[i].ms, "%s: %lld", row->name, (long long)ms);
    }
}
END_TEST

/* ---- one more step ---- */

static struct lab lab;

static void setup(void)
{
    step_add();
    lab_open(&lab, NULL);
    lab_repository(&lab, "acme/billing", NULL);
}

static void teardown(void)
{
    lab_check(&lab);
    lab_close(&lab);
    step_remove();
}

START_TEST(queue_class_and_time_of_an_added_step_follow_from_its_row)
{
    static const char *const want[] = {"drover.notify",    "drover.publish",
                                       "drover.judge",     "drover.lint",
                                       "drover.train",     "drover.verify",
                                       "drover.rebase",    "drover.collect",
                                       "drover.agent",     "drover.custom",
                                       "drover.plan",      "drover.hydrate",
                                       "drover.attend",    "drover.prepare",
                                       "drover.issue",     "drover.comment",
                                       "drover.sync",      "drover.observe",
                                       "drover.unpublish", "drover.launch",
                                       "drover.clean",     NULL};
    static const char *const own[] = {"drover.lint", NULL};
    struct slots slots = {0};
    const struct repo_config config = {.timeouts = {.prepare_ms = 5}};
    struct run_row run = {.stop = RUN_STOP_CANCEL};
    struct job_answer answer = {0};
    expect_queues(want);
    slots_fill(&slots, 3, own);
    ck_assert_int_eq(slots.of[CLASS_CHECK], 3);
    ck_assert_int_eq(slots.of[CLASS_AGENT] + slots.of[CLASS_SHORT], 0);
    ck_assert_int_eq(queue_config_default("drover.lint").max_attempts, LINT_ATTEMPTS);
    ck_assert_int_eq(repo_config_step_ms(&config, step_find("lint")), 5 + LINT_MS);
    ck_assert(step_name_reserved("lint"));
    ck_assert(report_knows_step("lint"));
    stop_orders(&run, "lint", &answer);
    ck_assert(answer.cancel);
}
END_TEST

static enum rc arrange(const char *const *sequence, struct err *err)
{
    struct blueprint blueprint = {0};
    struct blueprint_wish wish = {.sequence = sequence};
    return blueprint_arrange(&blueprint, &wish, err);
}

START_TEST(an_added_step_has_its_place_in_sequences)
{
    static const char *const good[] = {"prepare", "hydrate", "agent", "lint", "judge", NULL};
    static const char *const bad[] = {"prepare", "hydrate", "agent", "judge", "lint", NULL};
    struct err err = {0};
    ck_assert_msg(arrange(good, &err) == RC_OK, "%s", err.text);
    ck_assert_int_eq(arrange(bad, &err), RC_INVALID);
    ck_assert_str_eq(err.text, "step lint must stand before judge");
    step_remove();
    ck_assert_int_eq(arrange(good, &err), RC_INVALID);
    ck_assert_ptr_nonnull(strstr(err.text, "step lint is neither built in (prepare, hydrate, plan, "
                                           "agent, verify, judge, publish)"));
    step_add();
}
END_TEST

static struct id walk_to_lint(void)
{
    struct id run_id = lab_submit(&lab, "acme/billing");
    lab_step(&lab, "prepare", RESULT_PREPARE);
    lab_step(&lab, "hydrate", RESULT_HYDRATE);
    lab_step(&lab, "agent", RESULT_AGENT);
    lab_step(&lab, "verify", RESULT_VERIFIED);
    return run_id;
}

/* Executes the server's job in a worker; its result. */
static const char *work_on(const struct job_row *job)
{
    struct kit kit;
    struct worker *worker = NULL;
    struct err err = {0};
    kit_open(&kit);
    const struct worker_options options = {
        .port = &kit.port.port,
        .clock = clock_real(),
        .name = "node",
        .slots = {{[CLASS_CHECK] = 1}},
        .work_dir = kit.work_dir,
        .server_url = "http://127.0.0.1:8717",
        .lease_ms = 15000,
        .heartbeat_ms = 50,
    };
    ck_assert_msg(worker_start(&options, &worker, &err) == RC_OK, "%s", err.text);
    kit_enqueue(&kit, job->type, arena_strndup(&kit.arena, job->payload.at, job->payload.len));
    kit_await_reports(&kit, 1);
    worker_stop(worker);
    const struct kit_report *report = &kit.port.reports[0];
    ck_assert_msg(report->kind == KIT_COMPLETED, "%s: %s", report->code, report->message);
    const char *result = arena_strdup(&lab.arena, report->result);
    kit_close(&kit);
    return result;
}

START_TEST(a_run_passes_through_an_added_step_from_server_to_worker_and_back)
{
    struct id run_id = walk_to_lint();
    struct run_row run = lab_run(&lab, &run_id);
    ck_assert_int_eq(run.status, RUN_VERIFYING);
    ck_assert_str_eq(run.step, "lint");
    struct job_row job = lab_take(&lab, "lint");
    ck_assert_str_eq(job.type, "lint");
    ck_assert_int_eq(job.life.attempt_max, LINT_ATTEMPTS);
    ck_assert_int_eq(strncmp(job.dependency, "forge:", 6), 0);
    const char *result = work_on(&job);
    ck_assert_str_eq(result, "{\"warnings\":4}"); /* strlen("lint") */
    lab_finish(&lab, &job, result);
    run = lab_run(&lab, &run_id);
    ck_assert_int_eq(run.status, RUN_JUDGING);
    ck_assert_str_eq(run.warning_message, "4 warnings");
    lab_step(&lab, "judge", RESULT_JUDGED);
    lab_step(&lab, "publish", RESULT_PUBLISHED);
    ck_assert_int_eq(lab_run(&lab, &run_id).status, RUN_COMPLETED);
    lab_step(&lab, "clean", "{}");
}
END_TEST

START_TEST(the_result_of_an_added_step_is_checked)
{
    static const struct {
        const char *result, *code;
    } bad[] = {
        {"{}", "invalid_step_result"},
        {"{\"warnings\":\"many\"}", "invalid_step_result"},
        {"{\"warnings\":11}", "result_refused"},
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct id run_id = walk_to_lint();
        struct job_row job = lab_take(&lab, "lint");
        struct job_answer answer = lab_claim(&lab, &job, bad[i].result);
        ck_assert_str_eq(answer.code, "RESULT_REFUSED");
        ck_assert_str_eq(answer.field, "warnings");
        ck_assert_str_eq(lab_run(&lab, &run_id).error_code, bad[i].code);
        lab_step(&lab, "clean", "{}");
    }
}
END_TEST

START_TEST(retries_and_stops_of_an_added_step_follow_from_its_row)
{
    struct id run_id = walk_to_lint();
    struct job_row job = lab_take(&lab, "lint");
    struct job_answer answer = lab_fail(&lab, &job, "verify_failed_to_run", true);
    ck_assert(answer.ok);
    lab_pass_ms(&lab, 60000);
    job = lab_take(&lab, "lint"); /* Not prepared anew: it does not work in the run's tree. */
    ck_assert_int_eq(lab_run(&lab, &run_id).status, RUN_VERIFYING);
    lab_cancel(&lab, &run_id);
    lab_finish(&lab, &job, "{\"warnings\":1}");
    ck_assert_int_eq(lab_run(&lab, &run_id).status, RUN_CANCELLED);
}
END_TEST

Suite *step_table_suite(void)
{
    Suite *suite = suite_create("step_table");
    TCase *table = tcase_create("table");
    tcase_add_test(table, every_step_has_a_row_in_order_and_what_belongs_to_it);
    tcase_add_test(table, workers_prefer_what_is_nearest_to_the_end_of_a_run);
    tcase_add_test(table, a_steps_time_limit_follows_from_the_configuration);
    suite_add_tcase(suite, table);
    TCase *added = tcase_create("added");
    tcase_add_checked_fixture(added, setup, teardown);
    tcase_set_timeout(added, 120);
    tcase_add_test(added, queue_class_and_time_of_an_added_step_follow_from_its_row);
    tcase_add_test(added, an_added_step_has_its_place_in_sequences);
    tcase_add_test(added, a_run_passes_through_an_added_step_from_server_to_worker_and_back);
    tcase_add_test(added, the_result_of_an_added_step_is_checked);
    tcase_add_test(added, retries_and_stops_of_an_added_step_follow_from_its_row);
    suite_add_tcase(suite, added);
    return suite;
}
