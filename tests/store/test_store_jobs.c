/*
 * test_store_jobs.c - jobs: insert, claim, save, due, ordering keys, attempts, counts.
 */
#include "store/events.h"
#include "tests/store/fixture.h"

static struct job_row put(struct fixture *fixture, struct job_row job)
{
    enum rc rc = jobs_insert(fixture->db, &job, &fixture->err);
    struct job_row stored = {0};
    if (rc == RC_OK)
        rc = jobs_get(fixture->db, &job.id, &fixture->arena, &stored, &fixture->err);
    ck_assert_msg(rc == RC_OK, "%s", fixture->err.text);
    job.seq = stored.seq;
    return job;
}

static struct job_row load(struct fixture *fixture, const struct id *id)
{
    struct job_row job;
    enum rc rc = jobs_get(fixture->db, id, &fixture->arena, &job, &fixture->err);
    ck_assert_msg(rc == RC_OK, "%s", fixture->err.text);
    return job;
}

static void assert_same_life(const struct job_life *a, const struct job_life *b)
{
    ck_assert_int_eq(a->state, b->state);
    ck_assert_int_eq(a->epoch, b->epoch);
    ck_assert_int_eq(a->due_us, b->due_us);
    ck_assert_int_eq(a->expires_us, b->expires_us);
    ck_assert_int_eq(a->attempt, b->attempt);
    ck_assert_int_eq(a->attempt_max, b->attempt_max);
    ck_assert_int_eq(a->lost, b->lost);
    ck_assert_int_eq(a->dead_reason, b->dead_reason);
    ck_assert_pstr_eq(a->owner, b->owner);
}

struct jobs {
    struct job_row *rows;
    size_t count;
};

static struct jobs claim(struct fixture *fixture, const char *queue, int64_t limit)
{
    struct claim want = {"node-1/0", "node/node-1", fixture->now_us, fixture->now_us + 15000000};
    struct jobs got;
    enum rc rc = jobs_claimable(fixture->db, queue, fixture->now_us, limit, &fixture->arena,
                                &got.rows, &got.count, &fixture->err);
    for (size_t i = 0; rc == RC_OK && i < got.count; i++)
        rc = jobs_claim(fixture->db, &want, &got.rows[i], &fixture->err);
    ck_assert_msg(rc == RC_OK, "%s", fixture->err.text);
    return got;
}

START_TEST(every_column_comes_back)
{
    FIXTURE(f);
    struct job_row job = {
        .id = fixture_id(&f),
        .queue = "steps",
        .type = "verify",
        .workspace_id = f.workspace_id,
        .run_id = fixture_id(&f),
        .payload = STR("{\"a\": [1, 2.50, \"\\u00e4\"]}"),
        .priority = 7,
        .rank = -5,
        .ordering_key = "key",
        .dedup_key = "dedup",
        .life = {JOB_SCHEDULED, 3, 11, 12, 1, 5, 2, DEAD_NONE, "owner-1"},
        .worker = "node/1",
        .leased_us = 13,
        .error_code = "E",
        .error_message = "it broke",
        .created_us = 14,
        .updated_us = 15,
    };
    must(jobs_insert(f.db, &job, &f.err));
    struct job_row got = load(&f, &job.id);
    ck_assert_int_gt(got.seq, 0);
    ck_assert_id_eq(got.id, job.id);
    ck_assert_str_eq(got.queue, "steps");
    ck_assert_str_eq(got.type, "verify");
    ck_assert_id_eq(got.workspace_id, job.workspace_id);
    ck_assert_id_eq(got.run_id, job.run_id);
    ck_assert_bytes_eq(got.payload, "{\"a\": [1, 2.50, \"\\u00e4\"]}");
    ck_assert_ptr_null(got.result.at);
    ck_assert_int_eq(got.priority, 7);
    ck_assert_int_eq(got.rank, -5);
    ck_assert_str_eq(got.ordering_key, "key");
    ck_assert_str_eq(got.dedup_key, "dedup");
    assert_same_life(&got.life, &job.life);
    ck_assert_str_eq(got.worker, "node/1");
    ck_assert_int_eq(got.leased_us, 13);
    ck_assert_str_eq(got.error_code, "E");
    ck_assert_str_eq(got.error_message, "it broke");
    ck_assert_int_eq(got.created_us, 14);
    ck_assert_int_eq(got.updated_us, 15);
}
END_TEST

