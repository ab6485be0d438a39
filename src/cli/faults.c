#include "cli/faults.h"
#include "base/js.h"
#include "base/str.h"
#include "base/yaml.h"
#include "cli/input.h"
#include "cli/term.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { SOURCE_BYTES_MAX = 512 * 1024, LINE_BYTES_MAX = 200, SAFE_BYTES_MAX = 8 * 1024 };

void cli_source_release(struct cli_source *source)
{
    buf_release(&source->text);
    js_free(source->tree);
    source->tree = NULL;
}

/* The text comes from a file or a server: made safe for a terminal. */
static void print_safe(const char *text)
{
    CLEANUP(buf_release) struct buf safe;
    buf_init(&safe, SAFE_BYTES_MAX);
    term_clean(&safe, text);
    (void)fputs(buf_text(&safe), stderr);
}

static struct str line_of(struct str text, size_t wanted)
{
    struct str line;
    for (size_t at = 1; str_take_line(&text, &line); at++)
        if (at == wanted)
            return line;
    return (struct str){0};
}

/* So many characters of the line, as columns of the terminal. */
static size_t columns_before(const char *line, size_t characters)
{
    char before[LINE_BYTES_MAX + 1];
    size_t used = 0, len = strlen(line);
    for (size_t i = 0; i < characters && used < len; i++) {
        size_t step = utf8_len(line + used, len - used);
        used += step > 0 ? step : 1;
    }
    text_copy(before, (used < sizeof before ? used : sizeof before - 1) + 1, line);
    for (char *at = before; *at != '\0'; at++)
        *at = *at == '\t' ? ' ' : *at;
    return term_columns(before);
}

/* The line with a mark under the place, unless it is too long to be shown. */
static void show_place(const struct cli_source *source, const struct fault *fault)
{
    char text[LINE_BYTES_MAX + 1];
    struct str line = line_of(buf_str(&source->text), fault->line);
    if (line.len == 0 || line.len > LINE_BYTES_MAX)
        return;
    text_copy(text, line.len + 1, line.at);
    (void)fprintf(stderr, "%6zu | ", fault->line);
    print_safe(text);
    (void)fprintf(stderr, "\n       | %*s^\n", (int)columns_before(text, fault->column - 1), "");
}

static void print_one(const struct cli_source *source, const struct fault *fault, bool terminal)
{
    print_safe(source->name);
    if (fault->line > 0)
        (void)fprintf(stderr, ":%zu:%zu", fault->line, fault->column);
    (void)fputs(": ", stderr);
    if (fault->path[0] != '\0') {
        print_safe(fault->path);
        (void)fputs(": ", stderr);
    }
    print_safe(fault->message);
    (void)fputc('\n', stderr);
    if (terminal && fault->line > 0)
        show_place(source, fault);
}

static bool stands_before(const struct fault *a, const struct fault *b)
{
    return a->line < b->line || (a->line == b->line && a->column < b->column);
}

/* In the order of the file; faults of the same place stay in theirs. */
static void sort(struct faults *faults)
{
    for (size_t i = 1; i < faults->count; i++) {
        struct fault moved = faults->items[i];
        size_t to = i;
        for (; to > 0 && stands_before(&moved, &faults->items[to - 1]); to--)
            faults->items[to] = faults->items[to - 1];
        faults->items[to] = moved;
    }
}

static int print_all(struct cli *cli, const struct cli_source *source, struct faults *faults,
                     enum rc rc)
{
    bool terminal = isatty(STDERR_FILENO) == 1;
    cli->failure = rc;
    (void)fflush(stdout);
    sort(faults);
    for (size_t i = 0; i < faults->count; i++)
        print_one(source, &faults->items[i], terminal);
    size_t total = faults->count + faults->left_out;
    (void)fputs("drover: ", stderr);
    print_safe(source->name);
    (void)fprintf(stderr, " has %zu error%s", total, total == 1 ? "" : "s");
    if (faults->left_out > 0)
        (void)fprintf(stderr, ", of which %zu are shown", faults->count);
    (void)fputc('\n', stderr);
    return cli_exit_of(rc);
}

void cli_problem_faults(struct cli *cli, struct str problem, struct faults *faults)
{
    CLEANUP(js_freep) struct js *tree = NULL;
    if (js_parse(problem.at, problem.len, &tree, NULL) != RC_OK)
        return;
    const struct js *errors = js_get(tree, "errors");
    for (size_t i = 0; i < js_count(errors); i++) {
        const struct js *each = js_at(errors, i);
        faults_add(faults, &cli->arena, js_get_str(each, "path", ""),
                   js_get_str(each, "message", ""));
    }
}

int cli_print_faults(struct cli *cli, const struct cli_source *source, struct faults *faults)
{
    faults_locate(faults, buf_str(&source->text));
    return print_all(cli, source, faults, RC_INVALID);
}

bool cli_source_read(struct cli *cli, const char *path, struct cli_source *source, int *ret_exit)
{
    struct err err = {0};
    struct faults faults = {0};
    source->name = text_same(path, "-") ? "standard input" : path;
    buf_init(&source->text, SOURCE_BYTES_MAX);
    enum rc rc = cli_read_source(path, &source->text, &err);
    if (rc != RC_OK) {
        *ret_exit = cli_fail(cli, rc, &err);
        return false;
    }
    rc = yaml_parse(buf_text(&source->text), source->text.len, &source->tree, &err);
    if (rc == RC_OK && js_type(source->tree) == JS_OBJECT)
        return true;
    if (rc == RC_OK)
        rc = err_set(&err, RC_MALFORMED, "INVALID_CONFIG", "%s: a mapping is expected, not %s",
                     path, js_type_name(js_type(source->tree)));
    else if (faults_of_syntax(&faults, &cli->arena, &err)) {
        *ret_exit = print_all(cli, source, &faults, rc);
        return false;
    }
    *ret_exit = cli_fail(cli, rc, &err);
    return false;
}
