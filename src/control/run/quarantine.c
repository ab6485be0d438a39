#include "control/run/quarantine.h"
#include "control/commit/isolate.h"
#include "control/queue/settle.h"
#include "control/run/ending.h"
#include "core/event_types.h"
#include "store/timers.h"

enum { SWEEP_RUNS_MAX = 100 };
/* Runs that could not be ended are tried again then. */
#define SWEEP_FAILED_US US_PER_MINUTE

static enum rc emit(struct context *ctx, const char *type, const struct repository_row *row,
                    const char *reason)
{
    CLEANUP(event_body_release) struct event_body body;
    event_body_open(&body);
    jw_kstr(&body.jw, "repositoryId", row->id.text);
    jw_kstr(&body.jw, "repository", row->name);
    jw_optstr(&body.jw, "reason", reason);
    struct event event = {
        .type = type,
        .subject = arena_printf(ctx->arena, "repository/%s", row->name),
        .correlation_id = row->id,
        .data = event_body_close(&body),
    };
    return context_append(ctx, &event, NULL);
}

static enum rc set_sweep(struct context *ctx, const struct id *repository_id, int64_t due_us)
{
    struct timer_row timer = {
        .kind = TIMER_QUARANTINE, .subject = *repository_id, .due_us = due_us};
    context_due(ctx, timer.due_us);
    return timers_set(ctx->db, &timer, ctx->err);
}

static enum rc begin(struct context *ctx, struct repository_row *row, const char *reason)
{
    if (row->quarantined_us > 0)
        return RC_OK;
    row->quarantined_us = ctx->now_us;
    row->quarantine_reason = reason;
    row->updated_us = ctx->now_us;
    enum rc rc = repositories_save_quarantine(ctx->db, row, ctx->err);
    if (rc == RC_OK)
        rc = emit(ctx, EV_REPOSITORY_QUARANTINED, row, reason);
    ctx->round->admit = true;
    return rc == RC_OK ? set_sweep(ctx, &row->id, ctx->now_us) : rc;
}

enum rc quarantine_begin(struct context *ctx, const struct id *repository_id, const char *reason)
{
    struct repository_row row;
    enum rc rc = repositories_get(ctx->db, repository_id, ctx->arena, &row, ctx->err);
    if (rc != RC_OK || row.quarantined_us > 0)
        return rc;
    context_audit(ctx, &(struct audit_entry){.actor_type = "system",
                                             .actor_id = "drover",
                                             .action = "repository.quarantine",
                                             .resource_id = row.name});
    return begin(ctx, &row, reason);
}

enum rc quarantine_check(struct context *ctx, const struct repository_row *repository)
{
    if (repository->quarantined_us == 0)
        return RC_OK;
    return err_set(ctx->err, RC_DENIED, "REPO_QUARANTINED",
                   "repository %s is in quarantine: %.200s; when that is mended, let it go with: "
                   "drover repo release %s",
                   repository->name, repository->quarantine_reason, repository->name);
}

enum rc quarantine_end_run(struct context *ctx, struct flow *flow,
                           const struct repository_row *repository)
{
    enum rc rc = RC_OK;
    struct job_row job;
    if (!id_is_none(&flow->run.job_id)) {
        rc = jobs_get(ctx->db, &flow->run.job_id, ctx->arena, &job, ctx->err);
        if (rc == RC_OK && !job_is_settled(job.life.state))
            rc = settle_cancel(ctx, &job);
    }
    struct ending ending = {
        .event = RUN_EV_FAIL,
        .code = "repository_quarantined",
        .message = arena_printf(ctx->arena, "The repository is in quarantine: %s",
                                repository->quarantine_reason),
    };
    if (rc == RC_OK)
        rc = flow_end(ctx, flow, &ending);
    return rc == RC_OK ? flow_save(ctx, flow) : rc;
}

struct sweeping {
    const struct repository_row *repository;
    const struct id *run_id;
    bool failed; /* Some could not be ended: they are tried again, later. */
    bool more;
};

static enum rc sweep_run(struct context *ctx, void *subject, const struct failure *why)
{
    (void)why;
    const struct sweeping *sweeping = subject;
    CLEANUP(flow_release) struct flow flow = {0};
    enum rc rc = flow_load(ctx, sweeping->run_id, &flow);
    if (rc == RC_OK && !run_is_terminal(flow.run.status))
        rc = quarantine_end_run(ctx, &flow, sweeping->repository);
    return rc;
}

