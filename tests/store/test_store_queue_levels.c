/*
 * test_store_queue_levels.c - what is counted and remembered of queues.
 */
#include "store/queue_levels.h"
#include "tests/store/fixture.h"

static const struct sql sql_put_aside = {
    "test_put_aside",
    "UPDATE jobs SET archived_us = $2 WHERE id = $1",
    "ti",
};

static void add(struct fixture *fixture, const char *queue, enum job_state state,
                int64_t archived_us)
{
    struct fixture f = *fixture;
    struct job_row job = fixture_job(&f, queue);
    job.life.state = state;
    if (state == JOB_LEASED)
        job.worker = "w";
    if (state == JOB_DEAD_LETTER)
        job.life.dead_reason = DEAD_MAX_ATTEMPTS;
    if (state == JOB_BLOCKED)
        job.ordering_key = "k";
    must(jobs_insert(f.db, &job, &f.err));
    must(db_exec(f.db, &sql_put_aside, P_LIST(P_ID(&job.id), P_INT(archived_us)), NULL, &f.err));
    *fixture = f;
}

static void add_some_of_all(struct fixture *f)
{
    for (int i = 0; i < 5; i++)
        add(f, "b", JOB_QUEUED, 0);
    add(f, "c", JOB_BLOCKED, 0);
    add(f, "b", JOB_BLOCKED, 0);
    add(f, "a", JOB_QUEUED, 0);
    add(f, "drover.agent", JOB_QUEUED, 0);
    add(f, "droverx", JOB_QUEUED, 0);
    add(f, "leases", JOB_LEASED, 0);
    add(f, "leases", JOB_LEASED, 0);
    add(f, "dead", JOB_DEAD_LETTER, 0);
    add(f, "dead", JOB_DEAD_LETTER, 0);
    add(f, "dead", JOB_DEAD_LETTER, 7);
    add(f, "aside", JOB_DEAD_LETTER, 7);
    add(f, "done", JOB_SUCCEEDED, 0);
    add(f, "later", JOB_SCHEDULED, 0);
}

static char *names(struct fixture *f, const struct queue_count *rows, size_t count)
{
    char *text = arena_strdup(&f->arena, "");
    for (size_t i = 0; i < count; i++)
        text = arena_printf(&f->arena, "%s%s ", text, rows[i].queue);
    return text;
}

START_TEST(queues_are_found_by_what_they_hold)
{
    FIXTURE(f);
    struct queue_count *rows;
    size_t count;
    must(queue_levels_waiting(f.db, &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 0);
    add_some_of_all(&f);
    must(queue_levels_waiting(f.db, &f.arena, &rows, &count, &f.err));
    ck_assert_str_eq(names(&f, rows, count), "a b c drover.agent droverx ");
    must(queue_levels_dead(f.db, &f.arena, &rows, &count, &f.err));
    ck_assert_str_eq(names(&f, rows, count), "dead ");
    must(queue_levels_leased(f.db, &f.arena, &rows, &count, &f.err));
    ck_assert_str_eq(names(&f, rows, count), "leases ");
    ck_assert_int_eq(rows[0].count, 2);
}
END_TEST

START_TEST(counts_stop_at_their_limit)
{
    FIXTURE(f);
    int64_t number, oldest_us = fixture_job(&f, "b").life.due_us;
    add_some_of_all(&f);
    struct queue_depth depth;
    must(queue_levels_depth(f.db, "b", 100, &depth, &f.err));
    ck_assert_int_eq(depth.queued, 5);
    ck_assert_int_eq(depth.blocked, 1);
    ck_assert_int_gt(depth.oldest_us, oldest_us);
    ck_assert_int_lt(depth.oldest_us, f.now_us);
    must(queue_levels_depth(f.db, "b", 3, &depth, &f.err));
    ck_assert_int_eq(depth.queued, 3);
    must(queue_levels_depth(f.db, "none", 3, &depth, &f.err));
    ck_assert_int_eq(depth.queued + depth.blocked + depth.oldest_us, 0);
    must(queue_levels_dead_count(f.db, "dead", 10, &number, &f.err));
    ck_assert_int_eq(number, 2);
    must(queue_levels_dead_count(f.db, "dead", 1, &number, &f.err));
    ck_assert_int_eq(number, 1);
    must(queue_levels_agents(f.db, 10, &number, &f.err));
    ck_assert_int_eq(number, 1);
}
END_TEST

START_TEST(what_is_known_of_a_queue_is_kept_beside_its_rules)
{
    FIXTURE(f);
    struct queue_level_row row, *rows;
    size_t count;
    must(queue_levels_get(f.db, "q", &f.arena, &row, &f.err));
    ck_assert_str_eq(row.queue, "q");
    ck_assert_int_eq(row.level, LEVEL_NORMAL);
    ck_assert_uint_eq(row.config.len, 0);
    row.level = LEVEL_CRITICAL;
    row.level_us = 5;
    row.desired = 3;
    row.desired_us = 6;
    must(queue_levels_save(f.db, &row, 9, &f.err));
    row.dead_alert = true;
    row.level = LEVEL_WARNING;
    must(queue_levels_save(f.db, &row, 10, &f.err));
    row.queue = "a";
    must(queue_levels_save(f.db, &row, 10, &f.err));
    must(queue_levels_get(f.db, "q", &f.arena, &row, &f.err));
    ck_assert_bytes_eq(row.config, "{}");
    ck_assert_int_eq(row.level, LEVEL_WARNING);
    ck_assert_int_eq(row.level_us, 5);
    ck_assert(row.dead_alert);
    ck_assert_int_eq(row.desired, 3);
    ck_assert_int_eq(row.desired_us, 6);
    must(queue_levels_list(f.db, &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 2);
    ck_assert_str_eq(rows[0].queue, "a");
    ck_assert_str_eq(rows[1].queue, "q");
}
END_TEST

Suite *store_queue_levels_suite(void)
{
    Suite *suite = suite_create("store queue levels");
    TCase *tc = tcase_create("queue levels");
    case_add(tc, queues_are_found_by_what_they_hold);
    case_add(tc, counts_stop_at_their_limit);
    case_add(tc, what_is_known_of_a_queue_is_kept_beside_its_rules);
    suite_add_tcase(suite, tc);
    return suite;
}
