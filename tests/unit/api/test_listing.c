/*
 * test_listing.c - what a page shows, and the cursor of the next one.
 */
#include "api/listing.h"
#include "tests/unit/suites.h"
#include <stdio.h>
#include <string.h>

enum { ROWS = 5 };

static struct call call;
static struct err err;

static void setup(void)
{
    call = (struct call){.http.answer.file_fd = -1};
    err = (struct err){0};
    buf_init(&call.http.answer.body, 4096);
}

static void teardown(void)
{
    buf_release(&call.http.answer.body);
    arena_release(&call.http.arena);
}

static void open_listing(struct listing *list, enum cursor_kind kind, const char *query)
{
    buf_clear(&call.http.answer.body);
    call.http.query = str_of(query);
    listing_open(list, &call, kind, &err);
}

static const char *const names[ROWS] = {"a", "b", "c", "d", "e"};

/* A page of the names behind `after`; returns the answer. */
static const char *page_of_names(const char *query)
{
    struct listing list;
    open_listing(&list, CURSOR_NAME, query);
    enum rc rc = listing_begin(&list);
    size_t from = 0;
    while (list.after != NULL && from < ROWS && strcmp(names[from], list.after) <= 0)
        from++;
    list.count = ROWS - from;
    if ((int64_t)list.count > list.query_limit)
        list.count = (size_t)list.query_limit;
    for (size_t i = 0; rc == RC_OK && listing_shows(&list, i); i++) {
        jw_str(&list.jw, names[from + i]);
        list.last = names[from + i];
    }
    ck_assert_int_eq(listing_end(&list, rc), RC_OK);
    return buf_text(&call.http.answer.body);
}

START_TEST(pages_follow_each_other_by_their_cursors)
{
    ck_assert_str_eq(page_of_names("limit=2"), "{\"items\":[\"a\",\"b\"],\"cursor\":\"bmI\"}");
    ck_assert_str_eq(page_of_names("limit=2&cursor=bmI"),
                     "{\"items\":[\"c\",\"d\"],\"cursor\":\"bmQ\"}");
    ck_assert_str_eq(page_of_names("limit=2&cursor=bmQ"), "{\"items\":[\"e\"],\"cursor\":null}");
    ck_assert_int_eq(call.http.answer.status, 200);
}
END_TEST

/* The query looks for one row more than the page has. */
START_TEST(a_page_that_is_just_full_is_the_last)
{
    ck_assert_str_eq(page_of_names("limit=5"),
                     "{\"items\":[\"a\",\"b\",\"c\",\"d\",\"e\"],\"cursor\":null}");
    ck_assert_str_eq(page_of_names("cursor=bmU"), "{\"items\":[],\"cursor\":null}");
}
END_TEST

START_TEST(more_rows_than_were_asked_for_are_not_shown)
{
    struct listing list;
    open_listing(&list, CURSOR_NAME, "limit=2");
    ck_assert_int_eq(listing_begin(&list), RC_OK);
    ck_assert_int_eq(list.query_limit, 3);
    list.count = 100;
    ck_assert(listing_shows(&list, 1));
    ck_assert(!listing_shows(&list, 2));
}
END_TEST

START_TEST(a_whole_listing_has_no_cursor_and_takes_none)
{
    struct listing list;
    open_listing(&list, CURSOR_NONE, "");
    ck_assert_int_eq(listing_begin(&list), RC_OK);
    list.count = 1000;
    ck_assert(listing_shows(&list, 999));
    ck_assert(!listing_shows(&list, 1000));
    ck_assert_int_eq(listing_end(&list, RC_OK), RC_OK);
    ck_assert_str_eq(buf_text(&call.http.answer.body), "{\"items\":[],\"cursor\":null}");
    open_listing(&list, CURSOR_NONE, "limit=2");
    ck_assert_int_eq(listing_begin(&list), RC_MALFORMED);
    ck_assert_str_eq(err.code, "UNKNOWN_PARAMETER");
}
END_TEST

