/*
 * test_timeline.c - events in, a story out.
 */
#include "base/buf.h"
#include "base/clock.h"
#include "base/js.h"
#include "core/event_types.h"
#include "core/run/timeline.h"
#include "tests/unit/suites.h"
#include <string.h>

static struct event event_of(const char *type, const char *data, int64_t seconds)
{
    return (struct event){
        .type = type, .time_us = seconds * US_PER_SECOND, .data = str_of(data), .version = 1};
}

static const struct {
    const char *type, *data, *want; /* want NULL: no line. */
} texts[] = {
    {EV_TASK_SUBMITTED, "{}", "task submitted"},
    {EV_TASK_SUBMITTED, "", "task submitted"},
    {EV_TASK_ACCEPTED, "{\"other\":[1]}", "task accepted"},
    {EV_TASK_REJECTED, "{\"reasonCode\":\"rate_limit_exceeded\",\"reason\":\"too fast\"}",
     "task rejected: too fast (rate_limit_exceeded)"},
    {EV_TASK_DEFERRED, "{\"reason\":\"repository_concurrency_limit\"}",
     "task deferred: repository_concurrency_limit"},
    {EV_TASK_COMPLETED, "{}", NULL},
    {EV_RUN_QUEUED, "{}", "run queued"},
    {EV_RUN_ACQUIRED, "{\"worker\":\"w1\"}", "run acquired by worker w1"},
    {EV_RUN_STARTED, "{\"runNo\":2,\"baseCommit\":\"0123456789abcdef\",\"branch\":\"drover/x\"}",
     "run 2 started from commit 0123456789 on branch drover/x"},
    {EV_RUN_STARTED, "{}", "run 1 started"},
    {EV_RUN_STATUS_CHANGED, "{\"fromStatus\":\"queued\",\"toStatus\":\"preparing\"}", NULL},
    {EV_RUN_HEARTBEAT_MISSED, "{\"worker\":\"w1\",\"step\":\"agent\"}",
     "heartbeat missed by worker w1 in step agent"},
    {EV_RUN_RECOVERED, "{\"step\":\"agent\",\"lost\":1}", "resumed at step agent, leases lost: 1"},
    {EV_RUN_RECOVERED, "{}", "resumed"},
    {EV_RUN_CANCEL_REQUESTED, "{\"actor\":\"ann\",\"reason\":\"wrong repo\"}",
     "cancellation requested by ann: wrong repo"},
    {EV_RUN_RETRY_WITH_FEEDBACK, "{\"attempt\":1,\"reason\":\"unit failed\"}",
     "feedback to the agent (attempt 1): unit failed"},
    {EV_RUN_COMPLETED, "{}", "run completed"},
    {EV_RUN_FAILED, "{\"errorCode\":\"agent_error\",\"errorMessage\":\"It broke.\"}",
     "run failed: It broke. (agent_error)"},
    {EV_RUN_TIMED_OUT, "{\"errorCode\":\"RUN_TIMEOUT\"}", "run timed out (RUN_TIMEOUT)"},
    {EV_RUN_CANCELLED, "{\"errorMessage\":\"by ann\"}", "run cancelled: by ann"},
    {EV_STEP_STARTED, "{\"step\":\"agent\"}", NULL},
    {EV_STEP_COMPLETED, "{\"step\":\"agent\"}", NULL},
    {EV_STEP_FAILED,
     "{\"step\":\"publish\",\"errorCode\":\"PUSH\",\"errorMessage\":\"no\",\"retryInMs\":2000}",
     "step publish failed: no (PUSH); next try in 2.0 s"},
    {EV_STEP_FAILED, "{\"step\":\"publish\",\"errorMessage\":\"no\"}", "step publish failed: no"},
    {EV_RESULT_REFUSED, "{\"step\":\"verify\",\"reason\":\"checks has none\"}",
     "step verify reported what was refused: checks has none"},
    {EV_CONTEXT_LOADED,
     "{\"sources\":[\"system\",\"task\"],\"tokenEstimate\":120,\"truncated\":true}",
     "context loaded: system, task (about 120 tokens, truncated)"},
    {EV_CONTEXT_LOADED, "{\"sources\":[],\"tokenEstimate\":0}", "context loaded (about 0 tokens)"},
    {EV_MODEL_TURN_COMPLETED,
     "{\"turns\":3,\"inputTokens\":1200,\"outputTokens\":80,\"costUsd\":0.0123}",
     "turn 3: 1200 tokens in, 80 out, 0.0123 USD so far"},
    {EV_SCHEDULE_FIRED, "{\"schedule\":\"nightly\",\"queue\":\"reports\"}",
     "fired schedule nightly"},
    {EV_TOOL_CALL_STARTED, "{\"name\":\"Bash\"}", NULL},
    {EV_TOOL_CALL_COMPLETED, "{\"name\":\"Bash\",\"summary\":\"ls\"}", "Bash: ls"},
    {EV_TOOL_CALL_FAILED, "{\"name\":\"Bash\",\"summary\":\"exit 1\"}", "Bash failed: exit 1"},
    {EV_AGENT_MESSAGE, "{\"text\":\"I will\\n  fix it.\"}", "I will fix it."},
    {EV_PATCH_CREATED,
     "{\"attemptNo\":1,\"filesChanged\":1,\"linesAdded\":10,\"linesDeleted\":2,"
     "\"summary\":\"sum.c\"}",
     "patch 1: 1 file changed, +10 -2: sum.c"},
    {EV_PATCH_CREATED, "{\"attemptNo\":2,\"filesChanged\":3,\"linesAdded\":1,\"linesDeleted\":0}",
     "patch 2: 3 files changed, +1 -0"},
    {EV_VERIFICATION_STARTED, "{\"name\":\"unit\"}", NULL},
    {EV_VERIFICATION_PASSED,
     "{\"name\":\"unit\",\"exitCode\":0,\"durationMs\":1234,\"summary\":\"all\"}",
     "unit passed (1.2 s)"},
    {EV_VERIFICATION_FAILED,
     "{\"name\":\"unit\",\"exitCode\":2,\"failureCategory\":\"test_failure\","
     "\"summary\":\"1 of 3 checks\",\"durationMs\":340}",
     "unit failed: 1 of 3 checks (exit 2, 340 ms)"},
    {EV_VERIFICATION_FAILED, "{\"name\":\"unit\"}", "unit failed"},
    {EV_VERIFICATION_ERRORED,
     "{\"name\":\"unit\",\"exitCode\":127,\"summary\":\"make: not found\"}",
     "unit could not be run: make: not found (exit 127)"},
    {EV_VERIFICATION_TIMED_OUT, "{\"name\":\"unit\",\"durationMs\":600000}",
     "unit timed out (10 min)"},
    {EV_VERIFICATION_SKIPPED, "{\"name\":\"lint\"}", "lint skipped"},
    {EV_JUDGE_COMPLETED, "{\"verdict\":\"pass\",\"score\":1,\"findingsCount\":0,\"findings\":[]}",
     "judge: pass, score 1.00"},
    {EV_JUDGE_COMPLETED,
     "{\"verdict\":\"fail\",\"score\":0.5,\"findingsCount\":1,"
     "\"findings\":[{\"rule\":\"max_files\",\"text\":\"Change fewer files.\"}]}",
     "judge: fail, score 0.50, 1 finding: Change fewer files."},
    {EV_JUDGE_COMPLETED, "{\"name\":\"style\",\"verdict\":\"needs_human_review\"}",
     "judge style: needs_human_review"},
    {EV_JUDGE_FAILED, "{\"name\":\"m\",\"problem\":\"no answer\"}",
     "judge m could not work: no answer"},
    {EV_JUDGE_INCONCLUSIVE, "{\"name\":\"m\"}", "judge m could not tell"},
    {EV_SECRET_DETECTED, "{\"rule\":\"jwt\",\"path\":\"a.c\",\"line\":3}",
     "secret in the patch (jwt) in a.c, line 3"},
    {EV_PATCH_POLICY_FLAGGED, "{\"reason\":\"inconclusive\"}", "patch flagged: inconclusive"},
    {EV_APPROVAL_REQUESTED, "{\"kind\":\"pr\",\"reason\":\"high risk\"}",
     "approval requested: high risk"},
    {EV_APPROVAL_APPROVED, "{\"actor\":\"ann\"}", "approved by ann"},
    {EV_APPROVAL_REJECTED, "{\"actor\":\"ann\",\"reason\":\"too wide\"}",
     "rejected by ann: too wide"},
    {EV_PR_CREATED, "{\"number\":7,\"url\":\"/srv/x#7\",\"branch\":\"b\",\"draft\":true}",
     "draft pull request #7 opened: /srv/x#7"},
    {EV_PR_CREATED, "{\"number\":7,\"branch\":\"b\"}", "pull request #7 opened from b"},
    {EV_PR_MERGED, "{\"number\":7}", "pull request #7 merged"},
    {EV_TRAIN_ENTERED, "{\"number\":7,\"targetBranch\":\"main\"}",
     "pull request #7 entered the train of main"},
    {EV_TRAIN_TESTED, "{\"number\":7,\"targetBranch\":\"main\",\"outcome\":\"passed\"}",
     "pull request #7 passed as it would land on main"},
    {EV_TRAIN_REJECTED, "{\"number\":7,\"targetBranch\":\"main\",\"detail\":\"unit: failed\"}",
     "pull request #7 does not land on main: unit: failed"},
    {EV_TRAIN_STALLED, "{\"targetBranch\":\"main\",\"detail\":\"no route\"}",
     "the train of main waits after a failure: no route"},
    {EV_JOB_DEAD_LETTERED, "{\"jobId\":\"j\",\"reason\":\"max_attempts\"}",
     "job j became a dead letter: max_attempts"},
    {EV_COST_RECORDED, "{}", NULL},
    {EV_POLICY_EVALUATED, "{\"decision\":\"allowed\"}", NULL},
    {EV_MEMORY_RECORDED, "{}", NULL},
    {EV_TASK_DEFERRED, "{\"reason\":\"quota\",\"detail\":\"2 runs are ahead.\"}",
     "task deferred: 2 runs are ahead."},
    {EV_TASK_DEFERRED, "{\"reason\":\"quota\"}", "task deferred: quota"},
    {EV_POLICY_OVERRIDE_APPROVED, "{\"actor\":\"ann\",\"reason\":\"hotfix\"}",
     "policy overridden by ann: hotfix"},
    {EV_BREAKER_OPENED, "{\"name\":\"forge\",\"reason\":\"5 failures\"}",
     "opened breaker forge: 5 failures"},
    {EV_NOTIFICATION_FAILED, "{\"channel\":\"ops\",\"errorCode\":\"timeout\"}",
     "no notification through ops (timeout)"},
    {EV_ISSUE_CREATED, "{\"number\":4,\"title\":\"Fix it\"}", "issue #4 created: Fix it"},
    {EV_JOB_REPLAYED, "{\"count\":12}", "dead letters replayed: 12"},
    {EV_QUEUE_LEVEL_RAISED, "{\"queue\":\"q\",\"from\":\"normal\",\"to\":\"high\"}",
     "load of queue q: from normal to high"},
    {"com.example.deployed", "{\"x\":1}", "com.example.deployed"},
    /* Data that nobody should have written. */
    {EV_RUN_FAILED, "{broken", EV_RUN_FAILED},
    {EV_RUN_FAILED, "[1,2]", EV_RUN_FAILED},
    {EV_RUN_FAILED, "\"text\"", EV_RUN_FAILED},
    {EV_RUN_FAILED, "{\"errorMessage\":5,\"errorCode\":{}}", "run failed"},
    {EV_CONTEXT_LOADED, "{\"sources\":[1,null,\"task\"]}",
     "context loaded: ?, ?, task (about 0 tokens)"},
    {EV_VERIFICATION_PASSED, "{\"durationMs\":9223372036854775807}", "check passed"},
    {EV_JUDGE_COMPLETED, "{\"findingsCount\":3,\"findings\":{}}", "judge: no verdict, 3 findings"},
};

