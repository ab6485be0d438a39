/*
 * loop.h - the one event loop of the edge, and the mailbox by which other threads reach it.
 *
 * All of http.c and sse.c runs on the thread that calls loop_run.  Another thread hands a
 * struct loop_call over with loop_post; its run() is called on the loop, in order of arrival.
 * A call is intrusive (it lives in the object that it is about), so posting allocates nothing
 * and cannot fail; it must not be posted again before it has run.
 */
#ifndef HTTP_LOOP_H
#define HTTP_LOOP_H
#include "base/rc.h"

struct loop; /* Owned by its maker. */
struct event;
struct event_base;

struct loop_call {
    struct loop_call *next;
    void (*run)(struct loop_call *call);
};

MUST_USE enum rc loop_new(struct loop **ret_loop, struct err *err);
void loop_free(struct loop *loop);
void loop_run(struct loop *loop);  /* Until loop_stop. */
void loop_stop(struct loop *loop); /* On the loop: after the current callbacks. */
void loop_post(struct loop *loop, struct loop_call *call);
/* Runs what has been posted, without waiting: for the end, when loop_run has returned. */
void loop_drain(struct loop *loop);
struct event_base *loop_base(struct loop *loop);

/* fn(ctx) on the loop, every interval_ms (0: see loop_pace) or at every such signal, until
   loop_event_free. */
struct event *loop_every(struct loop *loop, int interval_ms, void (*fn)(void *ctx), void *ctx);
struct event *loop_on_signal(struct loop *loop, int signal, void (*fn)(void *ctx), void *ctx);
void loop_event_free(struct event *event); /* NULL is fine. */
/* From now on every interval_ms, 0: not at all.  On the loop; idempotent. */
void loop_pace(struct event *event, int interval_ms);
#endif
