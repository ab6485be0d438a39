/*
 * test_store_batches.c - batches, their members, and what is counted from the rows.
 */
#include "store/batches.h"
#include "store/pull_requests.h"
#include "tests/store/fixture.h"

static struct batch_row new_batch(struct fixture *fixture, const char *name)
{
    struct fixture f = *fixture;
    struct batch_row row = {.id = fixture_id(fixture),
                            .workspace_id = f.workspace_id,
                            .name = name,
                            .task = STR("{\"description\":\"x\"}"),
                            .max_active = 2,
                            .requested_by = "ada",
                            .created_us = 5,
                            .updated_us = 5};
    must(batches_insert(f.db, &row, &f.err));
    return row;
}

static struct batch_member_row new_member(struct fixture *fixture, const struct batch_row *batch,
                                          int64_t no)
{
    struct fixture f = *fixture;
    struct batch_member_row row = {.id = fixture_id(fixture),
                                   .batch_id = batch->id,
                                   .no = no,
                                   .key = arena_printf(&fixture->arena, "k%lld", (long long)no),
                                   .repository = "acme/billing",
                                   .task = STR("{\"maxTurns\":3}"),
                                   .depends_on = no > 1 ? STR("[1]") : (struct str){0},
                                   .updated_us = 6};
    must(batch_members_insert(f.db, &row, &f.err));
    return row;
}

/* A task of the batch in this status, with a run that has cost something. */
static struct task_row new_task(struct fixture *fixture, const struct batch_row *batch,
                                enum task_status status, int64_t cost)
{
    struct fixture f = *fixture;
    struct task_row task = fixture_task(fixture);
    struct run_row run = fixture_run(fixture, &task);
    task.id = fixture_id(fixture);
    task.batch_id = batch->id;
    task.status = status;
    task.error_code = status == TASK_FAILED ? "agent_error" : NULL;
    task.latest_run_id = run.id = fixture_id(fixture);
    must(tasks_insert(f.db, &task, NULL, 0, &f.err));
    run.task_id = task.id;
    run.batch_id = batch->id;
    run.cost_microusd = cost;
    must(runs_insert(f.db, &run, &f.err));
    return task;
}

static void submit(struct fixture *fixture, struct batch_member_row *member,
                   const struct task_row *task)
{
    struct fixture f = *fixture;
    member->state = MEMBER_SUBMITTED;
    member->task_id = task->id;
    must(batch_members_save(f.db, member, &f.err));
}

START_TEST(a_batch_is_read_back_and_saved)
{
    FIXTURE(f);
    struct batch_row got, batch = new_batch(&f, "node 22");
    struct id none = fixture_id(&f);
    must(batches_get(f.db, &batch.id, &f.arena, &got, &f.err));
    ck_assert_str_eq(got.name, "node 22");
    ck_assert_bytes_eq(got.task, "{\"description\":\"x\"}");
    ck_assert_int_eq(got.status, BATCH_RUNNING);
    got.status = BATCH_STOPPING;
    got.reason_code = "too_many_failures";
    got.told = 4;
    must(batches_save(f.db, &got, &f.err));
    must(batches_peek(f.db, &batch.id, &f.arena, &batch, &f.err));
    ck_assert_int_eq(batch.status, BATCH_STOPPING);
    ck_assert_str_eq(batch.reason_code, "too_many_failures");
    ck_assert_int_eq(batch.told, 4);
    must_be(RC_NOT_FOUND, batches_get(f.db, &none, &f.arena, &got, &f.err));
    ck_assert_str_eq(f.err.code, "BATCH_NOT_FOUND");
    must_be(RC_NOT_FOUND, batches_peek(f.db, &none, &f.arena, &got, &f.err));
    must_be(RC_NOT_FOUND, batches_gate(f.db, &none, &f.arena, &(struct batch_gate){0}, &f.err));
}
END_TEST

