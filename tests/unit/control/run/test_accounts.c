/*
 * test_accounts.c - a usage limit parks the account: its runs wait and lose nothing; and what a run
 * uses is counted once, while it works and at its end.
 */
#include "control/admit/repositories.h"
#include "control/run/accounts.h"
#include "control/run/stop.h"
#include "core/event_types.h"
#include "core/run/admission.h"
#include "tests/unit/honest.h"
#include "tests/unit/lab.h"
#include <check.h>
#include <string.h>

enum { REST_MINUTES = 15, REST_MINUTES_MAX = 240 }; /* core/agent/claims.c */

static struct lab lab;

/* With an agent whose records of usage limits are believed. */
static void put(const char *name, const char *agent, const char *more)
{
    struct cmd_repository_put *put = cmd_repository_put_new();
    put->name = name;
    put->config = str_of(arena_printf(&lab.arena,
                                      "{\"url\":\"/srv/git/x.git\"" LAB_VERIFY
                                      ",\"agent\":{\"command\":"
                                      "[\"./agent\"],\"adapter\":\"claude\"%s}%s}",
                                      agent, more));
    ck_assert_msg(lab_call(&lab, &put->base) == RC_OK, "%s", put->base.err.text);
    command_free(&put->base);
}

static void setup_repositories(void)
{
    put("acme/billing", "", ",\"limits\":{\"maxTurns\":5,\"maxBudgetUsd\":2}");
    put("acme/other", "", "");
}

static void setup(void)
{
    lab_open(&lab, NULL);
    setup_repositories();
}

static void teardown(void)
{
    lab_check(&lab);
    lab_close(&lab);
}

static void to_agent(void)
{
    struct job_row job = lab_take(&lab, "prepare");
    lab_finish(&lab, &job, RESULT_PREPARE);
    job = lab_take(&lab, "hydrate");
    lab_finish(&lab, &job, RESULT_HYDRATE);
}

/* The prompt is there already. */
static void to_agent_again(void)
{
    struct job_row job = lab_take(&lab, "prepare");
    lab_finish(&lab, &job, RESULT_PREPARE);
}

/* How a program of the provider ends when it meets a limit. */
#define FAILED "\"exited\":true,\"exitCode\":1,"
#define RECORD "\"record\":true,\"ended\":true"

static const char *limit_at(int64_t in_ms)
{
    char at[TIME_TEXT_BYTES];
    return arena_printf(&lab.arena,
                        "{\"outcome\":\"quota\",\"report\":\"error\",\"turns\":1,\"costUsd\":0.25,"
                        "\"patch\":{\"sha256\":\"bb\",\"files\":1,\"treeHash\":\"cc\"}," FAILED
                        "\"quota\":{" RECORD ",\"resetsAt\":\"%s\",\"message\":\"used up\"}}",
                        time_format(at, lab.now_us + in_ms * US_PER_MS));
}

#define LIMIT "{\"outcome\":\"quota\",\"report\":\"error\"," FAILED "\"quota\":{" RECORD "}}"

static size_t leasable(const char *queue)
{
    struct job_row *jobs;
    return lab_lease(&lab, queue, "node-1/9", &jobs);
}

static struct account_row account(const char *name)
{
    struct account_row *rows, row = {0};
    size_t count;
    struct err err = {0};
    ck_assert_int_eq(accounts_list(lab.db, NULL, 50, &lab.arena, &rows, &count, &err), RC_OK);
    for (size_t i = 0; i < count; i++)
        if (strcmp(rows[i].name, name) == 0)
            row = rows[i];
    return row;
}

static int told(const char *type)
{
    struct event_filter filter = {.type_pattern = type, .limit = 100};
    struct event *rows;
    size_t count;
    struct err err = {0};
    ck_assert_int_eq(events_list(lab.db, &filter, &lab.arena, &rows, &count, &err), RC_OK);
    return (int)count;
}

