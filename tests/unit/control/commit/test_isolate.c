/*
 * test_isolate.c - one bad run, job, timer or schedule among many: it fails alone, and the others
 * continue.  On both engines.
 *
 * A run is made bad behind the back of the control plane: its task gets a configuration that cannot
 * be read, or more text than a job can hold, as a row of an earlier version may have it.
 */
#include "control/admit/repositories.h"
#include "control/admit/submit.h"
#include "control/commit/isolate.h"
#include "control/messaging/schedules.h"
#include "control/queue/complete.h"
#include "control/queue/lease.h"
#include "control/run/flow.h"
#include "control/watch/doctor.h"
#include "control/watch/due.h"
#include "core/event_types.h"
#include "store/engine.h"
#include "store/leases.h"
#include "store/query.h"
#include "store/timers.h"
#include "tests/unit/lab.h"
#include <check.h>
#include <string.h>

static struct lab lab;
static struct lease_fence turn; /* To run the timers. */

static void open_lab(int engine, struct committer_limits limits)
{
    static const struct lease_claim claim = {.name = LEASE_TIMERS,
                                             .holder = "lab",
                                             .session = "lab",
                                             .place = "",
                                             .under = "",
                                             .ttl_us = US_PER_HOUR};
    lab_open(&lab, &(struct lab_options){.limits = limits, .engine = engine});
    turn = (struct lease_fence){.name = LEASE_TIMERS};
    if (engine == LAB_SQLITE)
        return;
    struct lease_row before;
    struct err err = {0};
    enum rc rc = leases_claim(lab.db, &claim, &lab.arena, &turn.epoch, &before, &err);
    ck_assert_msg(rc == RC_OK, "%s", err.text);
}

static void teardown(void)
{
    lab_check(&lab);
    lab_close(&lab);
}

/* ---- bad ones ---- */

static const struct sql sql_config = {"test_config", "UPDATE tasks SET config = $2 WHERE id = $1",
                                      "tj"};
static const struct sql sql_description = {"test_description",
                                           "UPDATE tasks SET description = $2 WHERE id = $1", "tt"};
static const struct sql sql_results = {"test_results",
                                       "UPDATE runs SET step_results = $2 WHERE id = $1", "tj"};
static const struct sql sql_paths = {"test_paths", "UPDATE runs SET paths = $2 WHERE id = $1",
                                     "tj"};
static const struct sql sql_stop = {"test_stop", "UPDATE runs SET stop = $2 WHERE id = $1", "tt"};
static const struct sql sql_payload = {"test_payload", "UPDATE jobs SET payload = $2 WHERE id = $1",
                                       "tj"};
static const struct sql sql_schedule = {"test_schedule",
                                        "UPDATE schedules SET job = $2 WHERE name = $1", "tj"};

static void exec(const struct sql *sql, const struct param *params, size_t count)
{
    struct err err = {0};
    enum rc rc = db_exec(lab.db, sql, params, count, NULL, &err);
    ck_assert_msg(rc == RC_OK, "%s", err.text);
}

static char *repeat(char c, size_t count)
{
    char *text = arena_alloc(&lab.arena, count + 1);
    memset(text, c, count);
    return text;
}

static void make_unreadable(const struct id *run_id)
{
    struct id task_id = lab_run(&lab, run_id).task_id;
    exec(&sql_config, P_LIST(P_ID(&task_id), P_JSON(STR("{\"agent\":\"none\"}"))));
}

/* Each character takes six bytes of JSON: more than any job can hold. */
static void make_huge(const struct id *run_id)
{
    struct id task_id = lab_run(&lab, run_id).task_id;
    const char *text = repeat('\1', 1024 * 1024);
    exec(&sql_description, P_LIST(P_ID(&task_id), P_TEXT(text)));
}

static void (*const make_bad[])(const struct id *run_id) = {make_unreadable, make_huge};

/* ---- the others ---- */

static bool started(const struct id *run_id)
{
    return lab_run(&lab, run_id).status == RUN_PREPARING;
}

static void expect_failed(const struct id *run_id)
{
    struct run_row run = lab_run(&lab, run_id);
    ck_assert_str_eq(run_status_name(run.status), "failed");
    ck_assert_str_eq(run.error_code, "control_error");
    ck_assert_ptr_nonnull(run.error_message);
    ck_assert_int_eq(lab_task(&lab, run_id).status, TASK_FAILED);
    ck_assert_int_eq(lab_count_events(&lab, run_id, EV_RUN_FAILED), 1);
    ck_assert_int_eq(lab_count_events(&lab, run_id, EV_TASK_FAILED), 1);
}

