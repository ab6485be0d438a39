/*
 * accounts.h - accounts at providers of models, as far as there is something to store: a row is
 * inserted when an account is parked for the first time.
 */
#ifndef STORE_ACCOUNTS_H
#define STORE_ACCOUNTS_H
#include "store/db.h"

struct account_row {
    struct id id; /* Of its timer. */
    struct id workspace_id;
    const char *name;
    int64_t parked_until_us; /* 0: in use. */
    const char *reason;      /* The last message of the provider, or NULL. */
    int64_t parked_us;       /* When it was parked last. */
    int64_t hits;            /* Limits met in a row. */
    int64_t probe_us;        /* parked: from then on one run may try it. */
    int64_t probes;          /* Runs that have tried it since it was parked. */
    struct id probe_run_id;  /* The last of them; none: none yet. */
    int64_t updated_us;
};

/* For a caller that will change it: locked, and inserted with that id when it is missing. */
struct account_key {
    struct id id; /* Of a new row. */
    struct id workspace_id;
    const char *name;
    int64_t now_us;
};
MUST_USE enum rc accounts_take(struct db *db, const struct account_key *key, struct arena *arena,
                               struct account_row *ret_row, struct err *err);
/* Locked; RC_NOT_FOUND without a row. */
MUST_USE enum rc accounts_by_name(struct db *db, const struct id *workspace_id, const char *name,
                                  struct arena *arena, struct account_row *ret_row,
                                  struct err *err);
MUST_USE enum rc accounts_get(struct db *db, const struct id *id, struct arena *arena,
                              struct account_row *ret_row, struct err *err);
/* One that was taken. */
MUST_USE enum rc accounts_save(struct db *db, const struct account_row *row, struct err *err);
/* By name, after `after_name` (NULL: from the start). */
MUST_USE enum rc accounts_list(struct db *db, const char *after_name, int64_t limit,
                               struct arena *arena, struct account_row **ret_rows,
                               size_t *ret_count, struct err *err);
/* Those that are parked at that time. */
MUST_USE enum rc accounts_parked_list(struct db *db, int64_t now_us, int64_t limit,
                                      struct arena *arena, struct account_row **ret_rows,
                                      size_t *ret_count, struct err *err);
#endif
