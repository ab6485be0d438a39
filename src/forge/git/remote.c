#include "forge/git/remote.h"
#include "base/fd.h"
#include "base/random.h"
#include "forge/git/origin.h"
#include <assert.h>
#include <inttypes.h>
#include <string.h>

enum { LINES_BYTES_MAX = 4 * 1024 * 1024, PUSH_ARGS_MAX = 5 + 2 * REMOTE_REFS_MAX + 1 };

/* Where what was fetched is named, in our own repository. */
#define SEEN_REF  "refs/seen/one"
#define SEEN_REFS "refs/seen/all/"

enum rc remote_make(struct remote *remote, struct err *err)
{
    struct random random = random_from_os();
    const char *home = remote->git->home != NULL ? remote->git->home : "/tmp";
    const char *dir = arena_printf(remote->arena, "%s/remote-%016" PRIx64 ".git", home,
                                   random_next(&random));
    struct git_call init = {
        .args = GIT_ARGS("init", "--quiet", "--bare", "--template=", "--", dir)};
    enum rc rc = git_run(remote->git, &init, err);
    if (rc != RC_OK)
        return rc;
    remote->dir = dir;
    remote->shallow = true;
    return RC_OK;
}

void remote_drop(struct remote *remote)
{
    if (remote->dir != NULL && remote->shallow)
        (void)!dir_remove(remote->dir, NULL);
}

/* ---- reading ---- */

static void note_line(struct str line, const char *const *names, size_t count,
                      char (*hashes)[GIT_HASH_BYTES])
{
    const char *tab = memchr(line.at, '\t', line.len);
    if (tab == NULL || (size_t)(tab - line.at) >= GIT_HASH_BYTES)
        return;
    struct str hash = {line.at, (size_t)(tab - line.at)};
    struct str name = {tab + 1, line.len - hash.len - 1};
    for (size_t i = 0; i < count; i++) {
        if (!str_is(name, names[i]))
            continue;
        memcpy(hashes[i], hash.at, hash.len);
        hashes[i][hash.len] = '\0';
    }
}

enum rc remote_refs(const struct remote *remote, const char *const *names, size_t count,
                    char (*ret_hashes)[GIT_HASH_BYTES], struct err *err)
{
    assert(count >= 1 && count <= REMOTE_REFS_MAX);
    const char *args[4 + REMOTE_REFS_MAX + 1] = {"ls-remote", "--quiet", "--refs", "origin"};
    CLEANUP(buf_release) struct buf out;
    buf_init(&out, LINES_BYTES_MAX);
    for (size_t i = 0; i < count; i++) {
        args[4 + i] = names[i];
        ret_hashes[i][0] = '\0';
    }
    struct git_call list = {
        .git_dir = remote->dir, .args = args, .origin = remote->url, .out = &out};
    enum rc rc = git_run(remote->git, &list, err);
    struct str rest = buf_str(&out), line;
    while (rc == RC_OK && str_take_line(&rest, &line))
        note_line(line, names, count, ret_hashes);
    return rc;
}

static enum rc fetch(const struct remote *remote, const char *refspec, struct err *err)
{
    struct git_call call = {
        .git_dir = remote->dir,
        .args = GIT_ARGS("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--prune",
                         remote->shallow ? "--depth=1" : "--no-show-forced-updates", "origin",
                         refspec),
        .origin = remote->url};
    return git_run(remote->git, &call, err);
}

/* "<hash> <tree> <ref> <run id>"; the last is empty where the commit names none. */
static bool read_line(const struct remote *remote, struct str line, struct remote_ref *ret)
{
    char *rest = str_dup(remote->arena, line);
    const char *hash = strsep(&rest, " "), *tree = strsep(&rest, " "), *name = strsep(&rest, " ");
    if (!git_hash_valid(hash) || !git_hash_valid(tree) || name == NULL)
        return false;
    *ret = (struct remote_ref){.name = name, .commit = {.run_id = text_empty(rest) ? NULL : rest}};
    text_copy(ret->commit.hash, sizeof ret->commit.hash, hash);
    text_copy(ret->commit.tree, sizeof ret->commit.tree, tree);
    return true;
}

static enum rc list_seen(const struct remote *remote, const char *refs, struct buf *out,
                         struct err *err)
{
    struct git_call list = {.git_dir = remote->dir,
                            .args = GIT_ARGS("for-each-ref",
                                             "--format=%(objectname) %(tree) %(refname) " //
                                             ORIGIN_RUN_OF_COMMIT,
                                             refs),
                            .out = out};
    return git_run(remote->git, &list, err);
}

enum rc remote_look(const struct remote *remote, const char *ref, struct remote_commit *ret_commit,
                    struct err *err)
{
    CLEANUP(buf_release) struct buf out;
    buf_init(&out, GIT_TEXT_MAX);
    enum rc rc = fetch(remote, arena_printf(remote->arena, "+%s:" SEEN_REF, ref), err);
    if (rc == RC_OK)
        rc = list_seen(remote, SEEN_REF, &out, err);
    if (rc != RC_OK)
        return rc;
    struct str rest = buf_str(&out), line;
    struct remote_ref found;
    if (!str_take_line(&rest, &line) || !read_line(remote, line, &found))
        return err_set(err, RC_IO, "GIT_FAILED", "what %.200s points at is no commit", ref);
    *ret_commit = found.commit;
    return RC_OK;
}

enum rc remote_look_all(const struct remote *remote, const char *prefix, size_t max,
                        struct remote_ref **ret_refs, size_t *ret_count, struct err *err)
{
    CLEANUP(buf_release) struct buf out;
    buf_init(&out, LINES_BYTES_MAX);
    enum rc rc = fetch(remote, arena_printf(remote->arena, "+%s*:" SEEN_REFS "*", prefix), err);
    if (rc == RC_OK)
        rc = list_seen(remote, SEEN_REFS, &out, err);
    if (rc != RC_OK)
        return rc;
    struct remote_ref *refs = arena_array(remote->arena, max, sizeof *refs);
    struct str rest = buf_str(&out), line;
    size_t count = 0;
    while (count < max && str_take_line(&rest, &line)) {
        if (!read_line(remote, line, &refs[count]))
            continue;
        refs[count].name = arena_printf(remote->arena, "%s%s", prefix,
                                        refs[count].name + strlen(SEEN_REFS));
        count++;
    }
    *ret_refs = refs;
    *ret_count = count;
    return RC_OK;
}

/* ---- writing ---- */

enum rc remote_push(const struct remote *remote, const struct remote_move *moves, size_t count,
                    struct err *err)
{
    assert(count >= 1 && count <= REMOTE_REFS_MAX);
    const char *args[PUSH_ARGS_MAX] = {"push", "--porcelain", "--atomic", "--no-progress"};
    size_t at = 4;
    for (size_t i = 0; i < count; i++)
        args[at++] = arena_printf(remote->arena, "--force-with-lease=%s:%s", moves[i].ref,
                                  moves[i].move.from);
    args[at++] = "origin";
    for (size_t i = 0; i < count; i++)
        args[at++] = arena_printf(remote->arena, "%s:%s", moves[i].move.to, moves[i].ref);
    struct git_call push = {.git_dir = remote->dir, .args = args, .origin = remote->url};
    return git_run(remote->git, &push, err);
}
