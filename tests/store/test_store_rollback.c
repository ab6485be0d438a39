/*
 * test_store_rollback.c - what is left of a transaction that was rolled back: nothing.  The
 * committer on every engine, with commits and writes that fail in the engine.
 */
#include "base/clock.h"
#include "control/commit/context.h"
#include "control/messaging/requests.h"
#include "control/messaging/subscriptions.h"
#include "control/queue/enqueue.h"
#include "control/queue/lease.h"
#include "control/queue/queues.h"
#include "control/watch/due.h"
#include "core/event_types.h"
#include "store/settings.h"
#include "tests/store/fixture.h"
#include "tests/store/schema_stock.h"
#include "tests/store/stock.h"
#include "tests/store/store_fault.h"
#include "tests/unit/lab.h"

struct bench {
    struct fixture f;
    struct lease_fence turn; /* To run the timers, where the store is shared. */
    struct lab lab;
};

static void bench_open(struct bench *bench, int engine)
{
    store_fault_install();
    stock_refuse();
    bench->f = fixture_open(engine);
    store_fault_arm(bench->f.db);
    if (bench->f.schema != NULL)
        schema_keep(bench->f.schema);
    lab_open(&bench->lab, &(struct lab_options){.store = bench->f.store});
    struct lease_claim claim = {.name = LEASE_TIMERS,
                                .holder = "node-1",
                                .session = "s",
                                .place = "",
                                .under = "",
                                .ttl_us = US_PER_HOUR};
    struct lease_row before;
    bench->turn.name = LEASE_TIMERS;
    if (store_is_shared(bench->f.store))
        ck_assert_int_eq(leases_claim(bench->f.db, &claim, &bench->f.arena, &bench->turn.epoch,
                                      &before, &bench->f.err),
                         RC_OK);
}

static void bench_close(struct bench *bench)
{
    store_fault_set(bench->f.db, FAULT_NONE);
    lab_check(&bench->lab);
    lab_close(&bench->lab);
    fixture_close(&bench->f);
}

#define BENCH(b)                               \
    CLEANUP(bench_close) struct bench b = {0}; \
    bench_open(&b, _i)

static const struct job_spec mail = {
    .queue = "mail", .type = "send", .payload = {"{}", 2}, .priority = 100, .max_attempts = 3};
static const char *const mail_queue[] = {"mail", NULL};

static struct cmd_lease *park_lease(struct bench *bench, const char *worker, int64_t wait_ms)
{
    struct cmd_lease *cmd = cmd_lease_new();
    cmd->queues = mail_queue;
    cmd->worker = worker;
    cmd->max = 10;
    cmd->wait_us = wait_ms * US_PER_MS;
    cmd->lease_us = 15 * US_PER_SECOND;
    lab_post(&bench->lab, &cmd->base);
    lab_rounds(&bench->lab);
    return cmd;
}

static struct cmd_enqueue *send(struct bench *bench, const struct job_spec *spec)
{
    struct cmd_enqueue *cmd = cmd_enqueue_new();
    cmd->jobs = spec;
    cmd->count = 1;
    lab_post(&bench->lab, &cmd->base);
    return cmd;
}

static enum rc enqueue(struct bench *bench, const struct job_spec *spec)
{
    struct cmd_enqueue *cmd = send(bench, spec);
    lab_rounds(&bench->lab);
    enum rc rc = cmd->base.rc;
    command_free(&cmd->base);
    return rc;
}

static enum rc look_for_due(struct bench *bench)
{
    struct cmd_due *cmd = cmd_due_new();
    cmd->turn = bench->turn;
    enum rc rc = lab_call(&bench->lab, &cmd->base);
    command_free(&cmd->base);
    return rc;
}

static void pass_ms(struct bench *bench, int64_t ms)
{
    bench->lab.now_us += ms * US_PER_MS;
    lab_rounds(&bench->lab);
}

static int64_t parked(struct bench *bench)
{
    struct committer_stats stats;
    committer_stats(bench->lab.committer, &stats);
    return stats.parked;
}

static size_t jobs_in(struct bench *bench, enum job_state state, struct job_row **ret_rows)
{
    struct job_filter filter = {.queue = "mail", .state = (int)state, .limit = 100};
    size_t count;
    ck_assert_int_eq(jobs_list(bench->f.db, &filter, &bench->f.arena, ret_rows, &count, NULL),
                     RC_OK);
    return count;
}

