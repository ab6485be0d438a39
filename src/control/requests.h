/*
 * requests.h - a question to a topic, and the one reply that is waited for.
 *
 *     absent -> waiting -> replied
 *                  |-----> expired     the deadline passed; whoever looks next says so
 *
 * A request is published to every subscription that matches.  The first reply before the deadline
 * is kept; every other is dropped, and leaves an event.  The command waits, parked like a lease,
 * and may be repeated under the same id: it goes on waiting, or gets the reply that is there.
 */
#ifndef CONTROL_REQUESTS_H
#define CONTROL_REQUESTS_H
#include "control/publish.h"
#include "store/requests.h"

enum {
    REQUEST_TIMEOUT_MS_MAX = 60000,
    REQUEST_TIMEOUT_MS_DEFAULT = 30000,
    REQUEST_FORGET_MINUTES = 10, /* After its deadline. */
    REPLY_NAME_BYTES = 48
};

#define REPLY_PATH "/v1/replies/"

struct cmd_request { /* RC_TIMEOUT: no reply in time.  RC_NOT_FOUND: nobody subscribed. */
    struct command base;
    const char *topic;
    struct message message;
    int64_t timeout_us;
    struct id id;                      /* none: made here. */
    char reply_name[REPLY_NAME_BYTES]; /* What it waits for. */
    bool waiting;                      /* The answer, when the server stops: not yet. */
    struct request_row row;            /* The answer: replied. */
};
struct cmd_request *cmd_request_new(void);

struct cmd_reply { /* RC_CONFLICT: it came too late, or second. */
    struct command base;
    struct id id;
    struct str reply; /* As struct request_row has it. */
};
struct cmd_reply *cmd_reply_new(void);
#endif
