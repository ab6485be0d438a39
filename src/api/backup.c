/*
 * backup.c - a copy of the database, made while the server works and sent as the answer.
 *
 * The caller names no path: the copy is made in a private directory, opened, and removed before it
 * is sent.  One at a time: each takes as much disk space as the database.
 *
 *   DATA/backup.lock    held while a copy is made
 *   DATA/backup.part/   where it is made; removed before it is sent
 */
#include "api/routes.h"
#include "base/fd.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define PART "backup.part"

enum rc api_backup_clear(const char *data_dir, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    return dir_remove(arena_printf(&arena, "%s/" PART, data_dir), err);
}

static enum rc open_copy(const char *path, struct http_answer *answer, struct err *err)
{
    CLEANUP(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat status;
    if (fd < 0 || fstat(fd, &status) != 0)
        return err_set(err, RC_IO, "IO_ERROR", "cannot open %s: %s", path, strerror(errno));
    answer->file_bytes = status.st_size;
    answer->file_fd = fd_take(&fd);
    return RC_OK;
}

static enum rc make_copy(struct call *call, struct err *err)
{
    const struct api *api = call->api;
    const char *dir = arena_printf(&call->http.arena, "%s/" PART, api->data_dir);
    const char *path = arena_printf(&call->http.arena, "%s/drover.db", dir);
    enum rc rc = api_backup_clear(api->data_dir, err);
    if (rc == RC_OK)
        rc = dir_make(dir, 0700, err);
    if (rc == RC_OK)
        rc = store_backup(api->store, path, err);
    if (rc == RC_OK)
        rc = open_copy(path, &call->http.answer, err);
    (void)!api_backup_clear(api->data_dir, NULL); /* The open file stays readable. */
    return rc;
}

enum rc api_backup(struct call *call, struct db *db, struct err *err)
{
    (void)db;
    const struct api *api = call->api;
    CLEANUP(fd_closep) int lock = -1;
    enum rc rc = call_no_params(call, err);
    if (rc == RC_OK && store_is_shared(api->store))
        return store_backup(api->store, "drover.dump", err); /* Refused: names pg_dump. */
    if (rc == RC_OK)
        rc = file_lock(arena_printf(&call->http.arena, "%s/backup.lock", api->data_dir), 0, &lock,
                       err);
    if (rc == RC_CONFLICT)
        return err_set(err, rc, "BACKUP_RUNNING", "another backup is being made: wait for its end");
    if (rc == RC_OK)
        rc = make_copy(call, err);
    if (rc == RC_OK)
        call->http.answer.content_type = "application/vnd.sqlite3";
    return rc;
}
