/*
 * breakers.h - circuit breakers: their rules, and where each one stands.
 *
 * A row is made by the first thing that there is to remember: a failure, or rules of its own.
 */
#ifndef STORE_BREAKERS_H
#define STORE_BREAKERS_H
#include "core/breaker.h"
#include "store/db.h"

struct breaker_row {
    const char *name;
    struct str config; /* The JSON document as it was given; {} when nobody did. */
    struct breaker life;
    const char *last_error; /* or NULL */
    int64_t updated_us;
};

/* RC_NOT_FOUND without a row. */
MUST_USE enum rc breakers_get(struct db *db, const char *name, struct arena *arena,
                              struct breaker_row *ret_row, struct err *err);
/* The same for somebody who will change it: locked, and made (closed, with the defaults) when it
   was not there. */
MUST_USE enum rc breakers_take(struct db *db, const char *name, int64_t now_us, struct arena *arena,
                               struct breaker_row *ret_row, struct err *err);
/* One that was taken. */
MUST_USE enum rc breakers_save(struct db *db, const struct breaker_row *row, struct err *err);
/* By name, after `after_name` (NULL: from the start). */
MUST_USE enum rc breakers_list(struct db *db, const char *after_name, int64_t limit,
                               struct arena *arena, struct breaker_row **ret_rows,
                               size_t *ret_count, struct err *err);
#endif
