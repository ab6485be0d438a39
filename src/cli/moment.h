/*
 * moment.h - options that are a time or an age: --since 15m, --until 2026-07-03T12:00:00Z.
 */
#ifndef CLI_MOMENT_H
#define CLI_MOMENT_H
#include "base/buf.h"
#include "cli/command.h"

/* Adds the option to a query under its own name, if it was given; false: it is no time, and the
   usage was printed. */
bool moment_add(struct cli *cli, struct buf *path, const char *option);
#endif