static int64_t timer_due(const struct id *subject)
{
    struct timer_row *rows;
    size_t count;
    ck_assert_int_eq(timers_of(lab.db, subject, &lab.arena, &rows, &count, NULL), RC_OK);
    return count == 0 ? 0 : rows[0].due_us;
}

/* What is due happens, and nothing is due at once again. */
static void look_at_due(void)
{
    struct cmd_due *due = cmd_due_new();
    due->turn = turn;
    due->prune = true;
    enum rc rc = lab_call(&lab, &due->base);
    ck_assert_msg(rc == RC_OK, "%s", due->base.err.text);
    ck_assert(!due->more);
    ck_assert(due->next_due_us == 0 || due->next_due_us > lab.now_us);
    command_free(&due->base);
}

/* ---- admission ---- */

/* _i: engine and kind of badness. */
#define ENGINE ((int)((size_t)_i / COUNT_OF(make_bad)))
#define BAD    make_bad[(size_t)_i % COUNT_OF(make_bad)]

START_TEST(a_run_that_cannot_start_fails_and_the_others_start)
{
    open_lab(ENGINE, (struct committer_limits){.max_active_runs = 1});
    lab_repository(&lab, "acme/a", NULL);
    lab_repository(&lab, "acme/b", NULL);
    struct id first = lab_submit(&lab, "acme/a");
    struct id bad = lab_submit(&lab, "acme/a");
    struct id second = lab_submit(&lab, "acme/b");
    BAD(&bad);
    ck_assert(started(&first));
    lab_cancel(&lab, &first);
    expect_failed(&bad);
    ck_assert(started(&second));
    struct id third = lab_submit(&lab, "acme/a"); /* The repository is as good as before. */
    lab_cancel(&lab, &second);
    ck_assert(started(&third));
}
END_TEST

START_TEST(a_run_ends_beside_one_that_cannot_start)
{
    open_lab(ENGINE, (struct committer_limits){.max_active_runs = 1});
    lab_repository(&lab, "acme/a", NULL);
    struct id first = lab_submit(&lab, "acme/a");
    struct id bad = lab_submit(&lab, "acme/a");
    BAD(&bad);
    lab_step(&lab, "prepare", RESULT_PREPARE);
    lab_step(&lab, "hydrate", RESULT_HYDRATE);
    lab_step(&lab, "agent", RESULT_AGENT);
    lab_step(&lab, "verify", RESULT_VERIFIED);
    lab_step(&lab, "judge", RESULT_JUDGED);
    lab_step(&lab, "publish", RESULT_PUBLISHED);
    ck_assert_str_eq(run_status_name(lab_run(&lab, &first).status), "completed");
    expect_failed(&bad);
}
END_TEST

/* ---- sizes ---- */

enum { CONTROL_CHARACTERS = 65000 };

/* A legal configuration of about so many bytes. */
static const char *config_of(size_t bytes)
{
    enum { PROMPT_MAX = 200 * 1024 };
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, 4 * 1024 * 1024);
    buf_adds(&text, "\"judge\":[");
    for (int i = 0; text.len < bytes; i++) {
        size_t left = bytes - text.len;
        buf_addf(&text,
                 "%s{\"name\":\"j%d\",\"model\":{\"api\":\"openai\",\"url\":\"http://localhost/\","
                 "\"model\":\"m\",\"prompt\":\"",
                 i > 0 ? "," : "", i);
        buf_adds(&text, repeat('x', left < PROMPT_MAX ? left : PROMPT_MAX));
        buf_adds(&text, "\"}}");
    }
    buf_adds(&text, "]");
    return arena_strdup(&lab.arena, buf_text(&text));
}

static struct cmd_submit *new_submit(const char *description)
{
    struct cmd_submit *cmd = cmd_submit_new();
    cmd->task.repository = "acme/a";
    cmd->task.description = description;
    cmd->base.actor = (struct actor){"user", "ada"};
    return cmd;
}

