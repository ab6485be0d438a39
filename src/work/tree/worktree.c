/*
 * worktree.c - mirrors and checkouts.
 *
 * All git here runs on repositories that no agent can write to: the mirror, and clones before
 * anything of the agent's was started in them.  Nothing is ever pruned from a mirror, since
 * clones borrow its objects; only one thread at a time changes one.
 */
#include "work/tree/worktree.h"
#include "base/boot.h"
#include "base/fd.h"
#include "base/log.h"
#include "core/text/redact.h"
#include "forge/git/origin_access.h"
#include "work/job/repo_step.h"
#include "work/job/step_secrets.h"
#include "work/tree/mirror.h"
#include "work/tree/tree_merge.h"
#include <string.h>
#include <unistd.h>

enum { MARK_BYTES_MAX = 1024 };

const char *worktree_path(const struct step *step, const char *name)
{
    return arena_printf(step->arena, "%s/%s", step->run_dir, name);
}

void worktree_drop(const struct step *step, const char *path)
{
    struct err err = {0};
    if (dir_remove(path, &err) != RC_OK)
        LOG(LOG_WARN, "a part of the work directory stays behind for now",
            LOG_STR("runId", step->input.run_id.text), LOG_STR("error", err.text));
}

/* ---- mirror ---- */

static enum rc mirror_holds(struct step *step, const char *commit, bool *ret_holds, struct err *err)
{
    *ret_holds = commit != NULL && commit == step->held_commit;
    if (*ret_holds || commit == NULL || !file_exists(step->mirror) || mirror_is_suspect(step))
        return RC_OK;
    *ret_holds = mirror_is_known_to_hold(step, commit);
    if (*ret_holds) {
        step->held_commit = commit;
        return RC_OK;
    }
    struct git git = step_git(step);
    const char *object = arena_printf(step->arena, "%s^{commit}", commit);
    struct git_call ask = {.git_dir = step->mirror, .args = GIT_ARGS("cat-file", "-e", object)};
    enum rc rc = git_run(&git, &ask, err);
    *ret_holds = rc == RC_OK;
    if (*ret_holds) {
        step->held_commit = commit;
        mirror_holds_commit(step, commit);
    }
    return rc == RC_IO ? RC_OK : rc; /* "No" and "broken" both need a fetch. */
}

/* Files of a new mirror are not synced one by one: if it is damaged, little is lost with it. */
static enum rc fetch(struct step *step, bool fresh, struct err *err)
{
    struct git git = step_git(step);
    struct git_call call = {
        .git_dir = step->mirror,
        .args = GIT_ARGS("fetch", "--quiet", "--prune", "--no-tags", "--no-write-fetch-head",
                         "origin", "+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"),
        .origin = step->input.config.url,
        .durable = !fresh,
    };
    return git_run(&git, &call, err);
}

/* One branch with objects that git refuses must not block the fetch of the others. */
static enum rc fetch_target(struct step *step, struct err *err)
{
    struct git git = step_git(step);
    struct err why = {0};
    const char *target = step->input.target_branch;
    struct git_call call = {
        .git_dir = step->mirror,
        .args = GIT_ARGS("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "origin",
                         arena_printf(step->arena, "+refs/heads/%s:refs/heads/%s", target, target)),
        .origin = step->input.config.url,
        .durable = true,
    };
    enum rc rc = target != NULL ? git_run(&git, &call, &why) : RC_IO;
    if (rc == RC_CANCELLED || rc == RC_TIMEOUT)
        *err = why;
    if (rc != RC_OK)
        return rc;
    LOG(LOG_WARN, "of the origin only the target branch could be fetched",
        LOG_STR("runId", step->input.run_id.text),
        LOG_STR("error", redact_dup(step_secrets(step), err->text, step->arena)));
    return RC_OK;
}

/* A message of the remote may hold the credential. */
static enum rc fail_fetch(struct step *step, enum rc rc, struct err *err)
{
    const char *name = step->input.config.forge_credential;
    const char *words = redact_dup(step_secrets(step), err->text, step->arena);
    if (rc == RC_UNAUTHORIZED && name != NULL)
        (void)err_set(err, rc, "GIT_UNAUTHORIZED",
                      "The repository does not accept the credential in %.100s. Give the server's "
                      "environment one that may read and push, and retry. %s",
                      name, words);
    else if (rc == RC_UNAUTHORIZED)
        (void)err_set(err, rc, "GIT_UNAUTHORIZED",
                      "The repository wants a credential: name a variable of the server's "
                      "environment in credentials.forge, and retry. %s",
                      words);
    else {
        struct git git = step_git(step);
        text_copy(err->text, sizeof err->text, words);
        (void)!origin_explain(&git, step->input.config.url, rc, err);
    }
    bool refused = rc == RC_UNAUTHORIZED;
    return step_fail(
        step, rc, err,
        (struct port_failure){.code = refused ? "credential_refused" : "repository_unreachable",
                              .retryable = !refused});
}

