/*
 * cli.h - the command line: `drover COMMAND ...`.
 */
#ifndef CLI_CLI_H
#define CLI_CLI_H

/* Returns the exit status; command.h lists them. */
int cli_main(int argc, char **argv);
#endif
