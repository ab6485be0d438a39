/*
 * compare.c - the candidates of a task side by side: compare.
 */
#include "base/str.h"
#include "cli/client.h"
#include "cli/ids.h"
#include "cli/show.h"
#include "cli/span.h"
#include "cli/table.h"
#include <stdio.h>

static const char *patch_size(struct cli *cli, const struct js *patch)
{
    if (js_type(patch) != JS_OBJECT)
        return "none";
    int64_t files = js_get_int(patch, "files", 0);
    return arena_printf(&cli->arena, "%lld %s +%lld -%lld", (long long)files,
                        files == 1 ? "file" : "files",
                        (long long)js_get_int(patch, "linesAdded", 0),
                        (long long)js_get_int(patch, "linesDeleted", 0));
}

static const char *checks_of(struct cli *cli, const struct js *item)
{
    int64_t all = js_get_int(item, "checks", 0), failed = js_get_int(item, "checksFailed", 0);
    return all == 0
               ? "-"
               : arena_printf(&cli->arena, "%lld/%lld", (long long)(all - failed), (long long)all);
}

/* "chosen", what went wrong, or what the one above has over it. */
static const char *standing(struct cli *cli, const struct js *item)
{
    if (js_get_bool(item, "chosen", false))
        return "chosen";
    const char *error = js_get_str(item, "errorCode", NULL);
    const char *behind = js_get_str(item, "behind", NULL);
    if (error != NULL)
        return error;
    return behind != NULL ? arena_printf(&cli->arena, "beaten by %s", behind) : "";
}

/* By its name, or by its number where it has none. */
static const char *name_of(struct cli *cli, const struct js *item)
{
    const char *name = js_get_str(item, "candidate", NULL);
    return name != NULL
               ? name
               : arena_printf(&cli->arena, "%lld", (long long)js_get_int(item, "number", 0));
}

static void add_row(struct cli *cli, struct table *table, const struct js *item)
{
    struct arena *arena = &cli->arena;
    const struct js *score = js_get(item, "score");
    const char *status = js_get_str(item, "status", "?");
    table_cell(table, arena_printf(arena, "%lld", (long long)js_get_int(item, "rank", 0)),
               js_get_bool(item, "chosen", false) ? TONE_BOLD : TONE_PLAIN);
    table_cell(table, name_of(cli, item), TONE_PLAIN);
    table_cell(table, status, term_status_tone(status));
    table_cell(table, checks_of(cli, item), TONE_PLAIN);
    table_cell(table,
               js_type(score) == JS_NULL ? "-" : arena_printf(arena, "%.2f", js_num(score, 0)),
               TONE_PLAIN);
    table_cell(table, patch_size(cli, js_get(item, "patch")), TONE_PLAIN);
    table_cell(table, arena_printf(arena, "%lld", (long long)js_get_int(item, "turns", 0)),
               TONE_PLAIN);
    table_cell(table, arena_printf(arena, "%.4f", js_num(js_get(item, "costUsd"), 0)), TONE_PLAIN);
    table_cell(table, js_get_str(item, "model", ""), TONE_DIM);
    table_cell(table, standing(cli, item), TONE_PLAIN);
}

static void print_commands(struct cli *cli, const struct js *items)
{
    for (size_t i = 0; i < js_count(items); i++) {
        const struct js *item = js_at(items, i);
        const char *sha256 = js_get_str(js_get(item, "patch"), "sha256", NULL);
        if (sha256 != NULL)
            show_next(cli, arena_printf(&cli->arena, "Patch of %s", name_of(cli, item)),
                      "drover artifact %s", shell_quote(sha256, &cli->arena));
    }
}

static void print_compared(struct cli *cli, const struct id *id, const struct js *answer)
{
    static const struct table_column columns[] = {
        {"RANK", true, false},   {"CANDIDATE", false, false}, {"STATUS", false, false},
        {"CHECKS", true, false}, {"SCORE", true, false},      {"PATCH", false, false},
        {"TURNS", true, false},  {"USD", true, false},        {"MODEL", false, false},
        {"", false, true},
    };
    const struct js *items = js_get(answer, "items");
    show_line(cli, "Task", id->text, TONE_BOLD);
    show_status(cli, answer);
    if (js_count(items) == 0) {
        (void)printf("This task has no candidates. Submit one with --best-of N.\n");
        return;
    }
    (void)putchar('\n');
    struct table table;
    table_init(&table, &cli->term, columns, COUNT_OF(columns), &cli->arena);
    for (size_t i = 0; i < js_count(items); i++)
        add_row(cli, &table, js_at(items, i));
    table_print(&table, stdout);
    (void)putchar('\n');
    print_commands(cli, items);
}

/* A candidate is a task as well, and means the one that it is a candidate of. */
static enum rc resolve(struct cli *cli, const char *word, struct id *ret_id, struct err *err)
{
    CLEANUP(cli_answer_release) struct cli_answer task = {0};
    enum rc rc = cli_resolve_task(cli, word, ret_id, err);
    if (rc == RC_OK)
        rc = cli_get(cli, cli_path(cli, "/v1/tasks/", ret_id->text, ""), &task, err);
    if (rc == RC_OK && js_get_int(task.tree, "candidateNo", 0) > 0)
        *ret_id = id_of(js_get_str(task.tree, "parentTaskId", NULL));
    return rc;
}

static int run_compare(struct cli *cli)
{
    return show_one(cli, &(struct show_one){resolve, "/v1/tasks/", "/candidates", print_compared});
}

const struct cli_command cli_compare_commands[] = {
    {"compare", "show the candidates of a task side by side", "TASK [--json]", NULL,
     "drover compare latest", "drover tasks", 1, 1, CLI_REMOTE | CLI_JSON, run_compare},
    {NULL, NULL, NULL, NULL, NULL, NULL, 0, 0, 0, NULL},
};
