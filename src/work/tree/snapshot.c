/*
 * snapshot.c - see snapshot.h.
 *
 *     sandbox:   tree -> objects in the git directory of treegit.h -> pack on stdout
 *     outside:   pack -> git index-pack --strict into RUN/<name>.intake -> commit
 *                -> snapshot repository
 *
 * The file of the pack has no name, and the sandbox cannot reach the .intake repository.
 */
#include "work/tree/snapshot.h"
#include "base/fd.h"
#include "forge/forges.h"
#include "forge/git/origin.h"
#include "forge/git/pack.h"
#include "work/tree/collect.h"
#include "work/tree/mirror.h"
#include "work/tree/worktree.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SCRATCH_REF "refs/heads/snapshot"

enum { LIST_BYTES_MAX = 4 * 1024 * 1024, COUNT_BYTES_MAX = 4096 };

/* ---- the snapshot repository ---- */

static enum rc lock_repository(struct step *step, int *ret_fd, struct err *err)
{
    struct git git = step_git(step);
    const char *path = arena_printf(step->arena, "%s.lock", mirror_snapshots(step));
    return git_lock(&git, path, ret_fd, err);
}

/* Complete before it gets its name: a worker that is killed here leaves no half of one. */
static enum rc make_repository(struct step *step, struct err *err)
{
    const char *path = mirror_snapshots(step);
    const char *fresh = arena_printf(step->arena, "%s.new", path);
    CLEANUP(fd_closep) int lock = -1;
    if (mirror_has_snapshots(step))
        return RC_OK;
    enum rc rc = lock_repository(step, &lock, err);
    if (rc != RC_OK || mirror_has_snapshots(step))
        return rc;
    rc = dir_remove(fresh, err);
    if (rc == RC_OK)
        rc = dir_make(fresh, 0700, err);
    if (rc == RC_OK)
        rc = git_borrow(step->mirror, fresh, err);
    if (rc == RC_OK)
        rc = dir_sync_file_system(fresh, err);
    if (rc == RC_OK && rename(fresh, path) != 0)
        rc = err_set(err, RC_IO, "IO_ERROR", "cannot make %.300s: %s", path, strerror(errno));
    return rc == RC_OK
               ? dir_sync(arena_printf(step->arena, "%s/mirrors", step->site->work_dir), err)
               : rc;
}

/* ---- refs ---- */

static const char *refs_of(const struct step *step)
{
    return arena_printf(step->arena, SNAPSHOT_REFS "%s/", step->input.run_id.text);
}

/* "<attempt>-<n>", the last part of a ref. */
static bool parse_name(const char *name, struct snapshot *snapshot)
{
    char *end = NULL;
    snapshot->attempt = strtoll(name, &end, 10);
    if (end == name || *end != '-')
        return false;
    const char *number = end + 1;
    snapshot->number = strtoll(number, &end, 10);
    return end != number && *end == '\0' && snapshot->attempt > 0 && snapshot->number > 0;
}

/* One line of for-each-ref: the ref, its commit and that one's tree. */
static bool parse_line(const char *line, const char *prefix, struct snapshot *ret)
{
    struct snapshot found = {0};
    if (sscanf(line, "%159s %64s %64s", found.ref, found.commit, found.tree) != 3 ||
        !text_starts(found.ref, prefix) || !git_hash_valid(found.commit) ||
        !git_hash_valid(found.tree) || !parse_name(found.ref + strlen(prefix), &found))
        return false;
    *ret = found;
    return true;
}

static bool is_later(const struct snapshot *one, const struct snapshot *other)
{
    return one->attempt != other->attempt ? one->attempt > other->attempt
                                          : one->number > other->number;
}

static enum rc base_as_snapshot(struct step *step, const char *base, struct snapshot *ret,
                                struct err *err)
{
    struct git git = step_git(step);
    const char *tree = NULL;
    const char *object = arena_printf(step->arena, "%s^{tree}", base);
    struct git_call ask = {.git_dir = step->mirror,
                           .args = GIT_ARGS("rev-parse", "--verify", "--end-of-options", object)};
    enum rc rc = git_line(&git, &ask, step->arena, &tree, err);
    if (rc != RC_OK)
        return rc;
    *ret = (struct snapshot){0};
    text_copy(ret->commit, sizeof ret->commit, base);
    text_copy(ret->tree, sizeof ret->tree, tree);
    return RC_OK;
}

