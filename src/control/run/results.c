/*
 * results.c - prepare, hydrate, agent and publish, and the table of all steps' handlers;
 * results_*.c have the others, results_remote.c what is different for agents that work elsewhere.
 */
#include "control/run/results.h"
#include "control/run/accounts.h"
#include "control/run/ending.h"
#include "control/run/forecasts.h"
#include "control/run/messages.h"
#include "control/run/overloads.h"
#include "control/run/patch.h"
#include "control/run/pipeline.h"
#include "control/run/policies.h"
#include "control/run/questions.h"
#include "control/run/result_facts.h"
#include "control/run/stop.h"
#include "control/run/usage.h"
#include "core/agent/infer.h"
#include "core/event_types.h"
#include "core/publish_parts.h"
#include "store/artifact_uses.h"
#include "store/artifacts.h"
#include "store/patches.h"
#include "store/pull_requests.h"
#include <assert.h>
#include <string.h>

enum { TOOL_RETRIES_MAX = 1000000 };

/* ---- artifacts ---- */

static bool is_linked(const struct js *artifacts, const char *sha256)
{
    for (size_t i = 0; i < js_count(artifacts); i++)
        if (text_same(js_get_str(js_at(artifacts, i), "sha256", NULL), sha256))
            return true;
    return false;
}

/* Contents that the result names, and has not among its artifacts.  Trees are JS_DEPTH_MAX deep at
   most.  NOLINTNEXTLINE(misc-no-recursion) */
static enum rc note_uses(struct context *ctx, struct flow *flow, const struct js *artifacts,
                         const struct js *value)
{
    enum rc rc = RC_OK;
    size_t at = 0;
    const char *key, *text = js_str(value, NULL);
    const struct js *member;
    if (text != NULL)
        return !sha256_text_valid(text) || is_linked(artifacts, text)
                   ? RC_OK
                   : artifact_use_add(ctx->db, &flow->run.id, text, ctx->now_us, ctx->err);
    if (js_type(value) == JS_OBJECT)
        while (rc == RC_OK && js_next(value, &at, &key, &member))
            rc = note_uses(ctx, flow, artifacts, member);
    else if (js_type(value) == JS_ARRAY)
        for (; rc == RC_OK && at < js_count(value); at++)
            rc = note_uses(ctx, flow, artifacts, js_at(value, at));
    return rc;
}

enum rc result_link_artifacts(struct context *ctx, struct flow *flow, const struct js *result)
{
    const struct js *artifacts = js_get(result, "artifacts");
    for (size_t i = 0; i < js_count(artifacts); i++) {
        const struct js *artifact = js_at(artifacts, i);
        struct artifact_row row = {
            .run_id = flow->run.id,
            .kind = js_get_str(artifact, "kind", "file"),
            .name = js_get_str(artifact, "name", "artifact"),
            .sha256 = js_get_str(artifact, "sha256", ""),
            .bytes = js_get_int(artifact, "bytes", 0),
            .created_us = ctx->now_us,
        };
        enum rc rc = artifacts_link(ctx->db, &row, ctx->err);
        if (rc != RC_OK)
            return rc;
    }
    return note_uses(ctx, flow, artifacts, result);
}

static const char *keep(struct context *ctx, const struct js *result, const char *key)
{
    return arena_strdup(ctx->arena, js_get_str(result, key, NULL));
}

/* ---- prepare and hydrate ---- */

