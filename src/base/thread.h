/*
 * thread.h - threads that leave all signals to the main one, except their own faults.
 */
#ifndef BASE_THREAD_H
#define BASE_THREAD_H
#include "base/rc.h"
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

struct thread_spec {
    void *(*body)(void *ctx);
    void *ctx;
    size_t stack_bytes; /* 0: as usual */
    bool detached;      /* No thread joins it. */
};

/* RC_IO: the machine has no room for one more.  ret_thread may be NULL for a detached one. */
MUST_USE enum rc thread_start(const struct thread_spec *spec, pthread_t *ret_thread,
                              struct err *err);

/* For waits until a time on the monotonic clock: clock_mono_after. */
void thread_cond_init(pthread_cond_t *cond);
#endif
