/*
 * test_worker.c - slots and heart against a server in memory: what is reported, and what is not.
 */
#include "base/fd.h"
#include "tests/unit/work_kit.h"
#include "work/job/disk.h"
#include "work/worker.h"
#include <check.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

static struct kit kit;
static struct worker *worker;

static void setup(void)
{
    kit_open(&kit);
    worker = NULL;
}

static void teardown(void)
{
    worker_stop(worker);
    kit_close(&kit);
}

static void start_with(int slots, int64_t disk_reserve_bytes)
{
    const struct worker_options options = {
        .port = &kit.port.port,
        .clock = clock_real(),
        .name = "node",
        .slots = {{[CLASS_AGENT] = slots, [CLASS_CHECK] = 1, [CLASS_SHORT] = 1}},
        .agents_max = 3,
        .work_dir = kit.work_dir,
        .server_url = "http://127.0.0.1:8717",
        .lease_ms = 15000,
        .heartbeat_ms = 50,
        .disk_reserve_bytes = disk_reserve_bytes,
    };
    struct err err = {0};
    ck_assert_msg(worker_start(&options, &worker, &err) == RC_OK, "%s", err.text);
}

static void start(int slots)
{
    start_with(slots, 0);
}

static const struct kit_report *report_at(size_t index)
{
    kit_await_reports(&kit, index + 1);
    return &kit.port.reports[index];
}

/* A payload for an agent that says where it is and then waits. */
static char *waiting_agent(void)
{
    const char *base = kit_commit(
        &kit, arena_printf(&kit.arena,
                           "printf '#!/bin/sh\\ntouch ready; trap \"\" TERM\\n%s\\n' >agent.sh; "
                           "chmod +x agent.sh",
                           kit.sleep));
    return kit_payload(
        &kit, &(struct kit_task){.agent = "\"command\":[\"./agent.sh\"]",
                                 .payload = arena_printf(
                                     &kit.arena, "\"baseCommit\":\"%s\",\"promptSha256\":\"%s\"",
                                     base, kit_put(&kit, "wait"))});
}

static void await_agent(void)
{
    kit_await_file(
        &kit, arena_printf(&kit.arena, "%s/runs/%s/tree/ready", kit.work_dir, kit.run_id.text));
}

static void agent_is_gone(void)
{
    ck_assert(!kit_sleeps(&kit));
}

START_TEST(a_whole_run_goes_through)
{
    const char *base = kit_commit(&kit, "printf '#!/bin/sh\\necho two >file.txt\\n' >agent.sh; "
                                        "chmod +x agent.sh");
    start(2);
    const char *agent = "\"command\":[\"./agent.sh\"]";
    const char *config = "\"verify\":[{\"name\":\"t\",\"command\":\"grep two file.txt\"}]";
    const char *members = "\"description\":\"Make it two\"";
    kit_enqueue(&kit, "prepare",
                kit_payload(&kit, &(struct kit_task){.agent = agent, .payload = members}));
    ck_assert_int_eq(report_at(0)->kind, KIT_COMPLETED);
    ck_assert_ptr_nonnull(strstr(report_at(0)->result, base));
    members = arena_printf(&kit.arena, "%s,\"baseCommit\":\"%s\"", members, base);
    kit_enqueue(&kit, "hydrate",
                kit_payload(&kit, &(struct kit_task){.agent = agent, .payload = members}));
    ck_assert_int_eq(report_at(1)->kind, KIT_COMPLETED);
    struct js *tree = NULL;
    ck_assert_int_eq(js_parse(report_at(1)->result, strlen(report_at(1)->result), &tree, NULL),
                     RC_OK);
    members = arena_printf(&kit.arena, "%s,\"promptSha256\":\"%s\"", members,
                           js_get_str(tree, "promptSha256", ""));
    js_free(tree);
    kit_enqueue(&kit, "agent",
                kit_payload(&kit, &(struct kit_task){.agent = agent, .payload = members}));
    ck_assert_int_eq(report_at(2)->kind, KIT_COMPLETED);
    ck_assert_int_eq(js_parse(report_at(2)->result, strlen(report_at(2)->result), &tree, NULL),
                     RC_OK);
    members = arena_printf(&kit.arena, "%s,\"patchSha256\":\"%s\"", members,
                           js_str(js_path(tree, "patch.sha256"), ""));
    js_free(tree);
    static const char *const rest[] = {"verify", "judge", "publish", "clean"};
    for (size_t i = 0; i < COUNT_OF(rest); i++) {
        kit_enqueue(&kit, rest[i],
                    kit_payload(&kit, &(struct kit_task){
                                          .agent = agent, .config = config, .payload = members}));
        ck_assert_msg(report_at(3 + i)->kind == KIT_COMPLETED, "%s: %s", rest[i],
                      report_at(3 + i)->message);
    }
    ck_assert_ptr_nonnull(strstr(report_at(3)->result, "\"verified\""));
    ck_assert_ptr_nonnull(strstr(report_at(5)->result, "\"number\":1"));
    ck_assert_str_eq(kit_sh(&kit, "git --git-dir=origin.git show refs/pull/1/head:file.txt"),
                     "two");
    ck_assert_str_eq(kit_sh(&kit, "ls data/work/runs"), "");
    ck_assert_int_eq(worker_load(worker).busy, 0);
}
END_TEST

