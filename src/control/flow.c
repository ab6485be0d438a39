/*
 * flow.c - see flow.h.
 */
#include "control/flow.h"
#include "base/log.h"
#include "control/assignment.h"
#include "control/config_book.h"
#include "control/memories.h"
#include "control/notify.h"
#include "control/pull_limits.h"
#include "control/results.h"
#include "control/saga_publish.h"
#include "core/event_types.h"
#include "core/prose.h"
#include "store/approvals.h"
#include "store/timers.h"
#include <assert.h>
#include <string.h>

enum { TITLE_MAX = 200 };

/* Never before the event that it follows: nodes have clocks of their own, and a lane may have
   waited for another one. */
static int64_t event_time(const struct cx *cx, const struct flow *flow)
{
    int64_t last_us = flow->run.updated_us > flow->task.updated_us ? flow->run.updated_us
                                                                   : flow->task.updated_us;
    return cx->now_us > last_us ? cx->now_us : last_us;
}

enum rc flow_load(struct cx *cx, const struct id *run_id, struct flow *ret_flow)
{
    struct flow flow = {0};
    enum rc rc = runs_get(cx->db, run_id, cx->arena, &flow.run, cx->err);
    if (rc == RC_OK)
        rc = tasks_get(cx->db, &flow.run.task_id, cx->arena, &flow.task, cx->err);
    if (rc != RC_OK)
        return rc;
    flow.stored = flow.task;
    flow.stored_run = flow.run;
    *ret_flow = flow;
    return RC_OK;
}

typedef enum rc get_fn(struct db *db, const struct id *id, struct arena *arena,
                       struct run_row *ret_row, struct err *err);

static enum rc load_run(struct cx *cx, const struct id *run_id, get_fn *get, struct flow *ret_flow)
{
    struct flow flow = {0};
    enum rc rc = get(cx->db, run_id, cx->arena, &flow.run, cx->err);
    if (rc != RC_OK)
        return rc;
    flow.task.id = flow.run.task_id;
    *ret_flow = flow;
    return RC_OK;
}

enum rc flow_load_run(struct cx *cx, const struct id *run_id, struct flow *ret_flow)
{
    return load_run(cx, run_id, runs_get, ret_flow);
}

enum rc flow_load_free(struct cx *cx, const struct id *run_id, struct flow *ret_flow)
{
    return load_run(cx, run_id, runs_get_free, ret_flow);
}

enum rc flow_save_told(struct cx *cx, struct flow *flow)
{
    flow->run.updated_us = event_time(cx, flow);
    return runs_touch(cx->db, &flow->run, cx->err);
}

enum rc flow_save_used(struct cx *cx, struct flow *flow)
{
    enum rc rc = runs_save_usage(cx->db, &flow->run, cx->err);
    return rc == RC_OK ? flow_save_told(cx, flow) : rc;
}

enum rc flow_load_latest(struct cx *cx, const struct id *task_id, struct flow *ret_flow)
{
    struct task_row task;
    enum rc rc = tasks_get(cx->db, task_id, cx->arena, &task, cx->err);
    if (rc == RC_NOT_FOUND)
        return err_set(cx->err, rc, "TASK_NOT_FOUND", "there is no task %s", task_id->text);
    return rc == RC_OK ? flow_load(cx, &task.latest_run_id, ret_flow) : rc;
}

void flow_release(struct flow *flow)
{
    config_book_put(flow->known);
    flow->known = NULL;
}

enum rc flow_config(struct cx *cx, struct flow *flow, const struct repo_config **ret)
{
    const struct repo_layers whole = {.repository = flow->task.config};
    if (flow->known == NULL &&
        config_book_take(cx->configs, &whole, &flow->known, cx->err) != RC_OK)
        return err_wrap(cx->err, RC_CORRUPT, "the stored configuration");
    *ret = &flow->known->config;
    return RC_OK;
}

const char *task_title(const struct task_row *task, struct arena *arena)
{
    if (text_empty(task->description))
        return arena_printf(arena, "Issue #%lld", (long long)task->issue_number);
    size_t line = strcspn(task->description, "\r\n");
    return prose_line(arena, arena_strndup(arena, task->description, line), TITLE_MAX);
}