START_TEST(a_limit_parks_the_account_and_queues_the_run_until_the_reset)
{
    struct id run_id = lab_submit(&lab, "acme/billing");
    to_agent();
    struct job_row job = lab_take(&lab, "agent");
    lab_finish(&lab, &job, limit_at(60000));
    struct run_row run = lab_run(&lab, &run_id);
    ck_assert_int_eq(run.status, RUN_QUEUED);
    ck_assert_str_eq(run.deferred_reason, admission_reason(CHECK_QUOTA));
    ck_assert_str_eq(run.account, "default:claude");
    ck_assert_int_eq(run.attempt, 1);
    ck_assert_int_eq(run.used[BUDGET_AGENT], 1);
    ck_assert_int_eq(run.deadline_us, 0);
    ck_assert_str_eq(run.patch_sha256,
                     honest_sha256("bb", &lab.arena)); /* It goes on from there. */
    ck_assert_int_eq(lab_task(&lab, &run_id).status, TASK_DEFERRED);
    struct account_row row = account("default:claude");
    ck_assert_int_eq(row.parked_until_us, lab.now_us + 60 * US_PER_SECOND);
    ck_assert_str_eq(row.reason, "used up");
    lab_pass_ms(&lab, 59000);
    ck_assert_int_eq(lab_run(&lab, &run_id).status, RUN_QUEUED);
    lab_pass_ms(&lab, 1000);
    ck_assert_int_eq(lab_run(&lab, &run_id).status, RUN_PREPARING);
    ck_assert_int_eq(account("default:claude").parked_until_us, 0);
    job = lab_take(&lab, "prepare");
    lab_finish(&lab, &job, RESULT_PREPARE);
    job = lab_take(&lab, "agent"); /* The prompt is there. */
    ck_assert_ptr_nonnull(strstr(job.payload.at, "\"attempt\":1,"));
    lab_finish(&lab, &job, RESULT_AGENT);
    run = lab_run(&lab, &run_id);
    ck_assert_int_eq(run.status, RUN_VERIFYING);
    ck_assert_int_eq(run.turns, 3);
    ck_assert_int_eq(run.cost_microusd, 750000);
    ck_assert_int_eq(told(EV_ACCOUNT_PARKED), 1);
    ck_assert_int_eq(told(EV_ACCOUNT_RESUMED), 1);
}
END_TEST

START_TEST(a_reset_that_has_passed_meanwhile_parks_for_a_moment_and_longer_each_time)
{
    struct id run_id = lab_submit(&lab, "acme/billing");
    to_agent();
    struct job_row job = lab_take(&lab, "agent");
    lab_finish(&lab, &job, limit_at(-500));
    ck_assert_int_eq(account("default:claude").parked_until_us, lab.now_us + US_PER_SECOND);
    lab_pass_ms(&lab, 1000);
    ck_assert_int_eq(lab_run(&lab, &run_id).status, RUN_PREPARING);
    to_agent_again();
    job = lab_take(&lab, "agent");
    lab_finish(&lab, &job, limit_at(-500));
    ck_assert_int_eq(account("default:claude").parked_until_us, lab.now_us + 2 * US_PER_SECOND);
}
END_TEST

START_TEST(no_other_run_of_the_account_starts_meanwhile_and_runs_of_others_do)
{
    put("acme/elsewhere", "", ",\"limits\":{\"maxActiveRuns\":9}");
    struct id first = lab_submit(&lab, "acme/billing"), second = lab_submit(&lab, "acme/other");
    (void)first;
    struct job_row *jobs;
    ck_assert_uint_eq(lab_lease(&lab, "drover.prepare", "node-1/0", &jobs), 2);
    lab_finish(&lab, &jobs[0], RESULT_PREPARE);
    lab_finish(&lab, &jobs[1], RESULT_PREPARE);
    ck_assert_uint_eq(lab_lease(&lab, "drover.hydrate", "node-1/0", &jobs), 2);
    struct job_row late = jobs[1];
    lab_finish(&lab, &jobs[0], RESULT_HYDRATE);
    struct job_row job = lab_take(&lab, "agent");
    lab_finish(&lab, &job, limit_at(60000));
    /* One that was on its way is held before its agent begins. */
    lab_finish(&lab, &late, RESULT_HYDRATE);
    ck_assert_int_eq(lab_run(&lab, &second).status, RUN_QUEUED);
    ck_assert_str_eq(lab_run(&lab, &second).deferred_reason, admission_reason(CHECK_QUOTA));
    ck_assert_uint_eq(leasable("drover.agent"), 0);
    /* One that comes in waits. */
    struct id third = lab_submit(&lab, "acme/elsewhere");
    ck_assert_int_eq(lab_run(&lab, &third).status, RUN_QUEUED);
    ck_assert_str_eq(lab_run(&lab, &third).deferred_reason, admission_reason(CHECK_QUOTA));
    lab_pass_ms(&lab, 60000);
    ck_assert_int_eq(lab_run(&lab, &third).status, RUN_PREPARING);
    ck_assert_int_eq(lab_run(&lab, &second).status, RUN_PREPARING);
}
END_TEST

