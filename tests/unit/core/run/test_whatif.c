/*
 * test_whatif.c - histories with known answers, under limits that bind and limits that do not.
 */
#include "base/clock.h"
#include "core/run/whatif.h"
#include "tests/unit/suites.h"
#include <string.h>

enum { RUNS_MAX = 64 };
#define S(n)   ((n)*US_PER_SECOND)
#define USD(n) ((int64_t)((n)*1e6))

static struct arena arena;
static struct whatif_run runs[RUNS_MAX];
static struct whatif_history history;
static struct whatif_repo now_repos[4], other_repos[4];
static int64_t now_types[4], other_types[4];
static struct whatif_world now, other;
static struct whatif_difference difference;
static struct whatif_outcome *before, *after;
static const char *const no_globs[] = {NULL};

static void setup(void)
{
    memset(runs, 0, sizeof runs);
    history = (struct whatif_history){.runs = runs, .repos = 4, .users = 4, .types = 4};
    now = (struct whatif_world){.type_max = now_types, .repos = now_repos};
    memset(now_types, 0, sizeof now_types);
    for (size_t i = 0; i < COUNT_OF(now_repos); i++)
        now_repos[i] = (struct whatif_repo){.budget = budget_default(), .forbidden = no_globs};
    memcpy(other_repos, now_repos, sizeof now_repos);
    memcpy(other_types, now_types, sizeof now_types);
    other = (struct whatif_world){.type_max = other_types, .repos = other_repos};
}

static void teardown(void)
{
    arena_release(&arena);
}

/* Queued then, started at once, worked for so long, cost so much. */
static struct whatif_run *add(int64_t queued_s, int64_t work_s, double usd)
{
    struct whatif_run *run = &runs[history.count];
    *run = (struct whatif_run){
        .rank = S(queued_s) + (int64_t)history.count,
        .queued_us = S(queued_s),
        .ready_us = S(queued_s),
        .admitted_us = S(queued_s),
        .work_us = S(work_s),
        .cost_microusd = USD(usd),
        .turns = 10,
        .mode = MODE_SUPERVISED_PR,
        .risk = RISK_LOW,
        .published = true,
        .used = {[BUDGET_AGENT] = 1},
    };
    history.count++;
    return run;
}

static void compare(void)
{
    before = whatif_simulate(&history, &now, &now, &arena);
    after = whatif_simulate(&history, &now, &other, &arena);
    whatif_compare(&history, before, after, &difference);
}

static void expect_no_difference(void)
{
    struct whatif_difference none = {.unfinished = difference.unfinished,
                                     .never_started = difference.never_started,
                                     .end_us = {difference.end_us[0], difference.end_us[0]}};
    ck_assert_mem_eq(&difference, &none, sizeof none);
}

/* Three runs at once, ten seconds each. */
static void three_at_once(void)
{
    for (int i = 0; i < 3; i++)
        add(100, 10, 1);
}

START_TEST(the_same_limits_change_nothing)
{
    now.active_max = other.active_max = 2;
    now.day_microusd = other.day_microusd = USD(2);
    now.tasks_per_hour = other.tasks_per_hour = 5;
    for (int i = 0; i < 40; i++) {
        struct whatif_run *run = add(100 + i * 3, 7 + i % 5, 0.25);
        run->repo = (uint32_t)i % 4;
        run->user = (uint32_t)i % 3;
        run->asking_us = i % 7 == 0 ? S(20) : 0;
    }
    compare();
    expect_no_difference();
    ck_assert_int_gt(difference.end_us[0], 0);
}
END_TEST

