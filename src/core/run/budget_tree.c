#include "core/run/budget_tree.h"
#include "core/run/run.h"
#include <assert.h>

static const struct {
    const char *code, *limit, *verb;
} measures[MEASURE_COUNT] = {
    [MEASURE_COST] = {"max_budget_exceeded", "limits.maxBudgetUsd", "spent"},
    [MEASURE_TOKENS] = {"max_tokens_exceeded", "limits.maxTokens", "used"},
};

const char *budget_measure_code(enum budget_measure measure)
{
    assert((unsigned)measure < MEASURE_COUNT);
    return measures[measure].code;
}

const char *budget_measure_limit(enum budget_measure measure)
{
    assert((unsigned)measure < MEASURE_COUNT);
    return measures[measure].limit;
}

struct subtask_limits subtask_limits_default(void)
{
    return (struct subtask_limits){.depth = 4, .per_task = 32, .per_tree = 256};
}

/* ---- the tree ---- */

int budget_tree_find(const struct budget_tree *tree, const struct id *run_id)
{
    for (int i = 0; i < tree->count; i++)
        if (id_same(&tree->nodes[i].run_id, run_id))
            return i;
    return BUDGET_TREE_NONE;
}

static enum rc find_parents(struct budget_tree *tree, struct err *err)
{
    for (int i = 0; i < tree->count; i++) {
        struct budget_node *node = &tree->nodes[i];
        node->parent = BUDGET_TREE_NONE;
        if (id_is_none(&node->parent_run_id))
            continue;
        node->parent = budget_tree_find(tree, &node->parent_run_id);
        if (node->parent == BUDGET_TREE_NONE)
            return err_set(err, RC_CORRUPT, "BUDGET_TREE",
                           "run %s has the parent %s, which is not in its tree", node->run_id.text,
                           node->parent_run_id.text);
    }
    return RC_OK;
}

static void add_used(struct budget_node *to, const struct budget_node *from)
{
    for (int i = 0; i < MEASURE_COUNT; i++)
        to->total[i] += from->used[i];
    to->total_work_us += from->work_us;
}

enum rc budget_tree_link(struct budget_tree *tree, struct err *err)
{
    enum rc rc = find_parents(tree, err);
    for (int i = 0; rc == RC_OK && i < tree->count; i++) {
        for (int m = 0; m < MEASURE_COUNT; m++)
            tree->nodes[i].total[m] = 0;
        tree->nodes[i].total_work_us = 0;
    }
    for (int i = 0; rc == RC_OK && i < tree->count; i++) {
        int depth = 0;
        for (int at = i; at != BUDGET_TREE_NONE; at = tree->nodes[at].parent) {
            if (depth++ > SUBTASK_DEPTH_MAX)
                return err_set(err, RC_CORRUPT, "BUDGET_TREE",
                               "run %s is deeper in its tree than %d", tree->nodes[i].run_id.text,
                               SUBTASK_DEPTH_MAX);
            add_used(&tree->nodes[at], &tree->nodes[i]);
        }
    }
    return rc;
}

/* ---- room ---- */

static int depth_of(const struct budget_tree *tree, int at)
{
    int depth = 0;
    while ((at = tree->nodes[at].parent) != BUDGET_TREE_NONE)
        depth++;
    return depth;
}

/* A sub-task that was retried has several runs. */
static bool is_counted(const struct budget_tree *tree, int at)
{
    for (int i = 0; i < at; i++)
        if (tree->nodes[i].parent == tree->nodes[at].parent &&
            id_same(&tree->nodes[i].task_id, &tree->nodes[at].task_id))
            return true;
    return false;
}

/* Other tasks than this one. */
static int count_children(const struct budget_tree *tree, int parent, const struct id *but)
{
    int count = 0;
    for (int i = 0; i < tree->count; i++)
        count += tree->nodes[i].parent == parent && !is_counted(tree, i) &&
                 (but == NULL || !id_same(&tree->nodes[i].task_id, but));
    return count;
}

