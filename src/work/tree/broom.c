/*
 * broom.c - see broom.h.
 */
#include "work/tree/broom.h"
#include "base/log.h"
#include "work/tree/rescue.h"
#include "work/tree/sweep.h"

enum {
    UNUSED_HOURS = 24,
    ROUND_EVERY_MS = 3600 * 1000,
    LOOK_EVERY_MS = 2000,
    COUNT_SHARE = 20, /* Counting takes at most one part in so many of the time. */
};

static bool take(void *ctx, const struct id *run_id)
{
    const struct broom *broom = ctx;
    return broom->take(broom->ctx, run_id);
}

static bool save(void *ctx, const struct id *run_id)
{
    const struct broom *broom = ctx;
    return rescue_stray(broom->site, run_id, broom->stop);
}

static void leave(void *ctx)
{
    const struct broom *broom = ctx;
    broom->leave(broom->ctx);
}

static void clear_runs(const struct broom *broom)
{
    struct broom self = *broom;
    const struct sweep sweep = {
        .work_dir = broom->site->work_dir,
        .unused_us = UNUSED_HOURS * US_PER_HOUR,
        .now_us = clock_now_us(&broom->site->clock),
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

static struct attic attic_of(const struct broom *broom)
{
    return (struct attic){.work_dir = broom->site->work_dir, .cancel = &broom->stop->reason};
}

void broom_round(const struct broom *broom)
{
    clear_runs(broom);
    const struct attic attic = attic_of(broom);
    if (broom->keep_days > 0)
        attic_clear(&attic, clock_now_us(&broom->site->clock) - broom->keep_days * US_PER_DAY);
}

static void count(const struct broom *broom, struct broom_times *times)
{
    const struct attic attic = attic_of(broom);
    int64_t begin_us = clock_mono_us();
    uint64_t signature = attic_signature(&attic);
    if (!broom->tell || signature == times->signature || begin_us < times->count_us)
        return;
    const struct attic_total total = attic_total(&attic);
    broom->tell(broom->ctx, &total);
    times->signature = signature;
    times->count_us = begin_us + (clock_mono_us() - begin_us) * COUNT_SHARE;
}

int64_t broom_turn_ms(const struct broom *broom, struct broom_times *times)
{
    if (clock_mono_us() >= times->round_us) {
        broom_round(broom);
        times->round_us = clock_mono_us() + ROUND_EVERY_MS * US_PER_MS;
    }
    count(broom, times);
    return LOOK_EVERY_MS;
}

void broom_warn_of_kept(const struct step_site *site)
{
    int kept = rescue_count_kept(site->work_dir);
    if (kept > 0)
        LOG(LOG_WARN, "trees with work that could not be saved wait in work/kept",
            LOG_INT("count", kept), LOG_STR("workDir", site->work_dir));
}
