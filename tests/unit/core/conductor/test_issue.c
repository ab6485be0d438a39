/*
 * test_issue.c - the life of an issue: every stage against every event, and the rules beside the
 * table.
 */
#include "base/clock.h"
#include "core/conductor/issue.h"
#include "core/conductor/issue_clock.h"
#include "core/conductor/react.h"
#include "tests/unit/suites.h"
#include <string.h>

static struct arena arena;

static void tear_down(void)
{
    arena_release(&arena);
    arena = (struct arena){0};
}

/* ---- the table ---- */

/* One letter a stage, in the order of enum issue_stage. */
static const char letters[] = "nwaWiFgmsPXpvDSE";

/* In the order of enum issue_kind; '.' is a refusal.
   APPROVED ASSIGNED UNASSIGNED WORK BRANCH PR CI+ CI- REVIEW+ DISPUTED GATE REMIND GATE+ GATE-
   MERGED STAGING SMOKE+ SMOKE- PRODUCTION VERIFIED DONE STUCK ESCALATED */
static const char *const want[STAGE_COUNT] = {
    [STAGE_NEW] = "w......................",
    [STAGE_WAITING] = ".a....................E",
    [STAGE_ASSIGNED] = "..wW.................SE",
    [STAGE_WORKING] = "..w.Wi.........s.....SE",
    [STAGE_IN_CI] = "..w...gFi.iiiE.......SE",
    [STAGE_CI_FAILED] = "..w..i....FFFE.......SE",
    [STAGE_GREEN] = "..w....Fg.gggEm......SE",
    [STAGE_MERGED] = ".........mmmmE.s..p..SE",
    [STAGE_STAGED] = ".........ssssE..PX...SE",
    [STAGE_SMOKE_PASSED] = ".........PPPPE....p..SE",
    [STAGE_SMOKE_FAILED] = "..wXXi...X...........SE",
    [STAGE_IN_PRODUCTION] = ".........p.......X.v.SE",
    [STAGE_VERIFIED] = ".........v..........DSE",
    [STAGE_DONE] = ".........D.............",
    [STAGE_STUCK] = "..w......S............E",
    [STAGE_ESCALATED] = "w.E......E.............",
};

/* One in which no rule beside the table forbids the event. */
static struct issue_life issue_in(enum issue_stage stage, enum issue_kind kind)
{
    struct issue_life issue = {.stage = stage, .sla_us = 1, .priority = 100, .branch = "b"};
    bool deployed = stage == STAGE_MERGED || stage == STAGE_STAGED || stage == STAGE_SMOKE_PASSED ||
                    stage == STAGE_IN_PRODUCTION || stage == STAGE_VERIFIED || stage == STAGE_DONE;
    bool assigned = issue_has_agent(stage) || stage == STAGE_STUCK || stage == STAGE_DONE;
    issue.life.assigned_to = assigned ? "dev" : NULL;
    if (stage == STAGE_ESCALATED && kind == ISSUE_EV_UNASSIGNED)
        issue.life.assigned_to = "dev";
    issue.merged = deployed || stage == STAGE_WORKING;
    bool answers = kind == ISSUE_EV_GATE_REMINDER || kind == ISSUE_EV_GATE_APPROVED ||
                   kind == ISSUE_EV_GATE_REJECTED;
    if (answers && strchr("E.", want[stage][ISSUE_EV_GATE_TRIGGERED]) == NULL)
        issue.gate_us = 1;
    return issue;
}

static struct issue_event event_of(enum issue_kind kind)
{
    return (struct issue_event){.kind = kind,
                                .time_us = 10,
                                .branch = "fresh",
                                .pull_request = "2",
                                .reason = SMOKE_REASON_CODE,
                                .period = 1,
                                .agent_id = kind == ISSUE_EV_ASSIGNED ? "dev" : NULL};
}

START_TEST(every_stage_takes_exactly_the_listed_events)
{
    enum issue_stage stage = (enum issue_stage)_i;
    ck_assert_uint_eq(strlen(want[stage]), ISSUE_STEP_COUNT);
    for (int i = 0; i < ISSUE_STEP_COUNT; i++) {
        enum issue_kind kind = (enum issue_kind)i;
        const struct issue_life issue = issue_in(stage, kind);
        const struct issue_event event = event_of(kind);
        struct issue_life next = {.stage = STAGE_COUNT};
        enum issue_rule rule = ISSUE_RULE_COUNT;
        enum rc rc = issue_step(&issue, &event, &(struct issue_facts){0}, &arena, &next, &rule);
        char got = rc == RC_OK ? letters[next.stage] : '.';
        ck_assert_msg(got == want[stage][i], "%s x %s: got %c (%s), want %c",
                      issue_stage_name(stage), issue_kind_name(kind), got, issue_rule_name(rule),
                      want[stage][i]);
        ck_assert_int_eq(rc == RC_OK, rule == ISSUE_RULE_KEPT);
        ck_assert(rc == RC_OK || (rc == RC_CONFLICT && next.stage == STAGE_COUNT));
    }
}
END_TEST

