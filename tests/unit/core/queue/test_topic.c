/*
 * test_topic.c - which names are topics, which are patterns, and what matches what.
 */
#include "base/rc.h"
#include "core/queue/topic.h"
#include "tests/unit/suites.h"
#include <string.h>

#define TEN   "ABCDEFGHIJ"
#define FIFTY TEN TEN TEN TEN TEN

static const struct {
    const char *name;
    bool topic, pattern;
} names[] = {
    {"a", true, true},
    {"ticket.created", true, true},
    {"A-1_b.2", true, true},
    {"1.2.3.4.5.6.7.8.9.10.11.12.13.14.15.16", true, true},
    {"1.2.3.4.5.6.7.8.9.10.11.12.13.14.15.16.17", false, false},
    {FIFTY FIFTY FIFTY FIFTY, true, true},
    {FIFTY FIFTY FIFTY FIFTY "x", false, false},
    {"", false, false},
    {".", false, false},
    {".a", false, false},
    {"a.", false, false},
    {"a..b", false, false},
    {"a b", false, false},
    {"a/b", false, false},
    {"\xc3\xa4", false, false},
    {"*", false, true},
    {">", false, true},
    {"a.*", false, true},
    {"*.a.*", false, true},
    {"a.>", false, true},
    {"*.>", false, true},
    {"a.>.b", false, false},
    {">.a", false, false},
    {"a.*b", false, false},
    {"a.**", false, false},
    {"a>", false, false},
    {"1.2.3.4.5.6.7.8.9.10.11.12.13.14.15.>", false, true},
};

START_TEST(a_name_is_a_topic_or_a_pattern_or_neither)
{
    ck_assert_msg(topic_valid(names[_i].name) == names[_i].topic, "%s", names[_i].name);
    ck_assert_msg(topic_pattern_valid(names[_i].name) == names[_i].pattern, "%s", names[_i].name);
}
END_TEST

static const struct {
    const char *pattern, *topic;
    bool want;
} pairs[] = {
    {"a", "a", true},         {"a", "b", false},        {"a", "A", false},
    {"a", "ab", false},       {"ab", "a", false},       {"a.b", "a.b", true},
    {"a.b", "a", false},      {"a", "a.b", false},      {"*", "a", true},
    {"*", "a.b", false},      {"a.*", "a.b", true},     {"a.*", "a", false},
    {"a.*", "a.b.c", false},  {"a.*", "b.b", false},    {"*.b", "a.b", true},
    {"*.b", "a.c", false},    {"a.*.c", "a.b.c", true}, {"a.*.c", "a.c", false},
    {">", "a", true},         {">", "a.b.c", true},     {"a.>", "a", false},
    {"a.>", "a.b", true},     {"a.>", "a.b.c.d", true}, {"a.>", "ab.c", false},
    {"*.>", "a", false},      {"*.>", "a.b", true},     {"a.*.>", "a.b", false},
    {"a.*.>", "a.b.c", true},
};

START_TEST(patterns_match_token_by_token)
{
    ck_assert_msg(topic_matches(pairs[_i].pattern, pairs[_i].topic) == pairs[_i].want, "%s on %s",
                  pairs[_i].pattern, pairs[_i].topic);
}
END_TEST

Suite *topic_suite(void)
{
    Suite *suite = suite_create("topic");
    TCase *tc = tcase_create("topic");
    tcase_add_loop_test(tc, a_name_is_a_topic_or_a_pattern_or_neither, 0, COUNT_OF(names));
    tcase_add_loop_test(tc, patterns_match_token_by_token, 0, COUNT_OF(pairs));
    suite_add_tcase(suite, tc);
    return suite;
}
