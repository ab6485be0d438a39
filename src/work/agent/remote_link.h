/*
 * remote_link.h - requests to a remote agent, and its answers.
 *
 *     POST url   {"type": "task", "sessionId", ...}   -> {"status": "accepted"}
 *                {"type": "poll", "sessionId"}        -> {"status": "running" | "completed", ...}
 *                {"type": "stop", "sessionId"}        -> anything that is 2xx
 *
 * All calls of one session go to the same address with the same session id.  Every answer is
 * bounded in size and untrusted.
 */
#ifndef WORK_AGENT_REMOTE_LINK_H
#define WORK_AGENT_REMOTE_LINK_H
#include "base/js.h"
#include "work/job/step.h"

struct remote_link;

enum remote_status {
    REMOTE_UNKNOWN,  /* No status of the contract. */
    REMOTE_ACCEPTED, /* It has begun. */
    REMOTE_RUNNING,
    REMOTE_COMPLETED,
    REMOTE_FAILED,
};

struct remote_answer {
    enum remote_status status;
    struct js *tree; /* Owned. */
};
void remote_answer_release(struct remote_answer *answer);

/* The address and the credential of the step's configuration.  Sets the step's failure. */
MUST_USE enum rc remote_link_open(struct step *step, struct remote_link **ret_link,
                                  struct err *err);
void remote_link_free(struct remote_link *link);
void remote_link_freep(struct remote_link **link); /* For CLEANUP. */

/*
 * RC_NOT_FOUND: the remote agent does not know the session (404, 410).  RC_CONFLICT: it has it
 * already (409).  RC_LIMIT, RC_BUSY, RC_UNREACHABLE, RC_TIMEOUT, RC_IO: it cannot answer now.
 * RC_TOO_LARGE: its answer is.  RC_CANCELLED: a stop of the step was requested meanwhile.
 */
MUST_USE enum rc remote_begin(struct remote_link *link, struct remote_answer *ret_answer,
                              struct err *err);
MUST_USE enum rc remote_ask(struct remote_link *link, struct remote_answer *ret_answer,
                            struct err *err);
/* Also when a stop of the step was requested.  RC_OK: the session is over, or was. */
MUST_USE enum rc remote_end(struct remote_link *link, struct err *err);
#endif
