/*
 * input.h - documents that a command is given: files, standard input, words.
 */
#ifndef CLI_INPUT_H
#define CLI_INPUT_H
#include "base/buf.h"
#include "base/js.h"
#include "base/rc.h"
#include "base/str.h"

/* All of standard input, as far as it fits. */
MUST_USE enum rc cli_read_stdin(struct buf *into, struct err *err);
struct cli;
/* The words of the command line from the given one on, or all of standard input for "-"; "" when
   there are none. */
MUST_USE enum rc cli_read_text(const struct cli *cli, size_t first, struct buf *into,
                               struct err *err);
/* The bytes of a file, or of standard input for "-". */
MUST_USE enum rc cli_read_source(const char *path, struct buf *into, struct err *err);
/* A file, or standard input for "-": a mapping in YAML or JSON. */
MUST_USE enum rc cli_read_document(const char *path, struct js **ret_tree, struct err *err);
/* JSON text: the word itself, @FILE, or - for standard input. */
MUST_USE enum rc cli_read_payload(const char *word, struct js **ret_tree, struct err *err);
/* The same as text, in the arena; null without a word. */
MUST_USE enum rc cli_payload_text(const char *word, struct arena *arena, struct str *ret_json,
                                  struct err *err);
#endif
