/*
 * http.c - the server: its listeners, its beginning and its end.
 */
#include "http/http.h"
#include "base/mem.h"
#include "http/conn.h"
#include "http/parting.h"
#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum {
    BACKLOG = 1024,
    SOCKET_BACKLOG = 128,
    PORT_ACCEPTS = 64,   /* In one turn of the loop. */
    SOCKET_ACCEPTS = 16, /* In HTTP_ACCEPT_PAUSE_MS. */
};

/* ---- Listening ---- */

static void on_accept(struct evconnlistener *ev, evutil_socket_t fd, struct sockaddr *address,
                      int len, void *arg)
{
    (void)ev, (void)address, (void)len;
    conn_new(arg, fd);
}

/* Out of descriptors: retrying at once would only spin.  The sweep enables the listener again. */
static void on_accept_error(struct evconnlistener *listener, void *arg)
{
    (void)arg;
    evconnlistener_disable(listener);
}

static void on_sweep(void *arg)
{
    struct http *http = arg;
    for (int i = 0; i < HTTP_LISTENER_COUNT; i++) {
        struct http_listener *listener = &http->listeners[i];
        if (listener->ev != NULL && !listener->paused)
            evconnlistener_enable(listener->ev);
    }
    conn_sweep(http);
    if (LIST_EMPTY(&http->conns))
        loop_pace(http->sweep, HTTP_SWEEP_IDLE_MS);
}

