/*
 * model.h - what must be true after every step, kept beside the store in plain memory.
 *
 * The model learns of the world only through what clients and the log can see: answers and events.
 * It then holds the rows against it.
 */
#ifndef TESTS_SIM_MODEL_H
#define TESTS_SIM_MODEL_H
#include "control/commit/command.h"
#include "tests/sim/world.h"

enum {
    SIM_REPOSITORIES = 8,
    SIM_REPOSITORY_MAX = 3, /* maxActiveRuns of each */
    SIM_PLAIN = 4,          /* Repository N below uses up account N % SIM_PLAIN_ACCOUNTS, */
    SIM_PLAIN_ACCOUNTS = 3, /* the others share the rest of them: sim_accounts. */
    SIM_ACCOUNTS = 5,
};
#define SIM_REPOSITORY_NAME "acme/repo-%zu"
#define SIM_ACCOUNT_NAME    "account-%zu"

struct model_stats {
    int64_t runs, ended, events, leases, completions, stale, pull_requests;
    int64_t by_end[4]; /* completed, failed, cancelled, timed_out */
    int64_t parked, probed, deferred, chosen;
    int64_t pauses, questions, told; /* told: messages that an agent has got. */
};

struct model *model_new(struct world *world); /* It watches the world from now on. */
void model_free(struct model *model);
/* Reads on in the log and checks every run that it speaks of. */
void model_look(struct model *model);
/* Nothing may be left: every run finished, every job settled, the doctor content. */
void model_look_at_the_end(struct model *model);
int64_t model_open_runs(const struct model *model);
void model_stats(const struct model *model, struct model_stats *ret_stats);
#endif