START_TEST(names_read_back)
{
    for (int i = 0; i < STAGE_COUNT; i++) {
        enum issue_stage back = STAGE_COUNT;
        ck_assert(issue_stage_parse(issue_stage_name((enum issue_stage)i), &back));
        ck_assert_int_eq((int)back, i);
    }
    for (int i = 0; i < ISSUE_EV_COUNT; i++) {
        enum issue_kind back = ISSUE_EV_COUNT, guess = ISSUE_EV_COUNT;
        const char *type = issue_kind_type((enum issue_kind)i);
        ck_assert(issue_kind_of_type(type, &back) && issue_kind_guess(type, &guess));
        ck_assert_int_eq((int)back, i);
        ck_assert_int_eq((int)guess, i);
    }
    for (int i = 0; i < WRITER_COUNT; i++) {
        enum issue_writer back = WRITER_COUNT;
        ck_assert(issue_writer_parse(issue_writer_name((enum issue_writer)i), &back));
        ck_assert_int_eq((int)back, i);
    }
    for (int i = 0; i < ISSUE_RULE_COUNT; i++)
        ck_assert_str_ne(issue_rule_name((enum issue_rule)i), "");
    enum issue_stage stage;
    enum issue_writer writer;
    ck_assert(!issue_stage_parse("Done", &stage) && !issue_writer_parse("admin", &writer));
}
END_TEST

/* ---- the rules ---- */

static struct issue_life issue;
static enum issue_rule rule;

static bool write_event(const struct issue_event *event)
{
    return issue_step(&issue, event, &(struct issue_facts){0}, &arena, &issue, &rule) == RC_OK;
}

static bool write_as(enum issue_kind kind, const char *agent)
{
    return write_event(&(struct issue_event){.kind = kind, .time_us = 10, .agent_id = agent});
}

static bool write_pr(const char *branch, const char *pull_request)
{
    return write_event(&(struct issue_event){.kind = ISSUE_EV_PR_CREATED,
                                             .time_us = 10,
                                             .branch = branch,
                                             .pull_request = pull_request});
}

static bool fail_smoke(const char *reason)
{
    return write_as(ISSUE_EV_DEPLOYED_STAGING, NULL) &&
           write_event(&(struct issue_event){.kind = ISSUE_EV_SMOKE_FAILED, .reason = reason});
}

/* Of agent "a", merged from branch "b1". */
static void bring_to_merged(void)
{
    issue = (struct issue_life){0};
    ck_assert(write_as(ISSUE_EV_APPROVED, NULL) && write_as(ISSUE_EV_ASSIGNED, "a") &&
              write_as(ISSUE_EV_WORK_STARTED, "a") && write_pr("b1", "1") &&
              write_as(ISSUE_EV_CI_PASSED, NULL) && write_as(ISSUE_EV_MERGED, "a"));
}

START_TEST(done_needs_verified)
{
    bring_to_merged();
    ck_assert(!write_as(ISSUE_EV_DONE, "a"));
    ck_assert_int_eq(rule, ISSUE_RULE_DONE_NEEDS_VERIFIED);
    ck_assert(write_as(ISSUE_EV_DEPLOYED_PRODUCTION, "a") && write_as(ISSUE_EV_VERIFIED, "a") &&
              write_as(ISSUE_EV_DONE, "a"));
}
END_TEST

START_TEST(a_reassigned_issue_has_another_agent_and_a_fresh_branch)
{
    bring_to_merged();
    ck_assert(write_as(ISSUE_EV_STUCK, "a") && write_as(ISSUE_EV_UNASSIGNED, "a"));
    ck_assert_ptr_null(issue.life.assigned_to);
    ck_assert_str_eq(issue.abandoned, "b1");
    ck_assert(write_as(ISSUE_EV_ASSIGNED, "b") && !write_as(ISSUE_EV_WORK_STARTED, "a"));
    ck_assert_int_eq(rule, ISSUE_RULE_ASSIGNED_AGENT);
    ck_assert(write_as(ISSUE_EV_WORK_STARTED, "b") && !write_pr("b1", "2"));
    ck_assert_int_eq(rule, ISSUE_RULE_FRESH_BRANCH);
    ck_assert(write_pr("b2", "2"));
    ck_assert(write_as(ISSUE_EV_STUCK, "b") && write_as(ISSUE_EV_UNASSIGNED, "b"));
    ck_assert_str_eq(issue.abandoned, "b1\nb2");
    ck_assert(!write_as(ISSUE_EV_ASSIGNED, "c"));
    ck_assert_int_eq(rule, ISSUE_RULE_TWO_STUCK_AGENTS);
    ck_assert(write_as(ISSUE_EV_ESCALATED, NULL) && write_as(ISSUE_EV_APPROVED, NULL) &&
              write_as(ISSUE_EV_ASSIGNED, "a"));
    ck_assert_int_eq(issue.life.reassignments, 2);
}
END_TEST

