/*
 * origin.c - see origin.h.
 */
#include "forge/origin.h"
#include "base/clock.h"
#include <inttypes.h>
#include <string.h>

enum { LOCK_WAIT_MS = 30000 };

enum rc origin_open(struct origin *origin, const char *url, struct err *err)
{
    const char *path = text_starts(url, "file://") ? url + strlen("file://") : url;
    if (path[0] != '/')
        return err_set(err, RC_INVALID, "NOT_LOCAL",
                       "The local forge needs the path of a repository on this machine.");
    struct git_call where = {.dir = path, .args = GIT_ARGS("rev-parse", "--absolute-git-dir")};
    enum rc rc = git_line(origin->git, &where, origin->arena, &origin->dir, err);
    /* A disk that is not mounted comes back, as a host does. */
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
        while (refs[i] && str_take_line(&rest, &line)) {
            const char *blank = memchr(line.at, ' ', line.len);
            size_t len = blank ? (size_t)(blank - line.at) : line.len;
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

enum rc origin_commit(const struct origin *origin, const struct origin_note *note,
                      const char **ret_hash, struct err *err)
{
    const char *tree = NULL;
    struct git_call empty = {.git_dir = origin->dir, .args = GIT_ARGS("mktree")};
    enum rc rc = git_line(origin->git, &empty, origin->arena, &tree, err);
    if (rc != RC_OK)
        return rc;
    int64_t seconds = note->time_us / US_PER_SECOND;
    const char *env[] = {
        "GIT_AUTHOR_NAME=drover",
        "GIT_AUTHOR_EMAIL=drover@localhost",
        "GIT_COMMITTER_NAME=drover",
        "GIT_COMMITTER_EMAIL=drover@localhost",
        arena_printf(origin->arena, "GIT_AUTHOR_DATE=@%" PRId64 " +0000", seconds),
        arena_printf(origin->arena, "GIT_COMMITTER_DATE=@%" PRId64 " +0000", seconds),
        NULL,
    };
    const char *parent = note->parent ? "-p" : NULL;
    struct git_call commit = {
        .git_dir = origin->dir,
        .args = GIT_ARGS("commit-tree", tree, "-F", "-", parent, note->parent),
        .env = env,
        .input = str_of(note->message),
    };
    return git_line(origin->git, &commit, origin->arena, ret_hash, err);
}
