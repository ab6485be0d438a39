/*
 * artifact.h - the bytes of an artifact, checked against their name.
 */
#ifndef CLI_ARTIFACT_H
#define CLI_ARTIFACT_H
#include "cli/command.h"

/* Writes them as they arrive; RC_CORRUPT when their hash is not the name. */
MUST_USE enum rc cli_artifact_write(struct cli *cli, const char *sha256, int fd, struct err *err);
#endif
