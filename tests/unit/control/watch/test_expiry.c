/*
 * test_expiry.c - what is past its time is deleted, a little at a time, and what is needed stays;
 * on both engines.
 */
#include "base/fd.h"
#include "control/admit/retry.h"
#include "control/admit/submit.h"
#include "control/watch/doctor_log.h"
#include "control/watch/doctor_metrics.h"
#include "control/watch/due.h"
#include "control/watch/expire.h"
#include "control/watch/expiry_phases.h"
#include "control/watch/expiry_rounds.h"
#include "control/watch/replay.h"
#include "core/event_types.h"
#include "store/artifact_uses.h"
#include "store/artifacts.h"
#include "store/consumers.h"
#include "store/pull_requests.h"
#include "store/query.h"
#include "store/retention_sums.h"
#include "store/run_diagnostics.h"
#include "tests/unit/honest.h"
#include "tests/unit/lab.h"
#include <check.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define DAY_MS (INT64_C(24) * 3600 * 1000)

static struct lab lab;
static struct lease_fence turn;

static void open_lab(int engine)
{
    static const struct lease_claim claim = {.name = LEASE_TIMERS,
                                             .holder = "lab",
                                             .session = "lab",
                                             .place = "",
                                             .under = "",
                                             .ttl_us = US_PER_HOUR};
    struct lease_row before;
    struct err err = {0};
    lab_open(&lab, &(struct lab_options){.engine = engine});
    lab_repository(&lab, "acme/a", &LAB_VERIFY[1]);
    turn = (struct lease_fence){.name = LEASE_TIMERS};
    if (engine != LAB_SQLITE)
        ck_assert_int_eq(leases_claim(lab.db, &claim, &lab.arena, &turn.epoch, &before, &err),
                         RC_OK);
}

/* What is due happens. */
static void look(void)
{
    struct cmd_due *due = cmd_due_new();
    due->turn = turn;
    lab.now_us += US_PER_MS;
    enum rc rc = lab_call(&lab, &due->base);
    ck_assert_msg(rc == RC_OK, "%s", due->base.err.text);
    command_free(&due->base);
    committer_want_admission(lab.committer);
    lab_rounds(&lab);
}

static void teardown(void)
{
    lab_close(&lab);
}

/* ---- helpers ---- */

static int64_t lab_now(void *ctx)
{
    return ((struct lab *)ctx)->now_us;
}

static enum rc lab_expire(void *ctx, struct command *command)
{
    return lab_call(ctx, command);
}

static struct expiry_rounds *rounds_of(const struct expiry_rules *rules)
{
    const struct expiry_rounds_options options = {
        .rules = *rules,
        .store = lab.store,
        .clock = {lab_now, &lab},
        .turn = turn,
        .call = lab_expire,
        .ctx = &lab,
    };
    return expiry_rounds_new(&options);
}

/* Transactions of other suites may be open on the same server: it waits for them, as the thread of
   the rounds does. */
static void one_step(struct expiry_rounds *rounds)
{
    if (expiry_rounds_step(rounds) == EXPIRY_SETTLE_US)
        (void)usleep(EXPIRY_SETTLE_US);
}

/* One round, from its first step to its last; returns how many steps it took. */
static int round_with(const struct expiry_rules *rules)
{
    struct expiry_rounds *rounds = rounds_of(rules);
    int steps = 0;
    for (; expiry_rounds_done(rounds) == 0; steps++) {
        ck_assert_int_lt(steps, 100000);
        one_step(rounds);
    }
    expiry_rounds_free(rounds);
    return steps;
}

static int one_round(void)
{
    const struct expiry_rules rules = expiry_rules_default();
    return round_with(&rules);
}

static int64_t count_of(const char *text)
{
    int64_t value = -1;
    struct err err = {0};
    struct sql sql = {"test_count", text, ""};
    const struct sql *kept = memcpy(arena_alloc(&lab.arena, sizeof sql), &sql, sizeof sql);
    enum rc rc = query_int(lab.db, kept, NULL, 0, &value, &err);
    ck_assert_msg(rc == RC_OK, "%s: %s", text, err.text);
    return value;
}

static int64_t sum_of(const char *name)
{
    int64_t value = 0;
    struct err err = {0};
    ck_assert_int_eq(retention_sums_get(lab.db, name, &value, &err), RC_OK);
    return value;
}

