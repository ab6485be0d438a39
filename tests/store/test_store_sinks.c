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
    struct sink_row row = {.name = letter->sink, .cursor_seq = letter->seq, .created_us = 5};
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
    must(save(&f, &(struct sink_row){
                      .name = "file", .created_us = 5, .cursor_seq = 9, .updated_us = 10}));
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
    must(save(&f, &(struct sink_row){
                      .name = "file", .created_us = 5, .cursor_seq = 7, .last_error = "full"}));
    must(sinks_get(f.db, "file", &f.arena, &row, &f.err));
    ck_assert_str_eq(row.last_error, "full");
    must(save(&f, &(struct sink_row){.name = "file", .created_us = 5, .cursor_seq = 7}));
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

START_TEST(the_relay_and_the_api_write_their_own_columns)
{
    FIXTURE(f);
    struct sink_row row, *rows;
    size_t count = 0;
    int64_t number = 0;
    make(&f, "file", 7);
    must(sinks_insert(f.db,
                      &(struct sink_row){.name = "hook",
                                         .cursor_seq = 3,
                                         .config = STR("{\"type\":\"webhook\"}"),
                                         .revision = 20,
                                         .created_us = 20,
                                         .updated_us = 20},
                      &f.err));
    must_be(RC_CONFLICT, sinks_insert(f.db, &(struct sink_row){.name = "hook"}, &f.err));
    must(sinks_count_made(f.db, &number, &f.err));
    ck_assert_int_eq(number, 1);
    must(sinks_get(f.db, "hook", &f.arena, &row, &f.err));
    struct sink_row relays = row, apis = row;
    apis.paused = true;
    apis.revision = 21;
    must(sinks_configure(f.db, &apis, &f.err));
    relays.cursor_seq = 9;
    relays.delivered = 6;
    must(save(&f, &relays)); /* With what it read before. */
    must(sinks_list(f.db, &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 2);
    ck_assert_str_eq(rows[1].name, "hook");
    ck_assert(rows[1].paused);
    ck_assert_int_eq(rows[1].revision, 21);
    ck_assert_int_eq(rows[1].cursor_seq, 9);
    ck_assert_int_eq(rows[1].delivered, 6);
    ck_assert_uint_gt(rows[1].config.len, 0);
    ck_assert_uint_eq(rows[0].config.len, 0);
    must(sinks_revision(f.db, "hook", 20, &number, &f.err));
    ck_assert_int_eq(number, 21);
    must_be(RC_NOT_FOUND, sinks_revision(f.db, "hook", 19, &number, &f.err));
    relays.created_us = 19; /* Of one that was removed. */
    must_be(RC_CONFLICT, save(&f, &relays));
}
END_TEST

START_TEST(dead_letters_are_listed_marked_kept_and_removed)
{
    FIXTURE(f);
    struct sink_dead_letter *letters;
    size_t count = 0;
    int64_t number = 0;
    struct lease_proof proof = {f.db};
    make(&f, "file", 0);
    make(&f, "other", 0);
    for (int64_t seq = 1; seq <= 4; seq++)
        must(refuse(&f, &(struct sink_dead_letter){.sink = "file",
                                                   .seq = seq,
                                                   .event_id = fixture_id(&f),
                                                   .event_type = "t",
                                                   .code = "C",
                                                   .message = "m"}));
    struct sink_letter_filter filter = {.sink = "file", .after_seq = 1, .limit = 2};
    must(sink_letters_list(f.db, &filter, &f.arena, &letters, &count, &f.err));
    ck_assert_uint_eq(count, 2);
    ck_assert_int_eq(letters[0].seq, 2);
    must(sink_letters_replay(f.db, &(struct sink_letter_key){"file", 3}, &number, &f.err));
    ck_assert_int_eq(number, 1);
    must(sink_letters_replay(f.db, &(struct sink_letter_key){"other", 0}, &number, &f.err));
    ck_assert_int_eq(number, 0);
    filter = (struct sink_letter_filter){.sink = "file", .replay_only = true, .limit = 9};
    must(sink_letters_list(f.db, &filter, &f.arena, &letters, &count, &f.err));
    ck_assert_uint_eq(count, 1);
    letters[0].replay = false;
    letters[0].code = "D";
    must(sink_letters_keep(f.db, &proof, &letters[0], &f.err));
    must(sink_letters_list(f.db, &filter, &f.arena, &letters, &count, &f.err));
    ck_assert_uint_eq(count, 0);
    must(sink_letters_remove(f.db, &proof, &(struct sink_dead_letter){.sink = "file", .seq = 4},
                             &f.err));
    struct sink_dead_letter last;
    must(sinks_last_dead_letter(f.db, "file", &f.arena, &last, &f.err));
    ck_assert_int_eq(last.seq, 3);
    ck_assert_str_eq(last.code, "D");
    must(sink_letters_discard(f.db, &(struct sink_letter_key){"file", 0}, &number, &f.err));
    ck_assert_int_eq(number, 3);
}
END_TEST

START_TEST(a_sink_is_removed_with_its_dead_letters)
{
    FIXTURE(f);
    struct sink_row row;
    make(&f, "file", 0);
    must(refuse(&f, &(struct sink_dead_letter){.sink = "file",
                                               .seq = 1,
                                               .event_id = fixture_id(&f),
                                               .event_type = "t",
                                               .code = "C",
                                               .message = "m"}));
    must(sinks_remove(f.db, "file", &f.err));
    must_be(RC_NOT_FOUND, sinks_get(f.db, "file", &f.arena, &row, &f.err));
    must_be(RC_NOT_FOUND, sinks_remove(f.db, "file", &f.err));
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
    case_add(tc, the_relay_and_the_api_write_their_own_columns);
    case_add(tc, dead_letters_are_listed_marked_kept_and_removed);
    case_add(tc, a_sink_is_removed_with_its_dead_letters);
    suite_add_tcase(suite, tc);
    return suite;
}
