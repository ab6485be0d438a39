/*
 * enqueue.c - enqueues jobs: all of a call in one commit, or none.
 *
 * All jobs of a call are decided before the first of them is written (intake.h).  Under load some
 * may be dropped; only accepted ones are durable, and the answers show which.
 */
#include "control/queue/enqueue.h"
#include "control/commit/event_body.h"
#include "control/queue/batching.h"
#include "control/queue/intake.h"
#include "core/event_types.h"
#include "core/queue/rank.h"

/* A dedup key is free again after the queue's window, unless its job is not settled yet. */
static bool is_forgotten(struct context *ctx, const struct dedup_row *row, const char *queue)
{
    int64_t window_us = context_queue(ctx, queue)->config.dedup_us;
    return window_us > 0 && job_is_settled(row->state) &&
           row->created_us + window_us <= ctx->now_us;
}

static enum rc find_duplicate(struct context *ctx, const struct job_spec *spec,
                              struct enqueue_answer *ret_answer)
{
    ret_answer->duplicate = false;
    if (spec->dedup_key == NULL)
        return RC_OK;
    struct dedup_row row;
    enum rc rc = jobs_by_dedup(ctx->db, spec->queue, spec->dedup_key, &row, ctx->err);
    if (rc != RC_OK)
        return rc == RC_NOT_FOUND ? RC_OK : rc;
    if (is_forgotten(ctx, &row, spec->queue))
        return jobs_dedup_release(ctx->db, &row.id, ctx->err);
    ret_answer->duplicate = true;
    ret_answer->id = row.id;
    return RC_OK;
}

static struct job_row make_row(struct context *ctx, const struct job_spec *spec,
                               const struct intake_verdict *verdict)
{
    const struct queue_config *rules = &context_queue(ctx, spec->queue)->config;
    int64_t delay_us = spec->delay_us > verdict->delay_us ? spec->delay_us : verdict->delay_us;
    int64_t due_us = ctx->now_us + delay_us;
    int64_t ttl_us = spec->ttl_us > 0 ? spec->ttl_us : rules->ttl_us;
    return (struct job_row){
        .id = context_id(ctx),
        .queue = spec->queue,
        .type = spec->type,
        .workspace_id = ctx->workspace_id,
        .payload = spec->payload,
        .priority = spec->priority,
        .rank = rank_of(due_us, spec->priority),
        .ordering_key = verdict->ordering_key,
        .dedup_key = spec->dedup_key,
        .life = {.state = delay_us > 0 ? JOB_SCHEDULED : JOB_QUEUED,
                 .due_us = due_us,
                 .expires_us = ttl_us > 0 ? ctx->now_us + ttl_us : 0,
                 .attempt_max = spec->max_attempts > 0 ? spec->max_attempts : rules->max_attempts},
        .headers = spec->headers,
        .dependency = spec->dependency,
        .saga_id = spec->saga_id,
        .created_us = ctx->now_us,
        .updated_us = ctx->now_us,
    };
}

enum rc enqueue_insert(struct context *ctx, struct job_row *row)
{
    enum rc rc = RC_OK;
    bool head = true;
    if (row->ordering_key != NULL)
        rc = job_keys_enter(ctx->db, row->queue, row->ordering_key, &row->id, &head, ctx->err);
    if (rc != RC_OK)
        return rc;
    if (!head)
        row->life.state = JOB_BLOCKED;
    rc = jobs_insert(ctx->db, row, ctx->err);
    if (rc == RC_CONFLICT) /* Another lane was faster: tried again, it is a duplicate. */
        return err_wrap(ctx->err, RC_BUSY, "another call brings it just now");
    if (rc != RC_OK)
        return rc;
    if (row->life.state == JOB_QUEUED)
        context_ready(ctx, row->queue);
    else if (row->life.state == JOB_SCHEDULED)
        context_due(ctx, row->life.due_us);
    if (row->life.expires_us > 0)
        context_due(ctx, row->life.expires_us);
    return RC_OK;
}

