#include "work/tree/repack.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/str.h"
#include "forge/git/git.h"
#include "work/tree/snapshot.h"
#include <dirent.h>
#include <sys/stat.h>

#define PACKED_MARK "drover-packed"

enum {
    PACKS_MAX = 50,   /* More, or */
    LOOSE_MAX = 7000, /* about so many loose objects: it is packed. */
    LOOSE_DIRS = 256, /* By the first byte of their hashes, which are spread evenly. */
    MINUTES_MAX = 30, /* Of one mirror. */
};

/* Files of the directory whose names end so. */
static int count_files(const char *path, const char *suffix)
{
    int count = 0;
    DIR *dir = opendir(path);
    const struct dirent *entry;
    while (dir != NULL && (entry = readdir(dir)) != NULL)
        count += entry->d_name[0] != '.' && text_ends(entry->d_name, suffix);
    if (dir != NULL)
        (void)closedir(dir);
    return count;
}

static bool is_slow(const char *mirror, struct arena *arena)
{
    int packs = count_files(arena_printf(arena, "%s/objects/pack", mirror), ".pack");
    int loose = count_files(arena_printf(arena, "%s/objects/17", mirror), "") * LOOSE_DIRS;
    return packs > PACKS_MAX || loose > LOOSE_MAX;
}

static enum rc pack_all(const struct repack *repack, const char *mirror, struct arena *arena,
                        struct err *err)
{
    const struct git git = {.home = arena_printf(arena, "%s/git", repack->work_dir),
                            .cancel = repack->cancel,
                            .deadline_us = clock_mono_us() + MINUTES_MAX * US_PER_MINUTE};
    const struct git_call call = {
        .git_dir = mirror,
        .args = GIT_ARGS("repack", "-a", "-d", "-q", "--keep-unreachable", "--local"),
        .durable = true};
    enum rc rc = mirror_change_begins(mirror, err);
    if (rc == RC_OK)
        rc = git_run(&git, &call, err);
    /* One that failed has deleted nothing. */
    return rc == RC_OK ? mirror_change_ends(mirror, err) : rc;
}

/* *ret_packed: it needed it, and no other thread changes it now. */
static enum rc repack_one(const struct repack *repack, const char *mirror, struct arena *arena,
                          bool *ret_packed, struct err *err)
{
    CLEANUP(fd_closep) int lock = -1;
    *ret_packed = false;
    if (!is_slow(mirror, arena))
        return RC_OK;
    enum rc rc = file_lock(arena_printf(arena, "%s.lock", mirror), 0, &lock, err);
    if (rc == RC_OK)
        rc = pack_all(repack, mirror, arena, err);
    *ret_packed = rc == RC_OK;
    return rc == RC_CONFLICT ? RC_OK : rc;
}

static bool is_mirror(const char *name)
{
    return name[0] != '.' && text_ends(name, ".git") && !text_ends(name, SNAPSHOT_SUFFIX);
}

static bool is_stopped(const struct repack *repack)
{
    return repack->cancel != NULL && atomic_load(repack->cancel) != 0;
}

typedef enum rc pack_fn(const struct repack *repack, const char *path, struct arena *arena,
                        bool *ret_packed, struct err *err);

/* Each repository below mirrors/ that is of this kind. */
static int pack_each(const struct repack *repack, bool (*is_kind)(const char *name), pack_fn *pack)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const char *path = arena_printf(&arena, "%s/mirrors", repack->work_dir);
    int count = 0;
    DIR *dir = opendir(path);
    const struct dirent *entry;
    while (dir != NULL && !is_stopped(repack) && (entry = readdir(dir)) != NULL) {
        if (!is_kind(entry->d_name))
            continue;
        const char *repository = arena_printf(&arena, "%s/%s", path, entry->d_name);
        struct err err = {0};
        bool packed = false;
        enum rc rc = pack(repack, repository, &arena, &packed, &err);
        if (rc != RC_OK && rc != RC_CANCELLED)
            LOG(LOG_WARN, "a mirror cannot be packed anew", LOG_STR("mirror", repository),
                LOG_STR("error", err.text));
        count += packed;
    }
    if (dir != NULL)
        (void)closedir(dir);
    return count;
}

int repack_mirrors(const struct repack *repack)
{
    return pack_each(repack, is_mirror, repack_one);
}

/* ---- snapshots ---- */

static bool is_snapshots(const char *name)
{
    return text_ends(name, SNAPSHOT_SUFFIX);
}

static int64_t changed_us(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 ? (int64_t)info.st_mtim.tv_sec * US_PER_SECOND : 0;
}

/* The mark says when it was packed last.  Refs that are deleted change their directory, or the file
   that holds many of them. */
static bool has_garbage(const struct repack *repack, const char *repository, struct arena *arena)
{
    static const char *const places[] = {"objects/pack", "objects", "packed-refs", SNAPSHOT_REFS,
                                         PUBLISHED_REFS};
    int64_t packed_us = changed_us(arena_printf(arena, "%s/" PACKED_MARK, repository));
    int64_t newest_us = 0;
    for (size_t i = 0; i < COUNT_OF(places); i++) {
        int64_t us = changed_us(arena_printf(arena, "%s/%s", repository, places[i]));
        newest_us = us > newest_us ? us : newest_us;
    }
    return newest_us > packed_us && repack->now_us - packed_us >= US_PER_DAY;
}

static enum rc clear_snapshots(const struct repack *repack, const char *repository,
                               struct arena *arena, bool *ret_packed, struct err *err)
{
    static const char text[] = "packed\n";
    CLEANUP(fd_closep) int lock = -1;
    const struct git git = {.home = arena_printf(arena, "%s/git", repack->work_dir),
                            .cancel = repack->cancel,
                            .deadline_us = clock_mono_us() + MINUTES_MAX * US_PER_MINUTE};
    const struct git_call pack = {
        .git_dir = repository,
        .args = GIT_ARGS("repack", "-A", "-d", "-q", "--local", "--unpack-unreachable=1.day.ago"),
        .durable = true};
    const struct git_call prune = {.git_dir = repository,
                                   .args = GIT_ARGS("prune", "--expire=1.day.ago")};
    if (!has_garbage(repack, repository, arena))
        return RC_OK;
    enum rc rc = file_lock(arena_printf(arena, "%s.lock", repository), 0, &lock, err);
    if (rc == RC_OK)
        rc = git_run(&git, &pack, err);
    if (rc == RC_OK)
        rc = git_run(&git, &prune, err);
    if (rc == RC_OK)
        rc = file_write_durable(arena_printf(arena, "%s/" PACKED_MARK, repository), text,
                                sizeof text - 1, 0600, err);
    *ret_packed = rc == RC_OK;
    return rc == RC_CONFLICT ? RC_OK : rc;
}

int repack_snapshots(const struct repack *repack)
{
    return pack_each(repack, is_snapshots, clear_snapshots);
}
