/*
 * artifacts.c - content-addressed bytes, and which run they belong to.
 *
 * In a store that several servers share the contents are rows (artifact_rows.c), else files:
 *
 *   DIR/ab/cdef...   content, named by its sha256, never changed
 *   DIR/tmp/         being written; emptied at start
 *
 * Content is written under tmp, fsynced, renamed; then its directory is fsynced, also by a
 * writer that finds the content there already: the first writer may not have fsynced it yet.  DIR
 * itself is fsynced when a process first uses one of its directories.
 */
#include "store/artifacts.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/fd.h"
#include "store/artifact_dir.h"
#include "store/artifact_rows.h"
#include "store/query.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { COPY_BYTES = 64 * 1024, NAMES_AT_ONCE = 500 };

static enum rc fail_errno(const char *what, const char *path, struct err *err)
{
    const char *code = errno == ENOSPC || errno == EDQUOT ? "STORE_FULL" : "STORE_IO";
    return err_set(err, RC_IO, code, "cannot %s %s: %s", what, path, strerror(errno));
}

static enum rc too_large(struct err *err)
{
    return err_set(err, RC_TOO_LARGE, "ARTIFACT_TOO_LARGE", "an artifact may have %d bytes at most",
                   ARTIFACT_BYTES_MAX);
}

static enum rc path_join(char to[PATH_MAX], const char *dir, const char *name, struct err *err)
{
    int len = snprintf(to, PATH_MAX, "%s/%s", dir, name);
    if (len >= 0 && len < PATH_MAX)
        return RC_OK;
    errno = ENAMETOOLONG;
    return fail_errno("use", dir, err);
}

/* The file of one content. */
struct place {
    size_t shelf; /* 0 to 255 */
    char dir[PATH_MAX];
    char path[PATH_MAX];
};

static enum rc dir_of(struct store *store, const char **ret_dir, struct err *err)
{
    *ret_dir = store_artifact_dir(store);
    if (*ret_dir == NULL)
        return err_set(err, RC_INVALID, "NO_ARTIFACT_DIR",
                       "this store was opened without a directory for artifacts");
    return RC_OK;
}

static enum rc name_check(const char *sha256, struct err *err)
{
    return sha256_text_valid(sha256)
               ? RC_OK
               : err_set(err, RC_INVALID, "INVALID_SHA256",
                         "an artifact is named by 64 lower-case hexadecimal digits");
}

static enum rc place_of(struct store *store, const char *sha256, struct place *ret_place,
                        struct err *err)
{
    const char *dir;
    enum rc rc = name_check(sha256, err);
    if (rc != RC_OK)
        return rc;
    rc = dir_of(store, &dir, err);
    char first[3] = {sha256[0], sha256[1], '\0'};
    ret_place->shelf = strtoul(first, NULL, 16);
    if (rc == RC_OK)
        rc = path_join(ret_place->dir, dir, first, err);
    if (rc == RC_OK)
        rc = path_join(ret_place->path, ret_place->dir, sha256 + 2, err);
    return rc;
}

enum rc artifact_dir_prepare(const char *dir, struct err *err)
{
    char temporary[PATH_MAX], parent[PATH_MAX];
    enum rc rc = path_join(temporary, dir, "tmp", err);
    if (rc == RC_OK)
        rc = path_join(parent, dir, "..", err);
    if (rc == RC_OK)
        rc = dir_remove(temporary, err);
    if (rc == RC_OK)
        rc = dir_make(temporary, 0700, err);
    return rc == RC_OK ? dir_sync(parent, err) : rc;
}

/* A content that is being written. */
struct incoming {
    int fd;
    char path[PATH_MAX]; /* "" once it has been renamed. */
};

static void incoming_end(struct incoming *incoming)
{
    fd_close(incoming->fd);
    if (incoming->path[0] != '\0')
        (void)unlink(incoming->path);
}

static enum rc incoming_begin(struct store *store, struct incoming *incoming, struct err *err)
{
    const char *dir;
    enum rc rc = dir_of(store, &dir, err);
    char path[PATH_MAX];
    if (rc == RC_OK)
        rc = path_join(path, dir, "tmp/XXXXXX", err);
    if (rc != RC_OK)
        return rc;
    incoming->fd = mkostemp(path, O_CLOEXEC);
    if (incoming->fd < 0)
        return fail_errno("create", path, err);
    memcpy(incoming->path, path, sizeof path);
    return RC_OK;
}

