/*
 * local.c - the forge that is a repository on disk.
 *
 *     refs/heads/<branch>               the change, as pushed
 *     refs/pull/<N>/head                pull request N, as other forges have it
 *     refs/drover/pulls/<run id>/<N>    which run opened it
 *     refs/drover/closed/<N>            pull request N was closed: what it showed then
 *     refs/drover/fence/<run id>        the last holder that acted for the run (git/fence.h)
 *
 * Every act is one transaction of refs with the fence in it, and names all old values: correctness
 * depends on that alone.  The lock on a file in the repository only keeps publishers from trying
 * for the same number; a publisher that waits too long for it continues without it, because its
 * holder may be frozen.  Numbers are taken once: the next one lies above all that are in use or
 * were.
 *
 * What is reported as done is on the disk (git/origin.h).  A try that finds the work of an earlier
 * one syncs it all the same: that one may have been killed before it could.
 */
#include "forge/local/local.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/fd.h"
#include "forge/git/checked_out.h"
#include "forge/git/origin.h"
#include "forge/git/origin_access.h"
#include "forge/local/standing.h"
#include "forge/port/branch_move.h"
#include "forge/port/change.h"
#include <assert.h>
#include <inttypes.h>
#include <string.h>

enum { LOCK_MS = 2000, PUBLISH_TRIES_MAX = 4 };

/* One publisher at a time, as a rule: *ret_lock stays -1 when it is held for too long. */
static enum rc lock_prs(const struct origin *origin, int *ret_lock, struct err *err)
{
    struct git hasty = *origin->git;
    struct origin asking = {.git = &hasty, .dir = origin->dir, .arena = origin->arena};
    int64_t latest_us = clock_mono_us() + LOCK_MS * US_PER_MS;
    bool patient = hasty.deadline_us == 0 || hasty.deadline_us > latest_us;
    if (patient)
        hasty.deadline_us = latest_us;
    enum rc rc = origin_lock(&asking, "drover-pulls.lock", ret_lock, err);
    return rc == RC_TIMEOUT && patient ? RC_OK : rc;
}

static const char *url_of(const struct forge_ops *forge, const char *origin_url, int64_t number,
                          struct arena *arena)
{
    (void)forge;
    char *url = arena_printf(arena, "%s#refs/pull/%" PRId64 "/head", origin_url, number);
    git_redact(url);
    return url;
}

/* ---- open ---- */

struct publishing {
    struct origin origin;
    const struct forge_change *change;
    struct fence fence;
    char head[GIT_HASH_BYTES];
    int64_t number;
    bool again; /* To be retried: read the refs again, and call may_go_on again. */
};

static enum rc may_go_on(const struct forge_holder *holder, struct err *err)
{
    return holder->may_go_on(holder->ctx, err);
}

/* Puts the branch of the origin into head if it shows the same files as head does.  RC_CONFLICT:
   it shows others. */
static enum rc take_branch(struct publishing *publishing, const char *branch, struct err *err)
{
    const struct origin *origin = &publishing->origin;
    const struct forge_change *change = publishing->change;
    const struct origin scratch = {
        .git = origin->git, .dir = change->scratch, .arena = origin->arena};
    const char *tree_there = NULL, *tree = NULL;
    if (text_same(branch, publishing->head))
        return RC_OK;
    enum rc rc = origin_tree(origin, branch, &tree_there, err);
    if (rc == RC_OK)
        rc = origin_tree(&scratch, publishing->head, &tree, err);
    /* A head that was taken from the origin is not in the scratch repository. */
    if (rc == RC_OK && tree == NULL)
        rc = origin_tree(origin, publishing->head, &tree, err);
    if (rc != RC_OK)
        return rc;
    if (tree == NULL || !text_same(tree, tree_there))
        return err_set(err, RC_CONFLICT, "BRANCH_TAKEN",
                       "The branch %.200s of the origin is at %.12s, which is not this change.",
                       change->branch, branch);
    text_copy(publishing->head, sizeof publishing->head, branch);
    return RC_OK;
}

