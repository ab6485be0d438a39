/*
 * test_http_spool.c - bodies that go through files.
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

static void spooled_bytes(int64_t *ret_bytes)
{
    struct spool_stats stats;
    spool_stats(box.spool, &stats);
    *ret_bytes = stats.reserved;
}

START_TEST(a_large_body_goes_through_a_file)
{
    CLEANUP(buf_release) struct buf got, body;
    buf_init(&got, 2 * SPOOLED_MAX);
    buf_init(&body, 2 * SPOOLED_MAX);
    for (int i = 0; body.len < SPOOLED_MAX - 10; i++)
        buf_addf(&body, "%d ", i);
    int fd = box_dial();
    char head[200];
    for (int i = 0; i < 3; i++) { /* On one connection, behind each other. */
        buf_clear(&got);
        (void)snprintf(head, sizeof head,
                       "POST /file/a HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n\r\n", body.len);
        box_say(fd, head);
        box_say(fd, buf_text(&body));
        char last[40];
        (void)snprintf(last, sizeof last, "%s", body.data + body.len - 20);
        box_hear(fd, &got, last);
        char *echoed = strstr(got.data, "POST /file/a [] (file) ");
        ck_assert_ptr_nonnull(echoed);
        ck_assert_str_eq(echoed + strlen("POST /file/a [] (file) "), body.data);
        box_await(&box.finished);
    }
    int64_t bytes;
    spooled_bytes(&bytes);
    ck_assert_int_eq(bytes, 0);
    fd_close(fd);
}
END_TEST

START_TEST(a_spooled_body_comes_in_any_pieces)
{
    static const char *const requests[] = {
        "POST /file/b HTTP/1.1\r\nContent-Length: 11\r\n" END "hello world",
        "POST /file/b HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" END
        "6\r\nhello \r\n5\r\nworld\r\n0\r\n\r\n",
    };
    for (size_t i = 0; i < COUNT_OF(requests); i++) {
        for (size_t piece = 1; piece < 200; piece += piece < 4 ? 1 : 13) {
            CLEANUP(buf_release) struct buf got;
            buf_init(&got, 10000);
            int fd = box_dial();
            size_t len = strlen(requests[i]);
            for (size_t at = 0; at < len; at += piece)
                ck_assert_int_eq(
                    fd_write_all(fd, requests[i] + at, len - at < piece ? len - at : piece, NULL),
                    RC_OK);
            box_hear(fd, &got, "POST /file/b [] (file) hello world");
            fd_close(fd);
        }
    }
}
END_TEST

START_TEST(a_chunked_body_without_content_is_empty)
{
    CLEANUP(buf_release) struct buf got;
    buf_init(&got, 10000);
    box_ask("POST /file/c HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" END "0\r\n\r\n", &got);
    ck_assert_msg(text_starts(got.data, "HTTP/1.1 200 "), "%s", got.data);
    ck_assert_msg(got.len > 1 && strstr(got.data, "POST /file/c [] ") != NULL, "%s", got.data);
}
END_TEST

START_TEST(what_follows_a_spooled_body_is_the_next_request)
{
    CLEANUP(buf_release) struct buf got;
    buf_init(&got, 10000);
    int fd = box_dial();
    box_say(fd, "POST /file/d HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc"
                "GET /echo HTTP/1.1\r\n" END);
    box_hear(fd, &got, NULL);
    const char *first = strstr(got.data, "(file) abc");
    ck_assert_ptr_nonnull(first);
    ck_assert_ptr_nonnull(strstr(first, "GET /echo [] "));
    fd_close(fd);
}
END_TEST

static const struct {
    const char *status, *request;
} spool_refusals[] = {
    {"HTTP/1.1 413 ", "POST /file/e HTTP/1.1\r\nContent-Length: 300001\r\n" END "abc"},
    {"HTTP/1.1 413 ", "POST /file/e HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" END "fffff\r\n"},
    {"HTTP/1.1 400 ", "POST /file/e HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" END "zz\r\n"},
};

static void await_reserved(int64_t wanted)
{
    int64_t bytes = -1;
    while (bytes != wanted) /* The timeout of the test case ends it. */
        spooled_bytes(&bytes);
}

static void await_files(int64_t wanted)
{
    struct spool_stats stats = {0};
    while (stats.files != wanted)
        spool_stats(box.spool, &stats);
}

static void say_bytes(int fd, size_t len)
{
    static char bytes[SPOOLED_MAX];
    memset(bytes, 'x', sizeof bytes);
    ck_assert_int_eq(fd_write_all(fd, bytes, len, NULL), RC_OK);
}

#define LARGE "POST /file/f HTTP/1.1\r\nHost: x\r\nContent-Length: 300000\r\n\r\n"
/* Three such bodies take what one holder may get: half of three quarters of SPOOL_BYTES. */
enum { PART_BYTES = 250000, PART_RESERVED = 262144 };

