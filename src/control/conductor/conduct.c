#include "control/conductor/conduct.h"
#include "control/commit/isolate.h"
#include "control/conductor/crew.h"
#include "control/conductor/issue_tasks.h"
#include "core/conductor/react.h"
#include "store/consumers.h"
#include "store/repositories.h"

enum {
    READY_PAGE = 100,
    READY_PAGES = 10, /* Of one persona: so many are looked at in a turn. */
    SWEEP_PAGE = 500,
};

struct turn {
    struct context *ctx;
    struct cmd_conduct *cmd;
    bool assigns;     /* An issue may be waiting for an agent. */
    struct crew crew; /* Loaded when issues wait. */
};

/* A rule that forbids it is no error: the issue has moved since. */
static enum rc write_event(struct turn *turn, const struct issue_writing *writing,
                           struct issue_row *row)
{
    struct context *ctx = turn->ctx;
    bool is_new;
    enum rc rc = issue_append(ctx, writing, row, &is_new);
    if (rc == RC_CONFLICT && text_starts(ctx->err->code, "issue.")) {
        err_clear(ctx->err);
        return RC_OK;
    }
    turn->cmd->written += rc == RC_OK;
    return rc;
}

static enum rc write_kind(struct turn *turn, struct issue_row *row, enum issue_kind kind,
                          const char *reason)
{
    const struct issue_writing writing = {
        .event = {.kind = kind, .issue_id = row->issue_id, .reason = reason},
        .writer = WRITER_CONDUCTOR,
    };
    return write_event(turn, &writing, row);
}

/* Refused for good?  A limit passes by itself. */
static bool is_refusal(enum rc rc)
{
    return rc == RC_CONFLICT || rc == RC_DENIED || rc == RC_NOT_FOUND || rc == RC_INVALID ||
           rc == RC_TOO_LARGE;
}

static enum rc escalate_refused(struct turn *turn, struct issue_row *row)
{
    struct context *ctx = turn->ctx;
    const char *why = arena_printf(ctx->arena, "no task can be submitted: %.400s", ctx->err->text);
    err_clear(ctx->err);
    return write_kind(turn, row, ISSUE_EV_ESCALATED, why);
}

/* ---- reactions ---- */

static enum rc start_fix(struct turn *turn, struct issue_row *row)
{
    struct context *ctx = turn->ctx;
    const struct conductor_agent any = {.name = row->life.life.assigned_to};
    const struct conductor_agent *agent = crew_find(turn->cmd->config, any.name);
    struct issue_writing writing = {
        .event = {.kind = ISSUE_EV_WORK_STARTED, .issue_id = row->issue_id},
        .writer = WRITER_DEV_AGENT,
    };
    enum rc rc = issue_submit(ctx, row, agent != NULL ? agent : &any, &writing.event.task_id);
    if (is_refusal(rc))
        return escalate_refused(turn, row);
    return rc == RC_OK ? write_event(turn, &writing, row) : rc;
}

static enum rc react_once(struct turn *turn, struct issue_row *row, const struct reaction *reaction)
{
    enum rc rc = RC_OK;
    switch (reaction->kind) {
    case REACT_WRITE:
        if (reaction->event == ISSUE_EV_UNASSIGNED)
            rc = issue_cancel_task(turn->ctx, row, reaction->reason);
        return rc == RC_OK ? write_kind(turn, row, reaction->event, reaction->reason) : rc;
    case REACT_FIX:
        return start_fix(turn, row);
    case REACT_ASSIGN:
        turn->assigns = true;
        break;
    case REACT_NOTHING:
        break;
    }
    return RC_OK;
}

/* The last of a milestone is done. */
static enum rc end_milestone(struct turn *turn, struct issue_row *row)
{
    const struct issue_writing writing = {
        .event = {.kind = ISSUE_EV_MILESTONE_COMPLETE, .milestone = row->life.milestone},
        .writer = WRITER_CONDUCTOR,
    };
    turn->assigns = true; /* Others may have waited for this one, and its agent is free. */
    if (row->life.milestone == NULL)
        return RC_OK;
    struct issue_row unused = {0};
    return write_event(turn, &writing, &unused);
}

static enum rc react(struct turn *turn, const struct id *issue)
{
    struct context *ctx = turn->ctx;
    struct issue_row row;
    enum rc rc = issue_states_get(ctx->db, issue, ctx->arena, &row, ctx->err);
    if (rc == RC_NOT_FOUND) { /* An event of a milestone. */
        err_clear(ctx->err);
        return RC_OK;
    }
    if (rc == RC_OK && row.life.stage == STAGE_DONE)
        return end_milestone(turn, &row);
    for (int i = 0; rc == RC_OK && i < REACTIONS_MAX; i++) {
        const struct reaction reaction = issue_react(&row.life);
        if (reaction.kind == REACT_NOTHING)
            break;
        rc = react_once(turn, &row, &reaction);
        if (reaction.kind != REACT_WRITE)
            break;
    }
    return rc;
}

