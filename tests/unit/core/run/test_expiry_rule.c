/*
 * test_expiry_rule.c - what goes after its time, and what keeps it; and what is left of diagnostic
 * events.
 */
#include "base/clock.h"
#include "core/event_types.h"
#include "core/run/diagnostic_sums.h"
#include "core/run/expiry.h"
#include "tests/unit/suites.h"
#include <check.h>
#include <stdio.h>
#include <string.h>

#define DAYS(n) ((n)*US_PER_DAY)
#define NOW     DAYS(1000)

/* ---- tasks ---- */

/* All ended 100 days ago, and 90 are their time, unless the row says otherwise. */
static const struct {
    const char *why;
    struct expiry_task task;
    int64_t days;
    enum expiry_keep want;
} tasks[] = {
    {"nothing keeps it", {.status = TASK_COMPLETED}, 90, EXPIRY_GOES},
    {"a failed one", {.status = TASK_FAILED}, 90, EXPIRY_GOES},
    {"a cancelled one", {.status = TASK_CANCELLED}, 90, EXPIRY_GOES},
    {"one that ran out of time", {.status = TASK_TIMED_OUT}, 90, EXPIRY_GOES},
    {"its time is not over", {.status = TASK_COMPLETED}, 101, EXPIRY_YOUNG},
    {"nor on that very day", {.status = TASK_COMPLETED}, 100, EXPIRY_YOUNG},
    {"0 is never", {.status = TASK_COMPLETED}, 0, EXPIRY_YOUNG},
    {"more than there was", {.status = TASK_COMPLETED}, 2000, EXPIRY_YOUNG},
    {"it runs", {.status = TASK_RUNNING}, 90, EXPIRY_OPEN},
    {"it waits", {.status = TASK_SUBMITTED}, 90, EXPIRY_OPEN},
    {"it is cleaned up", {.status = TASK_FAILED, .open_jobs = 1}, 90, EXPIRY_OPEN},
    {"a timer is set", {.status = TASK_FAILED, .timers = 1}, 90, EXPIRY_OPEN},
    {"an open pull request", {.status = TASK_COMPLETED, .open_prs = 1}, 90, EXPIRY_PULL_REQUEST},
    {"one that is followed",
     {.status = TASK_COMPLETED, .followed_prs = 1},
     90,
     EXPIRY_PULL_REQUEST},
    {"one in a train", {.status = TASK_COMPLETED, .cars = 1}, 90, EXPIRY_TRAIN},
    {"one that was merged lately",
     {.status = TASK_COMPLETED, .pr_us = NOW - DAYS(80)},
     90,
     EXPIRY_YOUNG},
    {"one that was merged long ago",
     {.status = TASK_COMPLETED, .pr_us = NOW - DAYS(91)},
     90,
     EXPIRY_GOES},
    {"it was repaired", {.status = TASK_COMPLETED, .repairs = 1}, 90, EXPIRY_REPAIR},
    {"another depends on it", {.status = TASK_COMPLETED, .dependents = 2}, 90, EXPIRY_DEPENDENT},
    {"its batch goes on", {.status = TASK_COMPLETED, .in_batch = true}, 90, EXPIRY_BATCH},
    {"its batch ended lately",
     {.status = TASK_COMPLETED, .in_batch = true, .batch_ended_us = NOW - DAYS(89)},
     90,
     EXPIRY_BATCH},
    {"its batch ended long ago",
     {.status = TASK_COMPLETED, .in_batch = true, .batch_ended_us = NOW - DAYS(91)},
     90,
     EXPIRY_GOES},
    {"its issue is at work", {.status = TASK_FAILED, .issues = 1}, 90, EXPIRY_ISSUE},
    {"it is taken back", {.status = TASK_FAILED, .sagas = 1}, 90, EXPIRY_SAGA},
};

START_TEST(a_task_goes_when_nothing_needs_it)
{
    struct expiry_task task = tasks[_i].task;
    const struct expiry_rules rules = {.tasks_us = DAYS(tasks[_i].days)};
    task.ended_us = NOW - DAYS(100);
    enum expiry_keep keep = expiry_judge_task(&rules, &task, NOW);
    ck_assert_msg(keep == tasks[_i].want, "%s: %s", tasks[_i].why, expiry_keep_name(keep));
}
END_TEST

