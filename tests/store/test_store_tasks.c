/*
 * test_store_tasks.c - tasks, dependencies, idempotency keys.
 */
#include "tests/store/fixture.h"

START_TEST(every_column_comes_back)
{
    FIXTURE(f);
    struct task_row task = {
        .id = fixture_id(&f),
        .workspace_id = f.workspace_id,
        .repository_id = f.repository_id,
        .description = "fix it",
        .issue_number = 1,
        .task_type = "bugfix",
        .risk = RISK_HIGH,
        .mode = MODE_PATCH_ONLY,
        .target_branch = "main",
        .scope = STR("[\"src/**\"]"),
        .priority = 2,
        .max_turns = 3,
        .max_budget_microusd = 4,
        .labels = STR("[\"l\"]"),
        .channel = STR("{\"source\":\"cli\"}"),
        .depends_on = STR("[]"),
        .config = STR("{\"url\":\"u\"}"),
        .requested_by = "alice",
        .status = TASK_FAILED,
        .error_code = "E",
        .error_message = "m",
        .latest_run_id = fixture_id(&f),
        .run_count = 5,
        .last_event_id = fixture_id(&f),
        .created_us = 6,
        .updated_us = 7,
        .ended_us = 8,
    };
    must(tasks_insert(f.db, &task, NULL, 0, &f.err));
    struct task_row got;
    must(tasks_get(f.db, &task.id, &f.arena, &got, &f.err));
    ck_assert_id_eq(got.id, task.id);
    ck_assert_id_eq(got.workspace_id, task.workspace_id);
    ck_assert_id_eq(got.repository_id, task.repository_id);
    ck_assert_str_eq(got.repository, "acme/billing");
    ck_assert_str_eq(got.description, "fix it");
    ck_assert_int_eq(got.issue_number, 1);
    ck_assert_str_eq(got.task_type, "bugfix");
    ck_assert_int_eq(got.risk, RISK_HIGH);
    ck_assert_int_eq(got.mode, MODE_PATCH_ONLY);
    ck_assert_str_eq(got.target_branch, "main");
    ck_assert_bytes_eq(got.scope, "[\"src/**\"]");
    ck_assert_int_eq(got.priority, 2);
    ck_assert_int_eq(got.max_turns, 3);
    ck_assert_int_eq(got.max_budget_microusd, 4);
    ck_assert_bytes_eq(got.labels, "[\"l\"]");
    ck_assert_bytes_eq(got.channel, "{\"source\":\"cli\"}");
    ck_assert_bytes_eq(got.depends_on, "[]");
    ck_assert_bytes_eq(got.config, "{\"url\":\"u\"}");
    ck_assert_str_eq(got.requested_by, "alice");
    ck_assert_int_eq(got.status, TASK_FAILED);
    ck_assert_str_eq(got.error_code, "E");
    ck_assert_str_eq(got.error_message, "m");
    ck_assert_id_eq(got.latest_run_id, task.latest_run_id);
    ck_assert_int_eq(got.run_count, 5);
    ck_assert_id_eq(got.last_event_id, task.last_event_id);
    ck_assert_int_eq(got.created_us, 6);
    ck_assert_int_eq(got.updated_us, 7);
    ck_assert_int_eq(got.ended_us, 8);
}
END_TEST

