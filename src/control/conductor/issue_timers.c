#include "control/conductor/issue_timers.h"
#include "core/conductor/issue_clock.h"
#include "store/timers.h"

/* In the name of the agent, by the Conductor. */
static enum rc write_stuck(struct context *ctx, const struct issue_row *row, enum issue_clock clock)
{
    bool is_new;
    const struct issue_writing writing = {
        .event = {.kind = ISSUE_EV_STUCK,
                  .issue_id = row->issue_id,
                  .reason = issue_clock_reason(clock)},
        .writer = WRITER_CONDUCTOR,
    };
    return issue_append(ctx, &writing, NULL, &is_new);
}

static enum rc write_reminder(struct context *ctx, const struct issue_row *row)
{
    bool is_new;
    const struct issue_writing writing = {
        .event = {.kind = ISSUE_EV_GATE_REMINDER,
                  .issue_id = row->issue_id,
                  .period = issue_gate_period(&row->life, ctx->now_us)},
        .writer = WRITER_CONDUCTOR,
    };
    return issue_append(ctx, &writing, NULL, &is_new);
}

static enum rc fire(struct context *ctx, const struct id *issue, enum issue_clock clock,
                    const char *timer)
{
    struct issue_row row;
    int64_t seen_us = 0;
    enum rc rc = issue_states_get(ctx->db, issue, ctx->arena, &row, ctx->err);
    if (rc == RC_OK && clock == ISSUE_CLOCK_SILENCE && row.life.life.assigned_to != NULL)
        rc = issue_beats_seen(ctx->db, &(struct issue_beat){row.id, row.life.life.assigned_to, 0},
                              &seen_us, ctx->err);
    if (rc != RC_OK)
        return rc;
    int64_t due_us = issue_clock_due(&row.life, clock, seen_us);
    if (due_us == 0)
        return RC_OK;
    if (due_us > ctx->now_us) {
        context_due(ctx, due_us);
        return timers_set(ctx->db, &(struct timer_row){timer, *issue, due_us}, ctx->err);
    }
    return clock == ISSUE_CLOCK_GATE ? write_reminder(ctx, &row) : write_stuck(ctx, &row, clock);
}

enum rc issue_sla_due(struct context *ctx, const struct id *issue)
{
    return fire(ctx, issue, ISSUE_CLOCK_SLA, TIMER_ISSUE_SLA);
}

enum rc issue_ci_due(struct context *ctx, const struct id *issue)
{
    return fire(ctx, issue, ISSUE_CLOCK_CI, TIMER_ISSUE_CI);
}

enum rc issue_silence_due(struct context *ctx, const struct id *issue)
{
    return fire(ctx, issue, ISSUE_CLOCK_SILENCE, TIMER_ISSUE_SILENCE);
}

enum rc issue_gate_due(struct context *ctx, const struct id *issue)
{
    return fire(ctx, issue, ISSUE_CLOCK_GATE, TIMER_ISSUE_GATE);
}
