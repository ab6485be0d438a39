/*
 * test_store_sagas.c - sagas and their histories.
 */
#include "store/dead_letters.h"
#include "store/sagas.h"
#include "tests/store/fixture.h"
#include <string.h>

static struct saga_row new_saga(struct fixture *f, const char *name)
{
    return (struct saga_row){
        .id = fixture_id(f),
        .name = name,
        .workspace_id = f->workspace_id,
        .life = {SAGA_RUNNING, SAGA_STEP, 0},
        .job_id = fixture_id(f),
        .definition = STR("[{\"name\":\"a\"}]"),
        .created_us = 5,
        .updated_us = 5,
    };
}

START_TEST(a_saga_is_kept_and_moved)
{
    FIXTURE(f);
    struct saga_row got, row = new_saga(&f, "buy");
    row.run_id = fixture_id(&f);
    must(sagas_insert(f.db, &row, &f.err));
    must(sagas_get(f.db, &row.id, &f.arena, &got, &f.err));
    ck_assert_str_eq(got.name, "buy");
    ck_assert_ptr_null(got.dedup_key);
    ck_assert_id_eq(got.run_id, row.run_id);
    ck_assert_id_eq(got.job_id, row.job_id);
    ck_assert_id_eq(got.workspace_id, f.workspace_id);
    ck_assert_bytes_eq(got.definition, "[{\"name\":\"a\"}]");
    ck_assert_int_eq(got.life.status, SAGA_RUNNING);
    ck_assert_int_eq(got.created_us, 5);
    ck_assert_int_eq(got.ended_us, 0);
    got.life = (struct saga){SAGA_STUCK, SAGA_COMPENSATION, 3};
    got.job_id = fixture_id(&f);
    got.error_code = "no";
    got.error_message = "not now";
    got.updated_us = 7;
    got.ended_us = 8;
    must(sagas_save(f.db, &got, &f.err));
    must(sagas_peek(f.db, &row.id, &f.arena, &row, &f.err));
    ck_assert_int_eq(row.life.status, SAGA_STUCK);
    ck_assert_int_eq(row.life.phase, SAGA_COMPENSATION);
    ck_assert_int_eq(row.life.position, 3);
    ck_assert_id_eq(row.job_id, got.job_id);
    ck_assert_str_eq(row.error_code, "no");
    ck_assert_str_eq(row.error_message, "not now");
    ck_assert_int_eq(row.updated_us, 7);
    ck_assert_int_eq(row.ended_us, 8);
    struct id nobody = fixture_id(&f);
    must_be(RC_NOT_FOUND, sagas_get(f.db, &nobody, &f.arena, &row, &f.err));
}
END_TEST

START_TEST(a_dedup_key_counts_within_a_name)
{
    FIXTURE(f);
    struct saga_row got, first = new_saga(&f, "buy"), again = new_saga(&f, "buy"),
                         other = new_saga(&f, "sell"), plain = new_saga(&f, "buy");
    first.dedup_key = again.dedup_key = other.dedup_key = "k";
    must(sagas_insert(f.db, &first, &f.err));
    must_be(RC_CONFLICT, sagas_insert(f.db, &again, &f.err));
    must(sagas_insert(f.db, &other, &f.err));
    must(sagas_insert(f.db, &plain, &f.err));
    must(sagas_by_dedup(f.db, "buy", "k", &f.arena, &got, &f.err));
    ck_assert_id_eq(got.id, first.id);
    must_be(RC_NOT_FOUND, sagas_by_dedup(f.db, "buy", "z", &f.arena, &got, &f.err));
}
END_TEST

START_TEST(sagas_are_listed_by_status_name_and_run_newest_first)
{
    FIXTURE(f);
    struct saga_row a = new_saga(&f, "buy"), b = new_saga(&f, "sell"), c = new_saga(&f, "buy");
    c.life.status = SAGA_COMPLETED;
    b.run_id = fixture_id(&f);
    must(sagas_insert(f.db, &a, &f.err));
    must(sagas_insert(f.db, &b, &f.err));
    must(sagas_insert(f.db, &c, &f.err));
    const struct {
        struct saga_filter filter;
        const struct saga_row *want[3];
    } cases[] = {
        {{.status = -1, .limit = 10}, {&c, &b, &a}},
        {{.status = -1, .limit = 2}, {&c, &b}},
        {{.status = -1, .limit = 10, .before = b.id}, {&a}},
        {{.status = SAGA_RUNNING, .limit = 10}, {&b, &a}},
        {{.status = -1, .name = "buy", .limit = 10}, {&c, &a}},
        {{.status = SAGA_RUNNING, .name = "buy", .limit = 10}, {&a}},
        {{.status = -1, .run_id = b.run_id, .limit = 10}, {&b}},
        {{.status = SAGA_STUCK, .limit = 10}, {NULL}},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct saga_row *rows;
        size_t count, want = 0;
        must(sagas_list(f.db, &cases[i].filter, &f.arena, &rows, &count, &f.err));
        for (; want < 3 && cases[i].want[want] != NULL; want++)
            ck_assert_id_eq(rows[want].id, cases[i].want[want]->id);
        ck_assert_uint_eq(count, want);
    }
}
END_TEST

