/*
 * sink_file.c - the sink that is a file: one CloudEvent as JSON per line (NDJSON).
 *
 *     {name: audit-file, type: file, path: /var/log/drover/events.ndjson,
 *      rotateBytes: 104857600, keep: 8}
 *
 * Invariants
 * 1. Lines are whole: what a crash has left of a line is cut off when the file is opened, and what
 *    a failed write has left of a batch is cut off before anything else is written.
 * 2. A batch counts as delivered after its fsync.  When an fsync fails, its pages may be lost
 *    though a later fsync succeeds: the batch is cut off and written again.
 * 3. Only a file that is empty, or begins with an event, is written to: no other file is changed or
 *    renamed, wherever a link in the path leads.
 * 4. One process writes to the file at a time (flock), as long as all of them are drover.
 *
 * The path is looked at before each batch: a file that was renamed or removed by others (logrotate)
 * is opened anew.  With rotateBytes a file that would grow beyond that is renamed to PATH.1, the
 * older ones to PATH.2 ... PATH.<keep>, and the oldest one is replaced.
 */
#include "base/arena.h"
#include "base/buf.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/rotation.h"
#include "sink/sink.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    PATH_BYTES_MAX = 1024,
    ROTATE_BYTES_MIN = 4096,
    KEEP_DEFAULT = 8,
    KEEP_MAX = 1000,
    CHUNK_BYTES = 64 * 1024,
};
#define ROTATE_BYTES_MAX (INT64_C(1) << 50)

struct settings {
    const char *path;
    int64_t rotate_bytes; /* 0: it grows without a limit. */
    int64_t keep;         /* Older files that stay. */
};

struct file {
    const struct settings *settings;
    int fd; /* -1: to be opened by the next batch. */
    struct buf lines;
};

/* ---- configuration ---- */

static const void *file_decode(struct fields *fields, struct arena *arena)
{
    struct settings *settings = arena_array(arena, 1, sizeof *settings);
    const char *path = NULL;
    *settings = (struct settings){.keep = KEEP_DEFAULT};
    fields_string(fields, "path", FIELD_REQUIRED, &(struct field_text){1, PATH_BYTES_MAX}, &path);
    if (path != NULL && path[0] != '/')
        fields_fail(fields, "path", "path must be absolute, not %.100s", path);
    fields_int(fields, "rotateBytes", FIELD_OPTIONAL,
               &(struct field_range){ROTATE_BYTES_MIN, ROTATE_BYTES_MAX}, &settings->rotate_bytes);
    fields_int(fields, "keep", FIELD_OPTIONAL, &(struct field_range){1, KEEP_MAX}, &settings->keep);
    settings->path = arena_strdup(arena, path);
    return settings;
}

static const char *file_target(const void *settings)
{
    return ((const struct settings *)settings)->path;
}

/* Is it one of the names that rotation gives to older files? */
static bool is_rotated_name(const struct settings *settings, const char *path)
{
    return settings->rotate_bytes > 0 && rotation_has(settings->path, settings->keep, path);
}

static bool file_same(const void *settings, const void *other)
{
    const char *path = file_target(settings), *other_path = file_target(other);
    return text_same(path, other_path) || is_rotated_name(settings, other_path) ||
           is_rotated_name(other, path);
}

/* ---- opening ---- */

static enum rc failed(const char *what, const char *path, struct err *err)
{
    return err_set(err, RC_IO, "IO_ERROR", "cannot %s %.300s: %s", what, path, strerror(errno));
}

/* Where the last whole line ends. */
static enum rc find_end(int fd, off_t size, off_t *ret_end, const char *path, struct err *err)
{
    char chunk[CHUNK_BYTES];
    off_t from = size;
    while (from > 0) {
        size_t len = from < CHUNK_BYTES ? (size_t)from : CHUNK_BYTES;
        ssize_t got = pread(fd, chunk, len, from - (off_t)len);
        if (got != (ssize_t)len) {
            errno = got < 0 ? errno : EIO;
            return failed("read", path, err);
        }
        const char *newline = memrchr(chunk, '\n', len);
        if (newline != NULL) {
            *ret_end = from - (off_t)len + (newline + 1 - chunk);
            return RC_OK;
        }
        from -= (off_t)len;
    }
    *ret_end = 0;
    return RC_OK;
}