START_TEST(a_task_that_no_job_can_hold_is_refused_when_it_comes_in)
{
    open_lab(_i, (struct committer_limits){0});
    lab_repository(&lab, "acme/a", config_of(800 * 1024));
    struct cmd_submit *cmd = new_submit(repeat('\1', CONTROL_CHARACTERS));
    ck_assert_int_eq(lab_call(&lab, &cmd->base), RC_TOO_LARGE);
    ck_assert_str_eq(cmd->base.err.code, "TASK_TOO_LARGE");
    ck_assert_str_eq(cmd->base.err.field, "description");
    ck_assert_ptr_nonnull(strstr(cmd->base.err.text, "acme/a"));
    command_free(&cmd->base);
    struct id run_id = lab_submit(&lab, "acme/a"); /* A short one fits. */
    ck_assert(started(&run_id));
}
END_TEST

START_TEST(a_configuration_that_no_job_can_hold_is_refused)
{
    open_lab(LAB_SQLITE, (struct committer_limits){0});
    struct cmd_repository_put *put = cmd_repository_put_new();
    put->name = "acme/a";
    put->config = str_of(arena_printf(
        &lab.arena, "{\"url\":\"/x\",\"agent\":{\"command\":[\"a\"]},%s}", config_of(1024 * 1024)));
    ck_assert_int_eq(lab_call(&lab, &put->base), RC_TOO_LARGE);
    ck_assert_str_eq(put->base.err.code, "CONFIG_TOO_LARGE");
    command_free(&put->base);
}
END_TEST

/* The largest task that is taken, with all that its run may add: it ends as any other. */
START_TEST(a_task_as_large_as_may_be_comes_to_its_end)
{
    open_lab(_i, (struct committer_limits){0});
    lab_repository(&lab, "acme/a", config_of(640 * 1024));
    struct cmd_submit *cmd = new_submit(repeat('\1', CONTROL_CHARACTERS));
    ck_assert_msg(lab_call(&lab, &cmd->base) == RC_OK, "%s", cmd->base.err.text);
    struct id run_id = cmd->answer.run_id;
    command_free(&cmd->base);
    const char *results = arena_printf(&lab.arena, "[\"%s\"]", repeat('x', 127 * 1024));
    exec(&sql_results, P_LIST(P_ID(&run_id), P_JSON(str_of(results))));
    lab_step(&lab, "prepare", RESULT_PREPARE);
    lab_step(&lab, "hydrate", RESULT_HYDRATE);
    lab_step(&lab, "agent", RESULT_AGENT);
    lab_step(&lab, "verify", RESULT_VERIFIED);
    lab_cancel(&lab, &run_id);
    ck_assert_str_eq(run_status_name(lab_run(&lab, &run_id).status), "cancelled");
    ck_assert_ptr_nonnull(lab_take(&lab, "clean").payload.at);
}
END_TEST

/* ---- what is due ---- */

START_TEST(a_lost_job_that_cannot_be_made_anew_fails_its_run_alone)
{
    open_lab(ENGINE, (struct committer_limits){0});
    lab_repository(&lab, "acme/a", NULL);
    struct id runs[3];
    for (size_t i = 0; i < COUNT_OF(runs); i++) {
        runs[i] = lab_submit(&lab, "acme/a");
        lab_step(&lab, "prepare", RESULT_PREPARE);
        lab_step(&lab, "hydrate", RESULT_HYDRATE);
        (void)lab_take(&lab, "agent");
    }
    BAD(&runs[1]);
    lab.now_us += US_PER_MINUTE;
    look_at_due();
    ck_assert(started(&runs[0])); /* Back to where its tree is made. */
    expect_failed(&runs[1]);
    ck_assert(started(&runs[2]));
}
END_TEST

START_TEST(a_deadline_of_a_bad_run_ends_it_and_the_others_fire)
{
    open_lab(ENGINE, (struct committer_limits){0});
    lab_repository(&lab, "acme/a", "\"timeouts\":{\"runMs\":60000}");
    struct id bad = lab_submit(&lab, "acme/a");
    struct id good = lab_submit(&lab, "acme/a");
    struct job_row *jobs;
    ck_assert_uint_eq(lab_lease(&lab, "drover.prepare", "w", &jobs), 2);
    BAD(&bad); /* Asking its worker to stop reads the configuration. */
    lab.now_us += 61 * US_PER_SECOND;
    struct cmd_due *due = cmd_due_new();
    due->turn = turn;
    due->grace_us = US_PER_MINUTE; /* The leases live on. */
    ck_assert_int_eq(lab_call(&lab, &due->base), RC_OK);
    command_free(&due->base);
    ck_assert(run_is_terminal(lab_run(&lab, &bad).status) ||
              lab_run(&lab, &bad).stop == RUN_STOP_TIMEOUT);
    ck_assert_int_eq(lab_run(&lab, &good).stop, RUN_STOP_TIMEOUT);
}
END_TEST

