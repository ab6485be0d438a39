#include "control/queue/settle.h"
#include "control/commit/event_body.h"
#include "control/queue/breakers.h"
#include "control/queue/job_hooks.h"
#include "core/event_types.h"
#include "core/text/error_pattern.h"
#include <assert.h>

static const char *const outcomes[JOB_EV_COUNT] = {
    [JOB_EV_FAIL] = "failed",
    [JOB_EV_EXPIRE] = "lost",
    [JOB_EV_RELEASE] = "released",
    [JOB_EV_CANCEL] = "cancelled",
};

static enum rc write_attempt(struct context *ctx, const struct job_row *before,
                             const struct settlement *settlement)
{
    assert(outcomes[settlement->event] != NULL);
    struct attempt_row row = {
        .job_id = before->id,
        .attempt = before->life.attempt + 1,
        .epoch = before->life.epoch,
        .worker = before->worker,
        .started_us = before->leased_us,
        .ended_us = ctx->now_us,
        .outcome = outcomes[settlement->event],
        .error_code = settlement->code,
        .error_message = settlement->message,
    };
    return attempts_insert(ctx->db, &row, ctx->err);
}

/* Notes in the round that a waiting job can be claimed, or when it is due. */
static void announce(struct context *ctx, const struct job_row *job)
{
    if (job->life.state == JOB_QUEUED)
        context_ready(ctx, job->queue);
    else if (job->life.state == JOB_SCHEDULED)
        context_due(ctx, job->life.due_us);
}

static enum rc step_and_save(struct context *ctx, struct job_row *job,
                             const struct job_input *input)
{
    enum rc rc = job_step(&job->life, input, &job->life);
    if (rc != RC_OK)
        return err_set(ctx->err, rc, "ILLEGAL_TRANSITION", "job %s is %s and cannot take %s",
                       job->id.text, job_state_name(job->life.state), job_event_name(input->event));
    job->updated_us = ctx->now_us;
    rc = jobs_save(ctx->db, job, ctx->err);
    announce(ctx, job);
    return rc;
}

/* The job has left its ordering key for good: the next one of the key becomes ready. */
static enum rc leave_key(struct context *ctx, const struct job_row *job)
{
    struct id next_id;
    enum rc rc = job_keys_leave(ctx->db, job->queue, job->ordering_key, &next_id, ctx->err);
    if (rc != RC_OK || id_is_none(&next_id))
        return rc;
    struct job_row next;
    struct job_input unblock = {.event = JOB_EV_UNBLOCK, .now_us = ctx->now_us};
    rc = jobs_get(ctx->db, &next_id, ctx->arena, &next, ctx->err);
    return rc == RC_OK ? step_and_save(ctx, &next, &unblock) : rc;
}

static const char *pattern_of(struct context *ctx, const struct job_row *job)
{
    const char *text = text_empty(job->error_message) ? job->error_code : job->error_message;
    return text == NULL ? NULL : error_pattern(text, ctx->arena);
}

/* None: it was never claimed. */
static struct id last_attempt(const struct job_row *job)
{
    return job->life.epoch > 0 ? job_attempt_id(&job->id, job->life.epoch) : (struct id){{0}};
}

static enum rc emit_dead(struct context *ctx, const struct job_row *job)
{
    CLEANUP(event_body_release) struct event_body body;
    event_body_open(&body);
    jw_kstr(&body.jw, "jobId", job->id.text);
    jw_kstr(&body.jw, "queue", job->queue);
    jw_kstr(&body.jw, "jobType", job->type);
    jw_optstr(&body.jw, "runId", id_or_null(&job->run_id));
    jw_kint(&body.jw, "attempts", job->life.attempt);
    jw_kstr(&body.jw, "reason", dead_reason_name(job->life.dead_reason));
    jw_optstr(&body.jw, "lastError", job->error_message);
    struct event event = {
        .type = EV_JOB_DEAD_LETTERED,
        .subject = arena_printf(ctx->arena, "job/%s", job->id.text),
        .correlation_id = job->id,
        .attempt_id = last_attempt(job),
        .data = event_body_close(&body),
    };
    return context_append(ctx, &event, NULL);
}

static enum rc after_settling(struct context *ctx, const struct job_row *job, bool was_head)
{
    announce(ctx, job);
    if (!job_is_settled(job->life.state))
        return RC_OK;
    enum rc rc = RC_OK;
    if (job->life.state == JOB_DEAD_LETTER)
        rc = emit_dead(ctx, job);
    if (rc == RC_OK && job->ordering_key != NULL && was_head)
        rc = leave_key(ctx, job);
    return rc == RC_OK ? ctx->hooks->jobs->settled(ctx, job) : rc;
}

enum rc settle(struct context *ctx, struct job_row *job, const struct settlement *settlement)
{
    struct job_input input = {
        .event = settlement->event,
        .now_us = ctx->now_us,
        .epoch = settlement->epoch,
        .owner = settlement->owner,
        .retryable = settlement->retryable,
        .policy = settlement->policy,
        .backoff = context_queue(ctx, job->queue)->config.backoff,
        .random = random_next(ctx->random),
    };
    struct job_life next;
    enum rc rc = job_step(&job->life, &input, &next);
    if (rc != RC_OK)
        return rc;
    bool was_head = job->life.state != JOB_BLOCKED, was_leased = job->life.state == JOB_LEASED;
    if (job->life.state == JOB_QUEUED)
        supply_forget(&ctx->round->supply, job);
    bool succeeded = settlement->event == JOB_EV_FINISH;
    if (was_leased && !succeeded)
        rc = write_attempt(ctx, job, settlement);
    if (rc == RC_OK)
        rc = breaker_job_settled(ctx, job, settlement);
    if (rc != RC_OK)
        return rc;
    job->life = next;
    job->updated_us = ctx->now_us;
    if (succeeded) {
        job->result = settlement->result; /* worker and leased_us stay with it. */
    } else {
        job->worker = NULL;
        job->leased_us = 0;
    }
    if (settlement->code != NULL) {
        job->error_code = settlement->code;
        job->error_message = settlement->message;
    }
    if (next.state == JOB_DEAD_LETTER)
        job->error_pattern = pattern_of(ctx, job);
    rc = jobs_save(ctx->db, job, ctx->err);
    if (was_leased && context_queue(ctx, job->queue)->config.concurrency > 0)
        context_ready(ctx, job->queue); /* There is room for the next one. */
    return rc == RC_OK ? after_settling(ctx, job, was_head) : rc;
}

enum rc settle_cancel(struct context *ctx, struct job_row *job)
{
    struct settlement settlement = {.event = JOB_EV_CANCEL};
    return settle(ctx, job, &settlement);
}

enum rc settle_due(struct context *ctx, struct job_row *job)
{
    struct job_input input = {.event = JOB_EV_DUE, .now_us = ctx->now_us};
    return step_and_save(ctx, job, &input);
}

enum rc settle_hold(struct context *ctx, struct job_row *job, int64_t until_us)
{
    struct job_input input = {.event = JOB_EV_HOLD, .now_us = ctx->now_us, .until_us = until_us};
    return step_and_save(ctx, job, &input);
}
