/*
 * test_account_pool.c - runs share a pool of accounts: who gets which, one run in a home, another
 * account or agent when one is used up.
 */
#include "control/admit/decide.h"
#include "control/admit/repositories.h"
#include "control/run/accounts.h"
#include "control/run/stop.h"
#include "core/agent/account_windows.h"
#include "core/event_types.h"
#include "core/run/admission.h"
#include "store/approvals.h"
#include "tests/unit/lab.h"
#include <check.h>
#include <string.h>

static struct lab lab;

/* Two with a home, one by variables that is dear, and one of another provider. */
static const struct account_config accounts[] = {
    {.name = "one", .provider = "claude", .home = "/srv/one", .max_runs = 1, .price = 1},
    {.name = "two", .provider = "claude", .home = "/srv/two", .max_runs = 1, .price = 1},
    {.name = "dear",
     .provider = "claude",
     .env = {"ANTHROPIC_API_KEY=$DEAR"},
     .price = 9,
     .model = "opus"},
    {.name = "other", .provider = "codex", .max_runs = 1, .price = 1},
    {.name = "saved", .provider = "claude", .price = 1, .reserve = 0.5},
};

static void put(const char *name, const char *agent)
{
    struct cmd_repository_put *cmd = cmd_repository_put_new();
    cmd->name = name;
    cmd->config = str_of(arena_printf(
        &lab.arena, "{\"url\":\"/srv/git/x.git\"" LAB_VERIFY ",\"agent\":{%s}}", agent));
    ck_assert_msg(lab_call(&lab, &cmd->base) == RC_OK, "%s", cmd->base.err.text);
    command_free(&cmd->base);
}

#define CLAUDE "\"command\":[\"./agent\"],\"adapter\":\"claude\","

static void open_lab(int engine)
{
    lab_open(&lab,
             &(struct lab_options){.engine = engine, .accounts = {accounts, COUNT_OF(accounts)}});
    put("acme/homes", CLAUDE "\"accounts\":[\"one\",\"two\"]");
    put("acme/dear", CLAUDE "\"accounts\":[\"one\",\"dear\"]");
    put("acme/falls",
        CLAUDE "\"account\":\"one\",\"fallback\":[{\"use\":\"codex\",\"model\":\"m\"},"
               "{\"command\":[\"./last\"],\"account\":\"plain\"}]");
    put("acme/saved", CLAUDE "\"accounts\":[\"saved\"]");
    put("acme/gone", CLAUDE "\"accounts\":[\"misspelt\"]");
    put("acme/words", "\"command\":[\"./agent\"],\"accounts\":[\"one\",\"two\"]");
}

static void setup(void)
{
    open_lab(LAB_SQLITE);
}

static void teardown(void)
{
    lab_check(&lab);
    lab_close(&lab);
}

/* ---- looking ---- */

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

static void check_has(const struct id *run_id, const char *name)
{
    struct run_row run = lab_run(&lab, run_id);
    ck_assert_int_eq(run.status, RUN_PREPARING);
    ck_assert_str_eq(run.account, name);
}

static void check_waits(const struct id *run_id, enum admission_check check)
{
    struct run_row run = lab_run(&lab, run_id);
    ck_assert_int_eq(run.status, RUN_QUEUED);
    ck_assert_str_eq(run.deferred_reason, admission_reason(check));
}

/* ---- moving ---- */

static void prepare(const struct id *run_id)
{
    struct job_row job = lab_take(&lab, "prepare");
    ck_assert(id_same(&job.run_id, run_id));
    lab_finish(&lab, &job, RESULT_PREPARE);
    if (lab_run(&lab, run_id).status == RUN_CONTEXT_LOADING)
        lab_step(&lab, "hydrate", RESULT_HYDRATE);
}

static struct job_row to_agent(const struct id *run_id)
{
    prepare(run_id);
    struct job_row job = lab_take(&lab, "agent");
    ck_assert(id_same(&job.run_id, run_id));
    return job;
}

