#include "control/queue/intake.h"
#include "control/commit/swarms.h"
#include "core/queue/intake.h"
#include <string.h>

/* The one key of a queue with global order: keys of clients are ignored there. */
#define GLOBAL_KEY "*"

static enum rc apply_order(struct context *ctx, const struct job_spec *spec, enum queue_order order,
                           struct intake_verdict *verdict)
{
    verdict->ordering_key = order == ORDER_GLOBAL ? GLOBAL_KEY : spec->ordering_key;
    if (order == ORDER_NONE && spec->ordering_key != NULL)
        return err_field(ctx->err, RC_INVALID, "ORDERING_KEY_REFUSED", "orderingKey",
                         "queue %s keeps no order: leave orderingKey out, or set its ordering "
                         "to key",
                         spec->queue);
    return RC_OK;
}

/* How many jobs wait: counted once per batch, then updated in memory. */
static enum rc find_load(struct context *ctx, const struct job_spec *spec, int64_t up_to,
                         struct load **ret_load)
{
    struct round *round = ctx->round;
    for (size_t i = 0; i < round->load_count; i++) {
        if (strcmp(round->loads[i].queue, spec->queue) == 0) {
            *ret_load = &round->loads[i];
            return RC_OK;
        }
    }
    int64_t waiting;
    enum rc rc = queues_waiting(ctx->db, spec->queue, up_to, &waiting, ctx->err);
    if (rc != RC_OK)
        return rc;
    if (round->load_count < ROUND_LOADS_MAX)
        round->load_count++;
    struct load *load = &round->loads[round->load_count - 1];
    *load = (struct load){arena_strdup(ctx->batch_arena, spec->queue), waiting};
    *ret_load = load;
    return RC_OK;
}

static void drop(struct intake_verdict *verdict, const char *code, int64_t retry_us)
{
    verdict->dropped = true;
    verdict->code = code;
    verdict->retry_us = retry_us;
}

static void defer(struct intake_verdict *verdict, int64_t delay_us)
{
    verdict->deferred = true;
    verdict->delay_us = delay_us;
}

static enum rc apply_load(struct context *ctx, const struct job_spec *spec,
                          const struct queue_config *config, struct intake_verdict *verdict)
{
    int64_t up_to = intake_count_up_to(config);
    if (up_to == 0)
        return RC_OK;
    struct load *load;
    enum rc rc = find_load(ctx, spec, up_to, &load);
    if (rc != RC_OK)
        return rc;
    switch (intake_of(config, spec->priority, load->waiting)) {
    case INTAKE_FULL:
        return err_field(ctx->err, RC_LIMIT, "QUEUE_FULL", "queue",
                         "queue %s holds the %lld jobs that it may: nothing of this call was "
                         "taken; come again when some are done, or raise its maxLength",
                         spec->queue, (long long)config->max_length);
    case INTAKE_DROP:
        drop(verdict, "SHED", config->shed.defer_us);
        return RC_OK;
    case INTAKE_DEFER:
        defer(verdict, config->shed.defer_us);
        break;
    case INTAKE_TAKE:
        break;
    }
    load->waiting++;
    return RC_OK;
}

static void apply_swarm(struct context *ctx, const struct job_spec *spec,
                        const struct queue_config *config, struct intake_verdict *verdict)
{
    if (config->swarm.count == 0 || verdict->dropped)
        return;
    struct swarm_kind kind = {
        .queue = spec->queue, .type = spec->type, .config = config, .now_us = ctx->now_us};
    struct swarm_sight sight = swarms_see(ctx->swarms, &kind, &ctx->round->swarms,
                                          ctx->batch_arena);
    if (!sight.on)
        return;
    verdict->swarm = sight.news ? sight.seen : 0;
    if (urgency_of(spec->priority) == URGENCY_CRITICAL)
        return;
    if (config->swarm.action == SWARM_PROTECT)
        drop(verdict, "SWARM", config->swarm.retry_us);
    else if (config->swarm.action == SWARM_BUFFER)
        defer(verdict, sight.delay_us);
}

enum rc intake_decide(struct context *ctx, const struct job_spec *spec,
                      struct intake_verdict *ret_verdict)
{
    const struct queue_config *config = &context_queue(ctx, spec->queue)->config;
    struct intake_verdict verdict = {0};
    enum rc rc = apply_order(ctx, spec, config->order, &verdict);
    if (rc == RC_OK && !spec->always)
        rc = apply_load(ctx, spec, config, &verdict);
    if (rc == RC_OK && !spec->always)
        apply_swarm(ctx, spec, config, &verdict);
    if (rc == RC_OK)
        *ret_verdict = verdict;
    return rc;
}

enum rc intake_refuse(struct context *ctx, const char *queue, const struct intake_verdict *verdict)
{
    int64_t retry_s = verdict->retry_us / US_PER_SECOND;
    (void)err_set(ctx->err, RC_LIMIT, verdict->code,
                  "queue %s is overloaded and takes nothing of this priority now; come again in "
                  "%lld s, or send less",
                  queue, (long long)retry_s);
    ctx->err->retry_ms = verdict->retry_us / US_PER_MS;
    return RC_LIMIT;
}

void intake_forget(struct context *ctx)
{
    ctx->round->load_count = 0;
}
