#include "cli/table.h"
#include <assert.h>

enum { GAP = 2, INDENT = 4, FLEXIBLE_MIN = 8, LINE_BYTES_MAX = 64 * 1024 };

struct table_row {
    struct table_row *next;
    struct table_cell cells[TABLE_COLUMNS_MAX];
};

void table_init(struct table *table, const struct term *term, const struct table_column *columns,
                size_t column_count, struct arena *arena)
{
    assert(column_count > 0 && column_count <= TABLE_COLUMNS_MAX);
    *table = (struct table){
        .term = term, .columns = columns, .column_count = column_count, .arena = arena};
}

void table_cell(struct table *table, const char *text, enum tone tone)
{
    if (table->last == NULL || table->filled == table->column_count) {
        struct table_row *row = arena_alloc(table->arena, sizeof *row);
        if (table->last != NULL)
            table->last->next = row;
        else
            table->first = row;
        table->last = row;
        table->filled = 0;
    }
    struct table_cell *cell = &table->last->cells[table->filled++];
    cell->text = arena_strdup(table->arena, text != NULL ? text : "");
    cell->tone = tone;
}

static void measure(const struct table *table, size_t widths[TABLE_COLUMNS_MAX])
{
    for (size_t i = 0; i < table->column_count; i++) {
        widths[i] = term_columns(table->columns[i].title);
        for (const struct table_row *row = table->first; row != NULL; row = row->next) {
            size_t width = row->cells[i].text != NULL ? term_columns(row->cells[i].text) : 0;
            if (width > widths[i])
                widths[i] = width;
        }
    }
}

static size_t width_of(const struct table *table, const size_t widths[TABLE_COLUMNS_MAX])
{
    size_t sum = GAP * (table->column_count - 1);
    for (size_t i = 0; i < table->column_count; i++)
        sum += widths[i];
    return sum;
}

/* Cuts the flexible columns by the excess width. */
static void squeeze(const struct table *table, size_t widths[TABLE_COLUMNS_MAX])
{
    size_t sum = width_of(table, widths);
    for (size_t i = 0; i < table->column_count && sum > table->term->columns; i++) {
        if (!table->columns[i].flexible)
            continue;
        size_t over = sum - table->term->columns;
        size_t least = widths[i] < FLEXIBLE_MIN ? widths[i] : FLEXIBLE_MIN;
        size_t cut = widths[i] - least > over ? over : widths[i] - least;
        widths[i] -= cut;
        sum -= cut;
    }
}

static void pad(struct buf *line, size_t columns)
{
    for (size_t i = 0; i < columns; i++)
        buf_addc(line, ' ');
}

static void add_cell(const struct table *table, struct buf *line, size_t column,
                     const struct table_cell *cell, size_t width)
{
    const char *text = cell->text != NULL ? cell->text : "";
    size_t shown = term_columns(text);
    size_t blanks = shown < width ? width - shown : 0;
    if (column > 0)
        pad(line, GAP);
    if (table->columns[column].right)
        pad(line, blanks);
    buf_adds(line, term_on(table->term, cell->tone));
    term_fit(line, text, width);
    buf_adds(line, term_off(table->term, cell->tone));
    if (!table->columns[column].right && column + 1 < table->column_count)
        pad(line, blanks);
}

static void print_row(const struct table *table, const struct table_cell *cells,
                      const size_t widths[TABLE_COLUMNS_MAX], FILE *to)
{
    CLEANUP(buf_release) struct buf line;
    buf_init(&line, LINE_BYTES_MAX);
    for (size_t i = 0; i < table->column_count; i++)
        add_cell(table, &line, i, &cells[i], widths[i]);
    while (line.len > 0 && line.data[line.len - 1] == ' ')
        buf_cut(&line, line.len - 1);
    (void)fprintf(to, "%s\n", buf_text(&line));
}

static void print_below(const struct table *table, const struct table_cell *cell, FILE *to)
{
    CLEANUP(buf_release) struct buf line;
    buf_init(&line, LINE_BYTES_MAX);
    if (cell->text == NULL || cell->text[0] == '\0')
        return;
    pad(&line, INDENT);
    buf_adds(&line, term_on(table->term, cell->tone));
    term_clean(&line, cell->text);
    buf_adds(&line, term_off(table->term, cell->tone));
    (void)fprintf(to, "%s\n", buf_text(&line));
}

void table_print(const struct table *table, FILE *to)
{
    size_t widths[TABLE_COLUMNS_MAX] = {0}, last = table->column_count - 1;
    struct table_cell titles[TABLE_COLUMNS_MAX] = {{0}};
    struct table lines = *table;
    measure(table, widths);
    bool below = table->below && width_of(table, widths) > table->term->columns;
    if (below)
        lines.column_count = last;
    squeeze(&lines, widths);
    for (size_t i = 0; i < lines.column_count; i++)
        titles[i] = (struct table_cell){table->columns[i].title, TONE_BOLD};
    print_row(&lines, titles, widths, to);
    for (const struct table_row *row = table->first; row != NULL; row = row->next) {
        print_row(&lines, row->cells, widths, to);
        if (below)
            print_below(table, &row->cells[last], to);
    }
}
