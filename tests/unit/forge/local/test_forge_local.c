/*
 * test_forge_local.c - pull requests in a repository on disk: once each, whatever happens.
 */
#include "base/clock.h"
#include "base/fd.h"
#include "forge/forges.h"
#include "forge/local/local.h"
#include "forge/port/issues.h"
#include "tests/unit/forge_kit.h"
#include <check.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

static struct kit kit;
static const char *base;

static void setup(void)
{
    base = forge_kit_open(&kit);
}

static void teardown(void)
{
    kit_close(&kit);
}

static struct forge_change change_of(const char *run)
{
    return forge_kit_change(&kit, base, run);
}

static struct forge_closing closing_of(int64_t number)
{
    return (struct forge_closing){.forge = "local",
                                  .url = kit.origin,
                                  .number = number,
                                  .run_id = "run-a",
                                  .branch = "drover/run-a"};
}

static struct forge_pr open_pr(const struct forge_change *change)
{
    struct git git = {0};
    struct forge_pr pr;
    struct err err = {0};
    ck_assert_msg(forge_local.open_pr(&forge_local, &(struct forge_call){.git = git}, change,
                                      &kit.arena, &pr, &err) == RC_OK,
                  "%s", err.text);
    return pr;
}

START_TEST(publishing_twice_gives_the_same_commit_and_number)
{
    struct forge_change change = change_of("run-a");
    struct forge_pr first = open_pr(&change);
    struct forge_pr again = open_pr(&change);
    ck_assert_str_eq(first.head, again.head);
    ck_assert_int_eq(first.number, 1);
    ck_assert_int_eq(again.number, 1);
    ck_assert_str_eq(kit_sh(&kit, "git --git-dir=origin.git show drover/run-a:file.txt"), "two");
    ck_assert_str_eq(kit_sh(&kit, "git --git-dir=origin.git rev-parse refs/pull/1/head"),
                     first.head);
    ck_assert_str_eq(
        kit_sh(&kit, "git --git-dir=origin.git log -1 --format=%%s,%%an,%%at %s", first.head),
        "Make it two,drover,1780000000");
    ck_assert_str_eq(kit_sh(&kit, "git --git-dir=origin.git for-each-ref refs/pull | wc -l"), "1");
}
END_TEST

START_TEST(numbers_go_on_after_the_highest)
{
    kit_sh(&kit, "git --git-dir=origin.git update-ref refs/pull/41/head %s", base);
    struct forge_change change = change_of("run-a");
    ck_assert_int_eq(open_pr(&change).number, 42);
    change = change_of("run-b");
    ck_assert_int_eq(open_pr(&change).number, 43);
}
END_TEST

START_TEST(hooks_of_another_owner_do_not_run_as_root)
{
    if (geteuid() != 0)
        return;
    kit_sh(&kit,
           "printf '#!/bin/sh\\ntouch %s/ran\\n' >origin.git/hooks/update;"
           " chmod 755 origin.git/hooks/update",
           kit.dir);
    struct forge_change change = change_of("run-a");
    ck_assert_int_eq(open_pr(&change).number, 1);
    ck_assert_str_eq(kit_sh(&kit, "ls ran; rm -f ran"), "ran"); /* Root's own do. */
    /* The receiving side reads the configuration in git's home, as it does in a worker. */
    const char *home = arena_printf(&kit.arena, "%s/githome", kit.dir);
    struct git with_home = {.home = home};
    struct forge_pr pr;
    struct err err = {0};
    ck_assert_int_eq(git_home_make(home, &err), RC_OK);
    kit_sh(&kit, "chown -R 12345 origin.git");
    change = change_of("run-b");
    ck_assert_msg(forge_local.open_pr(&forge_local, &(struct forge_call){.git = with_home}, &change,
                                      &kit.arena, &pr, &err) == RC_OK,
                  "%s", err.text);
    ck_assert_str_eq(kit_sh(&kit, "ls | grep -c '^ran$' || true"), "0");
}
END_TEST

