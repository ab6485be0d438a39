#include "control/commit/context.h"
#include "store/events.h"
#include <string.h>

bool round_serves(const struct round *round, const struct command *command)
{
    for (size_t i = 0; i < round->ready_count; i++)
        if (command->ops->wants(command, round->ready[i].queue))
            return true;
    return round->all_ready;
}

struct id context_id(struct context *ctx)
{
    int64_t us = ctx->now_us > *ctx->last_id_us ? ctx->now_us : *ctx->last_id_us + 1;
    *ctx->last_id_us = us;
    return id_new(us, ctx->random);
}

const struct queue_rules *context_queue(const struct context *ctx, const char *queue)
{
    return queue_book_find(ctx->queues, queue);
}

void context_ready(struct context *ctx, const char *queue)
{
    struct round *round = ctx->round;
    round->brought = true;
    supply_refresh(&round->supply, queue);
    for (size_t i = 0; i < round->ready_count; i++) {
        if (strcmp(round->ready[i].queue, queue) == 0) {
            round->ready[i].jobs++;
            return;
        }
    }
    if (round->ready_count == ROUND_QUEUES_MAX) {
        round->all_ready = true;
        return;
    }
    round->ready[round->ready_count++] = (struct ready){
        .queue = arena_strdup(ctx->batch_arena, queue), .jobs = 1};
}

void context_due(struct context *ctx, int64_t due_us)
{
    if (ctx->round->due_us == 0 || due_us < ctx->round->due_us)
        ctx->round->due_us = due_us;
}

static void fill_in(struct context *ctx, struct event *event)
{
    event->id = context_id(ctx);
    event->version = 1;
    if (event->time_us < ctx->now_us)
        event->time_us = ctx->now_us;
    event->workspace_id = ctx->workspace_id;
    event->actor = ctx->actor;
    if (event->traceparent == NULL)
        event->traceparent = ctx->traceparent;
}

enum rc context_append(struct context *ctx, struct event *event, struct id *ret_id)
{
    fill_in(ctx, event);
    enum rc rc = events_append(ctx->db, event, ctx->err);
    if (rc != RC_OK)
        return rc;
    ctx->round->appended = true;
    if (ret_id != NULL)
        *ret_id = event->id;
    return RC_OK;
}

enum rc context_append_once(struct context *ctx, struct event *event, bool *ret_new)
{
    fill_in(ctx, event);
    enum rc rc = events_append_once(ctx->db, event, ret_new, ctx->err);
    if (rc == RC_OK && *ret_new)
        ctx->round->appended = true;
    return rc;
}
