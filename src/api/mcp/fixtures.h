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
#include "api/mcp/mcp_parts.h"

struct fixtures; /* Owned by its maker. */
MUST_USE enum rc fixtures_new(struct fixtures **ret_fixtures, struct err *err);
void fixtures_free(struct fixtures *fixtures); /* NULL is fine. */

extern const struct mcp_extra fixtures_extra;
#endif
