#include "control/conductor/issues.h"
#include "base/clock.h"
#include "core/conductor/issue_clock.h"
#include "store/timers.h"
#include <stdio.h>

enum { BEATS_PRUNED = 1000 };

static const char *const timer_kinds[ISSUE_CLOCK_COUNT] = {
    [ISSUE_CLOCK_SLA] = TIMER_ISSUE_SLA,
    [ISSUE_CLOCK_CI] = TIMER_ISSUE_CI,
    [ISSUE_CLOCK_SILENCE] = TIMER_ISSUE_SILENCE,
    [ISSUE_CLOCK_GATE] = TIMER_ISSUE_GATE,
};

/* ---- refusals ---- */

enum rc issue_refuse(struct context *ctx, enum issue_rule rule, const struct issue_event *event,
                     const struct issue_life *life)
{
    char code[ERR_CODE_MAX], writers[WRITERS_TEXT_BYTES];
    (void)snprintf(code, sizeof code, "issue.%s", issue_rule_name(rule));
    const char *name = issue_kind_name(event->kind);
    const char *what = event->issue_id != NULL ? event->issue_id : event->milestone;
    if (rule == ISSUE_RULE_WRITER)
        return err_set(ctx->err, RC_DENIED, code,
                       "%s is written by %s: use a token that was made with --writes", name,
                       issue_writers_text(issue_kind_writers(event->kind), writers));
    return err_set(ctx->err, RC_CONFLICT, code, "%s of %.200s is refused (it is %s): %s", name,
                   what != NULL ? what : "", issue_stage_name(life->stage), issue_rule_text(rule));
}

/* ---- the log ---- */

/* In whose name it is written. */
static struct actor actor_of(const struct context *ctx, const struct issue_writing *writing)
{
    if (writing->client != NULL || writing->writer == WRITER_CTO)
        return ctx->actor;
    if (writing->writer == WRITER_DEV_AGENT && writing->event.agent_id != NULL)
        return (struct actor){"agent", writing->event.agent_id};
    return (struct actor){"system", issue_writer_name(writing->writer)};
}

static struct event log_event(struct context *ctx, const struct issue_writing *writing)
{
    const struct cloud_event *client = writing->client;
    const struct issue_event *event = &writing->event;
    struct event logged = {
        .type = issue_kind_type(event->kind),
        .time_us = event->time_us,
        .causation_id = writing->cause,
        .data = issue_event_data(event, writing->given, ctx->arena),
    };
    logged.subject = event->kind == ISSUE_EV_MILESTONE_COMPLETE
                         ? arena_printf(ctx->arena, "milestone/%s", event->milestone)
                         : arena_printf(ctx->arena, "issue/%s", event->issue_id);
    if (client != NULL) {
        logged.traceparent = client->traceparent;
        logged.source = client->source;
        logged.source_id = client->id;
        logged.attributes = client->attributes;
    }
    return logged;
}

static enum rc append_logged(struct context *ctx, const struct issue_writing *writing,
                             struct event *logged, bool *ret_new)
{
    struct actor actor = ctx->actor;
    ctx->actor = actor_of(ctx, writing);
    *ret_new = true;
    enum rc rc = writing->client != NULL ? context_append_once(ctx, logged, ret_new)
                                         : context_append(ctx, logged, NULL);
    ctx->actor = actor;
    return rc;
}

/* ---- clocks ---- */

static enum rc set_clocks(struct context *ctx, const struct issue_row *row,
                          const struct issue_life *before)
{
    enum rc rc = RC_OK;
    for (int i = 0; rc == RC_OK && i < ISSUE_CLOCK_COUNT; i++) {
        int64_t due_us = issue_clock_due(&row->life, (enum issue_clock)i, 0);
        if (due_us == issue_clock_due(before, (enum issue_clock)i, 0))
            continue;
        const struct timer_row timer = {timer_kinds[i], row->id, due_us};
        rc = due_us > 0 ? timers_set(ctx->db, &timer, ctx->err)
                        : timers_clear(ctx->db, timer_kinds[i], &row->id, ctx->err);
        if (due_us > 0)
            context_due(ctx, due_us);
    }
    return rc;
}

/* ---- heartbeats ---- */

static enum rc append_beat(struct context *ctx, const struct issue_event *event,
                           struct issue_row *ret_row)
{
    const struct issue_ref ref = {ctx->workspace_id, event->issue_id};
    struct issue_row row = {0};
    enum rc rc = issue_states_peek(ctx->db, &ref, ctx->arena, &row, ctx->err);
    if (rc == RC_NOT_FOUND)
        return issue_refuse(ctx, ISSUE_RULE_NOT_APPROVED, event, &row.life);
    if (rc != RC_OK)
        return rc;
    if (!text_same(event->agent_id, row.life.life.assigned_to))
        return issue_refuse(ctx, ISSUE_RULE_ASSIGNED_AGENT, event, &row.life);
    if (!issue_has_agent(row.life.stage))
        return issue_refuse(ctx, ISSUE_RULE_NOT_IN_STATE, event, &row.life);
    *ret_row = row;
    return issue_beats_put(ctx->db, &(struct issue_beat){row.id, event->agent_id, ctx->now_us},
                           ctx->err);
}

