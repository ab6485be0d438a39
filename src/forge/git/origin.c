#include "forge/git/origin.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/str.h"
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { LOCK_WAIT_MS = 30000, LOCK_STALE_SECONDS = 60 };

static const char *path_of(const char *url)
{
    return text_starts(url, "file://") ? url + strlen("file://") : url;
}

bool origin_is_here(const char *url)
{
    return path_of(url)[0] == '/';
}

static bool is_of_root(const char *path)
{
    static const char *const parts[] = {"",      "/config",      "/hooks",
                                        "/.git", "/.git/config", "/.git/hooks"};
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        char part[PATH_MAX];
        struct stat status;
        int len = snprintf(part, sizeof part, "%s%s", path, parts[i]);
        if (len < 0 || (size_t)len >= sizeof part)
            return false;
        if (stat(part, &status) == 0 && status.st_uid != 0)
            return false;
    }
    return true;
}

const char *origin_receive_pack(const char *url)
{
    bool trusted = geteuid() != 0 || is_of_root(path_of(url));
    return trusted ? "--receive-pack=git -c core.fsync=all receive-pack"
                   : "--receive-pack=git -c core.fsync=all -c core.hooksPath=/dev/null"
                     " receive-pack";
}

enum rc origin_open(struct origin *origin, const char *url, struct err *err)
{
    const char *path = path_of(url);
    if (!origin_is_here(url))
        return err_set(err, RC_INVALID, "NOT_LOCAL",
                       "The local forge needs the path of a repository on this machine.");
    /* Of a linked worktree the directory that all share: refs and locks are there. */
    struct git_call where = {
        .dir = path, .args = GIT_ARGS("rev-parse", "--path-format=absolute", "--git-common-dir")};
    enum rc rc = git_line(origin->git, &where, origin->arena, &origin->dir, err);
    /* A disk that is not mounted may be back later, as a host may. */
    return rc == RC_NOT_FOUND ? err_wrap(err, RC_UNREACHABLE, "the repository is away") : rc;
}

enum rc origin_ref(const struct origin *origin, const char *ref, const char **ret_hash,
                   struct err *err)
{
    CLEANUP(buf_release) struct buf out;
    buf_init(&out, GIT_TEXT_MAX);
    struct git_call call = {
        .git_dir = origin->dir,
        .args = GIT_ARGS("rev-parse", "--verify", "--quiet", "--end-of-options", ref),
        .out = &out};
    int status = 0;
    enum rc rc = git_ask(origin->git, &call, &status, err);
    if (rc != RC_OK)
        return rc;
    const char *text = buf_text(&out);
    *ret_hash = status == 0 ? arena_strndup(origin->arena, text, strcspn(text, "\n")) : NULL;
    return RC_OK;
}

enum rc origin_tree(const struct origin *origin, const char *commit, const char **ret_tree,
                    struct err *err)
{
    return origin_ref(origin, arena_printf(origin->arena, "%s^{tree}", commit), ret_tree, err);
}

enum rc origin_refs(const struct origin *origin, const char *const refs[ORIGIN_REFS_READ],
                    char ret_hashes[ORIGIN_REFS_READ][GIT_HASH_BYTES], struct err *err)
{
    CLEANUP(buf_release) struct buf out;
    buf_init(&out, GIT_TEXT_MAX);
    struct git_call list = {.git_dir = origin->dir,
                            .args = GIT_ARGS("for-each-ref", "--format=%(objectname) %(refname)",
                                             refs[0], refs[1], refs[2], refs[3]),
                            .out = &out};
    enum rc rc = git_run(origin->git, &list, err);
    if (rc != RC_OK)
        return rc;
    for (size_t i = 0; i < ORIGIN_REFS_READ; i++) {
        struct str rest = buf_str(&out), line;
        ret_hashes[i][0] = '\0';
        while (refs[i] != NULL && str_take_line(&rest, &line)) {
            const char *blank = memchr(line.at, ' ', line.len);
            size_t len = blank != NULL ? (size_t)(blank - line.at) : line.len;
            if (len < line.len && len < GIT_HASH_BYTES &&
                str_is((struct str){line.at + len + 1, line.len - len - 1}, refs[i]))
                text_copy(ret_hashes[i], len + 1, line.at);
        }
    }
    return RC_OK;
}