static const struct {
    const char *type, *payload, *code;
} nonsense[] = {
    {"prepare", "{", "payload_invalid"},
    {"prepare", "{}", "payload_invalid"},
    {"prepare", "{\"taskId\":\"x\"}", "payload_invalid"},
    {"dance", "{}", "payload_invalid"},
};

START_TEST(jobs_that_make_no_sense_fail_for_good)
{
    kit_enqueue(&kit, nonsense[_i].type, nonsense[_i].payload);
    start(1);
    ck_assert_int_eq(report_at(0)->kind, KIT_FAILED);
    ck_assert_str_eq(report_at(0)->code, nonsense[_i].code);
    ck_assert(!report_at(0)->retryable);
    ck_assert_uint_gt(strlen(report_at(0)->message), 5);
}
END_TEST

START_TEST(a_step_that_fails_says_so_with_its_code)
{
    kit.origin = arena_printf(&kit.arena, "%s/gone.git", kit.dir);
    kit_enqueue(&kit, "prepare", kit_payload(&kit, &(struct kit_task){0}));
    start(1);
    ck_assert_int_eq(report_at(0)->kind, KIT_FAILED);
    ck_assert_str_eq(report_at(0)->code, "repository_unreachable");
    ck_assert(report_at(0)->retryable);
}
END_TEST

/* By heartbeat, and by hint. */
START_TEST(a_cancelled_step_stops_and_says_cancelled)
{
    kit_enqueue(&kit, "agent", waiting_agent());
    start(1);
    await_agent();
    if (_i == 0) {
        pthread_mutex_lock(&kit.port.lock);
        kit.port.cancel = true;
        pthread_mutex_unlock(&kit.port.lock);
    } else {
        worker_cancel_run(worker, &kit.run_id);
    }
    ck_assert_int_eq(report_at(0)->kind, KIT_FAILED);
    ck_assert_str_eq(report_at(0)->code, "cancelled");
    ck_assert(!report_at(0)->retryable);
    agent_is_gone();
}
END_TEST

START_TEST(a_lost_lease_stops_the_step_and_nothing_is_said)
{
    kit_enqueue(&kit, "agent", waiting_agent());
    start(1);
    await_agent();
    pthread_mutex_lock(&kit.port.lock);
    kit.port.lost = true;
    pthread_mutex_unlock(&kit.port.lock);
    while (worker_load(worker).busy > 0)
        usleep(5000);
    agent_is_gone();
    ck_assert_uint_eq(kit.port.report_count, 0);
}
END_TEST

START_TEST(a_shutdown_gives_the_job_back_in_time)
{
    kit_enqueue(&kit, "agent", waiting_agent());
    start(3);
    await_agent();
    worker_stop(worker); /* The agent waits for ever: check ends a test that does, too. */
    worker = NULL;
    ck_assert_uint_eq(kit.port.report_count, 1);
    ck_assert_int_eq(kit.port.reports[0].kind, KIT_RELEASED);
    agent_is_gone();
}
END_TEST

START_TEST(an_idle_worker_stops_at_once)
{
    start(8);
    worker_stop(worker);
    worker = NULL;
}
END_TEST

static const enum rc passing[] = {RC_BUSY, RC_UNREACHABLE, RC_IO};

START_TEST(a_server_that_cannot_just_now_is_asked_again)
{
    kit.port.refuse = passing[_i];
    kit.port.refuse_times = 3;
    kit_enqueue(&kit, "clean", kit_payload(&kit, &(struct kit_task){0}));
    start(1);
    ck_assert_int_eq(report_at(0)->kind, KIT_COMPLETED);
}
END_TEST

START_TEST(a_result_that_the_server_refuses_becomes_a_failure)
{
    kit.port.refuse = RC_INVALID;
    kit.port.refuse_times = 1;
    kit_enqueue(&kit, "clean", kit_payload(&kit, &(struct kit_task){0}));
    start(1);
    ck_assert_int_eq(report_at(0)->kind, KIT_FAILED);
    ck_assert_str_eq(report_at(0)->code, "result_refused");
}
END_TEST