/* Most steps move the run and leave its task as it is. */
static bool task_changed(const struct task_row *now, const struct task_row *stored)
{
    return now->status != stored->status || now->error_code != stored->error_code ||
           now->error_message != stored->error_message || now->run_count != stored->run_count ||
           now->ended_us != stored->ended_us ||
           !id_same(&now->latest_run_id, &stored->latest_run_id) ||
           !id_same(&now->last_event_id, &stored->last_event_id);
}

/* By address: whoever changes a text puts another in its place. */
static bool run_changed_more(const struct run_row *now, const struct run_row *stored)
{
    return now->step_results.at != stored->step_results.at ||
           now->session_id != stored->session_id ||
           now->session_begun_us != stored->session_begun_us ||
           now->session_over != stored->session_over || now->plan_sha256 != stored->plan_sha256 ||
           now->account != stored->account || now->paths.at != stored->paths.at ||
           now->warning_code != stored->warning_code ||
           now->warning_message != stored->warning_message || now->partial != stored->partial ||
           now->foreign_pr.at != stored->foreign_pr.at ||
           now->prompt_version != stored->prompt_version || now->overridden != stored->overridden ||
           now->deferred_detail != stored->deferred_detail ||
           now->held_until_us != stored->held_until_us || now->quota_hits != stored->quota_hits;
}

static enum rc save_run(struct cx *cx, struct flow *flow)
{
    enum rc rc = runs_save(cx->db, &flow->run, cx->err);
    if (rc == RC_OK && run_changed_more(&flow->run, &flow->stored_run))
        rc = runs_save_more(cx->db, &flow->run, cx->err);
    if (rc == RC_OK)
        flow->stored_run = flow->run;
    return rc;
}

enum rc flow_save(struct cx *cx, struct flow *flow)
{
    int64_t now_us = event_time(cx, flow);
    flow->run.updated_us = now_us;
    enum rc rc = save_run(cx, flow);
    if (rc != RC_OK || !task_changed(&flow->task, &flow->stored))
        return rc;
    flow->task.updated_us = now_us;
    flow->stored = flow->task;
    return tasks_save(cx->db, &flow->task, cx->err);
}

/* Texts that come from outside are limited where they come in; this is several times their sum,
   with every byte escaped. */
enum { NOTE_BYTES_MAX = 512 * 1024 };

void note_open(struct note *note)
{
    buf_init(&note->buf, NOTE_BYTES_MAX);
    note->jw = jw_to(&note->buf);
    jw_begin(&note->jw, '{');
}

void note_release(struct note *note)
{
    buf_release(&note->buf);
}

struct str note_close(struct note *note)
{
    jw_end(&note->jw, '}');
    assert(!note->buf.overflow);
    return buf_str(&note->buf);
}

enum rc flow_tell_data(struct cx *cx, struct flow *flow, const char *type, struct str data)
{
    struct event event = {
        .type = type,
        .time_us = event_time(cx, flow),
        .task_id = flow->task.id,
        .run_id = flow->run.id,
        .subject = arena_printf(cx->arena, "run/%s", flow->run.id.text),
        .run_seq = flow->run.event_seq + 1,
        .correlation_id = flow->task.id,
        .causation_id = flow->run.last_event_id,
        .data = data,
    };
    enum rc rc = cx_append(cx, &event, &flow->run.last_event_id);
    if (rc != RC_OK)
        return rc;
    flow->run.event_seq++;
    return notify_told(cx, flow, &event);
}

enum rc flow_tell(struct cx *cx, struct flow *flow, const char *type, struct note *note)
{
    return flow_tell_data(cx, flow, type, note != NULL ? note_close(note) : STR("{}"));
}

