/*
 * checks.c - jobs of GitLab's pipelines, and statuses that others put on a commit.
 *
 * Both are "commit statuses" to GitLab, under one list; only a job has a log and can be retried,
 * and only the list of a pipeline's jobs says which ones are jobs and why one failed. Drover's own
 * check is a status. A job that may fail passes, as GitLab has it; one that a person has to start
 * waits, unless the pipeline passes without it.
 */
#include "forge/port/checks.h"
#include "core/text/prose.h"
#include "forge/gitlab/api.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { PIPELINES_MAX = 10, SUPERSEDED_MAX = 100, DESCRIPTION_MAX = 255 };

/* The newest pipeline of each source: a push and a merge request may both start one. */
struct pipelines {
    int64_t ids[PIPELINES_MAX];
    const char *sources[PIPELINES_MAX];
    size_t count;
    int64_t superseded[SUPERSEDED_MAX]; /* By a newer one of the same source. */
    size_t superseded_count;
};

struct check_reader {
    struct host_api api;
    struct pipelines pipelines;
    struct check_view *checks;
    size_t count;
    struct arena *arena;
};

static enum check_state failed_how(const char *reason)
{
    static const struct {
        const char *reason;
        enum check_state state;
    } reasons[] = {
        {"stuck_or_timeout_failure", CHECK_TIMED_OUT},
        {"job_execution_timeout", CHECK_TIMED_OUT},
        {"job_execution_server_timeout", CHECK_TIMED_OUT},
        {"api_failure", CHECK_BROKEN},
        {"runner_system_failure", CHECK_BROKEN},
        {"runner_unsupported", CHECK_BROKEN},
        {"stale_schedule", CHECK_BROKEN},
        {"scheduler_failure", CHECK_BROKEN},
        {"data_integrity_failure", CHECK_BROKEN},
        {"unmet_prerequisites", CHECK_BROKEN},
        {"missing_dependency_failure", CHECK_BROKEN},
        {"archived_failure", CHECK_BROKEN},
        {"ci_quota_exceeded", CHECK_BROKEN},
        {"no_matching_runner", CHECK_BROKEN},
        {"trace_size_exceeded", CHECK_BROKEN},
    };
    for (size_t i = 0; i < COUNT_OF(reasons); i++) {
        if (text_same(reason, reasons[i].reason))
            return reasons[i].state;
    }
    return CHECK_FAILED;
}

static enum check_state state_of(const struct js *item)
{
    const char *status = js_get_str(item, "status", "");
    bool may_fail = js_get_bool(item, "allow_failure", false);
    if (text_same(status, "success") || text_same(status, "skipped"))
        return CHECK_PASSED;
    if (may_fail && (text_same(status, "failed") || text_same(status, "canceled") ||
                     text_same(status, "manual")))
        return CHECK_PASSED;
    if (text_same(status, "failed"))
        return failed_how(js_get_str(item, "failure_reason", ""));
    return text_same(status, "canceled") ? CHECK_CANCELLED : CHECK_PENDING;
}

static struct check_view check_of(struct check_reader *reader, const struct js *item, bool job)
{
    struct arena *arena = reader->arena;
    const char *name = arena_strdup(arena, js_get_str(item, "name", ""));
    return (struct check_view){
        .id = arena_printf(arena, "%" PRId64, js_get_int(item, "id", 0)),
        .name = name,
        .state = state_of(item),
        .url = host_text(arena, item, job ? "web_url" : "target_url"),
        .summary = host_text(arena, item, job ? "failure_reason" : "description"),
        .started_us = host_time(item, "started_at"),
        .ended_us = host_time(item, "finished_at"),
        .required = !js_get_bool(item, "allow_failure", false),
        .own = !job && text_same(name, "drover"),
        .job = job};
}

static bool is_known(const struct check_reader *reader, const struct js *item)
{
    char id[24] = "";
    (void)snprintf(id, sizeof id, "%" PRId64, js_get_int(item, "id", 0));
    for (size_t i = 0; i < reader->count; i++) {
        if (text_same(reader->checks[i].id, id))
            return true;
    }
    return false;
}

static bool add_job(void *ctx, const struct js *item)
{
    struct check_reader *reader = ctx;
    if (reader->count == PR_CHECKS_MAX)
        return false;
    if (js_get_int(item, "id", 0) > 0 && !is_known(reader, item))
        reader->checks[reader->count++] = check_of(reader, item, true);
    return true;
}

