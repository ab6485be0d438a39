/*
 * compute_remote.h - ending a session of a remote agent from outside its own step.
 */
#ifndef WORK_COMPUTE_REMOTE_H
#define WORK_COMPUTE_REMOTE_H
#include "work/step.h"

/* Asks the far side to end the session of the step's run.  RC_OK: it has, or knows of none. */
MUST_USE enum rc remote_stop_session(struct step *step, struct err *err);
#endif
