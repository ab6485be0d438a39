#include "cli/config.h"
#include "base/buf.h"
#include "cli/table.h"
#include <stdio.h>

enum { PATH_BYTES_MAX = 1024 };

struct view {
    struct cli *cli;
    struct table table;
    const struct js *origins;
    struct buf path;
};

static void add_row(struct view *view, const struct js *value)
{
    const char *path = buf_text(&view->path);
    const char *origin = js_get_str(view->origins, path, "");
    const char *text = js_type(value) == JS_STRING ? js_str(value, "")
                                                   : js_text(value, &view->cli->arena);
    bool said = !text_same(origin, "default");
    table_cell(&view->table, path, said ? TONE_BOLD : TONE_PLAIN);
    table_cell(&view->table, text, TONE_PLAIN);
    table_cell(&view->table, origin, said ? TONE_CYAN : TONE_DIM);
}

/* As deep as the answer, which was limited when read. */
static void add_rows(struct view *view, const struct js *object)
{
    size_t at = 0;
    const char *key;
    const struct js *member;
    while (js_next(object, &at, &key, &member)) {
        size_t len = view->path.len;
        buf_addf(&view->path, "%s%s", len > 0 ? "." : "", key);
        if (js_type(member) == JS_OBJECT && js_count(member) > 0)
            add_rows(view, member);
        else
            add_row(view, member);
        buf_cut(&view->path, len);
    }
}

void cli_show_config(struct cli *cli, const struct js *answer)
{
    static const struct table_column columns[] = {
        {"FIELD", false, false},
        {"VALUE", false, true},
        {"FROM", false, false},
    };
    struct view view = {.cli = cli, .origins = js_get(answer, "origins")};
    table_init(&view.table, &cli->term, columns, COUNT_OF(columns), &cli->arena);
    buf_init(&view.path, PATH_BYTES_MAX);
    add_rows(&view, js_get(answer, "effective"));
    buf_release(&view.path);
    table_print(&view.table, stdout);
}
