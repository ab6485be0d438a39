#include "work/tree/tree_merge.h"
#include <string.h>

enum { LIST_BYTES_MAX = 64 * 1024, MESSAGE_BYTES_MAX = 256 * 1024, NAMES_TOLD_MAX = 2000 };

#define DROVER_NAMES                                                                            \
    "GIT_AUTHOR_NAME=drover", "GIT_AUTHOR_EMAIL=drover@localhost", "GIT_COMMITTER_NAME=drover", \
        "GIT_COMMITTER_EMAIL=drover@localhost"

/* ---- one merge ---- */

/* The tree of both; *ret_conflicts: names, or NULL. */
static enum rc merge_trees(struct step *step, const char *dir, const char *ours, const char *theirs,
                           const char **ret_tree, const char **ret_conflicts, struct err *err)
{
    CLEANUP(buf_release) struct buf out;
    buf_init(&out, LIST_BYTES_MAX);
    struct git git = step_git(step);
    struct git_call call = {.git_dir = dir,
                            .args = GIT_ARGS("merge-tree", "--write-tree", "--name-only",
                                             "--no-messages", ours, theirs),
                            .out = &out};
    int status = 0;
    enum rc rc = git_ask(&git, &call, &status, err);
    if (rc != RC_OK)
        return rc;
    const char *text = buf_text(&out);
    size_t len = strcspn(text, "\n");
    *ret_tree = arena_strndup(step->arena, text, len);
    *ret_conflicts = NULL;
    if (status == 0)
        return RC_OK;
    const char *names = text + len + (text[len] == '\n');
    char *list = arena_strndup(step->arena, names, strnlen(names, NAMES_TOLD_MAX));
    for (char *at = list; *at; at++)
        *at = *at == '\n' ? ' ' : *at;
    git_clean(list);
    *ret_conflicts = list;
    return RC_OK;
}

enum rc tree_merge(struct step *step, const struct tree_merge *merge, const char **ret_commit,
                   const char **ret_conflicts, struct err *err)
{
    static const char *const env[] = {DROVER_NAMES, "GIT_AUTHOR_DATE=@0 +0000",
                                      "GIT_COMMITTER_DATE=@0 +0000", NULL};
    struct git git = step_git(step);
    const char *tree = NULL, *conflicts = NULL;
    enum rc rc = merge_trees(step, merge->dir, merge->head, merge->with, &tree, &conflicts, err);
    if (rc != RC_OK)
        return rc;
    struct git_call commit = {
        .git_dir = merge->dir,
        .args = GIT_ARGS("commit-tree", tree, "-p", merge->head, "-p", merge->with, "-F", "-"),
        .env = env,
        .input = str_of(arena_printf(step->arena, "Merge %.12s\n", merge->with))};
    rc = git_line(&git, &commit, step->arena, ret_commit, err);
    if (rc == RC_OK && ret_conflicts != NULL)
        *ret_conflicts = conflicts;
    return rc;
}

/* ---- a rebase ---- */

static enum rc list_commits(struct step *step, const struct tree_rebase *rebase, const char *option,
                            struct buf *out, struct err *err)
{
    struct git git = step_git(step);
    buf_init(out, LIST_BYTES_MAX);
    struct git_call list = {
        .git_dir = rebase->dir,
        .args = GIT_ARGS("rev-list", "--reverse", "--topo-order", option,
                         arena_printf(step->arena, "%s..%s", rebase->onto, rebase->head)),
        .out = out};
    return git_run(&git, &list, err);
}

/* Author, date and message of a commit, for its copy. */
struct copied {
    const char *env[7];
    struct str message;
};

static enum rc read_commit(struct step *step, const char *dir, const char *commit,
                           struct copied *ret, struct err *err)
{
    CLEANUP(buf_release) struct buf out;
    buf_init(&out, MESSAGE_BYTES_MAX);
    struct git git = step_git(step);
    struct git_call show = {.git_dir = dir,
                            .args = GIT_ARGS("log", "-1", "--no-show-signature",
                                             "--format=%an%n%ae%n%at%n%B", commit, "--"),
                            .out = &out};
    struct str rest, name, email, date;
    enum rc rc = git_run(&git, &show, err);
    rest = buf_str(&out);
    if (rc != RC_OK)
        return rc;
    if (!str_take_line(&rest, &name) || !str_take_line(&rest, &email) ||
        !str_take_line(&rest, &date))
        return err_set(err, RC_CORRUPT, "GIT_FAILED", "git does not show commit %.12s", commit);
    struct arena *arena = step->arena;
    *ret = (struct copied){
        .env = {arena_printf(arena, "GIT_AUTHOR_NAME=%s", str_dup(arena, name)),
                arena_printf(arena, "GIT_AUTHOR_EMAIL=%s", str_dup(arena, email)),
                arena_printf(arena, "GIT_AUTHOR_DATE=@%s +0000", str_dup(arena, date)),
                "GIT_COMMITTER_NAME=drover", "GIT_COMMITTER_EMAIL=drover@localhost",
                arena_printf(arena, "GIT_COMMITTER_DATE=@%s +0000", str_dup(arena, date)), NULL},
        .message = {arena_strndup(arena, rest.at, rest.len), rest.len},
    };
    return RC_OK;
}