START_TEST(an_event_is_told_in_a_line)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct event event = event_of(texts[_i].type, texts[_i].data, 1);
    const char *got = timeline_text(&event, &arena);
    if (texts[_i].want == NULL)
        ck_assert_ptr_null(got);
    else
        ck_assert_str_eq(got, texts[_i].want);
}
END_TEST

START_TEST(no_type_of_ours_is_told_by_its_bare_name)
{
    const struct event_type *entry;
    for (size_t i = 0; (entry = event_type_at(i)) != NULL; i++) {
        CLEANUP(arena_release) struct arena arena = {0};
        struct event event = event_of(entry->type, "{}", 1);
        const char *got = timeline_text(&event, &arena);
        ck_assert_msg(got == NULL || strcmp(got, entry->type) != 0, "%s", entry->type);
    }
}
END_TEST

static const struct {
    const char *type, *data;
    bool bad;
} moods[] = {
    {EV_RUN_FAILED, "{}", true},
    {EV_RUN_FAILED, "broken", true},
    {EV_RUN_COMPLETED, "{}", false},
    {EV_VERIFICATION_FAILED, "{}", true},
    {EV_VERIFICATION_PASSED, "{}", false},
    {EV_JUDGE_COMPLETED, "{\"verdict\":\"pass\"}", false},
    {EV_JUDGE_COMPLETED, "{\"verdict\":\"fail\"}", true},
    {EV_TOOL_CALL_FAILED, "{}", true},
    {"com.example.failed", "{}", false},
};

