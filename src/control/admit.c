/*
 * admit.c - see admit.h.
 *
 * The queued runs of each repository stand in order of rank.  The round merges those lines: it
 * looks at the first of all heads, starts it or leaves it, and goes on with that line; a line whose
 * repository is full is left out, a full system ends the round.  So it costs what it starts and
 * what it passes over, not what waits.
 */
#include "control/admit.h"
#include "control/accounts.h"
#include "control/effective.h"
#include "control/flow.h"
#include "control/quarantine.h"
#include "core/admission.h"
#include "core/event_types.h"
#include "store/repositories.h"
#include "store/timers.h"
#include <assert.h>
#include <string.h>

enum { ADMIT_LOOKS_MAX = 1000, EXPLAIN_MAX = 1000 };

struct line { /* The queued runs of one repository. */
    struct id repository_id;
    int64_t active_max; /* As it is configured now, whatever it was when a task came in. */
    struct repository_row repository;
    struct run_place place;
    struct run_row head;
    bool has_head;
};

struct admission {
    struct cx *cx;
    struct active_row *active;
    size_t active_count, active_room;
    struct line *lines;
    size_t line_count;
};

/* ---- counting --------------------------------------------------------------------------- */

static enum rc load_active(struct admission *admission)
{
    struct cx *cx = admission->cx;
    struct active_row *rows;
    enum rc rc = runs_active(cx->db, cx->arena, &rows, &admission->active_count, cx->err);
    if (rc != RC_OK)
        return rc;
    admission->active_room = admission->active_count + ADMIT_LOOKS_MAX;
    admission->active = arena_array(cx->arena, admission->active_room, sizeof(*rows));
    if (admission->active_count > 0)
        memcpy(admission->active, rows, admission->active_count * sizeof(*rows));
    return RC_OK;
}

static void count_started(struct admission *admission, const struct run_row *run)
{
    if (admission->active_count == admission->active_room)
        return; /* Cannot happen: one slot per look. */
    admission->active[admission->active_count++] = (struct active_row){
        .workspace_id = run->workspace_id,
        .repository_id = run->repository_id,
        .requested_by = run->requested_by,
        .task_type = run->task_type,
        .count = 1,
    };
}

/* NULL: it had nothing queued when the lines were opened. */
static const struct line *line_of(const struct admission *admission, const struct id *repository_id)
{
    for (size_t i = 0; i < admission->line_count; i++)
        if (id_same(&admission->lines[i].repository_id, repository_id))
            return &admission->lines[i];
    return NULL;
}

static struct active_counts count_for(const struct admission *admission, const struct flow *flow)
{
    const struct run_row *run = &flow->run;
    const struct committer_limits *limits = admission->cx->limits;
    const struct line *own = line_of(admission, &run->repository_id);
    assert(own != NULL);
    struct active_counts counts = {
        .user_max = limits->max_active_runs_user,
        .repository_max = own->active_max,
        .system_max = limits->max_active_runs,
    };
    for (size_t i = 0; i < admission->active_count; i++) {
        const struct active_row *row = &admission->active[i];
        counts.system += row->count;
        if (id_same(&row->workspace_id, &run->workspace_id))
            counts.workspace += row->count;
        if (id_same(&row->repository_id, &run->repository_id))
            counts.repository += row->count;
        if (text_same(row->requested_by, run->requested_by))
            counts.user += row->count;
        if (text_same(row->task_type, run->task_type))
            counts.task_type += row->count;
    }
    return counts;
}

/* ---- one run ---------------------------------------------------------------------------- */

static enum rc start(struct admission *admission, struct flow *flow,
                     const struct repo_config *config)
{
    struct cx *cx = admission->cx;
    enum rc rc = flow_move(cx, flow, RUN_EV_ADMIT, "Admitted: a slot is free");
    if (rc == RC_OK)
        rc = flow_tell(cx, flow, EV_RUN_ACQUIRED, NULL);
    if (rc == RC_OK)
        rc = flow_enqueue(cx, flow, "prepare");
    if (rc == RC_OK)
        rc = timers_clear(cx->db, TIMER_QUEUE_DEADLINE, &flow->run.id, cx->err);
    if (rc != RC_OK)
        return rc;
    flow->run.deadline_us = cx->now_us + config->timeouts.run_ms * US_PER_MS;
    struct timer_row timer = {
        .kind = TIMER_RUN_DEADLINE, .subject = flow->run.id, .due_us = flow->run.deadline_us};
    rc = timers_set(cx->db, &timer, cx->err);
    cx_due(cx, timer.due_us);
    if (rc == RC_OK)
        rc = flow_save(cx, flow);
    if (rc == RC_OK)
        count_started(admission, &flow->run);
    return rc;
}

static enum rc defer(struct cx *cx, struct flow *flow, const char *reason)
{
    if (text_same(flow->run.deferred_reason, reason))
        return RC_OK;
    flow->run.deferred_reason = reason;
    flow->task.status = task_status_of(flow->run.status, true);
    CLEANUP(note_release) struct note note;
    note_open(&note);
    jw_kstr(&note.jw, "taskId", flow->task.id.text);
    jw_kstr(&note.jw, "runId", flow->run.id.text);
    jw_kstr(&note.jw, "reason", reason);
    enum rc rc = flow_tell_task(cx, flow, EV_TASK_DEFERRED, &note);
    return rc == RC_OK ? flow_save(cx, flow) : rc;
}

static enum rc fail_dependency(struct cx *cx, struct flow *flow, const struct id *broken)
{
    struct ending ending = {
        .event = RUN_EV_FAIL,
        .code = "dependency_failed",
        .message = arena_printf(cx->arena, "Task %s, on which this one depends, did not complete",
                                broken->text),
    };
    enum rc rc = flow_end(cx, flow, &ending);
    return rc == RC_OK ? flow_save(cx, flow) : rc;
}

