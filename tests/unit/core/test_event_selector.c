/*
 * test_event_selector.c - events chosen by type, tags and severity; copies of selectors.
 */
#include "base/mem.h"
#include "base/str.h"
#include "core/event_selector.h"
#include "tests/unit/suites.h"
#include <string.h>

#define TAGS "repository:acme/web,persona:reviewer,urgent"

static const struct {
    struct event_selector selector;
    bool want; /* Of a warning agent.run.failed with TAGS. */
} choices[] = {
    {{{NULL}, {NULL}, SEVERITY_DEBUG}, true},
    {{{"agent.run.*"}, {NULL}, SEVERITY_DEBUG}, true},
    {{{"agent.task.*", "agent.run.failed"}, {NULL}, SEVERITY_DEBUG}, true},
    {{{"agent.task.*", "agent.pr.>"}, {NULL}, SEVERITY_DEBUG}, false},
    {{{NULL}, {"urgent"}, SEVERITY_DEBUG}, true},
    {{{NULL}, {"urgent", "persona:reviewer"}, SEVERITY_DEBUG}, true},
    {{{NULL}, {"urgent", "persona:planner"}, SEVERITY_DEBUG}, false},
    {{{NULL}, {"urg"}, SEVERITY_DEBUG}, false},
    {{{NULL}, {NULL}, SEVERITY_WARNING}, true},
    {{{NULL}, {NULL}, SEVERITY_ERROR}, false},
    {{{"agent.>"}, {"repository:acme/web"}, SEVERITY_INFO}, true},
    {{{"agent.>"}, {"repository:acme/web"}, SEVERITY_ERROR}, false},
};

START_TEST(an_event_is_chosen_by_all_that_is_said)
{
    const struct event_traits traits = {"agent.run.failed", TAGS, SEVERITY_WARNING};
    ck_assert_int_eq(event_selector_match(&choices[_i].selector, &traits), choices[_i].want);
    ck_assert_int_eq(event_selector_narrows(&choices[_i].selector), _i > 0);
}
END_TEST

START_TEST(an_event_without_tags_has_none)
{
    const struct event_traits traits = {"agent.run.failed", NULL, SEVERITY_INFO};
    const struct event_selector all = {0}, tagged = {.tags = {"urgent"}};
    ck_assert(event_selector_match(&all, &traits));
    ck_assert(!event_selector_match(&tagged, &traits));
}
END_TEST

START_TEST(a_copy_lives_on_its_own)
{
    char type[] = "agent.run.*", tag[] = "urgent";
    const struct event_selector from = {
        .types = {type, "agent.pr.>"}, .tags = {tag}, .min_severity = SEVERITY_ERROR};
    struct event_selector to;
    CLEANUP(mem_freep) char *texts = mem_alloc(event_selector_bytes(&from));
    event_selector_pack(&to, &from, texts);
    memset(type, 'x', sizeof type - 1);
    memset(tag, 'x', sizeof tag - 1);
    ck_assert_str_eq(to.types[0], "agent.run.*");
    ck_assert_str_eq(to.types[1], "agent.pr.>");
    ck_assert_ptr_null(to.types[2]);
    ck_assert_str_eq(to.tags[0], "urgent");
    ck_assert_ptr_null(to.tags[1]);
    ck_assert_int_eq(to.min_severity, SEVERITY_ERROR);
}
END_TEST

Suite *event_selector_suite(void)
{
    Suite *suite = suite_create("event_selector");
    TCase *tc = tcase_create("event_selector");
    tcase_add_loop_test(tc, an_event_is_chosen_by_all_that_is_said, 0, (int)COUNT_OF(choices));
    tcase_add_test(tc, an_event_without_tags_has_none);
    tcase_add_test(tc, a_copy_lives_on_its_own);
    suite_add_tcase(suite, tc);
    return suite;
}
