/*
 * expiry_rows.h - rows of no task whose time is over: jobs, sagas, batches, dead letters of sinks.
 *
 * Finding reads only, on any connection; deleting checks again what it deletes, since the row may
 * have changed meanwhile.
 */
#ifndef STORE_EXPIRY_ROWS_H
#define STORE_EXPIRY_ROWS_H
#include "store/db.h"

/* A job of no run and no saga that has succeeded or was cancelled. */
struct expiry_job {
    struct id id;
    int64_t seq;
    int64_t created_us;
    bool goes; /* It is such a job, and has ended before that time. */
};
struct expiry_job_page {
    int64_t after_seq, before_us, limit;
};
/* All jobs in order of arrival. */
MUST_USE enum rc expiry_jobs(struct db *db, const struct expiry_job_page *page, struct arena *arena,
                             struct expiry_job **ret_rows, size_t *ret_count, struct err *err);
/* *ret_count: 1, or 0 when it is needed again. */
MUST_USE enum rc expiry_delete_job(struct db *db, const struct id *id, int64_t before_us,
                                   int64_t *ret_count, struct err *err);

/* Sagas of no run that have completed, or are undone. */
MUST_USE enum rc expiry_sagas(struct db *db, int64_t before_us, int64_t limit, struct arena *arena,
                              struct id **ret_ids, size_t *ret_count, struct err *err);
/* With its steps and their jobs. */
MUST_USE enum rc expiry_delete_saga(struct db *db, const struct id *id, int64_t *ret_jobs,
                                    struct err *err);

/* Batches that have ended and have no task any more. */
MUST_USE enum rc expiry_batches(struct db *db, int64_t before_us, int64_t limit,
                                struct arena *arena, struct id **ret_ids, size_t *ret_count,
                                struct err *err);
MUST_USE enum rc expiry_delete_batch(struct db *db, const struct id *id, int64_t now_us,
                                     struct err *err);

/* Some of the dead letters of sinks, at once. */
MUST_USE enum rc expiry_delete_letters(struct db *db, int64_t before_us, int64_t limit,
                                       int64_t *ret_count, struct err *err);
MUST_USE enum rc expiry_count_letters(struct db *db, int64_t before_us, int64_t *ret_count,
                                      struct err *err);
#endif