START_TEST(failures_are_marked)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct event event = event_of(moods[_i].type, moods[_i].data, 1);
    struct timeline timeline;
    timeline_build(&event, 1, &arena, &timeline);
    ck_assert_uint_eq(timeline.group_count, 1);
    ck_assert_int_eq(timeline.groups[0].lines[0].bad, moods[_i].bad);
}
END_TEST

static const struct {
    const char *type, *group;
} groups[] = {
    {EV_TASK_SUBMITTED, "Planning"},
    {EV_RUN_ACQUIRED, "Planning"},
    {EV_CONTEXT_LOADED, "Planning"},
    {EV_MODEL_TURN_COMPLETED, "Editing"},
    {EV_TOOL_CALL_STARTED, "Editing"},
    {EV_AGENT_MESSAGE, "Editing"},
    {EV_PATCH_CREATED, "Editing"},
    {EV_VERIFICATION_STARTED, "Verification"},
    {EV_VERIFICATION_FAILED, "Verification"},
    {EV_JUDGE_COMPLETED, "Judging"},
    {EV_APPROVAL_REQUESTED, "Approval"},
    {EV_PR_CREATED, "PR"},
    {EV_RUN_COMPLETED, "Outcome"},
    {EV_TASK_REJECTED, "Outcome"},
    {EV_TASK_CANCELLED, "Outcome"},
    {EV_RUN_STATUS_CHANGED, NULL},
    {EV_RUN_RETRY_WITH_FEEDBACK, NULL},
    {EV_STEP_FAILED, NULL},
    {"com.example.x", NULL},
};

