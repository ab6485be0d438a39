#include "control/pr/train_flow.h"
#include "control/commit/event_body.h"
#include "control/pr/train_jobs.h"
#include "control/queue/settle.h"
#include "core/event_types.h"
#include "core/text/prose.h"
#include "store/timers.h"

enum { STALL_MS_FIRST = 10 * 1000, STALL_MS_MAX = 10 * 60 * 1000, DETAIL_SHOWN_MAX = 600 };
/* How long a train waits before it looks whether its jobs are still there. */
#define WATCH_US (2 * US_PER_MINUTE)

/* ---- loading ---- */

static struct train_rules rules_of(const struct known_config *known)
{
    struct train_rules rules = {.batch_max = 1, .ahead_max = 1};
    if (known == NULL) /* It cannot be decoded: one at a time. */
        return rules;
    rules.batch = known->config.train.batch;
    rules.batch_max = (size_t)known->config.train.batch_max;
    rules.ahead_max = (size_t)known->config.train.ahead_max;
    return rules;
}

static void join_line(struct train_flow *flow, size_t tag)
{
    const struct train_car_row *car = &flow->cars[tag];
    flow->line[flow->train.count++] = (struct train_car){
        .seq = (int64_t)tag, /* They are read, and added, by arrival. */
        .urgent = car->urgent,
        .clash = car->clash,
        .state = car->state,
        .tag = tag,
    };
}

static enum rc load_cars(struct context *ctx, struct train_flow *flow)
{
    struct train_car_row *rows = NULL;
    enum rc rc = train_cars_live(ctx->db, &flow->row.id, ctx->arena, &rows, &flow->count, ctx->err);
    if (rc != RC_OK)
        return rc;
    size_t room = flow->count + 1;
    flow->cars = arena_array(ctx->arena, room, sizeof *flow->cars);
    flow->stored = arena_array(ctx->arena, room, sizeof *flow->stored);
    flow->line = arena_array(ctx->arena, room, sizeof *flow->line);
    flow->train = (struct train){.cars = flow->line, .based = flow->row.base_commit != NULL};
    for (size_t i = 0; i < flow->count; i++) {
        flow->cars[i] = flow->stored[i] = rows[i];
        join_line(flow, i);
    }
    train_sort(&flow->train);
    return RC_OK;
}

static enum rc load_rest(struct context *ctx, struct train_flow *flow)
{
    enum rc rc = repositories_get(ctx->db, &flow->row.repository_id, ctx->arena, &flow->repository,
                                  ctx->err);
    if (rc != RC_OK)
        return rc;
    flow->known = effective_now(ctx, &flow->repository);
    flow->rules = rules_of(flow->known);
    return load_cars(ctx, flow);
}

enum rc train_flow_load(struct context *ctx, const struct id *train_id, struct train_flow *ret_flow)
{
    *ret_flow = (struct train_flow){.count = 0};
    enum rc rc = trains_get(ctx->db, train_id, ctx->arena, &ret_flow->row, ctx->err);
    return rc == RC_OK ? load_rest(ctx, ret_flow) : rc;
}

static enum rc make(struct context *ctx, const struct pull_request_row *pr)
{
    const struct train_row row = {
        .id = context_id(ctx),
        .workspace_id = ctx->workspace_id,
        .repository_id = pr->repository_id,
        .target_branch = pr->target_branch,
        .created_us = ctx->now_us,
        .updated_us = ctx->now_us,
    };
    enum rc rc = trains_insert(ctx->db, &row, ctx->err);
    if (rc == RC_CONFLICT) /* Another lane was faster. */
        return err_wrap(ctx->err, RC_BUSY, "another call makes the train just now");
    return rc;
}

enum rc train_flow_of(struct context *ctx, const struct pull_request_row *pr,
                      struct train_flow *ret_flow)
{
    *ret_flow = (struct train_flow){.count = 0};
    enum rc rc = trains_of(ctx->db, &pr->repository_id, pr->target_branch, ctx->arena,
                           &ret_flow->row, ctx->err);
    if (rc == RC_NOT_FOUND) {
        err_clear(ctx->err);
        rc = make(ctx, pr);
        if (rc == RC_OK)
            rc = trains_of(ctx->db, &pr->repository_id, pr->target_branch, ctx->arena,
                           &ret_flow->row, ctx->err);
    }
    return rc == RC_OK ? load_rest(ctx, ret_flow) : rc;
}

void train_flow_release(struct train_flow *flow)
{
    config_book_put(flow->known);
    flow->known = NULL;
}

