#include "work/agent/agent_tree.h"
#include "base/fd.h"
#include "base/log.h"
#include "work/agent/setup.h"
#include "work/tree/rescue.h"
#include "work/tree/treegit.h"
#include "work/tree/worktree.h"
#include <string.h>

/* So that a commit of the agent's does not take the outputs along. */
static enum rc exclude_outputs(const struct step *step, const char *tree, struct err *err)
{
    const char *info = arena_printf(step->arena, "%s/.git/info", tree);
    const char *text = treegit_excludes(step);
    enum rc rc = dir_make(info, 0755, err);
    if (rc == RC_OK)
        rc = file_write_new(arena_printf(step->arena, "%s/exclude", info), text, strlen(text), 0644,
                            err);
    return rc;
}

/* With a patch that breaks the setup the agent begins without: it may be here to mend that. */
static enum rc set_up(struct step *step, const struct checkout *checkout, struct err *err)
{
    CLEANUP(setup_release) struct setup setup = {0};
    const struct setup_tree tree = {.tree = checkout->dir,
                                    .base = checkout->base,
                                    .patch = checkout->patch,
                                    .dir = worktree_path(step, "setup")};
    enum rc rc = setup_open(step, &tree, &setup, err);
    if (rc == RC_CONFLICT) {
        LOG(LOG_INFO, "the agent's tree is without what a setup makes",
            LOG_STR("runId", step->input.run_id.text), LOG_STR("error", err->text));
        err_clear(err);
        return RC_OK;
    }
    if (rc == RC_OK)
        rc = setup_fill(&setup, checkout->dir, err);
    if (rc == RC_OK && step->input.config.setup_count > 0)
        rc = exclude_outputs(step, checkout->dir, err);
    return rc;
}

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
    if (rc == RC_OK)
        rc = set_up(step, &checkout, err);
    return rc == RC_OK ? worktree_mark(step, base, sha256, err) : rc;
}

enum rc agent_tree_keep_or_make(struct step *step, const char *base, struct err *err)
{
    bool kept = worktree_shows(step, base, step->input.patch_sha256);
    return kept ? RC_OK : agent_tree_make(step, base, err);
}
