#include "control/pr/intake_progress.h"
#include "control/commit/config_book.h"
#include "control/run/effective.h"
#include "core/event_types.h"
#include "core/pr/intake_text.h"
#include "store/pull_requests.h"
#include "store/questions.h"
#include "store/shepherds.h"
#include "store/timers.h"
#include <inttypes.h>

/* Events of one such span of time are told together. */
#define TELL_EVERY_US (3 * US_PER_SECOND)

/* ---- the facts ---- */

static enum rc add_question(struct context *ctx, const struct run_row *run,
                            struct issue_progress *progress)
{
    struct question_row *rows;
    size_t count;
    const struct waiting_filter filter = {.status = "pending", .run_id = run->id, .limit = 1};
    enum rc rc = questions_list(ctx->db, &filter, ctx->arena, &rows, &count, ctx->err);
    if (rc == RC_OK && count > 0)
        progress->question = rows[0].text;
    return rc;
}

/* What CI and reviewers say, as far as drover follows the pull request. */
static enum rc add_shepherd(struct context *ctx, const struct id *pull_request_id,
                            struct issue_progress *progress)
{
    struct shepherd_row row;
    enum rc rc = shepherds_get(ctx->db, pull_request_id, ctx->arena, &row, ctx->err);
    if (rc == RC_OK && row.reason != NULL)
        progress->pr_news = arena_printf(ctx->arena, "%s: %s", shepherd_state_name(row.state),
                                         row.reason);
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}

static enum rc add_pull_request(struct context *ctx, const struct run_row *run,
                                struct issue_progress *progress)
{
    struct pull_request_row pr;
    if (id_is_none(&run->pull_request_id))
        return RC_OK;
    enum rc rc = pull_requests_get(ctx->db, &run->pull_request_id, ctx->arena, &pr, ctx->err);
    if (rc != RC_OK)
        return rc;
    progress->pr_number = pr.number;
    progress->pr_url = pr.url;
    progress->pr_state = pr.draft && text_same(pr.status, "open") ? "draft" : pr.status;
    return text_same(pr.status, "open") ? add_shepherd(ctx, &pr.id, progress) : RC_OK;
}

/* The step that its status stands for; NULL: it waits or has ended. */
static const char *step_of(const struct run_row *run)
{
    if (run->status == RUN_QUEUED || run->status == RUN_AWAITING_APPROVAL ||
        run_is_terminal(run->status))
        return NULL;
    return run_status_name(run->status);
}

static enum rc add_task(struct context *ctx, const struct intake_row *row,
                        struct issue_progress *progress)
{
    CLEANUP(flow_release) struct flow flow = {0};
    if (id_is_none(&row->task_id))
        return RC_OK;
    enum rc rc = flow_load_latest(ctx, &row->task_id, &flow);
    if (rc != RC_OK)
        return rc;
    const struct run_row *run = &flow.run;
    progress->task_id = row->task_id.text;
    progress->run_no = run->run_no;
    progress->status = flow.task.status;
    progress->step = step_of(run);
    progress->deferred = run->status == RUN_QUEUED ? run->deferred_reason : NULL;
    progress->cost_microusd = run->cost_microusd;
    progress->approval = run->status == RUN_AWAITING_APPROVAL;
    progress->error = run->error_message;
    progress->can_retry = task_is_terminal(flow.task.status) && flow.task.status != TASK_COMPLETED;
    rc = add_pull_request(ctx, run, progress);
    return rc == RC_OK ? add_question(ctx, run, progress) : rc;
}

/* ---- the job ---- */

static void write_comment(struct jw *jw, const void *subject)
{
    const struct intake_row *row = subject;
    jw_kint(jw, "number", row->issue_number);
    jw_kstr(jw, "key", "issue");
    jw_kstr(jw, "body", row->wanted);
    jw_kbool(jw, "close", row->closes);
}

/* Only when there is something new. */
static enum rc enqueue_comment(struct context *ctx, const struct repository_row *repository,
                               const struct intake_row *row)
{
    if (row->wanted == NULL || (text_same(row->wanted, row->told) && !row->closes))
        return RC_OK;
    const struct repo_job job = {
        .kind = STEP_COMMENT,
        .repository = repository,
        .dedup_key = arena_printf(ctx->arena, "comment:%s:%" PRId64, repository->id.text,
                                  row->issue_number),
        .write = write_comment,
        .subject = row,
    };
    return repo_job_enqueue(ctx, &job, NULL);
}

/* Does drover say anything there?  An issue that was only looked at gets no comment. */
static bool is_told(const struct intake_rules *rules, const struct intake_row *row, bool help)
{
    return rules->enabled && rules->comment &&
           (row->state != ISSUE_SEEN || row->wanted != NULL || help);
}

enum rc intake_tell(struct context *ctx, const struct repository_row *repository,
                    struct intake_row *row, bool help)
{
    CLEANUP(config_book_putp) struct known_config *known = effective_now(ctx, repository);
    struct issue_progress progress = {.state = row->state,
                                      .reason = row->reason,
                                      .asked_by = row->asked_by,
                                      .by = row->started_by,
                                      .changed = row->changed,
                                      .help = help};
    enum rc rc = add_task(ctx, row, &progress);
    if (rc != RC_OK)
        return rc;
    if (row->state == ISSUE_ACTIVE && task_is_terminal(progress.status))
        row->state = progress.state = ISSUE_DONE;
    bool told = known != NULL && is_told(&known->config.intake, row, help);
    if (told) {
        CLEANUP(buf_release) struct buf text;
        buf_init(&text, INTAKE_TEXT_MAX);
        issue_progress_write(&progress, ctx->arena, &text);
        row->wanted = arena_strndup(ctx->arena, buf_text(&text), text.len);
    }
    row->updated_us = ctx->now_us;
    rc = intake_save(ctx->db, row, ctx->err);
    return rc == RC_OK && told ? enqueue_comment(ctx, repository, row) : rc;
}

