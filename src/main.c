/*
 * main.c - wiring only: everything starts from the command line.
 */
#include "cli/cli.h"
#include "work/sandbox/inside.h"
#include <signal.h>

int main(int argc, char **argv)
{
    if (inside_asked(argc, argv))
        return inside_main(argc, argv);
    /* A peer that hangs up is an error code of the write, never the end of the process. */
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* A file that may not grow is an error like a full disk. */
    return cli_main(argc, argv);
}