enum rc snapshot_find_last(struct step *step, const char *base, struct snapshot *ret_last,
                           struct err *err)
{
    struct git git = step_git(step);
    const char *prefix = refs_of(step);
    CLEANUP(buf_release) struct buf out;
    buf_init(&out, LIST_BYTES_MAX);
    if (!mirror_has_snapshots(step))
        return base_as_snapshot(step, base, ret_last, err);
    struct git_call list = {
        .git_dir = mirror_snapshots(step),
        .args = GIT_ARGS("for-each-ref", "--format=%(refname) %(objectname) %(tree)", prefix),
        .out = &out};
    enum rc rc = git_run(&git, &list, err);
    if (rc != RC_OK)
        return rc;
    struct snapshot last = {0};
    const char *next = buf_text(&out);
    while (*next) {
        size_t len = strcspn(next, "\n");
        struct snapshot found;
        if (parse_line(arena_strndup(step->arena, next, len), prefix, &found) &&
            is_later(&found, &last))
            last = found;
        next += len + (next[len] == '\n');
    }
    if (last.ref[0] == '\0')
        return base_as_snapshot(step, base, ret_last, err);
    *ret_last = last;
    return RC_OK;
}

/* ---- taking one ---- */

struct treegit snapshot_treegit(struct step *step, const char *name, const char *base)
{
    struct treegit treegit = treegit_at(step, name, base);
    treegit.file_bytes_max = (int64_t)SNAPSHOT_KIB_MAX * 1024;
    return treegit;
}

/* The sandbox cannot reach the snapshot repository: of that it gets a copy of the run's last. */
enum rc snapshot_open(const struct treegit *treegit, const struct snapshot *last, struct err *err)
{
    struct treegit_source source = {.tree = last->tree};
    if (last->ref[0]) {
        source.repository = mirror_snapshots(treegit->step);
        source.ref = last->ref;
    }
    return treegit_open(treegit, &source, err);
}

/* Outside the sandbox, in a repository that it cannot reach: date, author and parent are ours. */
static enum rc make_commit(struct step *step, const char *git_dir, const char *parent,
                           struct snapshot *snapshot, struct err *err)
{
    struct git git = step_git(step);
    const char *message = arena_printf(
        step->arena, "Snapshot %" PRId64 " of attempt %" PRId64 "\n\nDrover-Run: %s\n%s%s",
        snapshot->number, snapshot->attempt, step->input.run_id.text,
        step->input.repository != NULL ? SNAPSHOT_REPOSITORY_KEY ": " : "",
        step->input.repository != NULL ? step->input.repository : "");
    const char *commit = NULL;
    struct git_call make = {
        .git_dir = git_dir,
        .args = GIT_ARGS("commit-tree", snapshot->tree, "-p", parent, "-m", message)};
    enum rc rc = git_line(&git, &make, step->arena, &commit, err);
    if (rc == RC_OK && !git_hash_valid(commit))
        rc = err_set(err, RC_IO, "GIT_FAILED", "git commit-tree gave no hash");
    if (rc != RC_OK)
        return rc;
    text_copy(snapshot->commit, sizeof snapshot->commit, commit);
    struct git_call point = {.git_dir = git_dir,
                             .args = GIT_ARGS("update-ref", SCRATCH_REF, commit)};
    return git_run(&git, &point, err);
}

/* Once more without the locks that a killed git has left: the caller holds our own. */
static enum rc run_locked(struct step *step, const struct git_call *call, struct err *err)
{
    struct git git = step_git(step);
    enum rc rc = git_run(&git, call, err);
    if (rc != RC_IO)
        return rc;
    mirror_drop_locks(step, call->git_dir);
    return git_run(&git, call, err);
}

/* First the objects, then the ref, each on the disk before the next: afterwards the tree may go. */
static enum rc fetch_from(struct step *step, const char *git_dir, const struct snapshot *snapshot,
                          struct err *err)
{
    const char *repository = mirror_snapshots(step);
    CLEANUP(fd_closep) int lock = -1;
    enum rc rc = lock_repository(step, &lock, err);
    if (rc != RC_OK)
        return rc;
    struct git_call objects = {.git_dir = repository,
                               .args = GIT_ARGS("fetch", "--quiet", "--no-tags",
                                                "--no-write-fetch-head", "--", git_dir,
                                                SCRATCH_REF),
                               .durable = true};
    struct git_call point = {.git_dir = repository,
                             .args = GIT_ARGS("update-ref", snapshot->ref, snapshot->commit, ""),
                             .durable = true};
    rc = run_locked(step, &objects, err);
    if (rc == RC_OK)
        rc = dir_sync_file_system(repository, err);
    if (rc == RC_OK)
        rc = run_locked(step, &point, err);
    return rc == RC_OK ? dir_sync_file_system(repository, err) : rc;
}