static const char *limit_in(int64_t ms)
{
    char at[TIME_TEXT_BYTES];
    return arena_printf(&lab.arena,
                        "{\"outcome\":\"quota\",\"report\":\"error\",\"costUsd\":0.25,"
                        "\"exited\":true,\"exitCode\":1,\"quota\":{\"record\":true,\"ended\":true,"
                        "\"resetsAt\":\"%s\",\"message\":\"used up\"}}",
                        time_format(at, lab.now_us + ms * US_PER_MS));
}

static void report_window(const struct job_row *job, const char *status, double used)
{
    char at[TIME_TEXT_BYTES];
    (void)lab_progress(&lab, job,
                       arena_printf(&lab.arena,
                                    "[{\"type\":\"agent.account.usage\",\"data\":{\"window\":"
                                    "\"five_hour\",\"utilization\":%g,\"status\":\"%s\","
                                    "\"account\":\"two\",\"resetsAt\":\"%s\"}}]",
                                    used, status, time_format(at, lab.now_us + US_PER_HOUR)));
}

static void begin_session(const struct job_row *job)
{
    (void)lab_progress(&lab, job,
                       "[{\"type\":\"agent.session.started\",\"data\":{\"sessionId\":\"s1\"}}]");
}

/* ---- one run in a home ---- */

START_TEST(each_home_has_one_run_and_the_third_waits_for_the_first_to_end)
{
    teardown();
    open_lab(_i);
    struct id first = lab_submit(&lab, "acme/homes"), second = lab_submit(&lab, "acme/homes");
    struct id third = lab_submit(&lab, "acme/homes");
    check_has(&first, "one");
    check_has(&second, "two");
    check_waits(&third, CHECK_ACCOUNT);
    ck_assert_str_eq(lab_run(&lab, &third).pool, "one two");
    ck_assert_ptr_nonnull(strstr(lab_run(&lab, &third).deferred_detail, "account two has as many"));
    ck_assert_int_eq(lab_count_events(&lab, &first, EV_ACCOUNT_CHOSEN), 1);
    struct job_row *jobs;
    ck_assert_uint_eq(lab_lease(&lab, "drover.prepare", "node-1/0", &jobs), 2);
    lab_finish(&lab, &jobs[0], RESULT_PREPARE);
    lab_step(&lab, "hydrate", RESULT_HYDRATE);
    struct job_row job = lab_take(&lab, "agent");
    ck_assert_ptr_nonnull(strstr(job.payload.at, "\"account\":{\"name\":\"one\""));
    ck_assert_ptr_nonnull(strstr(job.payload.at, "\"home\":\"/srv/one\""));
    lab_finish(&lab, &job, RESULT_AGENT);
    check_waits(&third, CHECK_ACCOUNT); /* A repair would continue in the home. */
    lab_step(&lab, "verify", RESULT_VERIFIED);
    lab_step(&lab, "judge", RESULT_JUDGED);
    committer_want_admission(lab.committer); /* From creating_pr on no agent works. */
    lab_rounds(&lab);
    check_has(&third, "one");
    ck_assert_int_eq(lab_run(&lab, &first).status, RUN_CREATING_PR);
}
END_TEST

START_TEST(a_run_that_ends_makes_room_at_once)
{
    struct id first = lab_submit(&lab, "acme/homes");
    (void)lab_submit(&lab, "acme/homes");
    struct id third = lab_submit(&lab, "acme/homes");
    check_waits(&third, CHECK_ACCOUNT);
    lab_cancel(&lab, &first);
    check_has(&third, "one");
    ck_assert_ptr_null(lab_run(&lab, &third).pool);
}
END_TEST

START_TEST(a_long_line_for_a_full_pool_holds_up_nobody_else)
{
    enum { MORE_THAN_A_ROUND_LOOKS_AT = 1010 };
    for (int i = 0; i < MORE_THAN_A_ROUND_LOOKS_AT; i++)
        (void)lab_submit(&lab, "acme/homes");
    put("acme/homes", CLAUDE "\"account\":\"else\"");
    struct id other = lab_submit(&lab, "acme/homes");
    check_has(&other, "else");
}
END_TEST

