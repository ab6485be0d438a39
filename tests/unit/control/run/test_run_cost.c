/*
 * Statements that a run costs.  The row of a run is wide, and SQLite reads and writes all of it, so
 * each further statement on it is felt in every step of every run.
 */
#include "tests/store/stock.h"
#include "tests/unit/lab.h"
#include <check.h>
#include <sqlite3.h>
#include <string.h>

static sqlite3 *writer;
static int updates, whole_reads, all;

static int count(unsigned what, void *ctx, void *statement, void *text)
{
    (void)what;
    (void)ctx;
    (void)text;
    const char *sql = sqlite3_sql(statement);
    all++;
    updates += strncmp(sql, "UPDATE runs ", strlen("UPDATE runs ")) == 0;
    whole_reads += strncmp(sql, "SELECT ", strlen("SELECT ")) == 0 &&
                   strstr(sql, "question_count") != NULL && strstr(sql, " FROM runs ") != NULL;
    return 0;
}

static int catch_writer(sqlite3 *handle, char **error, const struct sqlite3_api_routines *api)
{
    (void)error;
    (void)api;
    writer = handle;
    return SQLITE_OK;
}

START_TEST(a_run_without_incident_costs_few_statements)
{
    struct lab lab;
    stock_refuse();
    sqlite3_auto_extension((void (*)(void))catch_writer);
    lab_open(&lab, NULL); /* In memory: one connection. */
    sqlite3_cancel_auto_extension((void (*)(void))catch_writer);
    lab_repository(&lab, "acme/billing", NULL);
    static const struct {
        const char *step, *result;
    } steps[] = {{"prepare", RESULT_PREPARE}, {"hydrate", RESULT_HYDRATE},
                 {"agent", RESULT_AGENT},     {"verify", RESULT_VERIFIED},
                 {"judge", RESULT_JUDGED},    {"publish", RESULT_PUBLISHED}};
    ck_assert_int_eq(sqlite3_trace_v2(writer, SQLITE_TRACE_STMT, count, NULL), SQLITE_OK);
    struct id run_id = lab_submit(&lab, "acme/billing");
    for (size_t i = 0; i < COUNT_OF(steps); i++)
        lab_step(&lab, steps[i].step, steps[i].result);
    ck_assert_int_eq(sqlite3_trace_v2(writer, 0, NULL, NULL), SQLITE_OK);
    ck_assert_int_eq(lab_run(&lab, &run_id).status, RUN_COMPLETED);
    enum { STEPS = COUNT_OF(steps) };
    /* Each step is claimed and completed; admission saves the run; its paths are saved apart. */
    ck_assert_int_le(updates, 2 * STEPS + 2);
    /* A completion reads it once, a claim only what it needs; admission looks at it and for others
       that wait. */
    ck_assert_int_le(whole_reads, STEPS + 4);
    ck_assert_int_le(all, 170);
    lab_check(&lab);
    lab_close(&lab);
}
END_TEST

Suite *run_cost_suite(void)
{
    Suite *suite = suite_create("run_cost");
    TCase *tc = tcase_create("statements");
    tcase_add_test(tc, a_run_without_incident_costs_few_statements);
    suite_add_tcase(suite, tc);
    return suite;
}
