/*
 * test_store_columns.c - tables of columns: what follows from one, and that those of the aggregates
 * are the schema.
 */
#include "store/accounts.h"
#include "store/agents.h"
#include "store/approvals.h"
#include "store/batches.h"
#include "store/consumers.h"
#include "store/deliveries.h"
#include "store/engine.h"
#include "store/events.h"
#include "store/intake.h"
#include "store/issue_states.h"
#include "store/log_lines.h"
#include "store/memories.h"
#include "store/messages.h"
#include "store/patches.h"
#include "store/pull_requests.h"
#include "store/query.h"
#include "store/questions.h"
#include "store/requests.h"
#include "store/sagas.h"
#include "store/schedules.h"
#include "store/schemas.h"
#include "store/shapes.h"
#include "store/shepherds.h"
#include "store/sinks.h"
#include "store/subscriptions.h"
#include "store/syncs.h"
#include "store/tokens.h"
#include "store/trains.h"
#include "store/verifications.h"
#include "store/workers.h"
#include "tests/store/fixture.h"
#include <string.h>

/* ---- a table of the test's own ---- */

enum colour { RED, GREEN };
static const char *colour_name(enum colour colour)
{
    return colour == RED ? "red" : "green";
}
static bool colour_parse(const char *name, enum colour *ret_colour)
{
    *ret_colour = text_same(name, "red") ? RED : GREEN;
    return text_same(name, "red") || text_same(name, "green");
}
WORDS(colour_words, enum colour, colour_name, colour_parse);

enum { CRATE_STATE = COLUMN_GROUP(0), CRATE_COUNT = COLUMN_GROUP(1) };
#define CRATE_MEMBERS    \
    struct id id;        \
    const char *place;   \
    int64_t count;       \
    bool open;           \
    struct str contents; \
    enum colour colour;  \
    int64_t created_us
#define CRATE_COLUMNS(type)                                                                   \
    COLUMN(type, id, COLUMN_KEY | COLUMN_NEW), COLUMN(type, place, COLUMN_NEW | CRATE_STATE), \
        COLUMN(type, count, COLUMN_NEW | CRATE_STATE | CRATE_COUNT),                          \
        COLUMN(type, open, COLUMN_NEW | CRATE_STATE),                                         \
        COLUMN(type, contents, COLUMN_NEW | CRATE_STATE | COLUMN_LARGE),                      \
        COLUMN_WORD(type, colour, "colour", colour_words, COLUMN_NEW | CRATE_STATE),          \
        COLUMN(type, created_us, COLUMN_NEW | COLUMN_ONCE)
#define CRATE_PUT  "INSERT INTO crates {values} ON CONFLICT (id) DO UPDATE SET {replaced}"
#define CRATE_SAVE "UPDATE crates SET {set} WHERE {key}"
#define CRATE_GET  "SELECT {columns} FROM crates WHERE id = $1"

struct crate {
    CRATE_MEMBERS;
};
static const struct column crate_columns[] = {CRATE_COLUMNS(struct crate)};
static const struct shape crate_shape = SHAPE("crate", struct crate, crate_columns);
static const struct row_sql crate_put = {"crate_put", CRATE_PUT, &crate_shape, COLUMN_NEW};
static const struct row_sql crate_save = {"crate_save", CRATE_SAVE, &crate_shape,
                                          COLUMN_KEY | CRATE_STATE};
static const struct row_sql crate_count = {"crate_count", CRATE_SAVE, &crate_shape,
                                           COLUMN_KEY | CRATE_COUNT};
static const struct sql crate_get = {"crate_get", CRATE_GET, "t"};
static const struct sql crate_small = {"crate_small", "SELECT {small} FROM crates WHERE id = $1",
                                       "t"};

/* The same with one column more, which is named in one place only. */
struct labelled {
    CRATE_MEMBERS;
    const char *label;
};
static const struct column labelled_columns[] = {
    CRATE_COLUMNS(struct labelled),
    COLUMN(struct labelled, label, COLUMN_NEW | CRATE_STATE),
};
static const struct shape labelled_shape = SHAPE("crate", struct labelled, labelled_columns);
static const struct row_sql labelled_put = {"labelled_put", CRATE_PUT, &labelled_shape, COLUMN_NEW};
static const struct row_sql labelled_save = {"labelled_save", CRATE_SAVE, &labelled_shape,
                                             COLUMN_KEY | CRATE_STATE};
static const struct sql labelled_get = {"labelled_get", CRATE_GET, "t"};

