/*
 * cli_config.h - a configuration in force, value by value with where it comes from.
 */
#ifndef EDGE_CLI_CONFIG_H
#define EDGE_CLI_CONFIG_H
#include "base/js.h"
#include "edge/cli_command.h"

/* A table of `effective` and `origins` of a server's answer. */
void cli_show_config(struct cli *cli, const struct js *answer);
#endif
