/*
 * job_run.c - decode, perform, report; and the one place that logs the end of a step.
 */
#include "work/job_run.h"
#include "base/log.h"
#include "core/text/redact.h"
#include "work/agent/scratch.h"
#include "work/job/repo_step.h"
#include "work/job/report.h"
#include "work/job/retry.h"
#include "work/job/step_secrets.h"
#include "work/tree/mirror.h"
#include <assert.h>

enum {
    AFTER_DEADLINE_MS = 30000, /* A step may use this much beyond the run's deadline, to report. */
    WAIT_MS_MIN = 1000,
    WAIT_MS_MAX = 2 * 3600 * 1000, /* A forge's window is an hour. */
};

struct work {
    const struct job_run *job_run;
    const struct step_row *row; /* NULL: not known (yet). */
    step_run_fn *run;
    struct step step;
    struct buf result;
    struct js *payload;
    int64_t begin_us;
};

static void work_release(struct work *work)
{
    buf_release(&work->result);
    js_free(work->payload);
}

static int64_t deadline_of(const struct step *step, const struct step_row *row)
{
    int64_t ms = repo_config_step_ms(&step->input.config, row);
    if (step->input.run_deadline_us > 0) {
        int64_t now_us = clock_now_us(&step->site->clock);
        int64_t left_ms = (step->input.run_deadline_us - now_us) / US_PER_MS;
        left_ms = (left_ms > 0 ? left_ms : 0) + AFTER_DEADLINE_MS;
        ms = left_ms < ms ? left_ms : ms;
    }
    return clock_mono_us() + ms * US_PER_MS;
}

/* Which step of its saga the job is for, or undoes. */
static void read_headers(struct work *work)
{
    CLEANUP(js_freep) struct js *headers = NULL;
    const struct str text = work->job_run->job->headers;
    struct arena *arena = work->step.arena;
    if (text.len == 0 || js_parse(text.at, text.len, &headers, NULL) != RC_OK)
        return;
    const char *step = js_get_str(headers, "step", NULL);
    work->step.input.saga_step = step != NULL ? arena_strdup(arena, step) : NULL;
}

/* RC_INVALID: no worker of this version can do this job, now or later. */
static enum rc decode(struct work *work, struct err *err)
{
    const struct port_job *job = work->job_run->job;
    work->row = step_find(job->type);
    work->run = work->row != NULL ? step_function(work->row->kind) : NULL;
    if (work->run == NULL)
        return err_set(err, RC_INVALID, "UNKNOWN_STEP", "There is no step called %.100s.",
                       job->type);
    enum rc rc = js_parse(job->payload.at, job->payload.len, &work->payload, err);
    if (rc == RC_OK && work->row->bare) {
        work->step.input.payload = work->payload;
        work->step.deadline_us = deadline_of(&work->step, work->row);
        return RC_OK;
    }
    if (rc == RC_OK)
        rc = step_decode(work->payload, work->step.arena, &work->step.input, err);
    if (rc != RC_OK)
        return rc;
    read_headers(work);
    step_place(&work->step);
    work->step.deadline_us = deadline_of(&work->step, work->row);
    return RC_OK;
}

/* What a run may use is known if its repository says so: the default is far above the usual. */
static enum rc check_disk(const struct work *work, struct err *err)
{
    const char *path = "config.agent.resources.diskBytes";
    struct disk *disk = work->job_run->disk;
    if (disk == NULL || !work->row->fills_disk)
        return RC_OK;
    return disk_check(disk, js_int(js_path(work->payload, path), 0), err);
}

static enum rc perform(struct work *work, struct err *err)
{
    const struct job_run *job_run = work->job_run;
    struct step *step = &work->step;
    enum rc rc = decode(work, err);
    if (rc != RC_OK)
        return step_fail(step, rc, err, (struct port_failure){.code = "payload_invalid"});
    rc = check_disk(work, err);
    if (rc != RC_OK)
        return rc;
    if (!job_run->may_begin(job_run->ctx, step, work->row))
        return err_set(err, RC_CANCELLED, "CANCELLED", "stopped before it began");
    rc = work->run(step, err);
    step_forge_close(step);
    scratch_close(step);
    if (rc == RC_IO && !work->row->bare && text_same(err->code, "GIT_FAILED") &&
        !text_same(step->failure.code, "repository_unreachable"))
        mirror_examine(step);
    if (rc != RC_OK) /* It goes into events. */
        text_copy(err->text, sizeof err->text,
                  redact_dup(step_secrets(step), err->text, step->arena));
    if (rc != RC_OK && step->failure.code == NULL && sandbox_is_unavailable(err))
        return step_fail(step, rc, err, (struct port_failure){0});
    if (rc == RC_OK && step->result->overflow) {
        rc = err_set(err, RC_TOO_LARGE, "RESULT_TOO_LARGE", "The result is larger than %d bytes.",
                     STEP_RESULT_MAX);
        return step_fail(step, rc, err, (struct port_failure){.code = "result_too_large"});
    }
    return rc;
}

static struct port_failure failure_of(const struct work *work, enum rc rc, const struct err *err)
{
    if (rc == RC_TIMEOUT)
        return (struct port_failure){.code = "step_timed_out", .message = err->text};
    if (work->step.failure.code != NULL)
        return work->step.failure;
    assert(work->row != NULL); /* Without one the payload was refused, with a code. */
    return (struct port_failure){.code = work->row->failure,
                                 .message = err->text[0] ? err->text : rc_name(rc),
                                 .retryable = retry_may_help(rc)};
}