static atomic_bool *shelf_lasts(struct store *store, const struct place *place)
{
    return &store_artifact_shelves(store)->lasts[place->shelf];
}

static enum rc place_sync(struct store *store, const struct place *place, struct err *err)
{
    enum rc rc = dir_sync(place->dir, err);
    if (rc != RC_OK || atomic_load(shelf_lasts(store, place)))
        return rc;
    rc = dir_sync(store_artifact_dir(store), err);
    if (rc == RC_OK)
        atomic_store(shelf_lasts(store, place), true);
    return rc;
}

static void lock_shelves(struct store *store)
{
    pthread_mutex_lock(&store_artifact_shelves(store)->lock);
}

static void unlock_shelves(struct store *store)
{
    pthread_mutex_unlock(&store_artifact_shelves(store)->lock);
}

/* Is it there?  Then it counts as put now (artifact_sweep). */
static bool put_anew(struct store *store, const struct place *place)
{
    lock_shelves(store);
    bool there = utimensat(AT_FDCWD, place->path, NULL, 0) == 0 || file_exists(place->path);
    unlock_shelves(store);
    return there;
}

static bool rename_in(struct store *store, const char *from, const struct place *place)
{
    lock_shelves(store);
    bool done = rename(from, place->path) == 0;
    int error = errno;
    unlock_shelves(store);
    errno = error;
    return done;
}

static enum rc incoming_commit(struct store *store, struct incoming *incoming, const char *sha256,
                               struct err *err)
{
    struct place place;
    enum rc rc = place_of(store, sha256, &place, err);
    if (rc != RC_OK)
        return rc;
    rc = fault_point("artifact.write", err);
    if (rc != RC_OK)
        return rc;
    if (fsync(incoming->fd) != 0)
        return fail_errno("write", incoming->path, err);
    if (!atomic_load(shelf_lasts(store, &place)))
        rc = dir_make(place.dir, 0700, err);
    if (rc == RC_OK)
        rc = fault_point("artifact.rename", err);
    if (rc != RC_OK)
        return rc;
    if (!rename_in(store, incoming->path, &place))
        return fail_errno("create", place.path, err);
    incoming->path[0] = '\0';
    rc = place_sync(store, &place, err);
    return rc == RC_OK ? fault_point("artifact.done", err) : rc;
}

static enum rc file_put(struct store *store, const char *sha256, struct str bytes, struct err *err)
{
    struct place place;
    enum rc rc = place_of(store, sha256, &place, err);
    if (rc != RC_OK)
        return rc;
    if (put_anew(store, &place))
        return place_sync(store, &place, err);
    CLEANUP(incoming_end) struct incoming incoming = {.fd = -1};
    rc = incoming_begin(store, &incoming, err);
    if (rc == RC_OK)
        rc = fd_write_all(incoming.fd, bytes.at, bytes.len, err);
    if (rc == RC_OK)
        rc = incoming_commit(store, &incoming, sha256, err);
    return rc;
}

/* A file that was opened with O_TMPFILE gets its name.  false: not here. */
static bool give_name(struct store *store, int fd, const struct place *place)
{
    char from[sizeof "/proc/self/fd/" + 16];
    (void)snprintf(from, sizeof from, "/proc/self/fd/%d", fd);
    lock_shelves(store);
    bool done = linkat(AT_FDCWD, from, AT_FDCWD, place->path, AT_SYMLINK_FOLLOW) == 0 ||
                (errno == EEXIST && utimensat(AT_FDCWD, place->path, NULL, 0) == 0);
    unlock_shelves(store);
    return done;
}

static enum rc file_put_nameless(struct store *store, int fd, struct str bytes, const char *sha256,
                                 struct err *err)
{
    struct place place;
    enum rc rc = place_of(store, sha256, &place, err);
    if (rc != RC_OK)
        return rc;
    if (put_anew(store, &place))
        return place_sync(store, &place, err);
    rc = fault_point("artifact.write", err);
    if (rc == RC_OK && fsync(fd) != 0)
        rc = fail_errno("write", place.path, err);
    if (rc == RC_OK && !atomic_load(shelf_lasts(store, &place)))
        rc = dir_make(place.dir, 0700, err);
    if (rc == RC_OK)
        rc = fault_point("artifact.rename", err);
    if (rc != RC_OK)
        return rc;
    if (!give_name(store, fd, &place))
        return file_put(store, sha256, bytes, err);
    rc = place_sync(store, &place, err);
    return rc == RC_OK ? fault_point("artifact.done", err) : rc;
}

