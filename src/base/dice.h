/*
 * dice.h - random numbers from a source that is passed as a value.
 *
 * A struct dice draws from one of two sources:
 *
 *   dice_seeded   xoshiro256**: pure, copyable, the same numbers for the same seed, so that a
 *                 seed replays a whole history.  For tests and simulations only: a few numbers
 *                 reveal its state, and with it every id that was and will be made.
 *   dice_from_os  the kernel's generator, buffered for each thread: nothing can be predicted.
 *                 What production uses, for ids as for jitter.
 *
 * Secrets come from secret_bytes.
 */
#ifndef BASE_DICE_H
#define BASE_DICE_H
#include "base/rc.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dice {
    uint64_t s[4];
    bool kernel; /* s is not used. */
};

struct dice dice_seeded(uint64_t seed);
struct dice dice_from_os(void);
/* Dice of the same kind with numbers of their own, for another thread. */
struct dice dice_split(struct dice *dice);
uint64_t dice_next(struct dice *dice);
uint64_t dice_below(struct dice *dice, uint64_t limit); /* 0 <= result < limit; limit > 0. */

/* From the kernel's generator; aborts when there is none. */
void secret_bytes(void *to, size_t len);
#endif
