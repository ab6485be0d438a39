/*
 * test_cli_refresh.c - one screen of a view that refreshes.
 */
#include "base/str.h"
#include "cli/refresh.h"
#include "tests/unit/suites.h"

static const struct {
    size_t rows;
    const char *body, *screen;
} table[] = {
    {24, "", "\033[Hhead\033[K\033[J"},
    {24, "a\nb\n", "\033[Hhead\033[K\r\na\033[K\r\nb\033[K\033[J"},
    {24, "a\nb", "\033[Hhead\033[K\r\na\033[K\r\nb\033[K\033[J"},
    {24, "a\n\nb\n", "\033[Hhead\033[K\r\na\033[K\r\n\033[K\r\nb\033[K\033[J"},
    {3, "a\nb\n", "\033[Hhead\033[K\r\na\033[K\r\nb\033[K\033[J"},
    {3, "a\nb\nc\n", "\033[Hhead\033[K\r\na\033[K\r\n... 2 more lines than fit\033[K\033[J"},
    {4, "a\nb\nc\nd\ne",
     "\033[Hhead\033[K\r\na\033[K\r\nb\033[K\r\n... 3 more lines than fit\033[K\033[J"},
    {0, "a\nb\nc\n", "\033[Hhead\033[K\r\na\033[K\r\n... 2 more lines than fit\033[K\033[J"},
};

START_TEST(a_screen_holds_what_fits_and_tells_of_the_rest)
{
    CLEANUP(buf_release) struct buf screen;
    buf_init(&screen, 4096);
    refresh_paint(
        &(struct refresh_screen){.rows = table[_i].rows, .head = "head", .body = table[_i].body},
        &screen);
    ck_assert_str_eq(buf_text(&screen), table[_i].screen);
}
END_TEST

Suite *cli_refresh_suite(void)
{
    Suite *suite = suite_create("cli_refresh");
    TCase *tests = tcase_create("screen");
    tcase_add_loop_test(tests, a_screen_holds_what_fits_and_tells_of_the_rest, 0,
                        (int)COUNT_OF(table));
    suite_add_tcase(suite, tests);
    return suite;
}
