/*
 * test_checked_out.c - an origin that a person works in: its files and its branch stay together.
 */
#include "forge/forges.h"
#include "forge/local/local.h"
#include "tests/unit/forge_kit.h"
#include "tests/unit/suites.h"
#include <string.h>
#include <unistd.h>

static struct kit kit;
static const char *base;
static struct forge_pr pr;

static void setup(void)
{
    base = forge_kit_open(&kit);
    kit_sh(&kit, "git clone -q origin.git w && git -C w config user.name a && "
                 "git -C w config user.email a@b");
    kit.origin = arena_printf(&kit.arena, "%s/w", kit.dir);
}

static void teardown(void)
{
    kit_close(&kit);
}

static void open_pr_of(const struct forge_change *change)
{
    struct err err = {0};
    struct forge_call call = {.http = NULL};
    ck_assert_msg(forge_local.open_pr(&forge_local, &call, change, &kit.arena, &pr, &err) == RC_OK,
                  "%s", err.text);
}

static void open_pr(void)
{
    const struct forge_change change = forge_kit_change(&kit, base, "run-a");
    open_pr_of(&change);
}

static enum rc merge(struct err *err)
{
    char commit[GIT_HASH_BYTES];
    struct forge_call call = {.http = NULL};
    const struct forge_merge request = {
        .forge = "local",
        .url = kit.origin,
        .number = pr.number,
        .run_id = "run-a",
        .branch = "drover/run-a",
        .expected_head = pr.head,
        .target_branch = "main",
        .message = "Merge it\n",
    };
    enum rc rc = forge_merge(&call, &request, commit, err);
    if (rc == RC_OK)
        ck_assert_str_eq(kit_sh(&kit, "git -C w rev-parse main"), commit);
    return rc;
}

/* Before the merge, in w; what comes of it; and what then is true, in w. */
static const struct {
    const char *what, *before;
    const char *refused; /* Part of the message; NULL: it is merged. */
    const char *after;
} cases[] = {
    {"by default it is left alone", "true",
     "There: git merge refs/pull/1/head; then merge it here once more",
     "test $(cat file.txt) = one"},
    {"the way out is named", "true", "git config receive.denyCurrentBranch updateInstead", "true"},
    {"with updateInstead files and branch move together",
     "git config receive.denyCurrentBranch updateInstead", NULL,
     "test $(cat file.txt) = two && test \"$(git log -1 --format=%s)\" = 'Merge it'"},
    {"files that git does not know do not count",
     "git config receive.denyCurrentBranch updateInstead; echo x >mine.txt", NULL,
     "test $(cat file.txt) = two && test $(cat mine.txt) = x"},
    {"an edited file", "git config receive.denyCurrentBranch updateInstead; echo mine >file.txt",
     "with changes that are not committed", "test $(cat file.txt) = mine"},
    {"an edited file that the change does not touch",
     "git config receive.denyCurrentBranch updateInstead; echo mine >other.txt; git add other.txt;"
     " git commit -qm other; echo more >>other.txt",
     "with changes that are not committed", "grep -q more other.txt && test $(cat file.txt) = one"},
    {"a staged file",
     "git config receive.denyCurrentBranch updateInstead; echo x >new.txt; git add new.txt",
     "with changes that are not committed", "test $(cat file.txt) = one && test -e new.txt"},
    {"merged there by hand, it is recorded here", "git merge -q refs/pull/1/head", NULL,
     "test $(cat file.txt) = two"},
    {"the files were updated, and git was killed before the branch",
     "git config receive.denyCurrentBranch updateInstead; git read-tree -u -m refs/pull/1/head",
     NULL, "test $(cat file.txt) = two && test \"$(git log -1 --format=%s)\" = 'Merge it'"},
    {"another branch is checked out", "git switch -qc mine; echo x >>file.txt", NULL,
     "test $(git branch --show-current) = mine && grep -q x file.txt && "
     "test $(git show main:file.txt) = two"},
    {"no branch is checked out", "git checkout -q --detach", NULL,
     "test $(cat file.txt) = one && test $(git show main:file.txt) = two"},
    {"it is being rebased",
     "git config receive.denyCurrentBranch updateInstead; echo x >a; git add a; git commit -qm a; "
     "GIT_SEQUENCE_EDITOR='sed -i 1s/pick/edit/' git rebase -q -i HEAD~1 2>/dev/null",
     "where it is being rebased", "git rebase --abort && test $(cat file.txt) = one"},
    {"a linked worktree shows it", "git switch -qc mine; git worktree add -q ../linked main",
     "linked", "test $(cat ../linked/file.txt) = one"},
    {"a linked worktree shows it, and may be updated",
     "git config receive.denyCurrentBranch updateInstead; git switch -qc mine; "
     "git worktree add -q ../linked main",
     NULL,
     "test $(cat ../linked/file.txt) = two && test $(cat file.txt) = one && "
     "test -z \"$(git -C ../linked status --porcelain)\""},
    {"a linked worktree that is gone shows nothing",
     "git switch -qc mine; git worktree add -q ../linked main; rm -r ../linked", NULL,
     "test $(git show main:file.txt) = two"},
};

