/* test_retention.c - what runs have left: unpublished work stays until a person deletes it. */
#include "base/fd.h"
#include "tests/unit/work_kit.h"
#include "work/tree/housekeeping.h"
#include "work/tree/publication.h"
#include "work/tree/rescue.h"
#include "work/tree/retention.h"
#include "work/tree/worktree.h"
#include <check.h>

static struct kit kit;
static struct step step;
static struct retention retention;
static struct err err;
static const char *base;

static void setup(void)
{
    kit_open(&kit);
    err = (struct err){0};
    base = kit_sh(&kit, "git --git-dir=origin.git rev-parse main");
    step = kit_step(&kit, &(struct kit_task){
                              .payload = arena_printf(&kit.arena, "\"baseCommit\":\"%s\"", base)});
    retention = (struct retention){.work_dir = kit.work_dir, .cancel = &kit.stop.reason};
    ck_assert_msg(step_prepare(&step, &err) == RC_OK, "%s", err.text);
}

static void teardown(void)
{
    kit_close(&kit);
}

/* As it would be done so many days from now, with 30 days to keep. */
static void clear_after(int days)
{
    retention_clear(&retention, clock_now_us(&kit.site.clock) + (days - 30) * US_PER_DAY);
}

static const char *aside(const char *name)
{
    return arena_printf(&kit.arena, "%s/%s", kit.work_dir, name);
}

static struct snapshot take(const char *text)
{
    struct snapshot last = {0};
    ck_assert_int_eq(worktree_hand_out(&step, base, &err), RC_OK);
    kit_sh(&kit, "echo %s >%s", text, worktree_path(&step, "tree/file.txt"));
    ck_assert_msg(rescue_snapshot(&step, "ended", &last, &err) == RC_OK, "%s", err.text);
    return last;
}

/* The run has no directory here any more. */
static void leave(void)
{
    kit_sh(&kit, "rm -rf %s", step.run_dir);
}

static const char *refs(void)
{
    return kit_sh(&kit,
                  "git --git-dir=%s for-each-ref --format='%%(refname:lstrip=4)' "
                  "refs/drover/snapshots",
                  mirror_snapshots(&step));
}

static const struct retention_item *only_item(void)
{
    const struct retention_item *item = retention_list(&retention, &kit.arena, NULL);
    ck_assert_ptr_nonnull(item);
    ck_assert_ptr_null(item->next);
    return item;
}

START_TEST(held_patches_and_kept_trees_stay_until_they_are_removed)
{
    const char *held = aside(arena_printf(&kit.arena, "held/%s-1.diff", kit.run_id.text));
    const char *kept = aside(arena_printf(&kit.arena, "kept/%s.2", kit.run_id.text));
    const char *theirs = aside("kept/notes.txt");
    kit_sh(&kit,
           "cd %s; mkdir -p held %s/locked; echo x >%s; echo y >%s/made; touch %s; "
           "touch -d 2001-01-01 %s %s; chmod 500 %s/locked %s",
           kit.work_dir, kept, held, kept, theirs, held, kept, kept, kept);
    retention_note(kit.work_dir, &kit.run_id, "acme/noted");
    leave();
    clear_after(3650);
    ck_assert(file_exists(held) && file_exists(kept));
    int count = 0;
    int64_t minute_ago_us = clock_now_us(&kit.site.clock) - 60 * US_PER_SECOND;
    for (const struct retention_item *item = retention_list(&retention, &kit.arena, NULL);
         item != NULL; item = item->next) {
        ck_assert_str_eq(item->run_id.text, kit.run_id.text);
        ck_assert_str_eq(item->repository, "acme/noted");
        ck_assert(!item->published);
        ck_assert_int_gt(item->bytes, 0);
        ck_assert_int_gt(item->put_us, minute_ago_us); /* Not what an agent wrote into its tree. */
        ck_assert_int_eq(retention_remove(&retention, item, &err), RC_OK);
        count++;
    }
    ck_assert_int_eq(count, 2);
    ck_assert(!file_exists(held) && !file_exists(kept) && file_exists(theirs));
}
END_TEST

