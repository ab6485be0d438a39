#include "control/admit/batch_flow.h"
#include "base/js.h"
#include "base/merge_patch.h"
#include "control/admit/acceptance.h"
#include "control/admit/submission.h"
#include "control/commit/isolate.h"
#include "control/run/run_batch.h"
#include "control/run/stop.h"
#include "core/event_types.h"
#include "store/timers.h"

enum { STARTS_MAX = 50 }; /* Tasks that one turn makes; the next one follows at once. */
/* Members that could not be cancelled are tried again after this time. */
#define AGAIN_US US_PER_MINUTE

/* A batch with its members. */
struct batch_flow {
    struct context *ctx;
    struct batch_row *row;
    struct batch batch;
    struct batch_member_view *views; /* As stored; in the order of batch.members. */
    int64_t starts;
    int64_t net_us; /* The next turn, if nothing happens. */
};

/* ---- events ---- */

enum rc batch_emit(struct context *ctx, struct batch_row *row, const char *type,
                   struct event_body *body)
{
    struct event event = {
        .type = type,
        .subject = arena_printf(ctx->arena, "batch/%s", row->id.text),
        .correlation_id = row->id,
        .causation_id = row->last_event_id,
        .data = event_body_close(body),
    };
    return context_append(ctx, &event, &row->last_event_id);
}

void batch_write_counts(struct jw *jw, const struct batch_counts *counts, int64_t cost_microusd)
{
    jw_key(jw, "counts");
    jw_begin(jw, '{');
    jw_kint(jw, "total", counts->total);
    for (int i = 0; i < PHASE_COUNT; i++)
        jw_kint(jw, member_phase_name((enum member_phase)i), counts->of[i]);
    jw_end(jw, '}');
    jw_kreal(jw, "costUsd", (double)cost_microusd / 1e6);
}

static enum rc emit_moved(struct batch_flow *flow, const char *type)
{
    struct batch_row *row = flow->row;
    struct batch_counts counts = batch_count(&flow->batch);
    CLEANUP(event_body_release) struct event_body body;
    event_body_open(&body);
    jw_kstr(&body.jw, "batchId", row->id.text);
    jw_kstr(&body.jw, "name", row->name);
    jw_kstr(&body.jw, "status", batch_status_name(row->status));
    jw_optstr(&body.jw, "reasonCode", row->reason_code);
    jw_optstr(&body.jw, "reason", row->reason);
    jw_optstr(&body.jw, "requestedBy", row->stopped_by);
    batch_write_counts(&body.jw, &counts, flow->batch.cost_microusd);
    return batch_emit(flow->ctx, row, type, &body);
}

/* ---- loading ---- */

static enum rc read_depends(struct batch_flow *flow, size_t at)
{
    struct context *ctx = flow->ctx;
    struct str json = flow->views[at].row.depends_on;
    CLEANUP(js_freep) struct js *numbers = NULL;
    if (json.len == 0)
        return RC_OK;
    enum rc rc = js_parse(json.at, json.len, &numbers, ctx->err);
    size_t count = js_count(numbers);
    size_t *places = arena_array(ctx->arena, count > 0 ? count : 1, sizeof *places);
    for (size_t i = 0; rc == RC_OK && i < count; i++) {
        int64_t no = js_int(js_at(numbers, i), 0);
        /* Numbers go from 1 without a gap, and the views are in their order. */
        if (no < 1 || no > (int64_t)flow->batch.count)
            rc = RC_CORRUPT;
        places[i] = (size_t)no - 1;
    }
    flow->batch.members[at].depends_on = places;
    flow->batch.members[at].depends_count = count;
    if (rc != RC_OK)
        return err_set(ctx->err, RC_CORRUPT, "CORRUPT", "the dependencies of member %s of batch %s",
                       flow->views[at].row.key, flow->row->id.text);
    return RC_OK;
}

