/*
 * job.h - the life of one job, as a pure function.
 *
 *   scheduled | blocked -> queued -> leased -> succeeded
 *                            ^         |-> scheduled (retry) | dead_letter | cancelled
 *                            +---------+   (lease lost: the attempt is given back)
 *
 * A job that waits past its time to live becomes a dead letter.
 *
 * The epoch grows by one at every claim.  Epoch and owner (the principal that claimed the job)
 * fence every later call about the lease: both must be those of the last claim.
 * Time and randomness are input.
 */
#ifndef CORE_QUEUE_JOB_H
#define CORE_QUEUE_JOB_H
#include "base/id.h"
#include "base/rc.h"
#include "core/queue/backoff.h"
#include <stdbool.h>
#include <stdint.h>

enum job_state {
    JOB_SCHEDULED, /* Not due yet. */
    JOB_BLOCKED,   /* Behind another job of its ordering key. */
    JOB_QUEUED,
    JOB_LEASED,
    JOB_SUCCEEDED,
    JOB_DEAD_LETTER,
    JOB_CANCELLED,
    JOB_STATE_COUNT
};

enum job_event {
    JOB_EV_DUE,     /* scheduled -> queued */
    JOB_EV_UNBLOCK, /* blocked -> queued (or scheduled, when not due yet) */
    JOB_EV_CLAIM,   /* queued -> leased */
    JOB_EV_RENEW,   /* leased -> leased, fenced */
    JOB_EV_FINISH,  /* leased -> succeeded, fenced */
    JOB_EV_FAIL,    /* leased -> scheduled | dead_letter, fenced */
    JOB_EV_EXPIRE,  /* leased -> queued | dead_letter (poison): the worker was lost */
    JOB_EV_RELEASE, /* leased -> queued, fenced: given back in good order, no loss counted */
    JOB_EV_CANCEL,  /* anything not settled -> cancelled */
    JOB_EV_REPLAY,  /* dead_letter -> queued | blocked, attempts and losses from zero */
    JOB_EV_TTL,     /* scheduled, blocked, queued -> dead_letter (expired) */
    JOB_EV_HOLD,    /* queued -> scheduled: it is not to be handed out now */
    JOB_EV_COUNT
};

enum dead_reason {
    DEAD_NONE,
    DEAD_MAX_ATTEMPTS,
    DEAD_EXPIRED,
    DEAD_REJECTED,
    DEAD_NON_RETRYABLE,
    DEAD_POLICY_BLOCKED,
    DEAD_POISON,
    DEAD_REASON_COUNT
};

/* Due time of a job that waits for a person: it becomes due by hand. */
#define JOB_HELD_US (INT64_C(1) << 60)
enum { JOB_LOST_MAX = 20, JOB_ATTEMPTS_DEFAULT = 3, JOB_ATTEMPTS_MAX = 100 };

/* Also stored: a new member means a column in store/jobs.c and a migration. */
struct job_life {
    enum job_state state;
    int64_t epoch;      /* Fencing token: grows by one at every claim. */
    int64_t due_us;     /* scheduled: due at.  queued: due since.  leased: end of the lease. */
    int64_t expires_us; /* Dead letter (expired) when claimed or retried after this; 0: never. */
    int64_t attempt;    /* Attempts that ended, at most attempt_max. */
    int64_t attempt_max;
    int64_t lost; /* Leases that ran out. */
    enum dead_reason dead_reason;
    const char *owner; /* Principal of the last claim, kept when the lease ends; NULL: none yet. */
};

struct job_input {
    enum job_event event;
    int64_t now_us;
    int64_t epoch;          /* Fenced events. */
    const char *owner;      /* CLAIM: the claimer.  Fenced events: the caller. */
    int64_t lease_us;       /* CLAIM, RENEW: how long from now. */
    int64_t until_us;       /* HOLD */
    bool retryable;         /* FAIL */
    bool policy;            /* FAIL of the policy or security class: never retried. */
    struct backoff backoff; /* FAIL */
    uint64_t random;        /* FAIL: jitter. */
    bool behind;            /* REPLAY: another job is the head of its ordering key. */
};

/* RC_CONFLICT: the table does not list it.  RC_STALE: the lease was lost, or has another owner. */
MUST_USE enum rc job_step(const struct job_life *job, const struct job_input *in,
                          struct job_life *ret_next);

/* One claim of the job, as events name it (attemptid): the job's id, with the epoch added to the
   number that its last 12 digits are. */
struct id job_attempt_id(const struct id *job_id, int64_t epoch);

/* Do epoch and owner name the last claim?  The lease may have ended since. */
bool job_lease_is(const struct job_life *job, int64_t epoch, const char *owner);
/* The same, and it has not ended. */
bool job_leased_to(const struct job_life *job, int64_t epoch, const char *owner);

bool job_is_settled(enum job_state state); /* succeeded, dead_letter, cancelled */
const char *job_state_name(enum job_state state);
const char *job_event_name(enum job_event event);
const char *dead_reason_name(enum dead_reason reason); /* "" for none. */
MUST_USE bool job_state_parse(const char *name, enum job_state *ret_state);
enum dead_reason dead_reason_parse(const char *name);
#endif