START_TEST(snapshots_that_no_origin_has_stay_until_they_are_removed)
{
    (void)take("two");
    ck_assert_ptr_null(
        retention_list(&retention, &kit.arena, NULL)); /* The run has a directory here. */
    leave();
    kit_sh(&kit, "git --git-dir=%s pack-refs --all", mirror_snapshots(&step));
    clear_after(3650);
    ck_assert_str_eq(refs(), "1-1");
    const struct retention_item *item = only_item();
    ck_assert_int_eq(item->kind, RETENTION_SNAPSHOTS);
    ck_assert_int_eq(item->count, 1);
    ck_assert_int_gt(item->bytes, 0);
    ck_assert(!item->published);
    ck_assert_int_eq(retention_total(&retention).count, 1);
    ck_assert_int_eq(retention_total(&retention).bytes, item->bytes);
    ck_assert_int_eq(retention_remove(&retention, item, &err), RC_OK);
    ck_assert_str_eq(refs(), "");
    ck_assert_str_eq(kit_sh(&kit, "git --git-dir=%s rev-parse main", step.mirror), base);
}
END_TEST

START_TEST(a_snapshot_that_the_origin_has_goes_by_its_date_with_those_before_it)
{
    const char *ref = NULL;
    bool fresh = false;
    (void)take("two");
    struct snapshot last = take("three");
    ck_assert_msg(snapshot_push(&step, &last, &ref, &fresh, &err) == RC_OK, "%s", err.text);
    ck_assert_msg(publication_confirm(&step, &last, ref, &err) == RC_OK, "%s", err.text);
    clear_after(31);
    ck_assert_str_eq(refs(), "1-1\n1-2"); /* The run has a directory here. */
    (void)take("four");
    leave();
    ck_assert_int_eq(retention_total(&retention).count, 1);
    clear_after(29);
    ck_assert_str_eq(refs(), "1-1\n1-2\n1-3");
    clear_after(31);
    ck_assert_str_eq(refs(), "1-3"); /* The origin does not have that one. */
    ck_assert(!only_item()->published);
}
END_TEST

/* The push said yes, but the origin does not show it. */
START_TEST(what_the_origin_does_not_show_is_not_published)
{
    const char *ref = NULL;
    bool fresh = false;
    struct snapshot last = take("two");
    ck_assert_msg(snapshot_push(&step, &last, &ref, &fresh, &err) == RC_OK, "%s", err.text);
    kit_sh(&kit, "git --git-dir=origin.git update-ref %s main", ref);
    ck_assert_int_eq(publication_confirm(&step, &last, ref, &err), RC_NOT_FOUND);
    kit_sh(&kit, "git --git-dir=origin.git update-ref -d %s", ref);
    ck_assert_int_eq(publication_confirm(&step, &last, ref, &err), RC_NOT_FOUND);
    leave();
    clear_after(31);
    ck_assert_str_eq(refs(), "1-1");
}
END_TEST

/* The head of a pull request, as publishing makes it: the tree of the last snapshot. */
static void open_pull_of(const char *commit)
{
    kit_sh(&kit,
           "git --git-dir=%s push -q origin.git %s:refs/heads/drover/x && "
           "head=$(git --git-dir=origin.git -c user.name=a -c user.email=a@b commit-tree "
           "%s^{tree} -p main -m pr) && "
           "git --git-dir=origin.git update-ref refs/drover/pulls/%s/1 $head && "
           "git --git-dir=origin.git update-ref refs/heads/drover/x $head",
           mirror_snapshots(&step), commit, commit, kit.run_id.text);
}

START_TEST(a_review_finds_what_was_published_elsewhere)
{
    (void)take("two");
    struct snapshot last = take("three");
    open_pull_of(last.commit);
    ck_assert_msg(worktree_fetch(&step, &err) == RC_OK, "%s", err.text);
    (void)take("four");
    leave();
    ck_assert_msg(publication_review(&step, &err) == RC_OK, "%s", err.text);
    clear_after(31);
    ck_assert_str_eq(refs(), "1-3");
    bool has_pull = false;
    ck_assert_msg(publication_has_pr(&step, &has_pull, &err) == RC_OK, "%s", err.text);
    ck_assert(has_pull);
}
END_TEST