struct notice_subject {
    struct turn *turn;
    const struct conduct_notice *notice;
};

static enum rc try_notice(struct context *ctx, void *subject, const struct failure *why)
{
    const struct notice_subject *one = subject;
    const struct conduct_notice *notice = one->notice;
    (void)why;
    if (!id_is_none(&notice->issue))
        return react(one->turn, &notice->issue);
    return issue_run_event(ctx, &(struct issue_run_event){.task_id = notice->task_id,
                                                          .event_id = notice->event_id,
                                                          .type = notice->type,
                                                          .data = notice->data});
}

/* One that cannot be handled does not hold up the others: isolate() has logged it. */
static enum rc leave(struct context *ctx, void *subject, const struct failure *why)
{
    (void)ctx;
    (void)subject;
    (void)why;
    return RC_OK;
}

static enum rc handle(struct turn *turn, const struct conduct_notice *notice)
{
    static isolate_try *const tries[] = {try_notice, leave, NULL};
    struct notice_subject subject = {turn, notice};
    const struct isolated one = {"issue event", notice->event_id.text, &subject, tries};
    return isolate(turn->ctx, &one);
}

/* Issues that may be waiting for the Conductor, whether it has seen their events or not. */
static enum rc sweep(struct turn *turn)
{
    static const enum issue_stage stages[] = {STAGE_STUCK, STAGE_SMOKE_FAILED, STAGE_ESCALATED};
    struct context *ctx = turn->ctx;
    enum rc rc = RC_OK;
    turn->assigns = true;
    for (size_t i = 0; rc == RC_OK && i < COUNT_OF(stages); i++) {
        const struct issue_filter filter = {.stage = (int)stages[i], .limit = SWEEP_PAGE};
        struct issue_row *rows = NULL;
        size_t count = 0;
        rc = issue_states_list(ctx->db, &filter, ctx->arena, &rows, &count, ctx->err);
        for (size_t k = 0; rc == RC_OK && k < count; k++)
            if (issue_react(&rows[k].life).kind != REACT_NOTHING)
                rc = handle(turn, &(struct conduct_notice){.event_id = rows[k].last_event_id,
                                                           .issue = rows[k].id});
    }
    return rc;
}

/* ---- assignments ---- */

static enum rc knows_repository(struct context *ctx, const char *name, bool *ret_known)
{
    struct repository_row repository;
    *ret_known = false;
    if (name == NULL)
        return RC_OK;
    enum rc rc = repositories_by_name(ctx->db, &ctx->workspace_id, name, ctx->arena, &repository,
                                      ctx->err);
    *ret_known = rc == RC_OK;
    if (rc != RC_NOT_FOUND)
        return rc;
    err_clear(ctx->err);
    return RC_OK;
}

static enum rc assign_to(struct turn *turn, struct issue_row *row, struct conductor_agent *agent)
{
    struct context *ctx = turn->ctx;
    struct issue_writing writing = {
        .event = {.kind = ISSUE_EV_ASSIGNED,
                  .issue_id = row->issue_id,
                  .agent_id = agent->name,
                  .persona = agent->persona},
        .writer = WRITER_CONDUCTOR,
    };
    enum rc rc = agent->in_house ? issue_submit(ctx, row, agent, &writing.event.task_id) : RC_OK;
    if (is_refusal(rc))
        return escalate_refused(turn, row);
    if (rc == RC_LIMIT || rc == RC_BUSY) {
        err_clear(ctx->err);
        return RC_OK;
    }
    if (rc == RC_OK)
        rc = write_event(turn, &writing, row);
    if (rc == RC_OK && row->life.stage == STAGE_ASSIGNED) {
        agent->load++;
        turn->crew.at_work++;
        turn->cmd->assigned++;
    }
    return rc;
}

struct issue_subject {
    struct turn *turn;
    struct issue_row *row;
};

static enum rc try_assign(struct context *ctx, void *subject, const struct failure *why)
{
    const struct issue_subject *one = subject;
    struct turn *turn = one->turn;
    struct issue_row row;
    bool known;
    (void)why;
    /* Again, now locked: it was read without that. */
    enum rc rc = issue_states_get(ctx->db, &one->row->id, ctx->arena, &row, ctx->err);
    if (rc != RC_OK || issue_react(&row.life).kind != REACT_ASSIGN)
        return rc;
    rc = knows_repository(ctx, row.life.repository, &known);
    if (rc != RC_OK)
        return rc;
    int chosen = choose_agent(&row.life, known, turn->crew.agents, turn->crew.count);
    if (chosen == CHOOSE_NONE)
        return RC_OK;
    rc = assign_to(turn, &row, &turn->crew.agents[chosen]);
    if (rc == RC_OK)
        *one->row = row;
    return rc;
}

static bool is_full(const struct turn *turn)
{
    int64_t max = turn->cmd->config->at_work_max;
    bool full = max > 0 && turn->crew.at_work >= max;
    for (size_t i = 0; !full && i < turn->crew.count; i++)
        if (turn->crew.agents[i].load < turn->crew.agents[i].capacity)
            return false;
    return true;
}