START_TEST(a_long_line_of_a_parked_account_holds_up_nobody_else)
{
    enum { MORE_THAN_A_ROUND_LOOKS_AT = 1010 };
    struct id first = lab_submit(&lab, "acme/billing");
    to_agent();
    struct job_row job = lab_take(&lab, "agent");
    lab_finish(&lab, &job, limit_at(3600000));
    for (int i = 0; i < MORE_THAN_A_ROUND_LOOKS_AT; i++)
        (void)lab_submit(&lab, "acme/billing");
    /* Others, also of the same repository once it has another account. */
    put("acme/elsewhere", ",\"account\":\"two\"", "");
    put("acme/billing", ",\"account\":\"two\"", "");
    struct id other = lab_submit(&lab, "acme/elsewhere"), later = lab_submit(&lab, "acme/billing");
    ck_assert_int_eq(lab_run(&lab, &other).status, RUN_PREPARING);
    ck_assert_int_eq(lab_run(&lab, &later).status, RUN_PREPARING);
    ck_assert_int_eq(lab_run(&lab, &first).status, RUN_QUEUED);
    ck_assert_str_eq(lab_run(&lab, &first).deferred_reason, admission_reason(CHECK_QUOTA));
}
END_TEST

START_TEST(a_provider_that_does_not_say_is_left_alone_for_longer_every_time)
{
    static const int64_t minutes[] = {15, 30, 60, 120, 240, 240};
    struct id run_id = lab_submit(&lab, "acme/other");
    to_agent();
    for (size_t i = 0; i < COUNT_OF(minutes); i++) {
        if (i > 0)
            to_agent_again();
        struct job_row job = lab_take(&lab, "agent");
        lab_pass_ms(&lab, 5000);
        lab_finish(&lab, &job, LIMIT);
        struct account_row row = account("default:claude");
        ck_assert_int_eq(row.parked_until_us - lab.now_us, minutes[i] * US_PER_MINUTE);
        ck_assert_int_eq(row.hits, (int64_t)i + 1);
        lab_pass_ms(&lab, minutes[i] * 60000);
        ck_assert_int_eq(lab_run(&lab, &run_id).status, RUN_PREPARING);
    }
    ck_assert_int_eq(lab_run(&lab, &run_id).attempt, 1);
    lab_pass_ms(&lab, (REST_MINUTES_MAX + 1) * INT64_C(60000)); /* All is well. */
    to_agent_again();
    struct job_row job = lab_take(&lab, "agent");
    lab_finish(&lab, &job, LIMIT);
    ck_assert_int_eq(account("default:claude").hits, 1);
}
END_TEST

START_TEST(a_person_takes_it_into_use_before_the_time)
{
    struct id run_id = lab_submit(&lab, "acme/other");
    to_agent();
    struct job_row job = lab_take(&lab, "agent");
    lab_finish(&lab, &job, limit_at(3600000));
    struct cmd_account *cmd = cmd_account_resume_new();
    cmd->name = "nobody";
    ck_assert_int_eq(lab_call(&lab, &cmd->base), RC_NOT_FOUND);
    command_free(&cmd->base);
    for (int i = 0; i < 2; i++) { /* Twice is fine. */
        cmd = cmd_account_resume_new();
        cmd->name = "default:claude";
        ck_assert_int_eq(lab_call(&lab, &cmd->base), RC_OK);
        ck_assert_int_eq(cmd->row.parked_until_us, 0);
        command_free(&cmd->base);
    }
    ck_assert_int_eq(lab_run(&lab, &run_id).status, RUN_PREPARING);
    ck_assert_int_eq(told(EV_ACCOUNT_RESUMED), 1);
    lab_pass_ms(&lab, 3600000); /* Its timer is gone. */
    ck_assert_int_eq(told(EV_ACCOUNT_RESUMED), 1);
}
END_TEST

