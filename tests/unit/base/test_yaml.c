/* test_yaml.c - YAML into the tree of JSON. */
#include "base/random.h"
#include "base/yaml.h"
#include "tests/unit/suites.h"
#include <string.h>

static struct err err;

static enum rc parse(const char *text, struct js **ret_tree)
{
    err_clear(&err);
    return yaml_parse(text, strlen(text), ret_tree, &err);
}

START_TEST(documents_become_the_same_tree_as_json)
{
    static const struct {
        const char *yaml, *json;
    } rows[] = {
        {"url: /srv/x.git\nforge: local\n", "{\"url\":\"/srv/x.git\",\"forge\":\"local\"}"},
        {"agent: {compute: process, command: [./a.sh, x], network: false}\n",
         "{\"agent\":{\"compute\":\"process\",\"command\":[\"./a.sh\",\"x\"],\"network\":false}}"},
        {"verify:\n  - name: unit\n    command: make test\n  - name: lint\n",
         "{\"verify\":[{\"name\":\"unit\",\"command\":\"make test\"},{\"name\":\"lint\"}]}"},
        {"- 1\n- - 2\n  - 3\n", "[1,[2,3]]"},
        {"a: |\n  line 1\n  line 2\nb: >\n  one\n  two\n",
         "{\"a\":\"line 1\\nline 2\\n\",\"b\":\"one two\\n\"}"},
        {"# a comment\n---\na: 1 # another\n...\n", "{\"a\":1}"},
        {"%YAML 1.1\n---\na: 1\n", "{\"a\":1}"},
        {"a:\nb: ~\nc: null\n", "{\"a\":null,\"b\":null,\"c\":null}"},
        {"steps: []\nmap: {}\n", "{\"steps\":[],\"map\":{}}"},
        {"just text", "\"just text\""},
        {"---\n", "null"},
        {"\xef\xbb\xbf"
         "a: 1\n",
         "{\"a\":1}"},
        {"name: caf\xc3\xa9\n", "{\"name\":\"caf\xc3\xa9\"}"},
        {"1: x\ntrue: y\n", "{\"1\":\"x\",\"true\":\"y\"}"},
        {"<<: {a: 1}\n", "{\"<<\":{\"a\":1}}"},
        {"{\"a\": [1, 2.5, \"x\"],}", "{\"a\":[1,2.5,\"x\"]}"},
    };
    struct arena arena = {0};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        CLEANUP(js_freep) struct js *tree = NULL;
        ck_assert_msg(parse(rows[i].yaml, &tree) == RC_OK, "row %zu: %s", i, err.text);
        ck_assert_str_eq(js_text(tree, &arena), rows[i].json);
    }
    arena_release(&arena);
}
END_TEST

START_TEST(plain_scalars_follow_the_core_schema)
{
    static const struct {
        const char *yaml, *json;
    } rows[] = {
        {"~", "null"},
        {"Null", "null"},
        {"nUll", "\"nUll\""},
        {"true", "true"},
        {"TRUE", "true"},
        {"False", "false"},
        {"yes", "\"yes\""},
        {"off", "\"off\""},
        {"0", "0"},
        {"-17", "-17"},
        {"+17", "17"},
        {"007", "7"},
        {"0o17", "15"},
        {"0x1F", "31"},
        {"0x", "\"0x\""},
        {"0o8", "\"0o8\""},
        {"-0x1", "\"-0x1\""},
        {"9223372036854775807", "9223372036854775807"},
        {"-9223372036854775808", "-9223372036854775808"},
        {"1.5", "1.5"},
        {"-.5", "-0.5"},
        {"5.", "5"},
        {"1e3", "1000"},
        {"1.5E-1", "0.15"},
        {"1e", "\"1e\""},
        {"e3", "\"e3\""},
        {".", "\".\""},
        {"-", "[null]"},
        {"+", "\"+\""},
        {"1.2.3", "\"1.2.3\""},
        {"1_000", "\"1_000\""},
        {"12:30", "\"12:30\""},
        {"2026-07-03", "\"2026-07-03\""},
        {".inf", "\".inf\""},
        {"'true'", "\"true\""},
        {"\"17\"", "\"17\""},
        {"'it''s'", "\"it's\""},
        {"\"a\\tb\\x41\\u00e9\"", "\"a\\tbA\xc3\xa9\""},
        {"''", "\"\""},
    };
    struct arena arena = {0};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        CLEANUP(js_freep) struct js *tree = NULL;
        ck_assert_msg(parse(rows[i].yaml, &tree) == RC_OK, "%s: %s", rows[i].yaml, err.text);
        ck_assert_str_eq(js_text(tree, &arena), rows[i].json);
    }
    arena_release(&arena);
}
END_TEST

