/*
 * intake.c - see intake.h.
 *
 * Locks the issue's row before its run; nothing locks them the other way round.
 */
#include "control/pr/intake.h"
#include "base/log.h"
#include "control/admit/retry.h"
#include "control/admit/submit.h"
#include "control/commit/config_book.h"
#include "control/pr/intake_progress.h"
#include "control/run/effective.h"
#include "control/run/stop.h"
#include "core/event_types.h"
#include "store/artifacts.h"
#include <inttypes.h>
#include <string.h>

enum { ORIGIN_BYTES_MAX = 32 * 1024 };

/* ---- looking ---- */

static void write_look(struct jw *jw, const void *subject)
{
    jw_kint(jw, "number", *(const int64_t *)subject);
}

enum rc intake_look(struct context *ctx, const struct repository_row *repository, int64_t number)
{
    CLEANUP(config_book_putp) struct known_config *known = effective_now(ctx, repository);
    if (known == NULL || !known->config.intake.enabled || repository->removed || number < 1)
        return RC_OK;
    const struct repo_job job = {
        .kind = STEP_ISSUE,
        .repository = repository,
        .dedup_key = arena_printf(ctx->arena, "issue:%s:%" PRId64, repository->id.text, number),
        .write = write_look,
        .subject = &number,
    };
    return repo_job_enqueue(ctx, &job, NULL);
}

/* ---- deciding ---- */

/* All that belongs to one issue that was read. */
struct reading {
    const struct repository_row *repository;
    const struct repo_config *config;
    const char *view_sha256;
    struct issue_view view;
    struct intake_row row;
    bool is_new;
    enum issue_state state_before;
    struct str origin; /* Of the task that there was before; or empty. */
    struct issue_decision decision;
};

static enum rc load_view(struct context *ctx, struct reading *reading)
{
    const struct artifact_source source = {ctx->store, ctx->db};
    CLEANUP(buf_release) struct buf bytes;
    CLEANUP(js_freep) struct js *tree = NULL;
    buf_init(&bytes, ISSUE_VIEW_BYTES_MAX);
    enum rc rc = artifact_read(&source, reading->view_sha256, &bytes, ctx->err);
    if (rc == RC_OK && bytes.overflow)
        rc = err_set(ctx->err, RC_TOO_LARGE, "ISSUE_TOO_LARGE", "an issue as read is too large");
    if (rc == RC_OK)
        rc = js_parse(buf_text(&bytes), bytes.len, &tree, ctx->err);
    return rc == RC_OK ? issue_view_decode(tree, ctx->arena, &reading->view, ctx->err) : rc;
}

static enum rc load_row(struct context *ctx, struct reading *reading)
{
    struct intake_row *row = &reading->row;
    enum rc rc = intake_of_issue(ctx->db, &reading->repository->id, reading->view.number,
                                 ctx->arena, row, ctx->err);
    if (rc != RC_NOT_FOUND)
        return rc;
    reading->is_new = true;
    *row = (struct intake_row){
        .id = context_id(ctx),
        .workspace_id = ctx->workspace_id,
        .repository_id = reading->repository->id,
        .issue_number = reading->view.number,
        .created_us = ctx->now_us,
    };
    return RC_OK;
}

/* The task may have ended since: then the issue is done. */
static enum rc load_known(struct context *ctx, struct reading *reading, struct issue_known *known)
{
    struct intake_row *row = &reading->row;
    struct task_row task = {.status = TASK_FAILED};
    reading->state_before = row->state;
    if (!id_is_none(&row->task_id)) {
        enum rc rc = tasks_get(ctx->db, &row->task_id, ctx->arena, &task, ctx->err);
        if (rc != RC_OK)
            return rc;
    }
    if (row->state == ISSUE_ACTIVE && task_is_terminal(task.status))
        row->state = ISSUE_DONE;
    reading->origin = task.origin;
    *known = (struct issue_known){
        .there = !reading->is_new,
        .state = row->state,
        .completed = task.status == TASK_COMPLETED || id_is_none(&row->task_id),
        .started_by = row->started_by,
        .text_sha256 = row->text_sha256,
        .text_us = row->text_us,
        .last_comment_id = row->last_comment_id,
        .act_us = row->act_us,
        /* Forges count in whole seconds. */
        .since_us = reading->repository->created_us / US_PER_SECOND * US_PER_SECOND,
    };
    return RC_OK;
}