START_TEST(a_try_that_stopped_between_the_refs_is_finished)
{
    struct forge_change change = change_of("run-a");
    struct forge_pr first = open_pr(&change);
    kit_sh(&kit, "git --git-dir=origin.git update-ref -d refs/pull/1/head");
    struct forge_change other = change_of("run-b");
    ck_assert_int_eq(open_pr(&other).number, 2);
    ck_assert_int_eq(open_pr(&change).number, 1);
    ck_assert_str_eq(kit_sh(&kit, "git --git-dir=origin.git rev-parse refs/pull/1/head"),
                     first.head);
}
END_TEST

START_TEST(a_number_that_a_dead_git_left_locked_is_passed_over)
{
    kit_sh(&kit, "mkdir -p origin.git/refs/pull/1; touch origin.git/refs/pull/1/head.lock");
    struct forge_change change = change_of("run-a");
    ck_assert_int_eq(open_pr(&change).number, 2);
}
END_TEST

struct publisher {
    pthread_t thread;
    struct forge_change change;
    struct arena arena;
    struct forge_pr pr;
    enum rc rc;
    struct err err;
};

static void *publisher_main(void *ctx)
{
    struct publisher *publisher = ctx;
    struct git git = {.deadline_us = clock_mono_us() + 60 * US_PER_SECOND};
    publisher->rc = forge_local.open_pr(&forge_local, &(struct forge_call){.git = git},
                                        &publisher->change, &publisher->arena, &publisher->pr,
                                        &publisher->err);
    return NULL;
}

/* Three runs, each published twice, all at once. */
START_TEST(publishers_at_the_same_time_agree)
{
    enum { RUNS = 3, EACH = 2 };
    static struct publisher publishers[RUNS * EACH];
    for (int i = 0; i < RUNS * EACH; i++) {
        const char *run = arena_printf(&kit.arena, "run-%d", i % RUNS);
        publishers[i].change = change_of(run);
        publishers[i].change.scratch = arena_printf(&kit.arena, "%s/scratch-%d.git", kit.dir, i);
        ck_assert_int_eq(
            pthread_create(&publishers[i].thread, NULL, publisher_main, &publishers[i]), 0);
    }
    int64_t sum = 0;
    for (int i = 0; i < RUNS * EACH; i++) {
        pthread_join(publishers[i].thread, NULL);
        arena_release(&publishers[i].arena);
        ck_assert_msg(publishers[i].rc == RC_OK, "%s", publishers[i].err.text);
        sum += publishers[i].pr.number;
    }
    for (int i = 0; i < RUNS; i++) {
        ck_assert_int_eq(publishers[i].pr.number, publishers[i + RUNS].pr.number);
        ck_assert_str_eq(publishers[i].pr.head, publishers[i + RUNS].pr.head);
    }
    ck_assert_int_eq(sum, 2 * (1 + 2 + 3));
    ck_assert_str_eq(kit_sh(&kit, "git --git-dir=origin.git for-each-ref refs/pull | wc -l"), "3");
}
END_TEST

START_TEST(a_binary_file_is_published_whole)
{
    struct forge_change change = change_of("run-a");
    const char *diff = kit_sh(&kit, "git clone -q origin.git w && cd w && "
                                    "printf 'a\\000b\\377' >bin.dat && git add -A && "
                                    "git diff --cached --binary --full-index && echo");
    change.patch = str_of(arena_printf(&kit.arena, "%s\n\n", diff));
    struct forge_pr pr = open_pr(&change);
    ck_assert_str_eq(
        kit_sh(&kit, "git --git-dir=origin.git show %s:bin.dat | od -An -tx1", pr.head),
        " 61 00 62 ff");
}
END_TEST

START_TEST(a_tree_that_was_not_verified_is_not_published)
{
    struct forge_change change = change_of("run-a");
    struct git git = {0};
    struct forge_pr pr;
    struct err err = {0};
    change.tree = kit_sh(&kit, "git --git-dir=origin.git rev-parse main^{tree}");
    ck_assert_int_eq(forge_local.open_pr(&forge_local, &(struct forge_call){.git = git}, &change,
                                         &kit.arena, &pr, &err),
                     RC_CONFLICT);
    ck_assert_str_eq(err.code, "TREE_NOT_VERIFIED");
    ck_assert_str_eq(kit_sh(&kit, "git --git-dir=origin.git for-each-ref --format='%%(refname)'"),
                     "refs/heads/main");
    change.tree = NULL;
    pr = open_pr(&change);
    change.tree = kit_sh(&kit, "git --git-dir=origin.git rev-parse %s^{tree}", pr.head);
    ck_assert_str_eq(open_pr(&change).head, pr.head);
}
END_TEST

