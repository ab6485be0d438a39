/*
 * cli_payload.h - what a command sends along: given as a word, in a file, or on standard input.
 *
 *     TEXT     JSON as it is; what is no JSON is sent as a text
 *     @FILE    the same from a file
 *     -        the same from standard input
 */
#ifndef EDGE_CLI_PAYLOAD_H
#define EDGE_CLI_PAYLOAD_H
#include "base/buf.h"
#include "edge/cli_command.h"

enum { CLI_PAYLOAD_MAX = 256 * 1024 };

/* All of standard input, without blanks at its end; up to what the buffer may hold. */
MUST_USE enum rc cli_read_stdin(struct buf *into, struct err *err);
/* *ret_json is JSON, in the command's arena; of no word at all it is null. */
MUST_USE enum rc cli_payload(struct cli *cli, const char *word, struct str *ret_json,
                             struct err *err);
#endif
