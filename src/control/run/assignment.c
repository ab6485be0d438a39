#include "control/run/assignment.h"
#include "control/queue/jobs.h"
#include "control/run/account_pool.h"
#include "control/run/memories.h"
#include "control/run/messages.h"
#include "control/run/questions.h"
#include "control/run/usage.h"
#include "core/agent/addressee.h"
#include "core/queue/breaker_config.h"
#include "forge/git/git.h"
#include "store/job_marks.h"
#include "store/pull_requests.h"
#include <string.h>

/* A session that the remote service refuses costs nothing but time. */
enum { REMOTE_TRIES_MIN = 5 };

/* A job as its step, the repository and the queue decide. */
struct shape {
    const struct step_row *row; /* STEP_PULL for an agent that leases its work itself. */
    const char *queue;
    int64_t attempt_max;
};

/* A remote agent's session: its id is stored in this very transaction, before any worker can have
   the job.  One that may not be over is resumed. */
static void assign_session(struct context *ctx, struct flow *flow)
{
    struct run_row *run = &flow->run;
    flow->session_resumed = run->session_id != NULL && !run->session_over;
    if (flow->session_resumed)
        return;
    run->session_id = arena_strdup(ctx->arena, context_id(ctx).text);
    run->session_begun_us = 0;
    run->session_over = false;
}

static void shape_agent(struct context *ctx, struct flow *flow, const struct repo_config *config,
                        struct shape *shape)
{
    if (config->agent.compute == COMPUTE_PULL) {
        shape->row = step_row(STEP_PULL);
        const struct addressee to = {config->agent.queue, flow->task.persona, flow->task.agent};
        shape->queue = addressee_queue(&to, ctx->arena);
        shape->attempt_max = context_queue(ctx, shape->queue)->config.max_attempts;
    } else if (config->agent.compute == COMPUTE_REMOTE) {
        assign_session(ctx, flow);
        if (shape->attempt_max < REMOTE_TRIES_MIN)
            shape->attempt_max = REMOTE_TRIES_MIN;
    }
}

/* The repository configures the attempts of a publish and of its own steps, the queue those of all
   others. */
static struct shape find_shape(struct context *ctx, struct flow *flow,
                               const struct repo_config *config, const struct blueprint_step *step)
{
    struct shape shape = {.row = step_row(step->kind)};
    shape.queue = shape.row->queue;
    shape.attempt_max = context_queue(ctx, shape.queue)->config.max_attempts;
    if (step->custom != NULL)
        shape.attempt_max = 1 + step->custom->retries;
    else if (step->kind == STEP_PUBLISH)
        shape.attempt_max = 1 + config->budget.max[BUDGET_PR];
    else if (step->kind == STEP_AGENT)
        shape_agent(ctx, flow, config, &shape);
    return shape;
}

static void write_task(struct jw *jw, const struct flow *flow, struct arena *arena)
{
    const struct task_row *task = &flow->task;
    jw_kstr(jw, "taskId", task->id.text);
    jw_kstr(jw, "repository", task->repository);
    jw_kstr(jw, "targetBranch", task->target_branch);
    jw_kstr(jw, "title", flow_title(task, arena));
    jw_kstr(jw, "description", task->description);
    if (task->issue_number > 0)
        jw_kint(jw, "issueNumber", task->issue_number);
    jw_kraw(jw, "scope", task->scope);
    jw_kstr(jw, "executionMode", mode_name(task->mode));
    jw_kbool(jw, "draft", task->mode != MODE_AUTONOMOUS_PR);
    jw_ktime(jw, "taskCreatedAt", task->created_us);
}

/* The limit minus what earlier attempts have used; above zero, or the run would have ended. */
static int64_t left_of(int64_t limit, int64_t used)
{
    return limit - used > 1 ? limit - used : 1;
}

static void write_session(struct jw *jw, const struct flow *flow)
{
    const struct run_row *run = &flow->run;
    if (run->session_id == NULL)
        return;
    jw_kstr(jw, "sessionId", run->session_id);
    jw_ktime(jw, "sessionBegunAt", run->session_begun_us);
    jw_kbool(jw, "sessionResumed", flow->session_resumed);
    jw_kbool(jw, "sessionOver", run->session_over);
}

/* flow->left is set for the attempts of an agent: less may be left of its ancestors' budgets. */
static void write_limits(struct jw *jw, const struct flow *flow)
{
    const struct run_row *run = &flow->run;
    struct used used = usage_before(flow);
    if (run->max_turns > 0)
        jw_kint(jw, "maxTurns", left_of(run->max_turns, used.turns));
    int64_t microusd = flow->left.cost_microusd, tokens = flow->left.tokens;
    if (microusd == 0 && run->budget_microusd > 0)
        microusd = left_of(run->budget_microusd, used.cost_microusd);
    if (tokens == 0 && run->max_tokens > 0)
        tokens = left_of(run->max_tokens, used.tokens_in + used.tokens_out);
    if (microusd > 0)
        jw_kreal(jw, "maxBudgetUsd", (double)microusd / 1e6);
    if (tokens > 0)
        jw_kint(jw, "maxTokens", tokens);
}