START_TEST(a_lost_lease_pushes_nothing)
{
    struct forge_change change = change_of("run-a");
    enum rc lost = RC_STALE;
    change.holder.ctx = &lost;
    struct git git = {0};
    struct forge_pr pr;
    struct err err = {0};
    ck_assert_int_eq(forge_local.open_pr(&forge_local, &(struct forge_call){.git = git}, &change,
                                         &kit.arena, &pr, &err),
                     RC_STALE);
    ck_assert_str_eq(kit_sh(&kit, "git --git-dir=origin.git for-each-ref --format='%%(refname)'"),
                     "refs/heads/main");
}
END_TEST

START_TEST(work_of_others_on_the_branch_is_not_overwritten)
{
    struct forge_change change = change_of("run-a");
    kit_commit(&kit, "echo other >other.txt");
    kit_sh(&kit, "git --git-dir=origin.git branch drover/run-a main");
    struct git git = {0};
    struct forge_pr pr;
    struct err err = {0};
    ck_assert_int_eq(forge_local.open_pr(&forge_local, &(struct forge_call){.git = git}, &change,
                                         &kit.arena, &pr, &err),
                     RC_CONFLICT);
}
END_TEST

static const struct {
    const char *patch;
    enum rc rc;
} bad_patches[] = {
    {"", RC_INVALID},
    {"nonsense\n", RC_CONFLICT},
    {"diff --git a/none b/none\n--- a/none\n+++ b/none\n@@ -1 +1 @@\n-x\n+y\n", RC_CONFLICT},
    {"diff --git a/../x b/../x\nnew file mode 100644\n--- /dev/null\n+++ b/../x\n@@ -0,0 +1 "
     "@@\n+y\n",
     RC_CONFLICT},
    {"diff --git a/.git/config b/.git/config\nnew file mode 100644\n--- /dev/null\n"
     "+++ b/.git/config\n@@ -0,0 +1 @@\n+y\n",
     RC_CONFLICT},
};

/* ---- branches that are taken back ---- */

static struct forge_withdrawal withdrawal_of(const char *run)
{
    return (struct forge_withdrawal){
        .holder = {.name = "worker b", .may_go_on = forge_kit_may_go_on},
        .url = kit.origin,
        .run_id = run,
        .branch = arena_printf(&kit.arena, "drover/%s", run),
    };
}

static enum rc withdraw(const char *run, enum rc *lease, struct forge_withdrawn *ret_withdrawn)
{
    struct git git = {0};
    struct err err = {0};
    struct forge_withdrawal withdrawal = withdrawal_of(run);
    withdrawal.holder.ctx = lease;
    return forge_local.withdraw(&forge_local, &(struct forge_call){.git = git}, &withdrawal,
                                ret_withdrawn, &err);
}

/* With a body that names the run, as the publish step writes it. */
static struct forge_change own_change(const char *run)
{
    struct forge_change change = change_of(run);
    change.body = arena_printf(&kit.arena, "Why.\n\nDrover-Task: t\nDrover-Run: %s\n", run);
    return change;
}

/* All refs of the origin, sorted, with blanks between them. */
static void expect_refs(const char *refs)
{
    ck_assert_str_eq(kit_sh(&kit, "echo $(git --git-dir=origin.git for-each-ref "
                                  "--format='%%(refname)')"),
                     refs);
}

/* Pushes the run's branch and stops before the pull request. */
static void push_only(const char *run)
{
    kit_sh(&kit, "git --git-dir=origin.git update-ref refs/pull %s", base);
    struct forge_change change = own_change(run);
    struct git git = {0};
    struct forge_pr pr;
    struct err err = {0};
    ck_assert_int_ne(forge_local.open_pr(&forge_local, &(struct forge_call){.git = git}, &change,
                                         &kit.arena, &pr, &err),
                     RC_OK);
    kit_sh(&kit, "git --git-dir=origin.git update-ref -d refs/pull");
    ck_assert_str_eq(kit_sh(&kit, "git --git-dir=origin.git show drover/%s:file.txt", run), "two");
}

