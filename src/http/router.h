/*
 * router.h - finds the route of a path and a method.
 *
 * A pattern is literal segments and {variables}; a variable is one segment, so a slash inside a
 * value is sent as %2F.  HEAD matches the routes of GET.  Pure.
 */
#ifndef HTTP_ROUTER_H
#define HTTP_ROUTER_H
#include "base/rc.h"
#include "base/str.h"
#include "core/http/head.h"
#include "core/role.h"
#include <stdbool.h>
#include <stddef.h>

enum { ROUTE_VARS_MAX = 2, ROUTE_ALLOW_BYTES = 64 };

struct call;
struct command;
struct db;

enum route_kind {
    ROUTE_INSTANT, /* Answered on the loop. */
    ROUTE_QUERY,   /* Reads the store on a pool thread. */
    ROUTE_COMMAND, /* Goes through the committer. */
    ROUTE_STREAM,  /* Answered for as long as the client is connected. */
    ROUTE_WAIT     /* Answered once, when something has happened or its time is over. */
};
enum route_body {
    BODY_IGNORED,
    BODY_JSON,   /* 415 for another type; none given counts as JSON. */
    BODY_CONFIG, /* JSON or YAML. */
    BODY_EVENT,  /* A CloudEvent, as JSON. */
    BODY_BYTES,  /* Anything, up to the size of an artifact. */
    BODY_SIGNED, /* JSON or a form, up to the size of a delivery of a webhook. */
};
/* What the token of a run's agent may reach: routes whose first variable is its own run, or its own
   task or a sub-task of it; and those that check for themselves: by which it makes sub-tasks, reads
   its questions, and appends and awaits events of its run. */
enum route_agent { AGENT_NEVER, AGENT_OWN_RUN, AGENT_OWN_TASK, AGENT_CHECKED };

/* A bit per role that may use a route. */
#define ROLES(role) (1U << (role))

struct route {
    enum http_method method;
    unsigned roles; /* Beside the admin, who may use all. */
    const char *pattern;
    enum route_kind kind;
    enum route_body body;
    enum route_agent agent;
    bool open;    /* No token needed. */
    bool wide;    /* About more than the jobs of a queue: not for a token that is bound to some. */
    bool metered; /* Its body counts against the bytes of events that a token may report. */
    bool slow;    /* A query that may take seconds: it must not delay the others. */
    bool reads;   /* Slow, and only reads: given up when the server stops. */
    /* Open, with a body whose signature the handler checks: it may be large all the same. */
    bool signed_body;
    bool own_site; /* Refuses a foreign Host or Origin. */

    void (*instant)(struct call *call);
    /* Of a query, or NULL: on the loop, before it is posted, for what only the loop can read. */
    enum rc (*prepare)(struct call *call, struct err *err);
    enum rc (*query)(struct call *call, struct db *db, struct err *err);
    /* Makes the command that the call then owns; answer writes its result.  Both on the loop. */
    enum rc (*build)(struct call *call, struct err *err);
    void (*answer)(struct call *call, struct command *command);
    /* Of a stream or a wait, which then own the call. */
    enum rc (*stream)(struct call *call, struct err *err);
};

struct route_match {
    const struct route *route;       /* NULL: nothing has this path and this method. */
    struct str vars[ROUTE_VARS_MAX]; /* Still percent-encoded. */
    unsigned allowed; /* A bit per method of the path's routes; 0: the path is unknown. */
};

void router_find(const struct route *routes, size_t count, enum http_method method, struct str path,
                 struct route_match *ret_match);
/* "GET, HEAD, POST": for the Allow header. */
void router_allow(unsigned allowed, char to[ROUTE_ALLOW_BYTES]);
#endif
