/*
 * runs.c - queries about runs and events.
 */
#include "api/cursor.h"
#include "api/routes.h"
#include "api/shapes.h"
#include "core/event.h"
#include "core/run/timeline.h"
#include "store/events.h"
#include <inttypes.h>

enum { REPOSITORY_NAME_MAX = 200, EVENT_TYPE_MAX = 100, TIMELINE_EVENTS_MAX = 20000 };

/* ---- Runs ---- */

/* The run with its repository's name and its pull request; the object is left open. */
static enum rc write_run_open(struct call *call, struct db *db, const struct run_row *run,
                              struct jw *jw, struct err *err)
{
    struct arena *arena = &call->http.arena;
    struct repository_row repository;
    struct pull_request_row pull_request;
    struct run_extras extras = {0};
    enum rc rc = repositories_get(db, &run->repository_id, arena, &repository, err);
    if (rc != RC_OK)
        return rc;
    extras.repository = repository.name;
    if (!id_is_none(&run->pull_request_id)) {
        rc = pull_requests_get(db, &run->pull_request_id, arena, &pull_request, err);
        if (rc != RC_OK)
            return rc;
        extras.pull_request = &pull_request;
    }
    shape_run_open(jw, run, &extras);
    return RC_OK;
}

static enum rc write_patches(struct call *call, struct db *db, const struct id *run_id,
                             struct jw *jw, struct err *err)
{
    struct patch_row *patches = NULL;
    size_t count = 0;
    enum rc rc = patches_of_run(db, run_id, &call->http.arena, &patches, &count, err);
    jw_key(jw, "patches");
    jw_begin(jw, '[');
    for (size_t i = 0; rc == RC_OK && i < count; i++)
        shape_patch(jw, &patches[i]);
    jw_end(jw, ']');
    return rc;
}

static enum rc write_verifications(struct call *call, struct db *db, const struct id *run_id,
                                   struct jw *jw, struct err *err)
{
    struct verification_row *rows = NULL;
    size_t count = 0;
    enum rc rc = verifications_of_run(db, run_id, &call->http.arena, &rows, &count, err);
    jw_key(jw, "verifications");
    jw_begin(jw, '[');
    for (size_t i = 0; rc == RC_OK && i < count; i++)
        shape_verification(jw, &rows[i]);
    jw_end(jw, ']');
    return rc;
}

/* The run that the path names. */
static enum rc find_run(struct call *call, struct db *db, struct run_row *ret_run, struct err *err)
{
    struct id id;
    enum rc rc = call_id(call, 0, &id, err);
    return rc == RC_OK ? runs_get(db, &id, &call->http.arena, ret_run, err) : rc;
}

enum rc api_run_get(struct call *call, struct db *db, struct err *err)
{
    struct run_row run;
    enum rc rc = call_no_params(call, err);
    if (rc == RC_OK)
        rc = find_run(call, db, &run, err);
    if (rc != RC_OK)
        return rc;
    struct jw jw = call_answer(call, 200);
    rc = write_run_open(call, db, &run, &jw, err);
    if (rc == RC_OK)
        rc = write_patches(call, db, &run.id, &jw, err);
    if (rc == RC_OK)
        rc = write_verifications(call, db, &run.id, &jw, err);
    jw_end(&jw, '}');
    return rc;
}

static enum rc run_filter(struct call *call, struct run_filter *filter, struct page *page,
                          struct err *err)
{
    struct params params;
    enum rc rc = call_params(call, &params, err);
    if (rc != RC_OK)
        return rc;
    const char *status = NULL;
    enum run_status parsed = RUN_QUEUED;
    *page = call_page(call, &params);
    *filter = (struct run_filter){
        .status = -1, .before = page->before, .limit = page->limit + 1, .scan = &page->scan};
    params_text(&params, "repository", REPOSITORY_NAME_MAX, &filter->repository);
    params_id(&params, "taskId", &filter->task_id);
    params_text(&params, "status", 40, &status);
    if (status && !run_status_parse(status, &parsed))
        params_fail(&params, "status", "%.40s is not a status of a run", status);
    if (status)
        filter->status = (int)parsed;
    return params_end(&params);
}

enum rc api_run_list(struct call *call, struct db *db, struct err *err)
{
    struct run_filter filter;
    struct page page;
    struct run_row *runs = NULL;
    size_t count = 0;
    enum rc rc = run_filter(call, &filter, &page, err);
    if (rc == RC_OK)
        rc = runs_list(db, &filter, &call->http.arena, &runs, &count, err);
    if (rc != RC_OK)
        return rc;
    struct jw jw = call_list_begin(call);
    size_t shown = page_rows(&page, count);
    for (size_t i = 0; rc == RC_OK && i < shown; i++) {
        rc = write_run_open(call, db, &runs[i], &jw, err);
        jw_end(&jw, '}');
    }
    call_list_end(&jw, call_next_id(call, &page, count, shown ? &runs[shown - 1].id : NULL));
    return rc;
}