static enum rc take_pack(const struct treegit *treegit, int fd, const char *intake,
                         const char *parent, struct snapshot *next, struct err *err)
{
    struct step *step = treegit->step;
    struct git git = step_git(step);
    const struct pack pack = {
        .fd = fd,
        .lender = mirror_snapshots(step),
        .dir = intake,
        .tip = next->tree,
        .known = parent,
        .limits = {.bytes = (int64_t)SNAPSHOT_KIB_MAX * 1024,
                   .objects = SNAPSHOT_OBJECTS_MAX,
                   .object_bytes = (int64_t)SNAPSHOT_KIB_MAX * 1024,
                   .unpacked_bytes = (int64_t)SNAPSHOT_KIB_MAX * 1024 * SNAPSHOT_UNPACKED}};
    enum rc rc = pack_take(&git, &pack, err);
    if (rc == RC_OK)
        rc = make_commit(step, intake, parent, next, err);
    return rc == RC_OK ? fetch_from(step, intake, next, err) : rc;
}

static enum rc bring_home(const struct treegit *treegit, const struct snapshot *last,
                          struct snapshot *next, struct err *err)
{
    struct arena *arena = treegit->step->arena;
    const char *path = arena_printf(arena, "%s.pack", treegit->git_dir);
    const char *intake = arena_printf(arena, "%s.intake", treegit->git_dir);
    (void)unlink(path);
    CLEANUP(fd_closep) int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return err_set(err, RC_IO, "IO_ERROR", "cannot make %.300s: %s", path, strerror(errno));
    (void)unlink(path); /* Reached by its descriptor only. */
    struct stat status = {0};
    struct treegit_pack pack = {.tip = next->tree,
                                .known = last->tree,
                                .fd = fd,
                                .bytes_max = (SNAPSHOT_KIB_MAX - last->kib) * 1024};
    enum rc rc = make_repository(treegit->step, err);
    if (rc == RC_OK)
        rc = treegit_pack(treegit, &pack, err);
    if (rc == RC_OK && fstat(fd, &status) == 0)
        rc = take_pack(treegit, fd, intake, last->commit, next, err);
    next->kib = last->kib + (int64_t)status.st_size / 1024;
    worktree_drop(treegit->step, intake);
    return rc;
}

enum rc snapshot_take(const struct treegit *treegit, struct snapshot *last,
                      struct snapshot_news *ret_news, struct err *err)
{
    struct step *step = treegit->step;
    struct treegit_state state = {0};
    *ret_news = (struct snapshot_news){.nested = ""};
    enum rc rc = treegit_take(treegit, &state, err);
    if (rc != RC_OK)
        return rc;
    ret_news->nested = state.nested;
    if (text_same(state.hash, last->tree))
        return RC_OK;
    int64_t attempt = step->input.attempt > last->attempt ? step->input.attempt : last->attempt;
    struct snapshot next = {
        .attempt = attempt,
        .number = attempt == last->attempt ? last->number + 1 : 1,
        .files = state.files,
    };
    text_copy(next.tree, sizeof next.tree, state.hash);
    (void)snprintf(next.ref, sizeof next.ref, "%s%" PRId64 "-%" PRId64, refs_of(step), next.attempt,
                   next.number);
    rc = bring_home(treegit, last, &next, err);
    if (rc != RC_OK)
        return rc;
    *last = next;
    ret_news->fresh = true;
    return RC_OK;
}

void snapshot_write(struct buf *data, const struct step *step, const struct snapshot *snapshot,
                    const char *reason)
{
    struct jw jw = jw_to(data);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "ref", snapshot->ref);
    jw_kstr(&jw, "commit", snapshot->commit);
    jw_kint(&jw, "files", snapshot->files);
    jw_kint(&jw, "attempt", snapshot->attempt);
    jw_kstr(&jw, "reason", reason);
    jw_kstr(&jw, "worker", step->site->worker);
    jw_kstr(&jw, "mirror", mirror_snapshots(step));
    jw_end(&jw, '}');
}

/* ---- the origin ---- */

