/* test_disk.c - how much space a worker keeps free. */
#include "work/job/disk.h"
#include <check.h>
#include <stddef.h>

static struct err err;

START_TEST(without_a_reserve_it_is_never_low)
{
    struct disk disk = {0};
    disk_start(&disk, "/tmp", 0);
    ck_assert_int_ge(disk.free_bytes, 0);
    ck_assert(!disk_look(&disk));
    ck_assert_int_eq(disk_check(&disk, DISK_RESERVE_MAX, &err), RC_OK);
}
END_TEST

START_TEST(what_cannot_be_measured_is_not_low)
{
    struct disk disk = {0};
    disk_start(&disk, "/no/such/place", DISK_RESERVE_MAX);
    ck_assert_int_eq(disk.free_bytes, -1);
    ck_assert_int_eq(disk_check(&disk, 1, &err), RC_OK);
}
END_TEST

START_TEST(it_is_low_below_the_reserve_and_until_some_more_is_free)
{
    struct disk disk = {0};
    disk_start(&disk, "/tmp", DISK_RESERVE_MAX);
    ck_assert(disk.low);
    ck_assert_int_eq(disk_check(&disk, 0, &err), RC_LIMIT);
    ck_assert(disk_is_low(&err));
    ck_assert_int_gt(err.retry_ms, 0);
    int64_t free_bytes = disk_free_bytes("/tmp");
    disk.reserve_bytes = free_bytes - free_bytes / 50; /* A little more than that is free. */
    ck_assert(disk_look(&disk));
    disk.reserve_bytes = free_bytes / 2;
    ck_assert(!disk_look(&disk));
    ck_assert_int_eq(disk_check(&disk, 0, &err), RC_OK);
}
END_TEST

START_TEST(a_run_needs_what_it_may_use_beside_the_reserve)
{
    struct disk disk = {0};
    int64_t free_bytes = disk_free_bytes("/tmp");
    disk_start(&disk, "/tmp", free_bytes / 2);
    ck_assert_int_eq(disk_check(&disk, free_bytes / 4, &err), RC_OK);
    ck_assert_int_eq(disk_check(&disk, free_bytes, &err), RC_LIMIT);
    ck_assert(!disk.low); /* Others may have room. */
}
END_TEST

Suite *disk_suite(void)
{
    Suite *suite = suite_create("disk");
    TCase *tests = tcase_create("disk");
    tcase_add_test(tests, without_a_reserve_it_is_never_low);
    tcase_add_test(tests, what_cannot_be_measured_is_not_low);
    tcase_add_test(tests, it_is_low_below_the_reserve_and_until_some_more_is_free);
    tcase_add_test(tests, a_run_needs_what_it_may_use_beside_the_reserve);
    suite_add_tcase(suite, tests);
    return suite;
}
