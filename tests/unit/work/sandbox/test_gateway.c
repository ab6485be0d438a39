/*
 * test_gateway.c - who gets through the gateway, who is told no, and how it ends.
 */
#include "base/arena.h"
#include "base/fd.h"
#include "net/url.h"
#include "tests/unit/suites.h"
#include "tests/unit/tiny_server.h"
#include "work/sandbox/gateway.h"
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static char dir[] = "/tmp/drover-gateway-XXXXXX";
static char path[64], listed[64], below[64], port[16], seen[4096];
static char here[INET6_ADDRSTRLEN]; /* What names below here.test are. */
static struct tiny_server *server;
static struct gateway *gateway;
static struct err err;

static bool hello(void *ctx, const char *request, int fd)
{
    (void)ctx;
    (void)snprintf(seen, sizeof seen, "%s", request);
    tiny_send(fd, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello");
    return false;
}

static int lookup(const char *host, const char *at_port, const struct addrinfo *hints,
                  struct addrinfo **ret_found)
{
    return getaddrinfo(text_ends(host, ".here.test") ? here : host, at_port, hints, ret_found);
}

static void setup(void)
{
    struct url url;
    ck_assert_ptr_nonnull(mkdtemp(dir));
    (void)snprintf(path, sizeof path, "%s/s", dir);
    server = tiny_server_start(hello, NULL);
    ck_assert_int_eq(url_parse(tiny_server_url(server), &url, &err), RC_OK);
    (void)snprintf(listed, sizeof listed, "127.0.0.1:%d", url.port);
    (void)snprintf(below, sizeof below, "*.here.test:%d", url.port);
    (void)snprintf(port, sizeof port, "%d", url.port);
    const char *const rules[] = {listed, below, "*.invalid", NULL};
    const struct gateway_options options = {.rules = rules, .socket_path = path, .lookup = lookup};
    ck_assert_msg(gateway_start(&options, &gateway, &err) == RC_OK, "%s", err.text);
}

static void teardown(void)
{
    gateway_stop(gateway);
    tiny_server_stop(server);
    ck_assert_int_ne(access(path, F_OK), 0);
    ck_assert_int_eq(dir_remove(dir, NULL), RC_OK);
}

static const char *ask(const char *request)
{
    static char answer[4096];
    CLEANUP(fd_closep) int fd = tiny_connect(path);
    size_t len = 0;
    ssize_t got;
    ck_assert_int_eq(fd_write_all(fd, request, strlen(request), NULL), RC_OK);
    while ((got = read(fd, answer + len, sizeof answer - 1 - len)) > 0)
        len += (size_t)got;
    answer[len] = '\0';
    return answer;
}

START_TEST(a_listed_host_is_reached_by_both_ways)
{
    char request[300];
    (void)snprintf(request, sizeof request,
                   "GET http://%s/x HTTP/1.1\r\nHost: a\r\nA: b\r\nProxy-Connection: keep-alive\r\n"
                   "Proxy-Authorization: secret\r\n\r\n",
                   listed);
    ck_assert_ptr_nonnull(strstr(ask(request), "hello"));
    char want[200];
    (void)snprintf(want, sizeof want,
                   "GET /x HTTP/1.1\r\nHost: %s\r\nA: b\r\nConnection: close\r\n", listed);
    ck_assert_msg(strstr(seen, want) != NULL, "%s", seen);
    ck_assert_ptr_null(strstr(seen, "secret"));
    (void)snprintf(request, sizeof request,
                   "CONNECT %s HTTP/1.1\r\nHost: a\r\n\r\nGET /y HTTP/1.1\r\nHost: b\r\n\r\n",
                   listed);
    const char *answer = ask(request);
    ck_assert_ptr_nonnull(strstr(answer, "200 Connection established"));
    ck_assert_ptr_nonnull(strstr(answer, "hello"));
    ck_assert_ptr_nonnull(strstr(seen, "GET /y"));
}
END_TEST

static const struct {
    const char *request, *status;
} refused[] = {
    {"CONNECT 127.0.0.1:1 HTTP/1.1\r\nHost: x\r\n\r\n", "403"},
    {"CONNECT evil.example:443 HTTP/1.1\r\nHost: x\r\n\r\n", "403"},
    {"GET http://evil.example/ HTTP/1.1\r\nHost: x\r\n\r\n", "403"},
    {"CONNECT a.invalid:443 HTTP/1.1\r\nHost: x\r\n\r\n", "502"},
    {"GET / HTTP/1.1\r\n\r\n", "400"},
    {"nonsense\r\n\r\n", "400"},
    {"nonsense\n", "400"},
    {"CONNECT evil.example:443 HTTP/1.1\r\n\r\n", "400"},
};

START_TEST(all_else_is_told_no)
{
    char text[GATEWAY_TEXT_BYTES];
    seen[0] = '\0';
    const char *answer = ask(refused[_i].request);
    ck_assert_msg(strncmp(answer, "HTTP/1.1 ", 9) == 0 &&
                      strncmp(answer + 9, refused[_i].status, 3) == 0,
                  "%s", answer);
    ck_assert_str_eq(seen, "");
    ck_assert_int_eq(gateway_next_refusal(gateway, text), refused[_i].status[2] == '3');
}
END_TEST

/* Where the head is read in two ways, the host would be asked for what was never checked. */
static const char *const doubtful[] = {
    "GET http://%s/x HTTP/1.1\r\nHost: a\r\nA: b\nHost: evil\r\n\r\n",
    "GET http://%s/x HTTP/1.1\r\nHost: a\r\nA: b\rHost: evil\r\n\r\n",
    "GET http://%s/x HTTP/1.1\nHost: evil\r\n\r\n",
    "GET http://%s/x HTTP/1.1\r\nHost: a\r\nHost: evil\r\n\r\n",
    "GET http://%s/x HTTP/1.1\r\nHost: a\r\nA: b\r\n Host: evil\r\n\r\n",
    "GET http://%s/x HTTP/1.1\r\nHost: a\r\nHost : evil\r\n\r\n",
    "POST http://%s/x HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
    ("POST http://%s/x HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n"
     "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    "POST http://%s/x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0x1\r\na\r\n",
};

START_TEST(a_doubtful_head_is_refused)
{
    char request[300];
    seen[0] = '\0';
    (void)snprintf(request, sizeof request, doubtful[_i], listed);
    const char *answer = ask(request);
    ck_assert_msg(text_starts(answer, "HTTP/1.1 400 "), "%s", answer);
    ck_assert_str_eq(seen, "");
}
END_TEST

/* The tiny server shows all that came with the first request. */
START_TEST(nothing_behind_a_request_is_passed_on)
{
    static const char *const requests[] = {
        "GET http://%s/x HTTP/1.1\r\nHost: a\r\nConnection: Secret\r\nSecret: s\r\n\r\n"
        "GET / HTTP/1.1\r\nHost: evil\r\n\r\n",
        "POST http://%s/x HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody"
        "GET / HTTP/1.1\r\nHost: evil\r\n\r\n",
        "POST http://%s/x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
        "4\r\nbody\r\n0\r\n\r\nGET / HTTP/1.1\r\nHost: evil\r\n\r\n",
    };
    char request[300];
    (void)snprintf(request, sizeof request, requests[_i], listed);
    ck_assert_ptr_nonnull(strstr(ask(request), "hello"));
    ck_assert_msg(strstr(seen, "evil") == NULL, "%s", seen);
    ck_assert_ptr_null(strstr(seen, "Secret"));
    ck_assert(_i == 0 || strstr(seen, "body") != NULL);
}
END_TEST

/* The first address of this machine that is not of the loopback; false: it has none. */
static bool find_own_address(void)
{
    struct ifaddrs *all = NULL;
    bool found = false;
    ck_assert_int_eq(getifaddrs(&all), 0);
    for (const struct ifaddrs *at = all; at != NULL && !found; at = at->ifa_next) {
        if (at->ifa_addr == NULL || at->ifa_addr->sa_family != AF_INET ||
            (at->ifa_flags & IFF_LOOPBACK))
            continue;
        const struct sockaddr_in *in = (const void *)at->ifa_addr;
        found = inet_ntop(AF_INET, &in->sin_addr, here, sizeof here) != NULL;
    }
    freeifaddrs(all);
    return found;
}

START_TEST(a_rule_with_a_star_does_not_lead_to_this_machine)
{
    static const char *const inside[] = {"", "127.0.0.1", "::1", "169.254.1.1", "10.255.255.1"};
    char request[200], text[GATEWAY_TEXT_BYTES];
    text_copy(here, sizeof here, inside[_i]);
    if (_i == 0 && !find_own_address())
        text_copy(here, sizeof here, "::ffff:127.0.0.1"); /* This machine has no other. */
    (void)snprintf(request, sizeof request, "CONNECT a.here.test:%s HTTP/1.1\r\nHost: x\r\n\r\n",
                   port);
    const char *answer = ask(request);
    ck_assert_msg(text_starts(answer, "HTTP/1.1 403 "), "%s: %s", here, answer);
    ck_assert(gateway_next_refusal(gateway, text));
}
END_TEST

START_TEST(a_refusal_is_told_once_for_each_host)
{
    char text[GATEWAY_TEXT_BYTES];
    for (int i = 0; i < 3; i++)
        (void)ask("CONNECT a.example:443 HTTP/1.1\r\nHost: x\r\n\r\n");
    (void)ask("CONNECT b.example:443 HTTP/1.1\r\nHost: x\r\n\r\n");
    ck_assert(gateway_next_refusal(gateway, text));
    ck_assert_str_eq(text, "a.example:443: not in agent.egress");
    ck_assert(gateway_next_refusal(gateway, text));
    ck_assert_str_eq(text, "b.example:443: not in agent.egress");
    ck_assert(!gateway_next_refusal(gateway, text));
    ck_assert(!gateway_next_refusal(NULL, text));
}
END_TEST

START_TEST(a_head_without_an_end_is_cut_off)
{
    char chunk[1024];
    CLEANUP(fd_closep) int fd = tiny_connect(path);
    memset(chunk, 'x', sizeof chunk);
    for (int i = 0; i < 64; i++) {
        if (send(fd, chunk, sizeof chunk, MSG_NOSIGNAL) < 0)
            break;
    }
    ck_assert_int_le((int)read(fd, chunk, sizeof chunk), 0);
}
END_TEST

START_TEST(who_is_one_too_many_is_told_so)
{
    enum { MANY = 70 };
    int fds[MANY];
    char chunk[64] = "";
    for (int i = 0; i < MANY; i++)
        fds[i] = tiny_connect(path);
    ck_assert_int_gt((int)read(fds[MANY - 1], chunk, sizeof chunk - 1), 0);
    ck_assert_ptr_nonnull(strstr(chunk, "503"));
    for (int i = 0; i < MANY; i++)
        fd_close(fds[i]);
}
END_TEST

START_TEST(a_long_path_is_no_hindrance)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct gateway *deep;
    const char *long_dir = dir;
    for (int i = 0; i < 10; i++)
        long_dir = arena_printf(&arena, "%s/a-name-that-is-rather-long", long_dir);
    ck_assert_int_eq(dir_make(long_dir, 0700, NULL), RC_OK);
    const char *const rules[] = {"a.example", NULL};
    const char *socket_path = arena_printf(&arena, "%s/s", long_dir);
    const struct gateway_options options = {.rules = rules, .socket_path = socket_path};
    ck_assert_msg(gateway_start(&options, &deep, &err) == RC_OK, "%s", err.text);
    ck_assert(file_exists(socket_path));
    gateway_stop(deep);
    ck_assert(!file_exists(socket_path));
}
END_TEST

Suite *gateway_suite(void)
{
    Suite *suite = suite_create("gateway");
    TCase *tests = tcase_create("gateway");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 30);
    tcase_add_test(tests, a_listed_host_is_reached_by_both_ways);
    tcase_add_loop_test(tests, all_else_is_told_no, 0, (int)COUNT_OF(refused));
    tcase_add_loop_test(tests, a_doubtful_head_is_refused, 0, (int)COUNT_OF(doubtful));
    tcase_add_loop_test(tests, nothing_behind_a_request_is_passed_on, 0, 3);
    tcase_add_loop_test(tests, a_rule_with_a_star_does_not_lead_to_this_machine, 0, 5);
    tcase_add_test(tests, a_refusal_is_told_once_for_each_host);
    tcase_add_test(tests, a_head_without_an_end_is_cut_off);
    tcase_add_test(tests, who_is_one_too_many_is_told_so);
    tcase_add_test(tests, a_long_path_is_no_hindrance);
    suite_add_tcase(suite, tests);
    return suite;
}
