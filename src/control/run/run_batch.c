#include "control/run/run_batch.h"
#include "core/event_types.h"
#include "store/batches.h"
#include "store/timers.h"

/* Reports of one such span of time are looked at together. */
#define LOOK_EVERY_US US_PER_SECOND

static bool is_news(const struct flow *flow, const char *type)
{
    static const char *const ends[] = {EV_TASK_COMPLETED, EV_TASK_FAILED, EV_TASK_CANCELLED,
                                       EV_TASK_TIMED_OUT};
    for (size_t i = 0; i < COUNT_OF(ends); i++)
        if (text_same(ends[i], type))
            return true;
    return text_same(type, EV_RUN_QUEUED) && flow->run.run_no > 1;
}

enum rc run_batch_event(struct context *ctx, const struct flow *flow, const char *type)
{
    bool is_member = !id_is_none(&flow->task.batch_id) && id_is_none(&flow->task.parent_id);
    if (!is_member || !is_news(flow, type))
        return RC_OK;
    return timer_start(ctx, TIMER_BATCH, &flow->task.batch_id, ctx->now_us);
}

/* Is a turn to come in any case?  Then reports of many lanes need not queue up for its timer. */
static enum rc is_awaited(struct context *ctx, const struct id *batch_id, bool *ret_awaited)
{
    struct timer_row *timers;
    size_t count;
    enum rc rc = timers_of(ctx->db, batch_id, ctx->arena, &timers, &count, ctx->err);
    *ret_awaited = false;
    for (size_t i = 0; rc == RC_OK && i < count; i++)
        *ret_awaited |= text_same(timers[i].kind, TIMER_BATCH_SPENT) &&
                        timers[i].due_us > ctx->now_us;
    return rc;
}

/* Times on a grid: reports that keep coming do not put the turn off. */
enum rc run_batch_spent(struct context *ctx, const struct run_row *run)
{
    int64_t budget = 0;
    bool awaited = false;
    if (id_is_none(&run->batch_id))
        return RC_OK;
    enum rc rc = batches_budget(ctx->db, &run->batch_id, &budget, ctx->err);
    if (rc == RC_OK && budget > 0)
        rc = is_awaited(ctx, &run->batch_id, &awaited);
    if (rc != RC_OK || budget == 0 || awaited)
        return rc;
    return timer_start(ctx, TIMER_BATCH_SPENT, &run->batch_id,
                       (ctx->now_us / LOOK_EVERY_US + 1) * LOOK_EVERY_US);
}

enum rc run_batch_left(struct context *ctx, const struct id *batch_id, int64_t *ret_microusd)
{
    int64_t budget = 0, cost = 0;
    *ret_microusd = 0;
    if (id_is_none(batch_id))
        return RC_OK;
    enum rc rc = batches_budget(ctx->db, batch_id, &budget, ctx->err);
    if (rc != RC_OK || budget == 0)
        return rc;
    rc = batches_cost(ctx->db, batch_id, &cost, ctx->err);
    if (rc == RC_OK && cost >= budget)
        return err_set(ctx->err, RC_DENIED, RUN_BATCH_CODE,
                       "batch %s has spent %.2f USD of its %.2f; submit the task on its own, or in "
                       "another batch",
                       batch_id->text, (double)cost / 1e6, (double)budget / 1e6);
    if (rc == RC_OK)
        *ret_microusd = budget - cost;
    return rc;
}

enum rc run_batch_may_retry(struct context *ctx, const struct id *batch_id)
{
    struct batch_row batch;
    if (id_is_none(batch_id))
        return RC_OK;
    enum rc rc = batches_peek(ctx->db, batch_id, ctx->arena, &batch, ctx->err);
    if (rc == RC_OK && !batch_goes_on(batch.status) && !batch_has_ended(batch.status))
        return err_set(ctx->err, RC_CONFLICT, "BATCH_STOPPING",
                       "batch %s is %s; retry its tasks when it has ended", batch_id->text,
                       batch_status_name(batch.status));
    return rc;
}

enum rc run_batch_gate(struct context *ctx, const struct run_row *run, const char **ret_detail)
{
    struct batch_gate gate;
    *ret_detail = NULL;
    if (id_is_none(&run->batch_id) || !id_is_none(&run->parent_run_id))
        return RC_OK;
    enum rc rc = batches_gate(ctx->db, &run->batch_id, ctx->arena, &gate, ctx->err);
    if (rc != RC_OK)
        return rc;
    if (gate.status == BATCH_PAUSED)
        *ret_detail = arena_printf(ctx->arena, "batch %s is paused", gate.name);
    else if (gate.max_active > 0 && gate.active >= gate.max_active)
        *ret_detail = arena_printf(ctx->arena, "%lld of %lld members of batch %s are under way",
                                   (long long)gate.active, (long long)gate.max_active, gate.name);
    return RC_OK;
}
