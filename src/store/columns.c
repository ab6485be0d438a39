#include "store/columns.h"
#include <assert.h>
#include <string.h>

enum part { PART_NAME, PART_NUMBER, PART_SET, PART_KEY, PART_REPLACED };

static bool has_part(const struct column *column, enum part part)
{
    bool is_key = (column->groups & COLUMN_KEY) != 0;
    if (part == PART_KEY)
        return is_key;
    if (part == PART_REPLACED)
        return !is_key && (column->groups & COLUMN_ONCE) == 0;
    return part != PART_SET || !is_key;
}

/* Numbers count all columns of the group, as columns_bind does. */
static void list_parts(const struct shape *shape, unsigned group, enum part part, struct buf *to)
{
    const char *before = "";
    unsigned number = 0;
    for (size_t i = 0; i < shape->count; i++) {
        const struct column *column = &shape->columns[i];
        if ((column->groups & group) == 0)
            continue;
        number++;
        if (!has_part(column, part))
            continue;
        buf_adds(to, before);
        before = part == PART_KEY ? " AND " : ", ";
        if (part == PART_NUMBER)
            buf_addf(to, "$%u", number);
        else if (part == PART_NAME)
            buf_adds(to, column->name);
        else if (part == PART_REPLACED)
            buf_addf(to, "%s = excluded.%s", column->name, column->name);
        else
            buf_addf(to, "%s = $%u", column->name, number);
    }
    assert(*before != '\0'); /* Else the table lacks a key, or the group has no column. */
}

static void list_read(const struct shape *shape, unsigned but, struct buf *to)
{
    for (size_t i = 0; i < shape->count; i++) {
        const struct column *column = &shape->columns[i];
        buf_adds(to, i == 0 ? "" : ", ");
        buf_adds(to, (column->groups & but) != 0 ? "NULL" : column->name);
    }
}

bool columns_expand(const struct shape *shape, unsigned group, struct str word, struct buf *to)
{
    if (shape->base != NULL)
        shape = shape->base;
    if (str_is(word, "columns")) {
        list_read(shape, 0, to);
    } else if (str_is(word, "small")) {
        list_read(shape, COLUMN_LARGE, to);
    } else if (str_is(word, "values")) {
        buf_addc(to, '(');
        list_parts(shape, group, PART_NAME, to);
        buf_adds(to, ") VALUES (");
        list_parts(shape, group, PART_NUMBER, to);
        buf_addc(to, ')');
    } else if (str_is(word, "set")) {
        list_parts(shape, group, PART_SET, to);
    } else if (str_is(word, "key")) {
        list_parts(shape, group, PART_KEY, to);
    } else if (str_is(word, "replaced")) {
        list_parts(shape, group, PART_REPLACED, to);
    } else {
        return false;
    }
    return true;
}

void columns_types(const struct shape *shape, unsigned group, char to[COLUMNS_MAX + 1])
{
    static const char types[] = {
        [KIND_ID] = 't',   [KIND_TEXT] = 't', [KIND_INT] = 'i',
        [KIND_BOOL] = 'i', [KIND_JSON] = 'j', [KIND_WORD] = 't',
    };
    size_t count = 0;
    for (size_t i = 0; i < shape->count; i++) {
        if ((shape->columns[i].groups & group) == 0)
            continue;
        assert(count < COLUMNS_MAX);
        to[count++] = types[shape->columns[i].kind];
    }
    to[count] = '\0';
}

static bool same(const struct column *column, const void *a, const void *b)
{
    switch (column->kind) {
    case KIND_ID:
        return id_same(a, b);
    case KIND_TEXT:
        return *(const char *const *)a == *(const char *const *)b;
    case KIND_INT:
        return *(const int64_t *)a == *(const int64_t *)b;
    case KIND_BOOL:
        return *(const bool *)a == *(const bool *)b;
    case KIND_JSON:
        return ((const struct str *)a)->at == ((const struct str *)b)->at &&
               ((const struct str *)a)->len == ((const struct str *)b)->len;
    case KIND_WORD:
        break;
    }
    return column->words->name(a) == column->words->name(b); /* Constants of core. */
}

bool columns_changed(const struct shape *shape, unsigned group, const void *now, const void *stored)
{
    for (size_t i = 0; i < shape->count; i++) {
        const struct column *column = &shape->columns[i];
        if ((column->groups & group) != 0 && !same(column, (const char *)now + column->offset,
                                                   (const char *)stored + column->offset))
            return true;
    }
    return false;
}
