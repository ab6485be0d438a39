/*
 * test_cloud_event.c - what clients may append: the attributes of the standard, limits, and what is
 * drover's own.
 */
#include "core/cloud_event.h"
#include "core/event.h"
#include "tests/unit/suites.h"
#include <string.h>

static struct arena arena;
static struct cloud_event event;
static struct err err;
static struct js *tree;

static void setup(void)
{
    memset(&event, 0, sizeof event);
    memset(&err, 0, sizeof err);
}

static void teardown(void)
{
    js_free(tree);
    tree = NULL;
    arena_release(&arena);
}

static enum rc decode(const char *json)
{
    js_free(tree);
    tree = NULL;
    ck_assert_msg(js_parse(json, strlen(json), &tree, &err) == RC_OK, "%s: %s", json, err.text);
    return cloud_event_decode(tree, &arena, &event, &err);
}

#define HEAD "{\"specversion\":\"1.0\",\"id\":\"7\",\"source\":\"/ci\",\"type\":\"com.example.x\""
#define TASK "01890000-0000-7000-8000-000000000003"
#define RUN  "01890000-0000-7000-8000-000000000004"

START_TEST(the_least_is_four_attributes)
{
    ck_assert_int_eq(decode(HEAD "}"), RC_OK);
    ck_assert_str_eq(event.id, "7");
    ck_assert_str_eq(event.source, "/ci");
    ck_assert_str_eq(event.type, "com.example.x");
    ck_assert_ptr_null(event.subject);
    ck_assert_ptr_null(event.traceparent);
    ck_assert(id_is_none(&event.task_id) && id_is_none(&event.run_id));
    ck_assert_uint_eq(event.attributes.len, 0);
    ck_assert_str_eq(event.data.at, "null");
}
END_TEST

START_TEST(tags_are_split_and_no_extension)
{
    ck_assert_int_eq(decode(HEAD ",\"tags\":\" b,a ,b,,\",\"severity\":\"warn\"}"), RC_OK);
    ck_assert_str_eq(event.tags, "b,a");
    ck_assert_str_eq(event.attributes.at, "{\"severity\":\"warn\"}");
    ck_assert_int_eq(decode(HEAD ",\"tags\":\" , \"}"), RC_OK);
    ck_assert_ptr_null(event.tags);
    ck_assert_int_eq(decode(HEAD ",\"tags\":7}"), RC_INVALID);
    ck_assert_str_eq(err.field, "tags");
}
END_TEST

START_TEST(all_of_it_is_read)
{
    enum rc rc = decode(
        HEAD ",\"subject\":\"build 7 \u00e4\",\"time\":\"2026-07-03T12:00:00.123456789+02:00\","
             "\"datacontenttype\":\"text/plain; charset=utf-8\",\"dataschema\":\"urn:x\","
             "\"traceparent\":\"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\","
             "\"taskid\":\"" TASK "\",\"runid\":\"" RUN "\",\"myext1\":\"v\",\"on\":false,"
             "\"n\":2147483647,\"none\":null,\"data\":\"text\"}");
    ck_assert_msg(rc == RC_OK, "%s", err.text);
    ck_assert_str_eq(event.subject, "build 7 \u00e4");
    ck_assert_str_eq(event.task_id.text, TASK);
    ck_assert_str_eq(event.run_id.text, RUN);
    ck_assert_uint_eq(strlen(event.traceparent), 55);
    ck_assert_str_eq(event.data.at, "\"text\"");
    ck_assert_str_eq(event.attributes.at,
                     "{\"myext1\":\"v\",\"on\":false,\"n\":2147483647,"
                     "\"time\":\"2026-07-03T12:00:00.123456789+02:00\","
                     "\"datacontenttype\":\"text/plain; charset=utf-8\",\"dataschema\":\"urn:x\"}");
}
END_TEST

static const char *const data[] = {"{\"a\":[1,2.5,null]}", "[]", "0", "false", "\"\"", "{}"};

START_TEST(data_may_be_any_json)
{
    ck_assert_int_eq(decode(arena_printf(&arena, HEAD ",\"data\":%s}", data[_i])), RC_OK);
    ck_assert_str_eq(event.data.at, data[_i]);
}
END_TEST

