#include "store/audit.h"
#include "store/query.h"
#include "store/shapes.h"
#include <assert.h>

enum { VERIFY_PAGE_ROWS = 500 };

static const struct column audit_columns[] = {
    COLUMN(struct audit_entry, seq, COLUMN_KEY | COLUMN_NEW),
    COLUMN(struct audit_entry, time_us, COLUMN_NEW),
    COLUMN(struct audit_entry, actor_type, COLUMN_NEW),
    COLUMN(struct audit_entry, actor_id, COLUMN_NEW),
    COLUMN(struct audit_entry, token_id, COLUMN_NEW),
    COLUMN(struct audit_entry, role, COLUMN_NEW),
    COLUMN(struct audit_entry, address, COLUMN_NEW),
    COLUMN(struct audit_entry, action, COLUMN_NEW),
    COLUMN(struct audit_entry, resource_type, COLUMN_NEW),
    COLUMN(struct audit_entry, resource_id, COLUMN_NEW),
    COLUMN(struct audit_entry, outcome, COLUMN_NEW),
    COLUMN(struct audit_entry, code, COLUMN_NEW),
    COLUMN(struct audit_entry, count, COLUMN_NEW),
    COLUMN(struct audit_entry, request_id, COLUMN_NEW),
    COLUMN(struct audit_entry, details, COLUMN_NEW),
    COLUMN(struct audit_entry, prev_hash, COLUMN_NEW),
    COLUMN(struct audit_entry, hash, COLUMN_NEW),
};
const struct shape audit_shape = SHAPE("audit entry", struct audit_entry, audit_columns);

static const struct sql sql_head = {
    "audit_head",
    "SELECT seq, hash FROM audit_head WHERE id = 1",
    "",
};
static const struct sql sql_lock = {
    "audit_lock",
    "SELECT seq, hash FROM audit_head WHERE id = 1 {for_update}",
    "",
};
static const struct sql sql_save_head = {
    "audit_save_head",
    "UPDATE audit_head SET seq = $1, hash = $2 WHERE id = 1",
    "it",
};
static const struct row_sql sql_insert = {
    "audit_insert",
    "INSERT INTO audit_log {values}",
    &audit_shape,
    COLUMN_NEW,
};
/* $7 and $8: the bounds of the names of actions.  The seq of both ends comes first, so that the
   walk is one of the primary key. */
#define AUDIT_LIST(order)                                                            \
    "SELECT {columns} FROM audit_log WHERE seq > $1 AND seq <= $2"                   \
    " AND time_us >= $3 AND time_us < $4"                                            \
    " AND ($5 IS NULL OR actor_id = $5) AND ($6 IS NULL OR outcome = $6)"            \
    " AND ($7 IS NULL OR (action >= $7 AND action <= $8))"                           \
    " AND ($9 IS NULL OR resource_type = $9) AND ($10 IS NULL OR resource_id = $10)" \
    " ORDER BY seq" order " LIMIT $11"
static const struct sql sql_list = {"audit_list", AUDIT_LIST(""), "iiiitttttti"};
static const struct sql sql_list_newest = {"audit_list_newest", AUDIT_LIST(" DESC"), "iiiitttttti"};
/* One statement: both are of one moment. */
static const struct sql sql_ends = {
    "audit_ends",
    "SELECT seq, hash, (SELECT coalesce(max(seq), 0) FROM audit_log) FROM audit_head WHERE id = 1",
    "",
};

static enum rc head_decode(struct row_reader *reader, void *to, struct err *err)
{
    (void)err;
    struct audit_mark *head = to;
    head->seq = read_int(reader);
    text_copy(head->hash, sizeof head->hash, read_word(reader));
    return RC_OK;
}
static const struct shape head_shape = SHAPE_OF_RESULT("head of the audit log", struct audit_mark,
                                                       head_decode);

struct ends {
    struct audit_mark head;
    int64_t last_seq; /* Of the rows; 0: none */
};
static enum rc ends_decode(struct row_reader *reader, void *to, struct err *err)
{
    struct ends *ends = to;
    enum rc rc = head_decode(reader, &ends->head, err);
    ends->last_seq = read_int(reader);
    return rc;
}
static const struct shape ends_shape = SHAPE_OF_RESULT("head of the audit log", struct ends,
                                                       ends_decode);

static enum rc no_head(struct err *err)
{
    return err_set(err, RC_CORRUPT, "AUDIT_HEAD_MISSING",
                   "the head of the audit log is missing from the database: the log was tampered "
                   "with; restore the table audit_head from a backup");
}

static enum rc read_head(struct db *db, const struct sql *sql, struct audit_mark *ret_head,
                         struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    enum rc rc = query_one(db, sql, NULL, 0, &head_shape, &arena, ret_head, err);
    return rc == RC_NOT_FOUND ? no_head(err) : rc;
}

enum rc audit_lock(struct db *db, struct audit_mark *ret_head, struct err *err)
{
    return read_head(db, &sql_lock, ret_head, err);
}

enum rc audit_head(struct db *db, struct audit_mark *ret_head, struct err *err)
{
    return read_head(db, &sql_head, ret_head, err);
}

