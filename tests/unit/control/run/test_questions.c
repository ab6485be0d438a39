/*
 * test_questions.c - what agents ask people: a question outlives the agent that asked it, and the
 * answer reaches the agent, or the one after it.
 */
#include "base/clock.h"
#include "base/js_peek.h"
#include "control/admit/answer.h"
#include "control/queue/complete.h"
#include "control/run/stop.h"
#include "core/event_types.h"
#include "store/timers.h"
#include "tests/unit/lab.h"
#include <check.h>
#include <string.h>

static struct lab lab;

#define RESULT_ASKS                                                                     \
    "{\"outcome\":\"ended\",\"report\":\"success\",\"turns\":2,\"question\":{\"text\":" \
    "\"Which clock?\",\"options\":[\"wall\",\"mono\"],\"default\":\"mono\"},\"patch\":" \
    "{\"sha256\":\"bb\",\"files\":1,\"treeHash\":\"cc\"}}"
#define RESULT_QUOTA                                                                 \
    "{\"outcome\":\"quota\",\"report\":\"error\",\"quota\":{\"account\":\"claude\"," \
    "\"message\":\"limit\",\"record\":true,\"ended\":true}}"

static void setup(void)
{
    lab_open(&lab, NULL);
    lab_repository(&lab, "acme/billing", "\"policy\":{\"reminderMs\":60000}");
}

static void teardown(void)
{
    lab_check(&lab);
    lab_close(&lab);
}

static const struct question_spec which_clock = {.text = "Which clock?",
                                                 .options = {"wall", "mono"},
                                                 .option_count = 2,
                                                 .default_answer = "mono"};

static struct id ask_as(const struct id *run_id, const struct question_spec *spec)
{
    struct cmd_ask *cmd = cmd_ask_new();
    cmd->run_id = *run_id;
    cmd->spec = *spec;
    cmd->base.actor = (struct actor){"agent", run_id->text};
    ck_assert_msg(lab_call(&lab, &cmd->base) == RC_OK, "%s", cmd->base.err.text);
    struct id id = cmd->row.id;
    command_free(&cmd->base);
    lab_check(&lab);
    return id;
}

static struct id ask(const struct id *run_id)
{
    return ask_as(run_id, &which_clock);
}

static void answer(const struct id *id, const char *text)
{
    struct cmd_answer *cmd = cmd_answer_new();
    cmd->id = *id;
    cmd->answer = text;
    cmd->base.actor = (struct actor){"user", "ada"};
    ck_assert_msg(lab_call(&lab, &cmd->base) == RC_OK, "%s", cmd->base.err.text);
    command_free(&cmd->base);
    lab_check(&lab);
}

static struct question_row question(const struct id *id)
{
    struct question_row row;
    ck_assert_int_eq(questions_get(lab.db, id, &lab.arena, &row, NULL), RC_OK);
    return row;
}

static void expect(const struct id *run_id, enum run_status status)
{
    ck_assert_str_eq(run_status_name(lab_run(&lab, run_id).status), run_status_name(status));
    lab_check(&lab);
}

static struct id run_to_agent(void)
{
    struct id run_id = lab_submit(&lab, "acme/billing");
    lab_step(&lab, "prepare", RESULT_PREPARE);
    lab_step(&lab, "hydrate", RESULT_HYDRATE);
    return run_id;
}

static void release(const struct job_row *job)
{
    struct cmd_release *cmd = cmd_release_new();
    struct job_ref ref = {job->id, job->life.epoch};
    cmd->leases = &ref;
    cmd->count = 1;
    ck_assert_int_eq(lab_call(&lab, &cmd->base), RC_OK);
    command_free(&cmd->base);
}

#define ANSWER(answer, by) "\"question\":\"Which clock?\",\"answer\":" answer ",\"answeredBy\":" by
/* That no agent has had yet. */
#define ANSWERS(answer, by) "[{" ANSWER(answer, by) ",\"unread\":true}]"