enum rc artifact_put_nameless(struct store *store, int fd, struct str bytes, const char *sha256,
                              struct err *err)
{
    if (bytes.len > ARTIFACT_BYTES_MAX)
        return too_large(err);
    return store_is_shared(store) ? artifact_rows_put(store, sha256, bytes, err)
                                  : file_put_nameless(store, fd, bytes, sha256, err);
}

enum rc artifact_put(struct store *store, struct str bytes, char ret_sha256[SHA256_TEXT_BYTES],
                     struct err *err)
{
    if (bytes.len > ARTIFACT_BYTES_MAX)
        return too_large(err);
    char sha256[SHA256_TEXT_BYTES];
    sha256_hex(bytes.at, bytes.len, sha256);
    enum rc rc = store_is_shared(store) ? artifact_rows_put(store, sha256, bytes, err)
                                        : file_put(store, sha256, bytes, err);
    if (rc == RC_OK)
        memcpy(ret_sha256, sha256, sizeof sha256);
    return rc;
}

/* A regular file and nothing else: a link or a pipe may have been planted in its place. */
static enum rc source_open(const char *path, int *ret_fd, struct err *err)
{
    CLEANUP(fd_closep) int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT
                   ? err_set(err, RC_NOT_FOUND, "NOT_FOUND", "there is no file %s", path)
                   : fail_errno("open", path, err);
    struct stat status;
    if (fstat(fd, &status) != 0)
        return fail_errno("read", path, err);
    if (!S_ISREG(status.st_mode))
        return err_set(err, RC_INVALID, "NOT_A_FILE", "%s is not a regular file", path);
    if (status.st_size > ARTIFACT_BYTES_MAX)
        return too_large(err);
    *ret_fd = fd;
    fd = -1;
    return RC_OK;
}

/* The file may grow while it is read: the limit is checked again. */
static enum rc source_copy(int from, int to, struct sha256 *sha, int64_t *ret_bytes,
                           struct err *err)
{
    char chunk[COPY_BYTES];
    int64_t total = 0;
    for (;;) {
        ssize_t got = read(from, chunk, sizeof chunk);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return fail_errno("read", "the content", err);
        if (got == 0)
            break;
        total += got;
        if (total > ARTIFACT_BYTES_MAX)
            return too_large(err);
        sha256_add(sha, chunk, (size_t)got);
        enum rc rc = fd_write_all(to, chunk, (size_t)got, err);
        if (rc != RC_OK)
            return rc;
    }
    *ret_bytes = total;
    return RC_OK;
}

/* To a file, of any size: it is never whole in memory. */
static enum rc file_put_from(struct store *store, int from, char ret_sha256[SHA256_TEXT_BYTES],
                             int64_t *ret_bytes, struct err *err)
{
    CLEANUP(incoming_end) struct incoming incoming = {.fd = -1};
    enum rc rc = incoming_begin(store, &incoming, err);
    if (rc != RC_OK)
        return rc;
    struct sha256 *sha = sha256_begin();
    int64_t bytes;
    rc = source_copy(from, incoming.fd, sha, &bytes, err);
    if (rc != RC_OK) {
        sha256_discard(sha);
        return rc;
    }
    char sha256[SHA256_TEXT_BYTES];
    sha256_end(sha, sha256);
    rc = incoming_commit(store, &incoming, sha256, err);
    if (rc != RC_OK)
        return rc;
    memcpy(ret_sha256, sha256, sizeof sha256);
    *ret_bytes = bytes;
    return RC_OK;
}