/* The branch is there afterwards; with a push the fence has moved, too. */
static enum rc bring_branch(struct publishing *publishing, struct err *err)
{
    const struct origin *origin = &publishing->origin;
    const struct forge_change *change = publishing->change;
    const struct standing_query query = {.run_id = change->run_id, .branch = change->branch};
    const struct fence_text text = {.act = "publish", .holder = change->holder.name};
    struct standing standing;
    enum rc rc = standing_read(origin, &query, &standing, err);
    if (rc != RC_OK)
        return rc;
    publishing->fence = (struct fence){.moved = false};
    text_copy(publishing->fence.old, sizeof publishing->fence.old, standing.fence);
    bool there = standing.branch[0] != '\0';
    if (there)
        rc = take_branch(publishing, standing.branch, err);
    if (rc == RC_OK)
        rc = fence_make(origin->git, there ? origin->dir : change->scratch, &text,
                        &publishing->fence, err);
    if (rc == RC_OK)
        rc = may_go_on(&change->holder, err);
    if (rc == RC_OK)
        rc = fault_point("publish.push", err);
    if (rc != RC_OK || there)
        return rc;
    const struct forge_push push = {
        .head = publishing->head, .branch_from = "", .fence = &publishing->fence};
    origin_drop_stale_locks(origin, arena_printf(origin->arena, "refs/heads/%s", change->branch));
    origin_drop_stale_locks(origin, fence_ref(change->run_id, origin->arena));
    rc = origin_take_objects(origin, change->scratch, publishing->head, publishing->fence.value,
                             err);
    if (rc == RC_OK)
        rc = forge_push(origin->git, change, &push, err);
    publishing->again = rc == RC_IO;
    return rc;
}

/* All refs of the pull request, old and new. */
static enum rc write_pr(const struct publishing *publishing, const struct standing *standing,
                        int64_t number, struct err *err)
{
    const struct origin *origin = &publishing->origin;
    const struct forge_change *change = publishing->change;
    const char *head = publishing->head;
    CLEANUP(ref_tx_release) struct ref_tx tx;
    ref_tx_begin(&tx);
    ref_tx_move(&tx, fence_ref(change->run_id, origin->arena), fence_move(&publishing->fence));
    ref_tx_move(&tx, arena_printf(origin->arena, "refs/heads/%s", change->branch),
                (struct ref_move){head, head});
    ref_tx_move(&tx, pr_run_ref(origin->arena, change->run_id, number),
                (struct ref_move){standing->run_head, head});
    ref_tx_move(&tx, pr_ref(origin->arena, number), (struct ref_move){standing->pr_head, head});
    return ref_tx_commit(&tx, origin->git, origin->dir, err);
}

/* The run's pull request, or one with a number above all others and above *tried.  RC_IO: that
   number could not be taken. */
static enum rc try_number(struct publishing *publishing, int64_t *tried, struct err *err)
{
    const struct forge_change *change = publishing->change;
    const struct standing_query query = {
        .run_id = change->run_id, .branch = change->branch, .numbers = true};
    struct standing now;
    enum rc rc = standing_read(&publishing->origin, &query, &now, err);
    if (rc != RC_OK)
        return rc;
    publishing->again = !text_same(now.fence, fence_move(&publishing->fence).from) ||
                        !text_same(now.branch, publishing->head);
    if (publishing->again)
        return err_set(err, RC_BUSY, "FENCE_MOVED",
                       "Others changed what the run has at the origin, time and again.");
    int64_t highest = now.highest > *tried ? now.highest : *tried;
    *tried = now.number > 0 ? now.number : highest + 1;
    rc = fault_point("publish.refs", err);
    return rc == RC_OK ? write_pr(publishing, &now, *tried, err) : rc;
}

/* A number that another process takes meanwhile, or that a killed git left locked, is skipped. */
static enum rc find_or_create(struct publishing *publishing, struct err *err)
{
    CLEANUP(fd_closep) int lock = -1;
    int64_t tried = 0;
    enum rc rc = lock_prs(&publishing->origin, &lock, err);
    if (rc != RC_OK)
        return rc;
    int tries = 0;
    do
        rc = try_number(publishing, &tried, err);
    while (rc == RC_IO && ++tries < ORIGIN_TRIES_MAX);
    if (rc == RC_IO)
        return err_wrap(err, rc, "cannot take a number for the pull request");
    publishing->number = tried;
    return rc;
}

static enum rc publish_once(struct publishing *publishing, struct err *err)
{
    struct publish_parts *parts = publishing->change->parts;
    publishing->again = false;
    enum rc rc = publish_part_try(parts, PART_BRANCH, bring_branch(publishing, err));
    if (rc == RC_OK)
        rc = may_go_on(&publishing->change->holder, err);
    if (rc == RC_OK)
        rc = fault_point("publish.number", err);
    if (rc == RC_OK)
        rc = publish_part_try(parts, PART_PULL_REQUEST, find_or_create(publishing, err));
    return rc;
}

/* A repair: the pull request is there. */
static enum rc update_pr(const struct forge_ops *forge, struct forge_call *call,
                         const struct forge_change *change, const char *head, struct arena *arena,
                         struct forge_pr *ret_pr, struct err *err)
{
    const struct branch_move move = {
        .change = change,
        .head = head,
        .from = change->head != NULL ? change->head : change->base_commit,
    };
    enum rc rc = publish_part_try(change->parts, PART_BRANCH, branch_move(call, forge, &move, err));
    if (rc != RC_OK)
        return rc;
    struct forge_pr pr = {.number = change->number,
                          .url = url_of(forge, change->url, change->number, arena)};
    text_copy(pr.head, sizeof pr.head, head);
    *ret_pr = pr;
    return RC_OK;
}