static void expect_answers(const struct job_row *job, const char *want)
{
    struct str got = js_peek(job->payload, "answers");
    ck_assert_msg(str_is(got, want), "%.*s", (int)got.len, got.at);
}

/* ---- the agent is gone before the answer ---- */

static void lost(const struct job_row *job)
{
    (void)job;
    lab_pass_ms(&lab, 16000);
    lab_step(&lab, "prepare", RESULT_PREPARE);
}

static void released(const struct job_row *job)
{
    release(job);
    lab_step(&lab, "prepare", RESULT_PREPARE);
}

static void failed(const struct job_row *job)
{
    (void)lab_fail(&lab, job, "agent_start_failed", true);
}

static void ended(const struct job_row *job)
{
    lab_finish(&lab, job, RESULT_AGENT);
}

static void ended_badly(const struct job_row *job)
{
    lab_finish(&lab, job, "{\"outcome\":\"ended\",\"report\":\"error\",\"error\":\"killed\"}");
}

static const struct {
    void (*leave)(const struct job_row *job);
    int64_t attempt; /* The next one. */
} ways[] = {{lost, 1}, {released, 1}, {failed, 1}, {ended, 2}, {ended_badly, 2}};

START_TEST(a_question_outlives_its_agent_and_the_answer_starts_the_next)
{
    struct id run_id = run_to_agent();
    struct job_row job = lab_take(&lab, "agent");
    struct id id = ask(&run_id);
    ways[_i].leave(&job);
    expect(&run_id, RUN_AWAITING_APPROVAL);
    lab_pass_ms(&lab, 3600000);
    expect(&run_id, RUN_AWAITING_APPROVAL);
    answer(&id, "wall");
    expect(&run_id, RUN_RUNNING);
    struct run_row run = lab_run(&lab, &run_id);
    ck_assert_int_eq(run.attempt, ways[_i].attempt);
    ck_assert_int_eq(run.used[BUDGET_AGENT], 1);
    job = lab_take(&lab, "agent");
    expect_answers(&job, ANSWERS("\"wall\"", "\"ada\""));
    lab_finish(&lab, &job, RESULT_AGENT);
    expect(&run_id, RUN_VERIFYING);
}
END_TEST

START_TEST(a_question_of_a_gone_agent_expires_with_its_default)
{
    struct id run_id = run_to_agent();
    struct job_row job = lab_take(&lab, "agent");
    struct id id = ask(&run_id);
    ways[_i].leave(&job);
    lab_pass_ms(&lab, 86400000);
    ck_assert_str_eq(question(&id).status, "expired");
    expect(&run_id, RUN_RUNNING);
    job = lab_take(&lab, "agent");
    expect_answers(&job, ANSWERS("\"mono\"", "null"));
}
END_TEST

START_TEST(an_answer_between_two_agents_is_told_to_the_second)
{
    struct id run_id = run_to_agent();
    struct job_row job = lab_take(&lab, "agent");
    struct id id = ask(&run_id);
    release(&job);
    expect(&run_id, RUN_PREPARING);
    answer(&id, "mono");
    expect(&run_id, RUN_PREPARING);
    lab_step(&lab, "prepare", RESULT_PREPARE);
    expect(&run_id, RUN_RUNNING);
    job = lab_take(&lab, "agent");
    expect_answers(&job, ANSWERS("\"mono\"", "\"ada\""));
}
END_TEST

START_TEST(an_agent_may_end_with_its_question)
{
    struct id run_id = run_to_agent();
    lab_step(&lab, "agent", RESULT_ASKS);
    expect(&run_id, RUN_AWAITING_APPROVAL);
    struct run_row run = lab_run(&lab, &run_id);
    struct question_row row = question(&run.question_id);
    ck_assert_str_eq(row.text, "Which clock?");
    ck_assert(str_is(row.options, "[\"wall\",\"mono\"]"));
    ck_assert_str_eq(row.default_answer, "mono");
    ck_assert(!id_is_none(&run.patch_id)); /* What it had done is kept. */
    answer(&row.id, "mono");
    struct job_row job = lab_take(&lab, "agent");
    expect_answers(&job, ANSWERS("\"mono\"", "\"ada\""));
    ck_assert_int_eq(lab_run(&lab, &run_id).attempt, 2);
}
END_TEST

