/*
 * test_http_client.c - calls and streams against a real server in a thread.
 */
#include "net/http_client.h"
#include "tests/unit/suites.h"
#include "tests/unit/tiny_server.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct tiny_server *server;
static struct http_client *client;
static char last_request[8192];

static void open_with(tiny_handler *handler, const char *token)
{
    server = tiny_server_start(handler, NULL);
    const struct http_client_options options = {
        .url = tiny_server_url(server), .token = token, .timeout_ms = 5000};
    ck_assert_int_eq(http_client_new(&options, &client, NULL), RC_OK);
}

static void close_all(void)
{
    http_client_free(client);
    tiny_server_stop(server);
}

static bool echo(void *ctx, const char *request, int fd)
{
    (void)ctx;
    (void)snprintf(last_request, sizeof last_request, "%s", request);
    tiny_answer(fd, "200 OK", "application/json", "{\"ok\":true}");
    return true;
}

START_TEST(a_call_sends_what_it_was_given_and_reads_the_answer)
{
    open_with(echo, "t0k3n");
    CLEANUP(buf_release) struct buf body;
    buf_init(&body, 1000);
    struct http_reply answer = {0};
    const struct http_field headers[] = {{"Idempotency-Key", "k-1"}, {NULL, NULL}};
    const struct http_call call = {
        .method = "POST", .path = "/v1/tasks?x=1", .headers = headers, .body = STR("{\"a\":1}")};
    ck_assert_int_eq(http_client_call(client, &call, &body, &answer, NULL), RC_OK);
    ck_assert_int_eq(answer.status, 200);
    ck_assert_str_eq(answer.content_type, "application/json");
    ck_assert_str_eq(buf_text(&body), "{\"ok\":true}");
    static const char *const wanted[] = {
        "POST /v1/tasks?x=1 HTTP/1.1\r\n",
        "Authorization: Bearer t0k3n\r\n",
        "Content-Type: application/json\r\n",
        "Idempotency-Key: k-1\r\n",
        "Content-Length: 7\r\n",
        "\r\n\r\n{\"a\":1}",
    };
    for (size_t i = 0; i < COUNT_OF(wanted); i++)
        ck_assert_msg(strstr(last_request, wanted[i]) != NULL, "no %s in %s", wanted[i],
                      last_request);
    close_all();
}
END_TEST

START_TEST(every_method_arrives_as_itself)
{
    static const struct {
        const char *method, *body;
    } table[] = {{"GET", ""}, {"POST", ""}, {"PUT", "{}"}, {"DELETE", ""}};
    open_with(echo, NULL);
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        CLEANUP(buf_release) struct buf body;
        buf_init(&body, 1000);
        struct http_reply answer;
        const struct http_call call = {
            .method = table[i].method, .path = "/x", .body = str_of(table[i].body)};
        ck_assert_int_eq(http_client_call(client, &call, &body, &answer, NULL), RC_OK);
        ck_assert_int_eq(strncmp(last_request, table[i].method, strlen(table[i].method)), 0);
        ck_assert_ptr_null(strstr(last_request, "Authorization"));
    }
    ck_assert_int_eq(tiny_server_connections(server), 1); /* Kept between calls. */
    close_all();
}
END_TEST

static bool refuse(void *ctx, const char *request, int fd)
{
    (void)ctx;
    long status = strtol(strchr(request, '/') + 1, NULL, 10);
    char line[64];
    (void)snprintf(line, sizeof line, "%ld Refused", status);
    if (strstr(request, "plain") != NULL)
        tiny_answer(fd, line, "text/html", "<h1>no</h1>");
    else
        tiny_answer(fd, line, "application/problem+json",
                    "{\"code\":\"SOME_CODE\",\"title\":\"No\",\"status\":1,"
                    "\"detail\":\"because of that\",\"field\":\"agent.command\"}");
    return true;
}