enum rc origin_lock(const struct origin *origin, const char *name, int *ret_fd, struct err *err)
{
    struct git patient = *origin->git;
    int64_t latest_us = clock_mono_us() + LOCK_WAIT_MS * US_PER_MS;
    if (patient.deadline_us == 0 || patient.deadline_us > latest_us)
        patient.deadline_us = latest_us;
    return git_lock(&patient, arena_printf(origin->arena, "%s/%s", origin->dir, name), ret_fd, err);
}

enum rc origin_sync(const struct origin *origin, struct err *err)
{
    return dir_sync_file_system(origin->dir, err);
}

/* A git that was killed, or whose machine lost power, leaves its lock files, and no other git ever
   removes them.  None holds one for as long as this. */
static void drop_if_stale(const char *path)
{
    struct stat status;
    if (lstat(path, &status) == 0 && S_ISREG(status.st_mode) &&
        time(NULL) - status.st_mtim.tv_sec > LOCK_STALE_SECONDS)
        (void)unlink(path);
}

void origin_drop_stale_locks(const struct origin *origin, const char *ref)
{
    drop_if_stale(arena_printf(origin->arena, "%s/%s.lock", origin->dir, ref));
    drop_if_stale(arena_printf(origin->arena, "%s/HEAD.lock", origin->dir));
    drop_if_stale(arena_printf(origin->arena, "%s/packed-refs.lock", origin->dir));
}

enum rc origin_take_objects(const struct origin *origin, const char *from, const char *commit,
                            const char *further, struct err *err)
{
    struct git_call fetch = {.git_dir = origin->dir,
                             .args = GIT_ARGS("fetch", "--quiet", "--no-tags",
                                              "--no-write-fetch-head", "--", from, commit, further),
                             .unchecked = true,
                             .durable = true};
    enum rc rc = git_run(origin->git, &fetch, err);
    return rc == RC_OK ? origin_sync(origin, err) : rc;
}

enum rc origin_move_ref(const struct origin *origin, const struct origin_move *move,
                        struct err *err)
{
    const char *seen = move->seen != NULL ? move->seen : "";
    struct git_call update = {.git_dir = origin->dir,
                              .args = move->to != NULL
                                          ? GIT_ARGS("update-ref", move->ref, move->to, seen)
                                          : GIT_ARGS("update-ref", "-d", move->ref, seen),
                              .durable = true};
    origin_drop_stale_locks(origin, move->ref);
    enum rc rc = move->to != NULL ? origin_sync(origin, err) : RC_OK;
    if (rc == RC_OK)
        rc = git_run(origin->git, &update, err);
    return rc == RC_OK ? origin_sync(origin, err) : rc;
}

enum rc origin_commit(const struct origin *origin, const struct origin_note *note,
                      const char **ret_hash, struct err *err)
{
    const char *tree = NULL;
    /* git mktree does not read core.fsync. */
    struct git_call empty = {.git_dir = origin->dir,
                             .args = GIT_ARGS("hash-object", "-t", "tree", "-w", "--stdin"),
                             .durable = true};
    enum rc rc = git_line(origin->git, &empty, origin->arena, &tree, err);
    if (rc != RC_OK)
        return rc;
    const char *const *env = git_author_env(note->time_us, origin->arena);
    const char *parent = note->parent != NULL ? "-p" : NULL;
    struct git_call commit = {
        .git_dir = origin->dir,
        .args = GIT_ARGS("commit-tree", tree, "-F", "-", parent, note->parent),
        .env = env,
        .input = str_of(note->message),
        .durable = true,
    };
    return git_line(origin->git, &commit, origin->arena, ret_hash, err);
}
