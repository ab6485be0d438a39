#include "store/deliveries.h"
#include "store/query.h"
#include "store/shapes.h"

WORDS(subject_words, enum forge_subject, forge_subject_name, forge_subject_parse);

#define REPOSITORY_NAME \
    "(SELECT name FROM repositories r WHERE r.id = external_event_receipts.repository_id)"
static const struct column delivery_columns[] = {
    COLUMN(struct delivery_row, id, COLUMN_KEY | COLUMN_NEW),
    COLUMN(struct delivery_row, repository_id, COLUMN_NEW),
    COLUMN_AS(struct delivery_row, repository, REPOSITORY_NAME, COLUMN_COMPUTED),
    COLUMN(struct delivery_row, forge, COLUMN_NEW),
    COLUMN(struct delivery_row, delivery_id, COLUMN_NEW),
    COLUMN(struct delivery_row, event, COLUMN_NEW),
    COLUMN_WORD(struct delivery_row, subject, "subject", subject_words, COLUMN_NEW),
    COLUMN(struct delivery_row, number, COLUMN_NEW),
    COLUMN(struct delivery_row, ref, COLUMN_NEW),
    COLUMN(struct delivery_row, actor, COLUMN_NEW),
    COLUMN(struct delivery_row, via, COLUMN_NEW),
    COLUMN(struct delivery_row, status, COLUMN_NEW),
    COLUMN(struct delivery_row, detail, COLUMN_NEW),
    COLUMN(struct delivery_row, payload_sha256, COLUMN_NEW),
    COLUMN(struct delivery_row, payload_bytes, COLUMN_NEW),
    COLUMN(struct delivery_row, sent_us, COLUMN_NEW),
    COLUMN(struct delivery_row, received_us, COLUMN_NEW),
};
const struct shape delivery_shape = SHAPE("delivery", struct delivery_row, delivery_columns);

static const struct row_sql sql_insert = {
    "delivery_insert",
    "INSERT INTO external_event_receipts {values}"
    " ON CONFLICT (repository_id, delivery_id) DO NOTHING",
    &delivery_shape,
    COLUMN_NEW,
};
static const struct sql sql_find = {
    "delivery_find",
    "SELECT id FROM external_event_receipts WHERE repository_id = $1 AND delivery_id = $2",
    "tt",
};

/* The leading condition chooses the index; the others apply in every form. */
#define IN_REPOSITORY "repository_id = (SELECT min(id) FROM repositories WHERE name = $1)"
#define DELIVERY_LIST(name, lead, walk)                                                          \
    {                                                                                            \
        {name,                                                                                   \
         "SELECT {columns} FROM external_event_receipts WHERE " lead                             \
         " AND ($1 IS NULL OR " IN_REPOSITORY ") AND ($2 IS NULL OR status = $2)"                \
         " AND ($3 IS NULL OR via = $3) AND ($4 IS NULL OR event = $4) AND id < $5 AND id >= $6" \
         " ORDER BY id DESC LIMIT $7",                                                           \
         "tttttti"},                                                                             \
            LIST_WALK(name, "external_event_receipts", walk),                                    \
    }
static const struct list_sql sql_list = DELIVERY_LIST("delivery_list", "1 = 1", LIST_WALK_ALL);
static const struct list_sql sql_list_status = DELIVERY_LIST("delivery_list_status", "status = $2",
                                                             "status = $1");
static const struct list_sql sql_list_repository = DELIVERY_LIST("delivery_list_repository",
                                                                 IN_REPOSITORY, IN_REPOSITORY);

static const struct sql sql_old = {
    "delivery_old",
    "SELECT {columns} FROM external_event_receipts WHERE received_us < $1"
    " ORDER BY received_us LIMIT $2",
    "ii",
};
static const struct sql sql_delete = {
    "delivery_delete",
    "DELETE FROM external_event_receipts WHERE id = $1",
    "t",
};
static const struct sql sql_payload_used = {
    "delivery_payload_used",
    "SELECT (SELECT count(*) FROM (SELECT 1 FROM run_artifacts WHERE sha256 = $1 LIMIT 1) a)"
    " + (SELECT count(*) FROM"
    " (SELECT 1 FROM external_event_receipts WHERE payload_sha256 = $1 LIMIT 1) b)",
    "t",
};

enum rc deliveries_insert(struct db *db, const struct delivery_row *row, bool *ret_new,
                          struct err *err)
{
    int64_t changed = 0;
    enum rc rc = row_exec(db, &sql_insert, row, &changed, err);
    if (rc == RC_OK)
        *ret_new = changed > 0;
    return rc;
}

enum rc deliveries_find(struct db *db, const struct id *repository_id, const char *delivery_id,
                        struct id *ret_id, struct err *err)
{
    return query_id(db, &sql_find, P_LIST(P_ID(repository_id), P_TEXT(delivery_id)), ret_id, err);
}

static const struct list_sql *list_sql_of(const struct delivery_filter *filter)
{
    if (filter->repository != NULL)
        return &sql_list_repository;
    return filter->status != NULL ? &sql_list_status : &sql_list;
}

enum rc deliveries_list(struct db *db, const struct delivery_filter *filter, struct arena *arena,
                        struct delivery_row **ret_rows, size_t *ret_count, struct err *err)
{
    struct param params[] = {P_TEXT(filter->repository),
                             P_TEXT(filter->status),
                             P_TEXT(filter->via),
                             P_TEXT(filter->event),
                             P_TEXT(cursor_or_end(&filter->before)),
                             P_TEXT(NULL),
                             P_LIMIT(filter->limit)};
    bool of_repository = filter->repository != NULL;
    struct list_ask ask = {
        .sql = list_sql_of(filter),
        .params = params,
        .count = COUNT_OF(params),
        .lead = of_repository ? filter->repository : filter->status,
        .scan = filter->scan,
        .filtered = filter->via != NULL || filter->event != NULL ||
                    (of_repository && filter->status != NULL),
    };
    return query_list(db, &ask, &delivery_shape, arena, ret_rows, ret_count, err);
}

/* A rollback after this may bring back a receipt whose payload is gone: it is for people, and
   nothing depends on it any more. */
static enum rc prune_one(const struct artifact_source *source, const struct delivery_row *row,
                         struct err *err)
{
    int64_t used = 0;
    enum rc rc = db_exec(source->db, &sql_delete, P_LIST(P_ID(&row->id)), NULL, err);
    if (rc != RC_OK || row->payload_sha256 == NULL)
        return rc;
    rc = query_int(source->db, &sql_payload_used, P_LIST(P_TEXT(row->payload_sha256)), &used, err);
    return rc == RC_OK && used == 0 ? artifact_drop(source, row->payload_sha256, err) : rc;
}

enum rc deliveries_prune(const struct artifact_source *source, const struct delivery_prune *prune,
                         struct arena *arena, int64_t *ret_count, struct err *err)
{
    struct delivery_row *rows;
    size_t count;
    enum rc rc = query_all(source->db, &sql_old,
                           P_LIST(P_INT(prune->before_us), P_LIMIT(prune->limit)), &delivery_shape,
                           arena, &rows, &count, err);
    for (size_t i = 0; rc == RC_OK && i < count; i++)
        rc = prune_one(source, &rows[i], err);
    if (rc == RC_OK)
        *ret_count = (int64_t)count;
    return rc;
}
