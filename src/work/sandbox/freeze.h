/*
 * freeze.h - stops all processes of a sandbox, and lets them continue.
 *
 *     idle --begin--> freezing --all stopped, twice--> frozen        --end--> idle
 *                      |    ^                            |
 *                      tick, soon                  tick, now and then: what runs is stopped again
 *
 * SIGSTOP, not the freezer of a cgroup: a cgroup needs a delegation that most machines lack.  A
 * process can neither catch nor block the signal.  One that is not stopped yet may start others, or
 * continue one that is stopped; so all are visited again until none runs, and from time to time
 * after that.
 */
#ifndef WORK_SANDBOX_FREEZE_H
#define WORK_SANDBOX_FREEZE_H
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct freeze {
    bool on;
    int rests;        /* Visits in a row that found nothing running. */
    int64_t pause_us; /* Until the next visit. */
    int64_t next_us;  /* By clock_mono_us. */
};

/* What is stopped: everything below `top`, and `top` itself unless it is the sandbox's own. */
struct freeze_scope {
    pid_t top; /* 0: not known yet. */
    bool top_too;
};

void freeze_begin(struct freeze *freeze, int64_t now_us);
/* A visit, when it is due; returns the time of the next one, INT64_MAX when none is. */
int64_t freeze_tick(struct freeze *freeze, struct freeze_scope scope, int64_t now_us);
/* Nothing runs any more. */
bool freeze_holds(const struct freeze *freeze);
/* Continues all; does nothing when nothing was stopped. */
void freeze_end(struct freeze *freeze, struct freeze_scope scope);
#endif
