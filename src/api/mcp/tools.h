/*
 * tools.h - the tools: each is a row that names a route of drover, and a text that describes it.
 *
 *   row   (tools.c)                   name, route, which arguments go into the path or a header
 *   text  (schemas/mcp/tools.json)    title, description, inputSchema, outputSchema, annotations
 *
 * All other arguments become parameters of the query for GET, and members of the body for the
 * rest.  The answer of the route is the structured content of the result, and its text too; a
 * problem is a result with isError, so that a model can read it and do better.
 */
#ifndef API_MCP_TOOLS_H
#define API_MCP_TOOLS_H
#include "api/mcp/rpc.h"
#include "core/config/schema.h"

struct tool;
/* Runs before the route is asked.  false: the rpc is, or will be, answered. */
typedef bool tool_before(struct rpc *rpc, const struct tool *tool, const struct js *arguments);
/* Runs on the answer of the route, which was a success; the message is still there.  false: as
   before. */
typedef bool tool_after(struct rpc *rpc, const struct http_request *inner);

struct tool_row {
    const char *name;
    const char *pattern;
    const char *path[ROUTE_VARS_MAX]; /* Arguments that are variables of the pattern. */
    const char *key;                  /* The argument that is sent as Idempotency-Key; or NULL */
    const char *waits;                /* May wait: the text of its progress; else NULL */
    tool_before *before;              /* Or NULL */
    tool_after *after;                /* Or NULL */
    enum http_method method;
    bool makes_task; /* Its answer has a taskId, which may be returned as a task of the protocol. */
};

struct tool {
    const struct tool_row *row;
    const struct route *route;
    struct schema input;
    struct str listed; /* As tools/list shows it. */
};

struct tools; /* Owned by its maker. */
/* RC_INVALID: a row has no route or no text, or a text has no row. */
MUST_USE enum rc tools_new(struct tools **ret_tools, struct err *err);
void tools_free(struct tools *tools); /* NULL is fine. */
const struct tool *tools_find(const struct tools *tools, const char *name);

/* Methods. */
void tools_list(struct rpc *rpc);
void tools_call(struct rpc *rpc);
#endif