START_TEST(the_files_and_the_branch_stay_together)
{
    struct err err = {0};
    open_pr();
    kit_sh(&kit, "cd w && { %s; }", cases[_i].before);
    enum rc rc = merge(&err);
    if (cases[_i].refused == NULL) {
        ck_assert_msg(rc == RC_OK, "%s: %s", cases[_i].what, err.text);
    } else {
        ck_assert_msg(rc == RC_CONFLICT, "%s: %s", cases[_i].what, err.text);
        ck_assert_str_eq(err.code, "BRANCH_CHECKED_OUT");
        ck_assert_msg(strstr(err.text, cases[_i].refused) != NULL, "%s: %s", cases[_i].what,
                      err.text);
    }
    ck_assert_msg(strcmp(kit_sh(&kit, "cd w && { %s; } && echo fine", cases[_i].after), "fine") ==
                      0,
                  "%s", cases[_i].what);
    /* HEAD, index and files agree wherever they did before. */
    if (rc == RC_OK && strstr(cases[_i].before, "echo") == NULL)
        ck_assert_str_eq(kit_sh(&kit, "git -C w status --porcelain"), "");
}
END_TEST

/* Recorded once: the second merge changes nothing. */
START_TEST(a_merge_of_files_is_done_once)
{
    struct err err = {0};
    open_pr();
    kit_sh(&kit, "git -C w config receive.denyCurrentBranch updateInstead");
    ck_assert_msg(merge(&err) == RC_OK, "%s", err.text);
    const char *first = kit_sh(&kit, "git -C w rev-parse main");
    ck_assert_msg(merge(&err) == RC_OK, "%s", err.text);
    ck_assert_str_eq(kit_sh(&kit, "git -C w rev-parse main"), first);
}
END_TEST

START_TEST(a_file_that_git_does_not_know_is_not_overwritten)
{
    static const char adds[] = "diff --git a/new.txt b/new.txt\nnew file mode 100644\n"
                               "--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+theirs\n";
    struct err err = {0};
    struct forge_change change = forge_kit_change(&kit, base, "run-a");
    change.patch = str_of(adds);
    open_pr_of(&change);
    kit_sh(&kit,
           "cd w && git config receive.denyCurrentBranch updateInstead && echo mine >new.txt");
    ck_assert_int_eq(merge(&err), RC_CONFLICT);
    ck_assert_str_eq(err.code, "BRANCH_CHECKED_OUT");
    ck_assert_str_eq(kit_sh(&kit, "cat w/new.txt"), "mine");
    ck_assert_str_eq(kit_sh(&kit, "git -C w rev-parse main"), base);
    ck_assert_str_eq(kit_sh(&kit, "git -C w status --porcelain"), "?? new.txt");
}
END_TEST

/* Filters of a tree could run anything, with drover's rights. */
START_TEST(the_tree_of_another_user_is_left_alone)
{
    struct err err = {0};
    if (geteuid() != 0)
        return; /* Only root can give files away. */
    open_pr();
    kit_sh(&kit, "git -C w config receive.denyCurrentBranch updateInstead; chown 12345 w");
    ck_assert_int_eq(merge(&err), RC_CONFLICT);
    ck_assert_msg(strstr(err.text, "belongs to another user") != NULL, "%s", err.text);
}
END_TEST

