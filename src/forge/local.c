/*
 * local.c - the forge that is a repository on disk.
 *
 *     refs/heads/<branch>               the change, as pushed
 *     refs/pull/<N>/head                pull request N, as other forges have it
 *     refs/drover/pulls/<run id>/<N>    which run opened it
 *     refs/drover/closed/<N>            pull request N was closed: what it showed then
 *     refs/drover/fence/<run id>        the last holder that acted for the run (fence.h)
 *
 * Every act is one transaction of refs with the fence in it, and names all old values: correctness
 * depends on that alone.  The lock on a file in the repository only keeps publishers from trying
 * for the same number; a publisher that waits too long for it continues without it, because its
 * holder may be frozen.  Numbers are taken once: the next one lies above all that are in use or
 * were.
 *
 * What is reported as done is on the disk (origin.h).  A try that finds the work of an earlier one
 * syncs it all the same: that one may have been killed before it could.
 */
#include "base/clock.h"
#include "base/fault.h"
#include "base/fd.h"
#include "forge/branch_move.h"
#include "forge/checked_out.h"
#include "forge/examine_local.h"
#include "forge/forge.h"
#include "forge/issues.h"
#include "forge/origin.h"
#include "forge/origin_access.h"
#include "forge/prs.h"
#include "forge/standing.h"
#include "forge/survey.h"
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

static const char *url_of(const char *origin_url, int64_t number, struct arena *arena)
{
    char *url = arena_printf(arena, "%s#refs/pull/%" PRId64 "/head", origin_url, number);
    git_redact(url);
    return url;
}

/* The tree of a commit; NULL when there is no such commit. */
static enum rc tree_of(const struct origin *origin, const char *commit, const char **ret_tree,
                       struct err *err)
{
    return origin_ref(origin, arena_printf(origin->arena, "%s^{tree}", commit), ret_tree, err);
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
    enum rc rc = tree_of(origin, branch, &tree_there, err);
    if (rc == RC_OK)
        rc = tree_of(&scratch, publishing->head, &tree, err);
    /* A head that was taken from the origin is not in the scratch repository. */
    if (rc == RC_OK && tree == NULL)
        rc = tree_of(origin, publishing->head, &tree, err);
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
static enum rc update_pr(struct forge_call *call, const struct forge_change *change,
                         const char *head, struct arena *arena, struct forge_pr *ret_pr,
                         struct err *err)
{
    const struct branch_move move = {
        .change = change,
        .head = head,
        .from = change->head != NULL ? change->head : change->base_commit,
    };
    enum rc rc = publish_part_try(change->parts, PART_BRANCH,
                                  branch_move(call, &forge_local, &move, err));
    if (rc != RC_OK)
        return rc;
    struct forge_pr pr = {.number = change->number,
                          .url = url_of(change->url, change->number, arena)};
    text_copy(pr.head, sizeof pr.head, head);
    *ret_pr = pr;
    return RC_OK;
}

static enum rc local_open_pr(struct forge_call *call, const struct forge_change *change,
                             struct arena *arena, struct forge_pr *ret_pr, struct err *err)
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
        return update_pr(call, change, publishing.head, arena, ret_pr, err);
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
                          .url = url_of(change->url, publishing.number, arena)};
    text_copy(pr.head, sizeof pr.head, publishing.head);
    *ret_pr = pr;
    return RC_OK;
}

/* ---- look ---- */

/* Has drover opened it, for any run? */
static enum rc is_ours(const struct origin *origin, int64_t number, bool *ret_ours, struct err *err)
{
    CLEANUP(buf_release) struct buf out;
    buf_init(&out, GIT_TEXT_MAX);
    const char *pattern = arena_printf(origin->arena, "refs/drover/pulls/*/%" PRId64, number);
    struct git_call list = {
        .git_dir = origin->dir,
        .args = GIT_ARGS("for-each-ref", "--count=1", "--format=%(refname)", pattern),
        .out = &out};
    enum rc rc = git_run(origin->git, &list, err);
    if (rc == RC_OK)
        *ret_ours = out.len > 0;
    return rc;
}

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
            rc = is_ours(origin, number, &ours, err);
        *ret_number = ours ? 0 : number;
        line = end != NULL ? end + 1 : NULL;
    }
    return rc;
}

