/*
 * test_error_pattern.c - errors of one cause look alike, errors of two do not.
 */
#include "base/str.h"
#include "core/text/error_pattern.h"
#include "tests/unit/suites.h"
#include <string.h>

static const struct {
    const char *text, *want;
} patterns[] = {
    {"", ""},
    {"   \n\t ", ""},
    {"connection refused", "connection refused"},
    {"  two\n\n lines\t", "two lines"},
    {"job 0190b6a0-0000-7000-8000-00000000000a is gone", "job <uuid> is gone"},
    {"0190B6A0-0000-7000-8000-00000000000A", "<uuid>"},
    {"commit 9fceb02d0ae598e95dc970b74767f19372d61af8 is missing", "commit <hex> is missing"},
    {"short a1b2c3d too", "short <hex> too"},
    {"at 0x7ffe12ab", "at <hex>"},
    {"a defaced facade", "a defaced facade"},
    {"after 30 s", "after <n> s"},
    {"took 10ms of 1,000.5 (100%)", "took <n>ms of <n> (<n>%)"},
    {"exit status -11", "exit status <n>"},
    {"worker-12 lost job42", "worker-<n> lost job<n>"},
    {"12345678 rows", "<n> rows"},
    {"at 2026-01-02T10:11:12.5Z", "at <n>-<n>-<n>T<n>:<n>:<n>Z"},
    {"no column \"total\" in 'orders' or `lines`", "no column <text> in <text> or <text>"},
    {"said \"it is \\\"so\\\"\"!", "said <text>!"},
    {"can't and won't", "can't and won't"},
    {"an open \" quote", "an open \" quote"},
    {"cannot open /var/lib/x/y.db: no space", "cannot open <path>: no space"},
    {"src/core/queue/job.c:12: error", "<path>: error"},
    {"see src/main.c.", "see <path>."},
    {"~/x and ./y and ../z", "<path> and <path> and <path>"},
    {"I/O error, n/a and/or", "I/O error, n/a and/or"},
    {"GET https://example.org/a?b=1, failed", "GET <url>, failed"},
    {"dial 10.0.0.7:5432: refused", "dial <address>: refused"},
    {"from 192.168.1.1", "from <address>"},
    {"version 1.2.3", "version <n>"},
    {"dial [::1]:8080 and fe80::1 and 2001:db8:0:0:0:0:0:1",
     "dial <address> and <address> and <address>"},
    {"mail to some.body@example.org bounced", "mail to <address> bounced"},
    {"db-1.internal:5432 is away", "db-<n>.internal:<n> is away"},
    {"\u00fcber \u2603 12", "\u00fcber \u2603 <n>"},
    {"bad \xff byte", "bad ? byte"},
};

START_TEST(particulars_become_placeholders)
{
    CLEANUP(arena_release) struct arena arena = {0};
    ck_assert_str_eq(error_pattern(patterns[_i].text, &arena), patterns[_i].want);
}
END_TEST

START_TEST(a_pattern_of_a_pattern_is_the_same)
{
    CLEANUP(arena_release) struct arena arena = {0};
    char *once = error_pattern(patterns[_i].text, &arena);
    ck_assert_str_eq(error_pattern(once, &arena), once);
}
END_TEST

START_TEST(a_pattern_is_short_and_whole)
{
    CLEANUP(arena_release) struct arena arena = {0};
    static const char *const units[] = {"word ", "\u20ac", "12 ", "/a/b ", "\"", "1.", "a:", "::"};
    for (size_t i = 0; i < COUNT_OF(units); i++) {
        enum { BYTES = 6000 };
        char *text = arena_alloc(&arena, BYTES + 1);
        size_t len = strlen(units[i]);
        for (size_t at = 0; at + len <= BYTES; at += len)
            memcpy(text + at, units[i], len);
        char *pattern = error_pattern(text, &arena);
        ck_assert_uint_le(strlen(pattern), ERROR_PATTERN_MAX);
        ck_assert_uint_gt(strlen(pattern), 0);
        ck_assert(text_utf8_valid(pattern, strlen(pattern)));
    }
}
END_TEST

Suite *error_pattern_suite(void)
{
    Suite *suite = suite_create("error_pattern");
    TCase *tc = tcase_create("error_pattern");
    tcase_add_loop_test(tc, particulars_become_placeholders, 0, COUNT_OF(patterns));
    tcase_add_loop_test(tc, a_pattern_of_a_pattern_is_the_same, 0, COUNT_OF(patterns));
    tcase_add_test(tc, a_pattern_is_short_and_whole);
    suite_add_tcase(suite, tc);
    return suite;
}
