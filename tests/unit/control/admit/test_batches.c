/*
 * test_batches.c - batches as their members, people and the store move them.
 */
#include "control/run/quarantine.h"
#include "control/watch/due.h"
#include "core/event_types.h"
#include "tests/store/store_fault.h"
#include "tests/unit/batch_kit.h"
#include <check.h>
#include <string.h>

/* ---- limits ---- */

START_TEST(no_more_than_max_active_are_under_way_and_the_next_follows_in_order)
{
    fleet_open(_i, 5);
    struct cmd_batch_submit *cmd = fleet_batch();
    cmd->limits.max_active = 2;
    struct id id = fleet_submit(cmd);
    fleet_expect(&id, BATCH_RUNNING, "aawww");
    fleet_complete(&id, 2);
    fleet_expect(&id, BATCH_RUNNING, "acaww");
    fleet_fail(&id, 1);
    fleet_expect(&id, BATCH_RUNNING, "fcaaw");
    fleet_complete(&id, 3);
    fleet_complete(&id, 4);
    fleet_complete(&id, 5);
    fleet_expect(&id, BATCH_COMPLETED, "fcccc");
    ck_assert_int_eq(fleet_events(&id, EV_BATCH_PROGRESSED), 4);
    fleet_close();
}
END_TEST

/* A turn makes a bounded number of tasks, and the next one follows by itself. */
START_TEST(many_members_start_turn_by_turn)
{
    enum { COUNT = 120 };
    fleet_open(_i, 1);
    struct cmd_batch_submit *cmd = fleet_batch();
    struct batch_item *items = arena_array(&fleet.arena, COUNT, sizeof *items);
    for (int i = 0; i < COUNT; i++)
        items[i] = (struct batch_item){.key = arena_printf(&fleet.arena, "k%d", i),
                                       .repository = "acme/r0"};
    cmd->items = items;
    cmd->item_count = COUNT;
    cmd->pattern_count = 0;
    struct id id = fleet_submit(cmd);
    size_t started = strspn(fleet_shape(&id), "a");
    ck_assert(started > 0 && started < COUNT);
    for (int turns = 0; turns < 2; turns++)
        fleet_pass_ms(1);
    const char *text = fleet_shape(&id);
    ck_assert_uint_eq(strlen(text), COUNT);
    ck_assert_uint_eq(strspn(text, "a"), COUNT);
    fleet_move(&id, BATCH_EV_CANCEL);
    fleet_pass_ms(1);
    fleet_pass_ms(2000); /* Workers that were asked and did not answer. */
    ck_assert_uint_eq(strspn(fleet_shape(&id), "x"), COUNT);
    ck_assert_int_eq(fleet_row(&id).status, BATCH_CANCELLED);
    ck_assert_int_le(fleet_events(&id, EV_BATCH_PROGRESSED), BATCH_TENTHS);
    fleet_close();
}
END_TEST

START_TEST(a_rate_that_is_used_up_is_waited_for)
{
    fleet_open_with(_i, &(struct committer_limits){.tasks_per_hour_user = 2});
    for (int i = 0; i < 3; i++)
        lab_repository(&fleet, arena_printf(&fleet.arena, "acme/r%d", i), NULL);
    struct id id = fleet_submit(fleet_batch());
    fleet_expect(&id, BATCH_RUNNING, "aaw");
    ck_assert_ptr_nonnull(strstr(fleet_row(&id).held, "in the last hour"));
    fleet_complete(&id, 1);
    fleet_complete(&id, 2);
    fleet_expect(&id, BATCH_RUNNING, "ccw");
    fleet_pass_ms(60 * 60 * 1000);
    fleet_expect(&id, BATCH_RUNNING, "cca");
    ck_assert_ptr_null(fleet_row(&id).held);
    fleet_close();
}
END_TEST

/* ---- dependencies and failures ---- */

