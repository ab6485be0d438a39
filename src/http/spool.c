/*
 * spool.c - see spool.h.
 *
 * O_TMPFILE makes the file without a name, so that it can be linked into place later.  Where the
 * file system does not have it a name is made and removed at once.
 */
#include "http/spool.h"
#include "base/fd.h"
#include "base/mem.h"
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/queue.h>
#include <unistd.h>

enum {
    RESERVE_STEP = 64 * 1024, /* Small: a connection that sent one byte holds a whole step. */
    ADMIN_PARTS = 4,          /* One part of so many is kept for admins. */
};

struct spool_file {
    struct spool *spool;
    char holder[SPOOL_HOLDER_BYTES];
    bool admin;
    int64_t announced; /* -1: not known */
    int fd;
    int64_t reserved, written;
    void *map; /* NULL until spool_end. */
    LIST_ENTRY(spool_file) all;
};
LIST_HEAD(spool_file_list, spool_file);

struct spool {
    char *dir;
    int64_t bytes_max;
    struct spool_file_list files;
    atomic_int_fast64_t reserved, written, count, refused;
};

enum rc spool_new(const char *dir, int64_t bytes_max, struct spool **ret_spool, struct err *err)
{
    assert(bytes_max > 0);
    enum rc rc = dir_make(dir, 0700, err);
    if (rc != RC_OK)
        return rc;
    struct spool *spool = mem_alloc(sizeof *spool);
    spool->dir = mem_strdup(dir);
    spool->bytes_max = bytes_max;
    LIST_INIT(&spool->files);
    *ret_spool = spool;
    return RC_OK;
}

void spool_free(struct spool *spool)
{
    if (spool == NULL)
        return;
    assert(LIST_EMPTY(&spool->files));
    mem_free(spool->dir);
    mem_free(spool);
}

void spool_stats(const struct spool *spool, struct spool_stats *ret_stats)
{
    *ret_stats = (struct spool_stats){.reserved = atomic_load(&spool->reserved),
                                      .written = atomic_load(&spool->written),
                                      .files = atomic_load(&spool->count),
                                      .refused = atomic_load(&spool->refused)};
}

static enum rc fail_errno(const char *what, const struct spool *spool, struct err *err)
{
    if (errno == ENOSPC || errno == EDQUOT)
        return err_set(err, RC_BUSY, "STORE_FULL",
                       "the disk that holds %s is full: nothing of this request was stored",
                       spool->dir);
    return err_set(err, RC_IO, "STORE_IO", "cannot %s a file in %s: %s", what, spool->dir,
                   strerror(errno));
}

/* ---- The budget ---- */

struct usage {
    int64_t holder, admins, others; /* others: of all that are not admins, with the holder. */
};

static struct usage usage_of(const struct spool *spool, const char *holder)
{
    struct usage usage = {0};
    const struct spool_file *file;
    LIST_FOREACH(file, &spool->files, all)
    {
        if (text_same(file->holder, holder))
            usage.holder += file->reserved;
        *(file->admin ? &usage.admins : &usage.others) += file->reserved;
    }
    return usage;
}

/* May this file get so many bytes more? */
static enum rc check_budget(const struct spool_file *file, int64_t bytes, struct err *err)
{
    struct spool *spool = file->spool;
    int64_t max = spool->bytes_max, kept = max / ADMIN_PARTS;
    struct usage usage = usage_of(spool, file->holder);
    int64_t for_admins = usage.admins > kept ? usage.admins : kept;
    int64_t room = max - usage.others - (file->admin ? usage.admins : for_admins);
    int64_t holder_max = (file->admin ? max : max - kept) / 2;
    int64_t share = file->admin ? holder_max : (room + usage.holder) / 2;
    enum rc rc = RC_OK;
    if (usage.holder + bytes > holder_max)
        rc = err_set(err, RC_LIMIT, "UPLOAD_QUOTA",
                     "large requests of this token that are under way may take %lld bytes of "
                     "limits.spoolBytes (%lld): finish some first",
                     (long long)holder_max, (long long)max);
    else if (bytes > room || usage.holder + bytes > share)
        rc = err_set(err, RC_BUSY, "SPOOL_FULL",
                     "large requests under way leave too little of limits.spoolBytes (%lld) for "
                     "this one; try again",
                     (long long)max);
    if (rc != RC_OK)
        atomic_fetch_add(&spool->refused, 1);
    return rc;
}

