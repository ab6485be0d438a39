/*
 * relay.c - one poll loop over pairs of connections.
 *
 *     agent --[0]--> flow 0 --[1]--> server          a flow reads from its own end and writes to
 *     agent <--[0]-- flow 1 <--[1]-- server          the other; while it holds bytes it reads none
 *
 * The end of one direction is passed on as such; a pair is closed when both have ended, or one
 * end has failed.
 */
#include "net/relay.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/str.h"
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { PAIRS_MAX = 64, FLOW_BYTES = 16 * 1024, BACKLOG = 64, PORT_TEXT_BYTES = 8 };

struct flow {
    size_t at, len; /* What waits to be written. */
    bool ended;     /* No more comes. */
    bool passed_on; /* And the other end knows. */
    char bytes[FLOW_BYTES];
};

struct pair {
    int ends[2];     /* The agent's and the server's; flow i reads from ends[i]. */
    bool connecting; /* The server's end is not there yet. */
    struct flow flows[2];
};

struct relay {
    struct relay_options options; /* Its texts are copies, owned. */
    int listener, wake;
    pthread_t thread;
    struct pair *pairs[PAIRS_MAX];
    size_t pair_count;
};

/* --- pairs --- */

static void pair_free(struct pair *pair)
{
    fd_close(pair->ends[0]);
    fd_close(pair->ends[1]);
    mem_free(pair);
}

/* A socket on its way to the server, or -1. */
static int dial(const struct relay_options *options)
{
    char port[PORT_TEXT_BYTES];
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    (void)snprintf(port, sizeof port, "%d", options->port);
    if (getaddrinfo(options->host, port, &hints, &found) != 0)
        return -1;
    int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && connect(fd, found->ai_addr, found->ai_addrlen) != 0 && errno != EINPROGRESS) {
        fd_close(fd);
        fd = -1;
    }
    freeaddrinfo(found);
    return fd;
}