START_TEST(a_timer_that_cannot_fire_is_put_off)
{
    open_lab(_i, (struct committer_limits){0});
    lab_repository(&lab, "acme/a", "\"timeouts\":{\"queueMs\":1000}");
    lab_repository(&lab, "acme/b",
                   "\"limits\":{\"maxActiveRuns\":1},"
                   "\"timeouts\":{\"queueMs\":1000}");
    struct id active = lab_submit(&lab, "acme/b");
    struct id waits = lab_submit(&lab, "acme/b");
    struct random random = random_seeded(3);
    struct id nobody = id_new(lab.now_us, &random), nothing = id_new(lab.now_us, &random);
    struct timer_row orphans[] = {
        {TIMER_RUN_DEADLINE, nobody, lab.now_us + 1},
        {TIMER_APPROVAL_EXPIRY, nothing, lab.now_us + 2},
    };
    for (size_t i = 0; i < COUNT_OF(orphans); i++)
        ck_assert_int_eq(timers_set(lab.db, &orphans[i], NULL), RC_OK);
    lab.now_us += 2 * US_PER_SECOND;
    look_at_due();
    ck_assert_str_eq(run_status_name(lab_run(&lab, &waits).status), "timed_out");
    ck_assert(started(&active));
    ck_assert_int_eq(timer_due(&nobody), lab.now_us + US_PER_MINUTE);
    ck_assert_int_eq(timer_due(&nothing), lab.now_us + US_PER_MINUTE);
    lab.now_us += 2 * US_PER_MINUTE;
    look_at_due();
    ck_assert_int_eq(timer_due(&nobody), lab.now_us + US_PER_MINUTE);
}
END_TEST

static void put_schedule(const char *name)
{
    struct cmd_schedule_put *cmd = cmd_schedule_put_new();
    cmd->name = name;
    cmd->cron = "* * * * *";
    cmd->job = STR("{\"queue\":\"q\",\"type\":\"tick\",\"payload\":1}");
    cmd->enabled = true;
    ck_assert_int_eq(lab_call(&lab, &cmd->base), RC_OK);
    command_free(&cmd->base);
}

START_TEST(a_schedule_that_cannot_fire_is_told_of_and_the_others_fire)
{
    open_lab(_i, (struct committer_limits){0});
    put_schedule("a");
    put_schedule("b");
    put_schedule("c");
    /* A job without a type: the store refuses it. */
    exec(&sql_schedule, P_LIST(P_TEXT("b"), P_JSON(STR("{\"queue\":\"q\",\"payload\":1}"))));
    lab.now_us += US_PER_MINUTE;
    look_at_due();
    struct job_row *jobs;
    ck_assert_uint_eq(lab_lease(&lab, "q", "w", &jobs), 2);
    struct event_filter filter = {.type_pattern = EV_SCHEDULE_REFUSED, .limit = 10};
    struct event *events;
    size_t count;
    ck_assert_int_eq(events_list(lab.db, &filter, &lab.arena, &events, &count, NULL), RC_OK);
    ck_assert_uint_eq(count, 1);
    ck_assert_str_eq(events[0].subject, "schedule/b");
    ck_assert_ptr_nonnull(strstr(events[0].data.at, "STORE_CONSTRAINT"));
    lab.now_us += US_PER_MINUTE;
    look_at_due();
    ck_assert_uint_eq(lab_lease(&lab, "q", "w", &jobs), 4); /* Two of them a second time. */
}
END_TEST

/* ---- what workers report ---- */

static struct job_row *lease_all(const char *queue, size_t want)
{
    struct job_row *jobs;
    ck_assert_uint_eq(lab_lease(&lab, queue, "w", &jobs), want);
    return jobs;
}