START_TEST(a_refusal_becomes_rc_and_err)
{
    static const struct {
        int status;
        enum rc rc;
    } table[] = {
        {400, RC_MALFORMED}, {401, RC_UNAUTHORIZED}, {403, RC_DENIED},  {404, RC_NOT_FOUND},
        {409, RC_CONFLICT},  {413, RC_TOO_LARGE},    {422, RC_INVALID}, {429, RC_LIMIT},
        {500, RC_IO},        {503, RC_BUSY},         {504, RC_TIMEOUT}, {418, RC_INVALID},
        {302, RC_IO},
    };
    open_with(refuse, NULL);
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        CLEANUP(buf_release) struct buf body;
        buf_init(&body, 1000);
        char path[64];
        struct err err = {0};
        struct http_reply answer = {.status = -1};
        (void)snprintf(path, sizeof path, "/%d", table[i].status);
        struct http_call call = {.method = "GET", .path = path};
        ck_assert_int_eq(http_client_call(client, &call, &body, &answer, &err), table[i].rc);
        ck_assert_str_eq(err.code, "SOME_CODE");
        ck_assert_str_eq(err.text, "because of that");
        ck_assert_str_eq(err.field, "agent.command");
        ck_assert_int_eq(answer.status, -1);
        (void)snprintf(path, sizeof path, "/%d/plain", table[i].status);
        ck_assert_int_eq(http_client_call(client, &call, &body, &answer, &err), table[i].rc);
        (void)snprintf(path, sizeof path, "HTTP_%d", table[i].status);
        ck_assert_str_eq(err.code, path);
    }
    close_all();
}
END_TEST

START_TEST(an_answer_past_the_limit_is_refused)
{
    open_with(echo, NULL);
    CLEANUP(buf_release) struct buf body;
    buf_init(&body, 5);
    struct http_reply answer;
    struct err err = {0};
    const struct http_call call = {.method = "GET", .path = "/"};
    ck_assert_int_eq(http_client_call(client, &call, &body, &answer, &err), RC_TOO_LARGE);
    ck_assert_str_eq(err.code, "ANSWER_TOO_LARGE");
    close_all();
}
END_TEST

START_TEST(a_header_with_a_line_break_is_refused)
{
    open_with(echo, NULL);
    CLEANUP(buf_release) struct buf body;
    buf_init(&body, 100);
    struct http_reply answer;
    struct err err = {0};
    const struct http_field headers[] = {{"Idempotency-Key", "a\r\nX: y"}, {NULL, NULL}};
    const struct http_call call = {.method = "GET", .path = "/", .headers = headers};
    ck_assert_int_eq(http_client_call(client, &call, &body, &answer, &err), RC_MALFORMED);
    ck_assert_int_eq(tiny_server_connections(server), 0);
    close_all();
}
END_TEST

static bool hold(void *ctx, const char *request, int fd)
{
    (void)ctx, (void)request;
    char byte;
    return read(fd, &byte, 1) == 1; /* Says nothing until the client goes. */
}

START_TEST(a_server_that_does_not_answer_times_out)
{
    open_with(hold, NULL);
    CLEANUP(buf_release) struct buf body;
    buf_init(&body, 100);
    struct http_reply answer;
    struct err err = {0};
    const struct http_call call = {.method = "GET", .path = "/", .timeout_ms = 1000};
    ck_assert_int_eq(http_client_call(client, &call, &body, &answer, &err), RC_TIMEOUT);
    close_all();
}
END_TEST

START_TEST(a_server_that_is_not_there_is_unreachable)
{
    open_with(echo, NULL);
    char url[64];
    (void)snprintf(url, sizeof url, "%s", tiny_server_url(server));
    close_all();
    const struct http_client_options options = {.url = url};
    ck_assert_int_eq(http_client_new(&options, &client, NULL), RC_OK);
    CLEANUP(buf_release) struct buf body;
    buf_init(&body, 100);
    struct http_reply answer;
    struct err err = {0};
    const struct http_call call = {.method = "GET", .path = "/"};
    ck_assert_int_eq(http_client_call(client, &call, &body, &answer, &err), RC_UNREACHABLE);
    ck_assert_str_eq(err.code, "SERVER_UNREACHABLE");
    ck_assert_ptr_nonnull(strstr(err.text, url));
    http_client_free(client);
}
END_TEST

