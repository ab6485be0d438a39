/*
 * resources.h - what a client can read by a URI: each is a row that names a route of drover.
 *
 *     drover://queues                        drover://tasks/{taskId}
 *     drover://events/types                  drover://runs/{runId}/timeline
 *     drover://repositories                  drover://runs/{runId}
 *     drover://runs/{runId}/artifacts        drover://artifacts/{sha256}, ...
 *
 * The list has those without a variable first, then the timelines of the latest runs, page by page.
 * Changes of a task and of a run can be listened to (listen.h).
 */
#ifndef API_MCP_RESOURCES_H
#define API_MCP_RESOURCES_H
#include "api/mcp/rpc.h"
#include "core/mcp/uri.h"

/* Whose events say that a resource has changed. */
enum resource_of { RESOURCE_STILL, RESOURCE_OF_TASK, RESOURCE_OF_RUN };

struct resource_row {
    const char *uri; /* A template. */
    const char *name, *title, *description, *mime;
    const char *pattern; /* Of the route, a GET. */
    enum resource_of of; /* Its first variable is the id. */
};

/* The row of a URI, and its variables decoded into the arena.  NULL: there is none. */
const struct resource_row *resources_find(const char *uri, struct arena *arena,
                                          const char *vars[ROUTE_VARS_MAX]);
/* All of them; the end has no uri. */
const struct resource_row *resources_rows(void);

/* Methods. */
void resources_list(struct rpc *rpc);
void resources_templates(struct rpc *rpc);
void resources_read(struct rpc *rpc);

/* Fails a read: not found, or what the problem of the route says. */
void resources_not_found(struct rpc *rpc, const char *uri);
#endif
