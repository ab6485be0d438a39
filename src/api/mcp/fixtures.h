/*
 * fixtures.h - what the conformance suite of the protocol asks a server for by name
 * (`drover serve --mcp-fixtures`): tools, resources, prompts and tasks that do nothing but show a
 * part of the protocol.
 *
 * They are described in schemas/mcp/fixtures.json, most of them with their answer.  Those that ask
 * the client, send notifications or make a task have a function in fixtures.c.  Nothing of drover
 * uses them.
 */
#ifndef API_MCP_FIXTURES_H
#define API_MCP_FIXTURES_H
#include "api/mcp/rpc.h"

enum fixture_list { FIXTURE_TOOLS, FIXTURE_RESOURCES, FIXTURE_TEMPLATES, FIXTURE_PROMPTS };

struct fixtures; /* Owned by its maker. */
MUST_USE enum rc fixtures_new(struct fixtures **ret_fixtures, struct err *err);
void fixtures_free(struct fixtures *fixtures); /* NULL is fine. */

/* The elements of a list. */
void fixtures_list(struct rpc *rpc, struct jw *jw, enum fixture_list list);
/* Each is false if nothing has this name; else the rpc is, or will be, answered. */
bool fixtures_call(struct rpc *rpc, const char *name);
bool fixtures_read(struct rpc *rpc, const char *uri);
bool fixtures_prompt(struct rpc *rpc, const char *name);
bool fixtures_task(struct rpc *rpc, const char *task_id);
/* Is it a prompt or template that arguments can be completed for? */
bool fixtures_ref(const struct rpc *rpc, const struct js *ref);
#endif
