/*
 * submit.c - submits a task: checks it, records it with its first run, and leaves it to admission.
 *
 * Submission locks no row that others share, so that submissions never wait for each other: but for
 * sub-tasks, which lock the run of their parent, and tasks that join a batch, which lock that.
 *
 * An agent may submit sub-tasks of its own task.  It is hostile: what it asks for is never more
 * than its parent was given (check_agent), and what it is refused leaves no event, so that it
 * cannot fill the log.
 */
#include "control/admit/submit.h"
#include "control/admit/acceptance.h"
#include "control/admit/batch_flow.h"
#include "control/admit/best_of.h"
#include "control/commit/read_ahead.h"
#include "control/run/assignment.h"
#include "control/run/effective.h"
#include "control/run/flow.h"
#include "control/run/policies.h"
#include "control/run/quarantine.h"
#include "control/run/run_batch.h"
#include "control/run/subtasks.h"
#include "core/agent/addressee.h"
#include "core/event_types.h"
#include "core/queue/rank.h"
#include "core/text/prose.h"
#include "store/repositories.h"
#include <string.h>

/* A longer scope is in the task only, not in events. */
enum { SCOPE_TOLD_BYTES = 8 * 1024, SCOPE_SUMMARY_MAX = 200 };
#define IDEMPOTENCY_TTL_US (24 * US_PER_HOUR)

/* ---- the idempotency key ---- */

/* answer->repeated when the key is stored with this body. */
static enum rc look_up_key(struct context *ctx, const struct submission *want,
                           struct acceptance *request, struct submitted *answer)
{
    if (want->idempotency_key == NULL)
        return RC_OK;
    struct idempotency_row row;
    enum rc rc = idempotency_get(ctx->db, &ctx->workspace_id, want->idempotency_key, ctx->now_us,
                                 ctx->arena, &row, ctx->err);
    if (rc == RC_NOT_FOUND)
        return RC_OK;
    if (rc != RC_OK)
        return rc;
    if (!text_same(row.body_sha256, want->body_sha256)) {
        request->key_task = arena_strdup(ctx->arena, row.task_id.text);
        return RC_OK;
    }
    answer->repeated = true;
    answer->task_id = row.task_id;
    answer->run_id = row.run_id;
    return RC_OK;
}

static enum rc keep_key(struct context *ctx, const struct submission *want,
                        const struct submitted *answer)
{
    if (want->idempotency_key == NULL)
        return RC_OK;
    struct idempotency_row row = {
        .workspace_id = ctx->workspace_id,
        .key = want->idempotency_key,
        .body_sha256 = want->body_sha256,
        .task_id = answer->task_id,
        .run_id = answer->run_id,
        .expires_us = ctx->now_us + IDEMPOTENCY_TTL_US,
    };
    return idempotency_put(ctx->db, &row, ctx->now_us, ctx->err);
}

/* ---- the parent ---- */

static bool is_of_agent(const struct submission *want)
{
    return !id_is_none(&want->agent_run_id);
}

/* For an agent the task of its own run, also if it names another one; else the one that is
   named. */
static enum rc find_parent(struct context *ctx, const struct submission *want, struct flow *parent)
{
    if (is_of_agent(want)) {
        enum rc rc = flow_load(ctx, &want->agent_run_id, parent);
        if (rc == RC_NOT_FOUND || (rc == RC_OK && run_is_terminal(parent->run.status)))
            return err_set(ctx->err, RC_UNAUTHORIZED, "TOKEN_EXPIRED",
                           "the run that this token was given for has ended");
        return rc;
    }
    if (id_is_none(&want->parent_id))
        return RC_OK;
    enum rc rc = flow_load_latest(ctx, &want->parent_id, parent);
    if (rc == RC_NOT_FOUND)
        return err_field(ctx->err, RC_INVALID, "INVALID_FIELD", "parentTaskId",
                         "there is no task %s", want->parent_id.text);
    if (rc == RC_OK && run_is_terminal(parent->run.status))
        return err_field(ctx->err, RC_CONFLICT, "PARENT_FINISHED", "parentTaskId",
                         "task %s is %s already and takes no more sub-tasks", want->parent_id.text,
                         task_status_name(parent->task.status));
    return rc;
}

