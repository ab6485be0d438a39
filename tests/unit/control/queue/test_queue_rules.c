/*
 * The rules of a queue at work: pause, concurrency, rate, order, length, shedding, swarms, batches,
 * and how long a dedup key is remembered.
 */
#include "control/queue/enqueue.h"
#include "control/queue/lease.h"
#include "control/queue/queues.h"
#include "store/queues.h"
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
    lab_close(&lab);
}

/* ---- helpers ---- */

static enum rc change(enum queue_change what, const char *json, int64_t version, struct err *err)
{
    struct cmd_queue *cmd = cmd_queue_new();
    cmd->name = "q";
    cmd->change = what;
    cmd->version = version;
    if (json != NULL)
        ck_assert_int_eq(js_parse(json, strlen(json), &cmd->base.tree, NULL), RC_OK);
    cmd->document = cmd->base.tree;
    enum rc rc = lab_call(&lab, &cmd->base);
    if (err != NULL)
        *err = cmd->base.err;
    command_free(&cmd->base);
    return rc;
}

static void configure(const char *json)
{
    lab_queue(&lab, "q", json);
}

static struct job_spec spec(int64_t priority)
{
    return (struct job_spec){.queue = "q", .type = "t", .payload = STR("1"), .priority = priority};
}

static enum rc put_many(const struct job_spec *jobs, size_t count, struct enqueue_answer *answers)
{
    struct cmd_enqueue *cmd = cmd_enqueue_new();
    cmd->jobs = jobs;
    cmd->count = count;
    enum rc rc = lab_call(&lab, &cmd->base);
    if (rc == RC_OK)
        memcpy(answers, cmd->answers, count * sizeof *answers);
    command_free(&cmd->base);
    return rc;
}

static struct enqueue_answer put(const struct job_spec *job)
{
    struct enqueue_answer answer;
    ck_assert_int_eq(put_many(job, 1, &answer), RC_OK);
    return answer;
}

static void fill(int jobs)
{
    struct job_spec job = spec(100);
    for (int i = 0; i < jobs; i++)
        put(&job);
}

static size_t take(struct job_row **ret_jobs)
{
    return lab_lease(&lab, "q", "w", ret_jobs);
}

static struct job_row row_of(const struct id *id)
{
    struct job_row row;
    ck_assert_int_eq(jobs_get(lab.db, id, &lab.arena, &row, NULL), RC_OK);
    return row;
}

/* A lease that waits; the answer comes later. */
static struct cmd_lease *wait_for_jobs(void)
{
    static const char *const queues[] = {"q", NULL};
    struct cmd_lease *lease = cmd_lease_new();
    lease->queues = queues;
    lease->worker = "w";
    lease->max = 10;
    lease->wait_us = 20 * US_PER_SECOND;
    lab_post(&lab, &lease->base);
    lab_rounds(&lab);
    return lease;
}

/* ---- changing rules ---- */

START_TEST(a_change_over_an_unseen_one_is_refused)
{
    struct err err = {0};
    ck_assert_int_eq(change(QUEUE_CONFIGURE, "{\"maxLength\":5}", 0, &err), RC_OK);
    ck_assert_int_eq(change(QUEUE_CONFIGURE, "{\"maxLength\":6}", 0, &err), RC_CONFLICT);
    ck_assert_str_eq(err.code, "QUEUE_CHANGED");
    ck_assert_int_eq(change(QUEUE_CONFIGURE, "{\"maxLength\":6}", 1, &err), RC_OK);
}
END_TEST

START_TEST(no_more_queues_have_rules_than_are_read)
{
    struct err err = {0};
    for (int i = 0; i < QUEUES_MAX; i++)
        lab_queue(&lab, arena_printf(&lab.arena, "other-%d", i), "{}");
    ck_assert_int_eq(change(QUEUE_CONFIGURE, "{\"maxLength\":5}", -1, &err), RC_CONFLICT);
    ck_assert_str_eq(err.code, "TOO_MANY_QUEUES");
    lab_queue(&lab, "other-7", "{\"maxLength\":5}");
}
END_TEST

START_TEST(the_order_of_a_queue_with_jobs_stays)
{
    struct err err = {0};
    fill(1);
    ck_assert_int_eq(change(QUEUE_CONFIGURE, "{\"ordering\":\"global\"}", -1, &err), RC_CONFLICT);
    ck_assert_str_eq(err.code, "QUEUE_NOT_EMPTY");
    struct job_row *jobs;
    take(&jobs);
    ck_assert_int_eq(change(QUEUE_CONFIGURE, "{\"ordering\":\"global\"}", -1, &err), RC_CONFLICT);
    lab_complete(&lab, &jobs[0], "{}");
    ck_assert_int_eq(change(QUEUE_CONFIGURE, "{\"ordering\":\"global\"}", -1, &err), RC_OK);
}
END_TEST

