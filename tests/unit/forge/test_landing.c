/*
 * test_landing.c - positions of a merge train, the push of the target to one of them, and what the
 * local forge shows of its pull requests.
 */
#include "forge/landing.h"
#include "forge/local/local.h"
#include "forge/port/prs.h"
#include "tests/unit/forge_kit.h"
#include "tests/unit/git_host.h"
#include <check.h>
#include <string.h>

#define ORIGIN "git --git-dir=origin.git "
enum { CARS_MAX = 8 };

static struct kit kit;
static const char *base;
static struct landing_car cars[CARS_MAX];
static struct landing landing;
static enum rc may;

static void setup(void)
{
    base = forge_kit_open(&kit);
    may = RC_OK;
    landing = (struct landing){
        .url = kit.origin,
        .git_dir = arena_printf(&kit.arena, "%s/mirror.git", kit.dir),
        .target_branch = "main",
        .base = base,
        .cars = cars,
        .holder = {.name = "worker a", .may_go_on = forge_kit_may_go_on, .ctx = &may},
    };
}

static void teardown(void)
{
    kit_close(&kit);
}

/* A pull request that puts this text into a file. */
static const char *open_pr(const char *path, const char *text)
{
    size_t no = landing.count++;
    const char *head = kit_sh(
        &kit,
        "export GIT_INDEX_FILE=%s/index GIT_DIR=origin.git GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a"
        " GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a; rm -f $GIT_INDEX_FILE; git read-tree %s;"
        " git update-index --add --cacheinfo 100644,$(printf '%s\\n' | git hash-object -w "
        "--stdin),%s;"
        " c=$(git commit-tree $(git write-tree) -p %s -m 'change %s');"
        " git update-ref refs/heads/b%zu $c; git update-ref refs/pull/%zu/head $c; echo $c",
        kit.dir, base, text, path, base, path, no + 1, no + 1);
    cars[no] = (struct landing_car){
        .number = (int64_t)no + 1,
        .run_id = arena_printf(&kit.arena, "run-%zu", no + 1),
        .branch = arena_printf(&kit.arena, "b%zu", no + 1),
        .head = head,
        .title = "Change it",
        .time_us = INT64_C(1780000000) * 1000000,
    };
    kit_sh(&kit, "git --git-dir=mirror.git fetch -q %s '+refs/heads/*:refs/heads/*'", kit.origin);
    return head;
}

static struct landing_position positions[CARS_MAX];

static void merge(void)
{
    const struct git git = {0};
    struct err err = {0};
    size_t at = 0;
    ck_assert_msg(landing_merge(&git, &landing, &kit.arena, positions, &at, &err) == RC_OK, "%s",
                  err.text);
}

static enum rc push_to(const char *commit, const char *code, size_t *ret_at)
{
    struct forge_call call = {0};
    struct err err = {0};
    enum rc rc = landing_push(&call, &landing, commit, ret_at, &err);
    ck_assert_msg(strcmp(rc == RC_OK ? "" : err.code, code) == 0, "%s: %s", err.code, err.text);
    forge_call_release(&call);
    return rc;
}

static const char *target(void)
{
    return kit_sh(&kit, ORIGIN "rev-parse main");
}

START_TEST(the_same_input_makes_the_same_commits_everywhere)
{
    open_pr("a.txt", "a");
    open_pr("b.txt", "b");
    merge();
    const char *first = positions[0].commit, *second = positions[1].commit;
    kit_sh(&kit, "git clone -q --mirror origin.git other.git");
    landing.git_dir = arena_printf(&kit.arena, "%s/other.git", kit.dir);
    merge();
    ck_assert_str_eq(positions[0].commit, first);
    ck_assert_str_eq(positions[1].commit, second);
    ck_assert_str_eq(
        kit_sh(&kit, "git --git-dir=other.git log -1 --format=%%s,%%an,%%at %s", second),
        "Merge pull request #2: Change it,drover,1780000000");
    ck_assert_str_eq(
        kit_sh(&kit, "git --git-dir=other.git ls-tree --name-only %s | tr '\\n' ' '", second),
        "a.txt b.txt file.txt ");
}
END_TEST

START_TEST(one_that_does_not_merge_is_named_with_its_files)
{
    const struct git git = {0};
    struct err err = {0};
    size_t at = 9;
    open_pr("file.txt", "mine");
    open_pr("a.txt", "a");
    open_pr("file.txt", "yours");
    ck_assert_int_eq(landing_merge(&git, &landing, &kit.arena, positions, &at, &err), RC_CONFLICT);
    ck_assert_uint_eq(at, 2);
    ck_assert_str_eq(err.code, "MERGE_CONFLICT");
    ck_assert_ptr_nonnull(strstr(err.text, "file.txt"));
}
END_TEST