static void write_run(struct jw *jw, const struct context *ctx, const struct flow *flow)
{
    const struct run_row *run = &flow->run;
    jw_kstr(jw, "runId", run->id.text);
    jw_kstr(jw, "traceparent", flow_trace(ctx, flow));
    jw_kint(jw, "runNo", run->run_no);
    jw_kint(jw, "attempt", run->attempt);
    jw_kstr(jw, "branch", run->branch);
    jw_kstr(jw, "baseCommit", run->base_commit);
    jw_kstr(jw, "promptSha256", run->prompt_sha256);
    jw_kstr(jw, "feedbackSha256", run->feedback_sha256);
    jw_kstr(jw, "patchSha256", run->patch_sha256);
    jw_kstr(jw, "patchId", id_or_null(&run->patch_id));
    jw_kstr(jw, "certificateSha256", run->certificate_sha256);
    jw_optstr(jw, "planSha256", run->plan_sha256);
    write_session(jw, flow);
    jw_optstr(jw, "session", run->agent_session);
    /* A deadline that moves on is not told: the server stops the run. */
    jw_ktime(jw, "runDeadline", run->still_us > 0 ? 0 : run->deadline_us);
    if (run_is_terminal(run->status))
        jw_kstr(jw, "outcome", run_status_name(run->status));
}

enum { PAYLOAD_BYTES_MAX = TASK_BYTES_MAX + RUN_BYTES_MAX };

/* The members that come from the task and its configuration. */
static void write_snapshot(struct jw *jw, const struct flow *flow)
{
    jw_kraw(jw, "config", flow->task.config);
    if (flow->task.origin.len > 0)
        jw_kraw(jw, "origin", flow->task.origin);
    if (flow->task.attachments.len > 0)
        jw_kraw(jw, "attachments", flow->task.attachments);
}

/* What the agent works with, where that is more than the configuration has. */
static void write_account(struct jw *jw, const struct context *ctx, const struct run_row *run)
{
    const struct account_config *account = pool_account(ctx, run);
    if (run->fallback > 0)
        jw_kint(jw, "fallback", run->fallback);
    if (account == NULL)
        return;
    jw_key(jw, "account");
    account_config_write(jw, account);
    jw_ktime(jw, "accountSince", run->account_us);
}

/* What people have said to the agent: messages, and answers to its questions. */
static enum rc write_said(struct context *ctx, const struct flow *flow, struct jw *jw)
{
    enum rc rc = messages_write(ctx, flow, jw);
    return rc == RC_OK ? questions_write(ctx, flow, jw) : rc;
}

/* Of a repair: the pull request that it continues. */
static enum rc write_pull_request(struct context *ctx, const struct flow *flow, struct jw *jw)
{
    const struct task_row *task = &flow->task;
    struct pull_request_row pr;
    if (id_is_none(&task->pull_request_id))
        return RC_OK;
    enum rc rc = pull_requests_get(ctx->db, &task->pull_request_id, ctx->arena, &pr, ctx->err);
    if (rc != RC_OK)
        return rc;
    jw_kint(jw, "pullRequestNumber", pr.number);
    jw_key(jw, "pullRequest");
    jw_begin(jw, '{');
    jw_kint(jw, "number", pr.number);
    jw_kstr(jw, "title", pr.title);
    jw_kstr(jw, "head", task->head_commit);
    jw_optstr(jw, "mergeWith", task->merge_with);
    jw_end(jw, '}');
    return RC_OK;
}

