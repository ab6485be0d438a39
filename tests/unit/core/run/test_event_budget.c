/*
 * test_event_budget.c - what is stored of the events that a run's workers report, and what is not.
 */
#include "core/run/event_budget.h"
#include "tests/unit/lab.h"
#include "tests/unit/suites.h"
#include <stdio.h>
#include <string.h>

/* Three events, 100 bytes; one budget from the first row to the last. */
static const struct {
    const char *why;
    enum event_kind kind;
    int64_t bytes;
    bool store, notice;
} rows[] = {
    {"the first fits", EVENT_DIAGNOSTIC, 40, true, false},
    {"a milestone counts too", EVENT_MILESTONE, 40, true, false},
    {"the bytes are used up: told once", EVENT_DIAGNOSTIC, 40, false, true},
    {"a smaller one does not slip in later", EVENT_DIAGNOSTIC, 1, false, false},
    {"milestones have a reserve", EVENT_MILESTONE, 1000, true, false},
    {"which has an end, too", EVENT_MILESTONE, EVENT_RESERVE_BYTES, false, false},
    {"but what fits is stored", EVENT_MILESTONE, 10, true, false},
};

START_TEST(a_budget_closes_once_and_keeps_a_reserve)
{
    struct event_budget budget = event_budget_new(3, 100);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct event_verdict verdict = event_budget_take(&budget, rows[i].kind, rows[i].bytes);
        ck_assert_msg(verdict.store == rows[i].store, "%s", rows[i].why);
        ck_assert_msg(verdict.notice == rows[i].notice, "%s", rows[i].why);
    }
    ck_assert(!event_budget_open(&budget));
}
END_TEST

START_TEST(all_that_is_ever_stored_is_bounded)
{
    struct event_budget budget = event_budget_new(50, 100000);
    int stored = 0, notices = 0;
    int64_t bytes = 0;
    for (int i = 0; i < 10000; i++) {
        int64_t size = 1 + i * 7 % 4000;
        struct event_verdict verdict = event_budget_take(
            &budget, i % 3 ? EVENT_DIAGNOSTIC : EVENT_MILESTONE, size);
        stored += verdict.store;
        notices += verdict.notice;
        bytes += verdict.store ? size : 0;
    }
    ck_assert_int_eq(notices, 1);
    ck_assert_int_le(stored + notices, 50 + EVENT_RESERVE);
    ck_assert_int_le(bytes, 100000 + EVENT_RESERVE_BYTES);
}
END_TEST

/* ---- in a run ---- */

static struct lab lab;

static struct job_row agent_of(const char *limits, struct id *ret_run_id)
{
    lab_open(&lab, &(struct lab_options){.limits = {.max_run_events = 40}});
    lab_repository(&lab, "acme/x", limits);
    *ret_run_id = lab_submit(&lab, "acme/x");
    struct job_row job = lab_take(&lab, "prepare");
    lab_finish(&lab, &job, RESULT_PREPARE);
    job = lab_take(&lab, "hydrate");
    lab_finish(&lab, &job, RESULT_HYDRATE);
    return lab_take(&lab, "agent");
}

#define MESSAGE "{\"type\":\"agent.step.recorded\",\"data\":{\"text\":\"x\"}}"
#define FIVE    MESSAGE "," MESSAGE "," MESSAGE "," MESSAGE "," MESSAGE
#define TURN(n) \
    "{\"type\":\"agent.model.turn.completed\",\"data\":{\"turns\":" n ",\"costUsd\":1.5}}"

START_TEST(a_run_stores_as_many_events_as_it_may_and_says_so)
{
    struct id run_id;
    struct job_row job = agent_of("\"limits\":{\"maxRunEvents\":12}", &run_id);
    ck_assert_ptr_null(lab_progress(&lab, &job, "[" FIVE "," FIVE "]").code);
    ck_assert_str_eq(lab_progress(&lab, &job, "[" FIVE "]").code, "EVENT_BUDGET");
    for (int i = 0; i < 20; i++)
        ck_assert_str_eq(lab_progress(&lab, &job, "[" FIVE "]").code, "EVENT_BUDGET");
    ck_assert_int_eq(lab_count_events(&lab, &run_id, "agent.step.recorded"), 12);
    ck_assert_int_eq(lab_count_events(&lab, &run_id, "agent.events.truncated"), 1);
    int64_t before = lab_run(&lab, &run_id).event_seq;
    (void)lab_progress(&lab, &job, "[" FIVE "]");
    ck_assert_int_eq(lab_run(&lab, &run_id).event_seq, before);
    lab_check(&lab);
    lab_close(&lab);
}
END_TEST

START_TEST(turns_and_cost_count_after_their_events_are_dropped)
{
    struct id run_id;
    struct job_row job = agent_of("\"limits\":{\"maxRunEvents\":10}", &run_id);
    (void)lab_progress(&lab, &job, "[" FIVE "," FIVE "," FIVE "]");
    ck_assert_str_eq(lab_progress(&lab, &job, "[" TURN("7") "]").code, "EVENT_BUDGET");
    struct run_row run = lab_run(&lab, &run_id);
    ck_assert_int_eq(run.turns, 7);
    ck_assert_int_eq(run.cost_microusd, 1500000);
    ck_assert_int_eq(lab_count_events(&lab, &run_id, "agent.model.turn.completed"), 0);
    const char *taken = arena_printf(
        &lab.arena,
        "[{\"type\":\"agent.snapshot.taken\",\"data\":{\"ref\":\"refs/drover/snapshots/%s/1-1\","
        "\"commit\":\"da39a3ee5e6b4b0d3255bfef95601890afd80709\",\"reason\":\"interval\","
        "\"worker\":\"node-1/0\",\"mirror\":\"/mirror\"}}]",
        run_id.text);
    ck_assert_ptr_null(lab_progress(&lab, &job, taken).code);
    ck_assert_int_eq(lab_count_events(&lab, &run_id, "agent.snapshot.taken"), 1);
    lab_finish(&lab, &job, RESULT_AGENT);
    ck_assert_int_eq(lab_run(&lab, &run_id).status, RUN_VERIFYING);
    lab_check(&lab);
    lab_close(&lab);
}
END_TEST

START_TEST(the_servers_limit_holds_over_the_repositorys)
{
    struct id run_id;
    struct job_row job = agent_of("\"limits\":{\"maxRunEvents\":100000}", &run_id);
    for (int i = 0; i < 20; i++)
        (void)lab_progress(&lab, &job, "[" FIVE "]");
    ck_assert_int_eq(lab_count_events(&lab, &run_id, "agent.step.recorded"), 40);
    lab_close(&lab);
}
END_TEST

Suite *event_budget_suite(void)
{
    Suite *suite = suite_create("event_budget");
    TCase *tc = tcase_create("event_budget");
    tcase_add_test(tc, a_budget_closes_once_and_keeps_a_reserve);
    tcase_add_test(tc, all_that_is_ever_stored_is_bounded);
    tcase_add_test(tc, a_run_stores_as_many_events_as_it_may_and_says_so);
    tcase_add_test(tc, turns_and_cost_count_after_their_events_are_dropped);
    tcase_add_test(tc, the_servers_limit_holds_over_the_repositorys);
    suite_add_tcase(suite, tc);
    return suite;
}