static enum rc local_look(struct forge_call *call, const struct forge_question *question,
                          struct arena *arena, struct forge_found *ret_found, struct err *err)
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
        found.pr_url = url_of(question->url, found.pr_number, arena);
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

static enum rc local_withdraw(struct forge_call *call, const struct forge_withdrawal *withdrawal,
                              struct forge_withdrawn *ret_withdrawn, struct err *err)
{
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

/* ---- ownership ---- */

struct ownership {
    int64_t number;
    const char *run_id, *branch;
    const char *head; /* What the pull request shows. */
};

/* One that drover opened has the ref of its run.  One that the run's agent opened shows the run's
   branch, as long as that is there. */
static enum rc check_owned(const struct origin *origin, const struct ownership *owner,
                           struct err *err)
{
    const char *own = NULL, *branch = NULL;
    bool ours = false;
    enum rc rc = origin_ref(
        origin,
        arena_printf(origin->arena, "refs/drover/pulls/%s/%" PRId64, owner->run_id, owner->number),
        &own, err);
    if (rc != RC_OK || own != NULL)
        return rc;
    rc = is_ours(origin, owner->number, &ours, err);
    if (rc == RC_OK && !ours)
        rc = origin_ref(origin, arena_printf(origin->arena, "refs/heads/%s", owner->branch),
                        &branch, err);
    if (rc != RC_OK || (!ours && (branch == NULL || text_same(branch, owner->head))))
        return rc;
    return err_set(err, RC_CONFLICT, "PULL_REQUEST_NOT_OWN",
                   "Pull request %" PRId64 " is not that of run %.40s: %s.", owner->number,
                   owner->run_id, ours ? "another run opened it" : "it shows another branch");
}

/* ---- merge ---- */

/* Refs of a pull request, read together. */
enum { AT_FENCE, AT_PULL, AT_CLOSED, AT_TARGET, AT_COUNT };

struct merging {
    const struct forge_merge *merge;
    struct checked_out checked_out; /* Where the target is. */
    const char *refs[AT_COUNT];
    char at[AT_COUNT][GIT_HASH_BYTES]; /* "": there is none. */
    struct fence fence;
};

static enum rc merge_tree(const struct origin *origin, const struct merging *merging,
                          const char **ret_tree, struct err *err)
{
    CLEANUP(buf_release) struct buf out;
    buf_init(&out, GIT_TEXT_MAX * 16);
    struct git_call call = {.git_dir = origin->dir,
                            .args = GIT_ARGS("merge-tree", "--write-tree", "--name-only",
                                             "--no-messages", merging->at[AT_TARGET],
                                             merging->at[AT_PULL]),
                            .out = &out,
                            .durable = true,
                            .memory_bytes = GIT_MEMORY_SMALL};
    int status = 0;
    enum rc rc = git_ask(origin->git, &call, &status, err);
    if (rc != RC_OK)
        return rc;
    const char *text = buf_text(&out);
    size_t hash_len = strcspn(text, "\n");
    if (status == 0) {
        *ret_tree = arena_strndup(origin->arena, text, hash_len);
        return RC_OK;
    }
    const char *names = text + hash_len + (text[hash_len] == '\n');
    char *list = arena_strndup(origin->arena, names, strnlen(names, 200));
    for (char *at = list; *at; at++)
        *at = *at == '\n' ? ' ' : *at;
    return err_set(err, RC_CONFLICT, "MERGE_CONFLICT",
                   "It cannot be merged by itself; the two sides disagree about: %s", list);
}

static enum rc write_merge(const struct origin *origin, const struct merging *merging,
                           const char *commit, struct err *err)
{
    CLEANUP(ref_tx_release) struct ref_tx tx;
    const char *head = merging->at[AT_PULL];
    ref_tx_begin(&tx);
    ref_tx_move(&tx, merging->refs[AT_FENCE], fence_move(&merging->fence));
    ref_tx_move(&tx, merging->refs[AT_PULL], (struct ref_move){head, head});
    ref_tx_move(&tx, merging->refs[AT_CLOSED], (struct ref_move){"", ""});
    ref_tx_move(&tx, merging->refs[AT_TARGET], (struct ref_move){merging->at[AT_TARGET], commit});
    return ref_tx_commit(&tx, origin->git, origin->dir, err);
}

/* With the files of the worktree that shows the target.  git leaves refs that stay as they are out
   of a push: that the pull request is still open, the fence says. */
static enum rc write_merge_there(const struct origin *origin, const struct merging *merging,
                                 const char *commit, struct err *err)
{
    const struct checked_out_move move = {
        .branch_ref = merging->refs[AT_TARGET],
        .branch = {merging->at[AT_TARGET], commit},
        .fence_ref = merging->refs[AT_FENCE],
        .fence = fence_move(&merging->fence),
    };
    return checked_out_push(origin, &merging->checked_out, &move, err);
}

/* RC_CONFLICT: a worktree of the origin shows the target, and it may not be changed. */
static enum rc look_at_trees(const struct origin *origin, struct merging *merging,
                             const char *merged_tree, struct err *err)
{
    const struct checked_out_question question = {.branch_ref = merging->refs[AT_TARGET],
                                                  .merged_ref = merging->refs[AT_PULL],
                                                  .merged_tree = merged_tree};
    enum rc rc = checked_out_find(origin, question.branch_ref, &merging->checked_out, err);
    if (rc != RC_OK || merging->checked_out.tree == NULL)
        return rc;
    return checked_out_may_move(origin, &question, &merging->checked_out, err);
}

static enum rc merge_once(const struct origin *origin, struct merging *merging,
                          const char **ret_commit, struct err *err)
{
    const char *tree = NULL, *commit = NULL;
    const struct fence_text text = {.act = "merge", .holder = "the server"};
    enum rc rc = merge_tree(origin, merging, &tree, err);
    if (rc == RC_OK)
        rc = look_at_trees(origin, merging, tree, err);
    if (rc != RC_OK)
        return rc;
    struct git_call make = {.git_dir = origin->dir,
                            .args = GIT_ARGS("commit-tree", tree, "-p", merging->at[AT_TARGET],
                                             "-p", merging->at[AT_PULL], "-F", "-"),
                            .input = str_of(merging->merge->message),
                            .durable = true};
    rc = git_line(origin->git, &make, origin->arena, &commit, err);
    if (rc == RC_OK)
        rc = fence_make(origin->git, origin->dir, &text, &merging->fence, err);
    if (rc != RC_OK)
        return rc;
    text_copy(merging->fence.old, sizeof merging->fence.old, merging->at[AT_FENCE]);
    bool there = merging->checked_out.tree != NULL && !merging->checked_out.updated;
    rc = there ? write_merge_there(origin, merging, commit, err)
               : write_merge(origin, merging, commit, err);
    if (rc == RC_OK)
        *ret_commit = commit;
    return rc;
}

static enum rc is_merged(const struct origin *origin, const char *head, const char *target,
                         bool *ret_merged, struct err *err)
{
    struct git_call ask = {.git_dir = origin->dir,
                           .args = GIT_ARGS("merge-base", "--is-ancestor", head, target)};
    int status = 1;
    enum rc rc = git_ask(origin->git, &ask, &status, err);
    if (rc == RC_OK)
        *ret_merged = status == 0;
    return rc;
}

/* Only the files that were verified are merged. */
static enum rc check_shows(const struct origin *origin, const struct forge_merge *merge,
                           const char *head, struct err *err)
{
    const char *tree = NULL;
    if (merge->expected_tree == NULL)
        return RC_OK;
    enum rc rc = tree_of(origin, head, &tree, err);
    if (rc != RC_OK || text_same(tree, merge->expected_tree))
        return rc;
    return err_set(err, RC_CONFLICT, "HEAD_NOT_VERIFIED",
                   "Pull request %" PRId64
                   " shows the tree %.12s, and the run's patch makes %.12s.",
                   merge->number, tree != NULL ? tree : "(none)", merge->expected_tree);
}

static enum rc check_mergeable(const struct origin *origin, const struct merging *merging,
                               struct err *err)
{
    const struct forge_merge *merge = merging->merge;
    const char *head = merging->at[AT_PULL];
    if (merging->at[AT_CLOSED][0])
        return err_set(err, RC_CONFLICT, "PULL_REQUEST_NOT_OPEN",
                       "Pull request %" PRId64 " is closed.", merge->number);
    if (!head[0])
        return err_set(err, RC_NOT_FOUND, "PULL_REQUEST_NOT_FOUND",
                       "The repository has no pull request %" PRId64 ".", merge->number);
    if (merge->expected_head != NULL && !text_same(head, merge->expected_head))
        return err_set(err, RC_CONFLICT, "HEAD_MOVED",
                       "Pull request %" PRId64 " now stands at %.12s, not at %.12s.", merge->number,
                       head, merge->expected_head);
    const struct ownership owner = {merge->number, merge->run_id, merge->branch, head};
    enum rc rc = check_owned(origin, &owner, err);
    if (rc == RC_OK)
        rc = check_shows(origin, merge, head, err);
    if (rc == RC_OK && !merging->at[AT_TARGET][0])
        rc = err_set(err, RC_NOT_FOUND, "BRANCH_NOT_FOUND", "There is no %.200s to merge into.",
                     merging->refs[AT_TARGET]);
    return rc;
}

/* RC_IO: a ref that counts has moved since it was read. */
static enum rc try_merge(const struct origin *origin, struct merging *merging,
                         const char **ret_commit, struct err *err)
{
    bool merged = false;
    enum rc rc = origin_refs(origin, merging->refs, merging->at, err);
    if (rc == RC_OK)
        rc = check_mergeable(origin, merging, err);
    if (rc == RC_OK)
        rc = is_merged(origin, merging->at[AT_PULL], merging->at[AT_TARGET], &merged, err);
    if (rc != RC_OK)
        return rc;
    if (merged) {
        *ret_commit = merging->at[AT_TARGET];
        return origin_sync(origin, err); /* The earlier try may have been killed before it. */
    }
    return merge_once(origin, merging, ret_commit, err);
}

static enum rc local_merge(struct forge_call *call, const struct forge_merge *merge,
                           char ret_commit[GIT_HASH_BYTES], struct err *err)
{
    const struct git *git = &call->git;
    assert(merge->number > 0);
    CLEANUP(arena_release) struct arena arena = {0};
    struct origin origin = {.git = git, .arena = &arena};
    struct merging merging = {
        .merge = merge,
        .refs = {[AT_FENCE] = fence_ref(merge->run_id, &arena),
                 [AT_PULL] = pr_ref(&arena, merge->number),
                 [AT_CLOSED] = pr_closed_ref(&arena, merge->number),
                 [AT_TARGET] = arena_printf(&arena, "refs/heads/%s", merge->target_branch)},
    };
    const char *commit = NULL;
    enum rc rc = origin_open(&origin, merge->url, err);
    if (rc != RC_OK)
        return rc;
    int tries = 0;
    do
        rc = try_merge(&origin, &merging, &commit, err);
    while (rc == RC_IO && ++tries < ORIGIN_TRIES_MAX);
    if (rc == RC_IO)
        return origin_explain(git, merge->url, err_wrap(err, rc, "cannot move the target branch"),
                              err);
    if (rc == RC_OK)
        text_copy(ret_commit, GIT_HASH_BYTES, commit);
    return rc;
}

/* ---- close ---- */

struct closing {
    const struct forge_closing *closing;
    const char *refs[AT_COUNT];
    char at[AT_COUNT][GIT_HASH_BYTES];
    struct fence fence;
};

/* One that was merged, and not recorded yet, must not seem closed. */
static enum rc check_not_merged(const struct origin *origin, const struct closing *closing,
                                struct err *err)
{
    bool merged = false;
    if (!closing->at[AT_TARGET][0])
        return RC_OK;
    enum rc rc = is_merged(origin, closing->at[AT_PULL], closing->at[AT_TARGET], &merged, err);
    if (rc != RC_OK || !merged)
        return rc;
    return err_set(err, RC_CONFLICT, "PULL_REQUEST_MERGED",
                   "Pull request %" PRId64
                   " is merged into %.200s already; merge it once more to record that.",
                   closing->closing->number, closing->closing->target_branch);
}

static enum rc write_closing(const struct origin *origin, const struct closing *closing,
                             struct err *err)
{
    CLEANUP(ref_tx_release) struct ref_tx tx;
    const char *head = closing->at[AT_PULL];
    ref_tx_begin(&tx);
    ref_tx_move(&tx, closing->refs[AT_FENCE], fence_move(&closing->fence));
    ref_tx_move(&tx, closing->refs[AT_PULL], (struct ref_move){head, head});
    ref_tx_move(&tx, closing->refs[AT_CLOSED], (struct ref_move){"", head});
    return ref_tx_commit(&tx, origin->git, origin->dir, err);
}

/* RC_IO: as try_merge. */
static enum rc try_close(const struct origin *origin, struct closing *closing, struct err *err)
{
    const struct forge_closing *request = closing->closing;
    const struct fence_text text = {.act = "close", .holder = "the server"};
    enum rc rc = origin_refs(origin, closing->refs, closing->at, err);
    if (rc != RC_OK || !closing->at[AT_PULL][0])
        return rc;
    const struct ownership owner = {request->number, request->run_id, request->branch,
                                    closing->at[AT_PULL]};
    rc = check_owned(origin, &owner, err);
    if (rc == RC_OK && closing->at[AT_CLOSED][0])
        return origin_sync(origin, err);
    if (rc == RC_OK)
        rc = check_not_merged(origin, closing, err);
    if (rc == RC_OK)
        rc = fence_make(origin->git, origin->dir, &text, &closing->fence, err);
    if (rc != RC_OK)
        return rc;
    text_copy(closing->fence.old, sizeof closing->fence.old, closing->at[AT_FENCE]);
    return write_closing(origin, closing, err);
}

static enum rc local_close(struct forge_call *call, const struct forge_closing *request,
                           struct err *err)
{
    const struct git *git = &call->git;
    assert(request->number > 0);
    CLEANUP(arena_release) struct arena arena = {0};
    struct origin origin = {.git = git, .arena = &arena};
    struct closing closing = {
        .closing = request,
        .refs = {[AT_FENCE] = fence_ref(request->run_id, &arena),
                 [AT_PULL] = pr_ref(&arena, request->number),
                 [AT_CLOSED] = pr_closed_ref(&arena, request->number),
                 [AT_TARGET] = request->target_branch != NULL
                                   ? arena_printf(&arena, "refs/heads/%s", request->target_branch)
                                   : NULL},
    };
    enum rc rc = origin_open(&origin, request->url, err);
    if (rc != RC_OK)
        return rc;
    int tries = 0;
    do
        rc = try_close(&origin, &closing, err);
    while (rc == RC_IO && ++tries < ORIGIN_TRIES_MAX);
    return rc;
}

const struct forge_ops forge_local = {
    .name = "local",
    .takes_snapshots = true,
    .look = local_look,
    .open_pr = local_open_pr,
    .withdraw = local_withdraw,
    .merge = local_merge,
    .close = local_close,
    .survey = survey_local,
    .examine = examine_local,
    .pr_url = url_of,
    .issues = &issues_local,
    .prs = &prs_local,
};