/* To rows: the hash comes first there, so it is read as a whole. */
static enum rc rows_put_from(struct store *store, int from, char ret_sha256[SHA256_TEXT_BYTES],
                             int64_t *ret_bytes, struct err *err)
{
    CLEANUP(fd_closep) int copy = memfd_create("artifact", MFD_CLOEXEC);
    if (copy < 0)
        return fail_errno("make", "a file in memory", err);
    struct sha256 *sha = sha256_begin();
    int64_t bytes;
    enum rc rc = source_copy(from, copy, sha, &bytes, err);
    char sha256[SHA256_TEXT_BYTES];
    sha256_end(sha, sha256);
    if (rc != RC_OK)
        return rc;
    void *at = bytes == 0 ? NULL : mmap(NULL, (size_t)bytes, PROT_READ, MAP_PRIVATE, copy, 0);
    if (at == MAP_FAILED)
        return fail_errno("read", "the content", err);
    rc = artifact_rows_put(store, sha256, (struct str){at, (size_t)bytes}, err);
    if (at != NULL)
        (void)munmap(at, (size_t)bytes);
    if (rc != RC_OK)
        return rc;
    memcpy(ret_sha256, sha256, sizeof sha256);
    *ret_bytes = bytes;
    return RC_OK;
}

enum rc artifact_put_file(struct store *store, const char *path, char ret_sha256[SHA256_TEXT_BYTES],
                          int64_t *ret_bytes, struct err *err)
{
    CLEANUP(fd_closep) int from = -1;
    enum rc rc = source_open(path, &from, err);
    if (rc != RC_OK)
        return rc;
    return store_is_shared(store) ? rows_put_from(store, from, ret_sha256, ret_bytes, err)
                                  : file_put_from(store, from, ret_sha256, ret_bytes, err);
}