START_TEST(what_a_run_with_a_directory_left_is_neither_listed_nor_removed)
{
    const char *held = aside(arena_printf(&kit.arena, "held/%s-1.diff", kit.run_id.text));
    const char *kept = aside(arena_printf(&kit.arena, "kept/%s", kit.run_id.text));
    int64_t withheld = 0;
    (void)take("two");
    kit_sh(&kit, "mkdir -p %s/held %s; echo x >%s", kit.work_dir, kept, held);
    ck_assert_ptr_null(retention_list(&retention, &kit.arena, &withheld));
    ck_assert_int_eq(withheld, 3);
    leave();
    const struct retention_item *first = retention_list(&retention, &kit.arena, &withheld);
    ck_assert_int_eq(withheld, 0);
    kit_sh(&kit, "mkdir %s", step.run_dir); /* The run was claimed again. */
    int count = 0;
    for (const struct retention_item *item = first; item != NULL; item = item->next, count++)
        ck_assert_int_eq(retention_remove(&retention, item, &err), RC_CONFLICT);
    ck_assert_int_eq(count, 3);
    ck_assert(file_exists(held) && file_exists(kept));
    ck_assert_str_eq(refs(), "1-1");
}
END_TEST

START_TEST(many_marks_of_one_kind_do_not_hide_the_other)
{
    (void)take("two");
    leave();
    kit_sh(&kit,
           "cd %s && { echo '# pack-refs with: peeled fully-peeled sorted '; seq -f "
           "'%s refs/drover/published/00000000-0000-7000-8000-%%012.0f/1-1' 20001; } >packed-refs",
           mirror_snapshots(&step), base);
    ck_assert_int_eq(only_item()->count, 1);
}
END_TEST

/* Both have the same address, and so one mirror. */
START_TEST(each_run_has_its_own_repository)
{
    const char *names[] = {"acme/one", "acme/two", NULL};
    struct id runs[3] = {kit.run_id};
    ck_assert(id_parse("00000000-0000-7000-8000-000000000001", &runs[1]));
    ck_assert(id_parse("00000000-0000-7000-8000-000000000002", &runs[2]));
    for (size_t i = 0; i < COUNT_OF(runs); i++) {
        step.input.run_id = runs[i];
        step.input.repository = names[i];
        (void)take("two");
    }
    leave();
    size_t count = 0;
    for (const struct retention_item *item = retention_list(&retention, &kit.arena, NULL);
         item != NULL; item = item->next, count++) {
        for (size_t i = 0; i < COUNT_OF(runs); i++) {
            if (id_same(&item->run_id, &runs[i]) && names[i] != NULL)
                ck_assert_str_eq(item->repository, names[i]);
            else if (id_same(&item->run_id, &runs[i]))
                ck_assert_ptr_null(item->repository);
        }
    }
    ck_assert_uint_eq(count, COUNT_OF(runs));
}
END_TEST

START_TEST(a_directory_that_is_swept_has_the_repository_of_its_run)
{
    step.input.repository = "acme/swept";
    ck_assert_int_eq(worktree_hand_out(&step, base, &err), RC_OK);
    kit_sh(&kit, "echo two >%s", worktree_path(&step, "tree/file.txt"));
    ck_assert(rescue_stray(&kit.site, &kit.run_id, &kit.stop));
    leave();
    ck_assert_str_eq(only_item()->repository, "acme/swept");
}
END_TEST

