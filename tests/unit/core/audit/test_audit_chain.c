/*
 * test_audit_chain.c - rows of the audit log, their hashes, and what is found when one is touched.
 */
#include "base/str.h"
#include "core/audit/audit_note.h"
#include <check.h>
#include <stdio.h>
#include <string.h>

enum { ROWS = 6 };

/* A sound log; texts of hashes are in the book. */
struct book {
    struct audit_entry rows[ROWS];
    char hashes[ROWS + 1][SHA256_TEXT_BYTES];
};

static void seal(struct book *book, size_t i)
{
    book->rows[i].prev_hash = book->hashes[i];
    audit_hash(&book->rows[i], book->hashes[i + 1]);
    book->rows[i].hash = book->hashes[i + 1];
}

static void open_book(struct book *book)
{
    static const char *const actions[ROWS] = {"task.submit", "queue.pause", "token.create",
                                              "pr.merge",    "task.cancel", "queue.resume"};
    memset(book, 0, sizeof *book);
    text_copy(book->hashes[0], SHA256_TEXT_BYTES, AUDIT_NO_HASH);
    for (size_t i = 0; i < ROWS; i++) {
        book->rows[i] = (struct audit_entry){
            .seq = (int64_t)i + 1,
            .time_us = 1000000 * ((int64_t)i + 1),
            .actor_type = "user",
            .actor_id = i % 2 ? "ann" : "bob",
            .action = actions[i],
            .outcome = AUDIT_DONE,
            .count = 1,
            .details = i == 2 ? "{\"name\":\"x\"}" : NULL,
        };
        seal(book, i);
    }
}

/* Checks rows in the order of the array; the head is that of the sound log, or none. */
static struct audit_chain check_rows(const struct audit_entry *rows, size_t count,
                                     const struct audit_chain_options *options,
                                     const struct audit_mark *head)
{
    struct audit_chain chain;
    audit_chain_begin(&chain, options);
    for (size_t i = 0; i < count && audit_chain_add(&chain, &rows[i]); i++)
        ;
    audit_chain_end(&chain, head);
    return chain;
}

static struct audit_mark head_of(const struct book *book)
{
    struct audit_mark head = {.seq = ROWS};
    text_copy(head.hash, sizeof head.hash, book->hashes[ROWS]);
    return head;
}

static const struct audit_chain_options plain;

static void expect(const struct audit_chain *chain, enum audit_damage damage, int64_t seq)
{
    ck_assert_msg(chain->damage == damage, "%s: %s", audit_damage_name(chain->damage), chain->text);
    ck_assert_int_eq(chain->bad_seq, seq);
}

START_TEST(a_log_that_was_not_touched_is_sound)
{
    struct book book;
    open_book(&book);
    struct audit_mark head = head_of(&book);
    struct audit_chain chain = check_rows(book.rows, ROWS, &plain, &head);
    expect(&chain, AUDIT_SOUND, 0);
    ck_assert_int_eq(chain.rows, ROWS);
    ck_assert_str_eq(chain.last.hash, head.hash);
    struct audit_mark none = {.hash = AUDIT_NO_HASH};
    chain = check_rows(NULL, 0, &plain, &none);
    expect(&chain, AUDIT_SOUND, 0);
}
END_TEST

/* The encoding is documented: who checks the log with other programs needs it to stay. */
START_TEST(the_hash_is_of_netstrings_in_the_order_of_the_documents)
{
    struct audit_entry row = {.seq = 7,
                              .time_us = 12,
                              .actor_type = "user",
                              .actor_id = "ann",
                              .token_id = "t",
                              .role = "admin",
                              .address = "::1",
                              .action = "a.b",
                              .resource_type = "a",
                              .resource_id = "x",
                              .outcome = "done",
                              .count = 1,
                              .request_id = "r",
                              .details = "{}",
                              .prev_hash = "ff"};
    static const char text[] = "14:drover-audit-1,1:7,2:12,4:user,3:ann,1:t,5:admin,3:::1,3:a.b,"
                               "1:a,1:x,4:done,0:,1:1,1:r,2:{},2:ff,";
    char want[SHA256_TEXT_BYTES], got[SHA256_TEXT_BYTES];
    sha256_hex(text, sizeof text - 1, want);
    audit_hash(&row, got);
    ck_assert_str_eq(got, want);
}
END_TEST

