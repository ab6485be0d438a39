/*
 * test_append_event.c - events of clients in the log: once each, of a task, of a run, of neither.
 */
#include "control/run/append_event.h"
#include "control/run/schemas.h"
#include "store/events.h"
#include "store/schemas.h"
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
    struct cmd_append_events *cmd = cmd_append_events_new();
    cmd->events = event;
    cmd->count = 1;
    if (agent_run != NULL)
        cmd->agent_run = *agent_run;
    cmd->base.actor = (struct actor){agent_run != NULL ? "agent" : "user", "ada"};
    enum rc rc = lab_call(&lab, &cmd->base);
    const struct outcome outcome = {rc, cmd->accepted == 1,
                                    arena_strdup(&lab.arena, cmd->base.err.code),
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
    const struct cloud_event event = event_of("same");
    struct cmd_append_events *cmds[2];
    int fresh = 0;
    for (size_t i = 0; i < COUNT_OF(cmds); i++) {
        cmds[i] = cmd_append_events_new();
        cmds[i]->events = &event;
        cmds[i]->count = 1;
        cmds[i]->base.actor = (struct actor){"user", "ada"};
        lab_post(&lab, &cmds[i]->base);
    }
    lab_rounds(&lab);
    for (size_t i = 0; i < COUNT_OF(cmds); i++) {
        ck_assert_int_eq(cmds[i]->base.rc, RC_OK);
        fresh += cmds[i]->accepted == 1;
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

/* ---- batches ---- */

static struct outcome append_all(const struct cloud_event *events, size_t count, size_t *ret_new)
{
    struct cmd_append_events *cmd = cmd_append_events_new();
    cmd->events = events;
    cmd->count = count;
    cmd->is_batch = true;
    cmd->base.actor = (struct actor){"user", "ada"};
    enum rc rc = lab_call(&lab, &cmd->base);
    const struct outcome outcome = {rc, cmd->accepted == count,
                                    arena_strdup(&lab.arena, cmd->base.err.code),
                                    arena_strdup(&lab.arena, cmd->base.err.field)};
    *ret_new = cmd->accepted;
    command_free(&cmd->base);
    return outcome;
}

START_TEST(a_batch_is_appended_in_order_and_without_its_repeats)
{
    open_lab(_i);
    struct id run_id = lab_submit(&lab, "acme/billing");
    int64_t before = lab_run(&lab, &run_id).event_seq;
    struct cloud_event events[] = {event_of("1"), event_of("2"), event_of("1"), event_of("3"),
                                   event_of("0")};
    ck_assert(append(&events[4]).is_new);
    for (size_t i = 0; i < 4; i++)
        events[i].run_id = run_id;
    size_t fresh, count;
    ck_assert_int_eq(append_all(events, COUNT_OF(events), &fresh).rc, RC_OK);
    ck_assert_uint_eq(fresh, 3);
    ck_assert_int_eq(lab_run(&lab, &run_id).event_seq, before + 3);
    struct event *found = list((struct event_filter){.run_id = run_id, .type_pattern = "com.>"},
                               &count);
    ck_assert_uint_eq(count, 3);
    for (size_t i = 0; i < count; i++) {
        ck_assert_int_eq(found[i].run_seq, before + 1 + (int64_t)i);
        ck_assert_str_eq(found[i].source_id, arena_printf(&lab.arena, "%zu", i + 1));
    }
    ck_assert_int_eq(append_all(events, COUNT_OF(events), &fresh).rc, RC_OK);
    ck_assert_uint_eq(fresh, 0);
    ck_assert_int_eq(append_all(events, 0, &fresh).rc, RC_OK);
    close_lab();
}
END_TEST

/* What is wrong with one is found before the first is written, or undone. */
START_TEST(a_batch_is_appended_whole_or_not)
{
    open_lab(_i);
    struct id run_id = lab_submit(&lab, "acme/billing");
    struct run_row before = lab_run(&lab, &run_id);
    struct cloud_event events[13];
    size_t fresh;
    for (size_t i = 0; i < COUNT_OF(events); i++) {
        events[i] = event_of(arena_printf(&lab.arena, "%zu", i));
        events[i].run_id = run_id;
    }
    struct outcome outcome = append_all(events, COUNT_OF(events), &fresh);
    ck_assert_int_eq(outcome.rc, RC_CONFLICT); /* The budget is of 10. */
    ck_assert_str_eq(outcome.code, "EVENT_BUDGET_USED");
    ck_assert_str_eq(outcome.field, "[10]");
    events[2].run_id = id_of("01890000-0000-7000-8000-00000000000a");
    outcome = append_all(events, 3, &fresh);
    ck_assert_int_eq(outcome.rc, RC_INVALID);
    ck_assert_str_eq(outcome.field, "[2].runid");
    struct run_row after = lab_run(&lab, &run_id);
    ck_assert_int_eq(after.event_seq, before.event_seq);
    ck_assert_int_eq(after.events_left.events, before.events_left.events);
    ck_assert_uint_eq(count_of((struct event_filter){.type_pattern = "com.>"}), 0);
    close_lab();
}
END_TEST

/* ---- schemas ---- */

struct registered {
    enum rc rc;
    int64_t version;
    bool is_new;
    const char *code;
};

static struct registered put(const char *document, bool force)
{
    struct cmd_schema_put *cmd = cmd_schema_put_new();
    cmd->name = "com.example.built";
    cmd->document = str_of(document);
    cmd->force = force;
    cmd->base.actor = (struct actor){"user", "ada"};
    enum rc rc = lab_call(&lab, &cmd->base);
    const struct registered registered = {rc, cmd->version, cmd->is_new,
                                          arena_strdup(&lab.arena, cmd->base.err.code)};
    command_free(&cmd->base);
    return registered;
}

static enum rc remove_schema(void)
{
    struct cmd_schema_remove *cmd = cmd_schema_remove_new();
    cmd->name = "com.example.built";
    cmd->base.actor = (struct actor){"user", "ada"};
    enum rc rc = lab_call(&lab, &cmd->base);
    command_free(&cmd->base);
    return rc;
}

#define BOOL_OK "{\"type\":\"object\",\"properties\":{\"ok\":{\"type\":\"boolean\"}}}"
#define MORE                                                              \
    "{\"type\":\"object\",\"properties\":{\"ok\":{\"type\":\"boolean\"}," \
    "\"by\":{\"type\":\"string\"}}}"
#define TEXT_OK "{\"type\":\"object\",\"properties\":{\"ok\":{\"type\":\"string\"}}}"

START_TEST(a_schema_has_versions_that_follow_from_each_other)
{
    open_lab(_i);
    struct registered first = put(BOOL_OK, false);
    ck_assert_int_eq(first.rc, RC_OK);
    ck_assert_int_eq(first.version, 1);
    ck_assert(first.is_new);
    first = put(" " BOOL_OK, false);
    ck_assert_int_eq(first.version, 1);
    ck_assert(!first.is_new);
    ck_assert_int_eq(put(MORE, false).version, 2);
    struct registered breaking = put(TEXT_OK, false);
    ck_assert_int_eq(breaking.rc, RC_CONFLICT);
    ck_assert_str_eq(breaking.code, "SCHEMA_BREAKING");
    ck_assert_int_eq(put(TEXT_OK, true).version, 3);
    ck_assert_int_eq(remove_schema(), RC_OK);
    ck_assert_int_eq(remove_schema(), RC_NOT_FOUND);
    ck_assert_int_eq(put(BOOL_OK, false).version, 4);
    close_lab();
}
END_TEST

START_TEST(with_as_many_names_as_may_be_a_new_version_is_still_taken)
{
    open_lab(_i);
    CLEANUP(tx_abort) struct tx tx = {0};
    struct err err = {0};
    ck_assert_int_eq(tx_begin(lab.db, &tx, &err), RC_OK);
    for (int i = 1; i < SCHEMAS_MAX; i++) {
        const struct schema_row row = {.name = arena_printf(&lab.arena, "com.example.s%d", i),
                                       .version = 1,
                                       .document = STR("true"),
                                       .created_by = "ada"};
        ck_assert_int_eq(schemas_insert(lab.db, &row, &err), RC_OK);
    }
    ck_assert_int_eq(tx_commit(&tx, &err), RC_OK);
    ck_assert_int_eq(put(BOOL_OK, false).rc, RC_OK);
    ck_assert_int_eq(put(MORE, false).rc, RC_OK);
    struct cmd_schema_put *cmd = cmd_schema_put_new();
    cmd->name = "com.example.another";
    cmd->document = STR("{}");
    cmd->base.actor = (struct actor){"user", "ada"};
    ck_assert_int_eq(lab_call(&lab, &cmd->base), RC_CONFLICT);
    ck_assert_str_eq(cmd->base.err.code, "TOO_MANY_SCHEMAS");
    command_free(&cmd->base);
    close_lab();
}
END_TEST

static struct outcome append_data(const char *id, const char *json, const char *schema)
{
    CLEANUP(js_freep) struct js *tree = NULL;
    struct cloud_event event = event_of(id);
    ck_assert_int_eq(js_parse(json, strlen(json), &tree, NULL), RC_OK);
    event.data = str_of(json);
    event.value = tree;
    event.data_schema = schema;
    return append(&event);
}

START_TEST(data_must_fit_the_schema_of_its_type)
{
    open_lab(_i);
    ck_assert_int_eq(append_data("0", "{\"ok\":1}", NULL).rc, RC_OK);
    ck_assert_int_eq(put(BOOL_OK, false).rc, RC_OK);
    struct outcome outcome = append_data("1", "{\"ok\":1}", NULL);
    ck_assert_int_eq(outcome.rc, RC_INVALID);
    ck_assert_str_eq(outcome.code, "SCHEMA_MISMATCH");
    ck_assert_str_eq(outcome.field, "data.ok");
    ck_assert_int_eq(append_data("0", "{\"ok\":1}", NULL).rc, RC_OK); /* As it was before. */
    ck_assert(append_data("1", "{\"ok\":true}", NULL).is_new);
    ck_assert_int_eq(put(TEXT_OK, true).rc, RC_OK);
    ck_assert_int_eq(append_data("2", "{\"ok\":true}", NULL).rc, RC_INVALID);
    ck_assert(append_data("2", "{\"ok\":true}", "urn:drover:schema:com.example.built:1").is_new);
    outcome = append_data("3", "{}", "urn:drover:schema:com.example.built:9");
    ck_assert_str_eq(outcome.code, "SCHEMA_NOT_FOUND");
    ck_assert(append_data("4", "{\"ok\":\"x\"}", "https://example.com/schema").is_new);
    struct cloud_event binary = event_of("5");
    binary.is_binary = true;
    ck_assert_str_eq(append(&binary).code, "SCHEMA_MISMATCH");
    ck_assert_int_eq(remove_schema(), RC_OK);
    ck_assert(append_data("6", "{\"ok\":1}", NULL).is_new);
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
    tcase_add_loop_test(tests, a_batch_is_appended_in_order_and_without_its_repeats, 0, engines);
    tcase_add_loop_test(tests, a_batch_is_appended_whole_or_not, 0, engines);
    tcase_add_loop_test(tests, a_schema_has_versions_that_follow_from_each_other, 0, engines);
    tcase_add_loop_test(tests, with_as_many_names_as_may_be_a_new_version_is_still_taken, 0,
                        engines);
    tcase_add_loop_test(tests, data_must_fit_the_schema_of_its_type, 0, engines);
    suite_add_tcase(suite, tests);
    return suite;
}
