/*
 * run_gate.h - which requests may pass the socket that agents reach the server by.
 *
 * A socket of agents takes run tokens only: a token of another role that an agent has got hold of
 * is refused there, also one with more rights elsewhere.  The server's own socket checks who called
 * (run_gate_check); the relay of a remote worker sees bytes and checks the head (run_gate_admit).
 */
#ifndef EDGE_RUN_GATE_H
#define EDGE_RUN_GATE_H
#include "base/buf.h"
#include "base/rc.h"
#include "base/str.h"
#include "edge/auth.h"
#include <stdbool.h>

/* RC_DENIED, SOCKET_FOR_RUNS: the token is not a run's. */
MUST_USE enum rc run_gate_check(const struct identity *identity, struct err *err);

/* For relay_options.admit.  A request without a token passes: the server answers it.  One request
   to a connection, so that the next one cannot pass unseen. */
bool run_gate_admit(struct str head, struct buf *to);
#endif
