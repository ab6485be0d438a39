/*
 * run_clock.h - the clocks of a run: how long it may take, wait for its turn, and, of an agent that
 * leases its work, how long the agent may work and be silent.
 *
 *   run_deadline, queue_deadline, pull_deadline, pull_idle     timers with the run as their subject
 *
 * Invariants:
 *   1. They stand still exactly while a person is waited for: an approval (awaiting_approval), the
 *      answer to the agent's question (question_id), the end of a pause (paused_us).
 *   2. still_us is the time at which they stopped; 0: they run.
 *   3. deadline_us does not count the time in which they stood still.
 *
 * Time at work (work_us) is counted in the same way: while the run is active, and no person is
 * waited for.
 *
 * Other timers go on meanwhile: those of the approval and of the question themselves, and the one
 * that ends a run whose worker does not stop.
 */
#ifndef CONTROL_RUN_RUN_CLOCK_H
#define CONTROL_RUN_RUN_CLOCK_H
#include "control/commit/context.h"
#include "store/runs.h"

#define TIMER_RUN_DEADLINE   "run_deadline"
#define TIMER_QUEUE_DEADLINE "queue_deadline"
#define TIMER_PULL_DEADLINE  "pull_deadline"
#define TIMER_PULL_IDLE      "pull_idle"
/* Of a pull request: control/pr/shepherd.h looks at it. */
#define TIMER_SHEPHERD "shepherd"

/* Is a person waited for? */
bool run_is_held(const struct run_row *run);

/* Stops or starts the clocks as run_is_held requires, and counts the time at work; to be called
   after every change of it, and of the status.  A job
   that no worker has gets the new deadline. */
MUST_USE enum rc run_clock_settle(struct context *ctx, struct run_row *run);
/* Sets one of them.  It stands still if the others do. */
MUST_USE enum rc run_clock_set(struct context *ctx, const struct run_row *run, const char *kind,
                               int64_t left_us);
/* The run starts: deadline_us and its timer. */
MUST_USE enum rc run_clock_start(struct context *ctx, struct run_row *run, int64_t left_us);

bool run_clock_is(const char *timer_kind);

/* Any timer, of any subject. */
MUST_USE enum rc timer_start(struct context *ctx, const char *kind, const struct id *subject,
                             int64_t due_us);

/* Reminders of what waits for a person: one at the end of each period. */
struct reminder {
    const char *kind; /* Of its timer. */
    const struct id *subject;
    int64_t since_us;  /* When the wait began. */
    int64_t period_ms; /* 0: there are none. */
};
/* Starts the timer of the next one.  Periods that passed while no server ran are skipped. */
MUST_USE enum rc reminder_start(struct context *ctx, const struct reminder *reminder);
#endif