static const char *const bad_records[] = {
    "{}",
    "{\"text\":\"\"}",
    "{\"text\":\"x\\u0007\"}",
    "{\"text\":\"x\",\"options\":[1]}",
    "{\"text\":\"x\",\"options\":[\"a\",\"a\"]}",
    "{\"text\":\"x\",\"options\":[\"a\"],\"default\":\"b\"}",
    "{\"text\":\"x\",\"timeoutMs\":1}",
    "{\"text\":\"x\",\"more\":1}",
};

START_TEST(a_malformed_question_is_refused)
{
    (void)run_to_agent();
    struct job_row job = lab_take(&lab, "agent");
    struct job_answer told = lab_complete(
        &lab, &job,
        arena_printf(&lab.arena, "{\"outcome\":\"ended\",\"report\":\"success\",\"question\":%s}",
                     bad_records[_i]));
    ck_assert(!told.ok);
    ck_assert_str_eq(told.code, "RESULT_REFUSED");
}
END_TEST

START_TEST(a_plan_may_wait_for_an_answer)
{
    lab_repository(&lab, "acme/billing", "\"plan\":{\"approval\":\"never\"}");
    struct id run_id = run_to_agent();
    struct job_row job = lab_take(&lab, "plan");
    struct id id = ask(&run_id);
    if (_i == 0) {
        lab_finish(&lab, &job, RESULT_PLANNED);
    } else {
        release(&job);
        lab_step(&lab, "prepare", RESULT_PREPARE);
    }
    expect(&run_id, RUN_AWAITING_APPROVAL);
    answer(&id, "wall");
    expect(&run_id, RUN_PLANNING);
    job = lab_take(&lab, "plan");
    expect_answers(&job, ANSWERS("\"wall\"", "\"ada\""));
    lab_finish(&lab, &job, RESULT_PLANNED);
    expect(&run_id, RUN_RUNNING);
}
END_TEST

START_TEST(an_agent_elsewhere_may_be_gone_too)
{
    struct job_row *jobs;
    lab_far_repository(&lab, "acme/billing", NULL);
    struct id run_id = run_to_agent();
    ck_assert_uint_eq(lab_lease(&lab, "far", "away", &jobs), 1);
    struct id id = ask(&run_id);
    if (_i == 0) {
        release(&jobs[0]);
    } else {
        ck_assert(lab_claim(&lab, &jobs[0], "{\"status\":\"success\"}").ok);
        lab_step(&lab, "collect", RESULT_AGENT);
    }
    expect(&run_id, RUN_AWAITING_APPROVAL);
    answer(&id, "wall");
    expect(&run_id, RUN_RUNNING);
    ck_assert_uint_eq(lab_lease(&lab, "far", "away", &jobs), 1);
    expect_answers(&jobs[0], ANSWERS("\"wall\"", "\"ada\""));
}
END_TEST

START_TEST(a_question_waits_while_the_account_is_parked)
{
    struct id run_id = run_to_agent();
    struct job_row job = lab_take(&lab, "agent");
    struct id id = ask(&run_id);
    lab_finish(&lab, &job, RESULT_QUOTA);
    expect(&run_id, RUN_QUEUED);
    ck_assert_int_gt(lab_run(&lab, &run_id).still_us, 0);
    for (int i = 0; i < 100 && lab_run(&lab, &run_id).status == RUN_QUEUED; i++)
        lab_pass_ms(&lab, 600000);
    lab_step(&lab, "prepare", RESULT_PREPARE);
    expect(&run_id, RUN_AWAITING_APPROVAL); /* The account is in use again, the question open. */
    answer(&id, "wall");
    job = lab_take(&lab, "agent");
    expect_answers(&job, ANSWERS("\"wall\"", "\"ada\""));
}
END_TEST

