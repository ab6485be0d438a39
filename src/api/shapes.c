/*
 * shapes.c - rows as JSON.
 */
#include "api/shapes.h"
#include "base/clock.h"
#include "base/js.h"
#include "control/run/notify.h"
#include "core/step_kind.h"

static void key_id(struct jw *jw, const char *key, const struct id *id)
{
    jw_kstr(jw, key, id_or_null(id));
}

/* 0 stands for "none". */
static void key_int_or_null(struct jw *jw, const char *key, int64_t value)
{
    if (value)
        jw_kint(jw, key, value);
    else
        jw_kstr(jw, key, NULL);
}

static void key_usd(struct jw *jw, const char *key, int64_t microusd)
{
    jw_kreal(jw, key, (double)microusd / 1e6);
}

static void key_usd_or_null(struct jw *jw, const char *key, int64_t microusd)
{
    if (microusd)
        key_usd(jw, key, microusd);
    else
        jw_kstr(jw, key, NULL);
}

static void key_json(struct jw *jw, const char *key, struct str json, struct str otherwise)
{
    jw_kraw(jw, key, json.len ? json : otherwise);
}

static void task_request(struct jw *jw, const struct task_row *task)
{
    jw_kstr(jw, "repository", task->repository);
    key_id(jw, "parentTaskId", &task->parent_id);
    key_id(jw, "batchId", &task->batch_id);
    jw_kstr(jw, "description", task->description);
    key_int_or_null(jw, "issueNumber", task->issue_number);
    jw_kstr(jw, "taskType", task->task_type);
    jw_kstr(jw, "executionMode", mode_name(task->mode));
    jw_kstr(jw, "riskLevel", risk_name(task->risk));
    jw_kint(jw, "priority", task->priority);
    jw_kstr(jw, "targetBranch", task->target_branch);
    key_json(jw, "scope", task->scope, STR("[]"));
    key_json(jw, "labels", task->labels, STR("[]"));
    jw_kstr(jw, "persona", task->persona);
    jw_kstr(jw, "agent", task->agent);
    key_json(jw, "channel", task->channel, STR("{}"));
    if (task->origin.len > 0)
        jw_kraw(jw, "origin", task->origin);
    key_json(jw, "dependsOn", task->depends_on, STR("[]"));
    key_json(jw, "attachments", task->attachments, STR("[]"));
    jw_kstr(jw, "requestedBy", task->requested_by);
    key_int_or_null(jw, "bestOf", task->best_of);
    if (task->best_of > 0)
        key_id(jw, "chosenTaskId", &task->chosen_id);
    if (task->candidate_no > 0) {
        jw_kint(jw, "candidateNo", task->candidate_no);
        jw_kstr(jw, "candidate", task->candidate);
    }
}

/* The run's limits in force (core/run/task_limits.h), not those that the task asked for. */
static void run_limits(struct jw *jw, const struct run_row *run)
{
    key_int_or_null(jw, "maxTurns", run->max_turns);
    key_usd_or_null(jw, "maxBudgetUsd", run->budget_microusd);
    key_int_or_null(jw, "maxTokens", run->max_tokens);
}

/* Why its latest run has not started yet. */
static void task_waiting(struct jw *jw, const struct run_row *latest, int64_t position)
{
    bool waits = latest != NULL && latest->status == RUN_QUEUED;
    bool deferred = waits && latest->deferred_reason != NULL;
    jw_kstr(jw, "deferredReason", deferred ? latest->deferred_reason : NULL);
    jw_kstr(jw, "deferredDetail", deferred ? latest->deferred_detail : NULL);
    if (position)
        jw_kint(jw, "queuePosition", position);
    jw_ktime(jw, "waitingSince", waits ? latest->queued_us : 0);
}

/* What the run was expected to take, and by how much that was wrong. */
static void run_forecast(struct jw *jw, const struct run_row *run)
{
    const struct past_run actual = {
        .cost_microusd = run->cost_microusd, .turns = run->turns, .work_us = run->work_us};
    if (run->forecast.len == 0) {
        jw_kstr(jw, "forecast", NULL);
        return;
    }
    jw_kraw(jw, "forecast", run->forecast);
    if (run_is_terminal(run->status))
        forecast_write_error(jw, "forecastError", run->forecast, &actual);
}