START_TEST(a_push_moves_the_target_and_all_fences)
{
    size_t at;
    open_pr("a.txt", "a");
    open_pr("b.txt", "b");
    merge();
    ck_assert_int_eq(push_to(positions[1].commit, "", &at), RC_OK);
    ck_assert_str_eq(target(), positions[1].commit);
    ck_assert_str_eq(kit_sh(&kit, ORIGIN "for-each-ref refs/drover/fence | wc -l"), "2");
    ck_assert_str_eq(kit_sh(&kit, ORIGIN "cat-file -p refs/drover/fence/run-2 | head -n 1"),
                     "land by worker a");
}
END_TEST

START_TEST(many_land_as_one_commit)
{
    const struct git git = {0};
    struct err err = {0};
    const char *commit = NULL;
    size_t at;
    const char *first = open_pr("a.txt", "a"), *second = open_pr("b.txt", "b");
    merge();
    ck_assert_int_eq(landing_single(&git, &landing, positions[1].tree, &kit.arena, &commit, &err),
                     RC_OK);
    ck_assert_int_eq(push_to(commit, "", &at), RC_OK);
    ck_assert_str_eq(kit_sh(&kit, ORIGIN "log -1 --format=%%P main"),
                     arena_printf(&kit.arena, "%s %s %s", base, first, second));
    ck_assert_str_eq(kit_sh(&kit, ORIGIN "log -1 --format=%%s main"), "Merge pull requests #1, #2");
}
END_TEST

START_TEST(a_target_that_has_moved_is_left_alone)
{
    size_t at;
    open_pr("a.txt", "a");
    merge();
    const char *other = kit_sh(&kit,
                               ORIGIN "commit-tree -m other -p main main^{tree} | "
                                      "tee new; " ORIGIN "update-ref refs/heads/main $(cat new)");
    ck_assert_int_eq(push_to(positions[0].commit, "TARGET_ADVANCED", &at), RC_CONFLICT);
    ck_assert_str_eq(target(), other);
    ck_assert_str_eq(kit_sh(&kit, ORIGIN "for-each-ref refs/drover/fence | wc -l"), "0");
}
END_TEST

START_TEST(a_pull_request_that_was_closed_or_moved_stops_it)
{
    size_t at;
    open_pr("a.txt", "a");
    const char *second = open_pr("b.txt", "b");
    merge();
    kit_sh(&kit, ORIGIN "update-ref refs/drover/closed/2 %s", second);
    ck_assert_int_eq(push_to(positions[1].commit, "PULL_REQUEST_MOVED", &at), RC_CONFLICT);
    ck_assert_uint_eq(at, 1);
    kit_sh(&kit,
           ORIGIN "update-ref -d refs/drover/closed/2; " ORIGIN "update-ref refs/pull/1/head %s",
           second);
    ck_assert_int_eq(push_to(positions[1].commit, "PULL_REQUEST_MOVED", &at), RC_CONFLICT);
    ck_assert_uint_eq(at, 0);
    ck_assert_str_eq(target(), base);
}
END_TEST

START_TEST(a_holder_that_lost_its_lease_moves_nothing)
{
    size_t at;
    open_pr("a.txt", "a");
    merge();
    may = RC_STALE;
    ck_assert_int_eq(push_to(positions[0].commit, "TEST", &at), RC_STALE);
    ck_assert_str_eq(target(), base);
}
END_TEST

/* Between its question and its push a later holder has acted. */
static enum rc withdraw_meanwhile(void *ctx, struct err *err)
{
    (void)err;
    int *times = ctx;
    if ((*times)++ == 0)
        kit_sh(&kit, "h=$(echo later | " ORIGIN "hash-object -w --stdin); " ORIGIN
                     "update-ref refs/drover/fence/run-1 $h");
    return RC_OK;
}

START_TEST(a_fence_that_moves_meanwhile_makes_it_ask_again)
{
    size_t at;
    int times = 0;
    open_pr("a.txt", "a");
    merge();
    landing.holder.may_go_on = withdraw_meanwhile;
    landing.holder.ctx = &times;
    ck_assert_int_eq(push_to(positions[0].commit, "", &at), RC_OK);
    ck_assert_int_eq(times, 2);
}
END_TEST

START_TEST(a_checked_out_target_is_moved_with_its_files_where_that_is_allowed)
{
    size_t at;
    open_pr("a.txt", "a");
    open_pr("b.txt", "b");
    merge();
    kit_sh(&kit, ORIGIN "worktree add -q %s/tree main", kit.dir);
    ck_assert_int_eq(push_to(positions[1].commit, "BRANCH_CHECKED_OUT", &at), RC_CONFLICT);
    kit_sh(&kit, ORIGIN "config receive.denyCurrentBranch updateInstead");
    ck_assert_int_eq(push_to(positions[1].commit, "", &at), RC_OK);
    ck_assert_str_eq(kit_sh(&kit, "cat tree/b.txt; git -C tree status --short"), "b");
    ck_assert_str_eq(kit_sh(&kit, ORIGIN "for-each-ref refs/drover/fence | wc -l"), "2");
}
END_TEST

