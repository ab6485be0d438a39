/*
 * table.h - rows of text under headings, aligned by their width on a terminal.
 *
 *     struct table table;
 *     table_init(&table, &cli->term, columns, COUNT_OF(columns), arena);
 *     table_cell(&table, id, TONE_PLAIN); ...      cell by cell, row after row
 *     table_print(&table, stdout);
 *
 * On a terminal the flexible columns are cut when a line does not fit.  A last column that is too
 * good to be cut (an error, a command) stands on a line of its own below its row if .below is set.
 */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H
#include "base/arena.h"
#include "cli/term.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { TABLE_COLUMNS_MAX = 12 };

struct table_column {
    const char *title;
    bool right; /* Numbers. */
    bool flexible;
};

struct table_cell {
    const char *text;
    enum tone tone;
};

struct table_row;
struct table {
    const struct term *term;
    const struct table_column *columns;
    size_t column_count;
    struct arena *arena;
    bool below; /* Set by the caller. */
    struct table_row *first, *last;
    size_t filled; /* Cells of the last row. */
};

void table_init(struct table *table, const struct term *term, const struct table_column *columns,
                size_t column_count, struct arena *arena);
/* The text is copied; NULL is an empty cell. */
void table_cell(struct table *table, const char *text, enum tone tone);
void table_print(const struct table *table, FILE *to);
#endif
