/*
 * test_event_contract.c - every type of the table has a schema and an example that fits, and no
 * schema or example is left over.
 */
#include "base/fd.h"
#include "core/config/event_contract.h"
#include "core/config/schema_text.h"
#include "core/event.h"
#include "tests/unit/suites.h"
#include <dirent.h>
#include <string.h>

static struct event_contracts contracts;

static struct js *read_example(const struct event_type *entry)
{
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(buf_release) struct buf text;
    struct js *tree = NULL;
    struct err err = {0};
    buf_init(&text, 100000);
    const char *path = arena_printf(&arena, "tests/fixtures/events/%s.v%d.json", entry->type,
                                    entry->version);
    ck_assert_msg(file_read(path, &text, &err) == RC_OK, "%s", err.text);
    ck_assert_msg(js_parse(text.data, text.len, &tree, &err) == RC_OK, "%s: %s", path, err.text);
    return tree;
}

static const char *first_fault(const struct js *event, struct arena *arena)
{
    struct faults faults = {0};
    if (event_contracts_check(&contracts, event, arena, &faults))
        return NULL;
    return arena_printf(arena, "%s: %s", faults.items[0].path, faults.items[0].message);
}

START_TEST(the_example_of_every_type_keeps_its_contract)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const struct event_type *entry = event_type_at((size_t)_i);
    CLEANUP(js_freep) struct js *example = read_example(entry);
    const char *fault = first_fault(example, &arena);
    ck_assert_msg(fault == NULL, "%s: %s", entry->type, fault);
    ck_assert_str_eq(js_get_str(example, "type", ""), entry->type);
    ck_assert_int_eq(js_get_int(example, "eventversion", 0), entry->version);
}
END_TEST

/* A consumer may rely on what is required: an event without it must be found. */
START_TEST(an_example_without_a_required_member_breaks_its_contract)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const struct event_type *entry = event_type_at((size_t)_i);
    CLEANUP(js_freep) struct js *example = read_example(entry);
    CLEANUP(schema_release) struct schema schema = {0};
    struct err err = {0};
    ck_assert_int_eq(
        schema_open(&schema, schema_text_of(js_get_str(example, "dataschema", "")), &err), RC_OK);
    const struct js *required = js_get(schema.tree, "required");
    for (size_t i = 0; i < js_count(required); i++) {
        CLEANUP(buf_release) struct buf text;
        CLEANUP(js_freep) struct js *poorer = NULL;
        const char *name = NULL, *left_out = js_str(js_at(required, i), "");
        const struct js *value = NULL;
        buf_init(&text, 100000);
        struct jw jw = jw_to(&text);
        jw_begin(&jw, '{');
        for (size_t it = 0; js_next(js_get(example, "data"), &it, &name, &value);)
            if (!text_same(name, left_out))
                jw_kraw(&jw, name, str_of(js_text(value, &arena)));
        jw_end(&jw, '}');
        ck_assert_int_eq(js_parse(text.data, text.len, &poorer, &err), RC_OK);
        struct faults faults = {0};
        ck_assert_msg(!schema_check(&schema, poorer, &(struct schema_options){0}, &arena, &faults),
                      "%s without %s", entry->type, left_out);
    }
}
END_TEST

START_TEST(a_schema_says_what_the_table_says)
{
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(js_freep) struct js *schema = NULL;
    const struct event_type *entry = event_type_at((size_t)_i);
    const char *urn = arena_printf(&arena, SCHEMA_URN "%s:%d", entry->type, entry->version);
    struct str text = schema_text_of(urn);
    ck_assert_msg(text.len > 0, "there is no schema %s", urn);
    ck_assert_int_eq(js_parse(text.at, text.len, &schema, NULL), RC_OK);
    ck_assert_str_eq(js_get_str(schema, "$id", ""), urn);
    ck_assert_str_eq(js_get_str(schema, "title", ""), entry->type);
    ck_assert_str_eq(js_get_str(schema, "description", ""), entry->meaning);
    /* Consumers ignore what they do not know, so that members can be added. */
    ck_assert_ptr_null(js_get(schema, "additionalProperties"));
}
END_TEST

/* A type is found by binary search. */
START_TEST(the_table_is_sorted_and_found)
{
    const struct event_type *entry = event_type_at((size_t)_i);
    ck_assert_ptr_eq(event_type_find(entry->type), entry);
    ck_assert_uint_eq(event_type_index(entry), (size_t)_i);
    if (_i > 0)
        ck_assert_msg(strcmp(event_type_at((size_t)_i - 1)->type, entry->type) < 0, "%s",
                      entry->type);
    ck_assert_str_ne(entry->meaning, "");
    ck_assert_str_ne(event_context_name(entry->context), "");
    ck_assert_int_eq(event_severity(entry->type), entry->severity);
}
END_TEST

