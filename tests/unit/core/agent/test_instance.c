/*
 * test_instance.c - the life of an agent: every state against every event, what the end of a
 * process means, and long random lives.  And addressee.h: names and queues.
 */
#include "base/random.h"
#include "core/agent/addressee.h"
#include "core/agent/instance.h"
#include "tests/unit/suites.h"
#include <string.h>

static const struct restart_rule on_failure = {RESTART_ON_FAILURE, 3, 1000};

static struct instance instance_in(enum instance_state state)
{
    return (struct instance){.state = state, .launched = true, .rule = on_failure};
}

/* The first letter of the state after it; '.' is a refusal. */
static const char *const want[INSTANCE_STATE_COUNT] = {
    /* LAUNCH BEGIN BEAT MISS END STOP GIVE_UP LOSE KILL; t: restarting, p: stopped */
    [INSTANCE_REGISTERED] = "s.a.....k", [INSTANCE_STARTING] = ".a..tpfsk",
    [INSTANCE_ACTIVE] = "..altpfsk",     [INSTANCE_LATE] = "..a.tpfsk",
    [INSTANCE_RESTARTING] = ".a..tpfsk", [INSTANCE_STOPPED] = "s.......k",
    [INSTANCE_FAILED] = "s.......k",     [INSTANCE_KILLED] = "s........",
};
static const char letters[] = "rsaltpfk";

START_TEST(every_state_takes_the_events_of_the_table_and_no_others)
{
    ck_assert_uint_eq(strlen(want[_i]), INSTANCE_EV_COUNT);
    for (int event = 0; event < INSTANCE_EV_COUNT; event++) {
        struct instance instance = instance_in((enum instance_state)_i), next = instance;
        enum rc rc = instance_step(&instance, (enum instance_event)event, &next);
        char got = rc == RC_OK ? letters[next.state] : '.';
        ck_assert_msg(got == want[_i][event], "%s, event %d: %c, not %c",
                      instance_state_name((enum instance_state)_i), event, got, want[_i][event]);
        if (rc != RC_OK)
            ck_assert_int_eq(memcmp(&next, &instance, sizeof next), 0);
    }
}
END_TEST

START_TEST(an_agent_that_drover_did_not_launch_has_no_process)
{
    static const enum instance_event of_process[] = {
        INSTANCE_EV_LAUNCH, INSTANCE_EV_BEGIN,   INSTANCE_EV_END,
        INSTANCE_EV_STOP,   INSTANCE_EV_GIVE_UP, INSTANCE_EV_LOSE,
    };
    static const enum instance_state states[] = {INSTANCE_REGISTERED, INSTANCE_ACTIVE,
                                                 INSTANCE_LATE, INSTANCE_KILLED};
    for (size_t s = 0; s < COUNT_OF(states); s++)
        for (size_t e = 0; e < COUNT_OF(of_process); e++) {
            struct instance instance = {.state = states[s], .rule = on_failure}, next;
            ck_assert_int_eq(instance_step(&instance, of_process[e], &next), RC_CONFLICT);
        }
}
END_TEST

START_TEST(a_launch_forgets_the_failures_before_it)
{
    struct instance instance = instance_in(INSTANCE_FAILED), next;
    instance.failures = 4;
    ck_assert_int_eq(instance_step(&instance, INSTANCE_EV_LAUNCH, &next), RC_OK);
    ck_assert_int_eq(next.failures, 0);
}
END_TEST

