/*
 * job_marks.h - what work for agents (jobs of type pull) is about, so that an agent finds its own
 * among jobs that are not for it: by repository, by label, or by both.
 *
 * A job has one row with its repository and the label '', and one row for each of its labels.  Each
 * question below is one walk of an index that holds the matching jobs only, in order of rank.  The
 * rows stay until the job is settled: a job that is leased or scheduled is passed over by its
 * state, and there are no more of these than agents at work.
 */
#ifndef STORE_JOB_MARKS_H
#define STORE_JOB_MARKS_H
#include "store/jobs.h"

struct job_about {
    const char *repository;
    const char *const *labels; /* NULL-terminated; or NULL: none */
};

/* Which jobs of a queue. */
struct job_cell {
    bool marked;            /* Those that have marks, and of them: */
    const char *repository; /* NULL: of any */
    const char *label;      /* NULL: with or without labels */
};

MUST_USE enum rc job_marks_add(struct db *db, const struct job_row *job,
                               const struct job_about *about, struct err *err);
/* Of a job that is settled. */
MUST_USE enum rc job_marks_drop(struct db *db, const struct id *job_id, struct err *err);
/* As jobs_claimable. */
struct marked_ask {
    const char *queue;
    struct job_cell cell;
    int64_t now_us, limit;
};
MUST_USE enum rc job_marks_claimable(struct db *db, const struct marked_ask *ask,
                                     struct arena *arena, struct job_row **ret_rows,
                                     size_t *ret_count, struct err *err);
/* Has the queue a job that waits, locked or not? */
MUST_USE enum rc jobs_any_queued(struct db *db, const char *queue, bool *ret_any, struct err *err);
#endif