static struct fixture crates_open(int engine)
{
    struct fixture f = fixture_open(engine);
    must(db_script(f.db, "crates",
                   "CREATE TABLE crates (id {text} NOT NULL PRIMARY KEY, place {text},"
                   " count {int} NOT NULL, open {int} NOT NULL, contents {json},"
                   " colour {text} NOT NULL, created_us {int} NOT NULL)",
                   &f.err));
    return f;
}
#define CRATES(f) CLEANUP(fixture_close) struct fixture f = crates_open(_i)

static struct crate crate_new(struct fixture *f)
{
    return (struct crate){.id = fixture_id(f),
                          .place = "cellar",
                          .count = 7,
                          .open = true,
                          .contents = STR("[1]"),
                          .colour = GREEN,
                          .created_us = 5};
}

static struct crate crate_read(struct fixture *fixture, const struct sql *sql, const struct id *id)
{
    struct fixture f = *fixture;
    struct crate crate;
    must(query_one(f.db, sql, P_LIST(P_ID(id)), &crate_shape, &fixture->arena, &crate, &f.err));
    return crate;
}

START_TEST(a_row_is_inserted_saved_and_read_back)
{
    CRATES(f);
    struct crate crate = crate_new(&f);
    must(row_exec(f.db, &crate_put, &crate, NULL, &f.err));
    struct crate read = crate_read(&f, &crate_get, &crate.id);
    ck_assert_id_eq(read.id, crate.id);
    ck_assert_str_eq(read.place, "cellar");
    ck_assert_int_eq(read.count, 7);
    ck_assert(read.open);
    ck_assert_bytes_eq(read.contents, "[1]");
    ck_assert_int_eq(read.colour, GREEN);
    ck_assert_int_eq(read.created_us, 5);
    crate.place = NULL;
    crate.open = false;
    crate.contents = (struct str){0};
    crate.colour = RED;
    crate.created_us = 6; /* Not in the group. */
    must(row_exec_one(f.db, &crate_save, &crate, &f.err));
    read = crate_read(&f, &crate_get, &crate.id);
    ck_assert_ptr_null(read.place);
    ck_assert(!read.open);
    ck_assert_uint_eq(read.contents.len, 0);
    ck_assert_int_eq(read.colour, RED);
    ck_assert_int_eq(read.created_us, 5);
}
END_TEST

START_TEST(only_the_columns_of_a_group_are_written)
{
    CRATES(f);
    struct crate crate = crate_new(&f);
    must(row_exec(f.db, &crate_put, &crate, NULL, &f.err));
    crate.place = "attic";
    crate.count = 8;
    must(row_exec_one(f.db, &crate_count, &crate, &f.err));
    struct crate read = crate_read(&f, &crate_get, &crate.id);
    ck_assert_str_eq(read.place, "cellar");
    ck_assert_int_eq(read.count, 8);
    struct crate none = {.id = fixture_id(&f)};
    must_be(RC_NOT_FOUND, row_exec_one(f.db, &crate_count, &none, &f.err));
    ck_assert_str_eq(f.err.text, "there is no such crate");
}
END_TEST

START_TEST(an_upsert_leaves_what_is_written_once)
{
    CRATES(f);
    struct crate crate = crate_new(&f);
    must(row_exec(f.db, &crate_put, &crate, NULL, &f.err));
    crate.place = "attic";
    crate.created_us = 6;
    must(row_exec(f.db, &crate_put, &crate, NULL, &f.err));
    struct crate read = crate_read(&f, &crate_get, &crate.id);
    ck_assert_str_eq(read.place, "attic");
    ck_assert_int_eq(read.created_us, 5);
}
END_TEST

START_TEST(large_columns_may_be_left_out)
{
    CRATES(f);
    struct crate crate = crate_new(&f);
    must(row_exec(f.db, &crate_put, &crate, NULL, &f.err));
    struct crate read = crate_read(&f, &crate_small, &crate.id);
    ck_assert_uint_eq(read.contents.len, 0);
    ck_assert_int_eq(read.colour, GREEN);
    ck_assert_int_eq(read.created_us, 5);
}
END_TEST

START_TEST(a_word_that_is_not_known_is_corrupt)
{
    CRATES(f);
    struct crate crate = crate_new(&f);
    must(row_exec(f.db, &crate_put, &crate, NULL, &f.err));
    must(db_script(f.db, "crates", "UPDATE crates SET colour = 'blue'", &f.err));
    must_be(RC_CORRUPT, query_one(f.db, &crate_get, P_LIST(P_ID(&crate.id)), &crate_shape, &f.arena,
                                  &crate, &f.err));
    ck_assert_str_eq(f.err.code, "ROW_CORRUPT");
}
END_TEST

