/*
 * read_ahead.h - the rows that a batch will need, locked and read in one go.
 *
 * Lanes and nodes share no memory, only rows: a transaction that changes a row holds its lock until
 * the commit.  All transactions take their locks in one order, so that there are no deadlocks:
 *
 *   workspace (admission only), then runs, then their tasks, then jobs, then breakers; within a
 *   kind by id; last what belongs to one of them: questions, pull requests, accounts, timers
 *
 * Commands name what they start from, mostly jobs.  Which runs and tasks these belong to never
 * changes, so it is looked up first, without locks.  On a database behind a network that makes two
 * round trips for the whole batch instead of several for each command; with one writer there is
 * nothing to do.
 *
 * A claim locks in the reverse order: first the job, then its run.  It takes only rows that are not
 * locked and skips the rest (runs_get_free), so it never waits.
 */
#ifndef CONTROL_COMMIT_READ_AHEAD_H
#define CONTROL_COMMIT_READ_AHEAD_H
#include "base/arena.h"
#include "base/id.h"
#include "store/db.h"

struct read_ahead {
    struct arena *arena;
    struct read_ahead_ids {
        struct id *ids;
        size_t count, room;
    } jobs, tasks;
};

void read_ahead_job(struct read_ahead *read_ahead, const struct id *job_id);
void read_ahead_task(struct read_ahead *read_ahead, const struct id *task_id);
/* Looks up, locks and reads. */
MUST_USE enum rc read_ahead_fetch(struct read_ahead *read_ahead, struct db *db, struct err *err);
#endif