/* Its pull request, its sub-tasks, and what it has used together with them. */
static void task_alone(struct jw *jw, const struct task_extras *extras)
{
    const struct budget_node *node = extras->tree;
    if (!extras->alone)
        return;
    if (extras->run_count > 0)
        run_forecast(jw, &extras->runs[extras->run_count - 1]);
    jw_kint(jw, "children", extras->child_count);
    jw_key(jw, "pullRequest");
    if (extras->pull_request != NULL)
        shape_pull_request(jw, extras->pull_request);
    else
        jw_null(jw);
    if (node == NULL)
        return;
    jw_key(jw, "spent");
    jw_begin(jw, '{');
    key_usd(jw, "costUsd", node->total[MEASURE_COST]);
    jw_kint(jw, "tokens", node->total[MEASURE_TOKENS]);
    jw_kint(jw, "workSeconds", node->total_work_us / US_PER_SECOND);
    jw_end(jw, '}');
}

void shape_task(struct jw *jw, const struct task_row *task, const struct task_extras *extras)
{
    jw_begin(jw, '{');
    key_id(jw, "id", &task->id);
    jw_kstr(jw, "status", task_status_name(task->status));
    jw_kstr(jw, "errorCode", task->error_code);
    jw_kstr(jw, "errorMessage", task->error_message);
    task_request(jw, task);
    const struct run_row *runs = extras->runs;
    size_t count = extras->run_count;
    if (count)
        run_limits(jw, &runs[count - 1]);
    task_waiting(jw, count ? &runs[count - 1] : NULL, extras->queue_position);
    task_alone(jw, extras);
    key_id(jw, "latestRunId", &task->latest_run_id);
    jw_key(jw, "runs");
    jw_begin(jw, '[');
    for (size_t i = 0; i < count; i++) {
        jw_begin(jw, '{');
        key_id(jw, "id", &runs[i].id);
        jw_kint(jw, "runNo", runs[i].run_no);
        jw_kstr(jw, "status", run_status_name(runs[i].status));
        jw_end(jw, '}');
    }
    jw_end(jw, ']');
    jw_ktime(jw, "createdAt", task->created_us);
    jw_ktime(jw, "updatedAt", task->updated_us);
    jw_ktime(jw, "endedAt", task->ended_us);
    jw_end(jw, '}');
}

static void run_spending(struct jw *jw, const struct run_row *run)
{
    jw_kint(jw, "turns", run->turns);
    jw_kint(jw, "inputTokens", run->tokens_in);
    jw_kint(jw, "outputTokens", run->tokens_out);
    key_usd(jw, "costUsd", run->cost_microusd);
    jw_kstr(jw, "model", run->model);
    jw_key(jw, "retries");
    jw_begin(jw, '{');
    for (int kind = 0; kind < BUDGET_KIND_COUNT; kind++)
        jw_kint(jw, budget_kind_name((enum budget_kind)kind), run->used[kind]);
    jw_end(jw, '}');
    jw_kint(jw, "workersLost", run->lost);
    struct clock clock = clock_real();
    jw_kint(jw, "workSeconds", run_work_us(run, clock_now_us(&clock)) / US_PER_SECOND);
}

/* Its position in its blueprint, and its results so far. */
static void run_course(struct jw *jw, const struct run_row *run)
{
    jw_kstr(jw, "step", run->step);
    jw_kstr(jw, "sessionId", run->session_id);
    jw_kstr(jw, "agentSession", run->agent_session);
    jw_kstr(jw, "promptVersion", run->prompt_version);
    jw_kstr(jw, "planArtifactId", run->plan_sha256);
    jw_kstr(jw, "account", run->account);
    jw_kstr(jw, "agent", run->agent);
    jw_kint(jw, "fallback", run->fallback);
    jw_kraw(jw, "paths", run->paths.len > 0 ? run->paths : STR("[]"));
    jw_kraw(jw, "stepResults", run->step_results.len > 0 ? run->step_results : STR("[]"));
    jw_kbool(jw, "partial", run->partial);
    jw_kstr(jw, "overridden", run->overridden);
    jw_key(jw, "warning");
    if (run->warning_code == NULL) {
        jw_null(jw);
        return;
    }
    jw_begin(jw, '{');
    jw_kstr(jw, "code", run->warning_code);
    jw_kstr(jw, "message", run->warning_message);
    jw_end(jw, '}');
}

/* What people do with it while it works. */
static void run_steering(struct jw *jw, const struct run_row *run)
{
    jw_kbool(jw, "paused", run->paused_us > 0);
    jw_ktime(jw, "pausedAt", run->paused_us);
    jw_kstr(jw, "pausedBy", run->paused_by);
    key_id(jw, "questionId", &run->question_id);
    jw_kint(jw, "messages", run->message_seq);
}

