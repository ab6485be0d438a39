/*
 * account.c - provider accounts that reached a usage limit: accounts, accounts resume.
 */
#include "base/str.h"
#include "cli/client.h"
#include "cli/show.h"
#include "cli/table.h"
#include <stdio.h>

static void accounts_table(struct cli *cli, const struct cli_listing *listing)
{
    static const struct table_column columns[] = {
        {"ACCOUNT", false, false},      {"STATUS", false, false}, {"HITS", true, false},
        {"PARKED UNTIL", false, false}, {"REASON", false, true},
    };
    struct table table;
    table_init(&table, &cli->term, columns, COUNT_OF(columns), &cli->arena);
    for (size_t i = 0; i < listing->count; i++) {
        const struct js *item = listing->items[i];
        const char *status = js_get_str(item, "status", "");
        table_cell(&table, js_get_str(item, "name", ""), TONE_BOLD);
        table_cell(&table, status, text_same(status, "parked") ? TONE_YELLOW : TONE_GREEN);
        table_cell(&table,
                   arena_printf(&cli->arena, "%lld", (long long)js_get_int(item, "hits", 0)),
                   TONE_PLAIN);
        table_cell(&table,
                   term_time(&cli->term, js_get_str(item, "parkedUntil", NULL), &cli->arena),
                   TONE_DIM);
        table_cell(&table, js_get_str(item, "reason", ""), TONE_PLAIN);
    }
    table_print(&table, stdout);
}

static int run_list(struct cli *cli)
{
    return show_list(cli, &(struct show_list){"/v1/accounts",
                                              "No accounts: no agent has met a usage limit yet.",
                                              accounts_table});
}

static int run_resume(struct cli *cli)
{
    struct err err = {0};
    CLEANUP(cli_answer_release) struct cli_answer answer = {0};
    struct http_call call = {
        .method = "POST",
        .path = cli_path(cli, "/v1/accounts/", args_word(&cli->args, 0), "/resume"),
        .body = cli_reason_body(cli),
    };
    enum rc rc = cli_call(cli, &call, &answer, &err);
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    if (cli->json) {
        cli_print_json(&answer);
        return CLI_DONE;
    }
    show_line(cli, "Account", js_get_str(answer.tree, "name", ""), TONE_BOLD);
    show_line(cli, "Status", js_get_str(answer.tree, "status", ""), TONE_GREEN);
    return CLI_DONE;
}

static const struct arg_option list_options[] = {
    CLI_LIMIT_OPTION,
    {0},
};
static const struct arg_option reason_options[] = {
    {"reason", "TEXT", "why; goes into the event", ARG_TEXT, 0, 0, NULL},
    {0},
};

const struct cli_command cli_account_commands[] = {
    {"accounts", "list provider accounts that met a usage limit", "[--limit N] [--json]",
     list_options, "drover accounts", NULL, 0, 0, CLI_REMOTE | CLI_JSON | CLI_REFRESH, run_list},
    {"accounts resume", "take a parked account into use again", "NAME [--reason TEXT]",
     reason_options, "drover accounts resume anthropic-main", "drover accounts", 1, 1,
     CLI_REMOTE | CLI_JSON, run_resume},
    {0},
};
