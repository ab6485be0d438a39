/*
 * signals.h - signals of commands that run until a signal stops them: blocked in all threads, and
 * received one by one with cli_signals_wait.
 */
#ifndef CLI_SIGNALS_H
#define CLI_SIGNALS_H
#include <signal.h>
#include <stdint.h>

/* Blocks TERM, INT, and USR1, by which a thread of this process reports that it is done.  Call it
   before any thread is started. */
sigset_t cli_signals_block(void);
/* The next of them, or 0 after the time. */
int cli_signals_wait(const sigset_t *signals, int64_t ms);
#endif
