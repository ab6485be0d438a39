/*
 * runs.c - queries about runs and events.
 */
#include "api/event_params.h"
#include "api/listing.h"
#include "api/routes.h"
#include "api/shapes.h"
#include "core/event.h"
#include "core/run/timeline.h"
#include "store/events.h"
#include "store/run_diagnostics.h"

enum { REPOSITORY_NAME_MAX = 200, TIMELINE_EVENTS_MAX = 20000 };

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

/* What its diagnostic events added up to, once they were deleted after their time. */
static enum rc write_diagnostics(struct call *call, struct db *db, const struct id *run_id,
                                 struct jw *jw, struct err *err)
{
    struct run_diagnostics_row row;
    enum rc rc = run_diagnostics_get(db, run_id, &call->http.arena, &row, err);
    if (rc == RC_OK)
        jw_kraw(jw, "expiredDiagnostics", row.sums);
    return rc == RC_NOT_FOUND ? RC_OK : rc;
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
    if (rc == RC_OK)
        rc = write_diagnostics(call, db, &run.id, &jw, err);
    jw_end(&jw, '}');
    return rc;
}

static void read_filter(struct params *params, struct run_filter *filter)
{
    const char *status = NULL;
    enum run_status parsed = RUN_QUEUED;
    params_text(params, "repository", REPOSITORY_NAME_MAX, &filter->repository);
    params_id(params, "taskId", &filter->task_id);
    params_text(params, "status", 40, &status);
    if (status != NULL && !run_status_parse(status, &parsed))
        params_fail(params, "status", "%.40s is not a status of a run", status);
    if (status != NULL)
        filter->status = (int)parsed;
}

enum rc api_run_list(struct call *call, struct db *db, struct err *err)
{
    struct listing list;
    struct run_row *rows = NULL;
    listing_open(&list, call, CURSOR_ID, err);
    struct run_filter filter = {
        .status = -1, .before = list.before, .limit = list.query_limit, .scan = &list.scan};
    read_filter(&list.params, &filter);
    enum rc rc = listing_begin(&list);
    if (rc == RC_OK)
        rc = runs_list(db, &filter, list.arena, &rows, &list.count, err);
    for (size_t i = 0; rc == RC_OK && listing_shows(&list, i); i++) {
        rc = write_run_open(call, db, &rows[i], &list.jw, err);
        jw_end(&list.jw, '}');
        list.last = rows[i].id.text;
    }
    return listing_end(&list, rc);
}

enum rc api_run_artifacts(struct call *call, struct db *db, struct err *err)
{
    struct listing list;
    struct run_row run;
    struct artifact_row *rows = NULL;
    listing_open(&list, call, CURSOR_NONE, err);
    enum rc rc = listing_begin(&list);
    if (rc == RC_OK)
        rc = find_run(call, db, &run, err);
    if (rc == RC_OK)
        rc = artifacts_of_run(db, &run.id, list.arena, &rows, &list.count, err);
    for (size_t i = 0; rc == RC_OK && listing_shows(&list, i); i++)
        shape_artifact(&list.jw, &rows[i]);
    return listing_end(&list, rc);
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

static void read_event_filter(struct listing *list, struct event_filter *filter)
{
    struct event_selector *selector = arena_array(list->arena, 1, sizeof *selector);
    event_params_read(&list->params, list->arena, selector);
    filter->selector = selector;
    params_time(&list->params, "since", &filter->since_us);
    params_time(&list->params, "until", &filter->until_us);
}

/* Reads and writes the page of a listing that has begun. */
static enum rc list_events(struct listing *list, struct db *db, struct event_filter *filter,
                           struct err *err)
{
    struct event *events = NULL;
    filter->after_seq = list->after_seq;
    filter->limit = list->query_limit;
    filter->scan = &list->scan;
    enum rc rc = events_list(db, filter, list->arena, &events, &list->count, err);
    for (size_t i = 0; rc == RC_OK && listing_shows(list, i); i++) {
        event_write(&list->jw, &events[i]);
        list->last_number = events[i].seq;
    }
    return listing_end(list, rc);
}

enum rc api_run_events(struct call *call, struct db *db, struct err *err)
{
    struct listing list;
    struct event_filter filter = {.with_task = true};
    struct run_row run;
    listing_open(&list, call, CURSOR_SEQ, err);
    read_event_filter(&list, &filter);
    enum rc rc = listing_begin(&list);
    if (rc == RC_OK)
        rc = find_run(call, db, &run, err);
    if (rc != RC_OK)
        return rc;
    filter.run_id = run.id;
    return list_events(&list, db, &filter, err);
}

enum rc api_event_list(struct call *call, struct db *db, struct err *err)
{
    struct listing list;
    struct event_filter filter = {0};
    listing_open(&list, call, CURSOR_SEQ, err);
    read_event_filter(&list, &filter);
    event_params_owner(&list.params, &filter.run_id, &filter.task_id);
    enum rc rc = listing_begin(&list);
    return rc == RC_OK ? list_events(&list, db, &filter, err) : rc;
}

/* The catalogue: it is part of the program. */
void api_event_types(struct call *call)
{
    const struct event_type *entry;
    struct jw jw = call_answer(call, 200);
    jw_begin(&jw, '{');
    jw_key(&jw, "items");
    jw_begin(&jw, '[');
    for (size_t i = 0; (entry = event_type_at(i)) != NULL; i++) {
        jw_begin(&jw, '{');
        jw_kstr(&jw, "type", entry->type);
        jw_kstr(&jw, "severity", severity_name(entry->severity));
        jw_kstr(&jw, "context", event_context_name(entry->context));
        jw_kint(&jw, "version", entry->version);
        jw_kstr(&jw, "meaning", entry->meaning);
        jw_end(&jw, '}');
    }
    jw_end(&jw, ']');
    jw_kstr(&jw, "cursor", NULL);
    jw_end(&jw, '}');
}
