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
/* Batches over time, with their pauses, cancels and retries. */
void batches_start(struct world *world);
/* Those that have not ended, or are yet to come; and checks what must be true of all of them. */
int64_t batches_left(struct world *world);
void workers_start(struct world *world);
#endif
