/*
 * test_event.c - the envelope, the catalogue and patterns over types.
 */
#include "base/js.h"
#include "core/event.h"
#include "core/event_types.h"
#include "tests/unit/suites.h"
#include <string.h>

static const char *const everything =
    "{\"specversion\":\"1.0\",\"id\":\"01890000-0000-7000-8000-000000000001\","
    "\"source\":\"drover\",\"type\":\"agent.run.started\",\"subject\":\"run/r\","
    "\"time\":\"2026-07-03T12:00:00Z\",\"datacontenttype\":\"application/json\","
    "\"dataschema\":\"urn:drover:schema:agent.run.started:2\",\"traceparent\":\"00-ab-cd-01\","
    "\"workspaceid\":\"01890000-0000-7000-8000-000000000002\","
    "\"taskid\":\"01890000-0000-7000-8000-000000000003\","
    "\"runid\":\"01890000-0000-7000-8000-000000000004\","
    "\"attemptid\":\"01890000-0000-7000-8000-000000000005\","
    "\"correlationid\":\"01890000-0000-7000-8000-000000000006\","
    "\"causationid\":\"01890000-0000-7000-8000-000000000007\","
    "\"actortype\":\"user\",\"actorid\":\"admin\",\"severity\":\"info\",\"tags\":\"urgent,ui\","
    "\"sequence\":\"0000000003\",\"eventversion\":2,"
    "\"logseq\":\"77\",\"data\":{\"runNo\":1}}";

static struct id numbered(char last)
{
    char text[] = "01890000-0000-7000-8000-000000000000";
    text[sizeof text - 2] = last;
    return id_of(text);
}

static struct event full_event(void)
{
    return (struct event){
        .seq = 77,
        .id = numbered('1'),
        .type = EV_RUN_STARTED,
        .version = 2,
        .workspace_id = numbered('2'),
        .task_id = numbered('3'),
        .run_id = numbered('4'),
        .attempt_id = numbered('5'),
        .subject = "run/r",
        .time_us = INT64_C(1783080000000000),
        .run_seq = 3,
        .correlation_id = numbered('6'),
        .causation_id = numbered('7'),
        .actor = {"user", "admin"},
        .traceparent = "00-ab-cd-01",
        .tags = "urgent,ui",
        .data = STR("{\"runNo\":1}"),
    };
}

START_TEST(an_event_is_written_as_a_cloud_event)
{
    CLEANUP(buf_release) struct buf buf;
    buf_init(&buf, 10000);
    struct jw jw = jw_to(&buf);
    struct event event = full_event();
    event_write(&jw, &event);
    ck_assert_str_eq(buf_text(&buf), everything);
}
END_TEST

START_TEST(what_an_event_has_not_is_left_out)
{
    static const char *const absent[] = {"subject", "traceparent", "workspaceid",   "taskid",
                                         "runid",   "attemptid",   "correlationid", "causationid",
                                         "actorid", "sequence",    "logseq",        "tags"};
    CLEANUP(buf_release) struct buf buf;
    buf_init(&buf, 10000);
    struct jw jw = jw_to(&buf);
    struct event event = {.id = numbered('1'),
                          .type = EV_REPOSITORY_REMOVED,
                          .version = 1,
                          .time_us = 1,
                          .actor = {"system", NULL}};
    event_write(&jw, &event);
    CLEANUP(js_freep) struct js *tree = NULL;
    ck_assert_int_eq(js_parse(buf.data, buf.len, &tree, NULL), RC_OK);
    for (size_t i = 0; i < COUNT_OF(absent); i++)
        ck_assert_msg(js_get(tree, absent[i]) == NULL, "%s", absent[i]);
    ck_assert_int_eq(js_type(js_get(tree, "data")), JS_OBJECT);
    ck_assert_str_eq(js_get_str(tree, "actortype", ""), "system");
    ck_assert_str_eq(js_get_str(tree, "time", ""), "1970-01-01T00:00:00.000001Z");
    ck_assert_int_eq(js_get_int(tree, "eventversion", 0), 1);
}
END_TEST

