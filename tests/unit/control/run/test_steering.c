/*
 * test_steering.c - saying, pausing, resuming, asking, answering and running out of time, in every
 * place that a run can be in.
 */
#include "base/clock.h"
#include "control/admit/answer.h"
#include "control/admit/decide.h"
#include "control/queue/lease.h"
#include "control/run/messages.h"
#include "control/run/pause.h"
#include "core/event_types.h"
#include "store/approvals.h"
#include "tests/unit/lab.h"
#include <check.h>
#include <string.h>

static struct lab lab;

#define TIMES "\"timeouts\":{\"runMs\":3600000,\"queueMs\":1800000,\"questionMs\":600000}"

static void setup(void)
{
    lab_open(&lab, NULL);
    lab_repository(&lab, "acme/billing",
                   "\"policy\":{\"approval\":\"always\"},\"limits\":{\"maxActiveRuns\":1}," TIMES);
    lab_repository(&lab, "acme/plans", "\"plan\":{\"approval\":\"always\"}," TIMES);
    lab_far_repository(&lab, "acme/far", TIMES);
}

static void teardown(void)
{
    lab_check(&lab);
    lab_close(&lab);
}

/* ---- what people and agents do ---- */

/* NULL, or the code of the refusal. */
static const char *outcome(struct command *command)
{
    command->actor = (struct actor){"user", "ada"};
    enum rc rc = lab_call(&lab, command);
    return rc == RC_OK ? NULL : arena_strdup(&lab.arena, command->err.code);
}

static const char *say(const struct id *run_id)
{
    struct cmd_say *cmd = cmd_say_new();
    cmd->run_id = *run_id;
    cmd->text = "use the other clock";
    const char *code = outcome(&cmd->base);
    command_free(&cmd->base);
    return code;
}

static const char *steer(const struct id *run_id, struct cmd_pause *cmd)
{
    cmd->run_id = *run_id;
    const char *code = outcome(&cmd->base);
    command_free(&cmd->base);
    return code;
}

static const char *pause_run(const struct id *run_id)
{
    return steer(run_id, cmd_pause_new());
}

static const char *resume(const struct id *run_id)
{
    return steer(run_id, cmd_resume_new());
}

static const char *ask(const struct id *run_id)
{
    struct cmd_ask *cmd = cmd_ask_new();
    cmd->run_id = *run_id;
    cmd->spec = (struct question_spec){.text = "Which clock?",
                                       .options = {"wall", "mono"},
                                       .option_count = 2,
                                       .default_answer = "mono"};
    const char *code = outcome(&cmd->base);
    command_free(&cmd->base);
    return code;
}

static const char *answer(const struct id *question_id, const char *text)
{
    struct cmd_answer *cmd = cmd_answer_new();
    cmd->id = *question_id;
    cmd->answer = text;
    const char *code = outcome(&cmd->base);
    command_free(&cmd->base);
    return code;
}

static struct question_row question(const struct id *id)
{
    struct question_row row;
    ck_assert_int_eq(questions_get(lab.db, id, &lab.arena, &row, NULL), RC_OK);
    return row;
}

static void decide(const struct id *run_id, bool approve)
{
    struct waiting_filter filter = {.status = "pending", .run_id = *run_id, .limit = 1};
    struct approval_row *rows;
    size_t count;
    ck_assert_int_eq(approvals_list(lab.db, &filter, &lab.arena, &rows, &count, NULL), RC_OK);
    ck_assert_uint_eq(count, 1);
    struct cmd_decide *cmd = cmd_decide_new();
    cmd->approval_id = rows[0].id;
    cmd->approve = approve;
    ck_assert_int_eq(lab_call(&lab, &cmd->base), RC_OK);
    command_free(&cmd->base);
}

/* ---- places ---- */

static struct job_row held; /* The job that a worker has at the place. */