START_TEST(save_changes_what_a_run_decides)
{
    FIXTURE(f);
    struct task_row task = fixture_task(&f);
    for (int status = 0; status < TASK_STATUS_COUNT; status++) {
        task.status = (enum task_status)status;
        task.error_code = status % 2 ? "E" : NULL;
        task.error_message = status % 2 ? "m" : NULL;
        task.latest_run_id = fixture_id(&f);
        task.run_count = status;
        task.last_event_id = fixture_id(&f);
        task.updated_us = status + 100;
        task.ended_us = status + 200;
        must(tasks_save(f.db, &task, &f.err));
        struct task_row got;
        must(tasks_get(f.db, &task.id, &f.arena, &got, &f.err));
        ck_assert_int_eq(got.status, status);
        ck_assert_pstr_eq(got.error_code, task.error_code);
        ck_assert_pstr_eq(got.error_message, task.error_message);
        ck_assert_id_eq(got.latest_run_id, task.latest_run_id);
        ck_assert_int_eq(got.run_count, status);
        ck_assert_id_eq(got.last_event_id, task.last_event_id);
        ck_assert_int_eq(got.updated_us, status + 100);
        ck_assert_int_eq(got.ended_us, status + 200);
        ck_assert_str_eq(got.description, "make the test pass");
    }
    task.id = fixture_id(&f);
    must_be(RC_NOT_FOUND, tasks_save(f.db, &task, &f.err));
    must_be(RC_NOT_FOUND, tasks_get(f.db, &task.id, &f.arena, &task, &f.err));
}
END_TEST

START_TEST(a_task_needs_a_repository)
{
    FIXTURE(f);
    struct task_row task = fixture_task(&f);
    task.id = fixture_id(&f);
    task.repository_id = fixture_id(&f);
    must_be(RC_IO, tasks_insert(f.db, &task, NULL, 0, &f.err));
    ck_assert_str_eq(f.err.code, "STORE_CONSTRAINT");
}
END_TEST

static void put_listed(struct fixture *f, struct id ids[], size_t count)
{
    struct repository_row web = {.id = fixture_id(f),
                                 .workspace_id = f->workspace_id,
                                 .name = "acme/web",
                                 .config = STR("{}")};
    ck_assert_int_eq(repositories_put(f->db, &web, &f->err), RC_OK);
    for (size_t i = 0; i < count; i++) {
        struct task_row task = fixture_task(f);
        task.id = ids[i] = fixture_id(f);
        task.repository_id = i % 2 ? web.id : f->repository_id;
        task.requested_by = i < 2 ? "alice" : "bob";
        task.status = i < 3 ? TASK_COMPLETED : TASK_RUNNING;
        task.created_us = (int64_t)i;
        ck_assert_int_eq(tasks_insert(f->db, &task, NULL, 0, &f->err), RC_OK);
    }
}

START_TEST(listings_filter_and_page_newest_first)
{
    FIXTURE(f);
    struct id ids[5];
    put_listed(&f, ids, COUNT_OF(ids));
    static const struct {
        const char *repository;
        int status;
        const char *requested_by;
        int before;
        int64_t limit;
        const char *want;
    } cases[] = {
        {"acme/web", -1, NULL, -1, 9, "31"},
        {"acme/web", -1, NULL, 3, 9, "1"},
        {"acme/web", TASK_RUNNING, NULL, -1, 9, "3"},
        {NULL, TASK_COMPLETED, NULL, -1, 9, "210"},
        {NULL, TASK_COMPLETED, NULL, 2, 1, "1"},
        {NULL, -1, "bob", -1, 9, "432"},
        {NULL, -1, "alice", 1, 9, "0"},
        {"acme/web", TASK_COMPLETED, "alice", -1, 9, "1"},
        {NULL, TASK_RUNNING, "alice", -1, 9, ""},
        {"acme/none", -1, NULL, -1, 9, ""},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct task_filter filter = {.repository = cases[i].repository,
                                     .status = cases[i].status,
                                     .requested_by = cases[i].requested_by,
                                     .limit = cases[i].limit};
        if (cases[i].before >= 0)
            filter.before = ids[cases[i].before];
        struct task_row *rows;
        size_t count;
        must(tasks_list(f.db, &filter, &f.arena, &rows, &count, &f.err));
        ck_assert_uint_eq(count, strlen(cases[i].want));
        for (size_t j = 0; j < count; j++)
            ck_assert_id_eq(rows[j].id, ids[cases[i].want[j] - '0']);
    }
}
END_TEST