/* What a sub-task does not say it takes from its parent. */
static void inherit(struct submission *want, const struct task_row *parent)
{
    if (want->repository == NULL)
        want->repository = parent->repository;
    if (want->task_type == NULL)
        want->task_type = parent->task_type;
    if (!want->risk_given)
        want->risk = parent->risk;
    if (!want->mode_given)
        want->mode = parent->mode;
    if (!want->priority_given)
        want->priority = parent->priority;
    want->batch_id = parent->batch_id;
    want->batch_joins = false;
    if (!text_same(want->repository, parent->repository))
        return;
    if (want->target_branch == NULL)
        want->target_branch = parent->target_branch;
    if (want->scope.len == 0)
        want->scope = parent->scope;
    if (is_of_agent(want))
        want->overrides = parent->overrides;
}

static bool has_scope(const struct task_row *task)
{
    return task->scope.len > strlen("[]");
}

/* The member by which an agent asks for more than its parent was given; NULL: none. */
static const char *exceeded(const struct submission *want, const struct task_row *parent,
                            int64_t max_turns)
{
    if (max_turns > 0 && want->max_turns > max_turns)
        return "maxTurns";
    if (want->repository != NULL && !text_same(want->repository, parent->repository))
        return "repository";
    if (want->target_branch != NULL && !text_same(want->target_branch, parent->target_branch))
        return "targetBranch";
    if (want->task_type != NULL && !text_same(want->task_type, parent->task_type))
        return "taskType";
    if (want->risk_given && want->risk < parent->risk)
        return "riskLevel";
    if (want->mode_given && want->mode > parent->mode)
        return "executionMode";
    if (want->priority_given && want->priority < parent->priority)
        return "priority";
    if (want->scope.len > 0 && has_scope(parent))
        return "scope";
    if (want->attachments.len > 0) /* It could name what it may not read. */
        return "attachments";
    if (want->issue_number > 0 && want->issue_number != parent->issue_number)
        return "issueNumber";
    if (want->best_of > 0) /* Candidates may be dearer than its own agent. */
        return "bestOf";
    return want->overrides.len > 0 ? "overrides" : NULL;
}

static enum rc check_agent(struct context *ctx, const struct submission *want,
                           const struct flow *parent)
{
    const char *field = exceeded(want, &parent->task, parent->run.max_turns);
    if (field == NULL)
        return RC_OK;
    return err_field(ctx->err, RC_INVALID, "SUBTASK_NOT_ALLOWED", field,
                     "an agent's sub-task has the repository, targetBranch, taskType, scope, issue "
                     "and overrides of its parent, no attachments and candidates, and no more in "
                     "executionMode, riskLevel, priority and maxTurns; leave out %s",
                     field);
}

/* ---- admission ---- */

static enum rc find_repository(struct context *ctx, struct acceptance *request,
                               struct repository_row *ret_row)
{
    enum rc rc = repositories_by_name(ctx->db, &ctx->workspace_id, request->repository, ctx->arena,
                                      ret_row, ctx->err);
    request->onboarded = rc == RC_OK && !ret_row->removed;
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}

static enum rc check_dependencies(struct context *ctx, const struct submission *want)
{
    for (size_t i = 0; i < want->depends_count; i++) {
        struct task_runs runs; /* Read without a lock. */
        enum rc rc = tasks_runs(ctx->db, &want->depends_on[i], &runs, ctx->err);
        if (rc == RC_NOT_FOUND)
            return err_field(ctx->err, RC_INVALID, "INVALID_FIELD", "dependsOn",
                             "there is no task %s", want->depends_on[i].text);
        if (rc != RC_OK)
            return rc;
    }
    return RC_OK;
}