static void doctor(void)
{
    struct doctor_check history, metrics;
    struct err err = {0};
    lab_check(&lab);
    ck_assert_int_eq(doctor_history(lab.db, &lab.arena, &history, &err), RC_OK);
    ck_assert_msg(history.bad == 0, "%s", history.first);
    ck_assert_int_eq(doctor_metrics(lab.db, &lab.arena, &metrics, &err), RC_OK);
    ck_assert_msg(metrics.bad == 0, "%s", metrics.first);
}

/* The agent says a lot before it is done. */
static void talk(const struct job_row *job, int turns)
{
    for (int i = 1; i <= turns; i++) {
        lab.now_us += US_PER_MS;
        lab_progress(&lab, job,
                     arena_printf(&lab.arena,
                                  "[{\"type\":\"agent.tool.call.completed\",\"data\":"
                                  "{\"name\":\"%s\",\"summary\":\"make test\"}},"
                                  "{\"type\":\"agent.model.turn.completed\",\"data\":"
                                  "{\"turns\":%d,\"costUsd\":0.%03d}}]",
                                  i % 3 == 0 ? "Read" : "Bash", i, i));
    }
}

/* Until it is published; turns 0: its agent says nothing. */
static struct id published_run(int turns)
{
    struct id run_id = lab_submit(&lab, "acme/a");
    lab_step(&lab, "prepare", RESULT_PREPARE);
    lab_step(&lab, "hydrate", RESULT_HYDRATE);
    struct job_row job = lab_take(&lab, "agent");
    talk(&job, turns);
    lab_finish(&lab, &job, RESULT_AGENT);
    lab_step(&lab, "verify", RESULT_VERIFIED);
    lab_step(&lab, "judge", RESULT_JUDGED);
    lab_step(&lab, "publish", RESULT_PUBLISHED);
    ck_assert_int_eq(lab_run(&lab, &run_id).status, RUN_COMPLETED);
    return run_id;
}

static void clean(void)
{
    lab_step(&lab, "clean", "{}");
}

static const struct sql sql_close_prs = {
    "test_close_prs", "UPDATE pull_requests SET status = 'closed', updated_us = $1", "i"};
static const struct sql sql_end_shepherds = {"test_end_shepherds",
                                             "UPDATE shepherds SET ended_us = $1", "i"};
static const struct sql sql_no_timers = {"test_no_timers", "DELETE FROM timers", ""};
static const struct sql sql_settle = {
    "test_settle",
    "UPDATE jobs SET state = 'cancelled' WHERE state IN ('queued', 'scheduled', 'leased')", ""};

/* As if the forge had been followed to the end. */
static void close_prs(void)
{
    struct err err = {0};
    ck_assert_int_eq(db_exec(lab.db, &sql_close_prs, P_LIST(P_INT(lab.now_us)), NULL, &err), RC_OK);
    ck_assert_int_eq(db_exec(lab.db, &sql_end_shepherds, P_LIST(P_INT(lab.now_us)), NULL, &err),
                     RC_OK);
    ck_assert_int_eq(db_exec(lab.db, &sql_settle, NULL, 0, NULL, &err), RC_OK);
    ck_assert_int_eq(db_exec(lab.db, &sql_no_timers, NULL, 0, NULL, &err), RC_OK);
}

static struct id cancelled_run(void)
{
    struct id run_id = lab_submit(&lab, "acme/a");
    lab_cancel(&lab, &run_id);
    ck_assert_int_eq(lab_run(&lab, &run_id).status, RUN_CANCELLED);
    clean();
    return run_id;
}

static bool is_there(const struct id *run_id)
{
    enum run_status status;
    struct err err = {0};
    enum rc rc = runs_status_of(lab.db, run_id, &lab.arena, &status, &err);
    ck_assert(rc == RC_OK || rc == RC_NOT_FOUND);
    return rc == RC_OK;
}

/* What is due happens on the way. */
static void pass_days(int days)
{
    look();
    lab.now_us += days * DAY_MS * US_PER_MS;
    look();
}

/* The newest event stays, of whatever it is. */
static void another_event(void)
{
    lab_repository(&lab, "acme/b", NULL);
}

/* ---- tasks ---- */

