/*
 * test_store_consumers.c - durable consumers, and the events that handlers have processed, on each
 * engine.
 */
#include "store/consumers.h"
#include "store/processed_events.h"
#include "tests/store/fixture.h"

static struct consumer_row row_of(const char *name)
{
    return (struct consumer_row){.name = name,
                                 .types = STR("[\"agent.>\"]"),
                                 .cursor_seq = 7,
                                 .epoch = 3,
                                 .created_us = 5,
                                 .updated_us = 6};
}

START_TEST(a_consumer_is_made_once)
{
    FIXTURE(f);
    struct consumer_row row = row_of("billing"), got;
    bool made = false;
    must_be(RC_NOT_FOUND, consumers_get(f.db, "billing", &f.arena, &got, &f.err));
    ck_assert_str_eq(f.err.code, "CONSUMER_NOT_FOUND");
    must(consumers_make(f.db, &row, &made, &f.err));
    ck_assert(made);
    row.cursor_seq = 99;
    must(consumers_make(f.db, &row, &made, &f.err));
    ck_assert(!made);
    must(consumers_get(f.db, "billing", &f.arena, &got, &f.err));
    ck_assert_int_eq(got.cursor_seq, 7);
    ck_assert_bytes_eq(got.types, "[\"agent.>\"]");
    ck_assert_int_eq(got.acked_us, 0);
}
END_TEST

START_TEST(its_place_is_kept)
{
    FIXTURE(f);
    struct consumer_row row = row_of("billing"), got;
    bool made;
    must(consumers_make(f.db, &row, &made, &f.err));
    row.cursor_seq = 12;
    row.epoch = 4;
    row.acked_us = 13;
    row.types = (struct str){0};
    must(consumers_save(f.db, &row, &f.err));
    if (engine_reopens(f.engine))
        fixture_reopen(&f);
    must(consumers_get(f.db, "billing", &f.arena, &got, &f.err));
    ck_assert(got.cursor_seq == 12 && got.epoch == 4 && got.acked_us == 13);
    ck_assert_uint_eq(got.types.len, 0);
    ck_assert_int_eq(got.created_us, 5);
}
END_TEST

START_TEST(consumers_are_listed_by_name)
{
    FIXTURE(f);
    static const char *const names[] = {"c", "a", "b"};
    struct consumer_row *rows;
    size_t count;
    int64_t total;
    bool made;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        struct consumer_row row = row_of(names[i]);
        must(consumers_make(f.db, &row, &made, &f.err));
    }
    must(consumers_count(f.db, &total, &f.err));
    ck_assert_int_eq(total, 3);
    must(consumers_list(f.db, NULL, 2, &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 2);
    ck_assert_str_eq(rows[0].name, "a");
    must(consumers_list(f.db, "b", 2, &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 1);
    ck_assert_str_eq(rows[0].name, "c");
    must(consumers_remove(f.db, "c", &f.err));
    must_be(RC_NOT_FOUND, consumers_remove(f.db, "c", &f.err));
}
END_TEST

static bool enter(struct fixture *fixture, const char *consumer, const char *id, int64_t us)
{
    struct fixture f = *fixture;
    const struct processed_event event = {consumer, id, us};
    bool first = false;
    must(processed_events_enter(f.db, &event, &first, &f.err));
    return first;
}

START_TEST(an_event_is_processed_once_for_each_handler)
{
    FIXTURE(f);
    ck_assert(enter(&f, "notices", "a", 10));
    ck_assert(!enter(&f, "notices", "a", 11));
    ck_assert(enter(&f, "notices", "b", 12));
    ck_assert(enter(&f, "other", "a", 13));
}
END_TEST

START_TEST(what_was_rolled_back_was_not_processed)
{
    FIXTURE(f);
    {
        CLEANUP(tx_abort) struct tx tx = {0};
        must(tx_begin(f.db, &tx, &f.err));
        ck_assert(enter(&f, "notices", "a", 10));
    }
    ck_assert(enter(&f, "notices", "a", 10));
}
END_TEST

START_TEST(old_ones_are_pruned_some_at_a_time)
{
    FIXTURE(f);
    int64_t count = 0;
    const struct processed_prune prune = {.before_us = 12, .limit = 1};
    ck_assert(enter(&f, "n", "a", 10));
    ck_assert(enter(&f, "n", "b", 11));
    ck_assert(enter(&f, "n", "c", 12));
    must(processed_events_prune(f.db, &prune, &count, &f.err));
    ck_assert_int_eq(count, 1);
    ck_assert(enter(&f, "n", "a", 20));
    must(processed_events_prune(f.db, &prune, &count, &f.err));
    must(processed_events_prune(f.db, &prune, &count, &f.err));
    ck_assert_int_eq(count, 0);
    ck_assert(enter(&f, "n", "b", 20));
    ck_assert(!enter(&f, "n", "c", 20));
}
END_TEST

Suite *store_consumers_suite(void)
{
    Suite *suite = suite_create("store_consumers");
    TCase *tc = tcase_create("consumers");
    case_add(tc, a_consumer_is_made_once);
    case_add(tc, its_place_is_kept);
    case_add(tc, consumers_are_listed_by_name);
    case_add(tc, an_event_is_processed_once_for_each_handler);
    case_add(tc, what_was_rolled_back_was_not_processed);
    case_add(tc, old_ones_are_pruned_some_at_a_time);
    suite_add_tcase(suite, tc);
    return suite;
}