/* Why policy denies the task, for the log and for the client. */
static enum rc explain_denial(struct context *ctx, const struct acceptance *request,
                              const struct id *task_id, struct submitted *answer)
{
    struct mode_question question = {
        .resource_type = "task",
        .resource_id = task_id->text,
        .mode = request->mode,
        .risk = request->risk,
        .rule = request->approval,
    };
    struct policy_decision decision = policy_on_mode(&question, ctx->arena);
    answer->explained = policies_text(&decision, ctx->arena);
    return policies_emit_refused(ctx, task_id, &decision);
}

/* A denial is recorded as an event: who requested what, and why it was denied. */
static enum rc record_rejection(struct context *ctx, const struct submission *want,
                                const struct acceptance *request, struct submitted *answer)
{
    struct id task_id = context_id(ctx);
    struct err refusal = *ctx->err;
    enum rc rc = RC_OK;
    if (text_same(refusal.code, policy_deny_code()))
        rc = explain_denial(ctx, request, &task_id, answer);
    if (rc != RC_OK)
        return rc;
    CLEANUP(event_body_release) struct event_body body;
    event_body_open(&body);
    jw_kstr(&body.jw, "taskId", task_id.text);
    jw_kstr(&body.jw, "repository", want->repository);
    jw_kstr(&body.jw, "riskLevel", risk_name(want->risk));
    jw_kstr(&body.jw, "executionMode", mode_name(want->mode));
    jw_kstr(&body.jw, "requestedBy", request->requested_by);
    jw_kstr(&body.jw, "reasonCode", refusal.code);
    jw_kstr(&body.jw, "reason", refusal.text);
    struct event event = {
        .type = EV_TASK_REJECTED,
        .task_id = task_id,
        .subject = arena_printf(ctx->arena, "task/%s", task_id.text),
        .correlation_id = task_id,
        .data = event_body_close(&body),
    };
    rc = context_append(ctx, &event, NULL);
    if (rc == RC_OK)
        *ctx->err = refusal;
    return rc;
}

/* Only agents that claim their work have a persona and a name. */
static enum rc check_addressee(struct context *ctx, const struct submission *want,
                               const struct repo_config *config)
{
    const char *field = want->agent != NULL ? "agent" : "persona";
    const struct addressee to = {config->agent.queue, want->persona, want->agent};
    if (want->persona == NULL && want->agent == NULL)
        return RC_OK;
    if (config->agent.compute != COMPUTE_PULL)
        return err_field(ctx->err, RC_INVALID, "INVALID_FIELD", field,
                         "%s is for repositories whose agents claim their work: set agent.compute "
                         "to pull in its configuration (drover repo set)",
                         field);
    return addressee_check(&to, ctx->arena, ctx->err);
}

/* All checks, in the order of core/run/admission.h. */
static enum rc check_entry(struct context *ctx, const struct submission *want,
                           struct acceptance *request, const struct flow *parent, struct flow *flow,
                           struct repository_row *repository)
{
    const struct repo_config *config;
    enum rc rc = find_repository(ctx, request, repository);
    if (rc != RC_OK)
        return rc;
    if (request->key_task != NULL || !request->onboarded)
        return acceptance_check(ctx, request);
    rc = check_dependencies(ctx, want);
    if (rc == RC_OK)
        rc = effective_config(ctx, repository, want->overrides, &flow->task.config);
    if (rc == RC_OK)
        rc = flow_config(ctx, flow, &config);
    if (rc == RC_OK)
        rc = check_addressee(ctx, want, config);
    if (rc == RC_OK)
        rc = best_of_check(ctx, want, config);
    if (rc == RC_OK)
        rc = quarantine_check(ctx, repository);
    if (rc != RC_OK)
        return rc;
    request->approval = config->approval;
    rc = acceptance_check(ctx, request);
    if (rc == RC_OK && !id_is_none(&parent->run.id))
        rc = subtasks_check(ctx, &parent->run, NULL, &flow->lineage);
    return rc;
}

/* ---- the rows ---- */

static struct str json_or(struct str given, struct str otherwise)
{
    return given.len > 0 ? given : otherwise;
}