static enum rc emit_started(struct context *ctx, struct flow *flow)
{
    const struct repo_config *config;
    enum rc rc = flow_config(ctx, flow, &config);
    if (rc != RC_OK)
        return rc;
    const struct agent_config *agent = repo_config_agent(config, flow->run.fallback);
    CLEANUP(event_body_release) struct event_body body;
    event_body_open(&body);
    jw_kstr(&body.jw, "runId", flow->run.id.text);
    jw_kstr(&body.jw, "taskId", flow->task.id.text);
    jw_kint(&body.jw, "runNo", flow->run.run_no);
    jw_kstr(&body.jw, "repositoryId", flow->task.repository_id.text);
    jw_kstr(&body.jw, "baseCommit", flow->run.base_commit);
    jw_kstr(&body.jw, "baseCommitSha", flow->run.base_commit);
    jw_kstr(&body.jw, "branch", flow->run.branch);
    jw_kstr(&body.jw, "agent", agent_name(agent));
    jw_kstr(&body.jw, "agentVersion", DROVER_VERSION);
    jw_kstr(&body.jw, "modelProfile", forecasts_agent(agent, ctx->arena));
    jw_optstr(&body.jw, "workerId", flow->worker);
    return flow_emit(ctx, flow, EV_RUN_STARTED, &body);
}

enum rc result_of_prepare(struct context *ctx, struct flow *flow, const struct js *result)
{
    enum rc rc = RC_OK;
    if (flow->run.base_commit == NULL) /* Else it is that of a candidate, or of an earlier try. */
        flow->run.base_commit = keep(ctx, result, "baseCommit");
    if (flow->run.started_us == 0) {
        flow->run.started_us = flow_time(ctx, flow);
        rc = emit_started(ctx, flow);
    }
    if (rc != RC_OK)
        return rc;
    return flow->run.prompt_sha256 != NULL ? pipeline_resume(ctx, flow) : pipeline_next(ctx, flow);
}

enum rc result_of_hydrate(struct context *ctx, struct flow *flow, const struct js *result)
{
    flow->run.prompt_sha256 = keep(ctx, result, "promptSha256");
    flow->run.prompt_version = keep(ctx, result, "promptVersion");
    CLEANUP(event_body_release) struct event_body body;
    event_body_open(&body);
    jw_kstr(&body.jw, "runId", flow->run.id.text);
    jw_kstr(&body.jw, "promptSha256", flow->run.prompt_sha256);
    jw_kstr(&body.jw, "promptVersion", flow->run.prompt_version);
    jw_kraw(&body.jw, "sources", str_of(js_text(js_get(result, "sources"), ctx->arena)));
    jw_kint(&body.jw, "tokenEstimate", js_get_int(result, "tokenEstimate", 0));
    jw_kbool(&body.jw, "truncated", js_get_bool(result, "truncated", false));
    const struct js *degraded = js_get(result, "degraded");
    jw_kraw(&body.jw, "degraded",
            degraded != NULL ? str_of(js_text(degraded, ctx->arena)) : STR("[]"));
    enum rc rc = flow_emit(ctx, flow, EV_CONTEXT_LOADED, &body);
    return rc == RC_OK ? pipeline_next(ctx, flow) : rc;
}

/* ---- agent ---- */

static enum report parse_report(const struct js *result)
{
    const char *report = js_get_str(result, "report", "unknown");
    if (strcmp(report, "success") == 0)
        return REPORT_SUCCESS;
    return strcmp(report, "error") == 0 ? REPORT_ERROR : REPORT_UNKNOWN;
}

