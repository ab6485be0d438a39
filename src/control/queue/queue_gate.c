#include "control/queue/queue_gate.h"

enum { BURSTS_PER_SECOND = 10 };
/* Leases that wait for the rate are not applied again more often than this. */
#define LOOK_US_MIN (5 * US_PER_MS)

/* The burst is the rate of a tenth of a second: jobs are leased steadily, not in large bursts. */
static struct bucket_rule rate_rule(const struct queue_config *config)
{
    int64_t burst = config->rate / BURSTS_PER_SECOND;
    return (struct bucket_rule){.per_second = config->rate, .burst = burst > 0 ? burst : 1};
}

static enum rc limit_by_concurrency(struct context *ctx, struct gate *gate)
{
    int64_t out;
    enum rc rc = queues_leased(ctx->db, gate->rules->name, &out, ctx->err);
    if (rc != RC_OK)
        return rc;
    int64_t room = gate->rules->config.concurrency - out;
    if (room < gate->granted)
        gate->granted = room > 0 ? room : 0;
    return RC_OK;
}

static void limit_by_rate(struct context *ctx, struct gate *gate)
{
    struct bucket_rule rule = rate_rule(&gate->rules->config);
    struct bucket left = gate->bucket;
    int64_t want = gate->granted;
    gate->granted = bucket_take(&rule, &left, ctx->now_us, want);
    if (gate->granted < want) {
        int64_t ready_us = bucket_ready_us(&rule, &left, ctx->now_us);
        gate->look_us = ready_us > ctx->now_us + LOOK_US_MIN ? ready_us : ctx->now_us + LOOK_US_MIN;
    }
}

enum rc gate_open(struct context *ctx, const char *queue, int64_t want, struct gate *ret_gate)
{
    struct gate gate = {.rules = context_queue(ctx, queue), .granted = want};
    const struct queue_config *config = &gate.rules->config;
    enum rc rc = RC_OK;
    if (gate.rules->paused)
        gate.granted = 0;
    else if (config->concurrency > 0 || config->rate > 0) {
        struct queue_flow flow = {0};
        rc = queues_flow(ctx->db, queue, &flow, ctx->err);
        gate.bucket = (struct bucket){flow.tokens, flow.tokens_us};
        if (rc == RC_OK && config->concurrency > 0)
            rc = limit_by_concurrency(ctx, &gate);
        if (rc == RC_OK && config->rate > 0)
            limit_by_rate(ctx, &gate);
    }
    if (rc == RC_OK)
        *ret_gate = gate;
    return rc;
}

enum rc gate_close(struct context *ctx, struct gate *gate, int64_t taken)
{
    if (gate->rules->config.rate == 0 || taken == 0)
        return RC_OK;
    struct bucket_rule rule = rate_rule(&gate->rules->config);
    (void)bucket_take(&rule, &gate->bucket, ctx->now_us, taken);
    struct queue_flow flow = {gate->bucket.tokens, gate->bucket.filled_us};
    return queues_flow_save(ctx->db, gate->rules->name, &flow, ctx->err);
}