START_TEST(a_task_goes_with_all_that_belongs_to_it)
{
    open_lab(_i);
    struct id run_id = published_run(3);
    clean();
    close_prs();
    pass_days(89);
    one_round();
    ck_assert(is_there(&run_id));
    doctor();
    pass_days(2);
    another_event();
    ck_assert_int_gt(one_round(), 5);
    ck_assert(!is_there(&run_id));
    static const char *const tables[] = {"tasks",           "runs",          "jobs",
                                         "patches",         "verifications", "pull_requests",
                                         "shepherds",       "run_artifacts", "expired_tasks",
                                         "run_diagnostics", "timers",        "artifact_uses"};
    for (size_t i = 0; i < COUNT_OF(tables); i++)
        ck_assert_msg(count_of(arena_printf(&lab.arena, "SELECT count(*) FROM %s", tables[i])) == 0,
                      "%s", tables[i]);
    ck_assert_int_eq(count_of("SELECT count(*) FROM event_log WHERE task_id IS NOT NULL"), 0);
    ck_assert_int_eq(sum_of(RETENTION_EXPIRED "tasks"), 1);
    ck_assert_int_eq(sum_of(RETENTION_EXPIRED "runs"), 1);
    ck_assert_int_eq(sum_of(RETENTION_RUNS "completed"), 1);
    doctor();
}
END_TEST

START_TEST(what_has_its_own_time_or_none_is_kept)
{
    open_lab(_i);
    struct id run_id = cancelled_run();
    struct expiry_rules rules = expiry_rules_default();
    rules.tasks_us = 0;
    pass_days(1000);
    round_with(&rules);
    ck_assert(is_there(&run_id));
    rules.tasks_us = 2000 * US_PER_DAY;
    round_with(&rules);
    ck_assert(is_there(&run_id));
    rules.tasks_us = US_PER_DAY;
    round_with(&rules);
    ck_assert(!is_there(&run_id));
    doctor();
}
END_TEST

START_TEST(an_open_pull_request_keeps_its_task)
{
    open_lab(_i);
    struct id run_id = published_run(0);
    clean();
    pass_days(400);
    one_round();
    ck_assert(is_there(&run_id));
    ck_assert_int_eq(sum_of(RETENTION_KEPT "pull_request"), 1);
    close_prs();
    one_round();
    ck_assert_msg(is_there(&run_id), "its time begins when the pull request is closed");
    pass_days(91);
    one_round();
    ck_assert(!is_there(&run_id));
    doctor();
}
END_TEST

static struct id submit_after(const struct id *task_id)
{
    struct cmd_submit *cmd = cmd_submit_new();
    cmd->task.repository = "acme/a";
    cmd->task.description = "another one";
    cmd->task.depends_on = task_id;
    cmd->task.depends_count = 1;
    cmd->base.actor = (struct actor){"user", "ann"};
    ck_assert_int_eq(lab_call(&lab, &cmd->base), RC_OK);
    struct id run_id = cmd->answer.run_id;
    command_free(&cmd->base);
    return run_id;
}

static void retry(const struct id *task_id)
{
    struct cmd_retry *cmd = cmd_retry_new();
    cmd->task_id = *task_id;
    cmd->base.actor = (struct actor){"user", "ann"};
    ck_assert_int_eq(lab_call(&lab, &cmd->base), RC_OK);
    command_free(&cmd->base);
}

START_TEST(a_task_that_another_depends_on_goes_with_it_or_later)
{
    open_lab(_i);
    struct id first = cancelled_run(), task_id = lab_task(&lab, &first).id;
    struct id second = submit_after(&task_id); /* Which fails at once. */
    struct task_row task = lab_task(&lab, &second);
    ck_assert_int_eq(task.status, TASK_FAILED);
    pass_days(50);
    retry(&task.id);
    pass_days(50);
    one_round();
    ck_assert_msg(is_there(&first) && is_there(&second), "the second may still be retried");
    ck_assert_int_eq(sum_of(RETENTION_KEPT "dependent"), 1);
    pass_days(50);
    one_round();
    ck_assert(!is_there(&first) && !is_there(&second));
    ck_assert_int_eq(sum_of(RETENTION_KEPT "dependent"), 0);
    doctor();
}
END_TEST

START_TEST(a_task_that_was_retried_meanwhile_stays)
{
    open_lab(_i);
    struct id run_id = cancelled_run();
    struct task_row task = lab_task(&lab, &run_id);
    pass_days(200);
    retry(&task.id);
    /* A command about what was true before. */
    const struct expiry_rules rules = expiry_rules_default();
    const struct expire_item item = {.id = task.id};
    struct cmd_expire *cmd = cmd_expire_new();
    cmd->what = EXPIRE_TASKS;
    cmd->rules = &rules;
    cmd->turn = turn;
    cmd->items = &item;
    cmd->count = 1;
    ck_assert_int_eq(lab_call(&lab, &cmd->base), RC_OK);
    ck_assert_uint_eq(cmd->handled, 1);
    ck_assert_int_eq(cmd->rows, 0);
    command_free(&cmd->base);
    ck_assert(is_there(&run_id));
    doctor();
}
END_TEST

