/*
 * test_store_accounts.c - provider accounts: made when they are taken, listed, found while parked.
 */
#include "store/accounts.h"
#include "tests/store/fixture.h"
#include <string.h>

static struct account_row take(struct fixture *f, const char *name, int64_t until_us)
{
    struct account_row row;
    struct account_key key = {
        .id = fixture_id(f), .workspace_id = f->workspace_id, .name = name, .now_us = 7};
    ck_assert_int_eq(accounts_take(f->db, &key, &f->arena, &row, &f->err), RC_OK);
    row.parked_until_us = until_us;
    row.reason = until_us > 0 ? "used up" : NULL;
    row.parked_us = 5;
    row.hits = 2;
    row.probe_us = 6;
    row.probes = 3;
    row.probe_run_id = row.id;
    row.updated_us = 8;
    ck_assert_int_eq(accounts_save(f->db, &row, &f->err), RC_OK);
    return row;
}

START_TEST(an_account_is_made_when_it_is_taken_and_read_back_as_it_was_saved)
{
    FIXTURE(f);
    struct account_row row, got;
    must_be(RC_NOT_FOUND, accounts_by_name(f.db, &f.workspace_id, "main", &f.arena, &row, &f.err));
    row = take(&f, "main", 99);
    must(accounts_by_name(f.db, &f.workspace_id, "main", &f.arena, &got, &f.err));
    ck_assert(id_same(&got.id, &row.id));
    ck_assert(id_same(&got.workspace_id, &f.workspace_id));
    ck_assert_str_eq(got.name, "main");
    ck_assert_int_eq(got.parked_until_us, 99);
    ck_assert_str_eq(got.reason, "used up");
    ck_assert_int_eq(got.parked_us, 5);
    ck_assert_int_eq(got.hits, 2);
    ck_assert_int_eq(got.probe_us, 6);
    ck_assert_int_eq(got.probes, 3);
    ck_assert(id_same(&got.probe_run_id, &row.id));
    ck_assert_int_eq(got.updated_us, 8);
    struct account_row again = take(&f, "main", 0);
    ck_assert(id_same(&again.id, &row.id)); /* One row, whoever takes it. */
    must(accounts_get(f.db, &row.id, &f.arena, &got, &f.err));
    ck_assert_ptr_null(got.reason);
    struct id nobody = fixture_id(&f);
    must_be(RC_NOT_FOUND, accounts_get(f.db, &nobody, &f.arena, &got, &f.err));
}
END_TEST

