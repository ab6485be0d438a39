#include "work/tree/agent_tree.h"
#include "work/tree/rescue.h"
#include "work/tree/worktree.h"

enum rc agent_tree_make(struct step *step, const char *base, struct err *err)
{
    CLEANUP(buf_release) struct buf patch;
    buf_init(&patch, (size_t)step->input.config.limits.max_patch_bytes);
    const char *sha256 = step->input.patch_sha256;
    enum rc rc = sha256 != NULL ? step_get(step, sha256, &patch, err) : RC_OK;
    if (rc == RC_OK)
        rc = rescue_tree(step, err);
    if (rc != RC_OK)
        return rc;
    worktree_lend(step);
    struct checkout checkout = {.dir = worktree_path(step, "tree"),
                                .base = base,
                                .branch = step->input.branch,
                                .patch = buf_str(&patch)};
    rc = worktree_checkout(step, &checkout, err);
    return rc == RC_OK ? worktree_mark(step, base, sha256, err) : rc;
}

enum rc agent_tree_keep_or_make(struct step *step, const char *base, struct err *err)
{
    bool kept = worktree_shows(step, base, step->input.patch_sha256);
    return kept ? RC_OK : agent_tree_make(step, base, err);
}
