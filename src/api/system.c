/*
 * system.c - the server about itself: health, version, metrics, doctor; jobs as they are.
 */
#include "api/doctor_disk.h"
#include "api/doctor_forge.h"
#include "api/doctor_syncs.h"
#include "api/forge_access.h"
#include "api/listing.h"
#include "api/metrics.h"
#include "api/origins.h"
#include "api/routes.h"
#include "api/shapes.h"
#include "control/watch/doctor.h"
#include "control/watch/doctor_log.h"
#include "control/watch/doctor_metrics.h"
#include "store/events.h"
#include "work/tree/rescue.h"

enum { QUEUE_NAME_MAX = 100, JOB_TYPE_MAX = 200, STATE_MAX = 40 };

/* ---- The server ---- */

void api_health(struct call *call)
{
    struct jw jw = call_answer(call, 200);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "status", "ok");
    jw_end(&jw, '}');
}

/* Late timers do not make a node unready: all nodes would be unready, and no node would get the
   requests that they can answer. */
static void write_timers(struct jw *jw, struct control *control)
{
    struct timers_state state;
    control_timers(control, &state);
    jw_key(jw, "timers");
    jw_begin(jw, '{');
    if (state.holder[0] != '\0')
        jw_kstr(jw, "node", state.holder);
    jw_kbool(jw, "here", state.here);
    if (state.since_us > 0)
        jw_ktime(jw, "since", state.since_us);
    jw_kint(jw, "lagMs", state.lag_us / US_PER_MS);
    jw_end(jw, '}');
}

enum rc api_ready(struct call *call, struct db *db, struct err *err)
{
    int64_t seq = 0;
    enum rc rc = events_last_seq(db, &seq, err);
    if (rc != RC_OK)
        return rc;
    if (http_draining(call->api->http))
        return err_set(err, RC_BUSY, "STOPPING", "the server is stopping");
    struct committer_stats stats;
    committer_stats(control_committer(call->api->control), &stats);
    if (stats.queue_length >= call->api->command_queue_max)
        return err_set(err, RC_BUSY, "NOT_ACCEPTING", "as many commands wait as may wait");
    struct jw jw = call_answer(call, 200);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "status", "ready");
    write_timers(&jw, call->api->control);
    jw_end(&jw, '}');
    return RC_OK;
}

void api_version(struct call *call)
{
    struct err err = {0};
    enum rc rc = call_no_params(call, &err);
    if (rc != RC_OK) {
        call_fail(call, rc, &err);
        return;
    }
    struct jw jw = call_answer(call, 200);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "version", DROVER_VERSION);
    jw_kint(&jw, "schemaVersion", store_schema_version());
    jw_kstr(&jw, "store", store_durability(call->api->store));
    jw_kstr(&jw, "node", control_node(call->api->control));
    jw_end(&jw, '}');
}

enum rc api_metrics(struct call *call, struct db *db, struct err *err)
{
    enum rc rc = call_no_params(call, err);
    if (rc != RC_OK)
        return rc;
    call->http.answer.content_type = "text/plain; version=0.0.4; charset=utf-8";
    return metrics_write(call->api, db, &call->http.arena, &call->http.answer.body, err);
}

/* ?all=true: the whole history as well, which may take minutes. */
static enum rc read_all(struct call *call, bool *ret_all, struct err *err)
{
    static const char *const names[] = {"true", "false", NULL};
    struct params params;
    const char *all = NULL;
    enum rc rc = call_params(call, &params, err);
    if (rc != RC_OK)
        return rc;
    params_choice(&params, "all", names, &all);
    *ret_all = text_same(all, "true");
    return params_end(&params);
}

static enum rc examine_history(struct db *db, struct doctor_report *report, struct arena *arena,
                               struct err *err)
{
    struct doctor_check history, metrics;
    enum rc rc = doctor_history(db, arena, &history, err);
    if (rc == RC_OK)
        rc = doctor_metrics(db, arena, &metrics, err);
    if (rc != RC_OK)
        return rc;
    doctor_add(report, &history, arena);
    doctor_add(report, &metrics, arena);
    return RC_OK;
}

