/*
 * test_fence.c - nothing of an earlier holder of a run takes effect at the origin after a later one
 * has acted there.
 */
#include "base/clock.h"
#include "base/fd.h"
#include "forge/forges.h"
#include "forge/git/fence.h"
#include "forge/local/local.h"
#include "forge/port/change.h"
#include "tests/unit/forge_kit.h"
#include <check.h>

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

/* A worker that freezes after the server has confirmed its lease, and wakes when others have acted:
   its next question is answered with the truth. */
struct frozen {
    int at, asked; /* The question after which it freezes, from 1; how many there were. */
    void (*meanwhile)(void);
    enum rc then; /* The answer to every later question. */
};

static enum rc freeze(void *ctx, struct err *err)
{
    struct frozen *frozen = ctx;
    frozen->asked++;
    if (frozen->asked == frozen->at)
        frozen->meanwhile();
    if (frozen->asked <= frozen->at || frozen->then == RC_OK)
        return RC_OK;
    return err_set(err, frozen->then, "LEASE_LOST", "not any more");
}

static void others_withdraw(void)
{
    struct forge_withdrawn withdrawn;
    ck_assert_int_eq(withdraw("run-a", NULL, &withdrawn), RC_OK);
}

static void others_publish(void)
{
    struct forge_change change = own_change("run-a");
    change.holder.name = "worker b";
    change.scratch = arena_printf(&kit.arena, "%s/other.git", kit.dir);
    ck_assert_int_eq(open_pr(&change).number, 1);
}

static void others_publish_and_merge(void)
{
    others_publish();
    kit_sh(&kit, "git --git-dir=origin.git update-ref refs/heads/main drover/run-a; "
                 "git --git-dir=origin.git update-ref -d refs/heads/drover/run-a");
}

static enum rc publish_frozen(struct frozen *frozen, struct forge_pr *ret_pr)
{
    struct git git = {0};
    struct err err = {0};
    struct forge_change change = own_change("run-a");
    change.holder.may_go_on = freeze;
    change.holder.ctx = frozen;
    return forge_local.open_pr(&forge_local, &(struct forge_call){.git = git}, &change, &kit.arena,
                               ret_pr, &err);
}

#define FENCE_ONLY "refs/drover/fence/run-a refs/heads/main"
#define PUBLISHED                                                                                \
    "refs/drover/fence/run-a refs/drover/pulls/run-a/1 refs/heads/drover/run-a refs/heads/main " \
    "refs/pull/1/head"

/* Before the push, and between push and pull request. */
static const struct {
    int at;
    void (*meanwhile)(void);
    const char *refs;
} late[] = {
    {1, others_withdraw, FENCE_ONLY},
    {2, others_withdraw, FENCE_ONLY},
    {1, others_publish, PUBLISHED},
    {2, others_publish, PUBLISHED},
    {1, others_publish_and_merge,
     "refs/drover/fence/run-a refs/drover/pulls/run-a/1 refs/heads/main refs/pull/1/head"},
    {2, others_publish_and_merge,
     "refs/drover/fence/run-a refs/drover/pulls/run-a/1 refs/heads/main refs/pull/1/head"},
};

START_TEST(a_publisher_that_comes_too_late_changes_nothing)
{
    struct frozen frozen = {.at = late[_i].at, .meanwhile = late[_i].meanwhile, .then = RC_STALE};
    struct forge_pr pr;
    ck_assert_int_eq(publish_frozen(&frozen, &pr), RC_STALE);
    ck_assert_int_gt(frozen.asked, frozen.at);
    expect_refs(late[_i].refs);
}
END_TEST

/* It is the other one that was late: it has acted before this one did. */
START_TEST(a_holder_goes_on_after_an_earlier_one_has_acted)
{
    struct frozen frozen = {.at = _i, .meanwhile = others_publish, .then = RC_OK};
    struct forge_pr pr;
    ck_assert_int_eq(publish_frozen(&frozen, &pr), RC_OK);
    ck_assert_int_eq(pr.number, 1);
    expect_refs(PUBLISHED);
}
END_TEST

START_TEST(a_run_that_was_taken_back_can_be_published_by_its_holder)
{
    others_withdraw();
    others_publish();
    expect_refs(PUBLISHED);
}
END_TEST

