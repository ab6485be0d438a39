/*
 * test_homeseed.c - a home that is copied: what comes along, and what is refused.
 */
#include "base/arena.h"
#include "base/buf.h"
#include "base/fd.h"
#include "tests/unit/suites.h"
#include "work/sandbox/homeseed.h"
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[] = "/tmp/drover-home-XXXXXX";
static struct arena arena;
static struct err err;

static const char *at(const char *name)
{
    return arena_printf(&arena, "%s/%s", dir, name);
}

static void setup(void)
{
    ck_assert_ptr_nonnull(mkdtemp(dir));
    ck_assert_int_eq(dir_make(at("data/work"), 0700, NULL), RC_OK);
    ck_assert_int_eq(dir_make(at("seed/a/b"), 0700, NULL), RC_OK);
    ck_assert_int_eq(file_write_durable(at("seed/a/b/key"), "secret", 6, 0640, NULL), RC_OK);
    ck_assert_int_eq(symlink("a/b/key", at("seed/link")), 0);
    ck_assert_int_eq(symlink("/nowhere", at("seed/broken")), 0);
    ck_assert_int_eq(mkfifo(at("seed/pipe"), 0600), 0);
}

static void teardown(void)
{
    arena_release(&arena);
    ck_assert_int_eq(dir_remove(dir, NULL), RC_OK);
}

static bool kept;
static const char *owner;

static enum rc make(const char *seed)
{
    const struct sandbox sandbox = {.data_dir = at("data")};
    const struct homeseed homeseed = {at("data/work/home"), seed, owner, &sandbox};
    return homeseed_make(&homeseed, &kept, &err);
}

START_TEST(a_copy_of_another_boot_is_made_anew)
{
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, 100);
    ck_assert_msg(make(at("seed")) == RC_OK, "%s", err.text);
    ck_assert_int_eq(truncate(at("data/work/home/a/b/key"), 0), 0);
    ck_assert_int_eq(file_write_durable(at("data/work/home.boot"), "another", 7, 0600, NULL),
                     RC_OK);
    ck_assert_msg(make(at("seed")) == RC_OK, "%s", err.text);
    ck_assert_int_eq(file_read(at("data/work/home/a/b/key"), &text, NULL), RC_OK);
    ck_assert_str_eq(buf_text(&text), "secret");
}
END_TEST

START_TEST(files_and_links_come_along_and_nothing_else)
{
    struct stat status;
    char target[PATH_MAX] = "";
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, 100);
    ck_assert_msg(make(at("seed")) == RC_OK, "%s", err.text);
    ck_assert_int_eq(file_read(at("data/work/home/a/b/key"), &text, NULL), RC_OK);
    ck_assert_str_eq(buf_text(&text), "secret");
    ck_assert_int_eq(stat(at("data/work/home/a/b/key"), &status), 0);
    ck_assert_int_eq(status.st_mode & 0777, 0640);
    ck_assert_int_eq((int)readlink(at("data/work/home/link"), target, sizeof target), 7);
    ck_assert_str_eq(target, "a/b/key");
    ck_assert_int_eq(lstat(at("data/work/home/broken"), &status), 0);
    ck_assert_int_ne(lstat(at("data/work/home/pipe"), &status), 0);
    ck_assert(!file_exists(at("data/work/home.part")));
}
END_TEST

START_TEST(a_home_that_is_there_stays_as_it_is)
{
    ck_assert_int_eq(make(NULL), RC_OK);
    ck_assert(!kept);
    ck_assert_int_eq(dir_make(at("data/work/home/own"), 0700, NULL), RC_OK);
    ck_assert_int_eq(make(NULL), RC_OK);
    ck_assert(kept && file_exists(at("data/work/home/own")));
}
END_TEST

/* Another account, or another agent: what the first one left would not fit. */
START_TEST(a_home_of_another_owner_is_made_anew)
{
    static const char *const owners[] = {NULL, "one 1", "one 2", "two 2", NULL};
    for (size_t i = 0; i < COUNT_OF(owners); i++) {
        owner = owners[i];
        ck_assert_msg(make(at("seed")) == RC_OK, "%s", err.text);
        ck_assert(!kept && !file_exists(at("data/work/home/login")));
        ck_assert_int_eq(file_write_durable(at("data/work/home/login"), "x", 1, 0600, NULL), RC_OK);
        ck_assert_msg(make(at("seed")) == RC_OK, "%s", err.text);
        ck_assert(kept && file_exists(at("data/work/home/login")));
    }
}
END_TEST

START_TEST(a_home_of_another_seed_is_made_anew)
{
    ck_assert_int_eq(make(NULL), RC_OK);
    ck_assert_int_eq(dir_make(at("data/work/home/own"), 0700, NULL), RC_OK);
    ck_assert_int_eq(make(at("seed")), RC_OK);
    ck_assert(!kept && file_exists(at("data/work/home/a")));
    ck_assert(!file_exists(at("data/work/home/own")));
}
END_TEST

START_TEST(what_a_crash_left_half_done_is_made_anew)
{
    ck_assert_int_eq(dir_make(at("data/work/home.part/old"), 0700, NULL), RC_OK);
    ck_assert_int_eq(make(at("seed")), RC_OK);
    ck_assert(!file_exists(at("data/work/home/old")));
}
END_TEST

START_TEST(the_data_directory_and_what_is_round_it_are_refused)
{
    const char *const bad[] = {at("data"), at("data/work"), dir,
                               "/",        at("nothing"),   at("seed/a/b/key")};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        ck_assert_msg(make(bad[i]) == RC_INVALID, "%s", bad[i]);
        ck_assert(!file_exists(at("data/work/home")));
    }
    ck_assert_int_eq(symlink(at("data"), at("alias")), 0);
    ck_assert_int_eq(make(at("alias")), RC_INVALID);
}
END_TEST

START_TEST(what_is_too_deep_is_refused)
{
    const char *path = at("seed");
    for (int i = 0; i < HOMESEED_DEPTH_MAX + 2; i++)
        path = arena_printf(&arena, "%s/d", path);
    ck_assert_int_eq(dir_make(path, 0700, NULL), RC_OK);
    ck_assert_int_eq(make(at("seed")), RC_INVALID);
    ck_assert_str_eq(err.code, "HOME_TOO_LARGE");
}
END_TEST

Suite *homeseed_suite(void)
{
    Suite *suite = suite_create("homeseed");
    TCase *tests = tcase_create("home");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, files_and_links_come_along_and_nothing_else);
    tcase_add_test(tests, a_copy_of_another_boot_is_made_anew);
    tcase_add_test(tests, a_home_that_is_there_stays_as_it_is);
    tcase_add_test(tests, a_home_of_another_seed_is_made_anew);
    tcase_add_test(tests, a_home_of_another_owner_is_made_anew);
    tcase_add_test(tests, what_a_crash_left_half_done_is_made_anew);
    tcase_add_test(tests, the_data_directory_and_what_is_round_it_are_refused);
    tcase_add_test(tests, what_is_too_deep_is_refused);
    suite_add_tcase(suite, tests);
    return suite;
}
