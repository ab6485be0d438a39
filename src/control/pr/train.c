/*
 * train.c - who enters a train and who leaves it, and the commands of people about that.
 */
#include "control/pr/train.h"
#include "control/pr/train_jobs.h"
#include "core/event_types.h"

enum { CAR_DAYS = 30, PRUNE_BATCH = 200 };

static enum rc not_here(struct context *ctx, const char *code, const char *what)
{
    return err_set(ctx->err, RC_CONFLICT, code, "%s", what);
}

/* ---- entering ---- */

static enum rc enter_anew(struct context *ctx, struct train_flow *flow,
                          const struct pull_request_row *pr, bool urgent)
{
    if (flow->count >= TRAIN_CARS_MAX)
        return err_set(ctx->err, RC_LIMIT, "TRAIN_FULL",
                       "the train of %s has %d pull requests already; try again when some have "
                       "landed",
                       pr->target_branch, TRAIN_CARS_MAX);
    const struct train_car_row car = {
        .id = context_id(ctx),
        .train_id = flow->row.id,
        .pull_request_id = pr->id,
        .pr_status = pr->status,
        .run_id = pr->run_id,
        .task_id = pr->task_id,
        .number = pr->number,
        .branch = pr->branch,
        .title = pr->title,
        .head_commit = pr->head_commit,
        .urgent = urgent,
        .state = CAR_WAITING,
        .entered_us = ctx->now_us,
        .updated_us = ctx->now_us,
    };
    const struct train_note note = {.type = EV_TRAIN_ENTERED, .car = &car};
    enum rc rc = train_flow_enter(ctx, flow, &car);
    return rc == RC_OK ? train_flow_emit(ctx, flow, &note) : rc;
}

/* It is there already: with another head, or more urgent than it was.  One that lands is left
   alone: what lands was verified, and the push compares the heads. */
static enum rc enter_again(struct context *ctx, struct train_flow *flow, struct train_car_row *car,
                           const struct pull_request_row *pr, bool urgent)
{
    size_t at = train_flow_place(flow, car);
    bool same = text_same(car->head_commit, pr->head_commit), raised = urgent && !car->urgent;
    if ((same && !raised) || car->state == CAR_LANDING)
        return RC_OK;
    if (!same) {
        car->head_commit = pr->head_commit;
        car->title = pr->title;
        car->commit_hash = NULL;
    }
    flow->line[at].urgent = car->urgent || urgent;
    enum rc rc = train_renewed(&flow->train, at);
    if (rc == RC_OK)
        rc = train_flow_sync(ctx, flow);
    const struct train_note note = {.type = EV_TRAIN_ENTERED, .car = car};
    return rc == RC_OK ? train_flow_emit(ctx, flow, &note) : rc;
}

static enum rc enter_drovers(struct context *ctx, struct train_flow *flow,
                             const struct pull_request_row *pr, bool urgent)
{
    struct train_car_row *known = NULL;
    for (size_t i = 0; i < flow->count; i++) {
        if (id_same(&flow->cars[i].pull_request_id, &pr->id))
            known = &flow->cars[i];
    }
    enum rc rc = known != NULL ? enter_again(ctx, flow, known, pr, urgent)
                               : enter_anew(ctx, flow, pr, urgent);
    return rc == RC_OK ? train_flow_end(ctx, flow) : rc;
}

enum rc train_enter(struct context *ctx, const struct pull_request_row *pr, bool urgent)
{
    CLEANUP(train_flow_release) struct train_flow flow = {0};
    enum rc rc = train_flow_of(ctx, pr, &flow);
    if (rc != RC_OK)
        return rc;
    enum train_use use = flow.known != NULL ? flow.known->config.train.use : TRAIN_USE_DROVER;
    if (flow.repository.removed)
        return not_here(ctx, "REPOSITORY_REMOVED", "the repository was removed");
    if (use == TRAIN_USE_OFF)
        return not_here(ctx, "TRAIN_OFF",
                        "the repository has no train (train.use is off); merge the pull request "
                        "itself");
    if (use != TRAIN_USE_DROVER)
        return train_job_hand(ctx, &flow.repository, pr);
    return enter_drovers(ctx, &flow, pr, urgent);
}

/* ---- leaving ---- */

