/*
 * schedules.h - recurring jobs, by a cron expression.
 */
#ifndef STORE_SCHEDULES_H
#define STORE_SCHEDULES_H
#include "store/db.h"
#include "store/leases.h"

enum { SCHEDULES_MAX = 1000 };

struct schedule_row {
    const char *name;
    const char *cron;
    struct str job; /* JSON: {queue, type, payload, ...} as it was given. */
    bool enabled;
    int64_t next_us; /* 0: never again */
    int64_t last_us; /* The scheduled time of the last job; 0: none yet */
    struct id last_job_id;
    int64_t created_us, updated_us;
};
/* Inserts, or replaces cron, job, enabled and next_us. */
MUST_USE enum rc schedules_put(struct db *db, const struct schedule_row *row, struct err *err);
/* Locks it. */
MUST_USE enum rc schedules_get(struct db *db, const char *name, struct arena *arena,
                               struct schedule_row *ret_row, struct err *err);
/* next_us, last_us, last_job_id. */
MUST_USE enum rc schedules_save(struct db *db, const struct schedule_row *row, struct err *err);
MUST_USE enum rc schedules_remove(struct db *db, const char *name, struct err *err);
/* By name, after `after` (NULL: from the start). */
MUST_USE enum rc schedules_list(struct db *db, const char *after, int64_t limit,
                                struct arena *arena, struct schedule_row **ret_rows,
                                size_t *ret_count, struct err *err);
MUST_USE enum rc schedules_count(struct db *db, int64_t *ret_count, struct err *err);
/* The enabled ones whose time has come, locked. */
MUST_USE enum rc schedules_due(struct db *db, const struct due_ask *ask, struct arena *arena,
                               struct schedule_row **ret_rows, size_t *ret_count, struct err *err);
/* The earliest moment at which schedules_due has something; RC_NOT_FOUND: never. */
MUST_USE enum rc schedules_next_due(struct db *db, int64_t *ret_due_us, struct err *err);
#endif
