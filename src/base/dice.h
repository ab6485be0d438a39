/*
 * dice.h - randomness as data.
 *
 * A struct dice is a small seeded generator (xoshiro256**): pure, copyable, the
 * same numbers for the same seed, so that a seed replays a whole history.  It
 * is good for jitter and ids, never for secrets: those come from secret_bytes.
 */
#ifndef BASE_DICE_H
#define BASE_DICE_H
#include "base/rc.h"
#include <stddef.h>
#include <stdint.h>

struct dice {
    uint64_t s[4];
};

struct dice dice_seeded(uint64_t seed);
struct dice dice_from_os(void);
uint64_t dice_next(struct dice *dice);
uint64_t dice_below(struct dice *dice, uint64_t limit); /* 0 <= result < limit; limit > 0. */

/* From the kernel's generator; aborts when there is none. */
void secret_bytes(void *to, size_t len);
#endif
