/*
 * test_hosted.c - pull requests at a forge that is a server: once each, whatever happens.
 *
 * The host is a list in memory over a real git repository.
 */
#include "base/clock.h"
#include "forge/host/hosted.h"
#include "forge/port/prs.h"
#include "tests/unit/forge_kit.h"
#include <check.h>
#include <string.h>

enum { PRS_MAX = 8 };

/* ---- a host in memory ---- */

static struct kit kit;
static const char *base;

static struct {
    struct host_pr prs[PRS_MAX];
    size_t count;
    int created, closed, merges, labels, reviewers, finds;
    enum rc create_fails; /* How the next creation ends, */
    bool but_creates;     /* though it is made. */
    enum rc merge_fails;
    bool but_merges;
    enum rc label_fails;
    void (*at_find)(void); /* Something else happens meanwhile. */
} host;

static enum rc fake_place(const struct forge_call *call, const char *url, struct arena *arena,
                          struct host_repo *ret_repo, struct err *err)
{
    (void)call;
    (void)err;
    *ret_repo = (struct host_repo){
        .api = "http://host", .host = "host", .path = "acme/app", .web = arena_strdup(arena, url)};
    return RC_OK;
}

static const char *fake_url(const struct host_repo *repo, int64_t number, struct arena *arena)
{
    return arena_printf(arena, "%s/pull/%d", repo->web, (int)number);
}

/* As the repository has it now, while it is open. */
static void refresh(struct host_pr *pr)
{
    const char *head = kit_sh(
        &kit, "git --git-dir=origin.git rev-parse --verify -q refs/heads/%s || true",
        pr->head_branch);
    if (pr->open && head[0] == '\0')
        pr->open = false; /* Its branch is gone. */
    else if (pr->open)
        text_copy(pr->head, sizeof pr->head, head);
}

static enum rc fake_find(struct forge_call *call, const struct host_repo *repo, const char *branch,
                         struct arena *arena, struct host_pr **ret_prs, size_t *ret_count,
                         struct err *err)
{
    (void)call;
    (void)repo;
    (void)err;
    struct host_pr *found = arena_array(arena, PRS_MAX, sizeof *found);
    size_t count = 0;
    host.finds++;
    for (int open = 1; open >= 0; open--) {
        for (size_t i = 0; i < host.count; i++) {
            refresh(&host.prs[i]);
            if (text_same(host.prs[i].head_branch, branch) && host.prs[i].open == (open == 1))
                found[count++] = host.prs[i];
        }
    }
    *ret_prs = found;
    *ret_count = count;
    if (host.at_find != NULL) {
        void (*act)(void) = host.at_find;
        host.at_find = NULL;
        act();
    }
    return RC_OK;
}

static enum rc fake_get(struct forge_call *call, const struct host_repo *repo, int64_t number,
                        struct arena *arena, struct host_pr *ret_pr, struct err *err)
{
    (void)call;
    (void)repo;
    (void)arena;
    if (number < 1 || number > (int64_t)host.count)
        return err_set(err, RC_NOT_FOUND, "NOT_FOUND", "no such pull request");
    refresh(&host.prs[number - 1]);
    *ret_pr = host.prs[number - 1];
    return RC_OK;
}

static struct host_pr *add_pr(const char *branch, const char *body)
{
    struct host_pr *pr = &host.prs[host.count++];
    *pr = (struct host_pr){.number = (int64_t)host.count,
                           .url = arena_printf(&kit.arena, "http://host/%d", (int)host.count),
                           .head_branch = arena_strdup(&kit.arena, branch),
                           .target_branch = "main",
                           .body = arena_strdup(&kit.arena, body),
                           .open = true};
    refresh(pr);
    return pr;
}

static bool is_open(const char *branch, const char *target)
{
    for (size_t i = 0; i < host.count; i++)
        if (host.prs[i].open && text_same(host.prs[i].head_branch, branch) &&
            text_same(host.prs[i].target_branch, target))
            return true;
    return false;
}

