/*
 * consumers.h - durable consumers of the log: a name, a filter and a place.
 *
 * The place moves forward by acknowledgement and anywhere by seek.  A seek begins another epoch;
 * a cursor that a client holds names the epoch it was given in, and is void in any other.
 */
#ifndef STORE_CONSUMERS_H
#define STORE_CONSUMERS_H
#include "store/db.h"

enum { CONSUMERS_MAX = 1000 };

struct consumer_row {
    const char *name;
    struct str types;   /* A JSON array of patterns; empty: every event. */
    int64_t cursor_seq; /* Events up to here are acknowledged. */
    int64_t epoch;      /* Grows; one that is made again under an old name begins above it. */
    int64_t acked_us;   /* 0: never */
    int64_t created_us, updated_us;
};

/* *ret_made false: there is one of this name, and it stays as it is. */
MUST_USE enum rc consumers_make(struct db *db, const struct consumer_row *row, bool *ret_made,
                                struct err *err);
/* Locks it. */
MUST_USE enum rc consumers_get(struct db *db, const char *name, struct arena *arena,
                               struct consumer_row *ret_row, struct err *err);
/* Everything but name and created_us. */
MUST_USE enum rc consumers_save(struct db *db, const struct consumer_row *row, struct err *err);
MUST_USE enum rc consumers_remove(struct db *db, const char *name, struct err *err);
/* By name, after `after` (NULL: from the start). */
MUST_USE enum rc consumers_list(struct db *db, const char *after, int64_t limit,
                                struct arena *arena, struct consumer_row **ret_rows,
                                size_t *ret_count, struct err *err);
MUST_USE enum rc consumers_count(struct db *db, int64_t *ret_count, struct err *err);
#endif