static enum rc file_open(struct store *store, const char *sha256, int *ret_fd, int64_t *ret_bytes,
                         struct err *err)
{
    struct place place;
    enum rc rc = place_of(store, sha256, &place, err);
    if (rc != RC_OK)
        return rc;
    CLEANUP(fd_closep) int fd = open(place.path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return err_set(err, RC_NOT_FOUND, "NOT_FOUND", "there is no artifact %s", sha256);
    struct stat status;
    if (fd < 0 || fstat(fd, &status) != 0)
        return fail_errno("open", place.path, err);
    *ret_fd = fd;
    *ret_bytes = status.st_size;
    fd = -1;
    return RC_OK;
}

enum rc artifact_open(struct store *store, const char *sha256, int *ret_fd, int64_t *ret_bytes,
                      struct err *err)
{
    enum rc rc = name_check(sha256, err);
    if (rc != RC_OK)
        return rc;
    return store_is_shared(store) ? artifact_rows_open(store, sha256, ret_fd, ret_bytes, err)
                                  : file_open(store, sha256, ret_fd, ret_bytes, err);
}

static enum rc file_get(struct store *store, const char *sha256, struct buf *into, struct err *err)
{
    struct place place;
    enum rc rc = place_of(store, sha256, &place, err);
    return rc == RC_OK ? file_read(place.path, into, err) : rc;
}

enum rc artifact_get(struct store *store, const char *sha256, struct buf *into, struct err *err)
{
    size_t start = into->len;
    enum rc rc = name_check(sha256, err);
    if (rc == RC_OK)
        rc = store_is_shared(store) ? artifact_rows_get(store, sha256, into, err)
                                    : file_get(store, sha256, into, err);
    if (rc != RC_OK)
        return rc;
    char found[SHA256_TEXT_BYTES];
    sha256_hex(buf_text(into) + start, into->len - start, found);
    if (strcmp(found, sha256) == 0)
        return RC_OK;
    buf_cut(into, start);
    return err_set(err, RC_CORRUPT, "ARTIFACT_CORRUPT", "the content of artifact %s was damaged",
                   sha256);
}

static enum rc file_stat(struct store *store, const char *sha256, int64_t *ret_bytes,
                         struct err *err)
{
    struct place place;
    struct stat status;
    enum rc rc = place_of(store, sha256, &place, err);
    if (rc != RC_OK)
        return rc;
    if (stat(place.path, &status) != 0)
        return errno == ENOENT
                   ? err_set(err, RC_NOT_FOUND, "NOT_FOUND", "there is no artifact %s", sha256)
                   : fail_errno("look at", place.path, err);
    *ret_bytes = status.st_size;
    return RC_OK;
}

enum rc artifact_stat(const struct artifact_source *source, const char *sha256, int64_t *ret_bytes,
                      struct err *err)
{
    enum rc rc = name_check(sha256, err);
    if (rc != RC_OK)
        return rc;
    return store_is_shared(source->store) ? artifact_rows_stat(source->db, sha256, ret_bytes, err)
                                          : file_stat(source->store, sha256, ret_bytes, err);
}

enum rc artifact_read(const struct artifact_source *source, const char *sha256, struct buf *into,
                      struct err *err)
{
    enum rc rc = name_check(sha256, err);
    if (rc != RC_OK)
        return rc;
    return store_is_shared(source->store) ? artifact_rows_read(source->db, sha256, into, err)
                                          : file_get(source->store, sha256, into, err);
}

static enum rc file_drop(struct store *store, const char *sha256, struct err *err)
{
    struct place place;
    enum rc rc = place_of(store, sha256, &place, err);
    if (rc != RC_OK || unlink(place.path) == 0 || errno == ENOENT)
        return rc;
    return fail_errno("delete", place.path, err);
}

enum rc artifact_drop(const struct artifact_source *source, const char *sha256, struct err *err)
{
    enum rc rc = name_check(sha256, err);
    if (rc != RC_OK)
        return rc;
    return store_is_shared(source->store) ? artifact_rows_drop(source->db, sha256, err)
                                          : file_drop(source->store, sha256, err);
}

/* Under the lock, so that a content is not put anew between the look and the deletion. */
static enum rc file_sweep(struct store *store, const char *sha256, int64_t before_us,
                          struct artifact_swept *swept, struct err *err)
{
    struct place place;
    struct stat status;
    enum rc rc = place_of(store, sha256, &place, err);
    if (rc != RC_OK)
        return rc;
    lock_shelves(store);
    bool there = lstat(place.path, &status) == 0;
    swept->is_young = there && (int64_t)status.st_mtim.tv_sec * US_PER_SECOND >= before_us;
    if (there && !swept->is_young && unlink(place.path) == 0)
        swept->bytes = status.st_size;
    else if (there && !swept->is_young)
        rc = fail_errno("delete", place.path, err);
    unlock_shelves(store);
    return rc;
}

enum rc artifact_sweep(const struct artifact_source *source, const char *sha256, int64_t before_us,
                       struct artifact_swept *ret_swept, struct err *err)
{
    struct artifact_swept swept = {0};
    enum rc rc = name_check(sha256, err);
    if (rc != RC_OK)
        return rc;
    rc = store_is_shared(source->store)
             ? artifact_rows_sweep(source->db, sha256, before_us, &swept, err)
             : file_sweep(source->store, sha256, before_us, &swept, err);
    if (rc == RC_OK)
        *ret_swept = swept;
    return rc;
}

/* ---- all of them ---- */

static int by_name(const void *a, const void *b)
{
    const struct artifact_name *x = a, *y = b;
    return strcmp(x->sha256, y->sha256);
}

/* Names of one shelf behind `after`; all of them, since a directory has no order. */
static enum rc shelf_list(struct store *store, unsigned shelf, const char *after,
                          struct arena *arena, struct row_list *list, struct err *err)
{
    char path[PATH_MAX], digits[3];
    (void)snprintf(digits, sizeof digits, "%02x", shelf);
    enum rc rc = path_join(path, store_artifact_dir(store), digits, err);
    DIR *dir = rc == RC_OK ? opendir(path) : NULL;
    const struct dirent *entry;
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        char sha256[SHA256_TEXT_BYTES];
        int len = snprintf(sha256, sizeof sha256, "%s%s", digits, entry->d_name);
        if (len != SHA256_TEXT_BYTES - 1 || !sha256_text_valid(sha256) ||
            (after != NULL && strcmp(sha256, after) <= 0))
            continue;
        struct artifact_name *name = row_list_add(list, sizeof *name, arena);
        memcpy(name->sha256, sha256, sizeof sha256);
    }
    if (dir != NULL)
        (void)closedir(dir);
    return rc;
}

