/*
 * fd.c - file descriptors and files.
 *
 * dir_remove goes down a few levels, and flattens what is deeper: such a directory is moved up to
 * the top, under a random name, and emptied there.
 *
 *     top/a/b/c/d   ->   top/a/b/c  top/<random>   ->   top
 *
 * So it needs a few descriptors, however deep a hostile tree is, and since every name is used
 * relative to a directory that is held open, a link planted meanwhile cannot lead it out of the
 * tree.
 */
#include "base/fd.h"
#include "base/random.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

void fd_close(int fd)
{
    int before = errno; /* Cleanup must not hide the error that led to it. */
    if (fd >= 0)
        (void)close(fd);
    errno = before;
}

void fd_closep(int *fd)
{
    fd_close(*fd);
    *fd = -1;
}

int fd_take(int *fd)
{
    int taken = *fd;
    *fd = -1;
    return taken;
}

static enum rc io_error(struct err *err, const char *what, const char *path)
{
    int number = errno;
    bool absent = number == ENOENT || number == ENOTDIR;
    return err_set(err, absent ? RC_NOT_FOUND : RC_IO, absent ? "FILE_NOT_FOUND" : "IO_ERROR",
                   "cannot %s %.300s: %s", what, path, strerror(number));
}

enum rc fd_write_all(int fd, const void *bytes, size_t len, struct err *err)
{
    const char *at = bytes;
    while (len > 0) {
        ssize_t done = write(fd, at, len);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return err_set(err, RC_IO, "IO_ERROR", "cannot write: %s", strerror(errno));
        at += done;
        len -= (size_t)done;
    }
    return RC_OK;
}

enum rc fd_set_nonblocking(int fd, struct err *err)
{
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
        return err_set(err, RC_IO, "IO_ERROR", "cannot make a descriptor non-blocking: %s",
                       strerror(errno));
    return RC_OK;
}

enum rc fd_of_bytes(const void *bytes, size_t len, int *ret_fd, struct err *err)
{
    CLEANUP(fd_closep) int fd = memfd_create("drover", MFD_CLOEXEC);
    if (fd < 0)
        return io_error(err, "make", "a file in memory");
    enum rc rc = fd_write_all(fd, bytes, len, err);
    if (rc == RC_OK && lseek(fd, 0, SEEK_SET) != 0)
        rc = io_error(err, "rewind", "a file in memory");
    if (rc == RC_OK)
        *ret_fd = fd_take(&fd);
    return rc;
}

static enum rc read_to_end(int fd, const char *path, struct buf *into, struct err *err)
{
    char chunk[16384];
    for (;;) {
        ssize_t got = read(fd, chunk, sizeof chunk);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return io_error(err, "read", path);
        if (got == 0)
            return RC_OK;
        if ((size_t)got > into->max_bytes - into->len)
            return err_set(err, RC_TOO_LARGE, "FILE_TOO_LARGE",
                           "%.300s holds more than the %zu bytes that are allowed", path,
                           into->max_bytes);
        buf_add(into, chunk, (size_t)got);
    }
}

/* Never inherited. */
static int open_plain(const char *path, int flags)
{
    return open(path, flags | O_CLOEXEC);
}

enum rc fd_read_regular(int fd, struct buf *into)
{
    struct stat status;
    if (fd < 0 || fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) ||
        (size_t)status.st_size > into->max_bytes)
        return RC_NOT_FOUND;
    char chunk[4096];
    ssize_t got;
    while ((got = read(fd, chunk, sizeof chunk)) > 0 && !into->overflow)
        buf_add(into, chunk, (size_t)got);
    return got == 0 && !into->overflow ? RC_OK : RC_NOT_FOUND;
}

