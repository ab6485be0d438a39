/*
 * test_store_runs.c - runs, and what admission asks about them.
 */
#include "tests/store/fixture.h"

static const struct run_row *full_run(struct fixture *f, const struct task_row *task)
{
    struct run_row *run = arena_alloc(&f->arena, sizeof *run);
    *run = (struct run_row){
        .id = fixture_id(f),
        .task_id = task->id,
        .workspace_id = task->workspace_id,
        .repository_id = task->repository_id,
        .run_no = 4,
        .status = RUN_AWAITING_APPROVAL,
        .attempt = 2,
        .branch = "drover/x/4-fix",
        .base_commit = "abc",
        .prompt_sha256 = "p",
        .feedback_sha256 = "f",
        .patch_sha256 = "d",
        .patch_id = fixture_id(f),
        .certificate_sha256 = "c",
        .turns = 5,
        .tokens_in = 6,
        .tokens_out = 7,
        .cost_microusd = 8,
        .model = "m",
        .pull_request_id = fixture_id(f),
        .job_id = fixture_id(f),
        .stop = RUN_STOP_TIMEOUT,
        .stop_by = "admin",
        .stop_reason = "late",
        .stop_us = 9,
        .deferred_reason = "user_concurrency",
        .used = {10, 11, 12, 13},
        .lost = 14,
        .rank = -15,
        .requested_by = "alice",
        .task_type = "bugfix",
        .max_turns = 22,
        .budget_microusd = 23,
        .error_code = "E",
        .error_message = "message",
        .event_seq = 16,
        .last_event_id = fixture_id(f),
        .queued_us = 17,
        .started_us = 18,
        .ended_us = 19,
        .deadline_us = 20,
        .updated_us = 21,
    };
    return run;
}

static void assert_same_start(const struct run_row *a, const struct run_row *b)
{
    ck_assert_id_eq(a->id, b->id);
    ck_assert_id_eq(a->task_id, b->task_id);
    ck_assert_id_eq(a->workspace_id, b->workspace_id);
    ck_assert_id_eq(a->repository_id, b->repository_id);
    ck_assert_int_eq(a->run_no, b->run_no);
    ck_assert_int_eq(a->max_turns, b->max_turns);
    ck_assert_int_eq(a->budget_microusd, b->budget_microusd);
    ck_assert_pstr_eq(a->requested_by, b->requested_by);
    ck_assert_pstr_eq(a->task_type, b->task_type);
}

static void assert_same_changeable(const struct run_row *a, const struct run_row *b)
{
    ck_assert_int_eq(a->status, b->status);
    ck_assert_int_eq(a->attempt, b->attempt);
    ck_assert_pstr_eq(a->branch, b->branch);
    ck_assert_pstr_eq(a->base_commit, b->base_commit);
    ck_assert_pstr_eq(a->prompt_sha256, b->prompt_sha256);
    ck_assert_pstr_eq(a->feedback_sha256, b->feedback_sha256);
    ck_assert_pstr_eq(a->patch_sha256, b->patch_sha256);
    ck_assert_id_eq(a->patch_id, b->patch_id);
    ck_assert_pstr_eq(a->certificate_sha256, b->certificate_sha256);
    ck_assert_int_eq(a->turns, b->turns);
    ck_assert_int_eq(a->tokens_in, b->tokens_in);
    ck_assert_int_eq(a->tokens_out, b->tokens_out);
    ck_assert_int_eq(a->cost_microusd, b->cost_microusd);
    ck_assert_pstr_eq(a->model, b->model);
    ck_assert_id_eq(a->pull_request_id, b->pull_request_id);
    ck_assert_id_eq(a->job_id, b->job_id);
    ck_assert_int_eq(a->stop, b->stop);
    ck_assert_pstr_eq(a->stop_by, b->stop_by);
    ck_assert_pstr_eq(a->stop_reason, b->stop_reason);
    ck_assert_int_eq(a->stop_us, b->stop_us);
    ck_assert_pstr_eq(a->deferred_reason, b->deferred_reason);
    for (size_t i = 0; i < BUDGET_KIND_COUNT; i++)
        ck_assert_int_eq(a->used[i], b->used[i]);
    ck_assert_int_eq(a->lost, b->lost);
    ck_assert_int_eq(a->rank, b->rank);
    ck_assert_pstr_eq(a->error_code, b->error_code);
    ck_assert_pstr_eq(a->error_message, b->error_message);
    ck_assert_int_eq(a->event_seq, b->event_seq);
    ck_assert_id_eq(a->last_event_id, b->last_event_id);
    ck_assert_int_eq(a->queued_us, b->queued_us);
    ck_assert_int_eq(a->started_us, b->started_us);
    ck_assert_int_eq(a->ended_us, b->ended_us);
    ck_assert_int_eq(a->deadline_us, b->deadline_us);
    ck_assert_int_eq(a->updated_us, b->updated_us);
}

