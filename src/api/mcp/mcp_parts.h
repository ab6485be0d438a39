/*
 * mcp_parts.h - what the files of this room share; for no file outside of it.
 */
#ifndef API_MCP_MCP_PARTS_H
#define API_MCP_MCP_PARTS_H
#include "api/mcp/rpc.h"

struct fixtures;
struct mcp_sessions;
struct prompts;
struct tools;

enum fixture_list { FIXTURE_TOOLS, FIXTURE_RESOURCES, FIXTURE_TEMPLATES, FIXTURE_PROMPTS };

/* What is offered beside drover's own: fixtures.h.  All but list are false if nothing has this
   name; else the rpc is, or will be, answered. */
struct mcp_extra {
    void (*list)(struct rpc *rpc, struct jw *jw, enum fixture_list list);
    bool (*call)(struct rpc *rpc, const char *name);
    bool (*read)(struct rpc *rpc, const char *uri);
    bool (*prompt)(struct rpc *rpc, const char *name);
    bool (*task)(struct rpc *rpc, const char *task_id);
    /* Is it a prompt or template that arguments can be completed for? */
    bool (*ref)(const struct rpc *rpc, const struct js *ref);
};

struct mcp {
    struct api *api;
    bool closed;
    struct rpc_home home;
    struct event *tick; /* At rest when there is nothing to do: see mcp_need_tick. */
    struct tools *tools;
    struct prompts *prompts;
    struct mcp_sessions *sessions;
    const struct mcp_extra *extra; /* NULL: nothing. */
    struct fixtures *fixtures;     /* Its own; NULL without. */
};

/* Once a second from now on, as long as something waits for time to pass. */
void mcp_need_tick(struct mcp *mcp);
/* A document of schemas/mcp, which the build makes part of the program (tools/embed), by its name
   without .json: it must be there. */
struct str mcp_text(const char *name);
enum { MCP_TEXT_BYTES_MAX = 256 * 1024 };

/* For lists of one page.  false: the message has a cursor, and is answered. */
bool mcp_no_cursor(struct rpc *rpc);
/* The problem of a route as an error of the protocol. */
void mcp_fail_problem(struct rpc *rpc, const struct http_request *inner);
/* The result of a tool that has failed, with this text: a model reads it. */
void mcp_tool_error(struct rpc *rpc, const char *text);
/* The content of a result: one text. */
void mcp_write_text(struct jw *jw, struct str text);
#endif
