#include "server/own_files.h"
#include "base/str.h"
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HIDDEN_MAX = 4 };

struct own_files own_files_of(const struct server_options *options, struct arena *arena)
{
    static const char sqlite[] = "sqlite:";
    const char **hidden = arena_array(arena, HIDDEN_MAX + 1, sizeof *hidden);
    const char *db = options->db;
    size_t count = 0;
    if (options->config != NULL)
        hidden[count++] = options->config;
    if (db != NULL && text_starts(db, sqlite)) {
        const char *path = db + strlen(sqlite);
        hidden[count++] = path;
        hidden[count++] = arena_printf(arena, "%s-wal", path);
        hidden[count++] = arena_printf(arena, "%s-shm", path);
    }
    return (struct own_files){options, hidden};
}

/* The path without links.  The file itself need not be there: then its directory is resolved. */
static bool resolve(const char *path, char to[PATH_MAX])
{
    if (realpath(path, to) != NULL)
        return true;
    char dir[PATH_MAX], real[PATH_MAX];
    const char *slash = strrchr(path, '/');
    size_t len = slash == NULL ? 0 : (size_t)(slash - path);
    if (len >= sizeof dir)
        return false;
    (void)snprintf(dir, sizeof dir, "%.*s", len > 0 ? (int)len : 1, slash == NULL ? "." : path);
    const char *name = slash == NULL ? path : slash + 1;
    return realpath(dir, real) != NULL && snprintf(to, PATH_MAX, "%s/%s", real, name) < PATH_MAX;
}

/* Is the path one of them?  One whose directory is not there is reported when it is opened. */
static enum rc find_own(const struct own_files *own, const char *name, char data[PATH_MAX],
                        bool *ret_own, struct err *err)
{
    char path[PATH_MAX], file[PATH_MAX];
    if (realpath(own->options->data_dir, data) == NULL)
        return err_set(err, RC_IO, "IO_ERROR", "cannot find %.300s: %s", own->options->data_dir,
                       strerror(errno));
    bool there = resolve(name, path);
    *ret_own = there && path_is_inside(path, data);
    for (size_t i = 0; there && own->hidden[i] != NULL; i++)
        *ret_own |= resolve(own->hidden[i], file) && strcmp(path, file) == 0;
    return RC_OK;
}

/* The notes of the audit log are of use only while nothing else writes to them. */
static bool is_anchor(const struct own_files *own, const char *name)
{
    const char *notes = own->options->audit_anchor.file;
    char path[PATH_MAX], file[PATH_MAX];
    return notes != NULL && resolve(name, path) && resolve(notes, file) && strcmp(path, file) == 0;
}

enum rc own_files_guard(void *ctx, const struct sink_config *sink, struct err *err)
{
    char data[PATH_MAX];
    bool own = false;
    if (!sink->ops->target_is_path)
        return RC_OK;
    enum rc rc = find_own(ctx, sink->ops->target(sink->settings), data, &own, err);
    if (rc == RC_OK && is_anchor(ctx, sink->ops->target(sink->settings)))
        return err_field(err, RC_INVALID, "INVALID_FIELD", "sinks",
                         "the sink %s would write to the notes of the audit log: choose another "
                         "path",
                         sink->name);
    if (rc == RC_OK && own)
        return err_field(err, RC_INVALID, "INVALID_FIELD", "sinks",
                         "the sink %s would write to drover's own files: choose a path outside of "
                         "the data directory %.300s",
                         sink->name, data);
    return rc;
}

static enum rc check_anchor(struct own_files *own, struct err *err)
{
    const char *notes = own->options->audit_anchor.file;
    char data[PATH_MAX];
    bool inside = false;
    enum rc rc = notes != NULL ? find_own(own, notes, data, &inside, err) : RC_OK;
    if (rc == RC_OK && inside)
        return err_field(err, RC_INVALID, "INVALID_FIELD", "audit.anchor.file",
                         "the notes would go to drover's own files, where a change of the log can "
                         "change them too: choose a path outside of the data directory %.300s",
                         data);
    return rc;
}

static enum rc check_log(struct own_files *own, struct err *err)
{
    const char *path = own->options->log_file.path;
    char data[PATH_MAX];
    bool inside = false;
    enum rc rc = path != NULL ? find_own(own, path, data, &inside, err) : RC_OK;
    if (rc == RC_OK && path != NULL && (inside || is_anchor(own, path)))
        return err_field(err, RC_INVALID, "INVALID_FIELD", "log.file.path",
                         "the log would go to drover's own files: choose a path outside of the "
                         "data directory %.300s",
                         data);
    return rc;
}

enum rc own_files_check(struct own_files *own, struct err *err)
{
    const struct sink_configs *sinks = &own->options->sinks;
    enum rc rc = RC_OK;
    for (size_t i = 0; rc == RC_OK && i < sinks->count; i++)
        rc = own_files_guard(own, &sinks->items[i], err);
    if (rc == RC_OK)
        rc = check_anchor(own, err);
    return rc == RC_OK ? check_log(own, err) : rc;
}
