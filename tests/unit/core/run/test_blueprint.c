/*
 * test_blueprint.c - sequences that hold, and those that do not.
 */
#include "core/run/blueprint.h"
#include "tests/unit/suites.h"
#include <check.h>
#include <string.h>

enum { NAMES_MAX = 20 };

/* "a b c" as a list; customs x (before the agent) and y (after it). */
static enum rc arrange(const char *text, bool plan, struct blueprint *ret, struct err *err)
{
    static char copy[500];
    static const char *names[NAMES_MAX];
    *ret = (struct blueprint){
        .customs = {{.name = "x", .phase = PHASE_PRE_AGENT, .command = "true"},
                    {.name = "y", .phase = PHASE_POST_AGENT, .command = "true"}},
        .custom_count = 2,
    };
    if (text == NULL)
        return blueprint_arrange(ret, &(struct blueprint_wish){.plan = plan}, err);
    size_t count = 0;
    memcpy(copy, text, strlen(text) + 1);
    for (char *at = copy; *at != '\0';) {
        names[count++] = at;
        at += strcspn(at, " ");
        if (*at == ' ')
            *at++ = '\0';
    }
    names[count] = NULL;
    return blueprint_arrange(ret, &(struct blueprint_wish){.sequence = names}, err);
}

static void flatten(const struct blueprint *blueprint, char *to)
{
    struct blueprint_step step;
    *to = '\0';
    for (const char *at = NULL; blueprint_after(blueprint, at, &step); at = step.name) {
        if (*to != '\0')
            strncat(to, " ", 2);
        strncat(to, step.name, 50);
    }
}

static const struct {
    const char *sequence;
    bool plan;
    const char *arranged;
} good[] = {
    {NULL, false, "prepare hydrate x agent y verify judge publish"},
    {NULL, true, "prepare hydrate x plan agent y verify judge publish"},
    {"prepare hydrate agent x y", false, "prepare hydrate agent x y"},
    {"admission prepare x hydrate plan agent verify judge approve publish y finalize", false,
     "prepare x hydrate plan agent verify judge publish y"},
};

START_TEST(steps_are_put_in_order)
{
    struct blueprint blueprint;
    char found[500];
    ck_assert_int_eq(arrange(good[_i].sequence, good[_i].plan, &blueprint, NULL), RC_OK);
    flatten(&blueprint, found);
    ck_assert_str_eq(found, good[_i].arranged);
}
END_TEST

static const struct {
    const char *sequence, *word;
} bad[] = {
    {"prepare hydrate x y", "agent is missing"},
    {"hydrate agent x y", "prepare must stand before hydrate"},
    {"prepare agent x y", "hydrate must stand before agent"},
    {"prepare hydrate agent judge verify x y", "verify must stand before judge"},
    {"prepare hydrate agent agent x y", "agent is there twice"},
    {"prepare hydrate x agent x y", "x is there twice"},
    {"x prepare hydrate agent y", "x must stand after prepare"},
    {"prepare hydrate agent x", "y of steps stands nowhere"},
    {"prepare hydrate agent x y deploy", "neither built in"},
    {"prepare admission hydrate agent x y", "admission must be the first"},
    {"prepare hydrate agent x finalize y", "finalize must be the last"},
    {"prepare hydrate approve agent x y", "approve must stand after the agent"},
    {"prepare hydrate agent publish approve x y", "before publish"},
};

START_TEST(others_are_refused_with_the_reason)
{
    struct blueprint blueprint;
    struct err err = {0};
    ck_assert_int_eq(arrange(bad[_i].sequence, false, &blueprint, &err), RC_INVALID);
    ck_assert_str_eq(err.code, "INVALID_STEP_SEQUENCE");
    ck_assert_msg(strstr(err.text, bad[_i].word) != NULL, "no \"%s\" in: %s", bad[_i].word,
                  err.text);
}
END_TEST

START_TEST(names_of_drovers_own_are_reserved)
{
    ck_assert(step_name_reserved("agent"));
    ck_assert(step_name_reserved("finalize"));
    ck_assert(step_name_reserved("clean"));
    ck_assert(!step_name_reserved("scan"));
}
END_TEST

Suite *blueprint_suite(void)
{
    Suite *suite = suite_create("blueprint");
    TCase *cases = tcase_create("blueprint");
    tcase_add_loop_test(cases, steps_are_put_in_order, 0, COUNT_OF(good));
    tcase_add_loop_test(cases, others_are_refused_with_the_reason, 0, COUNT_OF(bad));
    tcase_add_test(cases, names_of_drovers_own_are_reserved);
    suite_add_tcase(suite, cases);
    return suite;
}
