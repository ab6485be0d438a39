/*
 * test_store_issue_events.c - issues in the log: what the view, the queries over it that people
 * write, and the fold answer, on each engine.
 */
#include "base/clock.h"
#include "core/conductor/lifecycle.h"
#include "store/issue_events.h"
#include "store/query.h"
#include "tests/store/fixture.h"
#include <string.h>

#define START INT64_C(1774706400000000) /* 2026-03-28 14:00 */

struct step {
    int issue; /* Its number: also that of its correlation. */
    const char *type;
    const char *agent;
    int64_t minute;
};

/* Two issues, the first with an agent that was taken off; the third is not done. */
static const struct step steps[] = {
    {42, "conductor.issue.approved", NULL, 0},     {42, "conductor.issue.assigned", "slow", 5},
    {43, "conductor.issue.approved", NULL, 6},     {43, "conductor.issue.assigned", "quick", 10},
    {42, "conductor.agent.stuck", "slow", 20},     {42, "conductor.issue.unassigned", "slow", 21},
    {42, "conductor.issue.assigned", "quick", 22}, {43, "conductor.verified", "quick", 28},
    {43, "conductor.issue.done", "quick", 30},     {44, "conductor.issue.approved", NULL, 40},
    {44, "conductor.issue.assigned", "slow", 41},  {42, "conductor.verified", "quick", 61},
    {42, "conductor.issue.done", "quick", 62},     {44, "conductor.pr.created", "slow", 65},
};

static void append(struct fixture *fixture, const struct event *event)
{
    struct fixture f = *fixture;
    must(events_append(f.db, event, &f.err));
}

static void append_steps(struct fixture *f)
{
    struct id correlations[3] = {fixture_id(f), fixture_id(f), fixture_id(f)};
    for (size_t i = 0; i < COUNT_OF(steps); i++) {
        const struct step *step = &steps[i];
        const char *agent = step->agent == NULL
                                ? ""
                                : arena_printf(&f->arena, ", \"agentId\": \"%s\"", step->agent);
        const struct event event = {
            .id = fixture_id(f),
            .type = step->type,
            .version = 1,
            .time_us = START + step->minute * US_PER_MINUTE,
            .correlation_id = correlations[step->issue - 42],
            .actor = {"system", "conductor"},
            .data = str_of(arena_printf(&f->arena, "{\"issueId\": \"%d\"%s}", step->issue, agent)),
        };
        append(f, &event);
    }
}

static struct lifecycle fold(struct fixture *fixture, const char *issue, size_t *ret_count)
{
    struct fixture f = *fixture;
    struct lifecycle life = {0};
    struct event *events;
    const struct issue_page page = {.issue_id = issue, .limit = 100};
    must(issue_events_list(f.db, &page, &fixture->arena, &events, ret_count, &f.err));
    for (size_t i = 0; i < *ret_count; i++) {
        const struct lifecycle_event event = issue_event_of(&events[i], &fixture->arena);
        lifecycle_apply(&life, &event, &fixture->arena);
    }
    return life;
}

START_TEST(an_issue_is_folded_from_its_events)
{
    FIXTURE(f);
    size_t count;
    append_steps(&f);
    struct lifecycle life = fold(&f, "42", &count);
    ck_assert_uint_eq(count, 7);
    ck_assert_str_eq(life.status, "ISSUE_DONE");
    ck_assert_str_eq(life.assigned_to, "quick");
    ck_assert_int_eq(lifecycle_duration_us(&life), 62 * US_PER_MINUTE);
    ck_assert_int_eq(life.reassignments, 1);
    life = fold(&f, "44", &count);
    ck_assert_str_eq(life.status, "PR_CREATED");
    ck_assert_int_eq(lifecycle_duration_us(&life), -1);
    ck_assert_int_eq(life.reassignments, 0);
    (void)fold(&f, "4", &count);
    ck_assert_uint_eq(count, 0);
}
END_TEST

