#include "forge/git/checked_out.h"
#include "base/fd.h"
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TREES_BYTES_MAX = 4 << 20, HEAD_NAME_BYTES_MAX = 4096 };

#define CODE "BRANCH_CHECKED_OUT"

/* ---- finding ---- */

/* Does a rebase in the worktree end by moving the ref? */
static bool is_rebased(const struct origin *origin, const char *tree, const char *branch_ref)
{
    static const char *const files[] = {"rebase-merge/head-name", "rebase-apply/head-name"};
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        CLEANUP(buf_release) struct buf name;
        const char *path = NULL;
        struct git_call ask = {
            .dir = tree,
            .args = GIT_ARGS("rev-parse", "--path-format=absolute", "--git-path", files[i])};
        buf_init(&name, HEAD_NAME_BYTES_MAX);
        if (git_line(origin->git, &ask, origin->arena, &path, NULL) == RC_OK &&
            file_read(path, &name, NULL) == RC_OK &&
            str_is((struct str){name.data, strcspn(buf_text(&name), "\n")}, branch_ref))
            return true;
    }
    return false;
}

/* One worktree of `git worktree list --porcelain`, up to its empty line. */
struct worktree {
    const char *path;
    bool shows; /* The branch. */
    bool detached, bare, gone;
};

static void read_attribute(struct worktree *worktree, const char *line, const char *branch_ref)
{
    if (text_starts(line, "branch "))
        worktree->shows = text_same(line + strlen("branch "), branch_ref);
    else if (text_same(line, "detached"))
        worktree->detached = true;
    else if (text_same(line, "bare"))
        worktree->bare = true;
    else if (text_starts(line, "prunable"))
        worktree->gone = true;
}

static bool holds(const struct origin *origin, const struct worktree *worktree,
                  const char *branch_ref, struct checked_out *found)
{
    if (worktree->path == NULL || worktree->bare || worktree->gone)
        return false;
    found->rebasing = !worktree->shows && worktree->detached &&
                      is_rebased(origin, worktree->path, branch_ref);
    if (worktree->shows || found->rebasing)
        found->tree = worktree->path;
    return found->tree != NULL;
}

enum rc checked_out_find(const struct origin *origin, const char *branch_ref,
                         struct checked_out *ret_found, struct err *err)
{
    CLEANUP(buf_release) struct buf out;
    buf_init(&out, TREES_BYTES_MAX);
    struct git_call list = {
        .git_dir = origin->dir, .args = GIT_ARGS("worktree", "list", "--porcelain"), .out = &out};
    enum rc rc = git_run(origin->git, &list, err);
    if (rc != RC_OK)
        return rc;
    struct checked_out found = {.tree = NULL};
    struct worktree worktree = {.path = NULL};
    struct str rest = buf_str(&out), line;
    while (found.tree == NULL && str_take_line(&rest, &line)) {
        const char *text = str_dup(origin->arena, line);
        if (text_starts(text, "worktree "))
            worktree = (struct worktree){.path = text + strlen("worktree ")};
        else if (line.len > 0)
            read_attribute(&worktree, text, branch_ref);
        else
            (void)holds(origin, &worktree, branch_ref, &found);
    }
    *ret_found = found;
    return RC_OK;
}

/* ---- may it be moved? ---- */

static const char *short_name(const char *branch_ref)
{
    static const char heads[] = "refs/heads/";
    return text_starts(branch_ref, heads) ? branch_ref + strlen(heads) : branch_ref;
}

/* further: what else could be done. */
static enum rc refuse(const struct checked_out_question *question, const struct checked_out *found,
                      const char *why, const char *further, struct err *err)
{
    return err_set(err, RC_CONFLICT, CODE,
                   "%.80s is checked out in %.120s%s. There: git merge %.40s; then merge it here "
                   "once more, which records that.%s",
                   short_name(question->branch_ref), found->tree, why, question->merged_ref,
                   further);
}

static bool allows_updates(const struct origin *origin)
{
    const char *value = NULL;
    struct git_call ask = {.git_dir = origin->dir,
                           .args = GIT_ARGS("config", "--get", "receive.denyCurrentBranch")};
    return git_line(origin->git, &ask, origin->arena, &value, NULL) == RC_OK &&
           strcasecmp(value, "updateInstead") == 0;
}

static bool is_ours(const char *tree)
{
    struct stat status;
    return stat(tree, &status) == 0 && status.st_uid == geteuid();
}

/* Exit status 0: no difference. */
static enum rc differs(const struct origin *origin, const char *tree, const char *const *args,
                       bool *ret_differs, struct err *err)
{
    int status = 0;
    struct git_call ask = {.dir = tree, .args = args};
    enum rc rc = git_ask(origin->git, &ask, &status, err);
    if (rc == RC_OK)
        *ret_differs = status != 0;
    return rc;
}

#define DIFF "diff", "--quiet", "--no-ext-diff", "--no-textconv", "--ignore-submodules"

