/*
 * supply.h - the jobs that leases of one batch may take, looked up for many at once.
 *
 * The first lease that needs a queue reads as many of its jobs as the leases of the batch may
 * take; the others are given of these.  A queue that had fewer is marked dry and not read again,
 * until a job of it becomes ready.  Jobs that no lease took stay unchanged.
 *
 * Lives as long as its batch, in the batch's arena.
 */
#ifndef CONTROL_COMMIT_SUPPLY_H
#define CONTROL_COMMIT_SUPPLY_H
#include "base/arena.h"
#include "store/jobs.h"

enum { SUPPLY_QUEUES_MAX = 32, SUPPLY_READ_AHEAD_MAX = 64 };

struct supply {
    struct supply_queue {
        const char *name;
        struct job_row *rows;
        size_t count, next;
        bool dry;
    } queues[SUPPLY_QUEUES_MAX];
    size_t count;
};

struct supply_wish {
    const char *queue;
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
/* The job that was handed out last is left where it is: what is read of its queue by now is all. */
void supply_pass(struct supply *supply, const char *queue);
/* A job of the queue became ready: what was read of it may be out of order now. */
void supply_refresh(struct supply *supply, const char *queue);
/* A job that waited was settled by other means. */
void supply_forget(struct supply *supply, const struct job_row *job);
#endif