START_TEST(a_repair_continues_with_its_account)
{
    struct id run_id = lab_submit(&lab, "acme/homes");
    struct job_row job = to_agent(&run_id);
    int64_t since_us = lab_run(&lab, &run_id).account_us;
    ck_assert_int_gt(since_us, 0);
    lab_pass_ms(&lab, 5000);
    begin_session(&job);
    lab_finish(&lab, &job, RESULT_AGENT);
    lab_step(&lab, "verify", RESULT_UNVERIFIED);
    job = lab_take(&lab, "agent");
    ck_assert_ptr_nonnull(strstr(job.payload.at, "\"account\":{\"name\":\"one\""));
    ck_assert_int_eq(lab_run(&lab, &run_id).account_us, since_us); /* The same home. */
    ck_assert_ptr_nonnull(strstr(job.payload.at, "\"session\":\"s1\""));
    ck_assert_int_eq(lab_count_events(&lab, &run_id, EV_ACCOUNT_CHOSEN), 1);
}
END_TEST

static void approve(const struct id *run_id)
{
    struct waiting_filter filter = {.status = "pending", .run_id = *run_id, .limit = 1};
    struct approval_row *rows;
    size_t count;
    struct err err = {0};
    ck_assert_int_eq(approvals_list(lab.db, &filter, &lab.arena, &rows, &count, &err), RC_OK);
    ck_assert_uint_eq(count, 1);
    struct cmd_decide *cmd = cmd_decide_new();
    cmd->approval_id = rows[0].id;
    cmd->approve = true;
    ck_assert_msg(lab_call(&lab, &cmd->base) == RC_OK, "%s", cmd->base.err.text);
    command_free(&cmd->base);
}

/* While a person looks at its plan others may have the home of a run. */
START_TEST(a_run_that_was_asked_about_gets_an_account_anew)
{
    struct cmd_repository_put *cmd = cmd_repository_put_new();
    cmd->name = "acme/plans";
    cmd->config = STR("{\"url\":\"/srv/git/x.git\",\"agent\":{" CLAUDE
                      "\"accounts\":[\"one\",\"two\"]},\"plan\":{\"approval\":\"always\"}}");
    ck_assert_msg(lab_call(&lab, &cmd->base) == RC_OK, "%s", cmd->base.err.text);
    command_free(&cmd->base);
    struct id run_id = lab_submit(&lab, "acme/plans");
    prepare(&run_id);
    lab_step(&lab, "plan", RESULT_PLANNED);
    ck_assert_int_eq(lab_run(&lab, &run_id).status, RUN_AWAITING_APPROVAL);
    int64_t since_us = lab_run(&lab, &run_id).account_us;
    struct id other = {0}, others[2];
    if (_i != 0) { /* One run in both homes, or in its own one. */
        put("acme/one", CLAUDE "\"account\":\"one\"");
        lab_pass_ms(&lab, 1000);
        other = lab_submit(&lab, "acme/one");
        check_has(&other, "one");
    }
    if (_i == 1)
        lab_cancel(&lab, &other);
    if (_i == 3) {
        others[0] = lab_submit(&lab, "acme/homes");
        check_has(&others[0], "two");
    }
    approve(&run_id);
    struct run_row run = lab_run(&lab, &run_id);
    if (_i == 0) {
        ck_assert_str_eq(run.account, "one");
        ck_assert_int_eq(run.account_us, since_us);
    } else if (_i == 1) { /* Another had it meanwhile: its home is made anew. */
        ck_assert_str_eq(run.account, "one");
        ck_assert_int_gt(run.account_us, since_us);
    } else if (_i == 2) {
        ck_assert_int_eq(run.status, RUN_RUNNING);
        ck_assert_str_eq(run.account, "two");
    } else {
        check_waits(&run_id, CHECK_ACCOUNT);
    }
}
END_TEST

/* ---- choosing ---- */