START_TEST(events_of_the_same_correlation_and_of_clients_count_too)
{
    FIXTURE(f);
    size_t count;
    struct event event = {
        .id = fixture_id(&f),
        .type = "conductor.issue.approved",
        .version = 1,
        .time_us = START,
        .correlation_id = fixture_id(&f),
        .actor = {"system", "conductor"},
        .data = STR("{\"issueId\": 7}"), /* A number is as good as a text. */
    };
    append(&f, &event);
    event.id = fixture_id(&f);
    event.type = "agent.run.started";
    event.data = STR("{}");
    append(&f, &event);
    event.id = fixture_id(&f);
    event.type = "com.example.ci-failed";
    event.correlation_id = (struct id){0};
    event.data = STR("{\"issueId\": \"7\"}");
    append(&f, &event);
    event.id = fixture_id(&f);
    event.data = STR("{\"about\": {\"issueId\": \"7\"}}"); /* Not its own. */
    append(&f, &event);
    struct lifecycle life = fold(&f, "7", &count);
    ck_assert_uint_eq(count, 3);
    ck_assert_str_eq(life.status, "CI_FAILED");
}
END_TEST

START_TEST(agents_are_ranked_by_their_average)
{
    FIXTURE(f);
    struct agent_work *work;
    size_t count;
    bool all;
    append_steps(&f);
    must(issue_events_work(f.db, &f.arena, &work, &count, &all, &f.err));
    ck_assert(all && count == 1); /* "slow" has finished none. */
    ck_assert_str_eq(work[0].agent_id, "quick");
    ck_assert_int_eq(work[0].issues, 2);
    ck_assert_int_eq(work[0].total_us, (20 + 40) * US_PER_MINUTE);
}
END_TEST

/* ---- queries of people ---- */

static const struct sql sql_status = {
    "test_status",
    "SELECT type, actor, created_at FROM events"
    " WHERE correlation_id = ("
    "  SELECT correlation_id FROM events"
    "  WHERE data->>'issueId' = '42' LIMIT 1"
    " )"
    " ORDER BY created_at DESC LIMIT 1",
    "",
};
static const struct sql sql_outage = {
    "test_outage",
    "SELECT type, actor, data, created_at FROM events"
    " WHERE created_at BETWEEN '2026-03-28 14:00' AND '2026-03-28 15:00'"
    " ORDER BY created_at",
    "",
};
#define DURATION(difference)                                               \
    "SELECT (" difference ") AS duration FROM events approved"             \
    " JOIN events done ON approved.correlation_id = done.correlation_id"   \
    " WHERE approved.type = 'ISSUE_APPROVED' AND done.type = 'ISSUE_DONE'" \
    " ORDER BY 1"
#define EFFICIENCY(difference)                                                   \
    "SELECT assigned.data->>'agentId' AS agent, AVG(" difference ") AS avg_time" \
    " FROM events assigned"                                                      \
    " JOIN events done ON assigned.correlation_id = done.correlation_id"         \
    " WHERE assigned.type = 'ISSUE_ASSIGNED' AND done.type = 'ISSUE_DONE'"       \
    " AND NOT EXISTS ("                                                          \
    "  SELECT 1 FROM events un"                                                  \
    "  WHERE un.correlation_id = assigned.correlation_id"                        \
    "  AND un.type = 'ISSUE_UNASSIGNED'"                                         \
    "  AND un.created_at > assigned.created_at)"                                 \
    " GROUP BY agent ORDER BY avg_time"
#define DAYS(a, b) "julianday(" a ".created_at) - julianday(" b ".created_at)"
static const struct sql sql_duration[] = {
    {"test_duration", DURATION("done.created_at - approved.created_at"), ""},
    {"test_duration_days", DURATION("round((" DAYS("done", "approved") ") * 1440)"), ""},
};
static const struct sql sql_efficiency[] = {
    {"test_efficiency", EFFICIENCY("done.created_at - assigned.created_at"), ""},
    {"test_efficiency_days", EFFICIENCY("(" DAYS("done", "assigned") ") * 1440"), ""},
};

START_TEST(the_status_of_an_issue_is_its_last_event)
{
    FIXTURE(f);
    append_steps(&f);
    CLEANUP(rows_end) struct rows rows = {0};
    must(db_query(f.db, &sql_status, NULL, 0, &rows, &f.err));
    must(rows_next(&rows, &f.err));
    ck_assert_str_eq(row_text(&rows, 0), "ISSUE_DONE");
    ck_assert_str_eq(row_text(&rows, 1), "system:conductor");
    must_be(RC_NOT_FOUND, rows_next(&rows, &f.err));
}
END_TEST