static bool names_entry(const char *name)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const struct event_type *entry;
    for (size_t i = 0; (entry = event_type_at(i)) != NULL; i++)
        if (text_same(name, arena_printf(&arena, "%s.v%d.json", entry->type, entry->version)))
            return true;
    return false;
}

START_TEST(no_schema_and_no_example_is_of_no_type)
{
    static const char *const dirs[] = {"schemas/events", "tests/fixtures/events"};
    for (size_t i = 0; i < COUNT_OF(dirs); i++) {
        size_t count = 0;
        const struct dirent *file;
        DIR *dir = opendir(dirs[i]);
        ck_assert_ptr_nonnull(dir);
        while ((file = readdir(dir)) != NULL) {
            if (file->d_name[0] == '.')
                continue;
            ck_assert_msg(names_entry(file->d_name), "%s/%s", dirs[i], file->d_name);
            count++;
        }
        ck_assert_uint_eq(count, EVENT_TYPE_COUNT);
        (void)closedir(dir);
    }
}
END_TEST

static const struct {
    const char *what, *patch, *want;
} broken[] = {
    {"sequence as a number", "{\"sequence\":3}", "sequence: must be a string, not an integer"},
    {"a place beyond 32 bits as a number", "{\"logseq\":1}", "logseq: must be a string"},
    {"no time", "{\"time\":\"yesterday\"}", "time: "},
    {"data that is no object", "{\"data\":[]}", "data: "},
    {"an unknown type", "{\"type\":\"agent.run.invented\"}", "type: is not in the table"},
    {"a schema that is not there", "{\"dataschema\":\"urn:drover:schema:agent.run.started:9\"}",
     "dataschema: is not that of its type"},
    {"a member of another type", "{\"data\":{\"runNo\":\"1\"}}", "data"},
};

/* With the members of the patch, in the place of its own. */
static struct js *patched(const struct js *event, const char *patch)
{
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(js_freep) struct js *over = NULL;
    CLEANUP(buf_release) struct buf text;
    const char *name = NULL;
    const struct js *value = NULL;
    struct js *tree = NULL;
    ck_assert_int_eq(js_parse(patch, strlen(patch), &over, NULL), RC_OK);
    buf_init(&text, 100000);
    struct jw jw = jw_to(&text);
    jw_begin(&jw, '{');
    for (size_t it = 0; js_next(event, &it, &name, &value);)
        if (js_get(over, name) == NULL)
            jw_kraw(&jw, name, str_of(js_text(value, &arena)));
    for (size_t it = 0; js_next(over, &it, &name, &value);)
        jw_kraw(&jw, name, str_of(js_text(value, &arena)));
    jw_end(&jw, '}');
    ck_assert_int_eq(js_parse(text.data, text.len, &tree, NULL), RC_OK);
    return tree;
}

START_TEST(a_broken_contract_is_found)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct event_contracts fresh = {0};
    struct faults faults = {0};
    CLEANUP(js_freep) struct js *example = read_example(event_type_find(EV_RUN_STARTED));
    CLEANUP(js_freep) struct js *event = patched(example, broken[_i].patch);
    ck_assert_msg(!event_contracts_check(&fresh, event, &arena, &faults), "%s", broken[_i].what);
    const char *text = arena_printf(&arena, "%s: %s", faults.items[0].path,
                                    faults.items[0].message);
    ck_assert_msg(text_starts(text, broken[_i].want), "%s: %s", broken[_i].what, text);
    event_contracts_release(&fresh);
}
END_TEST

static void release(void)
{
    event_contracts_release(&contracts);
    contracts = (struct event_contracts){0};
}

Suite *event_contract_suite(void)
{
    Suite *suite = suite_create("event_contract");
    TCase *tc = tcase_create("event_contract");
    tcase_add_checked_fixture(tc, NULL, release);
    tcase_add_loop_test(tc, the_example_of_every_type_keeps_its_contract, 0, EVENT_TYPE_COUNT);
    tcase_add_loop_test(tc, an_example_without_a_required_member_breaks_its_contract, 0,
                        EVENT_TYPE_COUNT);
    tcase_add_loop_test(tc, a_schema_says_what_the_table_says, 0, EVENT_TYPE_COUNT);
    tcase_add_loop_test(tc, the_table_is_sorted_and_found, 0, EVENT_TYPE_COUNT);
    tcase_add_test(tc, no_schema_and_no_example_is_of_no_type);
    tcase_add_loop_test(tc, a_broken_contract_is_found, 0, (int)COUNT_OF(broken));
    suite_add_tcase(suite, tc);
    return suite;
}
