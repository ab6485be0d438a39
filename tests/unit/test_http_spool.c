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

START_TEST(what_follows_a_spooled_body_closes_the_connection_behind_the_answer)
{
    CLEANUP(buf_release) struct buf got;
    buf_init(&got, 10000);
    int fd = box_dial();
    box_say(
        fd,
        "POST /file/d HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabcGET /echo HTTP/1.1\r\n");
    box_hear(fd, &got, NULL);
    ck_assert_ptr_nonnull(strstr(got.data, "(file) abc"));
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

/* A client that stops half way gives back what was reserved for it, and others are told. */
START_TEST(spooled_bodies_have_a_budget)
{
    CLEANUP(buf_release) struct buf got;
    buf_init(&got, 10000);
    int fds[3];
    for (size_t i = 0; i < COUNT_OF(fds); i++) {
        fds[i] = box_dial();
        box_say(fds[i], "POST /file/f HTTP/1.1\r\nHost: x\r\nContent-Length: 300000\r\n\r\nabc");
    }
    int64_t bytes = 0;
    while (bytes < 900000) /* Until the server has seen all of them. */
        spooled_bytes(&bytes);
    box_ask("POST /file/f HTTP/1.1\r\nContent-Length: 300000\r\n" END "abc", &got);
    ck_assert_msg(text_starts(got.data, "HTTP/1.1 429 "), "%s", got.data);
    ck_assert_ptr_nonnull(strstr(got.data, "UPLOAD_QUOTA"));
    ck_assert_ptr_nonnull(strstr(got.data, "Retry-After: "));
    for (size_t i = 0; i < COUNT_OF(fds); i++)
        fd_close(fds[i]);
    while (bytes > 0)
        spooled_bytes(&bytes);
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

Suite *http_spool_suite(void)
{
    Suite *suite = suite_create("http_spool");
    TCase *tests = tcase_create("http_spool");
    tcase_add_checked_fixture(tests, box_start, box_stop);
    tcase_set_timeout(tests, 2 * WAIT_SECONDS);
    tcase_add_test(tests, a_large_body_goes_through_a_file);
    tcase_add_test(tests, a_spooled_body_comes_in_any_pieces);
    tcase_add_test(tests, a_chunked_body_without_content_is_empty);
    tcase_add_test(tests, what_follows_a_spooled_body_closes_the_connection_behind_the_answer);
    tcase_add_test(tests, spooled_bodies_have_a_budget);
    tcase_add_loop_test(tests, a_wrong_spooled_body_is_refused, 0, (int)COUNT_OF(spool_refusals));
    suite_add_tcase(suite, tests);
    return suite;
}
