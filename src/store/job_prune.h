/*
 * job_prune.h - jobs that are made again and again: those that succeeded are deleted in time.
 */
#ifndef STORE_JOB_PRUNE_H
#define STORE_JOB_PRUNE_H
#include "store/db.h"

struct job_prune {
    const char *queue;
    int64_t before_us; /* When they succeeded. */
    int64_t limit;
};
MUST_USE enum rc jobs_prune(struct db *db, const struct job_prune *prune, struct arena *arena,
                            int64_t *ret_count, struct err *err);
#endif
