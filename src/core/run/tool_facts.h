/*
 * tool_facts.h - what the name of a tool says: where the tool comes from, and what a call can do.
 *
 *     Bash                  core          Bash     medium
 *     mcp__github__search   mcp.github    search   high
 *     developer__shell      developer     shell    medium
 *
 * The risk is a hint for people and for filters; policy goes by names (policy.denyTools).
 */
#ifndef CORE_RUN_TOOL_FACTS_H
#define CORE_RUN_TOOL_FACTS_H
#include "base/arena.h"

#define TOOL_CALL_PREFIX "agent.tool.call." /* Of the types of their events. */

/* low: reads the tree, or keeps notes.  medium: edits and commands in the sandbox, and what is not
   known.  high: reaches something outside the tree: the web, servers of MCP. */
enum tool_risk { TOOL_RISK_LOW, TOOL_RISK_MEDIUM, TOOL_RISK_HIGH };
extern const char *const tool_risk_names[]; /* By enum tool_risk, NULL at the end. */

struct tool_facts {
    const char *space; /* "core": of the agent itself. */
    const char *name;  /* Within it. */
    enum tool_risk risk;
};
struct tool_facts tool_facts_of(const char *name, struct arena *arena);
#endif