START_TEST(json_is_yaml)
{
    static const char *const rows[] = {
        "{\"a\":\"\\ud83d\\ude00\"}",
        "{\n\t\"a\":\t1\n}",
        "[\"\\/\"]",
        " \n[]",
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        CLEANUP(js_freep) struct js *tree = NULL;
        ck_assert_msg(parse(rows[i], &tree) == RC_OK, "row %zu: %s", i, err.text);
    }
}
END_TEST

START_TEST(what_is_not_supported_is_refused_with_its_place)
{
    static const struct {
        const char *yaml, *says;
    } rows[] = {
        {"", "the document is empty"},
        {"# only a comment\n", "the document is empty"},
        {"a: 1\nb: 2\na: 3\n", "line 3, column 1: the key is there twice"},
        {"{\"a\":1,\"a\":2}", "line 1, column 8: the key is there twice"},
        {"a: {x: 1, x: 2}", "line 1, column 11: the key is there twice"},
        {"a: &x 1\n", "line 1, column 4: anchors are not supported"},
        {"a: &x [1]\n", "line 1, column 4: anchors are not supported"},
        {"a: &x {b: 1}\n", "anchors are not supported"},
        {"a: *x\n", "line 1, column 4: aliases are not supported"},
        {"*x : 1\n", "aliases are not supported"},
        {"a: !!str 1\n", "line 1, column 4: tags are not supported"},
        {"a: !thing {b: 1}\n", "tags are not supported"},
        {"a: !!seq [1]\n", "tags are not supported"},
        {"a: ! x\n", "tags are not supported"},
        {"[1]: 2\n", "line 1, column 1: a key must be a plain value"},
        {"? {a: 1}\n: 2\n", "a key must be a plain value"},
        {"a: 1\n---\nb: 2\n", "line 2, column 1: only one document is allowed"},
        {"a: [1, 2\n", "line 2, column 1: "},
        {"a: 'x\n", "line 2, column 1: "},
        {"a: b: c\n", "line 1, column 5: "},
        {"a:\n\t- b\n", "line 2, column 1: "},
        {"\n\n  ab\xff", "line 3, column 5: "},
        {"a: \"x\\0y\"\n", "line 1, column 4: the text holds a NUL"},
        {"\"x\\0y\": 1\n", "line 1, column 1: the text holds a NUL"},
        {"a: 9223372036854775808\n", "line 1, column 4: the number is out of range"},
        {"a: -9223372036854775809\n", "the number is out of range"},
        {"a: 0xffffffffffffffff\n", "the number is out of range"},
        {"a: 1e999\n", "the number is out of range"},
        {"@x", "line 1, column 1: "},
        {"%TAG ! x\n---\n!a b\n", ""},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct js *tree = NULL;
        ck_assert_msg(parse(rows[i].yaml, &tree) == RC_MALFORMED, "row %zu", i);
        ck_assert_str_eq(err.code, "INVALID_YAML");
        ck_assert_msg(strstr(err.text, rows[i].says) != NULL, "row %zu: %s", i, err.text);
        ck_assert_ptr_null(tree);
    }
    struct js *tree = NULL;
    ck_assert_int_eq(yaml_parse("a: \0b", 5, &tree, &err), RC_MALFORMED);
    ck_assert_int_eq(yaml_parse(NULL, 0, &tree, NULL), RC_MALFORMED);
}
END_TEST

static void nest(struct buf *text, size_t depth, const char *open)
{
    buf_clear(text);
    for (size_t i = 0; i < depth; i++)
        buf_adds(text, open);
    buf_addc(text, 'x');
}