START_TEST(a_parked_run_can_be_cancelled)
{
    struct id run_id = lab_submit(&lab, "acme/other");
    to_agent();
    struct job_row job = lab_take(&lab, "agent");
    lab_finish(&lab, &job, limit_at(60000));
    lab_cancel(&lab, &run_id);
    ck_assert_int_eq(lab_run(&lab, &run_id).status, RUN_CANCELLED);
    lab_pass_ms(&lab, 60000);
    ck_assert_int_eq(lab_run(&lab, &run_id).status, RUN_CANCELLED);
}
END_TEST

START_TEST(a_plan_waits_for_its_account_as_well)
{
    put("acme/plans", "", ",\"plan\":{\"approval\":\"never\"}");
    struct id run_id = lab_submit(&lab, "acme/plans");
    to_agent();
    struct job_row job = lab_take(&lab, "plan");
    lab_finish(&lab, &job,
               "{\"planSha256\":\"\",\"outcome\":\"quota\",\"report\":\"error\",\"turns\":1," FAILED
               "\"quota\":{" RECORD "}}");
    ck_assert_int_eq(lab_run(&lab, &run_id).status, RUN_QUEUED);
    lab_pass_ms(&lab, REST_MINUTES * 60000);
    job = lab_take(&lab, "prepare");
    lab_finish(&lab, &job, RESULT_PREPARE);
    job = lab_take(&lab, "plan");
    ck_assert_int_eq(lab_run(&lab, &run_id).status, RUN_PLANNING);
    ck_assert_int_eq(lab_run(&lab, &run_id).turns, 1);
}
END_TEST

/* ---- what is used ---- */

static void report(const struct job_row *job, const char *sums)
{
    (void)lab_progress(
        &lab, job,
        arena_printf(&lab.arena, "[{\"type\":\"agent.model.turn.completed\",\"data\":%s}]", sums));
}

static void check_used(const struct id *run_id, int64_t turns, int64_t cost_microusd)
{
    struct run_row run = lab_run(&lab, run_id);
    ck_assert_int_eq(run.turns, turns);
    ck_assert_int_eq(run.cost_microusd, cost_microusd);
}

START_TEST(what_an_agent_uses_is_seen_while_it_works_and_counted_once)
{
    struct id run_id = lab_submit(&lab, "acme/billing");
    to_agent();
    struct job_row job = lab_take(&lab, "agent");
    report(&job, "{\"turns\":1,\"inputTokens\":10,\"outputTokens\":3,\"costUsd\":0.1,"
                 "\"model\":\"small\"}");
    check_used(&run_id, 1, 100000);
    ck_assert_str_eq(lab_run(&lab, &run_id).model, "small");
    ck_assert_int_eq(lab_run(&lab, &run_id).tokens_in, 10);
    report(&job, "{\"turns\":2,\"inputTokens\":30,\"outputTokens\":5,\"costUsd\":0.2}");
    report(&job, "{\"turns\":2,\"inputTokens\":30,\"outputTokens\":5,\"costUsd\":0.2}");
    check_used(&run_id, 2, 200000);
    lab_finish(&lab, &job, RESULT_AGENT); /* 2 turns, 0.5 USD */
    check_used(&run_id, 2, 500000);
    job = lab_take(&lab, "verify");
    lab_finish(&lab, &job, RESULT_UNVERIFIED);
    job = lab_take(&lab, "agent");
    ck_assert_ptr_nonnull(strstr(job.payload.at, "\"maxTurns\":3,"));
    report(&job, "{\"turns\":1,\"costUsd\":0.1}");
    check_used(&run_id, 3, 600000);
    lab_finish(&lab, &job, RESULT_AGENT);
    check_used(&run_id, 4, 1000000);
    ck_assert_int_eq(lab_run(&lab, &run_id).tokens_in, 30);
}
END_TEST

