/*
 * test_store_agents.c - the registry of agents, what they have claimed, and the marks by which they
 * find jobs.
 */
#include "base/clock.h"
#include "store/agents.h"
#include "store/job_marks.h"
#include "tests/store/fixture.h"

static struct agent_row agent(struct fixture *f, const char *name)
{
    return (struct agent_row){
        .id = fixture_id(f),
        .workspace_id = f->workspace_id,
        .name = name,
        .persona = "reviewer",
        .capacity = 2,
        .queue = "agents",
        .general = true,
        .repositories = STR("[\"acme/billing\"]"),
        .heartbeat_ms = 1000,
        .restart_max = 5,
        .backoff_ms = 1000,
        .state = INSTANCE_REGISTERED,
        .created_us = f->now_us,
        .updated_us = f->now_us,
    };
}

START_TEST(an_agent_is_found_by_its_name_and_its_name_is_its_own)
{
    FIXTURE(f);
    struct agent_row bob = agent(&f, "bob"), other = agent(&f, "bob"), got;
    must(agents_insert(f.db, &bob, &f.err));
    must_be(RC_CONFLICT, agents_insert(f.db, &other, &f.err));
    ck_assert_str_eq(f.err.code, "AGENT_EXISTS");
    must(agents_by_name(f.db, &f.workspace_id, "bob", &f.arena, &got, &f.err));
    ck_assert_id_eq(got.id, bob.id);
    ck_assert_str_eq(got.persona, "reviewer");
    ck_assert(got.general);
    ck_assert_bytes_eq(got.repositories, "[\"acme/billing\"]");
    ck_assert_uint_eq(got.labels.len, 0);
    must_be(RC_NOT_FOUND, agents_by_name(f.db, &f.workspace_id, "Bob", &f.arena, &got, &f.err));
    must(agents_remove(f.db, &bob.id, &f.err));
    must_be(RC_NOT_FOUND, agents_get(f.db, &bob.id, &f.arena, &got, &f.err));
    must(agents_insert(f.db, &other, &f.err));
}
END_TEST

START_TEST(a_heartbeat_never_moves_back)
{
    FIXTURE(f);
    struct agent_row bob = agent(&f, "bob"), got;
    must(agents_insert(f.db, &bob, &f.err));
    must(agents_seen(f.db, &bob.id, 500, &f.err));
    must(agents_seen(f.db, &bob.id, 400, &f.err));
    must(agents_get(f.db, &bob.id, &f.arena, &got, &f.err));
    ck_assert_int_eq(got.seen_us, 500);
}
END_TEST

