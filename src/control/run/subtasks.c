#include "control/run/subtasks.h"
#include "control/commit/isolate.h"
#include "control/run/candidates.h"
#include "control/run/run_tree.h"
#include "control/run/stop.h"

/* Sub-tasks that could not be ended are tried again after this time. */
#define AGAIN_US US_PER_MINUTE

/* ---- making one ---- */

static enum rc check_left(struct context *ctx, const struct budget_tree *tree, int at)
{
    struct budget_bound bound = budget_tree_used_up(tree, at);
    if (bound.at == BUDGET_TREE_NONE)
        return RC_OK;
    return err_set(ctx->err, RC_DENIED, "parent_budget_exceeded", "%s",
                   budget_tree_explain(tree, at, bound, ctx->arena));
}

static int64_t limit_of(int64_t left)
{
    return left == INT64_MAX ? 0 : left;
}

enum rc subtasks_check(struct context *ctx, const struct run_row *parent, const struct id *task_id,
                       struct lineage *ret_lineage)
{
    const struct subtask_limits limits = {
        ctx->limits->subtask_depth, ctx->limits->subtasks_per_task, ctx->limits->subtasks_per_tree};
    struct budget_tree tree;
    int at;
    enum rc rc = run_tree_load(ctx, parent, &tree, &at);
    if (rc == RC_OK)
        rc = budget_tree_has_room(&tree, at, task_id, &limits, ctx->err);
    if (rc == RC_OK)
        rc = check_left(ctx, &tree, at);
    if (rc != RC_OK)
        return rc;
    bool is_root = id_is_none(&parent->root_run_id);
    *ret_lineage = (struct lineage){
        .parent_run_id = parent->id,
        .root_run_id = is_root ? parent->id : parent->root_run_id,
        .traceparent = parent->traceparent != NULL
                           ? parent->traceparent
                           : context_own_trace(ctx, &parent->task_id, &parent->id),
        .left = {.cost_microusd = limit_of(budget_tree_left(&tree, at, MEASURE_COST)),
                 .tokens = limit_of(budget_tree_left(&tree, at, MEASURE_TOKENS))},
    };
    return RC_OK;
}

enum rc subtasks_join(struct context *ctx, struct run_row *parent)
{
    if (!id_is_none(&parent->root_run_id))
        return RC_OK;
    parent->root_run_id = parent->id;
    return runs_set_root(ctx->db, &parent->id, ctx->err);
}

/* ---- ending them ---- */

struct sweep {
    const struct id *task_id; /* The sub-task at hand, */
    struct budget_tree tree;  /* or the run at hand and its tree. */
    int at;
    bool failed; /* Some could not be ended. */
};

static enum rc sweep_later(struct context *ctx, void *subject, const struct failure *why)
{
    (void)ctx;
    (void)why;
    ((struct sweep *)subject)->failed = true;
    return RC_OK;
}

static const char *ended_as(enum run_status status)
{
    return status == RUN_CANCELLED ? "was cancelled"
           : status == RUN_FAILED  ? "has failed"
                                   : "has timed out";
}

/* The parent's run, not its task, decides: the task may have been retried. */
static enum rc end_one(struct context *ctx, void *subject, const struct failure *why)
{
    (void)why;
    const struct sweep *sweep = subject;
    CLEANUP(flow_release) struct flow flow = {0};
    enum run_status status = RUN_COMPLETED;
    bool stopping;
    enum rc rc = flow_load_latest(ctx, sweep->task_id, &flow);
    if (rc != RC_OK || run_is_terminal(flow.run.status))
        return rc;
    rc = runs_status_of(ctx->db, &flow.run.parent_run_id, ctx->arena, &status, ctx->err);
    if (rc != RC_OK || !run_is_terminal(status) || status == RUN_COMPLETED)
        return rc;
    struct stop_request request = {
        .kind = RUN_STOP_CANCEL,
        .by = "drover",
        .reason = arena_printf(ctx->arena, "its parent task %s %s", flow.task.parent_id.text,
                               ended_as(status)),
    };
    return stop_run(ctx, &flow, &request, &stopping);
}

enum rc subtasks_end(struct context *ctx, const struct id *task_id)
{
    static isolate_try *const tries[] = {end_one, sweep_later, NULL};
    struct id *ids;
    size_t count;
    struct sweep sweep = {0};
    enum rc rc = tasks_unfinished_children(ctx->db, task_id, SUBTASK_RUNS_MAX, ctx->arena, &ids,
                                           &count, ctx->err);
    for (size_t i = 0; rc == RC_OK && i < count; i++) {
        sweep.task_id = &ids[i];
        const struct isolated one = {"task", ids[i].text, &sweep, tries};
        rc = isolate(ctx, &one);
    }
    if (rc != RC_OK || !sweep.failed)
        return rc;
    return timer_start(ctx, TIMER_SUBTASKS_END, task_id, ctx->now_us + AGAIN_US);
}

/* The run may have moved while its lock was waited for. */
static enum rc stop_one(struct context *ctx, void *subject, const struct failure *why)
{
    (void)why;
    struct sweep *sweep = subject;
    struct budget_node *node = &sweep->tree.nodes[sweep->at];
    CLEANUP(flow_release) struct flow flow = {0};
    struct budget_bound bound;
    bool stopping;
    enum rc rc = flow_load(ctx, &node->run_id, &flow);
    if (rc != RC_OK)
        return rc;
    node->status = flow.run.status;
    node->stopping = flow.run.stop != RUN_STOP_NONE;
    if (candidates_work(&flow) || /* It calls no model itself. */
        !budget_tree_stops(&sweep->tree, sweep->at, &bound))
        return RC_OK;
    struct stop_request request = {
        .kind = RUN_STOP_BUDGET,
        .by = budget_measure_limit(bound.measure),
        .reason = budget_tree_explain(&sweep->tree, sweep->at, bound, ctx->arena),
    };
    return stop_run(ctx, &flow, &request, &stopping);
}

enum rc subtasks_budget(struct context *ctx, const struct id *task_id)
{
    static isolate_try *const tries[] = {stop_one, sweep_later, NULL};
    struct task_runs root;
    struct budget_bound bound;
    struct sweep sweep = {0};
    enum rc rc = tasks_runs(ctx->db, task_id, &root, ctx->err);
    if (rc != RC_OK || id_is_none(&root.root_run_id))
        return rc; /* It was retried: what belonged to the run before ends with that. */
    rc = run_tree_read(ctx, &root.root_run_id, &sweep.tree);
    for (sweep.at = 0; rc == RC_OK && sweep.at < sweep.tree.count; sweep.at++) {
        const struct isolated one = {"run", sweep.tree.nodes[sweep.at].run_id.text, &sweep, tries};
        if (budget_tree_stops(&sweep.tree, sweep.at, &bound))
            rc = isolate(ctx, &one);
    }
    if (rc != RC_OK || !sweep.failed)
        return rc;
    return timer_start(ctx, TIMER_SUBTASKS_BUDGET, task_id, ctx->now_us + AGAIN_US);
}
