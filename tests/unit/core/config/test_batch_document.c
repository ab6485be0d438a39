/*
 * test_batch_document.c - the document of a batch: its schema, and that what the schema allows is
 * what the reader of tasks knows.
 */
#include "control/admit/submission.h"
#include "core/config/batch_document.h"
#include "core/config/schema_text.h"
#include "tests/unit/suites.h"

static struct arena arena;

static void teardown(void)
{
    arena_release(&arena);
}

static struct js *parse(struct str text)
{
    struct js *tree = NULL;
    struct err err = {0};
    ck_assert_msg(js_parse(text.at, text.len, &tree, &err) == RC_OK, "%s", err.text);
    return tree;
}

START_TEST(examples_of_the_schema_are_good)
{
    struct js *schema = parse(schema_text_of("batch"));
    const struct js *examples = js_get(schema, "examples");
    ck_assert_uint_gt(js_count(examples), 0);
    for (size_t i = 0; i < js_count(examples); i++) {
        struct faults faults = {0};
        struct err err = {0};
        enum rc rc = batch_document_check(js_at(examples, i), &arena, &faults, &err);
        ck_assert_msg(rc == RC_OK, "%s", err.text);
    }
    js_free(schema);
}
END_TEST

static const struct {
    const char *text, *path;
} bad[] = {
    {"{}", "name"},
    {"{\"name\":\"\"}", "name"},
    {"{\"name\":\"x\",\"colour\":1}", "colour"},
    {"{\"name\":\"x\",\"maxActive\":0}", "maxActive"},
    {"{\"name\":\"x\",\"maxActive\":1001}", "maxActive"},
    {"{\"name\":\"x\",\"maxBudgetUsd\":0}", "maxBudgetUsd"},
    {"{\"name\":\"x\",\"onStop\":\"explode\"}", "onStop"},
    {"{\"name\":\"x\",\"stop\":{\"failures\":0}}", "stop.failures"},
    {"{\"name\":\"x\",\"stop\":{\"percent\":5}}", "stop.percent"},
    {"{\"name\":\"x\",\"repositories\":[\"a\",\"\"]}", "repositories[1]"},
    {"{\"name\":\"x\",\"task\":{\"repository\":\"a\"}}", "task.repository"},
    {"{\"name\":\"x\",\"task\":{\"dependsOn\":[]}}", "task.dependsOn"},
    {"{\"name\":\"x\",\"task\":{\"override\":{}}}", "task.override"},
    {"{\"name\":\"x\",\"task\":{\"maxBudgetUsd\":101}}", "task.maxBudgetUsd"},
    {"{\"name\":\"x\",\"tasks\":[{\"key\":\"a\"},{\"dependsOn\":[\"a\"]}]}", "tasks[1]"},
    {"{\"name\":\"x\",\"tasks\":[{\"key\":\"a\",\"dependsOn\":[\"b\",\"b\"]}]}",
     "tasks[0].dependsOn[1]"},
    {"{\"name\":\"x\",\"tasks\":[{\"key\":\"a\",\"riskLevel\":\"odd\"}]}", "tasks[0].riskLevel"},
};

START_TEST(what_is_wrong_is_named_by_its_place)
{
    struct js *tree = parse(str_of(bad[_i].text));
    struct faults faults = {0};
    struct err err = {0};
    bool named = false;
    ck_assert_int_eq(batch_document_check(tree, &arena, &faults, &err), RC_INVALID);
    ck_assert_str_eq(err.code, "INVALID_FIELD");
    for (size_t i = 0; i < faults.count; i++)
        named |= text_same(faults.items[i].path, bad[_i].path);
    ck_assert_msg(named, "%s: %s", bad[_i].text, faults.items[0].path);
    js_free(tree);
}
END_TEST

/* A field that the one knows and the other does not could be written and never work. */
START_TEST(schema_and_reader_know_the_same_fields)
{
    struct js *schema = parse(schema_text_of("batch"));
    const struct js *task = js_path(schema, "$defs.task.properties");
    const struct js *member = js_path(schema, "$defs.member.properties"), *value;
    const struct submission_reading how = {.arena = &arena, .path = "task", .of_batch = true};
    size_t at = 0;
    const char *key;
    ck_assert_uint_eq(js_count(member), js_count(task) + 3); /* key, repository, dependsOn */
    while (js_next(task, &at, &key, &value)) {
        struct js *tree = parse(str_of(arena_printf(&arena, "{\"%s\":null}", key)));
        struct submission unused = submission_new();
        struct faults faults = {0};
        struct err err = {0};
        ck_assert_ptr_nonnull(js_get(member, key));
        enum rc rc = submission_read(tree, &how, &unused, &faults, &err);
        ck_assert_msg(rc == RC_OK, "%s: %s", key, err.text);
        js_free(tree);
    }
    static const char *const others[] = {"repository", "parentTaskId", "dependsOn", "batch",
                                         "override"};
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        struct js *tree = parse(str_of(arena_printf(&arena, "{\"%s\":null}", others[i])));
        struct submission unused = submission_new();
        struct faults faults = {0};
        struct err err = {0};
        ck_assert_int_eq(submission_read(tree, &how, &unused, &faults, &err), RC_INVALID);
        ck_assert_str_eq(err.code, "UNKNOWN_FIELD");
        js_free(tree);
    }
    js_free(schema);
}
END_TEST

Suite *batch_document_suite(void)
{
    Suite *suite = suite_create("batch_document");
    TCase *tc = tcase_create("document");
    tcase_add_checked_fixture(tc, NULL, teardown);
    tcase_add_test(tc, examples_of_the_schema_are_good);
    tcase_add_loop_test(tc, what_is_wrong_is_named_by_its_place, 0, COUNT_OF(bad));
    tcase_add_test(tc, schema_and_reader_know_the_same_fields);
    suite_add_tcase(suite, tc);
    return suite;
}
