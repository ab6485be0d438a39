/*
 * disk_queue.c - see disk_queue.h.
 *
 * Every call opens the files anew, under the lock: the processes that share a queue live for the
 * length of one command, and one that is killed leaves no state but the files.
 *
 * Finding the end of the queue walks over its records by their lengths; only the last one can have
 * been cut short, so only its sum is computed then.  Readers compute every sum.
 */
#include "base/disk_queue.h"
#include "base/buf.h"
#include "base/fd.h"
#include "base/hash.h"
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    LENGTH_DIGITS = 8,
    SUM_DIGITS = 16,
    HEADER_BYTES = LENGTH_DIGITS + 1 + SUM_DIGITS + 1,
    FRAME_BYTES = HEADER_BYTES + 1, /* And the line feed. */
    WINDOW_BYTES = 64 * 1024,
    HEAD_BYTES_MAX = 64,
    LOCK_WAIT_MS = 10 * 1000,
    COPY_BYTES = 64 * 1024,
};

/* Where the queue begins. */
struct head {
    int64_t generation, offset;
};

/* The queue's files while the lock is held. */
struct files {
    const struct disk_queue *queue;
    struct arena arena; /* Names, and the window. */
    int lock_fd, fd;    /* fd: of the records, or -1 when there are none. */
    struct head head;
    int64_t size; /* Of the file of records. */
    char *window;
    int64_t window_at;
    size_t window_len;
};

static enum rc failed(struct err *err, const char *what, const char *path)
{
    return err_set(err, RC_IO, "IO_ERROR", "cannot %s %.300s: %s", what, path, strerror(errno));
}

static const char *name_in(struct files *files, const char *name)
{
    return arena_printf(&files->arena, "%s/%s", files->queue->dir, name);
}

static const char *records_name(struct files *files, int64_t generation)
{
    return arena_printf(&files->arena, "%s/records.%" PRId64, files->queue->dir, generation);
}

static void files_close(struct files *files)
{
    fd_close(files->fd);
    fd_close(files->lock_fd);
    arena_release(&files->arena);
}

/* ---- opening ---- */

static enum rc read_head(struct files *files, struct err *err)
{
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, HEAD_BYTES_MAX);
    const char *path = name_in(files, "head");
    enum rc rc = file_read(path, &text, err);
    char *rest = NULL;
    if (rc == RC_NOT_FOUND) {
        if (err != NULL)
            err_clear(err);
        files->head = (struct head){.generation = 1};
        return RC_OK;
    }
    if (rc != RC_OK)
        return rc;
    files->head.generation = strtoll(buf_text(&text), &rest, 10);
    files->head.offset = strtoll(rest, &rest, 10);
    if (files->head.generation < 1 || files->head.offset < 0 || strcmp(rest, "\n") != 0)
        return err_set(err, RC_CORRUPT, "IO_ERROR",
                       "%.300s is damaged: write \"N 0\" and a line feed into it, where N is the "
                       "number of the newest file records.N beside it",
                       path);
    return RC_OK;
}

