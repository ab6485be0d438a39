/* test_publish_parts.c - the parts of a publish: in order, each once, only the last one failed. */
#include "base/buf.h"
#include "base/str.h"
#include "core/publish_parts.h"
#include "core/report_shape.h"
#include <check.h>
#include <string.h>

static struct publish_parts parts;
static struct arena arena;

static void setup(void)
{
    parts = (struct publish_parts){.count = 0};
}

static void teardown(void)
{
    arena_release(&arena);
}

START_TEST(a_part_that_was_begun_and_did_not_end_has_failed)
{
    publish_part_end(&parts, PART_BRANCH, PART_DONE, NULL);
    publish_part_begin(&parts, PART_PULL_REQUEST);
    ck_assert_str_eq(publish_parts_text(&parts, &arena), "branch done, pull request failed");
    publish_parts_fail(&parts, "no answer");
    ck_assert_str_eq(publish_parts_text(&parts, &arena),
                     "branch done, pull request failed: no answer");
}
END_TEST

START_TEST(another_try_begins_where_it_begins)
{
    publish_part_end(&parts, PART_BRANCH, PART_DONE, NULL);
    publish_part_end(&parts, PART_LABELS, PART_REFUSED, "no such label");
    publish_part_begin(&parts, PART_BRANCH);
    ck_assert_uint_eq(parts.count, 1);
    ck_assert_int_eq(publish_part_try(&parts, PART_BRANCH, RC_OK), RC_OK);
    ck_assert_int_eq(publish_part_try(&parts, PART_PULL_REQUEST, RC_IO), RC_IO);
    ck_assert_str_eq(publish_parts_text(&parts, &arena), "branch done, pull request failed");
}
END_TEST

START_TEST(a_failure_belongs_to_the_part_that_was_not_done)
{
    publish_parts_fail(&parts, "x");
    ck_assert_str_eq(publish_parts_text(&parts, &arena), "branch failed: x");
    setup();
    publish_part_end(&parts, PART_BRANCH, PART_DONE, NULL);
    publish_parts_fail(&parts, "y");
    ck_assert_str_eq(publish_parts_text(&parts, &arena), "branch done, pull request failed: y");
}
END_TEST

START_TEST(what_is_written_is_read)
{
    CLEANUP(buf_release) struct buf text;
    CLEANUP(js_freep) struct js *tree = NULL;
    struct publish_parts again;
    buf_init(&text, 4096);
    publish_part_end(&parts, PART_BRANCH, PART_DONE, NULL);
    publish_part_end(&parts, PART_PULL_REQUEST, PART_FOUND, NULL);
    publish_part_end(&parts, PART_REVIEWERS, PART_REFUSED, "no such person");
    publish_part_end(&parts, PART_READY, PART_DONE, NULL);
    struct jw jw = jw_to(&text);
    publish_parts_write(&jw, &parts);
    ck_assert_int_eq(js_parse(text.data, text.len, &tree, NULL), RC_OK);
    const struct report_subject subject = {"parts", "INVALID"};
    for (size_t i = 0; i < js_count(tree); i++)
        ck_assert_int_eq(report_shape_check(&publish_parts_shape, js_at(tree, i), &subject, NULL),
                         RC_OK);
    publish_parts_read(tree, &again);
    ck_assert_str_eq(publish_parts_text(&again, &arena),
                     "branch done, pull request found, reviewers refused: no such person, "
                     "ready done");
}
END_TEST

/* A worker that lies, or one of another version. */
START_TEST(what_is_not_known_or_not_in_order_is_left_out)
{
    static const char text[] =
        "[{\"part\":\"ready\",\"outcome\":\"done\"},{\"part\":\"branch\",\"outcome\":\"done\"},"
        "{\"part\":\"ready\",\"outcome\":\"failed\"},{\"part\":\"merge\",\"outcome\":\"done\"},"
        "{\"part\":\"approval\",\"outcome\":\"maybe\"},7]";
    CLEANUP(js_freep) struct js *tree = NULL;
    ck_assert_int_eq(js_parse(text, strlen(text), &tree, NULL), RC_OK);
    publish_parts_read(tree, &parts);
    ck_assert_str_eq(publish_parts_text(&parts, &arena), "ready done");
    publish_parts_read(NULL, &parts);
    ck_assert_uint_eq(parts.count, 0);
}
END_TEST

START_TEST(parts_are_not_wanted_by_all)
{
    publish_part_begin(NULL, PART_BRANCH);
    publish_part_end(NULL, PART_BRANCH, PART_DONE, NULL);
    ck_assert_int_eq(publish_part_try(NULL, PART_BRANCH, RC_BUSY), RC_BUSY);
}
END_TEST

Suite *publish_parts_suite(void)
{
    Suite *suite = suite_create("publish_parts");
    TCase *tests = tcase_create("publish_parts");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, a_part_that_was_begun_and_did_not_end_has_failed);
    tcase_add_test(tests, another_try_begins_where_it_begins);
    tcase_add_test(tests, a_failure_belongs_to_the_part_that_was_not_done);
    tcase_add_test(tests, what_is_written_is_read);
    tcase_add_test(tests, what_is_not_known_or_not_in_order_is_left_out);
    tcase_add_test(tests, parts_are_not_wanted_by_all);
    suite_add_tcase(suite, tests);
    return suite;
}
