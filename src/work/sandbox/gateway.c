/*
 * gateway.c - see gateway.h.
 *
 * Looking a name up cannot be interrupted, so a connection may outlive the proxy by some seconds.
 * What connections share is therefore counted: the last one frees it.
 */
#include "work/sandbox/gateway.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/thread.h"
#include "core/config/egress.h"
#include "core/http/chunks.h"
#include "net/listener.h"
#include "net/pump.h"
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    CONNECTIONS_MAX = 64,
    REFUSALS_MAX = 32,
    HEAD_BYTES_MAX = 12 * 1024, /* With what we add, less than a pump holds. */
    HEAD_MS = 10 * 1000,
    CONNECT_MS = 10 * 1000,
    ADDRESSES_MAX = 4,
    OWN_ADDRESSES_MAX = 256,
    STACK_BYTES = 512 * 1024,
};

struct gateway {
    pthread_mutex_t lock;
    int owners;      /* The starter and each connection. */
    int connections; /* At work. */
    char **rules;    /* Copies. */
    int (*lookup)(const char *host, const char *port, const struct addrinfo *hints,
                  struct addrinfo **ret_found);
    struct listener listener;
    bool pause_logged; /* It was logged that the listener had to pause. */
    int stop_fd;       /* Stays readable once gateway_stop is called. */
    pthread_t thread;
    char *socket_path;
    char refusals[REFUSALS_MAX][GATEWAY_TEXT_BYTES];
    size_t refusal_count, told;
};

static void gateway_leave(struct gateway *gateway)
{
    (void)pthread_mutex_lock(&gateway->lock);
    bool last = --gateway->owners == 0;
    (void)pthread_mutex_unlock(&gateway->lock);
    if (!last)
        return;
    listener_close(&gateway->listener);
    fd_close(gateway->stop_fd);
    (void)pthread_mutex_destroy(&gateway->lock);
    for (char **rule = gateway->rules; *rule != NULL; rule++)
        mem_free(*rule);
    mem_free(gateway->rules);
    mem_free(gateway->socket_path);
    mem_free(gateway);
}

/* ---- refusals ---- */

static void note_refusal(struct gateway *gateway, const struct egress_request *request,
                         const char *why)
{
    char text[GATEWAY_TEXT_BYTES];
    int len = snprintf(text, sizeof text, "%s:%d: %s", request->host, request->port, why);
    (void)pthread_mutex_lock(&gateway->lock);
    bool known = gateway->refusal_count == REFUSALS_MAX;
    for (size_t i = 0; i < gateway->refusal_count && !known; i++)
        known = strcmp(gateway->refusals[i], text) == 0;
    if (!known && len > 0)
        text_copy(gateway->refusals[gateway->refusal_count++], GATEWAY_TEXT_BYTES, text);
    (void)pthread_mutex_unlock(&gateway->lock);
}

bool gateway_next_refusal(struct gateway *gateway, char to[GATEWAY_TEXT_BYTES])
{
    if (gateway == NULL)
        return false;
    (void)pthread_mutex_lock(&gateway->lock);
    bool more = gateway->told < gateway->refusal_count;
    if (more)
        text_copy(to, GATEWAY_TEXT_BYTES, gateway->refusals[gateway->told++]);
    (void)pthread_mutex_unlock(&gateway->lock);
    return more;
}

/* ---- one connection ---- */

struct visit {
    struct gateway *gateway;
    struct pump pump; /* Ends: the agent, the host.  Owned here. */
    struct buf head;
    struct egress_request request;
    /* Plain HTTP: what is still to come of the body. */
    struct http_chunks chunks;
    int64_t left;
};

static void visit_free(struct visit *visit)
{
    fd_close(visit->pump.ends[0]);
    fd_close(visit->pump.ends[1]);
    buf_release(&visit->head);
    mem_free(visit);
}

/* True when the descriptor is ready before the time is up and before the end. */
static bool await(const struct visit *visit, int fd, short events, int64_t until_us)
{
    struct pollfd looks[] = {{.fd = visit->gateway->stop_fd, .events = POLLIN},
                             {.fd = fd, .events = events}};
    int64_t left_ms = (until_us - clock_mono_us() + US_PER_MS - 1) / US_PER_MS;
    int got = left_ms > 0 ? poll(looks, COUNT_OF(looks), (int)left_ms) : 0;
    return got > 0 && looks[0].revents == 0 && looks[1].revents != 0;
}

/* Bytes after the head belong to the body, and are passed on with it.  false: err has the reason,
   or is empty when the agent has closed the connection. */
