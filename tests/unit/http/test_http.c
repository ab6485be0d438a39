/*
 * test_http.c - a real server on a free port, its loop on a thread, clients on raw sockets.
 *
 * The handler does what the path says: /echo answers with the body, /hold keeps the request until
 * the test lets it go, /stream begins an endless answer.
 */
#include "base/fd.h"
#include "tests/unit/http_box.h"
#include "tests/unit/suites.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

START_TEST(a_request_is_answered)
{
    CLEANUP(buf_release) struct buf got;
    buf_init(&got, 10000);
    box_ask("POST /echo?a=b HTTP/1.1\r\nContent-Length: 5\r\nX-Request-Id: r.1\r\n" END "hello",
            &got);
    ck_assert_msg(text_starts(got.data, "HTTP/1.1 200 OK\r\n"), "%s", got.data);
    ck_assert_ptr_nonnull(strstr(got.data, "\r\nX-Request-Id: r.1\r\n"));
    ck_assert_ptr_nonnull(strstr(got.data, "\r\nX-Test: yes\r\n"));
    ck_assert_ptr_nonnull(strstr(got.data, "\r\n\r\nPOST /echo [a=b] hello"));
    box_await(&box.finished);
    ck_assert_int_eq(atomic_load(&box.last_status), 200);
}
END_TEST

START_TEST(a_connection_takes_one_request_after_the_other)
{
    CLEANUP(buf_release) struct buf got;
    buf_init(&got, 10000);
    int fd = box_dial();
    for (int i = 0; i < 5; i++) {
        buf_clear(&got);
        box_say(fd, "GET /echo HTTP/1.1\r\nHost: x\r\n\r\n");
        box_hear(fd, &got, "GET /echo [] ");
    }
    fd_close(fd);
}
END_TEST

/* All but the first are in memory when the other connection asks. */
START_TEST(a_connection_with_many_requests_does_not_keep_others_waiting)
{
    enum { REQUESTS = 400 };
    CLEANUP(buf_release) struct buf many;
    CLEANUP(buf_release) struct buf got;
    buf_init(&many, 100000);
    buf_init(&got, 10000);
    box.poke_fd = box_dial();
    box_say(box.poke_fd, "GET /echo HTTP/1.1\r\nHost: x\r\n\r\n");
    box_hear(box.poke_fd, &got, "GET /echo [] ");
    buf_adds(&many, "GET /poke HTTP/1.1\r\nHost: x\r\n\r\n");
    for (int i = 0; i < REQUESTS; i++)
        buf_adds(&many, "GET /echo HTTP/1.1\r\nHost: x\r\n\r\n");
    int fd = box_dial();
    box_say(fd, buf_text(&many));
    buf_clear(&got);
    box_hear(box.poke_fd, &got, "GET /seen [] ");
    ck_assert_int_lt(box.echoed_at_seen, REQUESTS / 2);
    fd_close(fd);
    fd_close(box.poke_fd);
}
END_TEST

START_TEST(a_head_in_pieces_is_put_together)
{
    CLEANUP(buf_release) struct buf got;
    buf_init(&got, 10000);
    int fd = box_dial();
    static const char request[] = "POST /echo HTTP/1.1\r\nContent-Length: 3\r\n" END "abc";
    for (size_t i = 0; i < sizeof request - 1; i++)
        ck_assert_int_eq(fd_write_all(fd, request + i, 1, NULL), RC_OK);
    box_hear(fd, &got, "POST /echo [] abc");
    fd_close(fd);
}
END_TEST

static const struct {
    const char *status;
    const char *request;
} refusals[] = {
    {"HTTP/1.1 400 ", "GET /echo HTTP/1.1\nHost: x\n\n"},
    {"HTTP/1.1 400 ", "GET /echo HTTP/1.1\r\nX: a\r\n b\r\n" END},
    {"HTTP/1.1 400 ", "POST /echo HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 1\r\n" END "a"},
    {"HTTP/1.1 400 ",
     "POST /echo HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n" END "a"},
    {"HTTP/1.1 403 ", "GET /forbidden HTTP/1.1\r\n" END},
    {"HTTP/1.1 403 ", "POST /forbidden HTTP/1.1\r\nContent-Length: 900\r\n" END "not all of it"},
    {"HTTP/1.1 413 ", "POST /echo HTTP/1.1\r\nContent-Length: 1001\r\n" END "not all of it"},
    {"HTTP/1.1 501 ", "FROB /echo HTTP/1.1\r\n" END},
    {"HTTP/1.1 505 ", "GET /echo HTTP/3.0\r\n" END},
};