enum rc budget_tree_has_room(const struct budget_tree *tree, int at, const struct id *task_id,
                             const struct subtask_limits *limits, struct err *err)
{
    assert(at >= 0 && at < tree->count);
    const char *parent = tree->nodes[at].task_id.text;
    int depth = depth_of(tree, at) + 1, children = count_children(tree, at, task_id);
    if (depth > limits->depth)
        return err_set(err, RC_LIMIT, "subtask_limit_exceeded",
                       "a sub-task of task %s would be at depth %d, and limits.subtaskDepth is "
                       "%lld",
                       parent, depth, (long long)limits->depth);
    if (children >= limits->per_task)
        return err_set(err, RC_LIMIT, "subtask_limit_exceeded",
                       "task %s has %d sub-tasks, and limits.subtasksPerTask is %lld", parent,
                       children, (long long)limits->per_task);
    if (tree->count >= limits->per_tree)
        return err_set(err, RC_LIMIT, "subtask_limit_exceeded",
                       "the tree of task %s has %d runs, and limits.subtasksPerTree is %lld",
                       parent, tree->count, (long long)limits->per_tree);
    return RC_OK;
}

/* ---- what is left ---- */

int64_t budget_tree_left(const struct budget_tree *tree, int at, enum budget_measure measure)
{
    int64_t least = INT64_MAX;
    for (; at != BUDGET_TREE_NONE; at = tree->nodes[at].parent) {
        const struct budget_node *node = &tree->nodes[at];
        int64_t left = node->limit[measure] - node->total[measure];
        if (node->limit[measure] > 0 && left < least)
            least = left > 0 ? left : 0;
    }
    return least;
}

/* The nearest limit whose total has come within `room` of it. */
static struct budget_bound find_bound(const struct budget_tree *tree, int at, int64_t room)
{
    for (; at != BUDGET_TREE_NONE; at = tree->nodes[at].parent) {
        const struct budget_node *node = &tree->nodes[at];
        for (int m = 0; m < MEASURE_COUNT; m++)
            if (node->limit[m] > 0 && node->total[m] + room > node->limit[m])
                return (struct budget_bound){at, (enum budget_measure)m};
    }
    return (struct budget_bound){.at = BUDGET_TREE_NONE};
}

struct budget_bound budget_tree_used_up(const struct budget_tree *tree, int at)
{
    return find_bound(tree, at, 1);
}

struct budget_bound budget_tree_passed(const struct budget_tree *tree, int at)
{
    return find_bound(tree, at, 0);
}

/* A patch that is made is verified and published.  Another attempt of the agent does not begin,
   since the limit is used up. */
bool budget_tree_stops(const struct budget_tree *tree, int at, struct budget_bound *ret_bound)
{
    const struct budget_node *node = &tree->nodes[at];
    if (node->stopping || !run_may_call_model(node->status))
        return false;
    *ret_bound = budget_tree_passed(tree, at);
    return ret_bound->at != BUDGET_TREE_NONE;
}

static const char *amount(enum budget_measure measure, int64_t value, struct arena *arena)
{
    if (measure == MEASURE_COST)
        return arena_printf(arena, "%.2f USD", (double)value / 1e6);
    return arena_printf(arena, "%lld tokens", (long long)value);
}

const char *budget_tree_explain(const struct budget_tree *tree, int at, struct budget_bound bound,
                                struct arena *arena)
{
    const struct budget_node *node = &tree->nodes[bound.at];
    if (tree->count == 1)
        return arena_printf(arena, "The run has used up its budget of %s",
                            amount(bound.measure, node->limit[bound.measure], arena));
    return arena_printf(arena,
                        "The budget of %s task %s, %s, is used up: it and its sub-tasks "
                        "have %s %s",
                        bound.at == at ? "this" : "the parent", node->task_id.text,
                        amount(bound.measure, node->limit[bound.measure], arena),
                        measures[bound.measure].verb,
                        amount(bound.measure, node->total[bound.measure], arena));
}

int64_t budget_tree_deadline(const struct budget_tree *tree, int at, int64_t now_us)
{
    int64_t earliest_us = 0;
    while ((at = tree->nodes[at].parent) != BUDGET_TREE_NONE) {
        const struct budget_node *node = &tree->nodes[at];
        int64_t due_us = node->deadline_us;
        bool runs = !node->still && !run_is_terminal(node->status);
        bool counts = due_us > 0 && (due_us > now_us || runs);
        if (counts && (earliest_us == 0 || due_us < earliest_us))
            earliest_us = due_us;
    }
    return earliest_us;
}