/* Why a step waits and has not failed: a limit of the forge, a full disk, ports of others. */
static const char *wait_code(enum rc rc, const struct err *err)
{
    static const struct {
        const char *error, *code;
    } waits[] = {{"FORGE_LIMIT", "forge_limit"},
                 {"DISK_LOW", "disk_low"},
                 {"PORTS_TAKEN", "ports_taken"},
                 {"SCRATCH_FULL", "ports_taken"}};
    for (size_t i = 0; rc == RC_LIMIT && i < COUNT_OF(waits); i++) {
        if (text_same(err->code, waits[i].error))
            return waits[i].code;
    }
    return NULL;
}

static struct step_report put_off(const struct work *work, const struct err *err)
{
    int64_t ms = err->retry_ms < WAIT_MS_MIN ? WAIT_MS_MIN : err->retry_ms;
    const char *message = work->step.failure.message;
    return (struct step_report){
        .kind = STEP_PUT_OFF,
        .wait = {.ms = ms < WAIT_MS_MAX ? ms : WAIT_MS_MAX,
                 .code = wait_code(RC_LIMIT, err),
                 .message = message != NULL ? message : err->text},
    };
}

/* The table of job_run.h. */
static struct step_report report_of(const struct work *work, enum rc rc, const struct err *err)
{
    enum stop_reason reason = stop_asked(work->job_run->stop);
    if (reason == STOP_LOST)
        return (struct step_report){.kind = STEP_DISCARDED};
    if (rc == RC_OK)
        return (struct step_report){.kind = STEP_COMPLETED, .result = buf_str(&work->result)};
    switch (reason) {
    case STOP_SHUTDOWN:
        return (struct step_report){.kind = STEP_RELEASED};
    case STOP_CANCEL:
        return (struct step_report){
            .kind = STEP_FAILED,
            .failure = {.code = "cancelled", .message = "The step was cancelled."}};
    case STOP_TIMEOUT:
        return (struct step_report){
            .kind = STEP_FAILED,
            .failure = {.code = "step_timed_out", .message = "The step used up its time."}};
    case STOP_NONE:
    case STOP_LOST:
        break;
    }
    if (wait_code(rc, err) != NULL)
        return put_off(work, err);
    return (struct step_report){.kind = STEP_FAILED, .failure = failure_of(work, rc, err)};
}

static void log_report(const struct work *work, const struct step_report *report)
{
    static const struct {
        enum log_level level;
        const char *text;
    } lines[] = {
        [STEP_COMPLETED] = {LOG_DEBUG, "step done"},
        [STEP_FAILED] = {LOG_WARN, "step failed"},
        [STEP_RELEASED] = {LOG_INFO, "step given back"},
        [STEP_PUT_OFF] = {LOG_INFO, "step given back until later"},
        [STEP_DISCARDED] = {LOG_WARN, "lease lost: the work of a step is discarded"},
    };
    const struct port_failure *failure = &report->failure;
    bool waits = report->kind == STEP_PUT_OFF;
    LOG(lines[report->kind].level, lines[report->kind].text,
        LOG_STR("step", work->job_run->job->type), LOG_STR("jobId", work->job_run->job->id.text),
        LOG_STR("runId", work->step.input.run_id.text),
        LOG_INT("durationMs", (clock_mono_us() - work->begin_us) / US_PER_MS),
        LOG_STR("code", waits ? report->wait.code : failure->code),
        LOG_STR("error", waits ? report->wait.message : failure->message));
}

/* A job whose result the server refuses must not be retried for ever. */
static void refuse(const struct work *work, const struct report_route *route, const struct err *why)
{
    const struct step_report refused = {
        .kind = STEP_FAILED, .failure = {.code = "result_refused", .message = why->text}};
    struct err err = {0};
    if (report_send(route, &refused, &err) != RC_OK)
        LOG(LOG_ERROR, "the server takes neither result nor failure of a step",
            LOG_STR("jobId", work->job_run->job->id.text), LOG_STR("error", err.text));
}

static void send_report(const struct work *work, const struct step_report *report)
{
    const struct job_run *job_run = work->job_run;
    const struct report_route route = {
        .port = job_run->site->port,
        .lease = work->step.lease,
        .shutdown = job_run->shutdown,
        .next = job_run->next != NULL ? job_run->next(job_run->ctx) : NULL,
    };
    struct err err = {0};
    enum rc rc = report_send(&route, report, &err);
    if (rc == RC_OK)
        return;
    LOG(rc == RC_STALE ? LOG_WARN : LOG_ERROR, "the report of a step did not arrive",
        LOG_STR("step", work->job_run->job->type), LOG_STR("jobId", work->job_run->job->id.text),
        LOG_STR("outcome", rc_name(rc)), LOG_STR("error", err.text));
    if (report->kind == STEP_COMPLETED && rc != RC_STALE && !retry_may_help(rc))
        refuse(work, &route, &err);
}

void job_run_execute(const struct job_run *job_run)
{
    CLEANUP(work_release)
    struct work work = {
        .job_run = job_run,
        .step = {.site = job_run->site,
                 .lease = {.id = job_run->job->id, .epoch = job_run->job->epoch},
                 .arena = job_run->arena,
                 .stop = job_run->stop,
                 .steer = job_run->steer,
                 .deadline_us = INT64_MAX},
        .begin_us = clock_mono_us(),
    };
    buf_init(&work.result, STEP_RESULT_MAX);
    work.step.result = &work.result;
    struct err err = {0};
    enum rc rc = perform(&work, &err);
    struct step_report report = report_of(&work, rc, &err);
    log_report(&work, &report);
    send_report(&work, &report);
}
