/*
 * broom.h - periodic rounds through the work directory: removes what is no longer used, and counts
 * what is unpublished.
 *
 * It removes directories of runs that other workers have finished (sweep.h), and snapshots that the
 * origin has had for keep_days (attic.h).  What is not published stays, and its number and size are
 * reported to the server.
 */
#ifndef WORK_TREE_BROOM_H
#define WORK_TREE_BROOM_H
#include "work/job/step.h"
#include "work/tree/attic.h"

struct broom {
    const struct step_site *site;
    struct stop *stop;
    int64_t keep_days; /* Of published snapshots; 0: for ever. */
    /* As sweep.h has them. */
    bool (*take)(void *ctx, const struct id *run_id);
    void (*leave)(void *ctx);
    /* What is unpublished has changed; may be NULL. */
    void (*tell)(void *ctx, const struct attic_total *unpublished);
    void *ctx;
};

/* Does one removal round.  Logs what it removes. */
void broom_round(const struct broom *broom);

/* Zeroed at first. */
struct broom_times {
    int64_t round_us, count_us; /* When to do each next; by clock_mono_us. */
    uint64_t signature;
};
/* What is due: a round every hour, a count when something may have changed.  Returns how long to
   wait until the next turn. */
int64_t broom_turn_ms(const struct broom *broom, struct broom_times *times);
/* Logs how many kept trees wait for people, if any do. */
void broom_warn_of_kept(const struct step_site *site);
#endif