START_TEST(a_column_is_added_in_one_place)
{
    CRATES(f);
    must(db_script(f.db, "crates", "ALTER TABLE crates ADD COLUMN label {text}", &f.err));
    struct labelled crate = {.id = fixture_id(&f), .label = "fragile"}, read;
    must(row_exec(f.db, &labelled_put, &crate, NULL, &f.err));
    must(query_one(f.db, &labelled_get, P_LIST(P_ID(&crate.id)), &labelled_shape, &f.arena, &read,
                   &f.err));
    ck_assert_str_eq(read.label, "fragile");
    struct labelled stored = read;
    ck_assert(!columns_changed(&labelled_shape, CRATE_STATE, &read, &stored));
    read.label = "heavy";
    ck_assert(columns_changed(&labelled_shape, CRATE_STATE, &read, &stored));
    ck_assert(!columns_changed(&labelled_shape, CRATE_COUNT, &read, &stored));
    must(row_exec_one(f.db, &labelled_save, &read, &f.err));
    must(query_one(f.db, &labelled_get, P_LIST(P_ID(&crate.id)), &labelled_shape, &f.arena, &read,
                   &f.err));
    ck_assert_str_eq(read.label, "heavy");
}
END_TEST

/* ---- the tables of the aggregates ---- */

/* Rows that the others point at. */
struct world {
    struct task_row task;
    struct run_row run;
    struct saga_row saga;
    struct train_row train;
    struct pull_request_row pull_request;
    struct batch_row batch;
};
typedef enum rc write_fn(struct db *db, const void *row, struct err *err);
#define WRITE(function, type)                                                        \
    static enum rc write_##function(struct db *db, const void *row, struct err *err) \
    {                                                                                \
        return function(db, (const type *)row, err);                                 \
    }
static enum rc write_tasks_insert(struct db *db, const void *row, struct err *err)
{
    return tasks_insert(db, row, NULL, 0, err);
}
WRITE(tasks_save, struct task_row)
WRITE(tasks_set_config, struct task_row)
WRITE(runs_insert, struct run_row)
WRITE(runs_save, struct run_row)
WRITE(runs_save_more, struct run_row)
WRITE(runs_touch, struct run_row)
WRITE(jobs_insert, struct job_row)
WRITE(jobs_save, struct job_row)
WRITE(jobs_grow, struct job_row)
WRITE(attempts_insert, struct attempt_row)
WRITE(batches_insert, struct batch_row)
WRITE(batches_save, struct batch_row)
WRITE(batch_members_insert, struct batch_member_row)
WRITE(batch_members_save, struct batch_member_row)
WRITE(approvals_insert, struct approval_row)
WRITE(approvals_save, struct approval_row)
WRITE(questions_insert, struct question_row)
WRITE(questions_save, struct question_row)
WRITE(pull_requests_insert, struct pull_request_row)
WRITE(pull_requests_save, struct pull_request_row)
WRITE(sagas_insert, struct saga_row)
WRITE(sagas_save, struct saga_row)
WRITE(saga_steps_insert, struct saga_step_row)
WRITE(saga_steps_save, struct saga_step_row)
WRITE(schedules_put, struct schedule_row)
WRITE(schedules_save, struct schedule_row)
WRITE(schemas_insert, struct schema_row)
WRITE(tokens_insert, struct token_row)
WRITE(agents_insert, struct agent_row)
WRITE(agents_save, struct agent_row)
WRITE(trains_insert, struct train_row)
WRITE(trains_save, struct train_row)
WRITE(train_cars_insert, struct train_car_row)
WRITE(train_cars_save, struct train_car_row)
WRITE(workers_put, struct worker_row)
WRITE(requests_insert, struct request_row)
WRITE(requests_save, struct request_row)
WRITE(subscriptions_put, struct subscription_row)
WRITE(memories_insert, struct memory_row)
WRITE(issue_states_insert, struct issue_row)
WRITE(issue_states_save, struct issue_row)
WRITE(milestones_save, struct milestone_row)
WRITE(intake_insert, struct intake_row)
WRITE(intake_save, struct intake_row)
WRITE(messages_insert, struct message_row)
WRITE(patches_insert, struct patch_row)
WRITE(verifications_insert, struct verification_row)
WRITE(events_append, struct event)
WRITE(repositories_put, struct repository_row)
WRITE(repositories_save_quarantine, struct repository_row)
WRITE(accounts_save, struct account_row)
WRITE(shepherds_insert, struct shepherd_row)
WRITE(shepherds_save, struct shepherd_row)
WRITE(ci_failures_put, struct ci_failure_row)

