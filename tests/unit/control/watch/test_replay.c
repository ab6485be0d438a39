/*
 * test_replay.c - runs replayed from the log: at every moment, with and without snapshots, and
 * compared with rows that were changed behind its back.
 */
#include "control/run/progress.h"
#include "control/watch/doctor.h"
#include "control/watch/doctor_log.h"
#include "control/watch/replay.h"
#include "tests/unit/honest.h"
#include "tests/unit/lab.h"
#include <check.h>
#include <string.h>

static struct lab lab;

static void setup(void)
{
    lab_open(&lab, &(struct lab_options){.engine = LAB_SQLITE});
    lab_repository(&lab, "acme/a", &LAB_VERIFY[1]);
}

static void teardown(void)
{
    lab_close(&lab);
}

/* A run with a failed verification, a repair and a pull request. */
static struct id whole_run(void)
{
    struct id run_id = lab_submit(&lab, "acme/a");
    static const char *const steps[][2] = {
        {"prepare", RESULT_PREPARE},   {"hydrate", RESULT_HYDRATE},   {"agent", RESULT_AGENT},
        {"verify", RESULT_UNVERIFIED}, {"agent", RESULT_AGENT},       {"verify", RESULT_VERIFIED},
        {"judge", RESULT_JUDGED},      {"publish", RESULT_PUBLISHED},
    };
    for (size_t i = 0; i < COUNT_OF(steps); i++) {
        lab_pass_ms(&lab, 10);
        lab_step(&lab, steps[i][0], steps[i][1]);
    }
    ck_assert_int_eq(lab_run(&lab, &run_id).status, RUN_COMPLETED);
    return run_id;
}

static struct replay replay_at(const struct id *run_id, struct replay_moment at, bool from_start)
{
    struct replay replay;
    struct err err = {0};
    const struct replay_options options = {.at = at, .from_start = from_start};
    enum rc rc = replay_run(lab.db, run_id, &options, &lab.arena, &replay, &err);
    ck_assert_msg(rc == RC_OK, "%s", err.text);
    return replay;
}

static const char *text_of(const struct run_fold *fold)
{
    struct str text = replay_snapshot_text(fold, &lab.arena);
    return arena_strndup(&lab.arena, text.at, text.len);
}

START_TEST(a_run_can_be_seen_at_each_of_its_events)
{
    struct id run_id = whole_run();
    struct run_row run = lab_run(&lab, &run_id);
    bool seen[RUN_STATUS_COUNT] = {false};
    for (int64_t sequence = 1; sequence <= run.event_seq; sequence++) {
        struct replay then = replay_at(&run_id, (struct replay_moment){.sequence = sequence}, true);
        ck_assert_int_eq(then.fold.events, sequence);
        seen[then.fold.status] = true;
        struct replay timed = replay_at(&run_id,
                                        (struct replay_moment){.time_us = then.fold.time_us}, true);
        ck_assert_int_ge(timed.fold.events, sequence);
        ck_assert_int_eq(timed.fold.time_us, then.fold.time_us);
    }
    ck_assert(seen[RUN_QUEUED] && seen[RUN_RUNNING] && seen[RUN_VERIFYING] && seen[RUN_COMPLETED]);
    struct replay end = replay_at(&run_id, (struct replay_moment){0}, true);
    ck_assert_int_eq(end.fold.attempt, 2);
    ck_assert_int_eq(end.fold.checks[VERIFY_FAILED], 1);
    ck_assert_int_eq(end.fold.checks[VERIFY_PASSED], 1);
    ck_assert_int_eq(end.fold.cost_microusd, 1000000);
    ck_assert_int_eq(end.fold.turns, 4);
    ck_assert_str_eq(end.fold.pull_request_status, "open");
    lab_check(&lab);
}
END_TEST

START_TEST(before_its_first_event_there_is_no_run)
{
    struct id run_id = whole_run();
    struct replay replay;
    struct err err = {0};
    const struct replay_options options = {.at = {.time_us = 1}};
    ck_assert_int_eq(replay_run(lab.db, &run_id, &options, &lab.arena, &replay, &err),
                     RC_NOT_FOUND);
    ck_assert_str_eq(err.code, "RUN_NOT_FOUND");
}
END_TEST

