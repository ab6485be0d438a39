/*
 * test_schema_change.c - versions of a schema by a table: which changes are compatible.
 */
#include "base/str.h"
#include "core/config/schema_change.h"
#include "tests/unit/suites.h"
#include <stdio.h>
#include <string.h>

struct example {
    const char *before, *after;
    const char *changes; /* "+path: why" compatible, "-path: why" breaking; one a line. */
};

#define OBJECT(members)        "{'type':'object','properties':{" members "}}"
#define STRICT(members, names) "{'properties':{" members "},'required':[" names "]}"

static const struct example examples[] = {
    {"{}", "{}", ""},
    {"true", "true", ""},
    {"{'type':'object'}", "true", "-: the schema changes from {\"type\":\"object\"} to true\n"},
    /* An optional member is added. */
    {OBJECT("'a':{'type':'string'}"), OBJECT("'a':{'type':'string'},'b':{'type':'integer'}"),
     "+b: is new and optional\n"},
    /* A required one is. */
    {STRICT("'a':{}", "'a'"), STRICT("'a':{},'b':{}", "'a','b'"),
     "-b: is new and required: records of before lack it\n"},
    /* A member is removed. */
    {OBJECT("'a':{'type':'string'},'b':{'type':'integer'}"), OBJECT("'a':{'type':'string'}"),
     "-b: is gone: consumers may rely on it\n"},
    /* A member is renamed. */
    {OBJECT("'a':{'type':'string'}"), OBJECT("'b':{'type':'string'}"),
     "-a: is gone; b has its schema: keep both if it is renamed\n+b: is new and optional\n"},
    /* The meaning changes. */
    {OBJECT("'a':{'description':'in seconds'}"), OBJECT("'a':{'description':'in minutes'}"),
     "-a: the description changes, and with it perhaps the meaning\n"},
    {OBJECT("'a':{}"), OBJECT("'a':{'description':'in minutes'}"), ""},
    /* An enum changes. */
    {"{'enum':['a','b']}", "{'enum':['b','a']}", ""},
    {"{'enum':['a']}", "{'enum':['a','b']}",
     "-: the value \"b\" is new: consumers do not know it\n"},
    {"{'enum':['a','b']}", "{'enum':['a']}",
     "-: the value \"b\" is gone: records of before may hold it\n"},
    {"{'enum':['a']}", "{}", "-: enum [\"a\"] is gone: consumers may rely on it\n"},
    {"{'const':1}", "{'const':2}", "-: const changes from 1 to 2\n"},
    /* A member is deprecated. */
    {OBJECT("'a':{}"), OBJECT("'a':{'deprecated':true}"), "+a: is deprecated\n"},
    {OBJECT("'a':{'deprecated':true}"), OBJECT("'a':{'deprecated':true}"), ""},
    /* A type changes. */
    {OBJECT("'a':{'type':'string'}"), OBJECT("'a':{'type':'integer'}"),
     "-a: type changes from \"string\" to \"integer\"\n"},
    {"{'type':'string'}", "{'type':['string']}", ""},
    {"{'type':['string','null']}", "{'type':['null','string']}", ""},
    {"{'type':'string'}", "{'type':['string','null']}",
     "-: type changes from \"string\" to [\"string\",\"null\"]\n"},
    {"{'type':'string'}", "{}", "-: type \"string\" is gone: consumers may rely on it\n"},
    /* A member becomes required, or optional. */
    {STRICT("'a':{}", ""), STRICT("'a':{}", "'a'"),
     "-a: becomes required: records of before may lack it\n"},
    {STRICT("'a':{}", "'a'"), STRICT("'a':{}", ""),
     "-a: becomes optional: consumers may rely on it\n"},
    /* Limits. */
    {"{'maxLength':10}", "{'maxLength':10.0}", ""},
    {"{'maxLength':10}", "{'maxLength':20}", "-: maxLength changes from 10 to 20\n"},
    {"{}", "{'pattern':'^a'}", "-: pattern \"^a\" is new: what was valid before may be refused\n"},
    {"{'anyOf':[{'type':'string'}]}", "{'anyOf':[{'type':'null'}]}",
     "-: anyOf changes from [{\"type\":\"string\"}] to [{\"type\":\"null\"}]\n"},
    /* Other members. */
    {"{'additionalProperties':false}", "{}", "+*: other members are allowed\n"},
    {"{'additionalProperties':true}", "{'additionalProperties':false}",
     "-*: other members are refused: records of before may have some\n"},
    {"{'additionalProperties':{'type':'string'}}", "{'additionalProperties':{'type':'null'}}",
     "-*: type changes from \"string\" to \"null\"\n"},
    /* Elements. */
    {"{'items':" OBJECT("'a':{'type':'string'}") "}", "{'items':" OBJECT("'a':{'type':'null'}") "}",
     "-[].a: type changes from \"string\" to \"null\"\n"},
    {OBJECT("'l':{'items':{'type':'string'}}"), OBJECT("'l':{'items':{'type':'null'}}"),
     "-l[]: type changes from \"string\" to \"null\"\n"},
    /* What does not count. */
    {"{'title':'a','examples':[1],'default':1,'$comment':'x'}", "{'title':'b'}", ""},
    /* References. */
    {"{'$ref':'#/$defs/a','$defs':{'a':{'type':'string'}}}",
     "{'$ref':'#/$defs/b','$defs':{'b':{'type':'string'}}}", ""},
    {"{'items':{'$ref':'#/$defs/a'},'$defs':{'a':{'type':'string'}}}",
     "{'items':{'$ref':'#/$defs/a'},'$defs':{'a':{'type':'null'}}}",
     "-[]: type changes from \"string\" to \"null\"\n"},
    {"{'items':{'$ref':'#/$defs/a'},'$defs':{'a':{'type':'string'}}}",
     "{'items':{'type':'string'}}", ""},
    {"{'items':{'$ref':'#/$defs/a','maxLength':1},'$defs':{'a':{}}}",
     "{'items':{'$ref':'#/$defs/a','maxLength':2},'$defs':{'a':{}}}",
     "-[]: maxLength changes from 1 to 2\n"},
    {"{'items':{'$ref':'#/$defs/a','maxLength':1},'$defs':{'a':{}}}", "{'items':{'maxLength':1}}",
     "-[]: a $ref with keywords beside it takes the place of a schema\n"
     "-[]: maxLength 1 is new: what was valid before may be refused\n"},
    /* A schema that holds itself. */
    {"{'properties':{'next':{'$ref':'#'}}}",
     "{'properties':{'next':{'$ref':'#'},'a':{'type':'string'}}}", "+a: is new and optional\n"},
};