static void keep(const struct job_row *job)
{
    struct cmd_heartbeat *cmd = cmd_heartbeat_new();
    struct job_ref ref = {job->id, job->life.epoch};
    cmd->worker = job->worker;
    cmd->leases = &ref;
    cmd->count = 1;
    cmd->extend_us = 15 * US_PER_SECOND;
    ck_assert_int_eq(lab_call(&lab, &cmd->base), RC_OK);
    ck_assert(cmd->answers[0].ok);
    command_free(&cmd->base);
}

static struct id run_after(const char *repository, size_t steps)
{
    static const struct {
        const char *step, *result;
    } way[] = {{"prepare", RESULT_PREPARE},
               {"hydrate", RESULT_HYDRATE},
               {"agent", RESULT_AGENT},
               {"verify", RESULT_VERIFIED},
               {"judge", RESULT_JUDGED}};
    struct id run_id = lab_submit(&lab, repository);
    for (size_t i = 0; i < steps; i++)
        lab_step(&lab, way[i].step, way[i].result);
    return run_id;
}

static struct id at_queued(void)
{
    (void)lab_submit(&lab, "acme/billing"); /* It has the only slot. */
    return lab_submit(&lab, "acme/billing");
}

static struct id before_prepare(void)
{
    return run_after("acme/billing", 0);
}

static struct id at_prepare(void)
{
    struct id run_id = run_after("acme/billing", 0);
    held = lab_take(&lab, "prepare");
    return run_id;
}

static struct id at_hydrate(void)
{
    struct id run_id = run_after("acme/billing", 1);
    held = lab_take(&lab, "hydrate");
    return run_id;
}

static struct id at_plan(void)
{
    struct id run_id = run_after("acme/plans", 2);
    held = lab_take(&lab, "plan");
    return run_id;
}

static struct id before_agent(void)
{
    return run_after("acme/billing", 2);
}

static struct id at_agent(void)
{
    struct id run_id = run_after("acme/billing", 2);
    held = lab_take(&lab, "agent");
    return run_id;
}

static struct id at_pull(void)
{
    struct job_row *jobs;
    struct id run_id = run_after("acme/far", 2);
    ck_assert_uint_eq(lab_lease(&lab, "far", "away", &jobs), 1);
    held = jobs[0];
    return run_id;
}

static struct id at_verify(void)
{
    struct id run_id = run_after("acme/billing", 3);
    held = lab_take(&lab, "verify");
    return run_id;
}

static struct id at_judge(void)
{
    struct id run_id = run_after("acme/billing", 4);
    held = lab_take(&lab, "judge");
    return run_id;
}

static struct id at_plan_approval(void)
{
    struct id run_id = at_plan();
    lab_finish(&lab, &held, RESULT_PLANNED);
    return run_id;
}

static struct id at_patch_approval(void)
{
    return run_after("acme/billing", 5);
}

/* The agent asked and ended. */
static struct id at_answer(void)
{
    struct id run_id = at_agent();
    ck_assert_ptr_null(ask(&run_id));
    lab_finish(&lab, &held, RESULT_AGENT);
    return run_id;
}

static struct id at_publish(void)
{
    struct id run_id = at_patch_approval();
    decide(&run_id, true);
    held = lab_take(&lab, "publish");
    return run_id;
}

static struct id at_stop(void)
{
    struct id run_id = at_agent();
    lab_cancel(&lab, &run_id);
    return run_id;
}

static struct id at_completed(void)
{
    struct id run_id = at_publish();
    lab_finish(&lab, &held, RESULT_PUBLISHED);
    return run_id;
}

static struct id at_failed(void)
{
    struct id run_id = at_patch_approval();
    decide(&run_id, false);
    return run_id;
}

static struct id at_cancelled(void)
{
    struct id run_id = before_agent();
    lab_cancel(&lab, &run_id);
    return run_id;
}

static struct id at_timed_out(void)
{
    struct id run_id = before_agent();
    lab_pass_ms(&lab, 3600000);
    return run_id;
}

