/*
 * retention.h - what the server keeps past its time, for people.
 */
#ifndef CLI_RETENTION_H
#define CLI_RETENTION_H
#include "base/js.h"
#include "cli/command.h"

/* The members `kept` and `log` of GET /v1/retention; prints nothing where nothing waits. */
void cli_print_kept(struct cli *cli, const struct js *retention);
#endif