/* Each member: none can change unseen. */
START_TEST(a_changed_member_is_found)
{
    static const size_t texts[] = {
        offsetof(struct audit_entry, actor_type),    offsetof(struct audit_entry, actor_id),
        offsetof(struct audit_entry, token_id),      offsetof(struct audit_entry, role),
        offsetof(struct audit_entry, address),       offsetof(struct audit_entry, action),
        offsetof(struct audit_entry, resource_type), offsetof(struct audit_entry, resource_id),
        offsetof(struct audit_entry, outcome),       offsetof(struct audit_entry, code),
        offsetof(struct audit_entry, request_id),    offsetof(struct audit_entry, details),
        offsetof(struct audit_entry, prev_hash),     offsetof(struct audit_entry, hash),
    };
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        struct book book;
        open_book(&book);
        *(const char **)((char *)&book.rows[2] + texts[i]) = "changed";
        struct audit_chain chain = check_rows(book.rows, ROWS, &plain, NULL);
        expect(&chain, AUDIT_CHANGED, 3);
        ck_assert_int_eq(chain.rows, 2);
    }
    static const size_t numbers[] = {offsetof(struct audit_entry, time_us),
                                     offsetof(struct audit_entry, count)};
    for (size_t i = 0; i < COUNT_OF(numbers); i++) {
        struct book book;
        open_book(&book);
        *(int64_t *)((char *)&book.rows[2] + numbers[i]) += 1;
        struct audit_chain chain = check_rows(book.rows, ROWS, &plain, NULL);
        expect(&chain, AUDIT_CHANGED, 3);
    }
}
END_TEST

START_TEST(a_changed_row_with_a_new_hash_is_found_by_the_row_behind_it)
{
    struct book book;
    open_book(&book);
    char hash[SHA256_TEXT_BYTES];
    book.rows[2].actor_id = "eve";
    audit_hash(&book.rows[2], hash);
    book.rows[2].hash = hash;
    struct audit_chain chain = check_rows(book.rows, ROWS, &plain, NULL);
    expect(&chain, AUDIT_CHANGED, 3);
    /* Of the last row only the head tells. */
    open_book(&book);
    struct audit_mark head = head_of(&book);
    book.rows[ROWS - 1].actor_id = "eve";
    audit_hash(&book.rows[ROWS - 1], hash);
    book.rows[ROWS - 1].hash = hash;
    chain = check_rows(book.rows, ROWS, &plain, &head);
    expect(&chain, AUDIT_CHANGED, ROWS);
}
END_TEST

START_TEST(a_removed_row_is_found)
{
    for (size_t gone = 0; gone < ROWS - 1; gone++) {
        struct book book;
        open_book(&book);
        struct audit_mark head = head_of(&book);
        memmove(&book.rows[gone], &book.rows[gone + 1], (ROWS - 1 - gone) * sizeof *book.rows);
        struct audit_chain chain = check_rows(book.rows, ROWS - 1, &plain, &head);
        expect(&chain, AUDIT_REMOVED, (int64_t)gone + 1);
    }
}
END_TEST

START_TEST(swapped_rows_are_found)
{
    struct book book;
    open_book(&book);
    struct audit_entry third = book.rows[2];
    book.rows[2] = book.rows[4];
    book.rows[4] = third;
    book.rows[2].seq = 3; /* As a database would have them, in the order of their numbers. */
    book.rows[4].seq = 5;
    struct audit_chain chain = check_rows(book.rows, ROWS, &plain, NULL);
    expect(&chain, AUDIT_MOVED, 3);
    ck_assert_ptr_nonnull(strstr(chain.text, "written as 5"));
}
END_TEST

