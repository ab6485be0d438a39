/*
 * test_dead_letters.c - replay, archive, purge and retention of dead letters.
 */
#include "control/queue/dead_letters.h"
#include "control/queue/enqueue.h"
#include "control/queue/queues.h"
#include "control/watch/due.h"
#include "core/event_types.h"
#include "tests/unit/lab.h"
#include <check.h>
#include <stdio.h>
#include <string.h>

static struct lab lab;

static void setup(void)
{
    lab_open(&lab, NULL);
}

static void teardown(void)
{
    lab_close(&lab);
}

static struct id put_with(const char *payload, const char *key)
{
    struct job_spec job = {.queue = "q",
                           .type = "t",
                           .payload = str_of(payload),
                           .priority = 100,
                           .ordering_key = key,
                           .max_attempts = 2};
    struct cmd_enqueue *cmd = cmd_enqueue_new();
    cmd->jobs = &job;
    cmd->count = 1;
    ck_assert_int_eq(lab_call(&lab, &cmd->base), RC_OK);
    struct id id = cmd->answers[0].id;
    command_free(&cmd->base);
    return id;
}

static struct job_row take_one(void)
{
    struct job_row *jobs;
    ck_assert_uint_eq(lab_lease(&lab, "q", "w", &jobs), 1);
    return jobs[0];
}

static void take_none(void)
{
    struct job_row *jobs;
    ck_assert_uint_eq(lab_lease(&lab, "q", "w", &jobs), 0);
}

static struct id bury(const char *payload, const char *key)
{
    struct id id = put_with(payload, key);
    struct job_row job = take_one();
    ck_assert_str_eq(job.id.text, id.text);
    ck_assert_int_eq(lab_fail(&lab, &job, "no_disk", false).state, JOB_DEAD_LETTER);
    return id;
}

static struct job_row row_of(const struct id *id)
{
    struct job_row row;
    ck_assert_int_eq(jobs_get(lab.db, id, &lab.arena, &row, NULL), RC_OK);
    return row;
}

static int64_t dead_count(void)
{
    struct dead_filter all = {.archived = DEAD_BOTH};
    int64_t count;
    ck_assert_int_eq(dead_letters_count(lab.db, &all, &count, NULL), RC_OK);
    return count;
}

static int told(const char *type)
{
    struct event_filter filter = {.limit = 1000};
    struct event *events;
    size_t count;
    int found = 0;
    ck_assert_int_eq(events_list(lab.db, &filter, &lab.arena, &events, &count, NULL), RC_OK);
    for (size_t i = 0; i < count; i++)
        found += strcmp(events[i].type, type) == 0;
    return found;
}

/* Posts it; its answer lives on in *cmd until the caller frees it. */
static void call(struct cmd_dead *cmd)
{
    ck_assert_int_eq(lab_call(&lab, &cmd->base), RC_OK);
}

/* The code of the answer for the one id, NULL when it was done. */
static const char *call_one(struct cmd_dead *cmd, const struct id *id, const char *patch)
{
    struct err err = {0};
    cmd->ids = id;
    cmd->id_count = 1;
    if (patch != NULL)
        ck_assert_int_eq(js_parse(patch, strlen(patch), &cmd->base.tree, &err), RC_OK);
    cmd->patch = cmd->base.tree;
    call(cmd);
    ck_assert_uint_eq(cmd->answer_count, 1);
    ck_assert_int_eq(cmd->done, cmd->answers[0].code == NULL);
    const char *code = arena_strdup(&lab.arena, cmd->answers[0].code);
    command_free(&cmd->base);
    return code;
}

