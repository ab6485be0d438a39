/* test_http_head.c - heads of requests: what is taken, and what is refused. */
#include "core/http/head.h"
#include "tests/unit/suites.h"
#include <stdio.h>
#include <string.h>

static const struct http_head_limits limits = {
    .bytes_max = 400, .target_max = 100, .fields_max = 5};

#define H   "Host: x\r\n"
#define GET "GET / HTTP/1.1\r\n" H

static const struct {
    int status; /* 0: taken */
    const char *code;
    const char *head;
} heads[] = {
    {0, "", GET "\r\n"},
    {0, "", "GET / HTTP/1.0\r\n\r\n"},
    {0, "", "DELETE /a?b=c HTTP/1.1\r\n" H "\r\n"},
    {0, "", "OPTIONS * HTTP/1.1\r\n" H "\r\n"},
    {0, "", "GET http://x/a HTTP/1.1\r\n" H "\r\n"},
    {0, "", GET "X-Empty:\r\nX-Tab:\ta\tb \r\n\r\n"},
    {0, "", "POST / HTTP/1.1\r\n" H "content-length: 12\r\n\r\n"},
    {0, "", "POST / HTTP/1.1\r\n" H "TRANSFER-ENCODING: Chunked\r\n\r\n"},
    {0, "", "POST / HTTP/1.1\r\n" H "Expect: 100-continue\r\n\r\n"},
    {0, "", "GET http://X HTTP/1.1\r\n" H "\r\n"},
    {0, "", "GET http://x/ HTTP/1.0\r\n\r\n"},
    {0, "", "GET / HTTP/1.1\r\nHost:\r\n\r\n"},
    {0, "", "GET / HTTP/1.1\r\nHost: [::1]:80\r\n\r\n"},
    {0, "", "TRACE / HTTP/1.1\r\n" H "\r\n"}, /* No route takes it. */
    {400, "MALFORMED_REQUEST", "\r\n"},
    {400, "MALFORMED_REQUEST", "GET http://y/ HTTP/1.1\r\n" H "\r\n"},
    {400, "MALFORMED_REQUEST", "GET http://x:80/ HTTP/1.1\r\n" H "\r\n"},
    {400, "MALFORMED_REQUEST", "GET http://a@x/ HTTP/1.1\r\n" H "\r\n"},
    {400, "MALFORMED_REQUEST", "GET http:///a HTTP/1.1\r\n" H "\r\n"},
    {400, "MALFORMED_REQUEST", "GET https://x/ HTTP/1.1\r\n" H "\r\n"},
    {400, "MALFORMED_REQUEST", "GET /a#b HTTP/1.1\r\n" H "\r\n"},
    {400, "MALFORMED_REQUEST", "GET * HTTP/1.1\r\n" H "\r\n"},
    {400, "MALFORMED_REQUEST", "G@T / HTTP/1.1\r\n" H "\r\n"},
    {400, "MALFORMED_REQUEST", "GET\t/ HTTP/1.1\r\n" H "\r\n"},
    {400, "MALFORMED_REQUEST", " GET / HTTP/1.1\r\n" H "\r\n"},
    {400, "MALFORMED_REQUEST", GET "\r\nrest"},
    {400, "MALFORMED_REQUEST", GET},
    {400, "MALFORMED_HEADER", "GET / HTTP/1.1\r\nHost: a b\r\n\r\n"},
    {400, "MALFORMED_HEADER", "GET / HTTP/1.1\r\nHost: a,b\r\n\r\n"},
    {400, "MALFORMED_HEADER", "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n"},
    {400, "MALFORMED_HEADER", GET "X: a\rY: b\r\n\r\n"},
    {400, "MALFORMED_HEADER", GET "X: a\r\r\n\r\n"},
    {400, "MALFORMED_HEADER", GET "Content-Length: 0x1\r\n\r\n"},
    {400, "MALFORMED_HEADER", GET "Transfer-Encoding: gzip\r\n\r\n"},
    {400, "MALFORMED_HEADER", GET "Transfer-Encoding: xchunked\r\n\r\n"},
    {400, "MALFORMED_HEADER", GET "Transfer-Encoding: chunked, gzip\r\n\r\n"},
    {400, "MALFORMED_HEADER", GET "Transfer-Encoding: chunked, chunked\r\n\r\n"},
    {400, "MALFORMED_HEADER", GET "Transfer-Encoding:\r\n\r\n"},
    {400, "MALFORMED_HEADER", GET "Transfer-Encoding: \vchunked\r\n\r\n"},
    {400, "MALFORMED_REQUEST", "\r\n\r\n"},
    {400, "MALFORMED_REQUEST", "hello\r\n\r\n"},
    {400, "MALFORMED_REQUEST", "GET /\r\n\r\n"},
    {400, "MALFORMED_REQUEST", "GET  HTTP/1.1\r\n" H "\r\n"},
    {400, "MALFORMED_REQUEST", "GET x HTTP/1.1\r\n" H "\r\n"},
    {400, "MALFORMED_REQUEST", "GET /a b HTTP/1.1\r\n" H "\r\n"},
    {400, "MALFORMED_REQUEST", "GET /\x01 HTTP/1.1\r\n" H "\r\n"},
    {400, "MALFORMED_REQUEST", "GET /\xc3\xa9 HTTP/1.1\r\n" H "\r\n"},
    {400, "MALFORMED_HEADER", "GET / HTTP/1.1\r\n\r\n"},
    {400, "MALFORMED_HEADER", GET "no colon\r\n\r\n"},
    {400, "MALFORMED_HEADER", GET "X : a\r\n\r\n"},
    {400, "MALFORMED_HEADER", GET ": a\r\n\r\n"},
    {400, "MALFORMED_HEADER", GET "X: a\r\n folded\r\n\r\n"},
    {400, "MALFORMED_HEADER", GET "X: a\r\n\tfolded\r\n\r\n"},
    {400, "MALFORMED_HEADER", GET "X: a\x01\r\n\r\n"},
    {400, "MALFORMED_HEADER", GET "X: a\nY: b\r\n\r\n"},
    {400, "MALFORMED_HEADER", GET "Content-Length: +1\r\n\r\n"},
    {400, "MALFORMED_HEADER", GET "Content-Length: -1\r\n\r\n"},
    {400, "MALFORMED_HEADER", GET "Content-Length:\r\n\r\n"},
    {400, "MALFORMED_HEADER", GET "Content-Length: 1, 1\r\n\r\n"},
    {400, "MALFORMED_HEADER", GET "Content-Length: 99999999999999999999\r\n\r\n"},
    {400, "MALFORMED_HEADER", GET "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"},
    {400, "MALFORMED_HEADER", "GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"},
    {400, "REPEATED_HEADER", GET "Content-Length: 1\r\nContent-Length: 1\r\n\r\n"},
    {400, "REPEATED_HEADER", GET H "\r\n"},
    {400, "REPEATED_HEADER", GET "Authorization: a\r\nauthorization: b\r\n\r\n"},
    {400, "REPEATED_HEADER",
     GET "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n"},
    {417, "UNKNOWN_EXPECTATION", GET "Expect: magic\r\n\r\n"},
    {431, "TOO_MANY_HEADERS", GET "A: 1\r\nB: 2\r\nC: 3\r\nD: 4\r\nE: 5\r\n\r\n"},
    {501, "UNKNOWN_METHOD", "FROB / HTTP/1.1\r\n" H "\r\n"},
    {501, "UNKNOWN_METHOD", "get / HTTP/1.1\r\n" H "\r\n"},
    {501, "UNKNOWN_METHOD", "CONNECT / HTTP/1.1\r\n" H "\r\n"},
    {501, "UNKNOWN_TRANSFER_ENCODING", GET "Transfer-Encoding: gzip, chunked\r\n\r\n"},
    {505, "UNKNOWN_HTTP_VERSION", "GET / HTTP/2.0\r\n" H "\r\n"},
    {505, "UNKNOWN_HTTP_VERSION", "GET / http/1.1\r\n" H "\r\n"},
};

