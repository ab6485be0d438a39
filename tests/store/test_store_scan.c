/*
 * test_store_scan.c - a listing with conditions looks at so many rows a call, and goes on.
 */
#include "core/event_types.h"
#include "store/dead_letters.h"
#include "store/events.h"
#include "tests/store/fixture.h"
#include "tests/unit/suites.h"
#include <string.h>

enum { JOBS = 40, EVERY = 13, WINDOW = 10 };

static void make_jobs(struct fixture *fixture, enum job_state state, struct id ids[JOBS])
{
    struct fixture f = *fixture;
    for (int i = 0; i < JOBS; i++) {
        struct job_row job = fixture_job(&f, i % EVERY == 0 ? "rare" : "often");
        ids[i] = job.id;
        job.life.state = state;
        job.life.dead_reason = state == JOB_DEAD_LETTER ? DEAD_REJECTED : DEAD_NONE;
        must(jobs_insert(f.db, &job, &f.err));
    }
    *fixture = f;
}

/* Follows the scan to its end: how many calls, and how many of them gave no rows. */
struct walked {
    int calls, empty;
    size_t found;
    struct id ids[JOBS];
};

static void walked_add(struct walked *walked, const struct id *id)
{
    walked->ids[walked->found++] = *id;
}

START_TEST(a_filter_without_an_index_looks_at_a_window)
{
    FIXTURE(f);
    struct id ids[JOBS];
    make_jobs(&f, JOB_QUEUED, ids);
    struct walked walked = {0};
    struct scan scan = {.rows_max = WINDOW};
    struct job_filter filter = {.queue = "rare", .state = -1, .limit = 5, .scan = &scan};
    do {
        struct job_row *rows;
        size_t count;
        must(jobs_list(f.db, &filter, &f.arena, &rows, &count, &f.err));
        for (size_t i = 0; i < count; i++)
            walked_add(&walked, &rows[i].id);
        walked.calls++;
        walked.empty += count == 0;
        filter.before = scan.end;
    } while (!id_is_none(&scan.end) && walked.calls < 100);
    /* 40 rows in windows of ten: the last one is exactly full. */
    ck_assert_int_ge(walked.calls, 4);
    ck_assert_int_le(walked.calls, 5);
    ck_assert_uint_eq(walked.found, 4);
    for (int i = 0; i < 4; i++)
        ck_assert_id_eq(walked.ids[i], ids[EVERY * (3 - i)]);
}
END_TEST

