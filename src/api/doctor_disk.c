#include "api/doctor_disk.h"
#include "api/api.h"
#include "base/fd.h"
#include "store/space.h"
#include "work/tree/mirror.h"
#include <dirent.h>
#include <string.h>

struct disk {
    struct jw *jw;
    struct arena *arena;
    const char *data_dir;
};

static void write_entry(struct disk *disk, const char *kind, const char *path, int64_t bytes)
{
    jw_begin(disk->jw, '{');
    jw_kstr(disk->jw, "kind", kind);
    jw_kstr(disk->jw, "path", path);
    jw_kint(disk->jw, "bytes", bytes);
    jw_end(disk->jw, '}');
}

static void write_tree(struct disk *disk, const char *kind, const char *name)
{
    const char *path = arena_printf(disk->arena, "%s/%s", disk->data_dir, name);
    write_entry(disk, kind, path, dir_usage(path).bytes);
}

static enum rc write_database(struct disk *disk, struct store *store, struct db *db,
                              struct err *err)
{
    struct space space;
    const char *path = store_database_path(store);
    enum rc rc = space_of(db, &space, err);
    if (rc != RC_OK)
        return rc;
    jw_begin(disk->jw, '{');
    jw_kstr(disk->jw, "kind", "database");
    jw_kstr(disk->jw, "path", path);
    jw_kint(disk->jw, "bytes", space.database_bytes);
    if (space.free_bytes >= 0)
        jw_kint(disk->jw, "freeBytes", space.free_bytes);
    jw_kbool(disk->jw, "givesBack", space.gives_back);
    jw_end(disk->jw, '}');
    if (path != NULL) {
        const char *log = arena_printf(disk->arena, "%s-wal", path);
        write_entry(disk, "wal", log, dir_usage(log).bytes);
    }
    if (space.content_bytes >= 0) /* Part of the database. */
        write_entry(disk, "artifacts", NULL, space.content_bytes);
    else if (store_artifact_dir(store) != NULL)
        write_entry(disk, "artifacts", store_artifact_dir(store),
                    dir_usage(store_artifact_dir(store)).bytes);
    return RC_OK;
}

/* Mirrors of repositories, and the repositories of snapshots beside them. */
static void write_mirrors(struct disk *disk)
{
    const char *path = arena_printf(disk->arena, "%s/work/mirrors", disk->data_dir);
    int64_t mirrors = 0, snapshots = 0;
    DIR *dir = opendir(path);
    const struct dirent *entry;
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        int64_t bytes = dir_usage(arena_printf(disk->arena, "%s/%s", path, entry->d_name)).bytes;
        *(text_ends(entry->d_name, SNAPSHOT_SUFFIX) ? &snapshots : &mirrors) += bytes;
    }
    if (dir != NULL)
        (void)closedir(dir);
    write_entry(disk, "mirrors", path, mirrors);
    write_entry(disk, "snapshots", path, snapshots);
}

/* Files of sinks, with those that were rotated. */
static void write_logs(struct disk *disk, const struct sink_configs *sinks)
{
    for (size_t i = 0; i < sinks->count; i++) {
        const struct sink_config *sink = &sinks->items[i];
        if (!sink->ops->target_is_path)
            continue;
        const char *path = sink->ops->target(sink->settings);
        int64_t bytes = dir_usage(path).bytes;
        for (int no = 1;; no++) {
            const char *older = arena_printf(disk->arena, "%s.%d", path, no);
            if (!file_exists(older))
                break;
            bytes += dir_usage(older).bytes;
        }
        write_entry(disk, "logs", path, bytes);
    }
}

enum rc doctor_disk_write(struct call *call, struct db *db, struct jw *jw, struct err *err)
{
    struct disk disk = {jw, &call->http.arena, call->api->data_dir};
    jw_key(jw, "disk");
    jw_begin(jw, '[');
    enum rc rc = write_database(&disk, call->api->store, db, err);
    if (rc != RC_OK)
        return rc;
    write_mirrors(&disk);
    write_tree(&disk, "runs", "work/runs");
    write_tree(&disk, "kept_trees", "work/kept");
    write_tree(&disk, "held_patches", "work/held");
    write_tree(&disk, "setups", "work/setup");
    write_tree(&disk, "spool", "spool");
    write_logs(&disk, &call->api->sinks);
    jw_end(jw, ']');
    return RC_OK;
}