static enum rc push_as(struct step *step, const struct snapshot *snapshot, const char *ref,
                       bool *ret_news, struct err *err)
{
    struct git git = step_git(step);
    CLEANUP(buf_release) struct buf out;
    buf_init(&out, COUNT_BYTES_MAX);
    const char *refspec = arena_printf(step->arena, "%s:%s", snapshot->commit, ref);
    /* The name must be free, or have this very commit: no snapshot of another worker is moved. */
    const char *unused = arena_printf(step->arena, "--force-with-lease=%s:", ref);
    struct origin origin = {.git = &git, .arena = step->arena};
    struct git_call push = {.git_dir = mirror_snapshots(step),
                            .args = GIT_ARGS("push", "--porcelain",
                                             origin_receive_pack(step->input.config.url), unused,
                                             "origin", refspec),
                            .origin = step->input.config.url,
                            .out = &out};
    enum rc rc = origin_open(&origin, step->input.config.url, err);
    if (rc == RC_OK)
        rc = origin_take_objects(&origin, mirror_snapshots(step), snapshot->commit, NULL, err);
    if (rc == RC_OK) {
        origin_drop_stale_locks(&origin, ref);
        rc = git_run(&git, &push, err);
    }
    if (rc == RC_OK)
        rc = origin_sync(&origin, err);
    /* "=\t<from>:<to>\t[up to date]", or "*" for a new one. */
    *ret_news = rc == RC_OK && strchr(buf_text(&out), '*') != NULL;
    return rc;
}

/* What holds a secret stays on this machine, in the snapshot repository. */
static enum rc may_push(struct step *step, const struct snapshot *snapshot, bool *ret_may,
                        struct err *err)
{
    if (step->input.base_commit == NULL) {
        *ret_may = false; /* Nothing was prepared: there is nothing to compare it with. */
        return RC_OK;
    }
    struct step reader = *step; /* Reads both commits where the snapshot is. */
    reader.mirror = mirror_snapshots(step);
    return collect_may_show(&reader, step->input.base_commit, snapshot->commit, ret_may, err);
}

enum rc snapshot_push(struct step *step, const struct snapshot *snapshot, const char **ret_ref,
                      bool *ret_new, struct err *err)
{
    *ret_new = false;
    *ret_ref = NULL;
    const struct forge_ops *forge = forge_find(step->input.config.forge);
    if (forge == NULL || !forge->takes_snapshots || snapshot->ref[0] == '\0')
        return RC_OK;
    bool may_show = false;
    enum rc rc = may_push(step, snapshot, &may_show, err);
    if (rc != RC_OK || !may_show)
        return rc;
    const char *ref = arena_strdup(step->arena, snapshot->ref);
    rc = push_as(step, snapshot, ref, ret_new, err);
    if (rc == RC_IO) { /* Another worker has that name for its own. */
        ref = arena_printf(step->arena, "%s-%.8s", snapshot->ref, snapshot->commit);
        rc = push_as(step, snapshot, ref, ret_new, err);
    }
    if (rc == RC_OK)
        *ret_ref = ref;
    return rc;
}

bool snapshot_any(const struct step *step)
{
    const char *repository = mirror_snapshots(step);
    return file_exists(arena_printf(step->arena, "%s/%s", repository, refs_of(step)));
}

enum rc snapshot_drop_all(struct step *step, struct err *err)
{
    struct git git = step_git(step);
    CLEANUP(buf_release) struct buf orders;
    buf_init(&orders, LIST_BYTES_MAX);
    const char *published = arena_printf(step->arena, PUBLISHED_REFS "%s/",
                                         step->input.run_id.text);
    if (!mirror_has_snapshots(step))
        return RC_OK;
    struct git_call list = {
        .git_dir = mirror_snapshots(step),
        .args = GIT_ARGS("for-each-ref", "--format=delete %(refname)", refs_of(step), published),
        .out = &orders};
    enum rc rc = git_run(&git, &list, err);
    if (rc != RC_OK || orders.len == 0)
        return rc;
    CLEANUP(fd_closep) int lock = -1;
    rc = lock_repository(step, &lock, err);
    if (rc != RC_OK)
        return rc;
    struct git_call drop = {.git_dir = mirror_snapshots(step),
                            .args = GIT_ARGS("update-ref", "--no-deref", "--stdin"),
                            .input = buf_str(&orders)};
    return git_run(&git, &drop, err);
}
