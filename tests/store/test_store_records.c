/*
 * test_store_records.c - settings, workspaces, repositories, timers, and what runs leave behind:
 * patches, verifications, pull requests, approvals.
 */
#include "store/approvals.h"
#include "store/patches.h"
#include "store/pull_requests.h"
#include "store/settings.h"
#include "store/timers.h"
#include "store/verifications.h"
#include "store/workspaces.h"
#include "tests/store/fixture.h"

START_TEST(a_setting_is_replaced)
{
    FIXTURE(f);
    const char *value = "untouched";
    must_be(RC_NOT_FOUND, settings_get(f.db, "node", &f.arena, &value, &f.err));
    ck_assert_str_eq(value, "untouched");
    must(settings_put(f.db, "node", "n1", &f.err));
    must(settings_put(f.db, "other", "x", &f.err));
    must(settings_put(f.db, "node", "n2", &f.err));
    must(settings_get(f.db, "node", &f.arena, &value, &f.err));
    ck_assert_str_eq(value, "n2");
}
END_TEST

START_TEST(a_workspace_has_a_name_of_its_own)
{
    FIXTURE(f);
    struct workspace_row row = {fixture_id(&f), "team", 3, 17};
    must(workspaces_insert(f.db, &row, &f.err));
    struct workspace_row got;
    must(workspaces_by_name(f.db, "team", &f.arena, &got, &f.err));
    ck_assert_id_eq(got.id, row.id);
    ck_assert_str_eq(got.name, "team");
    ck_assert_int_eq(got.max_active_runs, 3);
    ck_assert_int_eq(got.created_us, 17);
    row.id = fixture_id(&f);
    must_be(RC_CONFLICT, workspaces_insert(f.db, &row, &f.err));
    must_be(RC_NOT_FOUND, workspaces_by_name(f.db, "Team", &f.arena, &got, &f.err));
}
END_TEST

START_TEST(putting_a_repository_again_keeps_its_id)
{
    FIXTURE(f);
    struct repository_row row = {.id = fixture_id(&f),
                                 .workspace_id = f.workspace_id,
                                 .name = "acme/web",
                                 .config = STR("{\"url\":\"a\"}"),
                                 .created_us = 1,
                                 .updated_us = 1};
    must(repositories_put(f.db, &row, &f.err));
    struct repository_row got;
    must(repositories_get(f.db, &row.id, &f.arena, &got, &f.err));
    ck_assert_int_eq(got.version, 1);
    ck_assert(!got.removed);

    must(repositories_remove(f.db, &row.id, 2, &f.err));
    must(repositories_by_name(f.db, &f.workspace_id, "acme/web", &f.arena, &got, &f.err));
    ck_assert(got.removed);
    ck_assert_int_eq(got.version, 2);
    ck_assert_int_eq(got.updated_us, 2);

    struct id first = row.id;
    row.id = fixture_id(&f);
    row.config = STR("{\"url\":\"b\"}");
    row.created_us = row.updated_us = 3;
    must(repositories_put(f.db, &row, &f.err));
    must(repositories_by_name(f.db, &f.workspace_id, "acme/web", &f.arena, &got, &f.err));
    ck_assert_id_eq(got.id, first);
    ck_assert_id_eq(got.workspace_id, f.workspace_id);
    ck_assert_str_eq(got.name, "acme/web");
    ck_assert_bytes_eq(got.config, "{\"url\":\"b\"}");
    ck_assert_int_eq(got.version, 3);
    ck_assert(!got.removed);
    ck_assert_int_eq(got.created_us, 1);
    ck_assert_int_eq(got.updated_us, 3);

    must_be(RC_NOT_FOUND, repositories_get(f.db, &row.id, &f.arena, &got, &f.err));
    must_be(RC_NOT_FOUND, repositories_remove(f.db, &row.id, 4, &f.err));
    must_be(RC_NOT_FOUND,
            repositories_by_name(f.db, &f.workspace_id, "acme/none", &f.arena, &got, &f.err));
}
END_TEST