/* Ends a page whose scan stopped at this row; returns the cursor in the answer. */
static const char *cursor_after_scan(enum cursor_kind kind, const struct id *end, int64_t end_seq)
{
    struct listing list;
    open_listing(&list, kind, "limit=2");
    ck_assert_int_eq(listing_begin(&list), RC_OK);
    ck_assert_int_eq(list.scan.rows_max, SCAN_ROWS_MAX);
    list.scan.end = *end;
    list.scan.end_seq = end_seq;
    ck_assert_int_eq(listing_end(&list, RC_OK), RC_OK);
    CLEANUP(js_freep) struct js *tree = NULL;
    const char *text = buf_text(&call.http.answer.body);
    ck_assert_int_eq(js_parse(text, strlen(text), &tree, &err), RC_OK);
    return arena_strdup(&call.http.arena, js_get_str(tree, "cursor", NULL));
}

START_TEST(a_scan_that_stopped_early_continues_where_it_stopped)
{
    struct listing list;
    struct id id;
    const struct id none = {0};
    ck_assert(id_parse("0190b6a0-0000-7000-8000-000000000001", &id));
    const char *cursor = cursor_after_scan(CURSOR_ID, &id, 0);
    open_listing(&list, CURSOR_ID, arena_printf(&call.http.arena, "cursor=%s", cursor));
    ck_assert_int_eq(listing_begin(&list), RC_OK);
    ck_assert_str_eq(list.before.text, id.text);
    cursor = cursor_after_scan(CURSOR_SEQ, &none, 42);
    open_listing(&list, CURSOR_SEQ, arena_printf(&call.http.arena, "cursor=%s", cursor));
    ck_assert_int_eq(listing_begin(&list), RC_OK);
    ck_assert_int_eq(list.after_seq, 42);
    ck_assert_ptr_null(cursor_after_scan(CURSOR_ID, &none, 0));
}
END_TEST

/* A page that is full continues after its last row, wherever the scan ended. */
START_TEST(the_last_row_shown_comes_before_the_end_of_the_scan)
{
    struct listing list;
    open_listing(&list, CURSOR_SEQ, "limit=2");
    ck_assert_int_eq(listing_begin(&list), RC_OK);
    list.count = 3;
    list.last_number = 7;
    list.scan.end_seq = 42;
    ck_assert_int_eq(listing_end(&list, RC_OK), RC_OK);
    ck_assert_str_eq(buf_text(&call.http.answer.body), "{\"items\":[],\"cursor\":\"czc\"}");
}
END_TEST

START_TEST(bad_parameters_are_refused_before_the_answer_begins)
{
    static const struct {
        enum cursor_kind kind;
        const char *query, *code;
    } bad[] = {
        {CURSOR_NAME, "limit=0", "INVALID_PARAMETER"},
        {CURSOR_NAME, "limit=201", "INVALID_PARAMETER"},
        {CURSOR_NAME, "limit=1&limit=2", "REPEATED_PARAMETER"},
        {CURSOR_NAME, "a=%zz", "MALFORMED_QUERY"},
        {CURSOR_NAME, "surprise=1", "UNKNOWN_PARAMETER"},
        {CURSOR_NAME, "cursor=czc", "INVALID_PARAMETER"},
        {CURSOR_ID, "cursor=bmI", "INVALID_PARAMETER"},
        {CURSOR_ID, "cursor=aXg", "INVALID_PARAMETER"},   /* "x" is not an id. */
        {CURSOR_SEQ, "cursor=cy0x", "INVALID_PARAMETER"}, /* -1 */
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct listing list;
        open_listing(&list, bad[i].kind, bad[i].query);
        enum rc rc = listing_begin(&list);
        ck_assert_int_eq(rc, RC_MALFORMED);
        ck_assert_str_eq(err.code, bad[i].code);
        ck_assert_int_eq(listing_end(&list, rc), RC_MALFORMED);
        ck_assert_uint_eq(call.http.answer.body.len, 0);
    }
}
END_TEST

Suite *listing_suite(void)
{
    Suite *suite = suite_create("listing");
    TCase *tc = tcase_create("listing");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, pages_follow_each_other_by_their_cursors);
    tcase_add_test(tc, a_page_that_is_just_full_is_the_last);
    tcase_add_test(tc, more_rows_than_were_asked_for_are_not_shown);
    tcase_add_test(tc, a_whole_listing_has_no_cursor_and_takes_none);
    tcase_add_test(tc, a_scan_that_stopped_early_continues_where_it_stopped);
    tcase_add_test(tc, the_last_row_shown_comes_before_the_end_of_the_scan);
    tcase_add_test(tc, bad_parameters_are_refused_before_the_answer_begins);
    suite_add_tcase(suite, tc);
    return suite;
}