#define FINISHED "RUN_FINISHED", "RUN_FINISHED", "RUN_FINISHED", "RUN_FINISHED"
static const struct place {
    struct id (*reach)(void);
    enum run_status status;
    const char *say, *pause, *resume, *ask; /* Codes of refusals; NULL: taken. */
} places[] = {
    {at_queued, RUN_QUEUED, NULL, NULL, NULL, "NO_AGENT_WORKS"},
    {before_prepare, RUN_PREPARING, NULL, NULL, NULL, "NO_AGENT_WORKS"},
    {at_prepare, RUN_PREPARING, NULL, NULL, NULL, "NO_AGENT_WORKS"},
    {at_hydrate, RUN_CONTEXT_LOADING, NULL, NULL, NULL, "NO_AGENT_WORKS"},
    {at_plan, RUN_PLANNING, NULL, NULL, NULL, NULL},
    {before_agent, RUN_RUNNING, NULL, NULL, NULL, "NO_AGENT_WORKS"},
    {at_agent, RUN_RUNNING, NULL, NULL, NULL, NULL},
    {at_pull, RUN_RUNNING, NULL, NULL, NULL, NULL},
    {at_verify, RUN_VERIFYING, NULL, NULL, NULL, "NO_AGENT_WORKS"},
    {at_judge, RUN_JUDGING, NULL, NULL, NULL, "NO_AGENT_WORKS"},
    {at_plan_approval, RUN_AWAITING_APPROVAL, NULL, NULL, NULL, "NO_AGENT_WORKS"},
    {at_patch_approval, RUN_AWAITING_APPROVAL, NULL, NULL, NULL, "NO_AGENT_WORKS"},
    {at_answer, RUN_AWAITING_APPROVAL, NULL, NULL, NULL, "NO_AGENT_WORKS"},
    {at_publish, RUN_CREATING_PR, "NO_AGENT_FOLLOWS", NULL, NULL, "NO_AGENT_WORKS"},
    {at_stop, RUN_RUNNING, "RUN_STOPPING", "RUN_STOPPING", NULL, "RUN_STOPPING"},
    {at_completed, RUN_COMPLETED, FINISHED},
    {at_failed, RUN_FAILED, FINISHED},
    {at_cancelled, RUN_CANCELLED, FINISHED},
    {at_timed_out, RUN_TIMED_OUT, FINISHED},
};

static struct id reach(const struct place *place)
{
    struct id run_id = place->reach();
    ck_assert_str_eq(run_status_name(lab_run(&lab, &run_id).status),
                     run_status_name(place->status));
    lab_check(&lab);
    return run_id;
}

/* The run is as it was, but for what is steered. */
static void stays(const struct id *run_id, const struct place *place)
{
    ck_assert_str_eq(run_status_name(lab_run(&lab, run_id).status), run_status_name(place->status));
    lab_check(&lab);
}

static void expect_code(const char *got, const char *want)
{
    ck_assert_str_eq(got != NULL ? got : "taken", want != NULL ? want : "taken");
}

START_TEST(a_message_is_kept_where_an_agent_may_follow)
{
    const struct place *place = &places[_i];
    struct id run_id = reach(place);
    struct message_filter filter = {.run_id = run_id, .limit = 10};
    struct message_row *rows;
    size_t count;
    expect_code(say(&run_id), place->say);
    stays(&run_id, place);
    ck_assert_int_eq(lab_count_events(&lab, &run_id, EV_MESSAGE_SENT), place->say == NULL);
    ck_assert_int_eq(messages_list(lab.db, &filter, &lab.arena, &rows, &count, NULL), RC_OK);
    ck_assert_uint_eq(count, place->say == NULL ? 1 : 0);
}
END_TEST