START_TEST(accounts_are_listed_by_name_and_by_what_is_to_know_of_them)
{
    FIXTURE(f);
    (void)take(&f, "c", 0);
    (void)take(&f, "b", 300);
    (void)take(&f, "a", 200);
    struct account_row *rows;
    size_t count;
    must(accounts_list(f.db, NULL, 2, &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 2);
    ck_assert_str_eq(rows[0].name, "a");
    must(accounts_list(f.db, "b", 2, &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 1);
    ck_assert_str_eq(rows[0].name, "c");
    must(accounts_state_list(f.db, 199, 10, &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 2);
    ck_assert_str_eq(rows[0].name, "b");
    must(accounts_state_list(f.db, 200, 10, &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 1);
    ck_assert_str_eq(rows[0].name, "b");
    struct account_row used = take(&f, "d", 0), full = take(&f, "e", 0);
    used.used_us = 9;
    full.windows = STR("[]");
    must(accounts_save(f.db, &used, &f.err));
    must(accounts_save(f.db, &full, &f.err));
    must(accounts_state_list(f.db, 200, 10, &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 3);
    ck_assert_str_eq(rows[0].name, "b"); /* Parked ones are never left out. */
}
END_TEST

START_TEST(the_runs_of_an_account_are_counted_while_their_agent_may_work)
{
    FIXTURE(f);
    static const struct {
        const char *account;
        enum run_status status;
        int64_t cost, booked;
    } runs[] = {
        {"a", RUN_RUNNING, 50, 20},         {"a", RUN_JUDGING, 5, 0},
        {"a", RUN_AWAITING_APPROVAL, 7, 0}, {"a", RUN_QUEUED, 1000, 0},
        {"a", RUN_COMPLETED, 1000, 0},      {"b", RUN_PREPARING, 0, 0},
        {"c", RUN_CREATING_PR, 3, 1},       {NULL, RUN_RUNNING, 9, 0},
    };
    struct id first = {0};
    for (size_t i = 0; i < COUNT_OF(runs); i++) {
        struct task_row task = fixture_task(&f);
        struct run_row row = fixture_run(&f, &task);
        row.account = runs[i].account;
        row.status = runs[i].status;
        row.cost_microusd = runs[i].cost;
        row.booked_microusd = runs[i].booked;
        must(runs_save(f.db, &row, &f.err));
        must(runs_save_more(f.db, &row, &f.err));
        first = i == 0 ? row.id : first;
    }
    static const struct account_load_row want[] = {{"a", 2, 42}, {"b", 1, 0}, {"c", 0, 2}};
    struct account_load_row *rows;
    size_t count;
    must(accounts_load(f.db, &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, COUNT_OF(want));
    for (size_t i = 0; i < COUNT_OF(want); i++)
        for (size_t j = 0; j < count; j++)
            if (strcmp(rows[j].name, want[i].name) == 0) {
                ck_assert_int_eq(rows[j].runs, want[i].runs);
                ck_assert_int_eq(rows[j].unbooked_microusd, want[i].unbooked_microusd);
            }
    int64_t others;
    must(accounts_runs_but(f.db, "a", &first, &others, &f.err));
    ck_assert_int_eq(others, 1);
    must(accounts_runs_but(f.db, "b", &first, &others, &f.err));
    ck_assert_int_eq(others, 1);
}
END_TEST

START_TEST(what_a_run_has_used_is_saved_alone)
{
    FIXTURE(f);
    struct task_row task = fixture_task(&f);
    struct run_row run = fixture_run(&f, &task), got;
    run.turns = 3;
    run.tokens_in = 40;
    run.tokens_out = 5;
    run.cost_microusd = 600;
    run.model = "small";
    run.branch = "not this one";
    must(runs_save_usage(f.db, &run, &f.err));
    must(runs_get(f.db, &run.id, &f.arena, &got, &f.err));
    ck_assert_int_eq(got.turns, 3);
    ck_assert_int_eq(got.tokens_in, 40);
    ck_assert_int_eq(got.tokens_out, 5);
    ck_assert_int_eq(got.cost_microusd, 600);
    ck_assert_str_eq(got.model, "small");
    ck_assert(!text_same(got.branch, "not this one"));
}
END_TEST

START_TEST(queued_runs_that_wait_for_a_pool_are_passed_over)
{
    FIXTURE(f);
    static const char *const pools[] = {"a b", "a b", NULL, "a", "b a", "a b", "a b c"};
    struct run_row rows[COUNT_OF(pools)], got;
    for (size_t i = 0; i < COUNT_OF(pools); i++) {
        struct task_row task = fixture_task(&f);
        rows[i] = fixture_run(&f, &task);
        rows[i].pool = pools[i];
        rows[i].rank = (int64_t)i;
        must(runs_save(f.db, &rows[i], &f.err));
        must(runs_save_more(f.db, &rows[i], &f.err));
    }
    static const size_t want[] = {2, 3, 4, 6};
    struct run_place place = {rows[0].rank, rows[0].id};
    for (size_t i = 0; i < COUNT_OF(want); i++) {
        must(runs_next_queued_but(f.db, &f.repository_id, &place, "a b", &f.arena, &got, &f.err));
        ck_assert_id_eq(got.id, rows[want[i]].id);
        place = (struct run_place){got.rank, got.id};
    }
    must_be(RC_NOT_FOUND,
            runs_next_queued_but(f.db, &f.repository_id, &place, "a b", &f.arena, &got, &f.err));
}
END_TEST

Suite *store_accounts_suite(void)
{
    Suite *suite = suite_create("store_accounts");
    TCase *tc = tcase_create("store_accounts");
    case_add(tc, an_account_is_made_when_it_is_taken_and_read_back_as_it_was_saved);
    case_add(tc, accounts_are_listed_by_name_and_by_what_is_to_know_of_them);
    case_add(tc, the_runs_of_an_account_are_counted_while_their_agent_may_work);
    case_add(tc, what_a_run_has_used_is_saved_alone);
    case_add(tc, queued_runs_that_wait_for_a_pool_are_passed_over);
    suite_add_tcase(suite, tc);
    return suite;
}
