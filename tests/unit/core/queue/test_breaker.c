/*
 * test_breaker.c - every state against every event, the window, the probes, and long random lives.
 */
#include "base/clock.h"
#include "base/random.h"
#include "core/queue/breaker.h"
#include "core/queue/breaker_config.h"
#include "tests/unit/suites.h"
#include <string.h>

static const int64_t now_us = 1000 * US_PER_SECOND;

static struct breaker breaker_in(enum breaker_state state)
{
    struct breaker breaker = {.state = state, .changed_us = now_us - 50 * US_PER_SECOND};
    if (state == BREAKER_OPEN)
        breaker.open_until_us = now_us + 10 * US_PER_SECOND;
    return breaker;
}

static struct breaker_step tell(struct breaker *breaker, enum breaker_event event, int64_t at_us)
{
    struct breaker_rules rules = breaker_rules_default();
    struct breaker_input in = {.event = event, .now_us = at_us};
    struct breaker_step step = breaker_step(breaker, &rules, &in);
    *breaker = step.next;
    return step;
}

/* What one event does to a breaker of these rules: the state after it (C, O, H), and for a question
   + allowed or - denied. */
static const struct {
    enum breaker_state state;
    enum breaker_event event;
    const char *variant;
    int64_t failures, successes, in_flight; /* Before it; failures at now. */
    int64_t until_us;                       /* open: relative to now */
    const char *want;
    bool changed;
} table[] = {
    {BREAKER_CLOSED, BREAKER_EV_ASK, "", 0, 0, 0, 0, "C+", false},
    {BREAKER_CLOSED, BREAKER_EV_ASK, "after failures", 4, 0, 0, 0, "C+", false},
    {BREAKER_CLOSED, BREAKER_EV_SUCCESS, "", 4, 0, 0, 0, "C", false},
    {BREAKER_CLOSED, BREAKER_EV_FAILURE, "first", 0, 0, 0, 0, "C", true},
    {BREAKER_CLOSED, BREAKER_EV_FAILURE, "fourth", 3, 0, 0, 0, "C", true},
    {BREAKER_CLOSED, BREAKER_EV_FAILURE, "fifth", 4, 0, 0, 0, "O", true},
    {BREAKER_CLOSED, BREAKER_EV_RESET, "", 4, 0, 0, 0, "C", true},
    {BREAKER_CLOSED, BREAKER_EV_TRIP, "", 0, 0, 0, 0, "O", true},
    {BREAKER_OPEN, BREAKER_EV_ASK, "too early", 5, 0, 0, 1, "O-", false},
    {BREAKER_OPEN, BREAKER_EV_ASK, "in time", 5, 0, 0, 0, "H+", true},
    {BREAKER_OPEN, BREAKER_EV_ASK, "late", 5, 0, 0, -9, "H+", true},
    {BREAKER_OPEN, BREAKER_EV_SUCCESS, "", 5, 0, 0, 1, "O", false},
    {BREAKER_OPEN, BREAKER_EV_FAILURE, "", 5, 0, 0, 1, "O", false},
    {BREAKER_OPEN, BREAKER_EV_RESET, "", 5, 0, 0, 1, "C", true},
    {BREAKER_OPEN, BREAKER_EV_TRIP, "", 5, 0, 0, 1, "O", true},
    {BREAKER_HALF_OPEN, BREAKER_EV_ASK, "none out", 5, 0, 0, 0, "H+", false},
    {BREAKER_HALF_OPEN, BREAKER_EV_ASK, "two out", 5, 0, 2, 0, "H+", false},
    {BREAKER_HALF_OPEN, BREAKER_EV_ASK, "three out", 5, 0, 3, 0, "H-", false},
    {BREAKER_HALF_OPEN, BREAKER_EV_SUCCESS, "first", 5, 0, 0, 0, "H", true},
    {BREAKER_HALF_OPEN, BREAKER_EV_SUCCESS, "third", 5, 2, 0, 0, "C", true},
    {BREAKER_HALF_OPEN, BREAKER_EV_FAILURE, "after successes", 5, 2, 0, 0, "O", true},
    {BREAKER_HALF_OPEN, BREAKER_EV_RESET, "", 5, 2, 0, 0, "C", true},
    {BREAKER_HALF_OPEN, BREAKER_EV_TRIP, "", 5, 2, 0, 0, "O", true},
};

