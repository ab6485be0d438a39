#include "store/syncs.h"
#include "store/query.h"
#include "store/shapes.h"

WORDS(mode_words, enum sync_mode, sync_mode_name, sync_mode_parse);

enum { SYNC_STATE = COLUMN_GROUP(0), SYNC_FOLLOWED = COLUMN_GROUP(1) }; /* syncs_save, syncs_put */
#define REPOSITORY_NAME "(SELECT name FROM repositories r WHERE r.id = forge_syncs.repository_id)"
static const struct column sync_columns[] = {
    COLUMN(struct sync_row, repository_id, COLUMN_KEY | COLUMN_NEW),
    COLUMN_AS(struct sync_row, repository, REPOSITORY_NAME, COLUMN_COMPUTED),
    COLUMN(struct sync_row, forge, COLUMN_NEW),
    COLUMN(struct sync_row, full_name, COLUMN_NEW),
    COLUMN(struct sync_row, provider_id, COLUMN_NEW | SYNC_STATE),
    COLUMN(struct sync_row, known_as, COLUMN_NEW | SYNC_STATE),
    COLUMN(struct sync_row, secret, COLUMN_NEW | SYNC_FOLLOWED),
    COLUMN(struct sync_row, old_secret, COLUMN_NEW | SYNC_FOLLOWED),
    COLUMN_WORD(struct sync_row, mode, "mode", mode_words, COLUMN_NEW | SYNC_STATE),
    COLUMN(struct sync_row, mode_since_us, COLUMN_NEW | SYNC_STATE),
    COLUMN(struct sync_row, last_delivery_us, COLUMN_NEW | SYNC_STATE),
    COLUMN(struct sync_row, missed_us, COLUMN_NEW | SYNC_STATE),
    COLUMN(struct sync_row, recovered, COLUMN_NEW | SYNC_STATE),
    COLUMN(struct sync_row, deliveries_since_us, COLUMN_NEW | SYNC_STATE),
    COLUMN(struct sync_row, listed_us, COLUMN_NEW | SYNC_STATE | SYNC_FOLLOWED),
    COLUMN(struct sync_row, deliveries_error, COLUMN_NEW | SYNC_STATE),
    COLUMN(struct sync_row, changes_since_us, COLUMN_NEW | SYNC_STATE),
    COLUMN(struct sync_row, etag, COLUMN_NEW | SYNC_STATE),
    COLUMN(struct sync_row, last_sync_us, COLUMN_NEW | SYNC_STATE),
    COLUMN(struct sync_row, last_error, COLUMN_NEW | SYNC_STATE),
    COLUMN(struct sync_row, last_error_us, COLUMN_NEW | SYNC_STATE),
    COLUMN(struct sync_row, failures, COLUMN_NEW | SYNC_STATE),
    COLUMN(struct sync_row, created_us, COLUMN_NEW | COLUMN_ONCE),
    COLUMN(struct sync_row, updated_us, COLUMN_NEW | SYNC_STATE),
};
const struct shape sync_shape = SHAPE("sync", struct sync_row, sync_columns);

