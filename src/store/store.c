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
    atomic_int readers; /* Handed out and not given back. */
};

static const struct engine_ops *const engines[] = {&engine_sqlite};

static const struct engine_ops *engine_of(const char *url)
{
    for (size_t i = 0; i < COUNT_OF(engines); i++)
        if (text_starts(url, engines[i]->scheme))
            return engines[i];
    return NULL;
}

static enum rc store_start(struct store *store, const struct store_options *options,
                           struct err *err)
{
    const char *where = options->url + strlen(store->ops->scheme);
    enum rc rc = store->ops->attach(where, &store->site, err);
    if (rc == RC_OK)
        rc = db_open(store->ops, store->site, ENGINE_WRITER, &store->writer, err);
    if (rc == RC_OK)
        rc = migrate(store->writer, migrations, migration_count, err);
    if (rc == RC_OK && options->artifact_dir != NULL) {
        store->artifact_dir = mem_strdup(options->artifact_dir);
        rc = artifact_dir_prepare(store->artifact_dir, err);
    }
    return rc;
}

enum rc store_open(const struct store_options *options, struct store **ret_store, struct err *err)
{
    const struct engine_ops *ops = engine_of(options->url);
    if (ops == NULL)
        return err_set(err, RC_INVALID, "INVALID_STORE_URL",
                       "no engine for the database URL %s: write sqlite:PATH", options->url);
    struct store *store = mem_alloc(sizeof *store);
    store->ops = ops;
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
    assert(atomic_load(&store->readers) == 0);
    db_close(store->writer);
    store->ops->detach(store->site);
    mem_free(store->artifact_dir);
    mem_free(store);
}

struct db *store_writer(struct store *store)
{
    return store->writer;
}

enum rc store_reader_open(struct store *store, struct db **ret_db, struct err *err)
{
    if (store->ops->is_single(store->site)) {
        *ret_db = store->writer;
        return RC_OK;
    }
    enum rc rc = db_open(store->ops, store->site, ENGINE_READER, ret_db, err);
    if (rc == RC_OK)
        atomic_fetch_add(&store->readers, 1);
    return rc;
}

void store_reader_close(struct store *store, struct db *db)
{
    if (db == NULL || db == store->writer)
        return;
    db_close(db);
    atomic_fetch_sub(&store->readers, 1);
}

const char *store_artifact_dir(const struct store *store)
{
    return store->artifact_dir;
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