START_TEST(no_attempt_begins_without_turns_or_money)
{
    static const struct {
        const char *result, *code;
    } ends[] = {
        {"{\"outcome\":\"ended\",\"report\":\"success\",\"turns\":5,"
         "\"patch\":{\"sha256\":\"bb\",\"files\":1,\"treeHash\":\"cc\"}}",
         "max_turns_exceeded"},
        {"{\"outcome\":\"quota\",\"report\":\"error\",\"costUsd\":2,\"quota\":{}}",
         "max_budget_exceeded"},
    };
    struct id run_id = lab_submit(&lab, "acme/billing");
    to_agent();
    struct job_row job = lab_take(&lab, "agent");
    lab_finish(&lab, &job, ends[_i].result);
    if (_i == 0) {
        job = lab_take(&lab, "verify");
        lab_finish(&lab, &job, RESULT_UNVERIFIED);
    } else {
        lab_pass_ms(&lab, REST_MINUTES * 60000);
        job = lab_take(&lab, "prepare");
        lab_finish(&lab, &job, RESULT_PREPARE);
    }
    ck_assert_int_eq(lab_run(&lab, &run_id).status, RUN_FAILED);
    ck_assert_str_eq(lab_run(&lab, &run_id).error_code, ends[_i].code);
}
END_TEST

START_TEST(a_denied_tool_fails_the_run_for_good)
{
    struct id run_id = lab_submit(&lab, "acme/billing");
    to_agent();
    struct job_row job = lab_take(&lab, "agent");
    lab_finish(&lab, &job,
               "{\"outcome\":\"tool_denied\",\"report\":\"unknown\",\"error\":\"Bash was called\","
               "\"patch\":{\"sha256\":\"bb\",\"files\":1,\"treeHash\":\"cc\"}}");
    struct run_row run = lab_run(&lab, &run_id);
    ck_assert_int_eq(run.status, RUN_FAILED);
    ck_assert_str_eq(run.error_code, "policy.tool_denied");
    ck_assert_str_eq(run.error_message, "Bash was called");
    ck_assert_int_eq(run.attempt, 1);
}
END_TEST

/* ---- words, records and probes ---- */

static const struct {
    const char *name, *agent, *result;
} words[] = {
    {"words without a record", "\"adapter\":\"claude\"",
     FAILED "\"quota\":{\"ended\":true,\"message\":\"usage limit reached\"}"},
    {"a record of an agent that was still at work", "\"adapter\":\"claude\"",
     "\"exited\":false,\"quota\":{\"record\":true,\"ended\":false}"},
    {"a record of an agent that ended well", "\"adapter\":\"claude\"",
     "\"exited\":true,\"exitCode\":0,\"quota\":{" RECORD "}"},
    {"a record in a format that anybody can write", "\"adapter\":\"ndjson\"",
     FAILED "\"quota\":{" RECORD "}"},
    {"another account by name", "\"adapter\":\"ndjson\"",
     FAILED "\"quota\":{" RECORD ",\"account\":\"default:claude\"}"},
};

START_TEST(what_an_agent_says_in_words_holds_up_its_own_run_only)
{
    struct cmd_repository_put *cmd = cmd_repository_put_new();
    cmd->name = "acme/words";
    cmd->config = str_of(arena_printf(
        &lab.arena, "{\"url\":\"/srv/git/x.git\",\"agent\":{\"command\":[\"./agent\"],%s}}",
        words[_i].agent));
    ck_assert_int_eq(lab_call(&lab, &cmd->base), RC_OK);
    command_free(&cmd->base);
    struct id run_id = lab_submit(&lab, "acme/words");
    to_agent();
    struct job_row job = lab_take(&lab, "agent");
    lab_finish(&lab, &job,
               arena_printf(&lab.arena, "{\"outcome\":\"quota\",\"report\":\"error\",%s}",
                            words[_i].result));
    struct run_row run = lab_run(&lab, &run_id);
    ck_assert_int_eq(run.status, RUN_QUEUED);
    ck_assert_str_eq(run.deferred_reason, "agent_quota_reported");
    ck_assert_int_eq(run.held_until_us, lab.now_us + REST_MINUTES * US_PER_MINUTE);
    ck_assert_int_eq(told(EV_ACCOUNT_PARKED), 0);
    struct id other = lab_submit(&lab, "acme/words"), third = lab_submit(&lab, "acme/billing");
    ck_assert_int_eq(lab_run(&lab, &other).status, RUN_PREPARING);
    ck_assert_int_eq(lab_run(&lab, &third).status, RUN_PREPARING);
    ck_assert_int_eq(lab_run(&lab, &run_id).status, RUN_QUEUED);
    lab_pass_ms(&lab, REST_MINUTES * 60000);
    ck_assert_int_eq(lab_run(&lab, &run_id).status, RUN_PREPARING);
}
END_TEST

