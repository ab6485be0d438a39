/*
 * job.c - the life of one job.
 *
 *                 +------------------ FAIL (retry) --------------------+
 *                 v                                                    |
 *             scheduled --DUE--+                                       |
 *                 ^            v                                       |
 *    (not due) UNBLOCK       queued --CLAIM--> leased --FINISH--> succeeded
 *                 |          ^ ^ ^ |            | | |  (RENEW: stays leased)
 *             blocked -------+ | | |            | | |
 *                    UNBLOCK   | | | CLAIM      | | +-- FAIL, EXPIRE (poison) --+
 *                              | | +-(expired)--|-|-----> dead_letter <---------+
 *                              | |   REPLAY     | |           |
 *                              | +--------------|-|-----------+
 *                              +-- EXPIRE, RELEASE+
 *
 *   queued:                             HOLD -> scheduled
 *   scheduled, blocked, queued:         TTL -> dead_letter (expired)
 *   scheduled, blocked, queued, leased: CANCEL -> cancelled
 *
 *   dead_letter: REPLAY -> blocked, when its ordering key has another head by now
 *
 * The table lists what may happen and whether epoch and owner must match; the effects do it.
 * A settled job keeps the due time that it had.
 */
#include "core/queue/job.h"
#include "base/str.h"
#include <assert.h>
#include <stddef.h>

struct move {
    bool legal;
    bool fenced; /* Only for the claim that epoch and owner name. */
    enum job_state next;
};

/* next is the usual target; FAIL, EXPIRE, CLAIM, UNBLOCK and REPLAY may choose another. */
static const struct move moves[JOB_STATE_COUNT][JOB_EV_COUNT] = {
    [JOB_SCHEDULED][JOB_EV_DUE] = {true, false, JOB_QUEUED},
    [JOB_SCHEDULED][JOB_EV_CANCEL] = {true, false, JOB_CANCELLED},
    [JOB_SCHEDULED][JOB_EV_TTL] = {true, false, JOB_DEAD_LETTER},

    [JOB_BLOCKED][JOB_EV_UNBLOCK] = {true, false, JOB_QUEUED},
    [JOB_BLOCKED][JOB_EV_CANCEL] = {true, false, JOB_CANCELLED},
    [JOB_BLOCKED][JOB_EV_TTL] = {true, false, JOB_DEAD_LETTER},

    [JOB_QUEUED][JOB_EV_CLAIM] = {true, false, JOB_LEASED},
    [JOB_QUEUED][JOB_EV_CANCEL] = {true, false, JOB_CANCELLED},
    [JOB_QUEUED][JOB_EV_TTL] = {true, false, JOB_DEAD_LETTER},
    [JOB_QUEUED][JOB_EV_HOLD] = {true, false, JOB_SCHEDULED},

    [JOB_LEASED][JOB_EV_RENEW] = {true, true, JOB_LEASED},
    [JOB_LEASED][JOB_EV_FINISH] = {true, true, JOB_SUCCEEDED},
    [JOB_LEASED][JOB_EV_FAIL] = {true, true, JOB_SCHEDULED},
    [JOB_LEASED][JOB_EV_EXPIRE] = {true, false, JOB_QUEUED},
    [JOB_LEASED][JOB_EV_RELEASE] = {true, true, JOB_QUEUED},
    [JOB_LEASED][JOB_EV_CANCEL] = {true, false, JOB_CANCELLED},

    [JOB_DEAD_LETTER][JOB_EV_REPLAY] = {true, false, JOB_QUEUED},
};

