#include "work/tree/housekeeping.h"
#include "base/log.h"
#include "work/tree/repack.h"
#include "work/tree/rescue.h"
#include "work/tree/setup_store.h"
#include "work/tree/sweep.h"

enum {
    UNUSED_HOURS = 24,
    ROUND_EVERY_MS = 3600 * 1000,
    LOOK_EVERY_MS = 2000,
    SETUPS_MAX = 32,
    SETUP_DAYS = 30,
    COUNT_SHARE = 20, /* Counting takes at most one part in so many of the time. */
};

/* Of all setups together. */
#define SETUP_BYTES_MAX (INT64_C(20) << 30)

static bool take(void *ctx, const struct id *run_id)
{
    const struct housekeeping *housekeeping = ctx;
    return housekeeping->take(housekeeping->ctx, run_id);
}

static bool save(void *ctx, const struct id *run_id)
{
    const struct housekeeping *housekeeping = ctx;
    return rescue_stray(housekeeping->site, run_id, housekeeping->stop);
}

static void leave(void *ctx)
{
    const struct housekeeping *housekeeping = ctx;
    housekeeping->leave(housekeeping->ctx);
}

static void clear_runs(const struct housekeeping *housekeeping)
{
    struct housekeeping self = *housekeeping;
    const struct sweep sweep = {
        .work_dir = housekeeping->site->work_dir,
        .unused_us = UNUSED_HOURS * US_PER_HOUR,
        .now_us = clock_now_us(&housekeeping->site->clock),
        .save = save,
        .take = take,
        .leave = leave,
        .ctx = &self,
    };
    int count = sweep_runs(&sweep);
    if (count > 0)
        LOG(LOG_INFO, "removed directories of runs that were done elsewhere",
            LOG_INT("count", count));
}

static struct retention retention_of(const struct housekeeping *housekeeping)
{
    return (struct retention){.work_dir = housekeeping->site->work_dir,
                              .cancel = &housekeeping->stop->reason};
}

static void pack_mirrors(const struct housekeeping *housekeeping)
{
    const struct repack repack = {.work_dir = housekeeping->site->work_dir,
                                  .cancel = &housekeeping->stop->reason,
                                  .now_us = clock_now_us(&housekeeping->site->clock)};
    int count = repack_mirrors(&repack);
    if (count > 0)
        LOG(LOG_INFO, "packed mirrors anew", LOG_INT("count", count));
    count = repack_snapshots(&repack);
    if (count > 0)
        LOG(LOG_INFO, "removed what deleted snapshots have left", LOG_INT("repositories", count));
}

static void clear_setups(const struct housekeeping *housekeeping)
{
    const struct setup_limits limits = {
        .count = atomic_load(&housekeeping->disk->low) ? 0 : SETUPS_MAX,
        .bytes = SETUP_BYTES_MAX,
        .used_after_us = clock_now_us(&housekeeping->site->clock) - SETUP_DAYS * US_PER_DAY,
    };
    int count = setup_store_clear(housekeeping->site->work_dir, &limits);
    if (count > 0)
        LOG(LOG_INFO, "removed kept setups", LOG_INT("count", count));
}

void housekeeping_round(const struct housekeeping *housekeeping)
{
    if (housekeeping->leftovers != NULL)
        housekeeping->leftovers(housekeeping);
    clear_runs(housekeeping);
    const struct retention retention = retention_of(housekeeping);
    if (housekeeping->keep_days > 0)
        retention_clear(&retention, clock_now_us(&housekeeping->site->clock) -
                                        housekeeping->keep_days * US_PER_DAY);
    clear_setups(housekeeping);
    pack_mirrors(housekeeping);
}

static void count(const struct housekeeping *housekeeping, struct housekeeping_times *times)
{
    const struct retention retention = retention_of(housekeeping);
    int64_t begin_us = clock_mono_us();
    uint64_t signature = retention_signature(&retention);
    if (housekeeping->report == NULL || signature == times->signature || begin_us < times->count_us)
        return;
    const struct retention_total total = retention_total(&retention);
    housekeeping->report(housekeeping->ctx, &total);
    times->signature = signature;
    times->count_us = begin_us + (clock_mono_us() - begin_us) * COUNT_SHARE;
}

int64_t housekeeping_turn_ms(const struct housekeeping *housekeeping,
                             struct housekeeping_times *times)
{
    bool low = disk_look(housekeeping->disk);
    if (clock_mono_us() >= times->round_us || (low && !times->low)) {
        housekeeping_round(housekeeping);
        times->round_us = clock_mono_us() + ROUND_EVERY_MS * US_PER_MS;
    }
    times->low = low;
    count(housekeeping, times);
    return LOOK_EVERY_MS;
}

void housekeeping_warn_of_kept(const struct step_site *site)
{
    int kept = rescue_count_kept(site->work_dir);
    if (kept > 0)
        LOG(LOG_WARN, "trees with work that could not be saved wait in work/kept",
            LOG_INT("count", kept), LOG_STR("workDir", site->work_dir));
}