static enum rc fake_create(struct forge_call *call, const struct host_repo *repo,
                           const struct host_new_pr *pr, struct arena *arena,
                           struct host_pr *ret_pr, struct err *err)
{
    (void)call;
    (void)repo;
    (void)arena;
    const char *head = kit_sh(
        &kit, "git --git-dir=origin.git rev-parse --verify -q refs/heads/%s || true", pr->branch);
    if (head[0] == '\0')
        return err_set(err, RC_INVALID, "HEAD_INVALID", "there is no such branch");
    if (is_open(pr->branch, pr->target_branch))
        return err_set(err, RC_CONFLICT, "EXISTS", "there is one already");
    enum rc rc = host.create_fails;
    host.create_fails = RC_OK;
    if (rc != RC_OK && !host.but_creates)
        return err_set(err, rc, "TEST", "no answer");
    host.created++;
    struct host_pr *made = add_pr(pr->branch, pr->body);
    made->draft = pr->draft;
    if (rc != RC_OK)
        return err_set(err, rc, "TEST", "no answer");
    *ret_pr = *made;
    return RC_OK;
}

static enum rc fake_close(struct forge_call *call, const struct host_repo *repo, int64_t number,
                          struct err *err)
{
    (void)call;
    (void)repo;
    (void)err;
    host.closed++;
    host.prs[number - 1].open = false;
    return RC_OK;
}

static enum rc fake_merge(struct forge_call *call, const struct host_repo *repo, int64_t number,
                          const char *head, const char *message, char ret_commit[GIT_HASH_BYTES],
                          struct err *err)
{
    (void)call;
    (void)repo;
    (void)message;
    struct host_pr *pr = &host.prs[number - 1];
    refresh(pr);
    if (!text_same(pr->head, head))
        return err_set(err, RC_CONFLICT, "HEAD_MOVED", "another head");
    if (host.merge_fails != RC_OK && !host.but_merges)
        return err_set(err, host.merge_fails, "TEST", "no answer");
    host.merges++;
    pr->merged = true;
    pr->open = false;
    pr->merge_commit = arena_strdup(&kit.arena, head);
    if (host.merge_fails != RC_OK)
        return err_set(err, host.merge_fails, "TEST", "no answer");
    text_copy(ret_commit, GIT_HASH_BYTES, head);
    return RC_OK;
}

static enum rc fake_list_open(struct forge_call *call, const struct host_repo *repo,
                              struct arena *arena, struct host_pr **ret_prs, size_t *ret_count,
                              struct err *err)
{
    (void)call;
    (void)repo;
    (void)err;
    struct host_pr *found = arena_array(arena, PRS_MAX, sizeof *found);
    size_t count = 0;
    for (size_t i = 0; i < host.count; i++) {
        refresh(&host.prs[i]);
        if (host.prs[i].open)
            found[count++] = host.prs[i];
    }
    *ret_prs = found;
    *ret_count = count;
    return RC_OK;
}

static const struct host_ops fake_host = {
    .place = fake_place,
    .find = fake_find,
    .get = fake_get,
    .create = fake_create,
    .close = fake_close,
    .merge = fake_merge,
    .list_open = fake_list_open,
    .pr_url = fake_url,
};

static enum rc fake_label(struct forge_call *call, const struct pr_ref *ref,
                          const char *const *labels, struct err *err)
{
    (void)call;
    (void)ref;
    if (host.label_fails != RC_OK)
        return err_set(err, host.label_fails, "TEST", "no such label");
    for (size_t i = 0; labels[i] != NULL; i++)
        host.labels++;
    return RC_OK;
}

static enum rc fake_reviewers(struct forge_call *call, const struct pr_ref *ref,
                              const char *const *reviewers, struct err *err)
{
    (void)call;
    (void)ref;
    (void)err;
    for (size_t i = 0; reviewers[i] != NULL; i++)
        host.reviewers++;
    return RC_OK;
}

static const struct pr_ops fake_prs = {.label = fake_label, .request_review = fake_reviewers};
static const struct forge_ops fake_forge = {.name = "fake",
                                            .can = CAN_DRAFT | CAN_LABEL | CAN_REQUEST_REVIEW,
                                            .host = &fake_host,
                                            .prs = &fake_prs};

/* ---- the tests ---- */

static void setup(void)
{
    memset(&host, 0, sizeof host);
    base = forge_kit_open(&kit);
}

static void teardown(void)
{
    kit_close(&kit);
}

