/*
 * test_breakers.c - breakers at work: jobs with a dependency are let through, put off, moved or
 * answered; probes are counted from what is out on lease; the forge has a breaker.
 */
#include "control/admit/repositories.h"
#include "control/queue/breakers.h"
#include "control/queue/enqueue.h"
#include "control/queue/lease.h"
#include "core/event_types.h"
#include "tests/unit/lab.h"
#include <check.h>
#include <string.h>

static struct lab lab;

static void setup(void)
{
    lab_open(&lab, NULL);
}

static void teardown(void)
{
    lab_check(&lab);
    lab_close(&lab);
}

/* ---- helpers ---- */

static struct id put_job(struct job_spec spec)
{
    struct cmd_enqueue *cmd = cmd_enqueue_new();
    if (spec.queue == NULL)
        spec.queue = "calls";
    spec.type = "call";
    spec.payload = STR("{}");
    if (spec.dependency == NULL)
        spec.dependency = "vendor";
    cmd->jobs = &spec;
    cmd->count = 1;
    ck_assert_msg(lab_call(&lab, &cmd->base) == RC_OK, "%s", cmd->base.err.text);
    struct id id = cmd->answers[0].id;
    command_free(&cmd->base);
    return id;
}

static void put_jobs(int count)
{
    for (int i = 0; i < count; i++)
        put_job((struct job_spec){0});
}

static struct job_row load_job(const struct id *id)
{
    struct job_row job;
    ck_assert_int_eq(jobs_get(lab.db, id, &lab.arena, &job, NULL), RC_OK);
    return job;
}

static struct breaker_row load_breaker(const char *name)
{
    struct breaker_row row;
    ck_assert_int_eq(breakers_get(lab.db, name, &lab.arena, &row, NULL), RC_OK);
    return row;
}

static void set_rules(const char *name, const char *json)
{
    struct cmd_breaker *cmd = cmd_breaker_set_new();
    cmd->name = name;
    cmd->config = str_of(json);
    ck_assert_msg(lab_call(&lab, &cmd->base) == RC_OK, "%s", cmd->base.err.text);
    command_free(&cmd->base);
}

static void by_hand(struct cmd_breaker *cmd, const char *name)
{
    cmd->name = name;
    ck_assert_msg(lab_call(&lab, &cmd->base) == RC_OK, "%s", cmd->base.err.text);
    command_free(&cmd->base);
}

static size_t take(struct job_row **ret_jobs)
{
    return lab_lease(&lab, "calls", "w/0", ret_jobs);
}

/* Five calls fail: the breaker "vendor" opens. */
static void break_vendor(void)
{
    put_jobs(5);
    struct job_row *jobs;
    ck_assert_uint_eq(take(&jobs), 5);
    for (int i = 0; i < 5; i++)
        ck_assert(lab_fail(&lab, &jobs[i], "vendor_down", true).ok);
    ck_assert_int_eq(load_breaker("vendor").life.state, BREAKER_OPEN);
}

/* The changes of a breaker so far, as "OHC". */
static const char *changes(void)
{
    struct event_filter filter = {.limit = 1000};
    struct event *events;
    size_t count, told = 0;
    ck_assert_int_eq(events_list(lab.db, &filter, &lab.arena, &events, &count, NULL), RC_OK);
    char *text = arena_alloc(&lab.arena, count + 1);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(events[i].type, EV_BREAKER_OPENED) == 0)
            text[told++] = 'O';
        if (strcmp(events[i].type, EV_BREAKER_HALF_OPENED) == 0)
            text[told++] = 'H';
        if (strcmp(events[i].type, EV_BREAKER_CLOSED) == 0)
            text[told++] = 'C';
    }
    return text;
}

/* ---- jobs ---- */

START_TEST(an_open_breaker_lets_nothing_through_and_costs_no_attempt)
{
    break_vendor();
    struct id id = put_job((struct job_spec){0});
    struct id free_id = put_job((struct job_spec){.dependency = "other"});
    struct job_row before = load_job(&id), *jobs;
    ck_assert_uint_eq(take(&jobs), 1);
    ck_assert_str_eq(jobs[0].id.text, free_id.text);
    lab_finish(&lab, &jobs[0], "{}");
    struct job_row held = load_job(&id);
    ck_assert_int_eq(held.life.state, JOB_SCHEDULED);
    ck_assert_int_eq(held.life.due_us, load_breaker("vendor").life.open_until_us);
    ck_assert_int_eq(held.life.attempt, 0);
    ck_assert_int_eq(held.life.epoch, 0);
    ck_assert_int_eq(held.rank, before.rank);
    ck_assert_uint_eq(take(&jobs), 0);
    lab_pass_ms(&lab, 59999);
    ck_assert_uint_eq(take(&jobs), 0);
}
END_TEST

