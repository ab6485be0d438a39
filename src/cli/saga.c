/*
 * saga.c - sagas: saga start, sagas, saga show, saga cancel.
 */
#include "base/buf.h"
#include "base/str.h"
#include "cli/client.h"
#include "cli/ids.h"
#include "cli/input.h"
#include "cli/show.h"
#include "cli/table.h"
#include "net/url.h"
#include <stdio.h>

enum { PATH_BYTES_MAX = 1024 };

/* ---- saga start ---- */

static int run_start(struct cli *cli)
{
    struct err err = {0};
    CLEANUP(js_freep) struct js *plan = NULL;
    CLEANUP(cli_answer_release) struct cli_answer answer = {0};
    enum rc rc = cli_read_document(args_word(&cli->args, 0), &plan, &err);
    if (rc == RC_OK) {
        const struct http_call call = {
            .method = "POST", .path = "/v1/sagas", .body = str_of(js_text(plan, &cli->arena))};
        rc = cli_call(cli, &call, &answer, &err);
    }
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    if (cli->json) {
        cli_print_json(&answer);
        return CLI_DONE;
    }
    const char *id = js_get_str(answer.tree, "id", "");
    (void)printf("Saga %s is %s.\n", id, js_get_str(answer.tree, "status", "?"));
    show_next(cli, "Look at it", "drover saga show %s", shell_quote(id, &cli->arena));
    return CLI_DONE;
}

/* ---- sagas ---- */

static void sagas_table(struct cli *cli, const struct cli_listing *listing)
{
    static const struct table_column columns[] = {
        {"ID", false, false},      {"STATUS", false, false}, {"NAME", false, false},
        {"STARTED", false, false}, {"ENDED", false, false},  {"ERROR", false, true},
    };
    struct table table;
    size_t len = id_short_len(listing->items, listing->count, "id");
    table_init(&table, &cli->term, columns, COUNT_OF(columns), &cli->arena);
    for (size_t i = 0; i < listing->count; i++) {
        const struct js *item = listing->items[i];
        const char *status = js_get_str(item, "status", "?");
        table_cell(&table, cli_id_shown(cli, item, "id", len), TONE_PLAIN);
        table_cell(&table, status, term_status_tone(status));
        table_cell(&table, js_get_str(item, "name", ""), TONE_BOLD);
        table_cell(&table, term_time(&cli->term, js_get_str(item, "createdAt", NULL), &cli->arena),
                   TONE_DIM);
        table_cell(&table, term_time(&cli->term, js_get_str(item, "endedAt", NULL), &cli->arena),
                   TONE_DIM);
        table_cell(&table, js_get_str(item, "errorMessage", ""), TONE_PLAIN);
    }
    table_print(&table, stdout);
}

static int run_sagas(struct cli *cli)
{
    CLEANUP(buf_release) struct buf path;
    buf_init(&path, PATH_BYTES_MAX);
    buf_adds(&path, "/v1/sagas");
    if (args_has(&cli->args, "status"))
        url_add_query(&path, "status", args_text(&cli->args, "status", ""));
    if (args_has(&cli->args, "name"))
        url_add_query(&path, "name", args_text(&cli->args, "name", ""));
    return show_list(cli, &(struct show_list){buf_text(&path), "No sagas.", sagas_table});
}

/* ---- saga show, saga cancel ---- */

