/*
 * lane.h - one transaction at a time: applies a batch of commands, commits once, answers all.
 *
 *   begin -> [apply each | admit if wanted | serve parked leases] -> COMMIT -> answers
 *
 * A lane has a writing connection of its own.  SQLite has one lane; on PostgreSQL several work at
 * once, here and on other nodes, and rows are kept apart by locks.  There admission, which locks
 * the workspace before any run, has a transaction to itself.
 *
 * A lane has no thread: the committer gives it one, the simulator calls it.
 */
#ifndef CONTROL_COMMIT_LANE_H
#define CONTROL_COMMIT_LANE_H
#include "control/commit/command_list.h"
#include "control/commit/committer.h"
#include "control/commit/parked.h"
#include <stdatomic.h>

struct lane; /* Owned by the committer. */

struct lane_options {
    const struct committer_options *committer; /* Outlives the lane. */
    struct db *db;                             /* The lane's own until it ends. */
    struct random random;
    struct id workspace_id;
    struct parked *parked; /* These three are shared by all lanes. */
    struct swarms *swarms;
    atomic_llong *rules_news; /* Counts commits that changed rules of queues. */
    bool alone;               /* The only writer: one lane, one node. */
};
struct lane *lane_new(const struct lane_options *options);
void lane_free(struct lane *lane);

struct lane_work {
    struct command_list todo;
    bool admit; /* An admission round is due. */
    bool look;  /* Another lane or node made jobs ready: parked leases are applied again. */
};
struct lane_outcome {
    int64_t batches, commands, refused, retried, shed;
    bool look;                 /* Rules changed: leases may find what they did not before. */
    bool admit;                /* A queued run may be able to start; not checked yet. */
    struct command_list again; /* To be queued once more. */
};
/* Every command of the work is answered, parked, or in again. */
void lane_run(struct lane *lane, struct lane_work *work, struct lane_outcome *ret_outcome);

void lane_answer(struct command *command, enum rc rc);
#endif
