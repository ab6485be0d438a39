/*
 * test_forge_quota.c - the governor as a command, for leases and for people; and jobs that are put
 * off.
 */
#include "control/pr/quota.h"
#include "control/queue/complete.h"
#include "store/forge_limits.h"
#include "store/jobs.h"
#include "tests/unit/lab.h"
#include <check.h>
#include <string.h>

static struct lab lab;
static struct job_row job;

static void setup(void)
{
    lab_open(&lab, &(struct lab_options){.engine = LAB_SQLITE});
    lab_repository(&lab, "acme/app", "\"credentials\":{\"forge\":\"FORGE_TOKEN\"}");
    (void)lab_submit(&lab, "acme/app");
    job = lab_take(&lab, "prepare");
}

static void teardown(void)
{
    lab_close(&lab);
}

static struct cmd_quota *ask(int64_t want, int64_t remaining)
{
    struct cmd_quota *cmd = cmd_quota_new();
    cmd->ref = (struct job_ref){job.id, job.life.epoch};
    cmd->host = "api.example.com";
    cmd->resource = "core";
    cmd->want = want;
    cmd->has_seen = remaining >= 0;
    cmd->seen = (struct quota_seen){
        .limit = 5000, .remaining = remaining, .reset_us = lab.now_us + 600 * US_PER_SECOND};
    return cmd;
}

static struct forge_limit_row load(void)
{
    struct forge_limit_row *rows;
    size_t count;
    ck_assert_int_eq(forge_limits_list(lab.db, &lab.arena, &rows, &count, NULL), RC_OK);
    ck_assert_uint_eq(count, 1);
    return rows[0];
}

START_TEST(a_holder_of_a_lease_gets_a_block_and_tells_what_it_used)
{
    struct cmd_quota *cmd = ask(20, 4999);
    ck_assert_msg(lab_call(&lab, &cmd->base) == RC_OK, "%s", cmd->base.err.text);
    ck_assert_int_eq(cmd->verdict.calls, 20);
    command_free(&cmd->base);
    ck_assert_str_eq(load().credential, "FORGE_TOKEN");
    ck_assert_int_eq(load().quota.granted, 20);

    cmd = ask(0, 4990);
    cmd->told = (struct quota_told){.used = 9, .back = 11};
    ck_assert_int_eq(lab_call(&lab, &cmd->base), RC_OK);
    command_free(&cmd->base);
    struct forge_limit_row row = load();
    ck_assert_int_eq(row.quota.granted, 0);
    ck_assert_int_eq(row.quota.remaining, 4990);
    struct forge_share_row *shares;
    size_t count;
    const struct forge_limit_key key = {"api.example.com", "FORGE_TOKEN", "core"};
    ck_assert_int_eq(
        forge_shares_list(lab.db, &key, row.quota.reset_us, &lab.arena, &shares, &count, NULL),
        RC_OK);
    ck_assert_uint_eq(count, 1);
    ck_assert_str_eq(shares[0].repository, "acme/app");
    ck_assert_int_eq(shares[0].used, 9);
}
END_TEST

START_TEST(without_the_lease_there_is_nothing)
{
    struct cmd_quota *cmd = ask(20, -1);
    cmd->base.principal = "another";
    ck_assert_int_eq(lab_call(&lab, &cmd->base), RC_STALE);
    ck_assert_str_eq(cmd->base.err.code, "LEASE_LOST");
    command_free(&cmd->base);
    cmd = ask(20, -1);
    cmd->ref.epoch++;
    ck_assert_int_eq(lab_call(&lab, &cmd->base), RC_STALE);
    command_free(&cmd->base);
}
END_TEST

START_TEST(the_reserve_is_for_people_and_the_answer_says_why)
{
    struct cmd_quota *cmd = ask(20, 50);
    ck_assert_int_eq(lab_call(&lab, &cmd->base), RC_OK);
    ck_assert_int_eq(cmd->verdict.calls, 0);
    ck_assert_int_eq(cmd->verdict.why, QUOTA_RESERVED);
    ck_assert_int_eq(cmd->verdict.wait_us, 600 * US_PER_SECOND);
    ck_assert_msg(strstr(cmd->why, "kept for people") != NULL, "%s", cmd->why);
    command_free(&cmd->base);
    cmd = ask(5, -1);
    cmd->ref = (struct job_ref){.epoch = 0};
    cmd->credential = "FORGE_TOKEN";
    cmd->repository = "acme/app";
    ck_assert_int_eq(lab_call(&lab, &cmd->base), RC_OK);
    ck_assert_int_eq(cmd->verdict.calls, 5);
    command_free(&cmd->base);
}
END_TEST

START_TEST(a_job_that_is_put_off_waits_and_says_why_without_an_attempt)
{
    struct cmd_release *cmd = cmd_release_new();
    const struct job_ref ref = {job.id, job.life.epoch};
    const struct job_wait wait = {600 * US_PER_SECOND, "forge_limit", "The rate limit is used up."};
    cmd->leases = &ref;
    cmd->waits = &wait;
    cmd->count = 1;
    ck_assert_int_eq(lab_call(&lab, &cmd->base), RC_OK);
    ck_assert(cmd->answers[0].ok);
    command_free(&cmd->base);
    struct job_row now;
    ck_assert_int_eq(jobs_get(lab.db, &job.id, &lab.arena, &now, NULL), RC_OK);
    ck_assert_int_eq(now.life.state, JOB_SCHEDULED);
    ck_assert_int_eq(now.life.attempt, 0);
    ck_assert_str_eq(now.error_code, "forge_limit");
    ck_assert_str_eq(now.error_message, "The rate limit is used up.");
    lab_pass_ms(&lab, 599 * 1000);
    struct job_row *leased;
    ck_assert_uint_eq(lab_lease(&lab, "drover.prepare", "w", &leased), 0);
    lab_pass_ms(&lab, 2000);
    ck_assert_uint_eq(lab_lease(&lab, "drover.prepare", "w", &leased), 1);
    lab_check(&lab);
}
END_TEST

Suite *forge_quota_suite(void)
{
    Suite *suite = suite_create("forge_quota");
    TCase *tests = tcase_create("forge_quota");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, a_holder_of_a_lease_gets_a_block_and_tells_what_it_used);
    tcase_add_test(tests, without_the_lease_there_is_nothing);
    tcase_add_test(tests, the_reserve_is_for_people_and_the_answer_says_why);
    tcase_add_test(tests, a_job_that_is_put_off_waits_and_says_why_without_an_attempt);
    suite_add_tcase(suite, tests);
    return suite;
}