static struct js *written(const struct event *event)
{
    CLEANUP(buf_release) struct buf buf;
    struct js *tree = NULL;
    buf_init(&buf, 10000);
    struct jw jw = jw_to(&buf);
    event_write(&jw, event);
    ck_assert_int_eq(js_parse(buf.data, buf.len, &tree, NULL), RC_OK);
    return tree;
}

/* What its sender gave it stays; what the server adds stands beside it. */
START_TEST(an_appended_event_keeps_its_own_attributes)
{
    struct event event = full_event();
    event.type = "com.example.built";
    event.source = "https://ci.example";
    event.source_id = "build-7";
    event.attributes = STR("{\"time\":\"2020-01-01T00:00:00+02:00\",\"dataschema\":\"urn:x\","
                           "\"flag\":true,\"count\":-3,\"word\":\"a\\\"b\"}");
    event.data = STR("[1,2]");
    CLEANUP(js_freep) struct js *tree = written(&event);
    ck_assert_str_eq(js_get_str(tree, "id", ""), "build-7");
    ck_assert_str_eq(js_get_str(tree, "source", ""), "https://ci.example");
    ck_assert_str_eq(js_get_str(tree, "time", ""), "2020-01-01T00:00:00+02:00");
    ck_assert_str_eq(js_get_str(tree, "recordedtime", ""), "2026-07-03T12:00:00Z");
    ck_assert_str_eq(js_get_str(tree, "dataschema", ""), "urn:x");
    ck_assert_str_eq(js_get_str(tree, "word", ""), "a\"b");
    ck_assert(js_get_bool(tree, "flag", false));
    ck_assert_int_eq(js_get_int(tree, "count", 0), -3);
    ck_assert_str_eq(js_get_str(tree, "logseq", ""), "77");
    ck_assert_str_eq(js_get_str(tree, "actorid", ""), "admin");
    ck_assert_uint_eq(js_count(js_get(tree, "data")), 2);
    ck_assert_ptr_null(js_get(tree, "eventversion"));
}
END_TEST

START_TEST(an_appended_event_may_have_next_to_nothing)
{
    struct event event = {.id = numbered('1'),
                          .type = "x",
                          .time_us = 1,
                          .actor = {"user", "ann"},
                          .source = "s",
                          .source_id = "i",
                          .data = STR("null")};
    CLEANUP(js_freep) struct js *tree = written(&event);
    ck_assert_str_eq(js_get_str(tree, "time", ""), "1970-01-01T00:00:00.000001Z");
    ck_assert_ptr_null(js_get(tree, "recordedtime"));
    ck_assert_ptr_null(js_get(tree, "data"));
    ck_assert_ptr_null(js_get(tree, "dataschema"));
}
END_TEST

START_TEST(attributes_from_outside_are_escaped)
{
    CLEANUP(buf_release) struct buf buf;
    buf_init(&buf, 10000);
    struct jw jw = jw_to(&buf);
    struct event event = full_event();
    event.actor.id = "a\"b\\\n\xff";
    event.subject = "repository/\u00e4\"";
    event_write(&jw, &event);
    CLEANUP(js_freep) struct js *tree = NULL;
    ck_assert_int_eq(js_parse(buf.data, buf.len, &tree, NULL), RC_OK);
    ck_assert_str_eq(js_get_str(tree, "actorid", ""), "a\"b\\\n\ufffd");
    ck_assert_str_eq(js_get_str(tree, "subject", ""), event.subject);
}
END_TEST

static const struct {
    const char *type;
    enum severity severity;
} severities[] = {
    {EV_TASK_SUBMITTED, SEVERITY_INFO},     {EV_TASK_REJECTED, SEVERITY_WARNING},
    {EV_RUN_FAILED, SEVERITY_ERROR},        {EV_RUN_TIMED_OUT, SEVERITY_ERROR},
    {EV_AGENT_MESSAGE, SEVERITY_DEBUG},     {EV_VERIFICATION_FAILED, SEVERITY_WARNING},
    {EV_JOB_DEAD_LETTERED, SEVERITY_ERROR}, {EV_REPOSITORY_REMOVED, SEVERITY_INFO},
    {"com.example.unknown", SEVERITY_INFO}, {"", SEVERITY_INFO},
};