START_TEST(types_belong_to_groups)
{
    const char *got = timeline_group_of(groups[_i].type);
    if (groups[_i].group == NULL)
        ck_assert_ptr_null(got);
    else
        ck_assert_str_eq(got, groups[_i].group);
}
END_TEST

/* "Group(lines)[start-end] ..." */
static const char *shape_of(const struct timeline *timeline, struct arena *arena)
{
    const char *shape = "";
    for (size_t i = 0; i < timeline->group_count; i++) {
        const struct timeline_group *group = &timeline->groups[i];
        shape = arena_printf(arena, "%s%s(%zu)[%d-%d] ", shape, group->name, group->line_count,
                             (int)(group->started_us / US_PER_SECOND),
                             (int)(group->ended_us / US_PER_SECOND));
    }
    return shape;
}

START_TEST(a_repair_shows_as_a_second_editing_and_verification)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const struct event events[] = {
        event_of(EV_TASK_SUBMITTED, "{}", 1),
        event_of(EV_RUN_STATUS_CHANGED, "{}", 2),
        event_of(EV_RUN_STARTED, "{}", 3),
        event_of(EV_CONTEXT_LOADED, "{}", 4),
        event_of(EV_TOOL_CALL_STARTED, "{}", 5),
        event_of(EV_TOOL_CALL_COMPLETED, "{}", 6),
        event_of(EV_PATCH_CREATED, "{}", 7),
        event_of(EV_VERIFICATION_STARTED, "{}", 8),
        event_of(EV_VERIFICATION_FAILED, "{}", 9),
        event_of(EV_RUN_RETRY_WITH_FEEDBACK, "{}", 10),
        event_of(EV_AGENT_MESSAGE, "{\"text\":\"again\"}", 11),
        event_of(EV_PATCH_SUPERSEDED, "{}", 12),
        event_of(EV_PATCH_CREATED, "{}", 13),
        event_of(EV_VERIFICATION_STARTED, "{}", 14),
        event_of(EV_VERIFICATION_PASSED, "{}", 15),
        event_of(EV_JUDGE_STARTED, "{}", 16),
        event_of(EV_JUDGE_COMPLETED, "{\"verdict\":\"pass\"}", 17),
        event_of(EV_APPROVAL_REQUESTED, "{}", 18),
        event_of(EV_APPROVAL_APPROVED, "{}", 19),
        event_of(EV_PR_CREATION_REQUESTED, "{}", 20),
        event_of(EV_PR_CREATED, "{}", 21),
        event_of(EV_RUN_COMPLETED, "{}", 22),
        event_of(EV_TASK_COMPLETED, "{}", 23),
    };
    struct timeline timeline;
    timeline_build(events, COUNT_OF(events), &arena, &timeline);
    ck_assert_str_eq(shape_of(&timeline, &arena),
                     "Planning(3)[1-4] Editing(2)[5-7] Verification(2)[8-10] Editing(2)[11-13] "
                     "Verification(1)[14-15] Judging(1)[16-17] Approval(2)[18-19] PR(1)[20-21] "
                     "Outcome(1)[22-22] ");
    ck_assert(!timeline.truncated);
    ck_assert_str_eq(timeline.groups[3].lines[0].text, "again");
    ck_assert_str_eq(timeline.groups[3].lines[0].type, EV_AGENT_MESSAGE);
}
END_TEST

