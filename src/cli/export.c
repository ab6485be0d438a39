/*
 * export.c - drover export: all that is kept of a run, as one archive.
 */
#include "cli/client.h"
#include "cli/download.h"
#include "cli/ids.h"
#include "cli/show.h"
#include <stdio.h>
#include <string.h>

static int run_export(struct cli *cli)
{
    struct err err = {0};
    struct id id;
    int64_t bytes = 0;
    enum rc rc = cli_resolve_run(cli, args_word(&cli->args, 0), &id, &err);
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    const char *file = args_text(&cli->args, "output",
                                 arena_printf(&cli->arena, "run-%s.tar", id.text));
    const struct cli_download what = {
        .path = cli_path(cli, "/v1/runs/", id.text, "/export"),
        .file = strcmp(file, "-") == 0 ? NULL : file,
        .doing = "The server gathers the run",
        .force = args_has(&cli->args, "force"),
    };
    rc = cli_download(cli, &what, &bytes, &err);
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    if (what.file == NULL)
        return CLI_DONE;
    (void)printf("The run is in %s (%s).\n", file, term_bytes(&cli->arena, bytes));
    show_next(cli, "What it holds", "tar -xOf %s manifest.json", shell_quote(file, &cli->arena));
    return CLI_DONE;
}

static const struct arg_option export_options[] = {
    {"output", "FILE", "write it there; - is standard output (default: run-ID.tar)", ARG_TEXT, 0, 0,
     NULL},
    {"force", NULL, "replace the file if it is there", ARG_FLAG, 0, 0, NULL},
    {0},
};

const struct cli_command cli_export_commands[] = {
    {"export", "write all that is kept of a run to an archive", "RUN [--output FILE] [--force]",
     export_options, "drover export latest --output run.tar", "drover runs", 1, 1, CLI_REMOTE,
     run_export},
    {0},
};