/* ---- leases ---- */

static void wait_ends(struct bench *bench, struct command *command)
{
    (void)command;
    pass_ms(bench, 31000);
}

static void client_hangs_up(struct bench *bench, struct command *command)
{
    committer_abandon(bench->lab.committer, command);
    lab_rounds(&bench->lab);
}

static void server_drains(struct bench *bench, struct command *command)
{
    (void)command;
    committer_drain(bench->lab.committer, "");
    lab_rounds(&bench->lab);
}

typedef void ending(struct bench *bench, struct command *command);

static void ck_no_job_of_a_rolled_back_enqueue(int engine, ending *end)
{
    CLEANUP(bench_close) struct bench b = {0};
    bench_open(&b, engine);
    struct cmd_lease *lease = park_lease(&b, "w", 30000);
    store_fault_set(b.f.db, FAULT_COMMIT);
    ck_assert_int_eq(enqueue(&b, &mail), RC_IO);
    ck_assert_int_eq(parked(&b), 1);
    end(&b, &lease->base);
    ck_assert_int_eq(parked(&b), 0);
    ck_assert_int_eq(lease->base.rc, RC_OK);
    ck_assert_uint_eq(lease->job_count, 0);
    store_fault_set(b.f.db, FAULT_NONE);
    struct job_row *rows;
    ck_assert_uint_eq(jobs_in(&b, JOB_LEASED, &rows) + jobs_in(&b, JOB_QUEUED, &rows), 0);
    command_free(&lease->base);
}

START_TEST(a_wait_that_ends_brings_no_job_of_a_rolled_back_enqueue)
{
    ck_no_job_of_a_rolled_back_enqueue(_i, wait_ends);
}
END_TEST

START_TEST(a_client_that_hangs_up_gets_no_job_of_a_rolled_back_enqueue)
{
    ck_no_job_of_a_rolled_back_enqueue(_i, client_hangs_up);
}
END_TEST

START_TEST(a_server_that_drains_hands_out_no_job_of_a_rolled_back_enqueue)
{
    ck_no_job_of_a_rolled_back_enqueue(_i, server_drains);
}
END_TEST

START_TEST(a_job_that_comes_due_while_commits_fail_is_handed_out_once)
{
    BENCH(b);
    struct job_spec later = mail;
    later.delay_us = US_PER_SECOND;
    ck_assert_int_eq(enqueue(&b, &later), RC_OK);
    struct cmd_lease *early = park_lease(&b, "early", 5000);
    store_fault_set(b.f.db, FAULT_COMMIT);
    for (int i = 0; i < 3; i++) {
        b.lab.now_us += US_PER_SECOND;
        ck_assert_int_eq(look_for_due(&b), RC_IO);
    }
    pass_ms(&b, 3000);
    ck_assert_int_eq(parked(&b), 0);
    ck_assert_int_eq(early->base.rc, RC_OK);
    ck_assert_uint_eq(early->job_count, 0);
    store_fault_set(b.f.db, FAULT_NONE);
    struct cmd_lease *late = park_lease(&b, "late", 5000);
    ck_assert_int_eq(look_for_due(&b), RC_OK);
    ck_assert_uint_eq(late->job_count, 1);
    struct job_row *rows;
    ck_assert_uint_eq(jobs_in(&b, JOB_LEASED, &rows), 1);
    ck_assert_str_eq(rows[0].worker, "late");
    ck_assert_int_eq(rows[0].life.epoch, late->jobs[0].life.epoch);
    command_free(&early->base);
    command_free(&late->base);
}
END_TEST

START_TEST(a_lease_that_waits_through_failing_commits_is_served_by_the_next_good_one)
{
    BENCH(b);
    struct cmd_lease *lease = park_lease(&b, "w", 30000);
    store_fault_set(b.f.db, FAULT_COMMIT);
    for (int i = 0; i < 5; i++)
        ck_assert_int_eq(enqueue(&b, &mail), RC_IO);
    size_t used_bytes = lease->base.arena.used_bytes;
    for (int i = 0; i < 5; i++)
        ck_assert_int_eq(enqueue(&b, &mail), RC_IO);
    ck_assert_uint_eq(lease->base.arena.used_bytes, used_bytes); /* Not more with each failure. */
    store_fault_set(b.f.db, FAULT_NONE);
    ck_assert_int_eq(enqueue(&b, &mail), RC_OK);
    ck_assert_uint_eq(lease->job_count, 1);
    struct job_row *rows;
    ck_assert_uint_eq(jobs_in(&b, JOB_LEASED, &rows), 1);
    ck_assert_id_eq(rows[0].id, lease->jobs[0].id);
    command_free(&lease->base);
}
END_TEST

