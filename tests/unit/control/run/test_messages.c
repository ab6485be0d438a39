/*
 * test_messages.c - what people say reaches one attempt of the agent, and no message is lost.
 */
#include "base/clock.h"
#include "base/js_peek.h"
#include "control/admit/decide.h"
#include "control/queue/complete.h"
#include "control/run/messages.h"
#include "core/event_types.h"
#include "store/approvals.h"
#include "tests/unit/lab.h"
#include <check.h>
#include <string.h>

static struct lab lab;

static void setup(void)
{
    lab_open(&lab, NULL);
    lab_repository(&lab, "acme/billing", "\"limits\":{\"maxTurns\":5}");
}

static void teardown(void)
{
    lab_check(&lab);
    lab_close(&lab);
}

static enum rc say_as(const struct id *run_id, const char *text, const char **ret_code)
{
    struct cmd_say *cmd = cmd_say_new();
    cmd->run_id = *run_id;
    cmd->text = text;
    cmd->base.actor = (struct actor){"user", "ada"};
    enum rc rc = lab_call(&lab, &cmd->base);
    *ret_code = arena_strdup(&lab.arena, cmd->base.err.code);
    command_free(&cmd->base);
    return rc;
}

static void say(const struct id *run_id, const char *text)
{
    const char *code;
    ck_assert_int_eq(say_as(run_id, text, &code), RC_OK);
}

/* The texts that an assignment has, joined by |. */
static const char *told(const struct job_row *job)
{
    CLEANUP(js_freep) struct js *payload = NULL;
    const char *text = "";
    ck_assert_int_eq(js_parse(job->payload.at, job->payload.len, &payload, NULL), RC_OK);
    const struct js *messages = js_get(payload, "messages");
    for (size_t i = 0; i < js_count(messages); i++)
        text = arena_printf(&lab.arena, "%s%s%s", text, i > 0 ? "|" : "",
                            js_get_str(js_at(messages, i), "text", ""));
    return text;
}

/* The same of what the worker reads. */
static const char *read_after(const struct job_row *job, int64_t after_seq)
{
    struct cmd_messages_read *cmd = cmd_messages_read_new();
    const char *text = "";
    cmd->ref = (struct job_ref){job->id, job->life.epoch};
    cmd->after_seq = after_seq;
    ck_assert_int_eq(lab_call(&lab, &cmd->base), RC_OK);
    for (size_t i = 0; i < cmd->count; i++)
        text = arena_printf(&lab.arena, "%s%s%s", text, i > 0 ? "|" : "", cmd->messages[i].text);
    command_free(&cmd->base);
    return text;
}

static struct id run_to_agent(void)
{
    struct id run_id = lab_submit(&lab, "acme/billing");
    lab_step(&lab, "prepare", RESULT_PREPARE);
    lab_step(&lab, "hydrate", RESULT_HYDRATE);
    return run_id;
}

static void delivered(const struct job_row *job, int64_t seq)
{
    (void)lab_progress(&lab, job,
                       arena_printf(&lab.arena,
                                    "[{\"type\":\"agent.message.delivered\",\"data\":{\"seq\":"
                                    "%lld}}]",
                                    (long long)seq));
}

static void release(const struct job_row *job)
{
    struct cmd_release *cmd = cmd_release_new();
    struct job_ref ref = {job->id, job->life.epoch};
    cmd->leases = &ref;
    cmd->count = 1;
    ck_assert_int_eq(lab_call(&lab, &cmd->base), RC_OK);
    ck_assert(cmd->answers[0].ok);
    command_free(&cmd->base);
}