START_TEST(what_depends_on_a_failed_member_is_skipped_until_that_is_retried)
{
    static const char *const on0[] = {"acme/r0"}, *const on1[] = {"acme/r1"};
    const struct batch_item items[] = {
        {.key = "acme/r1", .depends_on = on0, .depends_count = 1},
        {.key = "acme/r2", .depends_on = on1, .depends_count = 1},
    };
    fleet_open(_i, 4);
    struct cmd_batch_submit *cmd = fleet_batch();
    cmd->items = items;
    cmd->item_count = COUNT_OF(items);
    struct id id = fleet_submit(cmd);
    fleet_expect(&id, BATCH_RUNNING, "awwa");
    fleet_fail(&id, 1);
    fleet_expect(&id, BATCH_RUNNING, "fssa");
    ck_assert_str_eq(fleet_member(&id, 2).row.error_code, "dependency_failed");
    ck_assert_ptr_nonnull(
        strstr(fleet_member(&id, 2).row.error_message, "acme/r0, on which it depends, has failed"));
    ck_assert_ptr_nonnull(strstr(fleet_member(&id, 3).row.error_message, "acme/r1, on which"));
    ck_assert_int_eq(fleet_retry_as(&id, 1, ""), RC_OK);
    fleet_expect(&id, BATCH_RUNNING, "awwa");
    ck_assert_ptr_null(fleet_member(&id, 2).row.error_code);
    fleet_complete(&id, 1);
    fleet_expect(&id, BATCH_RUNNING, "cawa");
    fleet_complete(&id, 2);
    fleet_complete(&id, 3);
    fleet_complete(&id, 4);
    fleet_expect(&id, BATCH_COMPLETED, "cccc");
    fleet_close();
}
END_TEST

START_TEST(a_retry_counts_by_the_latest_run_and_an_ended_batch_stays_ended)
{
    fleet_open(_i, 3);
    struct cmd_batch_submit *cmd = fleet_batch();
    cmd->limits.stop_failures = 2;
    struct id id = fleet_submit(cmd);
    fleet_fail(&id, 1);
    ck_assert_int_eq(fleet_retry_as(&id, 1, ""), RC_OK);
    fleet_fail(&id, 2);
    fleet_expect(&id, BATCH_RUNNING, "afa"); /* One, not two. */
    fleet_complete(&id, 1);
    fleet_complete(&id, 3);
    fleet_expect(&id, BATCH_COMPLETED, "cfc");
    ck_assert_int_eq(fleet_retry_as(&id, 2, ""), RC_OK);
    fleet_expect(&id, BATCH_COMPLETED, "cac");
    fleet_complete(&id, 2);
    fleet_expect(&id, BATCH_COMPLETED, "ccc");
    ck_assert_int_eq(fleet_events(&id, EV_BATCH_COMPLETED), 1);
    fleet_close();
}
END_TEST

START_TEST(it_stops_when_too_many_fail_and_lets_the_others_finish)
{
    fleet_open(_i, 6);
    struct cmd_batch_submit *cmd = fleet_batch();
    cmd->limits.max_active = 3;
    cmd->limits.stop_failures = 2;
    struct id id = fleet_submit(cmd);
    fleet_fail(&id, 1);
    fleet_expect(&id, BATCH_RUNNING, "faaaww");
    fleet_fail(&id, 2);
    fleet_expect(&id, BATCH_STOPPING, "ffaadd");
    ck_assert_str_eq(fleet_row(&id).reason_code, "too_many_failures");
    ck_assert_str_eq(fleet_member(&id, 5).row.error_code, "batch_stopped");
    ck_assert_int_eq(fleet_move_as(&id, BATCH_EV_PAUSE, "BATCH_STOPPING"), RC_CONFLICT);
    ck_assert_int_eq(fleet_retry_as(&id, 1, "BATCH_STOPPING"), RC_CONFLICT);
    fleet_complete(&id, 3);
    fleet_complete(&id, 4);
    fleet_expect(&id, BATCH_STOPPED, "ffccdd");
    ck_assert_int_eq(fleet_events(&id, EV_BATCH_STOPPING), 1);
    ck_assert_int_eq(fleet_events(&id, EV_BATCH_STOPPED), 1);
    ck_assert_int_eq(fleet_move_as(&id, BATCH_EV_CANCEL, "BATCH_FINISHED"), RC_CONFLICT);
    fleet_close();
}
END_TEST

