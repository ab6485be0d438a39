/*
 * workers.c - the workers of a server: workers.
 */
#include "base/str.h"
#include "cli/client.h"
#include "cli/table.h"
#include "core/step_kind.h"
#include "net/url.h"
#include <stdio.h>

static enum tone tone_of(const char *state)
{
    if (text_same(state, "active"))
        return TONE_GREEN;
    return text_same(state, "lost") ? TONE_RED : TONE_YELLOW;
}

/* "all", or the steps: "agent, verify" */
static const char *queues_text(const struct js *queues, struct arena *arena)
{
    enum { STEP_QUEUES = 8 };
    const char *text = "";
    if (js_count(queues) >= STEP_QUEUES)
        return "all";
    for (size_t i = 0; i < js_count(queues); i++) {
        const char *name = js_str(js_at(queues, i), "");
        if (text_starts(name, STEP_QUEUE_PREFIX))
            name += sizeof STEP_QUEUE_PREFIX - 1;
        text = arena_printf(arena, "%s%s%s", text, i > 0 ? "," : "", name);
    }
    return text;
}

static const char *disk_text(const struct js *worker, struct arena *arena)
{
    if (js_get(worker, "diskFree") == NULL)
        return "-";
    const char *bytes = term_bytes(arena, js_get_int(worker, "diskFree", 0));
    return js_get_bool(worker, "diskLow", false) ? arena_printf(arena, "%s, low", bytes) : bytes;
}

/* "4 ports, 2 databases" */
static const char *leased_text(const struct js *worker, struct arena *arena)
{
    int64_t ports = js_get_int(worker, "leasedPorts", 0);
    int64_t databases = js_get_int(worker, "leasedDatabases", 0);
    const char *text = ports == 0 ? ""
                                  : arena_printf(arena, "%lld port%s", (long long)ports,
                                                 ports == 1 ? "" : "s");
    if (databases > 0)
        text = arena_printf(arena, "%s%s%lld database%s", text, ports > 0 ? ", " : "",
                            (long long)databases, databases == 1 ? "" : "s");
    return *text != '\0' ? text : "-";
}

static void workers_table(struct cli *cli, const struct cli_listing *listing)
{
    static const struct table_column columns[] = {
        {"WORKER", false, true},    {"STATE", false, false},  {"SLOTS", true, false},
        {"BUSY", true, false},      {"QUEUES", false, false}, {"LAST HEARTBEAT", false, false},
        {"DISK FREE", true, false}, {"LEASED", false, false}, {"VERSION", false, false},
        {"HOST", false, false},
    };
    struct arena *arena = &cli->arena;
    struct table table;
    table_init(&table, &cli->term, columns, COUNT_OF(columns), arena);
    for (size_t i = 0; i < listing->count; i++) {
        const struct js *item = listing->items[i];
        const char *state = js_get_str(item, "state", "");
        table_cell(&table, js_get_str(item, "name", ""), TONE_BOLD);
        table_cell(&table, state, tone_of(state));
        table_cell(&table, arena_printf(arena, "%lld", (long long)js_get_int(item, "slots", 0)),
                   TONE_PLAIN);
        table_cell(&table, arena_printf(arena, "%lld", (long long)js_get_int(item, "busy", 0)),
                   TONE_PLAIN);
        table_cell(&table, queues_text(js_get(item, "queues"), arena), TONE_PLAIN);
        table_cell(&table, term_time(&cli->term, js_get_str(item, "lastSeenAt", NULL), arena),
                   TONE_DIM);
        table_cell(&table, disk_text(item, arena),
                   js_get_bool(item, "diskLow", false) ? TONE_RED : TONE_PLAIN);
        table_cell(&table, leased_text(item, arena), TONE_PLAIN);
        table_cell(&table, js_get_str(item, "version", ""), TONE_PLAIN);
        table_cell(&table, js_get_str(item, "host", ""), TONE_DIM);
    }
    table_print(&table, stdout);
}

static int run_workers(struct cli *cli)
{
    struct err err = {0};
    CLEANUP(cli_listing_release) struct cli_listing listing = {0};
    CLEANUP(buf_release) struct buf path;
    buf_init(&path, ERR_TEXT_MAX);
    buf_adds(&path, "/v1/workers");
    const char *state = args_text(&cli->args, "state", NULL);
    if (state != NULL)
        url_add_query(&path, "state", state);
    enum rc rc = cli_list(cli, buf_text(&path), &listing, &err);
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    if (cli->json)
        cli_listing_print_json(cli, &listing);
    else if (listing.count == 0)
        (void)printf("No workers. Start one with: drover worker --server URL\n");
    else
        workers_table(cli, &listing);
    return CLI_DONE;
}

static const char *const states[] = {"active", "draining", "lost", NULL};
static const struct arg_option workers_options[] = {
    {"state", "STATE", "only these: active, draining or lost", ARG_CHOICE, 0, 0, states},
    {"limit", "N", "at most so many (default 50)", ARG_INT, 1, CLI_LIMIT_MAX, NULL},
    {0},
};

const struct cli_command cli_workers_commands[] = {
    {"workers", "list the workers, what they do, and when they were last heard of",
     "[--state STATE] [--limit N] [--watch] [--json]", workers_options, "drover workers", NULL, 0,
     0, CLI_REMOTE | CLI_JSON | CLI_REFRESH, run_workers},
    {0},
};