/* ---- acting ---- */

static struct str write_origin(struct context *ctx, const struct reading *reading)
{
    const struct issue_decision *decision = &reading->decision;
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, ORIGIN_BYTES_MAX);
    struct jw jw = jw_to(&text);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "kind", "issue");
    jw_kstr(&jw, "forge", reading->config->forge);
    jw_kint(&jw, "number", reading->view.number);
    jw_kstr(&jw, "title", reading->view.title);
    jw_kstr(&jw, "author", reading->view.author.login);
    jw_kstr(&jw, "askedBy", decision->asker.login);
    jw_optstr(&jw, "association", decision->asker.association);
    jw_kstr(&jw, "by", decision->by);
    jw_ktime(&jw, "askedAt", decision->act_us);
    jw_kstr(&jw, "issueSha256", reading->view_sha256);
    jw_kstr(&jw, "textSha256", decision->prompt_sha256);
    jw_key(&jw, "comments");
    jw_begin(&jw, '[');
    for (size_t i = 0; i < decision->comment_count; i++)
        jw_int(&jw, decision->comment_ids[i]);
    jw_end(&jw, ']');
    jw_end(&jw, '}');
    return (struct str){arena_strndup(ctx->arena, buf_text(&text), text.len), text.len};
}

static const char *requester(struct context *ctx, const struct reading *reading)
{
    return arena_printf(ctx->arena, "%s/%s", reading->config->forge, reading->decision.asker.login);
}

static struct submission submission_of(struct context *ctx, const struct reading *reading)
{
    const struct issue_task *task = &reading->decision.task;
    struct submission want = submission_new();
    want.repository = reading->repository->name;
    want.issue_number = reading->view.number;
    want.task_type = task->task_type;
    want.target_branch = task->target_branch;
    want.max_budget_microusd = task->max_budget_microusd;
    want.origin = write_origin(ctx, reading);
    want.requested_by = requester(ctx, reading);
    if (task->risk >= 0)
        want.risk = (enum risk)task->risk;
    if (task->mode >= 0)
        want.mode = (enum mode)task->mode;
    if (task->priority >= 0)
        want.priority = task->priority;
    return want;
}

/* Refused on its merits, rather than for a fault of the store. */
static bool is_refusal(enum rc rc)
{
    return rc == RC_INVALID || rc == RC_DENIED || rc == RC_CONFLICT || rc == RC_TOO_LARGE ||
           rc == RC_LIMIT || rc == RC_NOT_FOUND;
}

/* It is done, without a task of this request. */
static void note_refusal(struct context *ctx, struct intake_row *row)
{
    row->state = ISSUE_DONE;
    row->task_id = (struct id){0};
    row->reason = arena_strdup(ctx->arena, ctx->err->text);
    err_clear(ctx->err);
}

static void note_request(struct reading *reading)
{
    const struct issue_decision *decision = &reading->decision;
    struct intake_row *row = &reading->row;
    row->asked_by = decision->asker.login;
    row->started_by = decision->by;
    row->act_us = decision->act_us;
    row->reason = decision->reason;
}

static enum rc do_submit(struct context *ctx, struct reading *reading)
{
    struct intake_row *row = &reading->row;
    const struct submission want = submission_of(ctx, reading);
    struct submitted answer;
    enum rc rc = submit_task(ctx, &want, &answer);
    if (rc != RC_OK && !is_refusal(rc))
        return rc;
    note_request(reading);
    if (rc != RC_OK || answer.refused != RC_OK) {
        note_refusal(ctx, row);
        return RC_OK;
    }
    row->state = ISSUE_ACTIVE;
    row->task_id = answer.task_id;
    row->prompt_sha256 = arena_strdup(ctx->arena, reading->decision.prompt_sha256);
    row->changed = false;
    row->closes = row->merged = false;
    return RC_OK;
}

