/*
 * artifact.c - the artifacts of a run, and the bytes of one.
 *
 * The bytes are checked against their name, which is their sha256.  A file appears whole or not
 * at all.
 */
#include "cli/artifact.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/str.h"
#include "cli/client.h"
#include "cli/ids.h"
#include "cli/show.h"
#include "cli/table.h"
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

enum { DOWNLOAD_IDLE_MS = 30 * 1000, FILE_MODE = 0666 };

/* ---- artifacts ---- */

static void artifacts_table(struct cli *cli, const struct id *id, const struct js *document)
{
    static const struct table_column columns[] = {
        {"KIND", false, false},
        {"NAME", false, false},
        {"SIZE", true, false},
        {"SHA256", false, false},
    };
    struct table table;
    const struct js *items = js_get(document, "items");
    if (js_count(items) == 0) {
        (void)printf("Run %s has left nothing yet.\n", id->text);
        return;
    }
    table_init(&table, &cli->term, columns, COUNT_OF(columns), &cli->arena);
    for (size_t i = 0; i < js_count(items); i++) {
        const struct js *item = js_at(items, i);
        table_cell(&table, js_get_str(item, "kind", ""), TONE_PLAIN);
        table_cell(&table, js_get_str(item, "name", ""), TONE_PLAIN);
        table_cell(&table, term_bytes(&cli->arena, js_get_int(item, "bytes", 0)), TONE_PLAIN);
        table_cell(&table, js_get_str(item, "sha256", ""), TONE_DIM);
    }
    table_print(&table, stdout);
    show_next(cli, "Show one", "drover artifact SHA256");
}

static int run_artifacts(struct cli *cli)
{
    return show_one(
        cli, &(struct show_one){cli_resolve_run, "/v1/runs/", "/artifacts", artifacts_table});
}

/* ---- artifact ---- */

struct download {
    int fd;
    struct sha256 *sha;
    enum rc rc; /* Of writing. */
    struct err *err;
};

static bool take_bytes(void *ctx, struct str bytes)
{
    struct download *download = ctx;
    sha256_add(download->sha, bytes.at, bytes.len);
    download->rc = fd_write_all(download->fd, bytes.at, bytes.len, download->err);
    return download->rc == RC_OK;
}

enum rc cli_artifact_write(struct cli *cli, const char *sha256, int fd, struct err *err)
{
    enum rc rc = cli_connect(cli, err);
    if (rc != RC_OK)
        return rc;
    char digest[SHA256_TEXT_BYTES];
    struct download download = {.fd = fd, .sha = sha256_begin(), .err = err};
    const struct http_stream stream = {
        .path = cli_path(cli, "/v1/artifacts/", sha256, ""),
        .idle_timeout_ms = DOWNLOAD_IDLE_MS,
        .on_bytes = take_bytes,
        .ctx = &download,
    };
    rc = http_client_stream(cli->client, &stream, err);
    sha256_end(download.sha, digest);
    if (rc != RC_OK || download.rc != RC_OK)
        return rc != RC_OK ? rc : download.rc;
    if (!text_same(digest, sha256))
        return err_set(err, RC_CORRUPT, "ARTIFACT_CORRUPT",
                       "the received bytes have the sha256 %s: they are not the artifact", digest);
    return RC_OK;
}

static enum rc download_file(struct cli *cli, const char *sha256, const char *path, struct err *err)
{
    const char *part = arena_printf(&cli->arena, "%s.part", path);
    CLEANUP(fd_closep) int fd = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, FILE_MODE);
    if (fd < 0)
        return err_set(err, RC_IO, "IO", "%s cannot be written", part);
    enum rc rc = cli_artifact_write(cli, sha256, fd, err);
    if (rc == RC_OK && rename(part, path) != 0)
        rc = err_set(err, RC_IO, "IO", "%s cannot be written", path);
    if (rc != RC_OK)
        (void)unlink(part);
    return rc;
}

static int run_artifact(struct cli *cli)
{
    struct err err = {0};
    const char *sha256 = args_word(&cli->args, 0);
    const char *output = args_text(&cli->args, "output", NULL);
    if (!sha256_text_valid(sha256))
        return cli_usage(cli, "\"%s\" is no sha256 of 64 hexadecimal digits", sha256);
    enum rc rc = output != NULL ? download_file(cli, sha256, output, &err)
                                : cli_artifact_write(cli, sha256, STDOUT_FILENO, &err);
    return rc == RC_OK ? CLI_DONE : cli_fail(cli, rc, &err);
}

static const struct arg_option artifact_options[] = {
    {"output", "FILE", "write it there instead of to standard output", ARG_TEXT, 0, 0, NULL},
    {0},
};

const struct cli_command cli_artifact_commands[] = {
    {"artifacts", "list what a run left: prompt, diff, logs, certificate", "RUN [--json]", NULL,
     "drover artifacts latest", "drover runs", 1, 1, CLI_REMOTE | CLI_JSON, run_artifacts},
    {"artifact", "print the bytes of an artifact", "SHA256 [--output FILE]", artifact_options,
     "drover artifact 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08 --output "
     "fix.diff",
     "drover artifacts RUN", 1, 1, CLI_REMOTE, run_artifact},
    {0},
};
