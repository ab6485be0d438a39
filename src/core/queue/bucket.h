/*
 * bucket.h - a token bucket: so many a second, and so many at once.
 *
 * The bucket holds at most `burst` tokens and gains `per_second` of them a second; a fresh one,
 * all zero, is full.  A clock that steps back takes nothing away: filling continues from there.
 */
#ifndef CORE_QUEUE_BUCKET_H
#define CORE_QUEUE_BUCKET_H
#include <stdint.h>

/* Both at least 1; what is beyond BUCKET_MAX counts as that. */
struct bucket_rule {
    int64_t per_second, burst;
};
#define BUCKET_MAX INT64_C(1000000000000)

struct bucket {
    int64_t tokens;    /* In millionths. */
    int64_t filled_us; /* When tokens was right; 0: never used. */
};

/* Takes up to `want` whole tokens: how many. */
int64_t bucket_take(const struct bucket_rule *rule, struct bucket *bucket, int64_t now_us,
                    int64_t want);
/* Takes `want` whole tokens, or none: 0, or how long until they are there.  More than `burst` are
   never there; they are taken as if they were `burst`. */
int64_t bucket_take_all(const struct bucket_rule *rule, struct bucket *bucket, int64_t now_us,
                        int64_t want);
/* When a whole token is there: now_us if there is one. */
int64_t bucket_ready_us(const struct bucket_rule *rule, const struct bucket *bucket,
                        int64_t now_us);
#endif