static struct forge_change change_of(const char *run)
{
    struct forge_change change = forge_kit_change(&kit, base, run);
    change.body = arena_printf(&kit.arena, "Because.\n\n<!-- Drover-Run: %s -->\n", run);
    change.message = arena_printf(&kit.arena, "Drover-Run: %s\n", run);
    return change;
}

static enum rc try_open(const struct forge_change *change, struct forge_pr *ret_pr, struct err *err)
{
    struct forge_call call = {.gate = NULL};
    return hosted_open_pr(&fake_forge, &call, change, &kit.arena, ret_pr, err);
}

static struct forge_pr open_pr(const struct forge_change *change)
{
    struct forge_pr pr = {0};
    struct err err = {0};
    ck_assert_msg(try_open(change, &pr, &err) == RC_OK, "%s", err.text);
    return pr;
}

static struct forge_withdrawn withdraw(const char *run)
{
    struct forge_call call = {.gate = NULL};
    struct forge_withdrawn withdrawn = {.branch = BRANCH_ABSENT};
    struct err err = {0};
    const struct forge_withdrawal withdrawal = {
        .url = kit.origin,
        .run_id = run,
        .branch = arena_printf(&kit.arena, "drover/%s", run),
        .holder = {.name = "worker b", .may_go_on = forge_kit_may_go_on}};
    ck_assert_msg(hosted_withdraw(&fake_forge, &call, &withdrawal, &withdrawn, &err) == RC_OK, "%s",
                  err.text);
    return withdrawn;
}

static const char *origin_ref(const char *ref)
{
    return kit_sh(&kit, "git --git-dir=origin.git rev-parse --verify -q %s || true", ref);
}

START_TEST(publishing_twice_gives_one_branch_and_one_pull_request)
{
    struct forge_change change = change_of("run-a");
    change.labels = (const char *const[]){"drover", "bug", NULL};
    change.reviewers = (const char *const[]){"ada", NULL};
    change.draft = true;
    struct forge_pr first = open_pr(&change), again = open_pr(&change);
    ck_assert_str_eq(first.head, again.head);
    ck_assert_int_eq(first.number, 1);
    ck_assert_int_eq(again.number, 1);
    ck_assert(!first.found && again.found);
    ck_assert_int_eq(host.created, 1);
    ck_assert(host.prs[0].draft);
    ck_assert_int_eq(host.labels, 4); /* Set twice: the same. */
    ck_assert_int_eq(host.reviewers, 2);
    ck_assert_str_eq(origin_ref("refs/heads/drover/run-a"), first.head);
    ck_assert_str_ne(origin_ref("refs/drover/fence/run-a"), "");
}
END_TEST

START_TEST(one_that_a_person_opened_from_the_branch_is_taken)
{
    struct forge_change change = change_of("run-a");
    (void)open_pr(&change);
    host.count = 0;
    host.created = 0;
    struct host_pr *by_hand = add_pr("drover/run-a", "I was faster.");
    struct forge_pr pr = open_pr(&change);
    ck_assert(pr.found);
    ck_assert_int_eq(pr.number, by_hand->number);
    ck_assert_int_eq(host.created, 0);
    ck_assert_str_eq(by_hand->body, "I was faster.");
}
END_TEST

START_TEST(one_into_another_branch_is_not_that_of_the_change)
{
    struct forge_change change = change_of("run-a");
    (void)open_pr(&change);
    host.count = 0;
    host.created = 0;
    add_pr("drover/run-a", "For the release as well.")->target_branch = "release";
    struct forge_pr pr = open_pr(&change);
    ck_assert(!pr.found);
    ck_assert_int_eq(pr.number, 2);
    ck_assert_str_eq(host.prs[1].target_branch, "main");
    host.prs[1].target_branch = "develop"; /* A person has changed where the run's own goes. */
    ck_assert_int_eq(open_pr(&change).number, 2);
    ck_assert_int_eq(host.created, 1);
}
END_TEST

static const enum rc no_answer[] = {RC_UNREACHABLE, RC_TIMEOUT, RC_IO, RC_CORRUPT};