/* Only addresses over HTTP use one. */
static enum rc check_credential(struct step *step, struct err *err)
{
    enum rc rc = step_credential(step, ACCESS_READ, err);
    if (rc == RC_OK || rc == RC_STALE || rc == RC_CANCELLED)
        return rc;
    return step_forge_fail(step, rc, err, "repository_unreachable");
}

static enum rc make_mirror(struct step *step, struct err *err)
{
    struct git git = step_git(step);
    struct git_call init = {
        /* Agents read it as other users, so its mode must not depend on our umask; no other user
           can enter its directory. */
        .args = GIT_ARGS("init", "--quiet", "--bare", "--shared=0644", "--template=", "--",
                         step->mirror)};
    return git_run(&git, &init, err);
}

static enum rc make_and_fetch(struct step *step, struct err *err)
{
    bool there = file_exists(arena_printf(step->arena, "%s/HEAD", step->mirror));
    enum rc rc = there ? RC_OK : make_mirror(step, err);
    if (rc == RC_OK)
        rc = fetch(step, !there, err);
    if (rc == RC_IO) { /* Removes the locks that a killed git has left. */
        mirror_drop_locks(step, step->mirror);
        rc = make_mirror(step, err);
        if (rc == RC_OK)
            rc = fetch(step, !there, err);
        if (rc == RC_IO)
            rc = fetch_target(step, err);
    }
    return rc;
}

/* Without the mirror: does the origin answer? */
static bool origin_answers(struct step *step)
{
    struct git git = step_git(step);
    struct git_call ask = {.args = GIT_ARGS("ls-remote", "--quiet", "--heads", "origin"),
                           .origin = step->input.config.url};
    return git_run(&git, &ask, NULL) == RC_OK;
}

static enum rc update_mirror(struct step *step, struct err *err)
{
    bool replaced = false;
    struct err why = {0};
    enum rc rc = mirror_is_suspect(step) ? mirror_check(step, &replaced, err) : RC_OK;
    if (rc == RC_OK)
        rc = mirror_change_begins(step->mirror, err);
    if (rc == RC_OK)
        rc = make_and_fetch(step, err);
    if (rc == RC_IO && !replaced && origin_answers(step) &&
        mirror_check(step, &replaced, &why) == RC_OK && replaced)
        rc = make_and_fetch(step, err);
    if (rc == RC_OK)
        rc = mirror_change_ends(step->mirror, err);
    if (rc == RC_OK && replaced)
        mirror_keep_snapshots(step);
    return rc == RC_IO || rc == RC_UNAUTHORIZED ? fail_fetch(step, rc, err) : rc;
}

enum rc worktree_fetch(struct step *step, struct err *err)
{
    enum rc rc = check_credential(step, err);
    if (rc == RC_OK)
        rc = dir_make_durable(arena_printf(step->arena, "%s/mirrors", step->site->work_dir), 0700,
                              err);
    if (rc != RC_OK)
        return rc;
    CLEANUP(fd_closep) int lock = -1;
    struct git git = step_git(step);
    rc = git_lock(&git, arena_printf(step->arena, "%s.lock", step->mirror), &lock, err);
    if (rc == RC_OK)
        rc = update_mirror(step, err);
    return rc;
}

enum rc worktree_mirror(struct step *step, struct err *err)
{
    bool holds = false;
    enum rc rc = mirror_holds(step, step->input.base_commit, &holds, err);
    return rc == RC_OK && !holds ? worktree_fetch(step, err) : rc;
}

/* ---- base ---- */

/* Of a repair that resolves conflicts: made anew wherever it is needed, since no ref names it. */
static enum rc merged_base(struct step *step, const char **ret_commit, struct err *err)
{
    const struct step_input *input = &step->input;
    const struct tree_merge merge = {step->mirror, input->pr.head, input->pr.merge_with};
    enum rc rc = tree_merge(step, &merge, ret_commit, NULL, err);
    if (rc == RC_IO)
        return step_fail(step, err_wrap(err, RC_NOT_FOUND, "cannot merge the head and its target"),
                         err, (struct port_failure){.code = "base_commit_not_found"});
    bool other = rc == RC_OK && input->base_commit != NULL &&
                 !text_same(*ret_commit, input->base_commit);
    return other ? err_set(err, RC_CORRUPT, "BASE_DIFFERS",
                           "The merge of %.12s and %.12s is another one than before.",
                           input->pr.head, input->pr.merge_with)
                 : rc;
}

