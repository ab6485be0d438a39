#include "control/run/candidates.h"
#include "control/run/ending.h"
#include "control/run/patch.h"
#include "control/run/stop.h"
#include "core/event_types.h"
#include "store/timers.h"

struct candidate candidate_of(const struct candidate_row *row)
{
    return (struct candidate){
        .number = row->number,
        .ended = task_is_terminal(row->status),
        .completed = row->status == TASK_COMPLETED,
        .has_patch = !id_is_none(&row->patch_id),
        .verified = row->status == TASK_COMPLETED && row->checks > 0,
        .flagged = text_same(row->patch_status, "flagged"),
        .score_milli = row->score_milli,
        .lines = row->lines_added + row->lines_deleted,
        .cost_microusd = row->cost_microusd,
    };
}

struct contest { /* Those of one task. */
    struct candidate_row *rows;
    struct candidate of[CANDIDATES_MAX];
    size_t count;
};

static enum rc load(struct context *ctx, const struct id *task_id, struct contest *ret_contest)
{
    enum rc rc = candidates_of_task(ctx->db, task_id, ctx->arena, &ret_contest->rows,
                                    &ret_contest->count, ctx->err);
    if (rc == RC_OK && ret_contest->count > CANDIDATES_MAX)
        return err_set(ctx->err, RC_CORRUPT, "CORRUPT", "task %s has %zu candidates", task_id->text,
                       ret_contest->count);
    for (size_t i = 0; rc == RC_OK && i < ret_contest->count; i++)
        ret_contest->of[i] = candidate_of(&ret_contest->rows[i]);
    return rc;
}

/* ---- the choice ---- */

/* Every candidate with its rank, and why the one above it is better. */
static void write_ranking(struct jw *jw, const struct contest *contest)
{
    size_t order[CANDIDATES_MAX];
    candidates_rank(contest->of, contest->count, order);
    jw_key(jw, "ranking");
    jw_begin(jw, '[');
    for (size_t i = 0; i < contest->count; i++) {
        const struct candidate_row *row = &contest->rows[order[i]];
        jw_begin(jw, '{');
        jw_kint(jw, "number", row->number);
        jw_kstr(jw, "candidate", row->name);
        jw_kstr(jw, "taskId", row->task_id.text);
        jw_kstr(jw, "status", task_status_name(row->status));
        jw_optstr(jw, "errorCode", row->error_code);
        jw_kreal(jw, "costUsd", (double)row->cost_microusd / 1e6);
        if (i > 0)
            jw_kstr(jw, "behind",
                    candidate_advantage(&contest->of[order[i - 1]], &contest->of[order[i]]));
        jw_end(jw, '}');
    }
    jw_end(jw, ']');
}

static enum rc emit_chosen(struct context *ctx, struct flow *flow, const struct contest *contest,
                           size_t best)
{
    const struct candidate_row *row = &contest->rows[best];
    CLEANUP(event_body_release) struct event_body body;
    event_body_open(&body);
    jw_kstr(&body.jw, "taskId", flow->task.id.text);
    jw_kint(&body.jw, "number", row->number);
    jw_kstr(&body.jw, "candidate", row->name);
    jw_kstr(&body.jw, "candidateTaskId", row->task_id.text);
    jw_kstr(&body.jw, "candidateRunId", row->run_id.text);
    jw_kint(&body.jw, "attempt", 1);
    jw_kstr(&body.jw, "baseCommit", row->base_commit);
    jw_optstr(&body.jw, "promptSha256", row->prompt_sha256);
    jw_optstr(&body.jw, "planArtifactId", row->plan_sha256);
    write_ranking(&body.jw, contest);
    return flow_emit(ctx, flow, EV_CANDIDATE_CHOSEN, &body);
}

/* The run continues where the candidate's run was with its patch.  It keeps the prompt, so that an
   agent can repair what a second verification finds. */
static enum rc adopt(struct context *ctx, struct flow *flow, const struct candidate_row *row)
{
    struct run_row *run = &flow->run;
    run->attempt = run->used[BUDGET_AGENT] = 1;
    struct patch_row patch = {
        .id = context_id(ctx),
        .run_id = run->id,
        .attempt_no = run->attempt,
        .sha256 = row->patch_sha256,
        .base_commit = row->base_commit,
        .tree_hash = row->tree_hash,
        .files = row->files,
        .lines_added = row->lines_added,
        .lines_deleted = row->lines_deleted,
        .summary = row->summary,
        .status = "created",
        .created_us = ctx->now_us,
    };
    run->base_commit = row->base_commit;
    run->prompt_sha256 = row->prompt_sha256;
    run->prompt_version = row->prompt_version;
    run->plan_sha256 = row->plan_sha256;
    return patch_adopt(ctx, flow, &patch, row->paths, NULL);
}

