/*
 * test_store_topics.c - subscriptions, requests and schedules.
 */
#include "store/requests.h"
#include "store/schedules.h"
#include "store/subscriptions.h"
#include "tests/store/fixture.h"

START_TEST(a_subscription_is_kept_by_name_and_replaced)
{
    FIXTURE(f);
    struct subscription_row got, *rows;
    struct subscription_row row = {
        .name = "b", .pattern = "x.*", .queue = "q", .created_us = 5, .updated_us = 5};
    must(subscriptions_put(f.db, &row, &f.err));
    row = (struct subscription_row){
        .name = "b", .pattern = "x.>", .queue = "r", .created_us = 7, .updated_us = 7};
    must(subscriptions_put(f.db, &row, &f.err));
    row.name = "a";
    must(subscriptions_put(f.db, &row, &f.err));
    must(subscriptions_get(f.db, "b", &f.arena, &got, &f.err));
    ck_assert_str_eq(got.pattern, "x.>");
    ck_assert_str_eq(got.queue, "r");
    ck_assert_int_eq(got.created_us, 5);
    ck_assert_int_eq(got.updated_us, 7);
    int64_t total;
    must(subscriptions_count(f.db, &total, &f.err));
    ck_assert_int_eq(total, 2);
    size_t count;
    must(subscriptions_list(f.db, NULL, 10, &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 2);
    ck_assert_str_eq(rows[0].name, "a");
    must(subscriptions_list(f.db, "a", 10, &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 1);
    must(subscriptions_remove(f.db, "b", &f.err));
    must_be(RC_NOT_FOUND, subscriptions_remove(f.db, "b", &f.err));
    must_be(RC_NOT_FOUND, subscriptions_get(f.db, "b", &f.arena, &got, &f.err));
}
END_TEST

START_TEST(a_request_is_made_once_and_keeps_its_reply)
{
    FIXTURE(f);
    struct request_row got, row = {.id = fixture_id(&f),
                                   .topic = "t.x",
                                   .state = REQUEST_WAITING,
                                   .deadline_us = 100,
                                   .created_us = 1,
                                   .updated_us = 1};
    must(requests_insert(f.db, &row, &f.err));
    must_be(RC_CONFLICT, requests_insert(f.db, &row, &f.err));
    must(requests_get(f.db, &row.id, &f.arena, &got, &f.err));
    ck_assert_str_eq(got.state, REQUEST_WAITING);
    ck_assert_str_eq(got.topic, "t.x");
    ck_assert_int_eq(got.deadline_us, 100);
    ck_assert_uint_eq(got.reply.len, 0);
    ck_assert_ptr_null(got.replied_by);
    row.state = REQUEST_REPLIED;
    row.reply = STR("{\"payload\":1}");
    row.replied_by = "ann";
    row.updated_us = 50;
    must(requests_save(f.db, &row, &f.err));
    must(requests_get(f.db, &row.id, &f.arena, &got, &f.err));
    ck_assert_str_eq(got.state, REQUEST_REPLIED);
    ck_assert_bytes_eq(got.reply, "{\"payload\":1}");
    ck_assert_str_eq(got.replied_by, "ann");
    ck_assert_int_eq(got.updated_us, 50);
}
END_TEST

START_TEST(requests_are_forgotten_by_their_deadline)
{
    FIXTURE(f);
    struct request_row got, rows[2];
    for (int i = 0; i < 2; i++) {
        rows[i] = (struct request_row){
            .id = fixture_id(&f), .topic = "t", .state = REQUEST_WAITING, .deadline_us = 100 + i};
        must(requests_insert(f.db, &rows[i], &f.err));
    }
    must(requests_prune(f.db, 101, &f.err));
    must_be(RC_NOT_FOUND, requests_get(f.db, &rows[0].id, &f.arena, &got, &f.err));
    must(requests_get(f.db, &rows[1].id, &f.arena, &got, &f.err));
}
END_TEST

static struct schedule_row schedule(const char *name, bool enabled, int64_t next_us)
{
    return (struct schedule_row){.name = name,
                                 .cron = "@daily",
                                 .job = STR("{\"queue\":\"q\"}"),
                                 .enabled = enabled,
                                 .next_us = next_us,
                                 .created_us = 1,
                                 .updated_us = 1};
}

START_TEST(schedules_are_due_in_the_order_of_their_times)
{
    FIXTURE(f);
    int64_t next_us;
    size_t count;
    must_be(RC_NOT_FOUND, schedules_next_due(f.db, &next_us, &f.err));
    struct schedule_row *rows,
        all[] = {schedule("late", true, 30), schedule("early", true, 20), schedule("off", false, 0),
                 schedule("never", true, 0), schedule("future", true, 99)};
    for (size_t i = 0; i < COUNT_OF(all); i++)
        must(schedules_put(f.db, &all[i], &f.err));
    must(schedules_next_due(f.db, &next_us, &f.err));
    ck_assert_int_eq(next_us, 20);
    must(schedules_due(f.db, DUE_BY(30, 10), &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 2);
    ck_assert_str_eq(rows[0].name, "early");
    ck_assert_str_eq(rows[1].name, "late");
    must(schedules_due(f.db, DUE_BY(30, 1), &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 1);
    int64_t total;
    must(schedules_count(f.db, &total, &f.err));
    ck_assert_int_eq(total, COUNT_OF(all));
}
END_TEST

START_TEST(a_schedule_remembers_its_last_job_over_changes)
{
    FIXTURE(f);
    struct schedule_row got, row = schedule("s", true, 20);
    must(schedules_put(f.db, &row, &f.err));
    row.next_us = 40;
    row.last_us = 20;
    row.last_job_id = fixture_id(&f);
    must(schedules_save(f.db, &row, &f.err));
    struct schedule_row changed = schedule("s", false, 0);
    changed.cron = "@hourly";
    must(schedules_put(f.db, &changed, &f.err));
    must(schedules_get(f.db, "s", &f.arena, &got, &f.err));
    ck_assert_str_eq(got.cron, "@hourly");
    ck_assert_bytes_eq(got.job, "{\"queue\":\"q\"}");
    ck_assert(!got.enabled);
    ck_assert_int_eq(got.next_us, 0);
    ck_assert_int_eq(got.last_us, 20);
    ck_assert_id_eq(got.last_job_id, row.last_job_id);
    must(schedules_remove(f.db, "s", &f.err));
    must_be(RC_NOT_FOUND, schedules_remove(f.db, "s", &f.err));
    must_be(RC_NOT_FOUND, schedules_get(f.db, "s", &f.arena, &got, &f.err));
}
END_TEST

Suite *store_topics_suite(void)
{
    Suite *suite = suite_create("store_topics");
    TCase *tc = tcase_create("topics");
    case_add(tc, a_subscription_is_kept_by_name_and_replaced);
    case_add(tc, a_request_is_made_once_and_keeps_its_reply);
    case_add(tc, requests_are_forgotten_by_their_deadline);
    case_add(tc, schedules_are_due_in_the_order_of_their_times);
    case_add(tc, a_schedule_remembers_its_last_job_over_changes);
    suite_add_tcase(suite, tc);
    return suite;
}
