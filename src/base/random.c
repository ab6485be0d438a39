/*
 * random.c - xoshiro256** by Blackman and Vigna (public domain), seeded through
 * splitmix64 as they advise; and the kernel's generator for ids and secrets.
 */
#include "base/random.h"
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

enum { POOL_WORDS = 128 }; /* 1 KiB for each thread; a larger one makes ids no cheaper. */

static uint64_t splitmix64(uint64_t *state)
{
    *state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = *state;
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

struct random random_seeded(uint64_t seed)
{
    struct random random = {.kernel = false};
    for (size_t i = 0; i < COUNT_OF(random.s); i++)
        random.s[i] = splitmix64(&seed);
    return random;
}

struct random random_from_os(void)
{
    return (struct random){.kernel = true};
}

struct random random_split(struct random *random)
{
    return random->kernel ? *random : random_seeded(random_next(random));
}

/* The buffer belongs to the thread.  A child between fork and exec makes no ids, so no two
   processes use the same buffer.  A word is erased when it is handed out: what is left in memory
   reveals nothing about ids that were made before. */
static uint64_t kernel_next(void)
{
    static _Thread_local uint64_t pool[POOL_WORDS];
    static _Thread_local size_t left;
    if (left == 0) {
        secret_bytes(pool, sizeof pool);
        left = POOL_WORDS;
    }
    uint64_t word = pool[--left];
    pool[left] = 0;
    return word;
}

static uint64_t rotate_left(uint64_t x, int bits)
{
    return (x << bits) | (x >> (64 - bits));
}

uint64_t random_next(struct random *random)
{
    if (random->kernel)
        return kernel_next();
    uint64_t *s = random->s;
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

uint64_t random_below(struct random *random, uint64_t limit)
{
    assert(limit > 0);
    /* The lowest 2^64 mod limit values would favour small results: roll again. */
    uint64_t unfair = (0 - limit) % limit;
    uint64_t roll;
    do
        roll = random_next(random);
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
