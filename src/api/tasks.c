/*
 * tasks.c - POST /v1/tasks, and later commands and queries about a task.
 */
#include "api/listing.h"
#include "api/routes.h"
#include "api/shapes.h"
#include "base/fields.h"
#include "base/hash.h"
#include "control/admit/retry.h"
#include "control/admit/submit.h"
#include "control/run/stop.h"
#include "core/agent/addressee.h"
#include "core/config/repo_config.h"
#include "core/config/repo_document.h"
#include "core/queue/rank.h"
#include "core/run/task_limits.h"
#include "store/capacity.h"
#include "work/job/attachments.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    IDEMPOTENCY_KEY_MAX = 200,
    REPOSITORY_NAME_MAX = 200,
    TASK_TYPE_MAX = 64,
    BRANCH_MAX = 200,
    SCOPE_MAX = 100,
    GLOB_MAX = 500,
    LABELS_MAX = 50,
    LABEL_MAX = 200,
    CHANNEL_SOURCE_MAX = 100,
    CHANNEL_BYTES_MAX = 16 * 1024,
    OVERRIDE_REASON_MAX = 1000,
    CANDIDATE_NAME_MAX = 64
};
#define ISSUE_NUMBER_MAX ((int64_t)1 << 53)
static const double budget_usd_min = 0.01, budget_usd_max = 100.0;

/* ---- Submit ---- */

static struct str json_of(const struct js *value, struct arena *arena)
{
    return value != NULL ? str_of(js_text(value, arena)) : (struct str){0};
}

static enum rc read_channel(const struct js *channel, struct cmd_submit *cmd, struct err *err)
{
    if (channel == NULL)
        return RC_OK;
    struct fields fields;
    const char *source = NULL;
    const struct js *metadata = NULL;
    fields_open(&fields, channel, "channel", err);
    fields_string(&fields, "source", FIELD_REQUIRED,
                  &(struct field_text){.min = 1, .max = CHANNEL_SOURCE_MAX}, &source);
    fields_object(&fields, "metadata", FIELD_OPTIONAL, &metadata);
    cmd->task.channel = json_of(channel, &cmd->base.arena);
    if (cmd->task.channel.len > CHANNEL_BYTES_MAX)
        fields_fail(&fields, "metadata", "channel must have at most %d bytes", CHANNEL_BYTES_MAX);
    return fields_close(&fields);
}

/* Over the repository's configuration; errors are reported with their path in the body. */
static enum rc read_overrides(struct call *call, const struct js *overrides, struct cmd_submit *cmd,
                              struct err *err)
{
    if (overrides == NULL)
        return RC_OK;
    struct arena *arena = &call->http.arena;
    struct faults faults = {0}, shown = {0};
    enum rc rc = repo_overrides_check(overrides, arena, &faults, err);
    cmd->task.overrides = json_of(overrides, &cmd->base.arena);
    if (rc != RC_INVALID)
        return rc;
    for (size_t i = 0; i < faults.count; i++)
        faults_add(&shown, arena,
                   arena_printf(arena, "overrides%s%s", *faults.items[i].path ? "." : "",
                                faults.items[i].path),
                   faults.items[i].message);
    call_faults(call, &shown);
    return faults_err(&shown, "INVALID_FIELD", err);
}

static enum rc read_depends_on(const struct js *ids, struct cmd_submit *cmd, struct err *err)
{
    size_t count = js_count(ids);
    struct id *found = count ? arena_array(&cmd->base.arena, count, sizeof *found) : NULL;
    for (size_t i = 0; i < count; i++) {
        if (!id_parse(js_str(js_at(ids, i), ""), &found[i]))
            return err_field(err, RC_INVALID, "INVALID_FIELD", "dependsOn",
                             "dependsOn[%zu] is not an id (a UUID)", i);
    }
    cmd->task.depends_on = found;
    cmd->task.depends_count = count;
    return RC_OK;
}

/* Files that were uploaded before: PUT /v1/artifacts/{sha256}. */
static enum rc read_attachment(const struct js *array, size_t index, struct err *err)
{
    char path[sizeof "attachments[99]"];
    (void)snprintf(path, sizeof path, "attachments[%zu]", index % 100);
    struct fields fields;
    const char *name = NULL, *sha256 = NULL;
    fields_open(&fields, js_at(array, index), path, err);
    fields_string(&fields, "name", FIELD_REQUIRED, &(struct field_text){.min = 1, .max = 200},
                  &name);
    fields_string(&fields, "sha256", FIELD_REQUIRED, &(struct field_text){.min = 64, .max = 64},
                  &sha256);
    if (name != NULL && !attachment_name_valid(name))
        fields_fail(&fields, "name", "name must be that of a file, without a directory");
    if (sha256 != NULL && !sha256_text_valid(sha256))
        fields_fail(&fields, "sha256", "sha256 must have 64 lower-case hex digits");
    for (size_t i = 0; name != NULL && i < index; i++) {
        if (text_same(js_get_str(js_at(array, i), "name", NULL), name))
            fields_fail(&fields, "name", "two attachments are called %.100s", name);
    }
    return fields_close(&fields);
}

