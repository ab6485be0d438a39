/*
 * session.h - sessions of legacy clients.
 *
 *     Mcp-Session-Id: 1-3-19a2b3c4d5e-0f1e2d3c4b5a6978-<code>
 *                     | | time        random           over all of it and its owner
 *                     | what the client can be asked for
 *                     format
 *
 * An id carries what its client said in `initialize`, signed, and is bound to the token that made
 * it.  So it stays valid when the server restarts, and on every node of a shared store.  What is
 * kept in memory beside it (log level, subscriptions, its stream) may be lost: the least recently
 * used sessions are forgotten when there are too many, and come back empty when they are used
 * again.  Ids that were ended with DELETE are remembered for as long as there is room.
 *
 * A client may also send no id: then it has no session, and nothing of the above.
 */
#ifndef API_MCP_SESSION_H
#define API_MCP_SESSION_H
#include "api/api.h"
#include "base/rc.h"
#include <sys/queue.h>

enum { SESSION_ID_BYTES = 96, SESSION_URIS_MAX = 32, SESSIONS_MAX = 1024 };

struct rpc;

struct session {
    char id[SESSION_ID_BYTES];
    uint64_t nonce;               /* The random part of the id. */
    unsigned client;              /* CLIENT_* of rpc.h */
    int log_level;                /* enum mcp_level: messages below it are not sent. */
    struct rpc *stream;           /* Of GET; or NULL. */
    char *uris[SESSION_URIS_MAX]; /* Resources that it is notified of; the first uri_count. */
    size_t uri_count;
    int users; /* Messages in progress: it is not forgotten meanwhile. */
    TAILQ_ENTRY(session) link;
};

struct mcp_sessions; /* Owned by its maker. */
struct mcp_sessions *mcp_sessions_new(const struct control *control);
void mcp_sessions_free(struct mcp_sessions *sessions); /* NULL is fine. */

/* A new one, of this identity. */
struct session *mcp_sessions_open(struct mcp_sessions *sessions, const struct identity *who,
                                  unsigned client);
/* The session of an id that its identity was given.  NULL: there is none, or it has ended. */
struct session *mcp_sessions_find(struct mcp_sessions *sessions, const struct identity *who,
                                  const char *id);
/* The id is valid no more. */
void mcp_sessions_end(struct mcp_sessions *sessions, struct session *session);
/* false: it has as many subscriptions as it may. */
bool session_subscribe(struct session *session, const char *uri);
bool session_unsubscribe(struct session *session, const char *uri); /* false: it had none. */
#endif