WRITE(syncs_put, struct sync_row)
WRITE(syncs_save, struct sync_row)

static enum rc write_deliveries_insert(struct db *db, const void *row, struct err *err)
{
    bool is_new;
    return deliveries_insert(db, row, &is_new, err);
}

static enum rc write_account(struct db *db, const void *row, struct err *err)
{
    const struct account_row *account = row;
    struct account_key key = {account->id, account->workspace_id, account->name, 1};
    CLEANUP(arena_release) struct arena arena = {0};
    struct account_row unused;
    return accounts_take(db, &key, &arena, &unused, err);
}

static enum rc write_milestones_enter(struct db *db, const void *row, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct milestone_row unused;
    return milestones_enter(db, row, &arena, &unused, err);
}

static enum rc write_consumers_make(struct db *db, const void *row, struct err *err)
{
    bool made;
    return consumers_make(db, row, &made, err);
}
WRITE(consumers_save, struct consumer_row)
WRITE(log_lines_insert, struct log_line_row)

static enum rc write_sinks_make(struct db *db, const void *row, struct err *err)
{
    return sinks_make(db, &(struct lease_proof){db}, row, err);
}

static enum rc write_sinks_save(struct db *db, const void *row, struct err *err)
{
    return sinks_save(db, &(struct lease_proof){db}, row, NULL, err);
}

WRITE(sinks_configure, struct sink_row)

enum { SAVES_MAX = 3 };
static const struct aggregate {
    const char *table;
    const struct shape *shape;
    const char *key; /* A column by which the row is found. */
    write_fn *insert;
    write_fn *saves[SAVES_MAX]; /* Together they write all groups. */
    const char *text_column;    /* Has a CHECK: this text at first, and that one when changed. */
    const char *text_first, *text_changed;
} aggregates[] = {
    /* clang-format off */
    {"accounts", &account_shape, "id", write_account, {write_accounts_save}, NULL, NULL, NULL},
    {"agents", &agent_shape, "id", write_agents_insert, {write_agents_save}, NULL, NULL, NULL},
    {"approvals", &approval_shape, "id", write_approvals_insert, {write_approvals_save},
     "status", "pending", "approved"},
    {"batches", &batch_shape, "id", write_batches_insert, {write_batches_save}, NULL, NULL, NULL},
    {"batch_members", &batch_member_shape, "id", write_batch_members_insert,
     {write_batch_members_save}, NULL, NULL, NULL},
    {"consumers", &consumer_shape, "name", write_consumers_make, {write_consumers_save}, NULL,
     NULL, NULL},
    {"log_lines", &log_line_shape, "run_id", write_log_lines_insert, {NULL}, NULL, NULL, NULL},
    {"questions", &question_shape, "id", write_questions_insert, {write_questions_save},
     "status", "pending", "answered"},
    {"event_log", &event_shape, "id", write_events_append, {NULL}, NULL, NULL, NULL},
    {"jobs", &job_shape, "id", write_jobs_insert, {write_jobs_save, write_jobs_grow}, NULL,
     NULL, NULL},
    {"external_event_receipts", &delivery_shape, "id", write_deliveries_insert, {NULL},
     "status", "applied", NULL},
    {"forge_syncs", &sync_shape, "repository_id", write_syncs_put, {write_syncs_save,
     write_syncs_put}, NULL, NULL, NULL},
    {"job_attempts", &attempt_shape, "job_id", write_attempts_insert, {NULL}, "outcome",
     "failed", NULL},
    {"intake", &intake_shape, "id", write_intake_insert, {write_intake_save}, NULL, NULL, NULL},
    {"issue_states", &issue_shape, "id", write_issue_states_insert, {write_issue_states_save},
     NULL, NULL, NULL},
    {"milestones", &milestone_shape, "id", write_milestones_enter, {write_milestones_save}, NULL,
     NULL, NULL},
    {"memories", &memory_shape, "id", write_memories_insert, {NULL}, NULL, NULL, NULL},
    {"shepherds", &shepherd_shape, "pull_request_id", write_shepherds_insert,
     {write_shepherds_save}, NULL, NULL, NULL},
    {"ci_failures", &ci_failure_shape, "repository_id", write_ci_failures_put, {NULL}, NULL,
     NULL, NULL},
    {"run_messages", &message_shape, "run_id", write_messages_insert, {NULL}, NULL, NULL, NULL},
    {"patches", &patch_shape, "id", write_patches_insert, {NULL}, "status", "created", NULL},
    {"pull_requests", &pull_request_shape, "id", write_pull_requests_insert,
     {write_pull_requests_save}, "status", "open", "merged"},
    {"repositories", &repository_shape, "id", write_repositories_put,
     {write_repositories_save_quarantine}, NULL, NULL, NULL},
    {"requests", &request_shape, "id", write_requests_insert, {write_requests_save}, "state",
     "waiting", "replied"},
    {"runs", &run_shape, "id", write_runs_insert, {write_runs_save, write_runs_save_more,
     write_runs_touch}, NULL, NULL, NULL},
    {"sagas", &saga_shape, "id", write_sagas_insert, {write_sagas_save}, NULL, NULL, NULL},
    {"saga_steps", &saga_step_shape, "saga_id", write_saga_steps_insert,
     {write_saga_steps_save}, "status", "running", "failed"},
    {"schedules", &schedule_shape, "name", write_schedules_put, {write_schedules_save}, NULL,
     NULL, NULL},
    {"schemas", &schema_shape, "name", write_schemas_insert, {NULL}, NULL, NULL, NULL},
    {"sinks", &sink_shape, "name", write_sinks_make,
     {write_sinks_save, write_sinks_configure}, NULL, NULL, NULL},
    {"subscriptions", &subscription_shape, "name", write_subscriptions_put, {NULL}, NULL, NULL,
     NULL},
    {"tasks", &task_shape, "id", write_tasks_insert, {write_tasks_save, write_tasks_set_config},
     NULL, NULL, NULL},
    {"tokens", &token_shape, "id", write_tokens_insert, {NULL}, NULL, NULL, NULL},
    {"trains", &train_shape, "id", write_trains_insert, {write_trains_save}, NULL, NULL, NULL},
    {"train_cars", &train_car_shape, "id", write_train_cars_insert, {write_train_cars_save},
     NULL, NULL, NULL},
    {"verifications", &verification_shape, "id", write_verifications_insert, {NULL}, NULL, NULL,
     NULL},
    {"workers", &worker_shape, "name", write_workers_put, {NULL}, NULL, NULL, NULL},
    /* clang-format on */
};

