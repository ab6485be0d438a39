/*
 * housekeeping.h - periodic rounds through the work directory: removes what is no longer used, and
 * counts what is unpublished.
 *
 * It removes directories of runs that other workers have finished (sweep.h), and snapshots that the
 * origin has had for keep_days (retention.h) with their objects, what a killed process has leased,
 * and packs mirrors anew (repack.h).  What is not published stays, and its number and size are
 * reported to the server.
 */
#ifndef WORK_TREE_HOUSEKEEPING_H
#define WORK_TREE_HOUSEKEEPING_H
#include "work/job/disk.h"
#include "work/job/step.h"
#include "work/tree/retention.h"

struct housekeeping {
    const struct step_site *site;
    struct stop *stop;
    int64_t keep_days; /* Of published snapshots; 0: for ever. */
    struct disk *disk; /* While it is low, kept setups go too, but for those in use. */
    /* As sweep.h has them. */
    bool (*take)(void *ctx, const struct id *run_id);
    void (*leave)(void *ctx);
    /* What is unpublished has changed; may be NULL. */
    void (*report)(void *ctx, const struct retention_total *unpublished);
    /* Drops ports and databases that are left over (agent/scratch.h); may be NULL. */
    void (*leftovers)(const struct housekeeping *housekeeping);
    void *ctx;
};

/* Does one removal round.  Logs what it removes. */
void housekeeping_round(const struct housekeeping *housekeeping);

/* Zeroed at first. */
struct housekeeping_times {
    int64_t round_us, count_us; /* When to do each next; by clock_mono_us. */
    uint64_t signature;
    bool low; /* At the last turn. */
};
/* What is due: a round every hour and when the disk becomes low, a count when something may have
   changed.  Returns how long to wait until the next turn. */
int64_t housekeeping_turn_ms(const struct housekeeping *housekeeping,
                             struct housekeeping_times *times);
/* Logs how many kept trees wait for people, if any do. */
void housekeeping_warn_of_kept(const struct step_site *site);
#endif