START_TEST(messages_before_the_agent_are_in_its_assignment_once)
{
    struct id run_id = lab_submit(&lab, "acme/billing");
    say(&run_id, "first");
    lab_step(&lab, "prepare", RESULT_PREPARE);
    say(&run_id, "second");
    lab_step(&lab, "hydrate", RESULT_HYDRATE);
    ck_assert_int_eq(lab_count_events(&lab, &run_id, EV_MESSAGE_DELIVERED), 0);
    struct job_row job = lab_take(&lab, "agent");
    ck_assert_str_eq(told(&job), "first|second");
    ck_assert(str_is(js_peek(job.payload, "messageSeq"), "2"));
    ck_assert_int_eq(lab_count_events(&lab, &run_id, EV_MESSAGE_DELIVERED), 1);
    ck_assert_str_eq(read_after(&job, 0), "");
    lab_finish(&lab, &job, RESULT_AGENT);
    lab_step(&lab, "verify", RESULT_UNVERIFIED);
    job = lab_take(&lab, "agent");
    ck_assert_str_eq(told(&job), "");
    ck_assert(str_is(js_peek(job.payload, "messageSeq"), "2"));
}
END_TEST

START_TEST(a_message_that_a_working_agent_has_got_is_not_told_again)
{
    struct id run_id = run_to_agent();
    struct job_row job = lab_take(&lab, "agent");
    ck_assert_int_eq(lab_progress(&lab, &job, "[]").message_seq, 0);
    say(&run_id, "now");
    say(&run_id, "and this");
    ck_assert_int_eq(lab_progress(&lab, &job, "[]").message_seq, 2);
    ck_assert_str_eq(read_after(&job, 0), "now|and this");
    ck_assert_str_eq(read_after(&job, 1), "and this");
    delivered(&job, 2);
    ck_assert_str_eq(read_after(&job, 0), "");
    lab_finish(&lab, &job, RESULT_AGENT);
    ck_assert_int_eq(lab_run(&lab, &run_id).status, RUN_VERIFYING);
    lab_step(&lab, "verify", RESULT_UNVERIFIED);
    job = lab_take(&lab, "agent");
    ck_assert_str_eq(told(&job), "");
}
END_TEST

/* Whatever it has achieved: the message may change that. */
static const char *const ends[] = {
    RESULT_AGENT,
    "{\"outcome\":\"ended\",\"report\":\"success\",\"summary\":\"nothing to do\"}",
    "{\"outcome\":\"ended\",\"report\":\"error\",\"error\":\"I cannot\"}",
};

/* An agent that cannot be spoken to while it works. */
START_TEST(an_agent_that_ends_with_unread_messages_starts_again_with_them)
{
    struct id run_id = run_to_agent();
    struct job_row job = lab_take(&lab, "agent");
    say(&run_id, "also this");
    lab_finish(&lab, &job, ends[_i]);
    struct run_row run = lab_run(&lab, &run_id);
    ck_assert_int_eq(run.status, RUN_RUNNING);
    ck_assert_int_eq(run.attempt, 2);
    ck_assert_int_eq(run.used[BUDGET_AGENT], 1); /* No retry. */
    job = lab_take(&lab, "agent");
    ck_assert_str_eq(told(&job), "also this");
    lab_finish(&lab, &job, RESULT_AGENT);
    ck_assert_int_eq(lab_run(&lab, &run_id).status, RUN_VERIFYING);
}
END_TEST

START_TEST(messages_during_the_checks_call_the_agent_back_before_publishing)
{
    struct id run_id = run_to_agent();
    lab_step(&lab, "agent", RESULT_AGENT);
    struct job_row verify = lab_take(&lab, "verify");
    say(&run_id, "one more thing");
    lab_finish(&lab, &verify, RESULT_VERIFIED);
    ck_assert_int_eq(lab_run(&lab, &run_id).status, RUN_JUDGING);
    lab_step(&lab, "judge", RESULT_JUDGED);
    ck_assert_int_eq(lab_run(&lab, &run_id).status, RUN_RUNNING);
    struct job_row job = lab_take(&lab, "agent");
    ck_assert_str_eq(told(&job), "one more thing");
    lab_finish(&lab, &job, RESULT_AGENT);
    lab_step(&lab, "verify", RESULT_VERIFIED);
    lab_step(&lab, "judge", RESULT_JUDGED);
    lab_step(&lab, "publish", RESULT_PUBLISHED);
    ck_assert_int_eq(lab_run(&lab, &run_id).status, RUN_COMPLETED);
}
END_TEST