/* A value of its own for the column; `round` makes another one. */
static void fill(struct fixture *f, const struct aggregate *aggregate, const struct column *column,
                 void *row, unsigned round)
{
    void *at = (char *)row + column->offset;
    unsigned n = (unsigned)column->offset + round;
    const char *text = arena_printf(&f->arena, "%s %u", column->name, n);
    if (aggregate->text_column != NULL && strcmp(column->name, aggregate->text_column) == 0)
        text = round == 0 ? aggregate->text_first : aggregate->text_changed;
    switch (column->kind) {
    case KIND_ID:
        *(struct id *)at = fixture_id(f);
        break;
    case KIND_TEXT:
        *(const char **)at = text;
        break;
    case KIND_INT:
        *(int64_t *)at = (int64_t)n + 1;
        break;
    case KIND_BOOL:
        *(bool *)at = round == 0 || !*(bool *)at;
        break;
    case KIND_JSON:
        *(struct str *)at = str_of(arena_printf(&f->arena, "{\"n\":%u}", n));
        break;
    case KIND_WORD: /* Every enum has a 0 and a 1; a 0 may be what no row has. */
        *(unsigned *)at = round == 0 ? 1 : *(unsigned *)at ^ 1;
        break;
    }
}

static bool equal(const struct column *column, const void *a, const void *b)
{
    a = (const char *)a + column->offset;
    b = (const char *)b + column->offset;
    switch (column->kind) {
    case KIND_ID:
        return id_same(a, b);
    case KIND_TEXT:
        return text_same(*(const char *const *)a, *(const char *const *)b);
    case KIND_INT:
        return *(const int64_t *)a == *(const int64_t *)b;
    case KIND_BOOL:
        return *(const bool *)a == *(const bool *)b;
    case KIND_JSON:
        return str_same(*(const struct str *)a, *(const struct str *)b);
    case KIND_WORD:
        break;
    }
    return *(const unsigned *)a == *(const unsigned *)b;
}