START_TEST(smoke_failures_in_code_are_fixed_twice_in_new_pull_requests)
{
    bring_to_merged();
    ck_assert(fail_smoke(SMOKE_REASON_CODE) && !write_pr("b2", "1"));
    ck_assert_int_eq(rule, ISSUE_RULE_FIX_IS_NEW_PR);
    ck_assert(!write_pr("b1", "2"));
    ck_assert_int_eq(rule, ISSUE_RULE_FIX_IS_NEW_PR);
    for (int i = 2; i <= ISSUE_SMOKE_MAX; i++) {
        const char *branch = arena_printf(&arena, "b%d", i);
        ck_assert(write_pr(branch, branch) && write_as(ISSUE_EV_CI_PASSED, NULL) &&
                  write_as(ISSUE_EV_MERGED, "a") && fail_smoke(SMOKE_REASON_CODE));
    }
    ck_assert(!write_pr("b9", "9"));
    ck_assert_int_eq(rule, ISSUE_RULE_SMOKE_RETRIES);
    ck_assert_int_eq(issue_react(&issue).event, ISSUE_EV_STUCK);
}
END_TEST

START_TEST(an_external_dependency_is_escalated)
{
    bring_to_merged();
    ck_assert(fail_smoke(SMOKE_REASON_EXTERNAL) && !write_pr("b2", "2"));
    ck_assert_int_eq(rule, ISSUE_RULE_EXTERNAL_DEPENDENCY);
    ck_assert_int_eq(issue.smoke_failures, 0);
    ck_assert_int_eq(issue_react(&issue).event, ISSUE_EV_ESCALATED);
    ck_assert(write_as(ISSUE_EV_ESCALATED, NULL) && !write_as(ISSUE_EV_APPROVED, NULL));
    ck_assert_int_eq(rule, ISSUE_RULE_STILL_ASSIGNED);
    ck_assert_int_eq(issue_react(&issue).event, ISSUE_EV_UNASSIGNED);
}
END_TEST

START_TEST(a_failed_ci_goes_back_to_the_pull_request)
{
    issue = (struct issue_life){0};
    ck_assert(write_as(ISSUE_EV_APPROVED, NULL) && write_as(ISSUE_EV_ASSIGNED, "a") &&
              write_as(ISSUE_EV_WORK_STARTED, "a") && write_pr("b1", "1") &&
              write_as(ISSUE_EV_CI_FAILED, NULL));
    ck_assert(!write_as(ISSUE_EV_CI_PASSED, NULL));
    ck_assert_int_eq(rule, ISSUE_RULE_CI_FAILED_BACK_TO_PR);
    ck_assert(write_pr("b1", "1") && write_as(ISSUE_EV_CI_PASSED, NULL));
}
END_TEST

START_TEST(dependencies_and_gates_hold_it_up)
{
    issue = (struct issue_life){0};
    ck_assert(write_as(ISSUE_EV_APPROVED, NULL));
    const struct issue_event assigned = {.kind = ISSUE_EV_ASSIGNED, .agent_id = "a"};
    ck_assert_int_eq(issue_step(&issue, &assigned, &(struct issue_facts){.open_dependencies = 1},
                                &arena, &issue, &rule),
                     RC_CONFLICT);
    ck_assert_int_eq(rule, ISSUE_RULE_DEPENDENCIES_OPEN);
    bring_to_merged();
    ck_assert(write_as(ISSUE_EV_GATE_TRIGGERED, NULL) &&
              !write_as(ISSUE_EV_DEPLOYED_STAGING, NULL));
    ck_assert_int_eq(rule, ISSUE_RULE_GATE_OPEN);
    const struct issue_event reminder = {.kind = ISSUE_EV_GATE_REMINDER, .period = 1};
    ck_assert(write_event(&reminder) && !write_event(&reminder));
    ck_assert_int_eq(rule, ISSUE_RULE_REMINDER_ONCE);
    ck_assert(write_as(ISSUE_EV_GATE_APPROVED, NULL) && !write_as(ISSUE_EV_GATE_APPROVED, NULL));
    ck_assert_int_eq(rule, ISSUE_RULE_NO_GATE);
}
END_TEST

