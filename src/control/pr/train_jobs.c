#include "control/pr/train_jobs.h"
#include "control/pr/shepherd.h"
#include "core/event_types.h"
#include <assert.h>

/* Before the tests of other trains: what has been verified should not grow old. */
enum { PRIORITY_LAND = 1, PRIORITY_URGENT = 2 };

/* ---- made ---- */

struct assignment {
    const char *act;
    const struct train_flow *flow;
    size_t count;
};

static void write_car(struct jw *jw, const struct train_car_row *car)
{
    jw_begin(jw, '{');
    jw_kstr(jw, "carId", car->id.text);
    jw_kint(jw, "number", car->number);
    jw_kstr(jw, "runId", car->run_id.text);
    jw_kstr(jw, "branch", car->branch);
    jw_kstr(jw, "head", car->head_commit);
    jw_optstr(jw, "title", car->title);
    jw_kint(jw, "time", car->entered_us / US_PER_SECOND);
    jw_optstr(jw, "tree", car->tree_hash);
    jw_end(jw, '}');
}

static void write_assignment(struct jw *jw, const void *subject)
{
    const struct assignment *assignment = subject;
    const struct train_flow *flow = assignment->flow;
    jw_kstr(jw, "act", assignment->act);
    jw_kstr(jw, "trainId", flow->row.id.text);
    jw_kstr(jw, "targetBranch", flow->row.target_branch);
    jw_kstr(jw, "base", flow->train.based ? flow->row.base_commit : NULL);
    jw_kbool(jw, "single", flow->rules.batch);
    jw_key(jw, "cars");
    jw_begin(jw, '[');
    for (size_t i = 0; i < assignment->count; i++)
        write_car(jw, &flow->cars[flow->line[i].tag]);
    jw_end(jw, ']');
}

static enum rc enqueue(struct context *ctx, const struct assignment *assignment, int64_t priority,
                       struct id *ret_job_id)
{
    const struct repo_job job = {
        .kind = STEP_TRAIN,
        .repository = &assignment->flow->repository,
        .priority = priority,
        .write = write_assignment,
        .subject = assignment,
    };
    return repo_job_enqueue(ctx, &job, ret_job_id);
}

enum rc train_job_test(struct context *ctx, const struct train_flow *flow, size_t count,
                       struct id *ret_job_id)
{
    const struct assignment assignment = {"test", flow, count};
    return enqueue(ctx, &assignment, flow->line[count - 1].urgent ? PRIORITY_URGENT : 0,
                   ret_job_id);
}

enum rc train_job_land(struct context *ctx, const struct train_flow *flow, size_t count,
                       struct id *ret_job_id)
{
    const struct assignment assignment = {"land", flow, count};
    return enqueue(ctx, &assignment, PRIORITY_LAND, ret_job_id);
}

static void write_hand(struct jw *jw, const void *subject)
{
    const struct pull_request_row *pr = subject;
    jw_kstr(jw, "act", "hand");
    jw_kstr(jw, "targetBranch", pr->target_branch);
    jw_kstr(jw, "pullRequestId", pr->id.text);
    jw_key(jw, "cars");
    jw_begin(jw, '[');
    jw_begin(jw, '{');
    jw_kint(jw, "number", pr->number);
    jw_kstr(jw, "runId", pr->run_id.text);
    jw_kstr(jw, "branch", pr->branch);
    jw_kstr(jw, "head", pr->head_commit);
    jw_optstr(jw, "title", pr->title);
    jw_end(jw, '}');
    jw_end(jw, ']');
}

enum rc train_job_hand(struct context *ctx, const struct repository_row *repository,
                       const struct pull_request_row *pr)
{
    const struct repo_job job = {
        .kind = STEP_TRAIN,
        .repository = repository,
        .dedup_key = arena_printf(ctx->arena, "hand:%s", pr->id.text),
        .write = write_hand,
        .subject = pr,
    };
    return repo_job_enqueue(ctx, &job, NULL);
}

/* ---- ended ---- */

/* What a job was about, and how it ended. */
struct report {
    const struct repo_job_end *end;
    struct train_flow *flow;
    struct train_car_row *tested; /* NULL: it was a landing. */
    const char *outcome, *detail;
    size_t at; /* As in its payload. */
};

