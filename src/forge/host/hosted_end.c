/*
 * hosted_end.c - how a pull request ends at a forge that is a server: withdrawn, merged, closed.
 *
 * Each reads what is there first, so that one that has been done is found done.
 */
#include "base/fault.h"
#include "forge/git/fence.h"
#include "forge/git/remote.h"
#include "forge/host/hosted.h"

enum { TRIES_MAX = 4 };

/* The forge gave no answer, or half of one: it may have done it. */
static bool may_be_done(enum rc rc)
{
    return rc == RC_UNREACHABLE || rc == RC_TIMEOUT || rc == RC_IO || rc == RC_CORRUPT;
}

/* ---- withdraw ---- */

struct withdrawing {
    struct remote remote;
    const struct forge_withdrawal *withdrawal;
    struct fence fence;
    bool there, own;   /* The branch; its last commit is the run's. */
    struct err unseen; /* Why that is not known; without a code: it is. */
};

/* The fence moves, and with it the branch goes if it is the run's. */
static enum rc withdraw_once(struct withdrawing *withdrawing, struct err *err)
{
    enum { AT_FENCE, AT_BRANCH, AT_COUNT };
    const struct forge_withdrawal *withdrawal = withdrawing->withdrawal;
    const struct remote *remote = &withdrawing->remote;
    const char *names[AT_COUNT] = {
        [AT_FENCE] = fence_ref(withdrawal->run_id, remote->arena),
        [AT_BRANCH] = arena_printf(remote->arena, "refs/heads/%s", withdrawal->branch),
    };
    const struct fence_text text = {.act = "withdraw", .holder = withdrawal->holder.name};
    char at[AT_COUNT][GIT_HASH_BYTES];
    struct remote_commit commit = {.run_id = NULL};
    enum rc rc = remote_refs(remote, names, AT_COUNT, at, err);
    if (rc != RC_OK)
        return rc;
    withdrawing->there = at[AT_BRANCH][0] != '\0';
    err_clear(&withdrawing->unseen);
    if (withdrawing->there &&
        remote_look(remote, names[AT_BRANCH], &commit, &withdrawing->unseen) != RC_OK)
        commit.run_id = NULL; /* The fence moves all the same. */
    withdrawing->own = withdrawing->there && text_same(commit.hash, at[AT_BRANCH]) &&
                       text_same(commit.run_id, withdrawal->run_id);
    withdrawing->fence = (struct fence){.moved = false};
    text_copy(withdrawing->fence.old, sizeof withdrawing->fence.old, at[AT_FENCE]);
    rc = fence_make(remote->git, remote->dir, &text, &withdrawing->fence, err);
    if (rc == RC_OK)
        rc = withdrawal->holder.may_go_on(withdrawal->holder.ctx, err);
    if (rc == RC_OK)
        rc = fault_point("withdraw.push", err);
    if (rc != RC_OK)
        return rc;
    const struct remote_move moves[] = {
        {names[AT_FENCE], fence_move(&withdrawing->fence)},
        {names[AT_BRANCH], {at[AT_BRANCH], ""}},
    };
    return remote_push(remote, moves, withdrawing->own ? 2 : 1, err);
}

/* After the branch: one that was being opened meanwhile is found, and none can be opened later. */
static enum rc close_own(const struct host_ops *host, struct forge_call *call,
                         const struct withdrawing *withdrawing, int64_t *ret_number,
                         struct err *err)
{
    const struct forge_withdrawal *withdrawal = withdrawing->withdrawal;
    struct arena *arena = withdrawing->remote.arena;
    struct host_repo repo;
    struct host_pr *prs = NULL;
    size_t count = 0;
    enum rc rc = host->place(call, withdrawal->url, arena, &repo, err);
    if (rc == RC_OK)
        rc = host->find(call, &repo, withdrawal->branch, arena, &prs, &count, err);
    for (size_t i = 0; rc == RC_OK && i < count; i++) {
        bool own = text_same(hosted_run_of(prs[i].body, arena), withdrawal->run_id);
        if (!own || prs[i].merged || prs[i].foreign_head)
            continue;
        *ret_number = prs[i].number;
        if (!prs[i].open)
            continue;
        rc = fault_point("withdraw.close", err);
        if (rc == RC_OK)
            rc = host->close(call, &repo, prs[i].number, err);
    }
    return rc;
}

