/*
 * caps.h - limits per client: connections, streams, requests in flight, and bytes of answers that
 * it has not read yet.
 *
 * Everything that is held counts for one holder:
 *
 *   CAPS_SOURCE   not authenticated: an address, or a user on the unix socket
 *   CAPS_RUN      a run token
 *   CAPS_TOKEN    a token of the store
 *   CAPS_ADMIN    admin.token
 *
 * Invariants:
 * 1. used[] never passes max[kind][] of the limits (0: no limit), except for a first answer: bytes
 *    are refused only to a holder that has some already, so that one large answer passes.
 * 2. All streams together never pass streams_max; the last sixteenth of it is for CAPS_ADMIN.
 * 3. A holder lives while something refers to it.  It is counted because a request outlives its
 *    connection: a command continues when its client has disconnected.
 *
 * Of one thread, the loop's.
 */
#ifndef HTTP_CAPS_H
#define HTTP_CAPS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

enum caps_kind { CAPS_SOURCE, CAPS_RUN, CAPS_TOKEN, CAPS_ADMIN, CAPS_KIND_COUNT };
enum caps_use { CAPS_CONNECTIONS, CAPS_STREAMS, CAPS_REQUESTS, CAPS_BYTES, CAPS_USE_COUNT };
enum { CAPS_NAME_BYTES = 80, CAPS_RETRY_MS = 1000 /* Retry-After of a refusal. */ };

struct caps_limits {
    int64_t max[CAPS_KIND_COUNT][CAPS_USE_COUNT]; /* 0: none */
    int64_t streams_max;                          /* 0: none */
};

struct caps_key {
    enum caps_kind kind;
    char name[CAPS_NAME_BYTES];
};

/* An entry in a holder's list of open connections; part of a connection. */
struct seat {
    struct holder *holder; /* NULL: none */
    TAILQ_ENTRY(seat) link;
};
TAILQ_HEAD(seat_list, seat);

struct holder {
    struct caps *caps;
    struct caps_key key;
    int64_t used[CAPS_USE_COUNT];
    int64_t refs;
    struct seat_list seats; /* Oldest first. */
    TAILQ_ENTRY(holder) all;
    LIST_ENTRY(holder) chain;
};
TAILQ_HEAD(holder_list, holder);

struct caps; /* Owned by its maker. */
struct caps *caps_new(const struct caps_limits *limits);
void caps_free(struct caps *caps); /* Nothing may be held any more; NULL is fine. */

/* The holder of this name, made if there is none; one reference, the caller's. */
struct holder *caps_hold(struct caps *caps, const struct caps_key *key);
void caps_ref(struct holder *holder);
void caps_unref(struct holder *holder); /* NULL is fine. */
const struct holder_list *caps_holders(const struct caps *caps);

/* false: that would exceed a limit, and nothing is counted. */
bool caps_take(struct holder *holder, enum caps_use use, int64_t amount);
void caps_give(struct holder *holder, enum caps_use use, int64_t amount);
int64_t caps_max(const struct holder *holder, enum caps_use use);

/* Counts one connection.  false: the holder has as many as it may. */
bool seat_take(struct seat *seat, struct holder *holder);
void seat_leave(struct seat *seat); /* Without a holder it does nothing. */
#endif
