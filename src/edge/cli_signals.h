/*
 * cli_signals.h - signals of commands that work until they are told to stop: blocked in all
 * threads, and taken one by one where it is convenient.
 */
#ifndef EDGE_CLI_SIGNALS_H
#define EDGE_CLI_SIGNALS_H
#include <signal.h>
#include <stdint.h>

/* Blocks TERM, INT, and USR1, by which a thread of our own tells that it is done.  Before any
   thread is started. */
sigset_t cli_signals_block(void);
/* The next of them, or 0 after the time. */
int cli_signals_wait(const sigset_t *signals, int64_t ms);
#endif
