/*
 * dice.c - xoshiro256** by Blackman and Vigna (public domain), seeded through
 * splitmix64 as they advise; and the kernel's generator for secrets.
 */
#include "base/dice.h"
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

static uint64_t splitmix64(uint64_t *state)
{
    *state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = *state;
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

struct dice dice_seeded(uint64_t seed)
{
    struct dice dice;
    for (size_t i = 0; i < COUNT_OF(dice.s); i++)
        dice.s[i] = splitmix64(&seed);
    return dice;
}

struct dice dice_from_os(void)
{
    uint64_t seed;
    secret_bytes(&seed, sizeof seed);
    return dice_seeded(seed);
}

static uint64_t rotate_left(uint64_t x, int bits)
{
    return (x << bits) | (x >> (64 - bits));
}

uint64_t dice_next(struct dice *dice)
{
    uint64_t *s = dice->s;
    assert(s[0] | s[1] | s[2] | s[3]); /* A zeroed state would stay zero for ever. */
    uint64_t result = rotate_left(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate_left(s[3], 45);
    return result;
}

uint64_t dice_below(struct dice *dice, uint64_t limit)
{
    assert(limit > 0);
    /* The lowest 2^64 mod limit values would favour small results: roll again. */
    uint64_t unfair = (0 - limit) % limit;
    uint64_t roll;
    do
        roll = dice_next(dice);
    while (roll < unfair);
    return roll % limit;
}

void secret_bytes(void *to, size_t len)
{
    unsigned char *at = to;
    while (len > 0) {
        ssize_t got = getrandom(at, len, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            abort();
        at += got;
        len -= (size_t)got;
    }
}
