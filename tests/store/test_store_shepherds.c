/*
 * test_store_shepherds.c - how far drover has come with pull requests, and failures that it knows.
 */
#include "store/pull_requests.h"
#include "store/shepherds.h"
#include "tests/store/fixture.h"

static struct pull_request_row pull_request(struct fixture *f)
{
    struct task_row task = fixture_task(f);
    struct run_row run = fixture_run(f, &task);
    struct pull_request_row row = {
        .id = fixture_id(f),
        .number = 7,
        .repository_id = f->repository_id,
        .task_id = task.id,
        .run_id = run.id,
        .branch = "drover/x",
        .target_branch = "main",
        .url = "/o.git#7",
        .status = "open",
        .head_commit = "h1",
        .created_us = 1,
        .updated_us = 1,
    };
    ck_assert_int_eq(pull_requests_insert(f->db, &row, &f->err), RC_OK);
    return row;
}

START_TEST(a_shepherd_reads_back_as_it_was_saved)
{
    FIXTURE(f);
    struct pull_request_row pr = pull_request(&f);
    struct shepherd_row row = {.pull_request_id = pr.id,
                               .repository_id = pr.repository_id,
                               .state = SHEPHERD_OPEN,
                               .created_us = 3,
                               .updated_us = 3},
                        got;
    must_be(RC_NOT_FOUND, shepherds_get(f.db, &pr.id, &f.arena, &got, &f.err));
    must(shepherds_insert(f.db, &row, &f.err));
    must(shepherds_get(f.db, &pr.id, &f.arena, &got, &f.err));
    ck_assert_int_eq(got.state, SHEPHERD_OPEN);
    ck_assert_ptr_null(got.head);
    ck_assert(id_is_none(&got.job_id));
    row.state = SHEPHERD_FAILING;
    row.reason = "Checks fail because of the patch: build";
    row.head = row.certified_head = row.failed_head = "h1";
    row.certified = row.again = row.unanswered = row.stopped = true;
    row.repairs = 2;
    row.repair_microusd = 1500000;
    row.work = "repair";
    row.work_id = fixture_id(&f);
    row.cause = CI_FLAKY;
    row.failures = STR("[{\"check\":\"build\"}]");
    row.fault = "a line\nand another";
    must(shepherds_save(f.db, &row, &f.err));
    must(shepherds_get(f.db, &pr.id, &f.arena, &got, &f.err));
    ck_assert_int_eq(got.state, SHEPHERD_FAILING);
    ck_assert_str_eq(got.reason, row.reason);
    ck_assert_str_eq(got.certified_head, "h1");
    ck_assert(got.certified && got.again && got.unanswered && got.stopped);
    ck_assert_int_eq(got.repairs, 2);
    ck_assert_int_eq(got.repair_microusd, 1500000);
    ck_assert_str_eq(got.work, "repair");
    ck_assert_id_eq(got.work_id, row.work_id);
    ck_assert_int_eq(got.cause, CI_FLAKY);
    ck_assert_str_eq(got.fault, row.fault);
    ck_assert_int_eq(got.created_us, 3);
    struct shepherd_counts counts;
    must(shepherds_count(f.db, &counts, &f.err));
    ck_assert_int_eq(counts.by_state[SHEPHERD_FAILING], 1);
    ck_assert_int_eq(counts.by_state[SHEPHERD_OPEN], 0);
}
END_TEST

START_TEST(a_pull_request_keeps_the_head_that_it_is_given)
{
    FIXTURE(f);
    struct pull_request_row pr = pull_request(&f), got;
    pr.head_commit = "h2";
    must(pull_requests_save(f.db, &pr, &f.err));
    must(pull_requests_get(f.db, &pr.id, &f.arena, &got, &f.err));
    ck_assert_str_eq(got.head_commit, "h2");
}
END_TEST

START_TEST(a_failure_is_known_by_its_fingerprint_and_repository)
{
    FIXTURE(f);
    struct ci_failure_row row = {.repository_id = f.repository_id,
                                 .fingerprint = "aa",
                                 .check_name = "build",
                                 .cause = CI_PATCH,
                                 .line = "error: x",
                                 .pull_request_id = fixture_id(&f),
                                 .paid = 1,
                                 .seen = 1,
                                 .first_us = 5,
                                 .last_us = 5},
                          got;
    struct id other = fixture_id(&f);
    must_be(RC_NOT_FOUND, ci_failures_get(f.db, &f.repository_id, "aa", &f.arena, &got, &f.err));
    must(ci_failures_put(f.db, &row, &f.err));
    row.cure = "repair";
    row.paid = 0;
    row.seen = 2;
    row.first_us = row.last_us = 9;
    must(ci_failures_put(f.db, &row, &f.err));
    must(ci_failures_get(f.db, &f.repository_id, "aa", &f.arena, &got, &f.err));
    ck_assert_str_eq(got.cure, "repair");
    ck_assert_int_eq(got.paid, 0);
    ck_assert_int_eq(got.seen, 2);
    ck_assert_int_eq(got.first_us, 5); /* When it was seen first stays. */
    ck_assert_int_eq(got.last_us, 9);
    must_be(RC_NOT_FOUND, ci_failures_get(f.db, &other, "aa", &f.arena, &got, &f.err));
}
END_TEST

Suite *store_shepherds_suite(void)
{
    Suite *suite = suite_create("store_shepherds");
    TCase *tests = tcase_create("store_shepherds");
    case_add(tests, a_shepherd_reads_back_as_it_was_saved);
    case_add(tests, a_pull_request_keeps_the_head_that_it_is_given);
    case_add(tests, a_failure_is_known_by_its_fingerprint_and_repository);
    suite_add_tcase(suite, tests);
    return suite;
}