START_TEST(bytes_come_in_base64_and_go_out_so)
{
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, 4096);
    ck_assert_int_eq(decode(HEAD ",\"data_base64\":\"AP8=\",\"datacontenttype\":\"image/png\"}"),
                     RC_OK);
    ck_assert(event.is_binary);
    ck_assert_ptr_null(event.value);
    ck_assert_str_eq(event.data.at, "\"AP8=\"");
    const struct event stored = {.type = event.type,
                                 .source = event.source,
                                 .source_id = event.id,
                                 .data = event.data,
                                 .attributes = event.attributes};
    struct jw jw = jw_to(&text);
    event_write(&jw, &stored);
    ck_assert_ptr_nonnull(strstr(buf_text(&text), "\"data_base64\":\"AP8=\"}"));
    ck_assert_ptr_nonnull(strstr(buf_text(&text), "\"datacontenttype\":\"image/png\""));
    ck_assert_ptr_null(strstr(buf_text(&text), "\"data\":"));
    ck_assert_ptr_null(strstr(buf_text(&text), "true"));
}
END_TEST

static const struct {
    const char *type;
    bool headers;
    enum cloud_event_mode mode;
} modes[] = {
    {NULL, false, EVENT_STRUCTURED},
    {"application/json", false, EVENT_STRUCTURED},
    {"application/json", true, EVENT_BINARY},
    {NULL, true, EVENT_BINARY},
    {"image/png", true, EVENT_BINARY},
    {"text/plain", false, EVENT_MODE_NONE},
    {"application/cloudevents+json", false, EVENT_STRUCTURED},
    {"Application/CloudEvents+JSON; charset=utf-8", true, EVENT_STRUCTURED},
    {"application/cloudevents-batch+json", false, EVENT_BATCHED},
    {"application/cloudevents-batch+json;charset=utf-8", true, EVENT_BATCHED},
    {"application/cloudevents+avro", false, EVENT_MODE_NONE},
    {"application/cloudevents-batch+avro", true, EVENT_MODE_NONE},
    {"application/cloudevents", true, EVENT_MODE_NONE},
};

START_TEST(the_mode_follows_from_the_type)
{
    ck_assert_int_eq(cloud_event_mode(modes[_i].type, modes[_i].headers), modes[_i].mode);
}
END_TEST

START_TEST(types_of_json_are_known)
{
    static const char *const json[] = {NULL, "application/json", "text/JSON; charset=utf-8",
                                       "application/vnd.x+json"};
    static const char *const others[] = {"",           "json",    "application/json5",
                                         "text/plain", "a/+json", "application/xml"};
    for (size_t i = 0; i < COUNT_OF(json); i++)
        ck_assert_msg(cloud_event_is_json(json[i]), "%zu", i);
    for (size_t i = 0; i < COUNT_OF(others); i++)
        ck_assert_msg(!cloud_event_is_json(others[i]), "%s", others[i]);
}
END_TEST