START_TEST(a_run_without_turns_left_is_not_failed_by_a_message)
{
    struct id run_id = run_to_agent();
    struct job_row job = lab_take(&lab, "agent");
    say(&run_id, "also this");
    lab_finish(&lab, &job,
               "{\"outcome\":\"ended\",\"report\":\"success\",\"summary\":\"x\",\"turns\":5,"
               "\"patch\":{\"sha256\":\"bb\",\"files\":1,\"treeHash\":\"cc\"}}");
    lab_step(&lab, "verify", RESULT_VERIFIED);
    lab_step(&lab, "judge", RESULT_JUDGED);
    lab_step(&lab, "publish", RESULT_PUBLISHED);
    ck_assert_int_eq(lab_run(&lab, &run_id).status, RUN_COMPLETED);
}
END_TEST

START_TEST(what_is_approved_is_published_as_it_is)
{
    lab_repository(&lab, "acme/billing", "\"policy\":{\"approval\":\"always\"}");
    struct id run_id = run_to_agent();
    lab_step(&lab, "agent", RESULT_AGENT);
    lab_step(&lab, "verify", RESULT_VERIFIED);
    lab_step(&lab, "judge", RESULT_JUDGED);
    say(&run_id, "too late");
    struct waiting_filter filter = {.status = "pending", .run_id = run_id, .limit = 1};
    struct approval_row *rows;
    size_t count;
    ck_assert_int_eq(approvals_list(lab.db, &filter, &lab.arena, &rows, &count, NULL), RC_OK);
    struct cmd_decide *cmd = cmd_decide_new();
    cmd->approval_id = rows[0].id;
    cmd->approve = true;
    ck_assert_int_eq(lab_call(&lab, &cmd->base), RC_OK);
    command_free(&cmd->base);
    lab_step(&lab, "publish", RESULT_PUBLISHED);
    ck_assert_int_eq(lab_run(&lab, &run_id).status, RUN_COMPLETED);
}
END_TEST

/* How an agent may lose what it was told. */
static void lose(const struct job_row *job, int how)
{
    if (how == 0) {
        lab_pass_ms(&lab, 16000);
    } else if (how == 1) {
        release(job);
    } else if (how == 2) {
        lab_finish(&lab, job,
                   "{\"outcome\":\"overloaded\",\"report\":\"error\",\"error\":\"529\"}");
        ck_assert_int_eq(lab_run(&lab, &job->run_id).status, RUN_QUEUED);
        for (int i = 0; i < 60 && lab_run(&lab, &job->run_id).status == RUN_QUEUED; i++)
            lab_pass_ms(&lab, 60000);
    } else {
        (void)lab_fail(&lab, job, "agent_start_failed", true);
        lab_pass_ms(&lab, 600000);
    }
}

START_TEST(messages_of_a_lost_agent_are_told_to_the_next)
{
    struct id run_id = lab_submit(&lab, "acme/billing");
    say(&run_id, "in the assignment");
    lab_step(&lab, "prepare", RESULT_PREPARE);
    lab_step(&lab, "hydrate", RESULT_HYDRATE);
    struct job_row job = lab_take(&lab, "agent");
    say(&run_id, "while it worked");
    delivered(&job, 2);
    say(&run_id, "unread");
    lose(&job, _i);
    if (_i < 3) { /* Its tree is made anew, and its job. */
        lab_step(&lab, "prepare", RESULT_PREPARE);
        job = lab_take(&lab, "agent");
        ck_assert_str_eq(told(&job), "in the assignment|while it worked|unread");
    } else { /* The same job again. */
        job = lab_take(&lab, "agent");
        ck_assert_str_eq(told(&job), "in the assignment");
        ck_assert_str_eq(read_after(&job, 1), "while it worked|unread");
        delivered(&job, 3);
    }
    lab_finish(&lab, &job, RESULT_AGENT);
    ck_assert_int_eq(lab_run(&lab, &run_id).status, RUN_VERIFYING);
}
END_TEST