static enum rc local_open_pr(const struct forge_ops *forge, struct forge_call *call,
                             const struct forge_change *change, struct arena *arena,
                             struct forge_pr *ret_pr, struct err *err)
{
    const struct git *git = &call->git;
    struct publishing publishing = {.origin = {.git = git, .arena = arena}, .change = change};
    enum rc rc = origin_open(&publishing.origin, change->url, err);
    if (rc == RC_OK)
        rc = fault_point("publish.commit", err);
    if (rc == RC_OK)
        rc = forge_commit(git, change, publishing.head, err);
    if (rc != RC_OK)
        return rc;
    if (change->number > 0)
        return update_pr(forge, call, change, publishing.head, arena, ret_pr, err);
    int tries = 0;
    do
        rc = publish_once(&publishing, err);
    while (rc != RC_OK && publishing.again && ++tries < PUBLISH_TRIES_MAX);
    if (rc == RC_OK)
        rc = fault_point("publish.numbered", err);
    if (rc != RC_OK) {
        (void)!origin_explain(git, change->url, rc, err);
        return rc; /* To be tried again: it can be mended while the run waits. */
    }
    struct forge_pr pr = {.number = publishing.number,
                          .url = url_of(forge, change->url, publishing.number, arena)};
    text_copy(pr.head, sizeof pr.head, publishing.head);
    *ret_pr = pr;
    return RC_OK;
}

/* ---- look ---- */

/* The pull request whose head is the commit; the oldest, should there be several. */
static enum rc find_foreign(const struct origin *origin, const char *head, int64_t *ret_number,
                            struct err *err)
{
    CLEANUP(buf_release) struct buf out;
    buf_init(&out, GIT_TEXT_MAX);
    struct git_call list = {.git_dir = origin->dir,
                            .args = GIT_ARGS("for-each-ref", "--format=%(refname)",
                                             "--sort=creatordate", "--points-at", head,
                                             "refs/pull/"),
                            .out = &out};
    enum rc rc = git_run(origin->git, &list, err);
    char *line = out.data;
    *ret_number = 0;
    while (rc == RC_OK && line != NULL && *line && *ret_number == 0) {
        bool ours = false;
        char *end = strchr(line, '\n');
        if (end != NULL)
            *end = '\0';
        int64_t number = pr_number_of(line);
        if (number > 0)
            rc = pr_is_ours(origin, number, &ours, err);
        *ret_number = ours ? 0 : number;
        line = end != NULL ? end + 1 : NULL;
    }
    return rc;
}

static enum rc local_look(const struct forge_ops *forge, struct forge_call *call,
                          const struct forge_question *question, struct arena *arena,
                          struct forge_found *ret_found, struct err *err)
{
    const struct git *git = &call->git;
    struct origin origin = {.git = git, .arena = arena};
    struct forge_found found = {.pr_number = 0};
    const char *head = NULL;
    enum rc rc = origin_open(&origin, question->url, err);
    if (rc == RC_OK)
        rc = origin_ref(&origin, arena_printf(arena, "refs/heads/%s^{commit}", question->branch),
                        &head, err);
    if (rc == RC_OK && head != NULL)
        rc = find_foreign(&origin, head, &found.pr_number, err);
    if (rc == RC_OK && head != NULL) /* It is reported, and its git may have synced nothing. */
        rc = origin_sync(&origin, err);
    if (rc != RC_OK)
        return rc;
    if (head != NULL)
        text_copy(found.head, sizeof found.head, head);
    if (found.pr_number > 0)
        found.pr_url = url_of(forge, question->url, found.pr_number, arena);
    *ret_found = found;
    return RC_OK;
}

/* ---- withdraw ---- */

/* Every commit that drover makes for a run names it in its last lines (work/steps/publish.c). */
static enum rc is_of_run(const struct origin *origin, const char *ref, const char *run_id,
                         bool *ret_own, struct err *err)
{
    const char *value = NULL;
    struct git_call ask = {.git_dir = origin->dir,
                           .args = GIT_ARGS("for-each-ref", "--format=" ORIGIN_RUN_OF_COMMIT, ref)};
    enum rc rc = git_line(origin->git, &ask, origin->arena, &value, err);
    if (rc == RC_OK)
        *ret_own = text_same(value, run_id);
    return rc;
}

/* Not what a person has checked out to look at it. */
static enum rc may_delete(const struct origin *origin, const char *ref, const char *run_id,
                          bool *ret_may, struct err *err)
{
    struct checked_out found = {.tree = NULL};
    bool own = false;
    enum rc rc = is_of_run(origin, ref, run_id, &own, err);
    if (rc == RC_OK && own)
        rc = checked_out_find(origin, ref, &found, err);
    if (rc == RC_OK)
        *ret_may = own && found.tree == NULL;
    return rc;
}