static struct arena arena;

static void setup(void)
{
    arena = (struct arena){0};
}

static void teardown(void)
{
    arena_release(&arena);
}

static void open(struct schema *schema, const char *sketch)
{
    struct err err = {0};
    char *text = arena_strdup(&arena, sketch);
    for (char *at = text; *at != '\0'; at++)
        *at = *at == '\'' ? '"' : *at;
    ck_assert_msg(schema_open(schema, str_of(text), &err) == RC_OK, "%s: %s", text, err.text);
}

static const char *compare(const char *before, const char *after, bool same_meaning)
{
    CLEANUP(schema_release) struct schema old = {0};
    CLEANUP(schema_release) struct schema new = {0};
    struct schema_changes changes = {0};
    open(&old, before);
    open(&new, after);
    ck_assert(schema_compare(&old, &new, &(struct schema_compare_options){same_meaning}, &arena,
                             &changes));
    const char *all = "";
    size_t breaking = 0;
    for (size_t i = 0; i < changes.count; i++) {
        const struct schema_change *each = &changes.items[i];
        breaking += each->breaking;
        all = arena_printf(&arena, "%s%c%s: %s\n", all, each->breaking ? '-' : '+', each->path,
                           each->why);
    }
    ck_assert_uint_eq(breaking, changes.breaking);
    return all;
}