static enum rc fill_task(struct context *ctx, const struct submission *want,
                         const struct acceptance *request, const struct flow *parent,
                         const struct repository_row *repository, struct flow *flow)
{
    const struct repo_config *config;
    enum rc rc = flow_config(ctx, flow, &config);
    if (rc != RC_OK)
        return rc;
    flow->task = (struct task_row){
        .id = context_id(ctx),
        .workspace_id = ctx->workspace_id,
        .repository_id = repository->id,
        .parent_id = parent->task.id,
        .repository = repository->name,
        .description = want->description,
        .issue_number = want->issue_number,
        .task_type = want->task_type != NULL ? want->task_type : "general",
        .risk = want->risk,
        .mode = want->mode,
        .target_branch = want->target_branch != NULL ? want->target_branch : config->default_branch,
        .scope = json_or(want->scope, STR("[]")),
        .priority = want->priority,
        .max_turns = want->max_turns,
        .max_budget_microusd = want->max_budget_microusd,
        .max_tokens = want->max_tokens,
        .labels = json_or(want->labels, STR("[]")),
        .channel = json_or(want->channel, STR("{}")),
        .attachments = want->attachments,
        .depends_on = STR("[]"),
        .config = flow->task.config,
        .overrides = want->overrides,
        .best_of = want->best_of,
        .pull_request_id = want->pull_request_id,
        .head_commit = want->head_commit,
        .merge_with = want->merge_with,
        .origin = want->origin,
        .persona = want->persona,
        .agent = want->agent,
        .batch_id = want->batch_id,
        .requested_by = request->requested_by,
        .run_count = 1,
        .created_us = ctx->now_us,
        .updated_us = ctx->now_us,
    };
    return RC_OK;
}

static void write_depends_on(struct context *ctx, const struct submission *want,
                             struct task_row *task)
{
    CLEANUP(buf_release) struct buf buf;
    buf_init(&buf, TASK_DEPENDS_MAX * (ID_TEXT_BYTES + 4));
    struct jw jw = jw_to(&buf);
    jw_begin(&jw, '[');
    for (size_t i = 0; i < want->depends_count; i++)
        jw_str(&jw, want->depends_on[i].text);
    jw_end(&jw, ']');
    task->depends_on = (struct str){arena_strndup(ctx->arena, buf.data, buf.len), buf.len};
}

/* "src/billing, and 3 more"; for the whole repository "". */
static const char *summarize_scope(struct context *ctx, struct str scope)
{
    CLEANUP(js_freep) struct js *globs = NULL;
    if (scope.len <= strlen("[]") || js_parse(scope.at, scope.len, &globs, NULL) != RC_OK)
        return "";
    const char *first = prose_line(ctx->arena, js_str(js_at(globs, 0), ""), SCOPE_SUMMARY_MAX);
    size_t more = js_count(globs) - 1;
    return more == 0 ? first : arena_printf(ctx->arena, "%s, and %zu more", first, more);
}

static enum rc emit_submitted(struct context *ctx, struct flow *flow)
{
    const struct task_row *task = &flow->task;
    CLEANUP(event_body_release) struct event_body body;
    event_body_open(&body);
    jw_kstr(&body.jw, "taskId", task->id.text);
    jw_kstr(&body.jw, "repositoryId", task->repository_id.text);
    jw_kstr(&body.jw, "repository", task->repository);
    jw_optstr(&body.jw, "parentTaskId", id_or_null(&task->parent_id));
    jw_optstr(&body.jw, "batchId", id_or_null(&task->batch_id));
    jw_kstr(&body.jw, "taskType", task->task_type);
    jw_kstr(&body.jw, "riskLevel", risk_name(task->risk));
    jw_kstr(&body.jw, "executionMode", mode_name(task->mode));
    jw_kstr(&body.jw, "targetBranch", task->target_branch);
    jw_kint(&body.jw, "priority", task->priority);
    jw_kstr(&body.jw, "requestedBy", task->requested_by);
    jw_optstr(&body.jw, "persona", task->persona);
    jw_optstr(&body.jw, "agent", task->agent);
    if (task->scope.len <= SCOPE_TOLD_BYTES)
        jw_kraw(&body.jw, "scope", task->scope);
    jw_kstr(&body.jw, "scopeSummary", summarize_scope(ctx, task->scope));
    return flow_emit_task(ctx, flow, EV_TASK_SUBMITTED, &body);
}

