/*
 * steer.h - what people want of a running agent: that it pauses, that its clocks wait for an
 * answer, that it reads a message.  Set by the threads that get answers of the server, read by the
 * thread that runs the step.
 *
 * Answers to two calls may be noted in the wrong order: the hold is then wrong until the next
 * answer.  Messages only grow in number.
 */
#ifndef WORK_JOB_STEER_H
#define WORK_JOB_STEER_H
#include "base/rc.h"
#include "work/job/port.h"
#include <stdatomic.h>
#include <stdint.h>

struct steer {
    atomic_int hold; /* enum port_hold */
    atomic_int_least64_t message_seq;
    int event_fd;     /* Readable after a change. */
    int64_t since_us; /* Of steer_extend: held since; 0: not held. */
};

MUST_USE enum rc steer_init(struct steer *steer, struct err *err);
void steer_release(struct steer *steer);
/* For the next job.  No thread may call steer_note meanwhile. */
void steer_reset(struct steer *steer);
/* An answer of the server; steer may be NULL: the step cannot be steered. */
void steer_note(struct steer *steer, const struct port_beat *beat);
/* The change that event_fd showed is being looked at. */
void steer_seen(const struct steer *steer);
enum port_hold steer_hold(const struct steer *steer);
int64_t steer_message_seq(const struct steer *steer);
/* A deadline without the time that the step was held; INT64_MAX while it is.  One thread calls
   this, and again before the deadline is over. */
int64_t steer_extend(struct steer *steer, int64_t *deadline_us, int64_t now_us);
#endif
