/*
 * consumer.h - runs a command for every job of a queue.
 *
 * Jobs are leased ahead, up to held_max; slots run the command for them, with the payload as its
 * input; how it ends decides the outcome of the job (outcome.h).  Leases are renewed until the end
 * is reported to the server.  A lease that is lost ends the command, and its whole process group.
 */
#ifndef WORK_CONSUMER_H
#define WORK_CONSUMER_H
#include "base/id.h"
#include "base/rc.h"
#include "work/job/port_http.h"
#include "work/job/report.h"
#include <stdbool.h>
#include <stdint.h>

enum { CONSUMER_SLOTS_MAX = 256, CONSUMER_HELD_MAX = 1000 };

struct consumer; /* Owned by its starter. */

/* Jobs that the consumer has dealt with, and those it deals with now. */
struct consumer_counts {
    int64_t running, waiting;
    int64_t done, failed, returned, lost;
};

/* One job has ended here; or, without a job, only a text or the counts are reported. */
struct consumer_news {
    const struct port_job *job; /* or NULL */
    const struct step_report *report;
    int64_t took_us;
    const char *text; /* Without a job: what is wrong with the server, or right again; or NULL. */
    struct consumer_counts counts;
};

struct consumer_options {
    struct port_http *port;
    const char *queue;
    const char *name;        /* Of this consumer, as the server lists it. */
    const char *const *argv; /* The command, NULL-terminated. */
    int slots;               /* Commands at the same time, up to CONSUMER_SLOTS_MAX. */
    int held_max;            /* Jobs on lease at the same time, at least one for each slot. */
    int64_t lease_ms;
    int64_t timeout_ms; /* Of one command; 0: none. */
    int64_t count;      /* Ends after so many jobs; 0: no limit. */
    bool drain;         /* Ends when no job can be leased and none is held. */
    /* Called by any thread, one at a time. */
    void (*notify)(void *ctx, const struct consumer_news *news);
    void (*ended)(void *ctx); /* All is done: now join. */
    void *ctx;
};

/* What the options point to must outlive it. */
MUST_USE enum rc consumer_start(const struct consumer_options *options,
                                struct consumer **ret_consumer, struct err *err);
/* Leases no more jobs and releases those that wait; running commands may end by themselves. */
void consumer_wind_down(struct consumer *consumer);
/* Ends the commands too, and releases their jobs. */
void consumer_kill(struct consumer *consumer);
/* Calls `notify` with the counts alone, for a caller that displays them continuously. */
void consumer_report_counts(struct consumer *consumer);
/* Waits for the end and frees it.  Not RC_OK: it could not continue. */
MUST_USE enum rc consumer_join(struct consumer *consumer, struct consumer_counts *ret_counts,
                               struct err *err);
#endif