START_TEST(a_creation_without_an_answer_is_found)
{
    struct forge_change change = change_of("run-a");
    host.create_fails = no_answer[_i];
    host.but_creates = true;
    struct forge_pr pr = open_pr(&change);
    ck_assert_int_eq(pr.number, 1);
    ck_assert_int_eq(host.created, 1);
    ck_assert_int_eq((int)host.count, 1);
}
END_TEST

START_TEST(a_creation_that_failed_is_made_by_the_next_try)
{
    struct forge_change change = change_of("run-a");
    struct forge_pr pr = {0};
    struct err err = {0};
    host.create_fails = no_answer[_i];
    ck_assert_int_eq(try_open(&change, &pr, &err), no_answer[_i]);
    ck_assert_int_eq(open_pr(&change).number, 1);
    ck_assert_int_eq(host.created, 1);
}
END_TEST

static void other_publishes(void)
{
    struct forge_change change = change_of("run-a");
    change.scratch = arena_printf(&kit.arena, "%s/other.git", kit.dir);
    change.holder.name = "worker b";
    ck_assert_int_eq(open_pr(&change).number, 1);
}

START_TEST(another_that_opens_it_meanwhile_is_met)
{
    struct forge_change change = change_of("run-a");
    host.at_find = other_publishes;
    ck_assert_int_eq(open_pr(&change).number, 1);
    ck_assert_int_eq(host.created, 1);
}
END_TEST

static void other_withdraws(void)
{
    ck_assert_int_eq(withdraw("run-a").branch, BRANCH_DELETED);
}

START_TEST(nothing_is_opened_after_a_withdrawal)
{
    struct forge_change change = change_of("run-a");
    struct forge_pr pr = {0};
    struct err err = {0};
    host.at_find = other_withdraws;
    ck_assert_int_ne(try_open(&change, &pr, &err), RC_OK);
    ck_assert_int_eq((int)host.count, 0);
    ck_assert_str_eq(origin_ref("refs/heads/drover/run-a"), "");
}
END_TEST

/* Both read the fence; one acts; the other wakes up after that. */
struct stalled {
    bool acted;
};

static enum rc act_of_another(void *ctx, struct err *err)
{
    struct stalled *stalled = ctx;
    if (stalled->acted)
        return err_set(err, RC_STALE, "LEASE_LOST", "the lease was lost");
    stalled->acted = true;
    other_publishes();
    return RC_OK;
}

/* V14: between its check and its push it was stalled, and its lease was lost. */
START_TEST(a_stalled_publisher_cannot_push)
{
    struct forge_change change = change_of("run-a");
    struct stalled stalled = {.acted = false};
    struct forge_pr pr = {0};
    struct err err = {0};
    change.holder.may_go_on = act_of_another;
    change.holder.ctx = &stalled;
    change.title = "Another title, so that its commit is another"; /* Its push would be seen. */
    ck_assert_int_eq(try_open(&change, &pr, &err), RC_STALE);
    ck_assert_str_eq(
        kit_sh(&kit, "git --git-dir=origin.git log -1 --format=%%s refs/heads/drover/run-a"),
        "Make it two");
    ck_assert_int_eq(host.created, 1);
}
END_TEST

START_TEST(a_branch_with_the_same_files_is_taken_and_another_is_not)
{
    struct forge_change change = change_of("run-a"), other = change_of("run-b");
    struct forge_pr pr = {0};
    struct err err = {0};
    kit_sh(&kit,
           "git clone -q origin.git clone && cd clone && git checkout -q -b drover/run-a && "
           "echo two >file.txt && git -c user.name=p -c user.email=p@x commit -qam mine && "
           "git push -q origin drover/run-a && git checkout -q -b drover/run-b && "
           "echo three >file.txt && git -c user.name=p -c user.email=p@x commit -qam other && "
           "git push -q origin drover/run-b");
    pr = open_pr(&change);
    ck_assert_str_eq(pr.head, origin_ref("refs/heads/drover/run-a"));
    ck_assert_str_eq(
        kit_sh(&kit, "git --git-dir=origin.git log -1 --format=%%s refs/heads/drover/run-a"),
        "mine");
    ck_assert_int_eq(try_open(&other, &pr, &err), RC_CONFLICT);
    ck_assert_str_eq(err.code, "BRANCH_TAKEN");
    ck_assert_int_eq(host.created, 1);
}
END_TEST