START_TEST(a_result_of_a_lost_lease_is_dropped)
{
    kit.port.refuse = RC_STALE;
    kit.port.refuse_times = 1;
    kit_enqueue(&kit, "clean", kit_payload(&kit, &(struct kit_task){0}));
    kit_enqueue(&kit, "clean", kit_payload(&kit, &(struct kit_task){0}));
    start(1);
    ck_assert_int_eq(report_at(0)->kind, KIT_COMPLETED);
    ck_assert_int_eq(report_at(0)->lease.epoch, 3); /* The second job. */
}
END_TEST

/* The clean-up of a cancelled run comes while its agent is still on the way out. */
START_TEST(steps_of_one_run_do_not_meet)
{
    kit_enqueue(&kit, "agent", waiting_agent());
    start(2);
    await_agent();
    kit_enqueue(&kit, "clean", kit_payload(&kit, &(struct kit_task){0}));
    while (worker_load(worker).busy < 2)
        usleep(5000);
    worker_cancel_run(worker, &kit.run_id);
    ck_assert_str_eq(report_at(0)->code, "cancelled");
    ck_assert_int_eq(report_at(1)->kind, KIT_COMPLETED);
    ck_assert_str_eq(kit_sh(&kit, "ls data/work/runs"), "");
}
END_TEST

static void resize(int slots)
{
    struct err err = {0};
    ck_assert_msg(worker_resize(worker, slots, &err) == RC_OK, "%s", err.text);
}

static void await_agents(int slots, int busy)
{
    struct class_load load;
    while ((load = worker_load(worker).of[CLASS_AGENT]).slots != slots || load.busy != busy)
        usleep(5000);
}

static void answer_cancel(bool cancel)
{
    pthread_mutex_lock(&kit.port.lock);
    kit.port.cancel = cancel;
    pthread_mutex_unlock(&kit.port.lock);
}

START_TEST(slots_come_and_go_and_finish_what_they_have)
{
    char *payload = waiting_agent();
    kit_enqueue(&kit, "agent", payload);
    start(1);
    await_agent();
    kit_enqueue(&kit, "agent", payload); /* It waits for the first, which has the same run. */
    await_agents(1, 1);
    resize(3);
    await_agents(3, 2);
    resize(1);
    await_agents(2, 2);  /* Both have work: it is not taken from them. */
    answer_cancel(true); /* Of every beat: a hint would miss a slot that still reads its job. */
    ck_assert_str_eq(report_at(0)->code, "cancelled");
    ck_assert_str_eq(report_at(1)->code, "cancelled");
    await_agents(1, 0);
    answer_cancel(false);
    for (size_t i = 0; i < 6; i++) { /* Slots that have ended, end or wait: all of them are good. */
        resize(i % 2 ? 1 : 3);
        kit_enqueue(&kit, "clean", kit_payload(&kit, &(struct kit_task){0}));
        ck_assert_int_eq(report_at(2 + i)->kind, KIT_COMPLETED);
    }
}
END_TEST

/* With one slot of each class, while the agent waits. */
START_TEST(no_class_waits_behind_another)
{
    kit_enqueue(&kit, "agent", waiting_agent());
    start(1);
    await_agent();
    struct id agent_run = kit.run_id;
    kit_other_run(&kit);
    kit_enqueue(&kit, "prepare", kit_payload(&kit, &(struct kit_task){0}));
    ck_assert_int_eq(report_at(0)->kind, KIT_COMPLETED);
    kit_enqueue(&kit, "clean", kit_payload(&kit, &(struct kit_task){0}));
    ck_assert_int_eq(report_at(1)->kind, KIT_COMPLETED);
    struct worker_load load = worker_load(worker);
    ck_assert_int_eq(load.of[CLASS_AGENT].busy, 1);
    worker_cancel_run(worker, &agent_run);
    ck_assert_str_eq(report_at(2)->code, "cancelled");
}
END_TEST

START_TEST(a_step_beyond_its_time_is_stopped)
{
    const char *payload = kit_payload(
        &kit, &(struct kit_task){.config = "\"timeouts\":{\"prepareMs\":200}"});
    kit_sh(&kit, "mkdir -p data/work/mirrors");
    struct step step = kit_step(&kit, &(struct kit_task){0});
    struct git git = {0};
    int held = -1;
    /* Somebody else holds the mirror. */
    ck_assert_int_eq(git_lock(&git, arena_printf(&kit.arena, "%s.lock", step.mirror), &held, NULL),
                     RC_OK);
    kit_enqueue(&kit, "prepare", payload);
    start(1);
    ck_assert_int_eq(report_at(0)->kind, KIT_FAILED);
    ck_assert_str_eq(report_at(0)->code, "step_timed_out");
    ck_assert(!report_at(0)->retryable);
    fd_close(held);
}
END_TEST

