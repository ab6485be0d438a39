/*
 * mcp_parts.h - what the files of mcp.h share; for no file outside of this room.
 */
#ifndef API_MCP_MCP_PARTS_H
#define API_MCP_MCP_PARTS_H
#include "api/mcp/mcp.h"
#include "api/mcp/rpc.h"

struct fixtures;
struct prompts;
struct sessions;
struct tools;

struct mcp {
    struct api *api;
    bool closed;
    struct rpc_list rpcs;
    struct event *tick; /* At rest when there is nothing to do: see mcp_need_tick. */
    struct tools *tools;
    struct prompts *prompts;
    struct sessions *sessions;
    struct fixtures *fixtures; /* NULL: they are not offered. */
};

struct rpc_list *mcp_rpcs(struct mcp *mcp);
struct str mcp_server_info(void); /* A JSON object. */
/* Once a second from now on, as long as something waits for time to pass. */
void mcp_need_tick(struct mcp *mcp);

/* For lists of one page.  false: the message has a cursor, and is answered. */
bool mcp_no_cursor(struct rpc *rpc);
/* The problem of a route as an error of the protocol. */
void mcp_fail_problem(struct rpc *rpc, const struct http_request *inner);
#endif
