/*
 * test_repo_jobs.c - jobs about a repository: one waits, one is worked on, and a word that comes
 * while it is worked on is not lost.
 */
#include "control/admit/repositories.h"
#include "control/pr/repo_jobs.h"
#include "store/workspaces.h"
#include "tests/unit/lab.h"
#include <check.h>
#include <string.h>

static struct lab lab;

struct cmd_make {
    struct command base;
    const char *key;
    int64_t delay_ms;
    struct id id;
};

static void write_number(struct jw *jw, const void *subject)
{
    jw_kint(jw, "number", *(const int64_t *)subject);
}

static enum rc apply_make(struct context *ctx, struct command *command)
{
    struct cmd_make *cmd = (struct cmd_make *)command;
    struct repository_row repository;
    const int64_t number = 7;
    enum rc rc = repositories_by_name(ctx->db, &ctx->workspace_id, "acme/app", ctx->arena,
                                      &repository, ctx->err);
    const struct repo_job job = {
        .kind = STEP_ISSUE,
        .repository = &repository,
        .dedup_key = cmd->key,
        .delay_ms = cmd->delay_ms,
        .write = write_number,
        .subject = &number,
    };
    return rc == RC_OK ? repo_job_enqueue(ctx, &job, &cmd->id) : rc;
}

static const struct command_ops make_ops = {.name = "test_make", .apply = apply_make};

static void setup(void)
{
    lab_open(&lab, &(struct lab_options){.engine = LAB_SQLITE});
    lab_repository(&lab, "acme/app", NULL);
}

static void teardown(void)
{
    lab_check(&lab);
    lab_close(&lab);
}

static struct id make(const char *key, int64_t delay_ms)
{
    struct cmd_make *cmd = command_new(&make_ops, sizeof *cmd);
    cmd->key = key;
    cmd->delay_ms = delay_ms;
    ck_assert_msg(lab_call(&lab, &cmd->base) == RC_OK, "%s", cmd->base.err.text);
    struct id id = cmd->id;
    command_free(&cmd->base);
    return id;
}

static struct job_row load(const struct id *id)
{
    struct job_row job;
    ck_assert_int_eq(jobs_get(lab.db, id, &lab.arena, &job, NULL), RC_OK);
    return job;
}

static size_t lease(struct job_row **ret_jobs)
{
    return lab_lease(&lab, step_row(STEP_ISSUE)->queue, "w", ret_jobs);
}

START_TEST(its_payload_names_repository_and_configuration)
{
    struct job_row *jobs;
    (void)make(NULL, 0);
    ck_assert_uint_eq(lease(&jobs), 1);
    CLEANUP(js_freep) struct js *payload = NULL;
    ck_assert_int_eq(js_parse(jobs[0].payload.at, jobs[0].payload.len, &payload, NULL), RC_OK);
    ck_assert_str_eq(js_get_str(payload, "repository", ""), "acme/app");
    ck_assert_int_eq(js_get_int(payload, "number", 0), 7);
    ck_assert_ptr_nonnull(js_get(payload, "config"));
    struct id id;
    ck_assert(id_parse(js_get_str(payload, "repositoryId", ""), &id));
    ck_assert_ptr_nonnull(jobs[0].dependency);
    ck_assert(text_starts(jobs[0].dependency, "forge:"));
}
END_TEST

START_TEST(one_that_waits_does_for_both)
{
    struct id first = make("issue 7", 0), again = make("issue 7", 0), other = make("issue 8", 0);
    ck_assert_str_eq(first.text, again.text);
    ck_assert_str_ne(first.text, other.text);
    struct job_row *jobs;
    ck_assert_uint_eq(lease(&jobs), 2);
    ck_assert_uint_eq(lease(&jobs), 0);
}
END_TEST

START_TEST(one_that_is_asked_for_while_another_is_worked_on_runs_after_it)
{
    struct job_row *jobs, *later;
    struct id first = make("issue 7", 0);
    ck_assert_uint_eq(lease(&jobs), 1);
    struct id second = make("issue 7", 0), third = make("issue 7", 0);
    ck_assert_str_ne(first.text, second.text);
    ck_assert_str_eq(second.text, third.text);
    ck_assert_uint_eq(lease(&later), 0);
    ck_assert_int_eq(load(&second).life.state, JOB_BLOCKED);
    (void)lab_fail(&lab, &jobs[0], "x", false);
    ck_assert_uint_eq(lease(&later), 1);
    ck_assert_str_eq(later[0].id.text, second.text);
}
END_TEST

START_TEST(a_settled_job_gives_its_key_up)
{
    struct job_row *jobs;
    struct id first = make("issue 7", 0);
    ck_assert_uint_eq(lease(&jobs), 1);
    (void)lab_fail(&lab, &jobs[0], "x", false);
    ck_assert_int_eq(load(&first).life.state, JOB_DEAD_LETTER);
    struct id second = make("issue 7", 0);
    ck_assert_str_ne(first.text, second.text);
    ck_assert_uint_eq(lease(&jobs), 1);
}
END_TEST

START_TEST(an_earlier_time_is_taken_and_a_later_one_is_not)
{
    struct job_row *jobs;
    struct id first = make("issue 7", 60000);
    ck_assert_uint_eq(lease(&jobs), 0);
    struct id again = make("issue 7", 90000);
    ck_assert_str_eq(first.text, again.text);
    lab_pass_ms(&lab, 1000);
    again = make("issue 7", 0);
    ck_assert_str_eq(first.text, again.text);
    lab_pass_ms(&lab, 1);
    ck_assert_uint_eq(lease(&jobs), 1);
}
END_TEST

Suite *repo_jobs_suite(void)
{
    Suite *suite = suite_create("repo_jobs");
    TCase *tests = tcase_create("repo_jobs");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, its_payload_names_repository_and_configuration);
    tcase_add_test(tests, one_that_waits_does_for_both);
    tcase_add_test(tests, one_that_is_asked_for_while_another_is_worked_on_runs_after_it);
    tcase_add_test(tests, a_settled_job_gives_its_key_up);
    tcase_add_test(tests, an_earlier_time_is_taken_and_a_later_one_is_not);
    suite_add_tcase(suite, tests);
    return suite;
}
