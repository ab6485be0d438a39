/*
 * test_cli_term.c - widths, cutting, cleaning, times and tables.
 */
#include "base/clock.h"
#include "base/str.h"
#include "cli/table.h"
#include "cli/term.h"
#include "tests/unit/suites.h"
#include <stdio.h>
#include <string.h>

START_TEST(width_is_counted_in_columns)
{
    static const struct {
        const char *text;
        size_t columns;
    } table[] = {
        {"", 0},          {"abc", 3},      {"\xC3\xA9t\xC3\xA9", 3},
        {"e\xCC\x81", 1}, {"日本語", 6},   {"\xF0\x9F\x90\x8E", 2},
        {"a\tb", 3},      {"\xFF\xFE", 2}, {"\xE2\x80\xA6", 1},
    };
    for (size_t i = 0; i < COUNT_OF(table); i++)
        ck_assert_uint_eq(term_columns(table[i].text), table[i].columns);
}
END_TEST

START_TEST(text_is_cut_at_characters_and_made_safe)
{
    static const struct {
        const char *text;
        size_t columns;
        const char *want;
    } table[] = {
        {"abcdef", 6, "abcdef"},
        {"abcdef", 4, "abc\xE2\x80\xA6"},
        {"abcdef", 1, "\xE2\x80\xA6"},
        {"abcdef", 0, ""},
        {"h\xC3\xA9llo", 3, "h\xC3\xA9\xE2\x80\xA6"},
        {"日本語", 5, "日本\xE2\x80\xA6"},
        {"日本語", 4, "日\xE2\x80\xA6"}, /* Half a wide character does not fit. */
        {"a\033[31mb\nc\x7F", 20, "a [31mb c "},
        {"\xC2\x9B"
         "31m",
         20, " 31m"}, /* CSI as one character. */
        {"evil\xE2\x80\xAE"
         "txt",
         20, "evil txt"},
        {"bad \xC3(", 20, "bad ?("},
    };
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        CLEANUP(buf_release) struct buf out;
        buf_init(&out, 100);
        term_fit(&out, table[i].text, table[i].columns);
        ck_assert_str_eq(buf_text(&out), table[i].want);
    }
}
END_TEST

START_TEST(ages_read_like_speech)
{
    static const struct {
        int64_t age_us;
        const char *want;
    } table[] = {
        {0, "just now"},
        {US_PER_SECOND, "just now"},
        {40 * US_PER_SECOND, "40 s ago"},
        {2 * US_PER_MINUTE + 5, "2 min ago"},
        {3 * US_PER_HOUR, "3 h ago"},
        {5 * US_PER_DAY, "5 d ago"},
        {-3 * US_PER_MINUTE, "in 3 min"},
        {-US_PER_SECOND, "now"},
    };
    CLEANUP(arena_release) struct arena arena = {0};
    int64_t now_us = 400 * US_PER_DAY;
    for (size_t i = 0; i < COUNT_OF(table); i++)
        ck_assert_str_eq(term_ago(&arena, now_us, now_us - table[i].age_us), table[i].want);
}
END_TEST

START_TEST(times_are_ages_on_a_terminal_and_absolute_elsewhere)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct term term = {.tty = true};
    ck_assert(time_parse("2026-07-03T12:02:00Z", &term.now_us));
    ck_assert_str_eq(term_time(&term, "2026-07-03T12:00:00.5Z", &arena), "1 min ago");
    term.tty = false;
    ck_assert_str_eq(term_time(&term, "2026-07-03T12:00:00.5Z", &arena), "2026-07-03 12:00:00Z");
    ck_assert_str_eq(term_time(&term, NULL, &arena), "");
    ck_assert_str_eq(term_time(&term, "yesterday", &arena), "");
}
END_TEST