START_TEST(what_is_wrong_is_refused_with_a_problem)
{
    for (size_t i = 0; i < COUNT_OF(refusals); i++) {
        CLEANUP(buf_release) struct buf got;
        buf_init(&got, 10000);
        box_ask(refusals[i].request, &got);
        ck_assert_msg(text_starts(buf_text(&got), refusals[i].status), "%s -> %s",
                      refusals[i].request, buf_text(&got));
        ck_assert_ptr_nonnull(strstr(got.data, "application/problem+json"));
        ck_assert_ptr_nonnull(strstr(got.data, "\r\nX-Request-Id: "));
    }
}
END_TEST

START_TEST(a_chunked_body_is_counted_too)
{
    CLEANUP(buf_release) struct buf got;
    buf_init(&got, 10000);
    /* In one write: the server may hang up as soon as it has seen too much. */
    CLEANUP(buf_release) struct buf request;
    buf_init(&request, 10000);
    buf_adds(&request, "POST /echo HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" END "44c\r\n");
    for (int i = 0; i < 0x44c; i++)
        buf_addc(&request, 'a');
    buf_adds(&request, "\r\n0\r\n\r\n");
    int fd = box_dial();
    box_say(fd, buf_text(&request));
    box_hear(fd, &got, "HTTP/1.1 413 ");
    fd_close(fd);
    buf_clear(&got);
    box_ask("POST /echo HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" END "3\r\nabc\r\n0\r\n\r\n",
            &got);
    ck_assert_ptr_nonnull(strstr(got.data, "POST /echo [] abc"));
}
END_TEST

START_TEST(a_head_without_end_is_refused)
{
    CLEANUP(buf_release) struct buf got;
    buf_init(&got, 10000);
    char filler[3000];
    memset(filler, 'a', sizeof filler - 1);
    filler[sizeof filler - 1] = '\0';
    int fd = box_dial();
    box_say(fd, "GET /echo HTTP/1.1\r\nX: ");
    box_say(fd, filler);
    box_hear(fd, &got, "HTTP/1.1 431 ");
    fd_close(fd);
}
END_TEST

