/*
 * prompts.h - prompts that people choose in a client, and completion of their arguments and of the
 * variables of resources.
 *
 * The texts are in schemas/mcp/prompts.json: {{name}} is the value of an argument, or what stands
 * behind a bar when it is not given: {{repository|any repository}}.
 */
#ifndef API_MCP_PROMPTS_H
#define API_MCP_PROMPTS_H
#include "api/mcp/rpc.h"

struct prompts; /* Owned by its maker. */
/* RC_MALFORMED: the text is not JSON. */
MUST_USE enum rc prompts_new(struct prompts **ret_prompts, struct err *err);
void prompts_free(struct prompts *prompts); /* NULL is fine. */

/* Methods. */
void prompts_list(struct rpc *rpc);
void prompts_get(struct rpc *rpc);
void prompts_complete(struct rpc *rpc);
#endif