static bool is_superseded(const struct check_reader *reader, const struct js *item)
{
    int64_t pipeline = js_get_int(item, "pipeline_id", 0);
    for (size_t i = 0; i < reader->pipelines.superseded_count; i++) {
        if (reader->pipelines.superseded[i] == pipeline)
            return true;
    }
    return false;
}

static bool add_status(void *ctx, const struct js *item)
{
    struct check_reader *reader = ctx;
    if (reader->count == PR_CHECKS_MAX)
        return false;
    if (js_get_int(item, "id", 0) > 0 && !is_known(reader, item) && !is_superseded(reader, item))
        reader->checks[reader->count++] = check_of(reader, item, false);
    return true;
}

static bool add_pipeline(void *ctx, const struct js *item)
{
    struct check_reader *reader = ctx;
    struct pipelines *to = &reader->pipelines;
    const char *source = js_get_str(item, "source", "");
    int64_t id = js_get_int(item, "id", 0);
    for (size_t i = 0; i < to->count; i++) {
        if (!text_same(to->sources[i], source))
            continue;
        if (to->superseded_count < SUPERSEDED_MAX)
            to->superseded[to->superseded_count++] = id;
        return true;
    }
    if (text_same(source, "external")) /* Made of statuses, without jobs. */
        return true;
    if (to->count == PIPELINES_MAX)
        return false;
    to->ids[to->count] = id;
    to->sources[to->count++] = arena_strdup(reader->arena, source);
    return true;
}

static enum rc read_jobs(struct check_reader *reader, const char *commit, struct err *err)
{
    const struct pipelines *pipelines = &reader->pipelines;
    const struct host_list newest = {
        .path = host_path(&reader->api, "/pipelines?sha=%s&order_by=id&sort=desc&per_page=100",
                          host_escaped(reader->arena, commit)),
        .each = add_pipeline,
        .ctx = reader};
    enum rc rc = host_pages(&reader->api, &newest, NULL, err);
    for (size_t i = 0; i < pipelines->count && rc == RC_OK; i++) {
        const struct host_list jobs = {.path = host_path(&reader->api,
                                                         "/pipelines/%" PRId64 "/jobs?per_page=100",
                                                         pipelines->ids[i]),
                                       .each = add_job,
                                       .ctx = reader};
        rc = host_pages(&reader->api, &jobs, NULL, err);
    }
    return rc;
}

static enum rc gitlab_of_commit(struct forge_call *call, const char *url, const char *commit,
                                struct arena *arena, struct check_view **ret_checks,
                                size_t *ret_count, struct err *err)
{
    struct check_reader reader = {.arena = arena};
    enum rc rc = gitlab_open(call, url, arena, &reader.api, err);
    if (rc != RC_OK)
        return rc;
    reader.checks = arena_array(arena, PR_CHECKS_MAX, sizeof *reader.checks);
    const struct host_list statuses = {
        .path = host_path(&reader.api, "/repository/commits/%s/statuses?per_page=100",
                          host_escaped(arena, commit)),
        .each = add_status,
        .ctx = &reader};
    rc = read_jobs(&reader, commit, err);
    if (rc == RC_OK)
        rc = host_pages(&reader.api, &statuses, NULL, err);
    if (rc != RC_OK)
        return rc;
    *ret_checks = reader.checks;
    *ret_count = reader.count;
    return RC_OK;
}

/* ---- logs and retries ---- */

static enum rc gitlab_log(struct forge_call *call, const char *url, const struct check_view *check,
                          struct buf *into, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct host_api api;
    if (!check->job)
        return err_set(err, RC_NOT_FOUND, "NO_LOG", "The status %.100s has no log.", check->name);
    enum rc rc = gitlab_open(call, url, &arena, &api, err);
    if (rc != RC_OK)
        return rc;
    return host_bytes(&api, host_path(&api, "/jobs/%s/trace", host_escaped(&arena, check->id)),
                      into, err);
}

/* Looks for a job of the same name that is newer. */
struct retried {
    const char *name;
    int64_t id;
    bool found;
};

