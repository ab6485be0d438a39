/*
 * notices.h - what the nodes on one store tell each other: there are events, there are jobs, a
 * timer is due then.
 *
 *   commit -> told, brought, due_us -> one notice for many commits -> every node
 *
 * A notice is a hint and may be lost: every second somebody looks anyway.  Notices go out on a
 * thread and a connection of their own, after the commit: inside a transaction they would put
 * all commits of the server in one line.
 *
 * On a store that is not shared there is nobody to tell: everything here does nothing.
 */
#ifndef CONTROL_NOTICES_H
#define CONTROL_NOTICES_H
#include "control/committer.h"

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
void notices_tell(struct notices *notices, const struct committed *news);
#endif