size_t train_flow_place(const struct train_flow *flow, const struct train_car_row *car)
{
    size_t at = 0, tag = (size_t)(car - flow->cars);
    while (at < flow->train.count && flow->line[at].tag != tag)
        at++;
    return at;
}

struct train_car_row *train_flow_find(struct train_flow *flow, const struct id *car_id)
{
    for (size_t i = 0; i < flow->count; i++) {
        if (id_same(&flow->cars[i].id, car_id) && !car_has_ended(flow->cars[i].state))
            return &flow->cars[i];
    }
    return NULL;
}

/* ---- events ---- */

enum rc train_flow_emit(struct context *ctx, const struct train_flow *flow,
                        const struct train_note *note)
{
    CLEANUP(event_body_release) struct event_body body;
    const struct train_car_row *car = note->car;
    event_body_open(&body);
    jw_kstr(&body.jw, "trainId", flow->row.id.text);
    jw_kstr(&body.jw, "repository", flow->repository.name);
    jw_kstr(&body.jw, "targetBranch", flow->row.target_branch);
    if (car != NULL) {
        jw_kstr(&body.jw, "pullRequestId", car->pull_request_id.text);
        jw_kint(&body.jw, "number", car->number);
        jw_kstr(&body.jw, "runId", car->run_id.text);
        jw_kstr(&body.jw, "headCommit", car->head_commit);
        jw_kbool(&body.jw, "urgent", car->urgent);
    }
    jw_kint(&body.jw, "round", flow->row.rounds);
    jw_optstr(&body.jw, "outcome", note->outcome);
    jw_optstr(&body.jw, "commit", note->commit);
    if (note->detail != NULL)
        jw_kstr(&body.jw, "detail", prose_line(ctx->arena, note->detail, DETAIL_SHOWN_MAX));
    struct event event = {
        .type = note->type,
        .subject = arena_printf(ctx->arena, "train/%s", flow->row.id.text),
        /* It correlates with the task and is not of its history: its row is not locked here. */
        .correlation_id = car != NULL ? car->task_id : flow->row.id,
        .data = event_body_close(&body),
    };
    return context_append(ctx, &event, NULL);
}

static enum rc emit_end(struct context *ctx, const struct train_flow *flow,
                        const struct train_car_row *car)
{
    const char *type = car->state == CAR_LANDED ? EV_TRAIN_LANDED
                       : car->state == CAR_LEFT ? EV_TRAIN_LEFT
                                                : EV_TRAIN_REJECTED;
    const struct train_note note = {
        .type = type,
        .car = car,
        .outcome = car_state_name(car->state),
        .detail = car->detail,
        .commit = car->state == CAR_LANDED ? car->commit_hash : NULL,
    };
    return train_flow_emit(ctx, flow, &note);
}

/* ---- from the decisions to the rows ---- */

static enum rc set_timer(struct context *ctx, const char *kind, const struct id *subject,
                         int64_t due_us)
{
    const struct timer_row timer = {.kind = kind, .subject = *subject, .due_us = due_us};
    context_due(ctx, due_us);
    return timers_set(ctx->db, &timer, ctx->err);
}

/* Its result would be of no use. */
static enum rc give_up(struct context *ctx, const struct id *job_id)
{
    struct job_row job;
    if (id_is_none(job_id))
        return RC_OK;
    enum rc rc = jobs_get(ctx->db, job_id, ctx->arena, &job, ctx->err);
    if (rc == RC_NOT_FOUND) {
        err_clear(ctx->err);
        return RC_OK;
    }
    return rc != RC_OK || job_is_settled(job.life.state) ? rc : settle_cancel(ctx, &job);
}

static enum rc end_car(struct context *ctx, struct train_flow *flow, struct train_car_row *car)
{
    car->ended_us = ctx->now_us;
    flow->row.landed += car->state == CAR_LANDED;
    flow->row.rejected += car->state == CAR_REJECTED || car->state == CAR_CONFLICT;
    enum rc rc = emit_end(ctx, flow, car);
    return rc == RC_OK ? set_timer(ctx, TIMER_TRAIN_CAR, &car->id, ctx->now_us) : rc;
}

enum rc train_flow_sync(struct context *ctx, struct train_flow *flow)
{
    enum rc rc = RC_OK;
    for (size_t i = 0; rc == RC_OK && i < flow->train.count; i++) {
        const struct train_car *now = &flow->line[i];
        struct train_car_row *car = &flow->cars[now->tag];
        bool dropped = car->state == CAR_TESTING && now->state != CAR_TESTING;
        bool ended = car_has_ended(now->state) && !car_has_ended(car->state);
        car->state = now->state;
        car->clash = now->clash;
        car->urgent = now->urgent;
        if (dropped) {
            const struct id job_id = car->job_id;
            car->job_id = (struct id){0};
            rc = give_up(ctx, &job_id);
        }
        if (now->state == CAR_WAITING)
            car->detail = NULL;
        if (rc == RC_OK && ended)
            rc = end_car(ctx, flow, car);
    }
    return rc;
}

