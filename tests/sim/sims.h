/*
 * sims.h - the simulations that there are.  Each goes on, world after world, until enough has
 * happened; a broken invariant ends the program.
 */
#ifndef TESTS_SIM_SIMS_H
#define TESTS_SIM_SIMS_H
#include <stdint.h>

struct sim_options {
    int64_t seed;         /* World k has the seed seed + k. */
    int64_t batch;        /* Tasks or jobs of one world. */
    int64_t runs;         /* sim_runs: so many have to end. */
    int64_t transitions;  /* sim_jobs: so many steps from one state to another, */
    int64_t steps;        /* and so many of the world. */
    int64_t issues;       /* sim_issues: so many are approved. */
    const char *postgres; /* sim_jobs: the URL of a database to work in; NULL: SQLite. */
};
void sim_runs(const struct sim_options *options);
void sim_issues(const struct sim_options *options);
void sim_jobs(const struct sim_options *options);
#endif
