/*
 * What is stored of an issue: written and read back, what it names, and its hashes.
 */
#include "base/buf.h"
#include "base/str.h"
#include "core/pr/issue_view.h"
#include <check.h>
#include <string.h>

static struct arena arena;

static void setup(void)
{
    arena = (struct arena){0};
}

static void teardown(void)
{
    arena_release(&arena);
}

static const char *const labels[] = {"drover", "bug", NULL};
static const char *const assignees[] = {"drover-bot", NULL};
static const char *const teams[] = {"team/core", NULL};

static struct issue_view example(void)
{
    struct issue_comment_view *comments = arena_array(&arena, 2, sizeof *comments);
    comments[0] = (struct issue_comment_view){.id = 7,
                                              .author = {.login = "eve", .association = "NONE"},
                                              .body = "me too \"quoted\"\n",
                                              .created_us = 2000000};
    comments[1] = (struct issue_comment_view){.id = 9,
                                              .author = {.login = "bob", .teams = teams},
                                              .body = "/drover run",
                                              .created_us = 3000000,
                                              .edited = true};
    struct issue_act *acts = arena_array(&arena, 2, sizeof *acts);
    acts[0] = (struct issue_act){ACT_LABELED, "drover", {.login = "alice"}, 4000000};
    acts[1] = (struct issue_act){ACT_ASSIGNED, "drover-bot", {.login = "bob"}, 5000000};
    struct issue_link *links = arena_array(&arena, 1, sizeof *links);
    links[0] = (struct issue_link){LINK_BLOCKED_BY, 3, "First", "Do it", true, {.login = "alice"}};
    return (struct issue_view){
        .number = 12,
        .title = "Totals are wrong",
        .body = "They are.",
        .open = true,
        .author = {.login = "alice", .association = "MEMBER"},
        .created_us = 1000000,
        .updated_us = 6000000,
        .labels = labels,
        .assignees = assignees,
        .comments = comments,
        .comment_count = 2,
        .acts = acts,
        .act_count = 2,
        .links = links,
        .link_count = 1,
        .cut = true,
    };
}

static const char *written(const struct issue_view *view)
{
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, ISSUE_VIEW_BYTES_MAX);
    struct jw jw = jw_to(&text);
    issue_view_write(&jw, view);
    return arena_strdup(&arena, buf_text(&text));
}

START_TEST(a_view_reads_back_as_it_was_written)
{
    const struct issue_view view = example();
    struct issue_view again;
    struct err err = {0};
    CLEANUP(js_freep) struct js *tree = NULL;
    const char *text = written(&view);
    ck_assert_int_eq(js_parse(text, strlen(text), &tree, &err), RC_OK);
    ck_assert_int_eq(issue_view_decode(tree, &arena, &again, &err), RC_OK);
    ck_assert_str_eq(written(&again), text);
    ck_assert(again.comments[1].edited && again.cut && again.open);
    ck_assert_str_eq(again.comments[1].author.teams[0], "team/core");
    ck_assert_int_eq(again.acts[1].kind, ACT_ASSIGNED);
    ck_assert_int_eq(again.links[0].relation, LINK_BLOCKED_BY);
}
END_TEST

START_TEST(what_is_no_issue_is_refused)
{
    static const char *const texts[] = {"{}", "[]", "{\"number\":0,\"title\":\"x\"}",
                                        "{\"number\":1}"};
    struct err err = {0};
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        struct issue_view view;
        CLEANUP(js_freep) struct js *tree = NULL;
        ck_assert_int_eq(js_parse(texts[i], strlen(texts[i]), &tree, &err), RC_OK);
        ck_assert_int_eq(issue_view_decode(tree, &arena, &view, &err), RC_CORRUPT);
    }
}
END_TEST

static const struct {
    const char *text;
    size_t count;
    int64_t numbers[3];
} mentions[] = {
    {"", 0, {0}},
    {"see #3 and #14, #3 again", 2, {3, 14}},
    {"#12 is this one", 0, {0}},
    {"(#7)", 1, {7}},
    {"issue#7 &#39; a/#7 #7a #", 0, {0}},
    {"#1 #2 #3 #4 #5", 3, {1, 2, 3}},
    {"#99999999999999999999", 0, {0}},
};

START_TEST(issues_that_a_text_names_are_found)
{
    int64_t numbers[3] = {0};
    size_t count = issue_mentions(mentions[_i].text, 12, numbers, COUNT_OF(numbers));
    ck_assert_uint_eq(count, mentions[_i].count);
    for (size_t i = 0; i < count; i++)
        ck_assert_int_eq(numbers[i], mentions[_i].numbers[i]);
}
END_TEST

START_TEST(every_text_of_a_prompt_is_in_its_hash)
{
    struct issue_view view = example();
    static const int64_t both[] = {7, 9}, turned[] = {9, 7};
    char whole[SHA256_TEXT_BYTES], other[SHA256_TEXT_BYTES], text[SHA256_TEXT_BYTES];
    issue_prompt_sha256(&view, both, 2, whole);
    issue_text_sha256(&view, text);
    ck_assert_str_ne(whole, text);
    issue_prompt_sha256(&view, both, 1, other);
    ck_assert_str_ne(whole, other);
    issue_prompt_sha256(&view, turned, 2, other);
    ck_assert_str_ne(whole, other);
    view.comments[0].body = "me too";
    issue_prompt_sha256(&view, both, 2, other);
    ck_assert_str_ne(whole, other);
    view = example();
    view.title = "Totals are wrongT";
    view.body = "hey are.";
    issue_text_sha256(&view, other);
    ck_assert_str_ne(text, other);
    view = example();
    view.updated_us++;
    issue_text_sha256(&view, other);
    ck_assert_str_eq(text, other);
}
END_TEST

Suite *issue_view_suite(void)
{
    Suite *suite = suite_create("issue_view");
    TCase *tc = tcase_create("issue_view");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_view_reads_back_as_it_was_written);
    tcase_add_test(tc, what_is_no_issue_is_refused);
    tcase_add_loop_test(tc, issues_that_a_text_names_are_found, 0, COUNT_OF(mentions));
    tcase_add_test(tc, every_text_of_a_prompt_is_in_its_hash);
    suite_add_tcase(suite, tc);
    return suite;
}