static enum rc choose(struct context *ctx, struct flow *flow, const struct contest *contest,
                      size_t best)
{
    flow->task.chosen_id = contest->rows[best].task_id;
    enum rc rc = emit_chosen(ctx, flow, contest, best);
    if (rc == RC_OK)
        rc = adopt(ctx, flow, &contest->rows[best]);
    if (rc == RC_OK)
        rc = timers_clear(ctx->db, TIMER_CANDIDATE_GRACE, &flow->task.id, ctx->err);
    return rc == RC_OK ? flow_save(ctx, flow) : rc;
}

/* "claude failed (max_turns_exceeded), codex cancelled" */
static const char *describe_failures(struct context *ctx, const struct contest *contest)
{
    enum { TEXT_MAX = 1000 };
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, TEXT_MAX);
    buf_adds(&text, "No candidate left a patch that passed: ");
    for (size_t i = 0; i < contest->count; i++) {
        const struct candidate_row *row = &contest->rows[i];
        buf_addf(&text, "%s%lld", i > 0 ? ", " : "", (long long)row->number);
        if (row->name != NULL)
            buf_addf(&text, " %s", row->name);
        buf_addf(&text, " %s", task_status_name(row->status));
        if (row->error_code != NULL)
            buf_addf(&text, " (%s)", row->error_code);
    }
    return arena_strdup(ctx->arena, buf_text(&text));
}

static enum rc fail(struct context *ctx, struct flow *flow, const struct contest *contest)
{
    struct ending ending = {.event = RUN_EV_FAIL,
                            .code = "no_candidate_passed",
                            .message = describe_failures(ctx, contest)};
    enum rc rc = timers_clear(ctx->db, TIMER_CANDIDATE_GRACE, &flow->task.id, ctx->err);
    if (rc == RC_OK)
        rc = flow_end(ctx, flow, &ending);
    return rc == RC_OK ? flow_save(ctx, flow) : rc;
}

static const char *describe_wait(struct context *ctx, const struct contest *contest)
{
    size_t ended = 0;
    for (size_t i = 0; i < contest->count; i++)
        ended += contest->of[i].ended;
    return arena_printf(ctx->arena, "%zu of %zu candidates have ended", ended, contest->count);
}

/* With the first usable one the others have a while left.  Admission looks after every end of a
   run, and the detail of the wait changes with every candidate that ends: so it begins once. */
static enum rc begin_grace(struct context *ctx, struct flow *flow, const struct contest *contest,
                           const char *detail)
{
    const struct repo_config *config;
    if (text_same(flow->run.deferred_detail, detail) ||
        !candidates_grace_begins(contest->of, contest->count))
        return RC_OK;
    enum rc rc = flow_config(ctx, flow, &config);
    if (rc != RC_OK)
        return rc;
    struct timer_row timer = {
        .kind = TIMER_CANDIDATE_GRACE,
        .subject = flow->task.id,
        .due_us = ctx->now_us + config->timeouts.candidate_grace_ms * US_PER_MS,
    };
    context_due(ctx, timer.due_us);
    return timers_set(ctx->db, &timer, ctx->err);
}

enum rc candidates_gate(struct context *ctx, struct flow *flow, enum candidates_gate *ret_gate,
                        const char **ret_detail)
{
    *ret_gate = CANDIDATES_PASS;
    bool chosen = flow->run.attempt > 0; /* A retry chooses anew. */
    if (flow->task.best_of == 0 || chosen)
        return RC_OK;
    struct contest contest;
    size_t best = 0;
    enum rc rc = load(ctx, &flow->task.id, &contest);
    if (rc != RC_OK)
        return rc;
    switch (candidates_decide(contest.of, contest.count, &best)) {
    case CANDIDATES_CHOOSE:
        return choose(ctx, flow, &contest, best);
    case CANDIDATES_NONE:
        *ret_gate = CANDIDATES_FAILED;
        return fail(ctx, flow, &contest);
    case CANDIDATES_WAIT:
        break;
    }
    *ret_gate = CANDIDATES_HOLD;
    *ret_detail = describe_wait(ctx, &contest);
    return begin_grace(ctx, flow, &contest, *ret_detail);
}

bool candidates_work(const struct flow *flow)
{
    return flow->task.best_of > 0 && flow->run.attempt <= 1;
}

bool candidates_patch_waits(const struct flow *flow)
{
    return flow->task.best_of > 0 && flow->run.attempt == 1 && flow->run.status < RUN_VERIFYING;
}

/* ---- the grace ---- */

enum rc candidates_grace_over(struct context *ctx, const struct id *task_id)
{
    static const struct stop_request request = {
        .kind = RUN_STOP_CANCEL, .by = "drover", .reason = "another candidate has completed"};
    struct contest contest;
    enum rc rc = load(ctx, task_id, &contest);
    for (size_t i = 0; rc == RC_OK && i < contest.count; i++) {
        CLEANUP(flow_release) struct flow flow = {0};
        bool stopping;
        if (contest.of[i].ended)
            continue;
        rc = flow_load(ctx, &contest.rows[i].run_id, &flow);
        if (rc == RC_OK && !run_is_terminal(flow.run.status))
            rc = stop_run(ctx, &flow, &request, &stopping);
    }
    return rc;
}