enum rc hosted_withdraw(const struct forge_ops *forge, struct forge_call *call,
                        const struct forge_withdrawal *withdrawal,
                        struct forge_withdrawn *ret_withdrawn, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct withdrawing withdrawing = {.withdrawal = withdrawal};
    CLEANUP(remote_drop)
    struct remote remote = {.git = &call->git, .url = withdrawal->url, .arena = &arena};
    int64_t number = 0;
    enum rc rc = remote_make(&remote, err);
    if (rc != RC_OK)
        return rc;
    withdrawing.remote = remote;
    int tries = 0;
    do
        rc = withdraw_once(&withdrawing, err);
    while (rc == RC_IO && ++tries < TRIES_MAX);
    if (rc == RC_OK && withdrawing.unseen.code[0] != '\0')
        rc = err_set(err, RC_IO, withdrawing.unseen.code, "%s", withdrawing.unseen.text);
    if (rc == RC_OK)
        rc = close_own(forge->host, call, &withdrawing, &number, err);
    if (rc != RC_OK)
        return rc;
    *ret_withdrawn = (struct forge_withdrawn){
        .branch = !withdrawing.there ? BRANCH_ABSENT
                  : withdrawing.own  ? BRANCH_DELETED
                                     : BRANCH_FOREIGN,
        .pr_number = number,
    };
    return RC_OK;
}

/* ---- merge and close ---- */

/* Whose it is. */
struct owner {
    const char *run_id, *branch;
};

/* One that drover opened names its run; one that the run's agent or a person opened shows the run's
   branch, and so does the run of a repair. */
static enum rc check_owned(const struct host_pr *pr, const struct owner *owner, struct arena *arena,
                           struct err *err)
{
    const char *run = hosted_run_of(pr->body, arena);
    if (text_same(run, owner->run_id) ||
        (!pr->foreign_head && text_same(pr->head_branch, owner->branch)))
        return RC_OK;
    return err_set(err, RC_CONFLICT, "PULL_REQUEST_NOT_OWN",
                   "Pull request %lld is not that of run %.40s: %s.", (long long)pr->number,
                   owner->run_id,
                   run != NULL ? "another run opened it" : "it shows another branch");
}

static enum rc check_tree(struct forge_call *call, const struct forge_merge *merge,
                          const struct host_pr *pr, struct arena *arena, struct err *err)
{
    if (merge->expected_tree == NULL)
        return RC_OK;
    CLEANUP(remote_drop)
    struct remote remote = {.git = &call->git, .url = merge->url, .arena = arena};
    struct remote_commit commit;
    enum rc rc = remote_make(&remote, err);
    if (rc == RC_OK)
        rc = remote_look(&remote, arena_printf(arena, "refs/heads/%s", pr->head_branch), &commit,
                         err);
    if (rc != RC_OK)
        return rc;
    if (text_same(commit.hash, pr->head) && text_same(commit.tree, merge->expected_tree))
        return RC_OK;
    return err_set(err, RC_CONFLICT, "TREE_NOT_VERIFIED",
                   "Pull request %lld shows tree %.12s, but the certificate is for tree %.12s.",
                   (long long)pr->number, commit.tree, merge->expected_tree);
}

static enum rc check_merge(struct forge_call *call, const struct forge_merge *merge,
                           const struct host_pr *pr, struct arena *arena, struct err *err)
{
    if (!pr->open)
        return err_set(err, RC_CONFLICT, "PULL_REQUEST_CLOSED", "Pull request %lld is closed.",
                       (long long)pr->number);
    enum rc rc = check_owned(pr, &(struct owner){merge->run_id, merge->branch}, arena, err);
    if (rc != RC_OK)
        return rc;
    if (!text_same(pr->head, merge->expected_head))
        return err_set(err, RC_CONFLICT, "HEAD_MOVED",
                       "Pull request %lld is at %.12s, and was at %.12s.", (long long)pr->number,
                       pr->head, merge->expected_head);
    if (merge->target_branch != NULL && !text_same(pr->target_branch, merge->target_branch))
        return err_set(err, RC_CONFLICT, "TARGET_MOVED",
                       "Pull request %lld is to be merged into %.100s by now, and not %.100s.",
                       (long long)pr->number, pr->target_branch, merge->target_branch);
    return check_tree(call, merge, pr, arena, err);
}

