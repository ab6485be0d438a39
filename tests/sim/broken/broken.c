/*
 * broken.c - the simulator with one invariant broken on purpose, to see that it is caught.
 *
 * Linked in front of production functions (ld --wrap); SIM_BREAK says which one lies:
 *
 *   fencing      reports of any epoch are taken
 *   limits       everything may start at once
 *   lost_job     now and then a job is not stored
 *   lost_event   now and then an event is not stored
 *   lost_timer   now and then a lease that ran out is not noticed, for good
 */
#include "core/admission.h"
#include "core/job.h"
#include "store/events.h"
#include "store/jobs.h"
#include <stdlib.h>
#include <string.h>

enum rc __real_job_step(const struct job_life *job, const struct job_input *in,
                        struct job_life *ret_next);
enum rc __wrap_job_step(const struct job_life *job, const struct job_input *in,
                        struct job_life *ret_next);
const char *__real_admission_start(const struct active_counts *counts);
const char *__wrap_admission_start(const struct active_counts *counts);
enum rc __real_jobs_insert(struct db *db, const struct job_row *row, struct err *err);
enum rc __wrap_jobs_insert(struct db *db, const struct job_row *row, struct err *err);
enum rc __real_events_append(struct db *db, const struct event *event, struct err *err);
enum rc __wrap_events_append(struct db *db, const struct event *event, struct err *err);

enum { NOW_AND_THEN = 500 };

static bool breaks(const char *what)
{
    const char *wish = getenv("SIM_BREAK");
    return wish != NULL && strcmp(wish, what) == 0;
}

static bool now_and_then(void)
{
    static int calls;
    return ++calls % NOW_AND_THEN == 0;
}

enum rc __wrap_job_step(const struct job_life *job, const struct job_input *in,
                        struct job_life *ret_next)
{
    struct job_input lie = *in;
    if (breaks("fencing") && job->state == JOB_LEASED)
        lie.epoch = job->epoch;
    if (breaks("lost_timer") && in->event == JOB_EV_EXPIRE && now_and_then()) {
        *ret_next = *job;
        ret_next->due_us = INT64_MAX / 2;
        return RC_OK;
    }
    return __real_job_step(job, &lie, ret_next);
}

const char *__wrap_admission_start(const struct active_counts *counts)
{
    return breaks("limits") ? NULL : __real_admission_start(counts);
}

enum rc __wrap_jobs_insert(struct db *db, const struct job_row *row, struct err *err)
{
    return breaks("lost_job") && now_and_then() ? RC_OK : __real_jobs_insert(db, row, err);
}

enum rc __wrap_events_append(struct db *db, const struct event *event, struct err *err)
{
    if (breaks("lost_event") && now_and_then())
        return RC_OK;
    return __real_events_append(db, event, err);
}
