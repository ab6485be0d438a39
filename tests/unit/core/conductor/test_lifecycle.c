/*
 * test_lifecycle.c - names of types, and the way of an issue folded from its events.
 */
#include "base/rc.h"
#include "core/conductor/lifecycle.h"
#include "tests/unit/suites.h"
#include <string.h>

static const struct {
    const char *type, *name;
} names[] = {
    {"conductor.issue.approved", "ISSUE_APPROVED"},
    {"ISSUE_APPROVED", "ISSUE_APPROVED"},
    {"com.example.issue-approved", "ISSUE_APPROVED"},
    {"com.example.issue_unassigned", "ISSUE_UNASSIGNED"},
    {"conductor.human_gate.triggered", "HUMAN_GATE_TRIGGERED"},
    {"conductor.merged", "MERGED"},
    {"merged", "MERGED"},
    {"com.example.unmerged", NULL},
    {"com.example.reissue.approved", NULL},
    {"agent.run.completed", NULL},
    {"", NULL},
};

START_TEST(a_type_ends_with_its_name)
{
    enum issue_kind kind = ISSUE_EV_COUNT;
    ck_assert_int_eq(issue_kind_guess(names[_i].type, &kind), names[_i].name != NULL);
    if (names[_i].name != NULL)
        ck_assert_str_eq(issue_kind_name(kind), names[_i].name);
}
END_TEST

static struct lifecycle fold(const struct lifecycle_event *events, size_t count,
                             struct arena *arena)
{
    struct lifecycle life = {0};
    for (size_t i = 0; i < count; i++)
        lifecycle_apply(&life, &events[i], arena);
    return life;
}

START_TEST(the_last_assignment_holds_until_it_is_taken_back)
{
    CLEANUP(arena_release) struct arena arena = {0};
    static const struct lifecycle_event events[] = {
        {ISSUE_EV_APPROVED, NULL, 10},   {ISSUE_EV_ASSIGNED, "a", 20},
        {ISSUE_EV_UNASSIGNED, "a", 30},  {ISSUE_EV_ASSIGNED, "b", 40},
        {ISSUE_EV_UNASSIGNED, NULL, 50}, {ISSUE_EV_APPROVED, NULL, 55},
        {ISSUE_EV_ASSIGNED, "c", 60},    {ISSUE_EV_HEARTBEAT, "c", 65},
        {ISSUE_EV_COUNT, NULL, 70},      {ISSUE_EV_DONE, "c", 80},
    };
    struct lifecycle life = fold(events, 3, &arena);
    ck_assert_str_eq(life.status, "ISSUE_UNASSIGNED");
    ck_assert_ptr_null(life.assigned_to);
    ck_assert(life.reassignments == 0 && lifecycle_work_us(&life) == -1);
    life = fold(events, 9, &arena);
    ck_assert_str_eq(life.status, "ISSUE_ASSIGNED"); /* Neither a heartbeat nor a note is one. */
    ck_assert_int_eq(life.status_us, 60);
    life = fold(events, COUNT_OF(events), &arena);
    ck_assert_str_eq(life.assigned_to, "c");
    ck_assert_int_eq(life.reassignments, 2);
    ck_assert_int_eq(lifecycle_duration_us(&life), 70);
    ck_assert_int_eq(lifecycle_work_us(&life), 20);
}
END_TEST

START_TEST(an_agent_without_a_name_and_one_with_a_long_one_are_taken)
{
    CLEANUP(arena_release) struct arena arena = {0};
    char name[2 * LIFECYCLE_AGENT_MAX];
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    const struct lifecycle_event events[] = {{ISSUE_EV_ASSIGNED, name, 10},
                                             {ISSUE_EV_ASSIGNED, NULL, 20}};
    struct lifecycle life = fold(events, 1, &arena);
    ck_assert_uint_eq(strlen(life.assigned_to), LIFECYCLE_AGENT_MAX);
    life = fold(events, 2, &arena);
    ck_assert_ptr_null(life.assigned_to);
    ck_assert_int_eq(life.assignments, 2);
    ck_assert_int_eq(life.reassignments, 0);
}
END_TEST

Suite *lifecycle_suite(void)
{
    Suite *suite = suite_create("lifecycle");
    TCase *tc = tcase_create("lifecycle");
    tcase_add_loop_test(tc, a_type_ends_with_its_name, 0, COUNT_OF(names));
    tcase_add_test(tc, the_last_assignment_holds_until_it_is_taken_back);
    tcase_add_test(tc, an_agent_without_a_name_and_one_with_a_long_one_are_taken);
    suite_add_tcase(suite, tc);
    return suite;
}
