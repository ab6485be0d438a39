/* test_worktree.c - checkouts that borrow from a mirror, as git itself sees them. */
#include "forge/git/git.h"
#include "tests/unit/suites.h"
#include "tests/unit/work_kit.h"
#include "work/tree/mirror.h"
#include "work/tree/worktree.h"
#include <stdlib.h>

static struct kit kit;

static void open_kit(void)
{
    kit_open(&kit);
}

static void close_kit(void)
{
    kit_close(&kit);
}

static struct step fetched_step(void)
{
    struct step step = kit_step(&kit, &(struct kit_task){0});
    struct err err = {0};
    ck_assert_msg(worktree_fetch(&step, &err) == RC_OK, "%s", err.text);
    return step;
}

/* The directory of a checkout of the commit. */
static const char *check_out(struct step *step, const char *base, const char *branch)
{
    struct err err = {0};
    const struct checkout checkout = {
        .dir = worktree_path(step, "tree"), .base = base, .branch = branch};
    ck_assert_msg(worktree_checkout(step, &checkout, &err) == RC_OK, "%s", err.text);
    return checkout.dir;
}

START_TEST(a_checkout_to_work_in_has_the_branches_and_tags_of_the_origin)
{
    const char *base = kit_commit(&kit, "echo x >a");
    (void)kit_sh(&kit, "git -C origin.git branch feature/one && git -C origin.git tag plain &&"
                       " git -C origin.git -c user.name=t -c user.email=t@localhost"
                       " tag -a -m words annotated");
    struct step step = fetched_step();
    const char *tree = check_out(&step, base, "drover/work");
    ck_assert_str_eq(kit_sh(&kit, "git -C %s rev-parse origin/main", tree), base);
    ck_assert_str_eq(kit_sh(&kit, "git -C %s rev-parse origin/feature/one", tree), base);
    ck_assert_str_eq(kit_sh(&kit, "git -C %s rev-parse 'annotated^{commit}' plain", tree),
                     kit_sh(&kit, "echo %s; echo %s", base, base));
    ck_assert_str_eq(kit_sh(&kit, "git -C %s cat-file -t annotated", tree), "tag");
    ck_assert_str_eq(kit_sh(&kit, "git -C %s symbolic-ref --short HEAD", tree), "drover/work");
    ck_assert_str_eq(kit_sh(&kit, "git -C %s config remote.origin.url", tree), step.mirror);
    ck_assert_str_eq(kit_sh(&kit, "git -C %s config user.email", tree), "drover@localhost");
    ck_assert_str_eq(kit_sh(&kit, "git -C %s fetch -q origin && echo fetched", tree), "fetched");
    ck_assert_str_eq(kit_sh(&kit, "git -C %s fsck 2>&1 | grep -v '^notice' | cat", tree), "");
    ck_assert_str_eq(kit_sh(&kit, "git -C %s reflog | wc -l", tree), "1");
}
END_TEST

START_TEST(a_checkout_to_look_at_has_no_remote_and_no_reflog)
{
    const char *base = kit_commit(&kit, "echo x >a");
    struct step step = fetched_step();
    const char *tree = check_out(&step, base, NULL);
    ck_assert_str_eq(kit_sh(&kit, "git -C %s rev-parse HEAD", tree), base);
    ck_assert_str_eq(kit_sh(&kit, "cat %s/a", tree), "x");
    ck_assert_str_eq(kit_sh(&kit, "git -C %s remote; git -C %s for-each-ref", tree, tree), "");
    ck_assert_str_eq(kit_sh(&kit, "ls %s/.git/logs 2>/dev/null | cat", tree), "");
}
END_TEST

START_TEST(the_path_of_a_mirror_may_have_any_character)
{
    const char *base = kit_commit(&kit, "echo x >a");
    struct step step = fetched_step();
    const char *odd = arena_printf(&kit.arena, "%s/a \"b\" #c;\\d.git", kit.dir);
    (void)kit_sh(&kit, "cp -r '%s' '%s'", step.mirror, odd);
    step.mirror = odd;
    const char *tree = check_out(&step, base, "drover/work");
    ck_assert_str_eq(kit_sh(&kit, "git -C %s config remote.origin.url", tree), odd);
    ck_assert_str_eq(kit_sh(&kit, "git -C %s ls-files", tree), kit_sh(&kit, "ls %s", tree));
}
END_TEST

/* One that takes the place of a damaged one is asked anew. */
START_TEST(a_commit_is_known_of_one_mirror_only)
{
    const char *base = kit_commit(&kit, "echo x >a");
    struct step step = fetched_step();
    ck_assert(!mirror_is_known_to_hold(&step, base));
    mirror_holds_commit(&step, base);
    ck_assert(mirror_is_known_to_hold(&step, base));
    (void)kit_sh(&kit, "mv '%s' '%s.aside' && mkdir -p '%s/objects'", step.mirror, step.mirror,
                 step.mirror);
    ck_assert(!mirror_is_known_to_hold(&step, base));
}
END_TEST

Suite *worktree_suite(void)
{
    Suite *suite = suite_create("worktree");
    TCase *tcase = tcase_create("worktree");
    tcase_add_checked_fixture(tcase, open_kit, close_kit);
    tcase_add_test(tcase, a_checkout_to_work_in_has_the_branches_and_tags_of_the_origin);
    tcase_add_test(tcase, a_checkout_to_look_at_has_no_remote_and_no_reflog);
    tcase_add_test(tcase, the_path_of_a_mirror_may_have_any_character);
    tcase_add_test(tcase, a_commit_is_known_of_one_mirror_only);
    suite_add_tcase(suite, tcase);
    return suite;
}