START_TEST(every_column_comes_back)
{
    FIXTURE(f);
    struct task_row task = fixture_task(&f);
    const struct run_row *run = full_run(&f, &task);
    must(runs_insert(f.db, run, &f.err));
    struct run_row got;
    must(runs_get(f.db, &run->id, &f.arena, &got, &f.err));
    assert_same_start(&got, run);
    assert_same_changeable(&got, run);
}
END_TEST

START_TEST(what_seldom_changes_is_saved_by_itself)
{
    FIXTURE(f);
    struct task_row task = fixture_task(&f);
    struct run_row run = fixture_run(&f, &task);
    run.step = "scan";
    run.step_results = STR("[{\"name\":\"scan\"}]");
    run.session_id = "s-1";
    run.session_begun_us = 5;
    run.session_over = true;
    run.plan_sha256 = "plan";
    run.account = "main";
    run.paths = STR("[\"a.c\"]");
    run.warning_code = "build_failed_after_agent";
    run.warning_message = "But it fails.";
    run.partial = true;
    run.foreign_pr = STR("{\"number\":7}");
    run.prompt_version = "v1";
    run.overridden = "policy.forbidden_path";
    run.deferred_detail = "2 of 2 runs of acme/x are active";
    run.held_until_us = 77;
    run.quota_hits = 4;
    must(runs_save(f.db, &run, &f.err));
    must(runs_save_more(f.db, &run, &f.err));
    struct run_row got;
    must(runs_get(f.db, &run.id, &f.arena, &got, &f.err));
    ck_assert_pstr_eq(got.step, run.step);
    ck_assert(str_same(got.step_results, run.step_results));
    ck_assert_pstr_eq(got.session_id, run.session_id);
    ck_assert_int_eq(got.session_begun_us, 5);
    ck_assert(got.session_over);
    ck_assert_pstr_eq(got.plan_sha256, run.plan_sha256);
    ck_assert_pstr_eq(got.account, run.account);
    ck_assert(str_same(got.paths, run.paths));
    ck_assert_pstr_eq(got.warning_code, run.warning_code);
    ck_assert_pstr_eq(got.warning_message, run.warning_message);
    ck_assert(got.partial);
    ck_assert(str_same(got.foreign_pr, run.foreign_pr));
    ck_assert_pstr_eq(got.prompt_version, run.prompt_version);
    ck_assert_pstr_eq(got.overridden, run.overridden);
    ck_assert_pstr_eq(got.deferred_detail, run.deferred_detail);
    ck_assert_int_eq(got.held_until_us, 77);
    ck_assert_int_eq(got.quota_hits, 4);
    run.session_begun_us = 6;
    must(runs_save_begun(f.db, &run, &f.err));
    must(runs_get(f.db, &run.id, &f.arena, &got, &f.err));
    ck_assert_int_eq(got.session_begun_us, 6);
}
END_TEST

