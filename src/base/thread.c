#include "base/thread.h"
#include <assert.h>
#include <signal.h>
#include <string.h>

/* Raised by the thread itself: a handler (of a sanitizer, say) runs only when they are not blocked,
   and without one they end the process either way. */
static const int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP};

enum rc thread_start(const struct thread_spec *spec, pthread_t *ret_thread, struct err *err)
{
    assert(ret_thread != NULL || spec->detached);
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t all, before;
    (void)pthread_attr_init(&attributes);
    if (spec->stack_bytes > 0)
        (void)pthread_attr_setstacksize(&attributes, spec->stack_bytes);
    if (spec->detached)
        (void)pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    (void)sigfillset(&all);
    for (size_t i = 0; i < COUNT_OF(faults); i++)
        (void)sigdelset(&all, faults[i]);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before); /* It starts with our mask. */
    int failed = pthread_create(&thread, &attributes, spec->body, spec->ctx);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    (void)pthread_attr_destroy(&attributes);
    if (failed)
        return err_set(err, RC_IO, "IO_ERROR", "cannot start a thread: %s", strerror(failed));
    if (ret_thread != NULL)
        *ret_thread = thread;
    return RC_OK;
}

void thread_cond_init(pthread_cond_t *cond)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &monotonic);
    pthread_condattr_destroy(&monotonic);
}