/* A client that stops half way gives back what was reserved for it. */
START_TEST(spooled_bodies_have_a_budget)
{
    CLEANUP(buf_release) struct buf got;
    buf_init(&got, 10000);
    int fds[3], growing = box_dial();
    box_say(growing, LARGE);
    say_bytes(growing, 1);
    await_reserved(65536);
    for (size_t i = 0; i < COUNT_OF(fds); i++) {
        fds[i] = box_dial();
        box_say(fds[i], LARGE);
    }
    await_files((int64_t)COUNT_OF(fds) + 1); /* Taken before the bytes of the others come. */
    for (size_t i = 0; i < COUNT_OF(fds); i++)
        say_bytes(fds[i], i < 2 ? PART_BYTES : PART_BYTES - 65536);
    await_reserved(3 * PART_RESERVED);
    box_ask("POST /file/f HTTP/1.1\r\nContent-Length: 300000\r\n" END "abc", &got);
    ck_assert_msg(text_starts(got.data, "HTTP/1.1 429 "), "%s", got.data);
    ck_assert_ptr_nonnull(strstr(got.data, "UPLOAD_QUOTA"));
    ck_assert_ptr_nonnull(strstr(got.data, "Retry-After: "));
    buf_clear(&got);
    box_ask("POST /file/admin HTTP/1.1\r\nContent-Length: 3\r\n" END "abc", &got);
    ck_assert_msg(text_starts(got.data, "HTTP/1.1 200 "), "%s", got.data);
    /* In the middle of a body: answered, closed, and its space is free. */
    buf_clear(&got);
    say_bytes(growing, 70000);
    box_hear(growing, &got, NULL);
    ck_assert_msg(text_starts(got.data, "HTTP/1.1 429 "), "%s", got.data);
    ck_assert_ptr_nonnull(strstr(got.data, "Retry-After: "));
    ck_assert_ptr_nonnull(strstr(got.data, "Connection: close"));
    fd_close(growing);
    for (size_t i = 0; i < COUNT_OF(fds); i++)
        fd_close(fds[i]);
    await_reserved(0);
}
END_TEST

START_TEST(an_announced_length_reserves_nothing)
{
    CLEANUP(buf_release) struct buf got;
    buf_init(&got, 10000);
    int fds[5];
    for (size_t i = 0; i < COUNT_OF(fds); i++) {
        fds[i] = box_dial();
        box_say(fds[i], LARGE);
    }
    await_files((int64_t)COUNT_OF(fds));
    int64_t reserved;
    spooled_bytes(&reserved);
    ck_assert_int_eq(reserved, 0);
    box_ask("POST /file/f HTTP/1.1\r\nContent-Length: 3\r\n" END "abc", &got);
    ck_assert_msg(text_starts(got.data, "HTTP/1.1 200 "), "%s", got.data);
    for (size_t i = 0; i < COUNT_OF(fds); i++)
        fd_close(fds[i]);
}
END_TEST

START_TEST(a_spooled_body_that_stalls_is_ended)
{
    CLEANUP(buf_release) struct buf got;
    buf_init(&got, 10000);
    int fd = box_dial();
    box_say(fd, LARGE);
    say_bytes(fd, (size_t)_i * 1000);
    box_hear(fd, &got, NULL);
    ck_assert_msg(text_starts(got.data, "HTTP/1.1 408 "), "%s", got.data);
    ck_assert_ptr_nonnull(strstr(got.data, "no byte of the body"));
    fd_close(fd);
    await_reserved(0);
}
END_TEST

START_TEST(a_wrong_spooled_body_is_refused)
{
    CLEANUP(buf_release) struct buf got;
    buf_init(&got, 10000);
    int fd = box_dial();
    box_say(fd, spool_refusals[_i].request);
    if (_i == 1) { /* More than one chunk may hold. */
        static char bytes[SPOOLED_MAX + 1];
        memset(bytes, 'x', sizeof bytes);
        (void)!send(fd, bytes, sizeof bytes, MSG_NOSIGNAL);
    }
    box_hear(fd, &got, NULL);
    ck_assert_msg(text_starts(got.data, spool_refusals[_i].status), "%s", got.data);
    fd_close(fd);
}
END_TEST

static void start_patient(void)
{
    box_start_with(&(struct box_times){.request_ms = 60000, .stall_ms = 60000});
}

static void start_impatient(void)
{
    box_start_with(&(struct box_times){.request_ms = 60000, .stall_ms = 100});
}

Suite *http_spool_suite(void)
{
    Suite *suite = suite_create("http_spool");
    TCase *tests = tcase_create("http_spool");
    tcase_add_checked_fixture(tests, start_patient, box_stop);
    tcase_set_timeout(tests, 2 * WAIT_SECONDS);
    tcase_add_test(tests, a_large_body_goes_through_a_file);
    tcase_add_test(tests, a_spooled_body_comes_in_any_pieces);
    tcase_add_test(tests, a_chunked_body_without_content_is_empty);
    tcase_add_test(tests, what_follows_a_spooled_body_is_the_next_request);
    tcase_add_test(tests, spooled_bodies_have_a_budget);
    tcase_add_test(tests, an_announced_length_reserves_nothing);
    tcase_add_loop_test(tests, a_wrong_spooled_body_is_refused, 0, (int)COUNT_OF(spool_refusals));
    suite_add_tcase(suite, tests);
    TCase *stalls = tcase_create("stalls");
    tcase_add_checked_fixture(stalls, start_impatient, box_stop);
    tcase_set_timeout(stalls, 2 * WAIT_SECONDS);
    tcase_add_loop_test(stalls, a_spooled_body_that_stalls_is_ended, 0, 2);
    suite_add_tcase(suite, stalls);
    return suite;
}