enum rc intake_tell_again(struct context *ctx, const struct repository_row *repository,
                          struct intake_row *row)
{
    CLEANUP(config_book_putp) struct known_config *known = effective_now(ctx, repository);
    row->updated_us = ctx->now_us;
    enum rc rc = intake_save(ctx->db, row, ctx->err);
    return rc == RC_OK && known != NULL && is_told(&known->config.intake, row, false)
               ? enqueue_comment(ctx, repository, row)
               : rc;
}

/* ---- when ---- */

static bool is_progress(const char *type)
{
    static const char *const types[] = {
        EV_RUN_QUEUED,        EV_RUN_STATUS_CHANGED, EV_TASK_DEFERRED,   EV_TASK_COMPLETED,
        EV_TASK_FAILED,       EV_TASK_CANCELLED,     EV_TASK_TIMED_OUT,  EV_PR_CREATED,
        EV_PR_MERGED,         EV_PR_CLOSED,          EV_QUESTION_ASKED,  EV_QUESTION_ANSWERED,
        EV_QUESTION_EXPIRED,  EV_APPROVAL_REQUESTED, EV_COST_RECORDED,   EV_APPROVAL_APPROVED,
        EV_APPROVAL_REJECTED, EV_PR_STATE_CHANGED,   EV_PR_CHECK_FAILED, EV_PR_REPAIR_STARTED,
        EV_PR_REPAIR_ENDED,   EV_PR_REBASED,         EV_PR_HEAD_CHANGED, EV_QUESTION_WITHDRAWN,
    };
    for (size_t i = 0; i < COUNT_OF(types); i++)
        if (text_same(types[i], type))
            return true;
    return false;
}

/* Times on a grid: events that keep coming do not put the telling off. */
enum rc intake_event(struct context *ctx, const struct flow *flow, const char *type)
{
    if (flow->task.origin.len == 0 || !is_progress(type))
        return RC_OK;
    const struct timer_row timer = {
        .kind = TIMER_INTAKE,
        .subject = flow->task.id,
        .due_us = (ctx->now_us / TELL_EVERY_US + 1) * TELL_EVERY_US,
    };
    context_due(ctx, timer.due_us);
    return timers_set(ctx->db, &timer, ctx->err);
}

/* The issue of a pull request that was merged is closed once. */
static enum rc note_merge(struct context *ctx, const struct repository_row *repository,
                          struct intake_row *row)
{
    CLEANUP(config_book_putp) struct known_config *known = effective_now(ctx, repository);
    struct issue_progress progress = {.state = row->state};
    enum rc rc = add_task(ctx, row, &progress);
    if (rc == RC_OK && known != NULL && known->config.intake.close &&
        text_same(progress.pr_state, "merged") && !row->merged)
        row->merged = row->closes = true;
    return rc;
}

enum rc intake_due(struct context *ctx, const struct id *task_id)
{
    struct intake_row row;
    struct repository_row repository;
    enum rc rc = intake_of_task(ctx->db, task_id, ctx->arena, &row, ctx->err);
    if (rc != RC_OK) /* Another task was made of the issue since. */
        return rc == RC_NOT_FOUND ? RC_OK : rc;
    rc = repositories_get(ctx->db, &row.repository_id, ctx->arena, &repository, ctx->err);
    if (rc == RC_OK)
        rc = note_merge(ctx, &repository, &row);
    return rc == RC_OK ? intake_tell(ctx, &repository, &row, false) : rc;
}

static enum rc load_told(struct context *ctx, const struct repo_job_end *end,
                         struct intake_row *ret_row)
{
    return intake_of_issue(ctx->db, &end->repository->id, js_get_int(end->payload, "number", 0),
                           ctx->arena, ret_row, ctx->err);
}

enum rc intake_told(struct context *ctx, const struct repo_job_end *end)
{
    struct intake_row row;
    enum rc rc = load_told(ctx, end, &row);
    if (rc != RC_OK)
        return rc == RC_NOT_FOUND ? RC_OK : rc;
    row.told = arena_strdup(ctx->arena, js_get_str(end->payload, "body", ""));
    if (js_get_bool(end->payload, "close", false))
        row.closes = false;
    row.updated_us = ctx->now_us;
    rc = intake_save(ctx->db, &row, ctx->err);
    return rc == RC_OK ? enqueue_comment(ctx, end->repository, &row) : rc;
}

/* What the comment says is not known any more; the next text is written in any case. */
enum rc intake_not_told(struct context *ctx, const struct repo_job_end *end)
{
    struct intake_row row;
    enum rc rc = load_told(ctx, end, &row);
    if (rc != RC_OK)
        return rc == RC_NOT_FOUND ? RC_OK : rc;
    row.told = NULL;
    return intake_save(ctx->db, &row, ctx->err);
}