static const struct {
    const char *outcome;
    struct ending ending;
} agent_stops[] = {
    {"timed_out", {RUN_EV_TIME_OUT, "agent_timed_out", "The agent passed its time limit"}},
    {"idle_timed_out",
     {RUN_EV_TIME_OUT, "agent_idle_timed_out", "The agent gave no sign of life for too long"}},
    {"turn_limit", {RUN_EV_FAIL, "max_turns_exceeded", MESSAGE_MAX_TURNS}},
    {"budget_limit", {RUN_EV_FAIL, "max_budget_exceeded", MESSAGE_MAX_BUDGET}},
    {"token_limit", {RUN_EV_FAIL, "max_tokens_exceeded", MESSAGE_MAX_TOKENS}},
    {"disk_limit",
     {RUN_EV_FAIL, "agent_disk_limit", "The agent wrote more than agent.resources.diskBytes"}},
    {"memory_limit",
     {RUN_EV_FAIL, "agent_memory_limit", "The agent used more than agent.resources.memoryBytes"}},
    {"process_limit",
     {RUN_EV_FAIL, "agent_process_limit", "The agent ran more than agent.resources.processes"}},
    {"cpu_limit",
     {RUN_EV_FAIL, "agent_cpu_limit", "The agent used more than agent.resources.cpuSeconds"}},
    {"tool_denied", {RUN_EV_FAIL, "policy.tool_denied", "The agent called a denied tool"}},
    {"tool_retries",
     {RUN_EV_FAIL, "retry_budget_exhausted", "The agent made the same failing call over and over"}},
    {"login_failed",
     {RUN_EV_FAIL, "agent_login_failed", "The provider refused the agent's login; log in again"}},
    {"output_unreadable",
     {RUN_EV_FAIL, "agent_output_unreadable",
      "The agent printed a record of more than 16 MiB, which cannot be checked"}},
};

static const struct ending *agent_stop(const struct js *result)
{
    const char *outcome = js_get_str(result, "outcome", "");
    for (size_t i = 0; i < COUNT_OF(agent_stops); i++)
        if (strcmp(agent_stops[i].outcome, outcome) == 0)
            return &agent_stops[i].ending;
    return NULL;
}

static enum rc record_patch(struct context *ctx, struct flow *flow, const struct js *result)
{
    const struct js *patch = js_get(result, "patch");
    struct patch_row row = {
        .id = context_id(ctx),
        .run_id = flow->run.id,
        .attempt_no = flow->run.attempt,
        .sha256 = keep(ctx, patch, "sha256"),
        .base_commit = flow->run.base_commit,
        .tree_hash = keep(ctx, patch, "treeHash"),
        .files = js_get_int(patch, "files", 0),
        .lines_added = js_get_int(patch, "linesAdded", 0),
        .lines_deleted = js_get_int(patch, "linesDeleted", 0),
        .summary = keep(ctx, result, "summary"),
        .status = "created",
        .created_us = ctx->now_us,
    };
    const struct js *paths = js_get(patch, "paths");
    struct str paths_text = str_of(paths != NULL ? js_text(paths, ctx->arena) : NULL);
    return patch_adopt(ctx, flow, &row, paths_text, result);
}

static enum rc fail_agent(struct context *ctx, struct flow *flow, const struct inference *inference,
                          const struct js *result)
{
    const char *said = js_get_str(result, "error", NULL);
    const char *message = inference->message;
    if (!text_empty(said)) /* In the place of the full stop. */
        message = arena_printf(ctx->arena, "%.*s: %s", (int)strcspn(message, "."), message, said);
    if (js_get_bool(result, "branchPushed", false))
        message = arena_printf(ctx->arena, "%s What it pushed stays on branch %s.", message,
                               flow->run.branch);
    struct ending ending = {.event = RUN_EV_FAIL, .code = inference->code, .message = message};
    return flow_end(ctx, flow, &ending);
}

/* What the agent had done by then is kept: the next attempt continues from there. */
static enum rc keep_work(struct context *ctx, struct flow *flow, const struct js *result)
{
    bool has_patch = js_type(js_get(result, "patch")) == JS_OBJECT;
    return has_patch ? record_patch(ctx, flow, result) : RC_OK;
}

/* The outcomes after which the run waits in the queue, and the same attempt begins again. */
static const struct {
    const char *outcome;
    enum rc (*defer)(struct context *ctx, struct flow *flow, const struct js *result);
} deferrals[] = {
    {"quota", accounts_defer},
    {"overloaded", overloads_defer},
};