START_TEST(batches_are_listed_newest_first_by_what_is_asked_for)
{
    FIXTURE(f);
    struct batch_row *rows, a = new_batch(&f, "a"), b = new_batch(&f, "b"), c = new_batch(&f, "a");
    size_t count;
    b.status = BATCH_COMPLETED;
    b.ended_us = 9;
    must(batches_save(f.db, &b, &f.err));
    const struct {
        struct batch_filter filter;
        const struct batch_row *want[3];
    } cases[] = {
        {{.status = -1, .limit = 10}, {&c, &b, &a}},
        {{.status = -1, .limit = 2}, {&c, &b}},
        {{.status = -1, .limit = 10, .before = b.id}, {&a}},
        {{.status = BATCH_COMPLETED, .limit = 10}, {&b}},
        {{.status = BATCH_RUNNING, .limit = 10}, {&c, &a}},
        {{.status = -1, .limit = 10, .name = "a"}, {&c, &a}},
        {{.status = -1, .limit = 10, .requested_by = "bob"}, {NULL}},
        {{.status = -1, .limit = 10, .requested_by = "ada", .name = "b"}, {&b}},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        size_t want = 0;
        must(batches_list(f.db, &cases[i].filter, &f.arena, &rows, &count, &f.err));
        for (; want < 3 && cases[i].want[want] != NULL; want++)
            ck_assert_id_eq(rows[want].id, cases[i].want[want]->id);
        ck_assert_uint_eq(count, want);
    }
    must(batches_open(f.db, 10, &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 2);
    ck_assert_id_eq(rows[0].id, a.id);
}
END_TEST

START_TEST(numbers_keys_and_tasks_of_members_are_unique)
{
    FIXTURE(f);
    struct batch_row batch = new_batch(&f, "a"), other = new_batch(&f, "b");
    struct batch_member_row one = new_member(&f, &batch, 1), two = new_member(&f, &batch, 2);
    struct task_row task = new_task(&f, &batch, TASK_RUNNING, 0);
    int64_t last = 0;
    (void)new_member(&f, &other, 1); /* Another batch has numbers of its own. */
    submit(&f, &one, &task);
    const struct batch_member_row bad[] = {
        {.id = fixture_id(&f), .batch_id = batch.id, .no = 2, .key = "x", .repository = "r"},
        {.id = fixture_id(&f), .batch_id = batch.id, .no = 3, .key = "k1", .repository = "r"},
        {.id = fixture_id(&f),
         .batch_id = batch.id,
         .no = 3,
         .key = "x",
         .repository = "r",
         .task_id = task.id},
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        CLEANUP(tx_abort) struct tx tx = {0};
        must(tx_begin(f.db, &tx, &f.err));
        enum rc rc = batch_members_insert(f.db, &bad[i], &f.err);
        ck_assert_msg(rc != RC_OK || tx_commit(&tx, &f.err) != RC_OK, "%zu was taken", i);
    }
    must(batch_members_last_no(f.db, &batch.id, &last, &f.err));
    ck_assert_int_eq(last, 2);
    must(batch_members_get(f.db, &two.id, &f.arena, &two, &f.err));
    ck_assert_bytes_eq(two.task, "{\"maxTurns\":3}");
    ck_assert_bytes_eq(two.depends_on, "[1]");
}
END_TEST

/* Every state and every status of a task: the statement counts as core does. */
START_TEST(members_are_counted_as_core_counts_them)
{
    FIXTURE(f);
    struct batch_row batch = new_batch(&f, "a");
    struct batch_counts want = {0}, got;
    int64_t no = 0;
    for (int state = 0; state < MEMBER_STATE_COUNT; state++) {
        int statuses = state == MEMBER_SUBMITTED ? TASK_STATUS_COUNT : 1;
        for (int status = 0; status < statuses; status++) {
            struct batch_member_row member = new_member(&f, &batch, ++no);
            member.state = (enum member_state)state;
            if (state == MEMBER_SUBMITTED) {
                struct task_row task = new_task(&f, &batch, (enum task_status)status, 0);
                submit(&f, &member, &task);
            }
            must(batch_members_save(f.db, &member, &f.err));
            want.of[member_phase(member.state, (enum task_status)status)]++;
            want.total++;
        }
    }
    must(batches_counts(f.db, &batch.id, &got, &f.err));
    ck_assert_int_eq(got.total, want.total);
    for (int i = 0; i < PHASE_COUNT; i++) {
        struct batch_member_view *views;
        size_t count;
        const struct batch_page page = {.batch_id = batch.id, .phase = i, .limit = 100};
        ck_assert_msg(got.of[i] == want.of[i], "%s", member_phase_name((enum member_phase)i));
        must(batch_members_page(f.db, &page, &f.arena, &views, &count, &f.err));
        ck_assert_int_eq((int64_t)count, want.of[i]);
        for (size_t j = 0; j < count; j++)
            ck_assert_int_eq(member_phase(views[j].row.state, views[j].status), i);
    }
    must(batches_counts(f.db, &f.workspace_id, &got, &f.err));
    ck_assert_int_eq(got.total, 0);
}
END_TEST

START_TEST(members_are_shown_with_what_their_tasks_have_come_to)
{
    FIXTURE(f);
    struct batch_row batch = new_batch(&f, "a");
    struct batch_member_row members[3];
    struct batch_member_view *views;
    struct id *ids;
    size_t count;
    for (int64_t no = 1; no <= 3; no++)
        members[no - 1] = new_member(&f, &batch, no);
    struct task_row done = new_task(&f, &batch, TASK_COMPLETED, 300);
    struct task_row works = new_task(&f, &batch, TASK_RUNNING, 20);
    struct run_row run;
    must(runs_get(f.db, &done.latest_run_id, &f.arena, &run, &f.err));
    const struct pull_request_row pr = {.id = fixture_id(&f),
                                        .number = 7,
                                        .repository_id = f.repository_id,
                                        .task_id = done.id,
                                        .run_id = run.id,
                                        .branch = "b",
                                        .target_branch = "main",
                                        .url = "/o#7",
                                        .status = "open",
                                        .head_commit = "h"};
    must(pull_requests_insert(f.db, &pr, &f.err));
    run.pull_request_id = pr.id;
    must(runs_save(f.db, &run, &f.err));
    submit(&f, &members[0], &done);
    submit(&f, &members[1], &works);
    const struct batch_page page = {.batch_id = batch.id, .phase = -1, .limit = 2};
    must(batch_members_page(f.db, &page, &f.arena, &views, &count, &f.err));
    ck_assert_uint_eq(count, 2);
    ck_assert_int_eq(views[0].pr_number, 7);
    ck_assert_str_eq(views[0].pr_url, "/o#7");
    ck_assert_str_eq(views[0].pr_status, "open");
    ck_assert_int_eq(views[0].cost_microusd, 300);
    ck_assert_id_eq(views[1].run_id, works.latest_run_id);
    ck_assert(id_is_none(&views[1].pull_request_id));
    must(batch_members_all(f.db, &batch.id, &f.arena, &views, &count, &f.err));
    ck_assert_uint_eq(count, 3);
    ck_assert_int_eq(views[0].status, TASK_COMPLETED);
    ck_assert_int_eq(views[2].row.state, MEMBER_WAITING);
    ck_assert(id_is_none(&views[2].row.task_id));
    must(batch_members_unfinished(f.db, &batch.id, &f.arena, &ids, &count, &f.err));
    ck_assert_uint_eq(count, 1);
    ck_assert_id_eq(ids[0], works.id);
}
END_TEST

START_TEST(cost_and_gate_are_summed_up_from_the_runs)
{
    FIXTURE(f);
    struct batch_row batch = new_batch(&f, "a"), other = new_batch(&f, "b");
    struct batch_member_row member = new_member(&f, &batch, 1);
    struct task_row task = new_task(&f, &batch, TASK_RUNNING, 1000);
    struct batch_member_view *views;
    struct batch_gate gate;
    struct run_row run;
    size_t count;
    int64_t cost = -1, budget = -1;
    (void)new_task(&f, &other, TASK_RUNNING, 5);
    submit(&f, &member, &task);
    must(runs_get(f.db, &task.latest_run_id, &f.arena, &run, &f.err));
    run.status = RUN_RUNNING;
    must(runs_save(f.db, &run, &f.err));
    must(runs_set_root(f.db, &run.id, &f.err));
    struct run_row part = run; /* Of a sub-task: it costs, and takes no place of its own. */
    struct task_row child = new_task(&f, &batch, TASK_RUNNING, 0);
    part.id = fixture_id(&f);
    part.task_id = child.id;
    part.run_no = 2;
    part.parent_run_id = part.root_run_id = run.id;
    part.cost_microusd = 70;
    must(runs_insert(f.db, &part, &f.err));
    must(batches_cost(f.db, &batch.id, &cost, &f.err));
    ck_assert_int_eq(cost, 1070);
    must(batches_gate(f.db, &batch.id, &f.arena, &gate, &f.err));
    ck_assert_int_eq(gate.active, 1);
    ck_assert_int_eq(gate.max_active, 2);
    ck_assert_str_eq(gate.name, "a");
    must(batches_budget(f.db, &batch.id, &budget, &f.err));
    ck_assert_int_eq(budget, 0);
    const struct batch_page page = {.batch_id = batch.id, .phase = -1, .limit = 2};
    must(batch_members_page(f.db, &page, &f.arena, &views, &count, &f.err));
    ck_assert_int_eq(views[0].cost_microusd, 1070);
}
END_TEST

START_TEST(strays_are_counted)
{
    FIXTURE(f);
    struct batch_row batch = new_batch(&f, "a"), other = new_batch(&f, "b");
    struct batch_member_row one = new_member(&f, &batch, 1), two = new_member(&f, &batch, 2);
    int64_t strays = -1;
    must(batches_strays(f.db, &batch.id, &strays, &f.err));
    ck_assert_int_eq(strays, 0);
    struct task_row task = new_task(&f, &batch, TASK_RUNNING, 0);
    must(batches_strays(f.db, &batch.id, &strays, &f.err));
    ck_assert_int_eq(strays, 1); /* A task without a member. */
    submit(&f, &one, &task);
    must(batches_strays(f.db, &batch.id, &strays, &f.err));
    ck_assert_int_eq(strays, 0);
    two.state = MEMBER_SUBMITTED; /* Without a task. */
    must(batch_members_save(f.db, &two, &f.err));
    must(batches_strays(f.db, &batch.id, &strays, &f.err));
    ck_assert_int_eq(strays, 1);
    task = new_task(&f, &other, TASK_RUNNING, 0);
    submit(&f, &two, &task); /* With one of another batch. */
    must(batches_strays(f.db, &batch.id, &strays, &f.err));
    ck_assert_int_eq(strays, 1);
}
END_TEST

START_TEST(tasks_are_listed_by_batch)
{
    FIXTURE(f);
    struct batch_row batch = new_batch(&f, "a");
    struct task_row *rows, one = new_task(&f, &batch, TASK_RUNNING, 0),
                           two = new_task(&f, &batch, TASK_FAILED, 0);
    size_t count;
    struct task_filter filter = {.status = -1, .batch_id = batch.id, .limit = 10};
    must(tasks_list(f.db, &filter, &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 2);
    ck_assert_id_eq(rows[0].id, two.id);
    ck_assert_id_eq(rows[1].batch_id, batch.id);
    filter.status = TASK_RUNNING;
    must(tasks_list(f.db, &filter, &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 1);
    ck_assert_id_eq(rows[0].id, one.id);
    filter.batch_id = fixture_id(&f);
    must(tasks_list(f.db, &filter, &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 0);
}
END_TEST

START_TEST(names_of_repositories_come_without_their_configurations)
{
    FIXTURE(f);
    struct repository_name *rows;
    size_t count;
    struct repository_row row;
    must(repositories_get(f.db, &f.repository_id, &f.arena, &row, &f.err));
    row.quarantined_us = 5;
    must(repositories_save_quarantine(f.db, &row, &f.err));
    must(repositories_names(f.db, &f.workspace_id, NULL, 10, &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 1);
    ck_assert_str_eq(rows[0].name, "acme/billing");
    ck_assert(rows[0].quarantined);
    must(repositories_names(f.db, &f.workspace_id, "acme/billing", 10, &f.arena, &rows, &count,
                            &f.err));
    ck_assert_uint_eq(count, 0);
}
END_TEST

Suite *store_batches_suite(void);
Suite *store_batches_suite(void)
{
    Suite *suite = suite_create("store_batches");
    TCase *tc = tcase_create("batches");
    case_add(tc, a_batch_is_read_back_and_saved);
    case_add(tc, batches_are_listed_newest_first_by_what_is_asked_for);
    case_add(tc, numbers_keys_and_tasks_of_members_are_unique);
    case_add(tc, members_are_counted_as_core_counts_them);
    case_add(tc, members_are_shown_with_what_their_tasks_have_come_to);
    case_add(tc, cost_and_gate_are_summed_up_from_the_runs);
    case_add(tc, strays_are_counted);
    case_add(tc, tasks_are_listed_by_batch);
    case_add(tc, names_of_repositories_come_without_their_configurations);
    suite_add_tcase(suite, tc);
    return suite;
}