START_TEST(a_cut_end_is_found_by_the_head_or_by_a_note)
{
    struct book book;
    open_book(&book);
    struct audit_mark head = head_of(&book), note = head;
    struct audit_chain chain = check_rows(book.rows, 4, &plain, &head);
    expect(&chain, AUDIT_CUT, 5);
    /* With a head that was set back the rows alone look sound. */
    head.seq = 4;
    text_copy(head.hash, sizeof head.hash, book.hashes[4]);
    chain = check_rows(book.rows, 4, &plain, &head);
    expect(&chain, AUDIT_SOUND, 0);
    struct audit_chain_options options = {.marks = &note, .mark_count = 1};
    chain = check_rows(book.rows, 4, &options, &head);
    expect(&chain, AUDIT_CUT, 5);
}
END_TEST

START_TEST(rows_that_were_all_written_anew_are_found_by_a_note)
{
    struct book book;
    open_book(&book);
    struct audit_mark notes[] = {{.seq = 2}, {.seq = 4}};
    text_copy(notes[0].hash, SHA256_TEXT_BYTES, book.hashes[2]);
    text_copy(notes[1].hash, SHA256_TEXT_BYTES, book.hashes[4]);
    struct audit_chain_options options = {.marks = notes, .mark_count = COUNT_OF(notes)};
    struct audit_chain chain = check_rows(book.rows, ROWS, &options, NULL);
    expect(&chain, AUDIT_SOUND, 0);
    ck_assert_uint_eq(chain.marks_fit, 2);
    book.rows[2].actor_id = "eve";
    for (size_t i = 2; i < ROWS; i++)
        seal(&book, i);
    struct audit_mark head = head_of(&book);
    chain = check_rows(book.rows, ROWS, &plain, &head);
    expect(&chain, AUDIT_SOUND, 0);
    chain = check_rows(book.rows, ROWS, &options, &head);
    expect(&chain, AUDIT_REWRITTEN, 4);
    ck_assert_uint_eq(chain.marks_fit, 1);
}
END_TEST

START_TEST(rows_that_the_head_does_not_know_are_found)
{
    struct book book;
    open_book(&book);
    struct audit_mark head = {.seq = 4};
    text_copy(head.hash, sizeof head.hash, book.hashes[4]);
    struct audit_chain chain = check_rows(book.rows, ROWS, &plain, &head);
    expect(&chain, AUDIT_ADDED, 5);
    book.rows[0].seq = 0;
    chain = check_rows(book.rows, ROWS, &plain, NULL);
    ck_assert_int_ne(chain.damage, AUDIT_SOUND);
}
END_TEST

START_TEST(a_part_of_the_log_can_be_checked)
{
    struct book book;
    open_book(&book);
    const struct audit_chain_options part = {.from_anywhere = true};
    struct audit_chain chain = check_rows(book.rows + 3, 3, &part, NULL);
    expect(&chain, AUDIT_SOUND, 0);
    ck_assert_int_eq(chain.first_seq, 4);
    chain = check_rows(book.rows + 3, 3, &plain, NULL);
    expect(&chain, AUDIT_REMOVED, 1);
}
END_TEST

START_TEST(a_note_about_a_row_that_is_not_there_does_not_count_as_fitting)
{
    struct book book;
    open_book(&book);
    struct audit_mark notes[] = {{.seq = 1}, {.seq = 2}, {.seq = 5}};
    for (size_t i = 0; i < 2; i++) /* Of rows before the part: these cannot be compared. */
        text_copy(notes[i].hash, SHA256_TEXT_BYTES, AUDIT_NO_HASH);
    text_copy(notes[2].hash, SHA256_TEXT_BYTES, book.hashes[5]);
    const struct audit_chain_options part = {
        .from_anywhere = true, .marks = notes, .mark_count = COUNT_OF(notes)};
    struct audit_chain chain = check_rows(book.rows + 3, 3, &part, NULL);
    expect(&chain, AUDIT_SOUND, 0);
    ck_assert_uint_eq(chain.marks_fit, 1);
}
END_TEST