static enum rc write_payload(struct context *ctx, const struct flow *flow,
                             const struct repo_config *config, const struct blueprint_step *step,
                             struct str *ret_payload)
{
    CLEANUP(buf_release) struct buf buf;
    buf_init(&buf, PAYLOAD_BYTES_MAX);
    struct jw jw = jw_to(&buf);
    jw_begin(&jw, '{');
    write_task(&jw, flow, ctx->arena);
    write_run(&jw, ctx, flow);
    write_limits(&jw, flow);
    usage_write(&jw, flow);
    jw_kstr(&jw, "step", step->name);
    if (step->kind == STEP_AGENT || step->kind == STEP_PLAN)
        write_account(&jw, ctx, &flow->run);
    if (flow->record.len > 0)
        jw_kraw(&jw, "record", flow->record);
    if (flow->shepherd.len > 0)
        jw_kraw(&jw, "shepherd", flow->shepherd);
    enum rc rc = write_pull_request(ctx, flow, &jw);
    if (flow->run.step_results.len > 0)
        jw_kraw(&jw, "previousStepResults", flow->run.step_results);
    write_snapshot(&jw, flow);
    if (rc == RC_OK && step->kind == STEP_HYDRATE && config->prompt.memory)
        rc = memories_write(ctx, flow, &jw);
    if (rc == RC_OK && step_row(step->kind)->runs_agent)
        rc = write_said(ctx, flow, &jw);
    jw_end(&jw, '}');
    if (rc != RC_OK)
        return rc;
    if (buf.overflow)
        return err_set(ctx->err, RC_TOO_LARGE, "PAYLOAD_TOO_LARGE",
                       "a job of run %s would pass %d bytes", flow->run.id.text, PAYLOAD_BYTES_MAX);
    *ret_payload = (struct str){arena_strndup(ctx->arena, buf.data, buf.len), buf.len};
    return RC_OK;
}

/* Control characters take six bytes in JSON: the size must be measured after escaping. */
enum rc assignment_check(struct context *ctx, const struct flow *flow)
{
    CLEANUP(buf_release) struct buf buf;
    buf_init(&buf, TASK_BYTES_MAX);
    struct jw jw = jw_to(&buf);
    jw_begin(&jw, '{');
    write_task(&jw, flow, ctx->arena);
    size_t task_bytes = buf.len;
    write_snapshot(&jw, flow);
    jw_end(&jw, '}');
    if (!buf.overflow)
        return RC_OK;
    return err_field(ctx->err, RC_TOO_LARGE, "TASK_TOO_LARGE", "description",
                     "the task (%zu bytes as JSON) and the configuration of %s (%zu bytes) are "
                     "more than the %d bytes that they may have together: shorten the "
                     "description, or what the configuration says to agents and judges",
                     task_bytes, flow->task.repository, flow->task.config.len, TASK_BYTES_MAX);
}

/* The payload for an agent that leases its work itself: all that it needs, nothing of drover's
   configuration. */
static enum rc write_pull_payload(struct context *ctx, const struct flow *flow,
                                  const struct repo_config *config, struct str *ret_payload)
{
    CLEANUP(buf_release) struct buf buf;
    buf_init(&buf, PAYLOAD_BYTES_MAX);
    struct jw jw = jw_to(&buf);
    char *url = arena_strdup(ctx->arena, config->url);
    git_redact(url);
    jw_begin(&jw, '{');
    write_task(&jw, flow, ctx->arena);
    write_run(&jw, ctx, flow);
    jw_kstr(&jw, "repositoryUrl", url);
    jw_optstr(&jw, "persona", flow->task.persona);
    jw_kraw(&jw, "labels", flow->task.labels);
    jw_kstr(&jw, "model", config->agent.model);
    jw_kint(&jw, "timeoutMs", config->timeouts.agent_ms);
    jw_kint(&jw, "idleMs", config->timeouts.idle_ms);
    write_limits(&jw, flow);
    usage_write(&jw, flow);
    enum rc rc = write_said(ctx, flow, &jw);
    jw_end(&jw, '}');
    if (rc != RC_OK)
        return rc;
    if (buf.overflow)
        return err_set(ctx->err, RC_TOO_LARGE, "PAYLOAD_TOO_LARGE",
                       "a job of run %s would pass %d bytes", flow->run.id.text, PAYLOAD_BYTES_MAX);
    *ret_payload = (struct str){arena_strndup(ctx->arena, buf.data, buf.len), buf.len};
    return RC_OK;
}

/* Where a URL leads: host, with a port if it names one; empty for a path on this machine. */
static struct str host_of(const char *url)
{
    const char *scheme = strstr(url, "://");
    const char *at = scheme != NULL ? scheme + 3 : url;
    size_t len = strcspn(at, "/");
    if (scheme == NULL && url[0] != '/')
        len = strcspn(at, ":"); /* user@host:path */
    const char *user = memchr(at, '@', len);
    if (user != NULL) {
        len -= (size_t)(user + 1 - at);
        at = user + 1;
    }
    return (struct str){at, len};
}

/* Forges fail by the host.  A path fails by itself: a missing one does not affect others. */
const char *forge_dependency(const char *url, const char *repository, struct arena *arena)
{
    struct str host = host_of(url);
    if (host.len > 0)
        return arena_printf(arena, "forge:%.*s", (int)host.len, host.at);
    return arena_printf(arena, "forge:local/%s", repository);
}

static const char *service_name(struct context *ctx, const char *kind, const char *url)
{
    struct str host = host_of(url);
    return arena_printf(ctx->arena, "%s:%.*s", kind, (int)host.len, host.at);
}

