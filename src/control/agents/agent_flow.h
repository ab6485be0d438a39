/*
 * agent_flow.h - an agent of the registry, as commands move it: its row, its timers, its events.
 *
 * Every move goes through core/agent/instance.c.  The row of an agent is locked while it is moved,
 * so that a claim and a kill of one agent come one after the other, on all lanes and nodes.
 */
#ifndef CONTROL_AGENTS_AGENT_FLOW_H
#define CONTROL_AGENTS_AGENT_FLOW_H
#include "control/commit/context.h"
#include "control/commit/event_body.h"
#include "store/agents.h"

#define TIMER_AGENT_BEAT   "agent_beat"   /* Of an agent: has it been heard of? */
#define TIMER_AGENT_SETTLE "agent_settle" /* Of one that was killed: its claims are settled. */

/* Claims of an agent that wait are looked at again under this name, which no queue can have. */
const char *agent_bell(const char *name, struct arena *arena);

/* RC_CONFLICT, AGENT_STATE: it cannot happen now.  The row is not saved. */
MUST_USE enum rc agent_move(struct context *ctx, struct agent_row *row, enum instance_event event);
MUST_USE enum rc agent_save(struct context *ctx, struct agent_row *row);

/* Begins the data of an event with the agent's id, name and persona. */
void agent_event_open(struct event_body *body, const struct agent_row *row);
MUST_USE enum rc agent_emit(struct context *ctx, const struct agent_row *row, const char *type,
                            struct event_body *body);

/* It has been heard of.  Writes one column while it is active, and moves it otherwise.
   RC_CONFLICT, AGENT_GONE: it was killed, or its process has ended. */
MUST_USE enum rc agent_heard(struct context *ctx, struct agent_row *row);
/* The same by its name; nothing happens for one that is not registered, or is gone. */
MUST_USE enum rc agent_heard_by_name(struct context *ctx, const char *name);
/* Of TIMER_AGENT_BEAT, for due.c: late, or heard of meanwhile. */
MUST_USE enum rc agent_beat_due(struct context *ctx, const struct id *agent_id);
/* Its timer, from what the row says. */
MUST_USE enum rc agent_watch(struct context *ctx, const struct agent_row *row);

/* Its own token is of no use any more. */
MUST_USE enum rc agent_revoke(struct context *ctx, struct agent_row *row);
#endif
