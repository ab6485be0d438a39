/*
 * hosted_move.c - the branch of a pull request at a server moves, and the pull request follows it.
 */
#include "forge/git/remote.h"
#include "forge/host/hosted.h"
#include "forge/port/branch_move.h"
#include "forge/port/change.h"

enum rc hosted_move_branch(const struct forge_ops *forge, struct forge_call *call,
                           const struct branch_move *move, struct err *err)
{
    enum { AT_FENCE, AT_BRANCH, AT_COUNT };
    CLEANUP(arena_release) struct arena arena = {0};
    (void)forge;
    const struct forge_change *change = move->change;
    struct remote remote = {
        .git = &call->git, .url = change->url, .dir = change->scratch, .arena = &arena};
    const char *names[AT_COUNT] = {fence_ref(change->run_id, &arena),
                                   arena_printf(&arena, "refs/heads/%s", change->branch)};
    char at[AT_COUNT][GIT_HASH_BYTES];
    struct fence fence = {.moved = false};
    enum rc rc = remote_refs(&remote, names, AT_COUNT, at, err);
    if (rc != RC_OK || text_same(at[AT_BRANCH], move->head))
        return rc;
    if (!text_same(at[AT_BRANCH], move->from))
        return branch_move_elsewhere(move, at[AT_BRANCH], err);
    text_copy(fence.old, sizeof fence.old, at[AT_FENCE]);
    rc = branch_move_fence(&call->git, move, &fence, err);
    const struct forge_push push = {.head = move->head, .branch_from = move->from, .fence = &fence};
    return rc == RC_OK ? forge_push(&call->git, change, &push, err) : rc;
}
