/*
 * test_store_breakers.c - breakers, what jobs have to do with them, and quarantine.
 */
#include "store/breakers.h"
#include "tests/store/fixture.h"

START_TEST(a_breaker_is_made_when_it_is_taken_and_read_back_as_it_was_saved)
{
    FIXTURE(f);
    struct breaker_row row, got;
    must_be(RC_NOT_FOUND, breakers_get(f.db, "vendor", &f.arena, &row, &f.err));
    must(breakers_take(f.db, "vendor", 7, &f.arena, &row, &f.err));
    ck_assert_int_eq(row.life.state, BREAKER_CLOSED);
    ck_assert_bytes_eq(row.config, "{}");
    ck_assert_int_eq(row.updated_us, 7);
    ck_assert_ptr_null(row.last_error);
    row.config = STR("{\"openMs\":50}");
    row.life = (struct breaker){.state = BREAKER_HALF_OPEN,
                                .failures = {{11, 12, 13}, 3},
                                .lent = {{14}, 1},
                                .successes = 2,
                                .changed_us = 15,
                                .open_until_us = 16,
                                .trips = 4};
    row.last_error = "refused: no";
    row.updated_us = 17;
    must(breakers_save(f.db, &row, &f.err));
    must(breakers_take(f.db, "vendor", 99, &f.arena, &got, &f.err));
    ck_assert_str_eq(got.name, "vendor");
    ck_assert_bytes_eq(got.config, "{\"openMs\":50}");
    ck_assert_mem_eq(&got.life, &row.life, sizeof row.life);
    ck_assert_str_eq(got.last_error, "refused: no");
    ck_assert_int_eq(got.updated_us, 17);
}
END_TEST

START_TEST(breakers_are_listed_by_name)
{
    FIXTURE(f);
    static const char *const names[] = {"forge:b", "forge:a", "vendor/c"};
    struct breaker_row row, *rows;
    size_t count;
    for (size_t i = 0; i < COUNT_OF(names); i++)
        must(breakers_take(f.db, names[i], 1, &f.arena, &row, &f.err));
    must(breakers_list(f.db, NULL, 2, &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 2);
    ck_assert_str_eq(rows[0].name, "forge:a");
    ck_assert_str_eq(rows[1].name, "forge:b");
    must(breakers_list(f.db, "forge:b", 2, &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 1);
    ck_assert_str_eq(rows[0].name, "vendor/c");
}
END_TEST

static struct job_row put(struct fixture *fixture, enum job_state state, const char *dependency)
{
    struct fixture *f = fixture;
    struct job_row job = fixture_job(f, "calls"), got;
    job.dependency = dependency;
    job.life.state = state;
    if (state == JOB_LEASED) {
        job.life.epoch = 1;
        job.worker = "w";
        job.leased_us = f->now_us;
    }
    ck_assert_int_eq(jobs_insert(f->db, &job, &f->err), RC_OK);
    ck_assert_int_eq(jobs_get(f->db, &job.id, &f->arena, &got, &f->err), RC_OK);
    return got;
}

START_TEST(probes_are_the_leased_jobs_of_the_dependency_since_then)
{
    FIXTURE(f);
    struct job_row first = put(&f, JOB_LEASED, "vendor");
    struct job_row second = put(&f, JOB_LEASED, "vendor");
    put(&f, JOB_LEASED, "other");
    put(&f, JOB_LEASED, NULL);
    put(&f, JOB_QUEUED, "vendor");
    int64_t count;
    must(jobs_count_probes(f.db, "vendor", first.leased_us, &count, &f.err));
    ck_assert_int_eq(count, 2);
    must(jobs_count_probes(f.db, "vendor", second.leased_us, &count, &f.err));
    ck_assert_int_eq(count, 1);
    must(jobs_count_probes(f.db, "nobody", 0, &count, &f.err));
    ck_assert_int_eq(count, 0);
}
END_TEST

START_TEST(held_jobs_of_the_dependency_are_let_go_and_no_others)
{
    FIXTURE(f);
    struct job_row held = put(&f, JOB_SCHEDULED, "vendor");
    struct job_row later = put(&f, JOB_SCHEDULED, "vendor");
    struct job_row other = put(&f, JOB_SCHEDULED, "other");
    held.life.due_us = other.life.due_us = 5000;
    later.life.due_us = 6000;
    must(jobs_save(f.db, &held, &f.err));
    must(jobs_save(f.db, &later, &f.err));
    must(jobs_save(f.db, &other, &f.err));
    must(jobs_release_held(f.db, "vendor", 5000, 100, &f.err));
    must(jobs_get(f.db, &held.id, &f.arena, &held, &f.err));
    must(jobs_get(f.db, &later.id, &f.arena, &later, &f.err));
    must(jobs_get(f.db, &other.id, &f.arena, &other, &f.err));
    ck_assert_int_eq(held.life.due_us, 100);
    ck_assert_int_eq(later.life.due_us, 6000);
    ck_assert_int_eq(other.life.due_us, 5000);
}
END_TEST

START_TEST(a_job_moves_to_another_queue_and_keeps_the_rest)
{
    FIXTURE(f);
    struct job_row job = put(&f, JOB_QUEUED, "vendor"), got;
    must(jobs_move(f.db, &job, "spare", 900, &f.err));
    must(jobs_get(f.db, &job.id, &f.arena, &got, &f.err));
    ck_assert_str_eq(got.queue, "spare");
    ck_assert_ptr_null(got.dependency);
    ck_assert_int_eq(got.updated_us, 900);
    ck_assert_int_eq(got.life.state, JOB_QUEUED);
    ck_assert_int_eq(got.rank, job.rank);
    struct job_row *rows;
    size_t count;
    must(jobs_claimable(f.db, "spare", f.now_us, 5, &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 1);
    must(jobs_claimable(f.db, "calls", f.now_us, 5, &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 0);
}
END_TEST

START_TEST(a_quarantine_is_kept_with_its_reason)
{
    FIXTURE(f);
    struct repository_row row;
    must(repositories_get(f.db, &f.repository_id, &f.arena, &row, &f.err));
    ck_assert_int_eq(row.quarantined_us, 0);
    ck_assert_ptr_null(row.quarantine_reason);
    row.quarantined_us = 5;
    row.quarantine_reason = "planted hooks";
    row.updated_us = 6;
    must(repositories_save_quarantine(f.db, &row, &f.err));
    must(repositories_get(f.db, &f.repository_id, &f.arena, &row, &f.err));
    ck_assert_int_eq(row.quarantined_us, 5);
    ck_assert_str_eq(row.quarantine_reason, "planted hooks");
    must(repositories_put(f.db, &row, &f.err)); /* A new configuration does not end it. */
    must(repositories_get(f.db, &f.repository_id, &f.arena, &row, &f.err));
    ck_assert_int_eq(row.quarantined_us, 5);
}
END_TEST

Suite *store_breakers_suite(void)
{
    Suite *suite = suite_create("store_breakers");
    TCase *tc = tcase_create("store_breakers");
    case_add(tc, a_breaker_is_made_when_it_is_taken_and_read_back_as_it_was_saved);
    case_add(tc, breakers_are_listed_by_name);
    case_add(tc, probes_are_the_leased_jobs_of_the_dependency_since_then);
    case_add(tc, held_jobs_of_the_dependency_are_let_go_and_no_others);
    case_add(tc, a_job_moves_to_another_queue_and_keeps_the_rest);
    case_add(tc, a_quarantine_is_kept_with_its_reason);
    suite_add_tcase(suite, tc);
    return suite;
}
