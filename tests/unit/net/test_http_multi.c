/*
 * test_http_multi.c - many requests at once against a real server in a thread.
 */
#include "net/http_multi.h"
#include "tests/unit/suites.h"
#include "tests/unit/tiny_server.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { ROUNDS_MAX = 2000, WAIT_MS = 20 };

/* One request as the test sees it. */
struct asked {
    struct buf got;
    size_t enough_at; /* 0: never */
    int status;
    char type[64];
    int ends;
    enum rc rc;
    struct err err;
    struct asked *then; /* Started by the end of this one. */
    struct http_ask *ask;
};

static struct tiny_server *server;
static struct http_multi *multi;

static bool handle(void *ctx, const char *request, int fd)
{
    (void)ctx;
    char byte;
    if (strncmp(request, "POST /hold ", 11) == 0)
        return read(fd, &byte, 1) == 1; /* Says nothing until the client goes. */
    if (strncmp(request, "POST /break ", 12) == 0) {
        tiny_send(fd, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf");
        return false;
    }
    if (strncmp(request, "POST /echo ", 11) == 0)
        tiny_answer(fd, "418 I'm a teapot", "text/plain", request);
    else
        tiny_answer(fd, "200 OK", "text/plain", "0123456789");
    return true;
}

static void open_all(void)
{
    server = tiny_server_start(handle, NULL);
    const struct http_client_options options = {.url = tiny_server_url(server), .token = "t0k3n"};
    ck_assert_int_eq(http_multi_new(&options, &multi, NULL), RC_OK);
}

static void close_all(void)
{
    http_multi_free(multi);
    tiny_server_stop(server);
}

static bool take_bytes(void *ctx, const struct http_seen *seen, struct str bytes)
{
    struct asked *asked = ctx;
    ck_assert_int_ne(seen->status, 0);
    buf_add(&asked->got, bytes.at, bytes.len);
    return asked->enough_at == 0 || asked->got.len < asked->enough_at;
}

static void start(struct asked *asked, const char *path, int64_t idle_timeout_ms);

static void take_end(void *ctx, const struct http_seen *seen, enum rc rc, const struct err *err)
{
    struct asked *asked = ctx;
    asked->ends++;
    asked->status = seen->status;
    text_copy(asked->type, sizeof asked->type, seen->content_type);
    asked->rc = rc;
    asked->err = *err;
    if (asked->then != NULL)
        start(asked->then, "/plain", 20000);
}

static void start(struct asked *asked, const char *path, int64_t idle_timeout_ms)
{
    buf_init(&asked->got, 10000);
    static const struct http_field headers[] = {{"Mcp-Method", "ping"}, {NULL, NULL}};
    const struct http_ask_spec spec = {.method = "POST",
                                       .path = path,
                                       .headers = headers,
                                       .body = STR("{\"a\":1}"),
                                       .idle_timeout_ms = idle_timeout_ms,
                                       .on_bytes = take_bytes,
                                       .on_end = take_end,
                                       .ctx = asked};
    ck_assert_int_eq(http_multi_start(multi, &spec, &asked->ask, NULL), RC_OK);
}

static void run_until(const struct asked *asked)
{
    for (int i = 0; i < ROUNDS_MAX && asked->ends == 0; i++) {
        http_multi_step(multi);
        http_multi_wait(multi, NULL, 0, WAIT_MS);
    }
    ck_assert_int_eq(asked->ends, 1);
}

START_TEST(a_request_does_not_wait_for_another_and_may_be_cancelled)
{
    open_all();
    struct asked held = {0}, other = {0}, next = {0};
    start(&held, "/hold", 20000);
    other.then = &next;
    start(&other, "/echo", 20000);
    ck_assert_uint_eq(http_multi_count(multi), 2);
    run_until(&other);
    ck_assert_int_eq(other.rc, RC_OK);
    ck_assert_int_eq(other.status, 418);
    ck_assert_str_eq(other.type, "text/plain");
    static const char *const wanted[] = {"Authorization: Bearer t0k3n\r\n", "Mcp-Method: ping\r\n",
                                         "Content-Type: application/json\r\n",
                                         "Content-Length: 7\r\n", "\r\n\r\n{\"a\":1}"};
    for (size_t i = 0; i < COUNT_OF(wanted); i++)
        ck_assert_msg(strstr(buf_text(&other.got), wanted[i]) != NULL, "no %s", wanted[i]);
    run_until(&next);
    ck_assert_str_eq(buf_text(&next.got), "0123456789");
    ck_assert_int_eq(held.ends, 0);
    http_multi_cancel(multi, held.ask);
    http_multi_step(multi);
    ck_assert_int_eq(held.ends, 0);
    ck_assert_uint_eq(http_multi_count(multi), 0);
    buf_release(&other.got);
    buf_release(&next.got);
    close_all();
}
END_TEST

START_TEST(every_failure_is_told_once)
{
    open_all();
    struct asked silent = {0}, half = {0}, enough = {.enough_at = 4};
    start(&silent, "/hold", 200);
    start(&half, "/break", 20000);
    start(&enough, "/plain", 20000);
    run_until(&half);
    ck_assert_int_eq(half.rc, RC_UNREACHABLE);
    ck_assert_str_eq(half.err.code, "CONNECTION_BROKEN");
    run_until(&enough);
    ck_assert_int_eq(enough.rc, RC_OK);
    run_until(&silent);
    ck_assert_int_eq(silent.rc, RC_TIMEOUT);
    ck_assert_int_eq(silent.status, 0);
    const struct http_field odd[] = {{"Mcp-Name", "a\r\nX: y"}, {NULL, NULL}};
    const struct http_ask_spec spec = {.method = "POST",
                                       .path = "/",
                                       .headers = odd,
                                       .idle_timeout_ms = 1,
                                       .on_bytes = take_bytes,
                                       .on_end = take_end};
    ck_assert_int_eq(http_multi_start(multi, &spec, &silent.ask, NULL), RC_MALFORMED);
    ck_assert_uint_eq(http_multi_count(multi), 0);
    buf_release(&silent.got);
    buf_release(&half.got);
    buf_release(&enough.got);
    close_all();
}
END_TEST

START_TEST(it_can_be_aimed_at_another_server_and_back)
{
    open_all();
    struct asked away = {0}, back = {0};
    const struct http_client_options nowhere = {.url = "http://127.0.0.1:9"};
    ck_assert_int_eq(http_multi_aim(multi, &nowhere, NULL), RC_OK);
    ck_assert_str_eq(http_multi_url(multi), "http://127.0.0.1:9");
    start(&away, "/plain", 20000);
    run_until(&away);
    ck_assert_int_eq(away.rc, RC_UNREACHABLE);
    ck_assert_str_eq(away.err.code, "SERVER_UNREACHABLE");
    const struct http_client_options none = {.url = "nowhere"};
    ck_assert_int_eq(http_multi_aim(multi, &none, NULL), RC_MALFORMED);
    const struct http_client_options home = {.url = tiny_server_url(server)};
    ck_assert_int_eq(http_multi_aim(multi, &home, NULL), RC_OK);
    start(&back, "/plain", 20000);
    run_until(&back);
    ck_assert_int_eq(back.rc, RC_OK);
    buf_release(&away.got);
    buf_release(&back.got);
    close_all();
}
END_TEST

START_TEST(waiting_ends_when_a_descriptor_has_something)
{
    open_all();
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    struct asked held = {0};
    start(&held, "/hold", 60000);
    struct pollfd look = {.fd = ends[0], .events = POLLIN};
    ck_assert_int_eq(write(ends[1], "x", 1), 1);
    for (int i = 0; i < ROUNDS_MAX && look.revents == 0; i++) {
        http_multi_step(multi);
        http_multi_wait(multi, &look, 1, -1);
    }
    ck_assert(look.revents & POLLIN);
    char byte;
    ck_assert_int_eq(read(ends[0], &byte, 1), 1);
    (void)close(ends[1]); /* The end of a pipe is no more than a hangup. */
    look.revents = 0;
    for (int i = 0; i < ROUNDS_MAX && look.revents == 0; i++) {
        http_multi_step(multi);
        http_multi_wait(multi, &look, 1, -1);
    }
    ck_assert(look.revents & POLLHUP);
    (void)close(ends[0]);
    buf_release(&held.got);
    close_all();
}
END_TEST

Suite *http_multi_suite(void)
{
    Suite *suite = suite_create("http_multi");
    TCase *tests = tcase_create("http_multi");
    tcase_add_test(tests, a_request_does_not_wait_for_another_and_may_be_cancelled);
    tcase_add_test(tests, every_failure_is_told_once);
    tcase_add_test(tests, it_can_be_aimed_at_another_server_and_back);
    tcase_add_test(tests, waiting_ends_when_a_descriptor_has_something);
    suite_add_tcase(suite, tests);
    return suite;
}