/* Asserts the invariants. */
static void job_check(const struct job_life *job)
{
    assert((unsigned)job->state < JOB_STATE_COUNT);
    assert((unsigned)job->dead_reason < DEAD_REASON_COUNT);
    assert(job->epoch >= 0);
    assert(job->attempt_max >= 1 && job->attempt_max <= JOB_ATTEMPTS_MAX);
    assert(job->attempt >= 0 && job->attempt <= job->attempt_max);
    assert(job->lost >= 0 && job->lost <= JOB_LOST_MAX);
    assert((job->dead_reason != DEAD_NONE) == (job->state == JOB_DEAD_LETTER));
    if (job->state == JOB_LEASED || job->state == JOB_SUCCEEDED)
        assert(job->epoch >= 1);
    if (job->state == JOB_LEASED)
        assert(!text_empty(job->owner));
    if (!job_is_settled(job->state)) {
        assert(job->attempt < job->attempt_max);
        assert(job->lost < JOB_LOST_MAX);
    }
}

static void bury(struct job_life *next, enum dead_reason reason)
{
    next->state = JOB_DEAD_LETTER;
    next->dead_reason = reason;
}

static bool expired_at(const struct job_life *job, int64_t time_us)
{
    return job->expires_us > 0 && time_us > job->expires_us;
}

static void claim(struct job_life *next, const struct job_input *in)
{
    if (expired_at(next, in->now_us)) {
        bury(next, DEAD_EXPIRED);
        return;
    }
    next->epoch++;
    next->owner = in->owner;
    next->due_us = in->now_us + in->lease_us;
}

static void fail(struct job_life *next, const struct job_input *in)
{
    next->attempt++;
    if (in->policy) {
        bury(next, DEAD_POLICY_BLOCKED);
        return;
    }
    if (!in->retryable) {
        bury(next, DEAD_NON_RETRYABLE);
        return;
    }
    if (next->attempt == next->attempt_max) {
        bury(next, DEAD_MAX_ATTEMPTS);
        return;
    }
    int64_t due_us = in->now_us + backoff_delay_us(&in->backoff, next->attempt, in->random);
    if (expired_at(next, due_us))
        bury(next, DEAD_EXPIRED);
    else
        next->due_us = due_us;
}

static void expire(struct job_life *next, const struct job_input *in)
{
    next->lost++;
    if (next->lost >= JOB_LOST_MAX)
        bury(next, DEAD_POISON);
    else
        next->due_us = in->now_us;
}

static void replay(struct job_life *next, const struct job_input *in)
{
    next->attempt = 0;
    next->lost = 0;
    next->dead_reason = DEAD_NONE;
    next->expires_us = 0;
    next->due_us = in->now_us;
    if (in->behind)
        next->state = JOB_BLOCKED;
}

static void apply(struct job_life *next, const struct job_input *in)
{
    switch (in->event) {
    case JOB_EV_DUE:
        if (next->due_us > in->now_us)
            next->due_us = in->now_us; /* Ahead of its time: it was held. */
        break;
    case JOB_EV_CANCEL:
    case JOB_EV_COUNT:
        break;
    case JOB_EV_UNBLOCK:
        if (next->due_us > in->now_us)
            next->state = JOB_SCHEDULED;
        break;
    case JOB_EV_CLAIM:
        claim(next, in);
        break;
    case JOB_EV_RENEW:
        next->due_us = in->now_us + in->lease_us;
        break;
    case JOB_EV_FINISH:
        next->attempt++;
        break;
    case JOB_EV_FAIL:
        fail(next, in);
        break;
    case JOB_EV_EXPIRE:
        expire(next, in);
        break;
    case JOB_EV_RELEASE:
        next->due_us = in->now_us;
        break;
    case JOB_EV_REPLAY:
        replay(next, in);
        break;
    case JOB_EV_TTL:
        bury(next, DEAD_EXPIRED);
        break;
    case JOB_EV_HOLD: /* No attempt: it was not leased. */
        next->due_us = in->until_us;
        break;
    }
}

struct id job_attempt_id(const struct id *job_id, int64_t epoch)
{
    enum { DIGITS = 12 };
    static const char hex[] = "0123456789abcdef";
    struct id id = *job_id;
    assert(!id_is_none(job_id) && epoch >= 0);
    uint64_t carry = (uint64_t)epoch;
    for (size_t i = 0; i < DIGITS && carry > 0; i++) { /* Beyond these it is lost. */
        char *at = &id.text[ID_TEXT_BYTES - 2 - i];
        carry += (uint64_t)(*at <= '9' ? *at - '0' : *at - 'a' + 10);
        *at = hex[carry & 0xf];
        carry >>= 4;
    }
    return id;
}