START_TEST(a_replayed_job_works_again_with_its_history)
{
    struct id id = bury("{\"n\":1}", NULL);
    struct job_row dead = row_of(&id);
    ck_assert_str_eq(dead.error_pattern, "it broke");
    ck_assert_ptr_null(call_one(cmd_archive_new(), &id, NULL));
    ck_assert_int_eq(row_of(&id).archived_us, lab.now_us);
    ck_assert_ptr_null(call_one(cmd_replay_new(), &id, NULL));
    struct job_row job = row_of(&id);
    ck_assert_int_eq(job.life.state, JOB_QUEUED);
    ck_assert_int_eq(job.life.attempt, 0);
    ck_assert_int_eq(job.archived_us, 0);
    ck_assert_ptr_null(job.error_pattern);
    job = take_one();
    ck_assert_int_eq(job.life.epoch, dead.life.epoch + 1);
    ck_assert(str_is(job.payload, "{\"n\":1}"));
    lab_fail(&lab, &job, "no_disk", false);
    struct attempt_row *attempts;
    size_t count;
    ck_assert_int_eq(attempts_list(lab.db, &id, &lab.arena, &attempts, &count, NULL), RC_OK);
    ck_assert_uint_eq(count, 2);
    ck_assert_int_eq(attempts[0].attempt, 1);
    ck_assert_int_eq(attempts[1].attempt, 1);
    ck_assert_int_lt(attempts[0].epoch, attempts[1].epoch);
    ck_assert_int_eq(told(EV_JOB_REPLAYED), 1);
    ck_assert_int_eq(told(EV_JOB_ARCHIVED), 1);
    ck_assert_int_eq(told(EV_JOB_DEAD_LETTERED), 2);
}
END_TEST

START_TEST(a_replayed_job_waits_for_its_key_and_comes_before_later_ones)
{
    struct id first = bury("1", "k");
    put_with("2", "k");
    put_with("3", "k");
    ck_assert_ptr_null(call_one(cmd_replay_new(), &first, NULL));
    ck_assert_int_eq(row_of(&first).life.state, JOB_BLOCKED);
    static const char *const order[] = {"2", "1", "3"};
    for (size_t i = 0; i < COUNT_OF(order); i++) {
        struct job_row job = take_one();
        ck_assert(str_is(job.payload, order[i]));
        take_none();
        lab_finish(&lab, &job, "{}");
    }
}
END_TEST

START_TEST(a_replayed_job_is_the_head_of_a_free_key)
{
    struct id id = bury("1", "k");
    ck_assert_ptr_null(call_one(cmd_replay_new(), &id, NULL));
    put_with("2", "k");
    struct job_row job = take_one();
    ck_assert(str_is(job.payload, "1"));
    take_none();
}
END_TEST

static const struct {
    const char *payload, *patch, *want;
} patches[] = {
    {"{\"a\":1,\"b\":2}", "{\"a\":null,\"c\":[3]}", "{\"b\":2,\"c\":[3]}"},
    {"null", "{\"a\":1}", "{\"a\":1}"},
    {"{\"a\":1}", "\"text\"", "\"text\""},
};

START_TEST(a_patch_changes_the_payload_that_is_replayed)
{
    struct id id = bury(patches[_i].payload, NULL);
    ck_assert_ptr_null(call_one(cmd_replay_new(), &id, patches[_i].patch));
    ck_assert(str_is(take_one().payload, patches[_i].want));
}
END_TEST

START_TEST(a_patched_payload_has_the_limits_of_any_payload)
{
    char *half = arena_alloc(&lab.arena, JOB_PAYLOAD_MAX / 2 + 100);
    memset(half, 'x', JOB_PAYLOAD_MAX / 2 + 50);
    struct id id = bury(arena_printf(&lab.arena, "{\"a\":\"%s\"}", half), NULL);
    const char *patch = arena_printf(&lab.arena, "{\"b\":\"%s\"}", half);
    ck_assert_str_eq(call_one(cmd_replay_new(), &id, patch), "PAYLOAD_TOO_LARGE");
    ck_assert_int_eq(row_of(&id).life.state, JOB_DEAD_LETTER);
    ck_assert_int_eq(told(EV_JOB_REPLAYED), 0);
}
END_TEST