/* Starts the run, ends it, or gives the reason why it waits. */
static enum rc look_at(struct admission *admission, const struct id *run_id,
                       const char **ret_reason)
{
    struct cx *cx = admission->cx;
    CLEANUP(flow_release) struct flow flow = {0};
    const struct repo_config *config;
    struct dependency_state dependencies = {0};
    *ret_reason = NULL;
    enum rc rc = flow_load(cx, run_id, &flow);
    if (rc == RC_OK && flow.run.status != RUN_QUEUED)
        return RC_OK; /* Cancelled while its lock was waited for. */
    if (rc == RC_OK)
        rc = flow_config(cx, &flow, &config);
    if (rc == RC_OK)
        rc = tasks_dependencies(cx->db, &flow.task.id, &dependencies, cx->err);
    if (rc != RC_OK)
        return rc;
    const struct line *line = line_of(admission, &flow.run.repository_id);
    if (line != NULL && line->repository.quarantined_us > 0)
        return quarantine_end_run(cx, &flow, &line->repository);
    if (!id_is_none(&dependencies.broken))
        return fail_dependency(cx, &flow, &dependencies.broken);
    struct active_counts counts = count_for(admission, &flow);
    counts.dependency_pending = dependencies.pending > 0;
    rc = accounts_gate(cx, &flow, &counts.quota_parked);
    if (rc != RC_OK)
        return rc;
    const char *reason = admission_start(&counts);
    if (reason == NULL)
        return start(admission, &flow, config);
    *ret_reason = reason;
    return defer(cx, &flow, reason);
}

/* ---- the merge of the lines ------------------------------------------------------------- */

static enum rc advance(struct cx *cx, struct line *line)
{
    enum rc rc = runs_next_queued(cx->db, &line->repository_id, &line->place, cx->arena,
                                  &line->head, cx->err);
    if (rc == RC_OK)
        rc = accounts_pass(cx, &line->head);
    line->has_head = rc == RC_OK;
    if (rc == RC_OK)
        line->place = (struct run_place){line->head.rank, line->head.id};
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}

static enum rc read_limit(struct cx *cx, struct line *line)
{
    struct repository_row row;
    struct repo_config config;
    CLEANUP(js_freep) struct js *document = NULL;
    enum rc rc = repositories_get(cx->db, &line->repository_id, cx->arena, &row, cx->err);
    if (rc != RC_OK)
        return rc;
    effective_now(cx, &row, &document, &config);
    line->active_max = config.limits.max_active_runs;
    line->repository = row;
    return RC_OK;
}

static enum rc open_lines(struct admission *admission)
{
    struct cx *cx = admission->cx;
    struct id *ids;
    enum rc rc = runs_queued_repositories(cx->db, &cx->workspace_id, cx->arena, &ids,
                                          &admission->line_count, cx->err);
    if (rc != RC_OK)
        return rc;
    admission->lines = arena_array(cx->arena, admission->line_count, sizeof(struct line));
    for (size_t i = 0; rc == RC_OK && i < admission->line_count; i++) {
        admission->lines[i].repository_id = ids[i];
        admission->lines[i].place.rank = INT64_MIN;
        rc = read_limit(cx, &admission->lines[i]);
        if (rc == RC_OK)
            rc = advance(cx, &admission->lines[i]);
    }
    return rc;
}

static struct line *first_line(struct admission *admission)
{
    struct line *first = NULL;
    for (size_t i = 0; i < admission->line_count; i++) {
        struct line *line = &admission->lines[i];
        if (line->has_head && (first == NULL || line->head.rank < first->head.rank))
            first = line;
    }
    return first;
}

static bool is_about_everyone(const char *reason)
{
    return strcmp(reason, "workspace_concurrency_limit") == 0 ||
           strcmp(reason, "system_concurrency_limit") == 0;
}

static enum rc merge_lines(struct admission *admission)
{
    for (int looks = 0; looks < ADMIT_LOOKS_MAX; looks++) {
        struct line *line = first_line(admission);
        if (line == NULL)
            return RC_OK;
        const char *reason;
        enum rc rc = look_at(admission, &line->head.id, &reason);
        if (rc != RC_OK)
            return rc;
        if (reason != NULL && is_about_everyone(reason))
            return RC_OK;
        if (reason != NULL && strcmp(reason, "repository_concurrency_limit") == 0)
            line->has_head = false;
        else if ((rc = advance(admission->cx, line)) != RC_OK)
            return rc;
    }
    return RC_OK;
}

/* Runs that the merge did not reach still deserve to know why they wait.  One that came in after
   the lines were opened has an admission round of its own behind it. */
static enum rc explain_rest(struct admission *admission)
{
    struct cx *cx = admission->cx;
    struct run_row *rows;
    size_t count;
    enum rc rc = runs_queued_unexplained(cx->db, &cx->workspace_id, EXPLAIN_MAX, cx->arena, &rows,
                                         &count, cx->err);
    for (size_t i = 0; rc == RC_OK && i < count; i++) {
        const char *reason;
        if (line_of(admission, &rows[i].repository_id) != NULL)
            rc = look_at(admission, &rows[i].id, &reason);
    }
    return rc;
}

enum rc admit_queued(struct cx *cx)
{
    struct admission admission = {.cx = cx};
    enum rc rc = open_lines(&admission);
    if (rc != RC_OK || admission.line_count == 0)
        return rc;
    rc = load_active(&admission);
    if (rc == RC_OK)
        rc = merge_lines(&admission);
    if (rc == RC_OK)
        rc = explain_rest(&admission);
    return rc;
}
