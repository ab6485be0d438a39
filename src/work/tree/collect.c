/*
 * collect.c - the difference between the agent's tree and the base commit.
 *
 * Renames are written as a deletion and an addition, so that rules about paths see both.
 */
#include "work/tree/collect.h"
#include "base/fd.h"
#include "work/tree/retention.h"
#include "work/tree/treegit.h"
#include "work/tree/worktree.h"
#include <string.h>

enum { SHOWN_BYTES_MAX = 64 * 1024 * 1024 }; /* Of what people may fetch; a patch may have less. */

/* git diff <options> first second -- */
static const char *const diff_options[] = {
    "--binary",        "--full-index",    "--no-color",
    "--no-ext-diff",   "--no-textconv",   "--no-renames",
    "--src-prefix=a/", "--dst-prefix=b/", NULL,
};

static enum rc too_large(struct step *step, struct err *err)
{
    return step_fail(step, RC_TOO_LARGE, err, (struct port_failure){.code = "patch_too_large"});
}

/* The work itself stays on this machine, readable by the worker's user only. */
static enum rc hold(struct step *step, struct str diff, struct err *err)
{
    const char *dir = arena_printf(step->arena, "%s/held", step->site->work_dir);
    const char *path = arena_printf(step->arena, "%s/%s-%lld.diff", dir, step->input.run_id.text,
                                    (long long)step->input.attempt);
    retention_note(step->site->work_dir, &step->input.run_id, step->input.repository);
    enum rc rc = dir_make_durable(dir, 0700, err);
    return rc == RC_OK ? file_write_durable(path, diff.at, diff.len, 0600, err) : rc;
}

/* For people: no patch, as it would not apply. */
static enum rc store_redacted(struct step *step, struct str diff, struct err *err)
{
    const char *sha256;
    enum rc rc = hold(step, diff, err);
    if (rc != RC_OK)
        return rc;
    const char *name = arena_printf(step->arena, "attempt-%lld.redacted.diff",
                                    (long long)step->input.attempt);
    CLEANUP(buf_release) struct buf clean;
    buf_init(&clean, 2 * (size_t)step->input.config.limits.max_patch_bytes);
    patch_scan_redact(step, diff, &clean);
    return step_put(step, "redacted_patch", name, buf_str(&clean), &sha256, err);
}

/* treegit: where the blobs are; NULL: in the mirror. */
static enum rc store_diff(struct step *step, const struct treegit *treegit, const struct buf *diff,
                          struct collected *collected, struct err *err)
{
    if (diff->overflow) {
        (void)err_set(err, RC_TOO_LARGE, "PATCH_TOO_LARGE", "The patch is larger than %zu bytes.",
                      diff->max_bytes);
        return too_large(step, err);
    }
    if (diff->len == 0)
        return RC_OK;
    enum rc rc = patch_read(buf_str(diff), step->arena, &collected->stats, err);
    if (rc == RC_TOO_LARGE)
        return too_large(step, err);
    if (rc == RC_OK)
        rc = patch_scan(step, treegit, buf_str(diff), &collected->stats, &collected->scan, err);
    if (rc != RC_OK)
        return rc;
    if (collected->scan.secrets != NULL)
        return store_redacted(step, buf_str(diff), err);
    const char *name = arena_printf(step->arena, "attempt-%lld.diff",
                                    (long long)step->input.attempt);
    collected->bytes = (int64_t)diff->len;
    return step_put(step, "patch", name, buf_str(diff), &collected->sha256, err);
}

enum rc collect_patch(struct step *step, const char *base, struct collected *ret, struct err *err)
{
    struct treegit treegit = treegit_at(step, "collect.git", base);
    struct collected collected = {0};
    CLEANUP(buf_release) struct buf diff;
    buf_init(&diff, (size_t)step->input.config.limits.max_patch_bytes);
    struct treegit_patch patch = {.options = diff_options, .diff = &diff};
    enum rc rc = treegit_patch(&treegit, &patch, err);
    collected.tree_hash = patch.state.hash;
    collected.nested = patch.state.nested;
    collected.nested_count = patch.state.nested_count;
    if (rc == RC_LIMIT)
        rc = too_large(step, err);
    else if (rc == RC_IO)
        rc = step_fail(step, rc, err, (struct port_failure){.code = "patch_failed"});
    if (rc == RC_OK)
        rc = store_diff(step, &treegit, &diff, &collected, err);
    treegit_close(&treegit);
    if (rc == RC_OK)
        *ret = collected;
    return rc;
}