START_TEST(a_row_is_read_back_as_it_was_written)
{
    struct book book;
    open_book(&book);
    for (size_t i = 0; i < ROWS; i++) {
        CLEANUP(buf_release) struct buf text;
        CLEANUP(js_freep) struct js *tree = NULL;
        CLEANUP(arena_release) struct arena arena = {0};
        struct audit_entry got;
        char hash[SHA256_TEXT_BYTES];
        buf_init(&text, AUDIT_JSON_MAX);
        struct jw jw = jw_to(&text);
        audit_write(&jw, &book.rows[i]);
        ck_assert_int_eq(js_parse(text.data, text.len, &tree, NULL), RC_OK);
        ck_assert(audit_read(tree, &arena, &got));
        audit_hash(&got, hash);
        ck_assert_str_eq(hash, book.rows[i].hash);
    }
}
END_TEST

START_TEST(a_row_with_members_that_its_hash_is_not_over_is_none)
{
    static const char row[] =
        "{\"seq\":1,\"time\":\"2026-07-03T12:00:00Z\",\"actor\":{\"type\":\"user\"%s},"
        "\"action\":\"a.b\",\"outcome\":\"done\",\"count\":1,\"prevHash\":\"x\","
        "\"hash\":\"y\"%s}";
    static const struct {
        const char *actor, *more;
        bool good;
    } table[] = {
        {"", "", true},
        {",\"id\":\"ann\"", ",\"code\":\"C\",\"details\":{\"reason\":\"r\"}", true},
        {"", ",\"approvedBy\":\"eve\"", false},
        {",\"boss\":\"eve\"", "", false},
        {"", ",\"code\":5", false},
        {"", ",\"code\":null", false},
        {",\"id\":{\"x\":1}", "", false},
        {"", ",\"details\":\"text\"", false},
    };
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        CLEANUP(js_freep) struct js *tree = NULL;
        CLEANUP(arena_release) struct arena arena = {0};
        struct audit_entry entry;
        struct err err = {0};
        const char *text = arena_printf(&arena, row, table[i].actor, table[i].more);
        ck_assert_msg(js_parse(text, strlen(text), &tree, &err) == RC_OK, "%s", err.text);
        ck_assert_msg(audit_read(tree, &arena, &entry) == table[i].good, "%s", text);
    }
}
END_TEST

START_TEST(details_have_no_secrets_and_no_long_texts)
{
    CLEANUP(arena_release) struct arena arena = {0};
    char long_text[1000];
    memset(long_text, 'x', sizeof long_text);
    long_text[sizeof long_text - 1] = '\0';
    const char *text = audit_details(&arena, "reason",
                                     "it is ghp_0123456789abcdefghijklmnopqrstuvwxyz01", "none",
                                     NULL, "long", long_text, NULL);
    ck_assert_ptr_nonnull(text);
    ck_assert_ptr_null(strstr(text, "ghp_"));
    ck_assert_ptr_null(strstr(text, "none"));
    ck_assert_uint_lt(strlen(text), 400);
    ck_assert_ptr_null(audit_details(&arena, "reason", "", NULL));
    /* Cut between characters. */
    char wide[2 * AUDIT_TEXT_MAX + 2] = "a";
    for (size_t i = 1; i + 1 < sizeof wide; i += 2)
        memcpy(wide + i, "\xc3\xa4", 2);
    wide[sizeof wide - 1] = '\0';
    const char *cut = audit_text(wide, &arena);
    ck_assert(text_utf8_valid(cut, strlen(cut)));
    ck_assert_uint_le(strlen(cut), AUDIT_TEXT_MAX);
}
END_TEST

START_TEST(a_note_is_read_back_and_a_wrong_one_refused)
{
    struct audit_note note = {.mark = {.seq = 12}, .time_us = 1500000}, got;
    char text[AUDIT_NOTE_BYTES];
    sha256_hex("x", 1, note.mark.hash);
    audit_note_text(&note, text);
    ck_assert(audit_note_parse(text, &got));
    ck_assert_int_eq(got.mark.seq, 12);
    ck_assert_str_eq(got.mark.hash, note.mark.hash);
    ck_assert_int_eq(got.time_us, 1500000);
    ck_assert(!audit_note_parse("", &got));
    ck_assert(!audit_note_parse("drover-audit-note-1 seq=x", &got));
    text[strlen(text) - 1] = 'z';
    ck_assert(!audit_note_parse(text, &got));
}
END_TEST

