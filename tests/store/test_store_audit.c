/*
 * test_store_audit.c - the audit log in the database: appended, listed, verified, and touched by
 * hands that should not.
 */
#include "store/audit.h"
#include "store/query.h"
#include "tests/store/fixture.h"
#include <string.h>

/* Appends rows in one transaction, as a lane does. */
static void append(struct fixture *fixture, size_t count)
{
    struct fixture f = *fixture;
    struct audit_mark head;
    CLEANUP(tx_abort) struct tx tx = {0};
    must(tx_begin(f.db, &tx, &f.err));
    must(audit_lock(f.db, &head, &f.err));
    for (size_t i = 0; i < count; i++) {
        bool denied = head.seq % 3 == 2;
        struct audit_entry entry = {
            .time_us = 100 * (head.seq + 1),
            .actor_type = "user",
            .actor_id = head.seq % 2 ? "ann" : "bob",
            .action = denied ? "token.create" : "task.submit",
            .resource_type = denied ? "token" : "task",
            .resource_id = "x",
            .outcome = denied ? AUDIT_DENIED : AUDIT_DONE,
            .code = denied ? "ROLE_NOT_ALLOWED" : NULL,
            .count = 1,
            .details = "{\"reason\":\"grün\"}",
        };
        must(audit_append(f.db, &head, &entry, &fixture->arena, &f.err));
    }
    must(audit_save_head(f.db, &head, &f.err));
    must(tx_commit(&tx, &f.err));
}

static struct audit_chain verify(struct fixture *fixture, const struct audit_mark *notes,
                                 size_t count)
{
    struct fixture f = *fixture;
    struct audit_chain chain;
    audit_chain_begin(&chain, &(struct audit_chain_options){.marks = notes, .mark_count = count});
    must(audit_verify(f.db, &chain, &f.err));
    return chain;
}

static void expect(const struct audit_chain *chain, enum audit_damage damage, int64_t seq)
{
    ck_assert_msg(chain->damage == damage && chain->bad_seq == seq, "%s at %lld: %s",
                  audit_damage_name(chain->damage), (long long)chain->bad_seq, chain->text);
}

/* Somebody with access to the database. */
#define TAMPER(f, text)                                                  \
    do {                                                                 \
        static const struct sql sql_tamper = {"tamper", (text), ""};     \
        int64_t changed;                                                 \
        must(db_exec((f).db, &sql_tamper, NULL, 0, &changed, &(f).err)); \
        ck_assert_int_gt(changed, 0);                                    \
    } while (0)

START_TEST(rows_are_numbered_without_gaps_and_chained)
{
    FIXTURE(f);
    struct audit_chain chain = verify(&f, NULL, 0);
    expect(&chain, AUDIT_SOUND, 0);
    ck_assert_int_eq(chain.rows, 0);
    append(&f, 3);
    append(&f, 2);
    chain = verify(&f, NULL, 0);
    expect(&chain, AUDIT_SOUND, 0);
    ck_assert_int_eq(chain.rows, 5);
    struct audit_mark head;
    must(audit_head(f.db, &head, &f.err));
    ck_assert_int_eq(head.seq, 5);
    ck_assert_str_eq(head.hash, chain.last.hash);
}
END_TEST

/* Several pages of the verification. */
START_TEST(a_long_log_is_verified_page_by_page)
{
    FIXTURE(f);
    append(&f, 1200);
    struct audit_chain chain = verify(&f, NULL, 0);
    expect(&chain, AUDIT_SOUND, 0);
    ck_assert_int_eq(chain.rows, 1200);
    TAMPER(f, "UPDATE audit_log SET actor_id = 'eve' WHERE seq = 1001");
    chain = verify(&f, NULL, 0);
    expect(&chain, AUDIT_CHANGED, 1001);
    ck_assert_int_eq(chain.rows, 1000);
}
END_TEST

START_TEST(a_quick_look_checks_the_newest_rows)
{
    FIXTURE(f);
    struct audit_chain chain;
    must(audit_verify_newest(f.db, 3, &chain, &f.err));
    expect(&chain, AUDIT_SOUND, 0);
    append(&f, 9);
    TAMPER(f, "UPDATE audit_log SET actor_id = 'eve' WHERE seq = 2");
    must(audit_verify_newest(f.db, 3, &chain, &f.err));
    expect(&chain, AUDIT_SOUND, 0);
    ck_assert_int_eq(chain.rows, 3);
    must(audit_verify_newest(f.db, 100, &chain, &f.err));
    expect(&chain, AUDIT_CHANGED, 2);
    TAMPER(f, "DELETE FROM audit_log WHERE seq = 9");
    must(audit_verify_newest(f.db, 3, &chain, &f.err));
    expect(&chain, AUDIT_CUT, 9);
}
END_TEST