START_TEST(writers_are_those_of_the_table)
{
    enum issue_writer writer = WRITER_COUNT;
    ck_assert(issue_writer_choose(ISSUE_EV_CI_PASSED, WRITERS(WRITER_CI), &writer));
    ck_assert_int_eq(writer, WRITER_CI);
    ck_assert(!issue_writer_choose(ISSUE_EV_APPROVED, WRITERS(WRITER_DEV_AGENT), &writer));
    ck_assert(!issue_writer_choose(ISSUE_EV_ASSIGNED, ~WRITERS(WRITER_CONDUCTOR), &writer));
    for (int i = 0; i < ISSUE_EV_COUNT; i++)
        ck_assert_uint_ne(issue_kind_writers((enum issue_kind)i), 0);
    char text[WRITERS_TEXT_BYTES];
    ck_assert_str_eq(issue_writers_text(issue_kind_writers(ISSUE_EV_CI_FAILED), text),
                     "dev-agent or ci");
}
END_TEST

/* ---- clocks ---- */

static const struct {
    const char *labels;
    int64_t minutes;
} slas[] = {
    {"", 45},
    {"[\"sla:45m\"]", 45},
    {"[\"cart\",\"sla:1h\"]", 60},
    {"[\"sla:2h\",\"sla:1h\"]", 120},
    {"[\"sla:\",\"sla:h\",\"sla:0m\",\"sla:-1m\",\"sla:1d\",\"sla:99999999h\"]", 45},
    {"[1, null]", 45},
    {"{", 45},
};

START_TEST(the_time_for_the_implementation_is_a_label)
{
    ck_assert_int_eq(issue_sla_of(str_of(slas[_i].labels)), slas[_i].minutes * US_PER_MINUTE);
}
END_TEST

START_TEST(clocks_run_while_their_stage_lasts)
{
    issue = (struct issue_life){.stage = STAGE_WORKING, .sla_us = 7, .stage_us = 90};
    issue.life.assigned_us = 100;
    ck_assert_int_eq(issue_clock_due(&issue, ISSUE_CLOCK_SLA, 0), 107);
    ck_assert_int_eq(issue_clock_due(&issue, ISSUE_CLOCK_CI, 0), 0);
    ck_assert_int_eq(issue_clock_due(&issue, ISSUE_CLOCK_SILENCE, 0), 100 + ISSUE_SILENCE_US);
    ck_assert_int_eq(issue_clock_due(&issue, ISSUE_CLOCK_SILENCE, 500), 500 + ISSUE_SILENCE_US);
    issue.stage = STAGE_IN_CI;
    ck_assert_int_eq(issue_clock_due(&issue, ISSUE_CLOCK_SLA, 0), 0);
    ck_assert_int_eq(issue_clock_due(&issue, ISSUE_CLOCK_CI, 0), 90 + ISSUE_CI_US);
    issue.gate_us = 1000;
    ck_assert_int_eq(issue_clock_due(&issue, ISSUE_CLOCK_GATE, 0), 1000 + ISSUE_GATE_US);
    issue.gate_period = 3;
    ck_assert_int_eq(issue_clock_due(&issue, ISSUE_CLOCK_GATE, 0), 1000 + 4 * ISSUE_GATE_US);
    ck_assert_int_eq(issue_gate_period(&issue, 1000 + 5 * ISSUE_GATE_US), 5);
    issue.stage = STAGE_DONE;
    ck_assert_int_eq(issue_clock_due(&issue, ISSUE_CLOCK_SILENCE, 0), 0);
}
END_TEST

Suite *issue_suite(void)
{
    Suite *suite = suite_create("issue");
    TCase *tc = tcase_create("issue");
    tcase_add_checked_fixture(tc, NULL, tear_down);
    tcase_add_loop_test(tc, every_stage_takes_exactly_the_listed_events, 0, STAGE_COUNT);
    tcase_add_test(tc, names_read_back);
    tcase_add_test(tc, done_needs_verified);
    tcase_add_test(tc, a_reassigned_issue_has_another_agent_and_a_fresh_branch);
    tcase_add_test(tc, smoke_failures_in_code_are_fixed_twice_in_new_pull_requests);
    tcase_add_test(tc, an_external_dependency_is_escalated);
    tcase_add_test(tc, a_failed_ci_goes_back_to_the_pull_request);
    tcase_add_test(tc, dependencies_and_gates_hold_it_up);
    tcase_add_test(tc, writers_are_those_of_the_table);
    tcase_add_loop_test(tc, the_time_for_the_implementation_is_a_label, 0, COUNT_OF(slas));
    tcase_add_test(tc, clocks_run_while_their_stage_lasts);
    suite_add_tcase(suite, tc);
    return suite;
}
