/*
 * run_gate.h - which requests may pass the socket that agents reach the server by.
 *
 * A socket of agents accepts their own tokens only, those of runs and of agents that drover has
 * launched: any other token that an agent has obtained is refused there, also one with more rights
 * elsewhere.  The server's own socket checks the identity
 * of the caller (run_gate_check); the relay of a remote worker reads bytes and checks the head
 * (run_gate_admit).
 */
#ifndef API_RUN_GATE_H
#define API_RUN_GATE_H
#include "api/auth.h"
#include "base/buf.h"
#include "base/rc.h"
#include "base/str.h"
#include <stdbool.h>

/* RC_DENIED, SOCKET_FOR_RUNS: the token is not an agent's own. */
MUST_USE enum rc run_gate_check(const struct identity *identity, struct err *err);

/* For relay_options.admit.  A request without a token passes: the server answers it.  A connection
   carries one request only, so that a second one cannot pass unchecked. */
bool run_gate_admit(struct str head, struct buf *to);
#endif