static enum rc load(struct batch_flow *flow)
{
    struct context *ctx = flow->ctx;
    const struct batch_row *row = flow->row;
    struct batch *batch = &flow->batch;
    *batch = (struct batch){.status = row->status,
                            .limits = {row->max_active, row->budget_microusd, row->stop_failures,
                                       row->stop_percent, row->stop_after}};
    enum rc rc = batch_members_all(ctx->db, &row->id, ctx->arena, &flow->views, &batch->count,
                                   ctx->err);
    if (rc == RC_OK)
        rc = batches_cost(ctx->db, &row->id, &batch->cost_microusd, ctx->err);
    if (rc != RC_OK)
        return rc;
    batch->members = arena_array(ctx->arena, batch->count, sizeof *batch->members);
    for (size_t i = 0; rc == RC_OK && i < batch->count; i++) {
        batch->members[i].state = flow->views[i].row.state;
        batch->members[i].task = flow->views[i].status;
        rc = read_depends(flow, i);
    }
    return rc;
}

/* ---- members ---- */

static enum rc save_member(struct batch_flow *flow, size_t at, const char *code,
                           const char *message)
{
    struct batch_member_row *row = &flow->views[at].row;
    row->state = flow->batch.members[at].state;
    row->error_code = code;
    row->error_message = message;
    row->updated_us = flow->ctx->now_us;
    return batch_members_save(flow->ctx->db, row, flow->ctx->err);
}

static const char *describe_broken(struct batch_flow *flow, size_t at)
{
    const struct batch_member_view *view = &flow->views[at];
    const struct batch_member *member = &flow->batch.members[at];
    const char *code = member->state == MEMBER_SUBMITTED ? view->task_error_code
                                                         : view->row.error_code;
    enum member_phase phase = member_phase(member->state, member->task);
    return arena_printf(flow->ctx->arena, "%s, on which it depends, %s%s%s%s", view->row.key,
                        phase == PHASE_FAILED      ? "has failed"
                        : phase == PHASE_CANCELLED ? "was cancelled"
                                                   : "was skipped",
                        code != NULL ? " (" : "", code != NULL ? code : "",
                        code != NULL ? ")" : "");
}

/* Writes those whose state core has changed. */
static enum rc save_settled(struct batch_flow *flow)
{
    const struct batch_row *row = flow->row;
    bool cancelled = row->status == BATCH_CANCELLING || row->status == BATCH_CANCELLED;
    enum rc rc = RC_OK;
    for (size_t i = 0; rc == RC_OK && i < flow->batch.count; i++) {
        const struct batch_member *member = &flow->batch.members[i];
        if (member->state == flow->views[i].row.state)
            continue;
        if (member->state == MEMBER_SKIPPED)
            rc = save_member(flow, i, "dependency_failed", describe_broken(flow, member->broken));
        else if (member->state == MEMBER_DROPPED)
            rc = save_member(flow, i, cancelled ? "batch_cancelled" : "batch_stopped", row->reason);
        else
            rc = save_member(flow, i, NULL, NULL);
    }
    return rc;
}

/* Refused on its merits, rather than for a fault of the store. */
static bool is_refusal(enum rc rc)
{
    return rc == RC_INVALID || rc == RC_DENIED || rc == RC_CONFLICT || rc == RC_TOO_LARGE ||
           rc == RC_LIMIT || rc == RC_NOT_FOUND;
}

/* What the members have in common, with the member's own over it. */
static enum rc read_member(struct batch_flow *flow, const struct id *member_id,
                           struct js **ret_tree, struct submission *want)
{
    struct context *ctx = flow->ctx;
    struct batch_member_row member;
    struct faults faults = {0};
    struct str document = flow->row->task;
    CLEANUP(js_freep) struct js *own = NULL;
    const struct submission_reading how = {.arena = ctx->arena, .path = "task", .of_batch = true};
    enum rc rc = batch_members_get(ctx->db, member_id, ctx->arena, &member, ctx->err);
    if (rc == RC_OK && member.task.len > 0)
        rc = js_parse(member.task.at, member.task.len, &own, ctx->err);
    if (rc == RC_OK && own != NULL)
        rc = merge_patch(document, own, ctx->arena, &document, ctx->err);
    if (rc == RC_OK)
        rc = js_parse(document.at, document.len, ret_tree, ctx->err);
    if (rc == RC_OK)
        rc = submission_read(*ret_tree, &how, want, &faults, ctx->err);
    if (rc == RC_OK && want->description == NULL && want->issue_number == 0)
        rc = err_field(ctx->err, RC_INVALID, "MISSING_FIELD", "description",
                       "give a description, an issueNumber, or both");
    want->repository = member.repository;
    return rc;
}

