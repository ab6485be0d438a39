#include "control/run/run_tree.h"

static bool has_tree(const struct run_row *run)
{
    return !id_is_none(&run->root_run_id);
}

static struct budget_node node_of(const struct context *ctx, const struct run_row *run)
{
    return (struct budget_node){
        .run_id = run->id,
        .task_id = run->task_id,
        .parent_run_id = run->parent_run_id,
        .status = run->status,
        .stopping = run->stop != RUN_STOP_NONE,
        .used = {[MEASURE_COST] = run->cost_microusd,
                 [MEASURE_TOKENS] = run->tokens_in + run->tokens_out},
        .limit = {[MEASURE_COST] = run->budget_microusd, [MEASURE_TOKENS] = run->max_tokens},
        .work_us = run_work_us(run, ctx->now_us),
        .deadline_us = run->deadline_us,
        .still = run->still_us > 0,
    };
}

static enum rc load_nodes(struct context *ctx, const struct run_row *run,
                          struct budget_tree *ret_tree)
{
    struct run_row root;
    if (!has_tree(run)) {
        *ret_tree = (struct budget_tree){arena_alloc(ctx->arena, sizeof(struct budget_node)), 1};
        ret_tree->nodes[0] = node_of(ctx, run);
        return RC_OK;
    }
    enum rc rc = runs_get(ctx->db, &run->root_run_id, ctx->arena, &root, ctx->err); /* Its lock. */
    return rc == RC_OK
               ? runs_tree(ctx->db, &run->root_run_id, ctx->now_us, ctx->arena, ret_tree, ctx->err)
               : rc;
}

enum rc run_tree_load(struct context *ctx, const struct run_row *run, struct budget_tree *ret_tree,
                      int *ret_at)
{
    struct budget_tree tree;
    enum rc rc = load_nodes(ctx, run, &tree);
    if (rc != RC_OK)
        return rc;
    int at = budget_tree_find(&tree, &run->id);
    if (at == BUDGET_TREE_NONE)
        return err_set(ctx->err, RC_CORRUPT, "BUDGET_TREE", "run %s is not in its tree",
                       run->id.text);
    tree.nodes[at] = node_of(ctx, run);
    rc = budget_tree_link(&tree, ctx->err);
    if (rc != RC_OK)
        return rc;
    *ret_tree = tree;
    *ret_at = at;
    return RC_OK;
}

enum rc run_tree_read(struct context *ctx, const struct id *root_run_id,
                      struct budget_tree *ret_tree)
{
    struct budget_tree tree;
    enum rc rc = runs_tree(ctx->db, root_run_id, ctx->now_us, ctx->arena, &tree, ctx->err);
    if (rc == RC_OK)
        rc = budget_tree_link(&tree, ctx->err);
    if (rc == RC_OK)
        *ret_tree = tree;
    return rc;
}

static int64_t limit_of(int64_t left)
{
    return left == INT64_MAX ? 0 : left;
}

enum rc run_tree_begin(struct context *ctx, struct flow *flow, const struct ending **ret_ending)
{
    struct budget_tree tree;
    int at;
    *ret_ending = NULL;
    enum rc rc = run_tree_load(ctx, &flow->run, &tree, &at);
    if (rc != RC_OK)
        return rc;
    struct budget_bound bound = budget_tree_used_up(&tree, at);
    flow->left = (struct task_limits){
        .cost_microusd = limit_of(budget_tree_left(&tree, at, MEASURE_COST)),
        .tokens = limit_of(budget_tree_left(&tree, at, MEASURE_TOKENS)),
    };
    if (bound.at == BUDGET_TREE_NONE)
        return RC_OK;
    struct ending *ending = arena_alloc(ctx->arena, sizeof *ending);
    *ending = (struct ending){.event = RUN_EV_FAIL,
                              .code = budget_measure_code(bound.measure),
                              .message = budget_tree_explain(&tree, at, bound, ctx->arena)};
    *ret_ending = ending;
    return RC_OK;
}

/* Those to stop are rows of other commands, too: due.c locks them in their order. */
static enum rc stop_soon(struct context *ctx, const struct budget_node *root)
{
    return timer_start(ctx, TIMER_SUBTASKS_BUDGET, &root->task_id, ctx->now_us);
}

enum rc run_tree_spent(struct context *ctx, const struct run_row *run)
{
    struct budget_tree tree;
    struct budget_bound bound;
    int at;
    if (!has_tree(run))
        return RC_OK;
    enum rc rc = run_tree_load(ctx, run, &tree, &at);
    for (int i = 0; rc == RC_OK && i < tree.count; i++)
        if (budget_tree_stops(&tree, i, &bound))
            return stop_soon(ctx, &tree.nodes[budget_tree_find(&tree, &run->root_run_id)]);
    return rc;
}

enum rc run_tree_time(struct context *ctx, const struct run_row *run, int64_t *left_us)
{
    struct budget_tree tree;
    int at;
    if (id_is_none(&run->parent_run_id))
        return RC_OK;
    enum rc rc = run_tree_load(ctx, run, &tree, &at);
    int64_t deadline_us = rc == RC_OK ? budget_tree_deadline(&tree, at, ctx->now_us) : 0;
    if (deadline_us > 0 && deadline_us - ctx->now_us < *left_us)
        *left_us = deadline_us > ctx->now_us ? deadline_us - ctx->now_us : 0;
    return rc;
}