START_TEST(a_closed_one_is_not_opened_again)
{
    struct forge_change change = change_of("run-a");
    struct forge_pr pr = open_pr(&change);
    struct err err = {0};
    host.prs[0].open = false;
    ck_assert_int_eq(try_open(&change, &pr, &err), RC_CONFLICT);
    ck_assert_str_eq(err.code, "PULL_REQUEST_CLOSED");
    ck_assert_int_eq((int)host.count, 1);
}
END_TEST

static const char repair_patch[] = "diff --git a/file.txt b/file.txt\n"
                                   "--- a/file.txt\n"
                                   "+++ b/file.txt\n"
                                   "@@ -1 +1 @@\n"
                                   "-two\n"
                                   "+three\n";

START_TEST(a_repair_goes_on_top_of_the_head_once)
{
    struct forge_change change = change_of("run-a");
    struct forge_pr first = open_pr(&change);
    kit_sh(&kit, "git --git-dir=mirror.git fetch -q origin '+refs/heads/*:refs/heads/*'");
    struct forge_change repair = change_of("run-r");
    repair.branch = change.branch;
    repair.number = 1;
    repair.base_commit = first.head;
    repair.patch = str_of(repair_patch);
    struct forge_pr pr = open_pr(&repair), again = open_pr(&repair);
    ck_assert_int_eq(pr.number, 1);
    ck_assert_str_eq(pr.head, again.head);
    ck_assert_str_eq(origin_ref("refs/heads/drover/run-a~1"), first.head);
    ck_assert_str_eq(kit_sh(&kit, "git --git-dir=origin.git show drover/run-a:file.txt"), "three");
    ck_assert_int_eq(host.created, 1);

    struct forge_change late = change_of("run-s"); /* Its base is not the head any more. */
    struct err err = {0};
    late.branch = change.branch;
    late.number = 1;
    late.base_commit = first.head;
    late.patch = str_of("diff --git a/file.txt b/file.txt\n--- a/file.txt\n+++ b/file.txt\n"
                        "@@ -1 +1 @@\n-two\n+four\n");
    ck_assert_int_eq(try_open(&late, &pr, &err), RC_CONFLICT);
    ck_assert_str_eq(err.code, "HEAD_MOVED");
}
END_TEST

START_TEST(labels_that_the_forge_refuses_are_a_warning)
{
    struct forge_change change = change_of("run-a");
    change.labels = (const char *const[]){"nope", NULL};
    host.label_fails = RC_NOT_FOUND;
    struct forge_pr pr = open_pr(&change);
    ck_assert_int_eq(pr.number, 1);
    ck_assert_ptr_nonnull(pr.warning);
    host.label_fails = RC_UNREACHABLE;
    struct err err = {0};
    ck_assert_int_eq(try_open(&change, &pr, &err), RC_UNREACHABLE);
}
END_TEST

START_TEST(a_withdrawal_deletes_what_is_the_runs_and_nothing_else)
{
    struct forge_change change = change_of("run-a");
    (void)open_pr(&change);
    struct forge_withdrawn withdrawn = withdraw("run-a");
    ck_assert_int_eq(withdrawn.branch, BRANCH_DELETED);
    ck_assert_int_eq(withdrawn.pr_number, 1);
    ck_assert(!host.prs[0].open);
    ck_assert_str_eq(origin_ref("refs/heads/drover/run-a"), "");
    ck_assert_int_eq(withdraw("run-a").branch, BRANCH_ABSENT);

    change = change_of("run-b");
    (void)open_pr(&change);
    kit_sh(&kit, "git clone -q origin.git clone && cd clone && git checkout -q drover/run-b && "
                 "echo mine >more && git add more && "
                 "git -c user.name=p -c user.email=p@x commit -qm mine && git push -q");
    withdrawn = withdraw("run-b");
    ck_assert_int_eq(withdrawn.branch, BRANCH_FOREIGN);
    ck_assert_str_ne(origin_ref("refs/heads/drover/run-b"), "");
}
END_TEST

static struct forge_merge merge_of(const struct forge_pr *pr)
{
    return (struct forge_merge){.forge = "fake",
                                .url = kit.origin,
                                .number = pr->number,
                                .run_id = "run-a",
                                .branch = "drover/run-a",
                                .expected_head = pr->head,
                                .target_branch = "main",
                                .message = "Merge"};
}