START_TEST(heads_are_taken_or_refused_by_the_book)
{
    for (size_t i = 0; i < COUNT_OF(heads); i++) {
        struct str text = str_of(heads[i].head);
        struct http_head head = {.content_length = 77};
        struct err err = {0};
        int status = http_head_parse(text, &limits, &head, &err);
        ck_assert_msg(status == heads[i].status, "%s: %d %s", heads[i].head, status, err.text);
        ck_assert_msg(strcmp(err.code, heads[i].code) == 0, "%s: %s", heads[i].head, err.code);
        if (status)
            ck_assert_int_eq(head.content_length, 77); /* Untouched. */
    }
}
END_TEST

START_TEST(what_is_known_of_a_head_is_read)
{
    struct http_head head;
    struct err err = {0};
    struct str text = STR("PUT /a%2Fb?c=d HTTP/1.1\r\nHost: x\r\nAuthorization:  Bearer t \r\n"
                          "Content-Length: 0012\r\n\r\n");
    ck_assert_int_eq(http_head_parse(text, &limits, &head, &err), 0);
    ck_assert_int_eq(head.method, HTTP_PUT);
    ck_assert(str_is(head.target, "/a%2Fb?c=d"));
    ck_assert(str_is(head.authorization, "Bearer t"));
    ck_assert_int_eq(head.content_length, 12);
    ck_assert(!head.chunked);
    text = STR("GET / HTTP/1.0\r\n\r\n");
    ck_assert_int_eq(http_head_parse(text, &limits, &head, &err), 0);
    ck_assert_int_eq(head.content_length, -1);
    ck_assert_uint_eq(head.authorization.len, 0);
}
END_TEST

static const struct {
    bool closes;
    const char *head;
} connections[] = {
    {false, GET "\r\n"},
    {true, GET "Connection: close\r\n\r\n"},
    {true, GET "Connection: X, Close\r\n\r\n"},
    {true, GET "Connection: keep-alive\r\nConnection: close\r\n\r\n"},
    {false, GET "Connection: closed\r\n\r\n"},
    {true, "GET / HTTP/1.0\r\n\r\n"},
    {false, "GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n"},
    {true, "GET / HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n"},
};