/* The car at this place of the payload; NULL: it is not in the train any more. */
static struct train_car_row *car_at(const struct report *report, size_t at)
{
    const struct js *car = js_at(js_get(report->end->payload, "cars"), at);
    struct id id;
    return id_parse(js_get_str(car, "carId", ""), &id) ? train_flow_find(report->flow, &id) : NULL;
}

static const char *text_of(struct context *ctx, const struct report *report, const char *key)
{
    return arena_strdup(ctx->arena, js_get_str(report->end->result, key, NULL));
}

/* Positions are built on this commit from now on. */
static void set_base(struct train_flow *flow, const char *commit)
{
    flow->row.base_commit = commit;
    flow->train.based = commit != NULL;
}

static enum rc note_tested(struct context *ctx, const struct report *report,
                           const struct train_car_row *car)
{
    const struct train_note note = {.type = EV_TRAIN_TESTED,
                                    .car = car,
                                    .outcome = report->outcome,
                                    .detail = report->detail,
                                    .commit = text_of(ctx, report, "commit")};
    return train_flow_emit(ctx, report->flow, &note);
}

/* The target has commits of others: all positions are built anew. */
static enum rc take_move(struct context *ctx, const struct report *report)
{
    struct train_flow *flow = report->flow;
    const struct js *merged = js_get(report->end->result, "merged");
    const char *tip = text_of(ctx, report, "tip");
    bool landing = !id_is_none(&flow->row.land_job_id);
    /* While others land, the end of that says what the target has. */
    for (size_t i = 0; !landing && i < js_count(merged); i++) {
        struct train_car_row *car = car_at(report, (size_t)js_int(js_at(merged, i), 0));
        if (car == NULL)
            continue;
        car->commit_hash = tip;
        train_arrived(&flow->train, train_flow_place(flow, car));
    }
    flow->row.rounds += !landing;
    enum rc rc = train_flow_sync(ctx, flow);
    train_shed(&flow->train);
    train_moved(&flow->train, true);
    flow->row.base_commit = tip;
    if (landing)
        flow->train.based = false;
    if (rc != RC_OK || landing)
        return rc;
    const struct train_note note = {.type = EV_TRAIN_MOVED, .commit = tip};
    return train_flow_emit(ctx, flow, &note);
}

/* A pull request is not what the train knows: it leaves. */
static void take_gone(const struct report *report)
{
    struct train_flow *flow = report->flow;
    struct train_car_row *car = car_at(report, report->at);
    if (car == NULL || train_left(&flow->train, train_flow_place(flow, car)) != RC_OK)
        return;
    car->detail = report->detail;
}

static enum rc take_verdict(struct context *ctx, const struct report *report)
{
    struct train_flow *flow = report->flow;
    struct train_car_row *car = report->tested;
    size_t place = train_flow_place(flow, car);
    bool passed = text_same(report->outcome, "passed");
    flow->row.verifications += !js_get_bool(report->end->result, "reused", false);
    flow->row.verifications += js_get_bool(report->end->result, "rerun", false);
    car->commit_hash = text_of(ctx, report, "commit");
    if (passed) {
        car->tree_hash = text_of(ctx, report, "tree");
        train_passed(&flow->train, place);
    } else {
        train_failed(&flow->train, place, false);
    }
    enum rc rc = train_flow_sync(ctx, flow);
    car->detail = passed ? NULL : report->detail;
    return rc == RC_OK ? note_tested(ctx, report, car) : rc;
}

static enum rc take_clash(struct context *ctx, const struct report *report)
{
    struct train_flow *flow = report->flow;
    struct train_car_row *car = car_at(report, report->at);
    train_untested(&flow->train, train_flow_place(flow, report->tested));
    if (car == NULL)
        return RC_OK;
    train_failed(&flow->train, train_flow_place(flow, car), true);
    enum rc rc = train_flow_sync(ctx, flow);
    car->detail = report->detail;
    return rc == RC_OK ? note_tested(ctx, report, car) : rc;
}

static enum rc take_test(struct context *ctx, const struct report *report)
{
    struct train_flow *flow = report->flow;
    size_t place = train_flow_place(flow, report->tested);
    report->tested->job_id = (struct id){0}; /* It is settled: nothing is to be given up. */
    if (text_same(report->outcome, "moved")) {
        train_untested(&flow->train, place);
        return take_move(ctx, report);
    }
    if (!flow->train.based) { /* The first of a round finds out what it is built on. */
        set_base(flow, text_of(ctx, report, "base"));
        flow->row.rounds++;
    }
    if (text_same(report->outcome, "conflict"))
        return take_clash(ctx, report);
    if (text_same(report->outcome, "passed") || text_same(report->outcome, "failed"))
        return take_verdict(ctx, report);
    train_untested(&flow->train, place);
    if (text_same(report->outcome, "gone"))
        take_gone(report);
    return RC_OK;
}

