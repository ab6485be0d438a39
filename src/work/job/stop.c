/*
 * stop.c - a reason that is set once, and an eventfd that wakes waiting threads.
 */
#include "work/job/stop.h"
#include "base/clock.h"
#include "base/fd.h"
#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum rc stop_init(struct stop *stop, struct err *err)
{
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (fd < 0)
        return err_set(err, RC_IO, "IO_ERROR", "cannot make an eventfd: %s", strerror(errno));
    *stop = (struct stop){.event_fd = fd};
    return RC_OK;
}

void stop_release(struct stop *stop)
{
    fd_closep(&stop->event_fd);
}

void stop_ask(struct stop *stop, enum stop_reason reason)
{
    assert(reason != STOP_NONE);
    int none = STOP_NONE;
    if (!atomic_compare_exchange_strong(&stop->reason, &none, (int)reason))
        return;
    const uint64_t one = 1;
    ssize_t written = write(stop->event_fd, &one, sizeof one);
    assert(written == sizeof one); /* A counter at zero has room. */
}

enum stop_reason stop_asked(const struct stop *stop)
{
    return (enum stop_reason)atomic_load(&stop->reason);
}

bool stop_wait(const struct stop *stop, int64_t ms)
{
    struct pollfd look = {.fd = stop->event_fd, .events = POLLIN};
    int64_t until_us = clock_mono_us() + ms * US_PER_MS;
    int64_t left_us = ms * US_PER_MS;
    while (stop_asked(stop) == STOP_NONE && left_us > 0) {
        int64_t left_ms = (left_us + US_PER_MS - 1) / US_PER_MS;
        (void)poll(&look, 1, left_ms < INT_MAX ? (int)left_ms : INT_MAX);
        left_us = until_us - clock_mono_us();
    }
    return stop_asked(stop) != STOP_NONE;
}

void stop_reset(struct stop *stop)
{
    uint64_t count;
    ssize_t got = read(stop->event_fd, &count, sizeof count);
    assert(got == sizeof count || errno == EAGAIN);
    atomic_store(&stop->reason, STOP_NONE);
}