START_TEST(a_host_gets_one_push_with_target_and_fences)
{
    struct git_host host;
    struct err err = {0};
    size_t at;
    open_pr("a.txt", "a");
    open_pr("b.txt", "b");
    merge();
    git_host_start(&host, &kit);
    kit_sh(&kit, ORIGIN "config http.receivepack true; "
                        "git --git-dir=mirror.git config --remove-section remote.origin");
    landing.url = git_host_url(&host, "origin.git");
    struct forge_call call = {.git = {.credential = GIT_HOST_TOKEN}};
    ck_assert_msg(landing_push(&call, &landing, positions[1].commit, &at, &err) == RC_OK, "%s",
                  err.text);
    ck_assert_str_eq(target(), positions[1].commit);
    ck_assert_str_eq(kit_sh(&kit, ORIGIN "for-each-ref refs/drover/fence | wc -l"), "2");
    landing.base = base; /* As a try that knows nothing of the first. */
    ck_assert_int_eq(landing_push(&call, &landing, positions[0].commit, &at, &err), RC_CONFLICT);
    ck_assert_str_eq(err.code, "TARGET_ADVANCED");
    forge_call_release(&call);
    git_host_stop(&host);
}
END_TEST

/* ---- what the local forge shows ---- */

static struct pr_view view_of(int64_t number)
{
    struct forge_call call = {0};
    struct err err = {0};
    struct pr_view view;
    const struct pr_ref ref = {.url = kit.origin, .number = number};
    ck_assert_msg(prs_local.view(&call, &ref, &kit.arena, &view, &err) == RC_OK, "%s", err.text);
    return view;
}

START_TEST(a_view_shows_state_target_and_conflict)
{
    size_t at;
    struct err err = {0};
    struct pr_view view;
    const char *head = open_pr("file.txt", "mine");
    open_pr("file.txt", "yours");
    open_pr("c.txt", "c");
    view = view_of(1);
    ck_assert_int_eq(view.state, PR_OPEN);
    ck_assert_int_eq(view.mergeable, MERGE_CLEAN);
    ck_assert_str_eq(view.head, head);
    ck_assert_str_eq(view.head_branch, "b1");
    ck_assert_str_eq(view.target_branch, "main");
    ck_assert_str_eq(view.base, base);
    ck_assert_str_eq(view.title, "change file.txt");
    ck_assert_ptr_null(view.merge_commit);
    landing.count = 1;
    merge();
    ck_assert_int_eq(push_to(positions[0].commit, "", &at), RC_OK);
    view = view_of(1);
    ck_assert_int_eq(view.state, PR_MERGED);
    ck_assert_str_eq(view.merge_commit, positions[0].commit);
    ck_assert_int_eq(view_of(2).mergeable, MERGE_CONFLICT);
    kit_sh(&kit, ORIGIN "update-ref refs/drover/closed/3 refs/pull/3/head");
    ck_assert_int_eq(view_of(3).state, PR_CLOSED);
    struct forge_call call = {0};
    const struct pr_ref none = {.url = kit.origin, .number = 9};
    ck_assert_int_eq(prs_local.view(&call, &none, &kit.arena, &view, &err), RC_NOT_FOUND);
}
END_TEST

START_TEST(what_changed_is_told_once)
{
    struct forge_call call = {0};
    struct err err = {0};
    struct changed_answer first, again;
    struct changed_query query = {.url = kit.origin};
    open_pr("a.txt", "a");
    open_pr("b.txt", "b");
    ck_assert_int_eq(prs_local.changed(&call, &query, &kit.arena, &first, &err), RC_OK);
    ck_assert_uint_eq(first.count, 2);
    ck_assert(first.items[0].is_pr && !first.same && !first.more);
    query.etag = first.etag;
    ck_assert_int_eq(prs_local.changed(&call, &query, &kit.arena, &again, &err), RC_OK);
    ck_assert(again.same);
    ck_assert_uint_eq(again.count, 0);
    open_pr("c.txt", "c");
    ck_assert_int_eq(prs_local.changed(&call, &query, &kit.arena, &again, &err), RC_OK);
    ck_assert(!again.same);
    ck_assert_uint_eq(again.count, 3);
}
END_TEST

Suite *landing_suite(void);
Suite *landing_suite(void)
{
    Suite *suite = suite_create("landing");
    TCase *tc = tcase_create("landing");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, the_same_input_makes_the_same_commits_everywhere);
    tcase_add_test(tc, one_that_does_not_merge_is_named_with_its_files);
    tcase_add_test(tc, a_push_moves_the_target_and_all_fences);
    tcase_add_test(tc, many_land_as_one_commit);
    tcase_add_test(tc, a_target_that_has_moved_is_left_alone);
    tcase_add_test(tc, a_pull_request_that_was_closed_or_moved_stops_it);
    tcase_add_test(tc, a_holder_that_lost_its_lease_moves_nothing);
    tcase_add_test(tc, a_fence_that_moves_meanwhile_makes_it_ask_again);
    tcase_add_test(tc, a_checked_out_target_is_moved_with_its_files_where_that_is_allowed);
    tcase_add_test(tc, a_host_gets_one_push_with_target_and_fences);
    tcase_add_test(tc, a_view_shows_state_target_and_conflict);
    tcase_add_test(tc, what_changed_is_told_once);
    suite_add_tcase(suite, tc);
    return suite;
}