START_TEST(what_a_parked_lease_should_look_at_is_not_forgotten_with_its_transaction)
{
    BENCH(b);
    lab_queue(&b.lab, "mail", "{}");
    struct cmd_queue *pause = cmd_queue_new(), *resume = cmd_queue_new();
    pause->name = resume->name = "mail";
    pause->change = QUEUE_PAUSE;
    resume->change = QUEUE_RESUME;
    ck_assert_int_eq(lab_call(&b.lab, &pause->base), RC_OK);
    ck_assert_int_eq(enqueue(&b, &mail), RC_OK);
    struct cmd_lease *lease = park_lease(&b, "w", 30000);
    lab_post(&b.lab, &resume->base);
    ck_assert(committer_round(b.lab.committer)); /* Resumed; the look comes with the next. */
    ck_assert_int_eq(resume->base.rc, RC_OK);
    store_fault_set(b.f.db, FAULT_COMMIT);
    lab_rounds(&b.lab);
    ck_assert_int_eq(parked(&b), 1);
    store_fault_set(b.f.db, FAULT_NONE);
    pass_ms(&b, 1000);
    ck_assert_int_eq(parked(&b), 0);
    ck_assert_uint_eq(lease->job_count, 1);
    command_free(&lease->base);
    command_free(&pause->base);
    command_free(&resume->base);
}
END_TEST

START_TEST(a_lease_served_in_its_first_batch_waits_after_the_rollback)
{
    BENCH(b);
    struct cmd_lease *lease = cmd_lease_new();
    lease->queues = mail_queue;
    lease->worker = "w";
    lease->max = 1;
    lease->wait_us = 30 * US_PER_SECOND;
    lab_post(&b.lab, &lease->base);
    struct cmd_enqueue *enqueue_it = send(&b, &mail); /* Behind the lease, in the same batch. */
    store_fault_set(b.f.db, FAULT_COMMIT);
    lab_rounds(&b.lab);
    ck_assert_int_eq(enqueue_it->base.rc, RC_IO);
    ck_assert_int_eq(parked(&b), 1);
    pass_ms(&b, 29000);
    ck_assert_int_eq(parked(&b), 1);
    store_fault_set(b.f.db, FAULT_NONE);
    ck_assert_int_eq(enqueue(&b, &mail), RC_OK);
    ck_assert_int_eq(parked(&b), 0);
    ck_assert_uint_eq(lease->job_count, 1);
    command_free(&lease->base);
    command_free(&enqueue_it->base);
}
END_TEST

/* ---- a waiting command that breaks every transaction that serves it ---- */

struct cmd_poison {
    struct command base;
    bool looked; /* Once, and found nothing. */
};

static enum rc apply_poison(struct context *ctx, struct command *command)
{
    struct cmd_poison *cmd = (struct cmd_poison *)command;
    command->wait_until_us = ctx->now_us + 60 * US_PER_SECOND;
    command->waiter = "poison";
    if (!cmd->looked) {
        cmd->looked = true;
        return RC_OK;
    }
    enum rc rc = settings_put(ctx->db, "half", "written", ctx->err);
    return rc == RC_OK ? err_set(ctx->err, RC_IO, "STORE_IO", "the disk is gone") : rc;
}

static bool poison_may_wait(const struct command *command)
{
    (void)command;
    return true;
}

static bool poison_wants(const struct command *command, const char *queue)
{
    (void)command;
    return strcmp(queue, "mail") == 0;
}

static const struct command_ops poison_ops = {
    .name = "poison", .apply = apply_poison, .may_wait = poison_may_wait, .wants = poison_wants};

START_TEST(a_parked_command_that_always_fails_ends_alone)
{
    BENCH(b);
    struct cmd_lease *lease = park_lease(&b, "w", 30000);
    struct command *poison = command_new(&poison_ops, sizeof(struct cmd_poison));
    lab_post(&b.lab, poison);
    lab_rounds(&b.lab);
    ck_assert_int_eq(parked(&b), 2);
    ck_assert_int_eq(enqueue(&b, &mail), RC_OK);
    pass_ms(&b, 1000);
    ck_assert_int_eq(parked(&b), 0);
    ck_assert_int_eq(lease->base.rc, RC_OK);
    ck_assert_uint_eq(lease->job_count, 1);
    ck_assert_int_eq(poison->rc, RC_IO);
    ck_assert_str_eq(poison->err.text, "the disk is gone");
    command_free(&lease->base);
    command_free(poison);
}
END_TEST