START_TEST(a_rolled_back_transaction_leaves_no_row_and_no_gap)
{
    FIXTURE(f);
    append(&f, 1);
    struct audit_mark head;
    struct tx tx = {0};
    struct audit_entry entry = {.action = "a.b", .outcome = AUDIT_DONE, .count = 1};
    must(tx_begin(f.db, &tx, &f.err));
    must(audit_lock(f.db, &head, &f.err));
    must(audit_append(f.db, &head, &entry, &f.arena, &f.err));
    must(audit_save_head(f.db, &head, &f.err));
    tx_abort(&tx);
    append(&f, 1);
    struct audit_chain chain = verify(&f, NULL, 0);
    expect(&chain, AUDIT_SOUND, 0);
    ck_assert_int_eq(chain.rows, 2);
}
END_TEST

START_TEST(a_changed_byte_is_found)
{
    FIXTURE(f);
    append(&f, 5);
    TAMPER(f, "UPDATE audit_log SET details = '{\"reason\":\"grun\"}' WHERE seq = 3");
    struct audit_chain chain = verify(&f, NULL, 0);
    expect(&chain, AUDIT_CHANGED, 3);
}
END_TEST

START_TEST(a_removed_row_is_found)
{
    FIXTURE(f);
    append(&f, 5);
    TAMPER(f, "DELETE FROM audit_log WHERE seq = 2");
    struct audit_chain chain = verify(&f, NULL, 0);
    expect(&chain, AUDIT_REMOVED, 2);
}
END_TEST

START_TEST(swapped_rows_are_found)
{
    FIXTURE(f);
    append(&f, 5);
    TAMPER(f, "UPDATE audit_log SET seq = -1 WHERE seq = 2");
    TAMPER(f, "UPDATE audit_log SET seq = 2 WHERE seq = 3");
    TAMPER(f, "UPDATE audit_log SET seq = 3 WHERE seq = -1");
    struct audit_chain chain = verify(&f, NULL, 0);
    expect(&chain, AUDIT_MOVED, 2);
}
END_TEST

START_TEST(a_cut_end_is_found_with_a_note_even_if_the_head_was_set_back)
{
    FIXTURE(f);
    append(&f, 5);
    struct audit_mark note;
    must(audit_head(f.db, &note, &f.err));
    TAMPER(f, "DELETE FROM audit_log WHERE seq > 3");
    struct audit_chain chain = verify(&f, NULL, 0);
    expect(&chain, AUDIT_CUT, 4);
    TAMPER(f, "UPDATE audit_head SET seq = 3, hash = (SELECT hash FROM audit_log WHERE seq = 3)");
    chain = verify(&f, NULL, 0);
    expect(&chain, AUDIT_SOUND, 0);
    chain = verify(&f, &note, 1);
    expect(&chain, AUDIT_CUT, 4);
    /* What is appended from now on does not fit the note. */
    append(&f, 4);
    chain = verify(&f, NULL, 0);
    expect(&chain, AUDIT_SOUND, 0);
    note.hash[0] = note.hash[0] == '0' ? '1' : '0';
    chain = verify(&f, &note, 1);
    expect(&chain, AUDIT_REWRITTEN, 5);
}
END_TEST

START_TEST(rows_behind_the_head_are_found)
{
    FIXTURE(f);
    append(&f, 5);
    TAMPER(f, "UPDATE audit_head SET seq = 4, hash = (SELECT hash FROM audit_log WHERE seq = 4)");
    struct audit_chain chain = verify(&f, NULL, 0);
    expect(&chain, AUDIT_ADDED, 5);
    TAMPER(f, "DELETE FROM audit_head");
    struct audit_mark head;
    must_be(RC_CORRUPT, audit_head(f.db, &head, &f.err));
    ck_assert_str_eq(f.err.code, "AUDIT_HEAD_MISSING");
}
END_TEST

static size_t list(struct fixture *fixture, const struct audit_filter *filter,
                   struct audit_entry **ret_rows)
{
    struct fixture f = *fixture;
    size_t count = 0;
    must(audit_list(f.db, filter, &fixture->arena, ret_rows, &count, &f.err));
    return count;
}

