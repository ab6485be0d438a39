/*
 * test_said.c - messages and answers as a part of the prompt.
 */
#include "core/run/said.h"
#include "tests/unit/suites.h"
#include <string.h>

static const struct {
    const char *payload, *want;
} cases[] = {
    {"{}", ""},
    {"{\"messages\":[],\"answers\":[]}", ""},
    {"{\"messages\":[{\"seq\":1,\"author\":\"ada\",\"text\":\"Use tabs.\"},"
     "{\"seq\":2,\"author\":\"bob\",\"text\":\"No, spaces.\"}]}",
     "\n## Messages\n\nPeople have written to you about this task. Where a message contradicts "
     "what stands above, the message counts.\n\n### By ada\n\nUse tabs.\n\n### By bob\n\nNo, "
     "spaces.\n"},
    {"{\"answers\":[{\"question\":\"Which port?\",\"answer\":\"80\",\"answeredBy\":\"ada\"},"
     "{\"question\":\"Why?\",\"answer\":null}]}",
     "\n## Answers\n\nWhat came of the questions that were asked during this task:\n\n- Question: "
     "Which port?\n  Answer of ada: 80\n\n- Question: Why?\n  There was no answer in time: decide "
     "for yourself.\n"},
    {"{\"messages\":7,\"answers\":\"x\"}", ""},
};

START_TEST(what_people_said_ends_the_prompt)
{
    CLEANUP(buf_release) struct buf text;
    CLEANUP(js_freep) struct js *payload = NULL;
    buf_init(&text, SAID_BYTES_MAX);
    ck_assert_int_eq(js_parse(cases[_i].payload, strlen(cases[_i].payload), &payload, NULL), RC_OK);
    said_write(payload, &text);
    ck_assert_str_eq(buf_text(&text), cases[_i].want);
}
END_TEST

Suite *said_suite(void)
{
    Suite *suite = suite_create("said");
    TCase *tests = tcase_create("said");
    tcase_add_loop_test(tests, what_people_said_ends_the_prompt, 0, (int)COUNT_OF(cases));
    suite_add_tcase(suite, tests);
    return suite;
}
