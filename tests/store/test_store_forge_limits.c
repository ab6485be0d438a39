/*
 * test_store_forge_limits.c - what forges have left, and what each repository has used of it.
 */
#include "store/forge_limits.h"
#include "tests/store/fixture.h"

static const struct forge_limit_key key = {"api.example.com", "TOKEN", "core"};

START_TEST(a_limit_is_made_when_it_is_taken_and_read_back_as_it_was_saved)
{
    FIXTURE(f);
    struct forge_limit_row row, got, *rows;
    size_t count;
    must(forge_limits_take(f.db, &key, 7, &f.arena, &row, &f.err));
    ck_assert_int_eq(row.quota.limit, -1);
    ck_assert_int_eq(row.quota.remaining, -1);
    ck_assert_int_eq(row.updated_us, 7);
    row.quota = (struct quota){.limit = 5000,
                               .remaining = 4000,
                               .reset_us = 11,
                               .granted = 20,
                               .blocked_us = 12,
                               .strikes = 2};
    row.updated_us = 8;
    must(forge_limits_save(f.db, &row, &f.err));
    must(forge_limits_take(f.db, &key, 99, &f.arena, &got, &f.err));
    ck_assert_mem_eq(&got.quota, &row.quota, sizeof row.quota);
    ck_assert_int_eq(got.updated_us, 8);
    const struct forge_limit_key other = {"api.example.com", "", "core"};
    must(forge_limits_take(f.db, &other, 1, &f.arena, &got, &f.err));
    must(forge_limits_list(f.db, &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 2);
    ck_assert_str_eq(rows[0].credential, "");
    ck_assert_str_eq(rows[1].credential, "TOKEN");
}
END_TEST

static struct forge_share_row share(const char *repository, int64_t window_us, int64_t used)
{
    return (struct forge_share_row){.host = key.host,
                                    .credential = key.credential,
                                    .resource = key.resource,
                                    .repository = repository,
                                    .window_us = window_us,
                                    .used = used};
}

START_TEST(shares_add_up_within_a_window_and_begin_anew_in_the_next)
{
    FIXTURE(f);
    const struct forge_share_row adds[] = {share("a/b", 100, 3), share("a/b", 100, 4),
                                           share("c/d", 100, 1), share("e/f", 200, 9)};
    struct forge_share_row *rows;
    size_t count;
    for (size_t i = 0; i < COUNT_OF(adds); i++)
        must(forge_shares_add(f.db, &adds[i], &f.err));
    must(forge_shares_list(f.db, &key, 100, &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 2);
    ck_assert_str_eq(rows[0].repository, "a/b");
    ck_assert_int_eq(rows[0].used, 7);
    ck_assert_int_eq(rows[1].used, 1);
    const struct forge_share_row next = share("a/b", 200, 2);
    must(forge_shares_add(f.db, &next, &f.err));
    must(forge_shares_list(f.db, &key, 200, &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 2);
    ck_assert_int_eq(rows[0].used, 2);
}
END_TEST

Suite *store_forge_limits_suite(void)
{
    Suite *suite = suite_create("store_forge_limits");
    TCase *tc = tcase_create("store_forge_limits");
    case_add(tc, a_limit_is_made_when_it_is_taken_and_read_back_as_it_was_saved);
    case_add(tc, shares_add_up_within_a_window_and_begin_anew_in_the_next);
    suite_add_tcase(suite, tc);
    return suite;
}