bool job_lease_is(const struct job_life *job, int64_t epoch, const char *owner)
{
    return epoch == job->epoch && owner != NULL && text_same(owner, job->owner);
}

bool job_leased_to(const struct job_life *job, int64_t epoch, const char *owner)
{
    return job->state == JOB_LEASED && job_lease_is(job, epoch, owner);
}

enum rc job_step(const struct job_life *job, const struct job_input *in, struct job_life *ret_next)
{
    job_check(job);
    assert((unsigned)in->event < JOB_EV_COUNT);
    const struct move *move = &moves[job->state][in->event];
    if (!move->legal)
        return RC_CONFLICT;
    if (move->fenced && !job_lease_is(job, in->epoch, in->owner))
        return RC_STALE;
    struct job_life next = *job;
    next.state = move->next;
    apply(&next, in);
    job_check(&next);
    *ret_next = next;
    return RC_OK;
}

bool job_is_settled(enum job_state state)
{
    return state == JOB_SUCCEEDED || state == JOB_DEAD_LETTER || state == JOB_CANCELLED;
}

static const char *const state_names[JOB_STATE_COUNT] = {
    [JOB_SCHEDULED] = "scheduled", [JOB_BLOCKED] = "blocked",     [JOB_QUEUED] = "queued",
    [JOB_LEASED] = "leased",       [JOB_SUCCEEDED] = "succeeded", [JOB_DEAD_LETTER] = "dead_letter",
    [JOB_CANCELLED] = "cancelled",
};

static const char *const event_names[JOB_EV_COUNT] = {
    [JOB_EV_DUE] = "due",       [JOB_EV_UNBLOCK] = "unblock", [JOB_EV_CLAIM] = "claim",
    [JOB_EV_RENEW] = "renew",   [JOB_EV_FINISH] = "finish",   [JOB_EV_FAIL] = "fail",
    [JOB_EV_EXPIRE] = "expire", [JOB_EV_RELEASE] = "release", [JOB_EV_CANCEL] = "cancel",
    [JOB_EV_REPLAY] = "replay", [JOB_EV_TTL] = "ttl",         [JOB_EV_HOLD] = "hold",
};

static const char *const reason_names[DEAD_REASON_COUNT] = {
    [DEAD_NONE] = "",
    [DEAD_MAX_ATTEMPTS] = "max_attempts",
    [DEAD_EXPIRED] = "expired",
    [DEAD_REJECTED] = "rejected",
    [DEAD_NON_RETRYABLE] = "non_retryable",
    [DEAD_POLICY_BLOCKED] = "policy_blocked",
    [DEAD_POISON] = "poison",
};

const char *job_state_name(enum job_state state)
{
    assert((unsigned)state < JOB_STATE_COUNT);
    return state_names[state];
}

const char *job_event_name(enum job_event event)
{
    assert((unsigned)event < JOB_EV_COUNT);
    return event_names[event];
}

const char *dead_reason_name(enum dead_reason reason)
{
    assert((unsigned)reason < DEAD_REASON_COUNT);
    return reason_names[reason];
}

bool job_state_parse(const char *name, enum job_state *ret_state)
{
    for (size_t i = 0; i < JOB_STATE_COUNT; i++) {
        if (text_same(name, state_names[i])) {
            *ret_state = (enum job_state)i;
            return true;
        }
    }
    return false;
}

enum dead_reason dead_reason_parse(const char *name)
{
    for (size_t i = 0; i < DEAD_REASON_COUNT; i++) {
        if (text_same(name, reason_names[i]))
            return (enum dead_reason)i;
    }
    return DEAD_NONE;
}