START_TEST(it_stops_by_the_percentage_and_cancels_the_others)
{
    fleet_open(_i, 8);
    struct cmd_batch_submit *cmd = fleet_batch();
    cmd->limits.max_active = 4;
    cmd->limits.stop_percent = 50;
    cmd->limits.stop_after = 4;
    cmd->stop_cancels = true;
    struct id id = fleet_submit(cmd);
    fleet_fail(&id, 1);
    fleet_fail(&id, 2);
    fleet_complete(&id, 3);
    fleet_expect(&id, BATCH_RUNNING, "ffcaaaaw");
    fleet_complete(&id, 4);
    fleet_pass_ms(1);
    fleet_expect(&id, BATCH_STOPPING, "ffccaaad"); /* Workers have these. */
    fleet_pass_ms(1500);
    fleet_expect(&id, BATCH_STOPPED, "ffccxxxd");
    ck_assert_ptr_nonnull(
        strstr(fleet_member(&id, 5).task_error_message, "its batch fleet was stopped"));
    fleet_close();
}
END_TEST

START_TEST(a_refused_member_counts_as_failed_and_the_others_go_on)
{
    static const char *const patterns[] = {"acme/*", "other/gone"};
    fleet_open(_i, 3);
    struct cmd_quarantine *quarantine = cmd_quarantine_new();
    quarantine->name = "acme/r1";
    ck_assert_int_eq(lab_call(&fleet, &quarantine->base), RC_OK);
    command_free(&quarantine->base);
    const struct batch_item items[] = {
        {.key = "acme/r2",
         .task = STR("{\"executionMode\":\"autonomous_pr\",\"riskLevel\":\"high\"}")}};
    struct cmd_batch_submit *cmd = fleet_batch();
    cmd->patterns = patterns;
    cmd->pattern_count = 2;
    cmd->items = items;
    cmd->item_count = 1;
    struct id id = fleet_submit(cmd);
    fleet_expect(&id, BATCH_RUNNING, "arrr");
    ck_assert_ptr_nonnull(strstr(fleet_member(&id, 2).row.error_message, "quarantine"));
    ck_assert_ptr_nonnull(strstr(fleet_member(&id, 3).row.error_code, "policy."));
    ck_assert_str_eq(fleet_member(&id, 4).row.error_code, "REPO_NOT_ONBOARDED");
    struct batch_counts counts;
    ck_assert_int_eq(batches_counts(fleet.db, &id, &counts, NULL), RC_OK);
    ck_assert_int_eq(counts.of[PHASE_FAILED], 3);
    fleet_complete(&id, 1);
    fleet_expect(&id, BATCH_COMPLETED, "crrr");
    cmd = fleet_batch();
    cmd->patterns = patterns;
    cmd->pattern_count = 2;
    cmd->items = items;
    cmd->item_count = 1;
    cmd->limits.stop_failures = 2;
    id = fleet_submit(cmd);
    fleet_expect(&id, BATCH_STOPPING, "arrd"); /* Unless the rule stops it. */
    fleet_complete(&id, 1);
    fleet_expect(&id, BATCH_STOPPED, "crrd");
    fleet_close();
}
END_TEST

static const struct sql sql_damage = {"test_damage",
                                      "UPDATE batch_members SET task = $2 WHERE id = $1", "tj"};

START_TEST(a_damaged_member_is_refused_alone)
{
    fleet_open(_i, 3);
    struct cmd_batch_submit *cmd = fleet_batch();
    ck_assert_int_eq(lab_call(&fleet, &cmd->base), RC_OK);
    struct id id = cmd->batch_id;
    command_free(&cmd->base);
    struct id damaged = fleet_member(&id, 2).row.id;
    struct err err = {0};
    ck_assert_int_eq(db_exec(fleet.db, &sql_damage,
                             P_LIST(P_ID(&damaged), P_JSON(STR("{\"maxTurns\":\"many\"}"))), NULL,
                             &err),
                     RC_OK);
    fleet_pass_ms(1);
    fleet_expect(&id, BATCH_RUNNING, "ara");
    ck_assert_str_eq(fleet_member(&id, 2).row.error_code, "INVALID_FIELD");
    fleet_complete(&id, 1);
    fleet_complete(&id, 3);
    fleet_expect(&id, BATCH_COMPLETED, "crc");
    fleet_close();
}
END_TEST

