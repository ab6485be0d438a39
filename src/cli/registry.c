/*
 * registry.c - schemas that clients have registered at the server: put, remove, and what is there.
 */
#include "cli/client.h"
#include "cli/input.h"
#include "cli/table.h"
#include <stdio.h>

enum { SCHEMA_BYTES_MAX = 1024 * 1024 };

static void print_put(const struct js *answer)
{
    const struct js *findings = js_path(answer, "changes.findings");
    (void)printf("%s is version %lld: %s\n", js_get_str(answer, "name", ""),
                 (long long)js_get_int(answer, "version", 0), js_get_str(answer, "dataschema", ""));
    for (size_t i = 0; i < js_count(findings); i++) {
        const struct js *each = js_at(findings, i);
        const char *path = js_get_str(each, "path", "");
        (void)printf("%-10s  %s%s%s\n",
                     js_get_bool(each, "breaking", false) ? "breaking" : "compatible", path,
                     path[0] != '\0' ? ": " : "", js_get_str(each, "message", ""));
    }
}

static int run_put(struct cli *cli)
{
    struct err err = {0};
    CLEANUP(buf_release) struct buf text;
    CLEANUP(cli_answer_release) struct cli_answer answer = {0};
    const char *query = arena_printf(&cli->arena, "?force=%s&sameMeaning=%s",
                                     args_has(&cli->args, "force") ? "true" : "false",
                                     args_has(&cli->args, "same-meaning") ? "true" : "false");
    buf_init(&text, SCHEMA_BYTES_MAX);
    enum rc rc = cli_read_source(args_word(&cli->args, 1), &text, &err);
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    const struct http_call call = {
        .method = "PUT",
        .path = cli_path(cli, "/v1/schemas/", args_word(&cli->args, 0), query),
        .body = buf_str(&text)};
    rc = cli_call(cli, &call, &answer, &err);
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    if (cli->json)
        cli_print_json(&answer);
    else
        print_put(answer.tree);
    return CLI_DONE;
}

static int run_remove(struct cli *cli)
{
    struct err err = {0};
    CLEANUP(cli_answer_release) struct cli_answer answer = {0};
    const char *name = args_word(&cli->args, 0);
    const struct http_call call = {.method = "DELETE",
                                   .path = cli_path(cli, "/v1/schemas/", name, "")};
    enum rc rc = cli_call(cli, &call, &answer, &err);
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    (void)printf("Schema %s is removed, with all its versions.\n", name);
    return CLI_DONE;
}

/* Those of drover are known without a server: drover schema list. */
static void print_registered(struct cli *cli, const struct js *items)
{
    static const struct table_column columns[] = {{"SCHEMA", false, true},
                                                  {"VERSION", true, false},
                                                  {"BY", false, false},
                                                  {"CREATED", false, false}};
    struct table table;
    size_t shown = 0;
    table_init(&table, &cli->term, columns, COUNT_OF(columns), &cli->arena);
    for (size_t i = 0; i < js_count(items); i++) {
        const struct js *item = js_at(items, i);
        if (!text_same(js_get_str(item, "origin", NULL), "client"))
            continue;
        shown++;
        table_cell(&table, js_get_str(item, "name", ""), TONE_BOLD);
        table_cell(&table,
                   arena_printf(&cli->arena, "%lld", (long long)js_get_int(item, "version", 0)),
                   TONE_PLAIN);
        table_cell(&table, js_get_str(item, "createdBy", ""), TONE_PLAIN);
        table_cell(&table, term_time(&cli->term, js_get_str(item, "createdAt", NULL), &cli->arena),
                   TONE_DIM);
    }
    if (shown > 0)
        table_print(&table, stdout);
    else
        (void)printf("No schemas are registered.\n");
}

static int run_registered(struct cli *cli)
{
    struct err err = {0};
    CLEANUP(cli_answer_release) struct cli_answer answer = {0};
    bool all = cli->args.word_count == 0;
    const char *path = all ? "/v1/schemas"
                           : cli_path(cli, "/v1/schemas/", args_word(&cli->args, 0), "");
    enum rc rc = cli_get(cli, path, &answer, &err);
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    if (all && !cli->json)
        print_registered(cli, js_get(answer.tree, "items"));
    else
        cli_print_json(&answer);
    return CLI_DONE;
}

static const struct arg_option put_options[] = {
    {"force", NULL, "also when consumers of the version before cannot read it", ARG_FLAG, 0, 0,
     NULL},
    {"same-meaning", NULL, "descriptions that changed mean the same as before", ARG_FLAG, 0, 0,
     NULL},
    {0},
};

const struct cli_command cli_registry_commands[] = {
    {"schema put", "register the schema of a type of event, or a new version of it",
     "NAME FILE [--force] [--same-meaning]   (-: stdin)", put_options,
     "drover schema put com.example.build.finished build.json", "drover schema registered", 2, 2,
     CLI_REMOTE | CLI_JSON, run_put},
    {"schema registered", "list the schemas that are registered, or print one", "[NAME[:VERSION]]",
     NULL, "drover schema registered com.example.build.finished:2", NULL, 0, 1,
     CLI_REMOTE | CLI_JSON, run_registered},
    {"schema remove", "remove a registered schema with all its versions", "NAME", NULL,
     "drover schema remove com.example.build.finished", "drover schema registered", 1, 1,
     CLI_REMOTE, run_remove},
    {0},
};