START_TEST(a_paused_queue_gives_nothing_and_resuming_wakes_who_waits)
{
    struct job_row *jobs;
    ck_assert_int_eq(change(QUEUE_PAUSE, NULL, -1, NULL), RC_OK);
    fill(2);
    ck_assert_uint_eq(take(&jobs), 0);
    struct cmd_lease *lease = wait_for_jobs();
    int before = lab.answered;
    ck_assert_int_eq(change(QUEUE_PAUSE, NULL, -1, NULL), RC_OK);
    ck_assert_int_eq(change(QUEUE_RESUME, NULL, -1, NULL), RC_OK);
    ck_assert_int_eq(lab.answered, before + 3);
    ck_assert_uint_eq(lease->job_count, 2);
    command_free(&lease->base);
}
END_TEST

/* ---- giving out ---- */

START_TEST(no_more_jobs_are_out_than_the_concurrency_allows)
{
    struct job_row *jobs, *more;
    configure("{\"concurrency\":3}");
    fill(10);
    ck_assert_uint_eq(take(&jobs), 3);
    ck_assert_uint_eq(take(&more), 0);
    struct cmd_lease *lease = wait_for_jobs();
    lab_complete(&lab, &jobs[0], "{}");
    ck_assert_uint_eq(lease->job_count, 1);
    command_free(&lease->base);
    lab_fail(&lab, &jobs[1], "oops", true);
    ck_assert_uint_eq(take(&more), 1);
    /* Workers that die give their room back. */
    lab_pass_ms(&lab, 16000);
    ck_assert_uint_eq(take(&more), 3);
}
END_TEST

START_TEST(a_rate_lets_jobs_out_steadily)
{
    struct job_row *jobs;
    configure("{\"ratePerSecond\":20,\"leaseMs\":600000}");
    fill(60);
    int64_t begun_us = lab.now_us;
    size_t out = 0;
    for (int i = 0; i < 200 && out < 60; i++) {
        out += take(&jobs);
        int64_t passed_ms = (lab.now_us - begun_us) / US_PER_MS;
        ck_assert_int_le((int64_t)out, 2 + 20 * passed_ms / 1000);
        lab_pass_ms(&lab, 50);
    }
    ck_assert_uint_eq(out, 60);
    ck_assert_int_le(lab.now_us - begun_us, 3500 * US_PER_MS);
}
END_TEST

START_TEST(a_lease_that_waits_for_the_rate_looks_again_by_itself)
{
    struct job_row *jobs;
    configure("{\"ratePerSecond\":1}");
    fill(2);
    ck_assert_uint_eq(take(&jobs), 1);
    struct cmd_lease *lease = wait_for_jobs();
    ck_assert_uint_eq(lease->job_count, 0);
    lab.now_us += US_PER_SECOND;
    lab_rounds(&lab);
    ck_assert_uint_eq(lease->job_count, 1);
    command_free(&lease->base);
}
END_TEST

START_TEST(a_lease_lasts_as_the_queue_has_it)
{
    configure("{\"leaseMs\":1234}");
    fill(1);
    struct cmd_lease *lease = wait_for_jobs();
    ck_assert_uint_eq(lease->job_count, 1);
    ck_assert_int_eq(lease->jobs[0].life.due_us, lab.now_us + 1234 * US_PER_MS);
    command_free(&lease->base);
}
END_TEST

START_TEST(attempts_waits_and_time_to_live_are_the_queues)
{
    struct job_row *jobs;
    configure("{\"maxAttempts\":2,\"ttlMs\":60000,"
              "\"backoff\":{\"baseMs\":7000,\"maxMs\":7000,\"jitterMs\":0}}");
    struct job_spec job = spec(100);
    struct id id = put(&job).id;
    ck_assert_int_eq(row_of(&id).life.attempt_max, 2);
    ck_assert_int_eq(row_of(&id).life.expires_us, lab.now_us + 60 * US_PER_SECOND);
    take(&jobs);
    lab_fail(&lab, &jobs[0], "oops", true);
    ck_assert_int_eq(row_of(&id).life.due_us, lab.now_us + 7 * US_PER_SECOND);
}
END_TEST

/* ---- order ---- */