START_TEST(a_pause_stops_the_clocks_once_and_resuming_starts_them)
{
    const struct place *place = &places[_i];
    struct id run_id = reach(place);
    struct run_row before = lab_run(&lab, &run_id);
    for (int twice = 0; twice < 2; twice++) {
        expect_code(pause_run(&run_id), place->pause);
        stays(&run_id, place);
    }
    struct run_row run = lab_run(&lab, &run_id);
    bool paused = place->pause == NULL;
    ck_assert_int_eq(run.paused_us > 0, paused);
    ck_assert_int_eq(lab_count_events(&lab, &run_id, EV_RUN_PAUSED), paused);
    if (paused)
        ck_assert_str_eq(run.paused_by, "ada");
    for (int twice = 0; twice < 2; twice++) {
        expect_code(resume(&run_id), place->resume);
        stays(&run_id, place);
    }
    run = lab_run(&lab, &run_id);
    ck_assert_int_eq(run.paused_us, 0);
    ck_assert_ptr_null(run.paused_by);
    ck_assert_int_eq(run.still_us, before.still_us);
    ck_assert_int_eq(lab_count_events(&lab, &run_id, EV_RUN_RESUMED), paused);
}
END_TEST

START_TEST(a_paused_run_takes_no_harm_from_hours)
{
    const struct place *place = &places[_i];
    struct id run_id = reach(place);
    struct run_row before = lab_run(&lab, &run_id);
    bool waits_for_person = place->status == RUN_AWAITING_APPROVAL;
    if (place->pause != NULL || waits_for_person)
        return; /* Approvals and questions have deadlines of their own. */
    ck_assert_ptr_null(pause_run(&run_id));
    for (int i = 0; i < 24; i++) { /* Heartbeats come all the while. */
        lab_pass_ms(&lab, 10000);
        if (held.life.epoch > 0)
            keep(&held);
    }
    stays(&run_id, place);
    lab.now_us += 24 * US_PER_HOUR;
    ck_assert_ptr_null(resume(&run_id));
    struct run_row run = lab_run(&lab, &run_id);
    int64_t paused_us = 24 * US_PER_HOUR + 240 * US_PER_SECOND;
    if (before.deadline_us > 0)
        ck_assert_int_eq(run.deadline_us - before.deadline_us, paused_us);
    ck_assert_int_eq(run.still_us, 0);
    lab_check(&lab);
}
END_TEST

START_TEST(a_paused_run_can_be_cancelled)
{
    const struct place *place = &places[_i];
    struct id run_id = reach(place);
    if (place->pause != NULL)
        return;
    ck_assert_ptr_null(pause_run(&run_id));
    lab_cancel(&lab, &run_id);
    lab_check(&lab);
    struct run_row run = lab_run(&lab, &run_id);
    if (!run_is_terminal(run.status)) { /* Its worker is asked. */
        struct job_answer told = lab_progress(&lab, &held, "[]");
        ck_assert_int_eq(told.hold, JOB_HOLD_NONE);
        if (place->status == RUN_CREATING_PR)
            lab_finish(&lab, &held, RESULT_PUBLISHED);
        else
            (void)lab_fail(&lab, &held, "cancelled", false);
        run = lab_run(&lab, &run_id);
    }
    ck_assert(run_is_terminal(run.status));
    ck_assert_int_eq(run.paused_us, 0);
    lab_check(&lab);
}
END_TEST

START_TEST(only_an_agent_that_works_asks_and_once_at_a_time)
{
    const struct place *place = &places[_i];
    struct id run_id = reach(place);
    bool open = place->reach == at_answer;
    expect_code(ask(&run_id), place->ask);
    stays(&run_id, place);
    if (place->ask != NULL) {
        ck_assert_int_eq(lab_count_events(&lab, &run_id, EV_QUESTION_ASKED), open);
        return;
    }
    struct run_row run = lab_run(&lab, &run_id);
    ck_assert(!id_is_none(&run.question_id));
    ck_assert_int_gt(run.still_us, 0);
    ck_assert_int_eq(lab_progress(&lab, &held, "[]").hold, JOB_HOLD_ASKING);
    ck_assert_ptr_null(ask(&run_id)); /* The same again is the same. */
    ck_assert_int_eq(lab_count_events(&lab, &run_id, EV_QUESTION_ASKED), 1);
    ck_assert_ptr_null(pause_run(&run_id));
    ck_assert_int_eq(lab_progress(&lab, &held, "[]").hold, JOB_HOLD_PAUSED);
    ck_assert_ptr_null(resume(&run_id));
    ck_assert_int_gt(lab_run(&lab, &run_id).still_us, 0);
    expect_code(answer(&run.question_id, "sundial"), "INVALID_FIELD");
    expect_code(answer(&run.question_id, "wall"), NULL);
    stays(&run_id, place);
    run = lab_run(&lab, &run_id);
    ck_assert(id_is_none(&run.question_id));
    ck_assert_int_eq(run.still_us, 0);
    ck_assert_int_eq(lab_progress(&lab, &held, "[]").hold, JOB_HOLD_NONE);
    ck_assert_int_eq(lab_count_events(&lab, &run_id, EV_QUESTION_ANSWERED), 1);
}
END_TEST