static bool merge_of(const struct host_pr *pr, char ret_commit[GIT_HASH_BYTES])
{
    if (!pr->merged || pr->merge_commit == NULL)
        return false;
    text_copy(ret_commit, GIT_HASH_BYTES, pr->merge_commit);
    return true;
}

enum rc hosted_merge(const struct forge_ops *forge, struct forge_call *call,
                     const struct forge_merge *merge, char ret_commit[GIT_HASH_BYTES],
                     struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const struct host_ops *host = forge->host;
    struct host_repo repo;
    struct host_pr pr;
    enum rc rc = host->place(call, merge->url, &arena, &repo, err);
    if (rc == RC_OK)
        rc = host->get(call, &repo, merge->number, &arena, &pr, err);
    if (rc != RC_OK || merge_of(&pr, ret_commit))
        return rc;
    rc = check_merge(call, merge, &pr, &arena, err);
    if (rc == RC_OK)
        rc = fault_point("merge.call", err);
    if (rc != RC_OK)
        return rc;
    rc = host->merge(call, &repo, merge->number, pr.head, merge->message, ret_commit, err);
    if (rc == RC_OK)
        return fault_point("merge.called", err);
    if (!may_be_done(rc) || host->get(call, &repo, merge->number, &arena, &pr, NULL) != RC_OK ||
        !merge_of(&pr, ret_commit))
        return rc;
    err_clear(err);
    return RC_OK;
}

/* Is it merged at this head? */
static enum rc merged_at(const struct host_merging *merging, char ret_commit[GIT_HASH_BYTES],
                         struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct host_pr pr = {.number = 0};
    enum rc rc = merging->host->get(merging->call, merging->repo, merging->number, &arena, &pr,
                                    err);
    if (rc != RC_OK)
        return rc;
    if (pr.open && pr.draft)
        return err_set(err, RC_CONFLICT, "DRAFT", "%s %lld is a draft: make it ready first.",
                       merging->what, (long long)merging->number);
    if (!text_same(pr.head, merging->head) || !merge_of(&pr, ret_commit))
        return err_set(err, RC_CONFLICT, "NOT_MERGED", "%s %lld is not merged.", merging->what,
                       (long long)merging->number);
    return RC_OK;
}

enum rc host_merge_outcome(const struct host_merging *merging, enum rc rc,
                           char ret_commit[GIT_HASH_BYTES], struct err *err)
{
    /* 405, 406, 409 and 422: not at this head, not mergeable, or merged already. */
    bool refused = rc == RC_CONFLICT || rc == RC_INVALID;
    struct err why = {0};
    if (rc != RC_OK && !refused)
        return rc;
    enum rc found = merged_at(merging, ret_commit, &why);
    if (found == RC_OK)
        return RC_OK;
    if (refused && !text_same(why.code, "DRAFT"))
        return RC_CONFLICT; /* In the forge's own words. */
    if (err != NULL)
        *err = why;
    if (refused || found != RC_CONFLICT)
        return found;
    return RC_TIMEOUT; /* It is under way: to be looked at later. */
}

enum rc hosted_close(const struct forge_ops *forge, struct forge_call *call,
                     const struct forge_closing *closing, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const struct host_ops *host = forge->host;
    struct host_repo repo;
    struct host_pr pr;
    enum rc rc = host->place(call, closing->url, &arena, &repo, err);
    if (rc == RC_OK)
        rc = host->get(call, &repo, closing->number, &arena, &pr, err);
    if (rc == RC_NOT_FOUND)
        return RC_OK;
    if (rc != RC_OK)
        return rc;
    if (pr.merged && closing->target_branch != NULL)
        return err_set(err, RC_CONFLICT, "PULL_REQUEST_MERGED",
                       "Pull request %lld is merged already.", (long long)pr.number);
    if (!pr.open)
        return RC_OK;
    rc = check_owned(&pr, &(struct owner){closing->run_id, closing->branch}, &arena, err);
    if (rc == RC_OK)
        rc = fault_point("close.call", err);
    return rc == RC_OK ? host->close(call, &repo, closing->number, err) : rc;
}
