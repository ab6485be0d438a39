/*
 * test_event_tags.c - tags: split at commas, each once, bounded; those of a task.
 */
#include "core/event_tags.h"
#include "tests/unit/suites.h"
#include <stdio.h>
#include <string.h>

static const struct {
    const char *given, *want;
} lists[] = {
    {"", ""},         {",", ""},
    {" , ,", ""},     {"a", "a"},
    {"a,b", "a,b"},   {" a ,\tb,, c ", "a,b,c"},
    {"a,b,a", "a,b"}, {"two words,x", "two words,x"},
};

START_TEST(a_text_is_split_and_has_no_tag_twice)
{
    struct event_tags tags = {0};
    event_tags_add(&tags, str_of(lists[_i].given));
    ck_assert_str_eq(tags.text, lists[_i].want);
    event_tags_add(&tags, str_of(lists[_i].given)); /* All are there. */
    ck_assert_str_eq(tags.text, lists[_i].want);
    ck_assert_uint_eq(tags.len, strlen(lists[_i].want));
}
END_TEST

START_TEST(a_tag_is_found_whole)
{
    static const char text[] = "repository:acme/web,urgent,x";
    ck_assert(event_tags_have(text, STR("urgent")));
    ck_assert(event_tags_have(text, STR("repository:acme/web")));
    ck_assert(event_tags_have(text, STR("x")));
    ck_assert(!event_tags_have(text, STR("urg")));
    ck_assert(!event_tags_have(text, STR("repository")));
    ck_assert(!event_tags_have(text, STR("")));
    ck_assert(!event_tags_have(NULL, STR("x")));
}
END_TEST

START_TEST(what_does_not_fit_is_left_out)
{
    struct event_tags tags = {0};
    char tag[EVENT_TAG_MAX + 2];
    memset(tag, 'x', sizeof tag);
    event_tags_add(&tags, (struct str){tag, EVENT_TAG_MAX + 1});
    ck_assert_uint_eq(tags.len, 0);
    for (int i = 0; i < 200; i++) {
        int len = snprintf(tag, sizeof tag, "tag-%03d-long-enough", i);
        event_tags_add(&tags, (struct str){tag, (size_t)len});
    }
    ck_assert_uint_lt(tags.len, sizeof tags.text);
    ck_assert_uint_eq(strlen(tags.text), tags.len);
    ck_assert(event_tags_have(tags.text, STR("tag-000-long-enough")));
    ck_assert(!event_tags_have(tags.text, STR("tag-199-long-enough")));
    event_tags_add(&tags, STR("s")); /* A short one may still fit. */
    ck_assert_uint_lt(tags.len, sizeof tags.text);
}
END_TEST

static const struct {
    struct task_tags task;
    const char *want; /* NULL: none */
} tasks[] = {
    {{NULL, NULL, NULL, {NULL, 0}}, NULL},
    {{"acme/web", NULL, NULL, {"[]", 2}}, "repository:acme/web"},
    {{"acme/web", "reviewer", "bob", {"[\"urgent\",\"ui\"]", 15}},
     "repository:acme/web,persona:reviewer,agent:bob,urgent,ui"},
    {{NULL, NULL, NULL, {"[\"a,b\"]", 7}}, "a,b"},
    {{NULL, "", NULL, {"not json", 8}}, NULL},
    {{"with,comma", NULL, NULL, {NULL, 0}}, NULL},
};

START_TEST(a_task_gives_its_tags)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct event_tags tags = {0};
    event_tags_of_task(&tags, &tasks[_i].task);
    const char *text = event_tags_text(&tags, &arena);
    if (tasks[_i].want == NULL)
        ck_assert_ptr_null(text);
    else
        ck_assert_str_eq(text, tasks[_i].want);
}
END_TEST

Suite *event_tags_suite(void)
{
    Suite *suite = suite_create("event_tags");
    TCase *tc = tcase_create("event_tags");
    tcase_add_loop_test(tc, a_text_is_split_and_has_no_tag_twice, 0, (int)COUNT_OF(lists));
    tcase_add_test(tc, a_tag_is_found_whole);
    tcase_add_test(tc, what_does_not_fit_is_left_out);
    tcase_add_loop_test(tc, a_task_gives_its_tags, 0, (int)COUNT_OF(tasks));
    suite_add_tcase(suite, tc);
    return suite;
}
