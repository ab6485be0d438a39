/*
 * test_store_schemas.c - schemas of clients: versions, the latest one, and what is removed.
 */
#include "store/query.h"
#include "store/schemas.h"
#include "tests/store/fixture.h"

static void insert(struct fixture *f, const char *name, int64_t version, const char *document)
{
    const struct schema_row row = {.name = name,
                                   .version = version,
                                   .document = str_of(document),
                                   .created_by = "ada",
                                   .created_us = version};
    ck_assert_int_eq(schemas_insert(f->db, &row, &f->err), RC_OK);
}

START_TEST(versions_are_kept_and_the_latest_is_found)
{
    FIXTURE(f);
    struct schema_row got, *rows;
    size_t count;
    insert(&f, "b", 1, "{\"a\": 1}");
    insert(&f, "b", 2, "{}");
    insert(&f, "a", 1, "true");
    must(schemas_get(f.db, "b", 0, &f.arena, &got, &f.err));
    ck_assert_int_eq(got.version, 2);
    must(schemas_get(f.db, "b", 1, &f.arena, &got, &f.err));
    ck_assert_bytes_eq(got.document, "{\"a\": 1}"); /* Blanks and all. */
    ck_assert_str_eq(got.created_by, "ada");
    must_be(RC_NOT_FOUND, schemas_get(f.db, "b", 3, &f.arena, &got, &f.err));
    must_be(RC_NOT_FOUND, schemas_get(f.db, "c", 0, &f.arena, &got, &f.err));
    must(schemas_list(f.db, NULL, 10, &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 2);
    ck_assert_str_eq(rows[0].name, "a");
    ck_assert_int_eq(rows[1].version, 2);
    must(schemas_list(f.db, "a", 10, &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 1);
    must(schemas_versions(f.db, "b", 10, &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 2);
    ck_assert_int_eq(rows[0].version, 2);
}
END_TEST

START_TEST(a_removed_name_is_gone_but_its_numbers_stay_taken)
{
    FIXTURE(f);
    struct schema_row got, *rows;
    size_t count;
    int64_t number;
    insert(&f, "b", 1, "{}");
    insert(&f, "b", 2, "{}");
    must(schemas_count(f.db, &number, &f.err));
    ck_assert_int_eq(number, 1);
    must(schemas_remove(f.db, "b", 7, &f.err));
    must_be(RC_NOT_FOUND, schemas_remove(f.db, "b", 8, &f.err));
    must_be(RC_NOT_FOUND, schemas_get(f.db, "b", 0, &f.arena, &got, &f.err));
    must_be(RC_NOT_FOUND, schemas_get(f.db, "b", 1, &f.arena, &got, &f.err));
    must(schemas_list(f.db, NULL, 10, &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 0);
    must(schemas_count(f.db, &number, &f.err));
    ck_assert_int_eq(number, 0);
    must(schemas_last_version(f.db, "b", &number, &f.err));
    ck_assert_int_eq(number, 2);
    must(schemas_last_version(f.db, "c", &number, &f.err));
    ck_assert_int_eq(number, 0);
}
END_TEST

static const struct sql sql_rows = {
    "test_schema_rows",
    "SELECT count(*) FROM schemas WHERE name = $1",
    "t",
};

START_TEST(of_a_removed_name_one_small_row_stays)
{
    FIXTURE(f);
    int64_t number;
    for (int64_t version = 1; version <= 5; version++)
        insert(&f, "b", version, "{\"title\": \"long\"}");
    insert(&f, "c", 1, "{}");
    must(schemas_remove(f.db, "b", 7, &f.err));
    must(query_int(f.db, &sql_rows, P_LIST(P_TEXT("b")), &number, &f.err));
    ck_assert_int_eq(number, 1);
    must(schemas_last_version(f.db, "b", &number, &f.err));
    ck_assert_int_eq(number, 5);
    insert(&f, "b", 6, "true");
    must(schemas_remove(f.db, "b", 9, &f.err));
    must(schemas_last_version(f.db, "b", &number, &f.err));
    ck_assert_int_eq(number, 6);
    must(schemas_last_version(f.db, "c", &number, &f.err));
    ck_assert_int_eq(number, 1);
}
END_TEST

Suite *store_schemas_suite(void)
{
    Suite *suite = suite_create("store_schemas");
    TCase *tc = tcase_create("schemas");
    case_add(tc, versions_are_kept_and_the_latest_is_found);
    case_add(tc, a_removed_name_is_gone_but_its_numbers_stay_taken);
    case_add(tc, of_a_removed_name_one_small_row_stays);
    suite_add_tcase(suite, tc);
    return suite;
}
