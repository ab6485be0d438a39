/*
 * tasks.c - POST /v1/tasks, and later commands and queries about a task.
 */
#include "api/listing.h"
#include "api/routes.h"
#include "api/shapes.h"
#include "control/admit/retry.h"
#include "control/admit/submission.h"
#include "control/run/stop.h"
#include "core/agent/addressee.h"
#include "core/config/repo_document.h"
#include "store/capacity.h"

/* ---- Submit ---- */

static enum rc read_key(struct call *call, struct cmd_submit *cmd, struct err *err)
{
    struct call_key key = {0};
    enum rc rc = call_key(call, &cmd->base.arena, &key, err);
    if (rc != RC_OK || key.text == NULL)
        return rc;
    cmd->task.body_sha256 = key.body_sha256;
    /* The keys of an agent are its own: it must not get the tasks of others by theirs. */
    cmd->task.idempotency_key = id_is_none(&cmd->task.agent_run_id)
                                    ? key.text
                                    : arena_printf(&cmd->base.arena, "run/%s/%s",
                                                   cmd->task.agent_run_id.text, key.text);
    return RC_OK;
}

static enum rc read_submit(struct call *call, struct cmd_submit *cmd, struct err *err)
{
    struct faults faults = {0};
    const struct submission_reading how = {.arena = &cmd->base.arena, .path = ""};
    enum rc rc = submission_read(cmd->base.tree, &how, &cmd->task, &faults, err);
    if (faults.count > 0)
        call_faults(call, &faults);
    return rc;
}

enum rc api_task_submit(struct call *call, struct err *err)
{
    struct cmd_submit *cmd = cmd_submit_new();
    call_own(call, &cmd->base);
    cmd->task.may_override = call->who.role == ROLE_ADMIN;
    cmd->task.agent_run_id = call->who.run_id; /* none: not an agent */
    enum rc rc = call_no_params(call, err);
    if (rc == RC_OK)
        rc = read_key(call, cmd, err);
    if (rc == RC_OK)
        rc = call_json(call, &cmd->base.tree, err);
    return rc == RC_OK ? read_submit(call, cmd, err) : rc;
}

void api_task_submit_answer(struct call *call, struct command *command)
{
    const struct cmd_submit *cmd = (const struct cmd_submit *)command;
    if (cmd->answer.repeated)
        http_answer_header(&call->http, "Idempotent-Replay", "true");
    struct jw jw = call_answer(call, 202);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "taskId", cmd->answer.task_id.text);
    jw_kstr(&jw, "runId", cmd->answer.run_id.text);
    jw_kstr(&jw, "status", "queued");
    if (cmd->answer.forecast.len > 0)
        jw_kraw(&jw, "forecast", cmd->answer.forecast);
    if (cmd->answer.warning != NULL) {
        jw_key(&jw, "warnings");
        jw_begin(&jw, '[');
        jw_begin(&jw, '{');
        jw_kstr(&jw, "code", "forecast_over_limit");
        jw_kstr(&jw, "message", cmd->answer.warning);
        jw_end(&jw, '}');
        jw_end(&jw, ']');
    }
    jw_end(&jw, '}');
}

/* ---- Cancel, retry ---- */

enum rc api_task_cancel(struct call *call, struct err *err)
{
    struct cmd_cancel *cmd = cmd_cancel_new();
    call_own(call, &cmd->base);
    enum rc rc = call_no_params(call, err);
    if (rc == RC_OK)
        rc = call_id(call, 0, &cmd->task_id, err);
    return rc == RC_OK ? call_reason(call, &cmd->reason, err) : rc;
}

void api_task_cancel_answer(struct call *call, struct command *command)
{
    const struct cmd_cancel *cmd = (const struct cmd_cancel *)command;
    struct jw jw = call_answer(call, 200);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "taskId", cmd->task_id.text);
    jw_kstr(&jw, "status", task_status_name(cmd->status));
    jw_kbool(&jw, "stopping", cmd->stopping);
    jw_end(&jw, '}');
}

enum rc api_task_retry(struct call *call, struct err *err)
{
    struct cmd_retry *cmd = cmd_retry_new();
    call_own(call, &cmd->base);
    enum rc rc = call_no_params(call, err);
    if (rc == RC_OK)
        rc = call_id(call, 0, &cmd->task_id, err);
    return rc == RC_OK ? call_no_fields(call, err) : rc;
}

void api_task_retry_answer(struct call *call, struct command *command)
{
    const struct cmd_retry *cmd = (const struct cmd_retry *)command;
    struct jw jw = call_answer(call, 202);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "taskId", cmd->task_id.text);
    jw_kstr(&jw, "runId", cmd->run_id.text);
    jw_kint(&jw, "runNo", cmd->run_no);
    jw_kstr(&jw, "status", "queued");
    jw_end(&jw, '}');
}

/* ---- Queries ---- */

/* What it and its sub-tasks have used: only for one task, since the tree must be read. */
static enum rc read_tree(struct call *call, struct db *db, const struct task_row *task,
                         struct task_extras *extras, struct err *err)
{
    const struct run_row *latest = extras->run_count ? &extras->runs[extras->run_count - 1] : NULL;
    struct clock clock = clock_real();
    extras->alone = true;
    enum rc rc = tasks_count_children(db, &task->id, &extras->child_count, err);
    if (rc != RC_OK || latest == NULL || id_is_none(&latest->root_run_id))
        return rc;
    struct budget_tree tree;
    rc = runs_tree(db, &latest->root_run_id, clock_now_us(&clock), &call->http.arena, &tree, err);
    if (rc == RC_OK)
        rc = budget_tree_link(&tree, err);
    int at = rc == RC_OK ? budget_tree_find(&tree, &latest->id) : BUDGET_TREE_NONE;
    if (at != BUDGET_TREE_NONE)
        extras->tree = &tree.nodes[at];
    return rc;
}