START_TEST(the_partition_key_is_of_what_an_event_is_about)
{
    char key[EVENT_KEY_BYTES], longest[2 * EVENT_KEY_BYTES];
    struct event event = full_event();
    event.data = STR("{\"repositoryId\":\"01890000-0000-7000-8000-000000000008\"}");
    ck_assert_str_eq(event_partition_key(&event, key), numbered('4').text);
    event.run_id = (struct id){""};
    ck_assert_str_eq(event_partition_key(&event, key), numbered('3').text);
    event.task_id = (struct id){""};
    ck_assert_str_eq(event_partition_key(&event, key), numbered('8').text);
    event.data = STR("{\"said\":\"a \\\"repositoryId\\\"\",\"repositoryId\":7}");
    ck_assert_str_eq(event_partition_key(&event, key), "run/r");
    event.subject = NULL;
    event.source = "https://ci.example.com";
    ck_assert_str_eq(event_partition_key(&event, key), "https://ci.example.com");
    event.source = NULL;
    ck_assert_str_eq(event_partition_key(&event, key), "drover");
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    event.subject = longest;
    ck_assert_uint_eq(strlen(event_partition_key(&event, key)), EVENT_KEY_BYTES - 1);
}
END_TEST

START_TEST(types_have_a_severity)
{
    ck_assert_int_eq(event_severity(severities[_i].type), severities[_i].severity);
}
END_TEST

static const struct {
    const char *type, *source, *attributes, *data;
    enum severity severity;
} given[] = {
    {EV_RUN_FAILED, NULL, "", "{\"level\":\"debug\"}", SEVERITY_ERROR},
    {"com.x", "s", "", "{}", SEVERITY_INFO},
    {"com.x", "s", "{\"severity\":\"error\"}", "{}", SEVERITY_ERROR},
    {"com.x", "s", "{\"a\":1,\"severity\":\"Warn\"}", "{}", SEVERITY_WARNING},
    {"com.x", "s", "{\"severity\":\"CRITICAL\"}", "{}", SEVERITY_ERROR},
    {"com.x", "s", "{\"severity\":\"trace\"}", "{}", SEVERITY_DEBUG},
    {"com.x", "s", "{\"severity\":\"notice\"}", "{}", SEVERITY_INFO},
    {"com.x", "s", "{\"severity\":\"purple\"}", "{}", SEVERITY_INFO},
    {"com.x", "s", "{\"severity\":3}", "{}", SEVERITY_INFO},
    {EV_LOG_WRITTEN, NULL, "", "{\"level\":\"warn\"}", SEVERITY_WARNING},
    {EV_LOG_WRITTEN, NULL, "", "{\"level\":\"fatal\"}", SEVERITY_ERROR},
    {EV_LOG_WRITTEN, NULL, "", "{}", SEVERITY_INFO},
};

START_TEST(an_event_may_say_its_severity)
{
    const struct event event = {.type = given[_i].type,
                                .source = given[_i].source,
                                .attributes = str_of(given[_i].attributes),
                                .data = str_of(given[_i].data)};
    ck_assert_int_eq(event_severity_of(&event), given[_i].severity);
}
END_TEST

START_TEST(severities_have_names)
{
    static const char *const names[] = {"debug", "info", "warning", "error"};
    for (int i = SEVERITY_DEBUG; i <= SEVERITY_ERROR; i++) {
        enum severity severity = SEVERITY_DEBUG;
        ck_assert(severity_parse(names[i], &severity));
        ck_assert_int_eq((int)severity, i);
    }
    enum severity untouched = SEVERITY_ERROR;
    ck_assert(!severity_parse("warn", &untouched));
    ck_assert(!severity_parse(NULL, &untouched));
    ck_assert_int_eq(untouched, SEVERITY_ERROR);
}
END_TEST