START_TEST(save_changes_what_may_change)
{
    FIXTURE(f);
    struct job_row job = put(&f, fixture_job(&f, "q"));
    job.life = (struct job_life){JOB_DEAD_LETTER, 9, 1, 2, 3, 3, 4, DEAD_MAX_ATTEMPTS, "owner-2"};
    job.worker = NULL;
    job.leased_us = 77;
    job.result = STR("[true]");
    job.error_code = "TIMEOUT";
    job.error_message = "too slow";
    job.updated_us = 99;
    must(jobs_save(f.db, &job, &f.err));
    struct job_row got = load(&f, &job.id);
    assert_same_life(&got.life, &job.life);
    ck_assert_ptr_null(got.worker);
    ck_assert_int_eq(got.leased_us, 77);
    ck_assert_bytes_eq(got.result, "[true]");
    ck_assert_str_eq(got.error_code, "TIMEOUT");
    ck_assert_str_eq(got.error_message, "too slow");
    ck_assert_int_eq(got.updated_us, 99);
}
END_TEST

START_TEST(an_unknown_job_is_not_found)
{
    FIXTURE(f);
    struct job_row job = fixture_job(&f, "q");
    struct job_row got = {.queue = "untouched"};
    must_be(RC_NOT_FOUND, jobs_get(f.db, &job.id, &f.arena, &got, &f.err));
    ck_assert_str_eq(f.err.code, "NOT_FOUND");
    ck_assert_str_eq(got.queue, "untouched");
    must_be(RC_NOT_FOUND, jobs_save(f.db, &job, &f.err));
}
END_TEST

START_TEST(a_dedup_key_is_taken_once_per_queue)
{
    FIXTURE(f);
    struct job_row job = fixture_job(&f, "q");
    job.dedup_key = "invoice-7";
    job = put(&f, job);
    struct job_row again = fixture_job(&f, "q");
    again.dedup_key = "invoice-7";
    struct tx tx;
    must(tx_begin(f.db, &tx, &f.err));
    must_be(RC_CONFLICT, jobs_insert(f.db, &again, &f.err));
    ck_assert_str_eq(f.err.code, "DUPLICATE_JOB");
    ck_assert_int_eq(db_changes(f.db), 0);
    struct dedup_row same;
    must(jobs_by_dedup(f.db, "q", "invoice-7", &same, &f.err));
    ck_assert_id_eq(same.id, job.id);
    /* The transaction is intact. */
    again.queue = "other";
    must(jobs_insert(f.db, &again, &f.err));
    must(tx_commit(&tx, &f.err));
    must_be(RC_NOT_FOUND, jobs_by_dedup(f.db, "q", "invoice-8", &same, &f.err));
    load(&f, &again.id);
}
END_TEST

START_TEST(a_claim_takes_the_smallest_rank_then_the_first_come)
{
    FIXTURE(f);
    static const int64_t ranks[] = {30, 10, 20, 10};
    struct job_row jobs[COUNT_OF(ranks)];
    for (size_t i = 0; i < COUNT_OF(ranks); i++) {
        jobs[i] = fixture_job(&f, "q");
        jobs[i].rank = ranks[i];
        jobs[i] = put(&f, jobs[i]);
    }
    put(&f, fixture_job(&f, "another queue"));
    static const size_t order[] = {1, 3, 2, 0};
    struct jobs first = claim(&f, "q", 3);
    ck_assert_uint_eq(first.count, 3);
    for (size_t i = 0; i < first.count; i++)
        ck_assert_id_eq(first.rows[i].id, jobs[order[i]].id);
    struct jobs second = claim(&f, "q", 3);
    ck_assert_uint_eq(second.count, 1);
    ck_assert_id_eq(second.rows[0].id, jobs[0].id);
    ck_assert_uint_eq(claim(&f, "q", 3).count, 0);
}
END_TEST

START_TEST(a_claim_is_a_lease_with_a_grown_epoch)
{
    FIXTURE(f);
    struct job_row job = put(&f, fixture_job(&f, "q"));
    for (int64_t epoch = 1; epoch <= 3; epoch++) {
        struct jobs got = claim(&f, "q", 10);
        ck_assert_uint_eq(got.count, 1);
        struct job_row *row = &got.rows[0];
        ck_assert_int_eq(row->life.state, JOB_LEASED);
        ck_assert_int_eq(row->life.epoch, epoch);
        ck_assert_int_eq(row->life.due_us, f.now_us + 15000000);
        ck_assert_str_eq(row->worker, "node-1/0");
        ck_assert_int_eq(row->leased_us, f.now_us);
        ck_assert_int_eq(row->updated_us, f.now_us);
        ck_assert_bytes_eq(row->payload, "{\"n\":1}");
        struct job_row stored = load(&f, &job.id);
        assert_same_life(&stored.life, &row->life);
        stored.life.state = JOB_QUEUED;
        must(jobs_save(f.db, &stored, &f.err));
    }
}
END_TEST

