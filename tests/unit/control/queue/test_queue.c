/*
 * Plain jobs: order, keys, duplicates, delays, time to live, attempts, losses.
 */
#include "control/queue/complete.h"
#include "control/queue/enqueue.h"
#include "control/queue/lease.h"
#include "control/run/progress.h"
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

static struct job_spec spec(const char *payload)
{
    return (struct job_spec){
        .queue = "q", .type = "t", .payload = str_of(payload), .priority = 100, .max_attempts = 3};
}

static struct enqueue_answer put(const struct job_spec *job)
{
    struct cmd_enqueue *cmd = cmd_enqueue_new();
    cmd->jobs = job;
    cmd->count = 1;
    ck_assert_int_eq(lab_call(&lab, &cmd->base), RC_OK);
    struct enqueue_answer answer = cmd->answers[0];
    command_free(&cmd->base);
    return answer;
}

static size_t take(struct job_row **ret_jobs)
{
    return lab_lease(&lab, "q", "w", ret_jobs);
}

static struct job_row take_one(void)
{
    struct job_row *jobs;
    ck_assert_uint_eq(take(&jobs), 1);
    return jobs[0];
}

static struct job_row row_of(const struct id *id)
{
    struct job_row row;
    ck_assert_int_eq(jobs_get(lab.db, id, &lab.arena, &row, NULL), RC_OK);
    return row;
}

START_TEST(jobs_come_out_by_rank_then_by_arrival)
{
    static const int64_t priorities[] = {100, 200, 0, 100};
    static const char *const order = "2031";
    for (size_t i = 0; i < COUNT_OF(priorities); i++) {
        struct job_spec job = spec(arena_printf(&lab.arena, "%zu", i));
        job.priority = priorities[i];
        put(&job);
    }
    struct job_row *jobs;
    ck_assert_uint_eq(take(&jobs), COUNT_OF(priorities));
    for (size_t i = 0; i < COUNT_OF(priorities); i++)
        ck_assert_int_eq(jobs[i].payload.at[0], order[i]);
}
END_TEST

START_TEST(a_duplicate_is_named_and_not_stored)
{
    struct job_spec job = spec("1");
    job.dedup_key = "verify:r1:p1";
    struct enqueue_answer first = put(&job), second = put(&job);
    ck_assert(!first.duplicate);
    ck_assert(second.duplicate);
    ck_assert_str_eq(first.id.text, second.id.text);
    take_one();
}
END_TEST

START_TEST(one_of_a_key_is_in_flight_in_order)
{
    for (int i = 0; i < 3; i++) {
        struct job_spec job = spec(arena_printf(&lab.arena, "%d", i));
        job.ordering_key = "customer-7";
        put(&job);
    }
    for (int i = 0; i < 3; i++) {
        struct job_row job = take_one();
        ck_assert_int_eq(job.payload.at[0], '0' + i);
        lab_finish(&lab, &job, "{}");
    }
    struct job_row *jobs;
    ck_assert_uint_eq(take(&jobs), 0);
}
END_TEST

START_TEST(a_retrying_head_keeps_its_key_and_a_dead_one_lets_go)
{
    struct job_spec first = spec("1"), second = spec("2");
    first.ordering_key = second.ordering_key = "k";
    first.max_attempts = 2;
    put(&first);
    put(&second);
    struct job_row job = take_one();
    ck_assert_int_eq(lab_fail(&lab, &job, "flaky", true).state, JOB_SCHEDULED);
    struct job_row *jobs;
    ck_assert_uint_eq(take(&jobs), 0);
    lab_pass_ms(&lab, 10000);
    job = take_one();
    ck_assert_int_eq(job.payload.at[0], '1');
    ck_assert_int_eq(lab_fail(&lab, &job, "flaky", true).state, JOB_DEAD_LETTER);
    job = take_one();
    ck_assert_int_eq(job.payload.at[0], '2');
}
END_TEST

START_TEST(a_delayed_job_waits_for_its_time)
{
    struct job_spec job = spec("1");
    job.delay_us = 5 * US_PER_SECOND;
    put(&job);
    struct job_row *jobs;
    ck_assert_uint_eq(take(&jobs), 0);
    lab_pass_ms(&lab, 4999);
    ck_assert_uint_eq(take(&jobs), 0);
    lab_pass_ms(&lab, 1);
    ck_assert_uint_eq(take(&jobs), 1);
}
END_TEST

