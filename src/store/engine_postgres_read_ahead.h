/*
 * engine_postgres_read_ahead.h - results of statements that were sent ahead, until they are
 * queried.
 *
 *   ahead(run_get, R1), ahead(run_get, R2) ...   all sent in one go
 *   start(run_get, R2)                           finds its result here, once
 *   a write that names R1                        makes its result outdated: dropped
 *
 * A statement that can be sent ahead has an id as its only parameter.  Nothing outlives the
 * transaction.
 */
#ifndef STORE_ENGINE_POSTGRES_READ_AHEAD_H
#define STORE_ENGINE_POSTGRES_READ_AHEAD_H
#include "base/id.h"
#include "store/engine.h"

struct pg_result; /* libpq's PGresult. */

enum { PG_READ_AHEAD_MAX = 1024, PG_READ_AHEAD_SLOTS = 2048 };

struct pg_read_ahead {
    struct pg_read_ahead_entry {
        const struct engine_stmt *stmt; /* NULL: taken or dropped. */
        struct id id;
        struct pg_result *result; /* NULL: on its way. */
        uint32_t next;            /* In its slot's chain, 1-based; 0: the last. */
    } * entries;                  /* PG_READ_AHEAD_MAX, made when first needed. */
    uint32_t count;
    uint32_t slots[PG_READ_AHEAD_SLOTS]; /* By hash of the id; 1-based, 0: empty. */
};

/* The place of its result; PG_READ_AHEAD_MAX: no room, or sent already. */
uint32_t pg_read_ahead_add(struct pg_read_ahead *read_ahead, const struct engine_stmt *stmt,
                           const char *id);
void pg_read_ahead_put(struct pg_read_ahead *read_ahead, uint32_t place, struct pg_result *result);
/* NULL: was not sent.  A result that is still on its way has to be read first. */
struct pg_read_ahead_entry *pg_read_ahead_find(struct pg_read_ahead *read_ahead,
                                               const struct engine_stmt *stmt, const char *id);
struct pg_result *pg_read_ahead_take(struct pg_read_ahead_entry *entry);
void pg_read_ahead_drop(struct pg_read_ahead *read_ahead, const char *id);
void pg_read_ahead_clear(struct pg_read_ahead *read_ahead);
void pg_read_ahead_free(struct pg_read_ahead *read_ahead);
#endif
