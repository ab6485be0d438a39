#include "api/mcp/session.h"
#include "base/clock.h"
#include "base/mem.h"
#include "core/mcp/level.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { ENDED_MAX = 4096, MAC_CHARS = 32 };
TAILQ_HEAD(session_queue, session);

struct mcp_sessions {
    const struct control *control;
    struct session_queue live; /* The least recently used first. */
    size_t count;
    uint64_t *ended; /* A ring of nonces; NULL: none has ended yet. */
    size_t ended_next;
};

struct mcp_sessions *mcp_sessions_new(const struct control *control)
{
    struct mcp_sessions *sessions = mem_alloc(sizeof *sessions);
    sessions->control = control;
    TAILQ_INIT(&sessions->live);
    return sessions;
}

static void forget(struct mcp_sessions *sessions, struct session *session)
{
    for (size_t i = 0; i < session->uri_count; i++)
        mem_free(session->uris[i]);
    TAILQ_REMOVE(&sessions->live, session, link);
    sessions->count--;
    mem_free(session);
}

void mcp_sessions_free(struct mcp_sessions *sessions)
{
    struct session *session;
    if (sessions == NULL)
        return;
    while ((session = TAILQ_FIRST(&sessions->live)) != NULL)
        forget(sessions, session);
    mem_free(sessions->ended);
    mem_free(sessions);
}

/* ---- Ids ---- */

static void sign(const struct mcp_sessions *sessions, const struct identity *who, const char *front,
                 char to[MAC_CHARS + 1])
{
    char text[SESSION_ID_BYTES + CAPS_NAME_BYTES + 64], mac[SHA256_TEXT_BYTES];
    struct caps_key key;
    auth_caps_key(who, &key);
    (void)snprintf(text, sizeof text, "mcp-session %s %d %s", front, (int)key.kind, key.name);
    control_mac(sessions->control, text, mac);
    (void)snprintf(to, MAC_CHARS + 1, "%.*s", MAC_CHARS, mac);
}

/* What is before the last dash is signed by what is behind it. */
static bool is_signed(const struct mcp_sessions *sessions, const struct identity *who,
                      const char *id)
{
    const char *dash = strrchr(id, '-');
    char front[SESSION_ID_BYTES], mac[MAC_CHARS + 1];
    if (dash == NULL || strlen(id) >= SESSION_ID_BYTES)
        return false;
    (void)snprintf(front, sizeof front, "%.*s", (int)(dash - id), id);
    sign(sessions, who, front, mac);
    return secret_same(dash + 1, mac);
}

static bool has_ended(const struct mcp_sessions *sessions, uint64_t nonce)
{
    for (size_t i = 0; sessions->ended != NULL && i < ENDED_MAX; i++) {
        if (sessions->ended[i] == nonce)
            return true;
    }
    return false;
}

/* ---- In memory ---- */

static void make_room(struct mcp_sessions *sessions)
{
    struct session *session = TAILQ_FIRST(&sessions->live);
    while (sessions->count >= SESSIONS_MAX && session != NULL) {
        struct session *next = TAILQ_NEXT(session, link);
        if (session->users == 0 && session->stream == NULL)
            forget(sessions, session);
        session = next;
    }
}

static struct session *remember(struct mcp_sessions *sessions, const char *id, unsigned client,
                                uint64_t nonce)
{
    make_room(sessions);
    struct session *session = mem_alloc(sizeof *session);
    text_copy(session->id, sizeof session->id, id);
    session->nonce = nonce;
    session->client = client;
    session->log_level = MCP_LEVEL_INFO;
    TAILQ_INSERT_TAIL(&sessions->live, session, link);
    sessions->count++;
    return session;
}

struct session *mcp_sessions_open(struct mcp_sessions *sessions, const struct identity *who,
                                  unsigned client)
{
    uint64_t nonce;
    char front[SESSION_ID_BYTES - MAC_CHARS - 1], mac[MAC_CHARS + 1], id[SESSION_ID_BYTES];
    struct clock clock = clock_real();
    secret_bytes(&nonce, sizeof nonce);
    (void)snprintf(front, sizeof front, "1-%x-%" PRIx64 "-%016" PRIx64, client,
                   (uint64_t)(clock_now_us(&clock) / US_PER_MS), nonce);
    sign(sessions, who, front, mac);
    (void)snprintf(id, sizeof id, "%s-%s", front, mac);
    return remember(sessions, id, client, nonce);
}

struct session *mcp_sessions_find(struct mcp_sessions *sessions, const struct identity *who,
                                  const char *id)
{
    unsigned client = 0;
    uint64_t made_ms, nonce;
    struct session *session;
    if (!is_signed(sessions, who, id) ||
        sscanf(id, "1-%x-%" SCNx64 "-%" SCNx64 "-", &client, &made_ms, &nonce) != 3 ||
        has_ended(sessions, nonce))
        return NULL;
    TAILQ_FOREACH(session, &sessions->live, link)
    {
        if (session->nonce == nonce)
            break;
    }
    if (session == NULL)
        return remember(sessions, id, client, nonce);
    TAILQ_REMOVE(&sessions->live, session, link);
    TAILQ_INSERT_TAIL(&sessions->live, session, link);
    return session;
}

void mcp_sessions_end(struct mcp_sessions *sessions, struct session *session)
{
    if (sessions->ended == NULL)
        sessions->ended = mem_array(ENDED_MAX, sizeof *sessions->ended);
    sessions->ended[sessions->ended_next++ % ENDED_MAX] = session->nonce;
    if (session->users == 0 && session->stream == NULL)
        forget(sessions, session);
}

/* ---- Subscriptions ---- */

static size_t find_uri(const struct session *session, const char *uri)
{
    size_t i = 0;
    while (i < session->uri_count && strcmp(session->uris[i], uri) != 0)
        i++;
    return i;
}

bool session_subscribe(struct session *session, const char *uri)
{
    if (find_uri(session, uri) < session->uri_count)
        return true;
    if (session->uri_count == SESSION_URIS_MAX)
        return false;
    session->uris[session->uri_count++] = mem_strdup(uri);
    return true;
}

bool session_unsubscribe(struct session *session, const char *uri)
{
    size_t at = find_uri(session, uri);
    if (at == session->uri_count)
        return false;
    mem_free(session->uris[at]);
    session->uris[at] = session->uris[--session->uri_count];
    return true;
}
