/* test_fields.c - fields by name, and refusals by name. */
#include "base/fields.h"
#include "tests/unit/suites.h"
#include <string.h>

static struct err err;

static struct js *parsed(const char *text)
{
    struct js *tree = NULL;
    ck_assert_msg(js_parse(text, strlen(text), &tree, &err) == RC_OK, "%s", err.text);
    return tree;
}

/* Every kind of field, with defaults. */
struct sample {
    const char *name;
    int64_t priority;
    double budget;
    bool draft;
    int risk;
    const struct js *agent;
    const struct js *verify;
    const struct js *scope;
    const struct js *extra;
};

static const char *const risks[] = {"low", "medium", "high", NULL};

static enum rc read_sample(const char *text, const char *path, struct sample *sample,
                           struct js **ret_tree)
{
    *ret_tree = parsed(text);
    *sample = (struct sample){.name = "none", .priority = 100, .budget = 2.5, .risk = 1};
    err_clear(&err);
    struct fields fields;
    fields_open(&fields, *ret_tree, path, &err);
    fields_string(&fields, "name", FIELD_REQUIRED, &(struct field_text){.min = 1, .max = 5},
                  &sample->name);
    fields_int(&fields, "priority", FIELD_OPTIONAL, &(struct field_range){0, 1000},
               &sample->priority);
    fields_real(&fields, "budget", FIELD_OPTIONAL, &(struct field_real){0, 10}, &sample->budget);
    fields_bool(&fields, "draft", FIELD_OPTIONAL, &sample->draft);
    fields_choice(&fields, "risk", FIELD_OPTIONAL, risks, &sample->risk);
    fields_object(&fields, "agent", FIELD_OPTIONAL, &sample->agent);
    fields_array(&fields, "verify", FIELD_OPTIONAL, 2, &sample->verify);
    fields_strings(&fields, "scope", FIELD_OPTIONAL, 2, &(struct field_text){.min = 2, .max = 3},
                   &sample->scope);
    fields_any(&fields, "extra", FIELD_OPTIONAL, &sample->extra);
    return fields_close(&fields);
}

START_TEST(a_good_document_fills_every_field)
{
    CLEANUP(js_freep) struct js *tree = NULL;
    struct sample sample;
    ck_assert_int_eq(read_sample("{\"name\":\"abcde\",\"priority\":1000,\"budget\":10,"
                                 "\"draft\":true,\"risk\":\"high\",\"agent\":{\"x\":1},"
                                 "\"verify\":[1,2],\"scope\":[\"aa\",\"bbb\"],\"extra\":7}",
                                 "", &sample, &tree),
                     RC_OK);
    ck_assert_str_eq(sample.name, "abcde");
    ck_assert_int_eq(sample.priority, 1000);
    ck_assert_double_eq(sample.budget, 10);
    ck_assert(sample.draft);
    ck_assert_int_eq(sample.risk, 2);
    ck_assert_int_eq(js_get_int(sample.agent, "x", 0), 1);
    ck_assert_uint_eq(js_count(sample.verify), 2);
    ck_assert_uint_eq(js_count(sample.scope), 2);
    ck_assert_int_eq(js_int(sample.extra, 0), 7);
    ck_assert_str_eq(err.text, "");
}
END_TEST

START_TEST(absent_and_null_keep_the_defaults)
{
    static const char *const texts[] = {
        "{\"name\":\"a\"}",
        "{\"name\":\"a\",\"priority\":null,\"budget\":null,\"draft\":null,\"risk\":null,"
        "\"agent\":null,\"verify\":null,\"scope\":null,\"extra\":null}"};
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        CLEANUP(js_freep) struct js *tree = NULL;
        struct sample sample;
        ck_assert_int_eq(read_sample(texts[i], "", &sample, &tree), RC_OK);
        ck_assert_int_eq(sample.priority, 100);
        ck_assert_double_eq(sample.budget, 2.5);
        ck_assert(!sample.draft);
        ck_assert_int_eq(sample.risk, 1);
        ck_assert_ptr_null(sample.agent);
        ck_assert_ptr_null(sample.verify);
        ck_assert_ptr_null(sample.scope);
        ck_assert_ptr_null(sample.extra);
    }
}
END_TEST