START_TEST(pages_of_any_size_give_every_task_once)
{
    FIXTURE(f);
    enum { TASKS = 23 };
    for (int i = 0; i < TASKS; i++)
        fixture_task(&f);
    for (int64_t limit = 1; limit <= TASKS + 1; limit++) {
        struct task_filter filter = {.status = -1, .limit = limit};
        size_t seen = 0;
        struct task_row *rows;
        size_t count;
        do {
            must(tasks_list(f.db, &filter, &f.arena, &rows, &count, &f.err));
            for (size_t i = 0; i < count; i++) {
                ck_assert(id_is_none(&filter.before) ||
                          strcmp(rows[i].id.text, filter.before.text) < 0);
                filter.before = rows[i].id;
            }
            seen += count;
        } while (count > 0);
        ck_assert_uint_eq(seen, TASKS);
    }
}
END_TEST

START_TEST(tasks_of_an_actor_are_counted_since_a_moment)
{
    FIXTURE(f);
    struct id ids[5];
    put_listed(&f, ids, COUNT_OF(ids)); /* Created at 0, 1, 2, 3, 4. */
    static const struct {
        const char *actor;
        int64_t since_us, want;
    } cases[] = {{"bob", 0, 3}, {"bob", 3, 2}, {"bob", 5, 0}, {"alice", 0, 2}, {"nobody", 0, 0}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        int64_t count;
        must(tasks_count_since(f.db, cases[i].actor, cases[i].since_us, &count, &f.err));
        ck_assert_int_eq(count, cases[i].want);
    }
}
END_TEST

START_TEST(dependencies_are_pending_until_they_complete)
{
    FIXTURE(f);
    struct task_row first = fixture_task(&f);
    struct task_row second = fixture_task(&f);
    struct task_row task = fixture_task(&f);
    struct dependency_state state;
    must(tasks_dependencies(f.db, &task.id, &state, &f.err));
    ck_assert_int_eq(state.pending, 0);
    ck_assert(id_is_none(&state.broken));

    task.id = fixture_id(&f);
    struct id on[] = {first.id, second.id, first.id};
    must(tasks_insert(f.db, &task, on, COUNT_OF(on), &f.err));
    must(tasks_dependencies(f.db, &task.id, &state, &f.err));
    ck_assert_int_eq(state.pending, 2);

    first.status = TASK_COMPLETED;
    must(tasks_save(f.db, &first, &f.err));
    must(tasks_dependencies(f.db, &task.id, &state, &f.err));
    ck_assert_int_eq(state.pending, 1);
    ck_assert(id_is_none(&state.broken));

    static const enum task_status endings[] = {TASK_FAILED, TASK_CANCELLED, TASK_TIMED_OUT};
    for (size_t i = 0; i < COUNT_OF(endings); i++) {
        second.status = endings[i];
        must(tasks_save(f.db, &second, &f.err));
        must(tasks_dependencies(f.db, &task.id, &state, &f.err));
        ck_assert_int_eq(state.pending, 1);
        ck_assert_id_eq(state.broken, second.id);
    }
    struct id unknown = fixture_id(&f);
    task.id = fixture_id(&f);
    must_be(RC_IO, tasks_insert(f.db, &task, &unknown, 1, &f.err));
}
END_TEST

