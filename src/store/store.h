/*
 * store.h - the only truth: opens an engine, brings its schema forward, hands out connections.
 *
 * SQLite: one writer connection (WAL, synchronous=FULL, checkpoints in the writer), readers
 * beside it.  A schema newer than this binary is refused.
 */
#ifndef STORE_STORE_H
#define STORE_STORE_H
#include "store/db.h"

struct store; /* Owned by its opener. */

struct store_options {
    const char *url;          /* sqlite:PATH, or sqlite::memory: for tests and the simulator */
    const char *artifact_dir; /* For contents; NULL: artifact_put and its kin are refused. */
};

MUST_USE enum rc store_open(const struct store_options *options, struct store **ret_store,
                            struct err *err);
void store_close(struct store *store);

struct db *store_writer(struct store *store);
/* A connection for reading only, with its own snapshot per statement.  Give it back with
   store_reader_close.  In memory the writer itself is handed out (single thread). */
MUST_USE enum rc store_reader_open(struct store *store, struct db **ret_db, struct err *err);
void store_reader_close(struct store *store, struct db *db);

const char *store_artifact_dir(const struct store *store);
const char *store_durability(const struct store *store); /* "sqlite WAL synchronous=FULL" */
int64_t store_schema_version(void);                      /* The one this binary writes. */
/* A consistent copy while running (SQLite online backup). */
MUST_USE enum rc store_backup(struct store *store, const char *to_path, struct err *err);
#endif
