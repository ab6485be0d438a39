/*
 * memories.h - what finished runs leave for later ones, and what a new one is told of it.
 *
 * A record is made of what the store has already: the task's first line, the outcome, the checks
 * that failed on the way, the agent's own summary of what it did in the end, the files.
 */
#ifndef CONTROL_MEMORIES_H
#define CONTROL_MEMORIES_H
#include "control/flow.h"

/* The run has come to its end: its record, and agent.memory.recorded. */
MUST_USE enum rc memories_record(struct cx *cx, struct flow *flow);

/*
 * "memory": [{runId, outcome, createdAt, text}], the best few for this task, the best first.  null
 * when those that are there cannot be read: memory is worth something, but no run fails for it.
 */
MUST_USE enum rc memories_write(struct cx *cx, const struct flow *flow, struct jw *jw);

struct cmd_memory_remove {
    struct command base;
    struct id memory_id;
};
struct cmd_memory_remove *cmd_memory_remove_new(void);
#endif