START_TEST(what_does_not_fit_is_refused_by_name)
{
    static const struct {
        const char *text, *code, *field, *says;
    } rows[] = {
        {"{}", "MISSING_FIELD", "name", "name is required"},
        {"{\"name\":null}", "MISSING_FIELD", "name", "name is required"},
        {"{\"name\":1}", "INVALID_FIELD", "name", "must be a string, not an integer"},
        {"{\"name\":\"\"}", "INVALID_FIELD", "name", "must not be empty"},
        {"{\"name\":\"abcdef\"}", "INVALID_FIELD", "name", "at most 5 bytes, not 6"},
        {"{\"name\":\"a\",\"priority\":-1}", "INVALID_FIELD", "priority",
         "between 0 and 1000, not -1"},
        {"{\"name\":\"a\",\"priority\":1001}", "INVALID_FIELD", "priority", "not 1001"},
        {"{\"name\":\"a\",\"priority\":1.0}", "INVALID_FIELD", "priority",
         "must be an integer, not a number"},
        {"{\"name\":\"a\",\"priority\":\"1\"}", "INVALID_FIELD", "priority", "not a string"},
        {"{\"name\":\"a\",\"budget\":10.01}", "INVALID_FIELD", "budget", "between 0 and 10"},
        {"{\"name\":\"a\",\"budget\":-1}", "INVALID_FIELD", "budget", "between 0 and 10"},
        {"{\"name\":\"a\",\"budget\":true}", "INVALID_FIELD", "budget", "not a boolean"},
        {"{\"name\":\"a\",\"draft\":0}", "INVALID_FIELD", "draft", "a boolean, not an integer"},
        {"{\"name\":\"a\",\"risk\":\"huge\"}", "INVALID_FIELD", "risk",
         "one of low, medium, high, not \"huge\""},
        {"{\"name\":\"a\",\"risk\":2}", "INVALID_FIELD", "risk", "must be a string"},
        {"{\"name\":\"a\",\"agent\":[]}", "INVALID_FIELD", "agent", "an object, not an array"},
        {"{\"name\":\"a\",\"verify\":{}}", "INVALID_FIELD", "verify", "an array, not an object"},
        {"{\"name\":\"a\",\"verify\":[1,2,3]}", "INVALID_FIELD", "verify",
         "at most 2 entries, not 3"},
        {"{\"name\":\"a\",\"scope\":[\"aa\",1]}", "INVALID_FIELD", "scope[1]",
         "scope[1] must be a string, not an integer"},
        {"{\"name\":\"a\",\"scope\":[null]}", "INVALID_FIELD", "scope[0]", "not null"},
        {"{\"name\":\"a\",\"scope\":[\"a\"]}", "INVALID_FIELD", "scope[0]", "at least 2 bytes"},
        {"{\"name\":\"a\",\"scope\":[\"aaaa\"]}", "INVALID_FIELD", "scope[0]", "at most 3 bytes"},
        {"{\"name\":\"a\",\"Name\":1}", "UNKNOWN_FIELD", "Name",
         "Name is not a known field; known are name, priority, budget"},
        {"{\"name\":\"a\",\"unwanted\":null}", "UNKNOWN_FIELD", "unwanted", "not a known field"},
        {"[]", "INVALID_FIELD", "", "the document must be an object, not an array"},
        {"null", "INVALID_FIELD", "", "the document must be an object, not null"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        CLEANUP(js_freep) struct js *tree = NULL;
        struct sample sample;
        ck_assert_int_eq(read_sample(rows[i].text, "", &sample, &tree), RC_INVALID);
        ck_assert_str_eq(err.code, rows[i].code);
        ck_assert_str_eq(err.field, rows[i].field);
        ck_assert_msg(strstr(err.text, rows[i].says) != NULL, "row %zu: %s", i, err.text);
    }
}
END_TEST

START_TEST(fields_are_named_with_their_path)
{
    CLEANUP(js_freep) struct js *tree = NULL;
    struct sample sample;
    ck_assert_int_eq(read_sample("{\"name\":3}", "verify[0]", &sample, &tree), RC_INVALID);
    ck_assert_str_eq(err.field, "verify[0].name");
    CLEANUP(js_freep) struct js *other = NULL;
    ck_assert_int_eq(read_sample("5", "agent", &sample, &other), RC_INVALID);
    ck_assert_str_eq(err.field, "agent");
    ck_assert_str_eq(err.text, "agent must be an object, not an integer");
}
END_TEST

START_TEST(the_first_error_wins_and_outputs_stay)
{
    CLEANUP(js_freep) struct js *tree = NULL;
    struct sample sample;
    ck_assert_int_eq(
        read_sample("{\"name\":1,\"priority\":5,\"risk\":\"x\",\"zz\":1}", "", &sample, &tree),
        RC_INVALID);
    ck_assert_str_eq(err.field, "name");
    ck_assert_str_eq(sample.name, "none");
    ck_assert_int_eq(sample.priority, 100);
}
END_TEST

START_TEST(callers_can_add_errors_of_their_own)
{
    CLEANUP(js_freep) struct js *tree = parsed("{}");
    struct fields fields;
    fields_open(&fields, tree, "job", &err);
    fields_fail(&fields, "queue", "queue %s is closed", "a");
    fields_fail(&fields, "other", "too late");
    ck_assert_int_eq(fields_close(&fields), RC_INVALID);
    ck_assert_str_eq(err.code, "INVALID_FIELD");
    ck_assert_str_eq(err.field, "job.queue");
    ck_assert_str_eq(err.text, "queue a is closed");
}
END_TEST

START_TEST(without_limits_the_defaults_hold)
{
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, 10000);
    buf_addf(&text, "{\"a\":\"%04096d\",\"n\":-9223372036854775807,\"r\":1e300,\"b\":\"%04097d\"}",
             0, 0);
    CLEANUP(js_freep) struct js *tree = parsed(buf_text(&text));
    const char *a = NULL, *b = NULL;
    int64_t n = 0;
    double r = 0;
    struct fields fields;
    fields_open(&fields, tree, "", &err);
    fields_string(&fields, "a", FIELD_REQUIRED, NULL, &a);
    fields_int(&fields, "n", FIELD_REQUIRED, NULL, &n);
    fields_real(&fields, "r", FIELD_REQUIRED, NULL, &r);
    ck_assert_uint_eq(strlen(a), 4096);
    ck_assert_int_eq(n, -INT64_MAX);
    ck_assert_double_eq(r, 1e300);
    fields_string(&fields, "b", FIELD_REQUIRED, &(struct field_text){0}, &b);
    ck_assert_int_eq(fields_close(&fields), RC_INVALID);
    ck_assert_str_eq(err.field, "b");
}
END_TEST

