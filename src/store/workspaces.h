/*
 * workspaces.h - what shares limits and repositories.  One, "default", is there from the start.
 */
#ifndef STORE_WORKSPACES_H
#define STORE_WORKSPACES_H
#include "store/db.h"

#define WORKSPACE_DEFAULT "default"

struct workspace_row {
    struct id id;
    const char *name;
    int64_t max_active_runs; /* 0: none */
    int64_t created_us;
};
/* RC_CONFLICT: the name is taken. */
MUST_USE enum rc workspaces_insert(struct db *db, const struct workspace_row *row, struct err *err);
MUST_USE enum rc workspaces_by_name(struct db *db, const char *name, struct arena *arena,
                                    struct workspace_row *ret_row, struct err *err);
/* 0: none; the server's limit counts. */
MUST_USE enum rc workspaces_max_active_runs(struct db *db, const struct id *id, int64_t *ret_max,
                                            struct err *err);
/* Until the end of the transaction: one admission at a time, over all nodes. */
MUST_USE enum rc workspaces_lock(struct db *db, const struct id *id, struct err *err);
#endif