/* The condition makes it do nothing for the same repository at the same forge. */
static const struct row_sql sql_put = {
    "sync_put",
    "INSERT INTO forge_syncs {values} ON CONFLICT (repository_id) DO UPDATE SET {replaced}"
    " WHERE forge_syncs.forge <> excluded.forge OR forge_syncs.full_name <> excluded.full_name",
    &sync_shape,
    COLUMN_NEW,
};
static const struct row_sql sql_follow = {
    "sync_follow",
    "UPDATE forge_syncs SET {set} WHERE {key}",
    &sync_shape,
    COLUMN_KEY | SYNC_FOLLOWED,
};
static const struct sql sql_get = {
    "sync_get",
    "SELECT {columns} FROM forge_syncs WHERE repository_id = $1 {for_update}",
    "t",
};
static const struct sql sql_read = {
    "sync_read",
    "SELECT {columns} FROM forge_syncs WHERE repository_id = $1",
    "t",
};
static const struct row_sql sql_save = {
    "sync_save",
    "UPDATE forge_syncs SET {set} WHERE {key}",
    &sync_shape,
    COLUMN_KEY | SYNC_STATE,
};
static const struct sql sql_remove = {
    "sync_remove",
    "DELETE FROM forge_syncs WHERE repository_id = $1",
    "t",
};
/* Each half has an index of its own. */
static const struct sql sql_find = {
    "sync_find",
    "SELECT {columns} FROM forge_syncs WHERE repository_id IN"
    " (SELECT repository_id FROM forge_syncs WHERE forge = $1 AND provider_id = $2"
    "  UNION SELECT repository_id FROM forge_syncs WHERE forge = $1 AND full_name = $3)"
    " ORDER BY repository_id LIMIT $4",
    "ttti",
};
static const struct sql sql_secrets = {
    "sync_secrets",
    "SELECT secret FROM forge_syncs WHERE forge = $1 AND secret IS NOT NULL"
    " UNION SELECT old_secret FROM forge_syncs WHERE forge = $1 AND old_secret IS NOT NULL"
    " ORDER BY 1 LIMIT $2",
    "ti",
};
static const struct sql sql_list = {
    "sync_list",
    "SELECT {columns} FROM forge_syncs WHERE repository_id > $1 ORDER BY repository_id LIMIT $2",
    "ti",
};

enum rc syncs_put(struct db *db, const struct sync_row *row, struct err *err)
{
    enum rc rc = row_exec(db, &sql_put, row, NULL, err);
    return rc == RC_OK ? row_exec(db, &sql_follow, row, NULL, err) : rc;
}

enum rc syncs_get(struct db *db, const struct id *repository_id, struct arena *arena,
                  struct sync_row *ret_row, struct err *err)
{
    return query_one(db, &sql_get, P_LIST(P_ID(repository_id)), &sync_shape, arena, ret_row, err);
}

enum rc syncs_read(struct db *db, const struct id *repository_id, struct arena *arena,
                   struct sync_row *ret_row, struct err *err)
{
    return query_one(db, &sql_read, P_LIST(P_ID(repository_id)), &sync_shape, arena, ret_row, err);
}

enum rc syncs_save(struct db *db, const struct sync_row *row, struct err *err)
{
    return row_exec_one(db, &sql_save, row, err);
}

enum rc syncs_remove(struct db *db, const struct id *repository_id, struct err *err)
{
    return db_exec(db, &sql_remove, P_LIST(P_ID(repository_id)), NULL, err);
}

enum rc syncs_find(struct db *db, const struct sync_question *question, struct arena *arena,
                   struct sync_row **ret_rows, size_t *ret_count, struct err *err)
{
    return query_all(db, &sql_find,
                     P_LIST(P_TEXT(question->forge), P_TEXT(question->provider_id),
                            P_TEXT(question->full_name), P_LIMIT(SYNCS_FOUND_MAX)),
                     &sync_shape, arena, ret_rows, ret_count, err);
}

static enum rc decode_name(struct row_reader *reader, void *to, struct err *err)
{
    (void)err;
    *(const char **)to = read_text(reader);
    return RC_OK;
}
static const struct shape name_shape = SHAPE_OF_RESULT("secret", const char *, decode_name);

enum rc syncs_secrets(struct db *db, const char *forge, struct arena *arena,
                      const char ***ret_names, size_t *ret_count, struct err *err)
{
    return query_all(db, &sql_secrets, P_LIST(P_TEXT(forge), P_LIMIT(SYNCS_SECRETS_MAX)),
                     &name_shape, arena, ret_names, ret_count, err);
}

enum rc syncs_list(struct db *db, const char *after, int64_t limit, struct arena *arena,
                   struct sync_row **ret_rows, size_t *ret_count, struct err *err)
{
    return query_all(db, &sql_list, P_LIST(P_TEXT(after != NULL ? after : ""), P_LIMIT(limit)),
                     &sync_shape, arena, ret_rows, ret_count, err);
}
