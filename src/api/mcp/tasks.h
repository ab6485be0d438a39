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

/* Answers a call of a tool that has made a task: with the task, once it can be read. */
void mcp_tasks_created(struct rpc *rpc, const char *task_id);

/* Reads a task and what it waits for, and writes it as an object: for notifications.  then gets the
   members of the object without its braces; empty: there is no such task, or it may not be read. */
void mcp_tasks_describe(struct rpc *rpc, const char *task_id,
                        void (*then)(struct rpc *rpc, struct str members));
#endif