START_TEST(leases_are_kept_while_a_step_runs)
{
    kit_enqueue(&kit, "agent", waiting_agent());
    start(1);
    await_agent();
    pthread_mutex_lock(&kit.port.lock);
    int before = kit.port.beats;
    while (kit.port.beats < before + 3)
        pthread_cond_wait(&kit.port.changed, &kit.port.lock);
    pthread_mutex_unlock(&kit.port.lock);
    worker_cancel_run(worker, &kit.run_id);
    kit_await_reports(&kit, 1);
}
END_TEST

START_TEST(a_work_dir_that_cannot_be_made_is_told)
{
    kit_sh(&kit, "rm -rf data/work; touch data/work");
    const struct worker_options options = {
        .port = &kit.port.port,
        .clock = clock_real(),
        .name = "node",
        .slots = {{1, 1, 1}},
        .work_dir = kit.work_dir,
        .lease_ms = 15000,
        .heartbeat_ms = 5000,
    };
    struct err err = {0};
    ck_assert_int_eq(worker_start(&options, &worker, &err), RC_IO);
    ck_assert_ptr_null(worker);
}
END_TEST

/* ---- the disk ---- */

START_TEST(with_a_low_disk_only_what_needs_no_space_is_leased)
{
    static const char *const waiting[] = {"prepare", "plan",  "agent",  "verify",
                                          "judge",   "train", "rebase", "custom"};
    kit_sh(&kit, "mkdir -p %s/setup/%064d/files", kit.work_dir, 0);
    for (size_t i = 0; i < COUNT_OF(waiting); i++)
        kit_enqueue(&kit, waiting[i], kit_payload(&kit, &(struct kit_task){0}));
    start_with(2, DISK_RESERVE_MAX);
    kit_enqueue(&kit, "clean", kit_payload(&kit, &(struct kit_task){0}));
    kit_enqueue(&kit, "hydrate", kit_payload(&kit, &(struct kit_task){0}));
    (void)report_at(1);
    (void)pthread_mutex_lock(&kit.port.lock);
    for (size_t i = 0; i < COUNT_OF(waiting); i++)
        ck_assert_msg(!kit.port.jobs[i].leased, "%s", waiting[i]);
    (void)pthread_mutex_unlock(&kit.port.lock);
    /* Housekeeping has begun at once. */
    while (file_exists(arena_printf(&kit.arena, "%s/setup/%064d", kit.work_dir, 0)))
        (void)usleep(10000);
}
END_TEST

START_TEST(a_step_whose_run_may_use_more_than_is_free_is_put_off)
{
    start_with(1, 1);
    kit_enqueue(
        &kit, "prepare",
        kit_payload(&kit, &(struct kit_task){.agent = "\"command\":[\"true\"],\"resources\":"
                                                      "{\"diskBytes\":109951162777600}"}));
    ck_assert_int_eq(report_at(0)->kind, KIT_PUT_OFF);
    ck_assert_str_eq(report_at(0)->code, "disk_low");
    kit_enqueue(&kit, "prepare", kit_payload(&kit, &(struct kit_task){0}));
    ck_assert_int_eq(report_at(1)->kind, KIT_COMPLETED);
}
END_TEST

Suite *worker_suite(void)
{
    Suite *suite = suite_create("worker");
    TCase *tests = tcase_create("worker");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, a_whole_run_goes_through);
    tcase_add_test(tests, with_a_low_disk_only_what_needs_no_space_is_leased);
    tcase_add_test(tests, a_step_whose_run_may_use_more_than_is_free_is_put_off);
    tcase_add_loop_test(tests, jobs_that_make_no_sense_fail_for_good, 0, (int)COUNT_OF(nonsense));
    tcase_add_test(tests, a_step_that_fails_says_so_with_its_code);
    tcase_add_loop_test(tests, a_cancelled_step_stops_and_says_cancelled, 0, 2);
    tcase_add_test(tests, a_lost_lease_stops_the_step_and_nothing_is_said);
    tcase_add_test(tests, a_shutdown_gives_the_job_back_in_time);
    tcase_add_test(tests, an_idle_worker_stops_at_once);
    tcase_add_loop_test(tests, a_server_that_cannot_just_now_is_asked_again, 0,
                        (int)COUNT_OF(passing));
    tcase_add_test(tests, a_result_that_the_server_refuses_becomes_a_failure);
    tcase_add_test(tests, a_result_of_a_lost_lease_is_dropped);
    tcase_add_test(tests, steps_of_one_run_do_not_meet);
    tcase_add_test(tests, slots_come_and_go_and_finish_what_they_have);
    tcase_add_test(tests, no_class_waits_behind_another);
    tcase_add_test(tests, a_step_beyond_its_time_is_stopped);
    tcase_add_test(tests, leases_are_kept_while_a_step_runs);
    tcase_add_test(tests, a_work_dir_that_cannot_be_made_is_told);
    suite_add_tcase(suite, tests);
    return suite;
}