static enum rc do_cancel(struct context *ctx, struct reading *reading)
{
    CLEANUP(flow_release) struct flow flow = {0};
    struct intake_row *row = &reading->row;
    const char *by = reading->decision.asker.login != NULL ? requester(ctx, reading) : "drover";
    const struct stop_request request = {
        .kind = RUN_STOP_CANCEL, .by = by, .reason = reading->decision.reason};
    bool stopping;
    row->state = ISSUE_DONE;
    row->reason = reading->decision.reason;
    if (id_is_none(&row->task_id))
        return RC_OK;
    enum rc rc = flow_load_latest(ctx, &row->task_id, &flow);
    if (rc != RC_OK || run_is_terminal(flow.run.status))
        return rc;
    return stop_run(ctx, &flow, &request, &stopping);
}

static enum rc do_retry(struct context *ctx, struct reading *reading)
{
    struct intake_row *row = &reading->row;
    struct retried retried;
    const struct retry_request request = {.task_id = row->task_id,
                                          .requested_by = requester(ctx, reading)};
    enum rc rc = retry_latest(ctx, &request, &retried);
    if (rc != RC_OK && !is_refusal(rc))
        return rc;
    note_request(reading);
    if (rc == RC_OK) {
        row->state = ISSUE_ACTIVE;
    } else {
        row->reason = arena_strdup(ctx->arena, ctx->err->text);
        err_clear(ctx->err);
    }
    return RC_OK;
}

static enum rc act(struct context *ctx, struct reading *reading)
{
    struct intake_row *row = &reading->row;
    switch (reading->decision.what) {
    case ISSUE_SUBMIT:
        return do_submit(ctx, reading);
    case ISSUE_CANCEL:
        return do_cancel(ctx, reading);
    case ISSUE_RETRY:
        return do_retry(ctx, reading);
    case ISSUE_AWAIT:
        row->state = ISSUE_AWAITING;
        row->task_id = (struct id){0};
        note_request(reading);
        return RC_OK;
    case ISSUE_FORGET:
        row->state = ISSUE_SEEN;
        row->started_by = NULL;
        row->reason = reading->decision.reason;
        return RC_OK;
    case ISSUE_STATUS:
    case ISSUE_HELP:
        row->told = NULL; /* Written again in any case. */
        return RC_OK;
    case ISSUE_NOTHING:
    case ISSUE_DO_COUNT:
        break;
    }
    return RC_OK;
}

/* ---- recording ---- */

static enum rc emit_decided(struct context *ctx, const struct reading *reading)
{
    const struct issue_decision *decision = &reading->decision;
    const struct intake_row *row = &reading->row;
    if (decision->what == ISSUE_NOTHING && decision->denied == 0)
        return RC_OK;
    CLEANUP(event_body_release) struct event_body body;
    event_body_open(&body);
    jw_kstr(&body.jw, "repositoryId", reading->repository->id.text);
    jw_kstr(&body.jw, "repository", reading->repository->name);
    jw_kint(&body.jw, "number", row->issue_number);
    jw_kstr(&body.jw, "decision", issue_do_name(decision->what));
    jw_kstr(&body.jw, "state", issue_state_name(row->state));
    jw_kstr(&body.jw, "reason", row->reason != NULL ? row->reason : decision->reason);
    jw_optstr(&body.jw, "askedBy", decision->asker.login);
    jw_optstr(&body.jw, "by", decision->by);
    if (decision->denied > 0)
        jw_kint(&body.jw, "deniedCommands", (int64_t)decision->denied);
    jw_optstr(&body.jw, "taskId", id_or_null(&row->task_id));
    struct event event = {
        .type = EV_ISSUE_DECIDED,
        .subject = arena_printf(ctx->arena, "issue/%s/%" PRId64, reading->repository->name,
                                row->issue_number),
        .correlation_id = id_is_none(&row->task_id) ? reading->repository->id : row->task_id,
        .data = event_body_close(&body),
    };
    return context_append(ctx, &event, NULL);
}

