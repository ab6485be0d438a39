/*
 * test_store_log_lines.c - kept lines of the log: listed by level, time and run; pruned.
 */
#include "store/log_lines.h"
#include "tests/store/fixture.h"
#include <string.h>

/* Line i: at time 100 + i, of level i % 5, the even ones of a run. */
static struct id put_lines(struct fixture *f, int count)
{
    struct id run_id = fixture_id(f);
    for (int i = 0; i < count; i++) {
        const struct log_line_row row = {.time_us = 100 + i,
                                         .level = i % 5,
                                         .node = "node-1",
                                         .run_id = i % 2 == 0 ? run_id : (struct id){""},
                                         .message = "said",
                                         .fields = STR("{\"msg\":\"said\"}")};
        ck_assert_int_eq(log_lines_insert(f->db, &row, &f->err), RC_OK);
    }
    return run_id;
}

static void check_times(struct fixture *f, const struct log_line_filter *filter, const char *want)
{
    struct log_line_row *rows = NULL;
    size_t count = 0;
    ck_assert_int_eq(log_lines_list(f->db, filter, &f->arena, &rows, &count, &f->err), RC_OK);
    ck_assert_msg(count == strlen(want), "%zu lines in place of %s", count, want);
    for (size_t i = 0; i < count; i++)
        ck_assert_int_eq(rows[i].time_us, 100 + want[i] - '0');
}

START_TEST(lines_are_listed_by_level_time_and_run)
{
    FIXTURE(f);
    struct id run_id = put_lines(&f, 10);
    check_times(&f, &(struct log_line_filter){.limit = 99}, "0123456789");
    check_times(&f, &(struct log_line_filter){.limit = 2}, "01");
    check_times(&f, &(struct log_line_filter){.level = 3, .limit = 99}, "3489");
    check_times(&f, &(struct log_line_filter){.since_us = 104, .until_us = 107, .limit = 99},
                "456");
    check_times(&f, &(struct log_line_filter){.run_id = run_id, .limit = 99}, "02468");
    check_times(&f, &(struct log_line_filter){.run_id = run_id, .level = 3, .limit = 99}, "48");
    struct log_line_row *rows = NULL;
    size_t count = 0;
    must(log_lines_list(f.db, &(struct log_line_filter){.limit = 3}, &f.arena, &rows, &count,
                        &f.err));
    check_times(&f, &(struct log_line_filter){.after_seq = rows[2].seq, .limit = 2}, "34");
    ck_assert_str_eq(rows[0].message, "said");
    ck_assert_str_eq(rows[0].node, "node-1");
    ck_assert_str_eq(rows[0].run_id.text, run_id.text);
}
END_TEST

START_TEST(old_lines_and_too_many_go_a_few_at_a_time)
{
    FIXTURE(f);
    int64_t removed = -1;
    put_lines(&f, 10);
    must(log_lines_prune(f.db,
                         &(struct log_line_limits){.before_us = 103, .rows_max = 99, .limit = 2},
                         &removed, &f.err));
    ck_assert_int_eq(removed, 2);
    check_times(&f, &(struct log_line_filter){.limit = 99}, "23456789");
    must(log_lines_prune(f.db,
                         &(struct log_line_limits){.before_us = 103, .rows_max = 5, .limit = 9},
                         &removed, &f.err));
    check_times(&f, &(struct log_line_filter){.limit = 99}, "56789");
    must(log_lines_prune(f.db, &(struct log_line_limits){.before_us = 0, .rows_max = 5, .limit = 9},
                         &removed, &f.err));
    ck_assert_int_eq(removed, 0);
}
END_TEST

Suite *store_log_lines_suite(void)
{
    Suite *suite = suite_create("store_log_lines");
    TCase *tc = tcase_create("store_log_lines");
    case_add(tc, lines_are_listed_by_level_time_and_run);
    case_add(tc, old_lines_and_too_many_go_a_few_at_a_time);
    suite_add_tcase(suite, tc);
    return suite;
}
