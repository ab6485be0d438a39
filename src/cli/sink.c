/*
 * sink.c - the places outside that events are copied to: sinks.
 */
#include "base/clock.h"
#include "base/str.h"
#include "cli/show.h"
#include "cli/table.h"
#include <stdio.h>

static const char *number(struct cli *cli, const struct js *item, const char *key)
{
    return arena_printf(&cli->arena, "%lld", (long long)js_get_int(item, key, 0));
}

static void sinks_table(struct cli *cli, const struct cli_listing *listing)
{
    static const struct table_column columns[] = {
        {"SINK", false, false},  {"TYPE", false, false}, {"TARGET", false, true},
        {"STATE", false, false}, {"LAG", true, false},   {"BEHIND", true, false},
        {"CURSOR", true, false}, {"DEAD", true, false},  {"LAST ERROR", false, true},
    };
    struct table table;
    table_init(&table, &cli->term, columns, COUNT_OF(columns), &cli->arena);
    for (size_t i = 0; i < listing->count; i++) {
        const struct js *item = listing->items[i];
        const char *state = js_get_str(item, "state", "");
        double seconds = js_num(js_get(item, "lagSeconds"), 0);
        char behind[TIME_TEXT_BYTES];
        table_cell(&table, js_get_str(item, "name", ""), TONE_BOLD);
        table_cell(&table, js_get_str(item, "type", ""), TONE_PLAIN);
        table_cell(&table, js_get_str(item, "target", ""), TONE_PLAIN);
        table_cell(&table, state, text_same(state, "retrying") ? TONE_RED : TONE_PLAIN);
        table_cell(&table, number(cli, item, "lag"), TONE_PLAIN);
        table_cell(&table, seconds > 0 ? duration_format(behind, (int64_t)(seconds * 1e6)) : "-",
                   TONE_DIM);
        table_cell(&table, number(cli, item, "cursor"), TONE_DIM);
        table_cell(&table, number(cli, item, "deadLetters"), TONE_PLAIN);
        table_cell(&table, js_get_str(item, "lastError", ""), TONE_PLAIN);
    }
    table_print(&table, stdout);
}

static int run_list(struct cli *cli)
{
    return show_list(cli, &(struct show_list){"/v1/sinks",
                                              "No sinks: the server's configuration has none.",
                                              sinks_table});
}

static const struct arg_option list_options[] = {
    {"limit", "N", "at most so many, by name (default 50)", ARG_INT, 1, CLI_LIMIT_MAX, NULL},
    {0},
};

const struct cli_command cli_sink_commands[] = {
    {"sinks", "list the sinks of events and how far they are behind", "[--limit N] [--json]",
     list_options, "drover sinks", NULL, 0, 0, CLI_REMOTE | CLI_JSON | CLI_REFRESH, run_list},
    {0},
};
