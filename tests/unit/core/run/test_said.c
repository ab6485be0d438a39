/*
 * test_said.c - what people have said, as an agent reads it.
 */
#include "base/rc.h"
#include "core/run/said.h"
#include "tests/unit/suites.h"
#include <string.h>

static const struct {
    const char *assignment, *want;
} texts[] = {
    {"{}", ""},
    {"{\"messages\":[],\"answers\":[]}", ""},
    {"{\"messages\":[{\"seq\":1,\"author\":\"ada\",\"text\":\"Use UTC.\\nEverywhere.\"},"
     "{\"seq\":2,\"author\":\"bob\",\"text\":\"# Not a heading\"}]}",
     "\n## Messages from people\n\nThe people you work for have sent you this. It is part of the "
     "task; where it differs from the rest, it counts more.\n\nada writes:\n\n> Use UTC.\n"
     "> Everywhere.\n\nbob writes:\n\n> # Not a heading\n"},
    {"{\"answers\":[{\"question\":\"Which clock?\",\"answer\":\"wall\",\"answeredBy\":\"ada\"},"
     "{\"question\":\"And now?\",\"answer\":\"go\",\"answeredBy\":null},"
     "{\"question\":\"Why?\",\"answer\":null,\"answeredBy\":null}]}",
     "\n## Answers to your questions\n\nYou asked:\n\n> Which clock?\n\nada answered:\n\n> wall\n"
     "\nYou asked:\n\n> And now?\n\nThere was no answer in time, so your default counts:\n\n> go\n"
     "\nYou asked:\n\n> Why?\n\nThere was no answer in time: decide for yourself.\n"},
};

START_TEST(answers_and_messages_are_quoted)
{
    CLEANUP(buf_release) struct buf text;
    CLEANUP(js_freep) struct js *tree = NULL;
    const char *assignment = texts[_i].assignment;
    buf_init(&text, SAID_BYTES_MAX);
    ck_assert_int_eq(js_parse(assignment, strlen(assignment), &tree, NULL), RC_OK);
    said_write(tree, &text);
    ck_assert_str_eq(buf_text(&text), texts[_i].want);
}
END_TEST

Suite *said_suite(void)
{
    Suite *suite = suite_create("said");
    TCase *tc = tcase_create("said");
    tcase_add_loop_test(tc, answers_and_messages_are_quoted, 0, (int)COUNT_OF(texts));
    suite_add_tcase(suite, tc);
    return suite;
}