START_TEST(work_that_is_published_nowhere_is_kept)
{
    open_lab(_i);
    struct id run_id = lab_submit(&lab, "acme/a");
    lab_step(&lab, "prepare", RESULT_PREPARE);
    lab_step(&lab, "hydrate", RESULT_HYDRATE);
    struct job_row job = lab_take(&lab, "agent");
    lab_progress(
        &lab, &job,
        arena_printf(&lab.arena,
                     "[{\"type\":\"agent.snapshot.taken\",\"data\":{\"ref\":"
                     "\"refs/drover/snapshots/%s/1-1\",\"commit\":"
                     "\"2222222222222222222222222222222222222222\","
                     "\"reason\":\"interval\",\"worker\":\"node-1/0\",\"mirror\":\"/m\"}}]",
                     run_id.text));
    lab_cancel(&lab, &run_id);
    lab_fail(&lab, &job, "cancelled", false);
    ck_assert_int_eq(lab_run(&lab, &run_id).status, RUN_CANCELLED);
    clean();
    pass_days(300);
    one_round();
    ck_assert(is_there(&run_id));
    ck_assert_int_eq(sum_of(RETENTION_KEPT "unpublished"), 1);
    struct expiry_rules rules = expiry_rules_default();
    rules.unpublished_us = 100 * US_PER_DAY;
    round_with(&rules);
    ck_assert(!is_there(&run_id));
    doctor();
}
END_TEST

/* ---- events ---- */

START_TEST(events_wait_for_a_reader_that_is_behind)
{
    open_lab(_i);
    struct err err = {0};
    struct id run_id = cancelled_run();
    int64_t events = lab_run(&lab, &run_id).event_seq;
    bool made;
    const struct consumer_row consumer = {.name = "slow", .created_us = 1, .updated_us = 1};
    ck_assert_int_eq(consumers_make(lab.db, &consumer, &made, &err), RC_OK);
    another_event();
    pass_days(100);
    one_round();
    ck_assert_msg(!is_there(&run_id), "the task itself waits for nobody");
    ck_assert_int_eq(count_of("SELECT count(*) FROM expired_tasks"), 1);
    ck_assert_int_ge(count_of("SELECT count(*) FROM event_log WHERE run_id IS NOT NULL"), events);
    doctor();
    pass_days(30);
    one_round();
    ck_assert_msg(count_of("SELECT count(*) FROM expired_tasks") == 0, "but not for ever");
    ck_assert_int_eq(count_of("SELECT count(*) FROM event_log WHERE run_id IS NOT NULL"), 0);
    ck_assert_int_ge(sum_of(MARK_UNREAD), events);
    doctor();
}
END_TEST

static const struct sql sql_plant = {
    "test_plant",
    "INSERT INTO event_log (id, type, version, subject, time_us, run_seq, actor_type, actor_id,"
    " data, issue_id) VALUES ($1, $2, 1, 'x', $3, 0, 'system', 'drover', '{}', $4)",
    "ttit"};

static void plant_event(const char *type, const char *issue)
{
    struct err err = {0};
    struct random random = random_seeded((uint64_t)lab.now_us);
    lab.now_us++;
    struct id id = id_new(lab.now_us, &random);
    enum rc rc = db_exec(lab.db, &sql_plant,
                         P_LIST(P_ID(&id), P_TEXT(type), P_INT(lab.now_us), P_TEXT(issue)), NULL,
                         &err);
    ck_assert_msg(rc == RC_OK, "%s", err.text);
}

START_TEST(events_about_issues_and_of_the_audit_log_never_go)
{
    open_lab(_i);
    static const char *const kept[] = {"conductor.issue.approved", "agent.issue.created",
                                       EV_AUDIT_RECORDED};
    for (size_t i = 0; i < COUNT_OF(kept); i++)
        plant_event(kept[i], NULL);
    plant_event("acme.deployed", "17");
    plant_event("acme.deployed", NULL);
    plant_event(EV_BREAKER_OPENED, NULL);
    pass_days(91);
    cancelled_run();
    one_round();
    ck_assert_int_eq(count_of("SELECT count(*) FROM event_log WHERE subject = 'x'"), 4);
    ck_assert_int_eq(count_of("SELECT count(*) FROM event_log WHERE issue_id = '17'"), 1);
    doctor();
}
END_TEST

