/*
 * trouble.h - what is wrong with the store or the server for a while, one thing at a time.
 *
 * A trouble begins, holds for longer or shorter than leases and waits last, and ends; then all must
 * be as if it had not been, within the bounds that the models know.
 */
#ifndef TESTS_SIM_TROUBLE_H
#define TESTS_SIM_TROUBLE_H
#include "tests/sim/world.h"

/* Begins one, unless there is one. */
void trouble_begin(struct world *world);
/* Ends it before its time; nothing without one. */
void trouble_end(struct world *world);
/* May commands fail in the store just now? */
bool trouble_excuses(const struct world *world);
#endif
