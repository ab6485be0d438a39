/*
 * jobs.h - commands of the job protocol: enqueue, lease, heartbeat, complete, fail, release.  Every
 * one takes many.  (Progress is of runs: run/progress.h.)
 */
#ifndef CONTROL_QUEUE_JOBS_H
#define CONTROL_QUEUE_JOBS_H
#include "base/js.h"
#include "control/commit/command.h"
#include "core/queue/job_error.h"
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
struct cmd_enqueue {
    struct command base;
    const struct job_spec *jobs;
    size_t count;
    struct enqueue_answer *answers;
};
struct cmd_enqueue *cmd_enqueue_new(void);

struct cmd_lease {
    struct command base;
    const char *const *queues; /* NULL-terminated */
    const char *worker;
    int64_t max;
    int64_t wait_us;      /* 0: answer at once */
    int64_t lease_us;     /* 0: each queue's */
    struct job_row *jobs; /* The answer. */
    size_t job_count;
    size_t held; /* Jobs that breakers kept from it. */
};
struct cmd_lease *cmd_lease_new(void);

struct job_ref {
    struct id id;
    int64_t epoch;
};
struct job_answer {
    bool ok;
    bool cancel;      /* The work should stop. */
    const char *code; /* NULL, LEASE_LOST, NOT_FOUND, RESULT_REFUSED, ... */
    enum job_state state;
    const char *field,
        *message; /* RESULT_REFUSED, CONTROL_ERROR: which member, and why; else NULL. */
};
struct cmd_heartbeat {
    struct command base;
    const char *worker;
    const struct job_ref *leases;
    size_t count;
    int64_t extend_us;
    struct job_answer *answers;
};
struct cmd_heartbeat *cmd_heartbeat_new(void);

struct job_done {
    struct job_ref ref;
    struct str result;           /* JSON object, or empty */
    const struct job_spec *next; /* Made in the same commit, if the report counts; or NULL */
    size_t next_count;
    struct enqueue_answer *made; /* The answer: next_count of them, or NULL */
};
struct cmd_complete {
    struct command base;
    struct job_done *jobs;
    size_t count;
    struct job_answer *answers;
};
struct cmd_complete *cmd_complete_new(void);

struct job_failed {
    struct job_ref ref;
    const char *code, *message;
    bool retryable;
    bool policy;  /* Of the policy or security class. */
    bool classed; /* It was given a class: */
    enum error_class class;
};
struct cmd_fail {
    struct command base;
    const struct job_failed *jobs;
    size_t count;
    struct job_answer *answers;
};
struct cmd_fail *cmd_fail_new(void);

struct cmd_release { /* A worker gives jobs back in good order. */
    struct command base;
    const struct job_ref *leases;
    size_t count;
    struct job_answer *answers;
};
struct cmd_release *cmd_release_new(void);
#endif
