/*
 * expiry.h - what is deleted after its time, and what is kept although its time is over.  Pure.
 *
 * 1. A task expires as a whole, with its sub-tasks: when all of them have ended so long ago, and
 *    nothing that is still there needs one of them.
 * 2. Work that is published nowhere has a time of its own, which is "never" unless it is set.
 * 3. Events of a task go with it, others by their age; those about issues, and those that repeat
 *    the audit log, never do.
 * 4. Diagnostic events of a run that has ended go earlier.  Those stay that its fold cannot do
 *    without (run_fold.h): its last event, the last one with its usage, and its plans.
 */
#ifndef CORE_RUN_EXPIRY_H
#define CORE_RUN_EXPIRY_H
#include "core/event.h"
#include "core/expiry_rules.h"
#include "core/run/task.h"
#include "core/run_status.h"
#include <stdbool.h>
#include <stdint.h>

/* ---- tasks ---- */

/* Why a task is kept; in the order in which it is asked. */
enum expiry_keep {
    EXPIRY_GOES,
    EXPIRY_OPEN,         /* It has not ended, or something of it is under way. */
    EXPIRY_YOUNG,        /* Its time is not over. */
    EXPIRY_PULL_REQUEST, /* Its pull request is open, or is followed. */
    EXPIRY_TRAIN,        /* The same is in a merge train. */
    EXPIRY_REPAIR,       /* Another task repaired that, and is still there. */
    EXPIRY_DEPENDENT,    /* Another task depends on it. */
    EXPIRY_BATCH,        /* Its batch has not ended, or not so long ago. */
    EXPIRY_ISSUE,        /* Its issue is at work. */
    EXPIRY_SAGA,         /* What it published is being taken back, or that is stuck. */
    EXPIRY_UNPUBLISHED,
    EXPIRY_KEEP_COUNT
};
const char *expiry_keep_name(enum expiry_keep keep);    /* "pull_request" */
const char *expiry_keep_meaning(enum expiry_keep keep); /* For people. */
/* Its time is over, and it is there nevertheless: of interest to people. */
bool expiry_waits(enum expiry_keep keep);

/* What is known of one task, but for its work. */
struct expiry_task {
    enum task_status status;
    int64_t ended_us;
    int64_t pr_us;          /* Its pull requests changed last; 0: it has none. */
    int64_t batch_ended_us; /* With in_batch; 0: it has not. */
    bool in_batch;
    int64_t open_jobs, open_prs, followed_prs, cars, repairs, dependents, issues, sagas, timers;
};
enum expiry_keep expiry_judge_task(const struct expiry_rules *rules, const struct expiry_task *task,
                                   int64_t now_us);
/* When its time began. */
int64_t expiry_since(const struct expiry_task *task);

/* The work of one run, in the order of what was reported. */
struct expiry_run {
    enum run_status status;
    bool has_pr;      /* It opened one, or changed that of another run. */
    bool has_patch;   /* The server has a patch of it. */
    bool is_losing;   /* A candidate of a task that has completed: another may have been chosen. */
    bool snapshot;    /* There is one on the disk of a worker, */
    bool published;   /* and the origin has the last of them. */
    bool is_kept;     /* A tree that could not be saved is. */
    bool has_secrets; /* A patch was held back for them. */
};
bool expiry_run_unpublished(const struct expiry_run *run);

/* ---- events ---- */

/* May it go by its age, or with its task? */
bool expiry_event_may_go(const char *type, bool about_issue);
/* Of a run that has ended: is it one of the many?  about_issue: data.issueId is set. */
bool expiry_event_is_diagnostic(const struct event *event, bool about_issue);
#endif