enum rc issues_prune(struct context *ctx, bool *ret_more)
{
    const struct issue_beat_prune prune = {ctx->now_us - US_PER_DAY, BEATS_PRUNED};
    int64_t count = 0;
    enum rc rc = issue_beats_prune(ctx->db, &prune, &count, ctx->err);
    *ret_more |= count == BEATS_PRUNED;
    return rc;
}

/* ---- milestones ---- */

static enum rc enter_milestone(struct context *ctx, const char *name,
                               struct milestone_row *ret_milestone)
{
    const struct milestone_row row = {
        .workspace_id = ctx->workspace_id, .name = name, .id = context_id(ctx)};
    return milestones_enter(ctx->db, &row, ctx->arena, ret_milestone, ctx->err);
}

/* Another issue of it is approved: it is open again. */
static enum rc open_milestone(struct context *ctx, const char *name)
{
    struct milestone_row milestone;
    enum rc rc = enter_milestone(ctx, name, &milestone);
    if (rc != RC_OK || milestone.completed_us == 0)
        return rc;
    milestone.completed_us = 0;
    return milestones_save(ctx->db, &milestone, ctx->err);
}

static enum rc append_milestone(struct context *ctx, const struct issue_writing *writing,
                                bool *ret_new)
{
    const struct issue_life none = {0};
    struct milestone_row milestone;
    struct milestone_counts counts;
    enum rc rc = enter_milestone(ctx, writing->event.milestone, &milestone);
    if (rc == RC_OK)
        rc = milestones_count(ctx->db, &milestone, &counts, ctx->err);
    if (rc != RC_OK)
        return rc;
    if (milestone.completed_us > 0)
        return issue_refuse(ctx, ISSUE_RULE_MILESTONE_ONCE, &writing->event, &none);
    if (counts.issues == 0 || counts.done < counts.issues)
        return issue_refuse(ctx, ISSUE_RULE_MILESTONE_OPEN, &writing->event, &none);
    struct event logged = log_event(ctx, writing);
    logged.correlation_id = milestone.id;
    rc = append_logged(ctx, writing, &logged, ret_new);
    if (rc != RC_OK || !*ret_new)
        return rc;
    milestone.completed_us = ctx->now_us;
    return milestones_save(ctx->db, &milestone, ctx->err);
}

/* ---- issues ---- */

/* The row, or that of an issue that is new. */
static enum rc load(struct context *ctx, const struct issue_event *event, struct issue_row *row)
{
    const struct issue_ref ref = {ctx->workspace_id, event->issue_id};
    enum rc rc = issue_states_find(ctx->db, &ref, ctx->arena, row, ctx->err);
    if (rc != RC_NOT_FOUND)
        return rc;
    err_clear(ctx->err);
    *row = (struct issue_row){
        .workspace_id = ctx->workspace_id, .issue_id = event->issue_id, .created_us = ctx->now_us};
    return RC_OK;
}

/* What the writer may leave out. */
static void fill_in(struct issue_event *event, const struct issue_life *life)
{
    if (event->agent_id == NULL && issue_kind_is_of_agent(event->kind))
        event->agent_id = life->life.assigned_to;
    if (event->kind == ISSUE_EV_UNASSIGNED || event->kind == ISSUE_EV_STUCK)
        event->branch = life->branch;
}

static enum rc step(struct context *ctx, const struct issue_event *event, struct issue_row *row)
{
    struct issue_facts facts = {0};
    enum issue_rule rule;
    enum rc rc = RC_OK;
    if (event->kind == ISSUE_EV_ASSIGNED && row->life.stage == STAGE_WAITING)
        rc = issue_states_blocked(ctx->db, &row->id, &facts.open_dependencies, ctx->err);
    if (rc != RC_OK)
        return rc;
    struct issue_life next;
    if (issue_step(&row->life, event, &facts, ctx->arena, &next, &rule) != RC_OK)
        return issue_refuse(ctx, rule, event, &row->life);
    row->life = next;
    return RC_OK;
}

/* What the agent came to. */
static enum rc note_result(struct context *ctx, const struct issue_event *event,
                           const struct issue_life *life)
{
    struct agent_result more = {.agent = life->life.assigned_to};
    if (more.agent == NULL || (event->kind != ISSUE_EV_DONE && event->kind != ISSUE_EV_STUCK))
        return RC_OK;
    more.stuck = event->kind == ISSUE_EV_STUCK;
    more.done = event->kind == ISSUE_EV_DONE;
    more.work_us = more.done > 0 ? lifecycle_work_us(&life->life) : 0;
    return agent_results_add(ctx->db, &more, ctx->err);
}