START_TEST(a_report_that_its_run_cannot_take_fails_that_run_alone)
{
    open_lab(ENGINE, (struct committer_limits){0});
    lab_repository(&lab, "acme/a", NULL);
    struct id runs[3];
    struct job_done done[3];
    for (size_t i = 0; i < COUNT_OF(runs); i++)
        runs[i] = lab_submit(&lab, "acme/a");
    struct job_row *jobs = lease_all("drover.prepare", 3);
    BAD(&runs[1]);
    for (size_t i = 0; i < COUNT_OF(done); i++)
        done[i] = (struct job_done){.ref = {jobs[i].id, jobs[i].life.epoch},
                                    .result = STR(RESULT_PREPARE)};
    struct cmd_complete *cmd = cmd_complete_new();
    cmd->jobs = done;
    cmd->count = COUNT_OF(done);
    ck_assert_msg(lab_call(&lab, &cmd->base) == RC_OK, "%s", cmd->base.err.text);
    ck_assert(cmd->answers[0].ok && cmd->answers[2].ok);
    ck_assert(!cmd->answers[1].ok);
    ck_assert_str_eq(cmd->answers[1].code, "CONTROL_ERROR");
    command_free(&cmd->base);
    expect_failed(&runs[1]);
    ck_assert_int_eq(lab_run(&lab, &runs[0]).status, RUN_CONTEXT_LOADING);
    ck_assert_int_eq(lab_run(&lab, &runs[2]).status, RUN_CONTEXT_LOADING);
}
END_TEST

/* A word that no version has written; the store itself would not take it. */
static void make_odd(int engine, const struct id *run_id)
{
    static const char *const unguard[] = {
        [LAB_SQLITE] = "PRAGMA ignore_check_constraints = ON",
        [LAB_POSTGRES] = "ALTER TABLE runs DROP CONSTRAINT runs_stop_check",
    };
    ck_assert_int_eq(db_script(lab.db, "unguard", unguard[engine], NULL), RC_OK);
    exec(&sql_stop, P_LIST(P_ID(run_id), P_TEXT("odd")));
}

static void make_even(const struct id *run_id)
{
    exec(&sql_stop, P_LIST(P_ID(run_id), P_TEXT("none")));
}

static void far_runs(struct id runs[3])
{
    lab_far_repository(&lab, "acme/a", NULL);
    for (int i = 0; i < 3; i++) {
        runs[i] = lab_submit(&lab, "acme/a");
        lab_step(&lab, "prepare", RESULT_PREPARE);
        lab_step(&lab, "hydrate", RESULT_HYDRATE);
    }
}

/* Neither can it be put off. */
START_TEST(a_timer_whose_row_is_damaged_does_not_stop_the_others)
{
    open_lab(LAB_SQLITE, (struct committer_limits){0});
    lab_repository(&lab, "acme/a", "\"timeouts\":{\"queueMs\":1000}");
    lab_repository(&lab, "acme/b",
                   "\"limits\":{\"maxActiveRuns\":1},"
                   "\"timeouts\":{\"queueMs\":1000}");
    (void)lab_submit(&lab, "acme/b");
    struct id waits = lab_submit(&lab, "acme/b");
    ck_assert_int_eq(db_script(lab.db, "damage",
                               "INSERT INTO timers (subject, kind, due_us)"
                               " VALUES ('garbage', 'run_deadline', 1)",
                               NULL),
                     RC_OK);
    lab.now_us += 2 * US_PER_SECOND;
    look_at_due();
    ck_assert_str_eq(run_status_name(lab_run(&lab, &waits).status), "timed_out");
}
END_TEST

START_TEST(a_job_whose_run_cannot_be_read_does_not_block_its_queue)
{
    struct id runs[3];
    open_lab(_i, (struct committer_limits){0});
    far_runs(runs);
    struct job_row job;
    struct id job_id = lab_run(&lab, &runs[0]).job_id;
    make_odd(_i, &runs[0]);
    (void)lease_all("far", 2);
    ck_assert_int_eq(jobs_get(lab.db, &job_id, &lab.arena, &job, NULL), RC_OK);
    ck_assert_int_eq(job.life.state, JOB_SCHEDULED); /* Tried again in a while. */
    ck_assert_int_eq(job.life.due_us, lab.now_us + US_PER_MINUTE);
    make_even(&runs[0]);
    lab.now_us += US_PER_MINUTE;
    look_at_due();
    (void)lease_all("far", 3);
}
END_TEST

