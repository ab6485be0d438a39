/*
 * test_compute_output.c - lines of any length in pieces of any length, and the memory for them.
 */
#include "tests/unit/suites.h"
#include "work/agent/compute_output.h"
#include <string.h>

static struct {
    int lines, too_long;
    size_t last_len, beginning_len;
    char first;
    bool refuse;
} heard;
static struct output output;
static char chunk[64 * 1024];

static bool on_line(void *ctx, struct str line)
{
    (void)ctx;
    heard.lines++;
    heard.last_len = line.len;
    heard.first = line.len > 0 ? line.at[0] : '\0';
    return !heard.refuse;
}

static bool on_too_long(void *ctx, struct str beginning)
{
    (void)ctx;
    heard.too_long++;
    heard.beginning_len = beginning.len;
    heard.first = beginning.at[0];
    return !heard.refuse;
}

static const struct compute_reader reader = {.line = on_line, .too_long = on_too_long};

static void setup(void)
{
    memset(&heard, 0, sizeof heard);
    memset(chunk, 'y', sizeof chunk);
    output_init(&output, &reader, NULL);
    ck_assert_int_eq(output_open(&output, "/dev/null", 1 << 20, NULL), RC_OK);
}

static void teardown(void)
{
    output_release(&output);
}

static void add(const char *text)
{
    output_add(&output, STREAM_OUT, text, strlen(text));
}

static void add_many(size_t bytes)
{
    for (size_t part; bytes > 0; bytes -= part) {
        part = bytes < sizeof chunk ? bytes : sizeof chunk;
        output_add(&output, STREAM_OUT, chunk, part);
    }
}

START_TEST(a_line_comes_whole_however_it_is_cut)
{
    for (const char *at = "{\"a\":1}\n\nlast"; *at != '\0'; at++)
        output_add(&output, STREAM_OUT, at, 1);
    ck_assert_int_eq(heard.lines, 2);
    ck_assert_uint_eq(heard.last_len, 0);
    output_end(&output);
    ck_assert_int_eq(heard.lines, 3);
    ck_assert_uint_eq(heard.last_len, 4);
}
END_TEST

START_TEST(the_memory_of_a_long_line_is_given_back)
{
    add("{");
    add_many(OUTPUT_LINE_MAX - 1);
    ck_assert_uint_ge(output.line.room, OUTPUT_LINE_MAX);
    add("\n");
    ck_assert_int_eq(heard.lines, 1);
    ck_assert_uint_eq(heard.last_len, OUTPUT_LINE_MAX);
    ck_assert_int_eq(heard.too_long, 0);
    ck_assert_uint_eq(output.line.room, 0);
    add("short\n");
    ck_assert_uint_gt(output.line.room, 0); /* That of short ones is kept. */
}
END_TEST

START_TEST(a_line_that_is_too_long_is_shown_once_and_costs_no_more)
{
    add("{");
    add_many(OUTPUT_LINE_MAX);
    ck_assert_int_eq(heard.too_long, 1);
    ck_assert_int_eq(heard.first, '{');
    ck_assert_uint_gt(heard.beginning_len, 0);
    ck_assert_uint_eq(output.line.room, 0);
    add_many(3 * (size_t)OUTPUT_LINE_MAX);
    ck_assert_int_eq(heard.too_long, 1);
    ck_assert_uint_eq(output.line.room, 0);
    add("\nnext\n");
    ck_assert_int_eq(output.lines_skipped, 1);
    ck_assert_int_eq(heard.lines, 1);
    ck_assert(!output.refused);
}
END_TEST

START_TEST(the_reader_may_refuse_either)
{
    heard.refuse = true;
    if (_i == 0)
        add("a line\n");
    else
        add_many(OUTPUT_LINE_MAX + 1);
    ck_assert(output.refused);
}
END_TEST

START_TEST(last_words_are_those_of_stderr_or_else_plain_lines)
{
    CLEANUP(arena_release) struct arena arena = {0};
    add("plain words\n{\"type\":\"x\"}\n");
    ck_assert_str_eq(output_last_words(&output, &arena, 100), "plain words");
    output_add(&output, STREAM_ERR, "first\n", 6);
    output_add(&output, STREAM_ERR, "second\n", 7);
    ck_assert_str_eq(output_last_words(&output, &arena, 100), "first\nsecond");
    ck_assert(output_ended_with(&output, "second"));
    for (int i = 0; i < 1000; i++)
        output_add(&output, STREAM_ERR, "noise and noise\n", 16);
    ck_assert(!output_ended_with(&output, "second"));
    ck_assert_uint_le(strlen(output_last_words(&output, &arena, 100)), 100);
    ck_assert(text_starts(output_last_words(&output, &arena, 100), "noise and noise\n"));
}
END_TEST

Suite *compute_output_suite(void)
{
    Suite *suite = suite_create("compute_output");
    TCase *tests = tcase_create("compute_output");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, a_line_comes_whole_however_it_is_cut);
    tcase_add_test(tests, the_memory_of_a_long_line_is_given_back);
    tcase_add_test(tests, a_line_that_is_too_long_is_shown_once_and_costs_no_more);
    tcase_add_loop_test(tests, the_reader_may_refuse_either, 0, 2);
    tcase_add_test(tests, last_words_are_those_of_stderr_or_else_plain_lines);
    suite_add_tcase(suite, tests);
    return suite;
}
