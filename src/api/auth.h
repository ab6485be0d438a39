/*
 * auth.h - authentication: bearer tokens and what they may do.
 *
 *   admin.token   DATA/admin.token (0600), made at the first start: everything
 *   tokens        made with `drover token create`, with a role (core/role.h)
 *   run tokens    of a run (control.h), given to its agent: reads about that run and its task's
 *                 sub-tasks, makes sub-tasks, asks questions, and only until the run has ended
 *
 * Tokens are compared as hashes, in constant time.  Those of the store are cached in memory and
 * read again by auth_refresh: at once where one is made or revoked, several times a second on the
 * other nodes of a shared store.  Their last use is stored, at most once a minute for each.
 */
#ifndef API_AUTH_H
#define API_AUTH_H
#include "base/arena.h"
#include "base/id.h"
#include "base/rc.h"
#include "base/str.h"
#include "control/commit/principal.h"
#include "core/agent/addressee.h"
#include "core/event.h"
#include "http/caps.h"
#include "http/router.h"
#include "store/tokens.h"

struct auth; /* Owned by its maker. */
struct control;
struct db;

#define AUTH_TOKEN_PREFIX "drv_"
#define AUTH_AGENT_PREFIX "dagt_" /* Of an agent that drover has launched. */
enum { AUTH_SECRET_BYTES = 32, AUTH_TOKEN_BYTES = 5 + 2 * AUTH_SECRET_BYTES + 1 };
#define AUTH_ADMIN_NAME "admin" /* Of admin.token; no other token may have it. */

struct identity {
    enum role role;
    struct id run_id;                        /* agent: its run */
    struct id token_id;                      /* of a token of the store */
    int64_t expires_us;                      /* 0: never */
    char name[TOKEN_NAME_MAX + 1];           /* all others: the token's */
    char queues[TOKEN_QUEUES_BYTES_MAX + 1]; /* the only ones it is good for; empty: all */
    char writes[TOKEN_WRITES_BYTES_MAX + 1]; /* writers that it may act as; empty: none */
    char agent[AGENT_NAME_MAX + 1];          /* the only one it may act for; empty: any */
    struct principal principal;              /* whose leases it may report on; agent: none */
};

/* A new secret; prefix: one of those above. */
void auth_make_token(const char *prefix, char to[AUTH_TOKEN_BYTES]);

/* Reads DATA/admin.token, or makes it.  control may be NULL: then there are no agents. */
MUST_USE enum rc auth_open(const char *data_dir, struct control *control, struct auth **ret_auth,
                           struct err *err);
void auth_free(struct auth *auth);
/* on_lost(ctx) is called on the thread of auth_refresh, after it.  Call this before other threads
   use auth. */
void auth_watch(struct auth *auth, void (*on_lost)(void *ctx), void *ctx);

/* authorization: the header's value, or empty.  RC_UNAUTHORIZED. */
MUST_USE enum rc auth_check(struct auth *auth, struct str authorization,
                            struct identity *ret_identity, struct err *err);
/* Has it the form of the token of a run, or of an agent that was launched?  Whether it is valid is
   decided by auth_check. */
bool auth_is_of_agent(struct str authorization);
/* Is the token of this identity still valid?  Not for agents: their tokens end with their runs.
   On any thread. */
bool auth_alive(struct auth *auth, const struct identity *identity);
/* The holder that its connections and requests count for (http/caps.h). */
void auth_caps_key(const struct identity *identity, struct caps_key *ret_key);
/* Reads the store's tokens again; on_lost of auth_watch is called if some are no longer valid.  On
   any thread. */
MUST_USE enum rc auth_refresh(struct auth *auth, struct db *db, struct err *err);

/* May an identity use this route at all?  RC_DENIED. */
MUST_USE enum rc auth_route(const struct identity *identity, const struct route *route,
                            struct err *err);
/* An agent's token is valid for its own run, task and sub-tasks only (RC_DENIED), and only until
   the run ends (RC_UNAUTHORIZED). */
MUST_USE enum rc auth_agent(const struct identity *identity, const struct route *route,
                            const char *subject, struct db *db, struct arena *arena,
                            struct err *err);

/* The same for a command, which checks itself whether the run has ended. */
MUST_USE enum rc auth_agent_command(const struct identity *identity, const struct route *route,
                                    const char *subject, struct err *err);

/* The queues that it is bound to, for queue_allowed; NULL: none.  Points into the identity. */
const char *auth_bound_to(const struct identity *identity);
/* The agent that it is bound to; NULL: none.  Points into the identity. */
const char *auth_bound_agent(const struct identity *identity);
struct actor auth_actor(const struct identity *identity); /* Points into the identity. */
#endif
