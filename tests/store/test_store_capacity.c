/*
 * test_store_capacity.c - what admission counts: money, active runs, open reviews, places in line.
 */
#include "store/capacity.h"
#include "store/pull_requests.h"
#include "store/workspaces.h"
#include "tests/store/fixture.h"

static struct run_row run_in(struct fixture *fixture, const struct task_row *task,
                             enum run_status status, int64_t ended_us, int64_t cost_microusd)
{
    struct fixture f = *fixture;
    struct run_row run = fixture_run(&f, task);
    run.status = status;
    run.ended_us = ended_us;
    run.cost_microusd = cost_microusd;
    must(runs_save(f.db, &run, &f.err));
    *fixture = f;
    return run;
}

START_TEST(a_day_costs_what_ended_in_it_and_what_is_under_way)
{
    FIXTURE(f);
    struct task_row task = fixture_task(&f);
    int64_t spent = -1;
    struct spent_query query = {f.workspace_id, 100, 1000};
    must(capacity_spent(f.db, &query, &spent, &f.err));
    ck_assert_int_eq(spent, 0);
    run_in(&f, &task, RUN_COMPLETED, 99, 1000); /* The day before. */
    run_in(&f, &task, RUN_COMPLETED, 100, 20);
    run_in(&f, &task, RUN_FAILED, 150, 3);
    run_in(&f, &task, RUN_RUNNING, 0, 400);
    run_in(&f, &task, RUN_QUEUED, 0, 0);
    must(capacity_spent(f.db, &query, &spent, &f.err));
    ck_assert_int_eq(spent, 423);
    query.workspace_id = fixture_id(&f);
    must(capacity_spent(f.db, &query, &spent, &f.err));
    ck_assert_int_eq(spent, 0);
}
END_TEST

START_TEST(a_run_is_charged_what_it_was_admitted_for_at_most)
{
    FIXTURE(f);
    struct task_row task = fixture_task(&f);
    task.max_budget_microusd = 0;
    struct run_row run = fixture_run(&f, &task);
    run.id = fixture_id(&f);
    run.run_no += 100;
    run.budget_microusd = 50;
    run.cost_microusd = 500000000;
    must(runs_insert(f.db, &run, &f.err));
    struct run_row got;
    must(runs_get(f.db, &run.id, &f.arena, &got, &f.err));
    ck_assert_int_eq(got.budget_microusd, 50);
    run_in(&f, &task, RUN_RUNNING, 0, 700); /* Without a budget. */
    run_in(&f, &task, RUN_RUNNING, 0, 3);
    struct spent_query query = {f.workspace_id, 100, 200};
    int64_t spent = -1;
    must(capacity_spent(f.db, &query, &spent, &f.err));
    ck_assert_int_eq(spent, 50 + 200 + 3);
}
END_TEST

START_TEST(active_runs_come_with_what_they_mean_to_change)
{
    FIXTURE(f);
    struct task_row task = fixture_task(&f);
    run_in(&f, &task, RUN_QUEUED, 0, 0);
    run_in(&f, &task, RUN_COMPLETED, 5, 0);
    struct run_row asking = run_in(&f, &task, RUN_AWAITING_APPROVAL, 0, 0);
    struct run_row running = run_in(&f, &task, RUN_RUNNING, 0, 0);
    running.paths = STR("[\"src/a.c\"]");
    must(runs_save_more(f.db, &running, &f.err));
    struct working_row *rows;
    size_t count;
    must(capacity_working(f.db, &task.repository_id, &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 2);
    ck_assert_id_eq(rows[0].run_id, asking.id);
    ck_assert_int_eq(rows[0].status, RUN_AWAITING_APPROVAL);
    ck_assert_int_eq(rows[0].mode, task.mode);
    ck_assert_int_eq(rows[0].risk, task.risk);
    ck_assert(str_same(rows[0].scope, task.scope));
    ck_assert_id_eq(rows[1].run_id, running.id);
    ck_assert_bytes_eq(rows[1].paths, "[\"src/a.c\"]");
    struct active_row *active;
    must(runs_active(f.db, &f.arena, &active, &count, &f.err));
    ck_assert_uint_eq(count, 1);
    ck_assert_int_eq(active[0].count, 2);
    ck_assert_int_eq(active[0].asking, 1);
    struct id other = fixture_id(&f);
    must(capacity_working(f.db, &other, &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 0);
}
END_TEST

START_TEST(open_pull_requests_of_a_repository_are_counted)
{
    FIXTURE(f);
    struct task_row task = fixture_task(&f);
    static const char *const statuses[] = {"open", "merged", "open", "closed"};
    for (size_t i = 0; i < COUNT_OF(statuses); i++) {
        struct run_row run = fixture_run(&f, &task);
        struct pull_request_row row = {
            .id = fixture_id(&f),
            .number = (int64_t)i,
            .repository_id = task.repository_id,
            .task_id = task.id,
            .run_id = run.id,
            .branch = "b",
            .target_branch = "main",
            .status = statuses[i],
        };
        must(pull_requests_insert(f.db, &row, &f.err));
    }
    int64_t count = -1;
    must(capacity_open_pull_requests(f.db, &task.repository_id, &count, &f.err));
    ck_assert_int_eq(count, 2);
}
END_TEST

START_TEST(a_place_in_line_counts_those_of_smaller_rank)
{
    FIXTURE(f);
    struct task_row task = fixture_task(&f);
    struct run_row last = {0};
    for (int64_t i = 0; i < 3; i++) {
        last = run_in(&f, &task, RUN_QUEUED, 0, 0);
        last.rank = i / 2; /* The second one is older, the third has a greater rank. */
        must(runs_save(f.db, &last, &f.err));
    }
    run_in(&f, &task, RUN_RUNNING, 0, 0);
    struct queue_place place = {last.workspace_id, last.rank, last.id};
    int64_t read_ahead = -1;
    must(capacity_read_ahead(f.db, &place, &read_ahead, &f.err));
    ck_assert_int_eq(read_ahead, 2);
}
END_TEST

START_TEST(a_workspace_has_its_own_limit)
{
    FIXTURE(f);
    int64_t max = -1;
    must(workspaces_max_active_runs(f.db, &f.workspace_id, &max, &f.err));
    ck_assert_int_eq(max, 0);
    struct workspace_row row = {.id = fixture_id(&f), .name = "b", .max_active_runs = 7};
    must(workspaces_insert(f.db, &row, &f.err));
    must(workspaces_max_active_runs(f.db, &row.id, &max, &f.err));
    ck_assert_int_eq(max, 7);
}
END_TEST

Suite *store_capacity_suite(void)
{
    Suite *suite = suite_create("store_capacity");
    TCase *tc = tcase_create("store_capacity");
    case_add(tc, a_day_costs_what_ended_in_it_and_what_is_under_way);
    case_add(tc, a_run_is_charged_what_it_was_admitted_for_at_most);
    case_add(tc, active_runs_come_with_what_they_mean_to_change);
    case_add(tc, open_pull_requests_of_a_repository_are_counted);
    case_add(tc, a_place_in_line_counts_those_of_smaller_rank);
    case_add(tc, a_workspace_has_its_own_limit);
    suite_add_tcase(suite, tc);
    return suite;
}
