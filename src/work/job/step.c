/*
 * step.c - the functions of the steps, what a payload means, and the tools that all steps use.
 */
#include "work/job/step.h"
#include "base/hash.h"
#include "core/config/profile.h"
#include "core/run/task.h"
#include "core/text/prose.h"
#include "core/text/redact.h"
#include "work/job/retry.h"
#include "work/job/step_secrets.h"
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* core/step_table.c says how a step is added. */
static step_run_fn *const functions[STEP_KIND_COUNT] = {
    [STEP_PREPARE] = step_prepare,     [STEP_HYDRATE] = step_hydrate, [STEP_PLAN] = step_plan,
    [STEP_CUSTOM] = step_custom,       [STEP_AGENT] = step_agent,     [STEP_COLLECT] = step_collect,
    [STEP_VERIFY] = step_verify,       [STEP_JUDGE] = step_judge,     [STEP_PUBLISH] = step_publish,
    [STEP_UNPUBLISH] = step_unpublish, [STEP_CLEAN] = step_clean,     [STEP_NOTIFY] = step_notify,
    [STEP_OBSERVE] = step_observe,     [STEP_ATTEND] = step_attend,   [STEP_REBASE] = step_rebase,
    [STEP_ISSUE] = step_issue,         [STEP_COMMENT] = step_comment, [STEP_TRAIN] = step_train,
    [STEP_SYNC] = step_sync,           [STEP_LAUNCH] = step_launch,
};

step_run_fn *step_function(enum step_kind kind)
{
    assert((unsigned)kind < STEP_KIND_COUNT);
    return functions[kind];
}

/* ---- payload ---- */

static enum rc wrong(struct err *err, const char *field, const char *what)
{
    return err_field(err, RC_INVALID, "INVALID_FIELD", field, "The payload's %s %s.", field, what);
}

static enum rc read_id(const struct js *payload, const char *key, struct id *ret, struct err *err)
{
    const char *text = js_get_str(payload, key, "");
    return id_parse(text, ret) ? RC_OK : wrong(err, key, "is not an id");
}

/* A member that is a hash when it is there at all. */
static enum rc read_sha(const struct js *payload, const char *key, const char **ret,
                        struct err *err)
{
    *ret = js_get_str(payload, key, NULL);
    return *ret == NULL || sha256_text_valid(*ret) ? RC_OK : wrong(err, key, "is not a sha256");
}

static enum rc read_branch(const struct js *payload, const char *key, const char **ret,
                           struct err *err)
{
    *ret = js_get_str(payload, key, NULL);
    return *ret == NULL || branch_name_valid(*ret) ? RC_OK
                                                   : wrong(err, key, "is no name for a branch");
}

static enum rc read_scope(const struct js *payload, struct step_input *input, struct err *err)
{
    const struct js *scope = js_get(payload, "scope");
    size_t count = js_count(scope);
    if (count > STEP_SCOPE_MAX)
        return wrong(err, "scope", "has too many entries");
    for (size_t i = 0; i < count; i++) {
        input->scope[i] = js_str(js_at(scope, i), NULL);
        if (input->scope[i] == NULL)
            return wrong(err, "scope", "holds something that is no text");
    }
    return RC_OK;
}

static enum rc read_time(const struct js *payload, const char *key, int64_t *ret, struct err *err)
{
    const char *text = js_get_str(payload, key, NULL);
    return text == NULL || time_parse(text, ret) ? RC_OK : wrong(err, key, "is no time");
}

static enum rc read_pr(const struct js *payload, struct step_input *input, struct err *err)
{
    const struct js *pr = js_get(payload, "pullRequest");
    if (js_type(pr) != JS_OBJECT)
        return RC_OK;
    input->pr.number = js_get_int(pr, "number", 0);
    input->pr.title = js_get_str(pr, "title", NULL);
    input->pr.head = js_get_str(pr, "head", NULL);
    input->pr.merge_with = js_get_str(pr, "mergeWith", NULL);
    bool valid = input->pr.number > 0 && input->pr.head != NULL && git_hash_valid(input->pr.head) &&
                 (input->pr.merge_with == NULL || git_hash_valid(input->pr.merge_with));
    return valid ? RC_OK : wrong(err, "pullRequest", "lacks its number or its head");
}