static bool read_head(struct visit *visit, struct str *ret_head, struct err *err)
{
    int64_t until_us = clock_mono_us() + HEAD_MS * US_PER_MS;
    struct http_scan scan = {0};
    char chunk[4096];
    for (;;) {
        struct str text = {buf_text(&visit->head), visit->head.len};
        size_t length = 0;
        if (http_scan(&scan, text, &length, err) != 0)
            return false;
        if (length > 0) {
            *ret_head = (struct str){text.at, length};
            return true;
        }
        if (visit->head.overflow || !await(visit, visit->pump.ends[0], POLLIN, until_us))
            return false;
        ssize_t got = recv(visit->pump.ends[0], chunk, sizeof chunk, 0);
        if (got <= 0)
            return false;
        buf_add(&visit->head, chunk, (size_t)got);
    }
}

/* Short enough for any socket's buffer: an answer that does not fit is cut, not waited for. */
static void answer(const struct visit *visit, const char *status, const char *text)
{
    char bytes[512];
    int len = snprintf(bytes, sizeof bytes,
                       "HTTP/1.1 %s\r\nContent-Type: text/plain\r\nContent-Length: %zu\r\n"
                       "Connection: close\r\n\r\n%s",
                       status, strlen(text), text);
    (void)!send(visit->pump.ends[0], bytes, (size_t)len, MSG_NOSIGNAL);
}

/* ---- addresses ---- */

static bool net_of(const struct sockaddr *address, struct egress_net *ret)
{
    struct egress_net net = {.len = 0};
    if (address != NULL && address->sa_family == AF_INET) {
        net.len = 4;
        memcpy(net.bytes, &((const struct sockaddr_in *)(const void *)address)->sin_addr, 4);
    } else if (address != NULL && address->sa_family == AF_INET6) {
        net.len = 16;
        memcpy(net.bytes, &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr, 16);
    }
    net.bits = (unsigned char)(net.len * 8);
    *ret = net;
    return net.len > 0;
}

/* All of the network of a loopback interface is this machine; of the others, the address is. */
static size_t own_addresses(struct egress_net own[OWN_ADDRESSES_MAX])
{
    struct ifaddrs *all = NULL;
    size_t count = 0;
    if (getifaddrs(&all) != 0)
        return 0;
    for (const struct ifaddrs *at = all; at != NULL && count < OWN_ADDRESSES_MAX;
         at = at->ifa_next) {
        struct egress_net mask;
        if (!net_of(at->ifa_addr, &own[count]))
            continue;
        unsigned char bits = 0;
        bool whole = (at->ifa_flags & IFF_LOOPBACK) && net_of(at->ifa_netmask, &mask) &&
                     mask.len == own[count].len;
        while (whole && bits < mask.bits && (mask.bytes[bits / 8] & (0x80u >> (bits % 8))))
            bits++;
        if (whole)
            own[count].bits = bits;
        count++;
    }
    freeifaddrs(all);
    return count;
}

static enum egress_reach address_needs(const struct sockaddr *address, const struct egress_net *own,
                                       size_t own_count)
{
    struct egress_net net;
    if (!net_of(address, &net))
        return EGRESS_NEVER;
    return egress_needs_on(own, own_count, net.bytes, net.len);
}

static int connect_to(const struct visit *visit, const struct addrinfo *address)
{
    int flags = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
    CLEANUP(fd_closep) int fd = socket(address->ai_family, flags, 0);
    if (fd < 0)
        return -1;
    if (connect(fd, address->ai_addr, address->ai_addrlen) == 0)
        return fd_take(&fd);
    int64_t until_us = clock_mono_us() + CONNECT_MS * US_PER_MS;
    if (errno != EINPROGRESS || !await(visit, fd, POLLOUT, until_us))
        return -1;
    int failed = 0;
    socklen_t size = sizeof failed;
    bool connected = getsockopt(fd, SOL_SOCKET, SO_ERROR, &failed, &size) == 0 && failed == 0;
    return connected ? fd_take(&fd) : -1;
}

/* -1: none of the addresses answers; *ret_closed: none of them may be reached. */
static int dial(const struct visit *visit, enum egress_reach reach, bool *ret_closed)
{
    const struct egress_request *request = &visit->request;
    char port[8];
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    *ret_closed = false;
    (void)snprintf(port, sizeof port, "%d", request->port);
    if (visit->gateway->lookup(request->host, port, &hints, &found) != 0)
        return -1;
    struct egress_net own[OWN_ADDRESSES_MAX];
    size_t own_count = own_addresses(own);
    int fd = -1, tried = 0;
    for (const struct addrinfo *at = found; at != NULL && fd < 0 && tried < ADDRESSES_MAX;
         at = at->ai_next) {
        if (address_needs(at->ai_addr, own, own_count) > reach)
            continue;
        tried++;
        fd = connect_to(visit, at);
    }
    *ret_closed = tried == 0;
    freeaddrinfo(found);
    return fd;
}

/* ---- plain HTTP ---- */

