/*
 * broom.h - one round through the work directory: what nobody needs any more goes.
 *
 * Directories of runs that other workers have finished (sweep.h), and what was put aside for people
 * long ago (attic.h).
 */
#ifndef WORK_BROOM_H
#define WORK_BROOM_H
#include "work/step.h"

struct broom {
    const struct step_site *site;
    struct stop *stop;
    int64_t keep_days; /* What is put aside for people; 0: for ever. */
    /* As sweep.h has them. */
    bool (*take)(void *ctx, const struct id *run_id);
    void (*leave)(void *ctx);
    void *ctx;
};

/* Logs what it removes. */
void broom_round(const struct broom *broom);
/* Logs how many kept trees wait for people, if any do. */
void broom_warn_of_kept(const struct step_site *site);
#endif
