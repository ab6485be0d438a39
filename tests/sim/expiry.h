/*
 * expiry.h - the end of a world: days pass, and retention goes over all that it has left.
 */
#ifndef TESTS_SIM_EXPIRY_H
#define TESTS_SIM_EXPIRY_H
#include "tests/sim/world.h"

/* Nothing is under way any more.  Rounds are cut short as often as not; after each step the doctor
   must be content, and at the end nothing may be left but what is kept for a reason.  Returns how
   many tasks have expired. */
int64_t world_expire(struct world *world);
#endif
