/*
 * cli.h - the command line: `drover COMMAND ...`.
 */
#ifndef EDGE_CLI_H
#define EDGE_CLI_H

/* Returns the exit status; cli_command.h lists them. */
int cli_main(int argc, char **argv);
#endif
