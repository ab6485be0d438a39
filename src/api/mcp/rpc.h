/*
 * rpc.h - one message of the Model Context Protocol in progress, and how it is answered.
 *
 *   POST /mcp --> rpc --run()--> answered at once
 *                  |
 *                  +--rpc_ask--> a route of drover (an inner call) --then()--> answered, or asks on
 *
 * The answer is one JSON document, or a stream of events (SSE) when something must be sent before
 * the end: progress, log messages, requests to a legacy client.  A stream begins when the first of
 * those is sent, and only if the client takes one.
 *
 * Invariants
 * 1. An rpc is answered once: rpc_done or rpc_fail.  Both free it, so they come last.
 * 2. rpc_ask may answer before it returns: it comes last, too.
 * 3. While it waits for a route an rpc holds little memory: the body is gone, unless asked for.
 * 4. A client that disconnects ends the waiting, and never what a command has done.
 *
 * All on the loop.
 */
#ifndef API_MCP_RPC_H
#define API_MCP_RPC_H
#include "api/call.h"
#include "core/mcp/era.h"
#include "core/mcp/level.h"
#include "core/mcp/message.h"
#include <sys/queue.h>

struct rpc;
struct session;

/* What the client can be asked for; bits. */
enum { CLIENT_ELICITATION = 1, CLIENT_SAMPLING = 2, CLIENT_ROOTS = 4, CLIENT_TASKS = 8 };

/* Runs on the answer of a route; the inner request is freed when it returns. */
typedef void rpc_then(struct rpc *rpc, struct http_request *inner);

struct rpc {
    struct rpc_home *home;
    struct mcp *mcp;
    struct call *call; /* The client's request. */
    enum mcp_era era;
    char *id;                   /* As sent; NULL: a notification. */
    struct session *session;    /* Of a legacy client; or NULL. */
    unsigned client;            /* CLIENT_* */
    bool takes_json, takes_sse; /* By Accept. */
    bool streams;               /* The stream has begun. */
    struct js *tree;            /* The body; NULL: dropped. */
    struct mcp_message message; /* Of the tree: valid as long as that. */
    const void *subject;        /* What the method is about: the tool, ... */
    enum mcp_level log_level;   /* Messages below it are not sent to the client. */

    /* What the client has given in answer to questions: input.h. */
    const struct js *inputs; /* By key; of the tree, or of gathered. */
    struct js *gathered;     /* Of a legacy client. */
    struct input_wait *wait; /* A legacy client has not answered yet. */
    char *state;             /* What the question before this message had noted; or NULL */

    void *own; /* The method's own state; freed with own_free. */
    void (*own_free)(void *own);

    /* What it waits for. */
    struct call *inner; /* A route; or NULL. */
    rpc_then *then;
    void (*on_gone)(struct rpc *rpc); /* Without an inner call: the client is gone; must end it. */
    void (*on_drained)(struct rpc *rpc); /* The client has read all of the stream; or NULL. */

    /* Progress. */
    char *progress; /* The token, as sent; NULL: not asked for. */
    const char *progress_text;
    int64_t started_us, progress_due_us;

    struct listener *listener; /* listen.h's; or NULL */

    struct jw jw;    /* Of the answer that is being written. */
    struct str meta; /* Members for the result's _meta beside drover's own; static, or in own. */
    LIST_ENTRY(rpc) all;
};
LIST_HEAD(rpc_list, rpc);

struct rpc_home {
    struct mcp *mcp;
    struct rpc_list rpcs;
    void (*release)(struct rpc *rpc); /* Frees what other files keep in an rpc. */
};
/* Takes the request over.  tree is owned; message is read from it. */
struct rpc *rpc_new(struct rpc_home *home, struct call *call, struct js *tree,
                    const struct mcp_message *message);

/* ---- Answering ---- */

/* Begins the result; the caller writes its members into the writer and calls rpc_done. */
struct jw *rpc_result(struct rpc *rpc);
struct jw *rpc_result_as(struct rpc *rpc, const char *result_type);
/* Adds ttlMs and cacheScope, which modern clients want in lists. */
void rpc_cacheable(struct rpc *rpc, int64_t ttl_ms, bool is_public);
void rpc_done(struct rpc *rpc);
struct str rpc_server_info(void); /* The name and version of this server: a JSON object. */
/* An error.  Its HTTP status is that of the protocol: 400 or 404 for some codes of the modern era,
   else 200.  data: a JSON value, or empty. */
void rpc_fail(struct rpc *rpc, enum mcp_error code, const char *message, struct str data);
/* A notification or response was accepted: 202. */
void rpc_accepted(struct rpc *rpc);
/* The answer that a problem of HTTP would be: for what no message of the protocol can express. */
void rpc_problem(struct rpc *rpc, const struct problem *problem);

/* Sends a message before the answer.  params: a JSON object.  false: the client takes no stream. */
bool rpc_notify(struct rpc *rpc, const char *method, struct str params);
/* The same with an id: a request to a legacy client. */
bool rpc_request(struct rpc *rpc, const char *id, const char *method, struct str params);
/* Sends a log message, if the client wants those of this level.  data: a JSON value. */
void rpc_log(struct rpc *rpc, enum mcp_level level, struct str data);
/* Begins the stream, if it has not begun. */
bool rpc_stream(struct rpc *rpc);
/* Ends the stream without an answer, or the request with an empty one. */
void rpc_drop(struct rpc *rpc);

/* The first string of params by this name; NULL: none. */
const char *rpc_param(const struct rpc *rpc, const char *name);

/* ---- Asking a route ---- */

struct rpc_ask {
    const struct route *route;
    const char *vars[ROUTE_VARS_MAX]; /* Decoded; copied. */
    struct str query;                 /* Encoded; copied. */
    struct str body;                  /* JSON; copied. */
    const char *key;                  /* Idempotency-Key; or NULL */
    bool keep;                        /* The body of the message is still needed afterwards. */
};
void rpc_ask(struct rpc *rpc, const struct rpc_ask *ask, rpc_then *then);
/* The route of this method and pattern; NULL: there is none. */
const struct route *rpc_route(enum http_method method, const char *pattern);
/* Was the answer of a route a success? */
bool rpc_answer_ok(const struct http_request *inner);
/* The document of a success; NULL: it was none.  The caller frees it. */
struct js *rpc_answer_json(const struct http_request *inner);
/* Appends a value to a query: name=value, encoded. */
void rpc_query_add(struct buf *query, const char *name, const char *value);

/* Frees the message: before a long wait. */
void rpc_shed(struct rpc *rpc);
/* Watches the client while nothing else does: on_gone must end the rpc. */
void rpc_watch(struct rpc *rpc, void (*on_gone)(struct rpc *rpc));
/* Sends progress to those that wait; once a second. */
void rpc_tick(struct rpc_list *list, int64_t now_us);
#endif
