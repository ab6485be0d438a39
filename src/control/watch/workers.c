#include "control/watch/workers.h"
#include "control/commit/context.h"
#include "control/commit/event_body.h"
#include "core/event_types.h"
#include <string.h>

bool worker_name_valid(const char *name)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    size_t len = strspn(name, allowed);
    return len >= 1 && len <= WORKER_NAME_MAX && name[len] == '\0';
}

static bool same_process(const struct worker_row *a, const struct worker_row *b)
{
    return a->pid == b->pid && text_same(a->host, b->host);
}

static bool same_report(const struct worker_row *a, const struct worker_row *b)
{
    return same_process(a, b) && text_same(a->version, b->version) &&
           str_same(a->queues, b->queues) && a->slots == b->slots && a->busy == b->busy &&
           a->draining == b->draining && a->lease_us == b->lease_us &&
           a->unpublished_count == b->unpublished_count &&
           a->unpublished_bytes == b->unpublished_bytes && a->disk_low == b->disk_low &&
           a->leased_ports == b->leased_ports && a->leased_databases == b->leased_databases;
}

/* Often enough to detect a lost worker, seldom enough to cost little. */
static int64_t write_every_us(const struct worker_row *row)
{
    return row->lease_us < WORKER_SEEN_EVERY_US ? row->lease_us : WORKER_SEEN_EVERY_US;
}

static enum rc apply_seen(struct context *ctx, struct command *command)
{
    struct cmd_worker_seen *cmd = (struct cmd_worker_seen *)command;
    struct worker_row known;
    if (cmd->left)
        return workers_remove(ctx->db, cmd->worker.name, ctx->err);
    enum rc rc = workers_get(ctx->db, cmd->worker.name, ctx->now_us, ctx->arena, &known, ctx->err);
    if (rc != RC_OK && rc != RC_NOT_FOUND)
        return rc;
    bool goes_on = rc == RC_OK && same_process(&known, &cmd->worker);
    if (goes_on && same_report(&known, &cmd->worker) &&
        ctx->now_us - known.last_seen_us < write_every_us(&known))
        return RC_OK;
    cmd->worker.started_us = goes_on ? known.started_us : ctx->now_us;
    cmd->worker.last_seen_us = ctx->now_us;
    return workers_put(ctx->db, &cmd->worker, ctx->err);
}

static const struct command_ops seen_ops = {.name = "worker_seen", .apply = apply_seen};

struct cmd_worker_seen *cmd_worker_seen_new(void)
{
    return command_new(&seen_ops, sizeof(struct cmd_worker_seen));
}

static enum rc apply_scaled(struct context *ctx, struct command *command)
{
    struct cmd_workers_scaled *cmd = (struct cmd_workers_scaled *)command;
    CLEANUP(event_body_release) struct event_body body;
    event_body_open(&body);
    jw_kstr(&body.jw, "worker", cmd->worker);
    jw_kint(&body.jw, "from", cmd->from);
    jw_kint(&body.jw, "to", cmd->to);
    jw_kstr(&body.jw, "reason", cmd->reason);
    struct event event = {
        .type = EV_WORKERS_SCALED,
        .subject = arena_printf(ctx->arena, "worker/%s", cmd->worker),
        .data = event_body_close(&body),
    };
    return context_append(ctx, &event, NULL);
}

static const struct command_ops scaled_ops = {.name = "workers_scaled", .apply = apply_scaled};

struct cmd_workers_scaled *cmd_workers_scaled_new(void)
{
    return command_new(&scaled_ops, sizeof(struct cmd_workers_scaled));
}
