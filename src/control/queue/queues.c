#include "control/queue/queues.h"
#include "control/commit/context.h"
#include "control/commit/event_body.h"
#include "core/event_types.h"
#include "store/queues.h"

enum { CONFIG_BYTES_MAX = 16 * 1024 };

/* A lane would not read more rows: rules that are accepted have to apply. */
static enum rc check_room(struct context *ctx, const struct queue_row *row)
{
    if (row->version > 0 || ctx->queues->count < QUEUES_MAX)
        return RC_OK;
    return err_set(
        ctx->err, RC_CONFLICT, "TOO_MANY_QUEUES",
        "%d queues have rules of their own, and that is the limit: let queues that go by "
        "the same rules be one, or leave this one its defaults",
        QUEUES_MAX);
}

static enum rc load(struct context *ctx, const struct cmd_queue *cmd, struct queue_row *ret_row)
{
    enum rc rc = queues_get(ctx->db, cmd->name, ctx->arena, ret_row, ctx->err);
    if (rc == RC_NOT_FOUND) {
        *ret_row = (struct queue_row){.name = cmd->name, .config = STR("{}")};
        rc = RC_OK;
    }
    if (rc == RC_OK && cmd->version >= 0 && cmd->version != ret_row->version)
        return err_set(ctx->err, RC_CONFLICT, "QUEUE_CHANGED",
                       "queue %s has version %lld by now: look at it again and repeat the change",
                       cmd->name, (long long)ret_row->version);
    return rc;
}

/* Jobs have the order that was configured when they were enqueued. */
static enum rc check_order(struct context *ctx, const struct queue_row *row, enum queue_order order)
{
    int64_t waiting, out;
    if (queue_rules_of(row).config.order == order)
        return RC_OK;
    enum rc rc = queues_waiting(ctx->db, row->name, 1, &waiting, ctx->err);
    if (rc == RC_OK)
        rc = queues_leased(ctx->db, row->name, &out, ctx->err);
    if (rc == RC_OK && waiting + out > 0)
        return err_field(ctx->err, RC_CONFLICT, "QUEUE_NOT_EMPTY", "ordering",
                         "queue %s has jobs: its ordering can only change while it is empty",
                         row->name);
    return rc;
}

static enum rc configure(struct context *ctx, const struct cmd_queue *cmd, struct queue_row *row)
{
    struct queue_config config;
    enum rc rc = queue_config_decode(cmd->name, cmd->document, &config, ctx->err);
    if (rc == RC_OK)
        rc = check_order(ctx, row, config.order);
    if (rc != RC_OK)
        return rc;
    row->config = str_of(js_text(cmd->document, ctx->arena));
    if (row->config.len > CONFIG_BYTES_MAX)
        return err_set(ctx->err, RC_TOO_LARGE, "CONFIG_TOO_LARGE",
                       "the configuration of a queue has at most %d bytes", CONFIG_BYTES_MAX);
    return RC_OK;
}

static const char *const event_types[] = {
    [QUEUE_CONFIGURE] = EV_QUEUE_CONFIGURED,
    [QUEUE_PAUSE] = EV_QUEUE_PAUSED,
    [QUEUE_RESUME] = EV_QUEUE_RESUMED,
};

static enum rc emit(struct context *ctx, const struct cmd_queue *cmd, const struct queue_row *row)
{
    CLEANUP(event_body_release) struct event_body body;
    event_body_open(&body);
    jw_kstr(&body.jw, "queue", row->name);
    jw_kint(&body.jw, "version", row->version + 1);
    if (cmd->change == QUEUE_CONFIGURE)
        jw_kraw(&body.jw, "config", row->config);
    struct event event = {
        .type = event_types[cmd->change],
        .subject = arena_printf(ctx->arena, "queue/%s", row->name),
        .data = event_body_close(&body),
    };
    return context_append(ctx, &event, NULL);
}

static enum rc apply_queue(struct context *ctx, struct command *command)
{
    struct cmd_queue *cmd = (struct cmd_queue *)command;
    struct queue_row row;
    enum rc rc = load(ctx, cmd, &row);
    if (rc == RC_OK)
        rc = check_room(ctx, &row);
    if (rc == RC_OK && cmd->change == QUEUE_CONFIGURE)
        rc = configure(ctx, cmd, &row);
    if (rc != RC_OK)
        return rc;
    cmd->new_version = row.version;
    bool pause = cmd->change == QUEUE_PAUSE;
    if (cmd->change != QUEUE_CONFIGURE && row.paused == pause)
        return RC_OK; /* It is paused, or resumed, already. */
    if (cmd->change != QUEUE_CONFIGURE)
        row.paused = pause;
    row.updated_us = ctx->now_us;
    rc = queues_put(ctx->db, &row, ctx->err);
    if (rc == RC_OK)
        rc = emit(ctx, cmd, &row);
    cmd->new_version = row.version + 1;
    ctx->round->rules_changed = true;
    ctx->round->brought = true; /* Leases on other nodes are applied again as well. */
    return rc;
}

static const struct command_ops queue_ops = {.name = "queue", .apply = apply_queue};

struct cmd_queue *cmd_queue_new(void)
{
    struct cmd_queue *cmd = command_new(&queue_ops, sizeof *cmd);
    cmd->version = -1;
    return cmd;
}
