/*
 * fixture.h - a fresh store on one of the engines, and rows to put into it.
 *
 * A conformance test is a loop test over the engines:
 *
 *     START_TEST(a_setting_is_replaced)
 *     {
 *         FIXTURE(f);
 *         ...
 *     }
 *     case_add(tc, a_setting_is_replaced);
 *
 * An engine joins the suite by a line in fixture.c.  PostgreSQL takes part when
 * DROVER_TEST_POSTGRES holds the URL of a database to work in (tools/postgres makes one): each test
 * has a schema to itself there (schema_stock.h).
 */
#ifndef TESTS_STORE_FIXTURE_H
#define TESTS_STORE_FIXTURE_H
#include "base/arena.h"
#include "base/random.h"
#include "store/jobs.h"
#include "store/repositories.h"
#include "store/runs.h"
#include "store/store.h"
#include "store/tasks.h"
#include <check.h>

struct fixture {
    struct store *store;
    struct db *db; /* The writer. */
    struct arena arena;
    struct random random;
    struct err err;
    int64_t now_us; /* Grows with every id, so that ids are in order. */
    int engine;
    char *dir; /* Scratch; removed at the end. */
    char *url;
    char *schema; /* PostgreSQL: returned at the end; else NULL. */
    char *artifact_dir;
    struct id workspace_id;
    struct id repository_id; /* Of "acme/billing". */
};

int engine_count(void);
bool engine_reopens(int engine);   /* Are the data still there after closing it? */
bool engine_has_files(int engine); /* Contents are files, a backup is made by itself. */

struct fixture fixture_open(int engine);
void fixture_reopen(struct fixture *f); /* Closes and opens the store. */
void fixture_close(struct fixture *f);
#define FIXTURE(f) CLEANUP(fixture_close) struct fixture f = fixture_open(_i)

/* For tests of one engine: FIXTURE_ON(f, ENGINE_FILE). */
enum { ENGINE_FILE = 0, ENGINE_MEMORY = 1, ENGINE_POSTGRES = 2 };
#define FIXTURE_ON(f, engine) CLEANUP(fixture_close) struct fixture f = fixture_open(engine)

#define case_add(tc, test) tcase_add_loop_test(tc, test, 0, engine_count())

/* Fails with the text of f->err. */
#define must(call)                                                                       \
    do {                                                                                 \
        enum rc must_rc = (call);                                                        \
        ck_assert_msg(must_rc == RC_OK, #call ": %s: %s", rc_name(must_rc), f.err.text); \
    } while (0)
#define must_be(want, call)                                                               \
    do {                                                                                  \
        enum rc must_rc = (call);                                                         \
        ck_assert_msg(must_rc == (want), #call ": %s: %s", rc_name(must_rc), f.err.text); \
    } while (0)
#define ck_assert_id_eq(a, b)           ck_assert_str_eq((a).text, (b).text)
#define ck_assert_bytes_eq(slice, want) ck_assert(str_is(slice, want))

/* What is due by then, for a fixture f, as if it had the turn at the timers. */
#define DUE_BY(now, max) (&(const struct due_ask){&(const struct lease_proof){f.db}, (now), (max)})

/* Of DROVER_TEST_POSTGRES; NULL, and says so once, without it. */
const char *postgres_url(void);
char *postgres_url_in(struct arena *arena, const char *url, const char *schema);
void postgres_run(const char *text); /* On a connection of its own. */
bool postgres_try(const char *text); /* The same; false: it failed. */

struct id fixture_id(struct fixture *f);
/* Stored, with everything that they point at; the caller may change them and save. */
struct task_row fixture_task(struct fixture *f);
struct run_row fixture_run(struct fixture *f, const struct task_row *task);
/* Not stored yet. */
struct job_row fixture_job(struct fixture *f, const char *queue);
#endif
