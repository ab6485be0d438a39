/*
 * test_thread.c - a thread leaves signals to whoever started it.
 */
#include "base/thread.h"
#include "tests/unit/suites.h"
#include <semaphore.h>
#include <signal.h>

static sem_t ran;
static bool blocked, faults_blocked;

static void *look_at_signals(void *ctx)
{
    sigset_t now;
    (void)pthread_sigmask(SIG_SETMASK, NULL, &now);
    blocked = sigismember(&now, SIGTERM) == 1 && sigismember(&now, SIGCHLD) == 1;
    faults_blocked = sigismember(&now, SIGSEGV) == 1 || sigismember(&now, SIGILL) == 1;
    (void)sem_post(ctx);
    return ctx;
}

START_TEST(signals_are_not_for_it)
{
    pthread_t thread;
    sigset_t now;
    void *result = NULL;
    const struct thread_spec spec = {
        .body = look_at_signals, .ctx = &ran, .stack_bytes = 512 * 1024, .detached = _i == 1};
    ck_assert_int_eq(sem_init(&ran, 0, 0), 0);
    ck_assert_int_eq(thread_start(&spec, _i == 1 ? NULL : &thread, NULL), RC_OK);
    ck_assert_int_eq(sem_wait(&ran), 0);
    ck_assert(blocked);
    ck_assert(!faults_blocked); /* The handler of a sanitizer reports them. */
    if (_i == 0) {
        ck_assert_int_eq(pthread_join(thread, &result), 0);
        ck_assert_ptr_eq(result, &ran);
    }
    ck_assert_int_eq(pthread_sigmask(SIG_SETMASK, NULL, &now), 0);
    ck_assert_int_eq(sigismember(&now, SIGTERM), 0);
}
END_TEST

Suite *thread_suite(void)
{
    Suite *suite = suite_create("thread");
    TCase *tests = tcase_create("thread");
    tcase_add_loop_test(tests, signals_are_not_for_it, 0, 2);
    suite_add_tcase(suite, tests);
    return suite;
}
