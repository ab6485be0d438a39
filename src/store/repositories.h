/*
 * repositories.h - what is onboarded, with its configuration as it was given.
 */
#ifndef STORE_REPOSITORIES_H
#define STORE_REPOSITORIES_H
#include "store/db.h"

struct repository_row {
    struct id id;
    struct id workspace_id;
    const char *name;
    struct str config; /* The JSON document, url included. */
    int64_t version;   /* Grows with every change. */
    bool removed;      /* History keeps pointing at it; new tasks are refused. */
    int64_t created_us, updated_us;
    int64_t quarantined_us;        /* 0: it is not. */
    const char *quarantine_reason; /* or NULL */
};
/* Inserts, or replaces config and counts version up (a removed one comes back). */
MUST_USE enum rc repositories_put(struct db *db, const struct repository_row *row, struct err *err);
/* Removed ones are found too: check the flag. */
MUST_USE enum rc repositories_by_name(struct db *db, const struct id *workspace_id,
                                      const char *name, struct arena *arena,
                                      struct repository_row *ret_row, struct err *err);
MUST_USE enum rc repositories_get(struct db *db, const struct id *id, struct arena *arena,
                                  struct repository_row *ret_row, struct err *err);
/* quarantined_us, quarantine_reason, updated_us. */
MUST_USE enum rc repositories_save_quarantine(struct db *db, const struct repository_row *row,
                                              struct err *err);
MUST_USE enum rc repositories_remove(struct db *db, const struct id *id, int64_t now_us,
                                     struct err *err);
/* By name, those not removed, after `after_name` (NULL: from the start). */
MUST_USE enum rc repositories_list(struct db *db, const struct id *workspace_id,
                                   const char *after_name, int64_t limit, struct arena *arena,
                                   struct repository_row **ret_rows, size_t *ret_count,
                                   struct err *err);
/* The same without their configurations. */
struct repository_name {
    const char *name;
    bool quarantined;
};
MUST_USE enum rc repositories_names(struct db *db, const struct id *workspace_id,
                                    const char *after_name, int64_t limit, struct arena *arena,
                                    struct repository_name **ret_rows, size_t *ret_count,
                                    struct err *err);
#endif
