/*
 * test_supply.c - jobs looked up for many leases at once.
 */
#include "control/commit/supply.h"
#include "store/store.h"
#include "tests/unit/suites.h"
#include <check.h>

static struct store *store;
static struct db *db;
static struct arena arena;
static struct random random;
static struct supply supply;
static struct tx tx;

static void setup(void)
{
    struct err err = {0};
    struct store_options options = {.url = "sqlite::memory:"};
    ck_assert_msg(store_open(&options, &store, &err) == RC_OK, "%s", err.text);
    db = store_writer(store);
    arena = (struct arena){0};
    random = random_seeded(1);
    supply = (struct supply){0};
    ck_assert_int_eq(tx_begin(db, &tx, &err), RC_OK);
}

static void teardown(void)
{
    tx_abort(&tx);
    arena_release(&arena);
    store_close(store);
}

static struct job_row put(const char *queue, int64_t rank)
{
    struct err err = {0};
    struct job_row job = {
        .id = id_new(rank, &random),
        .queue = queue,
        .type = "t",
        .payload = STR("{}"),
        .rank = rank,
        .life = {.state = JOB_QUEUED, .attempt_max = 1},
    };
    ck_assert_msg(jobs_insert(db, &job, &err) == RC_OK, "%s", err.text);
    return job;
}

/* The rank of the next one; 0: none. */
static int64_t next(const char *queue, int64_t jobs, int64_t read_ahead)
{
    struct err err = {0};
    const struct job_row *job;
    struct supply_wish wish = {.queue = queue, .now_us = 1, .jobs = jobs, .read_ahead = read_ahead};
    ck_assert_int_eq(supply_next(&supply, db, &wish, &arena, &job, &err), RC_OK);
    return job == NULL ? 0 : job->rank;
}

START_TEST(jobs_come_in_order_until_the_queue_is_dry)
{
    put("q", 20);
    put("q", 10);
    put("other", 5);
    ck_assert_int_eq(next("q", 1, 8), 10);
    ck_assert_int_eq(next("q", 1, 7), 20);
    ck_assert_int_eq(next("q", 1, 6), 0);
    put("q", 30); /* Nobody said so: it is not looked for. */
    ck_assert_int_eq(next("q", 1, 5), 0);
    ck_assert_int_eq(next("other", 1, 0), 5);
}
END_TEST

START_TEST(a_lease_can_ask_for_more_than_others_may_want)
{
    for (int64_t rank = 1; rank <= 3; rank++)
        put("q", rank);
    for (int64_t rank = 1; rank <= 3; rank++)
        ck_assert_int_eq(next("q", 5 - rank, 1), rank);
    ck_assert_int_eq(next("q", 1, 0), 0);
}
END_TEST

START_TEST(a_job_that_became_ready_takes_its_place_in_the_order)
{
    put("q", 20);
    put("q", 30);
    ck_assert_int_eq(next("q", 2, 0), 20);
    struct err err = {0};
    struct claim claim = {.worker = "w", .owner = "o", .now_us = 1, .until_us = 2};
    ck_assert_int_eq(jobs_claim(db, &claim, &supply.queues[0].rows[0], &err), RC_OK);
    put("q", 10);
    supply_refresh(&supply, "q");
    ck_assert_int_eq(next("q", 2, 0), 10);
    ck_assert_int_eq(next("q", 1, 0), 30);
}
END_TEST

START_TEST(a_job_that_was_settled_otherwise_is_not_handed_out)
{
    put("q", 10);
    struct job_row second = put("q", 20), third = put("q", 30);
    ck_assert_int_eq(next("q", 4, 0), 10);
    supply_forget(&supply, &second);
    ck_assert_int_eq(next("q", 2, 0), 30);
    supply_forget(&supply, &third); /* It is out already. */
    ck_assert_int_eq(next("q", 1, 0), 0);
}
END_TEST

START_TEST(a_job_that_is_passed_over_does_not_come_again)
{
    put("q", 10);
    put("q", 20);
    ck_assert_int_eq(next("q", 2, 0), 10);
    supply_pass(&supply, "q");
    ck_assert_int_eq(next("q", 1, 0), 20);
    ck_assert_int_eq(next("q", 1, 0), 0);
    supply_refresh(&supply, "q");
    ck_assert_int_eq(next("q", 1, 0), 10);
}
END_TEST

START_TEST(more_queues_than_there_is_room_for_still_give_their_jobs)
{
    for (int64_t i = 1; i <= SUPPLY_QUEUES_MAX + 5; i++) {
        char *queue = arena_printf(&arena, "q%lld", (long long)i);
        put(queue, i);
        ck_assert_int_eq(next(queue, 1, 0), i);
    }
}
END_TEST

Suite *supply_suite(void)
{
    Suite *suite = suite_create("supply");
    TCase *tc = tcase_create("supply");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, jobs_come_in_order_until_the_queue_is_dry);
    tcase_add_test(tc, a_lease_can_ask_for_more_than_others_may_want);
    tcase_add_test(tc, a_job_that_became_ready_takes_its_place_in_the_order);
    tcase_add_test(tc, a_job_that_was_settled_otherwise_is_not_handed_out);
    tcase_add_test(tc, a_job_that_is_passed_over_does_not_come_again);
    tcase_add_test(tc, more_queues_than_there_is_room_for_still_give_their_jobs);
    suite_add_tcase(suite, tc);
    return suite;
}
