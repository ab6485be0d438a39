/*
 * jobs.h - what the commands of the job protocol are made of: limits, new jobs, leases, answers.
 * The commands: enqueue.h, lease.h (lease, heartbeat), complete.h (complete, fail, release).
 * Progress is of runs: run/progress.h.
 */
#ifndef CONTROL_QUEUE_JOBS_H
#define CONTROL_QUEUE_JOBS_H
#include "base/js.h"
#include "control/commit/command.h"
#include "core/queue/queue_config.h"
#include "store/jobs.h"

enum {
    JOBS_PER_CALL_MAX = 1000,
    JOB_PAYLOAD_MAX = 256 * 1024,
    JOB_RESULT_MAX = 10 * 1024,
    JOB_WAIT_MS_MAX = 30000,
    JOB_LEASE_MS_MIN = 100,
    JOB_LEASE_MS_MAX = 12 * 3600 * 1000,
    JOB_LEASE_MS_DEFAULT = 15000,
    JOB_PUT_OFF_MS_MAX = 24 * 3600 * 1000,
    LEASE_QUEUES_MAX = 32
};

struct job_spec {
    const char *queue, *type;
    struct str payload; /* JSON */
    int64_t priority;
    const char *ordering_key, *dedup_key; /* or NULL */
    int64_t delay_us;                     /* 0: none */
    int64_t ttl_us, max_attempts;         /* 0: the queue's */
    struct str headers;                   /* JSON object, or empty */
    const char *dependency;               /* or NULL */
    struct id saga_id;                    /* or none */
    bool always; /* Part of work that has begun: never refused or deferred. */
};
struct enqueue_answer {
    struct id id; /* none: dropped */
    bool duplicate;
    bool batched;     /* Gathered with others into the job that is named. */
    bool deferred;    /* Accepted, and delayed. */
    bool dropped;     /* Refused: */
    const char *code; /* SHED or SWARM, */
    int64_t retry_us; /* worth another try after this time. */
};

struct job_ref { /* A lease, as its holder names it. */
    struct id id;
    int64_t epoch;
};
/* What stands still meanwhile: PAUSED the work itself, ASKING only its time limits. */
enum job_hold { JOB_HOLD_NONE, JOB_HOLD_PAUSED, JOB_HOLD_ASKING };
struct job_answer {
    bool ok;
    bool cancel; /* The work should stop. */
    enum job_hold hold;
    int64_t message_seq; /* The newest message for it; 0: none. */
    int64_t until_us;    /* Of a renewal: the end of the lease. */
    const char *code;    /* NULL, LEASE_LOST, NOT_FOUND, RESULT_REFUSED, ... */
    enum job_state state;
    const char *field,
        *message; /* RESULT_REFUSED, CONTROL_ERROR: which member, and why; else NULL. */
};
#endif