START_TEST(no_error_struct_is_fine)
{
    CLEANUP(js_freep) struct js *tree = parsed("{\"x\":1}");
    struct fields fields;
    fields_open(&fields, tree, "", NULL);
    ck_assert_int_eq(fields_close(&fields), RC_INVALID);
}
END_TEST

START_TEST(a_giant_unknown_key_is_cut_in_the_message)
{
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, 10000);
    buf_addf(&text, "{\"%05000d\":1}", 0);
    CLEANUP(js_freep) struct js *tree = parsed(buf_text(&text));
    struct fields fields;
    fields_open(&fields, tree, "", &err);
    ck_assert_int_eq(fields_close(&fields), RC_INVALID);
    ck_assert_str_eq(err.code, "UNKNOWN_FIELD");
    ck_assert_uint_eq(strlen(err.field), ERR_FIELD_MAX - 1);
    ck_assert_ptr_nonnull(strstr(err.text, "is not a known field"));
}
END_TEST

Suite *fields_suite(void)
{
    Suite *suite = suite_create("fields");
    TCase *all = tcase_create("all");
    tcase_add_test(all, a_good_document_fills_every_field);
    tcase_add_test(all, absent_and_null_keep_the_defaults);
    tcase_add_test(all, what_does_not_fit_is_refused_by_name);
    tcase_add_test(all, fields_are_named_with_their_path);
    tcase_add_test(all, the_first_error_wins_and_outputs_stay);
    tcase_add_test(all, callers_can_add_errors_of_their_own);
    tcase_add_test(all, without_limits_the_defaults_hold);
    tcase_add_test(all, no_error_struct_is_fine);
    tcase_add_test(all, a_giant_unknown_key_is_cut_in_the_message);
    suite_add_tcase(suite, all);
    return suite;
}
