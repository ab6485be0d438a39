#include "cli/download.h"
#include "base/clock.h"
#include "base/fd.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The server sends nothing while it makes the file. */
enum { IDLE_MS = 30 * 60 * 1000, SHOW_EVERY_MS = 200 };

struct download {
    const struct cli_download *what;
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
        (void)fprintf(stderr, "\r%s ...", download->what->doing);
    else
        (void)fprintf(stderr, "\r\033[K%s", term_bytes(&arena, download->bytes));
}

static enum rc fetch(struct cli *cli, struct download *download)
{
    enum rc rc = cli_connect(cli, download->err);
    if (rc != RC_OK)
        return rc;
    download->shows = isatty(STDERR_FILENO) == 1;
    const struct http_stream stream = {
        .path = download->what->path,
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

static enum rc fetch_file(struct cli *cli, struct download *download)
{
    struct err *err = download->err;
    const char *file = download->what->file;
    const char *part = arena_printf(&cli->arena, "%s.part", file);
    if (file_exists(file) && !download->what->force)
        return err_set(err, RC_CONFLICT, "FILE_EXISTS",
                       "%s is there already: name another file, or say --force", file);
    (void)unlink(part); /* Of an earlier one that was interrupted. */
    CLEANUP(fd_closep) int fd = open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return err_set(err, RC_IO, "IO_ERROR", "cannot write %s: %s", part, strerror(errno));
    download->fd = fd;
    enum rc rc = fetch(cli, download);
    if (rc == RC_OK)
        rc = file_put_in_place(fd, part, file, err);
    if (rc != RC_OK)
        (void)unlink(part);
    return rc;
}

enum rc cli_download(struct cli *cli, const struct cli_download *what, int64_t *ret_bytes,
                     struct err *err)
{
    struct download download = {.what = what, .fd = STDOUT_FILENO, .err = err};
    enum rc rc = what->file == NULL ? fetch(cli, &download) : fetch_file(cli, &download);
    if (rc == RC_OK)
        *ret_bytes = download.bytes;
    return rc;
}
