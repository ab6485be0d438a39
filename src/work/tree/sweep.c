#include "work/tree/sweep.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/fd.h"
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

static bool is_old(const char *path, const struct sweep *sweep)
{
    struct stat info;
    if (lstat(path, &info) != 0 || !S_ISDIR(info.st_mode))
        return false;
    int64_t used_us = (int64_t)info.st_mtim.tv_sec * US_PER_SECOND;
    return sweep->now_us - used_us > sweep->unused_us;
}

/* Checks the time again once the run is taken: a step may just have used it. */
static bool remove_one(const struct sweep *sweep, const char *path, const struct id *run_id)
{
    if (!is_old(path, sweep) || !sweep->take(sweep->ctx, run_id))
        return false;
    bool removed = is_old(path, sweep) && sweep->save(sweep->ctx, run_id) &&
                   dir_remove(path, NULL) == RC_OK;
    sweep->leave(sweep->ctx);
    return removed;
}

int sweep_runs(const struct sweep *sweep)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const char *runs = arena_printf(&arena, "%s/runs", sweep->work_dir);
    DIR *dir = opendir(runs);
    if (dir == NULL)
        return 0;
    int count = 0;
    const struct dirent *entry;
    while ((entry = readdir(dir)) != NULL) {
        struct id run_id;
        CLEANUP(arena_release) struct arena scratch = {0};
        if (id_parse(entry->d_name, &run_id))
            count += remove_one(sweep, arena_printf(&scratch, "%s/%s", runs, entry->d_name),
                                &run_id);
    }
    (void)closedir(dir);
    return count;
}

void sweep_touch(const char *run_dir)
{
    (void)utimensat(AT_FDCWD, run_dir, NULL, AT_SYMLINK_NOFOLLOW);
}