START_TEST(the_cheapest_is_taken_and_the_dear_one_when_it_must_be)
{
    struct id first = lab_submit(&lab, "acme/dear"), second = lab_submit(&lab, "acme/dear");
    struct id third = lab_submit(&lab, "acme/dear");
    check_has(&first, "one");
    check_has(&second, "dear");
    check_has(&third, "dear"); /* It has no limit. */
    struct job_row *jobs;
    ck_assert_uint_eq(lab_lease(&lab, "drover.prepare", "node-1/0", &jobs), 3);
    for (int i = 0; i < 3; i++)
        lab_finish(&lab, &jobs[i], RESULT_PREPARE);
    ck_assert_uint_eq(lab_lease(&lab, "drover.hydrate", "node-1/0", &jobs), 3);
    for (int i = 0; i < 3; i++)
        lab_finish(&lab, &jobs[i], RESULT_HYDRATE);
    ck_assert_uint_eq(lab_lease(&lab, "drover.agent", "node-1/0", &jobs), 3);
    ck_assert_ptr_nonnull(strstr(jobs[1].payload.at, "\"ANTHROPIC_API_KEY=$DEAR\""));
    ck_assert_ptr_nonnull(strstr(jobs[1].payload.at, "\"model\":\"opus\""));
}
END_TEST

START_TEST(without_names_a_profile_has_all_accounts_of_its_provider)
{
    put("acme/all", "\"use\":\"claude\"");
    static const char *const want[] = {"one", "two", "saved", "saved"};
    for (size_t i = 0; i < COUNT_OF(want); i++) {
        struct id run_id = lab_submit(&lab, "acme/all");
        check_has(&run_id, want[i]);
        ck_assert_str_eq(lab_run(&lab, &run_id).agent, "claude");
        lab_pass_ms(&lab, 1000);
    }
    put("acme/none", "\"use\":\"gemini\""); /* There is none: as without a pool. */
    struct id run_id = lab_submit(&lab, "acme/none");
    check_has(&run_id, "default:gemini");
    ck_assert_int_eq(lab_run(&lab, &run_id).account_us, 0);
}
END_TEST

START_TEST(an_account_that_is_not_configured_is_never_used_by_a_list)
{
    struct id run_id = lab_submit(&lab, "acme/gone");
    check_waits(&run_id, CHECK_ACCOUNT);
    ck_assert_str_eq(lab_run(&lab, &run_id).deferred_detail,
                     "account misspelt is not in the server's configuration");
}
END_TEST

/* ---- limits ---- */

START_TEST(a_run_that_meets_a_limit_moves_to_the_next_account_at_once)
{
    struct id run_id = lab_submit(&lab, "acme/homes");
    struct job_row job = to_agent(&run_id);
    lab_finish(&lab, &job, limit_in(60000));
    ck_assert_int_eq(account("one").parked_until_us, lab.now_us + 60 * US_PER_SECOND);
    check_has(&run_id, "two");
    ck_assert_int_eq(lab_run(&lab, &run_id).attempt, 1);
    ck_assert_int_eq(lab_count_events(&lab, &run_id, EV_ACCOUNT_CHOSEN), 2);
    job = to_agent(&run_id);
    ck_assert_ptr_nonnull(strstr(job.payload.at, "\"account\":{\"name\":\"two\""));
    /* The other one meets it as well: the earliest reset is waited for. */
    lab_finish(&lab, &job, limit_in(30000));
    check_waits(&run_id, CHECK_QUOTA);
    char at[TIME_TEXT_BYTES];
    ck_assert_ptr_nonnull(strstr(lab_run(&lab, &run_id).deferred_detail,
                                 arena_printf(&lab.arena, "two waits for its reset at %s",
                                              time_format(at, lab.now_us + 30 * US_PER_SECOND))));
    lab_pass_ms(&lab, 29999);
    check_waits(&run_id, CHECK_QUOTA);
    lab_pass_ms(&lab, 1);
    check_has(&run_id, "two");
    lab_pass_ms(&lab, 30000);
    ck_assert_int_eq(account("one").parked_until_us, 0);
}
END_TEST

