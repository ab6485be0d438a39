/* test_js.c - reading JSON. */
#include "base/js.h"
#include "base/random.h"
#include "tests/unit/suites.h"
#include <pthread.h>
#include <string.h>

static struct js *parsed(const char *text)
{
    struct js *tree = NULL;
    struct err err = {.text = ""};
    ck_assert_msg(js_parse(text, strlen(text), &tree, &err) == RC_OK, "%s: %s", text, err.text);
    return tree;
}

START_TEST(every_type_is_read)
{
    CLEANUP(js_freep)
    struct js *tree = parsed("{\"n\":null,\"b\":true,\"i\":-9007199254740993,\"r\":0.5,"
                             "\"s\":\"\\u20ac\\ud83d\\ude00\",\"a\":[1,[]],\"o\":{\"x\":{}}}");
    static const struct {
        const char *key;
        enum js_type type;
    } rows[] = {{"n", JS_NULL},   {"b", JS_BOOL},  {"i", JS_INT},    {"r", JS_REAL},
                {"s", JS_STRING}, {"a", JS_ARRAY}, {"o", JS_OBJECT}, {"absent", JS_NULL}};
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        ck_assert_int_eq(js_type(js_get(tree, rows[i].key)), rows[i].type);
    ck_assert_ptr_null(js_get(tree, "absent"));
    ck_assert(js_get_bool(tree, "b", false));
    ck_assert_int_eq(js_get_int(tree, "i", 0), INT64_C(-9007199254740993));
    ck_assert_double_eq(js_num(js_get(tree, "r"), 0), 0.5);
    ck_assert_str_eq(js_get_str(tree, "s", ""), "\xe2\x82\xac\xf0\x9f\x98\x80");
    ck_assert_uint_eq(js_count(js_get(tree, "a")), 2);
    ck_assert_int_eq(js_int(js_at(js_get(tree, "a"), 0), 0), 1);
    ck_assert_ptr_null(js_at(js_get(tree, "a"), 2));
    ck_assert_uint_eq(js_count(tree), 7);
}
END_TEST

START_TEST(any_value_may_stand_at_the_top)
{
    static const struct {
        const char *text;
        enum js_type type;
    } rows[] = {{"null", JS_NULL},    {" true ", JS_BOOL}, {"1", JS_INT},        {"1.5", JS_REAL},
                {"\"x\"", JS_STRING}, {"[]", JS_ARRAY},    {"\n{}\n", JS_OBJECT}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        CLEANUP(js_freep) struct js *tree = parsed(rows[i].text);
        ck_assert_int_eq(js_type(tree), rows[i].type);
    }
}
END_TEST

START_TEST(readers_fall_back_on_another_type)
{
    CLEANUP(js_freep) struct js *tree = parsed("{\"s\":\"1\",\"i\":1,\"r\":1.0,\"b\":false}");
    ck_assert_int_eq(js_get_int(tree, "s", 7), 7);
    ck_assert_int_eq(js_get_int(tree, "r", 7), 7);
    ck_assert_ptr_null(js_get_str(tree, "i", NULL));
    ck_assert(js_get_bool(tree, "i", true));
    ck_assert(!js_get_bool(tree, "b", true));
    ck_assert_double_eq(js_num(js_get(tree, "i"), 7), 1);
    ck_assert_double_eq(js_num(js_get(tree, "s"), 7), 7);
    ck_assert_int_eq(js_get_int(NULL, "x", 3), 3);
    ck_assert_str_eq(js_str(NULL, "f"), "f");
    ck_assert_uint_eq(js_count(NULL), 0);
    ck_assert_uint_eq(js_count(js_get(tree, "s")), 0);
    ck_assert_ptr_null(js_get(js_get(tree, "s"), "x"));
    ck_assert_ptr_null(js_at(tree, 0));
}
END_TEST

START_TEST(paths_lead_through_objects)
{
    CLEANUP(js_freep) struct js *tree = parsed("{\"a\":{\"b\":{\"c\":5}},\"x\":1,\"\":2}");
    ck_assert_int_eq(js_int(js_path(tree, "a.b.c"), 0), 5);
    ck_assert_int_eq(js_int(js_path(tree, "x"), 0), 1);
    ck_assert_int_eq(js_int(js_path(tree, ""), 0), 2);
    ck_assert_ptr_null(js_path(tree, "a.b.d"));
    ck_assert_ptr_null(js_path(tree, "x.y.z"));
    ck_assert_ptr_null(js_path(tree, "a..c"));
    ck_assert_ptr_null(js_path(tree, "a.b.c."));
    ck_assert_ptr_null(js_path(NULL, "a"));
}
END_TEST