static bool look_at_job(void *ctx, const struct js *item)
{
    struct retried *retried = ctx;
    retried->found = js_get_int(item, "id", 0) > retried->id &&
                     text_same(js_get_str(item, "name", ""), retried->name);
    return !retried->found;
}

/* A job that was retried already is refused: then there is a newer one. */
static enum rc retried_before(const struct host_api *api, const struct check_view *check,
                              bool *ret_before, struct err *err)
{
    CLEANUP(rest_answer_release) struct rest_answer answer = {0};
    struct retried retried = {.name = check->name};
    enum rc rc = host_get(api, host_path(api, "/jobs/%s", host_escaped(api->arena, check->id)),
                          &answer, err);
    if (rc != RC_OK)
        return rc;
    retried.id = js_get_int(answer.document, "id", 0);
    const struct host_list jobs = {
        .path = host_path(api, "/pipelines/%" PRId64 "/jobs?per_page=100",
                          js_int(js_path(answer.document, "pipeline.id"), 0)),
        .each = look_at_job,
        .ctx = &retried};
    rc = host_pages(api, &jobs, NULL, err);
    if (rc == RC_OK)
        *ret_before = retried.found;
    return rc;
}

static enum rc gitlab_rerun(struct forge_call *call, const char *url,
                            const struct check_view *check, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct host_api api;
    struct err other = {0};
    bool before = false;
    if (!check->job)
        return err_set(err, RC_CONFLICT, "NO_JOB", "The status %.100s is no job of GitLab's.",
                       check->name);
    enum rc rc = gitlab_open(call, url, &arena, &api, err);
    if (rc != RC_OK)
        return rc;
    rc = host_send(&api, "POST", host_path(&api, "/jobs/%s/retry", host_escaped(&arena, check->id)),
                   NULL, NULL, err);
    if (rc != RC_DENIED && rc != RC_CONFLICT && rc != RC_INVALID)
        return rc;
    return retried_before(&api, check, &before, &other) == RC_OK && before ? RC_OK : rc;
}

/* ---- drover's own ---- */

static const char *status_name(enum check_state state)
{
    static const char *const names[] = {
        [CHECK_PENDING] = "running",  [CHECK_PASSED] = "success",     [CHECK_FAILED] = "failed",
        [CHECK_TIMED_OUT] = "failed", [CHECK_CANCELLED] = "canceled", [CHECK_BROKEN] = "failed"};
    return names[state];
}

struct own_status {
    const char *status, *title;
    int64_t newest;
    bool same; /* The newest is what it should be. */
};

static bool look_at_own(void *ctx, const struct js *item)
{
    struct own_status *own = ctx;
    int64_t id = js_get_int(item, "id", 0);
    if (id <= own->newest)
        return true;
    own->newest = id;
    own->same = text_same(js_get_str(item, "status", ""), own->status) &&
                text_same(js_get_str(item, "description", ""), own->title);
    return true;
}

/* GitLab refuses to set a status to what it is. */
static enum rc gitlab_put(struct forge_call *call, const char *url, const struct forge_check *check,
                          struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(buf_release) struct buf body;
    struct host_api api;
    const char *title = prose_line(&arena, check->title, DESCRIPTION_MAX);
    struct own_status own = {.status = status_name(check->state), .title = title};
    struct jw jw = host_body(&body);
    jw_kstr(&jw, "state", own.status);
    jw_kstr(&jw, "name", check->name);
    jw_kstr(&jw, "description", title);
    jw_optstr(&jw, "target_url", check->url);
    host_body_end(&jw);
    enum rc rc = gitlab_open(call, url, &arena, &api, err);
    if (rc != RC_OK)
        return rc;
    const struct host_list mine = {
        .path = host_path(&api, "/repository/commits/%s/statuses?name=%s&per_page=100",
                          host_escaped(&arena, check->commit), host_escaped(&arena, check->name)),
        .each = look_at_own,
        .ctx = &own};
    rc = host_pages(&api, &mine, NULL, err);
    if (rc != RC_OK || own.same)
        return rc;
    return host_send(&api, "POST",
                     host_path(&api, "/statuses/%s", host_escaped(&arena, check->commit)), &body,
                     NULL, err);
}

const struct check_ops checks_gitlab = {
    .of_commit = gitlab_of_commit,
    .log = gitlab_log,
    .rerun = gitlab_rerun,
    .put = gitlab_put,
};