START_TEST(what_a_run_has_cost_is_booked_where_it_was_spent)
{
    struct id run_id = lab_submit(&lab, "acme/homes");
    struct job_row job = to_agent(&run_id);
    lab_finish(&lab, &job, limit_in(60000)); /* 0.25 USD */
    ck_assert_int_eq(account("one").total_microusd, 250000);
    ck_assert_int_eq(account("one").day_microusd, 250000);
    job = to_agent(&run_id);
    lab_finish(&lab, &job, RESULT_AGENT); /* 0.5 USD */
    ck_assert_int_eq(account("two").total_microusd, 0);
    lab_cancel(&lab, &run_id);
    ck_assert_int_eq(lab_run(&lab, &run_id).status, RUN_CANCELLED);
    ck_assert_int_eq(account("one").total_microusd, 250000);
    ck_assert_int_eq(account("two").total_microusd, 500000);
    lab_pass_ms(&lab, 24 * INT64_C(3600000));
    struct id next = lab_submit(&lab, "acme/homes");
    job = to_agent(&next);
    (void)lab_progress(&lab, &job,
                       "[{\"type\":\"agent.model.turn.completed\",\"data\":{\"turns\":1,"
                       "\"costUsd\":1}}]");
    lab_cancel(&lab, &next);
    lab_finish(&lab, &job, "{\"outcome\":\"ended\",\"report\":\"unknown\",\"costUsd\":1}");
    ck_assert_int_eq(account("one").total_microusd, 1250000);
    ck_assert_int_eq(account("one").day_microusd, 1000000); /* Of the new day. */
}
END_TEST

START_TEST(words_about_a_limit_move_only_their_own_run_and_each_account_once)
{
    static const char said[] = "{\"outcome\":\"quota\",\"report\":\"error\",\"exited\":true,"
                               "\"exitCode\":1,\"quota\":{\"message\":\"try later\"}}";
    struct id run_id = lab_submit(&lab, "acme/words");
    struct job_row job = to_agent(&run_id);
    lab_finish(&lab, &job, said);
    check_has(&run_id, "two");
    job = to_agent(&run_id);
    lab_finish(&lab, &job, said);
    check_waits(&run_id, CHECK_REPORTED_QUOTA); /* It has tried them all. */
    struct id other = lab_submit(&lab, "acme/words"), third = lab_submit(&lab, "acme/homes");
    check_has(&other, "one");
    check_has(&third, "two");
    ck_assert_int_eq(account("one").parked_until_us, 0);
    lab_cancel(&lab, &other);
    check_waits(&run_id, CHECK_REPORTED_QUOTA);
    lab_pass_ms(&lab, 31 * INT64_C(60000));
    check_has(&run_id, "one");
}
END_TEST

START_TEST(a_fallback_is_used_when_no_account_of_the_first_is_free)
{
    struct id first = lab_submit(&lab, "acme/falls");
    check_has(&first, "one");
    ck_assert_str_eq(lab_run(&lab, &first).agent, "claude");
    ck_assert_int_eq(lab_run(&lab, &first).fallback, 0);
    struct id second = lab_submit(&lab, "acme/falls"), third = lab_submit(&lab, "acme/falls");
    check_has(&second, "other"); /* All accounts of its provider. */
    ck_assert_str_eq(lab_run(&lab, &second).agent, "codex");
    ck_assert_str_eq(lab_run(&lab, &second).model, "m");
    ck_assert_int_eq(lab_run(&lab, &second).fallback, 1);
    check_has(&third, "plain");
    ck_assert_str_eq(lab_run(&lab, &third).agent, "none");
    ck_assert_int_eq(lab_run(&lab, &third).fallback, 2);
    ck_assert_int_eq(lab_count_events(&lab, &third, EV_ACCOUNT_CHOSEN), 1);
    struct job_row *jobs;
    ck_assert_uint_eq(lab_lease(&lab, "drover.prepare", "node-1/0", &jobs), 3);
    lab_finish(&lab, &jobs[1], RESULT_PREPARE);
    lab_step(&lab, "hydrate", RESULT_HYDRATE);
    struct job_row job = lab_take(&lab, "agent");
    ck_assert_ptr_nonnull(strstr(job.payload.at, "\"fallback\":1,"));
    ck_assert_ptr_nonnull(strstr(job.payload.at, "\"account\":{\"name\":\"other\""));
    /* A record of codex parks the account of codex. */
    lab_finish(&lab, &job, limit_in(60000));
    ck_assert_int_gt(account("other").parked_until_us, 0);
    ck_assert_int_eq(account("one").parked_until_us, 0);
    check_has(&second, "plain");
}
END_TEST

