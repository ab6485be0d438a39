/*
 * download.h - an answer of the server as a file.
 *
 * The file appears whole or not at all, and only its owner can read it.
 */
#ifndef CLI_DOWNLOAD_H
#define CLI_DOWNLOAD_H
#include "cli/client.h"

struct cli_download {
    const char *path;  /* Of the server. */
    const char *file;  /* NULL: standard output. */
    const char *doing; /* What the server does before it sends: for a terminal. */
    bool force;        /* Replaces a file that is there. */
};
MUST_USE enum rc cli_download(struct cli *cli, const struct cli_download *what, int64_t *ret_bytes,
                              struct err *err);
#endif
