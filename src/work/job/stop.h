/*
 * stop.h - a request that a step ends, made by any thread, read by the thread that runs the step.
 *
 * The flag is for checks, the descriptor for poll.  The first reason wins.
 */
#ifndef WORK_JOB_STOP_H
#define WORK_JOB_STOP_H
#include "base/rc.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum stop_reason {
    STOP_NONE,
    STOP_CANCEL,   /* The server wants this job stopped. */
    STOP_LOST,     /* The lease is lost: the server refuses all reports of this job. */
    STOP_SHUTDOWN, /* The worker ends: the job is released. */
    STOP_TIMEOUT,  /* The step has used up its time. */
};

struct stop {
    atomic_int reason; /* enum stop_reason. */
    int event_fd;      /* Readable once requested. */
};

MUST_USE enum rc stop_init(struct stop *stop, struct err *err);
void stop_release(struct stop *stop);
void stop_ask(struct stop *stop, enum stop_reason reason);
enum stop_reason stop_asked(const struct stop *stop);
/* Waits for that long, or until a stop is requested: then it returns true. */
bool stop_wait(const struct stop *stop, int64_t ms);
/* For the next job.  No thread may call stop_ask meanwhile. */
void stop_reset(struct stop *stop);
#endif