enum rc api_run_artifacts(struct call *call, struct db *db, struct err *err)
{
    struct run_row run;
    struct artifact_row *artifacts = NULL;
    size_t count = 0;
    enum rc rc = call_no_params(call, err);
    if (rc == RC_OK)
        rc = find_run(call, db, &run, err);
    if (rc == RC_OK)
        rc = artifacts_of_run(db, &run.id, &call->http.arena, &artifacts, &count, err);
    if (rc != RC_OK)
        return rc;
    struct jw jw = call_list_begin(call);
    for (size_t i = 0; i < count; i++)
        shape_artifact(&jw, &artifacts[i]);
    call_list_end(&jw, NULL);
    return RC_OK;
}

enum rc api_run_timeline(struct call *call, struct db *db, struct err *err)
{
    struct run_row run;
    struct event *events = NULL;
    size_t count = 0;
    enum rc rc = call_no_params(call, err);
    if (rc == RC_OK)
        rc = find_run(call, db, &run, err);
    if (rc != RC_OK)
        return rc;
    struct event_filter filter = {
        .run_id = run.id, .with_task = true, .limit = TIMELINE_EVENTS_MAX};
    rc = events_list(db, &filter, &call->http.arena, &events, &count, err);
    if (rc != RC_OK)
        return rc;
    struct timeline timeline;
    timeline_build(events, count, &call->http.arena, &timeline);
    struct jw jw = call_answer(call, 200);
    timeline_write(&jw, &timeline);
    return RC_OK;
}

/* ---- Events ---- */

/* ?limit= and ?cursor= of a listing by place in the log, oldest first. */
static int64_t event_page(struct call *call, struct params *params, int64_t *ret_after)
{
    int64_t limit = PAGE_LIMIT_DEFAULT;
    const char *cursor = NULL, *key = NULL;
    params_int(params, "limit", &(struct param_range){1, PAGE_LIMIT_MAX}, &limit);
    params_text(params, "cursor", CURSOR_TEXT_MAX, &cursor);
    if (cursor && (!cursor_decode(CURSOR_SEQ, cursor, &call->http.arena, &key) ||
                   !text_to_i64(key, ret_after) || *ret_after < 0))
        params_fail(params, "cursor", "cursor is not one that this listing has given");
    return limit;
}

static void event_filters(struct params *params, struct event_filter *filter)
{
    params_text(params, "type", EVENT_TYPE_MAX, &filter->type_pattern);
    params_time(params, "since", &filter->since_us);
    params_time(params, "until", &filter->until_us);
}

static enum rc list_events(struct call *call, struct db *db, const struct event_filter *wanted,
                           struct err *err)
{
    struct event *events = NULL;
    size_t count = 0;
    struct page page = {.limit = wanted->limit};
    struct event_filter filter = *wanted;
    page.scan.rows_max = SCAN_ROWS_MAX;
    filter.limit++;
    filter.scan = &page.scan;
    enum rc rc = events_list(db, &filter, &call->http.arena, &events, &count, err);
    if (rc != RC_OK)
        return rc;
    size_t shown = page_rows(&page, count);
    struct jw jw = call_list_begin(call);
    for (size_t i = 0; i < shown; i++)
        event_write(&jw, &events[i]);
    int64_t next = count > shown ? events[shown - 1].seq : page.scan.end_seq;
    const char *key = arena_printf(&call->http.arena, "%" PRId64, next);
    call_list_end(&jw, next > 0 ? cursor_encode(CURSOR_SEQ, key, &call->http.arena) : NULL);
    return RC_OK;
}

enum rc api_run_events(struct call *call, struct db *db, struct err *err)
{
    struct params params;
    struct run_row run;
    enum rc rc = call_params(call, &params, err);
    if (rc != RC_OK)
        return rc;
    struct event_filter filter = {.with_task = true};
    filter.limit = event_page(call, &params, &filter.after_seq);
    event_filters(&params, &filter);
    rc = params_end(&params);
    if (rc == RC_OK)
        rc = find_run(call, db, &run, err);
    if (rc != RC_OK)
        return rc;
    filter.run_id = run.id;
    return list_events(call, db, &filter, err);
}

enum rc api_event_list(struct call *call, struct db *db, struct err *err)
{
    struct params params;
    enum rc rc = call_params(call, &params, err);
    if (rc != RC_OK)
        return rc;
    struct event_filter filter = {0};
    filter.limit = event_page(call, &params, &filter.after_seq);
    event_filters(&params, &filter);
    params_id(&params, "runId", &filter.run_id);
    params_id(&params, "taskId", &filter.task_id);
    if (!id_is_none(&filter.run_id) && !id_is_none(&filter.task_id))
        params_fail(&params, "taskId", "give runId or taskId, not both");
    rc = params_end(&params);
    return rc == RC_OK ? list_events(call, db, &filter, err) : rc;
}