START_TEST(one_slot_puts_runs_behind_each_other)
{
    three_at_once();
    other.active_max = 1;
    compare();
    ck_assert_int_eq(after[0].start_us, S(100));
    ck_assert_int_eq(after[1].start_us, S(110));
    ck_assert_int_eq(after[2].start_us, S(120));
    ck_assert_int_eq(difference.deferred.runs, 2);
    ck_assert_int_eq(difference.deferred.total_us, S(30));
    ck_assert_int_eq(difference.deferred.longest_us, S(20));
    ck_assert_int_eq(difference.deferred_by[CHECK_SYSTEM], 2);
    ck_assert_int_eq(difference.end_us[1] - difference.end_us[0], S(20));
    ck_assert_int_eq(difference.saved_microusd, 0);
}
END_TEST

static void limit_user(void)
{
    other.user_max = 1;
}
static void limit_repository(void)
{
    other_repos[0].active_max = 1;
}
static void limit_type(void)
{
    other_types[0] = 1;
}
static void limit_workspace(void)
{
    other.workspace_max = 1;
}
static void limit_sandboxes(void)
{
    other.sandboxes = 1;
}

static const struct {
    void (*limit)(void);
    enum admission_check check;
} limits[] = {
    {limit_user, CHECK_USER},         {limit_repository, CHECK_REPOSITORY},
    {limit_type, CHECK_TASK_TYPE},    {limit_workspace, CHECK_WORKSPACE},
    {limit_sandboxes, CHECK_SANDBOX},
};

START_TEST(each_limit_defers_by_its_own_name)
{
    three_at_once();
    limits[_i].limit();
    compare();
    ck_assert_int_eq(difference.deferred.runs, 2);
    ck_assert_int_eq(difference.deferred.total_us, S(30));
    ck_assert_int_eq(difference.deferred_by[limits[_i].check], 2);
}
END_TEST

START_TEST(others_do_not_wait_for_a_full_repository)
{
    three_at_once();
    runs[2].repo = runs[2].user = 1;
    other_repos[0].active_max = 1;
    compare();
    ck_assert_int_eq(difference.deferred.runs, 1);
    ck_assert_int_eq(after[2].start_us, S(100));
}
END_TEST

START_TEST(who_waits_for_a_person_needs_no_sandbox)
{
    add(100, 10, 1)->asking_us = S(1000);
    add(100, 10, 1);
    other.sandboxes = 1;
    compare();
    ck_assert_int_eq(after[1].start_us, S(110));
    other.sandboxes = 0;
    other.active_max = 1;
    compare();
    ck_assert_int_eq(after[1].start_us, S(1110));
}
END_TEST

START_TEST(more_room_lets_runs_start_sooner)
{
    three_at_once();
    now.active_max = 1;
    runs[1].admitted_us = S(110);
    runs[2].admitted_us = S(120);
    compare();
    ck_assert_int_eq(difference.sooner.runs, 2);
    ck_assert_int_eq(difference.sooner.total_us, S(30));
    struct whatif_fidelity fidelity = whatif_fidelity(&history, before);
    ck_assert_int_eq(fidelity.near, 3);
    ck_assert_int_eq(fidelity.furthest_us, 0);
}
END_TEST

START_TEST(a_run_that_waited_for_something_else_is_not_started_before_it)
{
    add(100, 10, 1)->ready_us = S(500);
    runs[0].admitted_us = S(500);
    compare();
    ck_assert_int_eq(before[0].start_us, S(500));
    expect_no_difference();
}
END_TEST

/* ---- denials ---- */

START_TEST(a_lower_rate_denies_tasks_and_not_retries)
{
    for (int i = 0; i < 5; i++)
        add(100 + i, 10, 1);
    runs[4].retried = true;
    other.tasks_per_hour = 3;
    compare();
    ck_assert_int_eq(difference.denied.runs, 2); /* The fourth, and a retry at that time. */
    ck_assert_str_eq(after[3].denied, "rate_limit_exceeded");
    ck_assert_int_eq(difference.denied.cost_microusd, USD(2));
    ck_assert_int_eq(difference.saved_work_us, S(20));
}
END_TEST