START_TEST(the_newest_event_stays)
{
    open_lab(_i);
    cancelled_run();
    int64_t last = count_of("SELECT max(seq) FROM event_log");
    pass_days(1000);
    one_round();
    ck_assert_int_eq(count_of("SELECT max(seq) FROM event_log"), last);
    doctor();
}
END_TEST

/* ---- diagnostics ---- */

START_TEST(diagnostics_go_and_leave_their_sums)
{
    open_lab(_i);
    struct id run_id = published_run(120);
    clean();
    struct replay before, after;
    struct err err = {0};
    const struct replay_options whole = {.from_start = true};
    ck_assert_int_eq(replay_run(lab.db, &run_id, &whole, &lab.arena, &before, &err), RC_OK);
    pass_days(15);
    cancelled_run();
    int64_t usage = before.fold.cost_microusd;
    int64_t logged = count_of("SELECT count(*) FROM event_log");
    one_round();
    ck_assert_int_eq(replay_run(lab.db, &run_id, &whole, &lab.arena, &after, &err), RC_OK);
    struct str then = replay_snapshot_text(&before.fold, &lab.arena);
    struct str now = replay_snapshot_text(&after.fold, &lab.arena);
    ck_assert_msg(str_same(then, now), "%s\n%s", then.at, now.at);
    ck_assert_int_eq(after.fold.cost_microusd, usage);
    ck_assert(!after.fold.usage_behind);
    ck_assert_int_eq(after.removed, 240);
    ck_assert_int_eq(count_of("SELECT count(*) FROM event_log"), logged - 240);
    ck_assert_int_eq(sum_of(RETENTION_EXPIRED "diagnostics"), 240);
    struct run_diagnostics_row row;
    ck_assert_int_eq(run_diagnostics_get(lab.db, &run_id, &lab.arena, &row, &err), RC_OK);
    CLEANUP(js_freep) struct js *sums = NULL;
    ck_assert_int_eq(js_parse(row.sums.at, row.sums.len, &sums, &err), RC_OK);
    ck_assert_int_eq(js_get_int(js_get(sums, "types"), EV_MODEL_TURN_COMPLETED, 0), 120);
    ck_assert_int_eq(js_int(js_path(sums, "tools.Bash.calls"), 0), 80);
    ck_assert_int_eq(js_int(js_path(sums, "tools.Read.calls"), 0), 40);
    doctor();
    int64_t left = count_of("SELECT count(*) FROM event_log");
    one_round();
    ck_assert_int_eq(count_of("SELECT count(*) FROM event_log"), left);
    doctor();
}
END_TEST

START_TEST(in_the_middle_of_a_run_its_usage_may_be_behind)
{
    open_lab(_i);
    struct id run_id = published_run(10);
    clean();
    pass_days(15);
    cancelled_run();
    one_round();
    struct replay replay;
    struct err err = {0};
    const struct replay_options middle = {.at = {.sequence = 38}};
    ck_assert_int_eq(replay_run(lab.db, &run_id, &middle, &lab.arena, &replay, &err), RC_OK);
    ck_assert(replay.fold.usage_behind || replay.fold.turns > 0);
    doctor();
}
END_TEST

START_TEST(a_run_that_has_not_ended_keeps_its_diagnostics)
{
    open_lab(_i);
    struct id run_id = lab_submit(&lab, "acme/a");
    lab_step(&lab, "prepare", RESULT_PREPARE);
    lab_step(&lab, "hydrate", RESULT_HYDRATE);
    struct job_row job = lab_take(&lab, "agent");
    talk(&job, 5);
    lab.now_us += 20 * DAY_MS * US_PER_MS; /* And no timer has looked yet. */
    one_round();
    ck_assert_int_eq(lab_count_events(&lab, &run_id, EV_MODEL_TURN_COMPLETED), 5);
}
END_TEST

/* ---- one command at a time ---- */

