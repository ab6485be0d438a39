/*
 * bucket.c - see bucket.h.
 *
 * Tokens a second are millionths of a token a microsecond, so filling is one multiplication
 * without rounding: nothing is lost however often tokens are taken.
 */
#include "core/queue/bucket.h"
#include <assert.h>

#define MILLIONTHS INT64_C(1000000)

static int64_t rate_of(const struct bucket_rule *rule)
{
    assert(rule->per_second >= 1 && rule->burst >= 1);
    return rule->per_second < BUCKET_MAX ? rule->per_second : BUCKET_MAX;
}

static int64_t filled(const struct bucket_rule *rule, const struct bucket *bucket, int64_t now_us)
{
    int64_t full = (rule->burst < BUCKET_MAX ? rule->burst : BUCKET_MAX) * MILLIONTHS;
    if (bucket->filled_us == 0 || bucket->tokens >= full)
        return full;
    if (now_us <= bucket->filled_us)
        return bucket->tokens;
    int64_t rate = rate_of(rule);
    int64_t to_full_us = (full - bucket->tokens + rate - 1) / rate;
    /* Unsigned: between the two ends of time lies more than an int64_t holds. */
    uint64_t passed_us = (uint64_t)now_us - (uint64_t)bucket->filled_us;
    return passed_us >= (uint64_t)to_full_us ? full : bucket->tokens + (int64_t)passed_us * rate;
}

int64_t bucket_take(const struct bucket_rule *rule, struct bucket *bucket, int64_t now_us,
                    int64_t want)
{
    assert(rule->per_second >= 1 && rule->burst >= 1);
    int64_t tokens = filled(rule, bucket, now_us);
    int64_t whole = tokens / MILLIONTHS;
    int64_t got = want < whole ? want : whole;
    got = got > 0 ? got : 0;
    bucket->tokens = tokens - got * MILLIONTHS;
    bucket->filled_us = now_us != 0 ? now_us : 1;
    return got;
}

int64_t bucket_ready_us(const struct bucket_rule *rule, const struct bucket *bucket, int64_t now_us)
{
    int64_t rate = rate_of(rule);
    int64_t missing = MILLIONTHS - filled(rule, bucket, now_us);
    if (missing <= 0)
        return now_us;
    int64_t wait_us = (missing + rate - 1) / rate;
    return now_us <= INT64_MAX - wait_us ? now_us + wait_us : INT64_MAX;
}

int64_t bucket_take_all(const struct bucket_rule *rule, struct bucket *bucket, int64_t now_us,
                        int64_t want)
{
    int64_t rate = rate_of(rule);
    int64_t most = rule->burst < BUCKET_MAX ? rule->burst : BUCKET_MAX;
    int64_t needed = (want < most ? want : most) * MILLIONTHS;
    int64_t tokens = filled(rule, bucket, now_us);
    bucket->filled_us = now_us != 0 ? now_us : 1;
    bucket->tokens = tokens >= needed ? tokens - needed : tokens;
    return tokens >= needed ? 0 : (needed - tokens + rate - 1) / rate;
}
