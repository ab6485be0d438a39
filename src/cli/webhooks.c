/*
 * webhooks.c - how drover learns what changes at forges: webhooks.
 */
#include "base/buf.h"
#include "base/str.h"
#include "cli/client.h"
#include "cli/show.h"
#include "cli/table.h"
#include "net/url.h"
#include <stdio.h>

enum { PATH_BYTES_MAX = 2000 };

static enum tone tone_of_mode(const char *mode)
{
    return text_same(mode, "webhooks") ? TONE_GREEN : TONE_PLAIN;
}

static enum tone tone_of_status(const char *status)
{
    if (text_same(status, "invalid") || text_same(status, "lost"))
        return TONE_RED;
    return text_same(status, "ignored") ? TONE_DIM : TONE_PLAIN;
}

static const char *number_of(struct cli *cli, const struct js *item, const char *key)
{
    int64_t value = js_get_int(item, key, 0);
    return value > 0 ? arena_printf(&cli->arena, "%lld", (long long)value) : "-";
}

static const char *time_of(struct cli *cli, const struct js *item, const char *key)
{
    return term_time(&cli->term, js_get_str(item, key, NULL), &cli->arena);
}

/* ---- of all repositories ---- */

static void syncs_table(struct cli *cli, const struct cli_listing *listing)
{
    static const struct table_column columns[] = {
        {"REPOSITORY", false, false}, {"FORGE", false, false},     {"BY", false, false},
        {"SINCE", false, false},      {"DELIVERED", false, false}, {"SYNCED", false, false},
        {"RECOVERED", true, false},   {"LAST ERROR", false, true},
    };
    struct table table;
    table_init(&table, &cli->term, columns, COUNT_OF(columns), &cli->arena);
    table.below = true;
    for (size_t i = 0; i < listing->count; i++) {
        const struct js *item = listing->items[i];
        const char *mode = js_get_str(item, "mode", "");
        table_cell(&table, js_get_str(item, "repository", ""), TONE_BOLD);
        table_cell(&table, js_get_str(item, "forge", ""), TONE_PLAIN);
        table_cell(&table, mode, tone_of_mode(mode));
        table_cell(&table, time_of(cli, item, "since"), TONE_DIM);
        table_cell(&table, time_of(cli, item, "lastDeliveryAt"), TONE_DIM);
        table_cell(&table, time_of(cli, item, "lastSyncAt"), TONE_DIM);
        table_cell(&table, number_of(cli, item, "recovered"), TONE_PLAIN);
        table_cell(&table, js_get_str(item, "lastError", ""), TONE_RED);
    }
    table_print(&table, stdout);
}

/* ---- of one ---- */

static void show_sync(struct cli *cli, const struct js *sync)
{
    const char *name = js_get_str(sync, "name", NULL), *now = js_get_str(sync, "knownAs", NULL);
    const char *mode = js_get_str(sync, "mode", "");
    show_line(cli, "Repository", js_get_str(sync, "repository", ""), TONE_BOLD);
    show_line(cli, "Forge", js_get_str(sync, "forge", ""), TONE_PLAIN);
    show_line(cli, "At the forge", now != NULL ? now : name, TONE_PLAIN);
    show_line(cli, "Changes by", mode, tone_of_mode(mode));
    show_time(cli, "Since", sync, "since");
    show_time(cli, "Delivered", sync, "lastDeliveryAt");
    show_time(cli, "Missed", sync, "lastMissedAt");
    show_member(cli, "Recovered", sync, "recovered");
    show_time(cli, "Synced", sync, "lastSyncAt");
    show_line(cli, "Last error", js_get_str(sync, "lastError", NULL), TONE_RED);
    show_line(cli, "Not listed", js_get_str(sync, "deliveriesError", NULL), TONE_YELLOW);
}

static void deliveries_table(struct cli *cli, const struct cli_listing *listing)
{
    static const struct table_column columns[] = {
        {"RECEIVED", false, false}, {"EVENT", false, false}, {"NUMBER", true, false},
        {"BY", false, false},       {"VIA", false, false},   {"STATUS", false, false},
        {"DELIVERY", false, false}, {"DETAIL", false, true},
    };
    struct table table;
    table_init(&table, &cli->term, columns, COUNT_OF(columns), &cli->arena);
    for (size_t i = 0; i < listing->count; i++) {
        const struct js *item = listing->items[i];
        const char *status = js_get_str(item, "status", "");
        table_cell(&table, time_of(cli, item, "receivedAt"), TONE_DIM);
        table_cell(&table, js_get_str(item, "event", ""), TONE_BOLD);
        table_cell(&table, number_of(cli, item, "number"), TONE_PLAIN);
        table_cell(&table, js_get_str(item, "actor", "-"), TONE_PLAIN);
        table_cell(&table, js_get_str(item, "via", ""), TONE_PLAIN);
        table_cell(&table, status, tone_of_status(status));
        table_cell(&table, js_get_str(item, "deliveryId", ""), TONE_DIM);
        table_cell(&table, js_get_str(item, "detail", ""), TONE_PLAIN);
    }
    table_print(&table, stdout);
}

/* Of one repository: how, and what came.  With --json its deliveries. */
static int run_one(struct cli *cli, const char *repository)
{
    struct err err = {0};
    CLEANUP(cli_answer_release) struct cli_answer answer = {0};
    CLEANUP(buf_release) struct buf path;
    buf_init(&path, PATH_BYTES_MAX);
    const struct http_call call = {.method = "GET",
                                   .path = cli_path(cli, "/v1/repositories/", repository, "")};
    enum rc rc = cli_call(cli, &call, &answer, &err);
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    const struct js *sync = js_get(answer.tree, "sync");
    if (!cli->json && js_type(sync) != JS_OBJECT) {
        (void)printf("The forge of %s is no server: nothing changes there but by drover.\n",
                     repository);
        return CLI_DONE;
    }
    if (!cli->json) {
        show_sync(cli, sync);
        (void)printf("\n");
    }
    buf_adds(&path, "/v1/webhooks/deliveries");
    url_add_query(&path, "repository", repository);
    if (args_has(&cli->args, "status"))
        url_add_query(&path, "status", args_text(&cli->args, "status", ""));
    if (args_has(&cli->args, "event"))
        url_add_query(&path, "event", args_text(&cli->args, "event", ""));
    return show_list(
        cli, &(struct show_list){buf_text(&path), "No deliveries have come.", deliveries_table});
}

static int run_webhooks(struct cli *cli)
{
    bool filtered = args_has(&cli->args, "status") || args_has(&cli->args, "event");
    if (cli->args.word_count > 0)
        return run_one(cli, args_word(&cli->args, 0));
    if (filtered)
        return cli_usage(cli, "--status and --event are for the deliveries of one repository");
    return show_list(cli, &(struct show_list){"/v1/webhooks/syncs",
                                              "No repository has a forge that is a server.",
                                              syncs_table});
}

static const struct arg_option options[] = {
    {"status", "STATUS", "only deliveries that are applied, ignored, invalid or lost", ARG_TEXT, 0,
     0, NULL},
    {"event", "EVENT", "only deliveries of this event, as issues.labeled", ARG_TEXT, 0, 0, NULL},
    CLI_LIMIT_OPTION,
    {0},
};

const struct cli_command cli_webhooks_commands[] = {
    {"webhooks", "how changes at forges are learnt, and the deliveries of a repository",
     "[REPO] [--status STATUS] [--event EVENT] [--limit N] [--json]", options,
     "drover webhooks acme/billing", "drover repo list", 0, 1, CLI_REMOTE | CLI_JSON | CLI_REFRESH,
     run_webhooks},
    {0},
};
