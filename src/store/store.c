/*
 * store.c - opens an engine and hands out its connections.
 */
#include "store/store.h"
#include "base/fd.h"
#include "base/mem.h"
#include "store/artifact_dir.h"
#include "store/engine.h"
#include "store/migrate.h"
#include <assert.h>
#include <stdatomic.h>
#include <string.h>

struct store {
    const struct engine_ops *ops;
    struct engine_site *site;
    struct db *writer;
    char *artifact_dir; /* or NULL */
    struct artifact_shelves shelves;
    atomic_int lent; /* Connections handed out and not given back. */
    struct lent_db kept[STORE_PURPOSE_COUNT];
};

/* To add one: its struct engine_ops as in store/engine_sqlite.c, declared in store/engine.h, a row
   here, and one in tests/store/fixture.c, so that all suites of the store run on it. */
static const struct engine_ops *const engines[] = {&engine_sqlite, &engine_postgres};

static const struct engine_ops *engine_of(const char *url)
{
    for (size_t i = 0; i < COUNT_OF(engines); i++)
        for (const char *const *scheme = engines[i]->schemes; *scheme != NULL; scheme++)
            if (text_starts(url, *scheme))
                return engines[i];
    return NULL;
}

bool store_url_known(const char *url)
{
    return engine_of(url) != NULL;
}

static enum rc store_start(struct store *store, const struct store_options *options,
                           struct err *err)
{
    enum rc rc = store->ops->attach(options->url, &store->site, err);
    if (rc == RC_OK)
        rc = db_open(store->ops, store->site, ENGINE_WRITER, &store->writer, err);
    if (rc == RC_OK)
        rc = migrate(store->writer, migrations, migration_count, err);
    if (rc == RC_OK && options->artifact_dir != NULL) {
        store->artifact_dir = mem_strdup(options->artifact_dir);
        if (!store->ops->is_shared)
            rc = artifact_dir_prepare(store->artifact_dir, err);
    }
    return rc;
}

enum rc store_open(const struct store_options *options, struct store **ret_store, struct err *err)
{
    const struct engine_ops *ops = engine_of(options->url);
    if (ops == NULL)
        return err_set(err, RC_INVALID, "INVALID_STORE_URL",
                       "no engine for the database URL %s: write sqlite:PATH or postgres://...",
                       options->url);
    struct store *store = mem_alloc(sizeof *store);
    store->ops = ops;
    for (size_t i = 0; i < STORE_PURPOSE_COUNT; i++)
        pthread_mutex_init(&store->kept[i].lock, NULL);
    pthread_mutex_init(&store->shelves.lock, NULL);
    enum rc rc = store_start(store, options, err);
    if (rc != RC_OK) {
        store_close(store);
        return rc;
    }
    *ret_store = store;
    return RC_OK;
}

void store_close(struct store *store)
{
    if (store == NULL)
        return;
    assert(atomic_load(&store->lent) == 0);
    for (size_t i = 0; i < STORE_PURPOSE_COUNT; i++) {
        db_close(store->kept[i].db);
        pthread_mutex_destroy(&store->kept[i].lock);
    }
    pthread_mutex_destroy(&store->shelves.lock);
    db_close(store->writer);
    store->ops->detach(store->site);
    mem_free(store->artifact_dir);
    mem_free(store);
}

struct db *store_writer(struct store *store)
{
    return store->writer;
}

static enum rc lend(struct store *store, enum engine_role role, struct db **ret_db, struct err *err)
{
    enum rc rc = db_open(store->ops, store->site, role, ret_db, err);
    if (rc == RC_OK)
        atomic_fetch_add(&store->lent, 1);
    return rc;
}

static void take_back(struct store *store, struct db *db)
{
    if (db == NULL || db == store->writer)
        return;
    db_close(db);
    atomic_fetch_sub(&store->lent, 1);
}

