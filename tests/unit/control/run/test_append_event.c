/*
 * test_append_event.c - events of clients in the log: once each, of a task, of a run, of neither.
 */
#include "control/run/append_event.h"
#include "store/events.h"
#include "tests/unit/lab.h"
#include <check.h>
#include <string.h>

static struct lab lab;

static void open_lab(int engine)
{
    lab_open(&lab, &(struct lab_options){.engine = engine});
    lab_repository(&lab, "acme/billing", "\"limits\":{\"maxRunEvents\":10}");
}

static void close_lab(void)
{
    lab_check(&lab);
    lab_close(&lab);
}

static struct cloud_event event_of(const char *id)
{
    return (struct cloud_event){
        .id = id, .source = "/ci", .type = "com.example.built", .data = STR("{\"ok\":true}")};
}

struct outcome {
    enum rc rc;
    bool is_new;
    const char *code, *field;
};

static struct outcome append_as(const struct cloud_event *event, const struct id *agent_run)
{
    struct cmd_append_event *cmd = cmd_append_event_new();
    cmd->event = *event;
    if (agent_run != NULL)
        cmd->agent_run = *agent_run;
    cmd->base.actor = (struct actor){agent_run != NULL ? "agent" : "user", "ada"};
    enum rc rc = lab_call(&lab, &cmd->base);
    const struct outcome outcome = {rc, cmd->is_new, arena_strdup(&lab.arena, cmd->base.err.code),
                                    arena_strdup(&lab.arena, cmd->base.err.field)};
    command_free(&cmd->base);
    return outcome;
}

static struct outcome append(const struct cloud_event *event)
{
    return append_as(event, NULL);
}

static struct event *list(struct event_filter filter, size_t *ret_count)
{
    struct event *events;
    struct err err = {0};
    filter.limit = 1000;
    enum rc rc = events_list(lab.db, &filter, &lab.arena, &events, ret_count, &err);
    ck_assert_msg(rc == RC_OK, "%s", err.text);
    return events;
}

static size_t count_of(struct event_filter filter)
{
    size_t count;
    (void)list(filter, &count);
    return count;
}

START_TEST(an_event_is_appended_once)
{
    open_lab(_i);
    struct cloud_event event = event_of("1"), other = event_of("2");
    event.subject = "build/1";
    event.attributes = STR("{\"time\":\"2020-01-01T00:00:00Z\"}");
    ck_assert(append(&event).is_new);
    for (int i = 0; i < 2; i++) {
        struct outcome again = append(&event);
        ck_assert_int_eq(again.rc, RC_OK);
        ck_assert(!again.is_new);
    }
    other.source = "/cd";
    ck_assert(append(&other).is_new);
    size_t count;
    struct event *events = list((struct event_filter){.type_pattern = "com.>"}, &count);
    ck_assert_uint_eq(count, 2);
    ck_assert_str_eq(events[0].source_id, "1");
    ck_assert_str_eq(events[0].subject, "build/1");
    ck_assert_int_eq(events[0].time_us, lab.now_us); /* The log's own: times in it follow. */
    ck_assert_str_eq(events[0].actor.id, "ada");
    ck_assert(id_is_none(&events[0].task_id) && id_is_none(&events[0].run_id));
    close_lab();
}
END_TEST

/* Two of one batch: the second finds the first. */
START_TEST(a_pair_in_one_batch_is_one_event)
{
    open_lab(_i);
    struct cmd_append_event *cmds[2];
    int fresh = 0;
    for (size_t i = 0; i < COUNT_OF(cmds); i++) {
        cmds[i] = cmd_append_event_new();
        cmds[i]->event = event_of("same");
        cmds[i]->base.actor = (struct actor){"user", "ada"};
        lab_post(&lab, &cmds[i]->base);
    }
    lab_rounds(&lab);
    for (size_t i = 0; i < COUNT_OF(cmds); i++) {
        ck_assert_int_eq(cmds[i]->base.rc, RC_OK);
        fresh += cmds[i]->is_new;
        command_free(&cmds[i]->base);
    }
    ck_assert_int_eq(fresh, 1);
    ck_assert_uint_eq(count_of((struct event_filter){.type_pattern = "com.>"}), 1);
    close_lab();
}
END_TEST

START_TEST(an_event_of_a_run_takes_the_next_place_in_it)
{
    open_lab(_i);
    struct id run_id = lab_submit(&lab, "acme/billing");
    struct run_row before = lab_run(&lab, &run_id);
    struct cloud_event event = event_of("1");
    event.run_id = run_id;
    ck_assert(append(&event).is_new);
    ck_assert(!append(&event).is_new);
    struct run_row after = lab_run(&lab, &run_id);
    ck_assert_int_eq(after.event_seq, before.event_seq + 1);
    ck_assert_int_eq(after.events_left.events, before.events_left.events - 1);
    size_t count;
    struct event *events = list((struct event_filter){.run_id = run_id, .type_pattern = "com.>"},
                                &count);
    ck_assert_uint_eq(count, 1);
    ck_assert_int_eq(events->run_seq, after.event_seq);
    ck_assert(id_same(&events->task_id, &before.task_id));
    ck_assert(id_same(&events->id, &after.last_event_id));
    lab_step(&lab, "prepare", RESULT_PREPARE); /* The run goes on behind it. */
    ck_assert_int_gt(lab_run(&lab, &run_id).event_seq, after.event_seq);
    close_lab();
}
END_TEST