START_TEST(a_claim_skips_what_is_not_queued)
{
    FIXTURE(f);
    for (int state = 0; state < JOB_STATE_COUNT; state++) {
        struct job_row job = fixture_job(&f, "q");
        job.life.state = (enum job_state)state;
        put(&f, job);
    }
    struct jobs got = claim(&f, "q", 10);
    ck_assert_uint_eq(got.count, 1);
}
END_TEST

START_TEST(a_claim_skips_jobs_past_their_time_to_live)
{
    FIXTURE(f);
    static const struct {
        int64_t expires_in_us; /* From the moment of the claim; 0: never. */
        bool claimed;
    } cases[] = {{-1, false}, {0, true}, {1, true}, {INT64_MIN, true}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct job_row job = fixture_job(&f, "q");
        bool never = cases[i].expires_in_us == INT64_MIN;
        job.life.expires_us = never ? 0 : f.now_us + cases[i].expires_in_us;
        put(&f, job);
        ck_assert_uint_eq(claim(&f, "q", 10).count, cases[i].claimed ? 1 : 0);
    }
}
END_TEST

START_TEST(a_claim_by_two_connections_gives_no_job_twice)
{
    FIXTURE(f);
    enum { JOBS = 20 };
    for (int i = 0; i < JOBS; i++)
        put(&f, fixture_job(&f, "q"));
    struct db *reader;
    must(store_reader_open(f.store, &reader, &f.err));
    struct job_filter queued = {.state = JOB_QUEUED, .limit = 100};
    int64_t taken = 0;
    while (taken < JOBS) {
        struct tx tx;
        must(tx_begin(f.db, &tx, &f.err));
        struct jobs got = claim(&f, "q", 3);
        taken += (int64_t)got.count;
        must(tx_commit(&tx, &f.err));
        struct job_row *rows;
        size_t count;
        must(jobs_list(reader, &queued, &f.arena, &rows, &count, &f.err));
        ck_assert_int_eq((int64_t)count, JOBS - taken);
    }
    ck_assert_int_eq(taken, JOBS);
    store_reader_close(f.store, reader);
}
END_TEST

