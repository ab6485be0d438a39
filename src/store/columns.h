/*
 * columns.h - one table of columns for each aggregate: name, kind, offset in the row's struct, and
 * the groups in which it is written.  Statements, parameters, reading and "has it changed" follow
 * from the table, so nothing counts $n by hand and no column can be forgotten in one of them.
 *
 * To add a column: a member in the row's struct, a row in the table beside it (the shape in
 * src/store/runs.c, for example), and a migration in src/store/migrations.c.  The suite
 * tests/store/test_store_columns.c compares every table with the schema.
 *
 * Words in the text of a statement with a shape, expanded when a connection prepares it (db.c):
 *
 *   {columns}  a, b, c                        all columns, in the order in which they are read
 *   {small}    a, NULL, c                     the same without the large ones
 *   {values}   (a, b) VALUES ($1, $2)         the columns of the group that is written
 *   {set}      b = $2                         the same without the key
 *   {key}      a = $1                         the key, joined by AND
 *   {replaced} b = excluded.b                 for ON CONFLICT: without key and COLUMN_ONCE
 *
 * Parameters of a struct row_sql (db.h) are the columns of its group in the order of the table.
 */
#ifndef STORE_COLUMNS_H
#define STORE_COLUMNS_H
#include "base/buf.h"
#include "base/id.h"
#include "base/rc.h"
#include "base/str.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum column_kind { KIND_ID, KIND_TEXT, KIND_INT, KIND_BOOL, KIND_JSON, KIND_WORD };

/* An enum that is stored as its name. */
struct words {
    const char *(*name)(const void *at);
    bool (*parse)(const char *name, void *to); /* false: not known; *to is undefined. */
};

enum {
    COLUMN_KEY = 1 << 0,      /* A group: names the row. */
    COLUMN_NEW = 1 << 1,      /* A group: written when the row is inserted. */
    COLUMN_ONCE = 1 << 2,     /* An upsert leaves it as it was. */
    COLUMN_LARGE = 1 << 3,    /* {small} leaves it out. */
    COLUMN_COMPUTED = 1 << 4, /* The name is an expression; never written. */
    COLUMN_GROUP_FIRST = 8,   /* Bits from here on: groups of an aggregate. */
};
#define COLUMN_GROUP(n) (1U << (COLUMN_GROUP_FIRST + (n)))

struct column {
    const char *name;
    enum column_kind kind;
    size_t offset;
    unsigned groups;
    const struct words *words; /* KIND_WORD */
};

/* The kind follows from the type of the member. */
#define COLUMN(type, member, groups) COLUMN_AS(type, member, #member, groups)
#define COLUMN_AS(type, member, name, groups)                                        \
    {                                                                                \
        (name), KIND_OF(((type *)0)->member), offsetof(type, member), (groups), NULL \
    }
#define KIND_OF(member) \
    _Generic((member),             \
        struct id: KIND_ID,        \
        const char *: KIND_TEXT,   \
        int64_t: KIND_INT,         \
        bool: KIND_BOOL,           \
        struct str: KIND_JSON)

/* The comparison of pointers does not compile for a member of another enum. */
#define COLUMN_WORD(type, member, name, set, groups)                                      \
    {                                                                                     \
        (name), KIND_WORD,                                                                \
            offsetof(type, member) + 0 * sizeof((set##_type *)0 == &((type *)0)->member), \
            (groups), &(set)                                                              \
    }
/* Defines the words of an enum: WORDS(role_words, enum role, role_name, role_parse). */
#define WORDS(set, type, name_of, parse_as)             \
    typedef type set##_type;                            \
    static const char *set##_name(const void *at)       \
    {                                                   \
        return name_of(*(const type *)at);              \
    }                                                   \
    static bool set##_parse(const char *name, void *to) \
    {                                                   \
        return parse_as(name, to);                      \
    }                                                   \
    static const struct words set = {set##_name, set##_parse}

struct row_reader;

/* How a row of a result becomes a struct. */
struct shape {
    const char *noun; /* "run": for "there is no such run". */
    size_t bytes;     /* Of the struct. */
    const struct column *columns;
    size_t count;
    /* Fills a zeroed struct; NULL: all columns, as read_columns does. */
    enum rc (*decode)(struct row_reader *reader, void *to, struct err *err);
    const struct shape *base; /* Its columns are meant by {columns}; NULL: its own. */
};
#define SHAPE(name, type, table)                                                            \
    {                                                                                       \
        .noun = (name), .bytes = sizeof(type), .columns = (table), .count = COUNT_OF(table) \
    }
/* For a result that is not a row of a table. */
#define SHAPE_OF_RESULT(name, type, function)                       \
    {                                                               \
        .noun = (name), .bytes = sizeof(type), .decode = (function) \
    }

enum { COLUMNS_MAX = 64 }; /* Of one group: parameters of a statement. */

/* Appends what a word stands for; false: it is none of the words above. */
bool columns_expand(const struct shape *shape, unsigned group, struct str word, struct buf *to);
/* Types of the parameters: see struct sql. */
void columns_types(const struct shape *shape, unsigned group, char to[COLUMNS_MAX + 1]);
/* Has a column of the group changed?  Texts are compared by address: code that changes a text sets
   another pointer. */
bool columns_changed(const struct shape *shape, unsigned group, const void *now,
                     const void *stored);
#endif