static enum rc merge(const struct forge_merge *merge, char *commit, struct err *err)
{
    struct forge_call call = {.gate = NULL};
    return hosted_merge(&fake_forge, &call, merge, commit, err);
}

START_TEST(a_merge_happens_once_and_at_the_head_that_was_seen)
{
    struct forge_change change = change_of("run-a");
    struct forge_pr pr = open_pr(&change);
    struct forge_merge wish = merge_of(&pr);
    char commit[GIT_HASH_BYTES];
    struct err err = {0};
    wish.expected_head = base;
    ck_assert_int_eq(merge(&wish, commit, &err), RC_CONFLICT);
    ck_assert_str_eq(err.code, "HEAD_MOVED");
    wish = merge_of(&pr);
    wish.expected_tree = base;
    ck_assert_int_eq(merge(&wish, commit, &err), RC_CONFLICT);
    ck_assert_str_eq(err.code, "TREE_NOT_VERIFIED");
    wish.expected_tree = origin_ref("refs/heads/drover/run-a^{tree}");
    wish.target_branch = "other";
    ck_assert_int_eq(merge(&wish, commit, &err), RC_CONFLICT);
    wish.target_branch = "main";
    wish.run_id = "run-z";
    wish.branch = "drover/run-z";
    ck_assert_int_eq(merge(&wish, commit, &err), RC_CONFLICT);
    ck_assert_str_eq(err.code, "PULL_REQUEST_NOT_OWN");
    wish.run_id = "run-a";
    host.merge_fails = no_answer[_i];
    host.but_merges = true;
    ck_assert_int_eq(merge(&wish, commit, &err), RC_OK);
    ck_assert_str_eq(commit, pr.head);
    ck_assert_int_eq(merge(&wish, commit, &err), RC_OK);
    ck_assert_int_eq(host.merges, 1);
}
END_TEST

START_TEST(closing_is_for_its_owner_and_may_be_repeated)
{
    struct forge_change change = change_of("run-a");
    struct forge_pr pr = open_pr(&change);
    struct forge_call call = {.gate = NULL};
    struct err err = {0};
    struct forge_closing closing = {.forge = "fake",
                                    .url = kit.origin,
                                    .number = pr.number,
                                    .run_id = "run-z",
                                    .branch = "drover/run-z"};
    ck_assert_int_eq(hosted_close(&fake_forge, &call, &closing, &err), RC_CONFLICT);
    closing.run_id = "run-a";
    ck_assert_int_eq(hosted_close(&fake_forge, &call, &closing, &err), RC_OK);
    ck_assert_int_eq(hosted_close(&fake_forge, &call, &closing, &err), RC_OK);
    ck_assert_int_eq(host.closed, 1);
    closing.number = 7;
    ck_assert_int_eq(hosted_close(&fake_forge, &call, &closing, &err), RC_OK);
    host.prs[0].merged = true;
    closing.number = 1;
    closing.target_branch = "main";
    ck_assert_int_eq(hosted_close(&fake_forge, &call, &closing, &err), RC_CONFLICT);
}
END_TEST

START_TEST(look_and_survey_tell_drovers_own_from_others)
{
    struct forge_change change = change_of("run-a");
    (void)open_pr(&change);
    struct forge_call call = {.gate = NULL};
    struct forge_found found;
    struct forge_traces traces;
    struct err err = {0};
    struct forge_question question = {.url = kit.origin, .branch = "drover/run-a"};
    ck_assert_int_eq(hosted_look(&fake_forge, &call, &question, &kit.arena, &found, &err), RC_OK);
    ck_assert_str_eq(found.head, origin_ref("refs/heads/drover/run-a"));
    ck_assert_int_eq(found.pr_number, 0);
    host.prs[0].body = "by hand";
    ck_assert_int_eq(hosted_look(&fake_forge, &call, &question, &kit.arena, &found, &err), RC_OK);
    ck_assert_int_eq(found.pr_number, 1);
    question.branch = "nowhere";
    ck_assert_int_eq(hosted_look(&fake_forge, &call, &question, &kit.arena, &found, &err), RC_OK);
    ck_assert_str_eq(found.head, "");

    host.prs[0].body = change.body;
    ck_assert_int_eq(hosted_survey(&fake_forge, &call, kit.origin, &kit.arena, &traces, &err),
                     RC_OK);
    ck_assert_int_eq((int)traces.count, 2);
    ck_assert_str_eq(traces.items[0].branch, "drover/run-a");
    ck_assert_str_eq(traces.items[0].named, "run-a");
    ck_assert_int_eq(traces.items[1].number, 1);
    ck_assert_str_eq(traces.items[1].run_id, "run-a");
}
END_TEST