static enum rc file_names(struct store *store, const char *after, struct arena *arena,
                          struct artifact_name **ret_names, size_t *ret_count, struct err *err)
{
    struct row_list list = {0};
    const char *dir;
    char digits[3] = "00";
    if (after != NULL)
        memcpy(digits, after, 2);
    enum rc rc = dir_of(store, &dir, err);
    for (unsigned long shelf = strtoul(digits, NULL, 16);
         rc == RC_OK && list.count < NAMES_AT_ONCE && shelf < ARTIFACT_SHELVES; shelf++)
        rc = shelf_list(store, (unsigned)shelf, after, arena, &list, err);
    if (rc != RC_OK)
        return rc;
    if (list.count > 1)
        qsort(list.rows, list.count, sizeof(struct artifact_name), by_name);
    *ret_names = list.rows;
    *ret_count = list.count;
    return RC_OK;
}

enum rc artifact_names(const struct artifact_source *source, const char *after, struct arena *arena,
                       struct artifact_name **ret_names, size_t *ret_count, struct err *err)
{
    return store_is_shared(source->store)
               ? artifact_rows_names(source->db, after, arena, ret_names, ret_count, err)
               : file_names(source->store, after, arena, ret_names, ret_count, err);
}

#define ARTIFACT_COLUMNS "run_id, kind, name, sha256, bytes, created_us"

static const struct sql sql_link = {
    "artifact_link",
    "INSERT INTO run_artifacts (" ARTIFACT_COLUMNS ") VALUES ($1, $2, $3, $4, $5, $6)"
    " ON CONFLICT (run_id, kind, name) DO UPDATE SET sha256 = excluded.sha256,"
    " bytes = excluded.bytes, created_us = excluded.created_us",
    "ttttii",
};
/* What had the name before is still named by rows and events of the run. */
static const struct sql sql_keep = {
    "artifact_keep",
    "INSERT INTO artifact_uses (sha256, owner) SELECT sha256, run_id FROM run_artifacts"
    " WHERE run_id = $1 AND kind = $2 AND name = $3 AND sha256 <> $4"
    " ON CONFLICT (sha256, owner) DO NOTHING",
    "tttt",
};
static const struct sql sql_of_run = {
    "artifact_of_run",
    "SELECT " ARTIFACT_COLUMNS " FROM run_artifacts WHERE run_id = $1"
    " ORDER BY created_us, kind, name",
    "t",
};
static const struct sql sql_by_sha256 = {
    "artifact_by_sha256",
    "SELECT " ARTIFACT_COLUMNS " FROM run_artifacts WHERE sha256 = $1"
    " ORDER BY run_id, kind, name LIMIT 1",
    "t",
};

static enum rc artifact_decode(struct row_reader *reader, void *to, struct err *err)
{
    (void)err;
    struct artifact_row *row = to;
    row->run_id = read_id(reader);
    row->kind = read_text(reader);
    row->name = read_text(reader);
    row->sha256 = read_text(reader);
    row->bytes = read_int(reader);
    row->created_us = read_int(reader);
    return RC_OK;
}
static const struct shape artifact_shape = SHAPE_OF_RESULT("artifact", struct artifact_row,
                                                           artifact_decode);

enum rc artifacts_link(struct db *db, const struct artifact_row *row, struct err *err)
{
    enum rc rc = db_exec(
        db, &sql_keep,
        P_LIST(P_ID(&row->run_id), P_TEXT(row->kind), P_TEXT(row->name), P_TEXT(row->sha256)), NULL,
        err);
    if (rc != RC_OK)
        return rc;
    return db_exec(db, &sql_link,
                   P_LIST(P_ID(&row->run_id), P_TEXT(row->kind), P_TEXT(row->name),
                          P_TEXT(row->sha256), P_INT(row->bytes), P_INT(row->created_us)),
                   NULL, err);
}

enum rc artifacts_of_run(struct db *db, const struct id *run_id, struct arena *arena,
                         struct artifact_row **ret_rows, size_t *ret_count, struct err *err)
{
    return query_all(db, &sql_of_run, P_LIST(P_ID(run_id)), &artifact_shape, arena, ret_rows,
                     ret_count, err);
}

enum rc artifacts_by_sha256(struct db *db, const char *sha256, struct arena *arena,
                            struct artifact_row *ret_row, struct err *err)
{
    return query_one(db, &sql_by_sha256, P_LIST(P_TEXT(sha256)), &artifact_shape, arena, ret_row,
                     err);
}
