/*
 * auth.h - who asks: bearer tokens and what they may do.
 *
 *   admin   DATA/admin.token (0600), made at the first start: everything
 *   agent   the token of a run (control.h), given to its agent: reads about that run only, and only
 *           while the run lives
 *
 * Tokens are compared as hashes, in constant time.
 */
#ifndef EDGE_AUTH_H
#define EDGE_AUTH_H
#include "base/arena.h"
#include "base/id.h"
#include "base/rc.h"
#include "base/str.h"
#include "core/event.h"
#include "edge/router.h"

struct auth; /* Owned by its maker. */
struct control;

enum role { ROLE_NOBODY, ROLE_ADMIN, ROLE_AGENT };

struct identity {
    enum role role;
    struct id run_id; /* agent: its run */
};

/* Reads DATA/admin.token, or makes it.  control may be NULL: then there are no agents. */
MUST_USE enum rc auth_open(const char *data_dir, const struct control *control,
                           struct auth **ret_auth, struct err *err);
void auth_free(struct auth *auth);

/* authorization: the header's value, or empty.  RC_UNAUTHORIZED. */
MUST_USE enum rc auth_check(const struct auth *auth, struct str authorization,
                            struct identity *ret_identity, struct err *err);

/* May an identity use this route at all?  RC_DENIED. */
MUST_USE enum rc auth_route(const struct identity *identity, const struct route *route,
                            struct err *err);
/* An agent's token is good for its own, and dies with its run: RC_DENIED, RC_UNAUTHORIZED. */
MUST_USE enum rc auth_agent(const struct identity *identity, const struct route *route,
                            const char *subject, struct db *db, struct arena *arena,
                            struct err *err);

struct actor auth_actor(const struct identity *identity); /* Points into the identity. */
#endif