START_TEST(a_job_past_its_time_to_live_is_a_dead_letter)
{
    struct job_spec job = spec("1");
    job.ttl_us = US_PER_SECOND;
    struct id id = put(&job).id;
    lab.now_us += 2 * US_PER_SECOND;
    struct job_row *jobs;
    ck_assert_uint_eq(take(&jobs), 0); /* Even before anybody has swept. */
    lab_pass_ms(&lab, 0);
    ck_assert_int_eq(row_of(&id).life.state, JOB_DEAD_LETTER);
    ck_assert_int_eq(row_of(&id).life.dead_reason, DEAD_EXPIRED);
}
END_TEST

START_TEST(a_blocked_job_that_outlives_its_time_does_not_block_its_key)
{
    struct job_spec head = spec("1"), shortlived = spec("2"), last = spec("3");
    head.ordering_key = shortlived.ordering_key = last.ordering_key = "k";
    shortlived.ttl_us = US_PER_SECOND;
    put(&head);
    struct id dead = put(&shortlived).id;
    put(&last);
    struct job_row job = take_one();
    lab_pass_ms(&lab, 2000);
    ck_assert_int_eq(row_of(&dead).life.state, JOB_DEAD_LETTER);
    lab_finish(&lab, &job, "{}");
    ck_assert_int_eq(take_one().payload.at[0], '3');
}
END_TEST

START_TEST(an_expired_lease_goes_to_another_with_a_greater_epoch)
{
    struct job_spec job = spec("1");
    put(&job);
    struct job_row slow = take_one();
    lab_pass_ms(&lab, 15001);
    struct job_row quick = take_one();
    ck_assert_int_gt(quick.life.epoch, slow.life.epoch);
    ck_assert_int_eq(quick.life.attempt, 0); /* The lost attempt was given back. */
    ck_assert_str_eq(lab_complete(&lab, &slow, "{}").code, "LEASE_LOST");
    ck_assert_str_eq(lab_fail(&lab, &slow, "x", true).code, "LEASE_LOST");
    lab_finish(&lab, &quick, "{}");
    ck_assert_int_eq(row_of(&quick.id).life.state, JOB_SUCCEEDED);
}
END_TEST

START_TEST(every_attempt_leaves_a_row)
{
    struct job_spec spec_of_two = spec("1");
    spec_of_two.max_attempts = 2;
    struct id id = put(&spec_of_two).id;
    struct job_row job = take_one();
    lab_fail(&lab, &job, "first", true);
    lab_pass_ms(&lab, 10000);
    take_one();
    lab_pass_ms(&lab, 16000);
    job = take_one();
    lab_fail(&lab, &job, "last", true);
    static const char *const outcomes[] = {"failed", "lost", "failed"};
    struct attempt_row *rows;
    size_t count;
    ck_assert_int_eq(attempts_list(lab.db, &id, &lab.arena, &rows, &count, NULL), RC_OK);
    ck_assert_uint_eq(count, COUNT_OF(outcomes));
    for (size_t i = 0; i < count; i++)
        ck_assert_str_eq(rows[i].outcome, outcomes[i]);
    ck_assert_int_eq(row_of(&id).life.dead_reason, DEAD_MAX_ATTEMPTS);
}
END_TEST

START_TEST(a_failure_is_taken_once_and_one_that_was_not_heard_is_no_repeat)
{
    struct job_spec heard = spec("1"), unheard = spec("2");
    put(&heard);
    struct job_row job = take_one();
    ck_assert(lab_fail(&lab, &job, "x", false).ok);
    ck_assert(lab_fail(&lab, &job, "x", false).ok);
    unheard.ttl_us = 20 * US_PER_SECOND;
    put(&unheard);
    job = take_one();
    lab_pass_ms(&lab, 15001);
    lab_pass_ms(&lab, 5000);
    ck_assert_int_eq(row_of(&job.id).life.dead_reason, DEAD_EXPIRED);
    ck_assert_str_eq(lab_fail(&lab, &job, "x", true).code, "LEASE_LOST");
}
END_TEST

START_TEST(a_dead_letter_with_an_ugly_message_keeps_the_log_readable)
{
    struct job_spec one = spec("1");
    put(&one);
    struct job_row job = take_one();
    char ugly[4001];
    memset(ugly, 1, sizeof ugly - 1);
    ugly[sizeof ugly - 1] = '\0';
    struct cmd_fail *fail = cmd_fail_new();
    struct job_failed failed = {.ref = {job.id, job.life.epoch}, .code = "x", .message = ugly};
    fail->jobs = &failed;
    fail->count = 1;
    ck_assert_int_eq(lab_call(&lab, &fail->base), RC_OK);
    command_free(&fail->base);
    struct event_filter filter = {.limit = 10};
    struct event *events;
    size_t count;
    ck_assert_int_eq(events_list(lab.db, &filter, &lab.arena, &events, &count, NULL), RC_OK);
    ck_assert_uint_eq(count, 1);
    CLEANUP(js_freep) struct js *data = NULL;
    ck_assert_int_eq(js_parse(events[0].data.at, events[0].data.len, &data, NULL), RC_OK);
    ck_assert_str_eq(js_get_str(data, "lastError", ""), ugly);
}
END_TEST

