/*
 * mcp_parts.h - what the files of mcp.h share; for no file outside of this room.
 */
#ifndef API_MCP_MCP_PARTS_H
#define API_MCP_MCP_PARTS_H
#include "api/mcp/mcp.h"
#include "api/mcp/rpc.h"

struct tools;

struct mcp {
    struct api *api;
    bool fixtures;
    bool closed;
    struct rpc_list rpcs;
    struct event *tick; /* At rest when nothing wants progress. */
    struct tools *tools;
};

struct rpc_list *mcp_rpcs(struct mcp *mcp);
struct str mcp_server_info(void); /* A JSON object. */
#endif