START_TEST(rows_are_listed_by_what_is_asked_for)
{
    FIXTURE(f);
    struct audit_entry *rows;
    append(&f, 9);
    ck_assert_uint_eq(list(&f, &(struct audit_filter){.limit = 100}, &rows), 9);
    ck_assert_int_eq(rows[0].seq, 1);
    ck_assert_str_eq(rows[2].action, "token.create");
    ck_assert_str_eq(rows[2].details, "{\"reason\":\"grün\"}");
    ck_assert_uint_eq(list(&f, &(struct audit_filter){.limit = 2, .newest_first = true}, &rows), 2);
    ck_assert_int_eq(rows[0].seq, 9);
    ck_assert_uint_eq(
        list(&f, &(struct audit_filter){.limit = 100, .newest_first = true, .until_seq = 3}, &rows),
        3);
    ck_assert_int_eq(rows[0].seq, 3);
    ck_assert_uint_eq(list(&f, &(struct audit_filter){.limit = 100, .action = "token."}, &rows), 3);
    ck_assert_uint_eq(list(&f, &(struct audit_filter){.limit = 100, .action = "token"}, &rows), 0);
    ck_assert_uint_eq(list(&f, &(struct audit_filter){.limit = 100, .outcome = AUDIT_DONE}, &rows),
                      6);
    ck_assert_uint_eq(list(&f, &(struct audit_filter){.limit = 100, .actor = "ann"}, &rows), 4);
    ck_assert_uint_eq(
        list(&f, &(struct audit_filter){.limit = 100, .since_us = 300, .until_us = 500}, &rows), 2);
    ck_assert_uint_eq(
        list(&f, &(struct audit_filter){.limit = 100, .resource_type = "token", .resource_id = "x"},
             &rows),
        3);
}
END_TEST

/* A call costs no more however long the log is. */
START_TEST(a_filtered_listing_reads_a_window)
{
    FIXTURE(f);
    struct audit_entry *rows;
    append(&f, 9);
    struct scan scan = {.rows_max = 4};
    struct audit_filter filter = {.limit = 100, .action = "token.", .scan = &scan};
    ck_assert_uint_eq(list(&f, &filter, &rows), 1);
    ck_assert_int_eq(scan.end_seq, 4);
    filter.after_seq = scan.end_seq;
    ck_assert_uint_eq(list(&f, &filter, &rows), 1);
    ck_assert_int_eq(scan.end_seq, 8);
    filter.after_seq = scan.end_seq;
    ck_assert_uint_eq(list(&f, &filter, &rows), 1);
    ck_assert_int_eq(scan.end_seq, 0);
    filter = (struct audit_filter){
        .limit = 100, .action = "token.", .scan = &scan, .newest_first = true};
    ck_assert_uint_eq(list(&f, &filter, &rows), 2);
    ck_assert_int_eq(rows[0].seq, 9);
    ck_assert_int_eq(scan.end_seq, 6);
    filter.until_seq = scan.end_seq - 1;
    ck_assert_uint_eq(list(&f, &filter, &rows), 1);
    ck_assert_int_eq(rows[0].seq, 3);
    ck_assert_int_eq(scan.end_seq, 2);
    filter.until_seq = scan.end_seq - 1;
    ck_assert_uint_eq(list(&f, &filter, &rows), 0);
    ck_assert_int_eq(scan.end_seq, 0);
}
END_TEST

Suite *store_audit_suite(void)
{
    Suite *suite = suite_create("store_audit");
    TCase *tc = tcase_create("store_audit");
    case_add(tc, rows_are_numbered_without_gaps_and_chained);
    case_add(tc, a_long_log_is_verified_page_by_page);
    case_add(tc, a_quick_look_checks_the_newest_rows);
    case_add(tc, a_rolled_back_transaction_leaves_no_row_and_no_gap);
    case_add(tc, a_changed_byte_is_found);
    case_add(tc, a_removed_row_is_found);
    case_add(tc, swapped_rows_are_found);
    case_add(tc, a_cut_end_is_found_with_a_note_even_if_the_head_was_set_back);
    case_add(tc, rows_behind_the_head_are_found);
    case_add(tc, rows_are_listed_by_what_is_asked_for);
    case_add(tc, a_filtered_listing_reads_a_window);
    suite_add_tcase(suite, tc);
    return suite;
}