START_TEST(every_state_answers_every_event)
{
    static const char letters[] = "COH";
    struct breaker breaker = breaker_in(table[_i].state);
    for (int64_t i = 0; i < table[_i].failures; i++)
        breaker.failures.at_us[breaker.failures.count++] = now_us;
    breaker.successes = table[_i].successes;
    if (breaker.state == BREAKER_OPEN)
        breaker.open_until_us = now_us + table[_i].until_us;
    struct breaker_rules rules = breaker_rules_default();
    struct breaker_input in = {
        .event = table[_i].event, .now_us = now_us, .in_flight = table[_i].in_flight};
    struct breaker_step step = breaker_step(&breaker, &rules, &in);
    char got[3] = {letters[step.next.state]};
    if (in.event == BREAKER_EV_ASK)
        got[1] = step.allowed ? '+' : '-';
    ck_assert_msg(strcmp(got, table[_i].want) == 0, "%s x %d %s: got %s, want %s",
                  breaker_state_name(breaker.state), (int)in.event, table[_i].variant, got,
                  table[_i].want);
    ck_assert_int_eq(step.changed, table[_i].changed);
    if (!step.changed)
        ck_assert_mem_eq(&step.next, &breaker, sizeof breaker);
    bool denied = in.event == BREAKER_EV_ASK && !step.allowed;
    ck_assert_int_eq(denied, step.until_us > now_us);
    if (step.next.state == BREAKER_CLOSED && table[_i].state != BREAKER_CLOSED)
        ck_assert_uint_eq(step.next.failures.count, 0);
    bool opened = step.next.state == BREAKER_OPEN && step.changed;
    ck_assert_int_eq(step.next.trips - breaker.trips, opened);
    if (opened)
        ck_assert_int_eq(step.next.open_until_us, now_us + 60 * US_PER_SECOND);
}
END_TEST

START_TEST(the_table_has_every_pair)
{
    bool seen[BREAKER_STATE_COUNT][BREAKER_EV_COUNT] = {{false}};
    for (size_t i = 0; i < COUNT_OF(table); i++)
        seen[table[i].state][table[i].event] = true;
    for (int state = 0; state < BREAKER_STATE_COUNT; state++)
        for (int event = 0; event < BREAKER_EV_COUNT; event++)
            ck_assert_msg(seen[state][event], "%s x %d",
                          breaker_state_name((enum breaker_state)state), event);
}
END_TEST

START_TEST(only_failures_within_the_window_count)
{
    struct breaker breaker = {0};
    for (int i = 0; i < 4; i++)
        tell(&breaker, BREAKER_EV_FAILURE, now_us + i * US_PER_SECOND);
    /* Ten seconds after the first of the four, it still counts; a microsecond later it does not. */
    struct breaker other = breaker;
    tell(&breaker, BREAKER_EV_FAILURE, now_us + 10 * US_PER_SECOND + 1);
    ck_assert_int_eq(breaker.state, BREAKER_CLOSED);
    ck_assert_uint_eq(breaker.failures.count, 4);
    tell(&other, BREAKER_EV_FAILURE, now_us + 10 * US_PER_SECOND);
    ck_assert_int_eq(other.state, BREAKER_OPEN);
}
END_TEST

START_TEST(what_began_before_the_change_says_nothing)
{
    static const enum breaker_state states[] = {BREAKER_CLOSED, BREAKER_HALF_OPEN};
    struct breaker_rules rules = breaker_rules_default();
    for (size_t i = 0; i < COUNT_OF(states); i++) {
        struct breaker breaker = breaker_in(states[i]);
        struct breaker_input in = {
            .event = BREAKER_EV_FAILURE, .now_us = now_us, .since_us = breaker.changed_us - 1};
        ck_assert(!breaker_step(&breaker, &rules, &in).changed);
        in.since_us = breaker.changed_us;
        ck_assert(breaker_step(&breaker, &rules, &in).changed);
    }
}
END_TEST

START_TEST(a_lent_probe_is_free_again_once_told_or_in_time)
{
    struct breaker breaker = breaker_in(BREAKER_HALF_OPEN);
    struct breaker_rules rules = breaker_rules_default();
    struct breaker_input ask = {.event = BREAKER_EV_ASK, .now_us = now_us, .lend = true};
    for (int i = 0; i < 3; i++) {
        struct breaker_step step = breaker_step(&breaker, &rules, &ask);
        ck_assert(step.allowed);
        breaker = step.next;
    }
    ck_assert(!breaker_step(&breaker, &rules, &ask).allowed);
    struct breaker told = breaker;
    tell(&told, BREAKER_EV_SUCCESS, now_us);
    ck_assert(breaker_step(&told, &rules, &ask).allowed);
    ask.now_us = now_us + rules.open_us;
    ck_assert(breaker_step(&breaker, &rules, &ask).allowed);
}
END_TEST