START_TEST(what_is_cut_short_is_sound_after_each_command)
{
    open_lab(_i);
    for (int i = 0; i < 5; i++) {
        (void)published_run(i == 2 ? 250 : 2);
        clean();
    }
    close_prs();
    pass_days(91);
    another_event();
    const struct expiry_rules rules = expiry_rules_default();
    struct expiry_rounds *rounds = rounds_of(&rules);
    while (expiry_rounds_done(rounds) == 0) {
        one_step(rounds);
        doctor();
        expiry_rounds_free(rounds); /* As a process that was killed: all that it knew is gone. */
        rounds = rounds_of(&rules);
        if (count_of("SELECT count(*) FROM tasks") == 0)
            break;
    }
    expiry_rounds_free(rounds);
    one_round();
    ck_assert_int_eq(count_of("SELECT count(*) FROM tasks"), 0);
    ck_assert_int_eq(count_of("SELECT count(*) FROM event_log WHERE task_id IS NOT NULL"), 0);
    ck_assert_int_eq(count_of("SELECT count(*) FROM expired_tasks"), 0);
    doctor();
}
END_TEST

/* ---- contents ---- */

static const struct sql sql_link = {
    "test_link",
    "INSERT INTO run_artifacts (run_id, kind, name, sha256, bytes, created_us)"
    " VALUES ($1, 'file', 'shared', $2, 5, 1)",
    "tt"};

static bool has_content(const char *sha256)
{
    const struct artifact_source source = {lab.store, lab.db};
    struct err err = {0};
    int64_t bytes;
    enum rc rc = artifact_stat(&source, sha256, &bytes, &err);
    ck_assert(rc == RC_OK || rc == RC_NOT_FOUND);
    return rc == RC_OK;
}

START_TEST(a_content_goes_with_the_last_task_that_uses_it)
{
    open_lab(_i);
    struct err err = {0};
    char shared[SHA256_TEXT_BYTES], lonely[SHA256_TEXT_BYTES];
    ck_assert_int_eq(artifact_put(lab.store, STR("hello"), shared, &err), RC_OK);
    ck_assert_int_eq(artifact_put(lab.store, STR("nobody names this"), lonely, &err), RC_OK);
    struct id first = cancelled_run();
    pass_days(60);
    struct id second = cancelled_run();
    ck_assert_int_eq(db_exec(lab.db, &sql_link, P_LIST(P_ID(&first), P_TEXT(shared)), NULL, &err),
                     RC_OK);
    ck_assert_int_eq(db_exec(lab.db, &sql_link, P_LIST(P_ID(&second), P_TEXT(shared)), NULL, &err),
                     RC_OK);
    pass_days(40);
    one_round();
    ck_assert(!is_there(&first) && is_there(&second));
    ck_assert(has_content(shared));
    pass_days(60);
    one_round();
    ck_assert(!is_there(&second));
    ck_assert(!has_content(shared) && !has_content(lonely));
    ck_assert_int_eq(count_of("SELECT count(*) FROM loose_artifacts"), 0);
    ck_assert_int_gt(sum_of(MARK_GIVEN_BACK), 0);
    doctor();
}
END_TEST

Suite *expiry_suite(void)
{
    Suite *suite = suite_create("expiry");
    TCase *tc = tcase_create("rounds");
    tcase_set_timeout(tc, 60);
    tcase_add_checked_fixture(tc, NULL, teardown);
    tcase_add_loop_test(tc, a_task_goes_with_all_that_belongs_to_it, 0, lab_engines());
    tcase_add_loop_test(tc, what_has_its_own_time_or_none_is_kept, 0, lab_engines());
    tcase_add_loop_test(tc, an_open_pull_request_keeps_its_task, 0, lab_engines());
    tcase_add_loop_test(tc, a_task_that_another_depends_on_goes_with_it_or_later, 0, lab_engines());
    tcase_add_loop_test(tc, a_task_that_was_retried_meanwhile_stays, 0, lab_engines());
    tcase_add_loop_test(tc, work_that_is_published_nowhere_is_kept, 0, lab_engines());
    tcase_add_loop_test(tc, events_wait_for_a_reader_that_is_behind, 0, lab_engines());
    tcase_add_loop_test(tc, events_about_issues_and_of_the_audit_log_never_go, 0, lab_engines());
    tcase_add_loop_test(tc, the_newest_event_stays, 0, lab_engines());
    tcase_add_loop_test(tc, diagnostics_go_and_leave_their_sums, 0, lab_engines());
    tcase_add_loop_test(tc, in_the_middle_of_a_run_its_usage_may_be_behind, 0, lab_engines());
    tcase_add_loop_test(tc, a_run_that_has_not_ended_keeps_its_diagnostics, 0, lab_engines());
    tcase_add_loop_test(tc, what_is_cut_short_is_sound_after_each_command, 0, lab_engines());
    tcase_add_loop_test(tc, a_content_goes_with_the_last_task_that_uses_it, 0, lab_engines());
    suite_add_tcase(suite, tc);
    return suite;
}
