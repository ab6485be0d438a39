/*
 * A new run knows what those before it took.
 */
#include "control/admit/submit.h"
#include "core/event_types.h"
#include "tests/unit/lab.h"
#include <check.h>
#include <string.h>

static struct lab lab;

static void setup(void)
{
    lab_open(&lab, NULL);
    lab_repository(&lab, "acme/billing", NULL);
    lab_repository(&lab, "acme/other", NULL);
}

static void teardown(void)
{
    lab_check(&lab);
    lab_close(&lab);
}

static struct cmd_submit *submit(const char *repository, const char *type, int64_t microusd)
{
    struct cmd_submit *cmd = cmd_submit_new();
    cmd->task.repository = repository;
    cmd->task.description = "Mend it";
    cmd->task.task_type = type;
    cmd->task.mode = MODE_PATCH_ONLY;
    cmd->task.max_budget_microusd = microusd;
    cmd->base.actor = (struct actor){"user", "ada"};
    ck_assert_msg(lab_call(&lab, &cmd->base) == RC_OK, "%s", cmd->base.err.text);
    return cmd;
}

/* A run that completes after so many seconds and USD. */
static void complete(const char *repository, const char *type, int seconds)
{
    command_free(&submit(repository, type, 0)->base);
    lab_step(&lab, "prepare", RESULT_PREPARE);
    lab_step(&lab, "hydrate", RESULT_HYDRATE);
    struct job_row job = lab_take(&lab, "agent");
    lab.now_us += seconds * US_PER_SECOND;
    const char *result = arena_printf(&lab.arena,
                                      "{\"outcome\":\"ended\",\"report\":\"success\",\"turns\":%d,"
                                      "\"costUsd\":%d,\"patch\":{\"sha256\":\"bb\",\"files\":1,"
                                      "\"treeHash\":\"cc\"}}",
                                      seconds, seconds);
    lab_finish(&lab, &job, result);
    lab_step(&lab, "verify", RESULT_VERIFIED);
    lab_step(&lab, "judge", RESULT_JUDGED);
}

static const char *text_of(struct str text)
{
    return str_dup(&lab.arena, text);
}

START_TEST(the_first_runs_have_none)
{
    complete("acme/billing", "fix", 1);
    complete("acme/billing", "fix", 2);
    struct cmd_submit *cmd = submit("acme/billing", "fix", 0);
    ck_assert_uint_eq(cmd->answer.forecast.len, 0);
    ck_assert_ptr_null(cmd->answer.warning);
    ck_assert_str_eq(lab_run(&lab, &cmd->answer.run_id).wanted_agent, "none");
    command_free(&cmd->base);
}
END_TEST

START_TEST(later_ones_are_forecast_by_similar_ones_then_by_the_repository)
{
    for (int i = 1; i <= 3; i++)
        complete("acme/billing", "fix", i);
    for (int i = 0; i < 3; i++)
        complete("acme/billing", "feature", 9);
    struct cmd_submit *similar = submit("acme/billing", "fix", 2500000);
    ck_assert_str_eq(text_of(lab_run(&lab, &similar->answer.run_id).forecast),
                     "{\"costUsd\":2,\"costUsdP90\":3,\"turns\":2,\"turnsP90\":3,\"seconds\":2,"
                     "\"secondsP90\":3,\"basedOn\":{\"runs\":3,\"scope\":\"similar\"}}");
    ck_assert_ptr_nonnull(
        strstr(similar->answer.warning, "3.00 USD or more, and the budget is 2.50 USD"));
    struct cmd_submit *any = submit("acme/billing", "docs", 0);
    ck_assert_ptr_nonnull(strstr(text_of(any->answer.forecast),
                                 "\"turnsP90\":9,\"seconds\":3,\"secondsP90\":9,\"basedOn\":"
                                 "{\"runs\":6,\"scope\":\"repository\"}"));
    ck_assert_ptr_null(any->answer.warning);
    struct cmd_submit *other = submit("acme/other", "fix", 0);
    ck_assert_uint_eq(other->answer.forecast.len, 0);
    command_free(&similar->base);
    command_free(&any->base);
    command_free(&other->base);
}
END_TEST

START_TEST(runs_that_failed_say_nothing)
{
    for (int i = 0; i < 4; i++) {
        struct cmd_submit *cmd = submit("acme/billing", "fix", 0);
        struct job_row job = lab_take(&lab, "prepare");
        lab_fail(&lab, &job, "branch_not_found", false);
        command_free(&cmd->base);
    }
    struct cmd_submit *cmd = submit("acme/billing", "fix", 0);
    ck_assert_uint_eq(cmd->answer.forecast.len, 0);
    command_free(&cmd->base);
}
END_TEST

START_TEST(the_event_of_the_queued_run_has_it)
{
    for (int i = 1; i <= 3; i++)
        complete("acme/billing", "fix", i);
    struct cmd_submit *cmd = submit("acme/billing", "fix", 0);
    struct event_filter filter = {.run_id = cmd->answer.run_id, .limit = 10};
    struct event *events;
    size_t count;
    ck_assert_int_eq(events_list(lab.db, &filter, &lab.arena, &events, &count, NULL), RC_OK);
    ck_assert_str_eq(events[0].type, EV_RUN_QUEUED);
    ck_assert_ptr_nonnull(strstr(text_of(events[0].data), "\"forecast\":{\"costUsd\":2,"));
    command_free(&cmd->base);
}
END_TEST

Suite *forecasts_suite(void)
{
    Suite *suite = suite_create("forecasts");
    TCase *tc = tcase_create("forecasts");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, the_first_runs_have_none);
    tcase_add_test(tc, later_ones_are_forecast_by_similar_ones_then_by_the_repository);
    tcase_add_test(tc, runs_that_failed_say_nothing);
    tcase_add_test(tc, the_event_of_the_queued_run_has_it);
    suite_add_tcase(suite, tc);
    return suite;
}