START_TEST(global_order_gives_out_one_after_the_other)
{
    struct job_row *jobs;
    configure("{\"ordering\":\"global\"}");
    struct job_spec first = spec(500), second = spec(0);
    first.ordering_key = "a";
    struct id ids[] = {put(&first).id, put(&second).id};
    for (size_t i = 0; i < COUNT_OF(ids); i++) {
        ck_assert_uint_eq(take(&jobs), 1);
        ck_assert_str_eq(jobs[0].id.text, ids[i].text);
        lab_complete(&lab, &jobs[0], "{}");
    }
}
END_TEST

START_TEST(a_queue_without_order_refuses_keys)
{
    configure("{\"ordering\":\"none\"}");
    struct job_spec job = spec(100);
    struct enqueue_answer answer;
    job.ordering_key = "a";
    ck_assert_int_eq(put_many(&job, 1, &answer), RC_INVALID);
}
END_TEST

/* ---- coming in ---- */

START_TEST(a_full_queue_takes_all_of_a_call_or_nothing)
{
    struct enqueue_answer answers[3];
    configure("{\"maxLength\":5}");
    fill(3);
    struct job_spec three[] = {spec(100), spec(100), spec(0)};
    ck_assert_int_eq(put_many(three, 3, answers), RC_LIMIT);
    ck_assert_int_eq(put_many(three, 2, answers), RC_OK);
    ck_assert_int_eq(put_many(three, 1, answers), RC_LIMIT);
    struct job_row *jobs;
    ck_assert_uint_eq(take(&jobs), 5);
    ck_assert_int_eq(put_many(three, 3, answers), RC_OK);
}
END_TEST

START_TEST(jobs_that_wait_otherwise_count_as_well)
{
    struct enqueue_answer answer;
    configure("{\"maxLength\":3}");
    struct job_spec later = spec(100), keyed = spec(100);
    later.delay_us = US_PER_SECOND;
    keyed.ordering_key = "k";
    put(&later);
    put(&keyed);
    put(&keyed);
    ck_assert_int_eq(put_many(&keyed, 1, &answer), RC_LIMIT);
}
END_TEST

START_TEST(under_load_low_is_dropped_normal_put_off_and_critical_taken)
{
    configure("{\"shed\":{\"dropLowAt\":2,\"deferNormalAt\":4,\"deferMs\":5000}}");
    fill(2);
    struct job_spec mixed[] = {spec(200), spec(100), spec(50)};
    struct enqueue_answer answers[3];
    ck_assert_int_eq(put_many(mixed, 3, answers), RC_OK);
    ck_assert(answers[0].dropped && id_is_none(&answers[0].id));
    ck_assert_str_eq(answers[0].code, "SHED");
    ck_assert_int_eq(answers[0].retry_us, 5 * US_PER_SECOND);
    ck_assert(!answers[1].dropped && !answers[1].deferred);
    ck_assert_int_eq(put_many(mixed + 1, 2, answers), RC_OK);
    ck_assert(answers[0].deferred);
    ck_assert_int_eq(row_of(&answers[0].id).life.state, JOB_SCHEDULED);
    ck_assert_int_eq(row_of(&answers[1].id).life.state, JOB_QUEUED);
    /* A call of which nothing is taken is refused as a whole. */
    ck_assert_int_eq(put_many(mixed, 1, answers), RC_LIMIT);
}
END_TEST

START_TEST(a_duplicate_is_one_however_full_the_queue)
{
    configure("{\"shed\":{\"dropLowAt\":1}}");
    struct job_spec job = spec(200);
    job.dedup_key = "k";
    struct id id = put(&job).id;
    struct enqueue_answer again = put(&job);
    ck_assert(again.duplicate && !again.dropped);
    ck_assert_str_eq(again.id.text, id.text);
}
END_TEST

START_TEST(a_dedup_key_is_free_after_its_window_unless_its_job_is_at_work)
{
    struct job_row *jobs;
    configure("{\"dedupWindowMs\":10000}");
    struct job_spec job = spec(100);
    job.dedup_key = "k";
    struct id first = put(&job).id;
    lab_pass_ms(&lab, 11000);
    ck_assert(put(&job).duplicate);
    take(&jobs);
    lab_complete(&lab, &jobs[0], "{}");
    struct enqueue_answer second = put(&job);
    ck_assert(!second.duplicate);
    ck_assert_str_ne(second.id.text, first.text);
    lab_pass_ms(&lab, 9000);
    ck_assert(put(&job).duplicate);
}
END_TEST

