/*
 * steer.c - people and a run that works: say, messages, pause, resume.
 */
#include "base/str.h"
#include "cli/client.h"
#include "cli/ids.h"
#include "cli/show.h"
#include "cli/table.h"
#include <stdio.h>

/* ---- say ---- */

/* What becomes of it, by the state of the run. */
static const char *prospect(const struct js *answer)
{
    const char *status = js_get_str(answer, "status", "");
    if (js_get_bool(answer, "working", false))
        return "its agent works, and gets it in its next turn or its next attempt";
    if (text_same(status, "awaiting_approval"))
        return "it waits for a person; its agent reads it if it works again";
    return "its agent reads it when it starts";
}

static void print_said(const struct js *answer)
{
    (void)printf("Message %lld to run %s (%s): %s.\n", (long long)js_get_int(answer, "seq", 0),
                 js_get_str(answer, "runId", "?"), js_get_str(answer, "status", "?"),
                 prospect(answer));
}

static int run_say(struct cli *cli)
{
    struct err err = {0};
    struct id id;
    CLEANUP(cli_answer_release) struct cli_answer answer = {0};
    enum rc rc = cli_resolve_run(cli, args_word(&cli->args, 0), &id, &err);
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    const struct cli_text_post post = {
        .path = cli_path(cli, "/v1/runs/", id.text, "/messages"), .key = "text", .first = 1};
    rc = cli_post_text(cli, &post, &answer, &err);
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    if (cli->json)
        cli_print_json(&answer);
    else
        print_said(answer.tree);
    return CLI_DONE;
}

/* ---- messages ---- */

static void messages_table(struct cli *cli, const struct cli_listing *listing)
{
    static const struct table_column columns[] = {
        {"NO", true, false},    {"SENT", false, false}, {"READ", false, false},
        {"FROM", false, false}, {"TEXT", false, true},
    };
    struct table table;
    table_init(&table, &cli->term, columns, COUNT_OF(columns), &cli->arena);
    for (size_t i = 0; i < listing->count; i++) {
        const struct js *item = listing->items[i];
        const char *read = js_get_str(item, "deliveredAt", NULL);
        table_cell(&table, js_text(js_get(item, "seq"), &cli->arena), TONE_PLAIN);
        table_cell(&table, term_time(&cli->term, js_get_str(item, "sentAt", NULL), &cli->arena),
                   TONE_DIM);
        table_cell(&table, read != NULL ? term_time(&cli->term, read, &cli->arena) : "unread",
                   TONE_DIM);
        table_cell(&table, js_get_str(item, "author", ""), TONE_PLAIN);
        table_cell(&table, js_get_str(item, "text", ""), TONE_PLAIN);
    }
    table_print(&table, stdout);
}

static int run_messages(struct cli *cli)
{
    struct err err = {0};
    struct id id;
    enum rc rc = cli_resolve_run(cli, args_word(&cli->args, 0), &id, &err);
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    const char *path = cli_path(cli, "/v1/runs/", id.text, "/messages");
    return show_list(cli,
                     &(struct show_list){path, "Nothing was said to its agent.", messages_table});
}

/* ---- pause and resume ---- */

static int steer(struct cli *cli, const char *verb, const char *done)
{
    struct err err = {0};
    struct id id;
    CLEANUP(cli_answer_release) struct cli_answer answer = {0};
    enum rc rc = cli_resolve_run(cli, args_word(&cli->args, 0), &id, &err);
    if (rc == RC_OK) {
        const struct http_call call = {.method = "POST",
                                       .path = cli_path(cli, "/v1/runs/", id.text, verb),
                                       .body = cli_reason_body(cli)};
        rc = cli_call(cli, &call, &answer, &err);
    }
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    if (cli->json)
        cli_print_json(&answer);
    else
        (void)printf("Run %s (%s) %s.\n", id.text, js_get_str(answer.tree, "status", "?"), done);
    return CLI_DONE;
}

static int run_pause(struct cli *cli)
{
    return steer(cli, "/pause", "is paused");
}

static int run_resume(struct cli *cli)
{
    return steer(cli, "/resume", "continues");
}

static const struct arg_option list_options[] = {CLI_LIMIT_OPTION, {0}};
static const struct arg_option reason_options[] = {
    {"reason", "TEXT", "why, for the record", ARG_TEXT, 0, 0, NULL},
    {0},
};

const struct cli_command cli_steer_commands[] = {
    {"say", "tell the agent of a run something", "RUN TEXT...   (- reads standard input)", NULL,
     "drover say latest \"keep the old API\"", "drover runs", 2, SIZE_MAX, CLI_REMOTE | CLI_JSON,
     run_say},
    {"messages", "list what was said to the agent of a run", "RUN [--limit N] [--json]",
     list_options, "drover messages latest", "drover runs", 1, 1, CLI_REMOTE | CLI_JSON,
     run_messages},
    {"pause", "stop a run until it is resumed; its clocks stand still", "RUN [--reason TEXT]",
     reason_options, "drover pause latest", "drover runs", 1, 1, CLI_REMOTE | CLI_JSON, run_pause},
    {"resume", "let a paused run go on", "RUN [--reason TEXT]", reason_options,
     "drover resume latest", "drover runs", 1, 1, CLI_REMOTE | CLI_JSON, run_resume},
    {0},
};
