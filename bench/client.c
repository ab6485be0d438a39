#include "bench/client.h"
#include "base/fd.h"
#include "base/mem.h"
#include "bench/bench.h"
#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    ANSWER_BYTES_MAX = 4 * 1024 * 1024,
    REQUEST_BYTES_MAX = 4 * 1024 * 1024,
    READ_BYTES = 256 * 1024,
    EVENTS_MAX = 256,
    STATUS_AT = 9, /* HTTP/1.1 200 */
    HEAD_BYTES_MAX = 8 * 1024,
};

struct client_conn {
    struct client *client;
    void *owner;
    int fd;
    struct buf in;
    struct buf out; /* What the socket did not take; usually empty. */
    bool waiting;   /* A request has no answer yet. */
};

struct client {
    int epoll_fd;
    int port;
    client_answered *answered;
    struct client_conn *conns;
    size_t count;
    char bytes[READ_BYTES];
};

int client_dial(int port)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof to) != 0)
        bench_die("cannot connect to port %d: %s", port, strerror(errno));
    int on = 1;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
}

static void conn_dial(struct client_conn *conn)
{
    struct client *client = conn->client;
    struct err err = {0};
    conn->fd = client_dial(client->port);
    bench_must(fd_set_nonblocking(conn->fd, &err), &err, "client");
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = conn};
    if (epoll_ctl(client->epoll_fd, EPOLL_CTL_ADD, conn->fd, &event) != 0)
        bench_die("epoll: %s", strerror(errno));
}

struct client *client_new(const struct client_options *options)
{
    struct client *client = mem_alloc(sizeof *client);
    client->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    client->port = options->port;
    client->answered = options->answered;
    client->count = options->connections;
    client->conns = mem_array(client->count, sizeof *client->conns);
    for (size_t i = 0; i < client->count; i++) {
        struct client_conn *conn = &client->conns[i];
        conn->client = client;
        buf_init(&conn->in, ANSWER_BYTES_MAX);
        buf_init(&conn->out, REQUEST_BYTES_MAX);
        conn_dial(conn);
    }
    return client;
}

void client_free(struct client *client)
{
    if (client == NULL)
        return;
    for (size_t i = 0; i < client->count; i++) {
        struct client_conn *conn = &client->conns[i];
        fd_close(conn->fd);
        buf_release(&conn->in);
        buf_release(&conn->out);
    }
    fd_close(client->epoll_fd);
    mem_free(client->conns);
    mem_free(client);
}

struct client_conn *client_conn(struct client *client, size_t index)
{
    assert(index < client->count);
    return &client->conns[index];
}

void client_revive(struct client_conn *conn)
{
    char byte;
    assert(!conn->waiting);
    if (recv(conn->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN)
        return;
    fd_close(conn->fd);
    conn_dial(conn);
}

void client_set_owner(struct client_conn *conn, void *owner)
{
    conn->owner = owner;
}

void *client_owner(const struct client_conn *conn)
{
    return conn->owner;
}

static void want_to_write(struct client_conn *conn, bool want)
{
    struct epoll_event event = {.events = EPOLLIN | (want ? EPOLLOUT : 0), .data.ptr = conn};
    if (epoll_ctl(conn->client->epoll_fd, EPOLL_CTL_MOD, conn->fd, &event) != 0)
        bench_die("epoll: %s", strerror(errno));
}

/* How many bytes the socket took. */
static size_t send_some(struct client_conn *conn, struct str bytes)
{
    ssize_t sent = send(conn->fd, bytes.at, bytes.len, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno != EAGAIN)
        bench_die("the server closed a connection: %s", strerror(errno));
    return sent < 0 ? 0 : (size_t)sent;
}

void client_send(struct client_conn *conn, struct str request)
{
    assert(!conn->waiting && conn->out.len == 0);
    conn->waiting = true;
    size_t sent = send_some(conn, request);
    if (sent == request.len)
        return;
    buf_add(&conn->out, request.at + sent, request.len - sent);
    want_to_write(conn, true);
}

static void send_rest(struct client_conn *conn)
{
    buf_drop(&conn->out, send_some(conn, buf_str(&conn->out)));
    if (conn->out.len == 0)
        want_to_write(conn, false);
}

/* Bytes of head and body together; 0: not whole yet. */
static size_t answer_parse(struct str in, struct client_answer *ret_answer)
{
    static const char length_name[] = "\r\nContent-Length: ", end[] = "\r\n\r\n";
    const char *behind = memmem(in.at, in.len, end, strlen(end));
    if (behind == NULL || in.len < STATUS_AT + 3)
        return 0;
    size_t head = (size_t)(behind - in.at) + strlen(end);
    const char *length = memmem(in.at, head, length_name, strlen(length_name));
    size_t body = 0;
    for (const char *at = length != NULL ? length + strlen(length_name) : end;
         *at >= '0' && *at <= '9'; at++)
        body = body * 10 + (size_t)(*at - '0');
    if (in.len < head + body)
        return 0;
    const char *digits = in.at + STATUS_AT;
    ret_answer->status = (digits[0] - '0') * 100 + (digits[1] - '0') * 10 + digits[2] - '0';
    ret_answer->body = (struct str){in.at + head, body};
    return head + body;
}

static void receive(struct client_conn *conn)
{
    struct client *client = conn->client;
    ssize_t got = recv(conn->fd, client->bytes, sizeof client->bytes, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got <= 0 && !conn->waiting) {
        client_revive(conn);
        return;
    }
    if (got <= 0)
        bench_die("the server closed a connection with a request on it");
    buf_add(&conn->in, client->bytes, (size_t)got);
    struct client_answer answer;
    if (answer_parse(buf_str(&conn->in), &answer) == 0)
        return;
    assert(conn->waiting);
    conn->waiting = false;
    client->answered(conn, &answer);
    buf_clear(&conn->in);
}

void client_poll(struct client *client, int wait_ms)
{
    struct epoll_event events[EVENTS_MAX];
    int count = epoll_wait(client->epoll_fd, events, EVENTS_MAX, wait_ms);
    for (int i = 0; i < count; i++) {
        struct client_conn *conn = events[i].data.ptr;
        if (events[i].events & EPOLLOUT)
            send_rest(conn);
        if (events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR))
            receive(conn);
    }
}

void request_write(struct buf *to, const struct request_head *head, struct str body)
{
    buf_addf(to, "%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\n", head->method,
             head->path, head->token);
    if (body.len > 0)
        buf_addf(to, "Content-Type: application/json\r\nContent-Length: %zu\r\n", body.len);
    buf_adds(to, "\r\n");
    buf_add(to, body.at, body.len);
}

int client_get(int port, const char *path, const char *token, struct buf *to)
{
    CLEANUP(fd_closep) int fd = client_dial(port);
    CLEANUP(buf_release) struct buf request, in;
    buf_init(&request, HEAD_BYTES_MAX);
    buf_init(&in, ANSWER_BYTES_MAX);
    request_write(&request, &(struct request_head){"GET", path, token}, (struct str){0});
    struct err err = {0};
    bench_must(fd_write_all(fd, request.data, request.len, &err), &err, path);
    struct client_answer answer;
    while (answer_parse(buf_str(&in), &answer) == 0) {
        char bytes[16 * 1024];
        ssize_t got = recv(fd, bytes, sizeof bytes, 0);
        if (got <= 0)
            bench_die("no answer to GET %s", path);
        buf_add(&in, bytes, (size_t)got);
    }
    buf_add(to, answer.body.at, answer.body.len);
    return answer.status;
}