/* Reserves `missing` bytes, and the rest of the step that they begin. */
static enum rc reserve(struct spool_file *file, int64_t missing, struct err *err)
{
    int64_t bytes = (missing + RESERVE_STEP - 1) / RESERVE_STEP * RESERVE_STEP;
    int64_t rest = file->announced - file->reserved;
    if (rest >= missing && rest < bytes)
        bytes = rest;
    enum rc rc = check_budget(file, bytes, err);
    if (rc != RC_OK)
        return rc;
    atomic_fetch_add(&file->spool->reserved, bytes);
    file->reserved += bytes;
    return RC_OK;
}

/* ---- Files ---- */

static int open_nameless(const struct spool *spool)
{
    int fd = open(spool->dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT))
        return fd;
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/XXXXXX", spool->dir) >= (int)sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0)
        (void)unlink(path);
    return fd;
}

enum rc spool_begin(struct spool *spool, const struct spool_claim *claim,
                    struct spool_file **ret_file, struct err *err)
{
    struct spool_file *file = mem_alloc(sizeof *file);
    file->spool = spool;
    file->fd = -1;
    file->admin = claim->admin;
    file->announced = claim->bytes;
    text_copy(file->holder, sizeof file->holder, claim->holder);
    LIST_INSERT_HEAD(&spool->files, file, all);
    atomic_fetch_add(&spool->count, 1);
    enum rc rc = check_budget(file, claim->bytes > 0 ? claim->bytes : 0, err);
    if (rc == RC_OK) {
        file->fd = open_nameless(spool);
        if (file->fd < 0)
            rc = fail_errno("make", spool, err);
    }
    if (rc != RC_OK) {
        spool_file_free(file);
        return rc;
    }
    *ret_file = file;
    return RC_OK;
}

static enum rc write_all(struct spool_file *file, const char *bytes, size_t len, struct err *err)
{
    while (len > 0) {
        ssize_t put = write(file->fd, bytes, len);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return fail_errno("write", file->spool, err);
        bytes += put;
        len -= (size_t)put;
        file->written += put;
        atomic_fetch_add(&file->spool->written, put);
    }
    return RC_OK;
}

enum rc spool_add(struct spool_file *file, const void *bytes, size_t len, struct err *err)
{
    assert(file->map == NULL);
    int64_t missing = file->written + (int64_t)len - file->reserved;
    enum rc rc = missing > 0 ? reserve(file, missing, err) : RC_OK;
    return rc == RC_OK ? write_all(file, bytes, len, err) : rc;
}

enum rc spool_end(struct spool_file *file, struct err *err)
{
    assert(file->written > 0 && file->map == NULL);
    void *map = mmap(NULL, (size_t)file->written, PROT_READ, MAP_SHARED, file->fd, 0);
    if (map == MAP_FAILED)
        return fail_errno("map", file->spool, err);
    file->map = map;
    return RC_OK;
}

int64_t spool_file_bytes(const struct spool_file *file)
{
    return file->written;
}

struct str spool_file_content(const struct spool_file *file)
{
    assert(file->map != NULL);
    return (struct str){file->map, (size_t)file->written};
}

int spool_file_fd(const struct spool_file *file)
{
    return file->fd;
}

void spool_file_free(struct spool_file *file)
{
    if (file == NULL)
        return;
    if (file->map != NULL)
        (void)munmap(file->map, (size_t)file->written);
    fd_close(file->fd);
    LIST_REMOVE(file, all);
    atomic_fetch_sub(&file->spool->reserved, file->reserved);
    atomic_fetch_sub(&file->spool->written, file->written);
    atomic_fetch_sub(&file->spool->count, 1);
    mem_free(file);
}