/* The payload says how long the agent may take.  (PostgreSQL holds nothing but JSON there.) */
START_TEST(a_job_that_cannot_be_handed_out_fails_its_run)
{
    struct id runs[3];
    open_lab(LAB_SQLITE, (struct committer_limits){0});
    far_runs(runs);
    struct id job_id = lab_run(&lab, &runs[0]).job_id;
    exec(&sql_payload, P_LIST(P_ID(&job_id), P_JSON(STR("{"))));
    (void)lease_all("far", 2);
    expect_failed(&runs[0]);
}
END_TEST

START_TEST(a_lease_that_cannot_be_renewed_leaves_the_others_alone)
{
    struct id runs[3];
    open_lab(_i, (struct committer_limits){0});
    far_runs(runs);
    struct job_row *jobs = lease_all("far", 3);
    struct job_ref refs[3];
    for (size_t i = 0; i < COUNT_OF(refs); i++)
        refs[i] = (struct job_ref){jobs[i].id, jobs[i].life.epoch};
    make_odd(_i, &runs[1]);
    struct cmd_heartbeat *cmd = cmd_heartbeat_new();
    cmd->leases = refs;
    cmd->count = COUNT_OF(refs);
    cmd->worker = "w";
    cmd->extend_us = US_PER_MINUTE;
    ck_assert_msg(lab_call(&lab, &cmd->base) == RC_OK, "%s", cmd->base.err.text);
    ck_assert(cmd->answers[0].ok && cmd->answers[2].ok);
    ck_assert_str_eq(cmd->answers[1].code, "CONTROL_ERROR");
    command_free(&cmd->base);
    make_even(&runs[1]);
}
END_TEST

/* ---- those that only read ---- */

START_TEST(what_one_run_works_on_cannot_fail_another)
{
    open_lab(_i, (struct committer_limits){0});
    lab_repository(&lab, "acme/a", "\"limits\":{\"overlap\":\"serialize\"}");
    struct id first = lab_submit(&lab, "acme/a");
    exec(&sql_paths, P_LIST(P_ID(&first), P_JSON(STR("{}"))));
    struct id second = lab_submit(&lab, "acme/a");
    ck_assert(started(&first));
    ck_assert_int_eq(lab_run(&lab, &second).status, RUN_QUEUED); /* It waits for the first. */
    exec(&sql_paths, P_LIST(P_ID(&first), P_JSON(STR("[]"))));
    lab_cancel(&lab, &first);
    ck_assert(started(&second));
}
END_TEST

START_TEST(the_doctor_tells_what_it_cannot_read_and_examines_the_rest)
{
    struct doctor_report report;
    struct err err = {0};
    open_lab(_i, (struct committer_limits){.max_active_runs = 1});
    lab_repository(&lab, "acme/a", NULL);
    struct id first = lab_submit(&lab, "acme/a"), second = lab_submit(&lab, "acme/a");
    make_odd(_i, &second);
    enum rc rc = doctor_examine(lab.db, &lab.arena, &report, &err);
    ck_assert_msg(rc == RC_OK, "%s", err.text);
    ck_assert(!report.healthy);
    ck_assert_str_eq(report.checks[0].name, "readable");
    ck_assert_int_eq(report.checks[0].bad, 1);
    ck_assert_ptr_nonnull(strstr(report.checks[0].first, "queued"));
    ck_assert_int_ge(report.checks[1].looked_at, 1);
    make_even(&second);
    ck_assert(started(&first));
}
END_TEST

/* ---- the engine fails ---- */

/* Nobody is failed for a full disk. */
START_TEST(a_full_disk_ends_the_round_and_fails_no_run)
{
    open_lab(LAB_SQLITE, (struct committer_limits){0});
    lab_repository(&lab, "acme/a", NULL);
    struct id runs[50];
    for (size_t i = 0; i < COUNT_OF(runs); i++)
        runs[i] = lab_submit(&lab, "acme/a");
    struct job_row *jobs;
    while (lab_lease(&lab, "drover.prepare", "w", &jobs) > 0) {
    }
    lab.now_us += US_PER_MINUTE;
    ck_assert_int_eq(db_script(lab.db, "full", "PRAGMA max_page_count = 1", NULL), RC_OK);
    struct cmd_due *due = cmd_due_new();
    due->turn = turn;
    ck_assert_int_eq(lab_call(&lab, &due->base), RC_IO);
    ck_assert_str_eq(due->base.err.code, "STORE_FULL");
    command_free(&due->base);
    ck_assert_int_eq(db_script(lab.db, "room", "PRAGMA max_page_count = 1000000", NULL), RC_OK);
    for (size_t i = 0; i < COUNT_OF(runs); i++)
        ck_assert(started(&runs[i]));
    look_at_due();
    for (size_t i = 0; i < COUNT_OF(runs); i++)
        ck_assert_int_eq(lab_count_events(&lab, &runs[i], EV_RUN_HEARTBEAT_MISSED), 1);
}
END_TEST