/* *ret_deferred: it waits for its provider. */
static enum rc look_at_usage(struct context *ctx, struct flow *flow, const struct js *result,
                             bool *ret_deferred)
{
    const char *outcome = js_get_str(result, "outcome", "");
    int64_t retries = js_get_int(result, "toolRetries", 0);
    *ret_deferred = false;
    if (retries > 0 && retries < TOOL_RETRIES_MAX)
        flow->run.used[BUDGET_TOOL] += retries;
    for (size_t i = 0; i < COUNT_OF(deferrals); i++) {
        if (strcmp(deferrals[i].outcome, outcome) != 0)
            continue;
        *ret_deferred = true;
        enum rc rc = keep_work(ctx, flow, result);
        if (rc == RC_OK)
            rc = messages_lost(ctx, flow, &flow->run.job_id);
        return rc == RC_OK ? deferrals[i].defer(ctx, flow, result) : rc;
    }
    flow->run.quota_hits = flow->run.overloads = 0;
    bool worked = usage_shows_work(result) || parse_report(result) == REPORT_SUCCESS;
    return worked ? accounts_proved(ctx, &flow->run) : RC_OK;
}

static enum rc stop_agent(struct context *ctx, struct flow *flow, const struct ending *stop,
                          const struct js *result)
{
    struct ending ending = *stop;
    const char *said = js_get_str(result, "error", NULL);
    bool told = strcmp(stop->code, "policy.tool_denied") == 0 ||
                strcmp(stop->code, "retry_budget_exhausted") == 0 ||
                strcmp(stop->code, "agent_login_failed") == 0;
    if (told && !text_empty(said))
        ending.message = arena_strdup(ctx->arena, said);
    return flow_end(ctx, flow, &ending);
}

static void warn(struct flow *flow, const struct inference *inference)
{
    if (inference->code[0] != '\0')
        flow_warn(flow, inference->code, inference->message);
}

static enum rc go_on_with(struct context *ctx, struct flow *flow, const struct js *result,
                          bool has_patch)
{
    bool stopped = false;
    enum rc rc = has_patch ? record_patch(ctx, flow, result) : RC_OK;
    if (rc == RC_OK && has_patch)
        rc = policies_on_patch(ctx, flow, js_get_int(js_get(result, "patch"), "forbiddenPaths", 0),
                               &stopped);
    if (rc != RC_OK || stopped)
        return rc;
    return has_patch ? pipeline_next(ctx, flow) : remote_take_pr(ctx, flow);
}

/* For what people have said, or are to say.  What the agent has done so far is kept. */
static enum rc start_again(struct context *ctx, struct flow *flow, const struct js *result,
                           const struct recall *recall)
{
    enum rc rc = keep_work(ctx, flow, result);
    return rc == RC_OK ? pipeline_recall(ctx, flow, recall) : rc;
}

enum rc result_infer(struct context *ctx, struct flow *flow, const struct js *result)
{
    const struct js *pr = js_get(result, "pullRequest");
    const struct js *secrets = js_get(result, "secrets");
    const struct ending *stop = agent_stop(result);
    /* The worker has weighed completion record, adapter and exit code already. */
    struct session_facts facts = {
        .completion = parse_report(result),
        .pr_exists = js_type(pr) == JS_OBJECT,
        .has_commits = js_type(js_get(result, "patch")) == JS_OBJECT,
    };
    if (facts.pr_exists) {
        enum rc rc = remote_note_pr(ctx, flow, pr);
        if (rc != RC_OK)
            return rc;
    }
    if (js_count(secrets) > 0)
        return result_of_secrets(ctx, flow, secrets);
    if (stop == NULL) {
        const struct recall *recall = NULL;
        enum rc rc = pipeline_recalls(ctx, flow, &recall);
        if (rc != RC_OK || recall != NULL)
            return rc == RC_OK ? start_again(ctx, flow, result, recall) : rc;
    }
    /* Out of turns or money with its pull request open, it has done what it was to do. */
    if (stop != NULL && facts.pr_exists)
        facts.completion = REPORT_SUCCESS;
    struct inference inference = infer_outcome(&facts);
    bool pushed = js_get_bool(result, "branchPushed", false);
    flow->run.partial = facts.has_commits && !facts.pr_exists && (pushed || !inference.completed);
    if (stop != NULL && !facts.pr_exists)
        return stop_agent(ctx, flow, stop, result);
    if (!inference.completed)
        return fail_agent(ctx, flow, &inference, result);
    warn(flow, &inference);
    return go_on_with(ctx, flow, result, facts.has_commits);
}

