/*
 * jobs_model.h - where every job is, kept beside the store in plain memory.
 *
 * The model learns from the writes of each transaction (witness.h) and from the answers that
 * clients were given; it holds the one against the other, and both against the rules.
 */
#ifndef TESTS_SIM_JOBS_MODEL_H
#define TESTS_SIM_JOBS_MODEL_H
#include "core/queue/job.h"
#include "tests/sim/world.h"

struct jobs_stats {
    int64_t transitions, jobs, leases;
    int64_t stale;      /* Reports that were refused. */
    int64_t foreign;    /* Of these, about a lease of another owner. */
    int64_t duplicates; /* Jobs that were there already, by their dedup key. */
    int64_t turned_away, gathered, replayed, deleted;
    int64_t by_state[JOB_STATE_COUNT];
    int64_t by_reason[DEAD_REASON_COUNT];
};

struct jobs_model;
/* It watches the world from now on.  witness_install() comes before the world is opened. */
struct jobs_model *jobs_model_new(struct world *world, const char *const *queues);
void jobs_model_free(struct jobs_model *model);
/* Nothing may be left: every job settled, every row as it should be, the doctor content. */
void jobs_model_look_at_the_end(struct jobs_model *model);
/* To be called now and then. */
#define SIM_LATE_US (5 * US_PER_SECOND)
void jobs_model_check_timers(struct jobs_model *model);
int64_t jobs_model_open(const struct jobs_model *model); /* Jobs that are not settled. */
const struct jobs_stats *jobs_model_stats(const struct jobs_model *model);
#endif