static void *member(const struct aggregate *aggregate, const char *name, void *row)
{
    for (size_t i = 0; i < aggregate->shape->count; i++)
        if (strcmp(aggregate->shape->columns[i].name, name) == 0)
            return (char *)row + aggregate->shape->columns[i].offset;
    return NULL;
}

/* Foreign keys. */
static void point(struct fixture *f, const struct world *world, const struct aggregate *aggregate,
                  void *row)
{
    bool is_run = strcmp(aggregate->table, "runs") == 0;
    const struct {
        const char *column;
        const struct id *id;
    } targets[] = {{"workspace_id", &f->workspace_id},
                   {"repository_id", &f->repository_id},
                   {"task_id", &world->task.id},
                   {"parent_id", &world->task.id},
                   {"run_id", &world->run.id},
                   {"saga_id", is_run ? NULL : &world->saga.id},
                   {"train_id", &world->train.id},
                   {"batch_id", &world->batch.id},
                   {"pull_request_id", is_run ? NULL : &world->pull_request.id}};
    for (size_t i = 0; i < COUNT_OF(targets); i++) {
        struct id *at = member(aggregate, targets[i].column, row);
        if (at != NULL && targets[i].id != NULL)
            *at = *targets[i].id;
    }
}

static struct world world_make(struct fixture *fixture)
{
    struct fixture f = *fixture;
    struct world world = {.task = fixture_task(fixture)};
    world.run = fixture_run(fixture, &world.task);
    world.saga = (struct saga_row){.id = fixture_id(fixture),
                                   .name = "world",
                                   .workspace_id = f.workspace_id,
                                   .definition = STR("[]")};
    must(sagas_insert(f.db, &world.saga, &f.err));
    world.batch = (struct batch_row){
        .id = fixture_id(fixture), .workspace_id = f.workspace_id, .name = "world"};
    must(batches_insert(f.db, &world.batch, &f.err));
    world.train = (struct train_row){.id = fixture_id(fixture),
                                     .workspace_id = f.workspace_id,
                                     .repository_id = f.repository_id,
                                     .target_branch = "world"};
    must(trains_insert(f.db, &world.train, &f.err));
    const struct run_row other = fixture_run(fixture, &world.task);
    world.pull_request = (struct pull_request_row){.id = fixture_id(fixture),
                                                   .number = 1,
                                                   .repository_id = f.repository_id,
                                                   .task_id = world.task.id,
                                                   .run_id = other.id,
                                                   .branch = "world",
                                                   .target_branch = "main",
                                                   .url = "/world#1",
                                                   .status = "open",
                                                   .head_commit = "head"};
    must(pull_requests_insert(f.db, &world.pull_request, &f.err));
    return world;
}

enum { ROW_BYTES = 2048 };

/* Workers need the time as $1, for their state. */
static void read_row(struct fixture *fixture, const struct aggregate *aggregate, void *row,
                     void *ret_row)
{
    struct fixture f = *fixture;
    bool timed = aggregate->shape == &worker_shape;
    struct sql *sql = arena_array(&fixture->arena, 1, sizeof *sql);
    *sql = (struct sql){"read",
                        arena_printf(&fixture->arena, "SELECT {columns} FROM %s WHERE %s = $%d",
                                     aggregate->table, aggregate->key, timed ? 2 : 1),
                        timed ? "it" : "t"};
    const void *at = member(aggregate, aggregate->key, row);
    bool by_id = strcmp(aggregate->key, "name") != 0;
    const char *key = by_id ? ((const struct id *)at)->text : *(const char *const *)at;
    struct param params[] = {P_INT(1), P_TEXT(key)};
    must(query_one(f.db, sql, timed ? params : params + 1, timed ? 2 : 1, aggregate->shape,
                   &fixture->arena, ret_row, &f.err));
}

static void check_equal(const struct aggregate *aggregate, const void *row, const void *read,
                        unsigned groups)
{
    for (size_t i = 0; i < aggregate->shape->count; i++) {
        const struct column *column = &aggregate->shape->columns[i];
        if ((column->groups & groups) != 0)
            ck_assert_msg(equal(column, row, read), "%s.%s was not kept", aggregate->table,
                          column->name);
    }
}

#define ALL_SAVED (~0U << COLUMN_GROUP_FIRST)

static void insert_row(struct fixture *fixture, const struct world *world,
                       const struct aggregate *aggregate, void *row)
{
    struct fixture f = *fixture;
    for (size_t i = 0; i < aggregate->shape->count; i++)
        fill(fixture, aggregate, &aggregate->shape->columns[i], row, 0);
    point(fixture, world, aggregate, row);
    must(aggregate->insert(f.db, row, &f.err));
}

