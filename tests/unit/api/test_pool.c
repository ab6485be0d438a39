/* test_pool.c - query threads: bounded, and never all of them slow. */
#include "api/pool.h"
#include "tests/unit/suites.h"
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

enum { THREADS = 4, QUEUE_MAX = 8 };

static struct store *store;
static struct pool *pool;
static atomic_int ran, slow_now, slow_most;
static sem_t entered, leave;

static void start(void)
{
    struct err err = {0};
    struct store_options options = {.url = "sqlite::memory:"};
    ck_assert_int_eq(store_open(&options, &store, &err), RC_OK);
    struct pool_options pool_options = {.store = store, .threads = THREADS, .queue_max = QUEUE_MAX};
    ck_assert_int_eq(pool_new(&pool_options, &pool, &err), RC_OK);
    sem_init(&entered, 0, 0);
    sem_init(&leave, 0, 0);
}

static void stop(void)
{
    pool_free(pool);
    store_close(store);
}

static void count(struct pool_work *work, struct db *db)
{
    (void)work;
    ck_assert_ptr_nonnull(db);
    atomic_fetch_add(&ran, 1);
}

static void linger(struct pool_work *work, struct db *db)
{
    (void)work, (void)db;
    int now = atomic_fetch_add(&slow_now, 1) + 1;
    if (now > atomic_load(&slow_most))
        atomic_store(&slow_most, now);
    sem_post(&entered);
    while (sem_wait(&leave) != 0) {
    }
    atomic_fetch_sub(&slow_now, 1);
    atomic_fetch_add(&ran, 1);
}

static void finish(struct pool_work *work, struct db *db)
{
    (void)work, (void)db;
    sem_post(&entered);
}

START_TEST(what_was_posted_is_run_before_the_end)
{
    struct pool_work work[QUEUE_MAX];
    int posted = 0;
    for (size_t i = 0; i < QUEUE_MAX; i++) {
        work[i] = (struct pool_work){.run = count, .class = i % 2 == 0 ? POOL_SLOW : POOL_QUICK};
        posted += pool_post(pool, &work[i]) == RC_OK;
    }
    pool_free(pool);
    pool = NULL;
    ck_assert_int_eq(posted, QUEUE_MAX);
    ck_assert_int_eq(atomic_load(&ran), QUEUE_MAX);
}
END_TEST

START_TEST(slow_work_leaves_threads_for_quick_work_and_the_queue_is_bounded)
{
    struct pool_work slow[THREADS + QUEUE_MAX], quick = {.run = finish};
    int busy = 0, posted = 0;
    for (size_t i = 0; i < THREADS; i++) {
        slow[i] = (struct pool_work){.run = linger, .class = POOL_SLOW};
        ck_assert_int_eq(pool_post(pool, &slow[i]), RC_OK);
    }
    for (int i = 0; i < THREADS / 2; i++)
        sem_wait(&entered);
    ck_assert_int_eq(pool_post(pool, &quick), RC_OK);
    sem_wait(&entered); /* The quick one came through, past the slow ones that wait. */
    ck_assert_int_eq(atomic_load(&slow_now), THREADS / 2);
    for (size_t i = THREADS; i < COUNT_OF(slow); i++) {
        slow[i] = (struct pool_work){.run = linger, .class = POOL_SLOW};
        enum rc rc = pool_post(pool, &slow[i]);
        posted += rc == RC_OK;
        busy += rc == RC_BUSY;
    }
    ck_assert_int_gt(busy, 0);
    for (int i = 0; i < THREADS + posted; i++)
        sem_post(&leave);
    pool_free(pool);
    pool = NULL;
    ck_assert_int_eq(atomic_load(&ran), THREADS + posted);
    ck_assert_int_eq(atomic_load(&slow_most), THREADS / 2);
}
END_TEST

static const void *_Atomic last_owner;

static void note_owner(struct pool_work *work, struct db *db)
{
    (void)db;
    atomic_store(&last_owner, work->owner);
    sem_post(&entered);
    while (sem_wait(&leave) != 0) {
    }
}

START_TEST(many_slow_queries_of_one_client_do_not_hold_up_another)
{
    const char flood = 'f', other = 'o';
    struct pool_work many[THREADS / 2 + 4], one = {
                                                .run = note_owner,
                                                .class = POOL_SLOW,
                                                .owner = &other,
                                            };
    for (size_t i = 0; i < COUNT_OF(many); i++) {
        many[i] = (struct pool_work){.run = note_owner, .class = POOL_SLOW, .owner = &flood};
        ck_assert_int_eq(pool_post(pool, &many[i]), RC_OK);
    }
    for (int i = 0; i < THREADS / 2; i++)
        sem_wait(&entered);
    ck_assert_int_eq(pool_post(pool, &one), RC_OK);
    sem_post(&leave); /* The first thread that is free takes it, before the rest of the flood. */
    sem_wait(&entered);
    ck_assert_ptr_eq(atomic_load(&last_owner), &other);
    for (size_t i = 0; i < COUNT_OF(many); i++)
        sem_post(&leave);
    for (size_t i = THREADS / 2; i < COUNT_OF(many); i++) { /* And then all the others. */
        sem_wait(&entered);
        ck_assert_ptr_eq(atomic_load(&last_owner), &flood);
    }
}
END_TEST

START_TEST(slow_work_and_streams_together_leave_a_thread)
{
    struct pool_work held[THREADS], quick = {.run = finish};
    for (size_t i = 0; i < THREADS; i++) {
        held[i] = (struct pool_work){.run = linger, .class = i % 2 ? POOL_SLOW : POOL_STREAM};
        ck_assert_int_eq(pool_post(pool, &held[i]), RC_OK);
    }
    for (int i = 0; i < THREADS - 1; i++)
        sem_wait(&entered);
    ck_assert_int_eq(pool_post(pool, &quick), RC_OK);
    sem_wait(&entered);
    ck_assert_int_eq(atomic_load(&slow_now), THREADS - 1);
    for (int i = 0; i < THREADS; i++)
        sem_post(&leave);
    pool_free(pool);
    pool = NULL;
    ck_assert_int_eq(atomic_load(&ran), THREADS);
}
END_TEST

Suite *pool_suite(void)
{
    Suite *suite = suite_create("pool");
    TCase *tests = tcase_create("pool");
    tcase_add_checked_fixture(tests, start, stop);
    tcase_add_test(tests, many_slow_queries_of_one_client_do_not_hold_up_another);
    tcase_add_test(tests, what_was_posted_is_run_before_the_end);
    tcase_add_test(tests, slow_work_leaves_threads_for_quick_work_and_the_queue_is_bounded);
    tcase_add_test(tests, slow_work_and_streams_together_leave_a_thread);
    suite_add_tcase(suite, tests);
    return suite;
}
