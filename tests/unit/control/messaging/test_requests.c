/*
 * test_requests.c - topics, requests and their replies, in virtual time.
 */
#include "base/clock.h"
#include "control/messaging/requests.h"
#include "control/messaging/subscriptions.h"
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
    lab_close(&lab);
}

static void subscribe(const char *name, const char *pattern, const char *queue)
{
    struct cmd_subscription_put *put = cmd_subscription_put_new();
    put->name = name;
    put->pattern = pattern;
    put->queue = queue;
    ck_assert_int_eq(lab_call(&lab, &put->base), RC_OK);
    command_free(&put->base);
}

static const struct message *messages(size_t count)
{
    struct message *all = arena_array(&lab.arena, count, sizeof *all);
    for (size_t i = 0; i < count; i++)
        all[i].job = (struct job_spec){.payload = str_of(arena_printf(&lab.arena, "%zu", i)),
                                       .priority = 100};
    return all;
}

static struct cmd_topic_send *publication(const char *topic, size_t count)
{
    struct cmd_topic_send *cmd = cmd_topic_send_new();
    cmd->dispatch = (struct dispatch){.topic = topic, .messages = messages(count), .count = count};
    return cmd;
}

static size_t waiting_in(const char *queue)
{
    struct job_filter filter = {.queue = queue, .state = JOB_QUEUED, .limit = 5000};
    struct job_row *rows;
    size_t count;
    ck_assert_int_eq(jobs_list(lab.db, &filter, &lab.arena, &rows, &count, NULL), RC_OK);
    return count;
}

static struct cmd_request *ask(const char *topic, const struct id *id, int64_t timeout_ms)
{
    struct cmd_request *cmd = cmd_request_new();
    cmd->topic = topic;
    cmd->message = *messages(1);
    cmd->timeout_us = timeout_ms * US_PER_MS;
    if (id != NULL)
        cmd->id = *id;
    lab_post(&lab, &cmd->base);
    lab_rounds(&lab);
    return cmd;
}

static struct cmd_reply *reply(const struct id *id, const char *json)
{
    struct cmd_reply *cmd = cmd_reply_new();
    cmd->id = *id;
    cmd->reply = str_of(json);
    cmd->base.actor = (struct actor){"worker", "w1"};
    lab_post(&lab, &cmd->base);
    return cmd;
}

static void ck_reply(const struct id *id, enum rc want, const char *code)
{
    struct cmd_reply *cmd = reply(id, "{\"payload\":2}");
    lab_rounds(&lab);
    ck_assert_int_eq(cmd->base.rc, want);
    ck_assert_str_eq(cmd->base.err.code, code);
    command_free(&cmd->base);
}

static int dropped(void)
{
    struct event_filter filter = {.type_pattern = EV_REPLY_DROPPED, .limit = 100};
    struct event *rows;
    size_t count;
    ck_assert_int_eq(events_list(lab.db, &filter, &lab.arena, &rows, &count, NULL), RC_OK);
    return (int)count;
}

START_TEST(every_subscription_that_matches_gets_a_copy)
{
    subscribe("one", "ticket.*", "q1");
    subscribe("two", "ticket.>", "q2");
    subscribe("other", "invoice.*", "q3");
    struct cmd_topic_send *cmd = publication("ticket.created", 3);
    ck_assert_int_eq(lab_call(&lab, &cmd->base), RC_OK);
    ck_assert_uint_eq(cmd->answers[2].count, 2);
    ck_assert_str_eq(cmd->answers[2].deliveries[0].subscription, "one");
    command_free(&cmd->base);
    ck_assert_uint_eq(waiting_in("q1"), 3);
    ck_assert_uint_eq(waiting_in("q2"), 3);
    ck_assert_uint_eq(waiting_in("q3"), 0);
}
END_TEST

START_TEST(a_subscription_of_the_same_batch_counts_from_its_place_on)
{
    struct cmd_topic_send *before = publication("t", 1), *after = publication("t", 1);
    struct cmd_subscription_put *put = cmd_subscription_put_new();
    put->name = "s";
    put->pattern = "t";
    put->queue = "q";
    lab_post(&lab, &before->base);
    lab_post(&lab, &put->base);
    lab_post(&lab, &after->base);
    lab_rounds(&lab);
    ck_assert_uint_eq(before->answers[0].count, 0);
    ck_assert_uint_eq(after->answers[0].count, 1);
    command_free(&before->base);
    command_free(&put->base);
    command_free(&after->base);
}
END_TEST

