/*
 * test_run_user.c - users of runs, and how directories are handed over to them.
 */
#include "base/arena.h"
#include "base/buf.h"
#include "base/fd.h"
#include "tests/unit/suites.h"
#include "work/sandbox/run_user.h"
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[] = "/tmp/drover-run-user-XXXXXX";
static struct arena arena;

static void setup(void)
{
    ck_assert_ptr_nonnull(mkdtemp(dir));
}

static void teardown(void)
{
    arena_release(&arena);
    ck_assert_int_eq(dir_remove(dir, NULL), RC_OK);
}

static const char *at(const char *name)
{
    return arena_printf(&arena, "%s/%s", dir, name);
}

static uid_t owner(const char *path)
{
    struct stat status;
    ck_assert_int_eq(lstat(path, &status), 0);
    return status.st_uid;
}

START_TEST(a_name_has_one_user_within_the_range)
{
    uid_t one = run_user_of("01a1e111-4280-788b-8f9d-658fd086a1f4");
    ck_assert_uint_eq(one, run_user_of("01a1e111-4280-788b-8f9d-658fd086a1f4"));
    ck_assert_uint_ne(one, run_user_of("01a1e111-4280-788b-8f9d-658fd086a1f5"));
    ck_assert_uint_ge(one, RUN_USER_FIRST);
    ck_assert_uint_lt(one, (uid_t)RUN_USER_FIRST + RUN_USER_COUNT);
    ck_assert_uint_ge(run_user_of(NULL), RUN_USER_FIRST);
}
END_TEST

START_TEST(a_tree_is_handed_over_but_not_what_its_links_point_to)
{
    if (geteuid() != 0)
        return;
    uid_t user = run_user_of("x");
    ck_assert_int_eq(dir_make(at("tree/a/b"), 0700, NULL), RC_OK);
    ck_assert_int_eq(file_write_durable(at("tree/a/b/file"), "x", 1, 0600, NULL), RC_OK);
    ck_assert_int_eq(file_write_durable(at("outside"), "x", 1, 0600, NULL), RC_OK);
    ck_assert_int_eq(symlink(at("outside"), at("tree/a/link")), 0);
    ck_assert_int_eq(run_user_give(at("tree"), user, NULL), RC_OK);
    ck_assert_uint_eq(owner(at("tree")), user);
    ck_assert_uint_eq(owner(at("tree/a/b/file")), user);
    ck_assert_uint_eq(owner(at("tree/a/link")), user);
    ck_assert_uint_eq(owner(at("outside")), 0);
    /* Once its top is the user's, what is in it is not looked at again. */
    ck_assert_int_eq(file_write_durable(at("tree/late"), "x", 1, 0600, NULL), RC_OK);
    ck_assert_int_eq(run_user_give(at("tree"), user, NULL), RC_OK);
    ck_assert_uint_eq(owner(at("tree/late")), 0);
}
END_TEST

START_TEST(what_is_not_there_cannot_be_handed_over)
{
    ck_assert_int_eq(run_user_give(at("nothing"), run_user_of("x"), NULL), RC_IO);
}
END_TEST

START_TEST(the_user_stands_in_its_file_of_users)
{
    int fd = -1;
    char text[8192];
    ck_assert_int_eq(run_user_passwd(run_user_of("x"), "/home/x", &fd, NULL), RC_OK);
    ssize_t got = read(fd, text, sizeof text - 1);
    ck_assert_int_gt(got, 0);
    text[got] = '\0';
    ck_assert_ptr_nonnull(
        strstr(text, arena_printf(&arena, "drover:x:%u:%u:drover:/home/x:/bin/sh",
                                  (unsigned)run_user_of("x"), (unsigned)run_user_of("x"))));
    fd_close(fd);
}
END_TEST

Suite *run_user_suite(void)
{
    Suite *suite = suite_create("run_user");
    TCase *tests = tcase_create("users");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, a_name_has_one_user_within_the_range);
    tcase_add_test(tests, a_tree_is_handed_over_but_not_what_its_links_point_to);
    tcase_add_test(tests, what_is_not_there_cannot_be_handed_over);
    tcase_add_test(tests, the_user_stands_in_its_file_of_users);
    suite_add_tcase(suite, tests);
    return suite;
}
