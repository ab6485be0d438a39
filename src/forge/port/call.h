/*
 * call.h - what a call of a forge may use: git for its refs, HTTP for its API, both with one
 * credential, one cancel flag and one deadline.
 */
#ifndef FORGE_PORT_CALL_H
#define FORGE_PORT_CALL_H
#include "forge/git/git.h"
#include "net/http_client.h"

/* What a forge's answer says of its rate limit; -1: not told. */
struct forge_limit_seen {
    const char *host, *resource; /* "core", "graphql", "search" */
    int64_t limit, remaining;
    int64_t reset_us; /* Wall clock. */
    int64_t retry_ms; /* Retry-After, of a secondary limit; 0: none */
    bool secondary;
};

/* Asked before every request to the API, and told after it: the governor of the forge's quota. */
struct forge_gate {
    /* RC_LIMIT, code FORGE_LIMIT, with err->retry_ms: not now. */
    enum rc (*ask)(void *ctx, const char *host, const char *resource, struct err *err);
    void (*told)(void *ctx, const struct forge_limit_seen *seen);
    void *ctx;
};

/* One thread uses it.  Zeroed is fine, as for struct git. */
struct forge_call {
    struct git git;  /* With credential, cancel flag and deadline. */
    const char *api; /* Base of its API as configured; NULL: follows from the address. */
    const struct forge_gate *gate; /* NULL: none */
    int64_t repository;            /* Its number at the forge: of what is listed for a whole App
                                      only its own counts; 0: all does. */
    struct http_client *http;      /* Made by the first forge_http; NULL until then. */
};
void forge_call_release(struct forge_call *call); /* For CLEANUP, too. */

/*
 * One request to the API of a forge, at the same base_url throughout a call, whose connection is
 * kept.  The credential is sent as bearer token, to that server alone.  The answer is that of
 * http_client_call; RC_TIMEOUT when the deadline has passed, RC_CANCELLED.
 */
MUST_USE enum rc forge_http(struct forge_call *call, const char *base_url,
                            const struct http_call *request, struct buf *body,
                            struct http_reply *ret_reply, struct err *err);
#endif
