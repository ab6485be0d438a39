/*
 * cmd_compact.c - drover compact: gives all free space of a SQLite database back at once, and lets
 * servers do so while they run from then on.
 *
 * Databases that drover makes now give space back by themselves (retention); one that was made by
 * an older version does so only after this.  The server must be stopped: the file is written anew.
 */
#include "base/fd.h"
#include "cli/client.h"
#include "cli/paths.h"
#include "store/store.h"
#include <stdio.h>
#include <string.h>

#define SQLITE_URL "sqlite:"

static int run_compact(struct cli *cli)
{
    struct err err = {0};
    struct compacted compacted = {0};
    const char *data = NULL, *url = args_text(&cli->args, "db", NULL);
    enum rc rc = RC_OK;
    if (url == NULL) {
        rc = cli_data_dir(args_text(&cli->args, "data", NULL), &cli->arena, &data, &err);
        if (rc == RC_OK)
            url = arena_printf(&cli->arena, SQLITE_URL "%s/drover.db", data);
    }
    if (rc == RC_OK && text_starts(url, SQLITE_URL) && !file_exists(url + strlen(SQLITE_URL)))
        rc = err_set(&err, RC_NOT_FOUND, "NO_DATABASE",
                     "there is no database %.300s: give the data directory of the server with "
                     "--data, or the database with --db",
                     url + strlen(SQLITE_URL));
    if (rc == RC_OK)
        rc = store_compact(url, &compacted, &err);
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    if (cli->json)
        (void)printf("{\"beforeBytes\":%lld,\"afterBytes\":%lld}\n",
                     (long long)compacted.before_bytes, (long long)compacted.after_bytes);
    else
        (void)printf("The database had %s and has %s now.\n",
                     term_bytes(&cli->arena, compacted.before_bytes),
                     term_bytes(&cli->arena, compacted.after_bytes));
    return CLI_DONE;
}

static const struct arg_option compact_options[] = {
    {"data", "DIR",
     "the data directory of the server (default: $DROVER_DATA, or where it keeps it)", ARG_TEXT, 0,
     0, NULL},
    {"db", "URL",
     "the database, as in drover serve --db (default: drover.db in the data directory)", ARG_TEXT,
     0, 0, NULL},
    {0},
};

const struct cli_command cli_compact_commands[] = {
    {"compact", "give the free space of a stopped server's SQLite database back",
     "[--data DIR] [--db URL] [--json]", compact_options, "drover compact", "drover doctor", 0, 0,
     CLI_JSON, run_compact},
    {0},
};
