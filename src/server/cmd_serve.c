/*
 * cmd_serve.c - `drover serve`: options from defaults, environment, file and flags, in that
 * order of growing precedence; the rest is server/server.h.
 */
#include "base/str.h"
#include "cli/command.h"
#include "cli/paths.h"
#include "server/server.h"
#include "server/server_config.h"
#include <assert.h>

static const char *const level_names[] = {"debug", "info", "warn", "error", "fatal", NULL};
static const char *const format_names[] = {"json", "human", NULL};
static const char *const sandbox_names[] = {"bubblewrap", "none", NULL};

static void put_flags(const struct args *args, struct server_options *options)
{
    const char *level = args_text(args, "log-level", NULL);
    const char *format = args_text(args, "log-format", NULL);
    options->data_dir = args_text(args, "data", options->data_dir);
    options->listen = args_text(args, "listen", options->listen);
    options->db = args_text(args, "db", options->db);
    if (args_has(args, "allow-remote"))
        options->allow_remote = true;
    options->mcp_fixtures = args_has(args, "mcp-fixtures");
    const char *sandbox = args_text(args, "sandbox", NULL);
    if (sandbox != NULL)
        options->sandbox_none = text_same(sandbox, "none");
    bool known = level == NULL || log_level_parse(level, &options->log_level);
    assert(known); /* level_names lists them all. */
    (void)known;
    if (format != NULL)
        options->log_format = text_same(format, "json") ? LOG_FORMAT_JSON : LOG_FORMAT_HUMAN;
}

static int run_serve(struct cli *cli)
{
    struct err err = {0};
    struct server_options options = server_options_default();
    const char *file = args_text(&cli->args, "config", NULL);
    enum rc rc = cli_data_dir(NULL, &cli->arena, &options.data_dir, &err);
    if (rc == RC_NOT_FOUND && (file != NULL || args_has(&cli->args, "data")))
        rc = RC_OK; /* The file or the flag names it. */
    if (rc == RC_OK && file != NULL)
        rc = server_config_read(file, &cli->arena, &options, &err);
    options.config = file;
    put_flags(&cli->args, &options);
    const char *workers = args_text(&cli->args, "workers", NULL);
    if (rc == RC_OK && workers != NULL)
        rc = workers_parse(workers, &options.workers, &err);
    if (rc == RC_OK)
        rc = server_options_check(&options, &err);
    if (rc != RC_OK) {
        (void)cli_fail(cli, rc, &err);
        return CLI_USAGE; /* Any error here is in the command line or the file. */
    }
    rc = server_run(&options, &err);
    return rc == RC_OK ? CLI_DONE : cli_fail(cli, rc, &err);
}

static const struct arg_option serve_options[] = {
    {"config", "FILE", "read settings from this YAML file; flags weigh more", ARG_TEXT, 0, 0, NULL},
    {"data", "DIR", "keep everything here (default: $DROVER_DATA, or ~/.local/state/drover)",
     ARG_TEXT, 0, 0, NULL},
    {"listen", "HOST:PORT", "default 127.0.0.1:8717; port 0 takes a free one", ARG_TEXT, 0, 0,
     NULL},
    {"db", "URL", "sqlite:PATH or postgres://... (default: sqlite:DIR/drover.db)", ARG_TEXT, 0, 0,
     NULL},
    {"workers", "N|MIN-MAX", "agents at the same time in this process, or bounds; 0: no workers",
     ARG_TEXT, 0, 0, NULL},
    {"allow-remote", NULL, "allow an address that other machines can reach", ARG_FLAG, 0, 0, NULL},
    {"mcp-fixtures", NULL, "offer the tools of the MCP conformance suite beside drover's own",
     ARG_FLAG, 0, 0, NULL},
    {"sandbox", "KIND",
     "bubblewrap (default), or none: agents and checks run unconfined, as drover's user",
     ARG_CHOICE, 0, 0, sandbox_names},
    {"log-level", "LEVEL", "debug, info, warn, error or fatal", ARG_CHOICE, 0, 0, level_names},
    {"log-format", "FORMAT", "json or human (default: human on a terminal)", ARG_CHOICE, 0, 0,
     format_names},
    {0},
};

enum rc cli_read_defaults(const char *path, struct arena *arena, struct str *ret_defaults,
                          struct err *err)
{
    struct server_options options = server_options_default();
    enum rc rc = server_config_read(path, arena, &options, err);
    *ret_defaults = options.defaults;
    return rc;
}

const struct cli_command cli_serve_commands[] = {
    {"serve", "run the server, with workers in the same process",
     "[--config FILE] [--data DIR] [--listen HOST:PORT] [--db URL] [--workers N|MIN-MAX]\n"
     "                    [--allow-remote] [--mcp-fixtures] [--sandbox KIND]\n"
     "                    [--log-level LEVEL] [--log-format FORMAT]",
     serve_options, "drover serve --data /srv/drover --workers 8", NULL, 0, 0, 0, run_serve},
    {0},
};
