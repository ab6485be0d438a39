/*
 * server.h - `drover serve`: store, control plane, workers and HTTP in one process.
 *
 *   start   store -> control -> listen -> workers -> DATA/server.json -> "listening"
 *   stop    (SIGTERM, SIGINT)  no new connections, streams end, waiting leases answer empty
 *           | workers stop at the same time: they still need the committer
 *           -> committer drained -> store closed.  A second signal cuts the wait short.
 */
#ifndef SERVER_SERVER_H
#define SERVER_SERVER_H
#include "base/rc.h"
#include "server/server_config.h"

/* Serves until a signal ends it, on the calling thread.  RC_OK after an orderly stop. */
MUST_USE enum rc server_run(const struct server_options *options, struct err *err);
#endif
