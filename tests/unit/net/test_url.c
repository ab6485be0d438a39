/*
 * test_url.c - addresses that are taken and refused, and escaping.
 */
#include "net/url.h"
#include "tests/unit/suites.h"
#include <string.h>

START_TEST(an_address_is_read_and_written_in_its_normal_form)
{
    static const char *const table[][2] = {
        {"http://127.0.0.1:8717", "http://127.0.0.1:8717"},
        {"http://127.0.0.1:8717/", "http://127.0.0.1:8717"},
        {"HTTP://Example.ORG", "http://example.org:80"},
        {"https://drover.example.org/base/", "https://drover.example.org:443/base"},
        {"http://[::1]:9", "http://[::1]:9"},
        {"https://[2001:DB8::1]/a//", "https://[2001:db8::1]:443/a"},
        {"http://a_b-c.d~e:65535/%20x", "http://a_b-c.d~e:65535/%20x"},
    };
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        struct url url;
        struct err err = {0};
        char text[URL_TEXT_BYTES];
        ck_assert_msg(url_parse(table[i][0], &url, &err) == RC_OK, "%s: %s", table[i][0], err.text);
        ck_assert_str_eq(url_format(text, &url), table[i][1]);
    }
}
END_TEST

START_TEST(what_is_no_address_is_refused_and_leaves_the_output_alone)
{
    static const char *const table[] = {
        "",
        "127.0.0.1:8717",
        "ftp://host",
        "file:///etc/passwd",
        "http://",
        "http:///path",
        "http://host:",
        "http://host:0",
        "http://host:65536",
        "http://host:99999999999999999999",
        "http://host:8x",
        "http://user:secret@host",
        "http://host/a?b=c",
        "http://host/#f",
        "http://host/a b",
        "http://host\r\nX: y",
        "http://[::1",
        "http://[not-hex]",
        "http://ho st",
        "http://host\\evil",
    };
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        struct url url = {.port = -7};
        struct err err = {0};
        ck_assert_msg(url_parse(table[i], &url, &err) == RC_MALFORMED, "taken: %s", table[i]);
        ck_assert_str_eq(err.code, "INVALID_URL");
        ck_assert_int_eq(url.port, -7);
    }
}
END_TEST

START_TEST(a_password_in_an_address_is_not_repeated_in_the_message)
{
    struct url url;
    struct err err = {0};
    ck_assert_int_eq(url_parse("http://user:secret@host", &url, &err), RC_MALFORMED);
    ck_assert_ptr_null(strstr(err.text, "secret"));
}
END_TEST

START_TEST(loopback_is_told_from_the_rest)
{
    static const struct {
        const char *text;
        bool loopback;
    } table[] = {
        {"http://127.0.0.1", true},      {"http://127.8.9.1:5", true},
        {"http://localhost:1", true},    {"http://[::1]", true},
        {"http://127.evil.org", false},  {"http://10.0.0.1", false},
        {"http://localhost.org", false},
    };
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        struct url url;
        ck_assert_int_eq(url_parse(table[i].text, &url, NULL), RC_OK);
        ck_assert_msg(url_is_loopback(&url) == table[i].loopback, "%s", table[i].text);
    }
}
END_TEST

START_TEST(segments_and_query_values_are_escaped)
{
    CLEANUP(buf_release) struct buf path;
    buf_init(&path, 1000);
    buf_adds(&path, "/v1/repositories/");
    url_add_escaped(&path, "acme/bil ling?\xC3\xA9");
    ck_assert_str_eq(buf_text(&path), "/v1/repositories/acme%2Fbil%20ling%3F%C3%A9");
    url_add_query(&path, "status", "a&b=c");
    url_add_query(&path, "limit", "50");
    ck_assert_ptr_nonnull(strstr(buf_text(&path), "?status=a%26b%3Dc&limit=50"));
}
END_TEST

Suite *url_suite(void)
{
    Suite *suite = suite_create("url");
    TCase *tc = tcase_create("url");
    tcase_add_test(tc, an_address_is_read_and_written_in_its_normal_form);
    tcase_add_test(tc, what_is_no_address_is_refused_and_leaves_the_output_alone);
    tcase_add_test(tc, a_password_in_an_address_is_not_repeated_in_the_message);
    tcase_add_test(tc, loopback_is_told_from_the_rest);
    tcase_add_test(tc, segments_and_query_values_are_escaped);
    suite_add_tcase(suite, tc);
    return suite;
}