START_TEST(an_answer_is_unread_in_one_assignment_only)
{
    struct id run_id = run_to_agent();
    struct job_row job = lab_take(&lab, "agent");
    struct id id = ask(&run_id);
    lost(&job);
    answer(&id, "wall");
    ck_assert_int_gt(question(&id).delivered_us, 0);
    job = lab_take(&lab, "agent");
    expect_answers(&job, ANSWERS("\"wall\"", "\"ada\""));
    lost(&job); /* That agent may have acted on it. */
    job = lab_take(&lab, "agent");
    expect_answers(&job, "[{" ANSWER("\"wall\"", "\"ada\"") "}]");
}
END_TEST

/* ---- by the lease of a worker ---- */

static enum rc ask_by(const struct job_ref *ref, struct id *ret_id, struct err *err)
{
    struct cmd_ask *cmd = cmd_ask_new();
    cmd->ref = *ref;
    cmd->spec = which_clock;
    enum rc rc = lab_call(&lab, &cmd->base);
    *ret_id = cmd->row.id;
    *err = cmd->base.err;
    command_free(&cmd->base);
    lab_check(&lab);
    return rc;
}

static enum rc read_by(const struct job_ref *ref, const struct id *id, const char **ret_status,
                       struct err *err)
{
    struct cmd_question *cmd = cmd_question_new();
    cmd->ref = *ref;
    cmd->id = *id;
    enum rc rc = lab_call(&lab, &cmd->base);
    *ret_status = arena_strdup(&lab.arena, cmd->row.status);
    *err = cmd->base.err;
    command_free(&cmd->base);
    return rc;
}

static enum rc withdraw_by(const struct job_ref *ref, const struct id *id)
{
    struct cmd_withdraw *cmd = cmd_withdraw_new();
    cmd->ref = *ref;
    cmd->id = *id;
    enum rc rc = lab_call(&lab, &cmd->base);
    command_free(&cmd->base);
    lab_check(&lab);
    return rc;
}

START_TEST(a_worker_asks_for_its_agent_and_reads_the_answer)
{
    struct id run_id = run_to_agent(), id, same;
    struct job_row job = lab_take(&lab, "agent");
    const struct job_ref ref = {job.id, job.life.epoch};
    const char *status;
    struct err err;
    ck_assert_int_eq(ask_by(&ref, &id, &err), RC_OK);
    ck_assert_int_eq(ask_by(&ref, &same, &err), RC_OK); /* Its answer may have got lost. */
    ck_assert_str_eq(same.text, id.text);
    ck_assert_str_eq(question(&id).asked_by, "agent");
    ck_assert_int_gt(lab_run(&lab, &run_id).still_us, 0);
    ck_assert_int_eq(read_by(&ref, &id, &status, &err), RC_OK);
    ck_assert_str_eq(status, "pending");
    ck_assert_int_eq(question(&id).delivered_us, 0);
    answer(&id, "wall");
    ck_assert_int_eq(question(&id).delivered_us, 0);
    ck_assert_int_eq(read_by(&ref, &id, &status, &err), RC_OK);
    ck_assert_str_eq(status, "answered");
    ck_assert_int_gt(question(&id).delivered_us, 0);
    lost(&job);
    job = lab_take(&lab, "agent");
    expect_answers(&job, "[{" ANSWER("\"wall\"", "\"ada\"") "}]");
}
END_TEST