START_TEST(members_come_in_their_order)
{
    CLEANUP(js_freep) struct js *tree = parsed("{\"z\":1,\"a\":2,\"m\":3}");
    const char *key;
    const struct js *value;
    char order[8] = "";
    int64_t sum = 0;
    size_t position = 0;
    while (js_next(tree, &position, &key, &value)) {
        strncat(order, key, 1);
        sum = sum * 10 + js_int(value, 0);
    }
    ck_assert_str_eq(order, "zam");
    ck_assert_int_eq(sum, 123);
    ck_assert(!js_next(tree, &position, &key, &value)); /* The end stays the end. */
    position = 0;
    ck_assert(!js_next(NULL, &position, &key, &value));
    CLEANUP(js_freep) struct js *empty = parsed("{}");
    ck_assert(!js_next(empty, &position, &key, &value));
    CLEANUP(js_freep) struct js *array = parsed("[1]");
    ck_assert(!js_next(array, &position, &key, &value));
}
END_TEST

/* The time limit of the case is what is asserted. */
START_TEST(large_objects_are_walked_in_linear_time)
{
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, 4 << 20);
    buf_addc(&text, '{');
    for (int i = 0; i < 100000; i++)
        buf_addf(&text, "%s\"key%d\":%d", i ? "," : "", i, i);
    buf_addc(&text, '}');
    CLEANUP(js_freep) struct js *tree = parsed(buf_text(&text));
    const char *key;
    const struct js *value;
    int64_t count = 0;
    for (size_t position = 0; js_next(tree, &position, &key, &value); count++)
        ck_assert_int_eq(js_int(value, -1), count);
    ck_assert_int_eq(count, 100000);
}
END_TEST

START_TEST(malformed_text_is_refused_with_its_place)
{
    static const struct {
        const char *bytes;
        size_t len;
        const char *place; /* How the message begins. */
    } rows[] = {
        {"", 0, "line 1, column 1: "},
        {"   ", 3, "line 1, "},
        {"{", 1, "line 1, column 1: "},
        {"{\"a\":1,}", 8, "line 1, column 8: "},
        {"{\n \"a\": x}", 10, "line 2, column 7: "},
        {"{\"a\":1,\"a\":2}", 13, "line 1, "},
        {"{} {}", 5, "line 1, column 4: "},
        {"[1,]", 4, "line 1, "},
        {"\"\\u0000\"", 8, "line 1, "},
        {"{\"\\u0000\":1}", 12, "line 1, "},
        {"\"a\0b\"", 5, "line 1, "},
        {"\"\xff\"", 3, "line 1, "},
        {"\"\xc0\x80\"", 4, "line 1, "},
        {"\"\\ud800\"", 8, "line 1, "},
        {"\"a\nb\"", 5, "line 1, "},
        {"9223372036854775808", 19, "line 1, "},
        {"-9223372036854775809", 20, "line 1, "},
        {"1e999", 5, "line 1, "},
        {"01", 2, "line 1, "},
        {"+1", 2, "line 1, "},
        {".5", 2, "line 1, "},
        {"NaN", 3, "line 1, "},
        {"'a'", 3, "line 1, "},
        {"{a:1}", 5, "line 1, "},
        {"// x\n1", 6, "line 1, "},
        {"\xef\xbb\xbf{}", 5, "line 1, "},
        {"nul", 3, "line 1, "},
        {"{}\0", 3, "line 1, "},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct js *tree = (struct js *)&tree;
        struct err err = {.text = ""};
        ck_assert_msg(js_parse(rows[i].bytes, rows[i].len, &tree, &err) == RC_MALFORMED, "row %zu",
                      i);
        ck_assert_str_eq(err.code, "INVALID_JSON");
        ck_assert_msg(text_starts(err.text, rows[i].place), "row %zu: %s", i, err.text);
        ck_assert_ptr_eq(tree, (struct js *)&tree);
    }
}
END_TEST

static void nest(struct buf *text, size_t depth)
{
    buf_clear(text);
    for (size_t i = 0; i < depth; i++)
        buf_adds(text, i % 2 ? "{\"k\":" : "[");
    buf_adds(text, "\"[[[[\\\"[[[[\"");
    for (size_t i = depth; i > 0; i--)
        buf_addc(text, (i - 1) % 2 ? '}' : ']');
}

START_TEST(depth_is_allowed_to_the_limit_and_not_beyond)
{
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, 1 << 20);
    nest(&text, JS_DEPTH_MAX);
    CLEANUP(js_freep) struct js *tree = parsed(buf_text(&text));
    struct arena arena = {0};
    ck_assert_str_eq(js_text(tree, &arena), buf_text(&text));
    arena_release(&arena);

    struct js *deep = NULL;
    struct err err;
    nest(&text, JS_DEPTH_MAX + 1);
    ck_assert_int_eq(js_parse(text.data, text.len, &deep, &err), RC_MALFORMED);
    ck_assert_str_eq(err.code, "INVALID_JSON");
    ck_assert_ptr_nonnull(strstr(err.text, "deeper than 64 levels"));
    nest(&text, 50000);
    ck_assert_int_eq(js_parse(text.data, text.len, &deep, &err), RC_MALFORMED);
    ck_assert_ptr_null(deep);
}
END_TEST