/* ---- landed ---- */

static size_t landing_count(const struct train_flow *flow)
{
    size_t count = 0;
    while (count < flow->train.count && flow->line[count].state == CAR_LANDING)
        count++;
    return count;
}

static void take_landed(struct context *ctx, const struct report *report)
{
    struct train_flow *flow = report->flow;
    const char *commit = text_of(ctx, report, "commit");
    size_t count = landing_count(flow);
    bool all = report->at >= count, api = flow->known != NULL && flow->known->config.train.api;
    for (size_t i = 0; i < count && i < report->at; i++) {
        struct train_car_row *car = &flow->cars[flow->line[i].tag];
        if (flow->rules.batch || api || car->commit_hash == NULL)
            car->commit_hash = commit;
        if (js_get_bool(report->end->result, "unverified", false) && i + 1 == report->at)
            car->detail = "The target got other commits while the forge merged it: what it shows "
                          "now was not verified.";
    }
    if (all) {
        train_landed(&flow->train);
    } else {
        for (size_t i = 0; i < report->at; i++)
            train_arrived(&flow->train, i);
        train_missed(&flow->train);
    }
    /* What the forge has made is another commit than the one that those behind were built on; where
       it shows the same files, they need no further verification. */
    if (api)
        train_moved(&flow->train, true);
    set_base(flow, commit);
}

static enum rc take_landing(struct context *ctx, const struct report *report)
{
    struct train_flow *flow = report->flow;
    flow->row.land_job_id = (struct id){0};
    if (text_same(report->outcome, "landed")) {
        take_landed(ctx, report);
        return RC_OK;
    }
    const char *base = flow->row.base_commit;
    train_missed(&flow->train);
    if (text_same(report->outcome, "moved"))
        return take_move(ctx, report);
    set_base(flow, base);
    if (text_same(report->outcome, "gone"))
        take_gone(report);
    return RC_OK;
}

/* ---- both ---- */

/* *ret_waited: the train waits for this job. */
static enum rc load_report(struct context *ctx, const struct repo_job_end *end,
                           struct train_flow *flow, struct report *ret_report, bool *ret_waited)
{
    struct id train_id;
    *ret_waited = false;
    if (!id_parse(js_get_str(end->payload, "trainId", ""), &train_id))
        return err_set(ctx->err, RC_CORRUPT, "PAYLOAD_INVALID", "job %s names no train",
                       end->job->id.text);
    enum rc rc = train_flow_load(ctx, &train_id, flow);
    if (rc != RC_OK)
        return rc;
    *ret_report = (struct report){
        .end = end,
        .flow = flow,
        .outcome = js_get_str(end->result, "outcome", ""),
        .at = (size_t)js_get_int(end->result, "at", 0),
        .detail = arena_strdup(ctx->arena, js_get_str(end->result, "detail", NULL)),
    };
    *ret_waited = id_same(&flow->row.land_job_id, &end->job->id);
    for (size_t i = 0; i < flow->count && !*ret_waited; i++) {
        if (flow->cars[i].state == CAR_TESTING && id_same(&flow->cars[i].job_id, &end->job->id)) {
            ret_report->tested = &flow->cars[i];
            *ret_waited = true;
        }
    }
    return RC_OK;
}

/* The forge could not be left the merge of one. */
static enum rc hand_ended(struct context *ctx, const struct repo_job_end *end)
{
    struct id pr_id;
    const char *outcome = js_get_str(end->result, "outcome", "");
    if (end->result != NULL && text_same(outcome, "handed"))
        return RC_OK; /* The forge says when it is merged. */
    if (!id_parse(js_get_str(end->payload, "pullRequestId", ""), &pr_id))
        return RC_OK;
    const struct train_outcome told = {
        .end = TRAIN_LEFT,
        .detail = end->result != NULL ? js_get_str(end->result, "detail", NULL) : end->message};
    return shepherd_train_ended(ctx, &pr_id, &told);
}

static bool is_hand(const struct repo_job_end *end)
{
    return text_same(js_get_str(end->payload, "act", ""), "hand");
}

