/*
 * test_presence.c - what workers say of themselves, and how often that is written; tokens as
 * commands; leases after a time in which nobody could renew.
 */
#include "control/watch/due.h"
#include "control/watch/tokens.h"
#include "control/watch/workers.h"
#include "tests/unit/lab.h"
#include "tests/unit/suites.h"

static struct lab lab;
static struct err err;

static void setup(void)
{
    lab_open(&lab, NULL);
}

static void teardown(void)
{
    lab_close(&lab);
}

static const struct worker_row ann = {.name = "ann",
                                      .host = "h",
                                      .version = "1",
                                      .queues = {"[\"q\"]", 5},
                                      .pid = 7,
                                      .slots = 2,
                                      .lease_us = 15 * US_PER_SECOND};

static void say(const struct worker_row *row, bool left)
{
    struct cmd_worker_seen *cmd = cmd_worker_seen_new();
    cmd->worker = *row;
    cmd->left = left;
    ck_assert_int_eq(lab_call(&lab, &cmd->base), RC_OK);
    command_free(&cmd->base);
}

static struct worker_row look(const char *name)
{
    struct worker_row row = {0};
    enum rc rc = workers_get(lab.db, name, lab.now_us, &lab.arena, &row, &err);
    ck_assert(rc == RC_OK || rc == RC_NOT_FOUND);
    return row;
}

START_TEST(a_worker_is_written_when_it_has_news_or_was_silent_for_a_while)
{
    say(&ann, false);
    int64_t first_us = look("ann").last_seen_us;
    ck_assert_int_eq(first_us, look("ann").started_us);
    lab_pass_ms(&lab, 1000);
    say(&ann, false); /* Nothing new. */
    ck_assert_int_eq(look("ann").last_seen_us, first_us);
    struct worker_row busy = ann;
    busy.busy = 1;
    say(&busy, false);
    ck_assert_int_gt(look("ann").last_seen_us, first_us);
    ck_assert_int_eq(look("ann").busy, 1);
    lab_pass_ms(&lab, 6000);
    int64_t before_us = look("ann").last_seen_us;
    say(&busy, false);
    ck_assert_int_gt(look("ann").last_seen_us, before_us);
    ck_assert_int_eq(look("ann").started_us, first_us);
    busy.pid = 8; /* Another process of that name. */
    say(&busy, false);
    ck_assert_int_gt(look("ann").started_us, first_us);
    say(&busy, true);
    ck_assert_ptr_null(look("ann").name);
}
END_TEST

START_TEST(a_silent_worker_is_lost_and_at_last_forgotten)
{
    say(&ann, false);
    ck_assert_str_eq(look("ann").state, "active");
    lab_pass_ms(&lab, 46 * 1000);
    ck_assert_str_eq(look("ann").state, "lost");
    lab_pass_ms(&lab, 24 * 3600 * 1000);
    struct cmd_due *due = cmd_due_new();
    due->prune = true;
    ck_assert_int_eq(lab_call(&lab, &due->base), RC_OK);
    command_free(&due->base);
    ck_assert_ptr_null(look("ann").name);
}
END_TEST

START_TEST(leases_get_their_time_again_after_an_outage)
{
    lab_repository(&lab, "acme/x", NULL);
    struct id run_id = lab_submit(&lab, "acme/x");
    struct job_row job = lab_take(&lab, "prepare");
    struct cmd_reclaim *cmd = cmd_reclaim_new();
    cmd->node = "node";
    cmd->grace_us = 20 * US_PER_SECOND;
    lab.now_us = job.life.due_us + US_PER_SECOND; /* It ran out, and nobody looked. */
    ck_assert_int_eq(lab_call(&lab, &cmd->base), RC_OK);
    command_free(&cmd->base);
    lab_pass_ms(&lab, 19 * 1000);
    struct job_answer answer = lab_complete(&lab, &job, RESULT_PREPARE);
    ck_assert(answer.ok);
    ck_assert_int_eq(lab_run(&lab, &run_id).lost, 0);
    lab_check(&lab);
}
END_TEST

static enum rc make_token(const char *name, struct id *ret_id)
{
    struct cmd_token_create *cmd = cmd_token_create_new();
    cmd->name = name;
    cmd->role = ROLE_VIEWER;
    sha256_hex(name, 3, cmd->sha256);
    enum rc rc = lab_call(&lab, &cmd->base);
    if (rc == RC_OK)
        *ret_id = cmd->row.id;
    command_free(&cmd->base);
    return rc;
}

START_TEST(a_name_belongs_to_one_live_token)
{
    struct id id = {0};
    ck_assert_int_eq(make_token("ann", &id), RC_OK);
    ck_assert_int_eq(make_token("ann", &id), RC_CONFLICT);
    for (int i = 0; i < 2; i++) { /* The second time is fine. */
        struct cmd_token_revoke *cmd = cmd_token_revoke_new();
        cmd->id = id;
        ck_assert_int_eq(lab_call(&lab, &cmd->base), RC_OK);
        command_free(&cmd->base);
    }
    struct token_row *rows;
    size_t count;
    ck_assert_int_eq(tokens_live(lab.db, lab.now_us, &lab.arena, &rows, &count, &err), RC_OK);
    ck_assert_uint_eq(count, 0);
    struct cmd_token_revoke *cmd = cmd_token_revoke_new();
    cmd->id = (struct id){"01a1e111-4280-788b-8f9d-658fd086a1f4"};
    ck_assert_int_eq(lab_call(&lab, &cmd->base), RC_NOT_FOUND);
    command_free(&cmd->base);
}
END_TEST

Suite *presence_suite(void)
{
    Suite *suite = suite_create("presence");
    TCase *tests = tcase_create("presence");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, a_worker_is_written_when_it_has_news_or_was_silent_for_a_while);
    tcase_add_test(tests, a_silent_worker_is_lost_and_at_last_forgotten);
    tcase_add_test(tests, leases_get_their_time_again_after_an_outage);
    tcase_add_test(tests, a_name_belongs_to_one_live_token);
    suite_add_tcase(suite, tests);
    return suite;
}
