#include "work/tree/mirror.h"
#include "base/boot.h"
#include "base/fd.h"
#include "base/log.h"
#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DAMAGED ".damaged-"
enum { FTW_FDS = 16, MARK_BYTES_MAX = 64, ALTERNATES_BYTES_MAX = 64 * 1024, DAMAGED_MAX = 2 };

const char *mirror_snapshots(const struct step *step)
{
    size_t len = strlen(step->mirror);
    len -= text_ends(step->mirror, ".git") ? strlen(".git") : 0;
    return arena_printf(step->arena, "%.*s" SNAPSHOT_SUFFIX, (int)len, step->mirror);
}

bool mirror_has_snapshots(const struct step *step)
{
    return file_exists(arena_printf(step->arena, "%s/HEAD", mirror_snapshots(step)));
}

/* ---- the mark ---- */

static const char *mark_path(const char *mirror, struct arena *arena)
{
    return arena_printf(arena, "%s.fetching", mirror);
}

bool mirror_is_suspect(const struct step *step)
{
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, MARK_BYTES_MAX);
    enum rc rc = file_read(mark_path(step->mirror, step->arena), &text, NULL);
    return rc != RC_NOT_FOUND && !(rc == RC_OK && boot_is_this(buf_text(&text)));
}

enum rc mirror_change_begins(const char *mirror, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    return file_write_durable(mark_path(mirror, &arena), boot_id(), strlen(boot_id()), 0600, err);
}

/* A mark whose removal is lost costs an examination. */
enum rc mirror_change_ends(const char *mirror, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    enum rc rc = dir_sync_file_system(mirror, err);
    if (rc == RC_OK)
        (void)unlink(mark_path(mirror, &arena));
    return rc;
}

/* ---- commits that were found ---- */

enum { FOUND_MAX = 64 };
static struct {
    pthread_mutex_t lock;
    struct found_commit {
        dev_t dev;
        ino_t ino; /* Of the mirror's directory of objects. */
        char commit[GIT_HASH_BYTES];
    } commits[FOUND_MAX];
    size_t next; /* The one that is replaced next. */
} known_commits = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool identify(const struct step *step, const char *commit, struct found_commit *ret_found)
{
    struct stat status;
    const char *objects = arena_printf(step->arena, "%s/objects", step->mirror);
    if (strlen(commit) >= GIT_HASH_BYTES || stat(objects, &status) != 0)
        return false;
    *ret_found = (struct found_commit){.dev = status.st_dev, .ino = status.st_ino};
    text_copy(ret_found->commit, sizeof ret_found->commit, commit);
    return true;
}

static bool is_found(const struct found_commit *want) /* Under the lock. */
{
    for (size_t i = 0; i < FOUND_MAX; i++) {
        const struct found_commit *each = &known_commits.commits[i];
        if (each->ino == want->ino && each->dev == want->dev &&
            text_same(each->commit, want->commit))
            return true;
    }
    return false;
}

bool mirror_is_known_to_hold(const struct step *step, const char *commit)
{
    struct found_commit want;
    if (!identify(step, commit, &want))
        return false;
    (void)pthread_mutex_lock(&known_commits.lock);
    bool known = is_found(&want);
    (void)pthread_mutex_unlock(&known_commits.lock);
    return known;
}

void mirror_holds_commit(const struct step *step, const char *commit)
{
    struct found_commit fresh;
    if (!identify(step, commit, &fresh))
        return;
    (void)pthread_mutex_lock(&known_commits.lock);
    if (!is_found(&fresh)) {
        known_commits.commits[known_commits.next] = fresh;
        known_commits.next = (known_commits.next + 1) % FOUND_MAX;
    }
    (void)pthread_mutex_unlock(&known_commits.lock);
}

/* ---- locks ---- */

static int drop_if_lock(const char *path, const struct stat *status, int type, struct FTW *ftw)
{
    (void)status, (void)ftw;
    if (type == FTW_F && text_ends(path, ".lock"))
        (void)unlink(path);
    return 0;
}

static void drop_locks_in(const struct step *step, const char *path)
{
    DIR *dir = opendir(path);
    const struct dirent *entry;
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        if (text_ends(entry->d_name, ".lock"))
            (void)unlink(arena_printf(step->arena, "%s/%s", path, entry->d_name));
    }
    if (dir != NULL)
        (void)closedir(dir);
}

void mirror_drop_locks(const struct step *step, const char *git_dir)
{
    static const char *const parts[] = {"", "/objects/info", "/objects/pack"};
    (void)nftw(arena_printf(step->arena, "%s/refs", git_dir), drop_if_lock, FTW_FDS, FTW_PHYS);
    for (size_t i = 0; i < COUNT_OF(parts); i++)
        drop_locks_in(step, arena_printf(step->arena, "%s%s", git_dir, parts[i]));
}

/* ---- is it damaged? ---- */

/* git fsck also reports objects that were made badly, as old tools did: "error in commit ...".
   Such a repository is whole. */
static bool reports_damage(const char *words)
{
    return text_starts(words, "error: ") || strstr(words, "\nerror: ") != NULL;
}

