/*
 * fixture.c - stores for tests.
 */
#include "tests/store/fixture.h"
#include "base/fd.h"
#include "core/queue/rank.h"
#include "core/run/task.h"
#include "store/pq_lib.h"
#include "store/workspaces.h"
#include "tests/store/schema_stock.h"
#include "tests/store/stock.h"
#include <stdio.h>
#include <stdlib.h>

static const struct engine {
    const char *url_format; /* %s: a scratch directory */
    bool reopens;
    bool has_files;
} engines[] = {
    [ENGINE_FILE] = {"sqlite:%s/drover.db", true, true},
    [ENGINE_MEMORY] = {"sqlite::memory:", false, true},
    [ENGINE_POSTGRES] = {NULL, true, false},
};

const char *postgres_url(void)
{
    static bool told;
    const char *url = getenv("DROVER_TEST_POSTGRES");
    if (!text_empty(url))
        return url;
    if (!told)
        printf("SKIPPED: the tests on PostgreSQL: DROVER_TEST_POSTGRES is not set, see "
               "tools/postgres\n");
    told = true;
    return NULL;
}

int engine_count(void)
{
    return postgres_url() == NULL ? ENGINE_POSTGRES : ENGINE_POSTGRES + 1;
}

bool engine_reopens(int engine)
{
    return engines[engine].reopens;
}

bool engine_has_files(int engine)
{
    return engines[engine].has_files;
}

static void keep_silent(void *arg, const PGresult *result)
{
    (void)arg;
    (void)result;
}

/* "": it was carried out. */
static void run(const char *text, char *error, size_t bytes)
{
    PGconn *pg = pq->connectdb(postgres_url());
    pq->setNoticeReceiver(pg, keep_silent, NULL);
    PGresult *result = pq->exec(pg, text);
    ExecStatusType status = pq->resultStatus(result);
    bool done = status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
    text_copy(error, bytes, done ? "" : pq->errorMessage(pg));
    pq->clear(result);
    pq->finish(pg);
}

void postgres_run(const char *text)
{
    char error[512];
    ck_assert_int_eq(pq_lib_load(NULL), RC_OK);
    run(text, error, sizeof error);
    ck_assert_msg(error[0] == '\0', "%s: %s", text, error);
}

bool postgres_try(const char *text)
{
    char error[512];
    if (pq_lib_load(NULL) != RC_OK)
        return false;
    run(text, error, sizeof error);
    return error[0] == '\0';
}

static void store_start(struct fixture *f)
{
    struct store_options options = {.url = f->url, .artifact_dir = f->artifact_dir};
    enum rc rc = store_open(&options, &f->store, &f->err);
    ck_assert_msg(rc == RC_OK, "%s: %s", f->err.code, f->err.text);
    f->db = store_writer(f->store);
}

static char *url_in(struct arena *arena, const char *format, const char *dir)
{
    const char *hole = strstr(format, "%s");
    if (hole == NULL)
        return arena_strdup(arena, format);
    return arena_printf(arena, "%.*s%s%s", (int)(hole - format), format, dir, hole + 2);
}

char *postgres_url_in(struct arena *arena, const char *url, const char *schema)
{
    /* Tests in virtual time may stand still in a transaction for as long as the machine is busy. */
    return arena_printf(arena,
                        "%s%coptions=-csearch_path%%3D%s"
                        "%%20-cidle_in_transaction_session_timeout%%3D10min",
                        url, strchr(url, '?') == NULL ? '?' : '&', schema);
}

/* With the schema from stock, if there is one. */
static void first_start(struct fixture *f)
{
    const char *dir;
    if (f->engine == ENGINE_MEMORY)
        f->store = stock_take(&dir);
    if (f->store != NULL) {
        f->artifact_dir = arena_strdup(&f->arena, dir);
        f->db = store_writer(f->store);
        return;
    }
    if (f->engine == ENGINE_FILE)
        (void)stock_copy(arena_printf(&f->arena, "%s/drover.db", f->dir));
    store_start(f);
    if (f->schema != NULL)
        schema_filled(f->schema);
}