static enum rc read_refs(const struct js *payload, struct step_input *input, struct err *err)
{
    enum rc rc = read_branch(payload, "targetBranch", &input->target_branch, err);
    if (rc == RC_OK)
        rc = read_branch(payload, "branch", &input->branch, err);
    if (rc == RC_OK)
        rc = read_sha(payload, "promptSha256", &input->prompt_sha256, err);
    if (rc == RC_OK)
        rc = read_sha(payload, "feedbackSha256", &input->feedback_sha256, err);
    if (rc == RC_OK)
        rc = read_sha(payload, "patchSha256", &input->patch_sha256, err);
    if (rc == RC_OK)
        rc = read_sha(payload, "certificateSha256", &input->certificate_sha256, err);
    if (rc == RC_OK)
        rc = read_sha(payload, "planSha256", &input->plan_sha256, err);
    if (rc == RC_OK)
        rc = read_time(payload, "runDeadline", &input->run_deadline_us, err);
    if (rc == RC_OK)
        rc = read_time(payload, "taskCreatedAt", &input->task_created_us, err);
    if (rc == RC_OK)
        rc = read_time(payload, "sessionBegunAt", &input->session_begun_us, err);
    input->base_commit = js_get_str(payload, "baseCommit", NULL);
    if (rc == RC_OK && input->base_commit != NULL && !git_hash_valid(input->base_commit))
        rc = wrong(err, "baseCommit", "is not the hash of a commit");
    return rc == RC_OK ? read_pr(payload, input, err) : rc;
}

/* The configuration with the agent that the run got: a fallback, and what its account brings. */
static enum rc read_config(const struct js *payload, struct arena *arena, struct step_input *input,
                           struct err *err)
{
    struct agent_config *agent = &input->config.agent;
    int64_t fallback = js_get_int(payload, "fallback", 0);
    const struct js *object = js_get(payload, "account");
    enum rc rc = object != NULL ? account_config_read(object, &input->account, err) : RC_OK;
    if (rc == RC_OK)
        rc = repo_config_decode_for(js_get(payload, "config"), input->account.model, arena,
                                    &input->config, err);
    if (rc != RC_OK)
        return rc;
    if (fallback > 0)
        *agent = *repo_config_agent(&input->config, fallback);
    if (object == NULL)
        return RC_OK;
    input->account_since = js_get_str(payload, "accountSince", "");
    agent->account = input->account.name;
    if (input->account.home != NULL)
        agent->home = input->account.home;
    return RC_OK;
}

enum rc step_decode(const struct js *payload, struct arena *arena, struct step_input *ret_input,
                    struct err *err)
{
    struct step_input input = {
        .payload = payload,
        .traceparent = js_get_str(payload, "traceparent", NULL),
        .run_no = js_get_int(payload, "runNo", 1),
        .attempt = js_get_int(payload, "attempt", 1),
        .repository = js_get_str(payload, "repository", ""),
        .title = js_get_str(payload, "title", NULL),
        .description = js_get_str(payload, "description", NULL),
        .issue_number = js_get_int(payload, "issueNumber", 0),
        .pr_number = js_get_int(payload, "pullRequestNumber", 0),
        .draft = js_get_bool(payload, "draft", false),
        .step = js_get_str(payload, "step", ""),
        .previous = js_get(payload, "previousStepResults"),
        .session_id = js_get_str(payload, "sessionId", NULL),
        .session_resumed = js_get_bool(payload, "sessionResumed", false),
        .session_over = js_get_bool(payload, "sessionOver", false),
        .agent_session = js_get_str(payload, "session", NULL),
        .record = js_get(payload, "record"),
        .completed = text_same(js_get_str(payload, "outcome", ""), "completed"),
        .max_turns = js_get_int(payload, "maxTurns", 0),
        .max_budget_usd = js_num(js_get(payload, "maxBudgetUsd"), 0),
        .max_tokens = js_get_int(payload, "maxTokens", 0),
    };
    enum rc rc = read_id(payload, "taskId", &input.task_id, err);
    if (rc == RC_OK)
        rc = read_id(payload, "runId", &input.run_id, err);
    if (rc == RC_OK)
        rc = read_config(payload, arena, &input, err);
    if (rc == RC_OK)
        rc = read_refs(payload, &input, err);
    if (rc == RC_OK)
        rc = read_scope(payload, &input, err);
    if (rc != RC_OK)
        return rc;
    if (!agent_session_valid(input.agent_session))
        input.agent_session = NULL;
    if (input.attempt < 1)
        input.attempt = 1; /* Before the first attempt the server counts 0. */
    if (input.title == NULL)
        input.title = task_title(input.description, input.issue_number, arena);
    if (input.target_branch == NULL)
        input.target_branch = input.config.default_branch;
    if (input.branch == NULL)
        input.branch = arena_printf(arena, "drover/%s/%lld", input.task_id.text,
                                    (long long)input.run_no);
    *ret_input = input;
    return RC_OK;
}

