/*
 * collect.c - git behind the walls.
 *
 *     git --git-dir=OURS --work-tree=TREE   read-tree base
 *                                           add -A
 *                                           write-tree
 *                                           diff --cached base
 *
 * Renames are written as a deletion and an addition, so that rules about paths see both.
 */
#include "work/collect.h"
#include "base/fd.h"
#include "base/proc.h"
#include "core/redact.h"
#include "work/step_secrets.h"
#include "work/worktree.h"
#include <string.h>

enum { ARGS_MAX = 24, WORDS_MAX = 4096, COLLECT_MS = 5 * 60 * 1000 };

struct collector {
    struct step *step;
    const char *git_dir; /* Ours. */
    const char *tree;
    const char *base;
};

static int time_left(const struct step *step)
{
    int64_t left = step_left_ms(step);
    return left < COLLECT_MS ? (int)left : COLLECT_MS;
}

/* Runs one git command in the sandbox. */
static enum rc inside(const struct collector *collector, const char *const *args, struct buf *out,
                      struct err *err)
{
    struct step *step = collector->step;
    struct arena *arena = step->arena;
    const char **argv = arena_array(arena, ARGS_MAX, sizeof(char *));
    size_t count = 0;
    argv[count++] = "git";
    argv[count++] = arena_printf(arena, "--git-dir=%s", collector->git_dir);
    argv[count++] = arena_printf(arena, "--work-tree=%s", collector->tree);
    for (size_t i = 0; args[i] && count < ARGS_MAX - 1; i++)
        argv[count++] = args[i];
    const struct sandbox_view view = {
        .argv = argv,
        .cwd = collector->tree,
        .binds = {{step->mirror, false}, {collector->tree, false}, {collector->git_dir, true}},
        .tenant = step->input.run_id.text,
        .status_fd = -1,
    };
    const struct git nobody = {0}; /* No home: the sandbox has none for git. */
    const struct sandbox *sandbox = &step->site->sandbox;
    struct proc_spec spec = {
        .argv = sandbox_argv(sandbox, &view, arena),
        .env = git_env(&nobody, &(struct git_call){.args = args}, arena),
        .cwd = sandbox->kind == SANDBOX_BUBBLEWRAP ? "/" : collector->tree,
    };
    CLEANUP(buf_release) struct buf words;
    buf_init(&words, WORDS_MAX);
    struct proc_limits limits = {.timeout_ms = time_left(step), .cancel = &step->stop->reason};
    struct proc_result result;
    enum rc rc = sandbox_hand_over(sandbox, &view, err);
    if (rc == RC_OK)
        rc = proc_run(&spec, (struct str){0}, out, &words, &limits, &result, err);
    if (rc != RC_OK)
        return rc;
    if (result.cancelled)
        return err_set(err, RC_CANCELLED, "CANCELLED", "stopped while taking the patch");
    if (result.timed_out)
        return err_set(err, RC_IO, "TIMEOUT", "git %s took too long in the agent's tree", args[0]);
    if (result.exit.code != 0)
        return err_set(err, RC_IO, "GIT_FAILED", "git %s in the agent's tree: %s", args[0],
                       buf_text(&words));
    return RC_OK;
}

static enum rc take_tree(const struct collector *collector, const char **ret_hash, struct err *err)
{
    enum rc rc = inside(collector, GIT_ARGS("read-tree", collector->base), NULL, err);
    if (rc == RC_OK)
        rc = inside(collector, GIT_ARGS("add", "--all"), NULL, err);
    CLEANUP(buf_release) struct buf out;
    buf_init(&out, GIT_HASH_BYTES);
    if (rc == RC_OK)
        rc = inside(collector, GIT_ARGS("write-tree"), &out, err);
    if (rc != RC_OK)
        return rc;
    const char *text = buf_text(&out);
    *ret_hash = arena_strndup(collector->step->arena, text, strcspn(text, "\n"));
    return git_hash_valid(*ret_hash)
               ? RC_OK
               : err_set(err, RC_IO, "GIT_FAILED", "git write-tree gave no hash");
}

/* git diff <options> first [second] -- */
enum { DIFF_ARGS_MAX = 16 };

static const char *const *diff_args(const char *const *last, const char **to)
{
    static const char *const options[] = {
        "diff",          "--binary",     "--full-index",    "--no-color",      "--no-ext-diff",
        "--no-textconv", "--no-renames", "--src-prefix=a/", "--dst-prefix=b/",
    };
    size_t count = COUNT_OF(options);
    memcpy(to, options, sizeof options);
    while (*last && count < DIFF_ARGS_MAX - 2)
        to[count++] = *last++;
    to[count++] = "--";
    to[count] = NULL;
    return to;
}

static enum rc take_diff(const struct collector *collector, struct buf *diff, struct err *err)
{
    const char *args[DIFF_ARGS_MAX];
    return inside(collector, diff_args(GIT_ARGS("--cached", collector->base), args), diff, err);
}

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
    struct collector collector = {
        .step = step,
        .git_dir = worktree_path(step, "collect.git"),
        .tree = worktree_path(step, "tree"),
        .base = base,
    };
    struct collected collected = {0};
    CLEANUP(buf_release) struct buf diff;
    buf_init(&diff, (size_t)step->input.config.limits.max_patch_bytes);
    enum rc rc = dir_remove(collector.git_dir, err);
    if (rc == RC_OK)
        rc = git_borrow(step->mirror, collector.git_dir, err);
    if (rc != RC_OK)
        return rc;
    rc = take_tree(&collector, &collected.tree_hash, err);
    if (rc == RC_OK)
        rc = take_diff(&collector, &diff, err);
    if (rc == RC_IO)
        rc = step_fail(step, rc, err, (struct port_failure){.code = "patch_failed"});
    if (rc == RC_OK)
        rc = store_diff(step, &diff, &collected, err);
    worktree_drop(step, collector.git_dir);
    if (rc == RC_OK)
        *ret = collected;
    return rc;
}

enum rc collect_commit(struct step *step, const char *base, const char *head, struct collected *ret,
                       struct err *err)
{
    const char *args[DIFF_ARGS_MAX];
    const char *tree = arena_printf(step->arena, "%s^{tree}", head);
    struct git git = step_git(step);
    struct collected collected = {0};
    CLEANUP(buf_release) struct buf diff;
    buf_init(&diff, (size_t)step->input.config.limits.max_patch_bytes);
    struct git_call ask = {.git_dir = step->mirror,
                           .args = GIT_ARGS("rev-parse", "--verify", "--end-of-options", tree)};
    struct git_call compare = {
        .git_dir = step->mirror, .args = diff_args(GIT_ARGS(base, head), args), .out = &diff};
    enum rc rc = git_line(&git, &ask, step->arena, &collected.tree_hash, err);
    if (rc == RC_OK)
        rc = git_run(&git, &compare, err);
    if (rc == RC_IO)
        return step_fail(step, rc, err, (struct port_failure){.code = "patch_failed"});
    if (rc == RC_OK || rc == RC_TOO_LARGE) /* What is too large says so itself. */
        rc = store_diff(step, &diff, &collected, err);
    if (rc == RC_OK)
        *ret = collected;
    return rc;
}
