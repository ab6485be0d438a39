/*
 * honest.h - turns the sketch of a step's result into one that the server can check.
 *
 * Tests and the simulator write results as sketches: {"promptSha256": "aa"}.  Here
 *   - a sha256 that is none becomes that of a stored artifact whose content is the word itself,
 *   - a commit or a tree that is none becomes a hash made of the word,
 *   - the checks of a verification become those of the job's configuration, and its certificate is
 *     made and stored,
 *   - a pull request gets the run's branch, its address, and a number of its own where it says 1.
 * All else stays as it is, so a sketch that lies about something else is still a lie.
 */
#ifndef TESTS_UNIT_HONEST_H
#define TESTS_UNIT_HONEST_H
#include "store/jobs.h"
#include "store/store.h"

/* NULL store: nothing is stored.  In the arena; the sketch itself when it is not an object. */
const char *honest_result(struct store *store, const struct job_row *job, const char *sketch,
                          struct arena *arena);
/* What the words of sketches become. */
const char *honest_sha256(const char *word, struct arena *arena);
const char *honest_commit(const char *word, struct arena *arena);
/* The number of the run's pull request. */
int64_t honest_number(const char *run_id, struct arena *arena);
#endif