START_TEST(a_late_publisher_is_taken_back_and_a_late_withdrawal_takes_nothing)
{
    struct frozen frozen = {.at = 1, .meanwhile = others_publish, .then = RC_OK};
    struct git git = {0};
    struct err err = {0};
    struct forge_withdrawn withdrawn;
    struct forge_withdrawal withdrawal = withdrawal_of("run-a");
    withdrawal.holder.may_go_on = freeze;
    withdrawal.holder.ctx = &frozen;
    ck_assert_msg(forge_local.withdraw(&forge_local, &(struct forge_call){.git = git}, &withdrawal,
                                       &withdrawn, &err) == RC_OK,
                  "%s", err.text);
    ck_assert_int_eq(withdrawn.pr_number, 1);
    expect_refs("refs/drover/closed/1 " FENCE_ONLY);
    kit_sh(&kit, "git --git-dir=origin.git update-ref -d refs/drover/closed/1");
    frozen = (struct frozen){.at = 1, .meanwhile = others_publish, .then = RC_STALE};
    ck_assert_int_eq(forge_local.withdraw(&forge_local, &(struct forge_call){.git = git},
                                          &withdrawal, &withdrawn, &err),
                     RC_STALE);
    expect_refs(PUBLISHED);
}
END_TEST

/* The push itself, without a look before it: the branch does not move when the fence has. */
START_TEST(a_push_with_an_old_fence_is_refused_as_a_whole)
{
    struct git git = {0};
    struct err err = {0};
    struct forge_change change = own_change("run-a");
    char head[GIT_HASH_BYTES];
    struct fence fence = {.moved = false};
    const struct fence_text text = {.act = "publish", .holder = "worker a"};
    const struct forge_push push = {.head = head, .branch_from = "", .fence = &fence};
    ck_assert_int_eq(forge_commit(&git, &change, head, &err), RC_OK);
    ck_assert_int_eq(fence_make(&git, change.scratch, &text, &fence, &err), RC_OK);
    others_withdraw();
    ck_assert_int_eq(forge_push(&git, &change, &push, &err), RC_IO);
    ck_assert(!fence.moved);
    expect_refs(FENCE_ONLY);
    text_copy(fence.old, sizeof fence.old,
              kit_sh(&kit, "git --git-dir=origin.git rev-parse refs/drover/fence/run-a"));
    ck_assert_msg(forge_push(&git, &change, &push, &err) == RC_OK, "%s", err.text);
    ck_assert(fence.moved);
    expect_refs("refs/drover/fence/run-a refs/heads/drover/run-a refs/heads/main");
}
END_TEST

START_TEST(every_act_moves_the_fence_and_says_who_acted)
{
    static const char show[] = "git --git-dir=origin.git cat-file blob refs/drover/fence/run-a";
    struct forge_change change = own_change("run-a");
    struct git git = {0};
    struct err err = {0};
    open_pr(&change);
    const char *first = kit_sh(&kit, "%s", show);
    ck_assert(text_starts(first, "publish by worker a\n"));
    open_pr(&change);
    const char *again = kit_sh(&kit, "%s", show);
    ck_assert(text_starts(again, "publish by worker a\n"));
    ck_assert_str_ne(first, again);
    const struct forge_closing closing = closing_of(1);
    ck_assert_int_eq(forge_close(&(struct forge_call){.git = git}, &closing, &err), RC_OK);
    ck_assert(text_starts(kit_sh(&kit, "%s", show), "close by the server\n"));
    others_withdraw();
    ck_assert(text_starts(kit_sh(&kit, "%s", show), "withdraw by worker b\n"));
}
END_TEST

/* A frozen publisher may hold it. */
START_TEST(a_lock_that_nobody_gives_back_stops_no_publisher)
{
    CLEANUP(fd_closep) int lock = -1;
    struct err err = {0};
    const char *path = arena_printf(&kit.arena, "%s/drover-pulls.lock", kit.origin);
    ck_assert_int_eq(git_lock(&(struct git){0}, path, &lock, &err), RC_OK);
    struct forge_change change = change_of("run-a");
    ck_assert_int_eq(open_pr(&change).number, 1);
    /* Its own time still counts. */
    struct forge_withdrawn withdrawn;
    struct git hasty = {.deadline_us = clock_mono_us() + 300 * US_PER_MS};
    struct forge_withdrawal withdrawal = withdrawal_of("run-a");
    ck_assert_int_eq(forge_local.withdraw(&forge_local, &(struct forge_call){.git = hasty},
                                          &withdrawal, &withdrawn, &err),
                     RC_TIMEOUT);
}
END_TEST

Suite *fence_suite(void)
{
    Suite *suite = suite_create("fence");
    TCase *tests = tcase_create("fence");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, a_publisher_that_comes_too_late_changes_nothing, 0,
                        (int)COUNT_OF(late));
    tcase_add_loop_test(tests, a_holder_goes_on_after_an_earlier_one_has_acted, 1, 3);
    tcase_add_test(tests, a_run_that_was_taken_back_can_be_published_by_its_holder);
    tcase_add_test(tests, a_late_publisher_is_taken_back_and_a_late_withdrawal_takes_nothing);
    tcase_add_test(tests, a_push_with_an_old_fence_is_refused_as_a_whole);
    tcase_add_test(tests, every_act_moves_the_fence_and_says_who_acted);
    tcase_add_test(tests, a_lock_that_nobody_gives_back_stops_no_publisher);
    suite_add_tcase(suite, tests);
    return suite;
}
