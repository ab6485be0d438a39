/*
 * sandbox_start.h - chooses a worker's sandbox when it starts, and logs what it does not do.
 */
#ifndef WORK_SANDBOX_SANDBOX_START_H
#define WORK_SANDBOX_SANDBOX_START_H
#include "work/sandbox/sandbox.h"

/* required: SANDBOX_UNAVAILABLE is an error; else it is logged, and each command fails with it. */
MUST_USE enum rc sandbox_start(struct sandbox *sandbox, const struct sandbox_options *options,
                               bool required, struct err *err);
#endif