/* That of its latest run. */
static enum rc read_pull_request(struct call *call, struct db *db, struct task_extras *extras,
                                 struct err *err)
{
    const struct run_row *latest = extras->run_count ? &extras->runs[extras->run_count - 1] : NULL;
    if (latest == NULL || id_is_none(&latest->pull_request_id))
        return RC_OK;
    struct pull_request_row *row = arena_array(&call->http.arena, 1, sizeof *row);
    extras->pull_request = row;
    return pull_requests_get(db, &latest->pull_request_id, &call->http.arena, row, err);
}

static enum rc read_runs(struct call *call, struct db *db, const struct task_row *task,
                         struct task_extras *ret_extras, struct err *err)
{
    struct run_row *runs = NULL;
    size_t count = 0;
    enum rc rc = runs_of_task(db, &task->id, &call->http.arena, &runs, &count, err);
    if (rc == RC_OK)
        *ret_extras = (struct task_extras){.runs = runs, .run_count = count};
    return rc;
}

/* Its position in the queue: only for one task, not for a listing, since it must be counted. */
static enum rc find_position(struct db *db, struct task_extras *extras, struct err *err)
{
    const struct run_row *latest = extras->run_count ? &extras->runs[extras->run_count - 1] : NULL;
    if (latest == NULL || latest->status != RUN_QUEUED)
        return RC_OK;
    struct queue_place place = {
        .workspace_id = latest->workspace_id, .rank = latest->rank, .run_id = latest->id};
    int64_t read_ahead = 0;
    enum rc rc = capacity_read_ahead(db, &place, &read_ahead, err);
    if (rc == RC_OK)
        extras->queue_position = read_ahead + 1;
    return rc;
}

enum rc api_task_get(struct call *call, struct db *db, struct err *err)
{
    struct id id;
    struct task_row task;
    struct task_extras extras;
    enum rc rc = call_no_params(call, err);
    if (rc == RC_OK)
        rc = call_id(call, 0, &id, err);
    if (rc == RC_OK)
        rc = tasks_get(db, &id, &call->http.arena, &task, err);
    if (rc == RC_OK)
        rc = read_runs(call, db, &task, &extras, err);
    if (rc == RC_OK)
        rc = find_position(db, &extras, err);
    if (rc == RC_OK)
        rc = read_tree(call, db, &task, &extras, err);
    if (rc == RC_OK)
        rc = read_pull_request(call, db, &extras, err);
    if (rc != RC_OK)
        return rc;
    struct jw jw = call_answer(call, 200);
    shape_task(&jw, &task, &extras);
    return RC_OK;
}

/* The configuration that the task has taken, and the same with the program's defaults. */
enum rc api_task_config(struct call *call, struct db *db, struct err *err)
{
    struct id id;
    struct task_row task;
    enum rc rc = call_no_params(call, err);
    if (rc == RC_OK)
        rc = call_id(call, 0, &id, err);
    if (rc == RC_OK)
        rc = tasks_get(db, &id, &call->http.arena, &task, err);
    if (rc != RC_OK)
        return rc;
    struct jw jw = call_answer(call, 200);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "taskId", task.id.text);
    jw_kstr(&jw, "repository", task.repository);
    jw_kraw(&jw, "config", task.config);
    jw_kraw(&jw, "overrides", task.overrides.len ? task.overrides : STR("{}"));
    const struct repo_layers layers = {.snapshot = task.config, .task = task.overrides};
    rc = repo_layers_write(&layers, &call->http.arena, &jw, err);
    jw_end(&jw, '}');
    return rc;
}

static void read_filter(struct params *params, struct task_filter *filter)
{
    const char *status = NULL;
    enum task_status parsed = TASK_SUBMITTED;
    params_text(params, "repository", REPOSITORY_NAME_MAX, &filter->repository);
    params_text(params, "requestedBy", 200, &filter->requested_by);
    params_id(params, "parent", &filter->parent_id);
    params_text(params, "persona", PERSONA_NAME_MAX, &filter->persona);
    params_text(params, "agent", AGENT_NAME_MAX, &filter->agent);
    params_id(params, "batch", &filter->batch_id);
    params_text(params, "status", 40, &status);
    if (status != NULL && !task_status_parse(status, &parsed))
        params_fail(params, "status", "%.40s is not a status of a task", status);
    if (status != NULL)
        filter->status = (int)parsed;
}

enum rc api_task_list(struct call *call, struct db *db, struct err *err)
{
    struct listing list;
    struct task_row *rows = NULL;
    listing_open(&list, call, CURSOR_ID, err);
    struct task_filter filter = {
        .status = -1, .before = list.before, .limit = list.query_limit, .scan = &list.scan};
    read_filter(&list.params, &filter);
    enum rc rc = listing_begin(&list);
    if (rc == RC_OK)
        rc = tasks_list(db, &filter, list.arena, &rows, &list.count, err);
    for (size_t i = 0; rc == RC_OK && listing_shows(&list, i); i++) {
        struct task_extras extras;
        rc = read_runs(call, db, &rows[i], &extras, err);
        if (rc == RC_OK)
            shape_task(&list.jw, &rows[i], &extras);
        list.last = rows[i].id.text;
    }
    return listing_end(&list, rc);
}
