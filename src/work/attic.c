/*
 * attic.c - see attic.h.
 *
 * The age of a file is that of its last change of status: an agent can write whatever time it likes
 * into its tree, but not that one.
 */
#include "work/attic.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/id.h"
#include "base/log.h"
#include "work/snapshot.h"
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Of one mirror in one go; the rest goes the next time. */
#define COUNT_OPTION "--count=10000"
enum { REFS_BYTES_MAX = 4 * 1024 * 1024, MIRROR_MS = 5 * 60 * 1000 };

static bool is_over(const struct attic *attic, int64_t begin_us)
{
    return attic->now_us - begin_us > attic->keep_us;
}

/* Calls visit for every entry of work_dir/name. */
static void each_entry(const struct attic *attic, const char *name,
                       void (*visit)(const struct attic *attic, const char *path, const char *name))
{
    CLEANUP(arena_release) struct arena arena = {0};
    const char *path = arena_printf(&arena, "%s/%s", attic->work_dir, name);
    DIR *dir = opendir(path);
    if (dir == NULL)
        return;
    const struct dirent *entry;
    while ((entry = readdir(dir)) != NULL) {
        CLEANUP(arena_release) struct arena scratch = {0};
        visit(attic, arena_printf(&scratch, "%s/%s", path, entry->d_name), entry->d_name);
    }
    (void)closedir(dir);
}

/* ---- files and trees ---- */

static bool begins_with_run(const char *name, struct id *ret_run_id)
{
    char text[sizeof ret_run_id->text];
    text_copy(text, sizeof text, name);
    return id_parse(text, ret_run_id);
}

/* "<run id>", "<run id>.2", "<run id>-1.diff".  What people have put beside them is theirs. */
static bool is_ours(const char *name, struct id *ret_run_id)
{
    if (!begins_with_run(name, ret_run_id))
        return false;
    const char *rest = name + strlen(ret_run_id->text);
    size_t digits = *rest == '.' || *rest == '-' ? strspn(rest + 1, "0123456789") : 0;
    return *rest == '\0' || (*rest == '.' && digits > 0 && rest[1 + digits] == '\0') ||
           (*rest == '-' && digits > 0 && text_same(rest + 1 + digits, ".diff"));
}

static void clear_file(const struct attic *attic, const char *path, const char *name)
{
    struct id run_id;
    struct stat info;
    if (!is_ours(name, &run_id) || lstat(path, &info) != 0 ||
        !is_over(attic, (int64_t)info.st_ctim.tv_sec * US_PER_SECOND))
        return;
    struct err err = {0};
    enum rc rc = RC_OK;
    if (S_ISDIR(info.st_mode))
        rc = dir_remove(path, &err);
    else if (unlink(path) != 0)
        rc = err_set(&err, RC_IO, "IO_ERROR", "%s", strerror(errno));
    if (rc == RC_OK)
        LOG(LOG_INFO, "removed what was put aside for people: its time is over",
            LOG_STR("runId", run_id.text), LOG_STR("path", path));
    else
        LOG(LOG_WARN, "what was put aside for people stays for now", LOG_STR("path", path),
            LOG_STR("error", err.text));
}

/* ---- snapshots ---- */

/* "<seconds> <commit> <ref>" becomes the order to remove the ref, if it still has that commit. */
static bool add_order(const struct attic *attic, const char *line, struct buf *orders)
{
    long long seconds = 0;
    char commit[GIT_HASH_BYTES], ref[SNAPSHOT_REF_BYTES];
    struct id run_id;
    if (sscanf(line, "%lld %64s %159s", &seconds, commit, ref) != 3 ||
        !text_starts(ref, SNAPSHOT_REFS) ||
        !begins_with_run(ref + strlen(SNAPSHOT_REFS), &run_id) ||
        !is_over(attic, (int64_t)seconds * US_PER_SECOND))
        return false;
    CLEANUP(arena_release) struct arena arena = {0};
    if (file_exists(arena_printf(&arena, "%s/runs/%s", attic->work_dir, run_id.text)))
        return false;
    buf_addf(orders, "delete %s %s\n", ref, commit);
    return true;
}

static int write_orders(const struct attic *attic, const char *refs, struct buf *orders)
{
    CLEANUP(arena_release) struct arena arena = {0};
    int count = 0;
    while (*refs) {
        size_t len = strcspn(refs, "\n");
        count += add_order(attic, arena_strndup(&arena, refs, len), orders);
        refs += len + (refs[len] == '\n');
    }
    return count;
}

static enum rc clear_refs(const struct attic *attic, const char *mirror, int *ret_count,
                          struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(buf_release) struct buf refs;
    CLEANUP(buf_release) struct buf orders;
    CLEANUP(fd_closep) int lock = -1;
    buf_init(&refs, REFS_BYTES_MAX);
    buf_init(&orders, REFS_BYTES_MAX);
    const struct git git = {
        .home = arena_printf(&arena, "%s/git", attic->work_dir),
        .cancel = attic->cancel,
        .deadline_us = clock_mono_us() + MIRROR_MS * US_PER_MS,
    };
    struct git_call list = {
        .git_dir = mirror,
        .args = GIT_ARGS("for-each-ref", COUNT_OPTION, "--sort=committerdate",
                         "--format=%(committerdate:unix) %(objectname) %(refname)", SNAPSHOT_REFS),
        .out = &refs};
    struct git_call drop = {.git_dir = mirror,
                            .args = GIT_ARGS("update-ref", "--no-deref", "--stdin")};
    enum rc rc = git_run(&git, &list, err);
    if (rc != RC_OK)
        return rc;
    *ret_count = write_orders(attic, buf_text(&refs), &orders);
    if (*ret_count == 0)
        return RC_OK;
    drop.input = buf_str(&orders);
    rc = git_lock(&git, arena_printf(&arena, "%s.lock", mirror), &lock, err);
    return rc == RC_OK ? git_run(&git, &drop, err) : rc;
}

static void clear_mirror(const struct attic *attic, const char *path, const char *name)
{
    if (!text_ends(name, ".git"))
        return;
    struct err err = {0};
    int count = 0;
    enum rc rc = clear_refs(attic, path, &count, &err);
    if (rc != RC_OK && rc != RC_CANCELLED)
        LOG(LOG_WARN, "old snapshots stay in a mirror for now", LOG_STR("mirror", path),
            LOG_STR("error", err.text));
    else if (rc == RC_OK && count > 0)
        LOG(LOG_INFO, "removed old snapshots from a mirror", LOG_STR("mirror", path),
            LOG_INT("count", count));
}

void attic_clear(const struct attic *attic)
{
    each_entry(attic, "held", clear_file);
    each_entry(attic, "kept", clear_file);
    each_entry(attic, "mirrors", clear_mirror);
}