START_TEST(agents_are_listed_by_persona_name_and_state)
{
    FIXTURE(f);
    static const char *const names[] = {"ann", "bob", "cem"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        struct agent_row row = agent(&f, names[i]);
        row.persona = i == 1 ? "tester" : "reviewer";
        row.state = i == 2 ? INSTANCE_KILLED : INSTANCE_ACTIVE;
        row.updated_us = 100 + (int64_t)i;
        must(agents_insert(f.db, &row, &f.err));
    }
    struct agent_row *rows;
    size_t count;
    struct agent_filter filter = {.state = -1, .limit = 10};
    must(agents_list(f.db, &filter, &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 3);
    ck_assert_str_eq(rows[0].name, "cem");
    filter = (struct agent_filter){.state = INSTANCE_ACTIVE, .persona = "reviewer", .limit = 10};
    must(agents_list(f.db, &filter, &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 1);
    ck_assert_str_eq(rows[0].name, "ann");
    const char **killed;
    must(agents_killed_since(f.db, 102, 10, &f.arena, &killed, &count, &f.err));
    ck_assert_uint_eq(count, 1);
    ck_assert_str_eq(killed[0], "cem");
    must(agents_killed_since(f.db, 103, 10, &f.arena, &killed, &count, &f.err));
    ck_assert_uint_eq(count, 0);
    int64_t all;
    must(agents_count(f.db, &all, &f.err));
    ck_assert_int_eq(all, 3);
}
END_TEST

/* ---- marks ---- */

static struct job_row work(struct fixture *fixture, int64_t rank, const struct job_about *about)
{
    struct fixture f = *fixture;
    struct job_row job = fixture_job(fixture, "agents");
    job.type = "pull";
    job.rank = rank;
    must(jobs_insert(f.db, &job, &f.err));
    must(job_marks_add(f.db, &job, about, &f.err));
    return job;
}

static struct job_row *ask(struct fixture *fixture, struct job_cell cell, int64_t limit,
                           size_t *ret_count)
{
    struct fixture f = *fixture;
    struct marked_ask ask = {"agents", cell, f.now_us, limit};
    struct job_row *rows;
    must(job_marks_claimable(f.db, &ask, &fixture->arena, &rows, ret_count, &f.err));
    return rows;
}

#define LABELS(...) ((const char *const[]){__VA_ARGS__, NULL})

START_TEST(marked_jobs_are_found_by_repository_and_label_in_order_of_rank)
{
    FIXTURE(f);
    struct job_row plain = fixture_job(&f, "agents");
    must(jobs_insert(f.db, &plain, &f.err)); /* Without marks: not for agents that claim. */
    struct job_row late = work(&f, 30, &(struct job_about){"a/b", LABELS("ui")});
    struct job_row soon = work(&f, 10, &(struct job_about){"a/b", NULL});
    struct job_row other = work(&f, 20, &(struct job_about){"c/d", LABELS("ui", "db")});
    size_t count;
    struct job_row *rows = ask(&f, (struct job_cell){.marked = true}, 10, &count);
    ck_assert_uint_eq(count, 3);
    ck_assert_id_eq(rows[0].id, soon.id);
    ck_assert_id_eq(rows[1].id, other.id);
    ck_assert_id_eq(rows[2].id, late.id);
    rows = ask(&f, (struct job_cell){true, "a/b", NULL}, 10, &count);
    ck_assert_uint_eq(count, 2);
    ck_assert_id_eq(rows[0].id, soon.id);
    rows = ask(&f, (struct job_cell){true, NULL, "ui"}, 10, &count);
    ck_assert_uint_eq(count, 2);
    ck_assert_id_eq(rows[0].id, other.id);
    rows = ask(&f, (struct job_cell){true, "a/b", "ui"}, 10, &count);
    ck_assert_uint_eq(count, 1);
    ck_assert_id_eq(rows[0].id, late.id);
    (void)ask(&f, (struct job_cell){true, "a/b", "db"}, 10, &count);
    ck_assert_uint_eq(count, 0);
}
END_TEST

START_TEST(a_job_that_is_leased_is_passed_over_and_one_that_is_settled_has_no_marks)
{
    FIXTURE(f);
    struct job_row first = work(&f, 1, &(struct job_about){"a/b", LABELS("ui")});
    struct job_row second = work(&f, 2, &(struct job_about){"a/b", LABELS("ui")});
    must(jobs_get(f.db, &first.id, &f.arena, &first, &f.err));
    struct claim claim = {"bob", "token-1", f.now_us, f.now_us + US_PER_MINUTE};
    must(jobs_claim(f.db, &claim, &first, &f.err));
    size_t count;
    struct job_row *rows = ask(&f, (struct job_cell){true, NULL, "ui"}, 10, &count);
    ck_assert_uint_eq(count, 1);
    ck_assert_id_eq(rows[0].id, second.id);
    int64_t claims;
    must(agents_count_claims(f.db, "bob", &claims, &f.err));
    ck_assert_int_eq(claims, 1);
    struct id *ids;
    must(agents_claims(f.db, "bob", &f.arena, &ids, &count, &f.err));
    ck_assert_uint_eq(count, 1);
    ck_assert_id_eq(ids[0], first.id);
    must(agents_count_claims(f.db, "eve", &claims, &f.err));
    ck_assert_int_eq(claims, 0);
    must(job_marks_drop(f.db, &second.id, &f.err));
    (void)ask(&f, (struct job_cell){true, "a/b", NULL}, 10, &count);
    ck_assert_uint_eq(count, 0);
    bool any;
    must(jobs_any_queued(f.db, "agents", &any, &f.err));
    ck_assert(any);
    must(jobs_any_queued(f.db, "elsewhere", &any, &f.err));
    ck_assert(!any);
}
END_TEST

/* The plan of the statement is checked in test_store_sqlite.c. */
START_TEST(work_behind_a_thousand_others_is_found)
{
    FIXTURE(f);
    CLEANUP(tx_abort) struct tx tx = {0};
    must(tx_begin(f.db, &tx, &f.err));
    for (int64_t rank = 0; rank < 1000; rank++)
        (void)work(&f, rank, &(struct job_about){"a/b", LABELS("ui")});
    struct job_row mine = work(&f, 1000, &(struct job_about){"c/d", LABELS("db", "ui")});
    must(tx_commit(&tx, &f.err));
    static const struct job_cell cells[] = {
        {true, "c/d", NULL}, {true, NULL, "db"}, {true, "c/d", "ui"}};
    for (size_t i = 0; i < COUNT_OF(cells); i++) {
        size_t count;
        struct job_row *rows = ask(&f, cells[i], 1, &count);
        ck_assert_uint_eq(count, 1);
        ck_assert_id_eq(rows[0].id, mine.id);
    }
}
END_TEST

Suite *store_agents_suite(void)
{
    Suite *suite = suite_create("store_agents");
    TCase *tc = tcase_create("registry");
    case_add(tc, an_agent_is_found_by_its_name_and_its_name_is_its_own);
    case_add(tc, a_heartbeat_never_moves_back);
    case_add(tc, agents_are_listed_by_persona_name_and_state);
    suite_add_tcase(suite, tc);
    tc = tcase_create("marks");
    tcase_set_timeout(tc, 60);
    case_add(tc, marked_jobs_are_found_by_repository_and_label_in_order_of_rank);
    case_add(tc, a_job_that_is_leased_is_passed_over_and_one_that_is_settled_has_no_marks);
    case_add(tc, work_behind_a_thousand_others_is_found);
    suite_add_tcase(suite, tc);
    return suite;
}
