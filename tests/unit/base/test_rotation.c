/*
 * test_rotation.c - older files get the next number; the oldest is replaced when all are taken.
 */
#include "base/fd.h"
#include "base/rotation.h"
#include "tests/unit/suites.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char dir[] = "/tmp/rotation-XXXXXX";

static const char *path_of(const char *name)
{
    static char path[128];
    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static void put(const char *name, const char *text)
{
    struct err err = {0};
    ck_assert_int_eq(file_write_durable(path_of(name), text, strlen(text), 0600, &err), RC_OK);
}

/* "" when it is not there. */
static const char *get(const char *name)
{
    static struct buf text;
    struct err err = {0};
    buf_release(&text);
    buf_init(&text, 100);
    return file_read(path_of(name), &text, &err) == RC_OK ? buf_text(&text) : "";
}

START_TEST(files_move_up_and_the_oldest_is_replaced)
{
    char path[128];
    struct err err = {0};
    ck_assert_ptr_nonnull(mkdtemp(dir));
    (void)snprintf(path, sizeof path, "%s", path_of("log"));
    for (int i = 1; i <= 4; i++) {
        put("log", (char[]){(char)('0' + i), '\0'});
        ck_assert_int_eq(rotation_move(path, 2, &err), RC_OK);
        ck_assert_str_eq(get("log"), "");
    }
    ck_assert_str_eq(get("log.1"), "4");
    ck_assert_str_eq(get("log.2"), "3");
    ck_assert_str_eq(get("log.3"), "");
    ck_assert_int_eq(rotation_move(path, 2, &err), RC_OK); /* Nothing is there: nothing is lost. */
    ck_assert_int_eq(dir_remove(dir, &err), RC_OK);
}
END_TEST

static const struct {
    const char *other;
    bool has;
} names[] = {
    {"/a/log.1", true},   {"/a/log.3", true},    {"/a/log.4", false}, {"/a/log.0", false},
    {"/a/log", false},    {"/a/log.x", false},   {"/a/log.", false},  {"/b/log.1", false},
    {"/a/logs.1", false}, {"/a/log.1.2", false},
};

START_TEST(names_of_older_files_are_known)
{
    ck_assert_int_eq(rotation_has("/a/log", 3, names[_i].other), names[_i].has);
}
END_TEST

Suite *rotation_suite(void)
{
    Suite *suite = suite_create("rotation");
    TCase *tc = tcase_create("rotation");
    tcase_add_test(tc, files_move_up_and_the_oldest_is_replaced);
    tcase_add_loop_test(tc, names_of_older_files_are_known, 0, (int)COUNT_OF(names));
    suite_add_tcase(suite, tc);
    return suite;
}