/* What the insert does not write, columns like jobs.seq and runs.account, is then as it is read. */
START_TEST(every_column_that_an_insert_names_is_kept)
{
    FIXTURE(f);
    struct world world = world_make(&f);
    for (size_t i = 0; i < COUNT_OF(aggregates); i++) {
        _Alignas(max_align_t) char row[ROW_BYTES] = {0}, read[ROW_BYTES] = {0};
        insert_row(&f, &world, &aggregates[i], row);
        read_row(&f, &aggregates[i], row, read);
        check_equal(&aggregates[i], row, read, COLUMN_NEW);
    }
}
END_TEST

static void check_change(struct fixture *fixture, const struct aggregate *aggregate,
                         const struct column *column, char row[ROW_BYTES])
{
    struct fixture f = *fixture;
    const struct shape *shape = aggregate->shape;
    char stored[ROW_BYTES];
    memcpy(stored, row, ROW_BYTES);
    ck_assert(!columns_changed(shape, ~0U, row, stored));
    fill(fixture, aggregate, column, row, 1);
    for (unsigned group = COLUMN_GROUP(0); group != 0; group <<= 1)
        ck_assert_msg(columns_changed(shape, group, row, stored) == ((column->groups & group) != 0),
                      "%s.%s: is its change noticed in its groups?", aggregate->table,
                      column->name);
    for (size_t i = 0; i < SAVES_MAX && aggregate->saves[i] != NULL; i++)
        must(aggregate->saves[i](f.db, row, &f.err));
    _Alignas(max_align_t) char read[ROW_BYTES] = {0};
    read_row(fixture, aggregate, row, read);
    check_equal(aggregate, row, read, COLUMN_NEW | ALL_SAVED);
}

START_TEST(every_column_that_is_saved_is_compared_and_kept)
{
    FIXTURE(f);
    struct world world = world_make(&f);
    size_t changes = 0;
    for (size_t i = 0; i < COUNT_OF(aggregates); i++) {
        const struct aggregate *aggregate = &aggregates[i];
        if (aggregate->saves[0] == NULL)
            continue;
        _Alignas(max_align_t) char made[ROW_BYTES] = {0}, row[ROW_BYTES] = {0};
        insert_row(&f, &world, aggregate, made);
        read_row(&f, aggregate, made, row); /* With jobs.seq. */
        for (size_t j = 0; j < aggregate->shape->count; j++) {
            if ((aggregate->shape->columns[j].groups & ALL_SAVED) == 0)
                continue;
            check_change(&f, aggregate, &aggregate->shape->columns[j], row);
            changes++;
        }
    }
    ck_assert_uint_gt(changes, 100);
}
END_TEST

/* But where statements of its own write it: those aggregates have no COLUMN_NEW. */
START_TEST(every_column_is_in_a_group)
{
    const struct aggregate *aggregate = &aggregates[_i];
    unsigned all = 0;
    for (size_t i = 0; i < aggregate->shape->count; i++)
        all |= aggregate->shape->columns[i].groups;
    for (size_t i = 0; i < aggregate->shape->count; i++) {
        const struct column *column = &aggregate->shape->columns[i];
        unsigned written = COLUMN_KEY | COLUMN_NEW | COLUMN_COMPUTED | ALL_SAVED;
        ck_assert_msg((all & COLUMN_NEW) == 0 || (column->groups & written) != 0,
                      "%s.%s is read and never written", aggregate->table, column->name);
    }
}
END_TEST

/* ---- the schema ---- */

static const struct sql sqlite_columns = {
    "schema_columns",
    "SELECT m.name || '.' || c.name FROM sqlite_master m, pragma_table_info(m.name) c"
    " WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite%' ORDER BY 1",
    "",
};
static const struct sql postgres_columns = {
    "schema_columns",
    "SELECT c.table_name || '.' || c.column_name FROM information_schema.columns c"
    " JOIN information_schema.tables t USING (table_schema, table_name)"
    " WHERE c.table_schema = current_schema() AND t.table_type = 'BASE TABLE' ORDER BY 1",
    "",
};
static enum rc name_decode(struct row_reader *reader, void *to, struct err *err)
{
    (void)err;
    *(const char **)to = read_text(reader);
    return RC_OK;
}
static const struct shape name_shape = SHAPE_OF_RESULT("column", const char *, name_decode);

