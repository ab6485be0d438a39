/*
 * acp_tools.h - tool calls of an agent that speaks the Agent Client Protocol: updates, and requests
 * for permission.
 *
 *     tool_call, pending      announced: often without its arguments, which are still streamed
 *     tool_call_update        with them
 *     request_permission      perhaps; without the name of the tool
 *     tool_call_update        in_progress, completed, failed
 *
 * A call is reported as begun once its arguments are known or it runs.  One that policy.denyTools
 * names, by any of its names, stops the agent when it is announced or asked for: some agents run
 * harmless calls without asking.  Of the others a person decides, where that is configured, unless
 * policy.allowTools has one of its names; else they are allowed.
 */
#ifndef WORK_AGENT_ACP_TOOLS_H
#define WORK_AGENT_ACP_TOOLS_H
#include "work/agent/acp_asks.h"
#include "work/agent/adapter.h"

struct acp_tools {
    struct {
        char id[ADAPTER_ID_MAX], name[ADAPTER_ID_MAX], title[ADAPTER_BRIEF_MAX];
        bool begun;             /* It was reported. */
    } calls[ADAPTER_CALLS_MAX]; /* A ring: those that were announced last. */
    size_t next;
};

/* A tool_call or a tool_call_update. */
void acp_tool_update(struct transcript *transcript, struct acp_tools *tools,
                     const struct js *update);
/* A call that was denied does not begin, even if the agent reports how it ended. */
void acp_tool_denied(struct acp_tools *tools, const char *id);
/* Decides a request for permission: the id of the chosen option, or NULL: none can be chosen.
   What may be done is allowed this once, never for all times.  asks: people are asked; NULL: they
   are not.  *ret_waits: the request is one of them now, and not answered yet. */
const char *acp_tool_permit(struct transcript *transcript, struct acp_tools *tools,
                            const struct js *params, const char *rpc_id, struct acp_asks *asks,
                            bool *ret_waits);
#endif