enum rc store_reader_open(struct store *store, struct db **ret_db, struct err *err)
{
    if (!store->ops->is_single(store->site))
        return lend(store, ENGINE_READER, ret_db, err);
    *ret_db = store->writer;
    return RC_OK;
}

void store_reader_close(struct store *store, struct db *db)
{
    take_back(store, db);
}

enum rc store_writer_open(struct store *store, struct db **ret_db, struct err *err)
{
    if (store->ops->is_shared)
        return lend(store, ENGINE_WRITER, ret_db, err);
    *ret_db = store->writer;
    return RC_OK;
}

void store_writer_close(struct store *store, struct db *db)
{
    take_back(store, db);
}

enum rc store_borrow(struct store *store, enum store_purpose purpose, struct db **ret_db,
                     struct err *err)
{
    struct lent_db *kept = &store->kept[purpose];
    pthread_mutex_lock(&kept->lock);
    if (kept->db == NULL) {
        enum rc rc = db_open(store->ops, store->site, ENGINE_WRITER, &kept->db, err);
        if (rc != RC_OK) {
            pthread_mutex_unlock(&kept->lock);
            return rc;
        }
    }
    *ret_db = kept->db;
    return RC_OK;
}

void store_give_back(struct store *store, enum store_purpose purpose)
{
    pthread_mutex_unlock(&store->kept[purpose].lock);
}

void store_enroll(struct store *store, const struct store_fence *fence)
{
    assert(store->ops->is_shared);
    assert(atomic_load(&store->lent) == 0);
    db_enroll(store->writer, store->site, fence);
}

const struct engine_ops *store_engine(const struct store *store)
{
    return store->ops;
}

struct engine_site *store_site(struct store *store)
{
    return store->site;
}

bool store_is_shared(const struct store *store)
{
    return store->ops->is_shared;
}

const char *store_artifact_dir(const struct store *store)
{
    return store->artifact_dir;
}

struct artifact_shelves *store_artifact_shelves(struct store *store)
{
    return &store->shelves;
}

const char *store_database_path(const struct store *store)
{
    const char *path = store->ops->path != NULL ? store->ops->path(store->site) : "";
    return path[0] != '\0' ? path : NULL;
}

const char *store_durability(const struct store *store)
{
    return store->ops->durability(store->site);
}

int64_t store_schema_version(void)
{
    return (int64_t)migration_count;
}

enum rc store_backup(struct store *store, const char *to_path, struct err *err)
{
    struct db *reader;
    enum rc rc = store_reader_open(store, &reader, err);
    if (rc != RC_OK)
        return rc;
    rc = db_backup(reader, to_path, err);
    store_reader_close(store, reader);
    return rc;
}

static enum rc database_bytes(struct db *db, int64_t *ret_bytes, struct err *err)
{
    struct db_space space;
    enum rc rc = db_space(db, &space, err);
    if (rc == RC_OK)
        *ret_bytes = space.pages * space.page_bytes;
    return rc;
}

enum rc store_compact(const char *url, struct compacted *ret_compacted, struct err *err)
{
    const struct engine_ops *ops = engine_of(url);
    if (ops == NULL || ops->compact == NULL)
        return err_set(err, RC_INVALID, "NOT_SQLITE",
                       "only a database of SQLite is made compact by drover: PostgreSQL has "
                       "autovacuum, and VACUUM FULL");
    struct engine_site *site = NULL;
    struct db *db = NULL;
    enum rc rc = ops->attach(url, &site, err);
    if (rc == RC_OK)
        rc = db_open(ops, site, ENGINE_WRITER, &db, err);
    if (rc == RC_OK)
        rc = database_bytes(db, &ret_compacted->before_bytes, err);
    if (rc == RC_OK)
        rc = db_compact(db, err);
    if (rc == RC_OK)
        rc = database_bytes(db, &ret_compacted->after_bytes, err);
    db_close(db);
    ops->detach(site);
    return rc;
}