/* The time limit of the case is asserted as well: libyaml is quadratic in the depth. */
START_TEST(depth_is_allowed_to_the_limit_and_not_beyond)
{
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, 1 << 20);
    CLEANUP(js_freep) struct js *tree = NULL;
    nest(&text, JS_DEPTH_MAX, "- ");
    ck_assert_int_eq(parse(buf_text(&text), &tree), RC_OK);

    static const char *const openers[] = {"- ", "[", "{a: ", "? "};
    for (size_t i = 0; i < COUNT_OF(openers); i++) {
        struct js *deep = NULL;
        nest(&text, JS_DEPTH_MAX + 1, openers[i]);
        ck_assert_int_eq(parse(buf_text(&text), &deep), RC_MALFORMED);
        nest(&text, 100000, openers[i]);
        ck_assert_int_eq(parse(buf_text(&text), &deep), RC_MALFORMED);
    }
    ck_assert_int_eq(parse("", NULL), RC_MALFORMED);
}
END_TEST

START_TEST(the_number_of_values_is_bounded)
{
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, 4 << 20);
    for (int i = 0; i < 4 * YAML_VALUES_MAX; i++)
        buf_adds(&text, "- a\n");
    struct js *tree = NULL;
    ck_assert_int_eq(parse(buf_text(&text), &tree), RC_MALFORMED);
    ck_assert_ptr_nonnull(strstr(err.text, "too many values"));
    buf_cut(&text, (size_t)YAML_VALUES_MAX * 4);
    ck_assert_int_eq(parse(buf_text(&text), &tree), RC_OK);
    ck_assert_uint_eq(js_count(tree), YAML_VALUES_MAX);
    js_free(tree);
    buf_clear(&text);
    buf_addc(&text, '[');
    for (int i = 0; i < 4 * YAML_VALUES_MAX; i++)
        buf_adds(&text, i == 0 ? "1" : ",1");
    buf_addc(&text, ']');
    ck_assert_int_eq(parse(buf_text(&text), &tree), RC_MALFORMED);
    ck_assert_ptr_nonnull(strstr(err.text, "too many values"));
}
END_TEST

START_TEST(every_prefix_of_a_document_is_handled)
{
    static const char text[] = "a: {b: [1, 'x', \"y\\u0041\"], c: |\n  t\n}\n"
                               "d:\n  - e: 1\n    f: >-\n      g\n  - [h, {i: j}]\n";
    for (size_t len = 0; len < sizeof text; len++) {
        struct js *tree = NULL;
        if (yaml_parse(text, len, &tree, &err) == RC_OK)
            js_free(tree);
        else
            ck_assert_ptr_null(tree);
    }
}
END_TEST

START_TEST(mutilated_documents_are_refused_or_read_whole)
{
    static const char seed[] = "a: {b: [1, 'x', \"y\\u0041\"]}\nd:\n  - e: 1\n    f: |\n      g\n";
    static const char spice[] = "{}[]\"',:#&*!|>%@`-?~ \n\t0x\xff";
    struct random random = random_seeded(13);
    struct arena arena = {0};
    for (int i = 0; i < 20000; i++) {
        char text[sizeof seed];
        memcpy(text, seed, sizeof seed);
        for (uint64_t k = 1 + random_below(&random, 4); k > 0; k--)
            text[random_below(&random, sizeof seed - 1)] =
                spice[random_below(&random, sizeof spice)];
        CLEANUP(js_freep) struct js *tree = NULL;
        if (yaml_parse(text, sizeof seed - 1, &tree, &err) != RC_OK)
            continue;
        const char *once = js_text(tree, &arena);
        CLEANUP(js_freep) struct js *again = NULL;
        ck_assert_int_eq(parse(once, &again), RC_OK);
        ck_assert_str_eq(js_text(again, &arena), once);
        arena_reset(&arena);
    }
    arena_release(&arena);
}
END_TEST

Suite *yaml_suite(void)
{
    Suite *suite = suite_create("yaml");
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, 10);
    tcase_add_test(all, documents_become_the_same_tree_as_json);
    tcase_add_test(all, plain_scalars_follow_the_core_schema);
    tcase_add_test(all, json_is_yaml);
    tcase_add_test(all, what_is_not_supported_is_refused_with_its_place);
    tcase_add_test(all, depth_is_allowed_to_the_limit_and_not_beyond);
    tcase_add_test(all, the_number_of_values_is_bounded);
    tcase_add_test(all, every_prefix_of_a_document_is_handled);
    tcase_add_test(all, mutilated_documents_are_refused_or_read_whole);
    suite_add_tcase(suite, all);
    return suite;
}
