/*
 * memories.h - records of finished runs, and which of them the agent of a new run gets to read.
 *
 * A record is made of data that is in the store already: the task's first line, the outcome, the
 * checks that failed on the way, the agent's own summary of its work, the files.
 */
#ifndef CONTROL_RUN_MEMORIES_H
#define CONTROL_RUN_MEMORIES_H
#include "control/run/flow.h"

/* The run has ended: writes its record, and appends agent.memory.recorded. */
MUST_USE enum rc memories_record(struct context *ctx, struct flow *flow);

/*
 * "memory": [{runId, outcome, createdAt, text}], the best few for this task, the best first.  null
 * when the stored ones cannot be read: memory helps, but no run fails for lack of it.
 */
MUST_USE enum rc memories_write(struct context *ctx, const struct flow *flow, struct jw *jw);

struct cmd_memory_remove {
    struct command base;
    struct id memory_id;
};
struct cmd_memory_remove *cmd_memory_remove_new(void);
#endif