/* Every call that names a lease, in the name of a principal. */
static struct job_answer ask_as(struct command *command, const char *principal,
                                struct job_answer *const *answers)
{
    command->principal = principal;
    ck_assert_msg(lab_call(&lab, command) == RC_OK, "%s", command->err.text);
    struct job_answer answer = (*answers)[0];
    command_free(command);
    return answer;
}

static struct job_answer complete_as(const char *principal, const struct job_ref *ref)
{
    struct cmd_complete *cmd = cmd_complete_new();
    struct job_done done = {.ref = *ref, .result = STR("{}")};
    cmd->jobs = &done;
    cmd->count = 1;
    return ask_as(&cmd->base, principal, &cmd->answers);
}

static struct job_answer fail_as(const char *principal, const struct job_ref *ref)
{
    struct cmd_fail *cmd = cmd_fail_new();
    struct job_failed failed = {.ref = *ref, .code = "x", .message = "y", .retryable = true};
    cmd->jobs = &failed;
    cmd->count = 1;
    return ask_as(&cmd->base, principal, &cmd->answers);
}

static struct job_answer release_as(const char *principal, const struct job_ref *ref)
{
    struct cmd_release *cmd = cmd_release_new();
    cmd->leases = ref;
    cmd->count = 1;
    return ask_as(&cmd->base, principal, &cmd->answers);
}

static struct job_answer progress_as(const char *principal, const struct job_ref *ref)
{
    struct cmd_progress *cmd = cmd_progress_new();
    ck_assert_int_eq(js_parse("[]", 2, &cmd->base.tree, NULL), RC_OK);
    struct job_progress progress = {.ref = *ref, .events = cmd->base.tree};
    cmd->jobs = &progress;
    cmd->count = 1;
    return ask_as(&cmd->base, principal, &cmd->answers);
}

static struct job_answer beat_as(const char *principal, const char *worker,
                                 const struct job_ref *ref)
{
    struct cmd_heartbeat *cmd = cmd_heartbeat_new();
    cmd->worker = worker;
    cmd->leases = ref;
    cmd->count = 1;
    cmd->extend_us = US_PER_HOUR;
    return ask_as(&cmd->base, principal, &cmd->answers);
}

static void must_be_lost(struct job_answer answer, const char *what)
{
    ck_assert_msg(!answer.ok && !answer.cancel, "%s", what);
    ck_assert_str_eq(answer.code, "LEASE_LOST");
}

START_TEST(a_lease_is_for_the_principal_that_took_it_only)
{
    struct job_spec one = spec("1");
    put(&one);
    struct job_row job = take_one();
    struct job_ref ref = {job.id, job.life.epoch};
    int64_t until_us = row_of(&job.id).life.due_us;
    must_be_lost(beat_as("other", job.worker, &ref), "heartbeat");
    must_be_lost(progress_as("other", &ref), "progress");
    must_be_lost(complete_as("other", &ref), "complete");
    must_be_lost(fail_as("other", &ref), "fail");
    must_be_lost(release_as("other", &ref), "release");
    must_be_lost(complete_as("", &ref), "no principal");
    struct job_row row = row_of(&job.id);
    ck_assert_int_eq(row.life.state, JOB_LEASED);
    ck_assert_int_eq(row.life.due_us, until_us);
    ck_assert_str_eq(row.life.owner, LAB_PRINCIPAL);
    ck_assert(complete_as(LAB_PRINCIPAL, &ref).ok);
    ck_assert(complete_as(LAB_PRINCIPAL, &ref).ok);           /* Its answer may be lost, */
    must_be_lost(complete_as("other", &ref), "what is over"); /* but that is its own. */
}
END_TEST

START_TEST(a_failure_that_is_told_again_must_be_told_by_its_owner)
{
    struct job_spec one = spec("1");
    put(&one);
    struct job_row job = take_one();
    struct job_ref ref = {job.id, job.life.epoch};
    ck_assert(fail_as(LAB_PRINCIPAL, &ref).ok);
    ck_assert(fail_as(LAB_PRINCIPAL, &ref).ok);
    must_be_lost(fail_as("other", &ref), "fail");
}
END_TEST

