/*
 * Group commit, parked leases and refusals, round by round without a thread.
 */
#include "control/admit/submit.h"
#include "control/commit/context.h"
#include "control/queue/enqueue.h"
#include "control/queue/lease.h"
#include "store/settings.h"
#include "tests/unit/lab.h"
#include <check.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct lab lab;

static void setup(void)
{
    lab_open(&lab, NULL);
    lab_repository(&lab, "acme/billing", NULL);
}

static void teardown(void)
{
    lab_check(&lab);
    lab_close(&lab);
}

static const struct job_spec plain = {
    .queue = "mail", .type = "send", .payload = {"{}", 2}, .priority = 100, .max_attempts = 3};

static struct cmd_enqueue *enqueue_command(const struct job_spec *specs, size_t count)
{
    struct cmd_enqueue *cmd = cmd_enqueue_new();
    cmd->jobs = specs;
    cmd->count = count;
    return cmd;
}

static const char *const mail_queue[] = {"mail", NULL};

static struct cmd_lease *lease_command(const char *worker, int64_t wait_ms)
{
    struct cmd_lease *cmd = cmd_lease_new();
    cmd->base.principal = LAB_PRINCIPAL;
    cmd->queues = mail_queue;
    cmd->worker = worker;
    cmd->max = 1;
    cmd->wait_us = wait_ms * US_PER_MS;
    cmd->lease_us = 15 * US_PER_SECOND;
    return cmd;
}

static struct committer_stats stats(void)
{
    struct committer_stats now;
    committer_stats(lab.committer, &now);
    return now;
}

START_TEST(all_that_waits_shares_one_commit)
{
    struct cmd_enqueue *cmds[20];
    int64_t before = stats().batches;
    for (size_t i = 0; i < COUNT_OF(cmds); i++) {
        cmds[i] = enqueue_command(&plain, 1);
        lab_post(&lab, &cmds[i]->base);
    }
    lab_rounds(&lab);
    ck_assert_int_eq(stats().batches - before, 1);
    for (size_t i = 0; i < COUNT_OF(cmds); i++) {
        ck_assert_int_eq(cmds[i]->base.rc, RC_OK);
        command_free(&cmds[i]->base);
    }
}
END_TEST

START_TEST(a_refused_command_leaves_its_batch_intact)
{
    struct cmd_enqueue *good = enqueue_command(&plain, 1);
    struct cmd_submit *bad = cmd_submit_new();
    bad->task.repository = "nobody/knows";
    bad->task.description = "x";
    struct cmd_enqueue *also_good = enqueue_command(&plain, 1);
    int64_t before = stats().batches;
    lab_post(&lab, &good->base);
    lab_post(&lab, &bad->base);
    lab_post(&lab, &also_good->base);
    lab_rounds(&lab);
    ck_assert_int_eq(stats().batches - before, 1);
    ck_assert_int_eq(good->base.rc, RC_OK);
    ck_assert_int_eq(also_good->base.rc, RC_OK);
    ck_assert_int_eq(bad->base.rc, RC_INVALID);
    ck_assert_str_eq(bad->base.err.code, "REPO_NOT_ONBOARDED");
    command_free(&good->base);
    command_free(&bad->base);
    command_free(&also_good->base);
}
END_TEST

/* A command that writes and then fails in the store. */
static enum rc write_and_break(struct context *ctx, struct command *command)
{
    enum rc rc = settings_put(ctx->db, "half", "written", ctx->err);
    (void)command;
    return rc == RC_OK ? err_set(ctx->err, RC_IO, "STORE_IO", "the disk is gone") : rc;
}
static const struct command_ops breaking = {.name = "break", .apply = write_and_break};

START_TEST(an_engine_error_takes_only_its_own_command_down)
{
    struct cmd_enqueue *good = enqueue_command(&plain, 1);
    struct command *bad = command_new(&breaking, sizeof(struct command));
    struct cmd_enqueue *also_good = enqueue_command(&plain, 1);
    lab_post(&lab, &good->base);
    lab_post(&lab, bad);
    lab_post(&lab, &also_good->base);
    lab_rounds(&lab);
    ck_assert_int_eq(good->base.rc, RC_OK);
    ck_assert_int_eq(also_good->base.rc, RC_OK);
    ck_assert_int_eq(bad->rc, RC_IO);
    const char *value;
    ck_assert_int_eq(settings_get(lab.db, "half", &lab.arena, &value, NULL), RC_NOT_FOUND);
    struct job_row *jobs;
    ck_assert_uint_eq(lab_lease(&lab, "mail", "w", &jobs), 2);
    command_free(&good->base);
    command_free(bad);
    command_free(&also_good->base);
}
END_TEST

