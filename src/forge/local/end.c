/*
 * end.c - how a pull request ends in a repository on disk: merged or closed.
 *
 * Each reads what is there first, so that one that has been done is found done.
 */
#include "base/clock.h"
#include "base/fault.h"
#include "forge/git/checked_out.h"
#include "forge/git/fence.h"
#include "forge/git/origin_access.h"
#include "forge/local/local.h"
#include "forge/local/standing.h"
#include <assert.h>
#include <inttypes.h>
#include <string.h>

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
    rc = pr_is_ours(origin, owner->number, &ours, err);
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
    enum rc rc = origin_tree(origin, head, &tree, err);
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

enum rc local_merge(const struct forge_ops *forge, struct forge_call *call,
                    const struct forge_merge *merge, char ret_commit[GIT_HASH_BYTES],
                    struct err *err)
{
    (void)forge;
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

enum rc local_close(const struct forge_ops *forge, struct forge_call *call,
                    const struct forge_closing *request, struct err *err)
{
    (void)forge;
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