START_TEST(without_conditions_nothing_is_cut)
{
    FIXTURE(f);
    struct id ids[JOBS];
    make_jobs(&f, JOB_QUEUED, ids);
    struct scan scan = {.rows_max = WINDOW, .end = ids[0]};
    struct job_filter filter = {.state = -1, .limit = JOBS + 1, .scan = &scan};
    struct job_row *rows;
    size_t count;
    must(jobs_list(f.db, &filter, &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, JOBS);
    ck_assert(id_is_none(&scan.end));
    filter.queue = "rare";
    filter.scan = NULL;
    must(jobs_list(f.db, &filter, &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 4);
}
END_TEST

START_TEST(dead_letters_are_looked_at_in_windows_too)
{
    FIXTURE(f);
    struct id ids[JOBS];
    make_jobs(&f, JOB_DEAD_LETTER, ids);
    size_t found = 0;
    int calls = 0;
    struct scan scan = {.rows_max = WINDOW};
    struct dead_filter filter = {.queue = "rare", .archived = DEAD_BOTH, .scan = &scan};
    struct id before = {0};
    do {
        struct dead_row *rows;
        size_t count;
        must(dead_letters_list(f.db, &filter, &before, 5, &f.arena, &rows, &count, &f.err));
        found += count;
        before = scan.end;
        calls++;
    } while (!id_is_none(&scan.end) && calls < 100);
    ck_assert_uint_eq(found, 4);
    ck_assert_int_ge(calls, 4);
}
END_TEST

START_TEST(runs_and_tasks_with_two_conditions_are_looked_at_in_windows)
{
    FIXTURE(f);
    for (int i = 0; i < 25; i++) {
        struct task_row task = fixture_task(&f);
        (void)fixture_run(&f, &task);
    }
    struct scan scan = {.rows_max = WINDOW};
    struct run_filter runs = {
        .repository = "acme/billing", .status = RUN_FAILED, .limit = 5, .scan = &scan};
    struct task_filter tasks = {
        .repository = "acme/billing", .status = TASK_FAILED, .limit = 5, .scan = &scan};
    int run_calls = 0, task_calls = 0;
    size_t count;
    do {
        struct run_row *rows;
        must(runs_list(f.db, &runs, &f.arena, &rows, &count, &f.err));
        ck_assert_uint_eq(count, 0);
        runs.before = scan.end;
    } while (!id_is_none(&scan.end) && ++run_calls < 100);
    do {
        struct task_row *rows;
        must(tasks_list(f.db, &tasks, &f.arena, &rows, &count, &f.err));
        ck_assert_uint_eq(count, 0);
        tasks.before = scan.end;
    } while (!id_is_none(&scan.end) && ++task_calls < 100);
    ck_assert_int_eq(run_calls, 2);
    ck_assert_int_eq(task_calls, 2);
}
END_TEST

/* ---- events ---- */

enum { EVENTS = 35 };

static void tell(struct fixture *fixture, const struct run_row *run, int64_t run_seq)
{
    struct fixture f = *fixture;
    struct event event = {
        .id = fixture_id(&f),
        .type = run_seq == EVENTS - 1 ? EV_PR_CREATED : EV_TOOL_CALL_STARTED,
        .version = 1,
        .workspace_id = f.workspace_id,
        .task_id = run->task_id,
        .run_id = run->id,
        .time_us = 1000 + run_seq,
        .run_seq = run_seq,
        .actor = {"worker", "w"},
        .data = STR("{}"),
    };
    must(events_append(f.db, &event, &f.err));
    *fixture = f;
}

/* The number of calls until the one event of the filter is found; the first ones are empty. */
static int calls_until_found(struct fixture *fixture, struct event_filter filter)
{
    struct fixture f = *fixture;
    struct scan scan = {.rows_max = WINDOW};
    struct event *events;
    size_t count = 0;
    int calls = 0;
    filter.limit = 2;
    filter.scan = &scan;
    do {
        must(events_list(f.db, &filter, &f.arena, &events, &count, &f.err));
        filter.after_seq = scan.end_seq;
        calls++;
    } while (count == 0 && scan.end_seq > 0 && calls < 100);
    ck_assert_uint_eq(count, 1);
    ck_assert_str_eq(events[0].type, EV_PR_CREATED);
    *fixture = f;
    return calls;
}

START_TEST(events_are_looked_at_in_windows)
{
    FIXTURE(f);
    struct task_row task = fixture_task(&f);
    struct run_row run = fixture_run(&f, &task);
    for (int i = 1; i <= EVENTS; i++)
        tell(&f, &run, i);
    struct event_filter by_type = {.type_pattern = "agent.pr.*"};
    ck_assert_int_eq(calls_until_found(&f, by_type), 4);
    by_type.task_id = task.id;
    ck_assert_int_eq(calls_until_found(&f, by_type), 4);
    by_type = (struct event_filter){.type_pattern = "agent.pr.*", .run_id = run.id};
    ck_assert_int_eq(calls_until_found(&f, by_type), 4);
    by_type.with_task = true;
    ck_assert_int_eq(calls_until_found(&f, by_type), 4);
    struct event_filter by_time = {.since_us = 1000 + EVENTS - 1, .until_us = 1000 + EVENTS};
    ck_assert_int_eq(calls_until_found(&f, by_time), 4);
}
END_TEST

START_TEST(a_scan_that_reached_the_end_of_the_log_says_so)
{
    FIXTURE(f);
    struct task_row task = fixture_task(&f);
    struct run_row run = fixture_run(&f, &task);
    for (int i = 1; i <= EVENTS; i++)
        tell(&f, &run, i);
    struct scan scan = {.rows_max = WINDOW};
    struct event_filter filter = {.type_pattern = "agent.nothing.*", .limit = 2, .scan = &scan};
    struct event *events;
    size_t count;
    int calls = 0;
    do {
        must(events_list(f.db, &filter, &f.arena, &events, &count, &f.err));
        ck_assert_uint_eq(count, 0);
        filter.after_seq = scan.end_seq;
    } while (scan.end_seq > 0 && ++calls < 100);
    ck_assert_int_eq(calls, 3);
}
END_TEST

/* Times are found by their index, not by walking to them. */
START_TEST(events_of_an_hour_are_found_without_those_of_other_days)
{
    FIXTURE(f);
    const int64_t hour_us = 3600 * INT64_C(1000000);
    struct scan scan = {.rows_max = WINDOW};
    for (int i = 0; i < 3 * EVENTS; i++) {
        struct event event = {.id = fixture_id(&f),
                              .type = EV_QUEUE_PAUSED,
                              .version = 1,
                              .workspace_id = f.workspace_id,
                              .time_us = i * hour_us,
                              .actor = {"system", "s"},
                              .data = STR("{}")};
        must(events_append(f.db, &event, &f.err));
    }
    struct event_filter filter = {
        .since_us = 90 * hour_us, .until_us = 92 * hour_us, .limit = 10, .scan = &scan};
    struct event *events;
    size_t count;
    must(events_list(f.db, &filter, &f.arena, &events, &count, &f.err));
    ck_assert_uint_eq(count, 2);
    ck_assert_int_eq(scan.end_seq, 0);
}
END_TEST

Suite *store_scan_suite(void)
{
    Suite *suite = suite_create("store_scan");
    TCase *tc = tcase_create("store_scan");
    tcase_set_timeout(tc, 120);
    case_add(tc, a_filter_without_an_index_looks_at_a_window);
    case_add(tc, without_conditions_nothing_is_cut);
    case_add(tc, dead_letters_are_looked_at_in_windows_too);
    case_add(tc, runs_and_tasks_with_two_conditions_are_looked_at_in_windows);
    case_add(tc, events_are_looked_at_in_windows);
    case_add(tc, a_scan_that_reached_the_end_of_the_log_says_so);
    case_add(tc, events_of_an_hour_are_found_without_those_of_other_days);
    suite_add_tcase(suite, tc);
    return suite;
}