START_TEST(a_swarm_is_refused_where_the_queue_protects_itself)
{
    configure("{\"swarm\":{\"count\":3,\"windowMs\":10000,\"action\":\"protect\","
              "\"retryAfterMs\":9000}}");
    struct job_spec job = spec(100), urgent = spec(10), other = spec(100);
    struct enqueue_answer answer;
    other.type = "other";
    fill(3);
    answer = put(&job); /* The first one that is too many is told of, so the call commits. */
    ck_assert(answer.dropped);
    ck_assert_str_eq(answer.code, "SWARM");
    ck_assert_int_eq(put_many(&job, 1, &answer), RC_LIMIT);
    ck_assert(!put(&urgent).dropped);
    ck_assert(!put(&other).dropped);
    lab_pass_ms(&lab, 20000);
    ck_assert(!put(&job).dropped);
}
END_TEST

START_TEST(a_swarm_is_buffered_and_let_out_at_a_steady_rate)
{
    configure("{\"swarm\":{\"count\":1,\"action\":\"buffer\",\"ratePerSecond\":2}}");
    struct job_spec job = spec(100);
    put(&job);
    for (int i = 1; i <= 4; i++) {
        struct enqueue_answer answer = put(&job);
        ck_assert(answer.deferred);
        ck_assert_int_eq(row_of(&answer.id).life.due_us, lab.now_us + i * US_PER_SECOND / 2);
    }
}
END_TEST

START_TEST(jobs_of_a_type_are_gathered_into_one)
{
    struct job_row *jobs;
    configure("{\"batch\":{\"max\":3,\"windowMs\":1000}}");
    struct job_spec job = spec(100), other = spec(100);
    other.type = "other";
    struct enqueue_answer first = put(&job), second = put(&job), third = put(&other);
    ck_assert(first.batched && second.batched);
    ck_assert_str_eq(first.id.text, second.id.text);
    ck_assert_str_ne(first.id.text, third.id.text);
    ck_assert_uint_eq(take(&jobs), 0);
    ck_assert_str_eq(put(&job).id.text, first.id.text); /* It is full and goes out. */
    ck_assert_str_ne(put(&job).id.text, first.id.text);
    lab_pass_ms(&lab, 0);
    ck_assert_uint_eq(take(&jobs), 1);
    ck_assert_int_eq(strncmp(jobs[0].payload.at, "[1,1,1]", jobs[0].payload.len), 0);
    lab_pass_ms(&lab, 1000);
    ck_assert_uint_eq(take(&jobs), 2);
    ck_assert_str_ne(put(&job).id.text, first.id.text);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_test(tc, a_change_over_an_unseen_one_is_refused);
    tcase_add_test(tc, no_more_queues_have_rules_than_are_read);
    tcase_add_test(tc, the_order_of_a_queue_with_jobs_stays);
    tcase_add_test(tc, a_paused_queue_gives_nothing_and_resuming_wakes_who_waits);
    tcase_add_test(tc, no_more_jobs_are_out_than_the_concurrency_allows);
    tcase_add_test(tc, a_rate_lets_jobs_out_steadily);
    tcase_add_test(tc, a_lease_that_waits_for_the_rate_looks_again_by_itself);
    tcase_add_test(tc, a_lease_lasts_as_the_queue_has_it);
    tcase_add_test(tc, attempts_waits_and_time_to_live_are_the_queues);
    tcase_add_test(tc, global_order_gives_out_one_after_the_other);
    tcase_add_test(tc, a_queue_without_order_refuses_keys);
    tcase_add_test(tc, a_full_queue_takes_all_of_a_call_or_nothing);
    tcase_add_test(tc, jobs_that_wait_otherwise_count_as_well);
    tcase_add_test(tc, under_load_low_is_dropped_normal_put_off_and_critical_taken);
    tcase_add_test(tc, a_duplicate_is_one_however_full_the_queue);
    tcase_add_test(tc, a_dedup_key_is_free_after_its_window_unless_its_job_is_at_work);
    tcase_add_test(tc, a_swarm_is_refused_where_the_queue_protects_itself);
    tcase_add_test(tc, a_swarm_is_buffered_and_let_out_at_a_steady_rate);
    tcase_add_test(tc, jobs_of_a_type_are_gathered_into_one);
}

Suite *queue_rules_suite(void)
{
    Suite *suite = suite_create("queue_rules");
    TCase *tc = tcase_create("queue_rules");
    tcase_add_checked_fixture(tc, setup, teardown);
    add_tests(tc);
    suite_add_tcase(suite, tc);
    return suite;
}
