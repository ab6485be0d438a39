/*
 * retry.c - a finished task again, as run N+1; the earlier runs stay as they are.
 */
#include "control/admit/retry.h"
#include "control/admit/acceptance.h"
#include "control/commit/read_ahead.h"
#include "control/run/assignment.h"
#include "control/run/candidates.h"
#include "control/run/effective.h"
#include "control/run/flow.h"
#include "control/run/quarantine.h"
#include "control/run/run_batch.h"
#include "control/run/subtasks.h"
#include "store/repositories.h"

/* People retry after they fixed the configuration: the current one becomes the snapshot. */
static enum rc refresh_config(struct context *ctx, struct flow *flow)
{
    struct repository_row repository;
    enum rc rc = repositories_get(ctx->db, &flow->task.repository_id, ctx->arena, &repository,
                                  ctx->err);
    if (rc != RC_OK)
        return rc;
    if (repository.removed)
        return err_set(ctx->err, RC_INVALID, "REPO_NOT_ONBOARDED",
                       "repository %s is not onboarded any more; add it again first",
                       repository.name);
    rc = quarantine_check(ctx, &repository);
    if (rc != RC_OK)
        return rc;
    return effective_config(ctx, &repository, flow->task.overrides, &flow->task.config);
}

/* Policy, rate and cost are checked again.  Overrides of an admin for the task stay valid. */
static enum rc check_entry(struct context *ctx, struct flow *flow, const char *requested_by)
{
    const struct repo_config *config;
    enum rc rc = flow_config(ctx, flow, &config);
    if (rc != RC_OK)
        return rc;
    struct acceptance request = {
        .requested_by = requested_by,
        .repository = flow->task.repository,
        .onboarded = true,
        .mode = flow->task.mode,
        .risk = flow->task.risk,
        .approval = config->approval,
        .overridden = policy_list_has(flow->run.overridden, POLICY_EXECUTION_MODE),
    };
    return acceptance_check(ctx, &request);
}

/* A sub-task is retried below the parent's latest run, within what is left of its budget. */
static enum rc find_parent(struct context *ctx, struct flow *flow, struct flow *parent)
{
    if (id_is_none(&flow->task.parent_id))
        return RC_OK;
    enum rc rc = flow_load_latest(ctx, &flow->task.parent_id, parent);
    return rc == RC_OK ? subtasks_check(ctx, &parent->run, &flow->task.id, &flow->lineage) : rc;
}

/* A member of a batch within what is left of the budget of that. */
static enum rc check_batch(struct context *ctx, struct flow *flow)
{
    const struct id *batch_id = &flow->task.batch_id;
    if (!id_is_none(&flow->task.parent_id))
        return RC_OK; /* Its parent's matter. */
    enum rc rc = run_batch_may_retry(ctx, batch_id);
    return rc == RC_OK ? run_batch_left(ctx, batch_id, &flow->lineage.left.cost_microusd) : rc;
}

static enum rc insert_next_run(struct context *ctx, struct flow *flow)
{
    bool overridden = policy_list_has(flow->run.overridden, POLICY_EXECUTION_MODE);
    flow->task.run_count++;
    flow->task.error_code = flow->task.error_message = NULL;
    flow->task.ended_us = 0;
    enum rc rc = flow_new_run(ctx, flow, flow->task.run_count);
    if (overridden)
        flow->run.overridden = POLICY_EXECUTION_MODE;
    if (rc == RC_OK)
        rc = tasks_set_config(ctx->db, &flow->task, ctx->err);
    if (rc == RC_OK)
        rc = runs_insert(ctx->db, &flow->run, ctx->err);
    if (rc == RC_OK)
        rc = flow_emit_queued(ctx, flow);
    return rc == RC_OK ? flow_save(ctx, flow) : rc;
}

static enum rc retry_task(struct context *ctx, struct flow *flow, const char *requested_by)
{
    CLEANUP(flow_release) struct flow parent = {0};
    enum rc rc = refresh_config(ctx, flow);
    if (rc == RC_OK)
        rc = assignment_check(ctx, flow);
    if (rc == RC_OK)
        rc = check_entry(ctx, flow, requested_by);
    if (rc == RC_OK)
        rc = find_parent(ctx, flow, &parent);
    if (rc == RC_OK)
        rc = check_batch(ctx, flow);
    if (rc == RC_OK)
        rc = insert_next_run(ctx, flow);
    if (rc == RC_OK && !id_is_none(&parent.run.id))
        rc = subtasks_join(ctx, &parent.run);
    return rc;
}

/* A task without a usable candidate needs new ones; with one it is verified and published again. */
static enum rc retry_candidates(struct context *ctx, const struct task_row *task,
                                const char *requested_by)
{
    struct candidate_row *rows;
    size_t count, usable = 0;
    if (task->best_of == 0)
        return RC_OK;
    enum rc rc = candidates_of_task(ctx->db, &task->id, ctx->arena, &rows, &count, ctx->err);
    for (size_t i = 0; rc == RC_OK && i < count; i++) {
        struct candidate candidate = candidate_of(&rows[i]);
        usable += candidate_usable(&candidate);
    }
    for (size_t i = 0; rc == RC_OK && usable == 0 && i < count; i++) {
        CLEANUP(flow_release) struct flow flow = {0};
        rc = flow_load_latest(ctx, &rows[i].task_id, &flow);
        if (rc == RC_OK && run_is_terminal(flow.run.status))
            rc = retry_task(ctx, &flow, requested_by);
    }
    return rc;
}

enum rc retry_latest(struct context *ctx, const struct retry_request *request, struct retried *ret)
{
    CLEANUP(flow_release) struct flow flow = {0};
    enum rc rc = flow_load_latest(ctx, &request->task_id, &flow);
    if (rc != RC_OK)
        return rc;
    if (!run_is_terminal(flow.run.status))
        return err_set(ctx->err, RC_CONFLICT, "TASK_NOT_FINISHED",
                       "task %s is still %s; cancel it first, or wait for its end",
                       request->task_id.text, task_status_name(flow.task.status));
    if (flow.run.status == RUN_COMPLETED)
        return err_set(ctx->err, RC_CONFLICT, "TASK_COMPLETED",
                       "task %s has completed; submit a new task instead", request->task_id.text);
    rc = retry_task(ctx, &flow, request->requested_by);
    if (rc == RC_OK)
        rc = retry_candidates(ctx, &flow.task, request->requested_by);
    if (rc != RC_OK)
        return rc;
    *ret = (struct retried){flow.run.id, flow.run.run_no};
    ctx->round->admit = true;
    return RC_OK;
}

static enum rc apply_retry(struct context *ctx, struct command *command)
{
    struct cmd_retry *cmd = (struct cmd_retry *)command;
    const struct retry_request request = {cmd->task_id, ctx->actor.id};
    struct retried retried;
    enum rc rc = retry_latest(ctx, &request, &retried);
    if (rc != RC_OK)
        return rc;
    cmd->run_id = retried.run_id;
    cmd->run_no = retried.run_no;
    return RC_OK;
}

static void retry_names(const struct command *command, struct read_ahead *read_ahead)
{
    read_ahead_owner(read_ahead, &((const struct cmd_retry *)command)->task_id);
}

static const struct command_ops retry_ops = {
    .name = "retry", .apply = apply_retry, .names = retry_names};

struct cmd_retry *cmd_retry_new(void)
{
    return command_new(&retry_ops, sizeof(struct cmd_retry));
}