START_TEST(an_answer_comes_once)
{
    struct id run_id = at_agent();
    ck_assert_ptr_null(ask(&run_id));
    struct id id = lab_run(&lab, &run_id).question_id;
    expect_code(answer(&id, "mono"), NULL);
    expect_code(answer(&id, "wall"), "QUESTION_CLOSED");
    struct question_row row = question(&id);
    ck_assert_str_eq(row.status, "answered");
    ck_assert_str_eq(row.answer, "mono");
    ck_assert_str_eq(row.answered_by, "ada");
    expect_code(answer(&run_id, "wall"), "QUESTION_NOT_FOUND");
}
END_TEST

START_TEST(a_question_that_expires_has_its_default)
{
    const struct place *place = &places[_i];
    struct id run_id = reach(place);
    if (place->ask != NULL)
        return;
    ck_assert_ptr_null(ask(&run_id));
    struct id id = lab_run(&lab, &run_id).question_id;
    for (int i = 0; i < 60; i++) {
        lab_pass_ms(&lab, 10000);
        keep(&held);
    }
    stays(&run_id, place);
    struct question_row row = question(&id);
    ck_assert_str_eq(row.status, "expired");
    ck_assert_str_eq(row.answer, "mono");
    ck_assert_ptr_null(row.answered_by);
    ck_assert_int_eq(lab_count_events(&lab, &run_id, EV_QUESTION_EXPIRED), 1);
    ck_assert_int_eq(lab_run(&lab, &run_id).still_us, 0);
    expect_code(answer(&id, "wall"), "QUESTION_CLOSED");
}
END_TEST

START_TEST(a_run_that_ends_withdraws_its_question)
{
    const struct place *place = &places[_i];
    struct id run_id = reach(place);
    if (place->ask != NULL && place->reach != at_answer)
        return;
    if (place->ask == NULL)
        ck_assert_ptr_null(ask(&run_id));
    struct id id = lab_run(&lab, &run_id).question_id;
    lab_cancel(&lab, &run_id);
    if (place->ask == NULL)
        (void)lab_fail(&lab, &held, "cancelled", false);
    ck_assert_int_eq(lab_run(&lab, &run_id).status, RUN_CANCELLED);
    ck_assert_str_eq(question(&id).status, "cancelled");
    expect_code(answer(&id, "wall"), "QUESTION_CLOSED");
}
END_TEST

Suite *steering_suite(void)
{
    Suite *suite = suite_create("steering");
    TCase *tc = tcase_create("steering");
    int count = (int)COUNT_OF(places);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, a_message_is_kept_where_an_agent_may_follow, 0, count);
    tcase_add_loop_test(tc, a_pause_stops_the_clocks_once_and_resuming_starts_them, 0, count);
    tcase_add_loop_test(tc, a_paused_run_takes_no_harm_from_hours, 0, count);
    tcase_add_loop_test(tc, a_paused_run_can_be_cancelled, 0, count);
    tcase_add_loop_test(tc, only_an_agent_that_works_asks_and_once_at_a_time, 0, count);
    tcase_add_test(tc, an_answer_comes_once);
    tcase_add_loop_test(tc, a_question_that_expires_has_its_default, 0, count);
    tcase_add_loop_test(tc, a_run_that_ends_withdraws_its_question, 0, count);
    suite_add_tcase(suite, tc);
    return suite;
}
