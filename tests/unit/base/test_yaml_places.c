/*
 * test_yaml_places.c - paths of a document and the lines they stand in.
 */
#include "base/yaml.h"
#include "base/yaml_places.h"
#include "tests/unit/suites.h"
#include <string.h>

static const char billing[] = "# Billing.\n"
                              "url: /srv/git/billing.git\n"
                              "agent:\n"
                              "    command: [sh, -c, 'exit 0']\n"
                              "    adapter: cluade\n"
                              "\n"
                              "verify:\n"
                              "  - {name: build, command: make}\n"
                              "  - name: unit\n"
                              "    command: |\n"
                              "      make\n"
                              "      make test\n"
                              "    timeoutMs: 0\n"
                              "a.b[0]: {\"c\": 1}\n";
static const char json[] = "{\n"
                           "\t\"url\": \"/srv/x.git\",\n"
                           "\t\"agent\": {\"command\": [\"a\", {\"x\": 1}],\n"
                           "\t           \"adapter\": \"none\"}\n"
                           "}\n";

static const struct {
    const char *text, *path;
    size_t line, column;
} examples[] = {
    {billing, "", 2, 1},
    {billing, "url", 2, 1},
    {billing, "agent", 3, 1},
    {billing, "agent.command", 4, 5},
    {billing, "agent.command[0]", 4, 15},
    {billing, "agent.command[2]", 4, 23},
    {billing, "agent.adapter", 5, 5},
    {billing, "verify[0]", 8, 5},
    {billing, "verify[0].command", 8, 19},
    {billing, "verify[1].name", 9, 5},
    {billing, "verify[1].command", 10, 5},
    {billing, "verify[1].timeoutMs", 13, 5},
    {billing, "a.b[0]", 14, 1},
    {billing, "a.b[0].c", 14, 10},
    /* What is not there stands where the nearest thing round it does. */
    {billing, "nothing", 2, 1},
    {billing, "agentx", 2, 1},
    {billing, "agent.model", 3, 1},
    {billing, "agent.adapter.x", 5, 5},
    {billing, "verify[1].optional", 9, 5},
    {billing, "verify[7]", 7, 1},
    {json, "", 1, 1},
    {json, "url", 2, 2},
    {json, "agent.command[1].x", 3, 30},
    {json, "agent.adapter", 4, 13},
    {"- 1\n- [2, 3]\n", "[1][1]", 2, 7},
    {"just text", "a", 1, 1},
    {"caf\xc3\xa9: {x: 1}", "caf\xc3\xa9.x", 1, 8},
    /* As far as the text can be read. */
    {"a: 1\nb: [1, }\n", "a", 1, 1},
    {"a: 1\nb: [1, }\nc: 1\n", "c", 1, 1},
    {"", "a", 0, 0},
    {"\x01", "a", 0, 0},
};

START_TEST(paths_have_places)
{
    struct yaml_place place = {.path = examples[_i].path};
    yaml_locate(str_of(examples[_i].text), &place, 1);
    ck_assert_msg(place.line == examples[_i].line && place.column == examples[_i].column,
                  "%s: %zu:%zu, not %zu:%zu", place.path, place.line, place.column,
                  examples[_i].line, examples[_i].column);
}
END_TEST

START_TEST(many_paths_are_found_in_one_pass)
{
    struct yaml_place places[] = {
        {.path = "verify[1]"}, {.path = "url"}, {.path = "verify[1].timeoutMs"}};
    yaml_locate(str_of(billing), places, COUNT_OF(places));
    ck_assert_uint_eq(places[0].line, 9);
    ck_assert_uint_eq(places[1].line, 2);
    ck_assert_uint_eq(places[2].line, 13);
}
END_TEST

START_TEST(deep_and_large_documents_end)
{
    CLEANUP(buf_release) struct buf text;
    struct yaml_place place = {.path = "a"};
    buf_init(&text, 4 << 20);
    for (int i = 0; i < 100000; i++)
        buf_addc(&text, '[');
    yaml_locate(buf_str(&text), &place, 1);
    ck_assert_uint_eq(place.line, 1);
    buf_clear(&text);
    for (int i = 0; i < 300000; i++)
        buf_adds(&text, "- 1\n");
    yaml_locate(buf_str(&text), &place, 1);
    ck_assert_uint_eq(place.line, 1);
}
END_TEST

START_TEST(what_cannot_be_read_says_where)
{
    static const struct {
        const char *text;
        size_t line;
    } rows[] = {{"a: 1\nb: [1, }\n", 2}, {"a: 1\na: 2\n", 2}, {"{\"a\": 1,\n\"b\" 2}", 2}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        CLEANUP(js_freep) struct js *tree = NULL;
        struct err err = {0};
        struct yaml_place place;
        const char *why = NULL;
        ck_assert_int_eq(yaml_parse(rows[i].text, strlen(rows[i].text), &tree, &err), RC_MALFORMED);
        ck_assert(yaml_err_place(&err, &place, &why));
        ck_assert_uint_eq(place.line, rows[i].line);
        ck_assert(strncmp(why, "line", 4) != 0 && *why != '\0');
    }
    struct err other = {.text = "line of thought"};
    struct yaml_place place;
    const char *why = NULL;
    ck_assert(!yaml_err_place(&other, &place, &why));
}
END_TEST

Suite *yaml_places_suite(void)
{
    Suite *suite = suite_create("yaml_places");
    TCase *tcase = tcase_create("yaml_places");
    tcase_add_loop_test(tcase, paths_have_places, 0, COUNT_OF(examples));
    tcase_add_test(tcase, many_paths_are_found_in_one_pass);
    tcase_add_test(tcase, deep_and_large_documents_end);
    tcase_add_test(tcase, what_cannot_be_read_says_where);
    suite_add_tcase(suite, tcase);
    return suite;
}
