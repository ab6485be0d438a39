/*
 * outcome.h - the outcome of a job, by the end of the command that was run for it.
 *
 *     exit 0          completed, with what it printed
 *     exit 64, 65     failed for good: EX_USAGE, EX_DATAERR (sysexits.h)
 *     exit 77         failed for good, and a matter of policy: EX_NOPERM
 *     any other       failed, to be retried; the same when a signal ended it or it timed out
 *
 * What it printed is a result: JSON as it is when it is an object, any other JSON and all other
 * text as {"output": ...}.  Output beyond the limit is cut and marked by "truncated": true.  The
 * last lines of its stderr are the message of a failure.
 */
#ifndef WORK_STEPS_OUTCOME_H
#define WORK_STEPS_OUTCOME_H
#include "base/arena.h"
#include "base/buf.h"
#include "base/proc.h"
#include "work/job/report.h"

enum { OUTCOME_MESSAGE_MAX = 1200, OUTCOME_LINES_MAX = 8 };

/* What a command has left behind. */
struct command_end {
    struct proc_result how;
    struct str out, err;
};

/* STEP_COMPLETED with its result, or STEP_FAILED; texts live in the arena. */
struct step_report outcome_of(const struct command_end *end, struct arena *arena);
/* What it printed as any JSON value, at most max_bytes of it: for a reply. */
struct str outcome_output(struct str out, size_t max_bytes, struct arena *arena);
#endif