START_TEST(a_worker_asks_with_its_own_lease_of_an_agent_only)
{
    struct id other = lab_submit(&lab, "acme/billing"), id, none;
    struct job_row prepare = lab_take(&lab, "prepare");
    const char *status;
    struct err err;
    ck_assert_int_eq(ask_by(&(struct job_ref){prepare.id, prepare.life.epoch}, &none, &err),
                     RC_CONFLICT);
    ck_assert_str_eq(err.code, "NO_AGENT_WORKS");
    lab_cancel(&lab, &other);
    lab_finish(&lab, &prepare, RESULT_PREPARE);
    (void)run_to_agent();
    struct job_row job = lab_take(&lab, "agent");
    const struct job_ref ref = {job.id, job.life.epoch};
    ck_assert_int_eq(ask_by(&(struct job_ref){job.id, job.life.epoch + 1}, &none, &err), RC_STALE);
    ck_assert_str_eq(err.code, "LEASE_LOST");
    ck_assert_int_eq(ask_by(&ref, &id, &err), RC_OK);
    (void)run_to_agent();
    struct job_row second = lab_take(&lab, "agent");
    const struct job_ref of_second = {second.id, second.life.epoch};
    ck_assert_int_eq(read_by(&of_second, &id, &status, &err), RC_NOT_FOUND);
    ck_assert_int_eq(withdraw_by(&of_second, &id), RC_OK);
    ck_assert_str_eq(question(&id).status, "pending");
    lab_pass_ms(&lab, 16000);
    ck_assert_int_eq(read_by(&ref, &id, &status, &err), RC_STALE);
    ck_assert_int_eq(withdraw_by(&ref, &id), RC_STALE);
    ck_assert_str_eq(question(&id).status, "pending");
}
END_TEST

START_TEST(a_question_that_its_agent_has_given_up_is_withdrawn)
{
    struct id run_id = run_to_agent(), id;
    struct job_row job = lab_take(&lab, "agent");
    const struct job_ref ref = {job.id, job.life.epoch};
    int64_t before_us = lab_run(&lab, &run_id).deadline_us;
    struct err err;
    ck_assert_int_eq(ask_by(&ref, &id, &err), RC_OK);
    lab.now_us += 5 * US_PER_SECOND;
    ck_assert_int_eq(withdraw_by(&ref, &id), RC_OK);
    ck_assert_int_eq(withdraw_by(&ref, &id), RC_OK); /* Nothing more to do. */
    ck_assert_str_eq(question(&id).status, "cancelled");
    struct run_row run = lab_run(&lab, &run_id);
    ck_assert(id_is_none(&run.question_id));
    ck_assert_int_eq(run.deadline_us, before_us + 5 * US_PER_SECOND);
    ck_assert_int_eq(lab_count_events(&lab, &run_id, EV_QUESTION_WITHDRAWN), 1);
    lab_finish(&lab, &job, RESULT_AGENT);
    expect(&run_id, RUN_VERIFYING);
}
END_TEST

START_TEST(a_limit_ends_a_run_whatever_it_has_asked)
{
    struct id run_id = run_to_agent();
    struct job_row job = lab_take(&lab, "agent");
    struct id id = ask(&run_id);
    lab_finish(&lab, &job, "{\"outcome\":\"budget_limit\",\"report\":\"unknown\"}");
    expect(&run_id, RUN_FAILED);
    ck_assert_str_eq(question(&id).status, "cancelled");
}
END_TEST

/* ---- the clock ---- */

START_TEST(the_time_of_a_question_does_not_count)
{
    struct id run_id = run_to_agent();
    (void)lab_take(&lab, "agent");
    int64_t before_us = lab_run(&lab, &run_id).deadline_us;
    struct id id = ask(&run_id);
    lab.now_us += 3 * US_PER_HOUR;
    answer(&id, "wall");
    ck_assert_int_eq(lab_run(&lab, &run_id).deadline_us, before_us + 3 * US_PER_HOUR);
}
END_TEST