static const struct {
    const char *what;
    enum restart_policy policy;
    bool ok;
    int64_t lived_ms, failures;
    enum instance_event event;
    int64_t after; /* Failures. */
    int64_t pause_min_ms, pause_max_ms;
} ends[] = {
    {"never, well", RESTART_NEVER, true, 10, 0, INSTANCE_EV_STOP, 0, 0, 0},
    {"never, badly", RESTART_NEVER, false, 10, 0, INSTANCE_EV_STOP, 0, 0, 0},
    {"on failure, well", RESTART_ON_FAILURE, true, 10, 2, INSTANCE_EV_STOP, 2, 0, 0},
    {"on failure, badly", RESTART_ON_FAILURE, false, 10, 0, INSTANCE_EV_END, 1, 1000, 1250},
    {"the second", RESTART_ON_FAILURE, false, 10, 1, INSTANCE_EV_END, 2, 2000, 2250},
    {"the last", RESTART_ON_FAILURE, false, 10, 2, INSTANCE_EV_END, 3, 4000, 4250},
    {"one too many", RESTART_ON_FAILURE, false, 10, 3, INSTANCE_EV_GIVE_UP, 4, 0, 0},
    {"after a long life", RESTART_ON_FAILURE, false, INSTANCE_HEALTHY_MS, 3, INSTANCE_EV_END, 1,
     1000, 1250},
    {"always, well", RESTART_ALWAYS, true, 10, 0, INSTANCE_EV_END, 1, 1000, 1250},
    {"always, too fast", RESTART_ALWAYS, true, 10, 3, INSTANCE_EV_GIVE_UP, 4, 0, 0},
    {"always, healthy", RESTART_ALWAYS, true, INSTANCE_HEALTHY_MS, 3, INSTANCE_EV_END, 1, 1000,
     1250},
};

START_TEST(the_rule_decides_what_the_end_of_a_process_means)
{
    struct instance instance = instance_in(INSTANCE_ACTIVE);
    instance.rule.policy = ends[_i].policy;
    instance.failures = ends[_i].failures;
    for (uint64_t random = 0; random < 64; random++) {
        const struct process_end end = {ends[_i].ok, ends[_i].lived_ms,
                                        random * 0x123456789abcdefU};
        struct process_verdict verdict = instance_ended(&instance, &end);
        ck_assert_msg((int)verdict.event == (int)ends[_i].event &&
                          verdict.failures == ends[_i].after &&
                          verdict.pause_ms >= ends[_i].pause_min_ms &&
                          verdict.pause_ms <= ends[_i].pause_max_ms,
                      "%s: event %d, %lld failures, %lld ms", ends[_i].what, (int)verdict.event,
                      (long long)verdict.failures, (long long)verdict.pause_ms);
    }
}
END_TEST

/* Any order of events: what the table refuses changes nothing, and the invariants, which
   instance_step asserts, hold. */
START_TEST(no_life_breaks_an_invariant)
{
    struct random random = random_seeded(20261117);
    struct instance instance = {.state = INSTANCE_REGISTERED, .launched = true, .rule = on_failure};
    int taken = 0;
    for (int i = 0; i < 20000; i++) {
        enum instance_event event = (enum instance_event)random_below(&random, INSTANCE_EV_COUNT);
        struct instance next = instance;
        if (event >= INSTANCE_EV_END && event <= INSTANCE_EV_GIVE_UP) {
            const struct process_end end = {
                .ok = random_below(&random, 2) == 0,
                .lived_ms = (int64_t)random_below(&random, 2 * INSTANCE_HEALTHY_MS),
                .random = random_next(&random)};
            struct process_verdict verdict = instance_ended(&instance, &end);
            event = verdict.event;
            struct instance counted = instance;
            if (event == INSTANCE_EV_END)
                counted.failures = verdict.failures;
            if (instance_step(&counted, event, &next) != RC_OK)
                continue;
        } else if (instance_step(&instance, event, &next) != RC_OK) {
            continue;
        }
        instance = next;
        taken++;
    }
    ck_assert_int_gt(taken, 5000);
}
END_TEST

START_TEST(names_are_written_and_read)
{
    enum instance_state state;
    enum restart_policy restart;
    enum kill_policy policy;
    for (int i = 0; i < INSTANCE_STATE_COUNT; i++)
        ck_assert(instance_state_parse(instance_state_name((enum instance_state)i), &state) &&
                  (int)state == i);
    for (int i = 0; i < RESTART_POLICY_COUNT; i++)
        ck_assert(restart_policy_parse(restart_policy_name((enum restart_policy)i), &restart) &&
                  (int)restart == i);
    for (int i = 0; i < KILL_POLICY_COUNT; i++)
        ck_assert(kill_policy_parse(kill_policy_name((enum kill_policy)i), &policy) &&
                  (int)policy == i);
    ck_assert(!instance_state_parse("alive", &state) && !restart_policy_parse("", &restart) &&
              !kill_policy_parse("Fail", &policy));
}
END_TEST

/* ---- addressee ---- */