struct starting {
    struct batch_flow *flow;
    size_t at;
};

static enum rc try_start(struct context *ctx, void *subject, const struct failure *why)
{
    (void)why;
    const struct starting *starting = subject;
    struct batch_flow *flow = starting->flow;
    struct batch_member *member = &flow->batch.members[starting->at];
    struct batch_member_row *row = &flow->views[starting->at].row;
    CLEANUP(js_freep) struct js *tree = NULL;
    struct submission want = submission_new();
    struct submitted answer = {0};
    enum rc rc = read_member(flow, &row->id, &tree, &want);
    want.batch_id = flow->row->id;
    want.requested_by = flow->row->requested_by;
    if (rc == RC_OK)
        rc = submit_task(ctx, &want, &answer);
    if (rc != RC_OK && !is_refusal(rc))
        return rc;
    bool refused = rc != RC_OK || answer.refused != RC_OK;
    const char *code = refused ? arena_strdup(ctx->arena, ctx->err->code) : NULL;
    const char *text = refused ? arena_strdup(ctx->arena, ctx->err->text) : NULL;
    err_clear(ctx->err);
    member->state = refused ? MEMBER_REFUSED : MEMBER_SUBMITTED;
    member->task = TASK_SUBMITTED;
    row->task_id = answer.task_id;
    return save_member(flow, starting->at, code, text);
}

/* Its rows or those of its repository are damaged: the others go on without it. */
static enum rc refuse_start(struct context *ctx, void *subject, const struct failure *why)
{
    const struct starting *starting = subject;
    struct batch_flow *flow = starting->flow;
    flow->batch.members[starting->at].state = MEMBER_REFUSED;
    flow->views[starting->at].row.task_id = (struct id){0};
    return save_member(flow, starting->at, "control_error", failure_text(ctx, why));
}

/* ---- one turn ---- */

static enum rc settle(struct batch_flow *flow)
{
    struct context *ctx = flow->ctx;
    struct batch_row *row = flow->row;
    enum batch_stop stop;
    batch_settle(&flow->batch, &stop);
    enum rc rc = RC_OK;
    if (stop != BATCH_STOP_NONE) {
        struct batch_counts counts = batch_count(&flow->batch);
        row->status = BATCH_STOPPING;
        row->reason_code = batch_stop_code(stop);
        row->reason = batch_explain(stop, &flow->batch.limits, &counts, flow->batch.cost_microusd,
                                    ctx->arena);
        row->held = row->stopped_by = NULL;
        rc = emit_moved(flow, EV_BATCH_STOPPING);
    }
    if (rc == RC_OK && stop != BATCH_STOP_NONE && (row->stop_cancels || stop == BATCH_STOP_BUDGET))
        rc = timer_start(ctx, TIMER_BATCH_STOP, &row->id, ctx->now_us);
    return rc == RC_OK ? save_settled(flow) : rc;
}

/* A rate or the budget of the day is used up: members wait for that, as queued runs do. */
static enum rc find_hold(struct batch_flow *flow, bool *ret_held)
{
    struct context *ctx = flow->ctx;
    struct acceptance_wait wait;
    enum rc rc = acceptance_wait(ctx, flow->row->requested_by, &wait);
    if (rc != RC_OK)
        return rc;
    *ret_held = wait.reason != NULL;
    flow->row->held = wait.reason;
    if (wait.reason == NULL)
        return RC_OK;
    /* A limit may be raised meanwhile: it is not slept through. */
    if (wait.retry_us > 0 && wait.retry_us < flow->net_us)
        flow->net_us = wait.retry_us;
    return RC_OK;
}

