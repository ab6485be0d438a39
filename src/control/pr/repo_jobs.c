/*
 * repo_jobs.c - jobs about a repository: made, and what follows from their end.
 *
 * Invariants:
 *   1. Of the jobs with one key at most one waits that has not begun, and one is leased or is tried
 *      again: a new one gives its key up when it is asked for again while it is leased, and the
 *      ordering key, which is the same text, keeps the two apart.
 *   2. A settled job holds no key.
 */
#include "control/pr/repo_jobs.h"
#include "control/commit/isolate.h"
#include "control/queue/enqueue.h"
#include "control/run/assignment.h"
#include "control/run/effective.h"
#include "core/queue/breaker_config.h"
#include "core/queue/rank.h"
#include "core/run/worker_report.h"
#include <assert.h>

enum { PAYLOAD_BYTES_MAX = CONFIG_BYTES_MAX + 256 * 1024 };

/* ---- made ---- */

static enum rc write_payload(struct context *ctx, const struct repo_job *job, struct str config,
                             struct str *ret_payload)
{
    CLEANUP(buf_release) struct buf payload;
    buf_init(&payload, PAYLOAD_BYTES_MAX);
    struct jw jw = jw_to(&payload);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "repository", job->repository->name);
    jw_kstr(&jw, "repositoryId", job->repository->id.text);
    if (job->write != NULL)
        job->write(&jw, job->subject);
    jw_kraw(&jw, "config", config);
    jw_end(&jw, '}');
    if (payload.overflow)
        return err_set(ctx->err, RC_TOO_LARGE, "PAYLOAD_TOO_LARGE",
                       "a job of repository %s would pass %d bytes", job->repository->name,
                       PAYLOAD_BYTES_MAX);
    *ret_payload = (struct str){arena_strndup(ctx->arena, payload.data, payload.len), payload.len};
    return RC_OK;
}

/* The breaker of the repository's forge; NULL where it has no such name. */
static const char *dependency_of(struct context *ctx, const struct repository_row *repository)
{
    CLEANUP(config_book_putp) struct known_config *known = effective_now(ctx, repository);
    if (known == NULL)
        return NULL;
    const char *name = forge_dependency(known->config.url, repository->name, ctx->arena);
    return breaker_name_valid(name) ? name : NULL;
}

/* Due no later than the new one would have been: it was to wait longer.  A job that failed keeps
   its pause. */
static enum rc bring_forward(struct context *ctx, const struct id *job_id, int64_t due_us)
{
    struct job_row job;
    enum rc rc = jobs_get(ctx->db, job_id, ctx->arena, &job, ctx->err);
    if (rc != RC_OK || job.life.state != JOB_SCHEDULED || job.life.epoch > 0 ||
        job.life.due_us <= due_us)
        return rc;
    job.life.due_us = due_us;
    context_due(ctx, due_us);
    return jobs_save(ctx->db, &job, ctx->err);
}

/* *ret_waits: one with this key has not begun, and does for both. */
static enum rc find_waiting(struct context *ctx, const struct repo_job *job, const char *queue,
                            bool *ret_waits, struct id *ret_id)
{
    struct dedup_row row;
    *ret_waits = false;
    if (job->dedup_key == NULL)
        return RC_OK;
    enum rc rc = jobs_by_dedup(ctx->db, queue, job->dedup_key, &row, ctx->err);
    if (rc != RC_OK)
        return rc == RC_NOT_FOUND ? RC_OK : rc;
    if (row.state == JOB_LEASED || job_is_settled(row.state))
        return jobs_dedup_release(ctx->db, &row.id, ctx->err);
    *ret_waits = true;
    *ret_id = row.id;
    return row.state == JOB_SCHEDULED
               ? bring_forward(ctx, &row.id, ctx->now_us + job->delay_ms * US_PER_MS)
               : RC_OK;
}

static enum rc make(struct context *ctx, const struct repo_job *job, const struct step_row *step,
                    struct id *ret_id)
{
    struct str config, payload;
    enum rc rc = effective_config(ctx, job->repository, (struct str){0}, &config);
    if (rc == RC_OK)
        rc = write_payload(ctx, job, config, &payload);
    if (rc != RC_OK)
        return rc;
    const struct job_spec spec = {
        .queue = step->queue,
        .type = step->name,
        .payload = payload,
        .priority = job->priority > 0 ? job->priority : PRIORITY_NORMAL,
        .ordering_key = job->dedup_key,
        .dedup_key = job->dedup_key,
        .delay_us = job->delay_ms * US_PER_MS,
        .dependency = dependency_of(ctx, job->repository),
        .always = true,
    };
    struct enqueue_answer answer;
    rc = enqueue_one(ctx, &spec, &answer);
    if (rc == RC_OK)
        *ret_id = answer.id;
    return rc;
}

