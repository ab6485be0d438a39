/*
 * registry.h - agents are registered, send heartbeats, and are deleted.
 */
#ifndef CONTROL_AGENTS_REGISTRY_H
#define CONTROL_AGENTS_REGISTRY_H
#include "control/agents/agent_flow.h"

enum { AGENTS_MAX = 2000 };

struct cmd_agent_register {
    struct command base;
    /* All but id, workspace, state and times.  The answer has these, too. */
    struct agent_row row;
    bool launch; /* Its process is started. */
};
struct cmd_agent_register *cmd_agent_register_new(void);

struct cmd_agent_beat {
    struct command base;
    struct agent_ref ref;
    const char *bound_agent; /* The only one that the token may act for; NULL: any. */
    struct agent_row row;    /* The answer. */
};
struct cmd_agent_beat *cmd_agent_beat_new(void);

/* RC_CONFLICT, AGENT_STATE: it has a process or work.  Kill it first. */
struct cmd_agent_remove {
    struct command base;
    struct agent_ref ref;
};
struct cmd_agent_remove *cmd_agent_remove_new(void);

/* May a command with this principal, whose token is bound to this agent (or NULL), act for the
   agent?  RC_DENIED, AGENT_NOT_ALLOWED. */
MUST_USE enum rc agent_allows(struct context *ctx, const struct command *command,
                              const char *bound_agent, const struct agent_row *row);
#endif