START_TEST(sizes_have_units)
{
    CLEANUP(arena_release) struct arena arena = {0};
    ck_assert_str_eq(term_bytes(&arena, 0), "0 B");
    ck_assert_str_eq(term_bytes(&arena, 999), "999 B");
    ck_assert_str_eq(term_bytes(&arena, 1250), "1.2 KB");
    ck_assert_str_eq(term_bytes(&arena, 64 * 1000 * 1000), "64.0 MB");
    ck_assert_str_eq(term_bytes(&arena, INT64_C(5000000000000)), "5000.0 GB");
}
END_TEST

static const struct table_column columns[] = {
    {"ID", false, false},
    {"N", true, false},
    {"TEXT", false, true},
};

static void print_table(const struct term *term, bool below, char *to, size_t room)
{
    static const char *const cells[] = {"é1", "7", "short", "日本", "1234", "a long description",
                                        "b",  "",  ""};
    CLEANUP(arena_release) struct arena arena = {0};
    struct table table;
    table_init(&table, term, columns, COUNT_OF(columns), &arena);
    table.below = below;
    for (size_t i = 0; i < COUNT_OF(cells); i++)
        table_cell(&table, cells[i], i == 1 ? TONE_RED : TONE_PLAIN);
    FILE *file = fmemopen(to, room, "w");
    table_print(&table, file);
    fclose(file);
}

START_TEST(a_table_is_aligned_by_columns_not_by_bytes)
{
    char text[512];
    const struct term term = {.columns = SIZE_MAX};
    print_table(&term, false, text, sizeof text);
    ck_assert_str_eq(text, "ID       N  TEXT\n"
                           "é1       7  short\n"
                           "日本  1234  a long description\n"
                           "b\n");
}
END_TEST

START_TEST(the_flexible_column_gives_way_on_a_narrow_terminal)
{
    char text[512];
    const struct term term = {.tty = true, .columns = 22};
    print_table(&term, false, text, sizeof text);
    ck_assert_str_eq(text, "ID       N  TEXT\n"
                           "é1       7  short\n"
                           "日本  1234  a long de…\n"
                           "b\n");
}
END_TEST

START_TEST(a_last_column_stands_below_its_row_where_it_does_not_fit)
{
    char text[512];
    const struct term narrow = {.tty = true, .columns = 22}, wide = {.tty = true, .columns = 80};
    print_table(&narrow, true, text, sizeof text);
    ck_assert_str_eq(text, "ID       N\n"
                           "é1       7\n"
                           "    short\n"
                           "日本  1234\n"
                           "    a long description\n"
                           "b\n");
    print_table(&wide, true, text, sizeof text);
    ck_assert_str_eq(text, "ID       N  TEXT\n"
                           "é1       7  short\n"
                           "日本  1234  a long description\n"
                           "b\n");
}
END_TEST

START_TEST(colours_do_not_count_as_width)
{
    char text[512];
    const struct term term = {.tty = true, .color = true, .columns = 80};
    print_table(&term, false, text, sizeof text);
    ck_assert_ptr_nonnull(strstr(text, "é1       \033[31m7\033[0m  short\n"));
}
END_TEST

Suite *cli_term_suite(void)
{
    Suite *suite = suite_create("cli_term");
    TCase *tc = tcase_create("cli_term");
    tcase_add_test(tc, width_is_counted_in_columns);
    tcase_add_test(tc, text_is_cut_at_characters_and_made_safe);
    tcase_add_test(tc, ages_read_like_speech);
    tcase_add_test(tc, times_are_ages_on_a_terminal_and_absolute_elsewhere);
    tcase_add_test(tc, sizes_have_units);
    tcase_add_test(tc, a_table_is_aligned_by_columns_not_by_bytes);
    tcase_add_test(tc, the_flexible_column_gives_way_on_a_narrow_terminal);
    tcase_add_test(tc, a_last_column_stands_below_its_row_where_it_does_not_fit);
    tcase_add_test(tc, colours_do_not_count_as_width);
    suite_add_tcase(suite, tc);
    return suite;
}