/* Does the worktree show exactly HEAD, or exactly what it will show?  Untracked files do not
   count: git refuses to overwrite them. */
static enum rc find_changes(const struct origin *origin, const char *merged_tree,
                            struct checked_out *found, bool *ret_changed, struct err *err)
{
    bool edited = true, staged = true, others = true;
    const char *tree = found->tree;
    enum rc rc = differs(origin, tree, GIT_ARGS(DIFF), &edited, err);
    if (rc == RC_OK)
        rc = differs(origin, tree, GIT_ARGS(DIFF, "--cached", "HEAD"), &staged, err);
    if (rc == RC_OK && !edited && staged)
        rc = differs(origin, tree, GIT_ARGS(DIFF, "--cached", merged_tree), &others, err);
    if (rc != RC_OK)
        return rc;
    found->updated = !edited && staged && !others;
    *ret_changed = edited || (staged && others);
    return RC_OK;
}

enum rc checked_out_may_move(const struct origin *origin,
                             const struct checked_out_question *question, struct checked_out *found,
                             struct err *err)
{
    bool changed = false;
    if (found->rebasing)
        return refuse(question, found, ", where it is being rebased", "", err);
    if (!allows_updates(origin))
        return refuse(question, found, "",
                      " Or let drover update files that are not changed: git config "
                      "receive.denyCurrentBranch updateInstead",
                      err);
    if (!is_ours(found->tree))
        return refuse(question, found, ", which belongs to another user than drover's", "", err);
    enum rc rc = find_changes(origin, question->merged_tree, found, &changed, err);
    if (rc != RC_OK || !changed)
        return rc;
    return refuse(question, found, ", with changes that are not committed", "", err);
}

/* ---- moving ---- */

/* Of "!\tsrc:dst\t[remote rejected] (reason)" the reason that is about the files; NULL: a ref has
   another value than was expected, or is locked. */
static const char *reason_of(const struct buf *out, struct arena *arena)
{
    static const char sign[] = "[remote rejected] (";
    static const char *const of_refs[] = {"atomic", "lock", "fetch first", "stale info"};
    for (const char *at = buf_text(out); (at = strstr(at, sign)) != NULL;) {
        at += strlen(sign);
        const char *reason = arena_strndup(arena, at, strcspn(at, ")\n"));
        bool known = false;
        for (size_t i = 0; i < COUNT_OF(of_refs); i++)
            known = known || strstr(reason, of_refs[i]) != NULL;
        if (!known)
            return reason;
    }
    return NULL;
}

/* By its path: settings of the remote "origin" are the person's own. */
static const char *const *push_args(const struct origin *origin,
                                    const struct checked_out_move *move)
{
    static const char *const options[] = {"push",
                                          "--porcelain",
                                          "--atomic",
                                          "--no-verify",
                                          "--no-follow-tags",
                                          "--no-signed",
                                          "--recurse-submodules=no"};
    struct arena *arena = origin->arena;
    size_t count = move->further_count + 2, at = 0;
    struct checked_out_ref *refs = arena_array(arena, count, sizeof *refs);
    const char **args = arena_array(arena, COUNT_OF(options) + 2 * count + 4, sizeof *args);
    refs[0] = (struct checked_out_ref){move->branch_ref, move->branch};
    refs[1] = (struct checked_out_ref){move->fence_ref, move->fence};
    for (size_t i = 0; i < move->further_count; i++)
        refs[i + 2] = move->further[i];
    for (size_t i = 0; i < COUNT_OF(options); i++)
        args[at++] = options[i];
    args[at++] = origin_receive_pack(origin->dir);
    for (size_t i = 0; i < count; i++)
        args[at++] = arena_printf(arena, "--force-with-lease=%s:%s", refs[i].ref,
                                  refs[i].move.from);
    args[at++] = "--";
    args[at++] = origin->dir;
    for (size_t i = 0; i < count; i++)
        args[at++] = arena_printf(arena, "%s:%s", refs[i].move.to, refs[i].ref);
    return args;
}

enum rc checked_out_push(const struct origin *origin, const struct checked_out *found,
                         const struct checked_out_move *move, struct err *err)
{
    CLEANUP(buf_release) struct buf out;
    struct arena *arena = origin->arena;
    buf_init(&out, GIT_TEXT_MAX);
    origin_drop_stale_locks(origin, move->branch_ref);
    origin_drop_stale_locks(origin, move->fence_ref);
    enum rc rc = origin_sync(origin, err); /* What the refs will name: see origin.h. */
    if (rc != RC_OK)
        return rc;
    struct git_call push = {.git_dir = origin->dir, .args = push_args(origin, move), .out = &out};
    rc = git_run(origin->git, &push, err);
    const char *reason = rc == RC_IO ? reason_of(&out, arena) : NULL;
    if (reason != NULL)
        return err_set(err, RC_CONFLICT, CODE, "%.100s is checked out in %.200s: %.100s.",
                       short_name(move->branch_ref), found->tree, reason);
    return rc == RC_OK ? origin_sync(origin, err) : rc;
}