/* Makes tasks of members, in order, until none may start. */
static enum rc start_members(struct batch_flow *flow)
{
    static isolate_try *const tries[] = {try_start, refuse_start, NULL};
    struct context *ctx = flow->ctx;
    struct batch *batch = &flow->batch;
    enum rc rc = settle(flow);
    flow->row->held = NULL;
    while (rc == RC_OK) {
        struct starting starting = {flow, batch_next(batch)};
        bool held = false;
        if (starting.at == batch->count)
            return RC_OK;
        if (flow->starts++ == STARTS_MAX) /* Not the time that fired: that is done with. */
            return timer_start(ctx, TIMER_BATCH, &flow->row->id, ctx->now_us + 1);
        rc = find_hold(flow, &held);
        if (rc != RC_OK || held)
            return rc;
        const struct isolated one = {"member of a batch", flow->views[starting.at].row.id.text,
                                     &starting, tries};
        rc = isolate(ctx, &one);
        if (rc == RC_OK)
            rc = settle(flow);
    }
    return rc;
}

/* Not one event for each member: those of its tasks say the same, and a thousand would hide what
   matters here.  So there are at most as many as tenths, however many members there are. */
static enum rc tell_progress(struct batch_flow *flow)
{
    struct batch_counts counts = batch_count(&flow->batch);
    int64_t tenths = batch_tenths(&counts);
    if (tenths <= flow->row->told)
        return RC_OK;
    flow->row->told = tenths;
    return emit_moved(flow, EV_BATCH_PROGRESSED);
}

static enum rc end(struct batch_flow *flow)
{
    static const char *const events[BATCH_STATUS_COUNT] = {
        [BATCH_COMPLETED] = EV_BATCH_COMPLETED,
        [BATCH_STOPPED] = EV_BATCH_STOPPED,
        [BATCH_CANCELLED] = EV_BATCH_CANCELLED,
    };
    struct context *ctx = flow->ctx;
    struct batch_row *row = flow->row;
    row->ended_us = ctx->now_us;
    row->told = BATCH_TENTHS;
    row->held = NULL;
    enum rc rc = timers_clear_subject(ctx->db, &row->id, ctx->err);
    return rc == RC_OK ? emit_moved(flow, events[row->status]) : rc;
}

enum rc batch_advance(struct context *ctx, struct batch_row *row, const struct batch_row *stored)
{
    struct batch_flow flow = {.ctx = ctx, .row = row, .net_us = ctx->now_us + BATCH_NET_US};
    enum rc rc = load(&flow);
    if (rc == RC_OK)
        rc = start_members(&flow);
    if (rc == RC_OK)
        rc = timer_start(ctx, TIMER_BATCH_NET, &row->id, flow.net_us);
    if (rc != RC_OK)
        return rc;
    row->status = flow.batch.status;
    rc = batch_has_ended(row->status) ? end(&flow) : tell_progress(&flow);
    if (rc != RC_OK || !batches_changed(row, stored))
        return rc;
    row->updated_us = ctx->now_us;
    return batches_save(ctx->db, row, ctx->err);
}

enum rc batch_due(struct context *ctx, const struct id *batch_id)
{
    struct batch_row row;
    enum rc rc = batches_get(ctx->db, batch_id, ctx->arena, &row, ctx->err);
    if (rc != RC_OK || batch_has_ended(row.status))
        return rc;
    const struct batch_row stored = row;
    return batch_advance(ctx, &row, &stored);
}

/* ---- cancelling what is under way ---- */

struct sweep {
    const struct batch_row *row;
    const struct id *task_id; /* At hand. */
    bool failed;              /* Some could not be stopped. */
};

static enum rc stop_one(struct context *ctx, void *subject, const struct failure *why)
{
    (void)why;
    const struct sweep *sweep = subject;
    const struct batch_row *row = sweep->row;
    CLEANUP(flow_release) struct flow flow = {0};
    bool stopping, budget = text_same(row->reason_code, RUN_BATCH_CODE);
    enum rc rc = flow_load_latest(ctx, sweep->task_id, &flow);
    if (rc != RC_OK || run_is_terminal(flow.run.status))
        return rc;
    const struct stop_request request = {
        .kind = budget ? RUN_STOP_BUDGET : RUN_STOP_CANCEL,
        .by = budget                    ? RUN_BATCH_LIMIT
              : row->stopped_by != NULL ? row->stopped_by
                                        : "drover",
        .reason = arena_printf(ctx->arena, "its batch %s %s%s%s", row->name,
                               row->status == BATCH_CANCELLING ? "was cancelled" : "was stopped",
                               row->reason != NULL ? ": " : "",
                               row->reason != NULL ? row->reason : ""),
    };
    return stop_run(ctx, &flow, &request, &stopping);
}