/* An issue that waits for an approval is looked at often, and decided upon once. */
static bool is_repeated(const struct reading *reading)
{
    const struct intake_row *row = &reading->row;
    return reading->decision.what == ISSUE_AWAIT && row->state == ISSUE_AWAITING &&
           text_same(row->reason, reading->decision.reason) && reading->decision.denied == 0;
}

/* What was read before is of no use any more, unless it is what a task was made of. */
static enum rc drop_view(struct context *ctx, const struct reading *reading)
{
    const struct artifact_source source = {ctx->store, ctx->db};
    const char *old = reading->row.view_sha256;
    if (old == NULL || text_same(old, reading->view_sha256) ||
        (reading->origin.len > 0 &&
         memmem(reading->origin.at, reading->origin.len, old, strlen(old)) != NULL))
        return RC_OK;
    return artifact_drop(&source, old, ctx->err);
}

/* Else the comment stays as it is: an answer to /drover help must outlive the next look, which
   drover's own comment may have caused. */
static bool has_news(const struct reading *reading)
{
    return reading->decision.what != ISSUE_NOTHING || reading->decision.changed ||
           reading->row.state != reading->state_before;
}

static enum rc save(struct context *ctx, struct reading *reading)
{
    const struct issue_decision *decision = &reading->decision;
    struct intake_row *row = &reading->row;
    enum rc rc = drop_view(ctx, reading);
    if (rc != RC_OK)
        return rc;
    row->last_comment_id = decision->last_comment_id;
    row->changed |= decision->changed && decision->what != ISSUE_SUBMIT;
    row->text_sha256 = arena_strdup(ctx->arena, decision->text_sha256);
    row->text_us = decision->text_us;
    row->view_sha256 = reading->view_sha256;
    row->looked_us = row->updated_us = ctx->now_us;
    if (reading->is_new)
        rc = intake_insert(ctx->db, row, ctx->err);
    if (rc != RC_OK)
        return rc;
    /* Both save the row. */
    return has_news(reading)
               ? intake_tell(ctx, reading->repository, row, decision->what == ISSUE_HELP)
               : intake_tell_again(ctx, reading->repository, row);
}

/* The forge has no such issue any more: as if it were closed. */
static enum rc read_gone(struct context *ctx, struct reading *reading, int64_t number)
{
    enum rc rc = intake_of_issue(ctx->db, &reading->repository->id, number, ctx->arena,
                                 &reading->row, ctx->err);
    if (rc != RC_OK || reading->row.state != ISSUE_ACTIVE)
        return rc == RC_NOT_FOUND ? RC_OK : rc;
    reading->decision = (struct issue_decision){.what = ISSUE_CANCEL,
                                                .reason = "the issue was deleted"};
    rc = do_cancel(ctx, reading);
    if (rc == RC_OK)
        rc = emit_decided(ctx, reading);
    return rc == RC_OK ? intake_save(ctx->db, &reading->row, ctx->err) : rc;
}

enum rc intake_read(struct context *ctx, const struct repo_job_end *end)
{
    CLEANUP(config_book_putp) struct known_config *known = effective_now(ctx, end->repository);
    if (known == NULL || end->repository->removed)
        return RC_OK;
    struct reading *reading = arena_alloc(ctx->arena, sizeof *reading);
    struct issue_known before;
    reading->repository = end->repository;
    reading->config = &known->config;
    reading->view_sha256 = js_get_str(end->result, "issueSha256", NULL);
    if (reading->view_sha256 == NULL)
        return read_gone(ctx, reading, js_get_int(end->payload, "number", 0));
    enum rc rc = load_view(ctx, reading);
    if (rc == RC_OK)
        rc = load_row(ctx, reading);
    if (rc == RC_OK)
        rc = load_known(ctx, reading, &before);
    if (rc != RC_OK)
        return rc;
    reading->decision = issue_decide(&known->config.intake, &reading->view, &before, ctx->arena);
    bool repeated = is_repeated(reading);
    rc = act(ctx, reading);
    if (rc == RC_OK && !repeated)
        rc = emit_decided(ctx, reading);
    return rc == RC_OK ? save(ctx, reading) : rc;
}
