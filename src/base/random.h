/*
 * random.h - random numbers from a source that is passed as a value.
 *
 * A struct random draws from one of two sources:
 *
 *   random_seeded   xoshiro256**: pure, copyable, the same numbers for the same seed, so that a
 *                 seed replays a whole history.  For tests and simulations only: a few numbers
 *                 reveal its state, and with it every id that was and will be made.
 *   random_from_os  the kernel's generator, buffered for each thread: nothing can be predicted.
 *                 What production uses, for ids as for jitter.
 *
 * Secrets come from secret_bytes.
 */
#ifndef BASE_RANDOM_H
#define BASE_RANDOM_H
#include "base/rc.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct random {
    uint64_t s[4];
    bool kernel; /* s is not used. */
};

struct random random_seeded(uint64_t seed);
struct random random_from_os(void);
/* A source of the same kind with numbers of its own, for another thread. */
struct random random_split(struct random *random);
uint64_t random_next(struct random *random);
uint64_t random_below(struct random *random, uint64_t limit); /* 0 <= result < limit; limit > 0. */

/* From the kernel's generator; aborts when there is none. */
void secret_bytes(void *to, size_t len);
#endif