START_TEST(an_hour_later_there_is_room_again)
{
    for (int i = 0; i < 4; i++)
        add(100 + i * 1900, 10, 1);
    other.tasks_per_hour = 1;
    compare();
    ck_assert_int_eq(difference.denied.runs, 2);
    ck_assert_ptr_null(after[2].denied);
}
END_TEST

START_TEST(the_budget_of_a_day_denies_until_midnight)
{
    add(100, 10, 3);
    add(200, 10, 3);
    add(86400 + 200, 10, 3);
    other.day_microusd = USD(3);
    other.run_microusd = USD(100);
    compare();
    ck_assert_int_eq(difference.denied.runs, 1);
    ck_assert_str_eq(after[1].denied, "cost_budget_exceeded");
    ck_assert_ptr_null(after[2].denied);
}
END_TEST

START_TEST(a_run_that_was_in_waits_for_the_next_day)
{
    add(100, 10, 3);
    add(105, 10, 3)->ready_us = S(150);
    other.day_microusd = USD(3);
    other.run_microusd = USD(100);
    compare();
    ck_assert_ptr_null(after[1].denied);
    ck_assert_int_eq(after[1].start_us, S(86400));
    ck_assert_int_eq(difference.deferred_by[CHECK_COST_TODAY], 1);
}
END_TEST

START_TEST(policy_denies_and_an_admin_overrides)
{
    for (int i = 0; i < 2; i++) {
        struct whatif_run *run = add(100, 10, 1);
        run->mode = MODE_AUTONOMOUS_PR;
        run->risk = RISK_HIGH;
    }
    runs[1].overridden = true;
    compare();
    ck_assert_ptr_nonnull(before[0].denied);
    ck_assert_ptr_null(before[1].denied);
    expect_no_difference();
}
END_TEST

/* ---- people ---- */

START_TEST(approval_always_asks_for_every_patch)
{
    for (int i = 0; i < 3; i++) {
        add(100 + i * 100, 10, 1)->mode = MODE_AUTONOMOUS_PR;
        runs[i].published = i < 2;
    }
    history.approval_us = S(60);
    other_repos[0].approval = APPROVAL_ALWAYS;
    compare();
    ck_assert_int_eq(difference.asked, 2);
    ck_assert_int_eq(difference.saved_asking_us, -S(120));
    ck_assert_int_eq(difference.deferred.runs, 0);
}
END_TEST

START_TEST(without_an_approval_its_wait_is_saved)
{
    add(100, 10, 1)->mode = MODE_AUTONOMOUS_PR;
    runs[0].asking_us = S(500);
    now_repos[0].approval = APPROVAL_ALWAYS;
    compare();
    ck_assert_int_eq(difference.not_asked, 1);
    ck_assert_int_eq(difference.saved_asking_us, S(500));
}
END_TEST

/* ---- stops ---- */

static const struct whatif_point trail[] = {
    {.work_us = S(20), .turns = 20, .tokens = 200, .cost_microusd = USD(1)},
    {.work_us = S(40), .turns = 40, .tokens = 400, .cost_microusd = USD(2)},
    {.work_us = S(50), .turns = 40, .tokens = 400, .cost_microusd = USD(2), .attempt = 2},
    {.work_us = S(70), .turns = 60, .tokens = 600, .cost_microusd = USD(3)},
    {.work_us = S(80), .turns = 60, .tokens = 600, .cost_microusd = USD(3), .attempt = 3},
    {.work_us = S(90), .turns = 80, .tokens = 800, .cost_microusd = USD(4)},
};

static struct whatif_run *add_long(void)
{
    struct whatif_run *run = add(100, 100, 4);
    run->turns = 80;
    run->tokens = 800;
    run->used[BUDGET_AGENT] = 3;
    run->points = trail;
    run->point_count = COUNT_OF(trail);
    return run;
}