void step_place(struct step *step)
{
    char hash[SHA256_TEXT_BYTES];
    const char *url = step->input.config.url;
    sha256_hex(url, strlen(url), hash);
    const char *work_dir = step->site->work_dir;
    step->run_dir = arena_printf(step->arena, "%s/runs/%s", work_dir, step->input.run_id.text);
    step->mirror = arena_printf(step->arena, "%s/mirrors/%s.git", work_dir, hash);
}

/* ---- failure ---- */

enum rc step_fail(struct step *step, enum rc rc, const struct err *err, struct port_failure failure)
{
    assert(rc != RC_OK);
    if (sandbox_is_unavailable(err)) { /* The cause, not the step's own code. */
        failure.code = "sandbox_unavailable";
        failure.retryable = false;
    }
    if (failure.message == NULL) /* It may quote git, and git may quote the agent's tree. */
        failure.message = prose_line(
            step->arena, redact_dup(step_secrets(step), err->text, step->arena), STEP_MESSAGE_MAX);
    step->failure = failure;
    return rc;
}

/* ---- time and lease ---- */

struct git step_git(const struct step *step)
{
    const char *name = step->input.config.forge_credential;
    const char *own = name != NULL ? getenv(name) : NULL;
    return (struct git){
        .home = arena_printf(step->arena, "%s/git", step->site->work_dir),
        .credential = step->token != NULL ? step->token : own,
        .renewal = step->renewal,
        .cancel = &step->stop->reason,
        .deadline_us = step->deadline_us,
    };
}

int64_t step_left_ms(const struct step *step)
{
    int64_t left = (step->deadline_us - clock_mono_us()) / US_PER_MS;
    return left > 0 ? left : 0;
}

int64_t step_time_ms(const struct step *step, int64_t own_ms)
{
    int64_t left_ms = step_left_ms(step);
    int64_t ms = own_ms < left_ms ? own_ms : left_ms;
    return ms > 0 ? ms : 1;
}

enum rc step_still_mine(struct step *step, struct err *err)
{
    struct port *port = step->site->port;
    struct port_beat beat = {0};
    if (stop_asked(step->stop) != STOP_NONE)
        return err_set(err, RC_CANCELLED, "CANCELLED", "The step was asked to stop.");
    struct retry retry = retry_begin(step->stop);
    enum rc rc;
    do
        rc = port->ops->heartbeat(port, step->site->worker, &step->lease, 1, step->site->lease_ms,
                                  &beat, err);
    while (retry_again(&retry, rc));
    if (rc != RC_OK)
        return rc;
    if (!beat.ok) {
        stop_ask(step->stop, STOP_LOST);
        return err_set(err, RC_STALE, "LEASE_LOST", "The lease was lost.");
    }
    if (beat.cancel) {
        stop_ask(step->stop, STOP_CANCEL);
        return err_set(err, RC_CANCELLED, "CANCELLED", "The server wants the step stopped.");
    }
    return RC_OK;
}

static enum rc may_go_on(void *ctx, struct err *err)
{
    return step_still_mine(ctx, err);
}

struct forge_holder step_holder(struct step *step)
{
    return (struct forge_holder){
        .name = arena_printf(step->arena, "%s, job %s, epoch %" PRId64, step->site->worker,
                             step->lease.id.text, step->lease.epoch),
        .may_go_on = may_go_on,
        .ctx = step,
    };
}

static enum rc send_event(struct step *step, const char *type, struct str data,
                          struct port_beat *ret_beat)
{
    CLEANUP(buf_release) struct buf events;
    buf_init(&events, STEP_RESULT_MAX);
    struct jw jw = jw_to(&events);
    jw_begin(&jw, '[');
    jw_begin(&jw, '{');
    jw_kstr(&jw, "type", type);
    jw_kraw(&jw, "data", data);
    jw_end(&jw, '}');
    jw_end(&jw, ']');
    struct port *port = step->site->port;
    return port->ops->progress(port, &step->lease, buf_str(&events), ret_beat, NULL);
}