/* ---- people ---- */

START_TEST(a_paused_batch_starts_nothing_until_it_is_resumed)
{
    fleet_open(_i, 4);
    struct cmd_batch_submit *cmd = fleet_batch();
    cmd->limits.max_active = 2;
    struct id id = fleet_submit(cmd);
    fleet_move(&id, BATCH_EV_PAUSE);
    fleet_move(&id, BATCH_EV_PAUSE); /* It is already. */
    ck_assert_str_eq(fleet_row(&id).stopped_by, "bob");
    fleet_complete(&id, 1); /* It was under way. */
    fleet_expect(&id, BATCH_PAUSED, "caww");
    fleet_move(&id, BATCH_EV_RESUME);
    fleet_pass_ms(1);
    fleet_expect(&id, BATCH_RUNNING, "caaw");
    ck_assert_ptr_null(fleet_row(&id).reason);
    ck_assert_int_eq(fleet_events(&id, EV_BATCH_PAUSED), 1);
    ck_assert_int_eq(fleet_events(&id, EV_BATCH_RESUMED), 1);
    fleet_close();
}
END_TEST

START_TEST(runs_that_wait_in_the_queue_do_not_start_while_the_batch_is_paused)
{
    fleet_open_with(_i, &(struct committer_limits){.max_active_runs = 1});
    lab_repository(&fleet, "acme/r0", NULL);
    lab_repository(&fleet, "acme/r1", NULL);
    struct id id = fleet_submit(fleet_batch());
    fleet_move(&id, BATCH_EV_PAUSE);
    fleet_complete(&id, 1);
    struct id run_id = fleet_member(&id, 2).run_id;
    ck_assert_int_eq(lab_run(&fleet, &run_id).status, RUN_QUEUED);
    ck_assert_str_eq(lab_run(&fleet, &run_id).deferred_reason, "batch_holds");
    ck_assert_str_eq(lab_run(&fleet, &run_id).deferred_detail, "batch fleet is paused");
    fleet_move(&id, BATCH_EV_RESUME);
    fleet_complete(&id, 2);
    fleet_expect(&id, BATCH_COMPLETED, "cc");
    fleet_close();
}
END_TEST

START_TEST(a_cancelled_batch_drops_who_waits_and_cancels_who_works)
{
    fleet_open(_i, 4);
    struct cmd_batch_submit *cmd = fleet_batch();
    cmd->limits.max_active = 2;
    struct id id = fleet_submit(cmd);
    struct id run_id = fleet_member(&id, 1).run_id;
    struct job_row job = fleet_take_prepare(&run_id); /* A worker has it. */
    fleet_move(&id, BATCH_EV_CANCEL);
    fleet_expect(&id, BATCH_CANCELLING, "aadd");
    ck_assert_str_eq(fleet_member(&id, 3).row.error_code, "batch_cancelled");
    fleet_move(&id, BATCH_EV_CANCEL); /* It is already. */
    fleet_pass_ms(1);
    ck_assert(lab_fail(&fleet, &job, "cancelled", false).ok);
    fleet_pass_ms(1500);
    fleet_expect(&id, BATCH_CANCELLED, "xxdd");
    ck_assert_str_eq(lab_run(&fleet, &run_id).stop_by, "bob");
    ck_assert_int_eq(fleet_events(&id, EV_BATCH_CANCELLED), 1);
    ck_assert_int_eq(fleet_move_as(&id, BATCH_EV_RESUME, "BATCH_FINISHED"), RC_CONFLICT);
    struct cmd_batch_move *unknown_batch = cmd_batch_move_new(BATCH_EV_CANCEL);
    unknown_batch->batch_id = run_id;
    ck_assert_int_eq(lab_call(&fleet, &unknown_batch->base), RC_NOT_FOUND);
    ck_assert_str_eq(unknown_batch->base.err.code, "BATCH_NOT_FOUND");
    command_free(&unknown_batch->base);
    fleet_close();
}
END_TEST