static void history_table(struct cli *cli, const struct js *history)
{
    static const struct table_column columns[] = {
        {"NO", true, false},      {"STEP", false, false},  {"PHASE", false, false},
        {"STATUS", false, false}, {"ENDED", false, false}, {"JOB", false, false},
        {"OUTCOME", false, true},
    };
    struct table table;
    table_init(&table, &cli->term, columns, COUNT_OF(columns), &cli->arena);
    for (size_t i = 0; i < js_count(history); i++) {
        const struct js *item = js_at(history, i);
        const struct js *error = js_get(item, "error"), *result = js_get(item, "result");
        const char *status = js_get_str(item, "status", "?"), *outcome = "";
        if (js_type(error) == JS_OBJECT)
            outcome = arena_printf(&cli->arena, "%s: %s", js_get_str(error, "code", ""),
                                   js_get_str(error, "message", ""));
        else if (js_type(result) != JS_NULL)
            outcome = js_text(result, &cli->arena);
        table_cell(&table, arena_printf(&cli->arena, "%lld", (long long)js_get_int(item, "no", 0)),
                   TONE_DIM);
        table_cell(&table, js_get_str(item, "step", ""), TONE_BOLD);
        table_cell(&table, js_get_str(item, "phase", ""), TONE_PLAIN);
        table_cell(&table, status, term_status_tone(status));
        table_cell(&table, term_time(&cli->term, js_get_str(item, "endedAt", NULL), &cli->arena),
                   TONE_DIM);
        table_cell(&table, js_get_str(item, "jobId", ""), TONE_DIM);
        table_cell(&table, outcome, TONE_PLAIN);
    }
    table_print(&table, stdout);
}

static void print_saga(struct cli *cli, const struct id *id, const struct js *saga)
{
    show_line(cli, "Saga", id->text, TONE_PLAIN);
    show_member(cli, "Name", saga, "name");
    show_status(cli, saga);
    show_error(cli, saga);
    show_member(cli, "Run", saga, "runId");
    show_time(cli, "Started", saga, "createdAt");
    show_time(cli, "Ended", saga, "endedAt");
    (void)printf("\n");
    history_table(cli, js_get(saga, "history"));
    if (text_same(js_get_str(saga, "status", NULL), "stuck"))
        show_next(cli, "Once the cause is mended", "drover dlq replay %s",
                  shell_quote(js_get_str(saga, "jobId", ""), &cli->arena));
}

static int run_show(struct cli *cli)
{
    return show_one(cli, &(struct show_one){cli_resolve_saga, "/v1/sagas/", "", print_saga});
}

static int run_cancel(struct cli *cli)
{
    struct err err = {0};
    struct id id;
    CLEANUP(cli_answer_release) struct cli_answer answer = {0};
    enum rc rc = cli_resolve_saga(cli, args_word(&cli->args, 0), &id, &err);
    if (rc == RC_OK) {
        const struct http_call call = {.method = "POST",
                                       .path = cli_path(cli, "/v1/sagas/", id.text, "/cancel"),
                                       .body = cli_reason_body(cli)};
        rc = cli_call(cli, &call, &answer, &err);
    }
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    if (cli->json)
        cli_print_json(&answer);
    else
        (void)printf("Saga %s is %s.\n", id.text, js_get_str(answer.tree, "status", "?"));
    return CLI_DONE;
}

static const char *const statuses[] = {"running",     "compensating", "completed",
                                       "compensated", "stuck",        NULL};
static const struct arg_option sagas_options[] = {
    {"status", "STATUS", "only those", ARG_CHOICE, 0, 0, statuses},
    {"name", "NAME", "only those", ARG_TEXT, 0, 0, NULL},
    CLI_LIMIT_OPTION,
    {0},
};
static const struct arg_option cancel_options[] = {
    {"reason", "TEXT", "why, for the record", ARG_TEXT, 0, 0, NULL},
    {0},
};

const struct cli_command cli_saga_commands[] = {
    {"saga start", "start a saga: steps with compensations",
     "FILE   (YAML or JSON: {name, dedupKey?, steps: [...]}; - is stdin)", NULL,
     "drover saga start purchase.yaml", NULL, 1, 1, CLI_REMOTE | CLI_JSON, run_start},
    {"sagas", "list sagas", "[--status STATUS] [--name NAME] [--limit N] [--json]", sagas_options,
     "drover sagas --status stuck", NULL, 0, 0, CLI_REMOTE | CLI_JSON, run_sagas},
    {"saga show", "show a saga and its history", "ID   (or latest)", NULL,
     "drover saga show latest", "drover sagas", 1, 1, CLI_REMOTE | CLI_JSON, run_show},
    {"saga cancel", "stop a saga and undo its steps", "ID [--reason TEXT]", cancel_options,
     "drover saga cancel latest --reason \"wrong vendor\"", "drover sagas", 1, 1,
     CLI_REMOTE | CLI_JSON, run_cancel},
    {0},
};