/* ---- which errors are about one ---- */

static const struct {
    enum rc rc;
    const char *code;
    bool engine;
} failures[] = {
    {RC_UNREACHABLE, "STORE_UNREACHABLE", true},
    {RC_BUSY, "STORE_BUSY", true},
    {RC_IO, "STORE_FULL", true},
    {RC_IO, "STORE_IO", true},
    {RC_IO, "STORE_TIMEOUT", true},
    {RC_CORRUPT, "STORE_CORRUPT", true},
    {RC_IO, "STORE_CONSTRAINT", false},
    {RC_IO, "ROW_MISSING", false},
    {RC_CORRUPT, "ROW_CORRUPT", false},
    {RC_INVALID, "INVALID_DATA", false},
    {RC_TOO_LARGE, "PAYLOAD_TOO_LARGE", false},
    {RC_NOT_FOUND, "NOT_FOUND", false},
};

START_TEST(an_error_of_the_engine_is_not_about_one_row)
{
    struct err err = {0};
    err_set(&err, failures[_i].rc, failures[_i].code, "x");
    ck_assert_int_eq(is_engine_failure(failures[_i].rc, &err), failures[_i].engine);
}
END_TEST

Suite *isolate_suite(void)
{
    Suite *suite = suite_create("isolate");
    TCase *tc = tcase_create("control");
    tcase_add_checked_fixture(tc, NULL, teardown);
    int engines = lab_engines(), both = engines * (int)COUNT_OF(make_bad);
    tcase_add_loop_test(tc, a_run_that_cannot_start_fails_and_the_others_start, 0, both);
    tcase_add_loop_test(tc, a_run_ends_beside_one_that_cannot_start, 0, both);
    tcase_add_loop_test(tc, a_task_that_no_job_can_hold_is_refused_when_it_comes_in, 0, engines);
    tcase_add_test(tc, a_configuration_that_no_job_can_hold_is_refused);
    tcase_add_loop_test(tc, a_task_as_large_as_may_be_comes_to_its_end, 0, engines);
    tcase_add_loop_test(tc, a_lost_job_that_cannot_be_made_anew_fails_its_run_alone, 0, both);
    tcase_add_loop_test(tc, a_deadline_of_a_bad_run_ends_it_and_the_others_fire, 0, both);
    tcase_add_loop_test(tc, a_timer_that_cannot_fire_is_put_off, 0, engines);
    tcase_add_loop_test(tc, a_schedule_that_cannot_fire_is_told_of_and_the_others_fire, 0, engines);
    tcase_add_loop_test(tc, a_report_that_its_run_cannot_take_fails_that_run_alone, 0, both);
    tcase_add_test(tc, a_timer_whose_row_is_damaged_does_not_stop_the_others);
    tcase_add_loop_test(tc, a_job_whose_run_cannot_be_read_does_not_block_its_queue, 0, engines);
    tcase_add_test(tc, a_job_that_cannot_be_handed_out_fails_its_run);
    tcase_add_loop_test(tc, a_lease_that_cannot_be_renewed_leaves_the_others_alone, 0, engines);
    tcase_add_loop_test(tc, what_one_run_works_on_cannot_fail_another, 0, engines);
    tcase_add_loop_test(tc, the_doctor_tells_what_it_cannot_read_and_examines_the_rest, 0, engines);
    tcase_add_test(tc, a_full_disk_ends_the_round_and_fails_no_run);
    suite_add_tcase(suite, tc);
    TCase *pure = tcase_create("pure");
    tcase_add_loop_test(pure, an_error_of_the_engine_is_not_about_one_row, 0,
                        (int)COUNT_OF(failures));
    suite_add_tcase(suite, pure);
    return suite;
}