START_TEST(an_event_of_a_task_is_of_no_run)
{
    open_lab(_i);
    struct id run_id = lab_submit(&lab, "acme/billing");
    struct run_row before = lab_run(&lab, &run_id);
    struct cloud_event event = event_of("1");
    event.task_id = before.task_id;
    ck_assert(append(&event).is_new);
    ck_assert(!append(&event).is_new);
    ck_assert_int_eq(lab_run(&lab, &run_id).event_seq, before.event_seq);
    size_t count;
    struct event *events = list(
        (struct event_filter){.task_id = before.task_id, .type_pattern = "com.>"}, &count);
    ck_assert_uint_eq(count, 1);
    ck_assert(id_is_none(&events->run_id));
    ck_assert_str_eq(events->subject, arena_printf(&lab.arena, "task/%s", before.task_id.text));
    struct task_row task = lab_task(&lab, &run_id);
    ck_assert(id_same(&task.last_event_id, &events->id));
    /* In its timeline too, which is that of a run with the events of its task. */
    ck_assert_int_eq(lab_count_events(&lab, &run_id, "com.example.built"), 1);
    close_lab();
}
END_TEST

/* A fact about a run may come after its end: only its agent's token has ended. */
START_TEST(a_run_that_has_ended_takes_events_but_of_its_agent)
{
    open_lab(_i);
    struct id run_id = lab_submit(&lab, "acme/billing");
    struct cloud_event event = event_of("1"), late = event_of("2");
    event.run_id = late.run_id = run_id;
    ck_assert(append_as(&event, &run_id).is_new);
    lab_cancel(&lab, &run_id);
    ck_assert(append(&late).is_new);
    late.id = "3";
    struct outcome refused = append_as(&late, &run_id);
    ck_assert_int_eq(refused.rc, RC_UNAUTHORIZED);
    ck_assert_str_eq(refused.code, "TOKEN_EXPIRED");
    close_lab();
}
END_TEST

START_TEST(tasks_and_runs_must_be_there_and_belong_together)
{
    open_lab(_i);
    struct id first = lab_submit(&lab, "acme/billing"), second = lab_submit(&lab, "acme/billing");
    struct cloud_event event = event_of("1");
    event.run_id = id_of("01890000-0000-7000-8000-00000000000a");
    struct outcome outcome = append(&event);
    ck_assert_int_eq(outcome.rc, RC_INVALID);
    ck_assert_str_eq(outcome.code, "RUN_NOT_FOUND");
    ck_assert_str_eq(outcome.field, "runid");
    event.run_id = (struct id){{0}};
    event.task_id = id_of("01890000-0000-7000-8000-00000000000a");
    outcome = append(&event);
    ck_assert_int_eq(outcome.rc, RC_INVALID);
    ck_assert_str_eq(outcome.field, "taskid");
    event.run_id = first;
    event.task_id = lab_run(&lab, &second).task_id;
    ck_assert_int_eq(append(&event).rc, RC_INVALID);
    event.task_id = lab_run(&lab, &first).task_id;
    ck_assert(append(&event).is_new);
    ck_assert_uint_eq(count_of((struct event_filter){.type_pattern = "com.>"}), 1);
    close_lab();
}
END_TEST

/* As many as its workers might report; a repeat is none, and the task takes more. */
START_TEST(a_run_takes_no_more_than_its_budget)
{
    open_lab(_i);
    struct id run_id = lab_submit(&lab, "acme/billing");
    struct cloud_event event = event_of("");
    event.run_id = run_id;
    for (int i = 0; i < 10; i++) {
        event.id = arena_printf(&lab.arena, "%d", i);
        ck_assert_msg(append(&event).is_new, "%d", i);
    }
    ck_assert_int_eq(append(&event).rc, RC_OK);
    event.id = "one more";
    struct outcome outcome = append(&event);
    ck_assert_int_eq(outcome.rc, RC_CONFLICT);
    ck_assert_str_eq(outcome.code, "EVENT_BUDGET_USED");
    event.task_id = lab_run(&lab, &run_id).task_id;
    event.run_id = (struct id){{0}};
    ck_assert(append(&event).is_new);
    close_lab();
}
END_TEST

Suite *append_event_suite(void)
{
    Suite *suite = suite_create("append_event");
    TCase *tests = tcase_create("append_event");
    int engines = lab_engines();
    tcase_set_timeout(tests, 30);
    tcase_add_loop_test(tests, an_event_is_appended_once, 0, engines);
    tcase_add_loop_test(tests, a_pair_in_one_batch_is_one_event, 0, engines);
    tcase_add_loop_test(tests, an_event_of_a_run_takes_the_next_place_in_it, 0, engines);
    tcase_add_loop_test(tests, an_event_of_a_task_is_of_no_run, 0, engines);
    tcase_add_loop_test(tests, a_run_that_has_ended_takes_events_but_of_its_agent, 0, engines);
    tcase_add_loop_test(tests, tasks_and_runs_must_be_there_and_belong_together, 0, engines);
    tcase_add_loop_test(tests, a_run_takes_no_more_than_its_budget, 0, engines);
    suite_add_tcase(suite, tests);
    return suite;
}
