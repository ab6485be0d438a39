/*
 * homeseed.c - see homeseed.h.
 *
 * Every name is used relative to a directory that is held open, and no link is followed: another
 * process may change the seed while it is copied.
 */
#include "work/sandbox/homeseed.h"
#include "base/arena.h"
#include "base/boot.h"
#include "base/fd.h"
#include "base/str.h"
#include "work/sandbox/logins.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MARK_BYTES_MAX = PATH_MAX + 300 };

struct copier {
    const char *seed; /* For messages. */
    int64_t entries, bytes;
    struct err *err;
};

/* A directory being copied, and where to. */
struct level {
    DIR *from;
    int to_fd;
};

static void level_close(struct level *level)
{
    if (level->from != NULL)
        (void)closedir(level->from);
    fd_close(level->to_fd);
}

static enum rc failed(const struct copier *copier, const char *name)
{
    return err_set(copier->err, RC_IO, "IO_ERROR", "cannot copy %.100s of %.200s: %s", name,
                   copier->seed, strerror(errno));
}

static enum rc too_large(const struct copier *copier)
{
    return err_set(copier->err, RC_INVALID, "HOME_TOO_LARGE",
                   "agent.home %.200s is larger than 1 GB, 100,000 entries or 64 levels.",
                   copier->seed);
}

static enum rc copy_bytes(struct copier *copier, int from, int to, const char *name)
{
    char chunk[64 * 1024];
    ssize_t got;
    while ((got = read(from, chunk, sizeof chunk)) > 0) {
        copier->bytes += got;
        if (copier->bytes > HOMESEED_BYTES_MAX)
            return too_large(copier);
        enum rc rc = fd_write_all(to, chunk, (size_t)got, copier->err);
        if (rc != RC_OK)
            return rc;
    }
    return got == 0 ? RC_OK : failed(copier, name);
}

static enum rc copy_file(struct copier *copier, const struct level *level, const char *name)
{
    const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    CLEANUP(fd_closep) int from = openat(dirfd(level->from), name, flags);
    struct stat status;
    if (from < 0 || fstat(from, &status) != 0)
        return errno == ENOENT || errno == ELOOP ? RC_OK : failed(copier, name);
    if (!S_ISREG(status.st_mode))
        return RC_OK;
    CLEANUP(fd_closep)
    int to = openat(level->to_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (to < 0)
        return failed(copier, name);
    enum rc rc = copy_bytes(copier, from, to, name);
    if (rc == RC_OK && fchmod(to, (status.st_mode & 0777) | S_IRUSR | S_IWUSR) != 0)
        rc = failed(copier, name);
    return rc;
}

static enum rc copy_link(struct copier *copier, const struct level *level, const char *name)
{
    char target[PATH_MAX];
    ssize_t len = readlinkat(dirfd(level->from), name, target, sizeof target - 1);
    if (len < 0)
        return failed(copier, name);
    target[len] = '\0';
    return symlinkat(target, level->to_fd, name) == 0 ? RC_OK : failed(copier, name);
}

static enum rc open_level(struct copier *copier, int from_parent, int to_parent, const char *name,
                          struct level *ret)
{
    const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    int fd = openat(from_parent, name, flags);
    struct level level = {.from = fd >= 0 ? fdopendir(fd) : NULL, .to_fd = -1};
    if (level.from == NULL) {
        enum rc rc = failed(copier, name);
        fd_close(fd);
        return rc;
    }
    if (mkdirat(to_parent, name, 0700) == 0)
        level.to_fd = openat(to_parent, name, flags);
    if (level.to_fd < 0) {
        enum rc rc = failed(copier, name);
        level_close(&level);
        return rc;
    }
    *ret = level;
    return RC_OK;
}

/* One entry; a directory becomes the next level. */
static enum rc copy_entry(struct copier *copier, struct level *levels, size_t *depth,
                          const char *name)
{
    const struct level *level = &levels[*depth - 1];
    struct stat status;
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
        fstatat(dirfd(level->from), name, &status, AT_SYMLINK_NOFOLLOW) != 0)
        return RC_OK;
    if (++copier->entries > HOMESEED_ENTRIES_MAX)
        return too_large(copier);
    if (S_ISLNK(status.st_mode))
        return copy_link(copier, level, name);
    if (S_ISREG(status.st_mode))
        return copy_file(copier, level, name);
    if (!S_ISDIR(status.st_mode))
        return RC_OK;
    if (*depth == HOMESEED_DEPTH_MAX)
        return too_large(copier);
    enum rc rc = open_level(copier, dirfd(level->from), level->to_fd, name, &levels[*depth]);
    if (rc == RC_OK)
        ++*depth;
    return rc;
}

