/*
 * outputs.c - see outputs.h.
 *
 * Every step down is an openat with O_NOFOLLOW on a descriptor that is held, so a directory that is
 * swapped during the copy cannot lead out of the tree.  A file is opened without blocking and
 * checked again through its descriptor before anything is read.
 */
#include "work/tree/outputs.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/str.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <limits.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DEPTH_MAX = 64, CHUNK_BYTES = 64 * 1024, DIR_FLAGS = O_RDONLY | O_DIRECTORY | O_NOFOLLOW };

struct copier {
    const char *path; /* For messages. */
    struct outputs_room *room;
    struct outputs_count count;
    uid_t owner; /* Of the source: a file of another user is not copied. */
    bool inside;
    int above; /* Directories between the tree's top and the output. */
    struct err *err;
};

/* Two open directories, and an entry of both. */
struct spot {
    int from, to;
    const char *name;
};

static enum rc fail(const struct copier *copier, const char *verb)
{
    return err_set(copier->err, RC_IO, "IO_ERROR", "cannot %s a part of the output %.200s: %s",
                   verb, copier->path, strerror(errno));
}

static enum rc fail_large(const struct copier *copier, const char *what)
{
    return err_set(copier->err, RC_TOO_LARGE, "OUTPUT_TOO_LARGE", "the output %.200s %s",
                   copier->path, what);
}

static enum rc may_go_on(const struct copier *copier)
{
    if (copier->room->cancel != NULL && atomic_load(copier->room->cancel))
        return err_set(copier->err, RC_CANCELLED, "CANCELLED", "stopped while copying outputs");
    if (clock_mono_us() >= copier->room->deadline_us)
        return err_set(copier->err, RC_TIMEOUT, "TIMEOUT", "out of time while copying outputs");
    return RC_OK;
}

static enum rc skip(struct copier *copier)
{
    copier->count.skipped++;
    return RC_OK;
}

/* ---- files and links ---- */

static enum rc copy_bytes(struct copier *copier, int from, int to)
{
    char chunk[CHUNK_BYTES];
    ssize_t got;
    while ((got = read(from, chunk, sizeof chunk)) > 0) {
        enum rc rc = may_go_on(copier);
        if (rc == RC_OK && got > copier->room->bytes)
            rc = fail_large(copier, "has more bytes than can be carried");
        if (rc == RC_OK)
            rc = fd_write_all(to, chunk, (size_t)got, copier->err);
        if (rc != RC_OK)
            return rc;
        copier->room->bytes -= got;
        copier->count.bytes += got;
    }
    return got < 0 ? fail(copier, "read") : RC_OK;
}

/* Shares the blocks where the file system can do that; false: the bytes must be copied. */
static bool clone_bytes(struct copier *copier, int from, int to)
{
    struct stat status;
    if (ioctl(to, FICLONE, from) != 0 || fstat(to, &status) != 0)
        return false;
    copier->room->bytes -= status.st_size;
    copier->count.bytes += status.st_size;
    return true;
}

