/*
 * job_shape.h - the columns of a job and how a row becomes one: for the files of the store that
 * read jobs.
 */
#ifndef STORE_JOB_SHAPE_H
#define STORE_JOB_SHAPE_H
#include "store/query.h"

/* The large ones may be left out: "NULL" in place of their names. */
#define JOB_COLUMNS_WITH(payload, result, headers)                                                 \
    "seq, id, queue, type, workspace_id, run_id, " payload ", " result ", priority, rank,"         \
    " ordering_key, dedup_key, state, epoch, due_us, expires_us, attempt, attempt_max, lost,"      \
    " dead_reason, worker, leased_us, error_code, error_message, created_us, updated_us, " headers \
    ", dependency, saga_id, error_pattern, archived_us, lease_owner"
#define JOB_COLUMNS JOB_COLUMNS_WITH("payload", "result", "headers")

extern const struct shape job_shape; /* Of a struct job_row. */
#endif