START_TEST(a_request_that_trickles_in_is_cut)
{
    CLEANUP(buf_release) struct buf got;
    buf_init(&got, 10000);
    int fd = box_dial();
    box_say(fd, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc");
    box_hear(fd, &got, "HTTP/1.1 408 ");
    fd_close(fd);
}
END_TEST

/* Opens count connections that each ask for target and, unless held, have their answer. */
static void load(int *fds, size_t count, const char *target, const char *more)
{
    CLEANUP(buf_release) struct buf got;
    CLEANUP(buf_release) struct buf request;
    buf_init(&got, 10000);
    buf_init(&request, 1000);
    buf_addf(&request, "GET %s HTTP/1.1\r\nHost: x\r\n%s\r\n", target, more);
    for (size_t i = 0; i < count; i++) {
        buf_clear(&got);
        fds[i] = box_dial();
        box_say(fds[i], buf_text(&request));
        if (text_same(target, "/hold"))
            box_await(&box.arrived);
        else
            box_hear(fds[i], &got, target);
    }
}

static void leave(const int *fds, size_t count)
{
    for (size_t i = 0; i < count; i++)
        fd_close(fds[i]);
}

static struct http_request *all_held[CONNECTIONS_MAX];
static size_t held_count;

static void keep_held(void)
{
    all_held[held_count++] = box.held;
}

static void finish_all(void)
{
    for (size_t i = 0; i < held_count; i++)
        http_finish(all_held[i]);
    held_count = 0;
}

START_TEST(a_newcomer_takes_the_place_of_the_oldest_that_waits)
{
    CLEANUP(buf_release) struct buf got;
    buf_init(&got, 10000);
    int fds[CONNECTIONS_MAX];
    load(fds, COUNT_OF(fds), "/echo", "");
    int extra = box_dial();
    box_say(extra, "GET /echo HTTP/1.1\r\nHost: x\r\n\r\n");
    box_hear(extra, &got, "HTTP/1.1 200 ");
    buf_clear(&got);
    box_hear(fds[0], &got, NULL); /* The oldest is closed, */
    ck_assert_uint_eq(got.len, 0);
    box_say(fds[1], "GET /echo HTTP/1.1\r\nHost: x\r\n\r\n");
    box_hear(fds[1], &got, "HTTP/1.1 200 "); /* and only that. */
    struct http_stats stats;
    http_stats(box.http, &stats);
    ck_assert_int_eq(stats.refused_connections, 0);
    ck_assert_int_eq(stats.evicted_connections, 1);
    fd_close(extra);
    leave(fds, COUNT_OF(fds));
}
END_TEST

START_TEST(where_all_are_at_work_only_the_privileged_get_in)
{
    CLEANUP(buf_release) struct buf got;
    buf_init(&got, 10000);
    int fds[CONNECTIONS_MAX];
    for (size_t i = 0; i < COUNT_OF(fds); i++) {
        load(&fds[i], 1, "/hold", "");
        box_on_loop(keep_held);
    }
    box_ask("GET /health HTTP/1.1\r\nHost: x\r\n\r\n", &got);
    ck_assert_ptr_nonnull(strstr(got.data, "HTTP/1.1 200 "));
    ck_assert_ptr_nonnull(strstr(got.data, "Connection: close"));
    buf_clear(&got);
    box_ask("GET /echo HTTP/1.1\r\nHost: x\r\n\r\n", &got);
    ck_assert_ptr_nonnull(strstr(got.data, "HTTP/1.1 503 "));
    ck_assert_ptr_nonnull(strstr(got.data, "Retry-After: 1"));
    ck_assert_ptr_nonnull(strstr(got.data, "TOO_MANY_CONNECTIONS"));
    struct http_stats stats;
    http_stats(box.http, &stats);
    ck_assert_int_eq(stats.refused_connections, 1);
    box_on_loop(finish_all);
    leave(fds, COUNT_OF(fds));
}
END_TEST

START_TEST(a_token_with_too_many_connections_loses_its_own)
{
    CLEANUP(buf_release) struct buf got;
    buf_init(&got, 10000);
    int other, fds[RUN_CONNECTIONS + 1];
    load(&other, 1, "/echo", "Authorization: run-b\r\n");
    load(fds, COUNT_OF(fds), "/echo", "Authorization: run-a\r\n");
    box_hear(fds[0], &got, NULL);
    ck_assert_uint_eq(got.len, 0);
    box_say(other, "GET /echo HTTP/1.1\r\nHost: x\r\n\r\n");
    box_hear(other, &got, "HTTP/1.1 200 ");
    fd_close(other);
    leave(fds, COUNT_OF(fds));
}
END_TEST

START_TEST(a_token_with_too_many_requests_in_flight_is_told_so)
{
    CLEANUP(buf_release) struct buf got;
    buf_init(&got, 10000);
    int fds[2];
    for (size_t i = 0; i < COUNT_OF(fds); i++) {
        load(&fds[i], 1, "/hold", "Authorization: run-a\r\n");
        box_on_loop(keep_held);
    }
    int extra = box_dial();
    box_say(extra, "GET /echo HTTP/1.1\r\nHost: x\r\nAuthorization: run-a\r\n\r\n");
    box_hear(extra, &got, "TOO_MANY_REQUESTS");
    ck_assert_ptr_nonnull(strstr(got.data, "HTTP/1.1 429 "));
    ck_assert_ptr_nonnull(strstr(got.data, "Retry-After: 1"));
    buf_clear(&got);
    box_ask("GET /echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: run-b\r\n\r\n",
            &got);
    ck_assert_ptr_nonnull(strstr(got.data, "HTTP/1.1 200 "));
    box_on_loop(finish_all);
    fd_close(extra);
    leave(fds, COUNT_OF(fds));
}
END_TEST

START_TEST(a_connection_without_a_request_is_closed_in_time)
{
    CLEANUP(buf_release) struct buf got;
    buf_init(&got, 10000);
    int fd = box_dial();
    box_hear(fd, &got, NULL);
    ck_assert_uint_eq(got.len, 0);
    fd_close(fd);
}
END_TEST

static void *answer_elsewhere(void *arg)
{
    (void)arg;
    box.held->answer.content_type = "text/plain";
    buf_adds(&box.held->answer.body, "from another thread");
    http_finish_later(box.held);
    return NULL;
}

START_TEST(a_held_request_is_answered_by_another_thread)
{
    CLEANUP(buf_release) struct buf got;
    buf_init(&got, 10000);
    int fd = box_dial();
    box_say(fd, "GET /hold HTTP/1.1\r\nHost: x\r\n\r\n");
    box_await(&box.arrived);
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, answer_elsewhere, NULL), 0);
    box_hear(fd, &got, "from another thread");
    pthread_join(thread, NULL);
    fd_close(fd);
}
END_TEST

