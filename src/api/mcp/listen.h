/*
 * listen.h - streams of notifications: subscriptions/listen of modern clients, and GET /mcp of
 * legacy ones with their resources/subscribe.
 *
 *   subscriptions/listen --> each resource and task is read, with the client's rights
 *                        --> notifications/subscriptions/acknowledged: what it can listen to
 *                        --> notifications/resources/updated, notifications/tasks, ...
 *
 * What has changed comes from the bus.  A notification names what has changed and holds no event,
 * so that many changes at once become one: a watch is dirty, or it is not.  Watches subscribe
 * before the resource is read first, so that no change after that is missed.
 *
 * The stream of an agent's token ends with its run.
 */
#ifndef API_MCP_LISTEN_H
#define API_MCP_LISTEN_H
#include "api/mcp/rpc.h"

enum { LISTEN_WATCHES_MAX = 32 };

/* Lists that may change; bits. */
enum { LISTEN_TOOLS = 1, LISTEN_PROMPTS = 2, LISTEN_RESOURCES = 4 };

struct listener;                               /* Owned by its rpc. */
void listener_free(struct listener *listener); /* NULL is fine. */

/* Methods. */
void listen_open(struct rpc *rpc);
void listen_subscribe(struct rpc *rpc);
void listen_unsubscribe(struct rpc *rpc);
/* The stream of a legacy session. */
void listen_session(struct rpc *rpc);

/* A list has changed: notifies those that listen to it. */
void listen_changed(struct rpc_list *rpcs, unsigned list);
/* Keeps quiet streams open; ends those whose token has expired. */
void listen_tick(struct rpc_list *rpcs, int64_t now_us);
/* Ends a stream, now or when what was asked for it has been answered. */
void listen_end(struct rpc *rpc);
/* Ends all of them: the server stops. */
void listen_close(struct rpc_list *rpcs);
#endif