/* Between the agent and the gateway only: its own fields, and those that Connection names. */
static bool is_for_us(struct str fields, struct str name)
{
    static const char *const ours[] = {"Host",       "Connection",          "Proxy-Connection",
                                       "Keep-Alive", "Proxy-Authorization", "TE",
                                       "Upgrade"};
    struct http_head_field field;
    if (http_name_is(name, "Content-Length") || http_name_is(name, "Transfer-Encoding"))
        return false; /* Without them the host could not find the end of the body. */
    for (size_t i = 0; i < COUNT_OF(ours); i++) {
        if (http_name_is(name, ours[i]))
            return true;
    }
    while (http_head_next(&fields, &field)) {
        if (http_name_is(field.name, "Connection") && http_list_has(field.value, name))
            return true;
    }
    return false;
}

/* The request as the host itself expects it, one to a connection. */
static void rewrite_head(const struct visit *visit, struct buf *to)
{
    const struct egress_request *request = &visit->request;
    struct str rest = request->head.fields;
    struct http_head_field field;
    bool rooted = request->path.len > 0 && request->path.at[0] == '/';
    buf_add(to, request->head.verb.at, request->head.verb.len);
    buf_adds(to, rooted ? " " : " /");
    buf_add(to, request->path.at != NULL ? request->path.at : "", request->path.len);
    /* The host that was allowed, not the agent's Host field. */
    bool six = strchr(request->host, ':') != NULL;
    buf_addf(to, " HTTP/1.1\r\nHost: %s%s%s:%d\r\n", six ? "[" : "", request->host, six ? "]" : "",
             request->port);
    while (http_head_next(&rest, &field)) {
        if (!is_for_us(request->head.fields, field.name))
            buf_add(to, field.line.at, field.line.len);
    }
    buf_adds(to, "Connection: close\r\n\r\n");
}

/* Lets the body pass, and nothing behind it: that would be an unchecked request. */
static bool pass_body(void *ctx, struct str bytes, size_t *ret_len)
{
    struct visit *visit = ctx;
    if (!visit->request.head.chunked) {
        *ret_len = (int64_t)bytes.len < visit->left ? bytes.len : (size_t)visit->left;
        visit->left -= (int64_t)*ret_len;
        return true;
    }
    struct str rest = bytes, content;
    while (rest.len > 0 && visit->chunks.state != CHUNKS_DONE) {
        if (http_chunks_next(&visit->chunks, &rest, &content, NULL) != RC_OK)
            return false;
    }
    *ret_len = bytes.len - rest.len;
    return true;
}

/* What has been read beyond the head, and a head of our own for plain HTTP, go first. */
static bool prime(struct visit *visit, struct str head)
{
    CLEANUP(buf_release) struct buf first;
    buf_init(&first, PUMP_FLOW_BYTES);
    struct pump_flow *flow = &visit->pump.flows[0];
    struct str behind = {head.at + head.len, visit->head.len - head.len};
    if (visit->request.tunnel) {
        static const char good[] = "HTTP/1.1 200 Connection established\r\n\r\n";
        (void)!send(visit->pump.ends[0], good, sizeof good - 1, MSG_NOSIGNAL);
    } else {
        int64_t length = visit->request.head.content_length;
        visit->left = length > 0 ? length : 0;
        flow->sieve = pass_body;
        flow->sieve_ctx = visit;
        rewrite_head(visit, &first);
        if (!pass_body(visit, behind, &behind.len))
            return false;
    }
    buf_add(&first, behind.at, behind.len);
    if (first.overflow)
        return false;
    memcpy(flow->bytes, buf_text(&first), first.len);
    flow->len = first.len;
    return true;
}

static void pump_all(struct visit *visit)
{
    struct pollfd looks[3] = {{.fd = visit->gateway->stop_fd, .events = POLLIN}};
    bool going = true;
    while (going) {
        pump_want(&visit->pump, &looks[1]);
        if (poll(looks, COUNT_OF(looks), -1) < 0 && errno != EINTR)
            return;
        going = looks[0].revents == 0 && pump_serve(&visit->pump, &looks[1]);
    }
}

static void serve(struct visit *visit)
{
    struct err err = {0};
    struct str head;
    bool whole = read_head(visit, &head, &err);
    if (!whole && !err.code[0])
        return;
    if (!whole || egress_request_parse(head, &visit->request, &err) != RC_OK) {
        answer(visit, "400 Bad Request", err.text);
        return;
    }
    const struct egress_request *request = &visit->request;
    enum egress_reach reach = egress_allows((const char *const *)visit->gateway->rules,
                                            request->host, request->port);
    if (reach == EGRESS_NOWHERE) {
        note_refusal(visit->gateway, request, "not in agent.egress");
        answer(visit, "403 Forbidden", "drover: this host is not in agent.egress\n");
        return;
    }
    bool closed = false;
    visit->pump.ends[1] = dial(visit, reach, &closed);
    if (closed) {
        note_refusal(visit->gateway, request, "an address inside, which its rule does not name");
        answer(visit, "403 Forbidden", "drover: this host has an address that is closed\n");
    } else if (visit->pump.ends[1] < 0) {
        answer(visit, "502 Bad Gateway", "drover: this host does not answer\n");
    } else if (prime(visit, head)) {
        pump_all(visit);
    } else {
        answer(visit, "400 Bad Request", "drover: the body is malformed, or the head too large\n");
    }
}