enum rc worktree_base(struct step *step, const char **ret_commit, struct err *err)
{
    struct git git = step_git(step);
    const struct step_input *input = &step->input;
    if (input->pr.merge_with != NULL)
        return merged_base(step, ret_commit, err);
    if (input->base_commit != NULL) {
        bool holds = false;
        enum rc rc = mirror_holds(step, input->base_commit, &holds, err);
        if (rc != RC_OK)
            return rc;
        if (holds) {
            *ret_commit = input->base_commit;
            return RC_OK;
        }
        rc = err_set(err, RC_NOT_FOUND, "NOT_FOUND", "The repository no longer has commit %.12s.",
                     input->base_commit);
        return step_fail(step, rc, err, (struct port_failure){.code = "base_commit_not_found"});
    }
    const char *ref = arena_printf(step->arena, "refs/heads/%s^{commit}", input->target_branch);
    struct git_call ask = {
        .git_dir = step->mirror,
        .args = GIT_ARGS("rev-parse", "--verify", "--quiet", "--end-of-options", ref)};
    enum rc rc = git_line(&git, &ask, step->arena, ret_commit, err);
    if (rc != RC_IO)
        return rc;
    rc = err_set(err, RC_NOT_FOUND, "NOT_FOUND", "The repository has no branch %.200s.",
                 input->target_branch);
    return step_fail(step, rc, err, (struct port_failure){.code = "branch_not_found"});
}

/* ---- checkouts ---- */

enum { CONFIG_BYTES_MAX = 16 * 1024, REFS_BYTES_MAX = 64 * 1024 * 1024 };

/* The branches of the mirror as those of the remote "origin", and its tags. */
static enum rc write_refs(struct step *step, const char *git_dir, struct err *err)
{
    CLEANUP(buf_release) struct buf listed, refs;
    struct git git = step_git(step);
    struct str rest, line;
    buf_init(&listed, REFS_BYTES_MAX);
    buf_init(&refs, 2 * REFS_BYTES_MAX);
    /* Annotated tags have a second line, with the commit. */
    static const char format[] = "--format=%(objectname) %(refname)"
                                 "%(if)%(*objectname)%(then)%0a^%(*objectname)%(end)";
    struct git_call list = {.git_dir = step->mirror,
                            .args = GIT_ARGS("for-each-ref", format, "refs/heads/", "refs/tags/"),
                            .out = &listed};
    enum rc rc = git_run(&git, &list, err);
    if (rc != RC_OK)
        return rc;
    buf_adds(&refs, "# pack-refs with: peeled fully-peeled sorted \n");
    rest = buf_str(&listed);
    while (str_take_line(&rest, &line)) {
        static const char heads[] = " refs/heads/";
        const char *at = memmem(line.at, line.len, heads, strlen(heads));
        size_t before = at != NULL ? (size_t)(at - line.at) : line.len;
        buf_add(&refs, line.at, before);
        if (at != NULL) {
            buf_adds(&refs, " refs/remotes/origin/");
            buf_add(&refs, at + strlen(heads), line.len - before - strlen(heads));
        }
        buf_addc(&refs, '\n');
    }
    const char *path = arena_printf(step->arena, "%s/packed-refs", git_dir);
    return file_write_new(path, refs.data, refs.len, 0644, err);
}

/* As the value of a variable of git's configuration. */
static void add_quoted(struct buf *config, const char *text)
{
    buf_addc(config, '"');
    for (const char *at = text; *at != '\0'; at++) {
        if (*at == '"' || *at == '\\')
            buf_addc(config, '\\');
        buf_addc(config, *at);
    }
    buf_addc(config, '"');
}

/* Only a checkout to work in has a reflog, and a remote. */
static void write_config(struct buf *config, const struct step *step, bool to_work_in)
{
    buf_addf(config,
             "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tlogAllRefUpdates = %s\n"
             "[user]\n\tname = drover\n\temail = drover@localhost\n[gc]\n\tauto = 0\n",
             to_work_in ? "true" : "false");
    if (!to_work_in)
        return;
    buf_adds(config,
             "[remote \"origin\"]\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n\turl = ");
    add_quoted(config, step->mirror);
    buf_addc(config, '\n');
}

/* What `git clone --shared --no-checkout` makes, which takes three processes. */
static enum rc clone(struct step *step, const struct checkout *checkout, struct err *err)
{
    CLEANUP(buf_release) struct buf config;
    buf_init(&config, CONFIG_BYTES_MAX);
    const char *git_dir = arena_printf(step->arena, "%s/.git", checkout->dir);
    const bool to_work_in = checkout->branch != NULL;
    write_config(&config, step, to_work_in);
    enum rc rc = git_borrow_as(&(struct git_loan){.lender = step->mirror,
                                                  .path = git_dir,
                                                  .config = buf_text(&config),
                                                  .for_other_users = true},
                               err);
    if (rc == RC_OK && to_work_in)
        rc = write_refs(step, git_dir, err);
    if (rc != RC_OK)
        return rc;
    struct git git = step_git(step);
    struct git_call detach = {
        .dir = checkout->dir,
        .args = GIT_ARGS("checkout", "--quiet", "--detach", checkout->base, "--")};
    struct git_call branch = {
        .dir = checkout->dir,
        .args = GIT_ARGS("checkout", "--quiet", "-B", checkout->branch, checkout->base, "--")};
    return git_run(&git, to_work_in ? &branch : &detach, err);
}