static const struct {
    const char *pattern, *type;
    bool want;
} patterns[] = {
    {"agent.run.started", "agent.run.started", true},
    {"agent.run.started", "agent.run.start", false},
    {"agent.run", "agent.run.started", false},
    {"agent.run.started", "agent.run", false},
    {"agent.run.*", "agent.run.started", true},
    {"agent.run.*", "agent.run.status.changed", false},
    {"agent.run.*", "agent.run", false},
    {"agent.*.started", "agent.run.started", true},
    {"agent.*.started", "agent.tool.call.started", false},
    {"*.run.started", "agent.run.started", true},
    {"*", "agent", true},
    {"*", "agent.run", false},
    {"*", "", false},
    {">", "agent", true},
    {">", "agent.run.started", true},
    {">", "", false},
    {"agent.>", "agent.run", true},
    {"agent.>", "agent.run.status.changed", true},
    {"agent.>", "agent", false},
    {"agent.>", "other.run", false},
    {"agent.*.>", "agent.run.started", true},
    {"agent.*.>", "agent.run", false},
    {"agent.>.started", "agent.run.started", false},
    {"agent.ru*", "agent.run", false},
    {"agent.run>", "agent.runs", false},
    {"", "", true},
    {"", "agent", false},
    {"agent.", "agent.", true},
    {"agent.*", "agent.", false},
    {"agent.>", "agent.", false},
    {"agent..x", "agent.y.x", false},
};

START_TEST(patterns_match_by_segment)
{
    ck_assert_msg(event_type_match(patterns[_i].pattern, patterns[_i].type) == patterns[_i].want,
                  "%s on %s", patterns[_i].pattern, patterns[_i].type);
}
END_TEST

static const struct {
    const char *pattern;
    bool want;
} shapes[] = {
    {"agent.run.started", true},
    {"agent.run.*", true},
    {"agent.*.started", true},
    {"*", true},
    {">", true},
    {"agent.>", true},
    {"agent.*.>", true},
    {"agent.run*", false},
    {"agent.*run", false},
    {"agent.>.started", false},
    {"agent.run>", false},
    {"**", false},
    {">>", false},
    {"ISSUE_*", false},
    {"", false},
    {"agent..run", false},
    {"agent.run.", false},
    {"*.run>", false},
};

START_TEST(a_pattern_that_no_type_can_match_is_not_valid)
{
    ck_assert_msg(event_pattern_valid(shapes[_i].pattern) == shapes[_i].want, "%s",
                  shapes[_i].pattern);
}
END_TEST

START_TEST(a_sequence_sorts_as_text)
{
    static const int64_t places[] = {1, 9, 10, 99, 100, INT32_MAX};
    char before[ID_TEXT_BYTES] = "";
    for (size_t i = 0; i < COUNT_OF(places); i++) {
        CLEANUP(buf_release) struct buf buf;
        CLEANUP(js_freep) struct js *tree = NULL;
        buf_init(&buf, 10000);
        struct jw jw = jw_to(&buf);
        struct event event = full_event();
        event.run_seq = places[i];
        event_write(&jw, &event);
        ck_assert_int_eq(js_parse(buf.data, buf.len, &tree, NULL), RC_OK);
        const char *sequence = js_get_str(tree, "sequence", "");
        ck_assert_int_lt(strcmp(before, sequence), 0);
        text_copy(before, sizeof before, sequence);
    }
}
END_TEST

Suite *event_suite(void)
{
    Suite *suite = suite_create("event");
    TCase *tc = tcase_create("event");
    tcase_add_test(tc, an_event_is_written_as_a_cloud_event);
    tcase_add_test(tc, what_an_event_has_not_is_left_out);
    tcase_add_test(tc, an_appended_event_keeps_its_own_attributes);
    tcase_add_test(tc, an_appended_event_may_have_next_to_nothing);
    tcase_add_test(tc, attributes_from_outside_are_escaped);
    tcase_add_test(tc, the_partition_key_is_of_what_an_event_is_about);
    tcase_add_loop_test(tc, types_have_a_severity, 0, (int)COUNT_OF(severities));
    tcase_add_loop_test(tc, an_event_may_say_its_severity, 0, (int)COUNT_OF(given));
    tcase_add_test(tc, severities_have_names);
    tcase_add_test(tc, a_sequence_sorts_as_text);
    tcase_add_loop_test(tc, patterns_match_by_segment, 0, (int)COUNT_OF(patterns));
    tcase_add_loop_test(tc, a_pattern_that_no_type_can_match_is_not_valid, 0,
                        (int)COUNT_OF(shapes));
    suite_add_tcase(suite, tc);
    return suite;
}
