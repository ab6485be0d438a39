/*
 * compute_remote.h - ending a session of a remote agent from outside its own step.
 */
#ifndef WORK_AGENT_COMPUTE_REMOTE_H
#define WORK_AGENT_COMPUTE_REMOTE_H
#include "work/job/step.h"

/* Requests that the remote agent ends the session of the step's run.  RC_OK: it has, or has
   none. */
MUST_USE enum rc remote_stop_session(struct step *step, struct err *err);
#endif
