/*
 * kill.h - an agent is killed: it gets no more work, and what it has is settled.
 *
 * In one commit: its state, its token, the job that runs its process, the event, and a bell that
 * ends its claims that wait, on all nodes.  What it has claimed is settled right after by a timer,
 * each piece by itself, so that a crash loses none and one that cannot be settled stops no other:
 *
 *   requeue   the work is offered again, as the same attempt
 *   fail      its run fails with agent_killed
 */
#ifndef CONTROL_AGENTS_KILL_H
#define CONTROL_AGENTS_KILL_H
#include "control/agents/agent_flow.h"

struct cmd_agent_kill { /* Twice is fine: the first one counts. */
    struct command base;
    struct agent_ref ref;
    enum kill_policy policy;
    const char *reason;   /* or NULL */
    struct agent_row row; /* The answer, */
    int64_t claims;       /* and how many pieces of work it had. */
};
struct cmd_agent_kill *cmd_agent_kill_new(void);

/* Of TIMER_AGENT_SETTLE, for due.c. */
MUST_USE enum rc agent_settle_due(struct context *ctx, const struct id *agent_id);
#endif
