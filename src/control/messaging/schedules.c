#include "control/messaging/schedules.h"
#include "base/clock.h"
#include "base/js.h"
#include "control/commit/event_body.h"
#include "control/commit/isolate.h"
#include "control/queue/enqueue.h"
#include "core/event_types.h"
#include "core/queue/cron.h"
#include "core/queue/rank.h"
#include "store/workspaces.h"
#include <string.h>

/* ---- firing ---- */

static const char *member(struct context *ctx, const struct js *job, const char *key)
{
    return arena_strdup(ctx->arena, js_get_str(job, key, NULL));
}

/* The document was validated when the schedule was put. */
static enum rc read_job(struct context *ctx, const struct schedule_row *row,
                        struct job_spec *ret_spec)
{
    CLEANUP(js_freep) struct js *job = NULL;
    enum rc rc = js_parse(row->job.at, row->job.len, &job, ctx->err);
    if (rc != RC_OK)
        return rc;
    const struct js *payload = js_get(job, "payload");
    *ret_spec = (struct job_spec){
        .queue = member(ctx, job, "queue"),
        .type = member(ctx, job, "type"),
        .payload = payload != NULL ? str_of(js_text(payload, ctx->arena)) : STR("null"),
        .priority = js_get_int(job, "priority", PRIORITY_NORMAL),
        .ordering_key = member(ctx, job, "orderingKey"),
        .dependency = member(ctx, job, "dependency"),
        .delay_us = js_get_int(job, "delayMs", 0) * US_PER_MS,
        .ttl_us = js_get_int(job, "ttlMs", 0) * US_PER_MS,
        .max_attempts = js_get_int(job, "maxAttempts", 0),
    };
    return RC_OK;
}

static struct str write_headers(struct context *ctx, const struct schedule_row *row,
                                int64_t time_us)
{
    CLEANUP(event_body_release) struct event_body body;
    event_body_open(&body);
    jw_kstr(&body.jw, "schedule", row->name);
    jw_ktime(&body.jw, "scheduledAt", time_us);
    struct str json = event_body_close(&body);
    return (struct str){arena_strndup(ctx->arena, json.at, json.len), json.len};
}

static enum rc emit(struct context *ctx, const struct schedule_row *row, const char *type,
                    struct event_body *body)
{
    struct event event = {
        .type = type,
        .subject = arena_printf(ctx->arena, "schedule/%s", row->name),
        .correlation_id = row->last_job_id,
        .data = event_body_close(body),
    };
    return context_append(ctx, &event, NULL);
}

static enum rc emit_fired(struct context *ctx, const struct schedule_row *row,
                          const struct job_spec *spec, bool by_hand)
{
    CLEANUP(event_body_release) struct event_body body;
    event_body_open(&body);
    jw_kstr(&body.jw, "schedule", row->name);
    jw_ktime(&body.jw, "scheduledAt", row->last_us);
    jw_kstr(&body.jw, "jobId", row->last_job_id.text);
    jw_kstr(&body.jw, "queue", spec->queue);
    jw_kstr(&body.jw, "jobType", spec->type);
    jw_kbool(&body.jw, "manual", by_hand);
    return emit(ctx, row, EV_SCHEDULE_FIRED, &body);
}

static enum rc emit_refused(struct context *ctx, const struct schedule_row *row, int64_t time_us,
                            const struct err *why)
{
    CLEANUP(event_body_release) struct event_body body;
    event_body_open(&body);
    jw_kstr(&body.jw, "schedule", row->name);
    jw_ktime(&body.jw, "scheduledAt", time_us);
    jw_kstr(&body.jw, "errorCode", why->code);
    jw_kstr(&body.jw, "errorMessage", why->text);
    return emit(ctx, row, EV_SCHEDULE_REFUSED, &body);
}

static enum rc enqueue_firing(struct context *ctx, struct schedule_row *row, int64_t time_us,
                              const char *dedup_key)
{
    struct job_spec spec;
    struct enqueue_answer answer;
    enum rc rc = read_job(ctx, row, &spec);
    if (rc != RC_OK)
        return rc;
    spec.dedup_key = dedup_key;
    spec.headers = write_headers(ctx, row, time_us);
    rc = enqueue_one(ctx, &spec, &answer);
    if (rc != RC_OK)
        return rc;
    if (answer.dropped)
        return err_set(ctx->err, RC_LIMIT, answer.code,
                       "queue %s is overloaded and takes no jobs of this priority now", spec.queue);
    row->last_us = time_us;
    row->last_job_id = answer.id;
    return answer.duplicate ? RC_OK : emit_fired(ctx, row, &spec, dedup_key == NULL);
}

static bool is_refusal(enum rc rc)
{
    return rc != RC_OK && rc != RC_IO && rc != RC_BUSY && rc != RC_CORRUPT && rc != RC_UNREACHABLE;
}

static int64_t next_time(const char *text, int64_t after_us)
{
    struct cron cron;
    return cron_parse(text, &cron, NULL) == RC_OK ? cron_next(&cron, after_us) : 0;
}

/* A job that its queue refuses is reported by an event, and the schedule continues. */
static enum rc try_fire(struct context *ctx, void *subject, const struct failure *why)
{
    (void)why;
    struct schedule_row row = *(const struct schedule_row *)subject;
    int64_t time_us = row.next_us;
    char text[TIME_TEXT_BYTES];
    const char *key = arena_printf(ctx->arena, "cron:%s:%s", row.name, time_format(text, time_us));
    enum rc rc = enqueue_firing(ctx, &row, time_us, key);
    if (is_refusal(rc))
        rc = emit_refused(ctx, &row, time_us, ctx->err);
    row.next_us = next_time(row.cron, ctx->now_us);
    return rc == RC_OK ? schedules_save(ctx->db, &row, ctx->err) : rc;
}