/* The external service that the step depends on: the name of its breaker, or "". */
static const char *dependency_name(struct context *ctx, const struct flow *flow,
                                   const struct repo_config *config,
                                   const struct blueprint_step *step)
{
    bool remote = config->agent.compute == COMPUTE_REMOTE;
    const char *url = step->custom != NULL ? step->custom->url : NULL;
    switch (step_row(step->kind)->dependency) {
    case DEPENDS_ON_FORGE:
        return forge_dependency(config->url, flow->task.repository, ctx->arena);
    case DEPENDS_ON_AGENT:
        return remote ? service_name(ctx, "remote", config->agent.remote.url) : "";
    case DEPENDS_ON_URL:
        return url != NULL ? service_name(ctx, "step", url) : "";
    case DEPENDS_ON_CHANNEL: /* notify.c makes those jobs. */
    case DEPENDS_ON_NOTHING:
        break;
    }
    return "";
}

static enum rc make(struct context *ctx, struct flow *flow, const struct blueprint_step *step,
                    struct job_row *ret_job)
{
    const struct repo_config *config;
    enum rc rc = flow_config(ctx, flow, &config);
    if (rc != RC_OK)
        return rc;
    struct shape shape = find_shape(ctx, flow, config, step);
    const char *dependency = dependency_name(ctx, flow, config, step);
    struct job_row job = {
        .id = context_id(ctx),
        .queue = shape.queue,
        .type = shape.row->name,
        .workspace_id = ctx->workspace_id,
        .run_id = flow->run.id,
        .priority = flow->task.priority,
        .rank = flow->run.rank,
        .dependency = breaker_name_valid(dependency) ? dependency : NULL,
        .life = {.state = JOB_QUEUED, .due_us = ctx->now_us, .attempt_max = shape.attempt_max},
        .created_us = ctx->now_us,
        .updated_us = ctx->now_us,
    };
    rc = shape.row->kind == STEP_PULL ? write_pull_payload(ctx, flow, config, &job.payload)
                                      : write_payload(ctx, flow, config, step, &job.payload);
    if (rc == RC_OK)
        *ret_job = job;
    return rc;
}

/* Lives as long as the batch. */
static enum rc read_about(struct context *ctx, const struct flow *flow, struct job_about *ret_about)
{
    CLEANUP(js_freep) struct js *array = NULL;
    struct arena *arena = ctx->batch_arena;
    enum rc rc = js_parse(flow->task.labels.at, flow->task.labels.len, &array, ctx->err);
    if (rc != RC_OK)
        return err_wrap(ctx->err, RC_CORRUPT, "the labels of a task");
    const char **labels = arena_array(arena, js_count(array) + 1, sizeof *labels);
    for (size_t i = 0; i < js_count(array); i++)
        labels[i] = arena_strdup(arena, js_str(js_at(array, i), ""));
    *ret_about = (struct job_about){arena_strdup(arena, flow->task.repository), labels};
    return RC_OK;
}

/* Agents find it by its repository and its labels. */
static enum rc offer(struct context *ctx, const struct flow *flow, const struct job_row *job)
{
    struct job_about about;
    enum rc rc = read_about(ctx, flow, &about);
    if (rc == RC_OK)
        rc = job_marks_add(ctx->db, job, &about, ctx->err);
    if (rc == RC_OK)
        context_ready_marked(ctx, job, &about);
    return rc;
}

static enum rc enqueue(struct context *ctx, struct flow *flow, const struct blueprint_step *step)
{
    struct job_row job = {0};
    enum rc rc = make(ctx, flow, step, &job);
    if (rc == RC_OK)
        rc = jobs_insert(ctx->db, &job, ctx->err);
    if (rc != RC_OK)
        return rc;
    flow->run.job_id = job.id;
    flow->run.step = step->name;
    if (step_is(job.type, STEP_PULL))
        return offer(ctx, flow, &job);
    context_ready(ctx, job.queue);
    return RC_OK;
}

enum rc assignment_make(struct context *ctx, struct flow *flow, enum step_kind kind,
                        struct job_row *ret_job)
{
    const struct blueprint_step step = {.name = step_row(kind)->name, .kind = kind};
    return make(ctx, flow, &step, ret_job);
}

enum rc assignment_enqueue(struct context *ctx, struct flow *flow, enum step_kind kind)
{
    const struct blueprint_step step = {.name = step_row(kind)->name, .kind = kind};
    return enqueue(ctx, flow, &step);
}

enum rc assignment_enqueue_custom(struct context *ctx, struct flow *flow,
                                  const struct custom_step *custom)
{
    const struct blueprint_step step = {custom->name, STEP_CUSTOM, custom};
    return enqueue(ctx, flow, &step);
}
