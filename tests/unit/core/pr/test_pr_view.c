/*
 * test_pr_view.c - a view as JSON and back.
 */
#include "base/jw.h"
#include "base/str.h"
#include "core/pr/pr_view.h"
#include "tests/unit/suites.h"
#include <string.h>

static struct arena arena;

static void teardown(void)
{
    arena_release(&arena);
}

static const char *written(const struct pr_view *view)
{
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, 1024 * 1024);
    struct jw jw = jw_to(&text);
    pr_view_write(&jw, view);
    ck_assert(!text.overflow);
    return arena_strdup(&arena, buf_text(&text));
}

static enum rc decode(const char *json, struct pr_view *view, struct err *err)
{
    CLEANUP(js_freep) struct js *tree = NULL; /* The view must not point into it. */
    ck_assert_int_eq(js_parse(json, strlen(json), &tree, err), RC_OK);
    return pr_view_decode(tree, &arena, view, err);
}

static struct check_view checks[] = {
    {.id = "run:1",
     .name = "unit",
     .state = CHECK_FAILED,
     .url = "https://h/1",
     .summary = "3 bad",
     .started_us = 1000000,
     .ended_us = 2500000,
     .required = true,
     .job = true},
    {.id = "status:ci", .name = "ci", .state = CHECK_PENDING},
    {.id = "run:2", .name = "drover", .state = CHECK_PASSED, .own = true},
    {.id = "run:3", .name = "slow", .state = CHECK_TIMED_OUT},
    {.id = "run:4", .name = "stopped", .state = CHECK_CANCELLED},
    {.id = "run:5", .name = "broken", .state = CHECK_BROKEN},
};
static struct review_view reviews[] = {
    {.id = "r1",
     .author = "ann",
     .association = "MEMBER",
     .verdict = REVIEW_CHANGES_REQUESTED,
     .commit = "abc",
     .body = "No \"this\"\n\xc3\xa4",
     .submitted_us = 3000000},
    {.id = "r2", .author = "bob", .verdict = REVIEW_APPROVED, .commit = "abc", .body = ""},
    {.id = "r3", .author = "bob", .verdict = REVIEW_PENDING, .commit = "", .body = ""},
    {.id = "r4", .author = "bob", .verdict = REVIEW_COMMENTED, .commit = "", .body = "x"},
};
static struct thread_comment said[] = {
    {.id = "c1", .author = "ann", .association = "OWNER", .body = "why?", .created_us = 4000000},
    {.id = "c2", .author = "drover", .body = "because"},
};
static struct thread_view threads[] = {
    {.id = "t1",
     .path = "src/a.c",
     .line = 12,
     .resolved = true,
     .outdated = true,
     .comments = said,
     .comment_count = 2},
    {.id = "t2", .comments = NULL, .comment_count = 0},
};
static const char *labels[] = {"bug", "drover", NULL};

static struct pr_view full(void)
{
    return (struct pr_view){.number = 42,
                            .url = "https://h/pull/42",
                            .title = "Fix",
                            .author = "drover[bot]",
                            .state = PR_MERGED,
                            .draft = true,
                            .head = "aaaa",
                            .head_branch = "drover/x",
                            .base = "bbbb",
                            .target_branch = "main",
                            .merge_commit = "cccc",
                            .mergeable = MERGE_BEHIND,
                            .auto_merge = true,
                            .queued = true,
                            .checks = checks,
                            .check_count = COUNT_OF(checks),
                            .reviews = reviews,
                            .review_count = COUNT_OF(reviews),
                            .threads = threads,
                            .thread_count = COUNT_OF(threads),
                            .labels = labels,
                            .updated_us = 1700000000000000,
                            .cut = true};
}