START_TEST(what_is_no_dead_letter_is_left_alone)
{
    struct id queued = put_with("1", NULL), nobody = {"0190b6a0-0000-7000-8000-000000000000"};
    struct cmd_dead *(*const makers[])(void) = {cmd_replay_new, cmd_archive_new, cmd_purge_new};
    for (size_t i = 0; i < COUNT_OF(makers); i++) {
        ck_assert_str_eq(call_one(makers[i](), &queued, NULL), "NOT_DEAD");
        ck_assert_str_eq(call_one(makers[i](), &nobody, NULL), "NOT_FOUND");
    }
    ck_assert_int_eq(row_of(&queued).life.state, JOB_QUEUED);
}
END_TEST

START_TEST(a_step_of_an_ended_run_is_not_replayed_but_its_cleaning_is)
{
    lab_repository(&lab, "r", NULL);
    struct id run = lab_submit(&lab, "r");
    struct job_row prepare = lab_take(&lab, "prepare");
    lab_fail(&lab, &prepare, "broken", false);
    ck_assert_int_eq(lab_run(&lab, &run).status, RUN_FAILED);
    ck_assert_str_eq(call_one(cmd_replay_new(), &prepare.id, NULL), "RUN_ENDED");
    struct job_row clean = lab_take(&lab, "clean");
    lab_fail(&lab, &clean, "broken", false);
    ck_assert_str_eq(call_one(cmd_replay_new(), &clean.id, "{}"), "PATCH_REFUSED");
    struct cmd_dead *all = cmd_replay_new(); /* Finds only what can be replayed. */
    call(all);
    ck_assert_int_eq(all->matched, 1);
    ck_assert_int_eq(all->done, 1);
    command_free(&all->base);
    clean = lab_take(&lab, "clean");
    lab_finish(&lab, &clean, "{}");
    ck_assert_int_eq(lab_run(&lab, &run).status, RUN_FAILED);
    lab_check(&lab);
}
END_TEST

START_TEST(a_filter_takes_a_thousand_at_a_time_oldest_first)
{
    enum { JOBS = DEAD_PER_CALL_MAX + 5 };
    struct tx tx;
    ck_assert_int_eq(tx_begin(lab.db, &tx, NULL), RC_OK);
    for (int i = 0; i < JOBS; i++) {
        struct job_row row = {
            .queue = "q",
            .type = "t",
            .payload = STR("1"),
            .life = {.state = JOB_DEAD_LETTER,
                     .epoch = 1,
                     .attempt = 1,
                     .attempt_max = 1,
                     .dead_reason = DEAD_MAX_ATTEMPTS},
        };
        (void)snprintf(row.id.text, sizeof row.id.text, "0190b6a0-0000-7000-8000-%012d", i);
        ck_assert_int_eq(jobs_insert(lab.db, &row, NULL), RC_OK);
    }
    ck_assert_int_eq(tx_commit(&tx, NULL), RC_OK);
    struct cmd_dead *dry = cmd_replay_new(), *cmd = cmd_replay_new(), *rest = cmd_purge_new();
    dry->dry_run = true;
    call(dry);
    ck_assert_int_eq(dead_count(), JOBS);
    ck_assert_int_eq(told(EV_JOB_REPLAYED), 0);
    call(cmd);
    ck_assert_int_eq(cmd->matched, JOBS);
    ck_assert_int_eq(cmd->done, DEAD_PER_CALL_MAX);
    ck_assert_int_eq(cmd->remaining, 5);
    ck_assert_int_eq(dry->matched, cmd->matched);
    ck_assert_int_eq(dry->done, cmd->done);
    ck_assert_int_eq(dry->remaining, cmd->remaining);
    ck_assert_mem_eq(dry->answers, cmd->answers, sizeof *dry->answers * dry->answer_count);
    ck_assert_int_eq(told(EV_JOB_REPLAYED), DEAD_PER_CALL_MAX / DEAD_IDS_PER_EVENT);
    call(rest);
    ck_assert_int_eq(rest->done, 5);
    ck_assert_int_eq(rest->remaining, 0);
    ck_assert_int_eq(told(EV_JOB_PURGED), 1);
    ck_assert_int_eq(dead_count(), 0);
    command_free(&dry->base);
    command_free(&cmd->base);
    command_free(&rest->base);
}
END_TEST

