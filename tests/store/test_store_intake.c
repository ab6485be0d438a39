/*
 * test_store_intake.c - issues that were looked at.
 */
#include "store/intake.h"
#include "tests/store/fixture.h"

static struct intake_row row_of(struct fixture *f, int64_t number)
{
    return (struct intake_row){
        .id = fixture_id(f),
        .workspace_id = f->workspace_id,
        .repository_id = f->repository_id,
        .issue_number = number,
        .state = ISSUE_SEEN,
        .text_sha256 = "aa",
        .text_us = 3,
        .created_us = 17,
        .looked_us = 18,
        .updated_us = 19,
    };
}

START_TEST(an_issue_reads_back_and_is_saved)
{
    FIXTURE(f);
    struct intake_row row = row_of(&f, 12), got;
    must(intake_insert(f.db, &row, &f.err));
    must(intake_of_issue(f.db, &f.repository_id, 12, &f.arena, &got, &f.err));
    ck_assert_id_eq(got.id, row.id);
    ck_assert_str_eq(got.repository, "acme/billing");
    ck_assert_int_eq(got.state, ISSUE_SEEN);
    ck_assert_ptr_null(got.reason);
    ck_assert_ptr_null(got.wanted);
    ck_assert(id_is_none(&got.task_id));
    got.state = ISSUE_ACTIVE;
    got.reason = "asked for by ann";
    got.task_id = fixture_id(&f);
    got.asked_by = "ann";
    got.started_by = "label drover";
    got.last_comment_id = INT64_C(1) << 40;
    got.act_us = 20;
    got.text_sha256 = "bb";
    got.view_sha256 = "cc";
    got.prompt_sha256 = "dd";
    got.wanted = "wanted";
    got.told = "told";
    got.changed = got.closes = got.merged = true;
    must(intake_save(f.db, &got, &f.err));
    struct intake_row again;
    must(intake_of_task(f.db, &got.task_id, &f.arena, &again, &f.err));
    ck_assert_int_eq(again.state, ISSUE_ACTIVE);
    ck_assert_str_eq(again.reason, "asked for by ann");
    ck_assert_str_eq(again.started_by, "label drover");
    ck_assert_int_eq(again.last_comment_id, INT64_C(1) << 40);
    ck_assert_str_eq(again.wanted, "wanted");
    ck_assert_str_eq(again.told, "told");
    ck_assert(again.changed && again.closes && again.merged);
    ck_assert_int_eq(again.created_us, 17);
}
END_TEST

START_TEST(an_issue_has_one_row)
{
    FIXTURE(f);
    struct intake_row row = row_of(&f, 12), other = row_of(&f, 12), got;
    struct id nobody = fixture_id(&f);
    must(intake_insert(f.db, &row, &f.err));
    must_be(RC_NOT_FOUND, intake_of_issue(f.db, &f.repository_id, 13, &f.arena, &got, &f.err));
    must_be(RC_NOT_FOUND, intake_of_task(f.db, &nobody, &f.arena, &got, &f.err));
    ck_assert_int_ne(intake_insert(f.db, &other, &f.err), RC_OK);
}
END_TEST

START_TEST(issues_are_listed_by_repository_and_state_the_newest_first)
{
    FIXTURE(f);
    struct intake_row *rows;
    size_t count;
    for (int64_t i = 1; i <= 4; i++) {
        struct intake_row row = row_of(&f, i);
        row.state = i % 2 ? ISSUE_AWAITING : ISSUE_SEEN;
        must(intake_insert(f.db, &row, &f.err));
    }
    struct intake_filter filter = {.limit = 3};
    must(intake_list(f.db, &filter, &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 3);
    ck_assert_int_eq(rows[0].issue_number, 4);
    filter = (struct intake_filter){.before = rows[2].id, .limit = 3};
    must(intake_list(f.db, &filter, &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 1);
    filter = (struct intake_filter){.state = "awaiting", .repository = "acme/billing", .limit = 9};
    must(intake_list(f.db, &filter, &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 2);
    ck_assert_int_eq(rows[1].issue_number, 1);
    filter.repository = "acme/none";
    must(intake_list(f.db, &filter, &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 0);
}
END_TEST

Suite *store_intake_suite(void)
{
    Suite *suite = suite_create("store_intake");
    TCase *tests = tcase_create("store_intake");
    case_add(tests, an_issue_reads_back_and_is_saved);
    case_add(tests, an_issue_has_one_row);
    case_add(tests, issues_are_listed_by_repository_and_state_the_newest_first);
    suite_add_tcase(suite, tests);
    return suite;
}