START_TEST(examine_says_what_differs_from_the_database)
{
    struct forge_change change = change_of("run-a");
    struct forge_pr pr = open_pr(&change);
    (void)add_pr("main", "");
    host.prs[1].open = false;
    struct forge_call call = {.gate = NULL};
    struct forge_examined examined;
    struct err err = {0};
    const struct forge_known known[] = {
        {.number = 1, .head = pr.head, .target_branch = "main"},
        {.number = 1, .head = base, .target_branch = "main"},
        {.number = 2, .head = base, .target_branch = "main"},
        {.number = 3, .head = base, .target_branch = "main"},
        {.number = 4, .head = base, .target_branch = "main", .closed = true},
    };
    ck_assert_int_eq(hosted_examine(&fake_forge, &call, kit.origin, known, COUNT_OF(known),
                                    &kit.arena, &examined, &err),
                     RC_OK);
    ck_assert_ptr_null(examined.wrong[0]);
    ck_assert_ptr_nonnull(examined.wrong[1]);
    ck_assert_ptr_nonnull(strstr(examined.wrong[2], "is closed"));
    ck_assert_ptr_nonnull(strstr(examined.wrong[3], "is not there"));
    ck_assert_ptr_null(examined.wrong[4]);
}
END_TEST

START_TEST(the_run_of_a_body_is_read_from_its_mark)
{
    static const struct {
        const char *body, *run;
    } cases[] = {
        {"text\n<!-- Drover-Run: 0199-aa -->", "0199-aa"},
        {"Drover-Run: abc\n", "abc"},
        {"Drover-Run: ", NULL},
        {"", NULL},
        {NULL, NULL},
    };
    const char *run = hosted_run_of(cases[_i].body, &kit.arena);
    ck_assert(text_same(run, cases[_i].run));
}
END_TEST

Suite *hosted_suite(void)
{
    Suite *suite = suite_create("hosted");
    TCase *tests = tcase_create("hosted");
    const int answers = (int)COUNT_OF(no_answer);
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, publishing_twice_gives_one_branch_and_one_pull_request);
    tcase_add_test(tests, one_that_a_person_opened_from_the_branch_is_taken);
    tcase_add_test(tests, one_into_another_branch_is_not_that_of_the_change);
    tcase_add_loop_test(tests, a_creation_without_an_answer_is_found, 0, answers);
    tcase_add_loop_test(tests, a_creation_that_failed_is_made_by_the_next_try, 0, answers);
    tcase_add_test(tests, another_that_opens_it_meanwhile_is_met);
    tcase_add_test(tests, nothing_is_opened_after_a_withdrawal);
    tcase_add_test(tests, a_stalled_publisher_cannot_push);
    tcase_add_test(tests, a_branch_with_the_same_files_is_taken_and_another_is_not);
    tcase_add_test(tests, a_closed_one_is_not_opened_again);
    tcase_add_test(tests, a_repair_goes_on_top_of_the_head_once);
    tcase_add_test(tests, labels_that_the_forge_refuses_are_a_warning);
    tcase_add_test(tests, a_withdrawal_deletes_what_is_the_runs_and_nothing_else);
    tcase_add_loop_test(tests, a_merge_happens_once_and_at_the_head_that_was_seen, 0, answers);
    tcase_add_test(tests, closing_is_for_its_owner_and_may_be_repeated);
    tcase_add_test(tests, look_and_survey_tell_drovers_own_from_others);
    tcase_add_test(tests, examine_says_what_differs_from_the_database);
    tcase_add_loop_test(tests, the_run_of_a_body_is_read_from_its_mark, 0, 5);
    suite_add_tcase(suite, tests);
    return suite;
}
