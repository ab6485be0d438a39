/*
 * jobs_requests.h - those who ask a topic and wait for the reply, and those who reply, at times
 * twice, too late, or again because they were not answered.
 */
#ifndef TESTS_SIM_JOBS_REQUESTS_H
#define TESTS_SIM_JOBS_REQUESTS_H
#include "tests/sim/world.h"

#define SIM_ASKED_QUEUE "asked" /* Where the questions go. */

void askers_start(struct world *world);
/* No more questions. */
void askers_calm(void);
/* Holds an answer against the rows of the store: a reply is there word for word, a request that is
   over has expired.  Nothing for other commands. */
void askers_check(struct world *world, const struct command *command);

struct ask_stats {
    int64_t replied, timed_out, refused; /* Refused: replies that came late or second. */
};
const struct ask_stats *askers_stats(void); /* Of all worlds. */
#endif