static enum rc find_damage(struct step *step, bool *ret_damaged, struct err *err)
{
    CLEANUP(buf_release) struct buf words;
    buf_init(&words, GIT_TEXT_MAX);
    struct git git = step_git(step);
    git.deadline_us = clock_mono_us() + step_left_ms(step) * US_PER_MS / 2; /* Time to fetch. */
    struct git_call fsck = {.git_dir = step->mirror,
                            .args = GIT_ARGS("fsck", "--no-dangling", "--no-progress"),
                            .words = &words};
    int status = 0;
    enum rc rc = git_ask(&git, &fsck, &status, err);
    if (rc != RC_OK && rc != RC_IO && rc != RC_TIMEOUT)
        return rc;
    *ret_damaged = rc != RC_OK || (status != 0 && reports_damage(buf_text(&words)));
    return RC_OK;
}

/* ---- moving aside ---- */

/* The numbers of those that were moved aside. */
struct damaged {
    int64_t first, last;
    int64_t count;
};

static struct damaged list_damaged(const struct step *step, const char *keep)
{
    struct damaged found = {0};
    const char *name = strrchr(step->mirror, '/') + 1;
    const char *prefix = arena_printf(step->arena, "%s" DAMAGED, name);
    DIR *dir = opendir(arena_printf(step->arena, "%s/mirrors", step->site->work_dir));
    const struct dirent *entry;
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        int64_t number = 0;
        if (!text_starts(entry->d_name, prefix) ||
            !text_to_i64(entry->d_name + strlen(prefix), &number))
            continue;
        found.last = number > found.last ? number : found.last;
        if (keep != NULL && strstr(keep, entry->d_name) != NULL)
            continue;
        found.count++;
        found.first = found.first == 0 || number < found.first ? number : found.first;
    }
    if (dir != NULL)
        (void)closedir(dir);
    return found;
}

static const char *damaged_path(const struct step *step, int64_t number)
{
    return arena_printf(step->arena, "%s" DAMAGED "%" PRId64, step->mirror, number);
}

static const char *alternates_path(const struct step *step)
{
    return arena_printf(step->arena, "%s/objects/info/alternates", mirror_snapshots(step));
}

/* Those that snapshots borrow from do not count. */
static void drop_oldest(const struct step *step)
{
    CLEANUP(buf_release) struct buf borrowed;
    buf_init(&borrowed, ALTERNATES_BYTES_MAX);
    struct err err = {0};
    enum rc rc = file_read(alternates_path(step), &borrowed, &err);
    struct damaged found = list_damaged(step, buf_text(&borrowed));
    if ((rc == RC_OK || rc == RC_NOT_FOUND) && found.count > DAMAGED_MAX &&
        dir_remove(damaged_path(step, found.first), &err) != RC_OK)
        LOG(LOG_WARN, "a damaged mirror stays", LOG_STR("path", damaged_path(step, found.first)),
            LOG_STR("error", err.text));
}

static enum rc move_aside(const struct step *step, struct err *err)
{
    const char *path = damaged_path(step, list_damaged(step, NULL).last + 1);
    if (rename(step->mirror, path) != 0)
        return err_set(err, RC_IO, "IO_ERROR", "cannot move %.300s to %.300s: %s", step->mirror,
                       path, strerror(errno));
    LOG(LOG_WARN, "a mirror was damaged and is fetched anew",
        LOG_STR("repository", step->input.repository), LOG_STR("damaged", path));
    drop_oldest(step);
    return RC_OK;
}

enum rc mirror_check(struct step *step, bool *ret_removed, struct err *err)
{
    bool damaged = false;
    *ret_removed = false;
    if (!file_exists(step->mirror))
        return RC_OK;
    mirror_drop_locks(step, step->mirror);
    enum rc rc = find_damage(step, &damaged, err);
    if (rc != RC_OK || !damaged)
        return rc;
    step->held_commit = NULL;
    rc = move_aside(step, err);
    *ret_removed = rc == RC_OK;
    return rc;
}

void mirror_examine(struct step *step)
{
    struct err err = {0};
    CLEANUP(fd_closep) int lock = -1;
    bool removed = false;
    struct git git = step_git(step);
    enum rc rc = git_lock(&git, arena_printf(step->arena, "%s.lock", step->mirror), &lock, &err);
    if (rc == RC_OK)
        rc = mirror_check(step, &removed, &err);
    if (rc != RC_OK && rc != RC_CANCELLED)
        LOG(LOG_WARN, "cannot find out whether a mirror is damaged",
            LOG_STR("mirror", step->mirror), LOG_STR("error", err.text));
}

/* ---- snapshots ---- */

static bool snapshots_are_whole(struct step *step)
{
    struct git git = step_git(step);
    struct git_call walk = {.git_dir = mirror_snapshots(step),
                            .args = GIT_ARGS("rev-list", "--objects", "--all", "--quiet")};
    return git_run(&git, &walk, NULL) == RC_OK;
}

void mirror_keep_snapshots(struct step *step)
{
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, ALTERNATES_BYTES_MAX);
    struct err err = {0};
    if (!mirror_has_snapshots(step) || snapshots_are_whole(step))
        return;
    enum rc rc = file_read(alternates_path(step), &text, &err);
    buf_addf(&text, "%s/objects\n", damaged_path(step, list_damaged(step, NULL).last));
    if (rc == RC_OK)
        rc = file_write_durable(alternates_path(step), text.data, text.len, 0600, &err);
    if (rc != RC_OK)
        LOG(LOG_ERROR, "snapshots need what only a damaged mirror has",
            LOG_STR("snapshots", mirror_snapshots(step)), LOG_STR("error", err.text));
}