START_TEST(a_worker_renews_its_own_leases_and_those_of_its_slots)
{
    static const struct {
        const char *taken_by, *worker;
        bool may;
    } cases[] = {
        {"w/3", "w/3", true},   {"w/3", "w", true},     {"w/3", "w/", false}, {"w/3", "w/4", false},
        {"w/3", "w/31", false}, {"w/31", "w/3", false}, {"wx/3", "w", false}, {"w", "w", true},
        {"w", "w/3", false},    {"w", "", false},       {"/w", "", true},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct job_spec one = spec("1");
        put(&one);
        struct job_row *jobs;
        ck_assert_uint_eq(lab_lease(&lab, "q", cases[i].taken_by, &jobs), 1);
        struct job_ref ref = {jobs[0].id, jobs[0].life.epoch};
        struct job_answer answer = beat_as(LAB_PRINCIPAL, cases[i].worker, &ref);
        ck_assert_msg(answer.ok == cases[i].may, "%s for %s", cases[i].worker, cases[i].taken_by);
        if (!cases[i].may)
            must_be_lost(answer, cases[i].worker);
        ck_assert(complete_as(LAB_PRINCIPAL, &ref).ok);
    }
}
END_TEST

START_TEST(an_unknown_job_is_told_apart_from_a_lost_one)
{
    struct random random = random_seeded(1);
    struct job_row nobody = {.id = id_new(lab.now_us, &random), .life = {.epoch = 1}};
    ck_assert_str_eq(lab_complete(&lab, &nobody, "{}").code, "NOT_FOUND");
}
END_TEST

START_TEST(queue_names_are_plain)
{
    ck_assert(queue_name_valid("mail.out-2_x"));
    ck_assert(!queue_name_valid(""));
    ck_assert(!queue_name_valid("a b"));
    ck_assert(!queue_name_valid("a/b"));
}
END_TEST

static struct job_answer complete_with_next(const struct job_row *job, const struct job_spec *next)
{
    struct cmd_complete *cmd = cmd_complete_new();
    struct job_done done = {
        .ref = {job->id, job->life.epoch}, .result = STR("{}"), .next = next, .next_count = 1};
    cmd->jobs = &done;
    cmd->count = 1;
    ck_assert_int_eq(lab_call(&lab, &cmd->base), RC_OK);
    struct job_answer answer = cmd->answers[0];
    ck_assert(!answer.ok || done.made == NULL || !id_is_none(&done.made[0].id));
    command_free(&cmd->base);
    return answer;
}

START_TEST(what_follows_a_job_is_made_with_its_completion_and_once)
{
    struct job_spec first = spec("1"), next = spec("2");
    put(&first);
    struct job_row job = take_one();
    ck_assert(complete_with_next(&job, &next).ok);
    ck_assert(complete_with_next(&job, &next).ok); /* The answer was lost on the way. */
    struct job_row *jobs;
    ck_assert_uint_eq(take(&jobs), 1);
    ck_assert(str_is(jobs[0].payload, "2"));
    lab_pass_ms(&lab, 20000); /* The lease is lost: what it brings does not count. */
    ck_assert(!complete_with_next(&jobs[0], &next).ok);
    ck_assert_uint_eq(take(&jobs), 1);
    ck_assert(str_is(jobs[0].payload, "2"));
}
END_TEST

Suite *queue_suite(void)
{
    Suite *suite = suite_create("queue");
    TCase *tc = tcase_create("queue");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, what_follows_a_job_is_made_with_its_completion_and_once);
    tcase_add_test(tc, jobs_come_out_by_rank_then_by_arrival);
    tcase_add_test(tc, a_duplicate_is_named_and_not_stored);
    tcase_add_test(tc, one_of_a_key_is_in_flight_in_order);
    tcase_add_test(tc, a_retrying_head_keeps_its_key_and_a_dead_one_lets_go);
    tcase_add_test(tc, a_delayed_job_waits_for_its_time);
    tcase_add_test(tc, a_job_past_its_time_to_live_is_a_dead_letter);
    tcase_add_test(tc, a_blocked_job_that_outlives_its_time_does_not_block_its_key);
    tcase_add_test(tc, an_expired_lease_goes_to_another_with_a_greater_epoch);
    tcase_add_test(tc, every_attempt_leaves_a_row);
    tcase_add_test(tc, a_failure_is_taken_once_and_one_that_was_not_heard_is_no_repeat);
    tcase_add_test(tc, a_dead_letter_with_an_ugly_message_keeps_the_log_readable);
    tcase_add_test(tc, a_lease_is_for_the_principal_that_took_it_only);
    tcase_add_test(tc, a_failure_that_is_told_again_must_be_told_by_its_owner);
    tcase_add_test(tc, a_worker_renews_its_own_leases_and_those_of_its_slots);
    tcase_add_test(tc, an_unknown_job_is_told_apart_from_a_lost_one);
    tcase_add_test(tc, queue_names_are_plain);
    suite_add_tcase(suite, tc);
    return suite;
}
