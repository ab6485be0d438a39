#include "cli/signals.h"
#include "base/clock.h"
#include <errno.h>
#include <pthread.h>
#include <time.h>

sigset_t cli_signals_block(void)
{
    sigset_t signals;
    (void)sigemptyset(&signals);
    (void)sigaddset(&signals, SIGTERM);
    (void)sigaddset(&signals, SIGINT);
    (void)sigaddset(&signals, SIGUSR1);
    (void)pthread_sigmask(SIG_BLOCK, &signals, NULL);
    return signals;
}

/* Others, such as SIGCONT, interrupt the wait. */
int cli_signals_wait(const sigset_t *signals, int64_t ms)
{
    int64_t until_us = clock_mono_us() + ms * US_PER_MS;
    for (;;) {
        int64_t left_us = until_us - clock_mono_us();
        left_us = left_us > 0 ? left_us : 0;
        struct timespec span = {.tv_sec = left_us / US_PER_SECOND,
                                .tv_nsec = left_us % US_PER_SECOND * 1000};
        int signal = sigtimedwait(signals, NULL, &span);
        if (signal > 0)
            return signal;
        if (errno != EINTR)
            return 0;
    }
}
