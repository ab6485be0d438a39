/*
 * test_shepherd_locks.c - a look at a pull request takes its locks in the order of a repair that
 * publishes: the run of the repair, then the pull request.
 */
#include "base/clock.h"
#include "control/pr/follow.h"
#include "store/pull_requests.h"
#include "store/query.h"
#include "store/shepherds.h"
#include "tests/unit/lab.h"
#include "tests/unit/suites.h"
#include <pthread.h>
#include <time.h>

#define HASH "1111111111111111111111111111111111111111"

static struct lab lab;
static struct pull_request_row pr;
static struct run_row repair;

/* Who waits for this transaction. */
static const struct sql sql_waiting = {
    "test_waiting",
    "SELECT count(*) FROM pg_stat_activity WHERE pg_backend_pid() = ANY(pg_blocking_pids(pid))",
    "",
};
static const struct sql sql_free = {
    "test_free", "SELECT id FROM pull_requests WHERE id = $1 {skip_locked}", "t"};

/* A pull request whose repair is under way, as rows. */
static void setup(void)
{
    struct err err = {0};
    lab_open(&lab, &(struct lab_options){.engine = LAB_POSTGRES});
    lab_repository(&lab, "acme/billing", "\"shepherd\":{}");
    struct id opener_id = lab_submit(&lab, "acme/billing");
    struct id repair_id = lab_submit(&lab, "acme/billing");
    struct run_row opener = lab_run(&lab, &opener_id);
    repair = lab_run(&lab, &repair_id);
    struct random random = random_seeded(3);
    pr = (struct pull_request_row){
        .id = id_new(lab.now_us, &random),
        .number = 7,
        .repository_id = opener.repository_id,
        .task_id = opener.task_id,
        .run_id = opener_id,
        .branch = "b",
        .target_branch = "main",
        .url = "/o#7",
        .status = "open",
        .head_commit = HASH,
    };
    const struct shepherd_row row = {
        .pull_request_id = pr.id,
        .repository_id = pr.repository_id,
        .state = SHEPHERD_FAILING,
        .head = HASH,
        .work = "repair",
        .work_id = repair.task_id,
        .work_head = HASH,
    };
    ck_assert_int_eq(pull_requests_insert(lab.db, &pr, &err), RC_OK);
    ck_assert_msg(shepherds_insert(lab.db, &row, &err) == RC_OK, "%s", err.text);
}

static void teardown(void)
{
    lab_close(&lab);
}

static void *leave(void *ctx)
{
    struct cmd_follow *cmd = ctx;
    (void)lab_call(&lab, &cmd->base);
    return NULL;
}

static void await_waiter(struct db *other)
{
    const struct timespec pause = {.tv_nsec = 10 * 1000 * 1000};
    int64_t count = 0;
    for (int i = 0; i < 6000 && count == 0; i++) {
        ck_assert_int_eq(query_int(other, &sql_waiting, NULL, 0, &count, NULL), RC_OK);
        (void)nanosleep(&pause, NULL);
    }
    ck_assert_int_gt(count, 0);
}

START_TEST(the_run_of_a_repair_is_locked_before_its_pull_request)
{
    struct db *other = NULL;
    struct run_row run;
    struct pull_request_row row;
    struct id free_id = {0};
    struct tx tx = {0};
    pthread_t thread;
    struct cmd_follow *cmd = cmd_follow_new();
    cmd->pull_request_id = pr.id;
    cmd->leave = true;
    cmd->base.actor = (struct actor){"user", "ann"};
    ck_assert_int_eq(store_writer_open(lab.store, &other, NULL), RC_OK);
    ck_assert_int_eq(tx_begin(other, &tx, NULL), RC_OK);
    ck_assert_int_eq(runs_get(other, &repair.id, &lab.arena, &run, NULL), RC_OK);
    ck_assert_int_eq(pthread_create(&thread, NULL, leave, cmd), 0);
    await_waiter(other);
    /* It waits for the run, and holds nothing that the one who publishes needs next. */
    const struct param params[] = {P_ID(&pr.id)};
    ck_assert_int_eq(query_id(other, &sql_free, params, 1, &free_id, NULL), RC_OK);
    ck_assert_int_eq(pull_requests_get(other, &pr.id, &lab.arena, &row, NULL), RC_OK);
    tx_abort(&tx);
    (void)pthread_join(thread, NULL);
    ck_assert_msg(cmd->base.rc == RC_OK, "%s", cmd->base.err.text);
    store_writer_close(lab.store, other);
    command_free(&cmd->base);
}
END_TEST

Suite *shepherd_locks_suite(void)
{
    Suite *suite = suite_create("shepherd_locks");
    TCase *tests = tcase_create("shared");
    tcase_set_timeout(tests, 60);
    tcase_add_checked_fixture(tests, setup, teardown);
    if (lab_engines() > LAB_POSTGRES) /* SQLite has one writer. */
        tcase_add_test(tests, the_run_of_a_repair_is_locked_before_its_pull_request);
    suite_add_tcase(suite, tests);
    return suite;
}
