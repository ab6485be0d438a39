/*
 * repositories.c - what is onboarded.
 */
#include "store/repositories.h"
#include "store/query.h"

#define REPOSITORY_SELECT                                                              \
    "SELECT id, workspace_id, name, config, version, removed, created_us, updated_us," \
    " quarantined_us, quarantine_reason FROM repositories"

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
    REPOSITORY_SELECT " WHERE workspace_id = $1 AND name = $2",
    "tt",
};
static const struct sql sql_get = {
    "repository_get",
    REPOSITORY_SELECT " WHERE id = $1",
    "t",
};
static const struct sql sql_remove = {
    "repository_remove",
    "UPDATE repositories SET removed = 1, version = version + 1, updated_us = $2 WHERE id = $1",
    "ti",
};
static const struct sql sql_save_quarantine = {
    "repository_save_quarantine",
    "UPDATE repositories SET quarantined_us = $2, quarantine_reason = $3, updated_us = $4"
    " WHERE id = $1",
    "titi",
};
static const struct sql sql_list = {
    "repository_list",
    REPOSITORY_SELECT " WHERE workspace_id = $1 AND name > $2 AND removed = 0"
                      " ORDER BY name LIMIT $3",
    "tti",
};

static enum rc repository_decode(struct row_reader *reader, void *to, struct err *err)
{
    (void)err;
    struct repository_row *row = to;
    row->id = read_id(reader);
    row->workspace_id = read_id(reader);
    row->name = read_text(reader);
    row->config = read_bytes(reader);
    row->version = read_int(reader);
    row->removed = read_int(reader) != 0;
    row->created_us = read_int(reader);
    row->updated_us = read_int(reader);
    row->quarantined_us = read_int(reader);
    row->quarantine_reason = read_text(reader);
    return RC_OK;
}
static const struct shape repository_shape = {"repository", sizeof(struct repository_row),
                                              repository_decode};

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
    return exec_one(db, &sql_save_quarantine,
                    P_LIST(P_ID(&row->id), P_INT(row->quarantined_us),
                           P_TEXT(row->quarantine_reason), P_INT(row->updated_us)),
                    repository_shape.noun, err);
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