enum rc api_doctor(struct call *call, struct db *db, struct err *err)
{
    bool all = false;
    struct arena *arena = &call->http.arena;
    struct doctor_report report;
    struct origins_report *origins = arena_alloc(arena, sizeof *origins);
    enum rc rc = read_all(call, &all, err);
    if (rc == RC_OK)
        rc = doctor_examine(db, arena, &report, err);
    if (rc == RC_OK && all)
        rc = examine_history(db, &report, arena, err);
    if (rc == RC_OK)
        rc = origins_examine(call->api, db, arena, origins, err);
    if (rc != RC_OK)
        return rc;
    rc = doctor_forge_add(call, db, &report, err);
    if (rc == RC_OK)
        rc = doctor_syncs_add(call, db, &report, err);
    if (rc != RC_OK)
        return rc;
    const struct doctor_check strays = origins_check(origins, arena);
    doctor_add(&report, &strays, arena);
    const char *work = arena_printf(&call->http.arena, "%s/work", call->api->data_dir);
    report.kept_trees = rescue_count_kept(work);
    report.kept_path = arena_printf(&call->http.arena, "%s/kept", work);
    struct forge_limit_row *limits = NULL;
    size_t limit_count = 0;
    rc = forge_limits_list(db, arena, &limits, &limit_count, err);
    if (rc != RC_OK)
        return rc;
    struct jw jw = call_answer(call, 200);
    doctor_write_open(&jw, &report);
    origins_write(&jw, origins);
    jw_key(&jw, "forgeLimits");
    forge_limits_write(&jw, limits, limit_count);
    rc = doctor_disk_write(call, db, &jw, err);
    jw_end(&jw, '}');
    return rc;
}

/* ---- Jobs ---- */

enum rc api_job_get(struct call *call, struct db *db, struct err *err)
{
    struct id id;
    struct job_row job;
    struct attempt_row *attempts = NULL;
    size_t count = 0;
    struct arena *arena = &call->http.arena;
    enum rc rc = call_no_params(call, err);
    if (rc == RC_OK)
        rc = call_id(call, 0, &id, err);
    if (rc == RC_OK)
        rc = jobs_get(db, &id, arena, &job, err);
    if (rc == RC_OK)
        rc = attempts_list(db, &id, arena, &attempts, &count, err);
    if (rc != RC_OK)
        return rc;
    struct jw jw = call_answer(call, 200);
    shape_job_open(&jw, &job);
    shape_payload(&jw, &job, call->who.role);
    if (job.headers.len > 0)
        jw_kraw(&jw, "headers", job.headers);
    jw_kraw(&jw, "result", job.result);
    shape_attempts(&jw, attempts, count);
    jw_end(&jw, '}');
    return RC_OK;
}

static void read_filter(struct params *params, struct job_filter *filter)
{
    const char *state = NULL;
    enum job_state parsed = JOB_SCHEDULED;
    params_text(params, "queue", QUEUE_NAME_MAX, &filter->queue);
    params_text(params, "type", JOB_TYPE_MAX, &filter->type);
    params_id(params, "runId", &filter->run_id);
    params_text(params, "state", STATE_MAX, &state);
    if (state != NULL && !job_state_parse(state, &parsed))
        params_fail(params, "state", "%.40s is not a state of a job", state);
    if (state != NULL)
        filter->state = (int)parsed;
}

enum rc api_job_list(struct call *call, struct db *db, struct err *err)
{
    struct listing list;
    struct job_row *rows = NULL;
    listing_open(&list, call, CURSOR_ID, err);
    struct job_filter filter = {
        .state = -1, .before = list.before, .limit = list.query_limit, .scan = &list.scan};
    read_filter(&list.params, &filter);
    enum rc rc = listing_begin(&list);
    if (rc == RC_OK)
        rc = jobs_list(db, &filter, list.arena, &rows, &list.count, err);
    for (size_t i = 0; rc == RC_OK && listing_shows(&list, i); i++) {
        shape_job_open(&list.jw, &rows[i]);
        jw_end(&list.jw, '}');
        list.last = rows[i].id.text;
    }
    return listing_end(&list, rc);
}
