#include "tests/unit/tiny_server.h"
#include "base/mem.h"
#include <arpa/inet.h>
#include <assert.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { REQUEST_BYTES_MAX = 512 * 1024, CONNECTIONS_MAX = 256 };

struct connection {
    struct tiny_server *server;
    int fd;
    pthread_t thread;
};

struct tiny_server {
    int fd;
    char url[64];
    pthread_t thread;
    struct connection connections[CONNECTIONS_MAX]; /* Closed when the server stops. */
    atomic_int count;
    atomic_bool stopping;
    tiny_handler *handler;
    void *ctx;
};

static size_t body_length(const char *request)
{
    const char *field = strcasestr(request, "\r\nContent-Length:");
    return field == NULL ? 0 : (size_t)strtoul(field + strlen("\r\nContent-Length:"), NULL, 10);
}

/* Reads one request whole; false when the client has gone. */
static bool read_request(int fd, char *to)
{
    size_t len = 0;
    for (;;) {
        to[len] = '\0';
        const char *end = strstr(to, "\r\n\r\n");
        if (end != NULL && len >= (size_t)(end - to) + 4 + body_length(to))
            return true;
        assert(len + 1 < REQUEST_BYTES_MAX);
        ssize_t got = read(fd, to + len, REQUEST_BYTES_MAX - 1 - len);
        if (got <= 0)
            return false;
        len += (size_t)got;
    }
}

static void *serve(void *arg)
{
    const struct connection *connection = arg;
    struct tiny_server *server = connection->server;
    char *request = mem_alloc(REQUEST_BYTES_MAX);
    while (!atomic_load(&server->stopping) && read_request(connection->fd, request) &&
           server->handler(server->ctx, request, connection->fd))
        ;
    shutdown(connection->fd, SHUT_RDWR);
    mem_free(request);
    return NULL;
}

static void *accept_all(void *arg)
{
    struct tiny_server *server = arg;
    for (;;) {
        int fd = accept(server->fd, NULL, NULL);
        if (fd < 0)
            return NULL;
        int index = atomic_load(&server->count);
        assert(index < CONNECTIONS_MAX);
        struct connection *connection = &server->connections[index];
        *connection = (struct connection){.server = server, .fd = fd};
        int failed = pthread_create(&connection->thread, NULL, serve, connection);
        assert(failed == 0);
        (void)failed;
        atomic_store(&server->count, index + 1);
    }
}

struct tiny_server *tiny_server_start(tiny_handler *handler, void *ctx)
{
    struct tiny_server *server = mem_alloc(sizeof *server);
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof at;
    server->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool listening = bind(server->fd, (struct sockaddr *)&at, sizeof at) == 0 &&
                     listen(server->fd, 16) == 0 &&
                     getsockname(server->fd, (struct sockaddr *)&at, &len) == 0;
    assert(listening);
    (void)listening;
    (void)snprintf(server->url, sizeof server->url, "http://127.0.0.1:%d", ntohs(at.sin_port));
    server->handler = handler;
    server->ctx = ctx;
    int failed = pthread_create(&server->thread, NULL, accept_all, server);
    assert(failed == 0);
    (void)failed;
    return server;
}

const char *tiny_server_url(const struct tiny_server *server)
{
    return server->url;
}

int tiny_server_connections(const struct tiny_server *server)
{
    return atomic_load(&server->count);
}

void tiny_server_stop(struct tiny_server *server)
{
    atomic_store(&server->stopping, true);
    shutdown(server->fd, SHUT_RDWR); /* Wakes accept. */
    pthread_join(server->thread, NULL);
    for (int i = 0; i < atomic_load(&server->count); i++) {
        shutdown(server->connections[i].fd, SHUT_RDWR); /* Wakes a read. */
        pthread_join(server->connections[i].thread, NULL);
        close(server->connections[i].fd);
    }
    close(server->fd);
    mem_free(server);
}

int tiny_connect(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int failed = connect(fd, (const struct sockaddr *)&address, sizeof address);
    assert(fd >= 0 && failed == 0);
    return fd;
}

void tiny_send(int fd, const char *text)
{
    size_t left = strlen(text);
    while (left > 0) {
        ssize_t sent = send(fd, text, left, MSG_NOSIGNAL);
        if (sent <= 0)
            return;
        text += sent;
        left -= (size_t)sent;
    }
}

void tiny_answer(int fd, const char *status, const char *type, const char *body)
{
    char head[256];
    (void)snprintf(head, sizeof head,
                   "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n\r\n", status, type,
                   strlen(body));
    tiny_send(fd, head);
    tiny_send(fd, body);
}