/* ---- requests ---- */

static struct cmd_request *ask(struct bench *bench, const struct id *id)
{
    struct cmd_request *cmd = cmd_request_new();
    cmd->topic = "t";
    cmd->message.job = (struct job_spec){.payload = STR("1"), .priority = 100};
    cmd->timeout_us = 10 * US_PER_SECOND;
    cmd->id = *id;
    lab_post(&bench->lab, &cmd->base);
    lab_rounds(&bench->lab);
    return cmd;
}

static enum rc reply(struct bench *bench, const struct id *id)
{
    struct cmd_reply *cmd = cmd_reply_new();
    cmd->id = *id;
    cmd->reply = STR("{\"payload\":42}");
    cmd->base.actor = (struct actor){"worker", "w1"};
    enum rc rc = lab_call(&bench->lab, &cmd->base);
    command_free(&cmd->base);
    return rc;
}

static void subscribe(struct bench *bench)
{
    struct cmd_subscription_put *put = cmd_subscription_put_new();
    put->name = "s";
    put->pattern = "t";
    put->queue = "q";
    ck_assert_int_eq(lab_call(&bench->lab, &put->base), RC_OK);
    command_free(&put->base);
}

static struct request_row request_of(struct bench *bench, const struct id *id)
{
    struct request_row row;
    ck_assert_int_eq(requests_get(bench->f.db, id, &bench->f.arena, &row, NULL), RC_OK);
    return row;
}

static void ck_no_reply_that_was_rolled_back(int engine, ending *end)
{
    CLEANUP(bench_close) struct bench b = {0};
    bench_open(&b, engine);
    subscribe(&b);
    struct id id = fixture_id(&b.f);
    struct cmd_request *request = ask(&b, &id);
    store_fault_set(b.f.db, FAULT_COMMIT);
    ck_assert_int_eq(reply(&b, &id), RC_IO);
    ck_assert_int_eq(parked(&b), 1);
    end(&b, &request->base);
    ck_assert_int_eq(parked(&b), 0);
    ck_assert_int_eq(request->base.rc, RC_OK);
    ck_assert(request->waiting);
    ck_assert_str_eq(request->row.state, REQUEST_WAITING);
    ck_assert_uint_eq(request->row.reply.len, 0);
    store_fault_set(b.f.db, FAULT_NONE);
    ck_assert_str_eq(request_of(&b, &id).state, REQUEST_WAITING);
    ck_assert_int_eq(reply(&b, &id), RC_OK);
    command_free(&request->base);
}

START_TEST(a_client_that_hangs_up_gets_no_reply_that_was_rolled_back)
{
    ck_no_reply_that_was_rolled_back(_i, client_hangs_up);
}
END_TEST

START_TEST(a_server_that_drains_gives_no_reply_that_was_rolled_back)
{
    ck_no_reply_that_was_rolled_back(_i, server_drains);
}
END_TEST

START_TEST(a_request_does_not_time_out_in_a_transaction_that_was_rolled_back)
{
    BENCH(b);
    subscribe(&b);
    struct id id = fixture_id(&b.f);
    struct cmd_request *request = ask(&b, &id);
    store_fault_set(b.f.db, FAULT_COMMIT);
    pass_ms(&b, 10000);
    ck_assert_int_eq(parked(&b), 0);
    ck_assert_int_eq(request->base.rc, RC_IO);
    store_fault_set(b.f.db, FAULT_NONE);
    ck_assert_str_eq(request_of(&b, &id).state, REQUEST_WAITING);
    command_free(&request->base);
}
END_TEST

START_TEST(a_reply_after_failing_commits_reaches_its_request)
{
    BENCH(b);
    subscribe(&b);
    struct id id = fixture_id(&b.f);
    struct cmd_request *request = ask(&b, &id);
    store_fault_set(b.f.db, FAULT_COMMIT);
    ck_assert_int_eq(reply(&b, &id), RC_IO);
    store_fault_set(b.f.db, FAULT_NONE);
    ck_assert_int_eq(reply(&b, &id), RC_OK);
    ck_assert_int_eq(request->base.rc, RC_OK);
    ck_assert(!request->waiting);
    ck_assert_bytes_eq(request->row.reply, "{\"payload\":42}");
    command_free(&request->base);
}
END_TEST