START_TEST(a_story_may_begin_anywhere_or_not_at_all)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct timeline timeline;
    timeline_build(NULL, 0, &arena, &timeline);
    ck_assert_uint_eq(timeline.group_count, 0);
    const struct event quiet[] = {event_of(EV_RUN_STATUS_CHANGED, "{}", 1),
                                  event_of(EV_VERIFICATION_STARTED, "{}", 2)};
    timeline_build(quiet, COUNT_OF(quiet), &arena, &timeline);
    ck_assert_uint_eq(timeline.group_count, 0);
    const struct event odd[] = {event_of(EV_STEP_FAILED, "{}", 1),
                                event_of("com.example.x", "{}", 2),
                                event_of(EV_TASK_SUBMITTED, "{}", 3)};
    timeline_build(odd, COUNT_OF(odd), &arena, &timeline);
    ck_assert_str_eq(shape_of(&timeline, &arena), "Planning(3)[1-3] ");
}
END_TEST

START_TEST(a_talkative_run_still_shows_its_end)
{
    CLEANUP(arena_release) struct arena arena = {0};
    enum { COUNT = 3 * TIMELINE_LINES_MAX };
    struct event *events = arena_array(&arena, COUNT, sizeof *events);
    for (size_t i = 0; i < COUNT; i++)
        events[i] = event_of(EV_AGENT_MESSAGE, "{\"text\":\"bla\"}", (int64_t)i);
    events[COUNT - 2] = event_of(EV_VERIFICATION_FAILED, "{}", COUNT);
    events[COUNT - 1] = event_of(EV_RUN_FAILED, "{}", COUNT);
    struct timeline timeline;
    timeline_build(events, COUNT, &arena, &timeline);
    ck_assert(timeline.truncated);
    ck_assert_uint_eq(timeline.group_count, 3);
    ck_assert_uint_lt(timeline.groups[0].line_count, TIMELINE_LINES_MAX);
    ck_assert_str_eq(timeline.groups[2].name, "Outcome");
    for (size_t i = 0; i < COUNT; i++)
        events[i] = event_of(EV_VERIFICATION_FAILED, "{}", (int64_t)i);
    timeline_build(events, COUNT, &arena, &timeline);
    ck_assert(timeline.truncated);
    ck_assert_uint_eq(timeline.groups[0].line_count, TIMELINE_LINES_MAX);
}
END_TEST

