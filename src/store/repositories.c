/*
 * repositories.c - what is onboarded.
 */
#include "store/repositories.h"
#include "store/query.h"
#include "store/shapes.h"

enum { QUARANTINE = COLUMN_GROUP(0) }; /* repositories_save_quarantine */
static const struct column repository_columns[] = {
    COLUMN(struct repository_row, id, COLUMN_KEY),
    COLUMN(struct repository_row, workspace_id, 0),
    COLUMN(struct repository_row, name, 0),
    COLUMN(struct repository_row, config, 0),
    COLUMN(struct repository_row, version, 0),
    COLUMN(struct repository_row, removed, 0),
    COLUMN(struct repository_row, created_us, 0),
    COLUMN(struct repository_row, updated_us, QUARANTINE),
    COLUMN(struct repository_row, quarantined_us, QUARANTINE),
    COLUMN(struct repository_row, quarantine_reason, QUARANTINE),
};
const struct shape repository_shape = SHAPE("repository", struct repository_row,
                                            repository_columns);

/* An existing one keeps its id and created_us. */
static const struct sql sql_put = {
    "repository_put",
    "INSERT INTO repositories"
    " (id, workspace_id, name, config, version, removed, created_us, updated_us)"
    " VALUES ($1, $2, $3, $4, 1, 0, $5, $6)"
    " ON CONFLICT (workspace_id, name) DO UPDATE SET config = excluded.config,"
    " version = repositories.version + 1, removed = 0, updated_us = excluded.updated_us",
    "tttjii",
};
static const struct sql sql_by_name = {
    "repository_by_name",
    "SELECT {columns} FROM repositories WHERE workspace_id = $1 AND name = $2",
    "tt",
};
static const struct sql sql_get = {
    "repository_get",
    "SELECT {columns} FROM repositories WHERE id = $1",
    "t",
};
static const struct sql sql_remove = {
    "repository_remove",
    "UPDATE repositories SET removed = 1, version = version + 1, updated_us = $2 WHERE id = $1",
    "ti",
};
static const struct row_sql sql_save_quarantine = {
    "repository_save_quarantine",
    "UPDATE repositories SET {set} WHERE {key}",
    &repository_shape,
    COLUMN_KEY | QUARANTINE,
};
static const struct sql sql_list = {
    "repository_list",
    "SELECT {columns} FROM repositories WHERE workspace_id = $1 AND name > $2 AND removed = 0"
    " ORDER BY name LIMIT $3",
    "tti",
};
static const struct sql sql_names = {
    "repository_names",
    "SELECT name, quarantined_us FROM repositories WHERE workspace_id = $1 AND name > $2"
    " AND removed = 0 ORDER BY name LIMIT $3",
    "tti",
};

enum rc repositories_put(struct db *db, const struct repository_row *row, struct err *err)
{
    return db_exec(db, &sql_put,
                   P_LIST(P_ID(&row->id), P_ID(&row->workspace_id), P_TEXT(row->name),
                          P_JSON(row->config), P_INT(row->created_us), P_INT(row->updated_us)),
                   NULL, err);
}

enum rc repositories_by_name(struct db *db, const struct id *workspace_id, const char *name,
                             struct arena *arena, struct repository_row *ret_row, struct err *err)
{
    return query_one(db, &sql_by_name, P_LIST(P_ID(workspace_id), P_TEXT(name)), &repository_shape,
                     arena, ret_row, err);
}

enum rc repositories_get(struct db *db, const struct id *id, struct arena *arena,
                         struct repository_row *ret_row, struct err *err)
{
    return query_one(db, &sql_get, P_LIST(P_ID(id)), &repository_shape, arena, ret_row, err);
}

enum rc repositories_save_quarantine(struct db *db, const struct repository_row *row,
                                     struct err *err)
{
    return row_exec_one(db, &sql_save_quarantine, row, err);
}

enum rc repositories_remove(struct db *db, const struct id *id, int64_t now_us, struct err *err)
{
    return exec_one(db, &sql_remove, P_LIST(P_ID(id), P_INT(now_us)), repository_shape.noun, err);
}

enum rc repositories_list(struct db *db, const struct id *workspace_id, const char *after_name,
                          int64_t limit, struct arena *arena, struct repository_row **ret_rows,
                          size_t *ret_count, struct err *err)
{
    return query_all(
        db, &sql_list,
        P_LIST(P_ID(workspace_id), P_TEXT(after_name == NULL ? "" : after_name), P_LIMIT(limit)),
        &repository_shape, arena, ret_rows, ret_count, err);
}

static enum rc name_decode(struct row_reader *reader, void *to, struct err *err)
{
    (void)err;
    struct repository_name *row = to;
    row->name = read_text(reader);
    row->quarantined = read_int(reader) > 0;
    return RC_OK;
}
static const struct shape name_shape = SHAPE_OF_RESULT("repository", struct repository_name,
                                                       name_decode);

enum rc repositories_names(struct db *db, const struct id *workspace_id, const char *after_name,
                           int64_t limit, struct arena *arena, struct repository_name **ret_rows,
                           size_t *ret_count, struct err *err)
{
    return query_all(
        db, &sql_names,
        P_LIST(P_ID(workspace_id), P_TEXT(after_name == NULL ? "" : after_name), P_LIMIT(limit)),
        &name_shape, arena, ret_rows, ret_count, err);
}
