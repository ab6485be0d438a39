/*
 * artifacts.c - content by its hash.
 */
#include "store/artifacts.h"
#include "api/artifact_gate.h"
#include "api/routes.h"
#include "base/hash.h"
#include "core/queue/queue_config.h"
#include "core/run/secrets_patch.h"
#include "store/jobs.h"
#include "store/runs.h"
#include "store/tasks.h"
#include "work/job/step_secrets.h"

static enum rc check_sha256(const struct call *call, struct err *err)
{
    if (sha256_text_valid(call->vars[0]))
        return RC_OK;
    return err_set(err, RC_MALFORMED, "INVALID_ID",
                   "%.100s is not a sha256 (64 lower-case hex digits)", call->vars[0]);
}

/* An agent wrote some of these: nothing is served as a type that a browser would run. */
static const char *media_type(const struct artifact_row *artifact)
{
    static const char *const text_kinds[] = {
        "prompt",   "plan",      "patch",      "redacted_patch", "diff",         "report",
        "feedback", "agent_log", "verify_log", "certificate",    "judge_report", "issue"};
    for (size_t i = 0; i < COUNT_OF(text_kinds); i++) {
        if (text_same(artifact->kind, text_kinds[i]))
            return "text/plain; charset=utf-8";
    }
    return "application/octet-stream";
}

enum rc api_artifact_get(struct call *call, struct db *db, struct err *err)
{
    enum rc rc = call_no_params(call, err);
    if (rc == RC_OK)
        rc = check_sha256(call, err);
    if (rc != RC_OK)
        return rc;
    struct http_answer *answer = &call->http.answer;
    struct artifact_row artifact = {0};
    rc = artifacts_by_sha256(db, call->vars[0], &call->http.arena, &artifact, err);
    if (rc != RC_OK && rc != RC_NOT_FOUND)
        return rc;
    err_clear(err);
    rc = artifact_open(call->api->store, call->vars[0], &answer->file_fd, &answer->file_bytes, err);
    if (rc != RC_OK)
        return rc;
    answer->content_type = media_type(&artifact);
    http_answer_header(&call->http, "X-Content-Type-Options", "nosniff");
    http_answer_header(&call->http, "Content-Security-Policy", "sandbox");
    return RC_OK;
}

static enum rc find_secrets(struct call *call, const struct repo_config *config, struct str content,
                            struct err *err)
{
    struct arena *arena = &call->http.arena;
    struct secrets *secrets = arena_alloc(arena, sizeof *secrets);
    struct secret_hits *hits = arena_alloc(arena, sizeof *hits);
    repo_secrets(config, arena, secrets);
    secrets->shapes = config->policy.scan_secrets;
    secrets_in_patch(secrets, content, arena, hits);
    if (hits->count == 0)
        return RC_OK;
    return err_set(err, RC_INVALID, "SECRET_DETECTED",
                   "the content holds a secret (%s in %.200s, line %lld); nothing was stored",
                   hits->at[0].rule, hits->at[0].path[0] ? hits->at[0].path : "its head",
                   (long long)hits->at[0].line);
}

/* Before the scan, which is slow. */
static enum rc check_size(const struct repo_config *config, struct str content, struct err *err)
{
    int64_t max = config->limits.max_patch_bytes;
    int64_t bytes = (int64_t)content.len;
    if (bytes <= max)
        return RC_OK;
    return err_set(err, RC_TOO_LARGE, "BODY_TOO_LARGE",
                   "the content has %lld bytes, and limits.maxPatchBytes of this job's task is "
                   "%lld; nothing was stored",
                   (long long)bytes, (long long)max);
}

enum rc artifact_check_for_job(struct call *call, struct db *db, const struct id *job_id,
                               struct str content, struct err *err)
{
    CLEANUP(js_freep) struct js *document = NULL;
    struct arena *arena = &call->http.arena;
    struct job_row job;
    struct run_row run;
    struct task_row task;
    struct repo_config config;
    enum rc rc = jobs_get(db, job_id, arena, &job, err);
    if (rc == RC_OK)
        rc = queue_allowed(auth_bound_to(&call->who), job.queue, err);
    if (rc == RC_OK && !job_leased_to(&job.life, job.life.epoch, call->who.principal.text))
        return err_set(err, RC_STALE, "LEASE_LOST", "the lease of this job was lost");
    if (rc == RC_OK && id_is_none(&job.run_id))
        return err_set(err, RC_CONFLICT, "NOT_A_STEP", "this job belongs to no run");
    if (rc == RC_OK)
        rc = runs_get(db, &job.run_id, arena, &run, err);
    if (rc == RC_OK)
        rc = tasks_get(db, &run.task_id, arena, &task, err);
    if (rc == RC_OK)
        rc = js_parse(task.config.at, task.config.len, &document, err);
    if (rc == RC_OK)
        rc = repo_config_decode(document, NULL, arena, &config, err);
    if (rc == RC_OK)
        rc = check_size(&config, content, err);
    return rc == RC_OK ? find_secrets(call, &config, content, err) : rc;
}

static enum rc read_put(struct call *call, struct id *ret_job_id, struct err *err)
{
    struct params params;
    enum rc rc = call_params(call, &params, err);
    if (rc != RC_OK)
        return rc;
    params_id(&params, "jobId", ret_job_id);
    rc = params_end(&params);
    return rc == RC_OK ? check_sha256(call, err) : rc;
}

enum rc api_artifact_put(struct call *call, struct db *db, struct err *err)
{
    struct id job_id = {0};
    enum rc rc = read_put(call, &job_id, err);
    bool for_job = !id_is_none(&job_id);
    if (rc == RC_OK && !for_job && auth_bound_to(&call->who) != NULL)
        return err_set(err, RC_DENIED, "QUEUE_NOT_ALLOWED",
                       "a token that is bound to queues stores for a job only: say ?jobId=");
    if (rc == RC_OK && for_job)
        rc = artifact_check_for_job(call, db, &job_id, http_body(&call->http), err);
    if (rc != RC_OK)
        return rc;
    struct str body = http_body(&call->http);
    char sha256[SHA256_TEXT_BYTES];
    sha256_hex(body.at, body.len, sha256);
    if (!text_same(sha256, call->vars[0]))
        return err_set(err, RC_INVALID, "HASH_MISMATCH",
                       "the content's sha256 is %s, not what the path says", sha256);
    int fd = http_body_fd(&call->http);
    rc = fd >= 0 ? artifact_put_nameless(call->api->store, fd, body, sha256, err)
                 : artifact_put(call->api->store, body, sha256, err);
    if (rc != RC_OK)
        return rc;
    struct jw jw = call_answer(call, 201);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "sha256", sha256);
    jw_kint(&jw, "bytes", (int64_t)body.len);
    jw_end(&jw, '}');
    return RC_OK;
}