/* ---- what the node keeps in memory ---- */

static enum rc write_and_break(struct context *ctx, struct command *command)
{
    (void)command;
    enum rc rc = settings_put(ctx->db, "half", "written", ctx->err);
    return rc == RC_OK ? err_set(ctx->err, RC_IO, "STORE_IO", "the disk is gone") : rc;
}
static const struct command_ops breaking = {.name = "break", .apply = write_and_break};

static int swarms_told(struct bench *bench)
{
    struct event_filter filter = {.type_pattern = EV_QUEUE_SWARM_DETECTED, .limit = 100};
    struct event *rows;
    size_t count;
    ck_assert_int_eq(events_list(bench->f.db, &filter, &bench->f.arena, &rows, &count, NULL),
                     RC_OK);
    return (int)count;
}

/* So many jobs and a command that breaks share a batch, and run once more one by one. */
static int taken_beside_a_failure(struct bench *bench, size_t count)
{
    struct cmd_enqueue *cmds[8];
    struct command *bad = command_new(&breaking, sizeof(struct command));
    int taken = 0;
    for (size_t i = 0; i < count; i++)
        cmds[i] = send(bench, &mail);
    lab_post(&bench->lab, bad);
    lab_rounds(&bench->lab);
    ck_assert_int_eq(bad->rc, RC_IO);
    command_free(bad);
    for (size_t i = 0; i < count; i++) {
        enum rc rc = cmds[i]->base.rc;
        ck_assert(rc == RC_OK || rc == RC_LIMIT);
        taken += rc == RC_OK && !cmds[i]->answers[0].dropped;
        command_free(&cmds[i]->base);
    }
    return taken;
}

START_TEST(jobs_of_a_rolled_back_batch_do_not_count_as_a_swarm)
{
    BENCH(b);
    lab_queue(&b.lab, "mail",
              "{\"swarm\":{\"count\":3,\"windowMs\":60000,\"action\":\"protect\"}}");
    ck_assert_int_eq(taken_beside_a_failure(&b, 3), 3);
    ck_assert_int_eq(swarms_told(&b), 0);
    store_fault_set(b.f.db, FAULT_COMMIT);
    ck_assert_int_eq(enqueue(&b, &mail), RC_IO); /* The fourth. */
    store_fault_set(b.f.db, FAULT_NONE);
    ck_assert_int_eq(swarms_told(&b), 0);
    ck_assert_int_eq(taken_beside_a_failure(&b, 2), 0);
    ck_assert_int_eq(swarms_told(&b), 1); /* Told once, by the transaction that was committed. */
}
END_TEST

Suite *store_rollback_suite(void)
{
    Suite *suite = suite_create("store_rollback");
    TCase *tc = tcase_create("rollback");
    case_add(tc, a_wait_that_ends_brings_no_job_of_a_rolled_back_enqueue);
    case_add(tc, a_client_that_hangs_up_gets_no_job_of_a_rolled_back_enqueue);
    case_add(tc, a_server_that_drains_hands_out_no_job_of_a_rolled_back_enqueue);
    case_add(tc, a_job_that_comes_due_while_commits_fail_is_handed_out_once);
    case_add(tc, a_lease_that_waits_through_failing_commits_is_served_by_the_next_good_one);
    case_add(tc, what_a_parked_lease_should_look_at_is_not_forgotten_with_its_transaction);
    case_add(tc, a_lease_served_in_its_first_batch_waits_after_the_rollback);
    case_add(tc, a_parked_command_that_always_fails_ends_alone);
    case_add(tc, a_client_that_hangs_up_gets_no_reply_that_was_rolled_back);
    case_add(tc, a_server_that_drains_gives_no_reply_that_was_rolled_back);
    case_add(tc, a_request_does_not_time_out_in_a_transaction_that_was_rolled_back);
    case_add(tc, a_reply_after_failing_commits_reaches_its_request);
    case_add(tc, jobs_of_a_rolled_back_batch_do_not_count_as_a_swarm);
    suite_add_tcase(suite, tc);
    return suite;
}