START_TEST(due_is_what_waits_no_longer)
{
    FIXTURE(f);
    int64_t now_us = f.now_us + 1000000;
    static const struct {
        enum job_state state;
        int64_t due_in_us, expires_in_us; /* Against now; expires 0: never. */
        bool due;
    } cases[] = {
        {JOB_SCHEDULED, 0, 0, true},    {JOB_SCHEDULED, 1, 0, false},
        {JOB_SCHEDULED, 5, -1, true},   {JOB_SCHEDULED, -5, -1, true}, /* Once, not twice. */
        {JOB_LEASED, 0, 0, true},       {JOB_LEASED, 1, 0, false},
        {JOB_LEASED, 1, -1, false},     {JOB_QUEUED, -9, 0, false},
        {JOB_QUEUED, -9, -1, true},     {JOB_QUEUED, -9, 1, false},
        {JOB_BLOCKED, -9, 0, false},    {JOB_BLOCKED, -9, -1, true},
        {JOB_SUCCEEDED, -9, -9, false}, {JOB_DEAD_LETTER, -9, -9, false},
        {JOB_CANCELLED, -9, -9, false},
    };
    size_t want = 0;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct job_row job = fixture_job(&f, "q");
        job.life.state = cases[i].state;
        job.life.due_us = now_us + cases[i].due_in_us;
        job.life.expires_us = cases[i].expires_in_us ? now_us + cases[i].expires_in_us : 0;
        job.priority = cases[i].due;
        put(&f, job);
        want += cases[i].due;
    }
    struct job_row *rows;
    size_t count;
    must(jobs_due(f.db, DUE_BY(now_us, 100), &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, want);
    for (size_t i = 0; i < count; i++) {
        ck_assert_int_eq(rows[i].priority, 1);
        ck_assert(i == 0 || rows[i - 1].life.due_us <= rows[i].life.due_us);
    }
    must(jobs_due(f.db, DUE_BY(now_us, 2), &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 2);
}
END_TEST

START_TEST(next_due_is_the_moment_when_due_has_something)
{
    FIXTURE(f);
    int64_t due_us = -1;
    must_be(RC_NOT_FOUND, jobs_next_due(f.db, &due_us, &f.err));
    ck_assert_int_eq(due_us, -1);
    static const struct {
        enum job_state state;
        int64_t due_us, expires_us;
        int64_t next_us; /* After this one was added. */
    } steps[] = {
        {JOB_QUEUED, 1, 0, -1},         {JOB_SCHEDULED, 900, 0, 900}, {JOB_LEASED, 800, 0, 800},
        {JOB_BLOCKED, 1, 700, 701},     {JOB_LEASED, 750, 5, 701},    {JOB_QUEUED, 1, 600, 601},
        {JOB_DEAD_LETTER, 1, 100, 601},
    };
    for (size_t i = 0; i < COUNT_OF(steps); i++) {
        struct job_row job = fixture_job(&f, "q");
        job.life.state = steps[i].state;
        job.life.due_us = steps[i].due_us;
        job.life.expires_us = steps[i].expires_us;
        put(&f, job);
        enum rc rc = jobs_next_due(f.db, &due_us, &f.err);
        if (steps[i].next_us < 0) {
            ck_assert_int_eq(rc, RC_NOT_FOUND);
            continue;
        }
        ck_assert_int_eq(rc, RC_OK);
        ck_assert_int_eq(due_us, steps[i].next_us);
        struct job_row *rows;
        size_t count;
        must(jobs_due(f.db, DUE_BY(due_us, 10), &f.arena, &rows, &count, &f.err));
        ck_assert_uint_ge(count, 1);
        must(jobs_due(f.db, DUE_BY(due_us - 1, 10), &f.arena, &rows, &count, &f.err));
        ck_assert_uint_eq(count, 0);
    }
}
END_TEST

START_TEST(leases_are_found_by_their_owner_whatever_the_worker_is_called)
{
    FIXTURE(f);
    static const struct {
        const char *worker, *owner;
        bool leased, found;
    } cases[] = {
        {"node_1/slot-0", "node/node_1", true, true},
        {"node_1/slot-1", "node/node_1", true, true},
        {"node_10/slot-0", "node/node_10", true, false},
        {"node_1/slot-0", "01a1e111-4280-788b-8f9d-658fd086a1f4", true, false},
        {"node_1/slot-0", NULL, true, false},
        {"node_1/slot-0", "node/node_1", false, false},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct job_row job = fixture_job(&f, "q");
        job.worker = cases[i].worker;
        job.life.owner = cases[i].owner;
        job.life.state = cases[i].leased ? JOB_LEASED : JOB_QUEUED;
        job.priority = cases[i].found;
        put(&f, job);
    }
    struct job_row *rows;
    size_t count;
    must(jobs_leased_to(f.db, "node/node_1", &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 2);
    for (size_t i = 0; i < count; i++)
        ck_assert_int_eq(rows[i].priority, 1);
}
END_TEST

START_TEST(only_the_head_of_a_key_is_free)
{
    FIXTURE(f);
    struct job_row jobs[3];
    for (size_t i = 0; i < COUNT_OF(jobs); i++) {
        jobs[i] = fixture_job(&f, "q");
        jobs[i].ordering_key = "customer-1";
        bool head;
        must(job_keys_enter(f.db, "q", "customer-1", &jobs[i].id, &head, &f.err));
        ck_assert_int_eq(head, i == 0);
        jobs[i].life.state = head ? JOB_QUEUED : JOB_BLOCKED;
        jobs[i] = put(&f, jobs[i]);
    }
    bool head;
    struct id other = fixture_id(&f);
    must(job_keys_enter(f.db, "q", "customer-2", &other, &head, &f.err));
    ck_assert(head);
    must(job_keys_enter(f.db, "r", "customer-1", &other, &head, &f.err));
    ck_assert(head);

    struct id next;
    for (size_t i = 1; i < COUNT_OF(jobs); i++) {
        must(job_keys_leave(f.db, "q", "customer-1", &next, &f.err));
        ck_assert_id_eq(next, jobs[i].id);
        jobs[i].life.state = JOB_QUEUED;
        must(jobs_save(f.db, &jobs[i], &f.err));
    }
    must(job_keys_leave(f.db, "q", "customer-1", &next, &f.err));
    ck_assert(id_is_none(&next));
    must(job_keys_enter(f.db, "q", "customer-1", &other, &head, &f.err));
    ck_assert(head);
}
END_TEST

START_TEST(leaving_a_key_that_nobody_holds_changes_nothing)
{
    FIXTURE(f);
    struct id next = fixture_id(&f);
    must(job_keys_leave(f.db, "q", "nobody", &next, &f.err));
    ck_assert(id_is_none(&next));
}
END_TEST

START_TEST(attempts_are_kept_in_order_of_their_epochs)
{
    FIXTURE(f);
    struct job_row job = put(&f, fixture_job(&f, "q"));
    /* The same attempt twice: its first lease was lost. */
    struct attempt_row attempts[] = {
        {job.id, 1, 2, "w2", 30, 40, "failed", "TIMEOUT", "too slow"},
        {job.id, 1, 1, "w1", 10, 20, "lost", NULL, NULL},
    };
    for (size_t i = 0; i < COUNT_OF(attempts); i++)
        must(attempts_insert(f.db, &attempts[i], &f.err));
    struct attempt_row *rows;
    size_t count;
    must(attempts_list(f.db, &job.id, &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 2);
    ck_assert_str_eq(rows[0].outcome, "lost");
    ck_assert_ptr_null(rows[0].error_code);
    ck_assert_id_eq(rows[1].job_id, job.id);
    ck_assert_int_eq(rows[1].attempt, 1);
    ck_assert_int_eq(rows[1].epoch, 2);
    ck_assert_str_eq(rows[1].worker, "w2");
    ck_assert_int_eq(rows[1].started_us, 30);
    ck_assert_int_eq(rows[1].ended_us, 40);
    ck_assert_str_eq(rows[1].outcome, "failed");
    ck_assert_str_eq(rows[1].error_code, "TIMEOUT");
    ck_assert_str_eq(rows[1].error_message, "too slow");
    must_be(RC_IO, attempts_insert(f.db, &attempts[0], &f.err));
    ck_assert_str_eq(f.err.code, "STORE_CONSTRAINT");
    attempts[0].epoch = 3;
    attempts[0].outcome = "vanished";
    must_be(RC_IO, attempts_insert(f.db, &attempts[0], &f.err));
}
END_TEST

START_TEST(the_attempt_that_succeeded_is_told_by_its_job)
{
    FIXTURE(f);
    struct job_row job = put(&f, fixture_job(&f, "q"));
    struct attempt_row failed = {job.id, 1, 1, "w1", 10, 20, "failed", "TIMEOUT", "too slow"};
    must(attempts_insert(f.db, &failed, &f.err));
    job.life = (struct job_life){JOB_SUCCEEDED, 2, 0, 0, 2, 3, 0, DEAD_NONE, "o"};
    job.worker = "w2";
    job.leased_us = 30;
    job.updated_us = 40;
    must(jobs_save(f.db, &job, &f.err));
    struct attempt_row *rows;
    size_t count;
    must(attempts_list(f.db, &job.id, &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 2);
    ck_assert_str_eq(rows[0].outcome, "failed");
    ck_assert_id_eq(rows[1].job_id, job.id);
    ck_assert_int_eq(rows[1].attempt, 2);
    ck_assert_int_eq(rows[1].epoch, 2);
    ck_assert_str_eq(rows[1].worker, "w2");
    ck_assert_int_eq(rows[1].started_us, 30);
    ck_assert_int_eq(rows[1].ended_us, 40);
    ck_assert_str_eq(rows[1].outcome, "succeeded");
    ck_assert_ptr_null(rows[1].error_code);
}
END_TEST

START_TEST(listings_filter_and_page_newest_first)
{
    FIXTURE(f);
    struct id run_id = fixture_id(&f);
    struct id ids[6];
    for (size_t i = 0; i < COUNT_OF(ids); i++) {
        struct job_row job = fixture_job(&f, i % 2 ? "odd" : "even");
        job.type = i < 3 ? "early" : "late";
        job.life.state = i >= 4 ? JOB_DEAD_LETTER : JOB_QUEUED;
        job.life.dead_reason = i >= 4 ? DEAD_POISON : DEAD_NONE;
        job.run_id = i == 0 || i == 5 ? run_id : (struct id){0};
        ids[i] = put(&f, job).id;
    }
    static const struct {
        const char *queue, *type;
        int state;
        bool of_run;
        int64_t limit;
        const char *want; /* Digits of the ids. */
    } cases[] = {
        {NULL, NULL, -1, false, 10, "543210"},
        {NULL, NULL, -1, false, 2, "54"},
        {"odd", NULL, -1, false, 10, "531"},
        {NULL, "early", -1, false, 10, "210"},
        {NULL, NULL, JOB_QUEUED, false, 10, "3210"},
        {NULL, NULL, JOB_DEAD_LETTER, false, 10, "54"},
        {"even", NULL, JOB_DEAD_LETTER, false, 10, "4"},
        {NULL, NULL, -1, true, 10, "50"},
        {"even", "early", JOB_QUEUED, true, 10, "0"},
        {"odd", "early", JOB_DEAD_LETTER, false, 10, ""},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct job_filter filter = {cases[i].queue, cases[i].type, cases[i].state, {""}, {""},
                                    cases[i].limit, NULL};
        if (cases[i].of_run)
            filter.run_id = run_id;
        struct job_row *rows;
        size_t count;
        must(jobs_list(f.db, &filter, &f.arena, &rows, &count, &f.err));
        ck_assert_uint_eq(count, strlen(cases[i].want));
        for (size_t j = 0; j < count; j++)
            ck_assert_id_eq(rows[j].id, ids[cases[i].want[j] - '0']);
    }
    struct job_filter page = {.state = -1, .before = ids[3], .limit = 2};
    struct job_row *rows;
    size_t count;
    must(jobs_list(f.db, &page, &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 2);
    ck_assert_id_eq(rows[0].id, ids[2]);
    ck_assert_id_eq(rows[1].id, ids[1]);
}
END_TEST

START_TEST(counts_are_per_queue_and_state)
{
    FIXTURE(f);
    struct queue_counts *rows;
    size_t count;
    must(jobs_count(f.db, &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 0);
    for (int state = 0; state < JOB_STATE_COUNT; state++) {
        for (int i = 0; i <= state; i++) {
            struct job_row job = fixture_job(&f, "b");
            job.life.state = (enum job_state)state;
            job.life.due_us = 1000 - i;
            put(&f, job);
        }
    }
    struct job_row job = fixture_job(&f, "a");
    job.life.state = JOB_SUCCEEDED;
    put(&f, job);
    must(jobs_count(f.db, &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 2);
    ck_assert_str_eq(rows[0].queue, "a");
    ck_assert_int_eq(rows[0].by_state[JOB_SUCCEEDED], 1);
    ck_assert_int_eq(rows[0].by_state[JOB_QUEUED], 0);
    ck_assert_int_eq(rows[0].oldest_queued_us, 0);
    ck_assert_str_eq(rows[1].queue, "b");
    for (int state = 0; state < JOB_STATE_COUNT; state++)
        ck_assert_int_eq(rows[1].by_state[state], state + 1);
    ck_assert_int_eq(rows[1].oldest_queued_us, 1000 - JOB_QUEUED);
}
END_TEST

Suite *store_jobs_suite(void)
{
    Suite *suite = suite_create("store_jobs");
    TCase *tc = tcase_create("jobs");
    case_add(tc, every_column_comes_back);
    case_add(tc, save_changes_what_may_change);
    case_add(tc, an_unknown_job_is_not_found);
    case_add(tc, a_dedup_key_is_taken_once_per_queue);
    case_add(tc, a_claim_takes_the_smallest_rank_then_the_first_come);
    case_add(tc, a_claim_is_a_lease_with_a_grown_epoch);
    case_add(tc, a_claim_skips_what_is_not_queued);
    case_add(tc, a_claim_skips_jobs_past_their_time_to_live);
    case_add(tc, a_claim_by_two_connections_gives_no_job_twice);
    case_add(tc, due_is_what_waits_no_longer);
    case_add(tc, next_due_is_the_moment_when_due_has_something);
    case_add(tc, leases_are_found_by_their_owner_whatever_the_worker_is_called);
    case_add(tc, only_the_head_of_a_key_is_free);
    case_add(tc, leaving_a_key_that_nobody_holds_changes_nothing);
    case_add(tc, attempts_are_kept_in_order_of_their_epochs);
    case_add(tc, the_attempt_that_succeeded_is_told_by_its_job);
    case_add(tc, listings_filter_and_page_newest_first);
    case_add(tc, counts_are_per_queue_and_state);
    suite_add_tcase(suite, tc);
    return suite;
}
