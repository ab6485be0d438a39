#include "control/run/run_clock.h"
#include "base/clock.h"
#include "base/js_peek.h"
#include "store/jobs.h"
#include "store/timers.h"
#include <string.h>

static const char *const clocks[] = {TIMER_RUN_DEADLINE, TIMER_QUEUE_DEADLINE, TIMER_PULL_DEADLINE,
                                     TIMER_PULL_IDLE};

bool run_clock_is(const char *timer_kind)
{
    for (size_t i = 0; i < COUNT_OF(clocks); i++)
        if (strcmp(clocks[i], timer_kind) == 0)
            return true;
    return false;
}

bool run_is_held(const struct run_row *run)
{
    if (run_is_terminal(run->status))
        return false;
    return run->paused_us > 0 || !id_is_none(&run->question_id) ||
           run->status == RUN_AWAITING_APPROVAL;
}

enum rc timer_start(struct context *ctx, const char *kind, const struct id *subject, int64_t due_us)
{
    const struct timer_row timer = {.kind = kind, .subject = *subject, .due_us = due_us};
    context_due(ctx, due_us);
    return timers_set(ctx->db, &timer, ctx->err);
}

enum rc reminder_start(struct context *ctx, const struct reminder *reminder)
{
    const int64_t since_us = reminder->since_us, period_us = reminder->period_ms * US_PER_MS;
    if (period_us == 0)
        return RC_OK;
    int64_t due_us = since_us + ((ctx->now_us - since_us) / period_us + 1) * period_us;
    return timer_start(ctx, reminder->kind, reminder->subject, due_us);
}

enum rc run_clock_set(struct context *ctx, const struct run_row *run, const char *kind,
                      int64_t left_us)
{
    if (run->still_us == 0)
        return timer_start(ctx, kind, &run->id, ctx->now_us + left_us);
    const struct timer_row timer = {
        .kind = kind, .subject = run->id, .due_us = TIMER_STILL_US + left_us};
    return timers_set(ctx->db, &timer, ctx->err);
}

enum rc run_clock_start(struct context *ctx, struct run_row *run, int64_t left_us)
{
    run->deadline_us = (run->still_us > 0 ? run->still_us : ctx->now_us) + left_us;
    return run_clock_set(ctx, run, TIMER_RUN_DEADLINE, left_us);
}

/* The payload with another runDeadline. */
static struct str redated(const struct job_row *job, int64_t deadline_us, struct arena *arena)
{
    struct str before = js_peek(job->payload, "runDeadline");
    if (before.len == 0)
        return job->payload;
    size_t head = (size_t)(before.at - job->payload.at);
    const char *tail = before.at + before.len;
    char text[TIME_TEXT_BYTES];
    return str_of(arena_printf(arena, "%.*s\"%s\"%.*s", (int)head, job->payload.at,
                               time_format(text, deadline_us),
                               (int)(job->payload.len - head - before.len), tail));
}

/* The job was made before its run stood still, or meanwhile. */
static enum rc redate_job(struct context *ctx, const struct run_row *run)
{
    struct job_row job;
    if (id_is_none(&run->job_id))
        return RC_OK;
    enum rc rc = jobs_get(ctx->db, &run->job_id, ctx->arena, &job, ctx->err);
    if (rc != RC_OK || job.life.state == JOB_LEASED || job_is_settled(job.life.state))
        return rc;
    job.payload = redated(&job, run->deadline_us, ctx->arena);
    return jobs_grow(ctx->db, &job, ctx->err);
}

static enum rc go(struct context *ctx, struct run_row *run)
{
    int64_t stood_us = ctx->now_us > run->still_us ? ctx->now_us - run->still_us : 0;
    run->still_us = 0;
    enum rc rc = RC_OK;
    for (size_t i = 0; rc == RC_OK && i < COUNT_OF(clocks); i++)
        rc = timers_go(ctx->db, clocks[i], &run->id, ctx->now_us, ctx->err);
    context_due(ctx, ctx->now_us); /* The ticker looks for the earliest of them. */
    if (rc != RC_OK || run->deadline_us == 0)
        return rc;
    run->deadline_us += stood_us;
    return redate_job(ctx, run);
}

static void count_work(const struct context *ctx, struct run_row *run)
{
    bool works = run_is_active(run->status) && !run_is_held(run);
    if (works == (run->work_since_us > 0))
        return;
    run->work_us = run_work_us(run, ctx->now_us);
    run->work_since_us = works ? ctx->now_us : 0;
}

enum rc run_clock_settle(struct context *ctx, struct run_row *run)
{
    count_work(ctx, run);
    if (run_is_terminal(run->status)) {
        run->still_us = 0; /* Its timers are cleared. */
        return RC_OK;
    }
    bool stands = run->still_us > 0;
    if (run_is_held(run) == stands)
        return RC_OK;
    if (stands)
        return go(ctx, run);
    run->still_us = ctx->now_us;
    enum rc rc = RC_OK;
    for (size_t i = 0; rc == RC_OK && i < COUNT_OF(clocks); i++)
        rc = timers_stand(ctx->db, clocks[i], &run->id, ctx->now_us, ctx->err);
    return rc;
}