/* ---- snapshots ---- */

static const struct sql sql_forget = {"test_forget", "DELETE FROM run_snapshots", ""};
static const struct sql sql_falsify = {
    "test_falsify", "UPDATE run_snapshots SET log_seq = log_seq + 1 WHERE sequence_no = $1", "i"};

/* An agent that talks much. */
static struct id long_run(void)
{
    struct id run_id = lab_submit(&lab, "acme/a");
    lab_step(&lab, "prepare", RESULT_PREPARE);
    lab_step(&lab, "hydrate", RESULT_HYDRATE);
    struct job_row job = lab_take(&lab, "agent");
    for (int i = 1; i <= 1200; i++) {
        lab_pass_ms(&lab, 1);
        lab_progress(&lab, &job,
                     arena_printf(&lab.arena,
                                  "[{\"type\":\"agent.model.turn.completed\",\"data\":"
                                  "{\"turns\":%d,\"costUsd\":%d.5}}]",
                                  i, i));
    }
    return run_id;
}

START_TEST(snapshots_save_reading_and_change_no_answer)
{
    struct id run_id = long_run();
    struct run_row run = lab_run(&lab, &run_id);
    struct replay whole = replay_at(&run_id, (struct replay_moment){0}, false);
    ck_assert_uint_eq(whole.made_count, (size_t)(run.event_seq / REPLAY_SNAPSHOT_EVENTS));
    for (size_t i = 0; i < whole.made_count; i++)
        ck_assert_int_eq(run_snapshots_put(lab.db, &whole.made[i], NULL), RC_OK);
    lab_check(&lab);
    static const int64_t places[] = {3, 499, 500, 501, 777, 1000, 1100, INT32_MAX};
    for (size_t i = 0; i < COUNT_OF(places); i++) {
        struct replay_moment at = {.sequence = places[i]};
        struct replay with = replay_at(&run_id, at, false), without = replay_at(&run_id, at, true);
        ck_assert_str_eq(text_of(&with.fold), text_of(&without.fold));
        ck_assert_int_lt(with.events_read, REPLAY_SNAPSHOT_EVENTS + 5); /* With its task. */
        struct replay_moment time = {.time_us = without.fold.time_us};
        with = replay_at(&run_id, time, false);
        without = replay_at(&run_id, time, true);
        ck_assert_str_eq(text_of(&with.fold), text_of(&without.fold));
    }
    ck_assert_int_eq(db_exec(lab.db, &sql_forget, NULL, 0, NULL, NULL), RC_OK);
    struct replay again = replay_at(&run_id, (struct replay_moment){0}, false);
    ck_assert_str_eq(text_of(&again.fold), text_of(&whole.fold));
    ck_assert_int_eq(again.from_sequence, 0);
}
END_TEST

static const struct doctor_check *finding(const char *name)
{
    struct doctor_report *report = arena_alloc(&lab.arena, sizeof *report);
    struct err err = {0};
    ck_assert_msg(doctor_examine(lab.db, &lab.arena, report, &err) == RC_OK, "%s", err.text);
    for (size_t i = 0; i < report->check_count; i++)
        if (strcmp(report->checks[i].name, name) == 0)
            return &report->checks[i];
    ck_abort_msg("no check %s", name);
}

START_TEST(a_snapshot_that_lies_is_found)
{
    struct id run_id = long_run();
    struct replay whole = replay_at(&run_id, (struct replay_moment){0}, false);
    ck_assert_int_eq(run_snapshots_put(lab.db, &whole.made[1], NULL), RC_OK);
    ck_assert_int_eq(finding("snapshots")->bad, 0);
    ck_assert_int_eq(
        db_exec(lab.db, &sql_falsify, P_LIST(P_INT(whole.made[1].sequence_no)), NULL, NULL), RC_OK);
    const struct doctor_check *found = finding("snapshots");
    ck_assert_int_eq(found->bad, 1);
    ck_assert_ptr_nonnull(strstr(found->first, run_id.text));
}
END_TEST

/* ---- rows that were changed ---- */