START_TEST(long_lives_keep_the_invariants)
{
    struct random random = random_seeded(11);
    struct breaker breaker = {0};
    struct breaker_rules rules = breaker_rules_default();
    int64_t time_us = now_us, opened = 0, half_opened = 0, closed = 0;
    for (int i = 0; i < 200000; i++) {
        int64_t step_us = (int64_t)(random_next(&random) % (2 * US_PER_SECOND));
        time_us += random_next(&random) % 50 == 0 ? -step_us : step_us;
        uint64_t roll = random_next(&random) % 100;
        struct breaker_input in = {
            .event = roll < 40   ? BREAKER_EV_ASK
                     : roll < 70 ? BREAKER_EV_SUCCESS
                     : roll < 98 ? BREAKER_EV_FAILURE
                     : roll < 99 ? BREAKER_EV_RESET
                                 : BREAKER_EV_TRIP,
            .now_us = time_us,
            .in_flight = (int64_t)(random_next(&random) % 4),
            .lend = random_next(&random) % 2 == 0,
        };
        struct breaker_step step = breaker_step(&breaker, &rules, &in);
        if (breaker.state == BREAKER_OPEN && in.event == BREAKER_EV_ASK)
            ck_assert_int_eq(step.allowed,
                             time_us >= breaker.open_until_us && in.in_flight < rules.probes);
        if (breaker.state != step.next.state) {
            opened += step.next.state == BREAKER_OPEN;
            half_opened += step.next.state == BREAKER_HALF_OPEN;
            closed += step.next.state == BREAKER_CLOSED;
        }
        breaker = step.next;
    }
    ck_assert_int_gt(opened, 100);
    ck_assert_int_gt(half_opened, 100);
    ck_assert_int_gt(closed, 100);
}
END_TEST

/* ---- configuration ---- */

static const struct {
    const char *json, *field; /* field NULL: it is taken */
} documents[] = {
    {"{}", NULL},
    {"{\"failures\":1,\"windowMs\":1,\"openMs\":1,\"successes\":1,\"probes\":1}", NULL},
    {"{\"fallback\":\"alternative\",\"alternativeQueue\":\"q2\"}", NULL},
    {"{\"fallback\":\"default\",\"defaultResult\":{\"price\":1}}", NULL},
    {"{\"failures\":33}", "failures"},
    {"{\"openMs\":0}", "openMs"},
    {"{\"probes\":17}", "probes"},
    {"{\"fallback\":\"cached\"}", "fallback"},
    {"{\"fallback\":\"alternative\"}", "alternativeQueue"},
    {"{\"alternativeQueue\":\"drover.agent\"}", "alternativeQueue"},
    {"{\"alternativeQueue\":\"a b\"}", "alternativeQueue"},
    {"{\"fallback\":\"default\"}", "defaultResult"},
    {"{\"defaultResult\":[1]}", "defaultResult"},
    {"{\"timeout\":1}", "timeout"},
};

START_TEST(a_document_is_taken_or_refused_by_its_field)
{
    struct arena arena = {0};
    struct err err = {0};
    CLEANUP(js_freep) struct js *tree = NULL, *again = NULL;
    struct breaker_config config, same;
    const char *json = documents[_i].json;
    ck_assert_int_eq(js_parse(json, strlen(json), &tree, &err), RC_OK);
    enum rc rc = breaker_config_decode(tree, &arena, &config, &err);
    if (documents[_i].field != NULL) {
        ck_assert_int_eq(rc, RC_INVALID);
        ck_assert_str_eq(err.field, documents[_i].field);
    } else {
        ck_assert_msg(rc == RC_OK, "%s", err.text);
        CLEANUP(buf_release) struct buf text;
        buf_init(&text, 4096);
        struct jw jw = jw_to(&text);
        breaker_config_write(&jw, &config);
        ck_assert_int_eq(js_parse(buf_text(&text), text.len, &again, &err), RC_OK);
        ck_assert_int_eq(breaker_config_decode(again, &arena, &same, &err), RC_OK);
        ck_assert_mem_eq(&same.rules, &config.rules, sizeof same.rules);
        ck_assert_int_eq(same.fallback, config.fallback);
        ck_assert(str_same(same.default_result, config.default_result));
    }
    arena_release(&arena);
}
END_TEST

START_TEST(names_of_breakers)
{
    ck_assert(breaker_name_valid("forge:github.com"));
    ck_assert(breaker_name_valid("forge:local/acme/billing"));
    ck_assert(breaker_name_valid("forge:[::1]:8443"));
    ck_assert(!breaker_name_valid(""));
    ck_assert(!breaker_name_valid("a b"));
    ck_assert(!breaker_name_valid("a\nb"));
    char longest[BREAKER_NAME_MAX + 2];
    memset(longest, 'x', sizeof longest);
    longest[BREAKER_NAME_MAX + 1] = '\0';
    ck_assert(!breaker_name_valid(longest));
    longest[BREAKER_NAME_MAX] = '\0';
    ck_assert(breaker_name_valid(longest));
}
END_TEST

Suite *breaker_suite(void)
{
    Suite *suite = suite_create("breaker");
    TCase *tc = tcase_create("breaker");
    tcase_add_loop_test(tc, every_state_answers_every_event, 0, (int)COUNT_OF(table));
    tcase_add_test(tc, the_table_has_every_pair);
    tcase_add_test(tc, only_failures_within_the_window_count);
    tcase_add_test(tc, what_began_before_the_change_says_nothing);
    tcase_add_test(tc, a_lent_probe_is_free_again_once_told_or_in_time);
    tcase_add_test(tc, long_lives_keep_the_invariants);
    tcase_add_loop_test(tc, a_document_is_taken_or_refused_by_its_field, 0,
                        (int)COUNT_OF(documents));
    tcase_add_test(tc, names_of_breakers);
    suite_add_tcase(suite, tc);
    return suite;
}