static const struct {
    const char *json;
    const char *field;
} bad[] = {
    {"[]", ""},
    {"\"x\"", ""},
    {"{}", "specversion"},
    {"{\"specversion\":\"1.0\",\"source\":\"/ci\",\"type\":\"x\"}", "id"},
    {"{\"specversion\":\"1.0\",\"id\":\"1\",\"type\":\"x\"}", "source"},
    {"{\"specversion\":\"1.0\",\"id\":\"1\",\"source\":\"/ci\"}", "type"},
    {"{\"specversion\":\"0.3\",\"id\":\"1\",\"source\":\"/ci\",\"type\":\"x\"}", "specversion"},
    {"{\"specversion\":1.0,\"id\":\"1\",\"source\":\"/ci\",\"type\":\"x\"}", "specversion"},
    {"{\"specversion\":\"1.0\",\"id\":\"\",\"source\":\"/ci\",\"type\":\"x\"}", "id"},
    {"{\"specversion\":\"1.0\",\"id\":1,\"source\":\"/ci\",\"type\":\"x\"}", "id"},
    {"{\"specversion\":\"1.0\",\"id\":\"a\\nb\",\"source\":\"/ci\",\"type\":\"x\"}", "id"},
    {"{\"specversion\":\"1.0\",\"id\":\"1\",\"source\":\"a b\",\"type\":\"x\"}", "source"},
    {"{\"specversion\":\"1.0\",\"id\":\"1\",\"source\":\"/ci\",\"type\":\"a b\"}", "type"},
    {"{\"specversion\":\"1.0\",\"id\":\"1\",\"source\":\"/ci\",\"type\":\".x\"}", "type"},
    {"{\"specversion\":\"1.0\",\"id\":\"1\",\"source\":\"/ci\",\"type\":\"a.*\"}", "type"},
    {"{\"specversion\":\"1.0\",\"id\":\"1\",\"source\":\"/ci\",\"type\":\"a\\nevent: b\"}", "type"},
    {HEAD ",\"time\":\"yesterday\"}", "time"},
    {HEAD ",\"subject\":\"\"}", "subject"},
    {HEAD ",\"subject\":{}}", "subject"},
    {HEAD ",\"traceparent\":\"00-1-2-01\"}", "traceparent"},
    {HEAD ",\"taskid\":\"7\"}", "taskid"},
    {HEAD ",\"runid\":7}", "runid"},
    {HEAD ",\"taskId\":\"" TASK "\"}", "taskId"},
    {HEAD ",\"data_base64\":\"AA=\"}", "data_base64"},
    {HEAD ",\"data_base64\":\"A===\"}", "data_base64"},
    {HEAD ",\"data_base64\":\"A-_=\"}", "data_base64"},
    {HEAD ",\"data_base64\":{}}", "data_base64"},
    {HEAD ",\"data\":1,\"data_base64\":\"AA==\"}", "data_base64"},
    {HEAD ",\"data_base64\":\"AA==\",\"data\":1}", "data"},
    {HEAD ",\"my-ext\":\"1\"}", "my-ext"},
    {HEAD ",\"abcdefghijklmnopqrstu\":\"1\"}", "abcdefghijklmnopqrstu"},
    {HEAD ",\"ext\":1.5}", "ext"},
    {HEAD ",\"ext\":2147483648}", "ext"},
    {HEAD ",\"ext\":[]}", "ext"},
    {HEAD ",\"ext\":\"a\\tb\"}", "ext"},
    {HEAD ",\"logseq\":1}", "logseq"},
    {HEAD ",\"actorid\":\"admin\"}", "actorid"},
    {HEAD ",\"sequence\":\"1\"}", "sequence"},
};

START_TEST(what_does_not_fit_is_named)
{
    enum rc rc = decode(bad[_i].json);
    ck_assert_msg(rc == RC_INVALID, "%s: %s", bad[_i].json, err.text);
    ck_assert_msg(strcmp(err.field, bad[_i].field) == 0, "%s: %s", bad[_i].json, err.field);
}
END_TEST

static const char *repeated(char c, size_t count)
{
    char *text = arena_alloc(&arena, count + 1);
    memset(text, c, count);
    return text;
}

/* Each with a text of so many bytes: the most that fits, and one more that does not. */
static const struct {
    const char *before, *after;
    size_t max;
} limits[] = {
    {"{\"specversion\":\"1.0\",\"source\":\"/ci\",\"type\":\"x\",\"id\":\"", "\"}",
     CLOUD_EVENT_NAME_MAX},
    {"{\"specversion\":\"1.0\",\"id\":\"1\",\"type\":\"x\",\"source\":\"", "\"}",
     CLOUD_EVENT_NAME_MAX},
    {"{\"specversion\":\"1.0\",\"id\":\"1\",\"source\":\"/ci\",\"type\":\"", "\"}", EVENT_TYPE_MAX},
    {HEAD ",\"subject\":\"", "\"}", CLOUD_EVENT_TEXT_MAX},
    {HEAD ",\"ext\":\"", "\"}", CLOUD_EVENT_TEXT_MAX},
    {HEAD ",\"data\":\"", "\"}", CLOUD_EVENT_DATA_MAX - 2},
};

START_TEST(lengths_have_limits)
{
    for (size_t more = 0; more < 2; more++) {
        const char *json = arena_printf(&arena, "%s%s%s", limits[_i].before,
                                        repeated('x', limits[_i].max + more), limits[_i].after);
        ck_assert_msg(decode(json) == (more == 0 ? RC_OK : RC_INVALID), "%s %zu: %s",
                      limits[_i].before, more, err.text);
    }
}
END_TEST

START_TEST(extensions_are_limited_in_number)
{
    const char *json = HEAD;
    for (int i = 0; i < CLOUD_EVENT_EXTENSIONS_MAX; i++)
        json = arena_printf(&arena, "%s,\"abcdefghijklmnopqr%02d\":\"%s\"", json, i,
                            repeated('"' + 1, CLOUD_EVENT_TEXT_MAX));
    ck_assert_msg(decode(arena_printf(&arena, "%s}", json)) == RC_OK, "%s", err.text);
    ck_assert_int_eq(decode(arena_printf(&arena, "%s,\"more\":1}", json)), RC_INVALID);
}
END_TEST