enum rc flow_tell_task(struct cx *cx, struct flow *flow, const char *type, struct note *note)
{
    bool has_run = !id_is_none(&flow->run.last_event_id);
    struct event event = {
        .type = type,
        .time_us = event_time(cx, flow),
        .task_id = flow->task.id,
        .subject = arena_printf(cx->arena, "task/%s", flow->task.id.text),
        .correlation_id = flow->task.id,
        .causation_id = has_run ? flow->run.last_event_id : flow->task.last_event_id,
        .data = note != NULL ? note_close(note) : STR("{}"),
    };
    enum rc rc = cx_append(cx, &event, &flow->task.last_event_id);
    return rc == RC_OK ? notify_told(cx, flow, &event) : rc;
}

/* How long it may wait for its turn, each time it has to. */
static enum rc limit_wait(struct cx *cx, struct flow *flow)
{
    const struct repo_config *config = NULL;
    enum rc rc = flow_config(cx, flow, &config);
    if (rc != RC_OK || config->timeouts.queue_ms == 0)
        return rc;
    struct timer_row timer = {
        .kind = TIMER_QUEUE_DEADLINE,
        .subject = flow->run.id,
        .due_us = cx->now_us + config->timeouts.queue_ms * US_PER_MS,
    };
    cx_due(cx, timer.due_us);
    return timers_set(cx->db, &timer, cx->err);
}

static int64_t capped(int64_t wanted, int64_t max)
{
    return max > 0 && max < wanted ? max : wanted;
}

/* As the task is configured, within the server's limits. */
static enum rc budget_of_events(struct cx *cx, struct flow *flow, struct event_budget *ret_budget)
{
    const struct repo_config *config = NULL;
    enum rc rc = flow_config(cx, flow, &config);
    if (rc == RC_OK)
        *ret_budget = event_budget_new(
            capped(config->limits.max_run_events, cx->limits->max_run_events),
            capped(config->limits.max_run_event_bytes, cx->limits->max_run_event_bytes));
    return rc;
}

enum { SLUG_BYTES = 41 };

enum rc flow_new_run(struct cx *cx, struct flow *flow, int64_t run_no)
{
    struct task_row *task = &flow->task;
    char slug[SLUG_BYTES];
    text_slug(slug, sizeof(slug), task->description != NULL ? task->description : "issue");
    int64_t updated_us = event_time(cx, flow); /* After the run before it. */
    struct event_budget events;
    enum rc rc = budget_of_events(cx, flow, &events);
    if (rc != RC_OK)
        return rc;
    flow->run = (struct run_row){
        .id = cx_id(cx),
        .task_id = task->id,
        .workspace_id = task->workspace_id,
        .repository_id = task->repository_id,
        .run_no = run_no,
        .status = RUN_QUEUED,
        .branch = arena_printf(cx->arena, "drover/%s/%lld-%s", task->id.text, (long long)run_no,
                               slug),
        .rank = rank_of(cx->now_us, task->priority),
        .requested_by = task->requested_by,
        .task_type = task->task_type,
        .budget_microusd = task->max_budget_microusd,
        .queued_us = cx->now_us,
        .updated_us = updated_us,
        .events_left = events,
    };
    flow->stored_run = flow->run;
    task->latest_run_id = flow->run.id;
    task->status = task_status_of(RUN_QUEUED, false);
    return limit_wait(cx, flow);
}

enum rc flow_tell_queued(struct cx *cx, struct flow *flow)
{
    CLEANUP(note_release) struct note note;
    note_open(&note);
    jw_kstr(&note.jw, "runId", flow->run.id.text);
    jw_kint(&note.jw, "runNo", flow->run.run_no);
    jw_kint(&note.jw, "priority", flow->task.priority);
    /* The run's chain of causes starts at the task. */
    flow->run.last_event_id = flow->task.last_event_id;
    return flow_tell(cx, flow, EV_RUN_QUEUED, &note);
}

static void project(struct cx *cx, struct flow *flow)
{
    bool deferred = flow->run.deferred_reason != NULL;
    flow->task.status = task_status_of(flow->run.status, deferred);
    flow->task.latest_run_id = flow->run.id;
    if (run_is_terminal(flow->run.status)) {
        flow->run.ended_us = cx->now_us;
        flow->task.ended_us = cx->now_us;
    }
}