START_TEST(every_change_has_a_verdict)
{
    const struct example *each = &examples[_i];
    ck_assert_str_eq(compare(each->before, each->after, false), each->changes);
}
END_TEST

/* What those who write events agree on, in the words of theirs. */
static const struct {
    const char *change, *before, *after, *rule;
    bool compatible;
} evolution[] = {
    {"add an optional field", OBJECT("'a':{}"), OBJECT("'a':{},'b':{}"), "optional-added", true},
    {"remove a field", OBJECT("'a':{},'b':{}"), OBJECT("'a':{}"), "removed", false},
    {"rename a field", OBJECT("'a':{'type':'string'}"), OBJECT("'b':{'type':'string'}"), "renamed",
     false},
    {"change the meaning", OBJECT("'a':{'description':'s'}"), OBJECT("'a':{'description':'ms'}"),
     "meaning-changed", false},
    {"add a value to an enum", OBJECT("'a':{'enum':[1]}"), OBJECT("'a':{'enum':[1,2]}"),
     "enum-changed", false},
    {"remove a value from an enum", OBJECT("'a':{'enum':[1,2]}"), OBJECT("'a':{'enum':[1]}"),
     "enum-changed", false},
    {"deprecate a field", OBJECT("'a':{}"), OBJECT("'a':{'deprecated':true}"), "deprecated", true},
    {"change the type of a field", OBJECT("'a':{'type':'string'}"), OBJECT("'a':{'type':'null'}"),
     "type-changed", false},
    {"make an optional field required", STRICT("'a':{}", ""), STRICT("'a':{}", "'a'"),
     "became-required", false},
    {"make a required field optional", STRICT("'a':{}", "'a'"), STRICT("'a':{}", ""),
     "became-optional", false},
    {"add a required field", STRICT("", ""), STRICT("'a':{}", "'a'"), "required-added", false},
    {"tighten a limit", "{'maxLength':2}", "{'maxLength':1}", "limit-changed", false},
    {"refuse other fields", "{}", "{'additionalProperties':false}", "closed", false},
    {"allow other fields", "{'additionalProperties':false}", "{}", "opened", true},
    {"ask for a kind of element", "{}", "{'contains':{'const':1}}", "limit-changed", false},
    {"ask for names", "{'propertyNames':{'maxLength':3}}", "{}", "limit-changed", false},
};

START_TEST(every_rule_of_evolution_has_its_name_and_verdict)
{
    CLEANUP(schema_release) struct schema old = {0};
    CLEANUP(schema_release) struct schema new = {0};
    CLEANUP(buf_release) struct buf text;
    struct schema_changes changes = {0};
    open(&old, evolution[_i].before);
    open(&new, evolution[_i].after);
    ck_assert(
        schema_compare(&old, &new, &(struct schema_compare_options){false}, &arena, &changes));
    buf_init(&text, 4096);
    struct jw jw = jw_to(&text);
    schema_changes_write(&changes, &jw);
    const char *rule = arena_printf(&arena, "\"rule\":\"%s\",\"breaking\":%s", evolution[_i].rule,
                                    evolution[_i].compatible ? "false" : "true");
    ck_assert_msg(strstr(buf_text(&text), rule) != NULL, "%s: %s", evolution[_i].change,
                  buf_text(&text));
    ck_assert_int_eq(changes.breaking == 0, evolution[_i].compatible);
}
END_TEST

START_TEST(a_person_can_say_that_the_meaning_is_the_same)
{
    const char *before = OBJECT("'a':{'description':'in seconds'}");
    ck_assert_str_eq(compare(before, OBJECT("'a':{'description':'seconds'}"), true), "");
}
END_TEST