void shape_run_open(struct jw *jw, const struct run_row *run, const struct run_extras *extras)
{
    jw_begin(jw, '{');
    key_id(jw, "id", &run->id);
    key_id(jw, "taskId", &run->task_id);
    jw_kint(jw, "runNo", run->run_no);
    jw_kstr(jw, "status", run_status_name(run->status));
    jw_kint(jw, "attempt", run->attempt);
    jw_kstr(jw, "repository", extras->repository);
    jw_kstr(jw, "branch", run->branch);
    jw_kstr(jw, "baseCommit", run->base_commit);
    jw_kstr(jw, "promptSha256", run->prompt_sha256);
    jw_kstr(jw, "patchSha256", run->patch_sha256);
    jw_kstr(jw, "certificateSha256", run->certificate_sha256);
    run_course(jw, run);
    run_spending(jw, run);
    run_limits(jw, run);
    run_forecast(jw, run);
    jw_key(jw, "pullRequest");
    if (extras->pull_request != NULL)
        shape_pull_request(jw, extras->pull_request);
    else
        jw_null(jw);
    run_steering(jw, run);
    bool stopping = !run_is_terminal(run->status) && run->stop != RUN_STOP_NONE;
    jw_kstr(jw, "stopping", stopping ? run_stop_name(run->stop) : NULL);
    jw_kstr(jw, "stopReason", run->stop_reason);
    jw_kstr(jw, "deferredReason", run->deferred_reason);
    jw_kstr(jw, "deferredDetail", run->deferred_reason != NULL ? run->deferred_detail : NULL);
    jw_kstr(jw, "requestedBy", run->requested_by);
    jw_kstr(jw, "errorCode", run->error_code);
    jw_kstr(jw, "errorMessage", run->error_message);
    jw_ktime(jw, "queuedAt", run->queued_us);
    jw_ktime(jw, "startedAt", run->started_us);
    jw_ktime(jw, "endedAt", run->ended_us);
    jw_ktime(jw, "deadline", run->deadline_us);
    jw_ktime(jw, "updatedAt", run->updated_us);
}

void shape_patch(struct jw *jw, const struct patch_row *patch)
{
    jw_begin(jw, '{');
    key_id(jw, "id", &patch->id);
    jw_kint(jw, "attempt", patch->attempt_no);
    jw_kstr(jw, "status", patch->status);
    jw_kstr(jw, "sha256", patch->sha256);
    jw_kstr(jw, "treeHash", patch->tree_hash);
    jw_kint(jw, "files", patch->files);
    jw_kint(jw, "linesAdded", patch->lines_added);
    jw_kint(jw, "linesDeleted", patch->lines_deleted);
    jw_kstr(jw, "summary", patch->summary);
    jw_ktime(jw, "createdAt", patch->created_us);
    jw_end(jw, '}');
}

void shape_verification(struct jw *jw, const struct verification_row *row)
{
    jw_begin(jw, '{');
    key_id(jw, "id", &row->id);
    key_id(jw, "patchId", &row->patch_id);
    jw_kstr(jw, "name", row->name);
    jw_kstr(jw, "command", row->command);
    jw_kstr(jw, "status", verify_status_name(row->status));
    jw_kint(jw, "exitCode", row->exit_code);
    jw_kstr(jw, "category", row->category);
    jw_kstr(jw, "summary", row->summary);
    jw_kstr(jw, "reportSha256", row->report_sha256);
    jw_kint(jw, "durationMs", row->duration_ms);
    jw_ktime(jw, "createdAt", row->created_us);
    jw_end(jw, '}');
}

void shape_artifact(struct jw *jw, const struct artifact_row *artifact)
{
    jw_begin(jw, '{');
    key_id(jw, "runId", &artifact->run_id);
    jw_kstr(jw, "kind", artifact->kind);
    jw_kstr(jw, "name", artifact->name);
    jw_kstr(jw, "sha256", artifact->sha256);
    jw_kint(jw, "bytes", artifact->bytes);
    jw_ktime(jw, "createdAt", artifact->created_us);
    jw_end(jw, '}');
}

void shape_repository_open(struct jw *jw, const struct repository_row *repository)
{
    jw_begin(jw, '{');
    key_id(jw, "id", &repository->id);
    jw_kstr(jw, "name", repository->name);
    jw_kint(jw, "version", repository->version);
    jw_kraw(jw, "config", repository->config);
    if (repository->quarantined_us > 0) {
        jw_ktime(jw, "quarantinedAt", repository->quarantined_us);
        jw_kstr(jw, "quarantineReason", repository->quarantine_reason);
    }
    jw_ktime(jw, "createdAt", repository->created_us);
    jw_ktime(jw, "updatedAt", repository->updated_us);
}