START_TEST(a_claim_reads_what_it_needs_and_no_more)
{
    FIXTURE(f);
    struct task_row task = fixture_task(&f);
    struct run_row run = *full_run(&f, &task);
    run.step = "scan";
    run.events_left = (struct event_budget){.events = 31, .bytes = 32};
    run.paused_us = 33;
    run.still_us = 34;
    run.message_seq = 35;
    must(runs_insert(f.db, &run, &f.err));
    must(runs_save_more(f.db, &run, &f.err));
    struct run_row got;
    must(runs_get_claim(f.db, &run.id, &f.arena, &got, &f.err));
    ck_assert_id_eq(got.id, run.id);
    ck_assert_id_eq(got.task_id, run.task_id);
    ck_assert_id_eq(got.job_id, run.job_id);
    ck_assert_id_eq(got.last_event_id, run.last_event_id);
    ck_assert_int_eq(got.events_left.events, 31);
    ck_assert_int_eq(got.events_left.bytes, 32);
    ck_assert_int_eq(got.attempt, run.attempt);
    ck_assert_int_eq(got.event_seq, run.event_seq);
    ck_assert_int_eq(got.updated_us, run.updated_us);
    ck_assert_str_eq(got.step, "scan");
    ck_assert_int_eq(got.paused_us, 33);
    ck_assert_int_eq(got.still_us, 34);
    ck_assert_int_eq(got.message_seq, 35);
    ck_assert(id_is_none(&got.repository_id));
    ck_assert_ptr_null(got.branch);
    ck_assert_int_eq(got.turns, 0);
    must(runs_touch(f.db, &got, &f.err)); /* Overwrites nothing of the rest. */
    must(runs_get(f.db, &run.id, &f.arena, &got, &f.err));
    assert_same_start(&got, &run);
    assert_same_changeable(&got, &run);
    run.id = fixture_id(&f);
    must_be(RC_NOT_FOUND, runs_get_claim(f.db, &run.id, &f.arena, &got, &f.err));
}
END_TEST

/* A worker may report a patch without the list of its paths. */
START_TEST(an_empty_json_text_is_stored_as_null)
{
    FIXTURE(f);
    struct task_row task = fixture_task(&f);
    struct run_row run = fixture_run(&f, &task);
    run.paths = run.step_results = run.foreign_pr = str_of(NULL);
    must(runs_save_more(f.db, &run, &f.err));
    struct run_row got;
    must(runs_get(f.db, &run.id, &f.arena, &got, &f.err));
    ck_assert_uint_eq(got.paths.len, 0);
    ck_assert_uint_eq(got.step_results.len, 0);
    ck_assert_uint_eq(got.foreign_pr.len, 0);
}
END_TEST

START_TEST(save_changes_everything_but_where_it_came_from)
{
    FIXTURE(f);
    struct task_row task = fixture_task(&f);
    struct run_row run = fixture_run(&f, &task);
    struct run_row changed = *full_run(&f, &task);
    changed.id = run.id;
    must(runs_save(f.db, &changed, &f.err));
    struct run_row got;
    must(runs_get(f.db, &run.id, &f.arena, &got, &f.err));
    assert_same_start(&got, &run);
    assert_same_changeable(&got, &changed);
    changed.id = fixture_id(&f);
    must_be(RC_NOT_FOUND, runs_save(f.db, &changed, &f.err));
    must_be(RC_NOT_FOUND, runs_get(f.db, &changed.id, &f.arena, &got, &f.err));
}
END_TEST

START_TEST(every_status_can_be_stored)
{
    FIXTURE(f);
    struct task_row task = fixture_task(&f);
    for (int status = 0; status < RUN_STATUS_COUNT; status++) {
        struct run_row run = fixture_run(&f, &task);
        run.status = (enum run_status)status;
        must(runs_save(f.db, &run, &f.err));
        struct run_row got;
        must(runs_get(f.db, &run.id, &f.arena, &got, &f.err));
        ck_assert_int_eq(got.status, status);
    }
    struct run_counts counts;
    must(runs_count(f.db, &counts, &f.err));
    for (int status = 0; status < RUN_STATUS_COUNT; status++)
        ck_assert_int_eq(counts.by_status[status], 1);
}
END_TEST

START_TEST(a_run_number_is_given_once_per_task)
{
    FIXTURE(f);
    struct task_row task = fixture_task(&f);
    struct run_row run = fixture_run(&f, &task);
    run.id = fixture_id(&f);
    must_be(RC_IO, runs_insert(f.db, &run, &f.err));
    ck_assert_str_eq(f.err.code, "STORE_CONSTRAINT");
    run.run_no = 2;
    run.task_id = fixture_id(&f); /* No such task. */
    must_be(RC_IO, runs_insert(f.db, &run, &f.err));
    ck_assert_str_eq(f.err.code, "STORE_CONSTRAINT");
}
END_TEST