START_TEST(more_changes_than_fit_are_counted)
{
    const char *before = "{", *after = "{";
    for (int i = 0; i < SCHEMA_CHANGES_MAX + 50; i++) {
        before = arena_printf(&arena, "%s%s'm%d':{'type':'string'}", before, i > 0 ? "," : "", i);
        after = arena_printf(&arena, "%s%s'm%d':{'type':'null'}", after, i > 0 ? "," : "", i);
    }
    CLEANUP(schema_release) struct schema old = {0};
    CLEANUP(schema_release) struct schema new = {0};
    struct schema_changes changes = {0};
    open(&old, arena_printf(&arena, "{'properties':%s}}", before));
    open(&new, arena_printf(&arena, "{'properties':%s}}", after));
    ck_assert(
        schema_compare(&old, &new, &(struct schema_compare_options){false}, &arena, &changes));
    ck_assert_uint_eq(changes.count, SCHEMA_CHANGES_MAX);
    ck_assert_uint_eq(changes.left_out, 50);
    ck_assert_uint_eq(changes.breaking, SCHEMA_CHANGES_MAX + 50);
}
END_TEST

/* Each level holds the next one twice: without a limit the walk would not end in our time. */
START_TEST(a_walk_that_grows_without_end_is_cut_off)
{
    const char *definitions = "'d0':{'type':'string'}";
    for (int i = 1; i < 40; i++)
        definitions = arena_printf(&arena,
                                   "%s,'d%d':{'properties':{'a':{'$ref':'#/$defs/d%d'},"
                                   "'b':{'$ref':'#/$defs/d%d'}}}",
                                   definitions, i, i - 1, i - 1);
    CLEANUP(schema_release) struct schema old = {0};
    CLEANUP(schema_release) struct schema new = {0};
    struct schema_changes changes = {0};
    const char *text = arena_printf(&arena, "{'$ref':'#/$defs/d39','$defs':{%s}}", definitions);
    open(&old, text);
    open(&new, text);
    ck_assert(
        !schema_compare(&old, &new, &(struct schema_compare_options){false}, &arena, &changes));
    ck_assert_uint_eq(changes.breaking, 1);
}
END_TEST

/* A large value that many places refer to: neither its text nor the comparison is repeated for each
   of them. */
START_TEST(the_work_on_what_many_places_refer_to_is_bounded)
{
    enum { PLACES = 3000, VALUES = 20000 };
    struct schema_changes changes = {0};
    CLEANUP(arena_release) struct arena used = {0};
    CLEANUP(buf_release) struct buf values;
    CLEANUP(buf_release) struct buf places;
    buf_init(&values, 1 << 20);
    buf_init(&places, 1 << 20);
    for (int i = 0; i < VALUES; i++)
        buf_addf(&values, "%d,", i);
    for (int i = 0; i < PLACES; i++)
        buf_addf(&places, "%s'p%d':{'$ref':'#/$defs/d'}", i > 0 ? "," : "", i);
    for (int same = 0; same < 2; same++) {
        CLEANUP(schema_release) struct schema old = {0};
        CLEANUP(schema_release) struct schema new = {0};
        static const char form[] = "{'properties':{%s},'$defs':{'d':{'const':[%s%d]}}}";
        open(&old, arena_printf(&arena, form, buf_text(&places), buf_text(&values), 1));
        open(&new, arena_printf(&arena, form, buf_text(&places), buf_text(&values), 1 + same));
        ck_assert(
            !schema_compare(&old, &new, &(struct schema_compare_options){false}, &used, &changes));
        ck_assert_uint_lt(used.used_bytes, 1 << 20);
    }
}
END_TEST

Suite *schema_change_suite(void)
{
    Suite *suite = suite_create("schema_change");
    TCase *tests = tcase_create("all");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_loop_test(tests, every_change_has_a_verdict, 0, (int)COUNT_OF(examples));
    tcase_add_loop_test(tests, every_rule_of_evolution_has_its_name_and_verdict, 0,
                        (int)COUNT_OF(evolution));
    tcase_add_test(tests, a_person_can_say_that_the_meaning_is_the_same);
    tcase_add_test(tests, more_changes_than_fit_are_counted);
    tcase_add_test(tests, a_walk_that_grows_without_end_is_cut_off);
    tcase_add_test(tests, the_work_on_what_many_places_refer_to_is_bounded);
    suite_add_tcase(suite, tests);
    return suite;
}
