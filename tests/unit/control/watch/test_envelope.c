/*
 * test_envelope.c - what an envelope says of its event, and which events cannot be sent.
 */
#include "base/js.h"
#include "control/watch/envelope.h"
#include "core/event_types.h"
#include "tests/unit/suites.h"
#include <string.h>

static struct event an_event(void)
{
    return (struct event){.seq = 7,
                          .id = id_of("01890000-0000-7000-8000-000000000001"),
                          .type = EV_RUN_FAILED,
                          .version = 1,
                          .task_id = id_of("01890000-0000-7000-8000-000000000002"),
                          .run_id = id_of("01890000-0000-7000-8000-000000000003"),
                          .correlation_id = id_of("01890000-0000-7000-8000-000000000002"),
                          .time_us = 1000000,
                          .actor = {"worker", "w-1"},
                          .tags = "repository:acme/web,urgent",
                          .data = STR("{\"a\":[1,2]}")};
}

START_TEST(an_envelope_has_what_filters_and_streams_need)
{
    struct event event = an_event();
    const char *why = NULL;
    CLEANUP(js_freep) struct js *tree = NULL;
    struct envelope *envelope = envelope_new(&event, &why);
    ck_assert_ptr_nonnull(envelope);
    ck_assert_str_eq(envelope->id.text, event.id.text);
    ck_assert_str_eq(envelope->traits.type, EV_RUN_FAILED);
    ck_assert_str_eq(envelope->traits.tags, event.tags);
    ck_assert_int_eq(envelope->traits.severity, SEVERITY_ERROR);
    ck_assert_str_eq(envelope->correlation_id.text, event.correlation_id.text);
    ck_assert_str_eq(envelope->actor.type, "worker");
    ck_assert_str_eq(envelope->actor.id, "w-1");
    ck_assert_int_eq(envelope->time_us, 1000000);
    ck_assert_str_eq(event_type_at(envelope->type_index)->type, EV_RUN_FAILED);
    ck_assert(str_is(envelope->data, "{\"a\":[1,2]}"));
    ck_assert_int_eq(js_parse(envelope->json.at, envelope->json.len, &tree, NULL), RC_OK);
    ck_assert_str_eq(js_get_str(tree, "severity", ""), "error");
    ck_assert_str_eq(js_get_str(tree, "tags", ""), event.tags);
    static const char begin[] = "id: 7\nevent: agent.run.failed\ndata: {";
    ck_assert_int_eq(strncmp(envelope->frame.at, begin, strlen(begin)), 0);
    ck_assert_int_eq(memcmp(envelope->frame.at + envelope->frame.len - 3, "}\n\n", 3), 0);
    envelope_unref(envelope);
}
END_TEST

START_TEST(a_type_that_is_not_in_the_table_is_another)
{
    struct event event = an_event();
    const char *why = NULL;
    event.type = "com.example.built";
    event.source = "https://ci.example";
    event.source_id = "1";
    event.attributes = STR("{\"severity\":\"WARN\"}");
    struct envelope *envelope = envelope_new(&event, &why);
    ck_assert_uint_eq(envelope->type_index, EVENT_TYPE_COUNT);
    ck_assert_int_eq(envelope->traits.severity, SEVERITY_WARNING);
    envelope_unref(envelope);
}
END_TEST

static const struct {
    const char *type, *data, *why;
} poison[] = {
    {EV_RUN_FAILED, "{\"a\":", "not JSON"},
    {EV_RUN_FAILED, "{} trailing", "not JSON"},
    {EV_RUN_FAILED, "{\"a\":\n1}", "more than one line"},
    {"agent.run\nfailed", "{}", "control characters"},
};

START_TEST(an_event_that_would_break_a_stream_has_no_envelope)
{
    struct event event = an_event();
    const char *why = NULL;
    event.type = poison[_i].type;
    event.data = str_of(poison[_i].data);
    ck_assert_ptr_null(envelope_new(&event, &why));
    ck_assert_ptr_nonnull(strstr(why, poison[_i].why));
}
END_TEST

START_TEST(an_event_that_is_too_large_has_no_envelope)
{
    struct event event = an_event();
    const char *why = NULL;
    CLEANUP(buf_release) struct buf data;
    buf_init(&data, 4 * ENVELOPE_BYTES_MAX);
    buf_adds(&data, "{\"x\":\"");
    for (size_t i = 0; i < ENVELOPE_BYTES_MAX; i++)
        buf_addc(&data, 'x');
    buf_adds(&data, "\"}");
    event.data = buf_str(&data);
    ck_assert_ptr_null(envelope_new(&event, &why));
    ck_assert_str_eq(why, "it is too large");
}
END_TEST

Suite *envelope_suite(void)
{
    Suite *suite = suite_create("envelope");
    TCase *tc = tcase_create("envelope");
    tcase_add_test(tc, an_envelope_has_what_filters_and_streams_need);
    tcase_add_test(tc, a_type_that_is_not_in_the_table_is_another);
    tcase_add_loop_test(tc, an_event_that_would_break_a_stream_has_no_envelope, 0,
                        (int)COUNT_OF(poison));
    tcase_add_test(tc, an_event_that_is_too_large_has_no_envelope);
    suite_add_tcase(suite, tc);
    return suite;
}
