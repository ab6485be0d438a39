/*
 * collect.c - the difference between the agent's tree and the base commit.
 *
 * Renames are written as a deletion and an addition, so that rules about paths see both.
 */
#include "work/collect.h"
#include "base/fd.h"
#include "core/redact.h"
#include "work/step_secrets.h"
#include "work/treegit.h"
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

/* NULL: there are none. */
static struct secret_hits *find_secrets(struct step *step, const struct buf *diff)
{
    struct secrets secrets = *step_secrets(step);
    secrets.shapes = step->input.config.policy.scan_secrets;
    struct secret_hits *hits = arena_alloc(step->arena, sizeof *hits);
    secrets_in_patch(&secrets, buf_str(diff), step->arena, hits);
    return hits->count > 0 ? hits : NULL;
}

/* The work itself stays on this machine, where only its own people look. */
static enum rc hold(struct step *step, const struct buf *diff, struct err *err)
{
    const char *dir = arena_printf(step->arena, "%s/held", step->site->work_dir);
    const char *path = arena_printf(step->arena, "%s/%s-%lld.diff", dir, step->input.run_id.text,
                                    (long long)step->input.attempt);
    enum rc rc = dir_make(dir, 0700, err);
    return rc == RC_OK ? file_write_durable(path, diff->data, diff->len, 0600, err) : rc;
}

/* For people: no patch, as it would not apply. */
static enum rc store_redacted(struct step *step, const struct buf *diff, struct err *err)
{
    CLEANUP(buf_release) struct buf clean;
    const char *sha256;
    enum rc rc = hold(step, diff, err);
    if (rc != RC_OK)
        return rc;
    const char *name = arena_printf(step->arena, "attempt-%lld.redacted.diff",
                                    (long long)step->input.attempt);
    buf_init(&clean, 2 * diff->max_bytes);
    redact_text(step_secrets(step), buf_str(diff), &clean);
    return step_put(step, "redacted_patch", name, buf_str(&clean), &sha256, err);
}

static enum rc store_diff(struct step *step, const struct buf *diff, struct collected *collected,
                          struct err *err)
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
    if (rc != RC_OK)
        return rc;
    collected->secrets = find_secrets(step, diff);
    if (collected->secrets)
        return store_redacted(step, diff, err);
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
    collected.tree_hash = patch.hash;
    if (rc == RC_IO)
        rc = step_fail(step, rc, err, (struct port_failure){.code = "patch_failed"});
    if (rc == RC_OK)
        rc = store_diff(step, &diff, &collected, err);
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
    for (size_t i = 0; diff_options[i]; i++)
        args[count++] = diff_options[i];
    args[count++] = base;
    args[count++] = head;
    args[count] = "--";
    struct git git = step_git(step);
    struct git_call compare = {.git_dir = step->mirror, .args = args, .out = diff};
    return git_run(&git, &compare, err);
}

enum rc collect_may_show(struct step *step, const char *base, const char *head, bool *ret_may,
                         struct err *err)
{
    CLEANUP(buf_release) struct buf diff;
    buf_init(&diff, SHOWN_BYTES_MAX);
    enum rc rc = diff_commits(step, base, head, &diff, err);
    *ret_may = rc == RC_OK && !diff.overflow && find_secrets(step, &diff) == NULL;
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
    if (rc == RC_OK || rc == RC_TOO_LARGE) /* What is too large says so itself. */
        rc = store_diff(step, &diff, &collected, err);
    if (rc == RC_OK)
        *ret = collected;
    return rc;
}
