#include "control/agents/agent_flow.h"
#include "core/event_tags.h"
#include "core/event_types.h"
#include "store/timers.h"
#include "store/tokens.h"

const char *agent_bell(const char *name, struct arena *arena)
{
    return arena_printf(arena, "agent/%s", name);
}

static struct instance life_of(const struct agent_row *row)
{
    return (struct instance){.state = row->state,
                             .launched = row->config.len > 0,
                             .failures = row->failures,
                             .rule = {row->restart, row->restart_max, row->backoff_ms}};
}

enum rc agent_move(struct context *ctx, struct agent_row *row, enum instance_event event)
{
    struct instance life = life_of(row);
    enum rc rc = instance_step(&life, event, &life);
    if (rc != RC_OK)
        return err_set(ctx->err, rc, "AGENT_STATE", "agent %s is %s", row->name,
                       instance_state_name(row->state));
    row->state = life.state;
    row->failures = life.failures;
    return RC_OK;
}

enum rc agent_save(struct context *ctx, struct agent_row *row)
{
    row->updated_us = ctx->now_us;
    return agents_save(ctx->db, row, ctx->err);
}

/* ---- events ---- */

void agent_event_open(struct event_body *body, const struct agent_row *row)
{
    event_body_open(body);
    jw_kstr(&body->jw, "agentId", row->id.text);
    jw_kstr(&body->jw, "name", row->name);
    jw_optstr(&body->jw, "persona", row->persona);
}

enum rc agent_emit(struct context *ctx, const struct agent_row *row, const char *type,
                   struct event_body *body)
{
    struct event_tags tags = {0};
    event_tags_name(&tags, "persona", row->persona);
    event_tags_name(&tags, "agent", row->name);
    struct event event = {
        .type = type,
        .subject = arena_printf(ctx->arena, "agent/%s", row->name),
        .tags = event_tags_text(&tags, ctx->arena),
        .correlation_id = row->id,
        .data = event_body_close(body),
    };
    return context_append(ctx, &event, NULL);
}

/* ---- heartbeats ---- */

static int64_t late_us(const struct agent_row *row)
{
    return row->seen_us + row->heartbeat_ms * US_PER_MS;
}

enum rc agent_watch(struct context *ctx, const struct agent_row *row)
{
    if (row->state != INSTANCE_ACTIVE)
        return timers_clear(ctx->db, TIMER_AGENT_BEAT, &row->id, ctx->err);
    struct timer_row timer = {.kind = TIMER_AGENT_BEAT, .subject = row->id, .due_us = late_us(row)};
    context_due(ctx, timer.due_us);
    return timers_set(ctx->db, &timer, ctx->err);
}

enum rc agent_heard(struct context *ctx, struct agent_row *row)
{
    if (!instance_may_claim(row->state))
        return err_set(ctx->err, RC_CONFLICT, "AGENT_GONE",
                       "agent %s is %s: it takes no work until it is launched or registered again",
                       row->name, instance_state_name(row->state));
    row->seen_us = ctx->now_us;
    if (row->state == INSTANCE_ACTIVE)
        return agents_seen(ctx->db, &row->id, ctx->now_us, ctx->err);
    enum rc rc = agent_move(ctx, row, INSTANCE_EV_BEAT);
    if (rc == RC_OK)
        rc = agent_save(ctx, row);
    return rc == RC_OK ? agent_watch(ctx, row) : rc;
}

enum rc agent_heard_by_name(struct context *ctx, const char *name)
{
    struct agent_row row;
    if (name == NULL)
        return RC_OK;
    enum rc rc = agents_by_name(ctx->db, &ctx->workspace_id, name, ctx->arena, &row, ctx->err);
    if (rc == RC_OK && instance_may_claim(row.state))
        rc = agent_heard(ctx, &row);
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}

static enum rc emit_missed(struct context *ctx, const struct agent_row *row)
{
    CLEANUP(event_body_release) struct event_body body;
    agent_event_open(&body, row);
    jw_ktime(&body.jw, "lastHeartbeatAt", row->seen_us);
    jw_kint(&body.jw, "heartbeatMs", row->heartbeat_ms);
    jw_kint(&body.jw, "lateMs", (ctx->now_us - late_us(row)) / US_PER_MS);
    return agent_emit(ctx, row, EV_AGENT_HEARTBEAT_MISSED, &body);
}

enum rc agent_beat_due(struct context *ctx, const struct id *agent_id)
{
    struct agent_row row;
    enum rc rc = agents_get(ctx->db, agent_id, ctx->arena, &row, ctx->err);
    if (rc != RC_OK || row.state != INSTANCE_ACTIVE)
        return rc == RC_NOT_FOUND ? RC_OK : rc;
    if (late_us(&row) > ctx->now_us)
        return agent_watch(ctx, &row); /* Heartbeats do not touch the timer. */
    rc = agent_move(ctx, &row, INSTANCE_EV_MISS);
    if (rc == RC_OK)
        rc = agent_save(ctx, &row);
    return rc == RC_OK ? emit_missed(ctx, &row) : rc;
}

/* ---- tokens ---- */

/* Removed: every start has one of its own, and the event of the start stays. */
enum rc agent_revoke(struct context *ctx, struct agent_row *row)
{
    struct id token_id = row->token_id;
    if (id_is_none(&token_id))
        return RC_OK;
    row->token_id = (struct id){0};
    return tokens_remove(ctx->db, &token_id, ctx->err);
}
