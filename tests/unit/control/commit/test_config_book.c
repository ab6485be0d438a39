/*
 * test_config_book.c - the same bytes are decoded once, and the book stays small.
 */
#include "control/commit/config_book.h"
#include "tests/unit/suites.h"
#include <stdio.h>
#include <string.h>

#define AGENT "\"agent\":{\"command\":[\"./agent\"]}"

static struct known_config *take(struct config_book *book, const struct repo_layers *layers)
{
    struct known_config *known = NULL;
    struct err err = {0};
    ck_assert_msg(config_book_take(book, layers, &known, &err) == RC_OK, "%s", err.text);
    return known;
}

/* The document number i; the text is good until the next call. */
static struct known_config *take_numbered(struct config_book *book, int i)
{
    char text[200];
    (void)snprintf(text, sizeof text, "{\"url\":\"/srv/git/%d.git\"," AGENT "}", i);
    return take(book, &(struct repo_layers){.repository = str_of(text)});
}

static size_t count(const struct config_book *book)
{
    size_t entries = 0;
    for (const struct known_config *each = book->first; each != NULL; each = each->next)
        entries++;
    return entries;
}

START_TEST(the_same_bytes_are_decoded_once)
{
    CLEANUP(config_book_release) struct config_book book = {0};
    struct known_config *first = take_numbered(&book, 1), *other = take_numbered(&book, 2);
    struct known_config *again = take_numbered(&book, 1);
    ck_assert_ptr_eq(first, again);
    ck_assert_ptr_ne(first, other);
    ck_assert_str_eq(again->config.url, "/srv/git/1.git");
    config_book_put(first);
    config_book_put(other);
    config_book_put(again);
    ck_assert_uint_eq(count(&book), 2);
}
END_TEST

START_TEST(every_layer_counts)
{
    CLEANUP(config_book_release) struct config_book book = {0};
    static const struct {
        struct repo_layers layers;
        int64_t max_turns;
    } cases[] = {
        {{.repository = STR("{\"url\":\"/x\"," AGENT "}")}, 100},
        {{.repository = STR("{\"url\":\"/x\"," AGENT "}"),
          .platform = STR("{\"limits\":{\"maxTurns\":5}}")},
         5},
        {{.repository = STR("{\"url\":\"/x\"," AGENT "}"),
          .platform = STR("{\"limits\":{\"maxTurns\":5}}"),
          .task = STR("{\"limits\":{\"maxTurns\":3}}")},
         3},
        {{.repository = STR("{\"url\":\"/x\"," AGENT "}"),
          .task = STR("{\"limits\":{\"maxTurns\":3}}")},
         3},
    };
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < COUNT_OF(cases); i++) {
            CLEANUP(config_book_putp) struct known_config *known = take(&book, &cases[i].layers);
            ck_assert_int_eq(known->config.limits.max_turns, cases[i].max_turns);
            ck_assert(memmem(known->document.at, known->document.len, "/x", 2) != NULL);
        }
    }
    ck_assert_uint_eq(count(&book), COUNT_OF(cases));
}
END_TEST

START_TEST(the_book_stays_small_and_keeps_what_is_used)
{
    CLEANUP(config_book_release) struct config_book book = {0};
    struct known_config *held = take_numbered(&book, 0);
    for (int i = 1; i < 3 * CONFIG_BOOK_ENTRIES_MAX; i++) {
        config_book_put(take_numbered(&book, i));
        CLEANUP(config_book_putp) struct known_config *often = take_numbered(&book, 1);
        ck_assert_str_eq(often->config.url, "/srv/git/1.git");
        ck_assert_uint_le(count(&book), CONFIG_BOOK_ENTRIES_MAX + 2);
    }
    ck_assert_str_eq(held->config.url, "/srv/git/0.git");
    ck_assert_ptr_eq(take_numbered(&book, 0), held);
    config_book_put(held);
    config_book_put(held);
}
END_TEST

START_TEST(long_documents_are_not_hoarded)
{
    enum { TEXT_BYTES = 250 * 1000 };
    CLEANUP(config_book_release) struct config_book book = {0};
    CLEANUP(arena_release) struct arena arena = {0};
    char *filler = arena_alloc(&arena, TEXT_BYTES + 1);
    memset(filler, 'x', TEXT_BYTES);
    for (int i = 0; i < 40; i++) {
        const char *text = arena_printf(
            &arena, "{\"url\":\"/srv/git/%d.git\"," AGENT ",\"prompt\":{\"system\":\"%s\"}}", i,
            filler);
        config_book_put(take(&book, &(struct repo_layers){.repository = str_of(text)}));
    }
    ck_assert_uint_le(count(&book), CONFIG_BOOK_BYTES_MAX / TEXT_BYTES + 1);
}
END_TEST

START_TEST(what_cannot_be_decoded_is_not_kept)
{
    static const struct {
        const char *text;
        enum rc rc;
    } cases[] = {{"{\"url\":", RC_MALFORMED}, {"{\"url\":\"/x\"}", RC_INVALID}};
    CLEANUP(config_book_release) struct config_book book = {0};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct known_config *known = NULL;
        struct err err = {0};
        struct repo_layers layers = {.repository = str_of(cases[i].text)};
        ck_assert_int_eq(config_book_take(&book, &layers, &known, &err), cases[i].rc);
        ck_assert_ptr_null(known);
        ck_assert_uint_eq(count(&book), 0);
    }
}
END_TEST

Suite *config_book_suite(void)
{
    Suite *suite = suite_create("config_book");
    TCase *tc = tcase_create("config_book");
    tcase_add_test(tc, the_same_bytes_are_decoded_once);
    tcase_add_test(tc, every_layer_counts);
    tcase_add_test(tc, the_book_stays_small_and_keeps_what_is_used);
    tcase_add_test(tc, long_documents_are_not_hoarded);
    tcase_add_test(tc, what_cannot_be_decoded_is_not_kept);
    suite_add_tcase(suite, tc);
    return suite;
}