START_TEST(long_texts_are_cut)
{
    CLEANUP(arena_release) struct arena arena = {0};
    char *data = arena_printf(&arena, "{\"text\":\"%02000d\"}", 1);
    struct event event = event_of(EV_AGENT_MESSAGE, data, 1);
    const char *text = timeline_text(&event, &arena);
    ck_assert_uint_le(strlen(text), 400);
    ck_assert(text_ends(text, "..."));
}
END_TEST

START_TEST(a_timeline_is_written_as_json)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const struct event events[] = {
        event_of(EV_RUN_QUEUED, "{}", 1),
        event_of(EV_RUN_FAILED, "{\"errorMessage\":\"a \\\"b\\\"\"}", 2)};
    struct timeline timeline;
    timeline_build(events, COUNT_OF(events), &arena, &timeline);
    CLEANUP(buf_release) struct buf buf;
    buf_init(&buf, 10000);
    struct jw jw = jw_to(&buf);
    timeline_write(&jw, &timeline);
    ck_assert_str_eq(
        buf_text(&buf),
        "{\"groups\":[{\"name\":\"Planning\",\"startedAt\":\"1970-01-01T00:00:01Z\","
        "\"endedAt\":\"1970-01-01T00:00:01Z\",\"lines\":[{\"time\":\"1970-01-01T00:00:01Z\","
        "\"type\":\"agent.run.queued\",\"text\":\"run queued\",\"bad\":false}]},"
        "{\"name\":\"Outcome\",\"startedAt\":\"1970-01-01T00:00:02Z\","
        "\"endedAt\":\"1970-01-01T00:00:02Z\",\"lines\":[{\"time\":\"1970-01-01T00:00:02Z\","
        "\"type\":\"agent.run.failed\",\"text\":\"run failed: a \\\"b\\\"\",\"bad\":true}]}],"
        "\"truncated\":false}");
}
END_TEST

START_TEST(a_story_outlives_its_events)
{
    CLEANUP(arena_release) struct arena arena = {0};
    char type[] = "com.example.thing", data[] = "{\"text\":\"hello\"}";
    struct event events[] = {event_of(type, "{}", 1), event_of(EV_AGENT_MESSAGE, data, 2)};
    struct timeline timeline;
    timeline_build(events, COUNT_OF(events), &arena, &timeline);
    memset(type, 'x', sizeof type - 1);
    memset(data, 'x', sizeof data - 1);
    memset(events, 0, sizeof events);
    ck_assert_str_eq(timeline.groups[0].lines[0].type, "com.example.thing");
    ck_assert_str_eq(timeline.groups[0].lines[0].text, "com.example.thing");
    ck_assert_str_eq(timeline.groups[1].lines[0].text, "hello");
}
END_TEST

Suite *timeline_suite(void)
{
    Suite *suite = suite_create("timeline");
    TCase *tc = tcase_create("timeline");
    tcase_add_loop_test(tc, an_event_is_told_in_a_line, 0, (int)COUNT_OF(texts));
    tcase_add_test(tc, no_type_of_ours_is_told_by_its_bare_name);
    tcase_add_loop_test(tc, failures_are_marked, 0, (int)COUNT_OF(moods));
    tcase_add_loop_test(tc, types_belong_to_groups, 0, (int)COUNT_OF(groups));
    tcase_add_test(tc, a_repair_shows_as_a_second_editing_and_verification);
    tcase_add_test(tc, a_story_may_begin_anywhere_or_not_at_all);
    tcase_add_test(tc, a_talkative_run_still_shows_its_end);
    tcase_add_test(tc, long_texts_are_cut);
    tcase_add_test(tc, a_timeline_is_written_as_json);
    tcase_add_test(tc, a_story_outlives_its_events);
    suite_add_tcase(suite, tc);
    return suite;
}
