/*
 * compute_input.h - the stdin of a command that is told things while it runs.
 *
 *     bytes of the owner --> pipe --> command
 *
 * The pipe is written as the command reads: one that does not read, that closes its stdin or that
 * ends cannot block us.  SIGPIPE is ignored by the whole program (main.c).  stdin is closed when
 * the owner says that all is told and the command has read it, so that it is known by then.
 */
#ifndef WORK_AGENT_COMPUTE_INPUT_H
#define WORK_AGENT_COMPUTE_INPUT_H
#include "base/buf.h"
#include <stdbool.h>
#include <stdint.h>

struct compute_input {
    struct buf *bytes; /* Not written yet; its owner adds to it.  NULL: there is no such stdin. */
    const bool *over;  /* No more is added. */
};

struct input {
    struct compute_input of;
    int fd;                    /* Our end of the pipe; -1: none, or closed. */
    bool taken;                /* The command has read all that it was told. */
    bool ended;                /* Closed because all was told and read. */
    int64_t look_us, pause_us; /* When to look next whether it has read; INT64_MAX: not now. */
};

/* fd: the non-blocking end that writes, owned from now on; or -1. */
void input_init(struct input *input, struct compute_input of, int fd);
void input_feed(struct input *input);
/* Looks whether the command has read all: also after it has ended. */
void input_look(struct input *input);
void input_close(struct input *input);
/* What to poll for. */
short input_events(const struct input *input);
#endif