static void finish_held(void)
{
    http_finish(box.held);
}

static struct http_request *inner;
static int inner_gone;

static void on_inner_answered(struct http_request *request)
{
    ck_assert_ptr_eq(request, inner);
    box.held->answer.content_type = "text/plain";
    buf_addf(&box.held->answer.body, "inner says %d %s", request->answer.status,
             buf_text(&request->answer.body));
    http_finish(box.held);
    http_inner_free(request);
}

static void on_inner_gone(struct http_request *request)
{
    (void)request;
    inner_gone++;
}

static void make_inner(void)
{
    inner = http_inner_new(box.held, HTTP_POST, on_inner_answered);
    http_inner_field(inner, "Idempotency-Key", "k");
    http_inner_field(inner, "X-Other", "o");
    buf_adds(&inner->body, "body");
    ck_assert_str_eq(http_header(inner, "idempotency-key"), "k");
    ck_assert_str_eq(http_header(inner, "x-other"), "o");
    ck_assert_ptr_null(http_header(inner, "Host"));
    ck_assert(str_is(http_body(inner), "body"));
    ck_assert(!http_gone(inner));
    http_watch(inner, on_inner_gone);
    http_shed(inner);
    ck_assert_ptr_null(http_header(inner, "x-other"));
}

static void *answer_inner(void *arg)
{
    (void)arg;
    buf_adds(&inner->answer.body, "well");
    http_finish_later(inner);
    return NULL;
}

START_TEST(a_request_may_be_answered_by_one_of_the_server_itself)
{
    CLEANUP(buf_release) struct buf got;
    buf_init(&got, 10000);
    int fd = box_dial();
    box_say(fd, "GET /hold HTTP/1.1\r\nHost: x\r\n\r\n");
    box_await(&box.arrived);
    box_on_loop(make_inner);
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, answer_inner, NULL), 0);
    box_hear(fd, &got, "inner says 200 well");
    pthread_join(thread, NULL);
    ck_assert_int_eq(inner_gone, 0);
    fd_close(fd);
}
END_TEST

static void give_up_inner(void)
{
    ck_assert(http_gone(inner));
    http_inner_gone(inner);
    http_inner_gone(inner);
    ck_assert_int_eq(inner_gone, 1);
    http_finish(inner);
}

START_TEST(a_request_of_the_server_itself_has_no_client_when_the_outer_has_none)
{
    int fd = box_dial();
    box_say(fd, "GET /hold HTTP/1.1\r\nHost: x\r\n\r\n");
    box_await(&box.arrived);
    box_on_loop(make_inner);
    fd_close(fd);
    box_await(&box.gone);
    box_on_loop(give_up_inner);
    box_await(&box.finished); /* Of both, in any order. */
    box_await(&box.finished);
}
END_TEST

/* Both ways to leave: in good order, and by a reset. */
START_TEST(a_client_that_leaves_is_noticed)
{
    for (int reset = 0; reset < 2; reset++) {
        int fd = box_dial();
        box_say(fd, "GET /hold HTTP/1.1\r\nHost: x\r\n\r\n");
        box_await(&box.arrived);
        struct linger linger = {.l_onoff = reset};
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
        fd_close(fd);
        box_await(&box.gone);
        box_on_loop(finish_held); /* The answer goes nowhere, and nothing breaks. */
        box_await(&box.finished);
    }
}
END_TEST

START_TEST(bytes_behind_a_held_request_do_not_disturb_it)
{
    CLEANUP(buf_release) struct buf got;
    buf_init(&got, 10000);
    int fd = box_dial();
    box_say(fd, "GET /hold HTTP/1.1\r\nHost: x\r\n\r\n");
    box_await(&box.arrived);
    box_say(fd, "GET /echo HTTP/1.1\r\n" END);
    box_on_loop(finish_held);
    box_hear(fd, &got, "GET /echo [] ");
    ck_assert(text_starts(got.data, "HTTP/1.1 200 OK\r\n"));
    fd_close(fd);
}
END_TEST

