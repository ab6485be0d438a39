/*
 * broom.c - see broom.h.
 */
#include "work/broom.h"
#include "base/log.h"
#include "work/attic.h"
#include "work/rescue.h"
#include "work/sweep.h"

enum { UNUSED_HOURS = 24 };

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

void broom_round(const struct broom *broom)
{
    clear_runs(broom);
    const struct attic attic = {
        .work_dir = broom->site->work_dir,
        .keep_us = broom->keep_days * US_PER_DAY,
        .now_us = clock_now_us(&broom->site->clock),
        .cancel = &broom->stop->reason,
    };
    if (attic.keep_us > 0)
        attic_clear(&attic);
}

void broom_warn_of_kept(const struct step_site *site)
{
    int kept = rescue_count_kept(site->work_dir);
    if (kept > 0)
        LOG(LOG_WARN, "trees with work that could not be saved wait in work/kept",
            LOG_INT("count", kept), LOG_STR("workDir", site->work_dir));
}