START_TEST(a_head_says_whether_another_may_follow)
{
    for (size_t i = 0; i < COUNT_OF(connections); i++) {
        struct http_head head;
        ck_assert_int_eq(http_head_parse(str_of(connections[i].head), &limits, &head, NULL), 0);
        ck_assert_msg(head.closes == connections[i].closes, "%s", connections[i].head);
    }
}
END_TEST

static const struct {
    const char *target, *path, *query; /* query NULL: none */
} targets[] = {
    {"/", "/", NULL},
    {"/a?b=c?d", "/a", "b=c?d"},
    {"/a?", "/a", ""},
    {"//x/a", "//x/a", NULL},
    {"http://x", "/", NULL},
    {"http://x?b", "/", "b"},
    {"HTTP://X/a?b", "/a", "b"},
};

START_TEST(a_target_is_a_path_and_a_query)
{
    for (size_t i = 0; i < COUNT_OF(targets); i++) {
        char text[100];
        struct http_head head;
        (void)snprintf(text, sizeof text, "GET %s HTTP/1.1\r\n" H "\r\n", targets[i].target);
        ck_assert_int_eq(http_head_parse(str_of(text), &limits, &head, NULL), 0);
        ck_assert_msg(str_is(head.path, targets[i].path), "%s", text);
        ck_assert_int_eq(head.query.at != NULL, targets[i].query != NULL);
        ck_assert(targets[i].query == NULL || str_is(head.query, targets[i].query));
    }
}
END_TEST

START_TEST(fields_come_one_by_one)
{
    struct http_head head;
    struct http_head_field field;
    ck_assert_int_eq(http_head_parse(STR(GET "A:  b \r\nC:\r\n\r\n"), &limits, &head, NULL), 0);
    struct str rest = head.fields;
    ck_assert(http_head_next(&rest, &field) && http_name_is(field.name, "hOST"));
    ck_assert(http_head_next(&rest, &field) && str_is(field.name, "A"));
    ck_assert(str_is(field.value, "b") && str_is(field.line, "A:  b \r\n"));
    ck_assert(http_head_next(&rest, &field) && str_is(field.name, "C") && field.value.len == 0);
    ck_assert(!http_head_next(&rest, &field));
}
END_TEST

static size_t head_length(struct str bytes)
{
    struct http_scan scan = {0};
    size_t length = 0;
    return http_scan(&scan, bytes, &length, NULL) == 0 ? length : 0;
}

START_TEST(a_head_ends_at_its_empty_line)
{
    ck_assert_uint_eq(head_length((struct str){0}), 0);
    ck_assert_uint_eq(head_length(STR("GET / HTTP/1.1\r\nHost: x\r\n")), 0);
    ck_assert_uint_eq(head_length(STR("GET / HTTP/1.1\n\n")), 0);
    ck_assert_uint_eq(head_length(STR("a\r\n\r\nbody")), 5);
}
END_TEST

START_TEST(large_heads_are_refused)
{
    char text[1024];
    struct http_head head;
    struct err err = {0};
    memset(text, 'a', sizeof text);
    memcpy(text, "GET /", 5);
    memcpy(text + 200, " HTTP/1.1\r\nHost: x\r\n\r\n", 22);
    ck_assert_int_eq(http_head_parse((struct str){text, 222}, &limits, &head, &err), 414);
    memset(text, 'a', sizeof text);
    memcpy(text, "GET / HTTP/1.1\r\nX: ", 19);
    memcpy(text + 500, "\r\n\r\n", 4);
    ck_assert_int_eq(http_head_parse((struct str){text, 504}, &limits, &head, &err), 431);
}
END_TEST

START_TEST(a_nul_is_a_control_character)
{
    struct http_head head;
    struct err err = {0};
    ck_assert_int_eq(
        http_head_parse(STR("GET / HTTP/1.1\r\nHost: x\r\nX: a\0b\r\n\r\n"), &limits, &head, &err),
        400);
    ck_assert_int_eq(
        http_head_parse(STR("GET /\0 HTTP/1.1\r\nHost: x\r\n\r\n"), &limits, &head, &err), 400);
}
END_TEST

Suite *http_head_suite(void)
{
    Suite *suite = suite_create("http_head");
    TCase *tests = tcase_create("http_head");
    tcase_add_test(tests, heads_are_taken_or_refused_by_the_book);
    tcase_add_test(tests, what_is_known_of_a_head_is_read);
    tcase_add_test(tests, a_head_says_whether_another_may_follow);
    tcase_add_test(tests, a_target_is_a_path_and_a_query);
    tcase_add_test(tests, fields_come_one_by_one);
    tcase_add_test(tests, a_head_ends_at_its_empty_line);
    tcase_add_test(tests, large_heads_are_refused);
    tcase_add_test(tests, a_nul_is_a_control_character);
    suite_add_tcase(suite, tests);
    return suite;
}