static enum rc sweep_later(struct context *ctx, void *subject, const struct failure *why)
{
    (void)ctx;
    (void)why;
    ((struct sweeping *)subject)->failed = true;
    return RC_OK;
}

/* Runs of one state, some of them. */
static enum rc sweep_state(struct context *ctx, struct sweeping *sweeping, enum run_status status)
{
    static isolate_try *const tries[] = {sweep_run, sweep_later, NULL};
    struct run_filter filter = {
        .repository = sweeping->repository->name, .status = (int)status, .limit = SWEEP_RUNS_MAX};
    struct run_row *rows;
    size_t count;
    enum rc rc = runs_list(ctx->db, &filter, ctx->arena, &rows, &count, ctx->err);
    for (size_t i = 0; rc == RC_OK && i < count; i++) {
        sweeping->run_id = &rows[i].id;
        const struct isolated one = {"run", rows[i].id.text, sweeping, tries};
        rc = isolate(ctx, &one);
    }
    sweeping->more |= count == SWEEP_RUNS_MAX;
    return rc;
}

enum rc quarantine_sweep(struct context *ctx, const struct id *repository_id)
{
    struct repository_row row;
    struct sweeping sweeping = {.repository = &row};
    enum rc rc = repositories_get(ctx->db, repository_id, ctx->arena, &row, ctx->err);
    if (rc != RC_OK || row.quarantined_us == 0)
        return rc;
    for (int status = 0; rc == RC_OK && status < RUN_STATUS_COUNT; status++)
        if (!run_is_terminal((enum run_status)status))
            rc = sweep_state(ctx, &sweeping, (enum run_status)status);
    if (rc != RC_OK || !(sweeping.more || sweeping.failed))
        return rc;
    int64_t pause_us = sweeping.failed ? SWEEP_FAILED_US : 1;
    return set_sweep(ctx, repository_id, ctx->now_us + pause_us);
}

/* ---- the commands ---- */

static enum rc find(struct context *ctx, const char *name, struct repository_row *ret_row)
{
    struct repository_row row;
    enum rc rc = repositories_by_name(ctx->db, &ctx->workspace_id, name, ctx->arena, &row,
                                      ctx->err);
    if (rc == RC_NOT_FOUND || (rc == RC_OK && row.removed))
        return err_set(ctx->err, RC_NOT_FOUND, "REPO_NOT_FOUND", "there is no repository %s", name);
    if (rc == RC_OK)
        *ret_row = row;
    return rc;
}

static enum rc apply_quarantine(struct context *ctx, struct command *command)
{
    struct cmd_quarantine *cmd = (struct cmd_quarantine *)command;
    enum rc rc = find(ctx, cmd->name, &cmd->row);
    if (rc != RC_OK)
        return rc;
    const char *reason = cmd->reason != NULL ? cmd->reason : "no reason was given";
    return begin(ctx, &cmd->row, reason);
}

static enum rc apply_release(struct context *ctx, struct command *command)
{
    struct cmd_quarantine *cmd = (struct cmd_quarantine *)command;
    enum rc rc = find(ctx, cmd->name, &cmd->row);
    if (rc != RC_OK || cmd->row.quarantined_us == 0)
        return rc;
    cmd->row.quarantined_us = 0;
    cmd->row.quarantine_reason = NULL;
    cmd->row.updated_us = ctx->now_us;
    rc = repositories_save_quarantine(ctx->db, &cmd->row, ctx->err);
    if (rc == RC_OK)
        rc = timers_clear(ctx->db, TIMER_QUARANTINE, &cmd->row.id, ctx->err);
    return rc == RC_OK ? emit(ctx, EV_REPOSITORY_RELEASED, &cmd->row, cmd->reason) : rc;
}

static const struct command_ops quarantine_ops = {.name = "quarantine", .apply = apply_quarantine};
static const struct command_ops release_ops = {.name = "quarantine_release",
                                               .apply = apply_release};

struct cmd_quarantine *cmd_quarantine_new(void)
{
    return command_new(&quarantine_ops, sizeof(struct cmd_quarantine));
}

struct cmd_quarantine *cmd_quarantine_release_new(void)
{
    return command_new(&release_ops, sizeof(struct cmd_quarantine));
}