enum rc flow_move(struct cx *cx, struct flow *flow, enum run_event event, const char *reason)
{
    enum run_status from = flow->run.status, to;
    enum rc rc = run_step(from, event, &to);
    if (rc != RC_OK)
        return err_set(cx->err, rc, "ILLEGAL_TRANSITION", "run %s is %s and cannot take %s",
                       flow->run.id.text, run_status_name(from), run_event_name(event));
    flow->run.status = to;
    if (to != RUN_QUEUED)
        flow->run.deferred_reason = NULL;
    project(cx, flow);
    rc = to == RUN_QUEUED ? limit_wait(cx, flow) : RC_OK;
    if (rc != RC_OK)
        return rc;
    CLEANUP(note_release) struct note note;
    note_open(&note);
    jw_kstr(&note.jw, "runId", flow->run.id.text);
    jw_kstr(&note.jw, "fromStatus", run_status_name(from));
    jw_kstr(&note.jw, "toStatus", run_status_name(to));
    jw_kstr(&note.jw, "reason", reason);
    return flow_tell(cx, flow, EV_RUN_STATUS_CHANGED, &note);
}

enum rc flow_enqueue(struct cx *cx, struct flow *flow, const char *step)
{
    struct job_row job = {0};
    enum rc rc = assignment_make(cx, flow, step, &job);
    if (rc == RC_OK)
        rc = jobs_insert(cx->db, &job, cx->err);
    if (rc != RC_OK)
        return rc;
    flow->run.job_id = job.id;
    flow->run.step = step;
    cx_ready(cx, job.queue);
    return RC_OK;
}

/* Cleaning moves nothing on, and a run that cannot be cleaned up ends all the same: making the job
   writes nothing. */
static enum rc enqueue_clean(struct cx *cx, struct flow *flow)
{
    struct job_row job = {0};
    enum rc rc = assignment_make(cx, flow, "clean", &job);
    if (rc != RC_OK) {
        LOG(LOG_ERROR, "no job can be made to clean up after a run; drover prune removes its files",
            LOG_STR("runId", flow->run.id.text), LOG_STR("code", cx->err->code),
            LOG_STR("error", cx->err->text));
        err_clear(cx->err);
        return RC_OK;
    }
    cx_ready(cx, job.queue);
    return jobs_insert(cx->db, &job, cx->err);
}

/* Questions that nobody needs to answer any more. */
static enum rc close_approvals(struct cx *cx, struct flow *flow)
{
    struct approval_filter filter = {.status = "pending", .run_id = flow->run.id, .limit = 10};
    struct approval_row *rows;
    size_t count;
    enum rc rc = approvals_list(cx->db, &filter, cx->arena, &rows, &count, cx->err);
    for (size_t i = 0; rc == RC_OK && i < count; i++) {
        rows[i].status = "cancelled";
        rows[i].decided_us = cx->now_us;
        rc = approvals_save(cx->db, &rows[i], cx->err);
        if (rc == RC_OK)
            rc = timers_clear_subject(cx->db, &rows[i].id, cx->err);
    }
    return rc;
}

static const struct {
    const char *run, *task;
} terminal_events[RUN_STATUS_COUNT] = {
    [RUN_COMPLETED] = {EV_RUN_COMPLETED, EV_TASK_COMPLETED},
    [RUN_FAILED] = {EV_RUN_FAILED, EV_TASK_FAILED},
    [RUN_CANCELLED] = {EV_RUN_CANCELLED, EV_TASK_CANCELLED},
    [RUN_TIMED_OUT] = {EV_RUN_TIMED_OUT, EV_TASK_TIMED_OUT},
};

static void write_ending(struct note *note, const struct flow *flow)
{
    note_open(note);
    jw_kstr(&note->jw, "taskId", flow->task.id.text);
    jw_kstr(&note->jw, "runId", flow->run.id.text);
    jw_kint(&note->jw, "runNo", flow->run.run_no);
    jw_optstr(&note->jw, "errorCode", flow->run.error_code);
    jw_optstr(&note->jw, "errorMessage", flow->run.error_message);
    jw_optstr(&note->jw, "requestedBy", flow->run.stop_by);
    jw_kint(&note->jw, "attempts", flow->run.attempt);
    jw_kreal(&note->jw, "costUsd", (double)flow->run.cost_microusd / 1e6);
    if (!id_is_none(&flow->run.pull_request_id))
        jw_kstr(&note->jw, "pullRequestId", flow->run.pull_request_id.text);
}