struct withdrawing {
    struct origin origin;
    const struct forge_withdrawal *withdrawal;
    struct fence fence;
    struct standing standing;
    bool own; /* The branch, which no worktree shows. */
};

static enum rc write_withdrawal(const struct withdrawing *withdrawing, struct err *err)
{
    const struct origin *origin = &withdrawing->origin;
    const struct forge_withdrawal *withdrawal = withdrawing->withdrawal;
    const struct standing *now = &withdrawing->standing;
    const char *left = withdrawing->own ? "" : now->branch;
    CLEANUP(ref_tx_release) struct ref_tx tx;
    ref_tx_begin(&tx);
    ref_tx_move(&tx, fence_ref(withdrawal->run_id, origin->arena), fence_move(&withdrawing->fence));
    ref_tx_move(&tx, arena_printf(origin->arena, "refs/heads/%s", withdrawal->branch),
                (struct ref_move){now->branch, left});
    if (now->number > 0) { /* The mark keeps the number taken, and the commits at hand. */
        const char *shown = now->pr_head[0] ? now->pr_head : now->run_head;
        ref_tx_move(&tx, pr_closed_ref(origin->arena, now->number),
                    (struct ref_move){now->closed, now->closed[0] ? now->closed : shown});
        ref_tx_move(&tx, pr_ref(origin->arena, now->number), (struct ref_move){now->pr_head, ""});
        ref_tx_move(&tx, pr_run_ref(origin->arena, withdrawal->run_id, now->number),
                    (struct ref_move){now->run_head, ""});
    }
    return ref_tx_commit(&tx, origin->git, origin->dir, err);
}

static enum rc withdraw_once(struct withdrawing *withdrawing, struct err *err)
{
    const struct origin *origin = &withdrawing->origin;
    const struct forge_withdrawal *withdrawal = withdrawing->withdrawal;
    const struct standing_query query = {
        .run_id = withdrawal->run_id, .branch = withdrawal->branch, .numbers = true};
    struct standing *now = &withdrawing->standing;
    withdrawing->own = false;
    enum rc rc = standing_read(origin, &query, now, err);
    if (rc == RC_OK && now->branch[0] && !withdrawal->keep_branch)
        rc = may_delete(origin, arena_printf(origin->arena, "refs/heads/%s", withdrawal->branch),
                        withdrawal->run_id, &withdrawing->own, err);
    if (rc == RC_OK)
        rc = may_go_on(&withdrawal->holder, err);
    if (rc != RC_OK)
        return rc;
    text_copy(withdrawing->fence.old, sizeof withdrawing->fence.old, now->fence);
    return write_withdrawal(withdrawing, err);
}

static enum rc local_withdraw(const struct forge_ops *forge, struct forge_call *call,
                              const struct forge_withdrawal *withdrawal,
                              struct forge_withdrawn *ret_withdrawn, struct err *err)
{
    (void)forge;
    const struct git *git = &call->git;
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(fd_closep) int lock = -1;
    struct withdrawing withdrawing = {.origin = {.git = git, .arena = &arena},
                                      .withdrawal = withdrawal};
    const struct fence_text text = {.act = "withdraw", .holder = withdrawal->holder.name};
    enum rc rc = origin_open(&withdrawing.origin, withdrawal->url, err);
    if (rc == RC_OK)
        rc = lock_prs(&withdrawing.origin, &lock, err);
    if (rc == RC_OK)
        rc = fence_make(git, withdrawing.origin.dir, &text, &withdrawing.fence, err);
    if (rc != RC_OK)
        return rc;
    int tries = 0;
    do
        rc = withdraw_once(&withdrawing, err);
    while (rc == RC_IO && ++tries < ORIGIN_TRIES_MAX);
    if (rc != RC_OK)
        return rc;
    bool there = withdrawing.standing.branch[0] != '\0';
    *ret_withdrawn = (struct forge_withdrawn){
        .branch = !there            ? BRANCH_ABSENT
                  : withdrawing.own ? BRANCH_DELETED
                                    : BRANCH_FOREIGN,
        .pr_number = withdrawing.standing.number,
    };
    return RC_OK;
}

const struct forge_ops forge_local = {
    .name = "local",
    .takes_snapshots = true,
    .look = local_look,
    .open_pr = local_open_pr,
    .withdraw = local_withdraw,
    .merge = local_merge,
    .close = local_close,
    .move_branch = local_move_branch,
    .survey = local_survey,
    .examine = local_examine,
    .pr_url = url_of,
    .issues = &issues_local,
    .prs = &prs_local,
    .people = &people_local,
};
