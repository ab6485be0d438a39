/*
 * test_question_spec.c - which questions of agents are well formed.
 */
#include "base/str.h"
#include "core/run/question_spec.h"
#include "tests/unit/suites.h"
#include <string.h>

static struct arena arena;

static void teardown(void)
{
    arena_release(&arena);
}

static enum rc decode(const char *text, struct question_spec *ret_spec, struct js **ret_tree,
                      struct err *err)
{
    ck_assert_int_eq(js_parse(text, strlen(text), ret_tree, NULL), RC_OK);
    return question_spec_decode(*ret_tree, "", ret_spec, err);
}

static const struct {
    const char *text;
    const char *field; /* NULL: it is well formed. */
} specs[] = {
    {"{\"text\":\"Go?\"}", NULL},
    {"{\"text\":\"Go?\\nOr\\tstay?\",\"timeoutMs\":1000}", NULL},
    {"{\"text\":\"Go?\",\"default\":\"anything\"}", NULL},
    {"{\"text\":\"Go?\",\"options\":[\"a\",\"b\"],\"default\":\"b\"}", NULL},
    {"{\"text\":\"Go?\",\"options\":[]}", NULL},
    {"{}", "text"},
    {"{\"text\":\" \\n\"}", "text"},
    {"{\"text\":\"\\u001b[2J\"}", "text"},
    {"{\"text\":\"\\u009b2J\"}", "text"},
    {"{\"text\":1}", "text"},
    {"{\"text\":\"Go?\",\"options\":\"a\"}", "options"},
    {"{\"text\":\"Go?\",\"options\":[\"\"]}", "options"},
    {"{\"text\":\"Go?\",\"options\":[\"a\\nb\"]}", "options"},
    {"{\"text\":\"Go?\",\"options\":[\"a\",\"a\"]}", "options"},
    {"{\"text\":\"Go?\",\"options\":[\"1\",\"2\",\"3\",\"4\",\"5\",\"6\",\"7\",\"8\",\"9\",\"10\","
     "\"11\"]}",
     "options"},
    {"{\"text\":\"Go?\",\"options\":[\"a\"],\"default\":\"b\"}", "default"},
    {"{\"text\":\"Go?\",\"timeoutMs\":999}", "timeoutMs"},
    {"{\"text\":\"Go?\",\"timeout\":1000}", "timeout"},
};

START_TEST(what_is_malformed_is_refused_by_name)
{
    CLEANUP(js_freep) struct js *tree = NULL;
    struct question_spec spec;
    struct err err = {0};
    enum rc rc = decode(specs[_i].text, &spec, &tree, &err);
    ck_assert_int_eq(rc, specs[_i].field == NULL ? RC_OK : RC_INVALID);
    if (specs[_i].field != NULL)
        ck_assert_msg(text_starts(err.field, specs[_i].field), "%s", err.field);
}
END_TEST

START_TEST(a_spec_is_written_as_it_was_read)
{
    static const char text[] =
        "{\"text\":\"Go?\",\"options\":[\"a\",\"b\"],\"default\":\"b\",\"timeoutMs\":5000}";
    CLEANUP(js_freep) struct js *tree = NULL;
    CLEANUP(buf_release) struct buf written;
    struct question_spec spec;
    buf_init(&written, 1024);
    ck_assert_int_eq(decode(text, &spec, &tree, NULL), RC_OK);
    struct jw jw = jw_to(&written);
    question_spec_write(&jw, &spec);
    ck_assert_str_eq(buf_text(&written), text);
    ck_assert(str_is(question_spec_options(&spec, &arena), "[\"a\",\"b\"]"));
    spec.option_count = 0;
    ck_assert_uint_eq(question_spec_options(&spec, &arena).len, 0);
}
END_TEST

Suite *question_spec_suite(void)
{
    Suite *suite = suite_create("question_spec");
    TCase *tc = tcase_create("question_spec");
    tcase_add_checked_fixture(tc, NULL, teardown);
    tcase_add_loop_test(tc, what_is_malformed_is_refused_by_name, 0, (int)COUNT_OF(specs));
    tcase_add_test(tc, a_spec_is_written_as_it_was_read);
    suite_add_tcase(suite, tc);
    return suite;
}