void shape_repository(struct jw *jw, const struct repository_row *repository)
{
    shape_repository_open(jw, repository);
    jw_end(jw, '}');
}

/* Findings of judges, if they caused the approval. */
static void approval_findings(struct jw *jw, struct str detail)
{
    CLEANUP(js_freep) struct js *tree = NULL;
    const struct js *findings = NULL;
    if (detail.len > 0 && js_parse(detail.at, detail.len, &tree, NULL) == RC_OK)
        findings = js_get(tree, "findings");
    jw_key(jw, "findings");
    if (js_type(findings) == JS_ARRAY)
        js_write(jw, findings);
    else
        jw_raw(jw, STR("[]"));
}

void shape_approval(struct jw *jw, const struct approval_row *approval)
{
    bool plan = text_same(approval->kind, "plan");
    jw_begin(jw, '{');
    key_id(jw, "id", &approval->id);
    key_id(jw, "taskId", &approval->task_id);
    key_id(jw, "runId", &approval->run_id);
    jw_kstr(jw, "kind", approval->kind);
    jw_kstr(jw, "status", approval->status);
    jw_kstr(jw, "question", approval->question);
    jw_kstr(jw, "summary", approval->summary);
    jw_kstr(jw, "planArtifactId", plan ? approval->artifact_sha256 : NULL);
    jw_kstr(jw, "diffArtifactId", plan ? NULL : approval->artifact_sha256);
    approval_findings(jw, approval->detail);
    jw_kraw(jw, "detail", approval->detail);
    jw_kint(jw, "reminded", approval->reminded);
    jw_ktime(jw, "requestedAt", approval->requested_us);
    jw_ktime(jw, "expiresAt", approval->expires_us);
    jw_ktime(jw, "decidedAt", approval->decided_us);
    jw_kstr(jw, "decidedBy", approval->decided_by);
    jw_kstr(jw, "reason", approval->reason);
    jw_end(jw, '}');
}

static void open_pull_request(struct jw *jw, const struct pull_request_row *row)
{
    jw_begin(jw, '{');
    key_id(jw, "id", &row->id);
    jw_kint(jw, "number", row->number);
    key_id(jw, "taskId", &row->task_id);
    key_id(jw, "runId", &row->run_id);
    jw_kstr(jw, "repository", row->repository);
    jw_kstr(jw, "branch", row->branch);
    jw_kstr(jw, "targetBranch", row->target_branch);
    jw_kstr(jw, "url", row->url);
    jw_kstr(jw, "title", row->title);
    jw_kstr(jw, "status", row->status);
    jw_kbool(jw, "draft", row->draft);
    jw_kstr(jw, "headCommit", row->head_commit);
    jw_kstr(jw, "mergeCommit", row->merge_commit);
    jw_ktime(jw, "createdAt", row->created_us);
    jw_ktime(jw, "updatedAt", row->updated_us);
    jw_ktime(jw, "mergedAt", row->merged_us);
    jw_kstr(jw, "shepherdState", row->shepherd_state);
}

void shape_pull_request(struct jw *jw, const struct pull_request_row *row)
{
    open_pull_request(jw, row);
    jw_end(jw, '}');
}

void shape_followed(struct jw *jw, const struct pull_request_row *row,
                    const struct shepherd_row *shepherd)
{
    open_pull_request(jw, row);
    jw_key(jw, "shepherd");
    shape_shepherd(jw, shepherd);
    jw_end(jw, '}');
}

void shape_job_open(struct jw *jw, const struct job_row *job)
{
    const struct job_life *life = &job->life;
    jw_begin(jw, '{');
    key_id(jw, "id", &job->id);
    jw_kstr(jw, "queue", job->queue);
    jw_kstr(jw, "type", job->type);
    jw_kstr(jw, "state", job_state_name(life->state));
    key_id(jw, "runId", &job->run_id);
    if (!id_is_none(&job->saga_id))
        key_id(jw, "sagaId", &job->saga_id);
    jw_kint(jw, "priority", job->priority);
    jw_kstr(jw, "orderingKey", job->ordering_key);
    jw_kstr(jw, "dedupKey", job->dedup_key);
    jw_kint(jw, "attempt", life->attempt);
    jw_kint(jw, "maxAttempts", life->attempt_max);
    jw_kint(jw, "lost", life->lost);
    jw_kint(jw, "epoch", life->epoch);
    jw_kstr(jw, "worker", life->state == JOB_LEASED ? job->worker : NULL);
    jw_optstr(jw, "dependency", job->dependency);
    jw_ktime(jw, "leasedAt", life->state == JOB_LEASED ? job->leased_us : 0);
    jw_ktime(jw, "leaseUntil", life->state == JOB_LEASED ? life->due_us : 0);
    jw_ktime(jw, "dueAt", life->state == JOB_SCHEDULED ? life->due_us : 0);
    jw_ktime(jw, "expiresAt", life->expires_us);
    jw_kstr(jw, "deadReason",
            life->dead_reason == DEAD_NONE ? NULL : dead_reason_name(life->dead_reason));
    jw_kstr(jw, "errorCode", job->error_code);
    jw_kstr(jw, "errorMessage", job->error_message);
    jw_ktime(jw, "createdAt", job->created_us);
    jw_ktime(jw, "updatedAt", job->updated_us);
}

