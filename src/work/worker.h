/*
 * worker.h - slots that lease step jobs, run them and report.
 *
 * A slot is a thread that takes jobs of one class of steps (slots.h); one heartbeat thread renews
 * all leases of the worker at once.  Slots for agents may be added and removed while it runs: a
 * removed one finishes its job first.
 */
#ifndef WORK_WORKER_H
#define WORK_WORKER_H
#include "base/clock.h"
#include "base/id.h"
#include "base/rc.h"
#include "work/job/port.h"
#include "work/job/slots.h"
#include <stdbool.h>

struct worker; /* Owned by its starter. */

enum { WORKER_KEEP_DAYS_DEFAULT = 30, WORKER_KEEP_DAYS_MAX = 3650 };

struct worker_options {
    struct port *port;
    struct clock clock;
    const char *name;           /* "node-1"; slots are "node-1/0", "node-1/1", ... */
    struct slots slots;         /* By slots_fill(); 0 in a class: none. */
    int agents_max;             /* For worker_resize, 1..256; 0: as many as slots for agents. */
    struct step_queues queues;  /* Some of step_queues(); empty: all of them. */
    const char *work_dir;       /* DATA/work: mirrors, worktrees; made when missing. */
    const char *server_url;     /* What agents see as DROVER_URL. */
    const char *server_socket;  /* Its unix socket, DROVER_SOCKET of agents; or NULL. */
    int64_t lease_ms;           /* 15000 */
    int64_t heartbeat_ms;       /* 5000 */
    const char *const *hidden;  /* As hidden_list() takes them; not needed after the start. */
    bool sandbox_none;          /* The configuration says `sandbox: none`. */
    bool sandbox_required;      /* Do not start without a sandbox; else steps that need one fail. */
    int64_t disk_reserve_bytes; /* disk.h; 0: off */
    int64_t keep_days;          /* Of snapshots that the origin has (retention.h); 0: for ever. */
};

/* Ends what a killed predecessor left running.  Its worktrees stay: they are a cache that later
   steps reuse, and the clean step removes them. */
MUST_USE enum rc worker_start(const struct worker_options *options, struct worker **ret_worker,
                              struct err *err);
/* A hint from the server's events: the run's step should stop now, not at the next heartbeat. */
void worker_cancel_run(struct worker *worker, const struct id *run_id);
/* The same for a run that was paused or resumed, has a message, or whose question was answered.
   NULL: jobs of no run were taken away. */
void worker_steer_run(struct worker *worker, const struct id *run_id);
/* How many slots there are, and how many are busy. */
struct worker_load {
    struct class_load {
        int slots, busy;
    } of[STEP_CLASS_COUNT];
    int busy; /* Of all classes. */
};
struct worker_load worker_load(struct worker *worker);
/* So many slots for agents from now on, 1..agents_max.  One caller at a time, and none once it is
   stopped. */
MUST_USE enum rc worker_resize(struct worker *worker, int agents, struct err *err);
/* Stops leasing, stops running steps (children get TERM, then KILL), releases their jobs, joins. */
void worker_stop(struct worker *worker);
#endif