enum rc repo_job_enqueue(struct context *ctx, const struct repo_job *job, struct id *ret_job_id)
{
    const struct step_row *step = step_row(job->kind);
    struct id id = {0};
    bool waits;
    assert(step->bare && step->queue != NULL && job->delay_ms >= 0);
    enum rc rc = find_waiting(ctx, job, step->queue, &waits, &id);
    if (rc == RC_OK && !waits)
        rc = make(ctx, job, step, &id);
    if (rc == RC_OK && ret_job_id != NULL)
        *ret_job_id = id;
    return rc;
}

/* ---- ended ---- */

/* Asked for every job that ends: most are in other queues. */
bool repo_job_is(const struct job_row *job)
{
    if (!id_is_none(&job->run_id) || !text_starts(job->queue, STEP_QUEUE_PREFIX))
        return false;
    const struct step_row *step = step_find_queue(job->queue);
    return step != NULL && step->bare && step->kind != STEP_NOTIFY && step->kind != STEP_LAUNCH;
}

enum rc repo_job_check_result(struct context *ctx, const struct job_row *job, struct str result)
{
    CLEANUP(js_freep) struct js *tree = NULL;
    enum rc rc = js_parse(result.at, result.len, &tree, ctx->err);
    if (rc != RC_OK)
        return err_wrap(ctx->err, RC_INVALID, "the result");
    return report_check_result(job->type, tree, ctx->err);
}

static const struct repo_job_row *find_row(const struct repo_job_table *table,
                                           const struct job_row *job)
{
    const struct step_row *step = step_find_queue(job->queue);
    for (size_t i = 0; step != NULL && i < table->count; i++)
        if (table->rows[i].kind == step->kind)
            return &table->rows[i];
    return NULL;
}

static enum rc corrupt(struct context *ctx, const struct job_row *job, const char *what)
{
    return err_set(ctx->err, RC_CORRUPT, "PAYLOAD_INVALID", "job %s: %s", job->id.text, what);
}

struct ending_job {
    const struct job_row *job;
    repo_job_fn *call;
    bool failed;
};

static enum rc try_end(struct context *ctx, void *subject, const struct failure *why)
{
    (void)why;
    const struct ending_job *ending = subject;
    const struct job_row *job = ending->job;
    CLEANUP(js_freep) struct js *payload = NULL, *result = NULL;
    struct repository_row repository;
    struct id id;
    if (js_parse(job->payload.at, job->payload.len, &payload, NULL) != RC_OK ||
        !id_parse(js_get_str(payload, "repositoryId", ""), &id))
        return corrupt(ctx, job, "its payload names no repository");
    if (!ending->failed && js_parse(job->result.at, job->result.len, &result, NULL) != RC_OK)
        return corrupt(ctx, job, "its result cannot be read");
    enum rc rc = repositories_get(ctx->db, &id, ctx->arena, &repository, ctx->err);
    if (rc != RC_OK)
        return rc == RC_NOT_FOUND ? corrupt(ctx, job, "its repository is gone") : rc;
    const struct repo_job_end end = {
        .job = job,
        .repository = &repository,
        .payload = payload,
        .result = result,
        .code = !ending->failed           ? NULL
                : job->error_code != NULL ? job->error_code
                                          : "failed",
        .message = ending->failed ? job->error_message : NULL,
    };
    return ending->call(ctx, &end);
}

/* isolate() has logged it. */
static enum rc leave_it(struct context *ctx, void *subject, const struct failure *why)
{
    (void)ctx;
    (void)subject;
    (void)why;
    return RC_OK;
}

static enum rc call_isolated(struct context *ctx, struct ending_job *ending)
{
    static isolate_try *const tries[] = {try_end, leave_it, NULL};
    const struct isolated one = {"job", ending->job->id.text, ending, tries};
    return ending->call != NULL ? isolate(ctx, &one) : RC_OK;
}

enum rc repo_job_completed(struct context *ctx, const struct repo_job_table *table,
                           const struct job_row *job)
{
    const struct repo_job_row *row = find_row(table, job);
    struct ending_job ending = {.job = job, .call = row != NULL ? row->completed : NULL};
    return call_isolated(ctx, &ending);
}

enum rc repo_job_settled(struct context *ctx, const struct repo_job_table *table,
                         const struct job_row *job)
{
    const struct repo_job_row *row = find_row(table, job);
    struct ending_job ending = {
        .job = job, .call = row != NULL ? row->failed : NULL, .failed = true};
    enum rc rc = job->dedup_key != NULL ? jobs_dedup_release(ctx->db, &job->id, ctx->err) : RC_OK;
    if (rc != RC_OK || job->life.state != JOB_DEAD_LETTER)
        return rc;
    return call_isolated(ctx, &ending);
}
