/*
 * test_run_fold.c - a run's events in, the run out.
 */
#include "base/buf.h"
#include "core/event_types.h"
#include "core/run/run.h"
#include "core/run/run_fold.h"
#include "tests/unit/suites.h"
#include <string.h>

#define RUN   "01a3185c-5000-700c-beca-4e1cc7a01c90"
#define OTHER "01a3185c-5000-700c-beca-4e1cc7a01c91"
#define PATCH "01a3185c-5000-700c-beca-4e1cc7a01c92"

static struct arena arena;
static struct run_fold fold;

static void setup(void)
{
    struct id run = id_of(RUN);
    run_fold_begin(&fold, &run);
}

static void teardown(void)
{
    arena_release(&arena);
}

/* As event number fold.events + 1 of the run. */
static struct event event_of(const char *type, const char *data)
{
    return (struct event){.seq = fold.seq + 1,
                          .type = type,
                          .run_id = id_of(RUN),
                          .id = id_of(OTHER),
                          .run_seq = fold.events + 1,
                          .time_us = (fold.events + 1) * 1000,
                          .data = str_of(data)};
}

static void apply(const char *type, const char *data)
{
    struct event event = event_of(type, data);
    run_fold_apply(&fold, &event, &arena);
}

static void apply_task(const char *type, const char *data)
{
    struct event event = event_of(type, data);
    event.run_id = (struct id){0};
    run_fold_apply(&fold, &event, &arena);
}

static const char *text_of(void)
{
    struct buf buf;
    buf_init(&buf, 64 * 1024);
    struct jw jw = jw_to(&buf);
    jw_begin(&jw, '{');
    run_fold_write(&jw, &fold);
    jw_end(&jw, '}');
    const char *text = arena_strdup(&arena, buf_text(&buf));
    buf_release(&buf);
    return text;
}

