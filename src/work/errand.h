/*
 * errand.h - one leased job from its payload to its report.
 *
 * How a step ends, and what the server is told:
 *     it returned RC_OK      complete
 *     stopped: cancel        fail, code cancelled         stopped: time     fail, step_timed_out
 *     stopped: shutdown      release                      stopped: lost     nothing
 *     it failed              fail, with the code of the step
 */
#ifndef WORK_ERRAND_H
#define WORK_ERRAND_H
#include "work/step.h"

struct errand {
    const struct step_site *site;
    const struct port_job *job;
    struct arena *arena;
    struct stop *stop;           /* Of this job. */
    const struct stop *shutdown; /* Of the worker: then reports are no longer tried for long. */
    /* Called when the payload is understood; false: asked to stop before it could begin. */
    bool (*may_begin)(void *ctx, const struct step *step, const struct step_kind *kind);
    /* NULL, or called when the step is done: the job that is wanted next, or NULL. */
    struct port_next *(*next)(void *ctx);
    void *ctx;
};

void errand_run(const struct errand *errand);
#endif