/* The longest attributes that there can be, each byte of which is escaped. */
START_TEST(escaped_attributes_fit)
{
    const char *json = HEAD, *quotes = "";
    for (int i = 0; i < CLOUD_EVENT_TEXT_MAX; i++)
        quotes = arena_printf(&arena, "%s\\\"", quotes);
    for (int i = 0; i < CLOUD_EVENT_EXTENSIONS_MAX; i++)
        json = arena_printf(&arena, "%s,\"abcdefghijklmnopqr%02d\":\"%s\"", json, i, quotes);
    ck_assert_msg(decode(arena_printf(&arena, "%s}", json)) == RC_OK, "%s", err.text);
    ck_assert_uint_gt(event.attributes.len, 2 * CLOUD_EVENT_EXTENSIONS_MAX * CLOUD_EVENT_TEXT_MAX);
}
END_TEST

static const char *const forged_types[] = {
    "agent.run.completed",    "agent",    "Agent.Run", "AGENT.x",
    "conductor.task.created", "drover.x", "DROVER"};
static const char *const free_types[] = {"agents.run", "com.agent.run", "my-agent.x", "droverx"};

static enum rc decode_type(const char *type)
{
    return decode(arena_printf(
        &arena, "{\"specversion\":\"1.0\",\"id\":\"7\",\"source\":\"/ci\",\"type\":\"%s\"}", type));
}

START_TEST(types_of_the_server_cannot_be_forged)
{
    for (size_t i = 0; i < COUNT_OF(forged_types); i++) {
        ck_assert_msg(decode_type(forged_types[i]) == RC_DENIED, "%s", forged_types[i]);
        ck_assert_str_eq(err.code, "EVENT_RESERVED");
    }
    for (size_t i = 0; i < COUNT_OF(free_types); i++)
        ck_assert_msg(decode_type(free_types[i]) == RC_OK, "%s", free_types[i]);
}
END_TEST

/* Every type that there is or will be, but for those of issues, which tokens may write. */
START_TEST(the_whole_catalogue_is_reserved)
{
    size_t i = 0;
    const struct event_type *entry;
    for (; (entry = event_type_at(i)) != NULL; i++)
        ck_assert_msg((decode_type(entry->type) == RC_OK) ==
                          text_starts(entry->type, CLOUD_EVENT_ISSUES),
                      "%s", entry->type);
    ck_assert_uint_gt(i, 100);
}
END_TEST

START_TEST(the_source_of_the_server_cannot_be_forged)
{
    const char
        *forged = "{\"specversion\":\"1.0\",\"id\":\"7\",\"source\":\"drover\",\"type\":\"x\"}";
    ck_assert_int_eq(decode(forged), RC_DENIED);
    ck_assert_str_eq(err.field, "source");
}
END_TEST

Suite *cloud_event_suite(void)
{
    Suite *suite = suite_create("cloud_event");
    TCase *tests = tcase_create("cloud_event");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, the_least_is_four_attributes);
    tcase_add_test(tests, tags_are_split_and_no_extension);
    tcase_add_test(tests, all_of_it_is_read);
    tcase_add_loop_test(tests, data_may_be_any_json, 0, (int)COUNT_OF(data));
    tcase_add_loop_test(tests, what_does_not_fit_is_named, 0, (int)COUNT_OF(bad));
    tcase_add_loop_test(tests, lengths_have_limits, 0, (int)COUNT_OF(limits));
    tcase_add_test(tests, extensions_are_limited_in_number);
    tcase_add_test(tests, escaped_attributes_fit);
    tcase_add_test(tests, types_of_the_server_cannot_be_forged);
    tcase_add_test(tests, the_whole_catalogue_is_reserved);
    tcase_add_test(tests, bytes_come_in_base64_and_go_out_so);
    tcase_add_loop_test(tests, the_mode_follows_from_the_type, 0, COUNT_OF(modes));
    tcase_add_test(tests, types_of_json_are_known);
    tcase_add_test(tests, the_source_of_the_server_cannot_be_forged);
    suite_add_tcase(suite, tests);
    return suite;
}
