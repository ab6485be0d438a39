#include "control/queue/breakers.h"
#include "control/commit/event_body.h"
#include "control/queue/breaker_book.h"
#include "core/event_types.h"
#include <assert.h>
#include <string.h>

enum { ERROR_BYTES_MAX = 500, HOLD_JITTER_MS = 1000 };

/* ---- one step ---- */

static const char *const state_events[BREAKER_STATE_COUNT] = {
    [BREAKER_CLOSED] = EV_BREAKER_CLOSED,
    [BREAKER_OPEN] = EV_BREAKER_OPENED,
    [BREAKER_HALF_OPEN] = EV_BREAKER_HALF_OPENED,
};

struct happening { /* An event that may change a breaker. */
    enum breaker_event event;
    const char *error;  /* FAILURE, or NULL */
    const char *reason; /* RESET, TRIP: given by a person, or NULL */
    int64_t since_us;
    bool lend;
};

static enum rc emit_change(struct context *ctx, const struct breaker_row *row,
                           const struct breaker *before, const struct happening *happening)
{
    CLEANUP(event_body_release) struct event_body body;
    event_body_open(&body);
    jw_kstr(&body.jw, "name", row->name);
    jw_kstr(&body.jw, "from", breaker_state_name(before->state));
    jw_kstr(&body.jw, "to", breaker_state_name(row->life.state));
    jw_kint(&body.jw, "failures", (int64_t)row->life.failures.count);
    jw_optstr(&body.jw, "lastError", row->last_error);
    if (row->life.state == BREAKER_OPEN)
        jw_ktime(&body.jw, "openUntil", row->life.open_until_us);
    jw_optstr(&body.jw, "reason", happening->reason);
    struct event event = {
        .type = state_events[row->life.state],
        .subject = arena_printf(ctx->arena, "breaker/%s", row->name),
        .data = event_body_close(&body),
    };
    return context_append(ctx, &event, NULL);
}

/* The breaker closed early: jobs that were put off until it would be half-open are due now. */
static enum rc release_held(struct context *ctx, const struct breaker_row *row,
                            const struct breaker *before)
{
    bool early = before->state == BREAKER_OPEN && before->open_until_us > ctx->now_us;
    if (!early || row->life.state != BREAKER_CLOSED)
        return RC_OK;
    context_due(ctx, ctx->now_us);
    return jobs_release_held(ctx->db, row->name, before->open_until_us, ctx->now_us, ctx->err);
}

static enum rc save_step(struct context *ctx, struct breaker_entry *entry,
                         const struct breaker_step *step, const struct happening *happening)
{
    struct breaker_row *row = &entry->row;
    struct breaker before = row->life;
    row->life = step->next;
    row->updated_us = ctx->now_us;
    if (happening->error != NULL) {
        size_t len = strnlen(happening->error, ERROR_BYTES_MAX);
        row->last_error = arena_strndup(ctx->batch_arena, happening->error, len);
    }
    enum rc rc = breakers_save(ctx->db, row, ctx->err);
    if (rc == RC_OK && (row->life.state != before.state || row->life.trips != before.trips))
        rc = emit_change(ctx, row, &before, happening);
    return rc == RC_OK ? release_held(ctx, row, &before) : rc;
}

static struct breaker_input input_of(const struct context *ctx, const struct happening *happening)
{
    return (struct breaker_input){.event = happening->event,
                                  .now_us = ctx->now_us,
                                  .lend = happening->lend,
                                  .since_us = happening->since_us};
}

/* Does the number of probes in flight decide? */
static bool asks_for_probe(const struct breaker_entry *entry, const struct happening *happening)
{
    return happening->event == BREAKER_EV_ASK && entry->row.life.state == BREAKER_HALF_OPEN;
}

/* With the row locked. */
static enum rc happen_taken(struct context *ctx, struct breaker_entry *entry,
                            const struct happening *happening, struct breaker_step *ret_step)
{
    struct breaker_input input = input_of(ctx, happening);
    bool for_probe = asks_for_probe(entry, happening);
    enum rc rc = RC_OK;
    if (for_probe && entry->full)
        input.in_flight = BREAKER_PROBES_MAX;
    else if (for_probe)
        rc = jobs_count_probes(ctx->db, entry->row.name, entry->row.life.changed_us,
                               &input.in_flight, ctx->err);
    if (rc != RC_OK)
        return rc;
    *ret_step = breaker_step(&entry->row.life, &entry->config.rules, &input);
    entry->full = for_probe && !ret_step->allowed;
    return ret_step->changed ? save_step(ctx, entry, ret_step, happening) : RC_OK;
}

