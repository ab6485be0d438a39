/*
 * jobs_people.h - everybody round the queues: those who send jobs, those who pause and change
 * queues, and the consumers.
 */
#ifndef TESTS_SIM_JOBS_PEOPLE_H
#define TESTS_SIM_JOBS_PEOPLE_H
#include "tests/sim/world.h"

enum { CONSUMERS = 24, CONSUMERS_INSIDE = 4 }; /* Those inside die with the server. */

extern const char *const sim_queues[]; /* NULL-terminated */

/* Queues with rules of all kinds, then jobs_max jobs over time. */
void senders_start(struct world *world, int64_t jobs_max);
int64_t senders_sent(void);
/* No more changes; whatever is paused goes on. */
void senders_calm(struct world *world);
void consumers_start(struct world *world);
#endif
