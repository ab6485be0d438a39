/*
 * sagas.h - sagas, and what has happened in each: one row for every step or compensation whose job
 * was made, in that order.
 */
#ifndef STORE_SAGAS_H
#define STORE_SAGAS_H
#include "core/queue/saga.h"
#include "store/db.h"
#include "store/scan.h"

struct saga_row {
    struct id id;
    const char *name;
    const char *dedup_key; /* or NULL */
    struct id workspace_id;
    struct id run_id; /* none: not drover's own */
    struct saga life;
    struct id job_id;       /* Of what is, or was last, in flight. */
    struct str definition;  /* JSON array: core/queue/saga_plan.h */
    const char *error_code; /* Why it does not complete, or NULL */
    const char *error_message;
    int64_t created_us, updated_us, ended_us;
};

struct saga_step_row {
    struct id saga_id;
    int64_t no; /* From 1. */
    int64_t position;
    enum saga_phase phase;
    const char *name; /* Of the step. */
    struct id job_id;
    const char *status; /* running, succeeded, failed */
    struct str result;  /* JSON, or empty */
    const char *error_code, *error_message;
    int64_t started_us, ended_us;
};

/* RC_CONFLICT when (name, dedup_key) is there already: see sagas_by_dedup. */
MUST_USE enum rc sagas_insert(struct db *db, const struct saga_row *row, struct err *err);
MUST_USE enum rc sagas_get(struct db *db, const struct id *id, struct arena *arena,
                           struct saga_row *ret_row, struct err *err);
/* Locks nothing. */
MUST_USE enum rc sagas_peek(struct db *db, const struct id *id, struct arena *arena,
                            struct saga_row *ret_row, struct err *err);
MUST_USE enum rc sagas_by_dedup(struct db *db, const char *name, const char *dedup_key,
                                struct arena *arena, struct saga_row *ret_row, struct err *err);
/* life, job_id, errors, updated_us, ended_us. */
MUST_USE enum rc sagas_save(struct db *db, const struct saga_row *row, struct err *err);

struct saga_filter {
    const char *name;
    int status; /* enum saga_status or -1 */
    struct id run_id;
    struct id before;
    int64_t limit;
    struct scan *scan; /* scan.h, or NULL: the whole table */
};
MUST_USE enum rc sagas_list(struct db *db, const struct saga_filter *filter, struct arena *arena,
                            struct saga_row **ret_rows, size_t *ret_count, struct err *err);

MUST_USE enum rc saga_steps_insert(struct db *db, const struct saga_step_row *row, struct err *err);
/* status, result, errors, ended_us. */
MUST_USE enum rc saga_steps_save(struct db *db, const struct saga_step_row *row, struct err *err);
/* In order. */
MUST_USE enum rc saga_steps_list(struct db *db, const struct id *saga_id, struct arena *arena,
                                 struct saga_step_row **ret_rows, size_t *ret_count,
                                 struct err *err);
#endif