static const struct {
    struct task_limits limits;
    int64_t attempts; /* 0: three */
    int64_t run_s;
    enum whatif_stop stop;
    int64_t work_s;
    double usd;
} stops[] = {
    {{0}, 0, 0, WHATIF_NO_STOP, 100, 4},
    {{.turns = 80}, 0, 0, WHATIF_NO_STOP, 100, 4},
    {{.turns = 79}, 0, 0, WHATIF_STOP_TURNS, 90, 4},
    {{.turns = 30}, 0, 0, WHATIF_STOP_TURNS, 40, 2},
    {{.cost_microusd = USD(2.5)}, 0, 0, WHATIF_STOP_COST, 70, 3},
    {{.cost_microusd = USD(2)}, 0, 0, WHATIF_STOP_RETRIES, 50, 2}, /* No money for the second. */
    {{.tokens = 250}, 0, 0, WHATIF_STOP_TOKENS, 40, 2},
    {{0}, 2, 0, WHATIF_STOP_RETRIES, 80, 3},
    {{0}, 1, 0, WHATIF_STOP_RETRIES, 50, 2},
    {{.turns = 30}, 1, 0, WHATIF_STOP_TURNS, 40, 2},
    {{0}, 0, 25, WHATIF_STOP_TIME, 25, 1},
};

START_TEST(a_limit_stops_a_run_where_its_sums_passed_it)
{
    add_long();
    other_repos[0].configured = stops[_i].limits;
    other_repos[0].budget.max[BUDGET_AGENT] = stops[_i].attempts > 0 ? stops[_i].attempts : 3;
    other_repos[0].run_us = S(stops[_i].run_s);
    compare();
    ck_assert_int_eq(after[0].stop, stops[_i].stop);
    ck_assert_int_eq(after[0].work_us, S(stops[_i].work_s));
    ck_assert_int_eq(after[0].cost_microusd, USD(stops[_i].usd));
    ck_assert_int_eq(difference.saved_microusd, USD(4) - USD(stops[_i].usd));
    ck_assert_int_eq(difference.stopped[stops[_i].stop].runs, stops[_i].stop != WHATIF_NO_STOP);
    if (stops[_i].stop == WHATIF_NO_STOP)
        expect_no_difference();
}
END_TEST

START_TEST(without_points_a_stop_is_in_proportion)
{
    add_long()->point_count = 0;
    other_repos[0].configured.turns = 20;
    compare();
    ck_assert_int_eq(after[0].work_us, S(25));
    ck_assert_int_eq(after[0].cost_microusd, USD(1));
}
END_TEST

START_TEST(the_task_s_own_limit_wins)
{
    add_long()->own.turns = 500;
    runs[0].recorded.turns = 500;
    other_repos[0].configured.turns = 20;
    compare();
    expect_no_difference();
}
END_TEST

START_TEST(a_stopped_run_makes_room)
{
    add_long();
    add(110, 10, 1);
    now.active_max = other.active_max = 1;
    runs[1].admitted_us = S(200);
    other_repos[0].configured.turns = 30;
    compare();
    ck_assert_int_eq(before[1].start_us, S(200));
    ck_assert_int_eq(after[1].start_us, S(140));
    ck_assert_int_eq(difference.sooner.runs, 1);
}
END_TEST

START_TEST(what_a_stopped_run_would_have_done_is_not_known)
{
    struct whatif_run *run = add_long();
    run->ended_by = WHATIF_STOP_TURNS;
    run->recorded.turns = now_repos[0].configured.turns = 80;
    run->published = false;
    other_repos[0].configured.turns = 200;
    compare();
    ck_assert_int_eq(before[0].stop, WHATIF_STOP_TURNS);
    ck_assert_int_eq(difference.goes_on, 1);
    other_repos[0].configured.turns = 80;
    compare();
    expect_no_difference();
}
END_TEST

START_TEST(forbidden_paths_stop_a_patch)
{
    static const char *const globs[] = {"deploy/**", NULL};
    static const char *const paths[] = {"src/a.c", "deploy/run.sh"};
    add(100, 10, 1);
    runs[0].paths = paths;
    runs[0].path_count = COUNT_OF(paths);
    other_repos[0].forbidden = globs;
    compare();
    ck_assert_int_eq(difference.stopped[WHATIF_STOP_PATHS].runs, 1);
    ck_assert_int_eq(difference.saved_microusd, 0);
}
END_TEST

