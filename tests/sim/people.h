/*
 * people.h - everybody round the server: those who submit, cancel, retry and decide, and the
 * workers.
 */
#ifndef TESTS_SIM_PEOPLE_H
#define TESTS_SIM_PEOPLE_H
#include "tests/sim/world.h"

enum { WORKERS = 16, WORKERS_INSIDE = 6 }; /* Those inside die with the server. */

/* Repositories, then tasks_max tasks over time, with their cancels, retries and answers. */
void people_start(struct world *world, int64_t tasks_max);
int64_t people_submitted(void);
void workers_start(struct world *world);
#endif