/* Well formed, with a repository and a configuration; these are the limits that it gets. */
static enum rc emit_validated(struct context *ctx, struct flow *flow)
{
    const struct run_row *run = &flow->run;
    CLEANUP(event_body_release) struct event_body body;
    event_body_open(&body);
    jw_kstr(&body.jw, "taskId", flow->task.id.text);
    jw_kstr(&body.jw, "repositoryId", flow->task.repository_id.text);
    if (run->max_turns > 0)
        jw_kint(&body.jw, "maxTurns", run->max_turns);
    if (run->budget_microusd > 0)
        jw_kreal(&body.jw, "maxBudgetUsd", (double)run->budget_microusd / 1e6);
    if (run->max_tokens > 0)
        jw_kint(&body.jw, "maxTokens", run->max_tokens);
    return flow_emit_task(ctx, flow, EV_TASK_VALIDATED, &body);
}

static enum rc emit_accepted(struct context *ctx, struct flow *flow)
{
    CLEANUP(event_body_release) struct event_body body;
    event_body_open(&body);
    jw_kstr(&body.jw, "taskId", flow->task.id.text);
    return flow_emit_task(ctx, flow, EV_TASK_ACCEPTED, &body);
}

static enum rc emit_entry(struct context *ctx, struct flow *flow)
{
    enum rc rc = emit_submitted(ctx, flow);
    if (rc == RC_OK)
        rc = emit_validated(ctx, flow);
    if (rc == RC_OK)
        rc = emit_accepted(ctx, flow);
    return rc == RC_OK ? flow_emit_queued(ctx, flow) : rc;
}

/* override_reason: why an admin admits what policy denies, or NULL. */
static enum rc write_rows(struct context *ctx, const struct submission *want, struct flow *flow,
                          const char *override_reason)
{
    enum rc rc = flow_new_run(ctx, flow, 1);
    if (rc == RC_OK)
        rc = emit_entry(ctx, flow);
    if (rc == RC_OK && override_reason != NULL)
        rc = policies_override_mode(ctx, flow, override_reason);
    /* Last: the rows store the id and the number of their last event. */
    if (rc == RC_OK)
        rc = tasks_insert(ctx->db, &flow->task, want->depends_on, want->depends_count, ctx->err);
    if (rc == RC_OK)
        rc = runs_insert(ctx->db, &flow->run, ctx->err);
    if (rc == RC_OK && override_reason != NULL)
        rc = runs_save_more(ctx->db, &flow->run, ctx->err);
    return rc;
}

enum rc submit_insert(struct context *ctx, const struct submission *want, struct flow *flow)
{
    return write_rows(ctx, want, flow, NULL);
}

/* Loads the parent, if there is one, and takes from it what the command leaves out. */
static enum rc adopt(struct context *ctx, struct submission *want, struct flow *parent)
{
    enum rc rc = find_parent(ctx, want, parent);
    if (rc == RC_OK && is_of_agent(want))
        rc = check_agent(ctx, want, parent);
    if (rc == RC_OK && !id_is_none(&parent->task.id))
        inherit(want, &parent->task);
    return rc;
}

/* A member has at most what the budget of its batch leaves; a sub-task, what its parent does. */
static enum rc check_batch(struct context *ctx, const struct submission *want, struct flow *flow,
                           struct batch_joining *joining)
{
    enum rc rc = RC_OK;
    if (want->batch_joins)
        rc = batch_join_check(ctx, &want->batch_id, joining);
    if (rc == RC_OK && id_is_none(&flow->lineage.parent_run_id))
        rc = run_batch_left(ctx, &want->batch_id, &flow->lineage.left.cost_microusd);
    return rc;
}