static enum rc stop_later(struct context *ctx, void *subject, const struct failure *why)
{
    (void)ctx;
    (void)why;
    ((struct sweep *)subject)->failed = true;
    return RC_OK;
}

/* The end of a run sets a timer of the batch.  So all locks of runs come before the first of these:
   a lane that ends a member has them in the same order. */
static enum rc lock_runs(struct context *ctx, const struct id *task_ids, size_t count)
{
    enum rc rc = RC_OK;
    for (size_t i = 0; rc == RC_OK && db_is_shared(ctx->db) && i < count; i++) {
        struct task_runs runs;
        struct run_row run;
        rc = tasks_runs(ctx->db, &task_ids[i], &runs, ctx->err);
        if (rc == RC_OK)
            rc = runs_get(ctx->db, &runs.latest_run_id, ctx->arena, &run, ctx->err);
    }
    return rc;
}

enum rc batch_stop_due(struct context *ctx, const struct id *batch_id)
{
    static isolate_try *const tries[] = {stop_one, stop_later, NULL};
    struct batch_row row;
    struct sweep sweep = {.row = &row};
    struct id *ids;
    size_t count;
    enum rc rc = batches_peek(ctx->db, batch_id, ctx->arena, &row, ctx->err);
    if (rc != RC_OK || batch_goes_on(row.status) || batch_has_ended(row.status))
        return rc;
    rc = batch_members_unfinished(ctx->db, batch_id, ctx->arena, &ids, &count, ctx->err);
    if (rc == RC_OK && !ctx->careful)
        rc = lock_runs(ctx, ids, count);
    for (size_t i = 0; rc == RC_OK && i < count; i++) {
        sweep.task_id = &ids[i];
        const struct isolated one = {"task", ids[i].text, &sweep, tries};
        rc = isolate(ctx, &one);
    }
    if (rc != RC_OK || !sweep.failed)
        return rc;
    return timer_start(ctx, TIMER_BATCH_STOP, batch_id, ctx->now_us + AGAIN_US);
}

/* ---- joining ---- */

enum rc batch_join_check(struct context *ctx, const struct id *batch_id,
                         struct batch_joining *ret_joining)
{
    struct batch_row *row = &ret_joining->row;
    int64_t last = 0;
    enum rc rc = batches_get(ctx->db, batch_id, ctx->arena, row, ctx->err);
    if (rc == RC_NOT_FOUND)
        return err_field(ctx->err, RC_INVALID, "INVALID_FIELD", "batch", "there is no batch %s",
                         batch_id->text);
    if (rc == RC_OK && !batch_goes_on(row->status))
        return err_field(ctx->err, RC_CONFLICT, "BATCH_FINISHED", "batch",
                         "batch %s is %s and takes no more tasks; submit the task on its own",
                         batch_id->text, batch_status_name(row->status));
    if (rc == RC_OK)
        rc = batch_members_last_no(ctx->db, batch_id, &last, ctx->err);
    if (rc == RC_OK && last >= BATCH_MEMBERS_MAX)
        return err_field(ctx->err, RC_LIMIT, "BATCH_FULL", "batch",
                         "batch %s has %d members, and no more are possible; make another one",
                         batch_id->text, BATCH_MEMBERS_MAX);
    ret_joining->no = last + 1;
    return rc;
}

enum rc batch_join(struct context *ctx, const struct batch_joining *joining,
                   const struct task_row *task)
{
    const struct batch_member_row row = {
        .id = context_id(ctx),
        .batch_id = joining->row.id,
        .no = joining->no,
        .key = task->id.text, /* No other member can have it. */
        .repository = task->repository,
        .state = MEMBER_SUBMITTED,
        .task_id = task->id,
        .updated_us = ctx->now_us,
    };
    return batch_members_insert(ctx->db, &row, ctx->err);
}
