/*
 * test_store_queues.c - what is remembered of queues, and what is counted of them.
 */
#include "store/jobs.h"
#include "store/queues.h"
#include "tests/store/fixture.h"

static void put_queue(struct fixture *f, const char *name, const char *config, bool paused)
{
    struct queue_row row = {.version = 0};
    enum rc rc = queues_get(f->db, name, &f->arena, &row, &f->err);
    ck_assert(rc == RC_OK || rc == RC_NOT_FOUND);
    row.name = name;
    row.config = str_of(config);
    row.paused = paused;
    row.updated_us = 7;
    ck_assert_int_eq(queues_put(f->db, &row, &f->err), RC_OK);
}

START_TEST(a_change_of_a_version_that_is_gone_is_not_written)
{
    FIXTURE(f);
    struct queue_row row = {.name = "mail", .config = STR("{\"maxLength\":1}")}, got;
    must(queues_put(f.db, &row, &f.err));
    row.config = STR("{\"maxLength\":2}");
    must_be(RC_BUSY, queues_put(f.db, &row, &f.err));
    must(queues_get(f.db, "mail", &f.arena, &got, &f.err));
    ck_assert_int_eq(got.version, 1);
    ck_assert_bytes_eq(got.config, "{\"maxLength\":1}");
}
END_TEST

START_TEST(rules_are_kept_and_their_version_grows)
{
    FIXTURE(f);
    struct queue_row row;
    must_be(RC_NOT_FOUND, queues_get(f.db, "mail", &f.arena, &row, &f.err));
    put_queue(&f, "mail", "{\"maxLength\":1}", false);
    put_queue(&f, "alpha", "{}", true);
    put_queue(&f, "mail", "{\"maxLength\":2}", false);
    must(queues_get(f.db, "mail", &f.arena, &row, &f.err));
    ck_assert_int_eq(row.version, 2);
    ck_assert_str_eq(row.level, "normal");
    ck_assert_bytes_eq(row.config, "{\"maxLength\":2}");
    struct queue_row *rows;
    size_t count;
    must(queues_list(f.db, &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 2);
    ck_assert_str_eq(rows[0].name, "alpha");
    ck_assert(rows[0].paused);
    ck_assert(!rows[1].paused);
}
END_TEST

START_TEST(the_flow_of_a_queue_outlives_a_change_of_its_rules)
{
    FIXTURE(f);
    struct queue_flow flow;
    put_queue(&f, "mail", "{}", false);
    must(queues_flow(f.db, "mail", &flow, &f.err));
    ck_assert_int_eq(flow.tokens, 0);
    flow = (struct queue_flow){2500000, 99};
    must(queues_flow_save(f.db, "mail", &flow, &f.err));
    put_queue(&f, "mail", "{}", true);
    flow = (struct queue_flow){0};
    must(queues_flow(f.db, "mail", &flow, &f.err));
    ck_assert_int_eq(flow.tokens, 2500000);
    ck_assert_int_eq(flow.tokens_us, 99);
}
END_TEST

static void put_job(struct fixture *f, const char *queue, enum job_state state)
{
    struct job_row job = fixture_job(f, queue);
    job.life.state = state;
    job.life.epoch = 1;
    job.ordering_key = state == JOB_BLOCKED ? "k" : NULL;
    ck_assert_int_eq(jobs_insert(f->db, &job, &f->err), RC_OK);
}

START_TEST(jobs_that_wait_are_counted_as_far_as_it_matters)
{
    FIXTURE(f);
    int64_t count;
    static const enum job_state states[] = {JOB_QUEUED,    JOB_QUEUED, JOB_SCHEDULED, JOB_BLOCKED,
                                            JOB_SUCCEEDED, JOB_LEASED, JOB_LEASED};
    for (size_t i = 0; i < COUNT_OF(states); i++)
        put_job(&f, "mail", states[i]);
    put_job(&f, "other", JOB_QUEUED);
    put_job(&f, "other", JOB_LEASED);
    must(queues_waiting(f.db, "mail", 10, &count, &f.err));
    ck_assert_int_eq(count, 4);
    must(queues_waiting(f.db, "mail", 1, &count, &f.err));
    ck_assert_int_eq(count, 3);
    must(queues_leased(f.db, "mail", &count, &f.err));
    ck_assert_int_eq(count, 2);
    must(queues_leased(f.db, "empty", &count, &f.err));
    ck_assert_int_eq(count, 0);
}
END_TEST

START_TEST(a_dedup_key_can_be_released)
{
    FIXTURE(f);
    struct job_row job = fixture_job(&f, "mail"), again = fixture_job(&f, "mail");
    job.dedup_key = again.dedup_key = "k";
    must(jobs_insert(f.db, &job, &f.err));
    struct dedup_row row;
    must(jobs_by_dedup(f.db, "mail", "k", &row, &f.err));
    ck_assert_int_eq(row.state, job.life.state);
    ck_assert_int_eq(row.created_us, job.created_us);
    must(jobs_dedup_release(f.db, &row.id, &f.err));
    must(jobs_insert(f.db, &again, &f.err));
    must(jobs_by_dedup(f.db, "mail", "k", &row, &f.err));
    ck_assert_id_eq(row.id, again.id);
}
END_TEST

START_TEST(a_job_that_waits_takes_more_in)
{
    FIXTURE(f);
    struct job_row job = fixture_job(&f, "mail"), got;
    must(jobs_insert(f.db, &job, &f.err));
    must(jobs_get(f.db, &job.id, &f.arena, &job, &f.err));
    job.payload = STR("[1,2]");
    job.headers = STR("{\"batch\":2}");
    job.dedup_key = NULL;
    job.life.due_us = 77;
    must(jobs_grow(f.db, &job, &f.err));
    must(jobs_get(f.db, &job.id, &f.arena, &got, &f.err));
    ck_assert_bytes_eq(got.payload, "[1,2]");
    ck_assert_bytes_eq(got.headers, "{\"batch\":2}");
    ck_assert_int_eq(got.life.due_us, 77);
}
END_TEST

Suite *store_queues_suite(void)
{
    Suite *suite = suite_create("store_queues");
    TCase *tc = tcase_create("queues");
    case_add(tc, a_change_of_a_version_that_is_gone_is_not_written);
    case_add(tc, rules_are_kept_and_their_version_grows);
    case_add(tc, the_flow_of_a_queue_outlives_a_change_of_its_rules);
    case_add(tc, jobs_that_wait_are_counted_as_far_as_it_matters);
    case_add(tc, a_dedup_key_can_be_released);
    case_add(tc, a_job_that_waits_takes_more_in);
    suite_add_tcase(suite, tc);
    return suite;
}