START_TEST(retries_of_verifiers_and_tools_count_too)
{
    add(100, 10, 1)->used[BUDGET_VERIFIER] = 1;
    add(100, 10, 1)->used[BUDGET_TOOL] = 2;
    other_repos[0].budget.max[BUDGET_VERIFIER] = 0;
    other_repos[0].budget.max[BUDGET_TOOL] = 1;
    compare();
    ck_assert_int_eq(difference.stopped[WHATIF_STOP_RETRIES].runs, 2);
}
END_TEST

START_TEST(what_never_started_is_only_counted)
{
    three_at_once();
    runs[1].admitted_us = 0;
    runs[2].unfinished = true;
    other.active_max = 1;
    compare();
    ck_assert_int_eq(difference.never_started, 1);
    ck_assert_int_eq(difference.unfinished, 1);
    ck_assert_int_eq(difference.deferred.runs, 1);
}
END_TEST

START_TEST(an_empty_history_has_no_difference)
{
    compare();
    expect_no_difference();
}
END_TEST

START_TEST(codes_and_stops_are_each_others_inverse)
{
    for (int i = WHATIF_NO_STOP + 1; i < WHATIF_STOP_COUNT; i++)
        ck_assert_int_eq(whatif_stop_of(whatif_stop_code((enum whatif_stop)i)), i);
    ck_assert_int_eq(whatif_stop_of("agent_error"), WHATIF_NO_STOP);
    ck_assert_int_eq(whatif_stop_of(NULL), WHATIF_NO_STOP);
}
END_TEST

Suite *whatif_suite(void)
{
    Suite *suite = suite_create("whatif");
    TCase *tc = tcase_create("whatif");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, the_same_limits_change_nothing);
    tcase_add_test(tc, one_slot_puts_runs_behind_each_other);
    tcase_add_loop_test(tc, each_limit_defers_by_its_own_name, 0, (int)COUNT_OF(limits));
    tcase_add_test(tc, others_do_not_wait_for_a_full_repository);
    tcase_add_test(tc, who_waits_for_a_person_needs_no_sandbox);
    tcase_add_test(tc, more_room_lets_runs_start_sooner);
    tcase_add_test(tc, a_run_that_waited_for_something_else_is_not_started_before_it);
    tcase_add_test(tc, a_lower_rate_denies_tasks_and_not_retries);
    tcase_add_test(tc, an_hour_later_there_is_room_again);
    tcase_add_test(tc, the_budget_of_a_day_denies_until_midnight);
    tcase_add_test(tc, a_run_that_was_in_waits_for_the_next_day);
    tcase_add_test(tc, policy_denies_and_an_admin_overrides);
    tcase_add_test(tc, approval_always_asks_for_every_patch);
    tcase_add_test(tc, without_an_approval_its_wait_is_saved);
    tcase_add_loop_test(tc, a_limit_stops_a_run_where_its_sums_passed_it, 0, (int)COUNT_OF(stops));
    tcase_add_test(tc, without_points_a_stop_is_in_proportion);
    tcase_add_test(tc, the_task_s_own_limit_wins);
    tcase_add_test(tc, a_stopped_run_makes_room);
    tcase_add_test(tc, what_a_stopped_run_would_have_done_is_not_known);
    tcase_add_test(tc, forbidden_paths_stop_a_patch);
    tcase_add_test(tc, retries_of_verifiers_and_tools_count_too);
    tcase_add_test(tc, what_never_started_is_only_counted);
    tcase_add_test(tc, an_empty_history_has_no_difference);
    tcase_add_test(tc, codes_and_stops_are_each_others_inverse);
    suite_add_tcase(suite, tc);
    return suite;
}
