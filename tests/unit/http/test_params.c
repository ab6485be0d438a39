/* test_params.c - queries of URLs, read by name; and the cursors that travel in them. */
#include "api/cursor.h"
#include "http/params.h"
#include "tests/unit/suites.h"
#include <string.h>

static struct arena arena;

static void empty(void)
{
    arena_release(&arena);
}

static const struct {
    const char *text;
    const char *decoded; /* NULL: refused */
} escapes[] = {
    {"", ""},         {"abc", "abc"},         {"a%2Fb", "a/b"}, {"a%2fb", "a/b"},
    {"a+b", "a b"},   {"%C3%A9", "\xc3\xa9"}, {"%", NULL},      {"%2", NULL},
    {"a%2", NULL},    {"%zz", NULL},          {"%00", NULL},    {"%ff", NULL},
    {"%41%42", "AB"}, {"%%", NULL},           {"%+1", NULL},    {"%C3", NULL},
};

START_TEST(escapes_are_decoded_or_refused)
{
    for (size_t i = 0; i < COUNT_OF(escapes); i++) {
        const char *decoded = NULL;
        bool good = url_decode(str_of(escapes[i].text), true, &arena, &decoded);
        ck_assert_msg(good == (escapes[i].decoded != NULL), "%s", escapes[i].text);
        if (good)
            ck_assert_str_eq(decoded, escapes[i].decoded);
    }
    const char *decoded = NULL;
    ck_assert(url_decode(STR("a+b"), false, &arena, &decoded));
    ck_assert_str_eq(decoded, "a+b");
}
END_TEST

static enum rc parse(const char *text, struct params *params, struct err *err)
{
    enum rc rc = params_parse(str_of(text), &arena, params, err);
    if (rc == RC_OK)
        params_begin(params, err);
    return rc;
}

START_TEST(values_are_read_by_name)
{
    struct params params;
    struct err err = {0};
    const char *name = "default", *none = "default";
    int64_t limit = 50, since = 0;
    struct id id = {0};
    ck_assert_int_eq(parse("name=a%26b&limit=7&&since=2026-01-01T00:00:00Z&id="
                           "01A1E111-4117-786E-86F3-EE82E849C024",
                           &params, &err),
                     RC_OK);
    params_text(&params, "name", 10, &name);
    params_text(&params, "none", 10, &none);
    params_int(&params, "limit", &(struct param_range){1, 200}, &limit);
    params_time(&params, "since", &since);
    params_id(&params, "id", &id);
    ck_assert_int_eq(params_end(&params), RC_OK);
    ck_assert_str_eq(name, "a&b");
    ck_assert_str_eq(none, "default");
    ck_assert_int_eq(limit, 7);
    ck_assert_int_gt(since, 0);
    ck_assert_str_eq(id.text, "01a1e111-4117-786e-86f3-ee82e849c024");
}
END_TEST

static const struct {
    const char *text, *code, *field;
} mistakes[] = {
    {"frob=1", "UNKNOWN_PARAMETER", "frob"},
    {"limit=0", "INVALID_PARAMETER", "limit"},
    {"limit=201", "INVALID_PARAMETER", "limit"},
    {"limit=", "INVALID_PARAMETER", "limit"},
    {"limit", "INVALID_PARAMETER", "limit"},
    {"limit=1x", "INVALID_PARAMETER", "limit"},
    {"limit=99999999999999999999", "INVALID_PARAMETER", "limit"},
    {"name=", "INVALID_PARAMETER", "name"},
    {"name=12345678901", "INVALID_PARAMETER", "name"},
    {"id=1", "INVALID_PARAMETER", "id"},
    {"since=yesterday", "INVALID_PARAMETER", "since"},
    {"limit=1&limit=1", "REPEATED_PARAMETER", "limit"},
    {"limit=%zz", "MALFORMED_QUERY", ""},
    {"a=&b=&c=&d=&e=&f=&g=&h=&i=&j=&k=&l=&m=&n=&o=&p=&q=", "TOO_MANY_PARAMETERS", ""},
};

START_TEST(mistakes_are_refused_by_name)
{
    for (size_t i = 0; i < COUNT_OF(mistakes); i++) {
        struct params params;
        struct err err = {0};
        const char *name = NULL;
        int64_t number = 0;
        struct id id = {0};
        enum rc rc = parse(mistakes[i].text, &params, &err);
        if (rc == RC_OK) {
            params_text(&params, "name", 10, &name);
            params_int(&params, "limit", &(struct param_range){1, 200}, &number);
            params_time(&params, "since", &number);
            params_id(&params, "id", &id);
            rc = params_end(&params);
        }
        ck_assert_msg(rc == RC_MALFORMED, "%s", mistakes[i].text);
        ck_assert_str_eq(err.code, mistakes[i].code);
        ck_assert_str_eq(err.field, mistakes[i].field);
    }
}
END_TEST

START_TEST(the_first_mistake_wins)
{
    struct params params;
    struct err err = {0};
    int64_t limit = 50;
    ck_assert_int_eq(parse("limit=x&frob=1", &params, &err), RC_OK);
    params_int(&params, "limit", &(struct param_range){1, 200}, &limit);
    params_fail(&params, "frob", "not reached");
    ck_assert_int_eq(params_end(&params), RC_MALFORMED);
    ck_assert_str_eq(err.field, "limit");
    ck_assert_int_eq(limit, 50);
}
END_TEST

START_TEST(a_cursor_comes_back_as_it_went)
{
    char key[CURSOR_KEY_MAX + 1] = "";
    for (size_t len = 1; len <= CURSOR_KEY_MAX; len++) {
        key[len - 1] = (char)('!' + len % 90);
        const char *text = cursor_encode(CURSOR_NAME, key, &arena), *back = NULL;
        ck_assert_uint_lt(strlen(text), CURSOR_TEXT_MAX);
        ck_assert(cursor_decode(CURSOR_NAME, text, &arena, &back));
        ck_assert_str_eq(back, key);
    }
}
END_TEST

START_TEST(a_cursor_of_another_kind_or_make_is_refused)
{
    const char *good = cursor_encode(CURSOR_ID, "key", &arena), *back = NULL;
    ck_assert(!cursor_decode(CURSOR_SEQ, good, &arena, &back));
    const char *const bad[] = {"", "a", "aQ", "!!!!", "aWtl=", "aWtle", "aWtl\n", "aWtleR"};
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        ck_assert_msg(!cursor_decode(CURSOR_ID, bad[i], &arena, &back), "%s", bad[i]);
    char large[2 * CURSOR_TEXT_MAX];
    memset(large, 'a', sizeof large - 1);
    large[sizeof large - 1] = '\0';
    ck_assert(!cursor_decode(CURSOR_ID, large, &arena, &back));
    ck_assert_ptr_null(back);
}
END_TEST

Suite *params_suite(void)
{
    Suite *suite = suite_create("params");
    TCase *tests = tcase_create("params");
    tcase_add_checked_fixture(tests, NULL, empty);
    tcase_add_test(tests, escapes_are_decoded_or_refused);
    tcase_add_test(tests, values_are_read_by_name);
    tcase_add_test(tests, mistakes_are_refused_by_name);
    tcase_add_test(tests, the_first_mistake_wins);
    tcase_add_test(tests, a_cursor_comes_back_as_it_went);
    tcase_add_test(tests, a_cursor_of_another_kind_or_make_is_refused);
    suite_add_tcase(suite, tests);
    return suite;
}