START_TEST(a_purged_job_is_gone_with_its_attempts_and_its_dedup_key)
{
    struct id id = bury("1", NULL);
    ck_assert_ptr_null(call_one(cmd_purge_new(), &id, NULL));
    struct job_row row;
    struct attempt_row *attempts;
    size_t count;
    ck_assert_int_eq(jobs_get(lab.db, &id, &lab.arena, &row, NULL), RC_NOT_FOUND);
    ck_assert_int_eq(attempts_list(lab.db, &id, &lab.arena, &attempts, &count, NULL), RC_OK);
    ck_assert_uint_eq(count, 0);
}
END_TEST

static void prune(void)
{
    struct cmd_due *due = cmd_due_new();
    due->prune = true;
    ck_assert_int_eq(lab_call(&lab, &due->base), RC_OK);
    ck_assert(!due->more);
    command_free(&due->base);
}

START_TEST(dead_letters_are_deleted_when_their_queue_keeps_them_no_longer)
{
    int64_t keep_us = queue_config_default("q").dead.retention_us;
    ck_assert_int_gt(keep_us, 0);
    struct id old = bury("1", NULL);
    ck_assert_ptr_null(call_one(cmd_archive_new(), &old, NULL));
    lab.now_us += keep_us;
    struct id young = bury("2", NULL);
    prune();
    ck_assert_int_eq(dead_count(), 2);
    lab.now_us += 1;
    prune();
    ck_assert_int_eq(dead_count(), 1);
    ck_assert_int_eq(row_of(&young).life.state, JOB_DEAD_LETTER);
    ck_assert_int_eq(told(EV_JOB_PURGED), 1);
}
END_TEST

static void configure(const char *document)
{
    struct err err = {0};
    struct cmd_queue *cmd = cmd_queue_new();
    cmd->name = "q";
    cmd->change = QUEUE_CONFIGURE;
    cmd->version = -1;
    ck_assert_int_eq(js_parse(document, strlen(document), &cmd->base.tree, &err), RC_OK);
    cmd->document = cmd->base.tree;
    ck_assert_int_eq(lab_call(&lab, &cmd->base), RC_OK);
    command_free(&cmd->base);
}

START_TEST(a_queue_says_how_long_it_keeps_them)
{
    bury("1", NULL);
    configure("{\"deadLetters\":{\"retentionMs\":0}}");
    lab.now_us += 10 * queue_config_default("q").dead.retention_us;
    prune();
    ck_assert_int_eq(dead_count(), 1);
    configure("{\"deadLetters\":{\"retentionMs\":1000}}");
    prune();
    ck_assert_int_eq(dead_count(), 0);
}
END_TEST

Suite *dead_letters_suite(void)
{
    Suite *suite = suite_create("dead_letters");
    TCase *tc = tcase_create("dead_letters");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_replayed_job_works_again_with_its_history);
    tcase_add_test(tc, a_replayed_job_waits_for_its_key_and_comes_before_later_ones);
    tcase_add_test(tc, a_replayed_job_is_the_head_of_a_free_key);
    tcase_add_loop_test(tc, a_patch_changes_the_payload_that_is_replayed, 0, COUNT_OF(patches));
    tcase_add_test(tc, a_patched_payload_has_the_limits_of_any_payload);
    tcase_add_test(tc, what_is_no_dead_letter_is_left_alone);
    tcase_add_test(tc, a_step_of_an_ended_run_is_not_replayed_but_its_cleaning_is);
    tcase_add_test(tc, a_filter_takes_a_thousand_at_a_time_oldest_first);
    tcase_add_test(tc, a_purged_job_is_gone_with_its_attempts_and_its_dedup_key);
    tcase_add_test(tc, dead_letters_are_deleted_when_their_queue_keeps_them_no_longer);
    tcase_add_test(tc, a_queue_says_how_long_it_keeps_them);
    suite_add_tcase(suite, tc);
    return suite;
}