/* Reads without a lock first; only an event that changes it, or needs a probe, locks the row. */
static enum rc happen(struct context *ctx, const char *name, const struct happening *happening,
                      struct breaker_step *ret_step, struct breaker_entry **ret_entry)
{
    enum rc rc = breaker_look(ctx, name, ret_entry);
    if (rc != RC_OK)
        return rc;
    struct breaker_entry *entry = *ret_entry;
    if (!entry->taken) {
        struct breaker_input input = input_of(ctx, happening);
        *ret_step = breaker_step(&entry->row.life, &entry->config.rules, &input);
        if (!ret_step->changed && !asks_for_probe(entry, happening))
            return RC_OK;
        rc = breaker_take(ctx, name, ret_entry);
    }
    return rc == RC_OK ? happen_taken(ctx, *ret_entry, happening, ret_step) : rc;
}

enum rc breaker_ask(struct context *ctx, const char *name, bool lend,
                    struct breaker_verdict *ret_verdict)
{
    struct happening ask = {.event = BREAKER_EV_ASK, .lend = lend};
    struct breaker_step step;
    struct breaker_entry *entry;
    enum rc rc = happen(ctx, name, &ask, &step, &entry);
    if (rc == RC_OK)
        *ret_verdict = (struct breaker_verdict){
            .allowed = step.allowed,
            .state = step.next.state,
            .wait_us = step.allowed ? 0 : step.until_us - ctx->now_us,
        };
    return rc;
}

enum rc breaker_report(struct context *ctx, const char *name, const struct breaker_report *report)
{
    struct happening outcome = {.event = report->ok ? BREAKER_EV_SUCCESS : BREAKER_EV_FAILURE,
                                .error = report->error,
                                .since_us = report->since_us};
    struct breaker_step step;
    struct breaker_entry *entry;
    return happen(ctx, name, &outcome, &step, &entry);
}

/* ---- jobs ---- */

/* Jobs that wait for a probe to end become due one by one, not all at the same time. */
static enum rc put_off(struct context *ctx, struct job_row *job, const struct breaker_step *step)
{
    int64_t until_us = step->until_us;
    if (step->next.state == BREAKER_HALF_OPEN)
        until_us += (int64_t)(random_next(ctx->random) % (HOLD_JITTER_MS * US_PER_MS));
    return settle_hold(ctx, job, until_us);
}

static enum rc move_over(struct context *ctx, struct job_row *job, const char *queue)
{
    enum rc rc = jobs_move(ctx->db, job, arena_strdup(ctx->batch_arena, queue), ctx->now_us,
                           ctx->err);
    if (rc == RC_OK)
        context_ready(ctx, job->queue);
    return rc;
}

/* Claimed in the name of FALLBACK_WORKER, and finished with the configured result. */
static enum rc answer_default(struct context *ctx, struct job_row *job, struct str result)
{
    struct job_input claim = {
        .event = JOB_EV_CLAIM, .now_us = ctx->now_us, .owner = FALLBACK_WORKER};
    enum rc rc = job_step(&job->life, &claim, &job->life);
    if (rc != RC_OK)
        return rc;
    assert(job->life.state == JOB_LEASED); /* Expired ones are not offered to leases. */
    job->worker = FALLBACK_WORKER;
    job->leased_us = ctx->now_us;
    struct settlement settlement = {
        .event = JOB_EV_FINISH,
        .epoch = job->life.epoch,
        .owner = job->life.owner,
        .result = result,
    };
    return settle(ctx, job, &settlement);
}

/* Results of drover's own steps mean something, and a key belongs to its queue: such jobs wait. */
static enum breaker_fallback fallback_of(const struct breaker_config *config,
                                         const struct job_row *job)
{
    if (!id_is_none(&job->run_id))
        return FALLBACK_QUEUE;
    bool keyed = job->ordering_key != NULL || job->dedup_key != NULL;
    if (config->fallback == FALLBACK_ALTERNATIVE &&
        (keyed || strcmp(config->alternative_queue, job->queue) == 0))
        return FALLBACK_QUEUE;
    return config->fallback;
}

enum rc breaker_gate(struct context *ctx, const struct job_row *job, bool *ret_allowed)
{
    *ret_allowed = true;
    if (job->dependency == NULL)
        return RC_OK;
    struct happening ask = {.event = BREAKER_EV_ASK};
    struct breaker_step step;
    struct breaker_entry *entry;
    enum rc rc = happen(ctx, job->dependency, &ask, &step, &entry);
    if (rc != RC_OK || step.allowed)
        return rc;
    *ret_allowed = false;
    struct job_row mine = job_row_copy(job, ctx->arena);
    switch (fallback_of(&entry->config, job)) {
    case FALLBACK_QUEUE:
        return put_off(ctx, &mine, &step);
    case FALLBACK_ALTERNATIVE:
        return move_over(ctx, &mine, entry->config.alternative_queue);
    case FALLBACK_DEFAULT:
        return answer_default(ctx, &mine, entry->config.default_result);
    }
    return RC_OK;
}