static enum rc read_attachments(const struct js *array, struct cmd_submit *cmd, struct err *err)
{
    enum rc rc = RC_OK;
    for (size_t i = 0; rc == RC_OK && i < js_count(array); i++)
        rc = read_attachment(array, i, err);
    cmd->task.attachments = js_count(array) > 0 ? json_of(array, &cmd->base.arena)
                                                : (struct str){0};
    return rc;
}

static void read_limits(struct fields *fields, struct cmd_submit *cmd)
{
    double usd = 0;
    fields_int(fields, "priority", FIELD_OPTIONAL, &(struct field_range){0, PRIORITY_MAX},
               &cmd->task.priority);
    fields_int(fields, "maxTurns", FIELD_OPTIONAL, &(struct field_range){1, TURNS_MAX},
               &cmd->task.max_turns);
    fields_real(fields, "maxBudgetUsd", FIELD_OPTIONAL,
                &(struct field_real){budget_usd_min, budget_usd_max}, &usd);
    cmd->task.max_budget_microusd = llround(usd * 1e6);
    fields_int(fields, "maxTokens", FIELD_OPTIONAL, &(struct field_range){1, TOKENS_MAX},
               &cmd->task.max_tokens);
    cmd->task.priority_given = js_get(cmd->base.tree, "priority") != NULL;
}

static void read_words(struct fields *fields, struct cmd_submit *cmd)
{
    int risk = (int)cmd->task.risk, mode = (int)cmd->task.mode;
    fields_choice(fields, "riskLevel", FIELD_OPTIONAL, risk_names, &risk);
    fields_choice(fields, "executionMode", FIELD_OPTIONAL, mode_names, &mode);
    cmd->task.risk = (enum risk)risk;
    cmd->task.mode = (enum mode)mode;
    cmd->task.risk_given = js_get(cmd->base.tree, "riskLevel") != NULL;
    cmd->task.mode_given = js_get(cmd->base.tree, "executionMode") != NULL;
    fields_string(fields, "taskType", FIELD_OPTIONAL,
                  &(struct field_text){.min = 1, .max = TASK_TYPE_MAX}, &cmd->task.task_type);
    fields_string(fields, "targetBranch", FIELD_OPTIONAL,
                  &(struct field_text){.min = 1, .max = BRANCH_MAX}, &cmd->task.target_branch);
    if (cmd->task.target_branch != NULL && !branch_name_valid(cmd->task.target_branch))
        fields_fail(fields, "targetBranch",
                    "targetBranch is not a name that git takes for a branch");
}

static enum rc read_override(const struct js *override, struct cmd_submit *cmd, struct err *err)
{
    if (override == NULL)
        return RC_OK;
    struct fields fields;
    fields_open(&fields, override, "override", err);
    fields_string(&fields, "reason", FIELD_REQUIRED,
                  &(struct field_text){.min = 1, .max = OVERRIDE_REASON_MAX},
                  &cmd->task.override_reason);
    return fields_close(&fields);
}

/* bestOf: how many; candidates: which, and so how many. */
static enum rc read_candidates(const struct js *names, struct cmd_submit *cmd, struct err *err)
{
    size_t count = js_count(names);
    if (names == NULL)
        return RC_OK;
    if (count < CANDIDATES_MIN || (cmd->task.best_of > 0 && (size_t)cmd->task.best_of != count))
        return err_field(err, RC_INVALID, "INVALID_FIELD", "candidates",
                         "candidates must name %d to %d candidates of the repository, and as many "
                         "as bestOf if that is given",
                         CANDIDATES_MIN, CANDIDATES_MAX);
    const char **words = arena_array(&cmd->base.arena, count, sizeof *words);
    for (size_t i = 0; i < count; i++)
        words[i] = js_str(js_at(names, i), "");
    cmd->task.candidates = words;
    cmd->task.best_of = (int64_t)(cmd->task.candidate_count = count);
    return RC_OK;
}

/* A sub-task may leave out its repository: it is the parent's then. */
static void read_place(struct fields *fields, struct cmd_submit *cmd)
{
    const char *parent = NULL;
    fields_string(fields, "parentTaskId", FIELD_OPTIONAL,
                  &(struct field_text){.min = 1, .max = ID_TEXT_BYTES}, &parent);
    if (parent != NULL && !id_parse(parent, &cmd->task.parent_id))
        fields_fail(fields, "parentTaskId", "parentTaskId is not an id (a UUID)");
    bool is_part = parent != NULL || !id_is_none(&cmd->task.agent_run_id);
    fields_string(fields, "repository", is_part ? FIELD_OPTIONAL : FIELD_REQUIRED,
                  &(struct field_text){.min = 1, .max = REPOSITORY_NAME_MAX},
                  &cmd->task.repository);
}

