/*
 * store_fault.h - lets the commits or the writes of a store fail for a while, in the engine itself.
 *
 *                     SQLite                                PostgreSQL
 *   FAULT_COMMIT      the commit hook refuses writes        a deferred constraint raises 53100
 *   FAULT_FULL        the database may not grow: FULL       every write raises 53100
 *
 * For one thread with one store at a time.
 */
#ifndef TESTS_STORE_STORE_FAULT_H
#define TESTS_STORE_STORE_FAULT_H
#include "store/db.h"

enum store_fault { FAULT_NONE, FAULT_COMMIT, FAULT_FULL, FAULT_COUNT };

/* For SQLite, before the store is opened, once: connections that open from now on have the hook. */
void store_fault_install(void);
/* For PostgreSQL, after the store is opened; nothing elsewhere. */
void store_fault_arm(struct db *db);
/* Between transactions, for this connection. */
void store_fault_set(struct db *db, enum store_fault fault);

/* For a commit and a rollback hook of one's own, in the place of store_fault_install. */
struct sqlite3;
bool store_fault_refuses(struct sqlite3 *handle);
void store_fault_rolled_back(struct sqlite3 *handle);
#endif
