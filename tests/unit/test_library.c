/* test_library.c - libraries that are loaded when they are first needed. */
#include "base/library.h"
#include "tests/unit/suites.h"
#include <string.h>

static void keep(void)
{
}

START_TEST(a_library_that_is_not_there_is_named_with_its_package)
{
    const struct library_function functions[] = {{NULL, NULL}};
    const struct library library = {"libdrover-is-not-there.so.7", "drover-extras", functions};
    struct err err = {0};
    ck_assert_int_eq(library_load(&library, &err), RC_IO);
    ck_assert_str_eq(err.code, "LIBRARY_MISSING");
    ck_assert_ptr_nonnull(strstr(err.text, "libdrover-is-not-there.so.7"));
    ck_assert_ptr_nonnull(strstr(err.text, "install the package drover-extras"));
}
END_TEST

START_TEST(a_library_without_a_function_gives_none)
{
    void (*there)(void) = keep, (*absent)(void) = keep;
    const struct library_function functions[] = {
        {"strlen", &there}, {"drover_is_not_there", &absent}, {NULL, NULL}};
    const struct library library = {"libc.so.6", "libc6", functions};
    struct err err = {0};
    ck_assert_int_eq(library_load(&library, &err), RC_IO);
    ck_assert_str_eq(err.code, "LIBRARY_MISSING");
    ck_assert_ptr_nonnull(strstr(err.text, "drover_is_not_there"));
    ck_assert(there == keep && absent == keep);
}
END_TEST

START_TEST(a_loaded_function_can_be_called)
{
    size_t (*length)(const char *) = NULL;
    const struct library_function functions[] = {{"strlen", &length}, {NULL, NULL}};
    const struct library library = {"libc.so.6", "libc6", functions};
    ck_assert_int_eq(library_load(&library, NULL), RC_OK);
    ck_assert_uint_eq(length("seven .."), 8);
}
END_TEST

Suite *library_suite(void)
{
    Suite *suite = suite_create("library");
    TCase *tcase = tcase_create("library");
    tcase_add_test(tcase, a_library_that_is_not_there_is_named_with_its_package);
    tcase_add_test(tcase, a_library_without_a_function_gives_none);
    tcase_add_test(tcase, a_loaded_function_can_be_called);
    suite_add_tcase(suite, tcase);
    return suite;
}