START_TEST(durations_are_differences_of_times)
{
    FIXTURE(f);
    bool days = _i != ENGINE_POSTGRES;
    append_steps(&f);
    CLEANUP(rows_end) struct rows rows = {0};
    must(db_query(f.db, &sql_duration[days], NULL, 0, &rows, &f.err));
    must(rows_next(&rows, &f.err));
    ck_assert_str_eq(row_text(&rows, 0), days ? "24.0" : "00:24:00");
    must(rows_next(&rows, &f.err));
    ck_assert_str_eq(row_text(&rows, 0), days ? "62.0" : "01:02:00");
    must_be(RC_NOT_FOUND, rows_next(&rows, &f.err));
}
END_TEST

START_TEST(the_most_efficient_agent_is_found)
{
    FIXTURE(f);
    bool days = _i != ENGINE_POSTGRES;
    append_steps(&f);
    CLEANUP(rows_end) struct rows rows = {0};
    must(db_query(f.db, &sql_efficiency[days], NULL, 0, &rows, &f.err));
    must(rows_next(&rows, &f.err));
    ck_assert_str_eq(row_text(&rows, 0), "quick");
    if (days)
        ck_assert(row_real(&rows, 1) > 29.99 && row_real(&rows, 1) < 30.01);
    else
        ck_assert_str_eq(row_text(&rows, 1), "00:30:00");
    must_be(RC_NOT_FOUND, rows_next(&rows, &f.err));
}
END_TEST

START_TEST(what_happened_between_two_times_is_found)
{
    FIXTURE(f);
    append_steps(&f);
    CLEANUP(rows_end) struct rows rows = {0};
    size_t want = 0;
    enum rc rc;
    must(db_query(f.db, &sql_outage, NULL, 0, &rows, &f.err));
    for (; (rc = rows_next(&rows, &f.err)) == RC_OK; want++)
        ck_assert_msg(strstr(row_text(&rows, 2), "issueId") != NULL, "%s", row_text(&rows, 2));
    must_be(RC_NOT_FOUND, rc);
    size_t in_time = 0;
    for (size_t i = 0; i < COUNT_OF(steps); i++)
        in_time += steps[i].minute <= 60;
    ck_assert_uint_eq(want, in_time);
}
END_TEST

/* ---- the plans ---- */

static const struct sql sql_explain[] = {
    {"test_explain_issue",
     "EXPLAIN SELECT correlation_id FROM events WHERE data->>'issueId' = '42' LIMIT 1", ""},
    {"test_explain_correlation",
     "EXPLAIN SELECT type FROM events"
     " WHERE correlation_id = '01a1e111-4280-788b-8f9d-658fd086a1f4'",
     ""},
};
static const struct sql sql_no_scan = {
    "test_no_scan",
    "SELECT set_config('enable_seqscan', 'off', false)",
    "",
};

/* Also in a database that is too small for it to be worth the while. */
START_TEST(issue_and_correlation_have_an_index)
{
    FIXTURE(f);
    static const char *const names[] = {"event_log_data_issue", "event_log_correlation"};
    if (_i != ENGINE_POSTGRES)
        return;
    append_steps(&f);
    CLEANUP(rows_end) struct rows off = {0};
    must(db_query(f.db, &sql_no_scan, NULL, 0, &off, &f.err));
    must(rows_next(&off, &f.err));
    rows_end(&off);
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        CLEANUP(rows_end) struct rows rows = {0};
        bool used = false;
        must(db_query(f.db, &sql_explain[i], NULL, 0, &rows, &f.err));
        while (rows_next(&rows, &f.err) == RC_OK)
            used |= strstr(row_text(&rows, 0), names[i]) != NULL;
        ck_assert_msg(used, "%s", names[i]);
    }
}
END_TEST

Suite *store_issue_events_suite(void)
{
    Suite *suite = suite_create("store_issue_events");
    TCase *tc = tcase_create("issue events");
    case_add(tc, an_issue_is_folded_from_its_events);
    case_add(tc, events_of_the_same_correlation_and_of_clients_count_too);
    case_add(tc, agents_are_ranked_by_their_average);
    case_add(tc, the_status_of_an_issue_is_its_last_event);
    case_add(tc, durations_are_differences_of_times);
    case_add(tc, the_most_efficient_agent_is_found);
    case_add(tc, what_happened_between_two_times_is_found);
    case_add(tc, issue_and_correlation_have_an_index);
    suite_add_tcase(suite, tc);
    return suite;
}
