/*
 * test_http_chunks.c - chunked bodies, in pieces of every size.
 */
#include "base/buf.h"
#include "core/http/chunks.h"
#include "tests/unit/suites.h"
#include <string.h>

/* Everything in pieces of this size; how many bytes were left when the body had ended. */
static enum rc decode(const char *text, size_t piece, struct buf *into, size_t *ret_left)
{
    struct http_chunks chunks = {0};
    size_t len = strlen(text), at = 0;
    struct err err = {0};
    enum rc rc = RC_OK;
    while (rc == RC_OK && at < len && chunks.state != CHUNKS_DONE) {
        struct str bytes = {text + at, len - at < piece ? len - at : piece};
        size_t given = bytes.len;
        while (rc == RC_OK && bytes.len > 0 && chunks.state != CHUNKS_DONE) {
            struct str content;
            rc = http_chunks_next(&chunks, &bytes, &content, &err);
            if (rc == RC_OK && content.len > 0)
                buf_add(into, content.at, content.len);
        }
        at += given - bytes.len;
    }
    if (rc == RC_OK && chunks.state != CHUNKS_DONE)
        return RC_NOT_FOUND;
    *ret_left = len - at;
    return rc;
}

static const struct {
    const char *body, *content;
    size_t left;
} good[] = {
    {"0\r\n\r\n", "", 0},
    {"3\r\nabc\r\n0\r\n\r\n", "abc", 0},
    {"3\r\nabc\r\nA\r\n0123456789\r\n0\r\n\r\nGET", "abc0123456789", 3},
    {"00001;name=\"v\"\r\n\r\r\n0\r\nX: y\r\nZ: 1\r\n\r\n", "\r", 0},
    {"2;\r\n\r\n\r\n000\r\n\r\n", "\r\n", 0},
    {"2 \t; a=b;c\r\nok\r\n0 ;z\r\nX:\r\n\r\n", "ok", 0},
};

START_TEST(content_is_the_same_in_pieces_of_every_size)
{
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        for (size_t piece = 1; piece < 40; piece++) {
            CLEANUP(buf_release) struct buf got;
            buf_init(&got, 1000);
            size_t left = 99;
            ck_assert_int_eq(decode(good[i].body, piece, &got, &left), RC_OK);
            ck_assert_str_eq(buf_text(&got), good[i].content);
            ck_assert_uint_eq(left, good[i].left);
        }
    }
}
END_TEST

static const char *const bad[] = {
    "\r\n",
    "x\r\n",
    "-1\r\n",
    "0x1\r\n",
    "1\na\r\n",
    "1\r\nab\r\n",
    "1\r\na\n",
    "fffffffffffffffff\r\n",
    " 1\r\n",
    "1\r\na\r\n;x\r\n",
    "+1\r\n",
    "0x1d\r\n",
    "1 \r\n",
    "1 1\r\n",
    "1;\n",
    "1;a\rb\r\n",
    "1;\x01\r\n",
    "\n1\r\n",
    "1\r\na1\r\n",
    "0\r\nGET / HTTP/1.1\r\n",
    "0\r\n\n",
    "0\r\nX: y\n\r\n",
    "0\r\n X: y\r\n",
    "0\r\nX : y\r\n",
    "0\r\nX\r\n",
    "0\r\n: y\r\n",
    "0\r\nX: \x7f\r\n",
    "0\r\n\rX",
};

START_TEST(a_wrong_frame_is_malformed)
{
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        CLEANUP(buf_release) struct buf got;
        buf_init(&got, 1000);
        size_t left;
        ck_assert_msg(decode(bad[i], 100, &got, &left) == RC_MALFORMED, "%s", bad[i]);
    }
}
END_TEST

/* For the whole body: one extension or trailer is as good as many. */
START_TEST(extensions_and_trailers_are_bounded)
{
    CLEANUP(buf_release) struct buf body, got;
    buf_init(&body, 100000);
    buf_init(&got, 1000);
    size_t left;
    for (int i = 0; i < 100; i++)
        buf_addf(&body, "1;%0100d\r\nx\r\n", 0);
    ck_assert_int_eq(decode(buf_text(&body), 1000, &got, &left), RC_TOO_LARGE);
    buf_clear(&body);
    buf_adds(&body, "0\r\n");
    for (int i = 0; i < 100; i++)
        buf_addf(&body, "X: %0100d\r\n", 0);
    ck_assert_int_eq(decode(buf_text(&body), 1000, &got, &left), RC_TOO_LARGE);
}
END_TEST

Suite *http_chunks_suite(void)
{
    Suite *suite = suite_create("http_chunks");
    TCase *tc = tcase_create("http_chunks");
    tcase_add_test(tc, content_is_the_same_in_pieces_of_every_size);
    tcase_add_test(tc, a_wrong_frame_is_malformed);
    tcase_add_test(tc, extensions_and_trailers_are_bounded);
    suite_add_tcase(suite, tc);
    return suite;
}
