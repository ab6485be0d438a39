/*
 * call.h - one request in progress, and what its handler does with it: reads, answers, fails.
 */
#ifndef API_CALL_H
#define API_CALL_H
#include "api/api.h"

struct audit_call;
struct rpc;
struct event_wait;
struct stream;
struct interaction_head;
struct webhook_head;

struct call {
    struct http_request http;
    struct api *api;
    const struct route *route;
    const char *vars[ROUTE_VARS_MAX]; /* Decoded, in the request's arena. */
    struct identity who;
    struct command *command;      /* See call_own. */
    struct audit_call *audit;     /* Of the command, if the route is recorded: audit_calls.h */
    struct str errors;            /* JSON array for call_fail: all that is wrong with a document. */
    struct stream *stream;        /* sse.c's. */
    struct event_wait *wait;      /* event_wait.c's. */
    struct webhook_head *webhook; /* webhooks.c's. */
    struct interaction_head *interaction; /* interactions.c's. */
    struct rpc *rpc; /* mcp/'s: the message, or of an inner call the one behind it. */
    struct pool_work work;
    struct loop_call done;
};

/* The variable as an id: RC_MALFORMED INVALID_ID. */
MUST_USE enum rc call_id(const struct call *call, int var, struct id *ret_id, struct err *err);
MUST_USE enum rc call_params(struct call *call, struct params *ret_params, struct err *err);
/* For routes that take none. */
MUST_USE enum rc call_no_params(struct call *call, struct err *err);
/* The body; an empty one is malformed.  See call_json_optional. */
MUST_USE enum rc call_json(struct call *call, struct js **ret_tree, struct err *err);
/* *ret_tree stays NULL when there is no body. */
MUST_USE enum rc call_json_optional(struct call *call, struct js **ret_tree, struct err *err);

/* From now on the call owns the command, and frees it when the call ends, whether the rest of its
   input is good or bad.  A build handler does this first; the command is posted when it returns
   RC_OK.  Once per call. */
void call_own(struct call *call, struct command *command);
/* For a build handler whose command may wait, at its end: the wait is ended when the client
   disconnects.  Thousands may wait, so the request's memory and the command's tree are freed. */
void call_wait(struct call *call);
/* For a query that also changes something, on its pool thread: runs the call's command to its
   end. */
MUST_USE enum rc call_commit(struct call *call, struct err *err);
/* For commands whose body has no fields: {} or none at all. */
MUST_USE enum rc call_no_fields(struct call *call, struct err *err);
/* The header Idempotency-Key, and the hash of the body that goes with it. */
struct call_key {
    const char *text; /* *ret_key is untouched without one. */
    const char *body_sha256;
};
const char *call_body_hash(struct call *call, struct arena *arena);
MUST_USE enum rc call_key(struct call *call, struct arena *arena, struct call_key *ret_key,
                          struct err *err);
/* {"reason": ...} or nothing; *ret_reason lives in the tree of the call's command. */
MUST_USE enum rc call_reason(struct call *call, const char **ret_reason, struct err *err);

/* Starts a JSON answer. */
struct jw call_answer(struct call *call, int status);
void call_removed(struct call *call, struct command *command); /* 204: for struct route. */
void call_fail(struct call *call, enum rc rc, const struct err *err);
/* What call_fail reports in addition to err. */
void call_faults(struct call *call, const struct faults *faults);
void call_fail_status(struct call *call, int status, const char *code, const char *detail);
#endif
