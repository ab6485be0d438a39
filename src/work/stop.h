/*
 * stop.h - the wish that a step should end, told by any thread, heard by the one that works.
 *
 * The flag is for looking at, the descriptor for waiting on.  The first reason wins.
 */
#ifndef WORK_STOP_H
#define WORK_STOP_H
#include "base/rc.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum stop_reason {
    STOP_NONE,
    STOP_CANCEL,   /* The server wants this job stopped. */
    STOP_LOST,     /* The lease belongs to somebody else: nothing that we say counts. */
    STOP_SHUTDOWN, /* The worker ends: the job goes back in good order. */
    STOP_TIMEOUT,  /* The step has used up its time. */
};

struct stop {
    atomic_int reason; /* enum stop_reason. */
    int event_fd;      /* Readable once asked. */
};

MUST_USE enum rc stop_init(struct stop *stop, struct err *err);
void stop_release(struct stop *stop);
void stop_ask(struct stop *stop, enum stop_reason reason);
enum stop_reason stop_asked(const struct stop *stop);
/* Waits for that long, or until somebody asks: then it says true. */
bool stop_wait(const struct stop *stop, int64_t ms);
/* For the next job.  Nobody may be asking meanwhile. */
void stop_reset(struct stop *stop);
#endif
