/*
 * engine_postgres_ahead.h - results of statements that were sent ahead, until they are queried.
 *
 *   ahead(run_get, R1), ahead(run_get, R2) ...   all sent in one go
 *   start(run_get, R2)                           finds its result here, once
 *   a write that names R1                        makes its result outdated: dropped
 *
 * A statement that can be sent ahead has an id as its only parameter.  Nothing outlives the
 * transaction.
 */
#ifndef STORE_ENGINE_POSTGRES_AHEAD_H
#define STORE_ENGINE_POSTGRES_AHEAD_H
#include "base/id.h"
#include "store/engine.h"

struct pg_result; /* libpq's PGresult. */

enum { PG_AHEAD_MAX = 1024, PG_AHEAD_SLOTS = 2048 };

struct pg_ahead {
    struct pg_ahead_entry {
        const struct engine_stmt *stmt; /* NULL: taken or dropped. */
        struct id id;
        struct pg_result *result; /* NULL: on its way. */
        uint32_t next;            /* In its slot's chain, 1-based; 0: the last. */
    } * entries;                  /* PG_AHEAD_MAX, made when first needed. */
    uint32_t count;
    uint32_t slots[PG_AHEAD_SLOTS]; /* By hash of the id; 1-based, 0: empty. */
};

/* The place of its result; PG_AHEAD_MAX: no room, or sent already. */
uint32_t pg_ahead_add(struct pg_ahead *ahead, const struct engine_stmt *stmt, const char *id);
void pg_ahead_put(struct pg_ahead *ahead, uint32_t place, struct pg_result *result);
/* NULL: was not sent.  A result that is still on its way has to be read first. */
struct pg_ahead_entry *pg_ahead_find(struct pg_ahead *ahead, const struct engine_stmt *stmt,
                                     const char *id);
struct pg_result *pg_ahead_take(struct pg_ahead_entry *entry);
void pg_ahead_drop(struct pg_ahead *ahead, const char *id);
void pg_ahead_clear(struct pg_ahead *ahead);
void pg_ahead_free(struct pg_ahead *ahead);
#endif
