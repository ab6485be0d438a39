#include "tests/store/proxy.h"
#include "base/fd.h"
#include "base/mem.h"
#include "store/pq_lib.h"
#include <arpa/inet.h>
#include <check.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { HOLD_MS = 300, POLL_MS = 20 };

struct line {
    struct proxy *proxy;
    int client, server;
};

static const char *option(const PQconninfoOption *options, const char *name)
{
    for (; options->keyword != NULL; options++)
        if (strcmp(options->keyword, name) == 0)
            return options->val;
    return NULL;
}

static int connect_unix(const char *dir, const char *port)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s/.s.PGSQL.%s", dir, port);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

static int connect_tcp(const char *host, const char *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)strtol(port, NULL, 10))};
    ck_assert_int_eq(inet_pton(AF_INET, host, &address.sin_addr), 1);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

static int connect_server(const char *url)
{
    PQconninfoOption *options = pq->conninfoParse(url, NULL);
    const char *host = option(options, "host");
    const char *port = option(options, "port");
    if (port == NULL)
        port = "5432";
    int fd = host[0] == '/' ? connect_unix(host, port) : connect_tcp(host, port);
    pq->conninfoFree(options);
    return fd;
}

static void pause_ms(long ms)
{
    struct timespec pause = {.tv_nsec = ms * 1000000L};
    nanosleep(&pause, NULL);
}

/* The bytes hold a COMMIT, and it is to be cut. */
static void cut(struct line *line, enum proxy_cut how, const char *bytes, size_t len)
{
    char answer[4096];
    if (how == CUT_AFTER) {
        ck_assert_int_eq(write(line->server, bytes, len), (ssize_t)len);
        ck_assert_int_gt(read(line->server, answer, sizeof answer), 0);
        if (line->proxy->before_cut != NULL)
            line->proxy->before_cut(line->proxy->ctx);
    }
    atomic_fetch_add(&line->proxy->cuts, 1);
    fd_close(line->client);
    line->client = -1;
    if (how == CUT_HOLD)
        pause_ms(HOLD_MS);
}

/* False when the line is over. */
static bool pass(struct line *line, int from, int to)
{
    char bytes[65536];
    ssize_t len = read(from, bytes, sizeof bytes);
    if (len <= 0)
        return false;
    if (from == line->client && memmem(bytes, (size_t)len, "COMMIT", 7) != NULL) {
        int how = atomic_exchange(&line->proxy->cut, CUT_NOT);
        if (how != CUT_NOT) {
            cut(line, (enum proxy_cut)how, bytes, (size_t)len);
            return false;
        }
    }
    struct err err;
    return fd_write_all(to, bytes, (size_t)len, &err) == RC_OK;
}

static void *line_main(void *arg)
{
    struct line *line = arg;
    bool open = true;
    while (open && !atomic_load(&line->proxy->ends)) {
        struct pollfd fds[] = {{.fd = line->client, .events = POLLIN},
                               {.fd = line->server, .events = POLLIN}};
        if (poll(fds, COUNT_OF(fds), POLL_MS) <= 0)
            continue;
        if (fds[0].revents != 0)
            open = pass(line, line->client, line->server);
        if (open && fds[1].revents != 0)
            open = pass(line, line->server, line->client);
    }
    fd_close(line->client);
    fd_close(line->server);
    atomic_fetch_sub(&line->proxy->threads, 1);
    mem_free(line);
    return NULL;
}

static void *proxy_main(void *arg)
{
    struct proxy *proxy = arg;
    while (!atomic_load(&proxy->ends)) {
        struct pollfd fds = {.fd = proxy->listen_fd, .events = POLLIN};
        if (poll(&fds, 1, POLL_MS) <= 0)
            continue;
        int client = accept4(proxy->listen_fd, NULL, NULL, SOCK_CLOEXEC);
        if (atomic_load(&proxy->shuts) && atomic_load(&proxy->cuts) > 0) {
            fd_close(client);
            continue;
        }
        struct line *line = mem_alloc(sizeof *line);
        line->proxy = proxy;
        line->client = client;
        line->server = connect_server(proxy->server_url);
        atomic_fetch_add(&proxy->threads, 1);
        pthread_t thread;
        ck_assert_int_eq(pthread_create(&thread, NULL, line_main, line), 0);
        pthread_detach(thread);
    }
    return NULL;
}

void proxy_start(struct proxy *proxy, const char *server_url)
{
    ck_assert_int_eq(pq_lib_load(NULL), RC_OK);
    proxy->server_url = server_url;
    proxy->listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    ck_assert_int_eq(bind(proxy->listen_fd, (struct sockaddr *)&address, len), 0);
    ck_assert_int_eq(listen(proxy->listen_fd, 16), 0);
    ck_assert_int_eq(getsockname(proxy->listen_fd, (struct sockaddr *)&address, &len), 0);
    proxy->port = ntohs(address.sin_port);
    ck_assert_int_eq(pthread_create(&proxy->thread, NULL, proxy_main, proxy), 0);
}

void proxy_stop(struct proxy *proxy)
{
    atomic_store(&proxy->ends, true);
    pthread_join(proxy->thread, NULL);
    while (atomic_load(&proxy->threads) > 0)
        pause_ms(1);
    fd_close(proxy->listen_fd);
}

char *proxy_url(const struct proxy *proxy, struct arena *arena)
{
    PQconninfoOption *options = pq->conninfoParse(proxy->server_url, NULL);
    const char *password = option(options, "password");
    char *url = arena_printf(arena, "postgres://%s%s%s@127.0.0.1:%d/%s", option(options, "user"),
                             password == NULL ? "" : ":", password == NULL ? "" : password,
                             proxy->port, option(options, "dbname"));
    pq->conninfoFree(options);
    return url;
}
