/*
 * test_cli_assign.c - words over a document.
 */
#include "base/str.h"
#include "cli/assign.h"
#include "tests/unit/suites.h"
#include <string.h>

enum { WORDS_MAX = 3 };

static const struct {
    const char *document;
    const char *words[WORDS_MAX + 1];
    const char *becomes;
} table[] = {
    {"{}", {"maxLength=10"}, "{\"maxLength\":10}"},
    {"{}", {"ordering=key"}, "{\"ordering\":\"key\"}"},
    {"{}", {"a=true", "b=\"7\"", "c=1.5"}, "{\"a\":true,\"b\":\"7\",\"c\":1.5}"},
    {"{}", {"backoff.baseMs=500"}, "{\"backoff\":{\"baseMs\":500}}"},
    {"{\"backoff\":{\"maxMs\":9}}",
     {"backoff.baseMs=5"},
     "{\"backoff\":{\"maxMs\":9,\"baseMs\":5}}"},
    {"{\"a\":1,\"b\":2}", {"a="}, "{\"b\":2}"},
    {"{\"a\":1,\"b\":2}", {"a=3"}, "{\"a\":3,\"b\":2}"},
    {"{\"a\":{\"x\":1,\"y\":2}}", {"a.x="}, "{\"a\":{\"y\":2}}"},
    {"{\"a\":{\"x\":1}}", {"a.x="}, "{}"},
    {"{\"a\":{\"x\":1}}", {"a="}, "{}"},
    {"{}", {"a.x="}, "{}"},
    {"{\"a\":5}", {"a.x=1"}, "{\"a\":{\"x\":1}}"},
    {"{}", {"a.b.c=1", "a.b.d=2"}, "{\"a\":{\"b\":{\"c\":1,\"d\":2}}}"},
    {"{}", {"a=1", "a=2", "a="}, "{}"},
    {"{}", {"scale={\"min\":1}"}, "{\"scale\":{\"min\":1}}"},
    {"{}", {"text=a=b"}, "{\"text\":\"a=b\"}"},
};

START_TEST(words_are_laid_over_a_document)
{
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(js_freep) struct js *document = NULL;
    const char *text = NULL;
    size_t count = 0;
    ck_assert_int_eq(js_parse(table[_i].document, strlen(table[_i].document), &document, NULL),
                     RC_OK);
    while (table[_i].words[count] != NULL)
        count++;
    ck_assert_int_eq(cli_assign(document, table[_i].words, count, &arena, &text, NULL), RC_OK);
    ck_assert_str_eq(text, table[_i].becomes);
}
END_TEST

START_TEST(a_word_that_assigns_nothing_is_refused)
{
    static const char *const bad[] = {
        "a", "", "=1", ".a=1", "a.=1", "a..b=1", "a b=1", "ä=1", "a.b.c.d.e.f.g.h.i=1"};
    CLEANUP(arena_release) struct arena arena = {0};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct err err = {0};
        const char *text = NULL;
        ck_assert_int_eq(cli_assign(NULL, &bad[i], 1, &arena, &text, &err), RC_MALFORMED);
        ck_assert_str_eq(err.code, "INVALID_ASSIGNMENT");
        ck_assert_ptr_null(text);
    }
}
END_TEST

Suite *cli_assign_suite(void)
{
    Suite *suite = suite_create("cli_assign");
    TCase *tests = tcase_create("words");
    tcase_add_loop_test(tests, words_are_laid_over_a_document, 0, (int)COUNT_OF(table));
    tcase_add_test(tests, a_word_that_assigns_nothing_is_refused);
    suite_add_tcase(suite, tests);
    return suite;
}
