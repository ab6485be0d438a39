/*
 * test_store_dead_letters.c - dead letters: filters, counts, groups, picking, deleting.
 */
#include "store/dead_letters.h"
#include "tests/store/fixture.h"
#include <string.h>

enum { LETTERS = 6 };

/* Six of them, in order of arrival; death comes in the opposite order. */
static const struct letter {
    const char *queue, *type, *code, *pattern;
    enum dead_reason reason;
    int64_t died_us, archived_us;
    bool step;
} letters[LETTERS] = {
    {"a", "mail", "E1", "no <path>", DEAD_MAX_ATTEMPTS, 600, 0, false},
    {"a", "mail", "E1", "no <path>", DEAD_MAX_ATTEMPTS, 500, 0, false},
    {"a", "mail", "E2", "gone", DEAD_NON_RETRYABLE, 400, 0, false},
    {"b", "mail", "E1", "no <path>", DEAD_MAX_ATTEMPTS, 300, 350, false},
    {"b", "verify", "E3", NULL, DEAD_POISON, 200, 0, true},
    {"b", "clean", "E3", NULL, DEAD_EXPIRED, 100, 0, true},
};

static struct id bury(struct fixture *fixture, const struct letter *letter)
{
    struct fixture f = *fixture;
    struct job_row job = fixture_job(&f, letter->queue), stored;
    job.type = letter->type;
    job.run_id = letter->step ? fixture_id(&f) : (struct id){""};
    job.headers = STR("{\"h\":1}");
    must(jobs_insert(f.db, &job, &f.err));
    must(jobs_get(f.db, &job.id, &f.arena, &stored, &f.err));
    stored.life = (struct job_life){JOB_DEAD_LETTER, 3, 0, 0, 1, 3, 0, letter->reason, "o"};
    stored.error_code = letter->code;
    stored.error_pattern = letter->pattern;
    stored.archived_us = letter->archived_us;
    stored.updated_us = letter->died_us;
    must(jobs_save(f.db, &stored, &f.err));
    for (int64_t epoch = 1; epoch <= 2; epoch++) {
        struct attempt_row attempt = {.job_id = job.id,
                                      .attempt = epoch,
                                      .epoch = epoch,
                                      .started_us = epoch * 10,
                                      .ended_us = epoch * 10 + 5,
                                      .outcome = "failed"};
        must(attempts_insert(f.db, &attempt, &f.err));
    }
    *fixture = f;
    return job.id;
}

static void bury_all(struct fixture *f, struct id ids[LETTERS])
{
    for (int i = 0; i < LETTERS; i++)
        ids[i] = bury(f, &letters[i]);
    struct job_row alive = fixture_job(f, "a");
    ck_assert_int_eq(jobs_insert(f->db, &alive, &f->err), RC_OK);
}

static const struct {
    struct dead_filter filter;
    const char *want; /* Newest first. */
} filters[] = {
    {{.archived = DEAD_BOTH}, "543210"},
    {{.archived = DEAD_OPEN}, "54210"},
    {{.archived = DEAD_ARCHIVED}, "3"},
    {{.queue = "a", .archived = DEAD_BOTH}, "210"},
    {{.type = "mail", .archived = DEAD_BOTH}, "3210"},
    {{.reason = "max_attempts", .archived = DEAD_BOTH}, "310"},
    {{.error_code = "E3", .archived = DEAD_BOTH}, "54"},
    {{.pattern = "no <path>", .archived = DEAD_OPEN}, "10"},
    {{.since_us = 300, .until_us = 500, .archived = DEAD_BOTH}, "32"},
    {{.only = DEAD_REPLAYABLE, .archived = DEAD_BOTH}, "53210"},
    {{.queue = "nobody"}, ""},
};

static void assert_ids(const char *want, const struct id *got, size_t count,
                       const struct id ids[LETTERS])
{
    ck_assert_uint_eq(count, strlen(want));
    for (size_t i = 0; i < count; i++)
        ck_assert_id_eq(got[i], ids[want[i] - '0']);
}

START_TEST(every_filter_finds_its_dead_letters)
{
    FIXTURE(f);
    struct id ids[LETTERS], none = {""};
    bury_all(&f, ids);
    for (size_t i = 0; i < COUNT_OF(filters); i++) {
        struct dead_row *rows;
        struct id found[LETTERS], *picked;
        size_t count;
        int64_t number;
        must(dead_letters_list(f.db, &filters[i].filter, &none, 10, &f.arena, &rows, &count,
                               &f.err));
        for (size_t j = 0; j < count && j < LETTERS; j++)
            found[j] = rows[j].job.id;
        assert_ids(filters[i].want, found, count, ids);
        must(dead_letters_count(f.db, &filters[i].filter, &number, &f.err));
        ck_assert_int_eq(number, (int64_t)count);
        must(dead_letters_pick(f.db, &filters[i].filter, 10, &f.arena, &picked, &count, &f.err));
        ck_assert_int_eq((int64_t)count, number);
        for (size_t j = 0; j < count; j++)
            ck_assert_id_eq(picked[j], found[count - 1 - j]);
    }
}
END_TEST

