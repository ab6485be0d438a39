/*
 * read_ahead.h - the rows that a batch will need, locked and read in one go.
 *
 * Commands name what they start from, mostly jobs (command_ops.names).  Which runs and tasks these
 * belong to never changes, so it is looked up first, without locks.  On a database behind a network
 * that makes two round trips for the whole batch instead of several for each command; with one
 * writer there is nothing to do.
 *
 * The lock order.  Lanes and nodes share rows, not memory: a transaction that changes a row holds
 * its lock until the commit.  Transactions take their locks in this order:
 *
 *   1. workspace   admission, which has a transaction of its own for that
 *   2. runs        by id, for all commands of the batch: those that they start from, and of each
 *                  the root of its budget tree, so that those that share a budget report one after
 *                  the other (a run becomes a root with its first sub-task, and stays one)
 *   3. tasks       by id, the same
 *   4. jobs        by id, the same
 *   5. the rest    as each command comes to it, always after the run or job that it belongs to:
 *                  ordering key, saga, breaker, account, approval, pull request, train, timer; and
 *                  what belongs to neither: queue, schedule, request, batch, lease of a node
 *   6. audit head  at the end of a transaction with calls that the audit log records
 *
 * Repositories are not locked, and queues only for their rate and their configuration.
 *
 * A command that starts from runs, tasks or jobs must name them; otherwise it locks them in 5.  A
 * new kind of row that is locked belongs in 5, unless others are locked after it.
 *
 * Exceptions:
 *   - A claim locks the job before its run.  It skips rows that are locked (runs_get_claim), so it
 *     never waits.
 *   - `due` and `reclaim` find their jobs in the transaction, in order of time, and lock each
 *     before its run.
 *   - A look at a pull request finds its runs in 5: that which opened it, then that of its repair,
 *     then the pull request (shepherding_load).
 *   - A new schedule or subscription locks the workspace in 5, so that their number stays limited.
 *
 * So deadlocks are rare, and not impossible: two batches may also meet in 5 in different orders.
 * PostgreSQL aborts one of the two, and its lane runs the commands again one by one (lane.c).  The
 * order saves that cost; nothing is wrong without it.
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
    } jobs, owners; /* Of jobs: their ids mean something to the hook only. */
};

void read_ahead_job(struct read_ahead *read_ahead, const struct id *job_id);
void read_ahead_owner(struct read_ahead *read_ahead, const struct id *owner_id);
/* Looks up, locks and reads: the owners by the hook, then the jobs. */
struct control_hooks;
MUST_USE enum rc read_ahead_fetch(struct read_ahead *read_ahead, const struct control_hooks *hooks,
                                  struct db *db, struct err *err);

/* For the hook. */
typedef enum rc read_ahead_fn(struct db *db, const struct id *id, struct err *err);
void read_ahead_add(struct read_ahead_ids *ids, const struct id *id, struct arena *arena);
/* Calls it in order of id, once for each. */
MUST_USE enum rc read_ahead_each(struct read_ahead_ids *ids, struct db *db, read_ahead_fn *one,
                                 struct err *err);
#endif