START_TEST(an_agent_may_wait_for_less_and_not_for_longer)
{
    lab_repository(&lab, "acme/billing", "\"timeouts\":{\"questionMs\":600000}");
    struct id run_id = run_to_agent();
    (void)lab_take(&lab, "agent");
    static const struct {
        int64_t asked_ms, got_ms;
    } times[] = {{0, 600000}, {5000, 5000}, {900000, 600000}};
    for (size_t i = 0; i < COUNT_OF(times); i++) {
        const struct question_spec spec = {.text = "How long?", .timeout_ms = times[i].asked_ms};
        struct id id = ask_as(&run_id, &spec);
        struct question_row row = question(&id);
        ck_assert_int_eq(row.expires_us - row.requested_us, times[i].got_ms * US_PER_MS);
        answer(&id, "so");
    }
}
END_TEST

START_TEST(people_are_reminded_until_they_answer)
{
    struct id run_id = run_to_agent();
    struct job_row job = lab_take(&lab, "agent");
    struct id id = ask(&run_id);
    ended(&job);
    for (int i = 0; i < 3; i++)
        lab_pass_ms(&lab, 60000);
    ck_assert_int_eq(lab_count_events(&lab, &run_id, EV_QUESTION_REMINDED), 3);
    ck_assert_int_eq(question(&id).reminded, 3);
    answer(&id, "wall");
    lab_pass_ms(&lab, 600000);
    ck_assert_int_eq(lab_count_events(&lab, &run_id, EV_QUESTION_REMINDED), 3);
}
END_TEST

START_TEST(an_agent_asks_only_so_many)
{
    struct id run_id = run_to_agent();
    (void)lab_take(&lab, "agent");
    for (int i = 0; i < QUESTIONS_MAX; i++) {
        struct id id = ask(&run_id);
        answer(&id, "wall");
    }
    struct cmd_ask *cmd = cmd_ask_new();
    cmd->run_id = run_id;
    cmd->spec = which_clock;
    ck_assert_int_eq(lab_call(&lab, &cmd->base), RC_LIMIT);
    ck_assert_str_eq(cmd->base.err.code, "TOO_MANY_QUESTIONS");
    command_free(&cmd->base);
}
END_TEST

START_TEST(one_question_is_open_at_a_time)
{
    struct id run_id = run_to_agent();
    (void)lab_take(&lab, "agent");
    struct id id = ask(&run_id), same = ask(&run_id);
    ck_assert(id_same(&id, &same));
    struct cmd_ask *cmd = cmd_ask_new();
    cmd->run_id = run_id;
    cmd->spec = (struct question_spec){.text = "And which calendar?"};
    ck_assert_int_eq(lab_call(&lab, &cmd->base), RC_CONFLICT);
    ck_assert_str_eq(cmd->base.err.code, "QUESTION_OPEN");
    command_free(&cmd->base);
}
END_TEST

/* ---- waiting for the answer ---- */

static struct cmd_question *wait_for(const struct id *id, int64_t wait_ms)
{
    struct cmd_question *cmd = cmd_question_new();
    cmd->id = *id;
    cmd->wait_us = wait_ms * US_PER_MS;
    lab_post(&lab, &cmd->base);
    lab_rounds(&lab);
    return cmd;
}

START_TEST(whoever_waits_hears_at_once_how_it_ended)
{
    static const char *const want[] = {"answered", "expired", "cancelled"};
    const struct question_spec spec = {.text = "Which clock?", .timeout_ms = 5000};
    struct id run_id = run_to_agent();
    struct job_row job = lab_take(&lab, "agent");
    struct id id = ask_as(&run_id, &spec);
    int before = lab.answered;
    struct cmd_question *cmd = wait_for(&id, 30000);
    ck_assert_int_eq(lab.answered, before); /* Parked. */
    if (_i == 0) {
        answer(&id, "wall");
    } else if (_i == 1) {
        lab_pass_ms(&lab, 5000);
    } else {
        lab_cancel(&lab, &run_id);
        (void)lab_fail(&lab, &job, "cancelled", false);
    }
    ck_assert_int_gt(lab.answered, before + 1); /* It, and what ended it. */
    ck_assert_int_eq(cmd->base.rc, RC_OK);
    ck_assert_str_eq(cmd->row.status, want[_i]);
    command_free(&cmd->base);
}
END_TEST