static void accept_one(struct relay *relay)
{
    CLEANUP(fd_closep)
    int agent = accept4(relay->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    int server = agent >= 0 ? dial(&relay->options) : -1;
    if (server < 0)
        return; /* The agent sees its connection closed. */
    struct pair *pair = mem_alloc(sizeof *pair);
    pair->ends[0] = fd_take(&agent);
    pair->ends[1] = server;
    pair->connecting = true;
    relay->pairs[relay->pair_count++] = pair;
}

/* false: this end has failed. */
static bool flow_read(struct flow *flow, int from)
{
    ssize_t got = recv(from, flow->bytes, sizeof flow->bytes, 0);
    if (got < 0)
        return errno == EAGAIN || errno == EINTR;
    flow->at = 0;
    flow->len = (size_t)got;
    flow->ended = got == 0;
    return true;
}

static bool flow_write(struct flow *flow, int to)
{
    if (flow->len > 0) {
        ssize_t put = send(to, flow->bytes + flow->at, flow->len, MSG_NOSIGNAL);
        if (put < 0)
            return errno == EAGAIN || errno == EINTR;
        flow->at += (size_t)put;
        flow->len -= (size_t)put;
    }
    if (flow->len == 0 && flow->ended && !flow->passed_on) {
        flow->passed_on = true;
        return shutdown(to, SHUT_WR) == 0;
    }
    return true;
}

/* What poll should look for at this end. */
static short wanted(const struct pair *pair, int end)
{
    if (pair->connecting)
        return end == 1 ? POLLOUT : 0;
    const struct flow *from = &pair->flows[end], *to = &pair->flows[1 - end];
    short events = 0;
    if (from->len == 0 && !from->ended)
        events |= POLLIN;
    if (to->len > 0)
        events |= POLLOUT;
    return events;
}

static bool has_connected(struct pair *pair)
{
    int failed = 0;
    socklen_t size = sizeof failed;
    if (getsockopt(pair->ends[1], SOL_SOCKET, SO_ERROR, &failed, &size) != 0 || failed != 0)
        return false;
    pair->connecting = false;
    return true;
}

/* false: the pair is done for. */
static bool pair_serve(struct pair *pair, const struct pollfd seen[2])
{
    if (pair->connecting) {
        if (seen[0].revents & (POLLERR | POLLHUP))
            return false;
        return seen[1].revents ? has_connected(pair) : true;
    }
    for (int end = 0; end < 2; end++) {
        struct flow *flow = &pair->flows[end];
        bool readable = (seen[end].revents & (POLLIN | POLLHUP | POLLERR)) != 0;
        if (readable && flow->len == 0 && !flow->ended && !flow_read(flow, pair->ends[end]))
            return false;
        if (!flow_write(flow, pair->ends[1 - end]))
            return false;
    }
    bool hung_up = (seen[0].revents | seen[1].revents) & POLLERR;
    return !hung_up && !(pair->flows[0].passed_on && pair->flows[1].passed_on);
}

/* --- the loop --- */

static void serve_pairs(struct relay *relay, const struct pollfd *seen)
{
    size_t kept = 0;
    for (size_t i = 0; i < relay->pair_count; i++) {
        struct pair *pair = relay->pairs[i];
        if (pair_serve(pair, &seen[2 * i]))
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
        bool room = relay->pair_count < PAIRS_MAX;
        fds[WAKE] = (struct pollfd){.fd = relay->wake, .events = POLLIN};
        fds[LISTENER] = (struct pollfd){.fd = room ? relay->listener : -1, .events = POLLIN};
        for (size_t i = 0; i < relay->pair_count; i++) {
            for (int end = 0; end < 2; end++) {
                short events = wanted(relay->pairs[i], end);
                /* A hung up end that nothing is wanted from would be told again and again. */
                int fd = events || relay->pairs[i]->connecting ? relay->pairs[i]->ends[end] : -1;
                fds[FIRST + 2 * i + (size_t)end] = (struct pollfd){.fd = fd, .events = events};
            }
        }
        if (poll(fds, FIRST + 2 * relay->pair_count, -1) < 0 && errno != EINTR)
            return NULL;
        if (fds[WAKE].revents)
            return NULL;
        serve_pairs(relay, &fds[FIRST]);
        if (fds[LISTENER].revents)
            accept_one(relay);
    }
}

/* --- start and stop --- */

static enum rc listen_at(const char *path, int *ret_fd, struct err *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path)
        return err_set(err, RC_TOO_LARGE, "PATH_TOO_LONG", "%.300s is too long for a socket", path);
    text_copy(address.sun_path, sizeof address.sun_path, path);
    CLEANUP(fd_closep) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    (void)unlink(path);
    if (fd < 0 || fchmod(fd, 0600) != 0 ||
        bind(fd, (const struct sockaddr *)&address, sizeof address) != 0 ||
        listen(fd, BACKLOG) != 0)
        return err_set(err, RC_IO, "IO_ERROR", "cannot listen at %.300s: %s", path,
                       strerror(errno));
    *ret_fd = fd_take(&fd);
    return RC_OK;
}

static void relay_free(struct relay *relay)
{
    for (size_t i = 0; i < relay->pair_count; i++)
        pair_free(relay->pairs[i]);
    fd_close(relay->listener);
    fd_close(relay->wake);
    mem_free((void *)(uintptr_t)relay->options.socket_path);
    mem_free((void *)(uintptr_t)relay->options.host);
    mem_free(relay);
}

enum rc relay_start(const struct relay_options *options, struct relay **ret_relay, struct err *err)
{
    struct relay *relay = mem_alloc(sizeof *relay);
    relay->options = *options;
    relay->options.socket_path = mem_strdup(options->socket_path);
    relay->options.host = mem_strdup(options->host);
    relay->listener = -1;
    relay->wake = eventfd(0, EFD_CLOEXEC);
    enum rc rc = relay->wake < 0 ? err_set(err, RC_IO, "IO_ERROR", "eventfd: %s", strerror(errno))
                                 : listen_at(options->socket_path, &relay->listener, err);
    int failed = rc == RC_OK ? pthread_create(&relay->thread, NULL, relay_main, relay) : 0;
    if (failed)
        rc = err_set(err, RC_IO, "IO_ERROR", "cannot start a thread: %s", strerror(failed));
    if (rc != RC_OK) {
        relay_free(relay);
        return rc;
    }
    *ret_relay = relay;
    return RC_OK;
}

void relay_stop(struct relay *relay)
{
    if (!relay)
        return;
    const uint64_t one = 1;
    (void)!write(relay->wake, &one, sizeof one);
    (void)pthread_join(relay->thread, NULL);
    (void)unlink(relay->options.socket_path);
    relay_free(relay);
}