void step_event(struct step *step, const char *type, struct str data)
{
    struct port_beat beat = {0};
    enum rc rc = send_event(step, type, data, &beat);
    if (rc == RC_STALE)
        stop_ask(step->stop, STOP_LOST);
    else if (rc == RC_OK && beat.cancel)
        stop_ask(step->stop, STOP_CANCEL);
    if (rc == RC_OK)
        steer_note(step->steer, &beat);
}

void step_last_word(struct step *step, const char *type, struct str data)
{
    struct port_beat beat = {0};
    (void)send_event(step, type, data, &beat);
}

/* ---- artifacts ---- */

static const char *note_artifact(struct step *step, const struct step_artifact *artifact)
{
    if (step->artifact_count == STEP_ARTIFACTS_MAX)
        return arena_strdup(step->arena, artifact->sha256);
    struct step_artifact *noted = &step->artifacts[step->artifact_count++];
    *noted = *artifact;
    noted->kind = arena_strdup(step->arena, artifact->kind);
    noted->name = arena_strdup(step->arena, artifact->name);
    return noted->sha256;
}

enum rc step_put(struct step *step, const char *kind, const char *name, struct str bytes,
                 const char **ret_sha256, struct err *err)
{
    struct port *port = step->site->port;
    struct step_artifact artifact = {.kind = kind, .name = name, .bytes = (int64_t)bytes.len};
    struct retry retry = retry_begin(step->stop);
    enum rc rc;
    do
        rc = port->ops->artifact_put(port, bytes, artifact.sha256, err);
    while (retry_again(&retry, rc));
    if (rc == RC_OK)
        *ret_sha256 = note_artifact(step, &artifact);
    return rc;
}

enum rc step_put_file(struct step *step, const char *kind, const char *name, const char *path,
                      const char **ret_sha256, struct err *err)
{
    struct port *port = step->site->port;
    struct step_artifact artifact = {.kind = kind, .name = name};
    struct retry retry = retry_begin(step->stop);
    enum rc rc;
    do
        rc = port->ops->artifact_put_file(port, path, artifact.sha256, &artifact.bytes, err);
    while (retry_again(&retry, rc));
    if (rc == RC_OK)
        *ret_sha256 = note_artifact(step, &artifact);
    return rc;
}

enum rc step_get(struct step *step, const char *sha256, struct buf *into, struct err *err)
{
    struct port *port = step->site->port;
    struct retry retry = retry_begin(step->stop);
    enum rc rc;
    do {
        buf_clear(into);
        rc = port->ops->artifact_get(port, sha256, into, err);
    } while (retry_again(&retry, rc));
    if (rc == RC_OK && into->overflow)
        return err_set(err, RC_TOO_LARGE, "ARTIFACT_TOO_LARGE",
                       "Artifact %.12s is larger than %zu bytes.", sha256, into->max_bytes);
    return rc;
}

/* ---- results ---- */

void step_write_artifacts(struct step *step, struct jw *jw)
{
    jw_key(jw, "artifacts");
    jw_begin(jw, '[');
    for (size_t i = 0; i < step->artifact_count; i++) {
        const struct step_artifact *artifact = &step->artifacts[i];
        jw_begin(jw, '{');
        jw_kstr(jw, "kind", artifact->kind);
        step_write_text(jw, "name", artifact->name, 120);
        jw_kstr(jw, "sha256", artifact->sha256);
        jw_kint(jw, "bytes", artifact->bytes);
        jw_end(jw, '}');
    }
    jw_end(jw, ']');
}

void step_write_text(struct jw *jw, const char *key, const char *text, size_t max)
{
    if (text == NULL) {
        jw_kstr(jw, key, NULL);
        return;
    }
    assert(max >= 2); /* Two quotes always fit. */
    CLEANUP(buf_release) struct buf encoded;
    buf_init(&encoded, max);
    size_t len = strnlen(text, max);
    for (;;) {
        buf_clear(&encoded);
        encoded.overflow = false;
        struct jw attempt = jw_to(&encoded);
        len = prose_fit(text, strlen(text), len);
        jw_strn(&attempt, text, len);
        if (!encoded.overflow)
            break;
        /* Escapes made it longer: an eighth less each time soon fits. */
        len -= len / 8 + 1;
    }
    jw_kraw(jw, key, buf_str(&encoded));
}