/* A job that cannot be made is reported in the same way. */
static enum rc refuse_firing(struct context *ctx, void *subject, const struct failure *why)
{
    struct schedule_row row = *(const struct schedule_row *)subject;
    enum rc rc = emit_refused(ctx, &row, row.next_us, &why->err);
    row.next_us = next_time(row.cron, ctx->now_us);
    return rc == RC_OK ? schedules_save(ctx->db, &row, ctx->err) : rc;
}

static enum rc fire(struct context *ctx, struct schedule_row *row)
{
    static isolate_try *const tries[] = {try_fire, refuse_firing, NULL};
    const struct isolated one = {"schedule", row->name, row, tries};
    return isolate(ctx, &one);
}

enum rc schedules_fire(struct context *ctx, const struct lease_proof *proof, int64_t limit,
                       size_t *ret_count)
{
    struct schedule_row *rows;
    size_t count = 0;
    struct due_ask ask = {proof, ctx->now_us, limit};
    enum rc rc = schedules_due(ctx->db, &ask, ctx->arena, &rows, &count, ctx->err);
    for (size_t i = 0; rc == RC_OK && i < count; i++)
        rc = fire(ctx, &rows[i]);
    if (rc == RC_OK)
        *ret_count = count;
    return rc;
}

/* ---- the commands ---- */

/* One at a time, so that the limit holds on many nodes too. */
static enum rc check_room(struct context *ctx)
{
    int64_t count = 0;
    enum rc rc = RC_OK;
    if (db_is_shared(ctx->db))
        rc = workspaces_lock(ctx->db, &ctx->workspace_id, ctx->err);
    if (rc == RC_OK)
        rc = schedules_count(ctx->db, &count, ctx->err);
    if (rc == RC_OK && count >= SCHEDULES_MAX)
        return err_set(ctx->err, RC_CONFLICT, "TOO_MANY_SCHEDULES",
                       "there are %d schedules, and no more are possible; remove one first",
                       SCHEDULES_MAX);
    return rc;
}

/* A schedule that keeps its times also keeps one that is due but was not fired yet. */
static int64_t first_time(const struct context *ctx, const struct cmd_schedule_put *cmd,
                          const struct schedule_row *before)
{
    if (!cmd->enabled)
        return 0;
    if (before->enabled && strcmp(before->cron, cmd->cron) == 0)
        return before->next_us;
    return next_time(cmd->cron, ctx->now_us);
}

static enum rc apply_put(struct context *ctx, struct command *command)
{
    struct cmd_schedule_put *cmd = (struct cmd_schedule_put *)command;
    struct schedule_row row;
    enum rc rc = schedules_get(ctx->db, cmd->name, ctx->arena, &row, ctx->err);
    cmd->created = rc == RC_NOT_FOUND;
    if (cmd->created) {
        rc = check_room(ctx);
        row = (struct schedule_row){.name = cmd->name, .cron = "", .created_us = ctx->now_us};
    }
    if (rc != RC_OK)
        return rc;
    row.next_us = first_time(ctx, cmd, &row);
    row.cron = cmd->cron;
    row.job = cmd->job;
    row.enabled = cmd->enabled;
    row.updated_us = ctx->now_us;
    cmd->row = row;
    if (row.next_us > 0)
        context_due(ctx, row.next_us);
    return schedules_put(ctx->db, &row, ctx->err);
}

static const struct command_ops put_ops = {.name = "schedule_put", .apply = apply_put};

struct cmd_schedule_put *cmd_schedule_put_new(void)
{
    return command_new(&put_ops, sizeof(struct cmd_schedule_put));
}

static enum rc apply_remove(struct context *ctx, struct command *command)
{
    struct cmd_schedule_remove *cmd = (struct cmd_schedule_remove *)command;
    struct schedule_row row;
    enum rc rc = schedules_get(ctx->db, cmd->name, ctx->arena, &row, ctx->err);
    return rc == RC_OK ? schedules_remove(ctx->db, cmd->name, ctx->err) : rc;
}

static const struct command_ops remove_ops = {.name = "schedule_remove", .apply = apply_remove};

struct cmd_schedule_remove *cmd_schedule_remove_new(void)
{
    return command_new(&remove_ops, sizeof(struct cmd_schedule_remove));
}

static enum rc apply_run(struct context *ctx, struct command *command)
{
    struct cmd_schedule_run *cmd = (struct cmd_schedule_run *)command;
    struct schedule_row row;
    enum rc rc = schedules_get(ctx->db, cmd->name, ctx->arena, &row, ctx->err);
    if (rc == RC_OK)
        rc = enqueue_firing(ctx, &row, ctx->now_us, NULL);
    if (rc != RC_OK)
        return rc;
    cmd->job_id = row.last_job_id;
    return schedules_save(ctx->db, &row, ctx->err);
}

static const struct command_ops run_ops = {.name = "schedule_run", .apply = apply_run};

struct cmd_schedule_run *cmd_schedule_run_new(void)
{
    return command_new(&run_ops, sizeof(struct cmd_schedule_run));
}
