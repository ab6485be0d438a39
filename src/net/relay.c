/*
 * relay.c - one poll loop over pairs of connections, each a pump.
 */
#include "net/relay.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/thread.h"
#include "net/dial.h"
#include "net/listener.h"
#include "net/pump.h"
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum {
    PAIRS_MAX = 64,
    HEAD_BYTES_MAX = 12 * 1024, /* With what admit() adds, less than a pump holds. */
    HEAD_MS = 10 * 1000,
    HEAD_TICK_MS = 1000,
};

struct pair {
    struct pump pump;      /* Ends: the client, and the target. */
    bool connecting;       /* The second end is not connected yet. */
    int64_t head_until_us; /* Its head is being read, until then; 0: it was, or need not be. */
};

struct relay {
    struct relay_options options; /* Its texts are copies, owned. */
    struct listener listener;
    int wake;
    pthread_t thread;
    struct pair *pairs[PAIRS_MAX];
    size_t pair_count;
};

/* ---- pairs ---- */

static void pair_free(struct pair *pair)
{
    fd_close(pair->pump.ends[0]);
    fd_close(pair->pump.ends[1]);
    mem_free(pair);
}

/* A socket that connects to the target, or -1. */
static int dial(const struct relay_options *options)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (options->target_path == NULL)
        return options->dial(options->host, options->port);
    text_copy(address.sun_path, sizeof address.sun_path, options->target_path);
    return dial_address((const struct sockaddr *)&address, sizeof address);
}

static bool begin_dial(const struct relay *relay, struct pair *pair)
{
    pair->pump.ends[1] = dial(&relay->options);
    pair->connecting = true;
    return pair->pump.ends[1] >= 0;
}

static void accept_one(struct relay *relay)
{
    int agent = listener_accept(&relay->listener);
    if (agent < 0)
        return;
    struct pair *pair = mem_alloc(sizeof *pair);
    pair->pump.ends[0] = agent;
    pair->pump.ends[1] = -1;
    if (relay->options.admit != NULL)
        pair->head_until_us = clock_mono_us() + HEAD_MS * US_PER_MS;
    else if (!begin_dial(relay, pair)) {
        pair_free(pair);
        return;
    }
    relay->pairs[relay->pair_count++] = pair;
}

/* The head is whole: passes on what admit() makes of it, and the bytes after it. */
static bool pass_head(const struct relay *relay, struct pair *pair, size_t head_len)
{
    struct pump_flow *flow = &pair->pump.flows[0];
    CLEANUP(buf_release) struct buf to;
    buf_init(&to, PUMP_FLOW_BYTES);
    bool admitted = relay->options.admit((struct str){flow->bytes, head_len}, &to);
    if (!admitted) { /* Shorter than any socket's buffer. */
        (void)!send(pair->pump.ends[0], buf_text(&to), to.len, MSG_NOSIGNAL);
        return false;
    }
    buf_add(&to, flow->bytes + head_len, flow->len - head_len);
    if (to.overflow)
        return false;
    memcpy(flow->bytes, buf_text(&to), to.len);
    flow->len = to.len;
    pair->head_until_us = 0;
    return begin_dial(relay, pair);
}

/* false: the pair is done for. */
static bool read_head(const struct relay *relay, struct pair *pair, short seen)
{
    struct pump_flow *flow = &pair->pump.flows[0];
    if (!seen)
        return clock_mono_us() < pair->head_until_us;
    ssize_t got = recv(pair->pump.ends[0], flow->bytes + flow->len, HEAD_BYTES_MAX - flow->len, 0);
    if (got < 0)
        return errno == EAGAIN || errno == EINTR;
    flow->len += (size_t)got;
    const char *end = memmem(flow->bytes, flow->len, "\r\n\r\n", 4);
    if (end != NULL)
        return pass_head(relay, pair, (size_t)(end - flow->bytes) + 4);
    return got > 0 && flow->len < HEAD_BYTES_MAX;
}

static bool has_connected(struct pair *pair)
{
    int failed = 0;
    socklen_t size = sizeof failed;
    if (getsockopt(pair->pump.ends[1], SOL_SOCKET, SO_ERROR, &failed, &size) != 0 || failed != 0)
        return false;
    pair->connecting = false;
    return true;
}

static void pair_want(const struct pair *pair, struct pollfd looks[2])
{
    if (pair->head_until_us) {
        looks[0] = (struct pollfd){.fd = pair->pump.ends[0], .events = POLLIN};
        looks[1] = (struct pollfd){.fd = -1};
        return;
    }
    if (!pair->connecting) {
        pump_want(&pair->pump, looks);
        return;
    }
    looks[0] = (struct pollfd){.fd = pair->pump.ends[0]};
    looks[1] = (struct pollfd){.fd = pair->pump.ends[1], .events = POLLOUT};
}