struct fixture fixture_open(int engine)
{
    struct fixture f = {
        .now_us = INT64_C(1700000000000000), .random = random_seeded(7), .engine = engine};
    const char *tmp = getenv("TMPDIR");
    f.dir = arena_printf(&f.arena, "%s/drover-store-XXXXXX", tmp != NULL ? tmp : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(f.dir));
    if (engine == ENGINE_POSTGRES) {
        f.schema = schema_take(&f.arena);
        f.url = postgres_url_in(&f.arena, postgres_url(), f.schema);
    } else
        f.url = url_in(&f.arena, engines[engine].url_format, f.dir);
    f.artifact_dir = arena_printf(&f.arena, "%s/artifacts", f.dir);
    first_start(&f);

    struct workspace_row workspace;
    enum rc rc = workspaces_by_name(f.db, "default", &f.arena, &workspace, &f.err);
    ck_assert_msg(rc == RC_OK, "%s", f.err.text);
    f.workspace_id = workspace.id;
    f.repository_id = fixture_id(&f);
    struct repository_row repository = {
        .id = f.repository_id,
        .workspace_id = f.workspace_id,
        .name = "acme/billing",
        .config = STR("{\"url\":\"/srv/git/billing.git\"}"),
        .created_us = f.now_us,
        .updated_us = f.now_us,
    };
    rc = repositories_put(f.db, &repository, &f.err);
    ck_assert_msg(rc == RC_OK, "%s", f.err.text);
    return f;
}

void fixture_reopen(struct fixture *f)
{
    store_close(f->store);
    store_start(f);
}

void fixture_close(struct fixture *f)
{
    store_close(f->store);
    if (f->schema != NULL)
        schema_return(f->schema);
    enum rc rc = dir_remove(f->artifact_dir, &f->err);
    if (rc == RC_OK)
        rc = dir_remove(f->dir, &f->err);
    ck_assert_msg(rc == RC_OK, "%s", f->err.text);
    arena_release(&f->arena);
}

struct id fixture_id(struct fixture *f)
{
    f->now_us += 1000;
    return id_new(f->now_us, &f->random);
}

struct task_row fixture_task(struct fixture *f)
{
    struct task_row task = {
        .id = fixture_id(f),
        .workspace_id = f->workspace_id,
        .repository_id = f->repository_id,
        .description = "make the test pass",
        .risk = RISK_MEDIUM,
        .mode = MODE_SUPERVISED_PR,
        .priority = PRIORITY_NORMAL,
        .requested_by = "admin",
        .status = TASK_SUBMITTED,
        .created_us = f->now_us,
        .updated_us = f->now_us,
    };
    enum rc rc = tasks_insert(f->db, &task, NULL, 0, &f->err);
    ck_assert_msg(rc == RC_OK, "%s", f->err.text);
    return task;
}

struct run_row fixture_run(struct fixture *f, const struct task_row *task)
{
    struct run_row *earlier;
    size_t count;
    enum rc rc = runs_of_task(f->db, &task->id, &f->arena, &earlier, &count, &f->err);
    ck_assert_msg(rc == RC_OK, "%s", f->err.text);
    struct run_row run = {
        .id = fixture_id(f),
        .task_id = task->id,
        .workspace_id = task->workspace_id,
        .repository_id = task->repository_id,
        .run_no = (int64_t)count + 1,
        .status = RUN_QUEUED,
        .rank = f->now_us,
        .requested_by = task->requested_by,
        .task_type = task->task_type,
        .queued_us = f->now_us,
        .updated_us = f->now_us,
    };
    rc = runs_insert(f->db, &run, &f->err);
    ck_assert_msg(rc == RC_OK, "%s", f->err.text);
    return run;
}

struct job_row fixture_job(struct fixture *f, const char *queue)
{
    return (struct job_row){
        .id = fixture_id(f),
        .queue = queue,
        .type = "echo",
        .payload = STR("{\"n\":1}"),
        .priority = PRIORITY_NORMAL,
        .rank = f->now_us,
        .life = {.state = JOB_QUEUED, .due_us = f->now_us, .attempt_max = 3},
        .created_us = f->now_us,
        .updated_us = f->now_us,
    };
}
