/*
 * backup.c - drover backup: the server's database as a file.
 *
 * The file appears whole or not at all, and only its owner can read it: its content is as sensitive
 * as the server's data directory.
 */
#include "base/fd.h"
#include "base/str.h"
#include "cli/client.h"
#include "cli/download.h"
#include "cli/paths.h"
#include "cli/show.h"
#include <stdio.h>

/* The directory of the server's artifacts; a placeholder if it is not on this machine. */
static const char *artifact_dir(struct cli *cli)
{
    const char *data = NULL;
    if (cli_data_dir(args_text(&cli->args, "data", NULL), &cli->arena, &data, NULL) == RC_OK) {
        const char *dir = arena_printf(&cli->arena, "%s/artifacts", data);
        if (file_exists(dir))
            return dir;
    }
    return "DATA/artifacts";
}

static int run_backup(struct cli *cli)
{
    struct err err = {0};
    const char *path = args_word(&cli->args, 0);
    int64_t bytes = 0;
    const struct cli_download what = {.path = "/v1/backup",
                                      .file = path,
                                      .doing = "The server makes a copy",
                                      .force = args_has(&cli->args, "force")};
    enum rc rc = cli_download(cli, &what, &bytes, &err);
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    (void)printf("The database is in %s (%s).\n", path, term_bytes(&cli->arena, bytes));
    (void)printf("Artifacts are files beside it: copy them too, now that it is done.\n");
    show_next(cli, "Copy them", "cp -a %s %s", shell_quote(artifact_dir(cli), &cli->arena),
              shell_quote(arena_printf(&cli->arena, "%s.artifacts", path), &cli->arena));
    return CLI_DONE;
}

static const struct arg_option backup_options[] = {
    {"force", NULL, "replace FILE if it is there", ARG_FLAG, 0, 0, NULL},
    {0},
};

const struct cli_command cli_backup_commands[] = {
    {"backup", "copy the server's database to a file, while it works", "FILE [--force]",
     backup_options, "drover backup drover-monday.db", NULL, 1, 1, CLI_REMOTE, run_backup},
    {0},
};
