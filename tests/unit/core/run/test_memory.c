/*
 * test_memory.c - which memories a run is told.
 */
#include "core/run/memory.h"
#include "tests/unit/suites.h"
#include <string.h>

static const char *const billing[] = {"src/billing/vat.c", "tests/vat_test.c"};
static const char *const web[] = {"web/index.html"};
static const char *const docs[] = {"docs/vat.md"};

/* Letters of the notes in the order they are chosen, newest last in the table. */
static const struct memory_note notes[] = {
    {"Rounded the tax of an invoice", billing, 2, 10, 0, NULL}, /* a */
    {"Moved the menu", web, 1, 20, 0, NULL},                    /* b */
    {"Explained reverse charge", docs, 1, 30, 0, NULL},         /* c */
    {"Bumped a version", NULL, 0, 40, 0, NULL},                 /* d */
};

static const char *const in_billing[] = {"src/billing/**"};
static const char *const in_web[] = {"web/*"};

static const struct {
    const char *description;
    const char *const *scope;
    const char *want;
} rows[] = {
    {"Something else entirely", NULL, "dcba"}, /* Nothing in common: the newest first. */
    {"Fix the VAT", NULL, "cadb"},             /* Both have vat in a path; the newer first. */
    {"Fix the VAT", in_billing, "acdb"},
    {"Fix the VAT", in_web, "bcad"},
    {"the invoice is wrong", NULL, "adcb"},
    {"INDEX.HTML is broken", NULL, "bdca"},
    {NULL, in_billing, "adcb"},
    {NULL, NULL, "dcba"},
};

START_TEST(same_paths_come_first_then_common_words_then_the_newest)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct memory_note mine[COUNT_OF(notes)];
    memcpy(mine, notes, sizeof notes);
    const struct memory_topic topic = {rows[_i].description, rows[_i].scope,
                                       rows[_i].scope != NULL};
    ck_assert_uint_eq(memory_choose(&topic, mine, COUNT_OF(mine), &arena), COUNT_OF(mine));
    char got[COUNT_OF(notes) + 1] = "";
    for (size_t i = 0; i < COUNT_OF(mine); i++)
        got[i] = (char)('a' + mine[i].created_us / 10 - 1);
    ck_assert_str_eq(got, rows[_i].want);
}
END_TEST

START_TEST(few_are_told_and_not_at_length)
{
    CLEANUP(arena_release) struct arena arena = {0};
    static char text[MEMORY_SUMMARY_MAX + 1];
    memset(text, 'x', sizeof text - 1);
    struct memory_note many[20] = {0};
    for (size_t i = 0; i < COUNT_OF(many); i++)
        many[i] = (struct memory_note){.summary = "short", .created_us = (int64_t)i};
    const struct memory_topic topic = {.description = "anything"};
    ck_assert_uint_eq(memory_choose(&topic, many, COUNT_OF(many), &arena), MEMORY_NOTES_MAX);
    for (size_t i = 0; i < COUNT_OF(many); i++)
        many[i].summary = text;
    ck_assert_uint_eq(memory_choose(&topic, many, COUNT_OF(many), &arena),
                      MEMORY_BYTES_MAX / MEMORY_SUMMARY_MAX);
    ck_assert_uint_eq(memory_choose(&topic, many, 0, &arena), 0);
}
END_TEST

Suite *memory_suite(void)
{
    Suite *suite = suite_create("memory");
    TCase *tests = tcase_create("memory");
    tcase_add_loop_test(tests, same_paths_come_first_then_common_words_then_the_newest, 0,
                        (int)COUNT_OF(rows));
    tcase_add_test(tests, few_are_told_and_not_at_length);
    suite_add_tcase(suite, tests);
    return suite;
}