static enum rc leave(struct context *ctx, const struct train_car_row *seen, const char *reason)
{
    CLEANUP(train_flow_release) struct train_flow flow = {0};
    enum rc rc = train_flow_load(ctx, &seen->train_id, &flow);
    if (rc != RC_OK)
        return rc;
    struct train_car_row *car = train_flow_find(&flow, &seen->id);
    if (car == NULL)
        return RC_OK;
    rc = train_left(&flow.train, train_flow_place(&flow, car));
    if (rc != RC_OK)
        return not_here(ctx, "TRAIN_LANDING", "it lands just now and cannot be taken out any more");
    car->detail = reason;
    return train_flow_end(ctx, &flow);
}

enum rc train_leave(struct context *ctx, const struct id *pull_request_id, const char *reason)
{
    struct train_car_row car;
    enum rc rc = train_cars_of_pr(ctx->db, pull_request_id, ctx->arena, &car, ctx->err);
    if (rc == RC_OK)
        rc = leave(ctx, &car, reason);
    /* One that lands will end by itself. */
    if (rc != RC_NOT_FOUND && !(rc == RC_CONFLICT && text_same(ctx->err->code, "TRAIN_LANDING")))
        return rc;
    err_clear(ctx->err);
    return RC_OK;
}

/* A test that is under way finds out by itself what the target is; a train that waits after a
   failure tries again. */
enum rc train_look(struct context *ctx, const struct id *repository_id, const char *branch)
{
    CLEANUP(train_flow_release) struct train_flow flow = {0};
    struct train_row row;
    enum rc rc = trains_of(ctx->db, repository_id, branch, ctx->arena, &row, ctx->err);
    if (rc == RC_NOT_FOUND) {
        err_clear(ctx->err);
        return RC_OK;
    }
    if (rc != RC_OK || row.retry_us <= ctx->now_us)
        return rc;
    rc = train_flow_load(ctx, &row.id, &flow);
    if (rc != RC_OK)
        return rc;
    flow.row.retry_us = 0;
    return train_flow_end(ctx, &flow);
}

enum rc train_prune(struct context *ctx, bool *ret_more)
{
    const struct car_prune old = {.before_us = ctx->now_us - CAR_DAYS * US_PER_DAY,
                                  .limit = PRUNE_BATCH};
    int64_t count = 0;
    enum rc rc = train_cars_prune(ctx->db, &old, &count, ctx->err);
    *ret_more |= rc == RC_OK && count == PRUNE_BATCH;
    return rc;
}

/* ---- commands ---- */

/* Locks the pull request; RC_CONFLICT: it is not open. */
static enum rc load_open(struct context *ctx, const struct id *id, struct pull_request_row *ret_pr)
{
    enum rc rc = pull_requests_get(ctx->db, id, ctx->arena, ret_pr, ctx->err);
    if (rc == RC_NOT_FOUND)
        return err_set(ctx->err, rc, "PULL_REQUEST_NOT_FOUND", "there is no pull request %s",
                       id->text);
    if (rc == RC_OK && !text_same(ret_pr->status, "open"))
        return err_set(ctx->err, RC_CONFLICT, "PULL_REQUEST_NOT_OPEN", "pull request #%lld is %s",
                       (long long)ret_pr->number, ret_pr->status);
    return rc;
}

static enum rc apply_add(struct context *ctx, struct command *command)
{
    struct cmd_train_add *cmd = (struct cmd_train_add *)command;
    struct pull_request_row pr;
    enum rc rc = load_open(ctx, &cmd->pull_request_id, &pr);
    if (rc != RC_OK)
        return rc;
    cmd->number = pr.number;
    cmd->target_branch = pr.target_branch;
    cmd->repository = pr.repository;
    return train_enter(ctx, &pr, cmd->urgent);
}

static const struct command_ops add_ops = {.name = "train_add", .apply = apply_add};

struct cmd_train_add *cmd_train_add_new(void)
{
    return command_new(&add_ops, sizeof(struct cmd_train_add));
}

static enum rc apply_remove(struct context *ctx, struct command *command)
{
    struct cmd_train_remove *cmd = (struct cmd_train_remove *)command;
    struct train_car_row car;
    enum rc rc = train_cars_of_pr(ctx->db, &cmd->pull_request_id, ctx->arena, &car, ctx->err);
    if (rc == RC_NOT_FOUND)
        return err_set(ctx->err, rc, "NOT_IN_TRAIN", "the pull request is in no train");
    return rc == RC_OK
               ? leave(ctx, &car, arena_printf(ctx->arena, "taken out by %s", ctx->actor.id))
               : rc;
}

static const struct command_ops remove_ops = {.name = "train_remove", .apply = apply_remove};

struct cmd_train_remove *cmd_train_remove_new(void)
{
    return command_new(&remove_ops, sizeof(struct cmd_train_remove));
}
