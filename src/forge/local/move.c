/*
 * move.c - the branch of a pull request moves in a repository on disk.
 *
 * The pull request is a ref of its own (local.c), which is moved in the same transaction.
 */
#include "forge/git/checked_out.h"
#include "forge/git/ref_tx.h"
#include "forge/local/local.h"
#include "forge/local/standing.h"
#include "forge/port/branch_move.h"
#include <inttypes.h>
#include <string.h>

enum { RUN_REFS_BYTES = 64 * 1024 };
enum { AT_FENCE, AT_BRANCH, AT_PULL, AT_COUNT };

/* refs/drover/pulls/<run>/<N>: which run opened it. */
static enum rc move_run_refs(const struct origin *origin, const struct branch_move *move,
                             struct ref_tx *tx, struct err *err)
{
    CLEANUP(buf_release) struct buf out;
    buf_init(&out, RUN_REFS_BYTES);
    const char *pattern = arena_printf(origin->arena, "refs/drover/pulls/*/%" PRId64,
                                       move->change->number);
    struct git_call list = {
        .git_dir = origin->dir,
        .args = GIT_ARGS("for-each-ref", "--format=%(objectname) %(refname)", pattern),
        .out = &out};
    enum rc rc = git_run(origin->git, &list, err);
    struct str rest = buf_str(&out), line;
    while (rc == RC_OK && str_take_line(&rest, &line)) {
        char *text = str_dup(origin->arena, line), *space = strchr(text, ' ');
        if (space == NULL)
            continue;
        *space = '\0';
        ref_tx_move(tx, space + 1, (struct ref_move){text, move->head});
    }
    return rc;
}

static enum rc write_moves(const struct origin *origin, const struct branch_move *move,
                           const char *const *refs, char (*at)[GIT_HASH_BYTES],
                           const struct fence *fence, struct err *err)
{
    CLEANUP(ref_tx_release) struct ref_tx tx;
    ref_tx_begin(&tx);
    ref_tx_move(&tx, refs[AT_FENCE], fence_move(fence));
    ref_tx_move(&tx, refs[AT_BRANCH], (struct ref_move){at[AT_BRANCH], move->head});
    ref_tx_move(&tx, refs[AT_PULL], (struct ref_move){at[AT_PULL], move->head});
    enum rc rc = move_run_refs(origin, move, &tx, err);
    return rc == RC_OK ? ref_tx_commit(&tx, origin->git, origin->dir, err) : rc;
}

enum rc local_move_branch(const struct forge_ops *forge, struct forge_call *call,
                          const struct branch_move *move, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    (void)forge;
    const struct forge_change *change = move->change;
    struct origin origin = {.git = &call->git, .arena = &arena};
    const char *refs[ORIGIN_REFS_READ] = {
        [AT_FENCE] = fence_ref(change->run_id, &arena),
        [AT_BRANCH] = arena_printf(&arena, "refs/heads/%s", change->branch),
        [AT_PULL] = pr_ref(&arena, change->number),
        [AT_COUNT] = pr_closed_ref(&arena, change->number),
    };
    char at[ORIGIN_REFS_READ][GIT_HASH_BYTES];
    struct checked_out shown = {.tree = NULL};
    struct fence fence = {.moved = false};
    enum rc rc = origin_open(&origin, change->url, err);
    if (rc == RC_OK)
        rc = origin_refs(&origin, refs, at, err);
    if (rc != RC_OK)
        return rc;
    if (text_same(at[AT_BRANCH], move->head) && text_same(at[AT_PULL], move->head))
        return origin_sync(&origin, err);
    if (at[AT_COUNT][0])
        return err_set(err, RC_CONFLICT, "PULL_REQUEST_CLOSED",
                       "Pull request %" PRId64 " is closed.", change->number);
    if (!text_same(at[AT_BRANCH], move->from))
        return branch_move_elsewhere(move, at[AT_BRANCH], err);
    rc = checked_out_find(&origin, refs[AT_BRANCH], &shown, err);
    if (rc == RC_OK && shown.tree != NULL)
        return err_set(err, RC_CONFLICT, "BRANCH_CHECKED_OUT",
                       "The branch %.200s is checked out in %.200s; check out another one there.",
                       change->branch, shown.tree);
    if (rc == RC_OK)
        rc = branch_move_fence(&call->git, move, &fence, err);
    if (rc == RC_OK)
        rc = origin_take_objects(&origin, change->scratch, move->head, fence.value, err);
    if (rc != RC_OK)
        return rc;
    text_copy(fence.old, sizeof fence.old, at[AT_FENCE]);
    rc = write_moves(&origin, move, refs, at, &fence, err);
    return rc == RC_OK ? origin_sync(&origin, err) : rc;
}