/* Events that change one member each, from a run that is queued. */
static const struct {
    const char *type, *data, *member, *want; /* want: its JSON. */
} changes[] = {
    {EV_RUN_QUEUED, "{\"runNo\":2,\"branch\":\"b\"}", "runNo", "2"},
    {EV_RUN_QUEUED, "{\"branch\":\"drover/x\"}", "branch", "\"drover/x\""},
    {EV_RUN_QUEUED, "{\"branch\":\"b\",\"baseCommit\":\"11\"}", "baseCommit", "\"11\""},
    {EV_RUN_QUEUED, "{\"branch\":\"b\",\"requestedBy\":\"ann\"}", "requestedBy", "\"ann\""},
    {EV_RUN_QUEUED, "{\"branch\":\"b\"}", "complete", "true"},
    {EV_RUN_QUEUED, "{}", "complete", "false"},
    {EV_RUN_ACQUIRED, "{}", "admittedAt", "\"1970-01-01T00:00:00.001000Z\""},
    {EV_RUN_STATUS_CHANGED, "{\"toStatus\":\"running\",\"attempt\":1}", "status", "\"running\""},
    {EV_RUN_STATUS_CHANGED, "{\"toStatus\":\"running\",\"attempt\":3}", "attempt", "3"},
    {EV_RUN_STATUS_CHANGED, "{\"toStatus\":\"dancing\"}", "status", "\"queued\""},
    {EV_RUN_STATUS_CHANGED, "{\"toStatus\":\"failed\"}", "endedAt",
     "\"1970-01-01T00:00:00.001000Z\""},
    {EV_RUN_STARTED, "{\"baseCommit\":\"22\"}", "baseCommit", "\"22\""},
    {EV_CONTEXT_LOADED, "{\"promptSha256\":\"aa\"}", "promptSha256", "\"aa\""},
    {EV_PLAN_CREATED, "{\"planArtifactId\":\"pp\"}", "planSha256", "\"pp\""},
    {EV_STEP_STARTED, "{\"step\":\"agent\"}", "step", "\"agent\""},
    {EV_STEP_COMPLETED, "{\"step\":\"agent\",\"runUsage\":{\"turns\":7}}", "turns", "7"},
    {EV_STEP_COMPLETED, "{\"step\":\"verify\",\"certificateArtifactId\":\"cc\"}",
     "certificateSha256", "\"cc\""},
    {EV_MODEL_TURN_COMPLETED, "{\"turns\":1,\"runUsage\":{\"turns\":4,\"costUsd\":0.000003}}",
     "costUsd", "3e-06"},
    {EV_MODEL_TURN_COMPLETED, "{\"turns\":1}", "turns", "0"}, /* Of the attempt, not the run. */
    {EV_COST_RECORDED, "{\"costUsd\":9,\"runUsage\":{\"inputTokens\":5}}", "inputTokens", "5"},
    {EV_PATCH_CREATED, "{\"patchId\":\"" PATCH "\"}", "patchId", "\"" PATCH "\""},
    {EV_PATCH_CREATED, "{\"diffArtifactId\":\"bb\"}", "patchSha256", "\"bb\""},
    {EV_VERIFICATION_PASSED, "{}", "verifications.passed", "1"},
    {EV_VERIFICATION_FAILED, "{}", "verifications.failed", "1"},
    {EV_VERIFICATION_ERRORED, "{}", "verifications.errored", "1"},
    {EV_VERIFICATION_TIMED_OUT, "{}", "verifications.timedOut", "1"},
    {EV_VERIFICATION_SKIPPED, "{}", "verifications.skipped", "1"},
    {EV_JUDGE_COMPLETED, "{\"verdict\":\"pass\"}", "judgeVerdict", "\"pass\""},
    {EV_RUN_RETRY_WITH_FEEDBACK, "{\"attempt\":2}", "attempt", "2"},
    {EV_RUN_HEARTBEAT_MISSED, "{}", "lost", "1"},
    {EV_RUN_CANCEL_REQUESTED, "{\"kind\":\"cancel\"}", "stopRequested", "\"cancel\""},
    {EV_RUN_PAUSED, "{}", "paused", "true"},
    {EV_QUESTION_ASKED, "{\"questionId\":\"" PATCH "\"}", "questionId", "\"" PATCH "\""},
    {EV_APPROVAL_REQUESTED, "{\"kind\":\"patch\"}", "approvals.open", "1"},
    {EV_APPROVAL_REQUESTED, "{\"kind\":\"patch\"}", "approvals.status", "\"pending\""},
    {EV_PR_CREATED, "{\"pullRequestId\":\"" PATCH "\",\"number\":4}", "pullRequest.number", "4"},
    {EV_PR_MERGED, "{}", "pullRequest.status", "\"merged\""},
    {EV_RUN_FAILED, "{\"errorCode\":\"agent_error\"}", "errorCode", "\"agent_error\""},
    {EV_CANDIDATE_CHOSEN, "{\"attempt\":1,\"baseCommit\":\"33\"}", "baseCommit", "\"33\""},
    {EV_EVENTS_TRUNCATED, "{}", "truncated", "true"},
    {EV_TOOL_CALL_STARTED, "{\"status\":\"started\"}", "status", "\"queued\""},
    {EV_RUN_STATUS_CHANGED, "not json", "status", "\"queued\""},
};

START_TEST(each_event_sets_its_member)
{
    CLEANUP(js_freep) struct js *tree = NULL;
    apply(changes[_i].type, changes[_i].data);
    const char *text = text_of();
    ck_assert_int_eq(js_parse(text, strlen(text), &tree, NULL), RC_OK);
    ck_assert_str_eq(js_text(js_path(tree, changes[_i].member), &arena), changes[_i].want);
    ck_assert_int_eq(fold.events, 1);
}
END_TEST

START_TEST(what_a_client_has_appended_only_counts)
{
    struct event event = event_of(EV_RUN_FAILED, "{\"errorCode\":\"lie\"}");
    event.source = "https://elsewhere";
    run_fold_apply(&fold, &event, &arena);
    ck_assert_ptr_null(fold.error_code);
    ck_assert_int_eq(fold.events, 1);
}
END_TEST

