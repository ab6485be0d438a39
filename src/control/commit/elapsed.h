/*
 * elapsed.h - how long ago something was, for events.
 */
#ifndef CONTROL_COMMIT_ELAPSED_H
#define CONTROL_COMMIT_ELAPSED_H
#include "control/commit/context.h"

/* Milliseconds; 0 when the clock of the node that wrote the time was ahead of this one. */
int64_t elapsed_ms(const struct context *ctx, int64_t since_us);
#endif