START_TEST(runs_of_a_task_are_in_order)
{
    FIXTURE(f);
    struct task_row task = fixture_task(&f);
    struct task_row other = fixture_task(&f);
    struct id first = fixture_run(&f, &task).id;
    fixture_run(&f, &other);
    struct id second = fixture_run(&f, &task).id;
    struct run_row *rows;
    size_t count;
    must(runs_of_task(f.db, &task.id, &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 2);
    ck_assert_id_eq(rows[0].id, first);
    ck_assert_id_eq(rows[1].id, second);
}
END_TEST

static struct id another_repository(struct fixture *f, const char *name)
{
    struct repository_row row = {
        .id = fixture_id(f), .workspace_id = f->workspace_id, .name = name, .config = STR("{}")};
    enum rc rc = repositories_put(f->db, &row, &f->err);
    ck_assert_msg(rc == RC_OK, "%s", f->err.text);
    return row.id;
}

static struct run_row run_in(struct fixture *f, struct id repository_id, enum run_status status)
{
    struct task_row task = fixture_task(f);
    task.repository_id = repository_id;
    struct run_row run = fixture_run(f, &task);
    run.status = status;
    enum rc rc = runs_save(f->db, &run, &f->err);
    ck_assert_msg(rc == RC_OK, "%s", f->err.text);
    return run;
}

START_TEST(listings_filter_and_page_newest_first)
{
    FIXTURE(f);
    struct id web = another_repository(&f, "acme/web");
    struct run_row runs[5];
    for (size_t i = 0; i < COUNT_OF(runs); i++)
        runs[i] = run_in(&f, i % 2 ? web : f.repository_id, i < 3 ? RUN_QUEUED : RUN_FAILED);
    static const struct {
        const char *repository;
        int status;
        int task, before; /* Which of the runs; -1: any */
        int64_t limit;
        const char *want;
    } cases[] = {
        {NULL, -1, -1, -1, 10, "43210"},
        {NULL, -1, -1, -1, 2, "43"},
        {NULL, -1, -1, 3, 2, "21"},
        {"acme/web", -1, -1, -1, 9, "31"},
        {"acme/web", -1, -1, 3, 9, "1"},
        {NULL, RUN_FAILED, -1, -1, 9, "43"},
        {NULL, RUN_QUEUED, -1, 2, 9, "10"},
        {"acme/web", RUN_QUEUED, -1, -1, 9, "1"},
        {NULL, -1, 2, -1, 9, "2"},
        {"acme/web", -1, 2, -1, 9, ""},
        {NULL, RUN_COMPLETED, -1, -1, 9, ""},
        {"acme/none", -1, -1, -1, 9, ""},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct run_filter filter = {
            .repository = cases[i].repository, .status = cases[i].status, .limit = cases[i].limit};
        if (cases[i].task >= 0)
            filter.task_id = runs[cases[i].task].task_id;
        if (cases[i].before >= 0)
            filter.before = runs[cases[i].before].id;
        struct run_row *rows;
        size_t count;
        must(runs_list(f.db, &filter, &f.arena, &rows, &count, &f.err));
        ck_assert_uint_eq(count, strlen(cases[i].want));
        for (size_t j = 0; j < count; j++)
            ck_assert_id_eq(rows[j].id, runs[cases[i].want[j] - '0'].id);
    }
}
END_TEST

START_TEST(active_runs_are_counted_by_what_limits_them)
{
    FIXTURE(f);
    struct active_row *rows;
    size_t count;
    must(runs_active(f.db, &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 0);
    struct id web = another_repository(&f, "acme/web");
    int64_t active = 0;
    for (int status = 0; status < RUN_STATUS_COUNT; status++) {
        run_in(&f, f.repository_id, (enum run_status)status);
        active += run_is_active((enum run_status)status);
    }
    run_in(&f, web, RUN_RUNNING);
    must(runs_active(f.db, &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 2);
    for (size_t i = 0; i < count; i++) {
        bool is_web = id_same(&rows[i].repository_id, &web);
        ck_assert_int_eq(rows[i].count, is_web ? 1 : active);
        ck_assert_id_eq(rows[i].workspace_id, f.workspace_id);
        ck_assert_str_eq(rows[i].requested_by, "admin");
        ck_assert_ptr_null(rows[i].task_type);
    }
}
END_TEST

START_TEST(repositories_with_queued_runs_are_named_once)
{
    FIXTURE(f);
    struct id *ids;
    size_t count;
    must(runs_queued_repositories(f.db, &f.workspace_id, &f.arena, &ids, &count, &f.err));
    ck_assert_uint_eq(count, 0);
    struct id web = another_repository(&f, "acme/web");
    struct id idle = another_repository(&f, "acme/idle");
    struct id tools = another_repository(&f, "acme/tools");
    for (int i = 0; i < 3; i++) {
        run_in(&f, web, RUN_QUEUED);
        run_in(&f, idle, RUN_RUNNING);
        run_in(&f, tools, RUN_QUEUED);
    }
    must(runs_queued_repositories(f.db, &f.workspace_id, &f.arena, &ids, &count, &f.err));
    ck_assert_uint_eq(count, 2);
    ck_assert_id_eq(ids[0], web);
    ck_assert_id_eq(ids[1], tools);
    struct id elsewhere = fixture_id(&f);
    must(runs_queued_repositories(f.db, &elsewhere, &f.arena, &ids, &count, &f.err));
    ck_assert_uint_eq(count, 0);
}
END_TEST

START_TEST(the_next_queued_run_follows_rank_then_id)
{
    FIXTURE(f);
    static const int64_t ranks[] = {30, 10, -20, 10};
    struct run_row runs[COUNT_OF(ranks)];
    for (size_t i = 0; i < COUNT_OF(ranks); i++) {
        runs[i] = run_in(&f, f.repository_id, RUN_QUEUED);
        runs[i].rank = ranks[i];
        must(runs_save(f.db, &runs[i], &f.err));
    }
    run_in(&f, another_repository(&f, "acme/web"), RUN_QUEUED);
    run_in(&f, f.repository_id, RUN_RUNNING);
    static const size_t order[] = {2, 1, 3, 0};
    struct run_place place;
    const struct run_place *after = NULL;
    struct run_row got;
    for (size_t i = 0; i < COUNT_OF(order); i++) {
        must(runs_next_queued(f.db, &f.repository_id, after, &f.arena, &got, &f.err));
        ck_assert_id_eq(got.id, runs[order[i]].id);
        place = (struct run_place){got.rank, got.id};
        after = &place;
    }
    must_be(RC_NOT_FOUND, runs_next_queued(f.db, &f.repository_id, after, &f.arena, &got, &f.err));
}
END_TEST

START_TEST(unexplained_are_queued_without_a_reason)
{
    FIXTURE(f);
    struct run_row first = run_in(&f, f.repository_id, RUN_QUEUED);
    struct run_row second = run_in(&f, f.repository_id, RUN_QUEUED);
    struct run_row explained = run_in(&f, f.repository_id, RUN_QUEUED);
    run_in(&f, f.repository_id, RUN_FAILED);
    first.rank = second.rank + 1;
    must(runs_save(f.db, &first, &f.err));
    explained.deferred_reason = "user_concurrency";
    must(runs_save(f.db, &explained, &f.err));
    struct run_row *rows;
    size_t count;
    must(runs_queued_unexplained(f.db, &f.workspace_id, 10, &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 2);
    ck_assert_id_eq(rows[0].id, second.id);
    ck_assert_id_eq(rows[1].id, first.id);
    must(runs_queued_unexplained(f.db, &f.workspace_id, 1, &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 1);
}
END_TEST

START_TEST(past_runs_are_the_completed_ones_newest_first)
{
    FIXTURE(f);
    struct task_row task = fixture_task(&f);
    for (int i = 0; i < 4; i++) {
        struct run_row run = *full_run(&f, &task);
        run.run_no = i + 1;
        run.status = i == 2 ? RUN_FAILED : RUN_COMPLETED;
        run.wanted_agent = i == 0 ? NULL : "claude:opus";
        run.turns = i;
        run.work_us = 10 * i;
        must(runs_insert(f.db, &run, &f.err));
        must(runs_save(f.db, &run, &f.err));
    }
    struct past_run *runs;
    size_t count;
    must(runs_past(f.db, &task.repository_id, 10, &f.arena, &runs, &count, &f.err));
    ck_assert_uint_eq(count, 3);
    ck_assert_int_eq(runs[0].turns, 3);
    ck_assert_int_eq(runs[0].work_us, 30);
    ck_assert_int_eq(runs[0].cost_microusd, 8);
    ck_assert_str_eq(runs[0].agent, "claude:opus");
    ck_assert_str_eq(runs[0].task_type, "bugfix");
    ck_assert_ptr_null(runs[2].agent);
    must(runs_past(f.db, &task.repository_id, 2, &f.arena, &runs, &count, &f.err));
    ck_assert_uint_eq(count, 2);
}
END_TEST

START_TEST(a_budget_tree_is_read_by_its_root)
{
    FIXTURE(f);
    struct task_row task = fixture_task(&f);
    struct run_row root = fixture_run(&f, &task), alone = fixture_run(&f, &task);
    struct run_row child = *full_run(&f, &task);
    child.parent_run_id = child.root_run_id = root.id;
    child.max_tokens = 30;
    child.work_us = 40;
    child.work_since_us = 100;
    must(runs_insert(f.db, &child, &f.err));
    must(runs_save(f.db, &child, &f.err));
    must(runs_set_root(f.db, &root.id, &f.err));
    struct budget_tree tree;
    must(runs_tree(f.db, &root.id, 107, &f.arena, &tree, &f.err));
    ck_assert_int_eq(tree.count, 2);
    must(budget_tree_link(&tree, &f.err));
    const struct budget_node *node = &tree.nodes[budget_tree_find(&tree, &child.id)];
    ck_assert_id_eq(node->task_id, task.id);
    ck_assert_id_eq(node->parent_run_id, root.id);
    ck_assert_int_eq(node->status, RUN_AWAITING_APPROVAL);
    ck_assert(node->stopping);
    ck_assert_int_eq(node->used[MEASURE_COST], 8);
    ck_assert_int_eq(node->used[MEASURE_TOKENS], 6 + 7);
    ck_assert_int_eq(node->limit[MEASURE_COST], 23);
    ck_assert_int_eq(node->limit[MEASURE_TOKENS], 30);
    ck_assert_int_eq(node->deadline_us, 20);
    ck_assert_int_eq(node->work_us, 47);
    ck_assert_int_eq(run_work_us(&child, 107), 47);
    ck_assert_int_eq(run_work_us(&child, 99), 40); /* A clock that was set back. */
    must(runs_tree(f.db, &alone.id, 107, &f.arena, &tree, &f.err));
    ck_assert_int_eq(tree.count, 0);
}
END_TEST

Suite *store_runs_suite(void)
{
    Suite *suite = suite_create("store_runs");
    TCase *tc = tcase_create("runs");
    case_add(tc, every_column_comes_back);
    case_add(tc, what_seldom_changes_is_saved_by_itself);
    case_add(tc, a_claim_reads_what_it_needs_and_no_more);
    case_add(tc, an_empty_json_text_is_stored_as_null);
    case_add(tc, save_changes_everything_but_where_it_came_from);
    case_add(tc, every_status_can_be_stored);
    case_add(tc, a_run_number_is_given_once_per_task);
    case_add(tc, runs_of_a_task_are_in_order);
    case_add(tc, listings_filter_and_page_newest_first);
    case_add(tc, active_runs_are_counted_by_what_limits_them);
    case_add(tc, repositories_with_queued_runs_are_named_once);
    case_add(tc, the_next_queued_run_follows_rank_then_id);
    case_add(tc, unexplained_are_queued_without_a_reason);
    case_add(tc, past_runs_are_the_completed_ones_newest_first);
    case_add(tc, a_budget_tree_is_read_by_its_root);
    suite_add_tcase(suite, tc);
    return suite;
}
