/*
 * committer.h - the one durable path: gathers commands, hands them to its lanes by the batch.
 *
 *   post -> bounded queue -> a lane: one transaction for all that waits (lane.h) -> answers,
 *                            events to the tail, timers to the timer loop
 *
 * While one batch is on its way to disk the next one gathers.  A command that is refused on its
 * merits has written nothing and leaves the batch intact; an engine error rolls the batch back and
 * its commands run one by one.  No answer leaves before its commit, or without one (command.h).
 */
#ifndef CONTROL_COMMIT_COMMITTER_H
#define CONTROL_COMMIT_COMMITTER_H
#include "base/clock.h"
#include "base/random.h"
#include "base/rc.h"
#include "control/commit/command.h"
#include "control/commit/hooks.h"
#include "core/config/account_config.h"
#include "core/config/notify.h"
#include "core/expiry_rules.h"
#include "store/store.h"

struct committer; /* Owned by control. */

/* Of the server, for admission; 0: none. */
struct committer_limits {
    int64_t max_active_runs;           /* System. */
    int64_t max_active_runs_user;      /* Per actor. */
    int64_t max_active_runs_workspace; /* Unless the workspace sets its own limit. */
    int64_t sandboxes;                 /* Active runs, without those that wait for approval. */
    int64_t tasks_per_hour_user;
    int64_t cost_per_day_microusd; /* Per workspace and day (UTC). */
    bool cost_per_day_stops;       /* Once it is spent, what runs is stopped. */
    int64_t cost_per_run_microusd; /* Of a run without maxBudgetUsd; see core/run/task_limits.h. */
    int64_t max_run_events;        /* No repository gives its runs more: core/run/event_budget.h */
    int64_t max_run_event_bytes;
    int64_t subtask_depth; /* core/run/budget_tree.h; 0: there are no sub-tasks. */
    int64_t subtasks_per_task, subtasks_per_tree;
    const struct task_type_limit { /* Outlive the committer. */
        const char *name;
        int64_t max;
    } * task_types;
    size_t task_type_count;
};

/* What a commit left for the tail, parked leases and the ticker. */
struct committed {
    bool appended;  /* It appended events. */
    bool brought;   /* It made jobs that can be claimed. */
    int64_t due_us; /* The earliest due time set; 0: none. */
};

struct committer_options {
    struct store *store;
    struct clock clock;
    struct random random;
    size_t queue_max; /* Commands that may wait; more is RC_BUSY. */
    size_t batch_max; /* Commands per transaction. */
    struct committer_limits limits;
    struct str defaults; /* The server's layer under every repository's document; or empty. */
    struct notify_channels channels; /* Not owned. */
    struct account_configs accounts; /* Not owned. */
    struct expiry_rules retention;
    const struct control_hooks *hooks;
    size_t lanes; /* At least one; more only on a store with concurrent writers. */
    /* Called on the lane after each commit that wrote or set a due time.  Must not block. */
    void (*committed)(void *ctx, const struct committed *news);
    void *ctx;
};

struct committer_stats {
    int64_t commands, batches, refused, retried, busy;
    int64_t shed; /* Jobs that queues dropped under load. */
    int64_t queue_length, parked;
};

MUST_USE enum rc committer_new(const struct committer_options *options,
                               struct committer **ret_committer, struct err *err);
void committer_free(struct committer *committer);

const struct committer_limits *committer_limits(const struct committer *committer);

/* Starts and ends the threads of the lanes.  Stop finishes what waits and answers parked leases
   with RC_OK, empty. */
MUST_USE enum rc committer_start(struct committer *committer, struct err *err);
void committer_stop(struct committer *committer);

/* RC_BUSY when the queue is full or closed: done() is not called then. */
MUST_USE enum rc committer_post(struct committer *committer, struct command *command);
/* Posts and waits; the outcome is command->rc.  Not from a committer thread. */
enum rc committer_call(struct committer *committer, struct command *command);
/* The same for several, which go into one batch if it has room for them, in their order. */
void committer_call_all(struct committer *committer, struct command *const *commands, size_t count);
/* The caller of a parked command disconnected: it is answered (empty) soon. */
void committer_abandon(struct committer *committer, struct command *command);
/* From now on leases of workers whose name starts with this do not wait: those that are parked are
   answered empty.  The prefix must outlive the committer. */
void committer_drain(struct committer *committer, const char *worker_prefix);
/* Requests an admission round with the next batch. */
void committer_want_admission(struct committer *committer);
/* Another node made jobs ready, or may have: parked leases are applied again. */
void committer_want_look(struct committer *committer);

/* One round of the first lane without a thread, for the simulator and tests: takes what waits,
   commits, answers.  True when there was something to do. */
bool committer_round(struct committer *committer);

void committer_stats(struct committer *committer, struct committer_stats *ret_stats);
#endif
