/* test_sweep.c - old directories of runs go, all else stays. */
#include "base/clock.h"
#include "base/fd.h"
#include "tests/unit/suites.h"
#include "work/tree/sweep.h"
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#define OLD    "01a1e111-4280-788b-8f9d-658fd086a1f4"
#define BUSY   "01a1e111-4280-788b-8f9d-658fd086a1f5"
#define UNSAFE "01a1e111-4280-788b-8f9d-658fd086a1f7"
#define FRESH  "01a1e111-4280-788b-8f9d-658fd086a1f6"

static char dir[] = "/tmp/drover-sweep-XXXXXX";
static struct arena arena;
static int left;

static const char *place(const char *name)
{
    return arena_printf(&arena, "%s/runs/%s", dir, name);
}

static void make(const char *name, bool old)
{
    const struct timespec long_ago[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    ck_assert_int_eq(dir_make(arena_printf(&arena, "%s/tree", place(name)), 0700, NULL), RC_OK);
    if (old)
        ck_assert_int_eq(utimensat(AT_FDCWD, place(name), long_ago, 0), 0);
}

static bool take(void *ctx, const struct id *run_id)
{
    (void)ctx;
    return !text_same(run_id->text, BUSY);
}

static bool save(void *ctx, const struct id *run_id)
{
    (void)ctx;
    return !text_same(run_id->text, UNSAFE);
}

static void leave(void *ctx)
{
    (void)ctx;
    left++;
}

START_TEST(only_what_is_old_safe_and_not_in_use_is_removed)
{
    struct clock clock = clock_real();
    ck_assert_ptr_nonnull(mkdtemp(dir));
    make(OLD, true);
    make(BUSY, true);
    make(UNSAFE, true);
    make(FRESH, false);
    make("not-a-run", true);
    const struct sweep sweep = {.work_dir = dir,
                                .unused_us = US_PER_HOUR,
                                .now_us = clock_now_us(&clock),
                                .save = save,
                                .take = take,
                                .leave = leave};
    ck_assert_int_eq(sweep_runs(&sweep), 1);
    ck_assert_int_eq(left, 2);
    ck_assert(!file_exists(place(OLD)));
    ck_assert(file_exists(place(BUSY)));
    ck_assert(file_exists(place(UNSAFE)));
    ck_assert(file_exists(place(FRESH)));
    ck_assert(file_exists(place("not-a-run")));
    make(OLD, true);
    sweep_touch(place(OLD));
    ck_assert_int_eq(sweep_runs(&sweep), 0);
    ck_assert_int_eq(dir_remove(dir, NULL), RC_OK);
    arena_release(&arena);
}
END_TEST

Suite *sweep_suite(void)
{
    Suite *suite = suite_create("sweep");
    TCase *tests = tcase_create("sweep");
    tcase_add_test(tests, only_what_is_old_safe_and_not_in_use_is_removed);
    suite_add_tcase(suite, tests);
    return suite;
}
