/*
 * test_store_people.c - who may ask (tokens) and who works (workers); leases that are granted more
 * time.
 */
#include "store/tokens.h"
#include "store/workers.h"
#include "tests/store/fixture.h"

START_TEST(a_token_lives_until_it_expires_or_is_revoked)
{
    FIXTURE(f);
    struct token_row row = {.id = fixture_id(&f),
                            .name = "ann",
                            .role = ROLE_WORKER,
                            .queues = "agents far.x",
                            .sha256 = "aa",
                            .created_us = 5,
                            .expires_us = 100};
    must(tokens_insert(f.db, &row, &f.err));
    struct token_row forever = {
        .id = fixture_id(&f), .name = "bob", .role = ROLE_ADMIN, .sha256 = "bb", .created_us = 6};
    must(tokens_insert(f.db, &forever, &f.err));
    struct token_row got, *rows;
    size_t count;
    must(tokens_get(f.db, &row.id, &f.arena, &got, &f.err));
    ck_assert_str_eq(got.name, "ann");
    ck_assert_int_eq(got.role, ROLE_WORKER);
    ck_assert_str_eq(got.queues, "agents far.x");
    ck_assert_str_eq(got.sha256, "aa");
    ck_assert_int_eq(got.expires_us, 100);
    ck_assert_int_eq(got.last_used_us, 0);
    must(tokens_live(f.db, 99, &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 2);
    must(tokens_live(f.db, 100, &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 1);
    ck_assert_str_eq(rows[0].name, "bob");
    ck_assert_ptr_null(rows[0].queues);
    must(tokens_revoke(f.db, &forever.id, 50, &f.err));
    must(tokens_revoke(f.db, &forever.id, 60, &f.err));
    must(tokens_get(f.db, &forever.id, &f.arena, &got, &f.err));
    ck_assert_int_eq(got.revoked_us, 50);
    must(tokens_live(f.db, 100, &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 0);
    struct id nobody = fixture_id(&f);
    must_be(RC_NOT_FOUND, tokens_revoke(f.db, &nobody, 60, &f.err));
    must(tokens_list(f.db, &(struct id){0}, 10, &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 2);
    ck_assert_str_eq(rows[0].name, "bob");
    must(tokens_list(f.db, &rows[0].id, 10, &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 1);
}
END_TEST

START_TEST(the_last_use_of_a_token_moves_forward_only)
{
    FIXTURE(f);
    struct token_row got,
        row = {.id = fixture_id(&f), .name = "ann", .role = ROLE_VIEWER, .sha256 = "aa"};
    must(tokens_insert(f.db, &row, &f.err));
    bool first = false;
    must(tokens_used(f.db, &row.id, 20, 15, &first, &f.err));
    ck_assert(first);
    must(tokens_used(f.db, &row.id, 10, 5, &first, &f.err));
    ck_assert(!first);
    must(tokens_get(f.db, &row.id, &f.arena, &got, &f.err));
    ck_assert_int_eq(got.last_used_us, 20);
}
END_TEST

START_TEST(workers_are_kept_by_name_and_have_a_state)
{
    FIXTURE(f);
    struct worker_row row = {.name = "a",
                             .host = "h",
                             .version = "1",
                             .queues = STR("[\"x\"]"),
                             .pid = 3,
                             .slots = 4,
                             .busy = 2,
                             .lease_us = 10,
                             .started_us = 100,
                             .last_seen_us = 100};
    must(workers_put(f.db, &row, &f.err));
    row.name = "b";
    row.draining = true;
    row.last_seen_us = 200;
    must(workers_put(f.db, &row, &f.err));
    row.busy = 1;
    row.unpublished_count = 2;
    row.unpublished_bytes = INT64_C(5000000000);
    row.disk_free = INT64_C(6000000000);
    row.disk_low = true;
    must(workers_put(f.db, &row, &f.err));
    struct worker_row got, *rows;
    size_t count;
    must(workers_get(f.db, "b", 230, &f.arena, &got, &f.err));
    ck_assert_int_eq(got.busy, 1);
    ck_assert_int_eq(got.slots, 4);
    ck_assert_str_eq(got.host, "h");
    ck_assert_bytes_eq(got.queues, "[\"x\"]");
    ck_assert_str_eq(got.state, "draining");
    must(workers_get(f.db, "a", 130, &f.arena, &got, &f.err));
    ck_assert_str_eq(got.state, "active");
    must(workers_get(f.db, "a", 131, &f.arena, &got, &f.err));
    ck_assert_str_eq(got.state, "lost");
    struct worker_filter filter = {.now_us = 200, .limit = 10};
    must(workers_list(f.db, &filter, &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 2);
    ck_assert_str_eq(rows[0].name, "a");
    filter.after = "a";
    must(workers_list(f.db, &filter, &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 1);
    filter = (struct worker_filter){.now_us = 200, .limit = 10, .state = "lost"};
    must(workers_list(f.db, &filter, &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 1);
    ck_assert_str_eq(rows[0].name, "a");
    must(workers_unpublished(f.db, &filter, &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 1);
    ck_assert_str_eq(rows[0].name, "b");
    ck_assert_int_eq(rows[0].unpublished_count, 2);
    ck_assert_int_eq(rows[0].unpublished_bytes, INT64_C(5000000000));
    must(workers_low(f.db, &filter, &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 1);
    ck_assert_str_eq(rows[0].name, "b");
    ck_assert_int_eq(rows[0].disk_free, INT64_C(6000000000));
    must(workers_prune(f.db, 150, &f.err));
    must_be(RC_NOT_FOUND, workers_get(f.db, "a", 0, &f.arena, &got, &f.err));
    must(workers_remove(f.db, "b", &f.err));
    must(workers_remove(f.db, "b", &f.err));
    must_be(RC_NOT_FOUND, workers_get(f.db, "b", 0, &f.arena, &got, &f.err));
}
END_TEST

START_TEST(a_grant_lengthens_short_leases_only)
{
    FIXTURE(f);
    struct job_row job = fixture_job(&f, "q"), got;
    must(jobs_insert(f.db, &job, &f.err));
    struct claim claim = {
        .worker = "w", .owner = "o", .now_us = f.now_us, .until_us = f.now_us + 10};
    struct job_row *rows;
    size_t count;
    must(jobs_claimable(f.db, "q", f.now_us, 1, &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 1);
    must(jobs_claim(f.db, &claim, rows, &f.err));
    struct job_row waiting = fixture_job(&f, "q");
    must(jobs_insert(f.db, &waiting, &f.err));
    must(jobs_grant(f.db, f.now_us + 1000, &f.err));
    must(jobs_grant(f.db, f.now_us + 500, &f.err));
    must(jobs_get(f.db, &job.id, &f.arena, &got, &f.err));
    ck_assert_int_eq(got.life.due_us, f.now_us + 1000);
    struct job_row same;
    must(jobs_get(f.db, &waiting.id, &f.arena, &same, &f.err));
    ck_assert_int_eq(same.life.due_us, waiting.life.due_us);
}
END_TEST

Suite *store_people_suite(void)
{
    Suite *suite = suite_create("store_people");
    TCase *tc = tcase_create("store_people");
    case_add(tc, a_token_lives_until_it_expires_or_is_revoked);
    case_add(tc, the_last_use_of_a_token_moves_forward_only);
    case_add(tc, workers_are_kept_by_name_and_have_a_state);
    case_add(tc, a_grant_lengthens_short_leases_only);
    suite_add_tcase(suite, tc);
    return suite;
}