/* For which agents it is. */
static void read_addressee(struct fields *fields, struct submission *task)
{
    fields_string(fields, "persona", FIELD_OPTIONAL,
                  &(struct field_text){.min = 1, .max = PERSONA_NAME_MAX}, &task->persona);
    fields_string(fields, "agent", FIELD_OPTIONAL,
                  &(struct field_text){.min = 1, .max = AGENT_NAME_MAX}, &task->agent);
    if (task->persona != NULL && !persona_name_valid(task->persona))
        fields_fail(fields, "persona", PERSONA_NAME_RULE);
    if (task->agent != NULL && !agent_name_valid(task->agent))
        fields_fail(fields, "agent", AGENT_NAME_RULE);
}

static enum rc read_submit(struct call *call, struct cmd_submit *cmd, struct err *err)
{
    struct fields fields;
    const struct js *overrides = NULL;
    const struct js *scope = NULL, *labels = NULL, *channel = NULL, *depends_on = NULL;
    const struct js *attachments = NULL, *override = NULL, *candidates = NULL;
    fields_open(&fields, cmd->base.tree, "", err);
    read_place(&fields, cmd);
    read_addressee(&fields, &cmd->task);
    fields_string(&fields, "description", FIELD_OPTIONAL,
                  &(struct field_text){.min = 1, .max = TASK_DESCRIPTION_MAX},
                  &cmd->task.description);
    fields_int(&fields, "issueNumber", FIELD_OPTIONAL, &(struct field_range){1, ISSUE_NUMBER_MAX},
               &cmd->task.issue_number);
    read_words(&fields, cmd);
    read_limits(&fields, cmd);
    fields_strings(&fields, "scope", FIELD_OPTIONAL, SCOPE_MAX,
                   &(struct field_text){.min = 1, .max = GLOB_MAX}, &scope);
    fields_strings(&fields, "labels", FIELD_OPTIONAL, LABELS_MAX,
                   &(struct field_text){.min = 1, .max = LABEL_MAX}, &labels);
    fields_object(&fields, "channel", FIELD_OPTIONAL, &channel);
    fields_object(&fields, "overrides", FIELD_OPTIONAL, &overrides);
    fields_strings(&fields, "dependsOn", FIELD_OPTIONAL, TASK_DEPENDS_MAX,
                   &(struct field_text){.min = 1, .max = ID_TEXT_BYTES}, &depends_on);
    fields_array(&fields, "attachments", FIELD_OPTIONAL, ATTACHMENTS_MAX, &attachments);
    fields_object(&fields, "override", FIELD_OPTIONAL, &override);
    fields_int(&fields, "bestOf", FIELD_OPTIONAL,
               &(struct field_range){CANDIDATES_MIN, CANDIDATES_MAX}, &cmd->task.best_of);
    fields_strings(&fields, "candidates", FIELD_OPTIONAL, CANDIDATES_MAX,
                   &(struct field_text){.min = 1, .max = CANDIDATE_NAME_MAX}, &candidates);
    if (cmd->task.description == NULL && !cmd->task.issue_number)
        fields_fail(&fields, "description", "give a description, an issueNumber, or both");
    enum rc rc = fields_close(&fields);
    if (rc == RC_OK)
        rc = read_channel(channel, cmd, err);
    if (rc == RC_OK)
        rc = read_depends_on(depends_on, cmd, err);
    if (rc == RC_OK)
        rc = read_overrides(call, overrides, cmd, err);
    if (rc == RC_OK)
        rc = read_attachments(attachments, cmd, err);
    if (rc == RC_OK)
        rc = read_override(override, cmd, err);
    if (rc == RC_OK)
        rc = read_candidates(candidates, cmd, err);
    cmd->task.scope = json_of(scope, &cmd->base.arena);
    cmd->task.labels = json_of(labels, &cmd->base.arena);
    return rc;
}

static enum rc read_key(struct call *call, struct cmd_submit *cmd, struct err *err)
{
    const char *key = http_header(&call->http, "Idempotency-Key");
    if (key == NULL)
        return RC_OK;
    size_t len = strlen(key);
    for (size_t i = 0; i < len; i++) {
        if (key[i] < ' ' || key[i] > '~')
            len = 0;
    }
    if (len == 0 || len > IDEMPOTENCY_KEY_MAX)
        return err_field(err, RC_MALFORMED, "INVALID_IDEMPOTENCY_KEY", "Idempotency-Key",
                         "Idempotency-Key must be 1 to %d printable ASCII characters",
                         IDEMPOTENCY_KEY_MAX);
    struct str body = http_body(&call->http);
    char *sha256 = arena_alloc(&cmd->base.arena, SHA256_TEXT_BYTES);
    sha256_hex(body.at, body.len, sha256);
    cmd->task.body_sha256 = sha256;
    /* The keys of an agent are its own: it must not get the tasks of others by theirs. */
    cmd->task.idempotency_key = id_is_none(&cmd->task.agent_run_id)
                                    ? arena_strdup(&cmd->base.arena, key)
                                    : arena_printf(&cmd->base.arena, "run/%s/%s",
                                                   cmd->task.agent_run_id.text, key);
    return RC_OK;
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