static enum rc resolve(const struct http_options *options, struct addrinfo **ret_found,
                       struct err *err)
{
    char port[16];
    (void)snprintf(port, sizeof port, "%d", options->port);
    struct addrinfo hints = {.ai_family = AF_UNSPEC,
                             .ai_socktype = SOCK_STREAM,
                             .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    int rc = getaddrinfo(options->host, port, &hints, ret_found);
    if (rc != 0)
        return err_set(err, RC_INVALID, "LISTEN_ADDRESS", "cannot listen on %s: %s", options->host,
                       gai_strerror(rc));
    return RC_OK;
}

/* *ret_fd is the listener's. */
static enum rc bind_to(struct http_listener *to, const struct sockaddr *address, socklen_t len,
                       const char *name, int *ret_fd, struct err *err)
{
    int backlog = to == &to->http->listeners[HTTP_SOCKET] ? SOCKET_BACKLOG : BACKLOG;
    unsigned flags = LEV_OPT_REUSEABLE | LEV_OPT_CLOSE_ON_EXEC | LEV_OPT_CLOSE_ON_FREE;
    struct evconnlistener *listener = evconnlistener_new_bind(
        loop_base(to->http->options.loop), on_accept, to, flags, backlog, address, (int)len);
    if (listener == NULL)
        return err_set(err, errno == EADDRINUSE ? RC_CONFLICT : RC_IO, "LISTEN",
                       "cannot listen on %s: %s%s", name, strerror(errno),
                       errno == EADDRINUSE ? "; --listen HOST:PORT takes another" : "");
    evconnlistener_set_error_cb(listener, on_accept_error);
    to->ev = listener;
    *ret_fd = evconnlistener_get_fd(listener);
    return RC_OK;
}

static int port_of(int fd)
{
    struct sockaddr_storage address = {0};
    socklen_t len = sizeof address;
    char text[16] = "";
    int64_t port = 0;
    if (getsockname(fd, (struct sockaddr *)&address, &len) == 0)
        (void)getnameinfo((struct sockaddr *)&address, len, NULL, 0, text, sizeof text,
                          NI_NUMERICSERV);
    return text_to_i64(text, &port) ? (int)port : 0;
}

static enum rc listen_on_port(struct http *http, struct err *err)
{
    const struct http_options *options = &http->options;
    struct addrinfo *found = NULL;
    enum rc rc = resolve(options, &found, err);
    if (rc != RC_OK)
        return rc;
    char name[NI_MAXHOST + 16];
    int fd = -1;
    (void)snprintf(name, sizeof name, "%s port %d", options->host, options->port);
    rc = bind_to(&http->listeners[HTTP_PORT], found->ai_addr, found->ai_addrlen, name, &fd, err);
    freeaddrinfo(found);
    if (rc == RC_OK)
        http->port = port_of(fd);
    return rc;
}

/* Removes the socket of an earlier process, which has ended: it would hold the store's lock. */
static enum rc listen_on_socket(struct http *http, struct err *err)
{
    const char *path = http->options.socket_path;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (path == NULL)
        return RC_OK;
    if (strlen(path) >= sizeof address.sun_path)
        return err_set(err, RC_TOO_LARGE, "LISTEN", "the path %s is too long for a socket", path);
    text_copy(address.sun_path, sizeof address.sun_path, path);
    (void)unlink(path);
    int fd = -1;
    enum rc rc = bind_to(&http->listeners[HTTP_SOCKET], (struct sockaddr *)&address, sizeof address,
                         path, &fd, err);
    if (rc == RC_OK && chmod(path, 0666) != 0)
        rc = err_set(err, RC_IO, "LISTEN", "cannot open %s to agents: %s", path, strerror(errno));
    return rc;
}

static void stop_listening(struct http *http)
{
    for (int i = 0; i < HTTP_LISTENER_COUNT; i++) {
        struct http_listener *listener = &http->listeners[i];
        if (listener->ev != NULL)
            evconnlistener_free(listener->ev);
        listener->ev = NULL;
    }
    if (http->options.socket_path != NULL)
        (void)unlink(http->options.socket_path);
}

static void on_resume(void *arg)
{
    admit_resume(arg);
}

static void listener_init(struct http *http, struct http_listener *listener)
{
    const struct http_options *options = &http->options;
    bool socket = listener == &http->listeners[HTTP_SOCKET];
    listener->http = http;
    listener->open_max = socket ? options->socket_connections_max : options->connections_max;
    listener->reserve = socket ? 0 : options->reserve;
    listener->accepted_max = socket ? SOCKET_ACCEPTS : PORT_ACCEPTS;
    listener->resume = socket ? loop_every(options->loop, 0, on_resume, listener) : NULL;
}

enum rc http_new(const struct http_options *options, struct http **ret_http, struct err *err)
{
    assert(options->request_bytes >= sizeof(struct http_request));
    struct http *http = mem_alloc(sizeof *http);
    http->options = *options;
    http->random = random_from_os();
    http->caps = caps_new(&options->caps);
    LIST_INIT(&http->conns);
    TAILQ_INIT(&http->work_list);
    LIST_INIT(&http->partings);
    http->work = event_new(loop_base(options->loop), -1, 0, conn_on_work, http);
    assert(http->work != NULL);
    http->sweep = loop_every(options->loop, HTTP_SWEEP_IDLE_MS, on_sweep, http);
    for (int i = 0; i < HTTP_LISTENER_COUNT; i++)
        listener_init(http, &http->listeners[i]);
    enum rc rc = listen_on_port(http, err);
    if (rc == RC_OK)
        rc = listen_on_socket(http, err);
    if (rc != RC_OK) {
        http_free(http);
        return rc;
    }
    *ret_http = http;
    return RC_OK;
}

void http_free(struct http *http)
{
    if (http == NULL)
        return;
    stop_listening(http);
    struct conn *conn;
    while ((conn = LIST_FIRST(&http->conns)) != NULL)
        conn_close(conn);
    for (int i = 0; i < HTTP_LISTENER_COUNT; i++)
        loop_event_free(http->listeners[i].resume);
    assert(http->held == 0 && http->answering == 0);
    parting_end_all(http);
    loop_event_free(http->sweep);
    event_free(http->work);
    caps_free(http->caps);
    mem_free(http);
}

int http_port(const struct http *http)
{
    return http->port;
}

void http_drain(struct http *http)
{
    if (http->draining)
        return;
    http->draining = true;
    stop_listening(http);
    struct conn *conn, *next;
    for (conn = LIST_FIRST(&http->conns); conn != NULL; conn = next) {
        next = LIST_NEXT(conn, all);
        if (conn->phase == CONN_HEAD && !conn->first_byte_us)
            conn_close(conn);
    }
}

bool http_draining(const struct http *http)
{
    return http->draining;
}

int64_t http_busy(const struct http *http)
{
    return http->held + http->answering;
}

void http_stats(const struct http *http, struct http_stats *ret_stats)
{
    *ret_stats = (struct http_stats){.connections = atomic_load(&http->connections),
                                     .refused_connections = atomic_load(&http->refused_connections),
                                     .evicted_connections = atomic_load(&http->evicted_connections),
                                     .requests = atomic_load(&http->requests)};
}