/* Of two commits that the mirror holds. */
static enum rc diff_commits(struct step *step, const char *base, const char *head, struct buf *diff,
                            struct err *err)
{
    const char *args[COUNT_OF(diff_options) + 4] = {"diff"};
    size_t count = 1;
    for (size_t i = 0; diff_options[i] != NULL; i++)
        args[count++] = diff_options[i];
    args[count++] = base;
    args[count++] = head;
    args[count] = "--";
    struct git git = step_git(step);
    struct git_call compare = {
        .git_dir = step->mirror, .args = args, .out = diff, .memory_bytes = GIT_MEMORY_SMALL};
    return git_run(&git, &compare, err);
}

/* A file that is too large to scan does not block the others. */
enum rc collect_may_show(struct step *step, const char *base, const char *head, bool *ret_may,
                         struct err *err)
{
    CLEANUP(buf_release) struct buf diff;
    struct patch_stats stats;
    struct patch_scan scan = {0};
    buf_init(&diff, SHOWN_BYTES_MAX);
    *ret_may = false;
    enum rc rc = diff_commits(step, base, head, &diff, err);
    if (rc == RC_OK)
        rc = patch_read(buf_str(&diff), step->arena, &stats, err);
    if (rc == RC_OK)
        rc = patch_scan(step, NULL, buf_str(&diff), &stats, &scan, err);
    *ret_may = rc == RC_OK && scan.secrets == NULL;
    return rc == RC_TOO_LARGE ? RC_OK : rc;
}

enum rc collect_commit(struct step *step, const char *base, const char *head, struct collected *ret,
                       struct err *err)
{
    const char *tree = arena_printf(step->arena, "%s^{tree}", head);
    struct git git = step_git(step);
    struct collected collected = {0};
    CLEANUP(buf_release) struct buf diff;
    buf_init(&diff, (size_t)step->input.config.limits.max_patch_bytes);
    struct git_call ask = {.git_dir = step->mirror,
                           .args = GIT_ARGS("rev-parse", "--verify", "--end-of-options", tree)};
    enum rc rc = git_line(&git, &ask, step->arena, &collected.tree_hash, err);
    if (rc == RC_OK)
        rc = diff_commits(step, base, head, &diff, err);
    if (rc == RC_IO)
        return step_fail(step, rc, err, (struct port_failure){.code = "patch_failed"});
    if (rc == RC_OK || rc == RC_TOO_LARGE) /* store_diff reports a diff that is too large. */
        rc = store_diff(step, NULL, &diff, &collected, err);
    if (rc == RC_OK)
        *ret = collected;
    return rc;
}

enum rc collect_applied(struct step *step, const char *base, struct str patch,
                        struct collected *ret, struct err *err)
{
    const char *tree = worktree_path(step, "tree");
    struct checkout checkout = {.dir = tree, .base = base, .patch = patch};
    enum rc rc = worktree_checkout(step, &checkout, err);
    if (rc == RC_CONFLICT)
        return step_fail(step, rc, err, (struct port_failure){.code = "patch_failed"});
    if (rc == RC_OK)
        rc = collect_patch(step, base, ret, err);
    worktree_drop(step, tree);
    return rc;
}

enum rc collect_given(struct step *step, const char *base, struct str patch, struct collected *ret,
                      struct err *err)
{
    struct collected collected = {.scan = {.secrets = patch_scan_lines(step, patch)}};
    const char *name = arena_printf(step->arena, "attempt-%lld.given.diff",
                                    (long long)step->input.attempt);
    enum rc rc = RC_OK;
    if (collected.scan.secrets != NULL) {
        rc = store_redacted(step, patch, err);
    } else if (patch_scan_packed(patch)) { /* What is packed shows only in a tree. */
        rc = worktree_mirror(step, err);
        if (rc == RC_OK)
            rc = collect_applied(step, base, patch, &collected, err);
    } else {
        rc = step_put(step, "given_patch", name, patch, &collected.sha256, err);
    }
    if (rc == RC_OK)
        *ret = collected;
    return rc;
}
