/*
 * checks.c - statuses of a commit at Gitea or Forgejo.
 *
 * Jobs of Actions are statuses, too: their address ends in /actions/runs/RUN/jobs/JOB. In Gitea
 * 1.26 and later these are the ids by which the API knows them; before, and in Forgejo, they are
 * indexes that lead nowhere. So a job is asked for its name and its run before anything is done
 * with it.
 */
#include "forge/port/checks.h"
#include "core/text/prose.h"
#include "forge/gitea/api.h"
#include <inttypes.h>
#include <string.h>

enum { DESCRIPTION_MAX = 255 };

struct check_reader {
    struct host_api api;
    struct check_view *checks;
    size_t count;
    bool jobs; /* The API has jobs. */
    struct arena *arena;
};

static enum check_state state_of(const struct js *status)
{
    static const struct {
        const char *name;
        enum check_state state;
    } states[] = {{"success", CHECK_PASSED}, {"warning", CHECK_PASSED}, {"skipped", CHECK_PASSED},
                  {"failure", CHECK_FAILED}, {"error", CHECK_BROKEN},   {"pending", CHECK_PENDING}};
    const char *name = js_get_str(status, "status", js_get_str(status, "state", ""));
    bool cancelled = text_starts(js_get_str(status, "description", ""), "Has been cancelled");
    for (size_t i = 0; i < COUNT_OF(states); i++) {
        if (text_same(name, states[i].name))
            return cancelled && states[i].state == CHECK_FAILED ? CHECK_CANCELLED : states[i].state;
    }
    return CHECK_PENDING;
}

/* "RUN/JOB" of an address of Actions; NULL: it is none. */
static const char *job_of(struct arena *arena, const char *url)
{
    const char *runs = url != NULL ? strstr(url, "/actions/runs/") : NULL;
    if (runs == NULL)
        return NULL;
    runs += strlen("/actions/runs/");
    size_t run = strspn(runs, "0123456789");
    const char *jobs = runs + run;
    if (run == 0 || run > 18 || !text_starts(jobs, "/jobs/"))
        return NULL;
    jobs += strlen("/jobs/");
    size_t job = strspn(jobs, "0123456789");
    if (job == 0 || job > 18 || jobs[job] != '\0')
        return NULL;
    return arena_printf(arena, "%.*s/%.*s", (int)run, runs, (int)job, jobs);
}

static bool add_status(void *ctx, const struct js *item)
{
    struct check_reader *reader = ctx;
    struct arena *arena = reader->arena;
    if (reader->count == PR_CHECKS_MAX)
        return false;
    const char *url = host_text(arena, item, "target_url");
    const char *job = reader->jobs ? job_of(arena, url) : NULL;
    const char *name = arena_strdup(arena, js_get_str(item, "context", ""));
    enum check_state state = state_of(item);
    if (url != NULL && url[0] == '/') /* Those of Actions have no host. */
        url = arena_printf(arena, "%.*s%s", (int)strcspn(reader->api.repo->web + 8, "/") + 8,
                           reader->api.repo->web, url);
    reader->checks[reader->count++] = (struct check_view){
        .id = job != NULL ? job : arena_printf(arena, "%" PRId64, js_get_int(item, "id", 0)),
        .name = name,
        .state = state,
        .url = text_empty(url) ? NULL : url,
        .summary = host_text(arena, item, "description"),
        .started_us = host_time(item, "created_at"),
        .ended_us = state == CHECK_PENDING ? 0 : host_time(item, "updated_at"),
        .own = text_same(name, "drover"),
        .job = job != NULL};
    return true;
}

static enum rc read_statuses(struct check_reader *reader, const char *commit, struct err *err)
{
    reader->checks = arena_array(reader->arena, PR_CHECKS_MAX, sizeof *reader->checks);
    const struct host_list list = {.path = host_path(&reader->api, "/commits/%s/status?limit=50",
                                                     host_escaped(reader->arena, commit)),
                                   .items = "statuses",
                                   .each = add_status,
                                   .ctx = reader};
    return host_pages(&reader->api, &list, NULL, err);
}

static enum rc of_commit(struct forge_call *call, const char *url, const char *commit, bool jobs,
                         struct arena *arena, struct check_view **ret_checks, size_t *ret_count,
                         struct err *err)
{
    struct check_reader reader = {.arena = arena, .jobs = jobs};
    enum rc rc = gitea_open(call, url, arena, &reader.api, err);
    if (rc == RC_OK)
        rc = read_statuses(&reader, commit, err);
    if (rc != RC_OK)
        return rc;
    *ret_checks = reader.checks;
    *ret_count = reader.count;
    return RC_OK;
}

static enum rc gitea_of_commit(struct forge_call *call, const char *url, const char *commit,
                               struct arena *arena, struct check_view **ret_checks,
                               size_t *ret_count, struct err *err)
{
    return of_commit(call, url, commit, true, arena, ret_checks, ret_count, err);
}

