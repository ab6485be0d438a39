/*
 * cli_artifact.h - the bytes of an artifact, checked against their name.
 */
#ifndef EDGE_CLI_ARTIFACT_H
#define EDGE_CLI_ARTIFACT_H
#include "edge/cli_command.h"

/* Writes them as they come; RC_CORRUPT when they were not those of the name after all. */
MUST_USE enum rc cli_artifact_write(struct cli *cli, const char *sha256, int fd, struct err *err);
#endif
