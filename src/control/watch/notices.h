/*
 * notices.h - what the nodes on one store notify each other of: new events, jobs that can be
 * claimed, the due time of a timer.
 *
 *   commit -> told, brought, due_us -> one notice for many commits -> every node
 *
 * A notice is a hint and may be lost: every node polls the store once a second anyway.  Notices are
 * sent on a thread and a connection of their own, after the commit: inside a transaction they would
 * serialize all commits of the server.
 *
 * On a store that is not shared there is no other node: every function here is a no-op.
 */
#ifndef CONTROL_WATCH_NOTICES_H
#define CONTROL_WATCH_NOTICES_H
#include "control/commit/committer.h"

struct notices;

/* Called on the thread that listens; must not block for long. */
struct notices_hooks {
    void (*jobs)(void *ctx);
    void (*events)(void *ctx);
    void (*due)(void *ctx, int64_t due_us);
    void *ctx;
};
/* *ret_notices is NULL on a store that is not shared.  node must outlive it. */
MUST_USE enum rc notices_start(struct store *store, const char *node,
                               const struct notices_hooks *hooks, struct notices **ret_notices,
                               struct err *err);
void notices_stop(struct notices *notices); /* NULL is fine, here and below. */
void notices_send(struct notices *notices, const struct committed *news);
#endif
