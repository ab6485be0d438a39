/*
 * workspaces.c - what shares limits and repositories.
 */
#include "store/workspaces.h"
#include "store/query.h"

static const struct sql sql_insert = {
    "workspace_insert",
    "INSERT INTO workspaces (id, name, max_active_runs, created_us) VALUES ($1, $2, $3, $4)"
    " ON CONFLICT (name) DO NOTHING",
    "ttii",
};
static const struct sql sql_by_name = {
    "workspace_by_name",
    "SELECT id, name, max_active_runs, created_us FROM workspaces WHERE name = $1",
    "t",
};

static const struct sql sql_max_active_runs = {
    "workspace_max_active_runs",
    "SELECT max_active_runs FROM workspaces WHERE id = $1",
    "t",
};
static const struct sql sql_lock = {
    "workspace_lock",
    "SELECT max_active_runs FROM workspaces WHERE id = $1 {for_update}",
    "t",
};

static enum rc workspace_decode(struct row_reader *reader, void *to, struct err *err)
{
    (void)err;
    struct workspace_row *row = to;
    row->id = read_id(reader);
    row->name = read_text(reader);
    row->max_active_runs = read_int(reader);
    row->created_us = read_int(reader);
    return RC_OK;
}
static const struct shape workspace_shape = SHAPE_OF_RESULT("workspace", struct workspace_row,
                                                            workspace_decode);

enum rc workspaces_insert(struct db *db, const struct workspace_row *row, struct err *err)
{
    int64_t changed;
    enum rc rc = db_exec(db, &sql_insert,
                         P_LIST(P_ID(&row->id), P_TEXT(row->name), P_INT(row->max_active_runs),
                                P_INT(row->created_us)),
                         &changed, err);
    if (rc == RC_OK && changed == 0)
        return err_set(err, RC_CONFLICT, "WORKSPACE_EXISTS", "there is a workspace %s already",
                       row->name);
    return rc;
}

enum rc workspaces_by_name(struct db *db, const char *name, struct arena *arena,
                           struct workspace_row *ret_row, struct err *err)
{
    return query_one(db, &sql_by_name, P_LIST(P_TEXT(name)), &workspace_shape, arena, ret_row, err);
}

enum rc workspaces_max_active_runs(struct db *db, const struct id *id, int64_t *ret_max,
                                   struct err *err)
{
    return query_int(db, &sql_max_active_runs, P_LIST(P_ID(id)), ret_max, err);
}

enum rc workspaces_lock(struct db *db, const struct id *id, struct err *err)
{
    int64_t unused;
    return query_int(db, &sql_lock, P_LIST(P_ID(id)), &unused, err);
}