START_TEST(a_reset_beyond_the_window_of_the_provider_is_not_believed)
{
    struct id run_id = lab_submit(&lab, "acme/other");
    to_agent();
    struct job_row job = lab_take(&lab, "agent");
    lab_finish(&lab, &job, limit_at(30 * INT64_C(24) * 3600000));
    ck_assert_int_eq(account("default:claude").parked_until_us, lab.now_us + 7 * US_PER_DAY);
    ck_assert_int_eq(lab_run(&lab, &run_id).status, RUN_QUEUED);
}
END_TEST

static int count_started(const struct id *ids, size_t count)
{
    int started = 0;
    for (size_t i = 0; i < count; i++)
        started += run_is_active(lab_run(&lab, &ids[i]).status);
    return started;
}

/* Three runs wait; the first of them has met a limit of a day. */
static void park_for_a_day(struct id ids[3])
{
    ids[0] = lab_submit(&lab, "acme/other");
    to_agent();
    struct job_row job = lab_take(&lab, "agent");
    lab_finish(&lab, &job, limit_at(24 * INT64_C(3600000)));
    ids[1] = lab_submit(&lab, "acme/other");
    ids[2] = lab_submit(&lab, "acme/billing");
    ck_assert_int_eq(count_started(ids, 3), 0);
}

/* The job of the agent of the run that is the probe now. */
static struct job_row take_probe(void)
{
    struct job_row job = lab_take(&lab, "prepare");
    struct account_row row = account("default:claude");
    ck_assert(id_same(&row.probe_run_id, &job.run_id));
    lab_finish(&lab, &job, RESULT_PREPARE);
    if (lab_run(&lab, &job.run_id).status == RUN_CONTEXT_LOADING) {
        job = lab_take(&lab, "hydrate");
        lab_finish(&lab, &job, RESULT_HYDRATE);
    }
    return lab_take(&lab, "agent");
}

START_TEST(one_run_at_a_time_probes_a_parked_account_less_and_less_often)
{
    static const int minutes[] = {15, 30, 60, 120, 120};
    struct id ids[3];
    park_for_a_day(ids);
    for (size_t i = 0; i < COUNT_OF(minutes); i++) {
        lab_pass_ms(&lab, minutes[i] * 60000 - 1000);
        ck_assert_int_eq(count_started(ids, 3), 0);
        lab_pass_ms(&lab, 1000);
        ck_assert_int_eq(count_started(ids, 3), 1);
        ck_assert_int_eq(told(EV_ACCOUNT_PROBED), (int)i + 1);
        struct job_row job = take_probe();
        ck_assert_uint_eq(leasable("drover.prepare"), 0);
        lab_finish(&lab, &job, limit_at(20 * INT64_C(3600000)));
        ck_assert_int_eq(count_started(ids, 3), 0);
    }
    ck_assert_int_eq(told(EV_ACCOUNT_RESUMED), 0);
}
END_TEST

/* While the probe works, and when it has ended. */
START_TEST(a_probe_that_succeeds_lifts_the_parking_for_all)
{
    struct id ids[3];
    park_for_a_day(ids);
    lab_pass_ms(&lab, 15 * 60000);
    struct job_row job = take_probe();
    if (_i == 0) { /* A request that was refused is no proof. */
        report(&job, "{\"turns\":1,\"inputTokens\":9,\"outputTokens\":0}");
        ck_assert_int_eq(told(EV_ACCOUNT_RESUMED), 0);
        report(&job, "{\"turns\":2,\"inputTokens\":9,\"outputTokens\":3}");
    } else {
        lab_finish(&lab, &job, RESULT_AGENT);
    }
    ck_assert_int_eq(told(EV_ACCOUNT_RESUMED), 1);
    ck_assert_int_eq(account("default:claude").parked_until_us, 0);
    ck_assert_int_eq(count_started(ids, 3), 3);
}
END_TEST

