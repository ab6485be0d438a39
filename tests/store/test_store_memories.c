/*
 * test_store_memories.c - records of finished runs.
 */
#include "store/memories.h"
#include "tests/store/fixture.h"

static struct memory_row memory_of(struct fixture *f, const struct id *repository_id)
{
    return (struct memory_row){
        .id = fixture_id(f),
        .workspace_id = f->workspace_id,
        .repository_id = *repository_id,
        .task_id = fixture_id(f),
        .run_id = fixture_id(f),
        .outcome = "failed",
        .error_code = "agent_failed",
        .summary = "Task: x\nOutcome: failed\n",
        .paths = STR("[\"a.c\",\"b/c.c\"]"),
        .pull_request = "7",
        .head_commit = "abc",
        .turns = 3,
        .cost_microusd = 1500000,
        .created_us = 17,
    };
}

START_TEST(a_memory_reads_back_until_it_is_removed)
{
    FIXTURE(f);
    struct memory_row row = memory_of(&f, &f.repository_id), got;
    must(memories_insert(f.db, &row, &f.err));
    must(memories_get(f.db, &row.id, &f.arena, &got, &f.err));
    ck_assert_id_eq(got.workspace_id, row.workspace_id);
    ck_assert_id_eq(got.repository_id, row.repository_id);
    ck_assert_str_eq(got.repository, "acme/billing");
    ck_assert_id_eq(got.task_id, row.task_id);
    ck_assert_id_eq(got.run_id, row.run_id);
    ck_assert_str_eq(got.outcome, "failed");
    ck_assert_str_eq(got.error_code, "agent_failed");
    ck_assert_str_eq(got.summary, row.summary);
    ck_assert_bytes_eq(got.paths, "[\"a.c\",\"b/c.c\"]");
    ck_assert_str_eq(got.pull_request, "7");
    ck_assert_str_eq(got.head_commit, "abc");
    ck_assert_int_eq(got.turns, 3);
    ck_assert_int_eq(got.cost_microusd, 1500000);
    ck_assert_int_eq(got.created_us, 17);
    must(memories_remove(f.db, &row.id, &f.err));
    must_be(RC_NOT_FOUND, memories_get(f.db, &row.id, &f.arena, &got, &f.err));
    must_be(RC_NOT_FOUND, memories_remove(f.db, &row.id, &f.err));
}
END_TEST

START_TEST(what_a_run_did_not_have_is_not_there)
{
    FIXTURE(f);
    struct memory_row row = memory_of(&f, &f.repository_id), got;
    row.error_code = row.pull_request = row.head_commit = NULL;
    row.paths = (struct str){0};
    must(memories_insert(f.db, &row, &f.err));
    must(memories_get(f.db, &row.id, &f.arena, &got, &f.err));
    ck_assert_ptr_null(got.error_code);
    ck_assert_ptr_null(got.pull_request);
    ck_assert_ptr_null(got.head_commit);
    ck_assert_uint_eq(got.paths.len, 0);
}
END_TEST

START_TEST(memories_are_listed_by_repository_the_newest_first)
{
    FIXTURE(f);
    struct repository_row other = {.id = fixture_id(&f),
                                   .workspace_id = f.workspace_id,
                                   .name = "acme/web",
                                   .config = STR("{}"),
                                   .created_us = 1,
                                   .updated_us = 1};
    must(repositories_put(f.db, &other, &f.err));
    struct memory_row rows[5];
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        rows[i] = memory_of(&f, i == 2 ? &other.id : &f.repository_id);
        must(memories_insert(f.db, &rows[i], &f.err));
    }
    struct memory_row *got;
    size_t count;
    struct memory_filter filter = {.repository = "acme/billing", .limit = 3};
    must(memories_list(f.db, &filter, &f.arena, &got, &count, &f.err));
    ck_assert_uint_eq(count, 3);
    ck_assert_id_eq(got[0].id, rows[4].id);
    ck_assert_id_eq(got[2].id, rows[1].id);
    filter.before = got[2].id;
    must(memories_list(f.db, &filter, &f.arena, &got, &count, &f.err));
    ck_assert_uint_eq(count, 1);
    ck_assert_id_eq(got[0].id, rows[0].id);
    filter = (struct memory_filter){.limit = 100};
    must(memories_list(f.db, &filter, &f.arena, &got, &count, &f.err));
    ck_assert_uint_eq(count, 5);
    must(memories_of_repository(f.db, &other.id, 10, &f.arena, &got, &count, &f.err));
    ck_assert_uint_eq(count, 1);
    ck_assert_id_eq(got[0].id, rows[2].id);
}
END_TEST

Suite *store_memories_suite(void)
{
    Suite *suite = suite_create("store_memories");
    TCase *tests = tcase_create("store_memories");
    case_add(tests, a_memory_reads_back_until_it_is_removed);
    case_add(tests, what_a_run_did_not_have_is_not_there);
    case_add(tests, memories_are_listed_by_repository_the_newest_first);
    suite_add_tcase(suite, tests);
    return suite;
}