/* ---- looking ---- */

static struct forge_found look(const char *branch)
{
    struct git git = {0};
    struct forge_question question = {.url = kit.origin, .branch = branch};
    struct forge_found found;
    struct err err = {0};
    ck_assert_msg(forge_local.look(&forge_local, &(struct forge_call){.git = git}, &question,
                                   &kit.arena, &found, &err) == RC_OK,
                  "%s", err.text);
    return found;
}

/* Somebody else pushes a commit to the branch; gives its hash. */
static const char *push_to(const char *branch, const char *text)
{
    return kit_sh(&kit,
                  "rm -rf other && git clone -q origin.git other && cd other && echo %s >file.txt "
                  "&& git -c user.name=a -c user.email=a@b commit -qam agent && "
                  "git push -q origin HEAD:refs/heads/%s && git rev-parse HEAD",
                  text, branch);
}

START_TEST(a_branch_and_a_foreign_pull_request_are_found)
{
    struct forge_found found = look("drover/run-a");
    ck_assert_str_eq(found.head, "");
    ck_assert_int_eq(found.pr_number, 0);
    const char *head = push_to("drover/run-a", "two");
    found = look("drover/run-a");
    ck_assert_str_eq(found.head, head);
    ck_assert_int_eq(found.pr_number, 0);
    kit_sh(&kit, "git --git-dir=origin.git update-ref refs/pull/7/head %s", head);
    found = look("drover/run-a");
    ck_assert_int_eq(found.pr_number, 7);
    ck_assert_ptr_nonnull(strstr(found.pr_url, "#refs/pull/7/head"));
}
END_TEST

START_TEST(a_pull_request_of_drovers_own_is_not_foreign)
{
    struct forge_change change = change_of("run-a");
    struct forge_pr pr = open_pr(&change);
    struct forge_found found = look("drover/run-a");
    ck_assert_str_eq(found.head, pr.head);
    ck_assert_int_eq(found.pr_number, 0);
    /* Nor can another run's agent claim it by pushing the same commit. */
    kit_sh(&kit, "git --git-dir=origin.git update-ref refs/heads/drover/run-b %s", pr.head);
    ck_assert_int_eq(look("drover/run-b").pr_number, 0);
}
END_TEST

START_TEST(a_branch_that_shows_the_same_files_is_taken_as_it_is)
{
    const char *head = push_to("drover/run-a", "two");
    struct forge_change change = change_of("run-a");
    struct forge_pr pr = open_pr(&change);
    ck_assert_str_eq(pr.head, head);
    ck_assert_str_eq(kit_sh(&kit, "git --git-dir=origin.git rev-parse refs/pull/1/head"), head);
    push_to("drover/run-b", "three");
    struct forge_change other = change_of("run-b");
    struct git git = {0};
    struct err err = {0};
    ck_assert_int_eq(forge_local.open_pr(&forge_local, &(struct forge_call){.git = git}, &other,
                                         &kit.arena, &pr, &err),
                     RC_CONFLICT);
}
END_TEST

START_TEST(a_branch_without_a_pull_request_is_taken_back)
{
    enum rc gone = RC_STALE;
    struct forge_withdrawn withdrawn;
    push_only("run-a");
    ck_assert_int_eq(withdraw("run-a", &gone, &withdrawn), RC_STALE);
    ck_assert_str_eq(kit_sh(&kit, "git --git-dir=origin.git show drover/run-a:file.txt"), "two");
    ck_assert_int_eq(withdraw("run-a", NULL, &withdrawn), RC_OK);
    ck_assert_int_eq(withdrawn.branch, BRANCH_DELETED);
    ck_assert_int_eq(withdrawn.pr_number, 0);
    ck_assert_str_eq(kit_sh(&kit, "git --git-dir=origin.git branch --list 'drover/*' | wc -l"),
                     "0");
    ck_assert_int_eq(withdraw("run-a", NULL, &withdrawn), RC_OK);
    ck_assert_int_eq(withdrawn.branch, BRANCH_ABSENT);
}
END_TEST

