/*
 * backup.c - drover backup: the server's database as a file.
 *
 * The file appears whole or not at all, and only its owner can read it: its content is as sensitive
 * as the server's data directory.
 */
#include "base/clock.h"
#include "base/fd.h"
#include "base/str.h"
#include "cli/client.h"
#include "cli/paths.h"
#include "cli/show.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The server sends nothing while it makes the copy. */
enum { IDLE_MS = 30 * 60 * 1000, SHOW_EVERY_MS = 200 };

struct download {
    struct cli *cli;
    int fd;
    int64_t bytes;
    bool shows; /* Progress: stderr is a terminal. */
    int64_t shown_us;
    enum rc rc; /* Of writing. */
    struct err *err;
};

static bool take_bytes(void *ctx, struct str bytes)
{
    struct download *download = ctx;
    download->rc = fd_write_all(download->fd, bytes.at, bytes.len, download->err);
    download->bytes += (int64_t)bytes.len;
    return download->rc == RC_OK;
}

static void show_progress(void *ctx)
{
    struct download *download = ctx;
    int64_t now_us = clock_mono_us();
    if (!download->shows || now_us - download->shown_us < SHOW_EVERY_MS * US_PER_MS)
        return;
    download->shown_us = now_us;
    CLEANUP(arena_release) struct arena arena = {0};
    if (download->bytes == 0)
        (void)fputs("\rThe server makes a copy ...", stderr);
    else
        (void)fprintf(stderr, "\r\033[K%s", term_bytes(&arena, download->bytes));
}

static enum rc download_to(struct download *download)
{
    struct cli *cli = download->cli;
    enum rc rc = cli_connect(cli, download->err);
    if (rc != RC_OK)
        return rc;
    const struct http_stream stream = {
        .path = "/v1/backup",
        .idle_timeout_ms = IDLE_MS,
        .on_bytes = take_bytes,
        .on_tick = show_progress,
        .ctx = download,
    };
    rc = http_client_stream(cli->client, &stream, download->err);
    if (download->shown_us > 0)
        (void)fputs("\r\033[K", stderr);
    return rc != RC_OK ? rc : download->rc;
}

static enum rc write_backup(struct cli *cli, const char *path, int64_t *ret_bytes, struct err *err)
{
    const char *part = arena_printf(&cli->arena, "%s.part", path);
    (void)unlink(part); /* Of an earlier one that was interrupted. */
    CLEANUP(fd_closep) int fd = open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return err_set(err, RC_IO, "IO_ERROR", "cannot write %s: %s", part, strerror(errno));
    struct download download = {
        .cli = cli, .fd = fd, .shows = isatty(STDERR_FILENO) == 1, .err = err};
    enum rc rc = download_to(&download);
    if (rc == RC_OK)
        rc = file_put_in_place(fd, part, path, err);
    if (rc != RC_OK)
        (void)unlink(part);
    else
        *ret_bytes = download.bytes;
    return rc;
}

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
    enum rc rc = RC_OK;
    if (file_exists(path) && !args_has(&cli->args, "force"))
        rc = err_set(&err, RC_CONFLICT, "FILE_EXISTS",
                     "%s is there already: name another file, or say --force", path);
    if (rc == RC_OK)
        rc = write_backup(cli, path, &bytes, &err);
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
