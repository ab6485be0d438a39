/*
 * cli_queue.c - queues of jobs: queue list.
 */
#include "base/str.h"
#include "edge/cli_client.h"
#include "edge/cli_table.h"
#include <stdio.h>

static void queues_table(struct cli *cli, const struct js *items)
{
    static const struct table_column columns[] = {
        {"QUEUE", false, true},     {"QUEUED", true, false},         {"LEASED", true, false},
        {"SCHEDULED", true, false}, {"BLOCKED", true, false},        {"DONE", true, false},
        {"DEAD", true, false},      {"OLDEST QUEUED", false, false},
    };
    static const char *const keys[] = {"queued",  "leased",    "scheduled",
                                       "blocked", "succeeded", "dead_letter"};
    struct table table;
    table_init(&table, &cli->term, columns, COUNT_OF(columns), &cli->arena);
    for (size_t i = 0; i < js_count(items); i++) {
        const struct js *item = js_at(items, i);
        const struct js *counts = js_get(item, "jobs");
        table_cell(&table, js_get_str(item, "name", ""), TONE_BOLD);
        for (size_t j = 0; j < COUNT_OF(keys); j++) {
            int64_t jobs = js_get_int(counts, keys[j], 0);
            bool dead = jobs > 0 && text_same(keys[j], "dead_letter");
            table_cell(&table, arena_printf(&cli->arena, "%lld", (long long)jobs),
                       dead ? TONE_RED : TONE_PLAIN);
        }
        table_cell(&table,
                   term_time(&cli->term, js_get_str(item, "oldestQueuedAt", NULL), &cli->arena),
                   TONE_DIM);
    }
    table_print(&table, stdout);
}

/* The server gives all of them at once: there are few. */
static int run_queue_list(struct cli *cli)
{
    struct err err = {0};
    CLEANUP(cli_answer_release) struct cli_answer answer = {0};
    enum rc rc = cli_get(cli, "/v1/queues", &answer, &err);
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    const struct js *items = js_get(answer.tree, "items");
    if (cli->json)
        cli_print_json(&answer);
    else if (js_count(items) == 0)
        (void)printf("No queues yet.\n");
    else
        queues_table(cli, items);
    return CLI_DONE;
}

const struct cli_command cli_queue_commands[] = {
    {"queue list", "list the queues and what waits in them", "[--watch] [--json]", NULL,
     "drover queue list", NULL, 0, 0, CLI_REMOTE | CLI_JSON | CLI_REFRESH, run_queue_list},
    {0},
};