START_TEST(a_branch_of_a_run_that_is_checked_out_is_not_deleted)
{
    struct forge_change change = forge_kit_change(&kit, base, "run-a");
    change.body = "Why.\n\nDrover-Run: run-a";
    open_pr_of(&change);
    kit_sh(&kit, "git -C w switch -q drover/run-a");
    const struct forge_withdrawal withdrawal = {
        .url = kit.origin,
        .run_id = "run-a",
        .branch = "drover/run-a",
        .holder = {.name = "worker a", .may_go_on = forge_kit_may_go_on}};
    struct forge_withdrawn withdrawn;
    struct forge_call call = {.http = NULL};
    ck_assert_int_eq(forge_local.withdraw(&forge_local, &call, &withdrawal, &withdrawn, NULL),
                     RC_OK);
    ck_assert_int_eq(withdrawn.branch, BRANCH_FOREIGN);
    ck_assert_str_eq(kit_sh(&kit, "git -C w status --porcelain; git -C w rev-parse HEAD"), pr.head);
    kit_sh(&kit, "git -C w switch -q main");
    ck_assert_int_eq(forge_local.withdraw(&forge_local, &call, &withdrawal, &withdrawn, NULL),
                     RC_OK);
    ck_assert_int_eq(withdrawn.branch, BRANCH_DELETED);
}
END_TEST

/* A `.git` that is a file: refs, locks and the pull request are those of the shared directory. */
START_TEST(a_linked_worktree_is_an_origin)
{
    struct err err = {0};
    kit_sh(&kit, "git -C w worktree add -q -b mine ../linked");
    kit.origin = arena_printf(&kit.arena, "%s/linked", kit.dir);
    open_pr();
    ck_assert_str_eq(kit_sh(&kit, "git -C w rev-parse refs/pull/1/head drover/run-a | uniq"),
                     pr.head);
    ck_assert_str_eq(kit_sh(&kit, "ls w/.git/drover-pulls.lock"), "w/.git/drover-pulls.lock");
    ck_assert_int_eq(merge(&err), RC_CONFLICT); /* w shows main. */
    kit_sh(&kit, "git -C w switch -q --detach");
    ck_assert_msg(merge(&err) == RC_OK, "%s", err.text);
}
END_TEST

START_TEST(a_bare_origin_with_a_worktree_is_no_exception)
{
    struct err err = {0};
    kit.origin = arena_printf(&kit.arena, "%s/origin.git", kit.dir);
    open_pr();
    kit_sh(&kit, "git -C origin.git worktree add -q ../linked main");
    ck_assert_int_eq(merge(&err), RC_CONFLICT);
    ck_assert_str_eq(err.code, "BRANCH_CHECKED_OUT");
    kit_sh(&kit, "git -C linked config receive.denyCurrentBranch updateInstead; "
                 "rm -r w; git clone -q origin.git w");
    struct forge_call call = {.http = NULL};
    char commit[GIT_HASH_BYTES];
    const struct forge_merge request = {.forge = "local",
                                        .url = kit.origin,
                                        .number = pr.number,
                                        .run_id = "run-a",
                                        .branch = "drover/run-a",
                                        .target_branch = "main",
                                        .message = "Merge it\n"};
    ck_assert_msg(forge_merge(&call, &request, commit, &err) == RC_OK, "%s", err.text);
    ck_assert_str_eq(kit_sh(&kit, "cat linked/file.txt; git -C linked status --porcelain"), "two");
}
END_TEST

Suite *checked_out_suite(void)
{
    Suite *suite = suite_create("checked_out");
    TCase *tests = tcase_create("checked_out");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, the_files_and_the_branch_stay_together, 0, (int)COUNT_OF(cases));
    tcase_add_test(tests, a_merge_of_files_is_done_once);
    tcase_add_test(tests, a_file_that_git_does_not_know_is_not_overwritten);
    tcase_add_test(tests, the_tree_of_another_user_is_left_alone);
    tcase_add_test(tests, a_branch_of_a_run_that_is_checked_out_is_not_deleted);
    tcase_add_test(tests, a_linked_worktree_is_an_origin);
    tcase_add_test(tests, a_bare_origin_with_a_worktree_is_no_exception);
    suite_add_tcase(suite, tests);
    return suite;
}
