/*
 * refresh.h - a view that is drawn again and again: --watch and --every SECONDS.
 *
 * A command that prints something and ends takes part by CLI_REFRESH among its flags (cli.c reads
 * the options and calls), or by a call of its own.
 *
 *     on a terminal    in place, under a line that names the command; as many lines as fit
 *     elsewhere        one block after the other, with an empty line between them
 *     with --json      one document a line
 */
#ifndef CLI_REFRESH_H
#define CLI_REFRESH_H
#include "base/buf.h"
#include "cli/command.h"

extern const struct arg_option cli_refresh_options[];

/*
 * Calls draw, which prints and returns its exit status, until Ctrl-C (CLI_INTERRUPTED), until
 * the reader of stdout has closed it (CLI_DONE), until it has set cli->over (cli->outcome), or
 * until a failure that is not temporary.  An
 * unreachable or busy server is temporary, once draw has succeeded.  What draw allocates from
 * cli->arena lives until it returns.
 */
int cli_refresh(struct cli *cli, int (*draw)(struct cli *cli));

/* One screen: the head, then as many lines of the body as fit below it, and how many do not. */
struct refresh_screen {
    size_t rows;
    const char *head; /* One line. */
    const char *body;
};
/* Written from the top left over the previous screen. */
void refresh_paint(const struct refresh_screen *screen, struct buf *to);
#endif