static bool hang_up(void *ctx, const char *request, int fd)
{
    (void)ctx, (void)request;
    tiny_send(fd, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf");
    return false;
}

START_TEST(half_an_answer_is_no_answer)
{
    open_with(hang_up, NULL);
    CLEANUP(buf_release) struct buf body;
    buf_init(&body, 1000);
    struct http_reply answer;
    const struct http_call call = {.method = "GET", .path = "/"};
    ck_assert_int_eq(http_client_call(client, &call, &body, &answer, NULL), RC_UNREACHABLE);
    close_all();
}
END_TEST

struct catch
{
    struct buf got;
    size_t enough_at;        /* 0: never */
    int stop_after;          /* Ticks; 0: never */
    int64_t idle_timeout_ms; /* 0: longer than the test. */
    int ticks;
    atomic_int stop;
};

static bool catch_bytes(void *ctx, struct str bytes)
{
    struct catch *catch = ctx;
    buf_add(&catch->got, bytes.at, bytes.len);
    return catch->enough_at == 0 || catch->got.len < catch->enough_at;
}

static void count_tick(void *ctx)
{
    struct catch *catch = ctx;
    catch->ticks++;
    catch->stop = catch->stop_after > 0 && catch->ticks >= catch->stop_after;
}

static bool trickle(void *ctx, const char *request, int fd)
{
    (void)ctx, (void)request;
    tiny_send(fd, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nabc");
    tiny_send(fd, "def");
    return false;
}

static bool trickle_and_hold(void *ctx, const char *request, int fd)
{
    (void)trickle(ctx, request, fd);
    return hold(ctx, request, fd);
}

static enum rc stream_with(struct catch *catch, struct err *err)
{
    buf_init(&catch->got, 1000);
    const struct http_stream stream = {
        .path = "/stream",
        .idle_timeout_ms = catch->idle_timeout_ms > 0 ? catch->idle_timeout_ms : 20000,
        .stop = &catch->stop,
        .on_bytes = catch_bytes,
        .on_tick = count_tick,
        .ctx = catch,
    };
    enum rc rc = http_client_stream(client, &stream, err);
    buf_release(&catch->got);
    return rc;
}

START_TEST(a_stream_ends_with_the_answer_the_handler_the_stop_flag_or_silence)
{
    struct err err = {0};
    struct catch whole = {0};
    open_with(trickle, NULL);
    ck_assert_int_eq(stream_with(&whole, &err), RC_OK);
    close_all();

    open_with(trickle_and_hold, NULL);
    struct catch enough = {.enough_at = 3};
    ck_assert_int_eq(stream_with(&enough, &err), RC_OK);
    struct catch stopped = {.stop_after = 3};
    ck_assert_int_eq(stream_with(&stopped, &err), RC_CANCELLED);
    ck_assert_int_ge(stopped.ticks, 3);
    struct catch silent = {.idle_timeout_ms = 300};
    ck_assert_int_eq(stream_with(&silent, &err), RC_TIMEOUT);
    close_all();
}
END_TEST

static bool refuse_stream(void *ctx, const char *request, int fd)
{
    (void)ctx, (void)request;
    tiny_answer(fd, "404 Not Found", "application/problem+json",
                "{\"code\":\"RUN_NOT_FOUND\",\"detail\":\"no such run\"}");
    return true;
}

START_TEST(a_refused_stream_hands_out_no_bytes_but_the_reason)
{
    struct err err = {0};
    struct catch none = {.enough_at = 1};
    open_with(refuse_stream, NULL);
    ck_assert_int_eq(stream_with(&none, &err), RC_NOT_FOUND);
    ck_assert_str_eq(err.code, "RUN_NOT_FOUND");
    close_all();
}
END_TEST

static bool teapot(void *ctx, const char *request, int fd)
{
    (void)ctx;
    (void)snprintf(last_request, sizeof last_request, "%s", request);
    tiny_send(fd, "HTTP/1.1 100 Continue\r\nX-One: interim\r\n\r\n"
                  "HTTP/1.1 418 I'm a teapot\r\nx-one:  first \r\nX-One: second\r\n"
                  "X-One-More: other\r\nX-Empty:\r\nContent-Length: 5\r\n\r\nshort");
    return true;
}

START_TEST(any_answer_may_be_wanted_with_its_head)
{
    server = tiny_server_start(teapot, NULL);
    const struct http_client_options options = {
        .url = tiny_server_url(server), .token = "t0k3n", .auth = "PRIVATE-TOKEN: "};
    ck_assert_int_eq(http_client_new(&options, &client, NULL), RC_OK);
    CLEANUP(buf_release) struct buf body, head;
    buf_init(&body, 1000);
    buf_init(&head, 1000);
    struct http_reply answer = {0};
    const struct http_field headers[] = {{"accept", "text/plain"}, {NULL, NULL}};
    struct http_call call = {.method = "PATCH",
                             .path = "/x",
                             .headers = headers,
                             .body = STR("{\"a\":1}"),
                             .head = &head,
                             .any_status = true,
                             .once = true};
    ck_assert_int_eq(http_client_call(client, &call, &body, &answer, NULL), RC_OK);
    ck_assert_int_eq(answer.status, 418);
    ck_assert_str_eq(buf_text(&body), "short");
    ck_assert_int_eq(http_head_status(&head), 418);
    ck_assert(str_is(http_head_field(&head, "X-One"), "first"));
    ck_assert(str_is(http_head_field(&head, "x-one-more"), "other"));
    ck_assert_ptr_nonnull(http_head_field(&head, "X-Empty").at);
    ck_assert_uint_eq(http_head_field(&head, "X-Empty").len, 0);
    ck_assert_ptr_null(http_head_field(&head, "X-On").at);
    ck_assert(text_starts(last_request, "PATCH /x HTTP/1.1\r\n"));
    ck_assert_ptr_nonnull(strstr(last_request, "PRIVATE-TOKEN: t0k3n\r\n"));
    ck_assert_ptr_nonnull(strstr(last_request, "accept: text/plain\r\n"));
    ck_assert_ptr_null(strstr(last_request, "application/json\r\nAccept"));
    ck_assert_ptr_nonnull(strstr(last_request, "Content-Length: 7\r\n"));
    ck_assert(text_ends(last_request, "\r\n\r\n{\"a\":1}"));
    call.any_status = false;
    ck_assert_int_eq(http_client_call(client, &call, &body, &answer, NULL), RC_INVALID);
    ck_assert_int_eq(http_head_status(&head), 418);
    close_all();
}
END_TEST

Suite *http_client_suite(void)
{
    Suite *suite = suite_create("http_client");
    TCase *tc = tcase_create("http_client");
    tcase_set_timeout(tc, 30);
    tcase_add_test(tc, a_call_sends_what_it_was_given_and_reads_the_answer);
    tcase_add_test(tc, every_method_arrives_as_itself);
    tcase_add_test(tc, a_refusal_becomes_rc_and_err);
    tcase_add_test(tc, an_answer_past_the_limit_is_refused);
    tcase_add_test(tc, a_header_with_a_line_break_is_refused);
    tcase_add_test(tc, a_server_that_does_not_answer_times_out);
    tcase_add_test(tc, a_server_that_is_not_there_is_unreachable);
    tcase_add_test(tc, half_an_answer_is_no_answer);
    tcase_add_test(tc, a_stream_ends_with_the_answer_the_handler_the_stop_flag_or_silence);
    tcase_add_test(tc, a_refused_stream_hands_out_no_bytes_but_the_reason);
    tcase_add_test(tc, any_answer_may_be_wanted_with_its_head);
    suite_add_tcase(suite, tc);
    return suite;
}
