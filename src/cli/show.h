/*
 * show.h - what read commands print: one thing in lines of label and value, or a listing.
 */
#ifndef CLI_SHOW_H
#define CLI_SHOW_H
#include "base/id.h"
#include "base/js.h"
#include "cli/client.h"
#include "cli/command.h"

/* The document that the first word names: as received with --json, else by `print`. */
struct show_one {
    enum rc (*resolve)(struct cli *cli, const char *word, struct id *ret_id, struct err *err);
    const char *prefix, *suffix; /* Of its path, round the id. */
    void (*print)(struct cli *cli, const struct id *id, const struct js *document);
};
int show_one(struct cli *cli, const struct show_one *how);

/* The document that a call answers with, in the same way. */
int show_call(struct cli *cli, const struct http_call *call,
              void (*print)(struct cli *cli, const struct js *document));

/* A listing: as received with --json, else a table, or a sentence when it is empty. */
struct show_list {
    const char *path;
    const char *empty;
    void (*print)(struct cli *cli, const struct cli_listing *listing);
};
int show_list(struct cli *cli, const struct show_list *how);

/* "Label       value", made safe; nothing at all when the value is NULL or "". */
void show_line(const struct cli *cli, const char *label, const char *value, enum tone tone);
/* A member of a document: texts and numbers as they are, arrays as a list. */
void show_member(struct cli *cli, const char *label, const struct js *object, const char *key);
void show_status(struct cli *cli, const struct js *object);
void show_time(struct cli *cli, const char *label, const struct js *object, const char *key);
/* How long it waits since requestedAt, or waited until the time in `until`. */
const char *show_age(struct cli *cli, const struct js *object, const char *until);
/* errorCode and errorMessage. */
void show_error(struct cli *cli, const struct js *object);
/* "label: command" on a line of its own, made safe for a terminal.  A text from the server or the
   user must pass shell_quote before it becomes a word of the command. */
void show_next(const struct cli *cli, const char *label, const char *fmt, ...) PRINTF_LIKE(3, 4);
#endif