START_TEST(only_the_holder_of_the_lease_reads_messages)
{
    struct id run_id = run_to_agent();
    struct job_row job = lab_take(&lab, "agent");
    say(&run_id, "secret plans");
    static const struct {
        const char *principal;
        int64_t epoch;
    } others[] = {{"another", 0}, {LAB_PRINCIPAL, 1}, {LAB_PRINCIPAL, -1}};
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        struct cmd_messages_read *cmd = cmd_messages_read_new();
        cmd->base.principal = others[i].principal;
        cmd->ref = (struct job_ref){job.id, job.life.epoch + others[i].epoch};
        ck_assert_int_eq(lab_call(&lab, &cmd->base), RC_STALE);
        ck_assert_uint_eq(cmd->count, 0);
        command_free(&cmd->base);
    }
}
END_TEST

START_TEST(unread_messages_are_limited_in_number)
{
    const char *code;
    struct id run_id = lab_submit(&lab, "acme/billing");
    for (int i = 0; i < MESSAGES_UNREAD_MAX; i++)
        say(&run_id, "x");
    ck_assert_int_eq(say_as(&run_id, "x", &code), RC_LIMIT);
    ck_assert_str_eq(code, "TOO_MANY_MESSAGES");
    lab_step(&lab, "prepare", RESULT_PREPARE);
    lab_step(&lab, "hydrate", RESULT_HYDRATE);
    (void)lab_take(&lab, "agent"); /* It has read them. */
    say(&run_id, "x");
}
END_TEST

START_TEST(unread_messages_are_limited_in_size_and_fit_into_an_assignment)
{
    const char *code;
    struct id run_id = lab_submit(&lab, "acme/billing");
    char *text = arena_alloc(&lab.arena, MESSAGE_BYTES_MAX + 1);
    memset(text, '"', MESSAGE_BYTES_MAX);
    for (int i = 0; i < MESSAGES_UNREAD_BYTES_MAX / MESSAGE_BYTES_MAX; i++)
        say(&run_id, text);
    ck_assert_int_eq(say_as(&run_id, "x", &code), RC_LIMIT);
    lab_step(&lab, "prepare", RESULT_PREPARE);
    lab_step(&lab, "hydrate", RESULT_HYDRATE);
    struct job_row job = lab_take(&lab, "agent");
    ck_assert_uint_gt(job.payload.len, 2 * MESSAGES_UNREAD_BYTES_MAX);
}
END_TEST

Suite *messages_suite(void)
{
    Suite *suite = suite_create("messages");
    TCase *tc = tcase_create("messages");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, messages_before_the_agent_are_in_its_assignment_once);
    tcase_add_test(tc, a_message_that_a_working_agent_has_got_is_not_told_again);
    tcase_add_loop_test(tc, an_agent_that_ends_with_unread_messages_starts_again_with_them, 0,
                        (int)COUNT_OF(ends));
    tcase_add_test(tc, messages_during_the_checks_call_the_agent_back_before_publishing);
    tcase_add_test(tc, a_run_without_turns_left_is_not_failed_by_a_message);
    tcase_add_test(tc, what_is_approved_is_published_as_it_is);
    tcase_add_loop_test(tc, messages_of_a_lost_agent_are_told_to_the_next, 0, 4);
    tcase_add_test(tc, only_the_holder_of_the_lease_reads_messages);
    tcase_add_test(tc, unread_messages_are_limited_in_number);
    tcase_add_test(tc, unread_messages_are_limited_in_size_and_fit_into_an_assignment);
    suite_add_tcase(suite, tc);
    return suite;
}
