/*
 * test_spool.c - files without a name, within a budget.
 */
#include "base/fd.h"
#include "edge/spool.h"
#include "tests/unit/suites.h"
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#define MIB (INT64_C(1024) * 1024)

static char dir[64];
static struct spool *spool;
static struct err err;

static void setup(void)
{
    text_copy(dir, sizeof dir, "/tmp/spool-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    ck_assert_int_eq(spool_new(dir, 8 * MIB, &spool, &err), RC_OK);
}

static void teardown(void)
{
    struct spool_stats stats;
    spool_stats(spool, &stats);
    ck_assert_int_eq(stats.reserved, 0);
    ck_assert_int_eq(stats.files, 0);
    spool_free(spool);
    ck_assert_int_eq(dir_remove(dir, &err), RC_OK);
}

static struct spool_file *begin(const char *holder, int64_t bytes)
{
    struct spool_file *file = NULL;
    enum rc rc = spool_begin(spool, holder, bytes, &file, &err);
    ck_assert_msg(rc == RC_OK, "%s", err.text);
    return file;
}

START_TEST(what_was_added_is_read_and_has_no_name)
{
    struct spool_file *file = begin("ann", -1);
    ck_assert_int_eq(spool_add(file, "hello ", 6, &err), RC_OK);
    ck_assert_int_eq(spool_add(file, "world", 5, &err), RC_OK);
    ck_assert_int_eq(spool_file_bytes(file), 11);
    ck_assert_int_eq(spool_end(file, &err), RC_OK);
    struct str content = spool_file_content(file);
    ck_assert(str_is(content, "hello world"));
    DIR *entries = opendir(dir);
    int count = 0;
    while (readdir(entries))
        count++;
    closedir(entries);
    ck_assert_int_eq(count, 2); /* . and .. */
    spool_file_free(file);
}
END_TEST

START_TEST(one_holder_has_half_and_all_have_the_whole)
{
    struct spool_file *other = NULL;
    struct spool_file *first = begin("ann", 3 * MIB);
    ck_assert_int_eq(spool_begin(spool, "ann", 2 * MIB, &other, &err), RC_LIMIT);
    ck_assert_str_eq(err.code, "UPLOAD_QUOTA");
    struct spool_file *second = begin("ann", MIB), *third = begin("bob", 4 * MIB);
    ck_assert_int_eq(spool_begin(spool, "eve", 1, &other, &err), RC_BUSY);
    ck_assert_str_eq(err.code, "SPOOL_FULL");
    spool_file_free(second);
    spool_file_free(begin("eve", MIB));
    struct spool_stats stats;
    spool_stats(spool, &stats);
    ck_assert_int_eq(stats.reserved, 7 * MIB);
    ck_assert_int_eq(stats.refused, 2);
    spool_file_free(first);
    spool_file_free(third);
}
END_TEST

START_TEST(a_file_of_unknown_length_reserves_as_it_grows)
{
    static char bytes[64 * 1024];
    struct spool_file *file = begin("ann", -1);
    enum rc rc = RC_OK;
    int64_t added = 0;
    while (rc == RC_OK && (rc = spool_add(file, bytes, sizeof bytes, &err)) == RC_OK)
        added += (int64_t)sizeof bytes;
    ck_assert_int_eq(rc, RC_LIMIT);
    ck_assert_int_eq(added, 4 * MIB);
    spool_file_free(file);
}
END_TEST

Suite *spool_suite(void)
{
    Suite *suite = suite_create("spool");
    TCase *tc = tcase_create("spool");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, what_was_added_is_read_and_has_no_name);
    tcase_add_test(tc, one_holder_has_half_and_all_have_the_whole);
    tcase_add_test(tc, a_file_of_unknown_length_reserves_as_it_grows);
    suite_add_tcase(suite, tc);
    return suite;
}
