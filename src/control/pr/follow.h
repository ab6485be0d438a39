/*
 * follow.h - a person takes a pull request over from the shepherd, or hands it back.
 */
#ifndef CONTROL_PR_FOLLOW_H
#define CONTROL_PR_FOLLOW_H
#include "control/commit/context.h"

/* RC_NOT_FOUND: PULL_REQUEST_NOT_FOUND.  RC_CONFLICT: PULL_REQUEST_NOT_OPEN; SHEPHERD_OFF, the
   configuration that it was opened with has no shepherd. */
struct cmd_follow {
    struct command base;
    struct id pull_request_id;
    bool leave;         /* drover leaves it alone from now on; else it goes on, with new budgets. */
    const char *reason; /* or NULL */
    int64_t number;     /* The answer: */
    const char *repository, *state;
};
struct cmd_follow *cmd_follow_new(void);
#endif
