#include "http/parting.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "http/conn.h"
#include <errno.h>
#include <event2/event.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    PARTINGS_MAX = 64,
    PARTING_SECONDS = 2,
    PARTING_BYTES_MAX = 256 * 1024 * 1024,
    PARTING_READ_BYTES = 64 * 1024,
};

struct parting {
    struct http *http;
    struct event event;
    int fd;
    int64_t bytes;
    int64_t until_us;
    LIST_ENTRY(parting) all;
};

static void parting_free(struct parting *parting)
{
    event_del(&parting->event);
    fd_close(parting->fd);
    LIST_REMOVE(parting, all);
    parting->http->parting_count--;
    mem_free(parting);
}

void parting_end_all(struct http *http)
{
    struct parting *parting;
    while ((parting = LIST_FIRST(&http->partings)) != NULL)
        parting_free(parting);
}

static void on_parting(evutil_socket_t fd, short what, void *arg)
{
    struct parting *parting = arg;
    static char dropped[PARTING_READ_BYTES]; /* Only the loop's thread runs this. */
    ssize_t got = 0;
    if (what & EV_READ) {
        got = recv(fd, dropped, sizeof dropped, MSG_DONTWAIT);
        if (got < 0 && (errno == EAGAIN || errno == EINTR))
            return;
    }
    if (got > 0)
        parting->bytes += got;
    if (got <= 0 || parting->bytes > PARTING_BYTES_MAX || clock_mono_us() > parting->until_us)
        parting_free(parting);
}

void parting_begin(struct http *http, int fd)
{
    int copy = http->parting_count < PARTINGS_MAX ? dup(fd) : -1;
    if (copy < 0)
        return;
    (void)shutdown(copy, SHUT_WR);
    struct parting *parting = mem_alloc(sizeof *parting);
    parting->http = http;
    parting->fd = copy;
    parting->until_us = clock_mono_us() + PARTING_SECONDS * US_PER_SECOND;
    LIST_INSERT_HEAD(&http->partings, parting, all);
    http->parting_count++;
    struct timeval silence = {.tv_sec = PARTING_SECONDS};
    event_assign(&parting->event, loop_base(http->options.loop), copy, EV_READ | EV_PERSIST,
                 on_parting, parting);
    event_add(&parting->event, &silence);
}