enum rc file_read(const char *path, struct buf *into, struct err *err)
{
    /* Non-blocking, because opening a FIFO would wait for its writer. */
    CLEANUP(fd_closep) int fd = open_plain(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    struct stat status;
    if (fd < 0 || fstat(fd, &status) != 0)
        return io_error(err, "open", path);
    if (!S_ISREG(status.st_mode))
        return err_set(err, RC_IO, "IO_ERROR", "%.300s is not a regular file", path);
    size_t before = into->len;
    enum rc rc = read_to_end(fd, path, into, err);
    if (rc != RC_OK)
        buf_cut(into, before);
    return rc;
}

enum rc dir_sync(const char *path, struct err *err)
{
    CLEANUP(fd_closep) int fd = open_plain(path, O_RDONLY | O_DIRECTORY);
    return fd < 0 || fsync(fd) != 0 ? io_error(err, "sync the directory", path) : RC_OK;
}

enum rc dir_sync_file_system(const char *path, struct err *err)
{
    CLEANUP(fd_closep) int fd = open_plain(path, O_RDONLY | O_DIRECTORY);
    return fd < 0 || syncfs(fd) != 0 ? io_error(err, "sync the file system of", path) : RC_OK;
}

static enum rc sync_parent(const char *path, struct err *err)
{
    char parent[PATH_MAX] = ".";
    size_t len = strlen(path);
    while (len > 1 && path[len - 1] == '/')
        len--;
    const char *slash = memrchr(path, '/', len);
    if (slash != NULL)
        (void)snprintf(parent, sizeof parent, "%.*s", slash > path ? (int)(slash - path) : 1, path);
    return dir_sync(parent, err);
}

enum rc file_put_in_place(int fd, const char *temporary, const char *path, struct err *err)
{
    if (fsync(fd) != 0)
        return io_error(err, "write", path);
    if (rename(temporary, path) != 0)
        return io_error(err, "replace", path);
    return sync_parent(path, err);
}

enum rc file_write_durable(const char *path, const void *bytes, size_t len, unsigned mode,
                           struct err *err)
{
    char temporary[PATH_MAX];
    int needed = snprintf(temporary, sizeof temporary, "%s.XXXXXX", path);
    if (needed < 0 || (size_t)needed >= sizeof temporary) {
        errno = ENAMETOOLONG;
        return io_error(err, "write", path);
    }
    CLEANUP(fd_closep) int fd = mkostemp(temporary, O_CLOEXEC);
    if (fd < 0)
        return io_error(err, "write beside", path);
    enum rc rc = fd_write_all(fd, bytes, len, err);
    if (rc == RC_OK && fchmod(fd, (mode_t)mode) != 0)
        rc = io_error(err, "write", path);
    if (rc == RC_OK)
        rc = file_put_in_place(fd, temporary, path, err);
    if (rc != RC_OK)
        (void)unlink(temporary);
    return rc;
}

enum rc file_write_new(const char *path, const void *bytes, size_t len, unsigned mode,
                       struct err *err)
{
    CLEANUP(fd_closep)
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, (mode_t)mode);
    return fd >= 0 ? fd_write_all(fd, bytes, len, err) : io_error(err, "write", path);
}

enum { LOCK_LOOK_MS = 20 };

enum rc file_lock(const char *path, int wait_ms, int *ret_fd, struct err *err)
{
    CLEANUP(fd_closep) int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return err_set(err, RC_IO, "IO_ERROR", "cannot open %s: %s", path, strerror(errno));
    for (int waited_ms = 0; flock(fd, LOCK_EX | LOCK_NB) != 0; waited_ms += LOCK_LOOK_MS) {
        if (errno != EWOULDBLOCK)
            return err_set(err, RC_IO, "IO_ERROR", "cannot lock %s: %s", path, strerror(errno));
        if (waited_ms >= wait_ms)
            return err_set(err, RC_CONFLICT, "LOCKED", "%s is locked by another process", path);
        const struct timespec pause = {.tv_nsec = LOCK_LOOK_MS * 1000000L};
        (void)nanosleep(&pause, NULL);
    }
    *ret_fd = fd_take(&fd);
    return RC_OK;
}

bool file_exists(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0;
}

