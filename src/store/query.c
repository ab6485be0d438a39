/*
 * query.c - rows as structs.
 */
#include "store/query.h"
#include <assert.h>
#include <string.h>

enum { ROWS_FIRST = 8, ROW_BYTES_MAX = 2048 };

struct id read_id(struct row_reader *reader)
{
    return row_id(reader->rows, reader->column++);
}

int64_t read_int(struct row_reader *reader)
{
    return row_int(reader->rows, reader->column++);
}

const char *read_text(struct row_reader *reader)
{
    return row_dup(reader->rows, reader->column++, reader->arena);
}

struct str read_bytes(struct row_reader *reader)
{
    return row_bytes(reader->rows, reader->column++, reader->arena);
}

const char *read_word(struct row_reader *reader)
{
    const char *word = row_text(reader->rows, reader->column++);
    return word == NULL ? "" : word;
}

enum rc row_corrupt(const char *noun, struct err *err)
{
    return err_set(err, RC_CORRUPT, "ROW_CORRUPT", "a stored %s holds a state that is not known",
                   noun);
}

enum rc read_columns(const struct shape *shape, struct row_reader *reader, void *to,
                     struct err *err)
{
    for (size_t i = 0; i < shape->count; i++) {
        const struct column *column = &shape->columns[i];
        void *at = (char *)to + column->offset;
        switch (column->kind) {
        case KIND_ID:
            *(struct id *)at = read_id(reader);
            break;
        case KIND_TEXT:
            *(const char **)at = read_text(reader);
            break;
        case KIND_INT:
            *(int64_t *)at = read_int(reader);
            break;
        case KIND_BOOL:
            *(bool *)at = read_int(reader) != 0;
            break;
        case KIND_JSON:
            *(struct str *)at = read_bytes(reader);
            break;
        case KIND_WORD:
            if (!column->words->parse(read_word(reader), at))
                return row_corrupt(shape->noun, err);
            break;
        }
    }
    return RC_OK;
}

static enum rc not_found(const char *noun, struct err *err)
{
    return err_set(err, RC_NOT_FOUND, "NOT_FOUND", "there is no such %s", noun);
}

static enum rc query_first(struct db *db, const struct sql *sql, const struct shape *shape,
                           const struct param *params, size_t count, struct rows *rows,
                           struct err *err)
{
    enum rc rc = db_query_as(db, sql, shape, params, count, rows, err);
    return rc == RC_OK ? rows_next(rows, err) : rc;
}

static enum rc decode(const struct shape *shape, struct rows *rows, struct arena *arena, void *to,
                      struct err *err)
{
    struct row_reader reader = {.rows = rows, .arena = arena};
    return shape->decode != NULL ? shape->decode(&reader, to, err)
                                 : read_columns(shape, &reader, to, err);
}

enum rc query_one(struct db *db, const struct sql *sql, const struct param *params, size_t count,
                  const struct shape *shape, struct arena *arena, void *ret_row, struct err *err)
{
    CLEANUP(rows_end) struct rows rows = {0};
    enum rc rc = query_first(db, sql, shape, params, count, &rows, err);
    if (rc == RC_NOT_FOUND)
        return not_found(shape->noun, err);
    if (rc != RC_OK)
        return rc;
    union {
        max_align_t align;
        char bytes[ROW_BYTES_MAX];
    } row;
    assert(shape->bytes <= sizeof row);
    memset(&row, 0, shape->bytes);
    rc = decode(shape, &rows, arena, &row, err);
    if (rc == RC_OK)
        memcpy(ret_row, &row, shape->bytes);
    return rc;
}

/* The array doubles whenever the count reaches a power of two. */
void *row_list_add(struct row_list *list, size_t row_bytes, struct arena *arena)
{
    size_t count = list->count;
    bool full = count == 0 || (count >= ROWS_FIRST && (count & (count - 1)) == 0);
    if (full) {
        void *bigger = arena_array(arena, count == 0 ? ROWS_FIRST : count * 2, row_bytes);
        if (count > 0)
            memcpy(bigger, list->rows, count * row_bytes);
        list->rows = bigger;
    }
    list->count++;
    return (char *)list->rows + count * row_bytes;
}

enum rc query_all(struct db *db, const struct sql *sql, const struct param *params, size_t count,
                  const struct shape *shape, struct arena *arena, void *ret_rows, size_t *ret_count,
                  struct err *err)
{
    CLEANUP(rows_end) struct rows rows = {0};
    enum rc rc = db_query_as(db, sql, shape, params, count, &rows, err);
    if (rc != RC_OK)
        return rc;
    struct row_list list = {0};
    while ((rc = rows_next(&rows, err)) == RC_OK) {
        void *row = row_list_add(&list, shape->bytes, arena);
        rc = decode(shape, &rows, arena, row, err);
        if (rc != RC_OK)
            return rc;
    }
    if (rc != RC_NOT_FOUND)
        return rc;
    memcpy(ret_rows, &list.rows, sizeof list.rows);
    *ret_count = list.count;
    return RC_OK;
}

/* Where the window ends; RC_NOT_FOUND: the index has no more rows than it may. */
static enum rc find_window(struct db *db, const struct list_ask *ask, struct id *ret_end,
                           struct err *err)
{
    const struct param params[] = {P_TEXT(ask->lead), ask->params[ask->count - 3],
                                   P_INT(ask->scan->rows_max - 1)};
    return query_id(db, &ask->sql->walk, params, COUNT_OF(params), ret_end, err);
}

enum rc query_list(struct db *db, const struct list_ask *ask, const struct shape *shape,
                   struct arena *arena, void *ret_rows, size_t *ret_count, struct err *err)
{
    assert(ask->count >= 3);
    struct param *floor = &ask->params[ask->count - 2];
    struct id end = {0};
    *floor = P_TEXT("");
    if (ask->scan != NULL)
        ask->scan->end = end;
    if (ask->scan != NULL && ask->filtered) {
        assert(ask->scan->rows_max > 0);
        enum rc rc = find_window(db, ask, &end, err);
        if (rc != RC_OK && rc != RC_NOT_FOUND)
            return rc;
        *floor = P_TEXT(end.text);
    }
    enum rc rc = query_all(db, &ask->sql->list, ask->params, ask->count, shape, arena, ret_rows,
                           ret_count, err);
    if (rc == RC_OK && ask->scan != NULL)
        ask->scan->end = end;
    return rc;
}

enum rc query_int(struct db *db, const struct sql *sql, const struct param *params, size_t count,
                  int64_t *ret_value, struct err *err)
{
    CLEANUP(rows_end) struct rows rows = {0};
    enum rc rc = query_first(db, sql, NULL, params, count, &rows, err);
    if (rc != RC_OK)
        return rc;
    if (row_is_null(&rows, 0))
        return RC_NOT_FOUND;
    *ret_value = row_int(&rows, 0);
    return RC_OK;
}

enum rc query_id(struct db *db, const struct sql *sql, const struct param *params, size_t count,
                 struct id *ret_id, struct err *err)
{
    CLEANUP(rows_end) struct rows rows = {0};
    enum rc rc = query_first(db, sql, NULL, params, count, &rows, err);
    if (rc == RC_OK)
        *ret_id = row_id(&rows, 0);
    return rc;
}

int64_t limit_checked(int64_t limit)
{
    assert(limit >= 0);
    return limit;
}

const char *cursor_or_end(const struct id *before)
{
    return id_is_none(before) ? "g" : before->text; /* Ids are hexadecimal. */
}
