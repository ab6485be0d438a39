/*
 * fixture_tasks.h - tasks of the fixtures: in memory, and only as many as the suite needs.
 *
 *   kind                 waits for        ends
 *   slow_compute         its seconds      completed
 *   failing_job          -                completed, with isError
 *   protocol_error_job   -                failed
 *   confirm_delete       one answer       completed
 *   multi_input          two answers      completed
 *   test_tool_with_task  a name first     completed
 */
#ifndef API_MCP_FIXTURE_TASKS_H
#define API_MCP_FIXTURE_TASKS_H
#include "api/mcp/rpc.h"

struct fixture_tasks; /* Owned by its maker. */
struct fixture_tasks *fixture_tasks_new(void);
void fixture_tasks_free(struct fixture_tasks *tasks); /* NULL is fine. */

/* A call of one of these tools: answers with a task, or with its result to a client that knows no
   tasks. */
void fixture_tasks_start(struct fixture_tasks *tasks, struct rpc *rpc, const char *name,
                         const struct js *arguments);
/* tasks/get, tasks/update or tasks/cancel.  false: not one of these tasks. */
bool fixture_tasks_handle(struct fixture_tasks *tasks, struct rpc *rpc, const char *task_id);
#endif