START_TEST(a_lease_that_waits_is_served_by_the_commit_that_brings_work)
{
    struct cmd_lease *lease = lease_command("w", 30000);
    lab_post(&lab, &lease->base);
    lab_rounds(&lab);
    ck_assert_int_eq(lab.answered, 1); /* Only the repository: the lease is parked. */
    ck_assert_int_eq(stats().parked, 1);
    int64_t before = stats().batches;
    struct cmd_enqueue *enqueue = enqueue_command(&plain, 1);
    lab_call(&lab, &enqueue->base);
    ck_assert_int_eq(stats().batches - before, 1);
    ck_assert_uint_eq(lease->job_count, 1);
    ck_assert_int_eq(stats().parked, 0);
    command_free(&lease->base);
    command_free(&enqueue->base);
}
END_TEST

START_TEST(two_parked_leases_never_get_the_same_job)
{
    struct cmd_lease *first = lease_command("a", 30000), *second = lease_command("b", 30000);
    lab_post(&lab, &first->base);
    lab_post(&lab, &second->base);
    lab_rounds(&lab);
    struct cmd_enqueue *enqueue = enqueue_command(&plain, 1);
    lab_call(&lab, &enqueue->base);
    ck_assert_uint_eq(first->job_count, 1);
    ck_assert_int_eq(stats().parked, 1);
    lab.now_us += 31 * US_PER_SECOND;
    lab_rounds(&lab);
    ck_assert_uint_eq(second->job_count, 0);
    ck_assert_int_eq(stats().parked, 0);
    command_free(&first->base);
    command_free(&second->base);
    command_free(&enqueue->base);
}
END_TEST

START_TEST(an_abandoned_lease_takes_no_job)
{
    struct cmd_lease *gone = lease_command("gone", 30000);
    lab_post(&lab, &gone->base);
    lab_rounds(&lab);
    committer_abandon(lab.committer, &gone->base);
    struct cmd_enqueue *enqueue = enqueue_command(&plain, 1);
    lab_call(&lab, &enqueue->base);
    ck_assert_uint_eq(gone->job_count, 0);
    struct job_row *jobs;
    ck_assert_uint_eq(lab_lease(&lab, "mail", "here", &jobs), 1);
    command_free(&gone->base);
    command_free(&enqueue->base);
}
END_TEST

START_TEST(leases_of_a_draining_worker_do_not_wait)
{
    struct cmd_lease *parked = lease_command("node-1/0", 30000);
    struct cmd_lease *other = lease_command("node-2/0", 30000);
    lab_post(&lab, &parked->base);
    lab_post(&lab, &other->base);
    lab_rounds(&lab);
    int before = lab.answered;
    committer_drain(lab.committer, "node-1/");
    lab_rounds(&lab);
    ck_assert_int_eq(lab.answered, before + 1);
    struct cmd_lease *late = lease_command("node-1/1", 30000);
    lab_call(&lab, &late->base);
    ck_assert_int_eq(stats().parked, 1);
    committer_drain(lab.committer, "");
    lab_rounds(&lab);
    command_free(&parked->base);
    command_free(&other->base);
    command_free(&late->base);
}
END_TEST

START_TEST(a_full_queue_says_busy)
{
    struct lab small;
    lab_open(&small, &(struct lab_options){.queue_max = 2});
    struct cmd_enqueue *cmds[3];
    for (size_t i = 0; i < COUNT_OF(cmds); i++)
        cmds[i] = enqueue_command(&plain, 1);
    lab_post(&small, &cmds[0]->base);
    lab_post(&small, &cmds[1]->base);
    cmds[2]->base.done = cmds[1]->base.done;
    ck_assert_int_eq(committer_post(small.committer, &cmds[2]->base), RC_BUSY);
    lab_rounds(&small);
    for (size_t i = 0; i < COUNT_OF(cmds); i++)
        command_free(&cmds[i]->base);
    lab_close(&small);
}
END_TEST

/* ---- with the thread ---- */

enum { CALLERS = 4, CALLS = 50 };

static void *enqueue_in_thread(void *arg)
{
    struct lab *shared = arg;
    for (int i = 0; i < CALLS; i++) {
        struct cmd_enqueue *cmd = enqueue_command(&plain, 1);
        enum rc rc = committer_call(shared->committer, &cmd->base);
        command_free(&cmd->base);
        if (rc != RC_OK)
            return "refused";
    }
    return NULL;
}

START_TEST(callers_on_many_threads_all_get_their_answer)
{
    struct err err = {0};
    ck_assert_int_eq(committer_start(lab.committer, &err), RC_OK);
    pthread_t threads[CALLERS];
    for (int i = 0; i < CALLERS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, enqueue_in_thread, &lab), 0);
    for (int i = 0; i < CALLERS; i++) {
        void *failure;
        pthread_join(threads[i], &failure);
        ck_assert_ptr_null(failure);
    }
    committer_stop(lab.committer);
    struct queue_counts *rows;
    size_t count;
    ck_assert_int_eq(jobs_count(lab.db, &lab.arena, &rows, &count, &err), RC_OK);
    ck_assert_uint_eq(count, 1);
    ck_assert_int_eq(rows[0].by_state[JOB_QUEUED], CALLERS * CALLS);
}
END_TEST