START_TEST(a_listing_goes_on_behind_its_cursor_without_payloads)
{
    FIXTURE(f);
    struct id ids[LETTERS];
    bury_all(&f, ids);
    struct dead_filter all = {.archived = DEAD_BOTH};
    struct dead_row *rows;
    size_t count;
    must(dead_letters_list(f.db, &all, &ids[4], 2, &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 2);
    ck_assert_id_eq(rows[0].job.id, ids[3]);
    ck_assert_id_eq(rows[1].job.id, ids[2]);
    ck_assert_uint_eq(rows[0].job.payload.len, 0);
    ck_assert_uint_eq(rows[0].job.headers.len, 0);
    ck_assert_str_eq(rows[0].job.error_pattern, "no <path>");
    ck_assert_int_eq(rows[0].job.archived_us, 350);
    ck_assert_int_eq(rows[0].attempts, 2);
    ck_assert_int_eq(rows[0].first_us, 10);
    ck_assert_int_eq(rows[0].last_us, 25);
}
END_TEST

START_TEST(one_is_read_whole_while_it_is_dead)
{
    FIXTURE(f);
    struct id id = bury(&f, &letters[0]);
    struct dead_row row;
    must(dead_letters_get(f.db, &id, &f.arena, &row, &f.err));
    ck_assert_uint_gt(row.job.payload.len, 0);
    ck_assert_bytes_eq(row.job.headers, "{\"h\":1}");
    ck_assert_int_eq(row.attempts, 2);
    row.job.life.state = JOB_QUEUED;
    row.job.life.dead_reason = DEAD_NONE;
    row.job.payload = STR("{\"new\":true}");
    must(jobs_save(f.db, &row.job, &f.err));
    must(dead_letters_set_payload(f.db, &row.job, &f.err));
    must_be(RC_NOT_FOUND, dead_letters_get(f.db, &id, &f.arena, &row, &f.err));
    must(jobs_get(f.db, &id, &f.arena, &row.job, &f.err));
    ck_assert_bytes_eq(row.job.payload, "{\"new\":true}");
}
END_TEST

START_TEST(analysis_groups_by_what_went_wrong_most_frequent_first)
{
    FIXTURE(f);
    struct id ids[LETTERS];
    bury_all(&f, ids);
    struct dead_filter all = {.archived = DEAD_BOTH};
    struct dead_group *groups;
    size_t count;
    must(dead_letters_analyse(f.db, &all, 10, &f.arena, &groups, &count, &f.err));
    ck_assert_uint_eq(count, 5);
    ck_assert_str_eq(groups[0].queue, "a");
    ck_assert_str_eq(groups[0].type, "mail");
    ck_assert_str_eq(groups[0].reason, "max_attempts");
    ck_assert_str_eq(groups[0].pattern, "no <path>");
    ck_assert_int_eq(groups[0].count, 2);
    ck_assert_int_eq(groups[0].first_us, 500);
    ck_assert_int_eq(groups[0].last_us, 600);
    ck_assert_id_eq(groups[0].example, ids[1]);
    ck_assert_str_eq(groups[1].pattern, "gone"); /* Of those with one, the last to die. */
    ck_assert_ptr_null(groups[4].pattern);
    must(dead_letters_analyse(f.db, &all, 1, &f.arena, &groups, &count, &f.err));
    ck_assert_uint_eq(count, 1);
}
END_TEST

START_TEST(the_oldest_deaths_are_picked_first_and_deleted_whole)
{
    FIXTURE(f);
    struct id ids[LETTERS], *picked;
    bury_all(&f, ids);
    struct dead_filter old = {.until_us = 300, .archived = DEAD_BOTH};
    size_t count;
    must(dead_letters_pick_oldest(f.db, &old, 10, &f.arena, &picked, &count, &f.err));
    assert_ids("54", picked, count, ids);
    must(dead_letters_delete(f.db, &ids[5], &f.err));
    struct job_row job;
    struct attempt_row *attempts;
    must_be(RC_NOT_FOUND, jobs_get(f.db, &ids[5], &f.arena, &job, &f.err));
    must(attempts_list(f.db, &ids[5], &f.arena, &attempts, &count, &f.err));
    ck_assert_uint_eq(count, 0);
    must(attempts_list(f.db, &ids[4], &f.arena, &attempts, &count, &f.err));
    ck_assert_uint_eq(count, 2);
}
END_TEST

START_TEST(archiving_keeps_the_time_of_death)
{
    FIXTURE(f);
    struct id id = bury(&f, &letters[0]);
    must(dead_letters_archive(f.db, &id, 1234, &f.err));
    struct dead_row row;
    must(dead_letters_get(f.db, &id, &f.arena, &row, &f.err));
    ck_assert_int_eq(row.job.archived_us, 1234);
    ck_assert_int_eq(row.job.updated_us, letters[0].died_us);
}
END_TEST

START_TEST(queues_with_dead_letters_are_named_once)
{
    FIXTURE(f);
    struct id ids[LETTERS];
    bury_all(&f, ids);
    const char **names;
    size_t count;
    must(dead_letters_queues(f.db, &f.arena, &names, &count, &f.err));
    ck_assert_uint_eq(count, 2);
    ck_assert_str_eq(names[0], "a");
    ck_assert_str_eq(names[1], "b");
}
END_TEST

Suite *store_dead_letters_suite(void)
{
    Suite *suite = suite_create("store_dead_letters");
    TCase *tc = tcase_create("dead_letters");
    case_add(tc, every_filter_finds_its_dead_letters);
    case_add(tc, a_listing_goes_on_behind_its_cursor_without_payloads);
    case_add(tc, one_is_read_whole_while_it_is_dead);
    case_add(tc, analysis_groups_by_what_went_wrong_most_frequent_first);
    case_add(tc, the_oldest_deaths_are_picked_first_and_deleted_whole);
    case_add(tc, archiving_keeps_the_time_of_death);
    case_add(tc, queues_with_dead_letters_are_named_once);
    suite_add_tcase(suite, tc);
    return suite;
}