/* A run of which the database knows no pull request: nothing may stay that looks like one. */
START_TEST(a_pull_request_that_was_not_recorded_is_taken_back)
{
    struct forge_withdrawn withdrawn;
    struct forge_change change = own_change("run-a");
    struct forge_pr pr = open_pr(&change);
    ck_assert_int_eq(withdraw("run-a", NULL, &withdrawn), RC_OK);
    ck_assert_int_eq(withdrawn.branch, BRANCH_DELETED);
    ck_assert_int_eq(withdrawn.pr_number, 1);
    expect_refs("refs/drover/closed/1 refs/drover/fence/run-a refs/heads/main");
    /* What it showed is still at hand, and its number is not given again. */
    ck_assert_str_eq(kit_sh(&kit, "git --git-dir=origin.git rev-parse refs/drover/closed/1"),
                     pr.head);
    change = change_of("run-b");
    ck_assert_int_eq(open_pr(&change).number, 2);
}
END_TEST

START_TEST(a_branch_with_work_of_others_is_kept)
{
    struct forge_withdrawn withdrawn;
    push_only("run-a");
    kit_sh(&kit, "git clone -q -b drover/run-a origin.git other; cd other; echo 3 > x; "
                 "git add x; git -c user.name=o -c user.email=o@o commit -qm mine; git push -q");
    ck_assert_int_eq(withdraw("run-a", NULL, &withdrawn), RC_OK);
    ck_assert_int_eq(withdrawn.branch, BRANCH_FOREIGN);
    ck_assert_str_eq(kit_sh(&kit, "git --git-dir=origin.git log -1 --format=%%s drover/run-a"),
                     "mine");
}
END_TEST

START_TEST(a_patch_that_does_not_fit_is_refused)
{
    struct forge_change change = change_of("run-a");
    change.patch = str_of(bad_patches[_i].patch);
    struct git git = {0};
    struct forge_pr pr;
    struct err err = {0};
    ck_assert_int_eq(forge_local.open_pr(&forge_local, &(struct forge_call){.git = git}, &change,
                                         &kit.arena, &pr, &err),
                     bad_patches[_i].rc);
    ck_assert_str_eq(kit_sh(&kit, "git --git-dir=origin.git for-each-ref --format='%%(refname)'"),
                     "refs/heads/main");
}
END_TEST

/* ---- merge ---- */

static enum rc merge(int64_t number, const char *head, char to[GIT_HASH_BYTES], struct err *err)
{
    struct git git = {0};
    const struct forge_merge request = {
        .forge = "local",
        .url = kit.origin,
        .number = number,
        .run_id = "run-a",
        .branch = "drover/run-a",
        .expected_head = head,
        .target_branch = "main",
        .message = "Merge it\n",
    };
    return forge_merge(&(struct forge_call){.git = git}, &request, to, err);
}

START_TEST(a_pull_request_is_merged_once)
{
    struct forge_change change = change_of("run-a");
    struct forge_pr pr = open_pr(&change);
    kit_commit(&kit, "echo other >other.txt");
    char commit[GIT_HASH_BYTES], again[GIT_HASH_BYTES];
    struct err err = {0};
    ck_assert_msg(merge(1, pr.head, commit, &err) == RC_OK, "%s", err.text);
    ck_assert_str_eq(kit_sh(&kit, "git --git-dir=origin.git rev-parse main"), commit);
    ck_assert_str_eq(kit_sh(&kit, "git --git-dir=origin.git show main:file.txt"), "two");
    ck_assert_str_eq(kit_sh(&kit, "git --git-dir=origin.git show main:other.txt"), "other");
    ck_assert_int_eq(merge(1, pr.head, again, &err), RC_OK);
    ck_assert_str_eq(commit, again);
}
END_TEST

START_TEST(a_conflict_is_told_and_changes_nothing)
{
    struct forge_change change = change_of("run-a");
    struct forge_pr pr = open_pr(&change);
    const char *tip = kit_commit(&kit, "echo three >file.txt");
    char commit[GIT_HASH_BYTES];
    struct err err = {0};
    ck_assert_int_eq(merge(1, pr.head, commit, &err), RC_CONFLICT);
    ck_assert_ptr_nonnull(strstr(err.text, "file.txt"));
    ck_assert_str_eq(kit_sh(&kit, "git --git-dir=origin.git rev-parse main"), tip);
}
END_TEST

