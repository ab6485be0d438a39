/*
 * mcp.h - the Model Context Protocol over Streamable HTTP: POST, GET and DELETE /mcp.
 *
 * One endpoint serves two eras of the protocol (core/mcp/era.h): modern messages carry all that
 * they need, legacy clients open with `initialize` and may have a session (session.h).  A tool, a
 * resource and a task is a route of drover under another name (tools.h): the message becomes an
 * inner call of that route, with the identity of its client, and the answer of the route becomes
 * the result.  So roles, rates and limits are those of the routes.
 */
#ifndef API_MCP_MCP_H
#define API_MCP_MCP_H
#include "api/call.h"

struct mcp; /* Owned by its maker. */

struct mcp_options {
    bool fixtures; /* Offers what the conformance suite asks for by name: fixtures.h. */
};

/* RC_INVALID: a tool's row and its text do not agree. */
MUST_USE enum rc mcp_new(struct api *api, const struct mcp_options *options, struct mcp **ret_mcp,
                         struct err *err);
/* Ends what stays open: streams of notifications. */
void mcp_close(struct mcp *mcp);
void mcp_free(struct mcp *mcp); /* After http_free; NULL is fine. */

/* Routes. */
enum rc api_mcp_post(struct call *call, struct err *err);
enum rc api_mcp_get(struct call *call, struct err *err);
enum rc api_mcp_delete(struct call *call, struct err *err);
#endif
