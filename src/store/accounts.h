/*
 * accounts.h - accounts at providers of models, as far as there is something to store: a row is
 * inserted when an account is parked for the first time, when a window of it is reported, and when
 * a run gets one that is configured.
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
    struct str windows;      /* JSON array: core/agent/account_windows.h; or empty. */
    int64_t used_us;         /* When a run got it last; 0: never. */
    struct id used_run_id;   /* That run. */
    int64_t day_us;          /* The beginning of a day, */
    int64_t day_microusd;    /* and what was booked on it. */
    int64_t total_microusd;  /* Booked since ever. */
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
/* Those that are parked at that time, the last to be free again first, then the others that runs
   got or that have windows. */
MUST_USE enum rc accounts_state_list(struct db *db, int64_t now_us, int64_t limit,
                                     struct arena *arena, struct account_row **ret_rows,
                                     size_t *ret_count, struct err *err);

/* Active runs of an account, counted from their rows. */
struct account_load_row {
    const char *name;
    int64_t runs;              /* Whose agent works, or may work again. */
    int64_t unbooked_microusd; /* Of all active ones. */
};
MUST_USE enum rc accounts_load(struct db *db, struct arena *arena,
                               struct account_load_row **ret_rows, size_t *ret_count,
                               struct err *err);
/* The runs of one, but for this run. */
MUST_USE enum rc accounts_runs_but(struct db *db, const char *name, const struct id *run_id,
                                   int64_t *ret_runs, struct err *err);
#endif
