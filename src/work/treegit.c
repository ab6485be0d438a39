/*
 * treegit.c - see treegit.h.
 *
 *     git --git-dir=OURS --work-tree=TREE   read-tree base     when it is opened
 *                                           add --all          for every hash
 *                                           write-tree
 *
 * Each is a process behind walls of its own; a patch, which every run takes, is one for all.
 */
#include "work/treegit.h"
#include "base/fd.h"
#include "base/proc.h"
#include "work/worktree.h"
#include <assert.h>
#include <string.h>

enum { ARGS_MAX = 24, WORDS_MAX = 4096, LINE_MAX_BYTES = 1024, CALL_MS = 5 * 60 * 1000 };

static int time_left(const struct step *step)
{
    int64_t left = step_left_ms(step);
    return left < CALL_MS ? (int)left : CALL_MS;
}

static const char **full_argv(const struct treegit *treegit, const char *const *args)
{
    struct arena *arena = treegit->step->arena;
    const char **argv = arena_array(arena, ARGS_MAX, sizeof(char *));
    size_t count = 0;
    argv[count++] = "git";
    argv[count++] = arena_printf(arena, "--git-dir=%s", treegit->git_dir);
    argv[count++] = arena_printf(arena, "--work-tree=%s", treegit->tree);
    for (size_t i = 0; args[i] && count < ARGS_MAX - 1; i++)
        argv[count++] = args[i];
    return argv;
}

/* what: for people. */
static enum rc run_inside(const struct treegit *treegit, const char *const *argv, const char *what,
                          struct buf *out, struct err *err)
{
    struct step *step = treegit->step;
    const struct sandbox_view view = {
        .argv = argv,
        .cwd = treegit->tree,
        .binds = {{step->mirror, false}, {treegit->tree, false}, {treegit->git_dir, true}},
        .tenant = step->input.run_id.text,
        .status_fd = -1,
    };
    const struct git nobody = {0}; /* No home: the sandbox has none for git. */
    const struct sandbox *sandbox = &step->site->sandbox;
    struct proc_spec spec = {
        .argv = sandbox_argv(sandbox, &view, step->arena),
        .env = git_env(&nobody, &(struct git_call){.args = argv}, step->arena),
        .cwd = sandbox->kind == SANDBOX_BUBBLEWRAP ? "/" : treegit->tree,
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
        return err_set(err, RC_CANCELLED, "CANCELLED", "stopped while reading the agent's tree");
    if (result.timed_out)
        return err_set(err, RC_IO, "TIMEOUT", "git %s took too long in the agent's tree", what);
    if (result.exit.code != 0)
        return err_set(err, RC_IO, "GIT_FAILED", "git %s in the agent's tree: %s", what,
                       buf_text(&words));
    return RC_OK;
}

enum rc treegit_run(const struct treegit *treegit, const char *const *args, struct buf *out,
                    struct err *err)
{
    return run_inside(treegit, full_argv(treegit, args), args[0], out, err);
}

enum rc treegit_line(const struct treegit *treegit, const char *const *args, const char **ret_line,
                     struct err *err)
{
    CLEANUP(buf_release) struct buf out;
    buf_init(&out, LINE_MAX_BYTES);
    enum rc rc = treegit_run(treegit, args, &out, err);
    if (rc != RC_OK)
        return rc;
    const char *text = buf_text(&out);
    *ret_line = arena_strndup(treegit->step->arena, text, strcspn(text, "\n"));
    return RC_OK;
}

struct treegit treegit_at(struct step *step, const char *name, const char *base)
{
    return (struct treegit){
        .step = step,
        .git_dir = worktree_path(step, name),
        .tree = worktree_path(step, "tree"),
        .base = base,
    };
}

static enum rc make_dir(const struct treegit *treegit, struct err *err)
{
    enum rc rc = dir_remove(treegit->git_dir, err);
    return rc == RC_OK ? git_borrow(treegit->step->mirror, treegit->git_dir, err) : rc;
}

enum rc treegit_open(struct treegit *treegit, struct step *step, const char *name, const char *base,
                     struct err *err)
{
    *treegit = treegit_at(step, name, base);
    enum rc rc = make_dir(treegit, err);
    if (rc == RC_OK)
        rc = treegit_run(treegit, GIT_ARGS("read-tree", base), NULL, err);
    return rc;
}

/* $1 our git directory, $2 the tree, $3 the base commit, and the options of git diff.  Without the
   refresh git add would write every file of the repository anew: it cannot touch the mirror's. */
static const char patch_script[] = "export GIT_DIR=\"$1\" GIT_WORK_TREE=\"$2\"; base=$3; shift 3; "
                                   "git read-tree \"$base\" && git update-index -q --refresh && "
                                   "git add --all && git write-tree && "
                                   "exec git diff --cached \"$@\" \"$base\" --";

/* The first line is the hash. */
static enum rc split_patch(const struct treegit *treegit, const struct buf *said,
                           struct treegit_patch *patch, struct err *err)
{
    const char *text = buf_text(said);
    size_t line = strcspn(text, "\n");
    patch->hash = arena_strndup(treegit->step->arena, text, line);
    if (!git_hash_valid(patch->hash))
        return err_set(err, RC_IO, "GIT_FAILED", "git write-tree gave no hash");
    if (said->len > line + 1)
        buf_add(patch->diff, said->data + line + 1, said->len - line - 1);
    patch->diff->overflow |= said->overflow;
    return RC_OK;
}

enum rc treegit_patch(struct treegit *treegit, struct treegit_patch *patch, struct err *err)
{
    const char *argv[ARGS_MAX] = {"/bin/sh",        "-c",          patch_script, "sh",
                                  treegit->git_dir, treegit->tree, treegit->base};
    size_t count = 7;
    for (size_t i = 0; patch->options[i]; i++) {
        assert(count < ARGS_MAX - 1);
        argv[count++] = patch->options[i];
    }
    CLEANUP(buf_release) struct buf said;
    buf_init(&said, patch->diff->max_bytes + GIT_HASH_BYTES + 1);
    enum rc rc = make_dir(treegit, err);
    if (rc == RC_OK)
        rc = run_inside(treegit, argv, "diff", &said, err);
    return rc == RC_OK ? split_patch(treegit, &said, patch, err) : rc;
}

void treegit_close(const struct treegit *treegit)
{
    if (treegit->git_dir)
        worktree_drop(treegit->step, treegit->git_dir);
}

enum rc treegit_hash(const struct treegit *treegit, const char **ret_hash, struct err *err)
{
    const char *hash = NULL;
    enum rc rc = treegit_run(treegit, GIT_ARGS("add", "--all"), NULL, err);
    if (rc == RC_OK)
        rc = treegit_line(treegit, GIT_ARGS("write-tree"), &hash, err);
    if (rc != RC_OK)
        return rc;
    if (!git_hash_valid(hash))
        return err_set(err, RC_IO, "GIT_FAILED", "git write-tree gave no hash");
    *ret_hash = hash;
    return RC_OK;
}
