/*
 * test_store_sinks.c - cursors of sinks and the events that they refused, on each engine.
 */
#include "store/sinks.h"
#include "tests/store/fixture.h"

static void make(struct fixture *f, const char *name, int64_t cursor_seq)
{
    struct sink_row row = {
        .name = name, .cursor_seq = cursor_seq, .created_us = 5, .updated_us = 6};
    enum rc rc = sinks_make(f->db, &(struct lease_proof){f->db}, &row, &f->err);
    ck_assert_msg(rc == RC_OK, "%s", f->err.text);
}

static enum rc save(struct fixture *f, const struct sink_row *row)
{
    return sinks_save(f->db, &(struct lease_proof){f->db}, row, NULL, &f->err);
}

static enum rc refuse(struct fixture *f, const struct sink_dead_letter *letter)
{
    struct sink_row row = {.name = letter->sink, .cursor_seq = letter->seq};
    return sinks_save(f->db, &(struct lease_proof){f->db}, &row, letter, &f->err);
}

START_TEST(a_sink_is_made_once_and_keeps_its_cursor)
{
    FIXTURE(f);
    struct sink_row row;
    must_be(RC_NOT_FOUND, sinks_get(f.db, "file", &f.arena, &row, &f.err));
    make(&f, "file", 7);
    make(&f, "file", 99); /* A second node that starts at the same time. */
    make(&f, "other", 1);
    must(sinks_get(f.db, "file", &f.arena, &row, &f.err));
    ck_assert_str_eq(row.name, "file");
    ck_assert_int_eq(row.cursor_seq, 7);
    ck_assert_int_eq(row.dead_letters, 0);
    ck_assert_ptr_null(row.last_error);
    ck_assert_int_eq(row.created_us, 5);
    ck_assert_int_eq(row.updated_us, 6);
}
END_TEST

START_TEST(a_cursor_moves_forward_only)
{
    FIXTURE(f);
    struct sink_row row;
    make(&f, "file", 7);
    must(save(&f, &(struct sink_row){.name = "file", .cursor_seq = 9, .updated_us = 10}));
    must_be(RC_CONFLICT, save(&f, &(struct sink_row){.name = "file", .cursor_seq = 8}));
    must_be(RC_CONFLICT, save(&f, &(struct sink_row){.name = "none", .cursor_seq = 8}));
    must(sinks_get(f.db, "file", &f.arena, &row, &f.err));
    ck_assert_int_eq(row.cursor_seq, 9);
    ck_assert_int_eq(row.updated_us, 10);
}
END_TEST

START_TEST(an_error_stays_until_the_next_change)
{
    FIXTURE(f);
    struct sink_row row;
    make(&f, "file", 7);
    must(save(&f, &(struct sink_row){.name = "file", .cursor_seq = 7, .last_error = "full"}));
    must(sinks_get(f.db, "file", &f.arena, &row, &f.err));
    ck_assert_str_eq(row.last_error, "full");
    must(save(&f, &(struct sink_row){.name = "file", .cursor_seq = 7}));
    must(sinks_get(f.db, "file", &f.arena, &row, &f.err));
    ck_assert_ptr_null(row.last_error);
}
END_TEST

START_TEST(a_refused_event_is_recorded_once)
{
    FIXTURE(f);
    struct sink_row row;
    struct sink_dead_letter got;
    struct sink_dead_letter letter = {.sink = "file",
                                      .seq = 8,
                                      .event_id = fixture_id(&f),
                                      .event_type = "agent.run.started",
                                      .code = "TOO_LARGE",
                                      .message = "too large",
                                      .created_us = 12};
    make(&f, "file", 7);
    make(&f, "other", 7);
    must_be(RC_NOT_FOUND, sinks_last_dead_letter(f.db, "file", &f.arena, &got, &f.err));
    must(refuse(&f, &letter));
    must(refuse(&f, &letter)); /* The store did not answer the first time. */
    must(sinks_get(f.db, "file", &f.arena, &row, &f.err));
    ck_assert_int_eq(row.dead_letters, 1);
    letter.seq = 11;
    must(refuse(&f, &letter));
    must(sinks_last_dead_letter(f.db, "file", &f.arena, &got, &f.err));
    ck_assert_int_eq(got.seq, 11);
    ck_assert_id_eq(got.event_id, letter.event_id);
    ck_assert_str_eq(got.event_type, "agent.run.started");
    ck_assert_str_eq(got.code, "TOO_LARGE");
    ck_assert_str_eq(got.message, "too large");
    ck_assert_int_eq(got.created_us, 12);
    must(sinks_get(f.db, "other", &f.arena, &row, &f.err));
    ck_assert_int_eq(row.dead_letters, 0);
}
END_TEST

Suite *store_sinks_suite(void)
{
    Suite *suite = suite_create("store_sinks");
    TCase *tc = tcase_create("sinks");
    case_add(tc, a_sink_is_made_once_and_keeps_its_cursor);
    case_add(tc, a_cursor_moves_forward_only);
    case_add(tc, an_error_stays_until_the_next_change);
    case_add(tc, a_refused_event_is_recorded_once);
    suite_add_tcase(suite, tc);
    return suite;
}