static void write_notice(struct jw *jw, const struct js *notice, struct arena *arena)
{
    const struct js *channel = js_get(notice, "channel");
    jw_begin(jw, '{');
    jw_kstr(jw, "kind", js_get_str(notice, "kind", NULL));
    jw_key(jw, "channel");
    jw_begin(jw, '{');
    jw_kstr(jw, "name", js_get_str(channel, "name", NULL));
    jw_kstr(jw, "type", js_get_str(channel, "type", NULL));
    jw_end(jw, '}');
    const struct js *event = js_get(notice, "event");
    jw_kraw(jw, "event", event != NULL ? str_of(js_text(event, arena)) : (struct str){0});
    jw_end(jw, '}');
}

void shape_payload(struct jw *jw, const struct job_row *job, enum role role)
{
    if (role != ROLE_ADMIN && step_is(job->type, STEP_LAUNCH)) {
        jw_kstr(jw, "payload", NULL); /* The environment of an agent is in it. */
        return;
    }
    if (role != ROLE_VIEWER || !text_same(job->queue, step_row(STEP_NOTIFY)->queue)) {
        jw_kraw(jw, "payload", job->payload);
        return;
    }
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(js_freep) struct js *notice = NULL;
    jw_key(jw, "payload");
    if (js_parse(job->payload.at, job->payload.len, &notice, NULL) == RC_OK)
        write_notice(jw, notice, &arena);
    else
        jw_null(jw);
}

void shape_taken(struct jw *jw, const char *id_key, const struct enqueue_answer *answer)
{
    jw_kstr(jw, id_key, id_or_null(&answer->id));
    jw_kbool(jw, "duplicate", answer->duplicate);
    if (answer->batched)
        jw_kbool(jw, "batched", true);
    if (answer->deferred)
        jw_kbool(jw, "deferred", true);
    if (answer->dropped) {
        jw_kbool(jw, "dropped", true);
        jw_kstr(jw, "code", answer->code);
        jw_kint(jw, "retryAfterMs", answer->retry_us / US_PER_MS);
    }
}

static void write_attempt(struct jw *jw, const struct attempt_row *attempt)
{
    jw_begin(jw, '{');
    jw_kstr(jw, "id", job_attempt_id(&attempt->job_id, attempt->epoch).text);
    jw_kint(jw, "attempt", attempt->attempt);
    jw_kint(jw, "epoch", attempt->epoch);
    jw_kstr(jw, "worker", attempt->worker);
    jw_ktime(jw, "startedAt", attempt->started_us);
    jw_ktime(jw, "endedAt", attempt->ended_us);
    jw_kstr(jw, "outcome", attempt->outcome);
    jw_key(jw, "error");
    if (attempt->error_code != NULL) {
        jw_begin(jw, '{');
        jw_kstr(jw, "code", attempt->error_code);
        jw_kstr(jw, "message", attempt->error_message);
        jw_end(jw, '}');
    } else {
        jw_null(jw);
    }
    jw_end(jw, '}');
}

void shape_attempts(struct jw *jw, const struct attempt_row *attempts, size_t count)
{
    jw_key(jw, "attempts");
    jw_begin(jw, '[');
    for (size_t i = 0; i < count; i++)
        write_attempt(jw, &attempts[i]);
    jw_end(jw, ']');
}

void shape_queue_open(struct jw *jw, const struct queue_counts *counts)
{
    jw_begin(jw, '{');
    jw_kstr(jw, "name", counts->queue);
    jw_key(jw, "jobs");
    jw_begin(jw, '{');
    for (int state = 0; state < JOB_STATE_COUNT; state++)
        jw_kint(jw, job_state_name((enum job_state)state), counts->by_state[state]);
    jw_end(jw, '}');
    jw_ktime(jw, "oldestQueuedAt", counts->oldest_queued_us);
}
