/*
 * progress.h - what an agent does, reported to the server while it happens, in batches.
 *
 * At most one call every PROGRESS_EVERY_MS with at most PROGRESS_EVENTS_MAX events of together
 * PROGRESS_BYTES_MAX bytes.  Events beyond that are dropped and counted; the next batch has their
 * number.  Turns add up, so only the latest sum waits: none is lost.
 */
#ifndef WORK_JOB_PROGRESS_H
#define WORK_JOB_PROGRESS_H
#include "base/buf.h"
#include "base/rc.h"
#include "work/job/port.h"
#include "work/job/steer.h"
#include "work/job/stop.h"
#include <stdbool.h>
#include <stdint.h>

enum {
    PROGRESS_EVERY_MS = 250,
    PROGRESS_RETRY_MS = 1000,
    PROGRESS_EVENTS_MAX = 100,
    PROGRESS_BYTES_MAX = 48 * 1024,
};

/* What the agent has used up to now. */
struct usage {
    int64_t turns;
    int64_t input_tokens; /* Those from a cache among them. */
    int64_t cached_input_tokens, output_tokens;
    double cost_usd;
    char model[100];
};

struct progress {
    struct port *port;
    struct port_ref lease;
    const struct secrets *secrets; /* Kept out of all events; NULL: there are none. */
    struct stop *stop;             /* Requested when the server answers cancel or lost. */
    struct steer *steer;           /* Gets what the server answers; or NULL. */
    struct buf events;             /* JSON objects with commas between. */
    int64_t count, dropped;
    struct usage turn; /* Not sent yet when turn_waits. */
    bool turn_waits;
    int64_t next_us; /* By clock_mono_us: not before. */
};

void progress_init(struct progress *progress, struct port *port, const struct port_ref *lease,
                   struct stop *stop);
void progress_release(struct progress *progress);
/* data: a JSON object.  False: there is no room, it was dropped. */
bool progress_add(struct progress *progress, const char *type, struct str data);
void progress_turn(struct progress *progress, const struct usage *usage);
/* Sends what waits when it is time; returns the time of the next tick, INT64_MAX when none is
   due. */
int64_t progress_tick(struct progress *progress, int64_t now_us);
/* Sends what waits, now. */
void progress_flush(struct progress *progress);
/* The same at the end of the work, with a few more tries: what is not sent then is lost. */
void progress_finish(struct progress *progress);
#endif