/* *ret_left: of those that it looked at, how many still wait. */
static enum rc assign_page(struct turn *turn, struct issue_row *rows, size_t count,
                           int64_t *ret_left)
{
    static isolate_try *const tries[] = {try_assign, leave, NULL};
    enum rc rc = RC_OK;
    for (size_t i = 0; rc == RC_OK && i < count && !is_full(turn); i++) {
        struct issue_subject subject = {turn, &rows[i]};
        const struct isolated one = {"issue", rows[i].issue_id, &subject, tries};
        rc = isolate(turn->ctx, &one);
        *ret_left += rows[i].life.stage == STAGE_WAITING;
    }
    return rc;
}

/* Issues of one persona, "": of none. */
static enum rc assign_persona(struct turn *turn, const char *persona)
{
    struct context *ctx = turn->ctx;
    int64_t left = 0;
    size_t count = READY_PAGE;
    enum rc rc = RC_OK;
    for (int page = 0; rc == RC_OK && page < READY_PAGES && count == READY_PAGE; page++) {
        const struct issue_ready_ask ask = {READY_PAGE, left, persona};
        struct issue_row *rows = NULL;
        if (is_full(turn))
            break;
        rc = issue_states_ready(ctx->db, &ask, ctx->arena, &rows, &count, ctx->err);
        if (rc == RC_OK)
            rc = assign_page(turn, rows, count, &left);
    }
    return rc;
}

/* Is this the first agent of its persona? */
static bool is_first(const struct crew *crew, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (text_same(crew->agents[i].persona, crew->agents[at].persona))
            return false;
    return true;
}

/* Persona by persona: those that no agent has do not stand in the way of others. */
static enum rc assign_ready(struct turn *turn)
{
    const struct issue_ready_ask one = {.limit = 1};
    struct context *ctx = turn->ctx;
    struct issue_row *rows = NULL;
    size_t count = 0;
    enum rc rc = issue_states_ready(ctx->db, &one, ctx->arena, &rows, &count, ctx->err);
    if (rc != RC_OK || count == 0)
        return rc;
    rc = crew_load(ctx, turn->cmd->config, &turn->crew);
    for (size_t i = 0; rc == RC_OK && i < turn->crew.count; i++)
        if (turn->crew.agents[i].persona != NULL && is_first(&turn->crew, i))
            rc = assign_persona(turn, turn->crew.agents[i].persona);
    return rc == RC_OK && turn->crew.count > 0 ? assign_persona(turn, "") : rc;
}

/* ---- the command ---- */

static enum rc take_place(struct context *ctx, const struct cmd_conduct *cmd,
                          struct consumer_row *row)
{
    bool made = false;
    enum rc rc = consumers_get(ctx->db, CONDUCTOR_CONSUMER, ctx->arena, row, ctx->err);
    if (rc == RC_NOT_FOUND && cmd->begin) {
        err_clear(ctx->err);
        *row = (struct consumer_row){.name = CONDUCTOR_CONSUMER,
                                     .cursor_seq = cmd->from_seq,
                                     .epoch = ctx->now_us,
                                     .created_us = ctx->now_us,
                                     .updated_us = ctx->now_us};
        rc = consumers_make(ctx->db, row, &made, ctx->err);
        if (rc == RC_OK && made)
            return RC_OK;
    }
    if (rc == RC_NOT_FOUND || (rc == RC_OK && row->cursor_seq != cmd->from_seq))
        return err_set(ctx->err, RC_STALE, "CURSOR_STALE",
                       "another Conductor has moved the place in the log");
    return rc;
}

static enum rc apply_conduct(struct context *ctx, struct command *command)
{
    struct cmd_conduct *cmd = (struct cmd_conduct *)command;
    struct turn turn = {.ctx = ctx, .cmd = cmd};
    struct consumer_row place;
    struct lease_proof proof;
    cmd->written = cmd->assigned = 0;
    enum rc rc = leases_enter(ctx->db, &cmd->turn, &proof, ctx->err);
    if (rc == RC_OK)
        rc = take_place(ctx, cmd, &place);
    for (size_t i = 0; rc == RC_OK && i < cmd->count; i++)
        rc = handle(&turn, &cmd->notices[i]);
    if (rc == RC_OK && cmd->sweep)
        rc = sweep(&turn);
    if (rc == RC_OK && turn.assigns)
        rc = assign_ready(&turn);
    if (rc != RC_OK || place.cursor_seq == cmd->to_seq)
        return rc;
    place.cursor_seq = cmd->to_seq;
    place.acked_us = place.updated_us = ctx->now_us;
    return consumers_save(ctx->db, &place, ctx->err);
}

static const struct command_ops conduct_ops = {.name = "conduct", .apply = apply_conduct};

struct cmd_conduct *cmd_conduct_new(void)
{
    struct cmd_conduct *cmd = command_new(&conduct_ops, sizeof(struct cmd_conduct));
    cmd->base.actor = (struct actor){"system", "conductor"};
    return cmd;
}
