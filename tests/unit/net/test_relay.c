/*
 * test_relay.c - bytes through the relay, both ways, many at a time, and what happens at the ends.
 */
#include "api/run_gate.h"
#include "base/fd.h"
#include "net/dial.h"
#include "net/relay.h"
#include "net/url.h"
#include "tests/unit/suites.h"
#include "tests/unit/tiny_server.h"
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[] = "/tmp/drover-relay-XXXXXX";
static char path[64];
static struct tiny_server *server;
static struct relay *relay;
static struct err err;

enum { BIG = 300 * 1024 };

/* A large answer, which must come whole. */
static bool large(void *ctx, const char *request, int fd)
{
    (void)ctx, (void)request;
    char text[BIG / 10 + 1];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    for (int i = 0; i < 10; i++)
        tiny_send(fd, text);
    return false;
}

static void setup(void)
{
    struct url url;
    ck_assert_ptr_nonnull(mkdtemp(dir));
    (void)snprintf(path, sizeof path, "%s/s", dir);
    server = tiny_server_start(large, NULL);
    ck_assert_int_eq(url_parse(tiny_server_url(server), &url, &err), RC_OK);
    const struct relay_options options = {
        .socket_path = path, .host = url.host, .port = url.port, .dial = dial_host};
    ck_assert_msg(relay_start(&options, &relay, &err) == RC_OK, "%s", err.text);
}

static void teardown(void)
{
    relay_stop(relay);
    tiny_server_stop(server);
    ck_assert_int_ne(access(path, F_OK), 0);
    ck_assert_int_eq(dir_remove(dir, NULL), RC_OK);
}

static size_t read_all(int fd)
{
    char chunk[4096];
    size_t total = 0;
    ssize_t got;
    while ((got = read(fd, chunk, sizeof chunk)) > 0)
        total += (size_t)got;
    return total;
}

START_TEST(a_request_and_a_large_answer_go_through)
{
    struct stat info;
    ck_assert_int_eq(stat(path, &info), 0);
    ck_assert_int_eq(info.st_mode & 0777, 0666); /* Whoever may enter the directory. */
    int fd = tiny_connect(path);
    tiny_send(fd, "GET / HTTP/1.1\r\n\r\n");
    ck_assert_uint_eq(read_all(fd), BIG);
    fd_close(fd);
}
END_TEST

/* What a request is answered with, up to a few bytes. */
static const char *first_of(const char *socket_path, const char *request)
{
    static char text[400];
    int fd = tiny_connect(socket_path);
    tiny_send(fd, request);
    size_t len = 0;
    ssize_t got;
    while (len < sizeof text - 1 && (got = read(fd, text + len, sizeof text - 1 - len)) > 0)
        len += (size_t)got;
    text[len] = '\0';
    fd_close(fd);
    return text;
}

/* Says what it was asked. */
static bool echo(void *ctx, const char *request, int fd)
{
    (void)ctx;
    tiny_answer(fd, "200 OK", "text/plain", request);
    return false;
}

START_TEST(a_gate_lets_run_tokens_pass_and_one_request_to_a_connection)
{
    struct url url;
    struct relay *gate = NULL;
    char at[64];
    (void)snprintf(at, sizeof at, "%s/gate", dir);
    struct tiny_server *behind = tiny_server_start(echo, NULL);
    ck_assert_int_eq(url_parse(tiny_server_url(behind), &url, &err), RC_OK);
    const struct relay_options options = {.socket_path = at,
                                          .host = url.host,
                                          .port = url.port,
                                          .dial = dial_host,
                                          .admit = run_gate_admit};
    ck_assert_msg(relay_start(&options, &gate, &err) == RC_OK, "%s", err.text);
    const char *passed = first_of(at, "GET /v1/runs HTTP/1.1\r\nHost: x\r\nConnection: keep-alive"
                                      "\r\nAuthorization: Bearer drun_1\r\n\r\n");
    ck_assert_msg(strstr(passed, "GET /v1/runs HTTP/1.1") != NULL, "%s", passed);
    ck_assert_ptr_nonnull(strstr(passed, "Connection: close"));
    ck_assert_ptr_null(strstr(passed, "keep-alive"));
    static const char *const refused[] = {"Bearer drv_0123", "bearer  drv_0123", "Basic drun_1",
                                          "Bearer Drun_1"};
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        char request[200];
        (void)snprintf(request, sizeof request,
                       "GET / HTTP/1.1\r\nHost: x\r\nauthorization: %s\r\n\r\n", refused[i]);
        const char *said = first_of(at, request);
        ck_assert_msg(strstr(said, "403 Forbidden") != NULL &&
                          strstr(said, "SOCKET_FOR_RUNS") != NULL,
                      "%s: %s", refused[i], said);
    }
    const char *twice = first_of(at, "GET / HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer drun_1\r\n"
                                     "Authorization: Bearer drv_2\r\n\r\n");
    ck_assert_msg(strstr(twice, "400 Bad Request") != NULL, "%s", twice);
    relay_stop(gate);
    tiny_server_stop(behind);
}
END_TEST

