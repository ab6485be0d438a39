#include "core/traceparent.h"
#include <check.h>
#include <string.h>

#define TRACE  "0af7651916cd43dd8448eb211c80319c"
#define PARENT "b7ad6b7169203331"

static const struct {
    const char *text;
    bool valid;
} texts[] = {
    {"00-" TRACE "-" PARENT "-01", true},
    {"00-" TRACE "-" PARENT "-00", true},
    {"01-" TRACE "-" PARENT "-ff", true},
    {NULL, false},
    {"", false},
    {"ff-" TRACE "-" PARENT "-01", false},
    {"00-" TRACE "-" PARENT "-1", false},
    {"00-" TRACE "-" PARENT "-011", false},
    {"01-" TRACE "-" PARENT "-01-more", false},
    {"00-00000000000000000000000000000000-" PARENT "-01", false},
    {"00-" TRACE "-0000000000000000-01", false},
    {"00-0AF7651916CD43DD8448EB211C80319C-" PARENT "-01", false},
    {"00-0af7651916cd43dd8448eb211c80319-" PARENT "c-01", false},
    {"00_" TRACE "-" PARENT "-01", false},
    {"00-" TRACE "_" PARENT "-01", false},
    {"00-" TRACE "-" PARENT "_01", false},
    {"0x-" TRACE "-" PARENT "-01", false},
    {"00-" TRACE "-" PARENT "-0 ", false},
};

START_TEST(only_the_form_of_the_standard_is_taken)
{
    ck_assert_msg(traceparent_valid(texts[_i].text) == texts[_i].valid, "%s", texts[_i].text);
}
END_TEST

START_TEST(ids_make_a_trace)
{
    char text[TRACEPARENT_BYTES];
    struct id flow, run;
    ck_assert(id_parse("01a1ed2c-cd7b-7b43-8aa1-b0de44719dde", &flow));
    ck_assert(id_parse("01a1ed2c-cd7b-7b47-a3ab-aadd1ebf6c63", &run));
    traceparent_of_ids(&flow, &run, text);
    ck_assert_str_eq(text, "00-01a1ed2ccd7b7b438aa1b0de44719dde-a3abaadd1ebf6c63-01");
    ck_assert(traceparent_valid(text));
}
END_TEST

Suite *traceparent_suite(void)
{
    Suite *suite = suite_create("traceparent");
    TCase *tc = tcase_create("traceparent");
    tcase_add_loop_test(tc, only_the_form_of_the_standard_is_taken, 0, (int)COUNT_OF(texts));
    tcase_add_test(tc, ids_make_a_trace);
    suite_add_tcase(suite, tc);
    return suite;
}
