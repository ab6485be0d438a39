/*
 * leasing.h - what leases of jobs and claims of agents have in common over HTTP.
 */
#ifndef API_LEASING_H
#define API_LEASING_H
#include "api/call.h"
#include "control/queue/lease.h"

/* The client has disconnected: its jobs need not wait for the end of their lease. */
void leasing_give_back(struct call *call, const struct cmd_lease *lease);
/* cancel, hold, messageSeq.  Jobs that run no agent are neither held nor spoken to. */
void leasing_write_orders(struct jw *jw, const struct job_answer *answer);
#endif