/* ---- money ---- */

START_TEST(members_get_what_is_left_and_the_batch_stops_when_it_is_spent)
{
    fleet_open(_i, 4);
    struct cmd_batch_submit *cmd = fleet_batch();
    cmd->limits.max_active = 2;
    cmd->limits.budget_microusd = 2000000;
    struct id id = fleet_submit(cmd);
    struct id first = fleet_member(&id, 1).run_id, second = fleet_member(&id, 2).run_id;
    ck_assert_int_eq(lab_run(&fleet, &first).budget_microusd, 2000000);
    fleet_complete(&id, 1); /* For 0.50. */
    struct id third = fleet_member(&id, 3).run_id;
    ck_assert_int_eq(lab_run(&fleet, &third).budget_microusd, 1500000);
    struct job_row job = fleet_start_agent(&id, 2);
    fleet_spend(&job, 1.6);
    fleet_pass_ms(1000);
    fleet_expect(&id, BATCH_STOPPING, "caad");
    ck_assert_str_eq(fleet_row(&id).reason_code, "batch_budget_exceeded");
    ck_assert(lab_progress(&fleet, &job, "[]").cancel);
    ck_assert(lab_fail(&fleet, &job, "cancelled", false).ok);
    fleet_pass_ms(1500);
    fleet_expect(&id, BATCH_STOPPED, "cffd");
    ck_assert_str_eq(lab_run(&fleet, &second).error_code, "batch_budget_exceeded");
    ck_assert_ptr_nonnull(strstr(lab_run(&fleet, &second).error_message, "2.10 USD of 2.00"));
    ck_assert_int_eq(fleet_retry_as(&id, 2, "batch_budget_exceeded"), RC_DENIED);
    fleet_close();
}
END_TEST

START_TEST(candidates_of_a_member_belong_to_the_batch_and_take_no_place)
{
    fleet_open(_i, 1);
    struct cmd_batch_submit *cmd = fleet_batch();
    cmd->task = STR("{\"description\":\"x\",\"executionMode\":\"patch_only\",\"bestOf\":2}");
    cmd->limits.max_active = 1;
    cmd->limits.budget_microusd = 1000000;
    struct id id = fleet_submit(cmd);
    struct task_row *rows;
    size_t count;
    const struct task_filter filter = {.status = -1, .batch_id = id, .limit = 10};
    ck_assert_int_eq(tasks_list(fleet.db, &filter, &fleet.arena, &rows, &count, NULL), RC_OK);
    ck_assert_uint_eq(count, 3);
    fleet_expect(&id, BATCH_RUNNING, "a");
    for (size_t i = 0; i < count; i++) { /* Both candidates started, within the limit of one. */
        enum run_status status = lab_run(&fleet, &rows[i].latest_run_id).status;
        ck_assert_int_eq(status, rows[i].candidate_no > 0 ? RUN_PREPARING : RUN_QUEUED);
    }
    struct job_row job = fleet_take_prepare(&rows[0].latest_run_id);
    lab_finish(&fleet, &job, RESULT_PREPARE);
    lab_step(&fleet, "hydrate", RESULT_HYDRATE);
    job = lab_take(&fleet, "agent");
    fleet_spend(&job, 1.1);
    fleet_pass_ms(1000);
    ck_assert_str_eq(fleet_row(&id).reason_code, "batch_budget_exceeded");
    fleet_pass_ms(3000);
    fleet_pass_ms(1);
    fleet_expect(&id, BATCH_STOPPED, "f");
    fleet_close();
}
END_TEST

/* ---- faults ---- */

/* Commits fail at any moment of a batch's life, as if the server had been killed before them: in
   the end each member has one task, and what was configured has happened. */
