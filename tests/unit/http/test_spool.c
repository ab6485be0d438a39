/*
 * test_spool.c - files without a name, within a budget.
 */
#include "base/fd.h"
#include "http/spool.h"
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
    struct spool_claim claim = {
        .holder = holder, .admin = text_starts(holder, "admin"), .bytes = bytes};
    enum rc rc = spool_begin(spool, &claim, &file, &err);
    ck_assert_msg(rc == RC_OK, "%s", err.text);
    return file;
}

static enum rc add(struct spool_file *file, int64_t len)
{
    static char bytes[64 * 1024];
    enum rc rc = RC_OK;
    for (int64_t part; rc == RC_OK && len > 0; len -= part) {
        part = len < (int64_t)sizeof bytes ? len : (int64_t)sizeof bytes;
        rc = spool_add(file, bytes, (size_t)part, &err);
    }
    return rc;
}

static struct spool_file *filled(const char *holder, int64_t bytes)
{
    struct spool_file *file = begin(holder, bytes);
    enum rc rc = add(file, bytes);
    ck_assert_msg(rc == RC_OK, "%s", err.text);
    return file;
}

static int64_t reserved(void)
{
    struct spool_stats stats;
    spool_stats(spool, &stats);
    return stats.reserved;
}

static void refused(const char *holder, int64_t bytes, const char *code)
{
    struct spool_file *file = NULL;
    enum rc rc = spool_begin(spool, &(struct spool_claim){.holder = holder, .bytes = bytes}, &file,
                             &err);
    ck_assert_int_eq(rc, text_same(code, "SPOOL_FULL") ? RC_BUSY : RC_LIMIT);
    ck_assert_str_eq(err.code, code);
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
    while (readdir(entries) != NULL)
        count++;
    closedir(entries);
    ck_assert_int_eq(count, 2); /* . and .. */
    spool_file_free(file);
}
END_TEST

/* Of 8 MiB: 2 for admins, 6 for others, 3 for one of them. */
START_TEST(one_holder_gets_half_of_what_the_others_leave)
{
    struct spool_file *files[] = {filled("ann", 2 * MIB), filled("ann", MIB)};
    refused("ann", 1, "UPLOAD_QUOTA");
    refused("bob", 3 * MIB / 2 + 1, "SPOOL_FULL");
    struct spool_file *second = filled("bob", 3 * MIB / 2), *third = filled("eve", 3 * MIB / 4);
    refused("eve", 1, "SPOOL_FULL");
    spool_file_free(filled("joe", 3 * MIB / 8)); /* There is a share for one more. */
    spool_file_free(second);
    spool_file_free(filled("joe", MIB));
    struct spool_stats stats;
    spool_stats(spool, &stats);
    ck_assert_int_eq(stats.reserved, 3 * MIB + 3 * MIB / 4);
    ck_assert_int_eq(stats.refused, 3);
    spool_file_free(third);
    for (size_t i = 0; i < COUNT_OF(files); i++)
        spool_file_free(files[i]);
}
END_TEST

START_TEST(a_quarter_is_kept_for_admins)
{
    struct spool_file *files[] = {filled("ann", 3 * MIB), filled("bob", 3 * MIB / 2),
                                  filled("admin", 3 * MIB)};
    /* The admin took its quarter and 1 MiB more: half a MiB is left for others. */
    refused("eve", MIB / 4 + 1, "SPOOL_FULL");
    struct spool_file *last = filled("eve", MIB / 4), *rest = filled("admin2", MIB / 4);
    ck_assert_int_eq(reserved(), 8 * MIB);
    refused("joe", 1, "SPOOL_FULL");
    spool_file_free(rest);
    spool_file_free(last);
    for (size_t i = 0; i < COUNT_OF(files); i++)
        spool_file_free(files[i]);
}
END_TEST

START_TEST(an_announced_length_reserves_nothing_until_bytes_come)
{
    struct spool_file *files[16];
    for (size_t i = 0; i < COUNT_OF(files); i++)
        files[i] = begin(i % 2 ? "ann" : "bob", 3 * MIB);
    ck_assert_int_eq(reserved(), 0);
    ck_assert_int_eq(add(files[0], 1), RC_OK);
    ck_assert_int_eq(reserved(), 64 * 1024);
    struct spool_file *small = filled("ann", 70000);
    ck_assert_int_eq(reserved(), 64 * 1024 + 70000);
    spool_file_free(small);
    for (size_t i = 0; i < COUNT_OF(files); i++)
        spool_file_free(files[i]);
}
END_TEST

START_TEST(a_file_grows_until_its_holder_has_its_share)
{
    struct spool_file *file = begin("ann", _i ? 3 * MIB : -1);
    struct spool_file *other = filled("bob", MIB);
    ck_assert_int_eq(add(file, 5 * MIB / 2), RC_OK);
    ck_assert_int_eq(add(file, 1), RC_BUSY);
    ck_assert_str_eq(err.code, "SPOOL_FULL");
    spool_file_free(file);
    spool_file_free(other);
}
END_TEST

Suite *spool_suite(void)
{
    Suite *suite = suite_create("spool");
    TCase *tc = tcase_create("spool");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, what_was_added_is_read_and_has_no_name);
    tcase_add_test(tc, one_holder_gets_half_of_what_the_others_leave);
    tcase_add_test(tc, a_quarter_is_kept_for_admins);
    tcase_add_test(tc, an_announced_length_reserves_nothing_until_bytes_come);
    tcase_add_loop_test(tc, a_file_grows_until_its_holder_has_its_share, 0, 2);
    suite_add_tcase(suite, tc);
    return suite;
}