static enum rc only_zeros(int fd, off_t from, bool *ret_zeros, const char *path, struct err *err)
{
    char chunk[CHUNK_BYTES];
    ssize_t len;
    while ((len = pread(fd, chunk, sizeof chunk, from)) > 0) {
        for (ssize_t i = 0; i < len; i++)
            if (chunk[i] != '\0')
                return RC_OK; /* *ret_zeros stays false. */
        from += len;
    }
    *ret_zeros = len == 0;
    return len == 0 ? RC_OK : failed("read", path, err);
}

static const char event_begin[] = "{\"specversion\":\"1.0\",\"id\":\"";
enum { EVENT_BEGIN_BYTES = sizeof event_begin - 1 };

static enum rc check_first_line(int fd, const char *path, struct err *err)
{
    char found[EVENT_BEGIN_BYTES];
    ssize_t len = pread(fd, found, sizeof found, 0);
    if (len < 0)
        return failed("read", path, err);
    if (len == EVENT_BEGIN_BYTES && memcmp(found, event_begin, sizeof found) == 0)
        return RC_OK;
    return err_set(err, RC_CONFLICT, "IO_ERROR",
                   "the first line of %.300s is not an event: give the sink a file of its own",
                   path);
}

/* Cuts off a line that was not finished: an event that is delivered again, or zeros that a crash
   of the machine has left.  Anything else is not drover's to cut. */
static enum rc mend(int fd, off_t size, const char *path, struct err *err)
{
    char found[EVENT_BEGIN_BYTES];
    bool zeros = false;
    off_t end = 0;
    enum rc rc = find_end(fd, size, &end, path, err);
    if (rc == RC_OK && end > 0)
        rc = check_first_line(fd, path, err);
    if (rc != RC_OK || end == size)
        return rc;
    ssize_t len = pread(fd, found, sizeof found, end);
    if (len < 0)
        return failed("read", path, err);
    if (len > 0 && found[0] == '\0')
        rc = only_zeros(fd, end, &zeros, path, err);
    if (rc != RC_OK)
        return rc;
    if (!zeros && memcmp(found, event_begin, (size_t)len) != 0)
        return err_set(err, RC_CONFLICT, "IO_ERROR",
                       "the last line of %.300s is not an event: give the sink a file of its own",
                       path);
    if (ftruncate(fd, end) != 0 || fsync(fd) != 0)
        return failed("cut the unfinished last line off", path, err);
    return RC_OK;
}

/* The names in the directory of path, so that a file that was made or renamed stays so. */
static enum rc sync_names(const char *path, struct err *err)
{
    char dir[PATH_BYTES_MAX + 1];
    const char *slash = strrchr(path, '/');
    (void)snprintf(dir, sizeof dir, "%.*s", slash > path ? (int)(slash - path) : 1, path);
    return dir_sync(dir, err);
}

static enum rc open_file(const char *path, int *ret_fd, struct err *err)
{
    struct stat status;
    /* O_NONBLOCK: to open a FIFO would wait for its reader. */
    CLEANUP(fd_closep)
    int fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0600);
    if (fd < 0 || fstat(fd, &status) != 0)
        return failed("open", path, err);
    if (!S_ISREG(status.st_mode))
        return err_set(err, RC_IO, "IO_ERROR", "%.300s is not a regular file", path);
    if (flock(fd, LOCK_EX | LOCK_NB) != 0)
        return errno == EWOULDBLOCK
                   ? err_set(err, RC_CONFLICT, "LOCKED", "another process writes to %.300s", path)
                   : failed("lock", path, err);
    /* Its size may have changed until the lock was taken. */
    if (fstat(fd, &status) != 0)
        return failed("open", path, err);
    enum rc rc = mend(fd, status.st_size, path, err);
    if (rc == RC_OK && status.st_size == 0) /* Made just now, perhaps by rotate(). */
        rc = sync_names(path, err);
    if (rc == RC_OK)
        *ret_fd = fd_take(&fd);
    return rc;
}