enum rc audit_append(struct db *db, struct audit_mark *head, struct audit_entry *entry,
                     struct arena *arena, struct err *err)
{
    entry->seq = ++head->seq;
    entry->prev_hash = arena_strdup(arena, head->hash);
    audit_hash(entry, head->hash);
    entry->hash = arena_strdup(arena, head->hash);
    return row_exec(db, &sql_insert, entry, NULL, err);
}

enum rc audit_save_head(struct db *db, const struct audit_mark *head, struct err *err)
{
    return db_exec(db, &sql_save_head, P_LIST(P_INT(head->seq), P_TEXT(head->hash)), NULL, err);
}

/* after < seq <= until */
struct span {
    int64_t after, until;
};

/* Ends the span where the scan has to; *ret_cursor: where another one continues, or 0. */
static enum rc limit_scan(struct db *db, const struct audit_filter *filter, struct span *span,
                          int64_t *ret_cursor, struct err *err)
{
    struct audit_mark head;
    int64_t rows_max = filter->scan->rows_max;
    enum rc rc = audit_head(db, &head, err);
    *ret_cursor = 0;
    if (rc != RC_OK)
        return rc;
    int64_t until = span->until < head.seq ? span->until : head.seq;
    if (until - span->after <= rows_max)
        return RC_OK;
    if (filter->newest_first) {
        span->after = until - rows_max;
        *ret_cursor = span->after + 1;
    } else {
        *ret_cursor = span->until = span->after + rows_max;
    }
    return RC_OK;
}

enum rc audit_list(struct db *db, const struct audit_filter *filter, struct arena *arena,
                   struct audit_entry **ret_rows, size_t *ret_count, struct err *err)
{
    assert(filter->limit > 0);
    struct span span = {filter->after_seq, filter->until_seq > 0 ? filter->until_seq : INT64_MAX};
    int64_t until_us = filter->until_us > 0 ? filter->until_us : INT64_MAX, cursor = 0;
    const char *last = filter->action;
    if (last != NULL && text_ends(last, "."))
        last = arena_printf(arena, "%s~", filter->action);
    enum rc rc = filter->scan != NULL ? limit_scan(db, filter, &span, &cursor, err) : RC_OK;
    if (rc == RC_OK)
        rc = query_all(db, filter->newest_first ? &sql_list_newest : &sql_list,
                       P_LIST(P_INT(span.after), P_INT(span.until), P_INT(filter->since_us),
                              P_INT(until_us), P_TEXT(filter->actor), P_TEXT(filter->outcome),
                              P_TEXT(filter->action), P_TEXT(last), P_TEXT(filter->resource_type),
                              P_TEXT(filter->resource_id), P_LIMIT(filter->limit)),
                       &audit_shape, arena, ret_rows, ret_count, err);
    if (rc == RC_OK && filter->scan != NULL)
        filter->scan->end_seq = (int64_t)*ret_count < filter->limit ? cursor : 0;
    return rc;
}

/* Rows from `after` on, or behind those of the chain; *ret_more: the page was full, and the chain
   is sound. */
static enum rc verify_page(struct db *db, struct audit_chain *chain, struct span span,
                           bool *ret_more, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct audit_entry *rows = NULL;
    size_t count = 0;
    struct audit_filter page = {.after_seq = chain->rows == 0 ? span.after : chain->last.seq,
                                .until_seq = span.until,
                                .limit = VERIFY_PAGE_ROWS};
    enum rc rc = audit_list(db, &page, &arena, &rows, &count, err);
    bool sound = true;
    for (size_t i = 0; rc == RC_OK && sound && i < count; i++)
        sound = audit_chain_add(chain, &rows[i]);
    *ret_more = sound && count == VERIFY_PAGE_ROWS;
    return rc;
}

static enum rc read_ends(struct db *db, struct ends *ret_ends, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    enum rc rc = query_one(db, &sql_ends, NULL, 0, &ends_shape, &arena, ret_ends, err);
    return rc == RC_NOT_FOUND ? no_head(err) : rc;
}

enum rc audit_verify(struct db *db, struct audit_chain *chain, struct err *err)
{
    struct ends ends;
    enum rc rc = read_ends(db, &ends, err);
    bool more = rc == RC_OK && ends.last_seq > 0;
    /* From the very first on: one that should not be there, such as number 0, is seen.  Rows behind
       the last one were appended meanwhile. */
    while (rc == RC_OK && more)
        rc = verify_page(db, chain, (struct span){INT64_MIN, ends.last_seq}, &more, err);
    if (rc == RC_OK)
        audit_chain_end(chain, &ends.head);
    return rc;
}

enum rc audit_verify_newest(struct db *db, int64_t rows, struct audit_chain *ret_chain,
                            struct err *err)
{
    struct ends ends;
    enum rc rc = read_ends(db, &ends, err);
    bool more = rc == RC_OK && ends.last_seq > 0;
    audit_chain_begin(ret_chain, &(struct audit_chain_options){.from_anywhere = true});
    while (rc == RC_OK && more)
        rc = verify_page(db, ret_chain, (struct span){ends.last_seq - rows, ends.last_seq}, &more,
                         err);
    if (rc == RC_OK)
        audit_chain_end(ret_chain, &ends.head);
    return rc;
}