START_TEST(a_probe_that_is_gone_makes_room_for_the_next)
{
    struct id ids[3];
    park_for_a_day(ids);
    lab_pass_ms(&lab, 15 * 60000);
    ck_assert_int_eq(count_started(ids, 3), 1);
    lab_pass_ms(&lab, 30 * 60000); /* It is still at work: no other starts. */
    ck_assert_int_eq(count_started(ids, 3), 1);
    struct account_row row = account("default:claude");
    struct cmd_cancel *cmd = cmd_cancel_new();
    cmd->task_id = lab_run(&lab, &row.probe_run_id).task_id;
    ck_assert_int_eq(lab_call(&lab, &cmd->base), RC_OK);
    command_free(&cmd->base);
    ck_assert_int_eq(count_started(ids, 3), 1);
    ck_assert_int_eq(told(EV_ACCOUNT_PROBED), 2);
    lab_pass_ms(&lab, 24 * INT64_C(3600000));
    ck_assert_int_eq(account("default:claude").parked_until_us, 0);
}
END_TEST

START_TEST(a_claimed_cost_counts_in_full_for_its_run_and_within_its_budget_for_the_day)
{
    teardown();
    lab_open(&lab, &(struct lab_options){.limits = {.cost_per_day_microusd = 10000000}});
    setup_repositories();
    struct id liar = lab_submit(&lab, _i == 0 ? "acme/billing" : "acme/other");
    to_agent();
    struct job_row job = lab_take(&lab, "agent");
    report(&job, "{\"turns\":1,\"costUsd\":500}");
    ck_assert_int_eq(lab_run(&lab, &liar).cost_microusd, 500000000);
    struct id honest = lab_submit(&lab, "acme/other");
    ck_assert_int_eq(lab_run(&lab, &honest).status, RUN_PREPARING);
    lab_finish(&lab, &job, "{\"outcome\":\"budget_limit\",\"report\":\"unknown\",\"costUsd\":500}");
    ck_assert_str_eq(lab_run(&lab, &liar).error_code, "max_budget_exceeded");
    honest = lab_submit(&lab, "acme/billing");
    ck_assert_int_eq(lab_run(&lab, &honest).status, RUN_PREPARING);
}
END_TEST

Suite *accounts_suite(void)
{
    Suite *suite = suite_create("accounts");
    TCase *tests = tcase_create("accounts");
    tcase_set_timeout(tests, 60);
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, a_limit_parks_the_account_and_queues_the_run_until_the_reset);
    tcase_add_test(tests,
                   a_reset_that_has_passed_meanwhile_parks_for_a_moment_and_longer_each_time);
    tcase_add_test(tests, no_other_run_of_the_account_starts_meanwhile_and_runs_of_others_do);
    tcase_add_test(tests, a_long_line_of_a_parked_account_holds_up_nobody_else);
    tcase_add_test(tests, a_provider_that_does_not_say_is_left_alone_for_longer_every_time);
    tcase_add_test(tests, a_person_takes_it_into_use_before_the_time);
    tcase_add_test(tests, a_parked_run_can_be_cancelled);
    tcase_add_test(tests, a_plan_waits_for_its_account_as_well);
    tcase_add_test(tests, what_an_agent_uses_is_seen_while_it_works_and_counted_once);
    tcase_add_loop_test(tests, no_attempt_begins_without_turns_or_money, 0, 2);
    tcase_add_test(tests, a_denied_tool_fails_the_run_for_good);
    tcase_add_loop_test(tests, what_an_agent_says_in_words_holds_up_its_own_run_only, 0,
                        (int)COUNT_OF(words));
    tcase_add_test(tests, a_reset_beyond_the_window_of_the_provider_is_not_believed);
    tcase_add_test(tests, one_run_at_a_time_probes_a_parked_account_less_and_less_often);
    tcase_add_loop_test(tests, a_probe_that_succeeds_lifts_the_parking_for_all, 0, 2);
    tcase_add_test(tests, a_probe_that_is_gone_makes_room_for_the_next);
    tcase_add_loop_test(
        tests, a_claimed_cost_counts_in_full_for_its_run_and_within_its_budget_for_the_day, 0, 2);
    suite_add_tcase(suite, tests);
    return suite;
}