static enum rc file_open(const void *settings, void **ret_sink, struct err *err)
{
    int fd;
    enum rc rc = open_file(file_target(settings), &fd, err);
    if (rc != RC_OK)
        return rc;
    struct file *file = mem_alloc(sizeof *file);
    file->settings = settings;
    file->fd = fd;
    buf_init(&file->lines, SINK_BATCH_BYTES + SINK_BATCH_RECORDS);
    *ret_sink = file;
    return RC_OK;
}

static void file_close(void *sink)
{
    struct file *file = sink;
    fd_close(file->fd);
    buf_release(&file->lines);
    mem_free(file);
}

/* ---- rotation ---- */

static enum rc rotate(struct file *file, struct err *err)
{
    const struct settings *settings = file->settings;
    enum rc rc = rotation_move(settings->path, settings->keep, err);
    if (rc != RC_OK)
        return rc;
    fd_close(fd_take(&file->fd));
    return open_file(settings->path, &file->fd, err);
}

/* ---- publishing ---- */

/* Is the open file still the one at the path? */
static bool in_place(const struct file *file)
{
    struct stat own, there;
    return file->fd >= 0 && fstat(file->fd, &own) == 0 && stat(file->settings->path, &there) == 0 &&
           own.st_dev == there.st_dev && own.st_ino == there.st_ino;
}

static enum rc prepare(struct file *file, off_t *ret_size, struct err *err)
{
    const struct settings *settings = file->settings;
    enum rc rc = RC_OK;
    if (!in_place(file)) {
        fd_close(fd_take(&file->fd));
        rc = open_file(settings->path, &file->fd, err);
    }
    if (rc != RC_OK)
        return rc;
    *ret_size = lseek(file->fd, 0, SEEK_END);
    if (*ret_size < 0)
        return failed("read the size of", settings->path, err);
    if (settings->rotate_bytes == 0 || *ret_size == 0 ||
        *ret_size + (off_t)file->lines.len <= settings->rotate_bytes)
        return RC_OK;
    *ret_size = 0;
    return rotate(file, err);
}

static enum rc append(struct file *file, struct err *err)
{
    off_t size = 0;
    enum rc rc = prepare(file, &size, err);
    if (rc != RC_OK)
        return rc;
    rc = fd_write_all(file->fd, file->lines.data, file->lines.len, err);
    if (rc == RC_OK && fsync(file->fd) == 0)
        return RC_OK;
    rc = rc == RC_OK ? failed("sync", file->settings->path, err)
                     : err_wrap(err, rc, file->settings->path);
    /* If this fails, too, opening it again cuts off the part of a line that was written. */
    if (ftruncate(file->fd, size) != 0 || fsync(file->fd) != 0)
        fd_close(fd_take(&file->fd));
    return rc;
}

static struct sink_outcome file_deliver(void *sink, const struct sink_record *records, size_t count)
{
    struct file *file = sink;
    struct sink_outcome outcome = {.verdict = SINK_DELIVERED, .delivered = count};
    buf_clear(&file->lines);
    for (size_t i = 0; i < count; i++) {
        buf_add(&file->lines, records[i].json.at, records[i].json.len);
        buf_addc(&file->lines, '\n');
    }
    if (append(file, &outcome.why) != RC_OK) {
        outcome.verdict = SINK_RETRY;
        outcome.delivered = 0;
    }
    return outcome;
}

const struct sink_ops sink_file = {
    .type = "file",
    .target_is_path = true,
    .decode = file_decode,
    .target = file_target,
    .same = file_same,
    .open = file_open,
    .deliver = file_deliver,
    .close = file_close,
};
