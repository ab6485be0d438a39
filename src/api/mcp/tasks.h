/*
 * tasks.h - the tasks extension (io.modelcontextprotocol/tasks): a task of the protocol is a task
 * of drover, under its own id.
 *
 *   drover                                        protocol
 *   completed                                     completed, with the result of the tool
 *   failed, timed_out                             completed, and its result has isError
 *   cancelled                                     cancelled
 *   its run waits for a person                    input_required, if the client can ask one
 *   all others                                    working
 *
 * What a run waits for is an approval or a question.  Each is one input request, whose key is
 * approval-ID or question-ID: an id is never used twice.  So an answer in tasks/update is a call of
 * the route that decides the approval, or answers the question, with the rights of the client.
 */
#ifndef API_MCP_TASKS_H
#define API_MCP_TASKS_H
#include "api/mcp/rpc.h"

/* Methods. */
void mcp_tasks_get(struct rpc *rpc);
void mcp_tasks_update(struct rpc *rpc);
void mcp_tasks_cancel(struct rpc *rpc);

/* Answers a call of a tool that has made a task: with the task, as far as it can be read now. */
void mcp_tasks_created(struct rpc *rpc, const char *task_id);

/* members: those of the object that describes a task, without its braces; empty: it could not be
   read, and the last answer, inner, says why. */
typedef void mcp_tasks_then(struct rpc *rpc, const struct http_request *inner, struct str members);
/* Reads a task and what it waits for, and writes it as an object: for notifications. */
void mcp_tasks_describe(struct rpc *rpc, const char *task_id, mcp_tasks_then *then);
#endif