START_TEST(too_many_jobs_at_once_are_refused_with_their_number)
{
    subscribe("one", "t", "q1");
    subscribe("two", "t", "q2");
    struct cmd_topic_send *cmd = publication("t", 501);
    ck_assert_int_eq(lab_call(&lab, &cmd->base), RC_TOO_LARGE);
    ck_assert_ptr_nonnull(strstr(cmd->base.err.text, "1002 jobs"));
    command_free(&cmd->base);
    ck_assert_uint_eq(waiting_in("q1"), 0);
    cmd = publication("t", 500);
    ck_assert_int_eq(lab_call(&lab, &cmd->base), RC_OK);
    command_free(&cmd->base);
    ck_assert_uint_eq(waiting_in("q2"), 500);
}
END_TEST

START_TEST(a_full_queue_refuses_a_message_for_all_subscriptions)
{
    subscribe("one", "t", "q1");
    subscribe("two", "t", "q2");
    lab_queue(&lab, "q2", "{\"maxLength\":2}");
    struct cmd_topic_send *cmd = publication("t", 2);
    ck_assert_int_eq(lab_call(&lab, &cmd->base), RC_OK);
    command_free(&cmd->base);
    cmd = publication("t", 1);
    ck_assert_int_eq(lab_call(&lab, &cmd->base), RC_LIMIT);
    ck_assert_str_eq(cmd->base.err.code, "QUEUE_FULL");
    command_free(&cmd->base);
    struct cmd_request *request = ask("t", NULL, 1000);
    ck_assert_int_eq(request->base.rc, RC_LIMIT);
    command_free(&request->base);
    ck_assert_uint_eq(waiting_in("q1"), 2);
}
END_TEST

START_TEST(messages_keep_their_headers_and_are_not_gathered)
{
    subscribe("s", "t", "q");
    lab_queue(&lab, "q", "{\"batch\":{\"max\":10,\"windowMs\":1000}}");
    struct cmd_topic_send *cmd = publication("t", 3);
    ck_assert_int_eq(lab_call(&lab, &cmd->base), RC_OK);
    command_free(&cmd->base);
    ck_assert_uint_eq(waiting_in("q"), 3);
}
END_TEST

START_TEST(a_reply_wakes_the_request_in_its_own_commit)
{
    subscribe("s", "t", "q");
    struct cmd_request *request = ask("t", NULL, 1000), *other = ask("t", NULL, 1000);
    struct committer_stats stats;
    committer_stats(lab.committer, &stats);
    ck_assert_int_eq(stats.parked, 2);
    int64_t batches = stats.batches;
    struct cmd_reply *answer = reply(&request->id, "{\"payload\":42}");
    lab_rounds(&lab);
    ck_assert_int_eq(answer->base.rc, RC_OK);
    ck_assert_int_eq(request->base.rc, RC_OK);
    ck_assert(!request->waiting);
    ck_assert(str_is(request->row.reply, "{\"payload\":42}"));
    ck_assert_str_eq(request->row.replied_by, "w1");
    committer_stats(lab.committer, &stats);
    ck_assert_int_eq(stats.parked, 1);
    ck_assert_int_eq(stats.batches, batches + 1);
    command_free(&answer->base);
    command_free(&request->base);
    lab_pass_ms(&lab, 1000);
    command_free(&other->base);
}
END_TEST

START_TEST(a_request_without_a_reply_ends_at_its_deadline)
{
    subscribe("s", "t", "q");
    int before = lab.answered;
    struct cmd_request *request = ask("t", NULL, 1000);
    struct id id = request->id;
    lab.now_us += 999 * US_PER_MS;
    lab_rounds(&lab);
    ck_assert_int_eq(lab.answered, before);
    lab.now_us += US_PER_MS;
    lab_rounds(&lab);
    ck_assert_int_eq(lab.answered, before + 1);
    ck_assert_int_eq(request->base.rc, RC_TIMEOUT);
    ck_assert_str_eq(request->base.err.code, "REQUEST_TIMED_OUT");
    command_free(&request->base);
    ck_reply(&id, RC_CONFLICT, "REPLY_LATE");
    ck_assert_int_eq(dropped(), 1);
    request = ask("t", &id, 1000);
    ck_assert_int_eq(request->base.rc, RC_TIMEOUT);
    command_free(&request->base);
}
END_TEST

START_TEST(the_last_look_sees_a_reply_that_nobody_told_of)
{
    subscribe("s", "t", "q");
    struct cmd_request *request = ask("t", NULL, 1000);
    struct request_row row;
    ck_assert_int_eq(requests_get(lab.db, &request->id, &lab.arena, &row, NULL), RC_OK);
    row.state = REQUEST_REPLIED;
    row.reply = STR("{\"payload\":7}");
    ck_assert_int_eq(requests_save(lab.db, &row, NULL), RC_OK);
    lab.now_us += 1000 * US_PER_MS;
    lab_rounds(&lab);
    ck_assert_int_eq(request->base.rc, RC_OK);
    ck_assert(str_is(request->row.reply, "{\"payload\":7}"));
    command_free(&request->base);
}
END_TEST