static const struct {
    struct sql sql;
    const char *member;
} forgeries[] = {
    {{"forge_0", "UPDATE runs SET attempt = 9 WHERE id = $1", "t"}, "attempt"},
    {{"forge_1", "UPDATE runs SET cost_microusd = 7 WHERE id = $1", "t"}, "costUsd"},
    {{"forge_2", "UPDATE runs SET turns = 7 WHERE id = $1", "t"}, "turns"},
    {{"forge_3", "UPDATE runs SET branch = 'main' WHERE id = $1", "t"}, "branch"},
    {{"forge_4", "UPDATE runs SET base_commit = 'x' WHERE id = $1", "t"}, "baseCommit"},
    {{"forge_5", "UPDATE runs SET patch_sha256 = 'x' WHERE id = $1", "t"}, "patchSha256"},
    {{"forge_6", "UPDATE runs SET certificate_sha256 = NULL WHERE id = $1", "t"},
     "certificateSha256"},
    {{"forge_7", "UPDATE runs SET error_code = 'x' WHERE id = $1", "t"}, "errorCode"},
    {{"forge_8", "UPDATE runs SET pull_request_id = NULL WHERE id = $1", "t"}, "pullRequest.id"},
    {{"forge_9", "UPDATE runs SET ended_us = ended_us + 1 WHERE id = $1", "t"}, "endedAt"},
    {{"forge_10", "UPDATE runs SET status = 'failed' WHERE id = $1", "t"}, "status"},
    {{"forge_11", "UPDATE runs SET requested_by = 'eve' WHERE id = $1", "t"}, "requestedBy"},
};

START_TEST(a_row_that_was_changed_behind_the_log_is_found)
{
    struct id run_id = whole_run();
    struct doctor_check history = {0};
    ck_assert_int_eq(finding("fold")->bad, 0);
    ck_assert_int_eq(db_exec(lab.db, &forgeries[_i].sql, P_LIST(P_ID(&run_id)), NULL, NULL), RC_OK);
    const struct doctor_check *found = finding("fold");
    ck_assert_int_eq(found->bad, 1);
    ck_assert_ptr_nonnull(strstr(found->first, run_id.text));
    ck_assert_ptr_nonnull(
        strstr(found->first, arena_printf(&lab.arena, "): %s: ", forgeries[_i].member)));
    ck_assert_int_eq(doctor_history(lab.db, &lab.arena, &history, NULL), RC_OK);
    ck_assert_int_eq(history.bad, 1);
    ck_assert_int_eq(history.looked_at, 1);
}
END_TEST

START_TEST(what_a_worker_calls_the_usage_of_the_run_is_refused)
{
    (void)lab_submit(&lab, "acme/a");
    lab_step(&lab, "prepare", RESULT_PREPARE);
    lab_step(&lab, "hydrate", RESULT_HYDRATE);
    struct job_row job = lab_take(&lab, "agent");
    struct cmd_progress *cmd = cmd_progress_new();
    CLEANUP(js_freep) struct js *events = NULL;
    static const char lie[] = "[{\"type\":\"agent.model.turn.completed\",\"data\":"
                              "{\"turns\":1,\"runUsage\":{\"turns\":99}}}]";
    ck_assert_int_eq(js_parse(lie, strlen(lie), &events, NULL), RC_OK);
    struct job_progress progress = {.ref = {.id = job.id, .epoch = job.life.epoch},
                                    .events = events};
    cmd->jobs = &progress;
    cmd->count = 1;
    ck_assert_int_eq(lab_call(&lab, &cmd->base), RC_INVALID);
    command_free(&cmd->base);
    lab_check(&lab);
}
END_TEST

Suite *replay_suite(void)
{
    Suite *suite = suite_create("replay");
    TCase *tc = tcase_create("replay");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, a_run_can_be_seen_at_each_of_its_events);
    tcase_add_test(tc, before_its_first_event_there_is_no_run);
    tcase_add_test(tc, snapshots_save_reading_and_change_no_answer);
    tcase_add_test(tc, a_snapshot_that_lies_is_found);
    tcase_add_loop_test(tc, a_row_that_was_changed_behind_the_log_is_found, 0,
                        (int)COUNT_OF(forgeries));
    tcase_add_test(tc, what_a_worker_calls_the_usage_of_the_run_is_refused);
    suite_add_tcase(suite, tc);
    return suite;
}
