/* test_slots.c - how many slots each class of steps gets. */
#include "base/str.h"
#include "tests/unit/suites.h"
#include "work/job/slots.h"
#include "work/job/step.h"
#include <string.h>

START_TEST(a_text_names_one_number_or_one_for_each_class)
{
    static const struct {
        const char *text;
        int plain, of[STEP_CLASS_COUNT]; /* plain -1: refused */
    } rows[] = {
        {"1", 1, {0, 0, 0}},
        {"256", 256, {0, 0, 0}},
        {"agent=8,check=4,short=2", 0, {8, 4, 2}},
        {"check=4", 0, {0, 4, 0}},
        {"short=3,agent=1", 0, {1, 0, 3}},
        {"0", -1, {0}},
        {"257", -1, {0}},
        {"-1", -1, {0}},
        {"", -1, {0}},
        {"x", -1, {0}},
        {"agent", -1, {0}},
        {"agent=", -1, {0}},
        {"agent=0", -1, {0}},
        {"agent=1,", -1, {0}},
        {"agent=1,agent=2", -1, {0}},
        {"agent=1;check=2", -1, {0}},
        {"agents=1", -1, {0}},
        {"agent=99999999999999999999", -1, {0}},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        int plain = -1;
        struct slots slots = {{7, 7, 7}};
        struct err err = {0};
        enum rc rc = slots_parse(rows[i].text, &plain, &slots, &err);
        ck_assert_msg(rc == (rows[i].plain < 0 ? RC_INVALID : RC_OK), "%s", rows[i].text);
        ck_assert_msg(plain == rows[i].plain, "%s", rows[i].text);
        if (rc == RC_OK)
            ck_assert_mem_eq(slots.of, rows[i].of, sizeof slots.of);
        else
            ck_assert_str_eq(err.field, "slots");
    }
}
END_TEST

START_TEST(every_class_that_is_served_has_a_slot)
{
    static const char *const checks[] = {"drover.judge", "drover.verify", NULL};
    static const char *const last[] = {"drover.notify", NULL};
    const struct step_queues all = step_queues();
    const struct {
        const char *const *queues;
        int plain, given[STEP_CLASS_COUNT], of[STEP_CLASS_COUNT];
        enum step_class main;
    } rows[] = {
        {all.names, 1, {0}, {1, 1, 2}, CLASS_AGENT},
        {all.names, 4, {0}, {4, 2, 2}, CLASS_AGENT},
        {all.names, 8, {0}, {8, 4, 4}, CLASS_AGENT},
        {all.names, 0, {6, 0, 0}, {6, 3, 3}, CLASS_AGENT},
        {all.names, 4, {0, 9, 1}, {4, 9, 1}, CLASS_AGENT},
        {checks, 8, {0}, {0, 8, 0}, CLASS_CHECK},
        {checks, 8, {5, 3, 5}, {0, 3, 0}, CLASS_CHECK},
        {last, 1, {0}, {0, 0, 1}, CLASS_SHORT},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct slots slots;
        memcpy(slots.of, rows[i].given, sizeof slots.of);
        slots_fill(&slots, rows[i].plain, rows[i].queues);
        for (int class = 0; class < STEP_CLASS_COUNT; class ++)
            ck_assert_msg(slots.of[class] == rows[i].of[class], "row %zu, %s: %d", i,
                          class_name((enum step_class) class), slots.of[class]);
        ck_assert_int_eq(slots_main(&slots), rows[i].main);
    }
}
END_TEST

Suite *slots_suite(void)
{
    Suite *suite = suite_create("slots");
    TCase *tests = tcase_create("slots");
    tcase_add_test(tests, a_text_names_one_number_or_one_for_each_class);
    tcase_add_test(tests, every_class_that_is_served_has_a_slot);
    suite_add_tcase(suite, tests);
    return suite;
}