/* What is accepted must be written and read back as the same. */
START_TEST(mutilated_documents_are_refused_or_read_whole)
{
    static const char seed[] =
        "{\"a\":[1,-2.5e3,true,null,\"x\\u00e9\\n\"],\"b\":{\"c\":\"\xc3\xa9\"}}";
    static const char spice[] = "{}[]\",:\\0129eE+-.u\n \xff\xc3n";
    struct random random = random_seeded(12);
    struct arena arena = {0};
    for (int i = 0; i < 20000; i++) {
        char text[sizeof seed];
        memcpy(text, seed, sizeof seed);
        for (uint64_t k = random_below(&random, 4); k > 0; k--)
            text[random_below(&random, sizeof seed - 1)] =
                spice[random_below(&random, sizeof spice)];
        CLEANUP(js_freep) struct js *tree = NULL;
        if (js_parse(text, sizeof seed - 1 - random_below(&random, 2), &tree, NULL) != RC_OK)
            continue;
        const char *once = js_text(tree, &arena);
        CLEANUP(js_freep) struct js *again = parsed(once);
        ck_assert_str_eq(js_text(again, &arena), once);
        arena_reset(&arena);
    }
    arena_release(&arena);
}
END_TEST

START_TEST(text_is_compact_and_reads_back)
{
    static const struct {
        const char *from, *text;
    } rows[] = {
        {" { \"b\" : [ 1 , 2.50 , null , true ] , \"a\" : \"x\\/\\n\" } ",
         "{\"b\":[1,2.5,null,true],\"a\":\"x/\\n\"}"},
        {"0.1", "0.1"},
        {"[]", "[]"},
        {"{}", "{}"},
        {"\"\xc3\xa9\\u0001\"", "\"\xc3\xa9\\u0001\""},
        {"9223372036854775807", "9223372036854775807"},
    };
    struct arena arena = {0};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        CLEANUP(js_freep) struct js *tree = parsed(rows[i].from);
        ck_assert_str_eq(js_text(tree, &arena), rows[i].text);
    }
    ck_assert_str_eq(js_text(NULL, &arena), "null");
    arena_release(&arena);
}
END_TEST

START_TEST(trees_can_be_built)
{
    CLEANUP(js_freep) struct js *tree = js_new_object();
    struct js *array = js_new_array();
    js_push(array, js_new_int(1));
    js_push(array, js_new_real(0.5));
    js_push(array, js_new_bool(true));
    js_push(array, js_new_null());
    ck_assert(js_put(tree, "list", array));
    ck_assert(js_put(tree, "text", js_new_string("abc", 2)));
    ck_assert(!js_put(tree, "text", js_new_int(2)));
    ck_assert_ptr_null(js_new_string("\xff", 1));
    ck_assert_ptr_null(js_new_string("a\0b", 3));
    ck_assert_ptr_null(js_new_real(1e308 * 10));
    struct arena arena = {0};
    ck_assert_str_eq(js_text(tree, &arena), "{\"list\":[1,0.5,true,null],\"text\":\"ab\"}");
    arena_release(&arena);
}
END_TEST

START_TEST(types_have_names_for_messages)
{
    ck_assert_str_eq(js_type_name(JS_STRING), "a string");
    ck_assert_str_eq(js_type_name(JS_OBJECT), "an object");
    ck_assert_str_eq(js_type_name(js_type(NULL)), "null");
}
END_TEST

static void *parse_often(void *arg)
{
    (void)arg;
    for (int i = 0; i < 200; i++) {
        struct js *tree = NULL;
        if (js_parse("{\"a\":{\"b\":1}}", 13, &tree, NULL) != RC_OK)
            return "failed";
        bool right = js_int(js_path(tree, "a.b"), 0) == 1;
        js_free(tree);
        if (!right)
            return "wrong";
    }
    return NULL;
}

START_TEST(threads_may_parse_at_once)
{
    pthread_t threads[4];
    for (size_t i = 0; i < COUNT_OF(threads); i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, parse_often, NULL), 0);
    for (size_t i = 0; i < COUNT_OF(threads); i++) {
        void *problem = "not joined";
        ck_assert_int_eq(pthread_join(threads[i], &problem), 0);
        ck_assert_ptr_null(problem);
    }
}
END_TEST

Suite *js_suite(void)
{
    Suite *suite = suite_create("js");
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, 10);
    tcase_add_test(all, every_type_is_read);
    tcase_add_test(all, any_value_may_stand_at_the_top);
    tcase_add_test(all, readers_fall_back_on_another_type);
    tcase_add_test(all, paths_lead_through_objects);
    tcase_add_test(all, members_come_in_their_order);
    tcase_add_test(all, large_objects_are_walked_in_linear_time);
    tcase_add_test(all, malformed_text_is_refused_with_its_place);
    tcase_add_test(all, depth_is_allowed_to_the_limit_and_not_beyond);
    tcase_add_test(all, mutilated_documents_are_refused_or_read_whole);
    tcase_add_test(all, text_is_compact_and_reads_back);
    tcase_add_test(all, trees_can_be_built);
    tcase_add_test(all, types_have_names_for_messages);
    tcase_add_test(all, threads_may_parse_at_once);
    suite_add_tcase(suite, all);
    return suite;
}
