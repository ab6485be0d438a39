/*
 * jobs.h - jobs, their attempts and their ordering keys.
 *
 * Claiming is a plain indexed read over `queued` and a write by key: scheduled jobs become queued
 * when due, blocked ones when the head of their key settles.
 */
#ifndef STORE_JOBS_H
#define STORE_JOBS_H
#include "core/queue/job.h"
#include "store/db.h"
#include "store/leases.h"
#include "store/scan.h"

struct job_row {
    struct id id;
    int64_t seq; /* Given by the store, known once read: order of arrival. */
    const char *queue;
    const char *type;
    struct id workspace_id;
    struct id run_id; /* none: not a step of a run */
    struct str payload;
    struct str result; /* succeeded only */
    int64_t priority;
    int64_t rank;
    const char *ordering_key; /* or NULL */
    const char *dedup_key;    /* or NULL */
    struct job_life life;
    const char *worker;     /* leased, succeeded: by this worker */
    int64_t leased_us;      /* leased, succeeded: start of its lease */
    const char *error_code; /* of the last failure */
    const char *error_message;
    int64_t created_us, updated_us;
    struct str headers;        /* JSON object, sent with the payload; or empty */
    const char *dependency;    /* The breaker that guards what it calls, or NULL */
    struct id saga_id;         /* none: not a step of a saga */
    const char *error_pattern; /* dead letters: the error without its particulars, or NULL */
    int64_t archived_us;       /* dead letters: archived at; 0: not */
};

struct attempt_row {
    struct id job_id;
    int64_t attempt; /* From 1. */
    int64_t epoch;
    const char *worker;
    int64_t started_us, ended_us;
    const char *outcome; /* failed, lost, released, cancelled; from the job: succeeded */
    const char *error_code;
    const char *error_message;
};

/* RC_CONFLICT when (queue, dedup_key) is there already: see jobs_by_dedup. */
MUST_USE enum rc jobs_insert(struct db *db, const struct job_row *row, struct err *err);
struct dedup_row {
    struct id id;
    enum job_state state;
    int64_t created_us;
};
/* RC_NOT_FOUND, without a text. */
MUST_USE enum rc jobs_by_dedup(struct db *db, const char *queue, const char *dedup_key,
                               struct dedup_row *ret_row, struct err *err);
/* Its key may be used again. */
MUST_USE enum rc jobs_dedup_release(struct db *db, const struct id *id, struct err *err);
/* payload, headers, dedup_key and due_us: a job that waits takes in further ones (batches). */
MUST_USE enum rc jobs_grow(struct db *db, const struct job_row *row, struct err *err);
struct job_row job_row_copy(const struct job_row *row, struct arena *arena);
MUST_USE enum rc jobs_get(struct db *db, const struct id *id, struct arena *arena,
                          struct job_row *ret_row, struct err *err);
/* For jobs_get, and for jobs_owner: see db_read_ahead. */
MUST_USE enum rc jobs_read_ahead(struct db *db, const struct id *id, struct err *err);
MUST_USE enum rc jobs_owner_read_ahead(struct db *db, const struct id *id, struct err *err);
struct job_owner {
    struct id run_id, task_id; /* none: not a step of a run */
    struct id root_run_id;     /* Of the run's budget tree, or none. */
};
/* Locks nothing: it never changes. */
MUST_USE enum rc jobs_owner(struct db *db, const struct id *id, struct job_owner *ret_owner,
                            struct err *err);
/* life, worker, leased_us, result, errors, updated_us, error_pattern, archived_us. */
MUST_USE enum rc jobs_save(struct db *db, const struct job_row *row, struct err *err);

/* Up to limit jobs that may be claimed now, in order of (rank, seq), locked by this transaction;
   those that another transaction has locked are skipped. */
MUST_USE enum rc jobs_claimable(struct db *db, const char *queue, int64_t now_us, int64_t limit,
                                struct arena *arena, struct job_row **ret_rows, size_t *ret_count,
                                struct err *err);
struct claim {
    const char *worker;
    const char *owner; /* The principal that the lease belongs to. */
    int64_t now_us;
    int64_t until_us;
};
/* Leases such a job to the worker; its epoch grows. */
MUST_USE enum rc jobs_claim(struct db *db, const struct claim *claim, struct job_row *row,
                            struct err *err);

/* Probes under way: leased since then, for this dependency. */
MUST_USE enum rc jobs_count_probes(struct db *db, const char *dependency, int64_t since_us,
                                   int64_t *ret_count, struct err *err);
/* Those of the dependency that wait for exactly this moment become due now. */
MUST_USE enum rc jobs_release_held(struct db *db, const char *dependency, int64_t due_us,
                                   int64_t now_us, struct err *err);
/* A queued job goes over to another queue, free of its dependency; row->queue is the new one.  It
   must have neither an ordering key nor a dedup key: those belong to its queue. */
MUST_USE enum rc jobs_move(struct db *db, struct job_row *row, const char *queue, int64_t now_us,
                           struct err *err);

/* scheduled that are due, leased whose lease ran out, queued/scheduled/blocked past expires_us. */
MUST_USE enum rc jobs_due(struct db *db, const struct due_ask *ask, struct arena *arena,
                          struct job_row **ret_rows, size_t *ret_count, struct err *err);
/* The earliest moment at which jobs_due has something; RC_NOT_FOUND: never. */
MUST_USE enum rc jobs_next_due(struct db *db, int64_t *ret_due_us, struct err *err);
/* The leases of a principal that have not ended. */
MUST_USE enum rc jobs_leased_to(struct db *db, const char *owner, struct arena *arena,
                                struct job_row **ret_rows, size_t *ret_count, struct err *err);
/* No lease ends before then: after a time in which no worker could renew. */
MUST_USE enum rc jobs_grant(struct db *db, int64_t until_us, struct err *err);
/* Nothing about this one is due before then: what was due could not be done. */
MUST_USE enum rc jobs_put_off(struct db *db, const struct id *id, int64_t until_us,
                              struct err *err);

struct job_filter {
    const char *queue;
    const char *type;
    int state; /* enum job_state or -1 */
    struct id run_id;
    struct id before;
    int64_t limit;
    struct scan *scan; /* scan.h, or NULL: the whole table */
};
MUST_USE enum rc jobs_list(struct db *db, const struct job_filter *filter, struct arena *arena,
                           struct job_row **ret_rows, size_t *ret_count, struct err *err);

/* Every attempt leaves a row when it ends; one that succeeded is read from its job. */
MUST_USE enum rc attempts_insert(struct db *db, const struct attempt_row *row, struct err *err);
MUST_USE enum rc attempts_list(struct db *db, const struct id *job_id, struct arena *arena,
                               struct attempt_row **ret_rows, size_t *ret_count, struct err *err);

/* Ordering keys.  The head of a key is the only one that is not blocked. */
/* *ret_head: this job became the head (it may be queued); else it must be blocked. */
MUST_USE enum rc job_keys_enter(struct db *db, const char *queue, const char *key,
                                const struct id *job_id, bool *ret_head, struct err *err);
/* The head has settled: the next blocked job of the key becomes the head and is named; none: the
   key is gone (also when it was before). */
MUST_USE enum rc job_keys_leave(struct db *db, const char *queue, const char *key,
                                struct id *ret_next, struct err *err);

struct queue_counts {
    const char *queue;
    int64_t by_state[JOB_STATE_COUNT];
    int64_t oldest_queued_us;
};
MUST_USE enum rc jobs_count(struct db *db, struct arena *arena, struct queue_counts **ret_rows,
                            size_t *ret_count, struct err *err);
#endif