enum rc worktree_checkout(struct step *step, const struct checkout *checkout, struct err *err)
{
    enum rc rc = dir_remove(checkout->dir, err);
    if (rc == RC_OK)
        rc = dir_make(step->run_dir, 0700, err);
    if (rc == RC_OK)
        rc = clone(step, checkout, err);
    if (rc != RC_OK || checkout->patch.len == 0)
        return rc;
    struct git git = step_git(step);
    struct git_call apply = {.dir = checkout->dir,
                             .args = GIT_ARGS("apply", "--index", "--whitespace=nowarn", "-"),
                             .input = checkout->patch,
                             .memory_bytes = GIT_MEMORY_SMALL};
    rc = git_run(&git, &apply, err);
    return rc == RC_IO ? RC_CONFLICT : rc;
}

/* ---- the agent's tree ---- */

/* The files of a tree are never synced: there may be many, and all can be made anew.  So the mark
   names the boot in which they were written, and is not trusted in another one. */
static const char *mark_text(struct step *step, const char *base, const char *patch_sha256)
{
    return arena_printf(step->arena, "%s %s %s\n", base, patch_sha256 != NULL ? patch_sha256 : "-",
                        boot_id());
}

static enum rc write_work(struct step *step, const char *base, struct err *err)
{
    const char *slash = strrchr(step->mirror, '/');
    const char *text = arena_printf(step->arena, "%s %s %s\n", base,
                                    slash != NULL ? slash + 1 : "-",
                                    step->input.repository != NULL ? step->input.repository : "");
    return file_write_durable(worktree_path(step, "tree.work"), text, strlen(text), 0600, err);
}

void worktree_lend(struct step *step)
{
    (void)unlink(worktree_path(step, "tree.mark"));
    (void)unlink(worktree_path(step, "tree.work"));
}

enum rc worktree_hand_out(struct step *step, const char *base, struct err *err)
{
    enum rc rc = write_work(step, base, err);
    if (rc != RC_OK)
        return rc;
    (void)unlink(worktree_path(step, "tree.mark"));
    /* A mark that reappears after a crash would mean that the work is saved. */
    return dir_sync(step->run_dir, err);
}

bool worktree_has_work(const struct step *step)
{
    return file_exists(worktree_path(step, "tree.work")) &&
           file_exists(worktree_path(step, "tree"));
}

bool worktree_is_unsaved(const struct step *step)
{
    return worktree_has_work(step) && !file_exists(worktree_path(step, "tree.mark"));
}

/* Takes the next word of the line off. */
static const char *next_word(const char **text, struct arena *arena)
{
    size_t len = strcspn(*text, " \n");
    const char *word = arena_strndup(arena, *text, len);
    *text += len + ((*text)[len] == ' ');
    return word;
}

enum rc worktree_read_work(const struct step *step, struct work_mark *ret, struct err *err)
{
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, MARK_BYTES_MAX);
    enum rc rc = file_read(worktree_path(step, "tree.work"), &text, err);
    if (rc != RC_OK)
        return rc;
    const char *words = buf_text(&text);
    const char *base = next_word(&words, step->arena);
    const char *mirror = next_word(&words, step->arena);
    const char *repository = next_word(&words, step->arena);
    if (!git_hash_valid(base) || mirror[0] == '\0' || strchr(mirror, '/') != NULL)
        return err_set(err, RC_IO, "IO_ERROR", "tree.work does not say what the tree began with");
    *ret = (struct work_mark){
        .base = base, .mirror = mirror, .repository = repository[0] ? repository : NULL};
    return RC_OK;
}

enum rc worktree_mark(struct step *step, const char *base, const char *patch_sha256,
                      struct err *err)
{
    const char *text = mark_text(step, base, patch_sha256);
    return file_write_durable(worktree_path(step, "tree.mark"), text, strlen(text), 0600, err);
}

bool worktree_shows(struct step *step, const char *base, const char *patch_sha256)
{
    CLEANUP(buf_release) struct buf mark;
    buf_init(&mark, MARK_BYTES_MAX);
    return boot_id()[0] != '\0' && file_exists(worktree_path(step, "tree")) &&
           file_read(worktree_path(step, "tree.mark"), &mark, NULL) == RC_OK &&
           text_same(buf_text(&mark), mark_text(step, base, patch_sha256));
}