START_TEST(what_is_called_together_shares_one_commit)
{
    struct err err = {0};
    ck_assert_int_eq(committer_start(lab.committer, &err), RC_OK);
    int64_t before = stats().batches;
    struct cmd_enqueue *enqueue = enqueue_command(&plain, 1);
    struct cmd_lease *lease = lease_command("w", 0);
    struct command *const both[] = {&enqueue->base, &lease->base};
    committer_call_all(lab.committer, both, COUNT_OF(both));
    committer_stop(lab.committer);
    ck_assert_int_eq(enqueue->base.rc, RC_OK);
    ck_assert_int_eq(lease->base.rc, RC_OK);
    ck_assert_uint_eq(lease->job_count, 1);
    ck_assert_int_eq(stats().batches - before, 1);
    committer_call_all(lab.committer, both, COUNT_OF(both)); /* Closed: all are refused. */
    for (size_t i = 0; i < COUNT_OF(both); i++) {
        ck_assert_int_eq(both[i]->rc, RC_BUSY);
        command_free(both[i]);
    }
}
END_TEST

START_TEST(stopping_answers_a_parked_lease)
{
    struct err err = {0};
    ck_assert_int_eq(committer_start(lab.committer, &err), RC_OK);
    struct cmd_lease *lease = lease_command("w", 30000);
    int before = lab.answered;
    lab_post(&lab, &lease->base);
    committer_stop(lab.committer);
    ck_assert_int_eq(lab.answered, before + 1);
    ck_assert_int_eq(lease->base.rc, RC_OK);
    ck_assert_uint_eq(lease->job_count, 0);
    command_free(&lease->base);
}
END_TEST

/* ---- with a file ---- */

static int64_t bytes_of(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 ? status.st_size : 0;
}

/* Writes until the engine wants a moment for itself. */
static void enqueue_until_upkeep_is_due(struct lab *on_file)
{
    enum { COMMITS_MAX = 1000, JOB_BYTES = 20000 };
    char *payload = arena_alloc(&on_file->arena, JOB_BYTES);
    memset(payload, '1', JOB_BYTES);
    struct job_spec spec = plain;
    spec.payload = (struct str){payload, JOB_BYTES};
    for (int i = 0; i < COMMITS_MAX && !db_upkeep_due(on_file->db); i++) {
        struct cmd_enqueue *cmd = enqueue_command(&spec, 1);
        ck_assert_int_eq(lab_call(on_file, &cmd->base), RC_OK);
        command_free(&cmd->base);
    }
    ck_assert(db_upkeep_due(on_file->db));
}

START_TEST(a_lane_without_work_makes_room_for_later_commits)
{
    struct lab on_file;
    struct err err = {0};
    const char *url = arena_printf(&lab.arena, "sqlite:%s/drover.db", lab.dir);
    const char *log = arena_printf(&lab.arena, "%s/drover.db-wal", lab.dir);
    struct store *store;
    const struct store_options options = {.url = url, .artifact_dir = lab.dir};
    ck_assert_int_eq(store_open(&options, &store, &err), RC_OK);
    lab_open(&on_file, &(struct lab_options){.store = store});
    enqueue_until_upkeep_is_due(&on_file);
    int64_t before = bytes_of(log);
    ck_assert_int_eq(committer_start(on_file.committer, &err), RC_OK);
    while (bytes_of(log) == before) /* Without a command.  The test's own limit ends it. */
        (void)usleep(1000);
    committer_stop(on_file.committer);
    ck_assert(!db_upkeep_due(on_file.db));
    lab_close(&on_file);
    store_close(store);
}
END_TEST

Suite *committer_suite(void)
{
    Suite *suite = suite_create("committer");
    TCase *tc = tcase_create("rounds");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, all_that_waits_shares_one_commit);
    tcase_add_test(tc, a_refused_command_leaves_its_batch_intact);
    tcase_add_test(tc, an_engine_error_takes_only_its_own_command_down);
    tcase_add_test(tc, a_lease_that_waits_is_served_by_the_commit_that_brings_work);
    tcase_add_test(tc, two_parked_leases_never_get_the_same_job);
    tcase_add_test(tc, an_abandoned_lease_takes_no_job);
    tcase_add_test(tc, leases_of_a_draining_worker_do_not_wait);
    tcase_add_test(tc, a_full_queue_says_busy);
    tcase_add_test(tc, callers_on_many_threads_all_get_their_answer);
    tcase_add_test(tc, what_is_called_together_shares_one_commit);
    tcase_add_test(tc, stopping_answers_a_parked_lease);
    tcase_add_test(tc, a_lane_without_work_makes_room_for_later_commits);
    suite_add_tcase(suite, tc);
    return suite;
}