START_TEST(no_object_of_a_snapshot_is_in_the_mirror)
{
    const char *count = "git --git-dir=%s count-objects -v | grep -v size";
    const char *before = kit_sh(&kit, count, step.mirror);
    struct snapshot last = take("two");
    ck_assert_str_eq(kit_sh(&kit, count, step.mirror), before);
    ck_assert_str_eq(kit_sh(&kit, "git --git-dir=%s for-each-ref refs/drover", step.mirror), "");
    const char *repository = mirror_snapshots(&step);
    ck_assert_str_eq(kit_sh(&kit, "stat -c %%a %s", repository), "700");
    ck_assert_str_eq(kit_sh(&kit, "git --git-dir=%s show %s:file.txt", repository, last.ref),
                     "two");
}
END_TEST

START_TEST(the_signature_changes_with_what_is_there)
{
    uint64_t before = retention_signature(&retention);
    ck_assert(before == retention_signature(&retention));
    kit_sh(&kit, "mkdir -p %s/kept/%s", kit.work_dir, kit.run_id.text);
    ck_assert(before != retention_signature(&retention));
    before = retention_signature(&retention);
    (void)take("two");
    ck_assert(before != retention_signature(&retention));
}
END_TEST

static int64_t in_31_days(void *ctx)
{
    (void)ctx;
    const struct clock real = clock_real();
    return clock_now_us(&real) + 31 * US_PER_DAY;
}

static bool take_run(void *ctx, const struct id *run_id)
{
    (void)ctx, (void)run_id;
    return false;
}

static struct retention_total told;

static void report(void *ctx, const struct retention_total *unpublished)
{
    (void)ctx;
    told = *unpublished;
}

START_TEST(a_round_of_the_broom_keeps_as_long_as_it_is_told)
{
    const char *held = aside(arena_printf(&kit.arena, "held/%s-1.diff", kit.run_id.text));
    const char *ref = NULL;
    bool fresh = false;
    struct snapshot last = take("two");
    ck_assert_msg(snapshot_push(&step, &last, &ref, &fresh, &err) == RC_OK, "%s", err.text);
    ck_assert_msg(publication_confirm(&step, &last, ref, &err) == RC_OK, "%s", err.text);
    leave();
    kit_sh(&kit, "mkdir %s/held; touch %s", kit.work_dir, held);
    kit.site.clock = (struct clock){.now_us = in_31_days};
    struct disk disk = {0};
    struct housekeeping housekeeping = {
        .site = &kit.site, .disk = &disk, .stop = &kit.stop, .take = take_run, .report = report};
    housekeeping_round(&housekeeping); /* For ever. */
    housekeeping.keep_days = 32;
    housekeeping_round(&housekeeping);
    ck_assert_str_eq(refs(), "1-1");
    struct housekeeping_times times = {0};
    housekeeping.keep_days = 30;
    ck_assert_int_gt(housekeeping_turn_ms(&housekeeping, &times), 0);
    ck_assert_str_eq(refs(), "");
    ck_assert(file_exists(held));
    ck_assert_int_eq(told.count, 1);
}
END_TEST

Suite *retention_suite(void)
{
    Suite *suite = suite_create("retention");
    TCase *tests = tcase_create("retention");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, held_patches_and_kept_trees_stay_until_they_are_removed);
    tcase_add_test(tests, snapshots_that_no_origin_has_stay_until_they_are_removed);
    tcase_add_test(tests, a_snapshot_that_the_origin_has_goes_by_its_date_with_those_before_it);
    tcase_add_test(tests, what_the_origin_does_not_show_is_not_published);
    tcase_add_test(tests, a_review_finds_what_was_published_elsewhere);
    tcase_add_test(tests, what_a_run_with_a_directory_left_is_neither_listed_nor_removed);
    tcase_add_test(tests, many_marks_of_one_kind_do_not_hide_the_other);
    tcase_add_test(tests, each_run_has_its_own_repository);
    tcase_add_test(tests, a_directory_that_is_swept_has_the_repository_of_its_run);
    tcase_add_test(tests, no_object_of_a_snapshot_is_in_the_mirror);
    tcase_add_test(tests, the_signature_changes_with_what_is_there);
    tcase_add_test(tests, a_round_of_the_broom_keeps_as_long_as_it_is_told);
    suite_add_tcase(suite, tests);
    return suite;
}