/* false: the pair is done for. */
static bool pair_serve(const struct relay *relay, struct pair *pair, const struct pollfd seen[2])
{
    if (pair->head_until_us)
        return read_head(relay, pair, seen[0].revents);
    if (!pair->connecting)
        return pump_serve(&pair->pump, seen);
    if (seen[0].revents & (POLLERR | POLLHUP))
        return false;
    return seen[1].revents ? has_connected(pair) : true;
}

/* ---- the loop ---- */

static void serve_pairs(struct relay *relay, const struct pollfd *seen)
{
    size_t kept = 0;
    for (size_t i = 0; i < relay->pair_count; i++) {
        struct pair *pair = relay->pairs[i];
        if (pair_serve(relay, pair, &seen[2 * i]))
            relay->pairs[kept++] = pair;
        else
            pair_free(pair);
    }
    relay->pair_count = kept;
}

static void *relay_main(void *ctx)
{
    enum { WAKE, LISTENER, FIRST };
    struct relay *relay = ctx;
    struct pollfd fds[FIRST + 2 * PAIRS_MAX];
    for (;;) {
        int timeout_ms;
        fds[WAKE] = (struct pollfd){.fd = relay->wake, .events = POLLIN};
        fds[LISTENER] = listener_want(&relay->listener, &timeout_ms);
        if (relay->pair_count == PAIRS_MAX)
            fds[LISTENER].fd = -1;
        for (size_t i = 0; i < relay->pair_count; i++) {
            pair_want(relay->pairs[i], &fds[FIRST + 2 * i]);
            if (relay->pairs[i]->head_until_us && (timeout_ms < 0 || timeout_ms > HEAD_TICK_MS))
                timeout_ms = HEAD_TICK_MS;
        }
        if (poll(fds, FIRST + 2 * relay->pair_count, timeout_ms) < 0 && errno != EINTR)
            return NULL;
        if (fds[WAKE].revents)
            return NULL;
        serve_pairs(relay, &fds[FIRST]);
        if (fds[LISTENER].revents)
            accept_one(relay);
    }
}

/* ---- start and stop ---- */

static void relay_free(struct relay *relay)
{
    for (size_t i = 0; i < relay->pair_count; i++)
        pair_free(relay->pairs[i]);
    listener_close(&relay->listener);
    fd_close(relay->wake);
    mem_free((void *)(uintptr_t)relay->options.socket_path);
    mem_free((void *)(uintptr_t)relay->options.host);
    mem_free((void *)(uintptr_t)relay->options.target_path);
    mem_free(relay);
}

static char *copy_of(const char *text)
{
    return text != NULL ? mem_strdup(text) : NULL;
}

static enum rc start_listening(struct relay *relay, struct err *err)
{
    const struct relay_options *options = &relay->options;
    if (relay->wake < 0)
        return err_set(err, RC_IO, "IO_ERROR", "eventfd: %s", strerror(errno));
    if (options->socket_path == NULL)
        return listener_at_port(options->listen_port, &relay->listener, err);
    /* A longer path could be bound, but clients connect by the whole path. */
    if (strlen(options->socket_path) >= sizeof(((struct sockaddr_un *)0)->sun_path))
        return err_set(err, RC_TOO_LARGE, "PATH_TOO_LONG", "%.300s is too long for a socket",
                       options->socket_path);
    return listener_at_path(options->socket_path, &relay->listener, err);
}

enum rc relay_start(const struct relay_options *options, struct relay **ret_relay, struct err *err)
{
    struct relay *relay = mem_alloc(sizeof *relay);
    relay->options = *options;
    relay->options.socket_path = copy_of(options->socket_path);
    relay->options.host = copy_of(options->host);
    relay->options.target_path = copy_of(options->target_path);
    relay->listener.fd = -1;
    relay->wake = eventfd(0, EFD_CLOEXEC);
    enum rc rc = start_listening(relay, err);
    if (rc == RC_OK)
        rc = thread_start(&(struct thread_spec){.body = relay_main, .ctx = relay}, &relay->thread,
                          err);
    if (rc != RC_OK) {
        relay_free(relay);
        return rc;
    }
    *ret_relay = relay;
    return RC_OK;
}

void relay_stop(struct relay *relay)
{
    if (relay == NULL)
        return;
    const uint64_t one = 1;
    (void)!write(relay->wake, &one, sizeof one);
    (void)pthread_join(relay->thread, NULL);
    if (relay->options.socket_path != NULL)
        (void)unlink(relay->options.socket_path);
    relay_free(relay);
}
