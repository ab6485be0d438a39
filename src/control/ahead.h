/*
 * ahead.h - the rows that a batch will ask for, locked and read in one go.
 *
 * Lanes and nodes share no memory, only rows: whoever changes a row holds its lock until the
 * commit.  All take their locks in one order, so that nobody waits for somebody who waits for them:
 *
 *   workspace (admission only), then runs, then their tasks, then jobs, then breakers; within a
 *   kind by id; last what belongs to one of them: questions, pull requests, accounts, timers
 *
 * Commands name what they start from, mostly jobs.  Which runs and tasks these belong to never
 * changes, so it is looked up first, without locks.  On a database behind a network that makes two
 * round trips for the whole batch instead of several for each command; with one writer there is
 * nothing to do.
 *
 * A claim comes to its run from the other end.  It takes what is free and passes over the rest
 * (runs_get_free), so it never waits.
 */
#ifndef CONTROL_AHEAD_H
#define CONTROL_AHEAD_H
#include "base/arena.h"
#include "base/id.h"
#include "store/db.h"

struct ahead {
    struct arena *arena;
    struct ahead_ids {
        struct id *ids;
        size_t count, room;
    } jobs, tasks;
};

void ahead_job(struct ahead *ahead, const struct id *job_id);
void ahead_task(struct ahead *ahead, const struct id *task_id);
/* Looks up, locks and reads. */
MUST_USE enum rc ahead_read(struct ahead *ahead, struct db *db, struct err *err);
#endif
