/*
 * job_run.h - one leased job from its payload to its report.
 *
 * How a step ends, and what is reported to the server:
 *     it returned RC_OK      complete
 *     stopped: cancel        fail, code cancelled         stopped: time     fail, step_timed_out
 *     stopped: shutdown      release                      stopped: lost     nothing
 *     it failed              fail, with the code of the step
 */
#ifndef WORK_JOB_RUN_H
#define WORK_JOB_RUN_H
#include "work/job/disk.h"
#include "work/job/step.h"

struct job_run {
    const struct step_site *site;
    const struct port_job *job;
    struct arena *arena;
    struct stop *stop;           /* Of this job. */
    struct steer *steer;         /* The same; NULL: it cannot be steered. */
    struct disk *disk;           /* Of the worker; NULL: it does not count. */
    const struct stop *shutdown; /* Of the worker: then reports are retried only briefly. */
    /* Called when the payload is decoded; false: a stop was requested before it could begin. */
    bool (*may_begin)(void *ctx, const struct step *step, const struct step_row *row);
    /* NULL, or called when the step is done: the job that is wanted next, or NULL. */
    struct port_next *(*next)(void *ctx);
    void *ctx;
};

void job_run_execute(const struct job_run *job_run);
#endif