enum rc breaker_job_settled(struct context *ctx, const struct job_row *job,
                            const struct settlement *settlement)
{
    bool failed = settlement->event == JOB_EV_FAIL && settlement->outside;
    bool finished = settlement->event == JOB_EV_FINISH;
    if (job->dependency == NULL || (!failed && !finished) ||
        text_same(job->worker, FALLBACK_WORKER))
        return RC_OK;
    struct breaker_report report = {.ok = finished, .since_us = job->leased_us};
    if (failed)
        report.error = arena_printf(ctx->arena, "%s: %s", settlement->code,
                                    settlement->message != NULL ? settlement->message : "");
    return breaker_report(ctx, job->dependency, &report);
}

/* ---- commands ---- */

static enum rc apply_acquire(struct context *ctx, struct command *command)
{
    struct cmd_breaker *cmd = (struct cmd_breaker *)command;
    return breaker_ask(ctx, cmd->name, true, &cmd->verdict);
}

/* The answer outlives the batch. */
static struct breaker_row copy_row(struct context *ctx, const struct breaker_row *row)
{
    struct breaker_row copy = *row;
    copy.name = arena_strdup(ctx->arena, row->name);
    copy.config = str_of(str_dup(ctx->arena, row->config));
    copy.last_error = arena_strdup(ctx->arena, row->last_error);
    return copy;
}

static enum rc apply_happening(struct context *ctx, struct cmd_breaker *cmd,
                               const struct happening *happening)
{
    struct breaker_step step;
    struct breaker_entry *entry;
    enum rc rc = happen(ctx, cmd->name, happening, &step, &entry);
    if (rc == RC_OK)
        cmd->row = copy_row(ctx, &entry->row);
    return rc;
}

static enum rc apply_report(struct context *ctx, struct command *command)
{
    struct cmd_breaker *cmd = (struct cmd_breaker *)command;
    struct happening outcome = {.event = cmd->ok ? BREAKER_EV_SUCCESS : BREAKER_EV_FAILURE,
                                .error = cmd->ok ? NULL : cmd->error};
    return apply_happening(ctx, cmd, &outcome);
}

static enum rc apply_reset(struct context *ctx, struct command *command)
{
    struct cmd_breaker *cmd = (struct cmd_breaker *)command;
    struct breaker_row known;
    enum rc rc = breakers_get(ctx->db, cmd->name, ctx->arena, &known, ctx->err);
    if (rc != RC_OK)
        return rc;
    return apply_happening(ctx, cmd,
                           &(struct happening){.event = BREAKER_EV_RESET, .reason = cmd->reason});
}

static enum rc apply_trip(struct context *ctx, struct command *command)
{
    struct cmd_breaker *cmd = (struct cmd_breaker *)command;
    return apply_happening(ctx, cmd,
                           &(struct happening){.event = BREAKER_EV_TRIP, .reason = cmd->reason});
}

/* The state of the breaker stays: new rules apply to the next event. */
static enum rc apply_set(struct context *ctx, struct command *command)
{
    struct cmd_breaker *cmd = (struct cmd_breaker *)command;
    CLEANUP(js_freep) struct js *tree = NULL;
    struct breaker_config config;
    struct breaker_entry *entry;
    enum rc rc = js_parse(cmd->config.at, cmd->config.len, &tree, ctx->err);
    if (rc == RC_OK)
        rc = breaker_config_decode(tree, ctx->batch_arena, &config, ctx->err);
    if (rc == RC_OK)
        rc = breaker_take(ctx, cmd->name, &entry);
    if (rc != RC_OK)
        return rc;
    entry->config = config;
    entry->row.config = str_of(str_dup(ctx->batch_arena, cmd->config));
    entry->row.updated_us = ctx->now_us;
    cmd->row = copy_row(ctx, &entry->row);
    return breakers_save(ctx->db, &entry->row, ctx->err);
}

static const struct command_ops acquire_ops = {.name = "breaker_acquire", .apply = apply_acquire};
static const struct command_ops report_ops = {.name = "breaker_report", .apply = apply_report};
static const struct command_ops set_ops = {.name = "breaker_set", .apply = apply_set};
static const struct command_ops reset_ops = {.name = "breaker_reset", .apply = apply_reset};
static const struct command_ops trip_ops = {.name = "breaker_trip", .apply = apply_trip};

struct cmd_breaker *cmd_breaker_acquire_new(void)
{
    return command_new(&acquire_ops, sizeof(struct cmd_breaker));
}

struct cmd_breaker *cmd_breaker_report_new(void)
{
    return command_new(&report_ops, sizeof(struct cmd_breaker));
}

struct cmd_breaker *cmd_breaker_set_new(void)
{
    return command_new(&set_ops, sizeof(struct cmd_breaker));
}

struct cmd_breaker *cmd_breaker_reset_new(void)
{
    return command_new(&reset_ops, sizeof(struct cmd_breaker));
}

struct cmd_breaker *cmd_breaker_trip_new(void)
{
    return command_new(&trip_ops, sizeof(struct cmd_breaker));
}