/* What has no table of columns: few columns, or statements of its own. */
static const char *const elsewhere[] = {
    "agent_results.",
    "issue_beats.",
    "issue_needs.",
    "artifact_chunks.",
    "artifact_contents.",
    "audit_head.",
    "commit_marks.",
    "idempotency_keys.",
    "job_keys.",
    "job_marks.",
    "leases.",
    "queues.tokens",
    "run_artifacts.",
    "run_snapshots.",
    "schema_migrations.",
    "settings.",
    "task_dependencies.",
    "timers.",
    "workspaces.",
    "event_log.issue_id",
    "processed_events.",
    "artifact_uses.",
    "expired_tasks.",
    "loose_artifacts.",
    "retention_sums.",
    "run_diagnostics.",
};

static bool is_named(const char *name, const char *table, const struct shape *shape)
{
    size_t len = strlen(table);
    if (strncmp(name, table, len) != 0 || name[len] != '.')
        return false;
    for (size_t i = 0; i < shape->count; i++)
        if (strcmp(shape->columns[i].name, name + len + 1) == 0)
            return true;
    return false;
}

static bool is_known(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(elsewhere); i++)
        if (text_starts(name, elsewhere[i]))
            return true;
    for (size_t i = 0; i < COUNT_OF(aggregates); i++)
        if (is_named(name, aggregates[i].table, aggregates[i].shape))
            return true;
    return is_named(name, "queues", &queue_shape) || is_named(name, "queues", &queue_level_shape) ||
           is_named(name, "breakers", &breaker_stored_shape) ||
           is_named(name, "forge_limits", &forge_limit_shape) ||
           is_named(name, "forge_limit_shares", &forge_share_shape) ||
           is_named(name, "audit_log", &audit_shape) ||
           is_named(name, "sink_dead_letters", &sink_dead_letter_shape);
}

static void check_stored(const char *const *names, size_t count, const char *table,
                         const struct shape *shape)
{
    for (size_t i = 0; i < shape->count; i++) {
        const struct column *column = &shape->columns[i];
        bool found = (column->groups & COLUMN_COMPUTED) != 0;
        for (size_t j = 0; j < count && !found; j++)
            found = text_starts(names[j], table) && names[j][strlen(table)] == '.' &&
                    strcmp(names[j] + strlen(table) + 1, column->name) == 0;
        ck_assert_msg(found, "the schema has no %s.%s", table, column->name);
    }
}

START_TEST(tables_of_columns_are_those_of_the_schema)
{
    FIXTURE(f);
    const char **names;
    size_t count;
    must(query_all(f.db, _i == ENGINE_POSTGRES ? &postgres_columns : &sqlite_columns, NULL, 0,
                   &name_shape, &f.arena, &names, &count, &f.err));
    ck_assert_uint_gt(count, 200);
    for (size_t i = 0; i < count; i++)
        ck_assert_msg(is_known(names[i]), "no table of columns has %s", names[i]);
    for (size_t i = 0; i < COUNT_OF(aggregates); i++)
        check_stored(names, count, aggregates[i].table, aggregates[i].shape);
    check_stored(names, count, "audit_log", &audit_shape);
    check_stored(names, count, "queues", &queue_shape);
    check_stored(names, count, "queues", &queue_level_shape);
    check_stored(names, count, "breakers", &breaker_stored_shape);
    check_stored(names, count, "forge_limits", &forge_limit_shape);
    check_stored(names, count, "forge_limit_shares", &forge_share_shape);
    check_stored(names, count, "sink_dead_letters", &sink_dead_letter_shape);
}
END_TEST

Suite *store_columns_suite(void)
{
    Suite *suite = suite_create("store_columns");
    TCase *tc = tcase_create("table");
    case_add(tc, a_row_is_inserted_saved_and_read_back);
    case_add(tc, only_the_columns_of_a_group_are_written);
    case_add(tc, an_upsert_leaves_what_is_written_once);
    case_add(tc, large_columns_may_be_left_out);
    case_add(tc, a_word_that_is_not_known_is_corrupt);
    case_add(tc, a_column_is_added_in_one_place);
    suite_add_tcase(suite, tc);
    tc = tcase_create("aggregates");
    case_add(tc, every_column_that_an_insert_names_is_kept);
    case_add(tc, every_column_that_is_saved_is_compared_and_kept);
    tcase_add_loop_test(tc, every_column_is_in_a_group, 0, COUNT_OF(aggregates));
    case_add(tc, tables_of_columns_are_those_of_the_schema);
    suite_add_tcase(suite, tc);
    return suite;
}