static enum rc tree_of(struct step *step, const char *dir, const char *commit,
                       const char **ret_tree, struct err *err)
{
    struct git git = step_git(step);
    struct git_call ask = {.git_dir = dir,
                           .args = GIT_ARGS("rev-parse", "--verify", "--quiet", "--end-of-options",
                                            arena_printf(step->arena, "%s^{tree}", commit))};
    return git_line(&git, &ask, step->arena, ret_tree, err);
}

/*
 * One commit onto *tip.  merge-tree takes the merge base from history, so the tip's files are given
 * a commit whose parent is that of the commit which is copied.
 */
static enum rc pick(struct step *step, const char *dir, const char *commit, const char **tip,
                    const char **ret_conflicts, struct err *err)
{
    static const char *const env[] = {DROVER_NAMES, "GIT_AUTHOR_DATE=@0 +0000",
                                      "GIT_COMMITTER_DATE=@0 +0000", NULL};
    struct git git = step_git(step);
    const char *before = NULL, *stand_in = NULL, *tree = NULL;
    struct copied copied;
    enum rc rc = tree_of(step, dir, *tip, &before, err);
    struct git_call make = {.git_dir = dir,
                            .args = GIT_ARGS("commit-tree", before, "-p",
                                             arena_printf(step->arena, "%s^", commit), "-m", "x"),
                            .env = env};
    if (rc == RC_OK)
        rc = git_line(&git, &make, step->arena, &stand_in, err);
    if (rc == RC_OK)
        rc = merge_trees(step, dir, stand_in, commit, &tree, ret_conflicts, err);
    if (rc != RC_OK || *ret_conflicts != NULL || text_same(tree, before))
        return rc; /* The same files: the target has this commit already. */
    rc = read_commit(step, dir, commit, &copied, err);
    struct git_call write = {.git_dir = dir,
                             .args = GIT_ARGS("commit-tree", tree, "-p", *tip, "-F", "-"),
                             .env = copied.env,
                             .input = copied.message};
    return rc == RC_OK ? git_line(&git, &write, step->arena, tip, err) : rc;
}

static enum rc merge_instead(struct step *step, const struct tree_rebase *rebase,
                             struct tree_rebased *ret, struct err *err)
{
    const struct tree_merge merge = {rebase->dir, rebase->head, rebase->onto};
    const char *commit = NULL, *conflicts = NULL;
    enum rc rc = tree_merge(step, &merge, &commit, &conflicts, err);
    *ret = (struct tree_rebased){.head = conflicts == NULL ? commit : NULL, .conflicts = conflicts};
    return rc;
}

enum rc tree_rebase(struct step *step, const struct tree_rebase *rebase, struct tree_rebased *ret,
                    struct err *err)
{
    CLEANUP(buf_release) struct buf merges = {0};
    CLEANUP(buf_release) struct buf commits = {0};
    const char *tip = rebase->onto, *conflicts = NULL;
    enum rc rc = list_commits(step, rebase, "--merges", &merges, err);
    if (rc == RC_OK)
        rc = list_commits(step, rebase, "--no-merges", &commits, err);
    if (rc != RC_OK)
        return rc;
    struct str rest = buf_str(&commits), line;
    size_t count = 0;
    while (str_take_line(&rest, &line))
        count++;
    if (merges.len > 0 || commits.overflow || count > REBASE_COMMITS_MAX)
        return merge_instead(step, rebase, ret, err);
    rest = buf_str(&commits);
    while (rc == RC_OK && conflicts == NULL && str_take_line(&rest, &line)) {
        const char *commit = str_dup(step->arena, line);
        rc = pick(step, rebase->dir, commit, &tip, &conflicts, err);
        if (conflicts != NULL)
            conflicts = arena_printf(step->arena, "commit %.12s in %s", commit, conflicts);
    }
    *ret = (struct tree_rebased){.head = conflicts == NULL ? tip : NULL,
                                 .conflicts = conflicts,
                                 .empty = conflicts == NULL && text_same(tip, rebase->onto)};
    return rc;
}