START_TEST(events_of_other_runs_of_the_task_change_nothing)
{
    struct event event = event_of(EV_RUN_STATUS_CHANGED, "{\"toStatus\":\"failed\"}");
    event.run_id = id_of(OTHER);
    run_fold_apply(&fold, &event, &arena);
    ck_assert_int_eq(fold.status, RUN_QUEUED);
    ck_assert_int_eq(fold.seq, 0);
    apply_task(EV_TASK_DEFERRED, "{\"runId\":\"" OTHER "\",\"reason\":\"paused\"}");
    ck_assert_ptr_null(fold.deferred_reason);
    ck_assert_int_eq(fold.events, 0);
}
END_TEST

START_TEST(a_deferral_lasts_until_the_run_starts)
{
    apply(EV_RUN_QUEUED, "{\"branch\":\"b\"}");
    apply_task(EV_TASK_DEFERRED, "{\"runId\":\"" RUN "\",\"reason\":\"user_concurrency_limit\"}");
    ck_assert_str_eq(fold.deferred_reason, "user_concurrency_limit");
    apply(EV_RUN_RESUMED, "{}");
    ck_assert_ptr_nonnull(fold.deferred_reason);
    apply(EV_RUN_STATUS_CHANGED, "{\"toStatus\":\"preparing\"}");
    ck_assert_ptr_null(fold.deferred_reason);
    apply_task(EV_TASK_DEFERRED, "{\"runId\":\"" RUN "\",\"reason\":\"paused\"}");
    apply(EV_RUN_RESUMED, "{}");
    ck_assert_ptr_null(fold.deferred_reason);
}
END_TEST

START_TEST(the_end_closes_what_waits_for_people)
{
    apply(EV_RUN_PAUSED, "{}");
    apply(EV_QUESTION_ASKED, "{\"questionId\":\"" PATCH "\"}");
    apply(EV_RUN_STATUS_CHANGED, "{\"toStatus\":\"awaiting_approval\"}");
    apply(EV_APPROVAL_REQUESTED, "{\"kind\":\"patch\"}");
    apply(EV_RUN_STATUS_CHANGED, "{\"toStatus\":\"cancelled\"}");
    ck_assert(!fold.paused);
    ck_assert(id_is_none(&fold.question_id));
    ck_assert_int_eq(fold.open_approvals, 0);
    ck_assert_int_eq(fold.approvals, 1);
}
END_TEST

START_TEST(workers_lost_are_counted_until_a_step_but_prepare_completes)
{
    apply(EV_RUN_HEARTBEAT_MISSED, "{}");
    apply(EV_RUN_HEARTBEAT_MISSED, "{}");
    apply(EV_STEP_COMPLETED, "{\"step\":\"prepare\"}");
    ck_assert_int_eq(fold.lost, 2);
    apply(EV_STEP_COMPLETED, "{\"step\":\"hydrate\"}");
    ck_assert_int_eq(fold.lost, 0);
}
END_TEST

START_TEST(sums_may_be_behind_only_while_reports_are_dropped)
{
    apply(EV_EVENTS_TRUNCATED, "{}");
    ck_assert(fold.usage_behind);
    apply(EV_STEP_COMPLETED, "{\"step\":\"agent\",\"runUsage\":{\"turns\":9}}");
    ck_assert(!fold.usage_behind);
    apply(EV_STEP_STARTED, "{\"step\":\"agent\"}");
    ck_assert(fold.usage_behind);
}
END_TEST

/* ---- snapshots ---- */

static void fill(void)
{
    for (size_t i = 0; i < COUNT_OF(changes); i++)
        apply(changes[i].type, changes[i].data);
}

START_TEST(a_fold_reads_back_as_it_was_written)
{
    CLEANUP(js_freep) struct js *tree = NULL;
    fill();
    const char *text = text_of();
    struct run_fold read = {.run_id = fold.run_id};
    ck_assert_int_eq(js_parse(text, strlen(text), &tree, NULL), RC_OK);
    ck_assert_int_eq(run_fold_read(tree, &arena, &read, NULL), RC_OK);
    fold = read;
    ck_assert_str_eq(text_of(), text);
}
END_TEST