enum rc train_flow_enter(struct context *ctx, struct train_flow *flow,
                         const struct train_car_row *car)
{
    enum rc rc = train_cars_insert(ctx->db, car, ctx->err);
    if (rc != RC_OK)
        return rc;
    flow->cars[flow->count] = flow->stored[flow->count] = *car;
    join_line(flow, flow->count++);
    train_entered(&flow->train);
    return train_flow_sync(ctx, flow);
}

/* ---- what is next ---- */

static enum rc begin_test(struct context *ctx, struct train_flow *flow, size_t at)
{
    struct train_car_row *car = &flow->cars[flow->line[at].tag];
    return train_job_test(ctx, flow, at + 1, &car->job_id);
}

static enum rc act(struct context *ctx, struct train_flow *flow, enum train_act act, size_t at)
{
    enum rc rc = train_flow_sync(ctx, flow);
    if (rc == RC_OK && act == TRAIN_TEST)
        rc = begin_test(ctx, flow, at);
    else if (rc == RC_OK && act == TRAIN_LAND)
        rc = train_job_land(ctx, flow, at, &flow->row.land_job_id);
    return rc;
}

/* Each act changes the state of a car, and none goes back: the loop ends. */
static enum rc go_on(struct context *ctx, struct train_flow *flow)
{
    enum rc rc = RC_OK;
    size_t at = 0;
    if (ctx->now_us < flow->row.retry_us || flow->repository.removed)
        return RC_OK;
    for (size_t steps = 0; rc == RC_OK && steps < 4 * TRAIN_CARS_MAX; steps++) {
        enum train_act next = train_next(&flow->train, &flow->rules, &at);
        if (next == TRAIN_REST)
            break;
        rc = act(ctx, flow, next, at);
    }
    return rc;
}

static enum rc save(struct context *ctx, struct train_flow *flow)
{
    enum rc rc = RC_OK;
    for (size_t i = 0; rc == RC_OK && i < flow->count; i++) {
        if (!train_car_changed(&flow->cars[i], &flow->stored[i]))
            continue;
        flow->cars[i].updated_us = ctx->now_us;
        rc = train_cars_save(ctx->db, &flow->cars[i], ctx->err);
    }
    if (!flow->train.based)
        flow->row.base_commit = NULL;
    flow->row.updated_us = ctx->now_us;
    return rc == RC_OK ? trains_save(ctx->db, &flow->row, ctx->err) : rc;
}

/* One that a person has closed or merged leaves; what lands just now is compared by its push. */
static void leave_those_over(struct train_flow *flow)
{
    for (size_t i = 0; i < flow->train.count; i++) {
        struct train_car_row *car = &flow->cars[flow->line[i].tag];
        bool over = !text_same(car->pr_status, "open") && !car_has_ended(flow->line[i].state);
        if (over && train_left(&flow->train, i) == RC_OK)
            car->detail = text_same(car->pr_status, "merged") ? "it was merged without the train"
                                                              : "it was closed";
    }
}

enum rc train_flow_end(struct context *ctx, struct train_flow *flow)
{
    leave_those_over(flow);
    enum rc rc = train_flow_sync(ctx, flow);
    if (rc == RC_OK)
        rc = go_on(ctx, flow);
    train_shed(&flow->train);
    if (rc == RC_OK)
        rc = save(ctx, flow);
    if (rc != RC_OK || flow->train.count == 0)
        return rc;
    int64_t due_us = ctx->now_us + WATCH_US;
    bool stalled = flow->row.retry_us > ctx->now_us;
    return set_timer(ctx, TIMER_TRAIN, &flow->row.id, stalled ? flow->row.retry_us : due_us);
}

enum rc train_flow_stall(struct context *ctx, struct train_flow *flow, const char *code,
                         const char *message)
{
    struct train_row *row = &flow->row;
    int64_t ms = STALL_MS_FIRST;
    for (int64_t i = 0; i < row->failures && ms < STALL_MS_MAX; i++)
        ms *= 2;
    row->failures++;
    row->retry_us = ctx->now_us + (ms < STALL_MS_MAX ? ms : STALL_MS_MAX) * US_PER_MS;
    row->error_code = code;
    row->error_message = message;
    const struct train_note note = {.type = EV_TRAIN_STALLED, .outcome = code, .detail = message};
    return train_flow_emit(ctx, flow, &note);
}