START_TEST(a_view_survives_a_round_trip)
{
    struct pr_view view = full(), back;
    struct err err = {0};
    const char *text = written(&view);
    ck_assert_msg(decode(text, &back, &err) == RC_OK, "%s: %s", err.field, err.text);
    ck_assert_str_eq(written(&back), text);
    ck_assert_int_eq(back.state, PR_MERGED);
    ck_assert_int_eq(back.mergeable, MERGE_BEHIND);
    ck_assert_uint_eq(back.check_count, COUNT_OF(checks));
    for (size_t i = 0; i < COUNT_OF(checks); i++)
        ck_assert_int_eq(back.checks[i].state, checks[i].state);
    for (size_t i = 0; i < COUNT_OF(reviews); i++)
        ck_assert_int_eq(back.reviews[i].verdict, reviews[i].verdict);
    ck_assert_ptr_null(back.reviews[1].association);
    ck_assert_int_eq(back.reviews[0].submitted_us, 3000000);
    ck_assert_uint_eq(back.threads[0].comment_count, 2);
    ck_assert_str_eq(back.threads[0].comments[1].body, "because");
    ck_assert_ptr_null(back.threads[1].path);
    ck_assert_str_eq(back.labels[1], "drover");
    ck_assert_ptr_null(back.labels[2]);
}
END_TEST

START_TEST(every_state_has_a_name_that_reads_back)
{
    for (int state = PR_OPEN; state <= PR_CLOSED; state++) {
        for (int mergeable = MERGE_UNKNOWN; mergeable <= MERGE_BLOCKED; mergeable++) {
            struct pr_view view = full(), back;
            view.state = (enum pr_state)state;
            view.mergeable = (enum pr_mergeable)mergeable;
            ck_assert_int_eq(decode(written(&view), &back, NULL), RC_OK);
            ck_assert_int_eq(back.state, state);
            ck_assert_int_eq(back.mergeable, mergeable);
        }
    }
    ck_assert_str_eq(check_state_name(CHECK_TIMED_OUT), "timed_out");
    ck_assert_str_eq(pr_mergeable_name(MERGE_CONFLICT), "conflict");
    ck_assert_str_eq(review_verdict_name(REVIEW_CHANGES_REQUESTED), "changes_requested");
}
END_TEST

START_TEST(an_empty_view_survives_too)
{
    struct pr_view view = {.number = 1, .head = "a", .target_branch = "main"}, back;
    ck_assert_int_eq(decode(written(&view), &back, NULL), RC_OK);
    ck_assert_uint_eq(back.check_count + back.review_count + back.thread_count, 0);
    ck_assert_ptr_null(back.labels[0]);
    ck_assert_ptr_null(back.merge_commit);
    ck_assert_str_eq(back.title, "");
}
END_TEST

#define TOP "{\"number\":1,\"head\":\"a\",\"targetBranch\":\"main\",\"state\":\"open\""
static const struct {
    const char *json, *field;
} refusals[] = {
    {"{}", "number"},
    {TOP ",\"surprise\":1}", "surprise"},
    {"{\"number\":0,\"head\":\"a\",\"targetBranch\":\"m\",\"state\":\"open\"}", "number"},
    {TOP ",\"mergeable\":\"maybe\"}", "mergeable"},
    {TOP ",\"updatedAt\":\"soon\"}", "updatedAt"},
    {TOP ",\"labels\":[1]}", "labels[0]"},
    {TOP ",\"checks\":[{\"id\":\"1\",\"name\":\"x\",\"state\":\"bad\"}]}", "checks[0].state"},
    {TOP ",\"reviews\":[{\"id\":\"1\",\"author\":\"x\",\"verdict\":7}]}", "reviews[0].verdict"},
    {TOP ",\"threads\":[{\"id\":\"1\",\"line\":-1}]}", "threads[0].line"},
    {TOP ",\"threads\":[{\"id\":\"1\",\"comments\":[{\"id\":\"1\"}]}]}",
     "threads[0].comments[0].author"},
};

START_TEST(what_is_no_view_is_refused_by_name)
{
    struct pr_view view = {.number = 99};
    struct err err = {0};
    ck_assert_int_eq(decode(refusals[_i].json, &view, &err), RC_INVALID);
    ck_assert_str_eq(err.field, refusals[_i].field);
    ck_assert_int_eq(view.number, 99);
}
END_TEST

Suite *pr_view_suite(void)
{
    Suite *suite = suite_create("pr_view");
    TCase *tc = tcase_create("pr_view");
    tcase_add_checked_fixture(tc, NULL, teardown);
    tcase_add_test(tc, a_view_survives_a_round_trip);
    tcase_add_test(tc, every_state_has_a_name_that_reads_back);
    tcase_add_test(tc, an_empty_view_survives_too);
    tcase_add_loop_test(tc, what_is_no_view_is_refused_by_name, 0, (int)COUNT_OF(refusals));
    suite_add_tcase(suite, tc);
    return suite;
}
