/*
 * loop.c - libevent's loop with a mailbox.
 *
 * The mailbox is a list under a mutex; the first call in an empty one activates an event, which
 * wakes the loop through libevent's own eventfd.  The loop takes the whole list at once.
 */
#include "http/loop.h"
#include "base/mem.h"
#include <assert.h>
#include <event2/event.h>
#include <event2/thread.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

struct loop {
    struct event_base *base;
    struct event *mail;
    pthread_mutex_t lock;
    struct loop_call *first, **last; /* Under the lock. */
};

/* What loop_every and loop_on_signal were given; freed with the event. */
struct ticker {
    void (*fn)(void *ctx);
    void *ctx;
    int interval_ms; /* 0: at rest, or a signal's. */
};

/* Runs the calls posted so far, not those that they post, so that sockets are served too. */
static bool run_mail(struct loop *loop)
{
    pthread_mutex_lock(&loop->lock);
    struct loop_call *call = loop->first;
    loop->first = NULL;
    loop->last = &loop->first;
    pthread_mutex_unlock(&loop->lock);
    bool any = call != NULL;
    while (call != NULL) {
        struct loop_call *next = call->next; /* run() may free the call, or post it again. */
        call->run(call);
        call = next;
    }
    return any;
}

void loop_drain(struct loop *loop)
{
    while (run_mail(loop)) {
    }
}

static void on_mail(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    (void)run_mail(arg);
}

enum rc loop_new(struct loop **ret_loop, struct err *err)
{
    if (evthread_use_pthreads() != 0)
        return err_set(err, RC_IO, "EVENT_LOOP", "libevent cannot use threads");
    struct loop *loop = mem_alloc(sizeof *loop);
    loop->last = &loop->first;
    pthread_mutex_init(&loop->lock, NULL);
    loop->base = event_base_new();
    if (loop->base != NULL)
        loop->mail = event_new(loop->base, -1, EV_PERSIST, on_mail, loop);
    if (loop->mail == NULL) {
        loop_free(loop);
        return err_set(err, RC_IO, "EVENT_LOOP", "cannot make an event loop");
    }
    *ret_loop = loop;
    return RC_OK;
}

void loop_free(struct loop *loop)
{
    if (loop == NULL)
        return;
    assert(loop->first == NULL);
    if (loop->mail != NULL)
        event_free(loop->mail);
    if (loop->base != NULL)
        event_base_free(loop->base);
    pthread_mutex_destroy(&loop->lock);
    mem_free(loop);
}

void loop_run(struct loop *loop)
{
    (void)event_base_loop(loop->base, EVLOOP_NO_EXIT_ON_EMPTY);
}

void loop_stop(struct loop *loop)
{
    (void)event_base_loopexit(loop->base, NULL);
}

void loop_post(struct loop *loop, struct loop_call *call)
{
    assert(call->run != NULL);
    call->next = NULL;
    pthread_mutex_lock(&loop->lock);
    bool was_empty = loop->first == NULL;
    *loop->last = call;
    loop->last = &call->next;
    pthread_mutex_unlock(&loop->lock);
    if (was_empty)
        event_active(loop->mail, EV_READ, 0);
}

struct event_base *loop_base(struct loop *loop)
{
    return loop->base;
}

static void on_tick(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    struct ticker *ticker = arg;
    ticker->fn(ticker->ctx);
}

struct event *loop_every(struct loop *loop, int interval_ms, void (*fn)(void *ctx), void *ctx)
{
    struct ticker *ticker = mem_alloc(sizeof *ticker);
    *ticker = (struct ticker){.fn = fn, .ctx = ctx};
    struct event *event = event_new(loop->base, -1, EV_PERSIST, on_tick, ticker);
    assert(event != NULL);
    loop_pace(event, interval_ms);
    return event;
}

void loop_pace(struct event *event, int interval_ms)
{
    struct ticker *ticker = event_get_callback_arg(event);
    if (ticker->interval_ms == interval_ms)
        return;
    ticker->interval_ms = interval_ms;
    struct timeval interval = {.tv_sec = interval_ms / 1000, .tv_usec = interval_ms % 1000 * 1000L};
    int rc = interval_ms > 0 ? event_add(event, &interval) : event_del(event);
    assert(rc == 0);
}

struct event *loop_on_signal(struct loop *loop, int signal, void (*fn)(void *ctx), void *ctx)
{
    struct ticker *ticker = mem_alloc(sizeof *ticker);
    *ticker = (struct ticker){.fn = fn, .ctx = ctx};
    struct event *event = event_new(loop->base, signal, EV_SIGNAL | EV_PERSIST, on_tick, ticker);
    int rc = event != NULL ? event_add(event, NULL) : -1;
    assert(rc == 0);
    return event;
}

void loop_event_free(struct event *event)
{
    if (event == NULL)
        return;
    mem_free(event_get_callback_arg(event));
    event_free(event);
}