static void write_stream(void)
{
    http_stream_write(box.held, STR("data: one\n\n"));
}

static void end_stream(void)
{
    http_stream_end(box.held);
}

START_TEST(a_stream_is_written_drains_and_ends)
{
    CLEANUP(buf_release) struct buf got;
    buf_init(&got, 10000);
    int fd = box_dial();
    box_say(fd, "GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
    box_await(&box.arrived);
    box_on_loop(write_stream);
    box_hear(fd, &got, "data: one\n\n");
    box_await(&box.drained);
    box_on_loop(end_stream);
    box_hear(fd, &got, NULL);
    ck_assert(text_ends(got.data, "\r\n0\r\n\r\n"));
    fd_close(fd);
}
END_TEST

START_TEST(a_stream_whose_client_leaves_is_told)
{
    int fd = box_dial();
    box_say(fd, "GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
    box_await(&box.arrived);
    fd_close(fd);
    box_await(&box.gone);
    box_on_loop(write_stream);
    box_on_loop(end_stream);
    box_await(&box.finished);
}
END_TEST

static void drain(void)
{
    http_drain(box.http);
}

START_TEST(draining_closes_idle_connections_and_answers_held_ones)
{
    CLEANUP(buf_release) struct buf got;
    buf_init(&got, 10000);
    int idle = box_dial(), busy = box_dial();
    box_say(idle, "GET /echo HTTP/1.1\r\nHost: x\r\n\r\n");
    box_hear(idle, &got, "GET /echo");
    box_say(busy, "GET /hold HTTP/1.1\r\nHost: x\r\n\r\n");
    box_await(&box.arrived);
    box_on_loop(drain);
    ck_assert(http_draining(box.http));
    box_hear(idle, &got, NULL); /* Ends: it was closed. */
    box_on_loop(finish_held);
    buf_clear(&got);
    box_hear(busy, &got, "Connection: close");
    box_hear(busy, &got, NULL);
    fd_close(idle);
    fd_close(busy);
}
END_TEST

Suite *http_suite(void)
{
    Suite *suite = suite_create("http");
    TCase *tests = tcase_create("http");
    tcase_add_checked_fixture(tests, box_start, box_stop);
    tcase_set_timeout(tests, 2 * WAIT_SECONDS);
    tcase_add_test(tests, a_request_is_answered);
    tcase_add_test(tests, a_connection_takes_one_request_after_the_other);
    tcase_add_test(tests, a_connection_with_many_requests_does_not_keep_others_waiting);
    tcase_add_test(tests, a_head_in_pieces_is_put_together);
    tcase_add_test(tests, what_is_wrong_is_refused_with_a_problem);
    tcase_add_test(tests, a_chunked_body_is_counted_too);
    tcase_add_test(tests, a_head_without_end_is_refused);
    tcase_add_test(tests, a_request_that_trickles_in_is_cut);
    tcase_add_test(tests, a_newcomer_takes_the_place_of_the_oldest_that_waits);
    tcase_add_test(tests, where_all_are_at_work_only_the_privileged_get_in);
    tcase_add_test(tests, a_token_with_too_many_connections_loses_its_own);
    tcase_add_test(tests, a_token_with_too_many_requests_in_flight_is_told_so);
    tcase_add_test(tests, a_connection_without_a_request_is_closed_in_time);
    tcase_add_test(tests, a_held_request_is_answered_by_another_thread);
    tcase_add_test(tests, a_request_may_be_answered_by_one_of_the_server_itself);
    tcase_add_test(tests, a_request_of_the_server_itself_has_no_client_when_the_outer_has_none);
    tcase_add_test(tests, a_client_that_leaves_is_noticed);
    tcase_add_test(tests, bytes_behind_a_held_request_do_not_disturb_it);
    tcase_add_test(tests, a_stream_is_written_drains_and_ends);
    tcase_add_test(tests, a_stream_whose_client_leaves_is_told);
    tcase_add_test(tests, draining_closes_idle_connections_and_answers_held_ones);
    suite_add_tcase(suite, tests);
    return suite;
}