static void visit_end(struct visit *visit)
{
    struct gateway *gateway = visit->gateway;
    visit_free(visit);
    (void)pthread_mutex_lock(&gateway->lock);
    gateway->connections--;
    (void)pthread_mutex_unlock(&gateway->lock);
    gateway_leave(gateway);
}

static void *visit_main(void *ctx)
{
    serve(ctx);
    visit_end(ctx);
    return NULL;
}

/* ---- listening ---- */

static void accept_one(struct gateway *gateway)
{
    int fd = listener_accept(&gateway->listener);
    if (fd < 0) {
        if (gateway->listener.paused_until_us > 0 && !gateway->pause_logged)
            LOG(LOG_WARN, "a connection of an agent has to wait",
                LOG_STR("error", strerror(errno)));
        gateway->pause_logged |= gateway->listener.paused_until_us > 0;
        return;
    }
    struct visit *visit = mem_alloc(sizeof *visit);
    visit->gateway = gateway;
    visit->pump.ends[0] = fd;
    visit->pump.ends[1] = -1;
    buf_init(&visit->head, HEAD_BYTES_MAX);
    (void)pthread_mutex_lock(&gateway->lock);
    bool room = gateway->connections < CONNECTIONS_MAX;
    gateway->connections += room;
    gateway->owners += room;
    (void)pthread_mutex_unlock(&gateway->lock);
    const struct thread_spec spec = {
        .body = visit_main, .ctx = visit, .stack_bytes = STACK_BYTES, .detached = true};
    if (!room) {
        answer(visit, "503 Service Unavailable", "drover: too many connections at once\n");
        visit_free(visit);
    } else if (thread_start(&spec, NULL, NULL) != RC_OK) {
        visit_end(visit);
    }
}

static void *listen_main(void *ctx)
{
    struct gateway *gateway = ctx;
    struct pollfd looks[2] = {{.fd = gateway->stop_fd, .events = POLLIN}};
    while (looks[0].revents == 0) {
        int timeout_ms;
        looks[1] = listener_want(&gateway->listener, &timeout_ms);
        if (poll(looks, COUNT_OF(looks), timeout_ms) < 0 && errno != EINTR)
            break;
        if (looks[0].revents == 0 && looks[1].revents)
            accept_one(gateway);
    }
    return NULL;
}

static char **copy_of(const char *const *rules)
{
    size_t count = 0;
    while (rules[count] != NULL)
        count++;
    char **copy = mem_array(count + 1, sizeof *copy);
    for (size_t i = 0; i < count; i++)
        copy[i] = mem_strdup(rules[i]);
    return copy;
}

enum rc gateway_start(const struct gateway_options *options, struct gateway **ret_gateway,
                      struct err *err)
{
    struct gateway *gateway = mem_alloc(sizeof *gateway);
    (void)pthread_mutex_init(&gateway->lock, NULL);
    gateway->owners = 1;
    gateway->rules = copy_of(options->rules);
    gateway->lookup = options->lookup != NULL ? options->lookup : getaddrinfo;
    gateway->listener.fd = -1;
    gateway->socket_path = mem_strdup(options->socket_path);
    gateway->stop_fd = eventfd(0, EFD_CLOEXEC);
    enum rc rc = gateway->stop_fd < 0
                     ? err_set(err, RC_IO, "IO_ERROR", "eventfd: %s", strerror(errno))
                     : listener_at_path(options->socket_path, &gateway->listener, err);
    const struct thread_spec spec = {
        .body = listen_main, .ctx = gateway, .stack_bytes = STACK_BYTES};
    if (rc == RC_OK)
        rc = thread_start(&spec, &gateway->thread, err);
    if (rc != RC_OK) {
        gateway_leave(gateway);
        return rc;
    }
    *ret_gateway = gateway;
    return RC_OK;
}

void gateway_stop(struct gateway *gateway)
{
    if (gateway == NULL)
        return;
    const uint64_t one = 1;
    (void)!write(gateway->stop_fd, &one, sizeof one);
    (void)pthread_join(gateway->thread, NULL);
    (void)unlink(gateway->socket_path);
    gateway_leave(gateway);
}
