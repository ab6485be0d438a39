/*
 * breakers.h - circuit breakers: their rules, and the state of each.
 *
 * A row is inserted when there is first something to store: a failure, or rules of its own.
 */
#ifndef STORE_BREAKERS_H
#define STORE_BREAKERS_H
#include "core/queue/breaker.h"
#include "store/db.h"

struct breaker_row {
    const char *name;
    struct str config; /* The JSON document as it was given; {} when none was. */
    struct breaker life;
    const char *last_error; /* or NULL */
    int64_t updated_us;
};

/* RC_NOT_FOUND without a row. */
MUST_USE enum rc breakers_get(struct db *db, const char *name, struct arena *arena,
                              struct breaker_row *ret_row, struct err *err);
/* The same for a caller that will change it: locked, and inserted (closed, with the defaults) when
   it is missing. */
MUST_USE enum rc breakers_take(struct db *db, const char *name, int64_t now_us, struct arena *arena,
                               struct breaker_row *ret_row, struct err *err);
/* One that was taken. */
MUST_USE enum rc breakers_save(struct db *db, const struct breaker_row *row, struct err *err);
/* By name, after `after_name` (NULL: from the start). */
MUST_USE enum rc breakers_list(struct db *db, const char *after_name, int64_t limit,
                               struct arena *arena, struct breaker_row **ret_rows,
                               size_t *ret_count, struct err *err);
#endif
