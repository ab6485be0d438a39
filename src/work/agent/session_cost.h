/*
 * session_cost.h - what a session has cost by the agent's own count, kept from attempt to attempt.
 *
 * Some agents tell the cost of a whole session, with earlier attempts that are booked already.  The
 * sum is kept in the directory of the run beside the tree, where no agent can write, and so for as
 * long as the session can be resumed there.
 */
#ifndef WORK_AGENT_SESSION_COST_H
#define WORK_AGENT_SESSION_COST_H
#include "work/job/step.h"

/* In USD; 0: not known. */
double session_cost_read(const struct step *step, const char *session_id);
void session_cost_write(const struct step *step, const char *session_id, double usd);
#endif
