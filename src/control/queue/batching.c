#include "control/queue/batching.h"
#include "control/queue/enqueue.h"

bool batching_wants(const struct context *ctx, const struct job_spec *spec)
{
    return context_queue(ctx, spec->queue)->config.batch.max > 0 && spec->dedup_key == NULL &&
           spec->delay_us == 0 && spec->headers.len == 0 && !spec->always;
}

static struct str headers_for(struct context *ctx, int64_t jobs)
{
    return str_of(arena_printf(ctx->arena, "{\"batch\":%lld}", (long long)jobs));
}

static int64_t jobs_in(const struct job_row *batch)
{
    struct err err = {0};
    CLEANUP(js_freep) struct js *headers = NULL;
    if (js_parse(batch->headers.at, batch->headers.len, &headers, &err) != RC_OK)
        return 0;
    return js_get_int(headers, "batch", 0);
}

static enum rc begin(struct context *ctx, struct job_row *row, const char *key)
{
    row->payload = str_of(
        arena_printf(ctx->arena, "[%.*s]", (int)row->payload.len, row->payload.at));
    row->headers = headers_for(ctx, 1);
    row->dedup_key = key;
    row->life.state = JOB_SCHEDULED;
    row->life.due_us = ctx->now_us + context_queue(ctx, row->queue)->config.batch.window_us;
    return enqueue_insert(ctx, row);
}

/* "[a,b]" and "c" become "[a,b,c]". */
static enum rc grow(struct context *ctx, struct job_row *batch, const struct job_row *row,
                    int64_t jobs)
{
    batch->payload = str_of(arena_printf(ctx->arena, "%.*s,%.*s]", (int)batch->payload.len - 1,
                                         batch->payload.at, (int)row->payload.len,
                                         row->payload.at));
    batch->headers = headers_for(ctx, jobs);
    if (jobs >= context_queue(ctx, row->queue)->config.batch.max) {
        batch->dedup_key = NULL;
        batch->life.due_us = ctx->now_us;
        context_due(ctx, ctx->now_us);
    }
    return jobs_grow(ctx->db, batch, ctx->err);
}

static bool takes_more(struct context *ctx, const struct job_row *batch, const struct job_row *row)
{
    bool waits = batch->life.state == JOB_SCHEDULED || batch->life.state == JOB_BLOCKED;
    return waits && batch->life.due_us > ctx->now_us &&
           batch->payload.len + row->payload.len + 1 <= JOB_PAYLOAD_MAX;
}

enum rc batching_add(struct context *ctx, struct job_row *row, struct id *ret_id)
{
    const char *key = arena_printf(ctx->arena, "batch/%s%s%s", row->type,
                                   row->ordering_key != NULL ? "/" : "",
                                   row->ordering_key != NULL ? row->ordering_key : "");
    struct dedup_row open;
    struct job_row batch = {0};
    enum rc rc = jobs_by_dedup(ctx->db, row->queue, key, &open, ctx->err);
    bool found = rc == RC_OK;
    if (found)
        rc = jobs_get(ctx->db, &open.id, ctx->arena, &batch, ctx->err);
    if (found && rc == RC_OK && takes_more(ctx, &batch, row)) {
        *ret_id = batch.id;
        return grow(ctx, &batch, row, jobs_in(&batch) + 1);
    }
    if (found && rc == RC_OK)
        rc = jobs_dedup_release(ctx->db, &open.id, ctx->err);
    if (rc != RC_OK && rc != RC_NOT_FOUND)
        return rc;
    *ret_id = row->id;
    return begin(ctx, row, key);
}