START_TEST(what_cannot_be_merged_is_named)
{
    struct forge_change change = change_of("run-a");
    struct forge_pr pr = open_pr(&change);
    char commit[GIT_HASH_BYTES];
    struct err err = {0};
    ck_assert_int_eq(merge(7, pr.head, commit, &err), RC_NOT_FOUND);
    ck_assert_int_eq(merge(1, base, commit, &err), RC_CONFLICT);
    ck_assert_str_eq(err.code, "HEAD_MOVED");
    const struct forge_merge elsewhere = {.forge = "nowhere", .url = kit.origin, .number = 1};
    ck_assert_int_eq(forge_merge(&(struct forge_call){0}, &elsewhere, commit, &err), RC_INVALID);
}
END_TEST

START_TEST(a_pull_request_of_another_run_is_neither_merged_nor_closed)
{
    struct forge_change change = change_of("run-b");
    struct forge_pr pr = open_pr(&change);
    struct git git = {0};
    char commit[GIT_HASH_BYTES];
    struct err err = {0};
    ck_assert_int_eq(merge(pr.number, pr.head, commit, &err), RC_CONFLICT);
    ck_assert_str_eq(err.code, "PULL_REQUEST_NOT_OWN");
    struct forge_closing closing = closing_of(pr.number);
    ck_assert_int_eq(forge_close(&(struct forge_call){.git = git}, &closing, &err), RC_CONFLICT);
    ck_assert_str_eq(kit_sh(&kit, "git --git-dir=origin.git rev-parse main"), base);
}
END_TEST

START_TEST(files_that_were_not_verified_are_not_merged)
{
    struct forge_change change = change_of("run-a");
    struct forge_pr pr = open_pr(&change);
    struct git git = {0};
    char commit[GIT_HASH_BYTES];
    struct err err = {0};
    struct forge_merge request = {
        .forge = "local",
        .url = kit.origin,
        .number = pr.number,
        .run_id = "run-a",
        .branch = "drover/run-a",
        .expected_head = pr.head,
        .expected_tree = "1111111111111111111111111111111111111111",
        .target_branch = "main",
        .message = "Merge it\n",
    };
    ck_assert_int_eq(forge_merge(&(struct forge_call){.git = git}, &request, commit, &err),
                     RC_CONFLICT);
    ck_assert_str_eq(err.code, "HEAD_NOT_VERIFIED");
    request.expected_tree = kit_sh(&kit, "git --git-dir=origin.git rev-parse drover/run-a^{tree}");
    ck_assert_msg(forge_merge(&(struct forge_call){.git = git}, &request, commit, &err) == RC_OK,
                  "%s", err.text);
}
END_TEST

START_TEST(a_pull_request_that_was_closed_is_not_merged)
{
    struct forge_change change = change_of("run-a");
    struct forge_pr pr = open_pr(&change);
    struct git git = {0};
    char commit[GIT_HASH_BYTES];
    struct err err = {0};
    struct forge_closing closing = closing_of(pr.number);
    ck_assert_msg(forge_close(&(struct forge_call){.git = git}, &closing, &err) == RC_OK, "%s",
                  err.text);
    ck_assert_int_eq(forge_close(&(struct forge_call){.git = git}, &closing, &err), RC_OK);
    ck_assert_int_eq(merge(pr.number, pr.head, commit, &err), RC_CONFLICT);
    ck_assert_str_eq(err.code, "PULL_REQUEST_NOT_OPEN");
    ck_assert_str_eq(kit_sh(&kit, "git --git-dir=origin.git rev-parse main"), base);
    ck_assert_str_eq(kit_sh(&kit, "git --git-dir=origin.git rev-parse drover/run-a"), pr.head);
    closing.number = 7;
    ck_assert_int_eq(forge_close(&(struct forge_call){.git = git}, &closing, &err), RC_OK);
    closing.forge = "nowhere";
    ck_assert_int_eq(forge_close(&(struct forge_call){.git = git}, &closing, &err), RC_INVALID);
    change = change_of("run-b");
    ck_assert_int_eq(open_pr(&change).number, 2);
}
END_TEST

