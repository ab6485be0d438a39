/*
 * test_store_accounts.c - provider accounts: made when they are taken, listed, found while parked.
 */
#include "store/accounts.h"
#include "tests/store/fixture.h"

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

START_TEST(accounts_are_listed_by_name_and_the_parked_ones_by_their_reset)
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
    must(accounts_parked_list(f.db, 199, 10, &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 2);
    ck_assert_str_eq(rows[0].name, "a");
    must(accounts_parked_list(f.db, 200, 10, &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 1);
    ck_assert_str_eq(rows[0].name, "b");
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

START_TEST(queued_runs_that_were_left_for_an_account_are_passed_over)
{
    FIXTURE(f);
    static const struct {
        const char *reason, *account;
    } runs[] = {{"parked", "a"}, {"parked", "a"}, {"parked", NULL}, {"other", "a"},
                {"parked", "b"}, {NULL, "a"},     {"parked", "a"}};
    struct run_row rows[COUNT_OF(runs)], got;
    for (size_t i = 0; i < COUNT_OF(runs); i++) {
        struct task_row task = fixture_task(&f);
        rows[i] = fixture_run(&f, &task);
        rows[i].deferred_reason = runs[i].reason;
        rows[i].account = runs[i].account;
        rows[i].rank = (int64_t)i;
        must(runs_save(f.db, &rows[i], &f.err));
        must(runs_save_more(f.db, &rows[i], &f.err));
    }
    static const size_t want[] = {2, 3, 4, 5};
    struct run_left left = {.reason = "parked", .account = "a"};
    struct run_place place = {rows[0].rank, rows[0].id};
    for (size_t i = 0; i < COUNT_OF(want); i++) {
        must(runs_next_queued_but(f.db, &f.repository_id, &place, &left, &f.arena, &got, &f.err));
        ck_assert_id_eq(got.id, rows[want[i]].id);
        place = (struct run_place){got.rank, got.id};
    }
    must_be(RC_NOT_FOUND,
            runs_next_queued_but(f.db, &f.repository_id, &place, &left, &f.arena, &got, &f.err));
}
END_TEST

Suite *store_accounts_suite(void)
{
    Suite *suite = suite_create("store_accounts");
    TCase *tc = tcase_create("store_accounts");
    case_add(tc, an_account_is_made_when_it_is_taken_and_read_back_as_it_was_saved);
    case_add(tc, accounts_are_listed_by_name_and_the_parked_ones_by_their_reset);
    case_add(tc, what_a_run_has_used_is_saved_alone);
    case_add(tc, queued_runs_that_were_left_for_an_account_are_passed_over);
    suite_add_tcase(suite, tc);
    return suite;
}