static enum rc emit_swarm(struct context *ctx, const struct job_spec *spec, int64_t seen)
{
    CLEANUP(event_body_release) struct event_body body;
    event_body_open(&body);
    jw_kstr(&body.jw, "queue", spec->queue);
    jw_kstr(&body.jw, "jobType", spec->type);
    jw_kint(&body.jw, "jobs", seen);
    jw_kint(&body.jw, "windowMs",
            context_queue(ctx, spec->queue)->config.swarm.window_us / US_PER_MS);
    struct event event = {
        .type = EV_QUEUE_SWARM_DETECTED,
        .subject = arena_printf(ctx->arena, "queue/%s", spec->queue),
        .data = event_body_close(&body),
    };
    return context_append(ctx, &event, NULL);
}

static enum rc take(struct context *ctx, const struct job_spec *spec,
                    const struct intake_verdict *verdict, struct enqueue_answer *ret_answer)
{
    *ret_answer = (struct enqueue_answer){.deferred = verdict->deferred};
    enum rc rc = verdict->swarm > 0 ? emit_swarm(ctx, spec, verdict->swarm) : RC_OK;
    if (rc == RC_OK)
        rc = find_duplicate(ctx, spec, ret_answer);
    if (rc != RC_OK || ret_answer->duplicate)
        return rc;
    if (verdict->dropped) {
        ctx->round->shed++;
        ret_answer->dropped = true;
        ret_answer->code = verdict->code;
        ret_answer->retry_us = verdict->retry_us;
        return RC_OK;
    }
    struct job_row row = make_row(ctx, spec, verdict);
    if (batching_wants(ctx, spec)) {
        ret_answer->batched = true;
        return batching_add(ctx, &row, &ret_answer->id);
    }
    rc = enqueue_insert(ctx, &row);
    if (rc == RC_OK)
        ret_answer->id = row.id;
    return rc;
}

enum rc enqueue_one(struct context *ctx, const struct job_spec *spec,
                    struct enqueue_answer *ret_answer)
{
    struct intake_verdict verdict;
    enum rc rc = intake_decide(ctx, spec, &verdict);
    return rc == RC_OK ? take(ctx, spec, &verdict, ret_answer) : rc;
}

/* No job was accepted, and nothing is written: the whole call is refused. */
static enum rc refuse_all(struct context *ctx, const struct job_spec *specs, size_t count,
                          const struct intake_verdict *verdicts)
{
    for (size_t i = 0; i < count; i++)
        if (!verdicts[i].dropped || verdicts[i].swarm > 0 || specs[i].dedup_key != NULL)
            return RC_OK;
    ctx->round->shed += (int64_t)count;
    return intake_refuse(ctx, specs[0].queue, &verdicts[0]);
}

enum rc enqueue_many(struct context *ctx, const struct job_spec *specs, size_t count,
                     struct enqueue_answer *answers)
{
    struct intake_verdict *verdicts = arena_array(ctx->arena, count, sizeof *verdicts);
    enum rc rc = RC_OK;
    for (size_t i = 0; rc == RC_OK && i < count; i++)
        rc = intake_decide(ctx, &specs[i], &verdicts[i]);
    if (rc == RC_OK && count > 0)
        rc = refuse_all(ctx, specs, count, verdicts);
    if (rc != RC_OK) {
        intake_forget(ctx);
        return rc;
    }
    for (size_t i = 0; rc == RC_OK && i < count; i++)
        rc = take(ctx, &specs[i], &verdicts[i], &answers[i]);
    return rc;
}

static enum rc apply_enqueue(struct context *ctx, struct command *command)
{
    struct cmd_enqueue *cmd = (struct cmd_enqueue *)command;
    cmd->answers = arena_array(ctx->arena, cmd->count, sizeof *cmd->answers);
    return enqueue_many(ctx, cmd->jobs, cmd->count, cmd->answers);
}

static const struct command_ops enqueue_ops = {.name = "enqueue", .apply = apply_enqueue};

struct cmd_enqueue *cmd_enqueue_new(void)
{
    return command_new(&enqueue_ops, sizeof(struct cmd_enqueue));
}