static enum rc open_records(struct files *files, int flags, struct err *err)
{
    const char *path = records_name(files, files->head.generation);
    struct stat status;
    files->fd = open(path, flags | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (files->fd < 0 && errno == ENOENT)
        return RC_OK;
    if (files->fd < 0 || fstat(files->fd, &status) != 0)
        return failed(err, "open", path);
    files->size = status.st_size;
    if (files->head.offset > files->size)
        return err_set(err, RC_CORRUPT, "IO_ERROR",
                       "%.300s ends before the place that the file head beside it names: remove "
                       "both",
                       path);
    return RC_OK;
}

static enum rc take_lock(struct files *files, struct err *err)
{
    enum rc rc = file_lock(name_in(files, "lock"), LOCK_WAIT_MS, &files->lock_fd, err);
    return rc == RC_CONFLICT ? RC_BUSY : rc;
}

/* flags: of open().  Without O_CREAT a missing directory is an empty queue. */
static enum rc files_open(struct files *files, const struct disk_queue *queue, int flags,
                          struct err *err)
{
    *files = (struct files){.queue = queue, .lock_fd = -1, .fd = -1};
    enum rc rc = RC_OK;
    if ((flags & O_CREAT) != 0)
        rc = dir_make_durable(queue->dir, 0700, err);
    else if (!file_exists(queue->dir))
        return RC_OK;
    if (rc == RC_OK)
        rc = take_lock(files, err);
    if (rc == RC_OK)
        rc = read_head(files, err);
    return rc == RC_OK ? open_records(files, flags, err) : rc;
}

/* ---- records ---- */

static enum rc read_at(const struct files *files, int64_t at, void *to, size_t len, struct err *err)
{
    for (size_t done = 0; done < len;) {
        ssize_t got = pread(files->fd, (char *)to + done, len - done, (off_t)at + (off_t)done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return failed(err, "read records of", files->queue->dir);
        done += (size_t)got;
    }
    return RC_OK;
}

/* `len` bytes, which must be in the file, through the window. */
static enum rc look_at(struct files *files, int64_t at, size_t len, const char **ret,
                       struct err *err)
{
    assert(len <= WINDOW_BYTES && at + (int64_t)len <= files->size);
    bool inside = files->window_len > 0 && at >= files->window_at &&
                  at + (int64_t)len <= files->window_at + (int64_t)files->window_len;
    if (!inside) {
        int64_t left = files->size - at;
        size_t wanted = left < WINDOW_BYTES ? (size_t)left : WINDOW_BYTES;
        if (files->window == NULL)
            files->window = arena_alloc(&files->arena, WINDOW_BYTES);
        files->window_len = 0;
        enum rc rc = read_at(files, at, files->window, wanted, err);
        if (rc != RC_OK)
            return rc;
        files->window_at = at;
        files->window_len = wanted;
    }
    *ret = files->window + (at - files->window_at);
    return RC_OK;
}

struct record {
    int64_t at;
    size_t len;
    char sum[SUM_DIGITS + 1];
};

static int64_t end_of(const struct record *record)
{
    return record->at + FRAME_BYTES + (int64_t)record->len;
}

static bool parse_header(const char *header, struct record *record)
{
    char digits[LENGTH_DIGITS + 1];
    char *end = NULL;
    memcpy(digits, header, LENGTH_DIGITS);
    digits[LENGTH_DIGITS] = '\0';
    memcpy(record->sum, header + LENGTH_DIGITS + 1, SUM_DIGITS);
    record->sum[SUM_DIGITS] = '\0';
    if (strspn(digits, "0123456789abcdef") != LENGTH_DIGITS ||
        strspn(record->sum, "0123456789abcdef") != SUM_DIGITS || header[LENGTH_DIGITS] != ' ' ||
        header[HEADER_BYTES - 1] != ' ')
        return false;
    record->len = (size_t)strtoul(digits, &end, 16);
    return record->len <= DISK_QUEUE_RECORD_MAX;
}

/* Is there a record by its header and its length?  Its sum is not looked at. */
static enum rc frame_at(struct files *files, int64_t at, struct record *ret, bool *ret_found,
                        struct err *err)
{
    struct record record = {.at = at};
    const char *bytes = NULL;
    *ret_found = false;
    if (at + FRAME_BYTES > files->size)
        return RC_OK;
    enum rc rc = look_at(files, at, HEADER_BYTES, &bytes, err);
    if (rc == RC_OK && parse_header(bytes, &record) && end_of(&record) <= files->size) {
        *ret = record;
        *ret_found = true;
    }
    return rc;
}

static void sum_of(struct str bytes, char to[SUM_DIGITS + 1])
{
    char sha256[SHA256_TEXT_BYTES];
    sha256_hex(bytes.at, bytes.len, sha256);
    memcpy(to, sha256, SUM_DIGITS);
    to[SUM_DIGITS] = '\0';
}

/* The bytes, in the arena; *ret_whole: they have their sum. */
static enum rc read_record(struct files *files, const struct record *record, struct arena *arena,
                           struct str *ret, bool *ret_whole, struct err *err)
{
    char sum[SUM_DIGITS + 1];
    char *bytes = arena_alloc(arena, record->len + 1);
    enum rc rc = read_at(files, record->at + HEADER_BYTES, bytes, record->len, err);
    if (rc != RC_OK)
        return rc;
    *ret = (struct str){bytes, record->len};
    sum_of(*ret, sum);
    *ret_whole = strcmp(sum, record->sum) == 0;
    return RC_OK;
}

static enum rc check_sum(struct files *files, const struct record *record, bool *ret_whole,
                         struct err *err)
{
    struct str bytes;
    struct arena_mark mark = arena_mark(&files->arena);
    enum rc rc = read_record(files, record, &files->arena, &bytes, ret_whole, err);
    arena_rewind(&files->arena, &mark);
    return rc;
}

/* The first whole record at or behind a place where a line begins after `at`. */
static enum rc find_after(struct files *files, int64_t at, struct record *ret, bool *ret_found,
                          struct err *err)
{
    enum rc rc = RC_OK;
    *ret_found = false;
    while (rc == RC_OK && !*ret_found && at < files->size) {
        const char *bytes = NULL;
        size_t len = (size_t)(files->size - at < WINDOW_BYTES ? files->size - at : WINDOW_BYTES);
        rc = look_at(files, at, len, &bytes, err);
        const char *line = rc == RC_OK ? memchr(bytes, '\n', len) : NULL;
        at += line != NULL ? line - bytes + 1 : (int64_t)len;
        if (rc == RC_OK && line != NULL)
            rc = frame_at(files, at, ret, ret_found, err);
        if (rc == RC_OK && *ret_found)
            rc = check_sum(files, ret, ret_found, err);
    }
    return rc;
}

/* The record at a place, or the first whole one behind bytes that are none. */
static enum rc record_from(struct files *files, int64_t at, struct record *ret, bool *ret_found,
                           struct err *err)
{
    enum rc rc = frame_at(files, at, ret, ret_found, err);
    return rc == RC_OK && !*ret_found ? find_after(files, at, ret, ret_found, err) : rc;
}

/* Where the records end, and how many there are. */
struct extent {
    int64_t end;
    size_t records;
};

static enum rc measure(struct files *files, struct extent *ret, struct err *err)
{
    struct extent extent = {.end = files->head.offset};
    struct record last = {0}, record;
    bool found = files->fd >= 0, whole = true;
    enum rc rc = RC_OK;
    while (rc == RC_OK && found) {
        rc = record_from(files, extent.end, &record, &found, err);
        if (rc != RC_OK || !found)
            break;
        last = record;
        extent.end = end_of(&record);
        extent.records++;
    }
    if (rc == RC_OK && extent.records > 0)
        rc = check_sum(files, &last, &whole, err);
    if (rc != RC_OK)
        return rc;
    if (!whole) {
        extent.end = last.at;
        extent.records--;
    }
    *ret = extent;
    return RC_OK;
}

/* ---- append ---- */

static enum rc frame_records(const struct str *records, size_t count, struct buf *to,
                             struct err *err)
{
    char sum[SUM_DIGITS + 1];
    for (size_t i = 0; i < count; i++) {
        if (records[i].len > DISK_QUEUE_RECORD_MAX)
            return err_set(err, RC_TOO_LARGE, "TOO_LARGE", "a record has %zu bytes; it may have %d",
                           records[i].len, DISK_QUEUE_RECORD_MAX);
        assert(memchr(records[i].at, '\n', records[i].len) == NULL);
        sum_of(records[i], sum);
        buf_addf(to, "%08zx %s ", records[i].len, sum);
        buf_add(to, records[i].at, records[i].len);
        buf_addc(to, '\n');
    }
    return RC_OK;
}

static enum rc check_room(const struct files *files, const struct extent *extent, size_t count,
                          size_t bytes, struct err *err)
{
    const struct disk_queue *queue = files->queue;
    int64_t waiting = extent->end - files->head.offset;
    if (count <= queue->records_max && extent->records <= queue->records_max - count &&
        (int64_t)bytes <= queue->bytes_max && waiting <= queue->bytes_max - (int64_t)bytes)
        return RC_OK;
    return err_set(err, RC_LIMIT, "QUEUE_FULL",
                   "%.300s holds %zu records of %" PRId64 " bytes, and may hold %zu of %" PRId64,
                   queue->dir, extent->records, waiting, queue->records_max, queue->bytes_max);
}

/* Cut off again where that failed: a full disk leaves no half record. */
static enum rc write_records(struct files *files, int64_t at, struct str bytes, struct err *err)
{
    enum rc rc = RC_OK;
    if (at < files->size && ftruncate(files->fd, (off_t)at) != 0)
        return failed(err, "write to", files->queue->dir);
    if (lseek(files->fd, (off_t)at, SEEK_SET) < 0)
        rc = failed(err, "write to", files->queue->dir);
    if (rc == RC_OK)
        rc = fd_write_all(files->fd, bytes.at, bytes.len, err);
    if (rc == RC_OK && fsync(files->fd) != 0)
        rc = failed(err, "sync", files->queue->dir);
    if (rc != RC_OK)
        (void)!ftruncate(files->fd, (off_t)at);
    return rc;
}

enum rc disk_queue_append(const struct disk_queue *queue, const struct str *records, size_t count,
                          struct err *err)
{
    CLEANUP(files_close) struct files files;
    CLEANUP(buf_release) struct buf bytes;
    struct extent extent = {0};
    size_t room = 1;
    for (size_t i = 0; i < count; i++)
        room += records[i].len + FRAME_BYTES;
    buf_init(&bytes, room);
    enum rc rc = files_open(&files, queue, O_RDWR | O_CREAT, err);
    if (rc == RC_OK)
        rc = frame_records(records, count, &bytes, err);
    if (rc == RC_OK)
        rc = measure(&files, &extent, err);
    if (rc == RC_OK)
        rc = check_room(&files, &extent, count, bytes.len, err);
    if (rc != RC_OK)
        return rc;
    assert(!bytes.overflow);
    bool fresh = files.size == 0;
    rc = write_records(&files, extent.end, buf_str(&bytes), err);
    return rc == RC_OK && fresh ? dir_sync(queue->dir, err) : rc;
}

/* ---- read ---- */

static enum rc read_part(struct files *files, const struct disk_queue_want *want,
                         struct arena *arena, struct disk_queue_part *part, struct err *err)
{
    int64_t at = files->head.offset;
    size_t bytes = 0;
    enum rc rc = RC_OK;
    while (rc == RC_OK && part->count < want->records_max) {
        struct record record;
        bool found = false;
        rc = record_from(files, at, &record, &found, err);
        if (rc != RC_OK || !found || (part->count > 0 && bytes + record.len > want->bytes_max))
            break;
        struct str *to = &part->records[part->count];
        rc = read_record(files, &record, arena, to, &found, err);
        if (rc == RC_OK && !found) /* Its bytes are damaged, or it was cut short. */
            rc = find_after(files, record.at, &record, &found, err);
        if (rc != RC_OK || !found)
            break;
        bool moved = record.at != at;
        part->damaged_bytes += record.at - at;
        at = record.at;
        if (moved) /* Once more from here: its length may be too much for this part. */
            continue;
        at = end_of(&record);
        bytes += record.len;
        part->ends[part->count++] = at;
    }
    return rc;
}

enum rc disk_queue_read(const struct disk_queue *queue, const struct disk_queue_want *want,
                        struct arena *arena, struct disk_queue_part *ret_part, struct err *err)
{
    CLEANUP(files_close) struct files files;
    enum rc rc = files_open(&files, queue, O_RDONLY, err);
    struct disk_queue_part part = {.generation = files.head.generation};
    part.records = arena_array(arena, want->records_max, sizeof *part.records);
    part.ends = arena_array(arena, want->records_max, sizeof *part.ends);
    if (rc == RC_OK && files.fd >= 0)
        rc = read_part(&files, want, arena, &part, err);
    if (rc == RC_OK)
        *ret_part = part;
    return rc;
}

enum rc disk_queue_level(const struct disk_queue *queue, struct disk_queue_level *ret,
                         struct err *err)
{
    CLEANUP(files_close) struct files files;
    struct extent extent = {0};
    enum rc rc = files_open(&files, queue, O_RDONLY, err);
    if (rc == RC_OK)
        rc = measure(&files, &extent, err);
    if (rc == RC_OK)
        *ret = (struct disk_queue_level){.records = extent.records,
                                         .bytes = extent.end - files.head.offset};
    return rc;
}

/* ---- remove ---- */

static enum rc write_head(struct files *files, const struct head *head, struct err *err)
{
    char text[HEAD_BYTES_MAX];
    int len = snprintf(text, sizeof text, "%" PRId64 " %" PRId64 "\n", head->generation,
                       head->offset);
    return file_write_durable(name_in(files, "head"), text, (size_t)len, 0600, err);
}

static enum rc copy_rest(struct files *files, int64_t from, int to_fd, struct err *err)
{
    char *bytes = arena_alloc(&files->arena, COPY_BYTES);
    enum rc rc = RC_OK;
    while (rc == RC_OK && from < files->size) {
        size_t len = (size_t)(files->size - from < COPY_BYTES ? files->size - from : COPY_BYTES);
        rc = read_at(files, from, bytes, len, err);
        if (rc == RC_OK)
            rc = fd_write_all(to_fd, bytes, len, err);
        from += (int64_t)len;
    }
    return rc;
}

/* The rest becomes the file of the next generation: nothing of it when `from` is its end.  A crash
   before the head is replaced leaves a file that the next change of generation overwrites. */
static enum rc next_generation(struct files *files, int64_t from, struct err *err)
{
    const struct head next = {.generation = files->head.generation + 1};
    const char *path = records_name(files, next.generation);
    CLEANUP(fd_closep)
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return failed(err, "write", path);
    enum rc rc = copy_rest(files, from, fd, err);
    if (rc == RC_OK && fsync(fd) != 0)
        rc = failed(err, "sync", path);
    if (rc == RC_OK)
        rc = write_head(files, &next, err);
    if (rc != RC_OK)
        return rc;
    (void)unlink(records_name(files, next.generation - 1));
    (void)unlink(records_name(files, next.generation - 2)); /* Left by a crash, if at all. */
    return RC_OK;
}

enum rc disk_queue_remove(const struct disk_queue *queue, const struct disk_queue_part *part,
                          size_t count, struct err *err)
{
    CLEANUP(files_close) struct files files;
    struct extent extent = {0};
    assert(count >= 1 && count <= part->count);
    int64_t end = part->ends[count - 1];
    enum rc rc = files_open(&files, queue, O_RDWR, err);
    if (rc != RC_OK)
        return rc;
    if (files.fd < 0 || files.head.generation != part->generation || files.head.offset > end)
        return err_set(err, RC_CONFLICT, "CONFLICT",
                       "another process has removed records of %.300s", queue->dir);
    files.head.offset = end;
    rc = measure(&files, &extent, err);
    if (rc != RC_OK)
        return rc;
    if (extent.records == 0)
        return next_generation(&files, files.size, err);
    return end > queue->bytes_max ? next_generation(&files, end, err)
                                  : write_head(&files, &files.head, err);
}

enum rc disk_queue_lock_reader(const struct disk_queue *queue, int wait_ms, int *ret_fd,
                               struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    enum rc rc = dir_make_durable(queue->dir, 0700, err);
    if (rc == RC_OK)
        rc = file_lock(arena_printf(&arena, "%s/reader", queue->dir), wait_ms, ret_fd, err);
    return rc == RC_CONFLICT ? RC_BUSY : rc;
}
