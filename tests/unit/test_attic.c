/* test_attic.c - what was put aside for people stays until its time is over, and no longer. */
#include "base/fd.h"
#include "tests/unit/work_kit.h"
#include "work/attic.h"
#include "work/broom.h"
#include "work/rescue.h"
#include "work/worktree.h"
#include <check.h>

static struct kit kit;
static struct step step;

static void setup(void)
{
    struct err err = {0};
    kit_open(&kit);
    step = kit_step(&kit, &(struct kit_task){0});
    ck_assert_msg(step_prepare(&step, &err) == RC_OK, "%s", err.text);
}

static void teardown(void)
{
    kit_close(&kit);
}

/* As it would be done so many days from now. */
static void clear_after(int days)
{
    const struct attic attic = {.work_dir = kit.work_dir,
                                .keep_us = 30 * US_PER_DAY,
                                .now_us = clock_now_us(&kit.site.clock) + days * US_PER_DAY,
                                .cancel = &kit.stop.reason};
    attic_clear(&attic);
}

static const char *aside(const char *name)
{
    return arena_printf(&kit.arena, "%s/%s", kit.work_dir, name);
}

START_TEST(held_patches_and_kept_trees_go_by_the_time_they_were_put_there)
{
    const char *held = aside(arena_printf(&kit.arena, "held/%s-1.diff", kit.run_id.text));
    const char *kept = aside(arena_printf(&kit.arena, "kept/%s.2", kit.run_id.text));
    const char *theirs = aside("kept/notes.txt");
    kit_sh(&kit,
           "cd %s; mkdir -p held %s/locked; touch %s %s; touch -d 2001-01-01 %s %s; "
           "chmod 500 %s/locked %s",
           kit.work_dir, kept, held, theirs, held, kept, kept, kept);
    clear_after(29); /* Whatever an agent wrote into its tree. */
    ck_assert(file_exists(held) && file_exists(kept));
    clear_after(31);
    ck_assert(!file_exists(held) && !file_exists(kept));
    ck_assert(file_exists(theirs));
}
END_TEST

static const char *refs(void)
{
    return kit_sh(&kit, "git --git-dir=%s for-each-ref --format='%%(refname:lstrip=4)' refs/drover",
                  step.mirror);
}

START_TEST(snapshots_of_runs_that_have_left_go_by_their_date)
{
    struct err err = {0};
    struct snapshot last = {0};
    const char *base = js_get_str(kit_result(&kit), "baseCommit", "");
    ck_assert_int_eq(worktree_hand_out(&step, base, &err), RC_OK);
    kit_sh(&kit, "echo two >%s", worktree_path(&step, "tree/file.txt"));
    ck_assert_msg(rescue_snapshot(&step, "ended", &last, &err) == RC_OK, "%s", err.text);
    kit_sh(&kit, "git --git-dir=%s pack-refs --all", step.mirror);
    clear_after(31);
    ck_assert_str_eq(refs(), "1-1"); /* The run has a directory here. */
    kit_sh(&kit, "mv %s %s/away", step.run_dir, kit.dir);
    clear_after(29);
    ck_assert_str_eq(refs(), "1-1");
    clear_after(31);
    ck_assert_str_eq(refs(), "");
    ck_assert_str_eq(kit_sh(&kit, "git --git-dir=%s rev-parse main", step.mirror), base);
    kit_sh(&kit, "mv %s/away %s", kit.dir, step.run_dir);
}
END_TEST

static int64_t in_31_days(void *ctx)
{
    (void)ctx;
    const struct clock real = clock_real();
    return clock_now_us(&real) + 31 * US_PER_DAY;
}

static bool take(void *ctx, const struct id *run_id)
{
    (void)ctx, (void)run_id;
    return false;
}

START_TEST(a_round_of_the_broom_keeps_as_long_as_it_is_told)
{
    const char *held = aside(arena_printf(&kit.arena, "held/%s-1.diff", kit.run_id.text));
    kit_sh(&kit, "mkdir %s/held; touch %s", kit.work_dir, held);
    kit.site.clock = (struct clock){.now_us = in_31_days};
    struct broom broom = {.site = &kit.site, .stop = &kit.stop, .take = take};
    broom_round(&broom); /* For ever. */
    broom.keep_days = 32;
    broom_round(&broom);
    ck_assert(file_exists(held));
    broom.keep_days = 30;
    broom_round(&broom);
    ck_assert(!file_exists(held));
}
END_TEST

Suite *attic_suite(void)
{
    Suite *suite = suite_create("attic");
    TCase *tests = tcase_create("attic");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 30);
    tcase_add_test(tests, held_patches_and_kept_trees_go_by_the_time_they_were_put_there);
    tcase_add_test(tests, snapshots_of_runs_that_have_left_go_by_their_date);
    tcase_add_test(tests, a_round_of_the_broom_keeps_as_long_as_it_is_told);
    suite_add_tcase(suite, tests);
    return suite;
}