START_TEST(a_history_is_kept_in_order)
{
    FIXTURE(f);
    struct saga_row saga = new_saga(&f, "buy"), other = new_saga(&f, "buy");
    must(sagas_insert(f.db, &saga, &f.err));
    must(sagas_insert(f.db, &other, &f.err));
    for (int64_t no = 1; no <= 3; no++) {
        struct saga_step_row step = {.saga_id = saga.id,
                                     .no = no,
                                     .position = no - 1,
                                     .phase = no == 3 ? SAGA_COMPENSATION : SAGA_STEP,
                                     .name = "a",
                                     .job_id = fixture_id(&f),
                                     .status = "running",
                                     .started_us = no};
        must(saga_steps_insert(f.db, &step, &f.err));
    }
    struct saga_step_row *rows;
    size_t count;
    must(saga_steps_list(f.db, &saga.id, &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 3);
    rows[0].status = "succeeded";
    rows[0].result = STR("{\"x\":1}");
    rows[0].ended_us = 9;
    must(saga_steps_save(f.db, &rows[0], &f.err));
    rows[1].status = "failed";
    rows[1].error_code = "no";
    rows[1].error_message = "not now";
    must(saga_steps_save(f.db, &rows[1], &f.err));
    must(saga_steps_list(f.db, &saga.id, &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 3);
    for (size_t i = 0; i < count; i++)
        ck_assert_int_eq(rows[i].no, (int64_t)i + 1);
    ck_assert_str_eq(rows[0].status, "succeeded");
    ck_assert_bytes_eq(rows[0].result, "{\"x\":1}");
    ck_assert_int_eq(rows[0].ended_us, 9);
    ck_assert_str_eq(rows[1].error_code, "no");
    ck_assert_str_eq(rows[1].error_message, "not now");
    ck_assert_int_eq(rows[2].phase, SAGA_COMPENSATION);
    ck_assert_int_eq(rows[2].position, 2);
    ck_assert_str_eq(rows[2].status, "running");
    must(saga_steps_list(f.db, &other.id, &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 0);
}
END_TEST

/* Two of a saga that is stuck at the second, one of a saga that was undone, one of none. */
START_TEST(the_dead_letter_at_which_a_saga_is_stuck_is_to_be_replayed_not_forgotten)
{
    FIXTURE(f);
    struct saga_row stuck = new_saga(&f, "buy"), undone = new_saga(&f, "buy");
    struct id ids[4], none = {""};
    for (size_t i = 0; i < COUNT_OF(ids); i++) {
        struct job_row job = fixture_job(&f, "q");
        job.saga_id = i < 2 ? stuck.id : i == 2 ? undone.id : none;
        job.life.state = JOB_DEAD_LETTER;
        job.life.dead_reason = DEAD_MAX_ATTEMPTS;
        must(jobs_insert(f.db, &job, &f.err));
        ids[i] = job.id;
    }
    stuck.job_id = ids[1];
    stuck.life = (struct saga){SAGA_STUCK, SAGA_COMPENSATION, 0};
    undone.job_id = ids[2];
    undone.life.status = SAGA_COMPENSATED;
    must(sagas_insert(f.db, &stuck, &f.err));
    must(sagas_insert(f.db, &undone, &f.err));
    static const struct {
        enum dead_only only;
        const char *want; /* Newest first. */
    } cases[] = {{DEAD_ANY, "3210"}, {DEAD_REPLAYABLE, "31"}, {DEAD_NEEDLESS, "320"}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct dead_filter filter = {.only = cases[i].only, .archived = DEAD_BOTH};
        struct dead_row *rows;
        size_t count;
        must(dead_letters_list(f.db, &filter, &none, 10, &f.arena, &rows, &count, &f.err));
        ck_assert_uint_eq(count, strlen(cases[i].want));
        for (size_t j = 0; j < count; j++)
            ck_assert_id_eq(rows[j].job.id, ids[cases[i].want[j] - '0']);
    }
}
END_TEST

Suite *store_sagas_suite(void)
{
    Suite *suite = suite_create("store_sagas");
    TCase *tc = tcase_create("sagas");
    case_add(tc, a_saga_is_kept_and_moved);
    case_add(tc, a_dedup_key_counts_within_a_name);
    case_add(tc, sagas_are_listed_by_status_name_and_run_newest_first);
    case_add(tc, a_history_is_kept_in_order);
    case_add(tc, the_dead_letter_at_which_a_saga_is_stuck_is_to_be_replayed_not_forgotten);
    suite_add_tcase(suite, tc);
    return suite;
}