START_TEST(commits_that_fail_change_nothing)
{
    enum { FAILS_MAX = 14 };
    store_fault_install();
    for (int fails = 0; fails < FAILS_MAX; fails++) {
        fleet_open(_i, 6);
        store_fault_arm(fleet.db);
        struct cmd_batch_submit *cmd = fleet_batch();
        cmd->limits.max_active = 2;
        cmd->limits.stop_failures = 2;
        struct id id = fleet_submit(cmd);
        static const char want[] = "fccfcd";
        int call = 0;
        for (int64_t no = 1; no <= 5; no++) {
            struct id run_id = fleet_member(&id, no).run_id;
            struct job_row job = fleet_take_prepare(&run_id);
            if (want[no - 1] == 'f')
                ck_assert(lab_fail(&fleet, &job, "repository_broken", false).ok);
            else {
                lab_finish(&fleet, &job, RESULT_PREPARE);
                lab_step(&fleet, "hydrate", RESULT_HYDRATE);
                lab_step(&fleet, "agent", RESULT_AGENT);
                lab_step(&fleet, "verify", RESULT_VERIFIED);
                lab_step(&fleet, "judge", RESULT_JUDGED);
            }
            /* The turn of the batch: it fails as often as it is told, then is tried again. */
            for (int tries = 0; tries < 3; tries++) {
                bool breaks = call++ == fails;
                struct cmd_due *due = cmd_due_new();
                due->turn = fleet_turn;
                fleet.now_us += US_PER_MS;
                store_fault_set(fleet.db, breaks ? FAULT_COMMIT : FAULT_NONE);
                enum rc rc = lab_call(&fleet, &due->base);
                store_fault_set(fleet.db, FAULT_NONE);
                ck_assert(breaks || rc == RC_OK);
                command_free(&due->base);
            }
            committer_want_admission(fleet.committer);
            lab_rounds(&fleet);
        }
        fleet_expect(&id, BATCH_STOPPED, want);
        struct task_row *rows;
        size_t count;
        const struct task_filter filter = {.status = -1, .batch_id = id, .limit = 100};
        ck_assert_int_eq(tasks_list(fleet.db, &filter, &fleet.arena, &rows, &count, NULL), RC_OK);
        ck_assert_uint_eq(count, 5);
        ck_assert_int_eq(fleet_events(&id, EV_BATCH_STOPPED), 1);
        fleet_close();
    }
}
END_TEST

Suite *batches_suite(void);
Suite *batches_suite(void)
{
    Suite *suite = suite_create("batches");
    TCase *tc = tcase_create("batches");
    int engines = lab_engines();
    tcase_add_loop_test(tc, no_more_than_max_active_are_under_way_and_the_next_follows_in_order, 0,
                        engines);
    tcase_add_loop_test(tc, many_members_start_turn_by_turn, 0, engines);
    tcase_add_loop_test(tc, a_rate_that_is_used_up_is_waited_for, 0, engines);
    tcase_add_loop_test(tc, what_depends_on_a_failed_member_is_skipped_until_that_is_retried, 0,
                        engines);
    tcase_add_loop_test(tc, a_retry_counts_by_the_latest_run_and_an_ended_batch_stays_ended, 0,
                        engines);
    tcase_add_loop_test(tc, it_stops_when_too_many_fail_and_lets_the_others_finish, 0, engines);
    tcase_add_loop_test(tc, it_stops_by_the_percentage_and_cancels_the_others, 0, engines);
    tcase_add_loop_test(tc, a_refused_member_counts_as_failed_and_the_others_go_on, 0, engines);
    tcase_add_loop_test(tc, a_damaged_member_is_refused_alone, 0, engines);
    tcase_add_loop_test(tc, a_paused_batch_starts_nothing_until_it_is_resumed, 0, engines);
    tcase_add_loop_test(tc, runs_that_wait_in_the_queue_do_not_start_while_the_batch_is_paused, 0,
                        engines);
    tcase_add_loop_test(tc, a_cancelled_batch_drops_who_waits_and_cancels_who_works, 0, engines);
    tcase_add_loop_test(tc, members_get_what_is_left_and_the_batch_stops_when_it_is_spent, 0,
                        engines);
    tcase_add_loop_test(tc, candidates_of_a_member_belong_to_the_batch_and_take_no_place, 0,
                        engines);
    tcase_add_loop_test(tc, commits_that_fail_change_nothing, 0, engines);
    suite_add_tcase(suite, tc);
    return suite;
}