/* ---- hints ---- */

START_TEST(the_next_attempt_and_the_next_run_go_elsewhere_before_a_limit_is_met)
{
    struct id run_id = lab_submit(&lab, "acme/homes");
    struct job_row job = to_agent(&run_id);
    if (_i == 0)
        report_window(&job, "allowed_warning", 0.8);
    else
        report_window(&job, "allowed", 1);
    struct account_windows windows;
    struct err err = {0};
    ck_assert_int_eq(account_windows_parse(account("one").windows, &lab.arena, &windows, &err),
                     RC_OK);
    ck_assert_uint_eq(windows.count, 1);
    ck_assert_str_eq(windows.items[0].name, "five_hour");
    ck_assert_uint_eq(account("two").windows.len, 0); /* Never one that an agent names. */
    ck_assert_int_eq(account("one").parked_until_us, 0);
    /* The agent that works is left alone; its next attempt is not. */
    begin_session(&job);
    ck_assert_str_eq(lab_run(&lab, &run_id).agent_session, "s1");
    lab_finish(&lab, &job, RESULT_AGENT);
    ck_assert_str_eq(lab_run(&lab, &run_id).account, "one");
    lab_step(&lab, "verify", RESULT_UNVERIFIED);
    ck_assert_str_eq(lab_run(&lab, &run_id).account, "two");
    job = lab_take(&lab, "agent");
    ck_assert_ptr_nonnull(strstr(job.payload.at, "\"account\":{\"name\":\"two\""));
    ck_assert_ptr_null(strstr(job.payload.at, "\"session\":")); /* It is in the other home. */
    /* It is a hint: where there is no other, a run uses the account all the same. */
    struct id next = lab_submit(&lab, "acme/homes");
    check_has(&next, "one");
    lab_cancel(&lab, &next);
    lab_cancel(&lab, &run_id);
    lab_finish(&lab, &job, RESULT_AGENT);
    struct id third = lab_submit(&lab, "acme/homes");
    check_has(&third, "two");
    lab_cancel(&lab, &third);
    lab_pass_ms(&lab, 3600000); /* With its reset it is over. */
    struct id last = lab_submit(&lab, "acme/homes");
    check_has(&last, "one");
}
END_TEST

START_TEST(a_reserve_is_kept_until_the_window_is_over)
{
    struct id run_id = lab_submit(&lab, "acme/saved");
    struct job_row job = to_agent(&run_id);
    report_window(&job, "allowed", 0.4);
    struct id second = lab_submit(&lab, "acme/saved");
    check_has(&second, "saved");
    report_window(&job, "allowed", 0.6);
    struct id third = lab_submit(&lab, "acme/saved");
    check_waits(&third, CHECK_QUOTA);
    ck_assert_ptr_nonnull(strstr(lab_run(&lab, &third).deferred_detail, "reserve"));
    ck_assert_int_eq(account("saved").parked_until_us, 0);
    lab_pass_ms(&lab, 3600000);
    check_has(&third, "saved");
}
END_TEST

static const struct {
    const char *what, *agent;
} unbelieved[] = {
    {"a format that anybody can write", "\"command\":[\"./agent\"],\"adapter\":\"ndjson\""},
    {"an agent that leases its work", "\"compute\":\"pull\",\"queue\":\"far\""},
};

START_TEST(what_is_no_record_is_no_hint)
{
    put("acme/liar", unbelieved[_i].agent);
    struct id run_id = lab_submit(&lab, "acme/liar");
    prepare(&run_id);
    struct job_row *jobs;
    ck_assert_uint_eq(lab_lease(&lab, _i == 0 ? "drover.agent" : "far", "node-1/0", &jobs), 1);
    report_window(&jobs[0], "rejected", 1);
    ck_assert_uint_eq(account(lab_run(&lab, &run_id).account).windows.len, 0);
}
END_TEST

/* ---- by hand ---- */

static enum rc by_hand(struct cmd_account *cmd, const char *name, int64_t in_ms)
{
    cmd->name = name;
    cmd->until_us = lab.now_us + in_ms * US_PER_MS;
    enum rc rc = lab_call(&lab, &cmd->base);
    command_free(&cmd->base);
    return rc;
}