static enum rc tell_ending(struct cx *cx, struct flow *flow)
{
    assert(terminal_events[flow->run.status].run != NULL);
    CLEANUP(note_release) struct note of_run, of_task;
    write_ending(&of_run, flow);
    write_ending(&of_task, flow);
    enum rc rc = flow_tell(cx, flow, terminal_events[flow->run.status].run, &of_run);
    if (rc == RC_OK)
        rc = flow_tell_task(cx, flow, terminal_events[flow->run.status].task, &of_task);
    return rc;
}

enum rc flow_end(struct cx *cx, struct flow *flow, const struct ending *ending)
{
    enum run_status before = flow->run.status;
    struct id mover = flow->run.job_id;
    enum rc rc = flow_move(cx, flow, ending->event, ending->message);
    if (rc != RC_OK)
        return rc;
    flow->run.error_code = flow->task.error_code = ending->code;
    flow->run.error_message = flow->task.error_message = ending->code ? ending->message : NULL;
    flow->run.job_id = (struct id){0};
    /* A run that was sent back to the queue has worked, too. */
    bool worked = before != RUN_QUEUED || flow->run.base_commit != NULL;
    if (worked)
        rc = memories_record(cx, flow);
    if (rc == RC_OK)
        rc = tell_ending(cx, flow);
    if (rc == RC_OK)
        rc = timers_clear_subject(cx->db, &flow->run.id, cx->err);
    if (rc == RC_OK && before == RUN_AWAITING_APPROVAL)
        rc = close_approvals(cx, flow);
    if (rc == RC_OK && before == RUN_CREATING_PR && id_is_none(&flow->run.pull_request_id))
        rc = saga_undo_publish(cx, flow, &mover);
    if (rc == RC_OK && worked)
        rc = enqueue_clean(cx, flow);
    cx->round->admit = true;
    return rc;
}

void flow_warn(struct flow *flow, const char *code, const char *message)
{
    if (flow->run.warning_code != NULL)
        return;
    flow->run.warning_code = code;
    flow->run.warning_message = message;
}

enum rc flow_end_published(struct cx *cx, struct flow *flow, const char *code, const char *message)
{
    assert(!id_is_none(&flow->run.pull_request_id));
    flow_warn(flow, code, message);
    struct ending published = {.event = RUN_EV_PUBLISHED, .message = "Pull request opened"};
    enum rc rc = far_walk_to_publishing(cx, flow);
    return rc == RC_OK ? flow_end(cx, flow, &published) : rc;
}

enum rc flow_end_stopped(struct cx *cx, struct flow *flow)
{
    assert(flow->run.stop != RUN_STOP_NONE);
    const struct ending *limit = pull_ending(&flow->run);
    if (limit != NULL)
        return pull_is_cut_off(&flow->run) ? pull_collect(cx, flow) : flow_end(cx, flow, limit);
    bool cancel = flow->run.stop == RUN_STOP_CANCEL;
    const char *by = flow->run.stop_by != NULL ? flow->run.stop_by : "drover";
    const char *why = flow->run.stop_reason;
    if (!cancel && !id_is_none(&flow->run.pull_request_id))
        return flow_end_published(cx, flow, "run_timed_out", why);
    struct ending ending = {
        .event = cancel ? RUN_EV_CANCEL : RUN_EV_TIME_OUT,
        .code = cancel ? "cancelled" : "run_timed_out",
        .message = !cancel       ? why
                   : why != NULL ? arena_printf(cx->arena, "Cancelled by %s: %s", by, why)
                                 : arena_printf(cx->arena, "Cancelled by %s", by),
    };
    return flow_end(cx, flow, &ending);
}