enum rc result_agent_over(struct context *ctx, struct flow *flow, const struct js *result,
                          bool *ret_over)
{
    const struct ending *stop = agent_stop(result);
    bool deferred;
    enum rc rc = look_at_usage(ctx, flow, result, &deferred);
    *ret_over = stop != NULL || deferred;
    return rc == RC_OK && stop != NULL ? stop_agent(ctx, flow, stop, result) : rc;
}

/* An agent elsewhere that was cut off by turns, cost or tokens may have finished before: a look at
   the forge decides. */
static bool may_have_finished(const struct ending *stop)
{
    return stop == NULL || strcmp(stop->code, "max_turns_exceeded") == 0 ||
           strcmp(stop->code, "max_budget_exceeded") == 0 ||
           strcmp(stop->code, "max_tokens_exceeded") == 0;
}

enum rc result_of_agent(struct context *ctx, struct flow *flow, const struct js *result)
{
    const struct repo_config *config;
    bool deferred;
    enum rc rc = flow_config(ctx, flow, &config);
    if (rc != RC_OK)
        return rc;
    bool remote = config->agent.compute == COMPUTE_REMOTE;
    flow->run.session_over |= remote;
    rc = look_at_usage(ctx, flow, result, &deferred);
    if (rc != RC_OK || deferred)
        return rc;
    if (agent_stop(result) == NULL)
        rc = question_of_record(ctx, flow, js_get(result, "question"));
    if (rc != RC_OK)
        return rc;
    bool held = js_count(js_get(result, "secrets")) > 0; /* There is nothing to collect. */
    return remote && !held && may_have_finished(agent_stop(result))
               ? remote_collect(ctx, flow, result)
               : result_infer(ctx, flow, result);
}

/* ---- publish ---- */

/* What the worker did, and that it is recorded here. */
static void write_parts(struct jw *jw, const struct js *result)
{
    struct publish_parts parts;
    publish_parts_read(js_get(result, "parts"), &parts);
    if (parts.count == 0)
        return;
    publish_part_end(&parts, PART_RECORDED, PART_DONE, NULL);
    jw_key(jw, "parts");
    publish_parts_write(jw, &parts);
}

/* A repair: the pull request that it continues has a new head. */
static enum rc update_pr(struct context *ctx, struct flow *flow, const struct js *result)
{
    struct pull_request_row row;
    enum rc rc = pull_requests_get(ctx->db, &flow->task.pull_request_id, ctx->arena, &row,
                                   ctx->err);
    if (rc != RC_OK)
        return rc;
    const char *before = row.head_commit;
    row.head_commit = keep(ctx, result, "headCommit");
    row.updated_us = ctx->now_us;
    rc = pull_requests_save(ctx->db, &row, ctx->err);
    if (rc != RC_OK)
        return rc;
    flow->run.pull_request_id = row.id;
    flow->run.partial = false;
    CLEANUP(event_body_release) struct event_body body;
    event_body_open(&body);
    jw_kstr(&body.jw, "pullRequestId", row.id.text);
    jw_kint(&body.jw, "number", row.number);
    jw_kstr(&body.jw, "url", row.url);
    jw_kstr(&body.jw, "branch", row.branch);
    jw_kstr(&body.jw, "fromHead", before);
    jw_kstr(&body.jw, "headCommit", row.head_commit);
    write_parts(&body.jw, result);
    return flow_emit(ctx, flow, EV_PR_UPDATED, &body);
}