static const struct {
    const char *name;
    bool persona, agent;
} names[] = {
    {"reviewer", true, true},
    {"a", true, true},
    {"0-tester_2", true, true},
    {"Reviewer", false, true},
    {"bob.2", false, true},
    {"-x", false, false},
    {".x", false, false},
    {"", false, false},
    {"a b", false, false},
    {"a/b", false, false},
    {"r\xc3\xa9viseur", false, false},
    {"abcdefghijklmnopqrstuvwxyzabcdef", true, true},                   /* 32 */
    {"abcdefghijklmnopqrstuvwxyzabcdefg", false, true},                 /* 33 */
    {"abcdefghijklmnopqrstuvwxyzabcdefabcdefghijklmnop", false, true},  /* 48 */
    {"abcdefghijklmnopqrstuvwxyzabcdefabcdefghijklmnopq", false, false} /* 49 */
};

START_TEST(names_of_personas_and_agents_are_checked)
{
    ck_assert_int_eq(persona_name_valid(names[_i].name), names[_i].persona);
    ck_assert_int_eq(agent_name_valid(names[_i].name), names[_i].agent);
}
END_TEST

static const struct {
    struct addressee to;
    bool general;
    const char *queue;
    const char *all; /* Of an agent like it. */
} queues[] = {
    {{"agents", NULL, NULL}, true, "agents", "agents "},
    {{"agents", NULL, NULL}, false, "agents", "agents "}, /* Else it would have none. */
    {{"agents", "reviewer", NULL}, true, "agents.reviewer", "agents.reviewer agents "},
    {{"agents", "reviewer", NULL}, false, "agents.reviewer", "agents.reviewer "},
    {{"q", NULL, "bob"}, true, "q.agent.bob", "q.agent.bob q "},
    {{"q", "tester", "bob"}, true, "q.agent.bob", "q.agent.bob q.tester q "},
    {{"q", "tester", "bob"}, false, "q.agent.bob", "q.agent.bob q.tester "},
};

START_TEST(queues_follow_from_persona_and_name)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct err err = {0};
    const struct addressee *to = &queues[_i].to;
    ck_assert_str_eq(addressee_queue(to, &arena), queues[_i].queue);
    ck_assert_int_eq(addressee_check(to, &arena, &err), RC_OK);
    const char *const *all = addressee_queues(to, queues[_i].general, &arena);
    const char *text = "";
    for (size_t i = 0; all[i] != NULL; i++)
        text = arena_printf(&arena, "%s%s ", text, all[i]);
    ck_assert_str_eq(text, queues[_i].all);
}
END_TEST

START_TEST(a_queue_that_would_be_too_long_is_refused)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct err err = {0};
    char queue[81];
    memset(queue, 'q', 80);
    queue[80] = '\0';
    struct addressee to = {queue, "a-persona-of-32-bytes-0123456789", NULL};
    ck_assert_int_eq(addressee_check(&to, &arena, &err), RC_INVALID);
    ck_assert_str_eq(err.field, "persona");
    to.persona = "reviewer";
    ck_assert_int_eq(addressee_check(&to, &arena, &err), RC_OK);
}
END_TEST

Suite *instance_suite(void)
{
    Suite *suite = suite_create("instance");
    TCase *tc = tcase_create("life");
    tcase_add_loop_test(tc, every_state_takes_the_events_of_the_table_and_no_others, 0,
                        INSTANCE_STATE_COUNT);
    tcase_add_test(tc, an_agent_that_drover_did_not_launch_has_no_process);
    tcase_add_test(tc, a_launch_forgets_the_failures_before_it);
    tcase_add_loop_test(tc, the_rule_decides_what_the_end_of_a_process_means, 0, COUNT_OF(ends));
    tcase_add_test(tc, no_life_breaks_an_invariant);
    tcase_add_test(tc, names_are_written_and_read);
    suite_add_tcase(suite, tc);
    tc = tcase_create("addressee");
    tcase_add_loop_test(tc, names_of_personas_and_agents_are_checked, 0, COUNT_OF(names));
    tcase_add_loop_test(tc, queues_follow_from_persona_and_name, 0, COUNT_OF(queues));
    tcase_add_test(tc, a_queue_that_would_be_too_long_is_refused);
    suite_add_tcase(suite, tc);
    return suite;
}