static enum rc forgejo_of_commit(struct forge_call *call, const char *url, const char *commit,
                                 struct arena *arena, struct check_view **ret_checks,
                                 size_t *ret_count, struct err *err)
{
    return of_commit(call, url, commit, false, arena, ret_checks, ret_count, err);
}

/* ---- jobs ---- */

struct job {
    int64_t run, id;
    bool ended;
};

/* The job of a check, if the ids of its address are ids. */
static enum rc find_job(const struct host_api *api, const struct check_view *check,
                        struct job *ret_job, struct err *err)
{
    CLEANUP(rest_answer_release) struct rest_answer answer = {0};
    const char *slash = strchr(check->id, '/');
    int64_t run = 0, id = 0;
    const enum rc none = RC_NOT_FOUND;
    if (!check->job || slash == NULL || !text_to_i64(slash + 1, &id) ||
        !text_to_i64(arena_strndup(api->arena, check->id, (size_t)(slash - check->id)), &run))
        return err_set(err, none, "NO_JOB", "The status %.100s is no job of Actions.", check->name);
    enum rc rc = host_get(api, host_path(api, "/actions/jobs/%" PRId64, id), &answer, err);
    if (rc != RC_OK)
        return rc;
    const char *name = js_get_str(answer.document, "name", NULL);
    if (js_get_int(answer.document, "run_id", 0) != run || text_empty(name) ||
        strstr(check->name, name) == NULL)
        return err_set(err, none, "NO_JOB",
                       "Job %" PRId64 " is not %.100s.  Is this Gitea older than 1.26?  Then it is "
                       "forge: forgejo.",
                       id, check->name);
    *ret_job = (struct job){
        .run = run,
        .id = id,
        .ended = text_same(js_get_str(answer.document, "status", "completed"), "completed")};
    return RC_OK;
}

static enum rc gitea_log(struct forge_call *call, const char *url, const struct check_view *check,
                         struct buf *into, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct host_api api;
    struct job job;
    enum rc rc = gitea_open(call, url, &arena, &api, err);
    if (rc == RC_OK)
        rc = find_job(&api, check, &job, err);
    if (rc != RC_OK)
        return rc;
    return host_bytes(&api, host_path(&api, "/actions/jobs/%" PRId64 "/logs", job.id), into, err);
}

static enum rc gitea_rerun(struct forge_call *call, const char *url, const struct check_view *check,
                           struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct host_api api;
    struct job job;
    enum rc rc = gitea_open(call, url, &arena, &api, err);
    if (rc == RC_OK)
        rc = find_job(&api, check, &job, err);
    if (rc != RC_OK || !job.ended) /* It runs again already. */
        return rc;
    return host_send(
        &api, "POST",
        host_path(&api, "/actions/runs/%" PRId64 "/jobs/%" PRId64 "/rerun", job.run, job.id), NULL,
        NULL, err);
}

/* ---- drover's own ---- */

static const char *status_name(enum check_state state)
{
    static const char *const names[] = {
        [CHECK_PENDING] = "pending",   [CHECK_PASSED] = "success",  [CHECK_FAILED] = "failure",
        [CHECK_TIMED_OUT] = "failure", [CHECK_CANCELLED] = "error", [CHECK_BROKEN] = "error"};
    return names[state];
}

static bool has_own(const struct check_reader *reader, const struct forge_check *check,
                    const char *title)
{
    for (size_t i = 0; i < reader->count; i++) {
        const struct check_view *own = &reader->checks[i];
        if (text_same(own->name, check->name))
            return text_same(status_name(own->state), status_name(check->state)) &&
                   text_same(own->summary, title);
    }
    return false;
}

/* A status is never changed, only followed by another: the same is not put twice. */
static enum rc gitea_put(struct forge_call *call, const char *url, const struct forge_check *check,
                         struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(buf_release) struct buf body;
    struct check_reader reader = {.arena = &arena};
    const char *title = prose_line(&arena, check->title, DESCRIPTION_MAX);
    struct jw jw = host_body(&body);
    jw_kstr(&jw, "state", status_name(check->state));
    jw_kstr(&jw, "context", check->name);
    jw_kstr(&jw, "description", title);
    jw_optstr(&jw, "target_url", check->url);
    host_body_end(&jw);
    enum rc rc = gitea_open(call, url, &arena, &reader.api, err);
    if (rc == RC_OK)
        rc = read_statuses(&reader, check->commit, err);
    if (rc != RC_OK || has_own(&reader, check, title))
        return rc;
    return host_send(&reader.api, "POST",
                     host_path(&reader.api, "/statuses/%s", host_escaped(&arena, check->commit)),
                     &body, NULL, err);
}

const struct check_ops checks_gitea = {
    .of_commit = gitea_of_commit,
    .log = gitea_log,
    .rerun = gitea_rerun,
    .put = gitea_put,
};

const struct check_ops checks_forgejo = {
    .of_commit = forgejo_of_commit,
    .put = gitea_put,
};