START_TEST(a_person_parks_an_account_and_no_probe_tries_it)
{
    ck_assert_int_eq(by_hand(cmd_account_park_new(), "nobody", 1000), RC_NOT_FOUND);
    ck_assert_int_eq(by_hand(cmd_account_park_new(), "one", -1000), RC_INVALID);
    ck_assert_int_eq(by_hand(cmd_account_park_new(), "saved", 3600000), RC_OK);
    struct id run_id = lab_submit(&lab, "acme/saved");
    check_waits(&run_id, CHECK_QUOTA);
    lab_pass_ms(&lab, 3599000);
    check_waits(&run_id, CHECK_QUOTA);
    lab_pass_ms(&lab, 1000);
    check_has(&run_id, "saved");
    ck_assert_int_eq(by_hand(cmd_account_park_new(), "saved", 3600000), RC_OK);
    struct id next = lab_submit(&lab, "acme/saved");
    ck_assert_int_eq(by_hand(cmd_account_resume_new(), "saved", 0), RC_OK);
    check_has(&next, "saved");
}
END_TEST

START_TEST(a_probe_tries_a_parked_account_of_a_pool_when_nothing_else_is_free)
{
    struct id first = lab_submit(&lab, "acme/homes");
    struct job_row job = to_agent(&first);
    lab_finish(&lab, &job, limit_in(24 * INT64_C(3600000)));
    check_has(&first, "two");
    struct id second = lab_submit(&lab, "acme/homes");
    check_waits(&second, CHECK_ACCOUNT);
    lab_pass_ms(&lab, 15 * 60000);
    check_has(&second, "one");
    struct account_row row = account("one");
    ck_assert(id_same(&row.probe_run_id, &second));
    lab_cancel(&lab, &first);
    job = to_agent(&second); /* It keeps what it tries. */
    ck_assert_ptr_nonnull(strstr(job.payload.at, "\"account\":{\"name\":\"one\""));
    lab_finish(&lab, &job, RESULT_AGENT);
    ck_assert_int_eq(account("one").parked_until_us, 0);
}
END_TEST

Suite *account_pool_suite(void)
{
    Suite *suite = suite_create("account_pool");
    TCase *tests = tcase_create("account_pool");
    tcase_set_timeout(tests, 60);
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_loop_test(tests, each_home_has_one_run_and_the_third_waits_for_the_first_to_end, 0,
                        lab_engines());
    tcase_add_test(tests, a_run_that_ends_makes_room_at_once);
    tcase_add_test(tests, a_long_line_for_a_full_pool_holds_up_nobody_else);
    tcase_add_test(tests, a_repair_continues_with_its_account);
    tcase_add_loop_test(tests, a_run_that_was_asked_about_gets_an_account_anew, 0, 4);
    tcase_add_test(tests, the_cheapest_is_taken_and_the_dear_one_when_it_must_be);
    tcase_add_test(tests, without_names_a_profile_has_all_accounts_of_its_provider);
    tcase_add_test(tests, an_account_that_is_not_configured_is_never_used_by_a_list);
    tcase_add_test(tests, a_run_that_meets_a_limit_moves_to_the_next_account_at_once);
    tcase_add_test(tests, what_a_run_has_cost_is_booked_where_it_was_spent);
    tcase_add_test(tests, words_about_a_limit_move_only_their_own_run_and_each_account_once);
    tcase_add_test(tests, a_fallback_is_used_when_no_account_of_the_first_is_free);
    tcase_add_loop_test(tests, the_next_attempt_and_the_next_run_go_elsewhere_before_a_limit_is_met,
                        0, 2);
    tcase_add_test(tests, a_reserve_is_kept_until_the_window_is_over);
    tcase_add_loop_test(tests, what_is_no_record_is_no_hint, 0, (int)COUNT_OF(unbelieved));
    tcase_add_test(tests, a_person_parks_an_account_and_no_probe_tries_it);
    tcase_add_test(tests, a_probe_tries_a_parked_account_of_a_pool_when_nothing_else_is_free);
    suite_add_tcase(suite, tests);
    return suite;
}