static enum rc copy_all(struct copier *copier, struct level first)
{
    struct level levels[HOMESEED_DEPTH_MAX] = {first};
    size_t depth = 1;
    enum rc rc = RC_OK;
    while (rc == RC_OK && depth > 0) {
        // cppcheck-suppress readdirCalled
        const struct dirent *entry = readdir(levels[depth - 1].from); /* Not shared. */
        if (entry != NULL)
            rc = copy_entry(copier, levels, &depth, entry->d_name);
        else
            level_close(&levels[--depth]);
    }
    while (depth > 0)
        level_close(&levels[--depth]);
    return rc;
}

static enum rc copy_seed(const char *seed, const char *to, struct err *err)
{
    struct copier copier = {.seed = seed, .err = err};
    const int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
    int from = open(seed, flags);
    struct level first = {.from = from >= 0 ? fdopendir(from) : NULL,
                          .to_fd = open(to, flags | O_NOFOLLOW)};
    if (first.from != NULL && first.to_fd >= 0)
        return copy_all(&copier, first);
    enum rc rc = err_set(err, RC_INVALID, "HOME_NOT_FOUND", "agent.home %.200s: %s", seed,
                         strerror(errno));
    if (first.from == NULL)
        fd_close(from);
    level_close(&first);
    return rc;
}

static enum rc check_seed(const char *seed, const struct sandbox *sandbox, struct err *err)
{
    char real[PATH_MAX];
    if (realpath(seed, real) == NULL)
        return err_set(err, RC_INVALID, "HOME_NOT_FOUND", "agent.home %.200s: %s", seed,
                       strerror(errno));
    if (sandbox_hides(sandbox, real) != NULL)
        return err_set(err, RC_INVALID, "HOME_REFUSED",
                       "agent.home %.200s holds drover's data, tokens or configuration, or is "
                       "among them.",
                       seed);
    return RC_OK;
}

/* Its files are not synced: one that was made in another boot may be torn. */
static bool is_current(const char *mark, const char *wanted)
{
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, MARK_BYTES_MAX);
    return boot_id()[0] != '\0' && file_read(mark, &text, NULL) == RC_OK &&
           strcmp(buf_text(&text), wanted) == 0;
}

static enum rc write_mark(const char *mark, const char *text, struct err *err)
{
    if (unlink(mark) != 0 && errno != ENOENT)
        return err_set(err, RC_IO, "IO_ERROR", "cannot remove %.300s: %s", mark, strerror(errno));
    return file_write_new(mark, text, strlen(text), 0600, err);
}

static enum rc make_part(const char *part, const char *seed, struct err *err)
{
    enum rc rc = dir_remove(part, err);
    if (rc == RC_OK)
        rc = dir_make(part, 0700, err);
    return rc == RC_OK && seed != NULL ? copy_seed(seed, part, err) : rc;
}

enum rc homeseed_make(const struct homeseed *homeseed, bool *ret_kept, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const char *home = homeseed->home, *seed = homeseed->seed;
    const char *part = arena_printf(&arena, "%s.part", home);
    const char *mark = arena_printf(&arena, "%s.boot", home);
    const char *wanted = arena_printf(&arena, "%s %s %s", boot_id(), seed != NULL ? seed : "-",
                                      homeseed->owner != NULL ? homeseed->owner : "-");
    *ret_kept = file_exists(home) && is_current(mark, wanted);
    if (*ret_kept)
        return RC_OK;
    enum rc rc = seed != NULL ? check_seed(seed, homeseed->sandbox, err) : RC_OK;
    if (rc == RC_OK)
        rc = dir_remove(home, err);
    if (rc == RC_OK)
        rc = logins_forget(home, err);
    if (rc == RC_OK)
        rc = make_part(part, seed, err);
    if (rc == RC_OK)
        rc = write_mark(mark, wanted, err);
    if (rc == RC_OK && rename(part, home) != 0)
        rc = err_set(err, RC_IO, "IO_ERROR", "cannot rename %.300s: %s", part, strerror(errno));
    return rc;
}