START_TEST(one_reply_is_kept_and_the_second_leaves_a_trace)
{
    subscribe("s", "t", "q");
    struct cmd_request *request = ask("t", NULL, 1000);
    struct id id = request->id, nobody = id_of("0190b6a0-0000-7000-8000-000000000000");
    ck_reply(&id, RC_OK, "");
    ck_assert_int_eq(dropped(), 0);
    ck_reply(&id, RC_CONFLICT, "REPLY_TAKEN");
    ck_assert_int_eq(dropped(), 1);
    ck_reply(&nobody, RC_NOT_FOUND, "REQUEST_NOT_FOUND");
    ck_assert_int_eq(dropped(), 1);
    command_free(&request->base);
}
END_TEST

START_TEST(a_repeated_request_publishes_once_and_gets_the_same_reply)
{
    subscribe("s", "t", "q");
    struct id id = id_of("0190b6a0-0000-7000-8000-000000000001");
    struct cmd_request *first = ask("t", &id, 1000), *again = ask("t", &id, 60000);
    ck_assert_uint_eq(waiting_in("q"), 1);
    ck_reply(&id, RC_OK, "");
    struct cmd_request *late = ask("t", &id, 1000);
    struct cmd_request *all[] = {first, again, late};
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        ck_assert_int_eq(all[i]->base.rc, RC_OK);
        ck_assert(str_is(all[i]->row.reply, "{\"payload\":2}"));
        command_free(&all[i]->base);
    }
    struct cmd_request *elsewhere = ask("u", &id, 1000);
    ck_assert_int_eq(elsewhere->base.rc, RC_CONFLICT);
    ck_assert_str_eq(elsewhere->base.err.code, "REQUEST_ID_TAKEN");
    command_free(&elsewhere->base);
    ck_assert_uint_eq(waiting_in("q"), 1);
}
END_TEST

START_TEST(a_request_nobody_would_hear_is_refused_and_not_kept)
{
    struct cmd_request *request = ask("t", NULL, 1000);
    ck_assert_int_eq(request->base.rc, RC_NOT_FOUND);
    ck_assert_str_eq(request->base.err.code, "NO_SUBSCRIBER");
    ck_reply(&request->id, RC_NOT_FOUND, "REQUEST_NOT_FOUND");
    command_free(&request->base);
}
END_TEST

START_TEST(a_client_that_leaves_does_not_end_its_request)
{
    subscribe("s", "t", "q");
    struct cmd_request *request = ask("t", NULL, 1000);
    struct id id = request->id;
    int before = lab.answered;
    committer_abandon(lab.committer, &request->base);
    lab_rounds(&lab);
    ck_assert_int_eq(lab.answered, before + 1);
    command_free(&request->base);
    ck_reply(&id, RC_OK, "");
    request = ask("t", &id, 1000);
    ck_assert_int_eq(request->base.rc, RC_OK);
    ck_assert_str_eq(request->row.state, REQUEST_REPLIED);
    command_free(&request->base);
}
END_TEST

START_TEST(a_server_that_stops_lets_its_requests_go_unanswered)
{
    subscribe("s", "t", "q");
    struct cmd_request *request = ask("t", NULL, 1000);
    committer_drain(lab.committer, "");
    lab_rounds(&lab);
    ck_assert_int_eq(request->base.rc, RC_OK);
    ck_assert(request->waiting);
    command_free(&request->base);
}
END_TEST

Suite *requests_suite(void)
{
    Suite *suite = suite_create("requests");
    TCase *tc = tcase_create("requests");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, every_subscription_that_matches_gets_a_copy);
    tcase_add_test(tc, a_subscription_of_the_same_batch_counts_from_its_place_on);
    tcase_add_test(tc, too_many_jobs_at_once_are_refused_with_their_number);
    tcase_add_test(tc, a_full_queue_refuses_a_message_for_all_subscriptions);
    tcase_add_test(tc, messages_keep_their_headers_and_are_not_gathered);
    tcase_add_test(tc, a_reply_wakes_the_request_in_its_own_commit);
    tcase_add_test(tc, a_request_without_a_reply_ends_at_its_deadline);
    tcase_add_test(tc, the_last_look_sees_a_reply_that_nobody_told_of);
    tcase_add_test(tc, one_reply_is_kept_and_the_second_leaves_a_trace);
    tcase_add_test(tc, a_repeated_request_publishes_once_and_gets_the_same_reply);
    tcase_add_test(tc, a_request_nobody_would_hear_is_refused_and_not_kept);
    tcase_add_test(tc, a_client_that_leaves_does_not_end_its_request);
    tcase_add_test(tc, a_server_that_stops_lets_its_requests_go_unanswered);
    suite_add_tcase(suite, tc);
    return suite;
}
