#include "control/watch/log_file.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/rotation.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINES_BYTES_MAX = 1024 * 1024 };

struct log_file {
    struct log_file_config config;
    struct log_sink *sink;
    int fd; /* -1: to be opened by the next line. */
    struct buf lines;
};

static enum rc failed(const char *what, const char *path, struct err *err)
{
    return err_set(err, RC_IO, "IO_ERROR", "cannot %s the log file %.300s: %s", what, path,
                   strerror(errno));
}

static enum rc open_file(const char *path, int *ret_fd, struct err *err)
{
    struct stat status;
    /* O_NONBLOCK: to open a FIFO would wait for its reader. */
    CLEANUP(fd_closep)
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0600);
    if (fd < 0 || fstat(fd, &status) != 0)
        return failed("open", path, err);
    if (!S_ISREG(status.st_mode))
        return err_set(err, RC_IO, "IO_ERROR", "the log file %.300s is not a regular file", path);
    if (flock(fd, LOCK_EX | LOCK_NB) != 0)
        return errno == EWOULDBLOCK ? err_set(err, RC_CONFLICT, "LOCKED",
                                              "another process writes to the log file %.300s", path)
                                    : failed("lock", path, err);
    *ret_fd = fd_take(&fd);
    return RC_OK;
}

/* Is the open file still the one at the path?  logrotate may have moved it. */
static bool in_place(const struct log_file *file)
{
    struct stat own, there;
    return file->fd >= 0 && fstat(file->fd, &own) == 0 && stat(file->config.path, &there) == 0 &&
           own.st_dev == there.st_dev && own.st_ino == there.st_ino;
}

static enum rc prepare(struct log_file *file, off_t *ret_size, struct err *err)
{
    const struct log_file_config *config = &file->config;
    enum rc rc = RC_OK;
    if (!in_place(file)) {
        fd_close(fd_take(&file->fd));
        rc = open_file(config->path, &file->fd, err);
    }
    if (rc != RC_OK)
        return rc;
    *ret_size = lseek(file->fd, 0, SEEK_END);
    if (*ret_size < 0)
        return failed("read the size of", config->path, err);
    if (*ret_size == 0 || (int64_t)*ret_size + (int64_t)file->lines.len <= config->max_bytes)
        return RC_OK;
    *ret_size = 0;
    rc = rotation_move(config->path, config->keep, err);
    if (rc != RC_OK)
        return rc;
    fd_close(fd_take(&file->fd));
    return open_file(config->path, &file->fd, err);
}

/* What is in file->lines. */
static enum rc append(struct log_file *file, struct err *err)
{
    off_t size = 0;
    if (file->lines.len == 0)
        return RC_OK;
    enum rc rc = prepare(file, &size, err);
    if (rc == RC_OK) {
        rc = fd_write_all(file->fd, file->lines.data, file->lines.len, err);
        if (rc != RC_OK &&
            ftruncate(file->fd, size) != 0) /* A disk that is full: part of a line. */
            fd_close(fd_take(&file->fd));
    }
    buf_clear(&file->lines);
    return rc;
}

/* In pieces that fit into one file.  Of a batch that fails some lines may be written again. */
static enum rc write_lines(void *ctx, struct envelope *const *lines, size_t count, struct err *err)
{
    struct log_file *file = ctx;
    enum rc rc = RC_OK;
    buf_clear(&file->lines);
    for (size_t i = 0; rc == RC_OK && i < count; i++) {
        struct str line = lines[i]->data;
        if ((int64_t)(file->lines.len + line.len) >= file->config.max_bytes)
            rc = append(file, err);
        buf_add(&file->lines, line.at, line.len);
        buf_addc(&file->lines, '\n');
    }
    return rc == RC_OK ? append(file, err) : rc;
}

enum rc log_file_start(const struct log_file_config *config, struct bus *bus,
                       struct log_file **ret_file, struct err *err)
{
    struct log_file *file = mem_alloc(sizeof *file);
    file->config = *config;
    file->fd = -1;
    buf_init(&file->lines, LINES_BYTES_MAX);
    enum rc rc = open_file(config->path, &file->fd, err);
    if (rc == RC_OK)
        rc = log_sink_start(&(struct log_sink_spec){.bus = bus,
                                                    .who = BUS_LOG_FILE,
                                                    .level = config->level,
                                                    .write = write_lines,
                                                    .ctx = file},
                            &file->sink, err);
    if (rc != RC_OK) {
        (void)log_file_stop(file, 0);
        return rc;
    }
    *ret_file = file;
    return RC_OK;
}

int64_t log_file_stop(struct log_file *file, int64_t until_us)
{
    if (file == NULL)
        return 0;
    int64_t left = log_sink_stop(file->sink, until_us);
    fd_close(file->fd);
    buf_release(&file->lines);
    mem_free(file);
    return left;
}
