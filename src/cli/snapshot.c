/*
 * snapshot.c - where the unpublished work of a run is, and how to get it back.
 */
#include "cli/client.h"
#include "cli/ids.h"
#include "cli/show.h"
#include "cli/table.h"
#include <stdio.h>

static const char *place_of(struct cli *cli, const struct js *item)
{
    const char *worker = js_get_str(item, "worker", "?");
    if (js_get_str(item, "ref", NULL) == NULL)
        return arena_printf(&cli->arena, "kept on %s", worker);
    if (js_get_bool(item, "published", false))
        return "origin";
    return js_get_bool(item, "superseded", false) ? "published"
                                                  : arena_printf(&cli->arena, "disk of %s", worker);
}

static void snapshots_table(struct cli *cli, const struct id *id, const struct js *document)
{
    static const struct table_column columns[] = {
        {"TAKEN", false, false}, {"WHY", false, false},    {"FILES", true, false},
        {"WHERE", false, false}, {"COMMIT", false, false}, {"REF", false, true},
    };
    struct table table;
    const struct js *items = js_get(document, "items");
    if (js_count(items) == 0) {
        (void)printf("There is no snapshot of run %s.\n", id->text);
        return;
    }
    const char *fetch = NULL;
    table_init(&table, &cli->term, columns, COUNT_OF(columns), &cli->arena);
    for (size_t i = 0; i < js_count(items); i++) {
        const struct js *item = js_at(items, i);
        const char *ref = js_get_str(item, "ref", NULL);
        table_cell(&table, term_clock(js_get_str(item, "takenAt", ""), &cli->arena), TONE_DIM);
        table_cell(&table, js_get_str(item, "reason", ref != NULL ? "" : "not saved"), TONE_PLAIN);
        table_cell(&table,
                   ref != NULL
                       ? arena_printf(&cli->arena, "%lld", (long long)js_get_int(item, "files", 0))
                       : "",
                   TONE_PLAIN);
        table_cell(&table, place_of(cli, item), ref != NULL ? TONE_PLAIN : TONE_RED);
        table_cell(&table, arena_printf(&cli->arena, "%.12s", js_get_str(item, "commit", "")),
                   TONE_PLAIN);
        table_cell(&table, ref != NULL ? ref : js_get_str(item, "keptAt", ""), TONE_PLAIN);
        fetch = js_get_str(item, "fetch", fetch);
    }
    table_print(&table, stdout);
    if (fetch != NULL)
        show_next(cli, "Get the last one", "%s && git checkout FETCH_HEAD", fetch);
}

static int run_snapshots(struct cli *cli)
{
    return show_one(
        cli, &(struct show_one){cli_resolve_run, "/v1/runs/", "/snapshots", snapshots_table});
}

const struct cli_command cli_snapshot_commands[] = {
    {"snapshots", "show where the unpublished work of a run is", "RUN [--json]", NULL,
     "drover snapshots latest", "drover run", 1, 1, CLI_REMOTE | CLI_JSON, run_snapshots},
    {0},
};