START_TEST(a_pull_request_that_was_merged_is_not_closed)
{
    struct forge_change change = change_of("run-a");
    struct forge_pr pr = open_pr(&change);
    struct git git = {0};
    char commit[GIT_HASH_BYTES];
    struct err err = {0};
    struct forge_closing closing = closing_of(pr.number);
    closing.target_branch = "main";
    ck_assert_int_eq(merge(pr.number, pr.head, commit, &err), RC_OK);
    ck_assert_int_eq(forge_close(&(struct forge_call){.git = git}, &closing, &err), RC_CONFLICT);
    ck_assert_str_eq(err.code, "PULL_REQUEST_MERGED");
    ck_assert_str_eq(kit_sh(&kit, "git --git-dir=origin.git for-each-ref refs/drover/closed"), "");
}
END_TEST

/* What a doctor must be told of one pull request that was opened and merged. */
static const struct {
    const char *damage; /* In the origin. */
    const char *wrong;  /* A part of what is said; NULL: nothing. */
    const char *broken;
} examined[] = {
    {"true", NULL, NULL},
    {"rm refs/pull/1/head", "refs/pull/1/head is missing", NULL},
    {": >refs/pull/1/head", "refs/pull/1/head is missing or broken", "refs/pull/1/head"},
    {"git update-ref refs/pull/1/head main", "should be", NULL},
    {"git update-ref refs/heads/main main^1", "does not lead", NULL},
    {"git update-ref -d refs/heads/main", NULL, NULL},
    {"blob=$(git rev-parse refs/pull/1/head:file.txt); "
     "rm -f objects/$(echo $blob | sed 's|^..|&/|')",
     "missing or damaged", NULL},
    {"blob=$(git rev-parse refs/pull/1/head:file.txt | sed 's|^..|&/|'); chmod 600 objects/$blob; "
     ": >objects/$blob",
     "missing or damaged", NULL},
    {": >refs/drover/issues/1", NULL, "refs/drover/issues/1"},
};

START_TEST(what_the_origin_has_lost_is_named)
{
    struct git git = {0};
    struct err err = {0};
    char commit[GIT_HASH_BYTES];
    struct forge_change change = change_of("run-a");
    struct forge_pr pr = open_pr(&change);
    struct issue issue;
    ck_assert_int_eq(merge(1, pr.head, commit, &err), RC_OK);
    ck_assert_int_eq(issues_local.open(&issues_local, &(struct forge_call){.git = git}, kit.origin,
                                       &(struct issue_words){.title = "one",
                                                             .body = "",
                                                             .author = "somebody",
                                                             .time_us = US_PER_SECOND},
                                       &kit.arena, &issue, &err),
                     RC_OK);
    kit_sh(&kit, "cd origin.git && { %s; }", examined[_i].damage);
    const struct forge_known known = {.number = 1,
                                      .head = pr.head,
                                      .merge_commit = commit,
                                      .merged_lately = true,
                                      .target_branch = "main"};
    struct forge_examined found = {0};
    ck_assert_msg(forge_local.examine(&forge_local, &(struct forge_call){.git = git}, kit.origin,
                                      &known, 1, &kit.arena, &found, &err) == RC_OK,
                  "%s", err.text);
    const char *wrong = found.wrong[0] != NULL ? found.wrong[0] : "", *broken = found.broken;
    ck_assert_msg((found.wrong[0] == NULL) == (examined[_i].wrong == NULL), "%s", wrong);
    ck_assert_msg(examined[_i].wrong == NULL || strstr(wrong, examined[_i].wrong) != NULL, "%s",
                  wrong);
    ck_assert_msg((broken == NULL) == (examined[_i].broken == NULL), "%s",
                  broken != NULL ? broken : "-");
    ck_assert_msg(broken == NULL || strstr(broken, examined[_i].broken) != NULL, "%s", broken);
}
END_TEST