enum rc result_record_pr(struct context *ctx, struct flow *flow, const struct js *result)
{
    if (!id_is_none(&flow->task.pull_request_id))
        return update_pr(ctx, flow, result);
    const struct repo_config *config;
    const char *url = NULL;
    enum rc rc = result_pr_url(ctx, flow, js_get_int(result, "number", 0), &url);
    if (rc != RC_OK)
        return rc;
    struct pull_request_row row = {
        .id = context_id(ctx),
        .number = js_get_int(result, "number", 0),
        .repository_id = flow->task.repository_id,
        .task_id = flow->task.id,
        .run_id = flow->run.id,
        .branch = flow->run.branch,
        .target_branch = flow->task.target_branch,
        .url = url,
        .title = flow_title(&flow->task, ctx->arena),
        .status = "open",
        .draft = js_get_bool(result, "draft", true),
        .head_commit = keep(ctx, result, "headCommit"),
        .created_us = ctx->now_us,
        .updated_us = ctx->now_us,
    };
    rc = pull_requests_insert(ctx->db, &row, ctx->err);
    if (rc == RC_CONFLICT && id_is_none(&flow->run.pull_request_id)) /* Another lane was faster: */
        return err_wrap(ctx->err, RC_BUSY, "another run records it just now"); /* refused then. */
    if (rc != RC_OK)
        return rc == RC_CONFLICT ? err_wrap(ctx->err, RC_CORRUPT, "a second pull request") : rc;
    rc = flow_config(ctx, flow, &config);
    if (rc == RC_OK && config->shepherd.enabled)
        rc = timer_start(ctx, TIMER_SHEPHERD, &row.id, ctx->now_us);
    if (rc != RC_OK)
        return rc;
    flow->run.pull_request_id = row.id;
    flow->run.partial = false;
    CLEANUP(event_body_release) struct event_body body;
    event_body_open(&body);
    jw_kstr(&body.jw, "pullRequestId", row.id.text);
    jw_kint(&body.jw, "number", row.number);
    jw_kstr(&body.jw, "url", row.url);
    jw_kstr(&body.jw, "branch", row.branch);
    jw_kstr(&body.jw, "headCommit", row.head_commit);
    jw_kbool(&body.jw, "draft", row.draft);
    jw_kbool(&body.jw, "foreign", remote_has_pr(flow));
    write_parts(&body.jw, result);
    return flow_emit(ctx, flow, EV_PR_CREATED, &body);
}

enum rc result_of_publish(struct context *ctx, struct flow *flow, const struct js *result)
{
    enum rc rc = result_record_pr(ctx, flow, result);
    if (rc == RC_OK)
        rc = patch_published(ctx, flow);
    if (rc != RC_OK)
        return rc;
    return flow->run.stop == RUN_STOP_NONE ? pipeline_next(ctx, flow) : flow_end_stopped(ctx, flow);
}

/* ---- the table ---- */

/* core/step_table.c says how a step is added. */
static const struct step_handlers handlers[STEP_KIND_COUNT] = {
    [STEP_PREPARE] = {result_of_prepare, facts_of_prepare},
    [STEP_HYDRATE] = {result_of_hydrate, facts_of_hydrate},
    [STEP_PLAN] = {result_of_plan, facts_of_plan},
    [STEP_CUSTOM] = {result_of_custom, NULL}, /* The repository's own: its result is trusted. */
    [STEP_AGENT] = {result_of_agent, facts_of_agent},
    [STEP_PULL] = {result_of_pull, NULL}, /* What it leaves is checked by collect. */
    [STEP_COLLECT] = {result_of_collect, facts_of_collect},
    [STEP_VERIFY] = {result_of_verify, facts_of_verify},
    [STEP_JUDGE] = {result_of_judge, facts_of_judge},
    [STEP_PUBLISH] = {result_of_publish, facts_of_publish},
};

const struct step_handlers *step_handlers(enum step_kind kind)
{
    assert((unsigned)kind < STEP_KIND_COUNT);
    return &handlers[kind];
}