enum rc train_job_completed(struct context *ctx, const struct repo_job_end *end)
{
    CLEANUP(train_flow_release) struct train_flow flow = {0};
    struct report report;
    bool waited;
    if (is_hand(end))
        return hand_ended(ctx, end);
    enum rc rc = load_report(ctx, end, &flow, &report, &waited);
    if (rc != RC_OK || !waited)
        return rc;
    flow.row.failures = 0;
    flow.row.retry_us = 0;
    flow.row.error_code = flow.row.error_message = NULL;
    rc = report.tested != NULL ? take_test(ctx, &report) : take_landing(ctx, &report);
    return rc == RC_OK ? train_flow_end(ctx, &flow) : rc;
}

static void forget_job(struct report *report)
{
    struct train_flow *flow = report->flow;
    const char *base = flow->row.base_commit;
    if (report->tested != NULL) {
        report->tested->job_id = (struct id){0};
        train_untested(&flow->train, train_flow_place(flow, report->tested));
        return;
    }
    flow->row.land_job_id = (struct id){0};
    train_missed(&flow->train);
    set_base(flow, base);
}

enum rc train_job_failed(struct context *ctx, const struct repo_job_end *end)
{
    CLEANUP(train_flow_release) struct train_flow flow = {0};
    struct report report;
    bool waited;
    if (is_hand(end))
        return hand_ended(ctx, end);
    enum rc rc = load_report(ctx, end, &flow, &report, &waited);
    if (rc != RC_OK || !waited)
        return rc;
    forget_job(&report);
    rc = train_flow_stall(ctx, &flow, end->code, end->message);
    return rc == RC_OK ? train_flow_end(ctx, &flow) : rc;
}

/* ---- timers ---- */

static enum rc is_over(struct context *ctx, const struct id *job_id, bool *ret_over)
{
    struct job_row job;
    enum rc rc = jobs_get(ctx->db, job_id, ctx->arena, &job, ctx->err);
    *ret_over = rc == RC_NOT_FOUND || (rc == RC_OK && job_is_settled(job.life.state));
    if (rc == RC_NOT_FOUND)
        err_clear(ctx->err);
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}

/* Jobs that ended without a word, by a person's hand say, are made again. */
enum rc train_due(struct context *ctx, const struct id *train_id)
{
    CLEANUP(train_flow_release) struct train_flow flow = {0};
    enum rc rc = train_flow_load(ctx, train_id, &flow);
    if (rc == RC_NOT_FOUND) {
        err_clear(ctx->err);
        return RC_OK;
    }
    bool over = false;
    for (size_t i = 0; rc == RC_OK && i < flow.count; i++) {
        struct report report = {.flow = &flow, .tested = &flow.cars[i]};
        if (flow.cars[i].state != CAR_TESTING)
            continue;
        rc = is_over(ctx, &flow.cars[i].job_id, &over);
        if (rc == RC_OK && over)
            forget_job(&report);
    }
    if (rc == RC_OK && !id_is_none(&flow.row.land_job_id)) {
        struct report report = {.flow = &flow};
        rc = is_over(ctx, &flow.row.land_job_id, &over);
        if (rc == RC_OK && over)
            forget_job(&report);
    }
    return rc == RC_OK ? train_flow_end(ctx, &flow) : rc;
}

static enum train_end end_of(enum car_state state)
{
    assert(car_has_ended(state));
    return state == CAR_LANDED     ? TRAIN_LANDED
           : state == CAR_REJECTED ? TRAIN_REJECTED
           : state == CAR_CONFLICT ? TRAIN_CONFLICT
                                   : TRAIN_LEFT;
}

enum rc train_car_due(struct context *ctx, const struct id *car_id)
{
    struct train_car_row car;
    enum rc rc = train_cars_peek(ctx->db, car_id, ctx->arena, &car, ctx->err);
    if (rc == RC_NOT_FOUND) {
        err_clear(ctx->err);
        return RC_OK;
    }
    if (rc != RC_OK || car.told || !car_has_ended(car.state))
        return rc;
    const struct train_outcome outcome = {
        .end = end_of(car.state), .commit = car.commit_hash, .detail = car.detail};
    rc = shepherd_train_ended(ctx, &car.pull_request_id, &outcome);
    if (rc != RC_OK)
        return rc;
    car.told = true;
    car.updated_us = ctx->now_us;
    return train_cars_save(ctx->db, &car, ctx->err);
}