START_TEST(one_that_has_not_ended_is_never_old)
{
    const struct expiry_rules rules = expiry_rules_default();
    const struct expiry_task task = {.status = TASK_COMPLETED}; /* Without a time. */
    ck_assert_int_eq(expiry_judge_task(&rules, &task, NOW), EXPIRY_YOUNG);
}
END_TEST

START_TEST(every_reason_has_a_name_and_words)
{
    for (int i = 0; i < EXPIRY_KEEP_COUNT; i++) {
        ck_assert(expiry_keep_name((enum expiry_keep)i)[0] != '\0');
        ck_assert(expiry_keep_meaning((enum expiry_keep)i)[0] != '\0');
        ck_assert_int_eq(expiry_waits((enum expiry_keep)i), i > EXPIRY_YOUNG);
    }
}
END_TEST

/* ---- work ---- */

static const struct {
    const char *why;
    struct expiry_run run;
    bool unpublished;
} works[] = {
    {"it did nothing", {.status = RUN_FAILED}, false},
    {"its pull request has it",
     {.status = RUN_COMPLETED, .has_pr = true, .has_patch = true},
     false},
    {"so it has earlier states",
     {.status = RUN_COMPLETED, .has_pr = true, .snapshot = true},
     false},
    {"its patch is here only", {.status = RUN_COMPLETED, .has_patch = true}, true},
    {"it changed nothing", {.status = RUN_COMPLETED}, false},
    {"another candidate was chosen",
     {.status = RUN_COMPLETED, .has_patch = true, .is_losing = true},
     false},
    {"a snapshot is on a worker", {.status = RUN_CANCELLED, .snapshot = true}, true},
    {"the origin has it", {.status = RUN_CANCELLED, .snapshot = true, .published = true}, false},
    {"the origin has it, and a patch",
     {.status = RUN_FAILED, .snapshot = true, .published = true, .has_patch = true},
     false},
    {"a patch and no snapshot", {.status = RUN_TIMED_OUT, .has_patch = true}, true},
    {"a patch was held back", {.status = RUN_FAILED, .has_secrets = true}, true},
    {"one was, and the next was published",
     {.status = RUN_COMPLETED, .has_secrets = true, .has_pr = true, .has_patch = true},
     false},
    {"a tree is kept", {.status = RUN_COMPLETED, .has_pr = true, .is_kept = true}, true},
};

START_TEST(work_is_published_or_it_is_not)
{
    ck_assert_msg(expiry_run_unpublished(&works[_i].run) == works[_i].unpublished, "%s",
                  works[_i].why);
}
END_TEST

/* ---- events ---- */

static const struct {
    const char *type;
    bool about_issue, may_go;
} events[] = {
    {EV_RUN_COMPLETED, false, true},
    {EV_BREAKER_OPENED, false, true},
    {"acme.deployed", false, true},
    {"acme.deployed", true, false},
    {"conductor.issue.approved", false, false},
    {"conductor", false, true},
    {EV_ISSUE_CREATED, false, false},
    {EV_AUDIT_RECORDED, false, false},
};

START_TEST(issues_and_the_audit_log_have_no_time)
{
    ck_assert_msg(expiry_event_may_go(events[_i].type, events[_i].about_issue) == events[_i].may_go,
                  "%s", events[_i].type);
}
END_TEST

START_TEST(diagnostic_is_what_the_table_says_but_for_plans)
{
    const struct event_type *type;
    for (size_t i = 0; (type = event_type_at(i)) != NULL; i++) {
        struct event event = {.type = type->type, .data = STR("{}")};
        bool plan = strcmp(type->type, EV_PLAN_CREATED) == 0 ||
                    strcmp(type->type, EV_PLAN_UPDATED) == 0;
        bool want = type->volume == VOLUME_DIAGNOSTIC && !plan;
        ck_assert_msg(expiry_event_is_diagnostic(&event, false) == want, "%s", type->type);
        ck_assert(!expiry_event_is_diagnostic(&event, true));
        event.source = "/of/a/client";
        ck_assert(!expiry_event_is_diagnostic(&event, false));
    }
}
END_TEST

/* ---- sums ---- */