static bool is_directory(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* How directories are made. */
struct making {
    unsigned mode;
    bool durable;
};

/* Makes one directory below one that is there; RC_NOT_FOUND: that is missing. */
static enum rc make_one(const char *path, const struct making *making, struct err *err)
{
    int number = mkdir(path, (mode_t)making->mode) == 0 ? 0 : errno;
    if (number == 0 && making->durable)
        return sync_parent(path, err);
    if (number == 0 || (number != ENOENT && is_directory(path)))
        return RC_OK;
    return err_set(err, number == ENOENT ? RC_NOT_FOUND : RC_IO, "IO_ERROR",
                   "cannot make the directory %.300s: %s", path,
                   strerror(number == EEXIST ? ENOTDIR : number));
}

/* Most are there already, or their parents are: it goes up from the last one to the first that can
   be made, and down again. */
static enum rc make_all(const char *path, const struct making *making, struct err *err)
{
    char part[PATH_MAX];
    size_t len = strlen(path);
    if (len == 0 || len >= sizeof part) {
        errno = len ? ENAMETOOLONG : ENOENT;
        return io_error(err, "make the directory", path);
    }
    memcpy(part, path, len + 1);
    enum rc rc = make_one(part, making, err);
    char *slash;
    while (rc == RC_NOT_FOUND && (slash = strrchr(part, '/')) != NULL && slash > part) {
        *slash = '\0';
        rc = make_one(part, making, err);
    }
    for (size_t end = strlen(part); rc == RC_OK && end < len;) {
        part[end] = '/';
        end += strlen(part + end);
        rc = make_one(part, making, err);
    }
    if (rc == RC_OK && err != NULL)
        err_clear(err); /* Of what was missing at first. */
    return rc == RC_NOT_FOUND ? RC_IO : rc;
}

enum rc dir_make(const char *path, unsigned mode, struct err *err)
{
    return make_all(path, &(struct making){.mode = mode}, err);
}

/* One that is there may have been made by a process that was killed before it could sync.  A parent
   that only its owner may list was not made here. */
enum rc dir_make_durable(const char *path, unsigned mode, struct err *err)
{
    struct err why = {0};
    enum rc rc = make_all(path, &(struct making){.mode = mode, .durable = true}, err);
    if (rc != RC_OK || sync_parent(path, &why) == RC_OK || errno == EACCES)
        return rc;
    return err_set(err, RC_IO, "IO_ERROR", "%s", why.text);
}

/* ---- dir_usage ---- */

enum { USAGE_ENTRIES_MAX = 2000000, BLOCK_BYTES = 512 }; /* Of st_blocks. */

static void fts_closep(FTS **walk)
{
    if (*walk != NULL)
        (void)fts_close(*walk);
}

/* Of a tree with very many files the first of them. */
struct dir_usage dir_usage(const char *path)
{
    char *const tops[] = {(char *)(uintptr_t)path, NULL}; /* Not const for historical reasons. */
    CLEANUP(fts_closep) FTS *walk = fts_open(tops, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, NULL);
    struct dir_usage usage = {0};
    const FTSENT *entry;
    while (walk != NULL && usage.entries < USAGE_ENTRIES_MAX && (entry = fts_read(walk)) != NULL) {
        if (entry->fts_info == FTS_DP || entry->fts_info == FTS_NS)
            continue;
        usage.entries++;
        usage.bytes += (int64_t)entry->fts_statp->st_blocks * BLOCK_BYTES;
    }
    return usage;
}

/* ---- dir_remove ---- */

/* Beyond this many passes over the top another process fills the tree as fast as we empty it. */
enum { PASSES_MAX = 100000 };
enum { DEPTH_MAX = 16 }; /* So many directories are open at a time. */

struct remover {
    int top_fd;
    const char *path; /* For messages. */
    struct err *err;
};

static void closedirp(DIR **dir)
{
    int before = errno;
    if (*dir != NULL)
        (void)closedir(*dir);
    errno = before;
}

static bool is_dot(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* NULL at the end.  readdir is safe here: no other thread uses the stream. */
static const struct dirent *next_entry(DIR *dir)
{
    const struct dirent *entry;
    do
        entry = readdir(dir); // cppcheck-suppress readdirCalled
    while (entry != NULL && is_dot(entry->d_name));
    return entry;
}

/* Lets us list and empty it, if it is ours.  Never follows a link. */
static bool unlock_dir(int parent_fd, const char *name)
{
    return fchmodat(parent_fd, name, S_IRWXU, AT_SYMLINK_NOFOLLOW) == 0;
}

static int open_dir(int parent_fd, const char *name)
{
    const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    int fd = openat(parent_fd, name, flags);
    if (fd < 0 && errno == EACCES && unlock_dir(parent_fd, name))
        fd = openat(parent_fd, name, flags);
    struct stat status;
    if (fd >= 0 && fstat(fd, &status) == 0 && (status.st_mode & S_IRWXU) != S_IRWXU)
        (void)fchmod(fd, S_IRWXU);
    return fd;
}

/* Moves a directory that is not empty up to the top. */
static enum rc lift(struct remover *remover, int parent_fd, const char *name)
{
    uint64_t random[2];
    char fresh[40];
    secret_bytes(random, sizeof random);
    (void)snprintf(fresh, sizeof fresh, "rm-%016llx%016llx", (unsigned long long)random[0],
                   (unsigned long long)random[1]);
    if (renameat(parent_fd, name, remover->top_fd, fresh) == 0)
        return RC_OK;
    if (errno == EACCES && unlock_dir(parent_fd, name) &&
        renameat(parent_fd, name, remover->top_fd, fresh) == 0)
        return RC_OK;
    return errno == ENOENT ? RC_OK : io_error(remover->err, "remove", remover->path);
}

/*
 * True when the entry is gone; false with errno ENOTEMPTY or EEXIST for a directory to empty.
 * A mount point is EBUSY whether it is empty or not, so nothing is deleted behind one.
 */
static bool unlink_entry(int parent_fd, const char *name, bool is_dir)
{
    if (!is_dir) {
        if (unlinkat(parent_fd, name, 0) == 0 || errno == ENOENT)
            return true;
        if (errno != EISDIR)
            return false;
    }
    return unlinkat(parent_fd, name, AT_REMOVEDIR) == 0 || errno == ENOENT;
}

static enum rc remove_dir(struct remover *remover, int parent_fd, const char *name, int depth);

/* An entry of an open directory; one that is too deep is lifted. */
static enum rc remove_entry(struct remover *remover, int fd, const struct dirent *entry, int depth)
{
    if (unlink_entry(fd, entry->d_name, entry->d_type == DT_DIR))
        return RC_OK;
    /* Not a directory any more: the next pass finds what it is. */
    if (errno == ENOTDIR)
        return RC_OK;
    if (errno != ENOTEMPTY && errno != EEXIST)
        return io_error(remover->err, "remove an entry of", remover->path);
    return depth < DEPTH_MAX ? remove_dir(remover, fd, entry->d_name, depth + 1)
                             : lift(remover, fd, entry->d_name);
}

/* What another process adds meanwhile is left to the next pass. */
static enum rc remove_dir(struct remover *remover, int parent_fd, const char *name, int depth)
{
    int fd = open_dir(parent_fd, name);
    if (fd < 0)
        return errno == ENOENT ? RC_OK
                               : io_error(remover->err, "enter a directory of", remover->path);
    CLEANUP(closedirp) DIR *dir = fdopendir(fd);
    if (dir == NULL) {
        fd_close(fd);
        return io_error(remover->err, "list a directory of", remover->path);
    }
    const struct dirent *entry;
    while ((entry = next_entry(dir)) != NULL) {
        enum rc rc = remove_entry(remover, fd, entry, depth);
        if (rc != RC_OK)
            return rc;
    }
    (void)unlinkat(parent_fd, name, AT_REMOVEDIR);
    return RC_OK;
}

/* One pass over the top.  What was lifted or added meanwhile may need another. */
static enum rc empty_top_once(struct remover *remover, DIR *top, bool *ret_empty)
{
    bool empty = true;
    const struct dirent *entry;
    rewinddir(top);
    while ((entry = next_entry(top)) != NULL) {
        empty = false;
        enum rc rc = remove_entry(remover, remover->top_fd, entry, 1);
        if (rc != RC_OK)
            return rc;
    }
    *ret_empty = empty;
    return RC_OK;
}

static enum rc empty_top(const char *path, struct err *err)
{
    int fd = open_dir(AT_FDCWD, path);
    if (fd < 0)
        return errno == ENOENT ? RC_OK : io_error(err, "enter", path);
    CLEANUP(closedirp) DIR *top = fdopendir(fd);
    if (top == NULL) {
        fd_close(fd);
        return io_error(err, "list", path);
    }
    struct remover remover = {.top_fd = fd, .path = path, .err = err};
    bool empty = false;
    for (int pass = 0; pass < PASSES_MAX && !empty; pass++) {
        enum rc rc = empty_top_once(&remover, top, &empty);
        if (rc != RC_OK)
            return rc;
    }
    return RC_OK;
}

/* Without slashes at the end, which would follow a link; false for "/", "." and "..". */
static bool removable(const char *path, char to[PATH_MAX])
{
    size_t len = strlen(path);
    while (len > 0 && path[len - 1] == '/')
        len--;
    if (len == 0 || len >= PATH_MAX)
        return false;
    memcpy(to, path, len);
    to[len] = '\0';
    const char *slash = strrchr(to, '/');
    return !is_dot(slash != NULL ? slash + 1 : to);
}

enum rc dir_remove(const char *path, struct err *err)
{
    char plain[PATH_MAX];
    if (!removable(path, plain))
        return err_set(err, RC_INVALID, "INVALID_PATH", "%.300s is nothing to remove", path);
    if (unlink_entry(AT_FDCWD, plain, false) || errno == ENOTDIR)
        return RC_OK;
    if (errno != ENOTEMPTY && errno != EEXIST)
        return io_error(err, "remove", path);
    enum rc rc = empty_top(plain, err);
    if (rc != RC_OK)
        return rc;
    if (unlinkat(AT_FDCWD, plain, AT_REMOVEDIR) != 0 && errno != ENOENT)
        return io_error(err, "remove", path);
    return RC_OK;
}
