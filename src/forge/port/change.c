/*
 * change.c - a commit from base and patch, and its push.
 *
 *     scratch (bare, borrows the mirror's objects)
 *       read-tree base -> apply --cached patch -> write-tree -> commit-tree -> push
 *
 * No working tree is involved, and nothing that an agent could write to but the patch itself.
 */
#include "forge/port/change.h"
#include "base/clock.h"
#include "base/fd.h"
#include "forge/git/origin.h"
#include <assert.h>
#include <inttypes.h>
#include <string.h>

/* The tree of base + patch, in the scratch repository's index and object store. */
static enum rc make_tree(const struct git *git, const struct forge_change *change,
                         struct arena *arena, const char **ret_tree, struct err *err)
{
    struct git_call read = {.git_dir = change->scratch,
                            .args = GIT_ARGS("read-tree", "--end-of-options", change->base_commit)};
    enum rc rc = git_run(git, &read, err);
    if (rc != RC_OK)
        return rc;
    struct git_call apply = {.git_dir = change->scratch,
                             .args = GIT_ARGS("apply", "--cached", "--whitespace=nowarn", "-"),
                             .input = change->patch,
                             .memory_bytes = GIT_MEMORY_SMALL};
    rc = git_run(git, &apply, err);
    if (rc == RC_IO)
        return err_wrap(err, RC_CONFLICT, "the patch does not apply to its base");
    if (rc != RC_OK)
        return rc;
    struct git_call write = {.git_dir = change->scratch, .args = GIT_ARGS("write-tree")};
    rc = git_line(git, &write, arena, ret_tree, err);
    if (rc == RC_OK && change->tree != NULL && !text_same(change->tree, *ret_tree))
        rc = err_set(err, RC_CONFLICT, "TREE_NOT_VERIFIED",
                     "The patch makes tree %.64s, but the certificate is for tree %.64s.",
                     *ret_tree, change->tree);
    return rc;
}

/* Author, committer and both dates are given, so the same input makes the same commit. */
static enum rc make_commit(const struct git *git, const struct forge_change *change,
                           struct arena *arena, const char **ret_head, struct err *err)
{
    const char *tree = NULL;
    enum rc rc = make_tree(git, change, arena, &tree, err);
    if (rc != RC_OK)
        return rc;
    const char *const *env = git_author_env(change->time_us, arena);
    const char *message = arena_printf(arena, "%s\n\n%s\n", change->title,
                                       change->message != NULL ? change->message : change->body);
    struct git_call commit = {
        .git_dir = change->scratch,
        .args = GIT_ARGS("commit-tree", tree, "-p",
                         change->head != NULL ? change->head : change->base_commit, "-F", "-",
                         change->merged != NULL ? "-p" : NULL, change->merged),
        .env = env,
        .input = str_of(message),
    };
    return git_line(git, &commit, arena, ret_head, err);
}

enum rc forge_commit(const struct git *git, const struct forge_change *change,
                     char ret_head[GIT_HASH_BYTES], struct err *err)
{
    if (change->patch.len == 0)
        return err_set(err, RC_INVALID, "EMPTY_PATCH", "There is no patch to publish.");
    if (!git_hash_valid(change->base_commit))
        return err_set(err, RC_INVALID, "INVALID_FIELD", "The base commit is not a hash.");
    CLEANUP(arena_release) struct arena arena = {0};
    const char *head = NULL;
    enum rc rc = dir_remove(change->scratch, err);
    if (rc == RC_OK)
        rc = git_borrow(change->mirror, change->scratch, err);
    if (rc == RC_OK)
        rc = make_commit(git, change, &arena, &head, err);
    if (rc != RC_OK)
        return rc;
    text_copy(ret_head, GIT_HASH_BYTES, head);
    return RC_OK;
}

enum rc forge_push(const struct git *git, const struct forge_change *change,
                   const struct forge_push *push, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const char *branch = arena_printf(&arena, "refs/heads/%s", change->branch);
    const char *fence = fence_ref(change->run_id, &arena);
    const struct ref_move move = fence_move(push->fence);
    /* A ref that is up to date already takes no part in the transaction of the remote: the fence
       always moves, so it always does. */
    assert(!text_same(move.from, move.to));
    const struct git_call call = {
        .git_dir = change->scratch,
        .args = GIT_ARGS(
            "push", "--porcelain", "--atomic",
            origin_is_here(change->url) ? origin_receive_pack(change->url) : "--no-progress",
            arena_printf(&arena, "--force-with-lease=%s:%s", branch, push->branch_from),
            arena_printf(&arena, "--force-with-lease=%s:%s", fence, move.from), "origin",
            arena_printf(&arena, "%s:%s", push->head, branch),
            arena_printf(&arena, "%s:%s", move.to, fence)),
        .origin = change->url};
    enum rc rc = git_run(git, &call, err);
    if (rc != RC_OK)
        return err_wrap(err, rc, "cannot push the branch");
    push->fence->moved = true;
    return RC_OK;
}