static enum rc copy_file(struct copier *copier, const struct spot *spot)
{
    CLEANUP(fd_closep)
    int from = openat(spot->from, spot->name,
                      O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    struct stat status;
    if (from < 0 || fstat(from, &status) != 0)
        return errno == ELOOP || errno == ENOENT ? skip(copier) : fail(copier, "open");
    if (!S_ISREG(status.st_mode) || status.st_uid != copier->owner)
        return skip(copier);
    if (status.st_size > copier->room->bytes)
        return fail_large(copier, "has more bytes than can be carried");
    CLEANUP(fd_closep)
    int to = openat(spot->to, spot->name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                    S_IRUSR | S_IWUSR);
    if (to < 0)
        return errno == EEXIST ? skip(copier) : fail(copier, "write");
    enum rc rc = clone_bytes(copier, from, to) ? RC_OK : copy_bytes(copier, from, to);
    if (rc != RC_OK)
        return rc;
    const struct timespec times[] = {status.st_mtim, status.st_mtim};
    const mode_t mode = (status.st_mode & (S_IRWXU | S_IRWXG | S_IRWXO)) | S_IRUSR;
    if (fchmod(to, mode) != 0 || futimens(to, times) != 0)
        return fail(copier, "finish");
    copier->count.files++;
    return RC_OK;
}

/* From a directory so many below the top: only ".." up to the top, then only names.  So a chain of
   such links cannot lead out either. */
static bool stays_inside(const char *target, int depth)
{
    if (target[0] == '/')
        return false;
    bool names = false;
    for (const char *at = target; *at != '\0';) {
        size_t len = strcspn(at, "/");
        struct str part = {at, len};
        if (str_is(part, "..") && (names || depth-- <= 0))
            return false;
        names = names || (len > 0 && !str_is(part, ".") && !str_is(part, ".."));
        at += len + (at[len] == '/');
    }
    return true;
}

static enum rc copy_link(struct copier *copier, const struct spot *spot, const struct stat *status,
                         int depth)
{
    char target[PATH_MAX];
    ssize_t len = readlinkat(spot->from, spot->name, target, sizeof target - 1);
    if (len < 0)
        return errno == EINVAL || errno == ENOENT ? skip(copier) : fail(copier, "read");
    target[len] = '\0';
    if (copier->inside && !stays_inside(target, copier->above + depth))
        return err_set(copier->err, RC_DENIED, "LINK_LEADS_OUT",
                       "the output %.200s has a link that leads out of the tree: %.100s -> %.200s",
                       copier->path, spot->name, target);
    if (symlinkat(target, spot->to, spot->name) != 0)
        return errno == EEXIST ? skip(copier) : fail(copier, "write");
    const struct timespec times[] = {status->st_mtim, status->st_mtim};
    if (utimensat(spot->to, spot->name, times, AT_SYMLINK_NOFOLLOW) != 0)
        return fail(copier, "finish");
    copier->count.files++;
    return RC_OK;
}

/* ---- directories ---- */

static void closedirp(DIR **dir)
{
    if (*dir != NULL)
        (void)closedir(*dir);
}

/* *ret_to -1: something else is there. */
static enum rc open_target(struct copier *copier, const struct spot *spot, bool *ret_made,
                           int *ret_to)
{
    bool made = mkdirat(spot->to, spot->name, S_IRWXU) == 0;
    if (!made && errno != EEXIST)
        return fail(copier, "make");
    int to = openat(spot->to, spot->name, DIR_FLAGS | O_CLOEXEC);
    if (to < 0 && errno != ENOTDIR && errno != ELOOP)
        return fail(copier, "enter");
    *ret_made = made;
    *ret_to = to;
    return RC_OK;
}

static enum rc copy_entry(struct copier *copier, const struct spot *spot, int depth);

static enum rc copy_entries(struct copier *copier, DIR *from, int to, int depth)
{
    const struct dirent *entry;
    errno = 0;
    while ((entry = readdir(from)) != NULL) { // cppcheck-suppress readdirCalled
        const char *name = entry->d_name;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
            continue;
        const struct spot below = {.from = dirfd(from), .to = to, .name = name};
        enum rc rc = copy_entry(copier, &below, depth + 1);
        if (rc != RC_OK)
            return rc;
        errno = 0;
    }
    return errno != 0 ? fail(copier, "list") : RC_OK;
}

static enum rc copy_dir(struct copier *copier, const struct spot *spot, int depth)
{
    CLEANUP(fd_closep) int from = openat(spot->from, spot->name, DIR_FLAGS | O_CLOEXEC);
    struct stat status;
    if (from < 0 || fstat(from, &status) != 0)
        return errno == ELOOP || errno == ENOTDIR || errno == ENOENT ? skip(copier)
                                                                     : fail(copier, "enter");
    if (depth >= DEPTH_MAX)
        return fail_large(copier, "has too many directories in each other");
    CLEANUP(fd_closep) int to = -1;
    bool made = false;
    enum rc rc = open_target(copier, spot, &made, &to);
    if (rc != RC_OK || to < 0)
        return rc == RC_OK ? skip(copier) : rc;
    CLEANUP(closedirp) DIR *list = fdopendir(from);
    if (list == NULL)
        return fail(copier, "list");
    from = -1; /* The list closes it. */
    rc = copy_entries(copier, list, to, depth);
    if (rc != RC_OK || !made)
        return rc;
    const struct timespec times[] = {status.st_mtim, status.st_mtim};
    const mode_t mode = (status.st_mode & (S_IRWXU | S_IRWXG | S_IRWXO)) | S_IRWXU;
    return fchmod(to, mode) == 0 && futimens(to, times) == 0 ? RC_OK : fail(copier, "finish");
}

static enum rc copy_entry(struct copier *copier, const struct spot *spot, int depth)
{
    struct stat status;
    enum rc rc = may_go_on(copier);
    if (rc != RC_OK)
        return rc;
    if (copier->room->entries-- <= 0)
        return fail_large(copier, "has more files than can be carried");
    if (fstatat(spot->from, spot->name, &status, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? skip(copier) : fail(copier, "find");
    if (S_ISDIR(status.st_mode))
        return copy_dir(copier, spot, depth);
    if (S_ISREG(status.st_mode))
        return copy_file(copier, spot);
    return S_ISLNK(status.st_mode) ? copy_link(copier, spot, &status, depth) : skip(copier);
}

/* ---- the way to the output ---- */

/* One directory further down on both sides.  RC_NOT_FOUND: not in the source.  RC_CONFLICT: the
   destination has a file or a link there. */
static enum rc go_down(struct copier *copier, const char *name, int *from, int *to)
{
    int next = openat(*from, name, DIR_FLAGS | O_CLOEXEC);
    if (next < 0)
        return RC_NOT_FOUND;
    fd_close(*from);
    *from = next;
    bool made = false;
    const struct spot spot = {.from = -1, .to = *to, .name = name};
    enum rc rc = open_target(copier, &spot, &made, &next);
    if (rc != RC_OK || next < 0)
        return rc == RC_OK ? RC_CONFLICT : rc;
    fd_close(*to);
    *to = next;
    return RC_OK;
}

static enum rc copy_path(struct copier *copier, int *from, int *to)
{
    struct stat status;
    char name[NAME_MAX + 1];
    const char *at = copier->path;
    for (size_t len; at[len = strcspn(at, "/")] == '/'; at += len + 1) {
        copier->above++;
        if (len > NAME_MAX)
            return RC_NOT_FOUND;
        memcpy(name, at, len);
        name[len] = '\0';
        enum rc rc = go_down(copier, name, from, to);
        if (rc != RC_OK)
            return rc;
    }
    if (fstatat(*from, at, &status, AT_SYMLINK_NOFOLLOW) != 0)
        return RC_NOT_FOUND;
    return copy_entry(copier, &(struct spot){.from = *from, .to = *to, .name = at}, 0);
}

enum rc outputs_copy(const struct outputs_copy *copy, struct outputs_room *room,
                     struct outputs_count *ret_count, struct err *err)
{
    struct copier copier = {.path = copy->path, .room = room, .inside = copy->inside, .err = err};
    CLEANUP(fd_closep) int from = open(copy->from, DIR_FLAGS | O_CLOEXEC);
    CLEANUP(fd_closep) int to = open(copy->to, DIR_FLAGS | O_CLOEXEC);
    struct stat status;
    if (from < 0 || to < 0 || fstat(from, &status) != 0)
        return fail(&copier, "enter");
    copier.owner = status.st_uid;
    enum rc rc = copy_path(&copier, &from, &to);
    if (rc == RC_NOT_FOUND)
        return err_set(err, rc, "NOT_FOUND", "there is no output %.200s", copy->path);
    if (rc == RC_CONFLICT)
        rc = skip(&copier);
    if (rc == RC_OK)
        *ret_count = copier.count;
    return rc;
}

/* ---- times ---- */

static void fts_closep(FTS **walk)
{
    if (*walk != NULL)
        (void)fts_close(*walk);
}

enum rc outputs_date_tree(const char *tree, int64_t time_us, struct err *err)
{
    const struct timespec when = {.tv_sec = time_us / US_PER_SECOND,
                                  .tv_nsec = time_us % US_PER_SECOND * 1000};
    const struct timespec times[] = {when, when};
    char *const tops[] = {(char *)(uintptr_t)tree, NULL}; /* Not const for historical reasons. */
    CLEANUP(fts_closep) FTS *walk = fts_open(tops, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, NULL);
    if (walk == NULL)
        return err_set(err, RC_IO, "IO_ERROR", "cannot list %.300s: %s", tree, strerror(errno));
    FTSENT *entry;
    while ((entry = fts_read(walk)) != NULL) {
        if (entry->fts_level == 1 && strcmp(entry->fts_name, ".git") == 0)
            (void)fts_set(walk, entry, FTS_SKIP);
        else if (entry->fts_info != FTS_D &&
                 utimensat(AT_FDCWD, entry->fts_accpath, times, AT_SYMLINK_NOFOLLOW) != 0)
            return err_set(err, RC_IO, "IO_ERROR", "cannot set times in %.300s: %s", tree,
                           strerror(errno));
    }
    return RC_OK;
}
