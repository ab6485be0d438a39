/*
 * config.h - an effective configuration: each value with its origin.
 */
#ifndef CLI_CONFIG_H
#define CLI_CONFIG_H
#include "base/js.h"
#include "cli/command.h"

/* A table of `effective` and `origins` of a server's answer. */
void cli_show_config(struct cli *cli, const struct js *answer);
#endif