static enum rc save(struct context *ctx, const struct issue_event *event, struct issue_row *row,
                    const struct issue_life *before)
{
    bool is_new = before->stage == STAGE_NEW;
    row->updated_us = ctx->now_us;
    enum rc rc = is_new ? issue_states_insert(ctx->db, row, ctx->err)
                        : issue_states_save(ctx->db, row, ctx->err);
    if (rc == RC_OK && !is_new && event->depends_on.len > 0)
        rc = issue_states_save_needs(ctx->db, row, ctx->err);
    if (rc == RC_OK && event->kind == ISSUE_EV_APPROVED && row->life.milestone != NULL)
        rc = open_milestone(ctx, row->life.milestone);
    if (rc == RC_OK)
        rc = note_result(ctx, event, &row->life);
    return rc == RC_OK ? set_clocks(ctx, row, before) : rc;
}

static enum rc append_step(struct context *ctx, struct issue_writing *writing,
                           struct issue_row *ret_row, bool *ret_new)
{
    struct issue_row row;
    enum rc rc = load(ctx, &writing->event, &row);
    if (rc != RC_OK)
        return rc;
    const struct issue_life before = row.life;
    fill_in(&writing->event, &before);
    rc = step(ctx, &writing->event, &row);
    if (rc != RC_OK)
        return rc;
    if (id_is_none(&writing->cause))
        writing->cause = row.last_event_id;
    struct event logged = log_event(ctx, writing);
    if (id_is_none(&row.id))
        row.id = context_id(ctx);
    logged.correlation_id = row.id;
    rc = append_logged(ctx, writing, &logged, ret_new);
    if (rc != RC_OK || !*ret_new)
        return rc;
    row.last_event_id = logged.id;
    *ret_row = row;
    return save(ctx, &writing->event, ret_row, &before);
}

enum rc issue_append(struct context *ctx, const struct issue_writing *given,
                     struct issue_row *ret_row, bool *ret_new)
{
    struct issue_writing writing = *given;
    struct issue_row row = {0};
    enum issue_kind kind = writing.event.kind;
    writing.event.time_us = ctx->now_us;
    *ret_new = true;
    if (!(issue_kind_writers(kind) & WRITERS(writing.writer)))
        return issue_refuse(ctx, ISSUE_RULE_WRITER, &writing.event, &row.life);
    enum rc rc;
    if (kind == ISSUE_EV_HEARTBEAT)
        rc = append_beat(ctx, &writing.event, &row);
    else if (kind == ISSUE_EV_MILESTONE_COMPLETE)
        rc = append_milestone(ctx, &writing, ret_new);
    else
        rc = append_step(ctx, &writing, &row, ret_new);
    if (rc == RC_OK && ret_row != NULL)
        *ret_row = row;
    return rc;
}

/* ---- clients ---- */

/* A dev agent writes in its own name. */
static enum rc check_agent(struct context *ctx, const struct issue_writing *writing,
                           const struct issue_claim *claim)
{
    const struct issue_event *event = &writing->event;
    if (writing->writer != WRITER_DEV_AGENT && writing->writer != WRITER_REVIEW_AGENT)
        return RC_OK;
    if (event->agent_id == NULL)
        return err_field(ctx->err, RC_INVALID, "MISSING_FIELD", "data.agentId",
                         "data.agentId is required: the agent that writes the event");
    if (claim->agent != NULL && !text_same(claim->agent, event->agent_id))
        return err_set(ctx->err, RC_DENIED, "AGENT_NOT_ALLOWED",
                       "this token writes for the agent %s only", claim->agent);
    return RC_OK;
}

enum rc issue_event_of_client(struct context *ctx, const struct cloud_event *given,
                              const struct issue_claim *claim, bool *ret_new)
{
    struct issue_writing writing = {.given = given->value, .client = given};
    enum issue_kind kind;
    if (!issue_kind_of_type(given->type, &kind))
        return err_field(ctx->err, RC_INVALID, "INVALID_FIELD", "type",
                         "%s is not the type of an event of issues", given->type);
    enum rc rc = issue_event_decode(kind, given->value, ctx->arena, &writing.event, ctx->err);
    if (rc != RC_OK)
        return rc;
    if (!issue_writer_choose(kind, claim->writers, &writing.writer))
        return issue_refuse(ctx, ISSUE_RULE_WRITER, &writing.event, &(struct issue_life){0});
    if (claim->agent != NULL && writing.event.agent_id == NULL && issue_kind_is_of_agent(kind))
        writing.event.agent_id = claim->agent;
    rc = check_agent(ctx, &writing, claim);
    return rc == RC_OK ? issue_append(ctx, &writing, NULL, ret_new) : rc;
}