START_TEST(repositories_are_listed_by_name_without_removed_ones)
{
    FIXTURE(f);
    static const char *const names[] = {"d", "b", "c"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        struct repository_row row = {.id = fixture_id(&f),
                                     .workspace_id = f.workspace_id,
                                     .name = names[i],
                                     .config = STR("{}")};
        must(repositories_put(f.db, &row, &f.err));
        if (names[i][0] == 'c')
            must(repositories_remove(f.db, &row.id, 1, &f.err));
    }
    struct repository_row *rows;
    size_t count;
    must(repositories_list(f.db, &f.workspace_id, NULL, 10, &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 3);
    ck_assert_str_eq(rows[0].name, "acme/billing");
    ck_assert_str_eq(rows[1].name, "b");
    ck_assert_str_eq(rows[2].name, "d");
    must(repositories_list(f.db, &f.workspace_id, "acme/billing", 1, &f.arena, &rows, &count,
                           &f.err));
    ck_assert_uint_eq(count, 1);
    ck_assert_str_eq(rows[0].name, "b");
}
END_TEST

START_TEST(a_timer_is_one_per_kind_and_subject)
{
    FIXTURE(f);
    struct id a = fixture_id(&f);
    struct id b = fixture_id(&f);
    int64_t due_us;
    must_be(RC_NOT_FOUND, timers_next_due(f.db, &due_us, &f.err));
    struct timer_row timers[] = {{"run_deadline", a, 500},
                                 {"run_deadline", a, 300}, /* Replaces the first. */
                                 {"queue_deadline", a, 200},
                                 {"run_deadline", b, 300}};
    for (size_t i = 0; i < COUNT_OF(timers); i++)
        must(timers_set(f.db, &timers[i], &f.err));
    must(timers_next_due(f.db, &due_us, &f.err));
    ck_assert_int_eq(due_us, 200);

    struct timer_row *rows;
    size_t count;
    must(timers_due(f.db, DUE_BY(199, 10), &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 0);
    must(timers_due(f.db, DUE_BY(300, 10), &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 3);
    ck_assert_str_eq(rows[0].kind, "queue_deadline");
    ck_assert_id_eq(rows[0].subject, a);
    ck_assert_int_eq(rows[0].due_us, 200);
    must(timers_due(f.db, DUE_BY(300, 1), &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 1);

    must(timers_of(f.db, &a, &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 2);
    must(timers_done(f.db, &(struct timer_row){"run_deadline", a, 500}, &f.err)); /* Set anew. */
    must(timers_clear(f.db, "queue_deadline", &a, &f.err));
    must(timers_clear(f.db, "queue_deadline", &a, &f.err));
    must(timers_of(f.db, &a, &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 1);
    ck_assert_int_eq(rows[0].due_us, 300);
    must(timers_clear_subject(f.db, &a, &f.err));
    must(timers_of(f.db, &a, &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 0);
    must(timers_of(f.db, &b, &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 1);
    must(timers_done(f.db, &rows[0], &f.err));
    must(timers_of(f.db, &b, &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 0);
}
END_TEST

static int64_t due_of(struct fixture *fixture, const struct id *subject)
{
    struct fixture f = *fixture;
    struct timer_row *rows;
    size_t count;
    must(timers_of(f.db, subject, &fixture->arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 1);
    return rows[0].due_us;
}

START_TEST(a_timer_that_stands_still_keeps_what_was_left)
{
    FIXTURE(f);
    struct id a = fixture_id(&f), b = fixture_id(&f);
    struct timer_row timers[] = {{"run_deadline", a, 500}, {"run_deadline", b, 100}};
    for (size_t i = 0; i < COUNT_OF(timers); i++)
        must(timers_set(f.db, &timers[i], &f.err));
    must(timers_go(f.db, "run_deadline", &a, 200, &f.err)); /* It goes already. */
    ck_assert_int_eq(due_of(&f, &a), 500);
    for (int twice = 0; twice < 2; twice++) {
        must(timers_stand(f.db, "run_deadline", &a, 200 + 50 * twice, &f.err));
        must(timers_stand(f.db, "queue_deadline", &a, 200, &f.err));
        must(timers_stand(f.db, "run_deadline", &b, 200, &f.err)); /* Due, and has not fired. */
    }
    struct timer_row *rows;
    size_t count;
    must(timers_due(f.db, DUE_BY(INT64_C(1) << 55, 10), &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 0);
    must(timers_put_off(f.db, "run_deadline", 900, &f.err));
    must(timers_of(f.db, &b, &f.arena, &rows, &count, &f.err));
    ck_assert(timer_stands(&rows[0]));
    for (int twice = 0; twice < 2; twice++) {
        must(timers_go(f.db, "run_deadline", &a, 1000 + 50 * twice, &f.err));
        must(timers_go(f.db, "run_deadline", &b, 1000, &f.err));
    }
    ck_assert_int_eq(due_of(&f, &a), 1300);
    ck_assert_int_eq(due_of(&f, &b), 900);
    must(timers_of(f.db, &b, &f.arena, &rows, &count, &f.err));
    ck_assert(!timer_stands(&rows[0]));
}
END_TEST

START_TEST(timers_of_one_kind_are_put_off_and_never_brought_forward)
{
    FIXTURE(f);
    struct id a = fixture_id(&f), b = fixture_id(&f);
    struct timer_row timers[] = {
        {"pull_idle", a, 100}, {"pull_idle", b, 900}, {"run_deadline", a, 100}};
    for (size_t i = 0; i < COUNT_OF(timers); i++)
        must(timers_set(f.db, &timers[i], &f.err));
    must(timers_put_off(f.db, "pull_idle", 500, &f.err));
    struct timer_row *rows;
    size_t count;
    must(timers_due(f.db, DUE_BY(1000, 10), &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 3);
    ck_assert_str_eq(rows[0].kind, "run_deadline");
    ck_assert_int_eq(rows[1].due_us, 500);
    ck_assert_id_eq(rows[1].subject, a);
    ck_assert_int_eq(rows[2].due_us, 900);
}
END_TEST

START_TEST(patches_of_a_run_are_in_order)
{
    FIXTURE(f);
    struct task_row task = fixture_task(&f);
    struct run_row run = fixture_run(&f, &task);
    struct patch_row first = {fixture_id(&f), run.id,    1, "sha1", "base", "tree", 2, 3, 4,
                              "one",          "created", 5};
    struct patch_row second = first;
    second.id = fixture_id(&f);
    second.attempt_no = 2;
    must(patches_insert(f.db, &first, &f.err));
    must(patches_insert(f.db, &second, &f.err));
    must(patches_set_status(f.db, &first.id, "superseded", &f.err));
    struct patch_row *rows;
    size_t count;
    must(patches_of_run(f.db, &run.id, &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 2);
    ck_assert_id_eq(rows[0].id, first.id);
    ck_assert_id_eq(rows[0].run_id, run.id);
    ck_assert_int_eq(rows[0].attempt_no, 1);
    ck_assert_str_eq(rows[0].sha256, "sha1");
    ck_assert_str_eq(rows[0].base_commit, "base");
    ck_assert_str_eq(rows[0].tree_hash, "tree");
    ck_assert_int_eq(rows[0].files, 2);
    ck_assert_int_eq(rows[0].lines_added, 3);
    ck_assert_int_eq(rows[0].lines_deleted, 4);
    ck_assert_str_eq(rows[0].summary, "one");
    ck_assert_str_eq(rows[0].status, "superseded");
    ck_assert_int_eq(rows[0].created_us, 5);
    ck_assert_str_eq(rows[1].status, "created");
    must_be(RC_IO, patches_set_status(f.db, &first.id, "lovely", &f.err));
    struct patch_row one;
    must(patches_get(f.db, &second.id, &f.arena, &one, &f.err));
    ck_assert_id_eq(one.id, second.id);
    ck_assert_int_eq(one.attempt_no, 2);
    struct id unknown = fixture_id(&f);
    must_be(RC_NOT_FOUND, patches_get(f.db, &unknown, &f.arena, &one, &f.err));
    must_be(RC_NOT_FOUND, patches_set_status(f.db, &unknown, "verified", &f.err));
}
END_TEST

START_TEST(verifications_of_a_run_are_in_order)
{
    FIXTURE(f);
    struct task_row task = fixture_task(&f);
    struct run_row run = fixture_run(&f, &task);
    struct id patch_id = fixture_id(&f);
    for (int status = 0; status < VERIFY_STATUS_COUNT; status++) {
        struct verification_row row = {
            fixture_id(&f), run.id,   patch_id, "unit", "make test", (enum verify_status)status, 2,
            "test_failure", "1 of 3", "sha",    34,     56};
        must(verifications_insert(f.db, &row, &f.err));
    }
    struct verification_row *rows;
    size_t count;
    must(verifications_of_run(f.db, &run.id, &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, VERIFY_STATUS_COUNT);
    for (size_t i = 0; i < count; i++) {
        ck_assert_int_eq((int)rows[i].status, (int)i);
        ck_assert_id_eq(rows[i].run_id, run.id);
        ck_assert_id_eq(rows[i].patch_id, patch_id);
        ck_assert_str_eq(rows[i].name, "unit");
        ck_assert_str_eq(rows[i].command, "make test");
        ck_assert_int_eq(rows[i].exit_code, 2);
        ck_assert_str_eq(rows[i].category, "test_failure");
        ck_assert_str_eq(rows[i].summary, "1 of 3");
        ck_assert_str_eq(rows[i].report_sha256, "sha");
        ck_assert_int_eq(rows[i].duration_ms, 34);
        ck_assert_int_eq(rows[i].created_us, 56);
    }
}
END_TEST

static struct pull_request_row pull_request_of(struct fixture *f, const struct run_row *run)
{
    return (struct pull_request_row){
        .id = fixture_id(f),
        .number = 7,
        .repository_id = run->repository_id,
        .task_id = run->task_id,
        .run_id = run->id,
        .branch = "drover/x",
        .target_branch = "main",
        .url = "http://host/7",
        .title = "Fix it",
        .status = "open",
        .draft = true,
        .head_commit = "head",
        .created_us = 1,
        .updated_us = 2,
    };
}

START_TEST(a_run_opens_one_pull_request)
{
    FIXTURE(f);
    struct task_row task = fixture_task(&f);
    struct run_row run = fixture_run(&f, &task);
    struct pull_request_row row = pull_request_of(&f, &run);
    struct pull_request_row got;
    must_be(RC_NOT_FOUND, pull_requests_of_run(f.db, &run.id, &f.arena, &got, &f.err));
    must(pull_requests_insert(f.db, &row, &f.err));
    struct pull_request_row again = pull_request_of(&f, &run);
    again.number = 8;
    must_be(RC_CONFLICT, pull_requests_insert(f.db, &again, &f.err));
    must_be(RC_NOT_FOUND, pull_requests_get(f.db, &again.id, &f.arena, &got, &f.err));
    struct id run_id = {0};
    must_be(RC_NOT_FOUND, pull_requests_run_of(f.db, &again.id, &run_id, &f.err));
    must(pull_requests_run_of(f.db, &row.id, &run_id, &f.err));
    ck_assert_id_eq(run_id, run.id);

    row.status = "merged";
    row.draft = false;
    row.merge_commit = "merge";
    row.updated_us = 3;
    row.merged_us = 4;
    must(pull_requests_save(f.db, &row, &f.err));
    must(pull_requests_of_run(f.db, &run.id, &f.arena, &got, &f.err));
    ck_assert_id_eq(got.id, row.id);
    ck_assert_int_eq(got.number, 7);
    ck_assert_id_eq(got.repository_id, f.repository_id);
    ck_assert_str_eq(got.repository, "acme/billing");
    ck_assert_id_eq(got.task_id, task.id);
    ck_assert_id_eq(got.run_id, run.id);
    ck_assert_str_eq(got.branch, "drover/x");
    ck_assert_str_eq(got.target_branch, "main");
    ck_assert_str_eq(got.url, "http://host/7");
    ck_assert_str_eq(got.title, "Fix it");
    ck_assert_str_eq(got.status, "merged");
    ck_assert(!got.draft);
    ck_assert_str_eq(got.head_commit, "head");
    ck_assert_str_eq(got.merge_commit, "merge");
    ck_assert_int_eq(got.created_us, 1);
    ck_assert_int_eq(got.updated_us, 3);
    ck_assert_int_eq(got.merged_us, 4);
    must_be(RC_NOT_FOUND, pull_requests_save(f.db, &again, &f.err));
}
END_TEST

START_TEST(pull_requests_filter_and_page_newest_first)
{
    FIXTURE(f);
    struct task_row task = fixture_task(&f);
    struct id ids[4];
    for (size_t i = 0; i < COUNT_OF(ids); i++) {
        struct run_row run = fixture_run(&f, &task);
        struct pull_request_row row = pull_request_of(&f, &run);
        row.number = (int64_t)i;
        row.url = arena_printf(&f.arena, "%s/%zu", row.url, i);
        row.status = i % 2 ? "merged" : "open";
        ids[i] = row.id;
        must(pull_requests_insert(f.db, &row, &f.err));
    }
    static const struct {
        const char *repository, *status;
        int before;
        int64_t limit;
        const char *want;
    } cases[] = {
        {NULL, NULL, -1, 9, "3210"},           {NULL, NULL, 2, 1, "1"},
        {NULL, "open", -1, 9, "20"},           {"acme/billing", NULL, -1, 3, "321"},
        {"acme/billing", "merged", 3, 9, "1"}, {"acme/none", NULL, -1, 9, ""},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct pull_request_filter filter = {
            .repository = cases[i].repository, .status = cases[i].status, .limit = cases[i].limit};
        if (cases[i].before >= 0)
            filter.before = ids[cases[i].before];
        struct pull_request_row *rows;
        size_t count;
        must(pull_requests_list(f.db, &filter, &f.arena, &rows, &count, &f.err));
        ck_assert_uint_eq(count, strlen(cases[i].want));
        for (size_t j = 0; j < count; j++)
            ck_assert_id_eq(rows[j].id, ids[cases[i].want[j] - '0']);
    }
}
END_TEST

START_TEST(an_approval_is_decided)
{
    FIXTURE(f);
    struct task_row task = fixture_task(&f);
    struct run_row run = fixture_run(&f, &task);
    struct approval_row row = {.id = fixture_id(&f),
                               .task_id = task.id,
                               .run_id = run.id,
                               .kind = "patch",
                               .status = "pending",
                               .requested_us = 1,
                               .expires_us = 2,
                               .question = "policy asks",
                               .summary = "what it does",
                               .detail = STR("{\"a\":1}"),
                               .artifact_sha256 = "ff"};
    must(approvals_insert(f.db, &row, &f.err));
    struct approval_row got;
    must(approvals_get(f.db, &row.id, &f.arena, &got, &f.err));
    ck_assert_ptr_null(got.decided_by);
    ck_assert_ptr_null(got.reason);
    row.status = "approved";
    row.decided_by = "admin";
    row.reason = "fine";
    row.decided_us = 3;
    row.reminded = 4;
    must(approvals_save(f.db, &row, &f.err));
    must(approvals_get(f.db, &row.id, &f.arena, &got, &f.err));
    ck_assert_id_eq(got.task_id, task.id);
    ck_assert_id_eq(got.run_id, run.id);
    ck_assert_str_eq(got.kind, "patch");
    ck_assert_str_eq(got.status, "approved");
    ck_assert_str_eq(got.decided_by, "admin");
    ck_assert_str_eq(got.reason, "fine");
    ck_assert_int_eq(got.requested_us, 1);
    ck_assert_int_eq(got.expires_us, 2);
    ck_assert_int_eq(got.decided_us, 3);
    ck_assert_str_eq(got.question, "policy asks");
    ck_assert_str_eq(got.summary, "what it does");
    ck_assert_bytes_eq(got.detail, "{\"a\":1}");
    ck_assert_str_eq(got.artifact_sha256, "ff");
    ck_assert_int_eq(got.reminded, 4);
    row.id = fixture_id(&f);
    must_be(RC_NOT_FOUND, approvals_save(f.db, &row, &f.err));
    must_be(RC_NOT_FOUND, approvals_get(f.db, &row.id, &f.arena, &got, &f.err));
    struct id run_id = {0};
    must_be(RC_NOT_FOUND, approvals_run_of(f.db, &row.id, &run_id, &f.err));
    must(approvals_run_of(f.db, &got.id, &run_id, &f.err));
    ck_assert_id_eq(run_id, run.id);
}
END_TEST

START_TEST(approvals_filter_and_page_newest_first)
{
    FIXTURE(f);
    struct task_row task = fixture_task(&f);
    struct run_row runs[2] = {fixture_run(&f, &task), fixture_run(&f, &task)};
    struct id ids[4];
    for (size_t i = 0; i < COUNT_OF(ids); i++) {
        struct approval_row row = {.id = ids[i] = fixture_id(&f),
                                   .task_id = task.id,
                                   .run_id = runs[i / 2].id,
                                   .kind = "patch",
                                   .status = i % 2 ? "pending" : "rejected"};
        must(approvals_insert(f.db, &row, &f.err));
    }
    static const struct {
        const char *status;
        int run, before;
        int64_t limit;
        const char *want;
    } cases[] = {
        {NULL, -1, -1, 9, "3210"}, {NULL, -1, 3, 2, "21"},      {"pending", -1, -1, 9, "31"},
        {NULL, 0, -1, 9, "10"},    {"rejected", 1, -1, 9, "2"}, {"expired", -1, -1, 9, ""},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct waiting_filter filter = {.status = cases[i].status, .limit = cases[i].limit};
        if (cases[i].run >= 0)
            filter.run_id = runs[cases[i].run].id;
        if (cases[i].before >= 0)
            filter.before = ids[cases[i].before];
        struct approval_row *rows;
        size_t count;
        must(approvals_list(f.db, &filter, &f.arena, &rows, &count, &f.err));
        ck_assert_uint_eq(count, strlen(cases[i].want));
        for (size_t j = 0; j < count; j++)
            ck_assert_id_eq(rows[j].id, ids[cases[i].want[j] - '0']);
    }
}
END_TEST

Suite *store_records_suite(void)
{
    Suite *suite = suite_create("store_records");
    TCase *tc = tcase_create("records");
    case_add(tc, a_setting_is_replaced);
    case_add(tc, a_workspace_has_a_name_of_its_own);
    case_add(tc, putting_a_repository_again_keeps_its_id);
    case_add(tc, repositories_are_listed_by_name_without_removed_ones);
    case_add(tc, a_timer_is_one_per_kind_and_subject);
    case_add(tc, a_timer_that_stands_still_keeps_what_was_left);
    case_add(tc, timers_of_one_kind_are_put_off_and_never_brought_forward);
    case_add(tc, patches_of_a_run_are_in_order);
    case_add(tc, verifications_of_a_run_are_in_order);
    case_add(tc, a_run_opens_one_pull_request);
    case_add(tc, pull_requests_filter_and_page_newest_first);
    case_add(tc, an_approval_is_decided);
    case_add(tc, approvals_filter_and_page_newest_first);
    suite_add_tcase(suite, tc);
    return suite;
}
