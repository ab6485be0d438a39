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
    const struct library library = {"libdrover-is-not-there.so.7", "drover-extras", functions,
                                    NULL};
    struct library_once once = {.lock = PTHREAD_MUTEX_INITIALIZER};
    struct err err = {0};
    ck_assert_int_eq(library_load(&library, &once, &err), RC_IO);
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
    const struct library library = {"libc.so.6", "libc6", functions, NULL};
    struct library_once once = {.lock = PTHREAD_MUTEX_INITIALIZER};
    struct err err = {0};
    ck_assert_int_eq(library_load(&library, &once, &err), RC_IO);
    ck_assert_str_eq(err.code, "LIBRARY_MISSING");
    ck_assert_ptr_nonnull(strstr(err.text, "drover_is_not_there"));
    ck_assert(there == keep && absent == keep);
}
END_TEST

START_TEST(a_loaded_function_can_be_called)
{
    size_t (*length)(const char *) = NULL;
    const struct library_function functions[] = {{"strlen", &length}, {NULL, NULL}};
    const struct library library = {"libc.so.6", "libc6", functions, NULL};
    struct library_once once = {.lock = PTHREAD_MUTEX_INITIALIZER};
    ck_assert_int_eq(library_load(&library, &once, NULL), RC_OK);
    ck_assert_uint_eq(length("seven .."), 8);
}
END_TEST

static int starts;

static enum rc start_badly(struct err *err)
{
    starts++;
    return err_set(err, RC_IO, "WILL_NOT", "it will not start");
}

START_TEST(it_is_tried_once_and_all_hear_what_came_of_it)
{
    const struct library_function functions[] = {{NULL, NULL}};
    const struct library library = {"libc.so.6", "libc6", functions, start_badly};
    struct library_once once = {.lock = PTHREAD_MUTEX_INITIALIZER};
    for (int i = 0; i < 3; i++) {
        struct err err = {0};
        ck_assert_int_eq(library_load(&library, &once, &err), RC_IO);
        ck_assert_str_eq(err.code, "WILL_NOT");
    }
    ck_assert_int_eq(starts, 1);
}
END_TEST

Suite *library_suite(void)
{
    Suite *suite = suite_create("library");
    TCase *tcase = tcase_create("library");
    tcase_add_test(tcase, a_library_that_is_not_there_is_named_with_its_package);
    tcase_add_test(tcase, a_library_without_a_function_gives_none);
    tcase_add_test(tcase, a_loaded_function_can_be_called);
    tcase_add_test(tcase, it_is_tried_once_and_all_hear_what_came_of_it);
    suite_add_tcase(suite, tcase);
    return suite;
}