/* At the first port from here on that nobody has. */
static struct relay *start_at_port(int *ret_port)
{
    struct relay *inside = NULL;
    for (int port = 20000 + getpid() % 20000; inside == NULL && port < 60000; port++) {
        const struct relay_options options = {.listen_port = port, .target_path = path};
        if (relay_start(&options, &inside, &err) == RC_OK)
            *ret_port = port;
    }
    ck_assert_msg(inside != NULL, "%s", err.text);
    return inside;
}

START_TEST(a_port_leads_to_a_socket)
{
    int port = 0;
    struct relay *inside = start_at_port(&port);
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(connect(fd, (const struct sockaddr *)&address, size), 0);
    tiny_send(fd, "GET / HTTP/1.1\r\n\r\n");
    ck_assert_uint_eq(read_all(fd), BIG);
    fd_close(fd);
    relay_stop(inside);
}
END_TEST

START_TEST(more_than_there_is_room_for_wait_their_turn)
{
    enum { MANY = 80 };
    int fds[MANY];
    for (int i = 0; i < MANY; i++)
        fds[i] = tiny_connect(path);
    for (int i = 0; i < MANY; i++) {
        tiny_send(fds[i], "GET / HTTP/1.1\r\n\r\n");
        ck_assert_uint_eq(read_all(fds[i]), BIG);
        fd_close(fds[i]);
    }
}
END_TEST

START_TEST(one_that_leaves_makes_room_again)
{
    for (int i = 0; i < 200; i++)
        fd_close(tiny_connect(path));
    int fd = tiny_connect(path);
    tiny_send(fd, "GET / HTTP/1.1\r\n\r\n");
    ck_assert_uint_eq(read_all(fd), BIG);
    fd_close(fd);
}
END_TEST

START_TEST(a_stop_breaks_what_is_open)
{
    int fd = tiny_connect(path);
    relay_stop(relay);
    relay = NULL;
    ck_assert_uint_eq(read_all(fd), 0);
    fd_close(fd);
}
END_TEST

START_TEST(a_server_that_is_not_there_closes_the_connection)
{
    struct relay *other = NULL;
    char more[80];
    (void)snprintf(more, sizeof more, "%s2", path);
    relay_stop(relay);
    const struct relay_options options = {
        .socket_path = path, .host = "127.0.0.1", .port = 1, .dial = dial_host};
    ck_assert_int_eq(relay_start(&options, &relay, &err), RC_OK);
    int fd = tiny_connect(path);
    ck_assert_uint_eq(read_all(fd), 0);
    fd_close(fd);
    char deep[300];
    (void)snprintf(deep, sizeof deep, "%s/%0250d", dir, 1);
    const struct relay_options wrong = {
        .socket_path = deep, .host = "127.0.0.1", .port = 1, .dial = dial_host};
    ck_assert_int_eq(relay_start(&wrong, &other, &err), RC_TOO_LARGE);
    ck_assert_ptr_null(other);
}
END_TEST

Suite *relay_suite(void)
{
    Suite *suite = suite_create("relay");
    TCase *tests = tcase_create("relay");
    tcase_set_timeout(tests, 20);
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, a_request_and_a_large_answer_go_through);
    tcase_add_test(tests, a_gate_lets_run_tokens_pass_and_one_request_to_a_connection);
    tcase_add_test(tests, a_port_leads_to_a_socket);
    tcase_add_test(tests, more_than_there_is_room_for_wait_their_turn);
    tcase_add_test(tests, one_that_leaves_makes_room_again);
    tcase_add_test(tests, a_stop_breaks_what_is_open);
    tcase_add_test(tests, a_server_that_is_not_there_closes_the_connection);
    suite_add_tcase(suite, tests);
    return suite;
}