START_TEST(an_idempotency_key_answers_until_it_expires)
{
    FIXTURE(f);
    struct idempotency_row row = {f.workspace_id, "k", "sha", fixture_id(&f), fixture_id(&f), 100};
    struct idempotency_row got;
    must_be(RC_NOT_FOUND, idempotency_get(f.db, &f.workspace_id, "k", 0, &f.arena, &got, &f.err));
    must(idempotency_put(f.db, &row, 0, &f.err));
    must(idempotency_get(f.db, &f.workspace_id, "k", 99, &f.arena, &got, &f.err));
    ck_assert_id_eq(got.workspace_id, f.workspace_id);
    ck_assert_str_eq(got.key, "k");
    ck_assert_str_eq(got.body_sha256, "sha");
    ck_assert_id_eq(got.task_id, row.task_id);
    ck_assert_id_eq(got.run_id, row.run_id);
    ck_assert_int_eq(got.expires_us, 100);
    must_be(RC_NOT_FOUND, idempotency_get(f.db, &f.workspace_id, "k", 100, &f.arena, &got, &f.err));
    must_be(RC_NOT_FOUND, idempotency_get(f.db, &f.workspace_id, "K", 0, &f.arena, &got, &f.err));

    row.task_id = fixture_id(&f);
    row.expires_us = 300;
    must_be(RC_NOT_FOUND, idempotency_put(f.db, &row, 99, &f.err));
    must(idempotency_put(f.db, &row, 100, &f.err));
    must(idempotency_get(f.db, &f.workspace_id, "k", 200, &f.arena, &got, &f.err));
    ck_assert_id_eq(got.task_id, row.task_id);
    must(idempotency_prune(f.db, 299, &f.err));
    must(idempotency_get(f.db, &f.workspace_id, "k", 0, &f.arena, &got, &f.err));
    must(idempotency_prune(f.db, 300, &f.err));
    must_be(RC_NOT_FOUND, idempotency_get(f.db, &f.workspace_id, "k", 0, &f.arena, &got, &f.err));
}
END_TEST

START_TEST(sub_tasks_are_found_by_their_parent)
{
    FIXTURE(f);
    struct task_row parent = fixture_task(&f), other = fixture_task(&f), task = other;
    struct id open = fixture_id(&f), done = fixture_id(&f);
    task.parent_id = parent.id;
    task.id = open;
    must(tasks_insert(f.db, &task, NULL, 0, &f.err));
    task.id = done;
    task.status = TASK_FAILED;
    must(tasks_insert(f.db, &task, NULL, 0, &f.err));
    int64_t count;
    must(tasks_count_children(f.db, &parent.id, &count, &f.err));
    ck_assert_int_eq(count, 2);
    must(tasks_count_children(f.db, &other.id, &count, &f.err));
    ck_assert_int_eq(count, 0);
    struct id *ids;
    size_t found;
    must(tasks_unfinished_children(f.db, &parent.id, 10, &f.arena, &ids, &found, &f.err));
    ck_assert_uint_eq(found, 1);
    ck_assert_id_eq(ids[0], open);
    struct task_filter filter = {.status = -1, .parent_id = parent.id, .limit = 10};
    struct task_row *rows;
    must(tasks_list(f.db, &filter, &f.arena, &rows, &found, &f.err));
    ck_assert_uint_eq(found, 2);
    ck_assert_id_eq(rows[0].id, done);
    ck_assert_id_eq(rows[1].parent_id, parent.id);
    filter.status = TASK_FAILED;
    must(tasks_list(f.db, &filter, &f.arena, &rows, &found, &f.err));
    ck_assert_uint_eq(found, 1);
}
END_TEST

Suite *store_tasks_suite(void)
{
    Suite *suite = suite_create("store_tasks");
    TCase *tc = tcase_create("tasks");
    case_add(tc, every_column_comes_back);
    case_add(tc, save_changes_what_a_run_decides);
    case_add(tc, a_task_needs_a_repository);
    case_add(tc, listings_filter_and_page_newest_first);
    case_add(tc, pages_of_any_size_give_every_task_once);
    case_add(tc, tasks_of_an_actor_are_counted_since_a_moment);
    case_add(tc, dependencies_are_pending_until_they_complete);
    case_add(tc, an_idempotency_key_answers_until_it_expires);
    case_add(tc, sub_tasks_are_found_by_their_parent);
    suite_add_tcase(suite, tc);
    return suite;
}