static enum rc accept(struct context *ctx, const struct submission *want,
                      struct acceptance *request, struct flow *parent, struct submitted *answer)
{
    CLEANUP(flow_release) struct flow flow = {0};
    struct repository_row repository;
    struct batch_joining joining = {0};
    enum rc rc = check_entry(ctx, want, request, parent, &flow, &repository);
    if (rc == RC_DENIED && !is_of_agent(want)) {
        answer->refused = rc;
        return record_rejection(ctx, want, request, answer);
    }
    if (rc == RC_OK)
        rc = check_batch(ctx, want, &flow, &joining);
    if (rc == RC_OK)
        rc = fill_task(ctx, want, request, parent, &repository, &flow);
    if (rc != RC_OK)
        return rc;
    write_depends_on(ctx, want, &flow.task);
    bool denied = policy_decide(request->mode, request->risk, request->approval) == POLICY_DENY;
    rc = assignment_check(ctx, &flow);
    if (rc == RC_OK)
        rc = write_rows(ctx, want, &flow, denied ? want->override_reason : NULL);
    if (rc == RC_OK && !id_is_none(&parent->run.id))
        rc = subtasks_join(ctx, &parent->run);
    if (rc == RC_OK && want->batch_joins)
        rc = batch_join(ctx, &joining, &flow.task);
    if (rc == RC_OK && flow.task.best_of > 0)
        rc = best_of_submit(ctx, want, &repository, &flow);
    if (rc != RC_OK)
        return rc;
    const struct forecast_limits limits = {flow.run.budget_microusd, flow.run.max_turns};
    answer->forecast = flow.run.forecast;
    answer->warning = forecast_warning(&flow.forecast, &limits, ctx->arena);
    answer->task_id = flow.task.id;
    answer->run_id = flow.run.id;
    ctx->round->admit = true;
    return keep_key(ctx, want, answer);
}

enum rc submit_task(struct context *ctx, const struct submission *given, struct submitted *ret)
{
    CLEANUP(flow_release) struct flow parent = {0};
    struct submission want = *given;
    struct submitted answer = {0};
    struct acceptance request = {.overridden = want.override_reason != NULL && want.may_override};
    enum rc rc = look_up_key(ctx, &want, &request, &answer);
    if (rc == RC_OK && !answer.repeated)
        rc = adopt(ctx, &want, &parent);
    if (rc != RC_OK)
        return rc;
    request.requested_by = want.requested_by != NULL ? want.requested_by : ctx->actor.id;
    /* What an agent submits counts for the person who submitted its task. */
    if (is_of_agent(&want))
        request.requested_by = parent.task.requested_by;
    request.repository = want.repository;
    request.mode = want.mode;
    request.risk = want.risk;
    if (!answer.repeated)
        rc = accept(ctx, &want, &request, &parent, &answer);
    if (rc == RC_OK)
        *ret = answer;
    return rc;
}

static enum rc apply_submit(struct context *ctx, struct command *command)
{
    struct cmd_submit *cmd = (struct cmd_submit *)command;
    cmd->answer = (struct submitted){0};
    enum rc rc = submit_task(ctx, &cmd->task, &cmd->answer);
    command->refused = cmd->answer.refused;
    command->explained = cmd->answer.explained;
    command->made = cmd->answer.task_id;
    return rc;
}

static void submit_names(const struct command *command, struct read_ahead *read_ahead)
{
    const struct submission *want = &((const struct cmd_submit *)command)->task;
    if (!id_is_none(&want->parent_id) && !is_of_agent(want))
        read_ahead_owner(read_ahead, &want->parent_id);
}

static const struct command_ops submit_ops = {
    .name = "submit", .apply = apply_submit, .names = submit_names};

struct submission submission_new(void)
{
    return (struct submission){
        .risk = RISK_MEDIUM, .mode = MODE_SUPERVISED_PR, .priority = PRIORITY_NORMAL};
}

struct cmd_submit *cmd_submit_new(void)
{
    struct cmd_submit *cmd = command_new(&submit_ops, sizeof *cmd);
    cmd->task = submission_new();
    return cmd;
}