START_TEST(probes_go_out_by_themselves_and_close_it)
{
    break_vendor();
    put_jobs(3);
    struct job_row *jobs, *none;
    ck_assert_uint_eq(take(&jobs), 0);
    lab_pass_ms(&lab, 60000);
    ck_assert_uint_eq(take(&jobs), 3);
    ck_assert_int_eq(load_breaker("vendor").life.state, BREAKER_HALF_OPEN);
    ck_assert_uint_eq(take(&none), 0);
    for (int i = 0; i < 3; i++)
        lab_finish(&lab, &jobs[i], "{}");
    ck_assert_int_eq(load_breaker("vendor").life.state, BREAKER_CLOSED);
    lab_pass_ms(&lab, 2000);
    ck_assert_uint_eq(take(&jobs), 5);
    ck_assert_str_eq(changes(), "OHC");
}
END_TEST

START_TEST(a_probe_that_fails_opens_it_for_as_long_again)
{
    break_vendor();
    struct job_row *jobs;
    lab_pass_ms(&lab, 60000);
    ck_assert_uint_eq(take(&jobs), 3);
    ck_assert(lab_fail(&lab, &jobs[0], "vendor_down", true).ok);
    struct breaker_row row = load_breaker("vendor");
    ck_assert_int_eq(row.life.state, BREAKER_OPEN);
    ck_assert_int_eq(row.life.open_until_us, lab.now_us + 60 * US_PER_SECOND);
    ck_assert_int_eq(row.life.trips, 2);
    ck_assert_str_eq(row.last_error, "vendor_down: it broke");
    lab_finish(&lab, &jobs[1], "{}"); /* Says nothing any more. */
    ck_assert_int_eq(load_breaker("vendor").life.state, BREAKER_OPEN);
    ck_assert_str_eq(changes(), "OHO");
}
END_TEST

START_TEST(a_probe_whose_worker_dies_makes_room_for_another)
{
    break_vendor();
    struct job_row *jobs, *more;
    lab_pass_ms(&lab, 60000);
    ck_assert_uint_eq(take(&jobs), 3);
    lab_pass_ms(&lab, 5000);
    ck_assert_uint_eq(take(&more), 0);
    lab_pass_ms(&lab, 15000); /* The leases run out. */
    ck_assert_int_eq(load_breaker("vendor").life.state, BREAKER_HALF_OPEN);
    ck_assert_uint_eq(take(&more), 3);
    ck_assert_int_eq(more[0].life.attempt, 1); /* Its failure before; a loss is none. */
}
END_TEST

START_TEST(failures_of_the_jobs_own_do_not_count)
{
    put_jobs(8);
    struct job_row *jobs;
    ck_assert_uint_eq(take(&jobs), 8);
    for (int i = 0; i < 8; i++)
        ck_assert(lab_fail(&lab, &jobs[i], "bad_request", false).ok);
    struct breaker_row row;
    ck_assert_int_eq(breakers_get(lab.db, "vendor", &lab.arena, &row, NULL), RC_NOT_FOUND);
}
END_TEST

START_TEST(a_held_head_keeps_its_key)
{
    break_vendor();
    struct id first = put_job((struct job_spec){.ordering_key = "k"});
    struct id second = put_job((struct job_spec){.ordering_key = "k"});
    struct job_row *jobs;
    ck_assert_uint_eq(take(&jobs), 0);
    ck_assert_int_eq(load_job(&first).life.state, JOB_SCHEDULED);
    ck_assert_int_eq(load_job(&second).life.state, JOB_BLOCKED);
    by_hand(cmd_breaker_reset_new(), "vendor");
    lab_pass_ms(&lab, 0);
    ck_assert_uint_eq(take(&jobs), 1);
    ck_assert_str_eq(jobs[0].id.text, first.text);
    lab_finish(&lab, &jobs[0], "{}");
    ck_assert_uint_eq(take(&jobs), 1);
    ck_assert_str_eq(jobs[0].id.text, second.text);
}
END_TEST