static const char *text_of(const struct diagnostic_sums *sums, struct buf *to)
{
    buf_clear(to);
    struct jw jw = jw_to(to);
    jw_begin(&jw, '{');
    diagnostic_sums_write(&jw, sums);
    jw_end(&jw, '}');
    return buf_text(to);
}

static void add(struct diagnostic_sums *sums, const char *type, const char *data, int64_t time_us)
{
    const struct event event = {.type = type, .data = str_of(data), .time_us = time_us};
    diagnostic_sums_add(sums, &event);
}

START_TEST(sums_survive_being_written_and_go_on)
{
    struct diagnostic_sums sums = {0}, again;
    CLEANUP(buf_release) struct buf text, later;
    CLEANUP(js_freep) struct js *tree = NULL;
    buf_init(&text, DIAGNOSTIC_SUMS_BYTES_MAX);
    buf_init(&later, DIAGNOSTIC_SUMS_BYTES_MAX);
    add(&sums, EV_TOOL_CALL_STARTED, "{\"toolName\":\"Bash\"}", DAYS(2));
    add(&sums, EV_TOOL_CALL_COMPLETED, "{\"toolName\":\"Bash\"}", DAYS(3));
    add(&sums, EV_TOOL_CALL_FAILED, "{\"name\":\"Read\"}", DAYS(4));
    add(&sums, EV_MODEL_TURN_COMPLETED, "{}", DAYS(1));
    add(&sums, "of.a.version.to.come", "not even JSON", DAYS(5));
    ck_assert_str_eq(text_of(&sums, &text),
                     "{\"events\":5,\"firstAt\":\"1970-01-02T00:00:00Z\","
                     "\"lastAt\":\"1970-01-06T00:00:00Z\",\"types\":{"
                     "\"agent.model.turn.completed\":1,\"agent.tool.call.completed\":1,"
                     "\"agent.tool.call.failed\":1,\"agent.tool.call.started\":1},"
                     "\"tools\":{\"Bash\":{\"calls\":1,\"failed\":0},"
                     "\"Read\":{\"calls\":1,\"failed\":1}}}");
    ck_assert_int_eq(js_parse(text.data, text.len, &tree, NULL), RC_OK);
    diagnostic_sums_read(tree, &again);
    ck_assert_str_eq(text_of(&again, &later), buf_text(&text));
    add(&sums, EV_TOOL_CALL_DENIED, "{\"toolName\":\"Bash\"}", DAYS(6));
    add(&again, EV_TOOL_CALL_DENIED, "{\"toolName\":\"Bash\"}", DAYS(6));
    ck_assert_str_eq(text_of(&again, &later), text_of(&sums, &text));
}
END_TEST

START_TEST(tools_without_number_are_summed_up)
{
    struct diagnostic_sums sums = {0};
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, DIAGNOSTIC_SUMS_BYTES_MAX);
    for (int i = 0; i < 1000; i++) {
        char data[128];
        (void)snprintf(data, sizeof data, "{\"toolName\":\"tool-%d\"}", i);
        add(&sums, EV_TOOL_CALL_COMPLETED, data, 1);
    }
    ck_assert_uint_eq(sums.tool_count, SUMMED_TOOLS_MAX);
    ck_assert_int_eq(sums.others.calls, 1000 - SUMMED_TOOLS_MAX);
    (void)text_of(&sums, &text);
    ck_assert(!text.overflow);
}
END_TEST

Suite *expiry_rule_suite(void)
{
    Suite *suite = suite_create("expiry_rule");
    TCase *tc = tcase_create("rules");
    tcase_add_loop_test(tc, a_task_goes_when_nothing_needs_it, 0, (int)COUNT_OF(tasks));
    tcase_add_test(tc, one_that_has_not_ended_is_never_old);
    tcase_add_test(tc, every_reason_has_a_name_and_words);
    tcase_add_loop_test(tc, work_is_published_or_it_is_not, 0, (int)COUNT_OF(works));
    tcase_add_loop_test(tc, issues_and_the_audit_log_have_no_time, 0, (int)COUNT_OF(events));
    tcase_add_test(tc, diagnostic_is_what_the_table_says_but_for_plans);
    tcase_add_test(tc, sums_survive_being_written_and_go_on);
    tcase_add_test(tc, tools_without_number_are_summed_up);
    suite_add_tcase(suite, tc);
    return suite;
}