START_TEST(a_snapshot_without_a_status_is_refused)
{
    CLEANUP(js_freep) struct js *tree = NULL;
    struct err err = {0};
    ck_assert_int_eq(js_parse("{}", 2, &tree, NULL), RC_OK);
    ck_assert_int_eq(run_fold_read(tree, &arena, &fold, &err), RC_CORRUPT);
}
END_TEST

/* ---- compared ---- */

#define CHANGES(name, statement)           \
    static void name(struct run_fold *row) \
    {                                      \
        statement;                         \
    }
CHANGES(change_status, row->status = RUN_CANCELLED)
CHANGES(change_attempt, row->attempt++)
CHANGES(change_branch, row->branch = "another")
CHANGES(change_base, row->base_commit = NULL)
CHANGES(change_turns, row->turns++)
CHANGES(change_cost, row->cost_microusd--)
CHANGES(change_patch, row->patch_id = (struct id){0})
CHANGES(change_error, row->error_code = NULL)
CHANGES(change_events, row->events++)
CHANGES(change_paused, row->paused = !row->paused)
CHANGES(change_ended, row->ended_us++)

static const struct {
    const char *member;
    void (*change)(struct run_fold *row);
} differences[] = {
    {"status", change_status},   {"attempt", change_attempt}, {"branch", change_branch},
    {"baseCommit", change_base}, {"turns", change_turns},     {"costUsd", change_cost},
    {"patchId", change_patch},   {"errorCode", change_error}, {"events", change_events},
    {"paused", change_paused},   {"endedAt", change_ended},
};

START_TEST(a_difference_is_named)
{
    const char *detail = NULL;
    fill();
    fold.complete = true;
    fold.usage_behind = false;
    struct run_fold row = fold;
    ck_assert_ptr_null(run_fold_differs(&fold, &row, &arena, &detail));
    differences[_i].change(&row);
    ck_assert_str_eq(run_fold_differs(&fold, &row, &arena, &detail), differences[_i].member);
    ck_assert_ptr_nonnull(strstr(detail, "the log says "));
}
END_TEST

START_TEST(of_an_older_run_only_what_its_events_told_is_compared)
{
    const char *detail;
    apply(EV_RUN_QUEUED, "{\"runNo\":1}");
    struct run_fold row = fold;
    row.branch = "drover/x";
    row.turns = 4;
    ck_assert_ptr_null(run_fold_differs(&fold, &row, &arena, &detail));
    row.status = RUN_RUNNING;
    ck_assert_str_eq(run_fold_differs(&fold, &row, &arena, &detail), "status");
}
END_TEST

Suite *run_fold_suite(void)
{
    Suite *suite = suite_create("run_fold");
    TCase *tc = tcase_create("run_fold");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, each_event_sets_its_member, 0, (int)COUNT_OF(changes));
    tcase_add_test(tc, what_a_client_has_appended_only_counts);
    tcase_add_test(tc, events_of_other_runs_of_the_task_change_nothing);
    tcase_add_test(tc, a_deferral_lasts_until_the_run_starts);
    tcase_add_test(tc, the_end_closes_what_waits_for_people);
    tcase_add_test(tc, workers_lost_are_counted_until_a_step_but_prepare_completes);
    tcase_add_test(tc, sums_may_be_behind_only_while_reports_are_dropped);
    tcase_add_test(tc, a_fold_reads_back_as_it_was_written);
    tcase_add_test(tc, a_snapshot_without_a_status_is_refused);
    tcase_add_loop_test(tc, a_difference_is_named, 0, (int)COUNT_OF(differences));
    tcase_add_test(tc, of_an_older_run_only_what_its_events_told_is_compared);
    suite_add_tcase(suite, tc);
    return suite;
}
