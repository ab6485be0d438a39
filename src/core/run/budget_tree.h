/*
 * budget_tree.h - the budget that a task shares with its sub-tasks: a tree of runs.  Pure.
 *
 *     run            limit   used   total   left
 *     a               5.00   0.50    3.20   1.80
 *      +-- b          2.00   1.20    1.20   0.80
 *      +-- c          none   1.10    1.50   1.80   of a
 *           +-- d     1.00   0.40    0.40   0.60
 *
 * 1. A node is a run.  Its parent is the run of the parent task under which it was made: a task
 *    that is retried begins with a tree of its own.
 * 2. What a run uses counts at itself and at every ancestor: total = used + totals of the children.
 * 3. What is left for a run is the least of limit - total over itself and its ancestors.
 * 4. A limit is used up when the total has reached it: no run below it begins another attempt.
 * 5. A limit is passed when the total is above it: every run below it that may still call a model
 *    is stopped.
 */
#ifndef CORE_RUN_BUDGET_TREE_H
#define CORE_RUN_BUDGET_TREE_H
#include "base/arena.h"
#include "base/id.h"
#include "base/rc.h"
#include "core/run_status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum budget_measure { MEASURE_COST, MEASURE_TOKENS, MEASURE_COUNT };

enum { BUDGET_TREE_NONE = -1 }; /* No such node. */

struct budget_node {
    struct id run_id, task_id;
    struct id parent_run_id; /* none: the root */
    enum run_status status;
    bool stopping;                /* It was asked to stop. */
    bool still;                   /* A person is waited for: its clocks stand still. */
    int64_t used[MEASURE_COUNT];  /* Micro-USD; input and output tokens. */
    int64_t limit[MEASURE_COUNT]; /* 0: none */
    int64_t work_us;              /* Time at work, until now. */
    int64_t work_since_us;        /* It is at work since then; 0: it is not. */
    int64_t deadline_us;          /* 0: none */

    /* By budget_tree_link. */
    int parent; /* Its place, or BUDGET_TREE_NONE. */
    int64_t total[MEASURE_COUNT];
    int64_t total_work_us;
};

struct budget_tree {
    struct budget_node *nodes; /* In any order. */
    int count;
};

/* How deep and how wide trees may be. */
struct subtask_limits {
    int64_t depth;    /* Of a sub-task below the root, which has depth 0; 0: there are none. */
    int64_t per_task; /* Sub-tasks of one run of a task. */
    int64_t per_tree; /* Runs in one tree, retries of sub-tasks included. */
};
enum { SUBTASK_DEPTH_MAX = 8, SUBTASKS_PER_TASK_MAX = 100, SUBTASK_RUNS_MAX = 1000 };
struct subtask_limits subtask_limits_default(void); /* 4, 32, 256 */

/* Finds the parents and adds up.  RC_CORRUPT: a parent is missing, or nodes form a circle. */
MUST_USE enum rc budget_tree_link(struct budget_tree *tree, struct err *err);
int budget_tree_find(const struct budget_tree *tree, const struct id *run_id);

/* May a run of this task be made below the run at this place?  NULL: of a new sub-task.  RC_LIMIT,
   subtask_limit_exceeded. */
MUST_USE enum rc budget_tree_has_room(const struct budget_tree *tree, int at,
                                      const struct id *task_id, const struct subtask_limits *limits,
                                      struct err *err);

/* INT64_MAX: neither the run nor an ancestor has a limit.  Never below 0. */
int64_t budget_tree_left(const struct budget_tree *tree, int at, enum budget_measure measure);

/* A limit of the run or of an ancestor, the nearest first. */
struct budget_bound {
    int at; /* Whose it is, or BUDGET_TREE_NONE. */
    enum budget_measure measure;
};
struct budget_bound budget_tree_used_up(const struct budget_tree *tree, int at);
struct budget_bound budget_tree_passed(const struct budget_tree *tree, int at);
/* Is the run to be stopped for a limit that is passed, *ret_bound? */
bool budget_tree_stops(const struct budget_tree *tree, int at, struct budget_bound *ret_bound);
/* "The budget of task ID, 5.00 USD, is used up: it and its sub-tasks have spent 5.02 USD" for the
   run at this place. */
const char *budget_tree_explain(const struct budget_tree *tree, int at, struct budget_bound bound,
                                struct arena *arena);

/* The earliest deadline of its ancestors; 0: none of them has one.  That of an ancestor that has
   finished, or whose clocks stand still, counts as long as it is to come. */
int64_t budget_tree_deadline(const struct budget_tree *tree, int at, int64_t now_us);

const char *budget_measure_code(enum budget_measure measure);  /* max_budget_exceeded */
const char *budget_measure_limit(enum budget_measure measure); /* limits.maxBudgetUsd */
#endif
