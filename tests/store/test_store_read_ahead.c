/*
 * test_store_read_ahead.c - rows that are asked for ahead of their use.  What is read is the same
 * on every engine; that it costs fewer round trips is the bench's to show.
 */
#include "store/jobs.h"
#include "store/runs.h"
#include "store/tasks.h"
#include "tests/store/fixture.h"

START_TEST(what_was_asked_ahead_is_found)
{
    FIXTURE(f);
    struct task_row task = fixture_task(&f), same_task;
    struct run_row run = fixture_run(&f, &task), same_run;
    struct job_row job = fixture_job(&f, "q"), same_job;
    job.run_id = run.id;
    must(jobs_insert(f.db, &job, &f.err));
    struct job_owner owner;
    struct task_runs runs;
    struct id nobody = fixture_id(&f);
    struct tx tx;
    must(tx_begin(f.db, &tx, &f.err));
    must(jobs_owner_read_ahead(f.db, &job.id, &f.err));
    must(jobs_owner_read_ahead(f.db, &nobody, &f.err));
    must(tasks_runs_read_ahead(f.db, &task.id, &f.err));
    must(runs_read_ahead(f.db, &run.id, &f.err));
    must(tasks_read_ahead(f.db, &task.id, &f.err));
    must(jobs_read_ahead(f.db, &job.id, &f.err));
    must(jobs_read_ahead(f.db, &job.id, &f.err)); /* Twice is once. */
    must(jobs_owner(f.db, &job.id, &owner, &f.err));
    ck_assert_id_eq(owner.run_id, run.id);
    ck_assert_id_eq(owner.task_id, task.id);
    must_be(RC_NOT_FOUND, jobs_owner(f.db, &nobody, &owner, &f.err));
    must(tasks_runs(f.db, &task.id, &runs, &f.err));
    ck_assert_id_eq(runs.latest_run_id, task.latest_run_id);
    must(runs_get(f.db, &run.id, &f.arena, &same_run, &f.err));
    ck_assert_id_eq(same_run.task_id, task.id);
    must(tasks_get(f.db, &task.id, &f.arena, &same_task, &f.err));
    ck_assert_str_eq(same_task.description, task.description);
    must(jobs_get(f.db, &job.id, &f.arena, &same_job, &f.err));
    ck_assert_bytes_eq(same_job.payload, "{\"n\":1}");
    must(jobs_get(f.db, &job.id, &f.arena, &same_job, &f.err)); /* Nothing is left: asked anew. */
    ck_assert_id_eq(same_job.run_id, run.id);
    must(tx_commit(&tx, &f.err));
}
END_TEST

START_TEST(a_write_makes_what_was_read_ahead_worthless)
{
    FIXTURE(f);
    struct task_row task = fixture_task(&f);
    struct run_row run = fixture_run(&f, &task), got;
    struct job_row job = fixture_job(&f, "q"), same_job;
    must(jobs_insert(f.db, &job, &f.err));
    must(jobs_get(f.db, &job.id, &f.arena, &job, &f.err));
    struct tx tx;
    must(tx_begin(f.db, &tx, &f.err));
    must(runs_read_ahead(f.db, &run.id, &f.err));
    must(runs_read_ahead_claim(f.db, &run.id, &f.err));
    must(jobs_read_ahead(f.db, &job.id, &f.err));
    run.event_seq = 77;
    must(runs_touch(f.db, &run, &f.err));
    struct claim claim = {"w", "o", 1, 2};
    must(jobs_claim(f.db, &claim, &job, &f.err));
    must(runs_get(f.db, &run.id, &f.arena, &got, &f.err));
    ck_assert_int_eq(got.event_seq, 77);
    must(runs_get_claim(f.db, &run.id, &f.arena, &got, &f.err));
    ck_assert_int_eq(got.event_seq, 77);
    must(jobs_get(f.db, &job.id, &f.arena, &same_job, &f.err));
    ck_assert_int_eq(same_job.life.state, JOB_LEASED);
    must(tx_commit(&tx, &f.err));
}
END_TEST

START_TEST(nothing_that_was_read_ahead_outlives_its_transaction)
{
    FIXTURE(f);
    struct task_row task = fixture_task(&f);
    struct run_row run = fixture_run(&f, &task), got;
    struct tx tx;
    must(tx_begin(f.db, &tx, &f.err));
    must(runs_read_ahead(f.db, &run.id, &f.err));
    must(tx_commit(&tx, &f.err));
    run.event_seq = 5;
    must(runs_touch(f.db, &run, &f.err));
    must(tx_begin(f.db, &tx, &f.err));
    must(runs_get(f.db, &run.id, &f.arena, &got, &f.err));
    ck_assert_int_eq(got.event_seq, 5);
    must(runs_read_ahead(f.db, &run.id, &f.err));
    tx_abort(&tx);
}
END_TEST

START_TEST(more_than_there_is_room_for_is_read_all_the_same)
{
    enum { MANY = 1500 };
    FIXTURE(f);
    struct id ids[MANY];
    struct tx tx;
    must(tx_begin(f.db, &tx, &f.err));
    for (int i = 0; i < MANY; i++) {
        struct job_row job = fixture_job(&f, "q");
        ids[i] = job.id;
        must(jobs_insert(f.db, &job, &f.err));
    }
    for (int i = 0; i < MANY; i++)
        must(jobs_read_ahead(f.db, &ids[i], &f.err));
    for (int i = 0; i < MANY; i++) {
        struct job_row job;
        must(jobs_get(f.db, &ids[i], &f.arena, &job, &f.err));
        ck_assert_id_eq(job.id, ids[i]);
    }
    must(tx_commit(&tx, &f.err));
}
END_TEST

START_TEST(a_run_that_another_transaction_holds_is_not_free)
{
    FIXTURE_ON(f, ENGINE_POSTGRES);
    struct task_row task = fixture_task(&f);
    struct run_row run = fixture_run(&f, &task), got;
    struct db *other;
    must(store_writer_open(f.store, &other, &f.err));
    struct tx tx, other_tx;
    must(tx_begin(f.db, &tx, &f.err));
    must(runs_get(f.db, &run.id, &f.arena, &got, &f.err));
    must(tx_begin(other, &other_tx, &f.err));
    must(runs_read_ahead_claim(other, &run.id, &f.err));
    must_be(RC_NOT_FOUND, runs_get_claim(other, &run.id, &f.arena, &got, &f.err));
    must(tx_commit(&tx, &f.err));
    must(runs_get_claim(other, &run.id, &f.arena, &got, &f.err));
    must(tx_commit(&other_tx, &f.err));
    store_writer_close(f.store, other);
}
END_TEST

Suite *store_read_ahead_suite(void)
{
    Suite *suite = suite_create("ahead");
    TCase *tc = tcase_create("ahead");
    case_add(tc, what_was_asked_ahead_is_found);
    case_add(tc, a_write_makes_what_was_read_ahead_worthless);
    case_add(tc, nothing_that_was_read_ahead_outlives_its_transaction);
    case_add(tc, more_than_there_is_room_for_is_read_all_the_same);
    if (postgres_url() != NULL)
        tcase_add_test(tc, a_run_that_another_transaction_holds_is_not_free);
    suite_add_tcase(suite, tc);
    return suite;
}