START_TEST(a_lease_holds_back_a_bounded_number_and_does_not_wait)
{
    break_vendor();
    put_jobs(LEASE_HELD_MAX + 6);
    struct cmd_lease *lease = cmd_lease_new();
    static const char *const queues[] = {"calls", NULL};
    lease->queues = queues;
    lease->worker = "w/1";
    lease->max = 10;
    lease->wait_us = 30 * US_PER_SECOND;
    lease->lease_us = US_PER_SECOND;
    ck_assert_int_eq(lab_call(&lab, &lease->base), RC_OK);
    ck_assert_uint_eq(lease->job_count, 0);
    ck_assert_uint_eq(lease->held, LEASE_HELD_MAX);
    command_free(&lease->base);
    struct queue_counts *counts;
    size_t count;
    ck_assert_int_eq(jobs_count(lab.db, &lab.arena, &counts, &count, NULL), RC_OK);
    ck_assert_int_eq(counts[0].by_state[JOB_QUEUED], 6);
}
END_TEST

START_TEST(a_reset_lets_held_jobs_go_at_once)
{
    break_vendor();
    struct id id = put_job((struct job_spec){0});
    struct job_row *jobs;
    ck_assert_uint_eq(take(&jobs), 0);
    by_hand(cmd_breaker_reset_new(), "vendor");
    lab_pass_ms(&lab, 0);
    ck_assert_uint_eq(take(&jobs), 1);
    ck_assert_str_eq(jobs[0].id.text, id.text);
    ck_assert_str_eq(changes(), "OC");
}
END_TEST

/* ---- fallbacks ---- */

START_TEST(jobs_go_to_the_alternative_queue)
{
    set_rules("vendor", "{\"fallback\":\"alternative\",\"alternativeQueue\":\"spare\"}");
    break_vendor();
    struct id plain = put_job((struct job_spec){0});
    struct id keyed = put_job((struct job_spec){.ordering_key = "k"});
    struct id named = put_job((struct job_spec){.dedup_key = "d"});
    struct job_row *jobs;
    ck_assert_uint_eq(take(&jobs), 0);
    ck_assert_int_eq(load_job(&keyed).life.state, JOB_SCHEDULED);
    ck_assert_int_eq(load_job(&named).life.state, JOB_SCHEDULED);
    ck_assert_uint_eq(lab_lease(&lab, "spare", "w/1", &jobs), 1);
    ck_assert_str_eq(jobs[0].id.text, plain.text);
    ck_assert_int_eq(load_job(&plain).life.attempt, 0);
    lab_finish(&lab, &jobs[0], "{}");
    ck_assert_int_eq(load_breaker("vendor").life.state, BREAKER_OPEN);
}
END_TEST

START_TEST(jobs_are_answered_with_the_default)
{
    set_rules("vendor", "{\"fallback\":\"default\",\"defaultResult\":{\"price\":null}}");
    break_vendor();
    struct id id = put_job((struct job_spec){.ordering_key = "k"});
    struct id next = put_job((struct job_spec){.ordering_key = "k", .dependency = "other"});
    struct job_row *jobs;
    ck_assert_uint_eq(take(&jobs), 1);
    ck_assert_str_eq(jobs[0].id.text, next.text);
    struct job_row job = load_job(&id);
    ck_assert_int_eq(job.life.state, JOB_SUCCEEDED);
    ck_assert(str_is(job.result, "{\"price\":null}"));
    ck_assert_str_eq(job.worker, FALLBACK_WORKER);
    struct breaker_row row = load_breaker("vendor");
    ck_assert_int_eq(row.life.state, BREAKER_OPEN);
    ck_assert_int_eq(row.life.successes, 0);
}
END_TEST

/* ---- others ---- */

static struct breaker_verdict acquire(const char *name)
{
    struct cmd_breaker *cmd = cmd_breaker_acquire_new();
    cmd->name = name;
    ck_assert_int_eq(lab_call(&lab, &cmd->base), RC_OK);
    struct breaker_verdict verdict = cmd->verdict;
    command_free(&cmd->base);
    return verdict;
}

static void report(const char *name, bool ok)
{
    struct cmd_breaker *cmd = cmd_breaker_report_new();
    cmd->name = name;
    cmd->ok = ok;
    cmd->error = "timeout";
    ck_assert_int_eq(lab_call(&lab, &cmd->base), RC_OK);
    command_free(&cmd->base);
}

START_TEST(others_ask_and_tell)
{
    ck_assert(acquire("api").allowed);
    for (int i = 0; i < 5; i++)
        report("api", false);
    struct breaker_verdict denied = acquire("api");
    ck_assert(!denied.allowed);
    ck_assert_int_eq(denied.state, BREAKER_OPEN);
    ck_assert_int_eq(denied.wait_us, 60 * US_PER_SECOND);
    lab_pass_ms(&lab, 60000);
    for (int i = 0; i < 3; i++)
        ck_assert(acquire("api").allowed);
    ck_assert(!acquire("api").allowed);
    for (int i = 0; i < 3; i++)
        report("api", true);
    ck_assert_int_eq(acquire("api").state, BREAKER_CLOSED);
    ck_assert_str_eq(changes(), "OHC");
}
END_TEST

