/*
 * supply.h - the jobs that leases of one batch may take, looked up for many at once.
 *
 * The first lease that needs a queue reads as many of its jobs as the leases of the batch may
 * take; the others are given of these.  A queue that had fewer is marked dry and not read again,
 * until a job of it becomes ready.  Jobs that no lease took stay unchanged.  Of a queue some leases
 * want some jobs only (cells): these are read apart.
 *
 * Lives as long as its batch, in the batch's arena.
 */
#ifndef CONTROL_COMMIT_SUPPLY_H
#define CONTROL_COMMIT_SUPPLY_H
#include "base/arena.h"
#include "store/job_marks.h"

enum { SUPPLY_QUEUES_MAX = 32, SUPPLY_READ_AHEAD_MAX = 64 };

struct supply {
    struct supply_queue {
        const char *name;
        struct job_cell cell; /* Of its jobs only these; not marked: all. */
        struct job_row *rows;
        size_t count, next;
        bool dry;
        bool probed, any; /* As supply_any found it. */
    } queues[SUPPLY_QUEUES_MAX];
    size_t count;
    bool celled; /* Some entries have a cell: a job may stand in several. */
};

struct supply_wish {
    const char *queue;
    struct job_cell cell; /* Some jobs of it only; not marked: any. */
    int64_t now_us;
    int64_t jobs;       /* This many now, */
    int64_t read_ahead; /* and this many that other leases of the batch may take. */
    /* For each job with a run that is read: see job_hooks.h. */
    enum rc (*read_owner)(struct db *db, const struct job_row *job, struct err *err);
};
/* The next job of the queue, to be claimed by the caller or passed over; *ret_job is NULL when
   there is none. */
MUST_USE enum rc supply_next(struct supply *supply, struct db *db, const struct supply_wish *wish,
                             struct arena *arena, const struct job_row **ret_job, struct err *err);
/* The same; it stays the next one until supply_forget. */
MUST_USE enum rc supply_peek(struct supply *supply, struct db *db, const struct supply_wish *wish,
                             struct arena *arena, const struct job_row **ret_job, struct err *err);
/* Has the queue any job that waits?  One query a batch, however many leases ask for cells of it. */
MUST_USE enum rc supply_any(struct supply *supply, struct db *db, const char *queue,
                            struct arena *arena, bool *ret_any, struct err *err);
/* A job that was handed out is left where it is: what is read of its queue by now is all. */
void supply_pass(struct supply *supply, const char *queue);
/* A job of the queue became ready: what was read of it may be out of order now. */
void supply_refresh(struct supply *supply, const char *queue);
/* A job that waited was settled or claimed by other means. */
void supply_forget(struct supply *supply, const struct job_row *job);
#endif