/* No git holds a lock for a minute. */
START_TEST(locks_of_a_git_that_lost_power_do_not_stop_a_merge)
{
    struct forge_change change = change_of("run-a");
    struct forge_pr pr = open_pr(&change);
    char commit[GIT_HASH_BYTES];
    struct err err = {0};
    kit_sh(&kit, "cd origin.git && touch -d '2 minutes ago' refs/heads/main.lock HEAD.lock");
    ck_assert_msg(merge(1, pr.head, commit, &err) == RC_OK, "%s", err.text);
    kit_sh(&kit, "cd origin.git && git update-ref refs/heads/main main^1 && "
                 "touch refs/heads/main.lock");
    ck_assert_int_ne(merge(1, pr.head, commit, &err), RC_OK);
}
END_TEST

START_TEST(a_branch_that_is_checked_out_is_left_alone)
{
    kit_sh(&kit, "git clone -q origin.git w");
    kit.origin = arena_printf(&kit.arena, "%s/w", kit.dir);
    struct forge_change change = change_of("run-a");
    struct forge_pr pr = open_pr(&change);
    char commit[GIT_HASH_BYTES];
    struct err err = {0};
    ck_assert_int_eq(merge(pr.number, pr.head, commit, &err), RC_CONFLICT);
    ck_assert_str_eq(err.code, "BRANCH_CHECKED_OUT");
}
END_TEST

START_TEST(an_address_elsewhere_is_not_local)
{
    struct forge_change change = change_of("run-a");
    change.url = "https://example.org/x.git";
    struct git git = {0};
    struct forge_pr pr;
    struct err err = {0};
    ck_assert_int_eq(forge_local.open_pr(&forge_local, &(struct forge_call){.git = git}, &change,
                                         &kit.arena, &pr, &err),
                     RC_INVALID);
}
END_TEST

Suite *forge_local_suite(void)
{
    Suite *suite = suite_create("forge_local");
    TCase *tests = tcase_create("forge_local");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, publishing_twice_gives_the_same_commit_and_number);
    tcase_add_test(tests, numbers_go_on_after_the_highest);
    tcase_add_test(tests, hooks_of_another_owner_do_not_run_as_root);
    tcase_add_test(tests, a_try_that_stopped_between_the_refs_is_finished);
    tcase_add_test(tests, a_number_that_a_dead_git_left_locked_is_passed_over);
    tcase_add_test(tests, publishers_at_the_same_time_agree);
    tcase_add_test(tests, a_binary_file_is_published_whole);
    tcase_add_test(tests, a_tree_that_was_not_verified_is_not_published);
    tcase_add_test(tests, a_lost_lease_pushes_nothing);
    tcase_add_test(tests, work_of_others_on_the_branch_is_not_overwritten);
    tcase_add_test(tests, a_branch_and_a_foreign_pull_request_are_found);
    tcase_add_test(tests, a_pull_request_of_drovers_own_is_not_foreign);
    tcase_add_test(tests, a_branch_that_shows_the_same_files_is_taken_as_it_is);
    tcase_add_test(tests, a_branch_without_a_pull_request_is_taken_back);
    tcase_add_test(tests, a_pull_request_that_was_not_recorded_is_taken_back);
    tcase_add_test(tests, a_pull_request_that_was_merged_is_not_closed);
    tcase_add_test(tests, a_branch_with_work_of_others_is_kept);
    tcase_add_loop_test(tests, a_patch_that_does_not_fit_is_refused, 0, (int)COUNT_OF(bad_patches));
    tcase_add_test(tests, a_pull_request_is_merged_once);
    tcase_add_test(tests, a_pull_request_of_another_run_is_neither_merged_nor_closed);
    tcase_add_test(tests, files_that_were_not_verified_are_not_merged);
    tcase_add_test(tests, a_pull_request_that_was_closed_is_not_merged);
    tcase_add_test(tests, a_conflict_is_told_and_changes_nothing);
    tcase_add_test(tests, what_cannot_be_merged_is_named);
    tcase_add_loop_test(tests, what_the_origin_has_lost_is_named, 0, (int)COUNT_OF(examined));
    tcase_add_test(tests, locks_of_a_git_that_lost_power_do_not_stop_a_merge);
    tcase_add_test(tests, a_branch_that_is_checked_out_is_left_alone);
    tcase_add_test(tests, an_address_elsewhere_is_not_local);
    suite_add_tcase(suite, tests);
    return suite;
}
