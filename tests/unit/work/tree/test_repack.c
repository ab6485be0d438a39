/* test_repack.c - mirrors with many packs get one; nothing in them is lost. */
#include "base/clock.h"
#include "base/fd.h"
#include "forge/git/git.h"
#include "tests/unit/suites.h"
#include "tests/unit/work_kit.h"
#include "work/tree/repack.h"
#include "work/tree/worktree.h"
#include <stdlib.h>
#include <string.h>

static struct kit kit;

static void open_kit(void)
{
    kit_open(&kit);
}

static void close_kit(void)
{
    kit_close(&kit);
}

/* A mirror that has fetched this often, and a commit of it that the origin has dropped since. */
static const char *make_mirror(int fetches, const char **ret_dropped)
{
    struct step step = kit_step(&kit, &(struct kit_task){0});
    struct err err = {0};
    for (int i = 0; i < fetches; i++) {
        const char *commit = kit_commit(&kit, "date +%N >stamp");
        *ret_dropped = commit;
        ck_assert_int_eq(worktree_fetch(&step, &err), RC_OK);
    }
    (void)kit_sh(&kit, "git -C origin.git update-ref refs/heads/main main~1");
    ck_assert_int_eq(worktree_fetch(&step, &err), RC_OK);
    return arena_strdup(&kit.arena, step.mirror);
}

static const char *packs(const char *mirror)
{
    return kit_sh(&kit, "ls %s/objects/pack | grep -c pack$", mirror);
}

/* Fetches of few objects stay loose: each becomes a pack of its own. */
static void scatter(const char *mirror)
{
    (void)kit_sh(&kit,
                 "git -C %s cat-file --batch-all-objects --batch-check='%%(objectname)' >all\n"
                 "while read -r one; do echo $one | git -C %s pack-objects -q "
                 "objects/pack/pack >/dev/null; done <all\n"
                 "git -C %s prune-packed",
                 mirror, mirror, mirror);
}

START_TEST(a_mirror_with_many_packs_gets_one_and_keeps_every_object)
{
    const char *dropped = NULL;
    const char *mirror = make_mirror(20, &dropped);
    const struct repack repack = {.work_dir = kit.work_dir};
    ck_assert_int_eq(repack_mirrors(&repack), 0); /* It is fast as it is. */
    scatter(mirror);
    const char *all = kit_sh(&kit, "sort all");
    ck_assert_int_gt(strtol(packs(mirror), NULL, 10), 50);
    ck_assert_int_eq(repack_mirrors(&repack), 1);
    ck_assert_str_eq(packs(mirror), "1");
    ck_assert_str_eq(kit_sh(&kit,
                            "git -C %s cat-file --batch-all-objects "
                            "--batch-check='%%(objectname)' | sort",
                            mirror),
                     all);
    ck_assert_str_eq(kit_sh(&kit, "git -C %s cat-file -t %s", mirror, dropped), "commit");
    ck_assert(!file_exists(arena_printf(&kit.arena, "%s.fetching", mirror)));
    ck_assert_int_eq(repack_mirrors(&repack), 0);
}
END_TEST

START_TEST(one_that_a_step_changes_is_left_for_the_next_time)
{
    const char *dropped = NULL;
    const char *mirror = make_mirror(20, &dropped);
    const struct repack repack = {.work_dir = kit.work_dir};
    struct err err = {0};
    int lock = -1;
    scatter(mirror);
    ck_assert_int_eq(file_lock(arena_printf(&kit.arena, "%s.lock", mirror), 0, &lock, &err), RC_OK);
    ck_assert_int_eq(repack_mirrors(&repack), 0);
    fd_close(lock);
    ck_assert_int_eq(repack_mirrors(&repack), 1);
}
END_TEST

START_TEST(a_stop_leaves_all_of_them)
{
    const char *dropped = NULL;
    const atomic_int stopped = 1;
    scatter(make_mirror(20, &dropped));
    const struct repack repack = {.work_dir = kit.work_dir, .cancel = &stopped};
    ck_assert_int_eq(repack_mirrors(&repack), 0);
}
END_TEST

static bool has_object(const char *repository, const char *commit)
{
    return strcmp(
               kit_sh(&kit, "git -C %s cat-file -e %s && echo yes || echo no", repository, commit),
               "yes") == 0;
}

START_TEST(what_deleted_snapshots_have_left_is_removed_after_a_day)
{
    const char *path = arena_printf(&kit.arena, "%s/mirrors/x.snapshots.git", kit.work_dir);
    const char *kept = kit_sh(&kit,
                              "mkdir -p %s && git -C %s init -q --bare && cd %s && export "
                              "GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a "
                              "GIT_COMMITTER_EMAIL=a@b && tree=$(git mktree </dev/null) && "
                              "git update-ref refs/drover/snapshots/r/1-1 $(git commit-tree -m one "
                              "$tree) && git rev-parse refs/drover/snapshots/r/1-1",
                              path, path, path);
    const char *gone = kit_sh(&kit,
                              "cd %s && export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b "
                              "GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b && git commit-tree -m "
                              "two $(git mktree </dev/null)",
                              path);
    const struct clock clock = clock_real();
    struct repack repack = {.work_dir = kit.work_dir, .now_us = clock_now_us(&clock)};
    ck_assert_int_eq(repack_snapshots(&repack), 1);
    ck_assert_msg(has_object(path, gone), "it may just be on its way to a ref");
    ck_assert_int_eq(repack_snapshots(&repack), 0); /* Once a day. */
    (void)kit_sh(&kit, "find %s -exec touch -d '3 days ago' {} + && rm %s/drover-packed", path,
                 path);
    ck_assert_int_eq(repack_snapshots(&repack), 1);
    ck_assert(!has_object(path, gone) && has_object(path, kept));
    ck_assert_int_eq(repack_snapshots(&repack), 0);
}
END_TEST

Suite *repack_suite(void)
{
    Suite *suite = suite_create("repack");
    TCase *mirrors = tcase_create("mirrors");
    tcase_add_checked_fixture(mirrors, open_kit, close_kit);
    tcase_add_test(mirrors, a_mirror_with_many_packs_gets_one_and_keeps_every_object);
    tcase_add_test(mirrors, one_that_a_step_changes_is_left_for_the_next_time);
    tcase_add_test(mirrors, a_stop_leaves_all_of_them);
    tcase_add_test(mirrors, what_deleted_snapshots_have_left_is_removed_after_a_day);
    suite_add_tcase(suite, mirrors);
    return suite;
}