START_TEST(a_wait_ends_without_an_answer_and_may_be_repeated)
{
    struct id run_id = run_to_agent();
    (void)lab_take(&lab, "agent");
    struct id id = ask(&run_id);
    int before = lab.answered;
    struct cmd_question *cmd = wait_for(&id, 30000);
    lab.now_us += 31 * US_PER_SECOND;
    lab_rounds(&lab);
    ck_assert_int_eq(lab.answered, before + 1);
    ck_assert_int_eq(cmd->base.rc, RC_OK);
    ck_assert_str_eq(cmd->row.status, "pending");
    command_free(&cmd->base);
    cmd = wait_for(&id, 0);
    ck_assert_int_eq(lab.answered, before + 2); /* At once. */
    command_free(&cmd->base);
    answer(&id, "wall");
    cmd = wait_for(&id, 30000);
    ck_assert_str_eq(cmd->row.status, "answered");
    ck_assert_str_eq(cmd->row.answer, "wall");
    command_free(&cmd->base);
}
END_TEST

START_TEST(an_agent_reads_the_questions_of_its_own_run_only)
{
    struct id run_id = run_to_agent();
    (void)lab_take(&lab, "agent");
    struct id id = ask(&run_id);
    struct id other = lab_submit(&lab, "acme/billing");
    const struct {
        struct id run_id;
        enum rc want;
    } readers[] = {{run_id, RC_OK}, {other, RC_DENIED}};
    for (size_t i = 0; i < COUNT_OF(readers); i++) {
        struct cmd_question *cmd = cmd_question_new();
        cmd->id = id;
        cmd->agent_run = readers[i].run_id;
        ck_assert_int_eq(lab_call(&lab, &cmd->base), readers[i].want);
        command_free(&cmd->base);
    }
}
END_TEST

Suite *questions_suite(void)
{
    Suite *suite = suite_create("questions");
    TCase *tc = tcase_create("questions");
    int count = (int)COUNT_OF(ways);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, a_question_outlives_its_agent_and_the_answer_starts_the_next, 0, count);
    tcase_add_loop_test(tc, a_question_of_a_gone_agent_expires_with_its_default, 0, count);
    tcase_add_test(tc, an_answer_between_two_agents_is_told_to_the_second);
    tcase_add_test(tc, an_agent_may_end_with_its_question);
    tcase_add_loop_test(tc, a_malformed_question_is_refused, 0, (int)COUNT_OF(bad_records));
    tcase_add_loop_test(tc, a_plan_may_wait_for_an_answer, 0, 2);
    tcase_add_loop_test(tc, an_agent_elsewhere_may_be_gone_too, 0, 2);
    tcase_add_test(tc, a_question_waits_while_the_account_is_parked);
    tcase_add_test(tc, an_answer_is_unread_in_one_assignment_only);
    tcase_add_test(tc, a_worker_asks_for_its_agent_and_reads_the_answer);
    tcase_add_test(tc, a_worker_asks_with_its_own_lease_of_an_agent_only);
    tcase_add_test(tc, a_question_that_its_agent_has_given_up_is_withdrawn);
    tcase_add_test(tc, a_limit_ends_a_run_whatever_it_has_asked);
    tcase_add_test(tc, the_time_of_a_question_does_not_count);
    tcase_add_test(tc, an_agent_may_wait_for_less_and_not_for_longer);
    tcase_add_test(tc, people_are_reminded_until_they_answer);
    tcase_add_test(tc, an_agent_asks_only_so_many);
    tcase_add_test(tc, one_question_is_open_at_a_time);
    tcase_add_loop_test(tc, whoever_waits_hears_at_once_how_it_ended, 0, 3);
    tcase_add_test(tc, a_wait_ends_without_an_answer_and_may_be_repeated);
    tcase_add_test(tc, an_agent_reads_the_questions_of_its_own_run_only);
    suite_add_tcase(suite, tc);
    return suite;
}