enum { MANY_NOTES = 3 * AUDIT_NOTES_MAX };

/* The oldest note may be the only one from before the log was written anew. */
START_TEST(all_notes_of_a_file_are_used)
{
    CLEANUP(buf_release) struct buf file;
    CLEANUP(arena_release) struct arena arena = {0};
    struct audit_note note = {0};
    struct audit_notes notes;
    struct err err = {0};
    char text[AUDIT_NOTE_BYTES];
    buf_init(&file, (size_t)MANY_NOTES * AUDIT_NOTE_LINE_MAX);
    sha256_hex("x", 1, note.mark.hash);
    for (note.mark.seq = 1; note.mark.seq <= MANY_NOTES; note.mark.seq++) {
        audit_note_text(&note, text);
        audit_note_write(&file, text, "");
    }
    ck_assert_int_eq(audit_notes_parse(buf_str(&file), (struct str){0}, &arena, &notes, &err),
                     RC_OK);
    ck_assert_uint_eq(notes.count, MANY_NOTES);
    ck_assert_int_eq(audit_notes_marks(&notes, &arena)[0].seq, 1);
}
END_TEST

START_TEST(what_a_crash_has_left_of_a_note_is_passed_over)
{
    CLEANUP(buf_release) struct buf file;
    CLEANUP(arena_release) struct arena arena = {0};
    struct audit_note note = {.mark = {.seq = 7}};
    struct audit_notes notes;
    struct err err = {0};
    char text[AUDIT_NOTE_BYTES];
    buf_init(&file, (size_t)4 * AUDIT_NOTE_LINE_MAX);
    sha256_hex("x", 1, note.mark.hash);
    audit_note_text(&note, text);
    audit_note_write(&file, text, "");
    size_t whole = file.len;
    for (size_t left = 1; left < whole - 1; left++) {
        buf_cut(&file, whole);
        buf_add(&file, file.data, left);
        buf_addc(&file, '\n');
        audit_note_write(&file, text, "");
        ck_assert_int_eq(audit_notes_parse(buf_str(&file), (struct str){0}, &arena, &notes, &err),
                         RC_OK);
        ck_assert_uint_eq(notes.count, 2);
    }
    buf_cut(&file, whole); /* A line that was finished and is no note is not passed over. */
    buf_adds(&file, "{\"note\":\"drover\"}\n");
    ck_assert_int_eq(audit_notes_parse(buf_str(&file), (struct str){0}, &arena, &notes, &err),
                     RC_MALFORMED);
}
END_TEST

Suite *audit_chain_suite(void)
{
    Suite *suite = suite_create("audit_chain");
    TCase *tests = tcase_create("audit_chain");
    tcase_add_test(tests, a_log_that_was_not_touched_is_sound);
    tcase_add_test(tests, the_hash_is_of_netstrings_in_the_order_of_the_documents);
    tcase_add_test(tests, a_changed_member_is_found);
    tcase_add_test(tests, a_changed_row_with_a_new_hash_is_found_by_the_row_behind_it);
    tcase_add_test(tests, a_removed_row_is_found);
    tcase_add_test(tests, swapped_rows_are_found);
    tcase_add_test(tests, a_cut_end_is_found_by_the_head_or_by_a_note);
    tcase_add_test(tests, rows_that_were_all_written_anew_are_found_by_a_note);
    tcase_add_test(tests, rows_that_the_head_does_not_know_are_found);
    tcase_add_test(tests, a_part_of_the_log_can_be_checked);
    tcase_add_test(tests, a_note_about_a_row_that_is_not_there_does_not_count_as_fitting);
    tcase_add_test(tests, all_notes_of_a_file_are_used);
    tcase_add_test(tests, what_a_crash_has_left_of_a_note_is_passed_over);
    tcase_add_test(tests, a_row_is_read_back_as_it_was_written);
    tcase_add_test(tests, a_row_with_members_that_its_hash_is_not_over_is_none);
    tcase_add_test(tests, details_have_no_secrets_and_no_long_texts);
    tcase_add_test(tests, a_note_is_read_back_and_a_wrong_one_refused);
    suite_add_tcase(suite, tests);
    return suite;
}
