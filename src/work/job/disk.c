#include "work/job/disk.h"
#include "base/log.h"
#include "base/str.h"
#include <inttypes.h>
#include <sys/statvfs.h>

enum { AGAIN_SHARE = 16, AGAIN_MS = 30000 };

int64_t disk_free_bytes(const char *dir)
{
    struct statvfs status;
    if (dir == NULL || statvfs(dir, &status) != 0)
        return -1;
    return (int64_t)(status.f_bavail * status.f_frsize);
}

static void log_change(const struct disk *disk, bool low, int64_t free_bytes)
{
    LOG(low ? LOG_WARN : LOG_INFO,
        low ? "the disk is low: no steps are leased that need space"
            : "the disk has space again: all steps are leased",
        LOG_STR("workDir", disk->dir), LOG_INT("freeBytes", free_bytes),
        LOG_INT("reserveBytes", disk->reserve_bytes));
}

bool disk_look(struct disk *disk)
{
    int64_t free_bytes = disk_free_bytes(disk->dir);
    atomic_store(&disk->free_bytes, free_bytes);
    bool was = atomic_load(&disk->low);
    int64_t least = disk->reserve_bytes + (was ? disk->reserve_bytes / AGAIN_SHARE : 0);
    bool low = disk->reserve_bytes > 0 && free_bytes >= 0 && free_bytes < least;
    /* Of several threads that see it at once, one logs it. */
    if (low != was && atomic_compare_exchange_strong(&disk->low, &was, low))
        log_change(disk, low, free_bytes);
    return low;
}

void disk_start(struct disk *disk, const char *dir, int64_t reserve_bytes)
{
    disk->dir = dir;
    disk->reserve_bytes = reserve_bytes;
    (void)disk_look(disk);
}

enum rc disk_check(struct disk *disk, int64_t bytes, struct err *err)
{
    bool low = disk_look(disk);
    int64_t free_bytes = atomic_load(&disk->free_bytes);
    if (disk->reserve_bytes == 0 || free_bytes < 0 ||
        (!low && free_bytes - disk->reserve_bytes >= bytes))
        return RC_OK;
    enum rc rc = err_set(err, RC_LIMIT, "DISK_LOW",
                         "The worker has %" PRId64 " MiB free; this step needs %" PRId64
                         " MiB beside the reserve of %" PRId64 " MiB.",
                         free_bytes >> 20, bytes >> 20, disk->reserve_bytes >> 20);
    err->retry_ms = AGAIN_MS;
    return rc;
}

bool disk_is_low(const struct err *err)
{
    return text_same(err->code, "DISK_LOW");
}