START_TEST(a_reset_of_what_nobody_knows_is_refused)
{
    struct cmd_breaker *cmd = cmd_breaker_reset_new();
    cmd->name = "typo";
    ck_assert_int_eq(lab_call(&lab, &cmd->base), RC_NOT_FOUND);
    command_free(&cmd->base);
}
END_TEST

/* ---- the forge ---- */

static const struct {
    const char *url, *dependency;
} forges[] = {
    {"/srv/git/x.git", "forge:local/acme/billing"},
    {"file:///srv/git/x.git", "forge:local/acme/billing"},
    {"https://github.com/acme/billing.git", "forge:github.com"},
    {"https://git.example.com:8443/x", "forge:git.example.com:8443"},
    {"ssh://git@git.example.com/x", "forge:git.example.com"},
    {"git@github.com:acme/billing.git", "forge:github.com"},
};

START_TEST(steps_that_call_the_forge_depend_on_its_host)
{
    struct cmd_repository_put *put = cmd_repository_put_new();
    put->name = "acme/billing";
    put->config = str_of(arena_printf(
        &lab.arena, "{\"url\":\"%s\",\"agent\":{\"command\":[\"./agent\"]}}", forges[_i].url));
    ck_assert_msg(lab_call(&lab, &put->base) == RC_OK, "%s", put->base.err.text);
    command_free(&put->base);
    lab_submit(&lab, "acme/billing");
    struct job_row taken = lab_take(&lab, "prepare"), job = load_job(&taken.id);
    ck_assert_str_eq(job.dependency, forges[_i].dependency);
}
END_TEST

START_TEST(a_forge_that_is_away_holds_its_steps_and_no_others)
{
    lab_repository(&lab, "acme/billing", NULL);
    lab_repository(&lab, "acme/other", NULL);
    set_rules("forge:local/acme/billing", "{\"failures\":1,\"openMs\":5000,\"successes\":1}");
    struct id run_id = lab_submit(&lab, "acme/billing");
    struct job_row job = lab_take(&lab, "prepare");
    ck_assert(lab_fail(&lab, &job, "repository_unreachable", true).ok);
    ck_assert_int_eq(load_breaker("forge:local/acme/billing").life.state, BREAKER_OPEN);
    lab_pass_ms(&lab, 3000);
    struct job_row *jobs;
    ck_assert_uint_eq(lab_lease(&lab, "drover.prepare", "node-1/0", &jobs), 0);
    struct id other = lab_submit(&lab, "acme/other");
    job = lab_take(&lab, "prepare");
    ck_assert_str_eq(job.run_id.text, other.text);
    lab_pass_ms(&lab, 3000);
    job = lab_take(&lab, "prepare");
    ck_assert_str_eq(job.run_id.text, run_id.text);
    ck_assert_int_eq(job.life.attempt, 1);
    lab_finish(&lab, &job, RESULT_PREPARE);
    ck_assert_int_eq(load_breaker("forge:local/acme/billing").life.state, BREAKER_CLOSED);
    ck_assert_int_eq(lab_run(&lab, &run_id).status, RUN_CONTEXT_LOADING);
}
END_TEST

Suite *breakers_suite(void)
{
    Suite *suite = suite_create("breakers");
    TCase *tc = tcase_create("breakers");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, an_open_breaker_lets_nothing_through_and_costs_no_attempt);
    tcase_add_test(tc, probes_go_out_by_themselves_and_close_it);
    tcase_add_test(tc, a_probe_that_fails_opens_it_for_as_long_again);
    tcase_add_test(tc, a_probe_whose_worker_dies_makes_room_for_another);
    tcase_add_test(tc, failures_of_the_jobs_own_do_not_count);
    tcase_add_test(tc, a_held_head_keeps_its_key);
    tcase_add_test(tc, a_lease_holds_back_a_bounded_number_and_does_not_wait);
    tcase_add_test(tc, a_reset_lets_held_jobs_go_at_once);
    tcase_add_test(tc, jobs_go_to_the_alternative_queue);
    tcase_add_test(tc, jobs_are_answered_with_the_default);
    tcase_add_test(tc, others_ask_and_tell);
    tcase_add_test(tc, a_reset_of_what_nobody_knows_is_refused);
    tcase_add_loop_test(tc, steps_that_call_the_forge_depend_on_its_host, 0, (int)COUNT_OF(forges));
    tcase_add_test(tc, a_forge_that_is_away_holds_its_steps_and_no_others);
    suite_add_tcase(suite, tc);
    return suite;
}
